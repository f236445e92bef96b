//! A switch under test: what a script needs of a switch, whatever backend runs its program.

use control::{Data, DigestId, Target};
use target::store::TableUse;
use target::traffic::{Output, Totals};
use trace::Observer;

/// A packet that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arriving<'a> {
    pub port: u32,
    pub bytes: &'a [u8],
}

/// A switch under test: packets and writes go in, packets and digests come out. Time passes only when it is told to.
pub trait Dut {
    /// The control plane of the switch.
    fn target(&mut self) -> &mut dyn Target;

    /// Packets arrive together. The answer has one list for each of them, in order: what it caused to leave before the
    /// switch is idle again. Backends that make events give those of the burst to the observer.
    fn receive(&mut self, burst: &[Arriving<'_>], observer: &mut dyn Observer) -> Vec<Vec<Output>>;

    /// Time passes, in nanoseconds. Returns what leaves meanwhile.
    fn advance_clock(&mut self, duration_ns: u64, observer: &mut dyn Observer) -> Vec<Output>;

    /// Puts a port at the side of the host of a network card, or at the side of the network, where all are initially.
    fn set_host_port(&mut self, _port: u32, _is_host: bool) {}

    /// The use of a table, by its name; `None` for switches that do not count it.
    fn table_use(&self, _table: &str) -> Option<TableUse> {
        None
    }

    /// Sets the timeout that a profile of a table stands for. False if entries of the table have no profiles.
    fn set_profile(&mut self, _table: &str, _profile: u8, _timeout_ns: u64) -> bool {
        false
    }

    /// Notifies the control plane of entries that were not hit for as long as they say.
    fn notify_of_idle_entries(&mut self) {}

    /// Digests since the last call, in order.
    fn take_digests(&mut self) -> Vec<(DigestId, Data)>;

    /// The time on the switch's own clock.
    fn now_ns(&self) -> u64;

    /// Packets that wait in queues, to be sent or to be processed again.
    fn n_queued(&self) -> u64;

    /// Counts of packets since the switch began.
    fn totals(&self) -> Totals;

    /// The use of each table of the program, in its order. Empty for switches that do not count it.
    fn table_uses(&self) -> Vec<TableUse> {
        Vec::new()
    }
}

/// The control plane of a switch whose packets scripts do not reach: packets and time have no effect.
pub struct ControlOnly<'a>(pub &'a mut dyn Target);

impl Dut for ControlOnly<'_> {
    fn target(&mut self) -> &mut dyn Target {
        self.0
    }

    fn receive(&mut self, burst: &[Arriving<'_>], _observer: &mut dyn Observer) -> Vec<Vec<Output>> {
        vec![Vec::new(); burst.len()]
    }

    fn advance_clock(&mut self, _duration_ns: u64, _observer: &mut dyn Observer) -> Vec<Output> {
        Vec::new()
    }

    fn take_digests(&mut self) -> Vec<(DigestId, Data)> {
        Vec::new()
    }

    fn now_ns(&self) -> u64 {
        0
    }

    fn n_queued(&self) -> u64 {
        0
    }

    fn totals(&self) -> Totals {
        Totals::default()
    }
}
