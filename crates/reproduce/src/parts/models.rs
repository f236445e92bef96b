//! Models: components and their cycles, predictions beside measurements, blocks of switch chips.

use crate::json::{joined, list, number, ours, pairs, points, published, short, word};
use crate::part::{Agreement, Commands, Need, Part, Research, Results, STATE, Shown, Size, one, words};
use bench::chart::Chart;
use serde_json::Value;

const PAPER: &str = "Scholz, Stubbe, Gallenmüller, Carle";
const PROFILE: &str = "profile.json";
const PROFILED: &[Need] = &[Need::Cc, Need::File(PROFILE, "models-calibrate")];

const L2: (&str, &str) = ("l2.p4", include_str!("../../../bench/peers/l2.p4"));
const HASH_TABLE: (&str, &str) = ("hash_table.p4", include_str!("../../programs/hash_table.p4"));

/// Errors that predictions may have, in parts of the measured cycles: half of them, and all.
const ERROR_MEDIAN_MAX: f64 = 0.10;
const ERROR_MAX: f64 = 0.25;

pub const PARTS: &[Part] = &[
    Part {
        name: "models-calibrate",
        research: Research::Models,
        title: "Components, measured in isolation",
        source: PAPER,
        published: "Components of a program (parser, actions, tables by kind and size) are measured alone, and their costs found by \
                    regression. A t4p4s program on a core of 2 GHz takes 146 cycles before any table (13.7 Mpps).",
        commands: |size| {
            one(&format!(
                "model calibrate{} --output {STATE}/{PROFILE} --json",
                size.of([" --quick", " --quick", ""])
            ))
        },
        estimate_s: [110.0, 110.0, 400.0],
        needs: &[Need::Cc],
        files: &[],
        read: calibrate,
    },
    Part {
        name: "models-cpu",
        research: Research::Models,
        title: "Predicted cycles over the entries of a table",
        source: PAPER,
        published: "Exact tables have two phases: cycles grow with the logarithm of the entries while the table fits the last-level \
                    cache, and towards the price of memory above.",
        commands: |_| {
            one(&format!(
                "model cpu {STATE}/l2.p4 --profile {STATE}/{PROFILE} --json \
             --what-if dmac=10:100:1e3:1e4:3e4:1e5:3e5:1e6:3e6:1e7:3e7:1e8"
            ))
        },
        estimate_s: [1.0, 1.0, 1.0],
        needs: PROFILED,
        files: &[L2],
        read: cpu,
    },
    Part {
        name: "models-check",
        research: Research::Models,
        title: "Programs predicted before they are measured",
        source: PAPER,
        published: "The model is fitted to components and applied to whole programs; the error of such predictions is not reported. \
                    Ours must be within 10 % for half of the programs and 25 % for all.",
        commands: |size| {
            one(&format!(
                "model check{} --profile {STATE}/{PROFILE} --json",
                size.of([" --quick", " --quick", ""])
            ))
        },
        estimate_s: [50.0, 50.0, 200.0],
        needs: PROFILED,
        files: &[],
        read: check,
    },
    Part {
        name: "models-latency",
        research: Research::Models,
        title: "A bound of latency, beside measured percentiles",
        source: "Scholz, Stubbe, Gallenmüller, Carle, future work",
        published: "Network calculus is named as another way to model the same components.",
        commands: |size| {
            one(&format!("model latency --check{} --json", size.of([" --quick", " --quick", ""])))
        },
        estimate_s: [60.0, 60.0, 200.0],
        needs: &[Need::Cc, Need::TwoCores],
        files: &[],
        read: latency,
    },
    Part {
        name: "models-blocks",
        research: Research::Models,
        title: "Blocks of a switch chip: a hash table of a published program",
        source: "RESAIL (jafingerhut/cram b72ef57), on a chip with 20 stages",
        published: "A hash table with a key of 25 bits and 8 bits of data takes 254, 408, 544, 578 and 612 SRAM blocks for 1,167,053 to \
                    2,814,902 entries.",
        commands: blocks_of_sizes,
        estimate_s: [2.0, 2.0, 6.0],
        needs: &[],
        files: &[HASH_TABLE],
        read: blocks,
    },
    Part {
        name: "models-extern",
        research: Research::Models,
        title: "Asynchronous blocks in closed form and simulated",
        source: "Laki et al., discussion",
        published: "Proposed as future work: decide by a model whether a packet should wait or be suspended.",
        commands: |_| one("model extern --json"),
        estimate_s: [1.0, 1.0, 1.0],
        needs: &[],
        files: &[],
        read: offload,
    },
];

/// Entries of the table in the published program, and its blocks.
const BLOCKS: [(u64, f64); 5] =
    [(1_167_053, 254.0), (1_876_612, 408.0), (2_502_158, 544.0), (2_658_513, 578.0), (2_814_902, 612.0)];

fn blocks_of_sizes(size: Size) -> Commands {
    let search = size.of(["0", "0", "1"]);
    BLOCKS
        .map(|(n, _)| {
            let line = format!("model asic {STATE}/hash_table.p4 --entries prefixes={n} --chip generic-20 --search {search} --json");
            (n.to_string(), words(&line))
        })
        .into()
}

fn calibrate(results: &Results<'_>) -> Shown {
    let mut shown = Shown::default();
    let value = results.first();
    let components = list(value, "components");
    let bars: Vec<(String, f64, bool)> = components
        .iter()
        .filter_map(|cost| Some((word(cost, "component").replace('_', " "), number(cost, "cycles")?, false)))
        .collect();
    let packet =
        components.iter().find(|cost| cost["component"] == "packet").and_then(|cost| number(cost, "cycles"));
    shown.bars("Cycles of a component, each time that a packet needs it", "cycles", bars);
    if let Some(packet) = packet {
        let here = format!("{} cycles, before parser and tables", short(packet));
        shown.reading("Cycles of a packet before any table", "146 cycles", here, Agreement::Open);
    }
    if let (Some(all), Some(held_out)) = (number(value, "rmse_relative"), number(value, "held_out_relative"))
    {
        let here = format!(
            "{} % of the cycles, {} % where programs were left out of the fit; the two least medians of a program differ by {} % or less",
            short(100.0 * all),
            short(100.0 * held_out),
            short(100.0 * number(value, "drift").unwrap_or(0.0))
        );
        shown.reading("Residuals of the fit", "not published", here, Agreement::Open);
    }
    let latencies = value["machine"]["latencies"]["points"].as_array().into_iter().flatten();
    let latencies = latencies.filter_map(|p| Some((p[0].as_f64()? / 1024.0, p[1].as_f64()?))).collect();
    shown.chart(Chart {
        title: "Latency of memory".to_owned(),
        x: "KiB that are touched".to_owned(),
        y: "cycles of a dependent load".to_owned(),
        series: vec![ours("dependent loads", latencies)],
        ..Chart::default()
    });
    shown
}

fn cpu(results: &Results<'_>) -> Shown {
    let mut shown = Shown::default();
    let value = results.first();
    let curve = points(&list(value, "what_if"), "entries", "cycles");
    shown.chart(Chart {
        title: "A layer-2 switch with two exact tables, by the profile of this machine".to_owned(),
        x: "entries of the second table".to_owned(),
        y: "cycles of a packet".to_owned(),
        series: vec![ours("predicted", curve.clone())],
        upwards: bench::chart::Upwards::Linear,
        ..Chart::default()
    });
    // Cycles that each factor of ten adds.
    let slopes: Vec<(f64, f64)> = curve
        .windows(2)
        .map(|pair| (pair[1].0, (pair[1].1 - pair[0].1) / (pair[1].0 / pair[0].0).log10().max(1e-9)))
        .collect();
    let (Some(first), Some(steepest)) =
        (slopes.first(), slopes.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a }))
    else {
        return shown;
    };
    let is_rising = slopes.iter().all(|(_, slope)| *slope >= -1.0);
    let here = format!(
        "{} cycles for each factor of ten at first, {} at the steepest, up to {} entries",
        short(first.1),
        short(steepest.1),
        short(steepest.0)
    );
    let has_knee = is_rising && steepest.1 > 2.0 * first.1.max(1.0);
    shown.reading(
        "Two phases with a knee at a cache",
        "logarithmic, then steeper above the cache",
        here,
        Agreement::same_if(has_knee),
    );
    shown
}

fn check(results: &Results<'_>) -> Shown {
    let mut shown = Shown::default();
    let value = results.first();
    let programs = list(value, "programs");
    let mut bars = Vec::new();
    for program in &programs {
        for (key, name) in [("predicted", "predicted"), ("measured", "measured")] {
            bars.extend(
                number(program, key)
                    .map(|cycles| (format!("{}: {name}", word(program, "program")), cycles, false)),
            );
        }
    }
    shown.bars("Cycles of a packet", "cycles", bars);
    if let (Some(median), Some(worst)) = (number(value, "median_error"), number(value, "worst_error")) {
        let here =
            format!("{} % for half of them, {} % at the worst", short(100.0 * median), short(100.0 * worst));
        let is_met = median <= ERROR_MEDIAN_MAX && worst <= ERROR_MAX;
        shown.reading(
            format!("Errors of {} programs that no fit has seen", programs.len()),
            "10 % and 25 % (our goals)",
            here,
            Agreement::same_if(is_met),
        );
    }
    shown
}

/// The conditions of the check that hold.
fn latency(results: &Results<'_>) -> Shown {
    let mut shown = Shown::default();
    let value = results.first();
    let goals = list(value, "goals");
    let n_met = goals.iter().filter(|goal| goal["met"] == true).count();
    if !goals.is_empty() {
        let here = format!("{n_met} of {} conditions hold", goals.len());
        shown.reading("Measured latency beside the bound", "not published", here, Agreement::Open);
    }
    shown
}

fn blocks(results: &Results<'_>) -> Shown {
    let mut shown = Shown::default();
    let found: Vec<(f64, f64)> = results
        .own
        .iter()
        .filter_map(|(label, value)| {
            let nodes = list(value, "nodes");
            let table = nodes.into_iter().find(|node| node["kind"] == "table")?;
            Some((label.parse().ok()?, number(table, "sram")?))
        })
        .collect();
    let theirs: Vec<(f64, f64)> = BLOCKS.iter().map(|(n, blocks)| (*n as f64, *blocks)).collect();
    shown.chart(Chart {
        title: "SRAM blocks of a hash table, key of 25 bits, 8 bits of data".to_owned(),
        x: "entries".to_owned(),
        y: "blocks".to_owned(),
        series: vec![ours("by rule", found.clone()), published("compiled for the chip", theirs.clone())],
        upwards: bench::chart::Upwards::Linear,
        ..Chart::default()
    });
    let pairs = pairs(&found, &theirs);
    if !pairs.is_empty() {
        let text: Vec<String> = pairs.iter().map(|pair| short(pair.1)).collect();
        let wanted: Vec<String> = pairs.iter().map(|pair| short(pair.2)).collect();
        let is_same = pairs.iter().all(|(_, here, theirs)| here == theirs);
        shown.reading("Blocks by size", joined(&wanted), joined(&text), Agreement::same_if(is_same));
    }
    shown
}

fn offload(results: &Results<'_>) -> Shown {
    let mut shown = Shown::default();
    let all = list(results.first(), "points");
    let of = |way: &str, key: &dyn Fn(&Value) -> Option<f64>| -> Vec<(f64, f64)> {
        all.iter().filter(|p| p["way"] == way).filter_map(|p| Some((number(p, "cost")?, key(p)?))).collect()
    };
    let closed = |p: &Value| number(p, "mpps");
    let simulated = |p: &Value| number(&p["simulated"], "mpps");
    let mut series = Vec::new();
    for way in ["inline", "wait", "suspend"] {
        series.push(ours(format!("{way}, closed form"), of(way, &closed)));
        series.push(ours(format!("{way}, simulated"), of(way, &simulated)));
    }
    shown.chart(Chart {
        title: "Half of the packets call an extern; 200 cycles for the rest of a packet".to_owned(),
        x: "cost of the extern in cycles".to_owned(),
        y: "million packets a second".to_owned(),
        series,
        ..Chart::default()
    });
    let far = ["inline", "wait", "suspend"]
        .iter()
        .flat_map(|way| pairs(&of(way, &closed), &of(way, &simulated)))
        .map(|(_, closed, simulated)| (closed / simulated - 1.0).abs())
        .reduce(f64::max);
    if let Some(far) = far {
        let here = format!("at most {} % apart", short(100.0 * far));
        shown.reading("Closed form and simulation", "not published", here, Agreement::Open);
    }
    shown
}
