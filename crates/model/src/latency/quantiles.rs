//! A measured distribution, kept as quantiles.

use crate::random::Random;

/// Values with the shares of samples that are at most as large: both ascending, shares from 0 to 1, linear between two of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quantiles(Vec<(f64, f64)>);

impl Quantiles {
    /// `None` if there are no points, or values or shares descend.
    pub fn new(points: Vec<(f64, f64)>) -> Option<Quantiles> {
        let is_ascending = points.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1);
        let is_finite = points.iter().all(|(share, value)| (0.0..=1.0).contains(share) && value.is_finite());
        (!points.is_empty() && is_ascending && is_finite).then_some(Quantiles(points))
    }

    /// One value for all.
    pub fn constant(value: f64) -> Quantiles {
        Quantiles(vec![(1.0, value)])
    }

    pub fn at(&self, share: f64) -> f64 {
        let above = self.0.partition_point(|(other, _)| *other < share);
        match (above.checked_sub(1).and_then(|i| self.0.get(i)), self.0.get(above)) {
            (Some((s0, v0)), Some((s1, v1))) if s1 > s0 => v0 + (v1 - v0) * (share - s0) / (s1 - s0),
            (_, Some((_, value))) | (Some((_, value)), None) => *value,
            (None, None) => 0.0,
        }
    }

    pub fn mean(&self) -> f64 {
        let first = self.0.first().map_or(0.0, |(share, value)| share * value);
        let between = |pair: &[(f64, f64)]| (pair[1].0 - pair[0].0) * f64::midpoint(pair[0].1, pair[1].1);
        let last = self.0.last().map_or(0.0, |(share, value)| (1.0 - share) * value);
        first + self.0.windows(2).map(between).sum::<f64>() + last
    }

    pub(super) fn draw(&self, random: &mut Random) -> f64 {
        match self.0.as_slice() {
            [(_, only)] => *only,
            _ => self.at(random.unit()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_between_points_are_interpolated() {
        let quantiles = Quantiles::new(vec![(0.0, 10.0), (0.5, 20.0), (1.0, 100.0)]).unwrap();
        assert_eq!(
            [0.0, 0.25, 0.5, 0.75, 1.0].map(|share| quantiles.at(share)),
            [10.0, 15.0, 20.0, 60.0, 100.0]
        );
        assert_eq!(quantiles.mean(), 7.5 + 30.0);
        let mut random = Random(1);
        let n = 20_000;
        let mean = (0..n).map(|_| quantiles.draw(&mut random)).sum::<f64>() / f64::from(n);
        assert!((mean - 37.5).abs() < 0.75, "{mean}");
        assert_eq!(Quantiles::constant(7.0).mean(), 7.0);
        assert_eq!(Quantiles::new(vec![(0.0, 2.0), (1.0, 1.0)]), None);
        assert_eq!(Quantiles::new(Vec::new()), None);
    }
}
