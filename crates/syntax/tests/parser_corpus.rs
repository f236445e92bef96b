//! The reference compiler's test programs, when `SIDING_P4C` names its checkout.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use syntax::{IncludeKind, LoadedFile, Loader, Options, Parsed};

struct Files {
    include: PathBuf,
}

impl Loader for Files {
    fn load(&self, name: &str, kind: IncludeKind, from: &str) -> Option<LoadedFile> {
        let beside = Path::new(from).parent().map(|d| d.join(name));
        let candidates = match kind {
            IncludeKind::Local => {
                vec![beside?, self.include.join(name), self.include.join("bmv2").join(name)]
            }
            IncludeKind::System => vec![self.include.join(name), self.include.join("bmv2").join(name)],
        };
        candidates.into_iter().find_map(|path| {
            let bytes = fs::read(&path).ok()?;
            Some(LoadedFile {
                name: path.display().to_string(),
                text: String::from_utf8_lossy(&bytes).into_owned().into(),
                is_system: kind == IncludeKind::System,
            })
        })
    }
}

fn checkout() -> Option<PathBuf> {
    let root = std::env::var_os("SIDING_P4C").map(PathBuf::from);
    if root.is_none() {
        println!("skipped: SIDING_P4C does not name a checkout of the reference compiler");
    }
    root
}

fn programs(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut dirs = vec![dir.to_path_buf()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.extension().is_some_and(|e| e == "p4") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn parse(root: &Path, path: &Path) -> Parsed {
    let loader = Files { include: root.join("p4include") };
    let text = String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
    syntax::parse(&path.display().to_string(), text, &loader, &Options::default())
}

/// Messages of the grammar, as `line: [code] message`.
fn complaints(parsed: &Parsed) -> Vec<(u32, String)> {
    parsed
        .diagnostics
        .iter()
        .filter(|d| d.is_error())
        .map(|d| {
            let line = parsed.sources.locate(d.primary.span).map_or(0, |l| l.line);
            (line, format!("{line}: [{}] {}", d.code.id, d.message))
        })
        .collect()
}

fn sample_programs(root: &Path) -> Vec<PathBuf> {
    ["p4_16_samples", "p4_16_samples_outputs", "p4_14_samples_outputs"]
        .iter()
        .flat_map(|dir| programs(&root.join("testdata").join(dir)))
        .collect()
}

#[test]
fn good_programs_are_accepted() {
    let Some(root) = checkout() else { return };
    let mut bad = BTreeMap::new();
    let programs = sample_programs(&root);
    for path in &programs {
        let complaints = complaints(&parse(&root, path));
        if !complaints.is_empty() {
            bad.insert(path, complaints);
        }
    }
    println!("{} programs, {} refused", programs.len(), bad.len());
    assert!(programs.len() > 1000 && bad.is_empty(), "{bad:#?}");
}

#[test]
fn printing_and_parsing_gives_the_same_tree() {
    let Some(root) = checkout() else { return };
    let mut bad = Vec::new();
    for path in sample_programs(&root) {
        let parsed = parse(&root, &path);
        let text = syntax::pretty::program(&parsed.program);
        let again = syntax::parse("printed.p4", text.clone(), &syntax::NoIncludes, &Options::default());
        let same = syntax::same_tree::same(&parsed.program, &again.program);
        if !same || again.diagnostics.has_errors() {
            if bad.is_empty() {
                println!("{text}");
            }
            bad.push((path, complaints(&again)));
        }
    }
    assert!(bad.is_empty(), "{} programs: {bad:#?}", bad.len());
}

/// Lines at which the reference compiler reports syntax errors in this file, from its recorded output.
fn recorded_syntax_errors(root: &Path, path: &Path) -> Vec<u32> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let recorded = root.join("testdata/p4_16_errors_outputs").join(format!("{name}-stderr"));
    let text = fs::read_to_string(recorded).unwrap_or_default();
    text.lines()
        .filter(|l| l.contains("syntax error"))
        .filter_map(|l| l.strip_prefix(&format!("{name}("))?.split(')').next()?.parse().ok())
        .collect()
}

/// Syntax errors that the reference compiler finds in the bodies of annotations, which are tokens to this parser.
const IN_ANNOTATIONS: &[&str] = &["annotation.p4", "issue2283_2-bmv2.p4"];

/// Refused here by the grammar, there by a later pass: a method without return type that bears the name of
/// another type than its extern.
const EARLIER_HERE: &[(&str, u32)] = &[("issue435.p4", 13)];

#[test]
fn syntax_errors_stand_on_the_recorded_lines() {
    let Some(root) = checkout() else { return };
    let mut bad = Vec::new();
    for path in programs(&root.join("testdata/p4_16_errors")) {
        let expected = recorded_syntax_errors(&root, &path);
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let found = complaints(&parse(&root, &path));
        let good = match expected.first() {
            Some(line) if !IN_ANNOTATIONS.contains(&name.as_str()) => {
                found.first().is_some_and(|(l, _)| l.abs_diff(*line) <= 1)
            }
            _ => match EARLIER_HERE.iter().find(|(n, _)| *n == name) {
                Some((_, line)) => found.iter().all(|(l, _)| l == line),
                None => found.is_empty(),
            },
        };
        if !good {
            bad.push((name, expected, found));
        }
    }
    assert!(bad.is_empty(), "{} programs: {bad:#?}", bad.len());
}
