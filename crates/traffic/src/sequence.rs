//! Accounts for sequence numbers: loss, duplicates and reordering.
//!
//! Reordering is that of RFC 4737: a packet is reordered if one with a higher sequence number has arrived before it, and
//! its extent is the number of packets since the first of those. Only the first arrival of a packet counts.

use std::collections::VecDeque;

/// Meaning of the arrival of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Its sequence number is higher than all before.
    InOrder,
    /// RFC 4737, section 4.2: the reordering extent in packets.
    Reordered {
        extent: u64,
    },
    Duplicate,
    /// Too old to tell a reordered packet from a duplicate; counts as received.
    TooLate,
}

/// Sequence numbers that are missing, from `from` to before `to`. The packet after them was number `arrival` to arrive.
#[derive(Clone, Copy, Debug)]
struct Gap {
    from: u64,
    to: u64,
    arrival: u64,
}

/// Accounts for the packets of one stream, or of one flow in it, whose sequence numbers begin with 0.
#[derive(Clone, Debug, Default)]
pub struct SequenceTracker {
    /// Ascending, without overlap.
    gaps: VecDeque<Gap>,
    /// The sequence number after the highest one.
    next: u64,
    /// Gaps below this number were forgotten.
    floor: u64,
    n_unique: u64,
    n_duplicates: u64,
    n_reordered: u64,
    n_too_late: u64,
    /// Missing numbers in `gaps`, and in gaps that were forgotten.
    n_missing: u64,
    n_forgotten: u64,
    n_missing_before_first: u64,
    extent_max: u64,
    extent_sum: u64,
}

impl SequenceTracker {
    /// The sequence number after the highest one so far.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Counts an arrival. Beyond `gaps_max` gaps the oldest is forgotten: its packets stay lost, and the tracker needs a
    /// bounded amount of memory.
    pub fn arrive(&mut self, seq: u64, gaps_max: usize) -> Arrival {
        let arrival = if seq >= self.next {
            if seq > self.next {
                let n_missing = seq - self.next;
                if self.n_unique == 0 {
                    self.n_missing_before_first = n_missing;
                }
                self.n_missing += n_missing;
                self.gaps.push_back(Gap { from: self.next, to: seq, arrival: self.n_unique });
                self.forget(gaps_max);
            }
            self.next = seq + 1;
            Arrival::InOrder
        } else {
            self.fill(seq, gaps_max)
        };
        match arrival {
            Arrival::InOrder => self.n_unique += 1,
            Arrival::Reordered { extent } => {
                self.n_unique += 1;
                self.n_reordered += 1;
                self.extent_max = self.extent_max.max(extent);
                self.extent_sum += extent;
                self.n_missing -= 1;
            }
            Arrival::TooLate => {
                self.n_unique += 1;
                self.n_too_late += 1;
                self.n_forgotten = self.n_forgotten.saturating_sub(1);
            }
            Arrival::Duplicate => self.n_duplicates += 1,
        }
        arrival
    }

    /// Takes a lower number than the highest from its gap.
    fn fill(&mut self, seq: u64, gaps_max: usize) -> Arrival {
        let i = self.gaps.partition_point(|gap| gap.to <= seq);
        let Some(gap) = self.gaps.get(i).copied().filter(|gap| gap.from <= seq) else {
            return if seq < self.floor { Arrival::TooLate } else { Arrival::Duplicate };
        };
        if gap.arrival == 0 {
            self.n_missing_before_first -= 1;
        }
        let (below, above) = (Gap { to: seq, ..gap }, Gap { from: seq + 1, ..gap });
        match (below.from < below.to, above.from < above.to) {
            (true, true) => {
                self.gaps[i] = below;
                self.gaps.insert(i + 1, above);
                self.forget(gaps_max);
            }
            (true, false) => self.gaps[i] = below,
            (false, true) => self.gaps[i] = above,
            (false, false) => {
                self.gaps.remove(i);
            }
        }
        Arrival::Reordered { extent: self.n_unique - gap.arrival }
    }

    fn forget(&mut self, gaps_max: usize) {
        if self.gaps.len() > gaps_max
            && let Some(oldest) = self.gaps.pop_front()
        {
            self.floor = oldest.to;
            self.n_missing -= oldest.to - oldest.from;
            self.n_forgotten += oldest.to - oldest.from;
        }
    }

    /// Packets received, each once.
    pub fn n_unique(&self) -> u64 {
        self.n_unique
    }

    pub fn n_duplicates(&self) -> u64 {
        self.n_duplicates
    }

    pub fn n_reordered(&self) -> u64 {
        self.n_reordered
    }

    pub fn n_too_late(&self) -> u64 {
        self.n_too_late
    }

    /// Numbers between the first packet that arrived and the highest that have not arrived.
    pub fn n_missing(&self) -> u64 {
        (self.n_missing + self.n_forgotten).saturating_sub(self.n_missing_before_first)
    }

    /// Numbers before the first packet that arrived which have not arrived. They may have been sent before anybody
    /// listened.
    pub fn n_missing_before_first(&self) -> u64 {
        self.n_missing_before_first
    }

    /// The largest reordering extent.
    pub fn extent_max(&self) -> u64 {
        self.extent_max
    }

    /// The sum of all reordering extents.
    pub fn extent_sum(&self) -> u64 {
        self.extent_sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::mem::discriminant;

    /// Remembers every arrival.
    #[derive(Default)]
    struct Reference {
        arrived: Vec<u64>,
    }

    impl Reference {
        fn arrive(&mut self, seq: u64) -> Arrival {
            if self.arrived.contains(&seq) {
                return Arrival::Duplicate;
            }
            let first_higher = self.arrived.iter().position(|other| *other > seq);
            let arrival = match first_higher {
                None => Arrival::InOrder,
                Some(first) => Arrival::Reordered { extent: (self.arrived.len() - first) as u64 },
            };
            self.arrived.push(seq);
            arrival
        }

        fn n_missing(&self) -> u64 {
            let n_expected = self.arrived.iter().max().map_or(0, |highest| highest + 1);
            n_expected - self.arrived.len() as u64 - self.n_missing_before_first()
        }

        fn n_missing_before_first(&self) -> u64 {
            let first = self.arrived.first().copied().unwrap_or(0);
            first - self.arrived.iter().filter(|seq| **seq < first).count() as u64
        }
    }

    proptest! {
        /// Any arrivals: nothing is close to order.
        #[test]
        fn arbitrary_arrivals_agree_with_the_reference(arrivals in prop::collection::vec(0..60u64, 0..100)) {
            agree(&arrivals)?;
        }

        /// Sent in order; each packet may be lost, duplicated or delayed.
        #[test]
        fn a_network_agrees_with_the_reference(
            fates in prop::collection::vec((0..10u8, 0..8usize), 0..200),
            first in 0..5u64,
        ) {
            let mut sent: Vec<(usize, u64)> = Vec::new();
            for (i, (fate, delay)) in fates.into_iter().enumerate() {
                let delay = if fate < 4 { delay } else { 0 };
                if fate != 9 {
                    sent.push((2 * (i + delay), first + i as u64));
                }
                if fate == 8 {
                    sent.push((2 * (i + 3), first + i as u64));
                }
            }
            sent.sort();
            agree(&sent.iter().map(|(_, seq)| *seq).collect::<Vec<_>>())?;
        }

        #[test]
        fn few_gaps_are_enough_for_all_but_the_late(
            arrivals in prop::collection::vec(0..60u64, 0..100),
            gaps_max in 0..4usize,
        ) {
            let (mut tracker, mut reference) = (SequenceTracker::default(), Reference::default());
            let mut n_told_apart = 0;
            for seq in arrivals {
                let (found, expected) = (tracker.arrive(seq, gaps_max), reference.arrive(seq));
                prop_assert!(tracker.gaps.len() <= gaps_max);
                if found == Arrival::TooLate {
                    prop_assert_ne!(expected, Arrival::InOrder);
                } else if tracker.n_too_late == 0 {
                    prop_assert_eq!(found, expected);
                } else {
                    // One that is too late counts, also if it is a duplicate, which makes extents longer.
                    prop_assert_eq!(discriminant(&found), discriminant(&expected));
                }
                n_told_apart += u64::from(found != Arrival::TooLate);
            }
            prop_assert_eq!(
                tracker.n_unique + tracker.n_duplicates,
                n_told_apart + tracker.n_too_late
            );
        }
    }

    fn agree(arrivals: &[u64]) -> Result<(), TestCaseError> {
        let (mut tracker, mut reference) = (SequenceTracker::default(), Reference::default());
        let (mut n_reordered, mut extents) = (0, Vec::new());
        for seq in arrivals {
            let expected = reference.arrive(*seq);
            prop_assert_eq!(tracker.arrive(*seq, usize::MAX), expected);
            if let Arrival::Reordered { extent } = expected {
                n_reordered += 1;
                extents.push(extent);
            }
        }
        prop_assert_eq!(tracker.n_unique(), reference.arrived.len() as u64);
        prop_assert_eq!(tracker.n_duplicates(), (arrivals.len() - reference.arrived.len()) as u64);
        prop_assert_eq!(tracker.n_missing(), reference.n_missing());
        prop_assert_eq!(tracker.n_missing_before_first(), reference.n_missing_before_first());
        prop_assert_eq!(tracker.n_reordered(), n_reordered);
        prop_assert_eq!(tracker.extent_sum(), extents.iter().sum::<u64>());
        prop_assert_eq!(tracker.extent_max(), extents.iter().max().copied().unwrap_or(0));
        Ok(())
    }

    #[test]
    fn three_late_packets() {
        // Each is late by the four that overtook it, and by those late ones that came before it.
        let mut tracker = SequenceTracker::default();
        let extents: Vec<u64> = [0, 1, 2, 3, 7, 8, 9, 10, 4, 5, 6, 11]
            .into_iter()
            .filter_map(|seq| match tracker.arrive(seq, 8) {
                Arrival::Reordered { extent } => Some(extent),
                _ => None,
            })
            .collect();
        assert_eq!(extents, [4, 5, 6]);
        assert_eq!((tracker.n_missing(), tracker.next()), (0, 12));
    }
}
