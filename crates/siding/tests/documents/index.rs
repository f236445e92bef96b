//! Indexes are complete, and links lead to files.

use super::{folders, pages, read, root};
use std::path::{Component, Path, PathBuf};

#[test]
fn every_folder_of_test_programs_has_its_line() {
    assert_lines("tests/programs/README.md", &folders("tests/programs"));
}

#[test]
fn every_example_has_its_line_and_its_page() {
    let examples: Vec<String> = folders("examples").into_iter().filter(|name| name != "include").collect();
    assert_lines("examples/README.md", &examples);
    for example in &examples {
        let page = read(&format!("examples/{example}/README.md"));
        assert!(page.contains("It shows: "), "{example}: its page does not say what it shows");
        assert!(page.contains("```console") || page.contains("```sh"), "{example}: its page has no commands");
    }
}

/// The rows of the first table whose first cell is a link, and nothing else, are `names`.
fn assert_lines(page: &str, names: &[String]) {
    let text = read(page);
    let mut listed: Vec<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("| [`")?.split_once("`]("))
        .map(|(name, _)| name.to_owned())
        .collect();
    listed.sort();
    assert_eq!(listed, names, "{page}: the table and the folders differ");
}

/// Targets of Markdown links: `[text](target)`, outside of code.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    let mut is_code = false;
    for (i, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        if is_code || line.starts_with("    ") {
            continue;
        }
        for part in line.split("](").skip(1) {
            if let Some((target, _)) = part.split_once(')') {
                links.push((i + 1, target.to_owned()));
            }
        }
    }
    links
}

#[test]
fn links_lead_to_files() {
    let mut problems = Vec::new();
    let mut n_links = 0;
    for page in pages() {
        let text = read(&page);
        let dir = Path::new(&page).parent().unwrap();
        for (line, target) in links(&text) {
            if target.starts_with("http") {
                continue;
            }
            n_links += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let path = if file.is_empty() { PathBuf::from(&page) } else { normal(&dir.join(file)) };
            if !root().join(&path).exists() {
                problems.push(format!("{page}:{line}: there is no {}", path.display()));
            } else if !anchor.is_empty()
                && !anchors(&read(&path.to_string_lossy())).contains(&anchor.to_owned())
            {
                problems.push(format!("{page}:{line}: {} has no heading #{anchor}", path.display()));
            }
        }
    }
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
    assert!(n_links > 50, "only {n_links} links were found");
}

/// `a/../b` as `b`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => normal.push(part),
        }
    }
    normal
}

/// Anchors of headings as GitHub makes them.
fn anchors(text: &str) -> Vec<String> {
    text.lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect()
}

/// Paths in backticks on pages about the code exist. Names in capitals (`crates/ir/src/passes/NAME.rs`) stand for any.
#[test]
fn named_paths_exist() {
    const PAGES: [&str; 9] = [
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "LIMITATIONS.md",
        "README.md",
        "docs/README.md",
        "docs/internals/concurrency.md",
        "docs/internals/conformance.md",
        "docs/internals/debt.md",
        "docs/internals/quality.md",
    ];
    const PLACES: [&str; 8] =
        ["crates/", "rt/", "docs/", "tests/", "examples/", "bench/", "scripts/", "ir/src/"];
    let mut problems = Vec::new();
    let mut n_paths = 0;
    for page in PAGES {
        for (i, line) in read(page).lines().enumerate() {
            for name in line.split('`').skip(1).step_by(2) {
                let is_path = PLACES.iter().any(|place| name.starts_with(place)) && !name.contains(' ');
                let is_open = name.contains(['*', '{'])
                    || name.split(['/', '.']).any(|part| {
                        part.len() > 1 && part.chars().all(|c| c.is_ascii_uppercase()) && part != "README"
                    });
                if !is_path || is_open {
                    continue;
                }
                n_paths += 1;
                let is_there = root().join(name).exists() || root().join("crates").join(name).exists();
                if !is_there {
                    problems.push(format!("{page}:{}: there is no {name}", i + 1));
                }
            }
        }
    }
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
    assert!(n_paths > 60, "only {n_paths} paths were found");
}
