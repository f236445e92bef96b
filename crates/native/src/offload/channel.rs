//! Asynchronous blocks: offload workers, the channels between them and workers, and the counters of both.
//!
//! C moves packets there and back (`rt/worker/sd_async.h`); this module says which thread may do what. An [`OffloadWorker`] is a
//! worker of the instance that runs blocks for others, on a thread of its own. It is connected to each worker, block by block,
//! before the two go to their threads.

use crate::abi;
use crate::exec::worker::PipelineWorker;
use crate::instance::Instance;
use crate::offload::watchdog::OffloadWatchdog;
use crate::toolchain::load::{AsyncFunctions, Pipeline};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::time::Duration;

/// The thread that runs an asynchronous block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AsyncMode {
    /// The worker.
    #[default]
    Inline,
    /// An offload worker, while the worker waits.
    Wait,
    /// An offload worker, while the worker runs other packets.
    Suspend,
    /// The worker or an offload worker, whichever costs the worker less: see `rt/worker/sd_async_choice.h`. Packets that exceed
    /// the capacity stay with the worker.
    Auto,
}

/// Measurements of a worker that chooses, in cycles of the time stamp counter; 0 before the first one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// The mode of now.
    pub mode: AsyncMode,
    /// Cost of the block at the worker and at the offload worker.
    pub here_cycles: u32,
    pub there_cycles: u32,
    /// Cost to the worker of suspending and resuming a packet.
    pub suspend_cycles: u32,
    /// Changes of the mode, and trials of both modes.
    pub n_changes: u32,
    pub n_trials: u64,
}

/// Policy for a packet when as many are in flight as the capacity allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WhenFull {
    Drop,
    /// The worker runs the block itself.
    Inline,
    /// The worker runs the block itself, but that is rare: it takes no more packets from its ports than
    /// [`PipelineWorker::async_room`] says.
    #[default]
    Backpressure,
}

/// How a worker treats an asynchronous block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct OffloadPolicy {
    pub mode: AsyncMode,
    pub full: WhenFull,
}

/// Default for the packets that are in flight from one worker to one block.
pub const CAPACITY_DEFAULT: u32 = 1000;

/// Largest batch of calls: as many packets as an offload worker receives at once (`SD_ASYNC_BURST`).
pub const BATCH_MAX: u32 = 32;

/// Default hang timeout: an offload worker that does nothing for so long, with packets in flight, is hung.
pub const HANG_TIMEOUT_DEFAULT: Duration = Duration::from_secs(2);

/// Counters of a worker for one block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AsyncCounts {
    pub n_in_flight: u32,
    /// Blocks that the worker ran: by its policy, for want of headroom, because too many packets were in flight.
    pub n_inline: u64,
    pub n_no_room: u64,
    pub n_full: u64,
    /// Packets sent to the offload worker; those among them that the worker waited for; those that were suspended and came
    /// back.
    pub n_sent: u64,
    pub n_waited: u64,
    pub n_done: u64,
    /// Packets dropped because too many were in flight, or the offload worker is hung.
    pub n_dropped: u64,
    /// Packets that were sent and abandoned.
    pub n_lost: u64,
    pub is_hung: bool,
    /// Times from suspension to resumption.
    pub waited: Times,
    /// `None` unless the mode is [`AsyncMode::Auto`].
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
    #[error("worker and offload worker belong to different instances")]
    OtherInstance,
    #[error("the block has an offload worker already")]
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

/// A worker's end of a channel.
#[derive(Debug)]
pub(crate) struct ChannelEnd {
    _channel: Arc<Channel>,
    block: usize,
    /// That of the offload worker; its beats when they were last read, and the time since they changed.
    watchdog: Arc<OffloadWatchdog>,
    beats: u64,
    silent: Duration,
}

// SAFETY: rings that one thread puts into and another takes out of (`rt/worker/sd_ring.h`): each end is used by the worker, or
// the offload worker, that was connected to it, and that somebody has alone.
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
        worker.instance().add_offload_worker(worker.number(), Arc::clone(&watchdog));
        worker.context_mut().watchdog = Some(Arc::clone(&watchdog));
        let mut offload_worker =
            OffloadWorker { worker, functions, channels: Vec::new(), raw: Vec::new(), watchdog };
        for block in 0..offload_worker.instance().pipeline().layout().asyncs.len() {
            offload_worker.set_batch(block, BATCH_MAX);
        }
        Ok(offload_worker)
    }

    /// Sets how many packets' calls of the block's extern are made in one batch; 1 turns batches off, the default is
    /// [`BATCH_MAX`]. Without effect unless the block ([`AsyncLayout::batched_call`]) and its extern support batches.
    ///
    /// [`AsyncLayout::batched_call`]: crate::abi::layout::AsyncLayout::batched_call
    pub fn set_batch(&mut self, block: usize, n_calls: u32) {
        let pipeline = Arc::clone(self.instance().pipeline());
        let call = pipeline.layout().asyncs.get(block).and_then(|block| block.batched_call);
        let is_possible = call.is_some_and(|call| pipeline.externs().has_batch(call));
        if let Some(policy) = self.worker.policy_mut(block) {
            policy.batch = if is_possible { n_calls.clamp(1, BATCH_MAX) } else { 1 };
        }
    }

    /// Batches of calls that a block made, and calls in them.
    pub fn batches(&self, block: usize) -> (u64, u64) {
        self.worker.policy(block).map_or((0, 0), |policy| (policy.n_batches, policy.n_batched))
    }

    /// The state that other threads see.
    pub fn watchdog(&self) -> &Arc<OffloadWatchdog> {
        &self.watchdog
    }

    /// How long the control plane waits for a block before it takes the offload worker for hung.
    pub fn set_hang_timeout(&mut self, hang_timeout: Duration) {
        self.watchdog.set_hang_timeout(hang_timeout);
    }

    pub fn instance(&self) -> &Arc<Instance> {
        self.worker.instance()
    }

    /// The worker that runs the blocks; users supply externs to it.
    pub fn worker_mut(&mut self) -> &mut PipelineWorker {
        &mut self.worker
    }

    /// Runs block `block` of a worker's packets from now on, of at most `capacity` packets at a time. The worker still decides
    /// which packets it sends, see [`PipelineWorker::set_offload_policy`]; [`Bursts`](crate::Bursts) owns their buffers meanwhile.
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
        let policy = worker.policy_mut(block).ok_or(AsyncError::NoBlock)?;
        if !policy.channel.is_null() {
            return Err(AsyncError::Connected);
        }
        // SAFETY: a function of a loaded pipeline.
        #[expect(unsafe_code, reason = "a function of the compiled program")]
        let raw = unsafe { (functions.channel_create)(capacity) };
        let raw = NonNull::new(raw).ok_or(AsyncError::NoMemory)?;
        policy.channel = raw.as_ptr();
        policy.capacity = capacity;
        let fetches_packets = u32::from(self.worker.instance().pipeline().externs().uses_packets());
        policy.fetches_packets = fetches_packets;
        self.worker.policy_mut(block).ok_or(AsyncError::NoBlock)?.fetches_packets = fetches_packets;
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

    /// Runs the blocks of packets that have come; returns how many: none when the offload worker is hung.
    pub fn serve(&mut self, step_budget: u32, now_ns: u64) -> usize {
        let Some(functions) = self.functions else { return 0 };
        let n = u32::try_from(self.raw.len()).unwrap_or(u32::MAX);
        self.worker.prepare(step_budget, now_ns);
        // Nothing here changes a count that workers share.
        let (worker, instance) = (self.worker.raw_ptr(), self.worker.instance());
        let Some(entered) = instance.enter_as_offload_worker(self.worker.number(), &self.watchdog) else {
            return 0;
        };
        // SAFETY: worker and channels are ours, the channels at this end; buffers of suspended packets are not freed
        // (`SuspendedPackets`); we are within the offload workers' gate.
        #[expect(unsafe_code, reason = "a function of the compiled program")]
        let n_served = unsafe { (functions.serve)(worker, self.raw.as_ptr(), n) };
        drop(entered);
        n_served as usize
    }

    /// Run times of a block.
    pub fn served(&self, block: usize) -> Times {
        self.worker.policy(block).map_or(Times::default(), |policy| Times {
            n: policy.n_served,
            cycles: policy.served_cycles,
            buckets: policy.served,
        })
    }
}

/// A dropped offload worker gives nothing back: workers take it for hung.
impl Drop for OffloadWorker {
    fn drop(&mut self) {
        self.watchdog.mark_hung();
    }
}

fn choice(policy: &abi::OffloadPolicy) -> Option<Choice> {
    let abi::AsyncChoice { is_on, here_cycles, there_cycles, suspend_cycles, n_changes, n_trials, .. } =
        policy.choice;
    let mode = match policy.mode {
        abi::async_mode::INLINE if policy.choice.n_probes_left == 0 => AsyncMode::Inline,
        _ => AsyncMode::Suspend,
    };
    (is_on != 0).then_some(Choice { mode, here_cycles, there_cycles, suspend_cycles, n_changes, n_trials })
}

impl PipelineWorker {
    /// The policy of a block in the memory of C; `None` when there is no such block.
    pub(crate) fn policy(&self, block: usize) -> Option<&abi::OffloadPolicy> {
        let first = self.raw().async_ways;
        if first.is_null() || block >= self.instance().pipeline().layout().asyncs.len() {
            return None;
        }
        // SAFETY: one for each block of the program (`sd_worker_new`), the worker's alone.
        #[expect(unsafe_code, reason = "memory of the compiled program")]
        Some(unsafe { &*first.add(block) })
    }

    pub(crate) fn policy_mut(&mut self, block: usize) -> Option<&mut abi::OffloadPolicy> {
        self.policy(block)?;
        // SAFETY: as above, and the worker is borrowed mutably.
        #[expect(unsafe_code, reason = "memory of the compiled program")]
        Some(unsafe { &mut *self.raw().async_ways.add(block) })
    }

    /// Sets the policy of a block from the next burst on. A block without an offload worker stays inline; that of a hung one
    /// keeps the policy that [`abandon`](crate::Bursts::abandon) has set.
    pub fn set_offload_policy(&mut self, block: usize, wanted: OffloadPolicy) {
        if self.abandoned.contains_key(&block) {
            return;
        }
        let Some(policy) = self.policy_mut(block) else { return };
        policy.mode = match wanted.mode {
            AsyncMode::Wait if !policy.channel.is_null() => abi::async_mode::WAIT,
            AsyncMode::Suspend if !policy.channel.is_null() => abi::async_mode::SUSPEND,
            // A choice begins here, where what it needs to know can be seen.
            AsyncMode::Inline | AsyncMode::Wait | AsyncMode::Suspend | AsyncMode::Auto => {
                abi::async_mode::INLINE
            }
        };
        let is_on = u32::from(wanted.mode == AsyncMode::Auto && !policy.channel.is_null());
        policy.choice = abi::AsyncChoice { is_on, ..abi::AsyncChoice::default() };
        self.raw_mut().trial_phase = 0;
        let Some(policy) = self.policy_mut(block) else { return };
        policy.full = match wanted.full {
            WhenFull::Drop => abi::async_full::DROP,
            WhenFull::Inline => abi::async_full::INLINE,
            WhenFull::Backpressure => abi::async_full::BACKPRESSURE,
        };
    }

    /// Packets in flight at all blocks.
    pub fn n_suspended(&self) -> usize {
        let n_blocks = self.instance().pipeline().layout().asyncs.len();
        (0..n_blocks).filter_map(|block| self.policy(block)).map(|policy| policy.n_in_flight as usize).sum()
    }

    /// Packets that the worker may take from its ports before a block with [`WhenFull::Backpressure`] reaches its capacity.
    pub fn async_room(&self) -> usize {
        let n_blocks = self.instance().pipeline().layout().asyncs.len();
        let suspending = (0..n_blocks)
            .filter_map(|block| self.policy(block))
            .filter(|policy| policy.mode == abi::async_mode::SUSPEND && policy.choice.is_on == 0)
            .filter(|policy| policy.full == abi::async_full::BACKPRESSURE);
        suspending
            .map(|policy| (policy.capacity - policy.n_in_flight.min(policy.capacity)) as usize)
            .min()
            .unwrap_or(usize::MAX)
    }

    /// A block that is still connected to an offload worker that hangs: another thread found so, or it has done nothing for
    /// longer than `hang_timeout` while packets of this worker were in flight. `passed` is the time since the last call; more
    /// than some milliseconds say rather that this thread could not run.
    pub fn hung_block(&mut self, passed: Duration, hang_timeout: Duration) -> Option<usize> {
        let mut channels = std::mem::take(&mut self.channels);
        for end in &mut channels {
            let beats = end.watchdog.beats();
            let has_packets_in_flight = self.policy(end.block).is_some_and(|policy| policy.n_in_flight > 0);
            if !has_packets_in_flight || beats != end.beats {
                (end.beats, end.silent) = (beats, Duration::ZERO);
                continue;
            }
            end.silent += passed;
            if end.silent > hang_timeout {
                end.watchdog.mark_hung();
            }
        }
        let hung = channels.iter().find(|end| end.watchdog.is_hung()).map(|end| end.block);
        self.channels = channels;
        hung
    }

    /// Sends no more packets of a block to its offload worker; packets in flight do not come back. A worker that may run the
    /// block itself when too many packets are in flight does so from now on. Otherwise packets that come to the block are
    /// dropped: a block that hangs an offload worker would hang the worker, too.
    pub(crate) fn abandon(&mut self, block: usize) {
        let Some(policy) = self.policy_mut(block) else { return };
        let n_lost = u64::from(policy.n_in_flight);
        if policy.full == abi::async_full::INLINE {
            policy.mode = abi::async_mode::INLINE;
        } else {
            policy.mode = abi::async_mode::SUSPEND;
            policy.full = abi::async_full::DROP;
        }
        policy.choice.is_on = 0;
        policy.channel = ptr::null_mut();
        policy.capacity = 0;
        policy.n_in_flight = 0;
        policy.n_waiting = 0;
        self.raw_mut().trial_phase = 0;
        *self.abandoned.entry(block).or_default() += n_lost;
        self.channels.retain(|end| end.block != block);
    }

    pub fn async_counts(&self, block: usize) -> AsyncCounts {
        let Some(policy) = self.policy(block) else { return AsyncCounts::default() };
        AsyncCounts {
            n_in_flight: policy.n_in_flight,
            n_inline: policy.n_here,
            n_no_room: policy.n_no_room,
            n_full: policy.n_full,
            n_sent: policy.n_sent,
            n_waited: policy.n_waited,
            n_done: policy.n_done,
            n_dropped: policy.n_dropped,
            n_lost: self.abandoned.get(&block).copied().unwrap_or(0),
            is_hung: self.abandoned.contains_key(&block),
            waited: Times { n: policy.n_done, cycles: policy.waited_cycles, buckets: policy.waited },
            choice: choice(policy),
        }
    }

    /// Resumes packets that are back; returns how many have ended, in the first elements of `packets`.
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

    /// Sends no more packets to offload workers; packets in flight do not come back.
    pub(crate) fn disconnect(&mut self) {
        for block in 0..self.instance().pipeline().layout().asyncs.len() {
            if let Some(policy) = self.policy_mut(block) {
                policy.mode = abi::async_mode::INLINE;
                policy.channel = ptr::null_mut();
                policy.n_in_flight = 0;
                policy.n_waiting = 0;
            }
        }
        self.channels.clear();
    }
}
