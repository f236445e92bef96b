//! Output of `siding sim`: JSON, and lines for people.

use super::grid::{Frame, Point};
use super::traffic::{Survey, Traffic};
use crate::cli::PolicyArg;
use hazard::{Alpha, AlphaModel, Finished, Outcome, Pace, Timeline};
use serde_json::{Value, json};
use std::fmt::Write;

pub fn result_json(finished: &Finished, frame: &Frame) -> Value {
    let ns = |cycles: u64| cycles as f64 / frame.switch.clock_ghz;
    let mut value = match &finished.outcome {
        Outcome::Hazards(r) => json!({
            "hazards": r.n_any,
            "hazards_share_of_cycles": r.share_of_cycles(),
            "hazards_share_of_packets": r.share_of_packets(),
            "same_key_hazards": r.n_same_key,
            "same_key_share_of_cycles": r.same_key_share_of_cycles(),
            "same_key_share_of_packets": r.same_key_share_of_packets(),
        }),
        Outcome::Lock(r) => json!({
            "throughput": r.throughput,
            "latency_cycles_mean": r.latency_mean_cycles,
            "latency_cycles_p50": r.latency_p50_cycles,
            "latency_cycles_p99": r.latency_p99_cycles,
            "latency_cycles_max": r.latency_max_cycles,
            "latency_ns_p99": ns(r.latency_p99_cycles),
            "wait_cycles_mean": r.wait.mean_cycles,
            "wait_cycles_p50": r.wait.p50_cycles,
            "wait_cycles_p99": r.wait.p99_cycles,
            "wait_cycles_max": r.wait.max_cycles,
        }),
        Outcome::Queues(r) => json!({
            "throughput": r.throughput,
            "throughput_bytes": r.throughput_bytes,
            "dropped": r.n_dropped,
            "drop_fraction": r.drop_fraction,
            "latency_cycles_mean": r.latency_mean_cycles,
            "latency_cycles_p50": r.latency_p50_cycles,
            "latency_cycles_p99": r.latency_p99_cycles,
            "latency_cycles_max": r.latency_max_cycles,
            "latency_ns_p99": ns(r.latency_p99_cycles),
            "wait_cycles_mean": r.wait.mean_cycles,
            "wait_cycles_p50": r.wait.p50_cycles,
            "wait_cycles_p99": r.wait.p99_cycles,
            "wait_cycles_max": r.wait.max_cycles,
            "queue_packets_p99": r.queue_packets_p99,
            "queue_packets_max": r.queue_packets_max,
            "all_queues_packets_max": r.all_queues_packets_max,
        }),
    };
    value["packets"] = json!(finished.n_packets);
    value["input_cycles"] = json!(finished.cycles);
    value["line_busy"] = json!(finished.line_cycles as f64 / (finished.cycles.max(1)) as f64);
    value
}

/// A number of a result; 0 where there is none of that name.
pub fn number(result: &Value, name: &str) -> f64 {
    result.get(name).and_then(Value::as_f64).unwrap_or(0.0)
}

pub fn run_json(traffic: &Traffic, survey: &Survey, frame: &Frame) -> Value {
    json!({
        "version": 1,
        "siding": env!("CARGO_PKG_VERSION"),
        "traffic": traffic.json(survey),
        "alpha_model": frame.alpha_model.name(),
        "switch": {
            "chunk_bytes": frame.switch.chunk_bytes,
            "clock_ghz": frame.switch.clock_ghz,
            "line_rate_gbps": frame.switch.line_rate_gbps(),
        },
    })
}

pub fn points_json(points: &[Point], results: &[Value]) -> Vec<Value> {
    let each = points.iter().zip(results);
    each.map(|(point, result)| json!({ "point": point.json(), "result": result })).collect()
}

pub fn heading(traffic: &Traffic, survey: &Survey, frame: &Frame) -> String {
    let line = Timeline::new(&frame.switch, Alpha::ONE, Pace::BackToBack);
    let cycles = line.map_or(0, |line| survey.sizes.line_cycles(&line)) as f64;
    let mut text = format!(
        "{}: {} packets, {:.0} bytes and {:.2} cycles each\n{} bytes per cycle at {} GHz: {:.0} Gb/s\n",
        traffic.name(),
        survey.sizes.n(),
        survey.sizes.mean_bytes(),
        cycles / survey.sizes.n() as f64,
        frame.switch.chunk_bytes,
        frame.switch.clock_ghz,
        frame.switch.line_rate_gbps(),
    );
    if frame.has_alpha {
        text.push_str(match frame.alpha_model {
            AlphaModel::Mix => {
                "alpha: a share alpha of the packets keeps its length, the others become short\n"
            }
            AlphaModel::Scale => "alpha: each packet keeps a share alpha of its length beyond 64 bytes\n",
        });
    }
    if survey.n_other > 0 {
        let _ =
            writeln!(text, "{} packets are not IP: keys of IP fields are the same for them", survey.n_other);
    }
    text
}

/// A table for each policy.
pub fn tables(points: &[Point], results: &[Value]) -> String {
    let mut text = String::new();
    for policy in [PolicyArg::None, PolicyArg::GlobalLock, PolicyArg::PerFlowLock] {
        let rows: Vec<_> = points.iter().zip(results).filter(|(point, _)| point.policy == policy).collect();
        if rows.is_empty() {
            continue;
        }
        text.push_str(match policy {
            PolicyArg::None => {
                "\nno locks: hazards (a packet enters while another one's read-modify-write is under way)\n\
                 \x20alpha  load  cycles  key            of cycles  of packets  same key, of packets\n"
            }
            PolicyArg::GlobalLock => {
                "\nglobal lock: one packet at a time, room for all that wait\n\
                 \x20alpha  load  cycles  throughput  wait p50     p99     max  latency p99 cycles\n"
            }
            PolicyArg::PerFlowLock => {
                "\nlocks for groups of flows\n\
                 \x20alpha  load  cycles  key            queues  locks  room  throughput    dropped  wait p99  latency p99  \
                 queue p99   max\n"
            }
        });
        for (point, result) in rows {
            let percent = |name: &str| format!("{:.3} %", number(result, name) * 100.0);
            let start = start_columns(point);
            let _ = match policy {
                PolicyArg::None => writeln!(
                    text,
                    "{start}  {:13}  {:>9}  {:>10}  {:>20}",
                    point.key.to_string(),
                    percent("hazards_share_of_cycles"),
                    percent("hazards_share_of_packets"),
                    percent("same_key_share_of_packets"),
                ),
                PolicyArg::GlobalLock => writeln!(
                    text,
                    "{start}  {:10.4}  {:8}  {:6}  {:6}  {:11}",
                    number(result, "throughput"),
                    number(result, "wait_cycles_p50"),
                    number(result, "wait_cycles_p99"),
                    number(result, "wait_cycles_max"),
                    number(result, "latency_cycles_p99"),
                ),
                PolicyArg::PerFlowLock => writeln!(
                    text,
                    "{start}  {}  {:10.4}  {:>9}  {:8}  {:11}  {:9}  {:4}",
                    queue_columns(point),
                    number(result, "throughput"),
                    percent("drop_fraction"),
                    number(result, "wait_cycles_p99"),
                    number(result, "latency_cycles_p99"),
                    number(result, "queue_packets_p99"),
                    number(result, "queue_packets_max"),
                ),
            };
        }
    }
    text + &window_tables(points, results)
}

/// Smallest, 99th percentile and largest numbers of windows, if there are any.
fn window_tables(points: &[Point], results: &[Value]) -> String {
    let mut text = String::new();
    for policy in [PolicyArg::None, PolicyArg::GlobalLock, PolicyArg::PerFlowLock] {
        let (metrics, keys): (&[(&str, &str, f64)], &str) = match policy {
            PolicyArg::None => (
                &[
                    ("of cycles, percent", "hazards_share_of_cycles", 100.0),
                    ("same key, of packets", "same_key_share_of_packets", 100.0),
                ],
                "  key          ",
            ),
            PolicyArg::GlobalLock => {
                (&[("throughput", "throughput", 1.0), ("wait p99, cycles", "wait_cycles_p99", 1.0)], "")
            }
            PolicyArg::PerFlowLock => (
                &[
                    ("throughput", "throughput", 1.0),
                    ("wait p99, cycles", "wait_cycles_p99", 1.0),
                    ("queue p99, packets", "queue_packets_p99", 1.0),
                ],
                "  key            queues  locks  room",
            ),
        };
        let rows = points.iter().zip(results).filter(|(point, _)| point.policy == policy);
        let rows: Vec<_> = rows.filter_map(|(point, result)| Some((point, result.get("windows")?))).collect();
        let Some((_, first)) = rows.first() else { continue };
        let _ = writeln!(
            text,
            "\n{}, in {} windows of {} packets, each by itself: least, 99th percentile, most",
            match policy {
                PolicyArg::None => "no locks",
                PolicyArg::GlobalLock => "global lock",
                PolicyArg::PerFlowLock => "locks for groups of flows",
            },
            first["windows"],
            first["packets"],
        );
        let _ = write!(text, " alpha  load  cycles{keys}");
        metrics.iter().for_each(|(name, _, _)| {
            let _ = write!(text, "  {name:>29}");
        });
        text.push('\n');
        for (point, windows) in rows {
            text.push_str(&start_columns(point));
            let _ = match policy {
                PolicyArg::None => write!(text, "  {:13}", point.key.to_string()),
                PolicyArg::GlobalLock => Ok(()),
                PolicyArg::PerFlowLock => write!(text, "  {}", queue_columns(point)),
            };
            for (_, name, factor) in metrics {
                let of = |which: &str| (number(&windows[name], which) * factor * 1e4).round() / 1e4;
                let _ = write!(text, "  {:>9}  {:>8}  {:>8}", of("min"), of("p99"), of("max"));
            }
            text.push('\n');
        }
    }
    text
}

fn start_columns(point: &Point) -> String {
    format!(" {:5}  {:4}  {:6}", point.alpha, point.utilisation, actions(point))
}

pub fn queue_columns(point: &Point) -> String {
    let queues = &point.queues;
    let (n_queues, n_locks, room) = (queues.n_queues, queues.n_locks, queues.queue_packets_max);
    format!("{:13}  {n_queues:6}  {n_locks:5}  {room:4}", point.key.to_string())
}

/// `5`, or `3+10` of a mix.
fn actions(point: &Point) -> String {
    let mut cycles: Vec<String> = point.mix.iter().map(|(action, _)| action.cycles.to_string()).collect();
    cycles.dedup();
    cycles.join("+")
}
