//! Reads in steps are of the moment at which they began.

use super::{Desk, Subject, both};
use control::*;

/// Numbers that look random, the same in each run.
pub(super) struct Numbers(pub(super) u64);

impl Numbers {
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// Writes something to one of 200 entries of a table, whether it exists or not.
fn change(desk: &Desk, switch: &mut dyn Subject, numbers: &mut Numbers) {
    let (value, data) = (u128::from(numbers.below(200)), u128::from(numbers.below(256)));
    let key = if numbers.below(2) == 0 {
        desk.entry("values", value, desk.action("values", "mark", data))
    } else {
        TableEntry { action: Some(desk.one_shot(data)), ..desk.key("chosen", value) }
    };
    let entry = TableEntry { metadata: vec![data as u8; numbers.below(3) as usize], ..key };
    let kind = [UpdateKind::Insert, UpdateKind::Modify, UpdateKind::Delete][numbers.below(3) as usize];
    let count = CounterData { n_packets: data as i64, n_bytes: 1 };
    if numbers.below(8) == 0 {
        let entry = EntryRef {
            table: desk.table("values"),
            matches: desk.key("values", value).matches,
            priority: 0,
            is_default_action: false,
        };
        let counter = DirectCounterEntry { entry, data: Some(count) };
        let _ = desk.write(switch, UpdateKind::Modify, Entity::DirectCounter(counter));
        return;
    }
    let entry = match entry.table == desk.table("values") && numbers.below(2) == 0 {
        true => TableEntry { counter_data: Some(count), ..entry },
        false => entry,
    };
    // Some exist already, some do not.
    let _ = desk.write(switch, kind, Entity::TableEntry(entry));
}

fn queries(desk: &Desk) -> Vec<Query> {
    let extras = Extras { counter_data: true, ..Extras::default() };
    let all = EntryQuery { extras, ..EntryQuery::default() };
    let values = EntryQuery { table: Some(desk.table("values")), ..all.clone() };
    let marked = EntryQuery { metadata: vec![7, 7], ..values.clone() };
    let chosen = EntryQuery { table: Some(desk.table("chosen")), ..all.clone() };
    [all, values, marked, chosen].map(Query::TableEntries).into()
}

#[test]
fn e3_reads_in_steps_are_of_the_moment_at_which_they_began() {
    both(|desk, switch| {
        let mut numbers = Numbers(1);
        for _ in 0..600 {
            change(desk, switch, &mut numbers);
        }
        let queries = queries(desk);
        for round in 0..60 {
            // Several reads at once, begun at different moments.
            let mut open = Vec::new();
            for _ in 0..3 {
                let query = &queries[numbers.below(queries.len() as u64) as usize];
                let expected = switch.read(query).unwrap();
                open.push((switch.begin_read(query).unwrap(), expected, Vec::new()));
                (0..numbers.below(30)).for_each(|_| change(desk, switch, &mut numbers));
            }
            while !open.is_empty() {
                let of = numbers.below(open.len() as u64) as usize;
                let (reading, _, found) = &mut open[of];
                let n_max = 1 + numbers.below(40) as usize;
                let step = switch.read_on(reading, n_max).unwrap();
                if step.is_empty() {
                    let (reading, expected, found) = open.swap_remove(of);
                    switch.end_read(reading);
                    assert_eq!(found, expected, "round {round}");
                    continue;
                }
                found.extend(step);
                (0..numbers.below(30)).for_each(|_| change(desk, switch, &mut numbers));
            }
        }
    });
}

#[test]
fn reads_that_end_early_keep_nothing() {
    both(|desk, switch| {
        let mut numbers = Numbers(2);
        (0..300).for_each(|_| change(desk, switch, &mut numbers));
        let all = Query::TableEntries(EntryQuery::default());
        let reading = switch.begin_read(&all).unwrap();
        let number = reading.snapshot().unwrap();
        switch.end_read(reading);
        let mut gone = Reading::from_snapshot(number);
        let fault = switch.read_on(&mut gone, 10).unwrap_err();
        assert_eq!(fault.code(), Code::Aborted, "{fault}");
    });
}
