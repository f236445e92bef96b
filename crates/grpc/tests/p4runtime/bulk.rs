//! Entries in columns: they are those of P4Runtime, under the same rules.

use crate::bench::{Action, Bench, Code, DEVICE};
use crate::desk::{Desk, LINES};
use grpc::{Client, ServerAddress};
use p4info::proto::p4::v1 as p4;
use p4info::proto::siding::bulk::v1 as pb;
use pb::read_request::Mode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// Entries of each kind that columns have, and one that they do not.
const ENTRIES: [&str; 9] = [
    "table_entry { table_id: $pairs exact(1,\\x01) exact(2,\\x01) do(forward,\\x05) idle_timeout_ns: 7 \
     metadata: \"one\" }",
    "table_entry { table_id: $pairs exact(1,\\x01) exact(2,\\x01\\x02) do(stamp,\\x0f\\xff,\\x01\\x00) }",
    "table_entry { table_id: $kinds_of_match exact(1,\\x01) lpm(2,\\x0a\\x00\\x00\\x00,8) \
     ternary(3,\\x01,\\x0f) range(4,\\x01,\\x09) optional(5,\\x03) priority: 3 do(forward,\\x01) }",
    "table_entry { table_id: $kinds_of_match exact(1,\\x02) priority: 2 do(drop) }",
    "table_entry { table_id: $prefixes lpm(1,\\x0a\\x00\\x00\\x00,8) do(forward,\\x01) }",
    "table_entry { table_id: $limits_table exact(1,\\x01) do(limited,\\x01) \
     meter_config { cir: 5 cburst: 6 pir: 7 pburst: 8 } }",
    "table_entry { table_id: $limits_table exact(1,\\x02) do(unlimited,\\x02) }",
    "table_entry { table_id: $started exact(1,\\x05) do(forward,\\x03) }",
    "table_entry { table_id: $free_balanced exact(1,\\x01) action { action_profile_action_set { \
     action_profile_actions { action { action_id: $forward params { param_id: 1 value: \"\\x01\" } } weight: 1 } } } }",
];

fn client(bench: &Bench) -> Client {
    let address: ServerAddress = bench.server().address().to_string().parse().unwrap();
    Client::connect(&address, None).unwrap()
}

fn desk_with_entries() -> Desk {
    let desk = Desk::new();
    for entry in ENTRIES {
        desk.write(&[&format!("insert {entry}")]);
    }
    desk
}

fn read(client: &Client, mode: Mode) -> Vec<pb::Chunk> {
    let request = pb::ReadRequest { device_id: DEVICE, mode: mode.into(), ..pb::ReadRequest::default() };
    let mut chunks = Vec::new();
    client
        .bulk_read(request, |chunk| {
            chunks.push(chunk);
            true
        })
        .unwrap();
    chunks
}

fn write(client: &Client, chunks: Vec<pb::Chunk>) -> Vec<pb::Done> {
    let mut answers = Vec::new();
    let program = client.bulk_layout(DEVICE).unwrap().program;
    let addressed = chunks.into_iter().zip(0..).map(move |(chunk, number)| pb::Chunk {
        device_id: DEVICE,
        program: if chunk.program == 1 { 1 } else { program },
        number,
        ..chunk
    });
    client
        .bulk_write(addressed.collect::<Vec<_>>().into_iter(), |done| {
            answers.push(done);
            true
        })
        .unwrap();
    assert!(answers.iter().zip(0..).all(|(done, number)| done.number == number));
    answers
}

/// Entries of all tables, in any order.
fn entries(desk: &Desk) -> Vec<p4::Entity> {
    let mut found = desk.read("table_entry { meter_config {} }");
    found.sort_by_key(|entity| format!("{entity:?}"));
    found
}

#[test]
fn a_dump_makes_an_equal_switch() {
    let from = desk_with_entries();
    for mode in [Mode::Snapshot, Mode::Scan] {
        let chunks = read(&client(&from), mode);
        let to = Desk::new();
        // The program has put this one there.
        to.write(&["delete table_entry { table_id: $started exact(1,\\x62) }"]);
        let answers = write(&client(&to), chunks);
        let failures: Vec<_> =
            answers.iter().filter(|done| done.n_failed > 0 || done.status.is_some()).collect();
        assert!(failures.is_empty(), "{failures:?}");
        assert_eq!(entries(&to), entries(&from), "{mode:?}");
        assert!(entries(&to).len() > ENTRIES.len());
    }
}

/// The sets of a table in a dump, with another op.
fn set_of(desk: &Desk, table: &str, op: pb::Op) -> pb::TableSet {
    let id = desk.entity(&format!("table_entry {{ table_id: ${table} }}"));
    let Some(p4::entity::Entity::TableEntry(entry)) = id.entity else { unreachable!() };
    let chunks = read(&client(desk), Mode::Snapshot);
    let sets = chunks.into_iter().flat_map(|chunk| chunk.sets);
    let set = sets.into_iter().find(|set| set.table_id == entry.table_id).unwrap();
    pb::TableSet { op: op.into(), ..set }
}

fn write_set(desk: &Desk, set: pb::TableSet) -> pb::Done {
    let report = pb::Report::Codes.into();
    write(&client(desk), vec![pb::Chunk { sets: vec![set], report, ..pb::Chunk::default() }]).remove(0)
}

#[test]
fn each_entry_has_a_code() {
    let desk = desk_with_entries();
    let pairs = |op| set_of(&desk, "pairs", op);
    let again = write_set(&desk, pairs(pb::Op::Insert));
    assert_eq!((again.n_ok, again.n_failed), (0, 2));
    assert_eq!(again.codes.to_vec(), [Code::AlreadyExists as u8; 2]);
    let message = &again.failures[0].message;
    assert!(message.ends_with("`a` = 1, `b` = 1 exists already (in sets[0])"), "{message}");
    assert_eq!(write_set(&desk, pairs(pb::Op::Modify)).n_ok, 2);
    assert_eq!(write_set(&desk, pairs(pb::Op::Upsert)).n_ok, 2);
    let before = entries(&desk);
    let delete = pairs(pb::Op::Delete);
    assert_eq!(write_set(&desk, delete.clone()).n_ok, 2);
    let gone = write_set(&desk, delete);
    assert_eq!(gone.codes.to_vec(), [Code::NotFound as u8; 2]);
    assert_eq!(entries(&desk).len(), before.len() - 2);
    // One value is too wide, the other one is not.
    let mut set = set_of(&desk_with_entries(), "kinds_of_match", pb::Op::Delete);
    set.keys[1].second = Some(fixed(&[8, 33]));
    // Nobody looks at a slot of an element that is absent.
    set.keys[1].present = vec![0b01].into();
    let absent = write_set(&desk_with_entries(), set.clone());
    assert!(!absent.failures.iter().any(|of| of.message.contains("33 bits")), "{absent:?}");
    set.keys[1].present = Vec::new().into();
    let done = write_set(&desk, set);
    assert_eq!(done.codes.to_vec(), [Code::Ok as u8, Code::InvalidArgument as u8]);
    assert!(done.failures[0].message.contains("a prefix of 33 bits is longer than the element"));
}

fn fixed(bytes: &[u8]) -> pb::Column {
    let values = Some(pb::column::Values::Fixed(bytes.to_vec().into()));
    pb::Column { values, ends: Vec::new().into() }
}

/// A set whose columns are wrong changes nothing, and the sets around it are applied.
#[test]
fn wrong_columns_fail_their_set() {
    let desk = desk_with_entries();
    let good = set_of(&desk, "prefixes", pb::Op::Modify);
    let set = set_of(&desk, "pairs", pb::Op::Delete);
    let insert = set_of(&desk, "pairs", pb::Op::Upsert);
    let with = |of: &pb::TableSet, change: &dyn Fn(&mut pb::TableSet)| {
        let mut set = of.clone();
        change(&mut set);
        set
    };
    let cases: Vec<(&str, pb::TableSet)> = vec![
        ("`op` is not set", with(&set, &|set| set.op = 0)),
        ("`op` has the unknown value 9", with(&set, &|set| set.op = 9)),
        ("3 values of 1 bytes are 3 bytes, not 2", with(&set, &|set| set.n = 3)),
        ("at most, not 20000", with(&set, &|set| set.n = 20_000)),
        ("the program has no table with id 0x02000001", with(&set, &|set| set.table_id = 0x0200_0001)),
        ("the column is missing", with(&set, &|set| set.keys[0].value = None)),
        ("the table has no key element 9", with(&set, &|set| set.keys[0].field_id = 9)),
        ("the key element comes twice", with(&set, &|set| set.keys[1].field_id = 1)),
        ("an exact key element is missing", with(&set, &|set| drop(set.keys.pop()))),
        (
            "an exact key element has values only",
            with(&set, &|set| set.keys[0].second = Some(fixed(&[1, 1]))),
        ),
        ("entries of the table have no priority", with(&set, &|set| set.priority = Some(fixed(&[0; 8])))),
        ("`actions` is not set", with(&insert, &|set| set.actions.clear())),
        ("an index for each entry", with(&insert, &|set| set.choice = vec![0].into())),
        ("there is no action set 7", with(&insert, &|set| set.choice = vec![0, 7].into())),
        ("the action has 1 parameters, not 0", with(&insert, &|set| set.actions[0].params.clear())),
        (
            "the table has no action 0x01000001",
            with(&insert, &|set| {
                set.actions[0].kind = Some(pb::action_set::Kind::ActionId(0x0100_0001));
            }),
        ),
        (
            "entries of the table name actions",
            with(&insert, &|set| {
                set.actions[0].kind = Some(pb::action_set::Kind::Members(fixed(&[0, 0, 0, 1])));
            }),
        ),
        ("the table has no direct meter", with(&insert, &|set| set.meter = Some(fixed(&[0; 80])))),
        (
            "2 values of 8 bytes are 16 bytes, not 15",
            with(&insert, &|set| {
                set.idle_timeout = Some(fixed(&[0; 15]));
            }),
        ),
    ];
    let before = entries(&desk);
    for (words, set) in cases {
        let n = u64::from(set.n);
        let sets = vec![good.clone(), set, good.clone()];
        let chunk = pb::Chunk { sets, report: pb::Report::Failures.into(), ..pb::Chunk::default() };
        let done = write(&client(&desk), vec![chunk]).remove(0);
        assert_eq!((done.n_ok, done.n_failed), (2, n), "{words}: {done:?}");
        let message = &done.failures[0].message;
        assert!(message.contains(words) && message.contains("sets[1]"), "{message}");
        assert_eq!(entries(&desk), before, "{words}");
    }
}

#[test]
fn a_chunk_is_refused_as_a_whole() {
    let mut desk = desk_with_entries();
    let set = set_of(&desk, "pairs", pb::Op::Delete);
    let chunk = pb::Chunk { sets: vec![set], ..pb::Chunk::default() };
    let refused = |desk: &Desk, chunk: pb::Chunk| {
        let status = write(&client(desk), vec![chunk]).remove(0).status.unwrap();
        (Code::of_number(status.code), status.message)
    };
    // The program with this number does not run.
    let (code, message) = refused(&desk, pb::Chunk { program: 1, ..chunk.clone() });
    assert!(
        code == Code::FailedPrecondition && message.contains("program 1 does not run any more"),
        "{message}"
    );
    // A few bytes stand for too many entries.
    let many = (0..17).map(|_| pb::TableSet { n: 1 << 14, ..chunk.sets[0].clone() }).collect();
    let (code, message) = refused(&desk, pb::Chunk { sets: many, ..pb::Chunk::default() });
    assert!(
        code == Code::InvalidArgument && message.contains("262144 entries at most, not 278528"),
        "{message}"
    );
    let many = vec![pb::TableSet::default(); 4097];
    let (code, message) = refused(&desk, pb::Chunk { sets: many, ..pb::Chunk::default() });
    assert!(code == Code::InvalidArgument && message.contains("4096 sets at most, not 4097"), "{message}");
    // Another controller is the primary.
    let mut primary = desk.controller();
    primary.elect("", 5);
    desk.election_id = Some(5);
    let (code, _) = refused(&desk, chunk.clone());
    assert_eq!(code, Code::PermissionDenied);
    let election_id = Some(p4::Uint128 { high: 0, low: 5 });
    assert_eq!(write(&client(&desk), vec![pb::Chunk { election_id, ..chunk.clone() }])[0].n_ok, 2);
    // A table of another program.
    desk.set(Action::VerifyAndCommit, &LINES.replace("size = 16", "size = 17"), None).unwrap();
    let layout = client(&desk).bulk_layout(DEVICE).unwrap();
    assert!(layout.tables.iter().any(|table| table.size == 17 && table.is_fast));
}

#[test]
fn a_table_that_is_named_twice_is_read_once() {
    let desk = desk_with_entries();
    let table = set_of(&desk, "pairs", pb::Op::Insert).table_id;
    let client = client(&desk);
    for mode in [Mode::Snapshot, Mode::Scan] {
        let table_ids = vec![table; 100_000];
        let request =
            pb::ReadRequest { device_id: DEVICE, mode: mode.into(), table_ids, ..pb::ReadRequest::default() };
        let mut n = 0;
        let count = |chunk: pb::Chunk| {
            n += chunk.sets.iter().map(|set| set.n).sum::<u32>();
            true
        };
        client.bulk_read(request, count).unwrap();
        assert_eq!(n, 2);
    }
}

/// A follower gets the entries of a table, then every change, until the two switches are equal.
#[test]
fn followers_see_changes() {
    let from = desk_with_entries();
    let to = Desk::new();
    to.write(&["delete table_entry { table_id: $started exact(1,\\x62) }"]);
    let (sender, chunks) = mpsc::channel();
    let source = client(&from);
    let reader = std::thread::spawn(move || {
        let request =
            pb::ReadRequest { device_id: DEVICE, mode: Mode::Follow.into(), ..pb::ReadRequest::default() };
        source.bulk_read(request, |chunk| sender.send(chunk).is_ok()).unwrap();
    });
    let sink = client(&to);
    let until = |mark: pb::Mark| loop {
        let chunk = chunks.recv_timeout(Duration::from_secs(20)).unwrap();
        if chunk.mark() == mark {
            return;
        }
        let done = write(&sink, vec![pb::Chunk { report: pb::Report::Codes.into(), ..chunk }]).remove(0);
        // An entry that came and went was never sent.
        let is_fine = |code: &u8| [Code::Ok as u8, Code::NotFound as u8].contains(code);
        assert!(done.status.is_none() && done.codes.iter().all(is_fine), "{done:?}");
    };
    until(pb::Mark::Scanned);
    until(pb::Mark::Current);
    assert_eq!(entries(&to), entries(&from));
    from.write(&[
        "insert table_entry { table_id: $pairs exact(1,\\x07) exact(2,\\x07) do(forward,\\x05) }",
        "delete table_entry { table_id: $pairs exact(1,\\x01) exact(2,\\x01) }",
        "modify table_entry { table_id: $prefixes lpm(1,\\x0a\\x00\\x00\\x00,8) do(forward,\\x08) }",
        "insert table_entry { table_id: $pairs exact(1,\\x08) exact(2,\\x07) do(forward,\\x05) }",
        "delete table_entry { table_id: $pairs exact(1,\\x08) exact(2,\\x07) }",
        "insert table_entry { table_id: $pairs exact(1,\\x08) exact(2,\\x07) do(forward,\\x06) metadata: \"x\" }",
        "delete table_entry { table_id: $kinds_of_match exact(1,\\x02) priority: 2 }",
    ]);
    let set = set_of(&from, "limits_table", pb::Op::Delete);
    assert_eq!(write_set(&from, set).n_ok, 2);
    until(pb::Mark::Current);
    while entries(&to) != entries(&from) {
        until(pb::Mark::Current);
    }
    drop(chunks);
    from.write(&["insert table_entry { table_id: $pairs exact(1,\\x0f) exact(2,\\x07) do(forward,\\x05) }"]);
    reader.join().unwrap();
}

/// The places of readers that follow are not for one client alone, and the primary always has one.
#[test]
fn a_client_follows_with_few_readers() {
    let desk = desk_with_entries();
    let request =
        || pb::ReadRequest { device_id: DEVICE, mode: Mode::Follow.into(), ..pb::ReadRequest::default() };
    let is_over = Arc::new(AtomicBool::new(false));
    let (sender, follows) = mpsc::channel();
    let readers: Vec<_> = (0..4)
        .map(|_| {
            let (client, sender, over) = (client(&desk), sender.clone(), Arc::clone(&is_over));
            std::thread::spawn(move || {
                let take = |chunk: pb::Chunk| {
                    if chunk.mark() == pb::Mark::Current {
                        let _ = sender.send(());
                    }
                    !over.load(Ordering::Relaxed)
                };
                client.bulk_read(request(), take).unwrap();
            })
        })
        .collect();
    (0..4).for_each(|_| follows.recv_timeout(Duration::from_secs(20)).unwrap());
    let more = client(&desk);
    let failure = more.bulk_read(request(), |_| true).unwrap_err();
    assert!(failure.code == Code::ResourceExhausted && failure.message.contains("4 readers"), "{failure}");
    // Other reads are no matter of places.
    assert!(!read(&more, Mode::Scan).is_empty());
    let bid = p4::MasterArbitrationUpdate {
        device_id: DEVICE,
        election_id: Some(p4::Uint128 { high: 0, low: 9 }),
        ..p4::MasterArbitrationUpdate::default()
    };
    let mut stream = more.stream(p4::stream_message_request::Update::Arbitration(bid)).unwrap();
    stream.next(Duration::from_secs(20)).unwrap();
    more.bulk_read(request(), |_| false).unwrap();
    is_over.store(true, Ordering::Relaxed);
    readers.into_iter().for_each(|reader| reader.join().unwrap());
}

/// Empty elements of lists are counted before they take memory, whoever sends them.
#[test]
fn messages_of_empty_elements_are_refused() {
    let desk = desk_with_entries();
    let client = client(&desk);
    let is_refused = |failure: grpc::Failure| {
        assert!(
            failure.code == Code::InvalidArgument && failure.message.contains("elements, which are too many"),
            "{failure}"
        );
    };
    let updates = vec![p4::Update::default(); 1 << 18];
    is_refused(
        client.write(p4::WriteRequest { device_id: DEVICE, updates, ..Default::default() }).unwrap_err(),
    );
    let entities = vec![p4::Entity::default(); (1 << 18) + 1];
    let read = p4::ReadRequest { device_id: DEVICE, entities, ..Default::default() };
    is_refused(client.read(read, |_| ()).unwrap_err());
    let sets = vec![pb::TableSet::default(); (1 << 18) + 1];
    let chunk = pb::Chunk { device_id: DEVICE, sets, ..pb::Chunk::default() };
    is_refused(client.bulk_write(std::iter::once(chunk), |_| true).unwrap_err());
}

/// A scan goes on where another one has ended.
#[test]
fn a_scan_goes_on_at_its_cursor() {
    let desk = desk_with_entries();
    let client = client(&desk);
    let all = read(&client, Mode::Scan);
    let sets = |chunks: &[pb::Chunk]| -> Vec<pb::TableSet> {
        chunks.iter().flat_map(|chunk| chunk.sets.clone()).collect()
    };
    let at = all.iter().position(|chunk| !chunk.cursor.is_empty()).unwrap();
    let request = pb::ReadRequest {
        device_id: DEVICE,
        mode: Mode::Scan.into(),
        cursor: all[at].cursor.clone(),
        ..pb::ReadRequest::default()
    };
    let mut rest = Vec::new();
    client
        .bulk_read(request.clone(), |chunk| {
            rest.push(chunk);
            true
        })
        .unwrap();
    assert_eq!(sets(&rest), sets(&all[at + 1..]));
    let wrong = pb::ReadRequest { cursor: vec![1; 20].into(), ..request.clone() };
    let failure = client.bulk_read(wrong, |_| true).unwrap_err();
    assert_eq!(
        (failure.code, &*failure.message),
        (Code::FailedPrecondition, "`cursor` is that of another program")
    );
    let wrong = pb::ReadRequest { cursor: vec![1; 3].into(), ..request };
    assert_eq!(client.bulk_read(wrong, |_| true).unwrap_err().code, Code::InvalidArgument);
}

/// Usual updates are decoded to records at once; whatever is refused or unusual is decoded in full.
#[test]
fn usual_updates_go_the_short_way() {
    let desk = Desk::new();
    let counts = || {
        let counts = desk.server().n_updates();
        (counts.n_short, counts.n_full)
    };
    let before = counts();
    desk.write(&[
        "insert table_entry { table_id: $pairs exact(1,\\x01) exact(2,\\x01) do(forward,\\x05) }",
        "insert table_entry { table_id: $pairs exact(1,\\x02) exact(2,\\x01) do(forward,\\x05) }",
        "insert table_entry { table_id: $kinds_of_match exact(1,\\x01) ternary(3,\\x01,\\x0f) range(4,\\x01,\\x09) \
         priority: 3 do(drop) }",
        "insert table_entry { table_id: $prefixes lpm(1,\\x0a\\x00\\x00\\x00,8) do(forward,\\x01) }",
        "modify table_entry { table_id: $pairs exact(1,\\x01) exact(2,\\x01) do(forward,\\x06) }",
        "delete table_entry { table_id: $pairs exact(1,\\x02) exact(2,\\x01) }",
    ]);
    assert_eq!(counts(), (before.0 + 6, before.1));
    let again = "insert table_entry { table_id: $pairs exact(1,\\x01) exact(2,\\x01) do(forward,\\x05) }";
    assert_eq!(desk.codes(&[again]), [Code::AlreadyExists]);
    desk.write(&[&format!(
        "{} metadata: \"m\" }}",
        again.replace("insert", "modify").trim_end_matches(" }")
    )]);
    assert_eq!(counts(), (before.0 + 6, before.1 + 2));
}
