//! All tests of the workspace, several test executables at a time: `cargo xtask test`.
//!
//! `cargo test` runs one executable after the other, and many of them wait for networks, child processes or timeouts.
//! Those of [`order::ALONE`] run with nothing else, after the others. Cargo runs the documentation tests last.

pub mod executables;
pub mod order;
pub mod outcome;

use executables::Executable;
use outcome::{Outcome, Summary};
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A note says what runs whenever nothing has ended for so long.
const SILENCE_MAX: Duration = Duration::from_secs(120);

/// One more than cores, because an executable that waits leaves its core to another.
pub fn default_jobs() -> usize {
    std::thread::available_parallelism().map_or(2, |n| n.get()) + 1
}

/// Builds and runs all tests, at most `n_jobs` executables at a time; true if none fails.
pub fn run(root: &Path, n_jobs: usize) -> Result<bool> {
    let Some(tests) = executables::build(root)? else { return Ok(false) };
    let logs = executables::target_directory(root)?.join("test-logs");
    std::fs::create_dir_all(&logs)?;
    let start = Instant::now();
    let (alone, others) = order::split(tests);
    let mut outcomes = run_all(others, n_jobs, &logs)?;
    outcomes.extend(run_all(alone, 1, &logs)?);
    let summary = Summary::of(&outcomes);
    println!("{summary} ({} s)", start.elapsed().as_secs());
    let documentation = ["test", "--quiet", "--locked", "--workspace", "--doc"];
    let is_documented = Command::new(env!("CARGO")).args(documentation).current_dir(root).status()?.success();
    Ok(summary.failed.is_empty() && is_documented)
}

/// Runs the executables in their order, and prints the output of each that fails.
pub fn run_all(tests: Vec<Executable>, n_jobs: usize, logs: &Path) -> Result<Vec<Outcome>> {
    let n_jobs = n_jobs.clamp(1, tests.len().max(1));
    let queue = Arc::new(Mutex::new(VecDeque::from(tests)));
    let (sender, events) = channel();
    for job in 0..n_jobs {
        let (queue, sender, log) = (queue.clone(), sender.clone(), logs.join(format!("{job}.log")));
        std::thread::spawn(move || work(&queue, &sender, &log));
    }
    drop(sender);
    let (mut outcomes, mut running) = (Vec::new(), BTreeMap::new());
    loop {
        match events.recv_timeout(SILENCE_MAX) {
            Ok(Event::Started(job, name)) => drop(running.insert(job, (name, Instant::now()))),
            Ok(Event::Ended(job, outcome)) => {
                running.remove(&job);
                let outcome = outcome?;
                if let Some(report) = outcome.report() {
                    println!("{report}");
                }
                outcomes.push(outcome);
            }
            Err(RecvTimeoutError::Timeout) => {
                for (name, since) in running.values() {
                    println!("note: {name} has been running for {} s", since.elapsed().as_secs());
                }
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(outcomes),
        }
    }
}

/// The log of a job names it.
enum Event {
    Started(PathBuf, String),
    Ended(PathBuf, Result<Outcome>),
}

fn work(queue: &Mutex<VecDeque<Executable>>, events: &Sender<Event>, log: &Path) {
    loop {
        let next = queue.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop_front();
        let Some(test) = next else { return };
        // Nobody listens any more after an error.
        if events.send(Event::Started(log.to_owned(), test.name())).is_err() {
            return;
        }
        let outcome = run_one(&test, log);
        if events.send(Event::Ended(log.to_owned(), outcome)).is_err() {
            return;
        }
    }
}

/// The output goes to a file and not to a pipe: a child process that a test leaves behind would keep a pipe open.
fn run_one(test: &Executable, log: &Path) -> Result<Outcome> {
    let start = Instant::now();
    let file = File::create(log)?;
    let status = Command::new(&test.path)
        .current_dir(&test.folder)
        .env("CARGO", env!("CARGO"))
        .env("CARGO_MANIFEST_DIR", &test.folder)
        .env("CARGO_MANIFEST_PATH", test.folder.join("Cargo.toml"))
        .env("CARGO_PKG_NAME", &test.package)
        .env("CARGO_PKG_VERSION", &test.version)
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file)
        .status()
        .map_err(|error| Error::new(error.kind(), format!("{}: {error}", test.path.display())))?;
    let output = String::from_utf8_lossy(&std::fs::read(log)?).into_owned();
    Ok(Outcome {
        name: test.name(),
        is_success: status.success(),
        status: status.to_string(),
        time: start.elapsed(),
        output,
    })
}
