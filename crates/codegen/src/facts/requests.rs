//! Requests to the architecture (copies, digests, another round), and the metadata that the program accesses.

use arch::{BlockRole, ExternOp, FieldRole};
use ir::visit::Access;
use ir::{Program, StmtKind};

/// Something is packed, or sent as a digest, which may find no room.
pub(crate) fn uses_buffers(program: &Program) -> bool {
    let packs = |op: ExternOp| {
        matches!(
            op,
            ExternOp::Hash
                | ExternOp::HashRaw
                | ExternOp::VerifyChecksum
                | ExternOp::UpdateChecksum
                | ExternOp::VerifyChecksumWithPayload
                | ExternOp::UpdateChecksumWithPayload
                | ExternOp::Checksum16Get
                | ExternOp::Ipv4Checksum
                | ExternOp::Digest
                | ExternOp::EmitBegin
                | ExternOp::Rebuild
        )
    };
    let stmts = program.graphs().flat_map(|g| g.nodes.iter()).flat_map(|(_, n)| &n.stmts);
    let in_code = stmts.into_iter().any(|stmt| match &stmt.kind {
        StmtKind::Extern { op, .. } => packs(*op),
        StmtKind::Assign { .. } | StmtKind::Emit(_) | StmtKind::ZeroIfInvalid(_) => false,
    });
    in_code || program.tables.iter().any(|(_, table)| table.implementation.is_some())
}

/// Fields whose values send a packet to the host after ingress.
pub(crate) fn request_fields(program: &Program) -> impl Iterator<Item = FieldRole> + '_ {
    [FieldRole::MulticastGroup, FieldRole::Priority].into_iter().filter(|role| is_written(program, *role))
}

/// The host may continue a packet that began on the fast path.
pub(crate) fn may_punt(program: &Program) -> bool {
    makes_requests_in(program, BlockRole::Egress) || request_fields(program).next().is_some()
}

/// A block, or one that runs before it, may request something from the architecture.
pub(crate) fn makes_requests_in(program: &Program, role: BlockRole) -> bool {
    let asks = |graph: &ir::Graph| {
        graph.nodes.iter().flat_map(|(_, n)| &n.stmts).any(|stmt| match &stmt.kind {
            StmtKind::Extern { op, .. } => matches!(
                op,
                ExternOp::Clone
                    | ExternOp::ClonePreservingFieldList
                    | ExternOp::CloneWithData
                    | ExternOp::ResubmitPreservingFieldList
                    | ExternOp::ResubmitWithData
                    | ExternOp::RecirculatePreservingFieldList
                    | ExternOp::RecirculateWithData
                    | ExternOp::Truncate
                    | ExternOp::Digest
            ),
            StmtKind::Assign { .. } | StmtKind::Emit(_) | StmtKind::ZeroIfInvalid(_) => false,
        })
    };
    let is_before = |of: BlockRole| match role {
        BlockRole::Egress => true,
        _ => !matches!(of, BlockRole::Egress | BlockRole::ComputeChecksum | BlockRole::Deparser),
    };
    let blocks = program.blocks.iter().filter(|(_, b)| is_before(b.role));
    let procedures = program.procedures.iter().filter(|(_, p)| is_before(program.blocks[p.block].role));
    blocks.map(|(_, b)| &b.graph).chain(procedures.map(|(_, p)| &p.graph)).any(asks)
}

/// The program writes a field of the architecture's metadata, or a struct that holds it, other than by marking its packet
/// to drop.
pub(crate) fn is_written(program: &Program, role: FieldRole) -> bool {
    is_accessed(program, role, &|access| access != Access::Read)
}

/// The program reads the field, or a struct that holds it.
pub(crate) fn is_read(program: &Program, role: FieldRole) -> bool {
    is_accessed(program, role, &|access| access != Access::Write)
}

pub(crate) fn is_accessed(program: &Program, role: FieldRole, how: &dyn Fn(Access) -> bool) -> bool {
    let fields: Vec<&ir::Place> = program.fields_of(role).collect();
    let mut found = false;
    let mut note = |access: Access, place: &ir::Place| {
        found |= how(access) && fields.iter().any(|field| field.overlaps(place));
    };
    for (_, node) in program.graphs().flat_map(|g| g.nodes.iter()) {
        for stmt in &node.stmts {
            if !matches!(&stmt.kind, StmtKind::Extern { op: ExternOp::MarkToDrop, .. }) {
                stmt.for_each_access(&mut note);
            }
        }
        node.terminator.kind.for_each_access(&mut note);
    }
    found
}
