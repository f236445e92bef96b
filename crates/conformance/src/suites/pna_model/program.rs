//! The program `models/pna.p4` in Rust, and the packets that say what it does.

use super::super::models::Waited;
use super::paths::{Call, Direction, End, Packet, Program};

pub(super) const CALLS_MAX: usize = 5;
pub(super) const PLANS_MAX: usize = 4;
const PLAN_BYTES: usize = 33;
const MARK_BYTES: usize = 25;
const MARKS_MAX: usize = 4;

/// The calls of one pass, and what else it decides.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    pub(super) class_of_service: u8,
    /// When the pre control asks for decryption: 1 always, 2 in pass 1, 3 if the parser refuses, 4 from port 2, others never.
    pub(super) decrypt: u8,
    /// The next pass gets the plan, too.
    pub(super) stays: bool,
    pub(super) refused: bool,
    /// At most [`CALLS_MAX`].
    pub(super) calls: Vec<Call>,
}

/// The bytes of a packet with at most [`PLANS_MAX`] plans.
pub(super) fn packet_bytes(plans: &[Plan], payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![plans.len() as u8];
    for Plan { class_of_service, decrypt, stays, refused, calls } in plans {
        bytes.extend([*class_of_service, *decrypt, u8::from(*stays) << 4 | u8::from(*refused)]);
        for i in 0..CALLS_MAX {
            let (function, slot, argument) = match calls.get(i) {
                None => (0, 0, 0),
                Some(Call::SendToPort(port)) => (1, 0, *port),
                Some(Call::DropPacket) => (2, 0, 0),
                Some(Call::Recirculate) => (3, 0, 0),
                Some(Call::MirrorPacket { slot, session }) => (4, *slot, u32::from(*session)),
            };
            bytes.extend([function, slot]);
            bytes.extend(argument.to_be_bytes());
        }
    }
    bytes.push(0);
    bytes.extend(payload);
    bytes
}

impl Plan {
    fn of_bytes(bytes: &[u8]) -> Plan {
        let call = |bytes: &[u8]| {
            let argument = u32::from_be_bytes([bytes[2], bytes[3], bytes[4], bytes[5]]);
            match bytes[0] {
                1 => Some(Call::SendToPort(argument)),
                2 => Some(Call::DropPacket),
                3 => Some(Call::Recirculate),
                4 => Some(Call::MirrorPacket { slot: bytes[1], session: argument as u16 }),
                _ => None,
            }
        };
        Plan {
            class_of_service: bytes[0],
            decrypt: bytes[1],
            stays: bytes[2] & 0xf0 != 0,
            refused: bytes[2] & 0x0f != 0,
            calls: bytes[3..].chunks(6).filter_map(call).collect(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ParserError {
    NoError,
    PacketTooShort,
    Refused,
    /// More plans or marks than there is room for.
    StackOutOfBounds,
}

/// Headers of a packet, as far as they could be parsed, and what is behind them.
#[derive(Debug)]
struct Parsed<'a> {
    n_plans: Option<u8>,
    plans: Vec<Vec<u8>>,
    n_marks: Option<u8>,
    marks: Vec<Vec<u8>>,
    payload: &'a [u8],
    error: ParserError,
}

fn parse(bytes: &[u8]) -> Parsed<'_> {
    let (plans, marks, error) = (Vec::new(), Vec::new(), ParserError::NoError);
    let mut parsed = Parsed { n_plans: None, plans, n_marks: None, marks, payload: bytes, error };
    parsed.error = extract_all(&mut parsed).err().unwrap_or(ParserError::NoError);
    parsed
}

fn extract_all(parsed: &mut Parsed<'_>) -> Result<(), ParserError> {
    let n_plans = parsed.extract(1)?[0];
    parsed.n_plans = Some(n_plans);
    for i in 0..usize::from(n_plans) {
        if i == PLANS_MAX {
            return Err(ParserError::StackOutOfBounds);
        }
        let plan = parsed.extract(PLAN_BYTES)?;
        parsed.plans.push(plan);
    }
    let n_marks = parsed.extract(1)?[0];
    parsed.n_marks = Some(n_marks);
    for i in 0..usize::from(n_marks) {
        if i == MARKS_MAX {
            return Err(ParserError::StackOutOfBounds);
        }
        let mark = parsed.extract(MARK_BYTES)?;
        parsed.marks.push(mark);
    }
    let is_refused = parsed.plans.first().is_some_and(|plan| Plan::of_bytes(plan).refused);
    if is_refused { Err(ParserError::Refused) } else { Ok(()) }
}

impl Parsed<'_> {
    fn extract(&mut self, n_bytes: usize) -> Result<Vec<u8>, ParserError> {
        let (header, rest) = self.payload.split_at_checked(n_bytes).ok_or(ParserError::PacketTooShort)?;
        self.payload = rest;
        Ok(header.to_vec())
    }

    /// The plan of this pass; `None` if the packet has none, or is too short.
    fn plan(&self) -> Option<Plan> {
        self.n_marks.and(self.plans.first()).map(|bytes| Plan::of_bytes(bytes))
    }

    fn deparse(&self) -> Vec<u8> {
        let plans = self.n_plans.iter().chain(self.plans.iter().flatten());
        let marks = self.n_marks.iter().chain(self.marks.iter().flatten());
        plans.chain(marks).chain(self.payload).copied().collect()
    }
}

/// Class of service and number, which are the payload of a packet.
pub(super) fn class_and_number(bytes: &[u8]) -> Option<Waited> {
    let [class_of_service, number @ ..] = *parse(bytes).payload.first_chunk::<5>()?;
    Some((class_of_service, u32::from_be_bytes(number), None))
}

/// `models/pna.p4`.
pub(super) struct ModelProgram;

impl Program for ModelProgram {
    fn decrypt(&self, packet: &Packet) -> bool {
        let parsed = parse(&packet.bytes);
        parsed.plan().is_some_and(|plan| match plan.decrypt {
            1 => true,
            2 => packet.pass() == 1,
            3 => parsed.error == ParserError::Refused,
            4 => packet.port == 2,
            _ => false,
        })
    }

    fn main(&self, packet: &Packet) -> End {
        let mut parsed = parse(&packet.bytes);
        let mut end = End { calls: Vec::new(), class_of_service: 0, bytes: Vec::new() };
        if let Some(plan) = parsed.plan() {
            if !plan.stays {
                parsed.plans.remove(0);
                parsed.n_plans = parsed.n_plans.map(|n| n - 1);
            }
            (end.calls, end.class_of_service) = (plan.calls, plan.class_of_service);
        }
        if let Some(n_marks) = &mut parsed.n_marks {
            let (direction, chosen) = match packet.direction {
                Direction::NetToHost => (1, 0x1122_u16),
                Direction::HostToNet => (2, 0x3344),
            };
            let mut mark = vec![direction, direction, packet.pass(), packet.pass()];
            mark.extend([packet.port.to_be_bytes(), packet.port.to_be_bytes()].concat());
            // Nothing is looped back, and the metadata of the program begins with zeros.
            mark.extend([0, parsed.error as u8, 0]);
            mark.extend(chosen.to_be_bytes());
            mark.extend(packet.now_ns.to_be_bytes());
            *n_marks = if *n_marks < MARKS_MAX as u8 { *n_marks + 1 } else { *n_marks };
            parsed.marks.insert(0, mark);
            parsed.marks.truncate(MARKS_MAX);
        }
        end.bytes = parsed.deparse();
        end
    }
}
