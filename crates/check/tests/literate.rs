//! The type rules as documents: every case of `rules/*.md` behaves as its comments say.
//!
//! A case is a heading and one block fenced as `p4`. A comment on a line names what is reported for that
//! line: `// error: [P1308] "part of what is said"`, several in a row if need be, and `// warn: [P1905]`.
//! The quoted part may stand in the message, its labels, notes or helps. All errors of a case must be named,
//! so a case without such comments must be accepted; warnings may be left unnamed.
//!
//! Words on the fence: `strict` reads the specification strictly, `core` includes `core.p4`, `v1model`
//! includes `v1model.p4`, `unmet` marks a case that announces what should be and is not yet so.
//!
//! `LITERATE=text cargo test -p check --test literate` runs only the cases whose file or heading contains
//! the text.

use diagnostics::{Diagnostic, Severity, SourceMap};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use syntax::{IncludeKind, LoadedFile, Loader};

/// Enough cases that no topic can have been lost by a slip of the reader.
const CASES_MIN: usize = 700;

struct Case {
    file: String,
    heading: String,
    words: Vec<String>,
    /// Line of the first line of the program, from 1.
    line: usize,
    text: String,
}

#[derive(Debug)]
struct Expectation {
    severity: Severity,
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
    let mut cases: Vec<Case> = Vec::new();
    let mut heading = String::new();
    let mut open = false;
    for (i, line) in text.lines().enumerate() {
        if let Some(info) = line.strip_prefix("```") {
            if open {
                open = false;
                continue;
            }
            let mut words = info.split_whitespace().map(String::from);
            assert_eq!(words.next().as_deref(), Some("p4"), "{file}:{}: a fence that is not p4", i + 1);
            assert!(!heading.is_empty(), "{file}:{}: a case needs a heading of its own", i + 1);
            let heading = std::mem::take(&mut heading);
            let words = words.collect();
            cases.push(Case { file: file.clone(), heading, words, line: i + 2, text: String::new() });
            open = true;
        } else if open {
            let case = cases.last_mut().unwrap();
            case.text.push_str(line);
            case.text.push('\n');
        } else if let Some(h) = line.strip_prefix("## ") {
            assert!(heading.is_empty(), "{file}:{}: `{heading}` has no program", i + 1);
            heading = h.to_string();
        }
    }
    assert!(!open && heading.is_empty(), "{file}: the last case is not complete");
    cases
}

/// What the comments of a case announce.
fn expectations(case: &Case) -> Vec<Expectation> {
    let mut out = Vec::new();
    for (i, line) in case.text.lines().enumerate() {
        let Some((_, comment)) = line.split_once("//") else { continue };
        let line = case.line + i;
        let mut rest = comment;
        while let Some(at) = rest.find("error: [").into_iter().chain(rest.find("warn: [")).min() {
            let severity = if rest[at..].starts_with("error") { Severity::Error } else { Severity::Warning };
            let code = &rest[at + rest[at..].find('[').unwrap() + 1..];
            let (code, after) =
                code.split_once(']').unwrap_or_else(|| panic!("{}:{line}: no `]`", case.file));
            rest = after;
            let mut part = None;
            if let Some(quoted) = rest.trim_start().strip_prefix('"') {
                let (text, after) = quoted
                    .split_once('"')
                    .unwrap_or_else(|| panic!("{}:{line}: no closing quote", case.file));
                part = Some(text.to_string());
                rest = after;
            }
            out.push(Expectation { severity, code: code.to_string(), part, line });
        }
    }
    out
}

fn says(d: &Diagnostic, part: &str) -> bool {
    let labels = d.labels.iter().map(|l| &l.text);
    let fixes = d.fixes.iter().map(|f| &f.message);
    let mut texts =
        [&d.message, &d.primary.text].into_iter().chain(labels).chain(&d.notes).chain(&d.helps).chain(fixes);
    texts.any(|t| t.contains(part))
}

fn place(d: &Diagnostic, sources: &SourceMap) -> (String, usize) {
    sources.locate(d.primary.span).map_or((String::new(), 0), |l| (l.file, l.line as usize))
}

/// The differences between what a case announces and what is reported.
fn faults(case: &Case, includes: &Includes) -> Vec<String> {
    let mut options = check::Options::default();
    let mut prelude = String::new();
    for word in &case.words {
        match word.as_str() {
            "strict" => options.strict = true,
            "core" => prelude.push_str("#include <core.p4>\n"),
            "v1model" => prelude.push_str("#include <v1model.p4>\n"),
            "unmet" => {}
            _ => return vec![format!("{}:{}: unknown word `{word}`", case.file, case.line - 1)],
        }
    }
    let _ = writeln!(prelude, "#line {} \"{}\"", case.line, case.file);
    let text = prelude + &case.text;
    let checked =
        check::check(syntax::parse(&case.file, text, includes, &syntax::Options::default()), &options);
    let mut expected: Vec<Option<Expectation>> = expectations(case).into_iter().map(Some).collect();
    let mut faults = Vec::new();
    for d in checked.diagnostics.iter() {
        let (file, line) = place(d, &checked.sources);
        let met = expected.iter_mut().find(|e| {
            e.as_ref().is_some_and(|e| {
                e.severity == d.severity
                    && e.code == d.code.id
                    && file == case.file
                    && e.line == line
                    && e.part.as_ref().is_none_or(|p| says(d, p))
            })
        });
        match met {
            Some(e) => *e = None,
            None if d.is_error() => {
                let mut said = d.primary.text.clone();
                d.notes.iter().chain(&d.helps).for_each(|t| said.extend(["; ", t]));
                faults.push(format!("{file}:{line}: not expected: [{}] {} ({said})", d.code.id, d.message));
            }
            None => {}
        }
    }
    for e in expected.into_iter().flatten() {
        let part = e.part.map_or(String::new(), |p| format!(" \"{p}\""));
        let severity = e.severity;
        faults.push(format!("{}:{}: missing: {severity:?} [{}]{part}", case.file, e.line, e.code));
    }
    faults
}

#[test]
fn cases_behave_as_they_say() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let includes = Includes(here.join("../arch/p4include"));
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(here.join("tests/rules")).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "md"));
    files.sort();
    let wanted = std::env::var("LITERATE").ok();
    let mut report = String::new();
    let (mut n_cases, mut n_bad) = (0, 0);
    for case in files.iter().flat_map(|f| cases_of(f)) {
        if wanted.as_ref().is_some_and(|w| !case.file.contains(w) && !case.heading.contains(w)) {
            continue;
        }
        n_cases += 1;
        let mut found = faults(&case, &includes);
        if case.words.iter().any(|w| w == "unmet") {
            found = match found.is_empty() {
                true => vec![format!("{}:{}: the word `unmet` is no longer true", case.file, case.line - 1)],
                false => Vec::new(),
            };
        }
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
