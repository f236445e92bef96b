//! Protobuf's text format, as protobuf's C++ library prints it.
//!
//! The writer of `prost-reflect` is not used: it puts a repeated field into one
//! bracketed list, which no `diff` can read, and it prints map entries in the
//! order of a hash table, so that two runs give two files.

use std::cmp::Ordering;
use std::fmt::Write;

use prost_reflect::{DynamicMessage, Kind, MapKey, ReflectMessage, Value};

use crate::proto::descriptor_pool;

/// Appends the fields of `message`: by number, one per line, no default values.
pub(crate) fn write(message: &DynamicMessage, out: &mut String) {
    Writer { out, indent: 0 }.message(message);
}

struct Writer<'o> {
    out: &'o mut String,
    indent: usize,
}

impl Writer<'_> {
    fn message(&mut self, message: &DynamicMessage) {
        if let Some((type_url, inner)) = expand_any(message) {
            self.block(&format!("[{type_url}]"), |w| w.message(&inner));
            return;
        }
        for (field, value) in message.fields() {
            let kind = field.kind();
            match value {
                Value::List(values) => {
                    for value in values {
                        self.field(field.name(), value, &kind);
                    }
                }
                Value::Map(entries) => {
                    let entry = kind.as_message().expect("a map is a list of messages");
                    let key_kind = entry.map_entry_key_field().kind();
                    let value_kind = entry.map_entry_value_field().kind();
                    let mut entries: Vec<_> = entries.iter().collect();
                    entries.sort_by(|(a, _), (b, _)| map_key_order(a, b));
                    for (key, value) in entries {
                        self.block(field.name(), |w| {
                            w.field("key", &key.clone().into(), &key_kind);
                            w.field("value", value, &value_kind);
                        });
                    }
                }
                value => self.field(field.name(), value, &kind),
            }
        }
    }

    fn field(&mut self, name: &str, value: &Value, kind: &Kind) {
        if let Value::Message(message) = value {
            self.block(name, |w| w.message(message));
            return;
        }
        let value = match value {
            Value::Bool(value) => value.to_string(),
            Value::I32(value) => value.to_string(),
            Value::I64(value) => value.to_string(),
            Value::U32(value) => value.to_string(),
            Value::U64(value) => value.to_string(),
            Value::F32(value) => value.to_string(),
            Value::F64(value) => value.to_string(),
            Value::String(value) => quote(value.as_bytes()),
            Value::Bytes(value) => quote(value),
            Value::EnumNumber(number) => kind
                .as_enum()
                .and_then(|descriptor| descriptor.get_value(*number))
                .map_or(number.to_string(), |value| value.name().to_owned()),
            Value::Message(_) | Value::List(_) | Value::Map(_) => unreachable!("not scalar"),
        };
        self.line(&format!("{name}: {value}"));
    }

    fn block(&mut self, head: &str, body: impl FnOnce(&mut Self)) {
        self.line(&format!("{head} {{"));
        self.indent += 2;
        body(self);
        self.indent -= 2;
        self.line("}");
    }

    fn line(&mut self, line: &str) {
        writeln!(self.out, "{:indent$}{line}", "", indent = self.indent).expect("a string takes anything");
    }
}

/// The message inside a `google.protobuf.Any`, if its type is known.
fn expand_any(message: &DynamicMessage) -> Option<(String, DynamicMessage)> {
    let any: prost_types::Any = match message.descriptor().full_name() {
        "google.protobuf.Any" => message.transcode_to().ok()?,
        _ => return None,
    };
    let (_, full_name) = any.type_url.rsplit_once('/')?;
    let descriptor = descriptor_pool().get_message_by_name(full_name)?;
    let inner = DynamicMessage::decode(descriptor, any.value.as_slice()).ok()?;
    Some((any.type_url, inner))
}

fn map_key_order(a: &MapKey, b: &MapKey) -> Ordering {
    match (a.as_str(), b.as_str()) {
        (Some(a), Some(b)) => a.cmp(b),
        _ => number(a).cmp(&number(b)),
    }
}

fn number(key: &MapKey) -> i128 {
    match key {
        MapKey::Bool(key) => i128::from(*key),
        MapKey::I32(key) => i128::from(*key),
        MapKey::I64(key) => i128::from(*key),
        MapKey::U32(key) => i128::from(*key),
        MapKey::U64(key) => i128::from(*key),
        MapKey::String(_) => unreachable!("keys of one map have one type"),
    }
}

/// A string literal: ASCII, everything else as octal escapes.
fn quote(bytes: &[u8]) -> String {
    let mut literal = String::from("\"");
    for &byte in bytes {
        match byte {
            b'\n' => literal.push_str("\\n"),
            b'\r' => literal.push_str("\\r"),
            b'\t' => literal.push_str("\\t"),
            b'"' => literal.push_str("\\\""),
            b'\'' => literal.push_str("\\'"),
            b'\\' => literal.push_str("\\\\"),
            b' '..=b'~' => literal.push(char::from(byte)),
            _ => write!(literal, "\\{byte:03o}").expect("a string takes anything"),
        }
    }
    literal.push('"');
    literal
}
