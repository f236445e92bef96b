//! Operators on values: arithmetic, shifts, comparisons, equality of aggregates.

use crate::assign::resized;
use crate::body::Body;
use crate::values::UNROLLED_MAX;
use check::program::BinaryOp;
use diagnostics::Span;
use ir::types::INDEX_BITS;
use ir::{BinaryOp as Op, Expr, ExprKind, Place, Step, StructKind, Type};

impl Body<'_, '_> {
    /// The value of a binary operator that is neither lazy nor a test for equality.
    pub fn operation(&mut self, op: BinaryOp, l: Expr, r: Expr, ty: &Type, span: Span) -> Expr {
        let arithmetic = |body: &mut Self, op: Op, l: Expr, r: Expr| {
            let (l, r) = (body.fit(l, ty, span), body.fit(r, ty, span));
            Expr::binary(op, l, r, ty.clone())
        };
        let relation = |body: &mut Self, op: Op, l: Expr, r: Expr| {
            let (l, r) = body.alike(l, r, span);
            Expr::binary(op, l, r, Type::Bool)
        };
        match op {
            BinaryOp::Add => arithmetic(self, Op::Add, l, r),
            BinaryOp::Sub => arithmetic(self, Op::Sub, l, r),
            BinaryOp::Mul => arithmetic(self, Op::Mul, l, r),
            BinaryOp::Div => arithmetic(self, Op::Div, l, r),
            BinaryOp::Mod => arithmetic(self, Op::Mod, l, r),
            BinaryOp::AddSat => arithmetic(self, Op::SatAdd, l, r),
            BinaryOp::SubSat => arithmetic(self, Op::SatSub, l, r),
            BinaryOp::BitAnd => arithmetic(self, Op::BitAnd, l, r),
            BinaryOp::BitOr => arithmetic(self, Op::BitOr, l, r),
            BinaryOp::BitXor => arithmetic(self, Op::BitXor, l, r),
            BinaryOp::Shl => self.shift(Op::Shl, l, r, ty, span),
            BinaryOp::Shr => self.shift(Op::Shr, l, r, ty, span),
            BinaryOp::Lt => relation(self, Op::Lt, l, r),
            BinaryOp::Le => relation(self, Op::Le, l, r),
            BinaryOp::Gt => relation(self, Op::Gt, l, r),
            BinaryOp::Ge => relation(self, Op::Ge, l, r),
            BinaryOp::Concat => Expr::binary(Op::Concat, l, r, ty.clone()),
            BinaryOp::And => l.and(r),
            BinaryOp::Or => l.or(r),
            BinaryOp::Eq => self.equality(l, r, span),
            BinaryOp::Ne => crate::expr::not(self.equality(l, r, span)),
            // Sets are no values.
            BinaryOp::Mask | BinaryOp::Range => l,
        }
    }

    /// The amount of a shift is unsigned; a signed one is a constant that is not negative.
    fn shift(&mut self, op: Op, l: Expr, r: Expr, ty: &Type, span: Span) -> Expr {
        let l = self.fit(l, ty, span);
        let r = match (&r.ty, r.as_const()) {
            (Type::Bit(_), _) => r,
            (_, Some(bits)) => Expr::new(ExprKind::Const(bits.clone()), Type::Bit(bits.width())),
            (_, None) => {
                let width = r.ty.width_bits().unwrap_or(INDEX_BITS);
                r.cast(Type::Bit(width))
            }
        };
        Expr::binary(op, l, r, ty.clone())
    }

    /// Two operands of one type; a constant without width takes that of the other side.
    fn alike(&mut self, l: Expr, r: Expr, span: Span) -> (Expr, Expr) {
        if l.ty == r.ty {
            return (l, r);
        }
        match (l.as_const(), r.as_const()) {
            (Some(a), Some(b)) => {
                let width = a.width().max(b.width()) + 1;
                let constant = |e: &Expr, bits| {
                    Expr::new(ExprKind::Const(resized(bits, e.ty.is_signed(), width)), Type::Int(width))
                };
                (constant(&l, a), constant(&r, b))
            }
            (Some(_), None) => {
                let ty = r.ty.clone();
                (self.fit(l, &ty, span), r)
            }
            _ => {
                let ty = l.ty.clone();
                let r = self.fit(r, &ty, span);
                (l, r)
            }
        }
    }

    /// `==` (P4-16: headers are equal when both are invalid, or both valid with equal fields; stacks element by
    /// element, independent of their next index).
    pub fn equality(&mut self, l: Expr, r: Expr, span: Span) -> Expr {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.equality_inner(l, r, span))
    }

    fn equality_inner(&mut self, l: Expr, r: Expr, span: Span) -> Expr {
        match (&l.kind, &r.kind) {
            (ExprKind::Read(a), ExprKind::Read(b)) if l.ty.width_bits().is_none() => {
                let (a, b, lt, rt) = (a.clone(), b.clone(), l.ty.clone(), r.ty.clone());
                self.aggregates_equal(&a, &lt, &b, &rt, span)
            }
            _ => {
                let (l, r) = self.alike(l, r, span);
                l.equals(r)
            }
        }
    }

    fn aggregates_equal(&mut self, a: &Place, a_ty: &Type, b: &Place, b_ty: &Type, span: Span) -> Expr {
        match (a_ty, b_ty) {
            (Type::Struct(x), Type::Struct(y)) => {
                let kind = self.e.out.structs[*x].kind;
                let (xs, ys) = (self.field_types(*x), self.field_types(*y));
                let mut fields = Vec::with_capacity(xs.len());
                if self.e.is_full(xs.len() as u64, span) {
                    return Expr::bool(false);
                }
                for (i, (x, y)) in xs.into_iter().zip(ys).enumerate() {
                    let (l, r) = (Expr::read(a.field(i as u32), x), Expr::read(b.field(i as u32), y));
                    fields.push(self.equality(l, r, span));
                }
                let fields = all(fields);
                match kind {
                    // Members of a union are headers: those that are not valid are equal.
                    StructKind::Struct | StructKind::Union => fields,
                    StructKind::Header => {
                        let valid = |place: &Place| Expr::read(place.valid(), Type::Bool);
                        let neither = valid(a).negated().and(valid(b).negated());
                        neither.or(valid(a).and(valid(b)).and(fields))
                    }
                }
            }
            (Type::Stack { element: x, size: m }, Type::Stack { element: y, size: n }) => {
                self.elements_equal((a, &Type::Struct(*x)), (b, &Type::Struct(*y)), *m.min(n), span)
            }
            (Type::Array { element: x, size: m }, Type::Array { element: y, size: n }) => {
                self.elements_equal((a, x), (b, y), *m.min(n), span)
            }
            _ => Expr::read(a.clone(), a_ty.clone()).equals(Expr::read(b.clone(), b_ty.clone())),
        }
    }

    fn elements_equal(&mut self, a: (&Place, &Type), b: (&Place, &Type), size: u32, span: Span) -> Expr {
        let pair = |step: Step| {
            let l = Expr::read(a.0.then(step.clone()), a.1.clone());
            (l, Expr::read(b.0.then(step), b.1.clone()))
        };
        if size <= UNROLLED_MAX {
            let equal = (0..size).map(|i| {
                let (l, r) = pair(Step::Element(i));
                self.equality(l, r, span)
            });
            let equal: Vec<Expr> = equal.collect();
            return all(equal);
        }
        let result = self.temporary(Type::Bool, span);
        self.assign(result.clone(), Expr::bool(true), span);
        let so_far = Expr::read(result.clone(), Type::Bool);
        self.for_each_element(size, span, &mut |body, step| {
            let (l, r) = pair(step);
            let equal = body.equality(l, r, span);
            body.assign(result.clone(), so_far.clone().and(equal), span);
        });
        so_far
    }
}

/// The conjunction of the conditions, as a balanced tree.
fn all(mut conditions: Vec<Expr>) -> Expr {
    while conditions.len() > 1 {
        let mut next = Vec::with_capacity(conditions.len().div_ceil(2));
        let mut items = conditions.into_iter();
        while let Some(a) = items.next() {
            next.push(match items.next() {
                Some(b) => a.and(b),
                None => a,
            });
        }
        conditions = next;
    }
    conditions.pop().unwrap_or_else(|| Expr::bool(true))
}
