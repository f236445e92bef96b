//! Clients that do all they can harm nobody but themselves.

#[expect(dead_code, reason = "the schema is for other tests")]
mod common;

use common::{Backend, Bench, options, tables};
use control::Code;
use shm_client::wire::{self, ENTRY_BYTES, N_REQUESTS, Op, Request, kind};
use shm_client::{Error, Segment, Session, Tables};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let v = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let v = (v ^ v >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        v ^ v >> 31
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

fn good_request(tables: &Tables) -> Request {
    let table = tables.table("lean").unwrap();
    Request {
        program: tables.program,
        hash: table.hash(),
        n: 1,
        kind: kind::RECORDS,
        op: Op::Insert as u32,
        table: table.id,
        parts: table.parts,
        record_bytes: table.record_bytes,
        report: 3,
        ..Request::default()
    }
}

#[test]
fn wrong_requests_are_refused_and_change_nothing() {
    let bench = Bench::new(Backend::Interpreter);
    let mut session = bench.open(1);
    let tables = tables(&mut session, 0);
    let good = good_request(&tables);
    let mut refuses = |code: Code, request: Request| {
        let number = session.submit_raw(request).unwrap();
        let outcome = session.wait(number).unwrap();
        assert_eq!(outcome.code, code as u32, "{request:?}: {outcome:?}");
        assert_eq!((outcome.n, outcome.n_failed), (0, 0));
        assert!(!outcome.message.is_empty());
    };
    let n_slots = 4;
    for (code, request) in [
        (Code::InvalidArgument, Request { kind: 0, ..good }),
        (Code::InvalidArgument, Request { kind: 7, ..good }),
        (Code::InvalidArgument, Request { kind: u32::MAX, ..good }),
        (Code::InvalidArgument, Request { op: 0, ..good }),
        (Code::InvalidArgument, Request { op: 5, ..good }),
        (Code::InvalidArgument, Request { slot: n_slots, ..good }),
        (Code::InvalidArgument, Request { slot: u32::MAX, ..good }),
        (Code::InvalidArgument, Request { n: 1 << 20, ..good }),
        (Code::InvalidArgument, Request { n: u64::MAX, ..good }),
        (Code::InvalidArgument, Request { n: u64::MAX / 8, ..good }),
        (Code::InvalidArgument, Request { parts: 1, ..good }),
        (Code::InvalidArgument, Request { parts: u32::MAX, ..good }),
        (Code::NotFound, Request { table: 0, ..good }),
        (Code::NotFound, Request { table: 12345, ..good }),
        (Code::FailedPrecondition, Request { program: 0, ..good }),
        (Code::FailedPrecondition, Request { program: good.program + 1, ..good }),
        (Code::FailedPrecondition, Request { hash: good.hash ^ 1, ..good }),
        (Code::FailedPrecondition, Request { record_bytes: 0, ..good }),
        (Code::FailedPrecondition, Request { record_bytes: good.record_bytes + 8, ..good }),
        (Code::InvalidArgument, Request { kind: kind::WRITE, n: u64::MAX, ..good }),
        (Code::InvalidArgument, Request { kind: kind::READ, n: 1 << 40, ..good }),
        (Code::InvalidArgument, Request { kind: kind::STREAM, slot: 9, ..good }),
        (Code::NotFound, Request { kind: kind::LAYOUT, table: 99, ..good }),
        (Code::InvalidArgument, Request { kind: kind::LAYOUT, parts: 8, ..good }),
        (Code::FailedPrecondition, Request { kind: kind::RESERVE, program: 1, ..good }),
    ] {
        refuses(code, request);
    }
    assert_eq!(bench.n_entries(), 0);
    let number = session.submit_raw(Request { n: 0, ..good }).unwrap();
    assert_eq!(session.wait(number).unwrap().code, 0);
    let number = session.submit_raw(good).unwrap();
    assert_eq!(session.wait(number).unwrap().code, 0);
    assert_eq!(bench.n_entries(), 1);
}

#[test]
fn cursors_without_sense_end_their_session_only() {
    let bench = Bench::new(Backend::Interpreter);
    let mut bystander = bench.open(100);
    let tables = tables(&mut bystander, 0);
    let cursors = [
        (wire::REQUEST_TAIL, u64::MAX),
        (wire::REQUEST_TAIL, N_REQUESTS as u64 + 3),
        (wire::REQUEST_TAIL, 0),
        (wire::COMPLETION_HEAD, 5),
        (wire::COMPLETION_HEAD, u64::MAX),
        (wire::ANSWER_HEAD, 1 << 40),
        (wire::ANSWER_HEAD, 0),
    ];
    for (i, (cursor, value)) in cursors.into_iter().enumerate() {
        let mut session = bench.open(1 + i as u128);
        // Cursors can go back: the switch has seen that of the first answer when it writes the second one.
        (0..2).for_each(|_| drop(session.tables(0).unwrap()));
        session.memory().1.store_release(cursor, value);
        let begin = Instant::now();
        let mut socket = UnixStream::from(session.as_fd().try_clone_to_owned().unwrap());
        let _ = socket.write(&[1]);
        while bench.server().n_open() > 1 {
            // Only with a request the cursors of other rings are looked at.
            if cursor != wire::REQUEST_TAIL {
                let _ = session.submit_raw(Request { kind: kind::LAYOUT, ..Request::default() });
            }
            assert!(begin.elapsed() < Duration::from_secs(10), "{cursor}: {value}");
            std::thread::sleep(Duration::from_millis(1));
        }
        // Requests go on to fail.
        let wanted = loop {
            if let Err(error) = session.submit_raw(Request::default()).and_then(|number| session.wait(number))
            {
                break error;
            }
        };
        assert!(matches!(wanted, Error::Ended(_) | Error::Protocol(_) | Error::Timeout), "{wanted}");
        assert!(bystander.tables(0).is_ok());
    }
    let number = bystander.submit_raw(good_request(&tables)).unwrap();
    assert_eq!(bystander.wait(number).unwrap().code, 0);
    assert_eq!(bench.server().counts().n_broken.load(Ordering::Relaxed), cursors.len() as u64);
}

#[test]
fn greetings_without_sense_are_refused() {
    let bench = Bench::new(Backend::Interpreter);
    let hello = wire::Hello {
        version: wire::VERSION,
        device_id: common::DEVICE,
        election_id: Some(1),
        n_slots: 0,
        slot_bytes: 0,
        role_bytes: 0,
    };
    let mut wrong_magic = hello.to_bytes();
    wrong_magic[0] = 0;
    let cases: [(&[u8], Code); 5] = [
        (&wrong_magic, Code::InvalidArgument),
        (&wire::Hello { version: 9, ..hello }.to_bytes(), Code::FailedPrecondition),
        (&wire::Hello { role_bytes: u32::MAX, ..hello }.to_bytes(), Code::InvalidArgument),
        (&wire::Hello { n_slots: 65, slot_bytes: 4096, ..hello }.to_bytes(), Code::ResourceExhausted),
        (&wire::Hello { n_slots: 64, slot_bytes: 1 << 30, ..hello }.to_bytes(), Code::ResourceExhausted),
    ];
    for (greeting, code) in cases {
        let mut socket = UnixStream::connect(bench.path()).unwrap();
        socket.write_all(greeting).unwrap();
        let mut answer = [0; wire::WELCOME_BYTES];
        socket.read_exact(&mut answer).unwrap();
        assert_eq!(wire::Welcome::of_bytes(&answer).unwrap().code, code as u32);
    }
    // Silent clients and those that go at once do not keep others out.
    let _silent: Vec<UnixStream> = (0..8).map(|_| UnixStream::connect(bench.path()).unwrap()).collect();
    (0..200).for_each(|_| drop(UnixStream::connect(bench.path()).unwrap()));
    let begin = Instant::now();
    let session = loop {
        // Those that went may still take up all places.
        match Session::open(bench.path(), &common::options(1)) {
            Ok(session) => break session,
            Err(error) => assert!(begin.elapsed() < Duration::from_secs(10), "{error}"),
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    assert!(session.is_primary());
}

/// Publishes requests as a client does, whose descriptors and slots another thread overwrites.
fn publish(
    c: &Segment,
    s: &Segment,
    session: &Session,
    tables: &Tables,
    random: &mut Random,
    is_over: &AtomicBool,
) {
    let sizes = session.sizes();
    let mut tail = s.load_acquire(wire::REQUEST_HEAD);
    while !is_over.load(Ordering::Relaxed) {
        if tail - s.load_acquire(wire::REQUEST_HEAD).min(tail) >= N_REQUESTS as u64 {
            std::thread::yield_now();
        } else {
            let table = &tables.tables[random.below(tables.tables.len())];
            let request = Request {
                number: tail,
                program: tables.program,
                hash: table.hash(),
                n: random.next() % 200,
                kind: 1 + random.next() as u32 % 6,
                op: random.next() as u32 % 5,
                table: table.id,
                parts: table.parts,
                slot: random.next() as u32 % 4,
                record_bytes: table.record_bytes,
                report: 3,
            };
            let at = sizes.requests_at() + tail as usize % N_REQUESTS * ENTRY_BYTES;
            for (i, word) in request.to_words().into_iter().enumerate() {
                c.store(at + 8 * i, word);
            }
            tail += 1;
            c.store_release(wire::REQUEST_TAIL, tail);
        }
        // Everything that comes is thrown away, or the session waits for this client.
        c.store_release(wire::COMPLETION_HEAD, s.load_acquire(wire::COMPLETION_TAIL));
        c.store_release(wire::ANSWER_HEAD, s.load_acquire(wire::ANSWER_TAIL));
    }
}

/// Overwrites C: everything but the cursors, or everything.
fn scribble(c: &Segment, from: usize, random: &mut Random, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        for _ in 0..1000 {
            let at = from + random.below((c.n_bytes() - from) / 8) * 8;
            // Small values are more often meant than large ones.
            let value = random.next() >> (random.next() % 64);
            c.store(at, value);
        }
    }
}

/// Runs for the seconds that SIDING_SHM_HOSTILE_SECONDS says; 3 are enough for each change.
#[test]
fn scribbling_over_all_memory_harms_nobody() {
    let seconds = std::env::var("SIDING_SHM_HOSTILE_SECONDS").ok().and_then(|text| text.parse().ok());
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(3));
    let bench = Bench::new(Backend::Native);
    let mut bystander =
        Session::open(bench.path(), &shm_client::Options { role: "bystander".to_owned(), ..options(1) })
            .unwrap();
    let all = tables(&mut bystander, 0);
    let mut round = 1;
    while Instant::now() < end {
        let hostile = bench.open(round);
        let mut random = Random(round as u64);
        let is_over = AtomicBool::new(false);
        let (s, c) = hostile.memory();
        // Sometimes the cursors are left alone, so that the session lives and requests run.
        let from = if round.is_multiple_of(3) { 0 } else { hostile.sizes().requests_at() };
        std::thread::scope(|scope| {
            let (mut mine, mut theirs) = (Random(random.next()), Random(random.next()));
            let (is_over, all, hostile) = (&is_over, &all, &hostile);
            scope.spawn(move || scribble(c, from, &mut mine, is_over));
            scope.spawn(move || publish(c, s, hostile, all, &mut theirs, is_over));
            let begin = Instant::now();
            while begin.elapsed() < Duration::from_millis(150) {
                assert_eq!(bystander.tables(0).unwrap().program, all.program);
                std::thread::sleep(Duration::from_millis(5));
            }
            is_over.store(true, Ordering::Relaxed);
        });
        drop(hostile);
        // All that is there are entries that can be read and deleted.
        let n = bench.n_entries();
        assert!(n <= 7 * 30, "{n}");
        round += 1;
    }
    let mut last = bench.open(1 << 70);
    assert!(last.is_primary());
    let entities = bench.entities();
    let table = all.table("lean").unwrap();
    let (a, b) = (table.key("probe.a").unwrap(), table.key("probe.b").unwrap());
    let of_lean: Vec<_> = entities
        .iter()
        .filter_map(|entity| match &entity.entity {
            Some(p4info::proto::p4::v1::entity::Entity::TableEntry(entry)) if entry.table_id == table.id => {
                Some(entry)
            }
            _ => None,
        })
        .collect();
    let value = |of: &p4info::proto::p4::v1::FieldMatch| match &of.field_match_type {
        Some(p4info::proto::p4::v1::field_match::FieldMatchType::Exact(exact)) => exact.value.clone(),
        other => panic!("{other:?}"),
    };
    let mut batch = last.begin(all.program, table, Op::Delete, of_lean.len()).unwrap();
    for (i, entry) in of_lean.iter().enumerate() {
        batch.record(i).set_exact(a, &value(&entry.r#match[0])).unwrap();
        batch.record(i).set_exact(b, &value(&entry.r#match[1])).unwrap();
    }
    let number = batch.submit().unwrap();
    assert_eq!(last.wait(number).unwrap().n_failed, 0);
    assert_eq!(bench.n_entries(), entities.len() - of_lean.len());
}

#[test]
fn one_of_two_clients_dies() {
    let bench = Bench::new(Backend::Interpreter);
    let mut reader =
        Session::open(bench.path(), &shm_client::Options { election_id: None, ..options(0) }).unwrap();
    let mut writer = bench.open(1);
    let all = tables(&mut writer, 0);
    // Requests that were published before the end are finished.
    writer.submit_raw(good_request(&all)).unwrap();
    drop(writer);
    let begin = Instant::now();
    while bench.server().n_open() > 1 {
        assert!(begin.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(bench.n_entries(), 1);
    assert!(reader.tables(0).is_ok());
    assert!(bench.open(1).is_primary());
}

#[test]
fn clients_are_told_that_the_switch_ends() {
    let mut bench = Bench::new(Backend::Interpreter);
    let mut session = bench.open(1);
    let path = bench.path();
    assert!(session.tables(0).is_ok());
    drop(bench.shm.take());
    let error = session.tables(0).unwrap_err();
    assert!(matches!(error, Error::Ended(_)), "{error}");
    assert!(error.to_string().contains("read it back"), "{error}");
    assert!(!path.exists());
}
