//! The ways of packets through a PNA network card, from the text of PNA 0.7: "Packet paths", and the functions that a main
//! control may call. Where the text leaves a choice, the comment begins with "Choice".

use crate::suites::models::{Leaving, Model, Setup, Tally};
use std::collections::VecDeque;

const N_SLOTS: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    NetToHost,
    HostToNet,
}

/// A packet before the parser.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    pub(super) port: u32,
    pub(super) direction: Direction,
    /// It has come here so often before.
    pub(super) n_rounds: u32,
    pub(super) now_ns: u64,
    pub(super) bytes: Vec<u8>,
}

impl Packet {
    /// A number of three bits.
    pub(super) fn pass(&self) -> u8 {
        (self.n_rounds % 8) as u8
    }
}

/// A call of an extern function in the main control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    SendToPort(u32),
    DropPacket,
    Recirculate,
    MirrorPacket { slot: u8, session: u16 },
}

/// The end of the deparser.
#[derive(Clone, Debug)]
pub(super) struct End {
    /// In their order.
    pub(super) calls: Vec<Call>,
    pub(super) class_of_service: u8,
    pub(super) bytes: Vec<u8>,
}

/// The blocks of a program.
pub(super) trait Program {
    /// Parser and pre control. Returns whether the packet is to be decrypted.
    fn decrypt(&self, packet: &Packet) -> bool;
    /// Parser, main control and deparser.
    fn main(&self, packet: &Packet) -> End;
}

pub(super) struct Paths<'a, P: Program> {
    setup: &'a Setup,
    program: P,
    waiting: VecDeque<Packet>,
    copies_left: u32,
    leaving: Leaving,
    tally: Tally,
}

impl<'a, P: Program> Paths<'a, P> {
    pub(super) fn new(setup: &'a Setup, program: P) -> Paths<'a, P> {
        let (waiting, leaving, tally) = (VecDeque::new(), Leaving::new(), Tally::default());
        Paths { setup, program, waiting, copies_left: 0, leaving, tally }
    }

    fn pass(&mut self, packet: Packet) {
        // Choice: the pre control is there for packets from the network, which may be encrypted.
        if packet.direction == Direction::NetToHost && self.program.decrypt(&packet) {
            // Choice: there is no accelerator.
            return self.tally.drop_for("no_accelerator");
        }
        let End { calls, bytes, class_of_service } = self.program.main(&packet);
        let mut slots = [None; N_SLOTS];
        for call in &calls {
            if let Call::MirrorPacket { slot, session } = *call
                && let Some(of_slot) = slots.get_mut(usize::from(slot))
            {
                *of_slot = Some(session);
            }
        }
        // Choice: session 0 is reserved, so that it makes no copies.
        for session in slots.into_iter().flatten().filter(|session| *session != 0) {
            self.mirror(session, &bytes);
        }
        // `recirculate` is not in the set of functions of which the last one wins.
        if calls.contains(&Call::Recirculate) {
            // Choice: rounds are bounded.
            if packet.n_rounds >= self.setup.rounds_max {
                return self.tally.drop_for("too_many_rounds");
            }
            let n_rounds = packet.n_rounds + 1;
            return self.waiting.push_back(Packet { n_rounds, bytes, ..packet });
        }
        let is_last = |call: &&Call| matches!(call, Call::SendToPort(_) | Call::DropPacket);
        match calls.iter().rev().find(is_last) {
            Some(Call::SendToPort(port)) => self.send(*port, class_of_service, bytes),
            Some(_) => self.tally.drop_for("packet_dropped"),
            // Choice: a packet without a destination is dropped.
            None => self.tally.drop_for("no_destination"),
        }
    }

    /// Copies of the packet as deparsed, for the replicas of a session.
    fn mirror(&mut self, session: u16, bytes: &[u8]) {
        let session = self.setup.sessions.get(&session).filter(|session| !session.replicas.is_empty());
        let Some(session) = session else { return self.tally.ignore("clone_without_replica") };
        let n_bytes = match session.truncate_bytes {
            0 => bytes.len(),
            n => bytes.len().min(n as usize),
        };
        let class_of_service = session.class_of_service;
        for (port, _) in session.replicas.clone() {
            self.tally.n_copied += 1;
            // Choice: copies are bounded for each packet that arrives.
            if self.copies_left == 0 {
                self.tally.drop_for("too_many_copies");
                continue;
            }
            self.copies_left -= 1;
            self.send(port, class_of_service, bytes[..n_bytes].to_vec());
        }
    }

    fn send(&mut self, port: u32, class_of_service: u8, bytes: Vec<u8>) {
        if class_of_service >= self.setup.n_classes {
            self.tally.ignore("unknown_class_of_service");
        }
        let count = match port {
            port if port == self.setup.cpu_port => &mut self.tally.n_to_controller,
            port if self.setup.ports.contains(&port) => &mut self.tally.n_sent,
            _ => return self.tally.drop_for("no_such_port"),
        };
        *count += 1;
        self.leaving.push((port, bytes));
    }
}

impl<P: Program> Model for Paths<'_, P> {
    fn arrive(&mut self, port: u32, bytes: &[u8], now_ns: u64) -> Leaving {
        self.tally.n_received += 1;
        if port != self.setup.cpu_port && !self.setup.ports.contains(&port) {
            self.tally.drop_for("no_such_ingress_port");
            return Leaving::new();
        }
        self.copies_left = self.setup.copies_max;
        let direction = match self.setup.host_ports.contains(&port) {
            true => Direction::HostToNet,
            false => Direction::NetToHost,
        };
        self.waiting.push_back(Packet { port, direction, n_rounds: 0, now_ns, bytes: bytes.to_vec() });
        while let Some(packet) = self.waiting.pop_front() {
            self.pass(packet);
        }
        std::mem::take(&mut self.leaving)
    }

    fn tally(&self) -> &Tally {
        &self.tally
    }
}
