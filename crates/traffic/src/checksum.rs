//! Sums of the Internet checksum (RFC 1071).

/// Adds the bytes as big-endian words to an unfolded sum; a last odd byte is the upper half of a word.
pub(crate) fn add(sum: u64, bytes: &[u8]) -> u64 {
    let mut chunks = bytes.chunks_exact(4);
    let mut sum = sum;
    for chunk in &mut chunks {
        // Two words at once: folding adds the halves.
        sum += u64::from(u32::from_be_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]));
    }
    let mut rest = [0; 4];
    rest[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
    sum + u64::from(u32::from_be_bytes(rest))
}

/// Folds a sum to 16 bits. The result is 0 only if all words were.
pub(crate) fn fold(mut sum: u64) -> u16 {
    sum = (sum & 0xffff_ffff) + (sum >> 32);
    sum = (sum & 0xffff_ffff) + (sum >> 32);
    let mut sum = sum as u32;
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reference(bytes: &[u8]) -> u16 {
        let mut sum = 0u32;
        for pair in bytes.chunks(2) {
            sum += u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
            if sum > 0xffff {
                sum -= 0xffff;
            }
        }
        sum as u16
    }

    proptest! {
        #[test]
        fn sums_are_those_of_single_words(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(fold(add(0, &bytes)), reference(&bytes));
        }
    }

    #[test]
    fn the_example_of_rfc_1071() {
        assert_eq!(fold(add(0, &[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7])), 0xddf2);
    }
}
