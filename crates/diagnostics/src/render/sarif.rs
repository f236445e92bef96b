//! SARIF 2.1.0, the interchange format that code hosts and editors take in.
//!
//! One run with one result per diagnostic. Member names follow the OASIS standard, "Static Analysis
//! Results Interchange Format Version 2.1.0".

use crate::{Code, Diagnostic, Label, Severity, SourceMap, Span};
use serde_json::{Map, Value, json};

/// Tool that reports the diagnostics.
#[derive(Clone, Copy, Debug)]
pub struct Tool<'a> {
    pub name: &'a str,
    pub version: &'a str,
}

/// A complete SARIF log, ending in a line break.
pub fn sarif<'a>(
    diagnostics: impl IntoIterator<Item = (&'a Diagnostic, &'a SourceMap)>,
    tool: Tool<'_>,
) -> String {
    let mut rules: Vec<Code> = Vec::new();
    let mut results = Vec::new();
    for (d, sources) in diagnostics {
        let rule = rules.iter().position(|r| r.id == d.code.id).unwrap_or_else(|| {
            rules.push(d.code);
            rules.len() - 1
        });
        results.push(result(d, rule, sources));
    }
    let rules: Vec<Value> = rules
        .iter()
        .map(|code| {
            json!({
                "id": code.id,
                "name": code.name,
                "shortDescription": { "text": code.summary },
                "defaultConfiguration": { "level": level(code.default_severity) },
            })
        })
        .collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": tool.name, "version": tool.version, "rules": rules } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    let mut text = serde_json::to_string_pretty(&log).unwrap_or_default();
    text.push('\n');
    text
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

fn result(d: &Diagnostic, rule: usize, sources: &SourceMap) -> Value {
    let mut text = d.message.clone();
    for (word, lines) in [("note", &d.notes), ("help", &d.helps)] {
        for line in lines {
            text.push_str(&format!("\n{word}: {line}"));
        }
    }
    let mut result = Map::new();
    result.insert("ruleId".into(), json!(d.code.id));
    result.insert("ruleIndex".into(), json!(rule));
    result.insert("level".into(), json!(level(d.severity)));
    result.insert("message".into(), json!({ "text": text }));
    let locations: Vec<Value> = location(&d.primary, sources).into_iter().collect();
    result.insert("locations".into(), json!(locations));
    let related: Vec<Value> = d.labels.iter().filter_map(|l| location(l, sources)).collect();
    if !related.is_empty() {
        result.insert("relatedLocations".into(), json!(related));
    }
    let fixes: Vec<Value> = d
        .fixes
        .iter()
        .filter_map(|f| {
            let changes: Option<Vec<Value>> =
                f.edits.iter().map(|(span, text)| change(*span, text, sources)).collect();
            let changes = changes.filter(|c| !c.is_empty())?;
            Some(json!({ "description": { "text": f.message }, "artifactChanges": changes }))
        })
        .collect();
    if !fixes.is_empty() {
        result.insert("fixes".into(), json!(fixes));
    }
    Value::Object(result)
}

fn location(label: &Label, sources: &SourceMap) -> Option<Value> {
    let at = sources.locate(label.span)?;
    let mut location = json!({
        "physicalLocation": {
            "artifactLocation": { "uri": uri(&at.file) },
            "region": {
                "startLine": at.line.max(1),
                "startColumn": at.column.max(1),
                "endLine": at.end_line.max(1),
                "endColumn": at.end_column.max(1),
            },
        },
    });
    if !label.text.is_empty() {
        location["message"] = json!({ "text": label.text });
    }
    Some(location)
}

/// One edit. `None` for places inside macro expansions, which no editor can change.
fn change(span: Span, text: &str, sources: &SourceMap) -> Option<Value> {
    let r = sources.resolve(span)?;
    if !r.macros.is_empty() {
        return None;
    }
    let source = sources.file(r.file);
    // Regions by characters of the file itself: `#line` must not move an edit.
    let point = |offset: u32| {
        let line = source.line_index(offset);
        let start = source.line_start(line) as usize;
        let before = source.text.get(start..offset as usize).unwrap_or("");
        (line + 1, before.chars().count() + 1)
    };
    let ((line, column), (end_line, end_column)) = (point(r.lo), point(r.hi));
    Some(json!({
        "artifactLocation": { "uri": uri(&source.name) },
        "replacements": [{
            "deletedRegion": {
                "startLine": line,
                "startColumn": column,
                "endLine": end_line,
                "endColumn": end_column,
            },
            "insertedContent": { "text": text },
        }],
    }))
}

/// A path as a URI reference (RFC 3986): everything outside the unreserved characters is escaped.
fn uri(path: &str) -> String {
    let mut out = String::new();
    for b in path.bytes() {
        match b {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' | b'+' | b'@' => {
                out.push(b as char)
            }
            b'\\' => out.push('/'),
            // A colon in the first segment would read as a scheme, so it is escaped too.
            _ => out.push_str(&format!("%{b:02X}")),
        }
    }
    if path.starts_with('/') { format!("file://{out}") } else { out }
}
