//! Which headers a deparser emits.

use crate::facts::headers::{header_of, width_bits};
use ir::{Graph, Place, Program, Step, StmtKind, TerminatorKind};

/// Every header that the program emits is whole bytes long.
pub(crate) fn emits_whole_bytes(program: &Program) -> bool {
    let mut stmts = program.graphs().flat_map(|g| g.nodes.iter()).flat_map(|(_, n)| &n.stmts);
    stmts.all(|stmt| match &stmt.kind {
        StmtKind::Emit(place) => {
            header_of(program, place).is_none_or(|id| width_bits(program, id).is_multiple_of(8))
        }
        StmtKind::Assign { .. } | StmtKind::ZeroIfInvalid(_) | StmtKind::Extern { .. } => true,
    })
}

/// The places that a deparser emits, when that is all that it does.
pub(crate) fn plain_emits(graph: &Graph) -> Option<Vec<&Place>> {
    let mut places = Vec::new();
    let mut node = graph.entry;
    for _ in 0..=graph.nodes.len() {
        let content = graph.node(node);
        for stmt in &content.stmts {
            match &stmt.kind {
                StmtKind::Emit(place)
                    if place.path.iter().all(|s| matches!(s, Step::Field(_) | Step::Element(_))) =>
                {
                    places.push(place);
                }
                _ => return None,
            }
        }
        match &content.terminator.kind {
            TerminatorKind::Goto(next) => node = *next,
            TerminatorKind::Return => return Some(places),
            _ => return None,
        }
    }
    None
}
