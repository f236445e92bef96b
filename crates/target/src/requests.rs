//! What a program asks the architecture to do with its packet.

use ir::Bits;
use smol_str::SmolStr;

/// Takes effect when the block ends; of several requests of one kind the last counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    pub clone: Option<CloneRequest>,
    pub resubmit: Option<Preserve>,
    pub recirculate: Option<Preserve>,
    /// Length of the departing packet, at most.
    pub truncate_bytes: Option<u32>,
    /// Where a program says so by a function: `Some(true)` for drop, `Some(false)` for pass.
    pub drop: Option<bool>,
    pub digests: Vec<DigestMessage>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloneRequest {
    pub kind: CloneKind,
    pub session: u32,
    pub preserve: Preserve,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CloneKind {
    /// Of the packet as it came in.
    Ingress,
    /// Of the packet as it leaves.
    Egress,
}

/// Which user metadata goes along.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Preserve {
    Nothing,
    /// By the index in [`ir::Program::field_lists`].
    FieldList(u32),
}

/// Data for the control plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestMessage {
    /// Of the extern function or object.
    pub name: SmolStr,
    pub receiver: u64,
    /// The leaves in order.
    pub values: Vec<Bits>,
}
