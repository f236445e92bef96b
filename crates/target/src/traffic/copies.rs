//! Copies of packets and their ways between sections: clones, replicas, queues, further rounds.

use super::copy::{PacketCopy, Place, Position, QueuePlace};
use super::queue::{Leaving, Refused};
use super::{Switch, ignored, reason};
use crate::{BlockEnd, BlockRunner, CloneRequest, PassKind, Preserve, TrafficEvent};
use arch::BlockRole;
use arch::flow::{Contents, SectionId};

/// How clones begin, and where.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clones {
    pub(super) contents: Contents,
    pub(super) to: SectionId,
    pub(super) kind: PassKind,
}

/// How a packet begins again, and where.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begin {
    pub(super) contents: Contents,
    pub(super) to: SectionId,
    pub(super) kind: PassKind,
    /// The port at which it arrives now; `None` if it stays the same.
    pub(super) port: Option<u32>,
}

impl<E: BlockRunner> Switch<E> {
    /// A packet for each replica of a group; the priority and section of `place` are those of all.
    pub(super) fn multicast(
        &mut self,
        mut copy: PacketCopy<E::Packet>,
        group: u32,
        place: Place,
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
                self.enqueue(copy.clone(), Place { port: *port, instance: *instance, ..place }, observer);
            }
        }
        self.enqueue(copy, Place { port: last.0, instance: last.1, ..place }, observer);
    }

    /// Copies for the replicas of a clone session.
    pub(super) fn clone_packet(
        &mut self,
        copy: &PacketCopy<E::Packet>,
        request: &CloneRequest,
        clones: Clones,
        observer: &mut E::Observer<'_>,
    ) {
        let Clones { contents, to, kind } = clones;
        let targets = self.pre.pre().replicate_clone(request.session, &self.ports_down);
        if targets.is_empty() {
            self.totals.ignore(ignored::CLONE_WITHOUT_REPLICA);
            return self.tell_clone(request, 0, observer);
        }
        let session = self.pre.pre().session(request.session).map(|s| (s.class_of_service, s.truncate_bytes));
        let (priority, truncate_bytes) = session.unwrap_or_default();
        let truncate_bytes = (truncate_bytes > 0).then_some(truncate_bytes);
        let preserved = self.runner.save(&copy.packet, &request.preserve);
        let mut clone = copy.clone();
        // Copies that may come here again are bounded.
        if to <= copy.position.section {
            clone.n_rounds += 1;
        }
        let is_parsed = match contents {
            Contents::AsReceived | Contents::Deparsed => false,
            Contents::ParsedAgain | Contents::Headers => true,
        };
        if !is_parsed {
            clone.position = Position { section: to, step: 0 };
        }
        match contents {
            Contents::AsReceived => {
                if let Some(n_bytes) = truncate_bytes {
                    let mut bytes = self.runner.bytes(&clone.packet).to_vec();
                    if bytes.len() > n_bytes as usize {
                        bytes.truncate(n_bytes as usize);
                        self.runner.set_bytes(&mut clone.packet, bytes);
                    }
                }
                self.restart(&mut clone, kind);
            }
            Contents::ParsedAgain => {
                self.restart(&mut clone, kind);
                self.runner.begin_pass();
                let parser = self.model.block(BlockRole::Parser).unwrap_or(usize::MAX);
                let end = self.run_block(parser, &mut clone, observer);
                self.runner.begin_pass();
                if let BlockEnd::Stopped(why) = end {
                    self.totals.n_copied += 1;
                    return self.drop_packet(why.name(), observer);
                }
                self.reset_metadata(&mut clone, kind);
            }
            Contents::Headers => self.reset_metadata(&mut clone, kind),
            Contents::Deparsed => {
                let mut bytes = self.egress_bytes(copy, observer);
                bytes.truncate(truncate_bytes.map_or(usize::MAX, |n| n as usize));
                self.runner.set_bytes(&mut clone.packet, bytes);
                self.restart(&mut clone, kind);
            }
        }
        self.runner.restore(&mut clone.packet, &preserved);
        self.tell_clone(request, targets.len(), observer);
        for (port, instance) in targets {
            if !self.may_copy(observer) {
                continue;
            }
            if clone.n_rounds > self.config.rounds_max {
                self.drop_packet(reason::TOO_MANY_ROUNDS, observer);
                continue;
            }
            let mut clone = clone.clone();
            clone.truncate_bytes = truncate_bytes.filter(|_| is_parsed);
            self.enqueue(clone, Place { section: to, port, instance, priority }, observer);
        }
    }

    fn tell_clone(&self, request: &CloneRequest, n_replicas: usize, observer: &mut E::Observer<'_>) {
        let n_replicas = n_replicas as u32;
        self.tell(observer, TrafficEvent::Cloned { session: request.session, n_replicas });
    }

    pub(super) fn enqueue(
        &mut self,
        mut copy: PacketCopy<E::Packet>,
        place: Place,
        observer: &mut E::Observer<'_>,
    ) {
        let Place { section, port, instance, mut priority } = place;
        let rules = self.model.queue;
        if rules.checks_port && !self.has_port(port) {
            return self.drop_packet(reason::NO_SUCH_PORT, observer);
        }
        if rules.unknown_priority_is_zero && self.queues.check(port, priority) == Err(Refused::NoSuchQueue) {
            self.totals.ignore(ignored::UNKNOWN_CLASS);
            priority = 0;
        }
        if let Err(refused) = self.queues.check(port, priority) {
            return self.refuse(refused, observer);
        }
        copy.position = Position { section, step: 0 };
        (copy.queue_port, copy.instance, copy.priority) = (port, instance, priority);
        copy.queued_ns = self.now_ns;
        let queue = QueuePlace { port, instance, depth: self.queues.depth(port, priority) };
        self.write_intrinsic(&mut copy, &self.model.at_enqueue, &queue);
        self.tell(observer, TrafficEvent::Queued { port, instance });
        if let Err(refused) = self.queues.push(port, priority, copy) {
            self.refuse(refused, observer);
        }
    }

    /// A packet leaves its queue.
    pub(super) fn leave_queue(
        &mut self,
        leaving: Leaving<PacketCopy<E::Packet>>,
        observer: &mut E::Observer<'_>,
    ) {
        let Leaving { port, n_left, item: mut copy } = leaving;
        let section = self.model.sections.get(copy.position.section);
        if section.is_some_and(|section| section.writes.is_some()) {
            self.set_arrival(&mut copy);
        } else {
            let queue = QueuePlace { port, instance: 0, depth: n_left };
            self.write_intrinsic(&mut copy, &self.model.at_dequeue, &queue);
        }
        if copy.kind != PassKind::Normal {
            self.tell_pass(observer, &copy, port);
        }
        self.runner.begin_pass();
        self.run_steps(copy, observer);
    }

    /// The bytes of a packet go to a section once more.
    pub(super) fn start_again(
        &mut self,
        mut copy: PacketCopy<E::Packet>,
        begin: Begin,
        preserve: &Preserve,
        observer: &mut E::Observer<'_>,
    ) {
        let Begin { contents, to, kind, port } = begin;
        // Cutting counts as a step of the pass that ends.
        let deparsed = (contents == Contents::Deparsed).then(|| self.egress_bytes(&copy, observer));
        if copy.n_rounds >= self.config.rounds_max {
            return self.drop_packet(reason::TOO_MANY_ROUNDS, observer);
        }
        let event = match kind {
            PassKind::Recirculated => TrafficEvent::Recirculated,
            _ => TrafficEvent::Resubmitted,
        };
        self.tell(observer, event);
        let preserved = self.runner.save(&copy.packet, preserve);
        if let Some(bytes) = deparsed {
            self.runner.set_bytes(&mut copy.packet, bytes);
        }
        copy.n_rounds += 1;
        copy.ingress_port = port.unwrap_or(copy.ingress_port);
        copy.position = Position { section: to, step: 0 };
        self.restart(&mut copy, kind);
        self.runner.restore(&mut copy.packet, &preserved);
        self.inputs.push_back(copy);
    }
}
