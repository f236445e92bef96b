//! Messages that wait for a controller which reads slowly.
//!
//! The order is kept. When the messages need too much memory, those that a controller can best do without are left out first:
//! packets, then notices of idle entries, digests and errors. Of the outcomes of elections the last ones always get through.

use std::collections::VecDeque;

/// Kinds of messages on a stream; the later ones are left out first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MessageKind {
    Arbitration,
    Error,
    Digest,
    IdleNotice,
    Packet,
}

impl MessageKind {
    /// All kinds, in their order.
    pub const ALL: [MessageKind; 5] = [
        MessageKind::Arbitration,
        MessageKind::Error,
        MessageKind::Digest,
        MessageKind::IdleNotice,
        MessageKind::Packet,
    ];

    fn index(self) -> usize {
        self as usize
    }
}

/// Outcomes of elections that wait, at most: the last one says who is primary.
const N_ARBITRATIONS_MAX: usize = 1024;

/// Time in nanoseconds after which a controller that takes no message is given up.
pub const STUCK_NS: u64 = 30_000_000_000;

/// A queue of messages `M` for one controller.
#[derive(Debug)]
pub struct Outbox<M> {
    /// Messages by number; `None` for one that was left out.
    waiting: VecDeque<Option<Waiting<M>>>,
    /// Number of the first in `waiting`.
    first: u64,
    /// Numbers of the messages of each kind, in order.
    by_kind: [VecDeque<u64>; MessageKind::ALL.len()],
    /// Length in bytes of the messages of each kind.
    n_bytes_of: [usize; MessageKind::ALL.len()],
    n_bytes_max: usize,
    n_left_out: [u64; MessageKind::ALL.len()],
    /// Time since which the first message waits to be taken.
    since_ns: u64,
}

#[derive(Debug)]
struct Waiting<M> {
    kind: MessageKind,
    message: M,
    n_bytes: usize,
}

impl<M> Outbox<M> {
    /// Creates a queue that holds messages of `n_bytes_max` bytes together.
    pub fn new(n_bytes_max: usize) -> Outbox<M> {
        Outbox {
            waiting: VecDeque::new(),
            first: 0,
            by_kind: Default::default(),
            n_bytes_of: Default::default(),
            n_bytes_max,
            n_left_out: Default::default(),
            since_ns: 0,
        }
    }

    /// Adds a message of `n_bytes`, and returns whether it waits. Leaves out older ones of kinds that matter less if that makes
    /// room for it, or else the message itself.
    pub fn push(&mut self, kind: MessageKind, message: M, n_bytes: usize, now_ns: u64) -> bool {
        let n_needed = self.n_bytes_of[..=kind.index()].iter().sum::<usize>().saturating_add(n_bytes);
        if n_needed > self.n_bytes_max && kind != MessageKind::Arbitration {
            self.n_left_out[kind.index()] += 1;
            return false;
        }
        while self.n_bytes().saturating_add(n_bytes) > self.n_bytes_max && self.leave_out_one(kind) {}
        if kind == MessageKind::Arbitration && self.by_kind[kind.index()].len() >= N_ARBITRATIONS_MAX {
            self.leave_out_oldest(kind);
        }
        if self.is_empty() {
            self.since_ns = now_ns;
        }
        self.by_kind[kind.index()].push_back(self.first + self.waiting.len() as u64);
        self.waiting.push_back(Some(Waiting { kind, message, n_bytes }));
        self.n_bytes_of[kind.index()] += n_bytes;
        true
    }

    /// Takes the oldest message.
    pub fn pop(&mut self, now_ns: u64) -> Option<M> {
        while let Some(front) = self.waiting.pop_front() {
            self.first += 1;
            if let Some(Waiting { kind, message, n_bytes }) = front {
                self.by_kind[kind.index()].pop_front();
                self.n_bytes_of[kind.index()] -= n_bytes;
                self.since_ns = now_ns;
                return Some(message);
            }
        }
        None
    }

    pub fn is_empty(&self) -> bool {
        self.by_kind.iter().all(VecDeque::is_empty)
    }

    /// Returns the length in bytes of the messages that wait.
    pub fn n_bytes(&self) -> usize {
        self.n_bytes_of.iter().sum()
    }

    /// Returns how many messages of a kind were left out.
    pub fn n_left_out(&self, kind: MessageKind) -> u64 {
        self.n_left_out[kind.index()]
    }

    /// Returns whether the controller has taken no message for [`STUCK_NS`], although some wait.
    pub fn is_stuck(&self, now_ns: u64) -> bool {
        self.waits_since_ns().is_some_and(|since_ns| now_ns.saturating_sub(since_ns) >= STUCK_NS)
    }

    /// Returns the time since which the controller has taken no message; `None` if none waits.
    pub fn waits_since_ns(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.since_ns)
    }

    /// Forgets all messages that wait.
    pub fn clear(&mut self) {
        self.first += self.waiting.len() as u64;
        self.waiting.clear();
        self.by_kind.iter_mut().for_each(VecDeque::clear);
        self.n_bytes_of = Default::default();
    }

    /// Leaves out the oldest message of the kind that matters least, if it matters less than `kind`.
    fn leave_out_one(&mut self, kind: MessageKind) -> bool {
        let mut lesser = MessageKind::ALL.into_iter().rev().take_while(|lesser| *lesser > kind);
        lesser.any(|lesser| self.leave_out_oldest(lesser))
    }

    fn leave_out_oldest(&mut self, kind: MessageKind) -> bool {
        let Some(number) = self.by_kind[kind.index()].pop_front() else { return false };
        let position = usize::try_from(number - self.first).unwrap_or(usize::MAX);
        if let Some(left_out) = self.waiting.get_mut(position).and_then(Option::take) {
            self.n_bytes_of[kind.index()] -= left_out.n_bytes;
            self.n_left_out[kind.index()] += 1;
        }
        // Places at the front would stay if nobody took a message, and those behind a message for as long as it waits.
        while self.waiting.front().is_some_and(Option::is_none) {
            self.waiting.pop_front();
            self.first += 1;
        }
        let n_waiting: usize = self.by_kind.iter().map(VecDeque::len).sum();
        if self.waiting.len() > 2 * (n_waiting + N_ARBITRATIONS_MAX) {
            self.close_gaps();
        }
        true
    }

    /// Frees the places of messages that were left out.
    fn close_gaps(&mut self) {
        self.waiting.retain(Option::is_some);
        self.by_kind.iter_mut().for_each(VecDeque::clear);
        for (number, waiting) in (self.first..).zip(self.waiting.iter().flatten()) {
            self.by_kind[waiting.kind.index()].push_back(number);
        }
    }
}
