//! Translation between the values of controllers and those of the program, by the numbers of the checklist for P4Runtime,
//! and there and back with random entities.

use std::collections::BTreeMap;
use std::sync::Arc;

use control::packets::{ControllerPacket, PacketIo, PacketMetadata};
use control::schema::DataType;
use control::translate::{
    Options, Others, Rule, Rules, RulesError, Translated, TranslationError, Translator, Widths,
    port_translation,
};
use control::*;
use ir::Bits;
use num_bigint::BigUint;
use p4info::{Format, P4Info, decode_p4info};
use proptest::prelude::*;

const PORT: &str = "p4.org/psa/v1/PortId_t";
const WIDE: &str = "test/wide";
const NARROW: &str = "test/narrow";

/// Controllers have ports of 32 bits, VRFs by name, `wide` with 32 bits and `narrow` with 8.
const PROGRAM: &str = r#"
tables {
  preamble { id: 0x02000001 name: "I.ports" }
  match_fields { id: 1 name: "port" bitwidth: 32 match_type: EXACT type_name { name: "PortId_t" } }
  match_fields { id: 2 name: "vrf" match_type: OPTIONAL type_name { name: "vrf_t" } }
  action_refs { id: 0x01000001 }
}
tables {
  preamble { id: 0x02000002 name: "I.numbers" }
  match_fields { id: 1 name: "wide.lpm" bitwidth: 32 match_type: LPM type_name { name: "wide_t" } }
  match_fields { id: 2 name: "wide.ternary" bitwidth: 32 match_type: TERNARY type_name { name: "wide_t" } }
  match_fields { id: 3 name: "wide.range" bitwidth: 32 match_type: RANGE type_name { name: "wide_t" } }
  match_fields { id: 4 name: "narrow.lpm" bitwidth: 8 match_type: LPM type_name { name: "narrow_t" } }
  match_fields { id: 5 name: "narrow.ternary" bitwidth: 8 match_type: TERNARY type_name { name: "narrow_t" } }
  match_fields { id: 6 name: "narrow.range" bitwidth: 8 match_type: RANGE type_name { name: "narrow_t" } }
  match_fields { id: 7 name: "port.ternary" bitwidth: 32 match_type: TERNARY type_name { name: "PortId_t" } }
  action_refs { id: 0x01000001 }
}
actions {
  preamble { id: 0x01000001 name: "I.set" }
  params { id: 1 name: "vrf" type_name { name: "vrf_t" } }
  params { id: 2 name: "wide" bitwidth: 32 type_name { name: "wide_t" } }
}
action_profiles {
  preamble { id: 0x11000001 name: "I.selector" }
  with_selector: true
  size: 64
}
counters {
  preamble { id: 0x12000001 name: "I.per_port" }
  spec { unit: BOTH }
  size: 16
  index_type_name { name: "PortId_t" }
}
registers {
  preamble { id: 0x16000001 name: "I.last" }
  type_spec { struct { name: "pair_t" } }
  size: 2
}
value_sets {
  preamble { id: 0x03000001 name: "P.vrfs" }
  match { id: 1 name: "vrf" match_type: EXACT type_name { name: "vrf_t" } }
  size: 4
}
digests {
  preamble { id: 0x17000001 name: "learn" }
  type_spec { struct { name: "pair_t" } }
}
type_info {
  structs { key: "pair_t" value {
    members { name: "port" type_spec { new_type { name: "PortId_t" } } }
    members { name: "vrf" type_spec { new_type { name: "vrf_t" } } }
    members { name: "plain" type_spec { bitstring { bit { bitwidth: 8 } } } }
  } }
  new_types { key: "PortId_t" value { translated_type { uri: "p4.org/psa/v1/PortId_t" sdn_bitwidth: 32 } } }
  new_types { key: "vrf_t" value { translated_type { uri: "" sdn_string {} } } }
  new_types { key: "wide_t" value { translated_type { uri: "test/wide" sdn_bitwidth: 32 } } }
  new_types { key: "narrow_t" value { translated_type { uri: "test/narrow" sdn_bitwidth: 8 } } }
}
"#;

fn p4info(text: &str) -> P4Info {
    decode_p4info(text.as_bytes(), Format::Text).unwrap()
}

fn schema() -> Schema {
    Schema::new(&p4info(PROGRAM)).unwrap()
}

/// Widths of the program.
fn width(by: &str) -> Option<u32> {
    [(PORT, 9), ("vrf_t", 3), (WIDE, 12), (NARROW, 12)].iter().find(|of| of.0 == by).map(|of| of.1)
}

fn rules(text: &str) -> Rules {
    Rules::parse(text).unwrap()
}

fn translator(options: Options) -> Translator {
    let mut translator = Translator::new(options);
    translator.adopt(&schema(), width).unwrap();
    translator
}

fn with_ports(rules: Rules) -> Options {
    Options {
        rules,
        ports: Some(PORT.into()),
        cpu_port: Some(510),
        recirculate_port: Some(511),
        ..Options::default()
    }
}

/// Keeps entities by key and in one width per element, as a program does.
#[derive(Default)]
struct Store {
    schema: Schema,
    entities: BTreeMap<String, Entity>,
}

impl Store {
    fn new() -> Store {
        Store { schema: schema(), ..Store::default() }
    }
}

impl Target for Store {
    fn write(&mut self, update: &Update) -> Result<(), Fault> {
        let key = format!("{:?}", EntityKey::new(&self.schema, &update.entity).unwrap());
        match update.kind {
            UpdateKind::Insert | UpdateKind::Modify => self.entities.insert(key, update.entity.clone()),
            UpdateKind::Delete => self.entities.remove(&key),
        };
        Ok(())
    }

    fn read(&self, query: &Query) -> Result<Vec<Entity>, Fault> {
        let is_wanted = |entity: &&Entity| match (query, entity) {
            (Query::TableEntries(of), Entity::TableEntry(entry)) => {
                of.table.is_none_or(|table| table == entry.table) && !of.is_default_action
            }
            (Query::Groups { .. }, Entity::ActionProfileGroup(_))
            | (Query::Counters { .. }, Entity::Counter(_))
            | (Query::Registers { .. }, Entity::Register(_))
            | (Query::MulticastGroups(_), Entity::MulticastGroup(_))
            | (Query::ValueSets(_), Entity::ValueSet(_)) => true,
            _ => false,
        };
        Ok(self.entities.values().filter(is_wanted).cloned().collect())
    }
}

/// Writes an entity as a controller does; returns what the program has of it and what comes back.
fn through(
    translator: &mut Translator,
    kind: UpdateKind,
    entity: &Entity,
) -> Result<(Entity, Entity), Fault> {
    let (schema, mut store) = (Arc::new(schema()), Store::new());
    let update = Update { kind, entity: entity.clone() };
    validate(&schema, &update).unwrap();
    let mut target = Translated { schema: &schema, translator, target: &mut store };
    target.write(&update)?;
    let back = target.read(&Query::exactly(&schema, entity))?;
    let inner = store.entities.values().next().unwrap().clone();
    Ok((inner, back[0].clone()))
}

fn bits(width: u32, value: u128) -> Value {
    Value::Bits(Bits::new(width, value))
}

fn text(value: &str) -> Value {
    Value::Text(value.into())
}

fn field(id: u32, value: Match) -> FieldMatch {
    FieldMatch { field: FieldId(id), value }
}

fn set(vrf: &str, wide: u128) -> Option<TableAction> {
    let params =
        vec![Param { id: ParamId(1), value: text(vrf) }, Param { id: ParamId(2), value: bits(32, wide) }];
    Some(TableAction::Action(Action { id: ActionId(0x0100_0001), params }))
}

/// An entry of `I.ports`.
fn entry(port: u128, vrf: &str, to: &str) -> Entity {
    let matches = vec![field(1, Match::Exact(bits(32, port))), field(2, Match::Optional(text(vrf)))];
    Entity::TableEntry(TableEntry { action: set(to, 7), ..TableEntry::new(TableId(0x0200_0001), matches, 1) })
}

/// An entry of `I.numbers` with one match.
fn numbers(id: u32, value: Match) -> Entity {
    let entry = TableEntry::new(TableId(0x0200_0002), vec![field(id, value)], 1);
    Entity::TableEntry(TableEntry { action: set("a", 7), ..entry })
}

fn only_match(entity: &Entity) -> &Match {
    match entity {
        Entity::TableEntry(entry) => &entry.matches[0].value,
        _ => panic!("{entity:?}"),
    }
}

fn group(ports: &[u64]) -> Entity {
    let replica = |(i, port): (usize, &u64)| Replica {
        egress_port: Port::number(*port),
        instance: i as u32,
        backups: vec![BackupReplica { egress_port: Port::number(port + 1), instance: i as u32 }],
    };
    let replicas = ports.iter().enumerate().map(replica).collect();
    Entity::MulticastGroup(MulticastGroup { group: MulticastGroupId(1), replicas, metadata: Vec::new() })
}

fn insert(translator: &mut Translator, entity: &Entity) -> Result<(Entity, Entity), Fault> {
    through(translator, UpdateKind::Insert, entity)
}

fn code(result: Result<(Entity, Entity), Fault>) -> Code {
    result.unwrap_err().code()
}

#[test]
fn f2_numbers_fit_or_are_out_of_range() {
    let mut translator = translator(with_ports(Rules::default()));
    let (inner, back) = insert(&mut translator, &entry(5, "a", "b")).unwrap();
    assert_eq!(back, entry(5, "a", "b"));
    let Entity::TableEntry(inner) = inner else { panic!() };
    assert_eq!(inner.matches[0].value, Match::Exact(bits(9, 5)));
    // Names in the order of their first use.
    assert_eq!(inner.matches[1].value, Match::Optional(bits(3, 1)));
    let Some(TableAction::Action(action)) = inner.action else { panic!() };
    assert_eq!(action.params[0].value, bits(3, 2));
    assert_eq!(action.params[1].value, bits(12, 7));
    let mut too_wide = entry(5, "a", "b");
    let Entity::TableEntry(of) = &mut too_wide else { panic!() };
    of.action = set("b", 1 << 12);
    let fault = insert(&mut translator, &too_wide).unwrap_err();
    assert_eq!((fault.code(), fault.path()), (Code::OutOfRange, "action.action.params[1].value"));
    assert_eq!(fault.problem().to_string(), "0x1000 does not fit into the 12 bits of `wide`");
}

#[test]
fn f2_parts_of_mapped_values_are_not_supported() {
    let mut translator =
        translator(with_ports(rules("[\"test/wide\"]\nvalues = { 16 = 1 }\nothers = \"identity\"")));
    let value = |value: u128| Bits::new(32, value);
    for part in [
        numbers(1, Match::Lpm { value: value(16), prefix_len: 28 }),
        numbers(2, Match::Ternary { value: value(16), mask: value(16) }),
        numbers(3, Match::Range { low: value(16), high: value(17) }),
        numbers(7, Match::Ternary { value: value(1), mask: value(1) }),
    ] {
        let fault = insert(&mut translator, &part).unwrap_err();
        assert_eq!((fault.code(), fault.path()), (Code::Unimplemented, "match[0]"));
    }
    let whole = Bits::ones(32);
    for (all, inner) in [
        (
            numbers(1, Match::Lpm { value: value(16), prefix_len: 32 }),
            Match::Lpm { value: Bits::new(12, 1), prefix_len: 12 },
        ),
        (
            numbers(2, Match::Ternary { value: value(16), mask: whole.clone() }),
            Match::Ternary { value: Bits::new(12, 1), mask: Bits::ones(12) },
        ),
        (
            numbers(3, Match::Range { low: value(16), high: value(16) }),
            Match::Range { low: Bits::new(12, 1), high: Bits::new(12, 1) },
        ),
        (
            numbers(7, Match::Ternary { value: value(0xffff_fffd), mask: whole }),
            Match::Ternary { value: Bits::new(9, 510), mask: Bits::ones(9) },
        ),
    ] {
        let (found, back) = insert(&mut translator, &all).unwrap();
        assert_eq!((only_match(&found), &back), (&inner, &all));
    }
}

#[test]
fn f3_fixed_maps_know_nothing_else() {
    let map = "[vrf_t]\nvalues = { red = 1, blue = \"0x7\" }\n[\"p4.org/psa/v1/PortId_t\"]\nvalues = { 100 = 1, \"0x65\" = 2 }";
    let mut translator = translator(with_ports(rules(map)));
    let (inner, back) = insert(&mut translator, &entry(101, "red", "blue")).unwrap();
    assert_eq!(back, entry(101, "red", "blue"));
    assert_eq!(only_match(&inner), &Match::Exact(bits(9, 2)));
    let fault = insert(&mut translator, &entry(100, "green", "red")).unwrap_err();
    assert_eq!(fault.code(), Code::NotFound);
    assert_eq!(fault.to_string(), "\"green\" of `vrf` is not in the translation vrf_t (in match[1])");
    assert_eq!(code(insert(&mut translator, &entry(5, "red", "blue"))), Code::InvalidArgument);
    assert_eq!(code(insert(&mut translator, &group(&[100, 5]))), Code::InvalidArgument);
    let group = group(&[100]);
    assert_eq!(insert(&mut translator, &group).unwrap().1, group);
    // A value of the program that has no name is our fault, not that of the one who asks.
    let ty = &schema().tables.find("I.ports").unwrap().keys[1].value.clone();
    let fault = translator.to_controller("vrf", ty, &mut bits(3, 5)).unwrap_err();
    assert_eq!(fault.code(), Code::Internal);
}

#[test]
fn f3_names_are_allocated_until_none_is_left() {
    let mut translator = translator(Options::default());
    for i in 0..7 {
        insert(&mut translator, &entry(1, &format!("vrf-{i}"), "vrf-0")).unwrap();
    }
    let fault = insert(&mut translator, &entry(1, "vrf-7", "vrf-0")).unwrap_err();
    assert_eq!(fault.code(), Code::ResourceExhausted);
    assert_eq!(fault.problem().to_string(), "all 7 values of the translation vrf_t are taken");
    // Names that are known still work, and so does the one number left, by its own name.
    insert(&mut translator, &entry(1, "vrf-3", "0")).unwrap();
    // A name that is a number gets it if it is free.
    let mut fresh = self::translator(Options::default());
    let (inner, back) = insert(&mut fresh, &entry(1, "5", "05")).unwrap();
    assert_eq!(back, entry(1, "5", "05"));
    let Entity::TableEntry(inner) = inner else { panic!() };
    assert_eq!(inner.matches[1].value, Match::Optional(bits(3, 5)));
    let Some(TableAction::Action(action)) = inner.action else { panic!() };
    assert_eq!(action.params[0].value, bits(3, 1));
}

#[test]
fn f3_deletions_and_queries_allocate_nothing() {
    let schema = Arc::new(schema());
    let mut translator = translator(Options::default());
    let mut store = Store::new();
    let mut target = Translated { schema: &schema, translator: &mut translator, target: &mut store };
    for i in 0..20 {
        let entity = entry(1, &format!("vrf-{i}"), "x");
        let fault = target.write(&Update { kind: UpdateKind::Delete, entity: entity.clone() }).unwrap_err();
        assert_eq!(fault.code(), Code::NotFound);
        assert_eq!(target.read(&Query::exactly(&schema, &entity)), Ok(Vec::new()));
    }
    let Entity::TableEntry(absent) = entry(1, "none", "x") else { panic!() };
    let entry_ref =
        EntryRef { table: absent.table, matches: absent.matches, priority: 1, is_default_action: false };
    let query = Query::DirectCounters { entry: Some(entry_ref) };
    assert_eq!(target.read(&query).unwrap_err().code(), Code::NotFound);
    for i in 0..7 {
        let entity = entry(1, &format!("vrf-{i}"), "vrf-0");
        target.write(&Update { kind: UpdateKind::Insert, entity }).unwrap();
    }
    // Only the key of a deletion is read.
    let entity = entry(1, "vrf-6", "no such vrf");
    assert_eq!(target.write(&Update { kind: UpdateKind::Delete, entity }), Ok(()));
}

#[test]
fn f3_a_batch_has_one_result_per_update() {
    let schema = Arc::new(schema());
    let mut translator =
        translator(Options { rules: rules("[vrf_t]\nvalues = { a = 1, b = 2 }"), ..Options::default() });
    let mut store = Store::new();
    let mut target = Translated { schema: &schema, translator: &mut translator, target: &mut store };
    let updates: Vec<Update> = [entry(1, "a", "b"), entry(2, "z", "b"), entry(3, "b", "a")]
        .map(|entity| Update { kind: UpdateKind::Insert, entity })
        .into();
    let batch = Batch { updates, atomicity: Atomicity::ContinueOnError };
    let results = apply(&schema, &mut target, &batch).unwrap();
    let codes: Vec<Option<Code>> =
        results.iter().map(|result| result.as_ref().err().map(Fault::code)).collect();
    assert_eq!(codes, [None, Some(Code::NotFound), None]);
    assert_eq!(store.entities.len(), 2);
}

#[test]
fn f3_ports_indices_registers_and_value_sets() {
    let map =
        "[\"p4.org/psa/v1/PortId_t\"]\nvalues = { 100 = 1, 101 = 2, 200 = 20 }\n[vrf_t]\nvalues = { a = 1 }";
    let mut translator = translator(with_ports(rules(map)));
    let modify =
        |translator: &mut Translator, entity: &Entity| through(translator, UpdateKind::Modify, entity);
    let (inner, back) = insert(&mut translator, &group(&[100])).unwrap();
    let Entity::MulticastGroup(of) = inner else { panic!() };
    assert_eq!(of.replicas[0].egress_port, Port::number(1));
    assert_eq!(of.replicas[0].backups[0].egress_port, Port::number(2));
    assert_eq!(back, group(&[100]));
    let members = vec![GroupMember { member: MemberId(1), weight: 1, watch_port: Some(Port::number(101)) }];
    let watched = Entity::ActionProfileGroup(ActionProfileGroup {
        profile: ProfileId(0x1100_0001),
        group: GroupId(1),
        members,
        max_size: 0,
    });
    let (inner, back) = insert(&mut translator, &watched).unwrap();
    let Entity::ActionProfileGroup(of) = inner else { panic!() };
    assert_eq!((of.members[0].watch_port.clone(), back), (Some(Port::number(2)), watched));
    let cell = |index| {
        Entity::Counter(CounterEntry { counter: CounterId(0x1200_0001), index: Some(index), data: None })
    };
    let (inner, back) = modify(&mut translator, &cell(101)).unwrap();
    assert_eq!((inner, back), (cell(2), cell(101)));
    let fault = modify(&mut translator, &cell(200)).unwrap_err();
    assert_eq!((fault.code(), fault.path()), (Code::OutOfRange, "index"));
    let pair = |port, vrf| Data::Struct(vec![port, vrf, Data::Bits(Bits::new(8, 9))]);
    let outer = pair(Data::Bits(Bits::new(32, 100)), Data::Text("a".into()));
    let register = |data| {
        Entity::Register(RegisterEntry {
            register: RegisterId(0x1600_0001),
            index: Some(0),
            data: Some(data),
        })
    };
    let (inner, back) = modify(&mut translator, &register(outer.clone())).unwrap();
    let inner_pair = pair(Data::Bits(Bits::new(9, 1)), Data::Bits(Bits::new(3, 1)));
    assert_eq!((inner, back), (register(inner_pair.clone()), register(outer.clone())));
    // A digest is a value of the program.
    let mut digest = inner_pair;
    let ty: DataType = schema().digests.iter().next().unwrap().message.clone();
    translator.data("learn", &ty, &mut digest).unwrap();
    assert_eq!(digest, outer);
    let value_set = |value| {
        let members = vec![ValueSetMember { matches: vec![field(1, Match::Exact(value))] }];
        Entity::ValueSet(ValueSetEntry { value_set: ValueSetId(0x0300_0001), members })
    };
    let (inner, back) = modify(&mut translator, &value_set(text("a"))).unwrap();
    assert_eq!((inner, back), (value_set(bits(3, 1)), value_set(text("a"))));
}

#[test]
fn f3_a_new_program_keeps_all_names() {
    let mut translator = translator(Options::default());
    insert(&mut translator, &entry(1, "red", "blue")).unwrap();
    translator.adopt(&schema(), |by| width(by).map(|width| width + 1)).unwrap();
    let (inner, _) = insert(&mut translator, &entry(1, "blue", "red")).unwrap();
    let Entity::TableEntry(inner) = inner else { panic!() };
    assert_eq!(inner.matches[1].value, Match::Optional(bits(4, 2)));
    // A program without room for them is refused, and nothing changes.
    let fault =
        translator.adopt(&schema(), |by| if by == "vrf_t" { Some(1) } else { width(by) }).unwrap_err();
    assert!(matches!(fault, TranslationError::TooNarrow { .. }), "{fault}");
    let as_numbers = PROGRAM
        .replace("sdn_string {}", "sdn_bitwidth: 16")
        .replace("name: \"vrf\" match_type", "name: \"vrf\" bitwidth: 16 match_type")
        .replace("name: \"vrf\" type_name", "name: \"vrf\" bitwidth: 16 type_name");
    let fault = translator.adopt(&Schema::new(&p4info(&as_numbers)).unwrap(), width).unwrap_err();
    assert!(matches!(fault, TranslationError::Mixed { .. }), "{fault}");
    assert_eq!(insert(&mut translator, &entry(1, "red", "red")).unwrap().1, entry(1, "red", "red"));
}

#[test]
fn f3_one_shots_and_members() {
    let mut translator = translator(with_ports(rules("[\"p4.org/psa/v1/PortId_t\"]\nvalues = { 100 = 1 }")));
    let action = |vrf: Value| {
        let params = vec![Param { id: ParamId(1), value: vrf }];
        control::Action { id: ActionId(0x0100_0001), params }
    };
    let one_shot = |vrf: Value, port| {
        let weighted =
            WeightedAction { action: action(vrf.clone()), weight: 1, watch_port: Some(Port::number(port)) };
        Entity::TableEntry(TableEntry {
            action: Some(TableAction::OneShot(OneShot {
                actions: vec![weighted],
                selection_mode: SelectionMode::OfSelector,
                size_semantics: SizeSemantics::OfSelector,
                group_action: Some(action(vrf)),
            })),
            ..TableEntry::new(TableId(0x0200_0001), Vec::new(), 0)
        })
    };
    let member = |vrf: Value| {
        let (profile, member) = (ProfileId(0x1100_0001), MemberId(1));
        Entity::ActionProfileMember(ActionProfileMember { profile, member, action: Some(action(vrf)) })
    };
    for (outer, inner) in
        [(one_shot(text("a"), 100), one_shot(bits(3, 1), 1)), (member(text("a")), member(bits(3, 1)))]
    {
        let update = Update { kind: UpdateKind::Insert, entity: outer.clone() };
        let mut found = translator.update(&schema(), &update).unwrap().entity;
        assert_eq!(found, inner);
        translator.answer(&schema(), &mut found).unwrap();
        assert_eq!(found, outer);
    }
    let update = Update { kind: UpdateKind::Insert, entity: one_shot(text("a"), 7) };
    let fault = translator.update(&schema(), &update).unwrap_err();
    assert_eq!(fault.code(), Code::InvalidArgument);
    assert_eq!(fault.path(), "action.action_profile_actions[0].watch_port");
}

/// The values of the program change, those of the controller do not.
#[test]
fn f3_entities_move_to_the_next_program_by_the_names_of_controllers() {
    let schema = Arc::new(schema());
    let all = |target: &dyn Target| {
        let entries = target.read(&Query::TableEntries(EntryQuery::default())).unwrap();
        entries.into_iter().chain(target.read(&Query::MulticastGroups(None)).unwrap()).collect::<Vec<_>>()
    };
    let mut old = translator(with_ports(Rules::default()));
    let (mut from, mut to) = (Store::new(), Store::new());
    let mut from = Translated { schema: &schema, translator: &mut old, target: &mut from };
    let written = [entry(1, "red", "blue"), entry(2, "blue", "7"), group(&[3])];
    for entity in &written {
        from.write(&Update { kind: UpdateKind::Insert, entity: entity.clone() }).unwrap();
    }
    let mut new = from.translator.clone();
    new.adopt(&schema, |by| width(by).map(|width| width + 4)).unwrap();
    let mut to = Translated { schema: &schema, translator: &mut new, target: &mut to };
    let migration = sync::migrate(&schema, &mut from, &schema, &mut to);
    assert_eq!((migration.n_copied, migration.faults), (3, Vec::new()));
    assert_eq!(all(&to), all(&from));
    assert_eq!(all(&to).len(), written.len());
    assert!(all(to.target) != all(from.target));
}

#[test]
fn f4_special_ports() {
    assert_eq!(port_translation(&schema()).as_deref(), Some(PORT));
    let mut translator = translator(with_ports(Rules::default()));
    for (outer, inner) in [(0xffff_fffd_u128, 510), (0xffff_fffa, 511), (509, 509)] {
        let (found, back) = insert(&mut translator, &entry(outer, "a", "b")).unwrap();
        assert_eq!(only_match(&found), &Match::Exact(bits(9, inner)));
        assert_eq!(back, entry(outer, "a", "b"));
    }
    // Port 0 is none, one name per port is enough, and the program has 9 bits.
    for port in [0, 510, 511, 512] {
        assert_eq!(code(insert(&mut translator, &entry(port, "a", "b"))), Code::InvalidArgument, "{port}");
        let replicas = group(&[port as u64]);
        assert_eq!(code(insert(&mut translator, &replicas)), Code::InvalidArgument, "{port}");
    }
    let mut port = Port::number(510);
    translator.port_to_controller(&mut port).unwrap();
    assert_eq!(port, Port::number(0xffff_fffd));
    translator.port_to_program(&mut port).unwrap();
    assert_eq!(port, Port::number(510));
}

#[test]
fn f4_ports_by_name() {
    let program = PROGRAM
        .replace(
            "bitwidth: 32 match_type: EXACT type_name { name: \"PortId_t\" }",
            "match_type: EXACT type_name { name: \"PortId_t\" }",
        )
        .replace("PortId_t\" sdn_bitwidth: 32", "PortId_t\" sdn_string {}");
    let schema = Schema::new(&p4info(&program)).unwrap();
    let port_names = vec![("Ethernet0".into(), 3), ("Ethernet4".into(), 4)];
    let mut translator = Translator::new(Options { port_names, ..with_ports(Rules::default()) });
    translator.adopt(&schema, width).unwrap();
    for (name, number) in
        [("Ethernet0", Some(3)), ("7", Some(7)), ("3", None), ("Ethernet1", None), ("07", None)]
    {
        let mut port = Port::from_bytes(name.as_bytes());
        match number {
            Some(number) => {
                translator.port_to_program(&mut port).unwrap();
                assert_eq!(port, Port::number(number));
                translator.port_to_controller(&mut port).unwrap();
                assert_eq!(port, Port::from_bytes(name.as_bytes()));
            }
            None => {
                let fault = translator.port_to_program(&mut port).unwrap_err();
                assert_eq!(fault.code(), Code::InvalidArgument, "{name}");
            }
        }
    }
    let fault = translator.port_to_program(&mut Port::from_bytes(b"Ethernet9")).unwrap_err();
    assert_eq!(
        fault.to_string(),
        "there is no port \"Ethernet9\": p4.org/psa/v1/PortId_t has \"Ethernet0\", \"Ethernet4\", numbers of 9 bits"
    );
    let fault = translator.port_to_program(&mut Port::from_bytes(b"\xff\xfe")).unwrap_err();
    assert_eq!(fault.code(), Code::InvalidArgument);
}

#[test]
fn rules_that_make_no_sense() {
    let rule = |text: &str| Rules::parse(text).unwrap_err();
    assert!(matches!(rule("[a"), RulesError::Syntax(_)));
    assert!(matches!(rule("[a]\nvalue = {}"), RulesError::Syntax(_)));
    assert!(matches!(rule("[a]\nothers = \"maybe\""), RulesError::Syntax(_)));
    assert!(matches!(rule("[a]\nvalues = { x = -1 }"), RulesError::Number { .. }));
    assert_eq!(
        rule("[a]\nvalues = { x = 1.5 }").to_string(),
        "`float` of `x` in \"a\" is no number; write 7 or \"0x7\""
    );
    assert!(matches!(rule("[a]\nvalues = { x = \"0x\" }"), RulesError::Number { .. }));
    assert!(matches!(rule("[a]\nvalues = { x = \"1_0\" }"), RulesError::Number { .. }));
    let parsed = rules("[a]\nvalues = { x = \"0x10\" }\nothers = \"allocate\"");
    let rule = Rule { values: vec![("x".into(), BigUint::from(16_u32))], others: Some(Others::Allocate) };
    assert_eq!(parsed.0.get("a"), Some(&rule));
    for (text, is_contradiction) in [
        ("[vrf_t]\nvalues = { a = 1, b = 1 }", true),
        ("[vrf_t]\nvalues = { a = 8 }", false),
        ("[\"test/wide\"]\nvalues = { 1 = 1, 0x1 = 2 }", true),
        ("[\"test/wide\"]\nvalues = { one = 1 }", false),
    ] {
        let mut translator = Translator::new(Options { rules: rules(text), ..Options::default() });
        let fault = translator.adopt(&schema(), width).unwrap_err();
        assert_eq!(matches!(fault, TranslationError::Contradiction { .. }), is_contradiction, "{fault}");
    }
}

#[test]
fn l1_metadata_of_packets() {
    let program = PROGRAM.to_owned()
        + r#"
controller_packet_metadata {
  preamble { id: 0x04000001 name: "packet_in" }
  metadata { id: 1 name: "port" bitwidth: 32 type_name { name: "PortId_t" } }
  metadata { id: 2 name: "vrf" type_name { name: "vrf_t" } }
  metadata { id: 3 name: "plain" bitwidth: 4 }
}
controller_packet_metadata {
  preamble { id: 0x04000002 name: "packet_out" }
  metadata { id: 1 name: "port" bitwidth: 32 type_name { name: "PortId_t" } }
  metadata { id: 2 name: "vrf" type_name { name: "vrf_t" } }
  metadata { id: 3 name: "plain" bitwidth: 4 }
}"#;
    let schema = Schema::new(&p4info(&program)).unwrap();
    let mut translator = Translator::new(with_ports(rules("[vrf_t]\nvalues = { red = 5 }")));
    translator.adopt(&schema, width).unwrap();
    let widths = [("port".into(), 9), ("vrf".into(), 3), ("plain".into(), 4)];
    let io = PacketIo::with_widths(&schema, |_| Some(&widths)).unwrap();
    let metadata = |fields: [&[u8]; 3]| {
        let field = |(value, id): (&[u8], u32)| PacketMetadata { id: FieldId(id), value: value.to_vec() };
        fields.into_iter().zip(1..).map(field).collect::<Vec<_>>()
    };
    // 111111110 101 1001
    let packet = ControllerPacket {
        payload: b"x".to_vec(),
        metadata: metadata([b"\xff\xff\xff\xfd", b"red", b"\x09"]),
    };
    let mut inner = packet.clone();
    translator.packet_out(&schema, &mut inner).unwrap();
    assert_eq!(io.packet_out(&inner).unwrap(), b"\xff\x59x");
    let mut back = io.packet_in(b"\xff\x59x").unwrap();
    translator.packet_in(&schema, &mut back).unwrap();
    assert_eq!(back, packet);
    for (fields, code, path) in [
        (metadata([b"\x02\x00", b"red", b"\x09"]), Code::InvalidArgument, "metadata[0].value"),
        (metadata([b"\x01\x00\x00\x00\x00", b"red", b"\x09"]), Code::OutOfRange, "metadata[0].value"),
        (metadata([b"\x01", b"blue", b"\x09"]), Code::NotFound, "metadata[1].value"),
        (metadata([b"\x01", b"\xff", b"\x09"]), Code::InvalidArgument, "metadata[1].value"),
    ] {
        let mut packet = ControllerPacket { metadata: fields, ..packet.clone() };
        let fault = translator.packet_out(&schema, &mut packet).unwrap_err();
        assert_eq!((fault.code(), fault.path()), (code, path));
    }
    // The program has sent a value that has no name.
    let mut unknown = io.packet_in(b"\xff\x49x").unwrap();
    assert_eq!(translator.packet_in(&schema, &mut unknown).unwrap_err().code(), Code::Internal);
}

/// PSA and PNA have a type for ports in headers, with a URI and a width of its own.
#[test]
fn f4_ports_in_headers_are_ports() {
    let in_header = r#"
controller_packet_metadata {
  preamble { id: 0x04000001 name: "packet_in" }
  metadata { id: 1 name: "port" bitwidth: 32 type_name { name: "PortIdInHeader_t" } }
}"#;
    let new_type = r#"
  new_types {
    key: "PortIdInHeader_t"
    value { translated_type { uri: "p4.org/psa/v1/PortIdInHeader_t" sdn_bitwidth: 32 } }
  }
}
"#;
    let program = PROGRAM.trim_end().trim_end_matches('}').to_owned() + new_type + in_header;
    let schema = Schema::new(&p4info(&program)).unwrap();
    assert_eq!(port_translation(&schema).as_deref(), Some(PORT));
    let mut translator = Translator::new(with_ports(Rules::default()));
    translator.adopt(&schema, width).unwrap();
    let packet = |value: &[u8]| ControllerPacket {
        payload: Vec::new(),
        metadata: vec![PacketMetadata { id: FieldId(1), value: value.to_vec() }],
    };
    let mut to_controller = packet(b"\x01\xfe");
    translator.packet_in(&schema, &mut to_controller).unwrap();
    assert_eq!(to_controller, packet(b"\xff\xff\xff\xfd"));
    // The program has put something else than a port there.
    let fault = translator.packet_in(&schema, &mut packet(b"\x03\xfe")).unwrap_err();
    assert_eq!(fault.code(), Code::Internal);
}

#[test]
fn f2_widths_are_those_of_the_program() {
    let program = ir::text::parse(
        r#"architecture v1model
errors NoError
struct pair_t {
    port: bit<9>
    vrf: bit<3>
    plain: bit<8>
}
var vrf: bit<4> in procedure I.set
var wide: bit<12> in procedure I.set
object I.last: register<pair_t, bit<32>>(size = 32w0x2)
procedure I.set: action(vrf, wide) in I {
    entry n0
    n0:
        return
}
table I.ports in I {
    key port: bit<10> exact
    key vrf: bit<5> optional
    action I.set = I.set
    default I.set(4w0x0, 12w0x0)
}
block I: Ingress() {
    entry n0
    n0:
        return
}
pipeline Ingress = I
"#,
    );
    let program = program.unwrap_or_else(|error| panic!("{error}"));
    let widths = Widths::of_program(&schema(), &program);
    let found = [PORT, "vrf_t", WIDE, NARROW].map(|by| widths.get(by));
    assert_eq!(found, [Some(9), Some(3), Some(12), None]);
}

/// Returns whether a number is one that the match selects.
fn selects(found: &Match, value: u128) -> bool {
    let number = |bits: &Bits| bits.to_u128().unwrap();
    match found {
        Match::Exact(of) | Match::Optional(of) => of.bits().is_some_and(|of| number(of) == value),
        Match::Lpm { value: of, prefix_len } => {
            let mask = number(&Bits::prefix_mask(of.width(), *prefix_len));
            value & mask == number(of)
        }
        Match::Ternary { value: of, mask } => value & number(mask) == number(of),
        Match::Range { low, high } => (number(low)..=number(high)).contains(&value),
    }
}

/// A canonical match of a key element of `I.numbers`. Half of the numbers are those near the ends.
fn any_match() -> impl Strategy<Value = (u32, Match)> {
    let number = prop_oneof![
        any::<u32>(),
        0..4_u32,
        (0..4_u32).prop_map(|i| u32::MAX - i),
        0..0x1002_u32,
        Just(0xfff_u32)
    ];
    (1..=7_u32, number.clone(), number, 1..=32_u32).prop_map(|(id, first, second, len)| {
        let width = if (4..=6).contains(&id) { 8 } else { 32 };
        let (first, second) = (Bits::new(width, first.into()), Bits::new(width, second.into()));
        let found = match id {
            1 | 4 => {
                let prefix_len = len.min(width);
                Match::Lpm { value: first.and(&Bits::prefix_mask(width, prefix_len)), prefix_len }
            }
            2 | 5 | 7 => Match::Ternary { value: first.and(&second), mask: second },
            _ if first.cmp_unsigned(&second).is_gt() => Match::Range { low: second, high: first },
            _ => Match::Range { low: first, high: second },
        };
        (id, found)
    })
}

proptest! {
    /// A match comes back as it was written, and the program selects the same numbers by it.
    #[test]
    fn matches_come_back_and_mean_the_same((id, found) in any_match(), probes in prop::collection::vec(0..0x1000_u128, 16)) {
        let entity = numbers(id, found.clone());
        let is_valid = validate(&schema(), &Update { kind: UpdateKind::Insert, entity: entity.clone() }).is_ok();
        prop_assume!(is_valid);
        let mut translator = translator(Options::default());
        match insert(&mut translator, &entity) {
            Ok((inner, back)) => {
                prop_assert_eq!(&back, &entity);
                let near = [0, 1, 0xff, 0x100, 0xffe, 0xfff];
                for value in probes.into_iter().chain(near) {
                    let value = if id == 7 { value & 0x1ff } else { value };
                    // The controller has no name for what does not fit into its width.
                    if (4..=6).contains(&id) && value > 0xff {
                        continue;
                    }
                    prop_assert_eq!(selects(only_match(&inner), value), selects(&found, value), "{}", value);
                }
            }
            // A port that does not exist has a code of its own.
            Err(fault) => prop_assert!(
                matches!(fault.code(), Code::OutOfRange | Code::Unimplemented)
                    || id == 7 && fault.code() == Code::InvalidArgument,
                "{}", fault
            ),
        }
    }

    /// Entities that validation would refuse are refused or changed, without a panic.
    #[test]
    fn any_entity_is_taken(
        id in 0..9_u32,
        table in 0x0200_0000..0x0200_0004_u32,
        width in prop_oneof![0..40_u32, 120..140_u32],
        first in any::<u128>(),
        second in any::<u128>(),
        number in any::<u32>(),
        index in any::<i64>(),
        kind in 0..5_u8,
        port in prop::collection::vec(any::<u8>(), 0..12),
    ) {
        let schema = schema();
        let (value, other) = (Bits::new(width, first), Bits::new(width / 2, second));
        let found = match kind {
            0 => Match::Exact(value.clone().into()),
            1 => Match::Lpm { value: value.clone(), prefix_len: number },
            2 => Match::Ternary { value: value.clone(), mask: other },
            3 => Match::Range { low: value.clone(), high: other },
            _ => Match::Optional(text("any")),
        };
        let matches = vec![field(id, found)];
        let cell = CounterEntry { counter: CounterId(0x1200_0001), index: Some(index), data: None };
        let port = Port::from_bytes(&port);
        let replicas = vec![Replica { egress_port: port, instance: 0, backups: Vec::new() }];
        let group = MulticastGroup { group: MulticastGroupId(0), replicas, metadata: Vec::new() };
        let register = RegisterEntry {
            register: RegisterId(0x1600_0001),
            index: None,
            data: Some(Data::Struct(vec![Data::Bits(value.clone()), Data::Bits(value), Data::Bool(true)])),
        };
        for entity in [
            Entity::TableEntry(TableEntry::new(TableId(table), matches, 0)),
            Entity::Counter(cell),
            Entity::MulticastGroup(group),
            Entity::Register(register),
        ] {
            for kind in [UpdateKind::Insert, UpdateKind::Delete] {
                let mut translator = translator(with_ports(Rules::default()));
                let update = Update { kind, entity: entity.clone() };
                if let Ok(mut inner) = translator.update(&schema, &update) {
                    // It may have no name, as a cell of another width.
                    let _ = translator.answer(&schema, &mut inner.entity);
                }
                // The other way, as if the program had it.
                let _ = translator.answer(&schema, &mut entity.clone());
                let _ = translator.query(&schema, &Query::exactly(&schema, &entity));
            }
        }
    }

    /// Each map is one to one, whatever the rule for others.
    #[test]
    fn names_are_one_to_one(
        names in prop::collection::vec("[a-c]|[0-9]|1[0-9]", 1..40),
        fixed in prop::collection::btree_map("[a-c]|[0-9]", 0..8_u32, 0..4),
        others in prop::sample::select(vec![Others::Refuse, Others::Identity, Others::Allocate]),
    ) {
        let values = fixed.iter().map(|(name, value)| (name.as_str().into(), BigUint::from(*value))).collect();
        let rule = Rule { values, others: Some(others) };
        let rules = Rules(BTreeMap::from([("vrf_t".into(), rule)]));
        let schema = schema();
        let ty = &schema.tables.find("I.ports").unwrap().keys[1].value;
        let mut translator = Translator::new(Options { rules, ..Options::default() });
        let is_one_to_one = fixed.values().collect::<std::collections::BTreeSet<_>>().len() == fixed.len();
        prop_assert_eq!(translator.adopt(&schema, width).is_ok(), is_one_to_one);
        prop_assume!(is_one_to_one);
        let mut known: BTreeMap<String, Value> = BTreeMap::new();
        for name in names {
            let mut value = text(&name);
            if translator.to_program("vrf", ty, &mut value).is_err() {
                prop_assert!(others != Others::Allocate || known.len() >= 4, "{} of {:?}", name, known);
                continue;
            }
            if let Some(expected) = fixed.get(&name) {
                prop_assert_eq!(&value, &bits(3, (*expected).into()));
            }
            let first = known.entry(name.clone()).or_insert_with(|| value.clone()).clone();
            prop_assert_eq!(&value, &first);
            translator.to_controller("vrf", ty, &mut value).unwrap();
            prop_assert_eq!(value, text(&name));
        }
        let distinct: std::collections::BTreeSet<String> = known.values().map(|value| format!("{value:?}")).collect();
        prop_assert_eq!(distinct.len(), known.len());
    }
}
