//! Random operations over a socket against small models: entities that come back, concurrent writers, controllers that go.

use crate::bench::*;
use crate::desk::Desk;
use crate::history::{Answer, Event, Operation, is_serialisable};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers that look random, and are the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    /// A number as bytes in the text format: its shortest spelling, and another one.
    fn bytes(&mut self, n: u64) -> (String, String) {
        let value = self.below(n);
        let all = value.to_be_bytes();
        let significant = &all[all.iter().position(|byte| *byte != 0).unwrap_or(7)..];
        let text = |bytes: &[u8]| bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect::<String>();
        (text(significant), format!("{}{}", "\\x00".repeat(self.below(3) as usize), text(significant)))
    }
}

/// An entity of some kind, whose key is a small number: as it is written, as it is read, and the question for it.
fn some_entity(numbers: &mut Numbers, kind: u64, key: u64) -> (String, String, String) {
    let (port, long_port) = numbers.bytes(512);
    let (b, long_b) = numbers.bytes(0x1_0000);
    let (narrow, long_narrow) = numbers.bytes(0x1000);
    let n = numbers.below(1000);
    let metadata =
        ["", "metadata: 'mine'", "metadata: '\\x00\\xff' controller_metadata: 7"][numbers.below(3) as usize];
    let forms = |frame: &dyn Fn(&str, &str, &str) -> String, question: String| {
        (frame(&long_port, &long_b, &long_narrow), frame(&port, &b, &narrow), question)
    };
    match kind {
        0 => {
            let matches = format!("exact(1,\\x07) exact(2,\\x0{key})");
            let has_timeout = numbers.below(2) * n;
            let (stamps, question) =
                (numbers.below(2) == 0, format!("table_entry {{ table_id: $pairs {matches} }}"));
            forms(
                &|port, b, narrow| {
                    let action = if stamps {
                        format!("do(stamp,{narrow},{b})")
                    } else {
                        format!("do(forward,{port})")
                    };
                    format!(
                        "table_entry {{ table_id: $pairs {matches} {action} {metadata} idle_timeout_ns: {has_timeout} }}"
                    )
                },
                question,
            )
        }
        1 => {
            let matches = match key % 4 {
                0 => String::new(),
                1 => format!("lpm(2,\\x0{key}\\x00\\x00\\x00,8)"),
                2 => format!("ternary(3,\\x0{key},\\x0f) range(4,\\x01,\\x0{key})"),
                _ => format!("optional(5,\\x0{key})"),
            };
            let matches = format!("exact(1,\\x0{key}) {matches}");
            let question = format!("table_entry {{ table_id: $kinds_of_match {matches} priority: 9 }}");
            forms(
                &|port, _, _| {
                    format!(
                        "table_entry {{ table_id: $kinds_of_match {matches} priority: 9 do(forward,{port}) {metadata} }}"
                    )
                },
                question,
            )
        }
        2 => forms(
            &|port, _, _| {
                format!(
                    "action_profile_member {{ action_profile_id: $choices member_id: {key} action {{ call(forward,{port}) }} }}"
                )
            },
            format!("action_profile_member {{ action_profile_id: $choices member_id: {key} }}"),
        ),
        3 => forms(
            &|port, _, _| {
                format!(
                    "packet_replication_engine_entry {{ multicast_group_entry {{ multicast_group_id: {key} replicas {{ port: '{port}' instance: {n} }} }} }}"
                )
            },
            format!(
                "packet_replication_engine_entry {{ multicast_group_entry {{ multicast_group_id: {key} }} }}"
            ),
        ),
        4 => forms(
            &|port, _, _| {
                format!(
                    "packet_replication_engine_entry {{ clone_session_entry {{ session_id: {key} replicas {{ port: '{port}' instance: {n} }} packet_length_bytes: {n} class_of_service: {} }} }}",
                    n % 8
                )
            },
            format!("packet_replication_engine_entry {{ clone_session_entry {{ session_id: {key} }} }}"),
        ),
        5 => forms(
            &|_, _, narrow| {
                format!(
                    "register_entry {{ register_id: $memory index {{ index: {} }} data {{ bitstring: '{narrow}' }} }}",
                    key - 1
                )
            },
            format!("register_entry {{ register_id: $memory index {{ index: {} }} }}", key - 1),
        ),
        6 => forms(
            &|_, _, _| {
                format!(
                    "counter_entry {{ counter_id: $cells index {{ index: {} }} data {{ packet_count: {n} byte_count: {} }} }}",
                    key - 1,
                    n * 64
                )
            },
            format!("counter_entry {{ counter_id: $cells index {{ index: {} }} }}", key - 1),
        ),
        7 => forms(
            &|_, _, _| {
                format!(
                    "meter_entry {{ meter_id: $rates index {{ index: {} }} config {{ cir: {n} cburst: 2 pir: {} pburst: 4 }} }}",
                    key - 1,
                    n + 1
                )
            },
            format!("meter_entry {{ meter_id: $rates index {{ index: {} }} }}", key - 1),
        ),
        _ => forms(
            &|_, b, _| {
                format!(
                    "value_set_entry {{ value_set_id: $pairs_of_parser members {{ exact(1,\\x0{key}) ternary(2,{b},\\xff\\xff) }} }}"
                )
            },
            "value_set_entry { value_set_id: $pairs_of_parser }".to_owned(),
        ),
    }
}

/// Entities of all kinds come back as they were written, in canonical bytes, and nothing else does.
pub fn what_is_written_comes_back(desk: &Desk) {
    let mut numbers = Numbers(7);
    let mut model: BTreeMap<String, pb::Entity> = BTreeMap::new();
    for round in 0..24 {
        let (mut updates, mut expected) = (Vec::new(), Vec::new());
        for _ in 0..12 {
            let kind = numbers.below(9);
            let key = 1 + numbers.below(8);
            let (written, read, question) = some_entity(&mut numbers, kind, key);
            // Cells and value sets are there already.
            let (exists, is_fixed) = (model.contains_key(&question), kind >= 5);
            let (verb, code) = match (numbers.below(3), exists) {
                _ if is_fixed => ("modify", Code::Ok),
                (0, false) | (1, _) => ("insert", if exists { Code::AlreadyExists } else { Code::Ok }),
                (0, true) => ("delete", Code::Ok),
                (_, _) => ("modify", if exists { Code::Ok } else { Code::NotFound }),
            };
            updates.push(format!("{verb} {written}"));
            expected.push(code);
            match (verb, code) {
                ("delete", _) => drop(model.remove(&question)),
                (_, Code::Ok) => drop(model.insert(question, desk.entity(&read))),
                _ => {}
            }
        }
        assert_eq!(
            desk.codes(&updates.iter().map(String::as_str).collect::<Vec<&str>>()),
            expected,
            "{updates:#?}"
        );
        // Each question alone, from time to time.
        for (question, entity) in model.iter().filter(|_| round % 6 == 5) {
            assert_eq!(desk.read(question), std::slice::from_ref(entity), "{question}");
        }
        let n_of_kind = |begin: &str| model.keys().filter(|question| question.starts_with(begin)).count();
        for (question, begin) in [
            ("table_entry { table_id: $pairs }", "table_entry { table_id: $pairs"),
            ("table_entry { table_id: $kinds_of_match }", "table_entry { table_id: $kinds"),
            ("action_profile_member {}", "action_profile_member"),
            (
                "packet_replication_engine_entry { multicast_group_entry {} }",
                "packet_replication_engine_entry { multicast",
            ),
            (
                "packet_replication_engine_entry { clone_session_entry {} }",
                "packet_replication_engine_entry { clone",
            ),
        ] {
            assert_eq!(desk.read(question).len(), n_of_kind(begin), "{question}");
        }
    }
    assert!(model.len() > 30, "{}", model.len());
}

const N_KEYS: u64 = 4;

/// One thread's operations on some entries, by key.
fn operate(desk: &Desk, clock: &AtomicU64, seed: u64, reads_only: bool) -> Vec<(u64, Event)> {
    let mut numbers = Numbers(seed);
    let mut events = Vec::new();
    for _ in 0..80 {
        let key = numbers.below(N_KEYS);
        let value = 1 + numbers.below(8) as u8;
        let operation = match (reads_only, numbers.below(4)) {
            (true, _) => Operation::Read,
            (false, 0) => Operation::Insert(value),
            (false, 1 | 2) => Operation::Modify(value),
            (false, _) => Operation::Delete,
        };
        let entry = format!("table_entry {{ table_id: $pairs exact(1,\\x07) exact(2,\\x0{key})");
        let update = match operation {
            Operation::Insert(value) => format!("insert {entry} do(forward,\\x0{value}) }}"),
            Operation::Modify(value) => format!("modify {entry} do(forward,\\x0{value}) }}"),
            Operation::Delete => format!("delete {entry} }}"),
            Operation::Read => format!("{entry} }}"),
        };
        let begin = clock.fetch_add(1, Ordering::SeqCst);
        let answer = if operation == Operation::Read {
            let found = desk.read(&update);
            Answer::Value(found.first().map(|entity| {
                let Some(Entity::TableEntry(entry)) = &entity.entity else { panic!("{entity:?}") };
                let Some(pb::table_action::Type::Action(action)) = &entry.action.as_ref().unwrap().r#type
                else {
                    panic!("{entry:?}")
                };
                action.params[0].value[0]
            }))
        } else {
            match desk.codes(&[&update])[0] {
                Code::Ok => Answer::Done,
                Code::AlreadyExists => Answer::AlreadyExists,
                Code::NotFound => Answer::NotFound,
                other => panic!("{update}: {other:?}"),
            }
        };
        let end = clock.fetch_add(1, Ordering::SeqCst);
        events.push((key, Event { operation, answer, begin, end }));
    }
    events
}

/// Three writers and a reader, on some entries.
pub fn histories_are_serialisable(desk: &Desk) {
    let clock = &AtomicU64::new(0);
    let events: Vec<(u64, Event)> = std::thread::scope(|scope| {
        let threads = [1, 2, 3, 4].map(|seed| scope.spawn(move || operate(desk, clock, seed, seed == 4)));
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    for key in 0..N_KEYS {
        let of_key: Vec<Event> =
            events.iter().filter(|(of, _)| *of == key).map(|(_, event)| *event).collect();
        assert!(of_key.len() > 50);
        assert!(is_serialisable(&of_key), "{of_key:#?}");
    }
}

/// The election of a role as a list of what has happened.
#[derive(Default)]
struct Role {
    highest: Option<u64>,
    primary: Option<usize>,
}

/// Controllers that bid, write and go in two roles, one after the other.
struct Controllers {
    bench: Bench,
    streams: [Option<(usize, Option<u64>, Controller)>; 3],
    roles: [Option<Role>; 2],
}

const ROLES: [&str; 2] = ["", "r"];

impl Controllers {
    /// All streams of a role but one hear that it has this primary.
    fn told(&mut self, role: usize, but: Option<usize>) {
        let Role { highest, primary } = *self.roles[role].as_ref().unwrap();
        for (i, stream) in self.streams.iter_mut().enumerate() {
            if let Some((of, _, controller)) = stream
                && *of == role
                && but != Some(i)
            {
                let status = match primary {
                    Some(primary) if primary == i => OK,
                    Some(_) => ALREADY_EXISTS,
                    None => NOT_FOUND,
                };
                assert_eq!(controller.notice(), (highest, status), "stream {i} of role {role}");
            }
        }
    }

    fn close(&mut self, i: usize, is_cut_off: bool) {
        let Some((role, _, controller)) = self.streams[i].take() else { return };
        let was_primary = self.roles[role].as_ref().unwrap().primary == Some(i);
        let has_others = self.streams.iter().flatten().any(|(of, _, _)| *of == role);
        // The server is known to have noticed if others hear of it.
        if is_cut_off && was_primary && has_others {
            drop(controller)
        } else {
            controller.finish()
        }
        if was_primary {
            self.roles[role].as_mut().unwrap().primary = None;
            self.told(role, None);
        }
    }

    fn bid(&mut self, i: usize, role: usize, id: Option<u64>) {
        if self.streams[i].is_none() {
            self.streams[i] = Some((role, None, self.bench.controller()));
        }
        let (of, _, controller) = self.streams[i].as_mut().unwrap();
        let of = *of;
        controller.arbitrate(ROLES[role], id);
        let is_used = self.streams.iter().enumerate().any(|(other, stream)| {
            stream
                .as_ref()
                .is_some_and(|(of, its, _)| other != i && *of == role && id.is_some() && *its == id)
        });
        if of != role || is_used {
            let (_, _, mut controller) = self.streams[i].take().unwrap();
            let expected = if of != role { Code::FailedPrecondition } else { Code::InvalidArgument };
            assert_eq!(code(&controller.next().unwrap_err()), expected);
            if let Some(state) = self.roles[of].as_mut().filter(|state| state.primary == Some(i)) {
                state.primary = None;
                self.told(of, None);
            }
            return;
        }
        self.streams[i].as_mut().unwrap().1 = id;
        let state = self.roles[role].get_or_insert_default();
        if id.is_some() && id >= state.highest {
            (state.highest, state.primary) = (id, Some(i));
            self.told(role, None);
        } else if state.primary == Some(i) {
            state.primary = None;
            self.told(role, None);
        } else {
            let (highest, primary) = (state.highest, state.primary);
            let status = if primary.is_some() { ALREADY_EXISTS } else { NOT_FOUND };
            let (_, _, controller) = self.streams[i].as_mut().unwrap();
            assert_eq!(controller.notice(), (highest, status));
        }
    }

    fn write(&self, role: usize, id: Option<u64>) {
        let outcome = self.bench.write_request(pb::WriteRequest {
            device_id: DEVICE,
            role: ROLES[role].to_owned(),
            election_id: id.map(uint128),
            ..pb::WriteRequest::default()
        });
        let expected = match &self.roles[role] {
            None if role > 0 => Some(Code::NotFound),
            None => Some(Code::PermissionDenied),
            Some(state) => {
                let elected = state.primary.and_then(|i| self.streams[i].as_ref()?.1);
                (elected.is_none() || elected != id).then_some(Code::PermissionDenied)
            }
        };
        assert_eq!(outcome.err().as_ref().map(code), expected, "role {role}, id {id:?}");
    }
}

/// Three controllers behave like their model. The highest election id is that of a primary before, which has gone.
pub fn controllers_behave_like_their_model(bench: Bench, highest: Option<u64>, seed: u64) {
    let mut all = Controllers { bench, streams: [None, None, None], roles: [None, None] };
    all.roles[0] = Some(Role { highest, primary: None });
    let mut numbers = Numbers(seed);
    for _ in 0..150 {
        let (i, role) = (numbers.below(3) as usize, usize::from(numbers.below(3) == 0));
        let id = (numbers.below(6) > 0).then(|| numbers.below(8));
        match numbers.below(6) {
            0..=2 => all.bid(i, role, id),
            3 => all.close(i, numbers.below(2) == 0),
            _ => all.write(role, id),
        }
    }
    for (_, _, controller) in all.streams.iter_mut().flatten() {
        assert!(controller.hears_nothing());
    }
}
