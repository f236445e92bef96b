//! Profiles, value sets, counters, registers, meters.

use super::values::{Dialect, bits, large, small, weight};
use super::{Check, DigestCheck, Quantity, Resolver, Result, StepKind, error};
use crate::codes;
use crate::script::*;
use control::data::HeaderData;
use control::schema::{DataType, MeterType, ValueForm};
use control::{
    ActionProfileGroup, ActionProfileMember, CounterData, CounterEntry, Data, Entity, EntryQuery,
    EntryRef as EntityRef, Extras, FieldMatch, GroupId, GroupMember, MatchKind, MemberId, MeterConfig,
    MeterEntry, Query, RegisterEntry, TableId, Update, UpdateKind, ValueSetEntry, ValueSetMember,
};
use diagnostics::{Diagnostic, Span};
use ir::Bits;

impl Resolver<'_> {
    pub(super) fn member(
        &mut self,
        span: Span,
        kind: UpdateKind,
        profile: &Name,
        member: &Number,
        action: Option<&ActionCall>,
    ) -> Result<()> {
        let profile = self.profile(profile)?;
        let action = match action {
            None => None,
            Some(call) => {
                // All tables of a profile have the same actions.
                let table = profile.tables.first().and_then(|table| self.schema.tables.get(*table));
                let Some(table) = table else {
                    let message = format!("no table uses the action profile `{}`", profile.names.name);
                    return error(&codes::UNSUPPORTED, call.span, message, "no action can be meant");
                };
                Some(self.action_call(table, call, Dialect::Bmv2, Vec::new())?)
            }
        };
        let member = MemberId(small(member));
        let entity = Entity::ActionProfileMember(ActionProfileMember { profile: profile.id, member, action });
        self.write(span, vec![Update { kind, entity }])
    }

    pub(super) fn group(
        &mut self,
        span: Span,
        kind: UpdateKind,
        profile: &Name,
        group: &Number,
        members: &[Weighted<Number>],
    ) -> Result<()> {
        let profile = self.profile(profile)?;
        let no_weights = profile.selector.is_some_and(|selector| selector.weights_disallowed);
        let max_size = profile.selector.map_or(0, |selector| selector.max_group_size);
        let mut found = Vec::new();
        for member in members {
            let weight = match &member.weight {
                None if no_weights => 0,
                given => weight(given.as_ref())?,
            };
            found.push(GroupMember { member: MemberId(small(&member.item)), weight, watch_port: None });
        }
        let entity = Entity::ActionProfileGroup(ActionProfileGroup {
            profile: profile.id,
            group: GroupId(small(group)),
            members: found,
            // The largest size that the selector allows.
            max_size: i32::try_from(max_size).unwrap_or(i32::MAX),
        });
        self.write(span, vec![Update { kind, entity }])
    }

    fn value_set_member(
        &mut self,
        value_set: &Name,
        matches: &[Match],
    ) -> Result<(control::ValueSetId, ValueSetMember)> {
        let schema = self.value_set(value_set)?;
        let mut found = Vec::new();
        for m in matches {
            let element = self.field(schema, &m.name)?;
            let value = self.match_value(element, m, Dialect::Bmv2)?;
            found.extend(value.map(|value| FieldMatch { field: element.id, value }));
        }
        for element in &schema.fields {
            let is_missing = found.iter().all(|m| m.field != element.id);
            if is_missing
                && self.exact_keys == super::ExactKeys::ZeroIfMissing
                && element.match_kind == MatchKind::Exact
                && let ValueForm::Bits { width_bits } = element.value.form
            {
                let value = control::Match::Exact(Bits::zero(width_bits).into());
                found.push(FieldMatch { field: element.id, value });
            }
        }
        Ok((schema.id, ValueSetMember { matches: found }))
    }

    /// A value set is written as a whole.
    fn value_set_write(
        &mut self,
        span: Span,
        value_set: control::ValueSetId,
        members: Vec<ValueSetMember>,
    ) -> Result<()> {
        let entity = Entity::ValueSet(ValueSetEntry { value_set, members: members.clone() });
        self.modify(span, entity)?;
        self.value_sets.insert(value_set, members);
        Ok(())
    }

    pub(super) fn value_set_add(&mut self, span: Span, value_set: &Name, matches: &[Match]) -> Result<()> {
        let (id, member) = self.value_set_member(value_set, matches)?;
        let mut members = self.value_sets.get(&id).cloned().unwrap_or_default();
        members.push(member);
        self.value_set_write(span, id, members)
    }

    pub(super) fn value_set_remove(&mut self, span: Span, value_set: &Name, matches: &[Match]) -> Result<()> {
        let (id, member) = self.value_set_member(value_set, matches)?;
        let mut members = self.value_sets.get(&id).cloned().unwrap_or_default();
        let Some(at) = members.iter().position(|m| *m == member) else {
            let message = format!("the value set `{}` has no such member", self.schema.name_of(id.0));
            return error(&codes::UNKNOWN_HANDLE, span, message, "not added before");
        };
        members.remove(at);
        self.value_set_write(span, id, members)
    }

    pub(super) fn value_set_clear(&mut self, span: Span, value_set: &Name) -> Result<()> {
        let id = self.value_set(value_set)?.id;
        self.value_set_write(span, id, Vec::new())
    }

    /// Which counter is meant: one of an array, or that of an entry.
    fn counter_query(&mut self, counter: &Name, cell: &Cell) -> Result<Query> {
        match cell {
            Cell::Index(index) => {
                let index = large(index, "an index")?;
                match self.counter(counter) {
                    Ok(found) => Ok(Query::Counters { counter: Some(found.id), index: Some(index) }),
                    Err(diagnostic) => match self.direct_counter(counter) {
                        Ok(found) => {
                            let table = self.schema.name_of(found.table.0);
                            let message = format!("`{}` counts the entries of a table", found.names.name);
                            let diagnostic = Diagnostic::new(&codes::UNSUPPORTED, counter.span, message)
                                .label(format!("a counter in each entry of `{table}`"))
                                .help("give an entry a handle, `add ... = A`, and name that: `($A)`");
                            Err(Box::new(diagnostic))
                        }
                        Err(_) => Err(diagnostic),
                    },
                }
            }
            Cell::Entry(handle) => {
                let table = self.table_of_direct_counter(counter, handle.span)?;
                let entry = Some(self.entry_of(handle, table, counter)?);
                Ok(Query::DirectCounters { entry })
            }
            Cell::Default(span) => {
                let table = Some(self.table_of_direct_counter(counter, *span)?);
                let extras = Extras { counter_data: true, ..Extras::default() };
                let query = EntryQuery { table, is_default_action: true, extras, ..EntryQuery::default() };
                Ok(Query::TableEntries(query))
            }
        }
    }

    /// The table whose entries a direct counter counts; `cell` is the place of the cell.
    fn table_of_direct_counter(&self, counter: &Name, cell: Span) -> Result<TableId> {
        match self.direct_counter(counter) {
            Ok(found) => Ok(found.table),
            Err(diagnostic) => match self.counter(counter) {
                Ok(found) => {
                    let message = format!("`{}` is an array of counters", found.names.name);
                    error(&codes::UNSUPPORTED, cell, message, "expected an index")
                }
                Err(_) => Err(diagnostic),
            },
        }
    }

    /// The entry of a handle, which is one of the table of a direct counter or meter.
    fn entry_of(&mut self, handle: &Name, table: TableId, object: &Name) -> Result<EntityRef> {
        let key = self.handle(handle)?;
        if key.table != table {
            let message = format!(
                "`{}` belongs to the entries of table `{}`",
                object.text,
                self.schema.name_of(table.0)
            );
            let label = format!("an entry of table `{}`", self.schema.name_of(key.table.0));
            return error(&codes::UNKNOWN_HANDLE, handle.span, message, label);
        }
        Ok(EntityRef {
            table: key.table,
            matches: key.matches,
            priority: key.priority,
            is_default_action: false,
        })
    }

    /// Which meter is meant: one of an array, or that of an entry.
    fn meter_query(&mut self, meter: &Name, cell: &Cell) -> Result<Query> {
        match cell {
            Cell::Index(index) => {
                let (meter, index) = (Some(self.meter(meter)?.id), Some(large(index, "an index")?));
                Ok(Query::Meters { meter, index, with_counter_data: true })
            }
            Cell::Entry(handle) => {
                let table = self.direct_meter(meter)?.table;
                let entry = Some(self.entry_of(handle, table, meter)?);
                Ok(Query::DirectMeters { entry, with_counter_data: true })
            }
            Cell::Default(_) => {
                let table = Some(self.direct_meter(meter)?.table);
                let extras = Extras { meter_counter_data: true, ..Extras::default() };
                let query = EntryQuery { table, is_default_action: true, extras, ..EntryQuery::default() };
                Ok(Query::TableEntries(query))
            }
        }
    }

    pub(super) fn meter_check(
        &mut self,
        span: Span,
        meter: &Name,
        cell: &Cell,
        check: Option<&(Colour, CounterCheck)>,
    ) -> Result<()> {
        let query = self.meter_query(meter, cell)?;
        control::validate_query(self.schema, &query).map_err(|f| super::fault(&f, span))?;
        let kind = match check {
            None => StepKind::Show(query),
            Some((colour, check)) => StepKind::Check(Check {
                query,
                quantity: match check.unit {
                    CounterUnit::Bytes => Quantity::ColourBytes(*colour),
                    CounterUnit::Packets => Quantity::ColourPackets(*colour),
                },
                comparison: check.comparison,
                value: check.value.value.clone().into(),
                value_span: check.value.span,
            }),
        };
        self.step(span, kind);
        Ok(())
    }

    pub(super) fn counter_check(
        &mut self,
        span: Span,
        counter: &Name,
        cell: &Cell,
        check: Option<&CounterCheck>,
    ) -> Result<()> {
        let query = self.counter_query(counter, cell)?;
        control::validate_query(self.schema, &query).map_err(|f| super::fault(&f, span))?;
        let kind = match check {
            None => StepKind::Show(query),
            Some(check) => StepKind::Check(Check {
                query,
                quantity: match check.unit {
                    CounterUnit::Bytes => Quantity::Bytes,
                    CounterUnit::Packets => Quantity::Packets,
                },
                comparison: check.comparison,
                value: check.value.value.clone().into(),
                value_span: check.value.span,
            }),
        };
        self.step(span, kind);
        Ok(())
    }

    pub(super) fn counter_write(
        &mut self,
        span: Span,
        counter: &Name,
        index: &Number,
        n_packets: &Number,
        n_bytes: &Number,
    ) -> Result<()> {
        let data = CounterData {
            n_packets: large(n_packets, "a number of packets")?,
            n_bytes: large(n_bytes, "a number of bytes")?,
        };
        let counter = self.counter(counter)?.id;
        let index = Some(large(index, "an index")?);
        self.modify(span, Entity::Counter(CounterEntry { counter, index, data: Some(data) }))
    }

    pub(super) fn register_check(
        &mut self,
        span: Span,
        register: &Name,
        index: &Number,
        check: Option<&(Comparison, Number)>,
    ) -> Result<()> {
        let name = register;
        let register = self.register(register)?;
        let query = Query::Registers { register: Some(register.id), index: Some(large(index, "an index")?) };
        control::validate_query(self.schema, &query).map_err(|f| super::fault(&f, index.span))?;
        let kind = match check {
            None => StepKind::Show(query),
            Some((comparison, value)) => {
                scalar(&register.cell, &register.names.name, value, name.span)?;
                StepKind::Check(Check {
                    query,
                    quantity: Quantity::Cell,
                    comparison: *comparison,
                    value: value.value.clone().into(),
                    value_span: value.span,
                })
            }
        };
        self.step(span, kind);
        Ok(())
    }

    pub(super) fn register_write(
        &mut self,
        span: Span,
        register: &Name,
        index: &Number,
        value: &Number,
    ) -> Result<()> {
        let name = register;
        let register = self.register(register)?;
        let data = scalar(&register.cell, &register.names.name, value, name.span)?;
        let index = Some(large(index, "an index")?);
        self.modify(span, Entity::Register(RegisterEntry { register: register.id, index, data: Some(data) }))
    }

    pub(super) fn register_reset(&mut self, span: Span, register: &Name) -> Result<()> {
        let name = register;
        let register = self.register(register)?;
        let Some(data) = zero(&register.cell) else {
            let message = format!("`{}` has cells of {}", register.names.name, register.cell.name());
            return error(&codes::UNSUPPORTED, name.span, message, "has no zero");
        };
        let data = Some(data);
        self.modify(span, Entity::Register(RegisterEntry { register: register.id, index: None, data }))
    }

    pub(super) fn meter_show(&mut self, span: Span, meter: &Name, index: &Number) -> Result<()> {
        let meter = Some(self.meter(meter)?.id);
        let query = Query::Meters { meter, index: Some(large(index, "an index")?), with_counter_data: false };
        control::validate_query(self.schema, &query).map_err(|f| super::fault(&f, index.span))?;
        self.step(span, StepKind::Show(query));
        Ok(())
    }

    /// The first rate is the committed one, the second the peak.
    pub(super) fn meter_write(
        &mut self,
        span: Span,
        meter: &Name,
        index: Option<&Number>,
        rates: &[Rate],
    ) -> Result<()> {
        let schema = self.meter(meter)?;
        let index = index.map(|index| large(index, "an index")).transpose()?;
        let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let mut config = MeterConfig::default();
        match (schema.meter_type, rates) {
            (MeterType::TwoRateThreeColor, [committed, peak]) => {
                config.cir = number(committed.per_second);
                config.cburst = number(committed.burst);
                config.pir = number(peak.per_second);
                config.pburst = number(peak.burst);
            }
            (MeterType::SingleRateTwoColor, [rate]) => {
                config.cir = number(rate.per_second);
                config.cburst = number(rate.burst);
                (config.pir, config.pburst) = (config.cir, config.cburst);
            }
            (MeterType::SingleRateThreeColor, [rate, excess]) => {
                config.cir = number(rate.per_second);
                config.cburst = number(rate.burst);
                (config.pir, config.pburst) = (config.cir, config.cburst);
                config.eburst = number(excess.burst);
            }
            (kind, _) => {
                let n = if kind == MeterType::SingleRateTwoColor { "one rate" } else { "two rates" };
                let message = format!("the meter `{}` needs {n}", schema.names.name);
                let place = match (rates.first(), rates.last()) {
                    (Some(first), Some(last)) => first.span.to(last.span),
                    _ => span,
                };
                return error(&codes::UNSUPPORTED, place, message, format!("expected {n}"));
            }
        }
        let entry = MeterEntry { meter: schema.id, index, config: Some(config), counter_data: None };
        self.modify(span, Entity::Meter(entry))
    }

    pub(super) fn digest_check(&mut self, span: Span, digest: &Name, values: &[Match]) -> Result<()> {
        let schema = self.digest(digest)?;
        let mut members = Vec::new();
        leaves("", &schema.message, &mut members);
        let mut fields = Vec::new();
        for value in values {
            // All of a struct may be anything.
            let part = format!("{}.", value.name.text);
            if matches!(value.value, MatchValue::Any(_)) && members.iter().any(|(n, _)| n.starts_with(&part))
            {
                continue;
            }
            let Some(i) = members.iter().position(|(name, _)| *name == value.name.text) else {
                let message =
                    format!("the digest `{}` has no field `{}`", schema.names.name, value.name.text);
                let diagnostic = Diagnostic::new(&codes::UNKNOWN_NAME, value.name.span, message);
                let known = members.iter().map(|(name, _)| name.as_str());
                return Err(Box::new(match diagnostics::suggest::nearest_word(&value.name.text, known) {
                    Some(meant) => diagnostic.fix(format!("did you mean `{meant}`?"), value.name.span, meant),
                    None => diagnostic,
                }));
            };
            let (name, ty) = &members[i];
            match (&value.value, width(ty)) {
                (MatchValue::Any(_), _) => {}
                (MatchValue::Number(number), Some(width_bits)) => {
                    let expected = bits(&number.value, width_bits, name, number.span)?;
                    let mask = if number.has_wildcards() {
                        // Digits that are not written are zeros.
                        let written = number.written_bits().unwrap_or(width_bits).min(width_bits);
                        let open = Bits::from_biguint(width_bits, number.mask.clone());
                        open.or(&Bits::prefix_mask(width_bits, width_bits - written))
                    } else {
                        Bits::ones(width_bits)
                    };
                    fields.push((i, expected, mask));
                }
                _ => {
                    let message = format!("`{name}` is of type {}", ty.name());
                    return error(&codes::UNSUPPORTED, value.span, message, "cannot be compared");
                }
            }
        }
        let names = members.into_iter().map(|(name, _)| name).collect();
        self.step(span, StepKind::ExpectDigest(DigestCheck { digest: schema.id, fields, names }));
        Ok(())
    }
}

/// The numbers that a message consists of, in order, with their names: `source`, `flow.port`.
fn leaves(name: &str, ty: &DataType, out: &mut Vec<(String, DataType)>) {
    let inside = |member: &str| if name.is_empty() { member.to_string() } else { format!("{name}.{member}") };
    match ty {
        DataType::Struct(of) => of.members.iter().for_each(|(m, ty)| leaves(&inside(m), ty, out)),
        DataType::Header(of) => of.fields.iter().for_each(|(m, ty)| leaves(&inside(m), ty, out)),
        DataType::Tuple(of) => {
            of.iter().enumerate().for_each(|(i, ty)| leaves(&inside(&i.to_string()), ty, out))
        }
        other if name.is_empty() => out.push(("value".to_string(), other.clone())),
        other => out.push((name.to_string(), other.clone())),
    }
}

/// The width of types that are written as one number.
fn width(ty: &DataType) -> Option<u32> {
    match ty {
        DataType::Bits { width_bits }
        | DataType::Int { width_bits }
        | DataType::SerializableEnum { width_bits, .. }
        | DataType::Translated { form: ValueForm::Bits { width_bits }, .. } => Some(*width_bits),
        DataType::Bool => Some(1),
        _ => None,
    }
}

/// One number as a value of a type.
fn scalar(ty: &DataType, name: &str, value: &Number, span: Span) -> Result<Data> {
    let Some(width_bits) = width(ty) else {
        let message = format!("`{name}` has cells of {}", ty.name());
        return error(&codes::UNSUPPORTED, span, message, "a number is no such value");
    };
    let bits = bits(&value.value, width_bits, name, value.span)?;
    Ok(match ty {
        DataType::Bool => Data::Bool(bits.is_true()),
        DataType::SerializableEnum { .. } => Data::EnumValue(bits),
        _ => Data::Bits(bits),
    })
}

/// Returns the value of cells that were never written. Recursion follows the type, whose depth is bounded.
fn zero(ty: &DataType) -> Option<Data> {
    Some(match ty {
        DataType::Bits { width_bits }
        | DataType::Int { width_bits }
        | DataType::Translated { form: ValueForm::Bits { width_bits }, .. } => {
            Data::Bits(Bits::zero(*width_bits))
        }
        DataType::SerializableEnum { width_bits, .. } => Data::EnumValue(Bits::zero(*width_bits)),
        DataType::Bool => Data::Bool(false),
        DataType::Varbit { .. } => Data::Varbit(Bits::zero(0)),
        DataType::Tuple(types) => Data::Tuple(types.iter().map(zero).collect::<Option<_>>()?),
        DataType::Struct(of) => {
            Data::Struct(of.members.iter().map(|(_, ty)| zero(ty)).collect::<Option<_>>()?)
        }
        DataType::Header(_) => Data::Header(HeaderData(None)),
        DataType::Enum(of) => Data::Enum(of.members.first()?.clone()),
        DataType::Error(of) => Data::Error(of.members.first()?.clone()),
        DataType::Translated { .. }
        | DataType::HeaderUnion(_)
        | DataType::HeaderStack { .. }
        | DataType::HeaderUnionStack { .. } => return None,
    })
}
