//! All good programs of the reference compiler's checkout, when `P4C` names it: those whose architecture can run
//! are elaborated, valid, and come back from their text form.

use elaborate::Purpose;
use std::path::{Path, PathBuf};
use syntax::{IncludeKind, LoadedFile, Loader};

/// The compiler's include files, then those beside the program.
struct Files<'a>(&'a Path);

impl Loader for Files<'_> {
    fn load(&self, name: &str, kind: IncludeKind, from: &str) -> Option<LoadedFile> {
        let own = || {
            let text = arch::include_file(name)?;
            Some(LoadedFile { name: format!("<p4include>/{name}"), text: text.into(), is_system: true })
        };
        let beside = || {
            let beside = Path::new(from).parent().unwrap_or(self.0).join(name);
            let path = if beside.is_file() { beside } else { self.0.join(name) };
            let text = std::fs::read_to_string(&path).ok()?;
            Some(LoadedFile {
                name: path.to_string_lossy().into_owned(),
                text: text.into(),
                is_system: false,
            })
        };
        match kind {
            IncludeKind::System => own().or_else(beside),
            IncludeKind::Local => beside().or_else(own),
        }
    }
}

enum Outcome {
    /// Not for an architecture that runs.
    Skipped,
    /// By the checker.
    Refused(String),
    Good,
    Bad(String),
}

fn run(path: &Path, dir: &Path) -> Outcome {
    let Ok(text) = std::fs::read_to_string(path) else { return Outcome::Skipped };
    let name = path.to_string_lossy();
    let parsed = syntax::parse(&name, text, &Files(dir), &syntax::Options::default());
    let checked = check::check(parsed, &check::Options::default());
    if let Some(d) = checked.diagnostics.iter().find(|d| d.is_error()) {
        return Outcome::Refused(d.message.clone());
    }
    let run = elaborated(&checked.program, Purpose::Execution);
    // Whoever looks at a program has more architectures.
    match elaborated(&checked.program, Purpose::Analysis) {
        Outcome::Bad(why) => Outcome::Bad(format!("to be looked at: {why}")),
        Outcome::Skipped | Outcome::Refused(_) | Outcome::Good => run,
    }
}

fn elaborated(program: &check::program::Program, purpose: Purpose) -> Outcome {
    match elaborate::elaborate_for(program, purpose) {
        Ok(ir) => match ir::validate(&ir) {
            Ok(()) => {
                let text = ir::text::print(&ir);
                match ir::text::parse(&text) {
                    Ok(back) if ir::text::print(&back) == text => Outcome::Good,
                    Ok(_) => Outcome::Bad("the text form does not come back".to_string()),
                    Err(e) => Outcome::Bad(format!("the text form is refused: {e}")),
                }
            }
            Err(violations) => {
                let first: Vec<String> = violations.iter().take(4).map(ToString::to_string).collect();
                Outcome::Bad(first.join("\n    "))
            }
        },
        Err(faults) if faults.iter().all(|d| d.code.id == "P2300") => Outcome::Skipped,
        Err(faults) => {
            let all: Vec<String> = faults.iter().map(|d| format!("{}: {}", d.code.id, d.message)).collect();
            Outcome::Bad(all.join("\n    "))
        }
    }
}

#[test]
fn programs_of_the_reference_compiler_are_elaborated() {
    let Some(root) = std::env::var_os("P4C") else { return };
    let only = std::env::var("ONLY").unwrap_or_default();
    let dir = PathBuf::from(root).join("testdata/p4_16_samples");
    let mut files: Vec<PathBuf> = (std::fs::read_dir(&dir).expect("the checkout has samples"))
        .filter_map(|e| Some(e.ok()?.path()))
        .filter(|p| p.extension().is_some_and(|e| e == "p4") && p.to_string_lossy().contains(&only))
        .collect();
    files.sort();
    let (mut n_good, mut n_skipped, mut refused, mut bad) = (0, 0, Vec::new(), Vec::new());
    for file in &files {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let outcome = std::panic::catch_unwind(|| run(file, &dir));
        match outcome {
            Ok(Outcome::Good) => n_good += 1,
            Ok(Outcome::Skipped) => n_skipped += 1,
            Ok(Outcome::Refused(why)) => refused.push(format!("{name}: {why}")),
            Ok(Outcome::Bad(why)) => bad.push(format!("{name}: {why}")),
            Err(_) => bad.push(format!("{name}: panicked")),
        }
    }
    assert!(bad.is_empty(), "{} of {} are bad:\n{}", bad.len(), bad.len() + n_good, bad.join("\n"));
    assert!(n_good > 0 || !only.is_empty(), "nothing was elaborated, {n_skipped} skipped");
    println!("{n_good} elaborated, {n_skipped} skipped, {} refused:\n{}", refused.len(), refused.join("\n"));
}
