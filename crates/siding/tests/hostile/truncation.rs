//! Files that end early, bytes without meaning.

use crate::run::{Case, Expect, judge, siding};
use std::path::{Path, PathBuf};

/// Programs of every architecture, each in its folder of `examples`.
const EXAMPLES: [&str; 6] = [
    "08-psa-bridge/bridge_psa.p4",
    "09-pna-connections/connections_pna.p4",
    "02-l2-switch/l2_switch.p4",
    "10-own-architecture/own_architecture.p4",
    "01-router/router.p4",
    "03-slow-work/slow_work.p4",
];

fn examples() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    EXAMPLES.iter().map(|example| dir.join(example)).collect()
}

/// A generator of Steele and Vigna's splitmix64: the tests must be the same every day.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// One run checks many files, because starting a process is what takes long.
fn check_all(texts: &[Vec<u8>]) {
    for (n, texts) in texts.chunks(500).enumerate() {
        let dir = tempfile::tempdir().unwrap();
        for path in examples() {
            std::fs::copy(&path, dir.path().join(path.file_name().unwrap())).unwrap();
        }
        let names: Vec<String> = (0..texts.len()).map(|i| format!("t{i}.p4")).collect();
        for (name, text) in names.iter().zip(texts) {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        for command in
            [["check", "--error-format=human"], ["check", "--error-format=sarif"], ["fmt", "--check"]]
        {
            let mut args = command.to_vec();
            args.extend(names.iter().map(String::as_str));
            let outcome = siding(dir.path(), &args);
            let stderr: String = outcome.stderr.chars().take(2000).collect();
            let is_no_text = command[0] == "fmt" && stderr.contains("UTF-8");
            let is_good = matches!(outcome.code, 0 | 1 | 3) || (outcome.code == 4 && is_no_text);
            assert!(is_good, "chunk {n}, {command:?}: {}\n{stderr}", outcome.code);
        }
    }
}

/// Without optimisation every fourth: of each example others.
const STEP: usize = if cfg!(debug_assertions) { 4 } else { 1 };

#[test]
fn every_prefix_of_the_examples() {
    for (i, path) in examples().into_iter().enumerate() {
        let text = std::fs::read(path).unwrap();
        let texts: Vec<Vec<u8>> = (i % STEP..text.len()).step_by(STEP).map(|n| text[..n].to_vec()).collect();
        check_all(&texts);
    }
}

#[test]
fn every_suffix_of_an_example() {
    let text = std::fs::read(examples().pop().unwrap()).unwrap();
    let texts: Vec<Vec<u8>> = (0..text.len()).step_by(3).map(|n| text[n..].to_vec()).collect();
    check_all(&texts);
}

#[test]
fn examples_with_bytes_changed() {
    let mut noise = Noise(1);
    for path in examples() {
        let text = std::fs::read(path).unwrap();
        let texts: Vec<Vec<u8>> = (0..500)
            .map(|_| {
                let mut text = text.clone();
                for _ in 0..1 + noise.next() % 8 {
                    let at = noise.next() as usize % text.len();
                    text[at] = if noise.next().is_multiple_of(2) {
                        noise.next() as u8
                    } else {
                        b"(){}<>;:=.,@#\"\\/"[noise.next() as usize % 16]
                    };
                }
                text
            })
            .collect();
        check_all(&texts);
    }
}

#[test]
fn noise() {
    let mut noise = Noise(2);
    let mut bytes = |n: usize, alphabet: &[u8]| -> Vec<u8> {
        (0..n).map(|_| alphabet[noise.next() as usize % alphabet.len()]).collect()
    };
    let all: Vec<u8> = (0..=255).collect();
    let printable: Vec<u8> = (32..127).chain([b'\n']).collect();
    let brackets = b"()[]{}<>;,=.:+- 1a\n";
    for n in [1, 100, 10_000, 1 << 20] {
        for (name, alphabet) in
            [("bytes", &all[..]), ("printable", &printable[..]), ("brackets", &brackets[..])]
        {
            judge([Case::new(format!("{n} {name}"), bytes(n, alphabet), Expect::Either)]);
        }
    }
}
