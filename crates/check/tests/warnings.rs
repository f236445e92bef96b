//! The warnings as documents: every case of `warnings/*.md` gives exactly the warnings that its comments name.
//!
//! A case is a heading and one block fenced as `p4`. A comment on a line names what is reported for that
//! line: `// warn: [P1902] "part of what is said"`, several in a row if need be. The quoted part may stand in
//! the message, its labels, notes, helps or fixes. Nothing else may be said, errors included.
//!
//! Words on the fence: `core` includes `core.p4`, `v1model` includes `v1model.p4`, `whole` marks a whole
//! program; of other cases it is not said that they have no `main` and do not use their functions.
//!
//! `LITERATE=text cargo test -p check --test warnings` runs only the cases whose file or heading contains the
//! text.

use diagnostics::Diagnostic;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use syntax::{IncludeKind, LoadedFile, Loader};

/// Enough cases that no topic can have been lost by a slip of the reader.
const CASES_MIN: usize = 90;

#[derive(Default)]
struct Case {
    file: String,
    heading: String,
    words: Vec<String>,
    /// Line of the fence, from 1.
    line: usize,
    text: String,
}

struct Expectation {
    code: String,
    part: Option<String>,
    line: usize,
}

/// The compiler's own include files.
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
    let mut cases = Vec::new();
    let mut heading = String::new();
    let mut open: Option<Case> = None;
    for (i, line) in text.lines().enumerate() {
        if let Some(info) = line.strip_prefix("```") {
            match open.take() {
                Some(case) => cases.push(case),
                None => {
                    let mut words = info.split_whitespace().map(String::from);
                    assert_eq!(
                        words.next().as_deref(),
                        Some("p4"),
                        "{file}:{}: a fence that is not p4",
                        i + 1
                    );
                    assert!(!heading.is_empty(), "{file}:{}: a case needs a heading of its own", i + 1);
                    open = Some(Case {
                        file: file.clone(),
                        heading: std::mem::take(&mut heading),
                        words: words.collect(),
                        line: i + 1,
                        text: String::new(),
                    });
                }
            }
        } else if let Some(case) = &mut open {
            case.text.push_str(line);
            case.text.push('\n');
        } else if let Some(h) = line.strip_prefix("## ") {
            assert!(heading.is_empty(), "{file}:{}: `{heading}` has no program", i + 1);
            heading = h.to_string();
        }
    }
    assert!(open.is_none() && heading.is_empty(), "{file}: the last case is not complete");
    cases
}

fn expectations(case: &Case) -> Vec<Expectation> {
    let mut all = Vec::new();
    for (i, line) in case.text.lines().enumerate() {
        let Some((_, comment)) = line.split_once("//") else { continue };
        for said in comment.split("warn: [").skip(1) {
            let (code, rest) =
                said.split_once(']').unwrap_or_else(|| panic!("{}: no `]` in {line}", case.file));
            let quoted = rest.split_once('"').and_then(|(_, q)| q.split_once('"'));
            all.push(Expectation {
                code: code.to_string(),
                part: quoted.map(|(part, _)| part.to_string()),
                line: case.line + 1 + i,
            });
        }
    }
    all
}

fn says(d: &Diagnostic, part: &str) -> bool {
    let labels = d.labels.iter().map(|l| &l.text);
    let fixes = d.fixes.iter().map(|f| &f.message);
    let mut texts =
        [&d.message, &d.primary.text].into_iter().chain(labels).chain(&d.notes).chain(&d.helps).chain(fixes);
    texts.any(|t| t.contains(part))
}

/// As if there were an architecture with package `Own`.
fn table_properties(package: &str) -> Option<&'static [&'static str]> {
    (package == "Own").then_some(&["implementation", "counters"])
}

fn faults(case: &Case, includes: &Includes) -> Vec<String> {
    let mut text = String::new();
    let mut is_whole = false;
    for word in &case.words {
        match word.as_str() {
            "core" => text.push_str("#include <core.p4>\n"),
            "v1model" => text.push_str("#include <v1model.p4>\n"),
            "whole" => is_whole = true,
            _ => return vec![format!("{}:{}: unknown word `{word}`", case.file, case.line)],
        }
    }
    let _ = writeln!(text, "#line {} \"{}\"", case.line + 1, case.file);
    text.push_str(&case.text);
    let parsed = syntax::parse(&case.file, text, includes, &syntax::Options::default());
    let options = check::Options { table_properties: Some(table_properties), ..check::Options::default() };
    let checked = check::check(parsed, &options);
    let mut expected: Vec<Option<Expectation>> = expectations(case).into_iter().map(Some).collect();
    let mut faults = Vec::new();
    for d in checked.diagnostics.iter() {
        let place = checked.sources.locate(d.primary.span);
        let line = place.as_ref().map_or(0, |l| l.line as usize);
        let is_of_wholes = d.code.id == "P1911" && d.message.contains("`main`")
            || d.code.id == "P1901" && d.message.starts_with("function `");
        if !is_whole && is_of_wholes {
            continue;
        }
        let met = expected.iter_mut().find(|e| {
            e.as_ref().is_some_and(|e| {
                e.code == d.code.id && e.line == line && e.part.as_ref().is_none_or(|p| says(d, p))
            })
        });
        match met {
            Some(e) => *e = None,
            None => {
                let file = place.map_or(String::new(), |l| l.file);
                faults.push(format!(
                    "{file}:{line}: not announced: [{}] {} ({:?})",
                    d.code.id, d.message, d.helps
                ));
            }
        }
        // Said by the checker itself.
        let is_ours = !matches!(d.code.id, "P1904" | "P1906" | "P1908");
        let is_complete = !is_ours
            || !d.message.is_empty() && (!d.notes.is_empty() || !d.helps.is_empty() || !d.fixes.is_empty());
        if !is_complete {
            faults.push(format!("{}:{line}: [{}] says neither why nor what to type", case.file, d.code.id));
        }
    }
    for e in expected.into_iter().flatten() {
        faults.push(format!("{}:{}: missing: [{}] {:?}", case.file, e.line, e.code, e.part));
    }
    faults
}

#[test]
fn cases_warn_as_they_say() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let includes = Includes(here.join("../arch/p4include"));
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(here.join("tests/warnings")).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "md"));
    files.sort();
    let wanted = std::env::var("LITERATE").ok();
    let mut report = String::new();
    let (mut n_cases, mut n_bad) = (0, 0);
    let mut told: std::collections::BTreeSet<String> = std::collections::BTreeSet::new();
    for case in files.iter().flat_map(|f| cases_of(f)) {
        if wanted.as_ref().is_some_and(|w| !case.file.contains(w) && !case.heading.contains(w)) {
            continue;
        }
        n_cases += 1;
        told.extend(expectations(&case).into_iter().map(|e| e.code));
        let found = faults(&case, &includes);
        if !found.is_empty() {
            n_bad += 1;
            let _ = writeln!(report, "{}: {}", case.file, case.heading);
            for f in &found {
                let _ = writeln!(report, "    {f}");
            }
        }
    }
    assert!(n_bad == 0, "{n_bad} of {n_cases} cases differ:\n{report}");
    if wanted.is_none() {
        assert!(n_cases >= CASES_MIN, "only {n_cases} cases");
        let untold: Vec<_> = check::codes::ALL
            .iter()
            .filter(|c| c.id.starts_with("P19") && !told.contains(c.id))
            .map(|c| c.id)
            .collect();
        assert!(untold.is_empty(), "no case for {untold:?}");
    }
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
