//! Values and matches of the control plane to those of the program and back.

use control::data::{HeaderData, HeaderUnionData};
use control::entity::Match as Wanted;
use control::schema::DataType;
use control::schema::KeyElement;
use control::{Data, Fault, FieldMatch, Problem, Value};
use ir::{Bits, Match};

/// A value as wide as the program has it.
pub(super) fn bits(value: &Value, width: Option<u32>, name: &str) -> Result<Bits, Fault> {
    match value {
        Value::Bits(bits) => Ok(width.map_or_else(|| bits.clone(), |w| bits.resize(w))),
        Value::Text(_) => {
            Err(Problem::Unsupported { what: format!("`{name}`, a string of the controller") }.into())
        }
    }
}

/// The matches of an entry, one for each key of the table that is matched on; `widths` are those of the program.
pub(super) fn matches(
    elements: &[KeyElement],
    widths: &[Option<u32>],
    given: &[FieldMatch],
) -> Result<Vec<Option<Match>>, Fault> {
    let mut all = Vec::with_capacity(widths.len());
    for (element, width) in elements.iter().zip(widths) {
        let found = given.iter().find(|m| m.field == element.id);
        let resized = |v: &Bits| width.map_or_else(|| v.clone(), |w| v.resize(w));
        all.push(match found.map(|m| &m.value) {
            None => None,
            Some(Wanted::Exact(v)) => Some(Match::Exact(bits(v, *width, &element.name)?)),
            Some(Wanted::Optional(v)) => Some(Match::Optional(bits(v, *width, &element.name)?)),
            Some(Wanted::Lpm { value, prefix_len }) => {
                Some(Match::Lpm { value: resized(value), prefix_len: *prefix_len })
            }
            Some(Wanted::Ternary { value, mask }) => {
                Some(Match::Ternary { value: resized(value), mask: resized(mask) })
            }
            Some(Wanted::Range { low, high }) => {
                Some(Match::Range { low: resized(low), high: resized(high) })
            }
        });
    }
    Ok(all)
}

/// The other way; what may be anything is left out.
pub(super) fn field_matches(elements: &[KeyElement], matches: &[Option<Match>]) -> Vec<FieldMatch> {
    let parts = elements.iter().zip(matches).filter_map(|(element, m)| {
        let width = element.value.width_bits();
        let fit = |v: &Bits| if width == 0 { v.clone() } else { v.resize(width) };
        let value = match m.as_ref()? {
            Match::Exact(v) => Wanted::Exact(fit(v).into()),
            Match::Optional(v) => Wanted::Optional(fit(v).into()),
            Match::Lpm { value, prefix_len } => Wanted::Lpm { value: fit(value), prefix_len: *prefix_len },
            Match::Ternary { value, mask } => Wanted::Ternary { value: fit(value), mask: fit(mask) },
            Match::Range { low, high } => Wanted::Range { low: fit(low), high: fit(high) },
        };
        Some(FieldMatch { field: element.id, value })
    });
    parts.collect()
}

/// The leaves of a value; those of a header begin with its validity, but in stacks and unions. `widths` of the leaves are
/// those of the program; missing parts are zero.
pub(super) fn leaves(ty: &DataType, data: &Data, out: &mut Vec<Bits>) {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || match (ty, data) {
        (_, Data::Bits(v) | Data::Varbit(v) | Data::EnumValue(v)) => out.push(v.clone()),
        (_, Data::Bool(v)) => out.push(Bits::bool(*v)),
        (DataType::Enum(of) | DataType::Error(of), Data::Enum(name) | Data::Error(name)) => {
            let index = of.members.iter().position(|m| m == name).unwrap_or(0);
            out.push(Bits::new(ir::types::INDEX_BITS, index as u128));
        }
        (DataType::Tuple(types), Data::Tuple(values)) => {
            types.iter().zip(values).for_each(|(ty, v)| leaves(ty, v, out));
        }
        (DataType::Struct(of), Data::Struct(values)) => {
            of.members.iter().zip(values).for_each(|((_, ty), v)| leaves(ty, v, out));
        }
        (DataType::Header(of), Data::Header(header)) => {
            out.push(Bits::bool(header.0.is_some()));
            header_leaves(of.fields.len(), header, out);
        }
        (DataType::HeaderStack { header, .. }, Data::HeaderStack(headers)) => {
            headers.iter().for_each(|h| header_leaves(header.fields.len(), h, out));
        }
        (_, Data::Enum(_) | Data::Error(_) | Data::Text(_)) => out.push(Bits::zero(0)),
        (
            _,
            Data::Tuple(_)
            | Data::Struct(_)
            | Data::Header(_)
            | Data::HeaderUnion(_)
            | Data::HeaderStack(_)
            | Data::HeaderUnionStack(_),
        ) => {}
    });
}

fn header_leaves(n_fields: usize, header: &HeaderData, out: &mut Vec<Bits>) {
    match &header.0 {
        Some(fields) => out.extend(fields.iter().cloned()),
        None => out.extend((0..n_fields).map(|_| Bits::zero(0))),
    }
}

/// A value from its leaves.
pub(super) fn data(ty: &DataType, leaves: &mut dyn Iterator<Item = &Bits>) -> Data {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        let mut next = || leaves.next().cloned().unwrap_or_else(|| Bits::zero(0));
        match ty {
            DataType::Bits { width_bits } | DataType::Int { width_bits } => {
                Data::Bits(next().resize(*width_bits))
            }
            DataType::Varbit { .. } => Data::Varbit(next()),
            DataType::Bool => Data::Bool(next().is_true()),
            DataType::Translated { .. } => Data::Bits(next()),
            DataType::SerializableEnum { width_bits, .. } => Data::EnumValue(next().resize(*width_bits)),
            DataType::Enum(of) => Data::Enum(member(&of.members, &next())),
            DataType::Error(of) => Data::Error(member(&of.members, &next())),
            DataType::Tuple(types) => Data::Tuple(types.iter().map(|ty| data(ty, leaves)).collect()),
            DataType::Struct(of) => Data::Struct(of.members.iter().map(|(_, ty)| data(ty, leaves)).collect()),
            DataType::Header(of) => {
                let is_valid = next().is_true();
                let HeaderData(fields) = header(&of.fields, leaves);
                Data::Header(HeaderData(fields.filter(|_| is_valid)))
            }
            DataType::HeaderStack { header: of, size } => {
                Data::HeaderStack((0..*size).map(|_| header(&of.fields, leaves)).collect())
            }
            DataType::HeaderUnion(_) => Data::HeaderUnion(HeaderUnionData(None)),
            DataType::HeaderUnionStack { size, .. } => {
                Data::HeaderUnionStack((0..*size).map(|_| HeaderUnionData(None)).collect())
            }
        }
    })
}

fn header(fields: &[(smol_str::SmolStr, DataType)], leaves: &mut dyn Iterator<Item = &Bits>) -> HeaderData {
    let values = fields.iter().map(|_| leaves.next().cloned().unwrap_or_else(|| Bits::zero(0)));
    HeaderData(Some(values.collect()))
}

fn member(members: &[smol_str::SmolStr], value: &Bits) -> smol_str::SmolStr {
    let index = value.to_u64().and_then(|i| usize::try_from(i).ok());
    index.and_then(|i| members.get(i)).or(members.first()).cloned().unwrap_or_default()
}
