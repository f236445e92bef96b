//! One table: its entries, its default action, what may be written to it.

use super::entry::{
    Direct, EntryAction, EntryHandle, EntryRef, Extras, Matches, NewEntry, StoredEntry, fits, normalised,
};
use super::index::{Index, KeyInfo};
use super::{TableError, in_range};
use crate::load::{Config, Executable, LoadError};
use ir::{Action, Bits, Match, MatchKind, ObjectId, TableId};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

/// Entries of one table.
#[derive(Debug)]
pub struct Table {
    /// Keys that are matched on.
    keys: Vec<KeyInfo>,
    key_names: Vec<SmolStr>,
    /// Positions of those that are not.
    pub(super) selector_keys: Vec<usize>,
    has_priority: bool,
    actions: Vec<ActionInfo>,
    pub(super) default_action: Action,
    initial_default: Action,
    default_direct: Direct,
    has_const_default: bool,
    is_const: bool,
    size: u64,
    pub(super) profile: Option<ObjectId>,
    entries: Vec<Option<StoredEntry>>,
    free: Vec<u32>,
    by_key: FxHashMap<(Matches, i32), u32>,
    index: Index,
    next_serial: u64,
    pub n_lookups: u64,
    pub n_hits: u64,
}

#[derive(Debug)]
struct ActionInfo {
    name: SmolStr,
    /// Widths of the action data; `None` of a `varbit`.
    widths: Vec<Option<u32>>,
    is_table_only: bool,
    is_default_only: bool,
}

/// What an action is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Entry,
    Default,
}

impl Table {
    pub(super) fn new(
        exe: &Executable,
        id: TableId,
        decl: &ir::Table,
        config: Config,
    ) -> Result<Table, LoadError> {
        let mut keys = Vec::new();
        let mut key_names = Vec::new();
        let mut selector_keys = Vec::new();
        for (position, key) in decl.keys.iter().enumerate() {
            if key.match_kind == MatchKind::Selector {
                selector_keys.push(position);
            } else {
                let (width, signed) = (key.ty.width_bits(), key.ty.is_signed());
                keys.push(KeyInfo { kind: key.match_kind, width, signed, position });
                key_names.push(key.name.clone());
            }
        }
        let mut actions = Vec::with_capacity(decl.actions.len());
        for (action, i) in decl.actions.iter().zip(0..) {
            let params = exe.action(id, i).map_or(&[][..], |a| &a.params);
            actions.push(ActionInfo {
                name: action.name.clone(),
                widths: params.iter().map(|slot| exe.width_of(*slot)).collect(),
                is_table_only: action.is_table_only,
                is_default_only: action.is_default_only,
            });
        }
        let is_priority = |k: &KeyInfo| match k.kind {
            MatchKind::Ternary | MatchKind::Range | MatchKind::Optional => true,
            MatchKind::Exact | MatchKind::Lpm | MatchKind::Selector => false,
        };
        let has_wildcards = decl.entries.iter().any(|entry| {
            let mut matches = keys.iter().zip(&entry.matches);
            matches.any(|(key, m)| key.kind == MatchKind::Exact && m.is_none())
        });
        let mut table = Table {
            has_priority: keys.iter().any(is_priority),
            index: Index::new(&keys, has_wildcards),
            keys,
            key_names,
            selector_keys,
            actions,
            default_action: decl.default_action.clone(),
            initial_default: decl.default_action.clone(),
            default_direct: Direct::default(),
            has_const_default: decl.has_const_default_action,
            is_const: decl.has_const_entries,
            size: decl.size.filter(|s| *s > 0).unwrap_or(config.table_size),
            profile: decl.implementation,
            entries: Vec::new(),
            free: Vec::new(),
            by_key: FxHashMap::default(),
            next_serial: 0,
            n_lookups: 0,
            n_hits: 0,
        };
        let refused = |_| LoadError::Entries { table: decl.name.clone() };
        table.check_action(&table.default_action, Use::Default).map_err(refused)?;
        for entry in &decl.entries {
            table.check_action(&entry.action, Use::Entry).map_err(refused)?;
            let matches = table.check_matches(&entry.matches, Wildcards::Allowed).map_err(refused)?;
            let new = NewEntry {
                matches,
                priority: entry.priority,
                action: EntryAction::Action(entry.action.clone()),
                extras: Extras::default(),
            };
            // Of entries with one key the first wins.
            if !table.by_key.contains_key(&(new.matches.clone(), new.priority)) {
                table.add(new, entry.is_const || decl.has_const_entries, 0);
            }
        }
        Ok(table)
    }

    /// Entries in the order in which they were inserted.
    pub fn entries(&self) -> Vec<&StoredEntry> {
        let mut entries: Vec<&StoredEntry> = self.entries.iter().flatten().collect();
        entries.sort_unstable_by_key(|e| e.handle);
        entries
    }

    pub fn n_entries(&self) -> usize {
        self.by_key.len()
    }

    pub fn size(&self) -> u64 {
        self.size
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
        let matches = self.normalise(matches);
        self.by_key.get(&(matches, priority)).copied()
    }

    /// As [`StoredEntry::matches`] has it.
    pub fn normalise(&self, matches: &Matches) -> Matches {
        let signed = self.keys.iter().map(|k| k.signed).chain(std::iter::repeat(false));
        matches.iter().cloned().zip(signed).map(|(m, signed)| normalised(m, signed)).collect()
    }

    pub(super) fn hit(&mut self, values: &[Bits], now_ns: u64) -> Option<u32> {
        self.n_lookups += 1;
        let slot = self.index.find(&self.keys, values, &self.entries)?;
        self.n_hits += 1;
        if let Some(Some(entry)) = self.entries.get_mut(slot as usize) {
            entry.n_hits += 1;
            entry.last_hit_ns = now_ns;
            entry.reported_ns = None;
        }
        Some(slot)
    }

    pub(super) fn check_action(&self, action: &Action, for_what: Use) -> Result<(), TableError> {
        let info = self.actions.get(action.index as usize).ok_or(TableError::UnknownAction)?;
        let name = || info.name.clone();
        match for_what {
            Use::Entry if info.is_default_only => return Err(TableError::DefaultOnly { action: name() }),
            Use::Default if info.is_table_only => return Err(TableError::TableOnly { action: name() }),
            Use::Entry | Use::Default => {}
        }
        let fits = action.data.len() == info.widths.len()
            && action.data.iter().zip(&info.widths).all(|(v, w)| w.is_none_or(|w| v.width() == w));
        if fits { Ok(()) } else { Err(TableError::WrongData { action: name() }) }
    }

    fn check_matches(&self, matches: &Matches, wildcards: Wildcards) -> Result<Matches, TableError> {
        let expected = self.keys.len();
        if matches.len() != expected {
            return Err(TableError::WrongNumberOfKeys { expected, found: matches.len() });
        }
        for ((m, key), name) in matches.iter().zip(&self.keys).zip(&self.key_names) {
            match m {
                None if key.kind == MatchKind::Exact && wildcards == Wildcards::Refused => {
                    return Err(TableError::MissingMatch { key: name.clone() });
                }
                None => {}
                Some(m) if !fits(m, key.kind, key.width) => {
                    return Err(TableError::WrongMatch { key: name.clone() });
                }
                // The program may have an empty range: it never matches.
                Some(Match::Range { low, high })
                    if wildcards == Wildcards::Refused && !in_range(low, low, high, key.signed) =>
                {
                    return Err(TableError::EmptyRange { key: name.clone() });
                }
                Some(_) => {}
            }
        }
        Ok(self.normalise(matches))
    }

    pub(super) fn insert(&mut self, entry: NewEntry, now_ns: u64) -> Result<EntryHandle, TableError> {
        if self.is_const {
            return Err(TableError::ConstTable);
        }
        if self.keys.is_empty() {
            return Err(TableError::NoKeys);
        }
        if !self.has_priority && entry.priority != 0 {
            return Err(TableError::NoPriorities);
        }
        let matches = self.check_matches(&entry.matches, Wildcards::Refused)?;
        let entry = NewEntry { matches, ..entry };
        let key = (entry.matches, entry.priority);
        if self.by_key.contains_key(&key) {
            return Err(TableError::Exists);
        }
        let entry = NewEntry { matches: key.0, ..entry };
        if self.by_key.len() as u64 >= self.size {
            return Err(TableError::Full { size: self.size });
        }
        Ok(self.add(entry, false, now_ns))
    }

    fn add(&mut self, entry: NewEntry, is_const: bool, now_ns: u64) -> EntryHandle {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            self.entries.len() as u32 - 1
        });
        let handle = EntryHandle { serial: self.next_serial, slot };
        self.next_serial += 1;
        let stored = StoredEntry {
            handle,
            matches: entry.matches,
            priority: entry.priority,
            action: entry.action,
            extras: entry.extras,
            is_const,
            n_hits: 0,
            last_hit_ns: now_ns,
            direct: Direct::default(),
            reported_ns: None,
        };
        self.by_key.insert((stored.matches.clone(), stored.priority), slot);
        self.index.insert(&self.keys, &stored, slot);
        self.entries[slot as usize] = Some(stored);
        handle
    }

    /// The handle and the action that was there.
    pub(super) fn modify(
        &mut self,
        new: NewEntry,
        now_ns: u64,
    ) -> Result<(EntryHandle, EntryAction), TableError> {
        if self.is_const {
            return Err(TableError::ConstTable);
        }
        let slot = self.slot_of(&new.matches, new.priority).ok_or(TableError::NotFound)?;
        let entry = self.entries.get_mut(slot as usize).and_then(Option::as_mut);
        let entry = entry.ok_or(TableError::NotFound)?;
        if entry.is_const {
            return Err(TableError::ConstEntry);
        }
        entry.extras = new.extras;
        entry.last_hit_ns = now_ns;
        entry.reported_ns = None;
        Ok((entry.handle, std::mem::replace(&mut entry.action, new.action)))
    }

    pub(super) fn delete(&mut self, matches: &Matches, priority: i32) -> Result<StoredEntry, TableError> {
        if self.is_const {
            return Err(TableError::ConstTable);
        }
        let slot = self.slot_of(matches, priority).ok_or(TableError::NotFound)?;
        if self.at(slot).is_some_and(|e| e.is_const) {
            return Err(TableError::ConstEntry);
        }
        let entry = self.entries.get_mut(slot as usize).and_then(Option::take).ok_or(TableError::NotFound)?;
        self.index.remove(&self.keys, &entry);
        self.by_key.remove(&(entry.matches.clone(), entry.priority));
        self.free.push(slot);
        Ok(entry)
    }

    pub(super) fn set_default(&mut self, action: Option<Action>) -> Result<(), TableError> {
        if self.has_const_default {
            return Err(TableError::ConstDefault);
        }
        let action = action.unwrap_or_else(|| self.initial_default.clone());
        self.check_action(&action, Use::Default)?;
        self.default_action = action;
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

    pub(super) fn take_expired(&mut self, now_ns: u64) -> Vec<EntryHandle> {
        let mut expired = Vec::new();
        for entry in self.entries.iter_mut().flatten().filter(|e| e.extras.idle_timeout_ns > 0) {
            let since = entry.reported_ns.unwrap_or(entry.last_hit_ns);
            if now_ns.saturating_sub(since) >= entry.extras.idle_timeout_ns {
                entry.reported_ns = Some(now_ns);
                expired.push(entry.handle);
            }
        }
        expired.sort_unstable();
        expired
    }
}

/// Whether entries may leave out exact keys.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wildcards {
    Allowed,
    Refused,
}
