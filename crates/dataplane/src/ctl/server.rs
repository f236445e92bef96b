//! The socket.

use super::answer::answer;
use super::{Answer, LINE_BYTES_MAX, Language, Line, N_CLIENTS_MAX, Refusal, RefusalKind, VERSION};
use crate::switch::Switch;
use serde_json::Value;
use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often clients and listener look whether the server ends.
const LOOK: Duration = Duration::from_millis(100);
/// A line that was begun has to end, and an answer has to be taken.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("another switch listens on {0}; give this one another --device-id or --ctl-socket")]
    InUse(PathBuf),
    #[error("{0} exists and is no socket")]
    NoSocket(PathBuf),
    #[error("cannot listen on {path}: {error}")]
    System { path: PathBuf, error: io::Error },
}

/// Listens until it is dropped; then the socket is gone.
#[derive(Debug)]
pub struct Server {
    path: PathBuf,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    /// A client has asked the switch to end.
    shutdown: AtomicBool,
    n_clients: AtomicUsize,
}

impl Server {
    /// Makes the socket, for its owner only. The switch lives as long as others hold it.
    pub fn start(
        path: &Path,
        switch: &Arc<Switch>,
        language: Arc<dyn Language>,
    ) -> Result<Server, ServerError> {
        let failed = |error| ServerError::System { path: path.to_owned(), error };
        clear(path)?;
        if let Some(dir) = path.parent().filter(|dir| !dir.as_os_str().is_empty() && !dir.exists()) {
            DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(failed)?;
        }
        let listener = UnixListener::bind(path).map_err(failed)?;
        fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let shared = Arc::new(Shared::default());
        let (switch, for_clients) = (Arc::downgrade(switch), Arc::clone(&shared));
        let run = move || accept(&listener, &switch, &language, &for_clients);
        let builder = std::thread::Builder::new().name("ctl".to_owned());
        let listener = Some(builder.spawn(run).map_err(failed)?);
        Ok(Server { path: path.to_owned(), shared, listener })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a client has asked the switch to end.
    pub fn is_shutdown_wanted(&self) -> bool {
        self.shared.shutdown.load(Ordering::Acquire)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes a socket on which nobody listens any more.
fn clear(path: &Path) -> Result<(), ServerError> {
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(()) };
    if !found.file_type().is_socket() {
        return Err(ServerError::NoSocket(path.to_owned()));
    }
    if UnixStream::connect(path).is_ok() {
        return Err(ServerError::InUse(path.to_owned()));
    }
    fs::remove_file(path).map_err(|error| ServerError::System { path: path.to_owned(), error })
}

fn accept(
    listener: &UnixListener,
    switch: &Weak<Switch>,
    language: &Arc<dyn Language>,
    shared: &Arc<Shared>,
) {
    while !shared.stop.load(Ordering::Acquire) {
        let Ok((stream, _)) = listener.accept() else {
            // None is waiting, or there are too many open files: later.
            std::thread::sleep(LOOK / 4);
            continue;
        };
        if shared.n_clients.fetch_add(1, Ordering::AcqRel) >= N_CLIENTS_MAX {
            shared.n_clients.fetch_sub(1, Ordering::AcqRel);
            let full = Refusal::new(RefusalKind::Refused, format!("there are {N_CLIENTS_MAX} clients"));
            let _ = stream.set_write_timeout(Some(LOOK)).and_then(|()| send(&stream, Err(full)));
            continue;
        }
        let client = Client {
            stream,
            switch: Weak::clone(switch),
            language: Arc::clone(language),
            shared: Arc::clone(shared),
        };
        // Without a thread the client is gone, which it sees.
        let _ = std::thread::Builder::new().name("ctl client".to_owned()).spawn(move || client.serve());
    }
}

struct Client {
    stream: UnixStream,
    switch: Weak<Switch>,
    language: Arc<dyn Language>,
    shared: Arc<Shared>,
}

impl Drop for Client {
    fn drop(&mut self) {
        self.shared.n_clients.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Client {
    /// Answers line by line, until the client goes or the server ends.
    fn serve(mut self) {
        let stream = &self.stream;
        // The listener's mode is not inherited everywhere.
        let is_ready = stream.set_nonblocking(false).is_ok()
            && stream.set_read_timeout(Some(LOOK)).is_ok()
            && stream.set_write_timeout(Some(PATIENCE)).is_ok();
        if !is_ready {
            return;
        }
        let (mut waiting, mut n_looked_at, mut begun) = (Vec::new(), 0, Instant::now());
        let mut piece = vec![0; 64 << 10];
        while !self.shared.stop.load(Ordering::Acquire) {
            match self.stream.read(&mut piece) {
                Ok(0) => return,
                Ok(n) => {
                    if waiting.is_empty() {
                        begun = Instant::now();
                    }
                    waiting.extend_from_slice(&piece[..n]);
                }
                Err(e) if is_later(&e) => {
                    if !waiting.is_empty() && begun.elapsed() > PATIENCE {
                        let refusal = Refusal::new(RefusalKind::Timeout, "the line does not end");
                        let _ = send(&self.stream, Err(refusal));
                        return;
                    }
                    continue;
                }
                Err(_) => return,
            }
            while let Some(end) = waiting[n_looked_at..].iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = waiting.drain(..=n_looked_at + end).collect();
                n_looked_at = 0;
                begun = Instant::now();
                if send(&self.stream, self.one(&line)).is_err() {
                    return;
                }
            }
            n_looked_at = waiting.len();
            if waiting.len() > LINE_BYTES_MAX {
                let message = format!("a line has at most {LINE_BYTES_MAX} bytes");
                let _ = send(&self.stream, Err(Refusal::usage(message)));
                return;
            }
        }
    }

    fn one(&self, line: &[u8]) -> Result<Value, Refusal> {
        let Line { version, request } = serde_json::from_slice(line)
            .map_err(|error| Refusal::usage(format!("this is no request: {error}")))?;
        if version != VERSION {
            return Err(Refusal::usage(format!("version {version} is not known, only {VERSION}")));
        }
        let gone = || Refusal::new(RefusalKind::Refused, "the switch has ended");
        let switch = self.switch.upgrade().ok_or_else(gone)?;
        let wants_end = matches!(request, super::Request::Shutdown);
        let is_over = || self.shared.stop.load(Ordering::Acquire);
        let answer = answer(&switch, &*self.language, request, &is_over);
        if wants_end {
            self.shared.shutdown.store(true, Ordering::Release);
        }
        answer
    }
}

fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

fn send(mut stream: &UnixStream, what: Result<Value, Refusal>) -> io::Result<()> {
    let answer = match what {
        Ok(result) => Answer { version: VERSION, result: Some(result), error: None },
        Err(error) => Answer { version: VERSION, result: None, error: Some(error) },
    };
    let mut line = serde_json::to_vec(&answer)?;
    line.push(b'\n');
    stream.write_all(&line)
}
