//! Lookups. They are fast where that is obvious, and otherwise slow and obvious.

use super::entry::StoredEntry;
use ir::{Bits, Match, MatchKind};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use target::store::matching::is_match;
use target::store::shape::KeyShape;

/// By slot in the table's list of entries.
#[derive(Debug)]
pub(super) enum Index {
    Hash(HashIndex),
    Scan(ScanIndex),
}

impl Index {
    /// `has_wildcards`: some entry leaves out an exact key.
    pub(super) fn new(keys: &[KeyShape], has_wildcards: bool) -> Index {
        let hashable = keys.iter().all(|k| matches!(k.kind, MatchKind::Exact | MatchKind::Lpm));
        let n_lpm = keys.iter().filter(|k| k.kind == MatchKind::Lpm).count();
        let has_priority = !hashable;
        if hashable && n_lpm <= 1 && !has_wildcards {
            Index::Hash(HashIndex::default())
        } else {
            Index::Scan(ScanIndex { has_priority, by_precedence: BTreeMap::new() })
        }
    }

    pub(super) fn insert(&mut self, keys: &[KeyShape], entry: &StoredEntry, slot: u32) {
        match self {
            Index::Hash(index) => index.insert(keys, entry, slot),
            Index::Scan(index) => {
                index.by_precedence.insert(index.precedence(entry), slot);
            }
        }
    }

    pub(super) fn remove(&mut self, keys: &[KeyShape], entry: &StoredEntry) {
        match self {
            Index::Hash(index) => index.remove(keys, entry),
            Index::Scan(index) => {
                let precedence = index.precedence(entry);
                index.by_precedence.remove(&precedence);
            }
        }
    }

    /// `values` are those of all keys of the table.
    pub(super) fn find(
        &self,
        keys: &[KeyShape],
        values: &[Bits],
        entries: &[Option<StoredEntry>],
    ) -> Option<u32> {
        match self {
            Index::Hash(index) => index.find(keys, values),
            Index::Scan(index) => index.by_precedence.values().copied().find(|slot| {
                let Some(Some(entry)) = entries.get(*slot as usize) else { return false };
                keys.iter().zip(&entry.matches).all(|(key, m)| {
                    values.get(key.position).is_some_and(|v| is_match(m.as_ref(), v, key.is_signed))
                })
            }),
        }
    }
}

/// Slots by the values of the keys.
type ByKey = FxHashMap<Box<[Bits]>, u32>;

/// Entries by their masked keys, one map for each prefix length, the longest first.
#[derive(Debug, Default)]
pub(super) struct HashIndex {
    by_prefix: Vec<(u32, ByKey)>,
}

impl HashIndex {
    fn key(keys: &[KeyShape], entry: &StoredEntry) -> (u32, Box<[Bits]>) {
        let mut prefix = 0;
        let values = keys.iter().zip(&entry.matches).map(|(key, m)| match m {
            Some(Match::Lpm { value, prefix_len }) => {
                prefix = *prefix_len;
                value.clone()
            }
            Some(Match::Exact(value) | Match::Optional(value)) => value.clone(),
            Some(Match::Ternary { value, .. }) => value.clone(),
            Some(Match::Range { low, .. }) => low.clone(),
            None => Bits::zero(key.width.unwrap_or(0)),
        });
        let values = values.collect();
        (prefix, values)
    }

    fn insert(&mut self, keys: &[KeyShape], entry: &StoredEntry, slot: u32) {
        let (prefix, values) = HashIndex::key(keys, entry);
        let i = self.by_prefix.partition_point(|(p, _)| *p > prefix);
        if self.by_prefix.get(i).is_none_or(|(p, _)| *p != prefix) {
            self.by_prefix.insert(i, (prefix, FxHashMap::default()));
        }
        self.by_prefix[i].1.insert(values, slot);
    }

    fn remove(&mut self, keys: &[KeyShape], entry: &StoredEntry) {
        let (prefix, values) = HashIndex::key(keys, entry);
        let i = self.by_prefix.partition_point(|(p, _)| *p > prefix);
        if let Some((p, map)) = self.by_prefix.get_mut(i)
            && *p == prefix
        {
            map.remove(&values);
            if map.is_empty() {
                self.by_prefix.remove(i);
            }
        }
    }

    fn find(&self, keys: &[KeyShape], values: &[Bits]) -> Option<u32> {
        let is_plain = keys.len() == values.len() && keys.iter().all(|k| k.kind == MatchKind::Exact);
        if is_plain {
            return self.by_prefix.first().and_then(|(_, map)| map.get(values)).copied();
        }
        self.by_prefix.iter().find_map(|(prefix, map)| {
            let masked: Option<Vec<Bits>> = (keys.iter())
                .map(|key| {
                    let value = values.get(key.position)?;
                    Some(match key.kind {
                        MatchKind::Lpm => value.and(&Bits::prefix_mask(value.width(), *prefix)),
                        MatchKind::Exact
                        | MatchKind::Ternary
                        | MatchKind::Range
                        | MatchKind::Optional
                        | MatchKind::Selector => value.clone(),
                    })
                })
                .collect();
            map.get(masked?.as_slice()).copied()
        })
    }
}

/// A list of all entries in the order in which they are compared.
#[derive(Debug)]
pub(super) struct ScanIndex {
    has_priority: bool,
    by_precedence: BTreeMap<(Reverse<i32>, Reverse<u32>, u64), u32>,
}

impl ScanIndex {
    /// The larger priority first; without priorities the longer prefix; then who came first.
    fn precedence(&self, entry: &StoredEntry) -> (Reverse<i32>, Reverse<u32>, u64) {
        let prefix = match self.has_priority {
            true => 0,
            false => entry.matches.iter().flatten().map(prefix_len).sum(),
        };
        (Reverse(entry.priority), Reverse(prefix), entry.handle.serial)
    }
}

fn prefix_len(m: &Match) -> u32 {
    match m {
        Match::Lpm { prefix_len, .. } => *prefix_len,
        Match::Exact(_) | Match::Ternary { .. } | Match::Range { .. } | Match::Optional(_) => 0,
    }
}
