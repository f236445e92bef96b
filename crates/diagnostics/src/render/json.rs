//! One JSON object per diagnostic, on one line.
//!
//! The schema only grows within a version. Byte offsets count from the start of the named file; lines and
//! columns are one-based and follow `#line`; columns count Unicode scalar values.

use crate::{Diagnostic, SourceMap, Span};
use serde::Serialize;

/// Value of the `version` member; raised when a member changes its meaning or goes away.
pub const SCHEMA_VERSION: u32 = 1;

#[derive(Serialize)]
struct JsonDiagnostic<'a> {
    version: u32,
    code: &'a str,
    name: &'a str,
    severity: &'a str,
    message: &'a str,
    primary: JsonLabel<'a>,
    labels: Vec<JsonLabel<'a>>,
    notes: &'a [String],
    helps: &'a [String],
    fixes: Vec<JsonFix<'a>>,
    macros: Vec<JsonMacro>,
    included_from: Vec<JsonPlace>,
}

#[derive(Serialize)]
struct JsonLabel<'a> {
    /// `null` for places that stand in no file.
    place: Option<JsonPlace>,
    text: &'a str,
}

#[derive(Serialize)]
struct JsonPlace {
    file: String,
    line: u32,
    column: u32,
    end_line: u32,
    end_column: u32,
    /// The file that holds the bytes; differs from `file` under `#line`.
    byte_file: String,
    byte_start: u32,
    byte_end: u32,
}

#[derive(Serialize)]
struct JsonFix<'a> {
    message: &'a str,
    edits: Vec<JsonEdit<'a>>,
}

#[derive(Serialize)]
struct JsonEdit<'a> {
    place: Option<JsonPlace>,
    replacement: &'a str,
}

#[derive(Serialize)]
struct JsonMacro {
    name: String,
    spelled_at: Option<JsonPlace>,
}

/// The diagnostic as one line of JSON, without a line break.
pub fn json(d: &Diagnostic, sources: &SourceMap) -> String {
    let resolved = sources.resolve(d.primary.span);
    let mut included_from = Vec::new();
    let mut next = resolved.as_ref().and_then(|r| sources.file(r.file).included_from);
    while let Some(span) = next {
        included_from.extend(place(span, sources));
        next = sources.resolve(span).and_then(|r| sources.file(r.file).included_from);
    }
    let label = |l: &'_ crate::Label| place(l.span, sources);
    let value = JsonDiagnostic {
        version: SCHEMA_VERSION,
        code: d.code.id,
        name: d.code.name,
        severity: d.severity.name(),
        message: &d.message,
        primary: JsonLabel { place: label(&d.primary), text: &d.primary.text },
        labels: d.labels.iter().map(|l| JsonLabel { place: label(l), text: &l.text }).collect(),
        notes: &d.notes,
        helps: &d.helps,
        fixes: d
            .fixes
            .iter()
            .map(|f| JsonFix {
                message: &f.message,
                edits: f
                    .edits
                    .iter()
                    .map(|(span, text)| JsonEdit { place: place(*span, sources), replacement: text })
                    .collect(),
            })
            .collect(),
        macros: resolved
            .into_iter()
            .flat_map(|r| r.macros)
            .map(|(name, span)| JsonMacro { name, spelled_at: place(span, sources) })
            .collect(),
        included_from,
    };
    // Only strings, numbers and lists: serialising them cannot fail.
    serde_json::to_string(&value).unwrap_or_default()
}

fn place(span: Span, sources: &SourceMap) -> Option<JsonPlace> {
    let r = sources.resolve(span)?;
    let at = sources.locate(span)?;
    Some(JsonPlace {
        file: at.file,
        line: at.line,
        column: at.column,
        end_line: at.end_line,
        end_column: at.end_column,
        byte_file: sources.file(r.file).name.clone(),
        byte_start: r.lo,
        byte_end: r.hi,
    })
}
