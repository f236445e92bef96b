//! Runs the commands of a part as processes, one after the other, and collects what they print.

use crate::part::{Need, Part, STATE, Size};
use crate::store::{Record, Store};
use crate::{Caller, machine};
use console::tools;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::Value;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A part may take so many times its estimate, and at least so long.
const OVERTIME: f64 = 10.0;
const OVERTIME_MIN: Duration = Duration::from_secs(900);
const POLL: Duration = Duration::from_millis(50);
/// Lines of messages that the page shows of a command that has failed.
const N_LINES: usize = 12;

/// A part that cannot run here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    pub reason: String,
    pub remedy: String,
}

/// The reason that keeps the part from running; `None` if nothing does.
pub fn missing(part: &Part, size: Size, store: &Store, caller: &Caller) -> Option<Missing> {
    let of = |reason: String, remedy: &str| Some(Missing { reason, remedy: remedy.to_owned() });
    for (_, words) in (part.commands)(size) {
        if !(caller.accepts)(&words) {
            let command: Vec<&str> =
                words.iter().take_while(|word| !word.starts_with('-')).map(String::as_str).collect();
            return of(
                format!("this build has no command “siding {}”", command.join(" ")),
                "build a version that has it",
            );
        }
    }
    for need in part.needs {
        match need {
            Need::Cc if tools::compiler(None).is_none() => {
                return of("there is no C compiler".to_owned(), "apt-get install gcc libc6-dev");
            }
            Need::TwoCores if std::thread::available_parallelism().map_or(1, std::num::NonZero::get) < 2 => {
                return of(
                    "it needs two processors, and there is one".to_owned(),
                    "run it on a machine with two processors",
                );
            }
            Need::File(name, maker) if !store.shared(name).is_file() => {
                return of(
                    format!("it needs the result of the part {maker}"),
                    &format!("siding reproduce{} --only {maker},{}", size.option(), part.name),
                );
            }
            Need::Cc | Need::TwoCores | Need::File(..) => {}
        }
    }
    None
}

/// Reasons for a command without a result.
enum Ended {
    /// The user wants to end.
    Stopped,
    Failed(String),
}

/// Runs all commands of a part; `None` when the user has stopped it. `tick` is called while they run.
pub fn run(
    program: &Path,
    part: &Part,
    size: Size,
    store: &Store,
    stop: &AtomicBool,
    tick: &dyn Fn(Duration),
) -> Option<Record> {
    let (begin, begun) = (Instant::now(), machine::now());
    let commands = (part.commands)(size);
    let machine = machine::facts(env!("CARGO_PKG_VERSION"));
    let mut outputs = Vec::new();
    let mut error = None;
    for (name, text) in part.files {
        let path = store.shared(name);
        if let Err(reason) = std::fs::write(&path, text) {
            error = Some(format!("{}: {reason}", path.display()));
        }
    }
    let limit = OVERTIME_MIN.max(Duration::from_secs_f64(OVERTIME * size.of(part.estimate_s)));
    for (label, words) in &commands {
        if error.is_some() {
            outputs.clear();
            break;
        }
        let dir = store.dir().display().to_string();
        let words: Vec<String> = words.iter().map(|word| word.replace(STATE, &dir)).collect();
        match output_of(program, &words, limit, begin, stop, tick) {
            Ok(value) => outputs.push((label.clone(), value)),
            Err(Ended::Stopped) => return None,
            Err(Ended::Failed(reason)) => error = Some(reason),
        }
    }
    if error.is_some() {
        outputs.clear();
    }
    let commands = commands.into_iter().map(|(_, words)| words).collect();
    Some(Record { size, commands, outputs, error, begun, seconds: begin.elapsed().as_secs_f64(), machine })
}

/// The JSON that a command prints. A missed goal (code 1) is a result as well.
fn output_of(
    program: &Path,
    words: &[String],
    limit: Duration,
    begin: Instant,
    stop: &AtomicBool,
    tick: &dyn Fn(Duration),
) -> Result<Value, Ended> {
    let failed = |reason: String| Ended::Failed(reason);
    let mut command = Command::new(program);
    // A group of its own, which has the switches that a benchmark starts as well.
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().map_err(|error| failed(format!("cannot start siding: {error}")))?;
    let group = Pid::from_raw(child.id() as i32);
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let (status, out, err) = std::thread::scope(|scope| {
        let out = scope.spawn(|| read(out));
        let err = scope.spawn(|| read(err));
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break Ok(status),
                Ok(None) => {}
                Err(error) => break Err(failed(format!("cannot wait for siding: {error}"))),
            }
            let elapsed = begin.elapsed();
            let is_stopped = stop.load(Ordering::Relaxed);
            if is_stopped || elapsed > limit {
                let _ = killpg(group, Signal::SIGKILL);
                let _ = child.wait();
                break Err(match is_stopped {
                    true => Ended::Stopped,
                    false => failed(format!("it was ended after {} s", elapsed.as_secs())),
                });
            }
            tick(elapsed);
            std::thread::sleep(POLL);
        };
        // Nothing of it is left that holds the pipes open.
        let _ = killpg(group, Signal::SIGKILL);
        (status, out.join().unwrap_or_default(), err.join().unwrap_or_default())
    });
    judged(words, status?, &out, &err)
}

fn judged(words: &[String], status: ExitStatus, out: &str, err: &str) -> Result<Value, Ended> {
    let value: Option<Value> = serde_json::from_str(out.trim()).ok().filter(Value::is_object);
    match (status.code(), value) {
        (Some(0 | 1), Some(value)) => Ok(value),
        (code, _) => {
            let end = match code {
                Some(0) => "has printed no JSON".to_owned(),
                Some(code) => format!("has ended with code {code}"),
                None => "was killed".to_owned(),
            };
            let lines: Vec<&str> = err.lines().filter(|line| !line.trim().is_empty()).collect();
            let last = lines[lines.len().saturating_sub(N_LINES)..].join("\n");
            Err(Ended::Failed(format!("siding {} {end}\n{last}", words.join(" ")).trim_end().to_owned()))
        }
    }
}

fn read(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        let _ = pipe.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn outputs_are_judged() {
        let words = ["bench".to_owned()];
        let judge =
            |code: i32, out: &str, err: &str| judged(&words, ExitStatus::from_raw(code << 8), out, err);
        assert!(matches!(judge(0, "{\"a\":1}\n", ""), Ok(value) if value["a"] == 1));
        assert!(judge(1, "{}", "warning").is_ok());
        for (code, out, err, words) in [
            (0, "no", "", "siding bench has printed no JSON"),
            (4, "{}", "error: x\n", "siding bench has ended with code 4\nerror: x"),
            (1, "", "", "siding bench has ended with code 1"),
        ] {
            let Err(Ended::Failed(found)) = judge(code, out, err) else { panic!("{code}") };
            assert_eq!(found, words);
        }
        let killed = judged(&words, ExitStatus::from_raw(9), "{}", "");
        assert!(matches!(killed, Err(Ended::Failed(text)) if text == "siding bench was killed"));
    }
}
