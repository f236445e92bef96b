//! Rules about the text of files.

use super::Problem;
use crate::house::House;

/// Crates that call into C, own shared memory or rings; each use carries its proof.
const UNSAFE: &[&str] = &["externs", "native", "dpdk", "dataplane", "packet-io", "shm-client"];

pub(super) fn no_unsafe(tree: &House, problems: &mut Vec<Problem>) {
    for file in tree.rust().filter(|f| f.crate_name() != Some("xtask")) {
        let lines: Vec<&str> = file.text.lines().collect();
        for (line, code) in file.code_lines() {
            if !has_word(code, "unsafe") {
                continue;
            }
            let is_allowed = file.crate_name().is_some_and(|c| UNSAFE.contains(&c));
            let from = line.saturating_sub(6);
            let has_proof = lines[from..line].iter().any(|l| l.contains("SAFETY:"));
            if !is_allowed {
                problems.push(Problem::new(file, line, "`unsafe` in a crate that needs none"));
            } else if !has_proof && (code.contains("unsafe {") || code.contains("unsafe impl")) {
                // An `unsafe fn` or a pointer to one proves nothing: its callers do.
                problems.push(Problem::new(file, line, "`unsafe` without a SAFETY comment"));
            }
        }
    }
}

const LINES_MAX: usize = 1000;
/// A longer file says this, with the reason.
const LONG_BECAUSE: &str = "// Long because ";

pub(super) fn short_files(tree: &House, problems: &mut Vec<Problem>) {
    for file in tree.rust().filter(|f| !f.is_generated()) {
        let n = file.text.lines().count();
        if n > LINES_MAX && !file.text.lines().any(|l| l.starts_with(LONG_BECAUSE)) {
            let message = format!("{n} lines; divide it, or say why not in a line `{LONG_BECAUSE}...`");
            problems.push(Problem::new(file, 0, message));
        }
    }
}

pub(super) fn no_paths_of_one_machine(tree: &House, problems: &mut Vec<Problem>) {
    // In two parts, because this file is looked at too.
    let roots = [
        ("/wor", "k/"),
        ("/roo", "t/"),
        ("/hom", "e/"),
        ("/tmp/re", "f"),
        ("/tmp/targe", "t"),
        ("/User", "s/"),
    ];
    for file in &tree.files {
        for (i, line) in file.text.lines().enumerate() {
            for (a, b) in roots {
                let path = format!("{a}{b}");
                let is_path = line.match_indices(&path).any(|(at, _)| {
                    // `examples/home/` and `https://host/home/` are other things.
                    !line[..at]
                        .ends_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '*' | '}'))
                });
                if is_path {
                    problems.push(Problem::new(
                        file,
                        i + 1,
                        format!("`{path}` names a place on one machine"),
                    ));
                }
            }
        }
    }
}

pub(super) fn expect_not_allow(tree: &House, problems: &mut Vec<Problem>) {
    for file in tree.rust().filter(|f| !f.is_generated() && f.crate_name() != Some("xtask")) {
        let lines = file.code_lines();
        for (i, (line, code)) in lines.iter().enumerate() {
            let is_allow =
                code.trim_start().starts_with("#[allow(") || code.trim_start().starts_with("#![allow(");
            let has_reason = lines[i..].iter().take(6).any(|(_, c)| c.contains("reason = "));
            if is_allow && !has_reason {
                problems.push(Problem::new(file, *line, "write `#[expect(lint, reason = \"...\")]`"));
            }
        }
    }
}

pub(super) fn no_module_util(tree: &House, problems: &mut Vec<Problem>) {
    for file in tree.rust() {
        let name = file.path.rsplit('/').next().unwrap_or("");
        if matches!(name, "util.rs" | "utils.rs" | "helper.rs" | "helpers.rs" | "misc.rs" | "common.rs") {
            problems.push(Problem::new(file, 0, "the name of this file does not say what is in it"));
        }
    }
}

/// The word with nothing that continues it on either side.
fn has_word(code: &str, word: &str) -> bool {
    let continues = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word)
        .any(|(at, _)| !code[..at].ends_with(continues) && !code[at + word.len()..].starts_with(continues))
}
