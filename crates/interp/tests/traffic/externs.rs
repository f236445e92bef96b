//! What extern functions and objects do, seen from a program and from outside.

use super::{advance, compile, inject, switch, switch_with};
use interp::Switch;
use interp::externs::objects::Count;
use interp::externs::{checksum, crc};
use interp::meter::{MeterRates, MeterType};
use interp::traffic::Config;
use interp::{EntryRef, ExternEnd};
use ir::{Bits, ObjectId};

fn packet(op: u8, index: u32, value: u64) -> Vec<u8> {
    [&[op][..], &index.to_be_bytes(), &value.to_be_bytes()].concat()
}

/// The value that comes back.
fn call(switch: &mut Switch, op: u8, index: u32, value: u64) -> u64 {
    let outputs = inject(switch, 3, &packet(op, index, value));
    assert_eq!(outputs.len(), 1, "{:?}", switch.totals());
    u64::from_be_bytes(outputs[0].1[5..13].try_into().unwrap())
}

fn object(switch: &Switch, name: &str) -> ObjectId {
    let objects = &switch.program().objects;
    objects.iter().find(|(_, o)| o.name == name).unwrap_or_else(|| panic!("no {name}")).0
}

#[test]
fn registers_remember() {
    let mut switch = switch("externs.p4");
    assert_eq!(call(&mut switch, 2, 5, 0), 0);
    call(&mut switch, 1, 5, 0xffff_1234_5678_9abc);
    assert_eq!(call(&mut switch, 2, 5, 0), 0x1234_5678_9abc);
    // Beyond the end: no effect, zero, and a note.
    call(&mut switch, 1, 16, 1);
    assert_eq!(call(&mut switch, 2, 16, 7), 0);
    assert_eq!(switch.runner.externs.log.len(), 2);
    let id = object(&switch, "I.cells");
    assert_eq!(
        switch.runner.externs.register(id).unwrap().get(5),
        Ok(&[Bits::new(48, 0x1234_5678_9abc)][..])
    );
    switch.runner.externs.register(id).unwrap().set(15, &[Bits::new(48, 3)]).unwrap();
    assert_eq!(call(&mut switch, 2, 15, 0), 3);
}

#[test]
fn counters_count_packets_and_bytes() {
    let mut switch = switch("externs.p4");
    for index in [0, 15, 15, 16] {
        call(&mut switch, 3, index, 0);
    }
    let id = object(&switch, "I.counts");
    let counters = switch.runner.externs.counters(id).unwrap();
    assert_eq!(counters.get(0), Ok(Count { n_packets: 1, n_bytes: 13 }));
    assert_eq!(counters.get(15), Ok(Count { n_packets: 2, n_bytes: 26 }));
    assert!(counters.get(16).is_err());
}

const RATES: MeterRates = MeterRates {
    meter_type: MeterType::TwoRateThreeColor,
    committed_rate: 10,
    committed_burst: 1,
    peak_rate: 10,
    peak_burst: 2,
    excess_burst: 0,
};

#[test]
fn meters_colour_packets() {
    let mut switch = switch("externs.p4");
    assert_eq!(call(&mut switch, 4, 3, 0), 0);
    let id = object(&switch, "I.meters");
    switch.runner.externs.meters(id).unwrap().set_rates(3, Some(RATES), 0).unwrap();
    let colours: Vec<u64> = (0..3).map(|_| call(&mut switch, 4, 3, 0)).collect();
    assert_eq!(colours, [0, 1, 2]);
    advance(&mut switch, 100_000_000);
    assert_eq!(call(&mut switch, 4, 3, 0), 0);
    assert_eq!(call(&mut switch, 4, 4, 0), 0);
    // Beyond the end: green.
    assert_eq!(call(&mut switch, 4, 16, 0), 0);
}

#[test]
fn hits_count_and_are_metered_by_themselves() {
    let mut switch = switch("externs.p4");
    let table = switch.program().tables.iter().find(|(_, t)| t.name == "I.t").unwrap().0;
    assert_eq!(call(&mut switch, 5, 1, 0), 0);
    let handle = switch.runner.tables.table(table).unwrap().entries_after(None, 1)[0].handle;
    let direct = switch.runner.tables.direct(table, EntryRef::Entry(handle)).unwrap();
    assert_eq!((direct.n_packets, direct.n_bytes), (1, 13));
    direct.meter.set_rates(Some(RATES), 0);
    let colours: Vec<u64> = (0..3).map(|_| call(&mut switch, 5, 1, 0)).collect();
    assert_eq!(colours, [0, 1, 2]);
    // The other entry has a meter of its own, and so has the default entry, whose action reads none.
    assert_eq!(call(&mut switch, 5, 2, 0), 0);
    assert_eq!(call(&mut switch, 5, 3, 0), 9);
}

#[test]
fn digests_carry_what_held_when_they_were_sent() {
    let mut switch = switch("externs.p4");
    call(&mut switch, 6, 40, 0);
    let digests = switch.take_digests();
    let values = |port, index| vec![Bits::new(9, port), Bits::new(32, index)];
    assert_eq!(digests.iter().map(|d| d.receiver).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(digests[0].values, values(3, 40));
    assert_eq!(digests[1].values, values(3, 41));
    assert!(switch.take_digests().is_empty());
    let mut small = switch_with("externs.p4", Config { digests_max: 1, ..Config::default() });
    call(&mut small, 6, 40, 0);
    assert_eq!((small.take_digests().len(), small.n_digests_dropped), (1, 1));
}

#[test]
fn the_same_seed_gives_the_same_numbers() {
    let numbers = |seed| -> Vec<u64> {
        let mut switch = switch_with("externs.p4", Config { seed, ..Config::default() });
        (0..20).map(|_| call(&mut switch, 7, 100, 0)).collect()
    };
    assert_eq!(numbers(1), numbers(1));
    assert_ne!(numbers(1), numbers(2));
    assert!(numbers(3).iter().all(|n| (100..=105).contains(n)));
}

#[test]
fn hashes_are_of_the_packed_fields() {
    let mut switch = switch("externs.p4");
    let (index, value) = (0x3132_3334u32, 0x3536_3738_3900_0001u64);
    let both = [&index.to_be_bytes()[..], &value.to_be_bytes()].concat();
    assert_eq!(call(&mut switch, 0x10, index, value), crc::CRC32.compute(&index.to_be_bytes()));
    assert_eq!(call(&mut switch, 0x11, index, value), 1000 + crc::CRC16.compute(&both) % 10);
    // With a maximum of 0 the base alone.
    assert_eq!(call(&mut switch, 0x12, index, value), 7);
    assert_eq!(call(&mut switch, 0x13, index, value), u64::from(checksum::xor16(&both)));
    // Nine bits are padded behind.
    assert_eq!(call(&mut switch, 0x14, 0x1ff, value), 0xff80);
}

#[test]
fn checksums_are_verified_and_updated() {
    let mut switch = switch("externs.p4");
    let mut header = [
        0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0x00, 0x01, 0xc0,
        0xa8, 0x00, 0xc7,
    ];
    let send = |switch: &mut Switch, op: u8, header: &[u8], payload: &[u8]| {
        let bytes = [&packet(op, 0, 0)[..], header, payload].concat();
        let (_, out) = inject(switch, 3, &bytes).remove(0);
        (u64::from_be_bytes(out[5..13].try_into().unwrap()), [out[23], out[24]])
    };
    assert_eq!(send(&mut switch, 0x40, &header, &[]), (0, [0xb8, 0x61]));
    header[10] = 0;
    assert_eq!(send(&mut switch, 0x40, &header, &[]), (1, [0, 0x61]));
    // The condition does not hold.
    assert_eq!(send(&mut switch, 0x4f, &header, &[]), (0, [0, 0x61]));
    assert_eq!(send(&mut switch, 0x42, &header, &[1]).1, [0xb8, 0x61]);
    let payload = [1, 2, 3];
    let sum = checksum::internet(&[&header[..8], &payload].concat());
    let (_, updated) = send(&mut switch, 0x43, &header, &payload);
    assert_eq!(updated, sum.to_be_bytes());
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    assert_eq!(send(&mut switch, 0x41, &header, &payload).0, 0);
    assert_eq!(send(&mut switch, 0x41, &header, &payload[..2]).0, 1);
}

#[test]
fn messages_and_assumptions() {
    let mut switch = switch("externs.p4");
    call(&mut switch, 8, 5, 0);
    assert_eq!(switch.runner.externs.log, ["index 5 of 8"]);
    call(&mut switch, 9, 0, 0);
    assert!(inject(&mut switch, 3, &packet(9, 1, 0)).is_empty());
    assert_eq!(switch.totals().n_dropped_for("assumption_failed"), 1);
}

const USER: &str = "
#include <core.p4>
#include <ubpf_model.p4>
extern bit<16> twice(in bit<16> x);
header h_t { bit<16> x; }
struct headers_t { h_t h; }
struct meta_t {}
parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata s) {
    state start { p.extract(h.h); transition accept; }
}
control F(inout headers_t h, inout meta_t m, inout standard_metadata s) {
    apply { h.h.x = twice(h.h.x); }
}
control D(packet_out p, in headers_t h) { apply { p.emit(h.h); } }
ubpf(P(), F(), D()) main;
";

#[test]
fn externs_of_the_program_are_supplied_or_missed() {
    let mut switch = interp::switch(compile("user.p4", USER), Config::default()).unwrap();
    assert!(inject(&mut switch, 0, &[0, 21]).is_empty());
    assert_eq!(switch.totals().n_dropped_for("extern_not_supplied"), 1);
    let twice = |access: &mut dyn target::ExternArgs| {
        let x = access.number(0).unwrap_or(0);
        access.set_result(&Bits::new(16, u128::from(x * 2)));
        ExternEnd::Next
    };
    switch.runner.externs.supply("twice", Box::new(twice));
    assert_eq!(inject(&mut switch, 0, &[0, 21]), [(0, vec![0, 42])]);
}

#[test]
fn stories_tell_what_externs_have_to_say() {
    let mut switch = switch("externs.p4");
    let mut story = |op, index| {
        let mut story_builder = trace::StoryBuilder::new(None);
        switch.inject(3, &packet(op, index, 0), &mut story_builder);
        trace::render(&story_builder.finish())
    };
    let text = story(8, 5);
    assert!(text.contains("says: index 5 of 8"), "{text}");
    let text = story(1, 16);
    assert!(
        text.contains("says: register.write: index 16 is beyond the last of 16 cells: no effect"),
        "{text}"
    );
}
