//! `siding bench instructions`: how many instructions compiled code executes for a packet, counted by valgrind.
//!
//! Times change with the machine and with what else it does; instructions change with the code alone. So they can be
//! compared with recorded ones, of the same compiler with the same flags. What is counted is compiled code: of the executables
//! of `crates/bench/c/harness` a function around it, of whole programs what lies in the shared object.

use crate::args::BenchInstructionsArgs;
use crate::fast;
use crate::programs;
use console::CcArgs;
use console::compiling::{Compiling, ScratchDir};
use console::output::{self, Exit};
use console::tools;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Instruction sets of most processors of the last ten years; fixed, so that figures do not depend on the machine.
const MACHINE: [&str; 2] = ["-march=x86-64-v3", "-maes"];

/// Relative tolerance of recorded figures: more above is a failure, more below is worth recording.
const TOLERANCE: f64 = 0.04;

/// Whole programs that are counted.
const PROGRAMS: [&str; 3] = ["l3_router", "psa_router", "sai"];

/// The function around compiled code in `crates/bench/c/harness/run.c`.
const COUNTED: &str = "counted_process";

/// Recorded figures.
#[derive(Clone, Debug, Default, PartialEq)]
struct Record {
    /// First line of what the compiler says of itself.
    compiler: String,
    per_packet: BTreeMap<String, f64>,
}

pub fn run(args: &BenchInstructionsArgs) -> Exit {
    measure(args).unwrap_or_else(|exit| exit)
}

fn measure(args: &BenchInstructionsArgs) -> Result<Exit, Exit> {
    let Some(valgrind) = tools::find(OsStr::new("valgrind")) else {
        output::error_line("valgrind is missing: install it (Debian: apt install valgrind)");
        return Err(Exit::Environment);
    };
    let mut recorded = args.check.as_deref().map(Record::read).transpose()?;
    let cflags = MACHINE.map(str::to_owned).into_iter().chain(args.cc.cflags.iter().cloned()).collect();
    let cc = CcArgs { portable: true, cflags, ..args.cc.clone() };
    let compiler = tools::compiler(cc.cc.as_deref()).and_then(|path| tools::version(&path));
    let compiler = compiler.unwrap_or_default();
    if let Some(recorded) = &recorded
        && recorded.compiler != compiler
    {
        output::warning_line(&format!(
            "nothing is compared: figures were recorded with `{}`, this is `{compiler}`",
            recorded.compiler
        ));
        return Ok(Exit::Ok);
    }
    let counter = Counter { valgrind, scratch: scratch()? };
    let mut per_packet = BTreeMap::new();
    let compiling = Compiling::new(&cc)?;
    for (name, size, ways) in [("forward", 0, &["straight"][..]), ("l2", 1000, &["straight", "segments"])] {
        let executable = fast::executable(name, &compiling)?;
        for way in ways {
            let figure = counter.harness(&executable, size, way)?;
            per_packet.insert(format!("{name}, {way}"), figure);
        }
    }
    for name in PROGRAMS {
        if !args.quick {
            per_packet.insert(name.to_owned(), counter.program(name, &cc)?);
        } else if let Some(recorded) = &mut recorded {
            recorded.per_packet.remove(name);
        }
    }
    let found = Record { compiler, per_packet };
    found.show(recorded.as_ref(), args.json);
    if let Some(path) = &args.record {
        found.write(path)?;
    }
    let exceeded = recorded.map(|recorded| exceeding(&recorded, &found)).unwrap_or_default();
    for sentence in &exceeded {
        output::error_line(sentence);
    }
    if !exceeded.is_empty() {
        output::out("if that is intended, write the new figures with --record\n");
    }
    Ok(if exceeded.is_empty() { Exit::Ok } else { Exit::Failed })
}

fn scratch() -> Result<ScratchDir, Exit> {
    ScratchDir::new().map_err(|error| {
        output::error_line(&format!("cannot make a directory for temporary files: {error}"));
        Exit::Environment
    })
}

/// Lists figures that exceed their record, and records without a figure.
fn exceeding(recorded: &Record, found: &Record) -> Vec<String> {
    let judge = |(name, limit): (&String, &f64)| match found.per_packet.get(name) {
        None => Some(format!("{name}: recorded, but not counted")),
        Some(now) if *now > limit * (1.0 + TOLERANCE) => {
            Some(format!("{name}: {now:.1} instructions per packet, {limit:.1} were recorded"))
        }
        Some(_) => None,
    };
    recorded.per_packet.iter().filter_map(judge).collect()
}

impl Record {
    fn read(path: &Path) -> Result<Record, Exit> {
        let wrong = |what: &str| {
            output::error_line(&format!("{}: {what}", path.display()));
            Exit::Usage
        };
        let text = std::fs::read_to_string(path).map_err(|error| wrong(&error.to_string()))?;
        Record::parse(&text).map_err(|what| wrong(&what))
    }

    fn parse(text: &str) -> Result<Record, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let compiler = value["compiler"].as_str().ok_or("there is no `compiler`")?.to_owned();
        let figures: &Map<String, Value> =
            value["per_packet"].as_object().ok_or("there is no `per_packet`")?;
        let mut per_packet = BTreeMap::new();
        for (name, figure) in figures {
            let figure = figure.as_f64().filter(|n| *n > 0.0);
            per_packet.insert(name.clone(), figure.ok_or_else(|| format!("`{name}` is no number above 0"))?);
        }
        Ok(Record { compiler, per_packet })
    }

    fn json(&self) -> Value {
        json!({
            "compiler": self.compiler,
            "flags": MACHINE.join(" "),
            "per_packet": self.per_packet,
        })
    }

    fn write(&self, path: &Path) -> Result<(), Exit> {
        let text = serde_json::to_string_pretty(&self.json()).unwrap_or_default();
        output::replace_file(path, format!("{text}\n").as_bytes()).map_err(|error| {
            output::error_line(&format!("cannot write {}: {error}", path.display()));
            Exit::Environment
        })
    }

    fn show(&self, recorded: Option<&Record>, as_json: bool) {
        if as_json {
            let mut value = self.json();
            value["recorded"] = json!(recorded.map(|recorded| &recorded.per_packet));
            output::out(&format!("{value}\n"));
            return;
        }
        output::out("Instructions per packet\n");
        for (name, figure) in &self.per_packet {
            let before = recorded.and_then(|recorded| recorded.per_packet.get(name));
            let comparison = before.map_or(String::new(), |before| {
                let hint = if *figure < before * (1.0 - TOLERANCE) { ": worth recording" } else { "" };
                format!("   recorded {before:.1}{hint}")
            });
            output::out(&format!("{name:14} {figure:9.1}{comparison}\n"));
        }
    }
}

/// Runs programs under valgrind.
struct Counter {
    valgrind: PathBuf,
    scratch: ScratchDir,
}

impl Counter {
    /// Runs a program under Callgrind. Returns its output, and the profile of the functions that the pattern names and
    /// their callees.
    fn count(&self, program: &Path, args: &[String], functions: &str) -> Result<(String, String), Exit> {
        let profile = self.scratch.path.join("profile");
        let output = Command::new(&self.valgrind)
            .args(["--tool=callgrind", "--quiet"])
            .arg(format!("--callgrind-out-file={}", profile.display()))
            .arg(format!("--toggle-collect={functions}"))
            .arg(program)
            .args(args)
            .stdin(Stdio::null())
            .output();
        let failed = |message: &str| {
            output::error_line(&format!("counting in {}: {message}", program.display()));
            Exit::Failed
        };
        let output = output.map_err(|error| failed(&error.to_string()))?;
        if !output.status.success() {
            return Err(failed(String::from_utf8_lossy(&output.stderr).trim()));
        }
        let counted = std::fs::read_to_string(&profile).map_err(|error| failed(&error.to_string()))?;
        Ok((String::from_utf8_lossy(&output.stdout).into_owned(), counted))
    }

    fn harness(&self, executable: &Path, size: u64, way: &str) -> Result<f64, Exit> {
        let args = ["--size", &size.to_string(), "--packets", "1024", "--count", way].map(str::to_owned);
        let (printed, profile) = self.count(executable, &args, COUNTED)?;
        figure(&printed, cost(&profile, &|_| true))
    }

    /// Instructions per packet of a whole program, on the path that a switch would choose.
    fn program(&self, name: &str, cc: &CcArgs) -> Result<f64, Exit> {
        let own = std::env::current_exe().map_err(|error| {
            output::error_line(&format!("cannot find this program: {error}"));
            Exit::Environment
        })?;
        let mut args =
            ["bench", "programs", "--quick", "--json", "--runs", "1", "--rounds", "1", "--program", name]
                .map(str::to_owned)
                .to_vec();
        args.push(format!("-O{}", cc.optimise));
        args.extend(cc.portable.then(|| "--portable".to_owned()));
        args.extend(cc.cflags.iter().flat_map(|flags| ["--cflags".to_owned(), flags.clone()]));
        args.extend(cc.cc.iter().flat_map(|path| ["--cc".to_owned(), path.display().to_string()]));
        let (printed, profile) = self.count(&own, &args, programs::COUNTED)?;
        figure(&printed, cost(&profile, &|object| object.ends_with(".so") && object.contains("pipeline")))
    }
}

/// Instructions by the packets that a program says it has processed.
fn figure(printed: &str, n_instructions: u64) -> Result<f64, Exit> {
    let n_packets = serde_json::from_str::<Value>(printed)
        .ok()
        .and_then(|value| value["processed"].as_u64().or_else(|| value["lines"][0]["processed"].as_u64()))
        .filter(|n| *n > 0 && n_instructions > 0);
    n_packets.map(|n| (n_instructions as f64 / n as f64 * 10.0).round() / 10.0).ok_or_else(|| {
        output::error_line("internal bug: nothing was counted");
        Exit::Bug
    })
}

/// Sums the own cost of the functions in the wanted objects (Callgrind's profile format, version 1).
fn cost(profile: &str, is_wanted: &dyn Fn(&str) -> bool) -> u64 {
    let mut names: BTreeMap<&str, &str> = BTreeMap::new();
    let (mut counts, mut is_call, mut sum) = (false, false, 0);
    for line in profile.lines() {
        if let Some((key @ ("ob" | "cob"), object)) = line.split_once('=') {
            // The name stands where its number comes for the first time.
            let (number, name) = object.split_once(' ').unwrap_or((object, ""));
            if !name.is_empty() {
                names.insert(number, name);
            }
            if key == "ob" {
                counts = is_wanted(names.get(number).copied().unwrap_or(""));
            }
        } else if line.starts_with("calls=") {
            // The next line is what the call has cost in all.
            is_call = true;
        } else if line.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '*')) {
            let own = line.split(' ').nth(1).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
            sum += if counts && !is_call { own } else { 0 };
            is_call = false;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROFILE: &str = "\
version: 1
events: Ir

ob=(1) /usr/bin/siding
fn=(1) Ring::run
10 5
cob=(2) /cache/pipeline.so
cfn=(2) p4x_process
calls=3 20
10 300

ob=(2)
fn=(2)
20 100
+2 50
cob=(3) /lib/libc.so
cfn=(3) memcpy
calls=1 1
* 25

ob=(3)
fn=(3)
1 25
totals: 180
";

    #[test]
    fn what_functions_cost_themselves_is_added_up_by_object() {
        assert_eq!(cost(PROFILE, &|object| object.contains("pipeline")), 150);
        assert_eq!(cost(PROFILE, &|_| true), 180);
        assert_eq!(cost("", &|_| true), 0);
    }

    fn record(figures: &[(&str, f64)]) -> Record {
        let per_packet = figures.iter().map(|(name, figure)| ((*name).to_owned(), *figure)).collect();
        Record { compiler: "gcc 12".to_owned(), per_packet }
    }

    #[test]
    fn more_instructions_than_recorded_are_found() {
        let recorded = record(&[("a", 100.0), ("b", 50.0), ("c", 10.0)]);
        let found = record(&[("a", 103.9), ("b", 52.1), ("d", 7.0)]);
        let expected =
            ["b: 52.1 instructions per packet, 50.0 were recorded", "c: recorded, but not counted"];
        assert_eq!(exceeding(&recorded, &found), expected);
        assert_eq!(exceeding(&recorded, &recorded), [""; 0]);
    }

    #[test]
    fn records_are_read_as_they_are_written() {
        let written = record(&[("a", 1.5)]);
        assert_eq!(Record::parse(&written.json().to_string()), Ok(written));
        for (text, what) in [
            ("{", "EOF"),
            ("{}", "no `compiler`"),
            (r#"{"compiler":"x"}"#, "no `per_packet`"),
            (r#"{"compiler":"x","per_packet":{"a":0}}"#, "no number above 0"),
        ] {
            assert!(Record::parse(text).is_err_and(|error| error.contains(what)), "{text}");
        }
    }
}
