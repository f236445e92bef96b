//! The variables of a program, and where each part of them lies.

use crate::{Layout, LeafInfo, SLOTS_MAX, Slot, SlotRange};
use arch::{FieldRole, ParamRole};
use ir::lookup::{id_at, index};
use ir::{Bits, Place, Program, Step, Type, VarId};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Why the variables of a program have no layout.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// The program is not one that `ir::validate` accepts.
    #[error("the program is malformed: {0}")]
    Malformed(&'static str),
    #[error("the program's variables have more than {SLOTS_MAX} parts")]
    TooLarge,
}

/// A program with a number for each part of each variable, in the order of declaration.
///
/// Events name values by these numbers, and traced native code exports its variables in the same order
/// (`rt/worker/sd_trace.h`).
#[derive(Debug)]
pub struct Variables {
    pub program: Arc<Program>,
    pub layout: Layout,
    /// Where each variable begins; one more for the end.
    bases: Vec<Slot>,
    /// Several fields may have one meaning.
    fields: FxHashMap<FieldRole, Vec<Slot>>,
}

impl Variables {
    /// Numbers the parts of all variables; refuses types without a finite size and more than [`SLOTS_MAX`] parts.
    pub fn new(program: Arc<Program>) -> Result<Variables, LayoutError> {
        let layout = Layout::new(&program)?;
        let mut bases = Vec::with_capacity(program.variables.len() + 1);
        let mut n = 0u32;
        for (_, variable) in program.variables.iter() {
            bases.push(n);
            let len = check_type(&program, &layout, &variable.ty)?;
            n = n.checked_add(len).filter(|n| *n <= SLOTS_MAX).ok_or(LayoutError::TooLarge)?;
        }
        bases.push(n);
        let mut variables = Variables { program, layout, bases, fields: FxHashMap::default() };
        let program = Arc::clone(&variables.program);
        for (role, place) in &program.fields {
            if let Some(range) = variables.place(place).filter(|r| r.len == 1) {
                variables.fields.entry(*role).or_default().push(range.first);
            }
        }
        Ok(variables)
    }

    /// The value of each slot when a packet arrives.
    pub fn zeros(&self) -> Vec<Bits> {
        let mut zeros = Vec::with_capacity(self.n_variable_slots() as usize);
        for (_, variable) in self.program.variables.iter() {
            self.layout.for_each_leaf(&self.program, &variable.ty, &mut |leaf| zeros.push(leaf.zero()));
        }
        zeros
    }

    /// Slots of variables are the first so many.
    pub fn n_variable_slots(&self) -> u32 {
        self.bases.last().copied().unwrap_or(0)
    }

    pub fn variable(&self, var: VarId) -> SlotRange {
        let first = self.bases[index(var)];
        SlotRange { first, len: self.bases[index(var) + 1] - first }
    }

    /// The slots of a place without computed indices; `None` of others, of parts of a value too.
    pub fn place(&self, place: &Place) -> Option<SlotRange> {
        let mut slot = self.variable(place.var).first;
        let mut ty = self.program.variables[place.var].ty.clone();
        for step in &place.path {
            slot += self.step_offset(&ty, step)?;
            ty = self.program.step_type(&ty, step)?;
        }
        Some(SlotRange { first: slot, len: self.layout.n_slots(&ty) })
    }

    /// How far a part is from the beginning of the whole.
    pub fn step_offset(&self, ty: &Type, step: &Step) -> Option<u32> {
        match (step, ty) {
            (Step::Field(i), Type::Struct(id)) => self.layout.field_offset(*id, *i),
            (Step::Element(i), Type::Stack { element, size }) if i < size => {
                Some(1 + i * self.layout.n_slots(&Type::Struct(*element)))
            }
            (Step::Element(i), Type::Array { element, size }) if i < size => {
                Some(i * self.layout.n_slots(element))
            }
            (Step::Valid, Type::Struct(_)) | (Step::NextIndex, Type::Stack { .. }) => Some(0),
            _ => None,
        }
    }

    /// The slot of the first field of the architecture's metadata with a meaning.
    pub fn field(&self, role: FieldRole) -> Option<Slot> {
        self.fields(role).first().copied()
    }

    /// The slots of all fields of the architecture's metadata with a meaning.
    pub fn fields(&self, role: FieldRole) -> &[Slot] {
        self.fields.get(&role).map_or(&[], Vec::as_slice)
    }

    /// The slots of a variable that blocks share.
    pub fn shared(&self, role: ParamRole) -> Option<SlotRange> {
        self.program.shared_variable(role).map(|var| self.variable(var))
    }

    /// The slots of a field list; parts of values are left out.
    pub fn field_list(&self, index: u32) -> Option<Vec<SlotRange>> {
        let list = self.program.field_lists.iter().find(|l| l.index == index)?;
        Some(list.places.iter().filter_map(|p| self.place(p)).collect())
    }

    /// Returns the name and content of a slot; `None` for the slots of temporaries and constants.
    pub fn slot_info(&self, slot: Slot) -> Option<LeafInfo<'_>> {
        if slot >= self.n_variable_slots() {
            return None;
        }
        // Variables without slots share their base with the variable after them, which is the last one.
        let i = self.bases[..self.bases.len() - 1].partition_point(|b| *b <= slot).checked_sub(1)?;
        let id: VarId = id_at(i);
        let variable = &self.program.variables[id];
        Some(self.layout.leaf_at(&self.program, &variable.name, &variable.ty, slot - self.bases[i]))
    }
}

/// Number of slots, for types that were not seen in a struct yet.
fn check_type(program: &Program, layout: &Layout, ty: &Type) -> Result<u32, LayoutError> {
    match ty {
        Type::Bool | Type::Bit(_) | Type::Int(_) | Type::Varbit(_) | Type::Error | Type::Enum(_) => Ok(1),
        Type::Struct(id) if index(*id) < program.structs.len() => Ok(layout.n_slots(ty)),
        Type::Stack { element, size } if index(*element) < program.structs.len() => {
            let n = u64::from(layout.n_slots(&Type::Struct(*element))) * u64::from(*size) + 1;
            u32::try_from(n).map_err(|_| LayoutError::TooLarge)
        }
        Type::Array { element, size } => stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let n = u64::from(check_type(program, layout, element)?) * u64::from(*size);
            u32::try_from(n).map_err(|_| LayoutError::TooLarge)
        }),
        Type::Struct(_) | Type::Stack { .. } => Err(LayoutError::Malformed("an unknown struct")),
    }
}
