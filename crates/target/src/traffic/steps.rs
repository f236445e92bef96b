//! Runs the steps of an architecture's sections, which say what happens to packets between blocks.
//!
//! Where v1model's texts differ from the reference switch, or say nothing:
//! - resubmitted, recirculated and cloned packets keep port and time of arrival and have their length, as the
//!   text says (the switch has zeros); all other metadata starts afresh, but for the field list;
//! - `packet_length` in egress counts the headers that have become valid or invalid, as in the switch; programs do that
//!   themselves (`elaborate`), so that here the field is set on arrival only;
//! - a clone session cuts its clones when they leave, so that they are parsed whole.

use super::copies::{Begin, Clones};
use super::copy::{PacketCopy, Place, Position};
use super::{Switch, reason};
use crate::{BlockEnd, BlockRunner, CloneKind, CloneRequest, Preserve, Requests};
use arch::flow::{Atom, Condition, Contents, Effect, Onward, Request, Section, SendPort, Step};
use arch::{BlockRole, FieldRole, ParamRole, PassKind};

/// Knowledge of a packet while it runs its steps.
#[derive(Debug, Default)]
struct Pass {
    /// Requests of the blocks that have run.
    requests: Requests,
    /// The block runner has requests that are not in `requests`.
    has_more: bool,
    /// The parser has rejected the packet, and the program has no field for the error.
    is_rejected: bool,
}

impl<E: BlockRunner> Switch<E> {
    /// Goes on behind the block with a role, which has made these requests.
    pub(super) fn go_on_behind(
        &mut self,
        role: BlockRole,
        mut copy: PacketCopy<E::Packet>,
        requests: Requests,
        observer: &mut E::Observer<'_>,
    ) {
        let block = self.model.block(role);
        let runs = |step: &Step| matches!(step.effect, Effect::Run(run) if Some(run) == block);
        let behind = |(section, s): (usize, &Section)| {
            Some(Position { section, step: s.steps.iter().position(runs)? + 1 })
        };
        let Some(position) = self.model.sections.iter().enumerate().find_map(behind) else {
            return self.drop_packet(reason::NO_DESTINATION, observer);
        };
        copy.position = position;
        self.resume_copy(copy, requests, false, observer);
    }

    /// Resumes at the position of the copy, with the requests of the blocks that have run.
    pub(super) fn resume_copy(
        &mut self,
        mut copy: PacketCopy<E::Packet>,
        requests: Requests,
        is_rejected: bool,
        observer: &mut E::Observer<'_>,
    ) {
        copy.cut(&requests);
        self.run(copy, Pass { requests, is_rejected, has_more: false }, observer);
    }

    /// Runs the steps of a packet from its position, until one ends its way through the section.
    pub(super) fn run_steps(&mut self, copy: PacketCopy<E::Packet>, observer: &mut E::Observer<'_>) {
        self.run(copy, Pass::default(), observer);
    }

    fn run(&mut self, mut copy: PacketCopy<E::Packet>, mut pass: Pass, observer: &mut E::Observer<'_>) {
        let model = self.model;
        let section = model.sections.get(copy.position.section);
        let steps = section.map_or(&[][..], |section| &section.steps);
        while let Some(step) = steps.get(copy.position.step) {
            if let Effect::Run(block) = step.effect {
                if !self.holds(&step.when, &copy, &pass) {
                    copy.position.step += 1;
                    continue;
                }
                match self.run_block(block, &mut copy, observer) {
                    BlockEnd::Done | BlockEnd::Accepted => {}
                    BlockEnd::Waiting => {
                        let mut requests = pass.requests;
                        requests.add(self.runner.take_requests());
                        return self.wait(copy, requests);
                    }
                    BlockEnd::Stopped(why) => return self.drop_packet(why.name(), observer),
                    BlockEnd::Rejected(error) => {
                        pass.is_rejected = self.field(&copy, FieldRole::ParserError).is_none();
                        self.set(&mut copy, FieldRole::ParserError, u64::from(error));
                    }
                }
                pass.has_more = true;
                copy.position.step += 1;
                continue;
            }
            if std::mem::take(&mut pass.has_more) {
                pass.requests.add(self.runner.take_requests());
                copy.cut(&pass.requests);
            }
            copy.position.step += 1;
            if !self.holds(&step.when, &copy, &pass) {
                continue;
            }
            match &step.effect {
                Effect::Run(_) => {}
                Effect::SendDigests => {
                    self.store_digests(std::mem::take(&mut pass.requests.digests), observer);
                }
                Effect::Copy { contents, to, pass: kind, session, carry } => {
                    let request = match session {
                        Some(field) => Some(CloneRequest {
                            kind: CloneKind::Ingress,
                            session: self.number(&copy, *field),
                            preserve: Preserve::Nothing,
                        }),
                        None => pass.requests.clone.take(),
                    };
                    if let Some(mut request) = request {
                        request.preserve = carried(*carry).unwrap_or(request.preserve);
                        let clones = Clones { contents: *contents, to: *to, kind: *kind };
                        self.clone_packet(&copy, &request, clones, observer);
                    }
                }
                Effect::Multicast { group, priority, onward } => {
                    let priority = self.number(&copy, *priority);
                    let place = Place { section: onward.to, port: 0, instance: 0, priority };
                    let group = self.number(&copy, *group);
                    copy.kind = PassKind::Multicast;
                    self.begin_anew(&mut copy, onward, observer);
                    return self.multicast(copy, group, place, observer);
                }
                Effect::Queue { port, priority, onward } => {
                    let (port, priority) = (self.number(&copy, *port), self.number(&copy, *priority));
                    copy.kind = PassKind::Normal;
                    self.begin_anew(&mut copy, onward, observer);
                    let place = Place { section: onward.to, port, instance: 0, priority };
                    return self.enqueue(copy, place, observer);
                }
                Effect::Next(onward) => {
                    self.begin_anew(&mut copy, onward, observer);
                    copy.position = Position { section: onward.to, step: 0 };
                    return self.run(copy, pass, observer);
                }
                Effect::Again { contents, to, pass: kind, carry, port } => {
                    let preserve = match kind {
                        PassKind::Recirculated => pass.requests.recirculate,
                        _ => pass.requests.resubmit,
                    };
                    let preserve = carried(*carry).or(preserve).unwrap_or(Preserve::Nothing);
                    let begin = Begin { contents: *contents, to: *to, kind: *kind, port: *port };
                    return self.start_again(copy, begin, &preserve, observer);
                }
                Effect::Send { port, contents } => {
                    let port = match port {
                        SendPort::Arrival => copy.ingress_port,
                        SendPort::Queue => copy.queue_port,
                        SendPort::Field(role) => self.number(&copy, *role),
                    };
                    let bytes = match contents {
                        Contents::AsReceived => self.runner.take_bytes(copy.packet),
                        Contents::ParsedAgain | Contents::Headers | Contents::Deparsed => {
                            self.egress_bytes(&copy, observer)
                        }
                    };
                    return self.send(port, bytes, observer);
                }
                Effect::Drop(reason) => return self.drop_packet(reason, observer),
            }
        }
        // Descriptions are refused unless the last step of a section ends the way of every packet.
        self.drop_packet(reason::NO_DESTINATION, observer);
    }

    /// A packet whose variables all begin anew in the section to which it goes, with what it carries. Without contents it stays
    /// as it is.
    fn begin_anew(
        &mut self,
        copy: &mut PacketCopy<E::Packet>,
        onward: &Onward,
        observer: &mut E::Observer<'_>,
    ) {
        let bytes = match onward.contents {
            Contents::Headers => return,
            Contents::AsReceived | Contents::ParsedAgain => None,
            Contents::Deparsed => Some(self.egress_bytes(copy, observer)),
        };
        let saved = self.runner.save(&copy.packet, &carried(onward.carry).unwrap_or(Preserve::Nothing));
        if let Some(bytes) = bytes {
            self.runner.set_bytes(&mut copy.packet, bytes);
        }
        let kind = copy.kind;
        copy.position = Position { section: onward.to, step: 0 };
        self.restart(copy, kind);
        self.runner.restore(&mut copy.packet, &saved);
    }

    /// A field as a number; 0 when the program has no such field.
    fn number(&self, copy: &PacketCopy<E::Packet>, role: FieldRole) -> u32 {
        self.field(copy, role).unwrap_or(0) as u32
    }

    fn holds(&self, condition: &Condition, copy: &PacketCopy<E::Packet>, pass: &Pass) -> bool {
        let requests = &pass.requests;
        condition.0.iter().all(|term| {
            let holds = match term.atom {
                Atom::Requested(Request::Clone) => requests.clone.is_some(),
                Atom::Requested(Request::Resubmit) => requests.resubmit.is_some(),
                Atom::Requested(Request::Recirculate) => requests.recirculate.is_some(),
                Atom::Requested(Request::Drop) => requests.drop == Some(true),
                Atom::Rejected => pass.is_rejected,
                Atom::FromHost => self.sides.is_host_port(copy.ingress_port),
                Atom::Accepted => self.runner.accepted(&copy.packet) != Some(false),
                Atom::Verdict(wanted) => {
                    let value = self.field(copy, FieldRole::OutputAction);
                    value.and_then(|value| self.verdicts.get(value)) == Some(wanted)
                }
                Atom::Field(role) => self.field(copy, role).is_some_and(|value| value != 0),
                Atom::IsPort(role, number) => self.field(copy, role) == Some(u64::from(number)),
                Atom::IsDropPort(role) => {
                    let port = self.field(copy, role);
                    port.is_some() && port == self.model.drop_port.map(u64::from)
                }
            };
            holds != term.is_negated
        })
    }
}

/// The way to preserve a variable that goes along.
fn carried(role: Option<ParamRole>) -> Option<Preserve> {
    role.map(|role| Preserve::FieldList(ir::carried_list(role)))
}
