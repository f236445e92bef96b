//! Runs the cases of `fmt.md`: under each heading a `p4` block and the `formatted` text it must become.
//! `SIDING_BLESS=1` writes what was found into the file, for review.

use syntax::fmt::{FormatOptions, check_same_tokens, format};

struct Case {
    title: String,
    input: String,
    expected: String,
}

fn cases(markdown: &str) -> Vec<Case> {
    let read = |page: mdtest::Case| {
        let (input, expected) = (page.text("p4").to_string(), page.text("formatted").to_string());
        Case { title: page.heading, input, expected }
    };
    mdtest::read("fmt.md", markdown).into_iter().map(read).collect()
}

#[test]
fn literate_cases() {
    let markdown = include_str!("fmt.md");
    let options = FormatOptions::default();
    let mut found = markdown.to_string();
    let mut failures = String::new();
    for case in cases(markdown) {
        let out = format(&case.input, &options).expect("the input is sound");
        if out != case.expected {
            failures += &format!("## {}\nexpected:\n{}found:\n{out}\n", case.title, case.expected);
            let old =
                format!("## {}\n\n```p4\n{}```\n```formatted\n{}```", case.title, case.input, case.expected);
            let new = format!("## {}\n\n```p4\n{}```\n```formatted\n{out}```", case.title, case.input);
            found = found.replace(&old, &new);
        }
        assert!(check_same_tokens(&case.input, &out));
        assert_eq!(out, format(&out, &options).expect("formatted text is sound"), "{}", case.title);
    }
    if !failures.is_empty() && std::env::var_os("SIDING_BLESS").is_some() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fmt.md"), found)
            .expect("fmt.md is writable");
    }
    assert!(failures.is_empty(), "\n{failures}");
}

#[test]
fn text_with_lexical_errors_is_refused() {
    let options = FormatOptions::default();
    for (text, code) in [("a $ b", "P0001"), ("\"open", "P0003"), ("/* open", "P0002"), ("x = 0b2;", "P0004")]
    {
        let errors = format(text, &options).expect_err("it is broken");
        assert_eq!(errors[0].code.id, code);
    }
}

#[test]
fn same_tokens_sees_what_matters() {
    assert!(check_same_tokens("a  >> b; // c", "a >>\n  b; // c\n"));
    assert!(!check_same_tokens("a >> b", "a > > b"));
    assert!(!check_same_tokens("a b", "ab"));
    assert!(!check_same_tokens("a // b\nc", "a // b c"));
    assert!(!check_same_tokens("#define X\ny", "#define X y"));
    assert!(!check_same_tokens("\"a  b\"", "\"a b\""));
}

/// Other widths and indentations are respected.
#[test]
fn options_count() {
    let options = FormatOptions { indent: 2, width: 30 };
    let out = format("action a(bit<8> first, bit<8> second) { x = first; }", &options).expect("sound");
    assert_eq!(out, "action a(\n  bit<8> first,\n  bit<8> second\n) {\n  x = first;\n}\n");
}

/// Deep nesting and long lists take time in proportion.
#[test]
fn hostile_input_is_formatted_too() {
    let options = FormatOptions::default();
    for text in [
        format!("x = {}1{};", "(".repeat(100_000), ")".repeat(100_000)),
        format!("{}{}", "{".repeat(20_000), "}".repeat(20_000)),
        format!("x = {{{}}};", "1,".repeat(200_000)),
        format!("x = a{};", " + a".repeat(100_000)),
        format!("{}{}", "#if A\n{\n".repeat(2_000), "#endif\n".repeat(2_000)),
        "((((((".repeat(20_000),
        "a<".repeat(100_000),
        "@a ".repeat(10_000),
        "#if A\n{\n".repeat(10_000),
        "if (a) ".repeat(10_000),
        "if (a)\n".repeat(10_000),
        "a: ".repeat(10_000),
        "a = ".repeat(10_000),
        format!("x = {}", "{} ".repeat(10_000)),
        "/**/ ".repeat(10_000),
        format!("x; {}", "/**/ ".repeat(10_000)),
        "a /* \n */".repeat(10_000),
        "else\n".repeat(10_000),
        "a ? b : ".repeat(10_000),
        "f(a)\n".repeat(10_000),
        "@a(\n1)\n".repeat(10_000),
        "@pragma x\n".repeat(10_000),
    ] {
        let shown = text.get(..40);
        assert!(format(&text, &options).is_ok(), "{shown:?}");
    }
}

/// No programs, but the formatter's promises hold for them, too.
#[test]
fn token_soup_is_formatted_once_or_refused() {
    for text in ["={{}for@a({;}\n)}", "={{}@b(x)if{;}}", "={\n{}for a({;})}"] {
        let once = format(text, &FormatOptions::default()).unwrap();
        assert_eq!(format(&once, &FormatOptions::default()).unwrap(), once, "{text}");
    }
    // A stray `#` inside an annotation with a directive: no later annotation excuses it.
    assert!(format("@a(#\n#\n)@match()", &FormatOptions::default()).is_err());
}
