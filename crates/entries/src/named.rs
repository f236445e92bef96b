//! Names in P4Runtime messages.
//!
//! Protobuf's text and JSON have numbers for ids and bytes for values. Files that people write may have names and
//! readable values in their places: `table_id: "ingress.routes"`, `value: 10.0.0.0`, `"value": "10.0.0.0"`. This turns
//! one into the other, and leaves everything else to the protobuf library.

use crate::detect::Format;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use control::schema::{KeyElement, ValueForm};
use control::{ActionId, FieldId, ParamId, Schema, TableId, ValueSetId};
use ir::Bits;
use num_bigint::BigUint;
use p4info::proto::p4::v1 as pb;
use serde_json::Value as Json;

/// Reads a `WriteRequest`. The error begins with the place: `3:7: ...` or ` updates[0].entity...: ...`.
pub(crate) fn decode(format: Format, bytes: &[u8], schema: &Schema) -> Result<pb::WriteRequest, String> {
    // Editors of some systems write a byte order mark.
    let bytes = match format {
        Format::P4RuntimeText | Format::P4RuntimeJson => bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes),
        _ => bytes,
    };
    let (bytes, encoding) = match format {
        Format::P4RuntimeText => {
            let text = std::str::from_utf8(bytes).map_err(|_| " not UTF-8".to_owned())?;
            (ids_in_text(text, schema)?.into_bytes(), p4info::Format::Text)
        }
        Format::P4RuntimeJson => match serde_json::from_slice(bytes) {
            Ok(json) => {
                let json = in_json(json, &Context::default(), &mut |value, wanted| {
                    id_for_name(schema, value, wanted)
                })
                .map_err(|error| format!(" {error}"))?;
                (json.to_string().into_bytes(), p4info::Format::Json)
            }
            // The decoder says where the fault is.
            Err(_) => (bytes.to_vec(), p4info::Format::Json),
        },
        _ => (bytes.to_vec(), p4info::Format::Binary),
    };
    p4info::decode_write_request(&bytes, encoding).map_err(|error| match error.position {
        Some(_) => error.to_string(),
        None => format!(" {error}"),
    })
}

/// Writes a request; with `names`, ids are names and values are readable: [`decode`] reads both.
pub(crate) fn encode(format: Format, request: &pb::WriteRequest, schema: &Schema, names: bool) -> Vec<u8> {
    let encoded = |encoding| p4info::encode_write_request(request, encoding);
    match format {
        Format::P4RuntimeText => match String::from_utf8(encoded(p4info::Format::Text)) {
            Ok(text) if names => names_in_text(&text, schema).into_bytes(),
            Ok(text) => text.into_bytes(),
            Err(error) => error.into_bytes(),
        },
        Format::P4RuntimeJson => {
            let bytes = encoded(p4info::Format::Json);
            match serde_json::from_slice(&bytes) {
                Ok(json) if names => {
                    let named = in_json(json, &Context::default(), &mut |value, wanted| {
                        Ok(name_for_id(schema, value, wanted))
                    });
                    named.map_or(bytes, |json| format!("{json:#}\n").into_bytes())
                }
                Ok(_) | Err(_) => bytes,
            }
        }
        _ => encoded(p4info::Format::Binary),
    }
}

/// The lines, counted from 1, at which the updates of a request in protobuf's text begin.
pub(crate) fn update_lines(text: &[u8]) -> Vec<usize> {
    const FIELD: &[u8] = b"updates";
    let is_name = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let (mut lines, mut line, mut depth) = (Vec::new(), 1, 0_usize);
    let mut i = 0;
    while let Some(&byte) = text.get(i) {
        match byte {
            b'\n' => line += 1,
            b'{' | b'<' => depth += 1,
            b'}' | b'>' => depth = depth.saturating_sub(1),
            b'#' => {
                while text.get(i + 1).is_some_and(|byte| *byte != b'\n') {
                    i += 1;
                }
            }
            b'"' | b'\'' => {
                while let Some(&inner) = text.get(i + 1)
                    && inner != byte
                    && inner != b'\n'
                {
                    i += if inner == b'\\' { 2 } else { 1 };
                }
                i += 1;
            }
            _ if depth == 0
                && text[i..].starts_with(FIELD)
                && !is_name(text.get(i + FIELD.len()))
                && (i == 0 || !is_name(text.get(i - 1))) =>
            {
                lines.push(line);
            }
            _ => {}
        }
        i += 1;
    }
    lines
}

/// A field that has an id, or bytes that people write as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Table,
    Action,
    ActionProfile,
    Counter,
    Meter,
    Register,
    Digest,
    ValueSet,
    /// A key of a table, or a field of a value set.
    Key,
    Param,
    Value,
    Mask,
}

impl Field {
    /// By the name in text or in JSON.
    fn find(name: &str) -> Option<Field> {
        Some(match name {
            "table_id" | "tableId" => Field::Table,
            "action_id" | "actionId" => Field::Action,
            "action_profile_id" | "actionProfileId" => Field::ActionProfile,
            "counter_id" | "counterId" => Field::Counter,
            "meter_id" | "meterId" => Field::Meter,
            "register_id" | "registerId" => Field::Register,
            "digest_id" | "digestId" => Field::Digest,
            "value_set_id" | "valueSetId" => Field::ValueSet,
            "field_id" | "fieldId" => Field::Key,
            "param_id" | "paramId" => Field::Param,
            "value" | "low" | "high" | "bitstring" | "port" | "watch_port" | "watchPort" => Field::Value,
            "mask" => Field::Mask,
            _ => return None,
        })
    }

    fn is_id(self) -> bool {
        !matches!(self, Field::Value | Field::Mask)
    }
}

/// True for messages whose fields are no values of the program, whatever they are called: `election_id { low: 1 }`.
fn is_opaque(name: &str) -> bool {
    matches!(name, "election_id" | "electionId")
}

/// The objects that enclosing messages speak of.
#[derive(Clone, Copy, Debug, Default)]
struct Context {
    table: Option<u32>,
    value_set: Option<u32>,
    action: Option<u32>,
    key: Option<u32>,
    param: Option<u32>,
}

impl Context {
    fn set(&mut self, field: Field, id: u32) {
        match field {
            Field::Table => self.table = Some(id),
            Field::ValueSet => self.value_set = Some(id),
            Field::Action => self.action = Some(id),
            Field::Key => self.key = Some(id),
            Field::Param => self.param = Some(id),
            Field::ActionProfile
            | Field::Counter
            | Field::Meter
            | Field::Register
            | Field::Digest
            | Field::Value
            | Field::Mask => {}
        }
    }

    /// The key or parameter whose value this is.
    fn value_type(&self, schema: &Schema) -> Option<(ValueForm, String)> {
        let of_key = |key: &KeyElement| (key.value.form, key.name.to_string());
        if let Some((action, param)) = self.action.zip(self.param) {
            let param = schema.actions.get(ActionId(action))?.param(ParamId(param))?;
            return Some((param.value.form, param.name.to_string()));
        }
        let key = FieldId(self.key?);
        match (self.table, self.value_set) {
            (Some(table), _) => schema.tables.get(TableId(table))?.key(key).map(of_key),
            (None, Some(value_set)) => schema.value_sets.get(ValueSetId(value_set))?.field(key).map(of_key),
            (None, None) => None,
        }
    }
}

/// The id of an object with this name.
fn find(schema: &Schema, field: Field, name: &str, context: &Context) -> Result<u32, String> {
    let said = |fault: control::Fault| fault.to_string();
    match field {
        Field::Table => schema.tables.find(name).map(|found| found.id.0).map_err(said),
        Field::Action => match context.table.and_then(|table| schema.tables.get(TableId(table))) {
            Some(table) => table.find_action(schema, name).map(|found| found.id.0).map_err(said),
            None => schema.actions.find(name).map(|found| found.id.0).map_err(said),
        },
        Field::ActionProfile => schema.profiles.find(name).map(|found| found.id.0).map_err(said),
        Field::Counter => schema.counters.find(name).map(|found| found.id.0).map_err(said),
        Field::Meter => schema.meters.find(name).map(|found| found.id.0).map_err(said),
        Field::Register => schema.registers.find(name).map(|found| found.id.0).map_err(said),
        Field::Digest => schema.digests.find(name).map(|found| found.id.0).map_err(said),
        Field::ValueSet => schema.value_sets.find(name).map(|found| found.id.0).map_err(said),
        Field::Key => {
            let table = context.table.and_then(|id| schema.tables.get(TableId(id)));
            let value_set = context.value_set.and_then(|id| schema.value_sets.get(ValueSetId(id)));
            match (table, value_set) {
                (Some(table), _) => table.find_key(name).map(|found| found.id.0).map_err(said),
                (None, Some(set)) => set.find_field(name).map(|found| found.id.0).map_err(said),
                (None, None) => Err(format!("the key `{name}` is in no table that is known")),
            }
        }
        Field::Param => match context.action.and_then(|id| schema.actions.get(ActionId(id))) {
            Some(action) => action.find_param(name).map(|found| found.id.0).map_err(said),
            None => Err(format!("the parameter `{name}` is in no action that is known")),
        },
        Field::Value | Field::Mask => Err(format!("`{name}` is no name")),
    }
}

/// The name of an object with this id; `None` if there is none.
fn name_of(schema: &Schema, field: Field, id: u32, context: &Context) -> Option<String> {
    match field {
        Field::Key => {
            let context = Context { key: Some(id), action: None, param: None, ..*context };
            context.value_type(schema).map(|(_, name)| name)
        }
        Field::Param => Context { param: Some(id), ..*context }.value_type(schema).map(|(_, name)| name),
        Field::Value | Field::Mask => None,
        _ => schema.object(id).map(|(_, name)| name.to_owned()),
    }
}

/// A value as people write it; `None` for strings and for what is no value of the program.
fn readable(schema: &Schema, field: Field, bytes: &[u8], context: &Context) -> Option<String> {
    let (form, name) = match context.value_type(schema) {
        Some(known) => known,
        // A port has no name, and no width that matters.
        None => (ValueForm::Bits { width_bits: 8 * u32::try_from(bytes.len()).ok()? }, String::new()),
    };
    let ValueForm::Bits { width_bits } = form else { return None };
    let number = BigUint::from_bytes_be(bytes);
    if number.bits() > u64::from(width_bits) {
        return None;
    }
    let value = Bits::from_biguint(width_bits, number);
    Some(match field {
        Field::Mask => format!("{value:#x}"),
        _ => trace::format::bits(&value, &name),
    })
}

/// The shortest bytes of a number, an address or a constant, which P4Runtime takes for any width.
fn shortest_bytes(schema: &Schema, text: &str) -> Option<Vec<u8>> {
    let value = stf::parse_value(text).or_else(|| schema.find_value(text).ok().cloned());
    value.map(|value| value.to_bytes_be())
}

// JSON

/// Gives the replacement of a field's value, if there is one.
type Replace<'r> = dyn FnMut(&Json, (Field, &Context)) -> Result<Option<Json>, String> + 'r;

/// Replaces ids and values at any depth. An error begins with the path.
fn in_json(json: Json, around: &Context, replace: &mut Replace<'_>) -> Result<Json, String> {
    match json {
        Json::Array(items) => {
            let item = |(i, item)| in_json(item, around, replace).map_err(|error| format!("[{i}]{error}"));
            items.into_iter().enumerate().map(item).collect::<Result<_, _>>().map(Json::Array)
        }
        Json::Object(mut fields) => {
            let mut context = *around;
            // A table before its keys, an action before its parameters.
            for depth in [&[Field::Table, Field::ValueSet][..], &[Field::Action], &[Field::Key, Field::Param]]
            {
                for (name, value) in &mut fields {
                    let Some(field) = Field::find(name).filter(|field| depth.contains(field)) else {
                        continue;
                    };
                    let replaced = replace(value, (field, &context));
                    let replaced = replaced.map_err(|error| format!(".{name}: {error}"))?;
                    let ids = [replaced.as_ref().and_then(id_of), id_of(value)];
                    if let Some(id) = ids.into_iter().flatten().next() {
                        context.set(field, id);
                    }
                    if let Some(replaced) = replaced {
                        *value = replaced;
                    }
                }
            }
            let mut out = serde_json::Map::new();
            for (name, value) in fields {
                let at = |error: String| format!(".{name}{error}");
                let value = match Field::find(&name) {
                    Some(Field::Table | Field::ValueSet | Field::Action | Field::Key | Field::Param) => value,
                    Some(field) if !value.is_object() && !value.is_array() => {
                        let replaced =
                            replace(&value, (field, &context)).map_err(|e| at(format!(": {e}")))?;
                        replaced.unwrap_or(value)
                    }
                    None if is_opaque(&name) => value,
                    Some(_) | None => in_json(value, &context, replace).map_err(at)?,
                };
                out.insert(name, value);
            }
            Ok(Json::Object(out))
        }
        other => Ok(other),
    }
}

fn id_of(json: &Json) -> Option<u32> {
    json.as_u64().and_then(|id| u32::try_from(id).ok()).or_else(|| json.as_str()?.parse().ok())
}

fn id_for_name(
    schema: &Schema,
    value: &Json,
    (field, context): (Field, &Context),
) -> Result<Option<Json>, String> {
    match (field.is_id(), value) {
        (true, Json::String(name)) if id_of(value).is_none() => {
            find(schema, field, name, context).map(|id| Some(id.into()))
        }
        (true, _) => Ok(None),
        (false, Json::Number(number)) => {
            let bytes = number.as_u64().map(|n| BigUint::from(n).to_bytes_be());
            Ok(bytes.map(|bytes| BASE64.encode(bytes).into()))
        }
        // No base64 has a dot or a colon.
        (false, Json::String(text)) if text.contains(['.', ':']) => match shortest_bytes(schema, text) {
            Some(bytes) => Ok(Some(BASE64.encode(bytes).into())),
            None => Err(format!("`{text}` is neither base64 nor an address nor a constant")),
        },
        (false, _) => Ok(None),
    }
}

fn name_for_id(schema: &Schema, value: &Json, (field, context): (Field, &Context)) -> Option<Json> {
    if field.is_id() {
        return name_of(schema, field, id_of(value)?, context).map(Json::from);
    }
    let text = readable(schema, field, &BASE64.decode(value.as_str()?).ok()?, context)?;
    if text.contains(['.', ':']) {
        return Some(text.into());
    }
    let number = stf::parse_value(&text)?;
    u64::try_from(number).ok().map(Json::from)
}

// Text

/// A scalar of the text format that may be replaced.
#[derive(Debug)]
struct Scalar<'t> {
    field: Field,
    text: &'t str,
    /// First byte.
    at: usize,
    /// Index of the message that it is in.
    message: usize,
}

/// Every id and value of a text, and the message around each message.
struct Scanned<'t> {
    scalars: Vec<Scalar<'t>>,
    parents: Vec<usize>,
}

fn scan(text: &str) -> Scanned<'_> {
    let mut scanned = Scanned { scalars: Vec::new(), parents: vec![0] };
    // For each message whether it is opaque; the last name.
    let (mut opaque, mut last_name) = (vec![false], "");
    let (mut at, mut message) = (0, 0);
    // Behind a name and its colon: the field, if it is one of ours.
    let mut value_of: Option<Option<Field>> = None;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let until = |wanted: fn(char) -> bool| rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        let is_scalar_start = c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+' | '.');
        let len = match c {
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '{' | '<' => {
                scanned.parents.push(message);
                opaque.push(opaque[message] || is_opaque(last_name));
                message = scanned.parents.len() - 1;
                value_of = None;
                1
            }
            '}' | '>' => {
                message = scanned.parents[message];
                1
            }
            '"' | '\'' => string_len(rest, c),
            c if is_scalar_start || (c == ':' && value_of.is_some()) => match value_of {
                Some(_) => until(is_scalar),
                None => until(|c| is_scalar(c) && c != ':'),
            },
            c => c.len_utf8(),
        };
        if is_scalar_start || matches!(c, '"' | '\'' | ':') {
            let behind = &rest[len..];
            let colon = behind.find(|c: char| !c.is_whitespace()).filter(|i| behind[*i..].starts_with(':'));
            match (value_of.take(), colon) {
                (Some(Some(field)), _) if !opaque[message] => {
                    scanned.scalars.push(Scalar { field, text: &rest[..len], at, message });
                }
                (None, Some(colon)) if is_scalar_start => {
                    last_name = &rest[..len];
                    value_of = Some(Field::find(&rest[..len]));
                    at += colon + 1;
                }
                (None, None) if is_scalar_start => last_name = &rest[..len],
                _ => {}
            }
        }
        at += len;
    }
    scanned
}

/// Letters of names, numbers and addresses.
fn is_scalar(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '+' | ':')
}

/// The length of a quoted string, to the end of the line if it does not end.
fn string_len(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (i, c) in text.char_indices().skip(1) {
        match c {
            '\n' => return i,
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            c if c == quote => return i + 1,
            _ => {}
        }
    }
    text.len()
}

/// Reads the id of a scalar, given what is around it.
type ReadId<'r> = dyn FnMut(&Scalar<'_>, &Context) -> Result<Option<u32>, String> + 'r;

impl Scanned<'_> {
    /// For each message the objects that it and those around it speak of; `id` reads a scalar.
    fn contexts(&self, id: &mut ReadId<'_>) -> Result<Vec<Context>, String> {
        let mut own: Vec<Vec<&Scalar<'_>>> = self.parents.iter().map(|_| Vec::new()).collect();
        for scalar in self.scalars.iter().filter(|scalar| scalar.field.is_id()) {
            own[scalar.message].push(scalar);
        }
        let mut contexts: Vec<Context> = Vec::with_capacity(self.parents.len());
        for (message, scalars) in own.iter_mut().enumerate() {
            // Messages come behind those around them.
            let mut context = contexts.get(self.parents[message]).copied().unwrap_or_default();
            // A table before its actions, these before their parameters.
            scalars.sort_by_key(|scalar| match scalar.field {
                Field::Table | Field::ValueSet => 0,
                Field::Action => 1,
                _ => 2,
            });
            for scalar in scalars.iter() {
                if let Some(id) = id(scalar, &context)? {
                    context.set(scalar.field, id);
                }
            }
            contexts.push(context);
        }
        Ok(contexts)
    }
}

/// The text without the quotes, if it is quoted.
fn unquoted(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|c| *c == '"' || *c == '\'')?;
    text[1..].strip_suffix(quote)
}

fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn line_and_column(text: &str, at: usize) -> String {
    let before = &text[..at];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    format!("{}:{}", before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// Text with ids for names and bytes for readable values. What is replaced keeps its width where it can, so that places in
/// later messages are right.
fn ids_in_text(text: &str, schema: &Schema) -> Result<String, String> {
    let scanned = scan(text);
    let mut found: Vec<(usize, usize, String)> = Vec::new();
    scanned.contexts(&mut |scalar, context| {
        let Some(name) = unquoted(scalar.text) else { return Ok(number(scalar.text)) };
        let id = find(schema, scalar.field, name, context)
            .map_err(|error| format!("{}: {error}", line_and_column(text, scalar.at)))?;
        found.push((scalar.at, scalar.text.len(), format!("{id:<n$}", n = scalar.text.len())));
        Ok(Some(id))
    })?;
    for scalar in scanned.scalars.iter().filter(|scalar| !scalar.field.is_id()) {
        if unquoted(scalar.text).is_some() || scalar.text.starts_with(['"', '\'']) {
            continue;
        }
        let Some(bytes) = shortest_bytes(schema, scalar.text) else {
            let place = line_and_column(text, scalar.at);
            return Err(format!(
                "{place}: `{}` is neither a number nor an address nor a constant",
                scalar.text
            ));
        };
        let escaped: String = bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect();
        found.push((scalar.at, scalar.text.len(), format!("\"{escaped}\"")));
    }
    Ok(with_replaced(text, found))
}

/// Text with names for ids and readable values for bytes.
fn names_in_text(text: &str, schema: &Schema) -> String {
    let scanned = scan(text);
    let mut found: Vec<(usize, usize, String)> = Vec::new();
    let contexts = scanned.contexts(&mut |scalar, context| {
        let id = number(scalar.text);
        if let Some(name) = id.and_then(|id| name_of(schema, scalar.field, id, context)) {
            found.push((scalar.at, scalar.text.len(), format!("\"{name}\"")));
        }
        Ok(id)
    });
    for scalar in scanned.scalars.iter().filter(|scalar| !scalar.field.is_id()) {
        let context = contexts.as_ref().ok().and_then(|contexts| contexts.get(scalar.message));
        let bytes = unquoted(scalar.text).and_then(unescaped);
        let value =
            context.zip(bytes).and_then(|(context, bytes)| readable(schema, scalar.field, &bytes, context));
        found.extend(value.map(|value| (scalar.at, scalar.text.len(), value)));
    }
    with_replaced(text, found)
}

/// `found` has the first byte, the length and what stands there instead.
fn with_replaced(text: &str, mut found: Vec<(usize, usize, String)>) -> String {
    found.sort_unstable();
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for (start, len, instead) in found {
        out.push_str(&text[at..start]);
        out.push_str(&instead);
        at = start + len;
    }
    out.push_str(&text[at..]);
    out
}

/// The bytes of a string of the text format; `None` for escapes that it does not have.
fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next()? {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'a' => 7,
            b'b' => 8,
            b'f' => 12,
            b'v' => 11,
            b'x' => {
                let mut value = 0;
                let mut n_digits = 0;
                while let Some(digit) =
                    rest.peek().and_then(|b| char::from(*b).to_digit(16)).filter(|_| n_digits < 2)
                {
                    value = value * 16 + digit;
                    n_digits += 1;
                    rest.next();
                }
                u8::try_from(value).ok()?
            }
            digit @ b'0'..=b'7' => {
                let mut value = u32::from(digit - b'0');
                for _ in 0..2 {
                    let Some(digit) = rest.peek().and_then(|b| char::from(*b).to_digit(8)) else { break };
                    value = value * 8 + digit;
                    rest.next();
                }
                u8::try_from(value).ok()?
            }
            other => other,
        });
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    #[test]
    fn updates_begin_at_lines() {
        let text = "# updates {\ndevice_id: 1\nupdates {\n  type: INSERT\n  entity { updates: \"}\" }\n}\nupdates:{}updates {}\n";
        assert_eq!(super::update_lines(text.as_bytes()), [3, 7, 7]);
        assert!(super::update_lines(b"\"\\").is_empty());
    }

    use super::*;

    #[test]
    fn scalars_are_found_with_their_messages() {
        let text = "updates { entity { table_entry { table_id: \"a.t\" # table_id: 9\n match { field_id: 1 \
                    exact { value: 10.0.0.1 } } } } }\nvalue:2001:db8::1 mask : ::";
        let found: Vec<(Field, &str, usize)> =
            scan(text).scalars.iter().map(|s| (s.field, s.text, s.message)).collect();
        assert_eq!(
            found,
            [
                (Field::Table, "\"a.t\"", 3),
                (Field::Key, "1", 4),
                (Field::Value, "10.0.0.1", 5),
                (Field::Value, "2001:db8::1", 0),
                (Field::Mask, "::", 0),
            ]
        );
    }

    #[test]
    fn escapes_are_those_of_the_text_format() {
        assert_eq!(unescaped(r#"\n\000\x0a1\"\377"#), Some(vec![10, 0, 10, b'1', b'"', 255]));
        assert_eq!(unescaped(r"\400"), None);
        assert_eq!(unescaped("\\"), None);
        assert_eq!(string_len(r#""a\"b" c"#, '"'), 6);
        assert_eq!(string_len("\"open\nx", '"'), 5);
    }
}
