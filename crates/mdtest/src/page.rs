//! Pages of cases.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A heading and its blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Name of the file, without folders.
    pub file: String,
    pub heading: String,
    pub blocks: Vec<Block>,
}

/// A fenced block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The first word on the fence.
    pub kind: String,
    /// The other words on the fence.
    pub words: Vec<String>,
    /// Line of the first line of the text, from 1.
    pub line: usize,
    /// The lines of the block, each with its line break.
    pub text: String,
}

impl Case {
    /// The first block of a kind.
    pub fn block(&self, kind: &str) -> Option<&Block> {
        self.blocks.iter().find(|b| b.kind == kind)
    }

    /// The text of the first block of a kind; empty without one.
    pub fn text(&self, kind: &str) -> &str {
        self.block(kind).map_or("", |b| &b.text)
    }

    /// The only block of a case that has no other; panics if there are more, or if it is of another kind.
    pub fn only(&self, kind: &str) -> &Block {
        match &self.blocks[..] {
            [block] if block.kind == kind => block,
            _ => panic!("{}: `{}` is not one block of {kind}", self.file, self.heading),
        }
    }
}

impl Block {
    pub fn has(&self, word: &str) -> bool {
        self.words.iter().any(|w| w == word)
    }
}

/// The cases of a page. Panics where the text is no page of cases.
pub fn read(file: &str, text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut open: Option<Block> = None;
    for (i, line) in text.lines().enumerate() {
        let place = || format!("{file}:{}", i + 1);
        match (&mut open, line.strip_prefix("```"), line.strip_prefix("## ")) {
            (Some(block), None, _) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (Some(_), Some(_), _) => {
                let case = cases.last_mut().unwrap_or_else(|| panic!("{}: a block without heading", place()));
                case.blocks.extend(open.take());
            }
            (None, Some(fence), _) => {
                let mut words = fence.split_whitespace().map(str::to_string);
                let kind = words.next().unwrap_or_else(|| panic!("{}: a fence without a word", place()));
                let block = Block { kind, words: words.collect(), line: i + 2, text: String::new() };
                let is_known = |b: &Block| b.kind == block.kind && b.words == block.words;
                let is_double = cases.last().is_some_and(|case| case.blocks.iter().any(is_known));
                assert!(!is_double, "{}: a second block `{fence}`", place());
                open = Some(block);
            }
            (None, None, Some(heading)) => {
                check_complete(cases.last());
                let heading = heading.to_string();
                cases.push(Case { file: file.to_string(), heading, blocks: Vec::new() });
            }
            (None, None, None) => {}
        }
    }
    assert!(open.is_none(), "{file}: the last block is not closed");
    check_complete(cases.last());
    cases
}

fn check_complete(case: Option<&Case>) {
    if let Some(case) = case {
        assert!(!case.blocks.is_empty(), "{}: `{}` has no block", case.file, case.heading);
    }
}

/// The cases of all pages (`*.md`) in a folder, in the order of their names.
pub fn read_dir(dir: &Path) -> Vec<Case> {
    let entries = std::fs::read_dir(dir).unwrap_or_else(|e| panic!("cannot read {}: {e}", dir.display()));
    let mut pages: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    pages.retain(|page| page.extension().is_some_and(|e| e == "md"));
    pages.sort();
    let cases = |page: &PathBuf| {
        let text =
            std::fs::read_to_string(page).unwrap_or_else(|e| panic!("cannot read {}: {e}", page.display()));
        read(&page.file_name().unwrap_or_default().to_string_lossy(), &text)
    };
    pages.iter().flat_map(cases).collect()
}

/// Runs the cases of a folder and panics with the faults that `faults` finds. There must be at least `n_min` cases, so
/// that no topic is lost unseen. The variable `LITERATE` names the part of a file name or heading to run alone.
pub fn run(dir: &Path, n_min: usize, faults: &mut dyn FnMut(&Case) -> Vec<String>) {
    let wanted = std::env::var("LITERATE").ok();
    let is_wanted = |case: &Case| {
        wanted.as_ref().is_none_or(|part| case.file.contains(part) || case.heading.contains(part))
    };
    let mut cases = read_dir(dir);
    cases.retain(is_wanted);
    let mut report = String::new();
    let mut n_bad = 0;
    for case in &cases {
        let found = faults(case);
        if !found.is_empty() {
            n_bad += 1;
            let _ = writeln!(report, "{}: {}\n    {}", case.file, case.heading, found.join("\n    "));
        }
    }
    let n_cases = cases.len();
    assert!(n_bad == 0, "{n_bad} of {n_cases} cases differ:\n{report}");
    assert!(wanted.is_some() || n_cases >= n_min, "only {n_cases} cases");
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str =
        "# Page\n\n## One\nText.\n```p4 core strict\na\n\n## b\n```\n```tokens\n```\n## Two\n```p4\n```\n";

    #[test]
    fn pages_become_cases() {
        let cases = read("x.md", PAGE);
        let headings: Vec<&str> = cases.iter().map(|c| c.heading.as_str()).collect();
        assert_eq!(headings, ["One", "Two"]);
        let block = cases[0].block("p4").unwrap();
        assert_eq!((block.line, block.text.as_str()), (6, "a\n\n## b\n"));
        assert!(block.has("core") && block.has("strict") && !block.has("p4"));
        assert_eq!((cases[0].text("tokens"), cases[0].text("none"), cases[1].only("p4").line), ("", "", 14));
    }

    #[test]
    fn slips_are_refused() {
        let pages = [
            "## A\n```p4\n",
            "```p4\n```\n",
            "## A\n## B\n```p4\n```\n",
            "## A\n```p4\n```\n## B\n",
            "## A\n```\n```\n",
            "## A\n```p4\n```\n```p4\n```\n",
        ];
        for page in pages {
            assert!(std::panic::catch_unwind(|| read("x.md", page)).is_err(), "{page}");
        }
    }
}
