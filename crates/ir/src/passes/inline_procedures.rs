//! Puts the code of a procedure where it is called. Actions that tables run stay procedures.

use crate::lookup::{get, index};
use crate::{Graph, Node, NodeId, ProcedureId, Program, TerminatorKind};

/// Graphs do not grow beyond this: copies of copies double with every level.
const N_NODES_MAX: usize = 1 << 16;

/// Inlines the procedures that are called from one place only, and by no table.
pub fn inline_called_once(program: &mut Program) {
    let mut n_calls = vec![0u32; program.procedures.len()];
    for graph in program.graphs() {
        for (_, node) in graph.nodes.iter() {
            if let TerminatorKind::Call { procedure, .. } = &node.terminator.kind
                && let Some(n) = n_calls.get_mut(index(*procedure))
            {
                *n += 1;
            }
        }
    }
    for action in program.tables.iter().flat_map(|(_, table)| &table.actions) {
        if let Some(n) = n_calls.get_mut(index(action.procedure)) {
            *n += 1;
        }
    }
    // A procedure whose one use is a table has no call to inline.
    inline_procedures(program, &|_, id| n_calls.get(index(id)) == Some(&1));
}

/// Inlines the calls of procedures that `should` chooses; the program has no recursion. The procedures remain, as
/// tables may run them. False when some calls remain because a graph would have become too large.
pub fn inline_procedures(program: &mut Program, should: &dyn Fn(&Program, ProcedureId) -> bool) -> bool {
    let chosen: Vec<bool> = program.procedures.iter().map(|(id, _)| should(program, id)).collect();
    let mut complete = true;
    for id in callees_first(program) {
        let mut graph = program.procedures[id].graph.clone();
        complete &= inline_into(program, &chosen, &mut graph);
        program.procedures[id].graph = graph;
    }
    let blocks: Vec<_> = program.blocks.iter().map(|(id, _)| id).collect();
    for id in blocks {
        let mut graph = program.blocks[id].graph.clone();
        complete &= inline_into(program, &chosen, &mut graph);
        program.blocks[id].graph = graph;
    }
    complete
}

fn calls(graph: &Graph) -> impl Iterator<Item = ProcedureId> {
    graph.nodes.iter().filter_map(|(_, node)| match &node.terminator.kind {
        TerminatorKind::Call { procedure, .. } => Some(*procedure),
        _ => None,
    })
}

/// Lists the procedures, each after those that it calls.
fn callees_first(program: &Program) -> Vec<ProcedureId> {
    let mut seen = vec![false; program.procedures.len()];
    let mut out = Vec::new();
    for (root, _) in program.procedures.iter() {
        let mut stack = vec![(root, false)];
        while let Some((id, callees_done)) = stack.pop() {
            let Some(procedure) = get(&program.procedures, id) else { continue };
            if callees_done {
                out.push(id);
            } else if !std::mem::replace(&mut seen[index(id)], true) {
                stack.push((id, true));
                stack.extend(calls(&procedure.graph).map(|callee| (callee, false)));
            }
        }
    }
    out
}

fn inline_into(program: &Program, chosen: &[bool], graph: &mut Graph) -> bool {
    let mut complete = true;
    let sites: Vec<NodeId> = graph.nodes.iter().map(|(id, _)| id).collect();
    for site in sites {
        let TerminatorKind::Call { procedure, then, exit } = graph.nodes[site].terminator.kind else {
            continue;
        };
        if chosen.get(index(procedure)) != Some(&true) {
            continue;
        }
        let callee = &program.procedures[procedure].graph;
        if graph.nodes.len() + callee.nodes.len() > N_NODES_MAX {
            complete = false;
            continue;
        }
        let offset = graph.nodes.len();
        let moved = |id: NodeId| crate::lookup::id_at(index(id) + offset);
        for (_, node) in callee.nodes.iter() {
            let mut node: Node = node.clone();
            match &mut node.terminator.kind {
                TerminatorKind::Return => node.terminator.kind = TerminatorKind::Goto(then),
                TerminatorKind::Exit => node.terminator.kind = TerminatorKind::Goto(exit),
                kind => kind.map_successors(&mut |id| moved(id)),
            }
            graph.nodes.alloc(node);
        }
        graph.nodes[site].terminator.kind = TerminatorKind::Goto(moved(callee.entry));
    }
    complete
}
