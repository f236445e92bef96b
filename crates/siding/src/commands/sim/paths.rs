//! Shares of packets on the paths through an action of a program.

use super::grid::usage;
use super::traffic::Problem;
use diagnostics::Span;
use hazard::Action;
use hazard::program::{ActionPath, Analysis, Branch, BranchKind, Codelet, paths};
use serde_json::{Value, json};
use std::fmt::Write;

/// Names of the program's branch successors, and the shares that the command line gives for them.
pub struct Shares {
    /// By branch, then by successor; `given` likewise.
    names: Vec<Vec<String>>,
    given: Vec<Vec<Option<f64>>>,
}

impl Shares {
    pub fn new(
        analysis: &Analysis,
        line: &dyn Fn(Span) -> Option<u32>,
        given: &[String],
    ) -> Result<Shares, Problem> {
        let names: Vec<Vec<String>> = analysis.branches.iter().map(|branch| names(branch, line)).collect();
        let mut shares = Shares { given: names.iter().map(|ways| vec![None; ways.len()]).collect(), names };
        for text in given {
            let wrong =
                || usage(format!("--path-share {text}: expected a way and a share from 0 to 1, as 25=0.3"));
            let (name, share) = text.split_once('=').ok_or_else(wrong)?;
            let share: f64 = share.parse().map_err(|_| wrong())?;
            if !(0.0..=1.0).contains(&share) {
                return Err(wrong());
            }
            shares.set(analysis, name, share)?;
        }
        for (names, given) in shares.names.iter().zip(&shares.given) {
            let sum: f64 = given.iter().flatten().sum();
            let is_all = given.iter().all(Option::is_some) && !given.is_empty();
            if sum > 1.0 + 1e-9 || (is_all && sum < 1.0 - 1e-9) {
                return Err(usage(format!("--path-share: the shares of {} make {sum}", names.join(", "))));
            }
        }
        Ok(shares)
    }

    /// A line of two branches, or an action of two tables, means both.
    fn set(&mut self, analysis: &Analysis, name: &str, share: f64) -> Result<(), Problem> {
        let mut is_known = false;
        for ((names, given), branch) in self.names.iter().zip(&mut self.given).zip(&analysis.branches) {
            for (way, known) in names.iter().enumerate() {
                let is_action =
                    matches!(branch.kind, BranchKind::Table { .. }) && known.rsplit('.').next() == Some(name);
                if known == name || is_action {
                    given[way] = Some(share);
                    is_known = true;
                }
            }
        }
        if is_known {
            return Ok(());
        }
        let mut asked: Vec<&str> = analysis
            .codelets
            .iter()
            .flat_map(|codelet| paths(analysis, codelet).unwrap_or_default())
            .flat_map(|path| path.ways)
            .flat_map(|(branch, _)| self.names.get(branch).into_iter().flatten())
            .map(String::as_str)
            .collect();
        asked.sort_unstable();
        asked.dedup();
        Err(usage(match asked.is_empty() {
            true => format!("--path-share {name}: all packets do the same in this program"),
            false => format!("--path-share {name}: no such way; expected one of {}", asked.join(", ")),
        }))
    }

    /// Returns the share of one successor of a branch: the given one, or an equal part of the rest. A test for a header
    /// of IP packets succeeds for the share of IP traffic.
    fn of_way(&self, branch: &Branch, id: usize, way: usize, ip_share: f64) -> f64 {
        let given = self.given.get(id).map(Vec::as_slice).unwrap_or_default();
        if let Some(Some(share)) = given.get(way) {
            return *share;
        }
        let n_left = given.iter().filter(|share| share.is_none()).count();
        if let (BranchKind::If { is_header: true }, 2) = (&branch.kind, n_left) {
            return if way == 0 { ip_share } else { 1.0 - ip_share };
        }
        let left = 1.0 - given.iter().flatten().sum::<f64>();
        left.max(0.0) / n_left.max(1) as f64
    }

    fn of_path(&self, analysis: &Analysis, path: &ActionPath, ip_share: f64) -> f64 {
        let each = path.ways.iter().map(|(id, group)| {
            let branch = analysis.branches.get(*id);
            branch.map_or(0.0, |branch| {
                group.iter().map(|way| self.of_way(branch, *id, *way, ip_share)).sum::<f64>()
            })
        });
        each.product()
    }

    /// Returns the actions of packets with their shares; `None` if there is one path only, or too many.
    pub fn mix(&self, analysis: &Analysis, codelet: &Codelet, ip_share: f64) -> Option<Vec<(Action, f64)>> {
        let mut mix: Vec<(Action, f64)> = Vec::new();
        for path in several(analysis, codelet)? {
            // A packet that does not access the state costs as much as one that reads it.
            let action = path.action.unwrap_or(Action::read_only(1));
            let share = self.of_path(analysis, &path, ip_share);
            match mix.iter_mut().find(|(known, _)| *known == action) {
                Some((_, sum)) => *sum += share,
                None => mix.push((action, share)),
            }
        }
        mix.retain(|(_, share)| *share > 0.0);
        Some(mix).filter(|mix| !mix.is_empty())
    }

    /// Lines for people; empty if all packets take one path.
    pub fn words(&self, analysis: &Analysis, codelet: &Codelet) -> String {
        let mut text = String::new();
        for path in several(analysis, codelet).unwrap_or_default() {
            let what = match path.action {
                None => "not at all".to_string(),
                Some(action) if action.lock_cycles == 0 => format!("{}, only read", action.cycles),
                Some(action) => action.cycles.to_string(),
            };
            let start = if text.is_empty() { "  paths   cycles by the ways of packets:\n" } else { "" };
            let _ = writeln!(text, "{start}          {what:12}  {}", self.ways(&path));
        }
        text
    }

    fn ways(&self, path: &ActionPath) -> String {
        let each = path.ways.iter().map(|(id, group)| {
            let names = self.names.get(*id).map(Vec::as_slice).unwrap_or_default();
            let group: Vec<&str> =
                group.iter().filter_map(|way| names.get(*way)).map(String::as_str).collect();
            group.join(" or ")
        });
        each.collect::<Vec<_>>().join(", ")
    }

    pub fn json(&self, analysis: &Analysis, codelet: &Codelet) -> Value {
        let each = several(analysis, codelet).unwrap_or_default().into_iter().map(|path| {
            json!({
                "ways": self.ways(&path),
                "cycles": path.action.map_or(0, |action| action.cycles),
                "lock_cycles": path.action.map_or(0, |action| action.lock_cycles),
            })
        });
        each.collect()
    }
}

/// The paths through an action, where packets do not all do the same.
fn several(analysis: &Analysis, codelet: &Codelet) -> Option<Vec<ActionPath>> {
    let all = paths(analysis, codelet)?;
    all.windows(2).any(|pair| pair[0].action != pair[1].action).then_some(all)
}

/// `25` and `!25` of a condition, `table.action`, `25/0` of the first case.
fn names(branch: &Branch, line: &dyn Fn(Span) -> Option<u32>) -> Vec<String> {
    let place = line(branch.span).map_or("?".to_string(), |line| line.to_string());
    match &branch.kind {
        BranchKind::If { .. } => vec![place.clone(), format!("!{place}")],
        BranchKind::Table { name, actions } => {
            actions.iter().map(|action| format!("{name}.{action}")).collect()
        }
        BranchKind::Cases => (0..branch.n_ways).map(|way| format!("{place}/{way}")).collect(),
    }
}
