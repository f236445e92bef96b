//! `siding bench native`: packets a second straight through compiled code, over memory, beside the interpreter.

use crate::args::BenchNativeArgs;
use crate::examples::L2_SWITCH;
use crate::frontend::median;
use crate::interp::{address, packets, port_of};
use console::CcArgs;
use console::Loaded;
use console::compiling::{Compiling, Prepared};
use console::output::{self, Exit};
use console::tools;
use control::{
    Action, Entity, FieldMatch, Match, Param, Schema, TableAction, TableEntry, Target, Update, UpdateKind,
};
use interp::Silent;
use ir::Bits;
use native::{BurstPacket, BurstPath, Bursts, Fate, Native, Path, native_device_on};
use std::sync::Arc;
use std::time::Instant;
use target::{Config, Device};

/// Packets that are there at once, as in the rings of ports: they stay in the cache.
const PACKETS: usize = 4096;
const BURST: usize = 32;
/// Room in front of a packet.
const HEADROOM_BYTES: usize = 128;
/// Each packet begins on a line of the cache.
const SLOT_BYTES: usize = 256;

pub fn run(args: &BenchNativeArgs) -> Exit {
    measure(args).map_or_else(|exit| exit, |()| Exit::Ok)
}

/// A program in a switch of its own, compiled.
pub(crate) fn device(
    loaded: &Loaded,
    name: &str,
    cc: &CcArgs,
    schema: &Arc<Schema>,
    config: &Config,
) -> Result<Device<Native>, Exit> {
    let prepared = Prepared::new(loaded, name)?;
    let pipeline = prepared.pipeline(&Compiling::new(cc)?)?;
    let path = BurstPath::from_environment();
    native_device_on(pipeline, prepared.program, Arc::clone(schema), config.clone(), path).map_err(|error| {
        output::error_line(&format!("the compiled program cannot be run: {error}"));
        Exit::Environment
    })
}

fn measure(args: &BenchNativeArgs) -> Result<(), Exit> {
    let mut loaded = L2_SWITCH.load()?;
    for (_, table) in loaded.runnable.program.tables.iter_mut() {
        table.size = Some(args.entries.max(1));
    }
    let schema =
        Schema::new(&loaded.runnable.control_plane.p4info).map_err(|error| bug(&error.to_string()))?;
    let schema = Arc::new(schema);
    let config = Config::default();
    let mut native = device(&loaded, L2_SWITCH.name, &args.cc, &schema, &config)?;
    let Loaded { runnable, .. } = loaded;
    let mut interpreter = interp::interpreter(runnable.program, Arc::clone(&schema), config.clone())
        .map_err(|error| bug(&error.to_string()))?;
    learn(&schema, &mut native, args.entries)?;
    learn(&schema, &mut interpreter, args.entries)?;

    let packets = packets(args.entries, PACKETS);
    let mut ring = Ring::new(&packets);
    let mut bursts = Bursts::default();
    let (n_native, n_interpreted) = (args.packets.max(1), (args.packets / 10).max(1));
    // Once for the caches and the branch predictors.
    ring.run(&mut native, &mut bursts, PACKETS)?;
    let (mut native_rates, mut interpreted_rates) = (Vec::new(), Vec::new());
    for _ in 0..args.runs.max(1) {
        // By turns, so that both see the same machine.
        native_rates.push(rate(n_native, || ring.run(&mut native, &mut bursts, n_native))?);
        interpreted_rates.push(rate(n_interpreted, || {
            for (port, packet) in packets.iter().cycle().take(n_interpreted) {
                sent(interpreter.switch.inject(*port, packet, &mut Silent).len(), 1)?;
            }
            Ok(())
        })?);
    }
    let (fast, slow) = (median(native_rates.clone()), median(interpreted_rates.clone()));
    let mhz = processor_mhz();
    let cycles = mhz.map(|mhz| mhz * 1e6 / fast);
    let has_bmv2 = tools::find("simple_switch".as_ref()).is_some();
    if args.json {
        let value = serde_json::json!({
            "version": 1,
            "siding": env!("CARGO_PKG_VERSION"),
            "optimized": !cfg!(debug_assertions),
            "program": L2_SWITCH.name,
            "entries": args.entries,
            "packet_bytes": packets.first().map(|(_, packet)| packet.len()),
            "burst": BURST,
            "optimise": args.cc.optimise,
            "native": {
                "packets": n_native,
                "packets_per_second": { "median": fast, "all": native_rates },
                "cycles_per_packet": cycles,
                "mhz": mhz,
            },
            "interp": {
                "packets": n_interpreted,
                "packets_per_second": { "median": slow, "all": interpreted_rates },
            },
            "ratio": fast / slow,
            // Always null: BMv2 needs p4c's compiler as well, and network interfaces.
            "bmv2": serde_json::Value::Null,
            "bmv2_is_installed": has_bmv2,
        });
        output::out(&format!("{value}\n"));
        return Ok(());
    }
    if cfg!(debug_assertions) {
        output::warning_line("this is a debug build");
    }
    let cycles = match (cycles, mhz) {
        (Some(cycles), Some(mhz)) => format!(", {cycles:.0} cycles a packet at {mhz:.0} MHz"),
        _ => String::new(),
    };
    output::out(&format!(
        "{}, {} addresses, one core, over memory (median of {} runs)\n\
         {:>12.0} packets a second, compiled{cycles}\n{:>12.0} packets a second, interpreted\n{:>12.1} times as fast\n",
        L2_SWITCH.name,
        args.entries,
        args.runs.max(1),
        fast,
        slow,
        fast / slow,
    ));
    Ok(())
}

fn bug(message: &str) -> Exit {
    output::error_line(&format!("internal bug: {message}"));
    Exit::Bug
}

/// Every packet is for a station that the switch knows.
fn sent(n_sent: usize, n_received: usize) -> Result<(), Exit> {
    match n_sent == n_received {
        true => Ok(()),
        false => Err(bug(&format!("{n_sent} of {n_received} packets were sent"))),
    }
}

fn rate(n_packets: usize, work: impl FnOnce() -> Result<(), Exit>) -> Result<f64, Exit> {
    let start = Instant::now();
    work()?;
    Ok(n_packets as f64 / start.elapsed().as_secs_f64().max(1e-9))
}

/// Packets in memory, each in a slot of its own.
pub(crate) struct Ring {
    slots: Vec<Vec<u8>>,
    /// Length and port of arrival.
    facts: Vec<(usize, u32)>,
}

impl Ring {
    pub(crate) fn new(packets: &[(u32, Vec<u8>)]) -> Ring {
        let slot = |packet: &Vec<u8>| {
            let mut slot = vec![0; SLOT_BYTES];
            slot[HEADROOM_BYTES..HEADROOM_BYTES + packet.len()].copy_from_slice(packet);
            slot
        };
        Ring {
            slots: packets.iter().map(|(_, packet)| slot(packet)).collect(),
            facts: packets.iter().map(|(port, packet)| (packet.len(), *port)).collect(),
        }
    }

    /// So many packets, round and round; the program changes none of them.
    pub(crate) fn run(
        &mut self,
        device: &mut Device<Native>,
        bursts: &mut Bursts,
        n_packets: usize,
    ) -> Result<(), Exit> {
        let (mut n_left, mut outputs) = (n_packets, Vec::new());
        while n_left > 0 {
            for (slots, facts) in self.slots.chunks_mut(BURST).zip(self.facts.chunks(BURST)) {
                let n = slots.len().min(n_left);
                let mut burst: Vec<BurstPacket<'_>> = slots
                    .iter_mut()
                    .zip(facts)
                    .take(n)
                    .map(|(slot, (len, port))| BurstPacket::new(slot, HEADROOM_BYTES, *len, *port))
                    .collect();
                let now_ns = device.switch.now_ns();
                bursts.process(&mut device.switch, now_ns, &mut burst, Path::Straight, &mut (), &mut outputs);
                sent(burst.iter().filter(|p| matches!(p.fate(), Fate::Sent(_))).count(), n)?;
                n_left -= n;
            }
        }
        Ok(())
    }
}

/// The switch knows this many stations.
fn learn(schema: &Schema, target: &mut dyn Target, n_entries: u64) -> Result<(), Exit> {
    for n in 0..n_entries {
        let source = [Bits::new(48, u128::from(address(n))), Bits::new(9, u128::from(port_of(n)))];
        insert(schema, target, "smac", &source, "known", &[])?;
        let destination = [Bits::new(48, u128::from(address(n)))];
        insert(schema, target, "dmac", &destination, "forward", &[Bits::new(9, u128::from(port_of(n)))])?;
    }
    Ok(())
}

fn insert(
    schema: &Schema,
    target: &mut dyn Target,
    table: &str,
    key: &[Bits],
    action: &str,
    data: &[Bits],
) -> Result<(), Exit> {
    let fault = |fault: control::Fault| bug(&fault.to_string());
    let table = schema.tables.find(table).map_err(fault)?;
    let action = table.find_action(schema, action).map_err(fault)?;
    let matches = table
        .keys
        .iter()
        .zip(key)
        .map(|(field, value)| FieldMatch { field: field.id, value: Match::Exact(value.clone().into()) });
    let params = action.params.iter().zip(data);
    let params = params.map(|(param, value)| Param { id: param.id, value: value.clone().into() });
    let mut entry = TableEntry::new(table.id, matches.collect(), 0);
    entry.action = Some(TableAction::Action(Action { id: action.id, params: params.collect() }));
    let update = Update { kind: UpdateKind::Insert, entity: Entity::TableEntry(entry) };
    target.write(&update).map_err(fault)
}

/// Clock rate that the system reports, in MHz; cores may run faster for a while.
pub fn processor_mhz() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("cpu MHz"))?;
    line.split_once(':')?.1.trim().parse().ok()
}
