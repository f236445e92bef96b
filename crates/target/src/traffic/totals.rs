//! Counts of packets by their end.

use std::collections::BTreeMap;

/// Names of the reasons for which packets are dropped, besides those of [`StopReason`](crate::StopReason).
pub mod reason {
    /// The port of arrival does not exist.
    pub const NO_SUCH_INGRESS_PORT: &str = "no_such_ingress_port";
    /// The port to send to does not exist.
    pub const NO_SUCH_PORT: &str = "no_such_port";
    /// The parser rejects, and the architecture goes no further then.
    pub const PARSER_REJECTED: &str = "parser_rejected";
    /// The drop port, or its like, at the end of ingress.
    pub const INGRESS_DROP: &str = "ingress_drop";
    /// The drop port at the end of egress.
    pub const EGRESS_DROP: &str = "egress_drop";
    /// The verdict of a program that has failed.
    pub const ABORTED: &str = "aborted";
    /// No replica of the multicast group has a port that is up, or there is no such group.
    pub const NO_REPLICA: &str = "no_replica";
    /// The architecture does not say where the packet goes.
    pub const NO_DESTINATION: &str = "no_destination";
    pub const NO_SUCH_QUEUE: &str = "no_such_queue";
    pub const QUEUE_FULL: &str = "queue_full";
    /// Resubmitted or recirculated too often.
    pub const TOO_MANY_ROUNDS: &str = "too_many_rounds";
    pub const TOO_MANY_COPIES: &str = "too_many_copies";
}

/// Names of requests of programs that have no effect; the packet itself goes on.
pub mod ignored {
    /// A clone for a session that does not exist, or none of whose ports is up.
    pub const CLONE_WITHOUT_REPLICA: &str = "clone_without_replica";
    /// A class of service that queues do not have; it counts as 0.
    pub const UNKNOWN_CLASS: &str = "unknown_class_of_service";
}

/// Since the switch began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub n_received: u64,
    /// Made by cloning and multicast, beyond the packet itself.
    pub n_copied: u64,
    pub n_sent: u64,
    pub n_to_controller: u64,
    /// By reason.
    pub n_dropped: BTreeMap<String, u64>,
    /// Requests without effect, by the names of [`ignored`].
    pub n_ignored: BTreeMap<String, u64>,
}

impl Totals {
    /// One more request had no effect.
    pub(super) fn ignore(&mut self, what: &'static str) {
        *self.n_ignored.entry(what.to_owned()).or_default() += 1;
    }

    /// One more was dropped.
    pub fn drop_for(&mut self, reason: &str) {
        self.drop_many(reason, 1);
    }

    /// So many more were dropped.
    pub fn drop_many(&mut self, reason: &str, n: u64) {
        match self.n_dropped.get_mut(reason) {
            Some(n_before) => *n_before += n,
            None => {
                self.n_dropped.insert(reason.to_owned(), n);
            }
        }
    }

    /// Adds the counts of other packets of the same switch.
    pub fn add(&mut self, other: &Totals) {
        let Totals { n_received, n_copied, n_sent, n_to_controller, n_dropped, n_ignored } = other;
        self.n_received += n_received;
        self.n_copied += n_copied;
        self.n_sent += n_sent;
        self.n_to_controller += n_to_controller;
        for (reason, n) in n_dropped {
            *self.n_dropped.entry(reason.clone()).or_default() += n;
        }
        for (what, n) in n_ignored {
            *self.n_ignored.entry(what.clone()).or_default() += n;
        }
    }

    pub fn n_dropped_for(&self, reason: &str) -> u64 {
        self.n_dropped.get(reason).copied().unwrap_or(0)
    }

    /// Nothing is lost and nothing appears, given how many wait.
    pub fn is_balanced(&self, n_queued: u64) -> bool {
        let n_ended = self.n_sent + self.n_to_controller + self.n_dropped.values().sum::<u64>();
        self.n_received + self.n_copied == n_ended + n_queued
    }
}
