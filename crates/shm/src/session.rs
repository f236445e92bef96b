//! A session: one client, served by a thread.

use crate::counts::{Counts, Limits};
use crate::link::{Bell, Link, Segments};
use crate::request::{Desk, Plans, encode_status};
use crate::rings::{End, Rings};
use crate::stream::Controller;
use control::session::{RoleName, WriterClaim};
use grpc::Local;
use p4info::proto::p4::v1 as pb;
use pb::stream_message_request::Update as ToService;
use pb::stream_message_response::Update as FromService;
use prost::Message;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use shm_client::wire::{self, HELLO_BYTES, Hello, N_REQUESTS, Sizes, Welcome, answer};
use std::io::{self, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::{Duration, Instant};
use tonic::{Code, Status};

/// Time for a client to greet, and for the service to arbitrate.
const GREETING_TIME: Duration = Duration::from_secs(5);
/// A client that never waits is asked after so many requests whether it is still there.
const N_REQUESTS_PER_LOOK: usize = 64;
/// Messages are taken from the service while the ring has so much room.
const ROOM_BYTES: usize = 64 << 10;

/// The wishes of a client.
struct Greeting {
    claim: WriterClaim,
    sizes: Sizes,
}

/// Serves a client until its end.
pub(crate) fn run(
    mut socket: UnixStream,
    local: Arc<dyn Local>,
    limits: &Limits,
    bell: Arc<Bell>,
    counts: Arc<Counts>,
) {
    let greeted = greet(&mut socket, limits);
    let begun = greeted.and_then(|Greeting { claim, sizes }| {
        let mut controller = Controller::open(&*local, &bell);
        let notice = arbitrate(&mut controller, &claim, &bell)?;
        let failed = |error: io::Error| Status::resource_exhausted(format!("no memory: {error}"));
        let (segments, files) = Segments::new(sizes).map_err(failed)?;
        Ok((claim, sizes, controller, notice, segments, files))
    });
    let (claim, sizes, controller, notice, segments, files) = match begun {
        Ok(begun) => begun,
        Err(status) => {
            counts.n_refused.fetch_add(1, Ordering::Relaxed);
            // A client that is gone need not know.
            let _ = refuse(&mut socket, &status);
            return;
        }
    };
    let arbitration = notice.status.as_ref().map_or(0, |status| status.code);
    let welcome = Welcome {
        version: wire::VERSION,
        code: 0,
        arbitration: u32::try_from(arbitration).unwrap_or_default(),
        text_bytes: 0,
        sizes,
    };
    if send_welcome(&socket, welcome, &files).is_err() {
        return;
    }
    drop(files);
    let rings = Rings::new(Link::new(socket, segments, bell), sizes);
    let mut desk =
        Desk { rings, local, claim, controller, plans: Plans::default(), counts, copied: Vec::new() };
    let end = serve(&mut desk, notice);
    let code = match end {
        Ok(()) | Err(End::Closed) => Code::Ok,
        Err(End::Asked) => Code::Unavailable,
        Err(End::Stream) => Code::Aborted,
        Err(End::Cursor(_)) => Code::InvalidArgument,
    };
    if let Err(End::Cursor(ring)) = end {
        desk.counts.n_broken.fetch_add(1, Ordering::Relaxed);
        let status = Status::invalid_argument(format!("the cursor of {ring} makes no sense"));
        farewell(&mut desk, &status);
    }
    desk.rings.set_ended(code as u32);
}

fn greet(socket: &mut UnixStream, limits: &Limits) -> Result<Greeting, Status> {
    let failed = |error: io::Error| Status::deadline_exceeded(format!("no greeting: {error}"));
    let bad = Status::invalid_argument;
    let end = Instant::now() + GREETING_TIME;
    let mut bytes = [0; HELLO_BYTES];
    read_until(socket, &mut bytes, end).map_err(failed)?;
    let hello = Hello::of_bytes(&bytes).ok_or_else(|| bad("this is no greeting of a client"))?;
    if hello.version != wire::VERSION {
        let message = format!("the client has version {}, and the switch {}", hello.version, wire::VERSION);
        return Err(Status::failed_precondition(message));
    }
    if hello.role_bytes as usize > wire::ROLE_BYTES_MAX {
        return Err(bad("the name of the role is too long"));
    }
    let mut role = vec![0; hello.role_bytes as usize];
    read_until(socket, &mut role, end).map_err(failed)?;
    let role = String::from_utf8(role).map_err(|_| bad("the name of the role is no text"))?;
    let usual = limits.sizes;
    let or_usual = |n: u32, usual: usize| if n == 0 { usual } else { n as usize };
    let sizes = Sizes {
        n_slots: or_usual(hello.n_slots, usual.n_slots),
        slot_bytes: or_usual(hello.slot_bytes, usual.slot_bytes),
    };
    if !sizes.is_valid() || sizes.slots_bytes() > limits.slots_bytes_max {
        return Err(Status::resource_exhausted(format!(
            "{} slots of {} bytes are too much: multiples of 4096 bytes, up to {} slots and {} bytes together",
            sizes.n_slots,
            sizes.slot_bytes,
            wire::N_SLOTS_MAX,
            limits.slots_bytes_max
        )));
    }
    let claim = WriterClaim {
        device_id: hello.device_id,
        role: RoleName(role.as_str().into()),
        election_id: hello.election_id,
    };
    Ok(Greeting { claim, sizes })
}

/// Reads all bytes; a client that sends them one by one does not get more time for it.
fn read_until(socket: &mut UnixStream, bytes: &mut [u8], end: Instant) -> io::Result<()> {
    let mut n = 0;
    while n < bytes.len() {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        socket.set_read_timeout(Some(left))?;
        match socket.read(&mut bytes[n..])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            now => n += now,
        }
    }
    Ok(())
}

fn refuse(socket: &mut UnixStream, status: &Status) -> io::Result<()> {
    let text = status.message();
    let welcome = Welcome {
        version: wire::VERSION,
        code: status.code() as u32,
        arbitration: 0,
        text_bytes: text.len() as u32,
        sizes: Sizes::default(),
    };
    let mut bytes = welcome.to_bytes().to_vec();
    bytes.extend(text.as_bytes());
    socket.set_write_timeout(Some(GREETING_TIME))?;
    socket.write_all(&bytes)
}

fn send_welcome(socket: &UnixStream, welcome: Welcome, files: &[OwnedFd; 2]) -> io::Result<()> {
    let files = [files[0].as_fd(), files[1].as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&files));
    let bytes = welcome.to_bytes();
    // So few bytes fit into any socket that is empty.
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    match sendmsg(socket, &[IoSlice::new(&bytes)], &mut control, flags)? {
        n if n == bytes.len() => Ok(()),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}

/// Bids for the role, and waits for the notice.
fn arbitrate(
    controller: &mut Controller,
    claim: &WriterClaim,
    bell: &Bell,
) -> Result<pb::MasterArbitrationUpdate, Status> {
    let role = (!claim.role.0.is_empty())
        .then(|| pb::Role { name: claim.role.0.to_string(), ..pb::Role::default() });
    let election_id = claim.election_id.map(|id| pb::Uint128 { high: (id >> 64) as u64, low: id as u64 });
    let bid = pb::MasterArbitrationUpdate { device_id: claim.device_id, role, election_id, status: None };
    controller.send(pb::StreamMessageRequest { update: Some(ToService::Arbitration(bid)) })?;
    let end = Instant::now() + GREETING_TIME;
    loop {
        bell.take();
        if let Poll::Ready(message) = controller.next() {
            return match message {
                Some(Ok(pb::StreamMessageResponse { update: Some(FromService::Arbitration(notice)) })) => {
                    Ok(notice)
                }
                Some(Err(status)) => Err(status),
                Some(Ok(_)) | None => Err(Status::unavailable("the switch does not arbitrate")),
            };
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() || bell.must_end() {
            return Err(Status::unavailable("the switch does not arbitrate"));
        }
        bell.wait(left);
    }
}

fn serve(desk: &mut Desk, notice: pb::MasterArbitrationUpdate) -> Result<(), End> {
    let notice = pb::StreamMessageResponse { update: Some(FromService::Arbitration(notice)) };
    desk.rings.answer(answer::STREAM, 0, &notice.encode_to_vec())?;
    let (mut n_since_look, mut n_after_end) = (0, 0);
    // The service may have messages, which the ring had no room for.
    let mut has_messages = true;
    loop {
        if desk.rings.link.bell.must_end() {
            return Err(End::Asked);
        }
        has_messages |= desk.rings.link.bell.take() | std::mem::take(&mut desk.rings.link.bell_rang);
        if has_messages {
            has_messages = forward(desk)?;
        }
        let Some(request) = desk.rings.next_request()? else {
            if desk.rings.link.is_closed {
                return Err(End::Closed);
            }
            desk.rings.wait_for_request(has_messages);
            continue;
        };
        // A client that is gone has published its last requests; one that pretends to be gone publishes no more.
        if desk.rings.link.is_closed {
            n_after_end += 1;
            if n_after_end > N_REQUESTS {
                return Err(End::Closed);
            }
        }
        desk.answer(request)?;
        n_since_look += 1;
        if n_since_look == N_REQUESTS_PER_LOOK {
            n_since_look = 0;
            desk.rings.link.look();
        }
    }
}

/// Hands messages of the service to the client. True if there may be more, for which the ring has no room.
fn forward(desk: &mut Desk) -> Result<bool, End> {
    while !desk.rings.link.is_closed {
        if !desk.rings.has_room(ROOM_BYTES)? {
            return Ok(true);
        }
        match desk.controller.next() {
            Poll::Pending => break,
            Poll::Ready(Some(Ok(message))) => {
                desk.rings.answer(answer::STREAM, 0, &message.encode_to_vec())?;
            }
            Poll::Ready(Some(Err(status))) => {
                farewell(desk, &status);
                return Err(End::Stream);
            }
            Poll::Ready(None) => return Err(End::Stream),
        }
    }
    Ok(false)
}

/// Tells the client why the session ends, if there is room.
fn farewell(desk: &mut Desk, status: &Status) {
    let bytes = encode_status(status);
    if desk.rings.has_room(bytes.len()) == Ok(true) {
        let _ = desk.rings.answer(answer::STATUS, 0, &bytes);
    }
}

impl Bell {
    /// Waits until it rings, or the time is over.
    fn wait(&self, timeout: Duration) {
        let time = Timespec::try_from(timeout).ok();
        let _ = poll(&mut [PollFd::new(self.file(), PollFlags::IN)], time.as_ref());
        self.silence();
    }
}
