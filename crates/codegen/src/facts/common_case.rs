//! The common case of a packet: the parser accepts it, and it leaves with the headers with which it arrived.
//!
//! Small programs have code for the common case alone, which the C compiler optimises with this knowledge. All other
//! packets take the exception path: they start over, and run to their end before packets that arrived earlier and are
//! suspended. Programs in which the order of packets matters, or in which parsing has effects, have no common case.

use crate::facts::deparser::plain_emits;
use crate::facts::effects::has_effects;
use crate::facts::in_packet_fields::InPacketFields;
use crate::facts::weight::{SMALL_WEIGHT_MAX, weight};
use arch::{BlockRole, FieldRole, ParamRole};
use ir::visit::Access;
use ir::{BlockId, Graph, Place, Program, Scope, Step, StmtKind, StructKind, TerminatorKind, Type};

/// The packets that take the exception path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CommonCase {
    /// Packets that the parser does not accept take it.
    pub(crate) has_exceptions: bool,
    /// Packets take it, too, whose headers do not lie where the deparser would put them. For all others, deparsing only
    /// stores fields.
    pub(crate) headers_stay: bool,
}

impl CommonCase {
    pub(crate) fn new(program: &Program, in_packet_fields: &InPacketFields) -> CommonCase {
        let is_small = weight(program) <= SMALL_WEIGHT_MAX;
        if !is_small || has_effects(program) || calls_in_parser(program) {
            return CommonCase::default();
        }
        let headers_stay = headers_stay(program, in_packet_fields);
        CommonCase {
            has_exceptions: headers_stay || program.field(FieldRole::ParserError).is_some(),
            headers_stay,
        }
    }
}

fn calls_in_parser(program: &Program) -> bool {
    let is_parser = |block: BlockId| program.blocks[block].role == BlockRole::Parser;
    let nodes = graphs_of(program, is_parser).flat_map(|graph| graph.nodes.iter());
    nodes.flat_map(|(_, node)| &node.stmts).any(|stmt| matches!(stmt.kind, StmtKind::Extern { .. }))
}

/// The parser alone decides which headers are valid, and extracts nothing that the deparser would not emit.
fn headers_stay(program: &Program, in_packet_fields: &InPacketFields) -> bool {
    let (Some(parser), Some(deparser)) =
        (program.block(BlockRole::Parser), program.block(BlockRole::Deparser))
    else {
        return false;
    };
    let Some(emitted) = plain_emits(&program.blocks[deparser].graph) else { return false };
    let stays_in_packet = |place: &&Place| match program.place_type(place) {
        Some(Type::Struct(id)) => in_packet_fields.has_origin(id),
        _ => false,
    };
    emitted.iter().all(stays_in_packet)
        && graphs_of(program, |block| block == parser)
            .flat_map(|graph| graph.nodes.iter())
            .all(|(_, node)| extracts_only(&node.terminator.kind, &emitted))
        && graphs_of(program, |block| block != parser).all(|graph| !changes_headers(program, graph))
}

fn graphs_of(program: &Program, wanted: impl Fn(BlockId) -> bool) -> impl Iterator<Item = &Graph> {
    let blocks = program.blocks.iter().map(|(id, block)| (id, &block.graph));
    let procedures = program.procedures.iter().map(|(_, p)| (p.block, &p.graph));
    blocks.chain(procedures).filter(move |(block, _)| wanted(*block)).map(|(_, graph)| graph)
}

fn extracts_only(terminator: &TerminatorKind, emitted: &[&Place]) -> bool {
    match terminator {
        TerminatorKind::Extract { place, to_next, .. } => !to_next && emitted.contains(&place),
        TerminatorKind::Advance { .. } => false,
        _ => true,
    }
}

/// The graph writes validity or positions of the packet's headers, not only their fields.
fn changes_headers(program: &Program, graph: &Graph) -> bool {
    let mut found = false;
    let mut note = |access: Access, place: &Place| {
        let is_header = program.variables[place.var].scope == Scope::Pipeline(ParamRole::Headers);
        found |= access != Access::Read && is_header && !is_in_field(program, place);
    };
    for (_, node) in graph.nodes.iter() {
        node.stmts.iter().for_each(|stmt| stmt.for_each_access(&mut note));
        node.terminator.kind.for_each_access(&mut note);
    }
    found
}

/// The place is a field of a header, or part of one.
fn is_in_field(program: &Program, place: &Place) -> bool {
    let mut ty = program.variables[place.var].ty.clone();
    for step in &place.path {
        if let (Step::Field(_), Type::Struct(id)) = (step, &ty)
            && program.structs[*id].kind == StructKind::Header
        {
            return true;
        }
        match program.step_type(&ty, step) {
            Some(inner) => ty = inner,
            None => return false,
        }
    }
    false
}
