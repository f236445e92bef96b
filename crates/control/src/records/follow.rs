//! Changes of tables, for readers that follow them.

use super::{RecordBlock, RecordOp};
use crate::ids::TableId;

/// A reader that follows tables; no two of a process have the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FollowerId(pub u64);

/// Changes of entries of one table, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Changes {
    pub table: TableId,
    /// `Upsert`, with entries as they are now, or `Delete`, with keys.
    pub op: RecordOp,
    pub block: RecordBlock,
}
