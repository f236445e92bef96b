//! Reports: counts of packets, drops, ports and asynchronous blocks.

use crate::options::Wait;
use native::{AsyncCounts, Choice, Times};
use packet_io::{LinkState, PortStats};
use std::collections::BTreeMap;
use target::traffic::Totals;

/// Names of the reasons for which a switch drops packets, beside those of [`target::traffic::reason`].
pub mod reason {
    pub use target::traffic::reason::*;

    /// No program is loaded.
    pub const NO_PIPELINE: &str = "no_pipeline";
    /// The port of arrival is switched off.
    pub const INGRESS_PORT_DOWN: &str = "ingress_port_down";
    /// The port that the user has named to drop packets.
    pub const DROP_PORT: &str = "drop_port";
    /// The ring to the worker that has the port is full.
    pub const TX_RING_FULL: &str = "tx_ring_full";
    /// The worker has no buffer for a packet that the program has made.
    pub const NO_BUFFER: &str = "no_buffer";
    /// An offload worker has not given it back.
    pub const OFFLOAD_TIMEOUT: &str = "offload_timeout";
    /// The list of packets for the controller is full.
    pub const PACKET_IN_FULL: &str = "packet_in_full";
    /// The interface is down or gone, or the port is switched off.
    pub const PORT_DOWN: &str = "port_down";
    /// A queue of the interface is full.
    pub const TX_QUEUE_FULL: &str = "tx_queue_full";
    /// Longer than the interface takes.
    pub const TX_TOO_LONG: &str = "tx_too_long";
    /// The interface has refused.
    pub const TX_ERROR: &str = "tx_error";
}

/// All counts since the switch began, at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub n_received: u64,
    /// Made by cloning and multicast, beyond the packet itself.
    pub n_copied: u64,
    /// Packets that the ports have accepted for sending.
    pub n_sent: u64,
    pub n_to_controller: u64,
    /// By reason.
    pub n_dropped: BTreeMap<String, u64>,
    /// Requests of the program without effect, by the names of [`target::traffic::ignored`].
    pub n_ignored: BTreeMap<String, u64>,
    /// Packets that were lost on the way into the switch and are not in `n_received`, by the names of
    /// [`PortStats::rx_losses`].
    pub n_rx_lost: BTreeMap<String, u64>,
    /// Waiting for egress, or for another worker.
    pub n_queued: u64,
    /// By number.
    pub ports: Vec<PortReport>,
    pub workers: Vec<WorkerReport>,
    /// Asynchronous blocks of the program that runs.
    pub asyncs: Vec<AsyncReport>,
}

/// An asynchronous block, at a moment: all workers and offload workers together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AsyncReport {
    pub name: String,
    pub n_in_flight: u64,
    /// Run by workers: as they were told, for want of headroom, because too many were under way.
    pub n_inline: u64,
    pub n_no_room: u64,
    pub n_full: u64,
    /// Sent to offload workers; those among them that workers waited for.
    pub n_sent: u64,
    pub n_waited: u64,
    pub n_done: u64,
    pub n_dropped: u64,
    /// Sent, and given up with their offload worker.
    pub n_lost: u64,
    /// Nothing is sent any more: the offload worker hangs, or has ended.
    pub is_hung: bool,
    /// From being sent to going on, and how long the block ran, in cycles of the time stamp counter. What offload workers say
    /// is a little late.
    pub waited: Times,
    pub served: Times,
    /// How often offload workers have made the calls of several packets together, and how many they were.
    pub n_batches: u64,
    pub n_batched: u64,
    /// Choices of `auto`, one for each worker that makes any.
    pub choices: Vec<Choice>,
}

impl AsyncReport {
    fn add(&mut self, counts: &AsyncCounts) {
        self.n_in_flight += u64::from(counts.n_in_flight);
        self.n_inline += counts.n_inline;
        self.n_no_room += counts.n_no_room;
        self.n_full += counts.n_full;
        self.n_sent += counts.n_sent;
        self.n_waited += counts.n_waited;
        self.n_done += counts.n_done;
        self.n_dropped += counts.n_dropped;
        self.n_lost += counts.n_lost;
        self.is_hung |= counts.is_hung;
        self.waited.add(&counts.waited);
        self.choices.extend(counts.choice);
    }
}

impl Report {
    /// Nothing is lost and nothing appears. With several workers only while no packet is under way between them.
    pub fn is_balanced(&self) -> bool {
        let n_ended = self.n_sent + self.n_to_controller + self.n_dropped.values().sum::<u64>();
        self.n_received + self.n_copied == n_ended + self.n_queued
    }

    pub fn n_dropped_for(&self, reason: &str) -> u64 {
        self.n_dropped.get(reason).copied().unwrap_or(0)
    }

    pub(crate) fn add(&mut self, worker: WorkerStatus) {
        let WorkerStatus { totals, drops, n_queued, gone, ports, worker, asyncs } = worker;
        self.asyncs.resize_with(self.asyncs.len().max(asyncs.len()), AsyncReport::default);
        self.asyncs.iter_mut().zip(&asyncs).for_each(|(all, one)| all.add(one));
        self.n_received += totals.n_received;
        self.n_copied += totals.n_copied;
        self.n_to_controller += totals.n_to_controller;
        let lost = |drops: &BTreeMap<&str, u64>, why: &str| drops.get(why).copied().unwrap_or(0);
        self.n_to_controller -= lost(&drops, reason::PACKET_IN_FULL);
        let all = totals.n_dropped.into_iter();
        for (reason, n) in all.chain(drops.into_iter().map(|(reason, n)| (reason.to_owned(), n))) {
            *self.n_dropped.entry(reason).or_default() += n;
        }
        for (what, n) in totals.n_ignored {
            *self.n_ignored.entry(what).or_default() += n;
        }
        self.n_queued += n_queued;
        for stats in ports.iter().map(|port| &port.stats).chain([&gone]) {
            self.n_sent += stats.tx_packets;
            for (name, n) in stats.rx_losses() {
                *self.n_rx_lost.entry(name.to_owned()).or_default() += n;
            }
            for (reason, n) in [
                (reason::TX_QUEUE_FULL, stats.tx_dropped_full),
                (reason::PORT_DOWN, stats.tx_dropped_down),
                (reason::TX_TOO_LONG, stats.tx_too_long),
                (reason::TX_ERROR, stats.tx_errors),
            ] {
                if n > 0 {
                    *self.n_dropped.entry(reason.to_owned()).or_default() += n;
                }
            }
        }
        for port in ports {
            match self.ports.iter_mut().find(|one| one.number == port.number) {
                Some(one) => one.add(port),
                None => self.ports.push(port),
            }
        }
        self.ports.sort_by_key(|port| port.number);
        self.workers.push(worker);
    }
}

/// A port, at a moment: all of its queues together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortReport {
    pub number: u32,
    /// `veth0`, `tap:t0`, ...
    pub name: String,
    pub link: LinkState,
    /// False after somebody has switched the port off.
    pub is_enabled: bool,
    /// The worker of its first queue.
    pub worker: usize,
    pub stats: PortStats,
    /// Why it is of no more use.
    pub error: Option<String>,
    /// Why its packets are no longer captured.
    pub capture_error: Option<String>,
    /// Why it goes through AF_PACKET although AF_XDP was tried first.
    pub fallback: Option<String>,
    /// By number.
    pub queues: Vec<QueueReport>,
}

impl PortReport {
    /// Adds other queues of the port.
    fn add(&mut self, other: PortReport) {
        self.link = match (self.link, other.link) {
            (one, other) if one == other => one,
            // The queues look after the interface one after the other.
            _ => LinkState::Down,
        };
        self.is_enabled &= other.is_enabled;
        self.stats.add(&other.stats);
        self.error = self.error.take().or(other.error);
        self.capture_error = self.capture_error.take().or(other.capture_error);
        self.fallback = self.fallback.take().or(other.fallback);
        self.queues.extend(other.queues);
        self.queues.sort_by_key(|queue| queue.number);
        self.worker = self.queues.first().map_or(self.worker, |queue| queue.worker);
    }
}

/// A queue of a port, at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueReport {
    /// Among the queues of the port.
    pub number: usize,
    pub worker: usize,
    pub stats: PortStats,
}

/// A worker, at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerReport {
    pub number: usize,
    pub core: Option<usize>,
    /// Its idle behaviour.
    pub wait: Wait,
    /// Bursts with at least one packet.
    pub n_bursts: u64,
    pub n_packets: u64,
    /// How often the worker went to sleep.
    pub n_sleeps: u64,
    /// Packet buffers of the worker's pool, in use or not.
    pub n_buffers: usize,
    /// Packet buffers that wait in the pool, those among them that came from other workers included.
    pub n_free_buffers: usize,
    /// How often no buffer was left.
    pub n_exhausted: u64,
}

/// The report of one worker.
#[derive(Clone, Debug)]
pub(crate) struct WorkerStatus {
    /// Totals of all programs that the worker has run.
    pub(crate) totals: Totals,
    /// Drops of packets that programs have sent, by reason.
    pub(crate) drops: BTreeMap<&'static str, u64>,
    pub(crate) n_queued: u64,
    /// Counts of removed ports.
    pub(crate) gone: PortStats,
    pub(crate) ports: Vec<PortReport>,
    pub(crate) worker: WorkerReport,
    pub(crate) asyncs: Vec<AsyncCounts>,
}
