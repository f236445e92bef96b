//! The ways of packets through PSA: a model against both backends, for all combinations of decisions.
//!
//! `paths` is the model; `program` says what the program of this suite does, whose packets say in their first headers what
//! happens to them.

mod paths;
mod program;

use super::models::{self, Arrival, Compiled, Session, Setup, one_of};
use crate::corpus::{Corpus, Program};
use crate::runner::Verdict;
use paths::{CPU, Paths, RECIRCULATE};
use program::{EgressPlan, IngressPlan, ModelProgram, NEVER, PLANS_BYTES, Plans, Seed, class_and_number};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::OnceLock;

const TEXT: &str = include_str!("../../../models/psa.p4");

/// Makes the packets of a case, and what they need of the switch.
type Make = fn(&mut fastrand::Rng, &mut Setup) -> Vec<Arrival>;

const CASES: &[(&str, Make)] = &[
    ("ingress-from-port", |rng, _| all_of_ingress(rng, 0)),
    ("ingress-resubmitted", |rng, _| all_of_ingress(rng, 1)),
    ("ingress-recirculated", |rng, _| all_of_ingress(rng, 2)),
    ("egress-unicast", |rng, _| all_of_egress(rng, 0)),
    ("egress-multicast", |rng, _| all_of_egress(rng, 1)),
    ("egress-clone-i2e", |rng, _| all_of_egress(rng, 2)),
    ("egress-clone-e2e", |rng, _| all_of_egress(rng, 3)),
    ("arrival", arrivals),
    ("truncation", truncation),
    ("random", random),
    ("endless-resubmission", |rng, setup| endless(rng, setup, 1)),
    ("endless-recirculation", |rng, setup| endless(rng, setup, 2)),
    ("endless-clones", endless_clones),
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

fn compiled() -> Result<&'static Compiled, String> {
    static COMPILED: OnceLock<Result<Compiled, String>> = OnceLock::new();
    COMPILED.get_or_init(|| Compiled::new("psa.p4", TEXT)).as_ref().map_err(String::clone)
}

fn run(name: &str) -> Result<(), String> {
    let compiled = compiled()?;
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

const PORTS: [u32; 5] = [0, 1, 2, 3, 300];
/// Ports of every kind; the last one does not exist.
const ANY_PORT: [u32; 4] = [2, CPU, RECIRCULATE, 77];
/// The last one does not exist; 0 goes to the CPU.
const SESSIONS: [u16; 8] = [0, 1, 2, 3, 4, 5, 0xffff, 99];
/// No group, several replicas, with ports of every kind, empty; the last one does not exist.
const GROUPS: [u32; 5] = [0, 1, 0xffff_ffff, 3, 9];
/// The last two are not supported.
const CLASSES: [u8; 4] = [0, 5, 6, 200];

fn setup() -> Setup {
    let session = |replicas: &[(u32, u16)], class_of_service, truncate_bytes| Session {
        replicas: replicas.to_vec(),
        class_of_service,
        truncate_bytes,
    };
    Setup {
        ports: BTreeSet::from(PORTS),
        host_ports: BTreeSet::new(),
        cpu_port: CPU,
        sessions: BTreeMap::from([
            (1, session(&[(1, 7)], 3, 0)),
            (2, session(&[(1, 1), (300, 0xffff), (1, 2)], 5, PLANS_BYTES as u32 + 20)),
            (3, session(&[(RECIRCULATE, 3), (77, 4)], 200, 0)),
            (4, session(&[(3, 3), (CPU, 9)], 6, 60)),
            (5, session(&[], 0, 0)),
            (0xffff, session(&[(2, 0)], 0, 1)),
        ]),
        groups: BTreeMap::from([
            (1, vec![(1, 1), (2, 2), (2, 3)]),
            (0xffff_ffff, vec![(300, 0xfffe), (77, 1), (CPU, 0), (RECIRCULATE, 5)]),
            (3, vec![]),
        ]),
        n_classes: 6,
        rounds_max: 4,
        copies_max: 4096,
    }
}

fn any_ingress(rng: &mut fastrand::Rng, last_pass: u8) -> IngressPlan {
    IngressPlan {
        clone: rng.u8(0..4) == 0,
        drop: rng.u8(0..4),
        resubmit: rng.u8(0..4) == 0,
        last_pass,
        session: one_of(rng, &SESSIONS),
        group: if rng.bool() { 0 } else { one_of(rng, &GROUPS) },
        port: one_of(rng, &ANY_PORT),
        last_port: one_of(rng, &PORTS),
        class_of_service: one_of(rng, &CLASSES),
        refused: rng.u8(0..8) == 0,
    }
}

fn any_egress(rng: &mut fastrand::Rng, last_pass: u8) -> EgressPlan {
    EgressPlan {
        clone: rng.u8(0..4) == 0,
        drop: if rng.bool() { 0 } else { rng.u8(0..4) },
        refused: rng.u8(0..8) == 0,
        last_pass,
        session: one_of(rng, &SESSIONS),
    }
}

fn any_plans(rng: &mut fastrand::Rng, last_pass: u8) -> Plans {
    let mut plans = Plans::default();
    plans.ingress.iter_mut().for_each(|plan| *plan = any_ingress(rng, last_pass));
    plans.egress.iter_mut().for_each(|plan| *plan = any_egress(rng, last_pass));
    let seed = |rng: &mut fastrand::Rng| Seed {
        number: rng.u32(..),
        text: rng.bool().then(|| rng.u32(..) & 0x00ff_ffff),
    };
    plans.seeds.iter_mut().for_each(|each| *each = seed(rng));
    plans
}

fn arrival(rng: &mut fastrand::Rng, plans: &Plans) -> Arrival {
    let mut bytes = plans.to_bytes();
    bytes.extend((0..rng.usize(0..40)).map(|_| rng.u8(..)));
    Arrival { port: one_of(rng, &[0, 1, 2, 3, 300, CPU]), bytes }
}

/// All decisions of ingress on one of its paths; the packet comes there from a port.
fn all_of_ingress(rng: &mut fastrand::Rng, path: usize) -> Vec<Arrival> {
    let mut arrivals = Vec::new();
    let clones = [None].into_iter().chain(SESSIONS.map(Some));
    for session in clones {
        for (drop, resubmit) in (0..4).flat_map(|drop| [(drop, false), (drop, true)]) {
            for (group, port) in GROUPS.into_iter().flat_map(|group| ANY_PORT.map(|port| (group, port))) {
                let mut plans = any_plans(rng, 3);
                plans.ingress[0] =
                    IngressPlan { drop: 1, resubmit: path == 1, port: RECIRCULATE, ..Default::default() };
                plans.ingress[0].last_pass = NEVER;
                if path > 0 {
                    plans.egress[0] = EgressPlan { last_pass: NEVER, ..Default::default() };
                }
                let (clone, session) = (session.is_some(), session.unwrap_or(1));
                plans.ingress[path] =
                    IngressPlan { clone, session, drop, resubmit, group, port, ..any_ingress(rng, 4) };
                arrivals.push(arrival(rng, &plans));
            }
        }
    }
    arrivals
}

/// All decisions of egress on one of its paths.
fn all_of_egress(rng: &mut fastrand::Rng, path: usize) -> Vec<Arrival> {
    let mut arrivals = Vec::new();
    for session in [None].into_iter().chain(SESSIONS.map(Some)) {
        for (drop, refused) in (0..4).flat_map(|drop| [(drop, false), (drop, true)]) {
            for (port, way) in ANY_PORT.into_iter().flat_map(|port| [(port, 1), (port, 2), (port, 4)]) {
                let mut plans = any_plans(rng, 3);
                plans.ingress[0] = IngressPlan { drop: 1, port, last_pass: NEVER, ..any_ingress(rng, NEVER) };
                let first = &mut plans.ingress[0];
                (first.resubmit, first.clone, first.session) = (false, path == 2, way);
                first.group = if path == 1 { 1 } else { 0 };
                if path == 3 {
                    let clone = EgressPlan { clone: true, session: way, last_pass: 2, ..Default::default() };
                    plans.egress[0] = clone;
                }
                let (clone, session) = (session.is_some(), session.unwrap_or(1));
                plans.egress[path] = EgressPlan { clone, session, drop, refused, last_pass: 4 };
                arrivals.push(arrival(rng, &plans));
            }
        }
    }
    arrivals
}

/// Ports that exist and that do not, and packets that are too short for the parser.
fn arrivals(rng: &mut fastrand::Rng, _: &mut Setup) -> Vec<Arrival> {
    let mut arrivals = Vec::new();
    for port in [0, 1, 300, 4, 77, 511, CPU, RECIRCULATE, 0xffff_ffff] {
        for _ in 0..20 {
            let plans = any_plans(rng, 3);
            arrivals.push(Arrival { port, ..arrival(rng, &plans) });
        }
    }
    for n_bytes in 0..PLANS_BYTES + 2 {
        let mut bytes = any_plans(rng, 3).to_bytes();
        bytes.resize(n_bytes, 0xee);
        arrivals.push(Arrival { port: 1, bytes });
    }
    arrivals
}

/// Clones of every length, which may be too short for their parser.
fn truncation(rng: &mut fastrand::Rng, setup: &mut Setup) -> Vec<Arrival> {
    let mut arrivals = Vec::new();
    for n_bytes in 1..300_u16 {
        let (id, port) = (1000 + n_bytes, one_of(rng, &[1, CPU, RECIRCULATE]));
        let session = Session {
            replicas: vec![(port, 1), (2, 2)],
            truncate_bytes: n_bytes.into(),
            class_of_service: 1,
        };
        setup.sessions.insert(id, session);
        let mut plans = any_plans(rng, 3);
        let drop = one_of(rng, &[1, 2]);
        plans.ingress[0] = IngressPlan { clone: true, session: id, drop, port: 1, ..any_ingress(rng, NEVER) };
        arrivals.push(arrival(rng, &plans));
        plans.ingress[0] = IngressPlan { drop: 1, port: 1, last_pass: NEVER, ..Default::default() };
        plans.egress[0] = EgressPlan { clone: true, session: id, last_pass: NEVER, ..any_egress(rng, NEVER) };
        plans.egress[3] = EgressPlan { clone: true, session: id, last_pass: 4, ..any_egress(rng, 4) };
        arrivals.push(arrival(rng, &plans));
    }
    arrivals
}

fn random(rng: &mut fastrand::Rng, _: &mut Setup) -> Vec<Arrival> {
    let mut arrivals = Vec::new();
    for _ in 0..4000 {
        let last_pass = one_of(rng, &[0, 1, 2, 3, 4, 5]);
        let plans = any_plans(rng, last_pass);
        arrivals.push(arrival(rng, &plans));
    }
    arrivals
}

/// Packets that are resubmitted (path 1) or recirculated (path 2) until they have had too many rounds.
fn endless(rng: &mut fastrand::Rng, setup: &mut Setup, path: usize) -> Vec<Arrival> {
    setup.rounds_max = 30;
    let mut arrivals = Vec::new();
    for (clone, session) in [(false, 0), (true, 1), (true, 5)] {
        let mut plans = any_plans(rng, NEVER);
        for plan in [0, path] {
            let (resubmit, last_pass, port) = (path == 1, NEVER, RECIRCULATE);
            plans.ingress[plan] =
                IngressPlan { drop: 1, resubmit, last_pass, port, clone, session, ..Default::default() };
        }
        plans.egress.iter_mut().for_each(|plan| *plan = EgressPlan::default());
        arrivals.push(arrival(rng, &plans));
    }
    arrivals
}

/// A clone that makes a clone, and so on.
fn endless_clones(rng: &mut fastrand::Rng, setup: &mut Setup) -> Vec<Arrival> {
    setup.rounds_max = 10;
    setup.sessions.insert(20, Session { replicas: vec![(1, 1), (2, 2)], ..Session::default() });
    let mut arrivals = Vec::new();
    for session in [1, 0xffff, 20] {
        for drop in 0..4 {
            let mut plans = any_plans(rng, NEVER);
            plans.ingress[0] = IngressPlan { drop: 3, port: 3, last_pass: NEVER, ..Default::default() };
            for plan in [0, 3] {
                plans.egress[plan] =
                    EgressPlan { clone: true, session, drop, last_pass: NEVER, refused: false };
            }
            arrivals.push(arrival(rng, &plans));
        }
    }
    arrivals
}

/// Packets that want more copies than they may have. Which ones they get is left open, so that all copies are equal.
fn too_many_copies(rng: &mut fastrand::Rng, setup: &mut Setup) -> Vec<Arrival> {
    (setup.copies_max, setup.rounds_max) = (9, 64);
    setup.sessions.insert(20, Session { replicas: vec![(1, 1); 3], ..Session::default() });
    setup.groups.insert(20, vec![(2, 2); 12]);
    let mut arrivals = Vec::new();
    for (clone, group) in [(false, 20), (true, 0)] {
        let mut plans = any_plans(rng, NEVER);
        let (drop, port, last_pass) = (1, 1, NEVER);
        plans.ingress[0] = IngressPlan { drop, group, port, last_pass, ..Default::default() };
        for plan in &mut plans.egress {
            *plan = EgressPlan { clone, session: 20, drop: 2, last_pass, refused: false };
        }
        if !clone {
            plans.egress[1].drop = 0;
        }
        arrivals.push(arrival(rng, &plans));
    }
    arrivals
}

/// Packets with a number behind their headers, to few ports and in all classes, some of them with clones.
fn in_order(rng: &mut fastrand::Rng) -> Vec<Arrival> {
    let mut arrivals = Vec::new();
    for number in 0..400_u32 {
        let mut plans = any_plans(rng, NEVER);
        plans.ingress[0] =
            IngressPlan { drop: 1, port: rng.u32(1..3), last_pass: NEVER, ..Default::default() };
        plans.ingress[0].class_of_service = rng.u8(0..8);
        (plans.ingress[0].clone, plans.ingress[0].session) = (rng.bool(), 1);
        plans.egress.iter_mut().for_each(|plan| *plan = EgressPlan::default());
        let mut bytes = plans.to_bytes();
        bytes.extend(number.to_be_bytes());
        arrivals.push(Arrival { port: 0, bytes });
    }
    arrivals
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The model has another configuration than the switch.
    fn differs(change: impl Fn(&mut Setup)) -> String {
        let (mut rng, mut setup) = (models::seeded("random"), setup());
        let packets = random(&mut rng, &mut setup);
        let mut other = setup.clone();
        change(&mut other);
        let mut model = Paths::new(&other, ModelProgram);
        models::judge(compiled().unwrap(), &setup, &mut model, &packets).unwrap_err()
    }

    #[test]
    fn a_model_that_differs_is_noticed() {
        for message in [
            differs(|setup| setup.rounds_max -= 1),
            differs(|setup| setup.groups.get_mut(&1).unwrap()[0] = (1, 9)),
            differs(|setup| setup.sessions.get_mut(&2).unwrap().truncate_bytes += 1),
            differs(|setup| setup.sessions.get_mut(&2).unwrap().class_of_service = 0),
            differs(|setup| setup.n_classes = 7),
            differs(|setup| setup.ports.extend([77])),
        ] {
            assert!(message.starts_with("the interpreter: "), "{message}");
        }
    }
}
