//! The control channel: a Unix socket of packets, over which messages and descriptors go. No call blocks.

use super::protocol::{MESSAGE_BYTES, Malformed, Message};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect,
    listen, recvmsg, sendmsg, socket_with,
};
use std::fmt;
use std::fs;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Connections that wait to be accepted.
const BACKLOG: i32 = 16;

/// The address at which server and client meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Address {
    Path(PathBuf),
    /// A name without a file (unix(7)): it belongs to the network namespace.
    Abstract(String),
}

impl Address {
    /// `@name` is abstract, as in listings of the system.
    pub(super) fn parse(text: &str) -> Address {
        match text.strip_prefix('@') {
            Some(name) => Address::Abstract(name.to_owned()),
            None => Address::Path(text.into()),
        }
    }

    fn socket_address(&self) -> Result<SocketAddrUnix, Errno> {
        match self {
            Address::Path(path) => SocketAddrUnix::new(path),
            Address::Abstract(name) => SocketAddrUnix::new_abstract_name(name.as_bytes()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Path(path) => write!(f, "{}", path.display()),
            Address::Abstract(name) => write!(f, "@{name}"),
        }
    }
}

/// Why a channel is of no more use.
#[derive(Debug)]
pub(super) enum Broken {
    /// The peer has closed it.
    Closed,
    System(Errno),
    Malformed(Malformed),
    /// The peer has ended it and said why.
    Refused(String),
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Broken::Closed => write!(f, "the peer has gone"),
            Broken::System(error) => write!(f, "{error}"),
            Broken::Refused(reason) if reason.is_empty() => write!(f, "the peer has disconnected"),
            Broken::Refused(reason) => write!(f, "the peer has disconnected: {reason}"),
            Broken::Malformed(what) => write!(f, "the peer has sent {what}"),
        }
    }
}

fn new_socket() -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
}

/// A listening socket; its file goes with it.
#[derive(Debug)]
pub(super) struct ListeningSocket {
    fd: OwnedFd,
    /// The file, with its device and number.
    file: Option<(PathBuf, (u64, u64))>,
}

impl ListeningSocket {
    pub(super) fn open(address: &Address) -> Result<ListeningSocket, Errno> {
        let to = address.socket_address()?;
        let fd = new_socket()?;
        match (bind(&fd, &to), address) {
            (Err(Errno::ADDRINUSE), Address::Path(path)) if is_left_behind(path, &to) => {
                fs::remove_file(path).map_err(|_| Errno::ADDRINUSE)?;
                bind(&fd, &to)?;
            }
            (bound, _) => bound?,
        }
        listen(&fd, BACKLOG)?;
        let file = match address {
            Address::Path(path) => identity(path).map(|identity| (path.clone(), identity)),
            Address::Abstract(_) => None,
        };
        Ok(ListeningSocket { fd, file })
    }

    /// The next connection, if one waits.
    pub(super) fn accept(&self) -> Option<Channel> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        accept_with(&self.fd, flags).ok().map(|fd| Channel { fd })
    }

    pub(super) fn raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

impl Drop for ListeningSocket {
    /// Another server could have taken the place.
    fn drop(&mut self) {
        if let Some((path, own)) = &self.file
            && identity(path) == Some(*own)
        {
            let _ = fs::remove_file(path);
        }
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// A socket that nobody listens on any more.
fn is_left_behind(path: &Path, address: &SocketAddrUnix) -> bool {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    is_socket && new_socket().and_then(|fd| connect(&fd, address)) == Err(Errno::CONNREFUSED)
}

/// A connection.
#[derive(Debug)]
pub(super) struct Channel {
    fd: OwnedFd,
}

impl Channel {
    pub(super) fn connect(address: &Address) -> Result<Channel, Errno> {
        let fd = new_socket()?;
        connect(&fd, &address.socket_address()?)?;
        Ok(Channel { fd })
    }

    pub(super) fn raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// `name` is this end's; the descriptor is for the peer. Handshakes are short, so a full socket means a peer that does
    /// not read.
    pub(super) fn send(
        &self,
        message: &Message,
        name: &str,
        file: Option<BorrowedFd<'_>>,
    ) -> Result<(), Broken> {
        let bytes = message.encode(name);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let files: Vec<BorrowedFd<'_>> = file.into_iter().collect();
        if !files.is_empty() {
            control.push(SendAncillaryMessage::ScmRights(&files));
        }
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        sendmsg(self.fd.as_fd(), &[IoSlice::new(&bytes)], &mut control, flags).map_err(Broken::System)?;
        Ok(())
    }

    /// The next message and what came with it; `None` if none waits.
    pub(super) fn receive(&self) -> Result<Option<(Message, Option<OwnedFd>)>, Broken> {
        // A byte more shows messages that are too long.
        let mut bytes = [0; MESSAGE_BYTES + 1];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1), ScmCredentials(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
        let received = match recvmsg(self.fd.as_fd(), &mut [IoSliceMut::new(&mut bytes)], &mut control, flags)
        {
            Ok(received) => received,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(None),
            Err(Errno::CONNRESET) => return Err(Broken::Closed),
            Err(error) => return Err(Broken::System(error)),
        };
        let mut file = None;
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = message {
                // Others are closed.
                file = rights.last();
            }
        }
        match received.bytes {
            0 => Err(Broken::Closed),
            n => Ok(Some((Message::decode(&bytes[..n]).map_err(Broken::Malformed)?, file))),
        }
    }
}
