//! The largest table that fits.

use super::bound::lower_bound;
use super::placement::Problem;
use super::solve::{Verdict, solve};

/// The largest size, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Largest {
    /// Entries for which there is a placement; 0 if there is none even for one.
    pub fits: u64,
    /// No more entries than this fit; equal to `fits` if that is certain.
    pub at_most: u64,
}

/// Larger tables are not tried.
pub const N_ENTRIES_MAX: u64 = 1 << 40;
/// Solutions of the integer program between the two.
const N_EXACT: u32 = 8;

/// Searches up to `n_max` entries; `problem` makes the problem for a size, or gives `None` if no chip memory can hold it. Each
/// integer program may take so many seconds.
pub fn largest<E>(
    n_max: u64,
    seconds: f64,
    problem: &mut dyn FnMut(u64) -> Result<Option<Problem>, E>,
) -> Result<Largest, E> {
    let n_max = n_max.clamp(1, N_ENTRIES_MAX);
    let fits = |problem: &Problem, seconds| matches!(solve(problem, seconds), Verdict::Fits(_));
    let greedy = last(0, n_max, &mut |n| Ok(problem(n)?.is_some_and(|p| fits(&p, 0.0))))?;
    let can = |problem: &Problem| lower_bound(problem).is_some_and(|bound| bound <= problem.n_stages);
    let bound = last(greedy, n_max, &mut |n| Ok(problem(n)?.is_some_and(|p| can(&p))))?;
    let (mut low, mut high) = (greedy, bound);
    for _ in 0..N_EXACT {
        if low == high || seconds <= 0.0 {
            break;
        }
        let middle = low + (high - low).div_ceil(2);
        let Some(found) = problem(middle)? else { break };
        match solve(&found, seconds) {
            Verdict::Fits(_) => low = middle,
            Verdict::DoesNotFit(refusal) if refusal.n_stages_min.is_none_or(|n| n > found.n_stages) => {
                high = middle - 1;
            }
            Verdict::DoesNotFit(_) => break,
        }
    }
    Ok(Largest { fits: low, at_most: high })
}

/// The last number up to `high` for which a condition holds that holds for `low` and for no number after one for which it does not.
fn last<E>(low: u64, high: u64, holds: &mut dyn FnMut(u64) -> Result<bool, E>) -> Result<u64, E> {
    let (mut low, mut step) = (low, 1u64);
    while low < high {
        let next = low.saturating_add(step).min(high);
        if !holds(next)? {
            let mut beyond = next;
            while beyond - low > 1 {
                let middle = low + (beyond - low) / 2;
                if holds(middle)? {
                    low = middle;
                } else {
                    beyond = middle;
                }
            }
            return Ok(low);
        }
        low = next;
        step = step.saturating_mul(2);
    }
    Ok(low)
}

#[cfg(test)]
mod tests {
    use super::super::chip::Chip;
    use super::super::demand::{KeyField, TableDemand};
    use super::super::packing::{PackOptions, pack};
    use super::super::placement::Node;
    use super::*;

    #[test]
    fn a_table_alone_fills_the_chip() {
        let chip = Chip::built_in("generic-12").unwrap();
        let mut problem = |n_entries| {
            let table = TableDemand::new("t", vec![KeyField::ternary(32)], n_entries);
            let mut node = Node::new("t");
            node.packed = pack(&chip, &table, PackOptions::default()).ok();
            Ok::<_, ()>(Some(Problem {
                nodes: vec![node],
                edges: Vec::new(),
                capacity: chip.capacity(),
                n_stages: chip.stages,
            }))
        };
        let found = largest(N_ENTRIES_MAX, 0.0, &mut problem).unwrap();
        assert_eq!(found, Largest { fits: 12 * 24 * 512, at_most: 12 * 24 * 512 });
        assert_eq!(largest(1_000, 0.0, &mut problem).unwrap().fits, 1_000);
    }

    #[test]
    fn the_last_number_is_found() {
        for wanted in [0u64, 1, 2, 3, 100, 1 << 39, 1 << 40] {
            let found = last(0, N_ENTRIES_MAX, &mut |n| Ok::<_, ()>(n <= wanted));
            assert_eq!(found, Ok(wanted));
        }
    }
}
