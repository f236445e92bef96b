//! Hash algorithms over bytes, and how bit strings become bytes.

use super::checksum;
use super::crc::{CRC16, CRC32, Crc};
use super::lookup3::hash_little;
use crate::exec::BitWriter;
use ir::Bits;

/// A hash or checksum function, by what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HashAlgorithm {
    Crc32,
    Crc32Custom,
    Crc16,
    Crc16Custom,
    /// Not a function of the data: a random number.
    Random,
    /// The first eight bytes as a number.
    Identity,
    Csum16,
    Xor16,
    Lookup3,
    /// That of receive-side scaling.
    Toeplitz,
}

impl HashAlgorithm {
    /// By the name of the member of an architecture's enum.
    pub fn of_member(name: &str) -> Option<HashAlgorithm> {
        Some(match name.to_ascii_lowercase().as_str() {
            "crc32" => HashAlgorithm::Crc32,
            "crc32_custom" => HashAlgorithm::Crc32Custom,
            "crc16" | "target_default" => HashAlgorithm::Crc16,
            "crc16_custom" => HashAlgorithm::Crc16Custom,
            "random" => HashAlgorithm::Random,
            "identity" => HashAlgorithm::Identity,
            "csum16" | "ones_complement16" => HashAlgorithm::Csum16,
            "xor16" => HashAlgorithm::Xor16,
            "lookup3" => HashAlgorithm::Lookup3,
            "toeplitz" => HashAlgorithm::Toeplitz,
            _ => return None,
        })
    }
}

/// The parameters of the `_custom` hash algorithms, which the control plane can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashParameters {
    pub crc16_custom: Crc,
    pub crc32_custom: Crc,
}

impl Default for HashParameters {
    fn default() -> HashParameters {
        HashParameters { crc16_custom: CRC16, crc32_custom: CRC32 }
    }
}

/// The hash of bytes; `random` supplies what [`HashAlgorithm::Random`] gives.
pub fn hash(
    algorithm: HashAlgorithm,
    parameters: &HashParameters,
    bytes: &[u8],
    random: &mut dyn FnMut() -> u64,
) -> u64 {
    match algorithm {
        HashAlgorithm::Crc32 => CRC32.compute(bytes),
        HashAlgorithm::Crc32Custom => parameters.crc32_custom.compute(bytes),
        HashAlgorithm::Crc16 => CRC16.compute(bytes),
        HashAlgorithm::Crc16Custom => parameters.crc16_custom.compute(bytes),
        HashAlgorithm::Random => random(),
        HashAlgorithm::Identity => bytes.iter().take(8).fold(0, |acc, b| acc << 8 | u64::from(*b)),
        HashAlgorithm::Csum16 => u64::from(checksum::internet(bytes)),
        HashAlgorithm::Xor16 => u64::from(checksum::xor16(bytes)),
        HashAlgorithm::Lookup3 => u64::from(hash_little(bytes, 0)),
        HashAlgorithm::Toeplitz => u64::from(toeplitz(bytes)),
    }
}

/// The hash of data in pieces: `before` is that of the pieces before `bytes`, 0 if there are none. Only cyclic redundancy
/// checks remember data; of others the last piece counts.
pub fn hash_on(algorithm: HashAlgorithm, parameters: &HashParameters, before: u64, bytes: &[u8]) -> u64 {
    match algorithm {
        HashAlgorithm::Crc32 => CRC32.resume(before, bytes),
        HashAlgorithm::Crc32Custom => parameters.crc32_custom.resume(before, bytes),
        HashAlgorithm::Crc16 => CRC16.resume(before, bytes),
        HashAlgorithm::Crc16Custom => parameters.crc16_custom.resume(before, bytes),
        HashAlgorithm::Xor16 => before ^ u64::from(checksum::xor16(bytes)),
        HashAlgorithm::Random
        | HashAlgorithm::Identity
        | HashAlgorithm::Csum16
        | HashAlgorithm::Lookup3
        | HashAlgorithm::Toeplitz => hash(algorithm, parameters, bytes, &mut || 0),
    }
}

/// The key in the verification suite of receive-side scaling (Microsoft, "Verifying the RSS hash calculation").
const TOEPLITZ_KEY: [u8; 40] = [
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0,
    0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42,
    0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
];

/// The Toeplitz hash: each bit of the data that is set selects 32 bits of the key. The key begins again behind its end.
fn toeplitz(bytes: &[u8]) -> u32 {
    let key_bit = |at: usize| TOEPLITZ_KEY[at / 8 % TOEPLITZ_KEY.len()] >> (7 - at % 8) & 1;
    let mut window = (0..32).fold(0u32, |window, at| window << 1 | u32::from(key_bit(at)));
    let mut hash = 0;
    for (at, is_set) in
        bytes.iter().flat_map(|byte| (0..8).map(move |i| byte >> (7 - i) & 1 == 1)).enumerate()
    {
        if is_set {
            hash ^= window;
        }
        window = window << 1 | u32::from(key_bit(at + 32));
    }
    hash
}

/// Bit strings one after the other, the most significant bit first; the last byte is filled with zeros.
pub fn pack(values: &[Bits]) -> Vec<u8> {
    let mut out = BitWriter::default();
    values.iter().for_each(|v| out.push(v));
    out.bytes().to_vec()
}

/// Each bit string in as many whole bytes as it needs, the least significant byte first: how the values lie in the
/// memory of a little-endian machine, one after the other without gaps.
pub fn pack_little_endian(values: &[Bits]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_bytes_be().into_iter().rev()).collect()
}

/// `base + hash mod max`, or `base` when `max` is 0.
pub fn within(base: u64, hash: u64, max: u64) -> u64 {
    base.wrapping_add(hash.checked_rem(max).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(algorithm: HashAlgorithm, values: &[Bits]) -> u64 {
        hash(algorithm, &HashParameters::default(), &pack(values), &mut || 42)
    }

    #[test]
    fn fields_are_packed_without_gaps() {
        let values = [Bits::new(4, 0x4), Bits::new(4, 0x5), Bits::new(12, 0xabc), Bits::new(1, 1)];
        assert_eq!(pack(&values), [0x45, 0xab, 0xc8]);
        assert_eq!(pack_little_endian(&[Bits::new(16, 0x0102), Bits::new(9, 0x1ff)]), [2, 1, 0xff, 1]);
        let digits: Vec<Bits> = b"123456789".iter().map(|b| Bits::new(8, u128::from(*b))).collect();
        assert_eq!(of(HashAlgorithm::Crc32, &digits), 0xcbf4_3926);
        assert_eq!(of(HashAlgorithm::Crc16, &digits), 0xbb3d);
        assert_eq!(of(HashAlgorithm::Crc16Custom, &digits), 0xbb3d);
        assert_eq!(of(HashAlgorithm::Crc32Custom, &digits), 0xcbf4_3926);
        assert_eq!(of(HashAlgorithm::Identity, &digits), 0x3132_3334_3536_3738);
        assert_eq!(of(HashAlgorithm::Identity, &[Bits::new(9, 1)]), 0x0080);
        assert_eq!(of(HashAlgorithm::Xor16, &digits), 0x3132 ^ 0x3334 ^ 0x3536 ^ 0x3738 ^ 0x3900);
        assert_eq!(of(HashAlgorithm::Random, &digits), 42);
    }

    /// Examples of the verification suite: addresses and ports of source and destination.
    #[test]
    fn receive_side_scaling() {
        let of = |source: [u8; 4], destination: [u8; 4], ports: [u16; 2]| {
            let ports = ports.map(u16::to_be_bytes).concat();
            toeplitz(&[&source[..], &destination, &ports].concat())
        };
        assert_eq!(of([66, 9, 149, 187], [161, 142, 100, 80], [2794, 1766]), 0x51cc_c178);
        assert_eq!(of([199, 92, 111, 2], [65, 69, 140, 83], [14230, 4739]), 0xc626_b0ea);
    }

    #[test]
    fn base_and_max() {
        assert_eq!(within(10, 23, 7), 12);
        assert_eq!(within(10, 23, 0), 10);
        assert_eq!(within(u64::MAX, 1, 2), 0);
    }
}
