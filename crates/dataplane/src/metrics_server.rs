//! The HTTP server of the metrics, one answer per connection.
//!
//! Each connection has a thread and [`REQUEST_TIMEOUT`] for its request. There are at most [`N_CONNECTIONS_MAX`]: one
//! more closes the oldest, so clients that are silent keep nobody out.

use crate::metrics::Counter;
use crate::switch::{Switch, lock};
use rustix::event::{PollFd, PollFlags, poll};
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// For one request and its answer.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);
/// Pause after `accept` failed, for example because too many files are open.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);
const N_CONNECTIONS_MAX: usize = 16;
const REQUEST_BYTES_MAX: usize = 16 << 10;
const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The origin of the text.
struct Source {
    switch: Weak<Switch>,
    more: Box<dyn Fn() -> Vec<Counter> + Send + Sync>,
}

/// Serves `/metrics` until it is dropped.
#[derive(Debug)]
pub struct MetricsServer {
    address: SocketAddr,
    /// Closed to end the thread.
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl MetricsServer {
    /// Serves the metrics of a switch, and more counters, which are asked for each time.
    pub fn start(
        address: SocketAddr,
        switch: &Arc<Switch>,
        more: impl Fn() -> Vec<Counter> + Send + Sync + 'static,
    ) -> io::Result<MetricsServer> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (stop, stopped) = UnixStream::pair()?;
        let source = Arc::new(Source { switch: Arc::downgrade(switch), more: Box::new(more) });
        let run = move || serve(&listener, &stopped, &source);
        let thread = Some(std::thread::Builder::new().name("metrics".to_owned()).spawn(run)?);
        Ok(MetricsServer { address, stop: Some(stop), thread })
    }

    /// With the port that the system has chosen, when 0 was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Connections under way, the oldest first; handles for closing them from another thread.
type Connections = Arc<Mutex<VecDeque<(u64, TcpStream)>>>;

fn serve(listener: &TcpListener, stopped: &UnixStream, source: &Arc<Source>) {
    let connections = Connections::default();
    let mut next_id = 0;
    loop {
        let mut fds = [PollFd::new(listener, PollFlags::IN), PollFd::new(stopped, PollFlags::IN)];
        let polled = poll(&mut fds, None);
        if !fds[1].revents().is_empty() {
            break;
        }
        match listener.accept() {
            Ok((stream, _)) => {
                // A client whose connection cannot be served sees that it is closed.
                let _ = start_connection(stream, next_id, &connections, source);
                next_id += 1;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && polled.is_ok() => {}
            Err(_) => std::thread::sleep(ACCEPT_RETRY),
        }
    }
    for (_, stream) in lock(&connections).drain(..) {
        let _ = stream.shutdown(Shutdown::Both);
    }
}

fn start_connection(
    stream: TcpStream,
    id: u64,
    connections: &Connections,
    source: &Arc<Source>,
) -> io::Result<()> {
    let handle = stream.try_clone()?;
    {
        let mut connections = lock(connections);
        if connections.len() >= N_CONNECTIONS_MAX
            && let Some((_, oldest)) = connections.pop_front()
        {
            let _ = oldest.shutdown(Shutdown::Both);
        }
        connections.push_back((id, handle));
    }
    let (others, source) = (Arc::clone(connections), Arc::clone(source));
    let run = move || {
        // A client that went away needs no answer.
        let _ = answer(&stream, &source);
        lock(&others).retain(|(other, _)| *other != id);
    };
    let spawned = std::thread::Builder::new().name("metrics client".to_owned()).spawn(run);
    if spawned.is_err() {
        lock(connections).retain(|(other, _)| *other != id);
    }
    spawned.map(drop)
}

fn answer(mut stream: &TcpStream, source: &Source) -> io::Result<()> {
    let deadline = Instant::now() + REQUEST_TIMEOUT;
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(REQUEST_TIMEOUT))?;
    let (mut request, mut piece) = (Vec::new(), [0; 1024]);
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = deadline.saturating_duration_since(Instant::now());
        // Zero would be no limit.
        stream.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        let n = stream.read(&mut piece)?;
        request.extend_from_slice(&piece[..n]);
        if n == 0 || request.len() > REQUEST_BYTES_MAX || left.is_zero() {
            return respond(stream, "400 Bad Request", "text/plain", "this is no request\n");
        }
    }
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let mut words = line.split(|byte| *byte == b' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    // A query changes nothing.
    let path = target.split(|byte| *byte == b'?').next().unwrap_or_default();
    if method != b"GET" {
        return respond(stream, "405 Method Not Allowed", "text/plain", "only GET\n");
    }
    if path != b"/metrics" {
        return respond(stream, "404 Not Found", "text/plain", "metrics are at /metrics\n");
    }
    let text = source.switch.upgrade().and_then(|switch| switch.metrics(&(source.more)()));
    match text {
        Some(text) => respond(stream, "200 OK", CONTENT_TYPE, &text),
        None => respond(stream, "503 Service Unavailable", "text/plain", "the switch does not answer\n"),
    }
}

fn respond(mut stream: &TcpStream, status: &str, content_type: &str, body: &str) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}
