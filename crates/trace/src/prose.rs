//! The story as prose.

use crate::places::Places;
use crate::story::{At, Hit, Named, Step, Story, Verdict, What};
use crate::summary::summary;
use crate::{ParserOp, PassKind};
use std::fmt::Write;

/// For people: the summary, then one step a line or a few, what belongs to another step indented under it. Places have
/// files without folders, unless two files have the same name.
pub fn render(story: &Story) -> String {
    told_with(story, &Places::short(story))
}

/// Like [`render`], with the paths of files as the compiler was given them.
pub fn render_full(story: &Story) -> String {
    told_with(story, &Places::Full)
}

fn told_with(story: &Story, places: &Places) -> String {
    let mut out = summary(story, places);
    out.push('\n');
    for (i, step) in story.steps.iter().enumerate() {
        let text = told(step, &story.steps[..i], &story.steps[i + 1..]);
        if text.is_empty() {
            continue;
        }
        let indent = "  ".repeat(step.depth as usize);
        let mut lines = text.lines();
        let first = lines.next().unwrap_or("");
        // Blocks and ends of parsers are places in themselves.
        let at = match &step.what {
            What::Block { .. } | What::Accepted => None,
            _ => step.at.as_ref(),
        };
        let place = at.map(|at| format!("  ({})", places.of(at))).unwrap_or_default();
        let _ = writeln!(out, "{indent}{first}{place}");
        for line in lines {
            let _ = writeln!(out, "{indent}{line}");
        }
    }
    if story.n_left_out > 0 {
        let _ = writeln!(out, "... and {} more steps.", story.n_left_out);
    }
    for verdict in &story.verdicts {
        out.push_str(&ending(verdict, places));
        out.push('\n');
    }
    out
}

fn bytes(n_bits: u64) -> String {
    match n_bits {
        8 => "1 byte".to_string(),
        n if n % 8 == 0 => format!("{} bytes", n / 8),
        n => format!("{n} bits"),
    }
}

fn assignments(values: &[Named]) -> String {
    let parts: Vec<String> = values.iter().map(|v| format!("{} = {}", v.name, v.text)).collect();
    parts.join(", ")
}

/// `when` says under which condition a part is told.
fn with(what: String, word: &str, parts: &str) -> String {
    if parts.is_empty() { what } else { format!("{what} {word} {parts}") }
}

fn quoted(at: Option<&At>) -> String {
    at.filter(|at| !at.text.is_empty()).map(|at| format!(" `{}`", at.text)).unwrap_or_default()
}

fn block(role: &str, name: &str) -> String {
    let what = match role {
        "parser" => "The parser",
        "verify_checksum" => "The verification of checksums",
        "ingress" => "The ingress control",
        "egress" => "The egress control",
        "compute_checksum" => "The computation of checksums",
        "deparser" => "The deparser",
        _ => "The block",
    };
    format!("{what} `{name}` begins.")
}

fn pass(kind: PassKind, port: u32, n_bytes: usize) -> String {
    let size = bytes(n_bytes as u64 * 8);
    match kind {
        PassKind::Normal => format!("A packet of {size} arrives on port {port}."),
        PassKind::Resubmitted => format!("The packet of {size} is back from port {port}, resubmitted."),
        PassKind::Recirculated => format!("The packet of {size} enters again, recirculated."),
        PassKind::ClonedFromIngress => {
            format!("A clone of {size}, made in ingress, goes to egress for port {port}.")
        }
        PassKind::ClonedFromEgress => {
            format!("A clone of {size}, made in egress, goes to egress for port {port}.")
        }
        PassKind::Multicast => format!("A copy of {size} goes to egress for port {port}."),
        PassKind::Mirrored => format!("A mirrored copy of {size} leaves through port {port}."),
        PassKind::FromController => format!("A packet of {size} comes from the controller."),
    }
}

fn hit(hit: &Hit) -> String {
    let matches: Vec<String> = hit.matches.iter().map(|m| format!("{} is {}", m.key, m.pattern)).collect();
    let entry = hit.entry.map_or("the entry".to_string(), |number| format!("entry {number}"));
    let mut text = format!("it hits {entry} ({})", matches.join(", "));
    if hit.priority != 0 {
        let _ = write!(text, " of priority {}", hit.priority);
    }
    if let Some(member) = hit.member {
        let _ = write!(text, ", which chooses member {member}");
    }
    text
}

/// Returns the sentence for a step; empty if the sentence of another step covers it.
fn told(step: &Step, before: &[Step], rest: &[Step]) -> String {
    match &step.what {
        What::Pass { kind: PassKind::Normal, port, n_bytes, .. } if !before.is_empty() => {
            format!("The packet of {} goes through egress to port {port}.", bytes(*n_bytes as u64 * 8))
        }
        What::Pass { kind, port, n_bytes, .. } => pass(*kind, *port, *n_bytes),
        What::Block { name, role } => {
            let is_empty = matches!(rest.first().map(|s| &s.what), Some(What::BlockEnded { .. }));
            // A block in which nothing happens is not worth a line.
            if is_empty { String::new() } else { block(role, name) }
        }
        What::BlockEnded { .. } => String::new(),
        What::State { name } => format!("State `{name}`"),
        What::Extracted { header, n_bits, fields } => {
            let mut text = format!("extracts `{header}`, {}", bytes(*n_bits));
            if !fields.is_empty() {
                text.push(':');
            }
            let width = fields.iter().map(|f| f.name.len()).max().unwrap_or(0);
            for field in fields {
                let _ = write!(text, "\n  {:width$} = {}", field.name, field.text);
            }
            text
        }
        What::ParserFailed { what, error, wanted_bits, left_bits } => {
            let what = match what {
                ParserOp::Extract => "extract",
                ParserOp::Advance => "advance",
                ParserOp::Lookahead => "lookahead",
            };
            let (wanted, left) = (bytes(*wanted_bits), bytes(*left_bits));
            format!("fails to {what}: error.{error} (wants {wanted}, the packet has {left} left)")
        }
        What::Advanced { n_bits } => format!("skips {}", bytes(*n_bits)),
        What::LookedAhead { n_bits } => format!("looks ahead {}", bytes(*n_bits)),
        What::Selected { keys, case } => {
            let key = |k: &Named| match k.name.is_empty() {
                true => format!("{} ({})", k.text, k.hex),
                false => format!("{} = {}", k.name, k.text),
            };
            let keys: Vec<String> = keys.iter().map(key).collect();
            match case {
                Some(case) => format!("select on {} takes its case {case}", keys.join(", ")),
                None => format!("select on {} has no case that matches", keys.join(", ")),
            }
        }
        What::Accepted => "The parser accepts the packet.".to_string(),
        What::Rejected { error } => format!("The parser rejects the packet: error.{error}."),
        What::Branch { condition } => {
            let answer = if *condition { "true" } else { "false" };
            format!("the condition{} is {answer}", quoted(step.at.as_ref()))
        }
        What::Switched { value, case } => match case {
            Some(case) => format!("switch on {value} takes its case {case}"),
            None => format!("switch on {value} takes its default"),
        },
        What::Table { table, keys, hit: found, action, n_entries, expired } => {
            let text = with(format!("Table `{table}` is applied"), "with", &assignments(keys));
            let outcome = match found {
                Some(found) => hit(found),
                None if keys.is_empty() => "it has no key".to_string(),
                None if *expired => "it misses, as the time of the entry is over".to_string(),
                None if *n_entries == Some(0) => "it misses, as it has no entries".to_string(),
                None => "it misses".to_string(),
            };
            let then = match (action, found) {
                (Some(action), Some(_)) => format!("`{action}` runs"),
                (Some(action), None) => format!("the default action `{action}` runs"),
                (None, _) => "nothing runs".to_string(),
            };
            format!("{text}: {outcome}; {then}")
        }
        What::Called { kind, name, params } => {
            let mut kind = kind.clone();
            if let Some(first) = kind.get_mut(..1) {
                first.make_ascii_uppercase();
            }
            with(format!("{kind} `{name}`"), "with", &assignments(params))
        }
        What::Returned { .. } => String::new(),
        What::Changed { changes } => {
            let lines = changes.iter().map(|c| match (c.is_validity, c.is_next_index) {
                (true, _) if c.new == "true" => format!("`{}` becomes valid", c.name),
                (true, _) => format!("`{}` becomes invalid", c.name),
                (false, true) => format!("the next element of `{}` is {} (was {})", c.name, c.new, c.old),
                (false, false) => format!("{} = {} (was {})", c.name, c.new, c.old),
            });
            lines.collect::<Vec<_>>().join("\n")
        }
        What::Extern { name, object, args, result } => {
            let callee = match (object, name.rsplit('.').next()) {
                (Some(object), Some(method)) => format!("{object}.{method}"),
                (Some(_), None) | (None, _) => name.clone(),
            };
            let text = format!("calls {callee}({})", args.join(", "));
            match result {
                Some(result) if name == "add_entry" => format!("{text}: {result}"),
                Some(result) => format!("{text}, which gives {result}"),
                None => text,
            }
        }
        What::Emitted { header, n_bits } => format!("emits `{header}`, {}", bytes(*n_bits)),
        What::NotEmitted { header } => format!("leaves out `{header}`, which is invalid"),
        What::Note { text } => format!("says: {text}"),
        What::Marked { text } => text.clone(),
        What::Exit => "exits".to_string(),
        What::Stopped { reason } => match reason.as_str() {
            "step_budget" => "The program does not come to an end: the packet is given up.".to_string(),
            "assertion_failed" => "An assertion fails: the packet is given up.".to_string(),
            reason => format!("The packet is given up: {reason}."),
        },
        What::Queued { port, instance: 0, unset: None, .. } => {
            format!("The packet waits for egress to port {port}.")
        }
        What::Queued { port, unset: Some(field), .. } => {
            format!("The packet waits for egress to port {port}: nothing has changed `{field}`.")
        }
        What::Queued { port, instance, unset: None, .. } => {
            format!("The packet waits for egress to port {port} as instance {instance}.")
        }
        What::Multicast { group, n_replicas: 0 } => {
            format!("Multicast group {group} makes no copy: it does not exist, or none of its ports is up.")
        }
        What::Multicast { group, n_replicas } => {
            format!("Multicast group {group} makes {n_replicas} copies of the packet.")
        }
        What::Cloned { session, n_replicas: 0 } => {
            format!("Clone session {session} makes no copy: it does not exist, or none of its ports is up.")
        }
        What::Cloned { session, n_replicas } => {
            format!("Clone session {session} makes {n_replicas} copies of the packet.")
        }
        What::Resubmitted => "The packet is resubmitted.".to_string(),
        What::Recirculated => "The packet is recirculated.".to_string(),
        What::Truncated { n_bytes } => format!("The packet is cut to {}.", bytes(u64::from(*n_bytes) * 8)),
        What::Digest { name, values } => {
            format!("A digest `{name}` goes to the controller: {}.", values.join(", "))
        }
    }
}

fn ending(verdict: &Verdict, places: &Places) -> String {
    match verdict {
        Verdict::Sent { port, n_bytes, .. } => {
            format!("Verdict: sent on port {port}, {}.", bytes(*n_bytes as u64 * 8))
        }
        Verdict::ToController { n_bytes, .. } => {
            format!("Verdict: sent to the controller, {}.", bytes(*n_bytes as u64 * 8))
        }
        Verdict::Dropped { reason, because, .. } => match because {
            Some(at) => {
                format!("Verdict: dropped ({reason}), as {} says{}.", places.of(at), quoted(Some(at)))
            }
            None => format!("Verdict: dropped ({reason})."),
        },
    }
}
