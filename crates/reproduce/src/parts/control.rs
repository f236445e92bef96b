//! The control plane: ways of entries into tables.

use crate::json::{distinct, lines, number, ours, points, published, scaled, short, with, word};
use crate::part::{Agreement, Need, Part, Research, Results, Shown, one};
use bench::chart::Chart;
use serde_json::Value;

const PAPER: &str = "Chabbi, Kozlyuk, Lo";
const CC: &[Need] = &[Need::Cc];
const CC_AND_CORES: &[Need] = &[Need::Cc, Need::TwoCores];

/// Millions of entries a second that the paper reports: messages and columns, deserialised and applied.
const PLAIN_READ: f64 = 0.945;
const COLUMNS_READ: f64 = 9.289;
const PLAIN_APPLIED: f64 = 0.598;
const COLUMNS_APPLIED: f64 = 5.996;
/// The best rate of shared memory.
const SHARED: f64 = 25.0;

pub const PARTS: &[Part] = &[
    Part {
        name: "control-plain",
        research: Research::Control,
        title: "P4Runtime: entries a second over the updates in a request",
        source: PAPER,
        published: "Standard messages: 945,000 entries a second deserialised, 598,000 applied.",
        commands: |size| {
            one(size.of([
                "bench control --figure plain --json --quick --runs 1 --entries 2000 -O 1",
                "bench control --figure plain --json --quick",
                "bench control --figure plain --json",
            ]))
        },
        estimate_s: [15.0, 20.0, 90.0],
        needs: CC,
        files: &[],
        read: plain,
    },
    Part {
        name: "control-bulk",
        research: Research::Control,
        title: "Entries in columns, beside messages",
        source: PAPER,
        published: "Columns: 9.289 million entries a second deserialised, 5.996 million applied: ten times the rate of messages.",
        commands: |size| {
            one(size.of([
                "bench control --figure bulk --json --quick --runs 1 --entries 5000 -O 1",
                "bench control --figure bulk --json --quick",
                "bench control --figure bulk --json",
            ]))
        },
        estimate_s: [15.0, 20.0, 60.0],
        needs: CC,
        files: &[],
        read: bulk,
    },
    Part {
        name: "control-shm",
        research: Research::Control,
        title: "Shared memory: entries a second over the size of the ring",
        source: PAPER,
        published: "50 million entries, one consumer, batches of a quarter of the memory: above 25 million a second at best \
                    (copied, not inserted).",
        commands: |size| {
            one(size.of([
                "bench control --figure shm --json --quick --runs 1 --entries 5000 -O 1",
                "bench control --figure shm --json --quick --entries 200000",
                "bench control --figure shm --json",
            ]))
        },
        estimate_s: [12.0, 8.0, 30.0],
        needs: CC,
        files: &[],
        read: shared_memory,
    },
    Part {
        name: "control-read",
        research: Research::Control,
        title: "Dumps, loads and migration from switch to switch",
        source: "",
        published: "",
        commands: |size| {
            one(size.of([
                "bench control --figure read --json --quick --runs 1 --entries 5000 -O 1",
                "bench control --figure read --json --quick",
                "bench control --figure read --json",
            ]))
        },
        estimate_s: [15.0, 18.0, 60.0],
        needs: CC,
        files: &[],
        read: dumps,
    },
    Part {
        name: "control-latency",
        research: Research::Control,
        title: "The time of one update, alone and beside a writer",
        source: "",
        published: "",
        commands: |size| {
            one(size.of([
                "bench control --figure latency --json --quick -O 1",
                "bench control --figure latency --json --quick",
                "bench control --figure latency --json",
            ]))
        },
        estimate_s: [15.0, 8.0, 40.0],
        needs: CC,
        files: &[],
        read: latency,
    },
    Part {
        name: "control-interference",
        research: Research::Control,
        title: "Packets beside updates at full speed",
        source: "",
        published: "",
        commands: |size| {
            one(size.of([
                "bench control --figure interference --json --quick --runs 1 -O 1",
                "bench control --figure interference --json --quick --runs 3",
                "bench control --figure interference --json",
            ]))
        },
        estimate_s: [30.0, 30.0, 150.0],
        needs: CC_AND_CORES,
        files: &[],
        read: interference,
    },
];

/// Millions a second of one work over a key.
fn rates(lines: &[&Value], work: &str, x: &str) -> Vec<(f64, f64)> {
    scaled(points(&with(lines, &[("work", work)]), x, "entries_per_second"), 1e-6)
}

fn best(points: &[(f64, f64)]) -> f64 {
    points.iter().map(|point| point.1).fold(0.0, f64::max)
}

fn plain(results: &Results<'_>) -> Shown {
    let mut shown = Shown::default();
    let all = lines(results.first());
    let mut series = Vec::new();
    for peer in distinct(&all, "peer") {
        let of_peer = with(&all, &[("peer", &peer)]);
        for transport in distinct(&of_peer, "transport") {
            for at_a_time in crate::json::numbers(&of_peer, "at_a_time") {
                let of = with(&of_peer, &[("transport", &transport)]);
                let of: Vec<&Value> =
                    of.into_iter().filter(|l| number(l, "at_a_time") == Some(at_a_time)).collect();
                series.push(ours(
                    format!("{peer}, {transport}, {} at a time", short(at_a_time)),
                    rates(&of, "insert", "batch"),
                ));
            }
        }
    }
    let batches = crate::json::numbers(&all, "batch");
    if let (Some(first), Some(last)) = (batches.first(), batches.last()) {
        series.push(published("applied", vec![(*first, PLAIN_APPLIED), (*last, PLAIN_APPLIED)]));
    }
    shown.chart(Chart {
        title: "Inserting by P4Runtime's Write".to_owned(),
        x: "updates in a request".to_owned(),
        y: "million entries a second".to_owned(),
        series,
        ..Chart::default()
    });
    let mine = with(&all, &[("peer", "siding")]);
    let inserts = rates(&mine, "insert", "batch");
    if !inserts.is_empty() {
        let most = best(&inserts);
        let agreement = if most >= PLAIN_APPLIED { Agreement::Beyond } else { Agreement::Differs };
        let here = format!("{} million at best, {} times as many", short(most), short(most / PLAIN_APPLIED));
        shown.reading("Entries a second, applied", "0.598 million", here, agreement);
    }
    let of_bmv2 = rates(&with(&all, &[("peer", "bmv2")]), "insert", "batch");
    if !of_bmv2.is_empty() {
        let ratio = best(&inserts) / best(&of_bmv2).max(1e-9);
        let here = format!("BMv2 {} million, Siding {} times as many", short(best(&of_bmv2)), short(ratio));
        shown.reading("Beside BMv2 in this run", "not published", here, Agreement::Open);
    }
    shown
}

fn bulk(results: &Results<'_>) -> Shown {
    let mut shown = Shown::default();
    let all = lines(results.first());
    let of_plain = lines(results.other("control-plain"));
    let of_plain = with(&of_plain, &[("peer", "siding")]);
    let mut bars = vec![
        ("messages, deserialised (paper)".to_owned(), PLAIN_READ, true),
        ("columns, deserialised (paper)".to_owned(), COLUMNS_READ, true),
        ("messages, applied (paper)".to_owned(), PLAIN_APPLIED, true),
        ("columns, applied (paper)".to_owned(), COLUMNS_APPLIED, true),
    ];
    let messages = at_thousand(&of_plain);
    bars.extend(messages.map(|rate| ("messages in batches of 1000, applied".to_owned(), rate, false)));
    let mut columns = 0f64;
    for line in &all {
        let Some(rate) = number(line, "entries_per_second") else { continue };
        let (transport, work) = (word(line, "transport"), word(line, "work"));
        if work == "insert" {
            columns = columns.max(rate / 1e6);
        }
        bars.push((format!("columns, {work}, {transport}"), rate / 1e6, false));
    }
    shown.bars("Entries a second", "million", bars);
    if columns > 0.0 {
        let agreement = if columns >= COLUMNS_APPLIED { Agreement::Beyond } else { Agreement::Differs };
        let here = format!("{} million inserted at best", short(columns));
        shown.reading("Columns, applied", "5.996 million", here, agreement);
    }
    match messages {
        Some(messages) if columns > 0.0 => {
            let ratio = columns / messages;
            let here = format!("{} times (messages {} million)", short(ratio), short(messages));
            shown.reading(
                "Columns over messages, applied",
                format!("{} times", short(COLUMNS_APPLIED / PLAIN_APPLIED)),
                here,
                Agreement::same_if(ratio > 1.5),
            );
        }
        _ => {}
    }
    shown
}

/// The best rate of inserts in batches of a thousand, in millions a second.
fn at_thousand(lines: &[&Value]) -> Option<f64> {
    let of: Vec<&Value> =
        lines.iter().filter(|line| number(line, "batch") == Some(1000.0)).copied().collect();
    Some(best(&rates(&of, "insert", "batch"))).filter(|rate| *rate > 0.0)
}

fn shared_memory(results: &Results<'_>) -> Shown {
    let mut shown = Shown::default();
    let all = lines(results.first());
    let kib = |points: Vec<(f64, f64)>| -> Vec<(f64, f64)> {
        points.into_iter().map(|(x, y)| (x / 1024.0, y)).collect()
    };
    let mut series: Vec<_> = distinct(&all, "work")
        .into_iter()
        .map(|work| {
            let points = kib(rates(&all, &work, "ring_bytes"));
            ours(work, points)
        })
        .collect();
    let inserts = kib(rates(&all, "insert", "ring_bytes"));
    if let (Some(first), Some(last)) = (inserts.first(), inserts.last()) {
        series.push(published("at best, copied", vec![(first.0, SHARED), (last.0, SHARED)]));
    }
    shown.chart(Chart {
        title: "Records of five-tuples through shared memory, inserted and answered".to_owned(),
        x: "KiB of the ring".to_owned(),
        y: "million entries a second".to_owned(),
        series,
        upwards: bench::chart::Upwards::Linear,
        ..Chart::default()
    });
    let most = best(&inserts);
    if most > 0.0 {
        let enough = inserts.iter().find(|(_, rate)| *rate >= 0.9 * most).map_or(0.0, |point| point.0);
        let agreement = if most >= SHARED { Agreement::Beyond } else { Agreement::Differs };
        let here = format!("{} million inserted, checked and answered", short(most));
        shown.reading("The best rate", "above 25 million, copied", here, agreement);
        let least = inserts.first().map_or(0.0, |point| point.1);
        let here = format!(
            "from {} million with the smallest ring; nine tenths of the best from {} KiB on",
            short(least),
            short(enough)
        );
        shown.reading(
            "Over the size of the memory",
            "grows with the size",
            here,
            Agreement::same_if(least <= most * 0.97),
        );
    }
    let bulk = lines(results.other("control-bulk"));
    let columns = best(&rates(&bulk, "insert", "entries"));
    let plain = lines(results.other("control-plain"));
    if let Some(plain) = at_thousand(&with(&plain, &[("peer", "siding")]))
        && columns > 0.0
        && most > 0.0
    {
        let here = format!("{} < {} < {} million", short(plain), short(columns), short(most));
        let is_ordered = plain < columns && columns < most;
        shown.reading(
            "The order of the ways",
            "messages < columns < shared memory",
            if is_ordered {
                here
            } else {
                format!(
                    "messages {}, columns {}, shared memory {} million",
                    short(plain),
                    short(columns),
                    short(most)
                )
            },
            Agreement::same_if(is_ordered),
        );
    }
    shown
}

fn dumps(results: &Results<'_>) -> Shown {
    let mut shown = Shown::default();
    let bars = lines(results.first()).into_iter().filter_map(|line| {
        let rate = number(line, "entries_per_second")? / 1e6;
        Some((format!("{}, {}", word(line, "work"), word(line, "transport")), rate, false))
    });
    shown.bars("Entries a second", "million", bars.collect());
    shown
}

fn latency(results: &Results<'_>) -> Shown {
    let mut shown = Shown::default();
    let mut bars = Vec::new();
    for line in lines(results.first()) {
        let who = match word(line, "load") {
            "none" => "nobody else writes".to_owned(),
            _ => {
                let others = number(line, "others_per_second").unwrap_or(0.0) / 1e6;
                format!("beside {} million updates a second", short(others))
            }
        };
        for (key, name) in [("p50_us", "median"), ("p99_us", "99 of 100")] {
            let name = format!("{}, {who}: {name}", word(line, "transport"));
            bars.extend(number(line, key).map(|us| (name, us, false)));
        }
    }
    shown.bars("One update in a request", "microseconds", bars);
    shown
}

fn interference(results: &Results<'_>) -> Shown {
    let mut shown = Shown::default();
    let mut bars = Vec::new();
    for line in lines(results.first()) {
        let rate = number(line, "updates_per_second").unwrap_or(0.0) / 1e6;
        let name =
            format!("{}, {} ({} million a second)", word(line, "table"), word(line, "work"), short(rate));
        bars.extend(number(line, "loss_percent").map(|percent| (name, percent.max(0.0), false)));
    }
    shown.bars("Packets a second that are lost while updates run on another core", "percent", bars);
    let of_updates: Vec<f64> = lines(results.first())
        .into_iter()
        .filter_map(|line| number(line, "loss_of_updates_percent"))
        .collect();
    if let Some(most) = of_updates.iter().copied().reduce(f64::max) {
        let here = format!(
            "at most {} % are lost by the writes themselves; the rest is what two busy cores share",
            short(most.max(0.0))
        );
        shown.reading(
            "Beside a core that makes the same updates and writes none",
            "not published",
            here,
            Agreement::Open,
        );
    }
    shown
}
