//! Operators, and reading and writing elements.

use super::Frame;
use crate::load::{Element, Executable, PlaceRef, Slot};
use ir::{BinaryOp, Bits, UnaryOp};
use std::cmp::Ordering;

pub(super) fn unary(op: UnaryOp, a: &Bits) -> Bits {
    match op {
        UnaryOp::Not | UnaryOp::Complement => a.not(),
        UnaryOp::Negate => a.neg(),
    }
}

pub(super) fn binary(op: BinaryOp, signed: bool, a: &Bits, b: &Bits) -> Bits {
    let order = || if signed { a.cmp_signed(b) } else { a.cmp_unsigned(b) };
    match op {
        BinaryOp::Add => a.add(b),
        BinaryOp::Sub => a.sub(b),
        BinaryOp::Mul => a.mul(b),
        BinaryOp::Div => a.div(b),
        BinaryOp::Mod => a.rem(b),
        BinaryOp::SatAdd => a.sat_add(b, signed),
        BinaryOp::SatSub => a.sat_sub(b, signed),
        BinaryOp::BitAnd | BinaryOp::And => a.and(b),
        BinaryOp::BitOr | BinaryOp::Or => a.or(b),
        BinaryOp::BitXor => a.xor(b),
        BinaryOp::Shl => a.shl(b.shift_amount()),
        BinaryOp::Shr if signed => a.sar(b.shift_amount()),
        BinaryOp::Shr => a.shr(b.shift_amount()),
        BinaryOp::Eq => Bits::bool(a == b),
        BinaryOp::Ne => Bits::bool(a != b),
        BinaryOp::Lt => Bits::bool(order() == Ordering::Less),
        BinaryOp::Le => Bits::bool(order() != Ordering::Greater),
        BinaryOp::Gt => Bits::bool(order() == Ordering::Greater),
        BinaryOp::Ge => Bits::bool(order() != Ordering::Less),
        BinaryOp::Concat => a.concat(b),
    }
}

pub(super) fn cast(a: &Bits, width: u32, signed: bool) -> Bits {
    match a.width() == width {
        true => a.clone(),
        false if signed => a.sign_extend(width),
        false => a.resize(width),
    }
}

impl Frame {
    /// Where an element lies; `None` when an index is beyond the size.
    pub(super) fn element(&self, element: &Element) -> Option<Slot> {
        let mut slot = element.base;
        for index in &element.indices {
            let value = self.get(index.slot);
            if index.signed && value.is_negative() {
                return None;
            }
            let i = value.to_u64().filter(|i| *i < u64::from(index.size))?;
            slot += i as u32 * index.stride;
        }
        Some(slot)
    }

    pub(super) fn find(&self, exe: &Executable, place: PlaceRef) -> Option<Slot> {
        match place {
            PlaceRef::Static(slot) => Some(slot),
            PlaceRef::Element(i) => self.element(&exe.elements[i as usize]),
        }
    }

    pub(super) fn copy(&mut self, dst: Slot, src: Slot, len: u32) {
        for i in 0..len {
            self.slots[(dst + i) as usize] = self.slots[(src + i) as usize].clone();
        }
    }

    /// An element that does not exist reads as zeros.
    pub(super) fn load(&mut self, exe: &Executable, dst: Slot, element: &Element) {
        match self.element(element) {
            Some(src) => self.copy(dst, src, element.len),
            None => {
                // What the first element holds when a packet arrives: zeros of the right widths.
                let first = element.base as usize;
                let zeros = exe.initial().get(first..first + element.len as usize).unwrap_or(&[]);
                self.slots[dst as usize..dst as usize + zeros.len()].clone_from_slice(zeros);
            }
        }
    }
}
