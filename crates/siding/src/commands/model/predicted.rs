//! Predicted costs of a program's packets, for `siding model cpu` and `siding model latency`.

use crate::cli::{FrontEndArgs, ModelPacketsArgs};
use crate::commands::script;
use crate::output::{self, Exit, error_line};
use crate::program::{load, read_entries};
use bench::cpu::{Answer, Question, Traffic, predict, read_profile};
use clap::ArgMatches;
use control::Schema;
use diagnostics::{Diagnostic, Diagnostics};
use entries::Format;
use packet_io::{PacketReader, ReadError};
use std::path::Path;
use std::sync::Arc;
use stf::StepKind;

/// Packets of captures that go through the interpreter.
const N_PACKETS_MAX: usize = 100_000;

/// Predicts what the command line asks for. Faults are printed.
pub fn answer(
    program: &Path,
    packets: &ModelPacketsArgs,
    front_end: &FrontEndArgs,
    matches: &ArgMatches,
    question: &Question,
) -> Result<Answer, Exit> {
    let loaded = load(program, front_end, matches)?;
    let profile = read_profile(&packets.profile)?;
    let schema = Schema::new(&loaded.runnable.control_plane.p4info).map_err(|error| {
        error_line(&error.to_string());
        Exit::Bug
    })?;
    let mut traffic = match &packets.script {
        Some(path) => of_file(path, &schema, front_end)?,
        None => Traffic::default(),
    };
    let model = loaded.runnable.program.architecture.pipeline();
    for (port, path) in &packets.pcap {
        if let Some(Err(fault)) = model.map(|model| model.check_port(*port)) {
            error_line(&format!("--pcap {port}={}: {fault}", path.display()));
            return Err(Exit::Usage);
        }
    }
    if !packets.pcap.is_empty() {
        traffic.1 = of_captures(packets)?;
    }
    let name = program.display().to_string();
    predict(&name, loaded, Arc::new(schema), traffic, profile, question)?.map_err(|sentence| {
        error_line(&sentence);
        Exit::Usage
    })
}

/// The entries and packets of a script, or a file of entries.
fn of_file(path: &Path, schema: &Schema, front_end: &FrontEndArgs) -> Result<Traffic, Exit> {
    let name = path.display().to_string();
    let bytes = output::read_file(path).map_err(|error| {
        error_line(&format!("cannot read {name}: {error}"));
        Exit::Environment
    })?;
    if PacketReader::new(name.clone(), &bytes[..]).is_ok() {
        error_line(&format!("{name} is a capture: give it as --pcap {name}"));
        return Err(Exit::Usage);
    }
    match entries::detect(&name, &bytes) {
        Ok(format) if format != Format::Script => {
            Ok((read_entries(schema, path, Some(format))?.batch.updates, Vec::new()))
        }
        // The reader of scripts says what is wrong with other files.
        _ => of_script(path, &bytes, schema, front_end),
    }
}

/// The entries and packets of a script. What it expects is not looked at.
fn of_script(path: &Path, bytes: &[u8], schema: &Schema, front_end: &FrontEndArgs) -> Result<Traffic, Exit> {
    let parsed = stf::parse(&path.to_string_lossy(), &String::from_utf8_lossy(bytes));
    let (plan, unresolved) = stf::resolve(&parsed.script, schema);
    let faults: Vec<Diagnostic> =
        [parsed.diagnostics, unresolved].into_iter().flat_map(Diagnostics::into_vec).collect();
    script::show(&faults, &parsed.sources, front_end);
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

/// The packets of captures, each of an equal part of what is taken.
fn of_captures(packets: &ModelPacketsArgs) -> Result<Vec<(u32, Vec<u8>)>, Exit> {
    let mut found = Vec::new();
    let n_each = N_PACKETS_MAX / packets.pcap.len().clamp(1, N_PACKETS_MAX);
    for (port, path) in &packets.pcap {
        let failed = |error: ReadError| {
            error_line(&error.to_string());
            Exit::Environment
        };
        let mut reader = PacketReader::open(path).map_err(failed)?.ethernet_only();
        let end = found.len() + n_each;
        let read = reader.visit(&mut |packet| {
            found.push((*port, packet.data.to_vec()));
            found.len() < end
        });
        read.map_err(failed)?;
    }
    match found.is_empty() {
        true => {
            let names: Vec<String> =
                packets.pcap.iter().map(|(_, path)| path.display().to_string()).collect();
            error_line(&format!("there is no packet in {}", names.join(", ")));
            Err(Exit::Usage)
        }
        false => Ok(found),
    }
}
