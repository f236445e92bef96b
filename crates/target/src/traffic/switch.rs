//! The switch: a program, its state, its ports, its clock.

use super::copy::{PacketCopy, Position};
use super::port_table::{EXISTS, OF_CONTROLLER, PortTable};
use super::queue::{Pacer, Refused};
use super::sides::Sides;
use super::waiting::Waiting;
use super::{CloneSession, Config, PreReader, Queues, Replica, SharedPre, Totals, reason};
use crate::block_runner::PortState;
use crate::{BlockEnd, BlockRunner, DigestMessage, PassKind, Requests, TrafficEvent};
use arch::flow::SectionId;
use arch::{BlockIndex, BlockRole, ExternOp, FieldRole, PipelineModel};
use ir::enum_members::{Directions, Paths, Verdicts};
use ir::visit::Access;
use ir::{Place, Program, Stmt, StmtKind};
use smol_str::SmolStr;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// The destination of a packet.
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

/// The ports of a packet that has been through egress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EgressPorts {
    pub ingress_port: u32,
    pub egress_port: u32,
}

/// The step at which the backend has left a packet that is no copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PuntedAt {
    pub section: SectionId,
    /// The next step: its condition is yet to be judged.
    pub step: usize,
    /// The parser has rejected the packet, and the program has no field for the error.
    pub is_rejected: bool,
    /// The egress port counts only in sections behind a queue.
    pub ports: EgressPorts,
}

/// The program's architecture has no pipeline that is known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("programs of this architecture cannot be run")]
pub struct Unrunnable;

/// The extern functions of a program that ask for the side of a port; true for those that mean the host's.
fn port_functions(program: &Program) -> impl Iterator<Item = (SmolStr, bool)> + '_ {
    let stmts = program.graphs().flat_map(|graph| graph.nodes.iter()).flat_map(|(_, node)| &node.stmts);
    stmts.filter_map(|stmt| match &stmt.kind {
        StmtKind::Extern { op: ExternOp::IsNetPort, name, .. } => Some((name.clone(), false)),
        StmtKind::Extern { op: ExternOp::IsHostPort, name, .. } => Some((name.clone(), true)),
        _ => None,
    })
}

/// The statement takes all of the standard metadata, and writes where the packet goes.
fn marks(stmt: &Stmt) -> bool {
    matches!(stmt.kind, StmtKind::Extern { op: ExternOp::MarkToDrop | ExternOp::MarkToPass, .. })
}

/// The program reads the depth of a queue, or the time in one.
fn reads_queues(program: &Program) -> bool {
    let roles = [FieldRole::EnqueueDepth, FieldRole::DequeueDepth, FieldRole::DequeueTimeDelta];
    let fields: Vec<&Place> = roles.iter().flat_map(|role| program.fields_of(*role)).collect();
    let mut found = false;
    let mut note = |access: Access, place: &Place| {
        found |= access != Access::Write && fields.iter().any(|field| field.overlaps(place));
    };
    for (_, node) in program.graphs().flat_map(|graph| graph.nodes.iter()) {
        let stmts = node.stmts.iter().filter(|stmt| !marks(stmt));
        stmts.for_each(|stmt| stmt.for_each_access(&mut note));
        node.terminator.kind.for_each_access(&mut note);
    }
    found
}

/// A program that runs.
pub struct Switch<E: BlockRunner> {
    pub runner: E,
    /// Shared with other switches of the program.
    pub(crate) pre: PreReader,
    pub(super) model: &'static PipelineModel,
    pub(super) verdicts: Verdicts,
    pub(super) paths: Paths,
    pub(super) directions: Directions,
    pub(super) sides: Sides,
    port_table: PortTable,
    reads_queues: bool,
    /// Packets come there from their port without a queue.
    direct_sections: BTreeSet<SectionId>,
    pub(super) config: Config,
    pub(super) now_ns: u64,
    /// Replicas and group members for these ports are left out.
    pub(super) ports_down: BTreeSet<u32>,
    /// Packets before the parser.
    pub(super) inputs: VecDeque<PacketCopy<E::Packet>>,
    pub(super) queues: Queues<PacketCopy<E::Packet>>,
    pub(super) outputs: Vec<Output>,
    /// At asynchronous blocks, in the order in which they came there.
    pub(super) waiting: Vec<Waiting<E::Packet>>,
    digests: VecDeque<DigestMessage>,
    /// Digests that found no room.
    pub n_digests_dropped: u64,
    /// Copies that may still be made of the packet under way.
    pub(super) copies_left: u32,
    /// Passes through blocks before the switch pauses; see [`Switch::allow_passes`].
    passes_left: u64,
    /// Copies that could go on now wait for more passes.
    is_paused: bool,
    pub(super) totals: Totals,
}

impl<E: BlockRunner> Switch<E> {
    pub fn new(mut runner: E, config: Config) -> Result<Switch<E>, Unrunnable> {
        let program = runner.program();
        let model = program.architecture.pipeline().ok_or(Unrunnable)?;
        let pre = PreReader::default();
        if let Some(session) = model.session {
            let replicas = vec![Replica::new(session.port, 0)];
            let session_to_port = CloneSession { replicas, ..CloneSession::default() };
            // A new engine has no session.
            let _ = pre.shared().update(|pre| pre.insert_session(session.id, session_to_port));
        }
        let sides = Sides::new(&config.host_ports);
        let reads_queues = reads_queues(program);
        let functions: Vec<(SmolStr, bool)> = port_functions(program).collect();
        let (verdicts, paths) = (Verdicts::new(program), Paths::new(program, model));
        let directions = Directions::new(program, model);
        for (name, wants_host) in functions {
            runner.supply(&name, sides.function(wants_host));
        }
        let config = Config { cpu_port: config.cpu_port.or(model.special_port("cpu")), ..config };
        let behind_queue = model.sections_behind_queue();
        let without_queue = model.sections_without_queue().into_iter();
        let direct_sections = without_queue.filter(|id| !behind_queue.contains(id)).collect();
        let port_table = PortTable::new(&config, config.cpu_port);
        Ok(Switch {
            pre,
            model,
            verdicts,
            paths,
            directions,
            sides,
            port_table,
            reads_queues,
            direct_sections,
            queues: Queues::new(config.queue),
            config,
            now_ns: 0,
            ports_down: BTreeSet::new(),
            inputs: VecDeque::new(),
            outputs: Vec::new(),
            waiting: Vec::new(),
            digests: VecDeque::new(),
            n_digests_dropped: 0,
            copies_left: 0,
            passes_left: u64::MAX,
            is_paused: false,
            totals: Totals::default(),
            runner,
        })
    }

    pub fn program(&self) -> &Arc<Program> {
        self.runner.program()
    }

    /// Nanoseconds since the switch began.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Adds counts of packets that were received, sent and dropped outside this switch.
    pub fn add_totals(&mut self, others: &Totals) {
        self.totals.add(others);
    }

    /// Counts `n` dropped packets that were not reported one by one.
    pub fn add_dropped(&mut self, reason: &str, n: u64) {
        self.totals.drop_many(reason, n);
    }

    /// Sets the state of a port; ports are up initially.
    pub fn set_port(&mut self, port: u32, state: PortState) {
        match state {
            PortState::Up => self.ports_down.remove(&port),
            PortState::Down => self.ports_down.insert(port),
        };
        self.runner.set_port(port, state);
    }

    /// Puts a port at the host's side of a network card, or at the side of the network, where all are initially.
    pub fn set_host_port(&mut self, port: u32, is_host_port: bool) {
        self.sides.set(port, is_host_port);
        self.port_table.set_side(port, is_host_port);
    }

    /// The block runner, and the flags of the ports with small numbers ([`port_table`](super::port_table)), by number.
    pub fn runner_and_port_flags(&mut self) -> (&mut E, &[u8]) {
        (&mut self.runner, self.port_table.flags())
    }

    /// The destination of packets to a port; `None` when there is no such port.
    pub fn destination(&self, port: u32) -> Option<Destination> {
        if let Some(flags) = self.port_table.flags().get(port as usize) {
            return match (flags & OF_CONTROLLER, flags & EXISTS) {
                (OF_CONTROLLER, _) => Some(Destination::Controller),
                (_, EXISTS) => Some(Destination::Port(port)),
                _ => None,
            };
        }
        if self.config.cpu_port == Some(port) {
            return Some(Destination::Controller);
        }
        self.config.ports.contains(port).then_some(Destination::Port(port))
    }

    /// Packets that wait for egress, at asynchronous blocks, or because the switch is paused.
    pub fn n_queued(&self) -> u64 {
        self.queues.n_waiting() + self.waiting.len() as u64 + self.inputs.len() as u64
    }

    /// Allows `n` passes of copies through ingress or egress from now on; after that the switch pauses, and what could go
    /// on waits. A packet that makes many copies so cannot hold its caller for long. Without this call there is no limit.
    ///
    /// While the switch [is paused](Switch::is_paused), the caller must bring no packets; [`advance_clock`
    /// ](Switch::advance_clock) goes on after more passes were allowed.
    pub fn allow_passes(&mut self, n: u64) {
        self.passes_left = n;
    }

    /// True while copies of the last packet wait for more passes.
    pub fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Multicast groups and clone sessions. Packets use each update from the next packet on.
    pub fn pre(&self) -> &Arc<SharedPre> {
        self.pre.shared()
    }

    /// Uses the groups and sessions of other switches, instead of its own.
    pub fn share_pre(&mut self, pre: Arc<SharedPre>) {
        self.pre = PreReader::new(pre);
    }

    /// A packet begins: it may have copies of its own, made by the newest groups and sessions.
    fn begin_packet(&mut self) {
        debug_assert!(!self.is_paused, "a packet while copies of another one wait");
        self.pre.refresh();
        self.copies_left = self.config.copies_max;
    }

    /// Packets that each queue of each port holds from now on.
    pub fn set_queue_depth(&mut self, n_packets_max: usize) {
        self.queues.set_depth(n_packets_max);
    }

    /// Packets per second that a port takes from now on; `None` takes them at once.
    pub fn set_port_rate(&mut self, port: u32, rate_pps: Option<u64>) {
        self.queues.set_rate(port, rate_pps);
    }

    /// Packets per second that a port takes from now on from all switches with this pacer, whose clocks have one origin.
    pub fn share_port_rate(&mut self, port: u32, rate_pps: u64, pacer: Pacer) {
        self.queues.share_rate(port, rate_pps, pacer);
    }

    /// Returns whether packets may have to wait for a port: it takes them at a rate, or is congested.
    pub fn may_wait_for_ports(&self) -> bool {
        self.queues.may_wait()
    }

    /// Packets that a congested port takes from now on, while others wait; `None` when it takes all again.
    pub fn set_port_credit(&mut self, port: u32, credit: Option<u32>) {
        self.queues.set_credit(port, credit);
    }

    /// Packets that wait for a port.
    pub fn n_waiting_for(&self, port: u32) -> usize {
        self.queues.n_waiting_for(port)
    }

    /// Returns whether the program reads how many packets wait in queues, or how long one has waited.
    pub fn reads_queues(&self) -> bool {
        self.reads_queues
    }

    /// Returns whether [`take_digests`](Self::take_digests) would give some.
    pub fn has_digests(&self) -> bool {
        !self.digests.is_empty()
    }

    /// Digests in the order in which programs sent them.
    pub fn take_digests(&mut self) -> Vec<DigestMessage> {
        self.digests.drain(..).collect()
    }

    /// A packet arrives. Gives what leaves now, in order; the rest waits for [`advance_clock`](Self::advance_clock).
    pub fn inject(&mut self, port: u32, bytes: &[u8], observer: &mut E::Observer<'_>) -> Vec<Output> {
        self.totals.n_received += 1;
        let kind = match self.destination(port) {
            Some(Destination::Controller) => PassKind::FromController,
            Some(Destination::Port(_)) => PassKind::Normal,
            None => {
                self.drop_packet(reason::NO_SUCH_INGRESS_PORT, observer);
                return Vec::new();
            }
        };
        let mut copy = PacketCopy::new(self.runner.arrive(bytes), kind, port, self.now_ns);
        self.set_arrival(&mut copy);
        self.inputs.push_back(copy);
        self.begin_packet();
        self.work(observer);
        self.take_outputs()
    }

    /// Continues a packet that the backend has run to the end of ingress; `requests` are those of its blocks. Returns the
    /// packets that leave now.
    pub fn continue_after_ingress(
        &mut self,
        packet: E::Packet,
        ingress_port: u32,
        requests: Requests,
        observer: &mut E::Observer<'_>,
    ) -> Vec<Output> {
        self.totals.n_received += 1;
        self.begin_packet();
        let copy = PacketCopy::new(packet, PassKind::Normal, ingress_port, self.now_ns);
        self.go_on_behind(BlockRole::Ingress, copy, requests, observer);
        self.work(observer);
        self.take_outputs()
    }

    /// Continues a packet that left ingress to one port and has been run to the end of egress; its
    /// checksums are not computed yet, and nothing is deparsed. `requests` are those of egress, with the
    /// truncation that ingress has asked for unless egress asks for another.
    pub fn continue_after_egress(
        &mut self,
        packet: E::Packet,
        ports: EgressPorts,
        requests: Requests,
        observer: &mut E::Observer<'_>,
    ) -> Vec<Output> {
        self.totals.n_received += 1;
        self.begin_packet();
        let mut copy = PacketCopy::new(packet, PassKind::Normal, ports.ingress_port, self.now_ns);
        copy.queue_port = ports.egress_port;
        self.go_on_behind(BlockRole::Egress, copy, requests, observer);
        self.work(observer);
        self.take_outputs()
    }

    /// Continues a packet that the backend has run up to a step, as [`PuntedAt`] says. `requests` are those of the blocks that
    /// have run. Returns the packets that leave now.
    pub fn continue_at(
        &mut self,
        packet: E::Packet,
        at: PuntedAt,
        requests: Requests,
        observer: &mut E::Observer<'_>,
    ) -> Vec<Output> {
        self.totals.n_received += 1;
        self.begin_packet();
        let from_controller =
            self.direct_sections.contains(&at.section) && self.config.cpu_port == Some(at.ports.ingress_port);
        let kind = if from_controller { PassKind::FromController } else { PassKind::Normal };
        let mut copy = PacketCopy::new(packet, kind, at.ports.ingress_port, self.now_ns);
        copy.queue_port = at.ports.egress_port;
        copy.queued_ns = self.now_ns;
        copy.position = Position { section: at.section, step: at.step };
        self.resume_copy(copy, requests, at.is_rejected, observer);
        self.work(observer);
        self.take_outputs()
    }

    /// Time passes. Gives what leaves meanwhile; entries whose time is over are removed.
    pub fn advance_clock(&mut self, ns: u64, observer: &mut E::Observer<'_>) -> Vec<Output> {
        let outputs = self.pass_time(ns, observer);
        self.runner.clock_advanced(self.now_ns);
        outputs
    }

    /// Time passes between two bursts. Gives what leaves meanwhile. Entries whose time is over are left to sweeps and to the
    /// control plane, as looking at all entries of a table takes longer than many bursts.
    pub fn pass_time(&mut self, ns: u64, observer: &mut E::Observer<'_>) -> Vec<Output> {
        let until_ns = self.now_ns.saturating_add(ns);
        self.pre.refresh();
        if self.is_paused {
            self.work(observer);
        }
        if !self.is_paused {
            self.copies_left = self.config.copies_max;
        }
        while !self.is_paused
            && let Some(next_ns) = self.queues.next_ns().filter(|next| *next <= until_ns)
        {
            self.now_ns = self.now_ns.max(next_ns);
            self.work(observer);
        }
        self.now_ns = until_ns;
        self.take_outputs()
    }

    pub(super) fn take_outputs(&mut self) -> Vec<Output> {
        debug_assert!(self.totals.is_balanced(self.n_queued()), "{:?}", self.totals);
        std::mem::take(&mut self.outputs)
    }

    /// Does all that can be done now, until no passes are left.
    pub(super) fn work(&mut self, observer: &mut E::Observer<'_>) {
        self.is_paused = false;
        loop {
            if self.passes_left == 0 {
                self.is_paused = !self.inputs.is_empty() || self.queues.is_ready(self.now_ns);
                return;
            }
            self.passes_left -= 1;
            if let Some(copy) = self.inputs.pop_front() {
                self.tell_pass(observer, &copy, copy.ingress_port);
                self.runner.begin_pass();
                self.run_steps(copy, observer);
            } else if let Some(leaving) = self.queues.pop(self.now_ns) {
                self.leave_queue(leaving, observer);
            } else {
                return;
            }
        }
    }

    /// Runs a block; a program without it does nothing there.
    pub(super) fn run_block(
        &mut self,
        block: BlockIndex,
        copy: &mut PacketCopy<E::Packet>,
        observer: &mut E::Observer<'_>,
    ) -> BlockEnd {
        self.runner.run(block, &mut copy.packet, self.now_ns, observer)
    }

    /// Returns whether packets can be sent to a port, or go on from there.
    pub(super) fn has_port(&self, port: u32) -> bool {
        self.destination(port).is_some()
            || self.model.special_ports.iter().any(|special| special.number == port)
    }

    pub(super) fn tell(&self, observer: &mut E::Observer<'_>, event: TrafficEvent<'_>) {
        self.runner.tell(observer, event);
    }

    pub(super) fn tell_pass(&self, observer: &mut E::Observer<'_>, copy: &PacketCopy<E::Packet>, port: u32) {
        let bytes = self.runner.bytes(&copy.packet);
        self.tell(observer, TrafficEvent::Pass { kind: copy.kind, port, bytes });
    }

    /// Returns the bytes to send: the deparser's output and the payload, truncated if the program or a clone session
    /// asks for it.
    pub(super) fn egress_bytes(
        &self,
        copy: &PacketCopy<E::Packet>,
        observer: &mut E::Observer<'_>,
    ) -> Vec<u8> {
        let mut bytes = self.runner.deparsed_bytes(&copy.packet);
        if let Some(n_bytes) = copy.truncate_bytes.filter(|n| (*n as usize) < bytes.len()) {
            bytes.truncate(n_bytes as usize);
            self.tell(observer, TrafficEvent::Truncated { n_bytes });
        }
        bytes
    }

    /// The one end of a copy that goes nowhere.
    pub(super) fn drop_packet(&mut self, reason: &str, observer: &mut E::Observer<'_>) {
        self.totals.drop_for(reason);
        self.tell(observer, TrafficEvent::Dropped { reason });
    }

    pub(super) fn refuse(&mut self, refused: Refused, observer: &mut E::Observer<'_>) {
        let reason = match refused {
            Refused::NoSuchQueue => reason::NO_SUCH_QUEUE,
            Refused::Full => reason::QUEUE_FULL,
        };
        self.drop_packet(reason, observer);
    }

    /// The one end of a copy that leaves, if the port exists.
    pub(super) fn send(&mut self, port: u32, bytes: Vec<u8>, observer: &mut E::Observer<'_>) {
        let Some(destination) = self.destination(port) else {
            return self.drop_packet(reason::NO_SUCH_PORT, observer);
        };
        match destination {
            Destination::Controller => {
                self.totals.n_to_controller += 1;
                self.tell(observer, TrafficEvent::ToController { bytes: &bytes });
            }
            Destination::Port(port) => {
                self.totals.n_sent += 1;
                self.tell(observer, TrafficEvent::Sent { port, bytes: &bytes });
            }
        }
        self.outputs.push(Output { destination, bytes, at_ns: self.now_ns });
    }

    /// Whether one more copy may be made; counts it in any case, since it then has an end.
    pub(super) fn may_copy(&mut self, observer: &mut E::Observer<'_>) -> bool {
        self.totals.n_copied += 1;
        if self.copies_left == 0 {
            self.drop_packet(reason::TOO_MANY_COPIES, observer);
            return false;
        }
        self.copies_left -= 1;
        true
    }

    pub(super) fn store_digests(&mut self, digests: Vec<DigestMessage>, observer: &mut E::Observer<'_>) {
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
