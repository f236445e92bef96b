//! Fields of the architecture's metadata.

use crate::facts::storage::Owner;
use crate::function::cx::Cx;
use crate::function::func::Func;
use crate::function::scalar::mask_text;
use crate::text::code::Code;
use arch::FieldRole;
use ir::{BlockId, Place, Program, Type};

/// The C text of a field of the architecture's metadata.
pub(crate) fn field(cx: &Cx<'_>, role: FieldRole) -> Option<(String, Type)> {
    field_at(cx, cx.program.field(role)?)
}

/// The C text of a field at a place.
pub(crate) fn field_at(cx: &Cx<'_>, place: &Place) -> Option<(String, Type)> {
    let ty = cx.program.place_type(place)?;
    let mut func = Func::new(cx, Owner::Block(first_block(cx.program)?));
    let access = func.place(place);
    access.guard.is_none().then_some((access.lvalue, ty))
}

pub(crate) fn first_block(program: &Program) -> Option<BlockId> {
    program.blocks.iter().map(|(id, _)| id).next()
}

/// Sets all fields with a meaning.
pub(crate) fn set_field(cx: &Cx<'_>, role: FieldRole, value: &str, out: &mut Code) {
    for (lvalue, ty) in cx.program.fields_of(role).filter_map(|place| field_at(cx, place)) {
        let width = ty.width_bits().unwrap_or(0);
        let text = match width {
            // The bits of a number that fit.
            1..=63 if value.parse::<u64>().is_ok() => {
                let number = value.parse::<u64>().unwrap_or_default();
                (number & (u64::MAX >> (64 - width))).to_string()
            }
            0 => continue,
            8 | 16 | 32 | 64 => format!("({})({value})", crate::text::types::int_type(width)),
            1..=63 => {
                let c = crate::text::types::int_type(crate::text::types::int_bits(width));
                let is_path = value.chars().all(|c| c.is_ascii_alphanumeric() || "_->.".contains(c));
                let operand = if is_path { value.to_string() } else { format!("({value})") };
                format!("({c})({operand} & {})", mask_text(width))
            }
            _ => value.to_string(),
        };
        out.line(format!("{lvalue} = {text};"));
    }
}

/// Sets a field that the program or, after a punt, the host may read.
pub(crate) fn set_if_read(cx: &Cx<'_>, role: FieldRole, value: &str, out: &mut Code) {
    if cx.facts.may_punt || cx.facts.is_read(role) {
        set_field(cx, role, value, out);
    }
}
