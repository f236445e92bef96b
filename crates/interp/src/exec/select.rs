//! Finds the case of a `select` that matches.

use super::Frame;
use crate::load::{KeysetCode, PatternCode, SelectCode, SelectKey};
use crate::table::{Tables, in_range};

/// The first case that matches, counted from 0.
pub(super) fn select(code: &SelectCode, frame: &Frame, tables: &Tables) -> Option<usize> {
    code.cases.iter().position(|(pattern, _)| match pattern {
        PatternCode::Keys(keysets) => {
            code.keys.iter().zip(keysets.iter()).all(|(key, keyset)| keyset_has(keyset, *key, frame, tables))
        }
        PatternCode::ValueSet(set) => {
            tables.value_set(*set).contains(&mut code.keys.iter().map(|k| frame.get(k.slot)))
        }
    })
}

fn keyset_has(keyset: &KeysetCode, key: SelectKey, frame: &Frame, tables: &Tables) -> bool {
    let value = frame.get(key.slot);
    match keyset {
        KeysetCode::Any => true,
        KeysetCode::Value(slot) => frame.get(*slot) == value,
        KeysetCode::Mask { value: wanted, mask } => {
            let mask = frame.get(*mask);
            frame.get(*wanted).and(mask) == value.and(mask)
        }
        KeysetCode::Range { lo, hi } => in_range(value, frame.get(*lo), frame.get(*hi), key.signed),
        KeysetCode::ValueSet(set) => tables.value_set(*set).contains(&mut std::iter::once(value)),
    }
}
