//! The values of operators: one definition for constant folding and for backends.

use crate::{BinaryOp, Bits, Type, UnaryOp};

pub fn unary(op: UnaryOp, value: &Bits) -> Bits {
    match op {
        UnaryOp::Not => Bits::bool(value.is_zero()),
        UnaryOp::Complement => value.not(),
        UnaryOp::Negate => value.neg(),
    }
}

/// `signed` when the left operand is an `int<W>`.
pub fn binary(op: BinaryOp, lhs: &Bits, rhs: &Bits, signed: bool) -> Bits {
    let ordering = || if signed { lhs.cmp_signed(rhs) } else { lhs.cmp_unsigned(rhs) };
    match op {
        BinaryOp::Add => lhs.add(rhs),
        BinaryOp::Sub => lhs.sub(rhs),
        BinaryOp::Mul => lhs.mul(rhs),
        BinaryOp::Div => lhs.div(rhs),
        BinaryOp::Mod => lhs.rem(rhs),
        BinaryOp::SatAdd => lhs.sat_add(rhs, signed),
        BinaryOp::SatSub => lhs.sat_sub(rhs, signed),
        BinaryOp::BitAnd => lhs.and(rhs),
        BinaryOp::BitOr => lhs.or(rhs),
        BinaryOp::BitXor => lhs.xor(rhs),
        BinaryOp::Shl => lhs.shl(rhs.shift_amount()),
        BinaryOp::Shr if signed => lhs.sar(rhs.shift_amount()),
        BinaryOp::Shr => lhs.shr(rhs.shift_amount()),
        BinaryOp::Eq => Bits::bool(lhs == rhs),
        BinaryOp::Ne => Bits::bool(lhs != rhs),
        BinaryOp::Lt => Bits::bool(ordering().is_lt()),
        BinaryOp::Le => Bits::bool(ordering().is_le()),
        BinaryOp::Gt => Bits::bool(ordering().is_gt()),
        BinaryOp::Ge => Bits::bool(ordering().is_ge()),
        BinaryOp::And => Bits::bool(lhs.is_true() && rhs.is_true()),
        BinaryOp::Or => Bits::bool(lhs.is_true() || rhs.is_true()),
        BinaryOp::Concat => lhs.concat(rhs),
    }
}

/// `value` of type `from` with `width_bits`: extended by the sign if `from` is signed.
pub fn cast(value: &Bits, from: &Type, width_bits: u32) -> Bits {
    if from.is_signed() { value.sign_extend(width_bits) } else { value.resize(width_bits) }
}

/// Bits `lo` and upwards of a value; zeros beyond it. `lo` is signed when its type is: then a negative one is
/// beyond it, too.
pub fn slice_at(value: &Bits, lo: &Bits, lo_signed: bool, width_bits: u32) -> Bits {
    if lo_signed && lo.is_negative() {
        return Bits::zero(width_bits);
    }
    value.slice(lo.shift_amount(), width_bits)
}

/// The element that an index means, if there is one.
pub fn element(index: &Bits, signed: bool, size: u32) -> Option<u32> {
    if signed && index.is_negative() {
        return None;
    }
    index.to_u64().and_then(|i| u32::try_from(i).ok()).filter(|i| *i < size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_follow_the_language() {
        let b = |v| Bits::new(8, v);
        let cases: [(BinaryOp, u128, u128, bool, u128); 16] = [
            (BinaryOp::Add, 0xff, 2, false, 1),
            (BinaryOp::SatAdd, 0xff, 2, false, 0xff),
            (BinaryOp::SatAdd, 0x7f, 2, true, 0x7f),
            (BinaryOp::SatSub, 1, 2, false, 0),
            (BinaryOp::SatSub, 0x80, 1, true, 0x80),
            (BinaryOp::Div, 7, 2, false, 3),
            (BinaryOp::Div, 7, 0, false, 0),
            (BinaryOp::Mod, 7, 0, false, 0),
            (BinaryOp::Shr, 0x80, 1, false, 0x40),
            (BinaryOp::Shr, 0x80, 1, true, 0xc0),
            (BinaryOp::Shr, 0x80, 200, true, 0xff),
            (BinaryOp::Shl, 0x81, 8, false, 0),
            (BinaryOp::Lt, 0x80, 1, true, 1),
            (BinaryOp::Lt, 0x80, 1, false, 0),
            (BinaryOp::Ge, 5, 5, false, 1),
            (BinaryOp::Concat, 0xab, 0xcd, false, 0xabcd),
        ];
        for (op, lhs, rhs, signed, expected) in cases {
            let found = binary(op, &b(lhs), &b(rhs), signed);
            assert_eq!(found.to_u128(), Some(expected), "{op:?} {lhs:#x} {rhs:#x}");
        }
        assert_eq!(unary(UnaryOp::Not, &Bits::TRUE), Bits::FALSE);
        assert_eq!(unary(UnaryOp::Complement, &b(1)), b(0xfe));
        assert_eq!(unary(UnaryOp::Negate, &b(1)), b(0xff));
        assert_eq!(cast(&b(0x80), &Type::Int(8), 16), Bits::new(16, 0xff80));
        assert_eq!(cast(&b(0x80), &Type::Bit(8), 16), Bits::new(16, 0x80));
        assert_eq!(slice_at(&b(0xf0), &Bits::new(8, 6), false, 4), Bits::new(4, 3));
        assert_eq!(slice_at(&b(0xf0), &b(0xff), true, 4), Bits::new(4, 0));
        assert_eq!(element(&b(0xff), true, 4), None);
        assert_eq!(element(&b(3), true, 4), Some(3));
        assert_eq!(element(&b(4), false, 4), None);
    }
}
