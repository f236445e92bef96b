//! The quick models beside the plain ones: event for event, over random switches and traffic.

use hazard::config::{Action, Actions, Queues};
use hazard::traffic::mixed;
use hazard::{
    Alpha, AlphaModel, Arrival, Event, Hazards, Lock, Pace, Scheduler, Switch, Timeline, reference,
};

const CONFIGURATIONS: u64 = 1000;

struct Draw(u64);

impl Draw {
    /// From `low` to `high`, both included.
    fn number(&mut self, low: u64, high: u64) -> u64 {
        self.0 += 1;
        low + mixed(self.0) % (high - low + 1)
    }

    fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.number(0, of.len() as u64 - 1) as usize]
    }
}

fn actions(draw: &mut Draw) -> Actions {
    let mix: Vec<(Action, f64)> = (0..draw.number(1, 3))
        .map(|_| {
            let cycles: u32 = draw.one_of(&[1, 2, 3, 5, 10, 16, 30]);
            let lock_cycles = draw.one_of(&[cycles, cycles, 0, 1, cycles.div_ceil(2)]);
            (Action { cycles, lock_cycles }, draw.number(1, 5) as f64)
        })
        .collect();
    Actions::mixed(&mix).unwrap()
}

fn arrivals(draw: &mut Draw, actions: &Actions) -> Vec<Arrival> {
    let switch = Switch { chunk_bytes: draw.one_of(&[40, 80, 200]), clock_ghz: 1.0 };
    let alpha = Alpha::new(AlphaModel::Mix, draw.one_of(&[0.0, 0.2, 1.0]), draw.0).unwrap();
    let pace = match draw.number(0, 2) {
        0 => Pace::BackToBack,
        1 => Pace::Even { utilisation: draw.one_of(&[0.3, 0.9, 1.0]) },
        _ => Pace::Trace { cycles_per_ns: draw.one_of(&[0.01, 0.1, 1.0]) },
    };
    let mut line = Timeline::new(&switch, alpha, pace).unwrap();
    let n_flows = draw.one_of(&[1, 3, 20, 1000]);
    let is_one_key = draw.number(0, 1) == 0;
    let mut time_ns = 0;
    (0..draw.number(1, 300))
        .map(|packet| {
            let len_bytes = draw.one_of(&[40, 64, 64, 200, 594, 1500]);
            time_ns += draw.number(0, 200);
            let (one, other) = (mixed(draw.number(1, n_flows)), mixed(draw.number(1, n_flows)));
            Arrival {
                cycle: line.receive(len_bytes, time_ns),
                len_bytes,
                lookup: one,
                update: if is_one_key { one } else { other },
                action: actions.of_packet(packet),
            }
        })
        .collect()
}

#[test]
fn quick_models_do_what_plain_ones_do() {
    let (mut n_drops, mut n_met) = (0, 0);
    for configuration in 0..CONFIGURATIONS {
        let mut draw = Draw(configuration << 32);
        let actions = actions(&mut draw);
        let arrivals = arrivals(&mut draw, &actions);

        let mut hazards = Hazards::new(actions.lock_cycles_max());
        let met: Vec<_> = arrivals.iter().map(|a| hazards.enter(a.cycle, a.update, a.action)).collect();
        assert_eq!(met, reference::hazards(&arrivals), "configuration {configuration}");
        n_met += met.iter().filter(|met| met.same_key).count();

        let mut lock = Lock::new();
        let starts: Vec<_> = arrivals.iter().map(|a| lock.pass(a.cycle, a.action).start).collect();
        assert_eq!(starts, reference::lock(&arrivals), "configuration {configuration}");

        let queues = Queues {
            n_queues: draw.one_of(&[1, 2, 4, 7, 64, 65, 200]),
            n_locks: draw.one_of(&[1, 2, 4, 16, 1000]),
            queue_packets_max: draw.one_of(&[1, 2, 10, 1000]),
        };
        let mut events = Vec::new();
        let mut scheduler = Scheduler::new(queues).unwrap();
        let mut tell = |event| events.push(event);
        arrivals.iter().for_each(|arrival| scheduler.arrive(*arrival, &mut tell));
        scheduler.finish(&mut tell);
        let (expected, mut fullest) = reference::queues(queues, &arrivals);
        assert_eq!(events, expected, "configuration {configuration}: {queues:?}");

        let result = scheduler.result(arrivals.last().map_or(0, |a| a.cycle));
        fullest.sort_unstable();
        assert_eq!(result.queue_packets_max, *fullest.last().unwrap(), "configuration {configuration}");
        let at = (fullest.len() * 99).div_ceil(100) - 1;
        assert_eq!(result.queue_packets_p99, fullest[at], "configuration {configuration}");
        let waits = events.iter().filter_map(|event| match event {
            Event::Start { packet, cycle, .. } => Some(cycle - arrivals[*packet as usize].cycle),
            Event::Drop { .. } => None,
        });
        assert_eq!(result.wait.max_cycles, waits.max().unwrap(), "configuration {configuration}");
        assert_eq!(events.len(), arrivals.len());
        assert!(result.n_dropped <= result.n_packets && result.throughput <= 1.0);
        n_drops += result.n_dropped;
    }
    // What is compared does happen.
    assert!(n_drops > 1000 && n_met > 1000, "{n_drops} {n_met}");
}

#[test]
fn one_queue_with_room_and_one_lock_is_the_lock() {
    for configuration in 0..100 {
        let mut draw = Draw(configuration << 40);
        let actions = Actions::one(Action::new(draw.one_of(&[1, 4, 20]))).unwrap();
        let arrivals = arrivals(&mut draw, &actions);
        let mut lock = Lock::new();
        let starts: Vec<u64> = arrivals.iter().map(|a| lock.pass(a.cycle, a.action).start).collect();
        let mut scheduler = Scheduler::new(Queues::global(1000)).unwrap();
        let mut others = Vec::new();
        let mut tell = |event| {
            if let Event::Start { cycle, .. } = event {
                others.push(cycle);
            }
        };
        arrivals.iter().for_each(|arrival| scheduler.arrive(*arrival, &mut tell));
        scheduler.finish(&mut tell);
        assert_eq!(starts, others);
    }
}
