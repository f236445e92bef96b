//! Validation of match keys (P4Runtime, "Match Format").

use ir::Bits;
use smol_str::SmolStr;

use super::owner::{Owner, Positions};
use super::values::{number, shown, value};
use crate::entity::{FieldMatch, Match};
use crate::fault::{Fault, Inside, Problem};
use crate::schema::{KeyElement, MatchKind, Part, Table};

/// Checks the key of a table: the matches, and the priority that they need.
pub(super) fn key(table: &Table, matches: &[FieldMatch], priority: i32) -> Result<(), Fault> {
    let name = &table.names.name;
    if table.keys.is_empty() {
        return Err(Problem::Keyless { table: name.clone() }.into());
    }
    fields(Owner::Table(name), Part::Key, &table.keys, matches)?;
    let ordered = table.keys.iter().find(|key| needs_priority(&key.match_kind));
    match ordered {
        Some(key) if priority <= 0 => Err(Fault::from(Problem::PriorityMissing {
            table: name.clone(),
            priority,
            key: key.name.clone(),
            kind: key.match_kind.name().into(),
        })
        .inside("priority")),
        None if priority != 0 => {
            Err(Fault::from(Problem::PriorityNotAllowed { table: name.clone(), priority }).inside("priority"))
        }
        Some(_) | None => Ok(()),
    }
}

fn needs_priority(kind: &MatchKind) -> bool {
    match kind {
        MatchKind::Ternary | MatchKind::Range | MatchKind::Optional => true,
        MatchKind::Exact | MatchKind::Lpm | MatchKind::Other(_) => false,
    }
}

/// Checks the matches of a table entry, or of a member of a value set.
pub(super) fn fields(
    owner: Owner<'_>,
    part: Part,
    elements: &[KeyElement],
    matches: &[FieldMatch],
) -> Result<(), Fault> {
    let mut seen = Positions::new(elements.len());
    for (i, field) in matches.iter().enumerate() {
        let at = || format!("match[{i}]");
        let Some(position) = elements.iter().position(|element| element.id == field.field) else {
            let known = elements.iter().map(named).collect();
            let problem = Problem::UnknownPart { part, id: field.field.0, owner: owner.into(), known };
            return Err(Fault::from(problem).inside("field_id").inside(at()));
        };
        let element = &elements[position];
        if !seen.insert(position) {
            let problem = Problem::Duplicate { part, name: element.name.clone(), owner: owner.into() };
            return Err(Fault::from(problem).inside(at()));
        }
        field_match(element, &field.value).map_err(|fault| fault.inside(at()))?;
    }
    let missing = elements.iter().enumerate().find(|(i, element)| match element.match_kind {
        MatchKind::Exact => !seen.contains(*i),
        MatchKind::Lpm
        | MatchKind::Ternary
        | MatchKind::Range
        | MatchKind::Optional
        | MatchKind::Other(_) => false,
    });
    match missing {
        Some((_, element)) => {
            let name = element.name.clone();
            Err(Fault::from(Problem::Missing { part, name, owner: owner.into() }).inside("match"))
        }
        None => Ok(()),
    }
}

/// Returns the name for messages; an element of a value set may have no name.
fn named(element: &KeyElement) -> SmolStr {
    if element.name.is_empty() {
        format!("{}", element.id).into()
    } else {
        format!("{} ({})", element.name, element.id).into()
    }
}

fn field_match(element: &KeyElement, found: &Match) -> Result<(), Fault> {
    let name = &element.name;
    match (&element.match_kind, found) {
        (MatchKind::Exact, Match::Exact(exact)) => {
            value(name, &element.value, exact).inside("value").inside("exact")
        }
        (MatchKind::Optional, Match::Optional(optional)) => {
            value(name, &element.value, optional).inside("value").inside("optional")
        }
        (MatchKind::Lpm, Match::Lpm { value, prefix_len }) => lpm(element, value, *prefix_len).inside("lpm"),
        (MatchKind::Ternary, Match::Ternary { value, mask }) => {
            ternary(element, value, mask).inside("ternary")
        }
        (MatchKind::Range, Match::Range { low, high }) => range(element, low, high).inside("range"),
        (MatchKind::Other(kind), _) => {
            Err(Problem::OtherMatchKind { name: name.clone(), kind: kind.clone() }.into())
        }
        (
            expected @ (MatchKind::Exact
            | MatchKind::Lpm
            | MatchKind::Ternary
            | MatchKind::Range
            | MatchKind::Optional),
            found,
        ) => {
            let expected = expected.name().into();
            Err(Problem::MatchKind { name: name.clone(), expected, found: kind_name(found) }.into())
        }
    }
}

fn kind_name(found: &Match) -> &'static str {
    match found {
        Match::Exact(_) => "exact",
        Match::Lpm { .. } => "lpm",
        Match::Ternary { .. } => "ternary",
        Match::Range { .. } => "range",
        Match::Optional(_) => "optional",
    }
}

fn not_omitted(element: &KeyElement, how: &'static str) -> Fault {
    Problem::NotOmitted { name: element.name.clone(), how }.into()
}

fn lpm(element: &KeyElement, value: &Bits, prefix_len: u32) -> Result<(), Fault> {
    let width_bits = number(&element.name, &element.value, value).inside("value")?;
    if prefix_len == 0 {
        return Err(not_omitted(element, "a prefix of 0 bits"));
    }
    let name = element.name.clone();
    if prefix_len > width_bits {
        let problem = Problem::PrefixTooLong { name, prefix_len, width_bits };
        return Err(Fault::from(problem).inside("prefix_len"));
    }
    let canonical = value.and(&Bits::prefix_mask(width_bits, prefix_len));
    if canonical != *value {
        let (value, canonical) = (shown(value), shown(&canonical));
        return Err(Problem::BitsBeyondPrefix { name, value, prefix_len, canonical }.into());
    }
    Ok(())
}

fn ternary(element: &KeyElement, value: &Bits, mask: &Bits) -> Result<(), Fault> {
    number(&element.name, &element.value, value).inside("value")?;
    number(&element.name, &element.value, mask).inside("mask")?;
    if mask.is_zero() {
        return Err(not_omitted(element, "a mask of 0"));
    }
    let canonical = value.and(mask);
    if canonical != *value {
        let problem = Problem::BitsBeyondMask {
            name: element.name.clone(),
            value: shown(value),
            mask: shown(mask),
            canonical: shown(&canonical),
        };
        return Err(problem.into());
    }
    Ok(())
}

fn range(element: &KeyElement, low: &Bits, high: &Bits) -> Result<(), Fault> {
    let width_bits = number(&element.name, &element.value, low).inside("low")?;
    number(&element.name, &element.value, high).inside("high")?;
    if low.cmp_unsigned(high).is_gt() {
        let (low, high) = (shown(low), shown(high));
        return Err(Problem::EmptyRange { name: element.name.clone(), low, high }.into());
    }
    if low.is_zero() && *high == Bits::ones(width_bits) {
        return Err(not_omitted(element, "the range of all values"));
    }
    Ok(())
}
