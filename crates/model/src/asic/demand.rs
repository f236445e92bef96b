//! Tables as far as their memory is concerned, before they are packed.

/// A table as far as memory is concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableDemand {
    /// Control-plane name.
    pub name: String,
    /// Without fields of selectors.
    pub keys: Vec<KeyField>,
    pub n_entries: u64,
    /// Action data of the action that has most, or of a member's action if there is a profile.
    pub data_bits: u64,
    /// Actions that an entry can have.
    pub n_hit_actions: u64,
    /// All of its entries, if they are constant.
    pub n_const_entries: Option<u64>,
    /// Bits for the next table, where more than eight actions lead to different ones.
    pub next_bits: u64,
    /// Entries are exchanged while packets pass; each stores a version.
    pub is_versioned: bool,
    /// The default action may need action data or another memory that has a place per entry.
    pub is_default_in_memory: bool,
    /// Members of an action profile: entries point to one instead of having data.
    pub n_members: Option<u64>,
    /// Memories with a place per entry.
    pub direct: Vec<Direct>,
}

impl TableDemand {
    /// A table with one action that has no data.
    pub fn new(name: &str, keys: Vec<KeyField>, n_entries: u64) -> TableDemand {
        TableDemand {
            name: name.to_string(),
            keys,
            n_entries,
            data_bits: 0,
            n_hit_actions: 1,
            n_const_entries: None,
            next_bits: 0,
            is_versioned: true,
            is_default_in_memory: true,
            n_members: None,
            direct: Vec::new(),
        }
    }

    /// Adds action data and says how many actions there are.
    pub fn with_data(mut self, data_bits: u64, n_hit_actions: u64) -> TableDemand {
        self.data_bits = data_bits;
        self.n_hit_actions = n_hit_actions;
        self
    }

    pub fn key_bits(&self) -> u64 {
        self.keys.iter().fold(0, |sum, key| sum.saturating_add(key.bits))
    }

    /// True when a hash table or an index can hold the entries.
    pub fn is_exact(&self) -> bool {
        self.keys.iter().all(|key| key.way == MatchWay::Exact)
    }
}

/// A part of the key that is a field or a slice of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyField {
    pub bits: u64,
    /// Position of its lowest bit within the field, which begins at a whole byte.
    pub offset: u64,
    pub way: MatchWay,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchWay {
    Exact,
    /// Ternary, LPM and optional.
    Ternary,
    Range,
}

impl KeyField {
    pub fn new(bits: u64, way: MatchWay) -> KeyField {
        KeyField { bits, offset: 0, way }
    }

    pub fn exact(bits: u64) -> KeyField {
        KeyField::new(bits, MatchWay::Exact)
    }

    pub fn ternary(bits: u64) -> KeyField {
        KeyField::new(bits, MatchWay::Ternary)
    }

    /// Whole bytes that the field touches.
    pub fn n_bytes(&self) -> u64 {
        if self.bits == 0 { 0 } else { (self.offset % 8).saturating_add(self.bits).div_ceil(8) }
    }
}

/// A memory with a place per entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direct {
    Counter(CounterCell),
    Meter,
    /// Marks of entries that were hit lately, of so many bits.
    IdleTime {
        bits: u64,
    },
}

/// The contents of a counter's cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterCell {
    /// Packets or bytes.
    One { bits: u64 },
    /// Packets and bytes; the bits are those of the bytes.
    Both { bits: u64 },
}

impl CounterCell {
    /// Cells in a word of 128 bits.
    pub fn per_word(self) -> u64 {
        match self {
            CounterCell::One { bits } => {
                if bits <= 32 {
                    4
                } else {
                    2
                }
            }
            CounterCell::Both { bits } => {
                if bits <= 36 {
                    2
                } else {
                    1
                }
            }
        }
    }
}
