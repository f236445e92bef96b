//! The names of `docs/internals/glossary.md` are names of the code.

use super::{read, root};

const PAGE: &str = "docs/internals/glossary.md";

/// The text of all sources: Rust, C and P4 below `crates` and `rt`, without this test.
fn sources() -> String {
    let mut text = String::new();
    let mut waiting = vec![root().join("crates"), root().join("rt")];
    while let Some(dir) = waiting.pop() {
        for path in std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() && !path.ends_with("documents") {
                waiting.push(path);
            } else if path.extension().is_some_and(|e| e == "rs" || e == "h" || e == "c") {
                text.push_str(&std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    text
}

/// Whether the text has the word with nothing that continues it; `abc_*` is any word that begins with `abc_`.
fn has_word(text: &str, word: &str) -> bool {
    let (word, is_open) = word.strip_suffix('*').map_or((word, false), |start| (start, true));
    let continues = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(continues) && (is_open || !text[at + word.len()..].starts_with(continues))
    })
}

/// What is wrong with a name of the last column, if anything is.
fn problem(name: &str, sources: &str, options: &str) -> Option<String> {
    if name.starts_with('.') || name.starts_with('*') || name.starts_with('@') || name.starts_with("siding ")
    {
        return None;
    }
    if let Some(option) = name.strip_prefix("--") {
        let option = option.split([' ', '=']).next().unwrap();
        let is_there = options.contains(&format!("--{option}")) || has_word(sources, option);
        return (!is_there).then(|| format!("there is no option --{option}"));
    }
    if name.contains('/') {
        let is_there = ["", "crates", "rt"].iter().any(|dir| root().join(dir).join(name).exists());
        return (!is_there).then(|| format!("there is no file {name}"));
    }
    let last = name.rsplit("::").next().unwrap().split(['(', '{', '=']).next().unwrap();
    let last = last.split_whitespace().last().unwrap_or(last).trim_end_matches([')', ';']);
    (!has_word(sources, last)).then(|| format!("nothing is called {last}"))
}

#[test]
fn names_of_the_glossary_are_in_the_code() {
    let (page, sources, options) = (read(PAGE), sources(), read("docs/reference/cli.md"));
    let mut problems = Vec::new();
    let mut n_names = 0;
    for (i, line) in page.lines().enumerate().filter(|(_, line)| line.starts_with("| ")) {
        let line = line.replace("\\|", "/or/");
        let Some(place) = line.trim_end_matches(" |").rsplit(" | ").next() else { continue };
        for name in place.split('`').skip(1).step_by(2).filter(|name| !name.contains("/or/")) {
            n_names += 1;
            problems.extend(problem(name, &sources, &options).map(|p| format!("{PAGE}:{}: {p}", i + 1)));
        }
    }
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
    assert!(n_names > 100, "only {n_names} names were found");
}
