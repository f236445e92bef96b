//! A program in the interpreter, with the entries that the command line names.

use crate::cli::{ExternArgs, FrontEndArgs, SwitchArgs};
use crate::output::{self, Exit};
use crate::program::{load, read_entries, write_entries};
use clap::ArgMatches;
use console::Loaded;
use control::Schema;
use diagnostics::SourceMap;
use interp::InterpretedDevice;
use interp::traffic::Config;
use std::path::Path;
use std::sync::Arc;

/// A program ready to take packets.
pub struct Simulation {
    pub interpreter: InterpretedDevice,
    pub schema: Arc<Schema>,
    pub sources: Arc<SourceMap>,
    pub config: Config,
}

impl Simulation {
    /// Loads a program and writes the entries of the files.
    pub fn new(
        program: &Path,
        args: &SwitchArgs,
        externs: &ExternArgs,
        front_end: &FrontEndArgs,
        matches: &ArgMatches,
    ) -> Result<Simulation, Exit> {
        let mut loaded = load(program, front_end, matches)?;
        loaded.externs = console::externs::load(externs)?;
        console::externs::warn_of_missing(&loaded.runnable.program, &loaded.externs);
        let mut simulation = Simulation::of(loaded, args)?;
        for path in &args.entries {
            let entries = read_entries(&simulation.schema, path, None)?;
            write_entries(&simulation.schema, &mut simulation.interpreter, &entries)?;
        }
        Ok(simulation)
    }

    /// With a switch of its own, fresh, for a program that is loaded.
    pub fn of(loaded: Loaded, args: &SwitchArgs) -> Result<Simulation, Exit> {
        let Loaded { runnable, sources, externs, .. } = loaded;
        let schema = Schema::new(&runnable.control_plane.p4info).map_err(|error| {
            output::error_line(&format!("the program's P4Info makes no sense: {error}"));
            Exit::Bug
        })?;
        let schema = schema.with_values(&runnable.control_plane.values).with_program(&runnable.program);
        let schema = Arc::new(schema);
        let host_ports = args.host_ports.iter().copied().collect();
        let config = Config { seed: args.seed, cpu_port: args.cpu_port, host_ports, ..Config::default() };
        let mut interpreter = interp::interpreter(runnable.program, Arc::clone(&schema), config.clone())
            .map_err(|error| {
                output::error_line(&format!("the program cannot be run: {error}"));
                Exit::CompileError
            })?;
        let backend = &mut interpreter.switch.runner;
        let program = Arc::clone(&backend.executable().program);
        externs::supply(&externs, &program, &mut |name, function| backend.externs.supply(name, function))
            .map_err(|error| {
                output::error_line(&error.to_string());
                Exit::CompileError
            })?;
        Ok(Simulation { interpreter, schema, sources, config })
    }
}

/// Fails if packets cannot arrive at a port of that number. `flag` names where the user gave it.
pub fn check_port(program: &ir::Program, port: u32, flag: &str) -> Result<(), Exit> {
    let Some(model) = program.architecture.pipeline() else { return Ok(()) };
    model.check_port(port).map_err(|fault| {
        output::error_line(&format!("{flag} {port}: {fault}"));
        Exit::Usage
    })
}
