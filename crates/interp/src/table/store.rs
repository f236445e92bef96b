//! One table: its entries, its default action, and the shape of writes to it.

use super::entry::{Direct, StoredEntry};
use super::index::Index;
use super::{EntryAction, EntryHandle, EntryRef, Matches, NewEntry, TableError};
use crate::load::LoadError;
use ir::{Action, Added, Bits, Match, MatchKind, TIMEOUT_TICK_NS, Timeout, WhenFull, default_timeout_ns};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use target::store::shape::TableShape;
use target::store::{Carried, Origin, PacketWrites};

/// The origin of a new entry.
#[derive(Clone, Copy, Default)]
struct Author {
    origin: Origin,
    profile: Option<u8>,
    is_const: bool,
}

/// Entries of one table.
#[derive(Debug)]
pub struct Table {
    /// The shape of entries that may be written, shared with the store.
    pub shape: Arc<TableShape>,
    pub(super) default_action: Action,
    default_direct: Direct,
    entries: Vec<Option<StoredEntry>>,
    free: Vec<u32>,
    by_key: FxHashMap<(Matches, i32), u32>,
    index: Index,
    next_serial: u64,
    pub n_lookups: u64,
    pub n_hits: u64,
    /// Timeouts by profile, in tables with state.
    profiles_ns: Vec<u64>,
    pub(super) packets: PacketWrites,
}

/// The reason why a lookup misses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missed {
    Absent,
    /// The time of the entry was over.
    Expired,
}

impl Table {
    /// A table with the entries that the program declares.
    pub(super) fn new(decl: &ir::Table, shape: Arc<TableShape>) -> Result<Table, LoadError> {
        let declared = shape.declared_entries(decl);
        let declared = declared.map_err(|_| LoadError::Entries { table: decl.name.clone() })?;
        let has_wildcards = declared.iter().any(|(entry, _)| {
            let mut matches = shape.keys.iter().zip(&entry.matches);
            matches.any(|(key, m)| key.kind == MatchKind::Exact && m.is_none())
        });
        let mut table = Table {
            index: Index::new(&shape.keys, has_wildcards),
            default_action: shape.initial_default.clone(),
            shape,
            default_direct: Direct::default(),
            entries: Vec::new(),
            free: Vec::new(),
            by_key: FxHashMap::default(),
            next_serial: 0,
            n_lookups: 0,
            n_hits: 0,
            profiles_ns: Vec::new(),
            packets: PacketWrites::default(),
        };
        if table.shape.has_state {
            table.profiles_ns = (0..=u8::MAX).map(default_timeout_ns).collect();
        }
        for (entry, is_const) in declared {
            table.add(entry, Author { is_const, ..Author::default() }, 0);
        }
        Ok(table)
    }

    /// Entries in the order in which they were inserted.
    pub fn entries_after(&self, after: Option<EntryHandle>, n_max: usize) -> Vec<&StoredEntry> {
        let is_after = |entry: &&StoredEntry| after.is_none_or(|after| entry.handle > after);
        let mut entries: Vec<&StoredEntry> = self.entries.iter().flatten().filter(is_after).collect();
        if n_max < entries.len() {
            // Only the first ones have to be in order.
            entries.select_nth_unstable_by_key(n_max, |entry| entry.handle);
            entries.truncate(n_max);
        }
        entries.sort_unstable_by_key(|entry| entry.handle);
        entries
    }

    pub fn n_entries(&self) -> usize {
        self.by_key.len()
    }

    pub fn size(&self) -> u64 {
        self.shape.size
    }

    pub fn default_action(&self) -> &Action {
        &self.default_action
    }

    /// The cells of the default entry in the direct counter and meter.
    pub fn default_direct(&self) -> &Direct {
        &self.default_direct
    }

    pub fn get(&self, handle: EntryHandle) -> Option<&StoredEntry> {
        self.at(handle.slot).filter(|e| e.handle == handle)
    }

    pub(super) fn at(&self, slot: u32) -> Option<&StoredEntry> {
        self.entries.get(slot as usize)?.as_ref()
    }

    /// The entry with this key, if there is one; any normalisation will do.
    pub fn find(&self, matches: &Matches, priority: i32) -> Option<&StoredEntry> {
        self.at(self.slot_of(matches, priority)?)
    }

    fn slot_of(&self, matches: &Matches, priority: i32) -> Option<u32> {
        let matches = self.shape.normalise(matches);
        self.by_key.get(&(matches, priority)).copied()
    }

    /// The slot of the entry for a key.
    pub(super) fn hit(&mut self, values: &[Bits], now_ns: u64) -> Result<u32, Missed> {
        self.n_lookups += 1;
        let slot = self.index.find(&self.shape.keys, values, &self.entries).ok_or(Missed::Absent)?;
        if self.at(slot).is_some_and(|entry| self.has_ended(entry, now_ns)) {
            self.end(slot);
            return Err(Missed::Expired);
        }
        self.n_hits += 1;
        if let Some(Some(entry)) = self.entries.get_mut(slot as usize) {
            entry.n_hits += 1;
        }
        if self.shape.restarts_on_hit {
            self.restart(slot, None, now_ns);
        }
        Ok(slot)
    }

    // -- state --------------------------------------------------------------------------------

    /// A time as entries keep it.
    fn noted_ns(&self, now_ns: u64) -> u64 {
        if self.shape.has_state { now_ns - now_ns % TIMEOUT_TICK_NS } else { now_ns }
    }

    fn timeout_ns(&self, entry: &StoredEntry) -> Option<u64> {
        match entry.profile {
            Some(profile) => self.profiles_ns.get(usize::from(profile)).copied(),
            None => Some(entry.idle_timeout_ns).filter(|ns| *ns > 0),
        }
    }

    /// The entry is to be removed: lookups miss it.
    fn has_ended(&self, entry: &StoredEntry, now_ns: u64) -> bool {
        self.shape.timeout == Timeout::Delete
            && self.timeout_ns(entry).is_some_and(|ns| now_ns.saturating_sub(entry.last_hit_ns) >= ns)
    }

    /// Removes an entry whose time is over.
    fn end(&mut self, slot: u32) {
        let Some(entry) = self.take(slot) else { return };
        match entry.origin {
            Origin::Packet => {
                self.packets.n_expired += 1;
                self.packets.n_entries -= 1;
            }
            Origin::Control => self.packets.n_expired_control += 1,
        }
    }

    /// Removes the entry of a packet that was hit longest ago; of several, the one that was added first.
    fn evict(&mut self) -> bool {
        let of_packets = self.entries.iter().flatten().filter(|entry| entry.origin == Origin::Packet);
        let oldest =
            of_packets.min_by_key(|entry| (entry.last_hit_ns, entry.handle)).map(|entry| entry.handle.slot);
        let is_evicted = oldest.and_then(|slot| self.take(slot)).is_some();
        self.packets.n_evicted += u64::from(is_evicted);
        self.packets.n_entries -= u64::from(is_evicted);
        is_evicted
    }

    /// The timeout of an entry begins again, with another profile if one is given.
    pub(super) fn restart(&mut self, slot: u32, profile: Option<u8>, now_ns: u64) {
        let noted_ns = self.noted_ns(now_ns);
        let Some(Some(entry)) = self.entries.get_mut(slot as usize) else { return };
        entry.last_hit_ns = noted_ns;
        entry.reported_ns = None;
        entry.profile = profile.or(entry.profile);
    }

    /// Adds the entry that a packet asks for after a miss. `values` are those of all keys.
    pub(super) fn add_on_miss(&mut self, values: &[Bits], action: Action, profile: u8, now_ns: u64) -> Added {
        let matches: Matches = values.iter().map(|value| Some(Match::Exact(value.clone()))).collect();
        let entry = NewEntry::new(self.shape.normalise(&matches), 0, action);
        if let Some(slot) = self.slot_of(&entry.matches, 0) {
            if !self.at(slot).is_some_and(|entry| self.has_ended(entry, now_ns)) {
                self.packets.n_exists += 1;
                return Added::Exists;
            }
            self.end(slot);
        }
        if self.by_key.len() as u64 >= self.shape.size {
            self.remove_ended(now_ns);
        }
        let mut evicts =
            self.by_key.len() as u64 >= self.shape.size && self.shape.when_full == WhenFull::Oldest;
        if evicts {
            evicts = self.evict();
        }
        if self.by_key.len() as u64 >= self.shape.size {
            self.packets.n_full += 1;
            return Added::Full;
        }
        self.packets.n_added += 1;
        self.packets.n_entries += 1;
        // Tables without a timeout have no use for the profile.
        let profile = Some(profile).filter(|_| self.shape.timeout != Timeout::Never);
        self.add(entry, Author { origin: Origin::Packet, profile, is_const: false }, now_ns);
        if evicts { Added::Evicted } else { Added::Done }
    }

    pub(super) fn remove_ended(&mut self, now_ns: u64) {
        if self.shape.timeout != Timeout::Delete {
            return;
        }
        let ended = |entry: &&StoredEntry| self.has_ended(entry, now_ns);
        let slots: Vec<u32> =
            self.entries.iter().flatten().filter(ended).map(|entry| entry.handle.slot).collect();
        slots.into_iter().for_each(|slot| self.end(slot));
    }

    pub(super) fn profile_timeout(&self, profile: u8) -> Option<u64> {
        self.profiles_ns.get(usize::from(profile)).copied()
    }

    pub(super) fn set_profile(&mut self, profile: u8, timeout_ns: u64) -> bool {
        let timeout = self.profiles_ns.get_mut(usize::from(profile));
        let is_known = timeout.is_some();
        timeout.into_iter().for_each(|timeout| *timeout = timeout_ns);
        is_known
    }

    pub(super) fn insert(&mut self, entry: NewEntry, now_ns: u64) -> Result<EntryHandle, TableError> {
        let matches = self.shape.check_insert(&entry.matches, entry.priority)?;
        let entry = NewEntry { matches, ..entry };
        if let Some(slot) = self.slot_of(&entry.matches, entry.priority) {
            if !self.at(slot).is_some_and(|there| self.has_ended(there, now_ns)) {
                return Err(TableError::Exists);
            }
            self.end(slot);
        }
        if self.by_key.len() as u64 >= self.shape.size {
            self.remove_ended(now_ns);
        }
        if self.by_key.len() as u64 >= self.shape.size {
            return Err(TableError::Full { size: self.shape.size });
        }
        let author = entry.carried.map_or_else(Author::default, |Carried { origin, profile }| Author {
            origin,
            profile,
            is_const: false,
        });
        if author.origin == Origin::Packet {
            self.packets.n_carried += 1;
            self.packets.n_entries += 1;
        }
        Ok(self.add(entry, author, now_ns))
    }

    fn add(&mut self, entry: NewEntry, author: Author, now_ns: u64) -> EntryHandle {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            self.entries.len() as u32 - 1
        });
        let handle = EntryHandle { serial: self.next_serial, slot };
        self.next_serial += 1;
        let mut direct = Direct::default();
        direct.write(&entry, now_ns);
        let stored = StoredEntry {
            handle,
            matches: entry.matches,
            priority: entry.priority,
            action: entry.action,
            idle_timeout_ns: entry.idle_timeout_ns,
            profile: author.profile,
            origin: author.origin,
            is_const: author.is_const,
            n_hits: 0,
            last_hit_ns: self.noted_ns(now_ns),
            direct,
            reported_ns: None,
        };
        self.by_key.insert((stored.matches.clone(), stored.priority), slot);
        self.index.insert(&self.shape.keys, &stored, slot);
        self.entries[slot as usize] = Some(stored);
        handle
    }

    /// The handle and the action that was there.
    pub(super) fn modify(
        &mut self,
        new: NewEntry,
        now_ns: u64,
    ) -> Result<(EntryHandle, EntryAction), TableError> {
        if self.shape.is_const {
            return Err(TableError::ConstTable);
        }
        let slot = self.slot_of(&new.matches, new.priority).ok_or(TableError::NotFound)?;
        if self.at(slot).is_some_and(|there| self.has_ended(there, now_ns)) {
            return Err(TableError::NotFound);
        }
        let noted_ns = self.noted_ns(now_ns);
        let entry = self.entries.get_mut(slot as usize).and_then(Option::as_mut);
        let entry = entry.ok_or(TableError::NotFound)?;
        if entry.is_const {
            return Err(TableError::ConstEntry);
        }
        entry.idle_timeout_ns = new.idle_timeout_ns;
        // A timeout of its own takes the place of the profile.
        if new.idle_timeout_ns > 0 {
            entry.profile = None;
        }
        entry.last_hit_ns = noted_ns;
        entry.reported_ns = None;
        entry.direct.write(&new, now_ns);
        Ok((entry.handle, std::mem::replace(&mut entry.action, new.action)))
    }

    pub(super) fn delete(&mut self, matches: &Matches, priority: i32) -> Result<StoredEntry, TableError> {
        if self.shape.is_const {
            return Err(TableError::ConstTable);
        }
        let slot = self.slot_of(matches, priority).ok_or(TableError::NotFound)?;
        if self.at(slot).is_some_and(|e| e.is_const) {
            return Err(TableError::ConstEntry);
        }
        let entry = self.take(slot).ok_or(TableError::NotFound)?;
        if entry.origin == Origin::Packet {
            self.packets.n_deleted += 1;
            self.packets.n_entries -= 1;
        }
        Ok(entry)
    }

    /// Takes an entry out of the table.
    fn take(&mut self, slot: u32) -> Option<StoredEntry> {
        let entry = self.entries.get_mut(slot as usize)?.take()?;
        self.index.remove(&self.shape.keys, &entry);
        self.by_key.remove(&(entry.matches.clone(), entry.priority));
        self.free.push(slot);
        Some(entry)
    }

    pub(super) fn set_default(&mut self, action: Option<Action>) -> Result<(), TableError> {
        self.default_action = self.shape.check_default(action)?;
        Ok(())
    }

    pub(super) fn direct(&mut self, entry: EntryRef) -> Option<&mut Direct> {
        match entry {
            EntryRef::Default => Some(&mut self.default_direct),
            EntryRef::Entry(handle) => {
                let entry = self.entries.get_mut(handle.slot as usize)?.as_mut()?;
                (entry.handle == handle).then_some(&mut entry.direct)
            }
        }
    }

    /// A value in an entry, or in the default entry.
    pub(super) fn data(&mut self, entry: EntryRef, leaf: usize) -> Option<&mut Bits> {
        let action = match entry {
            EntryRef::Default => &mut self.default_action,
            EntryRef::Entry(handle) => {
                let found = self.entries.get_mut(handle.slot as usize)?.as_mut()?;
                match &mut found.action {
                    EntryAction::Action(action) if found.handle == handle => action,
                    _ => return None,
                }
            }
        };
        action.data.get_mut(leaf)
    }

    pub(super) fn take_expired(&mut self, now_ns: u64) -> Vec<EntryHandle> {
        let mut expired = Vec::new();
        if self.shape.timeout != Timeout::Notify {
            return expired;
        }
        let profiles_ns = &self.profiles_ns;
        for entry in self.entries.iter_mut().flatten() {
            let of_profile = entry.profile.and_then(|profile| profiles_ns.get(usize::from(profile)).copied());
            let timeout_ns = of_profile.or(Some(entry.idle_timeout_ns).filter(|ns| *ns > 0));
            let since = entry.reported_ns.unwrap_or(entry.last_hit_ns);
            if timeout_ns.is_some_and(|ns| now_ns.saturating_sub(since) >= ns) {
                entry.reported_ns = Some(now_ns);
                expired.push(entry.handle);
            }
        }
        // Other tables count nothing of what packets do to them.
        if !self.profiles_ns.is_empty() {
            self.packets.n_notified += expired.len() as u64;
        }
        expired.sort_unstable();
        expired
    }
}
