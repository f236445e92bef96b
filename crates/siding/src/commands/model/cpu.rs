//! `siding model cpu`: a program on a core of this machine or of another.

use crate::cli::ModelCpuArgs;
use crate::commands::script;
use crate::output::{self, Exit, error_line, out};
use crate::program::load;
use bench::cpu::{Question, predict, read_profile};
use clap::ArgMatches;
use control::{Schema, Update};
use diagnostics::{Diagnostic, Diagnostics};
use std::path::Path;
use std::sync::Arc;
use stf::StepKind;

pub fn run(args: &ModelCpuArgs, matches: &ArgMatches) -> Exit {
    model(args, matches).map_or_else(|exit| exit, |()| Exit::Ok)
}

fn model(args: &ModelCpuArgs, matches: &ArgMatches) -> Result<(), Exit> {
    let profile = read_profile(&args.profile)?;
    let loaded = load(&args.program, &args.front_end, matches)?;
    let schema = Schema::new(&loaded.runnable.control_plane.p4info).map_err(|error| {
        error_line(&error.to_string());
        Exit::Bug
    })?;
    let traffic = match &args.script {
        Some(path) => traffic(path, &schema, args)?,
        None => Default::default(),
    };
    let question = Question {
        entries: args.entries.clone(),
        what_if: args.what_if.clone(),
        cores: args.cores.clone(),
        ghz: args.ghz,
    };
    let name = args.program.display().to_string();
    match predict(&name, loaded, Arc::new(schema), traffic, profile, &question)? {
        Ok(answer) => {
            out(&if args.json { format!("{}\n", answer.json()) } else { answer.text() });
            Ok(())
        }
        Err(sentence) => {
            error_line(&sentence);
            Err(Exit::Usage)
        }
    }
}

/// Updates, and packets with the ports that they come in by.
type Traffic = (Vec<Update>, Vec<(u32, Vec<u8>)>);

/// The entries and packets of a script. What it expects is not looked at.
fn traffic(path: &Path, schema: &Schema, args: &ModelCpuArgs) -> Result<Traffic, Exit> {
    let bytes = output::read_file(path).map_err(|error| {
        error_line(&format!("cannot read {}: {error}", path.display()));
        Exit::Environment
    })?;
    let parsed = stf::parse(&path.to_string_lossy(), &String::from_utf8_lossy(&bytes));
    let (plan, unresolved) = stf::resolve(&parsed.script, schema);
    let faults: Vec<Diagnostic> =
        [parsed.diagnostics, unresolved].into_iter().flat_map(Diagnostics::into_vec).collect();
    script::show(&faults, &parsed.sources, &args.front_end);
    if faults.iter().any(Diagnostic::is_error) {
        return Err(Exit::Usage);
    }
    let mut found = Traffic::default();
    for step in plan.steps {
        match step.kind {
            StepKind::Write(updates) => found.0.extend(updates),
            StepKind::Packet { port, data } => found.1.push((port, data)),
            _ => {}
        }
    }
    Ok(found)
}
