//! The server of the control socket: accepts clients and bounds how many there are.

use super::client::{Client, send};
use super::socket::{self, Bound};
use super::{Language, N_CLIENTS_MAX, Refusal, RefusalKind};
use crate::switch::{Switch, lock};
use rustix::event::{PollFd, PollFlags, poll};
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Pause after `accept` failed, for example because too many files are open.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);
/// Time for a refused client to take its answer.
const REFUSE_TIMEOUT: Duration = Duration::from_millis(100);
/// Clients beyond the limit that may ask for the end of the switch, while all others have a request under way.
const N_SHUTDOWN_CLIENTS_MAX: usize = 8;
/// When the server ends, requests under way have so long to be answered.
const LAST_ANSWERS_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("another switch listens on {0}; give this one another --device-id or --ctl-socket")]
    InUse(PathBuf),
    #[error("{0} exists and is no socket")]
    NoSocket(PathBuf),
    #[error("cannot listen on {path}: {error}")]
    System { path: PathBuf, error: io::Error },
}

/// Limits of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Clients at one time. One more closes the connection that has been idle for longest.
    pub n_clients_max: usize,
    /// A client without a request is closed after so long.
    pub idle_timeout: Duration,
    /// A line that was begun has to end, and an answer has to be taken, within so long.
    pub line_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            n_clients_max: N_CLIENTS_MAX,
            idle_timeout: Duration::from_secs(300),
            line_timeout: Duration::from_secs(30),
        }
    }
}

/// Listens until it is dropped; then the socket is gone.
#[derive(Debug)]
pub struct Server {
    path: PathBuf,
    /// Device and inode of the socket's file.
    id: (u64, u64),
    shared: Arc<Shared>,
    /// Closed to end the listener.
    stop: Option<UnixStream>,
    listener: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) stop: AtomicBool,
    /// A client has asked the switch to end.
    pub(super) shutdown: AtomicBool,
    n_shutdown_clients: AtomicUsize,
    clients: Mutex<Clients>,
    /// A client is idle, or gone.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Clients {
    next_id: u64,
    connected: BTreeMap<u64, Connected>,
}

#[derive(Debug)]
struct Connected {
    /// For closing the connection from another thread.
    stream: UnixStream,
    /// `None` while a request is under way.
    idle_since: Option<Instant>,
}

impl Server {
    /// Creates the socket, for this user only. The switch lives as long as others hold it.
    pub fn start(
        path: &Path,
        switch: &Arc<Switch>,
        language: Arc<dyn Language>,
    ) -> Result<Server, ServerError> {
        Server::start_with(path, switch, language, Limits::default())
    }

    /// [`start`](Self::start) with other limits.
    pub fn start_with(
        path: &Path,
        switch: &Arc<Switch>,
        language: Arc<dyn Language>,
        limits: Limits,
    ) -> Result<Server, ServerError> {
        let failed = |error| ServerError::System { path: path.to_owned(), error };
        let (listener, path_bound, id) = socket::bind(path)?.into_parts();
        let (stop, stopped) = UnixStream::pair().map_err(failed)?;
        let shared = Arc::new(Shared::default());
        let accepting =
            Accepting { switch: Arc::downgrade(switch), language, limits, shared: Arc::clone(&shared) };
        let builder = std::thread::Builder::new().name("ctl".to_owned());
        let thread = listener
            .set_nonblocking(true)
            .and_then(|()| builder.spawn(move || accepting.accept(&listener, &stopped)))
            .map_err(|error| {
                Bound::remove(&path_bound, id);
                failed(error)
            })?;
        Ok(Server { path: path_bound, id, shared, stop: Some(stop), listener: Some(thread) })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// True after a client has asked the switch to end.
    pub fn is_shutdown_wanted(&self) -> bool {
        self.shared.shutdown.load(Ordering::Acquire)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        // The listener sees that its end of the pair is closed.
        drop(self.stop.take());
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
        Bound::remove(&self.path, self.id);
        self.shared.end_clients();
    }
}

impl Shared {
    /// Ends clients after their requests were answered, or after [`LAST_ANSWERS_TIMEOUT`].
    fn end_clients(&self) {
        let clients = lock(&self.clients);
        for client in clients.connected.values() {
            // Answers can still be written.
            let _ = client.stream.shutdown(Shutdown::Read);
        }
        let is_busy =
            |clients: &mut Clients| clients.connected.values().any(|client| client.idle_since.is_none());
        drop(
            self.changed
                .wait_timeout_while(clients, LAST_ANSWERS_TIMEOUT, is_busy)
                .map_err(PoisonError::into_inner),
        );
    }

    /// Registers a client. `None` if all are busy; otherwise the one that was idle for longest makes room.
    fn register(&self, stream: &UnixStream, n_max: usize) -> io::Result<Option<u64>> {
        let mut clients = lock(&self.clients);
        if clients.connected.len() >= n_max {
            let idle = clients.connected.iter().filter_map(|(id, client)| Some((client.idle_since?, *id)));
            let Some((_, oldest)) = idle.min() else { return Ok(None) };
            if let Some(client) = clients.connected.remove(&oldest) {
                let _ = client.stream.shutdown(Shutdown::Both);
            }
        }
        let stream = stream.try_clone()?;
        let id = clients.next_id;
        clients.next_id += 1;
        clients.connected.insert(id, Connected { stream, idle_since: Some(Instant::now()) });
        Ok(Some(id))
    }

    pub(super) fn set_busy(&self, id: u64, is_busy: bool) {
        if let Some(client) = lock(&self.clients).connected.get_mut(&id) {
            client.idle_since = (!is_busy).then(Instant::now);
        }
        self.changed.notify_all();
    }

    pub(super) fn unregister(&self, id: u64) {
        lock(&self.clients).connected.remove(&id);
        self.changed.notify_all();
    }
}

/// State of the listening thread.
struct Accepting {
    switch: Weak<Switch>,
    language: Arc<dyn Language>,
    limits: Limits,
    shared: Arc<Shared>,
}

impl Accepting {
    fn accept(&self, listener: &UnixListener, stopped: &UnixStream) {
        while !self.shared.stop.load(Ordering::Acquire) {
            let mut fds = [PollFd::new(listener, PollFlags::IN), PollFd::new(stopped, PollFlags::IN)];
            let polled = poll(&mut fds, None);
            match listener.accept() {
                Ok((stream, _)) => self.start_client(stream),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && polled.is_ok() => {}
                Err(_) => std::thread::sleep(ACCEPT_RETRY),
            }
        }
    }

    fn start_client(&self, stream: UnixStream) {
        let refuse = |message: String| {
            let refusal = Refusal::new(RefusalKind::Refused, message);
            let _ = stream.set_nonblocking(false);
            let _ = stream.set_write_timeout(Some(REFUSE_TIMEOUT));
            let _ = stream.set_read_timeout(Some(REFUSE_TIMEOUT));
            let _ = send(&stream, Err(refusal));
            // Closing with a request unread would discard the answer.
            let _ = (&stream).read(&mut [0; 4096]);
        };
        if let Err(error) = socket::check_peer(&stream) {
            return refuse(error.to_string());
        }
        let id = match self.shared.register(&stream, self.limits.n_clients_max) {
            Ok(id) => id,
            Err(error) => return refuse(format!("the client cannot be served: {error}")),
        };
        if id.is_none() {
            let n = self.shared.n_shutdown_clients.fetch_add(1, Ordering::AcqRel);
            if n >= N_SHUTDOWN_CLIENTS_MAX {
                self.shared.n_shutdown_clients.fetch_sub(1, Ordering::AcqRel);
                return refuse(too_many(&self.limits));
            }
        }
        let (switch, language) = (Weak::clone(&self.switch), Arc::clone(&self.language));
        let (limits, shared) = (self.limits, Arc::clone(&self.shared));
        let run = move || {
            let client = Client::new(stream, switch, language, limits, &shared);
            match id {
                Some(id) => client.serve(id),
                None => client.serve_shutdown_only(too_many(&limits)),
            }
            match id {
                Some(id) => shared.unregister(id),
                None => drop(shared.n_shutdown_clients.fetch_sub(1, Ordering::AcqRel)),
            }
        };
        let spawned = std::thread::Builder::new().name("ctl client".to_owned()).spawn(run);
        if spawned.is_err() {
            // The connection was closed with the closure, which the client sees.
            match id {
                Some(id) => self.shared.unregister(id),
                None => drop(self.shared.n_shutdown_clients.fetch_sub(1, Ordering::AcqRel)),
            }
        }
    }
}

fn too_many(limits: &Limits) -> String {
    format!("there are {} clients, all with a request under way", limits.n_clients_max)
}
