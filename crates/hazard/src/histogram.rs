//! Counts of durations in cycles (and of packets in a queue), in a memory that does not grow.

/// Exact below this; above, 2^SUB_BITS steps to each power of two.
const EXACT: u64 = 1 << (SUB_BITS + 1);
const SUB_BITS: u32 = 9;
const BUCKETS: usize = ((64 - SUB_BITS as usize) << SUB_BITS) + (EXACT as usize >> 1);

/// Durations: exact below 1024 cycles, rounded up by at most a 512th above.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Vec<u64>,
    n: u64,
    sum: u128,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { counts: vec![0; BUCKETS], n: 0, sum: 0, max: 0 }
    }
}

impl Histogram {
    #[inline]
    pub fn record(&mut self, cycles: u64) {
        if let Some(count) = self.counts.get_mut(bucket(cycles)) {
            *count += 1;
        }
        self.n += 1;
        self.sum += u128::from(cycles);
        self.max = self.max.max(cycles);
    }

    pub fn n(&self) -> u64 {
        self.n
    }

    pub fn max(&self) -> u64 {
        self.max
    }

    pub fn mean(&self) -> f64 {
        if self.n == 0 { 0.0 } else { self.sum as f64 / self.n as f64 }
    }

    /// The smallest duration that at least this share of all are not above: `percentile(0.99)`. 0 of nothing.
    pub fn percentile(&self, share: f64) -> u64 {
        let wanted = ((share * self.n as f64).ceil() as u64).clamp(1, self.n.max(1));
        let mut seen = 0;
        for (at, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return largest_of(at).min(self.max);
            }
        }
        self.max
    }
}

fn bucket(cycles: u64) -> usize {
    if cycles < EXACT {
        return cycles as usize;
    }
    let shift = cycles.ilog2() - SUB_BITS;
    ((u64::from(shift) << SUB_BITS) + (cycles >> shift)) as usize
}

/// The largest duration that falls into a bucket.
fn largest_of(bucket: usize) -> u64 {
    let at = bucket as u64;
    if at < EXACT {
        return at;
    }
    let shift = (at >> SUB_BITS) - 1;
    let top = at - (shift << SUB_BITS);
    let end = (u128::from(top) + 1) << shift;
    u64::try_from(end - 1).unwrap_or(u64::MAX)
}

/// Times that packets wait, from having arrived to the start of their action.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wait {
    pub mean_cycles: f64,
    pub p50_cycles: u64,
    pub p99_cycles: u64,
    pub max_cycles: u64,
}

impl Wait {
    pub(crate) fn of(waits: &Histogram) -> Wait {
        Wait {
            mean_cycles: waits.mean(),
            p50_cycles: waits.percentile(0.5),
            p99_cycles: waits.percentile(0.99),
            max_cycles: waits.max(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other() {
        let mut last = 0;
        for cycles in (0..5000).chain([1 << 20, (1 << 20) + 1, 1 << 40, u64::MAX - 1, u64::MAX]) {
            let at = bucket(cycles);
            assert!(at >= last && at < BUCKETS, "{cycles}");
            assert!(largest_of(at) >= cycles, "{cycles}");
            assert!(at == 0 || largest_of(at - 1) < cycles, "{cycles}");
            assert!(largest_of(at) - cycles <= cycles >> SUB_BITS, "{cycles}");
            last = at;
        }
    }

    #[test]
    fn percentiles_are_those_of_the_sorted_list() {
        let mut durations = Histogram::default();
        (1..=100).for_each(|cycles| durations.record(cycles));
        let at = |share| durations.percentile(share);
        assert_eq!([at(0.0), at(0.5), at(0.99), at(1.0)], [1, 50, 99, 100]);
        assert_eq!((durations.n(), durations.mean(), durations.max()), (100, 50.5, 100));
        assert_eq!(Histogram::default().percentile(0.99), 0);
    }
}
