//! What controllers have written moves to a fresh switch.

use super::{Desk, Subject, each};
use control::*;

/// Everything that can be read of table entries, without times.
fn state(desk: &Desk, from: &dyn Subject) -> Vec<TableEntry> {
    let defaults = ["fixed", "values", "begun"].map(|table| desk.read(from, Some(table), true));
    let all = desk.schema.tables.iter().map(|table| desk.read(from, Some(&table.names.name), false));
    let all = all.chain(defaults).flatten();
    all.map(|entry| TableEntry { time_since_last_hit_ns: None, ..entry }).collect()
}

#[test]
fn c05_what_was_written_to_entries_of_the_program_is_kept() {
    each(|desk, fresh| {
        let (mut from, mut to) = (fresh(), fresh());
        let initial = state(desk, &*to);
        let migration = sync::migrate(&desk.schema, &mut *from, &desk.schema, &mut *to);
        assert_eq!((migration.n_copied, migration.n_refused), (2, 0), "entries that may be changed");
        assert_eq!(state(desk, &*to), initial);

        let write = |from: &mut dyn Subject, kind, entry| {
            desk.write(from, kind, Entity::TableEntry(entry)).unwrap();
        };
        let counted = |key: TableEntry| {
            let count = CounterData { n_packets: 30, n_bytes: 0 };
            TableEntry { counter_data: Some(count), ..key }
        };
        write(&mut *from, UpdateKind::Modify, counted(desk.key("fixed", 2)));
        write(&mut *from, UpdateKind::Delete, desk.key("begun", 8));
        write(&mut *from, UpdateKind::Modify, desk.entry("begun", 9, desk.action("begun", "send", 4)));
        let metadata = b"kept".to_vec();
        write(&mut *from, UpdateKind::Modify, TableEntry { metadata, ..desk.default("begun") });
        write(&mut *from, UpdateKind::Insert, desk.entry("values", 3, desk.action("values", "mark", 8)));
        assert_eq!(from.arrives(1, 3).len(), 1);

        let before = state(desk, &*from);
        let migration = sync::migrate(&desk.schema, &mut *from, &desk.schema, &mut *to);
        assert_eq!((migration.n_refused, &migration.faults[..]), (0, &[][..]));
        assert_eq!(state(desk, &*to), before);
        assert_eq!(to.arrives(1, 3), from.arrives(1, 3));
    });
}

#[test]
fn c05_ages_are_kept() {
    each(|desk, fresh| {
        let (mut from, mut to) = (fresh(), fresh());
        let timeout = 5_000_000_000;
        for value in 0..3 {
            let entry = desk.entry("values", value, desk.action("values", "mark", value));
            let entry = TableEntry { idle_timeout_ns: timeout, ..entry };
            desk.write(&mut *from, UpdateKind::Insert, Entity::TableEntry(entry)).unwrap();
            from.wait(1_000_000_000);
        }
        to.wait(3_000_000_000);
        sync::migrate(&desk.schema, &mut *from, &desk.schema, &mut *to);
        let ages = |of: &dyn Subject| {
            let entries = desk.read(of, Some("values"), false);
            entries.iter().map(|entry| entry.time_since_last_hit_ns.unwrap()).collect::<Vec<i64>>()
        };
        assert_eq!(ages(&*to), ages(&*from));
        assert_eq!(ages(&*to), [3_000_000_000, 2_000_000_000, 1_000_000_000]);
    });
}
