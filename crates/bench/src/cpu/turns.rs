//! Several programs measured by turns, so that all of them see the same changes of the machine.

use super::progress;
use super::subject::{Ready, Subject};
use crate::scenes::Random;
use console::CcArgs;
use console::output::{self, Exit};
use serde_json::json;
use std::path::Path;
use std::time::Instant;
use sweep::{Header, Results, Shard};

/// Stretches of passes whose medians are compared.
const N_STRETCHES: usize = 10;

/// Cycles of programs.
pub(super) struct Turns {
    /// Cycles per packet of each program: the least of the medians of some stretches of time.
    pub(super) cycles: Vec<f64>,
    /// The largest relative distance between the two least medians of a program.
    pub(super) drift: f64,
}

/// Measures all programs once in each pass, in random order. Passes are kept in the file `state`, and those that are in it
/// are not measured again.
pub(super) fn measure(
    subjects: &[Subject],
    n_passes: usize,
    state: Option<&Path>,
    machine: &str,
    cc: &CcArgs,
) -> Result<Turns, Exit> {
    let titles: Vec<&str> = subjects.iter().map(|subject| subject.title.as_str()).collect();
    let passes = (1..=n_passes).map(|pass| format!("pass {pass}")).collect();
    let arguments = json!({ "machine": machine, "programs": titles });
    let header = Header::new("model calibrate", 1, 1, arguments, passes).map_err(fault)?;
    let mut results = Results::open(state, header, Shard::ALL).map_err(fault)?;
    let missing = results.missing();
    if !missing.is_empty() {
        make(subjects, &missing, &mut results, cc)?;
    }
    results.finish().map_err(fault)?;
    let of_pass = |pass, i: usize| results.points().result(pass)?.get(i)?.as_f64();
    let of_subject = |i| (0..n_passes).map(|pass| of_pass(pass, i)).collect::<Option<Vec<f64>>>();
    let Some(cycles) = (0..subjects.len()).map(of_subject).collect::<Option<Vec<_>>>() else {
        output::error_line(
            "a pass in the file of `--state` does not have the cycles of all programs; remove the file",
        );
        return Err(Exit::Usage);
    };
    let stretches: Vec<Vec<f64>> = cycles.iter().map(|values| medians(values)).collect();
    let drift = |least: &Vec<f64>| least.get(1).map_or(0.0, |second| second / least[0] - 1.0);
    Ok(Turns {
        cycles: stretches.iter().map(|least| least[0]).collect(),
        drift: stretches.iter().map(drift).fold(0.0, f64::max),
    })
}

fn fault(error: sweep::Error) -> Exit {
    output::error_line(&error.to_string());
    if error.is_environment() { Exit::Environment } else { Exit::Usage }
}

/// Compiles all programs, and measures the passes at `missing`.
fn make(subjects: &[Subject], missing: &[usize], results: &mut Results, cc: &CcArgs) -> Result<(), Exit> {
    let mut all: Vec<Ready> = Vec::new();
    for (i, subject) in subjects.iter().enumerate() {
        progress(&format!("compiling {}/{}: {}", i + 1, subjects.len(), subject.title));
        all.push(subject.ready(cc)?);
    }
    let mut order: Vec<usize> = (0..all.len()).collect();
    let mut random = Random::new(1);
    let (start, n) = (Instant::now(), missing.len());
    for (done, pass) in missing.iter().enumerate() {
        let left = start.elapsed().as_secs_f64() / done.max(1) as f64 * (n - done) as f64;
        let estimate = if done > 0 { format!(" ({left:.0} s left)") } else { String::new() };
        progress(&format!("measuring {} programs, pass {}/{n}{estimate}", all.len(), done + 1));
        for i in (1..order.len()).rev() {
            order.swap(i, random.below(i as u32 + 1) as usize);
        }
        let mut cycles = vec![0.0; all.len()];
        for i in &order {
            // Once for the caches and the branch predictors.
            all[*i].round();
            cycles[*i] = all[*i].round();
        }
        results.note(*pass, json!(cycles)).map_err(fault)?;
    }
    progress("");
    Ok(())
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
