//! Reading of the JSON that commands print.

use bench::chart::{Origin, Series};
use serde_json::Value;

/// The lines of a benchmark's output.
pub fn lines(value: &Value) -> Vec<&Value> {
    list(value, "lines")
}

pub fn list<'v>(value: &'v Value, key: &str) -> Vec<&'v Value> {
    value[key].as_array().into_iter().flatten().collect()
}

/// Lines that have each of these words.
pub fn with<'v>(lines: &[&'v Value], words: &[(&str, &str)]) -> Vec<&'v Value> {
    let has = |line: &&&Value| words.iter().all(|(key, word)| line[*key] == *word);
    lines.iter().filter(has).copied().collect()
}

pub fn number(value: &Value, key: &str) -> Option<f64> {
    value[key].as_f64().filter(|number| number.is_finite())
}

pub fn word<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or("")
}

/// The words under a key, each once, in the order of the lines.
pub fn distinct(lines: &[&Value], key: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for line in lines {
        let word = word(line, key);
        if !word.is_empty() && !all.iter().any(|known| known == word) {
            all.push(word.to_owned());
        }
    }
    all
}

/// Different numbers under a key, ascending.
pub fn numbers(lines: &[&Value], key: &str) -> Vec<f64> {
    let mut all: Vec<f64> = lines.iter().filter_map(|line| number(line, key)).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    all
}

/// A line of a chart over two keys, ascending.
pub fn points(lines: &[&Value], x: &str, y: &str) -> Vec<(f64, f64)> {
    let point = |line: &&Value| Some((number(line, x)?, number(line, y)?));
    let mut points: Vec<(f64, f64)> = lines.iter().filter_map(point).collect();
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    points
}

pub fn scaled(points: Vec<(f64, f64)>, by: f64) -> Vec<(f64, f64)> {
    points.into_iter().map(|(x, y)| (x, y * by)).collect()
}

pub fn at(points: &[(f64, f64)], x: f64) -> Option<f64> {
    points.iter().find(|point| point.0 == x).map(|point| point.1)
}

/// Pairs of the ordinates at the abscissae that both lines have.
pub fn pairs(one: &[(f64, f64)], other: &[(f64, f64)]) -> Vec<(f64, f64, f64)> {
    one.iter().filter_map(|(x, y)| Some((*x, *y, at(other, *x)?))).collect()
}

pub fn ours(name: impl Into<String>, points: Vec<(f64, f64)>) -> Series {
    Series { name: name.into(), points, origin: Origin::Ours }
}

pub fn published(name: impl Into<String>, points: Vec<(f64, f64)>) -> Series {
    Series { name: name.into(), points, origin: Origin::Published }
}

/// The series under `series` of a figure of `siding sim`, or of any object like it.
pub fn series(value: &Value) -> Vec<Series> {
    let of = |series: &Value| {
        let points = series["points"].as_array().into_iter().flatten();
        let points = points.filter_map(|p| Some((p[0].as_f64()?, p[1].as_f64()?))).collect();
        ours(word(series, "name"), points)
    };
    list(value, "series").into_iter().map(of).collect()
}

/// A number in three digits, with thousands apart.
pub fn short(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    if !number.is_finite() {
        return "?".to_owned();
    }
    let digits = (2 - number.abs().log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{number:.digits$}");
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |rest| ("−", rest));
    let mut grouped = String::new();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) && whole.len() > 4 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let part = part.trim_end_matches('0');
    let point = if part.is_empty() { "" } else { "." };
    format!("{sign}{grouped}{point}{part}")
}

/// `a, b and c`
pub fn joined(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_have_three_digits() {
        let cases = [
            (0.0, "0"),
            (0.01234, "0.0123"),
            (1.0, "1"),
            (12.345, "12.3"),
            (1234.5, "1234"),
            (12_345.6, "12,346"),
            (1_234_567.0, "1,234,567"),
            (-2.5, "−2.5"),
            (f64::NAN, "?"),
        ];
        for (number, text) in cases {
            assert_eq!(short(number), text);
        }
    }

    #[test]
    fn lines_are_selected() {
        let value = json!({"lines": [
            {"path": "wait", "size": 10, "mpps": 2.0}, {"path": "inline", "size": 10, "mpps": 3},
            {"path": "wait", "size": 5, "mpps": 4}, {"path": "wait", "size": null}
        ]});
        let all = lines(&value);
        let waits = points(&with(&all, &[("path", "wait")]), "size", "mpps");
        assert_eq!(waits, [(5.0, 4.0), (10.0, 2.0)]);
        assert_eq!(distinct(&all, "path"), ["wait", "inline"]);
        assert_eq!(numbers(&all, "size"), [5.0, 10.0]);
        assert_eq!(pairs(&waits, &[(10.0, 3.0)]), [(10.0, 2.0, 3.0)]);
        assert!(lines(&Value::Null).is_empty());
        assert_eq!(joined(&["a", "b", "c"].map(str::to_owned)), "a, b and c");
    }
}
