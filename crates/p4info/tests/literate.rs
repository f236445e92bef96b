//! The rules of P4Info as documents: every case of `cases/*.md` behaves as it says.
//!
//! A case is a heading, a block fenced as `p4`, and perhaps blocks fenced as `p4info` and `entries` with what
//! must come out, in the text format. What those blocks leave out is not compared; lists that they have must
//! have the same length. `# none: field, field` lists fields of the whole message that must be empty.
//!
//! Comments in the program name the diagnostics of their lines (see crate `mdtest`). All errors and all warnings of this
//! crate must be named.
//!
//! Words on the fence: `v1model` and `psa` put the architecture around the program, which then declares only
//! `control I` and what it needs; parsers and `main` of its own take the place of those.
//!
//! `LITERATE=text cargo test -p p4info --test literate` runs only the cases whose file or heading
//! contains the text.

use mdtest::{Block, Case, Expectations};
use p4info::proto::descriptor_pool;
use p4info::{Format, decode_p4info, decode_write_request, encode_p4info, encode_write_request};
use prost_reflect::{DynamicMessage, Value};
use std::path::{Path, PathBuf};
use syntax::{IncludeKind, LoadedFile, Loader};

/// Fewer cases mean that a page was lost.
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

struct Includes(PathBuf);

impl Loader for Includes {
    fn load(&self, name: &str, _kind: IncludeKind, _from: &str) -> Option<LoadedFile> {
        let text = std::fs::read_to_string(self.0.join(name)).ok()?;
        Some(LoadedFile { name: name.into(), text: text.into(), is_system: true })
    }
}

/// The whole program: the case within what its architecture needs.
fn program(case: &Case, block: &Block) -> String {
    let here = format!("#line {} \"{}\"\n", block.line, case.file);
    let text = &block.text;
    let around = |before: &str, parser: &str, main: &str| {
        let parser = if text.contains("parser P(") { "" } else { parser };
        let main = if text.contains(" main;") { "" } else { main };
        format!("{before}{here}{text}\n#line 1 \"after\"\n{parser}{main}")
    };
    if block.has("v1model") {
        around(V1MODEL_BEFORE, V1MODEL_PARSER, V1MODEL_MAIN)
    } else if block.has("psa") {
        around(PSA_BEFORE, PSA_PARSER, PSA_MAIN)
    } else {
        format!("{here}{text}")
    }
}

fn dynamic(full_name: &str, bytes: &[u8]) -> DynamicMessage {
    let descriptor = descriptor_pool().get_message_by_name(full_name).unwrap();
    DynamicMessage::decode(descriptor, bytes).unwrap()
}

/// Collects the places where `made` lacks a value of `expected`.
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
    let mut expected = Expectations::of(block);
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
        let is_met = file == case.file && expected.meet(d, line);
        if !is_met && (d.is_error() || d.code.id.starts_with("P2")) {
            let text = &d.primary.text;
            faults.push(format!("{file}:{line}: not expected: [{}] {} ({text})", d.code.id, d.message));
        }
    }
    faults.extend(expected.missing(&case.file));
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
    mdtest::run(&here.join("tests/cases"), CASES_MIN, &mut |case| faults(case, &includes));
}
