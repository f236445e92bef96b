//! From a table to blocks of memory: the layouts that a chip allows, and the one with the fewest blocks.
//!
//! The rules are those of the Tofino back end of p4c (p4lang/p4c, backends/tofino, Apache-2.0), with the chip's numbers for its
//! constants. `docs/how-to/models.md` states them and compares their results with published ones.

use super::chip::Chip;
use super::demand::{Direct, KeyField, MatchWay, TableDemand};
use std::fmt;

/// Blocks of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    pub sram: u64,
    pub tcam: u64,
    pub map_ram: u64,
}

/// A table as blocks of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    pub n_entries: u64,
    /// Places that the entries take; more than one each if they have ranges.
    pub n_rows: u64,
    pub lookup: Lookup,
    pub data: DataPlace,
    /// Bits of an entry in its word; 0 in TCAM.
    pub entry_bits: u64,
    /// Entries side by side in `n_words` words.
    pub n_abreast: u64,
    /// Blocks that are read together.
    pub n_words: u64,
    /// Smallest part of the table that can stand alone: a way's block in SRAM, a row of blocks in TCAM.
    pub entries_per_unit: u64,
    pub n_units: u64,
    /// A stage that has any of a hash table has at least this many units.
    pub n_units_min: u64,
    pub companions: Vec<Companion>,
}

/// The way in which an entry is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// No key: the default action runs.
    None,
    /// A gateway has the few constant entries in the place of memory.
    Gateway,
    /// The key, or most of it, is the address.
    Index,
    Hash,
    Ternary,
}

impl Lookup {
    pub fn name(self) -> &'static str {
        match self {
            Lookup::None => "none",
            Lookup::Gateway => "gateway",
            Lookup::Index => "index",
            Lookup::Hash => "hash",
            Lookup::Ternary => "ternary",
        }
    }
}

/// The place of action data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DataPlace {
    None,
    /// In the word of the entry.
    Immediate,
    /// In blocks of its own, a place per entry.
    Ram,
    /// In an action profile.
    Profile,
}

impl DataPlace {
    pub fn name(self) -> &'static str {
        match self {
            DataPlace::None => "none",
            DataPlace::Immediate => "immediate",
            DataPlace::Ram => "RAM",
            DataPlace::Profile => "profile",
        }
    }
}

/// Blocks beside those of the match, with places for its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Companion {
    pub kind: CompanionKind,
    /// Entries of a block, or of `n_words` blocks that are read together.
    pub entries_per_block: u64,
    pub n_words: u64,
    pub has_sram: bool,
    pub has_map_ram: bool,
    /// Blocks in addition to those for the entries.
    pub n_spare: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompanionKind {
    ActionData,
    /// The result of a match in TCAM.
    Result,
    Counter,
    Meter,
    IdleTime,
}

impl Companion {
    fn blocks(&self, n_entries: u64) -> Blocks {
        if n_entries == 0 {
            return Blocks::default();
        }
        let n = n_entries.div_ceil(self.entries_per_block.max(1)).saturating_add(self.n_spare);
        Blocks {
            sram: if self.has_sram { n.saturating_mul(self.n_words) } else { 0 },
            tcam: 0,
            map_ram: if self.has_map_ram { n } else { 0 },
        }
    }
}

impl Packed {
    /// The blocks that a unit matches in.
    pub fn blocks_of_unit(&self) -> Blocks {
        match self.lookup {
            Lookup::None | Lookup::Gateway => Blocks::default(),
            Lookup::Index | Lookup::Hash => Blocks { sram: self.n_words, ..Blocks::default() },
            Lookup::Ternary => Blocks { tcam: self.n_words, ..Blocks::default() },
        }
    }

    /// The blocks of so many units with their companions.
    pub fn blocks(&self, n_units: u64) -> Blocks {
        let own = self.blocks_of_unit();
        let mut blocks = Blocks {
            sram: own.sram.saturating_mul(n_units),
            tcam: own.tcam.saturating_mul(n_units),
            map_ram: 0,
        };
        let n_entries = n_units.saturating_mul(self.entries_per_unit);
        for companion in &self.companions {
            let more = companion.blocks(n_entries);
            blocks.sram = blocks.sram.saturating_add(more.sram);
            blocks.map_ram = blocks.map_ram.saturating_add(more.map_ram);
        }
        blocks
    }

    /// The blocks of the whole table.
    pub fn total(&self) -> Blocks {
        self.blocks(self.n_units)
    }

    /// Entries of the table that so many of its units have room for; more than it has, if the last unit is not full.
    pub fn entries_in(&self, n_units: u64) -> u64 {
        // An entry may take several rows.
        let rows = u128::from(n_units) * u128::from(self.entries_per_unit);
        let n = rows.saturating_mul(u128::from(self.n_entries)) / u128::from(self.n_rows.max(1));
        u64::try_from(n).unwrap_or(u64::MAX)
    }

    /// The layout with fewer entries in it.
    pub fn with_entries(&self, n_entries: u64) -> Packed {
        let rows = u128::from(self.n_rows) * u128::from(n_entries) / u128::from(self.n_entries.max(1));
        Packed { n_entries, n_rows: u64::try_from(rows).unwrap_or(self.n_rows), ..self.clone() }
    }

    /// Entries for which there is room; rows, if ranges take several.
    pub fn capacity(&self) -> u64 {
        self.n_units.saturating_mul(self.entries_per_unit)
    }

    /// Sizes of the ways that a hash table of so many units has.
    pub fn ways(&self, n_units: u64) -> Vec<u64> {
        match self.lookup {
            Lookup::None | Lookup::Gateway | Lookup::Ternary => Vec::new(),
            Lookup::Index => vec![n_units],
            Lookup::Hash => way_sizes(n_units),
        }
    }

    /// Bits of hashes that so many units need.
    pub fn hash_bits(&self, chip: &Chip, n_units: u64) -> u64 {
        let row_bits = u64::from(chip.sram.words.ilog2());
        match self.lookup {
            Lookup::None | Lookup::Gateway | Lookup::Ternary => 0,
            Lookup::Index => row_bits + ceil_log2(n_units),
            Lookup::Hash => {
                // Ways beyond the first four share their bits.
                let n_ways = chip.sram.ways_min.min(usize::MAX as u64) as usize;
                let ways = way_sizes(n_units);
                ways.iter().take(n_ways).map(|size| row_bits + ceil_log2(*size)).sum()
            }
        }
    }
}

/// Powers of two, the largest first, which together are `n_units`.
fn way_sizes(n_units: u64) -> Vec<u64> {
    if n_units < 8 {
        // Four ways that are as even as powers of two allow.
        let base = [[0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0]];
        let more = [[1, 1, 1, 1], [2, 1, 1, 1], [2, 2, 1, 1], [2, 2, 2, 1]];
        let sizes = if n_units < 4 { base[n_units as usize] } else { more[n_units as usize - 4] };
        return sizes.into_iter().filter(|size| *size > 0).collect();
    }
    let mut sizes = Vec::new();
    let mut size = (1u64 << n_units.min(64).ilog2()) / 4;
    let mut rest = n_units;
    while rest > 0 {
        while size > rest {
            size /= 2;
        }
        // A chip's stage has far fewer blocks than this; a table of many stages is cut before.
        if sizes.len() == 1024 {
            break;
        }
        sizes.push(size);
        rest -= size;
    }
    sizes
}

/// A table for which the chip has no layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoLayout {
    /// Entries of so many bits are wider than the widest group of words.
    TooWide {
        entry_bits: u64,
    },
    NoSram,
    NoTcam,
    /// A key with more bytes than the crossbar has.
    Key {
        bytes: u64,
        bytes_max: u64,
    },
    NoEntries,
}

impl fmt::Display for NoLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoLayout::TooWide { entry_bits } => {
                write!(f, "its entries of {entry_bits} bits are wider than words can be")
            }
            NoLayout::NoSram => f.write_str("the chip has no SRAM"),
            NoLayout::NoTcam => f.write_str("the chip has no TCAM, and its key is not exact"),
            NoLayout::Key { bytes, bytes_max } => {
                write!(f, "its key takes {bytes} bytes of the crossbar, which has {bytes_max}")
            }
            NoLayout::NoEntries => f.write_str("a table has at least one entry"),
        }
    }
}

/// Choices that the program does not make.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PackOptions {
    /// Share of the entries of a table with range keys that have a range.
    pub range_share: f64,
}

impl Default for PackOptions {
    fn default() -> PackOptions {
        PackOptions { range_share: 0.25 }
    }
}

/// The layout with the fewest blocks.
pub fn pack(chip: &Chip, table: &TableDemand, options: PackOptions) -> Result<Packed, NoLayout> {
    if let Some(packed) = gateway(chip, table) {
        return Ok(packed);
    }
    let places: &[DataPlace] = match (table.n_members, table.data_bits) {
        (Some(_), _) => &[DataPlace::Profile],
        (None, 0) => &[DataPlace::None],
        (None, bits) if bits <= chip.actions.immediate_bits => &[DataPlace::Immediate, DataPlace::Ram],
        (None, _) => &[DataPlace::Ram],
    };
    let mut best: Option<Packed> = None;
    let mut fault = None;
    for place in places {
        match pack_with(chip, table, *place, options) {
            Ok(packed) => {
                let rank = |packed: &Packed| (!fits_stage(chip, packed), order(packed));
                if best.as_ref().is_none_or(|best| rank(&packed) < rank(best)) {
                    best = Some(packed);
                }
            }
            Err(error) => fault = fault.or(Some(error)),
        }
    }
    best.ok_or(fault.unwrap_or(NoLayout::NoEntries))
}

/// True when a stage has room for the smallest part of a table.
fn fits_stage(chip: &Chip, packed: &Packed) -> bool {
    let Blocks { sram, tcam, map_ram } = packed.blocks(packed.n_units_min);
    sram <= chip.sram.blocks && tcam <= chip.tcam.blocks && map_ram <= chip.map_ram.blocks
}

/// Fewest blocks first, then the narrowest, then action data in the word, then fewest entries side by side.
fn order(packed: &Packed) -> (u64, u64, u64, DataPlace, u64) {
    let Blocks { sram, tcam, .. } = packed.total();
    (tcam, sram, packed.n_words, packed.data, packed.n_abreast)
}

/// The best layout with action data in one place.
pub fn pack_with(
    chip: &Chip,
    table: &TableDemand,
    data: DataPlace,
    options: PackOptions,
) -> Result<Packed, NoLayout> {
    if table.keys.is_empty() {
        return Ok(without_memory(Lookup::None, 0));
    }
    if table.n_entries == 0 {
        return Err(NoLayout::NoEntries);
    }
    if table.is_exact() { exact(chip, table, data) } else { ternary(chip, table, data, options) }
}

/// A table that needs no memory.
fn without_memory(lookup: Lookup, n_entries: u64) -> Packed {
    Packed {
        n_entries,
        n_rows: n_entries,
        lookup,
        data: DataPlace::None,
        entry_bits: 0,
        n_abreast: 1,
        n_words: 0,
        entries_per_unit: n_entries.max(1),
        n_units: 1,
        n_units_min: 1,
        companions: Vec::new(),
    }
}

/// The layout in a gateway: few constant entries, a key that a condition could read, and all that leaves the match in one word.
fn gateway(chip: &Chip, table: &TableDemand) -> Option<Packed> {
    let n_entries = table.n_const_entries.filter(|n| (1..=chip.gateways.table_entries).contains(n))?;
    let data = match table.data_bits {
        0 => DataPlace::None,
        bits if bits <= chip.actions.immediate_bits => DataPlace::Immediate,
        _ => return None,
    };
    let overhead = overhead_bits(chip, table, data).saturating_mul(n_entries);
    let is_small = (1..=chip.gateways.condition_bits).contains(&table.key_bits())
        && overhead <= chip.sram.overhead_bits
        && table.n_members.is_none()
        && table.direct.is_empty()
        && table.keys.iter().all(|key| key.way != MatchWay::Range);
    is_small.then(|| Packed { data, ..without_memory(Lookup::Gateway, n_entries) })
}

/// Bits that leave the match with an entry: action data, the action, pointers.
pub fn overhead_bits(chip: &Chip, table: &TableDemand, data: DataPlace) -> u64 {
    let action = match table.n_hit_actions {
        0 | 1 => 0,
        n @ 2..=8 => ceil_log2(n),
        _ => chip.actions.full_address_bits,
    };
    let carried = match data {
        DataPlace::Immediate => table.data_bits,
        DataPlace::Profile => ceil_log2(table.n_members.unwrap_or(1)),
        DataPlace::None | DataPlace::Ram => 0,
    };
    carried.saturating_add(action).saturating_add(table.next_bits)
}

fn exact(chip: &Chip, table: &TableDemand, data: DataPlace) -> Result<Packed, NoLayout> {
    let sram = &chip.sram;
    if sram.blocks == 0 {
        return Err(NoLayout::NoSram);
    }
    let key_bytes: u64 = table.keys.iter().fold(0, |sum, key| sum.saturating_add(key.n_bytes()));
    if key_bytes > chip.crossbar.exact_bytes {
        return Err(NoLayout::Key { bytes: key_bytes, bytes_max: chip.crossbar.exact_bytes });
    }
    let key_bits = table.key_bits();
    // More entries than keys are never used.
    let n_entries = match key_bits {
        0..64 => table.n_entries.min(1 << key_bits),
        _ => table.n_entries,
    };
    let overhead = overhead_bits(chip, table, data);
    let version = if table.is_versioned { sram.version_bits } else { 0 };
    let entry_bits =
        overhead.saturating_add(version).saturating_add(key_bits.saturating_sub(sram.hidden_bits));
    let match_bytes = stored_bytes(&table.keys, sram.hidden_bits);
    let has_idle_time = table.direct.iter().any(|direct| matches!(direct, Direct::IdleTime { .. }));
    let has_direct = data == DataPlace::Ram || !table.direct.is_empty();
    let can_be_index = !(has_idle_time || has_direct && table.is_default_in_memory);
    let row_bits = u64::from(sram.words.ilog2());
    let mut best: Option<Packed> = None;
    for n_abreast in 1..=sram.entries_max {
        let n_words = [
            n_abreast.saturating_mul(entry_bits).div_ceil(sram.word_bits),
            n_abreast.saturating_mul(match_bytes).div_ceil(sram.match_bytes),
            n_abreast.saturating_mul(overhead).div_ceil(sram.overhead_bits),
            n_abreast.div_ceil(sram.entries_per_word_max),
            1,
        ];
        let n_words = n_words.into_iter().max().unwrap_or(1);
        if n_words > sram.words_max || n_words > sram.blocks {
            break;
        }
        let entries_per_unit = n_abreast.saturating_mul(sram.words);
        let depth = n_entries.div_ceil(entries_per_unit);
        let (n_units, lookup) = if key_bits <= row_bits && depth == 1 {
            (1, Lookup::Index)
        } else {
            let depth = depth.max(sram.ways_min);
            match index_units(key_bits, row_bits, n_abreast, sram.identity_bits) {
                Some(n) if can_be_index && n <= depth => (n, Lookup::Index),
                _ => (depth, Lookup::Hash),
            }
        };
        let packed = Packed {
            n_entries,
            n_rows: n_entries,
            lookup,
            data,
            entry_bits,
            n_abreast,
            n_words,
            entries_per_unit,
            n_units,
            n_units_min: if lookup == Lookup::Hash { sram.ways_min.min(n_units) } else { 1 },
            companions: companions(chip, table, data),
        };
        let rank = |packed: &Packed| (!fits_stage(chip, packed), order(packed));
        if best.as_ref().is_none_or(|best| rank(&packed) < rank(best)) {
            best = Some(packed);
        }
    }
    best.ok_or(NoLayout::TooWide { entry_bits })
}

/// Units of a table whose key is the address; none if the key is too long.
fn index_units(key_bits: u64, row_bits: u64, n_abreast: u64, identity_bits: u64) -> Option<u64> {
    let more = key_bits.saturating_sub(row_bits);
    (more <= identity_bits).then(|| (1u64 << more).div_ceil(n_abreast).next_power_of_two())
}

/// Key bytes that are stored: those that the row's hidden bits cover wholly are not, the shortest first.
fn stored_bytes(keys: &[KeyField], hidden_bits: u64) -> u64 {
    let mut sizes: Vec<u64> = Vec::new();
    for key in keys {
        let first = key.bits.min(8 - key.offset % 8);
        let rest = key.bits - first;
        sizes.extend((first > 0).then_some(first));
        sizes.extend(std::iter::repeat_n(8, (rest / 8) as usize));
        sizes.extend((rest % 8 > 0).then_some(rest % 8));
    }
    sizes.sort_unstable();
    let mut left = hidden_bits;
    let mut n_stored = 0;
    for size in sizes {
        if size <= left {
            left -= size;
        } else {
            n_stored += 1;
        }
    }
    n_stored
}

fn ternary(
    chip: &Chip,
    table: &TableDemand,
    data: DataPlace,
    options: PackOptions,
) -> Result<Packed, NoLayout> {
    let tcam = &chip.tcam;
    if tcam.blocks == 0 {
        return Err(NoLayout::NoTcam);
    }
    let key_bytes = table.keys.iter().fold(0u64, |sum, key| sum.saturating_add(ternary_bytes(chip, key)));
    if key_bytes > chip.crossbar.ternary_bytes {
        return Err(NoLayout::Key { bytes: key_bytes, bytes_max: chip.crossbar.ternary_bytes });
    }
    let width = ternary_width(key_bytes, tcam.block_bytes, tcam.pair_bytes);
    if width > tcam.blocks {
        return Err(NoLayout::Key { bytes: key_bytes, bytes_max: tcam.blocks * tcam.block_bytes });
    }
    let n_rows = rows(chip, table, options);
    Ok(Packed {
        n_entries: table.n_entries,
        n_rows,
        lookup: Lookup::Ternary,
        data,
        entry_bits: 0,
        n_abreast: 1,
        n_words: width,
        entries_per_unit: tcam.rows,
        n_units: n_rows.div_ceil(tcam.rows).max(1),
        n_units_min: 1,
        companions: companions(chip, table, data),
    })
}

/// Bytes that a key field takes in TCAM and of its crossbar: a byte of a range is stored as two.
pub fn ternary_bytes(chip: &Chip, key: &KeyField) -> u64 {
    let is_encoded = key.way == MatchWay::Range && is_native_range(chip, key);
    key.n_bytes().saturating_mul(if is_encoded { 2 } else { 1 })
}

/// Blocks side by side for a key of so many bytes.
fn ternary_width(key_bytes: u64, block_bytes: u64, pair_bytes: u64) -> u64 {
    let n_pairs = key_bytes.saturating_sub(1) / pair_bytes;
    let rest = key_bytes - n_pairs * pair_bytes;
    n_pairs * 2 + if rest > block_bytes { 2 } else { 1 }
}

fn is_native_range(chip: &Chip, key: &KeyField) -> bool {
    nibbles(key) <= chip.tcam.range_nibbles
}

fn nibbles(key: &KeyField) -> u64 {
    (key.offset % 4).saturating_add(key.bits).div_ceil(4)
}

/// Rows of TCAM that the entries take.
fn rows(chip: &Chip, table: &TableDemand, options: PackOptions) -> u64 {
    let ranges = || table.keys.iter().filter(|key| key.way == MatchWay::Range);
    if ranges().next().is_none() {
        return table.n_entries;
    }
    // Rows of an entry: the chip matches the widest native range in several, every other range is a set of prefixes.
    let native = ranges().filter(|key| is_native_range(chip, key)).map(nibbles).max().unwrap_or(0);
    let native = (2 * native).saturating_sub(1).clamp(1, chip.tcam.range_rows_max.max(1));
    let prefixes = ranges().filter(|key| !is_native_range(chip, key));
    let prefixes =
        prefixes.fold(1u64, |n, key| n.saturating_mul((2 * key.bits.min(1 << 20)).saturating_sub(2).max(1)));
    let per_entry = native.saturating_mul(prefixes);
    let n_with_range = (table.n_entries as f64 * options.range_share.clamp(0.0, 1.0)).floor() as u64;
    let n_with_range = n_with_range.min(table.n_entries);
    n_with_range.saturating_mul(per_entry).saturating_add(table.n_entries - n_with_range)
}

fn companions(chip: &Chip, table: &TableDemand, data: DataPlace) -> Vec<Companion> {
    let words = chip.sram.words;
    let mut all = Vec::new();
    let mut add = |kind, per_word: u64, n_words, (has_sram, has_map_ram), n_spare| {
        let entries_per_block = words.saturating_mul(per_word);
        all.push(Companion { kind, entries_per_block, n_words, has_sram, has_map_ram, n_spare });
    };
    if data == DataPlace::Ram {
        let (per_word, n_words) = data_words(chip, table.data_bits);
        add(CompanionKind::ActionData, per_word, n_words, (true, false), 0);
    }
    let overhead = overhead_bits(chip, table, data);
    if !table.is_exact() && overhead > 0 {
        let bits = overhead.max(8).next_power_of_two();
        let per_word = (chip.sram.word_bits / bits).max(1);
        add(CompanionKind::Result, per_word, bits.div_ceil(chip.sram.word_bits).max(1), (true, false), 0);
    }
    for direct in &table.direct {
        match direct {
            Direct::Counter(cell) => add(CompanionKind::Counter, cell.per_word(), 1, (true, true), 1),
            Direct::Meter => add(CompanionKind::Meter, 1, 1, (true, true), 1),
            Direct::IdleTime { bits } => {
                let per_word = match bits {
                    0 | 1 => 8,
                    2 => 4,
                    3 => 2,
                    _ => 1,
                };
                add(CompanionKind::IdleTime, per_word, 1, (false, true), 0);
            }
        }
    }
    all
}

/// Entries of a word for so much action data, and the words that an entry needs.
pub fn data_words(chip: &Chip, data_bits: u64) -> (u64, u64) {
    let word_bytes = (chip.sram.word_bits / 8).max(1);
    let bytes = data_bits.div_ceil(8).max(1);
    if bytes <= word_bytes {
        (word_bytes / bytes.next_power_of_two().min(word_bytes), 1)
    } else {
        (1, bytes.div_ceil(word_bytes))
    }
}

/// The bits that tell `n` things apart.
pub fn ceil_log2(n: u64) -> u64 {
    if n <= 1 { 0 } else { u64::from((n - 1).ilog2()) + 1 }
}

#[cfg(test)]
mod tests {
    use super::super::demand::CounterCell;
    use super::*;

    fn chip() -> Chip {
        Chip::built_in("generic-12").unwrap()
    }

    fn packed(table: &TableDemand) -> Packed {
        pack(&chip(), table, PackOptions::default()).unwrap()
    }

    fn with(table: &TableDemand, data: DataPlace) -> Packed {
        pack_with(&chip(), table, data, PackOptions::default()).unwrap()
    }

    fn exact(key_bits: u64, n_entries: u64) -> TableDemand {
        TableDemand::new("t", vec![KeyField::exact(key_bits)], n_entries)
    }

    fn ternary(bits: &[u64], n_entries: u64) -> TableDemand {
        TableDemand::new("t", bits.iter().map(|bits| KeyField::ternary(*bits)).collect(), n_entries)
    }

    /// RESAIL (jafingerhut/cram): the largest table has a key of 25 bits, one action and 8 bits of data.
    #[test]
    fn the_hash_table_of_resail_is_exact_at_all_sizes() {
        let published =
            [(1_167_053, 750), (1_876_612, 904), (2_502_158, 1_040), (2_658_513, 1_074), (2_814_902, 1_108)];
        for (n_entries, sram) in published {
            let table = packed(&exact(25, n_entries).with_data(8, 1));
            assert_eq!((table.entry_bits, table.n_abreast, table.n_words), (27, 9, 2));
            // All other tables of the program take 496 blocks.
            assert_eq!(table.total().sram + 496, sram, "{n_entries}");
        }
    }

    fn bitmaps(place: Option<DataPlace>) -> u64 {
        let tables = (13..=24u64).map(|length| {
            let key = KeyField { bits: length - 5, offset: 37 - length, way: MatchWay::Exact };
            let table = TableDemand::new("bitmap", vec![key], 1 << (length - 5)).with_data(32, 1);
            place.map_or_else(|| packed(&table), |place| with(&table, place)).total().sram
        });
        tables.sum()
    }

    #[test]
    fn bitmaps_of_resail_have_their_data_where_it_is_cheaper() {
        assert_eq!(bitmaps(Some(DataPlace::Immediate)), 514);
        assert_eq!(bitmaps(None), 472);
    }

    #[test]
    fn tcam_of_resail() {
        // Sizes of the table of long and short prefixes: the block counts of the published results.
        for (n_entries, blocks) in [(801, 2), (1_291, 3), (1_722, 4), (1_829, 4), (1_935, 4)] {
            assert_eq!(packed(&ternary(&[32], n_entries).with_data(8, 1)).total().tcam, blocks);
        }
        let mask = packed(&TableDemand::new("mask", vec![KeyField::ternary(5)], 32).with_data(32, 1));
        assert_eq!(mask.total(), Blocks { tcam: 1, sram: 1, map_ram: 0 });
        // Twelve fields of one bit and thirteen actions.
        let hits = packed(&ternary(&[1; 12], 13).with_data(0, 13));
        assert_eq!(hits.total(), Blocks { tcam: 3, sram: 1, map_ram: 0 });
        // Twelve masks, their results, that of the prefixes, the choice, and the next hop: 487 of the 496 blocks.
        let next_hop = packed(&exact(8, 4).with_data(9, 1));
        assert_eq!(12 + 2 + next_hop.total().sram + bitmaps(None), 487);
    }

    /// BSIC (jafingerhut/cram): fourteen tables with keys and indices of 16 bits and 106 bits of data.
    #[test]
    fn tables_of_bsic() {
        let first = [
            12_206, 24_412, 28_572, 29_902, 32_810, 39_280, 48_292, 58_586, 58_082, 53_284, 46_298, 43_492,
            23_448, 8_464,
        ];
        let second = [
            14_816, 29_632, 39_540, 43_176, 45_988, 53_252, 70_552, 93_548, 94_324, 84_320, 78_280, 81_884,
            46_896, 16_928,
        ];
        // Entries of the prefixes, those of the trees, published TCAM and SRAM, and SRAM that the rules miss. The second time
        // the prefixes are cut over two stages, which costs two blocks.
        for (n_prefixes, trees, tcam, sram, missing) in
            [(12_278, first, 24, 646, 6), (14_925, second, 30, 836, 2)]
        {
            let trees = trees.map(|n| packed(&exact(16, n).with_data(106, 2)).total().sram);
            let prefixes = packed(&ternary(&[24], n_prefixes).with_data(16, 2)).total();
            let next_hop = packed(&exact(8, 4).with_data(9, 1)).total().sram;
            assert_eq!(prefixes.tcam, tcam);
            assert_eq!(trees.iter().sum::<u64>() + prefixes.sram + next_hop + missing, sram);
        }
    }

    #[test]
    fn small_tables() {
        for key_bits in [16, 32] {
            let table = packed(&exact(key_bits, 1));
            assert_eq!(
                (table.total().sram, table.capacity(), table.ways(table.n_units)),
                (4, 4096, vec![1; 4])
            );
        }
        for key_bits in 1..=8 {
            let table = packed(&exact(key_bits, 256));
            assert_eq!(
                (table.total().sram, table.capacity(), table.lookup),
                (1, 1024, Lookup::Index),
                "{key_bits}"
            );
        }
        let port = packed(&exact(9, 512));
        assert_eq!((port.total().sram, port.hash_bits(&chip(), 1)), (1, 10));
    }

    #[test]
    fn constant_entries_in_gateways() {
        let constant = |bits: &[u64], n: u64| {
            let keys = bits.iter().map(|bits| KeyField::exact(*bits)).collect();
            TableDemand { n_const_entries: Some(n), ..TableDemand::new("t", keys, n) }
        };
        let one = constant(&[16], 1).with_data(8, 2);
        assert_eq!((packed(&one).lookup, packed(&one).total()), (Lookup::Gateway, Blocks::default()));
        let lookup_of = |table: &TableDemand| packed(table).lookup;
        // A table whose entries may change, two entries, a key of 45 bits, data that no word holds, a counter.
        for table in [
            TableDemand { n_const_entries: None, ..one.clone() },
            constant(&[16], 2),
            constant(&[16, 29], 1),
            constant(&[16], 1).with_data(33, 1),
            TableDemand { direct: vec![Direct::Meter], ..one.clone() },
        ] {
            assert_eq!(lookup_of(&table), Lookup::Hash, "{table:?}");
        }
        let twenty = Chip::built_in("generic-20").unwrap();
        for (n, data_bits, lookup) in [
            (4, 16, Lookup::Gateway),
            // Five entries; four whose data are more than the 64 bits of a word.
            (5, 16, Lookup::Hash),
            (4, 17, Lookup::Hash),
        ] {
            let table = constant(&[16], n).with_data(data_bits, 1);
            assert_eq!(
                pack(&twenty, &table, PackOptions::default()).unwrap().lookup,
                lookup,
                "{n} {data_bits}"
            );
        }
    }

    #[test]
    fn direct_counters() {
        let mut table = exact(32, 1);
        table.direct.push(Direct::Counter(CounterCell::Both { bits: 64 }));
        assert_eq!(packed(&table).total(), Blocks { sram: 9, tcam: 0, map_ram: 5 });
        // Nine entries side by side would need more map RAM than a stage has for their four ways.
        table.n_entries = 1_000_000;
        assert!(packed(&table).blocks(4).map_ram <= 48);
        table.n_entries = 1;
        // Four counters of 32 bits share a word.
        table.direct = vec![Direct::Counter(CounterCell::One { bits: 32 })];
        assert_eq!(packed(&table).total(), Blocks { sram: 6, tcam: 0, map_ram: 2 });
    }

    #[test]
    fn tables_packed_by_hand() {
        // 42 bits an entry: three in a word.
        assert_eq!(packed(&exact(48, 65_536)).total().sram, 22);
        // 52 bits: seven in three words.
        let ports = packed(&exact(48, 65_536).with_data(9, 2));
        assert_eq!((ports.n_abreast, ports.n_words, ports.total().sram), (7, 3, 30));
        // 43 bits: eight in three words. With the data in RAM 27 bits, nine in two words, and 13 blocks of data.
        let routes = exact(32, 100_000).with_data(16, 2);
        let in_word = with(&routes, DataPlace::Immediate);
        assert_eq!((in_word.n_abreast, in_word.n_words, in_word.total().sram), (8, 3, 39));
        let in_ram = with(&routes, DataPlace::Ram);
        assert_eq!((in_ram.n_abreast, in_ram.n_words, in_ram.n_units, in_ram.total().sram), (9, 2, 11, 35));
        assert_eq!(packed(&routes), in_ram);
        // 130 bits: six in seven words. With the data in RAM 98 bits, five in four words, and 17 blocks of data.
        let flows = exact(104, 65_536).with_data(32, 1);
        assert_eq!(with(&flows, DataPlace::Immediate).total().sram, 77);
        assert_eq!(packed(&flows).total().sram, 52 + 17);
        assert_eq!(packed(&ternary(&[32], 12_000)).total().tcam, 24);
        assert_eq!(packed(&ternary(&[32, 32, 16, 16, 8], 1_000)).total().tcam, 6);
        assert_eq!(packed(&ternary(&[128], 1_000)).total().tcam, 6);
    }

    #[test]
    fn widths_in_tcam() {
        for (bytes, blocks) in
            [(0, 1), (1, 1), (6, 1), (7, 2), (11, 2), (12, 3), (17, 3), (18, 4), (22, 4), (23, 5)]
        {
            assert_eq!(ternary_width(bytes, 6, 11), blocks, "{bytes}");
        }
    }

    #[test]
    fn keys_that_are_addresses() {
        // Eleven bits: two rows of blocks, but two entries a word make it one.
        let table = packed(&exact(11, 2_048));
        assert_eq!((table.lookup, table.total().sram), (Lookup::Index, 1));
        // 18 bits are eight more than the row has, 19 are too many.
        assert_eq!(index_units(18, 10, 4, 8), Some(64));
        assert_eq!(index_units(19, 10, 4, 8), None);
        // The default action has no place for its data when the key takes all of them.
        let mut data = exact(12, 4_096).with_data(32, 1);
        assert_eq!(with(&data, DataPlace::Ram).lookup, Lookup::Hash);
        data.is_default_in_memory = false;
        assert_eq!(with(&data, DataPlace::Ram).lookup, Lookup::Index);
    }

    #[test]
    fn ranges_take_rows() {
        let ports = KeyField::new(16, MatchWay::Range);
        let table = TableDemand::new("acl", vec![KeyField::ternary(32), ports], 1_000);
        // A quarter of the entries takes seven rows.
        assert_eq!(rows(&chip(), &table, PackOptions::default()), 250 * 7 + 750);
        assert_eq!(rows(&chip(), &table, PackOptions { range_share: 0.0 }), 1_000);
        // Its two bytes are stored as four: eight bytes with the address.
        assert_eq!(packed(&table).n_words, 2);
        let mut plain = chip();
        plain.tcam.range_nibbles = 0;
        assert_eq!(rows(&plain, &table, PackOptions { range_share: 1.0 }), 30_000);
    }

    #[test]
    fn profiles_and_many_actions() {
        let mut table = exact(32, 4_096).with_data(64, 20);
        table.n_members = Some(1_000);
        // Ten bits of pointer and six that name the action.
        assert_eq!(overhead_bits(&chip(), &table, DataPlace::Profile), 16);
        assert_eq!(packed(&table).data, DataPlace::Profile);
        assert_eq!(overhead_bits(&chip(), &exact(8, 1).with_data(0, 8), DataPlace::None), 3);
        assert_eq!(data_words(&chip(), 33), (2, 1));
        assert_eq!(data_words(&chip(), 256), (1, 2));
    }

    #[test]
    fn ways_are_powers_of_two() {
        assert_eq!(way_sizes(5), [2, 1, 1, 1]);
        assert_eq!(way_sizes(7), [2, 2, 2, 1]);
        assert_eq!(way_sizes(33), [8, 8, 8, 8, 1]);
        assert_eq!(way_sizes(64), [16, 16, 16, 16]);
        for n in 1..=80 {
            assert_eq!(way_sizes(n).iter().sum::<u64>(), n);
        }
    }

    #[test]
    fn what_no_chip_holds_is_refused() {
        let refused = |table: &TableDemand| pack(&chip(), table, PackOptions::default()).unwrap_err();
        assert_eq!(refused(&exact(32, 0)), NoLayout::NoEntries);
        assert!(matches!(refused(&exact(2_000, 1)), NoLayout::Key { bytes: 250, .. }));
        assert!(matches!(refused(&ternary(&[600], 1)), NoLayout::Key { bytes: 75, .. }));
        let mut wide = exact(32, 10);
        wide.next_bits = 1 << 20;
        assert!(matches!(refused(&wide), NoLayout::TooWide { .. }));
        let mut bare = chip();
        bare.tcam.blocks = 0;
        assert_eq!(pack(&bare, &ternary(&[32], 1), PackOptions::default()), Err(NoLayout::NoTcam));
        bare.sram.blocks = 0;
        assert_eq!(pack(&bare, &exact(32, 1), PackOptions::default()), Err(NoLayout::NoSram));
    }

    #[test]
    fn nothing_overflows() {
        for n_entries in [1 << 40, u64::MAX] {
            assert!(packed(&exact(128, n_entries).with_data(300, 3)).total().sram > 1 << 20);
            let range = TableDemand::new("t", vec![KeyField::new(32, MatchWay::Range); 4], n_entries);
            assert!(packed(&range).total().tcam > 1 << 20);
        }
    }
}
