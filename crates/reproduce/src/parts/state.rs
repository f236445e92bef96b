//! Tables that packets write: cycles and latency.

use crate::json::{distinct, joined, lines, number, numbers, ours, pairs, points, scaled, short, with, word};
use crate::part::{Agreement, Need, Part, Research, Results, Shown, one};
use bench::chart::{Across, Chart, Upwards};
use serde_json::Value;

const PAPER: &str = "Simon, Stubbe, Gallenmüller, Carle";

pub const PARTS: &[Part] = &[
    Part {
        name: "state-throughput",
        research: Research::State,
        title: "Packets that add entries and packets that find them: cycles over the flows",
        source: PAPER,
        published: "An insertion is dearer than a lookup.",
        commands: |size| {
            one(size.of([
                "bench state --json --quick --runs 1 --flows 1000 -O 1",
                "bench state --json --quick --runs 3",
                "bench state --json",
            ]))
        },
        estimate_s: [20.0, 30.0, 120.0],
        needs: &[Need::Cc],
        files: &[],
        read: throughput,
    },
    Part {
        name: "state-latency",
        research: Research::State,
        title: "Latency of packets that add entries",
        source: PAPER,
        published: "2^20 keys are inserted in an order that looks random, then four million lookups follow, with a new key in every \
                    10,000th packet and at other rates; 84-byte packets. Insertions take longer than lookups, up to 47 % at some \
                    rates; the median of the mix falls as the rate rises.",
        commands: |size| {
            one(size.of([
                "bench state --figure latency --json --quick --runs 1 -O 1",
                "bench state --figure latency --json --quick",
                "bench state --figure latency --json",
            ]))
        },
        estimate_s: [40.0, 45.0, 600.0],
        needs: &[Need::Cc, Need::TwoCores],
        files: &[],
        read: latency,
    },
];

fn throughput(results: &Results<'_>) -> Shown {
    let mut shown = Shown::default();
    let all = lines(results.first());
    let mut series = Vec::new();
    for peer in distinct(&all, "peer") {
        let of_peer = with(&all, &[("peer", &peer)]);
        for work in ["learn", "hit", "mixed"] {
            series.push(ours(
                format!("{peer}, {work}"),
                points(&with(&of_peer, &[("work", work)]), "size", "cycles"),
            ));
        }
    }
    series.retain(|series| !series.points.is_empty());
    shown.chart(Chart {
        title: "Cycles of a packet that adds an entry (learn) and of one that finds it (hit)".to_owned(),
        x: "flows".to_owned(),
        y: "TSC cycles of a packet".to_owned(),
        series,
        ..Chart::default()
    });
    let mine = with(&all, &[("peer", "siding")]);
    let of = |work: &str| points(&with(&mine, &[("work", work)]), "size", "cycles");
    let ratios: Vec<(f64, f64)> =
        pairs(&of("learn"), &of("hit")).iter().map(|(n, learn, hit)| (*n, learn / hit)).collect();
    if !ratios.is_empty() {
        let text: Vec<String> = ratios
            .iter()
            .map(|(n, ratio)| format!("{} times with {} flows", short(*ratio), short(*n)))
            .collect();
        let is_dearer = ratios.iter().all(|(_, ratio)| *ratio > 1.0);
        shown.reading(
            "An insertion beside a lookup, cycles",
            "dearer",
            joined(&text),
            Agreement::same_if(is_dearer),
        );
    }
    let extra: Vec<f64> = all.iter().filter_map(|line| number(line, "extra_cycles")).collect();
    if let Some(most) = extra.iter().copied().reduce(f64::max) {
        let here = format!("at most {} cycles more", short(most));
        shown.reading("Changing an entry beside reading it", "not published", here, Agreement::Open);
    }
    shown
}

/// Lines of one series of the switch.
fn of_series<'v>(all: &[&'v Value], series: &str, program: &str, burst: f64) -> Vec<&'v Value> {
    let of = with(all, &[("series", series), ("program", program), ("peer", "siding")]);
    of.into_iter().filter(|line| number(line, "burst") == Some(burst)).collect()
}

/// Shares of packets that were at most as late as the quantile of the same index in `ns`, from the median on.
const SHARES: [(usize, f64); 8] =
    [(4, 2.0), (5, 4.0), (6, 10.0), (7, 20.0), (8, 100.0), (9, 1e3), (10, 1e4), (11, 1e5)];

fn latency(results: &Results<'_>) -> Shown {
    let mut shown = Shown::default();
    let all = lines(results.first());
    for program in distinct(&all, "program") {
        let of_program = with(&all, &[("program", &program), ("peer", "siding")]);
        for burst in numbers(&of_program, "burst") {
            figures(&mut shown, &all, &program, burst);
            readings(&mut shown, &all, &program, burst);
        }
    }
    learning(&mut shown, &all);
    shown
}

fn figures(shown: &mut Shown, all: &[&Value], program: &str, burst: f64) {
    let of = of_series(all, "packets", program, burst);
    let mut series = Vec::new();
    for (phase, work) in [("learn", "insert"), ("lookup", "insert"), ("lookup", "hit"), ("lookup", "plain")] {
        let lines = with(&of, &[("phase", phase), ("work", work)]);
        let Some(line) = lines.iter().find(|line| number(line, "bytes") == Some(84.0)) else { continue };
        let n = number(line, "unmarked").unwrap_or(0.0) / number(line, "runs").unwrap_or(1.0).max(1.0);
        let at = SHARES.iter().filter(|(_, one_in)| *one_in <= n);
        let points = at.filter_map(|(i, one_in)| Some((*one_in, line["ns"][*i].as_f64()? / 1e3))).collect();
        series.push(ours(format!("{phase}: {work}"), points));
    }
    shown.chart(Chart {
        title: format!("Distribution of latency: program {program}, bursts of {}", short(burst)),
        x: "one packet in so many is slower".to_owned(),
        y: "microseconds".to_owned(),
        series,
        ..Chart::default()
    });
    for (name, x, words, across) in [
        ("rates", "one_in", "one packet in so many has a new key", Across::Logarithmic),
        ("loads", "load", "percent of the capacity", Across::Linear),
    ] {
        let of = of_series(all, name, program, burst);
        let series = ["insert", "hit", "mix"]
            .map(|work| ours(work, scaled(points(&with(&of, &[("work", work)]), x, "p50_ns"), 1e-3)));
        shown.chart(Chart {
            title: format!("Medians: program {program}, bursts of {}", short(burst)),
            x: words.to_owned(),
            y: "median in microseconds".to_owned(),
            series: series.into(),
            across,
            upwards: Upwards::Linear,
            ..Chart::default()
        });
    }
}

fn readings(shown: &mut Shown, all: &[&Value], program: &str, burst: f64) {
    let of = of_series(all, "rates", program, burst);
    let medians = |work: &str| points(&with(&of, &[("work", work)]), "one_in", "p50_ns");
    let who = format!("Program {program}, bursts of {}", short(burst));
    let more: Vec<(f64, f64)> = pairs(&medians("insert"), &medians("hit"))
        .iter()
        .map(|(one_in, insert, hit)| (*one_in, 100.0 * (insert / hit - 1.0)))
        .collect();
    let most = more.iter().copied().reduce(|one, other| if other.1 > one.1 { other } else { one });
    if let Some((one_in, most)) = most {
        let here = format!("up to {} % more (one new key in {}), by medians", short(most), short(one_in));
        shown.reading(
            format!("{who}: insertions beside lookups"),
            "up to 47 % more",
            here,
            Agreement::same_if(most > 0.0),
        );
    }
    // From rare new keys to frequent ones.
    let mix = medians("mix");
    if let (Some(frequent), Some(rare)) = (mix.first(), mix.last())
        && mix.len() > 1
    {
        let here = format!(
            "from {} µs with one new key in {} to {} µs with one in {}",
            short(rare.1 / 1e3),
            short(rare.0),
            short(frequent.1 / 1e3),
            short(frequent.0)
        );
        shown.reading(
            format!("{who}: median of the mix as the rate rises"),
            "falls",
            here,
            Agreement::same_if(frequent.1 <= rare.1),
        );
    }
}

fn learning(shown: &mut Shown, all: &[&Value]) {
    let of = with(all, &[("series", "learning")]);
    let bars: Vec<(String, f64, bool)> = of
        .iter()
        .filter_map(|line| {
            let who = match word(line, "work") {
                "add_entry" => "the packet adds the entry".to_owned(),
                _ => format!("a controller learns by digests, {} ms later", short(number(line, "delay_ms")?)),
            };
            Some((who, number(line, "first_hit_us_p50")?, false))
        })
        .collect();
    let first = bars.first().map(|bar| bar.1);
    let least = bars.iter().skip(1).map(|bar| bar.1).reduce(f64::min);
    shown.bars("Time until a new entry is hit, median", "microseconds", bars);
    if let (Some(own), Some(controller)) = (first, least) {
        let here = format!("{} µs, by a controller without delay {} µs", short(own), short(controller));
        shown.reading("Time until an entry is active", "not published", here, Agreement::Open);
    }
}
