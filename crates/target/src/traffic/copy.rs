//! One copy of a packet, with what the architecture knows about it.

use super::Switch;
use crate::{BlockRunner, PassKind, Requests};
use arch::flow::{Section, SectionId, Verdict};
use arch::{FieldRole, IntrinsicValue, IntrinsicWrites};

/// The next step of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) section: SectionId,
    pub(super) step: usize,
}

/// The queue of a copy, and the section that takes it from there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) section: SectionId,
    pub(super) port: u32,
    pub(super) instance: u32,
    pub(super) priority: u32,
}

#[derive(Clone, Debug)]
pub(super) struct PacketCopy<P> {
    pub(super) packet: P,
    pub(super) kind: PassKind,
    pub(super) ingress_port: u32,
    /// When the packet that it comes from arrived.
    pub(super) arrived_ns: u64,
    /// When it came into its queue.
    pub(super) queued_ns: u64,
    pub(super) n_rounds: u32,
    /// Length when it leaves, at most.
    pub(super) truncate_bytes: Option<u32>,
    pub(super) position: Position,
    /// The port of the queue that it came from.
    pub(super) queue_port: u32,
    /// Its number among the copies of a group or session.
    pub(super) instance: u32,
    /// The priority of its queue.
    pub(super) priority: u32,
}

impl<P> PacketCopy<P> {
    pub(super) fn new(packet: P, kind: PassKind, ingress_port: u32, now_ns: u64) -> PacketCopy<P> {
        PacketCopy {
            packet,
            kind,
            ingress_port,
            arrived_ns: now_ns,
            queued_ns: 0,
            n_rounds: 0,
            truncate_bytes: None,
            position: Position::default(),
            queue_port: 0,
            instance: 0,
            priority: 0,
        }
    }

    /// Cuts the packet, when it leaves, as a program has asked for.
    pub(super) fn cut(&mut self, requests: &Requests) {
        if requests.truncate_bytes.is_some() {
            self.truncate_bytes = requests.truncate_bytes;
        }
    }
}

/// The queue of a copy: where it goes, and how many packets are in it.
#[derive(Clone, Debug, Default)]
pub(super) struct QueuePlace {
    pub(super) port: u32,
    pub(super) instance: u32,
    pub(super) depth: usize,
}

impl<E: BlockRunner> Switch<E> {
    pub(super) fn field(&self, copy: &PacketCopy<E::Packet>, role: FieldRole) -> Option<u64> {
        self.runner.field(&copy.packet, role)
    }

    /// Without effect when the program has no such field.
    pub(super) fn set(&self, copy: &mut PacketCopy<E::Packet>, role: FieldRole, value: u64) {
        self.runner.set_field(&mut copy.packet, role, value);
    }

    /// Writes what the architecture says of a packet. `queue` is all zeros on arrival.
    pub(super) fn write_intrinsic(
        &self,
        copy: &mut PacketCopy<E::Packet>,
        writes: &IntrinsicWrites,
        queue: &QueuePlace,
    ) {
        for (field, value) in writes {
            let value = match value {
                IntrinsicValue::IngressPort => u64::from(copy.ingress_port),
                IntrinsicValue::PacketBytes => self.runner.bytes(&copy.packet).len() as u64,
                IntrinsicValue::ArrivalTime => microseconds(copy.arrived_ns),
                IntrinsicValue::Now => microseconds(self.now_ns),
                IntrinsicValue::PassKind => instance_type(copy.kind),
                IntrinsicValue::EgressPort => u64::from(queue.port),
                IntrinsicValue::ReplicaInstance => u64::from(queue.instance),
                IntrinsicValue::QueueDepth => queue.depth as u64,
                IntrinsicValue::QueueingTime => microseconds(self.now_ns.saturating_sub(copy.queued_ns)),
                IntrinsicValue::NoPort => self.model.no_port(),
                IntrinsicValue::NowNs => self.now_ns,
                IntrinsicValue::Priority => u64::from(copy.priority),
                IntrinsicValue::Round => u64::from(copy.n_rounds),
                IntrinsicValue::IsFurtherRound => u64::from(copy.n_rounds > 0),
                IntrinsicValue::Number(number) => *number,
                IntrinsicValue::Path => self.paths.member(copy.position.section, copy.kind),
                IntrinsicValue::Direction => {
                    self.directions.of_port(self.sides.is_host_port(copy.ingress_port))
                }
                IntrinsicValue::PassVerdict => self.verdicts.value_of(Verdict::Pass).unwrap_or(0),
            };
            self.set(copy, *field, value);
        }
    }

    /// Writes the metadata with which the copy begins its section.
    pub(super) fn set_arrival(&self, copy: &mut PacketCopy<E::Packet>) {
        let section = self.model.sections.get(copy.position.section);
        let writes = section.and_then(|section: &Section| section.writes.as_ref());
        let queue = QueuePlace { port: copy.queue_port, instance: copy.instance, depth: 0 };
        self.write_intrinsic(copy, writes.unwrap_or(&self.model.at_arrival), &queue);
    }

    /// Resets the copy for another parse of its bytes; no other state survives.
    pub(super) fn restart(&mut self, copy: &mut PacketCopy<E::Packet>, kind: PassKind) {
        self.runner.restart(&mut copy.packet);
        copy.kind = kind;
        copy.truncate_bytes = None;
        self.set_arrival(copy);
    }

    /// Metadata as on arrival, headers as they are.
    pub(super) fn reset_metadata(&mut self, copy: &mut PacketCopy<E::Packet>, kind: PassKind) {
        self.runner.reset_metadata(&mut copy.packet);
        copy.kind = kind;
        self.set_arrival(copy);
    }
}

fn microseconds(ns: u64) -> u64 {
    ns / 1000
}

/// Values of v1model's `instance_type` (v1model.p4); 3 is not used.
fn instance_type(kind: PassKind) -> u64 {
    match kind {
        PassKind::Normal | PassKind::FromController | PassKind::Mirrored => 0,
        PassKind::ClonedFromIngress => 1,
        PassKind::ClonedFromEgress => 2,
        PassKind::Recirculated => 4,
        PassKind::Multicast => 5,
        PassKind::Resubmitted => 6,
    }
}
