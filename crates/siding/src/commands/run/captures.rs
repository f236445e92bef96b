//! Packets of captures through a program.

use super::problem::{Problem, damaged, environment, open_capture};
use super::summary::summarize;
use super::wanted::Wanted;
use crate::cli::RunArgs;
use crate::commands::backends::{Backends, Compiled};
use crate::output::{self, Exit};
use crate::program::tint;
use control::Schema;
use ir::Program;
use packet_io::{CaptureWriter, Packet, PacketReader};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Instant;
use target::Config;
use target::traffic::{Destination, Output};
use testkit::{Arriving, Differs, Lockstep};
use trace::{Both, DropPlaces, Observer, Silent, Story, StoryBuilder, render as prose};

/// Stories that are told unless more are asked for.
const STORIES_OF_CAPTURES: usize = 10;

/// Capture files and counts of sent packets, by port.
struct Outputs<'a> {
    dir: Option<&'a Path>,
    /// Link type of the captures, which is that of the packets received.
    link_type: u16,
    writers: BTreeMap<u32, CaptureWriter>,
    wanted: Wanted,
    n_sent: BTreeMap<u32, u64>,
}

impl Outputs<'_> {
    fn write(&mut self, switch_outputs: Vec<Output>, base_ns: u64) -> Result<(), Problem> {
        for output in switch_outputs {
            let Destination::Port(port) = output.destination else { continue };
            *self.n_sent.entry(port).or_default() += 1;
            self.wanted.compare(port, &output.bytes).map_err(damaged)?;
            let Some(dir) = self.dir else { continue };
            let writer = match self.writers.entry(port) {
                std::collections::btree_map::Entry::Occupied(found) => found.into_mut(),
                std::collections::btree_map::Entry::Vacant(free) => {
                    let path = dir.join(format!("{port}.pcap"));
                    output::refuse_input(&path)
                        .map_err(|error| environment(format!("cannot write {}: {error}", path.display())))?;
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
        match machine.change_over(&self.schema, device) {
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
pub fn captures(
    args: &RunArgs,
    program: &Program,
    backends: Backends,
    compiling: Option<Receiver<Result<Compiled, Exit>>>,
) -> Result<(), Problem> {
    if let Some(dir) = &args.out {
        std::fs::create_dir_all(dir)
            .map_err(|e| environment(format!("cannot make the directory {}: {e}", dir.display())))?;
    }
    let mut inputs = Vec::new();
    for (_, path) in args.pcap.iter().chain(&args.expect) {
        output::note_input(path);
    }
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
        wanted: Wanted::open(&args.expect, args.any_link_type)?,
        n_sent: BTreeMap::new(),
    };
    let times = inputs.iter().filter_map(|i| i.next.as_ref()).map(|p| p.timestamp_ns);
    let base_ns = times.min().unwrap_or(0);
    let (mut n_received, mut damage) = (BTreeMap::<u32, u64>::new(), None);
    let (mut n_told, mut n_packets) = (0, 0);
    let mut drops = Drops::default();
    let mut n_cut = 0_u64;
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
        n_cut += u64::from(packet.data.len() < packet.original_len_bytes as usize);
        let arriving = Arriving { port, bytes: &packet.data };
        n_packets += 1;
        let may_be_meant = args.filter.as_ref().is_none_or(|filter| filter.takes_arrival(port, &packet.data));
        let sent = if n_told < n_stories && may_be_meant {
            let mut story_builder = StoryBuilder::new(Some(&sources));
            let sent = match machine.is_interpreted() {
                true => {
                    drops.n_packets += 1;
                    machine.inject(arriving, &mut Both(&mut story_builder, &mut drops.places))
                }
                false => machine.inject(arriving, &mut story_builder),
            };
            let sent = sent.map_err(differs)?;
            let story = story_builder.finish();
            if args.filter.as_ref().is_none_or(|filter| filter.takes_story(&story)) {
                n_told += 1;
                tell_one(&story, n_packets, args);
            }
            sent
        } else {
            replacement.change_over(&mut machine);
            let observer: &mut dyn Observer = match machine.is_interpreted() {
                true => {
                    drops.n_packets += 1;
                    &mut drops.places
                }
                false => &mut Silent,
            };
            machine.inject(arriving, observer).map_err(differs)?
        };
        outputs.write(sent, base_ns)?;
    }
    let seconds = start.elapsed().as_secs_f64();
    for writer in outputs.writers.values_mut() {
        writer.flush().map_err(environment)?;
    }
    let n_left = n_received.values().sum::<u64>().saturating_sub(n_told as u64);
    if args.filter.is_some() && n_told == 0 && n_stories > 0 && !args.json {
        output::out("(no packet meets the conditions of --match)\n\n");
    } else if n_left > 0 && n_told > 0 && args.filter.is_none() && !args.json {
        output::out(&format!(
            "(the stories of {n_left} more packets are not told; --stories N tells more)\n\n"
        ));
    }
    if n_cut > 0 {
        output::warning_line(&format!(
            "{n_cut} packets were cut when they were captured; they were run as far as they go"
        ));
    }
    let drops = (drops.places.lines(program, &sources), drops.n_packets);
    summarize(args, &machine, program, &n_received, &outputs.n_sent, &drops, seconds);
    if let Some(error) = damage {
        return Err(damaged(error));
    }
    outputs.wanted.verdict()
}

/// Drops by place. Compiled code counts them by reason only.
#[derive(Default)]
struct Drops {
    places: DropPlaces,
    /// Packets that the interpreter has run.
    n_packets: u64,
}

fn tell_one(story: &Story, number: usize, args: &RunArgs) {
    match (args.json, serde_json::to_string(story)) {
        (true, Ok(line)) => output::out(&format!("{line}\n")),
        (true, Err(error)) => output::error_line(&error.to_string()),
        (false, _) => {
            let text = tint(&prose(story), args.front_end.color);
            output::out(&format!("Packet {number}\n{text}\n"));
        }
    }
}
