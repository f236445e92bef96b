//! Parser states and `select`.

use crate::body::Body;
use crate::entries::without_casts;
use check::program::{
    Expr as CheckedExpr, ExprKind, NodeId, NodeKind, ParserDef, StackMember, StateRef, Transition,
};
use check::value::Value;
use diagnostics::Span;
use ir::{Expr, Keyset, NodeId as Node, Pattern, SelectCase, StructKind, TerminatorKind, Type};
use smol_str::{SmolStr, format_smolstr};

/// Reported when no case of a `select` matches (P4-16, "Select expressions").
const NO_MATCH: &str = "NoMatch";

/// The targets of transitions.
struct States {
    /// By the number of the state; `None` where it is never reached.
    nodes: Vec<Option<Node>>,
    accept: Option<Node>,
    reject: Option<Node>,
}

impl<'p> Body<'_, 'p> {
    /// The states of a parser, entered at `start`. Parameters and local variables stand ready. Afterwards the
    /// current node is one that nothing leads to.
    pub fn parser_states(&mut self, def: &'p ParserDef) {
        let Some(start) = def.states.iter().position(|s| s.name == "start") else {
            self.reject(def.span);
            return;
        };
        let path = self.state_path();
        let mut states = States { nodes: vec![None; def.states.len()], accept: None, reject: None };
        let mut todo = vec![start];
        let entry = self.new_node();
        states.nodes[start] = Some(entry);
        self.goto(entry, def.states[start].span);
        while let Some(i) = todo.pop() {
            let state = &def.states[i];
            let Some(node) = states.nodes[i] else { continue };
            self.node_mut(node).state = Some(match path.is_empty() {
                true => state.name.clone(),
                false => format_smolstr!("{path}.{}", state.name),
            });
            self.continue_at(node);
            self.statements(&state.body);
            match &state.transition {
                Transition::Direct(to, span) => {
                    let target = self.state_node(*to, &mut states, &mut todo, *span);
                    self.goto(target, *span);
                }
                Transition::Select { exprs, cases, span } => {
                    let targets: Vec<Node> = (cases.iter())
                        .map(|c| self.state_node(c.state, &mut states, &mut todo, c.span))
                        .collect();
                    let keysets: Vec<&[CheckedExpr]> = cases.iter().map(|c| c.keyset.as_slice()).collect();
                    self.select(exprs, &keysets, &targets, *span);
                }
            }
        }
    }

    /// The names of the objects between the block and this parser.
    fn state_path(&self) -> SmolStr {
        let p = self.e.p;
        let is_inside = |id: NodeId| {
            let parent =
                p.nodes[id].parent.filter(|parent| matches!(p.nodes[*parent].kind, NodeKind::Parser(_)));
            parent.map(|parent| (p.nodes[id].name.clone(), parent))
        };
        let mut path: Vec<SmolStr> = Vec::new();
        let mut at = self.names.object;
        while let Some((name, parent)) = at.and_then(is_inside) {
            path.push(name);
            at = Some(parent);
        }
        path.reverse();
        path.join(".").into()
    }

    /// The node of a state; states are written when something leads to them.
    fn state_node(&mut self, to: StateRef, states: &mut States, todo: &mut Vec<usize>, span: Span) -> Node {
        match to {
            StateRef::State(n) => {
                let n = n as usize;
                match states.nodes.get(n).copied() {
                    Some(Some(node)) => node,
                    Some(None) => {
                        let node = self.new_node();
                        states.nodes[n] = Some(node);
                        todo.push(n);
                        node
                    }
                    None => self.end_node(&mut states.reject, span, Body::reject),
                }
            }
            StateRef::Accept => self.end_node(&mut states.accept, span, Body::accept),
            StateRef::Reject | StateRef::Error => self.end_node(&mut states.reject, span, Body::reject),
        }
    }

    /// A node that ends the parser in one way, made once.
    fn end_node(&mut self, known: &mut Option<Node>, span: Span, end: fn(&mut Self, Span)) -> Node {
        *known.get_or_insert_with(|| {
            let (node, at) = (self.new_node(), self.at);
            self.continue_at(node);
            end(self, span);
            self.continue_at(at);
            node
        })
    }

    // -- select -----------------------------------------------------------------------------------

    /// Goes to the target of the first case that matches, otherwise rejects with `NoMatch`.
    fn select(&mut self, exprs: &[CheckedExpr], keysets: &[&[CheckedExpr]], targets: &[Node], span: Span) {
        let mut parts = Vec::new();
        exprs.iter().for_each(|e| literal_parts(e, &mut parts));
        let values = self.exprs(&parts);
        let mut keys = Vec::new();
        values.into_iter().for_each(|v| self.leaves_of(v, &mut keys));
        let mut cases = Vec::new();
        for (keyset, target) in keysets.iter().zip(targets) {
            // An expression that can fail is evaluated only when no earlier case matches.
            if keyset.iter().any(can_fail) && !cases.is_empty() {
                let (keys, cases, otherwise) = (keys.clone(), std::mem::take(&mut cases), self.new_node());
                self.terminate(TerminatorKind::Select { keys, cases, otherwise }, span);
                self.continue_at(otherwise);
            }
            let pattern = self.pattern(keyset, &keys);
            cases.push(SelectCase { pattern, target: *target });
        }
        let otherwise = self.new_node();
        self.terminate(TerminatorKind::Select { keys, cases, otherwise }, span);
        self.continue_at(otherwise);
        self.fail_with(NO_MATCH, span);
    }

    /// The single values in a value: the fields of structs and tuples.
    fn leaves_of(&self, value: Expr, out: &mut Vec<Expr>) {
        let Type::Struct(id) = value.ty else { return out.push(value) };
        let def = &self.e.out.structs[id];
        if let ir::ExprKind::Read(place) = &value.kind
            && def.kind == StructKind::Struct
        {
            for (i, field) in (0u32..).zip(&def.fields) {
                self.leaves_of(Expr::read(place.field(i), field.ty.clone()), out);
            }
        }
    }

    /// The pattern of one case.
    fn pattern(&mut self, keyset: &[CheckedExpr], keys: &[Expr]) -> Pattern {
        if let [one] = keyset {
            match &one.kind {
                ExprKind::DontCare | ExprKind::Default => {
                    return Pattern::Keys(keys.iter().map(|_| Keyset::Any).collect());
                }
                ExprKind::ValueSet(set) => {
                    if let Some(object) = self.names.object {
                        return Pattern::ValueSet(self.e.value_set(object, *set));
                    }
                }
                _ => {}
            }
        }
        let mut sets = Vec::new();
        for element in keyset {
            let mut parts = Vec::new();
            literal_parts(element, &mut parts);
            for part in parts {
                self.keyset(part, keys, &mut sets);
            }
        }
        sets.resize(keys.len(), Keyset::Any);
        Pattern::Keys(sets)
    }

    /// Appends the sets for the next keys: one, or those for all fields of a struct or tuple.
    fn keyset(&mut self, e: &CheckedExpr, keys: &[Expr], sets: &mut Vec<Keyset>) {
        let Some(key) = keys.get(sets.len()) else { return };
        let ty = key.ty.clone();
        let e = without_casts(e);
        match &e.kind {
            ExprKind::DontCare | ExprKind::Default => sets.push(Keyset::Any),
            ExprKind::ValueSet(set) => {
                if let Some(object) = self.names.object {
                    sets.push(Keyset::ValueSet(self.e.value_set(object, *set)));
                }
            }
            ExprKind::Mask { value, mask } => {
                let [value, mask] = self.fitting_pair(value, mask, &ty);
                sets.push(Keyset::Mask { value, mask });
            }
            ExprKind::Range { lo, hi } => {
                let [lo, hi] = self.fitting_pair(lo, hi, &ty);
                sets.push(Keyset::Range { lo, hi });
            }
            _ => {
                let mut leaves = Vec::new();
                let aggregate = self.constant(e).filter(|v| matches!(v, Value::Aggregate(_)));
                if let Some(value) = aggregate {
                    let ty = self.ty(e.ty);
                    let known = self.e.leaves(&value, &ty).unwrap_or_default();
                    for (bits, key) in known.into_iter().zip(&keys[sets.len()..]) {
                        let ty = key.ty.clone();
                        sets.push(Keyset::Value(Expr::new(ir::ExprKind::Const(bits), ty)));
                    }
                    return;
                }
                let value = self.expr(e);
                self.leaves_of(value, &mut leaves);
                for (leaf, key) in leaves.into_iter().zip(&keys[sets.len()..]) {
                    let leaf = self.fit(leaf, &key.ty, e.span);
                    sets.push(Keyset::Value(leaf));
                }
            }
        }
    }

    fn fitting_pair(&mut self, a: &CheckedExpr, b: &CheckedExpr, ty: &Type) -> [Expr; 2] {
        let (x, y) = self.operands(a, b);
        [self.fit(x, ty, a.span), self.fit(y, ty, b.span)]
    }
}

/// True for elements of stacks that may not be there. (Nothing can be called in a keyset.)
fn can_fail(e: &CheckedExpr) -> bool {
    let mut found = false;
    e.walk(&mut |e| {
        found |= matches!(e.kind, ExprKind::Stack { member: StackMember::Next | StackMember::Last, .. });
    });
    found
}

/// The expressions in a literal of a struct or tuple, others as they are.
fn literal_parts<'a>(e: &'a CheckedExpr, out: &mut Vec<&'a CheckedExpr>) {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || match &e.kind {
        ExprKind::List(items) | ExprKind::Struct(items) => {
            items.iter().for_each(|item| literal_parts(item, out));
        }
        ExprKind::Cast { operand, .. } if matches!(operand.kind, ExprKind::List(_) | ExprKind::Struct(_)) => {
            literal_parts(operand, out);
        }
        _ => out.push(e),
    });
}
