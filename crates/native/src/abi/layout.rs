//! Where everything lies in a compiled program's memory: what it exports, checked, as safe data.

pub use externs::values::ValueLayout;

use externs::values::VARBIT_LENGTH_BYTES;
use externs::{Arg, Signature, Value};
use ir::MatchKind;
use smol_str::SmolStr;
use std::ops::Range;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyLayout {
    pub name: SmolStr,
    pub value: ValueLayout,
    pub kind: MatchKind,
    /// The sign bit is flipped, so that order is that of unsigned numbers.
    pub is_biased: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionLayout {
    pub name: SmolStr,
    pub params: Vec<ValueLayout>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableLayout {
    pub name: SmolStr,
    pub keys: Vec<KeyLayout>,
    pub key_bytes: usize,
    pub actions: Vec<ActionLayout>,
    /// Room for the data of any action.
    pub data_bytes: usize,
    pub size: u64,
    /// Index of an object.
    pub profile: Option<u32>,
    pub has_direct_counter: bool,
    pub has_direct_meter: bool,
    /// Timeouts of entries may be those of profiles.
    pub has_profiles: bool,
    /// Bits of `abi::concurrent_op`: what the control plane may do with the table while workers run.
    pub concurrent_ops: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    Other,
    Counter,
    Meter,
    Register,
    ActionProfile,
    ActionSelector,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectLayout {
    pub name: SmolStr,
    pub kind: ObjectKind,
    /// Cells, or members (0: any number).
    pub size: u64,
    /// Size of a register cell; 0 for other objects.
    pub cell_bytes: usize,
    pub leaves: Vec<ValueLayout>,
    /// Bytes for the data of any action of a profile; 0 for other objects.
    pub data_bytes: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueSetLayout {
    pub name: SmolStr,
    pub fields: Vec<KeyLayout>,
    pub key_bytes: usize,
    pub size: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgLayout {
    In(ValueLayout),
    Fields(Vec<ValueLayout>),
    Ref(Vec<ValueLayout>),
    Str(String),
    Absent,
}

/// A call whose values the host sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallLayout {
    /// Name of the function, or `type.method`.
    pub name: SmolStr,
    /// Index of a method's object; `None` for functions.
    pub object: Option<u32>,
    pub args: Vec<ArgLayout>,
    /// Bytes that the arguments take together.
    pub args_bytes: usize,
    pub result: Option<ValueLayout>,
}

impl CallLayout {
    /// Returns the call's signature in the form that externs get.
    pub fn signature(&self) -> Signature {
        let value = |value: &ValueLayout| Value {
            offset: value.offset as u32,
            size_bytes: value.size as u32,
            width_bits: value.width.unwrap_or((value.size.saturating_sub(VARBIT_LENGTH_BYTES) * 8) as u32),
            is_varbit: value.width.is_none(),
        };
        let args = self.args.iter().map(|arg| match arg {
            ArgLayout::In(one) => Arg::In(vec![value(one)]),
            ArgLayout::Fields(leaves) => Arg::In(leaves.iter().map(value).collect()),
            ArgLayout::Ref(leaves) => Arg::InOut(leaves.iter().map(value).collect()),
            ArgLayout::Str(text) => Arg::Text(text.clone()),
            ArgLayout::Absent => Arg::Absent,
        });
        Signature {
            name: self.name.clone(),
            object: self.object,
            args: args.collect(),
            args_bytes: self.args_bytes as u32,
            result: self.result.as_ref().map(value),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldListLayout {
    pub index: u32,
    pub ranges: Vec<Range<usize>>,
}

/// All of a compiled program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    pub program_name: String,
    /// Size in bytes of the memory for a packet's variables. Its alignment `state_align` is a power of two.
    pub state_bytes: usize,
    pub state_align: usize,
    pub tables: Vec<TableLayout>,
    pub objects: Vec<ObjectLayout>,
    pub value_sets: Vec<ValueSetLayout>,
    /// Intrinsic fields, by the number of the role. Several may have one.
    pub fields: Vec<Vec<ValueLayout>>,
    pub field_lists: Vec<FieldListLayout>,
    pub calls: Vec<CallLayout>,
    /// Parts of the state that are the architecture's and the user's metadata.
    pub metadata: Vec<Range<usize>>,
    /// A filter's verdict.
    pub accept: Option<ValueLayout>,
    /// The program has a fast path.
    pub has_straight_path: bool,
    /// Bursts can be run segment by segment.
    pub has_segments: bool,
    pub asyncs: Vec<AsyncLayout>,
    /// Layout for traces; present in code compiled with `-DSD_TRACE`.
    pub trace: Option<TraceLayout>,
}

impl Layout {
    /// Returns whether the program has asynchronous blocks.
    pub fn has_async(&self) -> bool {
        !self.asyncs.is_empty()
    }
}

/// An asynchronous block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AsyncLayout {
    pub name: SmolStr,
    /// The annotation's settings as written in the program: `mode=wait capacity=100`.
    pub settings: String,
    /// Bytes of a suspended packet's context, and of the header before it in the headroom.
    pub context_bytes: u32,
    pub head_bytes: u32,
    /// Index in `calls` of the call that offload workers can batch.
    pub batched_call: Option<usize>,
}

/// Memory layout of the program's variables, part by part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceLayout {
    /// Nodes, statements and terminators of the program.
    pub n_points: usize,
    pub slots: Vec<SlotLayout>,
    /// Bytes of the variables of each block.
    pub locals_bytes: Vec<usize>,
}

/// A part of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotLayout {
    /// The block among whose variables it is; `None` of the state.
    pub block: Option<u32>,
    pub value: ValueLayout,
}
