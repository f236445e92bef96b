//! Sizes and fields of header types.

use ir::layout::{Leaf, leaves};
use ir::{Place, Program, Step, StructId, Type};

/// The type of the header that is extracted; for a stack, that of its elements.
pub(crate) fn header_of(program: &Program, place: &Place) -> Option<StructId> {
    match program.place_type(place)? {
        Type::Struct(id) => Some(id),
        Type::Stack { element, .. } => Some(element),
        _ => None,
    }
}

/// Bits of a header without its `varbit`.
pub(crate) fn width_bits(program: &Program, id: StructId) -> u64 {
    let leaves = ir::layout::field_leaves(program, &Type::Struct(id));
    leaves.iter().filter_map(|leaf| leaf.ty.width_bits()).map(u64::from).sum()
}

/// The `varbit` of a header, if it has one: its largest size in bits.
pub(crate) fn varbit_of(program: &Program, id: StructId) -> Option<u32> {
    leaves(program, &Type::Struct(id)).iter().find_map(|leaf| match leaf.ty {
        Type::Varbit(max) => Some(max),
        _ => None,
    })
}

/// The first field that leads to a leaf of a header.
pub(crate) fn first_field(leaf: &Leaf) -> u32 {
    match leaf.path.first() {
        Some(Step::Field(i)) => *i,
        _ => 0,
    }
}
