//! Packets suspended at asynchronous blocks, for backends that support it.
//!
//! A packet is suspended twice at a block: before it and behind it. The caller decides when and in which order packets are
//! resumed: so tests can try all orders in which offload workers may run the blocks. Entries must not change while packets
//! are suspended, because an entry's action may be running.

use super::Switch;
use super::copy::PacketCopy;
use super::switch::Output;
use crate::{BlockRunner, Requests};

#[derive(Debug)]
pub(super) struct Waiting<P> {
    /// Its position is the step that runs the block.
    copy: PacketCopy<P>,
    requests: Requests,
}

impl<E: BlockRunner> Switch<E> {
    /// Sets whether packets wait at asynchronous blocks from now on.
    pub fn let_packets_wait(&mut self, may_wait: bool) {
        self.runner.let_packets_wait(may_wait);
    }

    /// Returns the number of packets that wait.
    pub fn n_waiting(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn wait(&mut self, copy: PacketCopy<E::Packet>, requests: Requests) {
        self.waiting.push(Waiting { copy, requests });
    }

    /// Resumes suspended packet `which`, counted from the first. It runs until it ends or is suspended again: then it is the
    /// last one. Returns what leaves.
    pub fn resume(&mut self, which: usize, observer: &mut E::Observer<'_>) -> Vec<Output> {
        if which >= self.waiting.len() {
            return Vec::new();
        }
        let Waiting { copy, requests } = self.waiting.remove(which);
        self.copies_left = self.config.copies_max;
        self.runner.begin_pass();
        self.runner.put_requests_back(requests);
        self.run_steps(copy, observer);
        self.work(observer);
        self.take_outputs()
    }

    /// Resumes packets until none is suspended; `choose` says which is next, given how many there are.
    pub fn resume_all(
        &mut self,
        choose: &mut dyn FnMut(usize) -> usize,
        observer: &mut E::Observer<'_>,
    ) -> Vec<Output> {
        let mut outputs = Vec::new();
        while !self.waiting.is_empty() {
            let which = choose(self.waiting.len()) % self.waiting.len();
            outputs.extend(self.resume(which, observer));
        }
        outputs
    }
}
