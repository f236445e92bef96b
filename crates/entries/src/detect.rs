//! Which format a file is in.

use serde_json::Value as Json;
use stf::keywords::Keyword;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Commands of test scripts: `add routes hdr.ipv4.dst:10.0.0.0/8 forward(port:1)`.
    Script,
    /// Commands of BMv2's command line: `table_add routes forward 10.0.0.0/8 => 1`.
    Bmv2,
    /// `sX-runtime.json` of the P4 tutorials: tables, multicast groups, clone sessions.
    RuntimeJson,
    /// A P4Runtime `WriteRequest` as protobuf text.
    P4RuntimeText,
    /// A P4Runtime `WriteRequest` as JSON.
    P4RuntimeJson,
    /// A P4Runtime `WriteRequest` on the wire.
    P4RuntimeBinary,
}

/// A file whose format cannot be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownFormat {
    pub reason: String,
}

impl std::fmt::Display for UnknownFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for UnknownFormat {}

/// Names of all formats, for messages.
const KNOWN: &str = "known are test scripts (.stf), commands for BMv2's command line, \
                     the P4 tutorials' sX-runtime.json, and P4Runtime WriteRequests (.txtpb, .json, .bin)";

impl Format {
    pub const ALL: [Format; 6] = [
        Format::Script,
        Format::Bmv2,
        Format::RuntimeJson,
        Format::P4RuntimeText,
        Format::P4RuntimeJson,
        Format::P4RuntimeBinary,
    ];

    /// The name of the format in options and messages.
    pub fn name(self) -> &'static str {
        match self {
            Format::Script => "script",
            Format::Bmv2 => "bmv2",
            Format::RuntimeJson => "runtime-json",
            Format::P4RuntimeText => "p4runtime-text",
            Format::P4RuntimeJson => "p4runtime-json",
            Format::P4RuntimeBinary => "p4runtime-binary",
        }
    }

    /// The format that the name of a file says, for writing; `None` if it says none.
    pub fn from_name(name: &str) -> Option<Format> {
        let name = name.to_ascii_lowercase();
        let file = name.rsplit('/').next().unwrap_or(&name);
        match file.rsplit_once('.').map(|(_, suffix)| suffix) {
            Some("stf") => Some(Format::Script),
            Some("txtpb" | "textproto" | "prototxt" | "pbtxt") => Some(Format::P4RuntimeText),
            Some("bin" | "pb") => Some(Format::P4RuntimeBinary),
            Some("json") if file.contains("runtime") && !file.contains("p4runtime") => {
                Some(Format::RuntimeJson)
            }
            Some("json") => Some(Format::P4RuntimeJson),
            Some("txt") if file.contains("command") => Some(Format::Bmv2),
            Some("cli" | "bmv2") => Some(Format::Bmv2),
            Some(_) | None => None,
        }
    }
}

/// Finds the format of a file. The contents decide where they can; binary is known by the suffix alone.
pub fn detect(name: &str, bytes: &[u8]) -> Result<Format, UnknownFormat> {
    let unknown = |reason: String| Err(UnknownFormat { reason: format!("{name}: {reason}") });
    let by_name = Format::from_name(name);
    if by_name == Some(Format::P4RuntimeBinary) {
        return Ok(Format::P4RuntimeBinary);
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return unknown(format!("not text; {KNOWN}"));
    };
    if text.contains('\0') {
        return unknown(format!("not text; {KNOWN}"));
    }
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with('{') {
        return match serde_json::from_str(text) {
            Ok(json) => of_json(&json).or_else(unknown),
            // The reader of the format says where the fault is.
            Err(_) if text.contains("\"updates\"") => Ok(Format::P4RuntimeJson),
            Err(_) if by_name == Some(Format::RuntimeJson) || has_members(text) => Ok(Format::RuntimeJson),
            Err(_) => Ok(Format::P4RuntimeJson),
        };
    }
    match (of_text(text), by_name) {
        (Some(format), _) => Ok(format),
        // A file without any command is an empty one of its kind.
        (None, Some(format)) => Ok(format),
        (None, None) => {
            let words = text.lines().filter_map(|line| line.split_whitespace().next());
            let nearest = words.clone().find_map(|word| Some((word, nearest_command(word)?)));
            unknown(match nearest {
                Some((word, nearest)) => {
                    format!("no line begins with a command; for `{word}`, did you mean `{nearest}`?")
                }
                None => format!("no line begins with a command; {KNOWN}"),
            })
        }
    }
}

/// Members of `sX-runtime.json`.
const RUNTIME_MEMBERS: [&str; 4] =
    ["table_entries", "multicast_group_entries", "clone_session_entries", "bmv2_json"];

/// True if a text that is no JSON has members of `sX-runtime.json`.
fn has_members(text: &str) -> bool {
    RUNTIME_MEMBERS.iter().any(|member| text.contains(&format!("\"{member}\"")))
}

/// By the members of the outermost object.
fn of_json(json: &Json) -> Result<Format, String> {
    let has = |names: &[&str]| names.iter().any(|name| json.get(name).is_some());
    if has(&RUNTIME_MEMBERS) {
        return Ok(Format::RuntimeJson);
    }
    if has(&["updates", "deviceId", "device_id", "electionId", "election_id", "atomicity"]) {
        return Ok(Format::P4RuntimeJson);
    }
    if has(&["pipelines", "parsers"]) && has(&["header_types", "actions", "__meta__"]) {
        return Err("this is a program for BMv2, compiled to JSON, not entries".to_owned());
    }
    if has(&["pkgInfo", "pkg_info"]) || (has(&["tables"]) && has(&["actions"])) {
        return Err("this is the P4Info of a program, not entries".to_owned());
    }
    if json.as_object().is_some_and(serde_json::Map::is_empty) {
        return Ok(Format::P4RuntimeJson);
    }
    Err(format!("this JSON has neither `updates` (P4Runtime) nor `table_entries` (sX-runtime.json); {KNOWN}"))
}

/// The command of a script or of BMv2 that a word may have been meant to be.
fn nearest_command(word: &str) -> Option<&'static str> {
    const COMMON: [&str; 8] = [
        "add",
        "setdefault",
        "table_add",
        "table_set_default",
        "mc_mgrp_create",
        "mc_node_create",
        "mirroring_add",
        "register_write",
    ];
    diagnostics::suggest::nearest_word(word, COMMON)
}

/// By the first words of the lines. Commands that BMv2 and test scripts share decide nothing until one that only one of
/// them has.
fn of_text(text: &str) -> Option<Format> {
    let mut shared = None;
    for line in text.lines() {
        let line = line.trim_start_matches('\u{feff}').trim_start();
        let end = line.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(line.len());
        let (word, rest) = line.split_at(end);
        if word.is_empty() {
            continue;
        }
        if rest.trim_start().starts_with([':', '{']) {
            return Some(Format::P4RuntimeText);
        }
        if stf::is_bmv2_command(word) {
            return Some(Format::Bmv2);
        }
        match Keyword::find(word) {
            Some(_) if word.contains('_') => shared = Some(Format::Script),
            Some(_) => return Some(Format::Script),
            None => {}
        }
    }
    shared
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_say_what_a_file_is() {
        for (name, text, format) in [
            ("a.stf", "", Format::Script),
            ("a", "# hello\nadd t k:1 a()\n", Format::Script),
            ("a.txt", "mc_mgrp_create 1\nadd t k:1 a()\n", Format::Script),
            ("a.txt", "mc_mgrp_create 1\ntable_add t a 1 => 2\n", Format::Bmv2),
            ("commands.txt", "mc_mgrp_create 1\n", Format::Script),
            ("a.txt", "# proto-file: x\nupdates {\n", Format::P4RuntimeText),
            ("a.txt", "device_id: 1\n", Format::P4RuntimeText),
            ("a.json", "{\"updates\": []}", Format::P4RuntimeJson),
            ("a.json", "{\"target\": \"bmv2\", \"table_entries\": []}", Format::RuntimeJson),
            ("s1-runtime.json", "{", Format::RuntimeJson),
            ("a.json", "{\"table_entries\": [1,]}", Format::RuntimeJson),
            ("a.bin", "\u{8}", Format::P4RuntimeBinary),
        ] {
            assert_eq!(detect(name, text.as_bytes()), Ok(format), "{name}: {text}");
        }
    }

    #[test]
    fn other_files_are_recognised() {
        let says = |name: &str, text: &[u8]| detect(name, text).unwrap_err().to_string();
        assert!(says("a", b"\xff\xfe").contains("not text"));
        assert!(says("a", b"hello world\n").contains("no line begins with a command"));
        assert!(says("a", b"table_ad t a 1 => 2\n").contains("did you mean `table_add`?"));
        assert!(says("b.json", br#"{"pipelines": [], "actions": []}"#).contains("compiled to JSON"));
        assert!(says("b.json", br#"{"pkgInfo": {}}"#).contains("P4Info"));
        assert!(says("b.json", br#"{"tables": 1}"#).contains("neither"));
    }

    #[test]
    fn names_of_formats_are_distinct() {
        let mut names: Vec<_> = Format::ALL.iter().map(|format| format.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Format::ALL.len());
    }
}
