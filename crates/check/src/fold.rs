//! Arithmetic on compile-time values, with the width rules of P4.

use num_bigint::{BigInt, Sign};
use num_traits::{One, Signed, ToPrimitive, Zero};
use syntax::ast::BinaryOp;

/// Shape of an integer type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IntShape {
    /// `int`
    Unbounded,
    /// `bit<W>`
    Unsigned(u32),
    /// `int<W>`
    Signed(u32),
}

/// Largest left shift of an `int` and widest intermediate value, in bits.
pub const INT_BITS_MAX: u64 = 1 << 20;

/// Reduces a value to what the type can hold (two's complement).
pub fn wrap(value: &BigInt, shape: IntShape) -> BigInt {
    match shape {
        IntShape::Unbounded => value.clone(),
        IntShape::Unsigned(w) => {
            if value.sign() != Sign::Minus && value.bits() <= u64::from(w) {
                return value.clone();
            }
            let modulus = BigInt::one() << w;
            let r = value % &modulus;
            if r.is_negative() { r + modulus } else { r }
        }
        IntShape::Signed(w) => {
            if w == 0 {
                return BigInt::zero();
            }
            let half = BigInt::one() << (w - 1);
            if *value >= -&half && *value < half {
                return value.clone();
            }
            let modulus = BigInt::one() << w;
            let mut r = value % &modulus;
            if r.is_negative() {
                r += &modulus;
            }
            if r >= half { r - modulus } else { r }
        }
    }
}

/// True when the value is representable without change.
pub fn fits(value: &BigInt, shape: IntShape) -> bool {
    wrap(value, shape) == *value
}

/// The reason why an operation has no value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FoldError {
    DivisionByZero,
    NegativeOperand,
    TooLarge,
}

/// `lhs op rhs` for integer operands of one shape (for shifts: `shape` is that of the left operand).
/// Comparisons and logical operators are not handled here.
pub fn binary(op: BinaryOp, lhs: &BigInt, rhs: &BigInt, shape: IntShape) -> Result<BigInt, FoldError> {
    let raw = match op {
        BinaryOp::Add => lhs + rhs,
        BinaryOp::Sub => lhs - rhs,
        BinaryOp::Mul => {
            if lhs.bits() + rhs.bits() > 2 * INT_BITS_MAX {
                return Err(FoldError::TooLarge);
            }
            lhs * rhs
        }
        BinaryOp::Div | BinaryOp::Mod => {
            if lhs.is_negative() || rhs.is_negative() {
                return Err(FoldError::NegativeOperand);
            }
            if rhs.is_zero() {
                return Err(FoldError::DivisionByZero);
            }
            if op == BinaryOp::Div { lhs / rhs } else { lhs % rhs }
        }
        BinaryOp::AddSat | BinaryOp::SubSat => {
            let exact = if op == BinaryOp::AddSat { lhs + rhs } else { lhs - rhs };
            return Ok(saturate(exact, shape));
        }
        BinaryOp::BitAnd => lhs & rhs,
        BinaryOp::BitOr => lhs | rhs,
        BinaryOp::BitXor => lhs ^ rhs,
        BinaryOp::Shl => {
            if rhs.is_negative() {
                return Err(FoldError::NegativeOperand);
            }
            match (rhs.to_u64(), shape) {
                _ if lhs.is_zero() => BigInt::zero(),
                (Some(n), IntShape::Unbounded) if n + lhs.bits() <= INT_BITS_MAX => lhs << n,
                (_, IntShape::Unbounded) => return Err(FoldError::TooLarge),
                (Some(n), IntShape::Unsigned(w) | IntShape::Signed(w)) if n < u64::from(w) => lhs << n,
                (_, IntShape::Unsigned(_) | IntShape::Signed(_)) => BigInt::zero(),
            }
        }
        BinaryOp::Shr => {
            if rhs.is_negative() {
                return Err(FoldError::NegativeOperand);
            }
            match rhs.to_u64() {
                Some(n) if n <= lhs.bits() => lhs >> n,
                _ if lhs.is_negative() => -BigInt::one(),
                _ => BigInt::zero(),
            }
        }
        BinaryOp::Lt
        | BinaryOp::Le
        | BinaryOp::Gt
        | BinaryOp::Ge
        | BinaryOp::Eq
        | BinaryOp::Ne
        | BinaryOp::Concat
        | BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::Mask
        | BinaryOp::Range => return Err(FoldError::TooLarge),
    };
    if shape == IntShape::Unbounded && raw.bits() > INT_BITS_MAX {
        return Err(FoldError::TooLarge);
    }
    Ok(wrap(&raw, shape))
}

fn saturate(v: BigInt, shape: IntShape) -> BigInt {
    let (lo, hi) = match shape {
        IntShape::Unbounded => return v,
        IntShape::Unsigned(w) => (BigInt::zero(), (BigInt::one() << w) - 1),
        IntShape::Signed(0) => return BigInt::zero(),
        IntShape::Signed(w) => (-(BigInt::one() << (w - 1)), (BigInt::one() << (w - 1)) - 1),
    };
    v.clamp(lo, hi)
}

/// The bits of a value as a non-negative number of `width_bits`.
pub fn to_bits(value: &BigInt, width_bits: u32) -> BigInt {
    wrap(value, IntShape::Unsigned(width_bits))
}

/// `lhs ++ rhs`; the result takes the sign of its left operand's type.
pub fn concat(lhs: &BigInt, lhs_shape: IntShape, rhs: &BigInt, rhs_bits: u32) -> BigInt {
    let width = |s| match s {
        IntShape::Unbounded => 0,
        IntShape::Unsigned(w) | IntShape::Signed(w) => w,
    };
    let lw = width(lhs_shape);
    let bits = (to_bits(lhs, lw) << rhs_bits) | to_bits(rhs, rhs_bits);
    match lhs_shape {
        IntShape::Signed(_) => wrap(&bits, IntShape::Signed(lw + rhs_bits)),
        IntShape::Unbounded | IntShape::Unsigned(_) => bits,
    }
}

/// `value[hi:lo]` of a value of `width_bits`.
pub fn slice(value: &BigInt, width_bits: u32, hi: u32, lo: u32) -> BigInt {
    let bits = to_bits(value, width_bits) >> lo;
    wrap(&bits, IntShape::Unsigned(hi - lo + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn b(v: i64) -> BigInt {
        BigInt::from(v)
    }

    #[test]
    fn wrapping_is_twos_complement() {
        assert_eq!(wrap(&b(300), IntShape::Unsigned(8)), b(44));
        assert_eq!(wrap(&b(-1), IntShape::Unsigned(8)), b(255));
        assert_eq!(wrap(&b(3), IntShape::Signed(2)), b(-1));
        assert_eq!(wrap(&b(1), IntShape::Signed(1)), b(-1));
        assert_eq!(wrap(&b(5), IntShape::Unsigned(0)), b(0));
    }

    #[test]
    fn shifts_are_never_masked() {
        let s = |op, l, r, shape| binary(op, &b(l), &b(r), shape);
        assert_eq!(s(BinaryOp::Shl, 1, 8, IntShape::Unsigned(8)), Ok(b(0)));
        assert_eq!(s(BinaryOp::Shr, -1, 100, IntShape::Signed(8)), Ok(b(-1)));
        assert_eq!(s(BinaryOp::Shr, 8, 2, IntShape::Unbounded), Ok(b(2)));
        assert_eq!(s(BinaryOp::Shl, 1, 1 << 40, IntShape::Unbounded), Err(FoldError::TooLarge));
    }

    #[test]
    fn saturation_clamps_at_the_bounds() {
        let s = |op, l, r, shape| binary(op, &b(l), &b(r), shape).unwrap();
        assert_eq!(s(BinaryOp::AddSat, 250, 10, IntShape::Unsigned(8)), b(255));
        assert_eq!(s(BinaryOp::SubSat, 1, 2, IntShape::Unsigned(8)), b(0));
        assert_eq!(s(BinaryOp::SubSat, -128, 1, IntShape::Signed(8)), b(-128));
    }

    #[test]
    fn concat_takes_the_left_sign() {
        assert_eq!(concat(&b(-1), IntShape::Signed(4), &b(0), 4), b(-16));
        assert_eq!(concat(&b(0xA), IntShape::Unsigned(4), &b(0xB), 4), b(0xAB));
    }

    #[test]
    fn division_wants_natural_numbers() {
        assert_eq!(binary(BinaryOp::Div, &b(1), &b(0), IntShape::Unbounded), Err(FoldError::DivisionByZero));
        assert_eq!(
            binary(BinaryOp::Mod, &b(-1), &b(2), IntShape::Unbounded),
            Err(FoldError::NegativeOperand)
        );
    }
}
