//! Decisions of packets: the ways that branches, selects, tables and blocks have taken, observed or supposed.

use diagnostics::Span;
use ir::{BlockId, TableId};
use std::collections::{HashMap, HashSet};
use trace::{Event, LookupOutcome, Observer, Variables};

/// How often each way of each decision was taken.
///
/// It observes an interpreter; [`Decisions::share`] gives shares. Decisions are told apart by their place in the program.
#[derive(Clone, Debug, Default)]
pub struct Decisions {
    ways: HashMap<(Span, Decision), Ways>,
    blocks: HashMap<BlockId, u64>,
    /// Actions that lookups ran, by their numbers in the table; a default action may be none of them.
    actions: HashMap<TableId, Ways>,
    /// Serial numbers of the entries that were hit.
    touched: HashMap<TableId, HashSet<u64>>,
    n_extracted_bits: u64,
    n_emitted_bits: u64,
    /// By statement.
    emitted_bits: HashMap<Span, u64>,
    n_packets: u64,
}

/// A kind of decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    /// Case 0 is `then`.
    Branch,
    Switch,
    Select,
    /// Case 0 goes on; no case fails.
    Read,
}

#[derive(Clone, Debug, Default)]
struct Ways {
    cases: Vec<u64>,
    n_otherwise: u64,
}

impl Decisions {
    /// Says that a packet has been processed; shares are by packet.
    pub fn packet_done(&mut self) {
        self.n_packets += 1;
    }

    pub fn n_packets(&self) -> u64 {
        self.n_packets
    }

    /// Times that packets enter a block, per packet; one if nothing was observed.
    pub fn entered(&self, block: BlockId) -> f64 {
        match self.n_packets {
            0 => 1.0,
            n => self.blocks.get(&block).copied().unwrap_or(0) as f64 / n as f64,
        }
    }

    /// The share of one case, or of what no case takes. Where no packet came by, all `n_ways` have equal shares.
    pub fn share(&self, span: Span, decision: Decision, case: Option<usize>, n_ways: usize) -> f64 {
        let Some(ways) = self.ways.get(&(span, decision)) else { return 1.0 / n_ways.max(1) as f64 };
        ways.share(case)
    }

    /// The share of an action among the lookups of a table with `n_actions`.
    pub fn action_share(&self, table: TableId, action: usize, n_actions: usize) -> f64 {
        let Some(ways) = self.actions.get(&table) else { return 1.0 / n_actions.max(1) as f64 };
        ways.share(Some(action))
    }

    /// Entries of a table that packets have come to; `None` if nothing was observed.
    pub fn n_touched(&self, table: TableId) -> Option<u64> {
        (self.n_packets > 0).then(|| self.touched.get(&table).map_or(0, |serials| serials.len() as u64))
    }

    /// Equal numbers of bits of headers came and left.
    pub fn keeps_headers(&self) -> bool {
        self.n_extracted_bits == self.n_emitted_bits
    }

    /// Bits that a statement emits, per packet; `None` if nothing was observed.
    pub fn emitted_bits(&self, span: Span) -> Option<f64> {
        match self.n_packets {
            0 => None,
            n => Some(self.emitted_bits.get(&span).copied().unwrap_or(0) as f64 / n as f64),
        }
    }

    fn take(&mut self, span: Span, decision: Decision, case: Option<usize>) {
        self.ways.entry((span, decision)).or_default().take(case);
    }
}

impl Ways {
    fn take(&mut self, case: Option<usize>) {
        let Some(case) = case else {
            self.n_otherwise += 1;
            return;
        };
        if self.cases.len() <= case {
            self.cases.resize(case + 1, 0);
        }
        self.cases[case] += 1;
    }

    /// The share of one case, or of what no case takes.
    fn share(&self, case: Option<usize>) -> f64 {
        let total = self.n_otherwise + self.cases.iter().sum::<u64>();
        let n = case.map_or(self.n_otherwise, |case| self.cases.get(case).copied().unwrap_or(0));
        n as f64 / total.max(1) as f64
    }
}

impl Observer for Decisions {
    fn event(&mut self, _: &Variables, span: Span, event: Event<'_>) {
        match event {
            Event::BlockEntered { block } => *self.blocks.entry(block).or_default() += 1,
            Event::Branch { condition } => self.take(span, Decision::Branch, condition.then_some(0)),
            Event::Switched { case, .. } => self.take(span, Decision::Switch, case.map(|case| case as usize)),
            Event::Selected { case, .. } => self.take(span, Decision::Select, case.map(|case| case as usize)),
            Event::Extracted { n_bits, .. } => {
                self.n_extracted_bits += n_bits;
                self.take(span, Decision::Read, Some(0));
            }
            Event::Advanced { .. } | Event::LookedAhead { .. } => {
                self.take(span, Decision::Read, Some(0));
            }
            Event::ParserFailed { .. } => self.take(span, Decision::Read, None),
            Event::Lookup { table, outcome, .. } => {
                let action = match outcome {
                    LookupOutcome::Hit { action, entry, .. } => {
                        self.touched.entry(table).or_default().insert(entry.serial);
                        action
                    }
                    LookupOutcome::Miss { action, .. } => action,
                };
                self.actions.entry(table).or_default().take(action.map(|action| action as usize));
            }
            Event::Emitted { n_bits, is_valid: true, .. } => {
                self.n_emitted_bits += n_bits;
                *self.emitted_bits.entry(span).or_default() += n_bits;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookups_without_an_action_count_as_no_other() {
        let mut ways = Ways::default();
        [None, Some(0), None, Some(1)].into_iter().for_each(|action| ways.take(action));
        assert_eq!([Some(0), Some(1), None].map(|action| ways.share(action)), [0.25, 0.25, 0.5]);
    }
}
