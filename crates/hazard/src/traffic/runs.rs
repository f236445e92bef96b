//! Lengths that stay alike from packet to packet.

use super::{Chance, Sizes};

/// How much the two states of [`SizeRuns`] differ from the distribution: in one, short packets are this share rarer; in
/// the other, long ones are. Fitted, together with the chance 0.985, to published waits behind a global lock (see
/// `docs/how-to/stateful-actions.md`).
pub const SIZE_RUNS_TILT: f64 = 0.22;

/// Draws lengths from a distribution, with more long packets for a while, then with more short ones.
///
/// A chain of two states. Before each packet the state stays with chance `stay`; else it is drawn anew, so that a packet
/// of any number has the lengths of the distribution. Packets are long if they are longer than the mean.
#[derive(Clone, Debug)]
pub struct SizeRuns {
    more_short: Sizes,
    more_long: Sizes,
    /// Draws of 32 bits below this keep the state.
    stay: u64,
    /// Draws of 32 bits below this make the state the one with more long packets.
    long: u64,
    is_long: bool,
}

impl SizeRuns {
    /// `None` unless `stay` is from 0 to below 1.
    pub fn new(sizes: &Sizes, stay: f64) -> Option<SizeRuns> {
        if !(0.0..1.0).contains(&stay) {
            return None;
        }
        let mean = sizes.mean_bytes();
        let is_long = |first: u32, last: u32| f64::from(first) + f64::from(last) > 2.0 * mean;
        let weight = |of_long: bool| {
            let those = sizes.ranges().filter(|(first, last, _)| is_long(*first, *last) == of_long);
            those.map(|(_, _, weight)| weight).sum::<f64>()
        };
        let long = weight(true) / (weight(true) + weight(false));
        // The share of long packets in a state, instead of `long`.
        let tilted = |long_then: f64| {
            let ranges: Vec<_> = sizes
                .ranges()
                .map(|(first, last, weight)| {
                    let factor = match is_long(first, last) {
                        true => long_then / long,
                        false => (1.0 - long_then) / (1.0 - long),
                    };
                    (first, last, weight * factor)
                })
                .collect();
            Sizes::of_ranges(&ranges).ok()
        };
        if long == 0.0 {
            // One length: nothing to tilt.
            return Some(SizeRuns {
                more_short: sizes.clone(),
                more_long: sizes.clone(),
                stay: 0,
                long: 0,
                is_long: false,
            });
        }
        Some(SizeRuns {
            more_short: tilted(long * (1.0 - SIZE_RUNS_TILT))?,
            more_long: tilted(long + (1.0 - long) * SIZE_RUNS_TILT)?,
            stay: (stay * 2f64.powi(32)) as u64,
            long: (long * 2f64.powi(32)) as u64,
            is_long: false,
        })
    }

    #[inline]
    pub(crate) fn draw(&mut self, chance: &mut Chance) -> u32 {
        let random = chance.next();
        let (change, state) = (random >> 32, u64::from(random as u32));
        if change >= self.stay {
            self.is_long = state < self.long;
        }
        let sizes = if self.is_long { &self.more_long } else { &self.more_short };
        sizes.draw(chance.next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lens(stay: f64, n: usize) -> Vec<u32> {
        let sizes = Sizes::of_ranges(&[(64, 64, 0.6), (1500, 1500, 0.4)]).unwrap();
        let mut runs = SizeRuns::new(&sizes, stay).unwrap();
        let mut chance = Chance::new(1);
        (0..n).map(|_| runs.draw(&mut chance)).collect()
    }

    #[test]
    fn the_distribution_stays() {
        for stay in [0.0, 0.9, 0.99] {
            let long = lens(stay, 400_000).iter().filter(|len| **len == 1500).count() as f64 / 400_000.0;
            assert!((long - 0.4).abs() < 0.01, "{stay}: {long}");
        }
    }

    #[test]
    fn windows_differ_where_the_state_stays() {
        // The variance of the number of long packets in windows of 100, in units of that of independent ones.
        let spread = |stay| {
            let lens = lens(stay, 400_000);
            let counts = lens.chunks(100).map(|w| w.iter().filter(|len| **len == 1500).count() as f64);
            counts.map(|n| (n - 40.0) * (n - 40.0)).sum::<f64>() / 4000.0 / 24.0
        };
        assert!((spread(0.0) - 1.0).abs() < 0.15, "{}", spread(0.0));
        assert!(spread(0.98) > 2.0, "{}", spread(0.98));
    }

    #[test]
    fn packets_of_one_length_have_no_runs() {
        let mut runs = SizeRuns::new(&Sizes::fixed(200).unwrap(), 0.9).unwrap();
        let mut chance = Chance::new(1);
        assert!((0..1000).all(|_| runs.draw(&mut chance) == 200));
    }

    #[test]
    fn the_chance_is_a_share_below_one() {
        let sizes = Sizes::fixed(64).unwrap();
        for stay in [1.0, -0.1, 1.5, f64::NAN] {
            assert!(SizeRuns::new(&sizes, stay).is_none(), "{stay}");
        }
    }
}
