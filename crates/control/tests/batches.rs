//! What happens to a batch when one of its updates fails.

mod support;

use std::cell::Cell;
use std::collections::BTreeMap;

use control::*;
use ir::Bits;
use support::*;

/// An entry of `I.acl`.
fn acl(schema: &Schema, ether_type: u128, priority: i32, port: u128) -> Entity {
    let table = schema.tables.find("acl").unwrap();
    let forward = schema.actions.find("forward").unwrap();
    let value = Match::Exact(Bits::new(16, ether_type).into());
    let matches = vec![FieldMatch { field: table.find_key("type").unwrap().id, value }];
    let param = Param { id: forward.find_param("port").unwrap().id, value: Bits::new(9, port).into() };
    let action = TableAction::Action(Action { id: forward.id, params: vec![param] });
    Entity::TableEntry(TableEntry { action: Some(action), ..TableEntry::new(table.id, matches, priority) })
}

fn update(kind: UpdateKind, entity: Entity) -> Update {
    Update { kind, entity }
}

/// Keeps everything in a map by key; a write to all cells becomes one to each of two.
#[derive(Default)]
struct Store {
    entities: BTreeMap<String, Entity>,
    schema: Schema,
    is_batch_atomic: bool,
    has_default_of_program: bool,
    /// Set by a query for the time since the last hit.
    asked_for_age: Cell<bool>,
}

impl Store {
    fn new(schema: Schema) -> Store {
        Store { schema, ..Store::default() }
    }

    fn key(&self, entity: &Entity) -> String {
        format!("{:?}", EntityKey::new(&self.schema, entity).unwrap())
    }
}

impl Target for Store {
    fn write(&mut self, update: &Update) -> Result<(), Fault> {
        let what = || self.schema.describe(&update.entity);
        if let Entity::Register(RegisterEntry { register, index: None, data }) = &update.entity {
            for index in 0..2 {
                let cell = RegisterEntry { register: *register, index: Some(index), data: data.clone() };
                self.write(&Update { kind: update.kind, entity: Entity::Register(cell) })?;
            }
            return Ok(());
        }
        let key = self.key(&update.entity);
        let exists = self.entities.contains_key(&key);
        match update.kind {
            UpdateKind::Insert if exists => return Err(Problem::AlreadyExists { what: what() }.into()),
            UpdateKind::Modify | UpdateKind::Delete if !exists => {
                return Err(Problem::DoesNotExist { what: what() }.into());
            }
            UpdateKind::Insert | UpdateKind::Modify => self.entities.insert(key, update.entity.clone()),
            UpdateKind::Delete => self.entities.remove(&key),
        };
        Ok(())
    }

    fn read(&self, query: &Query) -> Result<Vec<Entity>, Fault> {
        let wanted = |entity: &&Entity| match (query, entity) {
            (Query::TableEntries(query), Entity::TableEntry(entry)) => {
                self.asked_for_age.set(query.extras.time_since_last_hit);
                query.table == Some(entry.table)
                    && query.is_default_action == entry.is_default_action
                    && (query.matches.is_empty() || query.matches == entry.matches)
                    && (query.priority == 0 || query.priority == entry.priority)
            }
            (Query::Registers { register, index }, Entity::Register(entry)) => {
                *register == Some(entry.register) && (index.is_none() || *index == entry.index)
            }
            _ => false,
        };
        Ok(self.entities.values().filter(wanted).cloned().collect())
    }

    fn is_batch_atomic(&self) -> bool {
        self.is_batch_atomic
    }

    /// Puts back what no update can write, too.
    fn restore(&mut self, kind: UpdateKind, entity: Entity) -> Result<(), Fault> {
        self.write(&Update { kind, entity })
    }

    fn has_default_of_program(&self, _: TableId) -> bool {
        self.has_default_of_program
    }
}

fn codes(results: &[Result<(), Fault>]) -> Vec<Option<Code>> {
    results.iter().map(|result| result.as_ref().err().map(Fault::code)).collect()
}

fn batch(updates: Vec<Update>, atomicity: Atomicity) -> Batch {
    Batch { updates, atomicity }
}

#[test]
fn the_others_are_made_all_the_same() {
    let schema = schema();
    let mut store = Store::new(schema.clone());
    let updates = vec![
        update(UpdateKind::Insert, acl(&schema, 1, 1, 1)),
        update(UpdateKind::Insert, acl(&schema, 1, 1, 2)),
        update(UpdateKind::Insert, acl(&schema, 2, 0, 2)),
        update(UpdateKind::Delete, acl(&schema, 3, 1, 2)),
        update(UpdateKind::Insert, acl(&schema, 3, 1, 2)),
    ];
    let results = apply(&schema, &mut store, &batch(updates, Atomicity::ContinueOnError)).unwrap();
    let expected = [None, Some(Code::AlreadyExists), Some(Code::InvalidArgument), Some(Code::NotFound), None];
    assert_eq!(codes(&results), expected);
    assert_eq!(store.entities.len(), 2);
    let fault = results[1].as_ref().unwrap_err().to_string();
    assert_eq!(fault, "the entry of table `I.acl` with `hdr.eth.type` = 0x0001, priority 1 exists already");
}

#[test]
fn all_or_none() {
    let schema = schema();
    let mut store = Store::new(schema.clone());
    let cells = RegisterEntry {
        register: schema.registers.find("cells").unwrap().id,
        index: Some(0),
        data: Some(Data::Bits(Bits::new(8, 1))),
    };
    let cell = |index, value| {
        let data = Some(Data::Bits(Bits::new(8, value)));
        Entity::Register(RegisterEntry { index, data, ..cells.clone() })
    };
    for index in 0..2 {
        let entity = cell(Some(index), 1);
        store.write(&update(UpdateKind::Insert, entity)).unwrap();
    }
    let first = vec![
        update(UpdateKind::Insert, acl(&schema, 1, 1, 1)),
        update(UpdateKind::Insert, acl(&schema, 2, 1, 1)),
    ];
    let results = apply(&schema, &mut store, &batch(first, Atomicity::RollbackOnError)).unwrap();
    assert_eq!(codes(&results), [None, None]);
    let before = store.entities.clone();

    let failing = vec![
        update(UpdateKind::Modify, acl(&schema, 1, 1, 7)),
        update(UpdateKind::Modify, cell(None, 9)),
        update(UpdateKind::Delete, acl(&schema, 2, 1, 1)),
        update(UpdateKind::Insert, acl(&schema, 3, 1, 1)),
        update(UpdateKind::Modify, acl(&schema, 4, 1, 1)),
        update(UpdateKind::Insert, acl(&schema, 5, 1, 1)),
    ];
    let results = apply(&schema, &mut store, &batch(failing, Atomicity::RollbackOnError)).unwrap();
    let aborted = Some(Code::Aborted);
    assert_eq!(codes(&results), [aborted, aborted, aborted, aborted, Some(Code::NotFound), aborted]);
    assert_eq!(store.entities, before);
    let fault = results[0].as_ref().unwrap_err().to_string();
    assert_eq!(fault, "not done, because update 4 of the batch failed");
}

#[test]
fn an_invalid_batch_is_not_begun() {
    let schema = schema();
    let mut store = Store::new(schema.clone());
    let updates = vec![
        update(UpdateKind::Insert, acl(&schema, 1, 1, 1)),
        update(UpdateKind::Insert, acl(&schema, 2, -1, 1)),
    ];
    let results = apply(&schema, &mut store, &batch(updates, Atomicity::RollbackOnError)).unwrap();
    assert_eq!(codes(&results), [Some(Code::Aborted), Some(Code::InvalidArgument)]);
    assert!(store.entities.is_empty());
}

#[test]
fn d3_atomic_for_packets_only_where_the_target_can() {
    let schema = schema();
    let mut store = Store::new(schema.clone());
    let updates = vec![update(UpdateKind::Insert, acl(&schema, 1, 1, 1))];
    let one = batch(updates, Atomicity::DataplaneAtomic);
    let refused = apply(&schema, &mut store, &one).unwrap_err();
    assert_eq!(refused.code(), Code::Unimplemented);
    assert!(store.entities.is_empty());
    store.is_batch_atomic = true;
    assert_eq!(codes(&apply(&schema, &mut store, &one).unwrap()), [None]);
    let updates = vec![update(UpdateKind::Insert, acl(&schema, 1, 1, 1)); N_ATOMIC_UPDATES_MAX + 1];
    let refused = apply(&schema, &mut store, &batch(updates, Atomicity::DataplaneAtomic)).unwrap_err();
    assert_eq!(refused.code(), Code::Unimplemented);
    assert_eq!(
        refused.to_string(),
        "a batch that is atomic for the data plane may have 16384 updates, not 16385; send it in parts"
    );
    assert_eq!(store.entities.len(), 1);
}

#[test]
fn d3_what_no_update_can_write_is_restored_by_the_target() {
    let schema = schema();
    let mut store = Store::new(schema.clone());
    let Entity::TableEntry(entry) = acl(&schema, 1, 1, 1) else { unreachable!() };
    let aged = TableEntry { time_since_last_hit_ns: Some(77), ..entry };
    store.restore(UpdateKind::Insert, Entity::TableEntry(aged)).unwrap();
    let before = store.entities.clone();
    let updates = vec![
        update(UpdateKind::Delete, acl(&schema, 1, 1, 1)),
        update(UpdateKind::Delete, acl(&schema, 2, 1, 1)),
    ];
    let results = apply(&schema, &mut store, &batch(updates, Atomicity::RollbackOnError)).unwrap();
    assert_eq!(codes(&results), [Some(Code::Aborted), Some(Code::NotFound)]);
    assert_eq!(store.entities, before);
    assert!(store.asked_for_age.get(), "the age is part of the state before");
}

/// A target that cannot restore more than updates write, with one const entry and one meter.
struct Plain {
    present: Vec<Entity>,
    written: Vec<Update>,
}

impl Target for Plain {
    fn write(&mut self, update: &Update) -> Result<(), Fault> {
        match &update.entity {
            Entity::Counter(_) => return Err(Problem::DoesNotExist { what: "it".to_owned() }.into()),
            Entity::TableEntry(entry) if entry.is_const || entry.action.is_some() => {
                return Err(Problem::ConstEntry { what: "it".to_owned() }.into());
            }
            _ => {}
        }
        self.written.push(update.clone());
        Ok(())
    }

    fn read(&self, query: &Query) -> Result<Vec<Entity>, Fault> {
        let is_asked = |entity: &&Entity| match (query, entity) {
            (Query::TableEntries(_), Entity::TableEntry(_)) => true,
            (Query::Meters { with_counter_data, .. }, Entity::Meter(_)) => *with_counter_data,
            _ => false,
        };
        Ok(self.present.iter().filter(is_asked).cloned().collect())
    }
}

#[test]
fn d3_only_what_updates_can_write_is_written_back() {
    let schema = schema();
    let table = schema.tables.find("E.sub.l2").unwrap();
    let value = Match::Exact(Bits::new(9, 3).into());
    let key = TableEntry::new(table.id, vec![FieldMatch { field: table.keys[0].id, value }], 0);
    let Entity::TableEntry(like) = acl(&schema, 1, 1, 1) else { unreachable!() };
    let entry = TableEntry { action: like.action, is_const: true, ..key.clone() };
    let colours =
        Some(MeterCounterData { green: CounterData { n_bytes: 5, n_packets: 1 }, ..Default::default() });
    let meter = schema.meters.find("rates").unwrap().id;
    let config = Some(MeterConfig { cir: 1, pir: 2, ..MeterConfig::default() });
    let cell = MeterEntry { meter, index: Some(0), config, counter_data: colours };
    let present = vec![Entity::TableEntry(entry), Entity::Meter(cell.clone())];
    let mut target = Plain { present, written: Vec::new() };
    let changed = Entity::Meter(MeterEntry { config: None, counter_data: None, ..cell.clone() });
    let missing = CounterEntry {
        counter: schema.counters.find("hits").unwrap().id,
        index: Some(0),
        data: Some(CounterData::default()),
    };
    let updates = vec![
        update(UpdateKind::Modify, Entity::TableEntry(key.clone())),
        update(UpdateKind::Modify, changed),
        update(UpdateKind::Modify, Entity::Counter(missing)),
    ];
    let results = apply(&schema, &mut target, &batch(updates, Atomicity::RollbackOnError)).unwrap();
    assert_eq!(codes(&results), [Some(Code::Aborted), Some(Code::Aborted), Some(Code::NotFound)]);
    let restored = [
        update(UpdateKind::Modify, Entity::Meter(MeterEntry { counter_data: None, ..cell })),
        update(UpdateKind::Modify, Entity::TableEntry(key)),
    ];
    assert_eq!(target.written[2..], restored);
}

/// Undoing a change of a default action gives the table the program's again, not an action that is set.
#[test]
fn d3_the_default_action_of_the_program_is_restored_as_such() {
    let schema = schema();
    let mut store = Store::new(schema.clone());
    let table = schema.tables.find("acl").unwrap().id;
    let nothing = Action { id: schema.actions.find("NoAction").unwrap().id, params: Vec::new() };
    let initial = Entity::TableEntry(TableEntry::default_entry(table, Some(nothing.clone())));
    let key = store.key(&initial);
    store.entities.insert(key.clone(), initial);
    let set = || {
        update(
            UpdateKind::Modify,
            Entity::TableEntry(TableEntry::default_entry(table, Some(nothing.clone()))),
        )
    };
    let failing =
        || batch(vec![set(), update(UpdateKind::Delete, acl(&schema, 2, 1, 1))], Atomicity::RollbackOnError);
    store.has_default_of_program = true;
    apply(&schema, &mut store, &failing()).unwrap();
    let Some(Entity::TableEntry(restored)) = store.entities.get(&key) else { panic!("no default entry") };
    assert_eq!(restored.action, None);

    store.has_default_of_program = false;
    store.write(&set()).unwrap();
    apply(&schema, &mut store, &failing()).unwrap();
    let Some(Entity::TableEntry(restored)) = store.entities.get(&key) else { panic!("no default entry") };
    assert_eq!(restored.action, Some(TableAction::Action(nothing)));
}

/// The order of the updates is the order of the writes.
#[test]
fn d4_updates_are_made_in_their_order() {
    let schema = schema();
    let mut store = Store::new(schema.clone());
    let updates = vec![
        update(UpdateKind::Insert, acl(&schema, 1, 1, 1)),
        update(UpdateKind::Delete, acl(&schema, 1, 1, 1)),
        update(UpdateKind::Insert, acl(&schema, 1, 1, 2)),
        update(UpdateKind::Modify, acl(&schema, 1, 1, 3)),
    ];
    for atomicity in [Atomicity::ContinueOnError, Atomicity::RollbackOnError] {
        store.entities.clear();
        let results = apply(&schema, &mut store, &batch(updates.clone(), atomicity)).unwrap();
        assert_eq!(codes(&results), [None; 4]);
        assert_eq!(store.entities.values().cloned().collect::<Vec<_>>(), [acl(&schema, 1, 1, 3)]);
    }
}

#[test]
fn keys_are_the_same_in_any_order_of_matches() {
    let schema = schema();
    let table = schema.tables.find("I.sub.l2").unwrap();
    let field = |field, width, value| FieldMatch {
        field: FieldId(field),
        value: Match::Exact(Bits::new(width, value).into()),
    };
    let one = EntryKey::new(table, &[field(1, 48, 1), field(2, 8, 2)], 0);
    let other = EntryKey::new(table, &[field(2, 8, 2), field(1, 48, 1)], 0);
    assert_eq!(one, other);
    assert_eq!(other.matches(table), [field(1, 48, 1), field(2, 8, 2)]);
    assert_ne!(one, EntryKey::new(table, &[field(1, 48, 1), field(2, 8, 3)], 0));
    assert_ne!(one, EntryKey::new(table, &[field(1, 48, 1), field(2, 8, 2)], 1));
}
