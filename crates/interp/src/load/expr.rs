//! Expressions and places to code.

use super::graph::Compiler;
use super::{Element, ElementIndex, Instr, LoadError, PlaceRef, Slot, SlotRange};
use ir::{Expr, ExprKind, Place, Step, Type};
use trace::LayoutError;

/// A place, taken apart.
pub(super) struct Target {
    pub(super) at: PlaceRef,
    /// The type of the place, before a slice is taken.
    pub(super) ty: Type,
    pub(super) len: u32,
    pub(super) part: Option<Part>,
}

/// Bits of a value.
pub(super) enum Part {
    Slice { lo: u32, width: u32 },
    SliceAt { lo: Slot, width: u32 },
}

impl Compiler<'_> {
    /// Code that finds a place. Its indices are evaluated here.
    pub(super) fn target(&mut self, place: &Place) -> Result<Target, LoadError> {
        let exe = &*self.exe;
        if super::index_of(place.var) >= exe.program.variables.len() {
            return Err(LoadError::Malformed("an unknown variable"));
        }
        let mut slot = exe.variable(place.var).first;
        let mut ty = exe.program.variables[place.var].ty.clone();
        let mut indices = Vec::new();
        let mut part = None;
        for step in &place.path {
            if part.is_some() {
                return Err(LoadError::Malformed("a part of a part of a value"));
            }
            match step {
                Step::Field(_) | Step::Element(_) | Step::Valid | Step::NextIndex => {
                    let exe = &*self.exe;
                    let offset = exe.step_offset(&ty, step);
                    slot += offset.ok_or(LoadError::Malformed("a path that does not fit its variable"))?;
                    ty = self.step_type(&ty, step)?;
                }
                Step::Index(index) => {
                    let index_slot = self.expr(index, None)?;
                    let element_ty = self.step_type(&ty, step)?;
                    let stride = self.exe.layout.n_slots(&element_ty);
                    let (size, first) = match &ty {
                        Type::Stack { size, .. } => (*size, 1),
                        Type::Array { size, .. } => (*size, 0),
                        _ => return Err(LoadError::Malformed("an index into what has no elements")),
                    };
                    slot += first;
                    indices.push(ElementIndex {
                        slot: index_slot,
                        signed: index.ty.is_signed(),
                        size,
                        stride,
                    });
                    ty = element_ty;
                }
                Step::Slice { lo, width } => {
                    self.step_type(&ty, step)?;
                    part = Some(Part::Slice { lo: *lo, width: *width });
                }
                Step::SliceAt { lo, width } => {
                    self.step_type(&ty, step)?;
                    let lo = self.expr(lo, None)?;
                    part = Some(Part::SliceAt { lo, width: *width });
                }
            }
        }
        let len = self.exe.layout.n_slots(&ty);
        let at = if indices.is_empty() {
            PlaceRef::Static(slot)
        } else {
            self.exe.elements.push(Element { base: slot, len, indices: indices.into() });
            PlaceRef::Element(self.exe.elements.len() as u32 - 1)
        };
        Ok(Target { at, ty, len, part })
    }

    fn step_type(&self, ty: &Type, step: &Step) -> Result<Type, LoadError> {
        let part = self.exe.program.step_type(ty, step);
        part.ok_or(LoadError::Malformed("a path that does not fit its variable"))
    }

    /// Code that reads a place: where its value lies, which is the place itself if it can be.
    pub(super) fn read(&mut self, place: &Place, dst: Option<Slot>) -> Result<Slot, LoadError> {
        let target = self.target(place)?;
        match (target.at, &target.part, dst) {
            (PlaceRef::Static(slot), None, None) => Ok(slot),
            (_, part, _) => {
                let len = if part.is_some() { 1 } else { target.len };
                let dst = match dst {
                    Some(dst) => dst,
                    None => self.temporary(len)?,
                };
                self.fetch(&target, dst)?;
                Ok(dst)
            }
        }
    }

    /// Code that copies a place to `dst`.
    pub(super) fn fetch(&mut self, target: &Target, dst: Slot) -> Result<(), LoadError> {
        let a = match (target.at, &target.part) {
            (PlaceRef::Static(slot), None) => {
                self.copy(dst, slot, target.len);
                return Ok(());
            }
            (PlaceRef::Element(element), None) => {
                self.push(Instr::Load { dst, element });
                return Ok(());
            }
            (PlaceRef::Static(slot), Some(_)) => slot,
            (PlaceRef::Element(element), Some(_)) => {
                let whole = self.temporary(target.len)?;
                self.push(Instr::Load { dst: whole, element });
                whole
            }
        };
        match &target.part {
            Some(Part::Slice { lo, width }) => self.push(Instr::Slice { dst, a, lo: *lo, width: *width }),
            Some(Part::SliceAt { lo, width }) => {
                self.push(Instr::SliceAt { dst, a, lo: *lo, width: *width });
            }
            None => {}
        }
        Ok(())
    }

    fn or_temporary(&mut self, dst: Option<Slot>) -> Result<Slot, LoadError> {
        match dst {
            Some(dst) => Ok(dst),
            None => self.temporary(1),
        }
    }

    /// Copies a value to where it is wanted.
    fn move_to(&mut self, value: Slot, dst: Option<Slot>, len: u32) -> Result<Slot, LoadError> {
        match dst {
            Some(dst) if dst != value => {
                self.copy(dst, value, len);
                Ok(dst)
            }
            Some(_) | None => Ok(value),
        }
    }

    pub(super) fn copy(&mut self, dst: Slot, src: Slot, len: u32) {
        match len {
            0 => {}
            1 => self.push(Instr::Copy { dst, src }),
            _ => self.push(Instr::CopyRange { dst, src, len }),
        }
    }

    /// Code that computes an expression: where its value lies, which is `dst` if that is given. Nothing else is
    /// written, and `dst` last of all: it may be what the expression reads.
    pub(super) fn expr(&mut self, e: &Expr, dst: Option<Slot>) -> Result<Slot, LoadError> {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.expr_inner(e, dst))
    }

    fn expr_inner(&mut self, e: &Expr, dst: Option<Slot>) -> Result<Slot, LoadError> {
        let width = || e.ty.width_bits().ok_or(LoadError::Malformed("an operator on an aggregate"));
        match &e.kind {
            ExprKind::Const(bits) => {
                let slot = self.constant(bits)?;
                self.move_to(slot, dst, 1)
            }
            ExprKind::Read(place) => self.read(place, dst),
            ExprKind::Unary(op, a) => {
                let a = self.expr(a, None)?;
                let dst = self.or_temporary(dst)?;
                self.push(Instr::Unary { op: *op, dst, a });
                Ok(dst)
            }
            ExprKind::Binary(op, a, b) => {
                let signed = a.ty.is_signed();
                let a = self.expr(a, None)?;
                let b = self.expr(b, None)?;
                let dst = self.or_temporary(dst)?;
                self.push(Instr::Binary { op: *op, signed, dst, a, b });
                Ok(dst)
            }
            ExprKind::Mux(condition, a, b) => {
                let len = self.exe.layout.n_slots(&e.ty);
                let condition = self.expr(condition, None)?;
                let a = self.expr(a, None)?;
                let b = self.expr(b, None)?;
                let dst = match dst {
                    Some(dst) => dst,
                    None => self.temporary(len)?,
                };
                self.push(Instr::Mux { dst, condition, a, b, len });
                Ok(dst)
            }
            ExprKind::Cast(a) => {
                let width = width()?;
                let signed = a.ty.is_signed();
                let a = self.expr(a, None)?;
                let dst = self.or_temporary(dst)?;
                self.push(Instr::Cast { dst, a, width, signed });
                Ok(dst)
            }
            ExprKind::Slice { value, lo } => {
                let width = width()?;
                let a = self.expr(value, None)?;
                let dst = self.or_temporary(dst)?;
                self.push(Instr::Slice { dst, a, lo: *lo, width });
                Ok(dst)
            }
            ExprKind::SliceAt { value, lo } => {
                let width = width()?;
                let a = self.expr(value, None)?;
                let lo = self.expr(lo, None)?;
                let dst = self.or_temporary(dst)?;
                self.push(Instr::SliceAt { dst, a, lo, width });
                Ok(dst)
            }
            ExprKind::PacketLength => {
                let dst = self.or_temporary(dst)?;
                self.push(Instr::PacketLength { dst });
                Ok(dst)
            }
        }
    }

    /// Code that assigns. The value is read before anything is written.
    pub(super) fn assign(&mut self, place: &Place, value: &Expr) -> Result<(), LoadError> {
        let target = self.target(place)?;
        if let (PlaceRef::Static(dst), None) = (target.at, &target.part) {
            self.expr(value, Some(dst))?;
            return Ok(());
        }
        let value = self.expr(value, None)?;
        self.store(&target, value)
    }

    /// Code that assigns what lies in a slot to a place.
    pub(super) fn store(&mut self, target: &Target, src: Slot) -> Result<(), LoadError> {
        let whole = match (target.at, &target.part) {
            (PlaceRef::Static(dst), None) => {
                self.copy(dst, src, target.len);
                return Ok(());
            }
            (PlaceRef::Element(element), None) => {
                self.push(Instr::Store { element, src });
                return Ok(());
            }
            (PlaceRef::Static(slot), Some(_)) => slot,
            (PlaceRef::Element(element), Some(_)) => {
                let whole = self.temporary(target.len)?;
                self.push(Instr::Load { dst: whole, element });
                whole
            }
        };
        match &target.part {
            Some(Part::Slice { lo, .. }) => self.push(Instr::Insert { dst: whole, lo: *lo, src }),
            Some(Part::SliceAt { lo, .. }) => self.push(Instr::InsertAt { dst: whole, lo: *lo, src }),
            None => {}
        }
        if let PlaceRef::Element(element) = target.at {
            self.push(Instr::Store { element, src: whole });
        }
        Ok(())
    }

    /// Code that computes values into neighbouring slots.
    /// The slot that an expression does nothing but read.
    pub(super) fn source(&mut self, e: &Expr) -> Result<Option<Slot>, LoadError> {
        let ExprKind::Read(place) = &e.kind else { return Ok(None) };
        // Finding an element by its index takes code.
        if place.path.iter().any(|step| matches!(step, Step::Index(_))) {
            return Ok(None);
        }
        let target = self.target(place)?;
        Ok(match (target.at, &target.part) {
            (PlaceRef::Static(slot), None) if target.len == 1 => Some(slot),
            _ => None,
        })
    }

    pub(super) fn row(&mut self, values: &[Expr]) -> Result<SlotRange, LoadError> {
        let len = u32::try_from(values.len()).map_err(|_| LayoutError::TooLarge)?;
        let first = self.temporary(len)?;
        for (slot, value) in (first..).zip(values) {
            self.expr(value, Some(slot))?;
        }
        Ok(SlotRange { first, len })
    }
}
