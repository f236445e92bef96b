//! Values of expressions inside an object, where constructor parameters have values.

use crate::fold::{self, IntShape};
use crate::program::*;
use crate::types::{Ty, TyKind, Types};
use crate::value::Value;
use num_bigint::BigInt;
use num_traits::ToPrimitive;

/// The object that contains an expression; `None` at the top level.
pub type Scope = Option<NodeId>;

impl Program {
    /// The value of an expression that is known once constructor arguments are.
    pub fn eval(&self, e: &Expr, scope: Scope) -> Option<Value> {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.eval_inner(e, scope))
    }

    fn eval_inner(&self, e: &Expr, scope: Scope) -> Option<Value> {
        if let Some(v) = &e.value {
            return Some((**v).clone());
        }
        match &e.kind {
            ExprKind::Var(id) => self.ctor_argument(*id, scope),
            ExprKind::ConstRef(id) => self.eval(&self.constants[*id].init, scope),
            ExprKind::Instance(_) | ExprKind::This => self.object(e, scope).map(Value::Object),
            ExprKind::Field { base, field } => crate::expr::field_value(&self.eval(base, scope)?, *field),
            ExprKind::TupleElement { base, index } => {
                crate::expr::field_value(&self.eval(base, scope)?, *index)
            }
            ExprKind::Index { base, index } => {
                let i = self.eval(index, scope)?.as_int()?.to_u32()?;
                crate::expr::field_value(&self.eval(base, scope)?, i)
            }
            ExprKind::Slice { base, hi, lo } => {
                let (IntShape::Unsigned(w) | IntShape::Signed(w)) = self.shape_in(base.ty, scope)? else {
                    return None;
                };
                let v = self.eval(base, scope)?;
                Some(Value::Int(fold::slice(v.as_int()?, w, *hi, *lo)))
            }
            ExprKind::Unary { op, operand } => {
                let v = self.eval(operand, scope)?;
                let wrap = |i: BigInt| Some(Value::Int(fold::wrap(&i, self.shape_in(e.ty, scope)?)));
                match op {
                    UnaryOp::Not => Some(Value::Bool(!v.as_bool()?)),
                    UnaryOp::Complement => wrap(!(v.as_int()?.clone())),
                    UnaryOp::Neg => wrap(-(v.as_int()?.clone())),
                    UnaryOp::Plus => Some(v),
                }
            }
            ExprKind::Binary { op, lhs, rhs } => self.eval_binary(*op, lhs, rhs, scope),
            ExprKind::Conditional { condition, then, otherwise } => {
                let taken = if self.eval(condition, scope)?.as_bool()? { then } else { otherwise };
                self.eval(taken, scope)
            }
            ExprKind::Cast { operand, .. } => self.eval_cast(operand, e.ty, scope),
            ExprKind::List(items) => self.eval_all(items, scope).map(Value::Aggregate),
            ExprKind::Struct(items) => {
                let fields = self.eval_all(items, scope)?;
                let is_header = matches!(self.types.kind(self.root_in(e.ty, scope)),
                    TyKind::Struct(id, _) if self.structs[*id].kind == StructKind::Header);
                Some(if is_header { Value::Header { valid: true, fields } } else { Value::Aggregate(fields) })
            }
            ExprKind::Const
            | ExprKind::ValueSet(_)
            | ExprKind::Table(_)
            | ExprKind::Action(_)
            | ExprKind::TypeName
            | ExprKind::Stack { .. }
            | ExprKind::PlusSlice { .. }
            | ExprKind::StructLiteral { .. }
            | ExprKind::DefaultValue
            | ExprKind::InvalidHeader
            | ExprKind::Dots
            | ExprKind::Default
            | ExprKind::DontCare
            | ExprKind::Mask { .. }
            | ExprKind::Range { .. }
            | ExprKind::Call(_)
            | ExprKind::ApplyResult { .. }
            | ExprKind::Error => None,
        }
    }

    fn eval_all(&self, items: &[Expr], scope: Scope) -> Option<Vec<Value>> {
        items.iter().map(|i| self.eval(i, scope)).collect()
    }

    fn eval_binary(&self, op: BinaryOp, lhs: &Expr, rhs: &Expr, scope: Scope) -> Option<Value> {
        // The value of `false && x` is known without `x`.
        if matches!(op, BinaryOp::And | BinaryOp::Or) {
            let l = self.eval(lhs, scope)?.as_bool()?;
            if l == (op == BinaryOp::Or) {
                return Some(Value::Bool(l));
            }
            return self.eval(rhs, scope);
        }
        let (l, r) = (self.eval(lhs, scope)?, self.eval(rhs, scope)?);
        match op {
            BinaryOp::Eq => return Some(Value::Bool(l == r)),
            BinaryOp::Ne => return Some(Value::Bool(l != r)),
            _ => {}
        }
        let (l, r) = (l.as_int()?, r.as_int()?);
        let shape = self.shape_in(lhs.ty, scope)?;
        Some(match op {
            BinaryOp::Lt => Value::Bool(l < r),
            BinaryOp::Le => Value::Bool(l <= r),
            BinaryOp::Gt => Value::Bool(l > r),
            BinaryOp::Ge => Value::Bool(l >= r),
            BinaryOp::Concat => {
                let (IntShape::Unsigned(w) | IntShape::Signed(w)) = self.shape_in(rhs.ty, scope)? else {
                    return None;
                };
                Value::Int(fold::concat(l, shape, r, w))
            }
            _ => Value::Int(fold::binary(op, l, r, shape).ok()?),
        })
    }

    fn eval_cast(&self, operand: &Expr, to: Ty, scope: Scope) -> Option<Value> {
        let v = self.eval(operand, scope)?;
        let is_bool = self.types.kind(self.strip_in(to, scope)) == &TyKind::Bool;
        Some(match v {
            Value::Int(i) if is_bool => Value::Bool(i != BigInt::from(0)),
            Value::Int(i) => Value::Int(fold::wrap(&i, self.shape_in(to, scope)?)),
            Value::Bool(b) if !is_bool => Value::Int(BigInt::from(u8::from(b))),
            other => other,
        })
    }

    /// The value of a constructor parameter of the object or of one around it.
    fn ctor_argument(&self, var: VarId, scope: Scope) -> Option<Value> {
        let mut at = scope;
        while let Some(id) = at {
            let node = &self.nodes[id];
            if let Some(i) = self.ctor_params(node.kind).iter().position(|p| *p == var) {
                return node.args.get(i)?.clone();
            }
            at = node.parent;
        }
        None
    }

    /// Constructor parameters of parsers, controls and packages; those of externs depend on the constructor.
    pub fn ctor_params(&self, kind: NodeKind) -> &[VarId] {
        match kind {
            NodeKind::Package(id) => &self.block_types[id].params,
            NodeKind::Parser(id) => &self.parsers[id].ctor_params,
            NodeKind::Control(id) => &self.controls[id].ctor_params,
            NodeKind::Extern(_) => &[],
        }
    }

    /// The constructor argument of an extern object by the name of its parameter.
    pub fn extern_argument(&self, id: NodeId, param: &str) -> Option<&Value> {
        let node = &self.nodes[id];
        let NodeKind::Extern(e) = node.kind else { return None };
        let method = self.externs[e].methods.get(node.constructor? as usize)?;
        let i = method.signature.params.iter().position(|p| self.vars[*p].name == param)?;
        node.args.get(i)?.as_ref()
    }

    /// The object that an expression means: an instance, a constructor parameter, a direct application.
    pub fn object(&self, e: &Expr, scope: Scope) -> Option<NodeId> {
        match &e.kind {
            ExprKind::Instance(id) => self.find(Origin::Declared(*id), scope),
            ExprKind::Var(id) => match self.ctor_argument(*id, scope)? {
                Value::Object(node) => Some(node),
                _ => None,
            },
            ExprKind::Call(call) => match call.callee {
                Callee::Constructor { .. } => self.find(Origin::DirectApply(e.span), scope),
                _ => None,
            },
            ExprKind::This => scope,
            ExprKind::Cast { operand, .. } => self.object(operand, scope),
            _ => None,
        }
    }

    /// An object made inside `scope`, around it, or at the top level.
    pub fn find(&self, origin: Origin, scope: Scope) -> Option<NodeId> {
        let mut at = scope;
        while let Some(id) = at {
            let node = &self.nodes[id];
            if node.origin == origin {
                return Some(id);
            }
            if let Some(found) = node.children.iter().find(|c| self.nodes[**c].origin == origin) {
                return Some(*found);
            }
            at = node.parent;
        }
        self.top_level.iter().copied().find(|n| self.nodes[*n].origin == origin)
    }

    /// Returns the type argument for a type parameter inside an object.
    pub fn type_argument(&self, var: TypeVarId, scope: Scope) -> Option<Ty> {
        let mut at = scope;
        while let Some(id) = at {
            let node = &self.nodes[id];
            let (params, args) = match (node.kind, self.types.kind(node.ty)) {
                (NodeKind::Parser(p), TyKind::Parser(_, args)) => (&self.parsers[p].type_params, args),
                (NodeKind::Control(c), TyKind::Control(_, args)) => (&self.controls[c].type_params, args),
                (NodeKind::Extern(e), TyKind::Extern(_, args)) => (&self.externs[e].type_params, args),
                (NodeKind::Package(b), TyKind::Block(_, args)) => (&self.block_types[b].type_params, args),
                _ => return None,
            };
            if let Some(i) = params.iter().position(|p| *p == var) {
                return args.get(i).copied();
            }
            at = node.parent;
        }
        None
    }

    /// The type with a type parameter at its root replaced.
    fn root_in(&self, ty: Ty, scope: Scope) -> Ty {
        match self.types.kind(ty) {
            TyKind::Var(var) => self.type_argument(*var, scope).unwrap_or(ty),
            _ => ty,
        }
    }

    fn strip_in(&self, ty: Ty, scope: Scope) -> Ty {
        let mut ty = self.root_in(ty, scope);
        while let TyKind::Newtype(id) = self.types.kind(ty) {
            ty = self.newtypes[*id].underlying;
        }
        ty
    }

    fn shape_in(&self, ty: Ty, scope: Scope) -> Option<IntShape> {
        let mut ty = self.strip_in(ty, scope);
        if let TyKind::Enum(id) = self.types.kind(ty) {
            ty = self.enums[*id].underlying?;
        }
        match self.types.kind(ty) {
            TyKind::Bit(w) => Some(IntShape::Unsigned(*w)),
            TyKind::Signed(w) => Some(IntShape::Signed(*w)),
            TyKind::Int => Some(IntShape::Unbounded),
            _ => None,
        }
    }
}

impl Types {
    /// Puts types in for type parameters.
    pub fn replace_vars(&mut self, ty: Ty, of: &dyn Fn(TypeVarId) -> Option<Ty>) -> Ty {
        self.map(ty, &mut |types, t| match types.kind(t) {
            TyKind::Var(var) => of(*var),
            _ => None,
        })
    }
}
