//! A device whose blocks are run one at a time, by any backend.

use control::{Data, DigestId};
use interp::Interpreter;
use native::{Native, Observing};
use stf::{Arriving, Dut};
use target::store::TableUse;
use target::traffic::{Output, Totals};
use target::{BlockRunner, Device, DigestMessage, Store};
use trace::Observer;

/// A backend that makes events of its steps, or none.
pub trait Observed: BlockRunner {
    /// Calls `f` with the backend's own kind of observer, which hands events on to `observer`.
    fn observed<R>(observer: &mut dyn Observer, f: impl FnOnce(&mut Self::Observer<'_>) -> R) -> R;
}

impl Observed for Interpreter {
    fn observed<R>(observer: &mut dyn Observer, f: impl FnOnce(&mut Self::Observer<'_>) -> R) -> R {
        f(observer)
    }
}

/// Only traced code makes events, see [`Native::follow`].
impl Observed for Native {
    fn observed<R>(observer: &mut dyn Observer, f: impl FnOnce(&mut Self::Observer<'_>) -> R) -> R {
        f(&mut Observing(observer))
    }
}

/// A device as a switch under test. Packets of a burst are processed one after the other.
pub struct BlockByBlock<B: BlockRunner> {
    pub device: Device<B>,
}

impl<B: Observed + Store> BlockByBlock<B> {
    pub fn new(device: Device<B>) -> BlockByBlock<B> {
        BlockByBlock { device }
    }
}

impl<B: Observed + Store> Dut for BlockByBlock<B> {
    fn target(&mut self) -> &mut dyn control::Target {
        &mut self.device
    }

    fn receive(&mut self, burst: &[Arriving<'_>], observer: &mut dyn Observer) -> Vec<Vec<Output>> {
        let switch = &mut self.device.switch;
        let mut inject = |packet: &Arriving<'_>| {
            B::observed(observer, |observer| switch.inject(packet.port, packet.bytes, observer))
        };
        burst.iter().map(&mut inject).collect()
    }

    fn advance_clock(&mut self, duration_ns: u64, observer: &mut dyn Observer) -> Vec<Output> {
        B::observed(observer, |observer| self.device.switch.advance_clock(duration_ns, observer))
    }

    fn set_host_port(&mut self, port: u32, is_host: bool) {
        self.device.switch.set_host_port(port, is_host);
    }

    fn table_use(&self, table: &str) -> Option<TableUse> {
        let runner = &self.device.switch.runner;
        let uses = runner.program().tables.iter().zip(runner.table_uses());
        uses.into_iter().find(|((_, declared), _)| declared.name == table).map(|(_, found)| found)
    }

    fn set_profile(&mut self, table: &str, profile: u8, timeout_ns: u64) -> bool {
        let now_ns = self.device.switch.now_ns();
        let runner = &mut self.device.switch.runner;
        let found = runner.program().tables.iter().find(|(_, declared)| declared.name == table);
        let id = found.map(|(id, _)| id);
        // A longer timeout brings no entry back.
        runner.remove_ended(now_ns);
        id.is_some_and(|id| runner.set_profile(id, profile, timeout_ns))
    }

    fn notify_of_idle_entries(&mut self) {
        let now_ns = self.device.switch.now_ns();
        self.device.switch.runner.take_expired(now_ns);
    }

    fn take_digests(&mut self) -> Vec<(DigestId, Data)> {
        let messages = self.device.switch.take_digests();
        let known = |m: DigestMessage| {
            let digest = self.device.entities.schema.digests.iter().find(|d| d.names.name == m.name)?;
            Some((digest.id, Data::Struct(m.values.into_iter().map(Data::Bits).collect())))
        };
        messages.into_iter().filter_map(known).collect()
    }

    fn now_ns(&self) -> u64 {
        self.device.switch.now_ns()
    }

    fn n_queued(&self) -> u64 {
        self.device.switch.n_queued()
    }

    fn totals(&self) -> Totals {
        self.device.switch.totals().clone()
    }

    fn table_uses(&self) -> Vec<TableUse> {
        self.device.switch.runner.table_uses()
    }
}
