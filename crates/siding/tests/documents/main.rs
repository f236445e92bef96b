//! The project's pages are true: their commands run, their tables are complete, their links lead somewhere.

mod architectures;
mod cli;
mod console;
mod glossary;
mod index;
mod runtime;

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Names of the directories directly below `path`, in order.
fn folders(path: &str) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(root().join(path))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// All Markdown pages of the project that people read, as paths from its root. Pages of diagnostic codes have a
/// test of their own (`explain`).
fn pages() -> Vec<String> {
    let mut pages: Vec<String> =
        ["README.md", "ARCHITECTURE.md", "LIMITATIONS.md", "CONTRIBUTING.md"].map(str::to_owned).into();
    let mut waiting =
        ["docs", "examples", "tests/programs", "rt", "crates/bench"].map(PathBuf::from).to_vec();
    while let Some(dir) = waiting.pop() {
        let Ok(entries) = std::fs::read_dir(root().join(&dir)) else { continue };
        for entry in entries.map(|entry| entry.unwrap()) {
            let path = dir.join(entry.file_name());
            if entry.path().is_dir() && !path.ends_with("diagnostics") {
                waiting.push(path);
            } else if path.extension().is_some_and(|e| e == "md") {
                pages.push(path.into_os_string().into_string().unwrap());
            }
        }
    }
    pages.sort();
    pages
}
