//! Value sets of parsers: filled by the control plane, asked by `select`.

use super::TableError;
use super::entry::{Matches, fits, is_match, normalised};
use ir::{Bits, MatchKind};

#[derive(Debug, Default)]
pub struct ValueSet {
    fields: Vec<(MatchKind, Option<u32>, bool)>,
    size: u64,
    members: Vec<Matches>,
}

impl ValueSet {
    pub(super) fn new(decl: &ir::ValueSet) -> ValueSet {
        let fields = decl.fields.iter();
        ValueSet {
            fields: fields.map(|f| (f.match_kind, f.ty.width_bits(), f.ty.is_signed())).collect(),
            size: decl.size,
            members: Vec::new(),
        }
    }

    pub fn members(&self) -> &[Matches] {
        &self.members
    }

    /// One value for each field.
    pub fn contains(&self, values: &mut dyn Iterator<Item = &Bits>) -> bool {
        if self.members.is_empty() {
            return false;
        }
        let values: Vec<&Bits> = values.collect();
        self.members.iter().any(|member| {
            let mut parts = member.iter().zip(&values).zip(&self.fields);
            parts.all(|((m, value), (_, _, signed))| is_match(m.as_ref(), value, *signed))
        })
    }

    /// Replaces all members.
    pub fn set_members(&mut self, members: Vec<Matches>) -> Result<(), TableError> {
        if members.len() as u64 > self.size {
            return Err(TableError::ValueSetFull { size: self.size });
        }
        let fit = members.iter().all(|member| {
            member.len() == self.fields.len()
                && member.iter().zip(&self.fields).all(|(m, (kind, width, _))| match m {
                    Some(m) => fits(m, *kind, *width),
                    None => *kind != MatchKind::Exact,
                })
        });
        if !fit {
            return Err(TableError::WrongValueSetMember);
        }
        let normalise = |member: Matches| {
            (member.into_iter().zip(&self.fields)).map(|(m, (_, _, signed))| normalised(m, *signed)).collect()
        };
        self.members = members.into_iter().map(normalise).collect();
        Ok(())
    }
}
