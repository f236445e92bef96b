//! Sets of integers as keysets write them: values, masks, ranges.

use crate::program::*;
use crate::types::{Ty, TyKind};
use crate::value::Value;
use num_bigint::BigInt;
use num_traits::{One, Signed, Zero};

/// The values that one element of a keyset matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Set {
    All,
    /// `x & mask == value`, with `value & mask == value`.
    Masked {
        value: BigInt,
        mask: BigInt,
    },
    /// Both ends included.
    Range {
        lo: BigInt,
        hi: BigInt,
    },
    /// Known, but no number: compared as a whole.
    Other(Value),
    /// A value set or something else that is not known.
    Unknown,
}

/// Width of the numbers of a type.
pub(super) fn width_bits(p: &Program, mut ty: Ty) -> Option<u32> {
    loop {
        match p.types.kind(ty) {
            TyKind::Bit(w) | TyKind::Signed(w) | TyKind::Varbit(w) => return Some(*w),
            TyKind::Newtype(id) => ty = p.newtypes[*id].underlying,
            TyKind::Enum(id) => ty = p.enums[*id].underlying?,
            TyKind::Set(inner) => ty = *inner,
            _ => return None,
        }
    }
}

/// All bits of a width.
fn ones(width_bits: u32) -> BigInt {
    (BigInt::one() << width_bits) - 1
}

/// Returns the values that `e` matches in a key of type `ty`.
pub(super) fn of(p: &Program, e: &Expr, ty: Ty) -> Set {
    let int = |e: &Expr| e.value.as_deref().and_then(Value::as_int).cloned();
    let e = strip_casts(e);
    match &e.kind {
        ExprKind::Default | ExprKind::DontCare => Set::All,
        ExprKind::Mask { value, mask } => match (int(value), int(mask), width_bits(p, ty)) {
            (Some(value), Some(mask), Some(w)) => {
                let mask = mask & ones(w);
                if mask.is_zero() { Set::All } else { Set::Masked { value: value & &mask, mask } }
            }
            _ => Set::Unknown,
        },
        ExprKind::Range { lo, hi } => match (int(lo), int(hi)) {
            (Some(lo), Some(hi)) => Set::Range { lo, hi },
            _ => Set::Unknown,
        },
        _ => match (e.value.as_deref(), width_bits(p, ty)) {
            (Some(Value::Int(v)), Some(w)) => Set::Masked { value: v & ones(w), mask: ones(w) },
            (Some(v), _) => Set::Other(v.clone()),
            (None, _) => Set::Unknown,
        },
    }
}

/// Looks through implicit casts.
pub(super) fn strip_casts(mut e: &Expr) -> &Expr {
    while let ExprKind::Cast { operand, is_implicit: true } = &e.kind {
        if e.value.is_some() {
            break;
        }
        e = operand;
    }
    e
}

impl Set {
    /// The single number of a masked set in which every bit of the type counts.
    fn single(&self, mask_of: &BigInt) -> Option<&BigInt> {
        match self {
            Set::Masked { value, mask } if mask == mask_of => Some(value),
            _ => None,
        }
    }

    pub fn is_empty_range(&self) -> bool {
        matches!(self, Set::Range { lo, hi } if lo > hi)
    }

    /// True when every number in `other` is certainly in `self`.
    pub fn covers(&self, other: &Set) -> bool {
        match (self, other) {
            (Set::All, _) => true,
            (Set::Other(a), Set::Other(b)) => a == b,
            (Set::Masked { value, mask }, Set::Masked { value: v, mask: m }) => {
                (mask & m) == *mask && (v & mask) == *value
            }
            (Set::Range { lo, hi }, Set::Range { lo: l, hi: h }) => lo <= l && h <= hi && l <= h,
            (Set::Range { lo, hi }, Set::Masked { mask, value }) => {
                // Only for fully masked values: whether all bits count is seen from the mask's shape.
                let full = ones(mask.bits() as u32);
                let single = other.single(&full).is_some() && hi <= &full && !lo.is_negative();
                single && lo <= value && value <= hi
            }
            (Set::Masked { .. }, Set::Range { lo, hi }) if lo == hi => self.covers_number(lo),
            (Set::Masked { .. } | Set::Range { .. } | Set::Other(_) | Set::Unknown, _) => false,
        }
    }

    /// True when the number is certainly in the set.
    pub fn covers_number(&self, n: &BigInt) -> bool {
        match self {
            Set::All => true,
            Set::Masked { value, mask } => (n & mask) == *value,
            Set::Range { lo, hi } => lo <= n && n <= hi,
            Set::Other(_) | Set::Unknown => false,
        }
    }

    /// True if a known value is in the set; `None` if that is not known.
    pub fn contains(&self, v: &Value) -> Option<bool> {
        match (self, v) {
            (Set::All, _) => Some(true),
            (Set::Unknown, _) => None,
            (Set::Masked { .. } | Set::Range { .. }, Value::Int(n)) => Some(self.covers_number(n)),
            (Set::Other(a), b) => Some(a == b),
            (Set::Masked { .. } | Set::Range { .. }, _) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(value: i32, mask: i32) -> Set {
        Set::Masked { value: value.into(), mask: mask.into() }
    }

    #[test]
    fn covering_is_inclusion() {
        assert!(masked(0x10, 0xF0).covers(&masked(0x15, 0xFF)));
        assert!(!masked(0x15, 0xFF).covers(&masked(0x10, 0xF0)));
        assert!(!masked(0x20, 0xF0).covers(&masked(0x15, 0xFF)));
        let range = |lo: i32, hi: i32| Set::Range { lo: lo.into(), hi: hi.into() };
        assert!(range(1, 9).covers(&range(2, 3)));
        assert!(!range(1, 9).covers(&range(2, 10)));
        assert!(range(0, 255).covers(&masked(7, 255)));
        assert!(!range(0, 6).covers(&masked(7, 255)));
        assert!(Set::All.covers(&Set::Unknown));
        assert!(!Set::Unknown.covers(&Set::Unknown));
    }
}
