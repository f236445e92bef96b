//! The points of a sweep with the results that are there, as text.

use crate::error::Error;
use crate::header::Header;
use serde_json::{Value, json};
use std::collections::HashMap;

/// A header, and a result for some or all of its points.
#[derive(Clone, Debug)]
pub struct Points {
    header: Header,
    places: HashMap<String, usize>,
    results: Vec<Option<Value>>,
}

impl Points {
    pub fn new(header: Header) -> Points {
        let places = header.points.iter().enumerate().map(|(i, point)| (point.clone(), i)).collect();
        let results = vec![None; header.points.len()];
        Points { header, places, results }
    }

    /// Reads the text of `file`. Returns also the length of its whole lines in bytes: a last line without an end is no
    /// part of them.
    pub fn parse(file: &str, text: &[u8]) -> Result<(Points, usize), Error> {
        let n_whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let damaged = |line: usize| Error::Damaged { file: file.to_string(), line };
        let mut lines = text[..n_whole].split(|byte| *byte == b'\n');
        let first = lines.next().and_then(|line| std::str::from_utf8(line).ok()).unwrap_or_default();
        let mut points = Points::new(Header::parse(file, first)?);
        // The last piece is empty: it is behind the last end of a line.
        for (i, line) in lines.enumerate().filter(|(_, line)| !line.is_empty()) {
            let line_number = i + 2;
            let mut entry: Value = serde_json::from_slice(line).map_err(|_| damaged(line_number))?;
            let result = entry.get_mut("result").map(Value::take).ok_or_else(|| damaged(line_number))?;
            let point = entry["point"].as_str().ok_or_else(|| damaged(line_number))?;
            let Some(place) = points.place(point) else {
                return Err(Error::UnknownPoint {
                    file: file.to_string(),
                    line: line_number,
                    point: point.to_string(),
                });
            };
            if !points.add(place, result) {
                let files = [file.to_string(), file.to_string()];
                return Err(Error::Contradiction { point: point.to_string(), files });
            }
        }
        Ok((points, n_whole))
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The place of a point in the order of the sweep.
    pub fn place(&self, point: &str) -> Option<usize> {
        self.places.get(point).copied()
    }

    pub fn result(&self, place: usize) -> Option<&Value> {
        self.results.get(place)?.as_ref()
    }

    /// Takes a result. Returns false, and keeps the old one, if the point has a different result.
    #[must_use]
    pub fn add(&mut self, place: usize, result: Value) -> bool {
        match &self.results[place] {
            Some(known) => *known == result,
            None => {
                self.results[place] = Some(result);
                true
            }
        }
    }

    /// Places of points without a result.
    pub fn missing(&self) -> Vec<usize> {
        (0..self.results.len()).filter(|place| self.results[*place].is_none()).collect()
    }

    /// The line of a result, with its end.
    pub fn line(&self, place: usize, result: &Value) -> String {
        format!("{{\"point\":{},\"result\":{result}}}\n", json!(self.header.points[place]))
    }

    /// The whole file: the header, then the results in the order of the sweep.
    pub fn text(&self) -> String {
        let mut text = self.header.line() + "\n";
        for (place, result) in self.results.iter().enumerate() {
            if let Some(result) = result {
                text.push_str(&self.line(place, result));
            }
        }
        text
    }

    pub(crate) fn set_command(&mut self, command: Vec<String>) {
        self.header.command = command;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        let points = ["one", "two", "three"].map(str::to_string).to_vec();
        Header::new("test", 1, 1, json!({}), points).unwrap()
    }

    fn parse(text: &str) -> Result<(Points, usize), String> {
        Points::parse("f", text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn text_is_sorted_and_exact() {
        let mut points = Points::new(header());
        // Numbers with seventeen digits, which have to come back as they are.
        let results = [json!({"x": 0.1 + 0.2}), json!({"x": 5e-324}), json!({"x": 8.41e21, "y": u64::MAX})];
        for (place, result) in results.iter().enumerate().rev() {
            assert!(points.add(place, result.clone()));
        }
        let text = points.text();
        let (again, n_whole) = parse(&text).unwrap();
        assert_eq!((again.text(), n_whole), (text.clone(), text.len()));
        assert!((0..3).all(|place| again.result(place) == Some(&results[place])));
        let order: Vec<usize> = ["\"point\":\"one\"", "\"point\":\"two\"", "\"point\":\"three\""]
            .iter()
            .map(|point| text.find(point).unwrap())
            .collect();
        assert!(order.is_sorted());
        let uneven: Value = serde_json::from_str("0.30000000000000004").unwrap();
        assert_eq!(uneven, json!(0.1 + 0.2));
    }

    #[test]
    fn cut_lines_are_dropped() {
        let head = header().line() + "\n";
        let line = "{\"point\":\"two\",\"result\":2}\n";
        let whole = format!("{head}{line}");
        for cut in 0..line.len() {
            let text = format!("{whole}{}", &line[..cut]);
            let (points, n_whole) = parse(&text).unwrap();
            assert_eq!((points.missing(), n_whole), (vec![0, 2], whole.len()), "{cut}");
        }
    }

    #[test]
    fn bad_files_are_refused() {
        let with = |lines: &str| parse(&format!("{}\n{lines}", header().line())).map(|_| ()).unwrap_err();
        assert_eq!(with("x\n"), "f: line 2 is damaged");
        assert_eq!(with("{\"point\":\"one\",\"result\":1}\n\0\0\0\n"), "f: line 3 is damaged");
        assert_eq!(with("{\"point\":\"one\"}\n"), "f: line 2 is damaged");
        assert_eq!(with("{\"point\":1,\"result\":1}\n"), "f: line 2 is damaged");
        assert_eq!(with("{\"point\":\"four\",\"result\":1}\n"), "f: line 2: the sweep has no point `four`");
        let twice = "{\"point\":\"one\",\"result\":1}\n{\"point\":\"one\",\"result\":2}\n";
        assert_eq!(with(twice), "f: the point `one` has two different results");
        assert!(parse(&format!("{}\n{}", header().line(), twice.replace('2', "1"))).is_ok());
        for text in ["", "\n", "garbage", "garbage\n", &header().line()] {
            assert_eq!(parse(text).map(|_| ()).unwrap_err(), "f: this is not a points file", "{text}");
        }
    }
}
