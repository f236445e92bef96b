//! Ways of packets by name, and the shares that somebody gives them: `25` and `!25` of a condition in line 25, `25/0` of the first
//! case of a `select` or `switch`, `table.action`. `siding sim` has the same names.

use diagnostics::Span;
use ir::{ExprKind, Graph, Program, TableId, TerminatorKind, VarId};
use model::cpu::{Decision, Decisions};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Case { span: Span, decision: Decision, case: Option<usize> },
    Action { table: TableNumber, action: usize },
}

/// Gives ways their shares. A line of two conditions means both. The error is a sentence about the shares.
pub(super) fn name_shares(
    decisions: &mut Decisions,
    program: &Program,
    line: &dyn Fn(Span) -> Option<u32>,
    shares: &[(String, f64)],
) -> Result<(), String> {
    let ways = ways(program, line);
    let mut named_ways: BTreeMap<Way, f64> = BTreeMap::new();
    for (name, share) in shares {
        let named = ways.iter().filter(|(known, way)| {
            let is_action = matches!(way, Way::Action { .. });
            known == name
                || is_action && known.strip_suffix(name.as_str()).is_some_and(|rest| rest.ends_with('.'))
        });
        let mut is_known = false;
        for (_, way) in named {
            is_known = true;
            if named_ways.insert(*way, *share).is_some_and(|earlier| earlier != *share) {
                return Err(format!("--path-share {name}: this way has two shares"));
            }
        }
        if !is_known {
            let mut names: Vec<&str> = ways.iter().map(|(name, _)| name.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            return Err(match names.is_empty() {
                true => format!("--path-share {name}: all packets go the same way through this program"),
                false => format!("--path-share {name}: no such way; the program has {}", names.join(", ")),
            });
        }
    }
    // By decision: the sum of its named shares, and its ways without one.
    let mut sums: BTreeMap<Place, (f64, usize)> = BTreeMap::new();
    for way in ways.iter().map(|(_, way)| *way).collect::<BTreeSet<Way>>() {
        let (sum, n_left) = sums.entry(way.place()).or_default();
        match named_ways.get(&way) {
            Some(share) => *sum += share,
            None => *n_left += 1,
        }
    }
    let is_wrong = |(sum, n_left): &&(f64, usize)| *sum > 1.0 + 1e-9 || *n_left == 0 && *sum < 1.0 - 1e-9;
    if let Some((sum, _)) = sums.values().find(is_wrong) {
        return Err(format!("--path-share: the shares of one decision make {sum}, and 1 is all"));
    }
    for (way, share) in &named_ways {
        match *way {
            Way::Case { span, decision, case } => decisions.name_share(span, decision, case, *share),
            Way::Action { table, action } => {
                decisions.name_action_share(TableId::from_raw(table.into()), action, *share);
            }
        }
    }
    let is_named = |place: Place| named_ways.keys().any(|way| way.place() == place);
    follow_actions(decisions, program, &is_named);
    Ok(())
}

/// A decision that has ways.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Decision(Span, Decision),
    Table(TableNumber),
}

type TableNumber = u32;

impl Way {
    fn place(self) -> Place {
        match self {
            Way::Case { span, decision, .. } => Place::Decision(span, decision),
            Way::Action { table, .. } => Place::Table(table),
        }
    }
}

/// Gives the cases of a `switch` over the action that a table has run the shares of these actions, unless they have named ones.
fn follow_actions(decisions: &mut Decisions, program: &Program, is_named: &dyn Fn(Place) -> bool) {
    let nodes = || program.graphs().flat_map(|graph| graph.nodes.iter()).map(|(_, node)| &node.terminator);
    let results: Vec<(VarId, TableId)> = nodes()
        .filter_map(|terminator| match &terminator.kind {
            TerminatorKind::Apply { table, action: Some(place), .. } => Some((place.var, *table)),
            _ => None,
        })
        .collect();
    for terminator in nodes() {
        let TerminatorKind::Switch { subject, cases, .. } = &terminator.kind else { continue };
        let ExprKind::Read(place) = &subject.kind else { continue };
        let table = results.iter().find(|(var, _)| *var == place.var).map(|(_, table)| *table);
        let Some(table) = table.filter(|table| is_named(Place::Table(table.into_raw().into_u32()))) else {
            continue;
        };
        if is_named(Place::Decision(terminator.span, Decision::Switch)) {
            continue;
        }
        let n_actions = program.tables[table].actions.len();
        let mut rest = 1.0;
        for (i, case) in cases.iter().enumerate() {
            let action = case.value.to_u64().map_or(usize::MAX, |value| value as usize);
            let share =
                if action < n_actions { decisions.action_share(table, action, n_actions) } else { 0.0 };
            decisions.name_share(terminator.span, Decision::Switch, Some(i), share);
            rest -= share;
        }
        decisions.name_share(terminator.span, Decision::Switch, None, f64::max(rest, 0.0));
    }
}

/// All ways that packets can go.
fn ways(program: &Program, line: &dyn Fn(Span) -> Option<u32>) -> Vec<(String, Way)> {
    let reached = program.reachable_procedures();
    let procedures = program.procedures.iter().zip(reached).filter(|(_, is_reached)| *is_reached);
    let graphs: Vec<&Graph> = (program.blocks.iter().map(|(_, block)| &block.graph))
        .chain(procedures.map(|((_, procedure), _)| &procedure.graph))
        .collect();
    let mut ways = Vec::new();
    for (_, node) in graphs.into_iter().flat_map(|graph| graph.nodes.iter()) {
        let span = node.terminator.span;
        let Some(place) = line(span) else { continue };
        let mut add = |name: String, decision: Decision, case: Option<usize>| {
            ways.push((name, Way::Case { span, decision, case }));
        };
        match &node.terminator.kind {
            TerminatorKind::Branch { .. } => {
                add(place.to_string(), Decision::Branch, Some(0));
                add(format!("!{place}"), Decision::Branch, None);
            }
            TerminatorKind::Switch { cases, .. } => {
                (0..cases.len()).for_each(|i| add(format!("{place}/{i}"), Decision::Switch, Some(i)));
                add(format!("{place}/{}", cases.len()), Decision::Switch, None);
            }
            TerminatorKind::Select { cases, .. } => {
                (0..cases.len()).for_each(|i| add(format!("{place}/{i}"), Decision::Select, Some(i)));
                add(format!("{place}/{}", cases.len()), Decision::Select, None);
            }
            TerminatorKind::Apply { table, .. } => {
                let found = &program.tables[*table];
                for (action, listed) in found.actions.iter().enumerate() {
                    let full = program.procedures[listed.procedure].name.as_str();
                    let short = full.rsplit('.').next().unwrap_or(full);
                    ways.push((
                        format!("{}.{short}", found.name),
                        Way::Action { table: table.into_raw().into_u32(), action },
                    ));
                }
            }
            _ => {}
        }
    }
    ways
}
