//! Messages to entities.

#![expect(deprecated, reason = "controllers still send the older fields")]

use control::schema::{KeyElement, ValueForm, ValueType};
use control::validate::bits_from_bytes;
use control::*;
use ir::Bits;
use p4info::proto::p4::v1 as pb;
use smol_str::SmolStr;

use crate::Inside;
use crate::data::decode_data;

/// One change. Of a deletion, only the key is looked at (P4Runtime, "Write RPC").
pub fn decode_update(schema: &Schema, update: &pb::Update) -> Result<Update, Fault> {
    let kind = match pb::update::Type::try_from(update.r#type) {
        Ok(pb::update::Type::Insert) => UpdateKind::Insert,
        Ok(pb::update::Type::Modify) => UpdateKind::Modify,
        Ok(pb::update::Type::Delete) => UpdateKind::Delete,
        Ok(pb::update::Type::Unspecified) => return Err(not_set("type")),
        Err(_) => return Err(Problem::UnknownEnumValue { field: "type", value: update.r#type }.into()),
    };
    let entity = update.entity.as_ref().and_then(|entity| entity.entity.as_ref());
    let entity = entity.ok_or_else(|| not_set("entity"))?;
    let decoded = Decoder { schema, key_only: kind == UpdateKind::Delete }.entity(entity);
    let entity = decoded.inside(path_of(entity)).inside("entity")?;
    Ok(Update { kind, entity })
}

/// The field of `p4.v1.Entity` that is set.
pub(crate) fn path_of(entity: &pb::entity::Entity) -> &'static str {
    use pb::entity::Entity;
    use pb::packet_replication_engine_entry::Type;
    match entity {
        Entity::ExternEntry(_) => "extern_entry",
        Entity::TableEntry(_) => "table_entry",
        Entity::ActionProfileMember(_) => "action_profile_member",
        Entity::ActionProfileGroup(_) => "action_profile_group",
        Entity::MeterEntry(_) => "meter_entry",
        Entity::DirectMeterEntry(_) => "direct_meter_entry",
        Entity::CounterEntry(_) => "counter_entry",
        Entity::DirectCounterEntry(_) => "direct_counter_entry",
        Entity::PacketReplicationEngineEntry(entry) => match entry.r#type {
            Some(Type::MulticastGroupEntry(_)) => "packet_replication_engine_entry.multicast_group_entry",
            Some(Type::CloneSessionEntry(_)) => "packet_replication_engine_entry.clone_session_entry",
            None => "packet_replication_engine_entry",
        },
        Entity::ValueSetEntry(_) => "value_set_entry",
        Entity::RegisterEntry(_) => "register_entry",
        Entity::DigestEntry(_) => "digest_entry",
    }
}

pub(crate) fn not_set(field: &'static str) -> Fault {
    Problem::FieldNotSet { field }.into()
}

pub(crate) struct Decoder<'s> {
    pub schema: &'s Schema,
    /// Leave out what does not identify the entity: it may be nonsense.
    pub key_only: bool,
}

impl Decoder<'_> {
    fn entity(&self, entity: &pb::entity::Entity) -> Result<Entity, Fault> {
        use pb::entity::Entity as From;
        use pb::packet_replication_engine_entry::Type;
        Ok(match entity {
            From::TableEntry(entry) => Entity::TableEntry(self.table_entry(entry)?),
            From::ActionProfileMember(member) => Entity::ActionProfileMember(self.member(member)?),
            From::ActionProfileGroup(group) => Entity::ActionProfileGroup(self.group(group)?),
            From::MeterEntry(entry) => Entity::Meter(MeterEntry {
                meter: MeterId(entry.meter_id),
                index: index(entry.index),
                config: entry.config.map(meter_config),
                counter_data: entry.counter_data.map(meter_counter_data),
            }),
            From::DirectMeterEntry(entry) => Entity::DirectMeter(DirectMeterEntry {
                entry: self.entry_ref(entry.table_entry.as_ref())?,
                config: entry.config.map(meter_config),
                counter_data: entry.counter_data.map(meter_counter_data),
            }),
            From::CounterEntry(entry) => Entity::Counter(CounterEntry {
                counter: CounterId(entry.counter_id),
                index: index(entry.index),
                data: entry.data.map(counter_data),
            }),
            From::DirectCounterEntry(entry) => Entity::DirectCounter(DirectCounterEntry {
                entry: self.entry_ref(entry.table_entry.as_ref())?,
                data: entry.data.map(counter_data),
            }),
            From::PacketReplicationEngineEntry(entry) => match &entry.r#type {
                Some(Type::MulticastGroupEntry(group)) => Entity::MulticastGroup(self.multicast_group(group)),
                Some(Type::CloneSessionEntry(session)) => Entity::CloneSession(self.clone_session(session)),
                None => return Err(not_set("type")),
            },
            From::ValueSetEntry(entry) => Entity::ValueSet(self.value_set(entry)?),
            From::RegisterEntry(entry) => Entity::Register(self.register(entry)?),
            From::DigestEntry(entry) => Entity::Digest(DigestEntry {
                digest: DigestId(entry.digest_id),
                config: entry.config.filter(|_| !self.key_only).map(digest_config),
            }),
            From::ExternEntry(entry) => {
                let any = entry.entry.clone().unwrap_or_default();
                Entity::Extern(ExternEntry {
                    extern_type: ExternTypeId(entry.extern_type_id),
                    instance: ExternId(entry.extern_id),
                    type_url: any.type_url,
                    entry: any.value,
                })
            }
        })
    }

    pub fn table_entry(&self, entry: &pb::TableEntry) -> Result<TableEntry, Fault> {
        let table = TableId(entry.table_id);
        let key = TableEntry {
            is_default_action: entry.is_default_action,
            is_const: entry.is_const,
            ..TableEntry::new(table, self.table_matches(table, &entry.r#match)?, entry.priority)
        };
        if self.key_only {
            return Ok(key);
        }
        let action = entry.action.as_ref().map(|action| self.table_action(action));
        Ok(TableEntry {
            action: action.transpose().inside("action")?,
            metadata: entry.metadata.clone(),
            controller_metadata: entry.controller_metadata,
            idle_timeout_ns: entry.idle_timeout_ns,
            time_since_last_hit_ns: entry.time_since_last_hit.map(|time| time.elapsed_ns),
            meter_config: entry.meter_config.map(meter_config),
            counter_data: entry.counter_data.map(counter_data),
            meter_counter_data: entry.meter_counter_data.map(meter_counter_data),
            ..key
        })
    }

    pub fn entry_ref(&self, entry: Option<&pb::TableEntry>) -> Result<EntryRef, Fault> {
        let entry = entry.ok_or_else(|| not_set("table_entry"))?;
        let table = TableId(entry.table_id);
        Ok(EntryRef {
            table,
            matches: self.table_matches(table, &entry.r#match).inside("table_entry")?,
            priority: entry.priority,
            is_default_action: entry.is_default_action,
        })
    }

    pub fn table_matches(&self, id: TableId, matches: &[pb::FieldMatch]) -> Result<Vec<FieldMatch>, Fault> {
        let keys = self.schema.tables.get(id).map_or(&[][..], |table| &table.keys);
        self.matches(keys, matches)
    }

    fn matches(&self, keys: &[KeyElement], matches: &[pb::FieldMatch]) -> Result<Vec<FieldMatch>, Fault> {
        let field = |(i, found): (usize, &pb::FieldMatch)| {
            let element = keys.iter().find(|key| key.id.0 == found.field_id);
            let value = field_match(element, found).inside(format_args!("match[{i}]"))?;
            Ok(FieldMatch { field: FieldId(found.field_id), value })
        };
        matches.iter().enumerate().map(field).collect()
    }

    fn table_action(&self, action: &pb::TableAction) -> Result<TableAction, Fault> {
        use pb::table_action::Type;
        Ok(match action.r#type.as_ref().ok_or_else(|| not_set("type"))? {
            Type::Action(action) => TableAction::Action(self.action(action).inside("action")?),
            Type::ActionProfileMemberId(id) => TableAction::Member(MemberId(*id)),
            Type::ActionProfileGroupId(id) => TableAction::Group(GroupId(*id)),
            Type::ActionProfileActionSet(set) => {
                TableAction::OneShot(self.one_shot(set).inside("action_profile_action_set")?)
            }
        })
    }

    fn action(&self, action: &pb::Action) -> Result<Action, Fault> {
        let id = ActionId(action.action_id);
        let known = self.schema.actions.get(id);
        let param = |(i, found): (usize, &pb::action::Param)| {
            let id = ParamId(found.param_id);
            let param = known.and_then(|action| action.param(id));
            let name_and_type = param.map(|param| (&param.name, &param.value));
            let value =
                value(name_and_type, &found.value).inside("value").inside(format_args!("params[{i}]"))?;
            Ok(Param { id, value })
        };
        Ok(Action { id, params: action.params.iter().enumerate().map(param).collect::<Result<_, Fault>>()? })
    }

    fn one_shot(&self, set: &pb::ActionProfileActionSet) -> Result<OneShot, Fault> {
        use pb::action_profile_action::WatchKind;
        use pb::action_profile_action_set as of;
        let weighted = |(i, found): (usize, &pb::ActionProfileAction)| {
            let decode = || {
                let action = found.action.as_ref().ok_or_else(|| not_set("action"))?;
                Ok(WeightedAction {
                    action: self.action(action).inside("action")?,
                    weight: found.weight,
                    watch_port: match &found.watch_kind {
                        Some(WatchKind::WatchPort(port)) => watch_port(port),
                        Some(WatchKind::Watch(port)) => watch(*port)?,
                        None => None,
                    },
                })
            };
            decode().inside(format_args!("action_profile_actions[{i}]"))
        };
        let actions =
            set.action_profile_actions.iter().enumerate().map(weighted).collect::<Result<_, Fault>>()?;
        let unknown = |field, value| Fault::from(Problem::UnknownEnumValue { field, value });
        let group_action = set.group_action.as_ref().map(|action| self.action(action));
        Ok(OneShot {
            actions,
            selection_mode: match of::ActionSelectionMode::try_from(set.action_selection_mode) {
                Ok(of::ActionSelectionMode::DefaultModeDeterminedByActionSelector) => {
                    SelectionMode::OfSelector
                }
                Ok(of::ActionSelectionMode::Hash) => SelectionMode::Hash,
                Ok(of::ActionSelectionMode::Random) => SelectionMode::Random,
                Err(_) => return Err(unknown("action_selection_mode", set.action_selection_mode)),
            },
            size_semantics: match of::SizeSemantics::try_from(set.size_semantics) {
                Ok(of::SizeSemantics::DefaultSizeDeterminedByActionSelector) => SizeSemantics::OfSelector,
                Ok(of::SizeSemantics::SumOfWeights) => SizeSemantics::SumOfWeights,
                Ok(of::SizeSemantics::SumOfMembers) => SizeSemantics::SumOfMembers,
                Err(_) => return Err(unknown("size_semantics", set.size_semantics)),
            },
            group_action: group_action.transpose().inside("group_action")?,
        })
    }

    fn member(&self, member: &pb::ActionProfileMember) -> Result<ActionProfileMember, Fault> {
        let action = member.action.as_ref().filter(|_| !self.key_only);
        Ok(ActionProfileMember {
            profile: ProfileId(member.action_profile_id),
            member: MemberId(member.member_id),
            action: action.map(|action| self.action(action)).transpose().inside("action")?,
        })
    }

    fn group(&self, group: &pb::ActionProfileGroup) -> Result<ActionProfileGroup, Fault> {
        use pb::action_profile_group::member::WatchKind;
        let member = |(i, found): (usize, &pb::action_profile_group::Member)| {
            Ok(GroupMember {
                member: MemberId(found.member_id),
                weight: found.weight,
                watch_port: match &found.watch_kind {
                    Some(WatchKind::WatchPort(port)) => watch_port(port),
                    Some(WatchKind::Watch(port)) => watch(*port).inside(format_args!("members[{i}]"))?,
                    None => None,
                },
            })
        };
        let members = if self.key_only { &[][..] } else { &group.members };
        Ok(ActionProfileGroup {
            profile: ProfileId(group.action_profile_id),
            group: GroupId(group.group_id),
            members: members.iter().enumerate().map(member).collect::<Result<_, Fault>>()?,
            max_size: group.max_size,
        })
    }

    fn multicast_group(&self, group: &pb::MulticastGroupEntry) -> MulticastGroup {
        MulticastGroup {
            group: MulticastGroupId(group.multicast_group_id),
            replicas: self.replicas(&group.replicas),
            metadata: group.metadata.clone(),
        }
    }

    fn clone_session(&self, session: &pb::CloneSessionEntry) -> CloneSession {
        CloneSession {
            session: CloneSessionId(session.session_id),
            replicas: self.replicas(&session.replicas),
            class_of_service: session.class_of_service,
            packet_length_bytes: session.packet_length_bytes,
        }
    }

    fn replicas(&self, replicas: &[pb::Replica]) -> Vec<Replica> {
        use pb::replica::PortKind;
        if self.key_only {
            return Vec::new();
        }
        let backup = |backup: &pb::BackupReplica| BackupReplica {
            egress_port: Port::from_bytes(&backup.port),
            instance: backup.instance,
        };
        let replica = |replica: &pb::Replica| Replica {
            egress_port: match &replica.port_kind {
                Some(PortKind::Port(port)) => Port::from_bytes(port),
                Some(PortKind::EgressPort(port)) => Port::number(u64::from(*port)),
                None => Port::from_bytes(b""),
            },
            instance: replica.instance,
            backups: replica.backup_replicas.iter().map(backup).collect(),
        };
        replicas.iter().map(replica).collect()
    }

    fn value_set(&self, entry: &pb::ValueSetEntry) -> Result<ValueSetEntry, Fault> {
        let value_set = ValueSetId(entry.value_set_id);
        let fields = self.schema.value_sets.get(value_set).map_or(&[][..], |known| &known.fields);
        let member = |(i, found): (usize, &pb::ValueSetMember)| {
            let matches = self.matches(fields, &found.r#match).inside(format_args!("members[{i}]"))?;
            Ok(ValueSetMember { matches })
        };
        let members = if self.key_only { &[][..] } else { &entry.members };
        Ok(ValueSetEntry {
            value_set,
            members: members.iter().enumerate().map(member).collect::<Result<_, Fault>>()?,
        })
    }

    fn register(&self, entry: &pb::RegisterEntry) -> Result<RegisterEntry, Fault> {
        let register = RegisterId(entry.register_id);
        let ty = self.schema.registers.get(register).map(|known| &known.cell);
        let data = entry.data.as_ref().filter(|_| !self.key_only);
        let data = data.map(|data| decode_data(ty, data)).transpose().inside("data")?;
        Ok(RegisterEntry { register, index: index(entry.index), data })
    }
}

fn field_match(element: Option<&KeyElement>, found: &pb::FieldMatch) -> Result<Match, Fault> {
    use pb::field_match::FieldMatchType;
    let name_and_type = element.map(|element| (&element.name, &element.value));
    let width_bits = element.map_or(0, |element| element.value.width_bits());
    let bits = |bytes: &[u8]| bits_from_bytes(bytes, width_bits);
    Ok(match found.field_match_type.as_ref().ok_or_else(|| not_set("field_match_type"))? {
        FieldMatchType::Exact(exact) => {
            Match::Exact(value(name_and_type, &exact.value).inside("value").inside("exact")?)
        }
        FieldMatchType::Optional(optional) => {
            Match::Optional(value(name_and_type, &optional.value).inside("value").inside("optional")?)
        }
        FieldMatchType::Lpm(lpm) => {
            let negative =
                |_| Fault::from(Problem::Negative { field: "prefix_len", value: lpm.prefix_len.into() });
            let prefix_len = u32::try_from(lpm.prefix_len).map_err(negative).inside("lpm")?;
            Match::Lpm { value: bits(&lpm.value), prefix_len }
        }
        FieldMatchType::Ternary(ternary) => {
            Match::Ternary { value: bits(&ternary.value), mask: bits(&ternary.mask) }
        }
        FieldMatchType::Range(range) => Match::Range { low: bits(&range.low), high: bits(&range.high) },
        FieldMatchType::Other(_) => {
            let what = "a match of a kind that P4Runtime does not know".to_owned();
            return Err(Fault::from(Problem::Unsupported { what }).inside("other"));
        }
    })
}

/// Decodes a value. Without a type in the schema the bytes stay as they are, and validation reports that.
fn value(known: Option<(&SmolStr, &ValueType)>, bytes: &[u8]) -> Result<Value, Fault> {
    let Some((name, ty)) = known else { return Ok(Value::Bits(bits_from_bytes(bytes, 0))) };
    match ty.form {
        ValueForm::Bits { width_bits } => Ok(Value::Bits(bits_from_bytes(bytes, width_bits))),
        ValueForm::Text => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Value::Text(text.into())),
            Err(_) => Err(Problem::NotUtf8 { name: name.clone() }.into()),
        },
        ValueForm::None => Ok(Value::Bits(Bits::zero(0))),
    }
}

pub(crate) fn index(index: Option<pb::Index>) -> Option<i64> {
    index.map(|index| index.index)
}

fn meter_config(config: pb::MeterConfig) -> MeterConfig {
    let pb::MeterConfig { cir, cburst, pir, pburst, eburst } = config;
    MeterConfig { cir, cburst, pir, pburst, eburst }
}

fn counter_data(data: pb::CounterData) -> CounterData {
    CounterData { n_bytes: data.byte_count, n_packets: data.packet_count }
}

fn meter_counter_data(data: pb::MeterCounterData) -> MeterCounterData {
    let of = |data: Option<pb::CounterData>| counter_data(data.unwrap_or_default());
    MeterCounterData { green: of(data.green), yellow: of(data.yellow), red: of(data.red) }
}

fn digest_config(config: pb::digest_entry::Config) -> DigestConfig {
    let pb::digest_entry::Config { max_timeout_ns, max_list_size, ack_timeout_ns } = config;
    DigestConfig { max_timeout_ns, max_list_size, ack_timeout_ns }
}

/// No bytes mean no port.
fn watch_port(bytes: &[u8]) -> Option<Port> {
    (!bytes.is_empty()).then(|| Port::from_bytes(bytes))
}

/// The deprecated form, where 0 means no port.
fn watch(port: i32) -> Result<Option<Port>, Fault> {
    match u64::try_from(port) {
        Ok(0) => Ok(None),
        Ok(port) => Ok(Some(Port::number(port))),
        Err(_) => Err(Problem::Negative { field: "watch", value: port.into() }.into()),
    }
}
