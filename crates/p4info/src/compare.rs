//! Comparison of two messages.
//!
//! Lists are ordered: `[a, b]` and `[b, a]` differ. But objects with names
//! (tables, actions, fields) are matched by name, so that one object too many
//! gives one difference instead of one for each object after it.

use std::collections::BTreeSet;
use std::fmt;

use prost_reflect::{DynamicMessage, FieldDescriptor, MapKey, ReflectMessage, Value};

use crate::encoding::reflect;
use crate::proto::{p4::config::v1::P4Info, p4::v1::WriteRequest};

/// One place where two messages differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Field names, with a name or a number (from 0) in brackets for the
    /// element of a list: `tables["MyIngress.t"].match_fields["h.x"].bitwidth`.
    pub path: String,
    /// Value in the first message.
    pub left: String,
    /// Value in the second message.
    pub right: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} versus {}", self.path, self.left, self.right)
    }
}

/// Returns the differences in the order of the fields' numbers; empty if the messages are equivalent.
pub fn compare(left: &P4Info, right: &P4Info) -> Vec<Difference> {
    let mut differences = Vec::new();
    messages("", &reflect(left), &reflect(right), &mut differences);
    differences
}

/// Like [`compare`]. Updates have no names, so they are matched by position.
pub fn compare_write_requests(left: &WriteRequest, right: &WriteRequest) -> Vec<Difference> {
    let mut differences = Vec::new();
    messages("", &reflect(left), &reflect(right), &mut differences);
    differences
}

fn messages(path: &str, left: &DynamicMessage, right: &DynamicMessage, out: &mut Vec<Difference>) {
    let mut fields: Vec<_> = left.descriptor().fields().collect();
    fields.sort_by_key(FieldDescriptor::number);
    for field in fields {
        let path = match path {
            "" => field.name().to_owned(),
            _ => format!("{path}.{}", field.name()),
        };
        // An absent message is not an empty one; an absent list is.
        match (left.has_field(&field), right.has_field(&field)) {
            (false, false) => {}
            (true, false) if field.supports_presence() => {
                out.push(Difference { path, left: show(&left.get_field(&field)), right: ABSENT.to_owned() })
            }
            (false, true) if field.supports_presence() => {
                out.push(Difference { path, left: ABSENT.to_owned(), right: show(&right.get_field(&field)) })
            }
            (true, _) | (_, true) => {
                values(&path, &left.get_field(&field), &right.get_field(&field), &field, out)
            }
        }
    }
}

/// Stands for a value that is not there.
pub const ABSENT: &str = "absent";

fn values(path: &str, left: &Value, right: &Value, field: &FieldDescriptor, out: &mut Vec<Difference>) {
    match (left, right) {
        (Value::Message(left), Value::Message(right)) => messages(path, left, right, out),
        (Value::List(left), Value::List(right)) => lists(path, left, right, field, out),
        (Value::Map(left), Value::Map(right)) => {
            let keys: BTreeSet<_> = left.keys().chain(right.keys()).map(show_key).collect();
            for key in keys {
                let get = |map: &std::collections::HashMap<MapKey, Value>| {
                    map.iter().find_map(|(k, value)| (show_key(k) == key).then(|| value.clone()))
                };
                element(&format!("{path}[{key}]"), get(left).as_ref(), get(right).as_ref(), field, out);
            }
        }
        _ if left == right => {}
        _ => out.push(Difference {
            path: path.to_owned(),
            left: show_scalar(left, field),
            right: show_scalar(right, field),
        }),
    }
}

fn lists(path: &str, left: &[Value], right: &[Value], field: &FieldDescriptor, out: &mut Vec<Difference>) {
    let (Some(left_names), Some(right_names)) = (names(left), names(right)) else {
        for index in 0..left.len().max(right.len()) {
            element(&format!("{path}[{index}]"), left.get(index), right.get(index), field, out);
        }
        return;
    };
    for (name, value) in left_names.iter().zip(left) {
        let same = right_names.iter().position(|other| other == name);
        element(&format!("{path}[{name:?}]"), Some(value), same.map(|index| &right[index]), field, out);
    }
    for (name, value) in right_names.iter().zip(right) {
        if !left_names.contains(name) {
            element(&format!("{path}[{name:?}]"), None, Some(value), field, out);
        }
    }
    let common = |names: &[String], others: &[String]| {
        let mut names = names.to_vec();
        names.retain(|name| others.contains(name));
        names
    };
    let left_order = common(&left_names, &right_names);
    let right_order = common(&right_names, &left_names);
    if left_order != right_order {
        out.push(Difference {
            path: format!("order of {path}"),
            left: left_order.join(", "),
            right: right_order.join(", "),
        });
    }
}

fn element(
    path: &str,
    left: Option<&Value>,
    right: Option<&Value>,
    field: &FieldDescriptor,
    out: &mut Vec<Difference>,
) {
    match (left, right) {
        (Some(left), Some(right)) => values(path, left, right, field, out),
        _ => out.push(Difference {
            path: path.to_owned(),
            left: left.map_or(ABSENT.to_owned(), show),
            right: right.map_or(ABSENT.to_owned(), show),
        }),
    }
}

/// The names of all elements, if each has one and no two are equal.
fn names(list: &[Value]) -> Option<Vec<String>> {
    let names: Vec<_> = list.iter().map(name).collect::<Option<_>>()?;
    let distinct: BTreeSet<_> = names.iter().collect();
    (distinct.len() == names.len()).then_some(names)
}

fn name(value: &Value) -> Option<String> {
    let message = value.as_message()?;
    let preamble = message.get_field_by_name("preamble");
    let named = preamble.as_deref().and_then(Value::as_message);
    let name = named.unwrap_or(message).get_field_by_name("name")?;
    name.as_str().filter(|name| !name.is_empty()).map(str::to_owned)
}

fn show_key(key: &MapKey) -> String {
    match key.as_str() {
        Some(key) => format!("{key:?}"),
        None => format!("{key:?}"),
    }
}

fn show_scalar(value: &Value, field: &FieldDescriptor) -> String {
    let kind = field.kind();
    match (value, kind.as_enum()) {
        (Value::EnumNumber(number), Some(descriptor)) => {
            descriptor.get_value(*number).map_or(number.to_string(), |value| value.name().to_owned())
        }
        (value, _) => show(value),
    }
}

/// Prints a value on one line, cut if it is long.
fn show(value: &Value) -> String {
    const MAX_CHARS: usize = 120;
    let shown = match value {
        Value::Message(message) => format!("{{{}}}", message.to_text_format()),
        value => value.to_string(),
    };
    match shown.char_indices().nth(MAX_CHARS) {
        Some((cut, _)) => format!("{}...", &shown[..cut]),
        None => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, decode_p4info, decode_write_request};

    fn p4info(text: &str) -> P4Info {
        decode_p4info(text.as_bytes(), Format::Text).unwrap()
    }

    fn lines(differences: &[Difference]) -> Vec<String> {
        differences.iter().map(Difference::to_string).collect()
    }

    #[test]
    fn equal_messages() {
        let a = p4info(r#"type_info { structs { key: "a" value {} } structs { key: "b" value {} } }"#);
        assert_eq!(compare(&a, &a), []);
        assert_eq!(compare(&a, &p4info("")).len(), 1);
    }

    #[test]
    fn every_kind_of_difference() {
        let left = p4info(
            r#"pkg_info { arch: "psa" }
               tables { preamble { id: 1 name: "a" } match_fields { name: "x" match_type: LPM bitwidth: 8 } }
               tables { preamble { id: 2 name: "b" } direct_resource_ids: [7, 8] }
               tables { preamble { id: 3 name: "c" } }
               type_info { error { } enums { key: "e" value { } } }"#,
        );
        let right = p4info(
            r#"tables { preamble { id: 2 name: "b" } direct_resource_ids: 7 is_const_table: true }
               tables { preamble { id: 9 name: "a" } match_fields { name: "x" match_type: EXACT bitwidth: 8 } }
               tables { preamble { id: 4 name: "d" } }
               type_info { enums { key: "f" value { members { name: "A" } } } }"#,
        );
        assert_eq!(
            lines(&compare(&left, &right)),
            [
                r#"pkg_info: {arch:"psa"} versus absent"#,
                r#"tables["a"].preamble.id: 1 versus 9"#,
                r#"tables["a"].match_fields["x"].match_type: LPM versus EXACT"#,
                r#"tables["b"].direct_resource_ids[1]: 8 versus absent"#,
                r#"tables["b"].is_const_table: false versus true"#,
                r#"tables["c"]: {preamble{id:3,name:"c"}} versus absent"#,
                r#"tables["d"]: absent versus {preamble{id:4,name:"d"}}"#,
                r"order of tables: a, b versus b, a",
                r#"type_info.enums["e"]: {} versus absent"#,
                r#"type_info.enums["f"]: absent versus {members:[{name:"A"}]}"#,
                r"type_info.error: {} versus absent",
            ]
        );
    }

    #[test]
    fn updates_go_by_position() {
        let request = |text: &str| decode_write_request(text.as_bytes(), Format::Text).unwrap();
        let differences = compare_write_requests(
            &request(r#"updates { entity { table_entry { match { exact { value: "\001" } } } } }"#),
            &request(r#"updates { entity { table_entry { match { lpm { value: "\001" } } } } }"#),
        );
        assert_eq!(
            lines(&differences),
            [
                r#"updates[0].entity.table_entry.match[0].exact: {value:"\001"} versus absent"#,
                r#"updates[0].entity.table_entry.match[0].lpm: absent versus {value:"\001"}"#,
            ]
        );
    }
}
