//! Token soup: pieces of P4 in any order, with brackets that mostly match.

use crate::Choices;

/// Pieces and how often they are taken. The first ends statements: what exhausted choices give.
const PIECES: &[(&[&str], usize)] = &[
    (&[";", ";\n"], 6),
    (&["a", "b", "c", "x", "y", "S", "T", "H", "E", "main", "start", "NoAction", "packet"], 14),
    (&["0", "1", "2", "8w1", "8w255", "4s7", "-1", "0x1F", "0b1010", "16w0xffff", "1w0", "8w0b1_1"], 7),
    (
        &[
            "bit<8>",
            "bit<1>",
            "int<8>",
            "int",
            "bool",
            "varbit<64>",
            "error",
            "string",
            "void",
            "tuple<bit<8>, bool>",
            "list<bit<8>>",
            "bit",
            "bit<W>",
            "S<bit<8>>",
            "H[4]",
        ],
        8,
    ),
    (
        &[
            "=", "+", "-", "*", "/", "%", "==", "!=", "<", ">", "<=", ">=", "<<", ">>", "&", "|", "^", "++",
            "&&", "||", "|+|", "|-|", "&&&", "..", "!", "~", "?", "+=", "<<=", "|+|=",
        ],
        8,
    ),
    (&[",", ".", ":", "@", "_", "...", "{#}"], 6),
    (
        &[
            "const",
            "typedef",
            "type",
            "struct",
            "header",
            "header_union",
            "enum",
            "enum bit<8>",
            "extern",
            "package",
            "error",
            "match_kind",
            "value_set<bit<8>>(4)",
            "abstract",
        ],
        4,
    ),
    (
        &[
            "if", "else", "switch", "return", "exit", "for", "break", "continue", "in", "out", "inout",
            "apply", "default", "const",
        ],
        5,
    ),
    (
        &[
            "true",
            "false",
            "this",
            "select",
            "transition",
            "accept",
            "reject",
            "state",
            "key",
            "actions",
            "entries",
            "default_action",
            "size",
            "priority",
        ],
        4,
    ),
    (
        &[
            "isValid()",
            "setValid()",
            "apply()",
            "minSizeInBits()",
            "push_front(1)",
            "lookahead<bit<8>>()",
            "extract(x)",
            "hit",
            "action_run",
            "next",
            "last",
        ],
        3,
    ),
    (
        &[
            "@name(\"n\")",
            "@optional",
            "@atomic",
            "@hidden",
            "@pragma p q\n",
            "@a[x=1, y=2]",
            "\"text\"",
            "@match(\"1\")",
        ],
        2,
    ),
    (
        &[
            "const bit<8> a = 1;\n",
            "struct S { bit<8> x; }\n",
            "header H { bit<8> x; varbit<32> y; }\n",
            "typedef bit<8> T;\n",
            "enum E { a, b }\n",
            "bit<8> f(in bit<8> x) { return x; }\n",
            "extern E { E(); void a(in bit<8> x); }\n",
            "action NoAction() {}\n",
            "T g<T>(in T x) { return x; }\n",
        ],
        3,
    ),
    (
        &[
            "\n#define A b\n",
            "\n#define F(x) x x\n",
            "\n#if A\n",
            "\n#endif\n",
            "\n#ifdef A\n",
            "\n#else\n",
            "\n#undef A\n",
            "F(1)",
            "F(",
            "A",
            "\n#include <core.p4>\n",
            "// c\n",
            "/* c */",
            "##",
            "#",
        ],
        2,
    ),
];

/// The text before and after a nested soup.
const NESTS: &[(&str, &str)] = &[
    ("(", ")"),
    ("{", "}"),
    ("[", "]"),
    ("<", ">"),
    ("action a() {", "}\n"),
    ("control c(inout bit<8> x) { apply {", "} }\n"),
    ("control c(inout bit<8> x) {", "apply {} }\n"),
    ("parser p(inout bit<8> x) { state start {", "transition accept; } }\n"),
    ("table t {", "}\n"),
    ("key = {", "}\n"),
    ("actions = {", "}\n"),
    ("const entries = {", "}\n"),
    ("struct S {", "}\n"),
    ("header H {", "}\n"),
    ("extern X {", "}\n"),
    ("transition select(", ") {}\n"),
    ("switch (", ") {}\n"),
    ("if (", ") {}\n"),
    ("for (bit<8> i in ", ") {}\n"),
    ("const bit<8> x = ", ";\n"),
    ("@a(", ")"),
];

const BYTES_MAX: usize = 8 << 10;

pub fn soup(choices: &mut Choices) -> String {
    let mut text = String::new();
    let mut closers: Vec<&str> = Vec::new();
    let total: usize = PIECES.iter().map(|p| p.1).sum();
    while !choices.is_empty() && text.len() < BYTES_MAX {
        match choices.below(10) {
            0 => {
                let (open, close) = NESTS[choices.below(NESTS.len())];
                text.push_str(open);
                closers.push(close);
            }
            1 if !closers.is_empty() => {
                // Now and then a bracket is left open.
                let close = closers.pop().unwrap_or("");
                if !choices.one_in(30) {
                    text.push_str(close);
                }
            }
            _ => {
                let mut at = choices.below(total);
                for (pieces, weight) in PIECES {
                    if at < *weight {
                        text.push_str(pieces[choices.below(pieces.len())]);
                        break;
                    }
                    at -= weight;
                }
            }
        }
        if !choices.one_in(12) {
            text.push(' ');
        }
    }
    while let Some(close) = closers.pop() {
        text.push_str(close);
    }
    text
}
