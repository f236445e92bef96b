//! Several programs measured by turns, so that all of them see the same changes of the machine.

use super::progress;
use super::subject::{Ready, Subject};
use crate::scenes::Random;
use console::CcArgs;
use console::output::Exit;
use std::time::Instant;

/// Stretches of passes whose medians are compared.
const N_STRETCHES: usize = 10;

/// Cycles of programs.
pub(super) struct Turns {
    /// Cycles per packet of each program: the least of the medians of some stretches of time.
    pub(super) cycles: Vec<f64>,
    /// The largest relative distance between the two least medians of a program.
    pub(super) drift: f64,
}

/// Measures all programs once in each pass, in random order.
pub(super) fn measure(subjects: &[Subject], n_passes: usize, cc: &CcArgs) -> Result<Turns, Exit> {
    let mut all: Vec<Ready> = Vec::new();
    for (i, subject) in subjects.iter().enumerate() {
        progress(&format!("compiling {}/{}: {}", i + 1, subjects.len(), subject.title));
        all.push(subject.ready(cc)?);
    }
    let mut cycles: Vec<Vec<f64>> = vec![Vec::new(); all.len()];
    let mut order: Vec<usize> = (0..all.len()).collect();
    let mut random = Random::new(1);
    let start = Instant::now();
    for pass in 0..n_passes {
        let left = start.elapsed().as_secs_f64() / pass.max(1) as f64 * (n_passes - pass) as f64;
        progress(&format!(
            "measuring {} programs, pass {}/{n_passes} ({left:.0} s left)",
            all.len(),
            pass + 1
        ));
        for i in (1..order.len()).rev() {
            order.swap(i, random.below(i as u32 + 1) as usize);
        }
        for i in &order {
            // Once for the caches and the branch predictors.
            all[*i].round();
            cycles[*i].push(all[*i].round());
        }
    }
    progress("");
    let stretches: Vec<Vec<f64>> = cycles.iter().map(|values| medians(values)).collect();
    let drift = |least: &Vec<f64>| least.get(1).map_or(0.0, |second| second / least[0] - 1.0);
    Ok(Turns {
        cycles: stretches.iter().map(|least| least[0]).collect(),
        drift: stretches.iter().map(drift).fold(0.0, f64::max),
    })
}

/// Medians of stretches, ascending.
fn medians(values: &[f64]) -> Vec<f64> {
    let n = values.len().div_ceil(N_STRETCHES).max(1);
    let median = |stretch: &[f64]| {
        let mut sorted = stretch.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    };
    let mut medians: Vec<f64> = values.chunks(n).map(median).collect();
    medians.sort_by(f64::total_cmp);
    medians
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_stretches_do_not_count() {
        let mut values = vec![10.0; 5];
        values.extend([14.0; 45]);
        values[2] = 99.0;
        assert_eq!(medians(&values)[..2], [10.0, 14.0]);
    }
}
