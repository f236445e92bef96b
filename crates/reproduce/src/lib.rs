//! `siding reproduce`: every figure of the five lines of research by one command, on one page.
//!
//! - [`ReproduceArgs`]: the options; [`run`] runs the parts and writes the page;
//! - `parts`: the figures as data, a file for each line of research: what was published, the commands that measure it
//!   here, and a function that reads their JSON;
//! - `runner`: the commands as processes; `store`: their results, so that a run that was cut goes on;
//! - `page`: one HTML file without scripts and without anything to fetch.
//!
//! Invariants: what the page says of a figure is computed from the JSON of this machine's run; published numbers are
//! marked as such. A part that fails or cannot run does not end the others, and is named on the page. All text goes
//! through `page::html::escaped`.
//!
//! Non-goals: measuring (parts are commands of `siding`), judging a change.
//!
//! Start reading at [`run`], then `part`.

mod args;
mod json;
mod machine;
mod page;
mod part;
mod parts;
mod progress;
mod runner;
mod store;

pub use args::ReproduceArgs;
pub use machine::facts as machine_facts;

use console::output::{self, Exit};
use page::{Entry, Page, Status};
use part::{Part, Size};
use progress::Progress;
use serde_json::{Value, json};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::Store;

/// The program around this crate.
pub struct Caller<'c> {
    /// True when the command line, without `siding`, is one of this build.
    pub accepts: &'c dyn Fn(&[String]) -> bool,
}

type Problem = (String, Exit);

/// Command lines that parts run, for tests of the program around this crate.
pub fn command_lines() -> Vec<Vec<String>> {
    let sizes = [Size::Smoke, Size::Quick, Size::Full];
    let parts = parts::all();
    sizes.iter().flat_map(|size| parts.iter().flat_map(|part| store::commands_of(part, *size))).collect()
}

pub fn run(args: &ReproduceArgs, caller: &Caller<'_>) -> Exit {
    match reproduce(args, caller) {
        Ok(exit) => exit,
        Err((message, exit)) => {
            output::error_line(&message);
            exit
        }
    }
}

fn reproduce(args: &ReproduceArgs, caller: &Caller<'_>) -> Result<Exit, Problem> {
    let size = args.size();
    let wanted = parts::selected(&args.only).map_err(|message| (message, Exit::Usage))?;
    let all = parts::all();
    if args.list {
        output::out(&list(&wanted));
        return Ok(Exit::Ok);
    }
    check_output(&args.output)?;
    let state = args.state.clone().unwrap_or_else(|| default_state(&args.output));
    let mut store = Store::open(&state, size, &all, env!("CARGO_PKG_VERSION"))?;
    // Before anything runs, as the file may be replaced meanwhile.
    let program = std::env::current_exe()
        .map_err(|error| (format!("cannot find siding: {error}"), Exit::Environment))?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        let _ = signal_hook::flag::register(signal, Arc::clone(&stop));
    }
    let mine: Vec<&Part> = wanted
        .iter()
        .enumerate()
        .filter(|(place, _)| args.shard.contains(*place))
        .map(|(_, part)| *part)
        .collect();
    let todo: Vec<&Part> =
        mine.iter().filter(|part| args.fresh || !store.is_done(part.name)).copied().collect();
    let mut statuses: Vec<(&str, Status)> = Vec::new();
    let machine = machine::facts(env!("CARGO_PKG_VERSION"));
    let page = |store: &Store, statuses: &[(&str, Status)]| -> Result<Page, Problem> {
        let page = Page {
            size,
            machine: machine.clone(),
            date: machine::now(),
            entries: entries(&all, &mine, store, statuses),
        };
        output::replace_file(&args.output, page.html().as_bytes())
            .map_err(|error| (format!("{}: {error}", args.output.display()), Exit::Environment))?;
        Ok(page)
    };
    let mut progress = Progress::new(args.quiet, size, &todo);
    progress.begin(&args.output, &state, mine.len() - todo.len());
    for (i, part) in todo.iter().enumerate() {
        if let Some(missing) = runner::missing(part, size, &store, caller) {
            progress.end_of(i, &format!("missing: {}", missing.reason));
            statuses.push((part.name, Status::Missing(missing)));
            continue;
        }
        match runner::run(&program, part, size, &store, &stop, &|elapsed| progress.tick(i, elapsed)) {
            Some(record) => {
                let failed = record.error.as_deref().and_then(|error| error.lines().last());
                let end = failed
                    .map_or_else(|| format!("{:.0} s", record.seconds), |last| format!("failed: {last}"));
                store.put(part.name, record)?;
                progress.end_of(i, &end);
            }
            None => {
                page(&store, &statuses)?;
                let n_done = mine.iter().filter(|part| store.is_done(part.name)).count();
                let message = format!(
                    "stopped; {n_done} of {} parts are kept in {}, and the same command goes on from there",
                    mine.len(),
                    state.display()
                );
                return Err((message, Exit::Failed));
            }
        }
        // So that there is a page when the run is cut.
        page(&store, &statuses)?;
    }
    let page = page(&store, &statuses)?;
    output::out(&match args.json {
        true => format!("{}\n", summary(&page, &args.output)),
        false => described(&page, &args.output),
    });
    let is_mine = |entry: &&Entry| mine.iter().any(|part| part.name == entry.part.name);
    let has_failed =
        page.entries.iter().filter(is_mine).any(|entry| matches!(entry.status, Status::Failed(_)));
    Ok(if has_failed { Exit::Failed } else { Exit::Ok })
}

/// Each part with its result as it is, or with the reason why there is none.
fn entries(all: &[&'static Part], mine: &[&Part], store: &Store, statuses: &[(&str, Status)]) -> Vec<Entry> {
    let others = |name: &str| store.outputs(name);
    let entry = |part: &&'static Part| {
        let known = statuses.iter().find(|(name, _)| *name == part.name).map(|(_, status)| status.clone());
        let record = store.get(part.name);
        let status = match (known, record) {
            (Some(status), _) => status,
            (None, Some(record)) => record.error.clone().map_or(Status::Done, Status::Failed),
            (None, None) if mine.iter().any(|own| own.name == part.name) => Status::Waiting,
            (None, None) => Status::LeftOut,
        };
        let shown = (status == Status::Done).then(|| (part.read)(&store.results(part.name, &others)));
        Entry { part, status, record: record.cloned(), shown: shown.unwrap_or_default() }
    };
    all.iter().map(entry).collect()
}

fn default_state(page: &Path) -> PathBuf {
    page.with_extension("parts")
}

/// Fails before anything takes time if the page cannot be written.
fn check_output(path: &Path) -> Result<(), Problem> {
    let wrong = |what: String, exit| Err((format!("{}: {what}", path.display()), exit));
    if path.is_dir() {
        return wrong(
            "it is a directory; name a file, such as siding-reproduction.html in it".to_owned(),
            Exit::Usage,
        );
    }
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !dir.is_dir() {
        return wrong(format!("there is no directory {}", dir.display()), Exit::Environment);
    }
    Ok(())
}

fn list(parts: &[&Part]) -> String {
    let mut rows = vec![["part", "quick", "full", "figure"].map(str::to_owned).to_vec()];
    for part in parts {
        let seconds = |size: Size| format!("{:.0} s", size.of(part.estimate_s));
        rows.push(vec![
            part.name.to_owned(),
            seconds(Size::Quick),
            seconds(Size::Full),
            format!("  {}", part.title),
        ]);
    }
    let total = |size: Size| parts.iter().map(|part| size.of(part.estimate_s)).sum::<f64>() / 60.0;
    let mut text = String::new();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    for row in &rows {
        let [a, b, c] = [width(0), width(1), width(2)];
        text += &format!("{:a$}  {:>b$}  {:>c$}  {}\n", row[0], row[1], row[2], row[3].trim_start());
    }
    text + &format!("about {:.0} min with --quick, {:.0} without\n", total(Size::Quick), total(Size::Full))
}

fn described(page: &Page, path: &Path) -> String {
    let counts = page.counts();
    let readings: Vec<String> = part::Agreement::ALL
        .iter()
        .zip(counts.readings)
        .map(|(agreement, n)| format!("{n} {}", agreement.words()))
        .collect();
    let mut text = format!(
        "{}: {} of {} parts, {} of {} goals met; shapes: {}\n",
        path.display(),
        counts.n_done,
        page.entries.len(),
        counts.n_met,
        counts.n_goals,
        readings.join(", ")
    );
    for entry in &page.entries {
        match &entry.status {
            Status::Failed(reason) => {
                text += &format!("{} failed: {}\n", entry.part.name, reason.replace('\n', "\n    "))
            }
            Status::Missing(missing) => {
                text += &format!("{} is missing: {}; {}\n", entry.part.name, missing.reason, missing.remedy);
            }
            Status::Done | Status::Waiting | Status::LeftOut => {}
        }
    }
    text
}

fn summary(page: &Page, path: &Path) -> Value {
    let counts = page.counts();
    let parts = page.entries.iter().map(|entry| {
        let readings = entry.shown.readings.iter().map(|reading| {
            json!({
                "aspect": reading.aspect, "published": reading.published, "here": reading.here,
                "agreement": reading.agreement.name(),
            })
        });
        let goals = entry.goals();
        json!({
            "part": entry.part.name, "status": entry.status.name(), "reason": entry.status.reason(),
            "seconds": entry.record.as_ref().map(|record| record.seconds),
            "goals": goals.len(), "goals_met": goals.iter().filter(|goal| goal["met"] == true).count(),
            "readings": readings.collect::<Vec<_>>(),
        })
    });
    json!({
        "version": 1, "siding": env!("CARGO_PKG_VERSION"), "page": path.display().to_string(), "size": page.size.name(),
        "machine": page.machine, "goals": counts.n_goals, "goals_met": counts.n_met,
        "parts": parts.collect::<Vec<_>>(),
    })
}
