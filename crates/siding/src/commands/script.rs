//! Test scripts on backends, and what is printed of their results.

use super::backends::{Backends, Compiled};
use crate::cli::FrontEndArgs;
use crate::output::{self, ColorChoice, ErrorFormat, Exit};
use crate::program::tint;
use diagnostics::render::{self, Style};
use diagnostics::{Diagnostic, Diagnostics, SourceMap};
use std::path::Path;
use std::sync::Arc;
use target::Config;
use testkit::{Dut, Failure, FastPath, Step, Trial, first_difference, sweep};
use trace::{Story, render as prose};

/// The stories to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stories {
    None,
    /// Those of the first packets, at most so many.
    First(usize),
    /// All, when the test has failed.
    IfFailed,
}

/// The outcome of a test script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tested {
    Passed,
    Failed,
    /// The script could not be run.
    Broken(Exit),
}

/// Runs a script on all backends, one after the other, and shows its faults. `wants_check`: warns of a script that checks
/// nothing.
pub fn test(
    backends: Backends,
    script: &Path,
    stories: Stories,
    json: bool,
    front_end: &FrontEndArgs,
    wants_check: bool,
) -> Tested {
    let text = match output::read_file(script) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) => {
            output::error_line(&format!("cannot read {}: {error}", script.display()));
            return Tested::Broken(Exit::Environment);
        }
    };
    let parsed = stf::parse(&script.to_string_lossy(), &text);
    let (plan, unresolved) = stf::resolve(&parsed.script, &backends.schema);
    let ports = backends.pipeline.map(|model| stf::check_ports(&parsed.script, model)).unwrap_or_default();
    // A line with a fault may be the check.
    let is_read = !parsed.diagnostics.has_errors();
    let unchecked = (wants_check && is_read).then(|| parsed.script.check_missing(&parsed.sources)).flatten();
    let faults: Vec<Diagnostic> = [parsed.diagnostics, unresolved, ports]
        .into_iter()
        .flat_map(Diagnostics::into_vec)
        .chain(unchecked)
        .collect();
    show(&faults, &parsed.sources, front_end);
    if faults.iter().any(Diagnostic::is_error) {
        return Tested::Broken(Exit::Usage);
    }
    let Backends { duts, in_bursts, schema, sources, config, .. } = backends;
    let trial = Trial { script: &parsed.script, plan: &plan, sources: &parsed.sources, schema };
    let mut is_success = true;
    let mut transcripts = Vec::new();
    for (backend, mut dut) in duts {
        let run = if backend.makes_events() {
            let (run, told) = trial.run_with_stories(&mut *dut, &sources, stories.n_max());
            if stories != Stories::IfFailed || !run.report.is_success() {
                tell(&told, json, front_end.color);
            }
            run
        } else {
            trial.run(&mut *dut, 1)
        };
        if backend.is_native() && !run.report.is_success() {
            output::err(&format!("{}, on {}:\n", script.display(), backend.name()));
        }
        show(&run.report.faults, trial.sources, front_end);
        is_success &= run.report.is_success();
        transcripts.push((backend.name(), run.steps));
    }
    let mut others = transcripts.iter();
    let first = others.next();
    for ((first, expected), (name, steps)) in first.into_iter().cycle().zip(others) {
        if let Some(difference) = first_difference(expected, steps) {
            output::error_line(&format!("{}: {name} differs from {first} {difference}", script.display()));
            is_success = false;
        }
    }
    // Faults of single packets say enough.
    if let (true, Some(compiled), Some((name, expected))) = (is_success, &in_bursts, first) {
        let failures = match in_every_size(&trial, compiled, &config, expected) {
            Ok(failures) => failures,
            Err(exit) => return Tested::Broken(exit),
        };
        for Failure { path, n_max, faults, difference } in failures {
            let path = path.name();
            output::err(&format!("{}, in bursts of {n_max} (SIDING_BURSTS={path}):\n", script.display()));
            show(&faults, trial.sources, front_end);
            if let Some(difference) = difference {
                output::error_line(&format!("it differs from {name} {difference}"));
            }
            is_success = false;
        }
    }
    if is_success { Tested::Passed } else { Tested::Failed }
}

impl Stories {
    /// Stories to collect, so that there are enough to print.
    fn n_max(self) -> usize {
        match self {
            Stories::None => 0,
            Stories::First(n) => n,
            Stories::IfFailed => usize::MAX,
        }
    }
}

/// Failures of compiled code in bursts, each on a fresh switch.
fn in_every_size(
    trial: &Trial<'_>,
    compiled: &Compiled,
    config: &Config,
    expected: &[Step],
) -> Result<Vec<Failure>, Exit> {
    let schema = Arc::clone(&trial.schema);
    let mut fresh = |path| {
        let device = compiled.device_on(&schema, config, path)?;
        Ok(Box::new(FastPath::new(device)) as Box<dyn Dut>)
    };
    sweep(trial, compiled.layout(), expected, &mut fresh)
}

fn tell(stories: &[Story], json: bool, color: ColorChoice) {
    for (i, story) in stories.iter().enumerate() {
        match (json, serde_json::to_string(story)) {
            (true, Ok(line)) => output::out(&format!("{line}\n")),
            (true, Err(error)) => output::error_line(&error.to_string()),
            (false, _) => output::out(&format!("Packet {}\n{}\n", i + 1, tint(&prose(story), color))),
        }
    }
}

/// Prints faults of a script.
pub(super) fn show(faults: &[Diagnostic], sources: &SourceMap, front_end: &FrontEndArgs) {
    let style = Style { color: front_end.color.for_stderr(), ..Style::default() };
    for fault in faults {
        match front_end.error_format {
            ErrorFormat::Human => output::err(&format!("{}\n", render::human(fault, sources, style))),
            ErrorFormat::Short => output::err(&format!("{}\n", render::short(fault, sources))),
            ErrorFormat::Json | ErrorFormat::Sarif => {
                output::out(&format!("{}\n", render::json(fault, sources)));
            }
        }
    }
}
