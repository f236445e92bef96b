//! Drops counted by the place in the program that decided them.

use crate::causes::Causes;
use crate::places::{self, Places};
use crate::story::At;
use crate::summary::{self, NO_KEY, Statement, outcome};
use crate::{Event, LookupOutcome, Observer, TrafficEvent, Variables};
use diagnostics::{SourceMap, Span};
use ir::{Program, TableId};
use std::collections::BTreeMap;

/// An observer that counts drops by reason, statement and decision. It keeps one count for each place, not for each packet.
#[derive(Debug, Default)]
pub struct DropPlaces {
    causes: Causes<(Span, Decision)>,
    counts: BTreeMap<Place, u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    reason: String,
    statement: Option<Span>,
    decision: Option<(Span, Decision)>,
}

/// A decision without the values of a packet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Decision {
    /// `action` is an index in the table's actions.
    Lookup {
        table: TableId,
        is_hit: bool,
        action: Option<u32>,
    },
    Branch {
        condition: bool,
    },
    Switched,
    ParserFailed {
        error: u32,
    },
}

impl DropPlaces {
    /// One line for each place, with its number of drops; most drops first:
    /// `dropped: I.routes (router.p4:110) missed: drop, router.p4:79`.
    pub fn lines(&self, program: &Program, sources: &SourceMap) -> Vec<(String, u64)> {
        let at = |span: Span| places::at(sources, span);
        let spans = self.counts.keys().flat_map(|place| {
            [place.statement, place.decision.as_ref().map(|(span, _)| *span)].into_iter().flatten()
        });
        let shown: Vec<At> = spans.filter_map(at).collect();
        let places = Places::short_for(shown.iter());
        let mut lines = BTreeMap::<String, u64>::new();
        for (place, n) in &self.counts {
            let statement = place.statement.and_then(at);
            let statement = statement.map(|at| Statement { place: places.of(&at), text: at.text });
            let cause = match (&place.decision, statement) {
                (Some((span, decision)), statement) => {
                    let at = at(*span);
                    let text = at.as_ref().map(|at| &*at.text);
                    let place = at.as_ref().map(|at| places.of(at));
                    Some(decision.named(program, text).tell(place, statement.as_ref()))
                }
                (None, Some(statement)) => Some(statement.alone()),
                (None, None) => None,
            };
            let line = match cause {
                Some(cause) => format!("{}: {cause}", outcome(&place.reason)),
                None => outcome(&place.reason),
            };
            *lines.entry(line).or_default() += n;
        }
        let mut lines: Vec<(String, u64)> = lines.into_iter().collect();
        lines.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        lines
    }
}

impl Decision {
    /// `text` is that of the condition.
    fn named<'a>(&self, program: &'a Program, text: Option<&'a str>) -> summary::Decision<'a> {
        match self {
            Decision::Lookup { table, is_hit, action } => {
                let table = &program.tables[*table];
                let outcome = match (is_hit, table.keys.is_empty()) {
                    (true, _) => "hit",
                    (false, true) => NO_KEY,
                    (false, false) => "missed",
                };
                let action = action.and_then(|i| table.actions.get(i as usize)).map(|a| a.name.as_str());
                summary::Decision::Table { table: &table.name, outcome: outcome.to_string(), action }
            }
            Decision::Branch { condition } => summary::Decision::Branch { text, condition: *condition },
            Decision::Switched => summary::Decision::Switched { value: None },
            Decision::ParserFailed { error } => summary::Decision::ParserFailed {
                error: program.errors.get(*error as usize).map_or("?", |name| name.as_str()),
            },
        }
    }
}

impl Observer for DropPlaces {
    fn event(&mut self, variables: &Variables, span: Span, event: Event<'_>) {
        let decision = || {
            let decision = match &event {
                Event::Lookup { table, outcome, .. } => {
                    let (is_hit, action) = match outcome {
                        LookupOutcome::Hit { action, .. } => (true, *action),
                        LookupOutcome::Miss { action, .. } => (false, *action),
                    };
                    Decision::Lookup { table: *table, is_hit, action }
                }
                // Branches without a place are the compiler's.
                Event::Branch { condition } if !span.is_none() => Decision::Branch { condition: *condition },
                Event::Switched { .. } => Decision::Switched,
                Event::ParserFailed { error, .. } | Event::Rejected { error } => {
                    Decision::ParserFailed { error: *error }
                }
                _ => return None,
            };
            Some((span, decision))
        };
        self.causes.event(variables, span, &event, decision);
        match event {
            Event::Traffic(TrafficEvent::Pass { .. }) => self.causes.begin(),
            Event::Traffic(TrafficEvent::Dropped { reason }) => {
                let (statement, decision) = self.causes.take(reason).unzip();
                let place = Place {
                    reason: reason.to_string(),
                    statement: statement.filter(|span| !span.is_none()),
                    decision: decision.flatten(),
                };
                *self.counts.entry(place).or_default() += 1;
            }
            _ => {}
        }
    }
}

/// Two observers that hear the same.
#[derive(Debug)]
pub struct Both<'a, A, B>(pub &'a mut A, pub &'a mut B);

impl<A: Observer, B: Observer> Observer for Both<'_, A, B> {
    fn listens(&self) -> bool {
        self.0.listens() || self.1.listens()
    }

    fn event(&mut self, variables: &Variables, span: Span, event: Event<'_>) {
        self.0.event(variables, span, event.clone());
        self.1.event(variables, span, event);
    }
}
