//! Child processes with limits: time, memory, output. None of them outlives this process.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Runs a command in the shell's process group and kills the group as soon as standard input ends, which happens when the
/// process at its other end exits, however it exits. `$1` is the limit of memory in KiB, the rest is the command.
const GUARD: &str = r#"exec 3<&0 0</dev/null
ulimit -v "$1"
shift
"$@" 3<&- &
command=$!
{ read -r line <&3; kill -KILL 0; } >/dev/null 2>&1 &
guard=$!
exec 3<&-
wait "$command"
status=$?
kill "$guard" 2>/dev/null
exit "$status"
"#;

/// Exit codes of a shell above this one stand for the signal that ended its command.
const SIGNAL_CODE_BASE: i32 = 128;

/// Limits of a child process and of all that it starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) time: Duration,
    /// Address space of each process, in bytes.
    pub(crate) memory_bytes: u64,
    /// Output that is returned, in bytes. The rest is read and dropped.
    pub(crate) output_bytes: u64,
}

/// The stream of the child that is returned. The other one is discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    Stdout,
    Stderr,
}

#[derive(Debug)]
pub(crate) enum Ended {
    Exited {
        status: ExitStatus,
        output: String,
    },
    /// The limit of time has passed, and all processes of the child were killed.
    TimedOut,
}

impl Ended {
    /// The signal that ended the command.
    pub(crate) fn signal(status: ExitStatus) -> Option<i32> {
        status
            .signal()
            .or_else(|| status.code().map(|code| code - SIGNAL_CODE_BASE).filter(|signal| *signal > 0))
    }
}

/// Runs `program` in `dir` with standard input closed and messages in English.
pub(crate) fn run<A: AsRef<OsStr>>(
    program: &Path,
    args: &[A],
    dir: &Path,
    output: Output,
    limits: Limits,
) -> io::Result<Ended> {
    let piped_if = |wanted| if output == wanted { Stdio::piped() } else { Stdio::null() };
    let mut child = Command::new("/bin/sh")
        .args(["-c", GUARD, "sh", &(limits.memory_bytes / 1024).to_string()])
        .arg(program)
        .args(args)
        .current_dir(dir)
        .env("LC_ALL", "C")
        // A sanitizer's library that this process was started with is not for compilers, and needs terabytes of address space.
        .env_remove("LD_PRELOAD")
        .stdin(Stdio::piped())
        .stdout(piped_if(Output::Stdout))
        .stderr(piped_if(Output::Stderr))
        .process_group(0)
        .spawn()?;
    // Open until the command has ended: closing it kills the command.
    let guard = child.stdin.take();
    let stream: Option<Box<dyn Read + Send>> = match output {
        Output::Stdout => child.stdout.take().map(|stream| Box::new(stream) as _),
        Output::Stderr => child.stderr.take().map(|stream| Box::new(stream) as _),
    };
    let (sender, receiver) = channel();
    if let Some(mut stream) = stream {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = stream.by_ref().take(limits.output_bytes).read_to_end(&mut bytes);
            // The rest is dropped, so that the command does not block on a full pipe.
            let _ = read.and_then(|_| io::copy(&mut stream, &mut io::sink()));
            // The receiver is gone if the time limit has passed.
            let _ = sender.send(bytes);
        });
    }
    // The pipe ends when the last process that could write to it has ended.
    let ended = match receiver.recv_timeout(limits.time) {
        Ok(bytes) => {
            let output = printable(&String::from_utf8_lossy(&bytes));
            Ended::Exited { status: child.wait()?, output }
        }
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
            kill_group(&mut child);
            Ended::TimedOut
        }
    };
    drop(guard);
    Ok(ended)
}

/// The text with control characters other than newlines and tabs escaped, so that it cannot drive a terminal.
fn printable(text: &str) -> String {
    let is_harmless = |c: char| !c.is_control() || matches!(c, '\n' | '\t');
    text.chars().fold(String::with_capacity(text.len()), |mut printable, c| {
        if is_harmless(c) {
            printable.push(c);
        } else {
            printable.extend(c.escape_default());
        }
        printable
    })
}

/// Ends a child and all processes of its group, which it leads.
fn kill_group(child: &mut Child) {
    if let Ok(group) = i32::try_from(child.id()) {
        // SAFETY: `kill` touches no memory. The child has not been waited for, so its id, which is also that of
        // its group (`process_group(0)`), cannot belong to anybody else.
        #[expect(unsafe_code, reason = "the standard library ends single processes only")]
        unsafe {
            libc::kill(-group, libc::SIGKILL);
        }
    }
    let _ = child.kill();
    let _ = child.wait();
}
