//! `siding stf`.

use super::backends::{Backends, Ready};
use super::script::{Stories, Tested, test};
use crate::cli::{BackendArg, StfArgs, SwitchArgs};
use crate::output::{self, Exit};
use crate::program::{Counted, load_counting};
use clap::ArgMatches;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

pub fn run(args: &StfArgs, matches: &ArgMatches) -> Exit {
    if args.bursts && args.backend == BackendArg::Interp {
        output::error_line("--bursts is of compiled code: --backend native, or both");
        return Exit::Usage;
    }
    let tests = match find(&args.paths) {
        Ok(tests) => tests,
        Err(message) => {
            output::error_line(&message);
            return Exit::Usage;
        }
    };
    let externs = match super::externs::load(&args.externs) {
        Ok(externs) => externs,
        Err(exit) => return exit,
    };
    let start = Instant::now();
    let (mut exit, mut n_passed) = (Exit::Ok, 0);
    let defaults = SwitchArgs { entries: Vec::new(), seed: 0, cpu_port: None, host_ports: Vec::new() };
    // A program is read once, whatever the number of its scripts.
    let mut programs: HashMap<&Path, Result<Ready, Exit>> = HashMap::new();
    let mut counted = Counted::default();
    for (program, script) in &tests {
        let stories = if args.story { Stories::IfFailed } else { Stories::None };
        let ready = programs.entry(program).or_insert_with(|| {
            let mut loaded = load_counting(program, &args.front_end, matches, &mut counted)?;
            loaded.externs = externs.clone();
            let ready = Ready::new(loaded, &program.to_string_lossy(), args.backend, &args.cc)?;
            Ok(ready.in_bursts(args.bursts))
        });
        let backends = ready.as_ref().map_err(|exit| *exit).and_then(|r| Backends::new(r, &defaults));
        let tested = match backends {
            Ok(backends) => test(backends, script, stories, false, &args.front_end, true),
            Err(e) => {
                output::error_line(&format!("{}: the program cannot be run", script.display()));
                exit = exit.max(e);
                Tested::Failed
            }
        };
        let (word, passed) = match tested {
            Tested::Passed => ("ok", true),
            Tested::Failed => ("FAIL", false),
            Tested::Broken(e) => {
                exit = exit.max(e);
                ("FAIL", false)
            }
        };
        n_passed += usize::from(passed);
        if !passed {
            exit = exit.max(Exit::Failed);
        }
        let shown = script.display();
        if args.json {
            let line = serde_json::json!({ "test": shown.to_string(), "passed": passed });
            output::out(&format!("{line}\n"));
        } else if args.all || !passed {
            output::out(&format!("{word} {shown}\n"));
        }
    }
    counted.tell();
    if args.json {
        let line = serde_json::json!({ "passed": n_passed, "total": tests.len() });
        output::out(&format!("{line}\n"));
    } else {
        let seconds = start.elapsed().as_secs_f64();
        output::out(&format!("{n_passed} of {} tests passed in {seconds:.1} s\n", tests.len()));
    }
    exit
}

/// Pairs of program and script.
fn find(paths: &[PathBuf]) -> Result<Vec<(PathBuf, PathBuf)>, String> {
    let mut tests = Vec::new();
    let mut program: Option<&PathBuf> = None;
    for path in paths {
        if path.is_dir() {
            let mut scripts = Vec::new();
            scripts_below(path, &mut scripts)?;
            scripts.sort();
            for script in scripts {
                tests.push((program_of(&script)?, script));
            }
        } else if path.extension().is_some_and(|e| e == "p4") {
            program = Some(path);
        } else {
            let program = match program {
                Some(program) => program.clone(),
                None => program_of(path)?,
            };
            tests.push((program, path.clone()));
        }
    }
    if tests.is_empty() {
        return Err(
            "no test script is named; write `siding stf prog.p4 test.stf`, or name a directory".to_string()
        );
    }
    Ok(tests)
}

fn scripts_below(dir: &Path, scripts: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = std::fs::read_dir(dir).map_err(|e| format!("cannot read {}: {e}", dir.display()))?;
    for path in entries.flatten().map(|e| e.path()) {
        if path.is_dir() {
            scripts_below(&path, scripts)?;
        } else if path.extension().is_some_and(|e| e == "stf") {
            scripts.push(path);
        }
    }
    Ok(())
}

/// The program beside a script: of the same name, of the name up to its first dot, or `program.p4`.
fn program_of(script: &Path) -> Result<PathBuf, String> {
    let name = script.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let first = name.split('.').next().unwrap_or_default();
    let candidates = [format!("{name}.p4"), format!("{first}.p4"), "program.p4".to_string()];
    candidates
        .iter()
        .map(|c| script.with_file_name(c))
        .find(|path| path.is_file())
        .ok_or_else(|| format!("{}: there is no {} beside it", script.display(), candidates.join(", nor ")))
}
