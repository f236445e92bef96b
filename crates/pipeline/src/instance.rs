//! A compiled program's tables and objects, shared by its workers and its control plane.

use crate::abi;
use crate::load::Pipeline;
use crate::ops::Ops;
use crate::presence::{Inside, Presence};
use crate::worker::Worker;
use device::store::Profile;
use device::store::shape::{TableShape, ValueSetShape};
use device::traffic::Pre;
use ir::lookup::index;
use ir::{ObjectId, Program};
use std::collections::{BTreeMap, BTreeSet};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// What exists once for all workers.
///
/// Its gate is held for reading by workers during a burst or a block, and for writing by the control plane during
/// an operation: so no worker is within a burst while entries change, and the control plane waits for no more
/// than one burst.
#[derive(Debug)]
pub struct Instance {
    raw: NonNull<abi::Instance>,
    pipeline: Arc<Pipeline>,
    program: Arc<Program>,
    gate: RwLock<ControlState>,
    /// The same for executors, of which one may hang. A worker that waits for one holds its own gate; so theirs is another
    /// one, closed after it.
    are_executors_closed: AtomicBool,
    executors: Mutex<Vec<Arc<Presence>>>,
    /// Workers that somebody has.
    taken: Vec<AtomicBool>,
}

// SAFETY: what `raw` points to is used by control operations, under the gate held for writing, and by workers,
// each of which somebody has alone, under the gate held for reading; the runtime (`rt/sd_abi.h`) says that this is
// what it needs. Nothing in it belongs to a thread.
#[expect(unsafe_code, reason = "a raw pointer makes it neither")]
unsafe impl Send for Instance {}
// SAFETY: as above.
#[expect(unsafe_code, reason = "a raw pointer makes it neither")]
unsafe impl Sync for Instance {}

/// What the control plane remembers beside what C keeps.
#[derive(Debug)]
pub(crate) struct ControlState {
    pub(crate) tables: Vec<TableShape>,
    /// By object; what C has, too, so that writes are judged as everywhere.
    pub(crate) profiles: BTreeMap<u32, Profile>,
    pub(crate) value_sets: Vec<ValueSetShape>,
    pub(crate) ports_down: BTreeSet<u32>,
    /// Of instances with a control plane of their own.
    pub(crate) published: Option<Arc<Published>>,
}

/// What workers need to know beside tables and objects.
#[derive(Debug)]
pub(crate) struct Published {
    /// Grows with every change.
    pub(crate) version: u64,
    pub(crate) pre: Pre,
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
}

impl BurstPath {
    /// What `SIDING_BURSTS` says: `packets` or `segments`; otherwise what is best.
    pub fn from_environment() -> BurstPath {
        match std::env::var("SIDING_BURSTS").as_deref() {
            Ok("packets") => BurstPath::PacketByPacket,
            Ok("segments") => BurstPath::Segments,
            _ => BurstPath::Auto,
        }
    }
}

/// What an instance is made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstanceOptions {
    pub n_workers: u32,
    /// Of random numbers.
    pub seed: u64,
    pub path: BurstPath,
    /// Size of tables that do not say theirs: that with which the C text was made.
    pub table_size: u64,
}

impl Instance {
    /// With the entries that the program declares.
    pub fn new(
        pipeline: Arc<Pipeline>,
        program: Arc<Program>,
        options: InstanceOptions,
    ) -> Result<Arc<Instance>, InstanceError> {
        let state = ControlState::new(&program, options.table_size);
        check(&pipeline, &program, &state).map_err(InstanceError::OtherProgram)?;
        let config =
            abi::Config { n_workers: options.n_workers, path: options.path as u32, seed: options.seed };
        // SAFETY: the function is that of a loaded pipeline of our ABI, and is given what it wants.
        #[expect(unsafe_code, reason = "a function of the compiled program")]
        let raw = unsafe { (pipeline.functions().create)(&config) };
        let raw = NonNull::new(raw).ok_or(InstanceError::NoMemory)?;
        let taken = (0..options.n_workers).map(|_| AtomicBool::new(false)).collect();
        Ok(Arc::new(Instance {
            raw,
            pipeline,
            program,
            gate: RwLock::new(state),
            are_executors_closed: AtomicBool::new(false),
            executors: Mutex::default(),
            taken,
        }))
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

    /// A worker that nobody has; it is given back when it is dropped.
    pub fn take_worker(self: &Arc<Instance>) -> Option<Worker> {
        let is_free = |taken: &AtomicBool| !taken.swap(true, Ordering::AcqRel);
        let number = self.taken.iter().position(is_free)? as u32;
        // SAFETY: the instance lives, and has been made with more workers than this number.
        #[expect(unsafe_code, reason = "a function of the compiled program")]
        let raw = unsafe { (self.pipeline.functions().worker)(self.raw.as_ptr(), number) };
        // SAFETY: the mark in `taken` makes it ours alone.
        #[expect(unsafe_code, reason = "the worker's promise")]
        NonNull::new(raw).map(|raw| unsafe { Worker::new(raw, number, Arc::clone(self)) })
    }

    pub(crate) fn give_back(&self, number: u32) {
        if let Some(taken) = self.taken.get(number as usize) {
            taken.store(false, Ordering::Release);
        }
    }

    /// No entry changes while the guard lives.
    pub(crate) fn enter(&self) -> RwLockReadGuard<'_, ControlState> {
        self.gate.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// No worker is within a burst while the guard lives.
    pub(crate) fn close(&self) -> Exclusive<'_> {
        let state = self.gate.write().unwrap_or_else(PoisonError::into_inner);
        self.are_executors_closed.store(true, Ordering::SeqCst);
        let exclusive = Exclusive { state, instance: self };
        let executors = self.executors.lock().unwrap_or_else(PoisonError::into_inner);
        executors.iter().for_each(|presence| presence.wait_outside());
        exclusive
    }

    /// From now on nothing changes while this executor is within a block.
    pub(crate) fn add_executor(&self, presence: Arc<Presence>) {
        let mut executors = self.executors.lock().unwrap_or_else(PoisonError::into_inner);
        executors.retain(|presence| !presence.is_gone());
        executors.push(presence);
    }

    /// The same as [`enter`](Self::enter) for an executor; `None` when it is lost.
    pub(crate) fn enter_as_executor<'a>(&self, presence: &'a Presence) -> Option<Inside<'a>> {
        presence.enter(&self.are_executors_closed)
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

/// The instance for the control plane alone.
pub(crate) struct Exclusive<'a> {
    pub(crate) state: RwLockWriteGuard<'a, ControlState>,
    instance: &'a Instance,
}

impl Drop for Exclusive<'_> {
    fn drop(&mut self) {
        self.instance.are_executors_closed.store(false, Ordering::Release);
    }
}

impl Exclusive<'_> {
    pub(crate) fn parts(&mut self) -> (&mut ControlState, Ops<'_>) {
        let pipeline = &self.instance.pipeline;
        // SAFETY: the instance lives as long as the guard, which is held for writing and borrowed here.
        #[expect(unsafe_code, reason = "what the operations want is proved here")]
        let ops = unsafe { Ops::new(self.instance.raw.as_ptr(), pipeline.functions(), pipeline.layout()) };
        (&mut self.state, ops)
    }
}

impl ControlState {
    fn new(program: &Program, table_size: u64) -> ControlState {
        let tables = program.tables.iter();
        let mut profiles = BTreeMap::new();
        for (_, table) in program.tables.iter() {
            if let Some(object) = table.implementation {
                let declared = ir::lookup::get(&program.objects, object);
                profiles.extend(declared.map(|declared| (number(object), Profile::new(declared))));
            }
        }
        ControlState {
            tables: tables.map(|(_, table)| TableShape::new(program, table, table_size)).collect(),
            profiles,
            value_sets: program.value_sets.iter().map(|(_, decl)| ValueSetShape::new(decl)).collect(),
            ports_down: BTreeSet::new(),
            published: None,
        }
    }
}

pub(crate) fn number(object: ObjectId) -> u32 {
    index(object) as u32
}

/// Whether layout and program are of one origin, as far as writes rely on it.
fn check(pipeline: &Pipeline, program: &Program, state: &ControlState) -> Result<(), &'static str> {
    let layout = pipeline.layout();
    if layout.tables.len() != program.tables.len()
        || layout.objects.len() != program.objects.len()
        || layout.value_sets.len() != program.value_sets.len()
    {
        return Err("it has another number of tables, objects or value sets");
    }
    for (table, shape) in layout.tables.iter().zip(&state.tables) {
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
        // What members do is written in the table's layout.
        let room = |object: u32| layout.objects.get(object as usize).map_or(0, |object| object.data_bytes);
        if table.profile.is_some_and(|object| room(object) < table.data_bytes) {
            return Err("an action profile has no room for the data of a table's actions");
        }
    }
    for (value_set, shape) in layout.value_sets.iter().zip(&state.value_sets) {
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
