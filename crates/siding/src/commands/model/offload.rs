//! `siding model extern`: the model behind `--async auto`, compared with a simulation.

use crate::cli::ModelExternArgs;
use crate::commands::sweeps::{self, Problem};
use crate::output::{self, Exit, error_line};
use bench::report;
use clap::ArgMatches;
use model::asynchronous::{Outcome, Prediction, Scene, Way, choose, predict, simulate};
use serde_json::{Value, json};
use sweep::Header;

/// Packets that each simulated worker receives.
const N_PACKETS: u64 = 200_000;
const SEED: u64 = 1;
/// Version of the sweep: another one makes other results.
const VERSION: u64 = 1;

pub fn run(args: &ModelExternArgs, matches: &ArgMatches) -> Exit {
    match rows(args, matches) {
        Ok(rows) => {
            // A shard has no report.
            if let Some(rows) = rows {
                output::out(&match args.json {
                    true => format!("{}\n", json(args, &rows)),
                    false => text(args, &rows),
                });
            }
            Exit::Ok
        }
        Err((message, exit)) => {
            error_line(&message);
            exit
        }
    }
}

struct Row {
    scene: Scene,
    predicted: Prediction,
    /// See [`simulated_json`].
    simulated: Value,
    is_chosen: bool,
}

impl Row {
    fn simulated(&self, name: &str) -> f64 {
        self.simulated[name].as_f64().unwrap_or(0.0)
    }
}

/// The rows of all costs, each once; `None` for a shard.
fn rows(args: &ModelExternArgs, matches: &ArgMatches) -> Result<Option<Vec<Row>>, Problem> {
    let mut costs: Vec<f64> = Vec::new();
    for cost in &args.cost {
        if !costs.contains(cost) {
            costs.push(*cost);
        }
    }
    let points: Vec<(f64, Way)> = costs.iter().flat_map(|cost| Way::ALL.map(|way| (*cost, way))).collect();
    let names = points.iter().map(|(cost, way)| format!("cost={cost} way={}", way.name())).collect();
    let header = Header::new("model extern", VERSION, SEED, arguments(args), names)
        .map_err(sweeps::problem)?
        .with_command(sweeps::command_line(&["model", "extern"], matches));
    let simulate_group = |group: &[usize], sink: &sweep::Sink<'_, Problem>| {
        for place in group {
            let (cost, way) = points[*place];
            sink.done(*place, simulated_json(&simulate(&scene(args, cost), way, 0.0, N_PACKETS, SEED)));
        }
        Ok(())
    };
    let Some(results) = sweeps::run(&args.sweep, args.json, header, 1, simulate_group)? else {
        return Ok(None);
    };
    let rows = points.iter().zip(results).map(|((cost, way), simulated)| {
        let scene = scene(args, *cost);
        Row { scene, predicted: predict(&scene, *way), simulated, is_chosen: choose(&scene) == *way }
    });
    Ok(Some(rows.collect()))
}

/// Everything that the simulated numbers depend on, apart from the cost.
fn arguments(args: &ModelExternArgs) -> Value {
    json!({
        "packets": N_PACKETS, "share": args.share, "base": args.base, "suspend": args.suspend,
        "round_trip": args.round_trip, "workers": args.workers, "offload_workers": args.offload_workers,
        "capacity": args.capacity,
    })
}

fn scene(args: &ModelExternArgs, cost: f64) -> Scene {
    Scene {
        base_cycles: args.base,
        share: args.share / 100.0,
        block_cycles: cost,
        suspend_cycles: args.suspend,
        round_trip_cycles: args.round_trip,
        n_workers: args.workers,
        n_offload_workers: args.offload_workers,
        capacity: args.capacity,
    }
}

/// The result of a point. Rates follow from it and the clock.
fn simulated_json(outcome: &Outcome) -> Value {
    json!({
        "cycles": outcome.cycles, "dropped": outcome.dropped, "offload_load": outcome.offload_load,
        "waited_cycles": outcome.waited_cycles, "in_flight_max": outcome.in_flight_max,
    })
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
                "cycles": report::rounded(row.simulated("cycles")),
                "mpps": report::rounded(mpps(args, row.simulated("cycles"))),
                "dropped": report::rounded(row.simulated("dropped")),
                "offload_load": report::rounded(row.simulated("offload_load")),
                "waited_cycles": report::rounded(row.simulated("waited_cycles")),
                "in_flight_max": row.simulated["in_flight_max"],
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
            format!("{:.2}", mpps(args, row.simulated("cycles"))),
            format!("{:.1} %", row.predicted.dropped * 100.0),
            format!("{:.0} %", row.predicted.offload_load * 100.0),
            format!("{:.0}", row.simulated("waited_cycles")),
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
