//! A compiled program's tables and objects, shared by its workers and its control plane.

pub(crate) mod control;
mod crash;
pub(crate) mod entries;
pub(crate) mod extern_library;
pub(crate) mod quiesce;
pub(crate) mod state;

use crate::abi;
use crate::abi::layout::{Layout, ObjectKind};
use crate::abi::ops::Ops;
use crate::exec::worker::PipelineWorker;
use crate::instance::entries::encode_leaves;
use crate::instance::quiesce::{Closed, Inside, QuiesceGate};
use crate::offload::watchdog::{self, OffloadWatchdog};
use crate::toolchain::load::Pipeline;
use ir::lookup::index;
use ir::{ObjectId, Program, Table, default_timeout_ns};
use std::collections::{BTreeMap, BTreeSet};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use target::store::Profile;
use target::store::shape::{TableShape, TableShapes, ValueSetShape};

/// A pipeline's tables and objects, which all workers share.
///
/// Workers enter its gate for each burst or block. The control plane's operations run one at a time. Many of them change
/// tables while workers run packets, see [`ConcurrentOp`]. The others close the gate, which takes no longer than one burst;
/// no worker is within a burst until they are over.
#[derive(Debug)]
pub struct Instance {
    raw: NonNull<abi::Instance>,
    pipeline: Arc<Pipeline>,
    program: Arc<Program>,
    table_shapes: TableShapes,
    state: Mutex<ControlState>,
    gate: QuiesceGate,
    /// Gate of the offload workers, any of which may hang. A worker that waits for one of them is within `gate`; so this is a
    /// second gate, closed after it.
    is_offload_closed: AtomicBool,
    offload_workers: Mutex<Vec<(u32, Arc<OffloadWatchdog>)>>,
    /// By worker: it is owned by a [`PipelineWorker`].
    taken: Vec<AtomicBool>,
}

/// A table operation that some tables support while workers run packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum ConcurrentOp {
    Read = abi::concurrent_op::READ,
    Insert = abi::concurrent_op::INSERT,
    Modify = abi::concurrent_op::MODIFY,
    Remove = abi::concurrent_op::REMOVE,
    Expire = abi::concurrent_op::EXPIRE,
}

// SAFETY: what `raw` points to is used by control operations, one at a time under the lock of `state`, and by workers, each
// exclusively owned, within the gate; the gate is closed unless the operation only finds entries, or `concurrent_ops` of the
// table lists it. The runtime (`rt/sd_abi.h`) says that this is what it needs. Nothing in it belongs to a thread.
#[expect(unsafe_code, reason = "a raw pointer makes it neither")]
unsafe impl Send for Instance {}
// SAFETY: as above.
#[expect(unsafe_code, reason = "a raw pointer makes it neither")]
unsafe impl Sync for Instance {}

/// State of the control plane that C does not keep.
#[derive(Debug)]
pub(crate) struct ControlState {
    /// By object: the rules of [`Profile`] decide on writes. C stores the same for packets and refuses for want of memory only.
    pub(crate) profiles: BTreeMap<u32, Profile>,
    pub(crate) value_sets: Vec<ValueSetShape>,
    pub(crate) ports_down: BTreeSet<u32>,
    /// By table: the timeouts of its profiles; none of tables whose entries have no profiles.
    pub(crate) timeouts_ns: Vec<Vec<u64>>,
    /// The gate stays closed from operation to operation while this is above 0, see [`Instance::hold`].
    n_holds: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InstanceError {
    #[error("there is not enough memory for the tables and objects of the program")]
    NoMemory,
    #[error("the compiled program is not that of the source: {0}")]
    OtherProgram(&'static str),
}

/// How bursts go through the compiled program, where it can do both (`enum sd_path`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum BurstPath {
    /// From segment to segment once tables are larger than a cache near the core.
    #[default]
    Auto,
    /// One packet after the other.
    PacketByPacket,
    /// From segment to segment: packets wait for the memory of tables while others run.
    Segments,
    /// From segment to segment; packets of large programs wait for every second table only. For tests.
    Mixed,
}

impl BurstPath {
    const ALL: [BurstPath; 4] =
        [BurstPath::Auto, BurstPath::PacketByPacket, BurstPath::Segments, BurstPath::Mixed];

    /// Those that may differ for a program.
    pub fn of(layout: &Layout) -> &'static [BurstPath] {
        if layout.has_segments { &BurstPath::ALL } else { &[BurstPath::Auto] }
    }

    /// The path that the variable `SIDING_BURSTS` names: `packets`, `segments` or `mixed`; `Auto` without it. For command
    /// lines: libraries take a path from their caller.
    pub fn from_environment() -> BurstPath {
        let named = std::env::var("SIDING_BURSTS").unwrap_or_default();
        BurstPath::ALL.into_iter().find(|path| path.name() == named).unwrap_or_default()
    }

    /// For [`from_environment`](Self::from_environment).
    pub fn name(self) -> &'static str {
        match self {
            BurstPath::Auto => "auto",
            BurstPath::PacketByPacket => "packets",
            BurstPath::Segments => "segments",
            BurstPath::Mixed => "mixed",
        }
    }
}

/// Options for the creation of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstanceOptions {
    pub n_workers: u32,
    /// Seed of the random numbers.
    pub seed: u64,
    pub path: BurstPath,
    /// Size of tables that declare none; equal to the option with which the C text was generated.
    pub table_size: u64,
}

/// Writes the values with which registers begin.
fn fill_registers(ops: &mut Ops<'_>, program: &Program, layout: &Layout) {
    for ((id, object), layout) in program.objects.iter().zip(&layout.objects) {
        let initial = object.args.iter().find(|(name, _)| name == "initial_value");
        let Some((_, value)) = initial.filter(|_| layout.kind == ObjectKind::Register) else { continue };
        let mut cell = vec![0; layout.cell_bytes];
        encode_leaves(&layout.leaves, &value.leaves(), &mut cell);
        // Only an index beyond the end fails.
        let _ = ops.register_write(index(id) as u32, abi::ALL_CELLS, &cell);
    }
}

impl Instance {
    /// Creates an instance with the entries that the program declares.
    pub fn new(
        pipeline: Arc<Pipeline>,
        program: Arc<Program>,
        options: InstanceOptions,
    ) -> Result<Arc<Instance>, InstanceError> {
        let table_shapes = TableShape::all(&program, options.table_size);
        let state = ControlState::new(&program);
        check(&pipeline, &program, &table_shapes).map_err(InstanceError::OtherProgram)?;
        let config =
            abi::Config { n_workers: options.n_workers, path: options.path as u32, seed: options.seed };
        // SAFETY: the function is that of a loaded pipeline of our ABI, and is given what it wants.
        #[expect(unsafe_code, reason = "a function of the compiled program")]
        let raw = unsafe { (pipeline.functions().create)(&config) };
        let raw = NonNull::new(raw).ok_or(InstanceError::NoMemory)?;
        // SAFETY: it has just been made by these functions, and no other reference to it exists.
        #[expect(unsafe_code, reason = "what the operations want is proved here")]
        let mut ops = unsafe { Ops::new(raw.as_ptr(), pipeline.functions(), pipeline.layout()) };
        fill_registers(&mut ops, &program, pipeline.layout());
        fill_profiles(&mut ops, &state.timeouts_ns);
        let words: Option<Vec<_>> = (0..options.n_workers).map(|number| ops.epoch_words(number)).collect();
        let Some(words) = words.filter(|words| !words.is_empty()) else {
            // SAFETY: made by `create`, and no other reference to it exists.
            #[expect(unsafe_code, reason = "a function of the compiled program")]
            unsafe {
                (pipeline.functions().destroy)(raw.as_ptr());
            }
            return Err(InstanceError::NoMemory);
        };
        // SAFETY: words of the instance, for this purpose alone; they live as long as it, and so does the gate.
        #[expect(unsafe_code, reason = "memory of the compiled program")]
        let gate = unsafe { QuiesceGate::new(words[0].epoch, words.iter().map(|words| words.seen)) };
        let taken = (0..options.n_workers).map(|_| AtomicBool::new(false)).collect();
        Ok(Arc::new(Instance {
            raw,
            pipeline,
            program,
            table_shapes,
            state: Mutex::new(state),
            gate,
            is_offload_closed: AtomicBool::new(false),
            offload_workers: Mutex::default(),
            taken,
        }))
    }

    /// The shapes of entries that may be written to each table.
    pub fn table_shapes(&self) -> &TableShapes {
        &self.table_shapes
    }

    pub fn pipeline(&self) -> &Arc<Pipeline> {
        &self.pipeline
    }

    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    pub fn n_workers(&self) -> u32 {
        self.taken.len() as u32
    }

    /// Takes a free worker, which is given back when it is dropped; `None` if all are taken.
    pub fn take_worker(self: &Arc<Instance>) -> Option<PipelineWorker> {
        let is_free = |taken: &AtomicBool| !taken.swap(true, Ordering::AcqRel);
        let number = self.taken.iter().position(is_free)? as u32;
        self.gate.set_offload_worker(number, false);
        // SAFETY: the instance lives, and has been made with more workers than this number.
        #[expect(unsafe_code, reason = "a function of the compiled program")]
        let raw = unsafe { (self.pipeline.functions().worker)(self.raw.as_ptr(), number) };
        // SAFETY: the mark in `taken` makes it ours alone.
        #[expect(unsafe_code, reason = "the worker's promise")]
        NonNull::new(raw).map(|raw| unsafe { PipelineWorker::new(raw, number, Arc::clone(self)) })
    }

    pub(crate) fn give_back(&self, number: u32) {
        if let Some(taken) = self.taken.get(number as usize) {
            taken.store(false, Ordering::Release);
        }
    }

    /// Enters compiled code until the guard is dropped: memory that the worker finds in tables is not reclaimed, and only
    /// concurrent operations change tables.
    pub(crate) fn enter(&self, worker: u32) -> Inside<'_> {
        self.gate.enter(worker)
    }

    /// Takes the exclusive control guard while workers keep running: for state that they do not access.
    pub(crate) fn write(&self) -> ControlGuard<'_> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.forget_stuck_offload_workers();
        ControlGuard { closed: None, state, instance: self }
    }

    /// Takes the exclusive control guard and closes the gate; no worker is within a burst while the guard lives.
    pub(crate) fn close(&self) -> ControlGuard<'_> {
        let mut turn = self.write();
        if turn.state.n_holds > 0 {
            // The hold ends only between two operations.
            return turn;
        }
        let closed = AllClosed { _workers: self.gate.close(), instance: self };
        self.is_offload_closed.store(true, Ordering::SeqCst);
        turn.closed = Some(closed);
        let offload_workers: Vec<_> =
            self.offload_workers().iter().map(|(_, watchdog)| Arc::clone(watchdog)).collect();
        offload_workers.iter().for_each(|watchdog| watchdog.wait_outside());
        turn
    }

    /// Keeps the gate closed until the result is dropped, so that the operations of a step stop workers once. Operations of
    /// other threads may come in between. No worker goes on meanwhile: a step is short.
    pub(crate) fn hold(&self) -> Hold<'_> {
        let mut turn = self.close();
        turn.state.n_holds += 1;
        Hold { closed: turn.closed.take(), instance: self }
    }

    /// Takes the exclusive control guard for a table operation; closes the gate unless the operation is concurrent.
    pub(crate) fn turn_with(&self, table: usize, operation: ConcurrentOp) -> ControlGuard<'_> {
        if self.is_concurrent(table, operation) { self.write() } else { self.close() }
    }

    /// Returns whether the operation may run while workers run packets.
    pub(crate) fn is_concurrent(&self, table: usize, operation: ConcurrentOp) -> bool {
        let layout = self.pipeline.layout().tables.get(table);
        layout.is_some_and(|layout| layout.concurrent_ops & operation as u32 != 0)
    }

    fn offload_workers(&self) -> MutexGuard<'_, Vec<(u32, Arc<OffloadWatchdog>)>> {
        self.offload_workers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers an offload worker: from now on only concurrent operations run while it is within a block.
    pub(crate) fn add_offload_worker(&self, worker: u32, watchdog: Arc<OffloadWatchdog>) {
        self.forget_stuck_offload_workers();
        let mut offload_workers = self.offload_workers();
        offload_workers.retain(|(_, watchdog)| !watchdog.is_retired());
        offload_workers.push((worker, watchdog));
        self.gate.set_offload_worker(worker, true);
    }

    /// Lets memory that hung offload workers hold be reclaimed, since they never return. Their workers stay taken.
    fn forget_stuck_offload_workers(&self) {
        for (worker, watchdog) in &*self.offload_workers() {
            if watchdog.take_hung() {
                self.gate.forget(*worker);
            }
        }
    }

    /// Enters compiled code as an offload worker, see [`enter`](Self::enter); `None` if it was abandoned.
    pub(crate) fn enter_as_offload_worker<'a>(
        &'a self,
        worker: u32,
        watchdog: &'a OffloadWatchdog,
    ) -> Option<OffloadWorkerInside<'a>> {
        let outer = watchdog.enter(&self.is_offload_closed)?;
        Some(OffloadWorkerInside { _inner: self.gate.enter_as_offload_worker(worker), _outer: outer })
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: made by `create`; workers hold the instance, so none of them is left.
        #[expect(unsafe_code, reason = "a function of the compiled program")]
        unsafe {
            (self.pipeline.functions().destroy)(self.raw.as_ptr());
        }
    }
}

/// An offload worker within its blocks.
#[derive(Debug)]
pub(crate) struct OffloadWorkerInside<'a> {
    // Dropped first: the worker must hold nothing when the watchdog reports it outside.
    _inner: Inside<'a>,
    _outer: watchdog::Inside<'a>,
}

/// Proof that neither workers nor offload workers are within compiled code.
struct AllClosed<'a> {
    _workers: Closed<'a>,
    instance: &'a Instance,
}

impl Drop for AllClosed<'_> {
    fn drop(&mut self) {
        self.instance.is_offload_closed.store(false, Ordering::Release);
    }
}

/// The gate is closed for a step of several operations.
pub(crate) struct Hold<'a> {
    /// `None` within another hold.
    closed: Option<AllClosed<'a>>,
    instance: &'a Instance,
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        // An operation that found the gate closed has ended when the lock is free.
        let mut turn = self.instance.write();
        turn.state.n_holds -= 1;
        let is_last = self.closed.take().is_some();
        drop(turn);
        if is_last {
            self.instance.gate.let_in();
        }
    }
}

/// The instance for one operation of the control plane.
pub(crate) struct ControlGuard<'a> {
    // Dropped first: workers continue before the next control operation begins.
    closed: Option<AllClosed<'a>>,
    state: MutexGuard<'a, ControlState>,
    instance: &'a Instance,
}

impl ControlGuard<'_> {
    pub(crate) fn parts(&mut self) -> (&mut ControlState, Ops<'_>) {
        let pipeline = &self.instance.pipeline;
        // SAFETY: the instance lives as long as the guard, which is borrowed here and holds the lock of the control plane;
        // the gate is closed, or the guard was made for what workers need not stand still for.
        #[expect(unsafe_code, reason = "what the operations want is proved here")]
        let ops = unsafe { Ops::new(self.instance.raw.as_ptr(), pipeline.functions(), pipeline.layout()) };
        (&mut self.state, ops)
    }
}

impl ControlState {
    fn new(program: &Program) -> ControlState {
        let mut profiles = BTreeMap::new();
        for (_, table) in program.tables.iter() {
            if let Some(object) = table.implementation {
                let declared = ir::lookup::get(&program.objects, object);
                profiles.extend(declared.map(|declared| (number(object), Profile::new(declared))));
            }
        }
        ControlState {
            profiles,
            value_sets: program.value_sets.iter().map(|(_, decl)| ValueSetShape::new(decl)).collect(),
            ports_down: BTreeSet::new(),
            timeouts_ns: program.tables.iter().map(|(_, table)| default_timeouts(table)).collect(),
            n_holds: 0,
        }
    }
}

fn default_timeouts(table: &Table) -> Vec<u64> {
    match table.has_state() {
        true => (0..=u8::MAX).map(default_timeout_ns).collect(),
        false => Vec::new(),
    }
}

fn fill_profiles(ops: &mut Ops<'_>, timeouts_ns: &[Vec<u64>]) {
    for (table, timeouts_ns) in (0..).zip(timeouts_ns) {
        for (profile, timeout_ns) in (0..=u8::MAX).zip(timeouts_ns) {
            // Tables with other keys than exact ones have no profiles in C.
            let _ = ops.table_set_profile(table, profile, *timeout_ns);
        }
    }
}

pub(crate) fn number(object: ObjectId) -> u32 {
    index(object) as u32
}

/// Whether layout and program are of one origin, as far as writes rely on it.
fn check(pipeline: &Pipeline, program: &Program, shapes: &TableShapes) -> Result<(), &'static str> {
    let layout = pipeline.layout();
    if layout.tables.len() != program.tables.len()
        || layout.objects.len() != program.objects.len()
        || layout.value_sets.len() != program.value_sets.len()
    {
        return Err("it has another number of tables, objects or value sets");
    }
    for (table, shape) in layout.tables.iter().zip(shapes.iter()) {
        let keys = table.keys.len() == shape.keys.len()
            && table.keys.iter().zip(&shape.keys).all(|(a, b)| a.kind == b.kind && a.value.width == b.width);
        let actions = table.actions.len() == shape.actions.len()
            && table.actions.iter().zip(&shape.actions).all(|(a, b)| {
                a.params.len() == b.widths.len()
                    && a.params.iter().zip(&b.widths).all(|(value, width)| value.width == *width)
            });
        let profile = table.profile == shape.profile.map(number);
        if !keys || !actions || !profile || table.size != shape.size {
            return Err("a table has other keys, actions or another size");
        }
        // Members store action data in the table's layout.
        let room = |object: u32| layout.objects.get(object as usize).map_or(0, |object| object.data_bytes);
        if table.profile.is_some_and(|object| room(object) < table.data_bytes) {
            return Err("an action profile has no room for the data of a table's actions");
        }
    }
    for (value_set, shape) in
        layout.value_sets.iter().zip(program.value_sets.iter().map(|(_, decl)| ValueSetShape::new(decl)))
    {
        let fields = value_set.fields.len() == shape.fields.len()
            && value_set
                .fields
                .iter()
                .zip(&shape.fields)
                .all(|(a, (kind, width, _))| a.kind == *kind && a.value.width == *width);
        if !fields || value_set.size != shape.size {
            return Err("a value set has other fields or another size");
        }
    }
    Ok(())
}
