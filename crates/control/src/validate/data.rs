//! Values of registers against their types (P4Runtime, "P4Data").

use ir::Bits;
use smol_str::SmolStr;

use super::values::{signed_width, width};
use crate::data::{Data, HeaderData, HeaderUnionData};
use crate::fault::{Fault, Inside, Problem};
use crate::schema::{DataType, EnumType, HeaderType, HeaderUnionType, ValueForm};

/// Checks a value against its type. The recursion follows the type, whose depth is bounded.
pub(super) fn data(name: &str, ty: &DataType, found: &Data) -> Result<(), Fault> {
    match (ty, found) {
        (DataType::Bits { width_bits }, Data::Bits(bits)) => {
            width(name, *width_bits, bits).inside("bitstring")
        }
        (DataType::Int { width_bits }, Data::Bits(bits)) => {
            signed_width(name, *width_bits, bits).inside("bitstring")
        }
        (DataType::Translated { form: ValueForm::Bits { width_bits }, .. }, Data::Bits(bits)) => {
            width(name, *width_bits, bits).inside("bitstring")
        }
        (DataType::SerializableEnum { width_bits, .. }, Data::EnumValue(bits)) => {
            width(name, *width_bits, bits).inside("enum_value")
        }
        (DataType::Varbit { width_bits_max }, Data::Varbit(bits)) => varbit(name, *width_bits_max, bits),
        (DataType::Bool, Data::Bool(_)) => Ok(()),
        (DataType::Translated { form: ValueForm::Text, .. }, Data::Text(_)) => Ok(()),
        (DataType::Tuple(types), Data::Tuple(values)) => {
            let members = types.iter().map(|ty| (name, ty));
            all(|| ty.name(), members, values).inside("tuple")
        }
        (DataType::Struct(of), Data::Struct(values)) => {
            let members = of.members.iter().map(|(name, ty)| (name.as_str(), ty));
            all(|| ty.name(), members, values).inside("struct")
        }
        (DataType::Header(of), Data::Header(value)) => header(of, value).inside("header"),
        (DataType::HeaderUnion(of), Data::HeaderUnion(value)) => {
            header_union(of, value).inside("header_union")
        }
        (DataType::HeaderStack { header: of, size }, Data::HeaderStack(values)) => {
            stack(|| ty.name(), *size, values, |value| header(of, value)).inside("header_stack")
        }
        (DataType::HeaderUnionStack { header_union: of, size }, Data::HeaderUnionStack(values)) => {
            stack(|| ty.name(), *size, values, |value| header_union(of, value)).inside("header_union_stack")
        }
        (DataType::Enum(of), Data::Enum(member)) => enum_member(|| ty.name(), of, member).inside("enum"),
        (DataType::Error(of), Data::Error(member)) => enum_member(|| ty.name(), of, member).inside("error"),
        (
            DataType::Bits { .. }
            | DataType::Int { .. }
            | DataType::Varbit { .. }
            | DataType::Bool
            | DataType::Translated { .. }
            | DataType::Tuple(_)
            | DataType::Struct(_)
            | DataType::Header(_)
            | DataType::HeaderUnion(_)
            | DataType::HeaderStack { .. }
            | DataType::HeaderUnionStack { .. }
            | DataType::Enum(_)
            | DataType::Error(_)
            | DataType::SerializableEnum { .. },
            found,
        ) => Err(Problem::DataType { expected: ty.name(), found: kind_name(found) }.into()),
    }
}

fn kind_name(data: &Data) -> &'static str {
    match data {
        Data::Bits(_) => "a number",
        Data::Varbit(_) => "a varbit",
        Data::Bool(_) => "a bool",
        Data::Text(_) => "a string",
        Data::Tuple(_) => "a tuple",
        Data::Struct(_) => "a struct",
        Data::Header(_) => "a header",
        Data::HeaderUnion(_) => "a header union",
        Data::HeaderStack(_) => "a header stack",
        Data::HeaderUnionStack(_) => "a stack of header unions",
        Data::Enum(_) => "a member of an enum",
        Data::Error(_) => "a member of error",
        Data::EnumValue(_) => "the number of a member of an enum",
    }
}

fn length(of: impl FnOnce() -> String, expected: usize, found: usize) -> Result<(), Fault> {
    if expected == found { Ok(()) } else { Err(Problem::DataLength { of: of(), expected, found }.into()) }
}

fn all<'t>(
    of: impl FnOnce() -> String,
    members: impl ExactSizeIterator<Item = (&'t str, &'t DataType)>,
    values: &[Data],
) -> Result<(), Fault> {
    length(of, members.len(), values.len())?;
    for (i, ((name, ty), value)) in members.zip(values).enumerate() {
        data(name, ty, value).map_err(|fault| fault.inside(format_args!("members[{i}]")))?;
    }
    Ok(())
}

fn varbit(name: &str, width_bits_max: u32, bits: &Bits) -> Result<(), Fault> {
    if bits.width() <= width_bits_max {
        return Ok(());
    }
    let value = format!("a value of {} bits", bits.width());
    Err(Problem::TooWide { name: name.into(), value, width_bits: width_bits_max }.into())
}

fn header(of: &HeaderType, value: &HeaderData) -> Result<(), Fault> {
    let Some(fields) = &value.0 else { return Ok(()) };
    length(|| format!("header {}", of.name), of.fields.len(), fields.len())?;
    for (i, ((name, ty), bits)) in of.fields.iter().zip(fields).enumerate() {
        let fits = match ty {
            DataType::Varbit { width_bits_max } => varbit(name, *width_bits_max, bits),
            DataType::Bits { width_bits } => width(name, *width_bits, bits),
            DataType::Int { width_bits } => signed_width(name, *width_bits, bits),
            _ => Ok(()),
        };
        fits.map_err(|fault| fault.inside(format_args!("bitstrings[{i}]")))?;
    }
    Ok(())
}

fn header_union(of: &HeaderUnionType, value: &HeaderUnionData) -> Result<(), Fault> {
    let Some((name, value)) = &value.0 else { return Ok(()) };
    match of.members.iter().find(|(known, _)| known == name) {
        Some((_, member)) => header(member, value).inside("valid_header"),
        None => {
            let of_name = format!("header_union {}", of.name);
            let members = of.members.iter().map(|(name, _)| name.as_str());
            Err(unknown_member(of_name, name, members).inside("valid_header_name"))
        }
    }
}

fn stack<T>(
    of: impl FnOnce() -> String,
    size: u32,
    values: &[T],
    check: impl Fn(&T) -> Result<(), Fault>,
) -> Result<(), Fault> {
    length(of, size as usize, values.len())?;
    for (i, value) in values.iter().enumerate() {
        check(value).map_err(|fault| fault.inside(format_args!("entries[{i}]")))?;
    }
    Ok(())
}

fn enum_member(of_name: impl FnOnce() -> String, of: &EnumType, member: &SmolStr) -> Result<(), Fault> {
    if of.members.contains(member) {
        return Ok(());
    }
    Err(unknown_member(of_name(), member, of.members.iter().map(SmolStr::as_str)))
}

fn unknown_member<'t>(of: String, name: &SmolStr, members: impl Iterator<Item = &'t str>) -> Fault {
    let suggestion = diagnostics::suggest::closest(name, members).map(SmolStr::new);
    Problem::UnknownMember { of, name: name.clone(), suggestion }.into()
}
