//! The model without locks: counts the packets that enter the action pipeline too early.

use crate::config::Action;

/// The hazards of one packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Met {
    /// A packet whose read-modify-write had not ended.
    pub any: bool,
    /// Such a packet with the same key.
    pub same_key: bool,
}

/// Counts packets that enter the pipeline while the read-modify-write of another one is under way.
///
/// There is no stall: a packet enters in the cycle of its arrival. A packet that entered in cycle `e` and locks for
/// `n` cycles is a hazard for others in the cycles `e .. e + n`. Packets that only read neither cause nor meet
/// hazards.
#[derive(Clone, Debug)]
pub struct Hazards {
    /// Cycle in which the last of all read-modify-writes so far ends.
    all_end_at: u64,
    /// That cycle by the low bits of keys. Mostly none is under way, which saves the search.
    end_at_by_key: Vec<u64>,
    /// The last packets: a ring with room for all that may be under way.
    entered: Vec<Entered>,
    /// Packets that entered to change state.
    n_entered: u64,
    lock_cycles_max: u64,
    n_packets: u64,
    n_any: u64,
    n_same_key: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entered {
    cycle: u64,
    end: u64,
    key: u64,
}

const KEY_SLOTS: usize = 1024;

fn slot(key: u64) -> usize {
    key as usize % KEY_SLOTS
}

impl Hazards {
    /// `lock_cycles_max` is the longest read-modify-write of any packet.
    pub fn new(lock_cycles_max: u32) -> Hazards {
        Hazards {
            all_end_at: 0,
            end_at_by_key: vec![0; KEY_SLOTS],
            // One packet enters in a cycle; some more for callers whose cycles do not strictly ascend.
            entered: vec![Entered::default(); (lock_cycles_max as usize).max(64).next_power_of_two()],
            n_entered: 0,
            lock_cycles_max: lock_cycles_max.into(),
            n_packets: 0,
            n_any: 0,
            n_same_key: 0,
        }
    }

    /// A packet that has arrived. Cycles ascend.
    #[inline]
    pub fn enter(&mut self, cycle: u64, key: u64, action: Action) -> Met {
        debug_assert!(u64::from(action.lock_cycles) <= self.lock_cycles_max);
        self.n_packets += 1;
        if action.lock_cycles == 0 {
            return Met::default();
        }
        let end = cycle + u64::from(action.lock_cycles);
        let end_at_of_key = &mut self.end_at_by_key[slot(key)];
        let may_meet_same_key = *end_at_of_key > cycle;
        *end_at_of_key = end.max(*end_at_of_key);
        let same_key = may_meet_same_key && self.meets_same_key(cycle, key);
        let met = Met { any: self.all_end_at > cycle, same_key };
        self.all_end_at = self.all_end_at.max(end);
        let at = self.n_entered as usize & (self.entered.len() - 1);
        self.entered[at] = Entered { cycle, end, key };
        self.n_entered += 1;
        self.n_any += u64::from(met.any);
        self.n_same_key += u64::from(met.same_key);
        met
    }

    /// Searches the packets that may be under way, from the last one on.
    fn meets_same_key(&self, cycle: u64, key: u64) -> bool {
        let n = self.n_entered.min(self.entered.len() as u64);
        let last =
            (1..=n).map(|back| &self.entered[(self.n_entered - back) as usize & (self.entered.len() - 1)]);
        let mut may_be_under_way = last.take_while(|earlier| earlier.cycle + self.lock_cycles_max > cycle);
        may_be_under_way.any(|earlier| earlier.key == key && earlier.end > cycle)
    }

    /// `cycles` is how long the input took.
    pub fn result(&self, cycles: u64) -> HazardResult {
        HazardResult { n_packets: self.n_packets, cycles, n_any: self.n_any, n_same_key: self.n_same_key }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HazardResult {
    pub n_packets: u64,
    pub cycles: u64,
    /// Packets that met another one.
    pub n_any: u64,
    /// Packets that met one of the same key.
    pub n_same_key: u64,
}

impl HazardResult {
    /// Share of the clock cycles in which a hazard happens, which is what the published figures show. At most one
    /// packet enters in a cycle; so where packets are long, it cannot be large.
    pub fn share_of_cycles(&self) -> f64 {
        ratio(self.n_any, self.cycles)
    }

    pub fn share_of_packets(&self) -> f64 {
        ratio(self.n_any, self.n_packets)
    }

    pub fn same_key_share_of_cycles(&self) -> f64 {
        ratio(self.n_same_key, self.cycles)
    }

    pub fn same_key_share_of_packets(&self) -> f64 {
        ratio(self.n_same_key, self.n_packets)
    }
}

pub(crate) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns, for packets given as (arrival, key), which of them met any packet, and which met one with the same key.
    fn met(actions: &[Action], packets: &[(u64, u64)]) -> [Vec<bool>; 2] {
        let lock_cycles_max = actions.iter().map(|action| action.lock_cycles).max().unwrap();
        let mut hazards = Hazards::new(lock_cycles_max);
        let each = packets.iter().zip(actions.iter().cycle());
        let met: Vec<Met> = each.map(|((cycle, key), action)| hazards.enter(*cycle, *key, *action)).collect();
        [met.iter().map(|m| m.any).collect(), met.iter().map(|m| m.same_key).collect()]
    }

    #[test]
    fn an_action_of_one_cycle_is_safe() {
        let [any, same] = met(&[Action::new(1)], &[(1, 7), (2, 7), (3, 7)]);
        assert_eq!((any, same), (vec![false; 3], vec![false; 3]));
    }

    #[test]
    fn two_cycles_are_met_in_the_next_one() {
        // In the pipeline in cycles 1 and 2; 2 and 3; 4 and 5.
        let [any, same] = met(&[Action::new(2)], &[(1, 7), (2, 8), (4, 8), (5, 8)]);
        assert_eq!(any, [false, true, false, true]);
        assert_eq!(same, [false, false, false, true]);
    }

    #[test]
    fn a_long_action_is_met_behind_a_short_one() {
        // 5 cycles from 1 on, 1 cycle from 2 on, then 5 from 4 on: the first is still there.
        let [any, same] = met(&[Action::new(5), Action::new(1)], &[(1, 7), (2, 9), (4, 7)]);
        assert_eq!((any, same), (vec![false, true, true], vec![false, false, true]));
    }

    #[test]
    fn readers_are_not_met() {
        let [any, _] = met(&[Action::read_only(9), Action::new(9)], &[(1, 7), (2, 7), (3, 7), (4, 7)]);
        assert_eq!(any, [false, false, false, true]);
    }

    #[test]
    fn only_the_time_until_the_write_counts() {
        let late = Action { cycles: 9, lock_cycles: 2 };
        let [any, _] = met(&[late], &[(1, 7), (3, 7), (4, 7)]);
        assert_eq!(any, [false, false, true]);
    }

    #[test]
    fn shares_are_of_cycles_and_of_packets() {
        let result = HazardResult { n_packets: 10, cycles: 100, n_any: 5, n_same_key: 1 };
        assert_eq!((result.share_of_cycles(), result.share_of_packets()), (0.05, 0.5));
        assert_eq!(result.same_key_share_of_packets(), 0.1);
    }
}
