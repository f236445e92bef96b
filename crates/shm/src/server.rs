//! The server: its socket, and its sessions.

use crate::counts::{Counts, Limits};
use crate::link::Bell;
use crate::session;
use grpc::Local;
use rustix::fs::{Gid, chown};
use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;
use shm_client::wire::Sizes;
use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Sessions at a time.
const N_SESSIONS_MAX: usize = 64;
/// Pause after `accept` failed, for example because too many files are open.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// How a server listens.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    pub path: PathBuf,
    /// Members of this group may connect, too; otherwise only the user of the switch, and root.
    pub group: Option<u32>,
    /// Slots of a session that does not say what it wants.
    pub sizes: Sizes,
    /// Bytes of the slots of a session at most.
    pub slots_bytes_max: usize,
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("cannot listen at {}: {error}", path.display())]
    Listen { path: PathBuf, error: io::Error },
    #[error("somebody else listens at {}", .0.display())]
    InUse(PathBuf),
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
}

#[derive(Debug)]
struct Running {
    thread: JoinHandle<()>,
    bell: Arc<Bell>,
}

struct Shared {
    local: Arc<dyn Local>,
    limits: Limits,
    has_group: bool,
    counts: Arc<Counts>,
    must_end: AtomicBool,
    sessions: Mutex<Vec<Running>>,
}

/// Listens until it is dropped; then all sessions end.
pub struct Server {
    path: PathBuf,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub fn start(local: Arc<dyn Local>, options: ServerOptions) -> Result<Server, StartError> {
        let ServerOptions { path, group, sizes, slots_bytes_max } = options;
        let listener = bind(&path, group)?;
        let shared = Arc::new(Shared {
            local,
            limits: Limits { sizes, slots_bytes_max },
            has_group: group.is_some(),
            counts: Arc::default(),
            must_end: AtomicBool::new(false),
            sessions: Mutex::default(),
        });
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("shm".to_owned())
            .spawn(move || accept(&listener, &of_thread))
            .map_err(StartError::Thread)?;
        Ok(Server { path, shared, thread: Some(thread) })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn counts(&self) -> &Counts {
        &self.shared.counts
    }

    /// Sessions that are open.
    pub fn n_open(&self) -> usize {
        self.shared.reap();
        self.shared.sessions().len()
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.must_end.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        let _ = UnixStream::connect(&self.path);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let sessions = std::mem::take(&mut *self.shared.sessions());
        sessions.iter().for_each(|session| session.bell.end());
        for session in sessions {
            let _ = session.thread.join();
        }
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Creates the socket, with a directory for it if there is none. Permissions are set before anybody can connect.
fn bind(path: &Path, group: Option<u32>) -> Result<UnixListener, StartError> {
    let failed = |error| StartError::Listen { path: path.to_owned(), error };
    let group = group.map(Gid::from_raw);
    let (dir_mode, mode) = if group.is_some() { (0o750, 0o660) } else { (0o700, 0o600) };
    if let Some(dir) = path.parent().filter(|dir| !dir.as_os_str().is_empty() && !dir.exists()) {
        DirBuilder::new().recursive(true).mode(dir_mode).create(dir).map_err(failed)?;
        if group.is_some() {
            chown(dir, None, group).map_err(|error| failed(error.into()))?;
        }
    }
    if UnixStream::connect(path).is_ok() {
        return Err(StartError::InUse(path.to_owned()));
    }
    // A process has left it behind.
    if std::fs::symlink_metadata(path).is_ok_and(|data| data.file_type().is_socket()) {
        std::fs::remove_file(path).map_err(failed)?;
    }
    // Only when it has its permissions, the socket has its name.
    let name = format!(".{}.{}", path.file_name().unwrap_or_default().display(), std::process::id());
    let hidden = path.with_file_name(name);
    let made = || -> io::Result<UnixListener> {
        let listener = UnixListener::bind(&hidden)?;
        std::fs::set_permissions(&hidden, Permissions::from_mode(0o600))?;
        if group.is_some() {
            chown(&hidden, None, group)?;
        }
        std::fs::set_permissions(&hidden, Permissions::from_mode(mode))?;
        std::fs::rename(&hidden, path)?;
        Ok(listener)
    };
    made().map_err(|error| {
        let _ = std::fs::remove_file(&hidden);
        failed(error)
    })
}

fn accept(listener: &UnixListener, shared: &Arc<Shared>) {
    loop {
        let accepted = listener.accept();
        if shared.must_end.load(Ordering::SeqCst) {
            return;
        }
        match accepted {
            Ok((socket, _)) => shared.begin(socket),
            Err(_) => std::thread::sleep(ACCEPT_RETRY),
        }
    }
}

impl Shared {
    fn sessions(&self) -> std::sync::MutexGuard<'_, Vec<Running>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets sessions that have ended.
    fn reap(&self) {
        let mut sessions = self.sessions();
        let mut i = 0;
        while i < sessions.len() {
            if sessions[i].thread.is_finished() {
                // A bug has ended its thread, at most; the switch goes on.
                let _ = sessions.swap_remove(i).thread.join();
            } else {
                i += 1;
            }
        }
    }

    /// Without a group only the user of the switch and root are clients; with one, the permissions of the socket decide.
    fn may_connect(&self, socket: &UnixStream) -> bool {
        socket_peercred(socket)
            .is_ok_and(|peer| self.has_group || peer.uid.is_root() || peer.uid == geteuid())
    }

    fn begin(self: &Arc<Shared>, socket: UnixStream) {
        self.reap();
        let is_welcome = self.may_connect(&socket) && self.sessions().len() < N_SESSIONS_MAX;
        let Some(bell) = is_welcome.then(|| Bell::new().ok()).flatten() else {
            self.counts.n_refused.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let bell = Arc::new(bell);
        let (local, limits) = (Arc::clone(&self.local), self.limits);
        let (counts, of_thread) = (Arc::clone(&self.counts), Arc::clone(&bell));
        let run = move || session::run(socket, local, &limits, of_thread, counts);
        if let Ok(thread) = std::thread::Builder::new().name("shm session".to_owned()).spawn(run) {
            self.counts.n_sessions.fetch_add(1, Ordering::Relaxed);
            self.sessions().push(Running { thread, bell });
        }
    }
}
