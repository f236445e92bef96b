//! The length that egress sees in `standard_metadata.packet_length`.
//!
//! The reference switch counts a packet's bytes while it runs: a header that becomes valid adds its size, one that
//! becomes invalid takes it away (`simple_switch`, primitives `add_header` and `remove_header`). Egress finds the count in
//! `packet_length`; the parser and ingress find the length on arrival. Copies between headers and shifts of stacks do
//! not count.
//!
//! Only programs whose egress reads the field pay for it: a program is elaborated without counting first, and again with
//! it where that is the case ([`egress_reads_length`]).

use crate::body::Body;
use crate::elaborator::Elaborator;
use arch::{BlockRole, ExternOp, FieldRole, ParamRole};
use diagnostics::Span;
use ir::types::INDEX_BITS;
use ir::visit::Access;
use ir::{
    BinaryOp, Expr, Graph, Node, Place, Program, Step, Stmt, StmtKind, Terminator, TerminatorKind, Type,
};

/// Whether code of egress reads the length of the packet, from the architecture's metadata or from a copy of it.
pub(crate) fn egress_reads_length(program: &Program) -> bool {
    let Some(place) = program.field(FieldRole::PacketLength) else { return false };
    let Type::Struct(metadata) = program.variables[place.var].ty else { return false };
    let Some(Step::Field(length)) = place.path.last() else { return false };
    let is_length = |place: &Place| {
        let mut ty = program.variables[place.var].ty.clone();
        place.path.iter().any(|step| {
            let is_it = ty == Type::Struct(metadata) && *step == Step::Field(*length);
            if let Some(inner) = program.step_type(&ty, step) {
                ty = inner;
            }
            is_it
        })
    };
    let mut reads = false;
    for graph in graphs_of(program, BlockRole::Egress) {
        let mut note = |access: Access, place: &Place| reads |= access == Access::Read && is_length(place);
        for (_, node) in graph.nodes.iter() {
            node.stmts.iter().for_each(|stmt| stmt.for_each_access(&mut note));
            node.terminator.kind.for_each_access(&mut note);
        }
    }
    reads
}

/// The graphs of a block and of its procedures.
fn graphs_of(program: &Program, role: BlockRole) -> impl Iterator<Item = &Graph> {
    let wanted = program.block(role);
    let blocks = program.blocks.iter().filter(move |(id, _)| Some(*id) == wanted).map(|(_, b)| &b.graph);
    let procedures = program.procedures.iter().filter(move |(_, p)| Some(p.block) == wanted);
    blocks.chain(procedures.map(|(_, p)| &p.graph))
}

impl Elaborator<'_> {
    /// The variable that holds the count while `counts_length` is set.
    fn running_length(&mut self, span: Span) -> Place {
        let ty = Type::Bit(INDEX_BITS);
        Place::var(self.shared_variable(ParamRole::RunningLength, "$length", &ty, span))
    }

    /// Begins to count at the start of the parser, and hands the count to egress.
    pub(crate) fn pass_length_on(&mut self) {
        if !self.counts_length {
            return;
        }
        let Some(field) = self.out.field(FieldRole::PacketLength).cloned() else { return };
        let running = self.running_length(Span::NONE);
        let ty = self.out.place_type(&field).unwrap_or(Type::Bit(INDEX_BITS));
        let of = |place: &Place, from: &Type, to: Type| Expr::read(place.clone(), from.clone()).cast(to);
        let index = Type::Bit(INDEX_BITS);
        let begin = of(&field, &ty, index.clone());
        let hand_on = of(&running, &index, ty.clone());
        self.assign_at_entry(BlockRole::Parser, running.clone(), begin);
        self.assign_at_entry(BlockRole::Egress, field, hand_on);
    }

    fn assign_at_entry(&mut self, role: BlockRole, place: Place, value: Expr) {
        let Some(id) = self.out.block(role) else { return };
        let ir::Block { graph, span, .. } = &mut self.out.blocks[id];
        let span = *span;
        // A node of its own: code may come back to where the block begins.
        graph.entry = graph.nodes.alloc(Node {
            state: None,
            stmts: vec![Stmt { kind: StmtKind::Assign { place, value }, span }],
            terminator: Terminator { kind: TerminatorKind::Goto(graph.entry), span },
        });
    }

    /// Whether what this block does to headers can reach egress: clones of the packet as it leaves come back to it.
    fn length_matters(&self) -> bool {
        match self.out.blocks[self.block].role {
            BlockRole::Parser | BlockRole::VerifyChecksum | BlockRole::Ingress => true,
            BlockRole::Egress => self.clones_from_egress,
            BlockRole::ComputeChecksum | BlockRole::Deparser | BlockRole::Accelerator => false,
        }
    }
}

/// True if egress may clone the packet.
pub(crate) fn clones_from_egress(program: &Program) -> bool {
    let stmts = graphs_of(program, BlockRole::Egress).flat_map(|graph| graph.nodes.iter());
    stmts.flat_map(|(_, node)| &node.stmts).any(|stmt| {
        matches!(
            stmt.kind,
            StmtKind::Extern {
                op: ExternOp::Clone | ExternOp::ClonePreservingFieldList | ExternOp::CloneWithData,
                ..
            }
        )
    })
}

impl Body<'_, '_> {
    /// Makes a header valid or invalid as `setValid` and `setInvalid` do, and counts its bytes where the program needs
    /// the length.
    pub fn set_validity(&mut self, header: &Place, valid: bool, span: Span) {
        if !self.e.counts_length || !self.e.length_matters() {
            self.assign(header.valid(), Expr::bool(valid), span);
            return;
        }
        let index = Type::Bit(INDEX_BITS);
        let bits = self.e.out.place_type(header).map_or(0, |ty| self.e.size_bits(&ty, false));
        let size = Expr::bit(INDEX_BITS, u128::from(bits / 8));
        let is_valid = || Expr::read(header.valid(), Type::Bool);
        let was_valid = self.save(is_valid(), span);
        self.assign(header.valid(), Expr::bool(valid), span);
        let running = self.e.running_length(span);
        // An element that does not exist is invalid before and after.
        let (changes, op) = match valid {
            true => (is_valid().and(was_valid.negated()), BinaryOp::Add),
            false => (was_valid, BinaryOp::Sub),
        };
        let zero = Expr::bit(INDEX_BITS, 0);
        let kind = ir::ExprKind::Mux(Box::new(changes), Box::new(size), Box::new(zero));
        let change = Expr::new(kind, index.clone());
        let value = Expr::binary(op, Expr::read(running.clone(), index.clone()), change, index);
        self.assign(running, value, span);
    }
}
