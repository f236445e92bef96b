//! Requests of a program to the architecture: clone, resubmit, recirculate, truncate, drop, digests.

use ir::Bits;
use smol_str::SmolStr;

/// Takes effect when the block ends; of several requests of one kind the last counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    pub clone: Option<CloneRequest>,
    pub resubmit: Option<Preserve>,
    pub recirculate: Option<Preserve>,
    /// Maximum length of the packet that is sent.
    pub truncate_bytes: Option<u32>,
    /// A drop decision made by an extern function: `Some(true)` for drop, `Some(false)` for pass.
    pub drop: Option<bool>,
    pub digests: Vec<DigestMessage>,
}

impl Requests {
    /// Adds later requests of the same packet.
    pub fn add(&mut self, later: Requests) {
        let Requests { clone, resubmit, recirculate, truncate_bytes, drop, digests } = later;
        self.clone = clone.or(self.clone.take());
        self.resubmit = resubmit.or(self.resubmit.take());
        self.recirculate = recirculate.or(self.recirculate.take());
        self.truncate_bytes = truncate_bytes.or(self.truncate_bytes);
        self.drop = drop.or(self.drop);
        self.digests.extend(digests);
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloneRequest {
    pub kind: CloneKind,
    pub session: u32,
    pub preserve: Preserve,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CloneKind {
    /// Clones the packet as it came in.
    Ingress,
    /// Clones the packet as it leaves.
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
    /// Name of the extern function or object.
    pub name: SmolStr,
    pub receiver: u64,
    /// The leaves in order.
    pub values: Vec<Bits>,
}
