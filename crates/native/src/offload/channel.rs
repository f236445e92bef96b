//! Asynchronous blocks: executors, the channels between them and workers, and what both have counted.
//!
//! What happens to a packet on its way there and back is C (`rt/worker/sd_async.h`); here is who may do what. An
//! [`OffloadWorker`] is a worker of the instance that runs blocks for others, on a thread of its own; it is connected to each
//! worker, block by block, before the two go to their threads.

use crate::abi;
use crate::exec::worker::PipelineWorker;
use crate::instance::Instance;
use crate::offload::watchdog::OffloadWatchdog;
use crate::toolchain::load::{AsyncFunctions, Pipeline};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::time::Duration;

/// Where the block of a packet is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AsyncMode {
    /// By the worker.
    #[default]
    Inline,
    /// By an executor, while the worker waits.
    Wait,
    /// By an executor, while the worker goes on with other packets.
    Suspend,
    /// By the worker or by an executor, whichever costs the worker less: see `rt/worker/sd_async_choice.h`. What is too much for
    /// the executor stays with the worker.
    Auto,
}

/// What a worker knows that chooses: cycles of the time stamp counter, 0 where it has not seen any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// What is done now.
    pub mode: AsyncMode,
    /// What the block costs at the worker and at the executor.
    pub here_cycles: u32,
    pub there_cycles: u32,
    /// What sending a packet and taking it back costs the worker.
    pub suspend_cycles: u32,
    /// How often it has changed, and tried both.
    pub n_changes: u32,
    pub n_trials: u64,
}

/// What becomes of a packet when as many are under way as may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WhenFull {
    Drop,
    /// The worker runs the block itself.
    Inline,
    /// The same, but there are few: whoever sends is held back, by taking no more packets than
    /// [`PipelineWorker::async_room`] says.
    #[default]
    Backpressure,
}

/// How a worker treats a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Way {
    pub mode: AsyncMode,
    pub full: WhenFull,
}

/// Packets under way from one worker to one block, unless something else is said.
pub const CAPACITY_DEFAULT: u32 = 1000;

/// Packets whose calls an executor makes together, at most: as many as it takes from a worker at once (`SD_ASYNC_BURST`).
pub const BATCH_MAX: u32 = 32;

/// An executor that does nothing for so long, with something to do, is lost, unless something else is said.
pub const HANG_TIMEOUT_DEFAULT: Duration = Duration::from_secs(2);

/// What a worker has counted of one block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AsyncCounts {
    pub n_in_flight: u32,
    /// Blocks that the worker has run: as it was told, for want of headroom, because too many were under way.
    pub n_inline: u64,
    pub n_no_room: u64,
    pub n_full: u64,
    /// Packets that went to the executor, those among them that the worker waited for, and those that came back while
    /// it went on.
    pub n_sent: u64,
    pub n_waited: u64,
    pub n_done: u64,
    /// Because too many were under way, or the executor is lost.
    pub n_dropped: u64,
    /// Packets that went to the executor and were given up.
    pub n_lost: u64,
    pub is_hung: bool,
    /// From being sent to going on, of those that came back.
    pub waited: Times,
    /// Of blocks whose mode is [`AsyncMode::Auto`].
    pub choice: Option<Choice>,
}

/// Lengths of time in cycles of the time stamp counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    pub n: u64,
    pub cycles: u64,
    /// Element `i` counts those of fewer than 2^i cycles and at least half of that.
    pub buckets: [u64; abi::ASYNC_BUCKETS],
}

impl Times {
    pub fn add(&mut self, other: &Times) {
        self.n += other.n;
        self.cycles += other.cycles;
        self.buckets.iter_mut().zip(other.buckets).for_each(|(sum, n)| *sum += n);
    }
}

impl Default for Times {
    fn default() -> Times {
        Times { n: 0, cycles: 0, buckets: [0; abi::ASYNC_BUCKETS] }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AsyncError {
    #[error("the program has no such asynchronous block")]
    NoBlock,
    #[error("worker and executor belong to different instances")]
    OtherInstance,
    #[error("the block has an executor already")]
    Connected,
    #[error("there is not enough memory for a ring of so many packets")]
    NoMemory,
}

/// Two rings; lives as long as one of its ends does.
#[derive(Debug)]
pub(crate) struct Channel {
    raw: NonNull<abi::Channel>,
    functions: AsyncFunctions,
    _pipeline: Arc<Pipeline>,
}

/// A worker's end of one.
#[derive(Debug)]
pub(crate) struct ChannelEnd {
    _channel: Arc<Channel>,
    block: usize,
    /// Of the executor, and what was seen of it last.
    watchdog: Arc<OffloadWatchdog>,
    beats: u64,
    silent: Duration,
}

// SAFETY: rings that one thread puts into and another takes out of (`rt/worker/sd_ring.h`): each end is used by the worker, or
// the executor, that was connected to it, and that somebody has alone.
#[expect(unsafe_code, reason = "a raw pointer makes it neither")]
unsafe impl Send for Channel {}
// SAFETY: as above.
#[expect(unsafe_code, reason = "a raw pointer makes it neither")]
unsafe impl Sync for Channel {}

impl Drop for Channel {
    fn drop(&mut self) {
        // SAFETY: made by `channel_create`; neither end has it any more.
        #[expect(unsafe_code, reason = "a function of the compiled program")]
        unsafe {
            (self.functions.channel_destroy)(self.raw.as_ptr());
        }
    }
}

/// Runs asynchronous blocks for workers.
#[derive(Debug)]
pub struct OffloadWorker {
    worker: PipelineWorker,
    functions: Option<AsyncFunctions>,
    channels: Vec<Arc<Channel>>,
    raw: Vec<*mut abi::Channel>,
    watchdog: Arc<OffloadWatchdog>,
}

// SAFETY: the raw pointers are those of `channels`, which are `Send`.
#[expect(unsafe_code, reason = "raw pointers make it none")]
unsafe impl Send for OffloadWorker {}

impl OffloadWorker {
    /// `worker` runs nothing but blocks of others from now on.
    pub fn new(mut worker: PipelineWorker) -> Result<OffloadWorker, externs::OpenError> {
        worker.open_externs()?;
        let functions = worker.instance().pipeline().functions().asynchronous;
        let watchdog = Arc::new(OffloadWatchdog::new(HANG_TIMEOUT_DEFAULT));
        worker.instance().add_executor(worker.number(), Arc::clone(&watchdog));
        worker.context_mut().watchdog = Some(Arc::clone(&watchdog));
        let mut executor =
            OffloadWorker { worker, functions, channels: Vec::new(), raw: Vec::new(), watchdog };
        for block in 0..executor.instance().pipeline().layout().asyncs.len() {
            executor.set_batch(block, BATCH_MAX);
        }
        Ok(executor)
    }

    /// How many packets' calls of its extern are made together, of a block where that can be ([`AsyncLayout::batched_call`])
    /// and whose extern takes several at once; [`BATCH_MAX`] where nothing else is said, 1 for one after the other.
    ///
    /// [`AsyncLayout::batched_call`]: crate::abi::layout::AsyncLayout::batched_call
    pub fn set_batch(&mut self, block: usize, n_calls: u32) {
        let pipeline = Arc::clone(self.instance().pipeline());
        let call = pipeline.layout().asyncs.get(block).and_then(|block| block.batched_call);
        let is_possible = call.is_some_and(|call| pipeline.externs().has_batch(call));
        if let Some(way) = self.worker.way_mut(block) {
            way.batch = if is_possible { n_calls.clamp(1, BATCH_MAX) } else { 1 };
        }
    }

    /// Of a block: how often calls of several packets were made together, and how many they were.
    pub fn batches(&self, block: usize) -> (u64, u64) {
        self.worker.way(block).map_or((0, 0), |way| (way.n_batches, way.n_batched))
    }

    /// How it is seen by others.
    pub fn watchdog(&self) -> &Arc<OffloadWatchdog> {
        &self.watchdog
    }

    /// How long the control plane waits for a block before it gives the executor up.
    pub fn set_hang_timeout(&mut self, hang_timeout: Duration) {
        self.watchdog.set_hang_timeout(hang_timeout);
    }

    pub fn instance(&self) -> &Arc<Instance> {
        self.worker.instance()
    }

    /// What users supply for externs, by name.
    pub fn worker_mut(&mut self) -> &mut PipelineWorker {
        &mut self.worker
    }

    /// Runs block `block` of a worker's packets from now on, of at most `capacity` packets at a time. The worker still decides
    /// which packets it sends, see [`PipelineWorker::set_way`]; [`Bursts`](crate::Bursts) owns their buffers meanwhile.
    pub fn connect(
        &mut self,
        worker: &mut PipelineWorker,
        block: usize,
        capacity: u32,
    ) -> Result<(), AsyncError> {
        if !Arc::ptr_eq(worker.instance(), self.worker.instance()) {
            return Err(AsyncError::OtherInstance);
        }
        let functions = self.functions.ok_or(AsyncError::NoBlock)?;
        let way = worker.way_mut(block).ok_or(AsyncError::NoBlock)?;
        if !way.channel.is_null() {
            return Err(AsyncError::Connected);
        }
        // SAFETY: a function of a loaded pipeline.
        #[expect(unsafe_code, reason = "a function of the compiled program")]
        let raw = unsafe { (functions.channel_create)(capacity) };
        let raw = NonNull::new(raw).ok_or(AsyncError::NoMemory)?;
        way.channel = raw.as_ptr();
        way.capacity = capacity;
        let fetches_packets = u32::from(self.worker.instance().pipeline().externs().uses_packets());
        way.fetches_packets = fetches_packets;
        self.worker.way_mut(block).ok_or(AsyncError::NoBlock)?.fetches_packets = fetches_packets;
        let channel =
            Arc::new(Channel { raw, functions, _pipeline: Arc::clone(self.worker.instance().pipeline()) });
        worker.channels.push(ChannelEnd {
            _channel: Arc::clone(&channel),
            block,
            watchdog: Arc::clone(&self.watchdog),
            beats: 0,
            silent: Duration::ZERO,
        });
        self.raw.push(raw.as_ptr());
        self.channels.push(channel);
        Ok(())
    }

    /// Runs the blocks of packets that have come; gives how many: none when the executor is lost.
    pub fn serve(&mut self, step_budget: u32, now_ns: u64) -> usize {
        let Some(functions) = self.functions else { return 0 };
        let n = u32::try_from(self.raw.len()).unwrap_or(u32::MAX);
        self.worker.prepare(step_budget, now_ns);
        // Nothing here changes a count that workers share.
        let (worker, instance) = (self.worker.raw_ptr(), self.worker.instance());
        let Some(entered) = instance.enter_as_executor(self.worker.number(), &self.watchdog) else {
            return 0;
        };
        // SAFETY: worker and channels are ours, the channels at this end; buffers of suspended packets are not freed
        // (`SuspendedPackets`); we are within the executors' gate.
        #[expect(unsafe_code, reason = "a function of the compiled program")]
        let n_served = unsafe { (functions.serve)(worker, self.raw.as_ptr(), n) };
        drop(entered);
        n_served as usize
    }

    /// Of a block: how long it ran.
    pub fn served(&self, block: usize) -> Times {
        self.worker.way(block).map_or(Times::default(), |way| Times {
            n: way.n_served,
            cycles: way.served_cycles,
            buckets: way.served,
        })
    }
}

/// Who is dropped gives nothing back.
impl Drop for OffloadWorker {
    fn drop(&mut self) {
        self.watchdog.mark_hung();
    }
}

fn choice(way: &abi::AsyncWay) -> Option<Choice> {
    let abi::AsyncChoice { is_on, here_cycles, there_cycles, suspend_cycles, n_changes, n_trials, .. } =
        way.choice;
    let mode = match way.mode {
        abi::async_mode::INLINE if way.choice.n_probes_left == 0 => AsyncMode::Inline,
        _ => AsyncMode::Suspend,
    };
    (is_on != 0).then_some(Choice { mode, here_cycles, there_cycles, suspend_cycles, n_changes, n_trials })
}

impl PipelineWorker {
    /// As C has it; `None` when there is no such block.
    pub(crate) fn way(&self, block: usize) -> Option<&abi::AsyncWay> {
        let first = self.raw().async_ways;
        if first.is_null() || block >= self.instance().pipeline().layout().asyncs.len() {
            return None;
        }
        // SAFETY: one for each block of the program (`sd_worker_new`), the worker's alone.
        #[expect(unsafe_code, reason = "memory of the compiled program")]
        Some(unsafe { &*first.add(block) })
    }

    pub(crate) fn way_mut(&mut self, block: usize) -> Option<&mut abi::AsyncWay> {
        self.way(block)?;
        // SAFETY: as above, and the worker is borrowed mutably.
        #[expect(unsafe_code, reason = "memory of the compiled program")]
        Some(unsafe { &mut *self.raw().async_ways.add(block) })
    }

    /// From the next burst on. A block without executor stays where it is, and one whose executor is lost is treated as
    /// [`abandon`](crate::Bursts::abandon) says, whatever is said.
    pub fn set_way(&mut self, block: usize, wanted: Way) {
        if self.lost.contains_key(&block) {
            return;
        }
        let Some(way) = self.way_mut(block) else { return };
        way.mode = match wanted.mode {
            AsyncMode::Wait if !way.channel.is_null() => abi::async_mode::WAIT,
            AsyncMode::Suspend if !way.channel.is_null() => abi::async_mode::SUSPEND,
            // A choice begins here, where what it needs to know can be seen.
            AsyncMode::Inline | AsyncMode::Wait | AsyncMode::Suspend | AsyncMode::Auto => {
                abi::async_mode::INLINE
            }
        };
        let is_on = u32::from(wanted.mode == AsyncMode::Auto && !way.channel.is_null());
        way.choice = abi::AsyncChoice { is_on, ..abi::AsyncChoice::default() };
        self.raw_mut().trial_phase = 0;
        let Some(way) = self.way_mut(block) else { return };
        way.full = match wanted.full {
            WhenFull::Drop => abi::async_full::DROP,
            WhenFull::Inline => abi::async_full::INLINE,
            WhenFull::Backpressure => abi::async_full::BACKPRESSURE,
        };
    }

    /// Packets that are at executors, or on their way.
    pub fn n_suspended(&self) -> usize {
        let n_blocks = self.instance().pipeline().layout().asyncs.len();
        (0..n_blocks).filter_map(|block| self.way(block)).map(|way| way.n_in_flight as usize).sum()
    }

    /// How many packets the worker may take before one of its blocks that hold back has as many as may be under way.
    pub fn async_room(&self) -> usize {
        let n_blocks = self.instance().pipeline().layout().asyncs.len();
        let suspending = (0..n_blocks)
            .filter_map(|block| self.way(block))
            .filter(|way| way.mode == abi::async_mode::SUSPEND && way.choice.is_on == 0)
            .filter(|way| way.full == abi::async_full::BACKPRESSURE);
        suspending
            .map(|way| (way.capacity - way.n_in_flight.min(way.capacity)) as usize)
            .min()
            .unwrap_or(usize::MAX)
    }

    /// A block whose executor is lost, and which is still connected to it: somebody else says so, or it has done nothing for
    /// longer than `hang_timeout` while packets of this worker were under way. `passed` is the time since the last call; more
    /// than some milliseconds say rather that this thread could not run.
    pub fn lost_block(&mut self, passed: Duration, hang_timeout: Duration) -> Option<usize> {
        let mut channels = std::mem::take(&mut self.channels);
        for end in &mut channels {
            let beats = end.watchdog.beats();
            let is_awaited = self.way(end.block).is_some_and(|way| way.n_in_flight > 0);
            if !is_awaited || beats != end.beats {
                (end.beats, end.silent) = (beats, Duration::ZERO);
                continue;
            }
            end.silent += passed;
            if end.silent > hang_timeout {
                end.watchdog.mark_hung();
            }
        }
        let lost = channels.iter().find(|end| end.watchdog.is_hung()).map(|end| end.block);
        self.channels = channels;
        lost
    }

    /// A block's executor is asked no more. What is under way does not come back: it is the executor's from now on. A
    /// worker that may run the block itself when too many are under way does so; otherwise packets that come to the block are
    /// dropped: what an executor could not do had better not be tried by the worker.
    pub(crate) fn abandon(&mut self, block: usize) {
        let Some(way) = self.way_mut(block) else { return };
        let n_lost = u64::from(way.n_in_flight);
        if way.full == abi::async_full::INLINE {
            way.mode = abi::async_mode::INLINE;
        } else {
            way.mode = abi::async_mode::SUSPEND;
            way.full = abi::async_full::DROP;
        }
        way.choice.is_on = 0;
        way.channel = ptr::null_mut();
        way.capacity = 0;
        way.n_in_flight = 0;
        way.n_waiting = 0;
        self.raw_mut().trial_phase = 0;
        *self.lost.entry(block).or_default() += n_lost;
        self.channels.retain(|end| end.block != block);
    }

    pub fn async_counts(&self, block: usize) -> AsyncCounts {
        let Some(way) = self.way(block) else { return AsyncCounts::default() };
        AsyncCounts {
            n_in_flight: way.n_in_flight,
            n_inline: way.n_here,
            n_no_room: way.n_no_room,
            n_full: way.n_full,
            n_sent: way.n_sent,
            n_waited: way.n_waited,
            n_done: way.n_done,
            n_dropped: way.n_dropped,
            n_lost: self.lost.get(&block).copied().unwrap_or(0),
            is_hung: self.lost.contains_key(&block),
            waited: Times { n: way.n_done, cycles: way.waited_cycles, buckets: way.waited },
            choice: choice(way),
        }
    }

    /// Goes on with packets that are back; gives how many have ended, in the first elements of `packets`.
    pub(crate) fn resume(&mut self, packets: &mut [abi::Packet], step_budget: u32, now_ns: u64) -> usize {
        let Some(functions) = self.instance().pipeline().functions().asynchronous else { return 0 };
        let n = u32::try_from(packets.len()).unwrap_or(u32::MAX);
        self.prepare(step_budget, now_ns);
        // SAFETY: the worker is ours alone; packets that come back lie in buffers that have stayed where they were
        // (`SuspendedPackets`); we are within the gate.
        #[expect(unsafe_code, reason = "a function of the compiled program")]
        let n_ended = self.run(|worker| unsafe { (functions.resume)(worker, packets.as_mut_ptr(), n) });
        (n_ended as usize).min(packets.len())
    }

    /// Executors must not be asked any more: what is under way does not come back.
    pub(crate) fn disconnect(&mut self) {
        for block in 0..self.instance().pipeline().layout().asyncs.len() {
            if let Some(way) = self.way_mut(block) {
                way.mode = abi::async_mode::INLINE;
                way.channel = ptr::null_mut();
                way.n_in_flight = 0;
                way.n_waiting = 0;
            }
        }
        self.channels.clear();
    }
}
