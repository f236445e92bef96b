//! Widths of translated values in a program, which P4Info does not tell.

use std::collections::BTreeMap;

use smol_str::SmolStr;

use super::{DataType, KeyElement, Schema};
use p4info::ControllerHeaderFields;

/// Widths in bits by name of the translation: the smallest one if types with the same translation differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Widths(BTreeMap<SmolStr, u32>);

impl Widths {
    /// Finds the widths of keys, action parameters, value sets, registers and digests by their names. Not found are those
    /// of indices.
    pub fn of_program(schema: &Schema, program: &ir::Program) -> Widths {
        let mut widths = Widths::default();
        for (_, table) in program.tables.iter() {
            if let Some(known) = schema.tables.iter().find(|known| known.names.name == table.name) {
                let keys = table.keys.iter().map(|key| (&key.name, &key.ty));
                widths.elements(&known.keys, keys);
            }
            for action in &table.actions {
                let known = schema.actions.iter().find(|known| known.names.name == action.name);
                let params = &program.procedures[action.procedure].params;
                for (known, param) in known.iter().flat_map(|known| &known.params).zip(params) {
                    widths.add(known.value.translation.as_ref(), &program.variables[*param].ty);
                }
            }
        }
        for (_, value_set) in program.value_sets.iter() {
            if let Some(known) = schema.value_sets.iter().find(|known| known.names.name == value_set.name) {
                let fields = value_set.fields.iter().map(|field| (&field.name, &field.ty));
                widths.elements(&known.fields, fields);
            }
        }
        for (_, object) in program.objects.iter() {
            let known = schema.registers.iter().find(|known| known.names.name == object.name);
            if let (Some(known), Some(ty)) = (known, object.type_args.first()) {
                widths.data(program, &known.cell, ty);
            }
        }
        // Digests are calls in the program. Their messages are structs with the same name.
        for digest in &schema.digests {
            if let DataType::Struct(of) = &digest.message
                && let Some((id, _)) = program.structs.iter().find(|(_, found)| found.name == of.name)
            {
                widths.data(program, &digest.message, &ir::Type::Struct(id));
            }
        }
        widths
    }

    /// Adds the widths of fields of controller headers, of which P4Info knows others than the program.
    pub(super) fn add_headers(&mut self, schema: &Schema, headers: &[ControllerHeaderFields]) {
        for header in headers {
            let known = schema.controller_headers.iter().find(|known| known.names.name == header.header);
            for (name, width_bits) in &header.fields {
                let field = known.and_then(|known| known.fields.iter().find(|field| field.name == *name));
                self.add_bits(field.and_then(|field| field.value.translation.as_ref()), Some(*width_bits));
            }
        }
    }

    pub fn get(&self, by: &str) -> Option<u32> {
        self.0.get(by).copied()
    }

    fn add(&mut self, by: Option<&SmolStr>, ty: &ir::Type) {
        self.add_bits(by, ty.width_bits());
    }

    fn add_bits(&mut self, by: Option<&SmolStr>, width_bits: Option<u32>) {
        if let (Some(by), Some(width_bits)) = (by, width_bits) {
            let smallest = self.0.entry(by.clone()).or_insert(width_bits);
            *smallest = (*smallest).min(width_bits);
        }
    }

    fn elements<'p>(
        &mut self,
        known: &[KeyElement],
        found: impl Iterator<Item = (&'p SmolStr, &'p ir::Type)>,
    ) {
        for (name, ty) in found {
            let known = known.iter().find(|known| known.name == *name);
            self.add(known.and_then(|known| known.value.translation.as_ref()), ty);
        }
    }

    /// Adds the widths inside of a type. The recursion follows the schema's type, whose depth is bounded.
    fn data(&mut self, program: &ir::Program, outer: &DataType, inner: &ir::Type) {
        match (outer, inner) {
            (DataType::Translated { uri, .. }, inner) => self.add(Some(uri), inner),
            (DataType::Struct(of), ir::Type::Struct(id)) => {
                for field in &program.structs[*id].fields {
                    if let Some((_, ty)) = of.members.iter().find(|(name, _)| *name == field.name) {
                        self.data(program, ty, &field.ty);
                    }
                }
            }
            (DataType::Tuple(members), ir::Type::Struct(id)) => {
                let fields = &program.structs[*id].fields;
                members.iter().zip(fields).for_each(|(ty, field)| self.data(program, ty, &field.ty));
            }
            (
                DataType::Bits { .. }
                | DataType::Int { .. }
                | DataType::Varbit { .. }
                | DataType::Bool
                | DataType::Tuple(_)
                | DataType::Struct(_)
                | DataType::Header(_)
                | DataType::HeaderUnion(_)
                | DataType::HeaderStack { .. }
                | DataType::HeaderUnionStack { .. }
                | DataType::Enum(_)
                | DataType::Error(_)
                | DataType::SerializableEnum { .. },
                _,
            ) => {}
        }
    }
}
