//! `siding run`.

use super::backends::{Backends, Compiled, Ready};
use super::script::{Stories, Tested, test};
use crate::cli::{BackendArg, RunArgs, RunBackendArg};
use crate::output::{self, Exit};
use crate::program::{check_port, load};
use clap::ArgMatches;
use control::Schema;
use packet_io::{CaptureWriter, Damage, Packet, PacketReader, ReadError};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Instant;
use target::Config;
use target::traffic::{Destination, Output, Totals};
use testkit::{Arriving, Differs, Lockstep};
use trace::{Silent, Story, StoryBuilder, render as prose};

/// Stories of captures that are told unless more are asked for.
const STORIES_OF_CAPTURES: usize = 10;

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
    let mut loaded = load(&args.program, &args.front_end, matches)?;
    loaded.externs = super::externs::load(&args.externs)?;
    for (port, _) in &args.pcap {
        check_port(&loaded.runnable.program, *port, "--pcap")?;
    }
    let backend = match (args.backend, &args.script) {
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
    let backends = Backends::new(&ready, &args.switch)?;
    let Some(script) = &args.script else {
        let compiling = match args.backend {
            RunBackendArg::Auto => Some(compile_meanwhile(&ready, &name, args)),
            RunBackendArg::Interp | RunBackendArg::Native | RunBackendArg::Both => None,
        };
        return captures(args, backends, compiling).map(|()| Exit::Ok).map_err(|(message, exit)| {
            output::error_line(&message);
            exit
        });
    };
    let stories = if args.quiet { Stories::None } else { Stories::First(args.stories.unwrap_or(usize::MAX)) };
    match test(backends, script, stories, args.json, &args.front_end) {
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

/// Message and exit code.
type Problem = (String, Exit);

fn environment(error: impl std::fmt::Display) -> Problem {
    (error.to_string(), Exit::Environment)
}

/// Capture files and counts of sent packets, by port.
struct Outputs<'a> {
    dir: Option<&'a Path>,
    /// Link type of the captures, which is that of the packets received.
    link_type: u16,
    writers: BTreeMap<u32, CaptureWriter>,
    n_sent: BTreeMap<u32, u64>,
}

impl Outputs<'_> {
    fn write(&mut self, switch_outputs: Vec<Output>, base_ns: u64) -> Result<(), Problem> {
        for output in switch_outputs {
            let Destination::Port(port) = output.destination else { continue };
            *self.n_sent.entry(port).or_default() += 1;
            let Some(dir) = self.dir else { continue };
            let writer = match self.writers.entry(port) {
                std::collections::btree_map::Entry::Occupied(found) => found.into_mut(),
                std::collections::btree_map::Entry::Vacant(free) => {
                    let path = dir.join(format!("{port}.pcap"));
                    let writer = CaptureWriter::create(&path, &format!("port {port}"), self.link_type)
                        .map_err(environment)?;
                    free.insert(writer)
                }
            };
            let packet = Packet::new(output.bytes).at(base_ns.saturating_add(output.at_ns));
            writer.write(&packet, None).map_err(environment)?;
        }
        Ok(())
    }
}

/// Opens a capture, of Ethernet unless any link type is welcome.
fn open_capture(path: &Path, any_link_type: bool) -> Result<PacketReader<File>, Problem> {
    let reader = PacketReader::<File>::open(path).map_err(environment)?;
    Ok(if any_link_type { reader } else { reader.ethernet_only() })
}

/// A capture that cannot be read further, with the option that helps.
fn damaged(error: ReadError) -> Problem {
    let help = match error.damage {
        Damage::NotEthernet { .. } => "; --any-link-type takes the packets as they are",
        _ => "",
    };
    environment(format!("{error}{help}"))
}

/// A capture and the packet that comes next.
struct Input {
    port: u32,
    reader: PacketReader<File>,
    next: Option<Packet>,
}

fn differs(Differs(message): Differs) -> Problem {
    (message, Exit::Failed)
}

/// Compiled code on its way to replace the interpreter.
struct Replacement {
    compiling: Option<Receiver<Result<Compiled, Exit>>>,
    compiled: Option<Compiled>,
    schema: Arc<Schema>,
    config: Config,
}

impl Replacement {
    /// Lets compiled code take over, if it is there and no packet waits.
    fn change_over(&mut self, machine: &mut Lockstep) {
        if let Some(receiver) = &self.compiling {
            match receiver.try_recv() {
                Ok(Ok(found)) => self.compiled = Some(found),
                Ok(Err(_)) => output::warning_line("the interpreter goes on"),
                Err(TryRecvError::Disconnected) => {}
                Err(TryRecvError::Empty) => return,
            }
            self.compiling = None;
        }
        if !machine.can_change_over() {
            return;
        }
        let Some(compiled) = self.compiled.take() else { return };
        let Ok(device) = compiled.device(&self.schema, &self.config) else {
            return output::warning_line("the interpreter goes on");
        };
        match machine.change_over(&self.schema, device, &self.config) {
            Ok(()) => {
                let n_packets = machine.totals().n_received;
                output::err(&format!("compiled code takes over after {n_packets} packets\n"));
            }
            Err(fault) => {
                output::warning_line(&format!("compiled code does not take this over: {fault}"));
            }
        }
    }
}

/// Takes packets in the order of their times, whichever port they arrive at.
fn captures(
    args: &RunArgs,
    backends: Backends,
    compiling: Option<Receiver<Result<Compiled, Exit>>>,
) -> Result<(), Problem> {
    if let Some(dir) = &args.out {
        std::fs::create_dir_all(dir)
            .map_err(|e| environment(format!("cannot make the directory {}: {e}", dir.display())))?;
    }
    let mut inputs = Vec::new();
    for (port, path) in &args.pcap {
        let mut reader = open_capture(path, args.any_link_type)?;
        let next = reader.next().transpose().map_err(damaged)?;
        inputs.push(Input { port: *port, reader, next });
    }
    let Backends { duts, schema, sources, config, .. } = backends;
    let mut machine = Lockstep::new(duts);
    let mut replacement = Replacement { compiling, compiled: None, schema, config };
    let n_stories = if args.quiet { 0 } else { args.stories.unwrap_or(STORIES_OF_CAPTURES) };
    let n_stories = if machine.is_interpreted() || args.trace { n_stories } else { 0 };
    let first = inputs.iter().find_map(|i| i.reader.interfaces().first());
    let mut outputs = Outputs {
        dir: args.out.as_deref(),
        link_type: first.map_or(packet_io::LINK_TYPE_ETHERNET, |interface| interface.link_type),
        writers: BTreeMap::new(),
        n_sent: BTreeMap::new(),
    };
    let times = inputs.iter().filter_map(|i| i.next.as_ref()).map(|p| p.timestamp_ns);
    let base_ns = times.min().unwrap_or(0);
    let (mut n_received, mut damage) = (BTreeMap::<u32, u64>::new(), None);
    let mut n_told = 0;
    let start = Instant::now();
    loop {
        let waiting = inputs.iter_mut().filter(|i| i.next.is_some());
        let Some(input) = waiting.min_by_key(|i| i.next.as_ref().map(|p| p.timestamp_ns)) else { break };
        let Some(packet) = input.next.take() else { break };
        let port = input.port;
        match input.reader.next() {
            Some(Ok(next)) => input.next = Some(next),
            None => {}
            // Packets before the damage are still run.
            Some(Err(error)) => damage = damage.or(Some(error)),
        }
        let elapsed_ns = packet.timestamp_ns.saturating_sub(base_ns).saturating_sub(machine.now_ns());
        let late = machine.advance_clock(elapsed_ns).map_err(differs)?;
        outputs.write(late, base_ns)?;
        *n_received.entry(port).or_default() += 1;
        let arriving = Arriving { port, bytes: &packet.data };
        let sent = if n_told < n_stories {
            n_told += 1;
            let mut story_builder = StoryBuilder::new(Some(&sources));
            let sent = machine.inject(arriving, &mut story_builder).map_err(differs)?;
            tell_one(&story_builder.finish(), n_told, args.json);
            sent
        } else {
            replacement.change_over(&mut machine);
            machine.inject(arriving, &mut Silent).map_err(differs)?
        };
        outputs.write(sent, base_ns)?;
    }
    let seconds = start.elapsed().as_secs_f64();
    for writer in outputs.writers.values_mut() {
        writer.flush().map_err(environment)?;
    }
    let n_left = n_received.values().sum::<u64>().saturating_sub(n_told as u64);
    if n_left > 0 && n_told > 0 && !args.json {
        output::out(&format!(
            "(the stories of {n_left} more packets are not told; --stories N tells more)\n\n"
        ));
    }
    summarize(args, &machine, &n_received, &outputs.n_sent, seconds);
    match damage {
        Some(error) => Err(damaged(error)),
        None => Ok(()),
    }
}

fn tell_one(story: &Story, number: usize, json: bool) {
    match (json, serde_json::to_string(story)) {
        (true, Ok(line)) => output::out(&format!("{line}\n")),
        (true, Err(error)) => output::error_line(&error.to_string()),
        (false, _) => output::out(&format!("Packet {number}\n{}\n", prose(story))),
    }
}

/// Received is sent and dropped and still waiting.
fn summarize(
    args: &RunArgs,
    machine: &Lockstep,
    received: &BTreeMap<u32, u64>,
    sent: &BTreeMap<u32, u64>,
    seconds: f64,
) {
    let Totals { n_received, n_copied, n_sent, n_to_controller, n_dropped } = &machine.totals();
    let n_queued = machine.n_queued();
    if args.json {
        let totals = serde_json::json!({
            "received": n_received, "copied": n_copied, "sent": n_sent, "to_controller": n_to_controller,
            "dropped": n_dropped, "queued": n_queued, "received_by_port": received, "sent_by_port": sent,
        });
        let backend = match (machine.is_interpreted(), machine.is_native()) {
            (true, true) => "both",
            (false, true) => "native",
            _ => "interp",
        };
        let line = serde_json::json!({
            "totals": totals,
            "backend": backend,
            "packets_per_second": *n_received as f64 / seconds.max(1e-9),
        });
        output::out(&format!("{line}\n"));
        return;
    }
    let mut text = String::new();
    let mut line = |what: String, n: u64| {
        text.push_str(&format!("{n:>12}  {what}\n"));
    };
    line("received".to_string(), *n_received);
    if *n_copied > 0 {
        line("copies made".to_string(), *n_copied);
    }
    for (port, n) in sent {
        line(format!("sent to port {port}"), *n);
    }
    if *n_to_controller > 0 {
        line("to the controller".to_string(), *n_to_controller);
    }
    for (reason, n) in n_dropped {
        line(format!("dropped: {reason}"), *n);
    }
    if n_queued > 0 {
        line("still waiting".to_string(), n_queued);
    }
    output::out(&text);
}
