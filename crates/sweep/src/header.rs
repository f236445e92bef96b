//! The header of a sweep: everything that its results depend on.

use crate::error::Error;
use serde_json::{Value, json};
use std::collections::HashSet;

/// The format of points files.
const FORMAT: u64 = 1;

/// A sweep as plain data. Two runs with equal headers, apart from the command, make equal results.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// The sweep's name, such as `sim`.
    pub sweep: String,
    /// Grows when the results of a sweep change their meaning.
    pub version: u64,
    /// The version of Siding that makes the results.
    pub siding: String,
    /// The seed that those of the points are made from.
    pub seed: u64,
    /// Everything else that the results depend on. The content of a file counts, its name does not have to.
    pub arguments: Value,
    /// The command line that makes the points, for messages; no part of the identity.
    pub command: Vec<String>,
    /// Keys of the points, in the order of reports.
    pub points: Vec<String>,
}

impl Header {
    /// A header without a command, made by this version of Siding. Keys of points must differ.
    pub fn new(
        sweep: &str,
        version: u64,
        seed: u64,
        arguments: Value,
        points: Vec<String>,
    ) -> Result<Header, Error> {
        let mut seen = HashSet::new();
        if let Some(point) = points.iter().find(|point| !seen.insert(point.as_str())) {
            return Err(Error::RepeatedPoint { point: point.clone() });
        }
        Ok(Header {
            sweep: sweep.to_string(),
            version,
            siding: env!("CARGO_PKG_VERSION").to_string(),
            seed,
            arguments,
            command: Vec::new(),
            points,
        })
    }

    pub fn with_command(self, command: Vec<String>) -> Header {
        Header { command, ..self }
    }

    /// The seed of one point. It does not depend on the place of the point or on the shard.
    pub fn seed_of(&self, point: &str) -> u64 {
        // FNV-1a over the key, then the finaliser of SplitMix64, so that similar keys get unlike seeds.
        let mut hash = 0xcbf2_9ce4_8422_2325 ^ self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for byte in point.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^ hash >> 31
    }

    /// The first line of a points file, without its end. The format comes first, so that a cut line can be told from other
    /// files.
    pub fn line(&self) -> String {
        format!(
            "{{\"siding_sweep\":{FORMAT},\"sweep\":{},\"version\":{},\"siding\":{},\"seed\":{},\"arguments\":{},\
             \"command\":{},\"points\":{}}}",
            json!(self.sweep),
            self.version,
            json!(self.siding),
            self.seed,
            self.arguments,
            json!(self.command),
            json!(self.points),
        )
    }

    /// Reads the first line of `file`.
    pub fn parse(file: &str, line: &str) -> Result<Header, Error> {
        let not_points = || Error::NotPoints { file: file.to_string() };
        let value: Value = serde_json::from_str(line).map_err(|_| not_points())?;
        let format = value["siding_sweep"].as_u64().ok_or_else(not_points)?;
        if format != FORMAT {
            let difference = format!("the file has format {format}, and this program reads format {FORMAT}");
            return Err(Error::Other { file: file.to_string(), difference });
        }
        let text = |name: &str| value[name].as_str().map(str::to_string).ok_or_else(not_points);
        let number = |name: &str| value[name].as_u64().ok_or_else(not_points);
        let texts = |name: &str| {
            let each = value[name].as_array()?.iter().map(|text| text.as_str().map(str::to_string));
            each.collect::<Option<Vec<String>>>()
        };
        let header = Header::new(
            &text("sweep")?,
            number("version")?,
            number("seed")?,
            value.get("arguments").cloned().ok_or_else(not_points)?,
            texts("points").ok_or_else(not_points)?,
        );
        let header = header.map_err(|_| Error::Damaged { file: file.to_string(), line: 1 })?;
        Ok(Header { siding: text("siding")?, command: texts("command").ok_or_else(not_points)?, ..header })
    }

    /// Says how a file's header differs from this one, the expected one; `None` if their results go together.
    pub fn difference(&self, found: &Header) -> Option<String> {
        let differ = |what: &str, found: &dyn std::fmt::Display, wanted: &dyn std::fmt::Display| {
            Some(format!("{what} is {found}, expected {wanted}"))
        };
        if found.sweep != self.sweep {
            return differ("the sweep", &found.sweep, &self.sweep);
        }
        if found.siding != self.siding {
            return differ("the version of Siding", &found.siding, &self.siding);
        }
        if found.version != self.version {
            return differ("the version of the sweep", &found.version, &self.version);
        }
        if found.seed != self.seed {
            return differ("the seed", &found.seed, &self.seed);
        }
        if let Some((path, found, wanted)) = first_difference("", &found.arguments, &self.arguments) {
            let what = if path.is_empty() { "an argument".to_string() } else { format!("`{path}`") };
            return differ(&what, &found, &wanted);
        }
        let pairs = found.points.iter().zip(&self.points);
        if let Some((found, wanted)) = pairs.into_iter().find(|(found, wanted)| found != wanted) {
            return differ("a point", &format!("`{found}`"), &format!("`{wanted}`"));
        }
        (found.points.len() != self.points.len())
            .then(|| format!("it has {} points, expected {}", found.points.len(), self.points.len()))
    }
}

/// The path to the first place where two values differ, and the values there.
fn first_difference(path: &str, found: &Value, wanted: &Value) -> Option<(String, Value, Value)> {
    if found == wanted {
        return None;
    }
    let (Value::Object(a), Value::Object(b)) = (found, wanted) else {
        return Some((path.to_string(), found.clone(), wanted.clone()));
    };
    let mut names: Vec<&String> = a.keys().chain(b.keys()).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().find_map(|name| {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        first_difference(&path, a.get(name).unwrap_or(&Value::Null), b.get(name).unwrap_or(&Value::Null))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        let points = ["a=1", "a=2"].map(str::to_string).to_vec();
        let arguments = json!({ "traffic": { "name": "imix", "packets": 10 }, "alpha": 0.1 });
        Header::new("test", 3, 7, arguments, points)
            .unwrap()
            .with_command(vec!["siding".into(), "x y".into()])
    }

    #[test]
    fn lines_are_read_back() {
        let line = header().line();
        assert!(line.starts_with("{\"siding_sweep\":1,\"sweep\":\"test\",\"version\":3,"), "{line}");
        assert_eq!(Header::parse("file", &line).unwrap(), header());
    }

    #[test]
    fn seeds_depend_on_key_and_seed_alone() {
        let (one, other) = (header(), Header { seed: 8, ..header() });
        let reversed = Header { points: vec!["a=2".into(), "a=1".into()], ..header() };
        assert_eq!(one.seed_of("a=1"), reversed.seed_of("a=1"));
        assert_ne!(one.seed_of("a=1"), one.seed_of("a=2"));
        assert_ne!(one.seed_of("a=1"), other.seed_of("a=1"));
        // Seeds are part of the format: other values would change all results.
        assert_eq!(one.seed_of("a=1"), 17_258_208_418_658_768_468);
    }

    #[test]
    fn differences_are_named() {
        let fault = |change: fn(&mut Header)| {
            let mut found = header();
            change(&mut found);
            header().difference(&found).unwrap_or_default()
        };
        assert_eq!(fault(|_| {}), "");
        assert_eq!(fault(|h| h.command.clear()), "");
        assert_eq!(fault(|h| h.sweep = "sim".into()), "the sweep is sim, expected test");
        assert_eq!(fault(|h| h.version = 2), "the version of the sweep is 2, expected 3");
        assert!(fault(|h| h.siding = "9.0".into()).starts_with("the version of Siding is 9.0, expected "));
        assert_eq!(fault(|h| h.seed = 1), "the seed is 1, expected 7");
        let packets = fault(|h| h.arguments["traffic"]["packets"] = json!(5));
        assert_eq!(packets, "`traffic.packets` is 5, expected 10");
        assert_eq!(fault(|h| h.points[1] = "a=3".into()), "a point is `a=3`, expected `a=2`");
        assert_eq!(fault(|h| h.points.truncate(1)), "it has 1 points, expected 2");
    }

    #[test]
    fn other_files_are_refused() {
        let fault = |line: &str| Header::parse("f", line).unwrap_err().to_string();
        for line in [
            "",
            "x",
            "{}",
            "[]",
            "{\"siding_sweep\":1}",
            &header().line().replace("\"seed\":7", "\"seed\":-7"),
        ] {
            assert_eq!(fault(line), "f: this is not a points file", "{line}");
        }
        assert_eq!(
            fault("{\"siding_sweep\":2}"),
            "f: its points are of another sweep: the file has format 2, and this program reads format 1"
        );
        assert_eq!(fault(&header().line().replace("a=2", "a=1")), "f: line 1 is damaged");
        let repeated = Header::new("x", 1, 1, json!(null), vec!["p".into(), "p".into()]);
        assert_eq!(repeated.unwrap_err().to_string(), "two points of the sweep are called `p`");
    }
}
