//! Types as written, made into [`Ty`].

use crate::checker::Checker;
use crate::codes;
use crate::program::*;
use crate::scope::{Res, TypeRes};
use crate::types::{Ty, TyKind, Types};
use crate::unify::plural;
use diagnostics::{Diagnostic, Span};
use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive};
use syntax::ast;

/// Widest `bit<W>`, `int<W>` and `varbit<W>`, in bits.
pub const WIDTH_MAX: u32 = 1 << 20;
/// Largest array.
pub const ARRAY_MAX: u32 = 1 << 24;

/// Treatment of a generic type that is named without type arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Generic {
    /// An error.
    Refuse,
    /// Fresh inference variables: constructors.
    Infer,
}

impl Checker<'_> {
    /// A type that must be complete.
    pub fn ty(&mut self, t: &ast::Type) -> Ty {
        self.ty_with(t, Generic::Refuse)
    }

    pub fn ty_with(&mut self, t: &ast::Type, generic: Generic) -> Ty {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.ty_inner(t, generic))
    }

    fn ty_inner(&mut self, t: &ast::Type, generic: Generic) -> Ty {
        match &t.kind {
            ast::TypeKind::Void => Types::VOID,
            ast::TypeKind::Bool => Types::BOOL,
            ast::TypeKind::ErrorType => Types::ERROR_CODE,
            ast::TypeKind::MatchKind => Types::MATCH_KIND,
            ast::TypeKind::Str => Types::STR,
            ast::TypeKind::Int => Types::INT,
            ast::TypeKind::DontCare => Types::DONT_CARE,
            ast::TypeKind::Error => Types::ERROR,
            ast::TypeKind::Bit(None) => self.p.types.bit(1),
            ast::TypeKind::Bit(Some(w)) => match self.width(w, 0, t.span) {
                Some(w) => self.p.types.bit(w),
                None => Types::ERROR,
            },
            ast::TypeKind::Signed(w) => match self.width(w, 1, t.span) {
                Some(w) => self.p.types.signed(w),
                None => Types::ERROR,
            },
            ast::TypeKind::Varbit(w) => match self.width(w, 0, t.span) {
                Some(w) => self.intern(TyKind::Varbit(w)),
                None => Types::ERROR,
            },
            ast::TypeKind::Name(path) => {
                if path.name.name == "_" {
                    return Types::DONT_CARE;
                }
                self.named(path, None, t.span, generic)
            }
            ast::TypeKind::Specialized(path, args) => self.named(path, Some(args), t.span, generic),
            ast::TypeKind::Array(element, size) => {
                let element_ty = self.ty_with(element, generic);
                let nested = matches!(self.kind(element_ty), TyKind::Array(e, _) if self.is_header(*e) || self.is_header_union(*e));
                if nested && self.options.strict {
                    self.report(
                        Diagnostic::new(&codes::FIELD_TYPE, t.span, "header stacks cannot be nested")
                            .label("a stack of stacks"),
                    );
                    return Types::ERROR;
                }
                let n = self.array_size(size);
                match (n, element_ty) {
                    (_, Types::ERROR) | (None, _) => Types::ERROR,
                    (Some(n), e) => self.intern(TyKind::Array(e, n)),
                }
            }
            ast::TypeKind::List(element) => {
                let e = self.ty_with(element, generic);
                if self.is_error(e) || !self.check_element(e, element.span, "a list") {
                    return Types::ERROR;
                }
                self.intern(TyKind::List(e))
            }
            ast::TypeKind::Tuple(items) => {
                let mut list = Vec::with_capacity(items.len());
                for item in items {
                    let ty = self.ty_with(item, generic);
                    if !self.check_element(ty, item.span, "a tuple") {
                        return Types::ERROR;
                    }
                    list.push(ty);
                }
                if list.contains(&Types::ERROR) {
                    return Types::ERROR;
                }
                let tuple = self.intern(TyKind::Tuple(list));
                if self.check_type_size(tuple, t.span) { tuple } else { Types::ERROR }
            }
        }
    }

    /// Elements of tuples and lists are values, not objects.
    fn check_element(&mut self, ty: Ty, span: Span, of: &str) -> bool {
        match self.kind(ty) {
            TyKind::Extern(..)
            | TyKind::Block(..)
            | TyKind::Parser(..)
            | TyKind::Control(..)
            | TyKind::Void => {
                let shown = self.quote(ty);
                self.report(
                    Diagnostic::new(
                        &codes::INVALID_TYPE_ARGUMENT,
                        span,
                        format!("{of} cannot have elements of type {shown}"),
                    )
                    .label("not a type of values"),
                );
                false
            }
            _ => true,
        }
    }

    /// Evaluates a width in bits; reports what is wrong with it.
    fn width(&mut self, e: &ast::Expr, min: u32, span: Span) -> Option<u32> {
        let value = self.const_int(e, &codes::INVALID_WIDTH, "a width")?;
        if value < BigInt::from(min) {
            let why = if value.is_negative() { "negative" } else { "zero" };
            self.report(
                Diagnostic::new(&codes::INVALID_WIDTH, span, format!("the width of this type is {why}"))
                    .label(format!("the width is {value}"))
                    .help(format!("use a width of at least {min}")),
            );
            return None;
        }
        match value.to_u32() {
            Some(w) if w <= WIDTH_MAX => Some(w),
            _ => {
                self.report(
                    Diagnostic::new(&codes::TOO_WIDE, span, "this type is wider than Siding supports")
                        .label(format!("the width is {}", short(&value)))
                        .note(format!("the widest supported type has {WIDTH_MAX} bits")),
                );
                None
            }
        }
    }

    fn array_size(&mut self, e: &ast::Expr) -> Option<u32> {
        let value = self.const_int(e, &codes::INVALID_WIDTH, "an array size")?;
        let zero_ok = !self.options.strict;
        if value.is_negative() || (value == BigInt::from(0) && !zero_ok) {
            self.report(
                Diagnostic::new(&codes::INVALID_WIDTH, e.span, "an array needs a positive size")
                    .label(format!("the size is {}", short(&value))),
            );
            return None;
        }
        match value.to_u32() {
            Some(n) if n <= ARRAY_MAX => Some(n),
            _ => {
                self.report(
                    Diagnostic::new(&codes::TOO_WIDE, e.span, "this array is larger than Siding supports")
                        .label(format!("the size is {}", short(&value)))
                        .note(format!("the largest supported array has {ARRAY_MAX} elements")),
                );
                None
            }
        }
    }

    /// An expression that must be an integer known here and now.
    pub fn const_int(&mut self, e: &ast::Expr, code: diagnostics::Code, what: &str) -> Option<BigInt> {
        let typed = self.expr(e);
        if self.is_error(typed.ty) {
            return None;
        }
        let plain = self.strip_enum(self.strip_newtype(typed.ty));
        if !(self.is_fixed_int(plain) || plain == Types::INT) {
            let shown = self.quote(typed.ty);
            self.report(
                Diagnostic::new(code, typed.span, format!("{what} must be an integer, not {shown}"))
                    .label("expected an integer"),
            );
            return None;
        }
        match typed.value.as_deref().and_then(|v| v.as_int()) {
            Some(v) => Some(v.clone()),
            None => {
                self.report(
                    Diagnostic::new(code, typed.span, format!("{what} must be known at compile time"))
                        .label("not a constant")
                        .note("constructor parameters are not known yet where types are made (P4-16, \"Compile-time known values\")"),
                );
                None
            }
        }
    }

    fn named(&mut self, path: &ast::Path, args: Option<&[ast::Type]>, span: Span, generic: Generic) -> Ty {
        let Some(binding) = self.lookup(path) else { return Types::ERROR };
        let res = match binding.res {
            Res::Type(res) => res,
            Res::Error => return Types::ERROR,
            _ => {
                self.report(
                    Diagnostic::new(
                        &codes::NOT_A_TYPE,
                        path.span(),
                        format!("`{}` is not a type", path.name.name),
                    )
                    .label("a type is expected here")
                    .also(binding.span, "declared here as something else"),
                );
                return Types::ERROR;
            }
        };
        let args: Option<Vec<(Ty, Span)>> =
            args.map(|list| list.iter().map(|a| (self.ty_with(a, generic), a.span)).collect());
        self.type_of_res(&res, path, args, span, generic)
    }

    fn type_of_res(
        &mut self,
        res: &TypeRes,
        path: &ast::Path,
        args: Option<Vec<(Ty, Span)>>,
        span: Span,
        generic: Generic,
    ) -> Ty {
        let name = path.name.name.clone();
        let params: Vec<TypeVarId> = match res {
            TypeRes::Struct(id) => self.p.structs[*id].type_params.clone(),
            TypeRes::Extern(id) => self.p.externs[*id].type_params.clone(),
            TypeRes::Parser(id) => {
                if self.ctx.parser.as_ref() == Some(&name) {
                    self.report_self_reference("parser", path.span());
                    return Types::ERROR;
                }
                self.p.parsers[*id].type_params.clone()
            }
            TypeRes::Control(id) => {
                if self.ctx.control.as_ref() == Some(&name) {
                    self.report_self_reference("control", path.span());
                    return Types::ERROR;
                }
                self.p.controls[*id].type_params.clone()
            }
            TypeRes::Block(ids) => {
                // Overloads differ in their parameters; with type arguments their number decides here.
                let n = args.as_ref().map(Vec::len);
                let id = ids
                    .iter()
                    .copied()
                    .find(|id| n.is_some_and(|n| self.p.block_types[*id].type_params.len() == n))
                    .or(ids.last().copied());
                match id {
                    Some(id) => {
                        let params = self.p.block_types[id].type_params.clone();
                        return self.apply_args(&name, params, args, span, generic, |a| TyKind::Block(id, a));
                    }
                    None => return Types::ERROR,
                }
            }
            TypeRes::Enum(_) | TypeRes::Newtype(_) | TypeRes::Typedef(_) | TypeRes::Var(_) => Vec::new(),
            TypeRes::ExternForward => return Types::ERROR,
        };
        match res.clone() {
            TypeRes::Struct(id) => {
                self.apply_args(&name, params, args, span, generic, |a| TyKind::Struct(id, a))
            }
            TypeRes::Extern(id) => {
                self.apply_args(&name, params, args, span, generic, |a| TyKind::Extern(id, a))
            }
            TypeRes::Parser(id) => {
                self.apply_args(&name, params, args, span, generic, |a| TyKind::Parser(id, a))
            }
            TypeRes::Control(id) => {
                self.apply_args(&name, params, args, span, generic, |a| TyKind::Control(id, a))
            }
            TypeRes::Enum(id) => self.apply_args(&name, params, args, span, generic, |_| TyKind::Enum(id)),
            TypeRes::Newtype(id) => {
                self.apply_args(&name, params, args, span, generic, |_| TyKind::Newtype(id))
            }
            TypeRes::Var(id) => self.apply_args(&name, params, args, span, generic, |_| TyKind::Var(id)),
            TypeRes::Typedef(id) => {
                let target = self.p.typedefs[id].target;
                if args.is_some() {
                    self.apply_args(&name, params, args, span, generic, |_| TyKind::Error)
                } else {
                    target
                }
            }
            TypeRes::Block(_) | TypeRes::ExternForward => Types::ERROR,
        }
    }

    fn report_self_reference(&mut self, what: &str, span: Span) {
        self.report(
            Diagnostic::new(&codes::SELF_REFERENCE, span, format!("a {what} cannot refer to itself"))
                .label("inside its own declaration")
                .note("P4 has no recursion"),
        );
    }

    fn apply_args(
        &mut self,
        name: &str,
        params: Vec<TypeVarId>,
        args: Option<Vec<(Ty, Span)>>,
        span: Span,
        generic: Generic,
        make: impl FnOnce(Vec<Ty>) -> TyKind,
    ) -> Ty {
        match args {
            None if params.is_empty() => self.intern(make(Vec::new())),
            None if generic == Generic::Infer => {
                let args = self.fresh_args(&params);
                self.intern(make(args))
            }
            None => {
                let list: Vec<String> =
                    params.iter().map(|p| self.p.type_vars[*p].name.to_string()).collect();
                self.report(
                    Diagnostic::new(&codes::TYPE_ARGUMENTS, span, format!("`{name}` needs type arguments"))
                        .label(format!("takes {} type argument{}", params.len(), plural(params.len())))
                        .also(
                            params.first().map_or(Span::NONE, |p| self.p.type_vars[*p].span),
                            "declared here",
                        )
                        .help(format!(
                            "write `{name}<{}>` with types for {}",
                            list.join(", "),
                            list.join(", ")
                        )),
                );
                Types::ERROR
            }
            Some(args) if params.is_empty() && !args.is_empty() => {
                self.report(
                    Diagnostic::new(&codes::NOT_GENERIC, span, format!("`{name}` takes no type arguments"))
                        .label("not generic")
                        .help(format!("write `{name}`")),
                );
                Types::ERROR
            }
            Some(args) if args.len() != params.len() => {
                self.report(
                    Diagnostic::new(
                        &codes::TYPE_ARGUMENTS,
                        span,
                        format!(
                            "`{name}` takes {} type argument{}, {} given",
                            params.len(),
                            plural(params.len()),
                            args.len()
                        ),
                    )
                    .label("wrong number of type arguments"),
                );
                Types::ERROR
            }
            Some(args) => {
                let mut list = Vec::with_capacity(args.len());
                for (ty, arg_span) in args {
                    if ty == Types::ERROR || !self.check_type_argument(ty, arg_span) {
                        return Types::ERROR;
                    }
                    list.push(ty);
                }
                let kind = make(list.clone());
                if self.is_nested_in_itself(&kind, &list) {
                    self.report(
                        Diagnostic::new(
                            &codes::SELF_REFERENCE,
                            span,
                            format!("`{name}` cannot be its own type argument"),
                        )
                        .label("contains itself"),
                    );
                    return Types::ERROR;
                }
                let ty = self.intern(kind);
                let fits = self.check_specialized(ty, span) && self.check_type_size(ty, span);
                if fits { ty } else { Types::ERROR }
            }
        }
    }

    fn is_nested_in_itself(&self, kind: &TyKind, args: &[Ty]) -> bool {
        let same = |k: &TyKind| match (kind, k) {
            (TyKind::Extern(a, _), TyKind::Extern(b, _)) => a == b,
            (TyKind::Struct(a, _), TyKind::Struct(b, _)) => a == b,
            _ => false,
        };
        args.iter().any(|a| self.p.types.any(*a, &same))
    }

    /// Blocks cannot be type arguments, nor `void` (except where it is inferred).
    pub fn check_type_argument(&mut self, ty: Ty, span: Span) -> bool {
        match self.kind(ty) {
            TyKind::Block(..) | TyKind::Parser(..) | TyKind::Control(..) => {
                let shown = self.quote(ty);
                self.report(
                    Diagnostic::new(
                        &codes::INVALID_TYPE_ARGUMENT,
                        span,
                        format!("{shown} cannot be a type argument"),
                    )
                    .label("parsers, controls and packages are not types of values"),
                );
                false
            }
            _ => true,
        }
    }
}

/// A number for messages, cut when it is absurdly long.
pub(crate) fn short(v: &BigInt) -> String {
    if v.bits() > 256 { format!("a number of {} bits", v.bits()) } else { v.to_string() }
}
