//! Entities survive the wire, and no message makes a panic.

use control::data::{HeaderData, HeaderUnionData};
use control::schema::{DataType, ValueForm};
use control::*;
use ir::Bits;
use p4info::proto::p4::v1 as pb;
use p4info::{Format, decode_p4info};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use prost::Message;
use std::sync::LazyLock;

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    let info = decode_p4info(include_bytes!("cases/schema.txtpb"), Format::Text).unwrap();
    Schema::new(&info).unwrap()
});

struct Nothing;

impl Target for Nothing {
    fn write(&mut self, _: &Update) -> Result<(), Fault> {
        Ok(())
    }

    fn read(&self, _: &Query) -> Result<Vec<Entity>, Fault> {
        Ok(Vec::new())
    }
}

fn bits(width: u32) -> impl Strategy<Value = Bits> + Clone {
    vec(any::<u8>(), width.div_ceil(8) as usize).prop_map(move |bytes| Bits::from_bytes_be(width, &bytes))
}

fn value(ty: &control::schema::ValueType) -> BoxedStrategy<Value> {
    match ty.form {
        ValueForm::Bits { width_bits } => bits(width_bits).prop_map(Value::Bits).boxed(),
        ValueForm::Text => "[a-z]{0,9}".prop_map(|text| Value::Text(text.into())).boxed(),
        ValueForm::None => Just(Value::Bits(Bits::zero(0))).boxed(),
    }
}

fn field(key: control::schema::KeyElement) -> BoxedStrategy<FieldMatch> {
    let id = key.id;
    let number = bits(key.value.width_bits().max(1));
    let pair = (number.clone(), number.clone());
    let value = match key.match_kind {
        MatchKind::Exact | MatchKind::Other(_) => value(&key.value).prop_map(Match::Exact).boxed(),
        MatchKind::Optional => value(&key.value).prop_map(Match::Optional).boxed(),
        MatchKind::Lpm => {
            (number, 0u32..40).prop_map(|(value, n)| Match::Lpm { value, prefix_len: n }).boxed()
        }
        MatchKind::Ternary => pair.prop_map(|(value, mask)| Match::Ternary { value, mask }).boxed(),
        MatchKind::Range => pair.prop_map(|(low, high)| Match::Range { low, high }).boxed(),
    };
    value.prop_map(move |value| FieldMatch { field: id, value }).boxed()
}

fn matches(keys: &[control::schema::KeyElement]) -> BoxedStrategy<Vec<FieldMatch>> {
    // A number for a key whose type has no form on the wire comes back empty; a string has no mask.
    let has_form = |key: &&control::schema::KeyElement| match key.value.form {
        ValueForm::Bits { .. } => true,
        ValueForm::Text => matches!(key.match_kind, MatchKind::Exact | MatchKind::Optional),
        ValueForm::None => false,
    };
    let keys: Vec<_> = keys.iter().filter(has_form).cloned().collect();
    keys.into_iter().map(field).collect::<Vec<_>>().boxed()
}

fn action() -> impl Strategy<Value = Action> + Clone {
    let actions: Vec<_> = SCHEMA.actions.iter().collect();
    select(actions).prop_flat_map(|action| {
        let id = action.id;
        let params: Vec<_> = action
            .params
            .iter()
            .map(|param| {
                let id = param.id;
                value(&param.value).prop_map(move |value| Param { id, value })
            })
            .collect();
        params.prop_map(move |params| Action { id, params })
    })
}

fn port() -> impl Strategy<Value = Port> + Clone {
    any::<u32>().prop_map(|port| Port::number(port.into()))
}

fn table_action() -> impl Strategy<Value = TableAction> {
    let weighted = (action(), any::<i32>(), of(port()))
        .prop_map(|(action, weight, watch_port)| WeightedAction { action, weight, watch_port });
    let one_shot = (
        vec(weighted, 0..3),
        select(&[SelectionMode::OfSelector, SelectionMode::Hash, SelectionMode::Random][..]),
        select(&[SizeSemantics::OfSelector, SizeSemantics::SumOfWeights, SizeSemantics::SumOfMembers][..]),
        of(action()),
    );
    prop_oneof![
        action().prop_map(TableAction::Action),
        any::<u32>().prop_map(|id| TableAction::Member(MemberId(id))),
        any::<u32>().prop_map(|id| TableAction::Group(GroupId(id))),
        one_shot.prop_map(|(actions, selection_mode, size_semantics, group_action)| TableAction::OneShot(
            OneShot { actions, selection_mode, size_semantics, group_action }
        )),
    ]
}

fn counter_data() -> impl Strategy<Value = CounterData> + Clone {
    (any::<i64>(), any::<i64>()).prop_map(|(n_bytes, n_packets)| CounterData { n_bytes, n_packets })
}

fn meter_counter_data() -> impl Strategy<Value = MeterCounterData> {
    (counter_data(), counter_data(), counter_data()).prop_map(|(green, yellow, red)| MeterCounterData {
        green,
        yellow,
        red,
    })
}

fn meter_config() -> impl Strategy<Value = MeterConfig> {
    any::<[i64; 5]>().prop_map(|[cir, cburst, pir, pburst, eburst]| MeterConfig {
        cir,
        cburst,
        pir,
        pburst,
        eburst,
    })
}

fn entry_ref() -> impl Strategy<Value = EntryRef> {
    let tables: Vec<_> = SCHEMA.tables.iter().collect();
    (select(tables), any::<i32>(), any::<bool>()).prop_flat_map(|(table, priority, is_default_action)| {
        let id = table.id;
        matches(&table.keys).prop_map(move |matches| EntryRef {
            table: id,
            matches,
            priority,
            is_default_action,
        })
    })
}

fn table_entry() -> impl Strategy<Value = TableEntry> {
    let rest = (any::<bool>(), vec(any::<u8>(), 0..4), any::<u64>(), any::<i64>(), of(any::<i64>()));
    let direct = (of(meter_config()), of(counter_data()), of(meter_counter_data()));
    (entry_ref(), of(table_action()), rest, direct).prop_map(|(key, action, rest, direct)| TableEntry {
        table: key.table,
        matches: key.matches,
        priority: key.priority,
        action,
        is_default_action: key.is_default_action,
        is_const: rest.0,
        is_of_packet: false,
        profile: None,
        registers: Vec::new(),
        keeps_data: false,
        metadata: rest.1,
        controller_metadata: rest.2,
        idle_timeout_ns: rest.3,
        time_since_last_hit_ns: rest.4,
        meter_config: direct.0,
        counter_data: direct.1,
        meter_counter_data: direct.2,
    })
}

fn header(ty: &control::schema::HeaderType) -> BoxedStrategy<HeaderData> {
    let fields: Vec<_> = ty
        .fields
        .iter()
        .map(|(_, ty)| match ty {
            DataType::Bits { width_bits } | DataType::Int { width_bits } => bits(*width_bits),
            other => panic!("{other:?}"),
        })
        .collect();
    of(fields).prop_map(HeaderData).boxed()
}

fn header_union(ty: &control::schema::HeaderUnionType) -> BoxedStrategy<HeaderUnionData> {
    let members: Vec<_> = ty
        .members
        .iter()
        .map(|(name, ty)| (Just(name.clone()), header(ty)).prop_map(Some).boxed())
        .chain([Just(None).boxed()])
        .collect();
    proptest::strategy::Union::new(members).prop_map(HeaderUnionData).boxed()
}

fn data(ty: &DataType) -> BoxedStrategy<Data> {
    match ty {
        DataType::Bits { width_bits } | DataType::Int { width_bits } => {
            bits(*width_bits).prop_map(Data::Bits).boxed()
        }
        DataType::Varbit { width_bits_max } => {
            (0..=*width_bits_max).prop_flat_map(bits).prop_map(Data::Varbit).boxed()
        }
        DataType::Bool => any::<bool>().prop_map(Data::Bool).boxed(),
        DataType::Translated { form: ValueForm::Bits { width_bits }, .. } => {
            bits(*width_bits).prop_map(Data::Bits).boxed()
        }
        DataType::Translated { .. } => "[a-z]{0,9}".prop_map(|text| Data::Text(text.into())).boxed(),
        DataType::Tuple(types) => types.iter().map(data).collect::<Vec<_>>().prop_map(Data::Tuple).boxed(),
        DataType::Struct(ty) => {
            ty.members.iter().map(|(_, ty)| data(ty)).collect::<Vec<_>>().prop_map(Data::Struct).boxed()
        }
        DataType::Header(ty) => header(ty).prop_map(Data::Header).boxed(),
        DataType::HeaderUnion(ty) => header_union(ty).prop_map(Data::HeaderUnion).boxed(),
        DataType::HeaderStack { header: ty, size } => {
            vec(header(ty), *size as usize).prop_map(Data::HeaderStack).boxed()
        }
        DataType::HeaderUnionStack { header_union: ty, size } => {
            vec(header_union(ty), *size as usize).prop_map(Data::HeaderUnionStack).boxed()
        }
        DataType::Enum(ty) => select(ty.members.clone()).prop_map(Data::Enum).boxed(),
        DataType::Error(ty) => select(ty.members.clone()).prop_map(Data::Error).boxed(),
        DataType::SerializableEnum { width_bits, .. } => bits(*width_bits).prop_map(Data::EnumValue).boxed(),
    }
}

fn replicas() -> impl Strategy<Value = Vec<Replica>> {
    let backup =
        (port(), any::<u32>()).prop_map(|(egress_port, instance)| BackupReplica { egress_port, instance });
    let replica = (port(), any::<u32>(), vec(backup, 0..3))
        .prop_map(|(egress_port, instance, backups)| Replica { egress_port, instance, backups });
    vec(replica, 0..4)
}

fn entity() -> impl Strategy<Value = Entity> {
    let index = || of(any::<i64>());
    let registers: Vec<_> = SCHEMA.registers.iter().collect();
    let fields = SCHEMA.value_sets.find("types").unwrap().fields.clone();
    prop_oneof![
        4 => table_entry().prop_map(Entity::TableEntry),
        1 => (any::<u32>(), any::<u32>(), of(action())).prop_map(|(profile, member, action)| {
            Entity::ActionProfileMember(ActionProfileMember {
                profile: ProfileId(profile),
                member: MemberId(member),
                action,
            })
        }),
        1 => {
            let member = (any::<u32>(), any::<i32>(), of(port())).prop_map(|(member, weight, watch_port)| {
                GroupMember { member: MemberId(member), weight, watch_port }
            });
            (any::<u32>(), any::<u32>(), vec(member, 0..4), any::<i32>()).prop_map(
                |(profile, group, members, max_size)| {
                    Entity::ActionProfileGroup(ActionProfileGroup {
                        profile: ProfileId(profile),
                        group: GroupId(group),
                        members,
                        max_size,
                    })
                },
            )
        },
        1 => (any::<u32>(), index(), of(meter_config()), of(meter_counter_data())).prop_map(
            |(meter, index, config, counter_data)| {
                Entity::Meter(MeterEntry { meter: MeterId(meter), index, config, counter_data })
            },
        ),
        1 => (entry_ref(), of(meter_config()), of(meter_counter_data())).prop_map(
            |(entry, config, counter_data)| Entity::DirectMeter(DirectMeterEntry { entry, config, counter_data }),
        ),
        1 => (any::<u32>(), index(), of(counter_data())).prop_map(|(counter, index, data)| {
            Entity::Counter(CounterEntry { counter: CounterId(counter), index, data })
        }),
        1 => (entry_ref(), of(counter_data()))
            .prop_map(|(entry, data)| Entity::DirectCounter(DirectCounterEntry { entry, data })),
        2 => (select(registers), index()).prop_flat_map(|(register, index)| {
            let id = register.id;
            of(data(&register.cell))
                .prop_map(move |data| Entity::Register(RegisterEntry { register: id, index, data }))
        }),
        1 => (any::<u32>(), replicas(), vec(any::<u8>(), 0..4)).prop_map(|(group, replicas, metadata)| {
            Entity::MulticastGroup(MulticastGroup { group: MulticastGroupId(group), replicas, metadata })
        }),
        1 => (any::<u32>(), replicas(), any::<u32>(), any::<i32>()).prop_map(
            |(session, replicas, class_of_service, packet_length_bytes)| {
                let session = CloneSessionId(session);
                Entity::CloneSession(CloneSession { session, replicas, class_of_service, packet_length_bytes })
            },
        ),
        1 => vec(matches(&fields), 0..3).prop_map(|members| {
            let members = members.into_iter().map(|matches| ValueSetMember { matches }).collect();
            Entity::ValueSet(ValueSetEntry { value_set: ValueSetId(0x0300_0001), members })
        }),
        1 => (any::<u32>(), of(any::<(i64, i32, i64)>())).prop_map(|(digest, config)| {
            let config = config.map(|(max_timeout_ns, max_list_size, ack_timeout_ns)| DigestConfig {
                max_timeout_ns,
                max_list_size,
                ack_timeout_ns,
            });
            Entity::Digest(DigestEntry { digest: DigestId(digest), config })
        }),
        1 => (any::<u32>(), any::<u32>(), "[a-z/]{0,6}", vec(any::<u8>(), 0..6)).prop_map(
            |(extern_type, instance, type_url, entry)| {
                Entity::Extern(ExternEntry {
                    extern_type: ExternTypeId(extern_type),
                    instance: ExternId(instance),
                    type_url,
                    entry,
                })
            },
        ),
    ]
}

/// Everything that takes a message.
fn use_all(update: pb::Update) {
    let entity = update.entity.clone().unwrap_or_default();
    let request = pb::WriteRequest { updates: vec![update.clone(), update], ..pb::WriteRequest::default() };
    let results = p4runtime::write(&SCHEMA, &mut Nothing, &request).unwrap();
    assert_eq!(results.len(), 2);
    assert_eq!(p4runtime::status(&results).is_none(), results.iter().all(Result::is_ok));
    let request = pb::ReadRequest { entities: vec![entity], ..pb::ReadRequest::default() };
    assert_eq!(p4runtime::read(&SCHEMA, &mut Nothing, &request).len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn entities_survive_the_wire(entity in entity()) {
        let message = p4runtime::encode_entity(&SCHEMA, &entity);
        let bytes = message.encode_to_vec();
        let update = pb::Update {
            r#type: pb::update::Type::Modify.into(),
            entity: Some(pb::Entity::decode(&*bytes).unwrap()),
        };
        let decoded = p4runtime::decode_update(&SCHEMA, &update).map(|update| update.entity);
        prop_assert_eq!(decoded, Ok(entity.clone()));
        // Whatever is said about it, it is said without a panic; and describing works for all.
        for kind in [UpdateKind::Insert, UpdateKind::Modify, UpdateKind::Delete] {
            let _ = validate(&SCHEMA, &Update { kind, entity: entity.clone() });
        }
        prop_assert!(!SCHEMA.describe(&entity).is_empty());
        use_all(update);
    }

    #[test]
    fn damaged_messages_are_no_trouble(
        entity in entity(),
        kind in -1i32..5,
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let message = pb::Update { r#type: kind, entity: Some(p4runtime::encode_entity(&SCHEMA, &entity)) };
        let mut bytes = message.encode_to_vec();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(update) = pb::Update::decode(&*bytes) {
            use_all(update);
        }
    }

    #[test]
    fn random_bytes_are_no_trouble(bytes in vec(any::<u8>(), 0..64)) {
        if let Ok(update) = pb::Update::decode(&*bytes) {
            use_all(update);
        }
    }
}

#[test]
fn a_request_that_must_be_atomic_is_not_begun_with_a_bad_update() {
    let good = pb::Update {
        r#type: pb::update::Type::Modify.into(),
        entity: Some(p4runtime::encode_entity(
            &SCHEMA,
            &Entity::Counter(CounterEntry { counter: CounterId(0x1200_0001), index: Some(1), data: None }),
        )),
    };
    let request = pb::WriteRequest {
        updates: vec![good, pb::Update::default()],
        atomicity: pb::write_request::Atomicity::RollbackOnError.into(),
        ..pb::WriteRequest::default()
    };
    let results = p4runtime::write(&SCHEMA, &mut Nothing, &request).unwrap();
    let shown: Vec<_> = results.iter().map(|result| result.as_ref().unwrap_err().to_string()).collect();
    assert_eq!(
        shown,
        [
            "not done, because update 1 of the batch failed (in updates[0])",
            "`type` is not set (in updates[1])",
        ]
    );
    let status = p4runtime::status(&results).unwrap();
    assert_eq!((status.code, status.message.as_str(), status.details.len()), (2, "2 of 2 failed", 2));
    let error = pb::Error::decode(&*status.details[1].value).unwrap();
    assert_eq!((error.canonical_code, error.message.as_str()), (3, "`type` is not set (in updates[1])"));
    assert_eq!(status.details[1].type_url, "type.googleapis.com/p4.v1.Error");
}

/// A request that cannot be applied as a whole changes nothing, and its status has no details.
#[test]
fn d3_requests_that_fail_as_a_whole() {
    let update = pb::Update::default();
    for (atomicity, n_updates, code, message) in [
        (7, 1, Code::InvalidArgument, "`atomicity` has the unknown value 7"),
        (-1, 0, Code::InvalidArgument, "`atomicity` has the unknown value -1"),
        (
            pb::write_request::Atomicity::DataplaneAtomic.into(),
            1,
            Code::Unimplemented,
            "a batch that is atomic for the data plane is not supported by this target",
        ),
    ] {
        let request = pb::WriteRequest {
            updates: vec![update.clone(); n_updates],
            atomicity,
            ..pb::WriteRequest::default()
        };
        let fault = p4runtime::write(&SCHEMA, &mut Nothing, &request).unwrap_err();
        assert_eq!((fault.code(), fault.to_string().as_str()), (code, message));
        let status = p4runtime::request_status(&fault);
        assert_eq!((status.code, status.message.as_str(), status.details.len()), (code.number(), message, 0));
    }
}

/// All updates good, or none at all: no status. Otherwise one detail for each update, in order; good ones are empty.
#[test]
fn d2_a_detail_for_each_update() {
    let modify = |index| pb::Update {
        r#type: pb::update::Type::Modify.into(),
        entity: Some(p4runtime::encode_entity(
            &SCHEMA,
            &Entity::Counter(CounterEntry {
                counter: CounterId(0x1200_0001),
                index: Some(index),
                data: None,
            }),
        )),
    };
    let write = |updates: Vec<pb::Update>| {
        let request = pb::WriteRequest { updates, ..pb::WriteRequest::default() };
        p4runtime::status(&p4runtime::write(&SCHEMA, &mut Nothing, &request).unwrap())
    };
    assert_eq!(write(vec![]), None);
    assert_eq!(write(vec![modify(0), modify(7)]), None);
    let status = write(vec![modify(0), modify(8), modify(1), modify(-1)]).unwrap();
    let errors: Vec<_> =
        status.details.iter().map(|detail| pb::Error::decode(&*detail.value).unwrap()).collect();
    assert_eq!(status.code, Code::Unknown.number());
    assert_eq!(errors[0], pb::Error::default());
    assert_eq!(errors[2], pb::Error::default());
    let shown: Vec<_> = errors.iter().map(|e| (e.canonical_code, e.space.as_str())).collect();
    assert_eq!(shown, [(0, ""), (11, "siding"), (0, ""), (3, "siding")]);
    assert!(
        errors[1].message.ends_with("(in updates[1].entity.counter_entry.index)"),
        "{}",
        errors[1].message
    );
    // A batch of one, too.
    let status = write(vec![modify(-1)]).unwrap();
    assert_eq!((status.code, status.details.len()), (Code::Unknown.number(), 1));
}

/// Each entity of a request is answered by itself.
#[test]
fn e2_queries_that_fail_beside_others() {
    let entity = |entity| pb::Entity { entity: Some(entity) };
    let good = entity(pb::entity::Entity::CounterEntry(pb::CounterEntry::default()));
    let bad =
        entity(pb::entity::Entity::CounterEntry(pb::CounterEntry { counter_id: 9, ..Default::default() }));
    let request = pb::ReadRequest { entities: vec![good, bad], ..pb::ReadRequest::default() };
    let results = p4runtime::read(&SCHEMA, &mut Nothing, &request);
    assert_eq!(results[0], Ok(vec![]));
    let status = p4runtime::status(&results).unwrap();
    assert_eq!((status.code, status.details.len()), (Code::Unknown.number(), 2));
    assert!(p4runtime::read(&SCHEMA, &mut Nothing, &pb::ReadRequest::default()).is_empty());
}
