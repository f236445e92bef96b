//! The inner loop: `cargo xtask check` runs what finds most mistakes in little time.
//!
//! Left out, and run by `.ci/run`: tests that compile many C programs, run switches or fuzz.

use std::path::Path;
use std::process::Command;

/// Crates of which all tests are run: they compile no C and start no threads for long.
pub const FAST: &[&str] = &[
    "diagnostics",
    "syntax",
    "check",
    "arch",
    "p4info",
    "ir",
    "elaborate",
    "control",
    "p4runtime",
    "target",
    "interp",
    "hazard",
    "driver",
    "packet-io",
    "model",
    "stf",
    "xtask",
];

/// Tests that need C or run for long, in crates whose other tests are fast: crate and name of the test.
pub const SLOW: &[(&str, &str)] = &[("interp", "speed"), ("stf", "bursts"), ("stf", "corpus")];

/// The commands in their order, without `cargo`.
pub fn steps(tests_of: impl Fn(&str) -> Vec<String>) -> Vec<Vec<String>> {
    let words = |line: &str| line.split(' ').map(str::to_string).collect::<Vec<_>>();
    let mut steps = vec![
        words("fmt --all --check"),
        words("clippy --quiet --locked --workspace --all-targets -- -D warnings"),
        words("run --quiet --locked --package xtask -- tidy"),
    ];
    let is_slow = |name: &str, test: &str| SLOW.contains(&(name, test));
    let mut whole = words("test --quiet --locked");
    for name in FAST {
        if !SLOW.iter().any(|(slow, _)| slow == name) {
            whole.extend(["--package".to_string(), (*name).to_string()]);
        }
    }
    steps.push(whole);
    for name in FAST.iter().filter(|name| SLOW.iter().any(|(slow, _)| slow == *name)) {
        let mut part = words("test --quiet --locked --lib --package");
        part.push((*name).to_string());
        for test in tests_of(name).into_iter().filter(|test| !is_slow(name, test)) {
            part.extend(["--test".to_string(), test]);
        }
        steps.push(part);
    }
    steps
}

/// Names of the crate's integration tests.
pub fn tests_of(root: &Path, name: &str) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(root.join("crates").join(name).join("tests")) else {
        return Vec::new();
    };
    let mut tests: Vec<String> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let is_test = path.extension().is_some_and(|e| e == "rs") || path.join("main.rs").is_file();
            is_test.then(|| path.file_stem()?.to_str().map(str::to_string)).flatten()
        })
        .collect();
    tests.sort();
    tests
}

/// Runs the steps until one fails; true if none did.
pub fn run(root: &Path) -> std::io::Result<bool> {
    let start = std::time::Instant::now();
    for step in steps(|name| tests_of(root, name)) {
        println!("== cargo {} ({} s)", step.join(" "), start.elapsed().as_secs());
        if !Command::new(env!("CARGO")).args(&step).current_dir(root).status()?.success() {
            return Ok(false);
        }
    }
    println!("== done ({} s)", start.elapsed().as_secs());
    Ok(true)
}
