//! A test of what liveness says: programs in which everything that is dead is overwritten must do the same.

use crate::layout::{Layout, Leaf, leaves};
use crate::liveness::{Liveness, TooLarge};
use crate::lookup::get;
use crate::{Bits, Expr, ExprKind, Place, Program, Stmt, StmtKind, Type, VarId};
use diagnostics::Span;

/// More statements than this are not added to a program.
const N_STMTS_MAX: usize = 1 << 20;

/// The program with assignments of ones at the beginning of every node of its blocks to all that is not live
/// there. Values that ones cannot stand for (errors, enums, `varbit`s) are left alone.
pub fn overwrite_dead(program: &Program) -> Result<Program, TooLarge> {
    let liveness = Liveness::new(program)?;
    let leaves = all_leaves(program, &liveness.layout);
    let mut out = program.clone();
    let mut n_added = 0;
    for (_, id) in &program.pipeline {
        let Some(block) = get(&program.blocks, *id) else { continue };
        for (node, _) in block.graph.nodes.iter() {
            let live = liveness.before_node(*id, node);
            let dead = leaves
                .iter()
                .enumerate()
                .filter(|(i, (var, _))| !live.contains(*i) && program.is_visible(*var, *id));
            let stmts: Vec<Stmt> = dead.filter_map(|(_, (var, leaf))| overwritten(*var, leaf)).collect();
            n_added += stmts.len();
            if n_added > N_STMTS_MAX {
                return Err(TooLarge);
            }
            out.blocks[*id].graph.nodes[node].stmts.splice(0..0, stmts);
        }
    }
    Ok(out)
}

/// By their numbers in the layout.
fn all_leaves(program: &Program, layout: &Layout) -> Vec<(VarId, Leaf)> {
    let mut out = Vec::with_capacity(layout.n_leaves());
    for (id, variable) in program.variables.iter() {
        out.extend(leaves(program, &variable.ty).into_iter().map(|leaf| (id, leaf)));
    }
    out
}

fn overwritten(var: VarId, leaf: &Leaf) -> Option<Stmt> {
    let ones = match &leaf.ty {
        Type::Bool => Bits::TRUE,
        Type::Bit(width) | Type::Int(width) => Bits::ones(*width),
        _ => return None,
    };
    let place = Place { var, path: leaf.path.clone() };
    let value = Expr::new(ExprKind::Const(ones), leaf.ty.clone());
    Some(Stmt { kind: StmtKind::Assign { place, value }, span: Span::NONE })
}
