//! Rules about crates as wholes.

use super::Problem;
use crate::house::House;
use std::collections::BTreeSet;

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

/// A lock file.
#[derive(serde::Deserialize)]
struct Lock {
    #[serde(default)]
    package: Vec<Locked>,
}

#[derive(serde::Deserialize)]
struct Locked {
    name: String,
    /// None for a crate of this repository.
    source: Option<String>,
    #[serde(default)]
    dependencies: Vec<String>,
}

/// Packages outside the workspace are locked on their own, and nothing builds them for each change. A dependency that a crate got
/// or lost makes `--locked` fail there.
pub(super) fn lock_files_follow_manifests(tree: &House, problems: &mut Vec<Problem>) {
    let locks =
        tree.files.iter().filter(|f| f.path.starts_with("crates/") && f.path.ends_with("/Cargo.lock"));
    for file in locks {
        let lock: Lock = match toml::from_str(&file.text) {
            Ok(lock) => lock,
            Err(error) => {
                problems.push(Problem::new(file, 0, format!("cannot be read: {}", error.message())));
                continue;
            }
        };
        for package in lock.package.iter().filter(|package| package.source.is_none()) {
            let Some(manifest) = tree.get(&format!("crates/{}/Cargo.toml", package.name)) else { continue };
            let locked: BTreeSet<&str> =
                package.dependencies.iter().filter_map(|of| of.split(' ').next()).collect();
            let wanted = dependencies(&manifest.text);
            if !wanted.iter().map(String::as_str).eq(locked.iter().copied()) {
                let folder = file.path.trim_end_matches("Cargo.lock");
                let message = format!(
                    "`{}` has other dependencies now; run `cargo update --workspace --manifest-path {folder}Cargo.toml`",
                    package.name
                );
                problems.push(Problem::new(file, 0, message));
            }
        }
    }
}

/// The names of a manifest's dependencies, without those of tests.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let Ok(manifest) = manifest.parse::<toml::Table>() else { return BTreeSet::new() };
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let tables = targets.into_iter().flat_map(toml::Table::values).filter_map(toml::Value::as_table);
    let names = std::iter::once(&manifest).chain(tables).flat_map(|table| {
        let sections = ["dependencies", "build-dependencies"].into_iter().filter_map(|name| table.get(name));
        sections.filter_map(toml::Value::as_table).flat_map(toml::Table::keys)
    });
    names.cloned().collect()
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
