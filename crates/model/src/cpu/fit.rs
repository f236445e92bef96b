//! Fitting: cycles of each component from measured programs.

use super::work::{Component, Counts};
use crate::random::Random;
use ndarray::{Array1, Array2};
use serde::{Deserialize, Serialize};

/// A measured program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    pub name: String,
    pub counts: Counts,
    /// Cycles per packet.
    pub cycles: f64,
}

/// Cycles of one component.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    pub component: Component,
    pub cycles: f64,
    /// Within these it lies in nineteen of twenty samples of the points.
    pub ci95: [f64; 2],
    /// Points that have some of it.
    pub n_points: usize,
    /// The interval is narrow; otherwise the cycles may as well be those of components that come with this one.
    pub is_told_apart: bool,
}

/// Samples of the points for the intervals.
const N_SAMPLES: usize = 200;
/// Rounds of reweighting; weights no longer change much then.
const N_ROUNDS: usize = 8;
/// Width of an interval that begins at zero, relative to the cycles of the points that have some of the component.
const WIDTH_MAX: f64 = 0.02;
/// Rounds for costs near a size, which are found twice.
const N_ROUNDS_NEAR: usize = 4;
/// Relative residuals above this weigh less (Huber).
const OUTLIER: f64 = 0.1;
/// Width of the window of sizes, over the logarithm of cycles: programs of half or of twice the cycles weigh 0.4.
const WINDOW: f64 = 0.5;
/// Weight of programs far outside, which have components that few programs within have.
const WEIGHT_FAR: f64 = 0.1;

/// Non-negative cycles of components whose sum over each point is near its cycles. Residuals count relative to the cycles of
/// their point, and large ones less than by their square (Huber 1964).
pub fn fit(points: &[Point]) -> Vec<Cost> {
    let used = used(points);
    let all: Vec<usize> = (0..points.len()).collect();
    let best = solve(points, &all, &used, N_ROUNDS, &|_| 1.0);
    let mut random = Random(1);
    let mut samples: Vec<Vec<f64>> = Vec::with_capacity(N_SAMPLES);
    for _ in 0..N_SAMPLES {
        let sample: Vec<usize> =
            all.iter().map(|_| (random.next() % all.len().max(1) as u64) as usize).collect();
        samples.push(solve(points, &sample, &used, N_ROUNDS, &|_| 1.0));
    }
    let cost = |(i, component): (usize, &Component)| {
        let mut values: Vec<f64> = samples.iter().map(|sample| sample[i]).collect();
        values.sort_by(f64::total_cmp);
        let at = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
        let ci95 = [at(0.025), at(0.975)];
        let has_some = |point: &&Point| point.counts[*component] > 0.0;
        let share = |point: &Point| (ci95[1] - ci95[0]) * point.counts[*component] / point.cycles.max(1.0);
        let n_points = points.iter().filter(has_some).count();
        let width = points.iter().filter(has_some).map(share).sum::<f64>() / n_points.max(1) as f64;
        Cost {
            component: *component,
            cycles: best[i],
            ci95,
            n_points,
            is_told_apart: ci95[0] > 0.0 || width < WIDTH_MAX,
        }
    };
    used.iter().enumerate().map(cost).collect()
}

/// Does the work of [`fit`] without intervals.
pub fn fit_once(points: &[Point]) -> Vec<Cost> {
    fitted(points, N_ROUNDS, &|_| 1.0)
}

/// Costs for work with these counts: programs of about as many cycles weigh more. A processor does part of a small program while it
/// waits for something else, so that one more operation costs less there than in a large one. Cleveland (1979) calls this local
/// regression.
pub fn fit_near(points: &[Point], costs: &[Cost], counts: &Counts) -> Vec<Cost> {
    let mut found = costs.to_vec();
    for _ in 0..if points.is_empty() { 0 } else { 2 } {
        let wanted = cycles(&found, counts).max(1.0);
        let weight = |point: &Point| {
            let distance = (point.cycles.max(1.0) / wanted).ln() / WINDOW;
            (-0.5 * distance * distance).exp() + WEIGHT_FAR
        };
        found = fitted(points, N_ROUNDS_NEAR, &weight);
    }
    found
}

fn fitted(points: &[Point], n_rounds: usize, weight: &dyn Fn(&Point) -> f64) -> Vec<Cost> {
    let used = used(points);
    let all: Vec<usize> = (0..points.len()).collect();
    let cost = |(component, cycles): (&Component, f64)| Cost {
        component: *component,
        cycles,
        ci95: [cycles; 2],
        n_points: points.len(),
        is_told_apart: true,
    };
    used.iter().zip(solve(points, &all, &used, n_rounds, weight)).map(cost).collect()
}

/// Components that some point has.
fn used(points: &[Point]) -> Vec<Component> {
    let is_used = |component: &Component| points.iter().any(|point| point.counts[*component] > 0.0);
    Component::ALL.iter().copied().filter(is_used).collect()
}

fn solve(
    points: &[Point],
    chosen: &[usize],
    used: &[Component],
    n_rounds: usize,
    weight: &dyn Fn(&Point) -> f64,
) -> Vec<f64> {
    let given: Vec<f64> = chosen.iter().map(|row| weight(&points[*row]).sqrt()).collect();
    let mut weights = vec![1.0; chosen.len()];
    let mut cycles = vec![0.0; used.len()];
    for _ in 0..n_rounds {
        let scale = |row: usize| given[row] * weights[row] / points[chosen[row]].cycles.max(1.0);
        let matrix = Array2::from_shape_fn((chosen.len(), used.len()), |(row, column)| {
            points[chosen[row]].counts[used[column]] * scale(row)
        });
        let wanted = Array1::from_shape_fn(chosen.len(), |row| points[chosen[row]].cycles * scale(row));
        cycles = nnls::nnls(matrix.view(), wanted.view()).0.to_vec();
        for (row, weight) in weights.iter_mut().enumerate() {
            let point = &points[chosen[row]];
            let sum: f64 = used.iter().zip(&cycles).map(|(component, c)| point.counts[*component] * c).sum();
            let residual = ((sum - point.cycles) / point.cycles.max(1.0)).abs();
            *weight = if residual > OUTLIER { (OUTLIER / residual).sqrt() } else { 1.0 };
        }
    }
    cycles
}

/// Cycles of some work.
pub fn cycles(costs: &[Cost], counts: &Counts) -> f64 {
    costs.iter().map(|cost| cost.cycles * counts[cost.component]).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(packets: f64, operations: f64, headers: f64, cycles: f64) -> Point {
        let counts =
            [(Component::Packet, packets), (Component::Operation, operations), (Component::Header, headers)];
        Point { name: String::new(), counts: counts.into_iter().collect(), cycles }
    }

    #[test]
    fn costs_that_made_the_points_are_found() {
        let points: Vec<Point> = (0..40_u32)
            .map(|i| {
                let (operations, headers) = (f64::from(i % 7), f64::from(i % 3));
                point(1.0, operations, headers, 20.0 + 1.5 * operations + 6.0 * headers)
            })
            .collect();
        let costs = fit(&points);
        let found: Vec<(Component, f64)> =
            costs.iter().map(|cost| (cost.component, (cost.cycles * 1e6).round() / 1e6)).collect();
        let expected = [(Component::Packet, 20.0), (Component::Header, 6.0), (Component::Operation, 1.5)];
        assert_eq!(found, expected);
        assert!(
            costs.iter().all(|cost| cost.ci95[0] <= cost.cycles + 1e-6 && cost.cycles - 1e-6 <= cost.ci95[1])
        );
    }

    #[test]
    fn components_that_always_come_in_pairs_are_not_told_apart() {
        let points: Vec<Point> = (0..40_u32)
            .map(|i| {
                let n = f64::from(i % 7);
                point(1.0, n, n, 20.0 + 8.0 * n + f64::from(i % 2))
            })
            .collect();
        let costs = fit(&points);
        let cycles: f64 = costs[1..].iter().map(|cost| cost.cycles).sum();
        assert!((cycles - 8.0).abs() < 0.5, "{costs:?}");
        // Which of the two gets the cycles is chance: one of them has none.
        assert!(costs[1..].iter().any(|cost| cost.cycles < 1e-6), "{costs:?}");
    }

    #[test]
    fn costs_near_a_size_are_those_of_programs_of_that_size() {
        // One more operation costs 1 cycle in small programs, and 4 in large ones.
        let points: Vec<Point> = (0..60_u32)
            .map(|i| {
                let n = f64::from(i * 4);
                point(
                    1.0,
                    n,
                    f64::from(i % 3),
                    20.0 + n.min(40.0) + 4.0 * (n - 40.0).max(0.0) + 6.0 * f64::from(i % 3),
                )
            })
            .collect();
        let costs = fit_once(&points);
        let error = |n: f64, cycles: f64| {
            let counts = point(1.0, n, 0.0, cycles).counts;
            let near = fit_near(&points, &costs, &counts);
            (super::cycles(&near, &counts) / cycles - 1.0, super::cycles(&costs, &counts) / cycles - 1.0)
        };
        let errors = [(10.0, 30.0), (40.0, 60.0), (80.0, 220.0), (200.0, 700.0)].map(|(n, c)| error(n, c));
        let worst = |of: fn(&(f64, f64)) -> f64| errors.iter().map(of).fold(0.0, f64::max);
        let (near, global) = (worst(|error| error.0.abs()), worst(|error| error.1.abs()));
        assert!(near < 0.5 * global, "{near:.2}, {global:.2}: {errors:.2?}");
        let counts = point(1.0, 1.0, 1.0, 1.0).counts;
        assert_eq!(fit_near(&[], &costs, &counts), costs);
    }

    #[test]
    fn one_wrong_point_in_forty_moves_costs_little() {
        let mut points: Vec<Point> = (0..40_u32)
            .map(|i| {
                point(
                    1.0,
                    f64::from(i % 7),
                    f64::from(i % 3),
                    20.0 + 1.5 * f64::from(i % 7) + 6.0 * f64::from(i % 3),
                )
            })
            .collect();
        points[5].cycles *= 3.0;
        let costs = fit(&points);
        assert!((costs[0].cycles - 20.0).abs() < 1.0, "{costs:?}");
    }
}
