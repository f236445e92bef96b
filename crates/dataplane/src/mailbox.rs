//! How others reach a worker: tasks, packets for its ports, and what wakes it up.
//!
//! A worker that is about to sleep says so first and looks for tasks and packets once more; whoever brings some looks
//! afterwards whether the worker sleeps. Either of them sees what the other has done, so no wake-up is lost.

use crate::worker::Worker;
use crossbeam_queue::ArrayQueue;
use packet_io::PacketBuf;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Mutex, PoisonError};

/// Work that a worker does between two bursts.
pub(crate) type Task = Box<dyn FnOnce(&mut Worker) + Send>;

pub(crate) struct Mailbox {
    /// Packets of other workers for ports of this one.
    pub(crate) ring: ArrayQueue<(u32, PacketBuf)>,
    tasks: Mutex<VecDeque<Task>>,
    has_tasks: AtomicBool,
    is_asleep: AtomicBool,
    event: File,
}

impl std::fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mailbox").field("n_ring", &self.ring.len()).finish_non_exhaustive()
    }
}

impl Mailbox {
    pub(crate) fn new(n_ring_max: usize) -> io::Result<Mailbox> {
        // SAFETY: takes two numbers; the result is checked before it is used.
        #[expect(unsafe_code, reason = "a system call")]
        let fd = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new, so nobody else has it.
        #[expect(unsafe_code, reason = "takes over a descriptor")]
        let event = unsafe { File::from_raw_fd(fd) };
        Ok(Mailbox {
            ring: ArrayQueue::new(n_ring_max.max(1)),
            tasks: Mutex::default(),
            has_tasks: AtomicBool::new(false),
            is_asleep: AtomicBool::new(false),
            event,
        })
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.event.as_raw_fd()
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
        // Pairs with the fence in `may_sleep`.
        fence(Ordering::SeqCst);
        if self.is_asleep.swap(false, Ordering::Relaxed) {
            // Fails only when the counter is full, and then the worker is awake.
            let _ = (&self.event).write(&1_u64.to_ne_bytes());
        }
    }

    /// True when there is nothing to do; the worker is then taken to be asleep until [`awake`](Self::awake).
    pub(crate) fn may_sleep(&self) -> bool {
        self.is_asleep.store(true, Ordering::Relaxed);
        // Pairs with the fence in `wake`.
        fence(Ordering::SeqCst);
        let may = self.ring.is_empty() && !self.has_tasks.load(Ordering::Acquire);
        if !may {
            self.awake();
        }
        may
    }

    pub(crate) fn awake(&self) {
        self.is_asleep.store(false, Ordering::Relaxed);
        let _ = (&self.event).read(&mut [0; 8]);
    }
}
