//! Ways of packets by name, and the shares that somebody gives them: `25` and `!25` of a condition in line 25, `25/0` of the first
//! case of a `select` or `switch`, `table.action`. `siding sim` has the same names.

use diagnostics::Span;
use ir::{Graph, Program, TableId, TerminatorKind};
use model::cpu::{Decision, Decisions};

enum Way {
    Case { span: Span, decision: Decision, case: Option<usize> },
    Action { table: TableId, action: usize },
}

/// Gives ways their shares. A line of two conditions means both. The error is a sentence about the shares.
pub(super) fn name_shares(
    decisions: &mut Decisions,
    program: &Program,
    line: &dyn Fn(Span) -> Option<u32>,
    shares: &[(String, f64)],
) -> Result<(), String> {
    let ways = ways(program, line);
    for (name, share) in shares {
        let named = ways.iter().filter(|(known, way)| {
            let is_action = matches!(way, Way::Action { .. });
            known == name
                || is_action && known.strip_suffix(name.as_str()).is_some_and(|rest| rest.ends_with('.'))
        });
        let mut is_known = false;
        for (_, way) in named {
            is_known = true;
            match way {
                Way::Case { span, decision, case } => decisions.name_share(*span, *decision, *case, *share),
                Way::Action { table, action } => decisions.name_action_share(*table, *action, *share),
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
    match decisions.named().map(|named| named.values().sum::<f64>()).find(|sum| *sum > 1.0 + 1e-9) {
        Some(sum) => Err(format!("--path-share: the shares of one decision make {sum}, and 1 is all")),
        None => Ok(()),
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
                    ways.push((format!("{}.{short}", found.name), Way::Action { table: *table, action }));
                }
            }
            _ => {}
        }
    }
    ways
}
