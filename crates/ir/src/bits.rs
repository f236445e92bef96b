//! Bit strings of a fixed width: the values of `bit<W>` and `int<W>`, and the arithmetic of P4-16 on them.

use num_bigint::{BigInt, BigUint, Sign};
use num_traits::{One, ToPrimitive, Zero};
use std::cmp::Ordering;

/// Widths up to this are computed in a machine integer.
const WORD_BITS: u32 = 128;

/// A value of `width` bits. The operation that uses it decides if it is signed.
///
/// Equality and hashing include the width.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Bits {
    width: u32,
    repr: Repr,
}

/// `Word` if and only if the width is at most [`WORD_BITS`]; bits above the width are zero.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Repr {
    Word(u128),
    Big(Box<BigUint>),
}

fn mask(width: u32) -> u128 {
    if width >= WORD_BITS { u128::MAX } else { (1 << width) - 1 }
}

impl Bits {
    pub const TRUE: Bits = Bits { width: 1, repr: Repr::Word(1) };
    pub const FALSE: Bits = Bits { width: 1, repr: Repr::Word(0) };

    /// `value` modulo 2^`width`.
    pub fn new(width: u32, value: u128) -> Bits {
        if width <= WORD_BITS {
            Bits { width, repr: Repr::Word(value & mask(width)) }
        } else {
            Bits { width, repr: Repr::Big(Box::new(BigUint::from(value))) }
        }
    }

    pub fn zero(width: u32) -> Bits {
        Bits::new(width, 0)
    }

    /// The value with all bits set.
    pub fn ones(width: u32) -> Bits {
        if width <= WORD_BITS {
            Bits::new(width, u128::MAX)
        } else {
            Bits::from_biguint(width, (BigUint::one() << width) - 1u32)
        }
    }

    pub fn bool(value: bool) -> Bits {
        Bits::new(1, u128::from(value))
    }

    /// `value` modulo 2^`width`.
    pub fn from_biguint(width: u32, value: BigUint) -> Bits {
        if width <= WORD_BITS {
            let low = value.iter_u64_digits().take(2).enumerate();
            return Bits::new(width, low.fold(0, |acc, (i, d)| acc | u128::from(d) << (64 * i)));
        }
        let fits = value.bits() <= u64::from(width);
        let value = if fits { value } else { value & ((BigUint::one() << width) - 1u32) };
        Bits { width, repr: Repr::Big(Box::new(value)) }
    }

    /// `value` modulo 2^`width`, two's complement.
    pub fn from_bigint(width: u32, value: &BigInt) -> Bits {
        let magnitude = Bits::from_biguint(width, value.magnitude().clone());
        if value.sign() == Sign::Minus { magnitude.neg() } else { magnitude }
    }

    /// Big-endian bytes; excess high bits are dropped, missing ones are zero.
    pub fn from_bytes_be(width: u32, bytes: &[u8]) -> Bits {
        if width <= WORD_BITS {
            let tail = &bytes[bytes.len().saturating_sub(16)..];
            Bits::new(width, tail.iter().fold(0, |acc, b| acc << 8 | u128::from(*b)))
        } else {
            Bits::from_biguint(width, BigUint::from_bytes_be(bytes))
        }
    }

    /// Little-endian bytes; excess high bits are dropped, missing ones are zero.
    pub fn from_bytes_le(width: u32, bytes: &[u8]) -> Bits {
        if width <= WORD_BITS {
            let low = &bytes[..bytes.len().min(16)];
            Bits::new(width, low.iter().rev().fold(0, |n, byte| n << 8 | u128::from(*byte)))
        } else {
            Bits::from_biguint(width, BigUint::from_bytes_le(bytes))
        }
    }

    /// Fills `bytes` with the value in little-endian order, cut or extended with zeros.
    pub fn write_bytes_le(&self, bytes: &mut [u8]) {
        bytes.fill(0);
        match &self.repr {
            Repr::Word(word) => bytes.iter_mut().zip(word.to_le_bytes()).for_each(|(to, from)| *to = from),
            Repr::Big(big) => bytes.iter_mut().zip(big.to_bytes_le()).for_each(|(to, from)| *to = from),
        }
    }

    /// Big-endian, `ceil(width / 8)` bytes.
    pub fn to_bytes_be(&self) -> Vec<u8> {
        let n = self.width.div_ceil(8) as usize;
        match &self.repr {
            Repr::Word(w) => w.to_be_bytes()[16 - n..].to_vec(),
            Repr::Big(b) => {
                let bytes = b.to_bytes_be();
                let mut out = vec![0; n - bytes.len().min(n)];
                out.extend_from_slice(&bytes[bytes.len().saturating_sub(n)..]);
                out
            }
        }
    }

    /// The width in bits.
    pub fn width(&self) -> u32 {
        self.width
    }

    pub fn is_zero(&self) -> bool {
        match &self.repr {
            Repr::Word(w) => *w == 0,
            Repr::Big(b) => b.is_zero(),
        }
    }

    /// True when any bit is set: a `bool` as Rust's.
    pub fn is_true(&self) -> bool {
        !self.is_zero()
    }

    /// The value when it fits.
    pub fn to_u64(&self) -> Option<u64> {
        match &self.repr {
            Repr::Word(w) => u64::try_from(*w).ok(),
            Repr::Big(b) => b.to_u64(),
        }
    }

    /// The value when it fits.
    pub fn to_u128(&self) -> Option<u128> {
        match &self.repr {
            Repr::Word(w) => Some(*w),
            Repr::Big(b) => b.to_u128(),
        }
    }

    /// The low 64 bits.
    pub fn low_u64(&self) -> u64 {
        match &self.repr {
            Repr::Word(w) => *w as u64,
            Repr::Big(b) => b.iter_u64_digits().next().unwrap_or(0),
        }
    }

    pub fn to_biguint(&self) -> BigUint {
        match &self.repr {
            Repr::Word(w) => BigUint::from(*w),
            Repr::Big(b) => (**b).clone(),
        }
    }

    /// The value read as two's complement.
    pub fn to_signed(&self) -> BigInt {
        let value = BigInt::from(self.to_biguint());
        if self.is_negative() { value - (BigInt::one() << self.width) } else { value }
    }

    /// The highest bit, which is the sign of an `int<W>`.
    pub fn is_negative(&self) -> bool {
        self.width > 0 && self.bit(self.width - 1)
    }

    /// Bit `i`, counted from the least significant; false beyond the width.
    pub fn bit(&self, i: u32) -> bool {
        match &self.repr {
            Repr::Word(w) => i < WORD_BITS && w >> i & 1 == 1,
            Repr::Big(b) => b.bit(u64::from(i)),
        }
    }

    /// Number of leading ones: the length of a prefix mask that is one.
    pub fn leading_ones(&self) -> u32 {
        (0..self.width).rev().take_while(|i| self.bit(*i)).count() as u32
    }

    /// The mask of a prefix of `n` bits in a value of `width` bits.
    pub fn prefix_mask(width: u32, n: u32) -> Bits {
        Bits::ones(width).shl(width - n.min(width))
    }

    fn zip(
        &self,
        other: &Bits,
        word: impl Fn(u128, u128) -> u128,
        big: impl Fn(&BigUint, &BigUint) -> BigUint,
    ) -> Bits {
        match (&self.repr, &other.repr) {
            (Repr::Word(a), Repr::Word(b)) => Bits::new(self.width, word(*a, *b)),
            (Repr::Big(a), Repr::Big(b)) => Bits::from_biguint(self.width, big(a, b)),
            (Repr::Word(_), Repr::Big(_)) | (Repr::Big(_), Repr::Word(_)) => {
                Bits::from_biguint(self.width, big(&self.to_biguint(), &other.to_biguint()))
            }
        }
    }

    /// Wraps. This and the operators below take two values of one width.
    pub fn add(&self, other: &Bits) -> Bits {
        self.zip(other, u128::wrapping_add, |a, b| a + b)
    }

    pub fn sub(&self, other: &Bits) -> Bits {
        let modulus = || BigUint::one() << self.width;
        self.zip(other, u128::wrapping_sub, |a, b| a + modulus() - b)
    }

    pub fn mul(&self, other: &Bits) -> Bits {
        self.zip(other, u128::wrapping_mul, |a, b| a * b)
    }

    /// Unsigned; zero when `other` is zero.
    pub fn div(&self, other: &Bits) -> Bits {
        if other.is_zero() {
            return Bits::zero(self.width);
        }
        self.zip(other, |a, b| a / b, |a, b| a / b)
    }

    /// Unsigned; zero when `other` is zero.
    pub fn rem(&self, other: &Bits) -> Bits {
        if other.is_zero() {
            return Bits::zero(self.width);
        }
        self.zip(other, |a, b| a % b, |a, b| a % b)
    }

    pub fn and(&self, other: &Bits) -> Bits {
        self.zip(other, |a, b| a & b, |a, b| a & b)
    }

    pub fn or(&self, other: &Bits) -> Bits {
        self.zip(other, |a, b| a | b, |a, b| a | b)
    }

    pub fn xor(&self, other: &Bits) -> Bits {
        self.zip(other, |a, b| a ^ b, |a, b| a ^ b)
    }

    pub fn not(&self) -> Bits {
        self.xor(&Bits::ones(self.width))
    }

    /// Two's complement.
    pub fn neg(&self) -> Bits {
        Bits::zero(self.width).sub(self)
    }

    /// `|+|`: clamps to the range of the type.
    pub fn sat_add(&self, other: &Bits, signed: bool) -> Bits {
        self.saturate(other, signed, |a, b| a + b)
    }

    /// `|-|`: clamps to the range of the type.
    pub fn sat_sub(&self, other: &Bits, signed: bool) -> Bits {
        self.saturate(other, signed, |a, b| a - b)
    }

    fn saturate(&self, other: &Bits, signed: bool, op: impl Fn(BigInt, BigInt) -> BigInt) -> Bits {
        if self.width == 0 {
            return self.clone();
        }
        let value = op(self.to_int(signed), other.to_int(signed));
        let one = BigInt::one();
        let (min, max) = match signed {
            true => (-(&one << (self.width - 1)), (&one << (self.width - 1)) - 1),
            false => (BigInt::zero(), (&one << self.width) - 1),
        };
        Bits::from_bigint(self.width, &value.clamp(min, max))
    }

    /// The number that the bits stand for.
    pub fn to_int(&self, signed: bool) -> BigInt {
        if signed { self.to_signed() } else { BigInt::from(self.to_biguint()) }
    }

    /// Shifts by the width or more give zero (P4-16, "Operations on fixed-width bit types").
    pub fn shl(&self, n: u32) -> Bits {
        match &self.repr {
            _ if n >= self.width => Bits::zero(self.width),
            Repr::Word(w) => Bits::new(self.width, w << n),
            Repr::Big(b) => Bits::from_biguint(self.width, &**b << n),
        }
    }

    /// Logical shift: fills with zeros.
    pub fn shr(&self, n: u32) -> Bits {
        match &self.repr {
            _ if n >= self.width => Bits::zero(self.width),
            Repr::Word(w) => Bits::new(self.width, w >> n),
            Repr::Big(b) => Bits::from_biguint(self.width, &**b >> n),
        }
    }

    /// Arithmetic shift: fills with the sign.
    pub fn sar(&self, n: u32) -> Bits {
        if !self.is_negative() {
            return self.shr(n);
        }
        self.not().shr(n).not()
    }

    /// The shift amount that a value stands for, as large as `u32` can tell.
    pub fn shift_amount(&self) -> u32 {
        self.to_u64().map_or(u32::MAX, |n| n.min(u64::from(u32::MAX)) as u32)
    }

    /// Bits `lo + width - 1` down to `lo`; zeros beyond this value's width.
    pub fn slice(&self, lo: u32, width: u32) -> Bits {
        self.shr(lo).resize(width)
    }

    /// This value with the bits of `value` at `lo`; what would lie beyond the width is dropped.
    pub fn with_slice(&self, lo: u32, value: &Bits) -> Bits {
        let hole = Bits::ones(value.width).resize(self.width).shl(lo).not();
        self.and(&hole).or(&value.resize(self.width).shl(lo))
    }

    /// `self ++ low`.
    pub fn concat(&self, low: &Bits) -> Bits {
        let width = self.width + low.width;
        self.resize(width).shl(low.width).or(&low.resize(width))
    }

    /// Truncates, or extends with zeros.
    pub fn resize(&self, width: u32) -> Bits {
        match &self.repr {
            Repr::Word(w) => Bits::new(width, *w),
            Repr::Big(b) => Bits::from_biguint(width, (**b).clone()),
        }
    }

    /// Truncates, or extends with the sign.
    pub fn sign_extend(&self, width: u32) -> Bits {
        if width <= self.width || !self.is_negative() {
            return self.resize(width);
        }
        self.not().resize(width).not()
    }

    pub fn cmp_unsigned(&self, other: &Bits) -> Ordering {
        match (&self.repr, &other.repr) {
            (Repr::Word(a), Repr::Word(b)) => a.cmp(b),
            (Repr::Word(_) | Repr::Big(_), _) => self.to_biguint().cmp(&other.to_biguint()),
        }
    }

    pub fn cmp_signed(&self, other: &Bits) -> Ordering {
        match (self.is_negative(), other.is_negative()) {
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (true, true) | (false, false) => self.cmp_unsigned(other),
        }
    }
}

/// `0x1f`.
impl std::fmt::LowerHex for Bits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.repr {
            Repr::Word(w) => std::fmt::LowerHex::fmt(w, f),
            Repr::Big(b) => std::fmt::LowerHex::fmt(&**b, f),
        }
    }
}

/// The unsigned decimal number.
impl std::fmt::Display for Bits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.repr {
            Repr::Word(w) => std::fmt::Display::fmt(w, f),
            Repr::Big(b) => std::fmt::Display::fmt(&**b, f),
        }
    }
}

/// `16w0x800`, as P4 writes it.
impl std::fmt::Debug for Bits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}w{self:#x}", self.width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn modulus(width: u32) -> BigInt {
        BigInt::one() << width
    }

    /// The number modulo 2^width.
    fn wrapped(width: u32, value: BigInt) -> BigInt {
        let m = modulus(width);
        ((value % &m) + &m) % m
    }

    fn value(b: &Bits) -> BigInt {
        BigInt::from(b.to_biguint())
    }

    prop_compose! {
        fn pair()(width in 1u32..300)(
            width in Just(width),
            a in proptest::collection::vec(any::<u8>(), 0..40),
            b in proptest::collection::vec(any::<u8>(), 0..40),
        ) -> (Bits, Bits) {
            (Bits::from_bytes_be(width, &a), Bits::from_bytes_be(width, &b))
        }
    }

    proptest! {
        #[test]
        fn arithmetic_is_that_of_integers_modulo((a, b) in pair()) {
            let w = a.width();
            prop_assert_eq!(value(&a.add(&b)), wrapped(w, value(&a) + value(&b)));
            prop_assert_eq!(value(&a.sub(&b)), wrapped(w, value(&a) - value(&b)));
            prop_assert_eq!(value(&a.mul(&b)), wrapped(w, value(&a) * value(&b)));
            prop_assert_eq!(value(&a.neg()), wrapped(w, -value(&a)));
            prop_assert_eq!(a.add(&b).sub(&b), a.clone());
            prop_assert_eq!(a.cmp_signed(&b), a.to_signed().cmp(&b.to_signed()));
            prop_assert_eq!(a.cmp_unsigned(&b), value(&a).cmp(&value(&b)));
            prop_assert_eq!(Bits::from_bigint(w, &a.to_signed()), a.clone());
            prop_assert_eq!(Bits::from_bytes_be(w, &a.to_bytes_be()), a);
        }

        #[test]
        fn shifts_and_slices((a, b) in pair(), n in 0u32..320) {
            let w = a.width();
            prop_assert_eq!(value(&a.shl(n)), wrapped(w, value(&a) << n));
            prop_assert_eq!(value(&a.shr(n)), value(&a) >> n);
            prop_assert_eq!(a.sar(n).to_signed(), a.to_signed() >> n);
            let c = a.concat(&b);
            prop_assert_eq!(c.slice(b.width(), w), a.clone());
            prop_assert_eq!(c.slice(0, b.width()), b.clone());
            prop_assert_eq!(c.with_slice(0, &a), a.concat(&a));
            prop_assert_eq!(a.sign_extend(w + n).to_signed(), a.to_signed());
        }

        #[test]
        fn saturation_clamps((a, b) in pair()) {
            let w = a.width();
            let max = modulus(w) - 1;
            prop_assert_eq!(value(&a.sat_add(&b, false)), (value(&a) + value(&b)).min(max));
            prop_assert_eq!(value(&a.sat_sub(&b, false)), (value(&a) - value(&b)).max(BigInt::zero()));
            let half = modulus(w - 1);
            let sum = (a.to_signed() + b.to_signed()).clamp(-&half, &half - 1);
            prop_assert_eq!(a.sat_add(&b, true).to_signed(), sum);
        }
    }

    #[test]
    fn zero_width_is_harmless() {
        let z = Bits::zero(0);
        assert_eq!(z.add(&z), z);
        assert_eq!(z.sar(3), z);
        assert_eq!(z.concat(&Bits::new(4, 5)), Bits::new(4, 5));
        assert!(z.to_bytes_be().is_empty());
        assert_eq!(Bits::prefix_mask(32, 24), Bits::new(32, 0xffff_ff00));
        assert_eq!(format!("{:?}", Bits::new(16, 0x800)), "16w0x800");
    }
}
