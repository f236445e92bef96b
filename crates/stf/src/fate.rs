//! Follows the packets of a script, for messages about expected packets that did not leave.

use crate::expect::{Expectation, Fault};
use crate::script::{Command, CommandKind, Script};
use diagnostics::{Diagnostic, SourceMap, Span};
use std::collections::BTreeMap;
use target::traffic::{Destination, Output};

/// Packets that a message names at most.
const N_PACKETS_MAX: usize = 3;

/// The end of a packet of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fate {
    /// The `packet` command.
    pub span: Span,
    /// Ports that it or its copies left, in order.
    pub ports: Vec<u32>,
    /// True if it or a copy went to the controller.
    pub reached_controller: bool,
    /// Reasons for which it or its copies were dropped. Empty if nothing was dropped, or if packets of one burst were
    /// dropped for different reasons.
    pub dropped: Vec<String>,
}

/// The fates of the packets of a burst: their commands, their outputs, and how many packets the switch had dropped before
/// and after, by reason.
pub(crate) fn fates_of(
    spans: impl Iterator<Item = Span>,
    outputs: &[Vec<Output>],
    before: &BTreeMap<String, u64>,
    after: &BTreeMap<String, u64>,
) -> Vec<Fate> {
    let is_new = |reason: &str, n: u64| n > before.get(reason).copied().unwrap_or(0);
    let reasons: Vec<String> =
        after.iter().filter(|(reason, n)| is_new(reason, **n)).map(|(reason, _)| reason.clone()).collect();
    let fate = |(span, outputs): (Span, &Vec<Output>)| {
        let mut fate = Fate { span, ports: Vec::new(), reached_controller: false, dropped: Vec::new() };
        for output in outputs {
            match output.destination {
                Destination::Port(port) => fate.ports.push(port),
                Destination::Controller => fate.reached_controller = true,
            }
        }
        fate
    };
    let mut fates: Vec<Fate> = spans.zip(outputs).map(fate).collect();
    let is_alone = fates.len() == 1;
    for fate in &mut fates {
        let left = !fate.ports.is_empty() || fate.reached_controller;
        if is_alone || (!left && reasons.len() == 1) {
            fate.dropped.clone_from(&reasons);
        }
    }
    fates
}

impl Fate {
    /// A sentence such as `the packet of line 7 left port 2`.
    fn describe(&self, sources: &SourceMap) -> String {
        let packet = match sources.locate(self.span) {
            Some(place) => format!("the packet of line {}", place.line),
            None => "the packet".to_string(),
        };
        let ports: Vec<String> = self.ports.iter().map(u32::to_string).collect();
        let mut ends = match ports.as_slice() {
            [] => Vec::new(),
            [port] => vec![format!("left port {port}")],
            [first @ .., last] => vec![format!("left ports {} and {last}", first.join(", "))],
        };
        if self.reached_controller {
            ends.push("went to the controller".to_string());
        }
        if !self.dropped.is_empty() {
            ends.push(format!("was dropped: {}", self.dropped.join(", ")));
        }
        if ends.is_empty() {
            ends.push("left no port".to_string());
        }
        format!("{packet} {}", ends.join(", and "))
    }
}

/// Adds to the message about a missing packet where the packets before the expectation went.
pub(crate) fn explain(
    fault: &Fault<'_>,
    diagnostic: Diagnostic,
    script: &Script,
    fates: &[Fate],
    sources: &SourceMap,
) -> Diagnostic {
    let (expectation, n_sent) = match fault {
        Fault::Missing { expectation, n_sent, .. } => (*expectation, *n_sent),
        Fault::Differs { .. } | Fault::Unexpected { .. } => return diagnostic,
    };
    let port = expectation.port.number;
    let spans = packets_of(script, expectation);
    let strays: Vec<&Fate> =
        fates.iter().filter(|fate| spans.contains(&fate.span) && !fate.ports.contains(&port)).collect();
    match strays.as_slice() {
        [] => diagnostic,
        [stray] => {
            let as_expected = if n_sent > 0 { " as expected" } else { "" };
            let message = format!("no packet left port {port}{as_expected}; {}", stray.describe(sources));
            Diagnostic { message, ..diagnostic }
        }
        strays => {
            let shown = strays.iter().take(N_PACKETS_MAX);
            let diagnostic = shown.fold(diagnostic, |d, stray| d.note(stray.describe(sources)));
            match strays.len().saturating_sub(N_PACKETS_MAX) {
                0 => diagnostic,
                n => diagnostic.note(format!("{n} more packets did not leave port {port}")),
            }
        }
    }
}

/// The commands of the packets to which an expectation belongs: those that stand in a row before it, otherwise those after
/// it, in scripts that say first what is expected.
fn packets_of(script: &Script, expectation: &Expectation) -> Vec<Span> {
    let is_this = |kind: &CommandKind| matches!(kind, CommandKind::Expect(e) if e.span == expectation.span);
    let Some(at) = script.commands.iter().position(|command| is_this(&command.kind)) else {
        return Vec::new();
    };
    let before = row(script.commands[..at].iter().rev());
    if before.is_empty() { row(script.commands[at + 1..].iter()) } else { before }
}

/// The first packets with no expectation between them.
fn row<'c>(commands: impl Iterator<Item = &'c Command>) -> Vec<Span> {
    let mut spans = Vec::new();
    for command in commands {
        match &command.kind {
            CommandKind::Packet { .. } => spans.push(command.span),
            CommandKind::Expect(_) if !spans.is_empty() => break,
            _ => {}
        }
    }
    spans
}
