//! Value sets of parsers: filled by the control plane, asked by `select`.

use super::{Matches, TableError, is_match};
use ir::Bits;
use target::store::shape::ValueSetShape;

#[derive(Debug, Default)]
pub struct ValueSet {
    shape: ValueSetShape,
    members: Vec<Matches>,
}

impl ValueSet {
    pub(super) fn new(decl: &ir::ValueSet) -> ValueSet {
        ValueSet { shape: ValueSetShape::new(decl), members: Vec::new() }
    }

    pub fn members(&self) -> &[Matches] {
        &self.members
    }

    /// True when the values, one for each field, are a member of the set.
    pub fn contains(&self, values: &mut dyn Iterator<Item = &Bits>) -> bool {
        if self.members.is_empty() {
            return false;
        }
        let values: Vec<&Bits> = values.collect();
        self.members.iter().any(|member| {
            let mut parts = member.iter().zip(&values).zip(&self.shape.fields);
            parts.all(|((m, value), (_, _, signed))| is_match(m.as_ref(), value, *signed))
        })
    }

    /// Replaces all members.
    pub fn set_members(&mut self, members: Vec<Matches>) -> Result<(), TableError> {
        self.members = self.shape.check(members)?;
        Ok(())
    }
}
