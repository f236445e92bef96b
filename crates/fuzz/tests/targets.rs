//! A few inputs of every target in each test run; the generator writes what it should.

use fuzz::{Target, corpus, judge};

fn data(target: Target, seed: u64) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(seed);
    if target == Target::Bytes {
        let program = rng.choice(&corpus::own().programs).cloned().unwrap_or_default();
        let mut data = program.into_bytes();
        for _ in 0..4 {
            let at = rng.usize(..data.len());
            data[at] = rng.u8(..);
        }
        return data;
    }
    let bits = rng.u32(4..12);
    let n = rng.usize(1..1 << bits);
    (0..n).map(|_| rng.u8(..)).collect()
}

fn smoke(target: Target, n: u64) {
    let corpus = corpus::own();
    for seed in 0..n {
        let input = target.input(&data(target, seed), corpus);
        if let Err(finding) = judge(&input, corpus) {
            panic!("seed {seed}: {finding}\n--- input ---\n{}", input.text);
        }
    }
}

#[test]
fn bytes() {
    smoke(Target::Bytes, 150);
}

#[test]
fn tokens() {
    smoke(Target::Tokens, 150);
}

#[test]
fn mutants() {
    smoke(Target::Mutate, 150);
}

#[test]
fn generated_programs() {
    smoke(Target::Generate, 150);
}

#[test]
fn inputs_depend_on_bytes_alone() {
    for target in Target::ALL {
        let data = data(target, 7);
        assert_eq!(target.input(&data, corpus::own()).text, target.input(&data, corpus::own()).text);
    }
}

#[test]
fn generated_programs_hold_everything() {
    let corpus = corpus::own();
    let all: String =
        (0..300).map(|seed| Target::Generate.input(&data(Target::Generate, seed), corpus).text).collect();
    for construct in [
        "#include <v1model.p4>",
        "#include <core.p4>",
        "const ",
        "typedef ",
        "\ntype ",
        "struct ",
        "header ",
        "header_union ",
        "enum bit<",
        "enum E",
        "tuple<",
        "<T>",
        "extern ",
        "action ",
        "parser ",
        "control ",
        "package ",
        ") main;",
        "transition select",
        "transition accept",
        "&&& ",
        " .. ",
        ".extract(",
        ".emit(",
        "table ",
        "const entries",
        "default_action",
        ": lpm",
        ": ternary",
        "switch (",
        ".action_run",
        ".apply().hit",
        "for (",
        "break;",
        "continue;",
        "exit;",
        "return;",
        "if (",
        "else",
        ".setValid()",
        ".isValid()",
        " ? ",
        "|+|",
        "++",
        "<<",
        " += ",
        "error.",
        "int<",
        "inout ",
        "out ",
        "[0].",
        ".next",
    ] {
        assert!(all.contains(construct), "nothing has `{construct}`");
    }
}
