//! Parser graphs: cases and states that are never reached.

use super::sets::{self, Set};
use crate::codes;
use crate::program::*;
use diagnostics::{Diagnostic, Diagnostics, Span};
use rustc_hash::FxHashMap;

/// Cases kept for comparison with later ones; more only for equality and when they catch all.
const KEPT_MAX: usize = 64;

pub(super) fn run(p: &Program, is_system: &dyn Fn(Span) -> bool, out: &mut Diagnostics) {
    for (_, parser) in p.parsers.iter().filter(|(_, d)| !is_system(d.span)) {
        for state in &parser.states {
            if let Transition::Select { exprs, cases, span: _ } = &state.transition {
                select(p, exprs, cases, out);
            }
        }
        never_accepts(parser, out);
    }
}

fn select(p: &Program, exprs: &[Expr], cases: &[SelectCase], out: &mut Diagnostics) {
    let subject: Vec<_> = exprs.iter().map(|e| e.value.as_deref()).collect();
    // Each case as one set per expression; a lone catch-all stands for all of them.
    let mut seen: Vec<(Vec<Set>, Span)> = Vec::new();
    let mut equal: FxHashMap<String, Span> = FxHashMap::default();
    let mut decided: Option<(Span, &str)> = None;
    for case in cases {
        if let Some((by, why)) = decided {
            out.push(never_matches(case.span, by, why));
            continue;
        }
        let mut sets: Vec<Set> = case.keyset.iter().zip(exprs).map(|(k, e)| sets::of(p, k, e.ty)).collect();
        if case.keyset.len() == 1 && exprs.len() > 1 {
            let only = sets.pop().unwrap_or(Set::Unknown);
            sets = vec![only; exprs.len()];
        }
        for k in &case.keyset {
            empty_range(p, k, out);
        }
        let key = format!("{sets:?}");
        let is_known = !sets.contains(&Set::Unknown);
        let covering = if is_known && let Some(span) = equal.get(&key) {
            Some(*span)
        } else {
            let covers = |earlier: &Vec<Set>| {
                earlier.len() == sets.len() && earlier.iter().zip(&sets).all(|(a, b)| a.covers(b))
            };
            seen.iter().find(|(earlier, _)| covers(earlier)).map(|(_, span)| *span)
        };
        if let Some(by) = covering {
            out.push(never_matches(case.span, by, "this earlier case matches all of it"));
            continue;
        }
        if sets.iter().all(|s| *s == Set::All) {
            decided = Some((case.span, "this case matches everything"));
        } else if !subject.is_empty()
            && sets.iter().zip(&subject).all(|(s, v)| v.is_some_and(|v| s.contains(v) == Some(true)))
        {
            decided = Some((case.span, "the value is known, and this case matches it"));
        }
        if is_known {
            equal.insert(key, case.span);
        }
        if seen.len() < KEPT_MAX {
            seen.push((sets, case.span));
        }
    }
    let none = |case: &SelectCase| {
        case.keyset.len() == exprs.len()
            && case.keyset.iter().zip(exprs).any(|(k, e)| {
                e.value.as_deref().is_some_and(|v| sets::of(p, k, e.ty).contains(v) == Some(false))
            })
    };
    if let Some(first) = cases.first()
        && cases.iter().all(none)
    {
        let span = exprs.first().map_or(first.span, |e| e.span);
        out.push(
            Diagnostic::new(&codes::UNREACHABLE, span, "no case matches this value")
                .label("known at compile time")
                .note("a select without a matching case rejects the packet with `error.NoMatch`")
                .help("add a case for the value, or `default: ...`"),
        );
    }
}

fn never_matches(span: Span, by: Span, why: &str) -> Diagnostic {
    Diagnostic::new(&codes::UNREACHABLE, span, "this case never matches")
        .label("never reached")
        .also(by, why)
        .note("cases are tried from top to bottom")
        .help("remove the case, or move it up")
}

/// Warns of `hi .. lo`.
pub(super) fn empty_range(p: &Program, e: &Expr, out: &mut Diagnostics) {
    let set = sets::of(p, e, e.ty);
    if let Set::Range { lo, hi } = &set
        && set.is_empty_range()
    {
        out.push(
            Diagnostic::new(&codes::INVALID, e.span, format!("the range from {lo} to {hi} is empty"))
                .label("matches nothing")
                .note("a range goes from the smaller to the larger number, both included")
                .help(format!("write `{hi} .. {lo}`")),
        );
    }
}

/// A parser that can end only by rejecting.
fn never_accepts(parser: &ParserDef, out: &mut Diagnostics) {
    let Some(start) = parser.states.iter().position(|s| s.name == "start") else { return };
    let mut seen = vec![false; parser.states.len()];
    let mut work = vec![start];
    while let Some(i) = work.pop() {
        let Some(state) = parser.states.get(i) else { continue };
        if std::mem::replace(&mut seen[i], true) {
            continue;
        }
        let mut targets = Vec::new();
        match &state.transition {
            Transition::Direct(to, _) => targets.push(*to),
            Transition::Select { cases, .. } => targets.extend(cases.iter().map(|c| c.state)),
        }
        for to in targets {
            match to {
                StateRef::Accept | StateRef::Error => return,
                StateRef::Reject => {}
                StateRef::State(n) => work.push(n as usize),
            }
        }
    }
    out.push(
        Diagnostic::new(
            &codes::NEVER_ACCEPTS,
            parser.span,
            format!("parser `{}` never accepts: no way leads to `accept`", parser.name),
        )
        .label("rejects every packet")
        .help("end a state with `transition accept;`"),
    );
}
