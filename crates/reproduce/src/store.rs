//! The state directory: a file with the result of each part, written under another name and renamed.
//!
//! Results of each size have a folder of their own. A result belongs to one version of Siding; of another version it is
//! refused, not mixed in. A result that other commands have made than a part has today counts as missing.

use crate::part::{Part, Results, Size};
use console::output::{self, Exit};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Format of the files.
const FORMAT: u64 = 1;
const MARK: &str = "siding_reproduce";

/// The result of a part.
#[derive(Clone, Debug)]
pub struct Record {
    pub size: Size,
    pub commands: Vec<Vec<String>>,
    /// Label and output of each command; empty when it has failed.
    pub outputs: Vec<(String, Value)>,
    /// The reason why there is no result.
    pub error: Option<String>,
    /// Seconds since 1970.
    pub begun: u64,
    pub seconds: f64,
    pub machine: Value,
}

impl Record {
    fn json(&self, part: &str, version: &str) -> Value {
        json!({
            MARK: FORMAT, "siding": version, "part": part, "size": self.size.name(), "commands": self.commands,
            "outputs": self.outputs, "error": self.error, "begun": self.begun, "seconds": self.seconds,
            "machine": self.machine,
        })
    }

    fn parse(value: &Value, size: Size) -> Option<Record> {
        let commands = value["commands"].as_array()?.iter().map(|command| {
            command
                .as_array()?
                .iter()
                .map(|word| word.as_str().map(str::to_owned))
                .collect::<Option<Vec<String>>>()
        });
        let outputs = value["outputs"].as_array()?.iter();
        let outputs = outputs.map(|pair| Some((pair[0].as_str()?.to_owned(), pair.get(1)?.clone())));
        Some(Record {
            size,
            commands: commands.collect::<Option<_>>()?,
            outputs: outputs.collect::<Option<_>>()?,
            error: value["error"].as_str().map(str::to_owned),
            begun: value["begun"].as_u64()?,
            seconds: value["seconds"].as_f64()?,
            machine: value["machine"].clone(),
        })
    }
}

pub struct Store {
    /// The folder of one size.
    dir: PathBuf,
    size: Size,
    version: &'static str,
    records: BTreeMap<String, Record>,
}

impl Store {
    /// Opens the directory, or makes it, and reads what is there of these parts.
    pub fn open(
        dir: &Path,
        size: Size,
        parts: &[&Part],
        version: &'static str,
    ) -> Result<Store, (String, Exit)> {
        let dir = dir.join(size.name());
        let environment =
            |path: &Path, error: std::io::Error| (format!("{}: {error}", path.display()), Exit::Environment);
        std::fs::create_dir_all(&dir).map_err(|error| environment(&dir, error))?;
        let probe = dir.join(format!(".writable-{}", std::process::id()));
        std::fs::write(&probe, b"")
            .and_then(|()| std::fs::remove_file(&probe))
            .map_err(|error| environment(&dir, error))?;
        let mut store = Store { dir, size, version, records: BTreeMap::new() };
        for part in parts {
            let path = store.file_of(part.name);
            let text = match std::fs::read(&path) {
                Ok(text) => text,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => return Err(environment(&path, error)),
            };
            let record = store.checked(&path, &text, part)?;
            if record.commands == commands_of(part, size) {
                store.records.insert(part.name.to_owned(), record);
            }
        }
        Ok(store)
    }

    fn checked(&self, path: &Path, text: &[u8], part: &Part) -> Result<Record, (String, Exit)> {
        let wrong = |what: &str, exit| (format!("{}: {what}", path.display()), exit);
        let value: Value = serde_json::from_slice(text).unwrap_or_default();
        let Some(format) = value[MARK].as_u64() else {
            return Err(wrong(
                "this is not a result of `siding reproduce`; remove it, or name another directory with --state",
                Exit::Usage,
            ));
        };
        let version = value["siding"].as_str().unwrap_or("?");
        if format != FORMAT || version != self.version {
            let what = format!(
                "a result of Siding {version} (format {format}), and this is {} (format {FORMAT}); remove the directory, or name \
                 another with --state",
                self.version
            );
            return Err(wrong(&what, Exit::Usage));
        }
        let is_of_part = value["part"] == part.name && value["size"] == self.size.name();
        match Record::parse(&value, self.size) {
            Some(record) if is_of_part => Ok(record),
            Some(_) => Err(wrong("the result of another part or size; remove it", Exit::Usage)),
            None => Err(wrong("it is damaged; remove it", Exit::Environment)),
        }
    }

    fn file_of(&self, part: &str) -> PathBuf {
        self.dir.join(format!("{part}.json"))
    }

    /// The folder of the size, where parts leave files for others.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// A file that parts share.
    pub fn shared(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    pub fn get(&self, part: &str) -> Option<&Record> {
        self.records.get(part)
    }

    /// True when the part need not run again.
    pub fn is_done(&self, part: &str) -> bool {
        self.get(part).is_some_and(|record| record.error.is_none())
    }

    pub fn put(&mut self, part: &str, record: Record) -> Result<(), (String, Exit)> {
        let path = self.file_of(part);
        let text = format!("{}\n", record.json(part, self.version));
        let failed = |error: std::io::Error| (format!("{}: {error}", path.display()), Exit::Environment);
        output::replace_file(&path, text.as_bytes()).map_err(failed)?;
        self.records.insert(part.to_owned(), record);
        Ok(())
    }

    /// Outputs of a part; none if it has failed or was never run.
    pub fn outputs(&self, part: &str) -> Vec<(&str, &Value)> {
        let record = self.get(part).filter(|record| record.error.is_none());
        record
            .iter()
            .flat_map(|record| &record.outputs)
            .map(|(label, value)| (label.as_str(), value))
            .collect()
    }

    /// The input of a part's `read`.
    pub fn results<'s>(
        &'s self,
        part: &str,
        others: &'s dyn Fn(&str) -> Vec<(&'s str, &'s Value)>,
    ) -> Results<'s> {
        Results { own: self.outputs(part), others }
    }
}

/// Command lines of a part as its result names them.
pub fn commands_of(part: &Part, size: Size) -> Vec<Vec<String>> {
    (part.commands)(size).into_iter().map(|(_, words)| words).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts;

    fn record(part: &Part) -> Record {
        Record {
            size: Size::Quick,
            commands: commands_of(part, Size::Quick),
            outputs: vec![(String::new(), json!({"lines": []}))],
            error: None,
            begun: 7,
            seconds: 1.5,
            machine: json!([["processor", "x"]]),
        }
    }

    #[test]
    fn results_are_found_again() {
        let dir = tempfile::tempdir().unwrap();
        let all = parts::all();
        let mut store = Store::open(dir.path(), Size::Quick, &all, "1.0").unwrap();
        assert!(!store.is_done("hazards-1a"));
        let part = all.iter().find(|part| part.name == "hazards-1a").unwrap();
        store.put(part.name, record(part)).unwrap();
        let again = Store::open(dir.path(), Size::Quick, &all, "1.0").unwrap();
        assert!(again.is_done("hazards-1a"));
        assert_eq!(again.outputs("hazards-1a").len(), 1);
        // Another size has its own results.
        assert!(!Store::open(dir.path(), Size::Full, &all, "1.0").unwrap().is_done("hazards-1a"));
        let failed = Record { error: Some("no".to_owned()), ..record(part) };
        store.put(part.name, failed).unwrap();
        assert!(!store.is_done(part.name) && store.outputs(part.name).is_empty());
        let other = Record { commands: vec![vec!["sim".to_owned()]], ..record(part) };
        store.put(part.name, other).unwrap();
        assert!(!Store::open(dir.path(), Size::Quick, &all, "1.0").unwrap().is_done(part.name));
    }

    #[test]
    fn results_of_others_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let all = parts::all();
        let part = all.iter().find(|part| part.name == "hazards-1a").unwrap();
        Store::open(dir.path(), Size::Quick, &all, "1.0").unwrap().put(part.name, record(part)).unwrap();
        let message = |version| Store::open(dir.path(), Size::Quick, &all, version).map(drop).unwrap_err();
        assert!(message("2.0").0.contains("Siding 1.0 (format 1), and this is 2.0"), "{}", message("2.0").0);
        let path = dir.path().join("quick/hazards-1a.json");
        for (text, words, exit) in [
            ("", "not a result", Exit::Usage),
            ("[1]", "not a result", Exit::Usage),
            (
                "{\"siding_reproduce\":1,\"siding\":\"1.0\",\"part\":\"hazards-1a\",\"size\":\"quick\"}",
                "damaged",
                Exit::Environment,
            ),
        ] {
            std::fs::write(&path, text).unwrap();
            let (found, code) = message("1.0");
            assert!(found.contains(words) && code == exit, "{text}: {found}");
        }
    }
}
