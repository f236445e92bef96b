//! What can be said only at the end: unused declarations and errors that yield to others.

use crate::checker::Checker;
use crate::codes;
use crate::program::*;
use crate::scope::{Frame, Res};
use diagnostics::{Diagnostic, Span};

impl Checker<'_> {
    /// Warns of names that were declared in a scope and never used.
    pub fn report_unused(&mut self, frame: Frame) {
        let mut list: Vec<(Span, &'static str, smol_str::SmolStr)> = Vec::new();
        for (name, b) in frame.names {
            if b.used || name.starts_with('_') {
                continue;
            }
            let what = match b.res {
                Res::Var(v) => match self.p.vars[v].kind {
                    VarKind::Local => "variable",
                    VarKind::Param(_) | VarKind::CtorParam | VarKind::ForIn => continue,
                },
                Res::Const(_) => "constant",
                Res::Instance(_) => "instance",
                Res::Action(_) => "action",
                Res::Table(_) => "table",
                Res::ValueSet(_) => "value set",
                Res::Type(_) | Res::Function(_) | Res::EnumMember(..) | Res::Error => continue,
            };
            list.push((b.span, what, name));
        }
        list.sort();
        for (span, what, name) in list {
            self.report(
                Diagnostic::new(&codes::UNUSED, span, format!("{what} `{name}` is never used"))
                    .label("unused")
                    .help(format!("remove it, or name it `_{name}` to keep it")),
            );
        }
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
        }
    }
}
