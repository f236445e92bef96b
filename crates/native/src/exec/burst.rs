//! The fast path: bursts of packets through the compiled program as a whole.
//!
//! A packet that needs more than the program itself (copies, queues, another round) continues in [`target::Switch`], with the
//! state that the program has left. Every packet of a burst ends once: it is sent, dropped, or continues elsewhere.
//!
//! [`Bursts`] owns the buffer of a packet from the moment an asynchronous block suspends it until it ends or is abandoned. The
//! buffers of all other packets stay with the caller and are not moved.

use crate::abi::{self, verdict};
use crate::exec::native::{Listener, Native};
use crate::exec::suspended::SuspendedPackets;
use packet_io::PacketStorage;
use std::marker::PhantomData;
use target::traffic::{Destination, EgressPorts, Output, PuntedAt, Totals, reason};
use target::{BlockRunner, Switch};

/// How packets of a burst go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Path {
    /// Through the program as a whole, where it has such a function and packets wait for no port.
    Straight,
    /// From block to block: what happens is the same, and each step is told.
    Slow,
}

/// The end of a packet of a burst, or its suspension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Its bytes are where they were, changed in place.
    Sent(Destination),
    /// For a reason that the totals name.
    Dropped,
    /// Continued in the traffic manager. Packets that left, if any, are among the outputs.
    Elsewhere,
    /// Waits for an offload worker. Its buffer has gone to [`Bursts`], and an empty one is in its place;
    /// [`Bursts::resume`] gives it back.
    Suspended,
}

/// A burst that has gone through the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processed {
    /// Packets that were taken, from the first one on; the others are as they were.
    pub n_taken: usize,
    /// The port for which all packets of the burst leave, if it is one; `None` says nothing.
    pub common_port: Option<u32>,
}

/// A packet that was suspended, is back from an offload worker, and has ended.
#[derive(Debug)]
pub struct Resumed<B = Vec<u8>> {
    pub buffer: B,
    /// The [token](BurstPacket::token) that the packet had when it was suspended; other packets may have it from now on.
    pub token: u32,
    /// Offset of the packet in the buffer, in bytes.
    pub start: usize,
    /// Length of the packet in bytes.
    pub len: usize,
    /// Never [`Fate::Suspended`].
    pub fate: Fate,
    /// Outputs that the packet has led to.
    pub n_outputs: usize,
}

/// A packet of a burst: bytes within a buffer that has room in front of them.
#[derive(Debug)]
pub struct BurstPacket<'a, B = Vec<u8>> {
    buffer: &'a mut B,
    /// Within the buffer, with `len`.
    start: u32,
    len: u32,
    ingress_port: u32,
    token: u32,
    fate: Fate,
    n_outputs: u32,
}

impl<'a, B: PacketStorage> BurstPacket<'a, B> {
    /// A packet of `len` bytes, `start` bytes from the beginning of the buffer; cut where the buffer ends before.
    pub fn new(buffer: &'a mut B, start: usize, len: usize, ingress_port: u32) -> BurstPacket<'a, B> {
        let n_bytes = buffer.raw_storage().len().min(u32::MAX as usize) as u32;
        let start = u32::try_from(start).map_or(n_bytes, |start| start.min(n_bytes));
        let len = u32::try_from(len).map_or(n_bytes - start, |len| len.min(n_bytes - start));
        BurstPacket { buffer, start, len, ingress_port, token: 0, fate: Fate::Elsewhere, n_outputs: 0 }
    }

    /// Names a suspended packet until it is back: no two packets that are suspended have the same token.
    pub fn token(&self) -> u32 {
        self.token
    }

    pub fn fate(&self) -> Fate {
        self.fate
    }

    /// Number of outputs that the packet has led to; outputs are in the order of the packets.
    pub fn n_outputs(&self) -> usize {
        self.n_outputs as usize
    }

    /// Offset of the packet in its buffer, in bytes.
    pub fn start(&self) -> usize {
        self.start as usize
    }

    /// None of a suspended packet.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer.storage()[self.start as usize..][..self.len as usize]
    }

    /// The buffer, whose own bounds say nothing about the packet; an empty one of a suspended packet.
    pub fn buffer(&mut self) -> &mut B {
        self.buffer
    }

    /// Takes the buffer; leaves an empty one, and a packet without bytes.
    pub fn take_buffer(&mut self) -> B {
        (self.start, self.len) = (0, 0);
        std::mem::take(self.buffer)
    }

    /// The packet as generated C sees it; points into the buffer.
    fn view(&mut self, now_ns: u64, token: u32) -> abi::Packet {
        let bytes = self.buffer.raw_storage();
        abi::Packet {
            // A pointer to the whole buffer: the program may write in front of the packet.
            data: bytes.cast::<u8>().wrapping_add(self.start as usize),
            length_bytes: self.len,
            headroom_bytes: self.start,
            tailroom_bytes: (bytes.len().min(u32::MAX as usize) as u32) - self.start - self.len,
            ingress_port: self.ingress_port,
            cursor_bits: 0,
            egress_port: abi::NO_PORT,
            verdict: verdict::DROP,
            drop: 0,
            arrived_ns: now_ns,
            token: u64::from(token),
        }
    }

    /// Takes over where the compiled program has put the packet.
    fn move_to(&mut self, view: &abi::Packet) {
        let bytes = self.buffer.raw_storage();
        let start = view.data.addr().wrapping_sub(bytes.cast::<u8>().addr());
        let len = view.length_bytes as usize;
        let n_bytes = bytes.len().min(u32::MAX as usize);
        let fits = start.checked_add(len).is_some_and(|end| end <= n_bytes);
        debug_assert!(fits, "the program has put a packet outside of its buffer");
        if fits {
            (self.start, self.len) = (start as u32, len as u32);
        }
    }
}

/// True if the traffic manager continues a packet with this verdict.
fn is_elsewhere(how: u32) -> bool {
    matches!(how, verdict::AFTER_INGRESS | verdict::AFTER_EGRESS | verdict::NO_HEADROOM | verdict::AT_STEP)
}

/// A packet leaves for a port; `None` when there is no such port.
fn count_sent(switch: &Switch<Native>, port: u32, totals: &mut Totals) -> Option<Destination> {
    totals.n_received += 1;
    let destination = switch.destination(port);
    match destination {
        Some(Destination::Controller) => totals.n_to_controller += 1,
        Some(Destination::Port(_)) => totals.n_sent += 1,
        None => totals.drop_for(reason::NO_SUCH_PORT),
    }
    destination
}

/// The port to which the program sends all packets.
fn common_egress_port(views: &[abi::Packet]) -> Option<u32> {
    let port = views.first()?.egress_port;
    views.iter().all(|view| view.verdict == verdict::SEND && view.egress_port == port).then_some(port)
}

/// Reads `SD_AT_STEP`.
fn punted_at(at: u32, ports: EgressPorts) -> PuntedAt {
    let (section, step) = ((at >> 16 & 0x7fff) as usize, (at & 0xffff) as usize);
    PuntedAt { section, step, is_rejected: at >> 31 != 0, ports }
}

/// Runs bursts of packets in buffers of type `B`, and owns the buffers of suspended packets. Its memory stays between bursts.
#[derive(Debug)]
pub struct Bursts<B: PacketStorage = Vec<u8>> {
    /// Empty between bursts.
    views: Views,
    suspended: SuspendedPackets<B>,
    dropped: [u64; abi::DROP_REASONS.len()],
}

/// Packets that are received from offload workers in one call.
const RESUMED_MAX: usize = 64;

/// The packets of a burst as C sees them.
#[derive(Debug, Default)]
struct Views {
    packets: Vec<abi::Packet>,
    /// For each of them its index in the burst: packets from unknown ports have no view.
    positions: Vec<usize>,
    no_threads: PhantomData<*mut u8>,
}

// SAFETY: the pointers are those of packets of a burst under way, during which the owner is borrowed mutably; between
// bursts there are none.
#[expect(unsafe_code, reason = "raw pointers make it none")]
unsafe impl Send for Views {}

impl<B: PacketStorage> Default for Bursts<B> {
    fn default() -> Bursts<B> {
        Bursts {
            views: Views::default(),
            suspended: SuspendedPackets::default(),
            dropped: Default::default(),
        }
    }
}

impl<B: PacketStorage> Bursts<B> {
    /// Packets that are suspended: their buffers are here.
    pub fn n_suspended(&self) -> usize {
        self.suspended.len()
    }

    /// Packets arrive. Each gets its fate; copies, and queued packets whose time has come, are added to `outputs`. The
    /// switch's clock moves on to `now_ns`. All packets are taken, unless the switch [pauses](Switch::allow_passes).
    pub fn process(
        &mut self,
        switch: &mut Switch<Native>,
        now_ns: u64,
        packets: &mut [BurstPacket<'_, B>],
        path: Path,
        listener: &mut (dyn Listener + '_),
        outputs: &mut Vec<Output>,
    ) -> Processed {
        let processed = |n_taken| Processed { n_taken, common_port: None };
        let passed_ns = now_ns.saturating_sub(switch.now_ns());
        if passed_ns > 0 || switch.is_paused() {
            outputs.extend(switch.pass_time(passed_ns, listener));
        }
        if switch.is_paused() {
            return processed(0);
        }
        let n_packets = packets.len();
        // Queues are a matter of the switch.
        let is_straight = path == Path::Straight
            && !switch.may_wait_for_ports()
            && switch.runner.instance().pipeline().layout().has_straight_path;
        if !is_straight {
            for (i, packet) in packets.iter_mut().enumerate() {
                if switch.is_paused() {
                    return processed(i);
                }
                let left = switch.inject(packet.ingress_port, packet.bytes(), listener);
                packet.n_outputs = left.len() as u32;
                outputs.extend(left);
                packet.fate = Fate::Elsewhere;
            }
            return processed(n_packets);
        }
        let may_suspend = switch.runner.instance().pipeline().layout().has_async();
        let mut totals = Totals::default();
        let mut views = std::mem::take(&mut self.views);
        if !may_suspend && packets.iter().all(|packet| switch.destination(packet.ingress_port).is_some()) {
            // Not one by one, so that each is made where it stays.
            views.packets.extend(packets.iter_mut().map(|packet| packet.view(now_ns, 0)));
            views.positions.extend(0..n_packets);
        } else {
            for (position, packet) in packets.iter_mut().enumerate() {
                if switch.destination(packet.ingress_port).is_some() {
                    let token = if may_suspend { self.suspended.reserve() } else { 0 };
                    views.packets.push(packet.view(now_ns, token));
                    views.positions.push(position);
                } else {
                    packet.fate = Fate::Dropped;
                }
            }
        }
        let (mut first, mut n_taken, mut common_port) = (0, n_packets, None);
        while first < views.packets.len() {
            if switch.is_paused() {
                n_taken = views.positions[first];
                if may_suspend {
                    let not_run = views.packets[first..].iter();
                    not_run.for_each(|view| self.suspended.release(view.token as u32));
                }
                break;
            }
            let now_ns = switch.now_ns();
            let (native, port_flags) = switch.runner_and_port_flags();
            let budget = native.step_budget();
            // A packet that continues elsewhere leaves its requests behind.
            native.begin_pass();
            let n = native.worker.process(&mut views.packets[first..], port_flags, budget, now_ns);
            native.tell_messages(listener);
            debug_assert!(n > 0, "a program that takes no packet");
            if n == n_packets
                && !may_suspend
                && let Some(port) = common_egress_port(&views.packets)
                && let Some(destination @ Destination::Port(_)) = switch.destination(port)
            {
                for (view, packet) in views.packets.iter().zip(packets.iter_mut()) {
                    packet.move_to(view);
                    packet.fate = Fate::Sent(destination);
                    packet.n_outputs = 0;
                }
                totals.n_received += n as u64;
                totals.n_sent += n as u64;
                common_port = Some(port);
                break;
            }
            let last = first + n.max(1);
            for i in first..last {
                let (view, packet) = (&views.packets[i], &mut packets[views.positions[i]]);
                let how = if n == 0 { verdict::DROP } else { view.verdict };
                let n_outputs = outputs.len();
                let is_last = i + 1 == last;
                packet.fate = match how {
                    verdict::SUSPENDED => {
                        packet.token = view.token as u32;
                        self.suspended.suspend(packet.token, packet.take_buffer());
                        Fate::Suspended
                    }
                    _ => {
                        if may_suspend {
                            self.suspended.release(view.token as u32);
                        }
                        self.ended(switch, packet, (view, how, is_last), listener, &mut totals, outputs)
                    }
                };
                packet.n_outputs = (outputs.len() - n_outputs) as u32;
            }
            first = last;
        }
        if views.packets.len() < n_packets {
            for _ in packets[..n_taken].iter().filter(|p| switch.destination(p.ingress_port).is_none()) {
                totals.n_received += 1;
                totals.drop_for(reason::NO_SUCH_INGRESS_PORT);
            }
        }
        views.packets.clear();
        views.positions.clear();
        self.views = views;
        self.add_dropped(switch);
        switch.add_totals(&totals);
        Processed { n_taken, common_port }
    }

    /// Receives packets from offload workers and continues them. Packets that have ended are added to `resumed`, with their
    /// buffers; `now_ns` and `outputs` are as in [`process`](Self::process). Returns how many have ended.
    pub fn resume(
        &mut self,
        switch: &mut Switch<Native>,
        now_ns: u64,
        listener: &mut (dyn Listener + '_),
        resumed: &mut Vec<Resumed<B>>,
        outputs: &mut Vec<Output>,
    ) -> usize {
        let passed_ns = now_ns.saturating_sub(switch.now_ns());
        if passed_ns > 0 || switch.is_paused() {
            outputs.extend(switch.pass_time(passed_ns, listener));
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
                let Some(mut buffer) = self.suspended.take(view.token, view.data) else {
                    debug_assert!(false, "a packet that was not suspended here: {view:?}");
                    continue;
                };
                let start = view.data.addr() - buffer.raw_storage().cast::<u8>().addr();
                let mut packet =
                    BurstPacket::new(&mut buffer, start, view.length_bytes as usize, view.ingress_port);
                let n_outputs = outputs.len();
                let how = (view, view.verdict, i + 1 == n);
                let fate = self.ended(switch, &mut packet, how, listener, &mut totals, outputs);
                let (start, len) = (packet.start as usize, packet.len as usize);
                let n_outputs = outputs.len() - n_outputs;
                resumed.push(Resumed { buffer, token: view.token as u32, start, len, fate, n_outputs });
                n_resumed += 1;
            }
            // A packet that continues elsewhere ends a call early.
            let left_early = views[..n].last().is_some_and(|view| is_elsewhere(view.verdict));
            if n < views.len() && !left_early {
                break;
            }
        }
        self.add_dropped(switch);
        switch.add_totals(&totals);
        n_resumed
    }

    /// Gives up the packets that are suspended at asynchronous block `block`, whose offload worker hangs
    /// ([`PipelineWorker::hung_block`](crate::PipelineWorker::hung_block)): they do not come back. Returns their tokens. Their
    /// buffers are never used again, nor is their memory freed: the offload worker may still write to it.
    pub fn abandon(&mut self, switch: &mut Switch<Native>, block: usize) -> Vec<u32> {
        switch.runner.worker.abandon(block);
        self.suspended.abandon(block)
    }

    fn add_dropped(&mut self, switch: &mut Switch<Native>) {
        for (n, reason) in self.dropped.iter_mut().zip(abi::DROP_REASONS) {
            if *n > 0 {
                switch.add_dropped(reason, std::mem::take(n));
            }
        }
    }

    /// A packet has a verdict, which is that of its view unless the program took none.
    #[inline]
    fn ended(
        &mut self,
        switch: &mut Switch<Native>,
        packet: &mut BurstPacket<'_, B>,
        (view, how, is_last): (&abi::Packet, u32, bool),
        listener: &mut (dyn Listener + '_),
        totals: &mut Totals,
        outputs: &mut Vec<Output>,
    ) -> Fate {
        match how {
            verdict::SEND => {
                packet.move_to(view);
                count_sent(switch, view.egress_port, totals).map_or(Fate::Dropped, Fate::Sent)
            }
            _ if is_elsewhere(how) && is_last => {
                packet.move_to(view);
                self.elsewhere(switch, packet, view, listener, totals, outputs)
            }
            _ => self.dropped(&mut switch.runner, view, totals),
        }
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

    /// Continues the packet with which the program has stopped.
    fn elsewhere(
        &self,
        switch: &mut Switch<Native>,
        packet: &mut BurstPacket<'_, B>,
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
            let destination = count_sent(switch, view.egress_port, totals);
            let at_ns = switch.now_ns();
            outputs.extend(destination.map(|destination| Output { destination, bytes, at_ns }));
            return if destination.is_some() { Fate::Elsewhere } else { Fate::Dropped };
        }
        let stopped = switch.runner.stopped_packet(packet.bytes(), view.cursor_bits);
        let requests = switch.runner.take_requests();
        let ports = EgressPorts { ingress_port: view.ingress_port, egress_port: view.egress_port };
        let left = match view.verdict {
            verdict::AFTER_INGRESS => {
                switch.continue_after_ingress(stopped, ports.ingress_port, requests, listener)
            }
            // No block has run: it arrives.
            verdict::AT_STEP if view.drop == 0 => switch.inject(view.ingress_port, packet.bytes(), listener),
            verdict::AT_STEP => {
                let emitted = switch.runner.worker.emitted().to_vec();
                let packet = stopped.with_emitted(emitted);
                switch.continue_at(packet, punted_at(view.drop, ports), requests, listener)
            }
            _ => switch.continue_after_egress(stopped, ports, requests, listener),
        };
        outputs.extend(left);
        Fate::Elsewhere
    }
}
