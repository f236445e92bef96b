//! The clients that are connected, and their limits.

use crate::handles::Handles;
use crate::protocol::N_CLIENTS_MAX;
use std::collections::BTreeMap;
use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long requests under way may take to be answered when the server ends.
const LAST_ANSWERS_TIMEOUT: Duration = Duration::from_secs(1);

/// Limits of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Clients at one time. One more closes the connection that has been idle for longest.
    pub n_clients_max: usize,
    /// A client that sends nothing for this time is closed.
    pub idle_timeout: Duration,
    /// Time for the rest of a line, and for a client to take its answer.
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

/// State that the listener and the threads of clients share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(crate) stop: AtomicBool,
    /// A client has asked the switch to end.
    pub(crate) shutdown: AtomicBool,
    /// Connections beyond the limit that may ask for the end of the switch.
    pub(crate) n_shutdown_clients: AtomicUsize,
    /// Handles of entries, which all clients see alike.
    pub(crate) handles: Mutex<Handles>,
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

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Clients> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends clients after their requests were answered, or after [`LAST_ANSWERS_TIMEOUT`].
    pub(crate) fn end_clients(&self) {
        let clients = self.lock();
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
    pub(crate) fn register(&self, stream: &UnixStream, n_max: usize) -> io::Result<Option<u64>> {
        let mut clients = self.lock();
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

    pub(crate) fn set_busy(&self, id: u64, is_busy: bool) {
        if let Some(client) = self.lock().connected.get_mut(&id) {
            client.idle_since = (!is_busy).then(Instant::now);
        }
        self.changed.notify_all();
    }

    pub(crate) fn unregister(&self, id: u64) {
        self.lock().connected.remove(&id);
        self.changed.notify_all();
    }
}
