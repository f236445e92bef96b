//! The largest table that fits, as far as a search finds it.
//!
//! A larger table may have another layout, which fits where that of a smaller one does not: sizes that fit are no interval. The
//! search therefore tries larger sizes beyond the first that does not fit.

use super::bound::lower_bound;
use super::placement::Problem;
use super::solve::{Verdict, solve};

/// The largest size, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Largest {
    /// Entries for which there is a placement; 0 if none was found even for one.
    pub fits: u64,
    /// The largest size found that the lower bound of stages allows; equal to `fits` if the search leaves nothing open.
    pub at_most: u64,
}

/// Larger tables are not tried.
pub const N_ENTRIES_MAX: u64 = 1 << 40;
/// Solutions of the integer program between the two.
const N_EXACT: u32 = 8;
/// Sizes beyond one that does not fit are tried up to this part of the largest that fits, and so many of them.
const BEYOND: u64 = 10;
const N_BEYOND: u64 = 64;
/// Times that a larger size is found in this way.
const N_CLIMBS: u32 = 16;

/// Searches up to `n_max` entries of a table; `problem` makes the problem for a size, or gives `None` if no chip memory can hold it.
/// Each integer program may take so many seconds.
pub fn largest<E>(
    table: &str,
    n_max: u64,
    seconds: f64,
    problem: &mut dyn FnMut(u64) -> Result<Option<Problem>, E>,
) -> Result<Largest, E> {
    let n_max = n_max.clamp(1, N_ENTRIES_MAX);
    let fits = |problem: &Problem, seconds| matches!(solve(problem, seconds), Verdict::Fits(_));
    let greedy = highest(table, 0, n_max, problem, &|p| fits(p, 0.0))?;
    let can = |problem: &Problem| lower_bound(problem).is_some_and(|bound| bound <= problem.n_stages);
    let bound = highest(table, greedy, n_max, problem, &can)?;
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

/// The highest size up to `n_max` that is found to meet a condition, which holds for `low`.
fn highest<E>(
    table: &str,
    low: u64,
    n_max: u64,
    problem: &mut dyn FnMut(u64) -> Result<Option<Problem>, E>,
    meets: &dyn Fn(&Problem) -> bool,
) -> Result<u64, E> {
    let mut low = last(low, n_max, &mut |n| Ok(problem(n)?.is_some_and(|p| meets(&p))))?;
    for _ in 0..N_CLIMBS {
        let Some(found) = beyond(table, low, n_max, Pick::Last, problem, meets)? else { break };
        low = last(found, n_max, &mut |n| Ok(problem(n)?.is_some_and(|p| meets(&p))))?;
    }
    Ok(low)
}

/// A larger size of a table that fits, where `n_entries` do not; the program then fits with the layout of the larger size. `None` if
/// none was found.
pub fn roomier<E>(
    table: &str,
    n_entries: u64,
    problem: &mut dyn FnMut(u64) -> Result<Option<Problem>, E>,
) -> Result<Option<u64>, E> {
    beyond(table, n_entries, N_ENTRIES_MAX, Pick::First, problem, &|problem| {
        matches!(solve(problem, 0.0), Verdict::Fits(_))
    })
}

/// The size that is wanted of several that meet a condition.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pick {
    First,
    Last,
}

/// A size above `low` that meets a condition. The sizes tried fill the blocks of their layout.
fn beyond<E>(
    table: &str,
    low: u64,
    n_max: u64,
    pick: Pick,
    problem: &mut dyn FnMut(u64) -> Result<Option<Problem>, E>,
    meets: &dyn Fn(&Problem) -> bool,
) -> Result<Option<u64>, E> {
    let end = low.saturating_add(low / BEYOND).min(n_max);
    let step_min = ((end - low.min(end)) / N_BEYOND).max(1);
    let mut n = low;
    let mut found = None;
    while n < end {
        let next = n.saturating_add(step_min).min(end);
        let Some(tried) = problem(next)? else { break };
        let packed = tried.nodes.iter().find(|node| node.name == table).and_then(|node| node.packed.as_ref());
        n = packed.map_or(next, |packed| packed.entries_in(packed.n_units)).clamp(next, end);
        let is_met = if n == next { meets(&tried) } else { problem(n)?.is_some_and(|p| meets(&p)) };
        if is_met {
            found = Some(n);
            if pick == Pick::First {
                break;
            }
        }
    }
    Ok(found)
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
    use super::super::resource::N_RESOURCES;
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
        let found = largest("t", N_ENTRIES_MAX, 0.0, &mut problem).unwrap();
        assert_eq!(found, Largest { fits: 12 * 24 * 512, at_most: 12 * 24 * 512 });
        assert_eq!(largest("t", 1_000, 0.0, &mut problem).unwrap().fits, 1_000);
    }

    #[test]
    fn sizes_beyond_one_that_does_not_fit_are_found() {
        let mut problem = |n: u64| {
            let mut node = Node::new("t");
            node.part[0] = if n <= 100 || (105..=108).contains(&n) { 1 } else { 11 };
            let capacity = [10; N_RESOURCES];
            Ok::<_, ()>(Some(Problem { nodes: vec![node], edges: Vec::new(), capacity, n_stages: 1 }))
        };
        assert_eq!(largest("t", N_ENTRIES_MAX, 0.0, &mut problem), Ok(Largest { fits: 108, at_most: 108 }));
        assert_eq!(roomier("t", 101, &mut problem), Ok(Some(105)));
        assert_eq!(roomier("t", 109, &mut problem), Ok(None));
    }

    #[test]
    fn the_last_number_is_found() {
        for wanted in [0u64, 1, 2, 3, 100, 1 << 39, 1 << 40] {
            let found = last(0, N_ENTRIES_MAX, &mut |n| Ok::<_, ()>(n <= wanted));
            assert_eq!(found, Ok(wanted));
        }
    }
}
