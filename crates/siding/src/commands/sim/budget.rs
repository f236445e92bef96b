//! The inverse question: how long may an action be, if no more than a given share of the packets is lost?

use super::grid::{Frame, Point, grid, mixes, usage};
use super::output::{heading, number, queue_columns, run_json};
use super::sweep::Sweep;
use super::traffic::{Problem, Survey, Traffic};
use crate::cli::{PolicyArg, SimArgs};
use hazard::traffic::Key;
use hazard::{Action, Queues};
use serde_json::{Value, json};
use std::fmt::Write;

/// The longest action that is tried, unless `--cycles` says which.
const CYCLES_MAX: u32 = 64;

/// The longest action within each loss.
struct Row {
    /// One of the row's points; they differ in the length of the action.
    point: Point,
    longest: Vec<Longest>,
}

#[derive(Clone, Copy)]
struct Longest {
    /// 0 if even the shortest loses more.
    cycles: u32,
    /// True if all that were tried are within the loss.
    is_last: bool,
}

pub fn budget(
    args: &SimArgs,
    traffic: &Traffic,
    survey: &Survey,
    frame: &Frame,
    sweep: &Sweep,
) -> Result<Option<(Value, String)>, Problem> {
    if args.switch.policy.contains(&PolicyArg::None) {
        return Err(usage(
            "--budget: without a lock no packet is lost; expected --policy global-lock or per-flow-lock",
        ));
    }
    let mut mixes = mixes(args, &(1..=CYCLES_MAX).collect::<Vec<_>>())?;
    mixes.sort_by_key(|mix| longest_of(mix));
    mixes.dedup();
    let cycles: Vec<u32> = mixes.iter().map(|mix| longest_of(mix)).collect();
    let curves = curves(args, &mixes)?;
    let points: Vec<Point> = curves.concat();
    let Some(results) = sweep.run(&points)? else { return Ok(None) };
    let rows: Vec<Row> = curves
        .iter()
        .zip(results.chunks(cycles.len()))
        .map(|(points, results)| {
            let losses: Vec<f64> = results.iter().map(|result| number(result, "drop_fraction")).collect();
            let longest = args.budget.iter().map(|budget| longest(&cycles, &losses, *budget)).collect();
            Row { point: points[0].clone(), longest }
        })
        .collect();
    let mut value = run_json(traffic, survey, frame);
    value["budgets"] = rows.iter().map(|row| row_json(row, &args.budget)).collect();
    Ok(Some((value, heading(traffic, survey, frame) + &table(&rows, &args.budget))))
}

/// The last length up to which no length loses more than `budget`.
fn longest(cycles: &[u32], losses: &[f64], budget: f64) -> Longest {
    let n = losses.iter().take_while(|loss| **loss <= budget).count();
    Longest { cycles: if n == 0 { 0 } else { cycles[n - 1] }, is_last: n == cycles.len() }
}

fn longest_of(mix: &[(Action, f64)]) -> u32 {
    mix.iter().map(|(action, _)| action.cycles).max().unwrap_or(0)
}

/// For each lock and traffic, a point for each length of the action.
fn curves(args: &SimArgs, mixes: &[Vec<(Action, f64)>]) -> Result<Vec<Vec<Point>>, Problem> {
    let mut curves: Vec<Point> = Vec::new();
    for mut point in grid(args, &mixes[..1], &Key::five_tuple())? {
        match point.policy {
            PolicyArg::None => continue,
            PolicyArg::GlobalLock => {
                // With finite room, else nothing is dropped.
                point.policy = PolicyArg::PerFlowLock;
                (point.key, point.lookup) = (Key::global(), Key::global());
                point.queues = Queues::global(point.queues.queue_packets_max);
            }
            PolicyArg::PerFlowLock => {}
        }
        curves.push(point);
    }
    let of_cycles =
        |point: &Point| mixes.iter().map(|mix| Point { mix: mix.clone(), ..point.clone() }).collect();
    Ok(curves.iter().map(of_cycles).collect())
}

fn row_json(row: &Row, budgets: &[f64]) -> Value {
    let longest = budgets.iter().zip(&row.longest);
    let longest = longest.map(
        |(loss, longest)| json!({ "loss": loss, "cycles": longest.cycles, "all_within": longest.is_last }),
    );
    let point = &row.point;
    json!({
        "alpha": point.alpha,
        "utilisation": point.utilisation,
        "key": point.key.to_string(),
        "lookup_key": point.lookup.to_string(),
        "queues": point.queues.n_queues,
        "locks": point.queues.n_locks,
        "queue_capacity": point.queues.queue_packets_max,
        "longest": longest.collect::<Vec<_>>(),
    })
}

fn table(rows: &[Row], budgets: &[f64]) -> String {
    let mut text = "\nlongest action, in cycles, that loses no more of the packets than\n".to_string();
    text.push_str(" alpha  load  key            queues  locks  room");
    for budget in budgets {
        // Rounded, as 0.001 in percent is not exact.
        let percent = (budget * 1e8).round() / 1e6;
        let _ = write!(text, "  {:>8}", format!("{percent} %"));
    }
    text.push('\n');
    for row in rows {
        let _ = write!(
            text,
            " {:5}  {:4}  {}",
            row.point.alpha,
            row.point.utilisation,
            queue_columns(&row.point)
        );
        for longest in &row.longest {
            let shown = match longest {
                Longest { cycles: 0, .. } => "none".to_string(),
                Longest { cycles, is_last: true } => format!("{cycles} or more"),
                Longest { cycles, is_last: false } => cycles.to_string(),
            };
            let _ = write!(text, "  {shown:>8}");
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_is_before_the_first_that_loses_more() {
        let of = |budget| {
            let longest = longest(&[2, 4, 6], &[0.0, 0.01, 0.2], budget);
            (longest.cycles, longest.is_last)
        };
        assert_eq!([of(0.0), of(0.05), of(0.5)], [(2, false), (4, false), (6, true)]);
        assert_eq!(longest(&[2], &[0.1], 0.01).cycles, 0);
    }
}
