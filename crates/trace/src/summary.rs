//! One line that says what became of a packet, and where it was decided.

use crate::places::Places;
use crate::story::{Named, Step, Story, Verdict, What};

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
        [port] => parts.push(format!("sent to port {port}")),
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

/// Returns `None` unless the verdict is a drop.
fn dropped(story: &Story, verdict: &Verdict, places: &Places) -> Option<String> {
    let Verdict::Dropped { reason, because, decided_by } = verdict else { return None };
    // `mark_to_drop` needs no name: the place says it.
    let outcome = match reason.as_str() {
        "ingress_drop" | "egress_drop" => "dropped".to_string(),
        reason => format!("dropped ({reason})"),
    };
    let statement = because.as_ref().map(|at| places.of(at));
    let decision = decided_by.and_then(|i| story.steps.get(i));
    let cause = match (decision, statement) {
        (Some(step), statement) => decided(step, statement, because.as_ref().map(|at| &*at.text), places),
        (None, Some(place)) => because.as_ref().map(|at| format!("{}, {place}", quoted(&at.text))),
        (None, None) => None,
    };
    Some(match cause {
        Some(cause) => format!("{outcome}: {cause}"),
        None => outcome,
    })
}

/// `statement` is the place of the statement that drops, `text` the statement.
fn decided(step: &Step, statement: Option<String>, text: Option<&str>, places: &Places) -> Option<String> {
    let at = step.at.as_ref().map(|at| format!(" ({})", places.of(at))).unwrap_or_default();
    let last = statement.as_ref().map(|place| format!(", {place}")).unwrap_or_default();
    let drops = text.map_or("the packet is dropped".to_string(), quoted);
    Some(match &step.what {
        What::Table { table, keys, hit, action, n_entries } => {
            let values: Vec<&str> = keys.iter().map(|key: &Named| key.text.as_str()).collect();
            let values = values.join(", ");
            let outcome = match (hit, n_entries) {
                (Some(hit), _) => format!("hit entry {} with {values}", hit.entry),
                (None, _) if keys.is_empty() => "has no key".to_string(),
                (None, Some(1)) => format!("missed {values} (1 entry)"),
                (None, Some(n)) => format!("missed {values} ({n} entries)"),
                (None, None) => format!("missed {values}"),
            };
            let action =
                action.as_deref().map_or("no action", |name| name.rsplit('.').next().unwrap_or(name));
            format!("{table}{at} {outcome}: {action}{last}")
        }
        What::ParserFailed { error, .. } | What::Rejected { error } => {
            format!("the parser fails with error.{error}{at}")
        }
        What::Branch { condition } => {
            let tested = step.at.as_ref().map_or("a condition".to_string(), |at| quoted(&at.text));
            format!("{drops}{last}, after {tested}{at} was {condition}")
        }
        What::Switched { value, .. } => format!("{drops}{last}, after a switch{at} on {value}"),
        _ => return None,
    })
}

fn quoted(text: &str) -> String {
    if text.is_empty() { "a statement".to_string() } else { format!("`{text}`") }
}
