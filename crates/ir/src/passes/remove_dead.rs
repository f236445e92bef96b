//! Drops assignments to temporaries that nothing ever reads.

use crate::lookup::index;
use crate::visit::Access;
use crate::{Place, Program, StmtKind};

pub fn remove_dead(program: &mut Program) {
    loop {
        let read = variables_read(program);
        let is_dead = |program: &Program, place: &Place| {
            program.is_temporary(place.var) && !read.get(index(place.var)).copied().unwrap_or(true)
        };
        let dead: Vec<bool> = program
            .graphs()
            .flat_map(|graph| graph.nodes.iter().flat_map(|(_, node)| &node.stmts))
            .map(|stmt| matches!(&stmt.kind, StmtKind::Assign { place, .. } if is_dead(program, place)))
            .collect();
        if !dead.contains(&true) {
            return;
        }
        // The graphs come in the order of the loop above.
        let mut dead = dead.into_iter();
        for graph in program.graphs_mut() {
            for (_, node) in graph.nodes.iter_mut() {
                node.stmts.retain(|_| !dead.next().unwrap_or(false));
            }
        }
    }
}

/// For each variable, true when the program or the architecture reads it.
fn variables_read(program: &Program) -> Vec<bool> {
    let mut read = vec![false; program.variables.len()];
    let mut mark = |place: &Place| {
        if let Some(slot) = read.get_mut(index(place.var)) {
            *slot = true;
        }
    };
    for graph in program.graphs() {
        for (_, node) in graph.nodes.iter() {
            let mut on_access = |access, place: &Place| {
                if access == Access::Read {
                    mark(place);
                }
            };
            node.stmts.iter().for_each(|stmt| stmt.for_each_access(&mut on_access));
            node.terminator.kind.for_each_access(&mut on_access);
        }
    }
    program.fields.iter().for_each(|(_, place)| mark(place));
    program.field_lists.iter().flat_map(|list| &list.places).for_each(&mut mark);
    program.blocks.iter().filter_map(|(_, block)| block.error).for_each(|id| mark(&Place::var(id)));
    read
}
