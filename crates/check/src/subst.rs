//! Substitution of type parameters, and inference variables.

use crate::checker::Checker;
use crate::program::{Callee, Expr, ExprKind, TypeVarId};
use crate::types::{Ty, TyKind, Types};
use rustc_hash::FxHashMap;

/// A mapping from type parameters to types.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subst(FxHashMap<TypeVarId, Ty>);

impl Subst {
    pub fn new(params: &[TypeVarId], args: &[Ty]) -> Subst {
        Subst(params.iter().copied().zip(args.iter().copied()).collect())
    }

    pub fn extend(&mut self, params: &[TypeVarId], args: &[Ty]) {
        self.0.extend(params.iter().copied().zip(args.iter().copied()));
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Types {
    /// Rebuilds a type with `leaf` applied to parameters and inference variables.
    pub fn map(&mut self, ty: Ty, leaf: &mut dyn FnMut(&mut Types, Ty) -> Option<Ty>) -> Ty {
        let kind = self.kind(ty).clone();
        let list = |types: &mut Types, args: &[Ty], leaf: &mut dyn FnMut(&mut Types, Ty) -> Option<Ty>| {
            args.iter().map(|a| types.map(*a, leaf)).collect::<Vec<Ty>>()
        };
        match kind {
            TyKind::Var(_) | TyKind::Infer(_) => leaf(self, ty).unwrap_or(ty),
            TyKind::Struct(id, args) if !args.is_empty() => {
                let args = list(self, &args, leaf);
                self.intern(TyKind::Struct(id, args))
            }
            TyKind::Extern(id, args) if !args.is_empty() => {
                let args = list(self, &args, leaf);
                self.intern(TyKind::Extern(id, args))
            }
            TyKind::Block(id, args) if !args.is_empty() => {
                let args = list(self, &args, leaf);
                self.intern(TyKind::Block(id, args))
            }
            TyKind::Parser(id, args) if !args.is_empty() => {
                let args = list(self, &args, leaf);
                self.intern(TyKind::Parser(id, args))
            }
            TyKind::Control(id, args) if !args.is_empty() => {
                let args = list(self, &args, leaf);
                self.intern(TyKind::Control(id, args))
            }
            TyKind::Tuple(items) => {
                let items = list(self, &items, leaf);
                self.intern(TyKind::Tuple(items))
            }
            TyKind::ListLiteral(items) => {
                let items = list(self, &items, leaf);
                self.intern(TyKind::ListLiteral(items))
            }
            TyKind::StructLiteral(fields) => {
                let fields = fields.into_iter().map(|(n, t)| (n, self.map(t, leaf))).collect();
                self.intern(TyKind::StructLiteral(fields))
            }
            TyKind::Array(element, n) => {
                let element = self.map(element, leaf);
                self.intern(TyKind::Array(element, n))
            }
            TyKind::List(element) => {
                let element = self.map(element, leaf);
                self.intern(TyKind::List(element))
            }
            TyKind::Set(element) => {
                let element = self.map(element, leaf);
                self.intern(TyKind::Set(element))
            }
            TyKind::TypeName(inner) => {
                let inner = self.map(inner, leaf);
                self.intern(TyKind::TypeName(inner))
            }
            _ => ty,
        }
    }

    /// True when `test` holds for some part of the type.
    pub fn any(&self, ty: Ty, test: &dyn Fn(&TyKind) -> bool) -> bool {
        let kind = self.kind(ty);
        if test(kind) {
            return true;
        }
        match kind {
            TyKind::Struct(_, a)
            | TyKind::Extern(_, a)
            | TyKind::Block(_, a)
            | TyKind::Parser(_, a)
            | TyKind::Control(_, a)
            | TyKind::Tuple(a)
            | TyKind::ListLiteral(a) => a.iter().any(|t| self.any(*t, test)),
            TyKind::StructLiteral(fields) => fields.iter().any(|(_, t)| self.any(*t, test)),
            TyKind::Array(t, _) | TyKind::List(t) | TyKind::Set(t) | TyKind::TypeName(t) => {
                self.any(*t, test)
            }
            _ => false,
        }
    }
}

impl Checker<'_> {
    /// Puts type arguments in for type parameters.
    pub fn subst(&mut self, ty: Ty, map: &Subst) -> Ty {
        if map.is_empty() {
            return ty;
        }
        self.p.types.map(ty, &mut |types, t| match types.kind(t) {
            TyKind::Var(id) => map.0.get(id).copied(),
            _ => None,
        })
    }

    pub fn fresh(&mut self) -> Ty {
        self.infer.push(None);
        let n = self.infer.len() as u32 - 1;
        self.intern(TyKind::Infer(n))
    }

    /// A fresh inference variable for each type parameter.
    pub fn fresh_args(&mut self, params: &[TypeVarId]) -> Vec<Ty> {
        params.iter().map(|_| self.fresh()).collect()
    }

    /// Replaces bound inference variables at the root only.
    pub fn shallow(&self, mut ty: Ty) -> Ty {
        while let TyKind::Infer(n) = self.kind(ty) {
            match self.infer[*n as usize] {
                Some(bound) => ty = bound,
                None => break,
            }
        }
        ty
    }

    /// Replaces all bound inference variables.
    pub fn zonk(&mut self, ty: Ty) -> Ty {
        let infer = std::mem::take(&mut self.infer);
        let out = zonk_with(&mut self.p.types, &infer, ty);
        self.infer = infer;
        out
    }

    pub fn has_infer(&self, ty: Ty) -> bool {
        self.p.types.any(ty, &|k| matches!(k, TyKind::Infer(_)))
    }
}

fn zonk_with(types: &mut Types, infer: &[Option<Ty>], ty: Ty) -> Ty {
    types.map(ty, &mut |types, t| match types.kind(t) {
        TyKind::Infer(n) => infer[*n as usize].map(|bound| zonk_with(types, infer, bound)),
        _ => None,
    })
}

/// Applies `f` to the type of every node of an expression.
pub(crate) fn map_expr_types(e: &mut Expr, f: &mut dyn FnMut(Ty) -> Ty) {
    e.ty = f(e.ty);
    match &mut e.kind {
        ExprKind::Const
        | ExprKind::Var(_)
        | ExprKind::ConstRef(_)
        | ExprKind::Instance(_)
        | ExprKind::ValueSet(_)
        | ExprKind::Table(_)
        | ExprKind::Action(_)
        | ExprKind::This
        | ExprKind::TypeName
        | ExprKind::DefaultValue
        | ExprKind::InvalidHeader
        | ExprKind::Dots
        | ExprKind::Default
        | ExprKind::DontCare
        | ExprKind::Error => {}
        ExprKind::Field { base, .. }
        | ExprKind::TupleElement { base, .. }
        | ExprKind::Stack { base, .. }
        | ExprKind::Slice { base, .. } => map_expr_types(base, f),
        ExprKind::Index { base, index } => {
            map_expr_types(base, f);
            map_expr_types(index, f);
        }
        ExprKind::PlusSlice { base, lo, .. } => {
            map_expr_types(base, f);
            map_expr_types(lo, f);
        }
        ExprKind::Unary { operand, .. } | ExprKind::Cast { operand, .. } => map_expr_types(operand, f),
        ExprKind::Binary { lhs, rhs, .. } => {
            map_expr_types(lhs, f);
            map_expr_types(rhs, f);
        }
        ExprKind::Conditional { condition, then, otherwise } => {
            map_expr_types(condition, f);
            map_expr_types(then, f);
            map_expr_types(otherwise, f);
        }
        ExprKind::List(items) | ExprKind::Struct(items) => {
            items.iter_mut().for_each(|i| map_expr_types(i, f));
        }
        ExprKind::StructLiteral { fields, .. } => {
            fields.iter_mut().for_each(|(_, i)| map_expr_types(i, f));
        }
        ExprKind::Mask { value: a, mask: b } | ExprKind::Range { lo: a, hi: b } => {
            map_expr_types(a, f);
            map_expr_types(b, f);
        }
        ExprKind::ApplyResult { apply, .. } => map_expr_types(apply, f),
        ExprKind::Call(call) => {
            match &mut call.callee {
                Callee::Function(_) | Callee::Action(_) | Callee::TableApply(_) => {}
                Callee::Method { object, .. }
                | Callee::BlockApply { object }
                | Callee::Builtin { object, .. } => map_expr_types(object, f),
                Callee::Constructor { ty, .. } => *ty = f(*ty),
            }
            call.type_args.iter_mut().for_each(|t| *t = f(*t));
            call.args.iter_mut().flatten().for_each(|a| map_expr_types(a, f));
        }
    }
}

impl Checker<'_> {
    /// Puts type arguments in everywhere in an expression.
    pub fn subst_expr(&mut self, e: &mut Expr, map: &Subst) {
        if !map.is_empty() {
            map_expr_types(e, &mut |t| self.subst(t, map));
        }
    }

    /// Replaces bound inference variables everywhere in an expression.
    pub fn zonk_expr(&mut self, e: &mut Expr) {
        map_expr_types(e, &mut |t| self.zonk(t));
    }

    /// The type with every type parameter replaced by a fresh inference variable.
    pub fn loosen(&mut self, ty: Ty) -> Ty {
        let mut seen: FxHashMap<Ty, Ty> = FxHashMap::default();
        let mut vars = Vec::new();
        self.p.types.map(ty, &mut |_, t| {
            vars.push(t);
            None
        });
        for v in vars {
            if matches!(self.kind(v), TyKind::Var(_)) && !seen.contains_key(&v) {
                let fresh = self.fresh();
                seen.insert(v, fresh);
            }
        }
        self.p.types.map(ty, &mut |_, t| seen.get(&t).copied())
    }
}
