//! `--figure latency`: the time of one update, while nobody else writes and beside a writer at full speed.

use super::controller::Controller;
use super::{failed, rate, switch};
use crate::args::BenchControlArgs;
use crate::harness::{Goal, Judged};
use crate::report;
use console::output::{self, Exit};
use grpc::{Client, Writer};
use p4info::proto::p4::v1::update::Type;
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Updates that are timed.
const N_UPDATES: usize = 20_000;
const N_UPDATES_QUICK: usize = 500;
/// Entries of the writer at full speed, and its batches.
const N_OTHERS: usize = 200_000;
const BATCH: usize = 10_000;
/// Goal for 99 of 100 updates beside others, in microseconds.
const GOAL_US: f64 = 1000.0;

/// Times of single updates, ascending.
struct Figure {
    transport: &'static str,
    load: &'static str,
    times: Vec<Duration>,
    /// Millions of updates a second of the other writer.
    others: f64,
}

impl Figure {
    /// The time that so many of a thousand updates do not exceed, in microseconds.
    fn quantile(&self, per_mille: usize) -> f64 {
        let at = (self.times.len() * per_mille / 1000).min(self.times.len().saturating_sub(1));
        self.times.get(at).map_or(0.0, |time| time.as_secs_f64() * 1e6)
    }
}

pub(super) fn measure(args: &BenchControlArgs) -> Result<(), Exit> {
    let n = if args.measure.quick { N_UPDATES_QUICK } else { N_UPDATES };
    let mut figures = Vec::new();
    for transport in ["tcp", "unix"] {
        let dir = tempfile::tempdir().map_err(failed)?;
        let (_switch, address) = switch::start_by(transport, dir.path(), args)?;
        let client = Client::connect(&address, None).map_err(failed)?;
        let controller = Controller::new(&client)?;
        let single = Writer::connect(&address).map_err(failed)?;
        let times = timed(&controller, &single, n)?;
        figures.push(Figure { transport, load: "none", times, others: 0.0 });
        let other = Writer::connect(&address).map_err(failed)?;
        let (is_begun, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
        let (times, others) = std::thread::scope(|scope| {
            let writer = scope.spawn(|| -> Result<f64, Exit> {
                let range = n..n + N_OTHERS;
                let insert = controller.requests(Type::Insert, range.clone(), BATCH, 1);
                let delete = controller.requests(Type::Delete, range, BATCH, 1);
                let (begin, mut n_written) = (Instant::now(), 0);
                while !is_over.load(Ordering::Relaxed) {
                    is_begun.store(true, Ordering::Relaxed);
                    other.write(insert.clone(), 2).map_err(failed)?;
                    other.write(delete.clone(), 2).map_err(failed)?;
                    n_written += 2 * N_OTHERS;
                }
                Ok(rate(n_written, begin))
            });
            while !is_begun.load(Ordering::Relaxed) && !writer.is_finished() {
                std::thread::yield_now();
            }
            let times = timed(&controller, &single, n);
            is_over.store(true, Ordering::Relaxed);
            let written =
                writer.join().unwrap_or_else(|_| Err(failed("internal bug: the writer has failed")));
            let others = written?;
            times.map(|times| (times, others))
        })?;
        figures.push(Figure { transport, load: "a writer", times, others });
    }
    show(&figures, args);
    Ok(())
}

/// The times of inserting entries one by one, which are deleted afterwards.
fn timed(controller: &Controller<'_>, writer: &Writer, n: usize) -> Result<Vec<Duration>, Exit> {
    let insert = controller.requests(Type::Insert, 0..n, 1, 1);
    let mut times = writer.time(insert).map_err(failed)?;
    let delete = controller.requests(Type::Delete, 0..n, BATCH, 1);
    writer.write(delete, 1).map_err(failed)?;
    times.sort_unstable();
    Ok(times)
}

fn show(figures: &[Figure], args: &BenchControlArgs) {
    let judged = figures.iter().filter(|figure| figure.load != "none").map(|figure| Judged {
        name: format!("{}_p99_us", figure.transport),
        size: figure.times.len() as u64,
        value: figure.quantile(990),
        goal: Goal::AtMost(GOAL_US),
    });
    let goals: Vec<Judged> = judged.collect();
    if args.measure.json {
        let lines = figures.iter().map(|figure| {
            json!({
                "peer": "siding",
                "transport": figure.transport,
                "load": figure.load,
                "updates": figure.times.len(),
                "p50_us": figure.quantile(500),
                "p99_us": figure.quantile(990),
                "p999_us": figure.quantile(999),
                "others_per_second": (figure.others * 1e6).round(),
            })
        });
        let json = super::json_of("latency", args, &goals, lines.collect());
        output::out(&format!("{json}\n"));
        return;
    }
    let head = ["transport", "load", "updates", "p50", "p99", "p99.9", "updates/s of the other"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for figure in figures {
        let us = |per_mille| format!("{:.0} us", figure.quantile(per_mille));
        rows.push(vec![
            figure.transport.to_owned(),
            figure.load.to_owned(),
            report::short(figure.times.len() as u64),
            us(500),
            us(990),
            us(999),
            format!("{:.0}", figure.others * 1e6),
        ]);
    }
    let mut text = format!("One update in each request\n\n{}", report::aligned(&rows));
    text += &super::text_of_goals(&goals, |goal| (format!("{}, beside a writer", goal.name), "us"));
    output::out(&text);
}
