//! Stateful actions of many cycles: figures 1a to 1c, queues of flows, and the same question on processors.

use crate::json::{at, joined, lines, list, number, ours, published, series, short, with, word};
use crate::part::{Agreement, Commands, Need, Part, Research, Results, Shown, Size, one, words};
use bench::chart::{Across, Chart, Series, Upwards};
use serde_json::Value;

const PAPER: &str = "Cascone, Bifulco, Pontarelli et al.";
const FOLLOW_UP: &str = "opp-sim and the work on flow queues";

/// Throughput that counts as no loss; the published worst minute of one lock at ten cycles is 0.9985.
const NO_LOSS: f64 = 0.998;

pub const PARTS: &[Part] = &[
    Part {
        name: "hazards-1a",
        research: Research::Hazards,
        title: "Figure 1a: sizes of packets over alpha",
        source: PAPER,
        published: "Alpha says how much is left of the lengths of a link between providers: at 1 they are as they were, at 0 all \
                    packets are minimal.",
        commands: |size| sim(size, "--figure 1a"),
        estimate_s: [1.0, 1.0, 2.0],
        needs: &[],
        files: &[],
        read: sizes,
    },
    Part {
        name: "hazards-1b",
        research: Research::Hazards,
        title: "Figure 1b: hazards over the length of the action",
        source: PAPER,
        published: "Minimal packets (alpha = 0) meet in every cycle as soon as an action has two cycles. As they were (alpha = 1) \
                    less than 5 % of the cycles have a hazard up to 19 cycles.",
        commands: |size| sim(size, "--figure 1b"),
        estimate_s: [3.0, 2.0, 8.0],
        needs: &[],
        files: &[],
        read: hazards,
    },
    Part {
        name: "hazards-1c",
        research: Research::Hazards,
        title: "Figure 1c: throughput behind one lock",
        source: PAPER,
        published: "With alpha = 1 nothing is lost up to 10 cycles, with alpha = 0.2 up to 3.",
        commands: |size| sim(size, "--figure 1c"),
        estimate_s: [3.0, 2.0, 10.0],
        needs: &[],
        files: &[],
        read: lock,
    },
    Part {
        name: "hazards-flow",
        research: Research::Hazards,
        title: "Locks and queues for flows",
        source: FOLLOW_UP,
        published: "One lock for all: 0.998 of the line rate or more up to 10 cycles, 0.93 at 11, 0.64 at 16. A lock for each of 16 \
                    groups of flows: next to nothing lost at 16.",
        commands: |size| sim(size, "--figure flow"),
        estimate_s: [15.0, 6.0, 25.0],
        needs: &[],
        files: &[],
        read: flow,
    },
    Part {
        name: "hazards-datacenter",
        research: Research::Hazards,
        title: "The same in a data centre of short packets",
        source: FOLLOW_UP,
        published: "A cluster of Facebook's, 2.75 cycles a packet: hazards in 8.5 % of the cycles at N = 2, 24.2 at 3, 35.5 at 10. \
                    One lock: 0.914 at N = 3, 0.549 at 5, 0.275 at 10.",
        commands: datacenter,
        estimate_s: [5.0, 3.0, 15.0],
        needs: &[],
        files: &[],
        read: short_packets,
    },
    Part {
        name: "hazards-budget",
        research: Research::Hazards,
        title: "The longest action for a loss",
        source: FOLLOW_UP,
        published: "Behind one lock with room for 100 packets: 9 cycles on a link of 2015 (CHI15), 2 in SJ12, 4 in MAWI, 2 at \
                    Facebook's.",
        commands: budgets,
        estimate_s: [12.0, 18.0, 30.0],
        needs: &[],
        files: &[],
        read: budget,
    },
    Part {
        name: "hazards-registers",
        research: Research::Hazards,
        title: "The same question on processors: updates of registers that workers lose",
        source: "",
        published: "",
        commands: |size| {
            one(size.of([
                "bench registers --json --quick --runs 1 -O 1",
                "bench registers --json --quick",
                "bench registers --json",
            ]))
        },
        estimate_s: [15.0, 18.0, 60.0],
        needs: &[Need::Cc, Need::TwoCores],
        files: &[],
        read: registers,
    },
];

fn n_packets(size: Size) -> &'static str {
    size.of(["20000", "200000", "1000000"])
}

fn sim(size: Size, what: &str) -> Commands {
    one(&format!("sim {what} --quiet --json --packets {}", n_packets(size)))
}

fn datacenter(size: Size) -> Commands {
    ["1b", "1c"]
        .map(|figure| {
            let line = format!(
                "sim --figure {figure} --profile facebook --alpha 1 --quiet --json --packets {}",
                n_packets(size)
            );
            (figure.to_owned(), words(&line))
        })
        .into()
}

/// Profiles, where their sizes are from, and the published longest action.
const LINKS: [(&str, &str, f64); 4] =
    [("backbone", "CHI15", 9.0), ("sj12", "SJ12", 2.0), ("mawi", "MAWI", 4.0), ("facebook", "Facebook", 2.0)];

fn budgets(size: Size) -> Commands {
    let n = size.of(["20000", "500000", "1000000"]);
    LINKS
        .map(|(profile, ..)| {
            let line = format!("sim --budget 0.01%,0.1%,1% --profile {profile} --quiet --json --packets {n}");
            (profile.to_owned(), words(&line))
        })
        .into()
}

/// A line of a figure by its name.
fn line<'s>(all: &'s [Series], name: &str) -> &'s [(f64, f64)] {
    all.iter().find(|series| series.name == name).map_or(&[], |series| &series.points)
}

fn chart(value: &Value, more: Vec<Series>, upwards: Upwards) -> Chart {
    let text = |key: &str| word(value, key).to_owned();
    let mut all = series(value);
    all.extend(more);
    Chart {
        title: text("title"),
        x: text("x"),
        y: text("y"),
        series: all,
        across: Across::Linear,
        upwards,
        ..Chart::default()
    }
}

fn sizes(results: &Results<'_>) -> Shown {
    let mut shown = Shown::default();
    let value = results.first();
    shown.chart(chart(value, Vec::new(), Upwards::Linear));
    let all = series(value);
    // The share of packets of at most so many bytes.
    let share = |points: &[(f64, f64)], bytes: f64| {
        points.iter().rev().find(|point| point.0 <= bytes).map_or(0.0, |p| p.1)
    };
    let short_ones: Vec<f64> = all.iter().map(|series| share(&series.points, 256.0)).collect();
    if short_ones.len() > 1 {
        let is_falling = short_ones.windows(2).all(|pair| pair[0] >= pair[1] - 0.01);
        let text: Vec<String> = short_ones.iter().map(|share| short(100.0 * share)).collect();
        shown.reading(
            "Packets of at most 256 bytes, from alpha = 0 to 1",
            "fewer with each step",
            format!("{} %", joined(&text)),
            Agreement::same_if(is_falling),
        );
    }
    let at_zero = line(&all, "alpha = 0");
    if !at_zero.is_empty() {
        let here = format!("{} % have at most 64 bytes", short(100.0 * share(at_zero, 64.0)));
        shown.reading("alpha = 0", "all minimal", here, Agreement::same_if(share(at_zero, 64.0) > 0.985));
    }
    shown
}

fn hazards(results: &Results<'_>) -> Shown {
    let mut shown = Shown::default();
    let value = results.first();
    let theirs = vec![(2.0, 2.9), (5.0, 3.9), (10.0, 4.4), (19.0, 5.5), (20.0, 9.4)];
    shown.chart(chart(value, vec![published("alpha = 1", theirs.clone())], Upwards::BySpan));
    let all = series(value);
    let zero = line(&all, "alpha = 0");
    if let Some(at_two) = at(zero, 2.0) {
        let most = zero.iter().map(|point| point.1).fold(0.0, f64::max);
        let here = format!("{} % of the cycles at N = 2, {} % at most", short(at_two), short(most));
        shown.reading(
            "alpha = 0",
            "maximal already at N = 2",
            here,
            Agreement::same_if(at_two >= 0.999 * most),
        );
    }
    let one = line(&all, "alpha = 1");
    if !one.is_empty() {
        let last = one.iter().take_while(|(_, percent)| *percent < 5.0).last().map_or(0.0, |point| point.0);
        let here = format!("up to N = {} ({} % there)", short(last), short(at(one, last).unwrap_or(0.0)));
        shown.reading(
            "alpha = 1: less than 5 % of the cycles",
            "up to N = 19",
            here,
            Agreement::same_if((18.0..=20.0).contains(&last)),
        );
        let pairs = crate::json::pairs(one, &theirs);
        let text: Vec<String> =
            pairs.iter().map(|(n, here, _)| format!("{} at {}", short(*here), short(*n))).collect();
        let far = pairs.iter().map(|(_, here, theirs)| (here - theirs).abs()).fold(0.0, f64::max);
        let of: Vec<String> = theirs.iter().map(|(n, y)| format!("{} at {}", short(*y), short(*n))).collect();
        shown.reading(
            "alpha = 1, percent by N",
            joined(&of),
            format!("{}; at most {} points off", joined(&text), short(far)),
            Agreement::same_if(far <= 1.5),
        );
    }
    shown
}

/// The longest action up to which nothing is lost.
fn lossless(points: &[(f64, f64)]) -> f64 {
    points.iter().take_while(|(_, throughput)| *throughput >= NO_LOSS).last().map_or(0.0, |point| point.0)
}

fn lock(results: &Results<'_>) -> Shown {
    let mut shown = Shown::default();
    let value = results.first();
    let more = vec![published("alpha = 1", vec![(10.0, 0.9985)]), published("alpha = 0.2", vec![(3.0, 1.0)])];
    shown.chart(chart(value, more, Upwards::Linear));
    let all = series(value);
    for (name, wanted) in [("alpha = 1", 10.0), ("alpha = 0.2", 3.0)] {
        let points = line(&all, name);
        if points.is_empty() {
            continue;
        }
        let last = lossless(points);
        let next = at(points, last + 1.0).unwrap_or(0.0);
        let here = format!(
            "up to N = {}, then {} of the load at N = {}",
            short(last),
            short(next),
            short(last + 1.0)
        );
        let aspect = format!("{name}: nothing lost ({NO_LOSS} or more)");
        shown.reading(
            aspect,
            format!("up to N = {}", short(wanted)),
            here,
            Agreement::same_if(last == wanted),
        );
    }
    shown
}

fn flow(results: &Results<'_>) -> Shown {
    let mut shown = Shown::default();
    let value = results.first();
    let theirs = vec![(10.0, 0.998), (11.0, 0.93), (16.0, 0.64)];
    shown.chart(chart(value, vec![published("global lock", theirs.clone())], Upwards::Linear));
    let all = series(value);
    let global = line(&all, "global lock");
    for (n, wanted) in theirs {
        let Some(here) = at(global, n) else { continue };
        let is_same = match wanted {
            NO_LOSS => here >= NO_LOSS,
            wanted => (here / wanted - 1.0).abs() <= 0.03,
        };
        let more = if wanted == NO_LOSS { " or more" } else { "" };
        shown.reading(
            format!("One lock for all, N = {}", short(n)),
            format!("{wanted}{more}"),
            format!("{here:.3}"),
            Agreement::same_if(is_same),
        );
    }
    if let Some(here) = at(line(&all, "5-tuple, Q = 16, W = 16"), 16.0) {
        shown.reading(
            "A lock for each of 16 groups of flows, N = 16",
            "near 1",
            format!("{here:.3}"),
            Agreement::same_if(here >= 0.98),
        );
    }
    shown
}

fn short_packets(results: &Results<'_>) -> Shown {
    let mut shown = Shown::default();
    let of_hazards = [(2.0, 8.5), (3.0, 24.2), (4.0, 31.4), (5.0, 32.8), (8.0, 35.1), (10.0, 35.5)];
    let of_lock = [(2.0, 1.0), (3.0, 0.914), (4.0, 0.686), (5.0, 0.549), (8.0, 0.343), (10.0, 0.275)];
    for (figure, name, theirs, scale) in [
        ("1b", "Hazards, percent of the cycles", of_hazards, 1.0),
        ("1c", "Throughput behind one lock", of_lock, 100.0),
    ] {
        let value = results.labelled(figure);
        shown.chart(chart(value, vec![published("alpha = 1", theirs.to_vec())], Upwards::Linear));
        let all = series(value);
        let pairs = crate::json::pairs(line(&all, "alpha = 1"), &theirs);
        if pairs.is_empty() {
            continue;
        }
        let text = |which: fn(&(f64, f64, f64)) -> f64| {
            let each: Vec<String> =
                pairs.iter().map(|pair| format!("{} at {}", short(which(pair)), short(pair.0))).collect();
            joined(&each)
        };
        let far = pairs.iter().map(|(_, here, theirs)| (here - theirs).abs() * scale).fold(0.0, f64::max);
        shown.reading(
            format!("{name}, by N"),
            text(|pair| pair.2),
            format!("{}; at most {} percentage points off", text(|pair| pair.1), short(far)),
            Agreement::same_if(far <= 3.0),
        );
    }
    shown
}

fn budget(results: &Results<'_>) -> Shown {
    let mut shown = Shown::default();
    for (profile, link, wanted) in LINKS {
        let budgets = list(results.labelled(profile), "budgets");
        let Some(global) = with(&budgets, &[("key", "global")]).first().copied() else { continue };
        let longest = list(global, "longest");
        let strictest =
            longest.iter().filter_map(|point| Some((number(point, "loss")?, number(point, "cycles")?)));
        let strictest = strictest.min_by(|one, other| one.0.total_cmp(&other.0));
        let text: Vec<String> = longest
            .iter()
            .filter_map(|p| {
                Some(format!("{} for {} %", short(number(p, "cycles")?), short(100.0 * number(p, "loss")?)))
            })
            .collect();
        if let Some((_, cycles)) = strictest {
            shown.reading(
                format!("{link} (profile {profile}), one lock, room for 100"),
                format!("{} cycles", short(wanted)),
                joined(&text),
                Agreement::same_if((cycles - wanted).abs() <= 1.0),
            );
        }
    }
    shown
}

fn registers(results: &Results<'_>) -> Shown {
    let mut shown = Shown::default();
    let all = lines(results.first());
    let two: Vec<&Value> =
        with(&all, &[("path", "plain")]).into_iter().filter(|l| number(l, "workers") == Some(2.0)).collect();
    let mut works = Vec::new();
    for work in crate::json::distinct(&two, "work") {
        let of = with(&two, &[("work", &work)]);
        let lost = of
            .iter()
            .filter_map(|l| Some((number(l, "size")?.max(1.0), 100.0 * number(l, "lost")?)))
            .collect();
        works.push(ours(format!("{work}, measured"), lost));
        let simulated = of
            .iter()
            .filter_map(|l| Some((number(l, "size")?.max(1.0), 100.0 * number(l, "simulated_lost")?)));
        works.push(ours(format!("{work}, simulated"), simulated.collect()));
    }
    shown.chart(Chart {
        title: "Updates of registers that two workers lose".to_owned(),
        x: "products between the read and the write".to_owned(),
        y: "percent of the updates".to_owned(),
        series: works,
        upwards: Upwards::Linear,
        ..Chart::default()
    });
    let most = |is_wanted: &dyn Fn(&Value) -> bool| {
        two.iter().filter(|l| is_wanted(l)).filter_map(|l| number(l, "lost")).reduce(f64::max)
    };
    if let Some(lost) = most(&|l| l["sharded"] == true) {
        shown.reading(
            "State of flows whose packets come to one worker",
            "a lock for each flow loses nothing",
            format!("{} % of the updates lost without any lock", short(100.0 * lost)),
            Agreement::same_if(lost == 0.0),
        );
    }
    if let Some(lost) = most(&|l| number(l, "cells") == Some(1.0)) {
        shown.reading(
            "State of all packets, without a lock",
            "hazards grow with the length of the action",
            format!("up to {} % of the updates lost", short(100.0 * lost)),
            Agreement::Open,
        );
    }
    shown
}
