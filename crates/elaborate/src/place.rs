//! Places: l-values, and what expressions read.

use crate::body::Body;
use crate::names::Binding;
use check::program::{Expr as Checked, ExprKind, StackMember};
use diagnostics::Span;
use ir::types::INDEX_BITS;
use ir::{BinaryOp, Expr, Place, Step, StructKind, Type};
use num_traits::ToPrimitive;

/// How the computed indices of a place are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indices {
    /// The index expressions stay in the place: nothing is evaluated between finding the place and using it.
    AsTheyAre,
    /// The index expressions are saved in temporaries, because later code may change their operands.
    Fixed,
}

/// Something that can be assigned to.
#[derive(Clone, Debug)]
pub struct LValue {
    pub place: Place,
    pub ty: Type,
    /// A part of the bits at `place`, which itself is a slice with a computed start. Bits beyond the end of the
    /// outer slice must not be written, so the two cannot become one.
    pub within: Option<Step>,
}

impl LValue {
    pub fn whole(place: Place, ty: Type) -> LValue {
        LValue { place, ty, within: None }
    }
}

impl Body<'_, '_> {
    /// The place that an expression names. Values that have no place of their own get a temporary.
    pub fn place(&mut self, e: &Checked, indices: Indices) -> Place {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.place_inner(e, indices))
    }

    fn place_inner(&mut self, e: &Checked, indices: Indices) -> Place {
        match &e.kind {
            ExprKind::Var(var) => match self.names.lookup(*var) {
                Some(Binding::Place(place)) => place.clone(),
                Some(Binding::Value(_) | Binding::Packet) | None => self.place_of_value(e),
            },
            ExprKind::Field { base, field } => self.place(base, indices).field(*field),
            ExprKind::TupleElement { base, index } => self.place(base, indices).field(*index),
            ExprKind::Index { base, index } => {
                let before = if self.changes(index) { Indices::Fixed } else { indices };
                let base = self.place(base, before);
                let step = self.index_step(&base, index, indices);
                base.then(step)
            }
            ExprKind::Stack { base, member: member @ (StackMember::Next | StackMember::Last) } => {
                self.stack_element(base, *member, indices, e.span)
            }
            _ => self.place_of_value(e),
        }
    }

    fn place_of_value(&mut self, e: &Checked) -> Place {
        let value = self.expr(e);
        match value.kind {
            ir::ExprKind::Read(place) => place,
            _ => {
                let place = self.temporary(value.ty.clone(), e.span);
                self.assign(place.clone(), value, e.span);
                place
            }
        }
    }

    fn index_step(&mut self, base: &Place, index: &Checked, indices: Indices) -> Step {
        let size = match self.e.out.place_type(base) {
            Some(Type::Stack { size, .. } | Type::Array { size, .. }) => size,
            _ => 0,
        };
        let known = self.constant(index);
        if let Some(i) = known.as_ref().and_then(|v| v.as_int()?.to_u32())
            && i < size
        {
            return Step::Element(i);
        }
        let value = self.expr(index);
        Step::Index(Box::new(self.fix(value, indices, index.span)))
    }

    /// Saves a computed index in a temporary where `indices` asks for it.
    fn fix(&mut self, index: Expr, indices: Indices, span: Span) -> Expr {
        match indices {
            Indices::AsTheyAre => index,
            Indices::Fixed if index.as_const().is_some() => index,
            Indices::Fixed => self.save(index, span),
        }
    }

    /// The element that `stack.next` or `stack.last` names. The parser rejects where it does not exist (P4-16,
    /// "Operations on header stacks").
    fn stack_element(&mut self, base: &Checked, member: StackMember, indices: Indices, span: Span) -> Place {
        let stack = self.place(base, indices);
        let size = match self.e.out.place_type(&stack) {
            Some(Type::Stack { size, .. }) => size,
            _ => 0,
        };
        let bits = |v: u32| Expr::bit(INDEX_BITS, u128::from(v));
        let next = Expr::read(stack.next_index(), Type::Bit(INDEX_BITS));
        let (outside, index) = match member {
            StackMember::Last => (
                next.clone().equals(bits(0)),
                Expr::binary(BinaryOp::Sub, next, bits(1), Type::Bit(INDEX_BITS)),
            ),
            StackMember::Next | StackMember::LastIndex | StackMember::Size => {
                (Expr::binary(BinaryOp::Ge, next.clone(), bits(size), Type::Bool), next)
            }
        };
        let (then, otherwise) = self.branch(outside, span);
        self.continue_at(then);
        self.fail_with("StackOutOfBounds", span);
        self.continue_at(otherwise);
        let index = self.fix(index, indices, span);
        stack.then(Step::Index(Box::new(index)))
    }

    /// The l-value of an expression that is assigned to, or passed as an `out` argument.
    pub fn lvalue(&mut self, e: &Checked, indices: Indices) -> LValue {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || match &e.kind {
            ExprKind::Slice { base, hi, lo } => {
                let base = self.lvalue(base, indices);
                base.slice(*lo, hi - lo + 1)
            }
            ExprKind::PlusSlice { base, lo, width } => {
                let before = if self.changes(lo) { Indices::Fixed } else { indices };
                let base = self.lvalue(base, before);
                let known = self.constant(lo).and_then(|v| v.as_int()?.to_u32());
                let fits = |lo: u32| base.ty.width_bits().is_some_and(|w| lo.saturating_add(*width) <= w);
                match known {
                    Some(lo) if fits(lo) => base.slice(lo, *width),
                    _ => {
                        let lo = self.expr(lo);
                        let lo = self.fix(lo, indices, e.span);
                        base.slice_at(lo, *width)
                    }
                }
            }
            // These casts change nothing: they reconcile a literal's type with the parameter's.
            ExprKind::Cast { operand, .. } if operand.is_lvalue => self.lvalue(operand, indices),
            _ => {
                let place = self.place(e, indices);
                let ty = self.e.out.place_type(&place).unwrap_or(Type::Bool);
                LValue::whole(place, ty)
            }
        })
    }

    /// Reads what an l-value holds.
    pub fn read(&self, l: &LValue) -> Expr {
        let outer = |ty: &Type| match l.place.path.last() {
            Some(Step::Slice { width, .. } | Step::SliceAt { width, .. }) => Type::Bit(*width),
            _ => ty.clone(),
        };
        let whole = Expr::read(l.place.clone(), outer(&l.ty));
        match &l.within {
            None => whole,
            Some(Step::Slice { lo, width }) => {
                Expr::new(ir::ExprKind::Slice { value: Box::new(whole), lo: *lo }, Type::Bit(*width))
            }
            Some(Step::SliceAt { lo, width }) => {
                Expr::new(ir::ExprKind::SliceAt { value: Box::new(whole), lo: lo.clone() }, Type::Bit(*width))
            }
            Some(Step::Field(_) | Step::Element(_) | Step::Index(_) | Step::Valid | Step::NextIndex) => whole,
        }
    }

    /// The validity bits of the other members when a place is a member of a header union.
    pub fn siblings(&self, place: &Place) -> Vec<Place> {
        let Some((Step::Field(own), path)) = place.path.split_last() else { return Vec::new() };
        let union = Place { var: place.var, path: path.to_vec() };
        match self.e.out.place_type(&union) {
            Some(Type::Struct(id)) if self.e.out.structs[id].kind == StructKind::Union => {
                let n = self.e.out.structs[id].fields.len() as u32;
                (0..n).filter(|i| i != own).map(|i| union.field(i).valid()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Makes the other members of a header union invalid. Runs after a member was written whole, or made valid or
    /// invalid.
    pub fn clear_siblings(&mut self, place: &Place, span: Span) {
        for sibling in self.siblings(place) {
            self.assign(sibling, Expr::bool(false), span);
        }
    }
}

impl LValue {
    /// Selects bits of this l-value with a constant start. They are in range.
    fn slice(mut self, lo: u32, width: u32) -> LValue {
        self.ty = Type::Bit(width);
        let at = match self.within.as_mut() {
            Some(step) => step,
            None => match self.place.path.last_mut() {
                Some(step @ Step::Slice { .. }) => step,
                Some(Step::SliceAt { .. }) => {
                    self.within = Some(Step::Slice { lo, width });
                    return self;
                }
                _ => {
                    self.place.path.push(Step::Slice { lo, width });
                    return self;
                }
            },
        };
        *at = narrowed(at, lo, width);
        self
    }

    /// Selects bits of this l-value with a computed start.
    fn slice_at(mut self, start: Expr, width: u32) -> LValue {
        let is_slice = matches!(self.place.path.last(), Some(Step::Slice { .. } | Step::SliceAt { .. }));
        let step = match &self.within {
            // A slice of a slice of a slice: the two inner ones become one.
            Some(Step::Slice { lo, .. }) => Step::SliceAt { lo: Box::new(offset(start, *lo)), width },
            Some(Step::SliceAt { lo, .. }) => {
                let wide =
                    start.ty.width_bits().max(lo.ty.width_bits()).unwrap_or(INDEX_BITS).max(INDEX_BITS) + 1;
                let ty = Type::Bit(wide);
                let sum = Expr::binary(
                    BinaryOp::Add,
                    start.cast(ty.clone()),
                    lo.as_ref().clone().cast(ty.clone()),
                    ty,
                );
                Step::SliceAt { lo: Box::new(sum), width }
            }
            _ => Step::SliceAt { lo: Box::new(start), width },
        };
        self.ty = Type::Bit(width);
        if is_slice {
            self.within = Some(step);
        } else {
            self.place.path.push(step);
        }
        self
    }
}

/// A slice of the bits that a slice selects.
fn narrowed(step: &Step, by: u32, width: u32) -> Step {
    match step {
        Step::Slice { lo, .. } => Step::Slice { lo: lo + by, width },
        Step::SliceAt { lo, .. } => Step::SliceAt { lo: Box::new(offset((**lo).clone(), by)), width },
        other => other.clone(),
    }
}

/// `start + by` without overflow.
fn offset(start: Expr, by: u32) -> Expr {
    if by == 0 {
        return start;
    }
    let wide = start.ty.width_bits().unwrap_or(INDEX_BITS).max(INDEX_BITS) + 1;
    let start = if start.ty == Type::Bit(wide) { start } else { start.cast(Type::Bit(wide)) };
    Expr::binary(BinaryOp::Add, start, Expr::bit(wide, u128::from(by)), Type::Bit(wide))
}
