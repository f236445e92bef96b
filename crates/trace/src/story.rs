//! The story as data. Its JSON form is versioned: what has a meaning keeps it, new things may be added.

use crate::{ParserOp, PassKind};
use serde::{Deserialize, Serialize};

/// Version of the JSON form.
pub const VERSION: u32 = 1;

/// Everything that happened to one packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Story {
    pub version: u32,
    /// One line: what became of the packet and where it was decided. Files in it have no folders.
    #[serde(default)]
    pub summary: String,
    pub steps: Vec<Step>,
    /// Number of steps left out because the story had [`STEPS_MAX`] already.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub n_left_out: u64,
    /// Verdicts of the packet and its copies, in order.
    pub verdicts: Vec<Verdict>,
}

/// Maximum number of steps in a story; bounds its memory.
pub const STEPS_MAX: usize = 50_000;

impl Default for Story {
    fn default() -> Story {
        Story {
            version: VERSION,
            summary: String::new(),
            steps: Vec::new(),
            n_left_out: 0,
            verdicts: Vec::new(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// How deep it is nested: in a block, a state, an action, ...
    pub depth: u32,
    /// Where in the program; `None` of what has no place there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<At>,
    #[serde(flatten)]
    pub what: What,
}

/// A place in the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct At {
    pub file: String,
    pub line: u32,
    pub column: u32,
    /// The first line of what stands there.
    pub text: String,
}

/// A named value: exactly, in hexadecimal, and as people read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    pub name: String,
    pub hex: String,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub name: String,
    pub old: String,
    pub new: String,
    /// The validity bit of a header of that name.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_validity: bool,
    /// The index of the next element of a stack of that name.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_next_index: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// An entry that was hit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    /// Names the entry among those of its table, in the order of insertion; entries that packets may add have no number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<u64>,
    pub matches: Vec<Matched>,
    pub priority: i32,
    pub is_const: bool,
    /// This hit included.
    pub n_hits: u64,
    /// Member chosen by an action selector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matched {
    pub key: String,
    pub pattern: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum What {
    Pass {
        kind: PassKind,
        port: u32,
        n_bytes: usize,
        hex: String,
    },
    Block {
        name: String,
        role: String,
    },
    BlockEnded {
        name: String,
    },
    State {
        name: String,
    },
    Extracted {
        header: String,
        n_bits: u64,
        fields: Vec<Named>,
    },
    ParserFailed {
        what: ParserOp,
        error: String,
        wanted_bits: u64,
        left_bits: u64,
    },
    Advanced {
        n_bits: u64,
    },
    LookedAhead {
        n_bits: u64,
    },
    /// `case` counts from 1; `None` when none matches. A key that is computed has no name.
    Selected {
        keys: Vec<Named>,
        case: Option<u32>,
    },
    Accepted,
    Rejected {
        error: String,
    },
    Branch {
        condition: bool,
    },
    /// `case` counts from 1; `None` is the default.
    Switched {
        value: String,
        case: Option<u32>,
    },
    /// Without a hit the default action runs. `action` is what runs.
    Table {
        table: String,
        keys: Vec<Named>,
        hit: Option<Hit>,
        action: Option<String>,
        /// Number of entries that the table had when it was missed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        n_entries: Option<u64>,
        /// The key had an entry, whose time is over.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        expired: bool,
    },
    Called {
        kind: String,
        name: String,
        params: Vec<Named>,
    },
    Returned {
        name: String,
        by_exit: bool,
    },
    Changed {
        changes: Vec<Change>,
    },
    Extern {
        name: String,
        object: Option<String>,
        args: Vec<String>,
        result: Option<String>,
    },
    Emitted {
        header: String,
        n_bits: u64,
    },
    NotEmitted {
        header: String,
    },
    /// Remark of an extern.
    Note {
        text: String,
    },
    /// An operation of an asynchronous block on the packet as a whole.
    Marked {
        text: String,
    },
    Exit,
    Stopped {
        reason: String,
    },
    Queued {
        port: u32,
        instance: u32,
        /// The name of the field that names the port, if nothing has changed its initial value.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unset: Option<String>,
        /// Place in the program that chose the port.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        because: Option<At>,
        /// Index in `steps` of what led to that place.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        decided_by: Option<usize>,
    },
    Multicast {
        group: u32,
        n_replicas: u32,
    },
    Cloned {
        session: u32,
        n_replicas: u32,
    },
    Resubmitted,
    Recirculated,
    Truncated {
        n_bytes: u32,
    },
    Digest {
        name: String,
        values: Vec<String>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    Sent {
        port: u32,
        n_bytes: usize,
        hex: String,
    },
    ToController {
        n_bytes: usize,
        hex: String,
    },
    Dropped {
        reason: String,
        /// Place in the program that decided it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        because: Option<At>,
        /// Index in `steps` of what led to that place: a table lookup, a condition, a failure of the parser.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        decided_by: Option<usize>,
        /// The port that the packet was sent to, if that is the reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        port: Option<u32>,
    },
}
