//! The pages of `docs/diagnostics`, one per code, carried in the binary.

use diagnostics::suggest::nearest_word;

/// One page.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// The code, as in the file's name.
    pub id: &'static str,
    /// Markdown.
    pub text: &'static str,
}

/// All pages, by code.
pub static PAGES: &[Page] = include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// The page of a code.
pub fn page(id: &str) -> Option<&'static Page> {
    PAGES.iter().find(|p| p.id.eq_ignore_ascii_case(id))
}

/// The page of all drop reasons.
const DROP_REASONS: &str = include_str!("../../../docs/reference/drop-reasons.md");

/// The names of all drop reasons that have a section.
pub fn drop_reasons() -> impl Iterator<Item = &'static str> {
    DROP_REASONS.lines().filter_map(|line| line.strip_prefix("### "))
}

/// The fault of a name of a drop reason; `None` if there is such a reason.
pub fn unknown_reason(name: &str) -> Option<String> {
    if drop_reasons().any(|known| known == name) {
        return None;
    }
    Some(match nearest_word(name, drop_reasons()) {
        Some(nearest) => format!("no drop reason is called `{name}`; did you mean `{nearest}`?"),
        None => format!("no drop reason is called `{name}`; `siding explain` lists them"),
    })
}

/// The section of a drop reason, which begins with its heading.
pub fn drop_reason(name: &str) -> Option<&'static str> {
    let start = DROP_REASONS.match_indices("### ").map(|(at, _)| at).find(|at| {
        DROP_REASONS[*at..].lines().next().and_then(|line| line.strip_prefix("### ")) == Some(name)
    })?;
    let section = &DROP_REASONS[start..];
    let end = section[1..].find("\n## ").into_iter().chain(section[1..].find("\n### ")).min();
    Some(section[..end.map_or(section.len(), |end| end + 1)].trim_start_matches('#').trim())
}

/// The first sentence of a section up to its first colon, on one line and without a full stop.
pub fn first_sentence(section: &str) -> String {
    let paragraph = section.split("\n\n").nth(1).unwrap_or("").replace('\n', " ");
    let end = [". ", ": "].iter().filter_map(|end| paragraph.find(end)).min().unwrap_or(paragraph.len());
    paragraph[..end].trim_end_matches('.').to_string()
}

impl Page {
    /// The first heading.
    pub fn title(&self) -> &'static str {
        self.text.lines().find_map(|l| l.strip_prefix("# ")).unwrap_or(self.id)
    }

    /// The contents of fenced blocks of P4 with this `role`; see [`Page::fenced`].
    pub fn blocks(&self, role: &str) -> Vec<(Vec<&'static str>, String)> {
        self.fenced("p4", role)
    }

    /// The contents of fenced blocks whose info string is `language` (`p4`, `stf`) followed by `role`; further
    /// words are given beside each.
    pub fn fenced(&self, language: &str, role: &str) -> Vec<(Vec<&'static str>, String)> {
        let mut blocks = Vec::new();
        let mut open: Option<(Vec<&'static str>, String)> = None;
        for line in self.text.lines() {
            match (&mut open, line.strip_prefix("```")) {
                (Some(_), Some("")) => blocks.extend(open.take()),
                (Some((_, text)), _) => {
                    text.push_str(line);
                    text.push('\n');
                }
                (None, Some(info)) => {
                    let words: Vec<&str> = info.split_whitespace().collect();
                    if words.first() == Some(&language) && words.get(1) == Some(&role) {
                        open = Some((words[2..].to_vec(), String::new()));
                    } else {
                        // Another kind of block: skipped by collecting it under no role.
                        open = None;
                    }
                }
                (None, None) => {}
            }
        }
        blocks
    }
}
