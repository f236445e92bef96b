//! The choice of a group's member.

use ir::Bits;
use std::collections::BTreeSet;
use target::store::Weighted;

/// Chooses a number from the values of the selector keys; the name is that of the algorithm.
pub type SelectorHash = fn(algorithm: &str, values: &[&Bits]) -> u64;

/// FNV-1a over the bytes of the values; the algorithm is ignored.
pub fn fnv1a(_: &str, values: &[&Bits]) -> u64 {
    let bytes = values.iter().flat_map(|v| v.to_bytes_be());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// The alternative that a number chooses, in proportion to the weights; ports that are down do not count.
pub(super) fn choose<'a, T>(
    alternatives: &'a [Weighted<T>],
    number: u64,
    ports_down: &BTreeSet<u32>,
) -> Option<&'a T> {
    let is_up = |w: &&Weighted<T>| w.watch_port.is_none_or(|port| !ports_down.contains(&port));
    let total: u64 = alternatives.iter().filter(is_up).map(|w| u64::from(w.weight.max(1))).sum();
    let mut at = number.checked_rem(total)?;
    for w in alternatives.iter().filter(is_up) {
        let weight = u64::from(w.weight.max(1));
        if at < weight {
            return Some(&w.what);
        }
        at -= weight;
    }
    None
}
