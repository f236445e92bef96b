//! How others reach a worker: tasks, packets for its ports, and what wakes it up.

use crate::sleeper::Sleeper;
use crate::worker::Worker;
use crossbeam_queue::ArrayQueue;
use packet_io::PacketBuf;
use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Work that a worker does between two bursts.
pub(crate) type Task = Box<dyn FnOnce(&mut Worker) + Send>;

pub(crate) struct Mailbox {
    /// Packets of other workers for ports of this one.
    pub(crate) ring: ArrayQueue<(u32, PacketBuf)>,
    tasks: Mutex<VecDeque<Task>>,
    has_tasks: AtomicBool,
    sleeper: Sleeper,
}

impl std::fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mailbox").field("n_ring", &self.ring.len()).finish_non_exhaustive()
    }
}

impl Mailbox {
    pub(crate) fn new(n_ring_max: usize) -> io::Result<Mailbox> {
        Ok(Mailbox {
            ring: ArrayQueue::new(n_ring_max.max(1)),
            tasks: Mutex::default(),
            has_tasks: AtomicBool::new(false),
            sleeper: Sleeper::new()?,
        })
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.sleeper.fd()
    }

    pub(crate) fn post(&self, task: Task) {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).push_back(task);
        self.has_tasks.store(true, Ordering::Release);
        self.wake();
    }

    /// Tasks in the order in which they came; usually none, which costs one load.
    pub(crate) fn take_tasks(&self) -> VecDeque<Task> {
        if !self.has_tasks.swap(false, Ordering::AcqRel) {
            return VecDeque::new();
        }
        std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// After something was put where the worker finds it.
    pub(crate) fn wake(&self) {
        self.sleeper.wake();
    }

    /// True when there is nothing to do; the worker is then taken to be asleep until [`awake`](Self::awake).
    pub(crate) fn may_sleep(&self) -> bool {
        self.sleeper.may_sleep(|| self.ring.is_empty() && !self.has_tasks.load(Ordering::Acquire))
    }

    pub(crate) fn awake(&self) {
        self.sleeper.awake();
    }
}
