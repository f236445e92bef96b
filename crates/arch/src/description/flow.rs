//! The way of packets through an architecture: sections of steps.
//!
//! A packet runs the steps of its section in order. A step may run a block, copy the packet, or end its way through the
//! section: queue it for another one, begin one again, send it, drop it. A step with a condition applies only to packets
//! that meet it.

use crate::{BlockRole, FieldRole, PassKind};
use serde::Deserialize;

/// A part of the way of packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    pub name: String,
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
    /// The filter accepts the packet; true for programs that are no filters.
    Accepted,
    /// The field of actions has this member.
    Verdict(Verdict),
    /// The field is not zero.
    Field(FieldRole),
    /// The field has the number of the drop port.
    IsDropPort(FieldRole),
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

/// The state with which a packet goes on.
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
    /// Runs a block. A packet may wait in it.
    Run(BlockRole),
    /// Sends the digests of the blocks that have run.
    SendDigests,
    /// Copies for the clone session that the program has named, with the fields that it preserves.
    Copy { contents: Contents, to: SectionId, pass: PassKind },
    /// Copies for a multicast group. Ends.
    Multicast { group: FieldRole, priority: FieldRole, to: SectionId },
    /// The packet waits for a port. Ends.
    Queue { port: FieldRole, priority: FieldRole, to: SectionId },
    /// The packet begins a section, with the fields that the program preserves. Ends.
    Again { contents: Contents, to: SectionId, pass: PassKind },
    /// Ends.
    Send { port: SendPort, contents: Contents },
    /// For a reason that has a name. Ends.
    Drop(String),
}

impl Step {
    /// The fields that the step reads.
    pub fn fields_read(&self) -> Vec<FieldRole> {
        let atoms = self.when.0.iter().filter_map(|term| match term.atom {
            Atom::Verdict(_) => Some(FieldRole::OutputAction),
            Atom::Field(field) | Atom::IsDropPort(field) => Some(field),
            Atom::Requested(_) | Atom::Rejected | Atom::Accepted => None,
        });
        let mut fields: Vec<FieldRole> = atoms.collect();
        match &self.effect {
            Effect::Multicast { group, priority, .. } => fields.extend([group, priority]),
            Effect::Queue { port, priority, .. } => fields.extend([port, priority]),
            Effect::Send { port: SendPort::Field(field), .. } => fields.push(*field),
            Effect::Send { port: SendPort::Arrival | SendPort::Queue, .. }
            | Effect::Run(_)
            | Effect::SendDigests
            | Effect::Copy { .. }
            | Effect::Again { .. }
            | Effect::Drop(_) => {}
        }
        fields
    }
}

impl Effect {
    /// True when a packet does not come to the next step.
    pub fn ends(&self) -> bool {
        match self {
            Effect::Run(_) | Effect::SendDigests | Effect::Copy { .. } => false,
            Effect::Multicast { .. }
            | Effect::Queue { .. }
            | Effect::Again { .. }
            | Effect::Send { .. }
            | Effect::Drop(_) => true,
        }
    }
}

impl std::fmt::Display for Condition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, term) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(" && ")?;
            }
            if term.is_negated {
                f.write_str("!")?;
            }
            match term.atom {
                Atom::Requested(request) => write!(f, "requested({})", snake_case(&request))?,
                Atom::Rejected => f.write_str("rejected")?,
                Atom::Accepted => f.write_str("accepted")?,
                Atom::Verdict(verdict) => write!(f, "verdict({})", snake_case(&verdict))?,
                Atom::Field(field) => f.write_str(&snake_case(&field))?,
                Atom::IsDropPort(field) => write!(f, "{} == drop_port", snake_case(&field))?,
            }
        }
        Ok(())
    }
}

/// The name of a variant as descriptions write it.
pub(super) fn snake_case(variant: &dyn std::fmt::Debug) -> String {
    let mut out = String::new();
    for (i, c) in format!("{variant:?}").chars().enumerate() {
        if c.is_ascii_uppercase() && i > 0 {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}
