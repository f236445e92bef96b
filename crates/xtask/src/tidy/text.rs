//! Rules about the text of files.

use super::Problem;
use crate::{File, Tree};

/// Crates that can be embedded anywhere: what they need from outside is passed in.
const PURE: &[&str] = &[
    "diagnostics",
    "syntax",
    "arch",
    "check",
    "p4info",
    "ir",
    "elaborate",
    "control",
    "p4runtime",
    "target",
    "trace",
    "interp",
    "codegen",
    "model",
    "hazard",
];

/// Not part of what these crates do for users.
const IMPURE_FILES: &[&str] = &[
    // Reads expected files for the tests of two crates.
    "crates/p4info/src/goldens.rs",
];

const OUTSIDE: &[&str] = &[
    "std::fs",
    "std::env",
    "std::time",
    "std::thread",
    "std::process",
    "std::net",
    "println!",
    "eprintln!",
    "print!",
    "eprint!",
    "dbg!",
];

pub(super) fn purity(tree: &Tree, problems: &mut Vec<Problem>) {
    let is_pure = |f: &&File| {
        f.is_source()
            && f.crate_name().is_some_and(|c| PURE.contains(&c))
            && !IMPURE_FILES.contains(&f.path.as_str())
    };
    for file in tree.rust().filter(is_pure) {
        for (line, code) in file.code_lines() {
            // `use std::{env, fs}` is the same.
            let code = code.replace("std::{", "std::{ std::").replace(", ", ", std::");
            let code = if code.contains("std::{") { code } else { code.replace(", std::", ", ") };
            if let Some(word) = OUTSIDE.iter().find(|word| has_word(&code, word)) {
                let message = format!("`{word}` in a crate that touches nothing outside");
                problems.push(Problem::new(file, line, message));
            }
        }
    }
}

/// Crates that call into C, own shared memory or rings; each use carries its proof.
const UNSAFE: &[&str] = &["externs", "native", "dataplane", "packet-io", "shm"];

pub(super) fn no_unsafe(tree: &Tree, problems: &mut Vec<Problem>) {
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
/// What a longer file says, with the reason.
const LONG_BECAUSE: &str = "// Long because ";

pub(super) fn short_files(tree: &Tree, problems: &mut Vec<Problem>) {
    for file in tree.rust().filter(|f| !f.is_generated()) {
        let n = file.text.lines().count();
        if n > LINES_MAX && !file.text.lines().any(|l| l.starts_with(LONG_BECAUSE)) {
            let message = format!("{n} lines; divide it, or say why not in a line `{LONG_BECAUSE}...`");
            problems.push(Problem::new(file, 0, message));
        }
    }
}

pub(super) fn no_paths_of_one_machine(tree: &Tree, problems: &mut Vec<Problem>) {
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

pub(super) fn expect_not_allow(tree: &Tree, problems: &mut Vec<Problem>) {
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

pub(super) fn no_module_util(tree: &Tree, problems: &mut Vec<Problem>) {
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
