//! How each table is implemented: the one place that decides, for generated code and for the runtime.
//!
//! The decisions become constants of the table's descriptor (`struct sd_table_type`); the runtime asserts that they fit
//! (`rt/table/sd_structures.h`). `rt/table/README.md` says how to add a lookup structure.

use crate::facts::keys::matched;
use ir::{Key, MatchKind, Table, Timeout};

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
    /// A key as for [`Lpm`](Self::Lpm), too wide for a trie: a hash index for each prefix length.
    PrefixHash,
    /// Rules with priorities: any other key.
    Ternary,
    /// Exact keys that packets add, or whose entries end: a hash table of fixed size that all workers write.
    Flow,
}

/// Widest key of [`LookupStructure::Direct`]: an array of 2^16 pointers takes 512 KiB.
const DIRECT_BITS_MAX: u32 = 16;
/// Widest key of [`LookupStructure::Lpm`]: 64 * `SD_LPM_LIMBS_MAX`.
const LPM_BITS_MAX: u32 = 2048;
/// Most actions of a table with inline entries: 2^`SD_INLINE_ACTION_BITS`.
const INLINE_ACTIONS_MAX: usize = 1 << 12;
/// Tables of this size stay in a near cache.
const CACHED_ENTRIES: u64 = 128;

/// The implementation of one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TableKind {
    pub(crate) structure: LookupStructure,
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
            LookupStructure::PrefixHash => "SD_STRUCTURE_PREFIX_HASH",
            LookupStructure::Ternary => "SD_STRUCTURE_TERNARY",
            LookupStructure::Flow => "SD_STRUCTURE_FLOW",
        }
    }

    /// Lookups have prefetch steps.
    fn has_stages(self) -> bool {
        match self {
            LookupStructure::Exact | LookupStructure::Lpm | LookupStructure::Flow => true,
            LookupStructure::None
            | LookupStructure::Direct
            | LookupStructure::PrefixHash
            | LookupStructure::Ternary => false,
        }
    }

    /// Entries are inserted and removed while workers look keys up.
    fn is_concurrent(self) -> bool {
        match self {
            LookupStructure::PrefixHash => false,
            LookupStructure::None
            | LookupStructure::Exact
            | LookupStructure::Direct
            | LookupStructure::Lpm
            | LookupStructure::Ternary
            | LookupStructure::Flow => true,
        }
    }

    fn of(keys: &[(usize, &Key)], has_wildcards: bool) -> LookupStructure {
        let count = |kind| keys.iter().filter(|(_, key)| key.match_kind == kind).count();
        let (n_exact, n_lpm) = (count(MatchKind::Exact), count(MatchKind::Lpm));
        // `None`: an element is a `varbit`.
        let key_bits = keys.iter().try_fold(0u32, |n_bits, (_, key)| {
            key.ty.width_bits().and_then(|width| n_bits.checked_add(width))
        });
        let is_narrow = |bits_max| key_bits.is_some_and(|n_bits| (1..=bits_max).contains(&n_bits));
        match n_lpm {
            _ if keys.is_empty() => LookupStructure::None,
            _ if n_exact + n_lpm < keys.len() || has_wildcards => LookupStructure::Ternary,
            0 if is_narrow(DIRECT_BITS_MAX) => LookupStructure::Direct,
            0 => LookupStructure::Exact,
            1 if is_narrow(LPM_BITS_MAX) => LookupStructure::Lpm,
            1 => LookupStructure::PrefixHash,
            _ => LookupStructure::Ternary,
        }
    }
}

impl TableKind {
    pub(crate) fn of(table: &Table) -> TableKind {
        let keys = matched(&table.keys);
        let structure = match LookupStructure::of(&keys, leaves_out_exact_keys(table, &keys)) {
            LookupStructure::Exact | LookupStructure::Direct if writes_entries(table) => {
                LookupStructure::Flow
            }
            other => other,
        };
        let has_cells = table.direct_counter.is_some() || table.direct_meter.is_some();
        // A hit writes to such entries, or needs more of them than the action.
        let uses_records = has_cells || table.timeout != Timeout::Never || table.implementation.is_some();
        let entries_are_inline =
            structure == LookupStructure::Exact && !uses_records && table.actions.len() <= INLINE_ACTIONS_MAX;
        let is_small = table.has_const_entries || table.size.is_some_and(|size| size <= CACHED_ENTRIES);
        TableKind { structure, entries_are_inline, is_staged: structure.has_stages() && !is_small }
    }

    /// Operations of the control plane that may run while workers run packets: `enum sd_concurrent_op`, as a C expression.
    pub(crate) fn concurrent_ops(&self) -> String {
        let insert_and_remove = self.structure.is_concurrent();
        let all = [
            (true, "SD_CONCURRENT_READ"),
            (insert_and_remove, "SD_CONCURRENT_INSERT"),
            (true, "SD_CONCURRENT_MODIFY"),
            (insert_and_remove, "SD_CONCURRENT_REMOVE"),
            (true, "SD_CONCURRENT_EXPIRE"),
        ];
        let names: Vec<&str> = all.iter().filter(|(may, _)| *may).map(|(_, name)| *name).collect();
        names.join(" | ")
    }
}

/// Workers write the table: packets add entries, or entries end at a time. Entries of a profile are the control plane's.
fn writes_entries(table: &Table) -> bool {
    table.has_state() && table.implementation.is_none()
}

/// Some entry of the program leaves out an exact element, so the table needs masks.
fn leaves_out_exact_keys(table: &Table, keys: &[(usize, &Key)]) -> bool {
    table.entries.iter().any(|entry| {
        let mut elements = keys.iter().zip(&entry.matches);
        elements.any(|((_, key), m)| key.match_kind == MatchKind::Exact && m.is_none())
    })
}
