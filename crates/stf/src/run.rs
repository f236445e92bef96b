//! Runs a script on a switch.

use crate::expect::{self, Decode};
use crate::fate::{self, Fate};
use crate::resolve::{DigestCheck, Plan, Step, StepKind};
use crate::{Arriving, Dut, Script, codes};
use control::{Data, DigestId, Entity, EntryQuery, Query, Schema, Target, Update, UpdateKind};
use diagnostics::{Diagnostic, SourceMap, Span};
use std::collections::{BTreeMap, BTreeSet};
use target::traffic::{Destination, Output};
use trace::Silent;

/// The result of a script.
#[derive(Debug, Default)]
pub struct Report {
    /// Faults, in the order of the script, with places in its text.
    pub faults: Vec<Diagnostic>,
    /// Answers to commands that only read.
    pub shown: Vec<(Query, Vec<Entity>)>,
    pub n_received: usize,
    /// Packets by port.
    pub sent: BTreeMap<u32, Vec<Vec<u8>>>,
    /// One for each packet that arrived, in order.
    pub fates: Vec<Fate>,
}

impl Report {
    pub fn is_success(&self) -> bool {
        self.faults.is_empty()
    }
}

/// Runs a script, and compares at its end the packets that the ports have sent with the expected ones. Packets arrive
/// one by one.
pub fn run(
    script: &Script,
    plan: &Plan,
    sources: &SourceMap,
    schema: &Schema,
    dut: &mut dyn Dut,
    decode: Decode<'_>,
) -> Report {
    run_in_bursts(script, plan, sources, schema, dut, decode, 1)
}

/// Runs a script in bursts: packets that follow each other, with nothing but expectations between them, arrive together,
/// at most `n_max` at once. Expectations are those of [`run()`].
pub fn run_in_bursts(
    script: &Script,
    plan: &Plan,
    sources: &SourceMap,
    schema: &Schema,
    dut: &mut dyn Dut,
    decode: Decode<'_>,
    n_max: usize,
) -> Report {
    let mut report = Report::default();
    let attached = script.attached();
    let mut digests = Vec::new();
    let mut left = plan.steps.as_slice();
    while let Some(step) = left.first() {
        let n_packets = left.iter().take(n_max).take_while(|s| s.is_packet()).count();
        let n_steps = n_packets.max(left.iter().take_while(|s| s.update().is_some()).count()).max(1);
        let (these, rest) = left.split_at(n_steps);
        left = rest;
        let sent = &mut report.sent;
        let collect = |output: Output| match output.destination {
            Destination::Port(port) => sent.entry(port).or_default().push(output.bytes),
            Destination::Controller => {}
        };
        match &step.kind {
            StepKind::Packet { .. } => {
                let (spans, burst) = arriving(these, &attached.ports);
                report.n_received += burst.len();
                let before = dut.totals().n_dropped;
                let outputs = dut.receive(&burst, &mut Silent);
                let after = dut.totals().n_dropped;
                report.fates.extend(fate::fates_of(spans.into_iter(), &outputs, &before, &after));
                outputs.into_iter().flatten().for_each(collect);
            }
            StepKind::AdvanceClock { duration_ns } => {
                dut.advance_clock(*duration_ns, &mut Silent).into_iter().for_each(collect);
                dut.notify_of_idle_entries();
            }
            StepKind::CheckTable { table, count, comparison, value } => {
                // Entries that have ended by now are gone.
                dut.advance_clock(0, &mut Silent).into_iter().for_each(collect);
                dut.notify_of_idle_entries();
                let found = dut.table_use(table).map(|found| count.of(&found));
                if found.is_none_or(|found| !comparison.holds(&found, value)) {
                    let why = match found {
                        Some(found) => format!("it is {found}"),
                        None => "this switch does not count the entries of the table".to_owned(),
                    };
                    let message = format!("`{table}`: {why}, and not {} {value}", comparison.symbol());
                    report.faults.push(Diagnostic::new(&codes::CHECK_FAILED, step.span, message));
                }
            }
            StepKind::SetProfile { table, profile, timeout_ns } => {
                if !dut.set_profile(table, *profile, *timeout_ns) {
                    let message = format!("entries of table `{table}` have no profiles of timeouts");
                    report.faults.push(Diagnostic::new(&codes::REFUSED, step.span, message));
                }
            }
            StepKind::Wait => {}
            StepKind::Port { port, is_host } => dut.set_host_port(*port, *is_host),
            StepKind::Write(_) if step.update().is_some() => {
                let updates: Vec<&Update> = these.iter().filter_map(Step::update).collect();
                for (step, result) in these.iter().zip(dut.target().write_many(&updates)) {
                    report.faults.extend(result.err().map(|fault| refused(step, &fault)));
                }
            }
            // When one update is refused, the rest of the step is left out.
            StepKind::Write(updates) => {
                for update in updates {
                    if let Err(fault) = dut.target().write(update) {
                        report.faults.push(refused(step, &fault));
                        break;
                    }
                }
            }
            StepKind::RemoveAllEntries => {
                if let Err(fault) = remove_all(schema, dut.target()) {
                    report.faults.push(Diagnostic::new(&codes::REFUSED, step.span, fault.to_string()));
                }
            }
            StepKind::Check(check) => match dut.target().read(&check.query) {
                Ok(answer) => {
                    if let Err(fault) = check.evaluate(schema, &answer) {
                        report.faults.push(*fault);
                    }
                }
                Err(fault) => {
                    report.faults.push(Diagnostic::new(&codes::REFUSED, step.span, fault.to_string()));
                }
            },
            StepKind::Show(query) => match dut.target().read(query) {
                Ok(answer) => report.shown.push((query.clone(), answer)),
                Err(fault) => {
                    report.faults.push(Diagnostic::new(&codes::REFUSED, step.span, fault.to_string()));
                }
            },
            StepKind::ExpectDigest(check) => {
                digests.extend(dut.take_digests());
                if let Err(why) = next_digest(&mut digests, check) {
                    report
                        .faults
                        .push(Diagnostic::new(&codes::CHECK_FAILED, step.span, why).label("expected this"));
                }
            }
        }
    }
    let faults = expect::compare(script, &report.sent);
    let shown = |fault: &expect::Fault<'_>| {
        fate::explain(fault, fault.diagnostic(sources, decode), script, &report.fates, sources)
    };
    let faults: Vec<Diagnostic> = faults.iter().map(shown).collect();
    report.faults.extend(faults);
    report
}

fn refused(step: &Step, fault: &control::Fault) -> Diagnostic {
    Diagnostic::new(&codes::REFUSED, step.span, fault.to_string()).label("the switch refuses this")
}

/// The packets of steps whose ports are attached, and their commands.
fn arriving<'p>(packets: &'p [Step], attached: &BTreeSet<u32>) -> (Vec<Span>, Vec<Arriving<'p>>) {
    let packet = |step: &'p Step| match &step.kind {
        StepKind::Packet { port, data } if attached.contains(port) => {
            Some((step.span, Arriving { port: *port, bytes: data }))
        }
        _ => None,
    };
    packets.iter().filter_map(packet).unzip()
}

fn remove_all(schema: &Schema, target: &mut dyn Target) -> Result<(), control::Fault> {
    let all = target.read(&Query::TableEntries(EntryQuery::default()))?;
    for entity in all {
        let Entity::TableEntry(entry) = &entity else { continue };
        let is_fixed = entry.is_const || schema.tables.get(entry.table).is_some_and(|t| t.is_const);
        if !is_fixed && !entry.is_default_action {
            target.write(&Update { kind: UpdateKind::Delete, entity })?;
        }
    }
    Ok(())
}

/// Takes the oldest digest of a kind and compares it with the expected one.
fn next_digest(digests: &mut Vec<(DigestId, Data)>, check: &DigestCheck) -> Result<(), String> {
    let Some(at) = digests.iter().position(|(id, _)| *id == check.digest) else {
        return Err("no such digest was sent".to_string());
    };
    let (_, message) = digests.remove(at);
    match check.mismatch(&message) {
        None => Ok(()),
        Some(why) => Err(format!("the digest differs: {why}")),
    }
}
