//! Entities of a program as controllers write and read them, in both executors.

#[path = "../common/mod.rs"]
mod common;
mod meters;
mod migrate;
mod steps;

use common::TestDir;
use control::schema::Object;
use control::*;
use interp::{InterpretedDevice, Silent};
use ir::Bits;
use native::{BuildOptions, Native, build, native_device};
use std::path::Path;
use std::sync::Arc;
use target::{Config, Device};

/// A switch of either executor.
trait Subject: Target {
    fn arrives(&mut self, kind: u8, value: u8) -> Vec<Vec<u8>>;
    fn wait(&mut self, ns: u64);
}

impl Subject for InterpretedDevice {
    fn arrives(&mut self, kind: u8, value: u8) -> Vec<Vec<u8>> {
        let sent = self.switch.inject(0, &[kind, value], &mut Silent);
        sent.into_iter().chain(self.switch.advance_clock(1_000, &mut Silent)).map(|out| out.bytes).collect()
    }

    fn wait(&mut self, ns: u64) {
        self.switch.advance_clock(ns, &mut Silent);
    }
}

impl Subject for Device<Native> {
    fn arrives(&mut self, kind: u8, value: u8) -> Vec<Vec<u8>> {
        let sent = self.switch.inject(0, &[kind, value], &mut ());
        sent.into_iter().chain(self.switch.advance_clock(1_000, &mut ())).map(|out| out.bytes).collect()
    }

    fn wait(&mut self, ns: u64) {
        self.switch.advance_clock(ns, &mut ());
    }
}

/// Runs a test on the interpreter and on compiled code.
fn both(test: impl Fn(&Desk, &mut dyn Subject)) {
    each(|desk, fresh| test(desk, &mut *fresh()));
}

/// Runs a test on the interpreter and on compiled code; it may make several switches.
fn each(test: impl Fn(&Desk, &dyn Fn() -> Box<dyn Subject>)) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/entities/program.p4");
    let source = driver::read_source(&path).unwrap();
    let mut checked = driver::check(&source, &driver::FileLoader::default(), &driver::Options::default());
    let runnable = driver::runnable(&mut checked, None);
    let runnable = runnable.unwrap_or_else(|| panic!("{:?}", checked.diagnostics));
    let desk = Desk { schema: Schema::new(&runnable.control_plane.p4info).unwrap() };
    let (program, schema) = (&runnable.program, &desk.schema);
    test(&desk, &|| {
        Box::new(interp::interpreter(program.clone(), schema.clone(), Config::default()).unwrap())
    });
    let dir = TestDir::new();
    let options = BuildOptions { compile: dir.options(), ..Default::default() };
    test(&desk, &|| {
        let pipeline = build(program, &checked.sources, &options).unwrap();
        Box::new(
            native_device(pipeline, Arc::new(program.clone()), schema.clone(), Config::default()).unwrap(),
        )
    });
}

/// Makes and sends requests.
struct Desk {
    schema: Schema,
}

impl Desk {
    fn table(&self, name: &str) -> TableId {
        self.schema.tables.find(name).unwrap().id
    }

    fn action(&self, table: &str, name: &str, value: u128) -> Action {
        let action = self.schema.tables.find(table).unwrap().find_action(&self.schema, name).unwrap();
        let param = |p: &schema::ActionParam| Param {
            id: p.id,
            value: Bits::new(p.value.width_bits(), value).into(),
        };
        Action { id: action.id(), params: action.params.iter().map(param).collect() }
    }

    /// An entry of a table whose first key has this value; it does nothing yet.
    fn key(&self, table: &str, value: u128) -> TableEntry {
        let key = &self.schema.tables.find(table).unwrap().keys[0];
        let value = Match::Exact(Bits::new(key.value.width_bits(), value).into());
        TableEntry::new(self.table(table), vec![FieldMatch { field: key.id, value }], 0)
    }

    fn entry(&self, table: &str, value: u128, action: Action) -> TableEntry {
        TableEntry { action: Some(TableAction::Action(action)), ..self.key(table, value) }
    }

    fn default(&self, table: &str) -> TableEntry {
        TableEntry { is_default_action: true, ..TableEntry::new(self.table(table), vec![], 0) }
    }

    fn one_shot(&self, value: u128) -> TableAction {
        let action = self.action("chosen", "choose", value);
        TableAction::OneShot(OneShot {
            actions: vec![WeightedAction { action, weight: 1, watch_port: None }],
            selection_mode: SelectionMode::OfSelector,
            size_semantics: SizeSemantics::default(),
            group_action: None,
        })
    }

    fn write(&self, to: &mut dyn Subject, kind: UpdateKind, entity: Entity) -> Result<(), String> {
        self.write_all(to, Atomicity::ContinueOnError, vec![Update { kind, entity }]).remove(0)
    }

    fn write_all(
        &self,
        to: &mut dyn Subject,
        atomicity: Atomicity,
        updates: Vec<Update>,
    ) -> Vec<Result<(), String>> {
        let results = apply(&self.schema, to, &Batch { updates, atomicity }).unwrap();
        results.into_iter().map(|r| r.map_err(|f| format!("{}: {f}", f.code().name()))).collect()
    }

    /// The entries of a table, or of all tables, with everything that can be read.
    fn read(&self, from: &dyn Subject, table: Option<&str>, is_default_action: bool) -> Vec<TableEntry> {
        let extras = Extras { counter_data: true, time_since_last_hit: true, ..Extras::default() };
        let table = table.map(|name| self.table(name));
        let query = EntryQuery { table, is_default_action, extras, ..EntryQuery::default() };
        let found = from.read(&Query::TableEntries(query)).unwrap();
        found
            .into_iter()
            .map(|entity| match entity {
                Entity::TableEntry(entry) => entry,
                other => panic!("{other:?}"),
            })
            .collect()
    }
}

fn packets(entry: &TableEntry) -> i64 {
    entry.counter_data.as_ref().unwrap().n_packets
}

#[test]
fn g7_counters_of_const_entries_are_written_without_an_action() {
    both(|desk, switch| {
        assert_eq!(switch.arrives(1, 5).len(), 1);
        let count = CounterData { n_packets: 40, n_bytes: 0 };
        let entry = TableEntry { counter_data: Some(count), ..desk.key("fixed", 1) };
        desk.write(switch, UpdateKind::Modify, Entity::TableEntry(entry)).unwrap();
        switch.arrives(1, 5);
        let entries = desk.read(switch, Some("fixed"), false);
        assert_eq!(entries.iter().map(packets).collect::<Vec<_>>(), [41, 0]);
        assert!(entries.iter().all(|entry| entry.is_const && entry.action.is_some()));
        let send = desk.entry("fixed", 1, desk.action("fixed", "send", 3));
        let refused = desk.write(switch, UpdateKind::Modify, Entity::TableEntry(send)).unwrap_err();
        assert!(refused.starts_with("PERMISSION_DENIED"), "{refused}");
        let missing = desk.write(switch, UpdateKind::Modify, Entity::TableEntry(desk.key("fixed", 7)));
        assert!(missing.unwrap_err().starts_with("NOT_FOUND"));
    });
}

#[test]
fn i1_cells_of_one_request_are_written_in_their_order() {
    both(|desk, switch| {
        let counter = desk.schema.counters.find("cells").unwrap().id;
        let cell = |index: i64, n_packets: i64| {
            let data = Some(CounterData { n_packets, n_bytes: 0 });
            Entity::Counter(CounterEntry { counter, index: Some(index), data })
        };
        let update = |entity| Update { kind: UpdateKind::Modify, entity };
        // Each cell is written twice, and some are missing.
        let index = |i: i64| i * 97 % 700;
        let updates = (0..1400).map(|i| update(cell(index(i), i))).collect();
        let results = desk.write_all(switch, Atomicity::ContinueOnError, updates);
        for (i, result) in (0..).zip(results) {
            match result {
                Ok(()) => assert!(index(i) < 600),
                Err(fault) => assert!(index(i) >= 600 && fault.starts_with("OUT_OF_RANGE"), "{fault}"),
            }
        }
        let all = switch.read(&Query::Counters { counter: Some(counter), index: None }).unwrap();
        let mut expected: Vec<_> =
            (700..1400).map(|i| (index(i), cell(index(i), i))).filter(|(index, _)| *index < 600).collect();
        expected.sort_by_key(|(index, _)| *index);
        assert_eq!(all, expected.into_iter().map(|(_, cell)| cell).collect::<Vec<_>>());
        // Direct cells of as many entries as one or more steps have, and of one less or more.
        for n in [0, 63, 64, 65, 256] {
            for value in n_values(desk, switch)..n {
                let entry = desk.entry("values", value, desk.action("values", "mark", 1));
                let counter_data = Some(CounterData { n_packets: value as i64, n_bytes: 1 });
                let entry = Entity::TableEntry(TableEntry { counter_data, ..entry });
                desk.write(switch, UpdateKind::Insert, entry).unwrap();
            }
            let query = Query::DirectCounters { entry: Some(entry_ref(desk)) };
            let read = switch.read(&query).unwrap().into_iter().map(|entity| match entity {
                Entity::DirectCounter(counter) => counter.data.unwrap().n_packets,
                other => panic!("{other:?}"),
            });
            assert_eq!(read.collect::<Vec<_>>(), (0..n as i64).collect::<Vec<_>>());
        }
    });
}

/// All entries of `values`.
fn entry_ref(desk: &Desk) -> EntryRef {
    EntryRef { table: desk.table("values"), matches: vec![], priority: 0, is_default_action: false }
}

fn n_values(desk: &Desk, switch: &dyn Subject) -> u128 {
    desk.read(switch, Some("values"), false).len() as u128
}

#[test]
fn g6_default_entries_keep_their_metadata_until_they_are_reset() {
    both(|desk, switch| {
        let program = desk.read(switch, Some("values"), true);
        switch.arrives(0, 1);
        let action = Some(TableAction::Action(desk.action("values", "mark", 4)));
        let entry = TableEntry { action, metadata: b"mine".to_vec(), ..desk.default("values") };
        desk.write(switch, UpdateKind::Modify, Entity::TableEntry(entry.clone())).unwrap();
        assert_eq!(switch.arrives(0, 1), [[0, 4]]);
        let [read] = &desk.read(switch, Some("values"), true)[..] else { panic!() };
        assert_eq!((&read.metadata, &read.action), (&entry.metadata, &entry.action));
        assert!(!switch.has_default_of_program(desk.table("values")));
        desk.write(switch, UpdateKind::Modify, Entity::TableEntry(desk.default("values"))).unwrap();
        assert_eq!(desk.read(switch, Some("values"), true), program);
        assert!(switch.has_default_of_program(desk.table("values")));
        assert_eq!(switch.arrives(0, 1), [[0, 9]]);
    });
}

#[test]
fn e_all_default_entries_are_read_at_once() {
    both(|desk, switch| {
        let defaults = desk.read(switch, None, true);
        let tables: Vec<TableId> = defaults.iter().map(|entry| entry.table).collect();
        let mut all: Vec<TableId> = desk.schema.tables.iter().map(|table| table.id).collect();
        all.sort_unstable();
        assert_eq!(tables, all);
        assert!(defaults.iter().all(|entry| entry.is_default_action));
        let ordinary = desk.read(switch, None, false);
        assert_eq!(ordinary.len(), 5, "those of the program");
    });
}

#[test]
fn e_a_key_asks_for_one_entry() {
    both(|desk, switch| {
        for value in 0..20 {
            let entry = desk.entry("values", value, desk.action("values", "mark", value));
            desk.write(switch, UpdateKind::Insert, Entity::TableEntry(entry)).unwrap();
        }
        let read = |value, action| {
            let key = desk.key("values", value);
            let query =
                EntryQuery { table: Some(key.table), matches: key.matches, action, ..EntryQuery::default() };
            switch.read(&Query::TableEntries(query)).unwrap()
        };
        let wanted = desk.entry("values", 7, desk.action("values", "mark", 7));
        assert_eq!(read(7, None), [Entity::TableEntry(wanted)]);
        assert_eq!(read(20, None), []);
        assert_eq!(read(7, Some(ActionId(1))), []);
    });
}

#[test]
fn h4_a_selector_takes_one_shots_or_members() {
    both(|desk, switch| {
        let profile = desk.schema.profiles.iter().next().unwrap().id;
        let member = || {
            let action = Some(desk.action("chosen", "choose", 3));
            Entity::ActionProfileMember(ActionProfileMember { profile, member: MemberId(1), action })
        };
        let entry = |value, action| {
            Entity::TableEntry(TableEntry { action: Some(action), ..desk.key("chosen", value) })
        };
        let insert = UpdateKind::Insert;
        desk.write(switch, insert, entry(1, desk.one_shot(5))).unwrap();
        let refused = desk.write(switch, insert, member()).unwrap_err();
        assert!(refused.starts_with("INVALID_ARGUMENT") && refused.contains("one-shots"), "{refused}");
        desk.write(switch, UpdateKind::Delete, entry(1, desk.one_shot(5))).unwrap();
        desk.write(switch, insert, member()).unwrap();
        let two = vec![
            Update { kind: insert, entity: entry(2, desk.one_shot(5)) },
            Update { kind: insert, entity: entry(3, TableAction::Member(MemberId(1))) },
        ];
        let results = desk.write_all(switch, Atomicity::ContinueOnError, two);
        assert!(results[0].as_ref().unwrap_err().contains("members or groups"), "{results:?}");
        assert_eq!(results[1], Ok(()));
        // Without its last member the selector is free again.
        desk.write(switch, UpdateKind::Delete, entry(3, TableAction::Member(MemberId(1)))).unwrap();
        desk.write(switch, UpdateKind::Delete, member()).unwrap();
        desk.write(switch, insert, entry(2, desk.one_shot(6))).unwrap();
    });
}

#[test]
fn d3_a_rollback_brings_back_ages_and_defaults() {
    both(|desk, switch| {
        let entry = desk.entry("values", 1, desk.action("values", "mark", 1));
        desk.write(switch, UpdateKind::Insert, Entity::TableEntry(entry.clone())).unwrap();
        switch.wait(5_000_000_000);
        let all = |switch: &dyn Subject| [desk.read(switch, None, false), desk.read(switch, None, true)];
        let before = all(switch);
        let default = desk.default("values");
        let action = Some(TableAction::Action(desk.action("values", "mark", 4)));
        let updates = vec![
            Update { kind: UpdateKind::Delete, entity: Entity::TableEntry(entry) },
            Update {
                kind: UpdateKind::Modify,
                entity: Entity::TableEntry(TableEntry { action, metadata: vec![1], ..default }),
            },
            Update { kind: UpdateKind::Delete, entity: Entity::TableEntry(desk.key("values", 200)) },
        ];
        let results = desk.write_all(switch, Atomicity::RollbackOnError, updates);
        assert!(results[2].as_ref().unwrap_err().starts_with("NOT_FOUND"), "{results:?}");
        assert_eq!(all(switch), before);
        assert!(switch.has_default_of_program(desk.table("values")));
    });
}

/// A one-shot of actions of table `chosen` with their weights.
fn one_shot(
    desk: &Desk,
    actions: &[(&str, u128, i32)],
    selection_mode: SelectionMode,
    group_action: Option<Action>,
) -> TableAction {
    let weighted = |&(name, value, weight): &(&str, u128, i32)| WeightedAction {
        action: desk.action("chosen", name, value),
        weight,
        watch_port: None,
    };
    TableAction::OneShot(OneShot {
        actions: actions.iter().map(weighted).collect(),
        selection_mode,
        size_semantics: SizeSemantics::default(),
        group_action,
    })
}

#[test]
fn h4_each_packet_draws_its_action_if_selection_is_random() {
    both(|desk, switch| {
        let actions = [("choose", 1, 1), ("choose", 2, 3), ("choose", 3, 4)];
        let entry = |mode| {
            let action = Some(one_shot(desk, &actions, mode, None));
            Entity::TableEntry(TableEntry { action, ..desk.key("chosen", 1) })
        };
        desk.write(switch, UpdateKind::Insert, entry(SelectionMode::Random)).unwrap();
        assert_eq!(desk.read(switch, Some("chosen"), false).len(), 1);
        // Equal packets go to all actions, in proportion to their weights.
        let mut n = [0; 3];
        for _ in 0..4000 {
            n[usize::from(switch.arrives(1, 5)[0][1]) - 1] += 1;
        }
        assert!(
            (350..650).contains(&n[0]) && (1300..1700).contains(&n[1]) && (1800..2200).contains(&n[2]),
            "{n:?}"
        );
        // By a hash they go to one.
        for mode in [SelectionMode::Hash, SelectionMode::OfSelector] {
            desk.write(switch, UpdateKind::Modify, entry(mode)).unwrap();
            let first = switch.arrives(1, 5);
            assert!((0..100).all(|_| switch.arrives(1, 5) == first), "{mode:?}");
        }
    });
}

#[test]
fn h4_a_group_action_runs_before_the_selected_action() {
    both(|desk, switch| {
        let write = |switch: &mut dyn Subject, kind, actions: &[(&str, u128, i32)], group_action| {
            let action = Some(one_shot(desk, actions, SelectionMode::OfSelector, group_action));
            let entry = TableEntry { action, ..desk.key("chosen", 1) };
            desk.write(switch, kind, Entity::TableEntry(entry.clone()))?;
            let mut read = desk.read(switch, Some("chosen"), false);
            read[0].counter_data = None;
            assert_eq!(read, [entry]);
            Ok::<(), String>(())
        };
        let start = || Some(desk.action("chosen", "start", 40));
        write(switch, UpdateKind::Insert, &[("add", 2, 1)], start()).unwrap();
        assert_eq!(switch.arrives(1, 5), [[1, 42]]);
        // The group action calls the procedure of the selected one.
        write(switch, UpdateKind::Modify, &[("choose", 7, 1)], start()).unwrap();
        assert_eq!(switch.arrives(1, 5), [[1, 7]]);
        // A group without actions still has its own.
        write(switch, UpdateKind::Modify, &[], start()).unwrap();
        assert_eq!(switch.arrives(1, 5), [[1, 40]]);
        // An exit leaves the selected action out, and the rest of the control.
        write(switch, UpdateKind::Modify, &[("add", 2, 1)], Some(desk.action("chosen", "leave", 0))).unwrap();
        assert_eq!(switch.arrives(1, 5), [[1, 5]]);
        write(switch, UpdateKind::Modify, &[("add", 2, 1)], None).unwrap();
        assert_eq!(switch.arrives(1, 5), [[1, 11]]);
        for (selected, group_action) in [("add", "add"), ("start", "start")] {
            let group_action = Some(desk.action("chosen", group_action, 1));
            let refused = write(switch, UpdateKind::Modify, &[(selected, 2, 1)], group_action).unwrap_err();
            assert!(
                refused.starts_with("PERMISSION_DENIED") && refused.contains("@groupaction"),
                "{refused}"
            );
        }
    });
}
