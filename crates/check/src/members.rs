//! Members by name: a declaration may have a hundred thousand of them, and as many uses.

use crate::program::*;
use diagnostics::Span;
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use std::ops::Deref;

/// Members of `error` or of `match_kind`, in order of declaration.
#[derive(Debug, Default)]
pub struct NamedMembers {
    members: Vec<NamedMember>,
    by_name: FxHashMap<SmolStr, u32>,
}

impl NamedMembers {
    /// Returns the position of a member by its name.
    pub fn position(&self, name: &str) -> Option<u32> {
        self.by_name.get(name).copied()
    }

    /// Adds a member; gives back the place of an earlier one of the same name instead.
    pub(crate) fn declare(&mut self, name: &SmolStr, span: Span) -> Result<(), Span> {
        if let Some(earlier) = self.position(name) {
            return Err(self.members[earlier as usize].span);
        }
        self.by_name.insert(name.clone(), self.members.len() as u32);
        self.members.push(NamedMember { name: name.clone(), span });
        Ok(())
    }
}

impl Deref for NamedMembers {
    type Target = [NamedMember];
    fn deref(&self) -> &[NamedMember] {
        &self.members
    }
}

/// Positions of the members of types and tables in their declarations.
#[derive(Default)]
pub(crate) struct Positions {
    pub fields: FxHashMap<(StructId, SmolStr), u32>,
    pub enum_members: FxHashMap<(EnumId, SmolStr), u32>,
    /// Constructors and methods of one name.
    pub methods: FxHashMap<(ExternId, SmolStr), Vec<u32>>,
    /// Actions in the list of a table.
    pub listed_actions: FxHashMap<(TableId, ActionId), u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_declared_once() {
        let mut errors = NamedMembers::default();
        let (first, second) = (Span::new(1, 2), Span::new(3, 4));
        assert_eq!(errors.declare(&"NoError".into(), first), Ok(()));
        assert_eq!(errors.declare(&"NoMatch".into(), second), Ok(()));
        assert_eq!(errors.declare(&"NoError".into(), second), Err(first));
        assert_eq!((errors.len(), errors.position("NoMatch"), errors.position("no")), (2, Some(1), None));
    }
}
