//! `siding run`.

mod captures;
mod problem;
mod summary;
mod wanted;

use super::backends::{Backends, Compiled, Ready};
use super::script::{Stories, Tested, test};
use crate::cli::{BackendArg, RunArgs, RunBackendArg};
use crate::output::{self, Exit};
use crate::program::{check_port, load};
use clap::ArgMatches;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use trace::Variables;

/// Compilers recurse over what people write.
const STACK_BYTES: usize = 256 << 20;

pub fn run(args: &RunArgs, matches: &ArgMatches) -> Exit {
    run_on_backends(args, matches).unwrap_or_else(|exit| exit)
}

fn run_on_backends(args: &RunArgs, matches: &ArgMatches) -> Result<Exit, Exit> {
    let is_native = args.backend == RunBackendArg::Native;
    if is_native && args.stories.is_some() && !args.trace {
        output::error_line(
            "compiled code tells stories with --trace; --backend both runs it beside the interpreter, which tells them",
        );
        return Err(Exit::Usage);
    }
    if args.trace && !is_native {
        output::error_line(
            "--trace is of compiled code: --backend native; the interpreter tells stories without it",
        );
        return Err(Exit::Usage);
    }
    if args.filter.is_some() && is_native && !args.trace {
        output::error_line("--match chooses stories, which compiled code tells with --trace");
        return Err(Exit::Usage);
    }
    // With packets of captures, a script gives the entries.
    let script = args.script.as_ref().filter(|_| args.pcap.is_empty());
    if script.is_none() && args.pcap.is_empty() {
        output::error_line(
            "there are no packets to run: name a test script, or a capture with --pcap [PORT=]FILE",
        );
        output::err(&format!("For a single packet: siding trace {} -p PACKET\n", args.program.display()));
        return Err(Exit::Usage);
    }
    if let Some(script) = script {
        refuse_other_files(&args.program, script)?;
    }
    let mut loaded = load(&args.program, &args.front_end, matches)?;
    loaded.externs = super::externs::load(&args.externs)?;
    super::externs::warn_of_missing(&loaded.runnable.program, &loaded.externs);
    if let Some(filter) = &args.filter
        && let Ok(variables) = Variables::new(Arc::new(loaded.runnable.program.clone()))
    {
        filter.check(&variables).map_err(|message| {
            output::error_line(&format!("--match: {message}"));
            Exit::Usage
        })?;
    }
    // Externs of users have reasons of their own.
    if let Some(filter) = args.filter.as_ref().filter(|_| args.externs.libraries.is_empty())
        && let Some(message) = filter.reasons().find_map(siding::explain::unknown_reason)
    {
        output::error_line(&format!("--match: {message}"));
        return Err(Exit::Usage);
    }
    for (port, _) in &args.pcap {
        check_port(&loaded.runnable.program, *port, "--pcap")?;
    }
    for (port, _) in &args.expect {
        check_port(&loaded.runnable.program, *port, "--expect")?;
    }
    let backend = match (args.backend, script) {
        (RunBackendArg::Interp, _) | (RunBackendArg::Auto, None) => BackendArg::Interp,
        (RunBackendArg::Native, _) => BackendArg::Native,
        // A script ends before anything is compiled.
        (RunBackendArg::Auto, Some(_)) => BackendArg::Interp,
        (RunBackendArg::Both, _) => BackendArg::Both,
    };
    let name = args.program.to_string_lossy();
    let ready = match args.trace {
        true => Ready::traced(loaded, &name, &args.cc)?,
        false => Ready::new(loaded, &name, backend, &args.cc)?,
    };
    let mut switch_args = args.switch.clone();
    switch_args.entries.extend(args.script.iter().filter(|_| script.is_none()).cloned());
    let backends = Backends::new(&ready, &switch_args)?;
    let Some(script) = script else {
        let compiling = match args.backend {
            RunBackendArg::Auto => Some(compile_meanwhile(&ready, &name, args)),
            RunBackendArg::Interp | RunBackendArg::Native | RunBackendArg::Both => None,
        };
        let program = &ready.loaded.runnable.program;
        return captures::captures(args, program, backends, compiling).map(|()| Exit::Ok).map_err(
            |(message, exit)| {
                output::error_line(&message);
                exit
            },
        );
    };
    let stories = if args.quiet { Stories::None } else { Stories::First(args.stories.unwrap_or(usize::MAX)) };
    match test(backends, script, stories, args.json, &args.front_end, false) {
        Tested::Passed => {
            if !args.json {
                output::out(&format!("ok {}\n", script.display()));
            }
            Ok(Exit::Ok)
        }
        Tested::Failed => Err(Exit::Failed),
        Tested::Broken(exit) => Err(exit),
    }
}

/// Refuses captures and files of entries in the place of a test script, and says where they go.
fn refuse_other_files(program: &Path, script: &Path) -> Result<(), Exit> {
    let (program, name) = (program.display(), script.display());
    if script.extension().is_some_and(|extension| extension == "p4") {
        output::error_line(&format!(
            "{name} is the name of a P4 program, in the place of a test script: siding run PROGRAM.p4 SCRIPT.stf"
        ));
        return Err(Exit::Usage);
    }
    // A pipe can be read once only.
    if !std::fs::metadata(script).is_ok_and(|about| about.is_file()) {
        return Ok(());
    }
    // The reader of the script says what is wrong with a file that cannot be read.
    let Ok(bytes) = output::read_file(script) else { return Ok(()) };
    let is_capture = packet_io::PacketReader::new(name.to_string(), &bytes[..]).is_ok();
    let message = match entries::detect(&name.to_string(), &bytes) {
        _ if is_capture => format!("{name} is a capture: siding run {program} --pcap {name}"),
        Ok(entries::Format::Script) | Err(_) => return Ok(()),
        Ok(_) => format!(
            "{name} has entries and no packets: siding run {program} --entries {name} --pcap FILE\n\
             For a single packet: siding trace {program} --entries {name} -p PACKET"
        ),
    };
    output::error_line(&message);
    Err(Exit::Usage)
}

/// Compiles in a thread of its own, and sends the result.
fn compile_meanwhile(ready: &Ready, name: &str, args: &RunArgs) -> Receiver<Result<Compiled, Exit>> {
    let (sender, receiver) = channel();
    let (loaded, name, cc) = (ready.loaded.clone(), name.to_string(), args.cc.clone());
    let compile = move || {
        // The receiver is gone if the packets have ended.
        let _ = sender.send(Compiled::new(&loaded, &name, &cc));
    };
    // If the thread cannot be started, nothing is sent, and the interpreter continues.
    let _ = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(compile);
    receiver
}
