//! The way of packets through an architecture: sections of steps.
//!
//! A packet runs the steps of its section in order. A step may run a block, copy the packet, or end its way through the
//! section: queue it for another one, begin one again, send it, drop it. A step with a condition applies only to packets
//! that meet it.

use crate::{BlockIndex, FieldRole, IntrinsicWrites, ParamRole, PassKind};
use serde::Deserialize;

/// A part of the way of packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    pub name: String,
    /// Written when a packet comes here, whose variables all begin anew; `None` if the packet goes on as it is.
    pub writes: Option<IntrinsicWrites>,
    /// Members of the enum for [`IntrinsicValue::Path`](crate::IntrinsicValue::Path), by the kind of the pass.
    pub paths: Vec<(PassKind, String)>,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub when: Condition,
    pub effect: Effect,
}

/// Terms of which all must hold. Without terms it always holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Condition(pub Vec<Term>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    pub is_negated: bool,
    pub atom: Atom,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atom {
    /// The program has asked for this with an extern.
    Requested(Request),
    /// The parser has rejected the packet, and the program has no field for the error.
    Rejected,
    /// The packet came from a port at the side of the host.
    FromHost,
    /// The filter accepts the packet; true for programs that are no filters.
    Accepted,
    /// The field of actions has this member.
    Verdict(Verdict),
    /// The field is not zero.
    Field(FieldRole),
    /// The field has the number of the drop port.
    IsDropPort(FieldRole),
    /// The field has the number of a special port.
    IsPort(FieldRole, u32),
}

/// Something that programs ask of an architecture with externs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    Clone,
    Resubmit,
    Recirculate,
    Drop,
}

/// A verdict on a packet, by a member of an enum of actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The program failed.
    Abort,
    Drop,
    /// On its way, which for a switch of ports is the way it came.
    Pass,
    /// Out of the port it came from.
    Reflect,
    /// Out of the port that another field names.
    Redirect,
}

/// The state with which a packet goes on. Copies of bytes are cut to the length of their clone session at once, others when
/// they leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Contents {
    /// The bytes as received, nothing parsed.
    AsReceived,
    /// The bytes as received, parsed by the section's parser; metadata as on arrival.
    ParsedAgain,
    /// Headers as they are; metadata as on arrival.
    Headers,
    /// The deparser's output and the payload, nothing parsed.
    Deparsed,
}

/// The port to which a packet is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendPort {
    /// The port of arrival.
    Arrival,
    /// The port of the packet's queue.
    Queue,
    Field(FieldRole),
}

/// Index of a [`Section`].
pub type SectionId = usize;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Runs a block. A packet may wait in it. Conditions are on fields, and on the side from which the packet came.
    Run(BlockIndex),
    /// Sends the digests of the blocks that have run.
    SendDigests,
    /// Copies for the clone session that a field holds, or that the program has named with an extern, with the variable, or
    /// the fields, that it preserves.
    Copy {
        contents: Contents,
        to: SectionId,
        pass: PassKind,
        session: Option<FieldRole>,
        carry: Option<ParamRole>,
    },
    /// Copies for a multicast group. Ends.
    Multicast { group: FieldRole, priority: FieldRole, onward: Onward },
    /// The packet waits for a port. Ends.
    Queue { port: FieldRole, priority: FieldRole, onward: Onward },
    /// The packet goes on in a later section at once. Ends.
    Next(Onward),
    /// The packet begins a section, with the variable, or the fields, that the program preserves. It keeps its port of
    /// arrival, unless a special one is named. Ends.
    Again { contents: Contents, to: SectionId, pass: PassKind, carry: Option<ParamRole>, port: Option<u32> },
    /// Ends.
    Send { port: SendPort, contents: Contents },
    /// For a reason that has a name. Ends.
    Drop(String),
}

/// How a packet comes to a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Onward {
    pub to: SectionId,
    pub contents: Contents,
    /// The variable that goes along, where all others begin anew.
    pub carry: Option<ParamRole>,
}

impl Step {
    /// The fields that the step reads.
    pub fn fields_read(&self) -> Vec<FieldRole> {
        let atoms = self.when.0.iter().filter_map(|term| match term.atom {
            Atom::Verdict(_) => Some(FieldRole::OutputAction),
            Atom::Field(field) | Atom::IsDropPort(field) | Atom::IsPort(field, _) => Some(field),
            Atom::Requested(_) | Atom::Rejected | Atom::FromHost | Atom::Accepted => None,
        });
        let mut fields: Vec<FieldRole> = atoms.collect();
        match &self.effect {
            Effect::Multicast { group, priority, .. } => fields.extend([group, priority]),
            Effect::Queue { port, priority, .. } => fields.extend([port, priority]),
            Effect::Send { port: SendPort::Field(field), .. } => fields.push(*field),
            Effect::Copy { session: Some(field), .. } => fields.push(*field),
            Effect::Send { port: SendPort::Arrival | SendPort::Queue, .. }
            | Effect::Run(_)
            | Effect::SendDigests
            | Effect::Copy { session: None, .. }
            | Effect::Again { .. }
            | Effect::Next(_)
            | Effect::Drop(_) => {}
        }
        fields
    }
}

impl Effect {
    /// The variable that goes along.
    pub fn carried(&self) -> Option<ParamRole> {
        match self {
            Effect::Copy { carry, .. } | Effect::Again { carry, .. } => *carry,
            Effect::Multicast { onward, .. } | Effect::Queue { onward, .. } | Effect::Next(onward) => {
                onward.carry
            }
            Effect::Run(_) | Effect::SendDigests | Effect::Send { .. } | Effect::Drop(_) => None,
        }
    }

    /// True when a packet does not come to the next step.
    pub fn ends(&self) -> bool {
        match self {
            Effect::Run(_) | Effect::SendDigests | Effect::Copy { .. } => false,
            Effect::Multicast { .. }
            | Effect::Queue { .. }
            | Effect::Next(_)
            | Effect::Again { .. }
            | Effect::Send { .. }
            | Effect::Drop(_) => true,
        }
    }
}

/// The name of a variant as descriptions write it.
pub(crate) fn snake_case(variant: &dyn std::fmt::Debug) -> String {
    let mut out = String::new();
    for (i, c) in format!("{variant:?}").chars().enumerate() {
        if c.is_ascii_uppercase() && i > 0 {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}
