//! Code that tells every step: what it says in the terms of C, and the events that the interpreter makes, too.
//!
//! C calls [`trace`] at each place of the program that it passes. What happened there is known to a [`Follower`] of
//! the same program; values are read where the layout says that variables lie.

use crate::abi;
use crate::abi::layout::{Layout, TraceLayout};
use crate::abi::ops::{Ops, RawEntry};
use crate::exec::host::HostContext;
use crate::instance::entries::{decode_key, decode_matches};
use crate::instance::{Instance, InstanceError};
use crate::toolchain::load::Pipeline;
use crate::values::decode;
use ir::lookup::{id_at, index};
use ir::{Bits, BlockId, Program, TerminatorKind};
use rustc_hash::FxHashMap;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::Arc;
use target::BlockEnd;
use trace::{Did, Follow, HitEntry, LookedUp, Observer, Seen, Slot, StatementEnd, Values, Variables};

/// Follows the steps of one worker.
pub(crate) struct Tracing {
    follower: Box<dyn Follow>,
    /// The table that is applied, by point.
    tables: FxHashMap<u32, u32>,
    /// How often entries were hit, by table and handle: C does not count that.
    n_hits: FxHashMap<(u32, u64), u64>,
    under_way: Option<UnderWay>,
}

/// A block that runs.
struct UnderWay {
    block: u32,
    /// Good from [`begin_trace`](HostContext::begin_trace) to [`end_trace`](HostContext::end_trace).
    observer: Option<NonNull<dyn Observer>>,
}

// SAFETY: the observer is only there while a block runs, within one call on one thread.
#[expect(unsafe_code, reason = "a raw pointer makes it none")]
unsafe impl Send for Tracing {}

impl Tracing {
    /// `None` for code that is not traced; an error where the follower follows another program.
    pub(crate) fn new(
        instance: &Instance,
        follower: Box<dyn Follow>,
    ) -> Result<Option<Tracing>, InstanceError> {
        let Some(layout) = &instance.pipeline().layout().trace else { return Ok(None) };
        let n_slots = follower.variables().n_variable_slots() as usize;
        if follower.n_points() != layout.n_points || n_slots != layout.slots.len() {
            return Err(InstanceError::OtherProgram("it has another number of variables or statements"));
        }
        let tables = applied_tables(instance.program());
        Ok(Some(Tracing { follower, tables, n_hits: FxHashMap::default(), under_way: None }))
    }

    pub(crate) fn variables(&self) -> &Arc<Variables> {
        self.follower.variables()
    }
}

/// The table of each terminator that applies one, by its point.
fn applied_tables(program: &Program) -> FxHashMap<u32, u32> {
    let blocks = program.blocks.iter().map(|(_, block)| &block.graph);
    let graphs = blocks.chain(program.procedures.iter().map(|(_, procedure)| &procedure.graph));
    let mut tables = FxHashMap::default();
    let mut point = 0;
    for (_, node) in graphs.flat_map(|graph| graph.nodes.iter()) {
        let terminator = point + 1 + node.stmts.len() as u32;
        if let TerminatorKind::Apply { table, .. } = &node.terminator.kind {
            tables.insert(terminator, index(*table) as u32);
        }
        point = terminator + 1;
    }
    tables
}

/// Variables in the memory of C.
struct Memory<'a> {
    layout: &'a TraceLayout,
    state: &'a [u8],
    block: u32,
    locals: &'a [u8],
}

impl Values for Memory<'_> {
    fn value(&self, slot: Slot) -> Bits {
        match self.layout.slots.get(slot as usize) {
            Some(slot) if slot.block.is_none() => decode(&slot.value, self.state),
            Some(slot) if slot.block == Some(self.block) => decode(&slot.value, self.locals),
            // The slot belongs to another block, which does not run.
            Some(slot) => Bits::zero(slot.value.width.unwrap_or(0)),
            None => Bits::zero(0),
        }
    }
}

impl HostContext {
    /// A block begins; `state` is what blocks share.
    pub(crate) fn begin_trace(
        &mut self,
        block: BlockId,
        state: &[u8],
        observer: Option<&mut (dyn Observer + '_)>,
    ) {
        let (Some(tracing), Some(layout)) = (&mut self.tracing, &self.pipeline.layout().trace) else {
            return;
        };
        let number = index(block) as u32;
        let memory = Memory { layout, state, block: number, locals: &[] };
        let mut observer = observer.filter(|observer| observer.listens());
        if let Some(observer) = &mut observer {
            tracing.follower.begin_block(block, &memory, *observer);
        }
        // SAFETY: only the lifetime changes; whoever calls this has the observer until it calls `end_trace`.
        #[expect(unsafe_code, reason = "C cannot carry a lifetime")]
        let observer = observer.map(|observer| unsafe {
            std::mem::transmute::<NonNull<dyn Observer + '_>, NonNull<dyn Observer + 'static>>(NonNull::from(
                observer,
            ))
        });
        tracing.under_way = Some(UnderWay { block: number, observer });
    }

    /// The block has ended.
    pub(crate) fn end_trace(
        &mut self,
        block: BlockId,
        end: &BlockEnd,
        observer: Option<&mut (dyn Observer + '_)>,
    ) {
        let Some(tracing) = &mut self.tracing else { return };
        tracing.under_way = None;
        if let Some(observer) = observer.filter(|observer| observer.listens()) {
            tracing.follower.end_block(block, end, observer);
        }
    }
}

/// A step, with copies of nothing: all of it is memory of C.
struct Raw<'a> {
    event: &'a abi::TraceEvent,
    state: &'a [u8],
    locals: &'a [u8],
    bytes: &'a [u8],
    cursor_bits: u64,
    /// Key of the lookup; empty without one.
    key: &'a [u8],
    entry: Option<RawEntry>,
    /// Entries of the table that is looked up.
    n_entries: u64,
}

impl Tracing {
    fn step(&mut self, raw: &Raw<'_>, table: Option<u32>, layout: &Layout) {
        let event = raw.event;
        let is_hit = event.kind == abi::trace::LOOKUP && event.hit != 0;
        let n_hits = match (is_hit, table) {
            (true, Some(table)) => {
                let n = self.n_hits.entry((table, event.handle)).or_default();
                *n += 1;
                *n
            }
            _ => 0,
        };
        let Some(UnderWay { block, observer: Some(mut observer) }) = self.under_way else { return };
        // SAFETY: a block is under way, whose caller has lent the observer until it ends (`begin_trace`).
        #[expect(unsafe_code, reason = "C cannot carry a lifetime")]
        let observer = unsafe { observer.as_mut() };
        let Some(trace) = &layout.trace else { return };
        let memory = Memory { layout: trace, state: raw.state, block, locals: raw.locals };
        let seen = Seen { bytes: raw.bytes, cursor_bits: raw.cursor_bits, values: &memory };
        let did = match event.kind {
            abi::trace::NODE => Did::Begin,
            abi::trace::STATEMENT => Did::Statement(match u32::try_from(event.value) {
                Ok(abi::end::DONE) => StatementEnd::Next,
                Ok(abi::end::EXTERN_NOT_SUPPLIED) => StatementEnd::NotSupplied,
                Ok(_) | Err(_) => StatementEnd::Stop,
            }),
            abi::trace::TERMINATOR => Did::Choose(event.value),
            abi::trace::CALL => {
                let number = usize::try_from(event.value).unwrap_or(usize::MAX);
                if number >= self.follower.variables().program.procedures.len() {
                    return;
                }
                Did::Call(id_at(number))
            }
            abi::trace::LOOKUP => {
                let Some(table) = table.and_then(|table| layout.tables.get(table as usize)) else { return };
                let matches =
                    raw.entry.as_ref().map(|entry| decode_matches(&table.keys, &entry.value, &entry.mask));
                let hit = is_hit.then(|| {
                    let (priority, is_const) =
                        raw.entry.as_ref().map_or((0, false), |entry| (entry.priority, entry.is_const));
                    let matches = matches.as_deref().unwrap_or_default();
                    HitEntry { serial: event.handle, matches, priority, is_const, n_hits }
                });
                let keys = decode_key(&table.keys, raw.key);
                let some = |n: u32| (n != u32::MAX).then_some(n);
                let (action, member) = (some(event.action), some(event.member));
                let n_entries = raw.n_entries;
                let has_expired = !is_hit && event.handle == abi::EXPIRED_ENTRY;
                let found = LookedUp { keys: &keys, hit, action, member, n_entries, has_expired };
                return self.follower.lookup(event.point, &found, seen, observer);
            }
            _ => return,
        };
        self.follower.step(event.point, &did, seen, observer);
    }
}

/// `sd_host.trace`.
///
/// # Safety
///
/// `context` is that of the worker's host, used by nobody else meanwhile; the worker runs a block of the packet, with
/// this state, of the program's size; the event is as `rt/worker/sd_trace.h` says.
#[expect(unsafe_code, reason = "called by C")]
pub(crate) unsafe extern "C" fn trace(
    context: *mut c_void,
    worker: *mut abi::PipelineWorker,
    packet: *mut abi::Packet,
    state: *mut c_void,
    event: *const abi::TraceEvent,
) {
    // SAFETY: the caller's promise; the worker that is borrowed mutably by the call of C has the context alone.
    let context = unsafe { &mut *context.cast::<HostContext>() };
    // SAFETY: the caller's promise.
    let event = unsafe { &*event };
    let pipeline: &Pipeline = &context.pipeline;
    let layout = pipeline.layout();
    let (Some(tracing), Some(trace)) = (&mut context.tracing, &layout.trace) else { return };
    let Some(block) = tracing.under_way.as_ref().map(|under_way| under_way.block) else { return };
    let table = tracing.tables.get(&event.point).copied().filter(|_| event.kind == abi::trace::LOOKUP);
    let key_bytes = table.and_then(|table| layout.tables.get(table as usize)).map_or(0, |t| t.key_bytes);
    let locals_bytes = trace.locals_bytes.get(block as usize).copied().unwrap_or(0);
    // SAFETY: the caller's promise: the state has its size, the locals are those of the block that runs, the key is
    // that of the table; C does not write to any of it before this returns.
    let raw = unsafe {
        Raw {
            event,
            state: bytes(state, layout.state_bytes),
            locals: bytes(event.locals, locals_bytes),
            bytes: bytes((*packet).data.cast(), (*packet).length_bytes as usize),
            cursor_bits: (*packet).cursor_bits,
            key: bytes(event.key, key_bytes),
            entry: table.filter(|_| event.hit != 0).and_then(|table| {
                // The worker holds the gate, so nobody writes entries, and `table_get` only reads them.
                let ops = Ops::new((*worker).instance, pipeline.functions(), layout);
                ops.table_get(table, event.handle)
            }),
            n_entries: table.map_or(0, |table| {
                Ops::new((*worker).instance, pipeline.functions(), layout).table_n_entries(table)
            }),
        }
    };
    // A story that breaks off is all that comes of a panic.
    if catch_unwind(AssertUnwindSafe(|| tracing.step(&raw, table, layout))).is_err() {
        tracing.under_way = None;
    }
}

/// # Safety
///
/// Requires `n` bytes at `first`, unless it is null, that nothing writes to.
#[expect(unsafe_code, reason = "memory of C")]
unsafe fn bytes<'a>(first: *const c_void, n: usize) -> &'a [u8] {
    if first.is_null() || n == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(first.cast(), n) }
}
