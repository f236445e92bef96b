//! One connection: reads lines, answers each.

use crate::answer::answer;
use crate::clients::{Limits, Shared};
use crate::protocol::{Answer, Compiler, LINE_BYTES_MAX, Line, Request, VERSION};
use crate::refusal::{Refusal, RefusalKind};
use dataplane::Switch;
use serde_json::Value;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

const READ_BYTES: usize = 64 << 10;
/// Time to read the request of a client that may only end the switch.
const SHUTDOWN_ONLY_TIMEOUT: Duration = Duration::from_secs(2);

pub(crate) struct Connection<'a> {
    stream: UnixStream,
    switch: Weak<Switch>,
    compiler: Arc<dyn Compiler>,
    limits: Limits,
    shared: &'a Shared,
    /// Bytes of lines that are not complete.
    received: Vec<u8>,
    /// Length of the part of `received` that is known to hold no end of line.
    n_searched: usize,
    /// When the incomplete line began.
    begun: Instant,
}

/// Why there is no next line.
enum NoLine {
    /// The client has gone, was idle for too long, or the server ends.
    Closed,
    /// The client sees this refusal before the connection is closed.
    Refused(Refusal),
}

impl<'a> Connection<'a> {
    pub(crate) fn new(
        stream: UnixStream,
        switch: Weak<Switch>,
        compiler: Arc<dyn Compiler>,
        limits: Limits,
        shared: &'a Shared,
    ) -> Connection<'a> {
        let (received, n_searched, begun) = (Vec::new(), 0, Instant::now());
        Connection { stream, switch, compiler, limits, shared, received, n_searched, begun }
    }

    /// Answers line by line, until the client goes or the server ends.
    pub(crate) fn serve(mut self, id: u64) {
        if self.prepare().is_err() {
            return;
        }
        while !self.shared.stop.load(Ordering::Acquire) {
            let line = match self.next_line(self.limits.idle_timeout, self.limits.line_timeout) {
                Ok(line) => line,
                Err(NoLine::Closed) => return,
                Err(NoLine::Refused(refusal)) => {
                    let _ = send(&self.stream, Err(refusal));
                    return;
                }
            };
            self.shared.set_busy(id, true);
            let is_sent = self.answer_line(&line).is_ok();
            self.shared.set_busy(id, false);
            if !is_sent {
                return;
            }
        }
    }

    /// Answers one line, which may only ask for the end of the switch; `why` refuses everything else.
    pub(crate) fn serve_shutdown_only(mut self, why: String) {
        if self.prepare().is_err() {
            return;
        }
        let line = self.next_line(SHUTDOWN_ONLY_TIMEOUT, SHUTDOWN_ONLY_TIMEOUT);
        let is_shutdown = |line: &Vec<u8>| {
            serde_json::from_slice::<Line>(line).is_ok_and(|line| matches!(line.request, Request::Shutdown))
        };
        let _ = match line.ok().filter(is_shutdown) {
            Some(line) => self.answer_line(&line),
            None => send(&self.stream, Err(Refusal::new(RefusalKind::Refused, why))),
        };
    }

    fn prepare(&self) -> io::Result<()> {
        // Some systems give connections the mode of their listener.
        self.stream.set_nonblocking(false)?;
        self.stream.set_write_timeout(Some(self.limits.line_timeout))
    }

    /// The next complete line, with its end.
    fn next_line(&mut self, idle_timeout: Duration, line_timeout: Duration) -> Result<Vec<u8>, NoLine> {
        let mut piece = vec![0; READ_BYTES];
        loop {
            if let Some(end) = self.received[self.n_searched..].iter().position(|byte| *byte == b'\n') {
                let line = self.received.drain(..=self.n_searched + end).collect();
                (self.n_searched, self.begun) = (0, Instant::now());
                return Ok(line);
            }
            self.n_searched = self.received.len();
            if self.received.len() > LINE_BYTES_MAX {
                let message = format!("a line has at most {LINE_BYTES_MAX} bytes");
                return Err(NoLine::Refused(Refusal::usage(message)));
            }
            let left = match self.received.is_empty() {
                true => idle_timeout,
                false => line_timeout.saturating_sub(self.begun.elapsed()),
            };
            // Zero would be no limit.
            let left = left.max(Duration::from_millis(1));
            self.stream.set_read_timeout(Some(left)).map_err(|_| NoLine::Closed)?;
            match self.stream.read(&mut piece) {
                Ok(0) => return Err(NoLine::Closed),
                Ok(n) => {
                    if self.received.is_empty() {
                        self.begun = Instant::now();
                    }
                    self.received.extend_from_slice(&piece[..n]);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if !is_timeout(&error) || self.received.is_empty() => return Err(NoLine::Closed),
                Err(_) if self.begun.elapsed() >= line_timeout => {
                    let refusal = Refusal::new(RefusalKind::Timeout, "the line does not end");
                    return Err(NoLine::Refused(refusal));
                }
                Err(_) => {}
            }
        }
    }

    /// Answers a line. The switch ends only after the answer to `shutdown` was written.
    fn answer_line(&self, line: &[u8]) -> io::Result<()> {
        let (result, wants_end) = match self.request(line) {
            Ok((result, wants_end)) => (Ok(result), wants_end),
            Err(refusal) => (Err(refusal), false),
        };
        let sent = send(&self.stream, result);
        if wants_end {
            self.shared.shutdown.store(true, Ordering::Release);
        }
        sent
    }

    /// Executes the request of a line. The second value is true if the switch is to end.
    fn request(&self, line: &[u8]) -> Result<(Value, bool), Refusal> {
        let Line { version, request } = serde_json::from_slice(line)
            .map_err(|error| Refusal::usage(format!("this is no request: {error}")))?;
        if version != VERSION {
            return Err(Refusal::usage(format!("version {version} is not known, only {VERSION}")));
        }
        let gone = || Refusal::new(RefusalKind::Refused, "the switch has ended");
        let switch = self.switch.upgrade().ok_or_else(gone)?;
        let wants_end = matches!(request, Request::Shutdown);
        let is_over = || self.shared.stop.load(Ordering::Acquire);
        Ok((answer(&switch, &*self.compiler, request, &self.shared.handles, &is_over)?, wants_end))
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

pub(crate) fn send(mut stream: &UnixStream, what: Result<Value, Refusal>) -> io::Result<()> {
    let answer = match what {
        Ok(result) => Answer { version: VERSION, result: Some(result), error: None },
        Err(error) => Answer { version: VERSION, result: None, error: Some(error) },
    };
    let mut line = serde_json::to_vec(&answer)?;
    line.push(b'\n');
    stream.write_all(&line)
}
