//! The straight path: bursts of packets through the compiled program as a whole.
//!
//! What needs more than the program itself (copies, queues, another round) goes on in [`target::Switch`], with the
//! state that the program has left. Every packet of a burst ends once: it is sent, dropped, or goes elsewhere.

use crate::abi::{self, verdict};
use crate::exec::native::{Listener, Native};
use rustc_hash::FxHashSet;
use std::marker::PhantomData;
use target::traffic::{Departed, Destination, Output, Totals, reason};
use target::{BlockRunner, Config, Switch};

/// How packets of a burst go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Path {
    /// Through the program as a whole, where it has such a function. Not for switches whose ports have rates.
    Straight,
    /// From block to block: what happens is the same, and each step is told.
    Slow,
}

/// What became of a packet of a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Its bytes are where they were, changed in place.
    Sent(Destination),
    /// For a reason that the totals name.
    Dropped,
    /// What left, if anything, is among the outputs.
    Elsewhere,
    /// Waits for an executor: [`Bursts::resume`] tells what becomes of it. Until then its buffer must not be used.
    Suspended,
}

/// A packet that is back from an executor, and has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resumed {
    /// As [`BurstPacket::with_token`] was told.
    pub token: u64,
    /// Where its bytes are in its buffer.
    pub start: usize,
    pub len: usize,
    /// Never [`Fate::Suspended`].
    pub fate: Fate,
    pub n_outputs: usize,
}

/// A packet of a burst: bytes within a buffer that has room in front of them.
#[derive(Debug)]
pub struct BurstPacket<'a> {
    storage: &'a mut [u8],
    start: usize,
    len: usize,
    ingress_port: u32,
    token: u64,
    fate: Fate,
    n_outputs: usize,
}

impl<'a> BurstPacket<'a> {
    /// `len` bytes of `storage` from `start` on; less where they end before.
    pub fn new(storage: &'a mut [u8], start: usize, len: usize, ingress_port: u32) -> BurstPacket<'a> {
        let start = start.min(storage.len());
        let len = len.min(storage.len() - start).min(u32::MAX as usize);
        BurstPacket { storage, start, len, ingress_port, token: 0, fate: Fate::Elsewhere, n_outputs: 0 }
    }

    /// What it is known by when it comes back from an executor.
    pub fn with_token(self, token: u64) -> BurstPacket<'a> {
        BurstPacket { token, ..self }
    }

    pub fn token(&self) -> u64 {
        self.token
    }

    pub fn fate(&self) -> Fate {
        self.fate
    }

    /// How many of the outputs it has led to; they are in the order of the packets.
    pub fn n_outputs(&self) -> usize {
        self.n_outputs
    }

    /// Where the bytes begin in the buffer.
    pub fn start(&self) -> usize {
        self.start
    }

    pub fn bytes(&self) -> &[u8] {
        &self.storage[self.start..self.start + self.len]
    }

    /// For a call of the compiled program; points into the buffer.
    fn view(&mut self, now_ns: u64, slot: u32) -> abi::Packet {
        abi::Packet {
            // Of the whole buffer: the program may write in front of the bytes.
            data: self.storage.as_mut_ptr().wrapping_add(self.start),
            length_bytes: self.len as u32,
            headroom_bytes: u32::try_from(self.start).unwrap_or(u32::MAX),
            tailroom_bytes: u32::try_from(self.storage.len() - self.start - self.len).unwrap_or(u32::MAX),
            ingress_port: self.ingress_port,
            cursor_bits: 0,
            egress_port: abi::NO_PORT,
            verdict: verdict::DROP,
            drop: 0,
            arrived_ns: now_ns,
            token: u64::from(slot),
        }
    }

    /// Takes over where the compiled program has put the bytes.
    fn move_to(&mut self, view: &abi::Packet) {
        let start = (view.data as usize).wrapping_sub(self.storage.as_ptr() as usize);
        let len = view.length_bytes as usize;
        let fits = start.checked_add(len).is_some_and(|end| end <= self.storage.len());
        debug_assert!(fits, "the program has put a packet outside of its buffer");
        if fits {
            (self.start, self.len) = (start, len);
        }
    }
}

/// Whether the host goes on with such a packet.
fn is_elsewhere(how: u32) -> bool {
    matches!(how, verdict::AFTER_INGRESS | verdict::AFTER_EGRESS | verdict::NO_HEADROOM)
}

/// Runs bursts; keeps its memory between them.
#[derive(Debug)]
pub struct Bursts {
    config: Config,
    /// Empty between bursts.
    views: Views,
    /// Packets of a burst or at executors, by what C knows them by.
    waiting: Vec<Waiting>,
    /// Places in it that are free.
    free: Vec<u32>,
    dropped: [u64; abi::DROP_REASONS.len()],
}

/// The buffer of a packet that may be at an executor.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    storage: *mut u8,
    n_bytes: usize,
    token: u64,
}

// SAFETY: buffers of packets that `OffloadWorker::connect` promises to keep; nothing about them belongs to a thread.
#[expect(unsafe_code, reason = "raw pointers make it none")]
unsafe impl Send for Waiting {}

impl Waiting {
    /// The block at which a packet waits that is at an executor.
    fn block(&self) -> usize {
        let skipped = self.storage.align_offset(abi::SUSPENDED_ALIGN);
        let at = self.storage.wrapping_add(skipped + abi::SUSPENDED_POINT_AT).cast::<u32>();
        // SAFETY: the context's head is at the first aligned address of the buffer (`sd_async_suspend`), which stays where it
        // is (`OffloadWorker::connect`). This member is written by the worker alone, before the packet is sent; the executor
        // reads it.
        #[expect(unsafe_code, reason = "a buffer that somebody keeps")]
        let point = unsafe { at.read() };
        point as usize
    }
}

/// Packets that are taken back at once.
const RESUMED_MAX: usize = 64;

/// Packets as C sees them, and which of the burst each is.
#[derive(Debug, Default)]
struct Views {
    packets: Vec<abi::Packet>,
    positions: Vec<usize>,
    no_threads: PhantomData<*mut u8>,
}

// SAFETY: the pointers are those of packets of a burst under way, during which the owner is borrowed mutably; between
// bursts there are none.
#[expect(unsafe_code, reason = "raw pointers make it none")]
unsafe impl Send for Views {}

impl Bursts {
    /// `config` is that of the switch.
    pub fn new(config: &Config) -> Bursts {
        Bursts {
            config: config.clone(),
            views: Views::default(),
            waiting: Vec::new(),
            free: Vec::new(),
            dropped: Default::default(),
        }
    }

    /// Packets arrive. Each gets its fate; what leaves otherwise, and waiting packets whose time has come, are added
    /// to `outputs`. The switch's clock moves on to `now_ns`. Returns how many packets were taken: all of them, unless
    /// the switch [pauses](Switch::allow_passes). The rest is as it was.
    pub fn process(
        &mut self,
        switch: &mut Switch<Native>,
        now_ns: u64,
        packets: &mut [BurstPacket<'_>],
        path: Path,
        listener: &mut (dyn Listener + '_),
        outputs: &mut Vec<Output>,
    ) -> usize {
        let passed_ns = now_ns.saturating_sub(switch.now_ns());
        if passed_ns > 0 || switch.is_paused() {
            outputs.extend(switch.advance_clock(passed_ns, listener));
        }
        if switch.is_paused() {
            return 0;
        }
        let n_packets = packets.len();
        let is_straight =
            path == Path::Straight && switch.runner.instance().pipeline().layout().has_straight_path;
        if !is_straight {
            for (i, packet) in packets.iter_mut().enumerate() {
                if switch.is_paused() {
                    return i;
                }
                switch.runner.worker.look();
                let left = switch.inject(packet.ingress_port, packet.bytes(), listener);
                packet.n_outputs = left.len();
                outputs.extend(left);
                packet.fate = Fate::Elsewhere;
            }
            return n_packets;
        }
        let may_wait = switch.runner.instance().pipeline().layout().has_async();
        let mut totals = Totals::default();
        self.views.packets.clear();
        self.views.positions.clear();
        for (position, packet) in packets.iter_mut().enumerate() {
            let port = packet.ingress_port;
            if self.config.cpu_port == Some(port) || self.config.ports.contains(port) {
                let slot = if may_wait { self.slot_for(packet) } else { 0 };
                self.views.packets.push(packet.view(now_ns, slot));
                self.views.positions.push(position);
            } else {
                packet.fate = Fate::Dropped;
            }
        }
        let (mut first, mut n_taken) = (0, n_packets);
        while first < self.views.packets.len() {
            if switch.is_paused() {
                n_taken = self.views.positions[first];
                if may_wait {
                    self.free.extend(self.views.packets[first..].iter().map(|view| view.token as u32));
                }
                break;
            }
            let now_ns = switch.now_ns();
            let native = &mut switch.runner;
            let budget = native.step_budget();
            // A packet that goes on elsewhere leaves its requests behind.
            native.begin_pass();
            let n = native.worker.process(&mut self.views.packets[first..], budget, now_ns);
            native.tell_messages(listener);
            debug_assert!(n > 0, "a program that takes no packet");
            let last = first + n.max(1);
            for i in first..last {
                let view = self.views.packets[i];
                let packet = &mut packets[self.views.positions[i]];
                let how = if n == 0 { verdict::DROP } else { view.verdict };
                let n_outputs = outputs.len();
                let is_last = i + 1 == last;
                packet.fate = match how {
                    verdict::SUSPENDED => Fate::Suspended,
                    _ => {
                        if may_wait {
                            self.free.push(view.token as u32);
                        }
                        self.ended(switch, packet, (&view, how, is_last), listener, &mut totals, outputs)
                    }
                };
                packet.n_outputs = outputs.len() - n_outputs;
            }
            first = last;
        }
        if self.views.packets.len() < n_packets {
            let is_known = |port: u32| self.config.cpu_port == Some(port) || self.config.ports.contains(port);
            for _ in packets[..n_taken].iter().filter(|packet| !is_known(packet.ingress_port)) {
                totals.n_received += 1;
                totals.drop_for(reason::NO_SUCH_INGRESS_PORT);
            }
        }
        self.views.packets.clear();
        self.add_dropped(switch);
        switch.add_totals(&totals);
        n_taken
    }

    /// Takes back packets that waited for executors, and goes on with them. What has ended is added to `resumed`; the
    /// rest is as in [`process`](Self::process). Gives how many ended.
    pub fn resume(
        &mut self,
        switch: &mut Switch<Native>,
        now_ns: u64,
        listener: &mut (dyn Listener + '_),
        resumed: &mut Vec<Resumed>,
        outputs: &mut Vec<Output>,
    ) -> usize {
        let passed_ns = now_ns.saturating_sub(switch.now_ns());
        if passed_ns > 0 || switch.is_paused() {
            outputs.extend(switch.advance_clock(passed_ns, listener));
        }
        let mut totals = Totals::default();
        let mut n_resumed = 0;
        while !switch.is_paused() {
            let now_ns = switch.now_ns();
            let budget = switch.runner.step_budget();
            switch.runner.begin_pass();
            let empty = abi::Packet {
                data: std::ptr::null_mut(),
                length_bytes: 0,
                headroom_bytes: 0,
                tailroom_bytes: 0,
                cursor_bits: 0,
                ingress_port: 0,
                egress_port: abi::NO_PORT,
                verdict: verdict::DROP,
                drop: 0,
                arrived_ns: 0,
                token: 0,
            };
            let mut views = [empty; RESUMED_MAX];
            let n = switch.runner.worker.resume(&mut views, budget, now_ns);
            switch.runner.tell_messages(listener);
            for (i, view) in views.iter().take(n).enumerate() {
                let Some(waiting) = self.waiting.get(view.token as usize).copied() else { continue };
                self.free.push(view.token as u32);
                // SAFETY: the buffer of a packet that waited and no longer does: it has stayed where it was, and nobody
                // uses it (`OffloadWorker::connect`) until this call tells of it.
                #[expect(unsafe_code, reason = "a buffer that somebody keeps")]
                let storage = unsafe { std::slice::from_raw_parts_mut(waiting.storage, waiting.n_bytes) };
                let start = (view.data as usize).wrapping_sub(waiting.storage as usize);
                let mut packet =
                    BurstPacket::new(storage, start, view.length_bytes as usize, view.ingress_port);
                let n_outputs = outputs.len();
                let how = (view, view.verdict, i + 1 == n);
                let fate = self.ended(switch, &mut packet, how, listener, &mut totals, outputs);
                let n_outputs = outputs.len() - n_outputs;
                resumed.push(Resumed {
                    token: waiting.token,
                    start: packet.start,
                    len: packet.len,
                    fate,
                    n_outputs,
                });
            }
            n_resumed += n;
            // One that goes on here ends a call early.
            let left_early = views[..n].last().is_some_and(|view| is_elsewhere(view.verdict));
            if n < views.len() && !left_early {
                break;
            }
        }
        self.add_dropped(switch);
        switch.add_totals(&totals);
        n_resumed
    }

    /// Gives up packets that wait at a block whose executor is lost ([`PipelineWorker::lost_block`](crate::PipelineWorker::lost_block));
    /// gives their tokens. Their buffers must never be used again: the executor may still write to them.
    pub fn abandon(&mut self, switch: &mut Switch<Native>, block: usize) -> Vec<u64> {
        let free: FxHashSet<u32> = self.free.iter().copied().collect();
        let mut tokens = Vec::new();
        for (slot, waiting) in (0..).zip(&self.waiting) {
            if !free.contains(&slot) && waiting.block() == block {
                tokens.push(waiting.token);
                self.free.push(slot);
            }
        }
        switch.runner.worker.abandon(block);
        tokens
    }

    fn add_dropped(&mut self, switch: &mut Switch<Native>) {
        for (n, reason) in self.dropped.iter_mut().zip(abi::DROP_REASONS) {
            if *n > 0 {
                switch.add_dropped(reason, std::mem::take(n));
            }
        }
    }

    /// A place among those that wait.
    fn slot_for(&mut self, packet: &mut BurstPacket<'_>) -> u32 {
        let (storage, n_bytes) = (packet.storage.as_mut_ptr(), packet.storage.len());
        let waiting = Waiting { storage, n_bytes, token: packet.token };
        match self.free.pop() {
            Some(slot) => {
                self.waiting[slot as usize] = waiting;
                slot
            }
            None => {
                self.waiting.push(waiting);
                self.waiting.len() as u32 - 1
            }
        }
    }

    /// A packet has a verdict, which is that of its view unless the program took none.
    fn ended(
        &mut self,
        switch: &mut Switch<Native>,
        packet: &mut BurstPacket<'_>,
        (view, how, is_last): (&abi::Packet, u32, bool),
        listener: &mut (dyn Listener + '_),
        totals: &mut Totals,
        outputs: &mut Vec<Output>,
    ) -> Fate {
        match how {
            verdict::SEND => self.sent(packet, view, totals),
            _ if is_elsewhere(how) && is_last => {
                packet.move_to(view);
                self.elsewhere(switch, packet, view, listener, totals, outputs)
            }
            _ => self.dropped(&mut switch.runner, view, totals),
        }
    }

    /// Where packets to a port leave; `None` when there is no such port.
    fn destination(&self, port: u32) -> Option<Destination> {
        if self.config.cpu_port == Some(port) {
            return Some(Destination::Controller);
        }
        self.config.ports.contains(port).then_some(Destination::Port(port))
    }

    fn count_sent(&self, port: u32, totals: &mut Totals) -> Option<Destination> {
        totals.n_received += 1;
        let destination = self.destination(port);
        match destination {
            Some(Destination::Controller) => totals.n_to_controller += 1,
            Some(Destination::Port(_)) => totals.n_sent += 1,
            None => totals.drop_for(reason::NO_SUCH_PORT),
        }
        destination
    }

    fn sent(&self, packet: &mut BurstPacket<'_>, view: &abi::Packet, totals: &mut Totals) -> Fate {
        packet.move_to(view);
        self.count_sent(view.egress_port, totals).map_or(Fate::Dropped, Fate::Sent)
    }

    fn dropped(&mut self, native: &mut Native, view: &abi::Packet, totals: &mut Totals) -> Fate {
        totals.n_received += 1;
        let stopped = if view.drop == abi::DROP_STOPPED_BY_EXTERN { native.stopped() } else { None };
        match (stopped, self.dropped.get_mut(view.drop as usize)) {
            (Some(why), _) => totals.drop_for(why.name()),
            (None, Some(n)) => *n += 1,
            (None, None) => totals.drop_for(reason::ABORTED),
        }
        Fate::Dropped
    }

    /// Goes on with the packet that the program has stopped with.
    fn elsewhere(
        &self,
        switch: &mut Switch<Native>,
        packet: &mut BurstPacket<'_>,
        view: &abi::Packet,
        listener: &mut (dyn Listener + '_),
        totals: &mut Totals,
        outputs: &mut Vec<Output>,
    ) -> Fate {
        // Externs may have changed how long it is.
        packet.move_to(view);
        if view.verdict == verdict::NO_HEADROOM {
            let from = usize::try_from(view.cursor_bits.div_ceil(8)).unwrap_or(usize::MAX);
            let payload = packet.bytes().get(from..).unwrap_or_default();
            let bytes = [switch.runner.worker.emitted(), payload].concat();
            let destination = self.count_sent(view.egress_port, totals);
            let at_ns = switch.now_ns();
            outputs.extend(destination.map(|destination| Output { destination, bytes, at_ns }));
            return if destination.is_some() { Fate::Elsewhere } else { Fate::Dropped };
        }
        let stopped = switch.runner.stopped_packet(packet.bytes(), view.cursor_bits);
        let requests = switch.runner.take_requests();
        let ports = Departed { ingress_port: view.ingress_port, egress_port: view.egress_port };
        let left = match view.verdict {
            verdict::AFTER_INGRESS => {
                switch.continue_after_ingress(stopped, ports.ingress_port, requests, listener)
            }
            _ => switch.continue_after_egress(stopped, ports, requests, listener),
        };
        outputs.extend(left);
        Fate::Elsewhere
    }
}
