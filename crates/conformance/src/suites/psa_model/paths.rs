//! The ways of packets through a PSA switch, from the text of PSA 1.2: the tables of initial values in 6.2 and 6.5, and the
//! pseudocode of 6.4 and 6.7. Where the text leaves a choice, the comment begins with "Choice".

use crate::suites::models::{Leaving, Model, Session, Setup, Tally};
use std::collections::VecDeque;

pub(super) const RECIRCULATE: u32 = 0xffff_fffa;
pub(super) const CPU: u32 = 0xffff_fffd;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Path {
    Normal,
    NormalUnicast,
    NormalMulticast,
    CloneI2e,
    CloneE2e,
    Resubmit,
    Recirculate,
}

/// A packet before the ingress parser. Values that no deparser has given are those of `C::default()`.
#[derive(Clone, Debug)]
pub(super) struct Ingress<C> {
    pub(super) path: Path,
    pub(super) port: u32,
    pub(super) now_ns: u64,
    pub(super) resubmit: C,
    pub(super) recirculate: C,
    pub(super) bytes: Vec<u8>,
    pub(super) n_rounds: u32,
}

/// The end of the ingress deparser.
#[derive(Clone, Debug)]
pub(super) struct IngressEnd<C> {
    pub(super) clone: bool,
    pub(super) clone_session_id: u16,
    pub(super) drop: bool,
    pub(super) resubmit: bool,
    pub(super) multicast_group: u32,
    pub(super) egress_port: u32,
    pub(super) class_of_service: u8,
    pub(super) clone_i2e: C,
    pub(super) resubmitted: C,
    pub(super) normal: C,
    pub(super) bytes: Vec<u8>,
}

/// A packet before the egress parser.
#[derive(Clone, Debug)]
pub(super) struct Egress<C> {
    pub(super) path: Path,
    pub(super) port: u32,
    pub(super) instance: u16,
    pub(super) class_of_service: u8,
    pub(super) now_ns: u64,
    pub(super) normal: C,
    pub(super) clone_i2e: C,
    pub(super) clone_e2e: C,
    pub(super) bytes: Vec<u8>,
    pub(super) n_rounds: u32,
}

/// The end of the egress deparser.
#[derive(Clone, Debug)]
pub(super) struct EgressEnd<C> {
    pub(super) clone: bool,
    pub(super) clone_session_id: u16,
    pub(super) drop: bool,
    pub(super) clone_e2e: C,
    pub(super) recirculated: C,
    pub(super) bytes: Vec<u8>,
}

/// The parsers, controls and deparsers of a program.
pub(super) trait Program {
    /// Metadata that goes from a deparser to a parser.
    type Carried: Clone + Default;
    fn ingress(&self, packet: &Ingress<Self::Carried>) -> IngressEnd<Self::Carried>;
    fn egress(&self, packet: &Egress<Self::Carried>) -> EgressEnd<Self::Carried>;
}

pub(super) struct Paths<'a, P: Program> {
    setup: &'a Setup,
    program: P,
    before_ingress: VecDeque<Ingress<P::Carried>>,
    before_egress: VecDeque<Egress<P::Carried>>,
    copies_left: u32,
    leaving: Leaving,
    tally: Tally,
}

impl<'a, P: Program> Paths<'a, P> {
    pub(super) fn new(setup: &'a Setup, program: P) -> Paths<'a, P> {
        Paths {
            setup,
            program,
            before_ingress: VecDeque::new(),
            before_egress: VecDeque::new(),
            copies_left: 0,
            leaving: Leaving::new(),
            tally: Tally::default(),
        }
    }

    fn after_ingress(&mut self, packet: Ingress<P::Carried>) {
        let end = self.program.ingress(&packet);
        let Ingress { now_ns, n_rounds, .. } = packet;
        let blank = Egress {
            path: Path::CloneI2e,
            port: 0,
            instance: 0,
            class_of_service: 0,
            now_ns,
            normal: P::Carried::default(),
            clone_i2e: P::Carried::default(),
            clone_e2e: P::Carried::default(),
            bytes: packet.bytes.clone(),
            n_rounds,
        };
        if end.clone {
            self.clone_packet(
                end.clone_session_id,
                &Egress { clone_i2e: end.clone_i2e.clone(), ..blank.clone() },
            );
        }
        if end.drop {
            return self.tally.drop_for("ingress_drop");
        }
        if end.resubmit {
            let (path, resubmit) = (Path::Resubmit, end.resubmitted);
            return self.start_again(Ingress {
                path,
                resubmit,
                recirculate: P::Carried::default(),
                ..packet
            });
        }
        let class_of_service = end.class_of_service;
        let normal = Egress { class_of_service, normal: end.normal, bytes: end.bytes, ..blank };
        if end.multicast_group == 0 {
            return self.queue(Egress { path: Path::NormalUnicast, port: end.egress_port, ..normal });
        }
        let replicas = self.setup.groups.get(&end.multicast_group).cloned().unwrap_or_default();
        if replicas.is_empty() {
            return self.tally.drop_for("no_replica");
        }
        for (i, (port, instance)) in replicas.into_iter().enumerate() {
            // The packet itself is the first replica; the others are copies of it.
            if i == 0 || self.may_copy() {
                self.queue(Egress { path: Path::NormalMulticast, port, instance, ..normal.clone() });
            }
        }
    }

    fn after_egress(&mut self, packet: Egress<P::Carried>) {
        let EgressEnd { clone, clone_session_id, drop, clone_e2e, recirculated, bytes } =
            self.program.egress(&packet);
        let Egress { port, now_ns, n_rounds, .. } = packet;
        if clone {
            let (normal, clone_i2e) = (P::Carried::default(), P::Carried::default());
            let (path, n_rounds, bytes) = (Path::CloneE2e, n_rounds + 1, bytes.clone());
            let clone = Egress { path, n_rounds, bytes, normal, clone_i2e, clone_e2e, ..packet };
            self.clone_packet(clone_session_id, &clone);
        }
        if drop {
            return self.tally.drop_for("egress_drop");
        }
        if port == RECIRCULATE {
            let (path, resubmit, recirculate) = (Path::Recirculate, P::Carried::default(), recirculated);
            return self.start_again(Ingress { path, port, now_ns, resubmit, recirculate, bytes, n_rounds });
        }
        let count = if port == CPU { &mut self.tally.n_to_controller } else { &mut self.tally.n_sent };
        *count += 1;
        self.leaving.push((port, bytes));
    }

    /// Copies for the replicas of a session; none if there is no such session.
    fn clone_packet(&mut self, id: u16, clone: &Egress<P::Carried>) {
        let to_cpu = Session { replicas: vec![(CPU, 0)], ..Session::default() };
        let session = self.setup.sessions.get(&id).cloned().or((id == 0).then_some(to_cpu));
        let Some(Session { replicas, class_of_service, truncate_bytes }) = session else {
            return self.tally.ignore("clone_without_replica");
        };
        if replicas.is_empty() {
            return self.tally.ignore("clone_without_replica");
        }
        let mut bytes = clone.bytes.clone();
        if truncate_bytes > 0 {
            bytes.truncate(truncate_bytes as usize);
        }
        for (port, instance) in replicas {
            if !self.may_copy() {
                continue;
            }
            // Choice: a clone in egress is one round of its packet.
            if clone.n_rounds > self.setup.rounds_max {
                self.tally.drop_for("too_many_rounds");
                continue;
            }
            let bytes = bytes.clone();
            self.queue(Egress { port, instance, class_of_service, bytes, ..clone.clone() });
        }
    }

    /// Choice: copies are bounded for each packet that arrives.
    fn may_copy(&mut self) -> bool {
        self.tally.n_copied += 1;
        if self.copies_left == 0 {
            self.tally.drop_for("too_many_copies");
            return false;
        }
        self.copies_left -= 1;
        true
    }

    /// Packets to ports that do not exist do not come to egress. A class of service that is not supported is 0.
    fn queue(&mut self, mut packet: Egress<P::Carried>) {
        let port = packet.port;
        if port != CPU && port != RECIRCULATE && !self.setup.ports.contains(&port) {
            return self.tally.drop_for("no_such_port");
        }
        if packet.class_of_service >= self.setup.n_classes {
            packet.class_of_service = 0;
            self.tally.ignore("unknown_class_of_service");
        }
        self.before_egress.push_back(packet);
    }

    /// Choice: rounds are bounded.
    fn start_again(&mut self, mut packet: Ingress<P::Carried>) {
        if packet.n_rounds >= self.setup.rounds_max {
            return self.tally.drop_for("too_many_rounds");
        }
        packet.n_rounds += 1;
        self.before_ingress.push_back(packet);
    }
}

impl<P: Program> Model for Paths<'_, P> {
    fn arrive(&mut self, port: u32, bytes: &[u8], now_ns: u64) -> Leaving {
        self.tally.n_received += 1;
        if port != CPU && !self.setup.ports.contains(&port) {
            self.tally.drop_for("no_such_ingress_port");
            return Leaving::new();
        }
        self.copies_left = self.setup.copies_max;
        let (resubmit, recirculate) = (P::Carried::default(), P::Carried::default());
        let (path, bytes, n_rounds) = (Path::Normal, bytes.to_vec(), 0);
        let packet = Ingress { path, port, now_ns, resubmit, recirculate, bytes, n_rounds };
        self.before_ingress.push_back(packet);
        loop {
            if let Some(packet) = self.before_ingress.pop_front() {
                self.after_ingress(packet);
            } else if let Some(packet) = self.before_egress.pop_front() {
                self.after_egress(packet);
            } else {
                return std::mem::take(&mut self.leaving);
            }
        }
    }

    fn tally(&self) -> &Tally {
        &self.tally
    }
}
