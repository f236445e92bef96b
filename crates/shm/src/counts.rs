//! Limits of sessions, and counts of all of them.

use shm_client::wire::Sizes;
use std::sync::atomic::AtomicU64;

/// Events since the start.
#[derive(Debug, Default)]
pub struct Counts {
    pub n_sessions: AtomicU64,
    /// Clients that were refused, by their user or in the greeting.
    pub n_refused: AtomicU64,
    /// Sessions that ended because a cursor made no sense.
    pub n_broken: AtomicU64,
    /// Records that were written, and those that were not.
    pub n_records: AtomicU64,
    pub n_records_failed: AtomicU64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) sizes: Sizes,
    pub(crate) slots_bytes_max: usize,
}
