//! `siding bench sim`: how many packets a second the models of `siding sim` take.

use crate::args::BenchSimArgs;
use crate::frontend::median;
use console::output::{self, Exit};
use hazard::traffic::{Batch, Flows, Generator, Key, Profile};
use hazard::{
    Action, Actions, Alpha, AlphaModel, ConfigError, Pace, Policy, Queues, Setup, Simulation, Switch,
};
use serde_json::json;
use std::hint::black_box;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Packets of a batch, as in `siding sim`.
const BATCH: usize = hazard::traffic::BATCH_PACKETS;
/// Batches that are made, then simulated: so that the clock is not asked too often.
const ROUND_BATCHES: u64 = 64;

/// The time that this thread has had a core for: other work of the machine does not count.
fn core_time() -> Duration {
    #[cfg(target_os = "linux")]
    {
        use nix::sys::resource::{UsageWho, getrusage};
        if let Ok(usage) = getrusage(UsageWho::RUSAGE_THREAD) {
            let us = |time: nix::sys::time::TimeVal| time.tv_sec() as u64 * 1_000_000 + time.tv_usec() as u64;
            return Duration::from_micros(us(usage.user_time()) + us(usage.system_time()));
        }
    }
    static STARTED: OnceLock<Instant> = OnceLock::new();
    STARTED.get_or_init(Instant::now).elapsed()
}

struct Case {
    name: &'static str,
    policy: Policy,
    cycles: u32,
    /// Packets a second that are asked for; `None` where a case only shows what a corner costs.
    goal: Option<f64>,
}

fn cases() -> Vec<Case> {
    let queues = |n_queues, n_locks| Policy::Queues(Queues { n_queues, n_locks, queue_packets_max: 100 });
    let case = |name, policy, cycles, goal| Case { name, policy, cycles, goal };
    vec![
        case("hazards", Policy::None, 10, Some(20e6)),
        case("hazards, 30 cycles", Policy::None, 30, Some(20e6)),
        case("global lock", Policy::GlobalLock, 10, Some(20e6)),
        case("queues, Q = 1, W = 1", queues(1, 1), 16, Some(5e6)),
        case("queues, Q = 16, W = 16", queues(16, 16), 16, Some(5e6)),
        case("queues, Q = 64, W = 1024", queues(64, 1024), 30, Some(5e6)),
    ]
}

/// Time of a core for the packets themselves, and for packets and model.
fn time(case: &Case, alpha: f64, n_packets: u64) -> Result<[Duration; 2], ConfigError> {
    let setup = Setup {
        switch: Switch::default(),
        alpha: Alpha::new(AlphaModel::Mix, alpha, 1)?,
        pace: Pace::BackToBack,
        actions: Actions::one(Action::new(case.cycles))?,
        policy: case.policy,
        lookup_key: 0,
        update_key: 0,
    };
    let (n_flows, exponent, train) = Profile::Backbone.flow_numbers();
    let (Ok(sizes), Some(flows)) = (Profile::Backbone.sizes(), Flows::zipf(n_flows, exponent, train)) else {
        return Ok([Duration::ZERO; 2]);
    };
    let mut packets = Generator::new(sizes, flows, &[Key::five_tuple()], 1);
    let mut simulation = Simulation::new(&setup)?;
    let mut batches = vec![Batch::new(1); ROUND_BATCHES as usize];
    let (mut of_packets, mut of_model) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..n_packets / (BATCH as u64 * ROUND_BATCHES) {
        let start = core_time();
        batches.iter_mut().for_each(|batch| packets.fill(batch, BATCH));
        let filled = core_time();
        batches.iter().for_each(|batch| simulation.take(batch));
        of_packets += filled - start;
        of_model += core_time() - filled;
    }
    black_box(simulation.finish());
    Ok([of_packets, of_packets + of_model])
}

pub fn run(args: &BenchSimArgs) -> Exit {
    if cfg!(debug_assertions) && !args.json {
        output::warning_line("this is a debug build");
    }
    let n_packets = args.packets.next_multiple_of(BATCH as u64 * ROUND_BATCHES);
    let mut rows = Vec::new();
    for case in cases() {
        for alpha in [1.0, 0.0] {
            let mut all = Vec::new();
            for _ in 0..args.runs {
                match time(&case, alpha, n_packets) {
                    Ok(times) => all.push(times.map(|t| t.as_secs_f64())),
                    Err(error) => {
                        output::error_line(&format!("internal bug: {error}"));
                        return Exit::Bug;
                    }
                }
            }
            let whole = median(all.iter().map(|[_, whole]| *whole).collect());
            let model = median(all.iter().map(|[packets, whole]| whole - packets).collect());
            let rate = |seconds: f64| n_packets as f64 / seconds.max(1e-9);
            if !args.json {
                let goal = match case.goal {
                    Some(goal) => format!("  (goal {:.0})", goal / 1e6),
                    None => String::new(),
                };
                output::out(&format!(
                    "{:26} alpha {alpha}  {:7.1} M packets/s  {:7.1} with making them{goal}\n",
                    case.name,
                    rate(model) / 1e6,
                    rate(whole) / 1e6,
                ));
            }
            rows.push(json!({
                "model": case.name,
                "alpha": alpha,
                "cycles": case.cycles,
                "packets_per_second": rate(model),
                "packets_per_second_with_making_them": rate(whole),
                "goal": case.goal,
                "reached": case.goal.map(|goal| rate(model) >= goal),
            }));
        }
    }
    if args.json {
        let value = json!({
            "version": 1,
            "siding": env!("CARGO_PKG_VERSION"),
            "optimized": !cfg!(debug_assertions),
            "packets": n_packets,
            "runs": args.runs,
            "time": "of one core",
            "rows": rows,
        });
        output::out(&format!("{value}\n"));
    }
    Exit::Ok
}
