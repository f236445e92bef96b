//! Places: from a variable and a path to something that C can read and assign.

use crate::function::access::{Access, Part};
use crate::function::func::Func;
use crate::function::scalar::{Class, Scalar, container};
use crate::text::types::{Repr, repr, width_of};
use ir::{Expr, Place, Step, StructId, Type};

impl Func<'_, '_> {
    pub(crate) fn place(&mut self, place: &Place) -> Access {
        let program = self.cx.program;
        let mut lvalue = self.cx.facts.storage.path(place.var);
        let mut ty = program.variables[place.var].ty.clone();
        let mut guards: Vec<String> = Vec::new();
        let mut part = Part::Whole;
        for step in &place.path {
            match (step, &ty) {
                (Step::Field(i), Type::Struct(id)) => {
                    lvalue = format!("{lvalue}.{}", self.cx.types.field_name(*id, *i));
                }
                (Step::Element(i), _) => lvalue = format!("{lvalue}.sd_e[{i}]"),
                (Step::Index(e), Type::Stack { size, .. } | Type::Array { size, .. }) => {
                    let i = self.index(e);
                    guards.push(format!("{i} < {size}"));
                    lvalue = format!("{lvalue}.sd_e[{i}]");
                }
                (Step::Valid, _) => lvalue = format!("{lvalue}.sd_valid"),
                (Step::NextIndex, _) => lvalue = format!("{lvalue}.sd_next"),
                (Step::Slice { lo, width }, _) => part = Part::Slice { lo: *lo, width: *width },
                (Step::SliceAt { lo, width }, _) => {
                    part = Part::SliceAt { lo: self.index(lo), width: *width };
                }
                (Step::Field(_) | Step::Index(_), _) => {}
            }
            if part == Part::Whole {
                match program.step_type(&ty, step) {
                    Some(inner) => ty = inner,
                    None => break,
                }
            }
        }
        let guard = match guards.as_slice() {
            [] => None,
            [one] => Some(one.clone()),
            _ => Some(format!("({})", guards.join(" && "))),
        };
        Access { lvalue, guard, ty, part }
    }

    /// An index in a variable of its own.
    fn index(&mut self, e: &Expr) -> String {
        let amount = self.index_amount(e);
        self.bind("uint64_t", &amount)
    }

    /// Writes a single value of up to 128 bits, or a part of one.
    pub(crate) fn store(&mut self, access: &Access, value: &Scalar) {
        let of_bits = width_of(&access.ty);
        let lvalue = &access.lvalue;
        let text = match (&access.part, repr(&access.ty)) {
            (Part::Whole, _) => format!("{lvalue} = {};", self.narrowed(value, of_bits)),
            (part, Some(Repr::Int(_))) => {
                let (lo, width) = match part {
                    Part::Slice { lo, width } => (lo.to_string(), *width),
                    Part::SliceAt { lo, width } => (lo.clone(), *width),
                    Part::Whole => ("0".to_string(), of_bits),
                };
                if width == 0 {
                    return;
                }
                let bits = if of_bits <= 64 && width <= 64 { 64 } else { 128 };
                let c = container(of_bits);
                format!(
                    "{lvalue} = ({c})sd_set_slice{bits}({lvalue}, {of_bits}, {lo}, {width}, {});",
                    value.text
                )
            }
            (part, _) => {
                let (lo, width) = match part {
                    Part::Slice { lo, width } => (lo.to_string(), *width),
                    Part::SliceAt { lo, width } => (lo.clone(), *width),
                    Part::Whole => ("0".to_string(), of_bits),
                };
                let c = self.cx.types.limbs(crate::text::types::n_limbs(width));
                let t = self.temp();
                if width <= 64 {
                    self.code.line(format!("const {c} {t} = {{{{{}}}}};", value.text));
                } else {
                    let x = self.bind("sd_u128", &value.text);
                    self.code.line(format!("const {c} {t} = {{{{(uint64_t){x}, (uint64_t)({x} >> 64)}}}};"));
                }
                format!("sd_wide_set_slice({lvalue}.limb, {of_bits}, {lo}, {t}.limb, {width});")
            }
        };
        self.guarded(access, text);
    }

    /// Writes a value of more than 128 bits, or a part of one.
    pub(crate) fn store_limbs(&mut self, access: &Access, value: &str, width: u32) {
        let of_bits = width_of(&access.ty);
        let lvalue = &access.lvalue;
        let text = match &access.part {
            Part::Whole => format!("{lvalue} = {value};"),
            Part::Slice { lo, .. } => {
                format!("sd_wide_set_slice({lvalue}.limb, {of_bits}, {lo}, {value}.limb, {width});")
            }
            Part::SliceAt { lo, .. } if of_bits > 128 => {
                format!("sd_wide_set_slice({lvalue}.limb, {of_bits}, {lo}, {value}.limb, {width});")
            }
            // A slice that is wider than its value.
            Part::SliceAt { lo, .. } => {
                let c = container(of_bits);
                let low = format!("SD_U128({value}.limb[1], {value}.limb[0])");
                format!("{lvalue} = ({c})sd_set_slice128({lvalue}, {of_bits}, {lo}, 128, {low});")
            }
        };
        self.guarded(access, text);
    }

    pub(crate) fn guarded(&mut self, access: &Access, text: String) {
        match &access.guard {
            None => self.code.line(text),
            Some(guard) => {
                self.code.line(format!("if ({guard})"));
                self.code.indent();
                self.code.line(text);
                self.code.dedent();
            }
        }
    }

    /// Narrows a value for a variable of `width` bits.
    fn narrowed(&self, value: &Scalar, width: u32) -> String {
        let is_wider = match crate::text::types::int_bits(width) {
            8 | 16 => false,
            32 => value.class > Class::U32,
            64 => value.class > Class::U64,
            _ => false,
        };
        if is_wider && value.constant.is_none() {
            format!("({}){}", container(width), value.operand())
        } else {
            value.text.clone()
        }
    }

    /// Assigns a value of any type.
    pub(crate) fn assign(&mut self, place: &Place, value: &Expr) {
        let width = value.ty.width_bits();
        match width {
            Some(0) => {}
            Some(width) if width <= 128 => {
                let value = self.scalar(value);
                let access = self.place(place);
                self.store(&access, &value);
            }
            Some(width) => {
                let value = self.limbs(value);
                let access = self.place(place);
                self.store_limbs(&access, &value, width);
            }
            None => {
                let value = self.aggregate(value);
                let access = self.place(place);
                let text = format!("{} = {value};", access.lvalue);
                self.guarded(&access, text);
            }
        }
    }

    /// A header as an lvalue with its type, where the place is one.
    pub(crate) fn header(&self, access: &Access) -> Option<StructId> {
        match &access.ty {
            Type::Struct(id) => Some(*id),
            _ => None,
        }
    }
}
