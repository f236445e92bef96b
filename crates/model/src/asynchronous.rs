//! Workers and offload workers: closed forms, and a simulation event by event.
//!
//! A worker takes packets in bursts. Each costs it `base_cycles`; a share of them reaches a block of `block_cycles`.
//! The [`Way`] sets the block's cost to the worker. Offload workers serve requests in the order of their arrival.

use crate::simulation;

/// Most packets of a burst.
pub const BURST: u32 = 32;
/// Packets that can wait in front of a worker, as in the ring of a network interface.
pub const ARRIVED_MAX: u64 = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// The worker runs the block.
    Inline,
    /// An offload worker runs it while the worker waits.
    Wait,
    /// An offload worker runs it while the worker goes on; packets beyond the capacity wait in front of the worker.
    Suspend,
    /// Like `Suspend`, but packets beyond the capacity are dropped.
    Drop,
    /// Like `Suspend`, but the worker runs the block for packets beyond the capacity.
    Spill,
}

impl Way {
    pub const ALL: [Way; 5] = [Way::Inline, Way::Wait, Way::Suspend, Way::Drop, Way::Spill];

    pub fn name(self) -> &'static str {
        match self {
            Way::Inline => "inline",
            Way::Wait => "wait",
            Way::Suspend => "suspend",
            Way::Drop => "drop",
            Way::Spill => "spill",
        }
    }
}

/// Cycles of one clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scene {
    /// Cost of a packet without the block.
    pub base_cycles: f64,
    /// Share of packets that reach the block, 0 to 1.
    pub share: f64,
    pub block_cycles: f64,
    /// Cost to the worker of sending a packet to an offload worker and taking it back.
    pub suspend_cycles: f64,
    /// Time that a packet takes in addition to the block while the worker waits for it.
    pub round_trip_cycles: f64,
    pub n_workers: u32,
    pub n_offload_workers: u32,
    /// Packets of one worker that may be in flight.
    pub capacity: u32,
}

impl Scene {
    /// Clamps every value to its range.
    fn in_range(mut self) -> Scene {
        let positive = |cycles: f64| if cycles.is_finite() { cycles.max(0.0) } else { 0.0 };
        // With packets that cost nothing, time would not advance.
        self.base_cycles = positive(self.base_cycles).max(1.0);
        self.share = positive(self.share).min(1.0);
        self.block_cycles = positive(self.block_cycles);
        self.suspend_cycles = positive(self.suspend_cycles);
        self.round_trip_cycles = positive(self.round_trip_cycles);
        self.n_workers = self.n_workers.clamp(1, 4096);
        self.n_offload_workers = self.n_offload_workers.clamp(1, 4096);
        self.capacity = self.capacity.clamp(1, 1 << 20);
        self
    }
}

/// Closed forms for steady traffic that always keeps workers busy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    pub way: Way,
    /// Time between two packets that get through, over all workers.
    pub cycles: f64,
    /// Share of the packets that reach the block, 0 to 1.
    pub dropped: f64,
    /// Share of their time that offload workers are busy, 0 to 1.
    pub offload_load: f64,
}

/// Predicts throughput, drops and load for one way of running the block.
pub fn predict(scene: &Scene, way: Way) -> Prediction {
    let scene = scene.in_range();
    let (workers, offload_workers) = (f64::from(scene.n_workers), f64::from(scene.n_offload_workers));
    let q = scene.share;
    // Per packet of one worker, as if the offload worker had time for all.
    let alone = |block: f64| scene.base_cycles + q * block;
    // The least time between two packets, for what offload workers have to do.
    let served = q * scene.block_cycles * workers / offload_workers;
    let (cycles, dropped) = match way {
        Way::Inline => (alone(scene.block_cycles), 0.0),
        Way::Wait => {
            let cycles = alone(scene.block_cycles + scene.round_trip_cycles);
            (cycles.max(served), 0.0)
        }
        Way::Suspend => (alone(scene.suspend_cycles).max(served), 0.0),
        Way::Drop => {
            // Dropping costs the worker nothing, so it is quicker the more it drops.
            let all = alone(scene.suspend_cycles);
            if all >= served {
                (all, 0.0)
            } else {
                // Offload workers take the share x of these packets: base + q x suspend = q x block per offload worker.
                let per_sent = q * (scene.block_cycles * workers / offload_workers - scene.suspend_cycles);
                let x = (scene.base_cycles / per_sent).min(1.0);
                let taken = scene.base_cycles + q * x * scene.suspend_cycles;
                (taken / (1.0 - q * (1.0 - x)), 1.0 - x)
            }
        }
        Way::Spill => {
            let all = alone(scene.suspend_cycles);
            if all >= served || scene.suspend_cycles >= scene.block_cycles {
                (all, 0.0)
            } else {
                // base + q (x suspend + (1 - x) block) = q x block per offload worker
                let per_sent = scene.block_cycles * workers / offload_workers + scene.block_cycles
                    - scene.suspend_cycles;
                let x = ((scene.base_cycles + q * scene.block_cycles) / (q * per_sent)).min(1.0);
                (alone(x * scene.suspend_cycles + (1.0 - x) * scene.block_cycles), 0.0)
            }
        }
    };
    let offload_load = match way {
        Way::Inline => 0.0,
        Way::Drop => (q * (1.0 - dropped) * scene.block_cycles * workers
            / offload_workers
            / (cycles * (1.0 - q * dropped)))
            .min(1.0),
        Way::Wait | Way::Suspend | Way::Spill => (served / cycles).min(1.0),
    };
    Prediction { way, cycles: cycles / workers, dropped, offload_load }
}

/// Returns the choice of mode `auto`: the cheaper way for the worker, see `rt/worker/sd_async_choice.h`.
pub fn choose(scene: &Scene) -> Way {
    let scene = scene.in_range();
    if scene.block_cycles > scene.suspend_cycles { Way::Spill } else { Way::Inline }
}

/// The result of a simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Time between two packets that got through, over all workers, after each worker's first half.
    pub cycles: f64,
    /// Share of the packets that reached the block and were dropped, after each worker's first half.
    pub dropped: f64,
    /// Share of all arriving packets that found no room, in front of a worker or in flight.
    pub lost: f64,
    pub offload_load: f64,
    /// Mean time from sending a packet to an offload worker until it is back.
    pub waited_cycles: f64,
    pub in_flight_max: u32,
}

/// Simulates `n_packets` of each worker. `gap_cycles` are between two packets that arrive at one worker, 0 where a worker
/// always finds some.
pub fn simulate(scene: &Scene, way: Way, gap_cycles: f64, n_packets: u64, seed: u64) -> Outcome {
    let gap = if gap_cycles.is_finite() { gap_cycles.max(0.0) } else { 0.0 };
    simulation::run(&scene.in_range(), way, gap, n_packets.max(1), seed)
}

/// The shortest time between two packets, all workers together, at which a simulation loses none (RFC 2544, 26.1), and
/// fewer wait for offload workers than a quarter of what may: a longer time would lose some of the others. Found by halving.
pub fn lossless_cycles(scene: &Scene, way: Way, n_packets: u64, seed: u64) -> f64 {
    let workers = f64::from(scene.in_range().n_workers);
    let mut fastest = predict(scene, way).cycles * workers / 2.0;
    let mut slowest = (fastest * 16.0).max(1.0);
    for _ in 0..14 {
        let gap = f64::midpoint(fastest, slowest);
        let outcome = simulate(scene, way, gap, n_packets, seed);
        // With `Spill`, packets beyond the capacity stay with the worker and are not lost.
        let grows = way != Way::Spill && outcome.in_flight_max > scene.capacity / 4;
        if outcome.lost > 0.0 || grows {
            fastest = gap;
        } else {
            slowest = gap;
        }
    }
    slowest / workers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scene() -> Scene {
        Scene {
            base_cycles: 200.0,
            share: 0.5,
            block_cycles: 1000.0,
            suspend_cycles: 50.0,
            round_trip_cycles: 300.0,
            n_workers: 1,
            n_offload_workers: 1,
            capacity: 1000,
        }
    }

    #[test]
    fn closed_forms_are_those_worked_out_by_hand() {
        let cycles = |way| predict(&scene(), way).cycles;
        assert_eq!(cycles(Way::Inline), 200.0 + 500.0);
        assert_eq!(cycles(Way::Wait), 200.0 + 0.5 * 1300.0);
        // The offload worker needs 500 cycles of each packet, the worker only 225.
        assert_eq!(cycles(Way::Suspend), 500.0);
        assert_eq!(predict(&scene(), Way::Suspend).offload_load, 1.0);
        let light = Scene { share: 0.1, ..scene() };
        assert_eq!(predict(&light, Way::Suspend).cycles, 205.0);
        // 200 + 0.5 (50 x + 1000 (1 - x)) = 500 x
        let x = 700.0 / 975.0;
        assert!((cycles(Way::Spill) - 500.0 * x).abs() < 1e-9);
    }

    #[test]
    fn the_simulation_agrees_with_the_closed_forms() {
        for n_workers in [1, 2, 5] {
            for share in [0.1, 0.5, 1.0] {
                for block_cycles in [50.0, 250.0, 1000.0, 10_000.0] {
                    let scene = Scene { n_workers, share, block_cycles, ..scene() };
                    for way in Way::ALL {
                        let predicted = predict(&scene, way);
                        let outcome = simulate(&scene, way, 0.0, 100_000, 7);
                        let off = outcome.cycles / predicted.cycles - 1.0;
                        // Workers that wait for one offload worker disturb each other, which the closed form leaves out.
                        let limit = if way == Way::Wait && n_workers > 1 { 0.6 } else { 0.08 };
                        let found = format!("{scene:?} {way:?}: {outcome:?}, {predicted:?}");
                        assert!(off.abs() < limit, "{found}");
                        assert!((outcome.dropped - predicted.dropped).abs() < 0.03, "{found}");
                        assert!(outcome.in_flight_max <= scene.capacity, "{found}");
                    }
                }
            }
        }
    }

    #[test]
    fn nothing_is_lost_at_the_rate_without_loss() {
        for way in Way::ALL {
            let gap = lossless_cycles(&scene(), way, 20_000, 3);
            assert_eq!(simulate(&scene(), way, gap, 20_000, 3).lost, 0.0);
            let predicted = predict(&scene(), way);
            if way != Way::Drop {
                assert!((gap / predicted.cycles - 1.0).abs() < 0.15, "{way:?}: {gap}, {predicted:?}");
            }
            assert!(simulate(&scene(), way, gap / 2.0, 20_000, 3).lost > 0.0, "{way:?}");
        }
        // Without losses, `Drop` is no faster than `Suspend`.
        let (drop, hold) = (
            lossless_cycles(&scene(), Way::Drop, 20_000, 3),
            lossless_cycles(&scene(), Way::Suspend, 20_000, 3),
        );
        assert!(drop >= hold * 0.95, "{drop}, {hold}");
    }

    #[test]
    fn the_choice_is_the_cheaper_way() {
        assert_eq!(choose(&scene()), Way::Spill);
        assert_eq!(choose(&Scene { block_cycles: 40.0, ..scene() }), Way::Inline);
        for block_cycles in [10.0, 49.0, 51.0, 100.0, 5000.0] {
            let scene = Scene { block_cycles, ..scene() };
            let chosen = predict(&scene, choose(&scene)).cycles;
            let least = [Way::Inline, Way::Wait, Way::Suspend]
                .map(|way| predict(&scene, way).cycles)
                .into_iter()
                .fold(f64::INFINITY, f64::min);
            assert!(chosen <= least * 1.000_001, "{block_cycles}: {chosen}, {least}");
        }
    }

    #[test]
    fn nonsense_does_no_harm() {
        let scene = Scene {
            base_cycles: f64::NAN,
            share: -1.0,
            block_cycles: f64::INFINITY,
            suspend_cycles: -5.0,
            round_trip_cycles: f64::NAN,
            n_workers: 0,
            n_offload_workers: 0,
            capacity: 0,
        };
        for way in Way::ALL {
            assert!(predict(&scene, way).cycles.is_finite());
            assert!(simulate(&scene, way, f64::NAN, 0, 0).cycles.is_finite());
        }
    }
}
