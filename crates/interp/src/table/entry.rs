//! What a table stores for a key.

use crate::meter::Meter;
use ir::{Action, Bits, Match, MatchKind};
use std::cmp::Ordering;

/// Names one entry as long as it lives; never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryHandle {
    /// Grows with every insertion.
    pub serial: u64,
    pub(super) slot: u32,
}

/// Where direct counters and meters count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntryRef {
    Entry(EntryHandle),
    /// Nothing matched.
    Default,
}

/// One match for each key that is matched on; `None` matches everything.
pub type Matches = Vec<Option<Match>>;

/// An entry as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEntry {
    pub matches: Matches,
    /// Larger wins. 0 in tables without ternary, range or optional keys.
    pub priority: i32,
    pub action: EntryAction,
    pub extras: Extras,
}

impl NewEntry {
    pub fn new(matches: Matches, priority: i32, action: Action) -> NewEntry {
        NewEntry { matches, priority, action: EntryAction::Action(action), extras: Extras::default() }
    }
}

/// What the controller may say beside the action.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Extras {
    /// 0: never.
    pub idle_timeout_ns: u64,
    /// Returned to the controller as it is.
    pub metadata: Vec<u8>,
    pub controller_metadata: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryAction {
    Action(Action),
    /// Of the table's action profile or selector.
    Member(u32),
    /// Of the table's action selector.
    Group(u32),
    OneShot(OneShot),
}

/// A group that belongs to one entry.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct OneShot {
    pub actions: Vec<Weighted<Action>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weighted<T> {
    pub what: T,
    /// At least 1.
    pub weight: u32,
    /// Left out while this port is down.
    pub watch_port: Option<u32>,
}

/// An entry in a table.
#[derive(Clone, Debug)]
pub struct StoredEntry {
    pub handle: EntryHandle,
    pub matches: Matches,
    pub priority: i32,
    pub action: EntryAction,
    pub extras: Extras,
    /// Neither modified nor deleted.
    pub is_const: bool,
    pub n_hits: u64,
    /// When it was inserted, before the first hit.
    pub last_hit_ns: u64,
    pub direct: Direct,
    /// When its expiry was last reported.
    pub(super) reported_ns: Option<u64>,
}

/// The cells of an entry in the table's direct counter and meter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Direct {
    pub n_packets: u64,
    pub n_bytes: u64,
    pub meter: Meter,
}

/// `low <= value <= high`.
pub fn in_range(value: &Bits, low: &Bits, high: &Bits, signed: bool) -> bool {
    let cmp = |a: &Bits, b: &Bits| if signed { a.cmp_signed(b) } else { a.cmp_unsigned(b) };
    cmp(low, value) != Ordering::Greater && cmp(value, high) != Ordering::Greater
}

/// Whether a value of a key matches. `signed` is the type of the key.
pub fn is_match(wanted: Option<&Match>, value: &Bits, signed: bool) -> bool {
    match wanted {
        None => true,
        Some(Match::Exact(v) | Match::Optional(v)) => v == value,
        Some(Match::Lpm { value: v, prefix_len }) => {
            let n_rest = v.width().saturating_sub(*prefix_len);
            v.shr(n_rest) == value.shr(n_rest)
        }
        Some(Match::Ternary { value: v, mask }) => v.and(mask) == value.and(mask),
        Some(Match::Range { low, high }) => in_range(value, low, high, signed),
    }
}

/// The one way to write a match: bits that do not count are zero, what matches everything is `None`.
pub fn normalised(m: Option<Match>, signed: bool) -> Option<Match> {
    match m? {
        Match::Lpm { prefix_len: 0, .. } => None,
        Match::Lpm { value, prefix_len } => {
            let prefix_len = prefix_len.min(value.width());
            let value = value.and(&Bits::prefix_mask(value.width(), prefix_len));
            Some(Match::Lpm { value, prefix_len })
        }
        Match::Ternary { mask, .. } if mask.is_zero() => None,
        Match::Ternary { value, mask } => Some(Match::Ternary { value: value.and(&mask), mask }),
        Match::Range { low, high } => {
            let width = low.width();
            let (min, max) = match signed {
                true if width > 0 => {
                    let top = Bits::new(width, 1).shl(width - 1);
                    (top.clone(), top.not())
                }
                _ => (Bits::zero(width), Bits::ones(width)),
            };
            (low != min || high != max).then_some(Match::Range { low, high })
        }
        m @ (Match::Exact(_) | Match::Optional(_)) => Some(m),
    }
}

/// Whether a match is of the kind that a key wants, and its values of the key's width.
pub(super) fn fits(m: &Match, kind: MatchKind, width: Option<u32>) -> bool {
    let is_wide = |v: &Bits| width.is_none_or(|w| v.width() == w);
    match (m, kind) {
        (Match::Exact(v), MatchKind::Exact) | (Match::Optional(v), MatchKind::Optional) => is_wide(v),
        (Match::Lpm { value, prefix_len }, MatchKind::Lpm) => is_wide(value) && *prefix_len <= value.width(),
        (Match::Ternary { value, mask }, MatchKind::Ternary) => is_wide(value) && is_wide(mask),
        (Match::Range { low, high }, MatchKind::Range) => is_wide(low) && is_wide(high),
        _ => false,
    }
}
