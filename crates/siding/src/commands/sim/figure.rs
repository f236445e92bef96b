//! The published figures of `siding sim`.

use super::grid::{Frame, Point, QUEUE_CAPACITY, alphas, mixes, usage};
use super::output::{heading, number, points_json, run_json};
use super::sweep::Sweep;
use super::traffic::{Problem, Survey, Traffic};
use crate::cli::{AlphaModelArg, FigureArg, MetricArg, PolicyArg, SimArgs};
use bench::chart::{Across, Chart, Origin, Series, Upwards};
use hazard::Queues;
use hazard::traffic::{Key, Profile};
use serde_json::{Value, json};
use std::fmt::Write;

const ALPHAS: [f64; 6] = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0];
const CYCLES_MAX: u32 = 30;
const CDF_POINTS: usize = 200;

/// A figure as chart, JSON and text; a shard has none.
pub struct Figure {
    pub chart: Chart,
    pub json: Value,
    pub text: String,
}

pub fn figure(
    which: FigureArg,
    args: &SimArgs,
    traffic: &Traffic,
    survey: &Survey,
    frame: &Frame,
    sweep: &Sweep,
) -> Result<Option<Figure>, Problem> {
    let mut chart = match which {
        FigureArg::Sizes => sizes(args, survey, frame)?,
        FigureArg::Hazards | FigureArg::Lock | FigureArg::Flow => Chart::default(),
    };
    let mut json = run_json(traffic, survey, frame);
    if which != FigureArg::Sizes {
        let curves = match which {
            FigureArg::Sizes | FigureArg::Hazards => of_alphas(args, PolicyArg::None)?,
            FigureArg::Lock => of_alphas(args, PolicyArg::GlobalLock)?,
            FigureArg::Flow => of_keys(args)?,
        };
        let points: Vec<Point> = curves.iter().flat_map(|(_, points)| points.clone()).collect();
        let Some(results) = sweep.run(&points)? else { return Ok(None) };
        let mut left = results.as_slice();
        let (name_of_metric, scale) = metric(which, args);
        for (name, points) in curves {
            let (mine, rest) = left.split_at(points.len());
            left = rest;
            let points = points.iter().zip(mine);
            let points = points
                .map(|(point, result)| (f64::from(point.cycles()), shown(result, name_of_metric) * scale))
                .collect();
            chart.series.push(Series { name, points, origin: Origin::Ours });
        }
        json["points"] = Value::Array(points_json(&points, &results));
    }
    let (title, x, y) = words(which, args);
    let worst = match frame.window_packets {
        Some(n) if which != FigureArg::Sizes => format!(", worst window of {n} packets"),
        Some(_) | None => String::new(),
    };
    let title = format!("{title}: {}{worst}", traffic.name());
    (chart.title, chart.x, chart.y) = (title, x.to_string(), y.to_string());
    chart.across = Across::Linear;
    chart.upwards = match which {
        FigureArg::Sizes | FigureArg::Lock => Upwards::Linear,
        FigureArg::Flow if args.metric == MetricArg::Throughput => Upwards::Linear,
        FigureArg::Hazards | FigureArg::Flow => Upwards::BySpan,
    };
    json["figure"] = json!(figure_name(which));
    json["title"] = json!(chart.title);
    json["x"] = json!(x);
    json["y"] = json!(y);
    let series = chart.series.iter().map(|s| json!({ "name": s.name, "points": s.points }));
    json["series"] = series.collect();
    let text = heading(traffic, survey, frame) + &lines(which, &chart);
    // After the numbers, which are ours.
    chart.series.extend(published(which, args));
    Ok(Some(Figure { chart, json, text }))
}

fn figure_name(which: FigureArg) -> &'static str {
    match which {
        FigureArg::Sizes => "1a",
        FigureArg::Hazards => "1b",
        FigureArg::Lock => "1c",
        FigureArg::Flow => "flow",
    }
}

fn words(which: FigureArg, args: &SimArgs) -> (&'static str, &'static str, &'static str) {
    const CYCLES: &str = "cycles of the action";
    match (which, args.metric) {
        (FigureArg::Sizes, _) => ("Sizes of packets", "bytes", "share of packets that are not longer"),
        (FigureArg::Hazards, _) if !args.switch.key.is_empty() => {
            ("Hazards of the same key without locks", CYCLES, "cycles with a hazard, in percent")
        }
        (FigureArg::Hazards, _) => ("Hazards without locks", CYCLES, "cycles with a hazard, in percent"),
        (FigureArg::Lock, _) => ("Throughput behind one lock", CYCLES, "share of the offered load"),
        (FigureArg::Flow, MetricArg::Throughput) => {
            ("Throughput with locks for flows", CYCLES, "share of the offered packets")
        }
        (FigureArg::Flow, MetricArg::Latency) => {
            ("Latency with locks for flows", CYCLES, "99th percentile, in cycles")
        }
        (FigureArg::Flow, MetricArg::Wait) => {
            ("Waits with locks for flows", CYCLES, "99th percentile, in cycles")
        }
        (FigureArg::Flow, MetricArg::Queue) => {
            ("Queues with locks for flows", CYCLES, "most packets in a queue")
        }
        (FigureArg::Flow, MetricArg::QueueP99) => {
            ("Queues with locks for flows", CYCLES, "packets in the fullest queue, 99th percentile")
        }
        (FigureArg::Flow, MetricArg::Drops) => ("Drops with locks for flows", CYCLES, "packets, in percent"),
    }
}

/// The points that were published for a figure (see docs/how-to/stateful-actions.md). They are of traces of links, so they
/// belong only to the figures of the profiles that are like those, with the default key, metric and function of alpha.
fn published(which: FigureArg, args: &SimArgs) -> Vec<Series> {
    let (traffic, switch) = (&args.traffic, &args.switch);
    let is_profile = traffic.trace.is_none()
        && traffic.sizes.is_none()
        && traffic.alpha_model == AlphaModelArg::Mix
        && traffic.utilisation.iter().all(|utilisation| *utilisation == 1.0);
    let has_default_switch = switch.key.is_empty() && switch.mix.is_empty();
    let is_other_metric = which == FigureArg::Flow && args.metric != MetricArg::Throughput;
    if !is_profile || !has_default_switch || is_other_metric {
        return Vec::new();
    }
    let known: &[(&str, &[(f64, f64)])] = match (which, traffic.profile.unwrap_or(Profile::Backbone)) {
        (FigureArg::Hazards, Profile::Backbone) => {
            &[("alpha = 1", &[(2.0, 2.9), (5.0, 3.9), (10.0, 4.4), (19.0, 5.5), (20.0, 9.4)])]
        }
        (FigureArg::Lock, Profile::Backbone) => {
            &[("alpha = 1", &[(10.0, 0.9985)]), ("alpha = 0.2", &[(3.0, 1.0)])]
        }
        (FigureArg::Flow, Profile::Backbone) => {
            &[("global lock", &[(10.0, 0.998), (11.0, 0.93), (16.0, 0.64)])]
        }
        (FigureArg::Hazards, Profile::Facebook) => {
            &[("alpha = 1", &[(2.0, 8.5), (3.0, 24.2), (4.0, 31.4), (5.0, 32.8), (8.0, 35.1), (10.0, 35.5)])]
        }
        (FigureArg::Lock, Profile::Facebook) => &[(
            "alpha = 1",
            &[(2.0, 1.0), (3.0, 0.914), (4.0, 0.686), (5.0, 0.549), (8.0, 0.343), (10.0, 0.275)],
        )],
        _ => &[],
    };
    let series = known.iter().map(|(name, points)| (name.to_string(), points.to_vec()));
    series.map(|(name, points)| Series { name, points, origin: Origin::Published }).collect()
}

/// The number of a result that a figure shows, and what it is multiplied by.
fn metric(which: FigureArg, args: &SimArgs) -> (&'static str, f64) {
    match (which, args.metric) {
        (FigureArg::Hazards, _) if !args.switch.key.is_empty() => ("same_key_share_of_cycles", 100.0),
        (FigureArg::Sizes | FigureArg::Hazards, _) => ("hazards_share_of_cycles", 100.0),
        (FigureArg::Lock, _) | (FigureArg::Flow, MetricArg::Throughput) => ("throughput", 1.0),
        (FigureArg::Flow, MetricArg::Latency) => ("latency_cycles_p99", 1.0),
        (FigureArg::Flow, MetricArg::Wait) => ("wait_cycles_p99", 1.0),
        (FigureArg::Flow, MetricArg::Queue) => ("queue_packets_max", 1.0),
        (FigureArg::Flow, MetricArg::QueueP99) => ("queue_packets_p99", 1.0),
        (FigureArg::Flow, MetricArg::Drops) => ("drop_fraction", 100.0),
    }
}

/// The number of the whole run, or of the worst window if there are windows.
fn shown(result: &Value, name: &str) -> f64 {
    let worst = if name == "throughput" { "min" } else { "max" };
    result.get("windows").map_or_else(|| number(result, name), |windows| number(&windows[name], worst))
}

fn sizes(args: &SimArgs, survey: &Survey, frame: &Frame) -> Result<Chart, Problem> {
    let mut chart = Chart::default();
    for alpha in alphas(args, &ALPHAS) {
        let points = survey.sizes.cdf(frame.alpha(alpha).map_err(usage)?, CDF_POINTS);
        let points = points.into_iter().map(|(len, share)| (f64::from(len), share)).collect();
        chart.series.push(Series { name: format!("alpha = {alpha}"), points, origin: Origin::Ours });
    }
    Ok(chart)
}

/// Points of one line of a figure.
type Curve = (String, Vec<Point>);

fn of_alphas(args: &SimArgs, policy: PolicyArg) -> Result<Vec<Curve>, Problem> {
    let cycles: Vec<u32> = (1..=CYCLES_MAX).collect();
    let mixes = mixes(args, &cycles)?;
    let mut curves = Vec::new();
    for alpha in alphas(args, &ALPHAS) {
        let points = mixes.iter().map(|mix| {
            let mut point = Point::new(1, alpha, policy);
            point.mix = mix.clone();
            point.utilisation = args.traffic.utilisation.first().copied().unwrap_or(1.0);
            if let Some(key) = args.switch.key.first() {
                (point.key, point.lookup) = (key.clone(), key.clone());
            }
            point
        });
        curves.push((format!("alpha = {alpha}"), points.collect()));
    }
    Ok(curves)
}

/// A global lock, then each key with the queues and locks that the options say.
fn of_keys(args: &SimArgs) -> Result<Vec<Curve>, Problem> {
    let cycles: Vec<u32> = (1..=CYCLES_MAX).collect();
    let mixes = mixes(args, &cycles)?;
    let switch = &args.switch;
    let keys = match switch.key.as_slice() {
        [] => ["5-tuple", "dst", "dst/16"].iter().filter_map(|text| Key::parse(text).ok()).collect(),
        given => given.to_vec(),
    };
    let numbers = |given: &Option<crate::cli::LengthList>, default: &[u32]| {
        given.as_ref().map_or_else(|| default.to_vec(), |list| list.0.clone())
    };
    let rooms = numbers(&switch.queue_capacity, &[QUEUE_CAPACITY]);
    let mut curves: Vec<Curve> = Vec::new();
    for alpha in alphas(args, &[1.0]) {
        for queue_packets_max in &rooms {
            let mut add = |name: String, key: &Key, lookup: &Key, queues: Queues| {
                let points = mixes.iter().map(|mix| Point {
                    alpha,
                    utilisation: args.traffic.utilisation.first().copied().unwrap_or(1.0),
                    mix: mix.clone(),
                    policy: PolicyArg::PerFlowLock,
                    key: key.clone(),
                    lookup: lookup.clone(),
                    queues,
                });
                let of_alpha = if alpha == 1.0 { String::new() } else { format!(", alpha = {alpha}") };
                let of_room =
                    if rooms.len() == 1 { String::new() } else { format!(", room {queue_packets_max}") };
                curves.push((name + &of_alpha + &of_room, points.collect()));
            };
            add("global lock".into(), &Key::global(), &Key::global(), Queues::global(*queue_packets_max));
            for key in &keys {
                for n_locks in numbers(&switch.locks, &[16]) {
                    for n_queues in numbers(&switch.queues, &[1, 4, 16]) {
                        let queues = Queues { n_queues, n_locks, queue_packets_max: *queue_packets_max };
                        let lookup = switch.lookup_key.as_ref().unwrap_or(key);
                        add(format!("{key}, Q = {n_queues}, W = {n_locks}"), key, lookup, queues);
                    }
                }
            }
        }
    }
    Ok(curves)
}

/// The figure in numbers: a line for each number across.
fn lines(which: FigureArg, chart: &Chart) -> String {
    let mut text = format!("\n{}\n{} by {}\n", chart.title, chart.y, chart.x);
    for (i, series) in chart.series.iter().enumerate() {
        let _ = writeln!(text, "  {}: {}", letter(i), series.name);
    }
    let _ = write!(text, "\n{:>6}", chart.x.split(' ').next().unwrap_or(""));
    chart.series.iter().enumerate().for_each(|(i, _)| {
        let _ = write!(text, "  {:>8}", letter(i));
    });
    text.push('\n');
    let across: Vec<f64> = match which {
        FigureArg::Sizes => {
            [64, 80, 160, 320, 400, 576, 800, 1024, 1280, 1440, 1500, 1518, 9000].map(f64::from).to_vec()
        }
        FigureArg::Hazards | FigureArg::Lock | FigureArg::Flow => {
            chart.series.first().map_or(Vec::new(), |s| s.points.iter().map(|p| p.0).collect())
        }
    };
    for (row, x) in across.iter().enumerate() {
        let _ = write!(text, "{x:>6}");
        for series in &chart.series {
            let y = match which {
                // The share up to here: of the last point that is not beyond.
                FigureArg::Sizes => series.points.iter().rev().find(|p| p.0 <= *x).map_or(0.0, |p| p.1),
                FigureArg::Hazards | FigureArg::Lock | FigureArg::Flow => {
                    series.points.get(row).map_or(0.0, |p| p.1)
                }
            };
            let _ = write!(text, "  {y:>8.4}");
        }
        text.push('\n');
        if which == FigureArg::Sizes && chart.series.iter().all(|s| s.points.last().is_none_or(|p| p.0 <= *x))
        {
            break;
        }
    }
    text
}

/// `a`, `b`, ..., `z`, `a1`, ...
fn letter(i: usize) -> String {
    let letter = char::from(b'a' + (i % 26) as u8);
    if i < 26 { letter.to_string() } else { format!("{letter}{}", i / 26) }
}
