//! One line that says what became of a packet, and where it was decided.

use crate::places::Places;
use crate::story::{At, Named, Step, Story, Verdict, What};
use target::traffic::reason;

/// Most ports that are listed.
const PORTS_MAX: usize = 8;
/// Most different drops that are told.
const DROPS_MAX: usize = 3;

/// Returns the line, without an end of line:
/// `dropped: I.routes (router.p4:110) missed 10.1.2.3 (0 entries): drop, router.p4:79`.
pub(crate) fn summary(story: &Story, places: &Places) -> String {
    let mut parts = Vec::new();
    let ports: Vec<u32> = (story.verdicts.iter())
        .filter_map(|verdict| match verdict {
            Verdict::Sent { port, .. } => Some(*port),
            Verdict::ToController { .. } | Verdict::Dropped { .. } => None,
        })
        .collect();
    match ports.as_slice() {
        [] => {}
        [port] => {
            let queued = story.steps.iter().rev().find_map(|step| match &step.what {
                What::Queued { port: queued, unset, because, decided_by, .. } if queued == port => {
                    Some((unset, because, *decided_by))
                }
                _ => None,
            });
            let why = queued.and_then(|(unset, because, decided_by)| match unset {
                Some(field) => Some(format!("nothing has changed {field}")),
                None => cause(story, because.as_ref(), decided_by, places),
            });
            let why = why.map(|why| format!(": {why}")).unwrap_or_default();
            parts.push(format!("sent to port {port}{why}"));
        }
        ports => {
            let listed: Vec<String> = ports.iter().take(PORTS_MAX).map(ToString::to_string).collect();
            let more = match ports.len() - listed.len() {
                0 => String::new(),
                n => format!(" and {n} more"),
            };
            parts.push(format!("{} copies sent to ports {}{more}", ports.len(), listed.join(", ")));
        }
    }
    match story.verdicts.iter().filter(|verdict| matches!(verdict, Verdict::ToController { .. })).count() {
        0 => {}
        1 => parts.push("sent to the controller".to_string()),
        n => parts.push(format!("{n} copies sent to the controller")),
    }
    // Copies that are dropped for one reason are told once.
    let mut drops: Vec<(String, usize)> = Vec::new();
    for verdict in &story.verdicts {
        let Some(text) = dropped(story, verdict, places) else { continue };
        match drops.iter_mut().find(|(known, _)| *known == text) {
            Some((_, n)) => *n += 1,
            None => drops.push((text, 1)),
        }
    }
    let n_more: usize = drops.iter().skip(DROPS_MAX).map(|(_, n)| n).sum();
    parts.extend(drops.into_iter().take(DROPS_MAX).map(|(text, n)| match n {
        1 => text,
        n => format!("{n} copies {text}"),
    }));
    if n_more > 0 {
        parts.push(format!("{n_more} more copies dropped"));
    }
    if parts.is_empty() {
        return "still waits in the switch".to_string();
    }
    parts.join("; ")
}

impl Story {
    /// Packets that go to ports that are not there are dropped.
    pub fn lose_at_ports(&mut self, is_there: &dyn Fn(u32) -> bool) {
        let mut has_lost = false;
        for verdict in &mut self.verdicts {
            if let Verdict::Sent { port, .. } = verdict
                && !is_there(*port)
            {
                let (reason, port) = (reason::NO_SUCH_PORT.to_owned(), Some(*port));
                *verdict = Verdict::Dropped { reason, because: None, decided_by: None, port };
                has_lost = true;
            }
        }
        if has_lost {
            self.summary = summary(self, &Places::short(self));
        }
    }
}

/// Returns `None` unless the verdict is a drop.
fn dropped(story: &Story, verdict: &Verdict, places: &Places) -> Option<String> {
    let Verdict::Dropped { reason, because, decided_by, port } = verdict else { return None };
    let outcome = outcome(reason);
    if let Some(port) = port {
        return Some(format!("{outcome}: sent to port {port}, which the switch does not have"));
    }
    let Some(cause) = cause(story, because.as_ref(), *decided_by, places) else { return Some(outcome) };
    // A header that was not parsed is a usual reason of what follows.
    let before = decided_by.and_then(|i| story.steps.get(..i)).unwrap_or_default();
    let failure = before.iter().rev().find_map(|step| match &step.what {
        What::ParserFailed { error, .. } | What::Rejected { error } => Some((error, step)),
        _ => None,
    });
    let failure = failure.map(|(error, step)| {
        let at = step.at.as_ref().map(|at| format!(" ({})", places.of(at))).unwrap_or_default();
        format!("; before that the parser failed with error.{error}{at}")
    });
    Some(format!("{outcome}: {cause}{}", failure.unwrap_or_default()))
}

/// The decision and the statement behind an outcome.
fn cause(story: &Story, because: Option<&At>, decided_by: Option<usize>, places: &Places) -> Option<String> {
    let statement = because.map(|at| Statement { place: places.of(at), text: at.text.clone() });
    let decision = decided_by.and_then(|i| story.steps.get(i));
    match (decision, statement) {
        (Some(step), statement) => decided(step, statement.as_ref(), places),
        (None, Some(statement)) => Some(statement.alone()),
        (None, None) => None,
    }
}

/// The outcome by the reason of the drop.
pub(crate) fn outcome(reason: &str) -> String {
    match reason {
        // `mark_to_drop` needs no name: the place says it.
        "ingress_drop" | "egress_drop" => "dropped".to_string(),
        reason => format!("dropped ({reason})"),
    }
}

/// The statement that dropped a packet.
pub(crate) struct Statement {
    pub(crate) place: String,
    pub(crate) text: String,
}

impl Statement {
    /// Without any decision before it.
    pub(crate) fn alone(&self) -> String {
        format!("{}, {}", quoted(&self.text), self.place)
    }
}

/// A decision that led to a drop.
pub(crate) enum Decision<'a> {
    /// `outcome` says whether it was hit or missed, `action` is the name of the action.
    Table {
        table: &'a str,
        outcome: String,
        action: Option<&'a str>,
    },
    ParserFailed {
        error: &'a str,
    },
    /// `text` is the condition.
    Branch {
        text: Option<&'a str>,
        condition: bool,
    },
    Switched {
        value: Option<&'a str>,
    },
}

impl Decision<'_> {
    /// `at` is the place of the decision.
    pub(crate) fn tell(&self, at: Option<String>, statement: Option<&Statement>) -> String {
        let at = at.map(|at| format!(" ({at})")).unwrap_or_default();
        let last = statement.map(|statement| format!(", {}", statement.place)).unwrap_or_default();
        let drops =
            statement.map_or("the packet is dropped".to_string(), |statement| quoted(&statement.text));
        match self {
            Decision::Table { table, outcome, action } => {
                let action = action.map_or("no action", |name| name.rsplit('.').next().unwrap_or(name));
                format!("{table}{at} {outcome}: {action}{last}")
            }
            Decision::ParserFailed { error } => format!("the parser fails with error.{error}{at}"),
            Decision::Branch { text, condition } => {
                let tested = text.map_or("a condition".to_string(), quoted);
                format!("{drops}{last}, after {tested}{at} was {condition}")
            }
            Decision::Switched { value } => {
                let value = value.map(|value| format!(" on {value}")).unwrap_or_default();
                format!("{drops}{last}, after a switch{at}{value}")
            }
        }
    }
}

fn decided(step: &Step, statement: Option<&Statement>, places: &Places) -> Option<String> {
    let decision = match &step.what {
        What::Table { table, keys, hit, action, n_entries, expired } => {
            let values: Vec<&str> = keys.iter().map(|key: &Named| key.text.as_str()).collect();
            let values = values.join(", ");
            let outcome = match (hit, n_entries) {
                (Some(hit), _) => match hit.entry {
                    Some(number) => format!("hit entry {number} with {values}"),
                    None => format!("hit with {values}"),
                },
                (None, _) if keys.is_empty() => NO_KEY.to_string(),
                (None, _) if *expired => format!("missed {values} (its entry has expired)"),
                (None, Some(1)) => format!("missed {values} (1 entry)"),
                (None, Some(n)) => format!("missed {values} ({n} entries)"),
                (None, None) => format!("missed {values}"),
            };
            Decision::Table { table, outcome, action: action.as_deref() }
        }
        What::ParserFailed { error, .. } | What::Rejected { error } => Decision::ParserFailed { error },
        What::Branch { condition } => {
            Decision::Branch { text: step.at.as_ref().map(|at| &*at.text), condition: *condition }
        }
        What::Switched { value, .. } => Decision::Switched { value: Some(value) },
        _ => return None,
    };
    Some(decision.tell(step.at.as_ref().map(|at| places.of(at)), statement))
}

/// Outcome of a lookup in a table that has no key.
pub(crate) const NO_KEY: &str = "has no key";

fn quoted(text: &str) -> String {
    if text.is_empty() { "a statement".to_string() } else { format!("`{text}`") }
}
