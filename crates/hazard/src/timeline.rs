//! Times of reception of packets: the input of a store-and-forward switch.

use crate::config::{ConfigError, Switch};

/// Length of the shortest Ethernet frame, to which alpha = 0 reduces every packet.
pub const LEN_BYTES_MIN: u32 = 64;

/// Upper limit of times, so that their sums do not overflow.
const CYCLE_MAX: u64 = 1 << 62;

/// Share of a packet's length beyond the minimum that is kept, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alpha {
    /// Share in units of 2^-16.
    parts: u32,
}

impl Alpha {
    pub const ONE: Alpha = Alpha { parts: 1 << 16 };

    pub fn new(alpha: f64) -> Result<Alpha, ConfigError> {
        if !(0.0..=1.0).contains(&alpha) {
            return Err(ConfigError::Alpha { alpha });
        }
        Ok(Alpha { parts: (alpha * 65_536.0).round() as u32 })
    }

    /// `min + alpha (len - min)`, rounded. Packets that are shorter than any frame grow to it as alpha falls.
    #[inline]
    pub fn scaled(self, len_bytes: u32) -> u32 {
        let beyond = i64::from(len_bytes) - i64::from(LEN_BYTES_MIN);
        let kept = (beyond * i64::from(self.parts) + (1 << 15)) >> 16;
        (i64::from(LEN_BYTES_MIN) + kept) as u32
    }
}

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
    alpha: Alpha,
    pace: Pace,
    /// The cycle in which the line becomes free.
    free_at: u64,
    line_cycles: u64,
    first_ns: Option<u64>,
}

impl Timeline {
    pub fn new(switch: &Switch, alpha: Alpha, pace: Pace) -> Result<Timeline, ConfigError> {
        switch.check()?;
        if let Pace::Even { utilisation } = pace {
            check_utilisation(utilisation)?;
        }
        Ok(Timeline {
            chunk_bytes: switch.chunk_bytes,
            alpha,
            pace,
            free_at: 0,
            line_cycles: 0,
            first_ns: None,
        })
    }

    /// Cycles that a packet is on the line; at least 1.
    #[inline]
    pub fn cycles_of(&self, len_bytes: u32) -> u64 {
        u64::from(self.alpha.scaled(len_bytes).div_ceil(self.chunk_bytes).max(1))
    }

    /// Receives the next packet; returns the cycle in which it has arrived, which is later than the one before.
    #[inline]
    pub fn receive(&mut self, len_bytes: u32, time_ns: u64) -> u64 {
        let cycles = self.cycles_of(len_bytes);
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

    fn arrivals(alpha: f64, pace: Pace, packets: &[(u32, u64)]) -> Vec<u64> {
        let alpha = Alpha::new(alpha).unwrap();
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
    fn alpha_shrinks_what_is_beyond_the_minimum() {
        let of = |alpha, len| Alpha::new(alpha).unwrap().scaled(len);
        assert_eq!([of(1.0, 1500), of(0.5, 1500), of(0.2, 1500), of(0.0, 1500)], [1500, 782, 351, 64]);
        assert_eq!([of(1.0, 40), of(0.5, 40), of(0.0, 40)], [40, 52, 64]);
        for step in 0..100 {
            for len in [64, 65, 100, 1500, 65_535] {
                let (less, more) = (f64::from(step) / 100.0, f64::from(step + 1) / 100.0);
                assert!(of(less, len) <= of(more, len), "{step} {len}");
            }
        }
        assert!(Alpha::new(1.1).is_err() && Alpha::new(f64::NAN).is_err());
    }

    #[test]
    fn a_chunk_of_nothing_is_refused() {
        let switch = Switch { chunk_bytes: 0, clock_ghz: 1.0 };
        assert!(Timeline::new(&switch, Alpha::ONE, Pace::BackToBack).is_err());
    }
}
