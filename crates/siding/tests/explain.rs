//! Every code has a page, every page has a code, and what pages claim is true.
//!
//! Blocks of P4 are checked; on pages of elaboration (`P23xx`, `P32xx`) they are elaborated too. Pages about test
//! scripts (`P25xx`) have blocks of STF, which run on [`PROGRAM`].
//!
//! `SIDING_BLESS=1 cargo test -p siding --test explain` rewrites the goldens beside the pages.

use control::Schema;
use diagnostics::{Diagnostic, SourceMap};
use interp::traffic::Config;
use siding::explain::{PAGES, Page, page};
use siding::render::{Style, human};
use siding::{FileLoader, IncludeKind, LoadedFile, Loader, Options, Source, codes};
use std::path::PathBuf;
use std::sync::Arc;
use syntax::MacroOption;

/// Pages of limits and the like, which no short program reaches, say so in these words.
const NO_EXAMPLE: &str = "No short example can show this.";

/// What the test scripts of pages run on. A packet is three bytes: `kind`, and `to` of two bytes.
const PROGRAM: &str = "\
#include <v1model.p4>
header message_t { bit<8> kind; bit<16> to; }
struct headers_t { message_t message; }
struct metadata_t {}
parser parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.message); transition accept; }
}
control verify_checksums(inout headers_t hdr, inout metadata_t meta) { apply {} }
control ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    direct_counter(CounterType.packets) per_route;
    counter(4, CounterType.packets) per_port;
    register<bit<16>>(8) state;
    action forward(bit<9> port) { std.egress_spec = port; }
    action drop() { mark_to_drop(std); }
    table route {
        key = { hdr.message.to: exact; }
        actions = { forward; drop; }
        default_action = drop();
        counters = per_route;
    }
    table filter {
        key = { hdr.message.kind: ternary; }
        actions = { drop; NoAction; }
        default_action = NoAction();
    }
    apply {
        per_port.count((bit<32>) std.ingress_port);
        state.write(0, hdr.message.to);
        route.apply();
        filter.apply();
    }
}
control egress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    table filter {
        key = { std.egress_port: exact; }
        actions = { NoAction; }
        default_action = NoAction();
    }
    apply { filter.apply(); }
}
control update(inout headers_t hdr, inout metadata_t meta) { apply {} }
control deparse(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.message); } }
V1Switch(parse(), verify_checksums(), ingress(), egress(), update(), deparse()) main;
";

/// The include files of the compiler; a block can also include itself.
struct PageLoader<'a> {
    name: &'a str,
    text: &'a str,
}

impl Loader for PageLoader<'_> {
    fn load(&self, name: &str, kind: IncludeKind, from: &str) -> Option<LoadedFile> {
        if name == self.name {
            return Some(LoadedFile { name: name.into(), text: self.text.into(), is_system: false });
        }
        FileLoader::default().load(name, kind, from)
    }
}

/// What there was to say about a block.
struct Outcome {
    diagnostics: Vec<Diagnostic>,
    sources: Arc<SourceMap>,
}

fn is_about_scripts(page: &Page) -> bool {
    page.id.starts_with("P25")
}

/// The blocks of a page that are `error` or `fixed`, with further words of their fences.
fn blocks(page: &Page, role: &str) -> Vec<(Vec<&'static str>, String)> {
    page.fenced(if is_about_scripts(page) { "stf" } else { "p4" }, role)
}

fn outcome(page: &Page, words: &[&str], text: &str) -> Outcome {
    if is_about_scripts(page) {
        assert!(words.is_empty(), "{}: unknown words {words:?} on a fence", page.id);
        run(page, text)
    } else {
        check(page, words, text)
    }
}

fn check(page: &Page, words: &[&str], text: &str) -> Outcome {
    let mut options = Options::default();
    let elaborates = page.id.starts_with("P23") || page.id.starts_with("P32");
    let mut wants_p4info = page.id.starts_with("P2");
    for word in words {
        match word.strip_prefix("-D").and_then(|d| d.split_once('=')) {
            Some((name, value)) => {
                options.syntax.macros.push(MacroOption::Define(name.into(), value.into()));
            }
            None if *word == "strict" => options.check.strict = true,
            None if *word == "p4info" => wants_p4info = true,
            None => panic!("{}: unknown word `{word}` on a fence", page.id),
        }
    }
    let name = format!("{}.p4", page.id);
    let source = Source { name: name.clone(), text: text.into() };
    let mut checked = driver::check(&source, &PageLoader { name: &name, text }, &options);
    if elaborates {
        driver::runnable(&mut checked, None);
    } else if wants_p4info {
        driver::control_plane(&mut checked, None);
    }
    Outcome { diagnostics: checked.diagnostics.into_vec(), sources: Arc::new(checked.sources) }
}

/// As `siding run` does: a script with faults is not run.
fn run(page: &Page, text: &str) -> Outcome {
    let source = Source { name: "program.p4".into(), text: PROGRAM.into() };
    let mut checked = driver::check(&source, &FileLoader::default(), &Options::default());
    let runnable = driver::runnable(&mut checked, None).expect("the program is correct");
    let schema = Arc::new(Schema::new(&runnable.control_plane.p4info).expect("made by the compiler"));
    let interpreter = interp::interpreter(runnable.program, Arc::clone(&schema), Config::default())
        .expect("made by the compiler");
    let stf::Parsed { script, sources, diagnostics } = stf::parse(&format!("{}.stf", page.id), text);
    let (plan, unresolved) = stf::resolve(&script, &schema);
    let mut diagnostics = diagnostics.into_vec();
    if page.id == stf::codes::NO_CHECK.id {
        diagnostics.extend(script.check_missing(&sources));
    }
    diagnostics.extend(unresolved.into_vec());
    if diagnostics.is_empty() {
        let mut dut = testkit::BlockByBlock::new(interpreter);
        let report = stf::run(&script, &plan, &sources, &schema, &mut dut, &|_, _| None);
        diagnostics.extend(report.faults);
    }
    Outcome { diagnostics, sources: Arc::new(sources) }
}

/// Errors and what the page is about; that a snippet has no `main` goes without saying.
fn messages(page: &Page, outcome: &Outcome) -> String {
    let shown = outcome.diagnostics.iter().filter(|d| d.is_error() || d.code.id == page.id);
    shown.map(|d| human(d, &outcome.sources, Style::default()) + "\n").collect()
}

#[test]
fn every_code_has_a_page() {
    let missing: Vec<_> = codes::all().iter().map(|c| c.id).filter(|id| page(id).is_none()).collect();
    assert!(missing.is_empty(), "no page in docs/diagnostics: {}", missing.join(" "));
}

#[test]
fn every_page_has_a_code() {
    for p in PAGES {
        let code = codes::find(p.id).filter(|c| c.id == p.id);
        assert!(code.is_some(), "docs/diagnostics/{}.md: no such code", p.id);
        assert!(p.title().starts_with(&format!("{}: ", p.id)), "{}: the heading is `# {}: ...`", p.id, p.id);
        assert!(p.text.ends_with('\n') && !p.text.contains('\r'), "{}: line ends", p.id);
    }
}

#[test]
fn examples_of_pages_behave() {
    let mut faults = Vec::new();
    for p in PAGES {
        let (bad, good) = (blocks(p, "error"), blocks(p, "fixed"));
        if bad.is_empty() || good.is_empty() {
            let words: Vec<&str> = p.text.split_whitespace().collect();
            if !words.join(" ").contains(NO_EXAMPLE) {
                faults.push(format!("{}: needs a block `error` and a block `fixed`", p.id));
            }
            continue;
        }
        for (words, text) in &bad {
            let outcome = outcome(p, words, text);
            let first = outcome.diagnostics.iter().find(|d| d.is_error());
            let first = first.or_else(|| outcome.diagnostics.iter().find(|d| d.code.id == p.id));
            if first.is_none_or(|d| d.code.id != p.id) {
                let got = messages(p, &outcome);
                faults.push(format!("{}: the `error` block yields\n{got}", p.id));
            }
        }
        for (words, text) in &good {
            let outcome = outcome(p, words, text);
            // A script is not run as long as there is anything to say about it.
            let is_fault = |d: &Diagnostic| d.is_error() || d.code.id == p.id || is_about_scripts(p);
            if outcome.diagnostics.iter().any(is_fault) {
                let got = messages(p, &outcome);
                faults.push(format!("{}: the `fixed` block yields\n{got}", p.id));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn messages_match_their_goldens() {
    let docs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/diagnostics");
    let bless = std::env::var_os("SIDING_BLESS").is_some();
    let mut faults = Vec::new();
    for p in PAGES {
        let text: String =
            blocks(p, "error").iter().map(|(words, text)| messages(p, &outcome(p, words, text))).collect();
        let path = docs.join(format!("{}.txt", p.id));
        if bless && text.is_empty() {
            let _ = std::fs::remove_file(&path);
        } else if bless {
            std::fs::write(&path, &text).unwrap();
        }
        let golden = std::fs::read_to_string(&path).unwrap_or_default();
        if golden != text {
            faults.push(format!("{}.txt says\n{golden}\nbut the messages are\n{text}", p.id));
        }
    }
    for entry in std::fs::read_dir(&docs).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some(id) = name.strip_suffix(".txt")
            && page(id).is_none()
        {
            faults.push(format!("{name} belongs to no page"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The names of the constants of a source file that hold drop reasons.
fn constants(source: &str) -> Vec<&str> {
    let text =
        std::iter::successors(Some(source), |rest| rest.split_once("pub const ").map(|(_, rest)| rest));
    let names = text.skip(1).filter_map(|rest| {
        let (declaration, value) = rest.split_once(" = \"")?;
        let is_name = declaration.ends_with(": &str") && !declaration.contains(';');
        is_name.then(|| value.split('"').next()).flatten()
    });
    names.collect()
}

#[test]
fn every_drop_reason_has_a_section() {
    let mut wanted: Vec<&str> = native::abi::DROP_REASONS.to_vec();
    let totals = include_str!("../../target/src/traffic/totals.rs");
    let (dropped, ignored) = totals.split_once("pub mod ignored").unwrap();
    let (traffic, ignored) = (constants(dropped), constants(ignored));
    let page = include_str!("../../../docs/reference/drop-reasons.md");
    let rows: Vec<&str> =
        page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    assert!(ignored.len() >= 2 && ignored.iter().all(|name| rows.contains(name)), "{ignored:?} {rows:?}");
    let switch = constants(include_str!("../../dataplane/src/report.rs"));
    assert!(traffic.len() >= 12 && switch.len() >= 11, "{traffic:?} {switch:?}");
    wanted.extend(traffic);
    wanted.extend(switch);
    wanted.push("extern_panicked");
    let models = arch::Architecture::all().filter_map(arch::Architecture::pipeline);
    let steps = models.flat_map(|model| &model.sections).flat_map(|section| &section.steps);
    wanted.extend(steps.filter_map(|step| match &step.effect {
        arch::flow::Effect::Drop(reason) => Some(reason.as_str()),
        _ => None,
    }));
    let known: Vec<&str> = siding::explain::drop_reasons().collect();
    for reason in &wanted {
        assert!(known.contains(reason), "docs/reference/drop-reasons.md lacks {reason}");
        let section = siding::explain::drop_reason(reason).unwrap();
        assert!(section.starts_with(reason) && section.lines().count() > 2, "{section}");
        assert!(!section.contains("##"), "{section}");
    }
    for reason in known {
        assert!(wanted.contains(&reason), "nothing is dropped for {reason}");
    }
}
