//! Common parts of the suites of models: a switch as a model knows it, its counts, and packets for it.
//!
//! A model says what must happen to a packet, from the text of a specification. It shares no code with the switch.

mod backends;

pub(super) use backends::{Compiled, Waited, judge, judge_order};

use std::collections::{BTreeMap, BTreeSet};

/// A clone session: ports with instances, the class of service of the copies, and their length at most (0 is any).
#[derive(Clone, Debug, Default)]
pub(super) struct Session {
    pub(super) replicas: Vec<(u32, u16)>,
    pub(super) class_of_service: u8,
    pub(super) truncate_bytes: u32,
}

/// The configuration of a switch.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub(super) ports: BTreeSet<u32>,
    pub(super) host_ports: BTreeSet<u32>,
    pub(super) cpu_port: u32,
    pub(super) sessions: BTreeMap<u16, Session>,
    pub(super) groups: BTreeMap<u32, Vec<(u32, u16)>>,
    /// Classes of service that are supported, from 0 on.
    pub(super) n_classes: u8,
    pub(super) rounds_max: u32,
    pub(super) copies_max: u32,
}

/// Counts of packets by their end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) n_received: u64,
    pub(super) n_copied: u64,
    pub(super) n_sent: u64,
    pub(super) n_to_controller: u64,
    pub(super) n_dropped: BTreeMap<String, u64>,
    /// Requests without effect.
    pub(super) n_ignored: BTreeMap<String, u64>,
}

impl Tally {
    pub(super) fn drop_for(&mut self, reason: &str) {
        *self.n_dropped.entry(reason.to_owned()).or_default() += 1;
    }

    pub(super) fn ignore(&mut self, what: &str) {
        *self.n_ignored.entry(what.to_owned()).or_default() += 1;
    }
}

/// Packets that leave because of one that arrives: ports with bytes, in any order.
pub(super) type Leaving = Vec<(u32, Vec<u8>)>;

/// A model of the ways of packets through a switch.
pub(super) trait Model {
    /// A packet arrives at a time in nanoseconds. Returns what leaves, and counts it.
    fn arrive(&mut self, port: u32, bytes: &[u8], now_ns: u64) -> Leaving;
    fn tally(&self) -> &Tally;
}

/// A packet that arrives at a port.
#[derive(Clone, Debug)]
pub(super) struct Arrival {
    pub(super) port: u32,
    pub(super) bytes: Vec<u8>,
}

/// One of the values.
pub(super) fn one_of<T: Copy>(rng: &mut fastrand::Rng, values: &[T]) -> T {
    values[rng.usize(0..values.len())]
}

/// Numbers that are the same in every run of a case.
pub(super) fn seeded(case: &str) -> fastrand::Rng {
    fastrand::Rng::with_seed(case.bytes().fold(1, |seed: u64, b| seed.wrapping_mul(31) ^ u64::from(b)))
}
