//! What one worker works with: its ports, its part of the program, its buffers, its counts.
//!
//! Every packet that comes into [`Worker::turn`] is at its end, waits in a queue of the program, or is in the ring of
//! another worker when the turn is over. Tasks run between turns, so they see no packet under way.

use crate::clock::Clock;
use crate::mailbox::Mailbox;
use crate::options::Options;
use crate::order::{self, Order};
use crate::report::{LaneReport, PortReport, WorkerReport, reason};
use crate::switch::PacketIn;
use crossbeam_queue::ArrayQueue;
use native::{BurstPacket, Bursts, Fate, Native, Path, Resumed};
use packet_io::limits::BURST_MAX;
use packet_io::{BufPool, BufPoolOptions, LinkState, PacketBuf, Port, PortError, PortId, PortStats};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};
use target::traffic::{Destination, Output, Totals};
use target::{Config, DigestMessage, PortState};

/// Packets of other workers that are sent in one turn, at most, so that ports are not kept waiting.
const N_RING_TURN: usize = 8 * BURST_MAX;
/// Passes of copies through the program in one turn: more copies wait for the next turn, so that a packet that is
/// cloned and recirculated again and again does not keep the worker from tasks.
const N_PASSES_TURN: u64 = 4096;
/// While packets wait for their time, or a port cannot be waited for.
const SHORT_SLEEP: Duration = Duration::from_millis(1);
/// While packets are at executors: ports are looked at, and others may have the core.
const NO_SLEEP: Duration = Duration::ZERO;
/// More time between two turns says that the worker could not run, not that executors do not.
const LOOK_MAX: Duration = Duration::from_millis(10);
/// Ports look now and then whether their interface is back.
const LONG_SLEEP: Duration = Duration::from_millis(50);

/// A worker's part of a program that runs.
pub(crate) struct Running {
    pub(crate) switch: target::Switch<Native>,
    bursts: Bursts,
    waiting: Waiting,
    /// Where packets of a flow are to stay in order.
    order: Option<Order>,
}

/// Buffers of packets that wait for executors, by their tokens.
#[derive(Default)]
struct Waiting {
    buffers: Vec<Option<PacketBuf>>,
    free: Vec<u64>,
    n: usize,
}

/// An executor may still write to what it has not given back.
impl Drop for Waiting {
    fn drop(&mut self) {
        self.buffers.drain(..).flatten().for_each(std::mem::forget);
    }
}

impl Waiting {
    fn token(&mut self) -> u64 {
        self.free.pop().unwrap_or_else(|| {
            self.buffers.push(None);
            self.buffers.len() as u64 - 1
        })
    }

    fn keep(&mut self, token: u64, buf: PacketBuf) {
        if let Some(place) = self.buffers.get_mut(token as usize) {
            *place = Some(buf);
            self.n += 1;
        }
    }

    fn take(&mut self, token: u64) -> Option<PacketBuf> {
        let buf = self.buffers.get_mut(token as usize)?.take()?;
        self.free.push(token);
        self.n -= 1;
        Some(buf)
    }
}

impl Running {
    pub(crate) fn new(switch: target::Switch<Native>, config: &Config, keeps_order: bool) -> Running {
        let order = keeps_order.then(Order::default);
        Running { switch, bursts: Bursts::new(config), waiting: Waiting::default(), order }
    }

    /// How many packets may be taken, should they all come to an asynchronous block.
    fn room(&mut self) -> usize {
        let held = self.order.as_ref().map_or(usize::MAX, Order::room);
        self.switch.runner.worker_mut().async_room().min(held)
    }
}

struct WorkerPort {
    port: Box<dyn Port>,
    number: u32,
    name: String,
    /// To be sent when the turn is over.
    tx: Vec<PacketBuf>,
    is_enabled: bool,
    error: Option<String>,
    is_broken: bool,
    /// Whether [`Worker::take_capture_errors`] has given the port's error.
    is_capture_error_taken: bool,
}

/// Who sends to a port.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    Here(usize),
    There(Arc<Mailbox>),
}

/// Gets a copy of packets as they arrive.
pub(crate) type Mirror = Box<dyn FnMut(u32, &[u8]) + Send>;

pub(crate) struct Worker {
    clock: Clock,
    mailbox: Arc<Mailbox>,
    packet_ins: Arc<ArrayQueue<PacketIn>>,
    drop_port: Option<u32>,
    hang_timeout: Duration,
    /// When executors were last looked after.
    looked_ns: u64,
    ports: Vec<WorkerPort>,
    places: FxHashMap<u32, Place>,
    running: Option<Running>,
    /// Packets per second of ports that have such a limit.
    rates: BTreeMap<u32, u64>,
    mirrors: Vec<(u64, Mirror)>,
    /// Nothing is received any more.
    is_paused: bool,
    pool: BufPool,
    /// Received packets that the program has not taken. Between turns only while it is paused.
    burst: Vec<PacketBuf>,
    /// Empty between turns.
    outputs: Vec<Output>,
    resumed: Vec<Resumed>,
    /// Of packets that are back.
    leaving: Vec<(Destination, PacketBuf)>,
    /// Of programs that ran here before, and of packets that no program has seen.
    past: Totals,
    drops: BTreeMap<&'static str, u64>,
    gone: PortStats,
    worker: WorkerReport,
}

impl Worker {
    pub(crate) fn new(
        number: usize,
        clock: Clock,
        mailbox: Arc<Mailbox>,
        packet_ins: Arc<ArrayQueue<PacketIn>>,
        options: &Options,
    ) -> Worker {
        Worker {
            clock,
            mailbox,
            packet_ins,
            drop_port: options.drop_port,
            hang_timeout: options.hang_timeout,
            looked_ns: 0,
            ports: Vec::new(),
            places: FxHashMap::default(),
            running: None,
            rates: BTreeMap::new(),
            mirrors: Vec::new(),
            is_paused: false,
            pool: BufPool::new(BufPoolOptions::JUMBO),
            burst: Vec::with_capacity(BURST_MAX),
            outputs: Vec::new(),
            resumed: Vec::new(),
            leaving: Vec::new(),
            past: Totals::default(),
            drops: BTreeMap::new(),
            gone: PortStats::default(),
            worker: WorkerReport { number, ..WorkerReport::default() },
        }
    }

    pub(crate) fn mailbox(&self) -> &Arc<Mailbox> {
        &self.mailbox
    }

    pub(crate) fn set_core(&mut self, core: usize) {
        self.worker.core = Some(core);
    }

    // What a turn is.

    /// Everything that can be done now; gives how many packets there were.
    pub(crate) fn turn(&mut self) -> usize {
        let now_ns = self.clock.now_ns();
        let mut n = self.take_from_ring();
        if let Some(running) = &mut self.running {
            running.switch.allow_passes(N_PASSES_TURN);
        }
        if self.has_backlog() {
            n += 1;
            self.process(now_ns);
        }
        n += self.take_back(now_ns);
        self.look_after_executors(now_ns);
        for i in 0..self.ports.len() {
            n += self.receive(i, now_ns);
        }
        if self.n_queued() > 0 && !self.has_backlog() {
            // Those whose time has come.
            self.process(now_ns);
        }
        self.flush();
        n
    }

    /// Whether the program has to go on with what it has before it takes more.
    fn has_backlog(&self) -> bool {
        !self.burst.is_empty() || self.running.as_ref().is_some_and(|running| running.switch.is_paused())
    }

    fn receive(&mut self, i: usize, now_ns: u64) -> usize {
        if self.has_backlog() {
            return 0;
        }
        let WorkerPort { port, error, is_broken, is_enabled, number, .. } = &mut self.ports[i];
        if *is_broken || self.is_paused {
            return 0;
        }
        let room = self.running.as_mut().map_or(BURST_MAX, |running| running.room().min(BURST_MAX));
        if room == 0 {
            return 0;
        }
        let n = match port.rx_burst(&mut self.pool, &mut self.burst, room) {
            Ok(n) => n,
            Err(failed) => {
                *error = Some(failed.to_string());
                *is_broken = true;
                self.burst.len()
            }
        };
        if n == 0 {
            return 0;
        }
        self.worker.n_bursts += 1;
        self.worker.n_packets += n as u64;
        if !*is_enabled {
            self.drop_burst(reason::INGRESS_PORT_DOWN);
            return n;
        }
        for (_, tap) in &mut self.mirrors {
            self.burst.iter().for_each(|buf| tap(*number, buf.data()));
        }
        self.process(now_ns);
        n
    }

    /// None of these gets as far as the program.
    fn drop_burst(&mut self, reason: &str) {
        for buf in self.burst.drain(..) {
            self.past.n_received += 1;
            self.past.drop_for(reason);
            self.pool.give_back(buf);
        }
    }

    /// Runs the program on the burst, and on what waits in its queues.
    fn process(&mut self, now_ns: u64) {
        let Some(running) = &mut self.running else {
            self.drop_burst(reason::NO_PIPELINE);
            return;
        };
        let path = if self.rates.is_empty() { Path::Straight } else { Path::Slow };
        let may_wait = running.switch.runner.instance().pipeline().layout().has_async();
        let mut burst = std::mem::take(&mut self.burst);
        let n = burst.len().min(BURST_MAX);
        let mut packets: [BurstPacket<'_>; BURST_MAX] =
            std::array::from_fn(|_| BurstPacket::new(&mut [], 0, 0, 0));
        let mut flows = [0; BURST_MAX];
        if running.order.is_some() {
            for (flow, buf) in flows.iter_mut().zip(&burst) {
                *flow = order::flow_of(buf.port.0, buf.data());
            }
        }
        for (packet, buf) in packets.iter_mut().zip(&mut burst) {
            let (start, len, port) = (buf.headroom(), buf.len(), buf.port.0);
            let token = if may_wait { running.waiting.token() } else { 0 };
            *packet = BurstPacket::new(storage(buf), start, len, port).with_token(token);
        }
        let outputs = &mut self.outputs;
        let n_taken =
            running.bursts.process(&mut running.switch, now_ns, &mut packets[..n], path, &mut (), outputs);
        let ends: [_; BURST_MAX] = std::array::from_fn(|i| {
            let packet = &packets[i];
            (packet.token(), packet.fate(), packet.start(), packet.bytes().len())
        });
        for (i, (_, (token, fate, ..))) in burst.iter().zip(&ends).enumerate() {
            if may_wait && (i >= n_taken || *fate != Fate::Suspended) {
                running.waiting.free.push(*token);
            }
        }
        for (i, (mut buf, (token, fate, start, len))) in burst.drain(..n_taken).zip(ends).enumerate() {
            if fate == Fate::Suspended {
                if let Some(running) = &mut self.running {
                    running.waiting.keep(token, buf);
                    running.order.iter_mut().for_each(|order| order.suspended(flows[i], token));
                }
                continue;
            }
            // `BurstPacket` keeps packets inside of their buffers, whose lengths fit.
            let is_inside = buf.set_bounds(start as u32, len as u32);
            debug_assert!(is_inside);
            match fate {
                Fate::Sent(destination) => {
                    let order = self.running.as_mut().and_then(|running| running.order.as_mut());
                    let leaving = match order {
                        Some(order) => order.leaving(flows[i], destination, buf),
                        None => Some((destination, buf)),
                    };
                    leaving.into_iter().for_each(|(destination, buf)| self.leave(destination, buf));
                }
                Fate::Dropped | Fate::Elsewhere | Fate::Suspended => self.pool.give_back(buf),
            }
        }
        self.burst = burst;
        self.send_outputs();
    }

    /// Goes on with packets that executors have given back; gives how many have ended.
    fn take_back(&mut self, now_ns: u64) -> usize {
        let Some(running) = &mut self.running else { return 0 };
        if running.waiting.n == 0 {
            return 0;
        }
        let mut resumed = std::mem::take(&mut self.resumed);
        let Running { switch, bursts, waiting, order } = running;
        let n = bursts.resume(switch, now_ns, &mut (), &mut resumed, &mut self.outputs);
        let mut leaving = std::mem::take(&mut self.leaving);
        for one in resumed.drain(..) {
            let Some(mut buf) = waiting.take(one.token) else { continue };
            let is_inside = buf.set_bounds(one.start as u32, one.len as u32);
            debug_assert!(is_inside);
            let end = match one.fate {
                Fate::Sent(destination) => Some((destination, buf)),
                Fate::Dropped | Fate::Elsewhere | Fate::Suspended => {
                    self.pool.give_back(buf);
                    None
                }
            };
            match order {
                Some(order) => order.ended(one.token, end, &mut leaving),
                None => leaving.extend(end),
            }
        }
        self.resumed = resumed;
        for (destination, buf) in leaving.drain(..) {
            self.leave(destination, buf);
        }
        self.leaving = leaving;
        self.send_outputs();
        n
    }

    /// What lost executors have is lost.
    fn look_after_executors(&mut self, now_ns: u64) {
        let mut passed = Duration::from_nanos(now_ns.saturating_sub(self.looked_ns)).min(LOOK_MAX);
        self.looked_ns = now_ns;
        let hang_timeout = self.hang_timeout;
        while let Some(running) = &mut self.running
            && let Some(block) = running.switch.runner.worker_mut().lost_block(passed, hang_timeout)
        {
            passed = Duration::ZERO;
            // What it has done before is not lost.
            self.take_back(now_ns);
            self.abandon(block);
        }
    }

    fn abandon(&mut self, block: usize) {
        let Some(Running { switch, bursts, waiting, order }) = &mut self.running else { return };
        let mut leaving = Vec::new();
        for token in bursts.abandon(switch, block) {
            order.iter_mut().for_each(|order| order.ended(token, None, &mut leaving));
            let Some(buf) = waiting.take(token) else { continue };
            self.past.n_received += 1;
            self.past.drop_for(reason::OFFLOAD_TIMEOUT);
            // The executor may still write to it.
            self.pool.forget();
            std::mem::forget(buf);
        }
        leaving.into_iter().for_each(|(destination, buf)| self.leave(destination, buf));
    }

    fn n_waiting(&self) -> u64 {
        self.running.as_ref().map_or(0, |running| running.waiting.n as u64)
    }

    fn send_outputs(&mut self) {
        let mut outputs = std::mem::take(&mut self.outputs);
        for Output { destination, bytes, .. } in outputs.drain(..) {
            let Some(mut buf) = self.pool.take() else {
                self.drop_sent(destination, reason::NO_BUFFER);
                continue;
            };
            if buf.set_data(&bytes) {
                self.leave(destination, buf);
            } else {
                self.pool.give_back(buf);
                self.drop_sent(destination, reason::TX_TOO_LONG);
            }
        }
        self.outputs = outputs;
    }

    /// Counts a packet that the program has sent, but that goes nowhere.
    fn drop_sent(&mut self, destination: Destination, why: &'static str) {
        let why = match destination {
            Destination::Port(_) => why,
            // What was promised to the controller is taken off its count under one name.
            Destination::Controller => reason::PACKET_IN_FULL,
        };
        *self.drops.entry(why).or_default() += 1;
    }

    fn drop_leaving(&mut self, buf: PacketBuf, why: &'static str) {
        self.pool.give_back(buf);
        *self.drops.entry(why).or_default() += 1;
    }

    fn leave(&mut self, destination: Destination, buf: PacketBuf) {
        match destination {
            Destination::Port(port) => self.send(port, buf),
            Destination::Controller => {
                let packet = PacketIn { bytes: buf.data().to_vec(), at_ns: self.clock.now_ns() };
                if self.packet_ins.push(packet).is_err() {
                    self.drop_sent(destination, reason::PACKET_IN_FULL);
                }
                self.pool.give_back(buf);
            }
        }
    }

    fn send(&mut self, port: u32, buf: PacketBuf) {
        if self.drop_port == Some(port) {
            return self.drop_leaving(buf, reason::DROP_PORT);
        }
        match self.places.get(&port) {
            None => self.drop_leaving(buf, reason::NO_SUCH_PORT),
            Some(Place::Here(i)) => self.send_here(*i, buf),
            Some(Place::There(mailbox)) => match mailbox.ring.push((port, buf)) {
                Ok(()) => {
                    // The buffer stays with the other worker.
                    self.pool.forget();
                    mailbox.wake();
                }
                Err((_, buf)) => self.drop_leaving(buf, reason::TX_RING_FULL),
            },
        }
    }

    fn send_here(&mut self, i: usize, buf: PacketBuf) {
        let port = &mut self.ports[i];
        if !port.is_enabled {
            return self.drop_leaving(buf, reason::PORT_DOWN);
        }
        port.tx.push(buf);
        if port.tx.len() >= BURST_MAX {
            port.flush(&mut self.pool);
        }
    }

    fn take_from_ring(&mut self) -> usize {
        let mut n = 0;
        while n < N_RING_TURN
            && let Some((port, buf)) = self.mailbox.ring.pop()
        {
            n += 1;
            match self.places.get(&port) {
                Some(Place::Here(i)) => self.send_here(*i, buf),
                // Removed, or moved, since the other worker looked.
                Some(Place::There(_)) | None => self.drop_leaving(buf, reason::NO_SUCH_PORT),
            }
        }
        n
    }

    fn flush(&mut self) {
        self.ports.iter_mut().for_each(|port| port.flush(&mut self.pool));
    }

    fn n_queued(&self) -> u64 {
        self.running.as_ref().map_or(0, |running| running.switch.n_queued())
    }

    // What there is to do when there is nothing to do.

    pub(crate) fn idle(&mut self) {
        for port in &mut self.ports {
            if let Err(failed) = port.port.idle() {
                port.error = Some(failed.to_string());
            }
        }
    }

    /// What to wait for, and how long.
    pub(crate) fn before_sleep(&mut self, fds: &mut Vec<RawFd>) -> Duration {
        self.worker.n_sleeps += 1;
        fds.clear();
        fds.push(self.mailbox.fd());
        let usable = self.ports.iter().filter(|port| !port.is_broken && !self.is_paused);
        let mut timeout = match (self.n_waiting(), self.n_queued()) {
            (0, 0) => LONG_SLEEP,
            (0, _) => SHORT_SLEEP,
            _ => NO_SLEEP,
        };
        for port in usable {
            match port.port.fd() {
                Some(fd) => fds.push(fd),
                None if port.port.is_exhausted() || port.port.link_state() == LinkState::Gone => {}
                None => timeout = timeout.min(SHORT_SLEEP),
            }
        }
        timeout
    }

    // Tasks.

    /// While paused, packets are sent, but none is received.
    pub(crate) fn pause(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
    }

    pub(crate) fn add_port(&mut self, number: u32, name: String, port: Box<dyn Port>) {
        self.ports.push(WorkerPort {
            port,
            number,
            name,
            tx: Vec::with_capacity(BURST_MAX),
            is_enabled: true,
            error: None,
            is_broken: false,
            is_capture_error_taken: false,
        });
        self.set_place(number, Some(Place::Here(self.ports.len() - 1)));
    }

    /// Gives the port, so that somebody else may wait until it is closed.
    pub(crate) fn remove_port(&mut self, number: u32) -> Option<Box<dyn Port>> {
        let i = self.ports.iter().position(|port| port.number == number)?;
        let mut removed = self.ports.remove(i);
        self.places.remove(&number);
        for (i, port) in self.ports.iter().enumerate() {
            self.places.insert(port.number, Place::Here(i));
        }
        add_stats(&mut self.gone, &removed.port.stats());
        Some(removed.port)
    }

    /// Who sends to a port from now on; `None` when there is no such port.
    pub(crate) fn set_place(&mut self, number: u32, place: Option<Place>) {
        match place {
            Some(place) => self.places.insert(number, place),
            None => self.places.remove(&number),
        };
    }

    pub(crate) fn enable_port(&mut self, number: u32, is_enabled: bool) -> bool {
        let port = self.ports.iter_mut().find(|port| port.number == number);
        port.map(|port| port.is_enabled = is_enabled).is_some()
    }

    pub(crate) fn set_port_state(&mut self, port: u32, state: PortState) {
        if let Some(running) = &mut self.running {
            running.switch.set_port(port, state);
        }
    }

    pub(crate) fn set_rate(&mut self, port: u32, rate_pps: Option<u64>) {
        match rate_pps {
            Some(rate) => self.rates.insert(port, rate),
            None => self.rates.remove(&port),
        };
        if let Some(running) = &mut self.running {
            running.switch.set_port_rate(port, rate_pps);
        }
    }

    /// A packet arrives from somewhere else than a port of this worker; false when there is no buffer for it.
    pub(crate) fn inject(&mut self, port: u32, bytes: &[u8]) -> bool {
        if self.burst.len() >= BURST_MAX {
            return false;
        }
        let Some(mut buf) = self.pool.take() else { return false };
        buf.port = PortId(port);
        if !buf.set_data(bytes) {
            self.pool.give_back(buf);
            return false;
        }
        self.mirrors.iter_mut().for_each(|(_, tap)| tap(port, bytes));
        self.burst.push(buf);
        self.process(self.clock.now_ns());
        self.flush();
        true
    }

    /// Lets another program run from now on, after packets that wait in the one before have left; gives the one
    /// before, so that somebody else may spend the time to take it apart.
    pub(crate) fn replace(&mut self, next: Option<Running>) -> (Option<Running>, Vec<DigestMessage>) {
        let mut digests = Vec::new();
        self.wait_for_executors();
        let mut before = self.running.take();
        if let Some(Running { switch, .. }) = &mut before {
            self.rates.keys().for_each(|port| switch.set_port_rate(*port, None));
            // Copies of one packet at most: packets behind it are for the next program.
            switch.allow_passes(u64::MAX);
            let passed_ns = self.clock.now_ns().saturating_sub(switch.now_ns());
            self.outputs.extend(switch.advance_clock(passed_ns, &mut ()));
            // A port that has just taken a packet at its old rate waits for the next as long as a second.
            while switch.n_queued() > 0 {
                self.outputs.extend(switch.advance_clock(1_000_000_000, &mut ()));
            }
            self.past.add(switch.totals());
            digests = switch.take_digests();
            self.send_outputs();
        }
        self.running = next;
        if let Some(Running { switch, .. }) = &mut self.running {
            self.rates.iter().for_each(|(port, rate)| switch.set_port_rate(*port, Some(*rate)));
        }
        self.flush();
        (before, digests)
    }

    /// Packets that executors do not give back in time are lost, with their buffers: somebody may still write to them.
    pub(crate) fn wait_for_executors(&mut self) {
        let deadline = Instant::now() + self.hang_timeout;
        while self.n_waiting() > 0 && Instant::now() < deadline {
            if let Some(running) = &mut self.running {
                running.switch.allow_passes(N_PASSES_TURN);
            }
            if self.take_back(self.clock.now_ns()) == 0 {
                std::thread::yield_now();
            }
        }
        let Some(running) = &mut self.running else { return };
        let mut leaving = Vec::new();
        for (token, place) in (0..).zip(&mut running.waiting.buffers) {
            let Some(buf) = place.take() else { continue };
            running.order.iter_mut().for_each(|order| order.ended(token, None, &mut leaving));
            self.past.n_received += 1;
            self.past.drop_for(reason::OFFLOAD_TIMEOUT);
            self.pool.forget();
            std::mem::forget(buf);
        }
        running.waiting = Waiting::default();
        leaving.into_iter().for_each(|(destination, buf)| self.leave(destination, buf));
    }

    /// A tap with a number of its own.
    pub(crate) fn add_mirror(&mut self, id: u64, mirror: Mirror) {
        self.mirrors.push((id, mirror));
    }

    pub(crate) fn remove_mirror(&mut self, id: u64) {
        self.mirrors.retain(|(other, _)| *other != id);
    }

    pub(crate) fn take_digests(&mut self) -> Vec<DigestMessage> {
        self.running.as_mut().map(|running| running.switch.take_digests()).unwrap_or_default()
    }

    /// Brings files up to date.
    pub(crate) fn flush_ports(&mut self) {
        for port in &mut self.ports {
            port.flush(&mut self.pool);
            if let Err(failed) = port.port.flush() {
                port.error = Some(failed.to_string());
            }
        }
    }

    /// Captures that have ended since this was asked last: numbers of ports, and why.
    pub(crate) fn take_capture_errors(&mut self) -> Vec<(u32, String)> {
        let mut errors = Vec::new();
        for port in self.ports.iter_mut().filter(|port| !port.is_capture_error_taken) {
            if let Some(error) = port.port.capture_error() {
                port.is_capture_error_taken = true;
                errors.push((port.number, error));
            }
        }
        errors
    }

    pub(crate) fn link_states(&self) -> Vec<(u32, LinkState, bool)> {
        self.ports.iter().map(|port| (port.number, port.port.link_state(), port.is_enabled)).collect()
    }

    pub(crate) fn report(&mut self) -> LaneReport {
        let mut totals = self.past.clone();
        let n_waiting = self.n_waiting();
        // They have been received, and are counted so when the program has taken them, or when they have ended.
        let n_held = n_waiting + self.burst.len() as u64;
        let mut n_queued = self.mailbox.ring.len() as u64 + n_held;
        totals.n_received += n_held;
        if let Some(Running { switch, .. }) = &self.running {
            totals.add(switch.totals());
            n_queued += switch.n_queued();
        }
        let order = self.running.as_ref().and_then(|running| running.order.as_ref());
        n_queued += order.map_or(0, |order| order.n_held() as u64);
        let worker = self.worker.number;
        let report = |port: &mut WorkerPort| PortReport {
            number: port.number,
            name: port.name.clone(),
            link: port.port.link_state(),
            is_enabled: port.is_enabled,
            worker,
            stats: port.port.stats(),
            error: port.error.clone(),
            capture_error: port.port.capture_error(),
        };
        let asyncs = self.running.as_mut().map(|running| {
            let worker = running.switch.runner.worker_mut();
            let n_blocks = worker.instance().pipeline().layout().asyncs.len();
            (0..n_blocks).map(|block| worker.async_counts(block)).collect()
        });
        LaneReport {
            asyncs: asyncs.unwrap_or_default(),
            totals,
            drops: self.drops.clone(),
            n_queued,
            gone: self.gone,
            ports: self.ports.iter_mut().map(report).collect(),
            worker: WorkerReport {
                n_buffers: self.pool.n_made(),
                n_exhausted: self.pool.n_exhausted(),
                ..self.worker.clone()
            },
        }
    }
}

impl WorkerPort {
    fn flush(&mut self, pool: &mut BufPool) {
        if self.tx.is_empty() {
            return;
        }
        let result: Result<usize, PortError> = self.port.tx_burst(pool, &mut self.tx);
        if let Err(failed) = result {
            self.error = Some(failed.to_string());
        }
    }
}

/// All bytes of a buffer.
fn storage(buf: &mut PacketBuf) -> &mut [u8] {
    let raw = buf.raw();
    // SAFETY: the storage of a buffer is that many initialised bytes, which the buffer owns; it is borrowed
    // exclusively as long as the result lives.
    #[expect(unsafe_code, reason = "buffers give their storage as C sees it")]
    unsafe {
        std::slice::from_raw_parts_mut(raw.storage, raw.capacity as usize)
    }
}

fn add_stats(sum: &mut PortStats, more: &PortStats) {
    sum.rx_packets += more.rx_packets;
    sum.rx_bytes += more.rx_bytes;
    sum.rx_dropped_kernel += more.rx_dropped_kernel;
    sum.rx_too_long += more.rx_too_long;
    sum.rx_dropped_gso += more.rx_dropped_gso;
    sum.rx_segmented += more.rx_segmented;
    sum.rx_dropped_no_buffer += more.rx_dropped_no_buffer;
    sum.rx_errors += more.rx_errors;
    sum.tx_packets += more.tx_packets;
    sum.tx_bytes += more.tx_bytes;
    sum.tx_dropped_full += more.tx_dropped_full;
    sum.tx_dropped_down += more.tx_dropped_down;
    sum.tx_too_long += more.tx_too_long;
    sum.tx_errors += more.tx_errors;
    sum.capture_missed += more.capture_missed;
}
