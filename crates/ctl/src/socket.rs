//! Where the control socket is, and who may be at its other end.
//!
//! Three rules keep other users out:
//! - the default directory is private: [`claim_default_path`] refuses one that another user owns or can write to;
//! - [`bind`] creates the socket in a temporary directory of mode 0700, sets its mode there, and only then moves it to
//!   its path. No operation follows a path that another user can change. A socket in a shared directory, such as an
//!   explicit `--ctl-socket /tmp/x.ctl`, is therefore as safe as one in the default directory;
//! - each side asks the kernel for the user of the other side ([`check_peer`]) and only talks to its own user or root.
//!   A shared directory without the sticky bit lets others remove the socket, but not impersonate the switch.

use native::{Symlinks, open_private_dir};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt};
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Why the control socket cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("another switch listens on {0}; give this one another --device-id or --ctl-socket")]
    InUse(PathBuf),
    #[error("{0} exists and is no socket")]
    NoSocket(PathBuf),
    #[error("cannot listen on {path}: {error}")]
    System { path: PathBuf, error: io::Error },
}

/// Name of the socket in its temporary directory.
const TEMPORARY_NAME: &str = "s";
/// Temporary directories whose names are tried.
const N_TRIES: u32 = 64;

/// The directories of default sockets, best first: `siding` in `$XDG_RUNTIME_DIR` or in `/run/user/UID`, `siding-UID` in the
/// directory for temporary files or in `/tmp`. Not every session of a user has the variables.
fn default_dirs() -> Vec<PathBuf> {
    let uid = rustix::process::geteuid().as_raw();
    let given = std::env::var_os("XDG_RUNTIME_DIR").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let of_system = PathBuf::from(format!("/run/user/{uid}"));
    let is_own =
        |dir: &Path| fs::symlink_metadata(dir).is_ok_and(|found| found.is_dir() && found.uid() == uid);
    let of_system =
        Some(of_system).filter(|dir| given.is_none() && std::env::var_os("TMPDIR").is_none() && is_own(dir));
    let runtime = given.into_iter().chain(of_system).map(|dir| dir.join("siding"));
    let temporary =
        [std::env::temp_dir(), PathBuf::from("/tmp")].map(|dir| dir.join(format!("siding-{uid}")));
    runtime.chain(temporary).collect()
}

/// The socket of the switch `device_id`, if it was given no path: the one on which a switch listens, or else the one
/// on which it would.
pub fn default_path(device_id: u64) -> PathBuf {
    served_path(&format!("{device_id}.ctl"))
}

/// The socket of the switch that was started with this `--thrift-port`, found as [`default_path`] finds it.
pub fn thrift_path(port: u16) -> PathBuf {
    served_path(&thrift_name(port))
}

fn thrift_name(port: u16) -> String {
    format!("thrift-{port}.ctl")
}

fn served_path(name: &str) -> PathBuf {
    let mut paths = default_dirs().into_iter().map(|dir| dir.join(name));
    let first = paths.next().unwrap_or_else(|| PathBuf::from(name));
    let is_served = |path: &PathBuf| UnixStream::connect(path).is_ok();
    if is_served(&first) { first } else { paths.find(is_served).unwrap_or(first) }
}

/// [`default_path`] for a switch that is about to listen: creates the directory, or fails if it is not private.
pub fn claim_default_path(device_id: u64) -> Result<PathBuf, ServerError> {
    claim(&format!("{device_id}.ctl"))
}

/// [`thrift_path`] for a switch that is about to listen, as [`claim_default_path`].
pub fn claim_thrift_path(port: u16) -> Result<PathBuf, ServerError> {
    claim(&thrift_name(port))
}

fn claim(name: &str) -> Result<PathBuf, ServerError> {
    let dir = default_dirs().into_iter().next().unwrap_or_default();
    open_private_dir(&dir, Symlinks::Refuse)
        .map_err(|error| ServerError::System { path: dir.clone(), error })?;
    Ok(dir.join(name))
}

/// Connects to the switch that listens on `path`. Fails with [`io::ErrorKind::PermissionDenied`] if another user than
/// this process's, and not root, listens there.
pub fn connect(path: &Path) -> io::Result<UnixStream> {
    let stream = UnixStream::connect(path)?;
    check_peer(&stream)?;
    Ok(stream)
}

/// Fails unless the other end of the socket belongs to this process's user or to root.
pub(crate) fn check_peer(stream: &UnixStream) -> io::Result<()> {
    let peer = rustix::net::sockopt::socket_peercred(stream)?.uid;
    if peer.is_root() || peer == rustix::process::geteuid() {
        return Ok(());
    }
    let message = format!("the other end of the socket belongs to user {}, not to you", peer.as_raw());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
}

/// A socket on which this process listens.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) listener: UnixListener,
    path: PathBuf,
    /// Device and inode of the socket's file.
    id: (u64, u64),
}

impl Bound {
    /// Removes the socket's file, unless another socket is there by now.
    pub(crate) fn remove(path: &Path, id: (u64, u64)) {
        if fs::symlink_metadata(path).is_ok_and(|found| (found.dev(), found.ino()) == id) {
            let _ = fs::remove_file(path);
        }
    }

    pub(crate) fn into_parts(self) -> (UnixListener, PathBuf, (u64, u64)) {
        (self.listener, self.path, self.id)
    }
}

/// Listens on `path`, with a socket of mode 0600. Replaces a socket on which no process listens any more. A missing
/// directory is created with mode 0700.
pub(crate) fn bind(path: &Path) -> Result<Bound, ServerError> {
    check_unused(path)?;
    let failed = |error| ServerError::System { path: path.to_owned(), error };
    // Clients connect by this name, which has at most 107 bytes.
    SocketAddr::from_pathname(path).map_err(failed)?;
    let name = path.file_name().ok_or_else(|| failed(io::ErrorKind::InvalidInput.into()))?;
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if !parent.exists() {
        DirBuilder::new().recursive(true).mode(0o700).create(parent).map_err(failed)?;
    }
    let parent = rustix::fs::open(parent, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|error| failed(error.into()))?;
    let (temporary_name, temporary) = temporary_dir(&parent).map_err(failed)?;
    let bound = bind_in(&temporary).and_then(|listener| {
        rustix::fs::renameat(&temporary, TEMPORARY_NAME, &parent, name)?;
        let found = rustix::fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(Bound { listener, path: path.to_owned(), id: (found.st_dev, found.st_ino) })
    });
    if bound.is_err() {
        let _ = rustix::fs::unlinkat(&temporary, TEMPORARY_NAME, AtFlags::empty());
    }
    let _ = rustix::fs::unlinkat(&parent, &temporary_name, AtFlags::REMOVEDIR);
    bound.map_err(failed)
}

/// A new directory in `parent` that only this user can enter.
fn temporary_dir(parent: &OwnedFd) -> io::Result<(String, OwnedFd)> {
    for n in 0..N_TRIES {
        let name = format!(".siding-ctl-{}-{n}", std::process::id());
        match rustix::fs::mkdirat(parent, &name, Mode::RWXU) {
            Ok(()) => {}
            Err(Errno::EXIST) => continue,
            Err(error) => return Err(error.into()),
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = rustix::fs::openat(parent, &name, flags, Mode::empty())?;
        // Another user who may rename in `parent` can have put another directory there.
        let found = rustix::fs::fstat(&dir)?;
        if found.st_uid != rustix::process::geteuid().as_raw() || found.st_mode & 0o077 != 0 {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        return Ok((name, dir));
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn bind_in(dir: &OwnedFd) -> io::Result<UnixListener> {
    // Through the descriptor: the directory's path may lead elsewhere by now.
    let listener = UnixListener::bind(format!("/proc/self/fd/{}/{TEMPORARY_NAME}", dir.as_raw_fd()))?;
    rustix::fs::chmodat(dir, TEMPORARY_NAME, Mode::RUSR | Mode::WUSR, AtFlags::empty())?;
    Ok(listener)
}

/// Fails if `path` is no socket, or if a process listens on it.
pub fn check_unused(path: &Path) -> Result<(), ServerError> {
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(()) };
    if !found.file_type().is_socket() {
        return Err(ServerError::NoSocket(path.to_owned()));
    }
    if UnixStream::connect(path).is_ok() {
        return Err(ServerError::InUse(path.to_owned()));
    }
    Ok(())
}
