//! Programs of the corpus with tokens and declarations removed, doubled, swapped and replaced.

use crate::{Choices, Corpus};
use syntax::lexer::{Lexer, RawKind};
use syntax::token::TokenKind;

/// The text of each token with the white space before it.
type Pieces = Vec<Piece>;

#[derive(Clone)]
struct Piece {
    before: String,
    text: String,
    kind: RawKind,
}

const TYPES: &[&str] = &[
    "bit<8>",
    "bit<1>",
    "bit<0>",
    "int<8>",
    "int<1>",
    "int",
    "bool",
    "error",
    "string",
    "void",
    "varbit<8>",
    "match_kind",
    "tuple<bit<8>>",
    "list<int>",
    "bit<2048>",
    "_",
    "packet_in",
    "bit<8>[4]",
];

const OPERATORS: &[&str] = &[
    "+", "-", "*", "/", "%", "==", "!=", "<", ">", "<=", ">=", "<<", ">>", "&", "|", "^", "++", "&&", "||",
    "|+|", "|-|", "&&&", "..", "=", "+=", "-=", "<<=", "|=", "?", ":", ",", ".", ";",
];

const LITERALS: &[&str] = &[
    "0",
    "1",
    "2",
    "-1",
    "8w0",
    "8w255",
    "8w256",
    "8s127",
    "8s128",
    "1w1",
    "0xffffffffffffffffffff",
    "true",
    "false",
    "\"s\"",
    "{}",
    "{#}",
    "...",
    "{1, 2}",
    "{a = 1}",
    "error.NoError",
    "(bit<8>)1",
    "64",
    "65536",
    "2147483648",
    "2048w1",
    "0s1",
    "1s1",
    "_",
];

const KEYWORDS: &[&str] = &[
    "const",
    "in",
    "out",
    "inout",
    "abstract",
    "header",
    "struct",
    "header_union",
    "enum",
    "extern",
    "action",
    "parser",
    "control",
    "package",
    "table",
    "state",
    "apply",
    "return",
    "exit",
    "break",
    "continue",
    "this",
    "default",
    "select",
    "switch",
    "if",
    "else",
    "for",
    "typedef",
    "type",
    "@optional",
    "@name(\"a.b\")",
];

const BYTES_MAX: usize = 64 << 10;

pub fn mutate(choices: &mut Choices, corpus: &Corpus) -> String {
    let Some(program) = choices.pick(&corpus.programs) else { return String::new() };
    let mut pieces = cut(program);
    for _ in 0..1 + choices.below(6) {
        if pieces.is_empty() {
            break;
        }
        match choices.below(4) {
            0 => splice(choices, &mut pieces, corpus),
            _ => change_token(choices, &mut pieces),
        }
    }
    let mut text = String::new();
    for piece in &pieces {
        if text.len() > BYTES_MAX {
            break;
        }
        text.push_str(&piece.before);
        text.push_str(&piece.text);
    }
    text
}

fn cut(text: &str) -> Pieces {
    let mut pieces = Vec::new();
    let mut before = String::new();
    for token in Lexer::new(text) {
        let piece = token.text(text);
        if token.is_trivia() {
            before.push_str(piece);
        } else {
            pieces.push(Piece {
                before: std::mem::take(&mut before),
                text: piece.to_string(),
                kind: token.kind,
            });
        }
    }
    pieces.push(Piece { before, text: String::new(), kind: RawKind::Space });
    pieces
}

fn change_token(choices: &mut Choices, pieces: &mut Pieces) {
    let n = pieces.len();
    let at = choices.below(n);
    let other = choices.below(n);
    match choices.below(8) {
        0 => {
            pieces.remove(at);
        }
        1 => {
            let piece = pieces[at].clone();
            pieces.insert(at, spaced(piece));
        }
        2 => {
            let text = pieces[other].text.clone();
            pieces[other].text = std::mem::replace(&mut pieces[at].text, text);
        }
        3 => {
            let end = n.min(at + 1 + choices.below(8));
            pieces.drain(at..end);
        }
        4 => {
            let end = n.min(other + 1 + choices.below(8));
            let copied: Pieces = pieces[other..end].iter().cloned().map(spaced).collect();
            pieces.splice(at..at, copied);
        }
        // Something of the same kind from elsewhere in the program: this often stays parseable.
        5 => {
            let same: Vec<&Piece> = pieces.iter().filter(|p| p.kind == pieces[at].kind).collect();
            if let Some(piece) = choices.pick(&same) {
                pieces[at].text = piece.text.clone();
            }
        }
        _ => {
            let table = match pieces[at].kind {
                RawKind::Token(TokenKind::Int) | RawKind::Number | RawKind::Token(TokenKind::Str) => LITERALS,
                RawKind::Token(TokenKind::Ident) => [TYPES, LITERALS][choices.below(2)],
                RawKind::Token(kind) if kind.is_keyword() => [KEYWORDS, TYPES][choices.below(2)],
                _ => [OPERATORS, LITERALS][choices.below(2)],
            };
            pieces[at].text = table[choices.below(table.len())].to_string();
            if choices.one_in(4) {
                pieces[at].before.push(' ');
            }
        }
    }
}

fn spaced(mut piece: Piece) -> Piece {
    if piece.before.is_empty() {
        piece.before.push(' ');
    }
    piece
}

/// Puts a declaration (or statement) of some program into this one.
fn splice(choices: &mut Choices, pieces: &mut Pieces, corpus: &Corpus) {
    let other = match choices.below(3) {
        0 => pieces.clone(),
        _ => choices.pick(&corpus.programs).map(|p| cut(p)).unwrap_or_default(),
    };
    let depth = choices.below(3);
    let from = units(&other, depth);
    let to = units(pieces, depth);
    let (Some(source), Some(target)) = (choices.pick(&from).cloned(), choices.pick(&to).cloned()) else {
        return;
    };
    let copied: Pieces = other[source].iter().cloned().map(spaced).collect();
    let place = match choices.below(3) {
        0 => target.start..target.start,
        1 => target.end..target.end,
        _ => target,
    };
    pieces.splice(place, copied);
}

/// Ranges between semicolons and braces at a depth of nesting.
fn units(pieces: &[Piece], depth: usize) -> Vec<std::ops::Range<usize>> {
    let (mut units, mut level, mut start) = (Vec::new(), 0usize, 0);
    for (i, piece) in pieces.iter().enumerate() {
        match piece.text.as_str() {
            "{" => {
                level += 1;
                if level == depth {
                    start = i + 1;
                }
            }
            "}" => {
                level = level.saturating_sub(1);
                if level == depth {
                    units.push(start..i + 1);
                    start = i + 1;
                }
            }
            ";" if level == depth => {
                units.push(start..i + 1);
                start = i + 1;
            }
            _ => {}
        }
    }
    units.retain(|r| r.start < r.end);
    units
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cutting_loses_nothing() {
        let text = "#define A 1\nconst bit<8> x = A; // end\n";
        let joined: String = cut(text).iter().map(|p| format!("{}{}", p.before, p.text)).collect();
        assert_eq!(joined, text);
    }

    #[test]
    fn units_are_declarations_and_statements() {
        let pieces = cut("const int a = 1; action f() { a(); b(); } struct S {}");
        let text = |r: std::ops::Range<usize>| {
            pieces[r].iter().map(|p| format!("{}{}", p.before, p.text)).collect::<String>()
        };
        let outer: Vec<String> = units(&pieces, 0).into_iter().map(text).collect();
        assert_eq!(outer, ["const int a = 1;", " action f() { a(); b(); }", " struct S {}"]);
        let inner: Vec<String> = units(&pieces, 1).into_iter().map(text).collect();
        assert_eq!(inner, [" a();", " b();"]);
    }
}
