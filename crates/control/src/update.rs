//! Changes, one by one and in batches.

use crate::entity::Entity;

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    pub kind: UpdateKind,
    pub entity: Entity,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UpdateKind {
    /// The entity must not exist.
    Insert,
    /// The entity must exist; it becomes what the update says, all of it.
    Modify,
    /// The entity must exist; only its key counts.
    Delete,
}

impl UpdateKind {
    /// As P4Runtime spells it.
    pub fn name(self) -> &'static str {
        match self {
            UpdateKind::Insert => "INSERT",
            UpdateKind::Modify => "MODIFY",
            UpdateKind::Delete => "DELETE",
        }
    }
}

/// What happens to a batch when one update fails (P4Runtime, "Batch Atomicity").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Atomicity {
    /// The others are made all the same.
    #[default]
    ContinueOnError,
    /// All or none; packets may see the states between.
    RollbackOnError,
    /// All or none; packets see the state before or the state after.
    DataplaneAtomic,
}

/// Changes that belong together, in order.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Batch {
    pub updates: Vec<Update>,
    pub atomicity: Atomicity,
}
