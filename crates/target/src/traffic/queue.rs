//! Queues between ingress and egress: some for each port, one for each priority.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueConfig {
    /// Queues of each port; the larger number goes first.
    pub n_priorities: u32,
    /// Packets that one queue holds.
    pub n_packets_max: usize,
    /// Packets that a port takes per second; `None` takes them at once.
    pub rate_pps: Option<u64>,
}

impl Default for QueueConfig {
    fn default() -> QueueConfig {
        QueueConfig { n_priorities: 8, n_packets_max: 1024, rate_pps: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    NoSuchQueue,
    Full,
}

/// Packets that wait for egress.
#[derive(Debug)]
pub struct Queues<T> {
    config: QueueConfig,
    ports: BTreeMap<u32, PortQueues<T>>,
    /// Those where packets wait.
    busy: BTreeSet<u32>,
    next_serial: u64,
    n_waiting: u64,
    has_rates: bool,
    /// Packets that congested ports take before they are asked again.
    credits: BTreeMap<u32, u32>,
}

/// When a port with a rate takes the next packet. Switches of several workers share it, so that the rate holds for all of
/// them together; their clocks have one origin.
#[derive(Clone, Debug, Default)]
pub struct Pacer(Arc<AtomicU64>);

impl Pacer {
    fn ready_ns(&self) -> u64 {
        // The time alone is exchanged.
        self.0.load(Ordering::Relaxed)
    }

    /// Takes the turn of the next packet. False if another worker has just taken it.
    fn take_turn(&self, now_ns: u64, rate_pps: u64) -> bool {
        let gap_ns = 1_000_000_000u64.checked_div(rate_pps).unwrap_or(u64::MAX);
        let next = |ready_ns| (ready_ns <= now_ns).then_some(now_ns.saturating_add(gap_ns));
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok()
    }
}

#[derive(Debug)]
struct PortQueues<T> {
    by_priority: Vec<VecDeque<(u64, T)>>,
    rate_pps: Option<u64>,
    pacer: Pacer,
}

impl<T> PortQueues<T> {
    fn new(config: QueueConfig) -> PortQueues<T> {
        let by_priority = (0..config.n_priorities).map(|_| VecDeque::new()).collect();
        PortQueues { by_priority, rate_pps: config.rate_pps, pacer: Pacer::default() }
    }

    /// The priority that goes next, and the serial number of its packet.
    fn head(&self) -> Option<(usize, u64)> {
        let queues = self.by_priority.iter().enumerate().rev();
        queues.filter_map(|(i, queue)| Some((i, queue.front()?.0))).next()
    }
}

/// A packet that leaves its queue.
#[derive(Debug)]
pub(super) struct Leaving<T> {
    pub(super) port: u32,
    /// Packets that are left in the queue.
    pub(super) n_left: usize,
    pub(super) item: T,
}

impl<T> Queues<T> {
    pub fn new(config: QueueConfig) -> Queues<T> {
        Queues {
            config,
            ports: BTreeMap::new(),
            busy: BTreeSet::new(),
            next_serial: 0,
            n_waiting: 0,
            has_rates: config.rate_pps.is_some(),
            credits: BTreeMap::new(),
        }
    }

    pub fn n_waiting(&self) -> u64 {
        self.n_waiting
    }

    /// Packets per second that a port takes from now on.
    pub fn set_rate(&mut self, port: u32, rate_pps: Option<u64>) {
        let config = self.config;
        let queues = self.ports.entry(port).or_insert_with(|| PortQueues::new(config));
        queues.rate_pps = rate_pps;
        if rate_pps.is_none() {
            queues.pacer = Pacer::default();
        }
        self.note_rates();
    }

    /// Packets per second that a port takes from now on from all switches with this pacer.
    pub fn share_rate(&mut self, port: u32, rate_pps: u64, pacer: Pacer) {
        let config = self.config;
        let queues = self.ports.entry(port).or_insert_with(|| PortQueues::new(config));
        (queues.rate_pps, queues.pacer) = (Some(rate_pps), pacer);
        self.note_rates();
    }

    fn note_rates(&mut self) {
        let config = self.config;
        self.has_rates =
            config.rate_pps.is_some() || self.ports.values().any(|queues| queues.rate_pps.is_some());
    }

    /// Packets that a congested port takes from now on; `None` when it takes all again.
    pub fn set_credit(&mut self, port: u32, credit: Option<u32>) {
        match credit {
            Some(credit) => self.credits.insert(port, credit),
            None => self.credits.remove(&port),
        };
    }

    /// Returns whether packets may have to wait for a port: it takes them at a rate, or is congested.
    pub fn may_wait(&self) -> bool {
        self.has_rates || !self.credits.is_empty()
    }

    /// Packets in all queues of a port.
    pub fn n_waiting_for(&self, port: u32) -> usize {
        self.ports.get(&port).map_or(0, |queues| queues.by_priority.iter().map(VecDeque::len).sum())
    }

    /// Ports with packets that they may take as soon as their time has come.
    fn open_ports(&self) -> impl Iterator<Item = (u32, &PortQueues<T>)> {
        let open = self.busy.iter().filter(|port| self.credits.get(port) != Some(&0));
        open.filter_map(|port| Some((*port, self.ports.get(port)?)))
    }

    /// Packets that each queue holds from now on; those that wait stay.
    pub fn set_depth(&mut self, n_packets_max: usize) {
        self.config.n_packets_max = n_packets_max;
    }

    /// Packets in one queue.
    pub(super) fn depth(&self, port: u32, priority: u32) -> usize {
        let queues = self.ports.get(&port).and_then(|p| p.by_priority.get(priority as usize));
        queues.map_or(0, VecDeque::len)
    }

    pub(super) fn check(&self, port: u32, priority: u32) -> Result<(), Refused> {
        if priority >= self.config.n_priorities {
            return Err(Refused::NoSuchQueue);
        }
        if self.depth(port, priority) >= self.config.n_packets_max {
            return Err(Refused::Full);
        }
        Ok(())
    }

    pub(super) fn push(&mut self, port: u32, priority: u32, item: T) -> Result<(), Refused> {
        self.check(port, priority)?;
        let config = self.config;
        let queues = self.ports.entry(port).or_insert_with(|| PortQueues::new(config));
        let queue = queues.by_priority.get_mut(priority as usize).ok_or(Refused::NoSuchQueue)?;
        queue.push_back((self.next_serial, item));
        self.busy.insert(port);
        self.next_serial += 1;
        self.n_waiting += 1;
        Ok(())
    }

    /// When the next packet can leave.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.open_ports().map(|(_, queues)| queues.pacer.ready_ns()).min()
    }

    /// True if a packet can leave now.
    pub(super) fn is_ready(&self, now_ns: u64) -> bool {
        self.next_ns().is_some_and(|next_ns| next_ns <= now_ns)
    }

    /// The port whose packet is next, which has taken its turn, and the priority of the packet.
    fn next_head(&self, now_ns: u64) -> Option<(u32, usize)> {
        loop {
            let ready = self.open_ports().filter(|(_, queues)| queues.pacer.ready_ns() <= now_ns);
            let heads = ready.filter_map(|(port, queues)| {
                let (priority, serial) = queues.head()?;
                Some((serial, port, priority))
            });
            let (_, port, priority) = heads.min()?;
            let queues = self.ports.get(&port)?;
            let has_turn = queues.rate_pps.is_none_or(|rate| queues.pacer.take_turn(now_ns, rate));
            // Otherwise the port is not ready any more.
            if has_turn {
                return Some((port, priority));
            }
        }
    }

    /// Removes the next packet: each ready port offers its first packet of the highest priority, and the one that came
    /// first leaves.
    pub(super) fn pop(&mut self, now_ns: u64) -> Option<Leaving<T>> {
        let (port, priority) = self.next_head(now_ns)?;
        let queues = self.ports.get_mut(&port)?;
        let queue = queues.by_priority.get_mut(priority)?;
        let (_, item) = queue.pop_front()?;
        let n_left = queue.len();
        if queues.head().is_none() {
            self.busy.remove(&port);
        }
        if let Some(credit) = self.credits.get_mut(&port) {
            *credit = credit.saturating_sub(1);
        }
        self.n_waiting -= 1;
        Some(Leaving { port, n_left, item })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(queues: &mut Queues<&'static str>, now_ns: u64) -> Vec<&'static str> {
        std::iter::from_fn(|| queues.pop(now_ns).map(|leaving| leaving.item)).collect()
    }

    #[test]
    fn higher_priorities_overtake_on_their_port() {
        let mut queues = Queues::new(QueueConfig { n_packets_max: 2, ..Default::default() });
        for (port, priority, item) in [(2, 0, "a"), (1, 0, "b"), (2, 7, "c"), (2, 0, "d"), (1, 3, "e")] {
            queues.push(port, priority, item).unwrap();
        }
        assert_eq!(queues.push(2, 0, "f"), Err(Refused::Full));
        assert_eq!(queues.push(2, 8, "f"), Err(Refused::NoSuchQueue));
        assert_eq!((queues.depth(2, 0), queues.n_waiting()), (2, 5));
        assert_eq!(order(&mut queues, 0), ["c", "a", "d", "e", "b"]);
        assert_eq!(queues.n_waiting(), 0);
    }

    #[test]
    fn a_congested_port_takes_as_many_as_it_has_credit() {
        let mut queues = Queues::new(QueueConfig::default());
        for (port, item) in [(1, "a"), (1, "b"), (1, "c"), (2, "d")] {
            queues.push(port, 0, item).unwrap();
        }
        assert!(!queues.may_wait());
        queues.set_credit(1, Some(0));
        assert!(queues.may_wait());
        assert_eq!((order(&mut queues, 0), queues.next_ns()), (vec!["d"], None));
        queues.set_credit(1, Some(2));
        assert_eq!((order(&mut queues, 0), queues.n_waiting_for(1)), (vec!["a", "b"], 1));
        queues.set_credit(1, None);
        assert_eq!((order(&mut queues, 0), queues.may_wait()), (vec!["c"], false));
    }

    #[test]
    fn queues_hold_as_many_as_was_said() {
        let mut queues = Queues::new(QueueConfig::default());
        queues.set_depth(2);
        assert_eq!([0, 1, 2].map(|n| queues.push(1, 0, n)), [Ok(()), Ok(()), Err(Refused::Full)]);
        assert_eq!(queues.push(2, 0, 3), Ok(()));
        queues.set_depth(3);
        assert_eq!(queues.push(1, 0, 4), Ok(()));
    }

    #[test]
    fn two_switches_share_the_rate_of_a_port() {
        let pacer = Pacer::default();
        let mut both = [(); 2].map(|()| Queues::new(QueueConfig::default()));
        for queues in &mut both {
            queues.share_rate(1, 1000, pacer.clone());
            (0..3).for_each(|_| queues.push(1, 0, "slow").unwrap());
            queues.push(2, 0, "fast").unwrap();
        }
        let [one, other] = &mut both;
        assert_eq!(order(one, 0), ["slow", "fast"]);
        assert_eq!(order(other, 0), ["fast"]);
        assert_eq!((one.next_ns(), other.next_ns()), (Some(1_000_000), Some(1_000_000)));
        assert_eq!(order(other, 1_000_000), ["slow"]);
        assert!(order(one, 1_999_999).is_empty());
        assert_eq!(order(one, 2_000_000), ["slow"]);
        // Without a rate each goes on alone.
        other.set_rate(1, None);
        assert_eq!(order(other, 3_000_000), ["slow", "slow"]);
        assert_eq!(order(one, 3_000_000), ["slow"]);
    }

    #[test]
    fn a_rate_makes_packets_wait() {
        let mut queues = Queues::new(QueueConfig { rate_pps: Some(1000), ..Default::default() });
        queues.set_rate(2, None);
        for (port, item) in [(1, "a"), (1, "b"), (2, "c"), (2, "d")] {
            queues.push(port, 0, item).unwrap();
        }
        assert_eq!(order(&mut queues, 5), ["a", "c", "d"]);
        assert_eq!(queues.next_ns(), Some(1_000_005));
        assert!(order(&mut queues, 1_000_004).is_empty());
        assert_eq!(order(&mut queues, 1_000_005), ["b"]);
        assert_eq!(queues.next_ns(), None);
    }
}
