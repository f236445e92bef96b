//! Connecting: the greeting, and the descriptors of the two segments.

use crate::error::Error;
use crate::options::Options;
use crate::segment::{Access, Segment};
use crate::wire::{self, Hello, Sizes, WELCOME_BYTES, Welcome};
use rustix::fd::OwnedFd;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use std::io::{self, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// A connection that the switch has accepted.
#[derive(Debug)]
pub(crate) struct Connected {
    pub(crate) socket: UnixStream,
    pub(crate) s: Segment,
    pub(crate) c: Segment,
    pub(crate) sizes: Sizes,
    /// The code of the arbitration.
    pub(crate) arbitration: u32,
}

pub(crate) fn connect(path: &Path, options: &Options) -> Result<Connected, Error> {
    let failed = |error| Error::Connect { path: path.display().to_string(), error };
    let mut socket = UnixStream::connect(path).map_err(failed)?;
    socket.set_read_timeout(Some(options.timeout)).map_err(failed)?;
    if options.role.len() > wire::ROLE_BYTES_MAX {
        return Err(Error::Invalid(format!("the role has more than {} bytes", wire::ROLE_BYTES_MAX)));
    }
    let hello = Hello {
        version: wire::VERSION,
        device_id: options.device_id,
        election_id: options.election_id,
        n_slots: options.sizes.map_or(0, |sizes| sizes.n_slots as u32),
        slot_bytes: options.sizes.map_or(0, |sizes| sizes.slot_bytes as u32),
        role_bytes: options.role.len() as u32,
    };
    let mut bytes = hello.to_bytes().to_vec();
    bytes.extend(options.role.as_bytes());
    socket.write_all(&bytes).map_err(failed)?;
    let (welcome, mut files) = receive(&mut socket).map_err(failed)?;
    let welcome = Welcome::of_bytes(&welcome).ok_or(Error::Protocol("its welcome has another version"))?;
    if welcome.code != 0 {
        let mut text = vec![0; (welcome.text_bytes as usize).min(1 << 16)];
        socket.read_exact(&mut text).map_err(failed)?;
        let message = String::from_utf8_lossy(&text).into_owned();
        return Err(Error::Refused { code: welcome.code, message, details: Vec::new() });
    }
    let (Some(c), Some(s)) = (files.pop(), files.pop()) else {
        return Err(Error::Protocol("the segments are missing"));
    };
    let sizes = welcome.sizes;
    Ok(Connected {
        s: Segment::map(s, sizes.s_bytes(), Access::Read)?,
        c: Segment::map(c, sizes.c_bytes(), Access::ReadWrite)?,
        socket,
        sizes,
        arbitration: welcome.arbitration,
    })
}

fn receive(socket: &mut UnixStream) -> io::Result<([u8; WELCOME_BYTES], Vec<OwnedFd>)> {
    let mut bytes = [0; WELCOME_BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [IoSliceMut::new(&mut bytes)];
    let received = recvmsg(&*socket, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let mut files = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            files.extend(rights);
        }
    }
    if received.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    socket.read_exact(&mut bytes[received.bytes..])?;
    Ok((bytes, files))
}
