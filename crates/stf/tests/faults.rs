//! Every fault of the language, as it is shown.
//!
//! `SIDING_BLESS=1 cargo test -p stf` rewrites the goldens; review the difference before committing.

use diagnostics::render::{Style, human};
use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn faults_are_shown() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults");
    let mut codes = BTreeSet::new();
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "stf") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let parsed = stf::parse(name, &text);
        let shown: String =
            parsed.diagnostics.iter().map(|d| human(d, &parsed.sources, Style::default()) + "\n").collect();
        // All lines are at fault but comments and the first of two that are the same.
        let lines: BTreeSet<_> =
            parsed.diagnostics.iter().map(|d| parsed.sources.locate(d.primary.span).unwrap().line).collect();
        assert_eq!(lines.len(), parsed.diagnostics.iter().count(), "{name}: one message per line");
        let n_good = parsed.script.commands.len();
        let n_comments = text.lines().filter(|l| l.starts_with('#')).count();
        assert_eq!(text.lines().count(), lines.len() + n_good + n_comments, "{name}");
        codes.extend(parsed.diagnostics.iter().map(|d| d.code.id));
        let golden = path.with_extension("txt");
        if std::env::var_os("SIDING_BLESS").is_some() {
            std::fs::write(&golden, &shown).unwrap();
        }
        if std::fs::read_to_string(&golden).ok().as_deref() != Some(&shown) {
            wrong.push(format!("{name}:\n{shown}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // The last one needs many lines, see below.
    let all: BTreeSet<_> = stf::codes::ALL.iter().map(|c| c.id).filter(|id| *id < "P2509").collect();
    assert_eq!(codes, all);
}

#[test]
fn reading_stops_at_too_many_faults() {
    let parsed = stf::parse("x.stf", &"?\n".repeat(100_000));
    assert_eq!(parsed.diagnostics.n_errors(), stf::limits::N_FAULTS_MAX + 1);
    assert_eq!(parsed.diagnostics.iter().last().unwrap().code.id, "P2509");
}

#[test]
fn codes_are_in_order() {
    let ids: Vec<_> = stf::codes::ALL.iter().map(|c| c.id).collect();
    assert!(ids.is_sorted() && ids.iter().all(|id| ("P2500".."P2550").contains(id)), "{ids:?}");
}
