//! Sources of keys: header fields that traffic has, too.

use super::operations::{Kind, OperationId, Operations};
use crate::traffic::{Field, Key};
use ir::lookup::get;
use ir::{Place, Program, Step, StructKind, Type};
use smol_str::SmolStr;

/// The fields from which the index of a state is computed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeySource {
    /// The fields that captures and generated traffic have.
    pub fields: Vec<Field>,
    /// Names of all fields, as the program spells them.
    pub names: Vec<SmolStr>,
    /// Names of the fields that traffic does not have. Without them, packets share state more often than in the real
    /// program.
    pub unknown: Vec<SmolStr>,
    /// True if the index is hashed: different values may share state.
    pub is_hashed: bool,
    /// True if the index is the result of a table: entries with equal data share state.
    pub is_looked_up: bool,
}

impl KeySource {
    pub fn key(&self) -> Key {
        Key::of_fields(&self.fields)
    }

    /// True if all packets use the same state.
    pub fn is_constant(&self) -> bool {
        self.names.is_empty()
    }

    /// Collects the fields that these operations depend on.
    pub(crate) fn of(
        operations: &Operations,
        known: &dyn Fn(OperationId) -> Option<Field>,
        roots: &[OperationId],
    ) -> KeySource {
        let mut source = KeySource::default();
        let mut seen = vec![false; operations.all.len()];
        let mut left = roots.to_vec();
        while let Some(id) = left.pop() {
            let (Some(operation), Some(seen @ false)) = (operations.get(id), seen.get_mut(id)) else {
                continue;
            };
            *seen = true;
            match operation.kind {
                Kind::Field => {
                    source.names.push(operation.name.clone());
                    match known(id) {
                        Some(field) => source.fields.push(field),
                        None => source.unknown.push(operation.name.clone()),
                    }
                }
                Kind::Hash => source.is_hashed = true,
                Kind::Table(_) => source.is_looked_up = true,
                _ => {}
            }
            left.extend(&operation.operands);
            left.extend(&operation.index);
        }
        for names in [&mut source.names, &mut source.unknown] {
            names.sort_unstable();
            names.dedup();
        }
        source.fields.sort_unstable();
        source.fields.dedup();
        source
    }
}

/// Returns the traffic field at a place. The layout of its header decides, not its name: a header of 160 bits with a
/// field at bits 96 to 127 is IPv4.
pub fn known_field(program: &Program, place: &Place) -> Option<Field> {
    let mut ty = get(&program.variables, place.var)?.ty.clone();
    for step in &place.path {
        if let (Step::Field(index), Type::Struct(id)) = (step, &ty) {
            let header = get(&program.structs, *id)?;
            if header.kind == StructKind::Header {
                let widths: Option<Vec<u32>> = header.fields.iter().map(|f| fixed_bits(&f.ty)).collect();
                return by_layout(&widths?, *index as usize);
            }
        }
        ty = program.step_type(&ty, step)?;
    }
    None
}

/// Returns the width in bits; 0 for types of variable width.
fn fixed_bits(ty: &Type) -> Option<u32> {
    match ty {
        Type::Varbit(_) => Some(0),
        other => other.width_bits(),
    }
}

fn by_layout(widths: &[u32], index: usize) -> Option<Field> {
    let sum = |widths: &[u32]| widths.iter().fold(0, |sum: u32, width| sum.saturating_add(*width));
    let offset = sum(widths.get(..index)?);
    let width = *widths.get(index)?;
    let total = sum(widths);
    // True if a field of this width begins at this offset.
    let has = |at: u32, wide: u32| {
        let mut offset: u32 = 0;
        widths.iter().any(|w| {
            let is_it = offset == at && *w == wide;
            offset = offset.saturating_add(*w);
            is_it
        })
    };
    let known: &[(u32, u32, Field)] = match total {
        112 if has(0, 48) && has(48, 48) => &[
            (0, 48, Field::EthernetDestination),
            (48, 48, Field::EthernetSource),
            (96, 16, Field::EtherType),
        ],
        // RFC 791; RFC 9293 has ports first.
        160 if has(96, 32) && has(128, 32) => &[
            (8, 8, Field::DifferentiatedServices),
            (72, 8, Field::Protocol),
            (96, 32, Field::Source),
            (128, 32, Field::Destination),
        ],
        320 if has(64, 128) && has(192, 128) => {
            &[(48, 8, Field::Protocol), (64, 128, Field::Source), (192, 128, Field::Destination)]
        }
        // The ports of TCP or UDP, or only what the two have in common.
        160 | 64 | 32 if has(0, 16) && has(16, 16) => {
            &[(0, 16, Field::SourcePort), (16, 16, Field::DestinationPort)]
        }
        32 if has(4, 12) => &[(4, 12, Field::Vlan)],
        _ => &[],
    };
    known.iter().find(|(at, wide, _)| *at == offset && *wide == width).map(|(_, _, field)| *field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_known_by_their_layout() {
        let ipv4 = [4, 4, 8, 16, 16, 3, 13, 8, 8, 16, 32, 32];
        let of = |index| by_layout(&ipv4, index);
        assert_eq!([of(2), of(8)], [Some(Field::DifferentiatedServices), Some(Field::Protocol)]);
        assert_eq!([of(10), of(11), of(9)], [Some(Field::Source), Some(Field::Destination), None]);
        let tcp = [16, 16, 32, 32, 4, 3, 9, 16, 16, 16];
        assert_eq!(by_layout(&tcp, 1), Some(Field::DestinationPort));
        assert_eq!(by_layout(&[16; 4], 0), Some(Field::SourcePort));
        assert_eq!(by_layout(&[48, 48, 16], 1), Some(Field::EthernetSource));
        assert_eq!(by_layout(&[4, 8, 20, 16, 8, 8, 128, 128], 7), Some(Field::Destination));
        assert_eq!(by_layout(&[3, 1, 12, 16], 2), Some(Field::Vlan));
        // A header with the length of UDP, but other fields.
        assert_eq!(by_layout(&[32, 32], 0), None);
    }
}
