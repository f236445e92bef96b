//! `rt/README.md` names every header and quotes prototypes as the headers have them.

use super::{read, root};
use std::path::Path;

const PAGE: &str = "rt/README.md";

/// Paths of all headers below `rt`, relative to it, without those of tests.
fn headers() -> Vec<String> {
    let rt = root().join("rt");
    let mut found = Vec::new();
    let mut waiting = vec![rt.clone()];
    while let Some(dir) = waiting.pop() {
        for path in std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() && !path.ends_with("tests") {
                waiting.push(path);
            } else if path.extension().is_some_and(|e| e == "h") {
                found.push(path.strip_prefix(&rt).unwrap().to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    found
}

#[test]
fn every_header_has_its_line() {
    let page = read(PAGE);
    let mut listed: Vec<String> = Vec::new();
    for line in page.lines().filter(|line| line.starts_with("| `")) {
        let cell = line.trim_start_matches("| ").split(" | ").next().unwrap();
        listed.extend(
            cell.split('`')
                .filter(|name| Path::new(name).extension().is_some_and(|e| e == "h"))
                .map(str::to_owned),
        );
    }
    listed.sort();
    assert_eq!(listed, headers(), "{PAGE}: the table and the headers differ");
}

/// The prototype of a function that a header defines or declares, on one line and without `static inline` and the like.
fn prototype(header: &str, name: &str) -> Option<String> {
    let call = format!("{name}(");
    for (at, _) in header.match_indices(&call) {
        let start = header[..at].rfind('\n').map_or(0, |i| i + 1);
        let before = &header[start..at];
        let is_type = |c: char| c.is_alphanumeric() || matches!(c, '_' | ' ' | '*');
        if before.is_empty()
            || before.starts_with(' ')
            || !before.chars().all(is_type)
            || !before.ends_with([' ', '*'])
        {
            continue;
        }
        let end = at + header[at..].find(')')?;
        if !header[end + 1..].trim_start().starts_with(['{', ';']) {
            continue;
        }
        let words = header[start..=end].split_whitespace();
        let words =
            words.filter(|word| !word.starts_with("SD_") && !matches!(*word, "static" | "inline" | "extern"));
        return Some(words.collect::<Vec<_>>().join(" "));
    }
    None
}

#[test]
fn quoted_prototypes_are_those_of_the_headers() {
    let page = read(PAGE);
    let mut current = String::new();
    let (mut header, mut is_code, mut n) = (None, false, 0);
    for line in page.lines() {
        if let Some(path) = line.strip_prefix("### `").and_then(|rest| rest.strip_suffix('`')) {
            header = Some((path.to_owned(), read(&format!("rt/{path}"))));
        }
        if line.starts_with("```") {
            is_code = line == "```c";
        }
        let name = line.split_once('(').and_then(|(before, _)| before.split([' ', '*']).next_back());
        match (&header, name) {
            (Some((path, text)), Some(name)) if is_code => {
                let found = prototype(text, name).unwrap_or_else(|| panic!("{path} has no function {name}"));
                current.push_str(&found);
                current.push_str(";\n");
                n += 1;
            }
            _ => {
                current.push_str(line);
                current.push('\n');
            }
        }
    }
    assert!(n > 30, "only {n} prototypes were found");
    if std::env::var_os("SIDING_BLESS").is_some() {
        std::fs::write(root().join(PAGE), current).unwrap();
        return;
    }
    let stale: Vec<(&str, &str)> =
        page.lines().zip(current.lines()).filter(|(old, new)| old != new).collect();
    assert!(stale.is_empty(), "{PAGE} quotes old prototypes, SIDING_BLESS=1 rewrites them: {stale:#?}");
}
