//! One copy of a packet, with what the architecture knows about it.

use super::Switch;
use crate::{BlockRunner, PassKind};
use arch::FieldRole;

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
        }
    }
}

impl<E: BlockRunner> Switch<E> {
    pub(super) fn field(&self, copy: &PacketCopy<E::Packet>, role: FieldRole) -> Option<u64> {
        self.runner.field(&copy.packet, role)
    }

    /// Without effect when the program has no such field.
    pub(super) fn set(&self, copy: &mut PacketCopy<E::Packet>, role: FieldRole, value: u64) {
        self.runner.set_field(&mut copy.packet, role, value);
    }

    /// Sets the metadata of arrival: ingress port, length, timestamp and instance type.
    pub(super) fn set_arrival(&self, copy: &mut PacketCopy<E::Packet>) {
        let n_bytes = self.runner.bytes(&copy.packet).len() as u64;
        self.set(copy, FieldRole::IngressPort, u64::from(copy.ingress_port));
        self.set(copy, FieldRole::PacketLength, n_bytes);
        self.set(copy, FieldRole::IngressTimestamp, microseconds(copy.arrived_ns));
        self.set(copy, FieldRole::InstanceType, instance_type(copy.kind));
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

    /// Tells blocks why the copy is here now.
    pub(super) fn set_kind(&self, copy: &mut PacketCopy<E::Packet>, kind: PassKind) {
        copy.kind = kind;
        self.set(copy, FieldRole::InstanceType, instance_type(kind));
    }
}

pub(super) fn microseconds(ns: u64) -> u64 {
    ns / 1000
}

/// Values of v1model's `instance_type` (v1model.p4); 3 is not used.
fn instance_type(kind: PassKind) -> u64 {
    match kind {
        PassKind::Normal | PassKind::FromController => 0,
        PassKind::ClonedFromIngress => 1,
        PassKind::ClonedFromEgress => 2,
        PassKind::Recirculated => 4,
        PassKind::Multicast => 5,
        PassKind::Resubmitted => 6,
    }
}
