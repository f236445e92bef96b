//! Messages for controllers that wait until somebody takes them.

use crate::sleeper::Sleeper;
use control::{Entity, TableId};
use crossbeam_queue::ArrayQueue;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use target::DigestMessage;

/// Longest sleep without a message.
const LONG_SLEEP: Duration = Duration::from_secs(3600);

/// A packet for the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketIn {
    pub bytes: Vec<u8>,
    /// Nanoseconds since the switch began.
    pub at_ns: u64,
}

/// Messages for controllers, all bounded.
#[derive(Debug)]
pub(crate) struct ControllerQueues {
    packet_ins: ArrayQueue<PacketIn>,
    /// Workers have digests.
    has_digests: AtomicBool,
    digests: Mutex<VecDeque<DigestMessage>>,
    expired: Mutex<VecDeque<Entity>>,
    has_expired: AtomicBool,
    /// Digests and expired entries that found no room.
    n_untold: AtomicU64,
    /// Expired entries that found no room, by their tables.
    n_lost_notices: Mutex<BTreeMap<TableId, u64>>,
    n_waiting_max: usize,
    /// The one who takes messages has to look at something else.
    is_called: AtomicBool,
    taker: Sleeper,
}

impl ControllerQueues {
    pub(crate) fn new(n_waiting_max: usize) -> io::Result<ControllerQueues> {
        Ok(ControllerQueues {
            packet_ins: ArrayQueue::new(n_waiting_max.max(1)),
            has_digests: AtomicBool::new(false),
            digests: Mutex::default(),
            expired: Mutex::default(),
            has_expired: AtomicBool::new(false),
            n_untold: AtomicU64::new(0),
            n_lost_notices: Mutex::default(),
            n_waiting_max,
            is_called: AtomicBool::new(false),
            taker: Sleeper::new()?,
        })
    }

    /// False for a packet that finds no room.
    pub(crate) fn push_packet(&self, packet: PacketIn) -> bool {
        let is_taken = self.packet_ins.push(packet).is_ok();
        self.taker.wake();
        is_taken
    }

    pub(crate) fn pop_packet(&self) -> Option<PacketIn> {
        self.packet_ins.pop()
    }

    /// A worker has digests, which it keeps until it is asked for them.
    pub(crate) fn announce_digests(&self) {
        self.has_digests.store(true, Ordering::Relaxed);
        self.taker.wake();
    }

    /// True if workers may have digests. They announce those that come from now on anew.
    pub(crate) fn begin_digests(&self) -> bool {
        self.has_digests.swap(false, Ordering::AcqRel)
    }

    pub(crate) fn keep_digests(&self, digests: Vec<DigestMessage>) {
        // Digests of all programs are counted together.
        let _lost = self.keep(&self.digests, digests);
    }

    pub(crate) fn take_digests(&self) -> Vec<DigestMessage> {
        self.digests.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect()
    }

    pub(crate) fn keep_expired(&self, expired: Vec<Entity>) {
        if expired.is_empty() {
            return;
        }
        let lost = self.keep(&self.expired, expired);
        if !lost.is_empty() {
            let mut n_lost = self.n_lost_notices.lock().unwrap_or_else(PoisonError::into_inner);
            for entity in lost {
                if let Entity::TableEntry(entry) = entity {
                    *n_lost.entry(entry.table).or_default() += 1;
                }
            }
        }
        self.has_expired.store(true, Ordering::Relaxed);
        self.taker.wake();
    }

    pub(crate) fn take_expired(&self) -> Vec<Entity> {
        let mut expired = self.expired.lock().unwrap_or_else(PoisonError::into_inner);
        self.has_expired.store(false, Ordering::Relaxed);
        expired.drain(..).collect()
    }

    /// Digests and expired entries that found no room.
    pub(crate) fn n_untold(&self) -> u64 {
        self.n_untold.load(Ordering::Relaxed)
    }

    /// Entries of a table that have expired and found no room.
    pub(crate) fn n_lost_notices(&self, table: TableId) -> u64 {
        let n_lost = self.n_lost_notices.lock().unwrap_or_else(PoisonError::into_inner);
        n_lost.get(&table).copied().unwrap_or(0)
    }

    /// Returns what found no room.
    fn keep<T>(&self, list: &Mutex<VecDeque<T>>, mut more: Vec<T>) -> Vec<T> {
        let mut kept = list.lock().unwrap_or_else(PoisonError::into_inner);
        let room = self.n_waiting_max.saturating_sub(kept.len());
        let lost = more.split_off(room.min(more.len()));
        self.n_untold.fetch_add(lost.len() as u64, Ordering::Relaxed);
        kept.extend(more);
        lost
    }

    /// Sleeps until there is a message, until [`call`](Self::call), or for as long as `timeout` says. May return early.
    pub(crate) fn wait(&self, timeout: Option<Duration>) {
        let has_nothing = || {
            self.packet_ins.is_empty()
                && !self.has_digests.load(Ordering::Relaxed)
                && !self.has_expired.load(Ordering::Relaxed)
                && !self.is_called.swap(false, Ordering::Relaxed)
        };
        if self.taker.may_sleep(has_nothing) {
            // Without it the taker only looks more often than it has to.
            let _ = packet_io::wait_for_input([self.taker.fd()], timeout.unwrap_or(LONG_SLEEP));
            self.taker.awake();
        }
    }

    /// Ends a sleep, this one or the next.
    pub(crate) fn call(&self) {
        self.is_called.store(true, Ordering::Relaxed);
        self.taker.wake();
    }
}
