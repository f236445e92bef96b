//! Choosing the flow of the next packet.

use serde::Serialize;

/// Order of flows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FlowOrder {
    /// One after the other.
    RoundRobin,
    /// Random; all are equally likely.
    Uniform,
    /// Random; flow `k`, counted from 1, is as likely as `1 / k^exponent`.
    Zipf { exponent: f64 },
}

/// Random numbers (splitmix64), good enough for traffic and the same everywhere.
#[derive(Clone, Debug)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Column of an alias table: below the threshold it is itself, else the alias.
#[derive(Clone, Copy, Debug)]
struct Column {
    threshold: u32,
    alias: u32,
}

/// Chooses flows; a choice takes constant time.
#[derive(Clone, Debug)]
pub(crate) struct Picker {
    n_flows: u32,
    last: u32,
    random: Random,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    RoundRobin,
    Uniform,
    Alias(Vec<Column>),
}

impl Picker {
    /// `n_flows` is at least 1.
    pub(crate) fn new(order: FlowOrder, n_flows: u32, seed: u64) -> Picker {
        let kind = match order {
            FlowOrder::RoundRobin => Kind::RoundRobin,
            FlowOrder::Uniform => Kind::Uniform,
            FlowOrder::Zipf { exponent } => {
                Kind::Alias(alias_table((1..=n_flows).map(|k| f64::from(k).powf(-exponent)).collect()))
            }
        };
        Picker { n_flows, last: n_flows - 1, random: Random(seed), kind }
    }

    #[inline]
    pub(crate) fn next(&mut self) -> u32 {
        match &self.kind {
            Kind::RoundRobin => {
                self.last = if self.last + 1 >= self.n_flows { 0 } else { self.last + 1 };
                self.last
            }
            Kind::Uniform => scaled(self.random.next() as u32, self.n_flows),
            Kind::Alias(columns) => {
                let bits = self.random.next();
                let i = scaled(bits as u32, self.n_flows);
                let Column { threshold, alias } = columns[i as usize];
                if (bits >> 32) as u32 <= threshold { i } else { alias }
            }
        }
    }
}

/// Maps 32 random bits to a number below `n`.
fn scaled(bits: u32, n: u32) -> u32 {
    ((u64::from(bits) * u64::from(n)) >> 32) as u32
}

/// Vose's alias method: columns of equal width, each of one or two values.
fn alias_table(weights: Vec<f64>) -> Vec<Column> {
    let n = weights.len();
    let sum: f64 = weights.iter().sum();
    let mut shares: Vec<f64> = weights.into_iter().map(|weight| weight * n as f64 / sum).collect();
    let mut columns: Vec<Column> = (0..n).map(|i| Column { threshold: u32::MAX, alias: i as u32 }).collect();
    let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..n).partition(|i| shares[*i] < 1.0);
    while let (Some(low), Some(high)) = (small.pop(), large.pop()) {
        columns[low] = Column { threshold: (shares[low] * f64::from(u32::MAX)) as u32, alias: high as u32 };
        shares[high] -= 1.0 - shares[low];
        if shares[high] < 1.0 { small.push(high) } else { large.push(high) }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(order: FlowOrder, n_flows: u32, n: usize) -> Vec<usize> {
        let mut picker = Picker::new(order, n_flows, 1);
        let mut counts = vec![0; n_flows as usize];
        (0..n).for_each(|_| counts[picker.next() as usize] += 1);
        counts
    }

    #[test]
    fn round_robin_begins_with_the_first() {
        let mut picker = Picker::new(FlowOrder::RoundRobin, 3, 9);
        let flows: Vec<u32> = (0..5).map(|_| picker.next()).collect();
        assert_eq!(flows, [0, 1, 2, 0, 1]);
        assert_eq!(counts(FlowOrder::RoundRobin, 1, 4), [4]);
    }

    /// Within five standard deviations of what is expected.
    fn is_close(found: usize, probability: f64, n: usize) -> bool {
        let expected = probability * n as f64;
        (found as f64 - expected).abs() <= 5.0 * (expected * (1.0 - probability)).sqrt()
    }

    #[test]
    fn random_flows_are_as_likely_as_they_should_be() {
        const N: usize = 200_000;
        let uniform = counts(FlowOrder::Uniform, 50, N);
        assert!(uniform.iter().all(|found| is_close(*found, 0.02, N)), "{uniform:?}");
        for exponent in [0.0, 0.9, 1.0, 2.0] {
            let zipf = counts(FlowOrder::Zipf { exponent }, 100, N);
            let sum: f64 = (1..=100).map(|k| f64::from(k).powf(-exponent)).sum();
            for (i, found) in zipf.into_iter().enumerate() {
                let probability = ((i + 1) as f64).powf(-exponent) / sum;
                assert!(is_close(found, probability, N), "flow {i}: {found} with exponent {exponent}");
            }
        }
    }
}
