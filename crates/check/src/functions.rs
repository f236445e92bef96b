//! Functions, externs and block types.

use crate::checker::Checker;
use crate::codes;
use crate::decl::ParamsOf;
use crate::program::*;
use crate::scope::{Context, FrameKind, Place, Res, TypeRes};
use crate::types::{Ty, TyKind, Types};
use crate::value::Value;
use diagnostics::{Diagnostic, Span};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use syntax::ast;

impl Checker<'_> {
    pub fn function(
        &mut self,
        proto: &ast::FunctionProto,
        body: Option<&ast::Block>,
        annotations: Annotations,
    ) -> Option<FunctionId> {
        let of = if body.is_none() { ParamsOf::ExternFunction } else { ParamsOf::Function };
        self.scopes.push(FrameKind::Params);
        let type_params = self.type_params(&proto.type_params);
        let params = self.params(&proto.params, of, None);
        let return_type = self.ty(&proto.return_type);
        self.check_return_type(return_type, &proto.return_type, body.is_some());
        let signature = Signature { type_params, params, return_type };
        let typed_body = body.map(|b| {
            let saved = std::mem::replace(
                &mut self.ctx,
                Context { place: Place::Function, return_type: Some(return_type), ..Context::new() },
            );
            self.declaring.push((proto.name.name.clone(), proto.name.span));
            let typed = self.block(b, &proto.return_type);
            self.declaring.pop();
            self.ctx = saved;
            self.check_returns(proto, &typed, return_type);
            typed
        });
        self.scopes.pop();
        let id = self.p.functions.push(FunctionDef {
            name: proto.name.name.clone(),
            span: proto.name.span,
            annotations,
            signature,
            body: typed_body,
        });
        self.declare_function(&proto.name, id);
        Some(id)
    }

    pub fn declare_function(&mut self, name: &ast::Ident, id: FunctionId) {
        let existing = match self.scopes.current().names.get(&name.name) {
            Some(b) => match &b.res {
                Res::Function(ids) => ids.clone(),
                _ => {
                    self.declare(name, Res::Function(vec![id]));
                    return;
                }
            },
            None => {
                self.declare(name, Res::Function(vec![id]));
                return;
            }
        };
        let new = self.param_names(&self.p.functions[id].signature.params.clone());
        for other in existing.iter().filter(|_| self.options.strict) {
            let old = self.param_names(&self.p.functions[*other].signature.params.clone());
            if old == new {
                let earlier = self.p.functions[*other].span;
                self.report(
                    Diagnostic::new(
                        &codes::METHOD_REDEFINED,
                        name.span,
                        format!("function `{}` is declared twice with the same parameters", name.name),
                    )
                    .label("declared again here")
                    .also(earlier, "first declared here")
                    .note("functions of one name must differ in the number or names of their parameters"),
                );
                return;
            }
        }
        if let Some(b) = self.scopes.current().names.get_mut(&name.name)
            && let Res::Function(ids) = &mut b.res
        {
            ids.push(id);
        }
    }

    pub fn param_names(&self, params: &[VarId]) -> Vec<SmolStr> {
        params.iter().map(|p| self.p.vars[*p].name.clone()).collect()
    }

    pub fn check_return_type(&mut self, ty: Ty, t: &ast::Type, has_body: bool) {
        let bad = match self.kind(ty) {
            TyKind::Block(..) | TyKind::Parser(..) | TyKind::Control(..) => true,
            TyKind::Extern(..) => has_body || self.options.strict,
            TyKind::Int | TyKind::Str => has_body && self.options.strict,
            _ => false,
        };
        if bad {
            let shown = self.quote(ty);
            self.report(
                Diagnostic::new(&codes::RETURN_TYPE, t.span, format!("a function cannot return {shown}"))
                    .label("not a type of values"),
            );
        }
    }

    /// Reports a function that can end without returning its value.
    pub fn check_returns(&mut self, proto: &ast::FunctionProto, body: &Block, return_type: Ty) {
        if return_type == Types::VOID || self.is_error(return_type) || always_returns(&body.stmts) {
            return;
        }
        self.report(
            Diagnostic::new(
                &codes::MISSING_RETURN,
                proto.name.span,
                format!("function `{}` does not return a value on all paths", proto.name.name),
            )
            .label("a path ends without `return`")
            .also(proto.return_type.span, format!("must return {}", self.quote(return_type))),
        );
    }

    pub fn extern_decl(&mut self, e: &ast::ExternDecl, annotations: Annotations) -> Option<ExternId> {
        let id = self.p.externs.push(ExternDef {
            name: e.name.name.clone(),
            span: e.name.span,
            annotations,
            type_params: Vec::new(),
            methods: Vec::new(),
        });
        // The name is visible inside: methods may mention the extern.
        self.declare(&e.name, Res::Type(TypeRes::Extern(id)));
        self.scopes.push(FrameKind::Params);
        let type_params = self.type_params(&e.type_params);
        self.p.externs[id].type_params = type_params;
        // Methods by what tells them apart; abstract ones cannot be overloaded.
        let mut declared: FxHashMap<(SmolStr, Vec<SmolStr>), Span> = FxHashMap::default();
        let mut abstract_ones: FxHashMap<SmolStr, Span> = FxHashMap::default();
        for m in &e.methods {
            let annotations = self.annotations(&m.annotations);
            let proto = &m.proto;
            if !m.is_constructor && proto.name.name == e.name.name {
                self.report(
                    Diagnostic::new(
                        &codes::CONSTRUCTOR_DECLARATION,
                        proto.return_type.span.to(proto.name.span),
                        format!("the constructor of `{}` cannot have a return type", e.name.name),
                    )
                    .label("has a return type")
                    .help(format!("write `{}(...);`", e.name.name)),
                );
                continue;
            }
            if m.is_constructor && proto.name.name != e.name.name {
                self.report(
                    Diagnostic::new(
                        &codes::CONSTRUCTOR_DECLARATION,
                        proto.name.span,
                        format!("method `{}` has no return type", proto.name.name),
                    )
                    .label("neither a method nor the constructor")
                    .help(format!("write `void {}(...);`, or name it `{}`", proto.name.name, e.name.name)),
                );
                continue;
            }
            self.scopes.push(FrameKind::Params);
            let tp = self.type_params(&proto.type_params);
            let of = if m.is_constructor { ParamsOf::ExternConstructor } else { ParamsOf::Method };
            let params = self.params(&proto.params, of, None);
            let return_type = if m.is_constructor { Types::VOID } else { self.ty(&proto.return_type) };
            if matches!(self.kind(return_type), TyKind::Int | TyKind::Str) {
                let shown = self.quote(return_type);
                self.report(
                    Diagnostic::new(
                        &codes::RETURN_TYPE,
                        proto.return_type.span,
                        format!("a method cannot return {shown}"),
                    )
                    .label("exists only at compile time"),
                );
            }
            self.scopes.pop();
            let full = (proto.name.name.clone(), self.param_names(&params));
            let clash = abstract_ones.get(&full.0).filter(|_| m.is_abstract).or_else(|| declared.get(&full));
            if let Some(&earlier) = clash {
                self.report(
                    Diagnostic::new(
                        &codes::METHOD_REDEFINED,
                        proto.name.span,
                        format!("method `{}` is declared twice with the same parameters", proto.name.name),
                    )
                    .label("declared again here")
                    .also(earlier, "first declared here")
                    .note("methods of one name must differ in the number or names of their parameters"),
                );
                continue;
            }
            if m.is_abstract {
                abstract_ones.insert(full.0.clone(), proto.name.span);
            }
            declared.insert(full, proto.name.span);
            let position = self.p.externs[id].methods.len() as u32;
            self.positions.methods.entry((id, proto.name.name.clone())).or_default().push(position);
            self.p.externs[id].methods.push(MethodDef {
                name: proto.name.name.clone(),
                span: proto.name.span,
                is_constructor: m.is_constructor,
                is_abstract: m.is_abstract,
                signature: Signature { type_params: tp, params, return_type },
                annotations,
            });
        }
        self.scopes.pop();
        Some(id)
    }

    pub fn block_type(
        &mut self,
        b: &ast::BlockType,
        kind: BlockKind,
        annotations: Annotations,
    ) -> Option<BlockTypeId> {
        self.scopes.push(FrameKind::Params);
        let type_params = self.type_params(&b.type_params);
        let of = if kind == BlockKind::Package { ParamsOf::Package } else { ParamsOf::Block };
        let params = self.params(&b.params, of, None);
        if kind == BlockKind::Package {
            for p in &params {
                let (ty, span) = (self.p.vars[*p].ty, self.p.vars[*p].span);
                if matches!(self.kind(ty), TyKind::Parser(..) | TyKind::Control(..)) {
                    let shown = self.quote(ty);
                    self.error(
                        &codes::PARAMETER_TYPE,
                        span,
                        format!("a package cannot take {shown}: use a parser or control type"),
                    );
                }
            }
        }
        self.scopes.pop();
        let n = params.len();
        let id = self.p.block_types.push(BlockTypeDef {
            kind,
            name: b.name.name.clone(),
            span: b.name.span,
            annotations,
            type_params,
            params,
        });
        // Packages of one name may differ in the number of parameters.
        if kind == BlockKind::Package
            && let Some(binding) = self.scopes.current().names.get(&b.name.name).cloned()
            && let Res::Type(TypeRes::Block(ids)) = &binding.res
            && ids.iter().all(|i| {
                self.p.block_types[*i].kind == BlockKind::Package && self.p.block_types[*i].params.len() != n
            })
        {
            let mut ids = ids.clone();
            ids.push(id);
            let binding = crate::scope::Binding { res: Res::Type(TypeRes::Block(ids)), ..binding };
            self.scopes.current().names.insert(b.name.name.clone(), binding);
            return Some(id);
        }
        self.declare(&b.name, Res::Type(TypeRes::Block(vec![id])));
        Some(id)
    }
}

/// True if control never reaches the end of the statements.
pub(crate) fn always_returns(stmts: &[Stmt]) -> bool {
    stmts.iter().any(|s| match &s.kind {
        StmtKind::Return(_) | StmtKind::Exit | StmtKind::Error => true,
        StmtKind::Block(b) => always_returns(&b.stmts),
        StmtKind::If { condition, then, otherwise, .. } => match condition.value.as_deref() {
            Some(Value::Bool(true)) => always_returns(std::slice::from_ref(then)),
            Some(Value::Bool(false)) => {
                otherwise.as_ref().is_some_and(|o| always_returns(std::slice::from_ref(o)))
            }
            _ => {
                otherwise.as_ref().is_some_and(|o| always_returns(std::slice::from_ref(o)))
                    && always_returns(std::slice::from_ref(then))
            }
        },
        StmtKind::SwitchValue { cases, .. } => {
            cases.iter().any(|c| c.label.is_none())
                && cases.iter().all(|c| c.body.as_ref().is_none_or(|b| always_returns(&b.stmts)))
                && cases.last().is_some_and(|c| c.body.is_some())
        }
        StmtKind::SwitchAction { cases, .. } => {
            cases.iter().any(|c| c.label.is_none())
                && cases.iter().all(|c| c.body.as_ref().is_none_or(|b| always_returns(&b.stmts)))
                && cases.last().is_some_and(|c| c.body.is_some())
        }
        _ => false,
    })
}
