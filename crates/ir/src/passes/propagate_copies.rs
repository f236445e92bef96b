//! Within a node, reads of a temporary become reads of what it was assigned from, while that has not changed.

use crate::layout::Layout;
use crate::visit::Access;
use crate::{Expr, ExprKind, NodeId, Place, Program, Step, StmtKind, VarId};
use rustc_hash::FxHashMap;

pub fn propagate_copies(program: &mut Program) {
    let layout = Layout::new(program);
    let mut graphs: Vec<_> = program.graphs_mut().map(|graph| std::mem::take(&mut graph.nodes)).collect();
    for nodes in &mut graphs {
        let ids: Vec<NodeId> = nodes.iter().map(|(id, _)| id).collect();
        for id in ids {
            let mut copies = Copies { program, layout: &layout, of: FxHashMap::default() };
            let node = &mut nodes[id];
            for stmt in &mut node.stmts {
                stmt.for_each_expr_mut(&mut |e| copies.replace(e));
                stmt.for_each_access(&mut |access, place| copies.on_access(access, place));
                if let StmtKind::Assign { place, value } = &stmt.kind {
                    copies.learn(place, value);
                }
            }
            node.terminator.kind.for_each_expr_mut(&mut |e| copies.replace(e));
        }
    }
    program.graphs_mut().zip(graphs).for_each(|(graph, nodes)| graph.nodes = nodes);
}

/// True when no step can follow the last step of the place.
fn ends(place: &Place) -> bool {
    match place.path.last() {
        Some(Step::Valid | Step::NextIndex | Step::Slice { .. } | Step::SliceAt { .. }) => true,
        Some(Step::Field(_) | Step::Element(_) | Step::Index(_)) | None => false,
    }
}

struct Copies<'p> {
    program: &'p Program,
    layout: &'p Layout,
    /// Constants, or reads of places without computed steps.
    of: FxHashMap<VarId, Expr>,
}

impl Copies<'_> {
    fn learn(&mut self, place: &Place, value: &Expr) {
        if !place.path.is_empty() || !self.program.is_temporary(place.var) {
            return;
        }
        let is_copy = match &value.kind {
            ExprKind::Const(_) => true,
            ExprKind::Read(source) => source.is_static() && source.var != place.var,
            ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Mux(..)
            | ExprKind::Cast(_)
            | ExprKind::Slice { .. }
            | ExprKind::SliceAt { .. }
            | ExprKind::PacketLength => false,
        };
        if is_copy {
            self.of.insert(place.var, value.clone());
        }
    }

    /// Forgets what a write makes untrue.
    fn on_access(&mut self, access: Access, place: &Place) {
        if access == Access::Read {
            return;
        }
        self.of.remove(&place.var);
        let written = self.layout.place(self.program, place).leaves;
        self.of.retain(|_, value| match &value.kind {
            ExprKind::Read(source) => {
                let read = self.layout.place(self.program, source).leaves;
                read.end <= written.start || written.end <= read.start
            }
            _ => true,
        });
    }

    fn replace(&self, e: &mut Expr) {
        if self.of.is_empty() {
            return;
        }
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            e.for_each_operand_mut(&mut |operand| self.replace(operand));
            let ExprKind::Read(place) = &mut e.kind else { return };
            match self.of.get(&place.var).map(|value| &value.kind) {
                Some(ExprKind::Read(source)) if place.path.is_empty() || !ends(source) => {
                    let rest = std::mem::take(&mut place.path);
                    *place = source.clone();
                    place.path.extend(rest);
                }
                Some(constant) if place.path.is_empty() => e.kind = constant.clone(),
                Some(_) | None => {}
            }
        });
    }
}
