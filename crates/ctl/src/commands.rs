//! The command language: commands of test scripts that concern the control plane, in their short form.
//!
//! The grammar and the meaning of names and values are those of crate `stf`, so that messages point into the text that
//! the client has sent.

use crate::refusal::{Refusal, RefusalKind};
use crate::show;
use control::{Data, DigestId, Entity, Fault, Query, Target, Update};
use dataplane::{Switch, SwitchError};
use serde_json::{Value as Json, json};

/// Runs commands, one per line. The result has what commands that read have found.
pub(crate) fn run(switch: &Switch, text: &str) -> Result<Json, Refusal> {
    let schema = switch.schema().ok_or(SwitchError::NoProgram)?;
    let parsed = stf::parse_short("command", text);
    if parsed.diagnostics.has_errors() {
        return Err(Refusal::diagnosed(RefusalKind::Usage, parsed.diagnostics.iter(), &parsed.sources));
    }
    let (plan, faults) = stf::resolve(&parsed.script, &schema);
    if faults.has_errors() {
        return Err(Refusal::diagnosed(RefusalKind::Usage, faults.iter(), &parsed.sources));
    }
    let report = switch.with_target(|schema, target| {
        stf::run(&parsed.script, &plan, &parsed.sources, schema, &mut OnlyEntities(target), &|_, _| None)
    })?;
    if !report.is_success() {
        return Err(Refusal::diagnosed(RefusalKind::Refused, &report.faults, &parsed.sources));
    }
    let shown = report.shown.iter().flat_map(|(_, entities)| entities);
    Ok(json!({ "shown": shown.map(|entity| show::entity(&schema, entity)).collect::<Vec<_>>() }))
}

/// A switch of which commands only write and read entities: packets come from its ports, not from commands.
struct OnlyEntities<'a>(&'a mut dyn Target);

impl Target for OnlyEntities<'_> {
    fn write(&mut self, update: &Update) -> Result<(), Fault> {
        self.0.write(update)
    }

    fn write_many(&mut self, updates: &[&Update]) -> Vec<Result<(), Fault>> {
        self.0.write_many(updates)
    }

    fn read(&self, query: &Query) -> Result<Vec<Entity>, Fault> {
        self.0.read(query)
    }
}

impl stf::Device for OnlyEntities<'_> {
    fn receive(&mut self, _burst: &[stf::Arriving<'_>], _sent: &mut dyn FnMut(usize, u32, &[u8])) {}

    fn advance_clock(&mut self, _duration_ns: u64, _sent: &mut dyn FnMut(u32, &[u8])) {}

    fn take_digests(&mut self) -> Vec<(DigestId, Data)> {
        Vec::new()
    }
}
