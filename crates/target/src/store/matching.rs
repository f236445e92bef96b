//! Matching of key values.

use ir::{Bits, Match, MatchKind};
use std::cmp::Ordering;

/// `low <= value <= high`.
pub fn in_range(value: &Bits, low: &Bits, high: &Bits, signed: bool) -> bool {
    let cmp = |a: &Bits, b: &Bits| if signed { a.cmp_signed(b) } else { a.cmp_unsigned(b) };
    cmp(low, value) != Ordering::Greater && cmp(value, high) != Ordering::Greater
}

/// True if a key's value matches. `signed` is true if the key's type is `int<W>`.
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
pub fn fits(m: &Match, kind: MatchKind, width: Option<u32>) -> bool {
    let is_wide = |v: &Bits| width.is_none_or(|w| v.width() == w);
    match (m, kind) {
        (Match::Exact(v), MatchKind::Exact) | (Match::Optional(v), MatchKind::Optional) => is_wide(v),
        (Match::Lpm { value, prefix_len }, MatchKind::Lpm) => is_wide(value) && *prefix_len <= value.width(),
        (Match::Ternary { value, mask }, MatchKind::Ternary) => is_wide(value) && is_wide(mask),
        (Match::Range { low, high }, MatchKind::Range) => is_wide(low) && is_wide(high),
        _ => false,
    }
}
