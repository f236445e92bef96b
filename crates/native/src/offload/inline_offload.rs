//! Asynchronous blocks at an offload worker on the same thread, so that nothing depends on when other threads run.
//!
//! If each packet ends before the next one arrives, a program runs in the order in which it would without asynchronous blocks.
//! In a burst, packets that are not suspended overtake those that are; each packet ends alike if the program keeps no state
//! between packets.

use crate::exec::burst::{BurstPacket, Bursts, Fate, Path, Resumed};
use crate::exec::native::{Listener, Native};
use crate::offload::channel::{AsyncError, AsyncMode, OffloadPolicy, OffloadWorker, WhenFull};
use rustc_hash::FxHashMap;
use target::traffic::Output;
use target::{Config, Switch};

/// An offload worker, and the bursts whose packets it serves.
#[derive(Debug)]
pub struct InlineOffload {
    bursts: Bursts,
    offload_worker: OffloadWorker,
    step_budget: u32,
}

impl InlineOffload {
    /// Sends the packets of all asynchronous blocks to the offload worker from now on, `capacity` packets of each at a time.
    pub fn new(
        switch: &mut Switch<Native>,
        mut offload_worker: OffloadWorker,
        config: &Config,
        capacity: u32,
    ) -> Result<InlineOffload, AsyncError> {
        let worker = switch.runner.worker_mut();
        for block in 0..worker.instance().pipeline().layout().asyncs.len() {
            offload_worker.connect(worker, block, capacity)?;
            worker.set_offload_policy(
                block,
                OffloadPolicy { mode: AsyncMode::Suspend, full: WhenFull::Inline },
            );
        }
        Ok(InlineOffload { bursts: Bursts::default(), offload_worker, step_budget: config.load.step_budget })
    }

    /// Runs a burst of packets, each with `headroom_bytes` in front of it. Returns the outputs of each. Suspended packets are at
    /// the offload worker together, up to the capacity, and end in the order in which they come back.
    pub fn receive(
        &mut self,
        switch: &mut Switch<Native>,
        (arriving, headroom_bytes): (&[(u32, &[u8])], usize),
        listener: &mut (dyn Listener + '_),
    ) -> Vec<Vec<Output>> {
        let room = vec![0; headroom_bytes];
        let mut storages: Vec<Vec<u8>> =
            arriving.iter().map(|(_, bytes)| [&room[..], bytes].concat()).collect();
        let now_ns = switch.now_ns();
        let mut outputs = Vec::new();
        let mut packets: Vec<BurstPacket<'_>> = (storages.iter_mut().zip(arriving))
            .map(|(storage, (port, bytes))| BurstPacket::new(storage, headroom_bytes, bytes.len(), *port))
            .collect();
        self.bursts.process(switch, now_ns, &mut packets, Path::Straight, listener, &mut outputs);
        let mut left = vec![Vec::new(); arriving.len()];
        let mut suspended = FxHashMap::default();
        let mut outputs_left = std::mem::take(&mut outputs).into_iter();
        for (i, (packet, left)) in packets.iter().zip(&mut left).enumerate() {
            match packet.fate() {
                Fate::Suspended => {
                    suspended.insert(packet.token(), i);
                }
                Fate::Sent(destination) => {
                    left.push(Output { destination, bytes: packet.bytes().to_vec(), at_ns: now_ns });
                }
                Fate::Dropped | Fate::Elsewhere => {}
            }
            left.extend(outputs_left.by_ref().take(packet.n_outputs()));
        }
        // Outputs that belong to no packet must not get lost.
        left.last_mut().into_iter().for_each(|last| last.extend(&mut outputs_left));
        let mut resumed = Vec::new();
        while !suspended.is_empty() {
            let n_served = self.serve(switch, now_ns);
            self.bursts.resume(switch, now_ns, listener, &mut resumed, &mut outputs);
            if resumed.is_empty() && n_served == 0 {
                // They do not come back.
                break;
            }
            let mut outputs_left = std::mem::take(&mut outputs).into_iter();
            for Resumed { buffer, token, start, len, fate, n_outputs } in resumed.drain(..) {
                let Some(left) = suspended.remove(&token).and_then(|i| left.get_mut(i)) else { continue };
                if let Fate::Sent(destination) = fate {
                    let bytes = buffer.get(start..start + len).unwrap_or_default().to_vec();
                    left.push(Output { destination, bytes, at_ns: now_ns });
                }
                left.extend(outputs_left.by_ref().take(n_outputs));
            }
            left.last_mut().into_iter().for_each(|last| last.extend(&mut outputs_left));
        }
        left
    }

    /// Random numbers are those that the worker would have.
    fn serve(&mut self, switch: &mut Switch<Native>, now_ns: u64) -> usize {
        let worker = switch.runner.worker_mut();
        self.offload_worker.worker_mut().raw_mut().random = worker.raw().random;
        let n_served = self.offload_worker.serve(self.step_budget, now_ns);
        worker.raw_mut().random = self.offload_worker.worker_mut().raw().random;
        n_served
    }
}
