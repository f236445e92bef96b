//! Controllers in shared memory: the same rules, entries and answers as over gRPC.

mod common;

use common::{Backend, Bench, DEVICE, all_entries, options, tables};
use control::Code;
use p4info::proto::google::rpc;
use p4info::proto::p4::v1 as pb;
use prost::Message;
use shm_client::wire::{Op, part};
use shm_client::{Error, Outcome, Session, Tables};
use std::time::Duration;

const BACKENDS: [Backend; 2] = [Backend::Interpreter, Backend::Native];

/// Entries of `lean` with these values of `b`, by the action `set`.
fn write_lean(session: &mut Session, tables: &Tables, op: Op, values: &[u16]) -> Outcome {
    let table = tables.table("lean").unwrap();
    let (a, b) = (table.key("probe.a").unwrap(), table.key("probe.b").unwrap());
    let set = table.action("set").unwrap();
    let mut batch = session.begin(tables.program, table, op, values.len()).unwrap();
    for (i, value) in values.iter().enumerate() {
        let mut record = batch.record(i);
        record.set_exact(a, &[0]).unwrap();
        record.set_exact(b, &value.to_be_bytes()).unwrap();
        record.set_action(set);
        record.set_param(set.param("b").unwrap(), &[0x0f, 0x00]).unwrap();
    }
    let number = batch.submit().unwrap();
    session.wait(number).unwrap()
}

fn codes(codes: &[Code]) -> Vec<u8> {
    codes.iter().map(|code| *code as u8).collect()
}

#[test]
fn each_entry_has_a_code() {
    for backend in BACKENDS {
        let bench = Bench::new(backend);
        let mut session = bench.open(1);
        assert!(session.is_primary());
        let tables = tables(&mut session, 0);
        let wrote = write_lean(&mut session, &tables, Op::Insert, &[1, 2, 0x100]);
        assert_eq!((wrote.code, wrote.n, wrote.n_failed), (0, 3, 0), "{wrote:?}");
        assert_eq!(bench.n_entries(), 3);
        // One exists, one is too wide for 12 bits, one is new.
        let wrote = write_lean(&mut session, &tables, Op::Insert, &[2, 0x1001, 3]);
        assert_eq!(wrote.codes, codes(&[Code::AlreadyExists, Code::OutOfRange, Code::Ok]));
        assert_eq!((wrote.code, wrote.n, wrote.n_failed), (Code::Unknown as u32, 3, 2));
        assert!(wrote.message.contains("record 0: ALREADY_EXISTS"), "{}", wrote.message);
        let wrote = write_lean(&mut session, &tables, Op::Modify, &[3, 9]);
        assert_eq!(wrote.codes, codes(&[Code::Ok, Code::NotFound]));
        let wrote = write_lean(&mut session, &tables, Op::Upsert, &[3, 9]);
        assert_eq!(wrote.n_failed, 0);
        let wrote = write_lean(&mut session, &tables, Op::Delete, &[3, 9, 10]);
        assert_eq!(wrote.codes, codes(&[Code::Ok, Code::Ok, Code::NotFound]));
        // 30 entries are the table's size.
        let many: Vec<u16> = (0x200..0x220).collect();
        let wrote = write_lean(&mut session, &tables, Op::Insert, &many);
        assert_eq!(wrote.n_failed, 5, "{wrote:?}");
        assert_eq!(wrote.codes[31], Code::ResourceExhausted as u8);
        assert_eq!(bench.n_entries(), 30);
        // An action that the table does not have, and one for default entries only.
        let table = tables.table("lean").unwrap();
        let mut batch = session.begin(tables.program, table, Op::Insert, 2).unwrap();
        batch.record(0).bytes()[table.action_at as usize] = 77;
        let shut = table.action("shut").unwrap().clone();
        batch.record(1).set_action(&shut);
        let number = batch.submit().unwrap();
        let wrote = session.wait(number).unwrap();
        assert_eq!(wrote.codes, codes(&[Code::InvalidArgument, Code::PermissionDenied]));
        assert_eq!(bench.n_entries(), 30);
    }
}

/// Values with zeros at all places are not cut.
#[test]
fn entries_are_those_that_were_written() {
    for backend in BACKENDS {
        let bench = Bench::new(backend);
        let mut session = bench.open(1);
        let tables = tables(&mut session, part::ALL);
        let wide = [0u8, 1, 0, 0, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0];
        // LPM over 136 bits.
        let table = tables.table("wide_prefixes").unwrap();
        let action = table.action("set_wide").unwrap();
        let mut batch = session.begin(tables.program, table, Op::Insert, 1).unwrap();
        let mut record = batch.record(0);
        record.set_exact(table.key("a").unwrap(), &[7]).unwrap();
        record.set_lpm(table.key("g").unwrap(), &wide[..5], 136).unwrap();
        record.set_action(action);
        record.set_param(action.param("c").unwrap(), &[3]).unwrap();
        record.set_param(action.param("g").unwrap(), &wide).unwrap();
        let number = batch.submit().unwrap();
        assert_eq!(session.wait(number).unwrap().n_failed, 0);
        // One of each kind of match.
        let table = tables.table("ranked").unwrap();
        let mut batch = session.begin(tables.program, table, Op::Insert, 1).unwrap();
        let mut record = batch.record(0);
        record.set_exact(table.key("a").unwrap(), &[0]).unwrap();
        record.set_pair(table.key("b").unwrap(), &[1, 0], &[0x0f, 0]).unwrap();
        record.set_pair(table.key("d").unwrap(), &[0], &[1, 0]).unwrap();
        record.set_exact(table.key("f").unwrap(), &[1, 0, 0]).unwrap();
        record.set_priority(5);
        record.set_action(table.action("none").unwrap());
        let number = batch.submit().unwrap();
        let wrote = session.wait(number).unwrap();
        assert_eq!(wrote.n_failed, 0, "{wrote:?}");
        // Counts and timeouts.
        let table = tables.table("counted").unwrap();
        assert_eq!(table.parts, part::IDLE_TIMEOUT | part::COUNT);
        let mut batch = session.begin(tables.program, table, Op::Insert, 1).unwrap();
        let mut record = batch.record(0);
        record.set_idle_timeout(1 << 40);
        record.set_count(0, 0);
        record.set_action(table.action("none").unwrap());
        let number = batch.submit().unwrap();
        let wrote = session.wait(number).unwrap();
        assert_eq!(wrote.n_failed, 0, "{wrote:?}");

        let entries: Vec<pb::TableEntry> = (bench.entities().into_iter())
            .map(|entity| match entity.entity {
                Some(pb::entity::Entity::TableEntry(entry)) => entry,
                other => panic!("{other:?}"),
            })
            .collect();
        let of = |name: &str| {
            let id = tables.table(name).unwrap().id;
            entries.iter().find(|entry| entry.table_id == id).unwrap()
        };
        let text = format!("{:?}", of("wide_prefixes"));
        assert!(text.contains("value: [1, 0, 0, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0]"), "{text}");
        assert!(text.contains("value: [1, 0, 0, 255], prefix_len: 136"), "{text}");
        let text = format!("{:?}", of("ranked"));
        assert!(text.contains("value: [1, 0], mask: [15, 0]"), "{text}");
        assert!(text.contains("low: [0], high: [1, 0]"), "{text}");
        assert!(text.contains("value: [1, 0, 0]"), "{text}");
        assert_eq!(of("ranked").priority, 5);
        assert_eq!(of("counted").idle_timeout_ns, 1 << 40);

        // The session reads the same as gRPC.
        let mut read = Vec::new();
        session
            .read(&all_entries().encode_to_vec(), |answer| {
                read.extend(pb::ReadResponse::decode(answer).unwrap().entities);
            })
            .unwrap();
        assert_eq!(read, bench.entities());
        assert_eq!(read.len(), 3);
    }
}

#[test]
fn requests_of_p4runtime_are_answered_as_over_grpc() {
    let bench = Bench::new(Backend::Interpreter);
    let mut session = bench.open(1);
    let table_id = bench.schema.tables.find("lean").unwrap().id.0;
    let action_id = bench.schema.actions.find("none").unwrap().id.0;
    let exact = |field_id, value: Vec<u8>| pb::FieldMatch {
        field_id,
        field_match_type: Some(pb::field_match::FieldMatchType::Exact(pb::field_match::Exact { value })),
    };
    let entry = |b: u8| pb::TableEntry {
        table_id,
        r#match: vec![exact(1, vec![1]), exact(2, vec![b])],
        action: Some(pb::TableAction {
            r#type: Some(pb::table_action::Type::Action(pb::Action { action_id, params: Vec::new() })),
        }),
        ..pb::TableEntry::default()
    };
    let update = |entry| pb::Update {
        r#type: pb::update::Type::Insert.into(),
        entity: Some(pb::Entity { entity: Some(pb::entity::Entity::TableEntry(entry)) }),
    };
    let request = |election_id: u64, updates| pb::WriteRequest {
        device_id: DEVICE,
        election_id: Some(pb::Uint128 { high: 0, low: election_id }),
        updates,
        ..pb::WriteRequest::default()
    };
    session.write(&request(1, vec![update(entry(1)), update(entry(2))]).encode_to_vec()).unwrap();
    assert_eq!(bench.n_entries(), 2);
    // Details have an error for each update.
    let failed = session.write(&request(1, vec![update(entry(2)), update(entry(3))]).encode_to_vec());
    let Err(Error::Refused { code, details, .. }) = failed else { panic!("{failed:?}") };
    assert_eq!(code, Code::Unknown as u32);
    let status = rpc::Status::decode(&details[..]).unwrap();
    let parts: Vec<pb::Error> =
        status.details.iter().map(|any| pb::Error::decode(&any.value[..]).unwrap()).collect();
    assert_eq!(parts.iter().map(|part| part.canonical_code).collect::<Vec<_>>(), [6, 0]);
    let failed = session.write(&request(7, vec![update(entry(4))]).encode_to_vec()).unwrap_err();
    assert_eq!(failed.code(), Code::PermissionDenied as u32, "{failed}");
    let failed = session.write(b"\xff\xff\xff").unwrap_err();
    assert_eq!(failed.code(), Code::InvalidArgument as u32, "{failed}");
    // Requests longer than a slot take several.
    let many = request(1, (0..1000).map(|_| update(entry(1))).collect()).encode_to_vec();
    assert!(many.len() > session.sizes().slot_bytes);
    let failed = session.write(&many);
    let Err(Error::Refused { details, .. }) = failed else { panic!("{failed:?}") };
    assert_eq!(rpc::Status::decode(&details[..]).unwrap().details.len(), 1000);
    let long = vec![0; session.sizes().slots_bytes() + 1];
    assert!(matches!(session.write(&long), Err(Error::TooLong(..))));
    assert_eq!(bench.n_entries(), 3);
}

#[test]
fn only_the_primary_writes() {
    let bench = Bench::new(Backend::Interpreter);
    let mut first = bench.open(5);
    let tables = tables(&mut first, 0);
    let mut second = bench.open(3);
    assert!(first.is_primary() && !second.is_primary());
    let wrote = write_lean(&mut second, &tables, Op::Insert, &[1]);
    assert_eq!((wrote.code, wrote.n), (Code::PermissionDenied as u32, 0));
    assert_eq!(write_lean(&mut first, &tables, Op::Insert, &[1]).code, 0);
    // Another controller has this election id.
    let refused = Session::open(bench.path(), &options(5)).unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument as u32);
    assert!(refused.to_string().contains("is already used"), "{refused}");
    let refused = Session::open(bench.path(), &shm_client::Options { device_id: 99, ..options(6) });
    assert_eq!(refused.unwrap_err().code(), Code::NotFound as u32);
    let nobody = shm_client::Options { election_id: None, ..options(0) };
    assert!(!Session::open(bench.path(), &nobody).unwrap().is_primary());
    // A higher one takes over, and the old one is told.
    let mut third = bench.open(9);
    assert!(third.is_primary());
    assert_eq!(write_lean(&mut first, &tables, Op::Insert, &[2]).code, Code::PermissionDenied as u32);
    assert_eq!(write_lean(&mut third, &tables, Op::Insert, &[2]).code, 0);
    let notices: Vec<i32> = std::iter::from_fn(|| first.next_message(Duration::from_millis(200)).unwrap())
        .map(|bytes| match pb::StreamMessageResponse::decode(&bytes[..]).unwrap().update {
            Some(pb::stream_message_response::Update::Arbitration(notice)) => notice.status.unwrap().code,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(notices, [0, 6]);
    // Bids of a stream count for records, too.
    let bid = pb::MasterArbitrationUpdate {
        device_id: DEVICE,
        election_id: Some(pb::Uint128 { high: 0, low: 20 }),
        ..pb::MasterArbitrationUpdate::default()
    };
    let bid = pb::StreamMessageRequest { update: Some(pb::stream_message_request::Update::Arbitration(bid)) };
    first.send(&bid.encode_to_vec()).unwrap();
    assert!(first.next_message(Duration::from_secs(10)).unwrap().is_some());
    assert_eq!(write_lean(&mut first, &tables, Op::Insert, &[3]).code, 0);
    // Each role has its own primary.
    let role = shm_client::Options { role: "other".to_owned(), ..options(1) };
    assert!(Session::open(bench.path(), &role).unwrap().is_primary());
    // Nobody follows one that has gone.
    drop(first);
    while bench.server().n_open() > 3 {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(write_lean(&mut third, &tables, Op::Insert, &[4]).code, Code::PermissionDenied as u32);
    assert!(bench.open(20).is_primary());
}
