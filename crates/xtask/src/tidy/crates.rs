//! Rules about crates as wholes.

use super::Problem;
use crate::house::House;

pub(super) fn is_manifest(path: &str) -> bool {
    path.starts_with("crates/") && path.ends_with("/Cargo.toml") && path.split('/').count() == 3
}

pub(super) fn libraries_say_what_they_are(tree: &House, problems: &mut Vec<Problem>) {
    for file in tree.rust().filter(|f| f.path.ends_with("/src/lib.rs")) {
        // A library of one file is read from the top.
        let dir = file.path.trim_end_matches("lib.rs");
        let n_files = tree.rust().filter(|f| f.path.starts_with(dir)).count();
        for (what, needed) in [("its purpose", "//! "), ("where to start reading", "//! Start reading")] {
            let has = file.text.lines().take_while(|l| l.starts_with("//!")).any(|l| l.starts_with(needed));
            if !has && (n_files > 1 || needed == "//! ") {
                problems.push(Problem::new(file, 0, format!("the library does not open with {what}")));
            }
        }
    }
}

/// Manifests leave out harnesses of tests where there are none; whoever adds the first one should hear of it.
pub(super) fn tests_are_run(tree: &House, problems: &mut Vec<Problem>) {
    for manifest in tree.files.iter().filter(|file| is_manifest(&file.path)) {
        let home = manifest.path.trim_end_matches("Cargo.toml");
        let main = format!("{home}src/main.rs");
        let has_main = tree.get(&main).is_some();
        let mut section = "";
        for (i, line) in manifest.text.lines().enumerate() {
            if line.starts_with('[') {
                section = line;
                continue;
            }
            // Where there are both, the library is the one file.
            let is_of_section = |path: &str| match section {
                "[lib]" if has_main => path == format!("{home}src/lib.rs"),
                "[lib]" => path.starts_with(&format!("{home}src/")),
                _ => path == main,
            };
            let needle = match line {
                "test = false" => "#[cfg(test)]",
                "doctest = false" => "/ ```",
                _ => continue,
            };
            let mut sources = tree.rust().filter(|file| is_of_section(&file.path));
            if let Some(file) = sources.find(|file| file.text.contains(needle)) {
                let message = format!("leaves out tests that are there: {}", file.path);
                problems.push(Problem::new(manifest, i + 1, message));
            }
        }
    }
}

pub(super) fn licences(tree: &House, problems: &mut Vec<Problem>) {
    if let Some(workspace) = tree.get("Cargo.toml") {
        if !workspace.text.contains("license = \"Apache-2.0\"") {
            problems.push(Problem::new(workspace, 0, "the workspace does not name its licence"));
        }
        if tree.get("LICENSE").is_none() {
            problems.push(Problem::new(workspace, 0, "there is no LICENSE"));
        }
    }
    for file in &tree.files {
        if is_manifest(&file.path) && !file.text.contains("license.workspace = true") {
            problems.push(Problem::new(file, 0, "write `license.workspace = true`"));
        }
        // These are read, copied and included by themselves.
        let stands_alone = file.path.contains("/p4include/") || file.path.ends_with(".proto");
        if stands_alone && !has_licence(&file.text) {
            problems.push(Problem::new(file, 0, "no line with SPDX-License-Identifier at the top"));
        }
    }
}

/// Files taken over from elsewhere keep their own words about the licence.
fn has_licence(text: &str) -> bool {
    text.lines().take(20).any(|l| l.contains("SPDX-License-Identifier") || l.contains("Apache License"))
}
