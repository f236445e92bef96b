//! Programs to elaborate.

use elaborate::Purpose;
use ir::Program;
use syntax::{IncludeKind, LoadedFile, Loader};

struct Includes;

impl Loader for Includes {
    fn load(&self, name: &str, _: IncludeKind, _: &str) -> Option<LoadedFile> {
        let text = arch::include_file(name)?;
        Some(LoadedFile { name: format!("<p4include>/{name}"), text: text.into(), is_system: true })
    }
}

/// Elaborates a program that must be good.
pub fn elaborate(text: &str) -> Program {
    try_elaborate(text).unwrap_or_else(|faults| panic!("{faults:?}"))
}

/// Elaborates a program that the checker must accept; gives the messages otherwise.
pub fn try_elaborate(text: &str) -> Result<Program, Vec<String>> {
    elaborate_for(text, Purpose::Execution)
}

/// The same for what the program is meant for.
pub fn elaborate_for(text: &str, purpose: Purpose) -> Result<Program, Vec<String>> {
    let parsed = syntax::parse("test.p4", text.to_string(), &Includes, &syntax::Options::default());
    let checked = check::check(parsed, &check::Options::default());
    let errors: Vec<&str> =
        checked.diagnostics.iter().filter(|d| d.is_error()).map(|d| d.message.as_str()).collect();
    assert_eq!(errors, Vec::<&str>::new());
    let program = elaborate::elaborate_for(&checked.program, purpose).map_err(|faults| {
        faults.iter().map(|d| format!("{}: {}", d.code.id, d.message)).collect::<Vec<String>>()
    })?;
    assert_eq!(ir::validate(&program), Ok(()));
    Ok(program)
}

/// The faults of a program that the checker accepts.
#[allow(dead_code, reason = "not every test needs it")]
pub fn faults_of(text: &str) -> Vec<diagnostics::Diagnostic> {
    let parsed = syntax::parse("test.p4", text.to_string(), &Includes, &syntax::Options::default());
    let checked = check::check(parsed, &check::Options::default());
    elaborate::elaborate(&checked.program).err().unwrap_or_default()
}

/// The errors of the checker.
#[allow(dead_code, reason = "not every test needs it")]
pub fn check_errors(text: &str) -> Vec<String> {
    let parsed = syntax::parse("test.p4", text.to_string(), &Includes, &syntax::Options::default());
    let checked = check::check(parsed, &check::Options::default());
    let errors = checked.diagnostics.iter().filter(|d| d.is_error());
    errors.map(|d| format!("{}: {}", d.code.id, d.message)).collect()
}

/// A program for v1model with these declarations, states of the parser, and inside of the ingress control.
pub fn v1model(declarations: &str, parser: &str, ingress: &str) -> String {
    format!(
        "#include <core.p4>
#include <v1model.p4>
header h_t {{ bit<8> a; bit<16> b; bit<32> c; int<8> s; bool flag; bit<7> pad; }}
{declarations}
struct headers {{ h_t h; h_t g; h_t[4] stack; }}
struct metadata {{ bit<8> x; bit<16> y; }}
parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {{
    {parser}
}}
control V(inout headers hdr, inout metadata meta) {{ apply {{ }} }}
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {{
    {ingress}
}}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {{ apply {{ }} }}
control C(inout headers hdr, inout metadata meta) {{ apply {{ }} }}
control D(packet_out packet, in headers hdr) {{ apply {{ packet.emit(hdr); }} }}
V1Switch(P(), V(), I(), E(), C(), D()) main;
"
    )
}

/// A parser that accepts at once.
#[allow(dead_code, reason = "not every test needs it")]
pub const ACCEPT: &str = "state start { transition accept; }";
