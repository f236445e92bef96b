//! Runs packets through every backend of a program and compares them with a model.

use super::{Arrival, Leaving, Model, Setup, Tally};
use control::Schema;
use driver::{FileLoader, Options, Source};
use native::{BurstPath, Pipeline};
use std::collections::BTreeMap;
use std::sync::Arc;
use target::traffic::{
    CloneSession, Destination, MulticastGroup, Output, Ports, Pre, QueueConfig, Replica, Totals,
};
use target::{BlockRunner, Config, Device};
use testkit::{Arriving, BlockByBlock, Dut, FastPath};
use trace::Silent;

/// A switch with its name in messages.
type Named = (String, Box<dyn Dut>);

/// A packet that waited: its class of service, its number, and the time of its last pass if that was behind the queue.
pub(in crate::suites) type Waited = (u8, u32, Option<u64>);

/// Reads a packet that leaves; `None` of packets whose order does not matter.
pub(in crate::suites) type Kind = fn(&[u8]) -> Option<Waited>;

/// A program, ready for every backend.
pub(in crate::suites) struct Compiled {
    /// For the interpreter: as elaborated, after the passes, and with dead values overwritten.
    interpreted: Vec<(&'static str, Arc<ir::Program>)>,
    program: Arc<ir::Program>,
    pipeline: Arc<Pipeline>,
    schema: Arc<Schema>,
}

impl Compiled {
    /// Compiles the text of a program. The error is one line.
    pub(in crate::suites) fn new(name: &str, text: &str) -> Result<Compiled, String> {
        let source = Source { name: name.to_owned(), text: text.into() };
        let mut checked = driver::check(&source, &FileLoader::default(), &Options::default());
        let Some(runnable) = driver::runnable(&mut checked, None) else {
            return Err(crate::front_end::first_error(&checked).unwrap_or_default());
        };
        let elaborated = runnable.program;
        let mut program = elaborated.clone();
        ir::passes::run(&mut program, ir::passes::DEFAULT).map_err(|e| e.to_string())?;
        let overwritten = ir::oracle::overwrite_dead(&elaborated).map_err(|e| e.to_string())?;
        let mut options = native::BuildOptions::default();
        options.generate.program_name = name.to_owned();
        options.compile.optimise = native::Optimise::Little;
        options.compile.machine = native::Machine::Any;
        let pipeline = native::build(&program, &checked.sources, &options).map_err(|e| e.to_string())?;
        let schema = Schema::new(&runnable.control_plane.p4info).map_err(|e| e.to_string())?;
        let program = Arc::new(program);
        let interpreted = vec![
            ("the interpreter", Arc::new(elaborated)),
            ("the interpreter after the passes", Arc::clone(&program)),
            ("the interpreter with dead values overwritten", Arc::new(overwritten)),
        ];
        Ok(Compiled { interpreted, program, pipeline, schema: Arc::new(schema) })
    }

    /// Fresh switches, with their names.
    fn switches(&self, setup: &Setup, rate_pps: Option<u64>) -> Result<Vec<Named>, String> {
        let config = config_of(setup, rate_pps);
        let mut switches: Vec<Named> = Vec::new();
        for (name, program) in &self.interpreted {
            let device = interp::interpreter(Arc::clone(program), Arc::clone(&self.schema), config.clone());
            let device = with_replicas(device.map_err(|e| e.to_string())?, setup)?;
            switches.push(((*name).to_owned(), Box::new(BlockByBlock::new(device))));
        }
        let compiled = |path: BurstPath| {
            let (pipeline, program) = (Arc::clone(&self.pipeline), Arc::clone(&self.program));
            let schema = Arc::clone(&self.schema);
            let device = native::native_device_on(pipeline, program, schema, config.clone(), path);
            with_replicas(device.map_err(|e| e.to_string())?, setup)
        };
        let by_block = BlockByBlock::new(compiled(BurstPath::Auto)?);
        switches.push(("compiled code, block by block".to_owned(), Box::new(by_block)));
        for path in BurstPath::of(self.pipeline.layout()) {
            let name = format!("compiled code in bursts ({})", path.name());
            switches.push((name, Box::new(FastPath::new(compiled(*path)?))));
        }
        Ok(switches)
    }
}

fn config_of(setup: &Setup, rate_pps: Option<u64>) -> Config {
    let n_priorities = u32::from(setup.n_classes);
    Config {
        ports: Ports::Listed(setup.ports.clone()),
        host_ports: setup.host_ports.clone(),
        cpu_port: Some(setup.cpu_port),
        queue: QueueConfig { n_priorities, rate_pps, n_packets_max: 1 << 16 },
        rounds_max: setup.rounds_max,
        copies_max: setup.copies_max,
        ..Config::default()
    }
}

fn with_replicas<B: BlockRunner>(device: Device<B>, setup: &Setup) -> Result<Device<B>, String> {
    let replicas = |all: &[(u32, u16)]| all.iter().map(|(p, i)| Replica::new(*p, u32::from(*i))).collect();
    let write = |pre: &mut Pre| {
        for (id, session) in &setup.sessions {
            let session = CloneSession {
                replicas: replicas(&session.replicas),
                class_of_service: u32::from(session.class_of_service),
                truncate_bytes: session.truncate_bytes,
                group: None,
            };
            pre.insert_session(u32::from(*id), session)?;
        }
        for (id, group) in &setup.groups {
            pre.insert_group(*id, MulticastGroup { replicas: replicas(group), metadata: Vec::new() })?;
        }
        Ok::<_, target::traffic::PreError>(())
    };
    device.switch.pre().update(write).map_err(|e| e.to_string())?;
    Ok(device)
}

/// Sends the packets, in bursts of one to eight, to the model and to every backend, and compares what leaves and every count.
pub(in crate::suites) fn judge(
    compiled: &Compiled,
    setup: &Setup,
    model: &mut dyn Model,
    arrivals: &[Arrival],
) -> Result<(), String> {
    let mut switches = compiled.switches(setup, None)?;
    let (mut now_ns, mut rest, mut n_burst) = (0, arrivals, 0);
    while !rest.is_empty() {
        n_burst = n_burst % 8 + 1;
        let (burst, others) = rest.split_at(n_burst.min(rest.len()));
        rest = others;
        now_ns += 1009;
        let expected: Vec<Leaving> =
            burst.iter().map(|packet| model.arrive(packet.port, &packet.bytes, now_ns)).collect();
        let arriving: Vec<Arriving<'_>> =
            burst.iter().map(|packet| Arriving { port: packet.port, bytes: &packet.bytes }).collect();
        let mut first: Option<Vec<Vec<Output>>> = None;
        for (name, switch) in &mut switches {
            let late = switch.advance_clock(1009, &mut Silent);
            if !late.is_empty() {
                return Err(format!("{name}: {} packets leave when time passes", late.len()));
            }
            let outputs = switch.receive(&arriving, &mut Silent);
            for ((outputs, expected), packet) in outputs.iter().zip(&expected).zip(burst) {
                compare(setup, outputs, expected)
                    .map_err(|what| format!("{name}: port {} {}: {what}", packet.port, hex(&packet.bytes)))?;
            }
            let tally = tally_of(&switch.totals());
            if tally != *model.tally() {
                return Err(format!("{name}: counts {tally:?} instead of {:?}", model.tally()));
            }
            if !switch.totals().is_balanced(switch.n_queued()) || switch.n_queued() != 0 {
                return Err(format!("{name}: the counts do not balance: {:?}", switch.totals()));
            }
            if *first.get_or_insert_with(|| outputs.clone()) != outputs {
                return Err(format!("{name}: packets leave in another order than in the interpreter"));
            }
        }
    }
    Ok(())
}

/// Fails unless the packets of the model leave, in any order.
fn compare(setup: &Setup, outputs: &[Output], expected: &Leaving) -> Result<(), String> {
    let port = |output: &Output| match output.destination {
        Destination::Port(port) => port,
        Destination::Controller => setup.cpu_port,
    };
    let mut found: Leaving = outputs.iter().map(|output| (port(output), output.bytes.clone())).collect();
    let mut expected = expected.clone();
    found.sort();
    expected.sort();
    if found == expected {
        return Ok(());
    }
    let missing: Vec<_> = expected.iter().filter(|packet| !found.contains(packet)).collect();
    let surplus: Vec<_> = found.iter().filter(|packet| !expected.contains(packet)).collect();
    let list = |all: Vec<&(u32, Vec<u8>)>| {
        all.iter().map(|(port, bytes)| format!("{port}: {}", hex(bytes))).collect::<Vec<_>>().join(", ")
    };
    let (n_found, n_expected) = (found.len(), expected.len());
    Err(format!(
        "{n_found} packets leave instead of {n_expected}; missing [{}], instead [{}]",
        list(missing),
        list(surplus)
    ))
}

fn tally_of(totals: &Totals) -> Tally {
    Tally {
        n_received: totals.n_received,
        n_copied: totals.n_copied,
        n_sent: totals.n_sent,
        n_to_controller: totals.n_to_controller,
        n_dropped: totals.n_dropped.clone(),
        n_ignored: totals.n_ignored.clone(),
    }
}

/// Sends packets to ports that are so slow that all of them wait. The numbers that `kind` gives must grow among the packets of
/// one port and class.
pub(in crate::suites) fn judge_order(
    compiled: &Compiled,
    setup: &Setup,
    arrivals: &[Arrival],
    kind: Kind,
) -> Result<(), String> {
    const PACKETS_PER_SECOND: u64 = 1000;
    for (name, mut switch) in compiled.switches(setup, Some(PACKETS_PER_SECOND))? {
        let mut left: Vec<Output> = Vec::new();
        for packet in arrivals {
            let arriving = [Arriving { port: packet.port, bytes: &packet.bytes }];
            left.extend(switch.receive(&arriving, &mut Silent).into_iter().flatten());
        }
        if switch.n_queued() == 0 || !switch.totals().is_balanced(switch.n_queued()) {
            return Err(format!("{name}: {} packets wait: {:?}", switch.n_queued(), switch.totals()));
        }
        let n_packets = arrivals.len() as u64 * 16;
        left.extend(switch.advance_clock(n_packets * 1_000_000_000 / PACKETS_PER_SECOND, &mut Silent));
        if switch.n_queued() != 0 || !switch.totals().is_balanced(0) {
            return Err(format!("{name}: {} packets still wait", switch.n_queued()));
        }
        let mut last: BTreeMap<(u32, u8), u32> = BTreeMap::new();
        let mut n_ordered = 0;
        for output in &left {
            let (Some(port), Some((class, number, pass_ns))) = (output.port(), kind(&output.bytes)) else {
                continue;
            };
            if pass_ns.is_some_and(|pass_ns| pass_ns != output.at_ns) {
                return Err(format!(
                    "{name}: egress was at {pass_ns:?} ns, the packet left at {}",
                    output.at_ns
                ));
            }
            let before = last.insert((port, class), number);
            if before.is_some_and(|before| before >= number) {
                return Err(format!("{name}: port {port}, class {class}: {number} leaves behind {before:?}"));
            }
            n_ordered += 1;
        }
        if n_ordered < arrivals.len() / 2 {
            return Err(format!("{name}: only {n_ordered} packets leave"));
        }
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
