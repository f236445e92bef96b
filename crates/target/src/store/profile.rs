//! Action profiles and selectors: actions that entries share.

use super::{EntryAction, Group, TableError};
use ir::{Action, Constant, Object};
use smol_str::SmolStr;
use std::collections::BTreeMap;

/// Members and groups by the ids that the controller chose.
#[derive(Debug)]
pub struct Profile {
    /// Members, at most.
    pub size: Option<u64>,
    /// The hash of a selector.
    pub algorithm: Option<SmolStr>,
    pub members: BTreeMap<u32, Action>,
    pub groups: BTreeMap<u32, Group>,
    /// Number of entries that name a member or a group; 0 is not here.
    member_uses: BTreeMap<u32, u64>,
    group_uses: BTreeMap<u32, u64>,
}

impl Profile {
    /// Without members and groups.
    pub fn new(object: &Object) -> Profile {
        let size = object.args.iter().find_map(|(name, value)| match value {
            Constant::Bits(bits) if name == "size" => bits.to_u64(),
            _ => None,
        });
        let algorithm = object.args.iter().find_map(|(_, value)| match value {
            Constant::Member(name) => Some(name.clone()),
            _ => None,
        });
        Profile {
            size,
            algorithm,
            members: BTreeMap::new(),
            groups: BTreeMap::new(),
            member_uses: BTreeMap::new(),
            group_uses: BTreeMap::new(),
        }
    }

    /// The errors of [`insert_member`](Self::insert_member), without the insertion.
    pub fn check_insert_member(&self, id: u32) -> Result<(), TableError> {
        if self.members.contains_key(&id) {
            return Err(TableError::MemberExists(id));
        }
        if let Some(size) = self.size.filter(|s| *s > 0 && self.members.len() as u64 >= *s) {
            return Err(TableError::ProfileFull { size });
        }
        Ok(())
    }

    pub fn insert_member(&mut self, id: u32, action: Action) -> Result<(), TableError> {
        self.check_insert_member(id)?;
        self.members.insert(id, action);
        Ok(())
    }

    pub fn modify_member(&mut self, id: u32, action: Action) -> Result<(), TableError> {
        *self.members.get_mut(&id).ok_or(TableError::UnknownMember(id))? = action;
        Ok(())
    }

    /// The errors of [`delete_member`](Self::delete_member), without the deletion.
    pub fn check_delete_member(&self, id: u32) -> Result<(), TableError> {
        if !self.members.contains_key(&id) {
            return Err(TableError::UnknownMember(id));
        }
        let in_group = self.groups.values().any(|g| g.members.iter().any(|m| m.what == id));
        if in_group || self.member_uses.contains_key(&id) {
            return Err(TableError::InUse);
        }
        Ok(())
    }

    pub fn delete_member(&mut self, id: u32) -> Result<(), TableError> {
        self.check_delete_member(id)?;
        self.members.remove(&id);
        Ok(())
    }

    /// The errors of [`insert_group`](Self::insert_group), without the insertion.
    pub fn check_insert_group(&self, id: u32, group: &Group) -> Result<(), TableError> {
        if self.groups.contains_key(&id) {
            return Err(TableError::GroupExists(id));
        }
        self.check_group(group)
    }

    pub fn insert_group(&mut self, id: u32, group: Group) -> Result<(), TableError> {
        self.check_insert_group(id, &group)?;
        self.groups.insert(id, group);
        Ok(())
    }

    /// The errors of [`modify_group`](Self::modify_group), without the change.
    pub fn check_modify_group(&self, id: u32, group: &Group) -> Result<(), TableError> {
        if !self.groups.contains_key(&id) {
            return Err(TableError::UnknownGroup(id));
        }
        self.check_group(group)
    }

    pub fn modify_group(&mut self, id: u32, group: Group) -> Result<(), TableError> {
        self.check_modify_group(id, &group)?;
        self.groups.insert(id, group);
        Ok(())
    }

    fn check_group(&self, group: &Group) -> Result<(), TableError> {
        if self.algorithm.is_none() {
            return Err(TableError::NoSelector);
        }
        let unknown = group.members.iter().find(|m| !self.members.contains_key(&m.what));
        unknown.map_or(Ok(()), |m| Err(TableError::UnknownMember(m.what)))
    }

    /// The errors of [`delete_group`](Self::delete_group), without the deletion.
    pub fn check_delete_group(&self, id: u32) -> Result<(), TableError> {
        if !self.groups.contains_key(&id) {
            return Err(TableError::UnknownGroup(id));
        }
        if self.group_uses.contains_key(&id) {
            return Err(TableError::InUse);
        }
        Ok(())
    }

    pub fn delete_group(&mut self, id: u32) -> Result<(), TableError> {
        self.check_delete_group(id)?;
        self.groups.remove(&id);
        Ok(())
    }

    /// An entry begins to name a member or a group.
    pub fn begin_use(&mut self, action: &EntryAction) {
        if let Some((uses, id)) = self.uses(action) {
            *uses.entry(id).or_insert(0) += 1;
        }
    }

    /// It does so no longer.
    pub fn end_use(&mut self, action: &EntryAction) {
        let Some((uses, id)) = self.uses(action) else { return };
        if let Some(n) = uses.get_mut(&id) {
            *n -= 1;
            if *n == 0 {
                uses.remove(&id);
            }
        }
    }

    fn uses(&mut self, action: &EntryAction) -> Option<(&mut BTreeMap<u32, u64>, u32)> {
        match action {
            EntryAction::Member(id) => Some((&mut self.member_uses, *id)),
            EntryAction::Group(id) => Some((&mut self.group_uses, *id)),
            EntryAction::Action(_) | EntryAction::OneShot(_) => None,
        }
    }
}
