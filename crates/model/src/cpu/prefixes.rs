//! Levels of a tree of prefixes that lookups read, as `rt/table/lpm` builds it: a root indexed by the first bits of a key, nodes
//! for the next [`STRIDE`] bits, and buckets in the place of nodes where few prefixes are left.

/// Bits that one node looks at.
const STRIDE: u32 = 6;
/// Prefixes of a bucket.
const BUCKET: usize = 4;
/// From so many prefixes on the root has bits of one more level.
const VIEW: usize = 1 << 18;

/// A prefix: limbs of 64 bits, the most significant first, with zeros beyond its length.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Prefix {
    pub limbs: Vec<u64>,
    /// Bits.
    pub length: u32,
}

impl Prefix {
    /// `n` bits from `at` on, at most [`STRIDE`] of them; zeros beyond the limbs.
    fn bits(&self, at: u32, n: u32) -> u64 {
        let limb = |i: u32| self.limbs.get(i as usize).copied().unwrap_or(0);
        let (i, skip) = (at / 64, at % 64);
        let below = if skip == 0 { 0 } else { limb(i + 1) >> (64 - skip) };
        (limb(i) << skip | below) >> (64 - n)
    }
}

/// Bits of the root.
fn root_bits(n_prefixes: usize, width_bits: u32) -> u32 {
    let wanted = match n_prefixes {
        0..32 => STRIDE,
        32..512 => 2 * STRIDE,
        512..VIEW => 3 * STRIDE,
        _ => 4 * STRIDE,
    };
    // It grows by whole levels, and no further than keys have bits.
    wanted.min(width_bits / STRIDE * STRIDE).max(1)
}

/// Nodes and buckets that a lookup reads on average, if keys come to all prefixes alike. Sorts the prefixes.
pub fn mean_levels(prefixes: &mut [Prefix], width_bits: u32) -> f64 {
    prefixes.sort_unstable();
    let mut n_levels = 0;
    // Prefixes that are equal up to a bit: their range, the next bits that tell them apart, and the levels that were read.
    let mut left = vec![(0, prefixes.len(), 0..root_bits(prefixes.len(), width_bits), 0)];
    while let Some((start, end, bits, n_read)) = left.pop() {
        let mut from = start;
        while from < end {
            // Shorter ones come first among those that are equal in these bits.
            if prefixes[from].length <= bits.end {
                n_levels += n_read;
                from += 1;
                continue;
            }
            let is_near = |other: &&Prefix| {
                bits.clone().step_by(STRIDE as usize).all(|at| {
                    let n = STRIDE.min(bits.end - at);
                    other.bits(at, n) == prefixes[from].bits(at, n)
                })
            };
            let n = prefixes[from..end].iter().take_while(is_near).count();
            match n {
                ..=BUCKET => n_levels += n * (n_read + 1),
                _ => left.push((from, from + n, bits.end..bits.end + STRIDE, n_read + 1)),
            }
            from += n;
        }
    }
    n_levels as f64 / prefixes.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Prefixes of one length with consecutive values.
    fn consecutive(n: u64, first: u64, length: u32) -> Vec<Prefix> {
        (0..n).map(|i| Prefix { limbs: vec![(first + i) << (64 - length)], length }).collect()
    }

    #[test]
    fn prefixes_within_the_root_read_no_level() {
        assert_eq!(mean_levels(&mut consecutive(64, 0, 6), 32), 0.0);
        assert_eq!(mean_levels(&mut consecutive(4096, 0, 12), 32), 0.0);
        assert_eq!(mean_levels(&mut [], 32), 0.0);
    }

    #[test]
    fn a_bucket_takes_the_place_of_many_levels() {
        assert_eq!(mean_levels(&mut consecutive(4, 0xc0a8_0001, 32), 32), 1.0);
        // One more: a node at each level until buckets have few enough.
        assert_eq!(mean_levels(&mut consecutive(5, 0xc0a8_0000, 32), 32), 4.0 + 1.0);
    }

    #[test]
    fn levels_grow_with_the_length_that_prefixes_have_in_common() {
        // A root of 18 bits, a node for the other 6.
        assert_eq!(mean_levels(&mut consecutive(10_000, 0x0a_0000, 24), 32), 1.0);
        // A root of 12 bits.
        assert_eq!(mean_levels(&mut consecutive(256, 0x0a_0000, 24), 32), 2.0);
        let mut both = consecutive(256, 0x0a_0000, 24);
        both.extend(consecutive(256, 0, 8));
        // A root of 18 bits for 512 prefixes.
        assert_eq!(mean_levels(&mut both, 32), 0.5);
    }

    #[test]
    fn numbers_are_those_of_the_tree() {
        let (root, tree) = (
            include_str!("../../../../rt/table/lpm/sd_lpm_root.h"),
            include_str!("../../../../rt/table/lpm/sd_lpm.h"),
        );
        assert!(root.contains("n_prefixes < 32 ? 6 : n_prefixes < 512 ? 12 : 18"));
        assert!(root.contains(&format!("#define SD_LPM_VIEW_PREFIXES (1u << {})", VIEW.ilog2())));
        assert!(tree.contains(&format!("#define SD_LPM_STRIDE {STRIDE}u")));
        assert!(tree.contains(&format!("#define SD_LPM_BUCKET_ROOM {BUCKET}u")));
    }

    #[test]
    fn wide_prefixes_are_told_apart_in_all_limbs() {
        let prefix = |i: u64| Prefix { limbs: vec![0xfc00_0003_0000_0000, i << 48], length: 80 };
        let mut prefixes: Vec<Prefix> = (0..1000).map(prefix).collect();
        // A root of 18 bits, nodes up to bit 72 and, for groups of 64, one more.
        assert_eq!(mean_levels(&mut prefixes, 128), 11.0);
    }
}
