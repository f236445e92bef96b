//! Many points over the same packets, as a sweep.

use super::grid::{Frame, Point, usage};
use super::output::result_json;
use super::traffic::{Problem, Survey, Traffic};
use super::windows::{self, Windows};
use crate::cli::SweepArgs;
use crate::commands::sweeps;
use hazard::Simulation;
use hazard::traffic::{Batch, Key};
use serde_json::{Value, json};
use std::collections::HashMap;
use sweep::{Header, Sink};

/// Points that share one look at the packets: what is lost by an interruption.
const GROUP_POINTS: usize = 8;
/// Version of the sweep: another one makes other results.
const VERSION: u64 = 3;

pub struct Sweep<'a> {
    pub traffic: &'a Traffic,
    pub survey: &'a Survey,
    pub frame: &'a Frame,
    pub args: &'a SweepArgs,
    pub is_json: bool,
    /// The command line that makes the points.
    pub command: Vec<String>,
}

impl Sweep<'_> {
    /// Gives the result of each point, as JSON; `None` for a shard, which has no report. Points see the same packets on
    /// purpose: their differences are those of the switches.
    pub fn run(&self, points: &[Point]) -> Result<Option<Vec<Value>>, Problem> {
        // Each point once.
        let mut names: Vec<String> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut different: Vec<&Point> = Vec::new();
        let mut place_of_each = Vec::new();
        for point in points {
            let name = point.name();
            let place = *places.entry(name.clone()).or_insert_with(|| {
                names.push(name);
                different.push(point);
                different.len() - 1
            });
            place_of_each.push(place);
        }
        let keys = keys_of(points);
        if let Some(packets) = self.frame.window_packets {
            windows::check(packets, self.survey.sizes.n()).map_err(usage)?;
        }
        // Before anything takes time.
        for point in &different {
            let setup = point.setup(self.frame, self.survey, &keys).map_err(usage)?;
            Simulation::new(&setup).map_err(usage)?;
        }
        let header = Header::new("sim", VERSION, self.frame.seed, self.arguments(), names)
            .map_err(sweeps::problem)?
            .with_command(self.command.clone());
        let work = |group: &[usize], sink: &Sink<'_, Problem>| self.run_group(&different, group, &keys, sink);
        let results = sweeps::run(self.args, self.is_json, header, GROUP_POINTS, work)?;
        Ok(results.map(|all| place_of_each.iter().filter_map(|place| all.get(*place).cloned()).collect()))
    }

    fn run_group(
        &self,
        points: &[&Point],
        group: &[usize],
        keys: &[Key],
        sink: &Sink<'_, Problem>,
    ) -> Result<(), Problem> {
        let mut simulations = Vec::new();
        for place in group {
            let setup = points[*place].setup(self.frame, self.survey, keys).map_err(usage)?;
            let windows = self.frame.window_packets.map(|packets| Windows::new(&setup, packets));
            simulations.push((Simulation::new(&setup).map_err(usage)?, windows.transpose().map_err(usage)?));
        }
        let mut source = self.traffic.open(keys)?;
        let mut batch = Batch::new(keys.len());
        while source.fill(&mut batch)? {
            if sink.is_over() {
                return Ok(());
            }
            for (simulation, windows) in &mut simulations {
                simulation.take(&batch);
                if let Some(windows) = windows {
                    windows.take(&batch, self.frame).map_err(usage)?;
                }
            }
        }
        for (place, (simulation, windows)) in group.iter().zip(simulations) {
            let mut result = result_json(&simulation.finish(), self.frame);
            if let Some(windows) = windows {
                result["windows"] = windows.finish();
            }
            sink.done(*place, result);
        }
        Ok(())
    }

    /// Results are good for the same packets and the same switch only.
    fn arguments(&self) -> Value {
        let mut traffic = self.traffic.json(self.survey);
        if let Traffic::Trace { path, .. } = self.traffic {
            // Another machine may have it in another folder.
            traffic["name"] = json!(path.file_name().map(|name| name.to_string_lossy()));
        }
        json!({
            "traffic": traffic,
            "alpha_model": self.frame.alpha_model.name(),
            "chunk_bytes": self.frame.switch.chunk_bytes,
            "clock_ghz": self.frame.switch.clock_ghz,
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
