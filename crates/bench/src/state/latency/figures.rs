//! Figures of latency: one of all runs of a point, the goals, and tables of them.

use crate::frontend::median;
use crate::harness::{Goal, Judged, Report};
use crate::report::{self, Line};
use serde_json::{Value, json};

/// Shares of packets that were at most as late as the quantile of the same index; equal to `loop_quantiles` in
/// `crates/bench/peers/open_loop.h`.
pub(super) const SHARES: [f64; 13] =
    [0.0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999, 1.0];
/// The quantiles that have a key of their own, with their indices.
const NAMED: [(&str, usize); 5] = [("p50", 4), ("p90", 6), ("p99", 8), ("p999", 9), ("max", 12)];
const MAX: usize = SHARES.len() - 1;

/// Keys of the lines of runs that are added up.
const SUMS: [&str; 14] = [
    "size",
    "unmarked",
    "sent",
    "received",
    "wrong",
    "learned",
    "learned_expected",
    "hiccups",
    "hiccup_us",
    "generator_hiccups",
    "generator_hiccup_us",
    "held_us",
    "slow",
    "page_faults",
];

/// Marked packets above this share make a sentence.
const MARKED_MAX: f64 = 0.05;

const GOAL_OF_MEDIAN: f64 = 1.5;
const GOAL_OF_SLOWEST_US: f64 = 50.0;

/// Combines the lines of the runs of one point: quantiles are medians over the runs, except for the maximum; counts are added.
pub(super) fn over_runs(lines: &[Line]) -> Vec<Line> {
    let mut groups: Vec<Vec<&Line>> = Vec::new();
    let key = |line: &Line| (line.peer.clone(), line.word("phase").to_owned(), line.work.clone());
    for line in lines {
        match groups.iter_mut().find(|group| key(group[0]) == key(line)) {
            Some(group) => group.push(line),
            None => groups.push(vec![line]),
        }
    }
    groups.iter().map(|group| combined(group)).collect()
}

fn combined(lines: &[&Line]) -> Line {
    let mut all = lines[0].all.clone();
    for sum in SUMS {
        if all.get(sum).is_some() {
            let total: f64 = lines.iter().filter_map(|line| line.number(sum)).sum();
            all[sum] = json!(total.round() as u64);
        }
    }
    if let Some(slowest) = lines.iter().filter_map(|line| line.number("slowest_us")).reduce(f64::max) {
        all["slowest_us"] = json!(slowest);
    }
    all["runs"] = json!(lines.len());
    let mut cycles = median(lines.iter().map(|line| line.cycles).collect());
    for key in ["ns", "ns_with_marked"] {
        let runs: Vec<Vec<f64>> = lines.iter().map(|line| numbers(&line.all[key])).collect();
        let runs: Vec<&Vec<f64>> = runs.iter().filter(|run| run.len() == SHARES.len()).collect();
        if runs.is_empty() {
            continue;
        }
        let at = |i: usize| runs.iter().map(move |run| run[i]);
        let quantiles: Vec<f64> = (0..SHARES.len())
            .map(|i| if i == MAX { at(i).fold(0.0, f64::max) } else { median(at(i).collect()) })
            .map(report::rounded)
            .collect();
        for (name, i) in NAMED {
            all[format!("{name}_{key}")] = json!(quantiles[i]);
        }
        if key == "ns" {
            cycles = quantiles[4] * lines[0].number("tsc_ghz").unwrap_or(1.0);
        }
        all[key] = json!(quantiles);
    }
    if all.get("bins").is_some() {
        all["bins"] = json!(bins(lines));
    }
    all["cycles"] = json!(report::rounded(cycles));
    if let Some(keys) = all.as_object_mut() {
        keys.remove("run");
    }
    let size = all["size"].as_u64().unwrap_or(0);
    let cycles_min = lines.iter().map(|line| line.cycles_min).fold(f64::INFINITY, f64::min);
    all["cycles_min"] = json!(cycles_min);
    Line { peer: lines[0].peer.clone(), work: lines[0].work.clone(), size, cycles, cycles_min, all }
}

pub(super) fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
}

/// Packet number, median and maximum of the bins of all runs.
fn bins(lines: &[&Line]) -> Vec<[f64; 3]> {
    let mut all: Vec<(f64, Vec<f64>, f64)> = Vec::new();
    for bin in lines.iter().flat_map(|line| line.all["bins"].as_array().into_iter().flatten()) {
        let [at, middle, most] = numbers(bin)[..] else { continue };
        match all.iter_mut().find(|(x, ..)| *x == at) {
            Some((_, middles, largest)) => {
                middles.push(middle);
                *largest = largest.max(most);
            }
            None => all.push((at, vec![middle], most)),
        }
    }
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    all.into_iter().map(|(at, middles, most)| [at, report::rounded(median(middles)), most]).collect()
}

/// Conditions on lines; `None` takes all.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Select<'s> {
    pub peer: Option<&'s str>,
    pub program: Option<&'s str>,
    pub series: Option<&'s str>,
    pub phase: Option<&'s str>,
    pub class: Option<&'s str>,
    pub burst: Option<u64>,
    pub bytes: Option<u64>,
    pub load: Option<u64>,
}

impl Select<'_> {
    fn takes(&self, line: &Line) -> bool {
        let is_word = |key: &str, wanted: Option<&str>| wanted.is_none_or(|word| line.word(key) == word);
        let is_number =
            |key: &str, wanted: Option<u64>| wanted.is_none_or(|n| line.all[key].as_u64() == Some(n));
        is_word("peer", self.peer)
            && is_word("program", self.program)
            && is_word("series", self.series)
            && is_word("phase", self.phase)
            && is_word("work", self.class)
            && is_number("burst", self.burst)
            && is_number("bytes", self.bytes)
            && is_number("load", self.load)
    }

    pub fn of<'l>(&self, lines: &'l [Line]) -> Vec<&'l Line> {
        lines.iter().filter(|line| self.takes(line)).collect()
    }

    /// Values of a key over another one, such as medians over rates.
    pub fn over(&self, lines: &[Line], x: &str, y: &str) -> Vec<(u64, f64)> {
        let point = |line: &Line| Some((line.all[x].as_u64()?, line.number(y)?));
        self.of(lines).into_iter().filter_map(point).collect()
    }
}

fn ratios(above: &[(u64, f64)], below: &[(u64, f64)]) -> Vec<(u64, f64)> {
    let other = |x: u64| below.iter().find(|(other, _)| *other == x).map(|(_, value)| *value);
    above.iter().filter_map(|(x, value)| Some((*x, value / other(*x)?))).collect()
}

/// The values of a key that lines have, in their order.
pub(super) fn distinct(lines: &[&Line], key: &str) -> Vec<u64> {
    let mut found = Vec::new();
    for value in lines.iter().filter_map(|line| line.all[key].as_u64()) {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

pub(super) fn judge(report: &mut Report) {
    let lines = std::mem::take(&mut report.lines);
    for (program, _) in super::PROGRAMS {
        let ours = Select { peer: Some("siding"), program: Some(program), ..Select::default() };
        let bursts = distinct(&ours.of(&lines), "burst");
        let lookups = Select { series: Some("packets"), phase: Some("lookup"), bytes: Some(84), ..ours };
        let medians_of = |class| Select { class: Some(class), ..lookups }.over(&lines, "burst", "p50_ns");
        let found = ratios(&medians_of("insert"), &medians_of("hit"));
        // There is no figure if all packets are marked, and the goal is missed.
        let figure =
            |burst| found.iter().find(|(other, _)| *other == burst).map_or(f64::NAN, |(_, ratio)| *ratio);
        let to_hits = bursts.iter().map(|burst| (*burst, figure(*burst))).collect();
        report.judge(&format!("insert_to_hit_{program}"), to_hits, Goal::AtMost(GOAL_OF_MEDIAN));
        let slowest = |load: Option<u64>| {
            let of_burst = |burst: &u64| {
                let select = Select { burst: Some(*burst), load, ..ours };
                let slowest = select.of(&lines).into_iter().filter_map(|line| line.number("max_ns"));
                (*burst, slowest.reduce(f64::max).map_or(f64::NAN, |ns| ns / 1e3))
            };
            bursts.iter().map(of_burst).collect::<Vec<_>>()
        };
        // A stall that no other run with equal packets repeats is the machine's. One run cannot tell.
        let repeated: Vec<(u64, f64)> = (bursts.iter())
            .filter_map(|burst| {
                let select = Select {
                    class: Some("windows"),
                    burst: Some(*burst),
                    load: Some(u64::from(super::LOAD)),
                    ..ours
                };
                let found =
                    select.of(&lines).into_iter().filter_map(|line| line.number("slowest_repeated_ns"));
                Some((*burst, found.reduce(f64::max)? / 1e3))
            })
            .collect();
        let unmarked = slowest(Some(u64::from(super::LOAD)));
        let name = format!("slowest_unmarked_us_{program}");
        if repeated.is_empty() {
            report.judge(&name, unmarked, Goal::AtMost(GOAL_OF_SLOWEST_US));
        } else {
            report.judge(
                &format!("slowest_repeated_us_{program}"),
                repeated,
                Goal::AtMost(GOAL_OF_SLOWEST_US),
            );
            report.ratios.push((name, unmarked));
        }
        for load in distinct(&Select { series: Some("loads"), ..ours }.of(&lines), "load") {
            let name = format!("slowest_unmarked_us_{program}_load_{load}");
            report.ratios.push((name, slowest(Some(load))));
        }
        for burst in bursts {
            let of_rates = Select { series: Some("rates"), burst: Some(burst), ..ours };
            let medians = |select: Select<'_>, class| {
                Select { class: Some(class), ..select }.over(&lines, "one_in", "p50_ns")
            };
            let insert = medians(of_rates, "insert");
            // Two ways to read the slowdown at high rates: against inserts at the lowest rate, and against hits.
            let rarest = insert.iter().max_by_key(|(one_in, _)| *one_in).map_or(f64::NAN, |(_, ns)| *ns);
            let slower = insert.iter().map(|(one_in, ns)| (*one_in, ns / rarest)).collect();
            report.ratios.push((format!("insert_to_rarest_insert_{program}_burst_{burst}"), slower));
            let to_hits = ratios(&insert, &medians(of_rates, "hit"));
            report.ratios.push((format!("insert_to_hit_{program}_burst_{burst}"), to_hits));
            for peer in ["swx_learner", "rte_hash"] {
                let theirs = Select { peer: Some(peer), ..of_rates };
                for class in ["insert", "hit"] {
                    let ratio = ratios(&medians(theirs, class), &medians(of_rates, class));
                    let name = format!("{peer}_to_siding_{class}_{program}_burst_{burst}");
                    report.ratios.extend((!ratio.is_empty()).then_some((name, ratio)));
                }
            }
        }
    }
    report.notes.extend(disturbance(&lines));
    report.notes.push(
        "Latency is from the time when a packet should have been sent until its burst is done; figures are those of packets that \
         no hiccup of a core has touched, unless they say \"with marked\". The slowest repeated packet is the slowest that every run has \
         among the same 256 packets; what one run has alone is the machine's. \"plain\" packets see no table; \"mix\" are inserts and \
         hits. Goals are for half of the capacity. Peers do not parse."
            .to_owned(),
    );
    report.lines = lines;
}

/// The share of packets that hiccups have touched, and what the cores lost.
fn disturbance(lines: &[Line]) -> Option<String> {
    let sum = |select: &dyn Fn(&&Line) -> bool, key: &str| {
        lines.iter().filter(select).filter_map(|line| line.number(key)).sum::<f64>()
    };
    let is_packets = |line: &&Line| matches!(line.work.as_str(), "mix" | "plain");
    let is_run = |line: &&Line| line.work == "run";
    let n = sum(&is_packets, "size");
    let marked = 1.0 - sum(&is_packets, "unmarked") / n.max(1.0);
    (marked > MARKED_MAX).then(|| {
        format!(
            "{:.0} % of the packets are marked: other programs have taken the worker's core for {:.1} s and the generator's for \
             {:.1} s. Quiet cores are needed for figures that can be compared.",
            marked * 100.0,
            sum(&is_run, "hiccup_us") / 1e6,
            sum(&is_run, "generator_hiccup_us") / 1e6
        )
    })
}

fn us(ns: Option<f64>) -> String {
    ns.map_or_else(|| "-".to_owned(), |ns| format!("{:.2}", ns / 1e3))
}

pub(super) fn text(report: &Report) -> String {
    let lines = &report.lines;
    let mut text =
        "Latency of packets that add entries and of those that find them, in microseconds\n\n".to_owned();
    let head =
        ["program", "burst", "bytes", "phase", "class", "packets", "unmarked", "p50", "p90", "p99", "p99.9"];
    let head = head.into_iter().chain(["max", "p50 with marked", "max with marked"]);
    let mut rows = vec![head.map(str::to_owned).collect::<Vec<_>>()];
    let of_series = |series| Select { series: Some(series), ..Select::default() }.of(lines);
    let shown = of_series("packets").into_iter().chain(of_series("veth"));
    for line in shown.filter(|line| !matches!(line.work.as_str(), "run" | "windows")) {
        let share = line.number("unmarked").unwrap_or(0.0) / line.size.max(1) as f64;
        let mut row = vec![
            if line.peer == "veth" { "udp, veth".to_owned() } else { line.word("program").to_owned() },
            line.all["burst"].as_u64().map_or_else(|| "-".to_owned(), |burst| burst.to_string()),
            line.all["bytes"].to_string(),
            line.word("phase").to_owned(),
            line.work.clone(),
            line.size.to_string(),
            format!("{:.0} %", share * 100.0),
        ];
        row.extend(NAMED.map(|(name, _)| us(line.number(&format!("{name}_ns")))));
        row.extend(["p50_ns_with_marked", "max_ns_with_marked"].map(|key| us(line.number(key))));
        rows.push(row);
    }
    text += &report::aligned(&rows);
    text += "\nMedians by how seldom a packet has a new key, at half of the capacity\n\n";
    text += &report::aligned(&medians(lines, "rates", "one_in", "one in"));
    text += "\nMedians by load in percent of the capacity, one packet in 1000 with a new key\n\n";
    text += &report::aligned(&medians(lines, "loads", "load", "load"));
    text += "\nLearned by packets and by controllers\n\n";
    text += &super::digests::text(lines);
    let head = ["goal", "burst", "value", "wanted", ""].map(str::to_owned).to_vec();
    let goals: Vec<_> = std::iter::once(head).chain(report.goals.iter().map(Judged::cells)).collect();
    text += &format!("\n{}", report::aligned(&goals));
    for sentence in report.absent.iter().chain(&report.notes) {
        text += &format!("\n{sentence}\n");
    }
    text
}

/// A row for each point of a series, with the medians of its classes.
fn medians(lines: &[Line], series: &str, x: &str, title: &str) -> Vec<Vec<String>> {
    let head = [
        "program",
        "burst",
        title,
        "Mpps",
        "insert",
        "hit",
        "mix",
        "plain",
        "insert/hit",
        "insert p99",
        "hit p99",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let runs = Select { series: Some(series), class: Some("run"), ..Select::default() }.of(lines);
    for run in runs {
        let same = |line: &&Line| {
            ["peer", "program", "series", "phase", "burst", "bytes", x]
                .iter()
                .all(|key| line.all[*key] == run.all[*key])
        };
        let of_point: Vec<&Line> = lines.iter().filter(same).collect();
        let value = |class: &str, key: &str| of_point.iter().find(|line| line.work == class)?.number(key);
        let ratio = value("insert", "p50_ns").zip(value("hit", "p50_ns")).map(|(insert, hit)| insert / hit);
        let name = if run.peer == "siding" { run.word("program").to_owned() } else { run.peer.clone() };
        let mut row = vec![name, run.all["burst"].to_string(), run.all[x].to_string()];
        row.push(format!("{:.2}", run.number("mpps").unwrap_or(0.0)));
        row.extend(["insert", "hit", "mix", "plain"].map(|class| us(value(class, "p50_ns"))));
        row.push(ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}")));
        row.extend(["insert", "hit"].map(|class| us(value(class, "p99_ns"))));
        rows.push(row);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(work: &str, run: u32, ns: f64, max: f64) -> Line {
        let mut quantiles = vec![ns; SHARES.len()];
        quantiles[MAX] = max;
        let text = json!({
            "peer": "siding", "work": work, "size": 100, "cycles": 2.0 * ns, "cycles_min": ns, "tsc_ghz": 2.0, "run": run,
            "phase": "lookup", "series": "packets", "program": "udp", "burst": 32, "bytes": 84, "one_in": 10, "load": 50,
            "unmarked": 90, "ns": quantiles, "ns_with_marked": quantiles, "bins": [[10, ns, max]],
        });
        Line::parse(&text.to_string()).unwrap()
    }

    #[test]
    fn runs_are_combined_by_their_medians_and_the_largest_maximum() {
        let runs = [line("hit", 1, 100.0, 900.0), line("hit", 2, 300.0, 400.0), line("hit", 3, 200.0, 500.0)];
        let combined = over_runs(&runs);
        assert_eq!(combined.len(), 1);
        let all = &combined[0].all;
        assert_eq!((all["size"].as_u64(), all["unmarked"].as_u64()), (Some(300), Some(270)));
        assert_eq!((all["p50_ns"].as_f64(), all["max_ns"].as_f64()), (Some(200.0), Some(900.0)));
        assert_eq!(all["bins"], json!([[10.0, 200.0, 900.0]]));
        assert_eq!(combined[0].cycles, 400.0);
    }

    #[test]
    fn runs_whose_packets_are_all_marked_have_no_quantiles() {
        let mut marked = line("hit", 1, 100.0, 900.0);
        marked.all["ns"] = json!([]);
        let combined = over_runs(&[marked]);
        assert!(combined[0].number("p50_ns").is_none());
        assert_eq!(combined[0].number("p50_ns_with_marked"), Some(100.0));
    }

    #[test]
    fn a_slow_packet_that_no_other_run_has_is_the_machines() {
        let mut windows = line("windows", 2, 1.0, 1.0);
        windows.all["slowest_repeated_ns"] = json!(40_000.0);
        let lines = over_runs(&[line("hit", 1, 250.0, 60_000.0), line("hit", 2, 250.0, 900.0), windows]);
        let mut report = Report { lines, ..Report::default() };
        judge(&mut report);
        let goal = |name: &str| {
            report.goals.iter().find(|goal| goal.name == name).map(|goal| (goal.value, goal.is_met()))
        };
        assert_eq!(goal("slowest_repeated_us_udp"), Some((40.0, true)));
        assert_eq!(goal("slowest_unmarked_us_udp"), None);
        let unmarked = report.ratios.iter().find(|(name, _)| name == "slowest_unmarked_us_udp");
        assert_eq!(unmarked.map(|(_, values)| values.as_slice()), Some([(32, 60.0)].as_slice()));
    }

    #[test]
    fn goals_compare_medians_and_look_for_the_slowest_packet() {
        let lines = over_runs(&[line("insert", 1, 300.0, 60_000.0), line("hit", 1, 250.0, 1000.0)]);
        let mut report = Report { lines, ..Report::default() };
        judge(&mut report);
        let goals: Vec<(&str, u64, f64, bool)> = report
            .goals
            .iter()
            .map(|goal| (goal.name.as_str(), goal.size, goal.value, goal.is_met()))
            .collect();
        assert_eq!(
            goals,
            [("insert_to_hit_udp", 32, 1.2, true), ("slowest_unmarked_us_udp", 32, 60.0, false)]
        );
    }
}
