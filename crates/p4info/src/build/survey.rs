//! Survey of the objects of a program in the order of P4Info: the blocks of packages with their contents,
//! flattened.

use check::program::*;
use rustc_hash::FxHashSet;

/// A parser or control that a package takes, with everything that remains in it and in the blocks that it
/// applies.
#[derive(Default)]
pub(super) struct Block {
    /// Contents, with actions of the top level first.
    pub items: Vec<Item>,
    /// Applied parsers and controls, beginning with the block itself.
    pub nodes: Vec<NodeId>,
}

/// An object inside a block, with the node that declares it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item {
    Extern(NodeId),
    Table(NodeId, TableId),
    Action(NodeId, ActionId, Use),
    ValueSet(NodeId, ValueSetId),
}

/// Use of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// Tables list the action; code may call it too.
    Listed,
    /// Only code calls the action, so calls bind all its parameters.
    Called,
}

/// A survey of a program.
#[derive(Default)]
pub(super) struct Survey {
    pub top_level_externs: Vec<NodeId>,
    pub blocks: Vec<Block>,
}

impl Survey {
    pub fn of(p: &Program) -> Survey {
        let mut survey = Survey::default();
        for node in &p.top_level {
            survey.visit(p, *node);
        }
        survey
    }

    /// Visits a node; the arguments of a package come before the package.
    fn visit(&mut self, p: &Program, id: NodeId) {
        match p.nodes[id].kind {
            NodeKind::Package(_) => p.nodes[id].children.iter().for_each(|c| self.visit(p, *c)),
            NodeKind::Extern(_) => self.top_level_externs.push(id),
            NodeKind::Parser(_) | NodeKind::Control(_) => {
                let mut flat = Flat { p, block: Block::default(), applied: applied(p, id) };
                flat.add(id);
                let mut block = flat.block;
                let global = global_actions(p, id, &block.items);
                block.items.splice(0..0, global);
                self.blocks.push(block);
            }
        }
    }
}

/// The parsers and controls that are applied in a block, by itself or by what it applies: an instance may be
/// handed on as a constructor argument.
fn applied(p: &Program, root: NodeId) -> FxHashSet<NodeId> {
    let mut found = FxHashSet::default();
    let mut todo = vec![root];
    while let Some(id) = todo.pop() {
        todo.extend(p.nodes[id].live.applied.iter().copied().filter(|a| found.insert(*a)));
    }
    found
}

/// Actions of the top level that a block uses, in the order in which p4c copies them into the flattened block: first
/// those that its tables list, then those that its body calls, where the bodies of the controls that it applies
/// stand in place of the calls.
fn global_actions(p: &Program, root: NodeId, items: &[Item]) -> Vec<Item> {
    let mut listed: FxHashSet<ActionId> = FxHashSet::default();
    let mut found = Vec::new();
    let mut add = |node, action: ActionId, used| {
        if p.actions[action].is_global && listed.insert(action) {
            found.push(Item::Action(node, action, used));
        }
    };
    for item in items {
        match item {
            Item::Table(node, t) => {
                p.tables[*t].actions.iter().for_each(|e| add(*node, e.action, Use::Listed));
            }
            Item::Extern(_) | Item::Action(..) | Item::ValueSet(..) => {}
        }
    }
    let mut entered = FxHashSet::from_iter([root]);
    let mut todo: Vec<(NodeId, Step)> = steps(p, root);
    while let Some((node, step)) = todo.pop() {
        match step {
            Step::Call(action) => add(node, action, Use::Called),
            Step::Apply(child) if entered.insert(child) => todo.extend(steps(p, child)),
            Step::Apply(_) => {}
        }
    }
    found
}

/// Something that the body of a control does.
enum Step {
    Call(ActionId),
    Apply(NodeId),
}

/// The steps of an object's body in reverse order.
fn steps(p: &Program, id: NodeId) -> Vec<(NodeId, Step)> {
    let NodeKind::Control(control) = p.nodes[id].kind else { return Vec::new() };
    let calls = p.live_calls(&p.controls[control].apply, Some(id));
    let steps = calls.into_iter().rev().filter_map(|(_, call)| match &call.callee {
        Callee::Action(action) => Some(Step::Call(*action)),
        Callee::BlockApply { object } => p.object(object, Some(id)).map(Step::Apply),
        Callee::Function(_)
        | Callee::Method { .. }
        | Callee::TableApply(_)
        | Callee::Builtin { .. }
        | Callee::Constructor { .. } => None,
    });
    steps.map(|step| (id, step)).collect()
}

/// A block that is being flattened.
struct Flat<'p> {
    p: &'p Program,
    block: Block,
    applied: FxHashSet<NodeId>,
}

impl Flat<'_> {
    fn add(&mut self, id: NodeId) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.add_inner(id));
    }

    fn add_inner(&mut self, id: NodeId) {
        let p = self.p;
        let node = &p.nodes[id];
        self.block.nodes.push(id);
        let locals = match node.kind {
            NodeKind::Control(c) => &p.controls[c].locals,
            NodeKind::Parser(c) => &p.parsers[c].locals,
            NodeKind::Package(_) | NodeKind::Extern(_) => return,
        };
        // Objects made in the arguments of this one.
        for child in &node.children {
            if matches!(p.nodes[*child].origin, Origin::Argument(_)) {
                self.child(*child);
            }
        }
        let used = UsedActions::of(p, id, locals);
        for local in locals {
            match local {
                Local::Instance(instance) => {
                    let child =
                        node.children.iter().find(|c| p.nodes[**c].origin == Origin::Declared(*instance));
                    if let Some(child) = child {
                        self.child(*child);
                    }
                }
                Local::Table(t) if is_live_table(p, id, *t) => self.block.items.push(Item::Table(id, *t)),
                Local::Action(a) if used.all.contains(a) || is_kept(&p.actions[*a].name) => {
                    self.block.items.push(Item::Action(id, *a, used.kind(*a)));
                }
                Local::ValueSet(s) if node.live.value_sets.contains(s) || is_kept(&p.value_sets[*s].name) => {
                    self.block.items.push(Item::ValueSet(id, *s));
                }
                Local::Table(_)
                | Local::Action(_)
                | Local::ValueSet(_)
                | Local::Const(_)
                | Local::Var { .. } => {}
            }
        }
        let declared: FxHashSet<InstanceId> = (locals.iter())
            .filter_map(|l| match l {
                Local::Instance(i) => Some(*i),
                _ => None,
            })
            .collect();
        for child in &node.children {
            match p.nodes[*child].origin {
                // Declared in the body, or applied directly.
                Origin::Declared(i) if !declared.contains(&i) => self.child(*child),
                Origin::DirectApply(_) => self.child(*child),
                Origin::Declared(_) | Origin::Argument(_) | Origin::Property(..) => {}
            }
        }
    }

    fn child(&mut self, id: NodeId) {
        let p = self.p;
        let child = &p.nodes[id];
        match child.kind {
            NodeKind::Extern(_) => self.block.items.push(Item::Extern(id)),
            NodeKind::Parser(_) | NodeKind::Control(_) => {
                if self.applied.contains(&id) || is_kept(&child.name) {
                    self.add(id);
                }
            }
            NodeKind::Package(_) => {}
        }
    }
}

/// Names that are never removed.
fn is_kept(name: &str) -> bool {
    name.starts_with("__")
}

fn is_live_table(p: &Program, id: NodeId, table: TableId) -> bool {
    p.nodes[id].live.tables.contains(&table) || is_kept(&p.tables[table].name)
}

/// The actions of an object that its tables list or its body calls. Those that only actions call dissolve into them.
struct UsedActions {
    all: FxHashSet<ActionId>,
    in_tables: FxHashSet<ActionId>,
}

impl UsedActions {
    fn of(p: &Program, id: NodeId, locals: &[Local]) -> UsedActions {
        let mut in_tables: FxHashSet<ActionId> = FxHashSet::default();
        for local in locals {
            if let Local::Table(t) = local
                && is_live_table(p, id, *t)
            {
                in_tables.extend(p.tables[*t].actions.iter().map(|e| e.action));
            }
        }
        let mut all = in_tables.clone();
        all.extend(p.nodes[id].live.called_actions.iter().copied());
        UsedActions { all, in_tables }
    }

    fn kind(&self, action: ActionId) -> Use {
        if self.in_tables.contains(&action) { Use::Listed } else { Use::Called }
    }
}
