//! Packets to simulate: of a profile, of a list of sizes, or of a capture.

mod capture;
mod flows;
mod generate;
mod headers;
mod key;
mod order;
mod runs;
mod sizes;

pub use capture::{Capture, CaptureError, Frame, Length};
pub use flows::{FLOWS_MAX, Flows};
pub use generate::{Generator, Profile};
pub use headers::{FlowFields, flow_fields};
pub use key::{Field, Key, KeyError};
pub use order::{OrderError, TimeOrder};
pub use runs::{SIZE_RUNS_TILT, SizeRuns};
pub use sizes::{LEN_BYTES_MAX, SizeCounts, SizeError, Sizes};

/// Packets that are simulated at a time: few enough for their columns to stay in a cache.
pub const BATCH_PACKETS: usize = 4096;

/// A batch of packets in columns: lengths, times, and hashes for each requested key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    pub len_bytes: Vec<u32>,
    /// Only the differences count, and only where the pace is the trace's.
    pub time_ns: Vec<u64>,
    pub keys: Vec<Vec<u64>>,
}

impl Batch {
    pub fn new(n_keys: usize) -> Batch {
        Batch { keys: vec![Vec::new(); n_keys], ..Batch::default() }
    }

    pub fn clear(&mut self) {
        self.len_bytes.clear();
        self.time_ns.clear();
        self.keys.iter_mut().for_each(Vec::clear);
    }

    pub fn len(&self) -> usize {
        self.len_bytes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len_bytes.is_empty()
    }

    /// Adds a packet of a capture. `keys` are those that the batch has columns for.
    #[inline]
    pub fn push(&mut self, len_bytes: u32, time_ns: u64, fields: &FlowFields, keys: &[Key]) {
        self.len_bytes.push(len_bytes);
        self.time_ns.push(time_ns);
        for (column, key) in self.keys.iter_mut().zip(keys) {
            column.push(key.hash(fields));
        }
    }
}

/// Spreads a number over all 64 bits: the output function of SplitMix64 (Steele, Lea, Flood, 2014).
#[inline]
pub fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// SplitMix64: the same seed, the same numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Chance {
        Chance(seed)
    }

    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        let drawn = mixed(self.0);
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        drawn
    }
}

/// Draws from weights in constant time (Walker's alias method, in Vose's construction).
#[derive(Clone, Debug)]
pub(crate) struct Alias {
    /// For each index, a threshold and an alternative, which a draw of 32 bits from the threshold on takes.
    slots: Vec<(u32, u32)>,
}

impl Alias {
    /// `None` if there are no weights, or if weights are negative, not finite or all 0.
    pub(crate) fn new(weights: &[f64]) -> Option<Alias> {
        let n = weights.len();
        let sum: f64 = weights.iter().sum();
        let is_bad = weights.iter().any(|w| !w.is_finite() || *w < 0.0) || !sum.is_finite() || sum <= 0.0;
        if is_bad || u32::try_from(n).is_err() {
            return None;
        }
        let mut left: Vec<f64> = weights.iter().map(|w| w / sum * n as f64).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..n).partition(|i| left[*i] < 1.0);
        let mut slots: Vec<(u32, u32)> = (0..n).map(|i| (u32::MAX, i as u32)).collect();
        while let (Some(&less), Some(&more)) = (small.last(), large.last()) {
            small.pop();
            slots[less] = ((left[less] * 2f64.powi(32)) as u32, more as u32);
            left[more] -= 1.0 - left[less];
            if left[more] < 1.0 {
                large.pop();
                small.push(more);
            }
        }
        Some(Alias { slots })
    }

    /// Draws an index from the upper 32 of 64 random bits. The lower ones are free for another draw.
    #[inline]
    pub(crate) fn draw(&self, random: u64) -> usize {
        let scaled = (random >> 32) * self.slots.len() as u64;
        let at = (scaled >> 32) as u32;
        let (keep_below, other) = self.slots[at as usize];
        // The lower half of the product is a draw within the slot.
        if (scaled as u32) < keep_below { at as usize } else { other as usize }
    }

    pub(crate) fn slots(&self) -> &[(u32, u32)] {
        &self.slots
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_follow_the_weights() {
        let alias = Alias::new(&[1.0, 0.0, 5.0, 4.0]).unwrap();
        let mut chance = Chance::new(1);
        let mut counts = [0; 4];
        (0..100_000).for_each(|_| counts[alias.draw(chance.next())] += 1);
        for (count, wanted) in counts.iter().zip([10_000, 0, 50_000, 40_000]) {
            assert!((wanted - count as &i32).abs() < 700, "{counts:?}");
        }
        assert!(
            Alias::new(&[]).is_none() && Alias::new(&[0.0]).is_none() && Alias::new(&[-1.0, 2.0]).is_none()
        );
    }
}
