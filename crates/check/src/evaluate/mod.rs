//! Instantiation: from the checked program to the tree of its objects.
//!
//! Every top-level instance is evaluated, `main` among them: constructor arguments get values, parsers and
//! controls that packages take are made with everything in them. The result is [`Program::nodes`]; in front of
//! it stand [`Program::eval`] for expressions inside an object and [`Program::object`] for what they mean.
//!
//! Start reading at [`evaluate`]; names are in `names.rs`, what survives constant folding in `live.rs`.

mod eval;
mod live;
mod names;
mod priorities;
#[cfg(test)]
mod tests;

pub use eval::Scope;
pub use names::{duplicate_action_names, full_name, is_hidden, local_name};

use crate::codes;
use crate::program::*;
use crate::types::{Ty, TyKind};
use crate::value::Value;
use diagnostics::{Diagnostic, Span};
use rustc_hash::FxHashSet;
use smol_str::SmolStr;
use std::rc::Rc;

/// Most objects that a program can have. Controls that instantiate two of their predecessors each would
/// double their number with every line.
pub const OBJECTS_MAX: usize = 1 << 16;

/// Fills [`Program::nodes`] and what belongs to it. The program must be free of errors.
pub(crate) fn evaluate(p: &mut Program) -> Vec<Diagnostic> {
    let mut e = Evaluator { p, diagnostics: Vec::new(), is_full: false };
    let instances: Vec<InstanceId> = (e.p.decls.iter())
        .filter_map(|d| match d {
            DeclRef::Instance(id) => Some(*id),
            _ => None,
        })
        .collect();
    for id in instances {
        if let Some(node) = e.instance(id, None) {
            e.p.top_level.push(node);
            if e.p.instances[id].name == "main" {
                e.p.main = Some(node);
            }
        }
    }
    let Evaluator { diagnostics, .. } = e;
    let live: Vec<(NodeId, Live)> = p.nodes.iter().map(|(id, _)| (id, p.live(id))).collect();
    for (id, live) in live {
        p.nodes[id].live = live;
    }
    diagnostics
}

struct Evaluator<'p> {
    p: &'p mut Program,
    diagnostics: Vec<Diagnostic>,
    /// [`OBJECTS_MAX`] was reached, and reported.
    is_full: bool,
}

/// The arguments of [`Evaluator::make`].
struct New<'a> {
    ty: Ty,
    name: SmolStr,
    annotations: Annotations,
    origin: Origin,
    constructor: Option<u32>,
    args: &'a [Option<Expr>],
    params: Vec<VarId>,
    span: Span,
}

impl Evaluator<'_> {
    fn instance(&mut self, id: InstanceId, scope: Scope) -> Option<NodeId> {
        let def = &self.p.instances[id];
        let (ty, name, annotations, span) = (def.ty, def.name.clone(), def.annotations.clone(), def.span);
        let (args, constructor) = (def.args.clone(), def.constructor);
        let inner: Vec<InstanceId> = def.initializer.as_ref().map_or(Vec::new(), |i| i.instances.clone());
        let params = self.params(ty, constructor);
        let origin = Origin::Declared(id);
        let node =
            self.make(New { ty, name, annotations, origin, constructor, args: &args, params, span }, scope)?;
        for id in inner {
            let child = self.instance(id, Some(node));
            self.p.nodes[node].children.extend(child);
        }
        Some(node)
    }

    fn params(&self, ty: Ty, constructor: Option<u32>) -> Vec<VarId> {
        match self.p.types.kind(ty) {
            TyKind::Array(element, _) => self.params(*element, constructor),
            TyKind::Extern(id, _) => (constructor)
                .and_then(|c| self.p.externs[*id].methods.get(c as usize))
                .map_or(Vec::new(), |m| m.signature.params.clone()),
            TyKind::Parser(id, _) => self.p.parsers[*id].ctor_params.clone(),
            TyKind::Control(id, _) => self.p.controls[*id].ctor_params.clone(),
            TyKind::Block(id, _) => self.p.block_types[*id].params.clone(),
            _ => Vec::new(),
        }
    }

    fn kind(&self, ty: Ty) -> Option<NodeKind> {
        match self.p.types.kind(ty) {
            TyKind::Array(element, _) => self.kind(*element),
            TyKind::Extern(id, _) => Some(NodeKind::Extern(*id)),
            TyKind::Parser(id, _) => Some(NodeKind::Parser(*id)),
            TyKind::Control(id, _) => Some(NodeKind::Control(*id)),
            TyKind::Block(id, _) => Some(NodeKind::Package(*id)),
            _ => None,
        }
    }

    fn make(&mut self, new: New<'_>, scope: Scope) -> Option<NodeId> {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.make_inner(new, scope))
    }

    fn make_inner(&mut self, new: New<'_>, scope: Scope) -> Option<NodeId> {
        let kind = self.kind(new.ty)?;
        // Declarations come before uses, so nothing contains itself; the number of objects bounds the rest.
        if self.is_full || self.p.nodes.len() >= OBJECTS_MAX {
            if !std::mem::replace(&mut self.is_full, true) {
                self.diagnostics.push(
                    Diagnostic::new(
                        &codes::TOO_DEEP,
                        new.span,
                        format!("the program has more than {OBJECTS_MAX} objects"),
                    )
                    .label("one object too many")
                    .help("instantiate controls and parsers fewer times"),
                );
            }
            return None;
        }
        let path = scope.map_or("", |id| &self.p.nodes[id].control_plane_name);
        let is_argument_of_package = matches!(new.origin, Origin::Argument(_))
            && scope.is_some_and(|id| matches!(self.p.nodes[id].kind, NodeKind::Package(_)));
        // Blocks of a package go by their declarations, and `@name` there is ignored.
        let control_plane_name = match kind {
            NodeKind::Parser(_) | NodeKind::Control(_) if is_argument_of_package => {
                self.kind_name(kind).to_string()
            }
            _ if is_argument_of_package => full_name("", &new.name, &new.annotations),
            _ => full_name(path, &new.name, &new.annotations),
        };
        let ty = self.type_in(new.ty, scope);
        let id = self.p.nodes.push(Node {
            kind,
            ty,
            name: new.name,
            control_plane_name,
            annotations: new.annotations,
            origin: new.origin,
            constructor: new.constructor,
            args: Vec::new(),
            children: Vec::new(),
            parent: scope,
            span: new.span,
            live: Live::default(),
        });
        let mut args = Vec::with_capacity(new.args.len());
        for (i, arg) in new.args.iter().enumerate() {
            args.push(match (arg, new.params.get(i)) {
                (Some(e), param) => self.argument(e, param.copied(), id, scope),
                (None, _) => None,
            });
        }
        self.p.nodes[id].args = args;
        self.contents(kind, id);
        Some(id)
    }

    fn kind_name(&self, kind: NodeKind) -> &SmolStr {
        match kind {
            NodeKind::Package(id) => &self.p.block_types[id].name,
            NodeKind::Parser(id) => &self.p.parsers[id].name,
            NodeKind::Control(id) => &self.p.controls[id].name,
            NodeKind::Extern(id) => &self.p.externs[id].name,
        }
    }

    fn type_in(&mut self, ty: Ty, scope: Scope) -> Ty {
        let mut types = std::mem::take(&mut self.p.types);
        // Collect the type parameters first: looking up their arguments needs the table of types in its place.
        let mut vars = Vec::new();
        types.map(ty, &mut |types, t| {
            if let TyKind::Var(v) = types.kind(t) {
                vars.push(*v);
            }
            None
        });
        self.p.types = types;
        if vars.is_empty() {
            return ty;
        }
        let known: Vec<(TypeVarId, Option<Ty>)> =
            vars.into_iter().map(|v| (v, self.p.type_argument(v, scope))).collect();
        self.p.types.replace_vars(ty, &|v| known.iter().find(|(k, _)| *k == v).and_then(|(_, t)| *t))
    }

    /// An argument: a value, or an object that is made for it inside `owner`.
    fn argument(&mut self, e: &Expr, param: Option<VarId>, owner: NodeId, scope: Scope) -> Option<Value> {
        let inner = match &e.kind {
            ExprKind::Cast { operand, .. } => operand,
            _ => e,
        };
        let (ty, constructor, args, params) = match (&inner.kind, param) {
            (ExprKind::Call(call), Some(_)) => match &call.callee {
                Callee::Constructor { ty, constructor } => {
                    (*ty, *constructor, &call.args, self.params(*ty, *constructor))
                }
                // A factory of extern objects.
                Callee::Function(f) => {
                    (inner.ty, None, &call.args, self.p.functions[*f].signature.params.clone())
                }
                _ => return self.p.eval(e, scope),
            },
            _ => return self.p.eval(e, scope),
        };
        let param = param?;
        if self.kind(ty).is_none() {
            return self.p.eval(e, scope);
        }
        let name = self.p.vars[param].name.clone();
        let origin = Origin::Argument(param);
        // Type parameters and names in the argument are those around the owner.
        let ty = self.type_in(ty, scope);
        let args: Vec<Option<Expr>> = args.clone();
        let annotations: Annotations = Rc::new(Vec::new());
        let node = self.make(
            New { ty, name, annotations, origin, constructor, args: &args, params, span: inner.span },
            Some(owner),
        )?;
        self.p.nodes[owner].children.push(node);
        Some(Value::Object(node))
    }

    /// Makes what a parser or control declares, applies directly, or constructs in table properties.
    fn contents(&mut self, kind: NodeKind, id: NodeId) {
        let mut found = Found::default();
        match kind {
            NodeKind::Control(c) => {
                let def = &self.p.controls[c];
                found.locals(self.p, &def.locals);
                found.block(&def.apply);
            }
            NodeKind::Parser(p) => {
                let def = &self.p.parsers[p];
                found.locals(self.p, &def.locals);
                for state in &def.states {
                    state.body.iter().for_each(|s| found.stmt(s));
                    if let Transition::Select { exprs, .. } = &state.transition {
                        exprs.iter().for_each(|e| found.expr(e));
                    }
                }
            }
            NodeKind::Package(_) | NodeKind::Extern(_) => return,
        }
        for instance in found.instances {
            let child = self.instance(instance, Some(id));
            self.p.nodes[id].children.extend(child);
        }
        let direct = (found.direct.into_iter())
            .map(|e| (e, None))
            .chain(found.properties.into_iter().map(|(e, p)| (e, Some(p))));
        let mut seen = FxHashSet::default();
        for (e, property) in direct {
            let ExprKind::Call(call) = &e.kind else { continue };
            let Callee::Constructor { ty, constructor } = call.callee else { continue };
            let Some(kind) = self.kind(ty) else { continue };
            let (name, annotations, origin) = match property {
                None => (self.kind_name(kind).clone(), Rc::new(Vec::new()), Origin::DirectApply(e.span)),
                Some((table, i)) => {
                    let p = &self.p.tables[table].properties[i as usize];
                    (p.name.clone(), p.annotations.clone(), Origin::Property(table, i))
                }
            };
            if !seen.insert(origin) {
                continue;
            }
            let params = self.params(ty, constructor);
            let new =
                New { ty, name, annotations, origin, constructor, args: &call.args, params, span: e.span };
            let child = self.make(new, Some(id));
            self.p.nodes[id].children.extend(child);
        }
    }
}

/// The places in a block's code that make objects.
#[derive(Default)]
struct Found {
    instances: Vec<InstanceId>,
    /// Constructor calls that are applied at once.
    direct: Vec<Expr>,
    /// Constructor calls in table properties.
    properties: Vec<(Expr, (TableId, u32))>,
}

impl Found {
    fn locals(&mut self, p: &Program, locals: &[Local]) {
        for local in locals {
            match local {
                Local::Instance(id) => self.instances.push(*id),
                Local::Var { init: Some(init), .. } => self.expr(init),
                Local::Table(id) => {
                    for (i, property) in p.tables[*id].properties.iter().enumerate() {
                        if is_constructor(&property.value) {
                            self.properties.push((property.value.clone(), (*id, i as u32)));
                        }
                    }
                }
                Local::Var { init: None, .. } | Local::Const(_) | Local::Action(_) | Local::ValueSet(_) => {}
            }
        }
    }

    fn block(&mut self, block: &Block) {
        block.stmts.iter().for_each(|s| self.stmt(s));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.stmt_inner(stmt));
    }

    fn stmt_inner(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Instance(id) => self.instances.push(*id),
            // Applications of blocks give no value: they are statements of their own.
            StmtKind::Call(e) => self.expr(e),
            StmtKind::Block(b) => self.block(b),
            StmtKind::If { then, otherwise, .. } => {
                self.stmt(then);
                otherwise.iter().for_each(|s| self.stmt(s));
            }
            StmtKind::SwitchAction { cases, .. } => {
                cases.iter().filter_map(|c| c.body.as_ref()).for_each(|b| self.block(b));
            }
            StmtKind::SwitchValue { cases, .. } => {
                cases.iter().filter_map(|c| c.body.as_ref()).for_each(|b| self.block(b));
            }
            StmtKind::For { body, .. } | StmtKind::ForIn { body, .. } => self.stmt(body),
            StmtKind::Empty
            | StmtKind::Var { .. }
            | StmtKind::Const(_)
            | StmtKind::Assign { .. }
            | StmtKind::OpAssign { .. }
            | StmtKind::Return(_)
            | StmtKind::Exit
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Error => {}
        }
    }

    fn expr(&mut self, e: &Expr) {
        if let ExprKind::Call(call) = &e.kind
            && let Callee::BlockApply { object } = &call.callee
            && is_constructor(object)
        {
            self.direct.push(object.clone());
        }
    }
}

fn is_constructor(e: &Expr) -> bool {
    matches!(&e.kind, ExprKind::Call(call) if matches!(call.callee, Callee::Constructor { .. }))
}
