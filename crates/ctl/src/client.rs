//! The client's side: one request, one answer.

use crate::protocol::{Answer, Line, Request, VERSION};
use crate::socket::connect;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// Time for an answer, beyond what the request itself may wait for.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(600);
/// Pause between two attempts to connect.
const CONNECT_RETRY: Duration = Duration::from_millis(50);

/// Sends a request to the switch on `socket` and waits for its answer. [`Request::WaitReady`] also waits for the
/// socket to appear. The error is a message for people.
pub fn ask(socket: &Path, request: &Request) -> Result<Answer, String> {
    ask_while(socket, request, &|| true)
}

/// [`ask`] that waits for the socket to appear only as long as `may_come` is true.
pub fn ask_while(socket: &Path, request: &Request, may_come: &dyn Fn() -> bool) -> Result<Answer, String> {
    let failed = |error: &dyn std::fmt::Display| {
        format!(
            "no switch answers on {}: {error}. To start one: siding switch -i 0@INTERFACE PROGRAM.p4",
            socket.display()
        )
    };
    // A switch that is being started has no socket yet.
    let connect_timeout = match request {
        Request::WaitReady { timeout_ms } => Duration::from_millis(*timeout_ms),
        _ => Duration::ZERO,
    };
    let begin = Instant::now();
    let stream = loop {
        match connect(socket) {
            Ok(stream) => break stream,
            // Waiting does not make a foreign socket ours.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                return Err(format!("the socket {} cannot be used: {error}", socket.display()));
            }
            Err(error) if begin.elapsed() >= connect_timeout && error.kind() == ErrorKind::NotFound => {
                return Err(failed(&"there is no such socket"));
            }
            Err(error) if begin.elapsed() >= connect_timeout => return Err(failed(&error)),
            Err(_) if !may_come() => {
                return Err(format!("the switch has ended, and {} was never there", socket.display()));
            }
            Err(_) => std::thread::sleep(CONNECT_RETRY),
        }
    };
    let waits = match request {
        Request::Trace { timeout_ms, .. }
        | Request::WaitReady { timeout_ms }
        | Request::WaitEntries { timeout_ms, .. } => *timeout_ms,
        _ => 0,
    };
    stream
        .set_read_timeout(Some(ANSWER_TIMEOUT.saturating_add(Duration::from_millis(waits))))
        .map_err(|error| failed(&error))?;
    let mut line = serde_json::to_vec(&Line { version: VERSION, request: request.clone() })
        .map_err(|error| error.to_string())?;
    line.push(b'\n');
    (&stream).write_all(&line).map_err(|error| failed(&error))?;
    let mut answer = String::new();
    BufReader::new(&stream).read_line(&mut answer).map_err(|error| failed(&error))?;
    if !answer.ends_with('\n') {
        return Err(format!("the switch on {} ended before it had answered", socket.display()));
    }
    serde_json::from_str(&answer)
        .map_err(|error| format!("the answer on {} cannot be understood: {error}", socket.display()))
}
