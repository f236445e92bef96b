//! Action profiles and selectors: actions that entries share.

use super::TableError;
use super::entry::Weighted;
use ir::{Action, Bits, Constant, Object};
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub action: Action,
}

#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Group {
    pub members: Vec<Weighted<u32>>,
    /// As written; 0 is any.
    pub max_size: u32,
}

/// Members and groups by the ids that the controller chose.
#[derive(Debug)]
pub struct Profile {
    pub(super) size: Option<u64>,
    /// Of selectors the hash that chooses.
    pub(super) algorithm: Option<SmolStr>,
    pub members: BTreeMap<u32, Member>,
    pub groups: BTreeMap<u32, Group>,
    /// Number of entries that name a member or a group.
    pub(super) member_uses: BTreeMap<u32, u64>,
    pub(super) group_uses: BTreeMap<u32, u64>,
}

impl Profile {
    pub(super) fn new(object: &Object) -> Profile {
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

    pub(super) fn insert_member(&mut self, id: u32, action: Action) -> Result<(), TableError> {
        if self.members.contains_key(&id) {
            return Err(TableError::MemberExists(id));
        }
        if let Some(size) = self.size.filter(|s| *s > 0 && self.members.len() as u64 >= *s) {
            return Err(TableError::ProfileFull { size });
        }
        self.members.insert(id, Member { action });
        Ok(())
    }

    pub(super) fn modify_member(&mut self, id: u32, action: Action) -> Result<(), TableError> {
        self.members.get_mut(&id).ok_or(TableError::UnknownMember(id))?.action = action;
        Ok(())
    }

    pub(super) fn delete_member(&mut self, id: u32) -> Result<(), TableError> {
        if !self.members.contains_key(&id) {
            return Err(TableError::UnknownMember(id));
        }
        let in_group = self.groups.values().any(|g| g.members.iter().any(|m| m.what == id));
        if in_group || self.member_uses.contains_key(&id) {
            return Err(TableError::InUse);
        }
        self.members.remove(&id);
        Ok(())
    }

    pub(super) fn insert_group(&mut self, id: u32, group: Group) -> Result<(), TableError> {
        if self.groups.contains_key(&id) {
            return Err(TableError::GroupExists(id));
        }
        self.check_group(&group)?;
        self.groups.insert(id, group);
        Ok(())
    }

    pub(super) fn modify_group(&mut self, id: u32, group: Group) -> Result<(), TableError> {
        if !self.groups.contains_key(&id) {
            return Err(TableError::UnknownGroup(id));
        }
        self.check_group(&group)?;
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

    pub(super) fn delete_group(&mut self, id: u32) -> Result<(), TableError> {
        if !self.groups.contains_key(&id) {
            return Err(TableError::UnknownGroup(id));
        }
        if self.group_uses.contains_key(&id) {
            return Err(TableError::InUse);
        }
        self.groups.remove(&id);
        Ok(())
    }
}

/// One more or one less use.
pub(super) fn count_use(uses: &mut BTreeMap<u32, u64>, id: u32, more: bool) {
    let n = uses.entry(id).or_insert(0);
    *n = if more { *n + 1 } else { n.saturating_sub(1) };
    if *n == 0 {
        uses.remove(&id);
    }
}

/// Chooses a number from the values of the selector keys; the name is that of the algorithm.
pub type SelectorHash = fn(algorithm: &str, values: &[&Bits]) -> u64;

/// FNV-1a over the bytes of the values, whatever the algorithm.
pub fn fnv1a(_: &str, values: &[&Bits]) -> u64 {
    let bytes = values.iter().flat_map(|v| v.to_bytes_be());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// The alternative that a hash chooses, in proportion to the weights; ports that are down do not count.
pub(super) fn choose<'a, T>(
    alternatives: &'a [Weighted<T>],
    hash: u64,
    ports_down: &BTreeSet<u32>,
) -> Option<&'a T> {
    let is_up = |w: &&Weighted<T>| w.watch_port.is_none_or(|port| !ports_down.contains(&port));
    let total: u64 = alternatives.iter().filter(is_up).map(|w| u64::from(w.weight.max(1))).sum();
    let mut at = hash.checked_rem(total)?;
    for w in alternatives.iter().filter(is_up) {
        let weight = u64::from(w.weight.max(1));
        if at < weight {
            return Some(&w.what);
        }
        at -= weight;
    }
    None
}
