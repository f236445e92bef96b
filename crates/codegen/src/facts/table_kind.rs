//! How each table is implemented: the one place that decides, for generated code and for the runtime.

use crate::facts::keys::matched;
use ir::{Key, MatchKind, Table};

/// `enum sd_lookup_structure`: how entries are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LookupStructure {
    /// The table has no key, so it has no entries.
    None,
    /// A hash table of exact keys.
    Exact,
    /// An array indexed by an exact key of few bits.
    Direct,
    /// A trie over one LPM element, with any exact ones in front of it.
    Lpm,
    /// Rules with priorities: any other key.
    Ternary,
}

/// Widest key of [`LookupStructure::Direct`]: an array of 2^16 pointers takes 512 KiB (`SD_DIRECT_BITS_MAX`).
const DIRECT_BITS_MAX: u32 = 16;

/// Tables of this size stay in a near cache.
const CACHED_ENTRIES: u64 = 128;

/// The implementation of one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TableKind {
    pub(crate) structure: LookupStructure,
    /// Some entry of the program leaves out an exact element, so the table needs masks.
    pub(crate) has_wildcards: bool,
    /// Key, action and data lie in the structure: no lookup reads a separate entry.
    pub(crate) entries_are_inline: bool,
    /// Lookups may be staged: a packet waits for prefetched memory while others run.
    pub(crate) is_staged: bool,
}

impl LookupStructure {
    pub(crate) fn c_name(self) -> &'static str {
        match self {
            LookupStructure::None => "SD_STRUCTURE_NONE",
            LookupStructure::Exact => "SD_STRUCTURE_EXACT",
            LookupStructure::Direct => "SD_STRUCTURE_DIRECT",
            LookupStructure::Lpm => "SD_STRUCTURE_LPM",
            LookupStructure::Ternary => "SD_STRUCTURE_TERNARY",
        }
    }

    /// Lookups have prefetch steps.
    fn has_stages(self) -> bool {
        match self {
            LookupStructure::Exact | LookupStructure::Lpm => true,
            LookupStructure::None | LookupStructure::Direct | LookupStructure::Ternary => false,
        }
    }

    fn of(keys: &[(usize, &Key)], has_wildcards: bool) -> LookupStructure {
        let count = |kind| keys.iter().filter(|(_, key)| key.match_kind == kind).count();
        let (n_exact, n_lpm) = (count(MatchKind::Exact), count(MatchKind::Lpm));
        // `None`: an element is a `varbit`.
        let key_bits = keys.iter().try_fold(0u32, |n_bits, (_, key)| {
            key.ty.width_bits().and_then(|width| n_bits.checked_add(width))
        });
        let is_narrow = key_bits.is_some_and(|n_bits| (1..=DIRECT_BITS_MAX).contains(&n_bits));
        match n_lpm {
            _ if keys.is_empty() => LookupStructure::None,
            _ if n_exact + n_lpm < keys.len() || has_wildcards => LookupStructure::Ternary,
            0 if is_narrow => LookupStructure::Direct,
            0 => LookupStructure::Exact,
            1 => LookupStructure::Lpm,
            _ => LookupStructure::Ternary,
        }
    }
}

impl TableKind {
    pub(crate) fn of(table: &Table) -> TableKind {
        let keys = matched(&table.keys);
        let has_wildcards = leaves_out_exact_keys(table, &keys);
        let structure = LookupStructure::of(&keys, has_wildcards);
        let has_cells = table.direct_counter.is_some() || table.direct_meter.is_some();
        // A hit writes to such entries, or needs more of them than the action.
        let uses_records = has_cells || table.has_idle_timeout || table.implementation.is_some();
        let is_small = table.has_const_entries || table.size.is_some_and(|size| size <= CACHED_ENTRIES);
        TableKind {
            structure,
            has_wildcards,
            entries_are_inline: structure == LookupStructure::Exact && !uses_records,
            is_staged: structure.has_stages() && !is_small,
        }
    }
}

fn leaves_out_exact_keys(table: &Table, keys: &[(usize, &Key)]) -> bool {
    table.entries.iter().any(|entry| {
        let mut elements = keys.iter().zip(&entry.matches);
        elements.any(|((_, key), m)| key.match_kind == MatchKind::Exact && m.is_none())
    })
}
