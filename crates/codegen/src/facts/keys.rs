//! Keys of tables.

use ir::{Key, MatchKind};

/// The keys that are matched on, with their positions among all.
pub(crate) fn matched(keys: &[Key]) -> Vec<(usize, &Key)> {
    keys.iter().enumerate().filter(|(_, key)| key.match_kind != MatchKind::Selector).collect()
}
