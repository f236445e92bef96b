//! Random writes, packets and steps of the clock for any program.
//!
//! Writes are valid for the schema; whether what they name exists is left to chance, mostly in favour.

use super::packets::packet;
use super::values::{Pool, random};
use super::{Compiled, Event};
use crate::Choices;
use control::data::HeaderData;
use control::schema::{ActionScope, DataType, KeyElement, MeterType, Table, ValueForm, ValueType};
use control::*;
use ir::Bits;
use smol_str::SmolStr;
use std::sync::Arc;

/// The amount of events.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Least number of packets; long bursts may exceed it.
    pub n_packets: usize,
    /// Longest burst; at least one burst is this long.
    pub burst_max: usize,
}

/// Between two bursts.
const N_CHANGES_MAX: usize = 8;

/// Ports that packets arrive at and replicas go to.
const PORTS: &[u32] = &[0, 1, 2, 3, 4, 5, 63, 255, 510];
/// Number of different ids of members, groups and sessions; few, so that they collide.
const N_IDS: usize = 4;

/// Returns random events: first the entries that a controller installs, then packets, with changes between them.
pub fn events(choices: &mut Choices, compiled: &Compiled, options: Options) -> Vec<Event> {
    let pool = Pool::of(&compiled.program);
    let model = compiled.program.architecture.pipeline();
    let recirculate = model.and_then(|model| model.special_port("recirculate"));
    let mut writer = Writer { schema: Arc::clone(&compiled.schema), pool, written: Vec::new(), recirculate };
    let mut events = Vec::new();
    let has_sides = model.is_some_and(|model| model.directions.is_some());
    for port in PORTS.iter().filter(|_| has_sides) {
        events.push(Event::PortSide { port: *port, is_host: choices.one_in(2) });
    }
    for _ in 0..4 + choices.below(24) {
        events.extend(writer.update(choices).map(Event::Write));
    }
    let burst_max = options.burst_max.max(1);
    let n_packets = options.n_packets.max(burst_max + options.n_packets / 2);
    // One burst has the full length.
    let mut n_before_longest = Some(choices.below(n_packets - burst_max + 1));
    let mut n_left = n_packets;
    while n_left > 0 {
        let mut n = (1 + choices.below(burst_max)).min(n_left);
        match n_before_longest {
            Some(0) => (n, n_before_longest) = (burst_max, None),
            Some(before) => {
                n = n.min(before);
                n_before_longest = Some(before - n);
            }
            None => {}
        }
        for _ in 0..n.min(N_CHANGES_MAX) {
            if choices.one_in(4) {
                events.extend(writer.update(choices).map(Event::Write));
            }
        }
        if has_sides && choices.one_in(8) {
            let port = choices.pick(PORTS).copied().unwrap_or(0);
            events.push(Event::PortSide { port, is_host: choices.one_in(2) });
        }
        if choices.one_in(8) {
            events.push(Event::Clock { ns: 1 << choices.below(36) });
        }
        for _ in 0..n {
            let port = choices.pick(PORTS).copied().unwrap_or(0);
            let bytes = packet(choices, &compiled.program, &writer.pool);
            events.push(Event::Packet { port, bytes });
        }
        events.push(Event::EndOfBurst);
        n_left -= n;
    }
    events
}

struct Writer {
    schema: Arc<Schema>,
    pool: Pool,
    /// To be changed and removed later.
    written: Vec<Entity>,
    /// The port whose packets come back, if the architecture has one.
    recirculate: Option<u32>,
}

fn pick<'a, T>(choices: &mut Choices, from: &'a [T]) -> Option<&'a T> {
    choices.pick(from)
}

impl Writer {
    /// One write, if the program has what it would write.
    fn update(&mut self, choices: &mut Choices) -> Option<Update> {
        let update = match choices.below(8) {
            0 if !self.written.is_empty() => self.delete(choices)?,
            1 if !self.written.is_empty() => self.modify(choices)?,
            _ => self.insert(choices)?,
        };
        control::validate(&self.schema, &update).is_ok().then_some(update)
    }

    fn delete(&mut self, choices: &mut Choices) -> Option<Update> {
        let at = choices.below(self.written.len());
        let entity = self.written.swap_remove(at);
        Some(Update { kind: UpdateKind::Delete, entity })
    }

    fn modify(&mut self, choices: &mut Choices) -> Option<Update> {
        let at = choices.below(self.written.len());
        let schema = Arc::clone(&self.schema);
        let entity = match self.written.get(at)?.clone() {
            Entity::TableEntry(mut entry) => {
                let table = schema.tables.get(entry.table)?;
                if !choices.one_in(8) {
                    entry.action = self.table_action(choices, table);
                }
                self.direct(choices, table, &mut entry);
                Entity::TableEntry(entry)
            }
            Entity::ActionProfileMember(mut member) => {
                member.action = self.profile_action(choices, member.profile);
                Entity::ActionProfileMember(member)
            }
            Entity::ActionProfileGroup(mut group) => {
                group.members = self.group_members(choices);
                Entity::ActionProfileGroup(group)
            }
            Entity::MulticastGroup(mut group) => {
                group.replicas = self.replicas(choices);
                Entity::MulticastGroup(group)
            }
            Entity::CloneSession(mut session) => {
                session.replicas = self.replicas(choices);
                Entity::CloneSession(session)
            }
            other => other,
        };
        Some(Update { kind: UpdateKind::Modify, entity })
    }

    fn insert(&mut self, choices: &mut Choices) -> Option<Update> {
        let schema = Arc::clone(&self.schema);
        let (kind, entity) = match choices.below(16) {
            0..=6 => {
                let table = choices.pick(&tables(&schema))?.to_owned();
                (UpdateKind::Insert, Entity::TableEntry(self.entry(choices, table)?))
            }
            7 => {
                let table = choices.pick(&tables(&schema))?.to_owned();
                let action = match choices.below(4) {
                    0 => None,
                    _ => self.action(choices, table, false),
                };
                (UpdateKind::Modify, Entity::TableEntry(TableEntry::default_entry(table.id, action)))
            }
            8 => {
                let profiles: Vec<_> = schema.profiles.iter().collect();
                let profile = choices.pick(&profiles)?.id;
                let action = self.profile_action(choices, profile);
                let member = MemberId(1 + choices.below(N_IDS) as u32);
                (
                    UpdateKind::Insert,
                    Entity::ActionProfileMember(ActionProfileMember { profile, member, action }),
                )
            }
            9 => {
                let profiles: Vec<_> = schema.profiles.iter().filter(|p| p.selector.is_some()).collect();
                let profile = choices.pick(&profiles)?.id;
                let group = GroupId(1 + choices.below(N_IDS) as u32);
                let members = self.group_members(choices);
                (
                    UpdateKind::Insert,
                    Entity::ActionProfileGroup(ActionProfileGroup { profile, group, members, max_size: 0 }),
                )
            }
            10 => {
                let group = MulticastGroupId(1 + choices.below(N_IDS) as u32);
                let replicas = self.replicas(choices);
                (
                    UpdateKind::Insert,
                    Entity::MulticastGroup(MulticastGroup { group, replicas, metadata: Vec::new() }),
                )
            }
            11 => {
                let session = CloneSessionId(1 + choices.below(N_IDS) as u32);
                let packet_length_bytes = [0, 0, 10, 60][choices.below(4)];
                let replicas = self.replicas(choices);
                let class_of_service = if choices.one_in(2) { choices.below(12) as u32 } else { 0 };
                (
                    UpdateKind::Insert,
                    Entity::CloneSession(CloneSession {
                        session,
                        replicas,
                        class_of_service,
                        packet_length_bytes,
                    }),
                )
            }
            _ => (UpdateKind::Modify, self.cell(choices)?),
        };
        if kind == UpdateKind::Insert {
            self.written.push(entity.clone());
        }
        Some(Update { kind, entity })
    }

    /// Something that the program instantiates: it can only be changed.
    fn cell(&self, choices: &mut Choices) -> Option<Entity> {
        let schema = &self.schema;
        let index = |choices: &mut Choices, size: u64| match choices.below(8) {
            0 => None,
            _ => Some(choices.below(size.min(64) as usize) as i64),
        };
        Some(match choices.below(5) {
            0 => {
                let registers: Vec<_> = schema.registers.iter().collect();
                let register = *pick(choices, &registers)?;
                let index = index(choices, register.index.size);
                let data = Some(self.data(choices, &register.cell));
                Entity::Register(RegisterEntry { register: register.id, index, data })
            }
            1 => {
                let counters: Vec<_> = schema.counters.iter().collect();
                let counter = *pick(choices, &counters)?;
                let index = index(choices, counter.index.size);
                Entity::Counter(CounterEntry {
                    counter: counter.id,
                    index,
                    data: Some(counter_data(choices)),
                })
            }
            2 => {
                let meters: Vec<_> = schema.meters.iter().collect();
                let meter = *pick(choices, &meters)?;
                let index = index(choices, meter.index.size);
                let config = meter_config(choices, meter.meter_type);
                Entity::Meter(MeterEntry { meter: meter.id, index, config, counter_data: None })
            }
            3 => {
                let sets: Vec<_> = schema.value_sets.iter().collect();
                let set = *pick(choices, &sets)?;
                let n = choices.below(4).min(set.size as usize);
                let member =
                    |choices: &mut Choices| ValueSetMember { matches: self.matches(choices, &set.fields) };
                let mut members: Vec<ValueSetMember> = Vec::new();
                for _ in 0..n {
                    let member = member(choices);
                    if !members.contains(&member) {
                        members.push(member);
                    }
                }
                Entity::ValueSet(ValueSetEntry { value_set: set.id, members })
            }
            _ => {
                let written: Vec<&TableEntry> = self
                    .written
                    .iter()
                    .filter_map(|e| match e {
                        Entity::TableEntry(entry) => Some(entry),
                        _ => None,
                    })
                    .collect();
                let of = *pick(choices, &written)?;
                let entry = EntryRef {
                    table: of.table,
                    matches: of.matches.clone(),
                    priority: of.priority,
                    is_default_action: false,
                };
                let table = schema.tables.get(of.table)?;
                match (table.direct_counter, table.direct_meter) {
                    (Some(_), None) => {
                        Entity::DirectCounter(DirectCounterEntry { entry, data: Some(counter_data(choices)) })
                    }
                    (_, Some(meter)) => {
                        let meter = schema.direct_meters.get(meter)?;
                        let config = meter_config(choices, meter.meter_type);
                        Entity::DirectMeter(DirectMeterEntry { entry, config, counter_data: None })
                    }
                    (None, None) => return None,
                }
            }
        })
    }

    fn entry(&self, choices: &mut Choices, table: &Table) -> Option<TableEntry> {
        if table.is_const || table.keys.is_empty() {
            return None;
        }
        let matches = self.matches(choices, &table.keys);
        let priority = if table.needs_priority() { 1 + choices.below(6) as i32 } else { 0 };
        let mut entry = TableEntry::new(table.id, matches, priority);
        entry.action = self.table_action(choices, table);
        self.direct(choices, table, &mut entry);
        if table.has_idle_timeout && choices.one_in(3) {
            entry.idle_timeout_ns = 1 << choices.below(40);
        }
        Some(entry)
    }

    /// Sets the data of an entry's direct counter and meter.
    fn direct(&self, choices: &mut Choices, table: &Table, entry: &mut TableEntry) {
        if table.direct_counter.is_some() && choices.one_in(4) {
            entry.counter_data = Some(counter_data(choices));
        }
        if let Some(meter) = table.direct_meter.and_then(|id| self.schema.direct_meters.get(id))
            && !choices.one_in(4)
        {
            entry.meter_config = meter_config(choices, meter.meter_type);
        }
    }

    fn matches(&self, choices: &mut Choices, keys: &[KeyElement]) -> Vec<FieldMatch> {
        let one = |key: &KeyElement| {
            let value = self.field(choices, key)?;
            Some(FieldMatch { field: key.id, value })
        };
        keys.iter().filter_map(one).collect()
    }

    /// `None` for anything.
    fn field(&self, choices: &mut Choices, key: &KeyElement) -> Option<Match> {
        use control::schema::MatchKind;
        if key.match_kind == MatchKind::Exact {
            return Some(Match::Exact(self.value(choices, &key.value)));
        }
        if choices.one_in(6) {
            return None;
        }
        if key.match_kind == MatchKind::Optional {
            return Some(Match::Optional(self.value(choices, &key.value)));
        }
        let Value::Bits(value) = self.value(choices, &key.value) else { return None };
        let width = value.width();
        Some(match &key.match_kind {
            MatchKind::Lpm => {
                let prefix_len = 1 + choices.below(width as usize) as u32;
                Match::Lpm { value: value.and(&Bits::prefix_mask(width, prefix_len)), prefix_len }
            }
            MatchKind::Ternary => {
                let mask = match choices.below(4) {
                    0 => Bits::ones(width),
                    1 => Bits::new(width, 1 + choices.below(7) as u128),
                    2 => random(choices, width),
                    _ => self.pool.value(choices, width),
                };
                if mask.is_zero() {
                    return None;
                }
                Match::Ternary { value: value.and(&mask), mask }
            }
            MatchKind::Range => {
                let other = match choices.below(3) {
                    0 => value.clone(),
                    1 => value.sat_add(&Bits::new(width, choices.below(16) as u128), false),
                    _ => self.pool.value(choices, width),
                };
                let (low, high) =
                    if value.cmp_unsigned(&other).is_le() { (value, other) } else { (other, value) };
                if low.is_zero() && high == Bits::ones(width) {
                    return None;
                }
                Match::Range { low, high }
            }
            MatchKind::Exact | MatchKind::Optional | MatchKind::Other(_) => return None,
        })
    }

    fn value(&self, choices: &mut Choices, ty: &ValueType) -> Value {
        match ty.form {
            ValueForm::Bits { width_bits } => Value::Bits(self.pool.value(choices, width_bits)),
            ValueForm::Text | ValueForm::None => Value::Text(SmolStr::new(format!("t{}", choices.below(3)))),
        }
    }

    fn action(&self, choices: &mut Choices, table: &Table, of_entry: bool) -> Option<Action> {
        let may = |scope: ActionScope| match scope {
            ActionScope::TableAndDefault => true,
            ActionScope::TableOnly => of_entry,
            ActionScope::DefaultOnly => !of_entry,
            ActionScope::GroupAction => false,
        };
        let all: Vec<ActionId> = table.actions.iter().filter(|a| may(a.scope)).map(|a| a.id).collect();
        let id = *choices.pick(&all)?;
        let params = &self.schema.actions.get(id)?.params;
        let params = params.iter().map(|p| Param { id: p.id, value: self.value(choices, &p.value) });
        Some(Action { id, params: params.collect() })
    }

    fn table_action(&self, choices: &mut Choices, table: &Table) -> Option<TableAction> {
        let Some(profile) = table.implementation.and_then(|id| self.schema.profiles.get(id)) else {
            return Some(TableAction::Action(self.action(choices, table, true)?));
        };
        Some(match choices.below(4) {
            0 if profile.selector.is_some() => {
                let one = |choices: &mut Choices| {
                    let action = self.action(choices, table, true)?;
                    Some(WeightedAction { action, weight: 1 + choices.below(3) as i32, watch_port: None })
                };
                let actions = (0..1 + choices.below(3)).filter_map(|_| one(choices)).collect();
                TableAction::OneShot(OneShot {
                    actions,
                    selection_mode: SelectionMode::OfSelector,
                    size_semantics: SizeSemantics::OfSelector,
                    group_action: None,
                })
            }
            1 | 2 if profile.selector.is_some() => {
                TableAction::Group(GroupId(1 + choices.below(N_IDS) as u32))
            }
            _ => TableAction::Member(MemberId(1 + choices.below(N_IDS) as u32)),
        })
    }

    fn profile_action(&self, choices: &mut Choices, profile: ProfileId) -> Option<Action> {
        let table = self.schema.profiles.get(profile)?.tables.first()?;
        self.action(choices, self.schema.tables.get(*table)?, true)
    }

    fn group_members(&self, choices: &mut Choices) -> Vec<GroupMember> {
        let mut members: Vec<GroupMember> = Vec::new();
        for _ in 0..choices.below(4) {
            let member = MemberId(1 + choices.below(N_IDS) as u32);
            if members.iter().all(|m| m.member != member) {
                members.push(GroupMember { member, weight: 1 + choices.below(3) as i32, watch_port: None });
            }
        }
        members
    }

    /// Ports and instances, now and then the port whose packets come back.
    fn replicas(&self, choices: &mut Choices) -> Vec<Replica> {
        let mut replicas: Vec<Replica> = Vec::new();
        for _ in 0..choices.below(4) {
            let port = match self.recirculate {
                Some(port) if choices.one_in(12) => port,
                _ => choices.pick(PORTS).copied().unwrap_or(0),
            };
            let replica = Replica {
                egress_port: Port::number(u64::from(port)),
                instance: choices.below(3) as u32,
                backups: Vec::new(),
            };
            if !replicas.contains(&replica) {
                replicas.push(replica);
            }
        }
        replicas
    }

    fn data(&self, choices: &mut Choices, ty: &DataType) -> Data {
        match ty {
            DataType::Bits { width_bits } | DataType::Int { width_bits } => {
                Data::Bits(self.pool.value(choices, *width_bits))
            }
            DataType::Translated { form: ValueForm::Bits { width_bits }, .. } => {
                Data::Bits(self.pool.value(choices, *width_bits))
            }
            DataType::SerializableEnum { width_bits, .. } => {
                Data::EnumValue(self.pool.value(choices, *width_bits))
            }
            DataType::Bool => Data::Bool(choices.one_in(2)),
            DataType::Varbit { .. } => Data::Varbit(Bits::zero(0)),
            DataType::Tuple(types) => Data::Tuple(types.iter().map(|t| self.data(choices, t)).collect()),
            DataType::Struct(of) => {
                Data::Struct(of.members.iter().map(|(_, t)| self.data(choices, t)).collect())
            }
            DataType::Header(of) => {
                let field = |ty: &DataType| match ty {
                    DataType::Bits { width_bits } | DataType::Int { width_bits } => {
                        self.pool.value(choices, *width_bits)
                    }
                    _ => Bits::zero(0),
                };
                Data::Header(HeaderData(Some(of.fields.iter().map(|(_, t)| t).map(field).collect())))
            }
            DataType::Enum(of) => Data::Enum(choices.pick(&of.members).cloned().unwrap_or_default()),
            DataType::Error(of) => Data::Error(choices.pick(&of.members).cloned().unwrap_or_default()),
            // Refused by validation; nothing is written.
            DataType::Translated { .. }
            | DataType::HeaderUnion(_)
            | DataType::HeaderStack { .. }
            | DataType::HeaderUnionStack { .. } => Data::Tuple(Vec::new()),
        }
    }
}

fn tables(schema: &Schema) -> Vec<&Table> {
    schema.tables.iter().collect()
}

fn counter_data(choices: &mut Choices) -> CounterData {
    CounterData { n_bytes: choices.below(1 << 16) as i64, n_packets: choices.below(1 << 16) as i64 }
}

fn meter_config(choices: &mut Choices, meter_type: MeterType) -> Option<MeterConfig> {
    if choices.one_in(6) {
        return None;
    }
    let (cir, cburst) = (choices.below(2000) as i64, choices.below(200) as i64);
    let mut config = MeterConfig { cir, cburst, pir: cir, pburst: cburst, eburst: 0 };
    match meter_type {
        MeterType::TwoRateThreeColor => {
            config.pir += choices.below(2000) as i64;
            config.pburst += choices.below(200) as i64;
        }
        MeterType::SingleRateThreeColor => config.eburst = choices.below(100) as i64,
        MeterType::SingleRateTwoColor => {}
    }
    Some(config)
}
