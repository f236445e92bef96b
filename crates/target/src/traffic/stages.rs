//! Architectures with queues: parser to ingress, replication and queues, egress to departure.
//!
//! The order of what happens at the end of ingress and egress is that of the reference switch ("The BMv2 Simple
//! Switch target", pseudocode for what happens at the end of ingress and egress processing).
//!
//! Where that text and the reference switch differ, or say nothing:
//! - resubmitted, recirculated and cloned packets keep port and time of arrival and have their length, as the
//!   text says (the switch has zeros); all other metadata starts afresh, but for the field list;
//! - `packet_length` in egress counts the headers that have become valid or invalid, as in the switch; programs do that
//!   themselves (`elaborate`), so that here the field is set on arrival only;
//! - a clone session cuts its clones when they leave, so that they are parsed whole.

use super::copy::{PacketCopy, QueuePlace};
use super::queue::Leaving;
use super::waiting::Place;
use super::{Switch, reason};
use crate::{BlockEnd, BlockRunner, CloneRequest, PassKind, Preserve, Requests, TrafficEvent};
use arch::{BlockRole, FieldRole};

/// The destination of a copy.
struct Target {
    port: u32,
    instance: u32,
    priority: u32,
}

impl<E: BlockRunner> Switch<E> {
    pub(super) fn ingress(&mut self, mut copy: PacketCopy<E::Packet>, observer: &mut E::Observer<'_>) {
        self.tell_pass(observer, &copy, copy.ingress_port);
        self.runner.begin_pass();
        match self.run(BlockRole::Parser, &mut copy, observer) {
            // Parsers have no asynchronous blocks.
            BlockEnd::Done | BlockEnd::Accepted | BlockEnd::Waiting => {}
            BlockEnd::Rejected(error) => {
                if self.field(&copy, FieldRole::ParserError).is_none() {
                    return self.drop_packet(reason::PARSER_REJECTED, observer);
                }
                self.set(&mut copy, FieldRole::ParserError, u64::from(error));
            }
            BlockEnd::Stopped(why) => return self.drop_packet(why.name(), observer),
        }
        if let BlockEnd::Stopped(why) = self.run(BlockRole::VerifyChecksum, &mut copy, observer) {
            return self.drop_packet(why.name(), observer);
        }
        self.run_ingress(copy, observer);
    }

    /// From its beginning, or from where the packet has waited.
    pub(super) fn run_ingress(&mut self, mut copy: PacketCopy<E::Packet>, observer: &mut E::Observer<'_>) {
        match self.run(BlockRole::Ingress, &mut copy, observer) {
            BlockEnd::Stopped(why) => self.drop_packet(why.name(), observer),
            BlockEnd::Waiting => self.wait(copy, Place::Ingress),
            BlockEnd::Done | BlockEnd::Accepted | BlockEnd::Rejected(_) => {
                let requests = self.runner.take_requests();
                self.after_ingress(copy, requests, observer);
            }
        }
    }

    pub(super) fn after_ingress(
        &mut self,
        mut copy: PacketCopy<E::Packet>,
        requests: Requests,
        observer: &mut E::Observer<'_>,
    ) {
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
        let group = self.field(&copy, FieldRole::MulticastGroup).unwrap_or(0) as u32;
        let priority = self.field(&copy, FieldRole::Priority).unwrap_or(0) as u32;
        if group != 0 {
            return self.multicast(copy, group, priority, observer);
        }
        let port = self.field(&copy, FieldRole::EgressSpec).unwrap_or(0) as u32;
        if self.model.drop_port == Some(port) {
            return self.drop_packet(reason::INGRESS_DROP, observer);
        }
        copy.kind = PassKind::Normal;
        self.enqueue(copy, &Target { port, instance: 0, priority }, observer);
    }

    fn multicast(
        &mut self,
        mut copy: PacketCopy<E::Packet>,
        group: u32,
        priority: u32,
        observer: &mut E::Observer<'_>,
    ) {
        let targets = self.pre.pre().replicate(group, &self.ports_down);
        self.tell(observer, TrafficEvent::Multicast { group, n_replicas: targets.len() as u32 });
        copy.kind = PassKind::Multicast;
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
    fn clone_from_ingress(
        &mut self,
        copy: &PacketCopy<E::Packet>,
        request: &CloneRequest,
        observer: &mut E::Observer<'_>,
    ) {
        let targets = self.pre.pre().replicate_clone(request.session, &self.ports_down);
        if targets.is_empty() {
            return self.tell_clone(request, 0, observer);
        }
        let preserved = self.runner.save(&copy.packet, &request.preserve);
        let mut clone = copy.clone();
        self.restart(&mut clone, PassKind::ClonedFromIngress);
        self.runner.begin_pass();
        let end = self.run(BlockRole::Parser, &mut clone, observer);
        self.runner.begin_pass();
        if let BlockEnd::Stopped(why) = end {
            self.totals.n_copied += 1;
            return self.drop_packet(why.name(), observer);
        }
        self.reset_metadata(&mut clone, PassKind::ClonedFromIngress);
        self.runner.restore(&mut clone.packet, &preserved);
        self.enqueue_clones(&clone, request, &targets, observer);
    }

    /// The packet as it leaves goes to egress again, without being deparsed.
    fn clone_from_egress(
        &mut self,
        copy: &PacketCopy<E::Packet>,
        request: &CloneRequest,
        observer: &mut E::Observer<'_>,
    ) {
        let targets = self.pre.pre().replicate_clone(request.session, &self.ports_down);
        if targets.is_empty() {
            return self.tell_clone(request, 0, observer);
        }
        let preserved = self.runner.save(&copy.packet, &request.preserve);
        let mut clone = copy.clone();
        clone.n_rounds += 1;
        self.reset_metadata(&mut clone, PassKind::ClonedFromEgress);
        self.runner.restore(&mut clone.packet, &preserved);
        self.enqueue_clones(&clone, request, &targets, observer);
    }

    fn tell_clone(&self, request: &CloneRequest, n_replicas: usize, observer: &mut E::Observer<'_>) {
        let n_replicas = n_replicas as u32;
        self.tell(observer, TrafficEvent::Cloned { session: request.session, n_replicas });
    }

    fn enqueue_clones(
        &mut self,
        clone: &PacketCopy<E::Packet>,
        request: &CloneRequest,
        targets: &[(u32, u32)],
        observer: &mut E::Observer<'_>,
    ) {
        self.tell_clone(request, targets.len(), observer);
        let session = self.pre.pre().session(request.session).map(|s| (s.class_of_service, s.truncate_bytes));
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

    fn enqueue(&mut self, mut copy: PacketCopy<E::Packet>, target: &Target, observer: &mut E::Observer<'_>) {
        let Target { port, instance, priority } = *target;
        if let Err(refused) = self.queues.check(port, priority) {
            return self.refuse(refused, observer);
        }
        copy.queued_ns = self.now_ns;
        let queue = QueuePlace { port, instance, depth: self.queues.depth(port, priority) };
        self.write_intrinsic(&mut copy, &self.model.at_enqueue, &queue);
        self.tell(observer, TrafficEvent::Queued { port, instance });
        if let Err(refused) = self.queues.push(port, priority, copy) {
            self.refuse(refused, observer);
        }
    }

    pub(super) fn egress(&mut self, leaving: Leaving<PacketCopy<E::Packet>>, observer: &mut E::Observer<'_>) {
        let Leaving { port, n_left, item: mut copy } = leaving;
        let queue = QueuePlace { port, instance: 0, depth: n_left };
        self.write_intrinsic(&mut copy, &self.model.at_dequeue, &queue);
        if copy.kind != PassKind::Normal {
            self.tell_pass(observer, &copy, port);
        }
        self.runner.begin_pass();
        self.run_egress(copy, port, observer);
    }

    /// From its beginning, or from where the packet has waited.
    pub(super) fn run_egress(
        &mut self,
        mut copy: PacketCopy<E::Packet>,
        port: u32,
        observer: &mut E::Observer<'_>,
    ) {
        match self.run(BlockRole::Egress, &mut copy, observer) {
            BlockEnd::Stopped(why) => self.drop_packet(why.name(), observer),
            BlockEnd::Waiting => self.wait(copy, Place::Egress(port)),
            BlockEnd::Done | BlockEnd::Accepted | BlockEnd::Rejected(_) => {
                let requests = self.runner.take_requests();
                self.after_egress(copy, port, requests, observer);
            }
        }
    }

    pub(super) fn after_egress(
        &mut self,
        mut copy: PacketCopy<E::Packet>,
        port: u32,
        requests: Requests,
        observer: &mut E::Observer<'_>,
    ) {
        let Requests { clone, recirculate, truncate_bytes, digests, .. } = requests;
        if truncate_bytes.is_some() {
            copy.truncate_bytes = truncate_bytes;
        }
        if let Some(request) = clone {
            self.clone_from_egress(&copy, &request, observer);
        }
        self.store_digests(digests, observer);
        let spec = self.field(&copy, FieldRole::EgressSpec);
        if spec.is_some() && spec == self.model.drop_port.map(u64::from) {
            return self.drop_packet(reason::EGRESS_DROP, observer);
        }
        for role in [BlockRole::ComputeChecksum, BlockRole::Deparser] {
            if let BlockEnd::Stopped(why) = self.run(role, &mut copy, observer) {
                return self.drop_packet(why.name(), observer);
            }
        }
        let bytes = self.egress_bytes(&copy, observer);
        if let Some(preserve) = recirculate {
            self.runner.set_bytes(&mut copy.packet, bytes);
            return self.start_again(copy, PassKind::Recirculated, &preserve, observer);
        }
        self.send(port, bytes, observer);
    }

    /// The bytes of a packet go to the parser once more.
    fn start_again(
        &mut self,
        mut copy: PacketCopy<E::Packet>,
        kind: PassKind,
        preserve: &Preserve,
        observer: &mut E::Observer<'_>,
    ) {
        if copy.n_rounds >= self.config.rounds_max {
            return self.drop_packet(reason::TOO_MANY_ROUNDS, observer);
        }
        let event = match kind {
            PassKind::Recirculated => TrafficEvent::Recirculated,
            _ => TrafficEvent::Resubmitted,
        };
        self.tell(observer, event);
        let preserved = self.runner.save(&copy.packet, preserve);
        copy.n_rounds += 1;
        self.restart(&mut copy, kind);
        self.runner.restore(&mut copy.packet, &preserved);
        self.inputs.push_back(copy);
    }
}
