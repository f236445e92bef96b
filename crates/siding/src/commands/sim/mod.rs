//! `siding sim`: what stateful actions of many cycles cost.
//!
//! - `traffic`: the packets that are simulated; `grid`: the points of a run; `paths`, `program`: the actions of a program;
//! - `sweep`: the points as a sweep, with threads and a points file, which crate `hazard` has not;
//! - `windows`: parts of a run by themselves; `budget`: the longest action for a loss;
//! - `figure`, `output`: what is printed and drawn.

mod budget;
mod figure;
mod grid;
mod output;
mod paths;
mod program;
mod sweep;
mod traffic;
mod windows;

use self::budget::budget;
use self::figure::figure;
use self::grid::{Frame, grid, mixes};
use self::output::{heading, points_json, run_json, tables};
use self::program::{Explained, costs};
use self::sweep::Sweep;
use self::traffic::{Problem, Traffic};
use crate::cli::{FigureArg, SimArgs};
use crate::commands::sweeps::command_line;
use crate::output::{Exit, error_line, out, replace_file};
use crate::program::load_for_analysis;
use bench::chart;
use clap::ArgMatches;
use hazard::traffic::Key;
use serde_json::Value;

/// Packets of a run, and of a point of a figure.
const PACKETS: u64 = 1_000_000;
const FIGURE_PACKETS: u64 = 200_000;

const NOTHING_TO_DRAW: &str = "nothing to draw: --svg draws one of the figures; add --figure 1a, 1b, 1c or flow, or \
     leave --svg out";

const NO_POINTS: &str = "--points: figure 1a shows the sizes of the packets; nothing is simulated for it";

pub fn run(args: &SimArgs, matches: &ArgMatches) -> Exit {
    match simulate(args, matches) {
        Ok(()) => Exit::Ok,
        Err((message, exit)) => {
            if !message.is_empty() {
                error_line(&message);
            }
            exit
        }
    }
}

fn simulate(args: &SimArgs, matches: &ArgMatches) -> Result<(), Problem> {
    // First, because a simulation takes long and would end without the picture.
    if args.svg.is_some() && args.figure.is_none() {
        return Err((NOTHING_TO_DRAW.to_string(), Exit::Usage));
    }
    if args.figure == Some(FigureArg::Sizes) && args.sweep.points.is_some() {
        return Err((NO_POINTS.to_string(), Exit::Usage));
    }
    let costs = costs(args)?;
    if args.print_costs {
        out(&costs.text());
        return Ok(());
    }
    let frame = Frame::new(args)?;
    let loaded = match &args.program {
        // The message is empty, because the diagnostics have been printed.
        Some(program) => {
            let loaded = load_for_analysis(program, &args.front_end, matches);
            Some(loaded.map_err(|exit| (String::new(), exit))?)
        }
        None => None,
    };
    let explained = loaded.as_ref().map(|loaded| Explained::new(loaded, args, costs)).transpose()?;
    if let (Some(explained), true) = (&explained, args.explain) {
        show(args, &explained.json(), &explained.text());
        return Ok(());
    }
    let traffic = Traffic::new(args, if args.figure.is_some() { FIGURE_PACKETS } else { PACKETS })?;
    let survey = traffic.survey()?;
    let sweep = Sweep {
        traffic: &traffic,
        survey: &survey,
        frame: &frame,
        args: &args.sweep,
        is_json: args.json,
        command: command_line(&["sim"], matches),
    };
    if let Some(which) = args.figure {
        let Some(figure) = figure(which, args, &traffic, &survey, &frame, &sweep)? else { return Ok(()) };
        show(args, &figure.json, &figure.text);
        return draw(args, &figure.chart);
    }
    if let Some(explained) = &explained {
        if let Some((value, text)) = explained.simulate(args, &traffic, &survey, &frame, &sweep)? {
            show(args, &value, &text);
        }
        return Ok(());
    }
    if !args.budget.is_empty() {
        if let Some((value, text)) = budget(args, &traffic, &survey, &frame, &sweep)? {
            show(args, &value, &text);
        }
        return Ok(());
    }
    let cycles: Vec<u32> = (1..=30).collect();
    let points = grid(args, &mixes(args, &cycles)?, &Key::five_tuple())?;
    // A shard has no report.
    let Some(results) = sweep.run(&points)? else { return Ok(()) };
    let mut value = run_json(&traffic, &survey, &frame);
    value["points"] = Value::Array(points_json(&points, &results));
    show(args, &value, &(heading(&traffic, &survey, &frame) + &tables(&points, &results)));
    Ok(())
}

fn show(args: &SimArgs, value: &Value, text: &str) {
    if args.json {
        out(&format!("{value}\n"));
    } else {
        out(text);
    }
}

fn draw(args: &SimArgs, chart: &chart::Chart) -> Result<(), Problem> {
    let Some(path) = &args.svg else { return Ok(()) };
    replace_file(path, chart::svg(chart).as_bytes())
        .map_err(|error| (format!("{}: {error}", path.display()), Exit::Environment))
}
