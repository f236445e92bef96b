//! `sX-runtime.json` of the P4 tutorials: what their controller writes when a switch starts.
//!
//! An object with `table_entries`, `multicast_group_entries` and `clone_session_entries`; `target`, `p4info` and `bmv2_json`
//! name files and are not looked at. Objects have names. A value is a number, or a string with an address or a number; a
//! prefix, a mask and a range are pairs: `["10.0.0.0", 8]`.

use crate::file::{Entries, Messages, Place, Written, refusal};
use crate::words;
use control::schema::{self, ValueForm};
use control::{
    Action, CloneSession, CloneSessionId, Entity, FieldMatch, Match, MatchKind, MulticastGroup,
    MulticastGroupId, Param, Port, Replica, Schema, TableAction, TableEntry, Update, UpdateKind, Value,
};
use ir::Bits;
use num_bigint::BigUint;
use serde_json::{Map, Value as Json, json};
use trace::format;

const TABLES: &str = "table_entries";
const GROUPS: &str = "multicast_group_entries";
const SESSIONS: &str = "clone_session_entries";
/// Members that say where other files are.
const NOT_ENTRIES: &[&str] = &["target", "p4info", "bmv2_json"];

/// Reads an element of a list.
type ReadItem = fn(&Schema, &Json, &mut Warnings) -> Result<Update>;

/// Warnings about an item, each with its path below the item.
type Warnings = Vec<(String, String)>;

type Result<T> = std::result::Result<T, Fault>;

/// A fault and its path below the item.
struct Fault {
    path: String,
    reason: String,
}

fn fault<T>(reason: impl Into<String>) -> Result<T> {
    Err(Fault { path: String::new(), reason: reason.into() })
}

impl From<control::Fault> for Fault {
    fn from(fault: control::Fault) -> Fault {
        let known = match fault.problem() {
            control::Problem::UnknownName { suggestion: None, known, .. } if !known.is_empty() => {
                format!("; known are {}", known.join(", "))
            }
            _ => String::new(),
        };
        Fault { path: String::new(), reason: format!("{}{known}", fault.problem()) }
    }
}

/// Adds a step to the path of a fault on its way out.
trait In {
    fn within(self, step: &str) -> Self;
}

impl<T> In for Result<T> {
    fn within(self, step: &str) -> Self {
        self.map_err(|fault| Fault { path: format!("{step}{}", fault.path), ..fault })
    }
}

pub(crate) fn read(name: &str, text: &str, schema: &Schema) -> std::result::Result<Entries, Messages> {
    let json: Json = serde_json::from_str(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let shown = error.to_string();
        let reason = shown.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&shown);
        refusal(format!("{name}:{line}:{column}: {reason}"))
    })?;
    let Json::Object(members) = json else {
        return Err(refusal(format!("{name}: expected an object with `{TABLES}`")));
    };
    let mut entries = Entries { name: name.to_owned(), ..Entries::default() };
    let Messages { errors, warnings, .. } = &mut entries.messages;
    let lists: [(&'static str, ReadItem); 3] = [(TABLES, table_entry), (GROUPS, group), (SESSIONS, session)];
    for name_of in members.keys() {
        let is_known =
            NOT_ENTRIES.contains(&name_of.as_str()) || lists.iter().any(|(list, _)| list == name_of);
        if !is_known {
            errors.push(format!(
                "{name}: `{name_of}` is unknown; entries stand in `{TABLES}`, `{GROUPS}` and `{SESSIONS}`"
            ));
        }
    }
    for (list, read) in lists {
        let Some(items) = members.get(list) else { continue };
        let Json::Array(items) = items else {
            errors.push(format!("{name}: {list}: expected a list"));
            continue;
        };
        for (index, item) in items.iter().enumerate() {
            let mut said = Warnings::new();
            let update = read(schema, item, &mut said);
            let place = format!("{name}: {list}[{index}]");
            warnings.extend(said.into_iter().map(|(path, text)| format!("{place}{path}: {text}")));
            match update {
                Ok(update) => {
                    entries.batch.updates.push(update);
                    entries.places.push(Place::Item { list, index, line: None });
                }
                Err(Fault { path, reason }) => {
                    errors.push(format!("{place}{path}: {reason}"));
                }
            }
        }
    }
    Ok(entries)
}

fn update(schema: &Schema, kind: UpdateKind, entity: Entity) -> Result<Update> {
    let update = Update { kind, entity };
    control::validate(schema, &update)?;
    Ok(update)
}

/// The members of an object, all of which must be known.
fn members<'j>(json: &'j Json, known: &[&str]) -> Result<&'j Map<String, Json>> {
    let Some(members) = json.as_object() else { return fault("expected an object") };
    for name in members.keys() {
        if !known.contains(&name.as_str()) {
            return fault(format!("`{name}` is unknown; known are {}", known.join(", ")));
        }
    }
    Ok(members)
}

fn string<'j>(members: &'j Map<String, Json>, name: &str) -> Result<Option<&'j str>> {
    match members.get(name) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(text)) => Ok(Some(text)),
        Some(_) => fault("expected a string").within(&format!(".{name}")),
    }
}

fn integer<T: TryFrom<u64>>(members: &Map<String, Json>, name: &str) -> Result<Option<T>> {
    let Some(found) = members.get(name).filter(|found| !found.is_null()) else { return Ok(None) };
    let number = number(&Schema::default(), found, 64).and_then(|number| {
        match u64::try_from(number).map(T::try_from) {
            Ok(Ok(number)) => Ok(number),
            Ok(Err(_)) | Err(_) => fault("too large"),
        }
    });
    number.map(Some).within(&format!(".{name}"))
}

/// A number, or an address, a number or a constant in a string; a negative one in two's complement.
fn number(schema: &Schema, json: &Json, width_bits: u32) -> Result<BigUint> {
    match json {
        Json::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(n), _) => Ok(n.into()),
            (None, Some(n)) => {
                let size = BigUint::from(1u8) << width_bits;
                let magnitude = BigUint::from(n.unsigned_abs());
                if magnitude.clone() * 2u8 > size {
                    fault(format!("{n} does not fit into {width_bits} bits"))
                } else {
                    Ok(size - magnitude)
                }
            }
            (None, None) => fault(format!("{number} is no whole number of 64 bits; write it as a string")),
        },
        Json::Bool(truth) => Ok(u8::from(*truth).into()),
        Json::String(text) => match stf::parse_value(text) {
            Some(number) => Ok(number),
            None => match schema.find_value(text) {
                Ok(value) => Ok(value.clone()),
                Err(_) => fault(format!("`{text}` is neither a number nor an address nor a constant")),
            },
        },
        Json::Array(items) if items.len() == 1 => number(schema, &items[0], width_bits),
        Json::Null | Json::Array(_) | Json::Object(_) => fault("expected a number or a string"),
    }
}

fn bits(schema: &Schema, json: &Json, width_bits: u32) -> Result<Bits> {
    let value = number(schema, json, width_bits)?;
    if value.bits() > u64::from(width_bits) {
        return fault(format!("{value:#x} does not fit into {width_bits} bits"));
    }
    Ok(Bits::from_biguint(width_bits, value))
}

fn value(schema: &Schema, json: &Json, of: &schema::ValueType) -> Result<Value> {
    match (of.form, json) {
        (ValueForm::Bits { width_bits }, _) => bits(schema, json, width_bits).map(Value::Bits),
        (ValueForm::Text, Json::String(text)) => Ok(Value::Text(text.as_str().into())),
        (ValueForm::Text, _) => fault("expected a string"),
        (ValueForm::None, _) => fault("has a type that no control plane can write"),
    }
}

fn pair<'j>(json: &'j Json, what: &str) -> Result<[&'j Json; 2]> {
    match json.as_array().map(Vec::as_slice) {
        Some([first, second]) => Ok([first, second]),
        _ => fault(format!("expected {what}")),
    }
}

/// The match of one key; `None` for anything.
fn key_match(
    schema: &Schema,
    key: &schema::KeyElement,
    json: &Json,
    warnings: &mut Vec<String>,
) -> Result<Option<Match>> {
    // The tutorials' controller leaves it to the switch to clear bits that do not count.
    let mut cleared = |value: Bits, mask: &Bits| {
        let compared = value.and(mask);
        if compared != value {
            let shown = format::bits(&compared, &key.name);
            warnings.push(format!("bits outside of the prefix or mask are cleared: {shown} is compared"));
        }
        compared
    };
    let width_bits = key.value.width_bits();
    Ok(match &key.match_kind {
        MatchKind::Exact => Some(Match::Exact(value(schema, json, &key.value)?)),
        MatchKind::Optional if json.is_null() => None,
        MatchKind::Optional => Some(Match::Optional(value(schema, json, &key.value)?)),
        MatchKind::Lpm => {
            let [address, length] = pair(json, "a value and the length of the prefix: [\"10.0.0.0\", 8]")?;
            let Some(prefix_len) =
                length.as_u64().and_then(|n| u32::try_from(n).ok()).filter(|n| *n <= width_bits)
            else {
                return fault(format!("the length of a prefix is 0 to {width_bits}")).within("[1]");
            };
            let value = bits(schema, address, width_bits).within("[0]")?;
            let value = cleared(value, &Bits::prefix_mask(width_bits, prefix_len));
            (prefix_len > 0).then_some(Match::Lpm { value, prefix_len })
        }
        MatchKind::Ternary => {
            let [value, mask] = pair(json, "a value and a mask: [\"0x0800\", \"0xff00\"]")?;
            let mask = bits(schema, mask, width_bits).within("[1]")?;
            let value = cleared(bits(schema, value, width_bits).within("[0]")?, &mask);
            (!mask.is_zero()).then_some(Match::Ternary { value, mask })
        }
        MatchKind::Range => {
            let [low, high] = pair(json, "the two ends of a range: [1, 9]")?;
            let (low, high) =
                (bits(schema, low, width_bits).within("[0]")?, bits(schema, high, width_bits).within("[1]")?);
            let is_all = low.is_zero() && high == Bits::ones(width_bits);
            (!is_all).then_some(Match::Range { low, high })
        }
        MatchKind::Other(kind) => return fault(format!("the match kind {kind} is not supported")),
    })
}

fn table_entry(schema: &Schema, json: &Json, warnings: &mut Warnings) -> Result<Update> {
    let known =
        ["table", "match", "priority", "default_action", "action_name", "action_params", "idle_timeout_ns"];
    let members = members(json, &known)?;
    let Some(name) = string(members, "table")? else { return fault("the name of its `table` is missing") };
    let table = schema.tables.find(name).map_err(Fault::from).within(".table")?;
    let is_default = match members.get("default_action") {
        None | Some(Json::Null) => false,
        Some(Json::Bool(truth)) => *truth,
        Some(_) => return fault("expected true or false").within(".default_action"),
    };
    let mut matches = Vec::new();
    match members.get("match") {
        None | Some(Json::Null) => {}
        Some(Json::Object(keys)) => {
            for (name, wanted) in keys {
                let step = format!(".match.{name}");
                let key = table.find_key(name).map_err(Fault::from).within(&step)?;
                let mut said = Vec::new();
                let value = key_match(schema, key, wanted, &mut said).within(&step)?;
                warnings.extend(said.into_iter().map(|text| (step.clone(), text)));
                matches.extend(value.map(|value| FieldMatch { field: key.id, value }));
            }
        }
        Some(_) => return fault("expected an object with the keys by name").within(".match"),
    }
    let priority = integer::<i32>(members, "priority")?.unwrap_or(0);
    // The tutorials' files have priorities for tables that need none.
    let priority = if table.needs_priority() && !is_default { priority } else { 0 };
    let action = match string(members, "action_name")? {
        None => None,
        Some(name) => {
            let action = table.find_action(schema, name).map_err(Fault::from).within(".action_name")?;
            Some(TableAction::Action(action_of(schema, action, members.get("action_params"))?))
        }
    };
    let entry = TableEntry {
        action,
        is_default_action: is_default,
        idle_timeout_ns: integer::<i64>(members, "idle_timeout_ns")?.unwrap_or(0),
        ..TableEntry::new(table.id, matches, priority)
    };
    let kind = if is_default { UpdateKind::Modify } else { UpdateKind::Insert };
    update(schema, kind, Entity::TableEntry(entry))
}

fn action_of(schema: &Schema, action: &schema::Action, json: Option<&Json>) -> Result<Action> {
    let mut params = Vec::new();
    match json {
        None | Some(Json::Null) => {}
        Some(Json::Object(given)) => {
            for (name, given) in given {
                let step = format!(".action_params.{name}");
                let param = action.find_param(name).map_err(Fault::from).within(&step)?;
                params.push(Param { id: param.id, value: value(schema, given, &param.value).within(&step)? });
            }
        }
        Some(_) => return fault("expected an object with the parameters by name").within(".action_params"),
    }
    let missing = action.params.iter().find(|param| params.iter().all(|given| given.id != param.id));
    if let Some(missing) = missing {
        let reason = format!("action `{}` lacks the parameter `{}`", action.names.name, missing.name);
        return fault(reason).within(".action_params");
    }
    Ok(Action { id: action.id, params })
}

fn replicas(members: &Map<String, Json>) -> Result<Vec<Replica>> {
    let replica = |(i, json): (usize, &Json)| {
        let read = || {
            let members = self::members(json, &["egress_port", "instance"])?;
            let Some(port) = integer::<u64>(members, "egress_port")? else {
                return fault("`egress_port` is missing");
            };
            let instance = integer(members, "instance")?.unwrap_or(0);
            Ok(Replica { egress_port: Port::number(port), instance, backups: Vec::new() })
        };
        read().within(&format!(".replicas[{i}]"))
    };
    match members.get("replicas") {
        None | Some(Json::Null) => Ok(Vec::new()),
        Some(Json::Array(items)) => items.iter().enumerate().map(replica).collect(),
        Some(_) => fault("expected a list").within(".replicas"),
    }
}

fn group(schema: &Schema, json: &Json, _: &mut Warnings) -> Result<Update> {
    let members = members(json, &["multicast_group_id", "replicas"])?;
    let Some(id) = integer(members, "multicast_group_id")? else {
        return fault("`multicast_group_id` is missing");
    };
    let group =
        MulticastGroup { group: MulticastGroupId(id), replicas: replicas(members)?, metadata: Vec::new() };
    update(schema, UpdateKind::Insert, Entity::MulticastGroup(group))
}

fn session(schema: &Schema, json: &Json, _: &mut Warnings) -> Result<Update> {
    let known = ["clone_session_id", "replicas", "packet_length_bytes", "class_of_service"];
    let members = members(json, &known)?;
    let Some(id) = integer(members, "clone_session_id")? else {
        return fault("`clone_session_id` is missing");
    };
    let session = CloneSession {
        session: CloneSessionId(id),
        replicas: replicas(members)?,
        class_of_service: integer(members, "class_of_service")?.unwrap_or(0),
        packet_length_bytes: integer(members, "packet_length_bytes")?.unwrap_or(0),
    };
    update(schema, UpdateKind::Insert, Entity::CloneSession(session))
}

/// A value for people: an address as a string, a number as a number where JSON has one.
fn shown(value: &Value, name: &str) -> Json {
    let text = match value {
        Value::Text(text) => return text.as_str().into(),
        Value::Bits(_) => words::value(value, name),
    };
    match stf::parse_value(&text).map(u64::try_from) {
        Some(Ok(number)) if !text.contains(['.', ':']) && !text.starts_with("0x") => number.into(),
        _ => text.into(),
    }
}

fn shown_bits(value: &Bits, name: &str) -> Json {
    shown(&Value::Bits(value.clone()), name)
}

pub(crate) fn write(updates: &[Update], schema: &Schema) -> Written {
    let (mut tables, mut groups, mut sessions) = (Vec::new(), Vec::new(), Vec::new());
    let mut left_out = Vec::new();
    for update in updates {
        let mut lacks = |what: &str| left_out.push(format!("{}: {what}", schema.describe(&update.entity)));
        let is_insert = update.kind == UpdateKind::Insert;
        match &update.entity {
            Entity::TableEntry(of)
                if is_insert != of.is_default_action && update.kind != UpdateKind::Delete =>
            {
                match table_entry_json(of, schema) {
                    Some(json) => tables.push(json),
                    None => lacks("the format has actions only, no members and no groups"),
                }
                if of.meter_config.is_some() || of.counter_data.is_some() || !of.metadata.is_empty() {
                    lacks("the format has no meters, counters and metadata of entries");
                }
            }
            // A group that is made in steps has the ports of the last one.
            Entity::MulticastGroup(of) if update.kind != UpdateKind::Delete => {
                lacks_of_replicas(&of.replicas, &mut lacks);
                if !of.metadata.is_empty() {
                    lacks("the format has no metadata of groups");
                }
                let group =
                    json!({ "multicast_group_id": of.group.0, "replicas": replicas_json(&of.replicas) });
                match groups.iter_mut().find(|known: &&mut Json| known["multicast_group_id"] == of.group.0) {
                    Some(known) => *known = group,
                    None => groups.push(group),
                }
            }
            Entity::CloneSession(of) if is_insert => {
                lacks_of_replicas(&of.replicas, &mut lacks);
                let mut session =
                    json!({ "clone_session_id": of.session.0, "replicas": replicas_json(&of.replicas) });
                if of.packet_length_bytes != 0 {
                    session["packet_length_bytes"] = of.packet_length_bytes.into();
                }
                if of.class_of_service != 0 {
                    session["class_of_service"] = of.class_of_service.into();
                }
                sessions.push(session);
            }
            _ => lacks(&format!("the format has no {} of it", update.kind.name())),
        }
    }
    let mut json = json!({ "target": "bmv2", TABLES: tables });
    if !groups.is_empty() {
        json[GROUPS] = groups.into();
    }
    if !sessions.is_empty() {
        json[SESSIONS] = sessions.into();
    }
    Written { bytes: format!("{json:#}\n").into_bytes(), left_out }
}

fn table_entry_json(of: &TableEntry, schema: &Schema) -> Option<Json> {
    let table = schema.tables.get(of.table)?;
    let mut json = json!({ "table": table.names.name.as_str() });
    if of.is_default_action {
        json["default_action"] = true.into();
    } else {
        let mut matches = Map::new();
        for field in &of.matches {
            let key = table.key(field.field)?;
            let name = key.name.as_str();
            let wanted = match &field.value {
                Match::Exact(v) | Match::Optional(v) => shown(v, name),
                Match::Lpm { value, prefix_len } => json!([shown_bits(value, name), prefix_len]),
                Match::Ternary { value, mask } => json!([shown_bits(value, name), format!("{mask:#x}")]),
                Match::Range { low, high } => json!([shown_bits(low, name), shown_bits(high, name)]),
            };
            matches.insert(name.to_owned(), wanted);
        }
        json["match"] = matches.into();
    }
    if of.priority != 0 {
        json["priority"] = of.priority.into();
    }
    if of.idle_timeout_ns != 0 {
        json["idle_timeout_ns"] = of.idle_timeout_ns.into();
    }
    match &of.action {
        None => {}
        Some(TableAction::Action(called)) => {
            let action = schema.actions.get(called.id)?;
            let params = called.params.iter().filter_map(|given| {
                let param = action.param(given.id)?;
                Some((param.name.to_string(), shown(&given.value, &param.name)))
            });
            json["action_name"] = action.names.name.as_str().into();
            json["action_params"] = params.collect::<Map<_, _>>().into();
        }
        Some(TableAction::Member(_) | TableAction::Group(_) | TableAction::OneShot(_)) => return None,
    }
    Some(json)
}

fn lacks_of_replicas(replicas: &[Replica], lacks: &mut dyn FnMut(&str)) {
    if replicas.iter().any(|replica| !replica.backups.is_empty()) {
        lacks("the format has no backups of replicas");
    }
    if replicas.iter().any(|replica| replica.egress_port.to_number().is_none()) {
        lacks("the format has no ports of more than 64 bits");
    }
}

fn replicas_json(replicas: &[Replica]) -> Json {
    let replica = |replica: &Replica| {
        let port = replica.egress_port.to_number();
        json!({ "egress_port": port, "instance": replica.instance })
    };
    replicas.iter().map(replica).collect()
}
