//! A worker: its ports, its share of the program, its buffers, its counts.
//!
//! - `rx_tx`: packets from and to ports;
//! - `suspended`: packets at offload workers;
//! - `ports`, `replace`, `report`: tasks, run between polls.
//!
//! Every packet that comes into [`Worker::poll`] is at its end, waits in a queue of the program, or is in the ring of
//! another worker when the poll is over. Tasks run between polls, so they see no packet under way.

mod ports;
mod replace;
mod report;
mod rx_tx;
mod suspended;

use crate::clock::Clock;
use crate::controller_queues::ControllerQueues;
use crate::mailbox::Mailbox;
use crate::options::{Options, Wait};
use crate::order::Order;
use crate::report::WorkerReport;
use native::{Bursts, Native, Resumed};
use packet_io::limits::BURST_MAX;
use packet_io::{BufPool, BufPoolOptions, PacketBuf, Port, PortId, PortStats};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use target::traffic::{Destination, Output, Pacer, Totals};

/// Passes of copies through the program in one poll: more copies wait for the next poll, so that a packet that is
/// cloned and recirculated again and again does not keep the worker from tasks.
const N_PASSES_POLL: u64 = 4096;

/// A worker's part of a program that runs.
pub(crate) struct Running {
    pub(crate) switch: target::Switch<Native>,
    /// Owns the buffers of suspended packets.
    bursts: Bursts<PacketBuf>,
    /// `None` where packets of a flow may overtake each other.
    order: Option<Order>,
}

impl Running {
    pub(crate) fn new(switch: target::Switch<Native>, keeps_order: bool) -> Running {
        let order = keeps_order.then(Order::default);
        Running { switch, bursts: Bursts::default(), order }
    }

    /// How many packets may be taken, should they all come to an asynchronous block.
    fn room(&mut self) -> usize {
        let held = self.order.as_ref().map_or(usize::MAX, Order::room);
        self.switch.runner.worker_mut().async_room().min(held)
    }
}

/// A queue of a port.
struct WorkerPort {
    port: Box<dyn Port>,
    number: u32,
    /// Its number among the queues of the port.
    queue: usize,
    name: String,
    /// To be sent when the poll is over.
    tx: Vec<PacketBuf>,
    is_enabled: bool,
    /// The link has not taken all packets at once; those behind them wait in the switch.
    is_congested: bool,
    error: Option<String>,
    is_broken: bool,
    /// Whether [`Worker::take_capture_errors`] has given the port's error.
    is_capture_error_taken: bool,
}

/// The queue through which a worker sends to a port: its own, or that of another worker.
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
    queues: Arc<ControllerQueues>,
    drop_port: Option<u32>,
    hang_timeout: Duration,
    /// When offload workers were last watched, in nanoseconds.
    looked_ns: u64,
    ports: Vec<WorkerPort>,
    places: FxHashMap<u32, Place>,
    running: Option<Running>,
    /// Packets per second of ports that have such a limit.
    rates: BTreeMap<u32, (u64, Pacer)>,
    /// Packets that each queue holds, if somebody has said so.
    queue_depth: Option<usize>,
    mirrors: Vec<(u64, Mirror)>,
    /// Nothing is received any more.
    is_paused: bool,
    pool: BufPool,
    /// Received packets that the program has not taken. Between polls only while it is paused.
    burst: Vec<PacketBuf>,
    /// Empty between polls.
    outputs: Vec<Output>,
    /// Empty between polls.
    resumed: Vec<Resumed<PacketBuf>>,
    /// Resumed packets to be sent. Empty between polls.
    leaving: Vec<(Destination, PacketBuf)>,
    /// Counts of programs that ran here before, and of packets that no program has seen.
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
        queues: Arc<ControllerQueues>,
        options: &Options,
    ) -> Worker {
        Worker {
            clock,
            mailbox,
            queues,
            drop_port: options.drop_port,
            hang_timeout: options.hang_timeout,
            looked_ns: 0,
            ports: Vec::new(),
            places: FxHashMap::default(),
            running: None,
            rates: BTreeMap::new(),
            queue_depth: None,
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
            worker: WorkerReport { number, wait: options.wait, ..WorkerReport::default() },
        }
    }

    pub(crate) fn mailbox(&self) -> &Arc<Mailbox> {
        &self.mailbox
    }

    pub(crate) fn wait(&self) -> Wait {
        self.worker.wait
    }

    pub(crate) fn set_core(&mut self, core: usize) {
        self.worker.core = Some(core);
    }

    /// Does everything that can be done now; returns how many packets there were.
    pub(crate) fn poll(&mut self) -> usize {
        let now_ns = self.clock.now_ns();
        let mut n = self.take_from_ring();
        if let Some(running) = &mut self.running {
            running.switch.allow_passes(N_PASSES_POLL);
        }
        if self.has_backlog() {
            n += 1;
            self.process(now_ns);
        }
        n += self.resume(now_ns);
        self.watch_offload_workers(now_ns);
        for i in 0..self.ports.len() {
            n += self.receive(i, now_ns);
        }
        if self.n_queued() > 0 && !self.has_backlog() {
            // Those whose time has come.
            self.process(now_ns);
        }
        self.flush();
        self.pace();
        if self.running.as_ref().is_some_and(|running| running.switch.has_digests()) {
            self.queues.announce_digests();
        }
        n
    }

    /// True if the program must continue the packets that it has before it takes more.
    fn has_backlog(&self) -> bool {
        !self.burst.is_empty() || self.running.as_ref().is_some_and(|running| running.switch.is_paused())
    }

    fn n_queued(&self) -> u64 {
        self.running.as_ref().map_or(0, |running| running.switch.n_queued())
    }

    /// While paused, packets are sent, but none is received.
    pub(crate) fn pause(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
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

    /// A tap with a number of its own.
    pub(crate) fn add_mirror(&mut self, id: u64, mirror: Mirror) {
        self.mirrors.push((id, mirror));
    }

    pub(crate) fn remove_mirror(&mut self, id: u64) {
        self.mirrors.retain(|(other, _)| *other != id);
    }
}
