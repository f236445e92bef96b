//! Tables, action profiles and value sets: what the control plane fills and packets look up.

mod entry;
mod index;
mod select;
mod store;
mod value_set;

pub use entry::{Direct, StoredEntry};
pub use select::{SelectorHash, fnv1a};
pub use store::{Added, Table};
pub use target::store::matching::{in_range, is_match, normalised};
pub use target::store::{
    EntryAction, EntryHandle, EntryRef, Group, Matches, NewEntry, OneShot, Profile, Selection, TableError,
    Weighted,
};
pub use value_set::ValueSet;

use crate::load::{Config, Executable, LoadError, index_of};
use ir::{Action, Bits, ObjectId, TableId, ValueSetId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use target::store::TableUse;
use target::store::shape::{TableShape, TableShapes, Use};

/// The tables of a program.
#[derive(Debug)]
pub struct Tables {
    tables: Vec<Table>,
    shapes: TableShapes,
    /// By object.
    profiles: BTreeMap<u32, Profile>,
    value_sets: Vec<ValueSet>,
    /// Group members that watch one of these are left out.
    pub ports_down: BTreeSet<u32>,
    pub selector_hash: SelectorHash,
}

/// The result of a lookup.
#[derive(Debug)]
pub struct Found<'t> {
    pub entry: EntryRef,
    /// `None` on a miss.
    pub stored: Option<&'t StoredEntry>,
    /// Index in the table's actions, and the data; `None` when there is nothing to choose from.
    pub action: Option<(u32, &'t [Bits])>,
    /// The action that a group runs before it.
    pub group_action: Option<&'t Action>,
    /// The member of an action profile that contributed the action.
    pub member: Option<u32>,
    /// Number of entries in the table; 0 on a hit, where it is not counted.
    pub n_entries: u64,
}

impl Tables {
    /// The use of each table, in the program's order.
    pub fn uses(&self) -> Vec<TableUse> {
        let of_table = |table: &Table| TableUse {
            n_entries: table.n_entries() as u64,
            n_lookups: table.n_lookups,
            n_hits: table.n_hits,
            packets: table.packets,
        };
        self.tables.iter().map(of_table).collect()
    }

    /// The tables with the entries that the program declares.
    pub fn new(exe: &Executable, config: Config) -> Result<Tables, LoadError> {
        let mut profiles = BTreeMap::new();
        let mut tables = Vec::with_capacity(exe.program.tables.len());
        let shapes = TableShape::all(&exe.program, config.table_size);
        for ((_, decl), shape) in exe.program.tables.iter().zip(shapes.iter()) {
            if let Some(object) = decl.implementation {
                if index_of(object) >= exe.program.objects.len() {
                    return Err(LoadError::Malformed("an unknown object"));
                }
                let profile = || Profile::new(&exe.program.objects[object]);
                profiles.entry(index_of(object) as u32).or_insert_with(profile);
            }
            tables.push(Table::new(decl, Arc::clone(shape))?);
        }
        let value_sets = exe.program.value_sets.iter().map(|(_, decl)| ValueSet::new(decl)).collect();
        Ok(Tables { tables, shapes, profiles, value_sets, ports_down: BTreeSet::new(), selector_hash: fnv1a })
    }

    /// The shapes of entries that may be written to each table.
    pub fn shapes(&self) -> &TableShapes {
        &self.shapes
    }

    pub fn table(&self, id: TableId) -> Option<&Table> {
        self.tables.get(index_of(id))
    }

    fn table_mut(&mut self, id: TableId) -> Result<&mut Table, TableError> {
        self.tables.get_mut(index_of(id)).ok_or(TableError::UnknownTable)
    }

    /// Counts the hit. `values` are those of all keys of the table, selector keys included; `random` gives a number to groups
    /// that select at random.
    pub fn lookup(
        &mut self,
        id: TableId,
        values: &[Bits],
        now_ns: u64,
        random: &mut dyn FnMut() -> u64,
    ) -> Found<'_> {
        let nothing = Found {
            entry: EntryRef::Default,
            stored: None,
            action: None,
            group_action: None,
            member: None,
            n_entries: 0,
        };
        let Some(table) = self.tables.get_mut(index_of(id)) else { return nothing };
        let found = table.hit(values, now_ns);
        let table = &self.tables[index_of(id)];
        let Some(entry) = found.and_then(|slot| table.at(slot)) else {
            let default = &table.default_action;
            let n_entries = table.n_entries() as u64;
            return Found { action: Some((default.index, &default.data)), n_entries, ..nothing };
        };
        let found = Found { entry: EntryRef::Entry(entry.handle), stored: Some(entry), ..nothing };
        let profile = table.shape.profile.and_then(|object| self.profiles.get(&(index_of(object) as u32)));
        let hash = || {
            let algorithm = profile.and_then(|p| p.algorithm.as_deref()).unwrap_or("");
            let inputs: Vec<&Bits> =
                table.shape.selector_keys.iter().filter_map(|i| values.get(*i)).collect();
            (self.selector_hash)(algorithm, &inputs)
        };
        let member_action = |id: u32| profile.and_then(|p| p.members.get(&id));
        let mut group_action = None;
        let (action, member): (Option<&Action>, Option<u32>) = match &entry.action {
            EntryAction::Action(action) => (Some(action), None),
            EntryAction::Member(id) => (member_action(*id), Some(*id)),
            EntryAction::Group(id) => {
                let group = profile.and_then(|p| p.groups.get(id));
                let member = group.and_then(|g| select::choose(&g.members, hash(), &self.ports_down));
                (member.and_then(|m| member_action(*m)), member.copied())
            }
            EntryAction::OneShot(one_shot) => {
                group_action = one_shot.group_action.as_ref();
                let number = match one_shot.selection {
                    Selection::Hash => hash(),
                    Selection::Random => random(),
                };
                (select::choose(&one_shot.actions, number, &self.ports_down), None)
            }
        };
        Found { action: action.map(|a| (a.index, a.data.as_slice())), group_action, member, ..found }
    }

    /// Adds an entry; `now_ns` is when its idle time begins.
    pub fn insert(&mut self, id: TableId, entry: NewEntry, now_ns: u64) -> Result<EntryHandle, TableError> {
        self.check_action(id, &entry.action)?;
        let action = entry.action.clone();
        let handle = self.table_mut(id)?.insert(entry, now_ns)?;
        if let Some(profile) = self.profile_of(id) {
            profile.begin_use(&action);
        }
        Ok(handle)
    }

    /// Replaces action and extras of an entry. Its direct counter goes on.
    pub fn modify(&mut self, id: TableId, entry: NewEntry, now_ns: u64) -> Result<EntryHandle, TableError> {
        self.check_action(id, &entry.action)?;
        let action = entry.action.clone();
        let (handle, old) = self.table_mut(id)?.modify(entry, now_ns)?;
        if let Some(profile) = self.profile_of(id) {
            profile.begin_use(&action);
            profile.end_use(&old);
        }
        Ok(handle)
    }

    pub fn delete(
        &mut self,
        id: TableId,
        matches: &Matches,
        priority: i32,
    ) -> Result<StoredEntry, TableError> {
        let entry = self.table_mut(id)?.delete(matches, priority)?;
        if let Some(profile) = self.profile_of(id) {
            profile.end_use(&entry.action);
        }
        Ok(entry)
    }

    /// `None` sets the program's default action again.
    pub fn set_default(&mut self, id: TableId, action: Option<Action>) -> Result<(), TableError> {
        self.table_mut(id)?.set_default(action)
    }

    /// The cells of an entry in the direct counter and meter.
    pub fn direct(&mut self, id: TableId, entry: EntryRef) -> Option<&mut Direct> {
        self.table_mut(id).ok()?.direct(entry)
    }

    /// Adds the entry that a packet asks for after a miss; `values` are those of all keys.
    pub fn add_on_miss(
        &mut self,
        id: TableId,
        values: &[Bits],
        action: Action,
        profile: u8,
        now_ns: u64,
    ) -> Result<Added, TableError> {
        Ok(self.table_mut(id)?.add_on_miss(values, action, profile, now_ns))
    }

    /// The timeout of an entry begins again, with another profile if one is given.
    pub fn restart(&mut self, id: TableId, entry: EntryRef, profile: Option<u8>, now_ns: u64) {
        if let (Ok(table), EntryRef::Entry(handle)) = (self.table_mut(id), entry)
            && table.get(handle).is_some()
        {
            table.restart(handle.slot, profile, now_ns);
        }
    }

    /// A value in the data of an entry, or of the default action.
    pub fn data(&mut self, id: TableId, entry: EntryRef, leaf: usize) -> Option<&mut Bits> {
        self.table_mut(id).ok()?.data(entry, leaf)
    }

    /// Removes entries whose time is over.
    pub fn remove_ended(&mut self, now_ns: u64) {
        self.tables.iter_mut().for_each(|table| table.remove_ended(now_ns));
    }

    pub fn set_profile(&mut self, id: TableId, profile: u8, timeout_ns: u64) -> bool {
        self.table_mut(id).is_ok_and(|table| table.set_profile(profile, timeout_ns))
    }

    pub fn profile_timeout(&self, id: TableId, profile: u8) -> Option<u64> {
        self.table(id)?.profile_timeout(profile)
    }

    /// Entries that were not hit for as long as they say, each once per such time.
    pub fn take_expired(&mut self, now_ns: u64) -> Vec<(TableId, EntryHandle)> {
        let mut expired = Vec::new();
        for (i, table) in self.tables.iter_mut().enumerate() {
            let id = TableId::from_raw(la_arena::RawIdx::from_u32(i as u32));
            expired.extend(table.take_expired(now_ns).into_iter().map(|handle| (id, handle)));
        }
        expired
    }

    fn check_action(&self, id: TableId, action: &EntryAction) -> Result<(), TableError> {
        let table = self.table(id).ok_or(TableError::UnknownTable)?;
        table.shape.check_entry_action(action, table.shape.profile.and_then(|object| self.profile(object)))
    }

    fn profile_of(&mut self, id: TableId) -> Option<&mut Profile> {
        let object = self.table(id)?.shape.profile?;
        self.profile_mut(object).ok()
    }

    pub fn profile(&self, object: ObjectId) -> Option<&Profile> {
        self.profiles.get(&(index_of(object) as u32))
    }

    fn profile_mut(&mut self, object: ObjectId) -> Result<&mut Profile, TableError> {
        self.profiles.get_mut(&(index_of(object) as u32)).ok_or(TableError::UnknownProfile)
    }

    /// The action is one of the first table that uses the profile; all its tables have the same actions.
    fn check_member(&self, object: ObjectId, action: &Action) -> Result<(), TableError> {
        let table = self.tables.iter().find(|t| t.shape.profile == Some(object));
        table.ok_or(TableError::UnknownProfile)?.shape.check_action(action, Use::Entry)
    }

    pub fn insert_member(&mut self, object: ObjectId, id: u32, action: Action) -> Result<(), TableError> {
        self.check_member(object, &action)?;
        self.profile_mut(object)?.insert_member(id, action)
    }

    pub fn modify_member(&mut self, object: ObjectId, id: u32, action: Action) -> Result<(), TableError> {
        self.check_member(object, &action)?;
        self.profile_mut(object)?.modify_member(id, action)
    }

    pub fn delete_member(&mut self, object: ObjectId, id: u32) -> Result<(), TableError> {
        self.profile_mut(object)?.delete_member(id)
    }

    pub fn insert_group(&mut self, object: ObjectId, id: u32, group: Group) -> Result<(), TableError> {
        self.profile_mut(object)?.insert_group(id, group)
    }

    pub fn modify_group(&mut self, object: ObjectId, id: u32, group: Group) -> Result<(), TableError> {
        self.profile_mut(object)?.modify_group(id, group)
    }

    pub fn delete_group(&mut self, object: ObjectId, id: u32) -> Result<(), TableError> {
        self.profile_mut(object)?.delete_group(id)
    }

    /// An id of this program.
    pub fn value_set(&self, id: ValueSetId) -> &ValueSet {
        &self.value_sets[index_of(id)]
    }

    pub fn set_value_set(&mut self, id: ValueSetId, members: Vec<Matches>) -> Result<(), TableError> {
        self.value_sets.get_mut(index_of(id)).ok_or(TableError::UnknownValueSet)?.set_members(members)
    }
}
