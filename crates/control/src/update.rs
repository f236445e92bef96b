//! Updates and batches of updates.

use crate::entity::Entity;

/// One update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    pub kind: UpdateKind,
    pub entity: Entity,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UpdateKind {
    /// The entity must not exist.
    Insert,
    /// The entity must exist; the update replaces all of it.
    Modify,
    /// The entity must exist; only the key of the update is used.
    Delete,
}

impl UpdateKind {
    /// Returns the name in P4Runtime's spelling.
    pub fn name(self) -> &'static str {
        match self {
            UpdateKind::Insert => "INSERT",
            UpdateKind::Modify => "MODIFY",
            UpdateKind::Delete => "DELETE",
        }
    }
}

/// Error handling of a batch when one update fails (P4Runtime, "Batch Atomicity").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Atomicity {
    /// The other updates are still made.
    #[default]
    ContinueOnError,
    /// All or none; packets may see the states between.
    RollbackOnError,
    /// All or none; packets see the state before or the state after.
    DataplaneAtomic,
}

/// Updates that belong together, in order.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Batch {
    pub updates: Vec<Update>,
    pub atomicity: Atomicity,
}
