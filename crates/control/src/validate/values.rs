//! Validation of numbers and strings against the types of key elements and parameters.

use ir::Bits;

use crate::entity::Value;
use crate::fault::{Fault, Problem};
use crate::schema::{ValueForm, ValueType};

/// Converts big-endian bytes, with any number of leading zeros, to a number of `width_bits` (P4Runtime,
/// "Bytestrings").
///
/// A number that does not fit keeps its own width, and an empty string has width 0; [`validate()`] then
/// reports the fault.
///
/// [`validate()`]: crate::validate()
pub fn bits_from_bytes(bytes: &[u8], width_bits: u32) -> Bits {
    if bytes.is_empty() {
        return Bits::zero(0);
    }
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let digits = &bytes[zeros..];
    let n_bits = significant_bits(digits);
    Bits::from_bytes_be(n_bits.max(width_bits), digits)
}

/// Like [`bits_from_bytes`] for `int<W>`: leading copies of the sign are removed.
pub fn signed_bits_from_bytes(bytes: &[u8], width_bits: u32) -> Bits {
    let Some(first) = bytes.first() else { return Bits::zero(0) };
    let fill = if first & 0x80 == 0 { 0x00 } else { 0xff };
    let n_fill = bytes.iter().take_while(|byte| **byte == fill).count();
    // The byte that holds the sign bit is kept.
    let digits = &bytes[n_fill.saturating_sub(1)..];
    let magnitude: Vec<u8> = digits.iter().map(|byte| byte ^ fill).collect();
    let zeros = magnitude.iter().take_while(|byte| **byte == 0).count();
    let n_bits = significant_bits(&magnitude[zeros..]).saturating_add(1);
    let value = Bits::from_bytes_be(bits_of_bytes(digits.len()), digits);
    value.sign_extend(n_bits.max(width_bits))
}

fn bits_of_bytes(n_bytes: usize) -> u32 {
    u32::try_from(n_bytes).ok().and_then(|n| n.checked_mul(8)).unwrap_or(u32::MAX)
}

/// Number of significant bits; `digits` has no leading zero byte.
fn significant_bits(digits: &[u8]) -> u32 {
    let top = digits.first().map_or(0, |byte| byte.leading_zeros());
    bits_of_bytes(digits.len()).saturating_sub(top)
}

pub(super) fn value(name: &str, ty: &ValueType, value: &Value) -> Result<(), Fault> {
    match (value, ty.form) {
        (Value::Bits(bits), ValueForm::Bits { .. } | ValueForm::Text) => number(name, ty, bits).map(|_| ()),
        (Value::Text(_), ValueForm::Text) => Ok(()),
        (Value::Text(_), ValueForm::Bits { width_bits }) => {
            Err(Problem::NotBits { name: name.into(), width_bits }.into())
        }
        (Value::Bits(_) | Value::Text(_), ValueForm::None) => {
            Err(Problem::NoForm { name: name.into() }.into())
        }
    }
}

/// Checks that the type is a number of the value's width, and returns the width in bits.
pub(super) fn number(name: &str, ty: &ValueType, bits: &Bits) -> Result<u32, Fault> {
    match ty.form {
        ValueForm::Bits { width_bits } => width(name, width_bits, bits).map(|()| width_bits),
        ValueForm::Text => {
            let uri = ty.translation.clone().unwrap_or_default();
            Err(Problem::NotText { name: name.into(), uri }.into())
        }
        ValueForm::None => Err(Problem::NoForm { name: name.into() }.into()),
    }
}

pub(super) fn width(name: &str, width_bits: u32, bits: &Bits) -> Result<(), Fault> {
    if bits.width() == width_bits {
        return Ok(());
    }
    let name = name.into();
    Err(if bits.width() == 0 {
        Problem::EmptyValue { name }
    } else if bits.resize(width_bits).resize(bits.width()) != *bits {
        Problem::TooWide { name, value: shown(bits), width_bits }
    } else {
        Problem::WrongWidth { name, found: bits.width(), width_bits }
    }
    .into())
}

/// Like [`width`] for `int<W>`.
pub(super) fn signed_width(name: &str, width_bits: u32, bits: &Bits) -> Result<(), Fault> {
    let found = bits.width();
    if found > width_bits && bits.resize(width_bits).sign_extend(found) != *bits {
        let value = if found <= SHOWN_BITS_MAX { bits.to_signed().to_string() } else { shown(bits) };
        return Err(Problem::TooWide { name: name.into(), value, width_bits }.into());
    }
    width(name, width_bits, bits)
}

/// Prints a number for a message in hexadecimal; a very long one is not shown.
pub(crate) fn shown(bits: &Bits) -> String {
    if bits.width() <= SHOWN_BITS_MAX {
        format!("{bits:#x}")
    } else {
        format!("a value of {} bits", bits.width())
    }
}

const SHOWN_BITS_MAX: u32 = 512;

pub(super) fn not_negative(field: &'static str, value: i64) -> Result<(), Fault> {
    if value < 0 { Err(Problem::Negative { field, value }.into()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_numbers_of_the_width_or_of_their_own() {
        let unsigned = |bytes: &[u8], width| format!("{:?}", bits_from_bytes(bytes, width));
        assert_eq!(unsigned(b"\x63", 16), "16w0x63");
        assert_eq!(unsigned(b"\0\0\x63", 12), "12w0x63");
        assert_eq!(unsigned(b"\0", 8), "8w0x0");
        assert_eq!(unsigned(b"", 8), "0w0x0");
        assert_eq!(unsigned(b"\x01\x63", 8), "9w0x163");
        assert_eq!(unsigned(b"\x10\x63", 12), "13w0x1063");
        let signed = |bytes: &[u8], width| format!("{:?}", signed_bits_from_bytes(bytes, width));
        assert_eq!(signed(b"\xff\x9d", 8), "8w0x9d");
        assert_eq!(signed(b"\x80", 8), "8w0x80");
        assert_eq!(signed(b"\xff", 16), "16w0xffff");
        assert_eq!(signed(b"\xfd\x1d", 12), "12w0xd1d");
        assert_eq!(signed(b"\0\0", 16), "16w0x0");
        assert_eq!(signed(b"\0\x9d", 8), "9w0x9d");
        assert_eq!(signed(b"\x8d\x1d", 12), "16w0x8d1d");
        assert_eq!(signed(b"", 8), "0w0x0");
    }
}
