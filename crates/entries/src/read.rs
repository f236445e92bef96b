//! Reading files of entries.

use crate::detect::Format;
use crate::file::{Entries, Messages, Place, at, place, refusal};
use crate::{named, runtime_json};
use control::{Schema, Target};
use diagnostics::{Diagnostic, Span};
use p4info::proto::p4::v1 as pb;
use std::sync::Arc;
use stf::{CommandKind, ExactKeys, StepKind};

/// Reads the entries of a file. `name` is for messages. Exact keys that a script leaves out are 0.
pub fn read(format: Format, name: &str, bytes: &[u8], schema: &Schema) -> Result<Entries, Messages> {
    read_with(format, name, bytes, schema, ExactKeys::ZeroIfMissing)
}

/// Does what [`read`] does, with the meaning of exact keys that a script leaves out. Other formats never leave them out.
pub fn read_with(
    format: Format,
    name: &str,
    bytes: &[u8],
    schema: &Schema,
    exact_keys: ExactKeys,
) -> Result<Entries, Messages> {
    let entries = match format {
        Format::Script | Format::Bmv2 => from_script(format, name, &text(name, bytes)?, schema, exact_keys),
        Format::RuntimeJson => runtime_json::read(name, &text(name, bytes)?, schema),
        Format::P4RuntimeText | Format::P4RuntimeJson | Format::P4RuntimeBinary => {
            from_request(format, name, bytes, schema)
        }
    }?;
    debug_assert_eq!(entries.batch.updates.len(), entries.places.len());
    if entries.messages.has_errors() { Err(entries.messages) } else { Ok(entries) }
}

/// Makes all updates that a target takes; what it refuses is reported.
pub fn apply(entries: &Entries, schema: &Schema, target: &mut dyn Target) -> Result<(), Messages> {
    let results = control::apply(schema, target, &entries.batch)
        .map_err(|fault| refusal(format!("{}: {fault}", entries.name)))?;
    let refused = results.into_iter().enumerate().filter_map(|(i, result)| Some((i, result.err()?)));
    let refused: Vec<(usize, Refusal)> = refused
        .map(|(i, fault)| {
            (i, Refusal { path: fault.path().to_owned(), problem: fault.problem().to_string() })
        })
        .collect();
    match refused.is_empty() {
        true => Ok(()),
        false => Err(refusals(entries, refused)),
    }
}

/// Why a target has refused an update.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// The field of the entity, or empty.
    pub path: String,
    pub problem: String,
}

/// The messages about updates, by their index, that a target has refused.
pub fn refusals(entries: &Entries, refused: impl IntoIterator<Item = (usize, Refusal)>) -> Messages {
    let mut messages = Messages { sources: Arc::clone(&entries.messages.sources), ..Messages::default() };
    for (i, Refusal { path, problem }) in refused {
        match entries.places.get(i) {
            Some(Place::Text(span)) => {
                messages.diagnostics.push(Diagnostic::new(&stf::codes::REFUSED, *span, problem));
            }
            Some(Place::Item { list, index, line }) => {
                let element = format!("{list}[{index}]");
                let path = if path.is_empty() { element } else { format!("{element}.{path}") };
                let place = place(&entries.name, *line);
                messages.errors.push(format!("{place}: {path}: {problem}"));
            }
            None => messages.errors.push(format!("{}: {problem}", entries.name)),
        }
    }
    let n_refused = messages.diagnostics.len() + messages.errors.len();
    let n = entries.batch.updates.len();
    messages.errors.push(format!("{}: {} of {n} updates were made", entries.name, n - n_refused.min(n)));
    messages
}

fn text(name: &str, bytes: &[u8]) -> Result<String, Messages> {
    String::from_utf8(bytes.to_vec())
        .map(|text| text.trim_start_matches('\u{feff}').to_owned())
        .map_err(|error| refusal(format!("{name}: byte {}: not UTF-8", error.utf8_error().valid_up_to())))
}

fn from_script(
    format: Format,
    name: &str,
    text: &str,
    schema: &Schema,
    exact_keys: ExactKeys,
) -> Result<Entries, Messages> {
    let parsed = match format {
        Format::Bmv2 => stf::parse_bmv2(name, text, schema),
        _ => stf::parse(name, text),
    };
    let (plan, unresolved) = stf::resolve_with(&parsed.script, schema, exact_keys);
    let mut entries = Entries { name: name.to_owned(), ..Entries::default() };
    let said = &mut entries.messages.diagnostics;
    said.extend(parsed.diagnostics.into_vec());
    said.extend(unresolved.into_vec());
    let mut left_out: Vec<Span> =
        parsed.script.commands.iter().filter(|c| is_expected(&c.kind)).map(|c| c.span).collect();
    for step in plan.steps {
        match step.kind {
            StepKind::Write(updates) => {
                entries.places.extend(updates.iter().map(|_| Place::Text(step.span)));
                entries.batch.updates.extend(updates);
            }
            StepKind::Packet { .. }
            | StepKind::AdvanceClock { .. }
            | StepKind::Port { .. }
            | StepKind::Wait
            | StepKind::Check(_)
            | StepKind::CheckTable { .. }
            | StepKind::SetProfile { .. }
            | StepKind::Show(_)
            | StepKind::ExpectDigest(_) => left_out.push(step.span),
            StepKind::RemoveAllEntries => {
                let message = "`remove all` is no entry";
                said.push(
                    Diagnostic::new(&stf::codes::UNSUPPORTED, step.span, message)
                        .label("a file of entries only adds to what the program declares"),
                );
            }
        }
    }
    if let Some(first) = left_out.iter().min_by_key(|span| span.lo) {
        let message = match left_out.len() {
            1 => "a line sends or checks packets, and is left out".to_owned(),
            n => format!("{n} lines send or check packets, and are left out"),
        };
        let diagnostic = Diagnostic::new(&stf::codes::NOT_AN_ENTRY, *first, message)
            .label("the first one")
            .help("`siding run PROGRAM SCRIPT` runs a test script with its packets");
        said.push(diagnostic);
    }
    entries.messages.sources = Arc::new(parsed.sources);
    Ok(entries)
}

/// Commands without a step in the plan, which are compared when everything is over.
fn is_expected(command: &CommandKind) -> bool {
    matches!(command, CommandKind::Expect(_) | CommandKind::NoPacket { .. })
}

fn from_request(format: Format, name: &str, bytes: &[u8], schema: &Schema) -> Result<Entries, Messages> {
    let request = named::decode(format, bytes, schema).map_err(|error| refusal(format!("{name}:{error}")))?;
    use pb::write_request::Atomicity as From;
    let mut entries = Entries { name: name.to_owned(), ..Entries::default() };
    entries.batch.atomicity = match From::try_from(request.atomicity) {
        Ok(From::ContinueOnError) => control::Atomicity::ContinueOnError,
        Ok(From::RollbackOnError) => control::Atomicity::RollbackOnError,
        Ok(From::DataplaneAtomic) => control::Atomicity::DataplaneAtomic,
        Err(_) => {
            return Err(refusal(format!("{name}: atomicity: {} is no value of it", request.atomicity)));
        }
    };
    let lines = match format {
        Format::P4RuntimeText => named::update_lines(bytes),
        _ => Vec::new(),
    };
    // A list in brackets has one field for all.
    let lines = if lines.len() == request.updates.len() { lines } else { Vec::new() };
    for (index, update) in request.updates.iter().enumerate() {
        let line = lines.get(index).copied();
        let decoded = p4runtime::decode_update(schema, update);
        let decoded = decoded.and_then(|update| control::validate(schema, &update).map(|()| update));
        match decoded {
            Ok(update) => {
                entries.batch.updates.push(update);
                entries.places.push(Place::Item { list: "updates", index, line });
            }
            Err(fault) => entries.messages.errors.push(at(name, "updates", index, line, &fault)),
        }
    }
    Ok(entries)
}
