//! Compile-time values, default values and invalid headers: as constants, and assigned to places.

use crate::body::Body;
use crate::elaborator::{Elaborator, Size};
use crate::names::{Binding, Names};
use check::fold::{self, IntShape};
use check::program::{BinaryOp, Expr as Checked, ExprKind, UnaryOp};
use check::types::{Ty, TyKind};
use check::value::Value;
use diagnostics::Span;
use ir::types::INDEX_BITS;
use ir::{Bits, Expr, Place, Step, StmtKind, StructKind, Type};
use num_bigint::{BigInt, Sign};

/// A place with more headers than this is made invalid by copying a variable that is never written.
const HEADERS_MAX: u64 = 64;

/// Largest number of steps that are written out one by one; beyond it there is a loop.
pub const UNROLLED_MAX: u32 = 64;

impl Elaborator<'_> {
    /// A value of a type with a width as its bits.
    pub fn scalar(&self, value: &Value, ty: &Type) -> Option<Bits> {
        let width = ty.width_bits()?;
        Some(match value {
            Value::Int(v) => Bits::from_bigint(width, v),
            Value::Bool(b) => Bits::new(width, u128::from(*b)),
            Value::Error(i) => {
                Bits::new(width, u128::from(self.errors.get(*i as usize).copied().unwrap_or(*i)))
            }
            Value::EnumMember(_, i) | Value::MatchKind(i) => Bits::new(width, u128::from(*i)),
            Value::Str(_) | Value::Aggregate(_) | Value::Header { .. } | Value::Object(_) => return None,
        })
    }

    /// The leaves of a value in order, validity bits left out; `None` when it does not fit the type.
    pub fn leaves(&self, value: &Value, ty: &Type) -> Option<Vec<Bits>> {
        let mut leaves = Vec::new();
        self.push_leaves(value, ty, &mut leaves)?;
        Some(leaves)
    }

    fn push_leaves(&self, value: &Value, ty: &Type, leaves: &mut Vec<Bits>) -> Option<()> {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || match (value, ty) {
            (Value::Aggregate(items) | Value::Header { fields: items, .. }, Type::Struct(id)) => {
                let fields = &self.out.structs[*id].fields;
                (items.len() == fields.len()).then_some(())?;
                items.iter().zip(fields).try_for_each(|(v, f)| self.push_leaves(v, &f.ty, leaves))
            }
            (Value::Aggregate(items), Type::Stack { element, .. }) => {
                items.iter().try_for_each(|v| self.push_leaves(v, &Type::Struct(*element), leaves))
            }
            (Value::Aggregate(items), Type::Array { element, .. }) => {
                items.iter().try_for_each(|v| self.push_leaves(v, element, leaves))
            }
            (value, ty) => {
                leaves.push(self.scalar(value, ty)?);
                Some(())
            }
        })
    }

    /// A constant of a type with a width. A value of type `int`, which has no width, becomes as wide as it needs to be.
    pub fn const_expr(&self, value: &Value, ty: &Type, is_unbounded: bool) -> Option<Expr> {
        if let (true, Value::Int(v)) = (is_unbounded, value) {
            return Some(int_const(v));
        }
        Some(Expr::new(ir::ExprKind::Const(self.scalar(value, ty)?), ty.clone()))
    }

    /// The value of an expression that is known before packets arrive.
    pub fn constant(&self, e: &Checked, names: &Names) -> Option<Value> {
        if let Some(v) = &e.value {
            return Some((**v).clone());
        }
        if !e.is_compile_time {
            return None;
        }
        self.p
            .eval(e, names.object)
            .or_else(|| stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.constant_in_function(e, names)))
    }

    /// Expressions over the compile-time parameters of a function, which are arguments of a call.
    fn constant_in_function(&self, e: &Checked, names: &Names) -> Option<Value> {
        match &e.kind {
            ExprKind::Var(v) => match names.lookup(*v)? {
                Binding::Value(value) => Some(value.clone()),
                Binding::Place(_) | Binding::Packet => None,
            },
            ExprKind::Unary { op, operand } => {
                let v = self.constant(operand, names)?;
                let wrap = |i: BigInt| Some(Value::Int(fold::wrap(&i, self.shape(e.ty)?)));
                match op {
                    UnaryOp::Not => Some(Value::Bool(!v.as_bool()?)),
                    UnaryOp::Complement => wrap(!(v.as_int()?.clone())),
                    UnaryOp::Neg => wrap(-(v.as_int()?.clone())),
                    UnaryOp::Plus => Some(v),
                }
            }
            ExprKind::Binary { op, lhs, rhs } => {
                let (l, r) = (self.constant(lhs, names)?, self.constant(rhs, names)?);
                if let (Some(a), Some(b)) = (l.as_bool(), r.as_bool()) {
                    return Some(Value::Bool(match op {
                        BinaryOp::And => a && b,
                        BinaryOp::Or => a || b,
                        BinaryOp::Eq => a == b,
                        BinaryOp::Ne => a != b,
                        _ => return None,
                    }));
                }
                match op {
                    BinaryOp::Eq => return Some(Value::Bool(l == r)),
                    BinaryOp::Ne => return Some(Value::Bool(l != r)),
                    _ => {}
                }
                let (a, b) = (l.as_int()?, r.as_int()?);
                Some(match op {
                    BinaryOp::Lt => Value::Bool(a < b),
                    BinaryOp::Le => Value::Bool(a <= b),
                    BinaryOp::Gt => Value::Bool(a > b),
                    BinaryOp::Ge => Value::Bool(a >= b),
                    _ => Value::Int(fold::binary(*op, a, b, self.shape(lhs.ty)?).ok()?),
                })
            }
            ExprKind::Conditional { condition, then, otherwise } => {
                let taken = if self.constant(condition, names)?.as_bool()? { then } else { otherwise };
                self.constant(taken, names)
            }
            ExprKind::Cast { operand, .. } => match self.constant(operand, names)? {
                Value::Int(i) if self.types.kind(e.ty) == &TyKind::Bool => {
                    Some(Value::Bool(i.sign() != Sign::NoSign))
                }
                Value::Int(i) => Some(Value::Int(fold::wrap(&i, self.shape(e.ty)?))),
                Value::Bool(b) if self.types.kind(e.ty) != &TyKind::Bool => {
                    Some(Value::Int(BigInt::from(u8::from(b))))
                }
                other => Some(other),
            },
            _ => None,
        }
    }

    fn shape(&self, ty: Ty) -> Option<IntShape> {
        match self.types.kind(ty) {
            TyKind::Bit(w) => Some(IntShape::Unsigned(*w)),
            TyKind::Signed(w) => Some(IntShape::Signed(*w)),
            TyKind::Int => Some(IntShape::Unbounded),
            TyKind::Newtype(id) => self.shape(self.p.newtypes[*id].underlying),
            TyKind::Enum(id) => self.shape(self.p.enums[*id].underlying?),
            _ => None,
        }
    }

    /// The number of leaves and of headers in a value of the type.
    pub fn size(&self, ty: &Type) -> Size {
        match ty {
            Type::Bool | Type::Bit(_) | Type::Int(_) | Type::Varbit(_) | Type::Error | Type::Enum(_) => {
                Size { n_leaves: 1, n_headers: 0 }
            }
            Type::Struct(id) => {
                let index = id.into_raw().into_u32() as usize;
                self.sizes.get(index).copied().unwrap_or_default()
            }
            Type::Stack { element, size } => {
                let one = self.size(&Type::Struct(*element));
                let times = |n: u64| n.saturating_mul(u64::from(*size)).saturating_add(1);
                Size { n_leaves: times(one.n_leaves), n_headers: times(one.n_headers) }
            }
            Type::Array { element, size } => {
                let one = stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.size(element));
                let times = |n: u64| n.saturating_mul(u64::from(*size));
                Size { n_leaves: times(one.n_leaves), n_headers: times(one.n_headers) }
            }
        }
    }

    /// The size of a struct with these fields.
    pub fn size_of_fields(&self, kind: StructKind, fields: &[ir::Field]) -> Size {
        let own = u64::from(kind == StructKind::Header);
        fields.iter().fold(Size { n_leaves: own, n_headers: own }, |sum, field| {
            let size = self.size(&field.ty);
            Size {
                n_leaves: sum.n_leaves.saturating_add(size.n_leaves),
                n_headers: sum.n_headers.saturating_add(size.n_headers),
            }
        })
    }

    /// Smallest or largest size in bits (P4-16, "minSizeInBits"); a union takes its largest member either way.
    pub fn size_bits(&self, ty: &Type, max: bool) -> u64 {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || match ty {
            Type::Varbit(w) => {
                if max {
                    u64::from(*w)
                } else {
                    0
                }
            }
            Type::Bool | Type::Bit(_) | Type::Int(_) | Type::Error | Type::Enum(_) => {
                u64::from(ty.width_bits().unwrap_or(0))
            }
            Type::Struct(id) => {
                let def = &self.out.structs[*id];
                let sizes = def.fields.iter().map(|f| self.size_bits(&f.ty, max));
                match def.kind {
                    StructKind::Union => sizes.max().unwrap_or(0),
                    StructKind::Struct | StructKind::Header => sizes.fold(0, u64::saturating_add),
                }
            }
            Type::Stack { element, size } => {
                self.size_bits(&Type::Struct(*element), max).saturating_mul(u64::from(*size))
            }
            Type::Array { element, size } => self.size_bits(element, max).saturating_mul(u64::from(*size)),
        })
    }
}

/// Converts an integer without width to a constant of as many bits as it needs, at least 32. A negative integer becomes
/// signed.
pub fn int_const(v: &BigInt) -> Expr {
    let needed = u32::try_from(v.bits()).unwrap_or(u32::MAX - 1) + u32::from(v.sign() == Sign::Minus);
    let width = needed.max(INDEX_BITS);
    let ty = if v.sign() == Sign::Minus { Type::Int(width) } else { Type::Bit(width) };
    Expr::new(ir::ExprKind::Const(Bits::from_bigint(width, v)), ty)
}

impl Body<'_, '_> {
    pub fn constant(&self, e: &Checked) -> Option<Value> {
        self.e.constant(e, &self.names)
    }

    /// Assigns a compile-time value.
    pub fn assign_value(&mut self, place: &Place, ty: &Type, value: &Value, span: Span) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || match (value, ty) {
            (Value::Header { valid: false, .. }, _) => self.assign_default(place, ty, span),
            (Value::Aggregate(items) | Value::Header { fields: items, .. }, Type::Struct(id)) => {
                let (kind, fields) = {
                    let def = &self.e.out.structs[*id];
                    (def.kind, def.fields.iter().map(|f| f.ty.clone()).collect::<Vec<Type>>())
                };
                for (i, (item, ty)) in items.iter().zip(&fields).enumerate() {
                    self.assign_value(&place.field(i as u32), ty, item, span);
                }
                if kind == StructKind::Header {
                    self.set_validity(place, true, span);
                }
            }
            (Value::Aggregate(items), Type::Stack { element, size }) => {
                for (i, item) in items.iter().take(*size as usize).enumerate() {
                    self.assign_value(&place.element(i as u32), &Type::Struct(*element), item, span);
                }
                self.assign(place.next_index(), Expr::bit(INDEX_BITS, 0), span);
            }
            (Value::Aggregate(items), Type::Array { element, size }) => {
                for (i, item) in items.iter().take(*size as usize).enumerate() {
                    self.assign_value(&place.element(i as u32), element, item, span);
                }
            }
            (value, ty) => {
                if let Some(bits) = self.e.scalar(value, ty) {
                    let value = Expr::new(ir::ExprKind::Const(bits), ty.clone());
                    self.assign(place.clone(), value, span);
                }
            }
        })
    }

    /// Assigns the default value of the type (P4-16, "Default values"): zeros and invalid headers.
    pub fn assign_default(&mut self, place: &Place, ty: &Type, span: Span) {
        if self.e.size(ty).n_leaves > u64::from(UNROLLED_MAX) {
            let zero = self.zero(ty, span);
            self.assign(place.clone(), zero, span);
        } else {
            self.assign_zeros(place, ty, span);
        }
    }

    fn assign_zeros(&mut self, place: &Place, ty: &Type, span: Span) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || match ty {
            Type::Bool | Type::Bit(_) | Type::Int(_) | Type::Error | Type::Enum(_) => {
                let zero = Bits::zero(ty.width_bits().unwrap_or(0));
                self.assign(place.clone(), Expr::new(ir::ExprKind::Const(zero), ty.clone()), span);
            }
            Type::Varbit(_) => {
                let zero = self.zero(ty, span);
                self.assign(place.clone(), zero, span);
            }
            Type::Struct(id) if self.e.out.structs[*id].kind == StructKind::Header => {
                self.set_validity(place, false, span);
            }
            Type::Struct(id) => {
                let fields = self.field_types(*id);
                for (i, ty) in fields.iter().enumerate() {
                    self.assign_zeros(&place.field(i as u32), ty, span);
                }
            }
            Type::Stack { element, size } => {
                for i in 0..*size {
                    self.assign_zeros(&place.element(i), &Type::Struct(*element), span);
                }
                self.assign(place.next_index(), Expr::bit(INDEX_BITS, 0), span);
            }
            Type::Array { element, size } => {
                for i in 0..*size {
                    self.assign_zeros(&place.element(i), element, span);
                }
            }
        })
    }

    /// Makes the headers in a place invalid and its stacks empty, as they are where a variable or an `out`
    /// parameter comes into being (P4-16, "Variable declarations", "Calling convention"). The rest keeps what it
    /// held: its value is undefined.
    pub fn invalidate(&mut self, place: &Place, ty: &Type, span: Span) {
        match self.e.size(ty).n_headers {
            0 => {}
            1..=HEADERS_MAX => self.invalidate_headers(place, ty, span),
            _ => {
                let zero = self.zero(ty, span);
                self.assign(place.clone(), zero, span);
            }
        }
    }

    fn invalidate_headers(&mut self, place: &Place, ty: &Type, span: Span) {
        if self.e.size(ty).n_headers == 0 {
            return;
        }
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || match ty {
            Type::Bool | Type::Bit(_) | Type::Int(_) | Type::Varbit(_) | Type::Error | Type::Enum(_) => {}
            Type::Struct(id) if self.e.out.structs[*id].kind == StructKind::Header => {
                self.assign(place.valid(), Expr::bool(false), span);
            }
            Type::Struct(id) => {
                let fields = self.field_types(*id);
                for (i, ty) in fields.iter().enumerate() {
                    self.invalidate_headers(&place.field(i as u32), ty, span);
                }
            }
            Type::Stack { element, size } => {
                for i in 0..*size {
                    self.invalidate_headers(&place.element(i), &Type::Struct(*element), span);
                }
                self.assign(place.next_index(), Expr::bit(INDEX_BITS, 0), span);
            }
            Type::Array { element, size } => {
                for i in 0..*size {
                    self.invalidate_headers(&place.element(i), element, span);
                }
            }
        })
    }

    /// Reads a variable that is never written: zeros, invalid headers, empty stacks.
    pub fn zero(&mut self, ty: &Type, span: Span) -> Expr {
        let known = self.zeros.get(ty).copied();
        let var = known.unwrap_or_else(|| {
            let name = format!("$zero{}", self.zeros.len());
            let var = self.variable(&name, ty.clone(), span);
            self.zeros.insert(ty.clone(), var);
            var
        });
        Expr::read(Place::var(var), ty.clone())
    }

    pub fn field_types(&self, id: ir::StructId) -> Vec<Type> {
        self.e.out.structs[id].fields.iter().map(|f| f.ty.clone()).collect()
    }

    pub fn struct_kind(&self, ty: &Type) -> Option<StructKind> {
        match ty {
            Type::Struct(id) => Some(self.e.out.structs[*id].kind),
            _ => None,
        }
    }

    /// Runs `each` for every element. Few elements are written out one by one, many become a loop.
    pub fn for_each_element(&mut self, size: u32, span: Span, each: &mut dyn FnMut(&mut Self, Step)) {
        if size <= UNROLLED_MAX {
            (0..size).for_each(|i| each(self, Step::Element(i)));
            return;
        }
        let index = self.temporary(Type::Bit(INDEX_BITS), span);
        let read = Expr::read(index.clone(), Type::Bit(INDEX_BITS));
        self.assign(index.clone(), Expr::bit(INDEX_BITS, 0), span);
        let (head, end) = (self.new_node(), self.new_node());
        self.goto(head, span);
        self.continue_at(head);
        each(self, Step::Index(Box::new(read.clone())));
        let next =
            Expr::binary(ir::BinaryOp::Add, read.clone(), Expr::bit(INDEX_BITS, 1), Type::Bit(INDEX_BITS));
        self.assign(index, next, span);
        let more = Expr::binary(ir::BinaryOp::Lt, read, Expr::bit(INDEX_BITS, u128::from(size)), Type::Bool);
        self.terminate(ir::TerminatorKind::Branch { condition: more, then: head, otherwise: end }, span);
        self.continue_at(end);
    }

    /// Emits all headers in a place, in order (P4-16, "Deparsing").
    pub fn emit(&mut self, place: &Place, ty: &Type, span: Span) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || match ty {
            Type::Struct(id) if self.e.out.structs[*id].kind == StructKind::Header => {
                self.stmt(StmtKind::Emit(place.clone()), span);
            }
            Type::Struct(id) => {
                let fields = self.field_types(*id);
                for (i, ty) in fields.iter().enumerate() {
                    self.emit(&place.field(i as u32), ty, span);
                }
            }
            Type::Stack { element, size } => {
                let element = Type::Struct(*element);
                self.for_each_element(*size, span, &mut |body, step| {
                    body.emit(&place.then(step), &element, span);
                });
            }
            Type::Array { element, size } => {
                self.for_each_element(*size, span, &mut |body, step| {
                    body.emit(&place.then(step), element, span);
                });
            }
            Type::Bool | Type::Bit(_) | Type::Int(_) | Type::Varbit(_) | Type::Error | Type::Enum(_) => {}
        })
    }
}
