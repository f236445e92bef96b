//! Port over an existing network interface, through AF_XDP sockets.
//!
//! - `region`: the memory for packets, one for all sockets of the process;
//! - `ring`, `socket`: a socket for one queue of an interface;
//! - `pieces`: packets that come in several frames;
//! - `program`: the XDP program that hands packets to the sockets.

mod forwarder;
mod pieces;
mod program;
mod region;
mod ring;
mod socket;

use super::interface::{ETHERNET_BYTES, InterfaceControl, Merging};
use super::offload;
use super::socket::FailedStep;
use crate::limits::{FRAME_BYTES_MAX, JUMBO_BYTES_MAX};
use crate::{
    BufPool, InterfaceCause, InterfaceError, LinkState, PacketBuf, Port, PortError, PortId, PortStats,
};
pub use forwarder::XdpForwarder;
use program::Redirect;
use region::{FRAME_BYTES, HEADROOM_BYTES, Region};
pub use socket::XdpCopy;
use socket::{Amount, XdpSocket};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

const CAPABILITIES: &str = "cap_net_raw,cap_net_admin,cap_bpf,cap_ipc_lock";
/// How long a port waits for a link that does not take its last packets.
const FLUSH: Duration = Duration::from_millis(100);
/// How long a port that is opened waits for the kernel to close another socket on the same queue.
const CLOSING: Duration = Duration::from_millis(400);
const VLAN_BYTES: usize = 4;
/// Pieces of a frame's size that one packet may need.
const N_PIECES_MAX: usize = FRAME_BYTES_MAX.div_ceil(FRAME_BYTES);

/// Options of an [`XdpPort`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XdpOptions {
    /// Longest packet, 64 to 65,535; longer packets are dropped and counted. The buffers of the pool limit it
    /// too.
    pub packet_bytes_max: usize,
    pub copy: XdpCopy,
    /// The worker's thread polls the driver, instead of interrupts: for drivers with queues in hardware.
    pub is_busy_polling: bool,
    /// Runs the XDP program behind the driver, which works with every driver and is slower. Otherwise the kernel decides.
    pub is_generic: bool,
}

impl XdpOptions {
    /// Jumbo packets; the kernel decides about copies.
    pub const JUMBO: XdpOptions = XdpOptions {
        packet_bytes_max: JUMBO_BYTES_MAX,
        copy: XdpCopy::Auto,
        is_busy_polling: false,
        is_generic: false,
    };
}

/// The XDP program of an interface, shared by the ports of its queues: the interface's index, and the program.
type Attached = Arc<Mutex<Option<(i32, Arc<Redirect>)>>>;

/// A port that is an interface of the system, which receives all packets that arrive there before the system sees them.
///
/// The interface has an XDP program as long as the port is open, whatever ends the process. Packets pass between such ports without a
/// copy in this process. When the interface vanishes, the port waits for another of the same name.
#[derive(Debug)]
pub struct XdpPort {
    id: PortId,
    control: InterfaceControl,
    options: XdpOptions,
    region: &'static Region,
    attached: Attached,
    /// This port has the interface's queues `share.0`, `share.0 + share.1`, ...
    share: (u32, u32),
    open: Option<Open>,
    state: LinkState,
    has_back_pressure: bool,
    stats: PortStats,
    /// Numbers of frames for a packet that is copied. Empty between calls.
    pieces: Vec<u32>,
}

/// The part that exists while the interface does.
#[derive(Debug)]
struct Open {
    index: i32,
    sockets: Vec<XdpSocket>,
    /// A descriptor for all sockets, if there are several.
    poll: Option<OwnedFd>,
    /// The socket that was served last.
    last: usize,
    /// [`Port::frame_bytes_max`], known without a system call.
    tx_bytes_max: usize,
    /// Senders leave checksums to hardware that is not there.
    completes_checksums: bool,
    merging: Merging,
    _redirect: Arc<Redirect>,
}

impl XdpPort {
    /// Opens an interface of the calling thread's network namespace, with all its queues. It may be switched off.
    pub fn open(id: PortId, interface: &str, options: XdpOptions) -> Result<XdpPort, PortError> {
        let mut ports = XdpPort::open_queues(id, interface, options, 1)?;
        ports.pop().ok_or_else(|| PortError::Device("a port has at least one queue".into()))
    }

    /// Opens a port for each of `n` (1 or more) workers, as [`open`](Self::open) does for one. The interface's queues are theirs in turn; fails if there are fewer than
    /// workers.
    pub fn open_queues(
        id: PortId,
        interface: &str,
        options: XdpOptions,
        n: usize,
    ) -> Result<Vec<XdpPort>, PortError> {
        let attached = Attached::default();
        let n = u32::try_from(n).unwrap_or(u32::MAX).max(1);
        (0..n).map(|i| XdpPort::open_share(id, interface, options, (i, n), Arc::clone(&attached))).collect()
    }

    fn open_share(
        id: PortId,
        interface: &str,
        options: XdpOptions,
        share: (u32, u32),
        attached: Attached,
    ) -> Result<XdpPort, PortError> {
        let control = InterfaceControl::new(interface)?;
        control.check_packet_bytes_max(options.packet_bytes_max)?;
        let region = Region::of_process()
            .map_err(|error| control.failed("get memory for packets", CAPABILITIES, error))?;
        let mut port = XdpPort {
            id,
            control,
            options,
            region,
            attached,
            share,
            open: None,
            state: LinkState::Gone,
            has_back_pressure: false,
            stats: PortStats::default(),
            pieces: Vec::with_capacity(N_PIECES_MAX),
        };
        let begin = Instant::now();
        while let Err(refused) = port.look() {
            // The kernel closes sockets after the processes that had them.
            let is_closing =
                matches!(refused.cause, InterfaceCause::QueueInUse | InterfaceCause::OtherXdpProgram);
            if !is_closing || begin.elapsed() >= CLOSING {
                return Err(refused.into());
            }
            std::thread::sleep(CLOSING / 20);
        }
        if port.open.is_none() {
            return Err(port.control.not_found().into());
        }
        Ok(port)
    }

    /// The interface's name.
    pub fn interface(&self) -> &str {
        self.control.name()
    }

    /// Returns whether the driver receives into the port's memory without a copy.
    pub fn is_zero_copy(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.sockets.iter().all(XdpSocket::is_zero_copy))
    }

    /// Updates the state of the interface, and opens sockets again if there is a new interface of that name.
    fn look(&mut self) -> Result<(), InterfaceError> {
        match self.control.index()? {
            Some(index) if self.open.as_ref().is_some_and(|open| open.index == index) => {
                self.state = self.control.link_state();
                if let (Some(open), Some(n_bytes)) = (&mut self.open, self.control.frame_bytes_max()) {
                    open.tx_bytes_max = n_bytes;
                }
            }
            Some(index) => {
                self.close();
                self.control.check_ethernet()?;
                match self.open_sockets(index) {
                    Ok(open) => {
                        self.open = Some(open);
                        self.state = self.control.link_state();
                    }
                    // The interface vanished again, or a socket is not closed yet: the next call sees.
                    Err(failed) if is_gone(&failed.error) => {}
                    Err(failed) => return Err(self.refused(failed)),
                }
            }
            None => self.close(),
        }
        Ok(())
    }

    fn open_sockets(&mut self, index: i32) -> Result<Open, FailedStep> {
        let n_queues = self.control.n_rx_queues();
        let (first, n_shares) = self.share;
        if first >= n_queues {
            let error = io::Error::from_raw_os_error(libc::ENOSPC);
            return Err(FailedStep { step: STEP_SHARE, error });
        }
        let redirect = self.redirect(index, n_queues)?;
        let mut sockets = Vec::new();
        for queue in (first..n_queues).step_by(n_shares as usize) {
            let XdpOptions { copy, is_busy_polling, .. } = self.options;
            let socket = XdpSocket::open(self.region, index, queue, copy, is_busy_polling)?;
            redirect
                .set_socket(queue, socket.raw_fd())
                .map_err(|error| FailedStep { step: "lead packets to a socket", error })?;
            sockets.push(socket);
        }
        let poll = match sockets.as_slice() {
            [_] => None,
            many => {
                Some(poll_all(many).map_err(|error| FailedStep { step: "wait for several sockets", error })?)
            }
        };
        Ok(Open {
            index,
            sockets,
            poll,
            last: 0,
            tx_bytes_max: self.control.frame_bytes_max().unwrap_or(FRAME_BYTES_MAX),
            completes_checksums: self.control.driver().as_deref() == Some("veth"),
            merging: self.control.stop_merging(),
            _redirect: redirect,
        })
    }

    /// The program of the interface, which the first port of several attaches.
    fn redirect(&self, index: i32, n_queues: u32) -> Result<Arc<Redirect>, FailedStep> {
        let mut attached = self.attached.lock().unwrap_or_else(PoisonError::into_inner);
        match &*attached {
            Some((known, redirect)) if *known == index => Ok(Arc::clone(redirect)),
            _ => {
                let redirect = Redirect::attach(index, n_queues, self.options.is_generic)
                    .map_err(|error| FailedStep { step: STEP_ATTACH, error })?;
                let redirect = Arc::new(redirect);
                *attached = Some((index, Arc::clone(&redirect)));
                Ok(redirect)
            }
        }
    }

    /// Says what to do about it.
    fn refused(&self, FailedStep { step, error }: FailedStep) -> InterfaceError {
        let code = error.raw_os_error();
        self.control.error(match (step, code) {
            (_, Some(libc::EPERM | libc::EACCES)) => {
                InterfaceCause::NotPermitted { step, capabilities: CAPABILITIES }
            }
            (STEP_SHARE, _) => {
                InterfaceCause::TooFewQueues { n_queues: self.control.n_rx_queues(), n_wanted: self.share.1 }
            }
            (STEP_ATTACH, Some(libc::EBUSY | libc::EEXIST)) => InterfaceCause::OtherXdpProgram,
            (STEP_ATTACH, Some(libc::ERANGE)) => InterfaceCause::XdpMtu,
            (STEP_ATTACH, Some(libc::ENOSPC)) => InterfaceCause::XdpPeerQueues,
            (socket::STEP_BIND, Some(libc::EBUSY)) => InterfaceCause::QueueInUse,
            (socket::STEP_BIND, Some(libc::EOPNOTSUPP | libc::EINVAL | libc::ENOTSUP))
                if self.options.copy == XdpCopy::ZeroCopy =>
            {
                InterfaceCause::NoZeroCopy
            }
            (socket::STEP_MEMORY, Some(libc::ENOBUFS | libc::ENOMEM)) => {
                InterfaceCause::MemoryLimit { n_bytes: region::REGION_BYTES }
            }
            _ => InterfaceCause::NoXdp { step, error },
        })
    }

    fn close(&mut self) {
        self.take_kernel_drops();
        if let Some(mut open) = self.open.take() {
            // Counted as sent, but the kernel has not taken them.
            let unsent = open.sockets.iter_mut().map(XdpSocket::unsent);
            for amount in unsent.collect::<Vec<_>>() {
                self.count_lost(amount);
                self.stats.tx_dropped_down += amount.n_packets;
            }
            let mut attached = self.attached.lock().unwrap_or_else(PoisonError::into_inner);
            if attached.as_ref().is_some_and(|(index, _)| *index == open.index) {
                *attached = None;
            }
        }
        self.state = LinkState::Gone;
    }

    fn take_kernel_drops(&mut self) {
        for socket in self.open.iter_mut().flat_map(|open| &mut open.sockets) {
            self.stats.rx_dropped_kernel += socket.take_n_dropped();
        }
    }

    /// Takes packets back that were counted as sent.
    fn count_lost(&mut self, lost: Amount) {
        self.stats.tx_packets -= lost.n_packets.min(self.stats.tx_packets);
        self.stats.tx_bytes -= lost.n_bytes.min(self.stats.tx_bytes);
    }
}

/// Steps whose failures have remedies of their own.
const STEP_ATTACH: &str = "attach an XDP program";
const STEP_SHARE: &str = "share its queues";

/// Returns whether the error means that the interface is down or has vanished.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV))
}

/// A descriptor that has input when one of the sockets has.
fn poll_all(sockets: &[XdpSocket]) -> io::Result<OwnedFd> {
    // SAFETY: without pointers.
    let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `fd` was just opened and has no other owner.
    let poll = unsafe { OwnedFd::from_raw_fd(fd) };
    for socket in sockets {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
        // SAFETY: the event outlives the call.
        let result = unsafe { libc::epoll_ctl(fd, libc::EPOLL_CTL_ADD, socket.raw_fd(), &raw mut event) };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(poll)
}

/// Receiving.
impl XdpPort {
    /// Receives from one socket until the burst has `n_all` packets.
    fn receive(&mut self, pool: &mut BufPool, burst: &mut Vec<PacketBuf>, which: usize, n_all: usize) {
        let Some(open) = &mut self.open else { return };
        let (completes_checksums, region) = (open.completes_checksums, self.region);
        let Some(socket) = open.sockets.get_mut(which) else { return };
        socket.refill(pool);
        let (mut n_frames, mut timestamp_ns) = (0, None);
        while burst.len() < n_all {
            let Some(piece) = socket.rx.pop() else { break };
            n_frames += 1;
            let Some((frame, start)) = socket.returned(piece.addr) else { continue };
            // SAFETY: the kernel has given the frame back, and `returned` has found that it was the kernel's.
            let mut buf = unsafe { region.packet(frame, start) };
            if buf.append(piece.len as usize).is_none() {
                self.stats.rx_errors += 1;
                pool.give_back(buf);
                continue;
            }
            let is_last = piece.options & libc::XDP_PKT_CONTD == 0;
            let Some(mut buf) = socket.pieces.add(pool, buf, is_last, &mut self.stats) else { continue };
            if buf.len() > self.options.packet_bytes_max {
                self.stats.rx_too_long += 1;
                pool.give_back(buf);
                continue;
            }
            if completes_checksums {
                offload::complete_partial_checksum(buf.data_mut());
            }
            (buf.port, buf.timestamp_ns) = (self.id, *timestamp_ns.get_or_insert_with(crate::time::now_ns));
            self.stats.received(buf.len());
            burst.push(buf);
        }
        if n_frames > 0 {
            socket.received(n_frames);
        } else {
            socket.poll_driver();
        }
    }
}

/// Sending.
impl XdpPort {
    /// Hands a packet to the kernel; returns it if there is no room.
    fn put(&mut self, pool: &mut BufPool, buf: PacketBuf) -> Result<(), PacketBuf> {
        let Some(Open { sockets, .. }) = &mut self.open else { return Err(buf) };
        let Some(socket) = sockets.first_mut() else { return Err(buf) };
        let (start, len) = (buf.headroom(), buf.len());
        if buf.is_frame_of(self.region) {
            if !socket.has_room(1) {
                return Err(buf);
            }
            let first = buf.into_frame(self.region)?;
            socket.send(self.region.number_of(first), start, len as u32, false);
            return Ok(());
        }
        let n_pieces = len.div_ceil(FRAME_BYTES);
        let has_frames = socket.has_room(n_pieces as u32) && {
            while self.pieces.len() < n_pieces
                && let Some(Ok(first)) = pool.take_frame().map(|free| free.into_frame(self.region))
            {
                self.pieces.push(self.region.number_of(first));
            }
            self.region.take(n_pieces - self.pieces.len(), |frame| self.pieces.push(frame));
            self.pieces.len() == n_pieces
        };
        if !has_frames {
            self.region.give_back(self.pieces.drain(..));
            return Err(buf);
        }
        for (i, (frame, bytes)) in self.pieces.drain(..).zip(buf.data().chunks(FRAME_BYTES)).enumerate() {
            // SAFETY: the frame was free a moment ago, and is ours.
            let mut copy = unsafe { self.region.packet(frame, 0) };
            let is_copied = copy.set_data(bytes);
            debug_assert!(is_copied);
            if copy.into_frame(self.region).is_ok() {
                socket.send(frame, 0, bytes.len() as u32, i + 1 < n_pieces);
            }
        }
        pool.give_back(buf);
        Ok(())
    }

    /// Lets the kernel send, and takes sent frames back.
    fn kick(&mut self, pool: &mut BufPool) -> Result<(), PortError> {
        let result = self.push();
        if let Some(socket) = self.open.as_mut().and_then(|open| open.sockets.first_mut()) {
            socket.complete(pool);
        }
        result
    }

    /// Lets the kernel send.
    fn push(&mut self) -> Result<(), PortError> {
        let Some(socket) = self.open.as_mut().and_then(|open| open.sockets.first_mut()) else {
            return Ok(());
        };
        match socket.kick() {
            Ok(lost) => {
                self.count_lost(lost);
                self.stats.tx_dropped_full += lost.n_packets;
                Ok(())
            }
            Err(error) if is_gone(&error) => {
                self.state = LinkState::Down;
                self.look().map_err(PortError::from)
            }
            Err(error) => Err(self.control.failed("send", CAPABILITIES, error).into()),
        }
    }
}

/// Returns whether the packet has a VLAN tag, which interfaces carry beyond their MTU.
fn has_vlan(packet: &[u8]) -> bool {
    matches!(packet.get(12..14), Some([0x81, 0x00] | [0x88, 0xa8]))
}

impl Port for XdpPort {
    fn id(&self) -> PortId {
        self.id
    }

    fn rx_burst(
        &mut self,
        pool: &mut BufPool,
        burst: &mut Vec<PacketBuf>,
        n_max: usize,
    ) -> Result<usize, PortError> {
        if self.open.as_ref().and_then(|open| open.sockets.first()).is_some_and(XdpSocket::is_sending) {
            // Packets that the kernel did not take at once.
            self.kick(pool)?;
        }
        let n_before = burst.len();
        let n_all = n_before.saturating_add(n_max);
        let n_sockets = self.open.as_ref().map_or(0, |open| open.sockets.len());
        let last = self.open.as_ref().map_or(0, |open| open.last);
        for i in 1..=n_sockets {
            if burst.len() >= n_all {
                break;
            }
            let which = (last + i) % n_sockets;
            self.receive(pool, burst, which, n_all);
            self.open.iter_mut().for_each(|open| open.last = which);
        }
        let n = burst.len() - n_before;
        if n > 0 && self.state != LinkState::Up {
            self.look()?;
        }
        Ok(n)
    }

    fn tx_burst(&mut self, pool: &mut BufPool, burst: &mut Vec<PacketBuf>) -> Result<usize, PortError> {
        let mut result = Ok(());
        if self.state != LinkState::Up && self.control.is_time_to_look() {
            result = self.look().map_err(PortError::from);
        }
        if self.state != LinkState::Up {
            self.stats.tx_dropped_down += burst.len() as u64;
            burst.drain(..).for_each(|buf| pool.give_back(buf));
            return result.map(|()| 0);
        }
        let tx_bytes_max = self.open.as_ref().map_or(0, |open| open.tx_bytes_max);
        let before = self.stats;
        // Packets are put back from `left` on.
        let mut left = Vec::new();
        for buf in burst.drain(..) {
            if !left.is_empty() {
                left.push(buf);
                continue;
            }
            let n_bytes = buf.len();
            if n_bytes < ETHERNET_BYTES {
                self.stats.tx_errors += 1;
                pool.give_back(buf);
                continue;
            }
            if n_bytes > tx_bytes_max && !(has_vlan(buf.data()) && n_bytes - VLAN_BYTES <= tx_bytes_max) {
                self.stats.tx_too_long += 1;
                pool.give_back(buf);
                continue;
            }
            let mut put = self.put(pool, buf);
            if let Err(buf) = put {
                result = result.and(self.kick(pool));
                put = self.put(pool, buf);
            }
            match put {
                Ok(()) => self.stats.sent(n_bytes),
                Err(buf) => left.push(buf),
            }
        }
        result = result.and(self.kick(pool));
        if self.has_back_pressure && self.state == LinkState::Up {
            burst.append(&mut left);
        } else {
            self.stats.tx_dropped_full += left.len() as u64;
            left.drain(..).for_each(|buf| pool.give_back(buf));
        }
        result.map(|()| self.stats.tx_packets.saturating_sub(before.tx_packets) as usize)
    }

    fn set_back_pressure(&mut self, is_wanted: bool) {
        self.has_back_pressure = is_wanted;
    }

    fn idle(&mut self) -> Result<(), PortError> {
        if self.control.is_time_to_look() {
            self.look()?;
        }
        Ok(())
    }

    fn link_state(&self) -> LinkState {
        self.state
    }

    fn frame_bytes_max(&self) -> Option<usize> {
        self.control.frame_bytes_max()
    }

    fn fd(&self) -> Option<RawFd> {
        let open = self.open.as_ref()?;
        Some(open.poll.as_ref().map_or_else(|| open.sockets[0].raw_fd(), AsRawFd::as_raw_fd))
    }

    fn stats(&mut self) -> PortStats {
        self.take_kernel_drops();
        self.stats
    }

    fn flush(&mut self) -> Result<(), PortError> {
        let begin = Instant::now();
        let is_waiting = |port: &mut XdpPort| {
            let socket = port.open.as_mut().and_then(|open| open.sockets.first_mut());
            socket.is_some_and(|socket| socket.unsent().n_packets > 0)
        };
        while self.state == LinkState::Up && is_waiting(self) && begin.elapsed() < FLUSH {
            self.push()?;
        }
        Ok(())
    }
}

impl Drop for XdpPort {
    fn drop(&mut self) {
        if let Some(open) = &self.open
            && self.control.index().is_ok_and(|now| now == Some(open.index))
        {
            self.control.resume_merging(open.merging);
        }
    }
}

const _: () = assert!(HEADROOM_BYTES >= crate::BufPoolOptions::JUMBO.headroom_bytes);
