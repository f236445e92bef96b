//! Values of any type (P4Runtime, "P4Data in p4runtime.proto"). The type tells widths and signs; without one,
//! for an object that the schema does not have, numbers are as wide as they are.

use control::data::{HeaderData, HeaderUnionData};
use control::schema::{DataType, HeaderType, HeaderUnionType, ValueForm};
use control::validate::{bits_from_bytes, signed_bits_from_bytes};
use control::{Data, Fault, Problem};
use ir::Bits;
use p4info::bytes;
use p4info::proto::p4::v1 as pb;

use crate::Inside;
use crate::decode::not_set;
use crate::encode::bits;

/// Messages that nest deeper are refused; types do not.
const DEPTH_MAX: usize = 100;

pub fn decode_data(ty: Option<&DataType>, data: &pb::P4Data) -> Result<Data, Fault> {
    decode(ty, data, 0)
}

fn decode(ty: Option<&DataType>, data: &pb::P4Data, depth: usize) -> Result<Data, Fault> {
    use pb::p4_data::Data as From;
    if depth > DEPTH_MAX {
        let what = format!("a value that nests deeper than {DEPTH_MAX}");
        return Err(Problem::Unsupported { what }.into());
    }
    Ok(match data.data.as_ref().ok_or_else(|| not_set("data"))? {
        From::Bitstring(bytes) => match ty {
            Some(DataType::Translated { form: ValueForm::Text, .. }) => match std::str::from_utf8(bytes) {
                Ok(text) => Data::Text(text.into()),
                Err(_) => return Err(Problem::NotUtf8 { name: "bitstring".into() }.into()),
            },
            ty => Data::Bits(number(ty, bytes)),
        },
        From::Varbit(varbit) => Data::Varbit(decode_varbit(varbit).inside("varbit")?),
        From::Bool(value) => Data::Bool(*value),
        From::Tuple(tuple) => {
            let types = match ty {
                Some(DataType::Tuple(types)) => Some(&**types),
                _ => None,
            };
            let member = |i: usize| types.and_then(|types| types.get(i));
            Data::Tuple(members(tuple, member, depth).inside("tuple")?)
        }
        From::Struct(of) => {
            let types = match ty {
                Some(DataType::Struct(known)) => Some(&known.members),
                _ => None,
            };
            let member = |i: usize| types.and_then(|types| types.get(i)).map(|(_, ty)| ty);
            Data::Struct(members(of, member, depth).inside("struct")?)
        }
        From::Header(header) => {
            let ty = match ty {
                Some(DataType::Header(known)) => Some(&**known),
                _ => None,
            };
            Data::Header(decode_header(ty, header).inside("header")?)
        }
        From::HeaderUnion(of) => {
            let ty = match ty {
                Some(DataType::HeaderUnion(known)) => Some(&**known),
                _ => None,
            };
            Data::HeaderUnion(decode_header_union(ty, of).inside("header_union")?)
        }
        From::HeaderStack(stack) => {
            let ty = match ty {
                Some(DataType::HeaderStack { header, .. }) => Some(&**header),
                _ => None,
            };
            let entries = entries(&stack.entries, |header| decode_header(ty, header));
            Data::HeaderStack(entries.inside("header_stack")?)
        }
        From::HeaderUnionStack(stack) => {
            let ty = match ty {
                Some(DataType::HeaderUnionStack { header_union, .. }) => Some(&**header_union),
                _ => None,
            };
            let entries = entries(&stack.entries, |of| decode_header_union(ty, of));
            Data::HeaderUnionStack(entries.inside("header_union_stack")?)
        }
        From::Enum(name) => Data::Enum(name.as_str().into()),
        From::Error(name) => Data::Error(name.as_str().into()),
        From::EnumValue(bytes) => Data::EnumValue(number(ty, bytes)),
    })
}

fn number(ty: Option<&DataType>, bytes: &[u8]) -> Bits {
    match ty {
        Some(DataType::Int { width_bits }) => signed_bits_from_bytes(bytes, *width_bits),
        Some(
            DataType::Bits { width_bits }
            | DataType::SerializableEnum { width_bits, .. }
            | DataType::Translated { form: ValueForm::Bits { width_bits }, .. },
        ) => bits_from_bytes(bytes, *width_bits),
        _ => bits_from_bytes(bytes, 0),
    }
}

fn decode_varbit(varbit: &pb::P4Varbit) -> Result<Bits, Fault> {
    let negative = |_| Problem::Negative { field: "bitwidth", value: varbit.bitwidth.into() };
    let width_bits = u32::try_from(varbit.bitwidth).map_err(negative)?;
    let value = bits_from_bytes(&varbit.bitstring, width_bits);
    if value.width() > width_bits {
        let value = format!("a value of {} bits", value.width());
        return Err(Problem::TooWide { name: "bitstring".into(), value, width_bits }.into());
    }
    if value.width() < width_bits {
        return Err(Problem::EmptyValue { name: "bitstring".into() }.into());
    }
    Ok(value)
}

fn members<'t>(
    of: &pb::P4StructLike,
    ty: impl Fn(usize) -> Option<&'t DataType>,
    depth: usize,
) -> Result<Vec<Data>, Fault> {
    let member = |(i, data)| decode(ty(i), data, depth + 1).inside(format_args!("members[{i}]"));
    of.members.iter().enumerate().map(member).collect()
}

fn entries<M, T>(messages: &[M], decode: impl Fn(&M) -> Result<T, Fault>) -> Result<Vec<T>, Fault> {
    messages.iter().enumerate().map(|(i, m)| decode(m).inside(format_args!("entries[{i}]"))).collect()
}

fn decode_header(ty: Option<&HeaderType>, header: &pb::P4Header) -> Result<HeaderData, Fault> {
    if !header.is_valid {
        let found = header.bitstrings.len();
        if found > 0 {
            let of = "an invalid header".to_owned();
            return Err(Problem::DataLength { of, expected: 0, found }.into());
        }
        return Ok(HeaderData(None));
    }
    let field = |(i, bytes): (usize, &Vec<u8>)| match ty.and_then(|ty| ty.fields.get(i)) {
        // How long it is now, nobody says: as long as its bytes.
        Some((_, DataType::Varbit { .. })) => {
            Bits::from_bytes_be(u32::try_from(bytes.len() * 8).unwrap_or(u32::MAX), bytes)
        }
        field => number(field.map(|(_, ty)| ty), bytes),
    };
    Ok(HeaderData(Some(header.bitstrings.iter().enumerate().map(field).collect())))
}

fn decode_header_union(
    ty: Option<&HeaderUnionType>,
    of: &pb::P4HeaderUnion,
) -> Result<HeaderUnionData, Fault> {
    let name = of.valid_header_name.as_str();
    match &of.valid_header {
        None if name.is_empty() => Ok(HeaderUnionData(None)),
        None => Err(not_set("valid_header")),
        Some(_) if name.is_empty() => Err(not_set("valid_header_name")),
        Some(header) => {
            let member = ty.and_then(|ty| ty.members.iter().find(|(known, _)| known == name));
            let header = decode_header(member.map(|(_, ty)| &**ty), header).inside("valid_header")?;
            Ok(HeaderUnionData(Some((name.into(), header))))
        }
    }
}

/// Recursion follows the value; a value that was validated is no deeper than its type.
pub fn encode_data(ty: Option<&DataType>, data: &Data) -> pb::P4Data {
    use pb::p4_data::Data as Into;
    let data = match data {
        Data::Bits(value) => Into::Bitstring(number_bytes(ty, value)),
        Data::Varbit(value) => Into::Varbit(pb::P4Varbit {
            // No bytes would be no value, but for a varbit of no bits there are no others.
            bitstring: if value.width() == 0 { Vec::new() } else { bits(value) },
            bitwidth: i32::try_from(value.width()).unwrap_or(i32::MAX),
        }),
        Data::Bool(value) => Into::Bool(*value),
        Data::Text(text) => Into::Bitstring(text.as_bytes().to_vec()),
        Data::Tuple(values) => {
            let ty = |i: usize| match ty {
                Some(DataType::Tuple(types)) => types.get(i),
                _ => None,
            };
            Into::Tuple(struct_like(values, ty))
        }
        Data::Struct(values) => {
            let ty = |i: usize| match ty {
                Some(DataType::Struct(known)) => known.members.get(i).map(|(_, ty)| ty),
                _ => None,
            };
            Into::Struct(struct_like(values, ty))
        }
        Data::Header(value) => Into::Header(match ty {
            Some(DataType::Header(known)) => encode_header(Some(known), value),
            _ => encode_header(None, value),
        }),
        Data::HeaderUnion(value) => Into::HeaderUnion(match ty {
            Some(DataType::HeaderUnion(known)) => encode_header_union(Some(known), value),
            _ => encode_header_union(None, value),
        }),
        Data::HeaderStack(values) => {
            let ty = match ty {
                Some(DataType::HeaderStack { header, .. }) => Some(&**header),
                _ => None,
            };
            let entries = values.iter().map(|value| encode_header(ty, value)).collect();
            Into::HeaderStack(pb::P4HeaderStack { entries })
        }
        Data::HeaderUnionStack(values) => {
            let ty = match ty {
                Some(DataType::HeaderUnionStack { header_union, .. }) => Some(&**header_union),
                _ => None,
            };
            let entries = values.iter().map(|value| encode_header_union(ty, value)).collect();
            Into::HeaderUnionStack(pb::P4HeaderUnionStack { entries })
        }
        Data::Enum(name) => Into::Enum(name.to_string()),
        Data::Error(name) => Into::Error(name.to_string()),
        Data::EnumValue(value) => Into::EnumValue(bits(value)),
    };
    pb::P4Data { data: Some(data) }
}

fn number_bytes(ty: Option<&DataType>, value: &Bits) -> Vec<u8> {
    match ty {
        Some(DataType::Int { .. }) => bytes::canonical_signed(&value.to_signed()),
        _ => bits(value),
    }
}

fn struct_like<'t>(values: &[Data], ty: impl Fn(usize) -> Option<&'t DataType>) -> pb::P4StructLike {
    let members = values.iter().enumerate().map(|(i, value)| encode_data(ty(i), value)).collect();
    pb::P4StructLike { members }
}

fn encode_header(ty: Option<&HeaderType>, value: &HeaderData) -> pb::P4Header {
    let Some(fields) = &value.0 else { return pb::P4Header::default() };
    let field = |(i, value): (usize, &Bits)| match ty.and_then(|ty| ty.fields.get(i)) {
        Some((_, DataType::Varbit { .. })) => value.to_bytes_be(),
        field => number_bytes(field.map(|(_, ty)| ty), value),
    };
    pb::P4Header { is_valid: true, bitstrings: fields.iter().enumerate().map(field).collect() }
}

fn encode_header_union(ty: Option<&HeaderUnionType>, value: &HeaderUnionData) -> pb::P4HeaderUnion {
    let Some((name, header)) = &value.0 else { return pb::P4HeaderUnion::default() };
    let member = ty.and_then(|ty| ty.members.iter().find(|(known, _)| known == name));
    pb::P4HeaderUnion {
        valid_header_name: name.to_string(),
        valid_header: Some(encode_header(member.map(|(_, ty)| &**ty), header)),
    }
}
