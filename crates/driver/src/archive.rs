//! Compiled programs as one file: a `tar` archive of texts with fixed names.
//!
//! An archive has no times and no owners, so equal content gives equal bytes. It also contains the P4
//! texts, so that an archive can be used in place of a program.

use crate::Source;
use diagnostics::SourceMap;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use syntax::limits::FILE_BYTES_MAX;
use syntax::{IncludeKind, LoadedFile, Loader, MacroOption};

/// Permissions of files in an archive.
const MODE: u32 = 0o644;

/// Raised with every change of the archive that is not an addition.
pub const VERSION: u64 = 1;

/// Names of the files in an archive.
pub mod member {
    /// The version of the archive, the tools that made it, and the names of the P4 texts.
    pub const MANIFEST: &str = "manifest.json";
    pub const P4INFO: &str = "p4info.txtpb";
    pub const P4INFO_BINARY: &str = "p4info.bin";
    pub const ENTRIES: &str = "entries.txtpb";
    pub const ENTRIES_BINARY: &str = "entries.bin";
    pub const LAYOUT: &str = "layout.json";
    pub const C_TEXT: &str = "pipeline.c";
    pub const OBJECT: &str = "pipeline.so";
    /// A directory for what the C text includes.
    pub const RUNTIME: &str = "rt";
    /// A directory for the P4 texts: `0.p4`, `1.p4` and so on. The manifest has their names.
    pub const SOURCES: &str = "src";
}

/// An archive of these files, in this order.
pub fn pack(files: &[(String, Vec<u8>)]) -> io::Result<Vec<u8>> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(MODE);
        header.set_mtime(0);
        builder.append_data(&mut header, name, bytes.as_slice())?;
    }
    builder.into_inner()
}

/// A file that was included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Include {
    /// The file with the `#include`, as messages name it.
    pub from: String,
    pub kind: IncludeKind,
    /// The name in the directive.
    pub name: String,
    /// The file that was found, as messages name it.
    pub found: String,
}

/// The part of a manifest about the P4 texts: enough to preprocess them again without other files.
pub fn describe_texts(sources: &SourceMap, includes: &[Include], macros: &[MacroOption]) -> Value {
    let sources: Vec<Value> = sources
        .files()
        .enumerate()
        .map(|(i, (_, file))| {
            json!({ "name": file.name, "member": text_member(i), "is_system": file.is_system })
        })
        .collect();
    let includes: Vec<Value> = includes
        .iter()
        .map(|i| json!({ "from": i.from, "is_local": i.kind == IncludeKind::Local, "name": i.name, "found": i.found }))
        .collect();
    let macros: Vec<Value> = macros
        .iter()
        .map(|option| match option {
            MacroOption::Define(name, value) => json!({ "name": name, "value": value }),
            MacroOption::Undefine(name) => json!({ "name": name, "value": null }),
        })
        .collect();
    json!({ "sources": sources, "includes": includes, "macros": macros })
}

pub fn text_member(i: usize) -> String {
    format!("{}/{i}.p4", member::SOURCES)
}

/// The P4 texts of an archive; finds included files among them.
pub struct Texts {
    shown: String,
    /// Part of the manifest that [`describe_texts`] made.
    described: Value,
    /// Files by their names in messages.
    files: HashMap<String, LoadedFile>,
}

impl Texts {
    pub fn read(path: &Path) -> Result<Texts, String> {
        let shown = path.display().to_string();
        let file = File::open(path).map_err(|error| format!("cannot read {shown}: {error}"))?;
        Texts::of(file, &shown)
            .map_err(|error| format!("{shown} is no archive that siding build has made: {error}"))
    }

    /// Reads the bytes of an archive; `shown` is its name in messages.
    pub fn from_bytes(bytes: &[u8], shown: &str) -> Result<Texts, String> {
        Texts::of(bytes, shown)
            .map_err(|error| format!("{shown} is no archive that siding build has made: {error}"))
    }

    fn of(file: impl Read, shown: &str) -> io::Result<Texts> {
        let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_string());
        let mut members = HashMap::new();
        for entry in tar::Archive::new(file).entries()? {
            let entry = entry?;
            let name = entry.path()?.to_string_lossy().into_owned();
            if name != member::MANIFEST && !name.starts_with(member::SOURCES) {
                continue;
            }
            let mut bytes = Vec::new();
            entry.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
            if bytes.len() > FILE_BYTES_MAX {
                return Err(invalid("a text is too large"));
            }
            members.insert(name, bytes);
        }
        let manifest = members.get(member::MANIFEST).ok_or_else(|| invalid("it has no manifest"))?;
        let manifest: Value = serde_json::from_slice(manifest)?;
        if manifest["version"].as_u64() != Some(VERSION) {
            return Err(invalid("it is of another version"));
        }
        let described = manifest["texts"].clone();
        let mut files = HashMap::new();
        for source in list(&described, "sources") {
            let text = members.get(string(source, "member")).ok_or_else(|| invalid("a text is missing"))?;
            let name = string(source, "name").to_string();
            let text: Arc<str> = String::from_utf8_lossy(text).into();
            let is_system = source["is_system"].as_bool().unwrap_or(false);
            files.entry(name.clone()).or_insert(LoadedFile { name, text, is_system });
        }
        Ok(Texts { shown: shown.to_string(), described, files })
    }

    /// The program itself.
    pub fn main(&self) -> Result<Source, String> {
        let first = list(&self.described, "sources").first();
        let file = first.and_then(|source| self.files.get(string(source, "name")));
        let file = file.ok_or_else(|| format!("{} has no program in it", self.shown))?;
        Ok(Source { name: file.name.clone(), text: Arc::clone(&file.text) })
    }

    /// The description of the program's architecture, if a user has written it.
    pub fn description(&self) -> Option<&str> {
        self.described["description"].as_str()
    }

    /// Returns the macro options of the command line that made the archive.
    pub fn macros(&self) -> Vec<MacroOption> {
        let option = |option: &Value| {
            let name = string(option, "name").to_string();
            match option["value"].as_str() {
                Some(value) => MacroOption::Define(name, value.to_string()),
                None => MacroOption::Undefine(name),
            }
        };
        list(&self.described, "macros").iter().map(option).collect()
    }
}

impl Loader for Texts {
    fn load(&self, name: &str, kind: IncludeKind, from: &str) -> Option<LoadedFile> {
        let is_local = kind == IncludeKind::Local;
        let include = list(&self.described, "includes").iter().find(|include| {
            string(include, "name") == name
                && string(include, "from") == from
                && include["is_local"].as_bool() == Some(is_local)
        })?;
        self.files.get(string(include, "found")).cloned()
    }
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn string<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(manifest: &str) -> Vec<u8> {
        let file = |name: &str, text: &str| (name.to_string(), text.as_bytes().to_vec());
        pack(&[file(member::MANIFEST, manifest), file("src/0.p4", "main"), file("src/1.p4", "inner")])
            .unwrap()
    }

    fn include(name: &str, kind: IncludeKind) -> Include {
        Include { from: "a.p4".into(), kind, name: name.into(), found: "dir/b.p4".into() }
    }

    #[test]
    fn texts_come_back() {
        let mut sources = SourceMap::new();
        sources.add_file("a.p4", "main", None, false);
        sources.add_file("dir/b.p4", "inner", None, true);
        let macros = [MacroOption::Define("N".into(), "3".into()), MacroOption::Undefine("M".into())];
        let described = describe_texts(&sources, &[include("b.p4", IncludeKind::Local)], &macros);
        let manifest = json!({ "version": VERSION, "texts": described }).to_string();
        let texts = Texts::of(archive(&manifest).as_slice(), "x.sdp").unwrap();
        let main = texts.main().unwrap();
        assert_eq!((main.name.as_str(), &*main.text), ("a.p4", "main"));
        let found = texts.load("b.p4", IncludeKind::Local, "a.p4").unwrap();
        assert_eq!((found.name.as_str(), &*found.text, found.is_system), ("dir/b.p4", "inner", true));
        assert!(texts.load("b.p4", IncludeKind::System, "a.p4").is_none());
        assert!(texts.load("b.p4", IncludeKind::Local, "dir/b.p4").is_none());
        assert_eq!(texts.macros().len(), 2);
    }

    #[test]
    fn damage_is_told() {
        let sources = r#"{"sources": [{"name": "a.p4", "member": "src/7.p4"}]}"#;
        let cases = [
            (archive("{}"), "another version"),
            (archive("{"), "EOF"),
            (archive(&format!("{{\"version\": 1, \"texts\": {sources}}}")), "a text is missing"),
            (b"no archive at all".to_vec(), ""),
            (archive("{}")[..600].to_vec(), ""),
            (Vec::new(), "no manifest"),
        ];
        for (bytes, message) in cases {
            let error = Texts::of(bytes.as_slice(), "x.sdp").err().unwrap().to_string();
            assert!(error.contains(message), "{error}");
        }
        let empty = Texts::of(archive("{\"version\": 1}").as_slice(), "x.sdp").unwrap();
        assert!(empty.main().is_err());
    }
}
