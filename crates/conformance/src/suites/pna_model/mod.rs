//! The ways of packets through PNA: a model against both backends, for all orders of what a main control may call.
//!
//! `paths` is the model; `program` says what the program of this suite does, whose packets say in their first headers what
//! happens to them.

mod paths;
mod program;

use super::models::{self, Arrival, Compiled, Session, Setup, one_of};
use crate::corpus::{Corpus, Program};
use crate::runner::Verdict;
use paths::{Call, Paths};
use program::{CALLS_MAX, ModelProgram, PLANS_MAX, Plan, class_and_number, packet_bytes};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::OnceLock;

const TEXT: &str = include_str!("../../../models/pna.p4");

/// Makes the packets of a case, and what they need of the switch.
type Make = fn(&mut fastrand::Rng, &mut Setup) -> Vec<Arrival>;

const CASES: &[(&str, Make)] = &[
    ("calls", all_calls),
    ("mirror-slots", mirror_slots),
    ("passes", passes),
    ("decrypt", decrypt),
    ("arrival", arrivals),
    ("truncation", truncation),
    ("random", random),
    ("endless-recirculation", endless),
    ("too-many-copies", too_many_copies),
];
/// Packets of one port and class of service leave in the order in which they came.
const ORDER: &str = "order";

pub(super) fn cases() -> Vec<Program> {
    let names = CASES.iter().map(|(name, _)| *name).chain([ORDER]);
    names.map(|name| Program { name: name.to_owned(), path: PathBuf::new() }).collect()
}

pub(super) fn judge(_: &Corpus, case: &Program) -> Verdict {
    match run(&case.name) {
        Ok(()) => Verdict::Pass,
        Err(reason) => Verdict::Fail(reason.replace('\n', " ")),
    }
}

fn run(name: &str) -> Result<(), String> {
    static COMPILED: OnceLock<Result<Compiled, String>> = OnceLock::new();
    let compiled =
        COMPILED.get_or_init(|| Compiled::new("pna.p4", &text())).as_ref().map_err(String::clone)?;
    let (mut rng, mut setup) = (models::seeded(name), setup());
    if name == ORDER {
        let packets = in_order(&mut rng);
        return models::judge_order(compiled, &setup, &packets, class_and_number);
    }
    let Some((_, make)) = CASES.iter().find(|(case, _)| *case == name) else {
        return Err("there is no such case".to_owned());
    };
    let packets = make(&mut rng, &mut setup);
    models::judge(compiled, &setup, &mut Paths::new(&setup, ModelProgram), &packets)
}

/// The text of the program, with an entry for each port, and for each slot and session: `pna.p4` wants them as action data.
fn text() -> String {
    let port = |port: u32| format!("{port}: to_port((PortId_t){port});");
    let ports: Vec<String> =
        PORTS.into_iter().chain(ANY_PORT).collect::<BTreeSet<u32>>().into_iter().map(port).collect();
    let all = SLOTS.into_iter().flat_map(|slot| SESSIONS.map(|session| (slot, session)));
    let mirror = |(slot, session): (u8, u16)| {
        format!("({slot}, {session}): mirror((MirrorSlotId_t){slot}, (MirrorSessionId_t){session});")
    };
    let mirrors: Vec<String> =
        all.chain(CUT_SESSIONS.map(|session| (CUT_SLOT, session))).map(mirror).collect();
    TEXT.replace("// Ports.", &ports.concat()).replace("// Mirrors.", &mirrors.concat())
}

const CPU: u32 = 0xffff_fffd;
/// Ports of the network, and of the host.
const PORTS: [u32; 6] = [0, 1, 2, 30, 31, 70_000];
const HOST_PORTS: [u32; 3] = [30, 31, 70_000];
/// Ports of every kind; the last one does not exist.
const ANY_PORT: [u32; 4] = [1, 31, CPU, 77];
/// The first one is reserved; the last one does not exist.
const SESSIONS: [u16; 8] = [0, 1, 2, 3, 4, 5, 0xffff, 99];
/// The last ones are beyond those that there are, and do not wrap.
const SLOTS: [u8; 13] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 255];
/// Sessions whose copies have `session - 1000` bytes, and the slot for them.
const CUT_SESSIONS: std::ops::Range<u16> = 1001..1120;
const CUT_SLOT: u8 = 6;
/// The last one is not supported.
const CLASSES: [u8; 3] = [0, 3, 200];

fn setup() -> Setup {
    let session = |replicas: &[(u32, u16)], class_of_service, truncate_bytes| Session {
        replicas: replicas.to_vec(),
        class_of_service,
        truncate_bytes,
    };
    Setup {
        ports: BTreeSet::from(PORTS),
        host_ports: BTreeSet::from(HOST_PORTS),
        cpu_port: CPU,
        sessions: BTreeMap::from([
            (0, session(&[(1, 1)], 0, 0)),
            (1, session(&[(2, 7)], 3, 0)),
            (2, session(&[(1, 1), (31, 0), (1, 2)], 200, 40)),
            (3, session(&[(77, 4), (CPU, 0)], 2, 0)),
            (4, session(&[], 0, 0)),
            (5, session(&[(2, 0); 3], 0, 0)),
            (0xffff, session(&[(30, 0)], 0, 1)),
        ]),
        groups: BTreeMap::new(),
        n_classes: 4,
        rounds_max: 10,
        copies_max: 4096,
    }
}

fn any_call(rng: &mut fastrand::Rng) -> Call {
    match rng.u8(0..6) {
        0 | 1 => Call::SendToPort(one_of(rng, &ANY_PORT)),
        2 => Call::DropPacket,
        3 => Call::Recirculate,
        _ => Call::MirrorPacket { slot: one_of(rng, &SLOTS), session: one_of(rng, &SESSIONS) },
    }
}

fn any_plan(rng: &mut fastrand::Rng) -> Plan {
    Plan {
        class_of_service: one_of(rng, &CLASSES),
        decrypt: if rng.u8(0..4) == 0 { rng.u8(0..8) } else { 0 },
        stays: rng.u8(0..8) == 0,
        refused: rng.u8(0..8) == 0,
        calls: (0..rng.usize(0..=CALLS_MAX)).map(|_| any_call(rng)).collect(),
    }
}

fn arrival(rng: &mut fastrand::Rng, plans: &[Plan]) -> Arrival {
    let payload: Vec<u8> = (0..rng.usize(0..40)).map(|_| rng.u8(..)).collect();
    Arrival { port: one_of(rng, &PORTS), bytes: packet_bytes(plans, &payload) }
}

/// Every order of up to three of these calls; the next pass sends the packet.
fn all_calls(rng: &mut fastrand::Rng, _: &mut Setup) -> Vec<Arrival> {
    let mirror = |slot, session| Some(Call::MirrorPacket { slot, session });
    let ports = ANY_PORT.map(|port| Some(Call::SendToPort(port)));
    let others =
        [None, Some(Call::DropPacket), Some(Call::Recirculate), mirror(3, 1), mirror(3, 2), mirror(7, 3)];
    let all: Vec<Option<Call>> = ports.into_iter().chain(others).collect();
    let mut arrivals = Vec::new();
    for first in &all {
        for second in &all {
            for third in &all {
                let calls = [first, second, third].into_iter().flatten().copied().collect();
                let next = Plan { calls: vec![Call::SendToPort(1)], ..Plan::default() };
                arrivals.push(arrival(rng, &[Plan { calls, ..Plan::default() }, next]));
            }
        }
    }
    arrivals
}

/// Two requests for each pair of slots and sessions, of packets that are sent, dropped or go nowhere.
fn mirror_slots(rng: &mut fastrand::Rng, _: &mut Setup) -> Vec<Arrival> {
    let mut arrivals = Vec::new();
    for (slot, other) in SLOTS.into_iter().flat_map(|slot| SLOTS.map(|other| (slot, other))) {
        for (session, second) in SESSIONS.into_iter().flat_map(|first| SESSIONS.map(|second| (first, second)))
        {
            let requests =
                [Call::MirrorPacket { slot, session }, Call::MirrorPacket { slot: other, session: second }];
            let end = [&[][..], &[Call::DropPacket], &[Call::SendToPort(1)]][rng.usize(0..3)];
            let calls = requests.iter().chain(end).copied().collect();
            arrivals.push(arrival(rng, &[Plan { calls, ..Plan::default() }]));
        }
    }
    arrivals
}

/// Packets that are recirculated so often that the number of the pass wraps; each pass mirrors them.
fn passes(rng: &mut fastrand::Rng, setup: &mut Setup) -> Vec<Arrival> {
    let mut arrivals = Vec::new();
    for rounds_max in [0, 1, 7, 8, 9, 20] {
        setup.rounds_max = rounds_max.max(setup.rounds_max);
        for port in PORTS {
            let calls =
                vec![Call::Recirculate, Call::MirrorPacket { slot: 0, session: 1 }, Call::SendToPort(1)];
            let plan = Plan { stays: true, calls, ..any_plan(rng) };
            arrivals.push(Arrival { port, ..arrival(rng, &[Plan { decrypt: 0, ..plan }]) });
        }
    }
    arrivals
}

/// Every condition of the pre control, for each port and with a second pass.
fn decrypt(rng: &mut fastrand::Rng, _: &mut Setup) -> Vec<Arrival> {
    let mut arrivals = Vec::new();
    for (decrypt, port) in (0..8).flat_map(|decrypt| PORTS.map(|port| (decrypt, port))) {
        for (refused, is_late) in [(false, false), (false, true), (true, false), (true, true)] {
            let calls = vec![Call::MirrorPacket { slot: 5, session: 1 }, Call::Recirculate];
            let first =
                Plan { decrypt: if is_late { 0 } else { decrypt }, refused, calls, ..Plan::default() };
            let calls = vec![Call::SendToPort(2)];
            let second = Plan { decrypt, refused: is_late && refused, calls, ..Plan::default() };
            arrivals.push(Arrival { port, ..arrival(rng, &[first, second]) });
        }
    }
    arrivals
}

/// Ports that exist and that do not, and packets that are too short for the parser.
fn arrivals(rng: &mut fastrand::Rng, _: &mut Setup) -> Vec<Arrival> {
    let mut arrivals = Vec::new();
    for port in PORTS.into_iter().chain([3, 77, CPU, 0xffff_ffff]) {
        for _ in 0..20 {
            let plans = [any_plan(rng), any_plan(rng)];
            arrivals.push(Arrival { port, ..arrival(rng, &plans) });
        }
    }
    let whole = packet_bytes(&[any_plan(rng), any_plan(rng), any_plan(rng)], b"behind");
    for n_bytes in 0..whole.len() {
        arrivals.push(Arrival { port: 1, bytes: whole[..n_bytes].to_vec() });
    }
    // More plans than there is room for.
    let plans: Vec<Plan> = (0..PLANS_MAX + 1).map(|_| any_plan(rng)).collect();
    arrivals.push(arrival(rng, &plans));
    arrivals
}

/// Copies of every length.
fn truncation(rng: &mut fastrand::Rng, setup: &mut Setup) -> Vec<Arrival> {
    let mut arrivals = Vec::new();
    for session in CUT_SESSIONS {
        let (replicas, n_bytes) = (vec![(2, 2), (CPU, 1)], session - 1000);
        let of_length = Session { replicas, truncate_bytes: n_bytes.into(), class_of_service: 1 };
        setup.sessions.insert(session, of_length);
        let calls = vec![Call::MirrorPacket { slot: CUT_SLOT, session }, Call::SendToPort(1)];
        arrivals.push(arrival(rng, &[Plan { calls, ..Plan::default() }]));
    }
    arrivals
}

fn random(rng: &mut fastrand::Rng, _: &mut Setup) -> Vec<Arrival> {
    let mut arrivals = Vec::new();
    for _ in 0..10_000 {
        let plans: Vec<Plan> = (0..rng.usize(0..=PLANS_MAX)).map(|_| any_plan(rng)).collect();
        arrivals.push(arrival(rng, &plans));
    }
    arrivals
}

/// Packets that are recirculated until they have had too many rounds.
fn endless(rng: &mut fastrand::Rng, setup: &mut Setup) -> Vec<Arrival> {
    setup.rounds_max = 33;
    let ends = [vec![], vec![Call::SendToPort(1)], vec![Call::DropPacket]];
    let plan = |end: Vec<Call>| {
        let calls = end.into_iter().chain([Call::Recirculate]).collect();
        Plan { stays: true, calls, ..Plan::default() }
    };
    ends.map(|end| arrival(rng, &[plan(end)])).into()
}

/// Packets that want more copies than they may have. All copies are equal, since the order is left open.
fn too_many_copies(rng: &mut fastrand::Rng, setup: &mut Setup) -> Vec<Arrival> {
    setup.copies_max = 7;
    let mirrors = (0..4).map(|slot| Call::MirrorPacket { slot, session: 5 });
    let calls: Vec<Call> = mirrors.chain([Call::SendToPort(1)]).collect();
    (0..3).map(|_| arrival(rng, &[Plan { calls: calls.clone(), ..Plan::default() }])).collect()
}

/// Packets whose payload is their class of service and a number, to few ports.
fn in_order(rng: &mut fastrand::Rng) -> Vec<Arrival> {
    let mut arrivals = Vec::new();
    for number in 0..400_u32 {
        let class_of_service = rng.u8(0..4);
        let calls = vec![Call::SendToPort(rng.u32(1..3))];
        let plan = Plan { class_of_service, calls, ..Plan::default() };
        let mut payload = vec![class_of_service];
        payload.extend(number.to_be_bytes());
        arrivals.push(Arrival { port: one_of(rng, &PORTS), bytes: packet_bytes(&[plan], &payload) });
    }
    arrivals
}
