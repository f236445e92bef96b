//! Positive control for [`super::reject`]: each error program has a twin in which the fault is mended by
//! the smallest edit, and the twin must be accepted. So nothing can pass by rejecting too much.
//!
//! The edits are ours and live in `twins/*.toml`; the programs stay in the checkout.

use crate::corpus::{Corpus, Program};
use crate::front_end;
use crate::runner::Verdict;
use regex_lite::Regex;
use serde::Deserialize;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Twin {
    program: String,
    edits: Vec<Edit>,
}

/// One edit. Line numbers refer to the original program, so the order of edits does not matter.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    /// One-based; 0 stands before the first line (only with `insert`).
    line: usize,
    /// Regular expression to find in the line; without it the whole line is replaced.
    find: Option<String>,
    /// Replacement for every match in the line; `$1` stands for a group.
    replace: Option<String>,
    /// Text for new lines after this one.
    insert: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    twin: Vec<Twin>,
}

const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/twins.rs"));

fn twins() -> impl Iterator<Item = Twin> {
    FILES.iter().filter_map(|(_, text)| toml::from_str::<File>(text).ok()).flat_map(|f| f.twin)
}

pub(super) fn cases(corpus: &Corpus) -> Vec<Program> {
    let listed: std::collections::BTreeSet<String> = twins().map(|t| t.program).collect();
    let mut programs = corpus.errors();
    programs.retain(|p| listed.contains(&p.name));
    programs
}

pub(super) fn judge(corpus: &Corpus, program: &Program) -> Verdict {
    let mut source = match front_end::read(&program.path) {
        Err(reason) => return Verdict::Fail(reason),
        Ok(source) => source,
    };
    for twin in twins().filter(|t| t.program == program.name) {
        match apply(&source.text, &twin.edits) {
            Ok(text) => source.text = text.into(),
            Err(reason) => return Verdict::Fail(reason),
        }
    }
    match front_end::first_error(&front_end::check_source(corpus, &source)) {
        None => Verdict::Pass,
        Some(error) => Verdict::Fail(error),
    }
}

fn apply(text: &str, edits: &[Edit]) -> Result<String, String> {
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    let n_lines = lines.len();
    let mut inserts: Vec<(usize, &str)> = Vec::new();
    for edit in edits {
        let line = match edit.line {
            0 => None,
            n => Some(lines.get_mut(n - 1).ok_or_else(|| format!("no line {n} of {n_lines}"))?),
        };
        match (line, &edit.find, &edit.replace) {
            (Some(line), Some(find), Some(replace)) => {
                let find = Regex::new(find).map_err(|e| format!("`{find}`: {e}"))?;
                if !find.is_match(line) {
                    return Err(format!("line {} has no `{find}`: `{line}`", edit.line));
                }
                *line = find.replace_all(line, replace.as_str()).into_owned();
            }
            (Some(line), None, Some(replace)) => *line = replace.clone(),
            (_, None, None) if edit.insert.is_some() => {}
            _ => return Err(format!("edit of line {} makes no sense", edit.line)),
        }
        if let Some(insert) = &edit.insert {
            inserts.push((edit.line, insert));
        }
    }
    let mut out = String::new();
    for (i, line) in std::iter::once(None).chain(lines.iter().map(Some)).enumerate() {
        if let Some(line) = line {
            out.push_str(line);
            out.push('\n');
        }
        for (_, insert) in inserts.iter().filter(|(at, _)| *at == i) {
            out.push_str(insert);
            out.push('\n');
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(line: usize, find: Option<&str>, replace: Option<&str>, insert: Option<&str>) -> Edit {
        let own = |s: Option<&str>| s.map(str::to_string);
        Edit { line, find: own(find), replace: own(replace), insert: own(insert) }
    }

    #[test]
    fn edits() {
        let text = "a = b;\nc = d;\n";
        let cases: &[(&[Edit], Result<&str, &str>)] = &[
            (&[edit(1, Some("b"), Some("x"), None)], Ok("a = x;\nc = d;\n")),
            (&[edit(2, Some(r"(\w) = (\w)"), Some("$2 = $1"), None)], Ok("a = b;\nd = c;\n")),
            (&[edit(1, None, Some(""), None), edit(0, None, None, Some("top"))], Ok("top\n\nc = d;\n")),
            (&[edit(2, None, Some("e;"), Some("end"))], Ok("a = b;\ne;\nend\n")),
            (&[edit(9, None, Some(""), None)], Err("no line 9 of 2")),
            (&[edit(1, Some("z"), Some(""), None)], Err("line 1 has no `z`: `a = b;`")),
            (&[edit(1, Some("a"), None, None)], Err("edit of line 1 makes no sense")),
        ];
        for (edits, expected) in cases {
            let got = apply(text, edits);
            assert_eq!(got.as_deref().map_err(String::as_str), *expected, "{edits:?}");
        }
    }

    #[test]
    fn twin_files_are_well_formed() {
        let mut seen = std::collections::BTreeSet::new();
        for (name, text) in FILES {
            let file: File = toml::from_str(text).unwrap_or_else(|e| panic!("{name}: {e}"));
            for twin in file.twin {
                assert!(!twin.edits.is_empty(), "{name}: {}: no edits", twin.program);
                assert!(seen.insert(twin.program.clone()), "{name}: {} is listed twice", twin.program);
            }
        }
    }
}
