//! One copy of a packet, with what the architecture knows about it.

use crate::exec::PacketState;
use crate::externs::Preserve;
use crate::load::{Executable, SlotRange};
use crate::story::PassKind;
use arch::{FieldRole, ParamRole};
use ir::Bits;

#[derive(Clone, Debug)]
pub(super) struct PacketCopy {
    pub(super) packet: PacketState,
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

/// Values that survive when a packet starts again.
pub(super) type Preserved = Vec<(SlotRange, Vec<Bits>)>;

impl PacketCopy {
    pub(super) fn new(exe: &Executable, bytes: &[u8], ingress_port: u32, now_ns: u64) -> PacketCopy {
        let mut packet = PacketState::new(exe);
        packet.arrive(exe, bytes);
        let mut copy = PacketCopy {
            packet,
            kind: PassKind::Normal,
            ingress_port,
            arrived_ns: now_ns,
            queued_ns: 0,
            n_rounds: 0,
            truncate_bytes: None,
        };
        copy.set_arrival(exe);
        copy
    }

    pub(super) fn field(&self, exe: &Executable, role: FieldRole) -> Option<u64> {
        exe.field(role).map(|slot| self.packet.frame.get(slot).low_u64())
    }

    /// Without effect when the architecture has no such field.
    pub(super) fn set(&mut self, exe: &Executable, role: FieldRole, value: u64) {
        if let Some(slot) = exe.field(role) {
            let width = self.packet.frame.get(slot).width();
            self.packet.frame.set(slot, Bits::new(width, u128::from(value)));
        }
    }

    /// What every block may know about where the packet comes from.
    fn set_arrival(&mut self, exe: &Executable) {
        self.set(exe, FieldRole::IngressPort, u64::from(self.ingress_port));
        self.set(exe, FieldRole::PacketLength, self.packet.bytes.len() as u64);
        self.set(exe, FieldRole::IngressTimestamp, microseconds(self.arrived_ns));
        self.set(exe, FieldRole::InstanceType, instance_type(self.kind));
    }

    pub(super) fn preserved(&self, exe: &Executable, preserve: &Preserve) -> Preserved {
        let ranges = match preserve {
            Preserve::Nothing => None,
            Preserve::FieldList(index) => exe.field_list(*index),
        };
        let ranges = ranges.unwrap_or_default().into_iter();
        ranges.map(|range| (range, self.packet.frame.range(range).to_vec())).collect()
    }

    pub(super) fn restore(&mut self, preserved: &Preserved) {
        for (range, values) in preserved {
            self.packet.frame.range_mut(*range).clone_from_slice(values);
        }
    }

    /// The same bytes, to be parsed again: nothing else is left.
    pub(super) fn restart(&mut self, exe: &Executable, kind: PassKind) {
        self.packet.reset(exe);
        self.kind = kind;
        self.truncate_bytes = None;
        self.set_arrival(exe);
    }

    /// Metadata as on arrival, headers as they are.
    pub(super) fn reset_metadata(&mut self, exe: &Executable, kind: PassKind) {
        for role in [ParamRole::Metadata, ParamRole::StandardMetadata, ParamRole::OutputMetadata] {
            if let Some(range) = exe.shared(role) {
                let initial = &exe.initial()[range.indices()];
                self.packet.frame.range_mut(range).clone_from_slice(initial);
            }
        }
        self.kind = kind;
        self.set_arrival(exe);
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

/// Tells blocks why the copy is here now.
pub(super) fn set_kind(copy: &mut PacketCopy, exe: &Executable, kind: PassKind) {
    copy.kind = kind;
    copy.set(exe, FieldRole::InstanceType, instance_type(kind));
}
