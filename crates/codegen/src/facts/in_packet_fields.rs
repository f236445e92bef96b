//! Fields that the program never names: they are neither loaded nor stored but stay in the packet.
//!
//! A header type has an origin when all its headers are among the packet's headers (so that no copy outlives the
//! bytes it refers to) and everything that the program extracts and emits begins and ends at whole bytes. A field of such a
//! type stays in the packet when no expression, assignment or extern names it. A header that is emitted begins as a copy
//! of its origin, or as zeros, and gets the fields that the program may have changed.

use crate::facts::deparser::emits_whole_bytes;
use crate::facts::headers::{header_of, width_bits};
use arch::{BlockRole, ExternOp, ParamRole};
use ir::lookup::index;
use ir::visit::Access;
use ir::{Place, Program, Scope, Step, StructId, StructKind, TerminatorKind, Type};
use rustc_hash::FxHashSet;

/// Header types that remember where they were extracted, and the fields that the program names.
#[derive(Debug, Default)]
pub(crate) struct InPacketFields {
    /// Everything that is extracted is whole bytes long: so the parser is at a byte at all times.
    pub(crate) is_aligned: bool,
    has_origin: Vec<bool>,
    /// Fields that are read or written.
    named: FxHashSet<(usize, u32)>,
    /// Fields that are written.
    dirty: FxHashSet<(usize, u32)>,
    /// Header types with headers that become valid without being extracted.
    zeroed: FxHashSet<usize>,
}

impl InPacketFields {
    /// With `keep_all` every field is loaded.
    pub(crate) fn new(program: &Program, keep_all: bool) -> InPacketFields {
        let mut found = InPacketFields { is_aligned: is_aligned(program), ..InPacketFields::default() };
        let is_possible =
            found.is_aligned && emits_whole_bytes(program) && !keep_all && !changes_bytes(program);
        found.has_origin = vec![is_possible; program.structs.len()];
        for (id, decl) in program.structs.iter() {
            let is_fixed = decl.fields.iter().all(|f| f.ty.width_bits().is_some());
            if decl.kind != StructKind::Header || !is_fixed || width_bits(program, id) == 0 {
                found.has_origin[index(id)] = false;
            }
        }
        let headers = header_variables(program);
        // Copies in other variables may outlive the packet's bytes.
        for (_, variable) in program.variables.iter() {
            let is_headers = matches!(variable.scope, Scope::Pipeline(role) if headers.contains(&role));
            if !is_headers {
                found.exclude(program, &variable.ty, &mut FxHashSet::default());
            }
        }
        for graph in program.graphs() {
            for (_, node) in graph.nodes.iter() {
                for stmt in &node.stmts {
                    stmt.for_each_access(&mut |access, place| found.visit(program, access, place));
                    if let ir::StmtKind::ZeroIfInvalid(place) = &stmt.kind
                        && let Some(id) = header_of(program, place)
                    {
                        found.zeroed.insert(index(id));
                    }
                    if let ir::StmtKind::Extern { args, .. } = &stmt.kind {
                        for arg in args {
                            if let ir::Arg::Ref(place) = arg
                                && let Some(ty) = program.place_type(place)
                            {
                                found.exclude(program, &ty, &mut FxHashSet::default());
                            }
                        }
                    }
                }
                let terminator = &node.terminator.kind;
                if let TerminatorKind::Lookahead { place, .. } = terminator
                    && let Some(ty) = program.place_type(place)
                {
                    found.exclude(program, &ty, &mut FxHashSet::default());
                }
                terminator.for_each_access(&mut |access, place| found.visit(program, access, place));
            }
        }
        found
    }

    fn exclude(&mut self, program: &Program, ty: &Type, seen: &mut FxHashSet<Type>) {
        if !seen.insert(ty.clone()) {
            return;
        }
        match ty {
            Type::Struct(id) => {
                self.has_origin[index(*id)] = false;
                for field in &program.structs[*id].fields {
                    self.exclude(program, &field.ty, seen);
                }
            }
            Type::Stack { element, .. } => self.exclude(program, &Type::Struct(*element), seen),
            Type::Array { element, .. } => self.exclude(program, element, seen),
            _ => {}
        }
    }

    fn visit(&mut self, program: &Program, access: Access, place: &Place) {
        let mut ty = program.variables[place.var].ty.clone();
        for step in &place.path {
            if let (Step::Field(i), Type::Struct(id)) = (step, &ty)
                && program.structs[*id].kind == StructKind::Header
            {
                self.named.insert((index(*id), *i));
                if access != Access::Read {
                    self.dirty.insert((index(*id), *i));
                }
            }
            match program.step_type(&ty, step) {
                Some(inner) => ty = inner,
                None => return,
            }
        }
    }

    pub(crate) fn has_origin(&self, id: StructId) -> bool {
        self.has_origin.get(index(id)).copied().unwrap_or(false)
    }

    /// The field stays in the packet.
    pub(crate) fn stays_in_packet(&self, id: StructId, field: u32) -> bool {
        self.has_origin(id) && !self.named.contains(&(index(id), field))
    }

    /// A header of this type may be valid without being in the packet: its fields begin as zeros.
    pub(crate) fn may_be_zeroed(&self, id: StructId) -> bool {
        self.zeroed.contains(&index(id))
    }

    /// The field may differ from what was extracted. Without origin everything may.
    pub(crate) fn is_modified(&self, id: StructId, field: u32) -> bool {
        !self.has_origin(id) || self.dirty.contains(&(index(id), field))
    }

    /// Some field of the header may differ.
    pub(crate) fn has_modified(&self, program: &Program, id: StructId) -> bool {
        (0..program.structs[id].fields.len() as u32).any(|field| self.is_modified(id, field))
    }
}

/// The variables of a packet's headers: what parsers fill, unless it goes along to other bytes.
fn header_variables(program: &Program) -> Vec<ParamRole> {
    let Some(model) = program.architecture.pipeline() else { return vec![ParamRole::Headers] };
    let carried = model.carried();
    let parsers = model.blocks.iter().filter(|block| block.role == BlockRole::Parser);
    let parsed = parsers.filter_map(|parser| parser.params.iter().find(|role| **role != ParamRole::Packet));
    let all = parsed.copied().chain([ParamRole::Headers]);
    all.filter(|role| matches!(role, ParamRole::Headers | ParamRole::Named(_)) && !carried.contains(role))
        .collect()
}

/// Bytes that headers were extracted from may change: the packet is deparsed or parsed again between blocks.
fn changes_bytes(program: &Program) -> bool {
    let changes = |stmt: &ir::Stmt| {
        matches!(stmt.kind, ir::StmtKind::Extern { op: ExternOp::Rebuild | ExternOp::Rewind, .. })
    };
    program.graphs().flat_map(|graph| graph.nodes.iter()).flat_map(|(_, node)| &node.stmts).any(changes)
}

/// All that the program extracts is whole bytes long. Lookahead does not move the parser.
fn is_aligned(program: &Program) -> bool {
    program.graphs().flat_map(|g| g.nodes.iter()).all(|(_, node)| match &node.terminator.kind {
        TerminatorKind::Extract { place, .. } => match header_of(program, place) {
            Some(id) => width_bits(program, id).is_multiple_of(8),
            None => true,
        },
        _ => true,
    })
}
