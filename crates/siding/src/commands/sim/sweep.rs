//! Many points over the same packets: in threads, with progress, and going on after an interruption.

use super::grid::{Frame, Point, usage};
use super::output::result_json;
use super::traffic::{Problem, Survey, Traffic};
use super::windows::{self, Windows};
use crate::output::{self, Exit};
use hazard::Simulation;
use hazard::traffic::{Batch, Key};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Points that share one look at the packets: what is lost by an interruption.
const GROUP_POINTS: usize = 8;

pub struct Sweep<'a> {
    pub traffic: &'a Traffic,
    pub survey: &'a Survey,
    pub frame: &'a Frame,
    /// Threads; `None` is one per core.
    pub jobs: Option<usize>,
    pub state: Option<&'a Path>,
    pub is_quiet: bool,
}

/// Sends one result, or what went wrong.
type Sender = mpsc::Sender<Result<(usize, Value), Problem>>;

impl Sweep<'_> {
    /// Gives the result of each point, as JSON.
    pub fn run(&self, points: &[Point]) -> Result<Vec<Value>, Problem> {
        let keys = keys_of(points);
        if let Some(packets) = self.frame.window_packets {
            windows::check(packets, self.survey.sizes.n()).map_err(usage)?;
        }
        // Before anything takes time.
        for point in points {
            let setup = point.setup(self.frame, self.survey, &keys).map_err(usage)?;
            Simulation::new(&setup).map_err(usage)?;
        }
        let mut state = self.state.map(|path| State::open(path, &self.identity())).transpose()?;
        let names: Vec<String> = points.iter().map(|point| point.json().to_string()).collect();
        let mut results: Vec<Option<Value>> = names
            .iter()
            .map(|name| state.as_ref().and_then(|state| state.known.get(name).cloned()))
            .collect();
        let todo: Vec<usize> = (0..points.len()).filter(|i| results[*i].is_none()).collect();
        let n_threads = self
            .jobs
            .or_else(|| std::thread::available_parallelism().ok().map(|n| n.get()))
            .unwrap_or(1)
            .clamp(1, todo.len().max(1));
        // So that every thread has something to do.
        let group_points = todo.len().div_ceil(n_threads).clamp(1, GROUP_POINTS);
        let groups: Vec<&[usize]> = todo.chunks(group_points).collect();
        let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (sender, receiver) = mpsc::channel();
        let mut progress = Progress::new(self.is_quiet, points.len(), points.len() - todo.len());
        std::thread::scope(|scope| {
            for _ in 0..n_threads {
                let (sender, groups, keys, next, is_over) = (sender.clone(), &groups, &keys, &next, &is_over);
                scope.spawn(move || {
                    while let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
                        if is_over.load(Ordering::Relaxed) {
                            break;
                        }
                        if let Err(problem) = self.run_group(points, group, keys, &sender, is_over) {
                            // The receiver is gone if another thread failed first.
                            let _ = sender.send(Err(problem));
                            break;
                        }
                    }
                });
            }
            drop(sender);
            for message in receiver {
                let noted = message.and_then(|(i, value)| {
                    if let Some(state) = &mut state {
                        state.note(&names[i], &value)?;
                    }
                    results[i] = Some(value);
                    Ok(())
                });
                if let Err(problem) = noted {
                    is_over.store(true, Ordering::Relaxed);
                    return Err(problem);
                }
                progress.done_one();
            }
            Ok(())
        })?;
        progress.end();
        let incomplete = || ("internal bug: a point without a result".to_string(), Exit::Bug);
        results.into_iter().map(|result| result.ok_or_else(incomplete)).collect()
    }

    fn run_group(
        &self,
        points: &[Point],
        group: &[usize],
        keys: &[Key],
        sender: &Sender,
        is_over: &AtomicBool,
    ) -> Result<(), Problem> {
        let mut simulations = Vec::new();
        for i in group {
            let setup = points[*i].setup(self.frame, self.survey, keys).map_err(usage)?;
            let windows = self.frame.window_packets.map(|packets| Windows::new(&setup, packets));
            simulations.push((Simulation::new(&setup).map_err(usage)?, windows.transpose().map_err(usage)?));
        }
        let mut source = self.traffic.open(keys)?;
        let mut batch = Batch::new(keys.len());
        while source.fill(&mut batch)? {
            if is_over.load(Ordering::Relaxed) {
                return Ok(());
            }
            for (simulation, windows) in &mut simulations {
                simulation.take(&batch);
                if let Some(windows) = windows {
                    windows.take(&batch, self.frame).map_err(usage)?;
                }
            }
        }
        for (i, (simulation, windows)) in group.iter().zip(simulations) {
            let mut result = result_json(&simulation.finish(), self.frame);
            if let Some(windows) = windows {
                result["windows"] = windows.finish();
            }
            let _ = sender.send(Ok((*i, result)));
        }
        Ok(())
    }

    /// Results are good for the same packets and the same switch only.
    fn identity(&self) -> Value {
        json!({
            "siding_sim_state": 2,
            "traffic": self.traffic.json(self.survey),
            "alpha_model": self.frame.alpha_model.name(),
            "seed": self.frame.seed,
            "chunk_bytes": self.frame.switch.chunk_bytes,
            "trace_times": self.frame.has_trace_times,
            "window": self.frame.window_packets,
        })
    }
}

/// The keys of all points, each once.
fn keys_of(points: &[Point]) -> Vec<Key> {
    let mut keys: Vec<Key> = points.iter().flat_map(|p| [p.key.clone(), p.lookup.clone()]).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// A file of JSON lines: what the results are for, then a line for each point that is done.
struct State {
    path: String,
    file: File,
    known: HashMap<String, Value>,
}

impl State {
    fn open(path: &Path, identity: &Value) -> Result<State, Problem> {
        let name = path.display().to_string();
        let environment = |error: std::io::Error| (format!("{name}: {error}"), Exit::Environment);
        let text = match std::fs::read(path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(environment(error)),
        };
        let mut known = HashMap::new();
        // A line without an end is one that an interruption has cut.
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        let mut lines = whole.lines();
        if let Some(first) = lines.next() {
            let found: Value = serde_json::from_str(first).unwrap_or_default();
            if found.get("siding_sim_state").is_none() {
                return Err((format!("{name}: this is not a file of `siding sim --state`"), Exit::Usage));
            }
            if found != *identity {
                let message =
                    "its results are of other packets or another switch; remove it or name another file";
                return Err((format!("{name}: {message}"), Exit::Usage));
            }
        } else if !text.is_empty() {
            return Err((format!("{name}: this is not a file of `siding sim --state`"), Exit::Usage));
        }
        for (i, line) in lines.enumerate() {
            let entry: Value = serde_json::from_str(line).unwrap_or_default();
            let (Some(point), Some(result)) = (entry.get("point"), entry.get("result")) else {
                return Err((format!("{name}: line {} is damaged", i + 2), Exit::Environment));
            };
            known.insert(point.to_string(), result.clone());
        }
        let file = OpenOptions::new().create(true).append(true).open(path).map_err(environment)?;
        file.set_len(whole.len() as u64).map_err(environment)?;
        let mut state = State { path: name, file, known };
        if whole.is_empty() {
            state.line(identity)?;
        }
        Ok(state)
    }

    fn note(&mut self, point: &str, result: &Value) -> Result<(), Problem> {
        let point: Value = serde_json::from_str(point).unwrap_or_default();
        self.line(&json!({ "point": point, "result": result }))
    }

    fn line(&mut self, value: &Value) -> Result<(), Problem> {
        self.file
            .write_all(format!("{value}\n").as_bytes())
            .map_err(|error| (format!("{}: {error}", self.path), Exit::Environment))
    }
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
    fn new(is_quiet: bool, n_points: usize, n_before: usize) -> Progress {
        Progress {
            is_shown: !is_quiet && std::io::stderr().is_terminal(),
            n_points,
            n_before,
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
