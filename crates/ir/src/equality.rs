//! Equality up to spans, which say where something comes from, not what it is.

use crate::{Block, Object, Procedure, Program, Table, ValueSet, Variable};

/// Destructures, so that a new field cannot be forgotten here.
macro_rules! equal_up_to_span {
    ($($name:ident { $($field:ident),* $(,)? })*) => {
        $(
            impl PartialEq for $name {
                fn eq(&self, other: &$name) -> bool {
                    let $name { $($field,)* span: _ } = self;
                    $(*$field == other.$field)&&*
                }
            }
            impl Eq for $name {}
        )*
    };
}

equal_up_to_span! {
    Variable { name, ty, scope }
    Block { name, role, params, error, graph }
    Procedure { name, kind, block, params, graph }
    Table {
        name, block, keys, actions, default_action, has_const_default_action, entries, has_const_entries, size,
        implementation, direct_counter, direct_meter, timeout, restarts_on_hit,
        add_on_miss, updates_data, registers,
    }
    ValueSet { name, block, fields, size }
    Object { name, type_name, type_args, args }
}

impl PartialEq for Program {
    fn eq(&self, other: &Program) -> bool {
        let Program {
            architecture,
            structs,
            enums,
            errors,
            variables,
            blocks,
            procedures,
            tables,
            value_sets,
            objects,
            pipeline,
            shared,
            fields,
            field_lists,
        } = self;
        *architecture == other.architecture
            && *structs == other.structs
            && *enums == other.enums
            && *errors == other.errors
            && *variables == other.variables
            && *blocks == other.blocks
            && *procedures == other.procedures
            && *tables == other.tables
            && *value_sets == other.value_sets
            && *objects == other.objects
            && *pipeline == other.pipeline
            && *shared == other.shared
            && *fields == other.fields
            && *field_lists == other.field_lists
    }
}
impl Eq for Program {}
