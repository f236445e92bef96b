//! Threads that run asynchronous blocks for workers.

use crate::clock::Clock;
use crate::options::Options;
use crate::start_fault::StartFault;
use native::{
    AsyncMode, BATCH_MAX, CAPACITY_DEFAULT, Instance, Native, OffloadPolicy, OffloadWatchdog, OffloadWorker,
    Times, WhenFull,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Turns without a packet before an offload worker yields its core, and before it sleeps.
const N_SPINS: u32 = 200;
const N_YIELDS: u32 = 1000;
/// Longest time that a packet waits for an offload worker that sleeps.
const SLEEP: Duration = Duration::from_micros(50);
/// Turns between two publications of the counters of an offload worker.
const N_TURNS_PUBLISHED: u32 = 1024;

/// Settings of an asynchronous block in its program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) mode: Option<AsyncMode>,
    pub(crate) full: WhenFull,
    pub(crate) capacity: u32,
    /// Packets whose calls are made together.
    pub(crate) batch: u32,
    pub(crate) offload_worker: Option<String>,
    /// Packets of a flow leave as they came.
    pub(crate) keeps_order: bool,
}

impl Wanted {
    /// From `mode=wait full=drop capacity=10 offload_worker=crypto`; what is not understood says nothing.
    pub(crate) fn parse(settings: &str) -> Wanted {
        let mut wanted = Wanted {
            mode: None,
            full: WhenFull::default(),
            capacity: CAPACITY_DEFAULT,
            batch: BATCH_MAX,
            offload_worker: None,
            keeps_order: false,
        };
        for (name, value) in settings.split(' ').filter_map(|one| one.split_once('=')) {
            match (name, value) {
                ("mode", "inline") => wanted.mode = Some(AsyncMode::Inline),
                ("mode", "wait") => wanted.mode = Some(AsyncMode::Wait),
                ("mode", "suspend") => wanted.mode = Some(AsyncMode::Suspend),
                ("mode", "auto") => wanted.mode = Some(AsyncMode::Auto),
                ("full", "drop") => wanted.full = WhenFull::Drop,
                ("full", "inline") => wanted.full = WhenFull::Inline,
                ("full", "backpressure") => wanted.full = WhenFull::Backpressure,
                ("capacity", n) => wanted.capacity = n.parse().unwrap_or(CAPACITY_DEFAULT),
                ("batch", n) => wanted.batch = n.parse().unwrap_or(BATCH_MAX),
                ("order", order) => wanted.keeps_order = order == "flow",
                ("offload_worker", name) => wanted.offload_worker = Some(name.to_owned()),
                _ => {}
            }
        }
        wanted
    }
}

/// Counters of an offload worker for a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Served {
    pub(crate) times: Times,
    /// How often the calls of several packets were made together, and how many they were.
    pub(crate) n_batches: u64,
    pub(crate) n_batched: u64,
}

/// The offload workers of one program, before and while they run. Ends them when it is dropped.
pub(crate) struct OffloadThreads {
    waiting: Vec<OffloadWorker>,
    threads: Vec<(JoinHandle<()>, Arc<OffloadWatchdog>)>,
    stop: Arc<AtomicBool>,
    /// By block: what all of them have counted.
    served: Arc<Mutex<Vec<Vec<Served>>>>,
    blocks: Vec<Wanted>,
    /// The offload worker of each block.
    owners: Vec<usize>,
    mode: Option<AsyncMode>,
    keeps_order: Option<bool>,
    step_budget: u32,
    /// An offload worker that does not end by then is left alone.
    hang_timeout: Duration,
}

/// How many a program wants: one for each name that its blocks give, or as many as the user says; none where
/// nothing leaves its worker.
pub(crate) fn n_wanted(settings: &[Wanted], options: &Options) -> usize {
    let leaves = |wanted: &Wanted| {
        options.async_mode.or(wanted.mode).unwrap_or(AsyncMode::Suspend) != AsyncMode::Inline
    };
    if !settings.iter().any(leaves) {
        return 0;
    }
    let mut names: Vec<&Option<String>> = settings.iter().map(|wanted| &wanted.offload_worker).collect();
    names.sort();
    names.dedup();
    options.n_offload_workers.unwrap_or(names.len()).max(1)
}

impl OffloadThreads {
    pub(crate) fn new(
        instance: &Arc<Instance>,
        blocks: Vec<Wanted>,
        options: &Options,
        step_budget: u32,
    ) -> Result<OffloadThreads, StartFault> {
        let n = n_wanted(&blocks, options);
        let mut waiting = Vec::new();
        for _ in 0..n {
            let worker = instance.take_worker().ok_or(StartFault::NoWorker)?;
            let mut offload_worker = OffloadWorker::new(worker)?;
            offload_worker.set_hang_timeout(options.hang_timeout);
            for (block, wanted) in blocks.iter().enumerate() {
                offload_worker.set_batch(block, options.offload_batch.unwrap_or(wanted.batch));
            }
            waiting.push(offload_worker);
        }
        let mut names: Vec<Option<String>> = Vec::new();
        let owners = blocks.iter().map(|wanted| {
            let known = names.iter().position(|name| *name == wanted.offload_worker);
            let at = known.unwrap_or_else(|| {
                names.push(wanted.offload_worker.clone());
                names.len() - 1
            });
            at % n.max(1)
        });
        let owners = owners.collect();
        Ok(OffloadThreads {
            served: Arc::new(Mutex::new(vec![Vec::new(); n])),
            waiting,
            threads: Vec::new(),
            stop: Arc::new(AtomicBool::new(false)),
            blocks,
            owners,
            mode: options.async_mode,
            keeps_order: options.async_order,
            step_budget,
            hang_timeout: options.hang_timeout,
        })
    }

    /// Before the threads begin: lets a worker send packets.
    pub(crate) fn connect(&mut self, native: &mut Native) -> Result<(), StartFault> {
        for (block, (wanted, owner)) in self.blocks.iter().zip(&self.owners).enumerate() {
            let Some(offload_worker) = self.waiting.get_mut(*owner) else { return Ok(()) };
            let worker = native.worker_mut();
            offload_worker.connect(worker, block, wanted.capacity)?;
            let mode = self.mode.or(wanted.mode).unwrap_or(AsyncMode::Suspend);
            worker.set_offload_policy(block, OffloadPolicy { mode, full: wanted.full });
        }
        Ok(())
    }

    /// On cores of their own, as far as there are some.
    pub(crate) fn start(&mut self, cores: &[usize], clock: Clock) -> std::io::Result<()> {
        for (number, mut offload_worker) in std::mem::take(&mut self.waiting).into_iter().enumerate() {
            let (stop, served) = (Arc::clone(&self.stop), Arc::clone(&self.served));
            let core = cores.get(number % cores.len().max(1)).copied();
            let (n_blocks, step_budget) = (self.blocks.len(), self.step_budget);
            let watchdog = Arc::clone(offload_worker.watchdog());
            let run = move || {
                if let Some(core) = core {
                    // Elsewhere it works, too.
                    let _ = packet_io::pin(core);
                }
                let publish = |offload_worker: &OffloadWorker| {
                    let of_block = |block| {
                        let (n_batches, n_batched) = offload_worker.batches(block);
                        Served { times: offload_worker.served(block), n_batches, n_batched }
                    };
                    let mut served = served.lock().unwrap_or_else(PoisonError::into_inner);
                    served[number].clear();
                    served[number].extend((0..n_blocks).map(of_block));
                };
                let (mut n_idle, mut n_turns) = (0u32, 0u32);
                while !stop.load(Ordering::Acquire) && !offload_worker.watchdog().is_hung() {
                    n_turns = n_turns.wrapping_add(1);
                    if n_turns.is_multiple_of(N_TURNS_PUBLISHED) {
                        publish(&offload_worker);
                    }
                    if offload_worker.serve(step_budget, clock.now_ns()) > 0 {
                        n_idle = 0;
                        continue;
                    }
                    n_idle = n_idle.saturating_add(1);
                    match n_idle {
                        0..N_SPINS => std::hint::spin_loop(),
                        N_SPINS..N_YIELDS => std::thread::yield_now(),
                        _ => {
                            if n_idle == N_YIELDS {
                                publish(&offload_worker);
                            }
                            std::thread::sleep(SLEEP);
                        }
                    }
                }
                // Packets in its rings are run, so that they come back.
                while offload_worker.serve(step_budget, clock.now_ns()) > 0 {}
            };
            let builder = std::thread::Builder::new().name(format!("offload {number}"));
            self.threads.push((builder.spawn(run)?, watchdog));
        }
        Ok(())
    }

    /// True if packets of a flow are to leave in the order in which they came.
    pub(crate) fn keep_order(&self) -> bool {
        self.keeps_order.unwrap_or_else(|| self.blocks.iter().any(|wanted| wanted.keeps_order))
    }

    /// Counters of all offload workers for a block, as they published them.
    pub(crate) fn served(&self, block: usize) -> Served {
        let served = self.served.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sum = Served::default();
        for one in served.iter().filter_map(|blocks| blocks.get(block)) {
            sum.times.add(&one.times);
            sum.n_batches += one.n_batches;
            sum.n_batched += one.n_batched;
        }
        sum
    }
}

impl Drop for OffloadThreads {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        let deadline = Instant::now() + self.hang_timeout;
        for (thread, watchdog) in self.threads.drain(..) {
            // A hung one ends by itself, or never.
            while !thread.is_finished() && !watchdog.is_hung() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(1));
            }
            if thread.is_finished() {
                // A panic was reported where it happened.
                let _ = thread.join();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_those_of_the_annotation() {
        let wanted = Wanted::parse("mode=wait full=drop capacity=7 batch=4 offload_worker=crypto order=flow");
        let expected = Wanted {
            mode: Some(AsyncMode::Wait),
            full: WhenFull::Drop,
            capacity: 7,
            batch: 4,
            offload_worker: Some("crypto".to_owned()),
            keeps_order: true,
        };
        assert_eq!(wanted, expected);
        assert_eq!(Wanted::parse("").capacity, CAPACITY_DEFAULT);
        assert_eq!(Wanted::parse("").batch, BATCH_MAX);
        assert_eq!(Wanted::parse("mode=auto").mode, Some(AsyncMode::Auto));
    }

    #[test]
    fn offload_workers_are_as_many_as_names() {
        let blocks =
            ["", "offload_worker=a", "offload_worker=b", "offload_worker=a mode=inline"].map(Wanted::parse);
        let options = Options::default();
        assert_eq!(n_wanted(&blocks, &options), 3);
        assert_eq!(n_wanted(&[], &options), 0);
        assert_eq!(n_wanted(&[Wanted::parse("mode=inline")], &options), 0);
        let options = Options { n_offload_workers: Some(1), ..Options::default() };
        assert_eq!(n_wanted(&blocks, &options), 1);
        let options = Options { async_mode: Some(AsyncMode::Inline), ..Options::default() };
        assert_eq!(n_wanted(&blocks, &options), 0);
    }
}
