//! Smaller cases that differ in the same way.

use super::transcript::Difference;
use super::{Case, Compiled, Event, Outcome, SubjectKind, compile, run};
use crate::Corpus;
use crate::minimise::{lines, reduce, tokens};
use std::time::{Duration, Instant};

/// A case that differs, and how.
#[derive(Clone, Debug)]
pub struct Reduced {
    pub case: Case,
    pub difference: Difference,
}

/// Packets that one event leads to at most.
const N_SENT_MAX: usize = 40;

fn difference(compiled: &Compiled, events: &[Event], kinds: [SubjectKind; 2]) -> Option<Difference> {
    // A smaller program may lack the object of a write.
    let has = |event: &Event| match event {
        Event::Write(update) => control::validate(&compiled.schema, update).is_ok(),
        Event::Packet { .. } | Event::EndOfBurst | Event::Clock { .. } | Event::PortSide { .. } => true,
    };
    let events: Vec<Event> = events.iter().filter(|e| has(e)).cloned().collect();
    match run(compiled, &events, kinds) {
        // A program that multiplies packets may be smaller, but is hard to read.
        Outcome::Differs(difference) if difference.expected.n_sent_max() > N_SENT_MAX => None,
        Outcome::Differs(difference) => Some(difference),
        Outcome::Same(_) | Outcome::Undecided(_) => None,
    }
}

/// Drops events, then, if `corpus` can compile its parts, lines and tokens of the program, then events again.
pub fn smaller(
    case: Case,
    compiled: &Compiled,
    found: Difference,
    kinds: [SubjectKind; 2],
    corpus: Option<&Corpus>,
    time: Duration,
) -> Reduced {
    let end = Instant::now() + time;
    let mut best = Reduced { case, difference: found };
    reduce_events(&mut best, compiled, kinds, end);
    let Some(corpus) = corpus else { return best };
    let mut last = None;
    for cut in [lines, tokens] {
        let parts = cut(&best.case.text);
        let events = best.case.events.clone();
        let key = best.difference.key.clone();
        let parts = reduce(parts, end, |parts| {
            let Ok(compiled) = compile(&parts.concat(), corpus) else { return false };
            match difference(&compiled, &events, kinds).filter(|d| d.key == key) {
                Some(found) => {
                    best.difference = found;
                    last = Some(compiled);
                    true
                }
                None => false,
            }
        });
        best.case.text = parts.concat();
    }
    if let Some(compiled) = last {
        best.case.events.retain(|event| match event {
            Event::Write(update) => control::validate(&compiled.schema, update).is_ok(),
            Event::Packet { .. } | Event::EndOfBurst | Event::Clock { .. } | Event::PortSide { .. } => true,
        });
        reduce_events(&mut best, &compiled, kinds, end);
    }
    best
}

fn reduce_events(best: &mut Reduced, compiled: &Compiled, kinds: [SubjectKind; 2], end: Instant) {
    let key = best.difference.key.clone();
    let events = reduce(best.case.events.clone(), end, |events| {
        match difference(compiled, events, kinds).filter(|d| d.key == key) {
            Some(found) => {
                best.difference = found;
                true
            }
            None => false,
        }
    });
    best.case.events = events;
}
