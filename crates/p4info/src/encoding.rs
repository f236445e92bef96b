//! Text, JSON and binary forms of the two messages that a compiler writes.
//!
//! - Text is protobuf's text format, laid out as p4c lays it out, comments at
//!   the top included: p4c's files can be compared with ours by `diff`.
//! - JSON is protobuf's canonical JSON: `lowerCamelCase` names, 64-bit numbers
//!   as strings, bytes in base64. Keys are sorted.
//! - Binary is the wire format.

use std::path::Path;

use miette::Diagnostic;
use prost::{Message, Name};
use prost_reflect::{DynamicMessage, MessageDescriptor, text_format};

use crate::proto::{descriptor_pool, p4::config::v1::P4Info, p4::v1::WriteRequest};
use crate::text;

/// Encoding of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    Text,
    Json,
    Binary,
}

/// Error: the file's suffix belongs to no format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{path}`: unknown suffix; known are .txtpb and .txt (text), .json, and .bin (binary)")]
pub struct UnknownSuffix {
    pub path: String,
}

impl Format {
    /// By the suffixes that p4c knows: `.txtpb` and `.txt`, `.json`, `.bin`.
    pub fn from_path(path: &Path) -> Result<Format, UnknownSuffix> {
        match path.extension().and_then(|suffix| suffix.to_str()) {
            Some("txtpb" | "txt") => Ok(Format::Text),
            Some("json") => Ok(Format::Json),
            Some("bin") => Ok(Format::Binary),
            Some(_) | None => Err(UnknownSuffix { path: path.display().to_string() }),
        }
    }
}

/// A place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in characters.
    pub column: usize,
}

/// The bytes are not an encoding of the message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}", .position.map(|at| format!("{}:{}: ", at.line, at.column)).unwrap_or_default())]
pub struct DecodeError {
    /// Description of the error, without the position.
    pub reason: String,
    /// `None` in binary, and where the parser does not know.
    pub position: Option<Position>,
}

pub fn encode_p4info(p4info: &P4Info, format: Format) -> Vec<u8> {
    encode(p4info, format)
}

pub fn decode_p4info(bytes: &[u8], format: Format) -> Result<P4Info, DecodeError> {
    decode(bytes, format)
}

pub fn encode_write_request(request: &WriteRequest, format: Format) -> Vec<u8> {
    encode(request, format)
}

pub fn decode_write_request(bytes: &[u8], format: Format) -> Result<WriteRequest, DecodeError> {
    decode(bytes, format)
}

/// `M` must be one of our messages.
fn encode<M: Message + Name>(message: &M, format: Format) -> Vec<u8> {
    match format {
        Format::Text => {
            let dynamic = reflect(message);
            let descriptor = dynamic_descriptor::<M>();
            let mut out = format!(
                "# proto-file: {}\n# proto-message: {}\n\n",
                descriptor.parent_file().name(),
                descriptor.full_name()
            );
            text::write(&dynamic, &mut out);
            out.into_bytes()
        }
        Format::Json => {
            let mut value = serde_json::to_value(reflect(message))
                .expect("a message without map keys that are not strings is JSON");
            // The maps of a dynamic message are in no order.
            value.sort_all_objects();
            let mut out = serde_json::to_vec_pretty(&value).expect("a JSON value can be written");
            out.push(b'\n');
            out
        }
        Format::Binary => message.encode_to_vec(),
    }
}

fn decode<M: Message + Name + Default>(bytes: &[u8], format: Format) -> Result<M, DecodeError> {
    let dynamic = match format {
        Format::Text => {
            let text = std::str::from_utf8(bytes).map_err(|error| DecodeError {
                reason: "not UTF-8".to_owned(),
                position: Some(position(bytes, error.valid_up_to())),
            })?;
            DynamicMessage::parse_text_format(dynamic_descriptor::<M>(), text)
                .map_err(|error| text_error(&error, text))?
        }
        Format::Json => {
            let mut json = serde_json::Deserializer::from_slice(bytes);
            DynamicMessage::deserialize(dynamic_descriptor::<M>(), &mut json)
                .and_then(|message| json.end().map(|()| message))
                .map_err(|error| json_error(&error))?
        }
        Format::Binary => {
            return M::decode(bytes).map_err(|_| DecodeError {
                reason: format!("not a binary {}", M::full_name()),
                position: None,
            });
        }
    };
    Ok(dynamic.transcode_to().expect("the types and the descriptors come from the same definitions"))
}

pub(crate) fn dynamic_descriptor<M: Name>() -> MessageDescriptor {
    descriptor_pool().get_message_by_name(&M::full_name()).expect("the message is one of ours")
}

pub(crate) fn reflect<M: Message + Name>(message: &M) -> DynamicMessage {
    let mut dynamic = DynamicMessage::new(dynamic_descriptor::<M>());
    dynamic.transcode_from(message).expect("the types and the descriptors come from the same definitions");
    dynamic
}

fn text_error(error: &text_format::ParseError, text: &str) -> DecodeError {
    let label = error.labels().and_then(|mut labels| labels.next());
    // The one error without a label is an unexpected end.
    let offset = label.map_or(text.len(), |label| label.offset());
    DecodeError { reason: error.to_string(), position: Some(position(text.as_bytes(), offset)) }
}

fn json_error(error: &serde_json::Error) -> DecodeError {
    let position = Position { line: error.line(), column: error.column() };
    let shown = error.to_string();
    let suffix = format!(" at line {} column {}", position.line, position.column);
    DecodeError {
        reason: shown.strip_suffix(&suffix).unwrap_or(&shown).to_owned(),
        position: (position.line > 0).then_some(position),
    }
}

fn position(bytes: &[u8], offset: usize) -> Position {
    let before = &bytes[..offset];
    let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
    Position {
        line: 1 + before.iter().filter(|&&byte| byte == b'\n').count(),
        column: 1 + String::from_utf8_lossy(&before[line_start..]).chars().count(),
    }
}
