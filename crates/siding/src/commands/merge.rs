//! `siding merge`: points files of several runs become one.

use super::sweeps::{Problem, problem, shell};
use crate::cli::MergeArgs;
use crate::output::{Exit, error_line, out, replace_file};
use serde_json::json;
use sweep::Points;

/// Missing points that are named at most.
const N_NAMED: usize = 10;

pub fn run(args: &MergeArgs) -> Exit {
    match merge(args) {
        Ok(exit) => exit,
        Err((message, exit)) => {
            error_line(&message);
            exit
        }
    }
}

fn merge(args: &MergeArgs) -> Result<Exit, Problem> {
    let read = |path: &std::path::PathBuf| Ok((path.display().to_string(), sweep::read(path)?));
    let files = args.files.iter().map(read).collect::<Result<Vec<_>, _>>().map_err(problem)?;
    let merged = sweep::merge(files).map_err(problem)?;
    let missing = merged.missing();
    let is_written = missing.is_empty() || args.partial;
    if is_written {
        replace_file(&args.output, merged.text().as_bytes())
            .map_err(|error| (format!("{}: {error}", args.output.display()), Exit::Environment))?;
    }
    let (output, n_points) = (args.output.display().to_string(), merged.header().points.len());
    let n_there = n_points - missing.len();
    if args.json {
        let named: Vec<&String> = missing.iter().map(|place| &merged.header().points[*place]).collect();
        let value = json!({
            "points_file": is_written.then_some(&output), "sweep": merged.header().sweep, "points": n_points,
            "points_there": n_there, "missing": named, "command": merged.header().command,
        });
        out(&format!("{value}\n"));
    }
    if !missing.is_empty() {
        error_line(&told(args, &merged, &missing));
        return Ok(Exit::Failed);
    }
    if !args.json {
        out(&format!("{output}: {n_points} points\n{}\n", command(&merged, &output)));
    }
    Ok(Exit::Ok)
}

/// The command that makes what is missing in `file`, and reports.
fn command(points: &Points, file: &str) -> String {
    let mut words = points.header().command.clone();
    words.extend(["--points".to_string(), file.to_string()]);
    shell(&words)
}

/// Names missing points, and the commands that make them.
fn told(args: &MergeArgs, merged: &Points, missing: &[usize]) -> String {
    let header = merged.header();
    let mut text = format!("{} of {} points are missing:\n", missing.len(), header.points.len());
    for place in missing.iter().take(N_NAMED) {
        text += &format!("  {}\n", header.points[*place]);
    }
    if missing.len() > N_NAMED {
        text += &format!("  and {} more\n", missing.len() - N_NAMED);
    }
    let output = args.output.display().to_string();
    text += "To make them:\n";
    if !args.partial {
        let mut words: Vec<String> =
            ["siding", "merge", "--partial", "-o", &output].map(String::from).to_vec();
        words.extend(args.files.iter().map(|path| path.display().to_string()));
        text += &format!("  {}\n", shell(&words));
    }
    text + &format!("  {}", command(merged, &output))
}
