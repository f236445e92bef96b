//! Distribution of latencies.

use hdrhistogram::Histogram;
use serde::Serialize;

/// Longer latencies count as this: about 18 minutes, the range of the time in a signature.
const LATENCY_NS_MAX: u64 = 1 << 40;

/// Percentiles are within 0.1 %.
const N_DIGITS: u8 = 3;

/// Collects latencies.
#[derive(Clone, Debug)]
pub(crate) struct Latencies {
    histogram: Option<Histogram<u64>>,
}

impl Latencies {
    pub(crate) fn new() -> Latencies {
        Latencies { histogram: Histogram::new_with_max(LATENCY_NS_MAX, N_DIGITS).ok() }
    }

    pub(crate) fn record(&mut self, latency_ns: u64) {
        if let Some(histogram) = &mut self.histogram {
            histogram.saturating_record(latency_ns);
        }
    }

    pub(crate) fn add(&mut self, other: &Latencies) {
        if let (Some(histogram), Some(other)) = (&mut self.histogram, &other.histogram) {
            // They have one range.
            let _ = histogram.add(other);
        }
    }

    pub(crate) fn summary(&self) -> Option<Latency> {
        let histogram = self.histogram.as_ref().filter(|histogram| !histogram.is_empty())?;
        let quantile = |q| histogram.value_at_quantile(q).min(histogram.max());
        Some(Latency {
            n: histogram.len(),
            min_ns: histogram.min(),
            mean_ns: histogram.mean(),
            p50_ns: quantile(0.5),
            p90_ns: quantile(0.9),
            p99_ns: quantile(0.99),
            p999_ns: quantile(0.999),
            p9999_ns: quantile(0.9999),
            max_ns: histogram.max(),
        })
    }
}

/// Latencies in nanoseconds: from when a burst was handed to the sending port until the receiving port delivered it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Latency {
    /// Number of packets, each counted once.
    pub n: u64,
    pub min_ns: u64,
    pub mean_ns: f64,
    pub p50_ns: u64,
    pub p90_ns: u64,
    pub p99_ns: u64,
    pub p999_ns: u64,
    pub p9999_ns: u64,
    pub max_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_a_ramp() {
        let mut latencies = Latencies::new();
        assert_eq!(latencies.summary(), None);
        (1..=10_000).for_each(|ns| latencies.record(ns));
        let mut others = latencies.clone();
        others.add(&latencies);
        let latency = others.summary().unwrap();
        assert_eq!((latency.n, latency.min_ns), (20_000, 1));
        for (found, expected) in [
            (latency.p50_ns, 5000),
            (latency.p99_ns, 9900),
            (latency.p9999_ns, 9999),
            (latency.max_ns, 10_000),
        ] {
            assert!(found.abs_diff(expected) <= expected / 1000 + 1, "{found} for {expected}");
        }
        let mut late = Latencies::new();
        late.record(u64::MAX);
        assert!(late.summary().unwrap().max_ns >= LATENCY_NS_MAX);
    }
}
