//! Diagnostics that need the whole program: unused declarations, and errors that give way to others.

use crate::checker::Checker;
use crate::codes;
use crate::program::*;
use crate::scope::{Frame, FrameKind, Res, TypeRes};
use diagnostics::{Diagnostic, Span};
use smol_str::SmolStr;

impl Checker<'_> {
    /// Warns of names that were declared in a scope and never used.
    pub fn report_unused(&mut self, frame: Frame) {
        let has_main = frame.names.contains_key("main");
        let mut list: Vec<(Span, &'static str, SmolStr)> = Vec::new();
        for (name, b) in frame.names {
            if b.used || name.starts_with('_') || self.sources.is_system(b.span) {
                continue;
            }
            let what = match &b.res {
                Res::Var(v) => match self.p.vars[*v].kind {
                    VarKind::Local => "variable",
                    VarKind::Param(_) | VarKind::CtorParam | VarKind::ForIn => continue,
                },
                // A constant may be there only for its assertion.
                Res::Const(id) if self.is_assertion(*id) => continue,
                Res::Const(_) => "constant",
                Res::Instance(_) if frame.kind == FrameKind::Program && name == "main" => continue,
                Res::Instance(_) => "instance",
                Res::Action(_) => "action",
                Res::Table(_) => "table",
                Res::ValueSet(_) => "value set",
                Res::Function(ids) => {
                    if ids.iter().all(|id| self.p.functions[*id].body.is_none()) {
                        continue;
                    }
                    "function"
                }
                Res::Type(TypeRes::Typedef(_) | TypeRes::Newtype(_)) => "type",
                // Without `main` nothing is instantiated; the missing `main` is reported once.
                Res::Type(TypeRes::Parser(_) | TypeRes::Control(_)) if !has_main => continue,
                Res::Type(TypeRes::Parser(_)) => "parser",
                Res::Type(TypeRes::Control(_)) => "control",
                // Types that only describe are often declared for completeness; p4c is silent too.
                Res::Type(
                    TypeRes::Struct(_)
                    | TypeRes::Enum(_)
                    | TypeRes::Extern(_)
                    | TypeRes::Block(_)
                    | TypeRes::Var(_)
                    | TypeRes::ExternForward,
                )
                | Res::EnumMember(..)
                | Res::Error => continue,
            };
            list.push((b.span, what, name));
        }
        list.sort();
        for (span, what, name) in list {
            let d = Diagnostic::new(&codes::UNUSED, span, format!("{what} `{name}` is never used"));
            self.report(match what {
                "parser" | "control" => d
                    .label("never instantiated")
                    .help(format!("instantiate it, for example as an argument of `main`: `{name}()`")),
                "table" => d
                    .label("never applied")
                    .help(format!("write `{name}.apply();` in the apply block, or remove it")),
                "action" => {
                    d.label("unused").help("list it in the `actions` of a table, call it, or remove it")
                }
                _ => d.label("unused").help(format!("remove it, or name it `_{name}` to keep it")),
            });
        }
    }

    /// `const bool x = static_assert(...);`
    fn is_assertion(&self, id: ConstId) -> bool {
        matches!(&self.p.constants[id].init.kind, ExprKind::Call(call)
            if matches!(call.callee, Callee::Function(f) if self.p.functions[f].name == "static_assert"))
    }

    /// Reports an error only if nothing else was wrong.
    pub fn late_error(&mut self, d: Diagnostic) {
        self.late.push(d);
    }

    /// Called once after all declarations.
    pub fn finish(&mut self) {
        if let Some(b) = self.scopes.frames[0].names.get("main")
            && matches!(b.res, Res::Type(_))
        {
            let span = b.span;
            self.report(
                Diagnostic::new(&codes::MAIN_NOT_PACKAGE, span, "`main` must be a package")
                    .label("not an instance of a package"),
            );
        }
        if !self.diags.has_errors() {
            for d in std::mem::take(&mut self.late) {
                self.report(d);
            }
            let names = std::mem::take(&mut self.scopes.frames[0].names);
            self.report_unused(Frame { kind: FrameKind::Program, names });
        }
    }
}
