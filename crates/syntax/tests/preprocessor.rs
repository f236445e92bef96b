//! Runs the cases of `preprocessor.md`.
//!
//! A case is a heading and code blocks: `p4` is the main file `main.p4`, `p4 NAME` a file to include,
//! `options` holds `-DNAME=VALUE` and `-UNAME` lines, `tokens` what comes out (a blank between tokens that are
//! not joined, a line per presumed source line), `diagnostics` the messages. Missing blocks mean empty ones.

use diagnostics::{Diagnostics, SourceMap};
use std::collections::HashMap;
use syntax::token::{Token, TokenKind};
use syntax::{IncludeKind, LoadedFile, Loader, MacroOption, Options, lexer, preprocess, print_preprocessed};

struct Files(HashMap<String, String>);

impl Loader for Files {
    fn load(&self, name: &str, kind: IncludeKind, _from: &str) -> Option<LoadedFile> {
        let text = self.0.get(name)?;
        Some(LoadedFile {
            name: name.into(),
            text: text.as_str().into(),
            is_system: kind == IncludeKind::System,
        })
    }
}

#[derive(Default)]
struct Case {
    title: String,
    files: HashMap<String, String>,
    options: Options,
    tokens: String,
    diagnostics: String,
}

fn cases(markdown: &str) -> Vec<Case> {
    let read = |page: mdtest::Case| {
        let mut case = Case { title: page.heading, ..Case::default() };
        for block in page.blocks {
            match (block.kind.as_str(), block.words.first().map_or("main.p4", String::as_str)) {
                ("p4", name) => drop(case.files.insert(name.to_string(), block.text)),
                ("options", _) => case.options.macros = block.text.lines().map(option).collect(),
                ("tokens", _) => case.tokens = block.text,
                ("diagnostics", _) => case.diagnostics = block.text,
                other => panic!("unknown block {other:?}"),
            }
        }
        case
    };
    mdtest::read("preprocessor.md", markdown).into_iter().map(read).collect()
}

fn option(line: &str) -> MacroOption {
    match line.strip_prefix("-D") {
        Some(d) => {
            let (name, value) = d.split_once('=').unwrap_or((d, "1"));
            MacroOption::Define(name.to_string(), value.to_string())
        }
        None => MacroOption::Undefine(line.trim_start_matches("-U").to_string()),
    }
}

fn spelling(t: &Token) -> String {
    match t.kind {
        TokenKind::Str => lexer::escape(&t.text),
        TokenKind::EndPragma => "<end>".to_string(),
        k if t.text.is_empty() => k.as_str().to_string(),
        _ => t.text.to_string(),
    }
}

fn show(tokens: &[Token], sources: &SourceMap) -> String {
    let mut out = String::new();
    let mut last = 0;
    for t in tokens.iter().filter(|t| t.kind != TokenKind::Eof) {
        let line = sources.locate(t.span).map_or(0, |l| l.line);
        if out.is_empty() {
        } else if line != last && t.kind != TokenKind::EndPragma {
            out.push('\n');
        } else if !t.joined {
            out.push(' ');
        }
        last = line;
        out.push_str(&spelling(t));
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

fn show_diagnostics(diags: &Diagnostics, sources: &SourceMap) -> String {
    diags
        .iter()
        .map(|d| {
            let place = sources
                .locate(d.primary.span)
                .map_or("?".into(), |l| format!("{}:{}:{}", l.file, l.line, l.column));
            format!("{place} {} {}\n", d.code.id, d.message)
        })
        .collect()
}

#[test]
fn literate_cases() {
    let mut failures = String::new();
    let all = cases(include_str!("preprocessor.md"));
    assert!(all.len() > 30);
    for case in all {
        let main = case.files.get("main.p4").cloned().unwrap_or_default();
        let loader = Files(case.files);
        let (mut sources, mut diags) = (SourceMap::new(), Diagnostics::new());
        let tokens = preprocess("main.p4", main, &loader, &case.options, &mut sources, &mut diags);
        assert_eq!(tokens.last().map(|t| t.kind), Some(TokenKind::Eof));
        let (found, found_diags) = (show(&tokens, &sources), show_diagnostics(&diags, &sources));
        if found != case.tokens || found_diags != case.diagnostics {
            failures += &format!(
                "## {}\nexpected:\n{}{}found:\n{found}{found_diags}\n",
                case.title, case.tokens, case.diagnostics
            );
        }
        if diags.iter().any(|d| d.code.id == "P0003") {
            continue;
        }
        // What `-E` prints means the same, lines included.
        let printed = print_preprocessed(&tokens, &sources);
        let (mut sources2, mut diags2) = (SourceMap::new(), Diagnostics::new());
        let again =
            preprocess("printed", printed.clone(), &loader, &Options::default(), &mut sources2, &mut diags2);
        let plain =
            |ts: &[Token]| -> Vec<_> { ts.iter().map(|t| (t.kind, t.text.clone())).collect::<Vec<_>>() };
        assert_eq!(plain(&tokens), plain(&again), "{}: -E gives\n{printed}", case.title);
        assert_eq!(found, show(&again, &sources2), "{}: -E gives\n{printed}", case.title);
    }
    assert!(failures.is_empty(), "\n{failures}");
}

/// A message about a token from a macro knows the use and the definition.
#[test]
fn expansions_know_where_they_come_from() {
    let text = "#define W 8\n#define F(x) (x + W)\nbit<F(1)> a;\n";
    let (mut sources, mut diags) = (SourceMap::new(), Diagnostics::new());
    let tokens =
        preprocess("main.p4", text, &syntax::NoIncludes, &Options::default(), &mut sources, &mut diags);
    let eight = tokens.iter().find(|t| t.text == "8").expect("W is expanded");
    let r = sources.resolve(eight.span).expect("it stands somewhere");
    assert_eq!(&text[r.lo as usize..r.hi as usize], "F(1)");
    let names: Vec<&str> = r.macros.iter().map(|m| m.0.as_str()).collect();
    assert_eq!(names, ["W", "F"]);
    assert_eq!(sources.text(r.macros[0].1), "8");
    assert_eq!(sources.text(r.macros[1].1), "W");
    // Arguments keep their own place.
    let one = tokens.iter().find(|t| t.text == "1").expect("the argument is there");
    assert_eq!(sources.text(one.span), "1");
}

fn run(text: String) -> (Vec<Token>, Vec<&'static str>) {
    let (mut sources, mut diags) = (SourceMap::new(), Diagnostics::new());
    let tokens = preprocess("a.p4", text, &SelfInclude, &Options::default(), &mut sources, &mut diags);
    (tokens, diags.iter().map(|d| d.code.id).collect())
}

/// Every file includes itself twice.
struct SelfInclude;

impl Loader for SelfInclude {
    fn load(&self, name: &str, _kind: IncludeKind, _from: &str) -> Option<LoadedFile> {
        let text = "#include \"a\"\n#include \"b\"\nx\n".into();
        Some(LoadedFile { name: name.into(), text, is_system: false })
    }
}

#[test]
fn hostile_input_ends_with_a_message() {
    let doubling = |body: &str, last: &str| {
        let mut t = format!("#define A0(x) {body}\n");
        for i in 1..60 {
            t += &last.replace('N', &i.to_string()).replace('M', &(i - 1).to_string());
            t.push('\n');
        }
        t + "A59(y)\n"
    };
    for (text, code) in [
        (doubling("x x", "#define AN(x) AM(x) AM(x x)"), "P0025"),
        (doubling("#x #x", "#define AN(x) AM(#x #x)"), "P0025"),
        (doubling("x##x", "#define AN(x) AM(x##x)"), "P0025"),
        (format!("#define f(x) x\n{}1{}", "f(".repeat(50_000), ")".repeat(50_000)), "P0025"),
        ("#include \"a\"\n".to_string(), "P0012"),
        ("#define f(x) x\nf(".to_string(), "P0023"),
        ("a ".repeat(syntax::limits::TOKENS_MAX + 10), "P0006"),
    ] {
        let (tokens, codes) = run(text);
        assert_eq!(codes, [code]);
        assert_eq!(tokens.last().map(|t| t.kind), Some(TokenKind::Eof));
    }
    let (tokens, codes) = run(format!("#if {}1{}\nx\n#endif\n", "(".repeat(50_000), ")".repeat(50_000)));
    assert!(codes.is_empty() && tokens.len() == 2);
}
