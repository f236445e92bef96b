//! `siding bench compile`: from P4 to native code, step by step, and how long the first packet waits.

use crate::args::BenchCompileArgs;
use crate::examples::{Example, Included, L2_SWITCH, ROUTER};
use crate::frontend::median;
use crate::frontend::open_corpus;
use conformance::Corpus;
use console::CcArgs;
use console::Loaded;
use console::compiling::{Compiling, Prepared, ScratchDir};
use console::output::{self, Exit};
use console::tools;
use driver::{FileLoader, Options, Source};
use externs::ExternSet;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use syntax::Loader;

/// Any Ethernet packet.
const SCRIPT: &str = "packet 0 020000000001 020000000002 0800 0000000000000000000000000000\n";

/// C that needs nothing but what all programs share.
const ANY_TEXT: &str = "#include \"sd_runtime.h\"\n";

pub fn run(args: &BenchCompileArgs) -> Exit {
    match measure(args) {
        Ok(()) => Exit::Ok,
        Err(exit) => exit,
    }
}

fn measure(args: &BenchCompileArgs) -> Result<(), Exit> {
    let corpus = match args.p4c.is_some() || std::env::var_os("P4C").is_some() {
        true => Some(open_corpus(args.p4c.as_deref())?),
        false => None,
    };
    if cfg!(debug_assertions) {
        output::warning_line("this is a debug build");
    }
    let mut programs = Vec::new();
    for example in [L2_SWITCH, ROUTER] {
        let steps = Steps::median_of(&example.source(), &Included, &args.cc, args.runs)?;
        programs.push((example.name, steps, Process::of(&example, args)?));
    }
    let corpus = corpus.map(|corpus| measure_corpus(&corpus, args)).transpose()?;
    if args.json {
        let value = json!({
            "version": 1,
            "siding": env!("CARGO_PKG_VERSION"),
            "optimized": !cfg!(debug_assertions),
            "runs": args.runs.max(1),
            "optimise": args.cc.optimise,
            "programs": programs
                .iter()
                .map(|(name, steps, process)| json!({
                    "program": name, "steps": steps.json(), "process": process.json(),
                }))
                .collect::<Vec<_>>(),
            "corpus": corpus.map(|corpus| corpus.json()),
        });
        output::out(&format!("{value}\n"));
        return Ok(());
    }
    for (name, steps, process) in &programs {
        output::out(&format!("{name}: {}\n{}", steps.text(), process.text()));
    }
    if let Some(corpus) = corpus {
        output::out(&corpus.text());
    }
    Ok(())
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// Times and sizes of the steps that compile one program.
#[derive(Clone, Debug, Default)]
struct Steps {
    front_end: Duration,
    elaborate: Duration,
    passes: Duration,
    codegen: Duration,
    /// Time of the C compiler and of loading, without the code that all programs share.
    cc: Duration,
    /// Processor time of the C compiler for the program.
    cc_processor: Duration,
    /// Time for the code that all programs share, which is compiled once for each set of flags.
    cc_shared: Duration,
    c_lines: usize,
    object_bytes: u64,
}

/// Runs the steps up to C text.
fn to_c(source: &Source, loader: &dyn Loader) -> Option<(Steps, String)> {
    let mut steps = Steps::default();
    let start = Instant::now();
    let mut checked = driver::check(source, loader, &Options::default());
    steps.front_end = start.elapsed();
    let start = Instant::now();
    let runnable = driver::runnable(&mut checked, None)?;
    steps.elaborate = start.elapsed();
    let loaded = Loaded {
        runnable,
        sources: Arc::new(checked.sources),
        includes: Vec::new(),
        macros: Vec::new(),
        externs: ExternSet::new(),
    };
    let start = Instant::now();
    let prepared = Prepared::new(&loaded, &source.name).ok()?;
    steps.passes = start.elapsed();
    let start = Instant::now();
    let text = prepared.c_text(codegen::Options::default());
    steps.codegen = start.elapsed();
    steps.c_lines = text.lines().count();
    Some((steps, text))
}

impl Steps {
    fn once(source: &Source, loader: &dyn Loader, cc: &CcArgs) -> Result<Steps, Exit> {
        let Some((mut steps, text)) = to_c(source, loader) else {
            output::error_line(&format!("{} cannot be compiled", source.name));
            return Err(Exit::CompileError);
        };
        let compiling = Compiling::new(&CcArgs { no_cache: true, ..cc.clone() })?;
        let start = Instant::now();
        compiling.compile(ANY_TEXT)?;
        steps.cc_shared = start.elapsed();
        let processor = || tools::children_usage().map_or(Duration::ZERO, |usage| usage.processor);
        let (start, before) = (Instant::now(), processor());
        compiling.pipeline(&text)?;
        steps.cc = start.elapsed();
        steps.cc_processor = processor().saturating_sub(before);
        let object = compiling.compile(&text)?.object;
        steps.object_bytes = std::fs::metadata(object).map_or(0, |metadata| metadata.len());
        Ok(steps)
    }

    fn median_of(source: &Source, loader: &dyn Loader, cc: &CcArgs, n_runs: usize) -> Result<Steps, Exit> {
        let runs: Vec<Steps> =
            (0..n_runs.max(1)).map(|_| Steps::once(source, loader, cc)).collect::<Result<_, _>>()?;
        let of = |step: fn(&Steps) -> Duration| median(runs.iter().map(step).collect());
        Ok(Steps {
            front_end: of(|s| s.front_end),
            elaborate: of(|s| s.elaborate),
            passes: of(|s| s.passes),
            codegen: of(|s| s.codegen),
            cc: of(|s| s.cc),
            cc_processor: of(|s| s.cc_processor),
            cc_shared: of(|s| s.cc_shared),
            ..runs.last().cloned().unwrap_or_default()
        })
    }

    fn total(&self) -> Duration {
        self.front_end + self.elaborate + self.passes + self.codegen + self.cc
    }

    fn json(&self) -> Value {
        json!({
            "front_end_ms": ms(self.front_end),
            "elaborate_ms": ms(self.elaborate),
            "passes_ms": ms(self.passes),
            "codegen_ms": ms(self.codegen),
            "cc_ms": ms(self.cc),
            "cc_processor_ms": ms(self.cc_processor),
            "cc_shared_once_ms": ms(self.cc_shared),
            "total_ms": ms(self.total()),
            "c_lines": self.c_lines,
            "object_bytes": self.object_bytes,
        })
    }

    fn text(&self) -> String {
        format!(
            "{:.0} ms: front end {:.1}, elaboration {:.1}, passes {:.1}, C text {:.1}, C compiler {:.0} \
             ({:.0} of a processor, once {:.0} for what all programs share); {} lines of C, {} bytes",
            ms(self.total()),
            ms(self.front_end),
            ms(self.elaborate),
            ms(self.passes),
            ms(self.codegen),
            ms(self.cc),
            ms(self.cc_processor),
            ms(self.cc_shared),
            self.c_lines,
            self.object_bytes,
        )
    }
}

/// Times of whole processes, from start to end.
struct Process {
    /// With one packet, run by the interpreter.
    first_interpreted: Duration,
    /// Native, with an empty cache.
    first_ever: Duration,
    /// Native, with only the shared code in the cache.
    first_native: Duration,
    /// Native, with the program in the cache.
    first_cached: Duration,
    /// Largest resident set of the C compiler's processes.
    cc_peak_bytes: Option<u64>,
}

impl Process {
    fn of(example: &Example<'_>, args: &BenchCompileArgs) -> Result<Process, Exit> {
        let environment = |error: std::io::Error| {
            output::error_line(&format!("cannot measure a process: {error}"));
            Exit::Environment
        };
        let scratch = ScratchDir::new().map_err(environment)?;
        let original = example.write_to(&scratch.path).map_err(environment)?;
        let script = scratch.path.join("one.stf");
        std::fs::write(&script, SCRIPT).map_err(environment)?;
        let siding = std::env::current_exe().map_err(environment)?;
        let flags = cc_flags(&args.cc);
        // Another file name makes it another program for the cache.
        let program = |n: usize| original.with_file_name(format!("{n}_{}", example.name));
        let run = |backend: &str, n: usize| -> Result<Duration, Exit> {
            std::fs::write(program(n), example.text).map_err(environment)?;
            let mut command = Command::new(&siding);
            command.env("XDG_CACHE_HOME", scratch.path.join("cache"));
            command.arg("run").args([&program(n), &script]).args([
                "--quiet",
                "--Wdisable",
                "--backend",
                backend,
            ]);
            time(command.args(&flags)).map_err(environment)
        };
        let n_runs = args.runs.max(1);
        let repeat = |backend: &str, number: fn(usize) -> usize| -> Result<Duration, Exit> {
            Ok(median((1..=n_runs).map(|i| run(backend, number(i))).collect::<Result<Vec<_>, _>>()?))
        };
        Ok(Process {
            first_ever: run("native", 0)?,
            first_interpreted: repeat("interp", |i| i)?,
            first_native: repeat("native", |i| i)?,
            first_cached: repeat("native", |_| 0)?,
            cc_peak_bytes: cc_peak_bytes(&siding, &program(0), &flags),
        })
    }

    fn json(&self) -> Value {
        json!({
            "first_interpreted_packet_ms": ms(self.first_interpreted),
            "first_native_packet_ever_ms": ms(self.first_ever),
            "first_native_packet_ms": ms(self.first_native),
            "first_native_packet_cached_ms": ms(self.first_cached),
            "cc_peak_bytes": self.cc_peak_bytes,
        })
    }

    fn text(&self) -> String {
        let peak = self.cc_peak_bytes.map_or(String::new(), |bytes| {
            format!("; the C compiler takes {:.0} MiB", bytes as f64 / f64::from(1 << 20))
        });
        format!(
            "    first packet: interpreted {:.0} ms, compiled {:.0} ms ({:.0} ms the first time ever), \
             compiled before {:.0} ms{peak}\n",
            ms(self.first_interpreted),
            ms(self.first_native),
            ms(self.first_ever),
            ms(self.first_cached),
        )
    }
}

fn cc_flags(cc: &CcArgs) -> Vec<String> {
    let mut flags = vec![format!("-O{}", cc.optimise)];
    flags.extend(cc.cc.iter().map(|path| format!("--cc={}", path.display())));
    flags.extend(cc.cflags.iter().map(|flags| format!("--cflags={flags}")));
    flags.extend(cc.portable.then(|| "--portable".to_string()));
    flags
}

fn time(command: &mut Command) -> std::io::Result<Duration> {
    let start = Instant::now();
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    let elapsed = start.elapsed();
    match status.success() {
        true => Ok(elapsed),
        false => Err(std::io::Error::other(format!("it ended with {status}"))),
    }
}

fn cc_peak_bytes(siding: &Path, program: &PathBuf, flags: &[String]) -> Option<u64> {
    let output = Command::new(siding)
        .args(["build", "--json", "--emit", "so", "-o", "/dev/null", "--no-cache", "--Wdisable"])
        .args(flags)
        .arg(program)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let summary: Value = serde_json::from_slice(&output.stdout).ok()?;
    summary.get("cc_peak_bytes")?.as_u64()
}

/// All samples that can be run, as far as C text; the largest one compiled.
struct CorpusTimes {
    n_programs: usize,
    c_lines: usize,
    front_end: Duration,
    elaborate: Duration,
    passes: Duration,
    codegen: Duration,
    largest: String,
    largest_steps: Steps,
}

fn measure_corpus(corpus: &Corpus, args: &BenchCompileArgs) -> Result<CorpusTimes, Exit> {
    let loader = FileLoader::default();
    let mut sum = Steps::default();
    let (mut n_programs, mut largest) = (0, None);
    for program in corpus.samples() {
        let Ok(source) = driver::read_source(&program.path) else { continue };
        let Some((steps, _)) = to_c(&source, &loader) else { continue };
        n_programs += 1;
        sum.c_lines += steps.c_lines;
        sum.front_end += steps.front_end;
        sum.elaborate += steps.elaborate;
        sum.passes += steps.passes;
        sum.codegen += steps.codegen;
        if largest.as_ref().is_none_or(|(_, _, c_lines)| steps.c_lines > *c_lines) {
            largest = Some((program.name, source, steps.c_lines));
        }
    }
    let Some((largest, source, _)) = largest else {
        output::error_line("no sample can be compiled");
        return Err(Exit::Environment);
    };
    Ok(CorpusTimes {
        n_programs,
        c_lines: sum.c_lines,
        front_end: sum.front_end,
        elaborate: sum.elaborate,
        passes: sum.passes,
        codegen: sum.codegen,
        largest,
        largest_steps: Steps::median_of(&source, &loader, &args.cc, args.runs)?,
    })
}

impl CorpusTimes {
    fn json(&self) -> Value {
        json!({
            "programs": self.n_programs,
            "c_lines": self.c_lines,
            "front_end_ms": ms(self.front_end),
            "elaborate_ms": ms(self.elaborate),
            "passes_ms": ms(self.passes),
            "codegen_ms": ms(self.codegen),
            "largest": { "program": self.largest, "steps": self.largest_steps.json() },
        })
    }

    fn text(&self) -> String {
        format!(
            "{} samples: front end {:.0} ms, elaboration {:.0}, passes {:.0}, C text {:.0}; {} lines of C\n\
             {}, the largest: {}\n",
            self.n_programs,
            ms(self.front_end),
            ms(self.elaborate),
            ms(self.passes),
            ms(self.codegen),
            self.c_lines,
            self.largest,
            self.largest_steps.text(),
        )
    }
}
