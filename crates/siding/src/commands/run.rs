//! `siding run`.

use super::switch::Simulation;
use crate::cli::{FrontEndArgs, RunArgs};
use crate::output::{self, ErrorFormat, Exit};
use clap::ArgMatches;
use diagnostics::render::{self, Style};
use diagnostics::{Diagnostic, SourceMap};
use interp::Switch;
use interp::load::Executable;
use interp::story::{Event, Observer, Story, Teller, render as prose};
use interp::traffic::{Destination, Totals};
use interp::{Engine, Silent};
use packet_io::{CaptureWriter, Packet, PacketReader};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

/// Stories of captures that are told unless more are asked for.
const STORIES_OF_CAPTURES: usize = 10;

pub fn run(args: &RunArgs, matches: &ArgMatches) -> Exit {
    let simulation = match Simulation::new(&args.program, &args.switch, &args.front_end, matches) {
        Ok(simulation) => simulation,
        Err(exit) => return exit,
    };
    let Some(script) = &args.script else {
        return match captures(args, simulation) {
            Ok(()) => Exit::Ok,
            Err((message, exit)) => {
                output::error_line(&message);
                exit
            }
        };
    };
    let stories = if args.quiet { Stories::None } else { Stories::Told(args.stories.unwrap_or(usize::MAX)) };
    match test(simulation, script, stories, args.json, &args.front_end) {
        Tested::Passed => {
            if !args.json {
                output::out(&format!("ok {}\n", script.display()));
            }
            Exit::Ok
        }
        Tested::Failed => Exit::Failed,
        Tested::Broken(exit) => exit,
    }
}

/// Whose stories are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stories {
    None,
    /// At most so many, as they happen.
    Told(usize),
    /// All, when the test has failed.
    IfFailed,
}

/// What came of a test script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tested {
    Passed,
    Failed,
    /// The script could not be run.
    Broken(Exit),
}

/// Cuts what is heard into one story for each packet that arrives.
struct Storyteller<'s> {
    sources: &'s SourceMap,
    stories: Vec<Story>,
    n_max: usize,
    current: Option<Teller<'s>>,
}

impl<'s> Storyteller<'s> {
    fn new(sources: &'s SourceMap, n_max: usize) -> Storyteller<'s> {
        Storyteller { sources, stories: Vec::new(), n_max, current: None }
    }

    /// The next packet begins; gives the story of the one before.
    fn next(&mut self) {
        self.stories.extend(self.current.take().map(Teller::finish));
        if self.stories.len() < self.n_max {
            self.current = Some(Teller::new(Some(self.sources)));
        }
    }
}

impl Observer for Storyteller<'_> {
    fn listens(&self) -> bool {
        self.current.is_some()
    }

    fn event(&mut self, exe: &Executable, span: diagnostics::Span, event: Event<'_>) {
        if let Some(teller) = &mut self.current {
            teller.event(exe, span, event);
        }
    }
}

/// A device whose packets each begin a story.
struct Told<'a, 's> {
    device: stf::Driven<'a, 'a, Engine>,
    stories: std::rc::Rc<std::cell::RefCell<Storyteller<'s>>>,
}

struct Shared<'s>(std::rc::Rc<std::cell::RefCell<Storyteller<'s>>>);

impl Observer for Shared<'_> {
    fn listens(&self) -> bool {
        self.0.borrow().listens()
    }

    fn event(&mut self, exe: &Executable, span: diagnostics::Span, event: Event<'_>) {
        self.0.borrow_mut().event(exe, span, event);
    }
}

impl control::Target for Told<'_, '_> {
    fn write(&mut self, update: &control::Update) -> Result<(), control::Fault> {
        self.device.write(update)
    }

    fn read(&self, query: &control::Query) -> Result<Vec<control::Entity>, control::Fault> {
        self.device.read(query)
    }
}

impl stf::Device for Told<'_, '_> {
    fn receive(&mut self, port: u32, bytes: &[u8], sent: &mut dyn FnMut(u32, &[u8])) {
        self.stories.borrow_mut().next();
        self.device.receive(port, bytes, sent);
    }

    fn advance_clock(&mut self, duration_ns: u64, sent: &mut dyn FnMut(u32, &[u8])) {
        self.device.advance_clock(duration_ns, sent);
    }

    fn take_digests(&mut self) -> Vec<(control::DigestId, control::Data)> {
        self.device.take_digests()
    }
}

/// Runs a script and shows what went wrong.
pub fn test(
    mut simulation: Simulation,
    script: &Path,
    stories: Stories,
    json: bool,
    front_end: &FrontEndArgs,
) -> Tested {
    let text = match std::fs::read(script) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) => {
            output::error_line(&format!("cannot read {}: {error}", script.display()));
            return Tested::Broken(Exit::Environment);
        }
    };
    let parsed = stf::parse(&script.to_string_lossy(), &text);
    let (plan, unresolved) = stf::resolve(&parsed.script, &simulation.schema);
    let faults: Vec<Diagnostic> =
        parsed.diagnostics.into_vec().into_iter().chain(unresolved.into_vec()).collect();
    show(&faults, &parsed.sources, front_end);
    if faults.iter().any(Diagnostic::is_error) {
        return Tested::Broken(Exit::Usage);
    }
    let n_max = match stories {
        Stories::None => 0,
        Stories::Told(n) => n,
        Stories::IfFailed => usize::MAX,
    };
    let program = std::sync::Arc::clone(&simulation.sources);
    let teller = std::rc::Rc::new(std::cell::RefCell::new(Storyteller::new(&program, n_max)));
    let mut observer = Shared(std::rc::Rc::clone(&teller));
    let schema = std::sync::Arc::clone(&simulation.schema);
    let mut device = Told {
        device: stf::Driven { device: &mut simulation.interpreter, observer: &mut observer },
        stories: std::rc::Rc::clone(&teller),
    };
    let decode = |_: &[u8], _: usize| None;
    let report = stf::run(&parsed.script, &plan, &parsed.sources, &schema, &mut device, &decode);
    teller.borrow_mut().next();
    if stories != Stories::IfFailed || !report.is_success() {
        tell(&teller.borrow().stories, json);
    }
    show(&report.faults, &parsed.sources, front_end);
    if report.is_success() { Tested::Passed } else { Tested::Failed }
}

fn tell(stories: &[Story], json: bool) {
    for (i, story) in stories.iter().enumerate() {
        match (json, serde_json::to_string(story)) {
            (true, Ok(line)) => output::out(&format!("{line}\n")),
            (true, Err(error)) => output::error_line(&error.to_string()),
            (false, _) => output::out(&format!("Packet {}\n{}\n", i + 1, prose(story))),
        }
    }
}

fn show(faults: &[Diagnostic], sources: &SourceMap, front_end: &FrontEndArgs) {
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

/// Message and exit code.
type Problem = (String, Exit);

fn environment(error: impl std::fmt::Display) -> Problem {
    (error.to_string(), Exit::Environment)
}

/// What is written, by port.
struct Outputs<'a> {
    dir: Option<&'a Path>,
    writers: BTreeMap<u32, CaptureWriter>,
    n_sent: BTreeMap<u32, u64>,
}

impl Outputs<'_> {
    fn write(&mut self, switch_outputs: Vec<interp::traffic::Output>, base_ns: u64) -> Result<(), Problem> {
        for output in switch_outputs {
            let Destination::Port(port) = output.destination else { continue };
            *self.n_sent.entry(port).or_default() += 1;
            let Some(dir) = self.dir else { continue };
            let writer = match self.writers.entry(port) {
                std::collections::btree_map::Entry::Occupied(found) => found.into_mut(),
                std::collections::btree_map::Entry::Vacant(free) => {
                    let path = dir.join(format!("{port}.pcap"));
                    let writer =
                        CaptureWriter::create(&path, &format!("port {port}"), packet_io::LINK_TYPE_ETHERNET)
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

/// Takes packets in the order of their times, whichever port they arrive at.
fn captures(args: &RunArgs, mut simulation: Simulation) -> Result<(), Problem> {
    if let Some(dir) = &args.out {
        std::fs::create_dir_all(dir)
            .map_err(|e| environment(format!("cannot make the directory {}: {e}", dir.display())))?;
    }
    let mut inputs = Vec::new();
    for (port, path) in &args.pcap {
        let mut reader = PacketReader::<File>::open(path).map_err(environment)?;
        let next = reader.next().transpose().map_err(environment)?;
        inputs.push(Input { port: *port, reader, next });
    }
    let n_stories = if args.quiet { 0 } else { args.stories.unwrap_or(STORIES_OF_CAPTURES) };
    let sources = std::sync::Arc::clone(&simulation.sources);
    let mut outputs = Outputs { dir: args.out.as_deref(), writers: BTreeMap::new(), n_sent: BTreeMap::new() };
    let times = inputs.iter().filter_map(|i| i.next.as_ref()).map(|p| p.timestamp_ns);
    let base_ns = times.min().unwrap_or(0);
    let (mut n_received, mut damage) = (BTreeMap::<u32, u64>::new(), None);
    let mut n_told = 0;
    loop {
        let waiting = inputs.iter_mut().filter(|i| i.next.is_some());
        let Some(input) = waiting.min_by_key(|i| i.next.as_ref().map(|p| p.timestamp_ns)) else { break };
        let Some(packet) = input.next.take() else { break };
        let port = input.port;
        match input.reader.next() {
            Some(Ok(next)) => input.next = Some(next),
            None => {}
            // What came before the damage is worth running.
            Some(Err(error)) => damage = damage.or(Some(error)),
        }
        let elapsed_ns = packet
            .timestamp_ns
            .saturating_sub(base_ns)
            .saturating_sub(simulation.interpreter.switch.now_ns());
        let late = simulation.interpreter.switch.advance_clock(elapsed_ns, &mut Silent);
        outputs.write(late, base_ns)?;
        *n_received.entry(port).or_default() += 1;
        let sent = if n_told < n_stories {
            n_told += 1;
            let mut teller = Teller::new(Some(&sources));
            let sent = simulation.interpreter.switch.inject(port, &packet.data, &mut teller);
            tell_one(&teller.finish(), n_told, args.json);
            sent
        } else {
            simulation.interpreter.switch.inject(port, &packet.data, &mut Silent)
        };
        outputs.write(sent, base_ns)?;
    }
    for writer in outputs.writers.values_mut() {
        writer.flush().map_err(environment)?;
    }
    let n_left = n_received.values().sum::<u64>().saturating_sub(n_told as u64);
    if n_left > 0 && n_told > 0 && !args.json {
        output::out(&format!(
            "(the stories of {n_left} more packets are not told; --stories N tells more)\n\n"
        ));
    }
    summarize(args, &simulation.interpreter.switch, &n_received, &outputs.n_sent);
    match damage {
        Some(error) => Err(environment(error)),
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
fn summarize(args: &RunArgs, switch: &Switch, received: &BTreeMap<u32, u64>, sent: &BTreeMap<u32, u64>) {
    let Totals { n_received, n_copied, n_sent, n_to_controller, n_dropped } = switch.totals();
    let n_queued = switch.n_queued();
    if args.json {
        let totals = serde_json::json!({
            "received": n_received, "copied": n_copied, "sent": n_sent, "to_controller": n_to_controller,
            "dropped": n_dropped, "queued": n_queued, "received_by_port": received, "sent_by_port": sent,
        });
        output::out(&format!("{}\n", serde_json::json!({ "totals": totals })));
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
