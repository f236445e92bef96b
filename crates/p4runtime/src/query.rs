//! Entities as questions: what is not set is not asked for (P4Runtime, "Wildcard Reads").

#![expect(deprecated, reason = "controllers still send the older fields")]

use control::*;
use p4info::proto::p4::v1 as pb;

use crate::Inside;
use crate::decode::{Decoder, index, not_set, path_of};

/// 0 means all of them.
fn id<T>(id: u32, new: impl Fn(u32) -> T) -> Option<T> {
    (id != 0).then(|| new(id))
}

/// The question that an entity of a `ReadRequest` is.
pub fn decode_query(schema: &Schema, entity: &pb::Entity) -> Result<Query, Fault> {
    use pb::entity::Entity as From;
    use pb::packet_replication_engine_entry::Type;
    let entity = entity.entity.as_ref().ok_or_else(|| not_set("entity"))?;
    let decoder = Decoder { schema, key_only: false };
    let query = || {
        Ok(match entity {
            From::TableEntry(entry) => Query::TableEntries(entry_query(&decoder, entry)?),
            From::ActionProfileMember(of) => Query::Members {
                profile: id(of.action_profile_id, ProfileId),
                member: id(of.member_id, MemberId),
            },
            From::ActionProfileGroup(of) => Query::Groups {
                profile: id(of.action_profile_id, ProfileId),
                group: id(of.group_id, GroupId),
            },
            From::MeterEntry(of) => Query::Meters {
                meter: id(of.meter_id, MeterId),
                index: index(of.index),
                with_counter_data: of.counter_data.is_some(),
            },
            From::DirectMeterEntry(of) => Query::DirectMeters {
                entry: entry_ref(&decoder, of.table_entry.as_ref())?,
                with_counter_data: of.counter_data.is_some(),
            },
            From::CounterEntry(of) => {
                Query::Counters { counter: id(of.counter_id, CounterId), index: index(of.index) }
            }
            From::DirectCounterEntry(of) => {
                Query::DirectCounters { entry: entry_ref(&decoder, of.table_entry.as_ref())? }
            }
            From::PacketReplicationEngineEntry(of) => match &of.r#type {
                Some(Type::MulticastGroupEntry(of)) => {
                    Query::MulticastGroups(id(of.multicast_group_id, MulticastGroupId))
                }
                Some(Type::CloneSessionEntry(of)) => Query::CloneSessions(id(of.session_id, CloneSessionId)),
                None => return Err(not_set("type")),
            },
            From::ValueSetEntry(of) => Query::ValueSets(id(of.value_set_id, ValueSetId)),
            From::RegisterEntry(of) => {
                Query::Registers { register: id(of.register_id, RegisterId), index: index(of.index) }
            }
            From::DigestEntry(of) => Query::Digests(id(of.digest_id, DigestId)),
            From::ExternEntry(of) => Query::Externs {
                extern_type: id(of.extern_type_id, ExternTypeId),
                instance: id(of.extern_id, ExternId),
            },
        })
    };
    query().inside(path_of(entity))
}

fn entry_query(decoder: &Decoder<'_>, entry: &pb::TableEntry) -> Result<EntryQuery, Fault> {
    use pb::table_action::Type;
    let action = match entry.action.as_ref().and_then(|action| action.r#type.as_ref()) {
        Some(Type::Action(action)) => id(action.action_id, ActionId),
        Some(
            Type::ActionProfileMemberId(_) | Type::ActionProfileGroupId(_) | Type::ActionProfileActionSet(_),
        ) => {
            let what = "a member, a group or a one-shot as a condition".to_owned();
            return Err(Fault::from(Problem::Unsupported { what }).inside("action"));
        }
        None => None,
    };
    let table = TableId(entry.table_id);
    Ok(EntryQuery {
        table: id(entry.table_id, TableId),
        matches: decoder.table_matches(table, &entry.r#match)?,
        priority: entry.priority,
        action,
        metadata: entry.metadata.clone(),
        controller_metadata: entry.controller_metadata,
        is_default_action: entry.is_default_action,
        extras: Extras {
            meter_config: entry.meter_config.is_some(),
            counter_data: entry.counter_data.is_some(),
            meter_counter_data: entry.meter_counter_data.is_some(),
            time_since_last_hit: entry.time_since_last_hit.is_some(),
        },
    })
}

/// Decodes a reference to one entry, or to all of a table, or to all tables, where a condition makes no sense.
fn entry_ref(decoder: &Decoder<'_>, entry: Option<&pb::TableEntry>) -> Result<Option<EntryRef>, Fault> {
    let Some(entry) = entry else { return Ok(None) };
    if entry.table_id != 0 {
        return decoder.entry_ref(Some(entry)).map(Some);
    }
    let field = if !entry.r#match.is_empty() {
        "match"
    } else if entry.priority != 0 {
        "priority"
    } else {
        return Ok(None);
    };
    let problem = Problem::ConditionWithoutId { kind: schema::ObjectKind::Table, field };
    Err(Fault::from(problem).inside("table_entry"))
}
