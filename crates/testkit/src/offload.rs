//! A native device whose asynchronous blocks run at an offload worker, all in one thread, so that nothing depends on when
//! other threads run.

use crate::BlockByBlock;
use control::{Data, DigestId};
use native::{AsyncError, InlineOffload, Native, OffloadWorker};
use stf::{Arriving, Dut};
use target::store::TableUse;
use target::traffic::{Output, Totals};
use target::{Config, Device};
use trace::Observer;

/// A native device and its offload worker. It makes no events.
pub struct Offload {
    slow: BlockByBlock<Native>,
    inline: InlineOffload,
    headroom_bytes: usize,
}

impl Offload {
    /// `config` is that of the device. At most `capacity` packets of each asynchronous block are at the offload worker
    /// together; their saved state needs `headroom_bytes` in front of a packet.
    pub fn new(
        mut device: Device<Native>,
        worker: OffloadWorker,
        config: &Config,
        capacity: u32,
        headroom_bytes: usize,
    ) -> Result<Offload, AsyncError> {
        let inline = InlineOffload::new(&mut device.switch, worker, config, capacity)?;
        Ok(Offload { slow: BlockByBlock::new(device), inline, headroom_bytes })
    }
}

impl Dut for Offload {
    fn target(&mut self) -> &mut dyn control::Target {
        self.slow.target()
    }

    fn receive(&mut self, burst: &[Arriving<'_>], _observer: &mut dyn Observer) -> Vec<Vec<Output>> {
        let arriving: Vec<(u32, &[u8])> = burst.iter().map(|p| (p.port, p.bytes)).collect();
        self.inline.receive(&mut self.slow.device.switch, (&arriving, self.headroom_bytes), &mut ())
    }

    fn advance_clock(&mut self, duration_ns: u64, observer: &mut dyn Observer) -> Vec<Output> {
        self.slow.advance_clock(duration_ns, observer)
    }

    fn set_host_port(&mut self, port: u32, is_host: bool) {
        self.slow.set_host_port(port, is_host);
    }

    fn table_use(&self, table: &str) -> Option<TableUse> {
        self.slow.table_use(table)
    }

    fn set_profile(&mut self, table: &str, profile: u8, timeout_ns: u64) -> bool {
        self.slow.set_profile(table, profile, timeout_ns)
    }

    fn notify_of_idle_entries(&mut self) {
        self.slow.notify_of_idle_entries();
    }

    fn take_digests(&mut self) -> Vec<(DigestId, Data)> {
        self.slow.take_digests()
    }

    fn now_ns(&self) -> u64 {
        self.slow.now_ns()
    }

    fn n_queued(&self) -> u64 {
        self.slow.n_queued()
    }

    fn totals(&self) -> Totals {
        self.slow.totals()
    }
}
