//! Goldens for every renderer, and the promise that none of them panics.
//!
//! `SIDING_BLESS=1 cargo test -p diagnostics` rewrites the goldens; review the difference before committing.

use diagnostics::render::{self, Style, Tool};
use diagnostics::{CodeInfo, Diagnostic, Fix, Severity, SourceMap, Span};
use proptest::prelude::*;

static MISMATCH: CodeInfo = CodeInfo {
    id: "P1308",
    name: "type-error",
    default_severity: Severity::Error,
    summary: "mismatched types",
};
static UNUSED: CodeInfo = CodeInfo {
    id: "P1901",
    name: "unused",
    default_severity: Severity::Warning,
    summary: "something is never used",
};

/// The span of the `nth` occurrence of `needle` in the last file added under `name`.
fn find(map: &SourceMap, name: &str, needle: &str, nth: usize) -> Span {
    let (id, file) = map.files().filter(|(_, f)| f.name == name).last().unwrap();
    let (at, _) = file.text.match_indices(needle).nth(nth).unwrap();
    map.span(id, at as u32, (at + needle.len()) as u32)
}

fn check(name: &str, map: &SourceMap, diagnostics: &[Diagnostic]) {
    let mut text = String::new();
    for d in diagnostics {
        text.push_str(&render::human(d, map, Style::default()));
        text.push_str(&render::short(d, map));
        text.push('\n');
        text.push_str(&render::json(d, map));
        text.push_str("\n\n");
    }
    text.push_str(&render::summary(diagnostics));
    text.push('\n');
    golden(name, &text);
}

fn golden(name: &str, text: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("SIDING_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, expected, "{name} differs; SIDING_BLESS=1 rewrites it");
}

const SIGNED: &str =
    "control c(inout bit<16> a, in int<8> b) {\n    apply {\n        a[7:0] = b;\n    }\n}\n";

fn mismatch(map: &SourceMap) -> Diagnostic {
    let at = find(map, "signed.p4", "b;", 0);
    let at = Span::new(at.lo, at.hi - 1);
    Diagnostic::new(&MISMATCH, at, "mismatched types in assignment")
        .label("expected `bit<8>`, found `int<8>`")
        .also(find(map, "signed.p4", "a[7:0]", 0), "")
        .also(find(map, "signed.p4", "int<8>", 0), "`b` declared signed here")
        .note("P4-16 has no implicit conversion between `bit` and `int`")
        .fix("cast explicitly", at, "(bit<8>)b")
}

#[test]
fn labels_notes_and_fixes() {
    let mut map = SourceMap::new();
    map.add_file("signed.p4", SIGNED, None, false).unwrap();
    let warning = Diagnostic::new(&UNUSED, find(&map, "signed.p4", "a", 0), "parameter `a` is never read")
        .help("prefix it with `_`");
    let nowhere =
        Diagnostic::new(&MISMATCH, Span::NONE, "no `main` package").note("only libraries go without");
    check("labels.txt", &map, &[mismatch(&map), warning, nowhere]);
}

#[test]
fn labels_across_files_and_includes() {
    let mut map = SourceMap::new();
    map.add_file("main.p4", "\n#include \"a.p4\"\nT x;\n", None, false).unwrap();
    let include = find(&map, "main.p4", "#include \"a.p4\"", 0);
    map.add_file("a.p4", "#include \"b.p4\"\n", Some(include), false).unwrap();
    let include = find(&map, "a.p4", "#include \"b.p4\"", 0);
    map.add_file("b.p4", "typedef int T;\n", Some(include), false).unwrap();
    let d = Diagnostic::new(&MISMATCH, find(&map, "b.p4", "int", 0), "`int` has no width")
        .label("a run-time type is wanted")
        .also(find(&map, "main.p4", "T", 0), "used here");
    check("includes.txt", &map, &[d]);
}

#[test]
fn macro_backtrace() {
    let mut map = SourceMap::new();
    let text = "#define WIDTH 8\n#define FIELD(n) bit<WIDTH> n\nstruct S { FIELD(a); }\n";
    map.add_file("m.p4", text, None, false).unwrap();
    let (field, width) = (map.add_macro_name("FIELD"), map.add_macro_name("WIDTH"));
    let call = find(&map, "m.p4", "FIELD(a)", 0);
    let inner = map.add_expansion(find(&map, "m.p4", "WIDTH", 1), call, field);
    let token = map.add_expansion(find(&map, "m.p4", "8", 0), inner, width);
    let d = Diagnostic::new(&MISMATCH, token, "bad width").fix("use 9", token, "9");
    check("macros.txt", &map, &[d]);
}

#[test]
fn line_directives_tabs_and_wide_characters() {
    let mut map = SourceMap::new();
    let text = "x\n#line 40 \"orig.p4\"\n\tbit<8>\tä = \"日本語\" + y;\n";
    let id = map.add_file("gen.p4", text, None, false).unwrap();
    map.add_line_directive(id, 21, 40, Some("orig.p4".into()));
    let y = find(&map, "gen.p4", "y", 0);
    let d =
        Diagnostic::new(&MISMATCH, y, "`y` is unknown").also(find(&map, "gen.p4", "日本語", 0), "a string");
    check("presumed.txt", &map, &[d]);
}

#[test]
fn huge_spans_and_lines_are_cut() {
    let mut map = SourceMap::new();
    let long = format!("{}here{}", "a".repeat(5_000_000), "b".repeat(5_000_000));
    map.add_file("long.p4", long, None, false).unwrap();
    let lines = format!("first\n{}last\n", "middle\n".repeat(100_000));
    let all = map.add_file("tall.p4", lines, None, false).unwrap();
    let here = find(&map, "long.p4", "here", 0);
    let d = Diagnostic::new(&MISMATCH, here, "in a long line").label("this").fix("replace", here, "there");
    let len = map.file(all).text.len() as u32;
    let tall = Diagnostic::new(&MISMATCH, map.span(all, 0, len), "all of a tall file")
        .also(find(&map, "tall.p4", "last", 0), "the end")
        .also(map.span(all, 10, 30), "several lines");
    let start = std::time::Instant::now();
    check("cut.txt", &map, &[d, tall]);
    assert!(start.elapsed().as_secs() < 5, "drawing must not cost as much as the file is long");
}

#[test]
fn sarif_log() {
    let mut map = SourceMap::new();
    map.add_file("signed.p4", SIGNED, None, false).unwrap();
    let d = mismatch(&map);
    let again = Diagnostic::new(&UNUSED, Span::NONE, "nothing is used");
    let text = render::sarif([(&d, &map), (&again, &map)], Tool { name: "siding", version: "0.1.0" });
    golden("log.sarif", &text);
}

#[test]
fn color_only_when_asked() {
    let mut map = SourceMap::new();
    map.add_file("signed.p4", SIGNED, None, false).unwrap();
    let d = mismatch(&map);
    let plain = render::human(&d, &map, Style { color: false, width: 100 });
    let colored = render::human(&d, &map, Style { color: true, width: 100 });
    assert!(!plain.contains('\x1b') && colored.contains('\x1b'));
}

prop_compose! {
    fn any_span(positions_max: u32)(lo in 0..positions_max, hi in 0..positions_max) -> Span {
        Span { lo, hi }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn nothing_panics(
        a in "([a-z\t ä日\u{7}\u{200d}\r]{0,30}\n?){0,14}",
        b in "([x(){};]{0,900}\n?){0,3}",
        spans in proptest::collection::vec(any_span(4000), 8),
        text in "[a-z\n\t\u{1b}ä]{0,20}",
        directive in 0u32..60,
        claimed in any::<u32>(),
    ) {
        let mut map = SourceMap::new();
        let main = map.add_file("a.p4", a, None, false).unwrap();
        map.add_file("b\n.p4", b, Some(spans[0]), true).unwrap();
        let name = map.add_macro_name(&text);
        for pair in spans.windows(2) {
            map.add_expansion(pair[0], Span::new(pair[1].lo.min(20), pair[1].hi.min(20)), name);
        }
        map.add_line_directive(main, directive, claimed, Some("c.p4".into()));
        let mut d = Diagnostic::new(&MISMATCH, spans[1], text.clone())
            .label(text.clone())
            .also(spans[2], text.clone())
            .also(spans[3], "")
            .note(text.clone())
            .fix(text.clone(), spans[4], text.clone());
        d.fixes.push(Fix { message: String::new(), edits: spans.iter().map(|s| (*s, text.clone())).collect() });
        for color in [false, true] {
            let text = render::human(&d, &map, Style { color, width: 80 });
            prop_assert!(!text.is_empty());
        }
        prop_assert!(!render::short(&d, &map).contains('\n'));
        let json = render::json(&d, &map);
        prop_assert!(!json.contains('\n') && serde_json::from_str::<serde_json::Value>(&json).is_ok());
        let log = render::sarif([(&d, &map)], Tool { name: "t", version: "1" });
        prop_assert!(serde_json::from_str::<serde_json::Value>(&log).is_ok());
    }
}
