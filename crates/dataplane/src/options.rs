//! Options with which a switch starts.

use crate::ports::PortKind;
use control::Schema;
use diagnostics::SourceMap;
use native::{AsyncMode, BurstPath, Pipeline};
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

/// Default of [`Options::shutdown_timeout`].
pub const SHUTDOWN_TIMEOUT_DEFAULT: Duration = Duration::from_secs(10);

/// A program as the compiler leaves it.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// For people.
    pub name: String,
    pub pipeline: Arc<Pipeline>,
    pub program: Arc<ir::Program>,
    pub schema: Arc<Schema>,
    /// For stories; without it they have no places.
    pub sources: Option<Arc<SourceMap>>,
}

/// The number of queues of each port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queues {
    /// So many; ports that have one queue only are refused with more.
    Fixed(NonZeroUsize),
    /// One for each worker, or fewer where the port has no more.
    PerWorker,
}

impl Queues {
    pub const ONE: Queues = Queues::Fixed(NonZeroUsize::MIN);

    /// The number of queues with which a port is opened.
    pub fn n_of(self, kind: &PortKind, n_workers: usize) -> usize {
        match self {
            Queues::Fixed(n) => n.get(),
            Queues::PerWorker => n_workers.min(kind.n_queues_max()),
        }
    }
}

/// The idle behaviour of workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wait {
    /// Poll all the time: the shortest latency, and a whole core for each worker.
    Busy,
    /// Poll for a moment after each packet, then sleep until a port has input.
    #[default]
    Adaptive,
    /// Sleep at once.
    Interrupt,
}

impl Wait {
    pub fn name(self) -> &'static str {
        match self {
            Wait::Busy => "busy",
            Wait::Adaptive => "adaptive",
            Wait::Interrupt => "interrupt",
        }
    }
}

/// How a switch runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// At least one.
    pub n_workers: usize,
    /// Where workers run, in turn; empty leaves it to the system.
    pub cores: Vec<usize>,
    /// Queue `q` of a port with several is for worker `q` modulo the number of workers; ports with one queue go to the workers in
    /// turn.
    pub queues: Queues,
    pub wait: Wait,
    /// Packets to this port go to the controller.
    pub cpu_port: Option<u32>,
    /// The ports at the host's side of a network card; all others are at the side of the network.
    pub host_ports: BTreeSet<u32>,
    /// Packets to this port are dropped, beside those that the architecture drops.
    pub drop_port: Option<u32>,
    /// Seed of random numbers.
    pub seed: u64,
    /// The path of bursts through the compiled program.
    pub burst_path: BurstPath,
    /// Mode of asynchronous blocks, instead of the program's.
    pub async_mode: Option<AsyncMode>,
    /// Whether packets of a flow leave in the order in which they came, whatever the program says.
    pub async_order: Option<bool>,
    /// Threads for asynchronous blocks; `None`: one for each name that blocks give.
    pub n_offload_workers: Option<usize>,
    /// Where they run, in turn; empty leaves it to the system.
    pub offload_cores: Vec<usize>,
    /// Packets whose calls of an extern offload workers make together, at most, whatever the program says.
    pub offload_batch: Option<u32>,
    /// An offload worker that does nothing for so long, though packets wait for it, is lost.
    pub hang_timeout: Duration,
    /// Packets that one worker holds for others to send, at most.
    pub n_ring_max: usize,
    /// Packets, digests and expired entries that wait for the controller, at most, of each kind.
    pub n_waiting_max: usize,
    /// Workers that have not ended so long after [`Switch::shut_down`](crate::Switch::shut_down) are abandoned: an
    /// extern may hang.
    pub shutdown_timeout: Duration,
}

impl Options {
    /// The number of queues of a port of that kind.
    pub fn n_queues_of(&self, kind: &PortKind) -> usize {
        self.queues.n_of(kind, self.n_workers)
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            n_workers: 1,
            cores: Vec::new(),
            queues: Queues::ONE,
            wait: Wait::default(),
            cpu_port: None,
            host_ports: BTreeSet::new(),
            drop_port: None,
            seed: 0,
            burst_path: BurstPath::Auto,
            async_mode: None,
            async_order: None,
            n_offload_workers: None,
            offload_cores: Vec::new(),
            offload_batch: None,
            hang_timeout: native::HANG_TIMEOUT_DEFAULT,
            n_ring_max: 1024,
            n_waiting_max: 4096,
            shutdown_timeout: SHUTDOWN_TIMEOUT_DEFAULT,
        }
    }
}
