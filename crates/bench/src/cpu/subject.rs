//! A program with its entries and packets: measured in compiled code, and counted in the interpreter.

use super::micro::Micro;
use crate::native::{device, processor_mhz};
use crate::programs::{bug, load, updates};
use codegen::plan::{Plan, SavedPlan, Staging, SuspensionPlan};
use console::CcArgs;
use console::Loaded;
use console::output::{self, Exit};
use control::{Schema, Target, Update};
use interp::InterpretedDevice;
use ir::lookup::index;
use ir::{Bits, Match, MatchKind, Program, Table, TableId, Timeout};
use model::cpu::prefixes::{Prefix, mean_levels};
use model::cpu::tables::{Structure, TableUse};
use model::cpu::{Component, Decisions, Work};
use native::{BurstPacket, Bursts, Fate, Native, Path};
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Instant;
use target::store::Matches;
use target::traffic::Output;
use target::{Config, Device, Store};

const BURST: usize = 32;
const LINE_BYTES: usize = 64;
/// Packets of more bytes do not stay in the caches of the core.
const NEAR_BYTES: usize = 1 << 20;
/// Room in front of a packet: what programs put there is less.
const HEADROOM_BYTES: usize = 128;
/// Least number of packets between two looks at the clock.
const N_ROUND: usize = 1 << 14;

pub(super) struct Subject {
    /// Name of the program for the compiler.
    name: String,
    /// Name for readers.
    pub(super) title: String,
    loaded: Loaded,
    schema: Arc<Schema>,
    entries: Entries,
    packets: Vec<(u32, Vec<u8>)>,
}

/// Work of a program's packets, as far as it is known before anything is measured.
#[derive(Clone)]
pub(super) struct Counted {
    pub(super) work: Work,
    pub(super) tables: Vec<TableUse>,
}

/// Entries of a program.
enum Entries {
    Updates(Vec<Update>),
    /// Read whenever they are written: the updates of all programs take gigabytes.
    Script(String),
}

/// Decisions of packets in the interpreter.
pub(super) struct Observed {
    device: InterpretedDevice,
    plan: Plan,
    /// All packets together.
    pub(super) all: Decisions,
    /// Packets that go the same way, with their number.
    pub(super) ways: Vec<(Decisions, u64)>,
}

impl Subject {
    pub(super) fn new(name: &str, program: Micro) -> Result<Subject, Exit> {
        let Micro { name: title, text, scene } = program;
        let loaded = load(name, &text)?;
        let schema = Schema::new(&loaded.runnable.control_plane.p4info).map_err(|e| bug(&e.to_string()))?;
        let subject = Subject::of(name, loaded, Arc::new(schema), (Vec::new(), scene.packets));
        Ok(Subject { title, entries: Entries::Script(scene.entries), ..subject })
    }

    /// A program with updates that it takes, and packets with the ports that they come in by.
    pub(super) fn of(
        name: &str,
        loaded: Loaded,
        schema: Arc<Schema>,
        (updates, packets): (Vec<Update>, Vec<(u32, Vec<u8>)>),
    ) -> Subject {
        let entries = Entries::Updates(updates);
        Subject { name: name.to_owned(), title: name.to_owned(), loaded, schema, entries, packets }
    }

    fn fill(&self, target: &mut dyn Target) -> Result<(), Exit> {
        let read;
        let all: Vec<&Update> = match &self.entries {
            Entries::Updates(updates) => updates.iter().collect(),
            Entries::Script(text) => {
                read = updates(text, &self.schema, &self.name)?;
                read.iter().collect()
            }
        };
        match target.write_many(&all).into_iter().find_map(Result::err) {
            Some(fault) => {
                output::error_line(&format!("{}: an entry is refused: {fault}", self.title));
                Err(Exit::Usage)
            }
            None => Ok(()),
        }
    }

    pub(super) fn program(&self) -> &Program {
        &self.loaded.runnable.program
    }

    /// Counts work: the interpreter says how packets go.
    pub(super) fn count(&self) -> Result<Counted, Exit> {
        let observed = self.observe()?;
        self.work_of(&observed, &observed.all)
    }

    /// Runs the packets through the interpreter.
    pub(super) fn observe(&self) -> Result<Observed, Exit> {
        let mut device =
            interp::interpreter(self.program().clone(), (*self.schema).clone(), Config::default())
                .map_err(|error| bug(&error.to_string()))?;
        self.fill(&mut device)?;
        let plan = codegen::plan(self.program(), &codegen::Options::default());
        let mut observed = Observed { device, plan, all: Decisions::default(), ways: Vec::new() };
        let mut numbers: HashMap<u64, usize> = HashMap::new();
        for (port, packet) in &self.packets {
            let mut decisions = Decisions::default();
            observed.device.switch.inject(*port, packet, &mut decisions);
            decisions.packet_done();
            observed.all.merge(&decisions);
            let next = observed.ways.len();
            match *numbers.entry(decisions.way()).or_insert(next) {
                known if known < next => observed.ways[known].1 += 1,
                _ => observed.ways.push((decisions, 1)),
            }
        }
        Ok(observed)
    }

    /// The work of packets that decide so, among all that were observed.
    pub(super) fn work_of(&self, observed: &Observed, decisions: &Decisions) -> Result<Counted, Exit> {
        let (program, plan) = (self.program(), &observed.plan);
        let stays = plan.fast_path.as_ref().is_some_and(|path| path.headers_in_place.is_some());
        let moves = !stays || !decisions.keeps_headers();
        let mut work = Work::new(program, decisions, moves);
        if self.stride() * self.packets.len() > NEAR_BYTES {
            work.total[Component::PacketLine] += (self.stride() / LINE_BYTES) as f64;
        }
        add_state(&mut work, plan);
        let tables = program.tables.iter().zip(&plan.tables).map(|((id, _), planned)| {
            let structure = Structure::from_name(&planned.structure)
                .ok_or_else(|| bug(&format!("no lookup structure is called {}", planned.structure)))?;
            let used = Used {
                decisions,
                n_touched: observed.all.n_touched(id),
                work: &work,
                has_records: !planned.entries_are_inline,
                is_staged: matches!(planned.staging, Staging::Suspends(_) | Staging::Prefetched(_)),
                suspends: matches!(planned.staging, Staging::Suspends(_)),
            };
            Ok(used.table(program, id, structure, &observed.device.switch.runner))
        });
        let tables = tables.collect::<Result<_, Exit>>()?;
        Ok(Counted { work, tables })
    }

    /// Bytes between packets in memory.
    fn stride(&self) -> usize {
        let longest = self.packets.iter().map(|(_, packet)| packet.len()).max().unwrap_or(0);
        longest.next_multiple_of(LINE_BYTES).max(LINE_BYTES)
    }

    /// The program in compiled code, with its entries.
    pub(super) fn ready(&self, cc: &CcArgs) -> Result<Ready, Exit> {
        let mut device = device(&self.loaded, &self.name, cc, &self.schema, &Config::default())?;
        self.fill(&mut device)?;
        let slots = vec![vec![0; HEADROOM_BYTES + self.stride()]; BURST];
        // One after the other, so that the processor fetches them ahead.
        let stride = self.stride();
        let mut bytes = vec![0; stride * self.packets.len()];
        for (to, (_, packet)) in bytes.chunks_mut(stride).zip(&self.packets) {
            to[..packet.len()].copy_from_slice(packet);
        }
        let heads = self.packets.iter().map(|(port, packet)| (*port, packet.len())).collect();
        Ok(Ready {
            device,
            slots,
            bursts: Bursts::default(),
            outputs: Vec::new(),
            bytes,
            stride,
            heads,
            at: 0,
        })
    }
}

/// Adds what packets pay for state that does not stay in registers.
fn add_state(work: &mut Work, plan: &Plan) {
    let SuspensionPlan::Tables(tables) = &plan.suspension else { return };
    if !tables.state_in_registers {
        work.total[Component::MemoryStep] +=
            work.total[Component::Decision] + work.lookups.iter().sum::<f64>();
        return;
    }
    for (table, n) in plan.tables.iter().zip(&work.lookups) {
        let Staging::Suspends(point) = table.staging else { continue };
        let Some(point) = tables.points.get(point) else { continue };
        let SavedPlan { values, positions } = &point.saved;
        work.total[Component::Saved] += n * (values.len() + positions.len()) as f64;
    }
}

/// A compiled program, and the buffers of a burst.
pub(super) struct Ready {
    device: Device<Native>,
    slots: Vec<Vec<u8>>,
    bursts: Bursts,
    outputs: Vec<Output>,
    /// All packets, in slots of `stride` bytes.
    bytes: Vec<u8>,
    stride: usize,
    /// Ports that they come in by, and their lengths.
    heads: Vec<(u32, usize)>,
    /// The packet that comes next.
    at: usize,
}

impl Ready {
    /// Cycles per packet of one round.
    pub(super) fn round(&mut self) -> f64 {
        let n = N_ROUND.max(self.heads.len());
        let start = Instant::now();
        let mut n_done = 0;
        while n_done < n {
            let end = (self.at + BURST).min(self.heads.len());
            let mut burst: Vec<BurstPacket<'_>> = self
                .slots
                .iter_mut()
                .zip(self.bytes[self.at * self.stride..].chunks(self.stride))
                .zip(&self.heads[self.at..end])
                .map(|((slot, bytes), (port, length))| {
                    slot[HEADROOM_BYTES..HEADROOM_BYTES + length].copy_from_slice(&bytes[..*length]);
                    BurstPacket::new(slot, HEADROOM_BYTES, *length, *port)
                })
                .collect();
            let now_ns = self.device.switch.now_ns();
            self.bursts.process(
                &mut self.device.switch,
                now_ns,
                &mut burst,
                Path::Straight,
                &mut (),
                &mut self.outputs,
            );
            self.outputs.clear();
            n_done += burst.len();
            std::hint::black_box(
                burst.iter().filter(|packet| matches!(packet.fate(), Fate::Sent(_))).count(),
            );
            self.at = if end == self.heads.len() { 0 } else { end };
        }
        let ghz = processor_mhz().map_or(1.0, |mhz| mhz / 1e3);
        start.elapsed().as_secs_f64() * 1e9 * ghz / n_done as f64
    }
}

/// How packets use the tables of a program.
struct Used<'a> {
    decisions: &'a Decisions,
    /// Entries that any packet has come to; `None`: no packet came.
    n_touched: Option<u64>,
    work: &'a Work,
    has_records: bool,
    is_staged: bool,
    suspends: bool,
}

impl Used<'_> {
    fn table(&self, program: &Program, id: TableId, structure: Structure, store: &dyn Store) -> TableUse {
        let table = &program.tables[id];
        let width = |ty: &ir::Type| ty.width_bits().unwrap_or(0);
        let key_bits: u32 = table.keys.iter().map(|key| width(&key.ty)).sum();
        let data_bits = table.actions.iter().map(|action| {
            let params = &program.procedures[action.procedure].params;
            params.iter().map(|var| width(&program.variables[*var].ty)).sum::<u32>()
        });
        let data_bits: Vec<u32> = data_bits.collect();
        let share = |action| self.decisions.action_share(id, action, data_bits.len());
        let data_bytes_read =
            data_bits.iter().enumerate().map(|(i, n)| f64::from(n.div_ceil(8)) * share(i)).sum();
        let (mut n_entries, mut masks, mut prefixes) = (0, HashSet::new(), Vec::new());
        store.visit_entries(id, &mut |entry| {
            n_entries += 1;
            if structure == Structure::Lpm {
                prefixes.push(prefix(table, &entry.matches));
            }
            let mut hasher = DefaultHasher::new();
            entry.matches.iter().for_each(|found| mask(found.as_ref()).hash(&mut hasher));
            masks.insert(hasher.finish());
        });
        TableUse {
            name: table.name.to_string(),
            structure,
            lookups: self.work.lookups.get(index(id)).copied().unwrap_or(0.0),
            key_bytes: key_bits.div_ceil(8),
            data_bytes: data_bits.iter().max().map_or(0, |n| n.div_ceil(8)),
            data_bytes_read,
            has_records: self.has_records && n_entries > 0,
            is_staged: self.is_staged,
            suspends: self.suspends,
            writes_records: table.direct_counter.is_some()
                || table.direct_meter.is_some()
                || table.timeout != Timeout::Never,
            n_entries,
            n_touched: self.n_touched.unwrap_or(n_entries),
            n_masks: masks.len() as u64,
            n_levels: mean_levels(&mut prefixes, key_bits),
        }
    }
}

/// The prefix that an entry is in a tree: its exact elements, then the one that is a prefix.
fn prefix(table: &Table, matches: &Matches) -> Prefix {
    let (mut exact, mut last) = (Bits::zero(0), None);
    for (key, found) in table.keys.iter().zip(matches) {
        let width = key.ty.width_bits().unwrap_or(0);
        match (key.match_kind, found) {
            (MatchKind::Lpm, Some(Match::Lpm { value, prefix_len })) => {
                last = Some((value.clone(), *prefix_len));
            }
            (MatchKind::Lpm, _) => last = Some((Bits::zero(width), 0)),
            (_, Some(Match::Exact(value))) => exact = exact.concat(value),
            _ => exact = exact.concat(&Bits::zero(width)),
        }
    }
    let (value, length) = last.unwrap_or((Bits::zero(0), 0));
    let length = exact.width() + length;
    let mut bytes = exact.concat(&value);
    // Limbs are filled from the first bit on.
    bytes = bytes.concat(&Bits::zero(bytes.width().next_multiple_of(64) - bytes.width()));
    let limb = |bytes: &[u8]| bytes.iter().fold(0, |limb, byte| limb << 8 | u64::from(*byte));
    Prefix { limbs: bytes.to_bytes_be().chunks(8).map(limb).collect(), length }
}

/// The mask that the entries of one group have.
fn mask(found: Option<&Match>) -> String {
    match found {
        None => "any".to_owned(),
        Some(Match::Ternary { mask, .. }) => format!("{mask:x}"),
        Some(Match::Lpm { prefix_len, .. }) => prefix_len.to_string(),
        Some(Match::Range { .. }) => "range".to_owned(),
        Some(_) => "exact".to_owned(),
    }
}
