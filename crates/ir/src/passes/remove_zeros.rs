//! Drops the zeroing of headers whose fields are all assigned before anything reads them.
//!
//! Most programs assign every field of a header that they make valid: for these, zeroing it first would be wasted.

use crate::layout::Exactness;
use crate::leaf_set::LeafSet;
use crate::liveness::{Ends, Liveness};
use crate::lookup::get;
use crate::{BlockId, Graph, Program, Stmt, StmtKind};

pub fn remove_zeros(program: &mut Program) {
    if !has_zeros(program) {
        return;
    }
    let unneeded = unneeded(program);
    for (graph, unneeded) in program.graphs_mut().zip(unneeded) {
        let mut unneeded = unneeded.into_iter();
        for (_, node) in graph.nodes.iter_mut() {
            node.stmts.retain(|_| !unneeded.next().unwrap_or(false));
        }
    }
}

fn has_zeros(program: &Program) -> bool {
    let mut nodes = program.graphs().flat_map(|graph| graph.nodes.iter());
    nodes.any(|(_, node)| node.stmts.iter().any(|stmt| matches!(stmt.kind, StmtKind::ZeroIfInvalid(_))))
}

/// Returns for each graph, in the order of [`Program::graphs`], a flag per statement: it zeros leaves that are never read.
/// Empty if the program is too large for the analysis.
fn unneeded(program: &Program) -> Vec<Vec<bool>> {
    let Ok(liveness) = Liveness::new(program) else { return Vec::new() };
    let error = |block: BlockId| get(&program.blocks, block).and_then(|block| block.error);
    // A procedure may be called from anywhere, so any variable may be read after it.
    let all = LeafSet::all(liveness.layout.n_leaves());
    let procedures = program.procedures.iter().map(|(_, p)| {
        let ends = Ends { at_return: &all, at_exit: &all, error: error(p.block) };
        of_graph(program, &liveness, &p.graph, &ends)
    });
    let blocks = program.blocks.iter().map(|(id, block)| {
        let after = liveness.after_block(id);
        let ends = Ends { at_return: &after, at_exit: &after, error: block.error };
        of_graph(program, &liveness, &block.graph, &ends)
    });
    procedures.chain(blocks).collect()
}

/// The statements of all nodes in their order.
fn of_graph(program: &Program, liveness: &Liveness<'_>, graph: &Graph, ends: &Ends<'_>) -> Vec<bool> {
    let before = liveness.solve(graph, ends);
    let mut found = Vec::new();
    for (_, node) in graph.nodes.iter() {
        let first = found.len();
        let mut live = liveness.before_terminator(&node.terminator.kind, &before, ends);
        for stmt in node.stmts.iter().rev() {
            found.push(zeroes_nothing(program, liveness, stmt, &live));
            liveness.before_stmt(stmt, &mut live);
        }
        found[first..].reverse();
    }
    debug_assert_eq!(before.len(), graph.nodes.len());
    found
}

/// True if the statement zeroes a header none of whose fields is in `live`.
fn zeroes_nothing(program: &Program, liveness: &Liveness<'_>, stmt: &Stmt, live: &LeafSet) -> bool {
    let StmtKind::ZeroIfInvalid(header) = &stmt.kind else { return false };
    let extent = liveness.layout.place(program, header);
    // The first leaf of a header is its validity. Of a header with a computed index all that it may be is looked at.
    let first_field = match extent.exactness {
        Exactness::Exact => extent.leaves.start + 1,
        Exactness::Within => extent.leaves.start,
    };
    (first_field..extent.leaves.end).all(|leaf| !live.contains(leaf))
}
