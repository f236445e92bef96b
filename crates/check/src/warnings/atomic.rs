//! Blocks marked `@atomic` that change several entries: an action is one step for its entry, a block is not one for several.

use crate::codes;
use crate::program::*;
use crate::types::TyKind;
use diagnostics::{Diagnostic, Diagnostics, Span};

/// Statements that are looked at in one program; blocks behind them get no warnings.
const N_STMTS_MAX: usize = 1 << 20;

pub(super) fn run(p: &Program, is_system: &dyn Fn(Span) -> bool, out: &mut Diagnostics) {
    let mut finder = Finder { p, out, mark: None, controls: Vec::new(), n_left: N_STMTS_MAX };
    for (_, control) in p.controls.iter().filter(|(_, d)| !is_system(d.span)) {
        finder.block(&control.apply);
    }
}

/// Applications of tables whose actions change their entries, on the way of a packet that makes most of them.
type Applied = Vec<(TableId, Span)>;

struct Finder<'a> {
    p: &'a Program,
    out: &'a mut Diagnostics,
    /// The annotation of the marked block that is looked at.
    mark: Option<Span>,
    /// Controls that are being looked at because a marked block applies them.
    controls: Vec<ControlId>,
    n_left: usize,
}

impl Finder<'_> {
    fn block(&mut self, block: &Block) -> Applied {
        self.marked(&block.annotations, |finder| {
            block.stmts.iter().flat_map(|stmt| finder.stmt(stmt)).collect()
        })
    }

    /// Looks at what annotations belong to. Within a marked block another mark says nothing new.
    fn marked(&mut self, annotations: &Annotations, look: impl FnOnce(&mut Self) -> Applied) -> Applied {
        let Some(mark) = annotation(annotations, "atomic").filter(|_| self.mark.is_none()) else {
            return look(self);
        };
        self.mark = Some(mark.span);
        let applied = look(self);
        self.mark = None;
        if let [(first, first_span), (second, second_span), ..] = applied.as_slice() {
            self.report(mark.span, (*first, *first_span), (*second, *second_span));
        }
        applied
    }

    fn report(&mut self, mark: Span, first: (TableId, Span), second: (TableId, Span)) {
        let name = |table: TableId| &self.p.tables[table].name;
        let message = match first.0 == second.0 {
            true => format!("this block changes two entries of table `{}`, each on its own", name(first.0)),
            false => format!(
                "this block changes entries of the tables `{}` and `{}`, each on its own",
                name(first.0),
                name(second.0)
            ),
        };
        self.out.push(
            Diagnostic::new(&codes::ATOMIC_ENTRIES, mark, message)
                .label("is no promise about several entries")
                .also(first.1, "an action changes its entry here")
                .also(second.1, "and another one here")
                .note("each action is one step for its entry; another packet may change either entry between the two")
                .help("keep values that belong together in one entry, and change them in one action"),
        );
    }

    fn stmts(&mut self, stmts: &[Stmt]) -> Applied {
        stmts.iter().flat_map(|stmt| self.stmt(stmt)).collect()
    }

    fn stmt(&mut self, stmt: &Stmt) -> Applied {
        if self.n_left == 0 {
            return Applied::new();
        }
        self.n_left -= 1;
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.parts_of(stmt))
    }

    fn parts_of(&mut self, stmt: &Stmt) -> Applied {
        match &stmt.kind {
            StmtKind::Empty
            | StmtKind::Const(_)
            | StmtKind::Instance(_)
            | StmtKind::Exit
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(None)
            | StmtKind::Var { init: None, .. }
            | StmtKind::Error => Applied::new(),
            StmtKind::Var { init: Some(e), .. } | StmtKind::Call(e) | StmtKind::Return(Some(e)) => {
                self.expr(e)
            }
            StmtKind::Assign { lhs, rhs } | StmtKind::OpAssign { lhs, rhs, .. } => {
                let mut applied = self.expr(lhs);
                applied.extend(self.expr(rhs));
                applied
            }
            StmtKind::Block(block) => self.block(block),
            StmtKind::If { condition, then, otherwise, annotations } => self.marked(annotations, |finder| {
                let mut applied = finder.expr(condition);
                let ways =
                    [finder.stmt(then), otherwise.as_ref().map_or_else(Applied::new, |s| finder.stmt(s))];
                applied.extend(longest(ways));
                applied
            }),
            StmtKind::SwitchAction { table: _, apply, cases } => {
                let mut applied = self.expr(apply);
                let ways = cases.iter().filter_map(|case| case.body.as_ref());
                applied.extend(longest(ways.map(|body| self.block(body))));
                applied
            }
            StmtKind::SwitchValue { subject, cases } => {
                let mut applied = self.expr(subject);
                let ways = cases.iter().filter_map(|case| case.body.as_ref());
                applied.extend(longest(ways.map(|body| self.block(body))));
                applied
            }
            StmtKind::For { init, condition, update, body, annotations } => {
                self.marked(annotations, |finder| {
                    let mut applied = finder.stmts(init);
                    let mut round = finder.expr(condition);
                    round.extend(finder.stmt(body));
                    round.extend(finder.stmts(update));
                    applied.extend(twice(round));
                    applied
                })
            }
            StmtKind::ForIn { var: _, collection, body, annotations } => self.marked(annotations, |finder| {
                let mut applied = match collection {
                    ForInCollection::Range(from, to) => [finder.expr(from), finder.expr(to)].concat(),
                    ForInCollection::Elements(list) => finder.expr(list),
                };
                applied.extend(twice(finder.stmt(body)));
                applied
            }),
        }
    }

    fn expr(&mut self, e: &Expr) -> Applied {
        let mut applied = Applied::new();
        let mut objects = Vec::new();
        e.walk(&mut |e| {
            let ExprKind::Call(call) = &e.kind else { return };
            match &call.callee {
                Callee::TableApply(table) if self.changes_entries(*table) => applied.push((*table, e.span)),
                Callee::BlockApply { object } => objects.push((object.ty, e.span)),
                Callee::Function(_)
                | Callee::Action(_)
                | Callee::Method { .. }
                | Callee::TableApply(_)
                | Callee::Builtin { .. }
                | Callee::Constructor { .. } => {}
            }
        });
        for (ty, span) in objects {
            let TyKind::Control(control, _) = self.p.types.kind(ty) else { continue };
            // Without a mark the other control is looked at on its own.
            if self.mark.is_none() || self.controls.contains(control) {
                continue;
            }
            self.controls.push(*control);
            let within = self.block(&self.p.controls[*control].apply);
            self.controls.pop();
            applied.extend(within.into_iter().map(|(table, _)| (table, span)));
        }
        applied
    }

    fn changes_entries(&self, table: TableId) -> bool {
        let actions = self.p.tables[table].actions.iter();
        actions
            .flat_map(|of| &self.p.actions[of.action].params)
            .any(|param| self.p.vars[*param].is_updatable())
    }
}

/// The branch with most applications.
fn longest(ways: impl IntoIterator<Item = Applied>) -> Applied {
    ways.into_iter().max_by_key(Vec::len).unwrap_or_default()
}

/// A loop may apply what is in it again.
fn twice(round: Applied) -> Applied {
    [round.clone(), round].concat()
}
