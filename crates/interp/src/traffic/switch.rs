//! The switch: a program, its state, its ports, its clock.

use super::copy::PacketCopy;
use super::queue::Refused;
use super::verdict::Verdicts;
use super::{Config, Pre, Queues, Totals, reason};
use crate::exec::{BlockEnd, Machine};
use crate::externs::{DigestMessage, Externs, selector_hash};
use crate::load::{Executable, LoadError};
use crate::story::{Event, Observer, PassKind, TrafficEvent};
use crate::table::Tables;
use arch::{BlockRole, PipelineModel};
use diagnostics::Span;
use std::collections::VecDeque;
use std::sync::Arc;

/// Where a packet leaves to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Destination {
    Port(u32),
    Controller,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    pub destination: Destination,
    pub bytes: Vec<u8>,
    /// When it left, on the clock of the switch.
    pub at_ns: u64,
}

impl Output {
    /// The port; `None` to the controller.
    pub fn port(&self) -> Option<u32> {
        match self.destination {
            Destination::Port(port) => Some(port),
            Destination::Controller => None,
        }
    }
}

/// A program that runs.
pub struct Switch {
    pub(crate) exe: Arc<Executable>,
    pub tables: Tables,
    pub externs: Externs,
    pub pre: Pre,
    pub(super) model: &'static PipelineModel,
    pub(super) verdicts: Verdicts,
    pub(super) config: Config,
    pub(super) now_ns: u64,
    /// Packets before the parser.
    pub(super) inputs: VecDeque<PacketCopy>,
    pub(super) queues: Queues<PacketCopy>,
    pub(super) outputs: Vec<Output>,
    digests: VecDeque<DigestMessage>,
    /// Digests that found no room.
    pub n_digests_dropped: u64,
    /// Copies that may still be made of the packet under way.
    pub(super) copies_left: u32,
    pub(super) totals: Totals,
}

impl Switch {
    /// With the entries that the program declares.
    pub fn new(program: impl Into<Arc<ir::Program>>, config: Config) -> Result<Switch, LoadError> {
        let exe = Executable::new(program, config.load)?;
        let Some(model) = exe.program.architecture.pipeline() else {
            return Err(LoadError::Malformed("an architecture that cannot be run"));
        };
        let mut tables = Tables::new(&exe, config.load)?;
        tables.selector_hash = selector_hash;
        Ok(Switch {
            tables,
            externs: Externs::new(&exe, config.seed),
            pre: Pre::default(),
            model,
            verdicts: Verdicts::new(&exe),
            queues: Queues::new(config.queue),
            config,
            now_ns: 0,
            inputs: VecDeque::new(),
            outputs: Vec::new(),
            digests: VecDeque::new(),
            n_digests_dropped: 0,
            copies_left: 0,
            totals: Totals::default(),
            exe: Arc::new(exe),
        })
    }

    pub fn executable(&self) -> &Executable {
        &self.exe
    }

    /// Nanoseconds since the switch began.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Packets that wait for egress.
    pub fn n_queued(&self) -> u64 {
        self.queues.n_waiting()
    }

    /// Packets per second that a port takes from now on; `None` takes them at once.
    pub fn set_port_rate(&mut self, port: u32, rate_pps: Option<u64>) {
        self.queues.set_rate(port, rate_pps);
    }

    /// Digests in the order in which programs sent them.
    pub fn take_digests(&mut self) -> Vec<DigestMessage> {
        self.digests.drain(..).collect()
    }

    /// A packet arrives. Gives what leaves now, in order; the rest waits for [`advance_clock`](Self::advance_clock).
    pub fn inject(&mut self, port: u32, bytes: &[u8], observer: &mut dyn Observer) -> Vec<Output> {
        self.totals.n_received += 1;
        let from_controller = self.config.cpu_port == Some(port);
        if !from_controller && !self.config.ports.contains(port) {
            self.drop_packet(reason::NO_SUCH_INGRESS_PORT, observer);
            return Vec::new();
        }
        let exe = Arc::clone(&self.exe);
        let mut copy = PacketCopy::new(&exe, bytes, port, self.now_ns);
        if from_controller {
            copy.kind = PassKind::FromController;
        }
        self.inputs.push_back(copy);
        self.copies_left = self.config.copies_max;
        self.work(observer);
        self.take_outputs()
    }

    /// Time passes. Gives what leaves meanwhile.
    pub fn advance_clock(&mut self, ns: u64, observer: &mut dyn Observer) -> Vec<Output> {
        let until_ns = self.now_ns.saturating_add(ns);
        self.copies_left = self.config.copies_max;
        while let Some(next_ns) = self.queues.next_ns().filter(|next| *next <= until_ns) {
            self.now_ns = self.now_ns.max(next_ns);
            self.work(observer);
        }
        self.now_ns = until_ns;
        self.take_outputs()
    }

    fn take_outputs(&mut self) -> Vec<Output> {
        debug_assert!(self.totals.is_balanced(self.n_queued()), "{:?}", self.totals);
        std::mem::take(&mut self.outputs)
    }

    /// Whatever can be done now.
    fn work(&mut self, observer: &mut dyn Observer) {
        let has_queues = self.model.blocks.iter().any(|block| block.role == BlockRole::Egress);
        loop {
            if let Some(copy) = self.inputs.pop_front() {
                if has_queues {
                    self.ingress(copy, observer);
                } else {
                    self.single_pass(copy, observer);
                }
            } else if let Some(leaving) = self.queues.pop(self.now_ns) {
                self.egress(leaving, observer);
            } else {
                return;
            }
        }
    }

    /// Runs the block of a role; a program without it does nothing there.
    pub(super) fn run(
        &mut self,
        role: BlockRole,
        copy: &mut PacketCopy,
        observer: &mut dyn Observer,
    ) -> BlockEnd {
        let exe = Arc::clone(&self.exe);
        let Some(block) = exe.program.block(role) else { return BlockEnd::Done };
        let mut machine =
            Machine { exe: &exe, tables: &mut self.tables, externs: &mut self.externs, now_ns: self.now_ns };
        machine.run_block(block, &mut copy.packet, observer)
    }

    pub(super) fn tell(&self, observer: &mut dyn Observer, event: TrafficEvent<'_>) {
        if observer.listens() {
            observer.event(&self.exe, Span::NONE, Event::Traffic(event));
        }
    }

    pub(super) fn tell_pass(&self, observer: &mut dyn Observer, copy: &PacketCopy, port: u32) {
        if observer.listens() {
            let event = Event::Pass { kind: copy.kind, port, bytes: &copy.packet.bytes };
            observer.event(&self.exe, Span::NONE, event);
        }
    }

    /// What leaves: what the deparser wrote and the payload, cut if the program or a clone session says so.
    pub(super) fn departing(&self, copy: &PacketCopy, observer: &mut dyn Observer) -> Vec<u8> {
        let mut bytes = copy.packet.departing();
        if let Some(n_bytes) = copy.truncate_bytes.filter(|n| (*n as usize) < bytes.len()) {
            bytes.truncate(n_bytes as usize);
            self.tell(observer, TrafficEvent::Truncated { n_bytes });
        }
        bytes
    }

    /// The one end of a copy that goes nowhere.
    pub(super) fn drop_packet(&mut self, reason: &str, observer: &mut dyn Observer) {
        self.totals.drop_for(reason);
        self.tell(observer, TrafficEvent::Dropped { reason });
    }

    pub(super) fn refuse(&mut self, refused: Refused, observer: &mut dyn Observer) {
        let reason = match refused {
            Refused::NoSuchQueue => reason::NO_SUCH_QUEUE,
            Refused::Full => reason::QUEUE_FULL,
        };
        self.drop_packet(reason, observer);
    }

    /// The one end of a copy that leaves, if the port exists.
    pub(super) fn send(&mut self, port: u32, bytes: Vec<u8>, observer: &mut dyn Observer) {
        let at_ns = self.now_ns;
        if self.config.cpu_port == Some(port) {
            self.totals.n_to_controller += 1;
            self.tell(observer, TrafficEvent::ToController { bytes: &bytes });
            self.outputs.push(Output { destination: Destination::Controller, bytes, at_ns });
        } else if self.config.ports.contains(port) {
            self.totals.n_sent += 1;
            self.tell(observer, TrafficEvent::Sent { port, bytes: &bytes });
            self.outputs.push(Output { destination: Destination::Port(port), bytes, at_ns });
        } else {
            self.drop_packet(reason::NO_SUCH_PORT, observer);
        }
    }

    /// Whether one more copy may be made; counts it in any case, since it then has an end.
    pub(super) fn may_copy(&mut self, observer: &mut dyn Observer) -> bool {
        self.totals.n_copied += 1;
        if self.copies_left == 0 {
            self.drop_packet(reason::TOO_MANY_COPIES, observer);
            return false;
        }
        self.copies_left -= 1;
        true
    }

    pub(super) fn store_digests(&mut self, digests: Vec<DigestMessage>, observer: &mut dyn Observer) {
        for digest in digests {
            self.tell(observer, TrafficEvent::Digest { name: &digest.name, values: &digest.values });
            if self.digests.len() < self.config.digests_max {
                self.digests.push_back(digest);
            } else {
                self.n_digests_dropped += 1;
            }
        }
    }
}
