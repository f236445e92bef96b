//! `siding model extern`: the model behind `--async auto`, compared with a simulation.

use crate::cli::ModelExternArgs;
use crate::output::{self, Exit};
use bench::report;
use model::asynchronous::{Outcome, Prediction, Scene, Way, choose, predict, simulate};
use serde_json::{Value, json};

/// Packets that each simulated worker receives.
const N_PACKETS: u64 = 200_000;
const SEED: u64 = 1;

pub fn run(args: &ModelExternArgs) -> Exit {
    let rows: Vec<Row> = args.cost.iter().flat_map(|cost| rows(args, *cost)).collect();
    output::out(&match args.json {
        true => format!("{}\n", json(args, &rows)),
        false => text(args, &rows),
    });
    Exit::Ok
}

struct Row {
    scene: Scene,
    predicted: Prediction,
    simulated: Outcome,
    is_chosen: bool,
}

fn rows(args: &ModelExternArgs, cost: f64) -> Vec<Row> {
    let scene = Scene {
        base_cycles: args.base,
        share: args.share / 100.0,
        block_cycles: cost,
        suspend_cycles: args.suspend,
        round_trip_cycles: args.round_trip,
        n_workers: args.workers,
        n_offload_workers: args.offload_workers,
        capacity: args.capacity,
    };
    let row = |way| Row {
        scene,
        predicted: predict(&scene, way),
        simulated: simulate(&scene, way, 0.0, N_PACKETS, SEED),
        is_chosen: choose(&scene) == way,
    };
    Way::ALL.map(row).into()
}

fn mpps(args: &ModelExternArgs, cycles: f64) -> f64 {
    args.clock_ghz * 1e3 / cycles
}

fn json(args: &ModelExternArgs, rows: &[Row]) -> Value {
    let points = rows.iter().map(|row| {
        json!({
            "cost": row.scene.block_cycles,
            "way": row.predicted.way.name(),
            "cycles": report::rounded(row.predicted.cycles),
            "mpps": report::rounded(mpps(args, row.predicted.cycles)),
            "dropped": report::rounded(row.predicted.dropped),
            "offload_load": report::rounded(row.predicted.offload_load),
            "chosen": row.is_chosen,
            "simulated": {
                "cycles": report::rounded(row.simulated.cycles),
                "mpps": report::rounded(mpps(args, row.simulated.cycles)),
                "dropped": report::rounded(row.simulated.dropped),
                "offload_load": report::rounded(row.simulated.offload_load),
                "waited_cycles": report::rounded(row.simulated.waited_cycles),
                "in_flight_max": row.simulated.in_flight_max,
            },
        })
    });
    json!({
        "version": 1, "base_cycles": args.base, "share": args.share, "suspend_cycles": args.suspend,
        "round_trip_cycles": args.round_trip, "workers": args.workers, "offload_workers": args.offload_workers,
        "capacity": args.capacity, "clock_ghz": args.clock_ghz, "points": points.collect::<Vec<_>>(),
    })
}

fn text(args: &ModelExternArgs, rows: &[Row]) -> String {
    let head = ["way", "cost", "cycles", "M/s", "simulated", "dropped", "offload", "waited"];
    let mut table = vec![head.map(str::to_owned).to_vec()];
    for row in rows {
        let mark = if row.is_chosen { " (auto)" } else { "" };
        table.push(vec![
            format!("{}{mark}", row.predicted.way.name()),
            format!("{}", row.scene.block_cycles),
            format!("{:.1}", row.predicted.cycles),
            format!("{:.2}", mpps(args, row.predicted.cycles)),
            format!("{:.2}", mpps(args, row.simulated.cycles)),
            format!("{:.1} %", row.predicted.dropped * 100.0),
            format!("{:.0} %", row.predicted.offload_load * 100.0),
            format!("{:.0}", row.simulated.waited_cycles),
        ]);
    }
    format!(
        "Packets of {} cycles, {} % of them with a block; {} workers, {} offload_workers, {} GHz\n\n{}\n\
         `spill` is what `--async auto` does when it sends packets: the worker runs what is too much for the offload_workers.\n",
        args.base,
        args.share,
        args.workers,
        args.offload_workers,
        args.clock_ghz,
        report::aligned(&table)
    )
}
