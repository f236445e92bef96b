//! The type rules as documents: every case of `rules/*.md` behaves as its comments say.
//!
//! A case is a heading and one block fenced as `p4`, with comments that name the diagnostics of their lines (see crate
//! `mdtest`). All errors of a case must be named, so a case without such comments must be accepted; warnings may be left
//! unnamed.
//!
//! Words on the fence: `strict` reads the specification strictly, `assignable` lets actions assign their data, `core` includes `core.p4`, `v1model`
//! includes `v1model.p4`, `unmet` marks a case that announces what should be and is not yet so.
//!
//! `LITERATE=text cargo test -p check --test literate` runs only the cases whose file or heading contains
//! the text.

use diagnostics::{Diagnostic, SourceMap};
use mdtest::{Case, Expectations};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use syntax::{IncludeKind, LoadedFile, Loader};

/// Fewer cases mean that a page was lost.
const CASES_MIN: usize = 700;

/// The compiler's own include files.
struct Includes(PathBuf);

impl Loader for Includes {
    fn load(&self, name: &str, _kind: IncludeKind, _from: &str) -> Option<LoadedFile> {
        let text = std::fs::read_to_string(self.0.join(name)).ok()?;
        Some(LoadedFile { name: name.into(), text: text.into(), is_system: true })
    }
}

fn place(d: &Diagnostic, sources: &SourceMap) -> (String, usize) {
    sources.locate(d.primary.span).map_or((String::new(), 0), |l| (l.file, l.line as usize))
}

/// The differences between a case and the diagnostics of its program.
fn faults(case: &Case, includes: &Includes) -> Vec<String> {
    let block = case.only("p4");
    let fence = || format!("{}:{}", case.file, block.line - 1);
    let mut options = check::Options::default();
    let mut text = String::new();
    for word in &block.words {
        match word.as_str() {
            "strict" => options.strict = true,
            "assignable" => options.assignable_action_data = true,
            "core" => text.push_str("#include <core.p4>\n"),
            "v1model" => text.push_str("#include <v1model.p4>\n"),
            "unmet" => {}
            _ => return vec![format!("{}: unknown word `{word}`", fence())],
        }
    }
    let _ = writeln!(text, "#line {} \"{}\"", block.line, case.file);
    text.push_str(&block.text);
    let checked =
        check::check(syntax::parse(&case.file, text, includes, &syntax::Options::default()), &options);
    let mut expected = Expectations::of(block);
    let mut faults = Vec::new();
    for d in checked.diagnostics.iter() {
        let (file, line) = place(d, &checked.sources);
        let is_met = file == case.file && expected.meet(d, line);
        if !is_met && d.is_error() {
            let mut said = d.primary.text.clone();
            d.notes.iter().chain(&d.helps).for_each(|t| said.extend(["; ", t]));
            faults.push(format!("{file}:{line}: not expected: [{}] {} ({said})", d.code.id, d.message));
        }
    }
    faults.extend(expected.missing(&case.file));
    match (block.has("unmet"), faults.is_empty()) {
        (false, _) => faults,
        (true, false) => Vec::new(),
        (true, true) => vec![format!("{}: the word `unmet` is no longer true", fence())],
    }
}

#[test]
fn cases_behave_as_they_say() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let includes = Includes(here.join("../arch/p4include"));
    mdtest::run(&here.join("tests/rules"), CASES_MIN, &mut |case| faults(case, &includes));
}
