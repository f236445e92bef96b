//! Architectures with queues: parser to ingress, replication and queues, egress to departure.
//!
//! The order of what happens at the end of ingress and egress is that of the reference switch ("The BMv2 Simple
//! Switch target", pseudocode for what happens at the end of ingress and egress processing).
//!
//! Where that text and the reference switch differ, or say nothing:
//! - resubmitted, recirculated and cloned packets keep port and time of arrival and have their length, as the
//!   text says (the switch has zeros); all other metadata starts afresh, but for the field list;
//! - `packet_length` in egress is that of the bytes that were parsed, whatever headers come and go;
//! - a clone session cuts its clones when they leave, so that they are parsed whole.

use super::copy::{PacketCopy, microseconds, set_kind};
use super::queue::Leaving;
use super::{Switch, reason};
use crate::exec::BlockEnd;
use crate::externs::{CloneRequest, Preserve, Requests};
use crate::story::{Observer, PassKind, TrafficEvent};
use arch::{BlockRole, FieldRole};
use std::sync::Arc;

/// Where a copy goes.
struct Target {
    port: u32,
    instance: u32,
    priority: u32,
}

impl Switch {
    pub(super) fn ingress(&mut self, mut copy: PacketCopy, observer: &mut dyn Observer) {
        self.tell_pass(observer, &copy, copy.ingress_port);
        self.externs.begin_packet();
        match self.run(BlockRole::Parser, &mut copy, observer) {
            BlockEnd::Done | BlockEnd::Accepted => {}
            BlockEnd::Rejected(error) => {
                let exe = Arc::clone(&self.exe);
                if exe.field(FieldRole::ParserError).is_none() {
                    return self.drop_packet(reason::PARSER_REJECTED, observer);
                }
                copy.set(&exe, FieldRole::ParserError, u64::from(error));
            }
            BlockEnd::Stopped(why) => return self.drop_packet(why.name(), observer),
        }
        for role in [BlockRole::VerifyChecksum, BlockRole::Ingress] {
            if let BlockEnd::Stopped(why) = self.run(role, &mut copy, observer) {
                return self.drop_packet(why.name(), observer);
            }
        }
        let requests = std::mem::take(&mut self.externs.requests);
        self.after_ingress(copy, requests, observer);
    }

    fn after_ingress(&mut self, mut copy: PacketCopy, requests: Requests, observer: &mut dyn Observer) {
        let exe = Arc::clone(&self.exe);
        let Requests { clone, resubmit, truncate_bytes, digests, .. } = requests;
        if truncate_bytes.is_some() {
            copy.truncate_bytes = truncate_bytes;
        }
        if let Some(request) = clone {
            self.clone_from_ingress(&copy, &request, observer);
        }
        self.store_digests(digests, observer);
        if let Some(preserve) = resubmit {
            return self.start_again(copy, PassKind::Resubmitted, &preserve, observer);
        }
        let group = copy.field(&exe, FieldRole::MulticastGroup).unwrap_or(0) as u32;
        let priority = copy.field(&exe, FieldRole::Priority).unwrap_or(0) as u32;
        if group != 0 {
            return self.multicast(copy, group, priority, observer);
        }
        let port = copy.field(&exe, FieldRole::EgressSpec).unwrap_or(0) as u32;
        if self.model.drop_port == Some(port) {
            return self.drop_packet(reason::INGRESS_DROP, observer);
        }
        set_kind(&mut copy, &exe, PassKind::Normal);
        self.enqueue(copy, &Target { port, instance: 0, priority }, observer);
    }

    fn multicast(&mut self, mut copy: PacketCopy, group: u32, priority: u32, observer: &mut dyn Observer) {
        let exe = Arc::clone(&self.exe);
        let targets = self.pre.replicate(group, &self.tables.ports_down);
        self.tell(observer, TrafficEvent::Multicast { group, n_replicas: targets.len() as u32 });
        set_kind(&mut copy, &exe, PassKind::Multicast);
        let Some((last, others)) = targets.split_last() else {
            return self.drop_packet(reason::NO_REPLICA, observer);
        };
        for (port, instance) in others {
            if self.may_copy(observer) {
                let target = Target { port: *port, instance: *instance, priority };
                self.enqueue(copy.clone(), &target, observer);
            }
        }
        self.enqueue(copy, &Target { port: last.0, instance: last.1, priority }, observer);
    }

    /// The packet as it came in, parsed again, goes to egress.
    fn clone_from_ingress(&mut self, copy: &PacketCopy, request: &CloneRequest, observer: &mut dyn Observer) {
        let exe = Arc::clone(&self.exe);
        let targets = self.pre.replicate_clone(request.session, &self.tables.ports_down);
        if targets.is_empty() {
            return self.tell_clone(request, 0, observer);
        }
        let preserved = copy.preserved(&exe, &request.preserve);
        let mut clone = copy.clone();
        clone.restart(&exe, PassKind::ClonedFromIngress);
        self.externs.begin_packet();
        let end = self.run(BlockRole::Parser, &mut clone, observer);
        self.externs.begin_packet();
        if let BlockEnd::Stopped(why) = end {
            self.totals.n_copied += 1;
            return self.drop_packet(why.name(), observer);
        }
        clone.reset_metadata(&exe, PassKind::ClonedFromIngress);
        clone.restore(&preserved);
        self.enqueue_clones(&clone, request, &targets, observer);
    }

    /// The packet as it leaves goes to egress again, without being deparsed.
    fn clone_from_egress(&mut self, copy: &PacketCopy, request: &CloneRequest, observer: &mut dyn Observer) {
        let exe = Arc::clone(&self.exe);
        let targets = self.pre.replicate_clone(request.session, &self.tables.ports_down);
        if targets.is_empty() {
            return self.tell_clone(request, 0, observer);
        }
        let preserved = copy.preserved(&exe, &request.preserve);
        let mut clone = copy.clone();
        clone.n_rounds += 1;
        clone.reset_metadata(&exe, PassKind::ClonedFromEgress);
        clone.restore(&preserved);
        self.enqueue_clones(&clone, request, &targets, observer);
    }

    fn tell_clone(&self, request: &CloneRequest, n_replicas: usize, observer: &mut dyn Observer) {
        let n_replicas = n_replicas as u32;
        self.tell(observer, TrafficEvent::Cloned { session: request.session, n_replicas });
    }

    fn enqueue_clones(
        &mut self,
        clone: &PacketCopy,
        request: &CloneRequest,
        targets: &[(u32, u32)],
        observer: &mut dyn Observer,
    ) {
        self.tell_clone(request, targets.len(), observer);
        let session = self.pre.session(request.session).map(|s| (s.class_of_service, s.truncate_bytes));
        let (priority, truncate_bytes) = session.unwrap_or_default();
        for (port, instance) in targets {
            if !self.may_copy(observer) {
                continue;
            }
            if clone.n_rounds > self.config.rounds_max {
                self.drop_packet(reason::TOO_MANY_ROUNDS, observer);
                continue;
            }
            let mut clone = clone.clone();
            clone.truncate_bytes = (truncate_bytes > 0).then_some(truncate_bytes);
            self.enqueue(clone, &Target { port: *port, instance: *instance, priority }, observer);
        }
    }

    fn enqueue(&mut self, mut copy: PacketCopy, target: &Target, observer: &mut dyn Observer) {
        let exe = Arc::clone(&self.exe);
        let Target { port, instance, priority } = *target;
        if let Err(refused) = self.queues.check(port, priority) {
            return self.refuse(refused, observer);
        }
        copy.queued_ns = self.now_ns;
        copy.set(&exe, FieldRole::EgressInstance, u64::from(instance));
        copy.set(&exe, FieldRole::EnqueueTimestamp, microseconds(self.now_ns));
        copy.set(&exe, FieldRole::EnqueueDepth, self.queues.depth(port, priority) as u64);
        self.tell(observer, TrafficEvent::Queued { port, instance });
        if let Err(refused) = self.queues.push(port, priority, copy) {
            self.refuse(refused, observer);
        }
    }

    pub(super) fn egress(&mut self, leaving: Leaving<PacketCopy>, observer: &mut dyn Observer) {
        let exe = Arc::clone(&self.exe);
        let Leaving { port, n_left, item: mut copy } = leaving;
        copy.set(&exe, FieldRole::EgressTimestamp, microseconds(self.now_ns));
        let waited_ns = self.now_ns.saturating_sub(copy.queued_ns);
        copy.set(&exe, FieldRole::DequeueTimeDelta, microseconds(waited_ns));
        copy.set(&exe, FieldRole::DequeueDepth, n_left as u64);
        copy.set(&exe, FieldRole::EgressPort, u64::from(port));
        // Anything but the drop port: what ingress decided is done.
        let spec = self.model.drop_port.map_or(0, |drop| u64::from(drop) + 1);
        copy.set(&exe, FieldRole::EgressSpec, spec);
        if copy.kind != PassKind::Normal {
            self.tell_pass(observer, &copy, port);
        }
        self.externs.begin_packet();
        if let BlockEnd::Stopped(why) = self.run(BlockRole::Egress, &mut copy, observer) {
            return self.drop_packet(why.name(), observer);
        }
        let Requests { clone, recirculate, truncate_bytes, digests, .. } =
            std::mem::take(&mut self.externs.requests);
        if truncate_bytes.is_some() {
            copy.truncate_bytes = truncate_bytes;
        }
        if let Some(request) = clone {
            self.clone_from_egress(&copy, &request, observer);
        }
        self.store_digests(digests, observer);
        let spec = copy.field(&exe, FieldRole::EgressSpec);
        if spec.is_some() && spec == self.model.drop_port.map(u64::from) {
            return self.drop_packet(reason::EGRESS_DROP, observer);
        }
        for role in [BlockRole::ComputeChecksum, BlockRole::Deparser] {
            if let BlockEnd::Stopped(why) = self.run(role, &mut copy, observer) {
                return self.drop_packet(why.name(), observer);
            }
        }
        let bytes = self.departing(&copy, observer);
        if let Some(preserve) = recirculate {
            copy.packet.bytes = bytes;
            return self.start_again(copy, PassKind::Recirculated, &preserve, observer);
        }
        self.send(port, bytes, observer);
    }

    /// The bytes of a packet go to the parser once more.
    fn start_again(
        &mut self,
        mut copy: PacketCopy,
        kind: PassKind,
        preserve: &Preserve,
        observer: &mut dyn Observer,
    ) {
        let exe = Arc::clone(&self.exe);
        if copy.n_rounds >= self.config.rounds_max {
            return self.drop_packet(reason::TOO_MANY_ROUNDS, observer);
        }
        let event = match kind {
            PassKind::Recirculated => TrafficEvent::Recirculated,
            _ => TrafficEvent::Resubmitted,
        };
        self.tell(observer, event);
        let preserved = copy.preserved(&exe, preserve);
        copy.n_rounds += 1;
        copy.restart(&exe, kind);
        copy.restore(&preserved);
        self.inputs.push_back(copy);
    }
}
