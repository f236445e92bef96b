//! Entries as the control plane writes them, and as C has them.

use crate::abi::layout::{KeyLayout, TableLayout, ValueLayout};
use crate::abi::ops::{RawCells, RawChoice, RawEntry, RawOneShot};
use crate::abi::{self, entry};
use crate::values::{decode, encode};
use ir::{Action, Bits, Match, MatchKind};
use target::store::{
    Carried, ColourCounts, Count, EntryAction, Group, Matches, MeterRates, MeterType, NewEntry, OneShot,
    Origin, Selection, StoredAction, Weighted,
};

/// Key and priority; nothing else.
pub(crate) fn encode_key(table: &TableLayout, matches: &Matches, priority: i32) -> RawEntry {
    let (value, mask) = encode_matches(&table.keys, table.key_bytes, matches);
    let data = vec![0; table.data_bytes];
    RawEntry { value, mask, priority, kind: entry::ACTION, data, ..Default::default() }
}

pub(crate) fn encode_entry(table: &TableLayout, new: &NewEntry) -> RawEntry {
    let mut raw = encode_key(table, &new.matches, new.priority);
    raw.idle_timeout_ns = new.idle_timeout_ns;
    if let Some(Carried { origin, profile }) = new.carried {
        raw.is_of_packet = origin == Origin::Packet;
        raw.profile = profile;
    }
    if table.has_direct_counter || table.has_direct_meter {
        let count = new.count.filter(|_| table.has_direct_counter).map(count_to);
        let rates = table.has_direct_meter.then(|| rates_to(new.rates));
        let colours = new.colours.filter(|_| table.has_direct_meter).map(colours_to);
        raw.cells = Some(Box::new(RawCells { count, rates, colours }));
    }
    match &new.action {
        EntryAction::Action(action) => {
            raw.what = action.index;
            raw.data = encode_action(table, action, table.data_bytes);
        }
        EntryAction::Member(id) => (raw.kind, raw.what) = (entry::MEMBER, *id),
        EntryAction::Group(id) => (raw.kind, raw.what) = (entry::GROUP, *id),
        EntryAction::OneShot(one_shot) => {
            raw.kind = entry::ONE_SHOT;
            raw.one_shot = Some(Box::new(encode_one_shot(table, one_shot)));
        }
    }
    raw
}

fn encode_one_shot(table: &TableLayout, one_shot: &OneShot) -> RawOneShot {
    let choice = |action: &Action, weight, watch_port: Option<u32>| RawChoice {
        member_or_action: action.index,
        weight,
        watch_port: watch_port.unwrap_or(abi::NO_PORT),
        data: encode_action(table, action, table.data_bytes),
    };
    let choices = one_shot.actions.iter().map(|w| choice(&w.what, w.weight, w.watch_port));
    let group_action = one_shot.group_action.iter().map(|action| choice(action, 1, None));
    RawOneShot {
        actions: choices.chain(group_action).collect(),
        has_group_action: one_shot.group_action.is_some(),
        is_random: one_shot.selection == Selection::Random,
    }
}

pub(crate) fn encode_group(group: &Group) -> Vec<RawChoice> {
    let choice = |member: &Weighted<u32>| RawChoice {
        member_or_action: member.what,
        weight: member.weight,
        watch_port: member.watch_port.unwrap_or(abi::NO_PORT),
        data: Vec::new(),
    };
    group.members.iter().map(choice).collect()
}

pub(crate) fn count_to(count: Count) -> abi::Count {
    abi::Count { n_packets: count.n_packets, n_bytes: count.n_bytes }
}

pub(crate) fn colours_to(colours: ColourCounts) -> abi::ColourCounts {
    let ColourCounts { green, yellow, red } = colours;
    abi::ColourCounts { counts: [green, yellow, red].map(count_to) }
}

pub(crate) fn rates_to(rates: Option<MeterRates>) -> abi::MeterRates {
    let is_set = u32::from(rates.is_some());
    let rates = rates.unwrap_or_default();
    abi::MeterRates {
        committed_rate: rates.committed_rate,
        committed_burst: rates.committed_burst,
        peak_rate: rates.peak_rate,
        peak_burst: rates.peak_burst,
        excess_burst: rates.excess_burst,
        is_set,
        meter_type: match rates.meter_type {
            MeterType::TwoRateThreeColor => abi::meter_type::TWO_RATE_THREE_COLOUR,
            MeterType::SingleRateThreeColor => abi::meter_type::SINGLE_RATE_THREE_COLOUR,
            MeterType::SingleRateTwoColor => abi::meter_type::SINGLE_RATE_TWO_COLOUR,
        },
    }
}

/// The data of an action, in as many bytes as there is room for.
pub(crate) fn encode_action(table: &TableLayout, action: &Action, n_bytes: usize) -> Vec<u8> {
    let mut data = vec![0; n_bytes];
    if let Some(layout) = table.actions.get(action.index as usize) {
        encode_leaves(&layout.params, &action.data, &mut data);
    }
    data
}

pub(crate) fn decode_action(table: &TableLayout, index: u32, data: &[u8]) -> Action {
    let params = table.actions.get(index as usize).map(|action| action.params.as_slice());
    Action { index, data: decode_leaves(params.unwrap_or_default(), data) }
}

/// Missing values leave what is there.
pub(crate) fn encode_leaves(layout: &[ValueLayout], values: &[Bits], bytes: &mut [u8]) {
    layout.iter().zip(values).for_each(|(layout, value)| encode(layout, value, bytes));
}

pub(crate) fn decode_leaves(layout: &[ValueLayout], bytes: &[u8]) -> Vec<Bits> {
    layout.iter().map(|layout| decode(layout, bytes)).collect()
}

/// Decodes the action of an entry; one-shots have no action here.
pub(crate) fn decode_stored_action(table: &TableLayout, raw: &RawEntry) -> StoredAction {
    match raw.kind {
        entry::MEMBER => StoredAction::Member(raw.what),
        entry::GROUP => StoredAction::Group(raw.what),
        entry::ONE_SHOT => StoredAction::OneShot,
        _ => StoredAction::Action(decode_action(table, raw.what, &raw.data)),
    }
}

/// Values and masks of matches in the one way to write them.
pub(crate) fn encode_matches(keys: &[KeyLayout], n_bytes: usize, matches: &Matches) -> (Vec<u8>, Vec<u8>) {
    let (mut values, mut masks) = (vec![0; n_bytes], vec![0; n_bytes]);
    for (key, m) in keys.iter().zip(matches) {
        let layout = &key.value;
        let Some(width) = layout.width else {
            // A varbit is matched exactly, with its length.
            if let Some(Match::Exact(value) | Match::Optional(value)) = m {
                encode(layout, value, &mut values);
                masks.get_mut(layout.range()).unwrap_or_default().fill(0xff);
            }
            continue;
        };
        let (value, mask) = match m {
            None if key.kind == MatchKind::Range => (Bits::zero(width), Bits::ones(width)),
            None => continue,
            Some(Match::Exact(value) | Match::Optional(value)) => (value.clone(), Bits::ones(width)),
            Some(Match::Lpm { value, prefix_len }) => (value.clone(), Bits::prefix_mask(width, *prefix_len)),
            Some(Match::Ternary { value, mask }) => (value.clone(), mask.clone()),
            Some(Match::Range { low, high }) => (biased(key, low), biased(key, high)),
        };
        encode(layout, &value, &mut values);
        encode(layout, &mask, &mut masks);
    }
    (values, masks)
}

pub(crate) fn decode_matches(keys: &[KeyLayout], values: &[u8], masks: &[u8]) -> Matches {
    let decode_one = |key: &KeyLayout| {
        let layout = &key.value;
        if layout.width.is_none() {
            let is_given = masks.get(layout.range()).is_some_and(|mask| mask.iter().any(|b| *b != 0));
            return is_given.then(|| Match::Exact(decode(layout, values)));
        }
        let (value, mask) = (decode(layout, values), decode(layout, masks));
        if key.kind == MatchKind::Range {
            let is_all = value.is_zero() && mask == Bits::ones(mask.width());
            let (low, high) = (biased(key, &value), biased(key, &mask));
            return (!is_all).then_some(Match::Range { low, high });
        }
        if mask.is_zero() {
            return None;
        }
        Some(match key.kind {
            MatchKind::Exact | MatchKind::Selector => Match::Exact(value),
            MatchKind::Optional => Match::Optional(value),
            MatchKind::Lpm => Match::Lpm { value, prefix_len: mask.leading_ones() },
            MatchKind::Ternary | MatchKind::Range => Match::Ternary { value, mask },
        })
    };
    keys.iter().map(decode_one).collect()
}

/// The values of a key as a lookup has them.
pub(crate) fn decode_key(keys: &[KeyLayout], bytes: &[u8]) -> Vec<Bits> {
    keys.iter().map(|key| biased(key, &decode(&key.value, bytes))).collect()
}

/// Into the order of unsigned numbers, or back.
fn biased(key: &KeyLayout, value: &Bits) -> Bits {
    match value.width() {
        width @ 1.. if key.is_biased => value.xor(&Bits::new(width, 1).shl(width - 1)),
        _ => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(kind: MatchKind, offset: usize, size: usize, width: u32) -> KeyLayout {
        let value = ValueLayout { offset, size, width: Some(width) };
        KeyLayout { name: "k".into(), value, kind, is_biased: kind == MatchKind::Range }
    }

    #[test]
    fn matches_come_back() {
        let keys = [
            key(MatchKind::Exact, 0, 2, 9),
            key(MatchKind::Lpm, 4, 4, 32),
            key(MatchKind::Ternary, 8, 1, 8),
            key(MatchKind::Range, 9, 1, 8),
            key(MatchKind::Optional, 16, 24, 130),
        ];
        let given = vec![
            Some(Match::Exact(Bits::new(9, 0x1fe))),
            Some(Match::Lpm { value: Bits::new(32, 0x0a00_0000), prefix_len: 8 }),
            Some(Match::Ternary { value: Bits::new(8, 0x12), mask: Bits::new(8, 0x1f) }),
            Some(Match::Range { low: Bits::new(8, 0xff), high: Bits::new(8, 1) }),
            Some(Match::Optional(Bits::ones(130))),
        ];
        let (values, masks) = encode_matches(&keys, 40, &given);
        assert_eq!(decode_matches(&keys, &values, &masks), given);
        assert_eq!((&values[..4], &masks[..4]), (&[0xfe, 1, 0, 0][..], &[0xff, 1, 0, 0][..]));
        assert_eq!((&values[4..8], &masks[4..8]), (&[0, 0, 0, 10][..], &[0, 0, 0, 0xff][..]));
        // -1 to 1.
        assert_eq!((values[9], masks[9]), (0x7f, 0x81));
        let all = vec![None; 5];
        let (values, masks) = encode_matches(&keys, 40, &all);
        assert_eq!(decode_matches(&keys, &values, &masks), all);
        assert_eq!((values[9], masks[9]), (0, 0xff));
        assert!(masks[..9].iter().chain(&masks[10..]).all(|byte| *byte == 0));
    }
}
