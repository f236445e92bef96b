//! The warnings as documents: every case of `warnings/*.md` gives exactly the warnings that its comments name.
//!
//! A case is a heading and one block fenced as `p4`, with comments that name the diagnostics of their lines (see crate
//! `mdtest`). Nothing else may be reported, errors included.
//!
//! Words on the fence: `core` includes `core.p4`, `v1model` includes `v1model.p4`, `whole` marks a whole
//! program; other cases need no `main` and need not use their functions.
//!
//! `LITERATE=text cargo test -p check --test warnings` runs only the cases whose file or heading contains the
//! text.

use mdtest::{Case, Expectations};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use syntax::{IncludeKind, LoadedFile, Loader};

/// Fewer cases mean that a page was lost.
const CASES_MIN: usize = 90;

/// The compiler's own include files.
struct Includes(PathBuf);

impl Loader for Includes {
    fn load(&self, name: &str, _kind: IncludeKind, _from: &str) -> Option<LoadedFile> {
        let text = std::fs::read_to_string(self.0.join(name)).ok()?;
        Some(LoadedFile { name: name.into(), text: text.into(), is_system: true })
    }
}

/// As if there were an architecture with package `Own`.
fn table_properties(package: &str) -> Option<&'static [String]> {
    static OWN: LazyLock<Vec<String>> =
        LazyLock::new(|| ["implementation", "counters"].map(String::from).into());
    (package == "Own").then_some(&OWN)
}

fn faults(case: &Case, includes: &Includes) -> Vec<String> {
    let block = case.only("p4");
    let mut text = String::new();
    for word in &block.words {
        match word.as_str() {
            "core" => text.push_str("#include <core.p4>\n"),
            "v1model" => text.push_str("#include <v1model.p4>\n"),
            "whole" => {}
            _ => return vec![format!("{}:{}: unknown word `{word}`", case.file, block.line - 1)],
        }
    }
    let _ = writeln!(text, "#line {} \"{}\"", block.line, case.file);
    text.push_str(&block.text);
    let parsed = syntax::parse(&case.file, text, includes, &syntax::Options::default());
    let options = check::Options { table_properties: Some(table_properties), ..check::Options::default() };
    let checked = check::check(parsed, &options);
    let mut expected = Expectations::of(block);
    let mut faults = Vec::new();
    for d in checked.diagnostics.iter() {
        let place = checked.sources.locate(d.primary.span);
        let line = place.as_ref().map_or(0, |l| l.line as usize);
        let is_of_wholes = d.code.id == "P1911" && d.message.contains("`main`")
            || d.code.id == "P1901" && d.message.starts_with("function `");
        if !block.has("whole") && is_of_wholes {
            continue;
        }
        if !expected.meet(d, line) {
            let file = place.map_or(String::new(), |l| l.file);
            faults
                .push(format!("{file}:{line}: not announced: [{}] {} ({:?})", d.code.id, d.message, d.helps));
        }
        // The checker itself reports these.
        let is_ours = !matches!(d.code.id, "P1904" | "P1906" | "P1908");
        let is_complete = !is_ours
            || !d.message.is_empty() && (!d.notes.is_empty() || !d.helps.is_empty() || !d.fixes.is_empty());
        if !is_complete {
            faults.push(format!("{}:{line}: [{}] says neither why nor what to type", case.file, d.code.id));
        }
    }
    faults.extend(expected.missing(&case.file));
    faults
}

#[test]
fn cases_warn_as_they_say() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let includes = Includes(here.join("../arch/p4include"));
    mdtest::run(&here.join("tests/warnings"), CASES_MIN, &mut |case| faults(case, &includes));
}

#[test]
fn every_warning_has_a_case() {
    let cases = mdtest::read_dir(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/warnings"));
    let named: BTreeSet<String> =
        cases.iter().flat_map(|case| Expectations::of(case.only("p4")).0).map(|e| e.code).collect();
    let codes = check::codes::ALL.iter().map(|code| code.id).filter(|id| id.starts_with("P19"));
    let missing: Vec<&str> = codes.filter(|id| !named.contains(*id)).collect();
    assert!(missing.is_empty(), "no case for {missing:?}");
}

/// Programs built to be slow end in time and without panic; what is too large is left alone.
#[test]
fn work_is_bounded() {
    let includes = Includes(Path::new(env!("CARGO_MANIFEST_DIR")).join("../arch/p4include"));
    let mut chain = String::from("control c(inout bit<8> x) {\n    action a0() { x = x + 1; }\n");
    for i in 1..40 {
        let _ = writeln!(chain, "    action a{i}() {{ a{}(); a{}(); }}", i - 1, i - 1);
    }
    chain.push_str("    apply { a39(); }\n}\n");
    let mut loops = String::from("void f(inout bit<8> x) {\n    bit<8> y;\n");
    for i in 0..30 {
        let _ = writeln!(loops, "for (bit<8> i{i} in 0..3) {{");
    }
    loops.push_str("y = x; x = y;\n");
    loops.push_str(&"}".repeat(30));
    loops.push('}');
    let mut doubled = String::from("header H { bit<8> a; }\nstruct S0 { H x; H y; }\n");
    for i in 1..40 {
        let _ = writeln!(doubled, "struct S{i} {{ S{} a; S{} b; }}", i - 1, i - 1);
    }
    doubled.push_str("control c(out S39 s) { S39 t; apply { s = t; } }\n");
    let mut parser =
        String::from("parser p(out bit<8> x) {\n    bit<8> y;\n    state start { transition s0; }\n");
    for i in 0..300 {
        let _ = writeln!(
            parser,
            "    state s{i} {{ transition select(x) {{ 0: s{}; 1: s{}; 2: s0; default: accept; }} }}",
            (i + 1) % 300,
            (i * 7) % 300
        );
    }
    parser.push('}');
    let stack = "header H { bit<8> a; }\ncontrol c(out H[16384] s) { apply { H[16384][2] t; s = t[0]; } }"
        .to_string();
    for (name, text) in
        [("chain", chain), ("loops", loops), ("doubled", doubled), ("parser", parser), ("stack", stack)]
    {
        let start = std::time::Instant::now();
        let parsed = syntax::parse(name, text, &includes, &syntax::Options::default());
        let checked = check::check(parsed, &check::Options::default());
        let errors: Vec<_> =
            checked.diagnostics.iter().filter(|d| d.is_error()).map(|d| d.message.as_str()).collect();
        let took = start.elapsed();
        assert!(took.as_secs() < 20, "{name} took {took:?}");
        assert!(errors.len() <= 2, "{name}: {errors:?}");
    }
}
