//! Operators, and reading and writing elements.

use super::Frame;
use crate::load::{Element, Executable, HeaderCode, Instr, PlaceRef, Slot, SlotRange};
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
    /// Runs an instruction that does nothing but compute from slots into slots.
    #[inline(always)]
    pub(super) fn compute(&mut self, exe: &Executable, instr: &Instr, n_bytes: usize) {
        match instr {
            Instr::Copy { dst, src } => {
                let value = self.get(*src).clone();
                self.set(*dst, value);
            }
            Instr::CopyRange { dst, src, len } => self.copy(*dst, *src, *len),
            Instr::Unary { op, dst, a } => {
                let value = unary(*op, self.get(*a));
                self.set(*dst, value);
            }
            Instr::Binary { op, signed, dst, a, b } => {
                let value = binary(*op, *signed, self.get(*a), self.get(*b));
                self.set(*dst, value);
            }
            Instr::Mux { dst, condition, a, b, len } => {
                let src = if self.get(*condition).is_true() { *a } else { *b };
                self.copy(*dst, src, *len);
            }
            Instr::Cast { dst, a, width, signed } => {
                let value = cast(self.get(*a), *width, *signed);
                self.set(*dst, value);
            }
            Instr::Slice { dst, a, lo, width } => {
                let value = self.get(*a).slice(*lo, *width);
                self.set(*dst, value);
            }
            Instr::SliceAt { dst, a, lo, width } => {
                let value = self.get(*a).slice(self.get(*lo).shift_amount(), *width);
                self.set(*dst, value);
            }
            Instr::PacketLength { dst } => {
                self.set(*dst, Bits::new(32, n_bytes as u128));
            }
            Instr::Load { dst, element } => self.load(exe, *dst, &exe.elements[*element as usize]),
            Instr::Store { element, src } => {
                let element = &exe.elements[*element as usize];
                if let Some(dst) = self.element(element) {
                    self.copy(dst, *src, element.len);
                }
            }
            Instr::Insert { dst, lo, src } => {
                let value = self.get(*dst).with_slice(*lo, self.get(*src));
                self.set(*dst, value);
            }
            Instr::InsertAt { dst, lo, src } => {
                let lo = self.get(*lo).shift_amount();
                let value = self.get(*dst).with_slice(lo, self.get(*src));
                self.set(*dst, value);
            }
            Instr::ZeroIfInvalid(header) => self.zero_if_invalid(exe, &exe.headers[*header as usize]),
            Instr::Emit(_)
            | Instr::Extern(_)
            | Instr::State(_)
            | Instr::Jump(_)
            | Instr::Branch { .. }
            | Instr::Switch(_)
            | Instr::Select(_)
            | Instr::Extract(_)
            | Instr::Advance { .. }
            | Instr::Lookahead(_)
            | Instr::Lookup(_)
            | Instr::RunAction { .. }
            | Instr::Call { .. }
            | Instr::Return
            | Instr::Exit
            | Instr::Accept
            | Instr::Reject { .. } => {}
        }
    }

    /// Sets the fields of a header to zeros unless it is valid.
    fn zero_if_invalid(&mut self, exe: &Executable, header: &HeaderCode) {
        // Elements of a stack have equal initial values: those of the first stand for all.
        let (first, initial) = match header.place {
            PlaceRef::Static(slot) => (Some(slot), slot),
            PlaceRef::Element(i) => {
                let element = &exe.elements[i as usize];
                (self.element(element), element.base)
            }
        };
        if let Some(first) = first
            && !self.get(first).is_true()
        {
            let len = header.n_slots;
            let zeros = &exe.initial()[SlotRange { first: initial, len }.indices()];
            self.range_mut(SlotRange { first, len }).clone_from_slice(zeros);
        }
    }

    /// Where an element lies; `None` when an index is beyond the size.
    /// The first slot of an element; `None` when an index is beyond the size.
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
                // The initial values of the first element are zeros of the right widths.
                let first = element.base as usize;
                let zeros = exe.initial().get(first..first + element.len as usize).unwrap_or(&[]);
                self.slots[dst as usize..dst as usize + zeros.len()].clone_from_slice(zeros);
            }
        }
    }
}
