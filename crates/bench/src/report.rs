//! Output of benchmarks, one JSON object per line, and the ratios computed from it.

use serde_json::Value;

/// One measured figure; the keys are those of `crates/bench/peers/README.md`.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub peer: String,
    pub work: String,
    pub size: u64,
    /// Cycles per unit, median over the runs.
    pub cycles: f64,
    /// Cycles per unit of the quickest run.
    pub cycles_min: f64,
    /// Further keys.
    pub all: Value,
}

impl Line {
    pub fn parse(text: &str) -> Result<Line, String> {
        let wrong = |what: &str| format!("{what} in the line `{text}`");
        let all: Value = serde_json::from_str(text).map_err(|error| wrong(&error.to_string()))?;
        let string =
            |key: &str| all[key].as_str().map(str::to_owned).ok_or_else(|| wrong(&format!("no `{key}`")));
        // The difference of two measurements may be zero or negative, because of noise.
        let is_difference = all["difference"] == true;
        let number = |key: &str| {
            let is_possible = |n: &f64| n.is_finite() && (is_difference || *n > 0.0);
            all[key].as_f64().filter(is_possible).ok_or_else(|| wrong(&format!("no `{key}`")))
        };
        Ok(Line {
            peer: string("peer")?,
            work: string("work")?,
            size: all["size"].as_u64().ok_or_else(|| wrong("no `size`"))?,
            cycles: number("cycles")?,
            cycles_min: number("cycles_min")?,
            all,
        })
    }

    /// A key that only some lines have; empty where it is missing.
    pub fn word(&self, key: &str) -> &str {
        self.all[key].as_str().unwrap_or("")
    }

    pub fn number(&self, key: &str) -> Option<f64> {
        self.all[key].as_f64()
    }

    pub fn n_packets(&self) -> u64 {
        self.all["packets"].as_u64().unwrap_or(0)
    }
}

pub fn parse(lines: &[String]) -> Result<Vec<Line>, String> {
    lines.iter().filter(|line| !line.trim().is_empty()).map(|line| Line::parse(line)).collect()
}

/// Two digits behind the point: more is noise.
pub fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// A share with four digits.
pub fn share(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

/// `10`, `1k`, `10M`.
pub fn short(n: u64) -> String {
    match n {
        1_000_000.. if n.is_multiple_of(1_000_000) => format!("{}M", n / 1_000_000),
        1_000.. if n.is_multiple_of(1_000) => format!("{}k", n / 1_000),
        _ => n.to_string(),
    }
}

/// Columns as wide as what is in them; the first is aligned to the left.
pub fn aligned(rows: &[Vec<String>]) -> String {
    let n_columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..n_columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(i, (cell, width))| match i {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            })
            .collect();
        text += cells.join("  ").trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_parsed() {
        let text =
            r#"{"peer":"a","work":"l2","size":10,"cycles":12.5,"cycles_min":12,"path":"auto","packets":7}"#;
        let lines = parse(&[text.to_owned(), " ".to_owned()]).unwrap();
        assert_eq!(lines.len(), 1);
        assert_eq!((lines[0].peer.as_str(), lines[0].size, lines[0].cycles), ("a", 10, 12.5));
        assert_eq!((lines[0].word("path"), lines[0].word("mix"), lines[0].n_packets()), ("auto", "", 7));
        let text = r#"{"peer":"a","work":"l2","size":1,"cycles":-3,"cycles_min":-4,"cycles_max":0,"difference":true}"#;
        assert_eq!(Line::parse(text).unwrap().cycles, -3.0);
    }

    #[test]
    fn what_is_no_line_is_refused() {
        for text in [
            "",
            "error",
            "{}",
            r#"{"peer":"a","work":"l2","size":-1,"cycles":1,"cycles_min":1}"#,
            r#"{"peer":"a","work":"l2","size":1,"cycles":0,"cycles_min":1}"#,
            r#"{"peer":"a","work":"l2","size":1,"cycles":"3","cycles_min":1}"#,
            r#"{"peer":1,"work":"l2","size":1,"cycles":1,"cycles_min":1}"#,
        ] {
            assert!(Line::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_are_short() {
        let cases = [
            (10, "10"),
            (999, "999"),
            (1000, "1k"),
            (1024, "1024"),
            (50_000_000, "50M"),
            (1_500_000, "1500k"),
        ];
        for (n, text) in cases {
            assert_eq!(short(n), text);
        }
        assert_eq!(rounded(1.23456), 1.23);
    }

    #[test]
    fn columns_are_aligned() {
        let rows = [
            vec!["a".to_owned(), "1.0".to_owned()],
            vec!["long".to_owned(), "12.25".to_owned(), "x".to_owned()],
        ];
        assert_eq!(aligned(&rows), "a       1.0\nlong  12.25  x\n");
    }
}
