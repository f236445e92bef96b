//! The stories of packets, one for each that arrives.

use crate::{Arriving, Dut};
use control::{Data, DigestId, Target};
use diagnostics::SourceMap;
use target::store::TableUse;
use target::traffic::{Output, Totals};
use trace::{Observer, Silent, Story, StoryBuilder};

/// A switch under test whose packets each begin a story. A story ends when the next packet arrives, so that it tells
/// about a packet that leaves later, too.
pub struct Stories<'d, 's> {
    dut: &'d mut dyn Dut,
    sources: &'s SourceMap,
    n_max: usize,
    finished: Vec<Story>,
    current: Option<StoryBuilder<'s>>,
}

impl<'d, 's> Stories<'d, 's> {
    /// Tells the stories of the first `n_max` packets. `sources` are those of the program.
    pub fn new(dut: &'d mut dyn Dut, sources: &'s SourceMap, n_max: usize) -> Stories<'d, 's> {
        Stories { dut, sources, n_max, finished: Vec::new(), current: None }
    }

    /// The stories, in the order of the packets.
    pub fn finish(mut self) -> Vec<Story> {
        self.finished.extend(self.current.take().map(StoryBuilder::finish));
        self.finished
    }

    fn next(&mut self) {
        self.finished.extend(self.current.take().map(StoryBuilder::finish));
        if self.finished.len() < self.n_max {
            self.current = Some(StoryBuilder::new(Some(self.sources)));
        }
    }
}

/// The observer of a story, if one is told.
fn observer<'b>(current: &'b mut Option<StoryBuilder<'_>>, silent: &'b mut Silent) -> &'b mut dyn Observer {
    match current {
        Some(builder) => builder,
        None => silent,
    }
}

/// Takes its own observer instead of the one it is given.
impl Dut for Stories<'_, '_> {
    fn target(&mut self) -> &mut dyn Target {
        self.dut.target()
    }

    fn receive(&mut self, burst: &[Arriving<'_>], _observer: &mut dyn Observer) -> Vec<Vec<Output>> {
        let mut outputs = Vec::with_capacity(burst.len());
        for packet in burst {
            self.next();
            outputs.extend(self.dut.receive(&[*packet], observer(&mut self.current, &mut Silent)));
        }
        outputs
    }

    fn advance_clock(&mut self, duration_ns: u64, _observer: &mut dyn Observer) -> Vec<Output> {
        self.dut.advance_clock(duration_ns, observer(&mut self.current, &mut Silent))
    }

    fn set_host_port(&mut self, port: u32, is_host: bool) {
        self.dut.set_host_port(port, is_host);
    }

    fn table_use(&self, table: &str) -> Option<TableUse> {
        self.dut.table_use(table)
    }

    fn set_profile(&mut self, table: &str, profile: u8, timeout_ns: u64) -> bool {
        self.dut.set_profile(table, profile, timeout_ns)
    }

    fn notify_of_idle_entries(&mut self) {
        self.dut.notify_of_idle_entries();
    }

    fn take_digests(&mut self) -> Vec<(DigestId, Data)> {
        self.dut.take_digests()
    }

    fn now_ns(&self) -> u64 {
        self.dut.now_ns()
    }

    fn n_queued(&self) -> u64 {
        self.dut.n_queued()
    }

    fn totals(&self) -> Totals {
        self.dut.totals()
    }
}
