//! Reads in steps: their answers may be larger than what should be in memory at once.

use crate::entity::Entity;
use std::collections::VecDeque;

/// Number of a snapshot; no two targets of a process give the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SnapshotId(pub u64);

/// A read that is answered in steps, see [`Target::begin_read`](crate::Target::begin_read). It must be ended.
#[derive(Debug, Default)]
#[must_use = "the target keeps a snapshot until the read is ended"]
pub struct Reading {
    ready: VecDeque<Entity>,
    snapshot: Option<SnapshotId>,
}

impl Reading {
    /// A read whose answer is known.
    pub fn of(entities: Vec<Entity>) -> Reading {
        Reading { ready: entities.into(), snapshot: None }
    }

    /// A read that a target answers from a snapshot.
    pub fn from_snapshot(snapshot: SnapshotId) -> Reading {
        Reading { ready: VecDeque::new(), snapshot: Some(snapshot) }
    }

    pub fn snapshot(&self) -> Option<SnapshotId> {
        self.snapshot
    }

    /// Takes at most `n_max` of the entities that are known.
    pub fn take_ready(&mut self, n_max: usize) -> Vec<Entity> {
        self.ready.drain(..self.ready.len().min(n_max)).collect()
    }
}
