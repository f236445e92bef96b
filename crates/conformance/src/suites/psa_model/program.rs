//! The program `models/psa.p4` in Rust, and the packets that say what it does.

use super::super::models::Waited;
use super::paths::{Egress, EgressEnd, Ingress, IngressEnd, Path, Program};

/// Lengths of the first headers: decisions of ingress and egress, values to carry.
const HEADERS_BYTES: [usize; 12] = [17, 17, 17, 3, 3, 3, 3, 8, 8, 8, 8, 8];
/// Length of the headers in front of the marks.
pub(super) const PLANS_BYTES: usize = 104;
const MARK_BYTES: usize = 53;
const MARKS_MAX: usize = 4;
/// The value of `last_pass` that no pass reaches.
pub(super) const NEVER: u8 = 15;

/// Decisions of ingress on one path.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IngressPlan {
    pub(super) clone: bool,
    /// 0: as ingress begins; 1: false; 2: true; 3: by the actions of `psa.p4`.
    pub(super) drop: u8,
    pub(super) resubmit: bool,
    pub(super) last_pass: u8,
    pub(super) session: u16,
    pub(super) group: u32,
    pub(super) port: u32,
    pub(super) last_port: u32,
    pub(super) class_of_service: u8,
    pub(super) refused: bool,
}

/// Decisions of egress on one path.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EgressPlan {
    pub(super) clone: bool,
    /// 0: as egress begins; 1: false; 2: true; 3: by the action of `psa.p4`.
    pub(super) drop: u8,
    pub(super) refused: bool,
    pub(super) last_pass: u8,
    pub(super) session: u16,
}

/// Content of carried metadata, in the order of the packet: normal, clone in ingress, clone in egress, resubmit, recirculate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seed {
    pub(super) number: u32,
    pub(super) text: Option<u32>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Plans {
    /// From a port, resubmitted, recirculated.
    pub(super) ingress: [IngressPlan; 3],
    /// Unicast, multicast, cloned in ingress, cloned in egress.
    pub(super) egress: [EgressPlan; 4],
    pub(super) seeds: [Seed; 5],
}

impl Plans {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(PLANS_BYTES);
        for plan in &self.ingress {
            let flags = u8::from(plan.clone) << 7 | plan.drop << 5 | u8::from(plan.resubmit) << 4;
            bytes.push(flags | plan.last_pass);
            bytes.extend(plan.session.to_be_bytes());
            for number in [plan.group, plan.port, plan.last_port] {
                bytes.extend(number.to_be_bytes());
            }
            bytes.extend([plan.class_of_service, u8::from(plan.refused)]);
        }
        for plan in &self.egress {
            let flags = u8::from(plan.clone) << 7 | plan.drop << 5 | u8::from(plan.refused) << 4;
            bytes.push(flags | plan.last_pass);
            bytes.extend(plan.session.to_be_bytes());
        }
        for Seed { number, text } in &self.seeds {
            bytes.extend(number.to_be_bytes());
            bytes.extend(&text.unwrap_or(0x00c0_ffee).to_be_bytes()[1..]);
            bytes.push(u8::from(text.is_some()));
        }
        bytes.push(0);
        bytes
    }
}

/// Metadata that goes from a deparser to a parser.
#[derive(Clone, Debug, Default)]
pub(super) struct Carried {
    /// The pass that begins there, from 0 on.
    pass: u8,
    /// Results of the functions of `psa.p4` about the way of the packet, one bit each.
    said: u8,
    number: u32,
    text: Option<u32>,
}

impl Carried {
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![self.pass, self.said];
        bytes.extend(self.number.to_be_bytes());
        bytes.push(u8::from(self.text.is_some()));
        bytes.extend(&self.text.unwrap_or(0).to_be_bytes()[1..]);
        bytes
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ParserError {
    NoError,
    PacketTooShort,
    Refused,
    /// More marks than there is room for.
    StackOutOfBounds,
}

/// Headers of a packet, as far as they could be parsed, and what is behind them.
#[derive(Debug)]
struct Parsed<'a> {
    headers: Vec<Vec<u8>>,
    n_marks: Option<u8>,
    marks: Vec<Vec<u8>>,
    payload: &'a [u8],
    error: ParserError,
}

fn parse(bytes: &[u8]) -> Parsed<'_> {
    let mut parsed = Parsed {
        headers: Vec::new(),
        n_marks: None,
        marks: Vec::new(),
        payload: bytes,
        error: ParserError::NoError,
    };
    if let Err(error) = extract_all(&mut parsed) {
        parsed.error = error;
    }
    parsed
}

fn extract_all(parsed: &mut Parsed<'_>) -> Result<(), ParserError> {
    for n_bytes in HEADERS_BYTES {
        let header = parsed.extract(n_bytes)?;
        parsed.headers.push(header);
    }
    let n_marks = parsed.extract(1)?[0];
    parsed.n_marks = Some(n_marks);
    for _ in 0..n_marks {
        if parsed.marks.len() == MARKS_MAX {
            return Err(ParserError::StackOutOfBounds);
        }
        let mark = parsed.extract(MARK_BYTES)?;
        parsed.marks.push(mark);
    }
    Ok(())
}

impl Parsed<'_> {
    fn extract(&mut self, n_bytes: usize) -> Result<Vec<u8>, ParserError> {
        let (header, rest) = self.payload.split_at_checked(n_bytes).ok_or(ParserError::PacketTooShort)?;
        self.payload = rest;
        Ok(header.to_vec())
    }

    /// Decisions of ingress; `None` if the packet is too short.
    fn ingress_plan(&self, i: usize) -> Option<IngressPlan> {
        self.n_marks?;
        let bytes = self.headers.get(i)?;
        let number = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        Some(IngressPlan {
            clone: bytes[0] & 0x80 != 0,
            drop: bytes[0] >> 5 & 3,
            resubmit: bytes[0] & 0x10 != 0,
            last_pass: bytes[0] & 15,
            session: u16::from_be_bytes([bytes[1], bytes[2]]),
            group: number(3),
            port: number(7),
            last_port: number(11),
            class_of_service: bytes[15],
            refused: bytes[16] == 1,
        })
    }

    fn egress_plan(&self, i: usize) -> Option<EgressPlan> {
        self.n_marks?;
        let bytes = self.headers.get(3 + i)?;
        Some(EgressPlan {
            clone: bytes[0] & 0x80 != 0,
            drop: bytes[0] >> 5 & 3,
            refused: bytes[0] & 0x10 != 0,
            last_pass: bytes[0] & 15,
            session: u16::from_be_bytes([bytes[1], bytes[2]]),
        })
    }

    /// Metadata that goes along with the packet to its next pass.
    fn carried(&self, i: usize, pass: u8, said: u8) -> Carried {
        let carried = Carried { pass: pass + 1, said, ..Carried::default() };
        let Some(bytes) = self.headers.get(7 + i) else { return carried };
        let number = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let text = u32::from_be_bytes([0, bytes[4], bytes[5], bytes[6]]);
        Carried { number, text: (bytes[7] == 1).then_some(text), ..carried }
    }

    /// Puts a mark in front of the others, of which the last falls off if there are too many.
    fn add_mark(&mut self, mark: Vec<u8>) {
        let n_marks = self.n_marks.unwrap_or(0);
        self.n_marks = Some(if n_marks < MARKS_MAX as u8 { n_marks + 1 } else { n_marks });
        self.marks.insert(0, mark);
        self.marks.truncate(MARKS_MAX);
    }

    fn deparse(&self) -> Vec<u8> {
        let headers = self.headers.iter().flatten().chain(&self.n_marks).chain(self.marks.iter().flatten());
        headers.chain(self.payload).copied().collect()
    }
}

fn number_of(path: Path) -> u8 {
    match path {
        Path::Normal => 1,
        Path::NormalUnicast => 2,
        Path::NormalMulticast => 3,
        Path::CloneI2e => 4,
        Path::CloneE2e => 5,
        Path::Resubmit => 6,
        Path::Recirculate => 7,
    }
}

/// Metadata of a pass, as its mark shows it.
struct Given {
    path: Path,
    port: u32,
    instance: u16,
    class_of_service: u8,
    error: ParserError,
    now_ns: u64,
}

fn mark(given: &Given, seen: [&Carried; 3]) -> Vec<u8> {
    let mut bytes = vec![number_of(given.path); 2];
    bytes.extend(given.port.to_be_bytes());
    bytes.extend(given.port.to_be_bytes());
    bytes.extend(given.instance.to_be_bytes());
    // The metadata of the program begins with zeros.
    bytes.extend([given.class_of_service, given.error as u8, 0]);
    bytes.extend(given.now_ns.to_be_bytes());
    bytes.extend(seen.iter().flat_map(|carried| carried.to_bytes()));
    bytes
}

/// Class of service, number and time of the last mark's pass, if that was one of a packet to one port.
pub(super) fn class_and_number(bytes: &[u8]) -> Option<Waited> {
    let parsed = parse(bytes);
    let mark = parsed.marks.first()?;
    let number = u32::from_be_bytes(*parsed.payload.first_chunk()?);
    let pass_ns = u64::from_be_bytes(*mark.get(15..)?.first_chunk()?);
    (mark[0] == number_of(Path::NormalUnicast)).then_some((mark[12], number, Some(pass_ns)))
}

/// `models/psa.p4`.
pub(super) struct ModelProgram;

impl Program for ModelProgram {
    type Carried = Carried;

    fn ingress(&self, packet: &Ingress<Carried>) -> IngressEnd<Carried> {
        let (i, pass) = match packet.path {
            Path::Resubmit => (1, packet.resubmit.pass),
            Path::Recirculate => (2, packet.recirculate.pass),
            _ => (0, 0),
        };
        let mut parsed = parse(&packet.bytes);
        let mut end = IngressEnd {
            clone: false,
            clone_session_id: 0,
            drop: true,
            resubmit: false,
            multicast_group: 0,
            egress_port: 0,
            class_of_service: 0,
            clone_i2e: Carried::default(),
            resubmitted: Carried::default(),
            normal: Carried::default(),
            bytes: Vec::new(),
        };
        if let Some(plan) = parsed.ingress_plan(i) {
            if plan.refused && parsed.error == ParserError::NoError {
                parsed.error = ParserError::Refused;
            }
            if plan.last_pass != NEVER && pass >= plan.last_pass {
                (end.drop, end.egress_port) = (false, plan.last_port);
            } else {
                end.clone = plan.clone;
                end.clone_session_id = if plan.clone { plan.session } else { 0 };
                end.drop = plan.drop == 0 || plan.drop == 2;
                end.resubmit = plan.resubmit;
                (end.multicast_group, end.egress_port) = (plan.group, plan.port);
            }
            end.class_of_service = plan.class_of_service;
            let Ingress { path, port, now_ns, .. } = *packet;
            let error = parsed.error;
            let given = Given { path, port, instance: 0, class_of_service: 0, error, now_ns };
            let seen = [&packet.resubmit, &packet.recirculate, &Carried::default()];
            parsed.add_mark(mark(&given, seen));
        }
        let ways = [end.clone, !end.drop && end.resubmit, !end.drop && !end.resubmit];
        let said = u8::from(ways[0]) | u8::from(ways[1]) << 1 | u8::from(ways[2]) << 2;
        let carried = |way: bool, i| if way { parsed.carried(i, pass, said) } else { Carried::default() };
        (end.clone_i2e, end.resubmitted, end.normal) =
            (carried(ways[0], 1), carried(ways[1], 3), carried(ways[2], 0));
        end.bytes = parsed.deparse();
        end
    }

    fn egress(&self, packet: &Egress<Carried>) -> EgressEnd<Carried> {
        let (i, pass) = match packet.path {
            Path::NormalMulticast => (1, packet.normal.pass),
            Path::CloneI2e => (2, packet.clone_i2e.pass),
            Path::CloneE2e => (3, packet.clone_e2e.pass),
            _ => (0, packet.normal.pass),
        };
        let mut parsed = parse(&packet.bytes);
        let mut end = EgressEnd {
            clone: false,
            clone_session_id: 0,
            drop: false,
            clone_e2e: Carried::default(),
            recirculated: Carried::default(),
            bytes: Vec::new(),
        };
        if let Some(plan) = parsed.egress_plan(i) {
            if plan.refused && parsed.error == ParserError::NoError {
                parsed.error = ParserError::Refused;
            }
            end.clone = plan.clone && (plan.last_pass == NEVER || pass < plan.last_pass);
            end.clone_session_id = plan.session;
            end.drop = plan.drop >= 2;
        }
        let Egress { path, port, instance, class_of_service, now_ns, .. } = *packet;
        let given = Given { path, port, instance, class_of_service, error: parsed.error, now_ns };
        parsed.add_mark(mark(&given, [&packet.normal, &packet.clone_i2e, &packet.clone_e2e]));
        let ways = [end.clone, !end.drop && port == super::paths::RECIRCULATE];
        let said = u8::from(ways[0]) | u8::from(ways[1]) << 1;
        let carried = |way: bool, i| if way { parsed.carried(i, pass, said) } else { Carried::default() };
        (end.clone_e2e, end.recirculated) = (carried(ways[0], 2), carried(ways[1], 4));
        end.bytes = parsed.deparse();
        end
    }
}
