//! Unused parameters, and `out` arguments of one call that overlap.

use super::places::text;
use crate::codes;
use crate::program::*;
use diagnostics::{Diagnostic, Diagnostics, SourceMap, Span};
use rustc_hash::FxHashSet;

/// Arguments compared with one another in one call.
const COMPARED_MAX: usize = 64;

struct Uses<'a> {
    p: &'a Program,
    out: &'a mut Diagnostics,
    used: FxHashSet<VarId>,
}

pub(super) fn run(p: &Program, sources: &SourceMap, out: &mut Diagnostics) {
    let mut uses = Uses { p, out, used: FxHashSet::default() };
    let is_mine = |span: Span| !sources.is_system(span);
    let methods: FxHashSet<FunctionId> = p
        .instances
        .iter()
        .filter_map(|(_, i)| i.initializer.as_ref())
        .flat_map(|i| i.functions.iter().copied())
        .collect();
    for (id, f) in p.functions.iter().filter(|(_, f)| is_mine(f.span)) {
        if let Some(body) = &f.body {
            uses.used.clear();
            uses.block(body);
            // A method must have the parameters that its extern asks for.
            if !methods.contains(&id) {
                uses.params(&f.signature.params, "function", &f.name, body, sources);
            }
        }
    }
    for (_, a) in p.actions.iter().filter(|(_, a)| is_mine(a.span)) {
        uses.used.clear();
        uses.block(&a.body);
        uses.params(&a.params, "action", &a.name, &a.body, sources);
    }
    for (_, parser) in p.parsers.iter().filter(|(_, d)| is_mine(d.span)) {
        uses.locals(&parser.locals);
        for state in &parser.states {
            uses.stmts(&state.body);
            if let Transition::Select { exprs, .. } = &state.transition {
                exprs.iter().for_each(|e| uses.expr(e));
            }
        }
    }
    for (_, control) in p.controls.iter().filter(|(_, d)| is_mine(d.span)) {
        uses.locals(&control.locals);
        uses.block(&control.apply);
    }
}

impl Uses<'_> {
    fn params(&mut self, params: &[VarId], what: &str, owner: &str, body: &Block, sources: &SourceMap) {
        for &v in params {
            let var = &self.p.vars[v];
            if self.used.contains(&v) || var.name.is_empty() || var.name.starts_with('_') {
                continue;
            }
            // The flow analysis reports `out` parameters that a function does not write.
            if what == "function" && var.kind == VarKind::Param(Direction::Out) {
                continue;
            }
            // Expressions that were evaluated while compiling leave no trace of their parts.
            if mentions(sources.text(body.span), &var.name) {
                continue;
            }
            self.out.push(
                Diagnostic::new(
                    &codes::UNUSED,
                    var.span,
                    format!("parameter `{}` of {what} `{owner}` is never used", var.name),
                )
                .label("unused")
                // Controllers know parameters of actions by their names.
                .help(match what {
                    "action" => "use it, or remove it, also from entries that name it".to_string(),
                    _ => format!("remove it, or name it `_{}` to keep it", var.name),
                }),
            );
        }
    }

    fn locals(&mut self, locals: &[Local]) {
        for l in locals {
            if let Local::Var { init: Some(e), .. } = l {
                self.expr(e);
            }
        }
    }

    fn block(&mut self, b: &Block) {
        self.stmts(&b.stmts);
    }

    fn stmts(&mut self, stmts: &[Stmt]) {
        stmts.iter().for_each(|s| self.stmt(s));
    }

    fn stmt(&mut self, s: &Stmt) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.stmt_kind(&s.kind));
    }

    fn stmt_kind(&mut self, s: &StmtKind) {
        match s {
            StmtKind::Empty
            | StmtKind::Const(_)
            | StmtKind::Instance(_)
            | StmtKind::Exit
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Error => {}
            StmtKind::Var { init, .. } => self.maybe(init.as_ref()),
            StmtKind::Assign { lhs, rhs } | StmtKind::OpAssign { lhs, rhs, .. } => {
                self.expr(lhs);
                self.expr(rhs);
            }
            StmtKind::Call(e) => self.expr(e),
            StmtKind::Block(b) => self.block(b),
            StmtKind::If { condition, then, otherwise, .. } => {
                self.expr(condition);
                self.stmt(then);
                if let Some(o) = otherwise {
                    self.stmt(o);
                }
            }
            StmtKind::Return(e) => self.maybe(e.as_ref()),
            StmtKind::SwitchAction { apply, cases, .. } => {
                self.expr(apply);
                cases.iter().filter_map(|c| c.body.as_ref()).for_each(|b| self.block(b));
            }
            StmtKind::SwitchValue { subject, cases } => {
                self.expr(subject);
                cases.iter().filter_map(|c| c.body.as_ref()).for_each(|b| self.block(b));
            }
            StmtKind::For { init, condition, update, body, .. } => {
                self.stmts(init);
                self.expr(condition);
                self.stmts(update);
                self.stmt(body);
            }
            StmtKind::ForIn { collection, body, .. } => {
                match collection {
                    ForInCollection::Range(lo, hi) => {
                        self.expr(lo);
                        self.expr(hi);
                    }
                    ForInCollection::Elements(e) => self.expr(e),
                }
                self.stmt(body);
            }
        }
    }

    fn maybe(&mut self, e: Option<&Expr>) {
        if let Some(e) = e {
            self.expr(e);
        }
    }

    fn expr(&mut self, e: &Expr) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.expr_kind(e));
    }

    fn expr_kind(&mut self, e: &Expr) {
        if let ExprKind::Var(v) = &e.kind {
            self.used.insert(*v);
        }
        if let ExprKind::Call(call) = &e.kind {
            self.overlaps(call);
        }
        for_each_child(e, &mut |c| self.expr(c));
    }

    /// `out` arguments are written back one after the other: of two that overlap one is lost.
    fn overlaps(&mut self, call: &Call) {
        let p = self.p;
        let params: &[VarId] = match &call.callee {
            Callee::Function(id) => &p.functions[*id].signature.params,
            Callee::Action(id) => &p.actions[*id].params,
            Callee::Method { extern_, method, .. } => {
                p.externs[*extern_].methods.get(*method as usize).map_or(&[], |m| &m.signature.params)
            }
            Callee::BlockApply { object } => block_params(p, object),
            Callee::TableApply(_) | Callee::Builtin { .. } | Callee::Constructor { .. } => &[],
        };
        let gives_out =
            |v: &VarId| matches!(p.vars[*v].kind, VarKind::Param(Direction::Out | Direction::InOut));
        let mut written: Vec<(&Expr, Path)> = Vec::new();
        let mut outer: Vec<(&Expr, Path)> = Vec::new();
        for (v, arg) in params.iter().zip(&call.args) {
            let Some(arg) = arg else { continue };
            if gives_out(v) {
                if let Some(path) = path_of(arg) {
                    outer.push((arg, path));
                }
            } else {
                written_in(p, arg, &mut written);
            }
            if written.len() + outer.len() > COMPARED_MAX {
                return;
            }
        }
        for (i, (arg, path)) in outer.iter().enumerate() {
            let others = outer.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, o)| o);
            // Report one overlap per argument; later arguments of the pair are reported already.
            let Some((other, other_path)) = others.chain(&written).find(|(_, o)| path.overlaps(o)) else {
                continue;
            };
            let is_index = !path.is_same_root(other_path);
            let d = Diagnostic::new(
                &codes::ORDERING,
                arg.span,
                format!("`out` argument `{}` overlaps with another argument that is written", text(p, arg)),
            )
            .label("written by this call")
            .also(other.span, "written by the same call too")
            .note(if is_index {
                "the index is evaluated before the call; what the call writes to it changes nothing here"
            } else {
                "arguments are written back from left to right: the last one wins (P4-16, \"Calling convention\")"
            })
            .help("pass a variable of its own for one of the two, and copy it afterwards");
            self.out.push(d);
        }
    }
}

fn block_params<'p>(p: &'p Program, object: &Expr) -> &'p [VarId] {
    use crate::types::TyKind;
    match p.types.kind(object.ty) {
        TyKind::Parser(id, _) => &p.parsers[*id].params,
        TyKind::Control(id, _) => &p.controls[*id].params,
        TyKind::Block(id, _) => &p.block_types[*id].params,
        _ => &[],
    }
}

/// The place of an argument: a variable and the path into it. `None` in `steps`: some element.
struct Path {
    root: VarId,
    steps: Vec<Option<u32>>,
    /// Variables that decide about elements.
    indexes: Vec<VarId>,
}

impl Path {
    fn is_same_root(&self, other: &Path) -> bool {
        self.root == other.root
    }

    fn overlaps(&self, other: &Path) -> bool {
        if other.steps.is_empty() && self.indexes.contains(&other.root) {
            return true;
        }
        self.root == other.root
            && self.steps.iter().zip(&other.steps).all(|(a, b)| a == b || a.is_none() || b.is_none())
    }
}

fn path_of(e: &Expr) -> Option<Path> {
    let mut path = Vec::new();
    let mut indexes = Vec::new();
    let mut at = e;
    loop {
        match &at.kind {
            ExprKind::Var(v) => {
                path.reverse();
                return Some(Path { root: *v, steps: path, indexes });
            }
            ExprKind::Field { base, field } => {
                path.push(Some(*field));
                at = base;
            }
            ExprKind::TupleElement { base, index } => {
                path.push(Some(*index));
                at = base;
            }
            ExprKind::Index { base, index } => {
                let known = index.value.as_deref().and_then(|v| v.as_int());
                path.push(known.and_then(|v| u32::try_from(v).ok()));
                if let ExprKind::Var(v) = &index.kind {
                    indexes.push(*v);
                }
                at = base;
            }
            ExprKind::Stack { base, member: StackMember::Next | StackMember::Last } => {
                path.push(None);
                at = base;
            }
            // Slices of one variable are often written side by side on purpose.
            _ => return None,
        }
    }
}

/// Adds to `out` the places that calls inside an argument write.
fn written_in<'e>(p: &Program, e: &'e Expr, out: &mut Vec<(&'e Expr, Path)>) {
    if let ExprKind::Call(call) = &e.kind {
        let params: &[VarId] = match &call.callee {
            Callee::Function(id) => &p.functions[*id].signature.params,
            Callee::Method { extern_, method, .. } => {
                p.externs[*extern_].methods.get(*method as usize).map_or(&[], |m| &m.signature.params)
            }
            Callee::Action(_)
            | Callee::BlockApply { .. }
            | Callee::TableApply(_)
            | Callee::Builtin { .. }
            | Callee::Constructor { .. } => &[],
        };
        for (v, arg) in params.iter().zip(&call.args) {
            if let Some(arg) = arg
                && matches!(p.vars[*v].kind, VarKind::Param(Direction::Out | Direction::InOut))
                && let Some(path) = path_of(arg)
            {
                out.push((arg, path));
            }
        }
    }
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        let mut children = Vec::new();
        for_each_child(e, &mut |c| children.push(c));
        children.into_iter().for_each(|c| written_in(p, c, out));
    });
}

/// Calls `f` with the parts of an expression.
fn for_each_child<'e>(e: &'e Expr, f: &mut dyn FnMut(&'e Expr)) {
    match &e.kind {
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
        | ExprKind::Slice { base, .. } => f(base),
        ExprKind::Index { base, index } => {
            f(base);
            f(index);
        }
        ExprKind::PlusSlice { base, lo, .. } => {
            f(base);
            f(lo);
        }
        ExprKind::Unary { operand, .. } | ExprKind::Cast { operand, .. } => f(operand),
        ExprKind::Binary { lhs, rhs, .. } => {
            f(lhs);
            f(rhs);
        }
        ExprKind::Conditional { condition, then, otherwise } => {
            f(condition);
            f(then);
            f(otherwise);
        }
        ExprKind::List(values) | ExprKind::Struct(values) => values.iter().for_each(f),
        ExprKind::StructLiteral { fields, .. } => fields.iter().for_each(|(_, v)| f(v)),
        ExprKind::Mask { value, mask } => {
            f(value);
            f(mask);
        }
        ExprKind::Range { lo, hi } => {
            f(lo);
            f(hi);
        }
        ExprKind::Call(call) => {
            match &call.callee {
                Callee::Method { object, .. }
                | Callee::BlockApply { object }
                | Callee::Builtin { object, .. } => f(object),
                Callee::Function(_)
                | Callee::Action(_)
                | Callee::TableApply(_)
                | Callee::Constructor { .. } => {}
            }
            call.args.iter().flatten().for_each(f);
        }
        ExprKind::ApplyResult { apply, .. } => f(apply),
    }
}

/// True when a word stands in a text outside of comments.
fn mentions(text: &str, word: &str) -> bool {
    let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let rest = text.get(at..).unwrap_or_default();
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            at += rest.find("*/").map_or(rest.len(), |n| n + 2);
        } else if is_word(bytes[at]) {
            let end = bytes[at..].iter().position(|b| !is_word(*b)).map_or(bytes.len(), |n| at + n);
            if text.get(at..end) == Some(word) {
                return true;
            }
            at = end;
        } else {
            at += 1;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    #[test]
    fn words_are_whole() {
        assert!(super::mentions("x = port + 1", "port"));
        assert!(!super::mentions("x = ports + my_port", "port"));
        assert!(!super::mentions("x = 1; // port\n/* port */ y", "port"));
        assert!(super::mentions("// é\nport", "port"));
    }
}
