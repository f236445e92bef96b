//! Updates that a program has a place for.

use super::state::encoded;
use control::schema::{ActionScope, DataType, KeyElement, MatchKind, Table, ValueForm};
use control::*;
use fastrand::Rng;
use ir::Bits;
use p4info::proto::p4::v1 as pb;

/// Numbers of members, groups and sessions: few, so that updates meet.
const N_NUMBERS: u32 = 5;

pub struct Generator<'g> {
    pub rng: &'g mut Rng,
    pub schema: &'g Schema,
}

impl Generator<'_> {
    /// An update of an entity of any kind.
    pub fn update(&mut self) -> pb::Update {
        loop {
            if let Some(update) = self.try_update() {
                return encoded(self.schema, &update);
            }
        }
    }

    /// An update of a table entry, or now and then of another entity.
    pub fn entry_update(&mut self) -> pb::Update {
        if self.rng.u8(..8) == 0 || self.schema.tables.is_empty() {
            return self.update();
        }
        loop {
            if let Some(entry) = self.table_entry() {
                let kind = match self.rng.u8(..8) {
                    0..4 => UpdateKind::Insert,
                    4 => UpdateKind::Modify,
                    _ => UpdateKind::Delete,
                };
                return encoded(self.schema, &Update { kind, entity: Entity::TableEntry(entry) });
            }
        }
    }

    /// An update of the same kind and table, with other values. `None` if it is of no table.
    pub fn entry_like(&mut self, update: &pb::Update) -> Option<pb::Update> {
        let entity = update.entity.as_ref()?.entity.as_ref()?;
        let pb::entity::Entity::TableEntry(of) = entity else { return None };
        let table = self.schema.tables.get(TableId(of.table_id))?;
        let mut entry = self.entry_of(table)?;
        if self.rng.u8(..8) > 0 {
            entry.metadata = Vec::new();
            (entry.meter_config, entry.counter_data) = (None, None);
        }
        let mut like =
            encoded(self.schema, &Update { kind: UpdateKind::Insert, entity: Entity::TableEntry(entry) });
        like.r#type = update.r#type;
        Some(like)
    }

    fn try_update(&mut self) -> Option<Update> {
        let any = [UpdateKind::Insert, UpdateKind::Insert, UpdateKind::Modify, UpdateKind::Delete];
        let any = any[self.rng.usize(..4)];
        let (kind, entity) = match self.rng.u8(..20) {
            0..8 => {
                let entry = self.table_entry()?;
                let kind = if entry.is_default_action { UpdateKind::Modify } else { any };
                (kind, Entity::TableEntry(entry))
            }
            8..10 => (any, Entity::ActionProfileMember(self.member()?)),
            10..12 => (any, Entity::ActionProfileGroup(self.group()?)),
            12 => (any, Entity::MulticastGroup(self.multicast_group())),
            13 => (any, Entity::CloneSession(self.clone_session())),
            14 => (any, Entity::Digest(self.digest()?)),
            15 => (UpdateKind::Modify, Entity::ValueSet(self.value_set()?)),
            16 => (UpdateKind::Modify, Entity::Counter(self.counter()?)),
            17 => (UpdateKind::Modify, Entity::Meter(self.meter()?)),
            18 => (UpdateKind::Modify, Entity::Register(self.register()?)),
            _ => (UpdateKind::Modify, self.direct()?),
        };
        Some(Update { kind, entity })
    }

    fn pick<'s, T>(&mut self, from: &'s [T]) -> Option<&'s T> {
        if from.is_empty() { None } else { Some(&from[self.rng.usize(..from.len())]) }
    }

    fn one_of<'s, T: schema::Object>(&mut self, objects: &'s schema::Objects<T>) -> Option<&'s T> {
        if objects.is_empty() { None } else { objects.iter().nth(self.rng.usize(..objects.len())) }
    }

    /// Small numbers often, so that keys meet.
    fn bits(&mut self, width_bits: u32) -> Bits {
        match self.rng.u8(..8) {
            0..5 => Bits::new(width_bits, u128::from(self.rng.u8(..3))),
            5 => Bits::ones(width_bits),
            _ => {
                let bytes: Vec<u8> = (0..width_bits.div_ceil(8)).map(|_| self.rng.u8(..)).collect();
                Bits::from_bytes_be(width_bits, &bytes)
            }
        }
    }

    fn value(&mut self, form: ValueForm) -> Option<Value> {
        match form {
            ValueForm::Bits { width_bits } => Some(Value::Bits(self.bits(width_bits))),
            ValueForm::Text => Some(Value::Text(["", "a", "eth0"][self.rng.usize(..3)].into())),
            ValueForm::None => None,
        }
    }

    /// A match of a key element; the inner `None` means any value.
    fn key(&mut self, key: &KeyElement) -> Option<Option<Match>> {
        let is_any = self.rng.u8(..4) == 0;
        let width_bits = key.value.width_bits();
        Some(match &key.match_kind {
            MatchKind::Exact => Some(Match::Exact(self.value(key.value.form)?)),
            MatchKind::Optional if is_any => None,
            MatchKind::Optional => Some(Match::Optional(self.value(key.value.form)?)),
            MatchKind::Lpm | MatchKind::Ternary | MatchKind::Range if is_any || width_bits == 0 => None,
            MatchKind::Lpm => {
                let prefix_len = self.rng.u32(1..=width_bits);
                let mask = Bits::prefix_mask(width_bits, prefix_len);
                Some(Match::Lpm { value: self.bits(width_bits).and(&mask), prefix_len })
            }
            MatchKind::Ternary => {
                let mask = self.bits(width_bits);
                (!mask.is_zero()).then(|| Match::Ternary { value: self.bits(width_bits).and(&mask), mask })
            }
            MatchKind::Range => {
                let (one, two) = (self.bits(width_bits), self.bits(width_bits));
                let (low, high) = if one.cmp_unsigned(&two).is_le() { (one, two) } else { (two, one) };
                let is_everything = low.is_zero() && high == Bits::ones(width_bits);
                (!is_everything).then_some(Match::Range { low, high })
            }
            MatchKind::Other(_) => return None,
        })
    }

    fn matches(&mut self, keys: &[KeyElement]) -> Option<Vec<FieldMatch>> {
        let mut matches = Vec::new();
        for key in keys {
            if let Some(value) = self.key(key)? {
                matches.push(FieldMatch { field: key.id, value });
            }
        }
        Some(matches)
    }

    fn action(&mut self, id: ActionId) -> Option<Action> {
        let params = &self.schema.actions.get(id)?.params;
        let params =
            params.iter().map(|param| Some(Param { id: param.id, value: self.value(param.value.form)? }));
        Some(Action { id, params: params.collect::<Option<_>>()? })
    }

    fn action_of(&mut self, table: &Table, is_default: bool) -> Option<Action> {
        let fits = |scope| match scope {
            ActionScope::TableAndDefault => true,
            ActionScope::TableOnly => !is_default,
            ActionScope::DefaultOnly => is_default,
            ActionScope::GroupAction => false,
        };
        let fitting: Vec<ActionId> =
            table.actions.iter().filter(|action| fits(action.scope)).map(|action| action.id).collect();
        let id = *self.pick(&fitting)?;
        self.action(id)
    }

    fn port(&mut self) -> Port {
        Port::number(u64::from(self.rng.u32(1..4)))
    }

    fn table_entry(&mut self) -> Option<TableEntry> {
        let table = self.one_of(&self.schema.tables)?;
        self.entry_of(table)
    }

    /// An entry of a table, or its default entry.
    fn entry_of(&mut self, table: &Table) -> Option<TableEntry> {
        let is_default = table.keys.is_empty() || self.rng.u8(..8) == 0;
        let mut entry = match is_default {
            true => TableEntry::default_entry(table.id, self.action_of(table, true)),
            false => {
                let priority = if table.needs_priority() { self.rng.i32(1..4) } else { 0 };
                let action = match table.implementation {
                    None => TableAction::Action(self.action_of(table, false)?),
                    // Rarely, because a selector that has one-shots takes nothing else.
                    Some(_) => match self.rng.u8(..24) {
                        0..12 => TableAction::Member(MemberId(self.number())),
                        12..23 => TableAction::Group(GroupId(self.number())),
                        _ => TableAction::OneShot(self.one_shot(table)?),
                    },
                };
                TableEntry {
                    action: Some(action),
                    ..TableEntry::new(table.id, self.matches(&table.keys)?, priority)
                }
            }
        };
        if self.rng.u8(..4) == 0 {
            entry.metadata = vec![self.rng.u8(..), 0, 1];
        }
        if table.has_idle_timeout && !is_default && self.rng.bool() {
            entry.idle_timeout_ns = self.rng.i64(0..1_000_000_000);
        }
        if table.direct_meter.is_some() && self.rng.bool() {
            entry.meter_config = Some(self.meter_config());
        }
        if table.direct_counter.is_some() && self.rng.bool() {
            entry.counter_data = Some(self.counter_data());
        }
        Some(entry)
    }

    fn number(&mut self) -> u32 {
        self.rng.u32(1..=N_NUMBERS)
    }

    fn one_shot(&mut self, table: &Table) -> Option<OneShot> {
        let n_actions = self.rng.usize(1..4);
        let actions = (0..n_actions).map(|_| {
            let watch_port = (self.rng.u8(..4) == 0).then(|| self.port());
            Some(WeightedAction {
                action: self.action_of(table, false)?,
                weight: self.rng.i32(1..3),
                watch_port,
            })
        });
        Some(OneShot {
            actions: actions.collect::<Option<_>>()?,
            selection_mode: SelectionMode::default(),
            size_semantics: SizeSemantics::default(),
            group_action: None,
        })
    }

    fn member(&mut self) -> Option<ActionProfileMember> {
        let profile = self.one_of(&self.schema.profiles)?;
        let tables: Vec<&Table> =
            profile.tables.iter().filter_map(|id| self.schema.tables.get(*id)).collect();
        let table = *self.pick(&tables)?;
        let action = Some(self.action_of(table, false)?);
        Some(ActionProfileMember { profile: profile.id, member: MemberId(self.number()), action })
    }

    fn group(&mut self) -> Option<ActionProfileGroup> {
        let profile = self.one_of(&self.schema.profiles)?;
        let selector = profile.selector?;
        let members = (1..=N_NUMBERS).filter(|_| self.rng.u8(..3) == 0).collect::<Vec<u32>>();
        let members = members.into_iter().map(|member| GroupMember {
            member: MemberId(member),
            weight: i32::from(!selector.weights_disallowed),
            watch_port: (self.rng.u8(..4) == 0).then(|| self.port()),
        });
        let members = members.collect();
        let max_size = if self.rng.bool() { i32::try_from(selector.max_group_size).ok()? } else { 0 };
        Some(ActionProfileGroup { profile: profile.id, group: GroupId(self.number()), members, max_size })
    }

    fn replicas(&mut self) -> Vec<Replica> {
        let n_replicas = self.rng.u32(..4);
        let replica = |instance| {
            let egress_port = self.port();
            let backups = match self.rng.u8(..4) {
                0 => vec![BackupReplica { egress_port: Port::number(9), instance }],
                _ => Vec::new(),
            };
            Replica { egress_port, instance, backups }
        };
        (0..n_replicas).map(replica).collect()
    }

    fn multicast_group(&mut self) -> MulticastGroup {
        let metadata = if self.rng.u8(..4) == 0 { vec![1, 2] } else { Vec::new() };
        MulticastGroup { group: MulticastGroupId(self.number()), replicas: self.replicas(), metadata }
    }

    fn clone_session(&mut self) -> CloneSession {
        CloneSession {
            session: CloneSessionId(self.number()),
            replicas: self.replicas(),
            class_of_service: self.rng.u32(..3),
            packet_length_bytes: self.rng.i32(..200).max(0),
        }
    }

    fn digest(&mut self) -> Option<DigestEntry> {
        let digest = self.one_of(&self.schema.digests)?.id;
        let config = DigestConfig {
            max_timeout_ns: self.rng.i64(..1000).max(0),
            max_list_size: self.rng.i32(..10).max(0),
            ack_timeout_ns: self.rng.i64(..1000).max(0),
        };
        Some(DigestEntry { digest, config: Some(config) })
    }

    fn value_set(&mut self) -> Option<ValueSetEntry> {
        let set = self.one_of(&self.schema.value_sets)?;
        let n_members = self.rng.usize(..3);
        let members = (0..n_members).map(|_| Some(ValueSetMember { matches: self.matches(&set.fields)? }));
        Some(ValueSetEntry { value_set: set.id, members: members.collect::<Option<_>>()? })
    }

    fn index(&mut self, size: u64) -> Option<i64> {
        let index = i64::try_from(self.rng.u64(..size.max(1))).ok()?;
        (self.rng.u8(..8) != 0).then_some(index)
    }

    fn counter_data(&mut self) -> CounterData {
        CounterData { n_bytes: self.rng.i64(0..1000), n_packets: self.rng.i64(0..100) }
    }

    fn meter_config(&mut self) -> MeterConfig {
        let (cir, cburst) = (self.rng.i64(0..1000), self.rng.i64(1..1000));
        MeterConfig {
            cir,
            cburst,
            pir: cir + self.rng.i64(0..10),
            pburst: cburst + self.rng.i64(0..10),
            eburst: 0,
        }
    }

    fn counter(&mut self) -> Option<CounterEntry> {
        let counter = self.one_of(&self.schema.counters)?;
        let data = Some(self.counter_data());
        Some(CounterEntry { counter: counter.id, index: self.index(counter.index.size), data })
    }

    fn meter(&mut self) -> Option<MeterEntry> {
        let meter = self.one_of(&self.schema.meters)?;
        let config = self.rng.bool().then(|| self.meter_config());
        Some(MeterEntry { meter: meter.id, index: self.index(meter.index.size), config, counter_data: None })
    }

    fn register(&mut self) -> Option<RegisterEntry> {
        let register = self.one_of(&self.schema.registers)?;
        let data = self.data(&register.cell)?;
        Some(RegisterEntry {
            register: register.id,
            index: self.index(register.index.size),
            data: Some(data),
        })
    }

    fn data(&mut self, ty: &DataType) -> Option<Data> {
        Some(match ty {
            DataType::Bits { width_bits } | DataType::Int { width_bits } => {
                Data::Bits(self.bits(*width_bits))
            }
            DataType::Bool => Data::Bool(self.rng.bool()),
            DataType::Tuple(types) => {
                Data::Tuple(types.iter().map(|ty| self.data(ty)).collect::<Option<_>>()?)
            }
            DataType::Struct(of) => {
                Data::Struct(of.members.iter().map(|(_, ty)| self.data(ty)).collect::<Option<_>>()?)
            }
            DataType::Varbit { .. }
            | DataType::Translated { .. }
            | DataType::Header(_)
            | DataType::HeaderUnion(_)
            | DataType::HeaderStack { .. }
            | DataType::HeaderUnionStack { .. }
            | DataType::Enum(_)
            | DataType::Error(_)
            | DataType::SerializableEnum { .. } => return None,
        })
    }

    fn direct(&mut self) -> Option<Entity> {
        let table = self.one_of(&self.schema.tables)?;
        let priority = if table.needs_priority() { self.rng.i32(1..4) } else { 0 };
        let entry = EntryRef {
            table: table.id,
            matches: self.matches(&table.keys)?,
            priority,
            is_default_action: false,
        };
        match (table.direct_counter, table.direct_meter) {
            (Some(_), _) => {
                let data = Some(self.counter_data());
                Some(Entity::DirectCounter(DirectCounterEntry { entry, data }))
            }
            (None, Some(_)) => {
                let config = Some(self.meter_config());
                Some(Entity::DirectMeter(DirectMeterEntry { entry, config, counter_data: None }))
            }
            (None, None) => None,
        }
    }

    /// A message of a controller on its stream.
    pub fn stream_message(&mut self, device_id: u64) -> pb::StreamMessageRequest {
        use pb::stream_message_request::Update;
        let update = match self.rng.u8(..4) {
            0 => Update::Arbitration(pb::MasterArbitrationUpdate {
                device_id,
                role: self.rng.bool().then(|| pb::Role { name: "r".to_owned(), ..pb::Role::default() }),
                election_id: Some(pb::Uint128 { high: 0, low: self.rng.u64(..4) }),
                ..pb::MasterArbitrationUpdate::default()
            }),
            1 => Update::DigestAck(pb::DigestListAck { digest_id: 1, list_id: self.rng.u64(..4) }),
            _ => {
                let header =
                    self.schema.controller_headers.iter().find(|header| header.names.name == "packet_out");
                let mut metadata = Vec::new();
                for field in header.into_iter().flat_map(|header| &header.fields) {
                    let value = self.bits(field.value.width_bits().max(1)).to_bytes_be();
                    metadata.push(pb::PacketMetadata { metadata_id: field.id.0, value });
                }
                let payload = (0..self.rng.usize(..100)).map(|_| self.rng.u8(..)).collect();
                Update::Packet(pb::PacketOut { payload, metadata })
            }
        };
        pb::StreamMessageRequest { update: Some(update) }
    }
}
