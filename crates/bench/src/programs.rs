//! `siding bench programs`: whole programs with full tables, packets a second on one core.

use crate::args::{BenchProgramsArgs, MeasureArgs};
use crate::harness::{Goal, Report};
use crate::native::{device, processor_mhz};
use crate::report::Line;
use crate::scenes::{self, Scene};
use console::Loaded;
use console::output::{self, Exit};
use control::{Schema, Target, Update};
use driver::{FileLoader, Options, Source};
use externs::ExternSet;
use native::{BurstPacket, Bursts, Fate, Native, Path};
use std::sync::Arc;
use std::time::Instant;
use stf::StepKind;
use syntax::{IncludeKind, LoadedFile, Loader};
use target::{Config, Device};

/// The function around compiled code, as valgrind finds its name.
pub const COUNTED: &str = "*bench*programs*Ring*run*";

const BURST: usize = 64;
/// Room in front of a packet: what programs put there is less.
const HEADROOM_BYTES: usize = 128;
const SLOT_BYTES: usize = 384;

struct Benchmark {
    name: &'static str,
    text: &'static str,
    scene: fn() -> Scene,
    /// Millions of packets a second.
    goal: Option<f64>,
}

macro_rules! program {
    ($name:literal, $scene:expr, $goal:expr) => {
        Benchmark {
            name: $name,
            text: include_str!(concat!("../programs/", $name, ".p4")),
            scene: $scene,
            goal: $goal,
        }
    };
}

const PROGRAMS: [Benchmark; 6] = [
    program!("l3_router", scenes::l3_router, None),
    program!("psa_router", scenes::l3_router, None),
    program!("srv6", scenes::srv6, None),
    program!("gtpu", scenes::gtpu, None),
    program!("firewall", scenes::firewall, None),
    program!("sai", scenes::sai, Some(2.0)),
];

/// Loads the files that the programs include.
struct Includes;

const HEADERS: &str = "headers.p4";

impl Loader for Includes {
    fn load(&self, name: &str, kind: IncludeKind, from: &str) -> Option<LoadedFile> {
        if name == HEADERS {
            let text = include_str!("../programs/headers.p4").into();
            return Some(LoadedFile { name: name.to_string(), text, is_system: false });
        }
        FileLoader::default().load(name, kind, from)
    }
}

/// Programs with their scenes, for checks of what was predicted.
pub(crate) fn held_out() -> Vec<(&'static str, &'static str, Scene)> {
    let is_wanted = |program: &&Benchmark| program.name != "psa_router";
    PROGRAMS.iter().filter(is_wanted).map(|program| (program.name, program.text, (program.scene)())).collect()
}

/// A program of the benchmarks.
pub(crate) fn load(name: &str, text: &str) -> Result<Loaded, Exit> {
    let source = Source { name: format!("{name}.p4"), text: text.into() };
    let mut checked = driver::check(&source, &Includes, &Options::default());
    let runnable =
        driver::runnable(&mut checked, None).ok_or_else(|| bug(&format!("{name}.p4 cannot be compiled")))?;
    Ok(Loaded {
        runnable,
        sources: Arc::new(checked.sources),
        includes: Vec::new(),
        macros: Vec::new(),
        externs: ExternSet::new(),
    })
}

impl Benchmark {
    fn measure(&self, args: &MeasureArgs, rounds: Option<u32>) -> Result<Line, Exit> {
        let loaded = load(self.name, self.text)?;
        let schema = Schema::new(&loaded.runnable.control_plane.p4info).map_err(|e| bug(&e.to_string()))?;
        let (schema, config) = (Arc::new(schema), Config::default());
        let mut device = device(&loaded, self.name, &args.cc, &schema, &config)?;
        let scene = (self.scene)();
        let n_entries = fill(&scene, &schema, &mut device, self.name)?;
        let mut ring = Ring::new(scene.packets);
        let mut bursts = Bursts::default();
        let n_rounds = rounds.map_or(if args.quick { 50 } else { 200 }, |n| n as usize);
        // Once for the caches and the branch predictors.
        ring.run(&mut device, &mut bursts, self.name)?;
        let n_runs = args.n_runs() as usize;
        let mut times = Vec::with_capacity(n_runs);
        for _ in 0..n_runs {
            let start = Instant::now();
            for _ in 0..n_rounds {
                ring.run(&mut device, &mut bursts, self.name)?;
            }
            times.push(start.elapsed().as_secs_f64() * 1e9 / (n_rounds * ring.packets.len()) as f64);
        }
        times.sort_by(f64::total_cmp);
        let n_processed = (1 + n_runs * n_rounds) * ring.packets.len();
        self.line(&times, n_entries, loaded.runnable.program.tables.len(), n_processed)
    }

    /// `times` are sorted, in nanoseconds per packet.
    fn line(
        &self,
        times: &[f64],
        n_entries: usize,
        n_tables: usize,
        n_processed: usize,
    ) -> Result<Line, Exit> {
        let (middle, least, most) = (times[times.len() / 2], times[0], times[times.len() - 1]);
        // Without a clock rate, cycles are nanoseconds.
        let ghz = processor_mhz().map_or(1.0, |mhz| mhz / 1e3);
        let text = serde_json::json!({
            "peer": "siding", "version": env!("CARGO_PKG_VERSION"), "work": self.name, "size": n_entries,
            "cycles": middle * ghz, "cycles_min": least * ghz, "cycles_max": most * ghz, "mpps": 1e3 / middle,
            "runs": times.len(), "tsc_ghz": ghz, "unit": "packet", "ns": middle, "tables": n_tables,
            "spread": (most - least) / middle, "processed": n_processed,
        });
        Line::parse(&text.to_string()).map_err(|error| bug(&error))
    }
}

pub(crate) fn bug(message: &str) -> Exit {
    output::error_line(&format!("internal bug: {message}"));
    Exit::Bug
}

/// The updates that a script of entries makes.
pub(crate) fn updates(entries: &str, schema: &Schema, name: &str) -> Result<Vec<Update>, Exit> {
    let parsed = stf::parse(name, entries);
    let (plan, diagnostics) = stf::resolve(&parsed.script, schema);
    if let Some(diagnostic) = parsed.diagnostics.iter().chain(diagnostics.iter()).find(|d| d.is_error()) {
        return Err(bug(&format!("{name}: {}", diagnostic.message)));
    }
    let of_step = |step: stf::Step| match step.kind {
        StepKind::Write(updates) => updates,
        _ => Vec::new(),
    };
    Ok(plan.steps.into_iter().flat_map(of_step).collect())
}

/// Writes the entries of a scene; gives their number.
fn fill(scene: &Scene, schema: &Schema, device: &mut Device<Native>, name: &str) -> Result<usize, Exit> {
    let updates = updates(&scene.entries, schema, name)?;
    for update in &updates {
        device.write(update).map_err(|fault| bug(&format!("{name}: {fault}")))?;
    }
    Ok(updates.len())
}

/// Packets, and the buffers that bursts lie in.
struct Ring {
    packets: Vec<(u32, Vec<u8>)>,
    slots: Vec<Vec<u8>>,
}

impl Ring {
    fn new(packets: Vec<(u32, Vec<u8>)>) -> Ring {
        Ring { slots: vec![vec![0; SLOT_BYTES]; packets.len()], packets }
    }

    /// All packets once. Programs change them, so each is put into its buffer first.
    #[inline(never)]
    fn run(&mut self, device: &mut Device<Native>, bursts: &mut Bursts, name: &str) -> Result<(), Exit> {
        let (mut outputs, mut n_sent) = (Vec::new(), 0);
        for (slots, packets) in self.slots.chunks_mut(BURST).zip(self.packets.chunks(BURST)) {
            let mut burst: Vec<BurstPacket<'_>> = slots
                .iter_mut()
                .zip(packets)
                .map(|(slot, (port, packet))| {
                    slot[HEADROOM_BYTES..HEADROOM_BYTES + packet.len()].copy_from_slice(packet);
                    BurstPacket::new(slot, HEADROOM_BYTES, packet.len(), *port)
                })
                .collect();
            let now_ns = device.switch.now_ns();
            bursts.process(&mut device.switch, now_ns, &mut burst, Path::Straight, &mut (), &mut outputs);
            n_sent += burst.iter().filter(|packet| matches!(packet.fate(), Fate::Sent(_))).count();
        }
        match n_sent == self.packets.len() {
            true => Ok(()),
            false => Err(bug(&format!("{name}: {n_sent} of {} packets were sent", self.packets.len()))),
        }
    }
}

pub fn run(args: &BenchProgramsArgs) -> Exit {
    measure(args).map_or_else(|exit| exit, |()| Exit::Ok)
}

fn measure(args: &BenchProgramsArgs) -> Result<(), Exit> {
    let mut report = Report {
        title: "Whole programs, TSC cycles per packet on one core, over memory".to_string(),
        size_is: "entries",
        ..Report::default()
    };
    let is_wanted = |name: &str| args.program.is_empty() || args.program.iter().any(|wanted| wanted == name);
    for program in PROGRAMS.iter().filter(|program| is_wanted(program.name)) {
        let line = program.measure(&args.measure, args.rounds)?;
        if let Some(goal) = program.goal {
            let mpps = line.number("mpps").unwrap_or(0.0);
            report.judge(&format!("{}_mpps", program.name), vec![(line.size, mpps)], Goal::AtLeast(goal));
        }
        report.lines.push(line);
    }
    report.show("programs", "", &args.measure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counted_function_has_the_name_that_valgrind_looks_for() {
        let name = std::any::type_name_of_val(&Ring::run);
        let mut rest = name;
        for part in COUNTED.split('*') {
            let at = rest.find(part);
            rest = at.map_or_else(|| panic!("{name} is not {COUNTED}"), |at| &rest[at + part.len()..]);
        }
    }
}
