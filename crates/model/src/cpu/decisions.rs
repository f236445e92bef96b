//! Decisions of packets: the ways that branches, selects, tables and blocks have taken, observed or supposed.

use diagnostics::Span;
use ir::{BlockId, TableId};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
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
    /// Shares that somebody has named, in place of what was observed.
    named_ways: HashMap<(Span, Decision), Named>,
    named_actions: HashMap<TableId, Named>,
}

/// Shares by case; `None`: what no case takes.
type Named = BTreeMap<Option<usize>, f64>;

/// A kind of decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Decision {
    /// Case 0 is `then`.
    Branch,
    Switch,
    Select,
    /// Case 0 goes on; no case fails.
    Read,
}

#[derive(Clone, Debug, Default, Hash)]
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
        let ways = self.ways.get(&(span, decision));
        let observed = |case| ways.map_or(1.0 / n_ways.max(1) as f64, |ways| ways.share(case));
        match self.named_ways.get(&(span, decision)) {
            Some(named) => {
                let cases = (0..n_ways.saturating_sub(1)).map(Some).chain([None]);
                share_of_rest(named, case, cases, &observed)
            }
            None => observed(case),
        }
    }

    /// The share of an action among the lookups of a table with `n_actions`.
    pub fn action_share(&self, table: TableId, action: usize, n_actions: usize) -> f64 {
        let ways = self.actions.get(&table);
        let observed = |action| ways.map_or(1.0 / n_actions.max(1) as f64, |ways| ways.share(action));
        match self.named_actions.get(&table) {
            Some(named) => share_of_rest(named, Some(action), (0..n_actions).map(Some), &observed),
            None => observed(Some(action)),
        }
    }

    /// Gives one case of a decision a share, whatever was observed. The others have the rest, in proportion.
    pub fn name_share(&mut self, span: Span, decision: Decision, case: Option<usize>, share: f64) {
        self.named_ways.entry((span, decision)).or_default().insert(case, share);
    }

    /// Gives an action of a table a share of its lookups. The others have the rest, in proportion.
    pub fn name_action_share(&mut self, table: TableId, action: usize, share: f64) {
        self.named_actions.entry(table).or_default().insert(Some(action), share);
    }

    /// Adds what other packets did.
    pub fn merge(&mut self, other: &Decisions) {
        for (key, ways) in &other.ways {
            self.ways.entry(*key).or_default().merge(ways);
        }
        for (table, ways) in &other.actions {
            self.actions.entry(*table).or_default().merge(ways);
        }
        for (block, n) in &other.blocks {
            *self.blocks.entry(*block).or_default() += n;
        }
        for (table, serials) in &other.touched {
            self.touched.entry(*table).or_default().extend(serials);
        }
        for (span, n_bits) in &other.emitted_bits {
            *self.emitted_bits.entry(*span).or_default() += n_bits;
        }
        self.n_extracted_bits += other.n_extracted_bits;
        self.n_emitted_bits += other.n_emitted_bits;
        self.n_packets += other.n_packets;
    }

    /// A number that is equal for packets which go the same way, whatever entries they hit.
    pub fn way(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let ways: BTreeMap<_, _> = self.ways.iter().collect();
        let emitted: BTreeMap<_, _> = self.emitted_bits.iter().collect();
        let mut numbered: Vec<(u32, &Ways)> =
            self.actions.iter().map(|(table, ways)| (table.into_raw().into_u32(), ways)).collect();
        numbered.sort_unstable_by_key(|(table, _)| *table);
        let mut blocks: Vec<(u32, u64)> =
            self.blocks.iter().map(|(block, n)| (block.into_raw().into_u32(), *n)).collect();
        blocks.sort_unstable();
        (ways, emitted, numbered, blocks, self.n_extracted_bits).hash(&mut hasher);
        hasher.finish()
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

/// The share of a case where some have a named share: the others have what is left, in proportion to what was observed.
fn share_of_rest(
    named: &Named,
    case: Option<usize>,
    cases: impl Iterator<Item = Option<usize>>,
    observed: &dyn Fn(Option<usize>) -> f64,
) -> f64 {
    if let Some(share) = named.get(&case) {
        return *share;
    }
    let left = (1.0 - named.values().sum::<f64>()).max(0.0);
    let others: Vec<f64> = cases.filter(|case| !named.contains_key(case)).map(observed).collect();
    let total: f64 = others.iter().sum();
    match total > 0.0 {
        true => left * observed(case) / total,
        false => left / others.len().max(1) as f64,
    }
}

impl Ways {
    fn merge(&mut self, other: &Ways) {
        let n_cases = self.cases.len().max(other.cases.len());
        self.cases.resize(n_cases, 0);
        self.cases.iter_mut().zip(&other.cases).for_each(|(n, more)| *n += more);
        self.n_otherwise += other.n_otherwise;
    }

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

    #[test]
    fn named_shares_leave_the_rest_in_proportion() {
        let (span, decision) = (Span::NONE, Decision::Select);
        let mut decisions = Decisions::default();
        for case in [Some(0), Some(0), Some(0), Some(1), None, None, None, None] {
            decisions.take(span, decision, case);
        }
        let shares = |decisions: &Decisions| {
            [Some(0), Some(1), None].map(|case| decisions.share(span, decision, case, 3))
        };
        assert_eq!(shares(&decisions), [0.375, 0.125, 0.5]);
        decisions.name_share(span, decision, None, 0.0);
        assert_eq!(shares(&decisions), [0.75, 0.25, 0.0]);
        decisions.name_share(span, decision, Some(0), 0.9);
        let [first, second, rest] = shares(&decisions);
        assert!(first == 0.9 && (second - 0.1).abs() < 1e-12 && rest == 0.0);
        // Nothing observed: the others are equally many.
        let mut unseen = Decisions::default();
        unseen.name_share(span, decision, Some(1), 0.5);
        assert_eq!(shares(&unseen), [0.25, 0.5, 0.25]);
    }

    #[test]
    fn packets_that_go_one_way_have_one_number() {
        let packet = |case| {
            let mut decisions = Decisions::default();
            decisions.take(Span::NONE, Decision::Branch, case);
            decisions.packet_done();
            decisions
        };
        let (there, also, elsewhere) = (packet(Some(0)), packet(Some(0)), packet(None));
        assert!(there.way() == also.way() && there.way() != elsewhere.way());
        let mut both = there.clone();
        both.merge(&elsewhere);
        assert_eq!((both.n_packets(), both.share(Span::NONE, Decision::Branch, Some(0), 2)), (2, 0.5));
    }
}
