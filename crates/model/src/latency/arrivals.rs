//! When packets arrive, and how far they run ahead of their mean rate.

use crate::random::Random;
use std::sync::Arc;

/// No window of `t` nanoseconds has more than `sigma + rate * t` packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Envelope {
    pub sigma: f64,
    /// Packets a nanosecond.
    pub rate: f64,
}

impl Envelope {
    /// The most packets of a window: their number is whole.
    pub fn most(&self, window_ns: f64) -> f64 {
        // Rounding must not take a packet away.
        (self.sigma + self.rate * window_ns + 1e-9).floor()
    }
}

/// The largest excess of amounts over a rate: the maximum over all windows of the amounts inside minus `rate` times the length of
/// the window. Events are in ascending order of their times. Linear time; 0 without events.
pub fn excess(events: impl IntoIterator<Item = (f64, f64)>, rate: f64) -> f64 {
    let (mut total, mut lowest, mut most) = (0.0, f64::INFINITY, 0.0);
    for (at, amount) in events {
        // A window begins just before an event and ends just after one.
        lowest = f64::min(lowest, total - rate * at);
        total += amount;
        most = f64::max(most, total - rate * at - lowest);
    }
    most
}

/// The burstiness of packets at these times, for a rate in packets a nanosecond.
pub fn sigma(times_ns: &[f64], rate: f64) -> f64 {
    excess(times_ns.iter().map(|at| (*at, 1.0)), rate)
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    pub at_ns: f64,
    pub bytes: u32,
}

/// Lengths of packets with their shares, in bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes(Vec<(u32, f64)>);

impl Sizes {
    /// Shares may have any sum. `None` if there is no size, a size is 0, or a share is not positive.
    pub fn new(sizes: Vec<(u32, f64)>) -> Option<Sizes> {
        let total: f64 = sizes.iter().map(|(_, share)| share).sum();
        let is_sound = |(bytes, share): &(u32, f64)| *bytes > 0 && *share > 0.0 && share.is_finite();
        let is_valid = !sizes.is_empty() && sizes.iter().all(is_sound);
        is_valid.then(|| Sizes(sizes.into_iter().map(|(bytes, share)| (bytes, share / total)).collect()))
    }

    pub fn most(&self) -> u32 {
        self.0.iter().map(|(bytes, _)| *bytes).max().unwrap_or(0)
    }

    pub fn mean(&self) -> f64 {
        self.0.iter().map(|(bytes, share)| f64::from(*bytes) * share).sum()
    }

    fn draw(&self, random: &mut Random) -> u32 {
        match self.0.as_slice() {
            [(only, _)] => *only,
            sizes => {
                let mut left = random.unit();
                let chosen = sizes.iter().find(|(_, share)| {
                    left -= share;
                    left < 0.0
                });
                chosen.or(sizes.last()).map_or(0, |(bytes, _)| *bytes)
            }
        }
    }
}

/// How packets follow each other.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// A constant bit rate: equal gaps.
    Cbr,
    /// So many packets with equal gaps of `gap_ns`, then a pause that makes up for them.
    OnOff { n_packets: u32, gap_ns: f64 },
    /// Independent of each other: exponential gaps.
    Poisson,
    /// The times of a capture, again and again, stretched or compressed to the rate; lengths are those of the capture.
    Trace(Arc<[Arrival]>),
}

/// A pattern at a rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Traffic {
    pattern: Pattern,
    rate: f64,
    sizes: Sizes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrafficError {
    /// The rate is not a positive number.
    NoRate,
    /// A burst has no packets.
    EmptyBurst,
    /// Packets of a burst are further apart than those of the mean rate.
    SlowBurst,
    /// A trace has fewer than two packets.
    ShortTrace,
    /// All packets of a trace have the same time.
    NoTimes,
    /// A packet of a trace is older than the one before it.
    Disordered,
}

impl std::fmt::Display for TrafficError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            TrafficError::NoRate => "the rate must be more than 0",
            TrafficError::EmptyBurst => "a burst has at least one packet",
            TrafficError::SlowBurst => "the packets of a burst come more slowly than the mean rate",
            TrafficError::ShortTrace => "a trace needs at least two packets",
            TrafficError::NoTimes => "all packets of the trace have the same time",
            TrafficError::Disordered => "the packets of the trace are not in the order of their times",
        })
    }
}

impl Traffic {
    /// `rate` in packets a nanosecond. `sizes` are not used with a trace.
    pub fn new(pattern: Pattern, rate: f64, sizes: Sizes) -> Result<Traffic, TrafficError> {
        if !(rate.is_finite() && rate > 0.0) {
            return Err(TrafficError::NoRate);
        }
        match &pattern {
            Pattern::OnOff { n_packets: 0, .. } => return Err(TrafficError::EmptyBurst),
            Pattern::OnOff { gap_ns, .. } if !(*gap_ns >= 0.0 && gap_ns * rate <= 1.0) => {
                return Err(TrafficError::SlowBurst);
            }
            Pattern::Trace(arrivals) => {
                Traffic::trace_rate(arrivals)?;
            }
            Pattern::Cbr | Pattern::OnOff { .. } | Pattern::Poisson => {}
        }
        Ok(Traffic { pattern, rate, sizes })
    }

    /// The mean rate of a trace, in packets a nanosecond: that of its gaps.
    pub fn trace_rate(arrivals: &[Arrival]) -> Result<f64, TrafficError> {
        let [first, .., last] = arrivals else { return Err(TrafficError::ShortTrace) };
        if arrivals.windows(2).any(|pair| pair[1].at_ns < pair[0].at_ns) {
            return Err(TrafficError::Disordered);
        }
        let length = last.at_ns - first.at_ns;
        if length > 0.0 { Ok((arrivals.len() - 1) as f64 / length) } else { Err(TrafficError::NoTimes) }
    }

    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Packets of a trace before it is repeated; `None` if this is no trace.
    pub fn trace_len(&self) -> Option<usize> {
        match &self.pattern {
            Pattern::Trace(arrivals) => Some(arrivals.len()),
            Pattern::Cbr | Pattern::OnOff { .. } | Pattern::Poisson => None,
        }
    }

    pub fn bytes_most(&self) -> u32 {
        match &self.pattern {
            Pattern::Trace(arrivals) => arrivals.iter().map(|arrival| arrival.bytes).max().unwrap_or(0),
            Pattern::Cbr | Pattern::OnOff { .. } | Pattern::Poisson => self.sizes.most(),
        }
    }

    pub fn bytes_mean(&self) -> f64 {
        match &self.pattern {
            Pattern::Trace(arrivals) => {
                arrivals.iter().map(|arrival| f64::from(arrival.bytes)).sum::<f64>()
                    / arrivals.len().max(1) as f64
            }
            Pattern::Cbr | Pattern::OnOff { .. } | Pattern::Poisson => self.sizes.mean(),
        }
    }

    /// The envelope at the mean rate; `None` with Poisson arrivals, which run ahead of it without limit.
    pub fn envelope(&self) -> Option<Envelope> {
        let sigma = match &self.pattern {
            Pattern::Cbr => 1.0,
            Pattern::OnOff { n_packets, gap_ns } => {
                f64::from(*n_packets) - self.rate * gap_ns * f64::from(n_packets - 1)
            }
            Pattern::Poisson => return None,
            Pattern::Trace(arrivals) => {
                let times: Vec<f64> = self.trace_times(arrivals).take(2 * arrivals.len()).collect();
                sigma(&times, self.rate)
            }
        };
        Some(Envelope { sigma, rate: self.rate })
    }

    /// The times of a trace, repeated without end.
    fn trace_times<'t>(&self, arrivals: &'t [Arrival]) -> impl Iterator<Item = f64> + use<'t> {
        let (n, rate) = (arrivals.len() as f64, self.rate);
        let first = arrivals.first().map_or(0.0, |arrival| arrival.at_ns);
        let length = arrivals.last().map_or(0.0, |arrival| arrival.at_ns) - first;
        // After the last packet comes one more gap.
        let scale = (n - 1.0) / rate / length.max(f64::MIN_POSITIVE);
        (0u64..).flat_map(move |turn| {
            arrivals.iter().map(move |arrival| (arrival.at_ns - first) * scale + turn as f64 * n / rate)
        })
    }

    /// Arrivals in the order of their times, without end. One seed gives one sequence.
    pub fn arrivals(&self, seed: u64) -> Box<dyn Iterator<Item = Arrival> + '_> {
        let mut random = Random(seed);
        let gap = 1.0 / self.rate;
        // Regular packets begin at any phase of their gap, so that they do not stay in step with the worker's polls.
        let phase = random.unit() * gap;
        let sizes = &self.sizes;
        match &self.pattern {
            Pattern::Cbr => Box::new(
                (0u64..)
                    .map(move |i| Arrival { at_ns: phase + i as f64 * gap, bytes: sizes.draw(&mut random) }),
            ),
            Pattern::OnOff { n_packets, gap_ns } => {
                let (n, within) = (u64::from(*n_packets), *gap_ns);
                Box::new((0u64..).map(move |i| {
                    let (burst, number) = (i / n, i % n);
                    let at_ns = phase + burst as f64 * n as f64 * gap + number as f64 * within;
                    Arrival { at_ns, bytes: sizes.draw(&mut random) }
                }))
            }
            Pattern::Poisson => {
                let mut at_ns = 0.0;
                Box::new(std::iter::repeat_with(move || {
                    at_ns += random.exponential(gap);
                    Arrival { at_ns, bytes: sizes.draw(&mut random) }
                }))
            }
            Pattern::Trace(arrivals) => {
                let lengths = arrivals.iter().map(|arrival| arrival.bytes).cycle();
                let times = self.trace_times(arrivals);
                Box::new(times.zip(lengths).map(|(at_ns, bytes)| Arrival { at_ns, bytes }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sizes() -> Sizes {
        Sizes::new(vec![(64, 1.0)]).unwrap()
    }

    fn by_all_windows(times: &[f64], rate: f64) -> f64 {
        let n = times.len();
        let windows = (0..n).flat_map(|i| (i..n).map(move |j| (i, j)));
        windows.map(|(i, j)| (j - i + 1) as f64 - rate * (times[j] - times[i])).fold(0.0, f64::max)
    }

    proptest! {
        #[test]
        fn sigma_is_that_of_all_windows(gaps in prop::collection::vec(0.0..100.0f64, 0..60), rate in 0.0..1.0f64) {
            let times: Vec<f64> = gaps.iter().scan(0.0, |at, gap| { *at += gap; Some(*at) }).collect();
            prop_assert!((sigma(&times, rate) - by_all_windows(&times, rate)).abs() < 1e-6);
        }

        #[test]
        fn no_window_has_more_packets_than_the_envelope(n_packets in 1..50u32, part in 0.0..1.0f64, gaps in prop::collection::vec(0.0..100.0f64, 2..40)) {
            let rate = 0.02;
            let trace: Vec<Arrival> = gaps.iter().scan(0.0, |at, gap| { *at += gap + 0.1; Some(Arrival { at_ns: *at, bytes: 64 }) }).collect();
            for pattern in [Pattern::Cbr, Pattern::OnOff { n_packets, gap_ns: part / rate }, Pattern::Trace(trace.into())] {
                let traffic = Traffic::new(pattern, rate, sizes()).unwrap();
                let envelope = traffic.envelope().unwrap();
                let times: Vec<f64> = traffic.arrivals(3).take(300).map(|arrival| arrival.at_ns).collect();
                let found = by_all_windows(&times, rate);
                prop_assert!(found <= envelope.sigma + 1e-6, "{found} {envelope:?}");
            }
        }
    }

    #[test]
    fn sigma_of_known_patterns() {
        let of =
            |pattern| Traffic::new(pattern, 0.01, sizes()).unwrap().envelope().map(|envelope| envelope.sigma);
        assert_eq!(of(Pattern::Cbr), Some(1.0));
        // Ten packets at once; ten packets at five times the rate.
        assert_eq!(of(Pattern::OnOff { n_packets: 10, gap_ns: 0.0 }), Some(10.0));
        assert_eq!(of(Pattern::OnOff { n_packets: 10, gap_ns: 20.0 }), Some(10.0 - 9.0 / 5.0));
        assert_eq!(of(Pattern::Poisson), None);
        let arrival = |at_ns| Arrival { at_ns, bytes: 64 };
        let trace = Pattern::Trace([arrival(0.0), arrival(1.0), arrival(2.0), arrival(9.0)].into());
        // Three gaps of 100 ns are 9: one is 33.3, so the first three packets take two thirds of a gap.
        assert!((of(trace).unwrap() - (3.0 - 2.0 / 3.0)).abs() < 1e-9);
        assert_eq!(excess([(0.0, 5.0), (10.0, 2.0)], 0.1), 6.0);
        assert_eq!(excess([], 0.1), 0.0);
    }

    #[test]
    fn rates_are_those_asked_for() {
        let arrival = |at_ns, bytes| Arrival { at_ns, bytes };
        let trace = Pattern::Trace([arrival(5.0, 64), arrival(6.0, 128), arrival(12.0, 256)].into());
        for pattern in [Pattern::Cbr, Pattern::OnOff { n_packets: 7, gap_ns: 3.0 }, Pattern::Poisson, trace] {
            let traffic = Traffic::new(pattern.clone(), 0.05, sizes()).unwrap();
            let all: Vec<Arrival> = traffic.arrivals(1).take(21_001).collect();
            assert!(all.windows(2).all(|pair| pair[0].at_ns <= pair[1].at_ns));
            let rate = 21_000.0 / (all[21_000].at_ns - all[0].at_ns);
            assert!((rate / 0.05 - 1.0).abs() < 0.03, "{pattern:?}: {rate}");
        }
    }

    #[test]
    fn traffic_that_is_none_is_refused() {
        let of = |pattern, rate| Traffic::new(pattern, rate, sizes()).unwrap_err();
        assert_eq!(of(Pattern::Cbr, 0.0), TrafficError::NoRate);
        assert_eq!(of(Pattern::Cbr, f64::NAN), TrafficError::NoRate);
        assert_eq!(of(Pattern::OnOff { n_packets: 0, gap_ns: 1.0 }, 0.1), TrafficError::EmptyBurst);
        assert_eq!(of(Pattern::OnOff { n_packets: 2, gap_ns: 11.0 }, 0.1), TrafficError::SlowBurst);
        let trace = |times: &[f64]| {
            Pattern::Trace(times.iter().map(|at_ns| Arrival { at_ns: *at_ns, bytes: 1 }).collect())
        };
        assert_eq!(of(trace(&[1.0]), 0.1), TrafficError::ShortTrace);
        assert_eq!(of(trace(&[1.0, 1.0]), 0.1), TrafficError::NoTimes);
        assert_eq!(of(trace(&[1.0, 2.0, 1.5]), 0.1), TrafficError::Disordered);
        for list in [vec![], vec![(0, 1.0)], vec![(64, 0.0)], vec![(64, f64::NAN)]] {
            assert_eq!(Sizes::new(list), None);
        }
    }

    #[test]
    fn sizes_have_their_shares() {
        let sizes = Sizes::new(vec![(64, 7.0), (594, 4.0), (1518, 1.0)]).unwrap();
        let traffic = Traffic::new(Pattern::Cbr, 0.1, sizes).unwrap();
        let n = 40_000;
        let mean =
            traffic.arrivals(1).take(n).map(|arrival| f64::from(arrival.bytes)).sum::<f64>() / n as f64;
        assert!((mean / traffic.bytes_mean() - 1.0).abs() < 0.03);
        assert_eq!(traffic.bytes_most(), 1518);
    }
}
