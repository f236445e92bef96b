//! Assignment: of values, of literals part by part, with what it means for header unions.

use crate::body::Body;
use crate::place::{Indices, LValue};
use check::program::{Expr as Checked, ExprKind};
use diagnostics::Span;
use ir::types::INDEX_BITS;
use ir::{Bits, Expr, Place, Step, StructKind, Type};

/// A part of a literal and where it goes.
enum Part {
    Value {
        place: Place,
        ty: Type,
        value: Expr,
    },
    Default {
        place: Place,
        ty: Type,
    },
    /// The header is valid now.
    Valid {
        place: Place,
    },
}

impl Body<'_, '_> {
    /// `lhs = rhs`
    pub fn assignment(&mut self, lhs: &Checked, rhs: &Checked, span: Span) {
        let indices = if self.changes(rhs) { Indices::Fixed } else { Indices::AsTheyAre };
        let target = self.lvalue(lhs, indices);
        match target.within {
            None => self.assign_expr(&target.place, &target.ty, rhs),
            Some(_) => {
                let value = self.expr(rhs);
                self.store(&target, value, span);
            }
        }
    }

    /// Assigns the value of an expression. Literals are written where they belong, without a copy.
    pub fn assign_expr(&mut self, place: &Place, ty: &Type, e: &Checked) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.assign_expr_inner(place, ty, e));
    }

    fn assign_expr_inner(&mut self, place: &Place, ty: &Type, e: &Checked) {
        if let Some(value) = self.constant(e)
            && ty.width_bits().is_none()
            && self.is_whole_value(&value, ty)
        {
            self.assign_value(place, ty, &value, e.span);
            self.clear_siblings(place, e.span);
            return;
        }
        match &e.kind {
            ExprKind::List(_) | ExprKind::Struct(_) | ExprKind::StructLiteral { .. } => {
                let mut parts = Vec::new();
                self.parts(place, ty, e, false, &mut parts);
                self.assign_parts(parts, place, e.span);
                self.clear_siblings(place, e.span);
            }
            ExprKind::DefaultValue | ExprKind::InvalidHeader => {
                self.assign_default(place, ty, e.span);
                self.clear_siblings(place, e.span);
            }
            ExprKind::Conditional { condition, then, otherwise }
                if ty.width_bits().is_none() && self.constant(condition).is_none() =>
            {
                let condition = self.expr(condition);
                let (on_true, on_false) = self.branch(condition, e.span);
                let end = self.new_node();
                for (node, value) in [(on_true, then), (on_false, otherwise)] {
                    self.continue_at(node);
                    self.assign_expr(place, ty, value);
                    self.goto(end, e.span);
                }
                self.continue_at(end);
            }
            _ => {
                let value = self.expr(e);
                self.store(&LValue::whole(place.clone(), ty.clone()), value, e.span);
            }
        }
    }

    /// False for what is known of a value and cannot be written as a constant.
    fn is_whole_value(&self, value: &check::value::Value, ty: &Type) -> bool {
        use check::value::Value;
        matches!(value, Value::Header { valid: false, .. }) || self.e.leaves(value, ty).is_some()
    }

    /// Stores a value; converts it where types differ in form only.
    pub fn store(&mut self, target: &LValue, value: Expr, span: Span) {
        let value = self.fit(value, &target.ty, span);
        match &target.within {
            None => {
                self.assign(target.place.clone(), value, span);
                if self.struct_kind(&target.ty) == Some(StructKind::Header) {
                    self.clear_siblings(&target.place, span);
                }
            }
            Some(step) => {
                let Some(Step::Slice { width, .. } | Step::SliceAt { width, .. }) = target.place.path.last()
                else {
                    return;
                };
                let ty = Type::Bit(*width);
                let whole = self.temporary(ty.clone(), span);
                self.assign(whole.clone(), Expr::read(target.place.clone(), ty.clone()), span);
                self.assign(whole.then(step.clone()), value, span);
                self.assign(target.place.clone(), Expr::read(whole, ty), span);
            }
        }
    }

    /// Takes a literal apart. What is evaluated for a part is saved when later parts can change it.
    fn parts(&mut self, place: &Place, ty: &Type, e: &Checked, changes_later: bool, parts: &mut Vec<Part>) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.parts_inner(place, ty, e, changes_later, parts));
    }

    fn parts_inner(
        &mut self,
        place: &Place,
        ty: &Type,
        e: &Checked,
        changes_later: bool,
        parts: &mut Vec<Part>,
    ) {
        let items: Vec<&Checked> = match &e.kind {
            ExprKind::List(items) | ExprKind::Struct(items) => items.iter().collect(),
            ExprKind::StructLiteral { fields, .. } => fields.iter().map(|(_, e)| e).collect(),
            ExprKind::DefaultValue | ExprKind::InvalidHeader | ExprKind::Dots => {
                parts.push(Part::Default { place: place.clone(), ty: ty.clone() });
                return;
            }
            _ => {
                let mut value = self.expr(e);
                if changes_later && value.as_const().is_none() {
                    value = self.save(value, e.span);
                }
                parts.push(Part::Value { place: place.clone(), ty: ty.clone(), value });
                return;
            }
        };
        let n = items.len();
        let slots: Vec<(Step, Type)> = match ty {
            Type::Struct(id) => {
                let fields = self.field_types(*id).into_iter().enumerate();
                fields.map(|(i, ty)| (Step::Field(i as u32), ty)).collect()
            }
            Type::Stack { element, size } => {
                let n = (*size).min(n as u32);
                (0..n).map(|i| (Step::Element(i), Type::Struct(*element))).collect()
            }
            Type::Array { element, size } => {
                let n = (*size).min(n as u32);
                (0..n).map(|i| (Step::Element(i), (**element).clone())).collect()
            }
            Type::Bool | Type::Bit(_) | Type::Int(_) | Type::Varbit(_) | Type::Error | Type::Enum(_) => {
                Vec::new()
            }
        };
        if let Type::Stack { size, .. } | Type::Array { size, .. } = ty
            && (n as u32) < *size
        {
            parts.push(Part::Default { place: place.clone(), ty: ty.clone() });
        }
        // From the last item backwards: does anything behind this one change what it read?
        let mut later = vec![changes_later; n];
        for i in (0..n.saturating_sub(1)).rev() {
            later[i] = later[i + 1] || self.changes(items[i + 1]);
        }
        for (i, (step, ty)) in slots.iter().enumerate() {
            match items.get(i) {
                Some(item) if !matches!(item.kind, ExprKind::Dots) => {
                    self.parts(&place.then(step.clone()), ty, item, later[i], parts);
                }
                _ => parts.push(Part::Default { place: place.then(step.clone()), ty: ty.clone() }),
            }
        }
        if self.struct_kind(ty) == Some(StructKind::Header) {
            parts.push(Part::Valid { place: place.clone() });
        }
        if matches!(ty, Type::Stack { .. }) {
            let zero = Expr::bit(INDEX_BITS, 0);
            parts.push(Part::Value { place: place.next_index(), ty: Type::Bit(INDEX_BITS), value: zero });
        }
    }

    fn assign_parts(&mut self, mut parts: Vec<Part>, place: &Place, span: Span) {
        // The value of a later part may be read from what an earlier part overwrites.
        if parts.len() > 1 {
            for part in &mut parts {
                if let Part::Value { value, .. } = part {
                    let mut reads_target = false;
                    value.for_each_read(&mut |read| reads_target |= read.var == place.var);
                    if reads_target {
                        *value = self.save(value.clone(), span);
                    }
                }
            }
        }
        for part in parts {
            match part {
                Part::Value { place, ty, value } => self.store(&LValue::whole(place, ty), value, span),
                Part::Default { place, ty } => self.assign_default(&place, &ty, span),
                Part::Valid { place } => self.set_validity(&place, true, span),
            }
        }
    }

    /// The value as one of type `ty`: constants are resized, values of other forms (a tuple for a struct) copied
    /// part by part.
    pub fn fit(&mut self, value: Expr, ty: &Type, span: Span) -> Expr {
        if value.ty == *ty {
            return value;
        }
        match (value.ty.width_bits(), ty.width_bits()) {
            (Some(_), Some(width)) => match value.as_const() {
                Some(bits) => {
                    let bits = resized(bits, value.ty.is_signed(), width);
                    Expr::new(ir::ExprKind::Const(bits), ty.clone())
                }
                None => value.cast(ty.clone()),
            },
            (None, None) => {
                let ir::ExprKind::Read(from) = value.kind else { return self.zero(ty, span) };
                let to = self.temporary(ty.clone(), span);
                self.copy_parts(&from, &value.ty, &to, ty, span);
                Expr::read(to, ty.clone())
            }
            _ => self.zero(ty, span),
        }
    }

    fn copy_parts(&mut self, from: &Place, from_ty: &Type, to: &Place, to_ty: &Type, span: Span) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || match (from_ty, to_ty) {
            (a, b) if a == b => self.assign(to.clone(), Expr::read(from.clone(), a.clone()), span),
            (Type::Struct(a), Type::Struct(b)) => {
                let (from_fields, to_fields) = (self.field_types(*a), self.field_types(*b));
                for (i, ty) in to_fields.iter().enumerate() {
                    let name = &self.e.out.structs[*b].fields[i].name;
                    let by_name = self.e.out.structs[*a].fields.iter().position(|f| f.name == *name);
                    let j = by_name.unwrap_or(i);
                    let Some(from_ty) = from_fields.get(j) else { continue };
                    self.copy_parts(&from.field(j as u32), from_ty, &to.field(i as u32), ty, span);
                }
                let is_header = |body: &Self, ty: &Type| body.struct_kind(ty) == Some(StructKind::Header);
                if is_header(self, to_ty) {
                    let valid = match is_header(self, from_ty) {
                        true => Expr::read(from.valid(), Type::Bool),
                        false => Expr::bool(true),
                    };
                    self.assign(to.valid(), valid, span);
                }
            }
            (Type::Array { element: a, size: m }, Type::Array { element: b, size: n }) => {
                self.for_each_element(*m.min(n), span, &mut |body, step| {
                    body.copy_parts(&from.then(step.clone()), a, &to.then(step), b, span);
                });
            }
            // A tuple of headers for a stack.
            (Type::Struct(a), Type::Stack { .. } | Type::Array { .. }) => {
                let element = match to_ty {
                    Type::Stack { element, .. } => Type::Struct(*element),
                    Type::Array { element, .. } => (**element).clone(),
                    _ => return,
                };
                for (i, ty) in self.field_types(*a).iter().enumerate() {
                    self.copy_parts(&from.field(i as u32), ty, &to.element(i as u32), &element, span);
                }
            }
            (a, b) if a.width_bits().is_some() && b.width_bits().is_some() => {
                let value = self.fit(Expr::read(from.clone(), a.clone()), b, span);
                self.assign(to.clone(), value, span);
            }
            // The checker lets no others meet.
            _ => {}
        })
    }
}

/// A constant with another width: by sign if it has one.
pub fn resized(bits: &Bits, is_signed: bool, width: u32) -> Bits {
    if is_signed && width > bits.width() { bits.sign_extend(width) } else { bits.resize(width) }
}
