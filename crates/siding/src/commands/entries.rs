//! `siding entries`.

use crate::cli::{ConvertArgs, EntriesCheckArgs, EntriesCommand, FrontEndArgs};
use crate::output::{self, Exit};
use crate::program::{load_for_control, read_entries};
use clap::ArgMatches;
use control::Schema;
use std::path::Path;

pub fn run(command: &EntriesCommand, matches: &ArgMatches) -> Exit {
    let matches = matches.subcommand().map_or(matches, |(_, m)| m);
    let done = match command {
        EntriesCommand::Check(args) => check(args, matches),
        EntriesCommand::Convert(args) => convert(args, matches),
    };
    done.unwrap_or_else(|exit| exit)
}

/// The schema of a program, or of its P4Info in a file.
fn schema(program: &Path, args: &FrontEndArgs, matches: &ArgMatches) -> Result<Schema, Exit> {
    let usage = |message: String| {
        output::error_line(&message);
        Exit::Usage
    };
    let (p4info, values) = match p4info::Format::from_path(program) {
        Ok(format) => {
            let shown = program.display();
            let bytes = output::read_file(program).map_err(|error| {
                output::error_line(&format!("cannot read {shown}: {error}"));
                Exit::Environment
            })?;
            let p4info =
                p4info::decode_p4info(&bytes, format).map_err(|error| usage(format!("{shown}:{error}")))?;
            (p4info, Vec::new())
        }
        Err(_) => {
            let loaded = load_for_control(program, args, matches)?;
            (loaded.p4info, loaded.values)
        }
    };
    let schema = Schema::new(&p4info)
        .map_err(|error| usage(format!("{}: the P4Info makes no sense: {error}", program.display())))?;
    Ok(schema.with_values(&values))
}

fn check(args: &EntriesCheckArgs, matches: &ArgMatches) -> Result<Exit, Exit> {
    let schema = schema(&args.program, &args.front_end, matches)?;
    let format = args.from.map(|from| from.format());
    let mut exit = Exit::Ok;
    for file in &args.files {
        match read_entries(&schema, file, format) {
            Ok(entries) => {
                output::out(&format!("{}: {} updates\n", file.display(), entries.batch.updates.len()))
            }
            Err(failed) => exit = failed,
        }
    }
    Ok(exit)
}

fn convert(args: &ConvertArgs, matches: &ArgMatches) -> Result<Exit, Exit> {
    let is_stdout = args.output == Path::new("-");
    let to = match (args.to, entries::Format::from_name(&args.output.to_string_lossy())) {
        (Some(to), _) => to.format(),
        (None, Some(format)) if !is_stdout => format,
        (None, _) => {
            let known: Vec<&str> = entries::Format::ALL.iter().map(|format| format.name()).collect();
            output::error_line(&format!(
                "the name of the output says no format; choose one with --to: {}",
                known.join(", ")
            ));
            return Err(Exit::Usage);
        }
    };
    let schema = schema(&args.program, &args.front_end, matches)?;
    let read = read_entries(&schema, &args.input, args.from.map(|from| from.format()))?;
    let written = entries::write(to, &read.batch.updates, &schema, args.names);
    for what in &written.left_out {
        output::warning_line(&format!("left out: {what}"));
    }
    if is_stdout {
        output::out_bytes(&written.bytes);
    } else {
        output::replace_file(&args.output, &written.bytes).map_err(|error| {
            output::error_line(&format!("cannot write {}: {error}", args.output.display()));
            Exit::Environment
        })?;
    }
    Ok(if written.left_out.is_empty() { Exit::Ok } else { Exit::Failed })
}
