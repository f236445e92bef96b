//! State that a suspended packet saves: values that are read again.

use crate::facts::common_case::CommonCase;
use crate::facts::in_packet_fields::InPacketFields;
use crate::facts::requests::{is_written, may_punt};
use crate::text::types::{Repr, repr, size_bytes};
use arch::{FieldRole, ParamRole};
use ir::layout::{Leaf, leaves};
use ir::leaf_set::LeafSet;
use ir::lookup::id_at;
use ir::segments::Segments;
use ir::{Program, Scope, Step, StructId, StructKind, Type, VarId};
use rustc_hash::FxHashMap;

/// Above this size, saving costs more than the suspension gains.
const SAVED_BYTES_MAX: u32 = 1024;

/// State that a packet saves while it is suspended.
#[derive(Default)]
pub(crate) struct SavedState {
    /// Values that are read again.
    pub(crate) values: Vec<(VarId, Leaf)>,
    /// Headers that remember where they were extracted: the position is saved, and fields that were not changed are read
    /// from the packet again.
    pub(crate) origins: Vec<Origin>,
}

pub(crate) struct Origin {
    pub(crate) var: VarId,
    /// The path from the variable to the header.
    pub(crate) path: Vec<Step>,
    pub(crate) header: StructId,
    pub(crate) fields: Vec<u32>,
}

impl SavedState {
    fn origin(&mut self, var: VarId, path: &[Step], header: StructId) -> &mut Origin {
        let known = self.origins.iter().position(|o| o.var == var && o.path == path);
        let at = known.unwrap_or_else(|| {
            self.origins.push(Origin { var, path: path.to_vec(), header, fields: Vec::new() });
            self.origins.len() - 1
        });
        &mut self.origins[at]
    }
}

/// Leaves that are emitted from the packet's bytes: fields that nobody has changed.
pub(crate) fn in_packet(program: &Program, layout: &ir::layout::Layout) -> LeafSet {
    let in_packet_fields = InPacketFields::new(program, false);
    // After a punt, the host runs blocks that read the validity of headers.
    let headers_stay = CommonCase::new(program, &in_packet_fields).headers_stay && !may_punt(program);
    let mut found = LeafSet::none(layout.n_leaves());
    for (id, variable) in program.variables.iter() {
        if variable.scope != Scope::Pipeline(ParamRole::Headers) {
            continue;
        }
        let first = layout.variable(id).start;
        for (i, leaf) in leaves(program, &variable.ty).iter().enumerate() {
            if let Some((_, header, field)) = header_field(program, &variable.ty, leaf)
                && in_packet_fields.has_origin(header)
                && !in_packet_fields.is_modified(header, field)
            {
                found.insert(first + i..first + i + 1);
            }
            // Once headers are known to stay, the validity of a header without modified fields does not matter.
            if headers_stay
                && header_of_validity(program, &variable.ty, leaf).is_some_and(|header| {
                    in_packet_fields.has_origin(header) && !in_packet_fields.has_modified(program, header)
                })
            {
                found.insert(first + i..first + i + 1);
            }
        }
    }
    found
}

/// The header that a leaf is a field of, or in a field of: how far the path leads to it, its type, and the field.
fn header_field(program: &Program, ty: &Type, leaf: &Leaf) -> Option<(usize, StructId, u32)> {
    let mut ty = ty.clone();
    let mut found = None;
    for (n, step) in leaf.path.iter().enumerate() {
        if let (Step::Field(i), Type::Struct(id)) = (step, &ty)
            && program.structs[*id].kind == StructKind::Header
        {
            found = Some((n, *id, *i));
        }
        ty = program.step_type(&ty, step)?;
    }
    found
}

/// The header whose validity a leaf is.
fn header_of_validity(program: &Program, ty: &Type, leaf: &Leaf) -> Option<StructId> {
    let (last, path) = leaf.path.split_last()?;
    let mut ty = ty.clone();
    for step in path {
        ty = program.step_type(&ty, step)?;
    }
    match (last, ty) {
        (Step::Valid, Type::Struct(id)) => Some(id),
        _ => None,
    }
}

/// The saved state for a set of live leaves; `None` when it is too large.
pub(crate) fn saved_state(
    cut: &Segments,
    in_packet_fields: &InPacketFields,
    live: &LeafSet,
) -> Option<SavedState> {
    let program = &cut.program;
    let mut known: FxHashMap<usize, Vec<Leaf>> = FxHashMap::default();
    let mut out = SavedState::default();
    let mut n_bytes = 0u32;
    // Request fields that the program never writes are zero.
    let asking = [FieldRole::MulticastGroup, FieldRole::Priority].into_iter();
    let zero: Vec<_> = asking
        .filter(|role| !is_written(program, *role))
        .filter_map(|role| Some(cut.layout.place(program, program.field(role)?).leaves))
        .collect();
    for leaf in live.iter().filter(|leaf| !zero.iter().any(|range| range.contains(leaf))) {
        let var_index = cut.layout.variable_of(leaf);
        let var: VarId = id_at(var_index);
        let ty = &program.variables[var].ty;
        let of_var = known.entry(var_index).or_insert_with(|| leaves(program, ty));
        let Some(found) = of_var.get(leaf - cut.layout.variable(var).start) else { continue };
        if let Some((n, header, field)) = header_field(program, ty, found)
            && in_packet_fields.has_origin(header)
        {
            let is_int = matches!(repr(&found.ty), Some(Repr::Int(_)));
            if in_packet_fields.stays_in_packet(header, field) {
                continue;
            }
            if is_int && !in_packet_fields.is_modified(header, field) {
                out.origin(var, &found.path[..n], header).fields.push(field);
                continue;
            }
        }
        if let Some(header) =
            header_of_validity(program, ty, found).filter(|id| in_packet_fields.has_origin(*id))
        {
            out.origin(var, &found.path[..found.path.len() - 1], header);
        }
        n_bytes += size_bytes(&found.ty).max(1);
        out.values.push((var, found.clone()));
    }
    n_bytes += 4 * out.origins.len() as u32;
    (n_bytes <= SAVED_BYTES_MAX).then_some(out)
}
