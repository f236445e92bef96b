//! New entries: their cells, and the room that they find.

use crate::build_text;
use crate::compare::{Compiled, Interpreted, Side, config};
use crate::model::{ADDED, HIT, MS, NOT_ADDED, Packet};
use ir::{Action, Bits, Match};
use native::{BurstPath, Control};
use std::sync::Arc;
use target::Store;
use target::store::{Count, DirectCells, EntryRef, MeterRates, NewEntry};

fn packet(key: u16, profile: u8) -> Packet {
    Packet { table: 0, key, value: 9, profile, command: 0, found: 0, n: 0 }
}

/// N14: the entry that a packet adds has a meter that nobody has configured and a counter of zero, whatever the entry of its key
/// before had, and those of other entries in its place.
#[test]
fn n14_a_new_entry_has_a_fresh_meter() {
    const GREEN: u32 = 0;
    let built = build_text("meters.p4", include_str!("meters.p4"), None);
    let table = built.program.tables.iter().next().unwrap().0;
    let instance = built.instance(1, BurstPath::Segments);
    let interpreted = Interpreted(interp::switch(Arc::clone(&built.program), config()).unwrap());
    let sides: [Box<dyn Side>; 2] = [Box::new(interpreted), Box::new(Compiled::new(&instance))];
    let one_packet = MeterRates {
        meter_type: Default::default(),
        committed_rate: 1,
        committed_burst: 1,
        peak_rate: 1,
        peak_burst: 1,
        excess_burst: 0,
    };
    for mut side in sides {
        // More rounds than the table has places, so that new entries lie where old ones were.
        for round in 0..100_u16 {
            let key = round % 3;
            let matches = vec![Some(Match::Exact(Bits::new(16, key.into())))];
            let action = Action { index: 0, data: vec![Bits::new(32, 1)] };
            let entry = NewEntry { rates: Some(one_packet), ..NewEntry::new(matches.clone(), 0, action) };
            let handle = side.store().insert(table, entry, 0).unwrap();
            let colours: Vec<u32> = side.send(&[packet(key, 5); 3]).iter().map(|packet| packet.n).collect();
            assert!(colours[0] == GREEN && colours[2] != GREEN, "{}: {colours:?}", side.name());
            let cells = side.store().direct(table, EntryRef::Entry(handle)).unwrap();
            assert_eq!(
                (cells.count.n_packets, cells.colours.red.n_packets > 0),
                (3, true),
                "{}",
                side.name()
            );
            side.store().delete(table, &matches, 0).unwrap();

            let found: Vec<u8> = side.send(&[packet(key, 5); 3]).iter().map(|packet| packet.found).collect();
            assert_eq!(found, [ADDED, HIT, HIT], "{}", side.name());
            let handle = side.store().find(table, &matches, 0).unwrap();
            let cells = side.store().direct(table, EntryRef::Entry(handle)).unwrap();
            let DirectCells { count, rates, colours } = cells;
            // The packet that missed counts on the default entry.
            assert_eq!((count.n_packets, rates), (2, None), "{}", side.name());
            assert_eq!(
                (colours.yellow, colours.red),
                (Count::default(), Count::default()),
                "{}",
                side.name()
            );
            assert!(
                side.send(&[packet(key, 5); 3]).iter().all(|packet| packet.n == GREEN),
                "{}",
                side.name()
            );
            side.store().delete(table, &matches, 0).unwrap();
        }
    }
}

/// N19: a packet that finds the table full looks for ended entries near its place only, so it may be refused although one has
/// ended. Each refusal looks at further places: the next packets of new flows find the room.
#[test]
fn n19_an_ended_entry_out_of_reach_makes_room_later() {
    const SIZE: u16 = 1024;
    // Buckets of 15 places each, of which a refused packet looks at 8: see `sd_flow_n_looked_at`.
    const N_TRIES_MAX: usize = 16;
    let built = build_text("model.p4", include_str!("model.p4"), Some(SIZE.into()));
    let table = built.program.tables.iter().next().unwrap().0;
    let instance = built.instance(1, BurstPath::Segments);
    let mut control = Control::new(Arc::clone(&instance));
    let mut worker = Compiled::new(&instance);
    // Profile 5 stands for twelve hours. One entry in twenty has a profile of its own.
    let profile_of = |key: u16| if key.is_multiple_of(20) { 10 + (key / 20) as u8 } else { 5 };
    for key in 0..SIZE {
        assert_eq!(worker.run(&[packet(key, profile_of(key))])[0].found, ADDED);
    }
    let (mut new_key, mut n_refused, mut most_refused) = (SIZE, 0, 0);
    for key in (0..SIZE).step_by(20) {
        new_key += 1;
        assert_eq!(worker.run(&[packet(new_key, 5)])[0].found, NOT_ADDED, "the table is full");
        n_refused += 1;
        // The entry has ended, and nobody has removed it.
        assert!(control.set_profile(table, profile_of(key), 0));
        let mut n_tries = 0;
        loop {
            n_tries += 1;
            new_key += 1;
            if worker.run(&[packet(new_key, 5)])[0].found == ADDED {
                break;
            }
            n_refused += 1;
            assert!(n_tries <= N_TRIES_MAX, "no room after {n_tries} packets");
        }
        most_refused = most_refused.max(n_tries - 1);
    }
    assert!(most_refused > 0, "no entry was out of reach");
    let uses = control.table_uses()[0];
    assert_eq!((uses.n_entries, uses.packets.n_full), (SIZE.into(), n_refused));
    assert_eq!(uses.packets.n_expired, u64::from(SIZE.div_ceil(20)));
    assert!(uses.packets.is_balanced());
    worker.switch.advance_clock(MS, &mut ());
    assert_eq!(control.table_uses()[0].n_entries, u64::from(SIZE));
}
