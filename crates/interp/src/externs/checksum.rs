//! The internet checksum (RFC 1071) and its change with a field (RFC 1624).

/// Ones' complement of the ones' complement sum of the 16-bit words, big-endian; an odd last byte is the high
/// half of a word (RFC 1071, section 4.1).
pub fn internet(bytes: &[u8]) -> u16 {
    !ones_complement_sum(bytes)
}

fn ones_complement_sum(bytes: &[u8]) -> u16 {
    fold(words(bytes).map(u64::from).sum())
}

/// Exclusive or of the same words.
pub fn xor16(bytes: &[u8]) -> u16 {
    words(bytes).fold(0, |sum, word| sum ^ word)
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u16> {
    bytes.chunks(2).map(|pair| {
        let low = pair.get(1).copied().unwrap_or(0);
        u16::from_be_bytes([pair[0], low])
    })
}

/// Adds the carries in until there are none.
fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Updates a checksum for a change of a 16-bit field: HC' = ~(~HC + ~m + m') (RFC 1624, equation 3).
pub fn replace2(checksum: u16, old: u16, new: u16) -> u16 {
    !fold(u64::from(!checksum) + u64::from(!old) + u64::from(new))
}

/// Updates a checksum for a change of a 32-bit field, as [`replace2`] does for each half.
pub fn replace4(checksum: u16, old: u32, new: u32) -> u16 {
    let [old_high, old_low] = [(old >> 16) as u16, old as u16];
    let [new_high, new_low] = [(new >> 16) as u16, new as u16];
    replace2(replace2(checksum, old_high, new_high), old_low, new_low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn published_vectors() {
        // RFC 1071, section 3: the sum is ddf2.
        assert_eq!(internet(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
        // RFC 1624, section 4: 0x0000 where the older equation gives 0xffff.
        assert_eq!(replace2(0xdd2f, 0x5555, 0x3285), 0x0000);
        assert_eq!(internet(&[]), 0xffff);
        assert_eq!(internet(&[0x12]), !0x1200);
        assert_eq!(xor16(&[0x12, 0x34, 0xff, 0x00, 0x55]), 0x1234 ^ 0xff00 ^ 0x5500);
    }

    #[test]
    fn of_an_ipv4_header() {
        // The example that Wikipedia ("Internet checksum") works out.
        let header = [
            0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0, 0, 0xc0, 0xa8, 0x00, 0x01, 0xc0,
            0xa8, 0x00, 0xc7,
        ];
        assert_eq!(internet(&header), 0xb861);
    }

    proptest! {
        #[test]
        fn replacing_is_computing_anew(bytes in proptest::collection::vec(any::<u8>(), 8..40), new: u32) {
            let mut bytes = bytes;
            // Data of nothing but zeros has two checksums.
            bytes[7] |= 1;
            let before = internet(&bytes);
            let old = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            bytes[..4].copy_from_slice(&new.to_be_bytes());
            prop_assert_eq!(replace4(before, old, new), internet(&bytes));
        }
    }
}
