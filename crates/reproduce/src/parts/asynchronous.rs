//! Asynchronous externs: figures 3 to 6, the breakdown, and what goes beyond them.

use crate::json::{
    at, distinct, joined, lines, list, number, numbers, ours, pairs, points, published, short, with, word,
};
use crate::part::{Agreement, Commands, Need, Part, Research, Results, Shown, Size, one};
use bench::chart::{Across, Chart};
use serde_json::Value;

const PAPER: &str = "Laki et al.";
const CC: &[Need] = &[Need::Cc];
const CC_AND_CORES: &[Need] = &[Need::Cc, Need::TwoCores];

/// The cost in cycles from which suspending is published to pay.
const CROSSING: f64 = 2000.0;
/// Points of the grid of costs lie so far apart that a crossing is known within this factor.
const WITHIN: f64 = 2.5;
/// A share of packets that counts as no loss.
const NO_DROP: f64 = 0.01;

pub const PARTS: &[Part] = &[
    Part {
        name: "async-3",
        research: Research::Asynchronous,
        title: "Figure 3: packets a second over the cost of the extern",
        source: PAPER,
        published: "One worker core, one extern core, two exact tables, 64-byte packets, of which 10 to 100 % call an extern of \
                    50 to 10,000 cycles. 11 Mpps without an extern. Waiting is ahead below 2000 cycles and suspending above; \
                    with cheap externs suspending has 33 to 50 % of the rate of waiting.",
        commands: |size| rates(size, "3"),
        estimate_s: [8.0, 25.0, 110.0],
        needs: CC_AND_CORES,
        files: &[],
        read: figure_3,
    },
    Part {
        name: "async-4",
        research: Research::Asynchronous,
        title: "Figure 4: drops at the extern's buffer",
        source: PAPER,
        published: "With room for 1000 packets next to nothing is dropped below 2000 cycles; above, drops rise where 50 % and \
                    100 % of the packets call the extern.",
        commands: |size| rates(size, "4"),
        estimate_s: [6.0, 15.0, 45.0],
        needs: CC_AND_CORES,
        files: &[],
        read: figure_4,
    },
    Part {
        name: "async-5",
        research: Research::Asynchronous,
        title: "Figure 5: more workers, one extern core",
        source: PAPER,
        published: "10 % of the packets call an extern on one shared core. The rate grows nearly in proportion to the workers \
                    until that core has no more time.",
        commands: |size| rates(size, "5"),
        estimate_s: [6.0, 10.0, 40.0],
        needs: CC_AND_CORES,
        files: &[],
        read: figure_5,
    },
    Part {
        name: "async-6",
        research: Research::Asynchronous,
        title: "Figure 6: the highest rate without loss",
        source: PAPER,
        published: "RFC 2544 searches with an extern of 5000 cycles, over workers and shares of packets.",
        commands: |size| match size {
            Size::Smoke => one("bench async --figure 6 --json --quick --runs 1 -O 1"),
            Size::Quick => one("bench async --figure 6 --json --quick --runs 1"),
            Size::Full => one("bench async --figure 6 --json"),
        },
        estimate_s: [25.0, 25.0, 330.0],
        needs: CC_AND_CORES,
        files: &[],
        read: figure_6,
    },
    Part {
        name: "async-breakdown",
        research: Research::Asynchronous,
        title: "Breakdown: the cost of suspending and resuming a packet",
        source: PAPER,
        published: "Each suspended packet gets a context of the C library, made anew (ucontext with makecontext). Suspending pays \
                    from 2000 cycles on, which is what such a context costs.",
        commands: |size| match size {
            Size::Smoke => one("bench async --breakdown --json --quick --runs 1 -O 1"),
            Size::Quick => one("bench async --breakdown --json --quick"),
            Size::Full => one("bench async --breakdown --json"),
        },
        estimate_s: [20.0, 15.0, 40.0],
        needs: CC,
        files: &[],
        read: breakdown,
    },
    Part {
        name: "async-auto",
        research: Research::Asynchronous,
        title: "The worker's own choice between inline, waiting and suspending",
        source: "Laki et al., discussion",
        published: "Proposed as future work: choose while running, by the cost of the extern.",
        commands: |size| rates(size, "auto"),
        estimate_s: [10.0, 25.0, 110.0],
        needs: CC_AND_CORES,
        files: &[],
        read: auto,
    },
    Part {
        name: "async-aes",
        research: Research::Asynchronous,
        title: "A real extern: AES-GCM on another core",
        source: "",
        published: "",
        commands: |size| match size {
            Size::Smoke => one("bench async --extern aes-gcm --json --quick --runs 1 -O 1"),
            Size::Quick => one("bench async --extern aes-gcm --json --quick"),
            Size::Full => one("bench async --extern aes-gcm --json"),
        },
        estimate_s: [15.0, 15.0, 40.0],
        needs: CC_AND_CORES,
        files: &[],
        read: aes,
    },
];

/// All costs and shares also in a quick run, with fewer repetitions.
fn rates(size: Size, figure: &str) -> Commands {
    let more = size.of(["--quick --runs 1 -O 1", "--runs 3", ""]);
    one(&format!("bench async --figure {figure} --json {more}"))
}

/// Lines of the switch itself by the share of packets, in percent.
fn shares(value: &Value) -> Vec<(f64, Vec<&Value>)> {
    let all = with(&lines(value), &[("peer", "siding")]);
    let of = |share: f64| all.iter().filter(|line| number(line, "share") == Some(share)).copied().collect();
    numbers(&all, "share").into_iter().map(|share| (share, of(share))).collect()
}

fn way(lines: &[&Value], way: &str, key: &str) -> Vec<(f64, f64)> {
    points(&with(lines, &[("path", way)]), "size", key)
}

/// The middle of some numbers.
fn median(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied()
}

/// The least abscissa from which on all ratios are at least one.
fn ahead_from(ratios: &[(f64, f64)]) -> Option<f64> {
    let behind = ratios.iter().rposition(|(_, ratio)| *ratio < 1.0);
    ratios.get(behind.map_or(0, |i| i + 1)).map(|point| point.0)
}

fn is_near_crossing(cost: f64) -> bool {
    (CROSSING / WITHIN..=CROSSING * WITHIN).contains(&cost)
}

fn figure_3(results: &Results<'_>) -> Shown {
    let mut shown = Shown::default();
    let shares = shares(results.first());
    for (share, lines) in &shares {
        let ways = [
            ("none", "no extern"),
            ("inline", "inline, on the worker"),
            ("wait", "wait (sync)"),
            ("suspend", "suspend (async)"),
            ("auto", "auto"),
        ];
        let series = ways.iter().map(|(path, name)| ours(*name, way(lines, path, "mpps")));
        let mut series: Vec<_> = series.collect();
        let costs = numbers(lines, "size");
        if let (Some(first), Some(last)) = (costs.first(), costs.last()) {
            series.push(published("no extern, 11 Mpps", vec![(*first, 11.0), (*last, 11.0)]));
        }
        shown.chart(Chart {
            title: format!("{} % of the packets call the extern", short(*share)),
            x: "cost of the extern in cycles".to_owned(),
            y: "million packets a second".to_owned(),
            series,
            ..Chart::default()
        });
    }
    let without = shares.iter().flat_map(|(_, lines)| way(lines, "none", "mpps")).map(|point| point.1);
    if let Some(rate) = median(without.collect()) {
        let here = format!("{} Mpps (median of all points)", short(rate));
        shown.reading("Rate without an extern", "11 Mpps", here, Agreement::Open);
    }
    for (share, lines) in &shares {
        // Cycles, because rates are rounded to nothing on a busy machine.
        let both = pairs(&way(lines, "suspend", "cycles"), &way(lines, "wait", "cycles"));
        let ratios: Vec<(f64, f64)> =
            both.iter().map(|(cost, suspend, wait)| (*cost, wait / suspend)).collect();
        let (Some(first), Some(last)) = (ratios.first(), ratios.last()) else { continue };
        let aspect = format!("{} %: the cost from which suspending is ahead of waiting", short(*share));
        let (here, agreement) = match ahead_from(&ratios) {
            Some(from) if from <= first.0 => (
                format!("ahead at every cost, {} to {} cycles", short(first.0), short(last.0)),
                Agreement::Beyond,
            ),
            Some(from) => {
                let is_near = is_near_crossing(from);
                let agreement = match is_near {
                    true => Agreement::Same,
                    false if from < CROSSING => Agreement::Beyond,
                    false => Agreement::Differs,
                };
                (format!("{} cycles", short(from)), agreement)
            }
            None => (format!("behind still at {} cycles", short(last.0)), Agreement::Differs),
        };
        shown.reading(aspect, "2000 cycles", here, agreement);
        let cheap = ratios.iter().filter(|(cost, _)| *cost <= 100.0).map(|(_, ratio)| 100.0 * ratio);
        let cheap: Vec<f64> = cheap.collect();
        let least = cheap.iter().copied().fold(f64::INFINITY, f64::min);
        let most = cheap.iter().copied().fold(0.0, f64::max);
        if !cheap.is_empty() {
            let here =
                if cheap.len() == 1 { short(least) } else { format!("{} to {}", short(least), short(most)) };
            let agreement = match least {
                100.0.. => Agreement::Beyond,
                least => Agreement::same_if((25.0..=60.0).contains(&least)),
            };
            let aspect = format!("{} %: suspending, in percent of waiting, up to 100 cycles", short(*share));
            shown.reading(aspect, "33 to 50 %", format!("{here} %"), agreement);
        }
    }
    shown.readings.extend(with_contexts(results, &shares));
    shown
}

/// The cost from which suspending would overtake waiting with a context of the C library for each packet: the context less
/// the way to the other core and back, which both pay for.
fn with_contexts(results: &Results<'_>, shares: &[(f64, Vec<&Value>)]) -> Option<crate::part::Reading> {
    let breakdown = lines(results.other("async-breakdown"));
    let context = points(&with(&breakdown, &[("peer", "ucontext"), ("work", "suspend")]), "size", "cycles");
    let context = context.last()?.1;
    let trips = shares.iter().filter(|(share, _)| *share > 0.0).filter_map(|(share, lines)| {
        let (cost, wait) = *way(lines, "wait", "cycles").first()?;
        let none = at(&way(lines, "none", "cycles"), cost)?;
        Some((wait - none) / (share / 100.0) - cost)
    });
    // The least of them: a thread that waits for its core makes the others longer.
    let trip = trips.reduce(f64::min)?;
    let crossing = context - trip;
    let (here, agreement) = match crossing > 0.0 {
        true => {
            let is_near = is_near_crossing(crossing);
            (format!("{} cycles", short(crossing)), Agreement::same_if(is_near))
        }
        false => {
            ("at once: the way to the other core costs more than a context".to_owned(), Agreement::Differs)
        }
    };
    Some(crate::part::Reading {
        aspect: "The same with a context of the C library for each packet, by the parts' costs".to_owned(),
        published: "2000 cycles".to_owned(),
        here: format!(
            "{here} (a context {} cycles, see async-breakdown; to the other core and back {})",
            short(context),
            short(trip)
        ),
        agreement,
    })
}

fn figure_4(results: &Results<'_>) -> Shown {
    let mut shown = Shown::default();
    let shares = shares(results.first());
    let dropped: Vec<(f64, Vec<(f64, f64)>)> = shares
        .iter()
        .map(|(share, lines)| (*share, points(lines, "size", "dropped")))
        .filter(|(_, points)| !points.is_empty())
        .collect();
    let percent = |points: &[(f64, f64)]| points.iter().map(|(x, y)| (*x, 100.0 * y)).collect();
    let series = dropped.iter().map(|(share, points)| ours(format!("{} %", short(*share)), percent(points)));
    shown.chart(Chart {
        title: "Packets dropped at the extern's buffer, by the share that calls the extern".to_owned(),
        x: "cost of the extern in cycles".to_owned(),
        y: "percent of the packets that come to the extern".to_owned(),
        series: series.collect(),
        upwards: bench::chart::Upwards::Linear,
        ..Chart::default()
    });
    let base = shares_of_figure_3(results);
    for (share, points) in &dropped {
        let onset = points.iter().take_while(|(_, part)| *part <= NO_DROP).last();
        let rises = points.windows(2).all(|pair| pair[1].1 >= pair[0].1 - 0.03);
        let (Some(first), Some(last)) = (points.first(), points.last()) else { continue };
        let rising = match rises && last.1 > NO_DROP {
            true => format!("rising to {} %", short(100.0 * last.1)),
            false if last.1 <= NO_DROP => "nothing dropped at any cost".to_owned(),
            false => format!("not rising throughout, {} % at the end", short(100.0 * last.1)),
        };
        let near_zero = match onset {
            Some((cost, _)) => format!("at most 1 % up to {} cycles, ", short(*cost)),
            None => format!("{} % already at {} cycles, ", short(100.0 * first.1), short(first.0)),
        };
        let expected = base.map_or(String::new(), |base| {
            let cost = base * 100.0 / share;
            format!(
                "; one core for packets that take the worker {} cycles is full from {} on",
                short(base),
                short(cost)
            )
        });
        let is_same = rises && onset.is_some_and(|(cost, _)| *cost >= CROSSING / WITHIN);
        let agreement = match (is_same, rises) {
            (true, _) => Agreement::Same,
            // Faster workers fill the other core with cheaper externs.
            (false, true) => Agreement::Open,
            (false, false) => Agreement::Differs,
        };
        let text = match *share >= 50.0 {
            true => "next to nothing below 2000 cycles, then rising",
            false => "next to nothing below 2000 cycles",
        };
        shown.reading(
            format!("{} % of the packets call it", short(*share)),
            text,
            format!("{near_zero}{rising}{expected}"),
            agreement,
        );
    }
    let ordered = dropped
        .windows(2)
        .all(|pair| pairs(&pair[0].1, &pair[1].1).iter().all(|(_, fewer, more)| *more >= *fewer - 0.05));
    if dropped.len() > 1 {
        let here = if ordered { "the larger the share, the more" } else { "the order changes" };
        shown.reading(
            "Order of the shares",
            "the larger the share, the more",
            here,
            Agreement::same_if(ordered),
        );
    }
    shown
}

/// Cycles of a packet without an extern, from figure 3.
fn shares_of_figure_3(results: &Results<'_>) -> Option<f64> {
    let all = lines(results.other("async-3"));
    median(
        way(&with(&all, &[("peer", "siding")]), "none", "cycles").into_iter().map(|point| point.1).collect(),
    )
}

/// The largest number of workers up to which the rate is nine tenths of the proportion or more.
fn linear_to(points: &[(f64, f64)]) -> f64 {
    let Some((_, one)) = points.first().copied() else { return 0.0 };
    points.iter().take_while(|(n, rate)| *rate >= 0.9 * n * one).last().map_or(1.0, |point| point.0)
}

fn figure_5(results: &Results<'_>) -> Shown {
    let mut shown = Shown::default();
    let all = lines(results.first());
    let mut series = Vec::new();
    let works = distinct(&all, "work");
    for work in &works {
        let of = with(&all, &[("work", work)]);
        series.push(ours(
            format!("{work}, simulated"),
            points(&with(&of, &[("peer", "simulated")]), "size", "mpps"),
        ));
        series.push(ours(
            format!("{work}, measured"),
            points(&with(&of, &[("peer", "siding")]), "size", "mpps"),
        ));
    }
    shown.chart(Chart {
        title: "10 % of the packets call an extern on one shared core".to_owned(),
        x: "workers".to_owned(),
        y: "million packets a second".to_owned(),
        series,
        across: Across::Linear,
        notes: vec!["One worker is measured; more are simulated with its costs.".to_owned()],
        ..Chart::default()
    });
    for work in &works {
        let simulated = points(&with(&all, &[("work", work), ("peer", "simulated")]), "size", "mpps");
        let (Some(first), Some(last)) = (simulated.first(), simulated.last()) else { continue };
        let linear = linear_to(&simulated);
        let is_level =
            simulated.iter().filter(|(n, _)| *n > 2.0 * linear).all(|(_, rate)| *rate <= 1.1 * last.1);
        let here = match linear >= last.0 {
            true => format!("in proportion up to {} workers, {} Mpps", short(last.0), short(last.1)),
            false => format!(
                "in proportion up to {} worker{}, then level at {} Mpps",
                short(linear),
                if linear == 1.0 { "" } else { "s" },
                short(last.1)
            ),
        };
        let agreement = Agreement::same_if(first.1 > 0.0 && (linear >= last.0 || is_level));
        shown.reading(
            format!("An extern of {work}"),
            "nearly in proportion until the extern's core has no more time",
            here,
            agreement,
        );
    }
    shown
}

fn figure_6(results: &Results<'_>) -> Shown {
    let mut shown = Shown::default();
    let all = lines(results.first());
    for work in distinct(&all, "work") {
        let of = with(&all, &[("work", &work)]);
        let mut series = Vec::new();
        for path in ["inline", "wait", "suspend"] {
            let simulated = with(&of, &[("peer", "simulated"), ("path", path)]);
            series.push(ours(format!("{path}, simulated"), points(&simulated, "size", "mpps")));
            let measured = with(&of, &[("peer", "siding"), ("path", path)]);
            series.push(ours(format!("{path}, measured"), points(&measured, "size", "mpps")));
        }
        shown.chart(Chart {
            title: format!("{work} of the packets call an extern of 5000 cycles"),
            x: "workers".to_owned(),
            y: "million packets a second without loss".to_owned(),
            series,
            across: Across::Linear,
            ..Chart::default()
        });
        let rate = |path: &str| {
            let measured = points(&with(&of, &[("peer", "siding"), ("path", path)]), "size", "mpps");
            measured.first().map(|point| point.1)
        };
        if let (Some(wait), Some(suspend)) = (rate("wait"), rate("suspend")) {
            let here = format!("{} Mpps suspended, {} waiting", short(suspend), short(wait));
            let agreement = Agreement::same_if(suspend >= wait);
            shown.reading(
                format!("{work}: one worker, measured"),
                "above 2000 cycles suspending is ahead of waiting",
                here,
                agreement,
            );
        }
    }
    shown
}

fn breakdown(results: &Results<'_>) -> Shown {
    let mut shown = Shown::default();
    let all = lines(results.first());
    let of =
        |peer: &str, work: &str| points(&with(&all, &[("peer", peer), ("work", work)]), "size", "cycles");
    let mut bars = Vec::new();
    for (peer, work, name) in [
        ("ucontext", "suspend", "context of the C library for each packet, as in the paper"),
        ("siding", "suspend", "suspend and resume"),
        ("siding", "send", "from arrival to the ring"),
        ("siding", "serve", "the block, between two rings"),
        ("siding", "resume", "from the ring to the verdict"),
        ("siding", "ring", "a pointer through a ring"),
        ("siding", "inline", "a packet that is not suspended"),
        ("siding", "suspend, deparse, parse", "suspend and resume, deparsed and parsed once more"),
    ] {
        let points = of(peer, work);
        bars.extend(
            points.iter().map(|(n, cycles)| (format!("{name}; {} in flight", short(*n)), *cycles, false)),
        );
    }
    shown.bars("TSC cycles of a packet", "cycles", bars);
    for (n, theirs, mine) in pairs(&of("ucontext", "suspend"), &of("siding", "suspend")) {
        let aspect = format!("Suspend and resume, {} in flight", short(n));
        let (here, agreement) = match mine > 0.0 && theirs > 0.0 {
            true => (
                format!(
                    "{} cycles with the paper's method, {} in the packet's own buffer: {} times fewer",
                    short(theirs),
                    short(mine),
                    short(theirs / mine)
                ),
                if theirs / mine >= 2.0 { Agreement::Beyond } else { Agreement::Differs },
            ),
            false => ("lost in the noise of this machine".to_owned(), Agreement::Open),
        };
        shown.reading(aspect, "about 2000 cycles, by the crossing of figure 3", here, agreement);
    }
    shown
}

fn auto(results: &Results<'_>) -> Shown {
    let mut shown = Shown::default();
    let goals = list(results.first(), "goals");
    let goals: Vec<&Value> =
        goals.into_iter().filter(|goal| word(goal, "name").starts_with("auto_over_best")).collect();
    for (share, lines) in shares(results.first()) {
        let series = ["inline", "wait", "suspend", "auto"].map(|path| ours(path, way(&lines, path, "mpps")));
        shown.chart(Chart {
            title: format!("{} % of the packets call the extern", short(share)),
            x: "cost of the extern in cycles".to_owned(),
            y: "million packets a second".to_owned(),
            series: series.into(),
            ..Chart::default()
        });
    }
    let n_met = goals.iter().filter(|goal| goal["met"] == true).count();
    let worst = goals.iter().filter_map(|goal| number(goal, "value")).fold(0.0, f64::max);
    if !goals.is_empty() {
        let here = format!(
            "within 5 % of the best fixed way at {n_met} of {} points; {} % behind at the worst",
            goals.len(),
            short(100.0 * (worst - 1.0).max(0.0))
        );
        shown.reading("The choice", "proposed, not measured", here, Agreement::Open);
    }
    shown
}

fn aes(results: &Results<'_>) -> Shown {
    let mut shown = Shown::default();
    let all = lines(results.first());
    let series = distinct(&all, "peer").into_iter().map(|peer| {
        let name =
            if peer == "siding" { "offload worker".to_owned() } else { format!("{peer}, the library alone") };
        ours(name, points(&with(&all, &[("peer", &peer)]), "size", "cycles"))
    });
    shown.chart(Chart {
        title: "AES-GCM, a key of 128 bits".to_owned(),
        x: "bytes of the packet".to_owned(),
        y: "nanoseconds for a packet".to_owned(),
        series: series.collect(),
        ..Chart::default()
    });
    let goals = list(results.first(), "goals");
    let ratios: Vec<String> = goals
        .iter()
        .filter_map(|goal| {
            Some(format!("{} at {} bytes", short(number(goal, "value")?), short(number(goal, "size")?)))
        })
        .collect();
    if !ratios.is_empty() {
        let here = format!("{} times the library's time", joined(&ratios));
        shown.reading("An offload worker beside the library alone", "not published", here, Agreement::Open);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crossings_are_found() {
        assert_eq!(ahead_from(&[(50.0, 0.5), (1000.0, 0.9), (2000.0, 1.1), (5000.0, 1.2)]), Some(2000.0));
        assert_eq!(ahead_from(&[(50.0, 1.0), (1000.0, 1.5)]), Some(50.0));
        assert_eq!(ahead_from(&[(50.0, 1.0), (1000.0, 0.5)]), None);
        assert_eq!(linear_to(&[(1.0, 2.0), (2.0, 3.9), (4.0, 4.0)]), 2.0);
        assert_eq!(linear_to(&[]), 0.0);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
    }
}
