//! Charts of latency: over the number of the packet, the distribution, and the medians by rate and by load.

use super::figures::{SHARES, Select, distinct, numbers};
use crate::chart::{self, Across, Chart, Series};
use crate::harness::Report;
use crate::report::Line;
use console::output::{self, Exit};
use std::path::Path;

const TITLE: &str = "Packets that add entries, and packets that find them";
const CLASSES: [&str; 3] = ["insert", "hit", "plain"];

pub(super) fn draw(path: &Path, report: &Report) -> Result<(), Exit> {
    let page = chart::page(TITLE, &charts(&report.lines));
    output::replace_file(path, page.as_bytes()).map_err(|error| {
        output::error_line(&format!("cannot write {}: {error}", path.display()));
        Exit::Environment
    })
}

fn charts(lines: &[Line]) -> Vec<Chart> {
    let mut charts = Vec::new();
    for (program, _) in super::PROGRAMS {
        let ours = Select { peer: Some("siding"), program: Some(program), ..Select::default() };
        for burst in distinct(&ours.of(lines), "burst") {
            let ours = Select { series: Some("packets"), burst: Some(burst), bytes: Some(84), ..ours };
            let with = |title: &str, x: &str, series: Vec<Series>, across| Chart {
                title: format!("{title}: {program}, bursts of {burst}"),
                x: x.to_owned(),
                y: "microseconds".to_owned(),
                series,
                across,
                ..Chart::default()
            };
            charts.push(with("Latency over time", "packets", over_number(lines, ours), Across::Linear));
            charts.push(with(
                "Distribution",
                "one packet in so many is slower",
                distribution(lines, ours),
                Across::Logarithmic,
            ));
        }
        let by = |series: &'static str, x: &'static str, peers: &[&'static str]| {
            let mut all = Vec::new();
            for peer in peers {
                let of_peer = Select { peer: Some(*peer), series: Some(series), ..ours };
                for burst in distinct(&of_peer.of(lines), "burst") {
                    for class in ["insert", "hit", "mix"] {
                        let select = Select { burst: Some(burst), class: Some(class), ..of_peer };
                        let name = format!("{peer} {class}, burst {burst}");
                        all.extend(of_points(name, select.over(lines, x, "p50_ns")));
                    }
                }
            }
            all
        };
        let medians = |title: &str, x: &str, series, across| Chart {
            title: format!("{title}: {program}"),
            x: x.to_owned(),
            y: "median in microseconds".to_owned(),
            series,
            across,
            ..Chart::default()
        };
        let all = ["siding", "swx_learner", "rte_hash"];
        let rates = by("rates", "one_in", &all);
        charts.push(medians(
            "Medians by rate",
            "one packet in so many has a new key",
            rates,
            Across::Logarithmic,
        ));
        let loads = by("loads", "load", &all[..1]);
        charts.push(medians("Medians by load", "percent of the capacity", loads, Across::Linear));
    }
    charts
}

/// A line with the points in ascending order; nanoseconds become microseconds.
fn of_points(name: String, points: Vec<(u64, f64)>) -> Option<Series> {
    let mut points: Vec<(f64, f64)> = points.into_iter().map(|(x, ns)| (x as f64, ns / 1e3)).collect();
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    (!points.is_empty()).then(|| Series { name, points, ..Series::default() })
}

/// Both phases, one behind the other.
fn over_number(lines: &[Line], ours: Select<'_>) -> Vec<Series> {
    let n_learning: u64 = ["mix", "plain"]
        .iter()
        .flat_map(|class| Select { phase: Some("learn"), class: Some(class), ..ours }.of(lines))
        .map(|line| line.size / line.all["runs"].as_u64().unwrap_or(1).max(1))
        .sum();
    let mut series = Vec::new();
    for (phase, from) in [("learn", 0), ("lookup", n_learning)] {
        for class in CLASSES {
            let found = Select { phase: Some(phase), class: Some(class), ..ours }.of(lines);
            let bins = found.iter().flat_map(|line| line.all["bins"].as_array().into_iter().flatten());
            let bins: Vec<Vec<f64>> = bins.map(numbers).filter(|bin| bin.len() == 3).collect();
            for (what, i) in [("median", 1), ("slowest", 2)] {
                let points: Vec<(f64, f64)> =
                    bins.iter().map(|bin| (bin[0] + from as f64, bin[i] / 1e3)).collect();
                let name = format!("{phase}: {class}, {what}");
                series.extend((!points.is_empty()).then(|| Series { name, points, ..Series::default() }));
            }
        }
    }
    series
}

/// Quantiles over how many packets there are for one that is slower.
fn distribution(lines: &[Line], ours: Select<'_>) -> Vec<Series> {
    let mut series = Vec::new();
    for (phase, classes) in [("learn", &CLASSES[..1]), ("lookup", &CLASSES[..])] {
        for class in classes {
            for line in (Select { phase: Some(phase), class: Some(class), ..ours }).of(lines) {
                let n = line.number("unmarked").unwrap_or(0.0) / line.number("runs").unwrap_or(1.0).max(1.0);
                let quantiles = numbers(&line.all["ns"]);
                let points: Vec<(f64, f64)> = SHARES
                    .iter()
                    .zip(&quantiles)
                    .map(|(share, ns)| (1.0 / (1.0 - share).max(1.0 / n.max(2.0)), ns / 1e3))
                    // Fewer packets have no such quantile.
                    .filter(|(of, _)| *of >= 2.0 && *of <= n)
                    .collect();
                let name = format!("{phase}: {class}");
                series.extend((!points.is_empty()).then(|| Series { name, points, ..Series::default() }));
            }
        }
    }
    series
}
