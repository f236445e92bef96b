//! Records: table entries as byte strings of one size, which a table takes without further conversion.
//!
//! - [`RecordLayout`]: positions, decided by the table in the switch;
//! - [`RecordPlan`]: the layout with the ids of P4Info, the check of a record, and conversion from and to entries;
//! - [`RecordOp`], [`RecordBlock`]: what is written and read;
//! - [`Changes`]: what readers are told that follow a table.
//!
//! A record means what a [`TableEntry`](crate::TableEntry) means, and is accepted under the same rules. All transports
//! for many entries end here.

mod check;
mod convert;
mod follow;
mod layout;
mod plan;

pub use follow::{Changes, FollowerId};
pub use layout::{RecordField, RecordKey, RecordLayout, RecordMatch, RecordParts, RecordShape};
pub use plan::{PlannedAction, RecordPlan};

use crate::entity::TableEntry;
use crate::fault::Code;
use crate::update::UpdateKind;

/// Entries of one step at most, whatever the transport: so long others wait.
pub const N_RECORDS_OF_STEP: usize = 16_384;

/// A change to entries. Unlike an update, it may be made whether or not the entry exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecordOp {
    Insert,
    Modify,
    Delete,
    /// Insert, or modify if the entry exists.
    Upsert,
}

/// Outcomes of records, one code for each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordCodes {
    pub codes: Vec<Code>,
    pub n_failed: usize,
}

impl RecordCodes {
    /// `n` records that went well.
    pub fn ok(n: usize) -> RecordCodes {
        RecordCodes { codes: vec![Code::Ok; n], n_failed: 0 }
    }

    /// Marks one that went well as failed.
    pub fn fail(&mut self, i: usize, code: Code) {
        debug_assert!(self.codes[i] == Code::Ok && code != Code::Ok);
        self.codes[i] = code;
        self.n_failed += 1;
    }
}

impl From<UpdateKind> for RecordOp {
    fn from(kind: UpdateKind) -> RecordOp {
        match kind {
            UpdateKind::Insert => RecordOp::Insert,
            UpdateKind::Modify => RecordOp::Modify,
            UpdateKind::Delete => RecordOp::Delete,
        }
    }
}

/// Entries that were read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordBlock {
    /// One after the other.
    pub records: Vec<u8>,
    /// Metadata of those entries that have some, by the number of the record.
    pub metadata: Vec<(usize, Vec<u8>)>,
    /// Entries that do not fit records.
    pub others: Vec<TableEntry>,
    /// The last entry of a scan so far.
    pub last: Option<u64>,
}

impl RecordBlock {
    pub fn clear(&mut self) {
        self.records.clear();
        self.metadata.clear();
        self.others.clear();
        self.last = None;
    }
}
