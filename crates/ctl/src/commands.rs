//! The command language: commands of test scripts that concern the control plane, in their short form.
//!
//! The grammar and the meaning of names and values are those of crate `stf`, so that messages point into the text that
//! the client has sent.

use crate::refusal::{Refusal, RefusalKind};
use crate::show;
use dataplane::{Switch, SwitchError};
use diagnostics::render::{self, Style};
use serde_json::{Value as Json, json};
use stf::CommandKind;

/// Runs commands, one per line. The result has what commands that read have found.
pub(crate) fn run(switch: &Switch, text: &str) -> Result<Json, Refusal> {
    let schema = switch.schema().ok_or(SwitchError::NoProgram)?;
    let parsed = stf::parse_short("command", text);
    if parsed.diagnostics.has_errors() {
        return Err(Refusal::diagnosed(RefusalKind::Usage, parsed.diagnostics.iter(), &parsed.sources));
    }
    if let Some(command) = parsed.script.commands.iter().find(|command| needs_packets(&command.kind)) {
        let text = parsed.sources.text(command.span);
        return Err(Refusal::usage(format!(
            "`{text}` is for test scripts: a running switch has its own packets and clock"
        )));
    }
    let (plan, faults) = stf::resolve(&parsed.script, &schema);
    if faults.has_errors() {
        return Err(Refusal::diagnosed(RefusalKind::Usage, faults.iter(), &parsed.sources));
    }
    let report = switch.with_target(|schema, target| {
        stf::run(&parsed.script, &plan, &parsed.sources, schema, &mut stf::ControlOnly(target), &|_, _| None)
    })?;
    if !report.is_success() {
        return Err(Refusal::diagnosed(RefusalKind::Refused, &report.faults, &parsed.sources));
    }
    let shown = report.shown.iter().flat_map(|(_, entities)| entities);
    let mut done = json!({ "shown": shown.map(|entity| show::entity(&schema, entity)).collect::<Vec<_>>() });
    let warnings: Vec<String> =
        faults.iter().map(|fault| render::human(fault, &parsed.sources, Style::default())).collect();
    if !warnings.is_empty() {
        done["warnings"] = warnings.join("\n").into();
    }
    Ok(done)
}

/// True for commands that send packets, expect them, move the clock, or ask what packets have done.
fn needs_packets(command: &CommandKind) -> bool {
    matches!(
        command,
        CommandKind::Packet { .. }
            | CommandKind::Expect(_)
            | CommandKind::NoPacket { .. }
            | CommandKind::Wait
            | CommandKind::Clock { .. }
            | CommandKind::CheckTable { .. }
            | CommandKind::TimeoutWrite { .. }
            | CommandKind::ExpectDigest { .. }
    )
}
