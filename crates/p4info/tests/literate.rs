//! The rules of P4Info as documents: every case of `cases/*.md` behaves as it says.
//!
//! A case is a heading, a block fenced as `p4`, and perhaps blocks fenced as `p4info` and `entries` with what
//! must come out, in the text format. What those blocks leave out is not compared; lists that they have must
//! have the same length. `# none: field, field` lists fields of the whole message that must be empty.
//!
//! Comments in the program name what is reported for their line: `// error: [P2103] "part of it"` or
//! `// warn: [P2152]`. All errors and all warnings of this crate must be named.
//!
//! Words on the fence: `v1model` and `psa` put the architecture around the program, which then declares only
//! `control I` and what it needs; parsers and `main` of its own take the place of those.
//!
//! `LITERATE=text cargo test -p p4info --test literate` runs only the cases whose heading contains the text.

use diagnostics::{Diagnostic, Severity};
use p4info::proto::descriptor_pool;
use p4info::{Format, decode_p4info, decode_write_request, encode_p4info, encode_write_request};
use prost_reflect::{DynamicMessage, Value};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use syntax::{IncludeKind, LoadedFile, Loader};

/// Enough cases that no topic can have been lost by a slip of the reader.
const CASES_MIN: usize = 60;

const V1MODEL_BEFORE: &str = "#include <v1model.p4>
header eth_t { bit<48> dst; bit<48> src; bit<16> type; }
struct H { eth_t eth; }
struct M { bit<8> a; bit<16> b; }
";
const V1MODEL_PARSER: &str = "
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {
    state start { p.extract(h.eth); transition accept; }
}
";
const V1MODEL_MAIN: &str = "
control V(inout H h, inout M m) { apply {} }
control E(inout H h, inout M m, inout standard_metadata_t s) { apply {} }
control D(packet_out p, in H h) { apply { p.emit(h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
";
const PSA_BEFORE: &str = "#include <psa.p4>
header eth_t { bit<48> dst; bit<48> src; bit<16> type; }
struct H { eth_t eth; }
struct M { bit<8> a; bit<16> b; }
struct N {}
";
const PSA_PARSER: &str = "
parser P(packet_in p, out H h, inout M m, in psa_ingress_parser_input_metadata_t i, in N r, in N c) {
    state start { p.extract(h.eth); transition accept; }
}
";
const PSA_MAIN: &str = "
control D(packet_out p, out N c, out N r, out N n, inout H h, in M m, in psa_ingress_output_metadata_t i) {
    apply { p.emit(h); }
}
parser EP(packet_in p, out H h, inout M m, in psa_egress_parser_input_metadata_t i, in N n, in N c, in N d) {
    state start { transition accept; }
}
control E(inout H h, inout M m, in psa_egress_input_metadata_t i, inout psa_egress_output_metadata_t o) {
    apply {}
}
control ED(packet_out p, out N c, out N r, inout H h, in M m, in psa_egress_output_metadata_t i,
        in psa_egress_deparser_input_metadata_t d) {
    apply {}
}
IngressPipeline(P(), I(), D()) ip;
EgressPipeline(EP(), E(), ED()) ep;
PSA_Switch(ip, PacketReplicationEngine(), ep, BufferingQueueingEngine()) main;
";

struct Case {
    file: String,
    heading: String,
    blocks: Vec<Block>,
}

struct Block {
    words: Vec<String>,
    /// Line of the first line of the text, from 1.
    line: usize,
    text: String,
}

impl Case {
    fn block(&self, kind: &str) -> Option<&Block> {
        self.blocks.iter().find(|b| b.words.first().is_some_and(|w| w == kind))
    }
}

struct Includes(PathBuf);

impl Loader for Includes {
    fn load(&self, name: &str, _kind: IncludeKind, _from: &str) -> Option<LoadedFile> {
        let text = std::fs::read_to_string(self.0.join(name)).ok()?;
        Some(LoadedFile { name: name.into(), text: text.into(), is_system: true })
    }
}

fn cases_of(path: &Path) -> Vec<Case> {
    let file = path.file_name().unwrap().to_string_lossy().into_owned();
    let text = std::fs::read_to_string(path).unwrap();
    let mut cases: Vec<Case> = Vec::new();
    let mut open = false;
    for (i, line) in text.lines().enumerate() {
        if let Some(info) = line.strip_prefix("```") {
            open = !open;
            if open {
                let words: Vec<String> = info.split_whitespace().map(String::from).collect();
                let case = cases.last_mut().unwrap_or_else(|| panic!("{file}:{}: no heading", i + 1));
                case.blocks.push(Block { words, line: i + 2, text: String::new() });
            }
        } else if open {
            let block = cases.last_mut().unwrap().blocks.last_mut().unwrap();
            block.text.push_str(line);
            block.text.push('\n');
        } else if let Some(heading) = line.strip_prefix("## ") {
            cases.push(Case { file: file.clone(), heading: heading.to_string(), blocks: Vec::new() });
        }
    }
    assert!(!open, "{file}: the last block is not closed");
    cases
}

/// The whole program: what the architecture needs stands around the case.
fn program(case: &Case, block: &Block) -> String {
    let here = format!("#line {} \"{}\"\n", block.line, case.file);
    let text = &block.text;
    let word = |w: &str| block.words.iter().any(|b| b == w);
    let around = |before: &str, parser: &str, main: &str| {
        let parser = if text.contains("parser P(") { "" } else { parser };
        let main = if text.contains(" main;") { "" } else { main };
        format!("{before}{here}{text}\n#line 1 \"after\"\n{parser}{main}")
    };
    if word("v1model") {
        around(V1MODEL_BEFORE, V1MODEL_PARSER, V1MODEL_MAIN)
    } else if word("psa") {
        around(PSA_BEFORE, PSA_PARSER, PSA_MAIN)
    } else {
        format!("{here}{text}")
    }
}

/// Severity, code, part of the text and line of each message that the comments announce.
fn expectations(case: &Case, block: &Block) -> Vec<(Severity, String, String, usize)> {
    let mut out = Vec::new();
    for (i, line) in block.text.lines().enumerate() {
        for (word, severity) in [("error: [", Severity::Error), ("warn: [", Severity::Warning)] {
            for rest in line.split(word).skip(1) {
                let at = || format!("{}:{}", case.file, block.line + i);
                let (code, rest) = rest.split_once(']').unwrap_or_else(|| panic!("{}: no `]`", at()));
                let part = rest.trim_start().strip_prefix('"').and_then(|q| q.split_once('"'));
                let part = part.map_or(String::new(), |(part, _)| part.to_string());
                out.push((severity, code.to_string(), part, block.line + i));
            }
        }
    }
    out
}

fn says(d: &Diagnostic, part: &str) -> bool {
    let labels = d.labels.iter().map(|l| &l.text);
    [&d.message, &d.primary.text]
        .into_iter()
        .chain(labels)
        .chain(&d.notes)
        .chain(&d.helps)
        .any(|t| t.contains(part))
}

fn dynamic(full_name: &str, bytes: &[u8]) -> DynamicMessage {
    let descriptor = descriptor_pool().get_message_by_name(full_name).unwrap();
    DynamicMessage::decode(descriptor, bytes).unwrap()
}

/// Where `made` has not what `expected` has.
fn missing(path: &str, expected: &Value, made: &Value, out: &mut Vec<String>) {
    match (expected, made) {
        (Value::Message(e), Value::Message(m)) => {
            for (field, value) in e.fields() {
                let made = m.get_field_by_name(field.name()).unwrap();
                missing(&format!("{path}.{}", field.name()), value, &made, out);
            }
        }
        (Value::List(e), Value::List(m)) if e.len() == m.len() => {
            for (i, (e, m)) in e.iter().zip(m).enumerate() {
                missing(&format!("{path}[{i}]"), e, m, out);
            }
        }
        (Value::Map(e), Value::Map(m)) => {
            for (key, value) in e {
                match m.get(key) {
                    Some(made) => missing(&format!("{path}[{key:?}]"), value, made, out),
                    None => out.push(format!("{path}[{key:?}] is not there")),
                }
            }
        }
        (e, m) if e == m => {}
        (e, m) => out.push(format!("{path}: {e:?} expected, {m:?} made")),
    }
}

fn compare(case: &Case, kind: &str, full_name: &str, made: &[u8], out: &mut Vec<String>) {
    let Some(block) = case.block(kind) else { return };
    let expected = match kind {
        "p4info" => {
            decode_p4info(block.text.as_bytes(), Format::Text).map(|m| encode_p4info(&m, Format::Binary))
        }
        _ => decode_write_request(block.text.as_bytes(), Format::Text)
            .map(|m| encode_write_request(&m, Format::Binary)),
    };
    let expected = expected.unwrap_or_else(|e| panic!("{}:{}: {e}", case.file, block.line));
    let (expected, made) = (dynamic(full_name, &expected), dynamic(full_name, made));
    for names in block.text.lines().filter_map(|l| l.strip_prefix("# none: ")) {
        for name in names.split(", ") {
            if made.has_field_by_name(name) {
                out.push(format!("{name} is not empty: {:?}", made.get_field_by_name(name).unwrap()));
            }
        }
    }
    missing(kind, &Value::Message(expected), &Value::Message(made), out);
}

fn faults(case: &Case, includes: &Includes) -> Vec<String> {
    let Some(block) = case.block("p4") else { return vec!["no program".to_string()] };
    let parsed = syntax::parse(&case.file, program(case, block), includes, &syntax::Options::default());
    let mut checked = check::check(parsed, &check::Options::default());
    let mut expected = expectations(case, block);
    let mut faults = Vec::new();
    let mut built = None;
    if !checked.diagnostics.has_errors() {
        let mut made = p4info::build(&checked.program, &checked.sources, None);
        checked.diagnostics.extend(std::mem::take(&mut made.diagnostics).into_vec());
        built = Some(made);
    }
    for d in checked.diagnostics.iter() {
        let (file, line) = checked
            .sources
            .locate(d.primary.span)
            .map_or((case.file.clone(), block.line), |l| (l.file, l.line as usize));
        let met = expected.iter().position(|(severity, code, part, at)| {
            *severity == d.severity && code == d.code.id && file == case.file && *at == line && says(d, part)
        });
        match met {
            Some(i) => {
                expected.remove(i);
            }
            None if d.is_error() || d.code.id.starts_with("P2") => faults.push(format!(
                "{file}:{line}: not expected: [{}] {} ({})",
                d.code.id, d.message, d.primary.text
            )),
            None => {}
        }
    }
    for (severity, code, part, line) in expected {
        faults.push(format!("{}:{line}: missing: {severity:?} [{code}] \"{part}\"", case.file));
    }
    if let Some(made) = built {
        let p4info = encode_p4info(&made.p4info, Format::Binary);
        compare(case, "p4info", "p4.config.v1.P4Info", &p4info, &mut faults);
        let entries = encode_write_request(&made.entries, Format::Binary);
        compare(case, "entries", "p4.v1.WriteRequest", &entries, &mut faults);
    }
    faults
}

#[test]
fn cases_behave_as_they_say() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let includes = Includes(here.join("../arch/p4include"));
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(here.join("tests/cases")).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    let wanted = std::env::var("LITERATE").ok();
    let mut report = String::new();
    let (mut n_cases, mut n_bad) = (0, 0);
    for case in files.iter().flat_map(|f| cases_of(f)) {
        if wanted.as_ref().is_some_and(|w| !case.heading.contains(w)) {
            continue;
        }
        n_cases += 1;
        let found = faults(&case, &includes);
        if !found.is_empty() {
            n_bad += 1;
            let _ = writeln!(report, "{}: {}", case.file, case.heading);
            found.iter().for_each(|f| {
                let _ = writeln!(report, "    {f}");
            });
        }
    }
    assert!(n_bad == 0, "{n_bad} of {n_cases} cases differ:\n{report}");
    assert!(wanted.is_some() || n_cases >= CASES_MIN, "only {n_cases} cases");
}
