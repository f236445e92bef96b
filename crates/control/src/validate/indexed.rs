//! Counters, meters, registers, digests, value sets and externs: objects that the program instantiates and
//! that cannot be inserted.

use rustc_hash::FxHashMap;

use super::data;
use super::matches;
use super::owner::Owner;
use super::tables::default_entry_key;
use super::values::not_negative;
use crate::entity::*;
use crate::fault::{Fault, Inside, Problem};
use crate::key::EntryKey;
use crate::schema::{IndexSpace, MeterType, Part, Schema, Table};
use crate::update::UpdateKind;

fn modify_only(kind: UpdateKind, what: impl FnOnce() -> String) -> Result<(), Fault> {
    match kind {
        UpdateKind::Modify => Ok(()),
        UpdateKind::Insert | UpdateKind::Delete => {
            Err(Problem::AlwaysExists { kind: kind.name(), what: what() }.into())
        }
    }
}

/// Checks an index; `None` means all cells.
pub(super) fn index(name: &str, space: &IndexSpace, index: Option<i64>) -> Result<(), Fault> {
    let Some(index) = index else { return Ok(()) };
    let fault = match u64::try_from(index) {
        Err(_) => Problem::NegativeIndex { index },
        Ok(number) if number >= space.n_indices() => {
            Problem::IndexOutOfRange { name: name.into(), index, size: space.n_indices() }
        }
        Ok(_) => return Ok(()),
    };
    Err(Fault::from(fault).inside("index"))
}

pub(super) fn meter(schema: &Schema, kind: UpdateKind, entry: &MeterEntry) -> Result<(), Fault> {
    let meter = schema.require(&schema.meters, entry.meter).inside("meter_id")?;
    let name = &meter.names.name;
    modify_only(kind, || format!("a cell of meter `{name}`"))?;
    index(name, &meter.index, entry.index)?;
    if let Some(config) = &entry.config {
        meter_config(name, meter.meter_type, config).inside("config")?;
    }
    entry.counter_data.as_ref().map_or(Ok(()), meter_counter_data).inside("counter_data")
}

/// P4Runtime, "MeterEntry & DirectMeterEntry".
pub(super) fn meter_config(meter: &str, meter_type: MeterType, config: &MeterConfig) -> Result<(), Fault> {
    for (field, value) in [
        ("cir", config.cir),
        ("cburst", config.cburst),
        ("pir", config.pir),
        ("pburst", config.pburst),
        ("eburst", config.eburst),
    ] {
        not_negative(field, value)?;
    }
    let single_rate = config.pir == config.cir && config.pburst == config.cburst;
    let (meter_type, rule) = match meter_type {
        MeterType::TwoRateThreeColor if config.eburst != 0 => {
            ("two-rate three-colour", "eburst must not be set")
        }
        MeterType::SingleRateThreeColor if !single_rate => {
            ("single-rate three-colour", "pir must be cir and pburst must be cburst")
        }
        MeterType::SingleRateTwoColor if !single_rate => {
            ("single-rate two-colour", "pir must be cir and pburst must be cburst")
        }
        MeterType::SingleRateTwoColor if config.eburst != 0 => {
            ("single-rate two-colour", "eburst must not be set")
        }
        MeterType::TwoRateThreeColor | MeterType::SingleRateThreeColor | MeterType::SingleRateTwoColor => {
            return Ok(());
        }
    };
    Err(Problem::MeterConfig { meter: meter.into(), meter_type, rule }.into())
}

/// The fault of a configuration of a meter without a name.
pub(crate) fn meter_config_fault(meter_type: MeterType, config: &MeterConfig) -> Option<Fault> {
    meter_config("", meter_type, config).err()
}

/// Checks the counters per colour of a meter, which can only be reset.
pub(super) fn meter_counter_data(data: &MeterCounterData) -> Result<(), Fault> {
    if *data == MeterCounterData::default() { Ok(()) } else { Err(Problem::MeterCounterNotZero.into()) }
}

pub(super) fn counter_data(data: &CounterData) -> Result<(), Fault> {
    not_negative("byte_count", data.n_bytes)?;
    not_negative("packet_count", data.n_packets)
}

pub(super) fn direct_meter(schema: &Schema, kind: UpdateKind, entry: &DirectMeterEntry) -> Result<(), Fault> {
    let table = entry_ref(schema, &entry.entry, "meter", |table| table.direct_meter.is_some())?;
    let meter = table.direct_meter.and_then(|id| schema.direct_meters.get(id));
    let name = meter.map_or("", |meter| meter.names.name.as_str());
    modify_only(kind, || format!("a cell of direct meter `{name}`"))?;
    if let Some(config) = &entry.config {
        let meter_type = meter.map_or(MeterType::TwoRateThreeColor, |meter| meter.meter_type);
        meter_config(name, meter_type, config).inside("config")?;
    }
    entry.counter_data.as_ref().map_or(Ok(()), meter_counter_data).inside("counter_data")
}

pub(super) fn direct_counter(
    schema: &Schema,
    kind: UpdateKind,
    entry: &DirectCounterEntry,
) -> Result<(), Fault> {
    let table = entry_ref(schema, &entry.entry, "counter", |table| table.direct_counter.is_some())?;
    let counter = table.direct_counter.and_then(|id| schema.direct_counters.get(id));
    let name = counter.map_or("", |counter| counter.names.name.as_str());
    modify_only(kind, || format!("a cell of direct counter `{name}`"))?;
    entry.data.as_ref().map_or(Ok(()), counter_data).inside("data")
}

/// Checks the reference to the table entry of a direct resource: a complete key, or the default entry.
fn entry_ref<'s>(
    schema: &'s Schema,
    entry: &EntryRef,
    resource: &'static str,
    has: impl Fn(&Table) -> bool,
) -> Result<&'s Table, Fault> {
    let check = || {
        let table = schema.require(&schema.tables, entry.table).inside("table_id")?;
        if !has(table) {
            return Err(Problem::NoDirectResource { table: table.names.name.clone(), resource }.into());
        }
        if entry.is_default_action {
            default_entry_key(table, entry.matches.is_empty(), entry.priority)?;
        } else {
            matches::key(table, &entry.matches, entry.priority)?;
        }
        Ok(table)
    };
    check().inside("table_entry")
}

pub(super) fn counter(schema: &Schema, kind: UpdateKind, entry: &CounterEntry) -> Result<(), Fault> {
    let counter = schema.require(&schema.counters, entry.counter).inside("counter_id")?;
    let name = &counter.names.name;
    modify_only(kind, || format!("a cell of counter `{name}`"))?;
    index(name, &counter.index, entry.index)?;
    entry.data.as_ref().map_or(Ok(()), counter_data).inside("data")
}

pub(super) fn register(schema: &Schema, kind: UpdateKind, entry: &RegisterEntry) -> Result<(), Fault> {
    let register = schema.require(&schema.registers, entry.register).inside("register_id")?;
    let name = &register.names.name;
    modify_only(kind, || format!("a cell of register `{name}`"))?;
    index(name, &register.index, entry.index)?;
    let missing = || Problem::RegisterDataMissing { register: name.clone() };
    let value = entry.data.as_ref().ok_or_else(missing)?;
    data::data(name, &register.cell, value).inside("data")
}

/// P4Runtime, "ValueSetEntry".
pub(super) fn value_set(schema: &Schema, kind: UpdateKind, entry: &ValueSetEntry) -> Result<(), Fault> {
    let value_set = schema.require(&schema.value_sets, entry.value_set).inside("value_set_id")?;
    let name = &value_set.names.name;
    modify_only(kind, || format!("value set `{name}`"))?;
    let n_members = entry.members.len();
    if n_members as u64 > value_set.size {
        let problem = Problem::ValueSetFull { value_set: name.clone(), size: value_set.size, n_members };
        return Err(Fault::from(problem).inside("members"));
    }
    let mut seen = FxHashMap::default();
    for (i, member) in entry.members.iter().enumerate() {
        let at = |fault: Fault| fault.inside(format_args!("members[{i}]"));
        matches::fields(Owner::ValueSet(name), Part::Field, &value_set.fields, &member.matches)
            .map_err(at)?;
        let key = EntryKey::of_fields(&value_set.fields, &member.matches, 0);
        if let Some(first) = seen.insert(key, i) {
            return Err(at(Problem::ValueSetMemberTwice { value_set: name.clone(), first }.into()));
        }
    }
    Ok(())
}

pub(super) fn digest(schema: &Schema, kind: UpdateKind, entry: &DigestEntry) -> Result<(), Fault> {
    schema.require(&schema.digests, entry.digest).inside("digest_id")?;
    let (UpdateKind::Insert | UpdateKind::Modify, Some(config)) = (kind, &entry.config) else {
        return Ok(());
    };
    not_negative("max_timeout_ns", config.max_timeout_ns)
        .and_then(|()| not_negative("max_list_size", config.max_list_size.into()))
        .and_then(|()| not_negative("ack_timeout_ns", config.ack_timeout_ns))
        .inside("config")
}

/// Checks that the instance exists and has this extern type. The target checks the contents of the entry.
pub(super) fn extern_entry(schema: &Schema, entry: &ExternEntry) -> Result<(), Fault> {
    if !schema.externs.iter().any(|known| known.extern_type == entry.extern_type) {
        let problem = Problem::UnknownExternType { id: entry.extern_type.0 };
        return Err(Fault::from(problem).inside("extern_type_id"));
    }
    let instance = schema.require(&schema.externs, entry.instance).inside("extern_id")?;
    if instance.extern_type != entry.extern_type {
        let problem = Problem::ExternTypeMismatch {
            name: instance.names.name.clone(),
            actual: instance.extern_type.0,
            expected: entry.extern_type.0,
        };
        return Err(Fault::from(problem).inside("extern_id"));
    }
    Ok(())
}
