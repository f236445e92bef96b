//! Every code has a page, every page has a code, and what pages claim is true.
//!
//! `SIDING_BLESS=1 cargo test -p siding --test explain` rewrites the goldens beside the pages.

use siding::explain::{PAGES, Page, page};
use siding::render::{Style, human};
use siding::{Checked, FileLoader, IncludeKind, LoadedFile, Loader, Options, Source, codes};
use std::path::PathBuf;
use syntax::MacroOption;

/// Pages of limits and the like, which no short program reaches, say so in these words.
const NO_EXAMPLE: &str = "No short example can show this.";

/// The include files of the compiler; a block can also include itself.
struct PageLoader<'a> {
    name: &'a str,
    text: &'a str,
}

impl Loader for PageLoader<'_> {
    fn load(&self, name: &str, kind: IncludeKind, from: &str) -> Option<LoadedFile> {
        if name == self.name {
            return Some(LoadedFile { name: name.into(), text: self.text.into(), is_system: false });
        }
        FileLoader::default().load(name, kind, from)
    }
}

fn check(page: &Page, words: &[&str], text: &str) -> Checked {
    let mut options = Options::default();
    let mut wants_p4info = page.id.starts_with("P2");
    for word in words {
        match word.strip_prefix("-D").and_then(|d| d.split_once('=')) {
            Some((name, value)) => {
                options.syntax.macros.push(MacroOption::Define(name.into(), value.into()));
            }
            None if *word == "strict" => options.check.strict = true,
            None if *word == "p4info" => wants_p4info = true,
            None => panic!("{}: unknown word `{word}` on a fence", page.id),
        }
    }
    let name = format!("{}.p4", page.id);
    let source = Source { name: name.clone(), text: text.into() };
    let mut checked = driver::check(&source, &PageLoader { name: &name, text }, &options);
    if wants_p4info {
        driver::control_plane(&mut checked, None);
    }
    checked
}

/// Errors and what the page is about; that a snippet has no `main` goes without saying.
fn messages(page: &Page, checked: &Checked) -> String {
    let shown = checked.diagnostics.iter().filter(|d| d.is_error() || d.code.id == page.id);
    shown.map(|d| human(d, &checked.sources, Style::default()) + "\n").collect()
}

#[test]
fn every_code_has_a_page() {
    let missing: Vec<_> = codes::all().iter().map(|c| c.id).filter(|id| page(id).is_none()).collect();
    assert!(missing.is_empty(), "no page in docs/diagnostics: {}", missing.join(" "));
}

#[test]
fn every_page_has_a_code() {
    for p in PAGES {
        let code = codes::find(p.id).filter(|c| c.id == p.id);
        assert!(code.is_some(), "docs/diagnostics/{}.md: no such code", p.id);
        assert!(p.title().starts_with(&format!("{}: ", p.id)), "{}: the heading is `# {}: ...`", p.id, p.id);
        assert!(p.text.ends_with('\n') && !p.text.contains('\r'), "{}: line ends", p.id);
    }
}

#[test]
fn examples_of_pages_behave() {
    let mut faults = Vec::new();
    for p in PAGES {
        let (bad, good) = (p.blocks("error"), p.blocks("fixed"));
        if bad.is_empty() || good.is_empty() {
            let words: Vec<&str> = p.text.split_whitespace().collect();
            if !words.join(" ").contains(NO_EXAMPLE) {
                faults.push(format!("{}: needs a block `p4 error` and a block `p4 fixed`", p.id));
            }
            continue;
        }
        for (words, text) in &bad {
            let checked = check(p, words, text);
            let first = checked.diagnostics.iter().find(|d| d.is_error());
            let first = first.or_else(|| checked.diagnostics.iter().find(|d| d.code.id == p.id));
            if first.is_none_or(|d| d.code.id != p.id) {
                let got = messages(p, &checked);
                faults.push(format!("{}: the `p4 error` block yields\n{got}", p.id));
            }
        }
        for (words, text) in &good {
            let checked = check(p, words, text);
            if checked.diagnostics.iter().any(|d| d.is_error() || d.code.id == p.id) {
                let got = messages(p, &checked);
                faults.push(format!("{}: the `p4 fixed` block yields\n{got}", p.id));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn messages_match_their_goldens() {
    let docs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/diagnostics");
    let bless = std::env::var_os("SIDING_BLESS").is_some();
    let mut faults = Vec::new();
    for p in PAGES {
        let text: String =
            p.blocks("error").iter().map(|(words, text)| messages(p, &check(p, words, text))).collect();
        let path = docs.join(format!("{}.txt", p.id));
        if bless && text.is_empty() {
            let _ = std::fs::remove_file(&path);
        } else if bless {
            std::fs::write(&path, &text).unwrap();
        }
        let golden = std::fs::read_to_string(&path).unwrap_or_default();
        if golden != text {
            faults.push(format!("{}.txt says\n{golden}\nbut the messages are\n{text}", p.id));
        }
    }
    for entry in std::fs::read_dir(&docs).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some(id) = name.strip_suffix(".txt")
            && page(id).is_none()
        {
            faults.push(format!("{name} belongs to no page"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
