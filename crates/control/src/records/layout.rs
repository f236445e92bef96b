//! Positions of the parts of a record.

/// A value in a record: an integer in little-endian order, whose bits above `width_bits` are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordField {
    pub offset: usize,
    pub size: usize,
    pub width_bits: u32,
}

impl RecordField {
    pub fn end(&self) -> usize {
        self.offset + self.size
    }

    /// This field, in a record whose part begins at `offset`.
    pub fn moved(self, offset: usize) -> RecordField {
        RecordField { offset: self.offset + offset, ..self }
    }
}

/// The match kind of a key element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecordMatch {
    Exact,
    Lpm,
    Ternary,
    Range,
    Optional,
}

/// A key element that is matched on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordKey {
    pub value: RecordField,
    pub kind: RecordMatch,
}

/// Parts that records of a table may have besides key, action and parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RecordParts {
    /// Nanoseconds, a `u64`; 0: never.
    pub idle_timeout: bool,
    /// Packets and bytes, a `u64` each.
    pub count: bool,
    /// `u64` each: committed rate and burst, peak rate and burst, excess burst. Then a `u32` that is 0 without a
    /// configuration, and a `u32` that the switch fills.
    pub rates: bool,
    /// In reads: leaves out entries that packets have added.
    pub of_controllers: bool,
}

/// The shape of a table, from which the layout of its records follows.
#[derive(Clone, Debug, Default)]
pub struct RecordShape {
    /// In the order of the program. Offsets count from the beginning of the key.
    pub keys: Vec<RecordKey>,
    pub key_bytes: usize,
    /// For each action of the table its data. Offsets count from the beginning of the data.
    pub actions: Vec<Vec<RecordField>>,
    pub data_bytes: usize,
    /// Entries name members or groups of an action profile.
    pub has_profile: bool,
}

/// The layout of the records of one table. A record consists of, without gaps:
///
/// 1. the key;
/// 2. unless all elements are exact: the masks, or the high ends of ranges, as long as the key;
/// 3. with an action profile: one byte, [`RecordLayout::MEMBER`] or [`RecordLayout::GROUP`];
/// 4. the index of the action, 1 byte (4 bytes if the table has more than 256); with a profile 4 bytes of an id;
/// 5. with ternary, range or optional elements: the priority, an `i32`;
/// 6. the data of the action, in the room for that of any action;
/// 7. at multiples of 8: idle timeout, count and rates, as [`RecordParts`] says.
///
/// Its size is a multiple of 8.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordLayout {
    pub record_bytes: usize,
    pub keys: Vec<RecordKey>,
    pub key_bytes: usize,
    pub mask_at: Option<usize>,
    pub kind_at: Option<usize>,
    pub action_at: usize,
    pub action_bytes: usize,
    pub priority_at: Option<usize>,
    pub data_at: usize,
    pub data_bytes: usize,
    /// Offsets count from the beginning of the record.
    pub actions: Vec<Vec<RecordField>>,
    pub parts: RecordParts,
    pub idle_timeout_at: Option<usize>,
    pub count_at: Option<usize>,
    pub rates_at: Option<usize>,
}

const WORD: usize = 8;

impl RecordLayout {
    /// Values of the byte that says what an entry of a table with a profile names.
    pub const MEMBER: u8 = 1;
    pub const GROUP: u8 = 2;
    /// Only in records that are read: the entry has an action set of its own, which is not in the record.
    pub const ONE_SHOT: u8 = 3;

    pub const COUNT_BYTES: usize = 16;
    pub const RATES_BYTES: usize = 48;
    /// Offset, in the rates, of the word that is 0 without a configuration.
    pub const RATES_SET: usize = 40;

    pub fn new(shape: RecordShape, parts: RecordParts) -> RecordLayout {
        let RecordShape { keys, key_bytes, actions, data_bytes, has_profile } = shape;
        let has_masks = keys.iter().any(|key| key.kind != RecordMatch::Exact);
        let has_priority = keys.iter().any(|key| match key.kind {
            RecordMatch::Ternary | RecordMatch::Range | RecordMatch::Optional => true,
            RecordMatch::Exact | RecordMatch::Lpm => false,
        });
        let action_bytes = if has_profile || actions.len() > 1 << 8 { 4 } else { 1 };
        let mut end = key_bytes;
        let mut next = |is_there: bool, n_bytes: usize, align: usize| {
            let at = end.next_multiple_of(align);
            end = if is_there { at + n_bytes } else { end };
            is_there.then_some(at)
        };
        let mask_at = next(has_masks, key_bytes, 1);
        let kind_at = next(has_profile, 1, 1);
        let action_at = next(true, action_bytes, 1).unwrap_or_default();
        let priority_at = next(has_priority, 4, 1);
        let data_at = next(true, data_bytes, 1).unwrap_or_default();
        let idle_timeout_at = next(parts.idle_timeout, WORD, WORD);
        let count_at = next(parts.count, RecordLayout::COUNT_BYTES, WORD);
        let rates_at = next(parts.rates, RecordLayout::RATES_BYTES, WORD);
        let moved = |fields: Vec<RecordField>| fields.into_iter().map(|field| field.moved(data_at)).collect();
        RecordLayout {
            record_bytes: end.next_multiple_of(WORD),
            keys,
            key_bytes,
            mask_at,
            kind_at,
            action_at,
            action_bytes,
            priority_at,
            data_at,
            data_bytes,
            actions: actions.into_iter().map(moved).collect(),
            parts,
            idle_timeout_at,
            count_at,
            rates_at,
        }
    }

    /// The mask, or the high end, of a key element; `None` if records have no masks.
    pub fn mask(&self, key: &RecordKey) -> Option<RecordField> {
        self.mask_at.map(|at| key.value.moved(at))
    }

    /// The index of the action, or the id of a member or group.
    #[inline]
    pub fn action(&self, record: &[u8]) -> u32 {
        match self.action_bytes {
            1 => u32::from(record[self.action_at]),
            _ => u32::from_le_bytes(four(record, self.action_at)),
        }
    }

    /// Writes what [`action`](Self::action) reads; larger numbers than there is room for are cut.
    #[inline]
    pub fn set_action(&self, record: &mut [u8], action: u32) {
        let bytes = action.to_le_bytes();
        record[self.action_at..self.action_at + self.action_bytes]
            .copy_from_slice(&bytes[..self.action_bytes]);
    }

    /// 0 in tables without priorities.
    #[inline]
    pub fn priority(&self, record: &[u8]) -> i32 {
        self.priority_at.map_or(0, |at| i32::from_le_bytes(four(record, at)))
    }

    #[inline]
    pub fn set_priority(&self, record: &mut [u8], priority: i32) {
        if let Some(at) = self.priority_at {
            record[at..at + 4].copy_from_slice(&priority.to_le_bytes());
        }
    }
}

#[inline]
fn four(record: &[u8], at: usize) -> [u8; 4] {
    [record[at], record[at + 1], record[at + 2], record[at + 3]]
}

/// Reads a word at a multiple of 8, or anywhere.
pub(super) fn word(record: &[u8], at: usize) -> u64 {
    let mut bytes = [0; WORD];
    bytes.copy_from_slice(&record[at..at + WORD]);
    u64::from_le_bytes(bytes)
}

pub(super) fn set_word(record: &mut [u8], at: usize, value: u64) {
    record[at..at + WORD].copy_from_slice(&value.to_le_bytes());
}
