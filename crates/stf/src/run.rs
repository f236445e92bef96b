//! Runs a script on a switch.

use crate::expect::{self, Decode};
use crate::resolve::{DigestCheck, Plan, Step, StepKind};
use crate::{Script, codes};
use control::{Data, DigestId, Entity, EntryQuery, Query, Schema, Target, Update, UpdateKind};
use diagnostics::{Diagnostic, SourceMap};
use std::collections::{BTreeMap, BTreeSet};

/// A packet that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arriving<'a> {
    pub port: u32,
    pub bytes: &'a [u8],
}

/// What a script needs of a switch, besides that it stores entities.
pub trait Device: Target {
    /// Packets arrive together. `sent` hears of each packet that leaves before the switch is idle again: which of the
    /// burst has led to it, the port, and the bytes; what earlier packets have led to comes first.
    fn receive(&mut self, burst: &[Arriving<'_>], sent: &mut dyn FnMut(usize, u32, &[u8]));

    fn advance_clock(&mut self, duration_ns: u64, sent: &mut dyn FnMut(u32, &[u8]));

    /// Digests since the last call, in order.
    fn take_digests(&mut self) -> Vec<(DigestId, Data)>;
}

/// What came of a script.
#[derive(Debug, Default)]
pub struct Report {
    /// What went wrong, in the order of the script, with places in its text.
    pub faults: Vec<Diagnostic>,
    /// What commands that only look have found.
    pub shown: Vec<(Query, Vec<Entity>)>,
    pub n_received: usize,
    /// Packets by port.
    pub sent: BTreeMap<u32, Vec<Vec<u8>>>,
}

impl Report {
    pub fn is_success(&self) -> bool {
        self.faults.is_empty()
    }
}

/// Does what a script says, and compares at its end what the ports have sent with what it expects. Packets come one by
/// one.
pub fn run(
    script: &Script,
    plan: &Plan,
    sources: &SourceMap,
    schema: &Schema,
    device: &mut dyn Device,
    decode: Decode<'_>,
) -> Report {
    run_in_bursts(script, plan, sources, schema, device, decode, 1)
}

/// The same, but packets that follow each other, with nothing but expectations between them, come together: at most
/// `n_max` at once. What is expected is the same.
pub fn run_in_bursts(
    script: &Script,
    plan: &Plan,
    sources: &SourceMap,
    schema: &Schema,
    device: &mut dyn Device,
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
        let mut collect = |port: u32, bytes: &[u8]| sent.entry(port).or_default().push(bytes.to_vec());
        match &step.kind {
            StepKind::Packet { .. } => {
                let burst = arriving(these, &attached.ports);
                report.n_received += burst.len();
                device.receive(&burst, &mut |_, port, bytes| collect(port, bytes));
            }
            StepKind::AdvanceClock { duration_ns } => device.advance_clock(*duration_ns, &mut collect),
            StepKind::Wait => {}
            StepKind::Write(_) if step.update().is_some() => {
                let updates: Vec<&Update> = these.iter().filter_map(Step::update).collect();
                for (step, result) in these.iter().zip(device.write_many(&updates)) {
                    report.faults.extend(result.err().map(|fault| refused(step, &fault)));
                }
            }
            // Of one step the rest is left out when one of them is refused.
            StepKind::Write(updates) => {
                for update in updates {
                    if let Err(fault) = device.write(update) {
                        report.faults.push(refused(step, &fault));
                        break;
                    }
                }
            }
            StepKind::RemoveAllEntries => {
                if let Err(fault) = remove_all(schema, device) {
                    report.faults.push(Diagnostic::new(&codes::REFUSED, step.span, fault.to_string()));
                }
            }
            StepKind::Check(check) => match device.read(&check.query) {
                Ok(answer) => {
                    if let Err(fault) = check.evaluate(schema, &answer) {
                        report.faults.push(*fault);
                    }
                }
                Err(fault) => {
                    report.faults.push(Diagnostic::new(&codes::REFUSED, step.span, fault.to_string()));
                }
            },
            StepKind::Show(query) => match device.read(query) {
                Ok(answer) => report.shown.push((query.clone(), answer)),
                Err(fault) => {
                    report.faults.push(Diagnostic::new(&codes::REFUSED, step.span, fault.to_string()));
                }
            },
            StepKind::ExpectDigest(check) => {
                digests.extend(device.take_digests());
                if let Err(why) = next_digest(&mut digests, check) {
                    report
                        .faults
                        .push(Diagnostic::new(&codes::CHECK_FAILED, step.span, why).label("expected this"));
                }
            }
        }
    }
    let faults = expect::compare(script, &report.sent);
    let faults: Vec<Diagnostic> = faults.iter().map(|f| f.diagnostic(sources, decode)).collect();
    report.faults.extend(faults);
    report
}

fn refused(step: &Step, fault: &control::Fault) -> Diagnostic {
    Diagnostic::new(&codes::REFUSED, step.span, fault.to_string()).label("the switch refuses this")
}

/// A port that is not attached hears nothing.
fn arriving<'p>(packets: &'p [Step], attached: &BTreeSet<u32>) -> Vec<Arriving<'p>> {
    let packet = |step: &'p Step| match &step.kind {
        StepKind::Packet { port, data } if attached.contains(port) => {
            Some(Arriving { port: *port, bytes: data })
        }
        _ => None,
    };
    packets.iter().filter_map(packet).collect()
}

fn remove_all(schema: &Schema, device: &mut dyn Device) -> Result<(), control::Fault> {
    let all = device.read(&Query::TableEntries(EntryQuery::default()))?;
    for entity in all {
        let Entity::TableEntry(entry) = &entity else { continue };
        let is_fixed = entry.is_const || schema.tables.get(entry.table).is_some_and(|t| t.is_const);
        if !is_fixed && !entry.is_default_action {
            device.write(&Update { kind: UpdateKind::Delete, entity })?;
        }
    }
    Ok(())
}

/// Takes the oldest digest of the kind, which must be as expected.
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
