//! Values of digests from what the data plane gives: their leaves.

use control::data::{Data, HeaderData};
use control::schema::DataType;
use ir::Bits;
use smol_str::SmolStr;

/// A value of a type from its leaves in order, without validity: headers are valid. `None` if there are too few leaves, or
/// the type has no fixed leaves.
pub(crate) fn from_leaves(ty: &DataType, leaves: &mut dyn Iterator<Item = Bits>) -> Option<Data> {
    let member = |members: &[SmolStr], leaf: &Bits| members.get(leaf.to_u64()? as usize).cloned();
    Some(match ty {
        DataType::Bits { width_bits } | DataType::Int { width_bits } => {
            Data::Bits(leaves.next()?.resize(*width_bits))
        }
        DataType::Varbit { .. } => Data::Varbit(leaves.next()?),
        DataType::Bool => Data::Bool(leaves.next()?.is_true()),
        DataType::Translated { .. } => Data::Bits(leaves.next()?),
        DataType::Tuple(types) => {
            Data::Tuple(types.iter().map(|ty| from_leaves(ty, leaves)).collect::<Option<_>>()?)
        }
        DataType::Struct(of) => {
            let members = of.members.iter().map(|(_, ty)| from_leaves(ty, leaves));
            Data::Struct(members.collect::<Option<_>>()?)
        }
        DataType::Header(of) => Data::Header(HeaderData(Some(header(&of.fields, leaves)?))),
        DataType::HeaderStack { header: of, size } => {
            let headers = (0..*size).map(|_| Some(HeaderData(Some(header(&of.fields, leaves)?))));
            Data::HeaderStack(headers.collect::<Option<_>>()?)
        }
        DataType::HeaderUnion(_) | DataType::HeaderUnionStack { .. } => return None,
        DataType::Enum(of) => Data::Enum(member(&of.members, &leaves.next()?)?),
        DataType::Error(of) => Data::Error(member(&of.members, &leaves.next()?)?),
        DataType::SerializableEnum { width_bits, .. } => Data::EnumValue(leaves.next()?.resize(*width_bits)),
    })
}

fn header(fields: &[(SmolStr, DataType)], leaves: &mut dyn Iterator<Item = Bits>) -> Option<Vec<Bits>> {
    fields.iter().map(|_| leaves.next()).collect()
}
