//! One switch fed with batches of packets.

use crate::alpha::Alpha;
use crate::config::{Actions, ConfigError, Queues, Switch};
use crate::hazards::{HazardResult, Hazards};
use crate::lock::{Lock, LockResult};
use crate::queues::{Arrival, QueueResult, Scheduler};
use crate::timeline::{Pace, Timeline};
use crate::traffic::Batch;
use std::ops::Range;

/// The mechanism that separates packets of the same state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// No mechanism; hazards are counted.
    None,
    /// One packet at a time, with an unbounded queue.
    GlobalLock,
    Queues(Queues),
}

/// Everything that a run depends on but the packets.
#[derive(Clone, Debug)]
pub struct Setup {
    pub switch: Switch,
    pub alpha: Alpha,
    pub pace: Pace,
    pub actions: Actions,
    pub policy: Policy,
    /// Column of the batches: the key that says in which queue a packet waits.
    pub lookup_key: usize,
    /// Column of the batches: the key of the state that a packet changes.
    pub update_key: usize,
}

/// A setup under way.
#[derive(Clone, Debug)]
pub struct Simulation {
    line: Timeline,
    actions: Actions,
    model: Model,
    lookup_key: usize,
    update_key: usize,
    first_packet: u64,
    n_packets: u64,
}

#[derive(Clone, Debug)]
enum Model {
    None(Hazards),
    Lock(Box<Lock>),
    Queues(Box<Scheduler>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    Hazards(HazardResult),
    Lock(LockResult),
    Queues(QueueResult),
}

/// The result of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finished {
    pub outcome: Outcome,
    pub n_packets: u64,
    /// Duration of the input.
    pub cycles: u64,
    /// Cycles of the input in which the line was busy.
    pub line_cycles: u64,
}

impl Simulation {
    pub fn new(setup: &Setup) -> Result<Simulation, ConfigError> {
        Ok(Simulation {
            line: Timeline::new(&setup.switch, setup.alpha, setup.pace)?,
            actions: setup.actions.clone(),
            model: match setup.policy {
                Policy::None => Model::None(Hazards::new(setup.actions.lock_cycles_max())),
                Policy::GlobalLock => Model::Lock(Box::default()),
                Policy::Queues(queues) => Model::Queues(Box::new(Scheduler::new(queues)?)),
            },
            lookup_key: setup.lookup_key,
            update_key: setup.update_key,
            first_packet: 0,
            n_packets: 0,
        })
    }

    /// Numbers packets from this one on. The numbers say which action a packet has, and which alpha shortens.
    pub fn from_packet(self, packet: u64) -> Simulation {
        Simulation { line: self.line.from_packet(packet), first_packet: packet, ..self }
    }

    /// The next packets. Keys whose column is missing are global.
    pub fn take(&mut self, batch: &Batch) {
        self.take_range(batch, 0..batch.len());
    }

    /// Takes some packets of a batch.
    pub fn take_range(&mut self, batch: &Batch, range: Range<usize>) {
        const NO_KEY: &[u64] = &[];
        let column = |key: usize| batch.keys.get(key).map_or(NO_KEY, |column| &column[range.clone()]);
        let (lookups, updates) = (column(self.lookup_key), column(self.update_key));
        let packets = batch.len_bytes[range.clone()].iter().zip(&batch.time_ns[range.clone()]).enumerate();
        let (line, actions, first) = (&mut self.line, &self.actions, self.first_packet + self.n_packets);
        let key_of = |column: &[u64], at: usize| column.get(at).copied().unwrap_or(0);
        match &mut self.model {
            Model::None(hazards) => packets.for_each(|(i, (len_bytes, time_ns))| {
                let cycle = line.receive(*len_bytes, *time_ns);
                hazards.enter(cycle, key_of(updates, i), actions.of_packet(first + i as u64));
            }),
            Model::Lock(lock) => packets.for_each(|(i, (len_bytes, time_ns))| {
                let cycle = line.receive(*len_bytes, *time_ns);
                lock.pass(cycle, actions.of_packet(first + i as u64));
            }),
            Model::Queues(scheduler) => packets.for_each(|(i, (len_bytes, time_ns))| {
                let arrival = Arrival {
                    cycle: line.receive(*len_bytes, *time_ns),
                    len_bytes: *len_bytes,
                    lookup: key_of(lookups, i),
                    update: key_of(updates, i),
                    action: actions.of_packet(first + i as u64),
                };
                scheduler.arrive(arrival, &mut |_| {});
            }),
        }
        self.n_packets += range.len() as u64;
    }

    pub fn finish(mut self) -> Finished {
        let cycles = self.line.ended_at();
        let outcome = match &mut self.model {
            Model::None(hazards) => Outcome::Hazards(hazards.result(cycles)),
            Model::Lock(lock) => Outcome::Lock(lock.result(cycles)),
            Model::Queues(scheduler) => {
                scheduler.finish(&mut |_| {});
                Outcome::Queues(scheduler.result(cycles))
            }
        };
        Finished { outcome, n_packets: self.n_packets, cycles, line_cycles: self.line.line_cycles() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alpha::AlphaModel;
    use crate::config::Action;
    use crate::traffic::{Flows, Generator, Key, Profile};

    fn run(policy: Policy, cycles: u32, alpha: f64, n_packets: usize) -> Outcome {
        let setup = Setup {
            switch: Switch::default(),
            alpha: Alpha::new(AlphaModel::Mix, alpha, 1).unwrap(),
            pace: Pace::BackToBack,
            actions: Actions::one(Action::new(cycles)).unwrap(),
            policy,
            lookup_key: 0,
            update_key: 0,
        };
        let (n_flows, exponent, train) = Profile::Backbone.flow_numbers();
        let flows = Flows::zipf(n_flows, exponent, train).unwrap();
        let mut packets = Generator::new(Profile::Backbone.sizes().unwrap(), flows, &[Key::five_tuple()], 1);
        let mut simulation = Simulation::new(&setup).unwrap();
        let mut batch = Batch::new(1);
        for _ in 0..n_packets / 1000 {
            packets.fill(&mut batch, 1000);
            simulation.take(&batch);
        }
        let finished = simulation.finish();
        assert_eq!((finished.n_packets, finished.line_cycles), (n_packets as u64, finished.cycles));
        finished.outcome
    }

    fn throughput(policy: Policy, cycles: u32, alpha: f64) -> f64 {
        match run(policy, cycles, alpha, 200_000) {
            Outcome::Lock(result) => result.throughput,
            Outcome::Queues(result) => result.throughput,
            Outcome::Hazards(_) => panic!("asked for throughput without a lock"),
        }
    }

    /// The published curves of hazards: figure 1b.
    #[test]
    fn hazards_are_rare_where_packets_are_long() {
        let share = |cycles, alpha| match run(Policy::None, cycles, alpha, 200_000) {
            Outcome::Hazards(result) => result.share_of_cycles(),
            Outcome::Lock(_) | Outcome::Queues(_) => panic!("asked for hazards"),
        };
        assert_eq!(share(1, 1.0), 0.0);
        assert!(share(19, 1.0) <= 0.051 && share(19, 1.0) > 0.045, "{}", share(19, 1.0));
        // All packets are shorter than 20 cycles.
        assert!((share(20, 1.0) - 1.0 / 10.26).abs() < 0.002);
        assert!(share(2, 0.0) > 0.9999);
        assert!(share(2, 1.0) < share(10, 1.0) && share(10, 1.0) < share(10, 0.4));
    }

    /// The published curves of a global lock: figure 1c.
    #[test]
    fn a_lock_costs_nothing_until_actions_outlast_packets() {
        let lock = Policy::GlobalLock;
        assert!(throughput(lock, 10, 1.0) > 0.999 && throughput(lock, 11, 1.0) < 0.95);
        assert!(throughput(lock, 3, 0.2) > 0.999 && throughput(lock, 4, 0.2) < 0.88);
        assert!((throughput(lock, 2, 0.0) - 0.5).abs() < 0.001);
    }

    /// Published: percent of the cycles with a hazard, and throughput behind one lock, for lengths mixed by alpha.
    #[test]
    fn mixed_lengths_give_the_published_curves() {
        const CYCLES: [u32; 6] = [2, 4, 6, 10, 15, 20];
        let published: [(f64, [f64; 6], [f64; 6]); 2] = [
            (0.2, [15.6, 24.5, 25.7, 25.8, 25.8, 28.8], [1.0, 0.867, 0.578, 0.347, 0.231, 0.174]),
            (0.4, [9.0, 12.1, 13.8, 14.4, 14.5, 18.2], [1.0, 1.0, 0.915, 0.549, 0.366, 0.274]),
        ];
        for (alpha, hazards, throughputs) in published {
            for (i, cycles) in CYCLES.into_iter().enumerate() {
                let Outcome::Hazards(found) = run(Policy::None, cycles, alpha, 200_000) else {
                    panic!("asked for hazards")
                };
                let percent = found.share_of_cycles() * 100.0;
                assert!((percent / hazards[i] - 1.0).abs() < 0.03, "{alpha} {cycles}: {percent}");
                let found = throughput(Policy::GlobalLock, cycles, alpha);
                assert!((found / throughputs[i] - 1.0).abs() < 0.03, "{alpha} {cycles}: {found}");
            }
        }
    }

    /// The published curves of queues: a global lock, and one for each of 16 groups of flows.
    #[test]
    fn locks_of_flows_cost_almost_nothing() {
        let global = |cycles| throughput(Policy::Queues(Queues::global(100)), cycles, 1.0);
        assert!(global(10) >= 0.998, "{}", global(10));
        assert!((global(11) - 0.93).abs() < 0.01 && (global(16) - 0.64).abs() < 0.01);
        let queues = Queues { n_queues: 16, n_locks: 16, queue_packets_max: 100 };
        let flows = throughput(Policy::Queues(queues), 16, 1.0);
        assert!(flows > 0.999, "{flows}");
    }
}
