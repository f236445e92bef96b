//! The longest delay and the largest backlog.
//!
//! Three bounds hold at once, and the least is taken. In all of them a window of length `t` has at most `sigma + rho t` packets and
//! `tau + phi t` of stalls; a burst of `n` packets costs at most `a + c n`, and an idle worker looks every `p`.
//!
//! - **One by one.** A packet costs at most `a + c`, so `m` packets of a busy period are through after `p + m (a + c)`; the
//!   packet with number `m` came no earlier than `(m - sigma) / rho`. It waits for the rest of its burst, `(b - 1) c`:
//!   `D (1 - phi) <= p + tau + sigma (a + c) + (b - 1) c`, if `rho (a + c) <= 1 - phi`. A burst has at most `b` packets, and no
//!   more than wait.
//! - **All at a time.** While every burst takes all that wait, a packet is through after two bursts: the one under way when it
//!   comes, and its own. Two bursts with `m` packets last `w <= (2 a + c m + tau) / (1 - phi)`, and have come within two bursts:
//!   `m <= sigma + rho w`. The solution is the bound if no single burst exceeds `b`.
//! - **Full bursts.** After the last burst that took all, of at most `b` packets, each has `b`. The packet with number `k` behind it
//!   is through `a + c b + ceil(k / b) (a + c b)` after that burst began, and came no earlier than `(k - sigma) / rho`.
//!
//! All grow from an idle worker by induction over bursts.

use super::arrivals::Envelope;
use super::stalls::Stalls;

/// A worker that polls a ring. A burst of `n` packets costs at most `burst_ns + n * packet_ns`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worker {
    pub burst_ns: f64,
    /// Positive.
    pub packet_ns: f64,
    /// At least 1.
    pub burst_max: u32,
    /// Time between two polls that find nothing.
    pub poll_ns: f64,
    /// From the time that a packet is sent to when a poll can find it.
    pub port_ns: f64,
}

/// A port that sends what the worker has finished, bit by bit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Port {
    pub ns_per_byte: f64,
    pub bytes_most: u32,
}

/// Workers that run asynchronous blocks of a share of the packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offload {
    /// 0 to 1.
    pub share: f64,
    pub block_ns: f64,
    /// Time that a packet takes there and back, beside the block.
    pub round_trip_ns: f64,
    pub n_workers: u32,
}

/// The part that limits the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    Core,
    Port,
    OffloadWorkers,
}

/// The bound that is the least, and with it the state of a worker from which the bound holds, whatever was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// From an empty ring.
    Single,
    /// From two bursts one behind the other that have taken all, within the bound.
    AllAtATime,
    /// From a burst that has taken all.
    FullBursts,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    pub delay_ns: f64,
    pub method: Method,
    /// Packets in the ring, those of the burst under way included.
    pub backlog: f64,
    /// The part that would be overloaded first.
    pub limit: Limit,
}

/// Something is loaded to 1 or more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoBound {
    pub limit: Limit,
    pub load: f64,
}

impl Worker {
    /// Packets a nanosecond that it takes in full bursts.
    pub fn rate(&self) -> f64 {
        let n = f64::from(self.burst_max.max(1));
        n / (self.burst_ns + n * self.packet_ns)
    }

    fn delay(&self, traffic: &Envelope, stalls: &Stalls) -> Option<(f64, Method)> {
        let free = 1.0 - stalls.share;
        if free <= 0.0 || traffic.rate >= self.rate() * free {
            return None;
        }
        let bounds = [
            self.one_by_one(traffic, stalls).map(|delay| (delay, Method::Single)),
            self.all_at_a_time(traffic, stalls).map(|delay| (delay, Method::AllAtATime)),
            Some((self.full_bursts(traffic, stalls), Method::FullBursts)),
        ];
        bounds.into_iter().flatten().min_by(|one, other| one.0.total_cmp(&other.0))
    }

    /// The longest delay of packets that find room in a ring of `ring` packets, however many come; the ring is emptied by full
    /// bursts. Nothing if there is always a stall.
    pub fn delay_in_ring(&self, ring: u64, stalls: &Stalls) -> Option<f64> {
        let (free, n) = (1.0 - stalls.share, f64::from(self.burst_max));
        let full = (self.burst_ns + n * self.packet_ns).max(self.poll_ns);
        let n_bursts = (ring as f64 / n).ceil() + 1.0;
        (free > 0.0).then(|| (n_bursts * full + stalls.tau_ns) / free + self.port_ns)
    }

    fn one_by_one(&self, traffic: &Envelope, stalls: &Stalls) -> Option<f64> {
        let (alone, free) = (self.burst_ns + self.packet_ns, 1.0 - stalls.share);
        if traffic.rate * alone > free {
            return None;
        }
        let waiting = traffic.most((self.poll_ns + stalls.tau_ns + alone) / free);
        let burst = waiting.clamp(1.0, f64::from(self.burst_max));
        let work = self.poll_ns + stalls.tau_ns + traffic.sigma * alone + (burst - 1.0) * self.packet_ns;
        Some(work / free)
    }

    /// The most packets of `n_bursts` bursts, one behind the other.
    fn packets_of(&self, n_bursts: f64, traffic: &Envelope, stalls: &Stalls) -> Option<f64> {
        let free = 1.0 - stalls.share;
        let overhead = self.burst_ns.max(self.poll_ns);
        let growth = traffic.rate * self.packet_ns / free;
        if growth >= 1.0 {
            return None;
        }
        let window = |m: f64| (n_bursts * overhead + self.packet_ns * m + stalls.tau_ns) / free;
        let mut most = (traffic.sigma + traffic.rate * window(0.0)) / (1.0 - growth);
        // Numbers of packets are whole: every step down is still above what induction from an idle worker reaches.
        for _ in 0..64 {
            let next = traffic.most(window(most));
            if next >= most {
                break;
            }
            most = next;
        }
        Some(most)
    }

    fn all_at_a_time(&self, traffic: &Envelope, stalls: &Stalls) -> Option<f64> {
        if self.packets_of(1.0, traffic, stalls)? > f64::from(self.burst_max) {
            return None;
        }
        let overhead = self.burst_ns.max(self.poll_ns);
        let both = self.packets_of(2.0, traffic, stalls)?;
        Some((2.0 * overhead + self.packet_ns * both + stalls.tau_ns) / (1.0 - stalls.share))
    }

    /// The load is less than 1.
    fn full_bursts(&self, traffic: &Envelope, stalls: &Stalls) -> f64 {
        let (free, n) = (1.0 - stalls.share, f64::from(self.burst_max));
        let full = (self.burst_ns + n * self.packet_ns).max(self.poll_ns);
        let delay = |k: f64| {
            let came = ((k - traffic.sigma) / traffic.rate).max(0.0);
            (full + (k / n).ceil() * full + stalls.tau_ns) / free - came
        };
        // A burst begins with the packet behind a multiple of `n`; later than at sigma, bursts are quicker than packets come.
        let around = (traffic.sigma / n).floor();
        let numbers = [around - 1.0, around, around + 1.0].map(|i| i.max(0.0) * n + 1.0);
        numbers.into_iter().chain([traffic.sigma.floor().max(1.0)]).map(delay).fold(0.0, f64::max)
    }

    /// Rate and latency of a service curve that the worker offers, of those above the rate of the traffic that with the lower
    /// latency.
    fn service(&self, traffic: &Envelope, stalls: &Stalls) -> (f64, f64) {
        let (free, n) = (1.0 - stalls.share, f64::from(self.burst_max));
        let full = (self.burst_ns + n * self.packet_ns).max(self.poll_ns);
        let bursts = (self.rate() * free, (2.0 * full + stalls.tau_ns) / free);
        let alone = self.burst_ns + self.packet_ns;
        let waiting = traffic.most((self.poll_ns + stalls.tau_ns + alone) / free).clamp(1.0, n);
        let single = (free / alone, (self.poll_ns + stalls.tau_ns + waiting * alone) / free);
        if single.0 >= traffic.rate && single.1 <= bursts.1 { single } else { bursts }
    }
}

impl Port {
    fn packet_ns(&self) -> f64 {
        f64::from(self.bytes_most) * self.ns_per_byte
    }

    /// The delay through the worker and the port in series: the bound of each added up, or that of both service curves
    /// together, whichever is less.
    fn delay(&self, worker: &Worker, traffic: &Envelope, stalls: &Stalls, of_worker: f64) -> Option<f64> {
        let packet = self.packet_ns();
        if traffic.rate * packet >= 1.0 {
            return None;
        }
        // The worker's jitter makes its output burstier; the port is behind it, one packet after the other.
        let apart = of_worker + (traffic.sigma + traffic.rate * of_worker) * packet;
        let (rate, latency) = worker.service(traffic, stalls);
        let least = rate.min(1.0 / packet.max(f64::MIN_POSITIVE));
        // A packet is sent at the rate of the port once it is begun (Mohammadpour et al. 2019).
        let jointly = latency + packet + traffic.sigma / least - (1.0 / least - packet);
        Some(apart.min(jointly))
    }
}

/// The bound of everything in series; `stalls` are those of all cores.
pub fn bound(
    worker: &Worker,
    port: Option<&Port>,
    offload: Option<&Offload>,
    traffic: &Envelope,
    stalls: &Stalls,
) -> Result<Bound, NoBound> {
    let free = 1.0 - stalls.share;
    let mut loads = vec![(Limit::Core, traffic.rate / (worker.rate() * free))];
    loads.extend(port.map(|port| (Limit::Port, traffic.rate * port.packet_ns())));
    let asked = |offload: &Offload| {
        traffic.rate * offload.share * offload.block_ns / f64::from(offload.n_workers) / free
    };
    loads.extend(offload.map(|offload| (Limit::OffloadWorkers, asked(offload))));
    let (limit, load) =
        loads.into_iter().max_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or((Limit::Core, 0.0));
    let none = NoBound { limit, load };
    if load >= 1.0 || load.is_nan() {
        return Err(none);
    }
    // A burst that only takes packets back from offload workers is a poll that lasts longer.
    let poll_ns = if offload.is_some() { worker.poll_ns.max(worker.burst_ns) } else { worker.poll_ns };
    let worker = &Worker { poll_ns, ..*worker };
    let (of_worker, method) = worker.delay(traffic, stalls).ok_or(none)?;
    let backlog = traffic.most(of_worker);
    let mut delay = match port {
        Some(port) => port.delay(worker, traffic, stalls, of_worker).ok_or(none)?,
        None => of_worker,
    };
    if let Some(offload) = offload.filter(|offload| offload.share > 0.0) {
        let n = f64::from(offload.n_workers.max(1));
        // All packets of a burst of the traffic may have the block; over longer times their share has.
        let burst = traffic.sigma + traffic.rate * offload.share * of_worker;
        let served = (offload.block_ns + burst * offload.block_ns / n + stalls.tau_ns) / free;
        let taken_back = worker.burst_ns + f64::from(worker.burst_max) * worker.packet_ns;
        delay += served + offload.round_trip_ns + taken_back / free;
    }
    Ok(Bound { delay_ns: delay + worker.port_ns, method, backlog: backlog.max(1.0), limit })
}

/// The worker with the lowest delay of those whose costs are at least `costs`: the largest cost of bursts by their numbers of packets.
/// Each edge of their upper hull is such a worker. `None` if all are overloaded.
pub fn worker_of(
    costs: &[(u32, f64)],
    template: &Worker,
    traffic: &Envelope,
    stalls: &Stalls,
) -> Option<Worker> {
    let edge = |from: &(u32, f64), to: &(u32, f64)| {
        let packet_ns = ((to.1 - from.1) / f64::from(to.0 - from.0)).max(1e-3);
        let burst_ns = costs.iter().map(|(n, cost)| cost - packet_ns * f64::from(*n)).fold(0.0, f64::max);
        Worker { burst_ns, packet_ns, ..*template }
    };
    let pairs =
        costs.iter().enumerate().flat_map(|(i, from)| costs[i + 1..].iter().map(move |to| (from, to)));
    let edges = pairs.filter(|(from, to)| from.0 < to.0).map(|(from, to)| edge(from, to));
    let with_delay = edges.filter_map(|worker| Some((worker.delay(traffic, stalls)?.0, worker)));
    with_delay.min_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, worker)| worker)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKER: Worker =
        Worker { burst_ns: 0.0, packet_ns: 100.0, burst_max: 32, poll_ns: 20.0, port_ns: 0.0 };

    fn traffic(sigma: f64, load: f64) -> Envelope {
        Envelope { sigma, rate: load / 100.0 }
    }

    fn delay(worker: &Worker, traffic: &Envelope, stalls: &Stalls) -> f64 {
        bound(worker, None, None, traffic, stalls).unwrap().delay_ns
    }

    #[test]
    fn bounds_are_those_worked_out_by_hand() {
        // One packet, and one may come while it is processed: 20 + 100, no second packet in its burst.
        assert_eq!(delay(&WORKER, &traffic(1.0, 0.5), &Stalls::NONE), 120.0);
        // Ten packets at once; bursts of one have no rest to wait for.
        let single = Worker { burst_max: 1, ..WORKER };
        assert_eq!(delay(&single, &traffic(10.0, 0.5), &Stalls::NONE), 1020.0);
        // A stall of a microsecond: five packets come meanwhile, and wait for their bursts.
        let stalls = Stalls { tau_ns: 1000.0, share: 0.0 };
        let bound = bound(&WORKER, None, None, &traffic(1.0, 0.5), &stalls).unwrap();
        assert_eq!(bound.delay_ns, 20.0 + 1000.0 + 100.0 + 500.0);
        assert_eq!(bound.backlog, 9.0);
        assert_eq!(bound.limit, Limit::Core);
    }

    #[test]
    fn more_of_anything_is_no_faster() {
        let worker = Worker { burst_ns: 60.0, ..WORKER };
        let mut last = 0.0;
        for load in [0.1, 0.5, 0.7, 0.9, 0.97] {
            let now = delay(&worker, &traffic(4.0, load), &Stalls::NONE);
            assert!(now >= last, "{load}: {now} {last}");
            last = now;
        }
        let base = delay(&worker, &traffic(4.0, 0.7), &Stalls::NONE);
        assert!(delay(&worker, &traffic(9.0, 0.7), &Stalls::NONE) > base);
        assert!(delay(&worker, &traffic(4.0, 0.7), &Stalls { tau_ns: 50.0, share: 0.0 }) > base);
        assert!(delay(&worker, &traffic(4.0, 0.7), &Stalls { tau_ns: 0.0, share: 0.05 }) > base);
        assert!(delay(&Worker { port_ns: 7.0, ..worker }, &traffic(4.0, 0.7), &Stalls::NONE) == base + 7.0);
    }

    #[test]
    fn what_is_overloaded_has_no_bound() {
        let none = |port, offload, traffic: Envelope| {
            bound(&WORKER, port, offload, &traffic, &Stalls::NONE).unwrap_err()
        };
        assert_eq!(none(None, None, traffic(1.0, 1.25)), NoBound { limit: Limit::Core, load: 1.25 });
        let port = Port { ns_per_byte: 0.5, bytes_most: 400 };
        assert_eq!(none(Some(&port), None, traffic(1.0, 0.75)), NoBound { limit: Limit::Port, load: 1.5 });
        let offload = Offload { share: 0.5, block_ns: 500.0, round_trip_ns: 0.0, n_workers: 1 };
        let found = none(None, Some(&offload), traffic(1.0, 0.8));
        assert_eq!((found.limit, found.load), (Limit::OffloadWorkers, 2.0));
        let stalls = Stalls { tau_ns: 0.0, share: 0.5 };
        assert!(bound(&WORKER, None, None, &traffic(1.0, 0.6), &stalls).is_err());
    }

    #[test]
    fn a_port_in_series_costs_less_than_its_own_bound() {
        let port = Port { ns_per_byte: 0.08, bytes_most: 64 };
        let (alone, both) = (
            delay(&WORKER, &traffic(16.0, 0.8), &Stalls::NONE),
            bound(&WORKER, Some(&port), None, &traffic(16.0, 0.8), &Stalls::NONE).unwrap().delay_ns,
        );
        assert!(both >= alone + port.packet_ns(), "{alone} {both}");
        let apart = alone + (16.0 + 0.008 * alone) * port.packet_ns();
        assert!(both <= apart);
    }

    #[test]
    fn a_ring_bounds_the_delay_of_what_it_takes() {
        // 65 packets are three bursts, behind the one under way.
        assert_eq!(WORKER.delay_in_ring(65, &Stalls::NONE), Some(4.0 * 3200.0));
        let stalls = Stalls { tau_ns: 1000.0, share: 0.5 };
        assert_eq!(WORKER.delay_in_ring(32, &stalls), Some(2.0 * (2.0 * 3200.0 + 1000.0)));
        assert_eq!(WORKER.delay_in_ring(32, &Stalls { tau_ns: 0.0, share: 1.0 }), None);
    }

    #[test]
    fn the_worker_of_costs_is_above_all_of_them() {
        let costs = [(1, 150.0), (2, 240.0), (4, 500.0), (16, 1700.0), (32, 3500.0)];
        let traffic = traffic(1.0, 0.8);
        let worker = worker_of(&costs, &WORKER, &traffic, &Stalls::NONE).unwrap();
        for (n, cost) in costs {
            assert!(worker.burst_ns + f64::from(n) * worker.packet_ns >= cost - 1e-9, "{n}: {worker:?}");
        }
        assert_eq!(worker_of(&costs, &WORKER, &Envelope { sigma: 1.0, rate: 0.02 }, &Stalls::NONE), None);
    }
}
