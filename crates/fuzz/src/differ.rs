//! `fuzz differential`: random programs, entries and packets for several backends at once.
//!
//! The parent process starts workers, which report their progress on standard output, so that a crash or hang of a
//! worker is a finding, too.

use fuzz::differential::cases::{self, Sample, Source};
use fuzz::differential::reduce::{self, Reduced};
use fuzz::differential::{NotCompiled, Outcome, SubjectKind, interpreted, native, run, script};
use fuzz::runnable::Dialect;
use fuzz::{Corpus, oracle, runnable};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};
use sweep::{Header, Results, Shard};

const USAGE: &str = "usage: fuzz differential [--programs N] [--packets N] [--seed N] [--architecture v1model|psa|pna] [--p4c DIR] [--jobs N] \
                     [--artifacts DIR] [--native none|one|all] [--points FILE.jsonl [--shard I/N]] [--print INDEX]";
/// Version of the sweep: another one makes other results.
const VERSION: u64 = 1;

/// A worker that reports nothing for this much processor time is hung. Reducing a case is quicker.
const HANGS_AFTER: Duration = Duration::from_secs(180);
/// A worker that reports nothing for this much wall-clock time is hung, too. Busy machines need more of it.
const WAITS_FOR: Duration = Duration::from_secs(3600);
/// Time to reduce one case.
const REDUCE_FOR: Duration = Duration::from_secs(40);
/// Crashes of workers after which the run stops.
const N_CRASHES_MAX: usize = 10;
/// The interpreter's oracles run on one of this many programs.
const ORACLES_EVERY: u64 = 3;
const STACK_BYTES: usize = 64 << 20;

/// The native subjects of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WithNative {
    None,
    /// Compilers and degrees of optimisation in turns.
    One,
    All,
}

impl WithNative {
    const ALL: [(&'static str, WithNative); 3] =
        [("none", WithNative::None), ("one", WithNative::One), ("all", WithNative::All)];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, it)| *it == self).map_or("none", |(name, _)| name)
    }
}

#[derive(Clone, Debug)]
struct Args {
    programs: u64,
    packets: usize,
    seed: u64,
    /// The architecture of generated programs; all in turns if `None`.
    architecture: Option<Dialect>,
    p4c: Option<PathBuf>,
    jobs: u64,
    artifacts: PathBuf,
    native: WithNative,
    /// Results are kept in this file, and a run goes on from there.
    points: Option<PathBuf>,
    shard: Shard,
    print: Option<u64>,
    /// This process is a worker: it tries the programs whose indices are on standard input.
    is_worker: bool,
}

fn parse_args(mut words: impl Iterator<Item = String>) -> Result<Args, String> {
    let mut args = Args {
        programs: 100,
        packets: 100,
        seed: 1,
        architecture: None,
        p4c: None,
        jobs: 1,
        artifacts: PathBuf::from("fuzz-artifacts"),
        native: WithNative::None,
        points: None,
        shard: Shard::ALL,
        print: None,
        is_worker: false,
    };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value\n{USAGE}"));
        let number =
            |text: String| text.parse::<u64>().map_err(|_| format!("`{text}` is no number\n{USAGE}"));
        match word.as_str() {
            "--programs" => args.programs = number(value()?)?,
            "--packets" => args.packets = number(value()?)? as usize,
            "--seed" => args.seed = number(value()?)?,
            "--architecture" => {
                let wanted = value()?;
                let known = Dialect::named(&wanted);
                args.architecture =
                    Some(known.ok_or(format!("`{wanted}` is none of v1model, psa, pna\n{USAGE}"))?);
            }
            "--jobs" => args.jobs = number(value()?)?.max(1),
            "--print" => args.print = Some(number(value()?)?),
            "--p4c" => args.p4c = Some(PathBuf::from(value()?)),
            "--native" => {
                let wanted = value()?;
                let known = WithNative::ALL.iter().find(|(name, _)| *name == wanted);
                args.native = known.ok_or(format!("`{wanted}` is none of none, one, all\n{USAGE}"))?.1;
            }
            "--artifacts" => args.artifacts = PathBuf::from(value()?),
            "--points" => args.points = Some(PathBuf::from(value()?)),
            "--shard" => {
                let wanted = value()?;
                args.shard = wanted.parse().map_err(|why| format!("--shard {wanted}: {why}\n{USAGE}"))?;
            }
            "--worker" => args.is_worker = true,
            _ => return Err(format!("`{word}` is unknown\n{USAGE}")),
        }
    }
    if !args.shard.is_all() && args.points.is_none() {
        return Err(format!("--shard needs --points\n{USAGE}"));
    }
    Ok(args)
}

/// The words after `differential`.
pub fn main(words: impl Iterator<Item = String>) -> ExitCode {
    let args = match parse_args(words) {
        Ok(args) => args,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    let mut source =
        Source { seed: args.seed, n_generated: args.programs, dialect: args.architecture, files: Vec::new() };
    if let Some(dir) = &args.p4c {
        source.add_dir(&dir.join("testdata/p4_16_samples"));
    }
    if let Some(index) = args.print {
        print!("{}", source.text(index));
        return ExitCode::SUCCESS;
    }
    if !args.is_worker {
        return parent(&args, &source);
    }
    let work = std::thread::Builder::new().stack_size(STACK_BYTES);
    let done = work.spawn(move || worker(&args, &source));
    ExitCode::from(u8::from(!done.is_ok_and(|thread| thread.join().is_ok())))
}

/// The pairs of backends that a program is run on.
fn pairs(index: u64, native: WithNative) -> Vec<[SubjectKind; 2]> {
    let compiled = match native {
        WithNative::None => &[],
        WithNative::One => {
            // The size of programs depends on their index, too.
            let at = (index / cases::N_SIZES % native::TURNS.len() as u64) as usize;
            &native::TURNS[at..at + 1]
        }
        WithNative::All => native::ALL,
    };
    let n = if index.is_multiple_of(ORACLES_EVERY) { interpreted::ALL.len() } else { 1 };
    let kinds = interpreted::ALL[..n].iter().chain(compiled.iter().flatten());
    kinds.map(|kind| [interpreted::ELABORATED, *kind]).collect()
}

/// Tries programs. Lines: `s INDEX` before each, `f KEY` for a finding, `n N WHAT` for something to be counted, `d INDEX`
/// after each.
fn worker(args: &Args, source: &Source) {
    oracle::catch_panics();
    let mut stdout = std::io::stdout().lock();
    let mut tell = |line: String| {
        // Stop if the parent is gone.
        if stdout.write_all(line.as_bytes()).and_then(|()| stdout.flush()).is_err() {
            std::process::exit(0);
        }
    };
    let corpus = Corpus::default();
    let wanted = std::io::stdin().lines().map_while(Result::ok);
    for index in wanted.map_while(|line| line.parse::<u64>().ok()) {
        tell(format!("s {index}\n"));
        for (what, n) in one(args, source, index, &corpus, &mut tell) {
            tell(format!("n {n} {what}\n"));
        }
        tell(format!("d {index}\n"));
    }
    native::clean_up();
}

/// Tries one program; returns the things to count.
fn one(
    args: &Args,
    source: &Source,
    index: u64,
    corpus: &Corpus,
    tell: &mut dyn FnMut(String),
) -> Vec<(String, u64)> {
    let mut counts = Vec::new();
    let mut count = |what: String, n: u64| counts.push((what, n));
    let sample = match oracle::unless_panic(|| source.sample(index, corpus)) {
        Ok(Ok(sample)) => sample,
        Ok(Err(NotCompiled::Refused { code, text })) => {
            if index < source.n_generated {
                let key = format!("a valid program is refused: {code}");
                write(args, source, index, &key, &source.text(index), None, &text);
                tell(format!("f {key}\n"));
            }
            return vec![("programs: refused".to_string(), 1)];
        }
        Ok(Err(NotCompiled::Schema(text))) => {
            let key = "no schema of a program".to_string();
            write(args, source, index, &key, &source.text(index), None, &text);
            tell(format!("f {key}\n"));
            return counts;
        }
        Err((place, text)) => {
            let key = format!("panic of the compiler at {place}");
            write(args, source, index, &key, &source.text(index), None, &text);
            tell(format!("f {key}\n"));
            return counts;
        }
    };
    count("programs: run".to_string(), 1);
    if sample.is_generated {
        for construct in runnable::coverage::constructs(&sample.text) {
            count(format!("construct: {construct}"), 1);
        }
    }
    let case = source.case(index, &sample, args.packets);
    for kinds in pairs(index, args.native) {
        match run(&sample.compiled, &case.events, kinds) {
            Outcome::Same(transcript) => {
                count(format!("runs: {}", kinds[1].name), 1);
                if kinds[1].name == interpreted::PASSES.name {
                    let n_faults = transcript.observed.iter().filter(|o| o.fault.is_some()).count();
                    let n_writes = case.n_writes();
                    count("events: writes accepted".to_string(), (n_writes - n_faults) as u64);
                    count("events: writes refused".to_string(), n_faults as u64);
                    let n_digests: usize = transcript.observed.iter().map(|o| o.digests.len()).sum();
                    count("events: digests".to_string(), n_digests as u64);
                    let last = transcript.observed.last().map(|o| o.totals.clone()).unwrap_or_default();
                    last.into_iter().for_each(|(what, n)| count(format!("packets: {what}"), n));
                }
            }
            Outcome::Undecided(_) => count(format!("undecided: {}", kinds[1].name), 1),
            Outcome::Differs(difference) => {
                let key = difference.key.clone();
                let dir = artifact(args, &key);
                let known = dir.exists();
                if !known {
                    let whole = sample.is_generated.then_some(corpus);
                    let reduced =
                        reduce::smaller(case.clone(), &sample.compiled, difference, kinds, whole, REDUCE_FOR);
                    save(args, source, index, &sample, &reduced, corpus);
                }
                tell(format!("f {key}\n"));
            }
        }
    }
    counts
}

fn artifact(args: &Args, key: &str) -> PathBuf {
    let key = key.rsplit_once("/crates/").map_or(key.to_string(), |(_, file)| format!("panic {file}"));
    let name: String = key.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    args.artifacts.join(name)
}

/// A folder with the program, the script, and what differs.
fn save(args: &Args, source: &Source, index: u64, sample: &Sample, reduced: &Reduced, corpus: &Corpus) {
    let again = if sample.is_generated {
        fuzz::differential::compile(&reduced.case.text, corpus).ok()
    } else {
        Some(sample.compiled.clone())
    };
    let Some(compiled) = again else { return };
    let written = script::script(&compiled, &reduced.case.events, &reduced.difference.expected);
    let at = reduced.difference.event_idx.map_or("the state in the end".to_string(), |i| {
        format!("event {i}: {:?}", reduced.case.events.get(i))
    });
    let complete = if written.is_complete { "" } else { "The script does not say everything.\n" };
    let details = format!("{at}\n{}\n{complete}", reduced.difference.details);
    write(args, source, index, &reduced.difference.key, &reduced.case.text, Some(&written.text), &details);
}

fn write(
    args: &Args,
    source: &Source,
    index: u64,
    key: &str,
    text: &str,
    script: Option<&str>,
    details: &str,
) {
    let dir = artifact(args, key);
    if dir.exists() {
        return;
    }
    let architecture = args.architecture.map_or(String::new(), |of| format!("--architecture {} ", of.name()));
    let origin = format!("{} ({architecture}--seed {} --print {index})", source.name(index), args.seed);
    let put = |name: &str, text: &str| std::fs::write(dir.join(name), text);
    let written = std::fs::create_dir_all(&dir)
        .and_then(|()| put("program.p4", text))
        .and_then(|()| put("finding.txt", &format!("{key}\n{origin}\n{details}\n")))
        .and_then(|()| script.map_or(Ok(()), |script| put("test.stf", script)));
    if let Err(error) = written {
        eprintln!("cannot write {}: {error}", dir.display());
    }
}

/// Counts and findings, of one program or of all.
#[derive(Default)]
struct Summary {
    counts: BTreeMap<String, u64>,
    findings: BTreeMap<String, u64>,
}

impl Summary {
    /// The result of a point.
    fn json(&self) -> Value {
        json!({ "counts": self.counts, "findings": self.findings })
    }

    /// Adds the result of a point.
    fn add(&mut self, result: &Value) {
        for (sums, name) in [(&mut self.counts, "counts"), (&mut self.findings, "findings")] {
            for (what, n) in result[name].as_object().into_iter().flatten() {
                *sums.entry(what.clone()).or_default() += n.as_u64().unwrap_or(0);
            }
        }
    }
}

/// The programs as points: each is made from the seed and its index, or is a file.
fn header(args: &Args, source: &Source) -> Result<Header, sweep::Error> {
    let architecture = args.architecture.map(Dialect::name);
    let arguments = json!({
        "packets": args.packets, "architecture": architecture, "native": args.native.name(),
        "programs": args.programs, "files": source.fingerprint(),
    });
    let mut command: Vec<String> = ["fuzz", "differential"].map(String::from).to_vec();
    let mut option = |name: &str, value: String| command.extend([name.to_string(), value]);
    option("--programs", args.programs.to_string());
    option("--packets", args.packets.to_string());
    option("--seed", args.seed.to_string());
    option("--native", args.native.name().to_string());
    if let Some(dialect) = args.architecture {
        option("--architecture", dialect.name().to_string());
    }
    if let Some(dir) = &args.p4c {
        option("--p4c", dir.display().to_string());
    }
    let points = (0..source.len()).map(|index| source.name(index)).collect();
    Ok(Header::new("fuzz differential", VERSION, args.seed, arguments, points)?.with_command(command))
}

fn parent(args: &Args, source: &Source) -> ExitCode {
    println!("{} programs, seed {}, {} packets each", source.len(), args.seed, args.packets);
    let start = Instant::now();
    let opened =
        header(args, source).and_then(|header| Results::open(args.points.as_deref(), header, args.shard));
    let mut results = match opened {
        Ok(results) => results,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(if error.is_environment() { 4 } else { 2 });
        }
    };
    if let Err(error) = watch(args, source, &mut results) {
        eprintln!("cannot run a worker: {error}");
        return ExitCode::from(4);
    }
    if let Err(error) = results.finish() {
        eprintln!("error: {error}");
        return ExitCode::from(4);
    }
    let mut summary = Summary::default();
    let points = results.points();
    (0..points.header().points.len()).filter_map(|place| points.result(place)).for_each(|r| summary.add(r));
    let n_missing = results.missing().len();
    if n_missing > 0 {
        println!("{n_missing:9} programs: not run, after too many crashes");
    }
    eprintln!("{:.1} s", start.elapsed().as_secs_f64());
    let mut constructs: BTreeMap<&str, u64> =
        runnable::coverage::CONSTRUCTS.iter().map(|c| (c.name, 0)).collect();
    for (what, n) in &summary.counts {
        match what.strip_prefix("construct: ") {
            Some(construct) => *constructs.entry(construct).or_default() += n,
            None => println!("{n:9} {what}"),
        }
    }
    if source.n_generated > 0 {
        println!("generated programs with each construct:");
        constructs.iter().for_each(|(name, n)| println!("{n:9} {name}"));
    }
    println!("{} findings", summary.findings.len());
    for (key, n) in &summary.findings {
        println!("finding ({n} times): {key}\n         {}", artifact(args, key).display());
    }
    ExitCode::from(u8::from(!summary.findings.is_empty()))
}

struct Worker {
    child: Child,
    /// Takes the index of the next program; closed when there is none.
    stdin: Option<ChildStdin>,
    index: u64,
    /// Counts and findings of that program.
    summary: Summary,
    heard: Instant,
    /// When it was heard.
    had_run: Duration,
}

impl Worker {
    /// Gives it the next program, or lets it end.
    fn feed(&mut self, todo: &mut VecDeque<u64>) {
        let next = todo.pop_front();
        if let (Some(index), Some(stdin)) = (next, &mut self.stdin) {
            self.index = index;
            self.summary = Summary::default();
            // A worker that has crashed is noticed by the end of its output.
            let _ = stdin.write_all(format!("{index}\n").as_bytes());
        } else {
            self.stdin = None;
        }
    }

    /// Time on a processor since it was heard.
    fn ran(&self) -> Option<Duration> {
        processor_time(&self.child).map(|time| time.saturating_sub(self.had_run))
    }
}

/// Returns the processor time of the process without its children: compilers have a limit of their own. `None` if
/// `/proc` does not tell.
fn processor_time(child: &Child) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).ok()?;
    // The name before these fields may contain anything.
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks = |field: usize| fields.split_whitespace().nth(field)?.parse::<u64>().ok();
    Some(Duration::from_millis((ticks(11)? + ticks(12)?) * MS_PER_TICK))
}

/// The unit of /proc.
const MS_PER_TICK: u64 = 10;

enum Heard {
    Line(u64, String),
    End(u64),
}

/// Tries the programs without a result.
fn watch(args: &Args, source: &Source, results: &mut Results) -> std::io::Result<()> {
    let mut todo: VecDeque<u64> = results.missing().into_iter().map(|place| place as u64).collect();
    let (send, receive) = channel();
    let mut workers: BTreeMap<u64, Worker> = BTreeMap::new();
    for job in 0..args.jobs.min(todo.len() as u64) {
        workers.insert(job, start(args, job, &mut todo, &send)?);
    }
    let mut n_crashes = 0;
    let mut reported = BTreeSet::new();
    let mut note = |index: u64, summary: &Summary| {
        results.note(index as usize, summary.json()).map_err(std::io::Error::other)
    };
    while !workers.is_empty() {
        let heard = receive.recv_timeout(Duration::from_secs(1)).ok();
        if let Some(Heard::Line(job, line)) = &heard
            && let Some(worker) = workers.get_mut(job)
        {
            worker.heard = Instant::now();
            worker.had_run = processor_time(&worker.child).unwrap_or_default();
            match line.split_once(' ') {
                Some(("f", key)) => {
                    if reported.insert(key.to_string()) {
                        println!("{}: {key}", source.name(worker.index));
                    }
                    *worker.summary.findings.entry(key.to_string()).or_default() += 1;
                }
                Some(("n", rest)) => {
                    if let Some((n, what)) = rest.split_once(' ') {
                        let n: u64 = n.parse().unwrap_or(0);
                        *worker.summary.counts.entry(what.to_string()).or_default() += n;
                    }
                }
                Some(("d", _)) => {
                    note(worker.index, &worker.summary)?;
                    worker.feed(&mut todo);
                }
                _ => {}
            }
        }
        let mut dead = Vec::new();
        for (job, worker) in &mut workers {
            let silence = worker.heard.elapsed();
            if silence > WAITS_FOR || silence > HANGS_AFTER && worker.ran().is_none_or(|t| t > HANGS_AFTER) {
                // It may have ended by itself.
                let _ = worker.child.kill();
                dead.push((*job, "hang"));
            }
        }
        if let Some(Heard::End(job)) = heard {
            dead.push((job, "crash"));
        }
        for (job, how) in dead {
            let Some(mut worker) = workers.remove(&job) else { continue };
            if worker.child.wait()?.success() {
                continue;
            }
            let key = format!("{how} of {}", source.name(worker.index));
            write(args, source, worker.index, &key, &source.text(worker.index), None, "the whole process");
            println!("{key}");
            *worker.summary.findings.entry(key).or_default() += 1;
            note(worker.index, &worker.summary)?;
            n_crashes += 1;
            if n_crashes < N_CRASHES_MAX && !todo.is_empty() {
                workers.insert(job, start(args, job, &mut todo, &send)?);
            }
        }
    }
    Ok(())
}

fn start(args: &Args, job: u64, todo: &mut VecDeque<u64>, send: &Sender<Heard>) -> std::io::Result<Worker> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("differential");
    let mut option = |name: &str, value: &dyn std::fmt::Display| {
        command.args([name, &value.to_string()]);
    };
    option("--programs", &args.programs);
    option("--packets", &args.packets);
    option("--seed", &args.seed);
    option("--native", &args.native.name());
    if let Some(dialect) = args.architecture {
        command.args(["--architecture", dialect.name()]);
    }
    command.arg("--artifacts").arg(&args.artifacts);
    if let Some(dir) = &args.p4c {
        command.arg("--p4c").arg(Path::new(dir));
    }
    command.arg("--worker");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let send = send.clone();
    if let Some(stdout) = child.stdout.take() {
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if send.send(Heard::Line(job, line)).is_err() {
                    return;
                }
            }
            // This fails only if the receiver is gone.
            let _ = send.send(Heard::End(job));
        });
    }
    let mut worker = Worker {
        stdin: child.stdin.take(),
        child,
        index: 0,
        summary: Summary::default(),
        heard: Instant::now(),
        had_run: Duration::ZERO,
    };
    worker.feed(todo);
    Ok(worker)
}
