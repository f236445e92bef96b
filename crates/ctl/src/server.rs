//! The server of the control socket: accepts clients and gives each a thread.

use crate::clients::{Limits, Shared};
use crate::connection::{Connection, send};
use crate::protocol::Compiler;
use crate::refusal::{Refusal, RefusalKind};
use crate::socket::{self, Bound, ServerError};
use dataplane::Switch;
use rustix::event::{PollFd, PollFlags, poll};
use std::io::{self, Read};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

/// Pause after `accept` failed, for example because too many files are open.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);
/// Time for a refused client to take its answer.
const REFUSE_TIMEOUT: Duration = Duration::from_millis(100);
/// Clients beyond the limit that may ask for the end of the switch, while all others have a request under way.
const N_SHUTDOWN_CLIENTS_MAX: usize = 8;

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

impl Server {
    /// Creates the socket, for this user only. The switch lives as long as others hold it.
    pub fn start(
        path: &Path,
        switch: &Arc<Switch>,
        compiler: Arc<dyn Compiler>,
    ) -> Result<Server, ServerError> {
        Server::start_with(path, switch, compiler, Limits::default())
    }

    /// [`start`](Self::start) with other limits.
    pub fn start_with(
        path: &Path,
        switch: &Arc<Switch>,
        compiler: Arc<dyn Compiler>,
        limits: Limits,
    ) -> Result<Server, ServerError> {
        let failed = |error| ServerError::System { path: path.to_owned(), error };
        let (listener, path_bound, id) = socket::bind(path)?.into_parts();
        let (stop, stopped) = UnixStream::pair().map_err(failed)?;
        let shared = Arc::new(Shared::default());
        let accepting =
            Accepting { switch: Arc::downgrade(switch), compiler, limits, shared: Arc::clone(&shared) };
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

/// State of the listening thread.
struct Accepting {
    switch: Weak<Switch>,
    compiler: Arc<dyn Compiler>,
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
            // Closing with a request unread would reset the connection behind the answer.
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
        let (switch, compiler) = (Weak::clone(&self.switch), Arc::clone(&self.compiler));
        let (limits, shared) = (self.limits, Arc::clone(&self.shared));
        let run = move || {
            let client = Connection::new(stream, switch, compiler, limits, &shared);
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
