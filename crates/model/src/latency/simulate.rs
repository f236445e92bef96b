//! A worker that polls, event by event, and percentiles of the delays.

use super::arrivals::{Arrival, Traffic};
use super::bound::Offload;
use super::quantiles::Quantiles;
use crate::random::Random;
use crate::simulation::OffloadWorkers;
use std::collections::VecDeque;

/// Costs of bursts.
#[derive(Clone, Debug, PartialEq)]
pub enum Service {
    /// A burst costs `burst_ns`, and each of its packets one of the costs with its share. Shares add up to 1.
    Costs {
        burst_ns: f64,
        packets: Vec<(f64, f64)>,
    },
    Measured(Measured),
}

/// Measured bursts.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// From the poll until the packets are through, for bursts of 1, 2, ... packets; a longer burst costs in proportion to the last.
    pub bursts: Vec<Quantiles>,
    /// From then until the next poll, for each packet.
    pub after_ns: f64,
    /// From the time that a packet is sent until an idle worker has found it.
    pub found: Quantiles,
}

/// A scene that is simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    pub service: Service,
    pub burst_max: u32,
    pub ring: u64,
    pub poll_ns: f64,
    pub port_ns: f64,
    /// Time of a byte at the port that sends the packets; `None`: no port.
    pub ns_per_byte: Option<f64>,
    pub offload: Option<Offload>,
    /// Stalls: their number in a nanosecond, and their lengths.
    pub stalls: Option<(f64, Quantiles)>,
}

/// Delays of one simulation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Delays {
    /// Delays of packets that were not lost, in no order.
    pub ns: Vec<f64>,
    pub n_lost: u64,
    /// Most packets in the ring, those of the burst under way included.
    pub backlog: u64,
    /// Share of the time that the worker did not poll in vain, 0 to 1.
    pub busy: f64,
}

struct Worker<'s> {
    scene: &'s Scene,
    random: Random,
    now: f64,
    next_stall: f64,
    /// Packets in the ring: when they were sent, and their lengths.
    ring: VecDeque<Arrival>,
    /// Packets that offload workers have: when they are back, and when they were sent.
    back: Vec<(f64, Arrival)>,
    offload_workers: OffloadWorkers,
    port_free: f64,
    delays: Delays,
    busy_ns: f64,
}

/// Simulates `n_packets` packets, the first tenth of which is not counted.
pub fn simulate(scene: &Scene, traffic: &Traffic, n_packets: u64, seed: u64) -> Delays {
    let mean = scene.stalls.as_ref().map_or(f64::INFINITY, |(rate, _)| 1.0 / rate.max(f64::MIN_POSITIVE));
    run(scene, traffic, n_packets, seed, Random(!seed).exponential(mean))
}

/// A simulation whose first stall comes at `next_stall`.
fn run(scene: &Scene, traffic: &Traffic, n_packets: u64, seed: u64, next_stall: f64) -> Delays {
    let mut worker = Worker {
        scene,
        random: Random(seed ^ 0x5eed),
        now: 0.0,
        next_stall,
        ring: VecDeque::new(),
        back: Vec::new(),
        offload_workers: OffloadWorkers::new(scene.offload.map_or(1, |offload| offload.n_workers.max(1))),
        port_free: 0.0,
        delays: Delays::default(),
        busy_ns: 0.0,
    };
    let n_first = n_packets / 10;
    let mut arrivals = traffic.arrivals(seed).take((n_packets + n_first) as usize).peekable();
    let count_from = n_first as f64 / traffic.rate();
    loop {
        worker.admit(&mut arrivals, 0);
        let back = worker.back.iter().map(|(at, _)| *at).fold(f64::INFINITY, f64::min);
        if worker.ring.is_empty() && back > worker.now {
            let visible = arrivals.peek().map_or(f64::INFINITY, |arrival| arrival.at_ns + scene.port_ns);
            let next = visible.min(back);
            if next.is_infinite() {
                break;
            }
            worker.idle_until(next);
            continue;
        }
        worker.burst(&mut arrivals, count_from);
    }
    let length = worker.now.max(f64::MIN_POSITIVE);
    worker.delays.busy = (worker.busy_ns / length).min(1.0);
    worker.delays
}

type Arrivals<'a> = std::iter::Peekable<std::iter::Take<Box<dyn Iterator<Item = Arrival> + 'a>>>;

impl Worker<'_> {
    /// Puts what has come into the ring, which `n_held` packets of the burst under way still fill.
    fn admit(&mut self, arrivals: &mut Arrivals<'_>, n_held: u64) {
        while let Some(arrival) = arrivals.next_if(|arrival| arrival.at_ns + self.scene.port_ns <= self.now) {
            if self.ring.len() as u64 + n_held >= self.scene.ring {
                self.delays.n_lost += 1;
                continue;
            }
            self.ring.push_back(arrival);
            self.delays.backlog = self.delays.backlog.max(self.ring.len() as u64 + n_held);
        }
    }

    /// Polls in vain until there is something at `next`.
    fn idle_until(&mut self, next: f64) {
        if let Service::Measured(measured) = &self.scene.service {
            // Includes the rest of a poll.
            self.now = next + measured.found.draw(&mut self.random);
        } else if self.scene.poll_ns > 0.0 {
            let n_polls = ((next - self.now) / self.scene.poll_ns).ceil().max(1.0);
            self.now = f64::max(self.now + n_polls * self.scene.poll_ns, next);
        } else {
            self.now = next;
        }
        self.stall();
    }

    /// Adds the stalls that have come until now.
    fn stall(&mut self) {
        let Some((rate, lengths)) = &self.scene.stalls else { return };
        while self.next_stall <= self.now {
            self.now += lengths.draw(&mut self.random);
            self.next_stall += self.random.exponential(1.0 / rate.max(f64::MIN_POSITIVE));
        }
    }

    fn burst(&mut self, arrivals: &mut Arrivals<'_>, count_from: f64) {
        let begin = self.now;
        let n = self.ring.len().min(self.scene.burst_max.max(1) as usize);
        let taken: Vec<Arrival> = self.ring.drain(..n).collect();
        let now = self.now;
        let mut through: Vec<Arrival> = Vec::with_capacity(n);
        self.back.retain(|(at, arrival)| {
            let is_back = *at <= now;
            if is_back {
                through.push(*arrival);
            }
            !is_back
        });
        let mut after = 0.0;
        match &self.scene.service {
            Service::Costs { burst_ns, packets } => {
                self.now += burst_ns;
                for _ in 0..n {
                    self.now += cost(packets, &mut self.random);
                }
            }
            Service::Measured(measured) if n > 0 => {
                let last = measured.bursts.len().max(1);
                let quantiles = &measured.bursts[n.min(last) - 1];
                self.now += quantiles.draw(&mut self.random) * (n as f64 / last as f64).max(1.0);
                after = measured.after_ns * n as f64;
            }
            Service::Measured(_) => self.now += self.scene.poll_ns,
        }
        self.stall();
        for arrival in taken {
            match self.scene.offload {
                Some(offload) if self.random.is_below(offload.share) => {
                    let end = self.offload_workers.serve(self.now, offload.block_ns);
                    self.back.push((end + offload.round_trip_ns, arrival));
                }
                _ => through.push(arrival),
            }
        }
        for arrival in through {
            let end = match self.scene.ns_per_byte {
                Some(ns_per_byte) => {
                    self.port_free = self.port_free.max(self.now) + f64::from(arrival.bytes) * ns_per_byte;
                    self.port_free
                }
                None => self.now,
            };
            if arrival.at_ns >= count_from {
                self.delays.ns.push(end - arrival.at_ns);
            }
        }
        self.now += after;
        self.busy_ns += self.now - begin;
        self.admit(arrivals, n as u64);
    }
}

fn cost(packets: &[(f64, f64)], random: &mut Random) -> f64 {
    match packets {
        [(only, _)] => *only,
        _ => {
            let mut left = random.unit();
            let chosen = packets.iter().find(|(_, share)| {
                left -= share;
                left < 0.0
            });
            chosen.or(packets.last()).map_or(0.0, |(ns, _)| *ns)
        }
    }
}

/// Percentiles over several simulations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Estimate {
    pub mean_ns: f64,
    /// For each of the shares asked for, with half the width of its interval of 95 %.
    pub quantiles: Vec<(f64, f64)>,
    pub most_ns: f64,
    pub n_packets: u64,
    pub n_lost: u64,
    pub backlog: u64,
    pub busy: f64,
}

/// Relative half width of an interval that is narrow enough.
const WIDTH: f64 = 0.05;
const N_SIMULATIONS_MIN: usize = 5;
/// Quantile of Student's distribution for 97.5 % and 4, 5, ... degrees of freedom.
const STUDENT: [f64; 6] = [2.776, 2.571, 2.447, 2.365, 2.306, 2.262];

/// Simulates `n_packets` packets again and again with other seeds, until all intervals are below 5 % of their quantiles, or for
/// `n_simulations_max` times. Shares ascend, from 0 to 1.
pub fn estimate(
    scene: &Scene,
    traffic: &Traffic,
    shares: &[f64],
    n_packets: u64,
    n_simulations_max: usize,
) -> Estimate {
    let mut found = Estimate { quantiles: vec![(0.0, 0.0); shares.len()], ..Estimate::default() };
    let mut runs: Vec<Vec<f64>> = vec![Vec::new(); shares.len()];
    let (mut total, mut busy) = (0.0, 0.0);
    for i in 0..n_simulations_max.max(N_SIMULATIONS_MIN) {
        let mut delays = simulate(scene, traffic, n_packets, i as u64 + 1);
        delays.ns.sort_unstable_by(f64::total_cmp);
        let n = delays.ns.len();
        for (share, run) in shares.iter().zip(&mut runs) {
            run.extend(delays.ns.get(((share * n as f64) as usize).min(n.saturating_sub(1))));
        }
        total += delays.ns.iter().sum::<f64>();
        found.most_ns = delays.ns.last().copied().unwrap_or(0.0).max(found.most_ns);
        found.n_packets += n as u64;
        found.n_lost += delays.n_lost;
        found.backlog = found.backlog.max(delays.backlog);
        busy += delays.busy;
        found.busy = busy / (i + 1) as f64;
        for (run, quantile) in runs.iter().zip(&mut found.quantiles) {
            *quantile = interval(run);
        }
        let is_narrow = found.quantiles.iter().all(|(value, half)| *half <= WIDTH * value);
        if i + 1 >= N_SIMULATIONS_MIN && is_narrow {
            break;
        }
    }
    found.mean_ns = total / found.n_packets.max(1) as f64;
    found
}

/// Mean and half the width of its interval of 95 %.
fn interval(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    if values.len() < 2 {
        return (values.first().copied().unwrap_or(0.0), f64::INFINITY);
    }
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let student = STUDENT.get(values.len().saturating_sub(N_SIMULATIONS_MIN)).unwrap_or(&2.1);
    (mean, student * (variance / n).sqrt())
}

#[cfg(test)]
mod tests {
    use super::super::{Pattern, Port, Sizes, Stalls, bound, mean_wait};
    use super::*;
    use proptest::prelude::*;

    fn sizes() -> Sizes {
        Sizes::new(vec![(64, 1.0)]).unwrap()
    }

    fn scene(packets: Vec<(f64, f64)>) -> Scene {
        Scene {
            service: Service::Costs { burst_ns: 0.0, packets },
            burst_max: 1,
            ring: 1 << 20,
            poll_ns: 0.0,
            port_ns: 0.0,
            ns_per_byte: None,
            offload: None,
            stalls: None,
        }
    }

    #[test]
    fn the_mean_of_poisson_traffic_is_that_of_the_formula() {
        for (packets, poll_ns) in
            [(vec![(100.0, 1.0)], 0.0), (vec![(100.0, 1.0)], 40.0), (vec![(50.0, 0.9), (550.0, 0.1)], 0.0)]
        {
            let scene = Scene { poll_ns, ..scene(packets.clone()) };
            for load in [0.3, 0.7] {
                let traffic = Traffic::new(Pattern::Poisson, load / 100.0, sizes()).unwrap();
                let found = estimate(&scene, &traffic, &[0.5], 100_000, 5);
                let wait = mean_wait(load / 100.0, &packets, (poll_ns, poll_ns * poll_ns)).unwrap();
                let off = found.mean_ns / (wait + 100.0) - 1.0;
                assert!(off.abs() < 0.03, "{packets:?} {poll_ns} {load}: {} {wait}", found.mean_ns);
            }
        }
    }

    #[test]
    fn percentiles_of_equal_gaps_are_the_costs() {
        let traffic = Traffic::new(Pattern::Cbr, 0.005, sizes()).unwrap();
        let found = estimate(&scene(vec![(100.0, 1.0)]), &traffic, &[0.5, 0.99], 2000, 5);
        let is_cost = |value: f64| (value - 100.0).abs() < 1e-3;
        assert!(found.quantiles.iter().all(|(value, half)| is_cost(*value) && *half < 1e-3), "{found:?}");
        assert!((found.busy - 0.5).abs() < 0.01, "{}", found.busy);
        assert_eq!((found.n_lost, found.backlog, found.n_packets), (0, 1, 10_000));
    }

    #[test]
    fn rings_that_are_too_small_lose_packets() {
        let traffic = Traffic::new(Pattern::OnOff { n_packets: 20, gap_ns: 1.0 }, 0.005, sizes()).unwrap();
        let small = Scene { ring: 8, ..scene(vec![(100.0, 1.0)]) };
        let delays = simulate(&small, &traffic, 1000, 1);
        assert!(delays.n_lost > 500 && delays.backlog == 8, "{} {}", delays.n_lost, delays.backlog);
        assert_eq!(simulate(&Scene { ring: 20, ..small }, &traffic, 1000, 1).n_lost, 0);
    }

    #[test]
    fn measured_bursts_are_drawn_by_their_lengths() {
        let bursts = vec![Quantiles::constant(100.0), Quantiles::constant(150.0)];
        let measured = Measured { bursts, after_ns: 10.0, found: Quantiles::constant(30.0) };
        let scene = Scene { service: Service::Measured(measured), burst_max: 4, ..scene(Vec::new()) };
        let traffic = Traffic::new(Pattern::OnOff { n_packets: 4, gap_ns: 0.0 }, 0.001, sizes()).unwrap();
        let delays = simulate(&scene, &traffic, 400, 1);
        // Found after 30, four packets cost twice as much as two; the first poll sees all of them.
        assert!(delays.ns.iter().all(|ns| (ns - 330.0).abs() < 1e-6), "{:?}", &delays.ns[..4]);
    }

    #[test]
    fn packets_with_a_block_come_back() {
        let offload = Offload { share: 1.0, block_ns: 500.0, round_trip_ns: 200.0, n_workers: 2 };
        let scene = Scene { offload: Some(offload), poll_ns: 10.0, ..scene(vec![(100.0, 1.0)]) };
        let traffic = Traffic::new(Pattern::Cbr, 0.001, sizes()).unwrap();
        let delays = simulate(&scene, &traffic, 100, 1);
        assert!(delays.ns.iter().all(|ns| (800.0..840.0).contains(ns)), "{:?}", delays.ns.first());
        assert_eq!(delays.ns.len(), 100);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]
        #[test]
        fn no_simulated_packet_is_above_the_bound(
            burst_ns in 0.0..200.0f64, packet_ns in 5.0..200.0f64, cheap in 0.1..1.0f64, burst_max in 1..40u32, poll_ns in 1.0..50.0f64,
            load in 0.05..0.97f64, n_packets in 1..80u32, part in 0.0..1.0f64, kind in 0..3, has_port: bool, has_offload: bool,
            tau_ns in 0.0..3000.0f64, seed: u64,
        ) {
            let worker = super::super::Worker { burst_ns, packet_ns, burst_max, poll_ns, port_ns: 3.0 };
            let rate = worker.rate() * load;
            let port = has_port.then(|| Port { ns_per_byte: 0.9 / rate / 64.0, bytes_most: 64 });
            let offload = has_offload.then(|| Offload {
                share: 1.0, block_ns: 1.5 / rate, round_trip_ns: 300.0, n_workers: 2,
            });
            let pattern = match kind {
                0 => Pattern::Cbr,
                1 => Pattern::OnOff { n_packets, gap_ns: part / rate },
                _ => {
                    let mut random = Random(seed);
                    let times = (0..200).scan(0.0, |at, _| { *at += random.exponential(1.0); Some(Arrival { at_ns: *at, bytes: 64 }) });
                    Pattern::Trace(times.collect())
                }
            };
            let traffic = Traffic::new(pattern, rate, sizes()).unwrap();
            let envelope = traffic.envelope().unwrap();
            let scene = Scene {
                service: Service::Costs { burst_ns, packets: vec![(packet_ns, 0.5), (packet_ns * cheap, 0.5)] },
                burst_max, ring: u64::MAX, poll_ns, port_ns: 3.0,
                ns_per_byte: port.map(|port| port.ns_per_byte),
                offload, stalls: None,
            };
            let delays = simulate(&scene, &traffic, 2000, seed);
            let most = delays.ns.iter().copied().fold(0.0, f64::max);
            let found = bound(&worker, port.as_ref(), offload.as_ref(), &envelope, &Stalls::NONE).unwrap();
            prop_assert!(most <= found.delay_ns + 1e-6, "{most} {found:?}");
            prop_assert!(delays.backlog as f64 <= found.backlog, "{} {found:?}", delays.backlog);
            // One stall in all, which is longer than what a share grants.
            let stalled = Scene { stalls: Some((1e-30, Quantiles::constant(tau_ns))), ..scene };
            let most = run(&stalled, &traffic, 2000, seed, 900.0 / rate).ns.into_iter().fold(0.0, f64::max);
            let stalls = Stalls { tau_ns, share: 0.0 };
            let found = bound(&worker, port.as_ref(), offload.as_ref(), &envelope, &stalls).unwrap();
            prop_assert!(most <= found.delay_ns + 1e-6, "{most} {found:?} with a stall");
        }
    }
}
