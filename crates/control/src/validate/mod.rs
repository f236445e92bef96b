//! Validation of updates and queries against the schema.
//!
//! One file for each kind of entity; `matches` and `values` hold the rules that several of them share. Only
//! the first fault is reported. Paths of faults are those of P4Runtime's messages below the entity.

mod data;
mod indexed;
mod matches;
mod owner;
mod profiles;
mod query;
mod replication;
mod tables;
mod values;

use crate::entity::Entity;
use crate::fault::Fault;
use crate::schema::Schema;
use crate::update::Update;

pub(crate) use indexed::meter_config_fault;
pub use query::validate_query;
pub(crate) use values::shown;
pub use values::{bits_from_bytes, signed_bits_from_bytes};

/// Checks that a control plane may make this update. The target checks what depends on its contents: that the
/// entity exists, that there is room, that the entity is not in use.
pub fn validate(schema: &Schema, update: &Update) -> Result<(), Fault> {
    let kind = update.kind;
    match &update.entity {
        Entity::TableEntry(entry) => tables::table_entry(schema, kind, entry),
        Entity::ActionProfileMember(member) => profiles::member(schema, kind, member),
        Entity::ActionProfileGroup(group) => profiles::group(schema, kind, group),
        Entity::Meter(meter) => indexed::meter(schema, kind, meter),
        Entity::DirectMeter(meter) => indexed::direct_meter(schema, kind, meter),
        Entity::Counter(counter) => indexed::counter(schema, kind, counter),
        Entity::DirectCounter(counter) => indexed::direct_counter(schema, kind, counter),
        Entity::Register(register) => indexed::register(schema, kind, register),
        Entity::MulticastGroup(group) => replication::multicast_group(schema, kind, group),
        Entity::CloneSession(session) => replication::clone_session(schema, kind, session),
        Entity::ValueSet(value_set) => indexed::value_set(schema, kind, value_set),
        Entity::Digest(digest) => indexed::digest(schema, kind, digest),
        Entity::Extern(entry) => indexed::extern_entry(schema, entry),
    }
}
