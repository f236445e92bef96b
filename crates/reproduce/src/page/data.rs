//! The JSON of commands as tables: a table for each list of objects.

use super::html;
use crate::json::short;
use serde_json::{Map, Value};

/// Rows that the page shows; the others are in the JSON that it has as well.
const ROWS_MAX: usize = 200;
/// Columns in this order come first; others follow by name.
const FIRST: [&str; 16] = [
    "peer",
    "program",
    "transport",
    "table",
    "component",
    "work",
    "series",
    "phase",
    "path",
    "way",
    "name",
    "share",
    "burst",
    "batch",
    "size",
    "entries",
];
/// Keys that are the same in all lines, or that no reader compares.
const HIDDEN: [&str; 7] = ["version", "unit", "runs", "tsc_ghz", "goals", "capacity", "difference"];

/// All tables of an output.
pub fn tables(value: &Value) -> String {
    let mut out = String::new();
    for (key, list) in value.as_object().into_iter().flatten() {
        let Some(list) = list.as_array().filter(|_| key != "goals") else { continue };
        let rows: Vec<Map<String, Value>> = list.iter().filter_map(Value::as_object).map(flat).collect();
        if rows.is_empty() {
            continue;
        }
        let columns = columns(&rows);
        if columns.is_empty() {
            continue;
        }
        let mut cells = vec![columns.iter().map(|column| column.replace('_', " ")).collect::<Vec<_>>()];
        let row = |row: &Map<String, Value>| {
            columns.iter().map(|column| row.get(column).map_or(String::new(), cell)).collect()
        };
        cells.extend(rows.iter().take(ROWS_MAX).map(row));
        out += &html::table(key, &cells);
        if rows.len() > ROWS_MAX {
            out += &format!("<p>{} further rows are in the JSON.</p>\n", rows.len() - ROWS_MAX);
        }
    }
    out
}

/// An object whose inner objects are written out as `outer.inner`.
fn flat(object: &Map<String, Value>) -> Map<String, Value> {
    let mut out = Map::new();
    for (key, value) in object {
        match value {
            Value::Object(inner) => {
                for (name, value) in flat(inner) {
                    out.insert(format!("{key}.{name}"), value);
                }
            }
            // Long lists have no place in a cell.
            Value::Array(_) => {}
            value => {
                out.insert(key.clone(), value.clone());
            }
        }
    }
    out
}

fn columns(rows: &[Map<String, Value>]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for row in rows {
        for key in row.keys().filter(|key| !HIDDEN.contains(&key.as_str())) {
            if !all.contains(key) {
                all.push(key.clone());
            }
        }
    }
    let rank = |name: &String| FIRST.iter().position(|first| first == name).unwrap_or(FIRST.len());
    all.sort_by(|one, other| rank(one).cmp(&rank(other)).then_with(|| one.cmp(other)));
    all
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(value) => if *value { "yes" } else { "no" }.to_owned(),
        Value::Number(number) => match (number.as_u64(), number.as_f64()) {
            (Some(whole), _) => short_whole(whole),
            (None, Some(number)) => short(number),
            (None, None) => number.to_string(),
        },
        Value::String(text) => text.clone(),
        Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// All digits: sizes and counts are exact.
fn short_whole(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) && digits.len() > 4 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_of_objects_become_tables() {
        let value = json!({
            "goals": [{"name": "g"}], "ratios": [1, 2], "text": "x",
            "lines": [
                {"size": 1_167_053, "peer": "<a>", "mpps": 1.2345, "ns": [1, 2], "unit": "packet"},
                {"size": 10, "point": {"alpha": 0.5, "ok": true}}
            ],
        });
        let tables = tables(&value);
        assert_eq!(tables.matches("<table>").count(), 1, "{tables}");
        for text in ["&lt;a&gt;", ">1,167,053<", ">1.23<", "point.alpha", ">yes<", "<caption>lines"] {
            assert!(tables.contains(text), "{text}: {tables}");
        }
        assert!(!tables.contains("unit") && !tables.contains(">ns<"), "{tables}");
        let peer = tables.find(">peer<").unwrap();
        assert!(peer < tables.find(">mpps<").unwrap());
    }

    #[test]
    fn long_lists_are_cut() {
        let rows: Vec<Value> = (0..300).map(|i| json!({"i": i})).collect();
        let text = tables(&json!({"points": rows}));
        assert!(text.contains("100 further rows"), "{text}");
        assert_eq!(text.matches("<tr>").count(), ROWS_MAX + 1);
    }
}
