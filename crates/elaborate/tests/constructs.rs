//! What each construct of the language becomes, as documents: `constructs/*.md`.
//!
//! A case is a heading, pieces of a v1model program fenced as `p4` with the word `declarations`, `parser` or
//! `ingress`, and the IR fenced as `ir`: procedures, tables, and the block that the case is about. Fields of
//! `hdr` and `meta` are those of [`common::v1model`].
//!
//! `BLESS=1 cargo test -p elaborate --test constructs` writes the IR anew; read the difference.

mod common;

use std::fmt::Write as _;
use std::path::Path;

/// Enough cases that no topic can have been lost by a slip of the reader.
const CASES_MIN: usize = 55;

#[derive(Default)]
struct Case {
    heading: String,
    declarations: String,
    parser: Option<String>,
    ingress: Option<String>,
    ir: String,
}

fn cases_of(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut fence: Option<String> = None;
    for line in text.lines() {
        if let Some(info) = line.strip_prefix("```") {
            fence = match fence {
                Some(_) => None,
                None => Some(info.to_string()),
            };
            continue;
        }
        let Some(info) = &fence else {
            if let Some(heading) = line.strip_prefix("## ") {
                cases.push(Case { heading: heading.to_string(), ..Case::default() });
            }
            continue;
        };
        let case = cases.last_mut().expect("a fence stands under a heading");
        let piece = match info.as_str() {
            "p4 declarations" => &mut case.declarations,
            "p4 parser" => case.parser.get_or_insert_default(),
            "p4 ingress" => case.ingress.get_or_insert_default(),
            "ir" => &mut case.ir,
            other => panic!("`{}`: unknown fence `{other}`", case.heading),
        };
        piece.push_str(line);
        piece.push('\n');
    }
    assert!(fence.is_none(), "the last fence is not closed");
    cases
}

/// The parts of the text of a program that a case shows.
fn shown(program: &ir::Program, case: &Case) -> String {
    let text = ir::text::print(program);
    let wanted = |line: &str| {
        line.starts_with("procedure ")
            || line.starts_with("table ")
            || (line.starts_with("block I:") && case.ingress.is_some())
            || (line.starts_with("block P:") && case.parser.is_some())
    };
    let mut out = String::new();
    let mut inside = false;
    for line in text.lines() {
        if !line.starts_with([' ', '}']) {
            inside = wanted(line);
        }
        if inside {
            let _ = writeln!(out, "{line}");
        }
    }
    out
}

fn document(intro: &str, cases: &[Case]) -> String {
    let mut out = intro.to_string();
    for case in cases {
        let _ = write!(out, "## {}\n\n", case.heading);
        let declarations = (!case.declarations.is_empty()).then_some(&case.declarations);
        let pieces = [
            ("p4 declarations", declarations),
            ("p4 parser", case.parser.as_ref()),
            ("p4 ingress", case.ingress.as_ref()),
            ("ir", Some(&case.ir)),
        ];
        for (info, text) in pieces {
            if let Some(text) = text {
                let _ = write!(out, "```{info}\n{text}```\n\n");
            }
        }
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

#[test]
fn constructs_become_what_the_documents_say() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/constructs");
    let bless = std::env::var_os("BLESS").is_some();
    let mut files: Vec<_> = std::fs::read_dir(&dir).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    let (mut n_cases, mut failures) = (0, String::new());
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let intro = text.split("## ").next().unwrap_or("").to_string();
        let mut cases = cases_of(&text);
        for case in &mut cases {
            n_cases += 1;
            let parser = case.parser.as_deref().unwrap_or(common::ACCEPT);
            let ingress = case.ingress.as_deref().unwrap_or("apply { }");
            let program = common::v1model(&case.declarations, parser, ingress);
            let found = match common::try_elaborate(&program) {
                Ok(ir) => {
                    if let Err(violations) = ir::validate(&ir) {
                        let first = violations.iter().take(3).map(ToString::to_string);
                        let _ =
                            writeln!(failures, "{}: {}", case.heading, first.collect::<Vec<_>>().join("; "));
                    }
                    shown(&ir, case)
                }
                Err(faults) => format!("{}\n", faults.join("\n")),
            };
            if found != case.ir {
                if !bless {
                    let _ = writeln!(
                        failures,
                        "{}: {}\n--- wanted\n{}--- found\n{found}",
                        file.display(),
                        case.heading,
                        case.ir
                    );
                }
                case.ir = found;
            }
        }
        if bless {
            std::fs::write(&file, document(&intro, &cases)).unwrap();
        }
    }
    assert!(failures.is_empty(), "{failures}");
    assert!(n_cases >= CASES_MIN, "only {n_cases} cases");
}

#[test]
fn what_no_architecture_runs_is_refused() {
    let own_package = "control c(); package V1Switch(c x); control k() { apply { } } V1Switch(k()) main;";
    for program in [own_package, "control c();"] {
        let faults = common::try_elaborate(program).expect_err("nothing can run this");
        assert!(faults.iter().all(|f| f.starts_with("P2300")), "{faults:?}");
    }
    let empty = common::elaborate(&common::v1model("", common::ACCEPT, "apply { }"));
    assert_eq!(empty.pipeline.len(), 6);
}

#[test]
fn programs_that_grow_without_measure_are_refused() {
    // Each function calls its predecessor with two types.
    let mut functions = "void f0<T>(in T x) { }\n".to_string();
    for i in 1..30 {
        let before = i - 1;
        let _ = writeln!(
            functions,
            "void f{i}<T>(in T x) {{ tuple<T, bit<1>> a; tuple<bit<1>, T> b; f{before}(a); f{before}(b); }}"
        );
    }
    let program = common::v1model(&functions, common::ACCEPT, "apply { f29(meta.x); }");
    let faults = common::try_elaborate(&program).expect_err("far too large");
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(faults[0].starts_with("P3201"), "{faults:?}");
}
