//! Runs the fuzz targets on a stable toolchain: `cargo run --release -p fuzz -- --seconds 60`.
//!
//! The parent process starts one worker process per target and reads from its standard output which input
//! is being tried, so that a worker that crashes or hangs is a finding like any other.

mod asked;
mod differ;
mod twinned;

use fuzz::{Corpus, Finding, Target, judge, minimise::minimise, oracle};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

const USAGE: &str = "usage: fuzz [--seconds N] [--inputs N] [--target bytes|tokens|mutate|generate] [--seed N] [--p4c DIR] \
                     [--artifacts DIR] [--print INDEX]\n   or: fuzz differential [--programs N] ...\n   or: fuzz requests [--seconds N] ...\n   or: fuzz twins [--updates N] ...";

/// A worker that reports nothing for this long is hung. Minimising reports, too.
const HANGS_AFTER: Duration = Duration::from_secs(60);
/// Time to minimise one finding.
const MINIMISE_FOR: Duration = Duration::from_secs(20);
/// Crashes of workers after which a target is abandoned.
const N_CRASHES_MAX: usize = 10;
/// Stack size of the thread that tries inputs: the default of an embedder that does not set one.
const STACK_BYTES: usize = 8 << 20;

#[derive(Clone, Debug)]
struct Args {
    seconds: u64,
    /// Most inputs for each target.
    inputs: u64,
    target: Option<Target>,
    seed: u64,
    p4c: Option<PathBuf>,
    artifacts: PathBuf,
    /// Only print the input of this index.
    print: Option<u64>,
    /// This process is a worker that begins with this index.
    worker: Option<u64>,
}

fn parse_args() -> Result<Args, String> {
    let mut args = Args {
        seconds: 60,
        inputs: u64::MAX,
        target: None,
        seed: 1,
        p4c: std::env::var_os("SIDING_P4C").map(PathBuf::from),
        artifacts: PathBuf::from("fuzz-artifacts"),
        print: None,
        worker: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value\n{USAGE}"));
        let number =
            |text: String| text.parse::<u64>().map_err(|_| format!("`{text}` is no number\n{USAGE}"));
        match word.as_str() {
            "--seconds" => args.seconds = number(value()?)?,
            "--inputs" => args.inputs = number(value()?)?,
            "--seed" => args.seed = number(value()?)?,
            "--print" => args.print = Some(number(value()?)?),
            "--worker" => args.worker = Some(number(value()?)?),
            "--p4c" => args.p4c = Some(PathBuf::from(value()?)),
            "--artifacts" => args.artifacts = PathBuf::from(value()?),
            "--target" => {
                let name = value()?;
                args.target = Some(Target::named(&name).ok_or(format!("no target `{name}`\n{USAGE}"))?);
            }
            _ => return Err(format!("`{word}` is unknown\n{USAGE}")),
        }
    }
    Ok(args)
}

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1).peekable();
    if words.next_if(|word| word == "differential").is_some() {
        return differ::main(words);
    }
    if words.next_if(|word| word == "requests").is_some() {
        return asked::main(words);
    }
    if words.next_if(|word| word == "twins").is_some() {
        return twinned::main(words);
    }
    let args = match parse_args() {
        Ok(args) => args,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    let corpus = corpus(&args);
    match (args.worker, args.print, args.target) {
        (Some(first), _, Some(target)) => {
            let work = std::thread::Builder::new().stack_size(STACK_BYTES);
            let done = work.spawn(move || worker(&args, target, first, &corpus));
            let is_good = done.is_ok_and(|thread| thread.join().is_ok());
            ExitCode::from(u8::from(!is_good))
        }
        (_, Some(index), Some(target)) => {
            print!("{}", target.input(&data(target, args.seed, index, &corpus), &corpus).text);
            ExitCode::SUCCESS
        }
        _ => parent(&args, &corpus),
    }
}

fn corpus(args: &Args) -> Corpus {
    let mut corpus = Corpus::own();
    if let Some(dir) = &args.p4c {
        for sub in ["p4_16_samples", "p4_16_errors"] {
            corpus.add_dir(&dir.join("testdata").join(sub));
        }
    }
    corpus
}

/// The bytes of one execution.
fn data(target: Target, seed: u64, index: u64, corpus: &Corpus) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ index);
    rng.u64(..);
    if target == Target::Bytes {
        return bytes(&mut rng, corpus);
    }
    // Mostly short, now and then long.
    let n = 1usize << rng.u32(4..13);
    (0..rng.usize(1..=n)).map(|_| rng.u8(..)).collect()
}

/// Noise of several colours, and programs with bytes changed.
fn bytes(rng: &mut fastrand::Rng, corpus: &Corpus) -> Vec<u8> {
    let n = 1usize << rng.u32(0..12);
    match rng.u32(0..8) {
        0 => (0..n).map(|_| rng.u8(..)).collect(),
        1 => (0..n).map(|_| rng.u8(32..127)).collect(),
        2 => {
            let alphabet = b"#\\\n\"/*@(){}<>;,.:=+-|&!~?_ aw1s0x";
            (0..n).map(|_| alphabet[rng.usize(..alphabet.len())]).collect()
        }
        _ => {
            let mut data = rng.choice(&corpus.programs).cloned().unwrap_or_default().into_bytes();
            for _ in 0..rng.usize(1..6) {
                if data.is_empty() {
                    break;
                }
                let at = rng.usize(..data.len());
                match rng.u32(0..5) {
                    0 => data[at] = rng.u8(..),
                    1 => data[at] = rng.u8(32..127),
                    2 => data.truncate(at),
                    3 => drop(data.drain(at..data.len().min(at + rng.usize(1..20)))),
                    _ => data.insert(at, b"#\\\n\"/*@(){}<>;,.:="[rng.usize(..18)]),
                }
            }
            data
        }
    }
}

/// Tries inputs until it is ended. Lines: `s INDEX` before each, `f KEY` for a finding.
fn worker(args: &Args, target: Target, first: u64, corpus: &Corpus) {
    oracle::catch_panics();
    let mut stdout = std::io::stdout().lock();
    let mut tell = |line: String| stdout.write_all(line.as_bytes()).and_then(|()| stdout.flush()).is_ok();
    let mut keys = BTreeSet::new();
    for index in first.. {
        if !tell(format!("s {index}\n")) {
            return;
        }
        let data = data(target, args.seed, index, corpus);
        let Err(finding) = judge(&target.input(&data, corpus), corpus) else { continue };
        let key = finding.key.clone();
        if keys.insert(key.clone()) && !artifact(args, &key).exists() {
            let smaller = minimise(target, &data, finding, corpus, MINIMISE_FOR);
            write_artifact(args, target, index, &smaller.finding, &smaller.text);
        }
        if !tell(format!("f {key}\n")) {
            return;
        }
    }
}

fn artifact(args: &Args, key: &str) -> PathBuf {
    let name: String = key
        .rsplit_once('/')
        .filter(|_| key.starts_with("panic"))
        .map_or(key.to_string(), |(_, file)| format!("panic {file}"))
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    args.artifacts.join(format!("{name}.p4"))
}

fn write_artifact(args: &Args, target: Target, index: u64, finding: &Finding, text: &str) {
    let path = artifact(args, &finding.key);
    let origin = format!("--target {} --seed {} --print {index}", target.name(), args.seed);
    let note = format!("{origin}\n{finding}\n");
    let written = std::fs::create_dir_all(&args.artifacts)
        .and_then(|()| std::fs::write(&path, text))
        .and_then(|()| std::fs::write(path.with_extension("txt"), note));
    if let Err(error) = written {
        eprintln!("cannot write {}: {error}", path.display());
    }
}

/// The results of one target.
#[derive(Default)]
struct Count {
    n_inputs: u64,
    findings: BTreeSet<String>,
}

fn parent(args: &Args, corpus: &Corpus) -> ExitCode {
    let targets: Vec<Target> = args.target.map_or(Target::ALL.to_vec(), |t| vec![t]);
    let time = Duration::from_secs(args.seconds) / targets.len() as u32;
    println!("{} programs in the corpus, seed {}", corpus.programs.len(), args.seed);
    let mut findings = BTreeSet::new();
    for target in targets {
        let start = Instant::now();
        let count = match watch(args, target, time, corpus) {
            Ok(count) => count,
            Err(error) => {
                eprintln!("cannot run a worker: {error}");
                return ExitCode::from(4);
            }
        };
        let seconds = start.elapsed().as_secs_f64();
        let n_findings = count.findings.len();
        println!("{:8} {:9} inputs {seconds:8.1} s {n_findings:3} findings", target.name(), count.n_inputs);
        findings.extend(count.findings);
    }
    for key in &findings {
        println!("finding: {key}\n         {}", artifact(args, key).display());
    }
    ExitCode::from(u8::from(!findings.is_empty()))
}

/// Runs workers on one target until the time is over.
fn watch(args: &Args, target: Target, time: Duration, corpus: &Corpus) -> std::io::Result<Count> {
    let end = Instant::now() + time;
    let mut count = Count::default();
    let mut next = 0;
    for _ in 0..N_CRASHES_MAX {
        let Some((index, how)) = watch_worker(args, target, next, end, &mut count)? else { return Ok(count) };
        let key = format!("{how} {} {index}", target.name());
        let text = target.input(&data(target, args.seed, index, corpus), corpus).text;
        write_artifact(args, target, index, &Finding::new(key.clone(), "the whole process"), &text);
        count.findings.insert(key);
        next = index + 1;
    }
    Ok(count)
}

/// One worker until the time is over (`None`), or until it crashes or hangs on an input.
fn watch_worker(
    args: &Args,
    target: Target,
    first: u64,
    end: Instant,
    count: &mut Count,
) -> std::io::Result<Option<(u64, &'static str)>> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([
        "--target",
        target.name(),
        "--seed",
        &args.seed.to_string(),
        "--worker",
        &first.to_string(),
    ]);
    command.arg("--artifacts").arg(&args.artifacts);
    if let Some(dir) = &args.p4c {
        command.arg("--p4c").arg(Path::new(dir));
    }
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let (send, receive) = channel();
    if let Some(stdout) = child.stdout.take() {
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    return;
                }
            }
        });
    }
    let mut index = first;
    let ended = loop {
        match receive.recv_timeout(HANGS_AFTER) {
            Ok(line) => {
                match line.split_once(' ') {
                    Some(("s", at)) => {
                        index = at.parse().unwrap_or(index);
                        count.n_inputs += 1;
                    }
                    Some(("f", key)) if count.findings.insert(key.to_string()) => {
                        println!("{}: {key}", target.name());
                    }
                    _ => {}
                }
                if Instant::now() >= end || count.n_inputs > args.inputs {
                    break None;
                }
            }
            Err(RecvTimeoutError::Timeout) => break Some((index, "hang")),
            Err(RecvTimeoutError::Disconnected) => break Some((index, "crash")),
        }
    };
    // It may have ended by itself.
    let _ = child.kill();
    child.wait()?;
    Ok(ended)
}
