//! Sweeps of all commands: results in a points file, shards, progress on the terminal, and the command line that makes
//! the points again.

use crate::cli::SweepArgs;
use crate::output::{self, Exit};
use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches};
use serde_json::{Value, json};
use std::io::IsTerminal;
use std::time::{Duration, Instant};
use sweep::{Header, Results, Shard, Sink};

/// A message, empty if it has been printed, and how the command ends.
pub type Problem = (String, Exit);

/// Options that change how points are made or shown, but not their results.
const NOT_OF_THE_SWEEP: &[&str] = &["points", "shard", "jobs", "quiet", "json", "svg", "help", "help_all"];

/// Makes the points of a sweep that its points file does not have. Returns all results in the order of the header; for a
/// shard, which has no report, prints how many points there are and returns `None`. `work` is as [`sweep::run`] says.
pub fn run(
    args: &SweepArgs,
    is_json: bool,
    header: Header,
    group_max: usize,
    work: impl Fn(&[usize], &Sink<'_, Problem>) -> Result<(), Problem> + Sync,
) -> Result<Option<Vec<Value>>, Problem> {
    let shard = args.shard.unwrap_or(Shard::ALL);
    let n_all = header.points.len();
    let mut results = Results::open(args.points.as_deref(), header, shard).map_err(problem)?;
    let missing = results.missing();
    let n_threads =
        args.jobs.or_else(|| std::thread::available_parallelism().ok().map(|n| n.get())).unwrap_or(1);
    let mut progress = Progress::new(args.quiet, results.n_points(), missing.len());
    sweep::run(&missing, n_threads, group_max, work, |place, result| {
        results.note(place, result).map_err(problem)?;
        progress.done_one();
        Ok(())
    })?;
    progress.end();
    results.finish().map_err(problem)?;
    if let (Some(shard), Some(path)) = (args.shard, &args.points) {
        let (n_points, n_made) = (results.n_points(), missing.len());
        output::out(&match is_json {
            true => format!(
                "{}\n",
                json!({ "points_file": path.display().to_string(), "shard": shard.to_string(), "points": n_points,
                        "made": n_made, "points_of_sweep": n_all })
            ),
            false => format!(
                "{}: shard {shard} is done: {n_points} of {n_all} points, {n_made} of them made now\n",
                path.display()
            ),
        });
        return Ok(None);
    }
    let incomplete = || ("internal bug: a point without a result".to_string(), Exit::Bug);
    let all = (0..n_all).map(|place| results.points().result(place).cloned().ok_or_else(incomplete));
    all.collect::<Result<_, _>>().map(Some)
}

pub fn problem(error: sweep::Error) -> Problem {
    let exit = if error.is_environment() { Exit::Environment } else { Exit::Usage };
    (error.to_string(), exit)
}

/// The command line of a sweep without the options of [`SweepArgs`] and of the output, in the order of `--help`: equal
/// options give equal words, however they were typed. `path` names the command, as `["model", "extern"]`.
pub fn command_line(path: &[&str], matches: &ArgMatches) -> Vec<String> {
    let mut words: Vec<String> = vec!["siding".to_string()];
    words.extend(path.iter().map(|word| (*word).to_string()));
    let whole = crate::cli::command();
    let found = path.iter().try_fold(&whole, |command, name| command.find_subcommand(name));
    let (mut options, mut positionals) = (Vec::new(), Vec::new());
    for arg in found.into_iter().flat_map(|command| command.get_arguments()) {
        let id = arg.get_id().as_str();
        let is_typed = matches!(matches.try_contains_id(id), Ok(true))
            && matches.value_source(id) == Some(ValueSource::CommandLine);
        if !is_typed || NOT_OF_THE_SWEEP.contains(&id) {
            continue;
        }
        let name = match (arg.get_long(), arg.get_short()) {
            (Some(long), _) => Some(format!("--{long}")),
            (None, Some(short)) => Some(format!("-{short}")),
            (None, None) => None,
        };
        if let (ArgAction::Count, Some(name)) = (arg.get_action(), &name) {
            options.extend((0..matches.get_count(id)).map(|_| name.clone()));
            continue;
        }
        let delimiter = arg.get_value_delimiter().map_or(" ".to_string(), String::from);
        for values in matches.get_raw_occurrences(id).into_iter().flatten() {
            let values: Vec<_> = values.map(|value| value.to_string_lossy().into_owned()).collect();
            let value = values.join(&delimiter);
            match (&name, arg.get_action()) {
                (Some(name), ArgAction::SetTrue) => options.push(name.clone()),
                (Some(name), _) if arg.is_require_equals_set() && value.is_empty() => {
                    options.push(name.clone())
                }
                (Some(name), _) if arg.is_require_equals_set() => options.push(format!("{name}={value}")),
                (Some(name), _) => options.extend([name.clone(), value]),
                (None, _) => positionals.extend(values),
            }
        }
    }
    words.extend(options);
    words.extend(positionals);
    words
}

/// A command line as one types it into a shell.
pub fn shell(words: &[String]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=+,./:@%^".contains(c);
    let quoted = words.iter().map(|word| match !word.is_empty() && word.chars().all(is_plain) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// Shown to people only, and only when it takes long.
struct Progress {
    is_shown: bool,
    n_points: usize,
    n_before: usize,
    n_done: usize,
    started: Instant,
    shown: Option<Instant>,
}

impl Progress {
    fn new(is_quiet: bool, n_points: usize, n_missing: usize) -> Progress {
        Progress {
            is_shown: !is_quiet && std::io::stderr().is_terminal(),
            n_points,
            n_before: n_points - n_missing,
            n_done: 0,
            started: Instant::now(),
            shown: None,
        }
    }

    fn done_one(&mut self) {
        self.n_done += 1;
        let elapsed = self.started.elapsed();
        let is_due = self.shown.is_none_or(|shown| shown.elapsed() > Duration::from_millis(200));
        if self.is_shown && elapsed > Duration::from_secs(1) && is_due {
            let n_left = self.n_points - self.n_before - self.n_done;
            let left_s = elapsed.as_secs_f64() / self.n_done as f64 * n_left as f64;
            let done = self.n_before + self.n_done;
            output::err(&format!("\r{done} of {} points, about {left_s:.0} s left  ", self.n_points));
            self.shown = Some(Instant::now());
        }
    }

    fn end(&self) {
        if self.shown.is_some() {
            output::err("\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(typed: &str) -> String {
        let matches = crate::cli::command().try_get_matches_from(typed.split(' ')).unwrap();
        let (name, matches) = matches.subcommand().unwrap();
        match matches.subcommand() {
            Some((below, matches)) => shell(&command_line(&[name, below], matches)),
            None => shell(&command_line(&[name], matches)),
        }
    }

    #[test]
    fn command_lines_are_canonical() {
        let one = line(
            "siding sim --key dst --cycles 1..3 -j 2 --key src --alpha 0,1 --points a --shard 1/2 -n 10",
        );
        assert_eq!(one, "siding sim --packets 10 --alpha 0,1 --cycles 1..3 --key dst --key src");
        let other = line("siding sim -n10 --stages=1..3 --alpha=0,1 --json -q --state b --key dst --key src");
        assert_eq!(other, one);
        let program = line("siding sim p.p4 --mix program --path-share 25=0.3 -I inc -D X=1 --Werror");
        assert_eq!(program, "siding sim --mix program --path-share 25=0.3 -I inc -D X=1 --Werror p.p4");
        assert_eq!(line("siding model extern --cost 1,2 --points a"), "siding model extern --cost 1,2");
    }

    #[test]
    fn words_are_quoted_for_shells() {
        let words = ["a b", "", "it's", "x=1"].map(str::to_string);
        assert_eq!(shell(&words), "'a b' '' 'it'\\''s' x=1");
    }
}
