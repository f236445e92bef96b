//! Runs the binary under limits and judges how it ended.

use std::path::Path;
use std::process::{Command, Stdio};

/// Address space. The binary reserves 256 MiB of it for its stack; the rest is what it may use.
const ADDRESS_SPACE_KIB: u64 = (1 << 20) + (320 << 10);
/// Processor time, user and system, until one input is refused.
const CPU_SECONDS: f64 = if cfg!(debug_assertions) { 30.0 } else { 1.0 };
/// What a huge program without errors may take in units of that: all of it has to be looked at.
const ACCEPTED_FACTOR: f64 = 3.0;
/// When the kernel ends it.
const CPU_SECONDS_KILLED: u32 = 60;

/// Messages. A fault may quote a name of any length.
const STDERR_BYTES_MAX: usize = 64 << 20;

/// What a command may answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// No errors.
    Accepted,
    /// Errors.
    Refused,
    /// Either; the input is there for its size.
    Either,
}

/// An input: the first file is the main one.
pub struct Case {
    pub name: String,
    pub files: Vec<(String, Vec<u8>)>,
    pub expect: Expect,
}

impl Case {
    pub fn new(name: impl Into<String>, text: impl Into<Vec<u8>>, expect: Expect) -> Case {
        Case { name: name.into(), files: vec![("main.p4".to_string(), text.into())], expect }
    }

    pub fn with(mut self, name: impl Into<String>, text: impl Into<Vec<u8>>) -> Case {
        self.files.push((name.into(), text.into()));
        self
    }
}

/// How a command ended.
pub struct Outcome {
    /// 128 and more: killed by a signal.
    pub code: i32,
    pub cpu_seconds: f64,
    pub stderr: String,
}

/// Runs `siding ARGS` in a directory under the limits.
pub fn siding(dir: &Path, args: &[&str]) -> Outcome {
    let script = format!(
        "ulimit -t {CPU_SECONDS_KILLED}; ulimit -v {ADDRESS_SPACE_KIB}; ulimit -c 0; \
         \"$@\" >out 2>err; code=$?; times; exit $code"
    );
    let output = Command::new("sh")
        .args(["-c", &script, "sh", env!("CARGO_BIN_EXE_siding")])
        .args(args)
        .current_dir(dir)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let read = |name: &str| String::from_utf8_lossy(&std::fs::read(dir.join(name)).unwrap()).into_owned();
    let times = String::from_utf8_lossy(&output.stdout).into_owned();
    Outcome {
        code: output.status.code().unwrap_or(-1),
        cpu_seconds: children_seconds(&times),
        stderr: read("err"),
    }
}

/// Second line of what the shell's `times` prints: user and system time of the children, `0m1.234s 0m0.5s`.
fn children_seconds(times: &str) -> f64 {
    let parts = times.lines().last().unwrap_or("").split_whitespace();
    parts
        .filter_map(|part| {
            let (minutes, seconds) = part.trim_end_matches('s').split_once('m')?;
            Some(minutes.parse::<f64>().ok()? * 60.0 + seconds.replace(',', ".").parse::<f64>().ok()?)
        })
        .sum()
}

/// Checks and formats every input; panics with everything that went wrong.
pub fn judge(cases: impl IntoIterator<Item = Case>) {
    let mut wrong = Vec::new();
    for case in cases {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in &case.files {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        for command in ["check", "fmt"] {
            let args: &[&str] = match command {
                "fmt" => &["fmt", "--check", "main.p4"],
                _ => &["check", "--error-format=short", "main.p4"],
            };
            let outcome = siding(dir.path(), args);
            if std::env::var_os("SIDING_HOSTILE").is_some() {
                let first = outcome.stderr.lines().next().unwrap_or("");
                let first: String = first.chars().take(100).collect();
                let (code, seconds) = (outcome.code, outcome.cpu_seconds);
                println!("{command:5} {:40} {code:3} {seconds:6.2} s  {first}", case.name);
            }
            if let Some(why) = fault(command, case.expect, &outcome) {
                let stderr: String = outcome.stderr.chars().take(1000).collect();
                wrong.push(format!("{command} {}: {why}\n{stderr}", case.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{} inputs\n{}", wrong.len(), wrong.join("\n"));
}

/// What is wrong with an outcome.
fn fault(command: &str, expect: Expect, outcome: &Outcome) -> Option<String> {
    let Outcome { code, cpu_seconds, stderr, .. } = outcome;
    // `fmt --check` says 1 of a file that is not formatted.
    let is_no_text = command == "fmt" && *code == 4 && stderr.contains("UTF-8");
    if !matches!((command, code), (_, 0 | 3) | ("fmt", 1)) && !is_no_text {
        return Some(format!("exit code {code}"));
    }
    let factor = if *code == 3 { 1.0 } else { ACCEPTED_FACTOR };
    if *cpu_seconds > CPU_SECONDS * factor {
        return Some(format!("{cpu_seconds:.2} s"));
    }
    if stderr.contains("internal bug") || stderr.contains("panicked") {
        return Some("a panic".to_string());
    }
    if *code == 3 && !stderr.contains("error") {
        return Some("errors without a message".to_string());
    }
    if stderr.len() > STDERR_BYTES_MAX {
        return Some(format!("{} bytes of messages", stderr.len()));
    }
    if command != "check" {
        return None;
    }
    match expect {
        Expect::Accepted if *code != 0 => Some("refused".to_string()),
        Expect::Refused if *code != 3 => Some("accepted".to_string()),
        _ => None,
    }
}
