//! Entities to messages, in their canonical form.

#![expect(deprecated, reason = "controllers still send the older fields")]

use control::*;
use ir::Bits;
use p4info::bytes;
use p4info::proto::p4::v1 as pb;

use crate::data::encode_data;

/// The message for an entity. The schema is needed for signed numbers in registers only.
pub fn encode_entity(schema: &Schema, entity: &Entity) -> pb::Entity {
    use pb::entity::Entity as Into;
    use pb::packet_replication_engine_entry::Type;
    let replication =
        |of: Type| Into::PacketReplicationEngineEntry(pb::PacketReplicationEngineEntry { r#type: Some(of) });
    let entity = match entity {
        Entity::TableEntry(entry) => Into::TableEntry(table_entry(entry)),
        Entity::ActionProfileMember(of) => Into::ActionProfileMember(pb::ActionProfileMember {
            action_profile_id: of.profile.0,
            member_id: of.member.0,
            action: of.action.as_ref().map(action),
        }),
        Entity::ActionProfileGroup(of) => Into::ActionProfileGroup(group(of)),
        Entity::Meter(of) => Into::MeterEntry(pb::MeterEntry {
            meter_id: of.meter.0,
            index: index(of.index),
            config: of.config.map(meter_config),
            counter_data: of.counter_data.map(meter_counter_data),
        }),
        Entity::DirectMeter(of) => Into::DirectMeterEntry(pb::DirectMeterEntry {
            table_entry: Some(entry_ref(&of.entry)),
            config: of.config.map(meter_config),
            counter_data: of.counter_data.map(meter_counter_data),
        }),
        Entity::Counter(of) => Into::CounterEntry(pb::CounterEntry {
            counter_id: of.counter.0,
            index: index(of.index),
            data: of.data.map(counter_data),
        }),
        Entity::DirectCounter(of) => Into::DirectCounterEntry(pb::DirectCounterEntry {
            table_entry: Some(entry_ref(&of.entry)),
            data: of.data.map(counter_data),
        }),
        Entity::Register(of) => {
            let ty = schema.registers.get(of.register).map(|known| &known.cell);
            Into::RegisterEntry(pb::RegisterEntry {
                register_id: of.register.0,
                index: index(of.index),
                data: of.data.as_ref().map(|data| encode_data(ty, data)),
            })
        }
        Entity::MulticastGroup(of) => replication(Type::MulticastGroupEntry(pb::MulticastGroupEntry {
            multicast_group_id: of.group.0,
            replicas: of.replicas.iter().map(replica).collect(),
            metadata: of.metadata.clone(),
        })),
        Entity::CloneSession(of) => replication(Type::CloneSessionEntry(pb::CloneSessionEntry {
            session_id: of.session.0,
            replicas: of.replicas.iter().map(replica).collect(),
            class_of_service: of.class_of_service,
            packet_length_bytes: of.packet_length_bytes,
        })),
        Entity::ValueSet(of) => Into::ValueSetEntry(pb::ValueSetEntry {
            value_set_id: of.value_set.0,
            members: of
                .members
                .iter()
                .map(|member| pb::ValueSetMember { r#match: matches(&member.matches) })
                .collect(),
        }),
        Entity::Digest(of) => Into::DigestEntry(pb::DigestEntry {
            digest_id: of.digest.0,
            config: of.config.map(|config| {
                let DigestConfig { max_timeout_ns, max_list_size, ack_timeout_ns } = config;
                pb::digest_entry::Config { max_timeout_ns, max_list_size, ack_timeout_ns }
            }),
        }),
        Entity::Extern(of) => Into::ExternEntry(pb::ExternEntry {
            extern_type_id: of.extern_type.0,
            extern_id: of.instance.0,
            entry: Some(prost_types::Any { type_url: of.type_url.clone(), value: of.entry.clone() }),
        }),
    };
    pb::Entity { entity: Some(entity) }
}

pub(crate) fn table_entry(of: &TableEntry) -> pb::TableEntry {
    pb::TableEntry {
        table_id: of.table.0,
        r#match: matches(&of.matches),
        action: of.action.as_ref().map(table_action),
        priority: of.priority,
        controller_metadata: of.controller_metadata,
        meter_config: of.meter_config.map(meter_config),
        counter_data: of.counter_data.map(counter_data),
        is_default_action: of.is_default_action,
        idle_timeout_ns: of.idle_timeout_ns,
        time_since_last_hit: of
            .time_since_last_hit_ns
            .map(|elapsed_ns| pb::table_entry::IdleTimeout { elapsed_ns }),
        metadata: of.metadata.clone(),
        meter_counter_data: of.meter_counter_data.map(meter_counter_data),
        is_const: of.is_const,
    }
}

fn entry_ref(of: &EntryRef) -> pb::TableEntry {
    pb::TableEntry {
        table_id: of.table.0,
        r#match: matches(&of.matches),
        priority: of.priority,
        is_default_action: of.is_default_action,
        ..pb::TableEntry::default()
    }
}

fn matches(matches: &[FieldMatch]) -> Vec<pb::FieldMatch> {
    use pb::field_match::{Exact, FieldMatchType, Lpm, Optional, Range, Ternary};
    let encode = |value: &Match| match value {
        Match::Exact(exact) => FieldMatchType::Exact(Exact { value: value_bytes(exact) }),
        Match::Optional(optional) => FieldMatchType::Optional(Optional { value: value_bytes(optional) }),
        Match::Lpm { value, prefix_len } => FieldMatchType::Lpm(Lpm {
            value: bits(value),
            prefix_len: i32::try_from(*prefix_len).unwrap_or(i32::MAX),
        }),
        Match::Ternary { value, mask } => {
            FieldMatchType::Ternary(Ternary { value: bits(value), mask: bits(mask) })
        }
        Match::Range { low, high } => FieldMatchType::Range(Range { low: bits(low), high: bits(high) }),
    };
    let field = |field: &FieldMatch| pb::FieldMatch {
        field_id: field.field.0,
        field_match_type: Some(encode(&field.value)),
    };
    matches.iter().map(field).collect()
}

/// The shortest bytes (P4Runtime, "Bytestrings").
pub(crate) fn bits(bits: &Bits) -> Vec<u8> {
    bytes::canonical(&bits.to_biguint())
}

fn value_bytes(value: &Value) -> Vec<u8> {
    match value {
        Value::Bits(value) => bits(value),
        Value::Text(text) => text.as_bytes().to_vec(),
    }
}

fn table_action(of: &TableAction) -> pb::TableAction {
    use pb::action_profile_action::WatchKind;
    use pb::action_profile_action_set as set;
    use pb::table_action::Type;
    let of = match of {
        TableAction::Action(of) => Type::Action(action(of)),
        TableAction::Member(id) => Type::ActionProfileMemberId(id.0),
        TableAction::Group(id) => Type::ActionProfileGroupId(id.0),
        TableAction::OneShot(of) => Type::ActionProfileActionSet(pb::ActionProfileActionSet {
            action_profile_actions: of
                .actions
                .iter()
                .map(|weighted| pb::ActionProfileAction {
                    action: Some(action(&weighted.action)),
                    weight: weighted.weight,
                    watch_kind: weighted
                        .watch_port
                        .as_ref()
                        .map(|port| WatchKind::WatchPort(port_bytes(port))),
                })
                .collect(),
            action_selection_mode: match of.selection_mode {
                SelectionMode::OfSelector => set::ActionSelectionMode::DefaultModeDeterminedByActionSelector,
                SelectionMode::Hash => set::ActionSelectionMode::Hash,
                SelectionMode::Random => set::ActionSelectionMode::Random,
            }
            .into(),
            size_semantics: match of.size_semantics {
                SizeSemantics::OfSelector => set::SizeSemantics::DefaultSizeDeterminedByActionSelector,
                SizeSemantics::SumOfWeights => set::SizeSemantics::SumOfWeights,
                SizeSemantics::SumOfMembers => set::SizeSemantics::SumOfMembers,
            }
            .into(),
            group_action: of.group_action.as_ref().map(action),
        }),
    };
    pb::TableAction { r#type: Some(of) }
}

fn action(of: &Action) -> pb::Action {
    let param = |param: &Param| pb::action::Param { param_id: param.id.0, value: value_bytes(&param.value) };
    pb::Action { action_id: of.id.0, params: of.params.iter().map(param).collect() }
}

fn group(of: &ActionProfileGroup) -> pb::ActionProfileGroup {
    use pb::action_profile_group::{Member, member::WatchKind};
    let member = |of: &GroupMember| Member {
        member_id: of.member.0,
        weight: of.weight,
        watch_kind: of.watch_port.as_ref().map(|port| WatchKind::WatchPort(port_bytes(port))),
    };
    pb::ActionProfileGroup {
        action_profile_id: of.profile.0,
        group_id: of.group.0,
        members: of.members.iter().map(member).collect(),
        max_size: of.max_size,
    }
}

fn replica(of: &Replica) -> pb::Replica {
    let backup =
        |of: &BackupReplica| pb::BackupReplica { port: port_bytes(&of.egress_port), instance: of.instance };
    pb::Replica {
        instance: of.instance,
        backup_replicas: of.backups.iter().map(backup).collect(),
        port_kind: Some(pb::replica::PortKind::Port(port_bytes(&of.egress_port))),
    }
}

fn port_bytes(port: &Port) -> Vec<u8> {
    port.as_bytes().to_vec()
}

fn index(index: Option<i64>) -> Option<pb::Index> {
    index.map(|index| pb::Index { index })
}

fn meter_config(config: MeterConfig) -> pb::MeterConfig {
    let MeterConfig { cir, cburst, pir, pburst, eburst } = config;
    pb::MeterConfig { cir, cburst, pir, pburst, eburst }
}

fn counter_data(data: CounterData) -> pb::CounterData {
    pb::CounterData { byte_count: data.n_bytes, packet_count: data.n_packets }
}

fn meter_counter_data(data: MeterCounterData) -> pb::MeterCounterData {
    let MeterCounterData { green, yellow, red } = data;
    pb::MeterCounterData {
        green: Some(counter_data(green)),
        yellow: Some(counter_data(yellow)),
        red: Some(counter_data(red)),
    }
}
