//! One packet after the other, with its asynchronous blocks at an executor: all in one thread, so that nothing depends on
//! when other threads run.
//!
//! Each packet has ended before the next one arrives. So whatever a program does, it does in the order in which it would
//! without asynchronous blocks, and what comes out can be compared.

use crate::asynchronous::{AsyncError, AsyncMode, Executor, Way, WhenFull};
use crate::burst::{BurstPacket, Bursts, Fate, Path};
use crate::native::{Listener, Native};
use device::traffic::Output;
use device::{Config, Switch};

/// An executor, and what runs packets beside it.
#[derive(Debug)]
pub struct Awaited {
    bursts: Bursts,
    executor: Executor,
    step_budget: u32,
}

impl Awaited {
    /// All asynchronous blocks of the switch's program are the executor's from now on.
    pub fn new(
        switch: &mut Switch<Native>,
        mut executor: Executor,
        config: &Config,
    ) -> Result<Awaited, AsyncError> {
        let worker = switch.executor.worker_mut();
        for block in 0..worker.instance().pipeline().layout().asyncs.len() {
            // SAFETY: `receive` keeps the buffer of a packet that waits until the packet has ended; what never ends it
            // forgets.
            #[expect(unsafe_code, reason = "a promise about buffers")]
            unsafe {
                executor.connect(worker, block, 1)?;
            }
            worker.set_way(block, Way { mode: AsyncMode::Suspend, full: WhenFull::Inline });
        }
        Ok(Awaited { bursts: Bursts::new(config), executor, step_budget: config.load.step_budget })
    }

    /// A packet arrives, with so much room in front of it. Gives what leaves.
    pub fn receive(
        &mut self,
        switch: &mut Switch<Native>,
        port: u32,
        (bytes, headroom_bytes): (&[u8], usize),
        listener: &mut (dyn Listener + '_),
    ) -> Vec<Output> {
        let mut storage = vec![0; headroom_bytes];
        storage.extend_from_slice(bytes);
        let now_ns = switch.now_ns();
        let mut outputs = Vec::new();
        let mut packets = [BurstPacket::new(&mut storage, headroom_bytes, bytes.len(), port)];
        self.bursts.process(switch, now_ns, &mut packets, Path::Straight, listener, &mut outputs);
        let [packet] = packets;
        let mut end = (packet.fate(), packet.start(), packet.bytes().len());
        while end.0 == Fate::Suspended {
            let n_served = self.serve(switch, now_ns);
            let mut resumed = Vec::new();
            self.bursts.resume(switch, now_ns, listener, &mut resumed, &mut outputs);
            match resumed.first() {
                Some(one) => end = (one.fate, one.start, one.len),
                // At another block.
                None if n_served > 0 => {}
                None => {
                    std::mem::forget(storage);
                    return outputs;
                }
            }
        }
        if let (Fate::Sent(destination), start, len) = end {
            let bytes = storage.get(start..start + len).unwrap_or_default().to_vec();
            outputs.insert(0, Output { destination, bytes, at_ns: now_ns });
        }
        outputs
    }

    /// Random numbers are those that the worker would have.
    fn serve(&mut self, switch: &mut Switch<Native>, now_ns: u64) -> usize {
        let worker = switch.executor.worker_mut();
        self.executor.worker_mut().raw_mut().random = worker.raw().random;
        let n_served = self.executor.serve(self.step_budget, now_ns);
        worker.raw_mut().random = self.executor.worker_mut().raw().random;
        n_served
    }
}
