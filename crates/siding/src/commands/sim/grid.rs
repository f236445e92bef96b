//! Simulated points of a run of `siding sim`, which form a grid.

use super::traffic::{Problem, Survey};
use crate::cli::{AlphaModelArg, FigureArg, LengthList, PolicyArg, SimArgs};
use crate::output::Exit;
use hazard::traffic::Key;
use hazard::{
    Action, Actions, Alpha, AlphaModel, ConfigError, Pace, Policy, Queues, Setup, Switch, Timeline,
};
use serde_json::{Value, json};

pub const QUEUE_CAPACITY: u32 = 100;

/// One configuration to simulate.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    pub alpha: f64,
    pub utilisation: f64,
    pub mix: Vec<(Action, f64)>,
    pub policy: PolicyArg,
    /// Key that packets share state by.
    pub key: Key,
    /// Key that selects a packet's queue.
    pub lookup: Key,
    /// Queues and locks of the per-flow policy.
    pub queues: Queues,
}

/// Settings shared by all points of a run.
#[derive(Clone, Debug)]
pub struct Frame {
    pub switch: Switch,
    pub has_trace_times: bool,
    pub alpha_model: AlphaModel,
    /// Seed of the choice which packets alpha shortens.
    pub seed: u64,
    /// True if some point has an alpha other than 0 and 1, so that the model matters.
    pub has_alpha: bool,
    /// Packets of a window, if windows are simulated as well.
    pub window_packets: Option<u64>,
}

/// Percentiles of fewer packets say nothing.
const WINDOW_PACKETS_MIN: u64 = 1000;

pub fn usage(error: impl std::fmt::Display) -> Problem {
    (error.to_string(), Exit::Usage)
}

impl Frame {
    pub fn new(args: &SimArgs) -> Result<Frame, Problem> {
        let switch = Switch { chunk_bytes: args.switch.chunk_bytes, clock_ghz: args.switch.clock_ghz };
        switch.check().map_err(usage)?;
        let alpha_model = match args.traffic.alpha_model {
            AlphaModelArg::Mix => AlphaModel::Mix,
            AlphaModelArg::Scale => AlphaModel::Scale,
        };
        let has_alpha = match args.traffic.alpha.as_slice() {
            [] => args.figure.is_some_and(|figure| figure != FigureArg::Flow),
            given => given.iter().any(|alpha| ![0.0, 1.0].contains(alpha)),
        };
        let (has_trace_times, seed) = (args.traffic.trace_times, args.traffic.seed);
        let window_packets = args.traffic.window;
        if let Some(n) = window_packets
            && n < WINDOW_PACKETS_MIN
        {
            return Err(usage(format!("--window {n}: expected {WINDOW_PACKETS_MIN} packets or more")));
        }
        Ok(Frame { switch, has_trace_times, alpha_model, seed, has_alpha, window_packets })
    }

    pub fn alpha(&self, value: f64) -> Result<Alpha, ConfigError> {
        Alpha::new(self.alpha_model, value, self.seed)
    }
}

impl Point {
    /// A point at full load at which all packets have one action of `cycles` cycles.
    pub fn new(cycles: u32, alpha: f64, policy: PolicyArg) -> Point {
        Point {
            alpha,
            utilisation: 1.0,
            mix: vec![(Action::new(cycles), 1.0)],
            policy,
            key: Key::five_tuple(),
            lookup: Key::five_tuple(),
            queues: Queues { n_queues: 16, n_locks: 16, queue_packets_max: QUEUE_CAPACITY },
        }
    }

    /// `keys` are the columns of the batches.
    pub fn setup(&self, frame: &Frame, survey: &Survey, keys: &[Key]) -> Result<Setup, ConfigError> {
        let alpha = frame.alpha(self.alpha)?;
        let pace = if frame.has_trace_times {
            let line = Timeline::new(&frame.switch, alpha, Pace::BackToBack)?;
            Pace::of_trace(survey.sizes.line_cycles(&line), survey.duration_ns, self.utilisation)?
        } else if self.utilisation == 1.0 {
            Pace::BackToBack
        } else {
            Pace::Even { utilisation: self.utilisation }
        };
        let column = |key: &Key| keys.iter().position(|k| k == key).unwrap_or(usize::MAX);
        Ok(Setup {
            switch: frame.switch,
            alpha,
            pace,
            actions: Actions::mixed(&self.mix)?,
            policy: match self.policy {
                PolicyArg::None => Policy::None,
                PolicyArg::GlobalLock => Policy::GlobalLock,
                PolicyArg::PerFlowLock => Policy::Queues(self.queues),
            },
            lookup_key: column(&self.lookup),
            update_key: column(&self.key),
        })
    }

    /// The longest action, which is the number across in charts.
    pub fn cycles(&self) -> u32 {
        self.mix.iter().map(|(action, _)| action.cycles).max().unwrap_or(0)
    }

    /// Returns a name that identifies this point within the run.
    pub fn name(&self) -> String {
        let actions = self.mix.iter().map(|(action, weight)| {
            let lock = if action.lock_cycles == action.cycles {
                String::new()
            } else {
                format!("/{}", action.lock_cycles)
            };
            let weight = if *weight == 1.0 { String::new() } else { format!(":{weight}") };
            format!("{}{lock}{weight}", action.cycles)
        });
        let mut name = format!(
            "{} alpha={} load={} cycles={}",
            policy_name(self.policy),
            self.alpha,
            self.utilisation,
            actions.collect::<Vec<_>>().join("+"),
        );
        // Parameters that the policy does not use are left out.
        if self.policy != PolicyArg::GlobalLock {
            name += &format!(" key={}", self.key);
        }
        if self.policy == PolicyArg::PerFlowLock {
            let Queues { n_queues, n_locks, queue_packets_max } = self.queues;
            name += &format!(
                " lookup={} queues={n_queues} locks={n_locks} room={queue_packets_max}",
                self.lookup
            );
        }
        name
    }

    /// Returns the parameters that identify this point within the run.
    pub fn json(&self) -> Value {
        let actions: Vec<Value> = self
            .mix
            .iter()
            .map(|(action, weight)| {
                json!({ "cycles": action.cycles, "lock_cycles": action.lock_cycles, "weight": weight })
            })
            .collect();
        let mut value = json!({
            "policy": policy_name(self.policy),
            "alpha": self.alpha,
            "utilisation": self.utilisation,
            "cycles": self.cycles(),
            "actions": actions,
        });
        // Parameters that the policy does not use are left out.
        if self.policy != PolicyArg::GlobalLock {
            value["key"] = json!(self.key.to_string());
        }
        if self.policy == PolicyArg::PerFlowLock {
            value["lookup_key"] = json!(self.lookup.to_string());
            value["queues"] = json!(self.queues.n_queues);
            value["locks"] = json!(self.queues.n_locks);
            value["queue_capacity"] = json!(self.queues.queue_packets_max);
        }
        value
    }
}

pub fn policy_name(policy: PolicyArg) -> &'static str {
    match policy {
        PolicyArg::None => "none",
        PolicyArg::GlobalLock => "global-lock",
        PolicyArg::PerFlowLock => "per-flow-lock",
    }
}

fn list(given: &Option<LengthList>, default: u32) -> Vec<u32> {
    given.as_ref().map_or_else(|| vec![default], |list| list.0.clone())
}

pub fn alphas(args: &SimArgs, default: &[f64]) -> Vec<f64> {
    if args.traffic.alpha.is_empty() { default.to_vec() } else { args.traffic.alpha.clone() }
}

/// The mixes of actions that the options ask for; `cycles` unless they say anything.
pub fn mixes(args: &SimArgs, cycles: &[u32]) -> Result<Vec<Vec<(Action, f64)>>, Problem> {
    let switch = &args.switch;
    if !(0.0..=1.0).contains(&switch.read_only) {
        return Err(usage(format!("--read-only {}: expected a share from 0 to 1", switch.read_only)));
    }
    let is_of_program = switch.mix == ["program"];
    if is_of_program && args.program.is_none() {
        return Err(usage("--mix program: there is no program"));
    }
    let mixes: Vec<Vec<(u32, f64)>> = if switch.mix.is_empty() || is_of_program {
        let cycles = switch.cycles.as_ref().map_or(cycles, |list| &list.0);
        cycles.iter().map(|n| vec![(*n, 1.0)]).collect()
    } else {
        let part = |text: &String| {
            let wrong = || usage(format!("--mix {text}: expected cycles and a weight, as 3:0.7"));
            let (cycles, weight) = text.split_once(':').ok_or_else(wrong)?;
            Ok((cycles.parse().map_err(|_| wrong())?, weight.parse().map_err(|_| wrong())?))
        };
        vec![switch.mix.iter().map(part).collect::<Result<_, Problem>>()?]
    };
    let action = |cycles: u32| Action {
        cycles,
        lock_cycles: switch.lock_cycles.map_or(cycles, |lock_cycles| lock_cycles.min(cycles)),
    };
    if switch.lock_cycles == Some(0) {
        return Err(usage(
            "--lock-cycles 0: expected a number from 1; --read-only is for packets without a lock",
        ));
    }
    let mixes = mixes.into_iter().map(|mix| {
        let mut actions = Vec::new();
        for (cycles, weight) in mix {
            if switch.read_only < 1.0 {
                actions.push((action(cycles), weight * (1.0 - switch.read_only)));
            }
            if switch.read_only > 0.0 {
                actions.push((Action::read_only(cycles), weight * switch.read_only));
            }
        }
        actions
    });
    Ok(mixes.collect())
}

/// All points that the options ask for. `key` is of the program, if there is one.
pub fn grid(args: &SimArgs, mixes: &[Vec<(Action, f64)>], key: &Key) -> Result<Vec<Point>, Problem> {
    let switch = &args.switch;
    let policies = match switch.policy.as_slice() {
        [] => vec![PolicyArg::None, PolicyArg::GlobalLock, PolicyArg::PerFlowLock],
        given => given.to_vec(),
    };
    let keys = if switch.key.is_empty() { std::slice::from_ref(key) } else { &switch.key };
    let configurations = queue_configurations(args);
    let mut points: Vec<Point> = Vec::new();
    for policy in policies {
        // Parameters that the policy does not use would repeat the same point.
        let keys = if policy == PolicyArg::GlobalLock { &keys[..1] } else { keys };
        let configurations =
            if policy == PolicyArg::PerFlowLock { &configurations[..] } else { &configurations[..1] };
        for (key, queues) in keys.iter().flat_map(|key| configurations.iter().map(move |q| (key, *q))) {
            for utilisation in &args.traffic.utilisation {
                for alpha in alphas(args, &[1.0]) {
                    points.extend(mixes.iter().map(|mix| Point {
                        alpha,
                        utilisation: *utilisation,
                        mix: mix.clone(),
                        policy,
                        key: key.clone(),
                        lookup: switch.lookup_key.clone().unwrap_or_else(|| key.clone()),
                        queues,
                    }));
                }
            }
        }
    }
    Ok(points)
}

fn queue_configurations(args: &SimArgs) -> Vec<Queues> {
    let switch = &args.switch;
    let mut all = Vec::new();
    for n_queues in list(&switch.queues, 16) {
        for n_locks in list(&switch.locks, 16) {
            for queue_packets_max in list(&switch.queue_capacity, QUEUE_CAPACITY) {
                all.push(Queues { n_queues, n_locks, queue_packets_max });
            }
        }
    }
    all
}
