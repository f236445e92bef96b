//! Declarations of the variables of functions.

use crate::facts::storage::{Owner, StorageClass};
use crate::function::cx::Cx;
use crate::text::code::Code;
use crate::text::types::repr;
use ir::BlockId;

/// The variables of a block, with zeros.
pub(crate) fn variables_of_block(cx: &Cx<'_>, id: BlockId, out: &mut Code) {
    if cx.facts.storage.has_locals(id) {
        out.line(format!("struct {}__locals locals = {{}}, *l = &locals;", cx.block_name(id)));
    }
    own_variables(cx, Owner::Block(id), out);
}

/// The variables that one function has.
pub(crate) fn own_variables(cx: &Cx<'_>, owner: Owner, out: &mut Code) {
    for var in cx.facts.storage.with(|class| *class == StorageClass::Function(owner)) {
        let ty = &cx.program.variables[var].ty;
        let (c, name) = (cx.types.c_type(ty), cx.facts.storage.name(var));
        let zero = if matches!(repr(ty), Some(crate::text::types::Repr::Int(_))) { "0" } else { "{}" };
        out.line(format!("{c} {name} = {zero};"));
    }
}
