//! Finds the include file that declares a name, for messages about undeclared names.

use std::collections::HashMap;
use std::sync::OnceLock;

/// The include file that declares `name` at its top level (or as an error or match kind), for instance
/// `core.p4` for `NoAction`.
pub fn include_that_declares(name: &str) -> Option<&'static str> {
    static DECLARED: OnceLock<HashMap<&'static str, &'static str>> = OnceLock::new();
    let declared = DECLARED.get_or_init(|| {
        let mut declared = HashMap::new();
        for (file, text) in crate::INCLUDE_FILES {
            declarations(text, |name| {
                declared.entry(name).or_insert(*file);
            });
        }
        declared
    });
    // A program that lacks one of these has an architecture; PNA would declare it.
    match crate::table_state::function(name) {
        Some(_) => Some("siding_state.p4"),
        None => declared.get(name).copied(),
    }
}

/// A scan of the tokens that suffices for our own files: a declared name stands outside of all braces and
/// parentheses, before `(`, `{`, `;` or `<`; members of `error` and `match_kind` stand in their braces.
fn declarations(text: &'static str, mut found: impl FnMut(&'static str)) {
    let (mut depth, mut in_members) = (0usize, false);
    let mut previous = "";
    for line in text.lines() {
        let line = line.trim_start();
        if line.starts_with('*') || line.starts_with("/*") || line.starts_with('#') {
            continue;
        }
        let line = line.split("//").next().unwrap_or("");
        for token in tokens(line) {
            if depth == 0 && matches!(token, "(" | "{" | ";" | "<") && !previous.is_empty() {
                found(previous);
            }
            if in_members && depth == 1 {
                found(token);
            }
            match token {
                "{" => {
                    in_members |= depth == 0 && matches!(previous, "error" | "match_kind");
                    depth += 1;
                }
                "(" => depth += 1,
                "}" | ")" => {
                    depth = depth.saturating_sub(1);
                    in_members &= depth > 0;
                }
                _ => {}
            }
            previous = token;
        }
    }
}

/// Words and single characters.
fn tokens(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let first = rest.chars().next()?;
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let n =
            if is_word(first) { rest.find(|c| !is_word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (token, after) = rest.split_at(n);
        rest = after;
        Some(token)
    })
}

#[cfg(test)]
mod tests {
    use super::include_that_declares;

    #[test]
    fn declarations_are_found_and_members_are_not() {
        for (name, file) in [
            ("NoAction", Some("core.p4")),
            ("packet_in", Some("core.p4")),
            ("exact", Some("core.p4")),
            ("verify", Some("core.p4")),
            ("V1Switch", Some("v1model.p4")),
            ("standard_metadata_t", Some("v1model.p4")),
            ("mark_to_drop", Some("v1model.p4")),
            ("selector", Some("v1model.p4")),
            ("add_entry", Some("siding_state.p4")),
            ("PSA_Switch", Some("bmv2/psa.p4")),
            ("egress_spec", None),
            ("extract", None),
            ("nonsense", None),
            ("", None),
        ] {
            assert_eq!(include_that_declares(name), file, "{name}");
        }
    }
}
