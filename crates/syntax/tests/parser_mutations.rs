//! Good programs with tokens removed, doubled, swapped and replaced: reading always ends, without panic, with
//! few messages; and what is still accepted is printed faithfully.

use diagnostics::{Diagnostics, SourceMap};
use syntax::limits::SYNTAX_ERRORS_MAX;
use syntax::parser::parse_tokens;
use syntax::token::{Token, TokenKind};
use syntax::{NoIncludes, Options, preprocess, pretty, same_tree};

/// A generator of numbers that look random and are the same in every run (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n.max(1) as u64) as usize
    }
}

/// The programs of `parser_accepts.md`, without pragmas: a `@pragma` moved into another annotation takes the
/// rest of its line with it when it is printed.
fn programs() -> Vec<String> {
    include_str!("parser_accepts.md")
        .split("```p4\n")
        .skip(1)
        .filter_map(|block| block.split("```").next())
        .map(|text| text.lines().filter(|l| !l.starts_with("@pragma")).collect::<Vec<_>>().join("\n"))
        .collect()
}

fn mutate(tokens: &mut Vec<Token>, random: &mut Random) {
    let n = tokens.len() - 1;
    let at = random.below(n);
    match random.below(5) {
        0 => drop(tokens.remove(at)),
        1 => tokens.insert(at, tokens[random.below(n)].clone()),
        2 => tokens.swap(at, random.below(n)),
        3 => tokens[at] = Token { span: tokens[at].span, ..tokens[random.below(n)].clone() },
        _ => {
            tokens.drain(at..n.min(at + 1 + random.below(5)));
        }
    }
}

#[test]
fn mutated_programs_are_read_to_the_end() {
    let mut random = Random(1);
    let (mut n_accepted, mut n_refused, mut n_messages, mut n_mutations) = (0, 0, 0, 0);
    for text in programs() {
        let (mut sources, mut diags) = (SourceMap::new(), Diagnostics::new());
        let tokens = preprocess("t.p4", text, &NoIncludes, &Options::default(), &mut sources, &mut diags);
        for _ in 0..300 {
            let mut mutant = tokens.clone();
            let n = 1 + random.below(3);
            for _ in 0..n {
                mutate(&mut mutant, &mut random);
            }
            let mut diags = Diagnostics::new();
            let program = parse_tokens(&mutant, &sources, &mut diags);
            assert!(diags.n_errors() <= SYNTAX_ERRORS_MAX);
            let printed = pretty::program(&program);
            if diags.has_errors() {
                n_refused += 1;
                n_messages += diags.n_errors();
                n_mutations += n;
                continue;
            }
            if mutant.iter().any(|t| t.kind == TokenKind::Unknown) {
                continue;
            }
            n_accepted += 1;
            let again = syntax::parse("t.p4", printed.clone(), &NoIncludes, &Options::default());
            assert!(!again.diagnostics.has_errors(), "{:?}\n{printed}", again.diagnostics);
            assert!(same_tree::same(&program, &again.program), "{printed}");
        }
    }
    assert!(n_accepted > 100 && n_refused > 1000, "{n_accepted} accepted, {n_refused} refused");
    // Three messages for two faults at most, on the average.
    assert!(2 * n_messages < 3 * n_mutations, "{n_messages} messages for {n_mutations} mutations");
}

#[test]
fn soups_of_tokens_are_read_to_the_end() {
    let mut random = Random(2);
    let (mut sources, mut diags) = (SourceMap::new(), Diagnostics::new());
    let text = programs().concat();
    let tokens = preprocess("t.p4", text, &NoIncludes, &Options::default(), &mut sources, &mut diags);
    for _ in 0..500 {
        let soup: Vec<Token> =
            (0..random.below(400)).map(|_| tokens[random.below(tokens.len() - 1)].clone()).collect();
        let mut diags = Diagnostics::new();
        let program = parse_tokens(&soup, &sources, &mut diags);
        assert!(diags.n_errors() <= SYNTAX_ERRORS_MAX);
        assert!(pretty::program(&program).len() < 1 << 20);
    }
}
