//! Brings every suspension point into a block's own graph and to the end of a node.

use super::{Wait, wait_of};
use crate::liveness::TooLarge;
use crate::lookup::{get, id_at, index};
use crate::passes::inline_procedures;
use crate::{
    BlockId, Expr, Graph, Node, NodeId, Place, Program, Scope, StmtKind, SwitchCase, Terminator,
    TerminatorKind, Type, Variable,
};
use arch::{DirectObjects, ExternOp};
use diagnostics::Span;
use la_arena::Arena;

type Waits<'w> = &'w dyn Fn(&Program, &Wait) -> bool;

/// Graphs do not grow beyond this.
const N_NODES_MAX: usize = 1 << 16;

pub(super) fn cut(program: &Program, waits: Waits) -> Result<Program, TooLarge> {
    let mut program = program.clone();
    let has_point = procedures_with_points(&program, waits);
    if !inline_procedures(&mut program, &|_, id| has_point.get(index(id)) == Some(&true)) {
        return Err(TooLarge);
    }
    let blocks: Vec<BlockId> = program.blocks.iter().map(|(id, _)| id).collect();
    for id in &blocks {
        take_actions_out_of_tables(&mut program, *id, &has_point)?;
    }
    // Nothing calls these procedures any more. The parameters of actions remain, because they hold the action data.
    for (id, procedure) in program.procedures.iter_mut() {
        if has_point.get(index(id)) == Some(&true) {
            let terminator = Terminator { kind: TerminatorKind::Return, span: procedure.span };
            let mut nodes = Arena::new();
            let entry = nodes.alloc(Node { state: None, stmts: Vec::new(), terminator });
            procedure.graph = Graph { nodes, entry };
        }
    }
    for id in blocks {
        let mut graph =
            std::mem::replace(&mut program.blocks[id].graph, Graph { nodes: Arena::new(), entry: id_at(0) });
        end_nodes_after_externs(&program, waits, &mut graph);
        program.blocks[id].graph = graph;
    }
    Ok(program)
}

/// For each procedure, true when a packet may wait in it or in a procedure that it calls.
fn procedures_with_points(program: &Program, waits: Waits) -> Vec<bool> {
    let is_bound = procedures_bound_to_tables(program);
    let mut has_point = vec![false; program.procedures.len()];
    loop {
        let mut changed = false;
        for (id, procedure) in program.procedures.iter() {
            let found = !has_point[index(id)]
                && !is_bound[index(id)]
                && procedure.graph.nodes.iter().any(|(_, node)| has_wait(program, waits, node, &has_point));
            has_point[index(id)] |= found;
            changed |= found;
        }
        if !changed {
            return has_point;
        }
    }
}

/// For each procedure, true when its table has to run it, so that no packet waits in it. The action of a group runs before
/// another action of the same lookup. A procedure that reaches a direct counter or meter that acts on call, or that adds an
/// entry or restarts its timer, needs what its table has looked up, and outside of the table it would have none.
fn procedures_bound_to_tables(program: &Program) -> Vec<bool> {
    let mut is_bound = vec![false; program.procedures.len()];
    let listed = program.tables.iter().flat_map(|(_, table)| &table.actions);
    for action in listed.filter(|action| action.is_group_action) {
        is_bound[index(action.procedure)] = true;
    }
    let acts_on_call = program.architecture.table_properties.direct_objects == DirectObjects::OnCall;
    let reaches = |node: &Node, is_bound: &[bool]| {
        let in_stmts = node.stmts.iter().any(|stmt| match &stmt.kind {
            StmtKind::Extern { op, .. } => match op {
                ExternOp::DirectCounterCount | ExternOp::DirectMeterExecute => acts_on_call,
                ExternOp::AddEntry | ExternOp::SetTimer | ExternOp::StoreData | ExternOp::UpdateData => true,
                _ => false,
            },
            StmtKind::Assign { .. } | StmtKind::Emit(_) | StmtKind::ZeroIfInvalid(_) => false,
        });
        in_stmts
            || matches!(&node.terminator.kind, TerminatorKind::Call { procedure, .. }
                if is_bound.get(index(*procedure)) == Some(&true))
    };
    let applies = |node: &Node| matches!(node.terminator.kind, TerminatorKind::Apply { .. });
    loop {
        let mut changed = false;
        for (id, procedure) in program.procedures.iter() {
            let nodes = &procedure.graph.nodes;
            // A procedure that applies tables is no action.
            let found = !is_bound[index(id)]
                && !nodes.iter().any(|(_, node)| applies(node))
                && nodes.iter().any(|(_, node)| reaches(node, &is_bound));
            is_bound[index(id)] |= found;
            changed |= found;
        }
        if !changed {
            return is_bound;
        }
    }
}

fn has_wait(program: &Program, waits: Waits, node: &Node, has_point: &[bool]) -> bool {
    let in_stmts = node.stmts.iter().filter_map(wait_of).any(|wait| waits(program, &wait));
    in_stmts
        || match &node.terminator.kind {
            TerminatorKind::Call { procedure, .. } => has_point.get(index(*procedure)) == Some(&true),
            TerminatorKind::Apply { table, .. } => {
                let actions = get(&program.tables, *table).map(|t| t.actions.as_slice()).unwrap_or_default();
                waits(program, &Wait::Table(*table))
                    || actions.iter().any(|a| has_point.get(index(a.procedure)) == Some(&true))
            }
            _ => false,
        }
}

/// Where a table runs actions with points, the table is left to look up and to store the action's data, and a
/// switch on the action runs them.
fn take_actions_out_of_tables(
    program: &mut Program,
    block: BlockId,
    has_point: &[bool],
) -> Result<(), TooLarge> {
    let sites: Vec<NodeId> = program.blocks[block].graph.nodes.iter().map(|(id, _)| id).collect();
    for site in sites {
        let terminator = program.blocks[block].graph.nodes[site].terminator.clone();
        let TerminatorKind::Apply { table, keys, hit, action, then, exit } = terminator.kind else {
            continue;
        };
        let listed = get(&program.tables, table).map(|t| t.actions.clone()).unwrap_or_default();
        let waiting: Vec<_> = listed
            .iter()
            .enumerate()
            .filter(|(_, a)| has_point.get(index(a.procedure)) == Some(&true))
            .map(|(i, a)| (i, a.procedure))
            .collect();
        if waiting.is_empty() {
            continue;
        }
        let span = terminator.span;
        let action = action.unwrap_or_else(|| {
            let (name, scope) = ("$action".into(), Scope::Block(block));
            Place::var(program.variables.alloc(Variable { name, ty: Type::Bit(32), scope, span }))
        });
        let mut cases = Vec::new();
        for (i, procedure) in waiting {
            let callee = program.procedures[procedure].graph.clone();
            let graph = &mut program.blocks[block].graph;
            if graph.nodes.len() + callee.nodes.len() > N_NODES_MAX {
                return Err(TooLarge);
            }
            let offset = graph.nodes.len();
            let moved = |id: NodeId| id_at(index(id) + offset);
            for (_, node) in callee.nodes.iter() {
                let mut node = node.clone();
                match &mut node.terminator.kind {
                    TerminatorKind::Return => node.terminator.kind = TerminatorKind::Goto(then),
                    TerminatorKind::Exit => node.terminator.kind = TerminatorKind::Goto(exit),
                    kind => kind.map_successors(&mut |id| moved(id)),
                }
                graph.nodes.alloc(node);
            }
            cases.push(SwitchCase { value: crate::Bits::new(32, i as u128), target: moved(callee.entry) });
        }
        let subject = Expr::read(action.clone(), Type::Bit(32));
        let kind = TerminatorKind::Switch { subject, cases, otherwise: then };
        let graph = &mut program.blocks[block].graph;
        let switch =
            graph.nodes.alloc(Node { state: None, stmts: Vec::new(), terminator: Terminator { kind, span } });
        graph.nodes[site].terminator.kind =
            TerminatorKind::Apply { table, keys, hit, action: Some(action), then: switch, exit };
    }
    Ok(())
}

/// A node ends after an extern that waits.
fn end_nodes_after_externs(program: &Program, waits: Waits, graph: &mut Graph) {
    let mut left: Vec<NodeId> = graph.nodes.iter().map(|(id, _)| id).collect();
    while let Some(id) = left.pop() {
        let node = &mut graph.nodes[id];
        let waiting =
            node.stmts.iter().position(|stmt| wait_of(stmt).is_some_and(|wait| waits(program, &wait)));
        let Some(i) = waiting else { continue };
        let is_cut = i + 1 == node.stmts.len() && matches!(node.terminator.kind, TerminatorKind::Goto(_));
        if is_cut {
            continue;
        }
        let stmts = node.stmts.split_off(i + 1);
        let terminator = node.terminator.clone();
        let rest = graph.nodes.alloc(Node { state: None, stmts, terminator });
        let span = graph.nodes[id].stmts.last().map_or(Span::NONE, |stmt| stmt.span);
        graph.nodes[id].terminator = Terminator { kind: TerminatorKind::Goto(rest), span };
        left.push(rest);
    }
}
