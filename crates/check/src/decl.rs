//! Declarations of types, functions, externs, constants, variables and instances.

use crate::checker::Checker;
use crate::codes;
use crate::program::*;
use crate::scope::{Res, TypeRes};
use diagnostics::Diagnostic;
use syntax::ast;

/// The kind of declaration that has a parameter list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ParamsOf {
    /// Apply parameters of parsers, controls and their types.
    Block,
    /// Constructor parameters of parsers and controls.
    BlockConstructor,
    Package,
    Function,
    ExternFunction,
    Method,
    ExternConstructor,
    Action,
}

impl Checker<'_> {
    pub fn program(&mut self, program: &ast::Program) {
        for decl in &program.decls {
            if let Some(name) = decl_name(&decl.kind) {
                self.top_level.entry(name.name.clone()).or_insert(name.span);
            }
        }
        for decl in &program.decls {
            if let Some(r) = self.decl(decl) {
                self.p.decls.push(r);
            }
        }
    }

    /// A declaration at the top level.
    fn decl(&mut self, decl: &ast::Decl) -> Option<DeclRef> {
        let annotations = self.annotations(&decl.annotations);
        match &decl.kind {
            ast::DeclKind::Const(c) => self.const_decl(c, annotations).map(DeclRef::Const),
            ast::DeclKind::Variable(v) => {
                self.report(
                    Diagnostic::new(
                        &codes::STATEMENT_NOT_ALLOWED,
                        decl.span,
                        "variables cannot be declared at the top level",
                    )
                    .label("outside of any control, parser or function")
                    .help("declare a constant, or move it into a control or parser"),
                );
                let ty = self.ty(&v.ty);
                self.new_var(&v.name, ty, VarKind::Local, annotations);
                None
            }
            ast::DeclKind::Instantiation(i) => {
                self.instantiation(i, annotations, decl.span).map(DeclRef::Instance)
            }
            ast::DeclKind::Extern(e) => self.extern_decl(e, annotations).map(DeclRef::Extern),
            ast::DeclKind::ExternForward(name) => {
                if !self.scopes.current().names.contains_key(&name.name) {
                    self.declare(name, Res::Type(TypeRes::ExternForward));
                }
                None
            }
            ast::DeclKind::ExternFunction(proto) => {
                self.function(proto, None, annotations).map(DeclRef::Function)
            }
            ast::DeclKind::Function(f) => {
                self.function(&f.proto, Some(&f.body), annotations).map(DeclRef::Function)
            }
            ast::DeclKind::Action(a) => self.action_decl(a, annotations, true).map(DeclRef::Action),
            ast::DeclKind::Parser(p) => self.parser_decl(p, annotations).map(DeclRef::Parser),
            ast::DeclKind::Control(c) => self.control_decl(c, annotations).map(DeclRef::Control),
            ast::DeclKind::ParserType(b) => {
                self.block_type(b, BlockKind::Parser, annotations).map(DeclRef::BlockType)
            }
            ast::DeclKind::ControlType(b) => {
                self.block_type(b, BlockKind::Control, annotations).map(DeclRef::BlockType)
            }
            ast::DeclKind::Package(b) => {
                self.block_type(b, BlockKind::Package, annotations).map(DeclRef::BlockType)
            }
            ast::DeclKind::Struct(s) => self.struct_decl(s, annotations).map(DeclRef::Struct),
            ast::DeclKind::Enum(e) => self.enum_decl(e, annotations).map(DeclRef::Enum),
            ast::DeclKind::Typedef(t) => self.typedef_decl(t, annotations).map(DeclRef::Typedef),
            ast::DeclKind::Newtype(t) => self.newtype_decl(t, annotations).map(DeclRef::Newtype),
            ast::DeclKind::Error(members) => {
                for m in members {
                    if let Err(earlier) = self.p.errors.declare(&m.name, m.span) {
                        self.report_duplicate(&m.name, m.span, earlier);
                    }
                }
                None
            }
            ast::DeclKind::MatchKind(members) => {
                for m in members {
                    if let Err(earlier) = self.p.match_kinds.declare(&m.name, m.span) {
                        self.report_duplicate(&m.name, m.span, earlier);
                    }
                }
                None
            }
            ast::DeclKind::Table(t) => {
                self.report(
                    Diagnostic::new(
                        &codes::STATEMENT_NOT_ALLOWED,
                        t.name.span,
                        "tables can be declared only in controls",
                    )
                    .label("not in a control"),
                );
                None
            }
            ast::DeclKind::ValueSet(v) => {
                self.report(
                    Diagnostic::new(
                        &codes::STATEMENT_NOT_ALLOWED,
                        v.name.span,
                        "value sets can be declared only in parsers",
                    )
                    .label("not in a parser"),
                );
                None
            }
        }
    }
}

/// The name that a declaration introduces.
pub(crate) fn decl_name(kind: &ast::DeclKind) -> Option<&ast::Ident> {
    Some(match kind {
        ast::DeclKind::Const(c) => &c.name,
        ast::DeclKind::Variable(v) => &v.name,
        ast::DeclKind::Instantiation(i) => &i.name,
        ast::DeclKind::Extern(e) => &e.name,
        ast::DeclKind::ExternForward(n) => n,
        ast::DeclKind::ExternFunction(p) => &p.name,
        ast::DeclKind::Function(f) => &f.proto.name,
        ast::DeclKind::Action(a) => &a.name,
        ast::DeclKind::Parser(p) => &p.head.name,
        ast::DeclKind::Control(c) => &c.head.name,
        ast::DeclKind::ParserType(b) | ast::DeclKind::ControlType(b) | ast::DeclKind::Package(b) => &b.name,
        ast::DeclKind::Struct(s) => &s.name,
        ast::DeclKind::Enum(e) => &e.name,
        ast::DeclKind::Typedef(t) | ast::DeclKind::Newtype(t) => &t.name,
        ast::DeclKind::Error(_) | ast::DeclKind::MatchKind(_) => return None,
        ast::DeclKind::Table(t) => &t.name,
        ast::DeclKind::ValueSet(v) => &v.name,
    })
}
