//! `fuzz requests`: random P4Runtime requests.

use fuzz::oracle;
use fuzz::requests::{Behind, Counts, Session, Subject};
use grpc::ServerAddress;
use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::{Duration, Instant};

const USAGE: &str = "usage: fuzz requests [--seconds N] [--sessions N] [--seed N] [--program NAME] [--server ADDRESS]\n   with --server, a switch behind a socket is asked, whose program is replaced";

/// Findings after which the run ends.
const N_FINDINGS_MAX: usize = 10;

struct Args {
    seconds: u64,
    sessions: u64,
    /// The first session of each program.
    seed: u64,
    program: Option<String>,
    /// A switch behind a socket, and not one in this process.
    server: Option<ServerAddress>,
}

fn parse_args(mut words: impl Iterator<Item = String>) -> Result<Args, String> {
    let mut args = Args { seconds: 30, sessions: u64::MAX, seed: 1, program: None, server: None };
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} needs a value\n{USAGE}"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("`{value}` is no number\n{USAGE}"));
        match word.as_str() {
            "--seconds" => args.seconds = number()?,
            "--sessions" => args.sessions = number()?,
            "--seed" => args.seed = number()?,
            "--program" => args.program = Some(value),
            "--server" => args.server = Some(value.parse()?),
            _ => return Err(format!("`{word}` is unknown\n{USAGE}")),
        }
    }
    Ok(args)
}

/// Runs sessions until the time is over, and prints the first of the findings of each kind.
pub fn main(words: impl Iterator<Item = String>) -> ExitCode {
    let prepared = parse_args(words).and_then(|args| {
        let mut subjects = Subject::all()?;
        subjects.retain(|subject| args.program.as_deref().is_none_or(|name| name == subject.name));
        subjects.retain(|subject| args.server.is_none() || subject.is_alone);
        match subjects.is_empty() {
            true => Err(format!("there is no such program\n{USAGE}")),
            false => Ok((args, subjects)),
        }
    });
    let (args, subjects) = match prepared {
        Ok(prepared) => prepared,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    oracle::catch_panics();
    let end = Instant::now() + Duration::from_secs(args.seconds);
    let mut found = BTreeSet::new();
    let (mut n_sessions, mut counts) = (0, Counts::new());
    while n_sessions < args.sessions && Instant::now() < end && found.len() < N_FINDINGS_MAX {
        let seed = args.seed.wrapping_add(n_sessions);
        for subject in &subjects {
            let session = match &args.server {
                None => Session::new(subject, seed),
                Some(address) => {
                    Behind::new(address, 0).and_then(|switch| Session::behind(subject, seed, switch))
                }
            };
            match session.and_then(|mut session| session.run(subject)) {
                Ok(answers) => {
                    answers.into_iter().for_each(|(code, n)| *counts.entry(code).or_default() += n)
                }
                Err(finding) if found.insert(finding.key.clone()) => {
                    println!(
                        "{finding}\nagain: fuzz requests --program {} --seed {seed} --sessions 1\n",
                        subject.name
                    );
                }
                Err(_) => {}
            }
        }
        n_sessions += 1;
    }
    let counts: Vec<String> = counts.iter().map(|(code, n)| format!("{code} {n}")).collect();
    println!("{n_sessions} sessions of {} programs, {} findings", subjects.len(), found.len());
    println!("answers: {}", counts.join(", "));
    ExitCode::from(u8::from(!found.is_empty()))
}
