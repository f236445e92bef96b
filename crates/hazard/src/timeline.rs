//! Times of reception of packets: the input of a store-and-forward switch.

use crate::alpha::{Alpha, Shrink};
use crate::config::{ConfigError, Switch};

/// Upper limit of times, so that their sums do not overflow.
const CYCLE_MAX: u64 = 1 << 62;

/// The rule that sets when packets begin to arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// Each as soon as the one before has been received: the line is always busy.
    BackToBack,
    /// Gaps after packets, in proportion to their length, so that the line is busy for this share of the time.
    Even { utilisation: f64 },
    /// Times of the trace, in which one nanosecond is this many cycles. Packets that come while the line is busy wait.
    Trace { cycles_per_ns: f64 },
}

impl Pace {
    /// The trace's own times, so that the line is busy for `utilisation` of them.
    pub fn of_trace(line_cycles: u64, duration_ns: u64, utilisation: f64) -> Result<Pace, ConfigError> {
        check_utilisation(utilisation)?;
        let cycles = line_cycles as f64 / utilisation;
        Ok(Pace::Trace { cycles_per_ns: cycles / (duration_ns.max(1)) as f64 })
    }
}

pub fn check_utilisation(utilisation: f64) -> Result<(), ConfigError> {
    if utilisation > 0.0 && utilisation <= 1.0 {
        Ok(())
    } else {
        Err(ConfigError::Utilisation { utilisation })
    }
}

/// The input line. A packet of `len` bytes is on it for `ceil(len / chunk)` cycles and can be worked on in the
/// cycle after: one that begins to arrive in cycle 0 and is on the line for 3 cycles has *arrived* in cycle 3.
#[derive(Clone, Debug)]
pub struct Timeline {
    chunk_bytes: u32,
    /// `2^RECIPROCAL_BITS / chunk_bytes`, rounded up: a division is several times slower than a product.
    reciprocal: u64,
    shrink: Shrink,
    pace: Pace,
    /// Number of the next packet.
    packet: u64,
    /// The cycle in which the line becomes free.
    free_at: u64,
    line_cycles: u64,
    first_ns: Option<u64>,
}

const RECIPROCAL_BITS: u32 = 40;
/// Lengths below this, plus a chunk, are divided exactly by the product with the reciprocal: its error is below
/// `chunk_bytes`, which is at most 2^16, so that `2^23 * 2^16 < 2^RECIPROCAL_BITS`.
const EXACT_BELOW_BYTES: u32 = 1 << 22;

impl Timeline {
    pub fn new(switch: &Switch, alpha: Alpha, pace: Pace) -> Result<Timeline, ConfigError> {
        switch.check()?;
        if let Pace::Even { utilisation } = pace {
            check_utilisation(utilisation)?;
        }
        Ok(Timeline {
            chunk_bytes: switch.chunk_bytes,
            reciprocal: (1u64 << RECIPROCAL_BITS).div_ceil(u64::from(switch.chunk_bytes)),
            shrink: Shrink::new(alpha),
            pace,
            packet: 0,
            free_at: 0,
            line_cycles: 0,
            first_ns: None,
        })
    }

    /// Numbers packets from this one on. Alpha depends on the numbers.
    pub fn from_packet(self, packet: u64) -> Timeline {
        Timeline { packet, ..self }
    }

    /// Cycles that a packet is on the line after alpha has been applied to its length; at least 1.
    #[inline]
    pub fn cycles_of(&self, len_bytes: u32) -> u64 {
        if len_bytes >= EXACT_BELOW_BYTES {
            return u64::from(len_bytes.div_ceil(self.chunk_bytes));
        }
        let rounded_up = u64::from(len_bytes + self.chunk_bytes - 1);
        ((rounded_up * self.reciprocal) >> RECIPROCAL_BITS).max(1)
    }

    /// Expected cycles on the line of packets of an original length.
    pub fn mean_cycles_of(&self, len_bytes: u32) -> f64 {
        let mut mean = 0.0;
        self.shrink.for_each_len(len_bytes, |len, share| mean += share * self.cycles_of(len) as f64);
        mean
    }

    /// Receives the next packet; returns the cycle in which it has arrived, which is later than the one before.
    #[inline]
    pub fn receive(&mut self, len_bytes: u32, time_ns: u64) -> u64 {
        let cycles = self.cycles_of(self.shrink.len_bytes(len_bytes, self.packet));
        self.packet += 1;
        let start = match self.pace {
            Pace::BackToBack => self.free_at,
            Pace::Even { utilisation } => {
                self.free_at.max(((self.line_cycles as f64 / utilisation) as u64).min(CYCLE_MAX))
            }
            Pace::Trace { cycles_per_ns } => {
                let first = *self.first_ns.get_or_insert(time_ns);
                let cycle = (time_ns.saturating_sub(first) as f64 * cycles_per_ns) as u64;
                self.free_at.max(cycle.min(CYCLE_MAX))
            }
        };
        self.line_cycles += cycles;
        self.free_at = start + cycles;
        self.free_at
    }

    /// The cycle in which the last packet had arrived.
    pub fn ended_at(&self) -> u64 {
        self.free_at
    }

    /// Cycles in which the line was busy.
    pub fn line_cycles(&self) -> u64 {
        self.line_cycles
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alpha::AlphaModel;

    fn arrivals(alpha: f64, pace: Pace, packets: &[(u32, u64)]) -> Vec<u64> {
        let alpha = Alpha::new(AlphaModel::Scale, alpha, 0).unwrap();
        let mut line = Timeline::new(&Switch::default(), alpha, pace).unwrap();
        packets.iter().map(|(len, ns)| line.receive(*len, *ns)).collect()
    }

    #[test]
    fn packets_follow_each_other() {
        // 1, 1, 2, 19 and 19 cycles of 80 bytes.
        let packets = [(64, 0), (80, 0), (81, 0), (1500, 0), (1520, 0)];
        assert_eq!(arrivals(1.0, Pace::BackToBack, &packets), [1, 2, 4, 23, 42]);
        // All of 64 bytes.
        assert_eq!(arrivals(0.0, Pace::BackToBack, &packets), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn half_busy_lines_are_free_half_the_time() {
        // On the line for 19, 1, 1: beginning at 0, 38, 40.
        let packets = [(1500, 0), (64, 0), (64, 0)];
        assert_eq!(arrivals(1.0, Pace::Even { utilisation: 0.5 }, &packets), [19, 39, 41]);
    }

    #[test]
    fn times_of_a_trace_are_stretched() {
        // Two cycles for a nanosecond. The second comes while the first is on the line until cycle 19.
        let packets = [(1500, 1000), (64, 1005), (64, 1020)];
        assert_eq!(arrivals(1.0, Pace::Trace { cycles_per_ns: 2.0 }, &packets), [19, 20, 41]);
        // 21 cycles of line in 21 ns, to be busy for a quarter of the time.
        assert_eq!(Pace::of_trace(21, 21, 0.25), Ok(Pace::Trace { cycles_per_ns: 4.0 }));
        assert!(Pace::of_trace(21, 21, 0.0).is_err() && Pace::of_trace(21, 21, 1.5).is_err());
    }

    #[test]
    fn times_beyond_all_bounds_are_cut() {
        let packets = [(64, 0), (64, u64::MAX), (64, u64::MAX)];
        for pace in [Pace::Trace { cycles_per_ns: f64::MAX }, Pace::Even { utilisation: 1e-300 }] {
            let arrivals = arrivals(1.0, pace, &packets);
            assert!(arrivals.is_sorted_by(|a, b| a < b) && arrivals[2] <= CYCLE_MAX + 3, "{arrivals:?}");
        }
    }

    #[test]
    fn chunks_are_counted_as_by_division() {
        for chunk_bytes in [1, 3, 7, 64, 80, 81, 1000, 65_535, 65_536] {
            let switch = Switch { chunk_bytes, clock_ghz: 1.0 };
            let line = Timeline::new(&switch, Alpha::ONE, Pace::BackToBack).unwrap();
            let lens = (0..3000).chain([65_535, 65_536, EXACT_BELOW_BYTES - 1, EXACT_BELOW_BYTES, u32::MAX]);
            for len in lens {
                assert_eq!(
                    line.cycles_of(len),
                    u64::from(len.div_ceil(chunk_bytes).max(1)),
                    "{len} {chunk_bytes}"
                );
            }
        }
    }

    #[test]
    fn mean_cycles_are_those_of_alpha() {
        let alpha = Alpha::new(AlphaModel::Mix, 0.5, 1).unwrap();
        let mut line = Timeline::new(&Switch::default(), alpha, Pace::BackToBack).unwrap();
        let mean = line.mean_cycles_of(1500);
        let cycles = (0..100_000).map(|_| line.receive(1500, 0)).last().unwrap();
        assert!((cycles as f64 / 100_000.0 - mean).abs() < 0.1, "{cycles} {mean}");
        assert_eq!(line.mean_cycles_of(400), 5.0);
    }

    #[test]
    fn a_chunk_of_nothing_is_refused() {
        let switch = Switch { chunk_bytes: 0, clock_ghz: 1.0 };
        assert!(Timeline::new(&switch, Alpha::ONE, Pace::BackToBack).is_err());
    }
}
