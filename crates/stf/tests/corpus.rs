//! All scripts of the reference compiler's checkout, when `P4C` names one.

use std::path::{Path, PathBuf};

fn scripts(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            scripts(&path, into);
        } else if path.extension().is_some_and(|e| e == "stf") {
            into.push(path);
        }
    }
}

#[test]
fn all_scripts_parse() {
    let Some(p4c) = std::env::var_os("P4C") else {
        return;
    };
    let mut paths = Vec::new();
    scripts(&Path::new(&p4c).join("testdata"), &mut paths);
    assert!(paths.len() >= 300, "only {} scripts in {}", paths.len(), p4c.display());
    let mut faults = Vec::new();
    let mut n_commands = 0;
    for path in &paths {
        let text = std::fs::read_to_string(path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy();
        let parsed = stf::parse(&name, &text);
        n_commands += parsed.script.commands.len();
        faults.extend(parsed.diagnostics.iter().map(|d| diagnostics::render::short(d, &parsed.sources)));
    }
    println!("{} scripts, {n_commands} commands", paths.len());
    // This one lacks a comma, and the runner there skips it.
    assert_eq!(faults, ["routing_default.stf:1:64: error[P2501]: expected `,` or `)`, found `port`"]);
}
