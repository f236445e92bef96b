//! The published cycles of an exact table on one core, in their own form: logarithmic while the table lies in the cache, a curve
//! towards the time of memory when it does not ("Key Properties of Programmable Data Plane Targets").
//!
//! ```text
//! R(n) = 128 + n (k + a + 8)                      bytes of n entries
//! C(n) = p ln(q n) + r        if R(n) < R_cache
//! C(n) = s / (t n + u) + v    otherwise
//! ```
//!
//! The factor q is 1, for it only shifts r. t and u are those of R: t = k + a + 8, u = 128.

use serde::{Deserialize, Serialize};

/// Measured cycles of one exact table over its number of entries.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// Bytes of a key: k.
    pub key_bytes: u32,
    /// Bytes of action data: a.
    pub data_bytes: u32,
    /// Entries, and cycles per packet; ascending by entries.
    pub points: Vec<(f64, f64)>,
}

/// The parameters for one machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Formula {
    pub p: f64,
    pub r: f64,
    pub s: f64,
    pub t: f64,
    pub u: f64,
    pub v: f64,
    /// The largest number of entries that the first form is for.
    pub n_in_cache: f64,
    /// R of that number: the effective size of the cache.
    pub cache_bytes: f64,
    /// Root of the mean squared relative residual.
    pub rmse_relative: f64,
}

/// Sizes that each of the two forms needs: one more than it has parameters.
const N_LEAST: usize = 3;

impl Curve {
    /// R(n).
    pub fn bytes(&self, n: f64) -> f64 {
        128.0 + n * self.entry_bytes()
    }

    fn entry_bytes(&self) -> f64 {
        f64::from(self.key_bytes + self.data_bytes + 8)
    }

    /// Finds the parameters; the error is a sentence.
    pub fn fit(&self) -> Result<Formula, String> {
        if self.points.len() < 2 * N_LEAST {
            return Err(format!(
                "the formula has two forms of two parameters each: it needs {} sizes of a table, and the profile has {}",
                2 * N_LEAST,
                self.points.len()
            ));
        }
        let knees = N_LEAST..=self.points.len() - N_LEAST;
        let best =
            knees.map(|knee| self.fit_at(knee)).min_by(|a, b| a.rmse_relative.total_cmp(&b.rmse_relative));
        best.filter(|formula| formula.rmse_relative.is_finite())
            .ok_or_else(|| "the measured sizes do not tell the parameters apart".to_owned())
    }

    /// The first `knee` points lie in the cache.
    fn fit_at(&self, knee: usize) -> Formula {
        let (near, far) = self.points.split_at(knee);
        let (t, u) = (self.entry_bytes(), 128.0);
        let (p, r) = line(near.iter().map(|(n, cycles)| (n.ln(), *cycles)));
        let (s, v) = line(far.iter().map(|(n, cycles)| (1.0 / (t * n + u), *cycles)));
        let n_in_cache = near.last().map_or(0.0, |point| point.0);
        let mut formula =
            Formula { p, r, s, t, u, v, n_in_cache, cache_bytes: self.bytes(n_in_cache), rmse_relative: 0.0 };
        let squares = self.points.iter().map(|(n, cycles)| (formula.cycles(*n) / cycles - 1.0).powi(2));
        formula.rmse_relative = (squares.sum::<f64>() / self.points.len() as f64).sqrt();
        formula
    }
}

impl Formula {
    /// C(n).
    pub fn cycles(&self, n: f64) -> f64 {
        match n <= self.n_in_cache {
            true => self.p * n.ln() + self.r,
            false => self.s / (self.t * n + self.u) + self.v,
        }
    }
}

/// Slope and intercept of the line with the least squared relative residuals.
fn line(points: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    let (mut w, mut wx, mut wy, mut wxx, mut wxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (x, y) in points {
        let weight = 1.0 / (y * y).max(1e-9);
        w += weight;
        wx += weight * x;
        wy += weight * y;
        wxx += weight * x * x;
        wxy += weight * x * y;
    }
    let slope = (w * wxy - wx * wy) / (w * wxx - wx * wx);
    (slope, (wy - slope * wx) / w)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_example_fits_its_cache() {
        // k = 4 x 4 bytes, a = 64 bytes, 20 MB of cache.
        let curve = Curve { key_bytes: 16, data_bytes: 64, points: Vec::new() };
        assert!(curve.bytes(227_271.0) <= 20e6 && curve.bytes(227_272.0) > 20e6);
    }

    #[test]
    fn parameters_that_made_a_curve_are_found() {
        let made = Formula {
            p: 3.0,
            r: 40.0,
            s: -4e7,
            t: 88.0,
            u: 128.0,
            v: 140.0,
            n_in_cache: 8192.0,
            cache_bytes: 0.0,
            rmse_relative: 0.0,
        };
        let points = (6..21).map(|i| f64::from(1 << i)).map(|n| (n, made.cycles(n))).collect();
        let found = Curve { key_bytes: 16, data_bytes: 64, points }.fit().unwrap();
        assert_eq!(found.n_in_cache, 8192.0);
        let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-6;
        assert!(
            close(found.p, 3.0) && close(found.r, 40.0) && close(found.s, -4e7) && close(found.v, 140.0),
            "{found:?}"
        );
    }

    #[test]
    fn few_sizes_are_refused() {
        let curve = Curve { key_bytes: 16, data_bytes: 64, points: vec![(1.0, 2.0); 5] };
        assert!(curve.fit().unwrap_err().contains("it needs 6 sizes"));
    }
}
