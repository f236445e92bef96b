//! Numbers as byte strings, big endian (P4Runtime, "Bytestrings").
//!
//! The specification wants the shortest string from a server, and any string
//! with the right value from a client. p4c writes entries and arguments into
//! its files with as many bytes as the type has; so do we, see [`padded`].

use num_bigint::{BigInt, BigUint, Sign};

/// The value needs more bits than its type has, or there are no bytes at all.
/// A server answers `OUT_OF_RANGE` to both.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BytesError {
    #[error("a byte string must not be empty")]
    Empty,
    #[error("{value} does not fit into {width_bits} bits")]
    OutOfRange { value: BigInt, width_bits: u32 },
}

/// The canonical string of a `bit<W>`: no leading zero bytes, one byte for 0.
pub fn canonical(value: &BigUint) -> Vec<u8> {
    value.to_bytes_be()
}

/// The canonical string of an `int<W>`: the shortest two's complement.
pub fn canonical_signed(value: &BigInt) -> Vec<u8> {
    value.to_signed_bytes_be()
}

/// The string of a `bit<W>` that has as many bytes as `width_bits` needs.
pub fn padded(value: &BigUint, width_bits: u32) -> Result<Vec<u8>, BytesError> {
    check(value.bits(), &value.clone().into(), width_bits)?;
    let short = value.to_bytes_be();
    let mut bytes = vec![0; (width_bits.div_ceil(8) as usize).saturating_sub(short.len())];
    bytes.extend(short);
    Ok(bytes)
}

/// Reads a `bit<W>`, with any number of leading zero bytes.
pub fn parse(bytes: &[u8], width_bits: u32) -> Result<BigUint, BytesError> {
    if bytes.is_empty() {
        return Err(BytesError::Empty);
    }
    let value = BigUint::from_bytes_be(bytes);
    check(value.bits(), &value.clone().into(), width_bits)?;
    Ok(value)
}

/// Reads an `int<W>`, with any number of leading copies of the sign.
pub fn parse_signed(bytes: &[u8], width_bits: u32) -> Result<BigInt, BytesError> {
    if bytes.is_empty() {
        return Err(BytesError::Empty);
    }
    let value = BigInt::from_signed_bytes_be(bytes);
    // -8 needs as many bits as 7.
    let n_bits = match value.sign() {
        Sign::Minus => (&value + 1u32).bits() + 1,
        Sign::NoSign | Sign::Plus => value.bits() + 1,
    };
    check(n_bits, &value, width_bits)?;
    Ok(value)
}

fn check(n_bits: u64, value: &BigInt, width_bits: u32) -> Result<(), BytesError> {
    if n_bits <= u64::from(width_bits) {
        return Ok(());
    }
    Err(BytesError::OutOfRange { value: value.clone(), width_bits })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn big(value: u64) -> BigUint {
        value.into()
    }

    #[test]
    fn canonical_strings() {
        assert_eq!(canonical(&big(0)), b"\0");
        assert_eq!(canonical(&big(99)), b"\x63");
        assert_eq!(canonical(&big(12388)), b"\x30\x64");
        assert_eq!(canonical_signed(&0.into()), b"\0");
        assert_eq!(canonical_signed(&99.into()), b"\x63");
        assert_eq!(canonical_signed(&(-99).into()), b"\x9d");
        assert_eq!(canonical_signed(&(-739).into()), b"\xfd\x1d");
        assert_eq!(canonical_signed(&128.into()), b"\0\x80");
    }

    #[test]
    fn padded_strings() {
        assert_eq!(padded(&big(0), 9).unwrap(), b"\0\0");
        assert_eq!(padded(&big(1), 48).unwrap(), b"\0\0\0\0\0\x01");
        assert_eq!(padded(&big(0xffff), 16).unwrap(), b"\xff\xff");
        assert_eq!(padded(&big(0x200), 9).unwrap_err().to_string(), "512 does not fit into 9 bits");
    }

    #[test]
    fn accepted_and_refused() {
        // The tables of examples in the specification.
        let unsigned = |bytes: &[u8], width| parse(bytes, width).ok().map(|v| canonical(&v));
        assert_eq!(unsigned(b"\0\x63", 16).unwrap(), b"\x63");
        assert_eq!(unsigned(b"\0\x30\x64", 16).unwrap(), b"\x30\x64");
        assert_eq!(unsigned(b"\0\0\x63", 12).unwrap(), b"\x63");
        for (bytes, width) in [
            (&b"\x01\x63"[..], 8),
            (b"", 8),
            (b"\x01\0\x63", 16),
            (b"\x10\x63", 12),
            (b"\x01\0\x63", 12),
            (b"\0\x40\x63", 12),
        ] {
            assert_eq!(unsigned(bytes, width), None, "{bytes:?}");
        }
        let signed = |bytes: &[u8], width| parse_signed(bytes, width).ok();
        assert_eq!(signed(b"\xff\x9d", 8), Some((-99).into()));
        assert_eq!(signed(b"\x80", 8), Some((-128).into()));
        assert_eq!(signed(b"\xfd\x1d", 12), Some((-739).into()));
        assert_eq!(signed(b"\0\0", 16), Some(0.into()));
        assert_eq!(signed(b"\0\x9d", 8), None);
        assert_eq!(signed(b"\x8d\x1d", 12), None);
        assert_eq!(signed(b"", 16), None);
    }
}
