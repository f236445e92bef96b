//! Records of tables whose store has no faster way: they are converted to entries and back.

use super::shape::TableShape;
use super::{
    Count, EntryAction, EntryHandle, Matches, MeterRates, MeterType, NewEntry, Store, StoredAction,
    StoredEntry, TableError,
};
use control::records::{RecordField, RecordKey, RecordLayout, RecordMatch, RecordParts, RecordShape};
use control::{Code, RecordCodes, UpdateKind};
use ir::{Action, Bits, Match, MatchKind, TableId};

/// Records that were read, one after the other, with the handles of their entries.
#[derive(Clone, Debug, Default)]
pub struct RecordsRead {
    pub records: Vec<u8>,
    pub handles: Vec<EntryHandle>,
}

impl RecordsRead {
    pub fn clear(&mut self) {
        self.records.clear();
        self.handles.clear();
    }
}

/// The layout of records with values in as many whole bytes as they need. `None` if a value has no fixed width.
pub fn packed_layout(shape: &TableShape, parts: RecordParts) -> Option<RecordLayout> {
    let mut key_bytes = 0;
    let keys = shape.keys.iter().map(|key| {
        let kind = record_match(key.kind, key.is_signed)?;
        Some(RecordKey { value: next_field(&mut key_bytes, key.width?), kind })
    });
    let keys: Option<Vec<RecordKey>> = keys.collect();
    let mut data_bytes = 0;
    let actions = shape.actions.iter().map(|action| {
        let mut end = 0;
        let fields = action.widths.iter().map(|width| width.map(|width| next_field(&mut end, width)));
        let fields: Option<Vec<RecordField>> = fields.collect();
        data_bytes = data_bytes.max(end);
        fields
    });
    let actions = actions.collect::<Option<_>>()?;
    let shape =
        RecordShape { keys: keys?, key_bytes, actions, data_bytes, has_profile: shape.profile.is_some() };
    Some(RecordLayout::new(shape, parts))
}

fn next_field(end: &mut usize, width_bits: u32) -> RecordField {
    let size = (width_bits.div_ceil(8) as usize).max(1);
    let field = RecordField { offset: *end, size, width_bits };
    *end += size;
    field
}

/// `None` of a key that is not matched on, and of ranges of signed numbers: records have no signs.
pub fn record_match(kind: MatchKind, is_signed: bool) -> Option<RecordMatch> {
    Some(match kind {
        MatchKind::Exact => RecordMatch::Exact,
        MatchKind::Lpm => RecordMatch::Lpm,
        MatchKind::Ternary => RecordMatch::Ternary,
        MatchKind::Range if is_signed => return None,
        MatchKind::Range => RecordMatch::Range,
        MatchKind::Optional => RecordMatch::Optional,
        MatchKind::Selector => return None,
    })
}

/// Writes records entry by entry, see [`Store::write_records`].
pub fn write_entries(
    store: &mut (impl Store + ?Sized),
    table: TableId,
    layout: &RecordLayout,
    kind: UpdateKind,
    records: &[u8],
    now_ns: u64,
    mut handles: Option<&mut Vec<EntryHandle>>,
) -> RecordCodes {
    let mut done = RecordCodes::default();
    for record in records.chunks_exact(layout.record_bytes) {
        let written = write_entry(store, table, layout, kind, record, now_ns);
        if let Some(handles) = handles.as_deref_mut() {
            handles.push(*written.as_ref().unwrap_or(&EntryHandle::default()));
        }
        let code = written.map_or_else(|error| error.code(), |_| Code::Ok);
        done.n_failed += usize::from(code != Code::Ok);
        done.codes.push(code);
    }
    done
}

fn write_entry(
    store: &mut (impl Store + ?Sized),
    table: TableId,
    layout: &RecordLayout,
    kind: UpdateKind,
    record: &[u8],
    now_ns: u64,
) -> Result<EntryHandle, TableError> {
    match kind {
        UpdateKind::Insert => store.insert(table, entry_of(layout, record), now_ns),
        UpdateKind::Modify => store.modify(table, entry_of(layout, record), now_ns),
        UpdateKind::Delete => store.delete(table, &matches_of(layout, record), layout.priority(record)),
    }
}

/// Reads records entry by entry, see [`Store::read_records`].
pub fn read_entries(
    store: &(impl Store + ?Sized),
    table: TableId,
    layout: &RecordLayout,
    after: Option<EntryHandle>,
    n_max: usize,
    read: &mut RecordsRead,
) -> Option<EntryHandle> {
    let (mut n, mut last) = (0, None);
    store.visit_entries_after(table, after, n_max, &mut |stored| {
        n += 1;
        last = Some(stored.handle);
        if !stored.is_const {
            let at = read.records.len();
            read.records.resize(at + layout.record_bytes, 0);
            put_entry(layout, &stored, &mut read.records[at..]);
            read.handles.push(stored.handle);
        }
    });
    last.filter(|_| n == n_max)
}

fn bits(record: &[u8], field: &RecordField) -> Bits {
    Bits::from_bytes_le(field.width_bits, record.get(field.offset..field.end()).unwrap_or_default())
}

fn put(record: &mut [u8], field: &RecordField, value: &Bits) {
    value.resize(field.width_bits).write_bytes_le(&mut record[field.offset..field.end()]);
}

fn matches_of(layout: &RecordLayout, record: &[u8]) -> Matches {
    let one = |key: &RecordKey| {
        let (value, width) = (bits(record, &key.value), key.value.width_bits);
        let Some(mask) = layout.mask(key).map(|field| bits(record, &field)) else {
            return Some(Match::Exact(value));
        };
        match key.kind {
            RecordMatch::Exact => Some(Match::Exact(value)),
            RecordMatch::Range if value.is_zero() && mask == Bits::ones(width) => None,
            RecordMatch::Range => Some(Match::Range { low: value, high: mask }),
            RecordMatch::Lpm | RecordMatch::Ternary | RecordMatch::Optional if mask.is_zero() => None,
            RecordMatch::Lpm => Some(Match::Lpm { value, prefix_len: mask.leading_ones() }),
            RecordMatch::Ternary => Some(Match::Ternary { value, mask }),
            RecordMatch::Optional => Some(Match::Optional(value)),
        }
    };
    layout.keys.iter().map(one).collect()
}

fn word(record: &[u8], at: usize) -> u64 {
    let bytes = record.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
    bytes.map_or(0, u64::from_le_bytes)
}

fn entry_of(layout: &RecordLayout, record: &[u8]) -> NewEntry {
    let what = layout.action(record);
    let action = match layout.kind_at.map(|at| record[at]) {
        None => {
            let fields = layout.actions.get(what as usize).map_or(&[][..], Vec::as_slice);
            let data = fields.iter().map(|field| bits(record, field)).collect();
            EntryAction::Action(Action { index: what, data })
        }
        Some(RecordLayout::GROUP) => EntryAction::Group(what),
        Some(_) => EntryAction::Member(what),
    };
    let count = |at| Count { n_packets: word(record, at), n_bytes: word(record, at + 8) };
    let rates = |at: usize| {
        let words = word(record, at + 40);
        (words as u32 != 0).then(|| MeterRates {
            committed_rate: word(record, at),
            committed_burst: word(record, at + 8),
            peak_rate: word(record, at + 16),
            peak_burst: word(record, at + 24),
            excess_burst: word(record, at + 32),
            meter_type: match words >> 32 {
                1 => MeterType::SingleRateThreeColor,
                2 => MeterType::SingleRateTwoColor,
                _ => MeterType::TwoRateThreeColor,
            },
        })
    };
    NewEntry {
        matches: matches_of(layout, record),
        priority: layout.priority(record),
        action,
        idle_timeout_ns: layout.idle_timeout_at.map_or(0, |at| word(record, at)),
        count: layout.count_at.map(count),
        rates: layout.rates_at.and_then(rates),
        colours: None,
        carried: None,
    }
}

fn put_entry(layout: &RecordLayout, stored: &StoredEntry, record: &mut [u8]) {
    for (key, found) in layout.keys.iter().zip(&stored.matches) {
        let width = key.value.width_bits;
        let (value, mask) = match found {
            None if key.kind == RecordMatch::Range => (Bits::zero(width), Bits::ones(width)),
            None => (Bits::zero(width), Bits::zero(width)),
            Some(Match::Exact(value) | Match::Optional(value)) => (value.clone(), Bits::ones(width)),
            Some(Match::Lpm { value, prefix_len }) => (value.clone(), Bits::prefix_mask(width, *prefix_len)),
            Some(Match::Ternary { value, mask }) => (value.clone(), mask.clone()),
            Some(Match::Range { low, high }) => (low.clone(), high.clone()),
        };
        put(record, &key.value, &value);
        if let Some(field) = layout.mask(key) {
            put(record, &field, &mask);
        }
    }
    layout.set_priority(record, stored.priority);
    match (&stored.action, layout.kind_at) {
        (StoredAction::Action(action), _) => {
            layout.set_action(record, action.index);
            let fields = layout.actions.get(action.index as usize).map_or(&[][..], Vec::as_slice);
            fields.iter().zip(&action.data).for_each(|(field, value)| put(record, field, value));
        }
        (StoredAction::Member(id), Some(at)) => {
            record[at] = RecordLayout::MEMBER;
            layout.set_action(record, *id);
        }
        (StoredAction::Group(id), Some(at)) => {
            record[at] = RecordLayout::GROUP;
            layout.set_action(record, *id);
        }
        (StoredAction::OneShot, Some(at)) => record[at] = RecordLayout::ONE_SHOT,
        (StoredAction::Member(_) | StoredAction::Group(_) | StoredAction::OneShot, None) => {}
    }
    let mut put_word = |at: usize, value: u64| record[at..at + 8].copy_from_slice(&value.to_le_bytes());
    if let Some(at) = layout.idle_timeout_at {
        put_word(at, stored.idle_timeout_ns);
    }
    if let Some(at) = layout.count_at {
        put_word(at, stored.direct.count.n_packets);
        put_word(at + 8, stored.direct.count.n_bytes);
    }
    if let (Some(at), Some(rates)) = (layout.rates_at, &stored.direct.rates) {
        let numbers = [
            rates.committed_rate,
            rates.committed_burst,
            rates.peak_rate,
            rates.peak_burst,
            rates.excess_burst,
        ];
        numbers.into_iter().enumerate().for_each(|(i, number)| put_word(at + 8 * i, number));
        let meter_type: u64 = match rates.meter_type {
            MeterType::TwoRateThreeColor => 0,
            MeterType::SingleRateThreeColor => 1,
            MeterType::SingleRateTwoColor => 2,
        };
        put_word(at + 40, 1 | meter_type << 32);
    }
}
