//! `fuzz twins`: `WriteRequest`s by both ways of decoding.

use fuzz::oracle;
use fuzz::requests::Subject;
use fuzz::twin::{TwinCounts, Twins};
use std::process::ExitCode;

const USAGE: &str = "usage: fuzz twins [--updates N] [--seed N] [--program NAME] [--native]\n   N updates for each program; with --native in compiled switches";

/// Updates for one pair of switches.
const N_OF_PAIR: u64 = 1_000_000;

/// Runs pairs of switches, and prints the first finding of each program.
pub fn main(mut words: impl Iterator<Item = String>) -> ExitCode {
    let (mut n_updates, mut seed, mut program, mut is_native) = (100_000, 1, None, false);
    let wrong = |message: String| {
        eprintln!("{message}\n{USAGE}");
        ExitCode::from(2)
    };
    while let Some(word) = words.next() {
        if word == "--native" {
            is_native = true;
            continue;
        }
        let Some(value) = words.next() else { return wrong(format!("{word} needs a value")) };
        match (word.as_str(), value.parse::<u64>()) {
            ("--updates", Ok(n)) => n_updates = n,
            ("--seed", Ok(n)) => seed = n,
            ("--program", _) => program = Some(value),
            _ => return wrong(format!("`{word} {value}` is unknown")),
        }
    }
    let subjects = match Subject::with_tables() {
        Ok(subjects) => subjects,
        Err(error) => return wrong(error),
    };
    oracle::catch_panics();
    let (mut all, mut n_findings, mut n_programs) = (TwinCounts::default(), 0, 0);
    for subject in
        subjects.iter().filter(|subject| program.as_deref().is_none_or(|name| name == subject.name))
    {
        n_programs += 1;
        let (mut n_left, mut pair) = (n_updates, 0);
        while n_left > 0 {
            let (n, seed) = (n_left.min(N_OF_PAIR), seed + pair);
            let ran = Twins::new(subject, seed, is_native).and_then(|mut twins| {
                let ran = oracle::unless_panic(|| twins.run(n));
                all.add(twins.counts);
                ran.unwrap_or_else(|(place, message)| {
                    Err(fuzz::Finding::new(format!("panic at {place}"), message))
                })
            });
            if let Err(finding) = ran {
                println!(
                    "{finding}\nagain: fuzz twins --program {} --seed {seed} --updates {n}\n",
                    subject.name
                );
                n_findings += 1;
                break;
            }
            n_left -= n;
            pair += 1;
            if n_left > 0 {
                eprintln!("{}: {n_left} updates are left", subject.name);
            }
        }
    }
    let TwinCounts { n_updates, n_short, n_refused, n_damaged } = all;
    println!(
        "{n_updates} updates of {n_programs} programs, {n_short} by the short way, {n_refused} refused, {n_damaged} requests damaged, {n_findings} findings"
    );
    ExitCode::from(u8::from(n_findings > 0 || n_programs == 0))
}
