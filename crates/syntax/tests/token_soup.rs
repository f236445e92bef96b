//! Random text: whatever comes, lexer, preprocessor and formatter end without a panic and keep their promises.

use diagnostics::{Diagnostics, SourceMap};
use proptest::prelude::*;
use syntax::fmt::{FormatOptions, check_same_tokens, format};
use syntax::lexer::Lexer;
use syntax::token::TokenKind;
use syntax::{IncludeKind, LoadedFile, Loader, Options, preprocess, print_preprocessed};

/// Includes the soup in itself.
struct Again(String);

impl Loader for Again {
    fn load(&self, name: &str, _kind: IncludeKind, _from: &str) -> Option<LoadedFile> {
        Some(LoadedFile { name: name.into(), text: self.0.as_str().into(), is_system: false })
    }
}

/// Pieces of P4 and of directives, so that random sequences reach far into the code.
fn piece() -> impl Strategy<Value = String> {
    let fixed = prop::sample::select(vec![
        "control",
        "if",
        "else",
        "switch",
        "bit",
        "enum",
        "error",
        "actions",
        "key",
        "return",
        "select",
        "transition",
        "for",
        "in",
        "X",
        "F",
        "G",
        "a",
        "b",
        "_",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "<",
        ">",
        ">>",
        ">=",
        ";",
        ",",
        ":",
        ".",
        "=",
        "==",
        "+",
        "-",
        "++",
        "&&",
        "||",
        "&&&",
        "?",
        "!",
        "~",
        "@",
        "@name(\"x\")",
        "@pragma",
        "{#}",
        "|+|",
        "|+|=",
        "..",
        "...",
        "8w0xFF",
        "10ms",
        "0x",
        "1",
        "\"s\"",
        "\"t\\\"u\"",
        "// c\n",
        "/* d */",
        "/* e\n * f\n */",
        "\n",
        "\n\n\n",
        " ",
        "  ",
        "\t",
        "\\\n",
        "#",
        "##",
        "\n#define X ",
        "\n#define F(a) ",
        "\n#define G(a, ...) a #a a##b __VA_ARGS__ ",
        "\n#undef X\n",
        "\n#if ",
        "\n#if 0\n",
        "\n#ifdef X\n",
        "\n#else\n",
        "\n#elif 1\n",
        "\n#endif\n",
        "\n#include \"s\"\n",
        "\n#line 7 \"q\"\n",
        "defined(X)",
        "__LINE__",
        "__FILE__",
        "\r\n",
        "\u{e9}",
        "\u{feff}",
        "\0",
        "'",
        "$",
        "\"",
        "/*",
    ]);
    prop_oneof![20 => fixed.prop_map(str::to_string), 1 => "[ -~]{0,6}"]
}

fn soup() -> impl Strategy<Value = String> {
    prop::collection::vec((piece(), any::<bool>()), 0..120).prop_map(|pieces| {
        pieces.iter().map(|(p, space)| format!("{p}{}", if *space { " " } else { "" })).collect()
    })
}

fn check_lexer(text: &str) {
    let mut at = 0;
    for raw in Lexer::new(text) {
        assert_eq!(raw.lo, at, "raw tokens leave a gap");
        assert!(raw.hi > raw.lo, "an empty raw token");
        at = raw.hi;
    }
    assert_eq!(at as usize, text.len());
}

fn check_preprocessor(text: &str) {
    let (mut sources, mut diags) = (SourceMap::new(), Diagnostics::new());
    let loader = Again(text.to_string());
    let tokens = preprocess("soup", text, &loader, &Options::default(), &mut sources, &mut diags);
    assert_eq!(tokens.last().map(|t| t.kind), Some(TokenKind::Eof));
    for t in &tokens {
        assert!(t.span.is_none() || sources.resolve(t.span).is_some(), "{t:?} stands nowhere");
    }
    for d in diags.iter() {
        assert!(sources.resolve(d.primary.span).is_some(), "{d:?} stands nowhere");
    }
    print_preprocessed(&tokens, &sources);
}

fn check_formatter(text: &str) {
    let options = FormatOptions::default();
    match format(text, &options) {
        Ok(once) => {
            assert!(check_same_tokens(text, &once));
            let twice = format(&once, &options).expect("formatted text is sound");
            assert_eq!(once, twice, "formatting is not idempotent for:\n{text}");
        }
        Err(diagnostics) => {
            assert!(!diagnostics.is_empty());
            assert!(diagnostics.iter().all(|d| d.code.id != "P0090"), "the formatter would change:\n{text}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn soup_of_tokens(text in soup()) {
        check_lexer(&text);
        check_preprocessor(&text);
        check_formatter(&text);
    }

    #[test]
    fn soup_of_characters(text in "\\PC{0,200}") {
        check_lexer(&text);
        check_preprocessor(&text);
        check_formatter(&text);
    }
}
