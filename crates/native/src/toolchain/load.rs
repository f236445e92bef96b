//! Loads a shared object as a program that can be instantiated.
//!
//! The object's exports are read once, here, and checked: pointers and numbers become the safe data of
//! [`Layout`]. A shared object of our ABI version that lies about its arrays cannot be detected; it is code, and
//! could do worse.

use crate::abi;
use crate::abi::layout::{
    ActionLayout, ArgLayout, AsyncLayout, CallLayout, FieldListLayout, KeyLayout, Layout, ObjectKind,
    ObjectLayout, SlotLayout, TableLayout, TraceLayout, ValueLayout, ValueSetLayout,
};
use crate::toolchain::cache::Cached;
use externs::{Bound, Signature};
use ir::MatchKind;
use smol_str::SmolStr;
use std::ffi::{CStr, c_char};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Metadata fields have fewer roles than this.
const N_ROLES_MAX: u32 = 512;

/// Nothing in a program's state needs more.
pub(crate) const STATE_ALIGN_MAX: usize = 64;

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("`{}` cannot be loaded: {source}", object.display())]
    CannotLoad { object: PathBuf, source: libloading::Error },
    #[error(
        "`{}` is no compiled program of this version: its ABI is {found} of {found_bytes} bytes, and should be \
         {} of {} bytes",
        object.display(), abi::VERSION, size_of::<abi::Pipeline>()
    )]
    OtherAbi { object: PathBuf, found: u32, found_bytes: u32 },
    #[error("`{}` contradicts itself: {what}", object.display())]
    Malformed { object: PathBuf, what: &'static str },
}

/// A compiled program, loaded. It stays so as long as something made from it lives.
#[derive(Debug)]
pub struct Pipeline {
    layout: Layout,
    functions: Functions,
    /// The C text that it was made from.
    source: PathBuf,
    /// Warnings of the compiler.
    messages: String,
    /// Functions for the calls of externs.
    externs: Arc<Bound>,
    /// The last field: dropped after everything that points into it.
    _library: libloading::Library,
}

/// Entry points of a shared object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Functions {
    pub(crate) create: unsafe extern "C" fn(*const abi::Config) -> *mut abi::Instance,
    pub(crate) destroy: unsafe extern "C" fn(*mut abi::Instance),
    pub(crate) worker: unsafe extern "C" fn(*mut abi::Instance, u32) -> *mut abi::PipelineWorker,
    pub(crate) run_block:
        unsafe extern "C" fn(u32, *mut abi::PipelineWorker, *mut abi::Packet, *mut std::ffi::c_void) -> u32,
    pub(crate) process: Option<unsafe extern "C" fn(*mut abi::PipelineWorker, *mut abi::Packet, u32) -> u32>,
    /// Entry points of programs with asynchronous blocks.
    pub(crate) asynchronous: Option<AsyncFunctions>,
    pub(crate) control: abi::ControlOps,
}

/// Entry points for packets that suspend at asynchronous blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AsyncFunctions {
    pub(crate) channel_create: unsafe extern "C" fn(u32) -> *mut abi::Channel,
    pub(crate) channel_destroy: unsafe extern "C" fn(*mut abi::Channel),
    pub(crate) resume: unsafe extern "C" fn(*mut abi::PipelineWorker, *mut abi::Packet, u32) -> u32,
    pub(crate) serve: unsafe extern "C" fn(*mut abi::PipelineWorker, *const *mut abi::Channel, u32) -> u32,
}

impl Pipeline {
    pub fn load(cached: &Cached) -> Result<Pipeline, LoadError> {
        let object = &cached.object;
        // SAFETY: the object was compiled from generated C, whose initialisers (it has none of its own) do nothing;
        // it lies in a directory that only its user can write to, under a checksum.
        #[expect(unsafe_code, reason = "loading is what this crate is for")]
        let library = unsafe { libloading::Library::new(object) };
        let library = library.map_err(|source| LoadError::CannotLoad { object: object.clone(), source })?;
        // SAFETY: the symbol is a `const struct sd_pipeline`, or that of another version, which begins with the
        // same two numbers; nothing else is read before they are known to be ours.
        #[expect(unsafe_code, reason = "the type of a symbol cannot be checked")]
        let raw = unsafe { library.get::<*const abi::Pipeline>(abi::SYMBOL) };
        let raw = match raw {
            Ok(symbol) => *symbol,
            Err(source) => return Err(LoadError::CannotLoad { object: object.clone(), source }),
        };
        let (mut layout, functions) = read(raw, object)?;
        layout.trace = trace(&library, raw, &layout)
            .map_err(|what| LoadError::Malformed { object: object.clone(), what })?;
        Ok(Pipeline {
            layout,
            functions,
            source: cached.source.clone(),
            messages: cached.messages.clone(),
            externs: Arc::new(Bound::none()),
            _library: library,
        })
    }

    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The calls that the host sees, by their numbers.
    pub fn signatures(&self) -> Vec<Signature> {
        self.layout.calls.iter().map(CallLayout::signature).collect()
    }

    /// Returns the functions that are called for them.
    pub fn externs(&self) -> &Arc<Bound> {
        &self.externs
    }

    pub(crate) fn set_externs(&mut self, externs: Bound) {
        self.externs = Arc::new(externs);
    }

    /// The C text that it was made from, for inspection.
    pub fn source(&self) -> &Path {
        &self.source
    }

    /// Warnings of the compiler.
    pub fn messages(&self) -> &str {
        &self.messages
    }

    pub(crate) fn functions(&self) -> &Functions {
        &self.functions
    }
}

/// `raw` is the address of the symbol.
fn read(raw: *const abi::Pipeline, object: &Path) -> Result<(Layout, Functions), LoadError> {
    let malformed = |what| LoadError::Malformed { object: object.to_owned(), what };
    if raw.is_null() || !raw.is_aligned() {
        return Err(malformed("the symbol has no address"));
    }
    // SAFETY: `raw` is the address of a struct whose first members are these, in every version of the ABI.
    #[expect(unsafe_code, reason = "memory of the shared object")]
    let (version, size) = unsafe { ((*raw).abi_version, (*raw).abi_size) };
    if version != abi::VERSION || size as usize != size_of::<abi::Pipeline>() {
        let object = object.to_owned();
        return Err(LoadError::OtherAbi { object, found: version, found_bytes: size });
    }
    // SAFETY: version and size are ours, so this is a `struct sd_pipeline`, constant, as long as the library is
    // loaded, which it is while this runs. Function pointers that may be absent are options.
    #[expect(unsafe_code, reason = "memory of the shared object")]
    let raw = unsafe { &*raw };
    let functions = functions(raw).ok_or_else(|| malformed("a function is missing"))?;
    let layout = layout(raw).map_err(malformed)?;
    Ok((layout, functions))
}

/// Reads the trace layout that traced code exports. `raw` is the symbol that has been [`read`].
fn trace(
    library: &libloading::Library,
    raw: *const abi::Pipeline,
    layout: &Layout,
) -> Checked<Option<TraceLayout>> {
    // SAFETY: it has been read.
    #[expect(unsafe_code, reason = "memory of the shared object")]
    let has_trace = unsafe { (*raw).has_trace != 0 };
    if !has_trace {
        return Ok(None);
    }
    // SAFETY: the symbol is a `const struct sd_trace_type` wherever `has_trace` is set (rt/worker/sd_trace.h).
    #[expect(unsafe_code, reason = "the type of a symbol cannot be checked")]
    let raw = unsafe { library.get::<*const abi::TraceType>(abi::TRACE_SYMBOL) };
    let raw = raw.map(|symbol| *symbol).unwrap_or(std::ptr::null());
    if raw.is_null() || !raw.is_aligned() {
        return Err("where variables lie");
    }
    // SAFETY: as above; a constant of a library that stays loaded while this runs.
    #[expect(unsafe_code, reason = "memory of the shared object")]
    let raw = unsafe { &*raw };
    let locals_bytes: Vec<usize> =
        array(raw.locals_bytes, raw.n_blocks)?.iter().map(|n| *n as usize).collect();
    let slot = |raw: &abi::TraceSlot| {
        let block = (raw.block != abi::trace::IN_STATE).then_some(raw.block);
        let n_bytes = match block {
            None => layout.state_bytes,
            Some(block) => *locals_bytes.get(block as usize).ok_or("the block of a variable")?,
        };
        Ok(SlotLayout { block, value: value(&raw.value, n_bytes)? })
    };
    let slots = array(raw.slots, raw.n_slots)?.iter().map(slot).collect::<Checked<_>>()?;
    Ok(Some(TraceLayout { n_points: raw.n_points as usize, slots, locals_bytes }))
}

fn functions(raw: &abi::Pipeline) -> Option<Functions> {
    const N: usize = size_of::<abi::ControlOps>() / size_of::<usize>();
    let words = raw.control.cast::<[usize; N]>();
    if words.is_null() || !words.is_aligned() {
        return None;
    }
    // SAFETY: not null; a `struct sd_control_ops` of the shared object, which consists of N pointers.
    #[expect(unsafe_code, reason = "memory of the shared object")]
    let is_whole = unsafe { (*words).iter().all(|word| *word != 0) };
    // SAFETY: as above, and no pointer in it is null, as its type here demands.
    #[expect(unsafe_code, reason = "memory of the shared object")]
    let control = is_whole.then(|| unsafe { *raw.control })?;
    Some(Functions {
        create: raw.create?,
        destroy: raw.destroy?,
        worker: raw.worker?,
        run_block: raw.run_block?,
        process: raw.process,
        asynchronous: asynchronous(raw),
        control,
    })
}

fn asynchronous(raw: &abi::Pipeline) -> Option<AsyncFunctions> {
    (raw.n_async > 0).then_some(())?;
    Some(AsyncFunctions {
        channel_create: raw.channel_create?,
        channel_destroy: raw.channel_destroy?,
        resume: raw.resume?,
        serve: raw.serve?,
    })
}

/// The elements of an array of the shared object.
fn array<'a, T>(first: *const T, n: u32) -> Result<&'a [T], &'static str> {
    if n == 0 {
        return Ok(&[]);
    }
    if first.is_null() || !first.is_aligned() {
        return Err("an array has no address");
    }
    // SAFETY: the object says that `n` elements are there; they are constants of a library that stays loaded while
    // it is read, which is the only use of the result.
    #[expect(unsafe_code, reason = "memory of the shared object")]
    Ok(unsafe { std::slice::from_raw_parts(first, n as usize) })
}

fn string(text: *const c_char) -> SmolStr {
    if text.is_null() {
        return SmolStr::default();
    }
    // SAFETY: the object says that this is a string constant.
    #[expect(unsafe_code, reason = "memory of the shared object")]
    let text = unsafe { CStr::from_ptr(text) };
    SmolStr::new(text.to_string_lossy())
}

type Checked<T> = Result<T, &'static str>;

fn layout(raw: &abi::Pipeline) -> Checked<Layout> {
    let state_bytes = raw.state_bytes as usize;
    let state_align = raw.state_align as usize;
    if !state_align.is_power_of_two() || state_align > STATE_ALIGN_MAX {
        return Err("the alignment of the state");
    }
    let objects = array(raw.objects, raw.n_objects)?.iter().map(object).collect::<Checked<Vec<_>>>()?;
    let tables = array(raw.tables, raw.n_tables)?.iter().map(table).collect::<Checked<Vec<_>>>()?;
    for profile in tables.iter().filter_map(|table| table.profile) {
        let kind = objects.get(profile as usize).map(|object| object.kind);
        if !matches!(kind, Some(ObjectKind::ActionProfile | ObjectKind::ActionSelector)) {
            return Err("the action profile of a table");
        }
    }
    let mut fields = Vec::new();
    for field in array(raw.fields, raw.n_fields)? {
        if field.role >= N_ROLES_MAX {
            return Err("the role of a field");
        }
        let role = field.role as usize;
        fields.resize(fields.len().max(role + 1), Vec::new());
        fields[role].push(value(&field.value, state_bytes)?);
    }
    let field_list = |list: &abi::FieldListType| {
        let ranges = ranges(list.ranges, list.n_ranges, state_bytes)?;
        Ok(FieldListLayout { index: list.index, ranges })
    };
    let field_lists = array(raw.field_lists, raw.n_field_lists)?.iter().map(field_list);
    let accept = match raw.accept.size_bytes {
        0 => None,
        _ => Some(value(&raw.accept, state_bytes)?),
    };
    let asyncs = array(raw.asyncs, raw.n_async)?.iter().map(|block| AsyncLayout {
        name: string(block.name),
        settings: string(block.settings).to_string(),
        context_bytes: block.context_bytes,
        head_bytes: block.head_bytes,
        batched_call: (block.batched_call < raw.n_calls).then_some(block.batched_call as usize),
    });
    Ok(Layout {
        asyncs: asyncs.collect(),
        program_name: string(raw.program_name).to_string(),
        state_bytes,
        state_align,
        tables,
        objects,
        value_sets: array(raw.value_sets, raw.n_value_sets)?.iter().map(value_set).collect::<Checked<_>>()?,
        fields,
        field_lists: field_lists.collect::<Checked<_>>()?,
        calls: array(raw.calls, raw.n_calls)?.iter().map(call).collect::<Checked<_>>()?,
        metadata: ranges(raw.metadata, raw.n_metadata, state_bytes)?,
        accept,
        has_straight_path: raw.process.is_some(),
        has_segments: raw.process.is_some() && raw.burst_bytes > 0,
        trace: None,
    })
}

fn value(raw: &abi::ValueType, n_bytes: usize) -> Checked<ValueLayout> {
    let width = (raw.is_varbit == 0).then_some(raw.width_bits);
    let layout = ValueLayout { offset: raw.offset as usize, size: raw.size_bytes as usize, width };
    if layout.fits(n_bytes) { Ok(layout) } else { Err("a value lies outside of its memory") }
}

fn values(first: *const abi::ValueType, n: u32, n_bytes: usize) -> Checked<Vec<ValueLayout>> {
    array(first, n)?.iter().map(|raw| value(raw, n_bytes)).collect()
}

fn ranges(first: *const abi::BytesRange, n: u32, n_bytes: usize) -> Checked<Vec<Range<usize>>> {
    let range = |raw: &abi::BytesRange| {
        let (from, size) = (raw.offset as usize, raw.size as usize);
        let to = from.checked_add(size).filter(|to| *to <= n_bytes);
        to.map(|to| from..to).ok_or("a part of the state lies outside of it")
    };
    array(first, n)?.iter().map(range).collect()
}

fn key(raw: &abi::KeyType, n_bytes: usize) -> Checked<KeyLayout> {
    let kind = match raw.match_kind {
        abi::match_kind::EXACT => MatchKind::Exact,
        abi::match_kind::LPM => MatchKind::Lpm,
        abi::match_kind::TERNARY => MatchKind::Ternary,
        abi::match_kind::RANGE => MatchKind::Range,
        abi::match_kind::OPTIONAL => MatchKind::Optional,
        _ => return Err("the kind of a key"),
    };
    let value = value(&raw.value, n_bytes)?;
    Ok(KeyLayout { name: string(raw.name), value, kind, is_biased: raw.is_biased != 0 })
}

fn table(raw: &abi::TableType) -> Checked<TableLayout> {
    let (key_bytes, data_bytes) = (raw.key_bytes as usize, raw.data_bytes as usize);
    let keys = array(raw.keys, raw.n_keys)?.iter().map(|raw| key(raw, key_bytes)).collect::<Checked<_>>()?;
    let action = |raw: &abi::ActionType| {
        let params = values(raw.params, raw.n_params, data_bytes)?;
        Ok(ActionLayout { name: string(raw.name), params })
    };
    Ok(TableLayout {
        name: string(raw.name),
        keys,
        key_bytes,
        actions: array(raw.actions, raw.n_actions)?.iter().map(action).collect::<Checked<_>>()?,
        data_bytes,
        size: raw.size,
        profile: (raw.profile != abi::NO_OBJECT).then_some(raw.profile),
        has_direct_counter: raw.has_direct_counter != 0,
        has_direct_meter: raw.has_direct_meter != 0,
        has_profiles: raw.structure == abi::STRUCTURE_FLOW,
        concurrent_ops: raw.concurrent_ops,
    })
}

fn object(raw: &abi::ObjectType) -> Checked<ObjectLayout> {
    let kind = match raw.kind {
        abi::object::OTHER => ObjectKind::Other,
        abi::object::COUNTER => ObjectKind::Counter,
        abi::object::METER => ObjectKind::Meter,
        abi::object::REGISTER => ObjectKind::Register,
        abi::object::ACTION_PROFILE => ObjectKind::ActionProfile,
        abi::object::ACTION_SELECTOR => ObjectKind::ActionSelector,
        _ => return Err("the kind of an object"),
    };
    let cell_bytes = raw.cell_bytes as usize;
    Ok(ObjectLayout {
        name: string(raw.name),
        kind,
        size: raw.size,
        cell_bytes,
        leaves: values(raw.leaves, raw.n_leaves, cell_bytes)?,
        data_bytes: raw.data_bytes as usize,
    })
}

fn value_set(raw: &abi::ValueSetType) -> Checked<ValueSetLayout> {
    let key_bytes = raw.key_bytes as usize;
    let fields = array(raw.fields, raw.n_fields)?.iter().map(|raw| key(raw, key_bytes));
    let fields = fields.collect::<Checked<_>>()?;
    Ok(ValueSetLayout { name: string(raw.name), fields, key_bytes, size: raw.size })
}

fn call(raw: &abi::CallType) -> Checked<CallLayout> {
    let args_bytes = raw.args_bytes as usize;
    let result = match raw.result.size_bytes {
        0 => None,
        _ => Some(value(&abi::ValueType { offset: 0, ..raw.result }, raw.result.size_bytes as usize)?),
    };
    let arg = |raw: &abi::ArgType| {
        let leaves = values(raw.leaves, raw.n_leaves, args_bytes)?;
        Ok(match raw.kind {
            abi::arg::IN => ArgLayout::In(*leaves.first().ok_or("an argument without value")?),
            abi::arg::FIELDS => ArgLayout::Fields(leaves),
            abi::arg::REF => ArgLayout::Ref(leaves),
            abi::arg::STRING => ArgLayout::Str(string(raw.string).to_string()),
            abi::arg::ABSENT => ArgLayout::Absent,
            _ => return Err("the kind of an argument"),
        })
    };
    let args = array(raw.args, raw.n_args)?.iter().map(arg).collect::<Checked<_>>()?;
    let object = (raw.object != abi::NO_OBJECT).then_some(raw.object);
    Ok(CallLayout { name: string(raw.name), object, args, args_bytes, result })
}
