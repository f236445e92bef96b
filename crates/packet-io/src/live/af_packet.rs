//! Port over an existing network interface, through an AF_PACKET socket.

use super::fanout::{FanoutGroup, Membership};
use super::interface::{InterfaceControl, Merging};
use super::offload::{self, GSO_ECN, GSO_NONE, NEEDS_CSUM};
use super::ring::{Rest, RxRing};
use super::segment::Segments;
use super::socket::{FailedStep, OVERFLOW_BYTES, PacketSocket, Received};
use crate::limits::{BURST_MAX, JUMBO_BYTES_MAX};
use crate::{BufPool, InterfaceError, LinkState, PacketBuf, Port, PortError, PortId, PortStats};
use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;

const CAPABILITIES: &str = "cap_net_raw,cap_net_admin";

/// Arming costs time, also when nothing comes.
const N_EXPECTED_MIN: usize = 4;

/// Options of an [`AfPacketPort`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AfPacketOptions {
    /// Longest packet, 64 to 65,535; longer packets are dropped and counted. The buffers of the pool limit it
    /// too.
    pub packet_bytes_max: usize,
    /// Size of the kernel's queue in each direction. Received packets of usual length have a ring of half of it, which takes
    /// that memory all the time.
    pub queue_bytes: usize,
    /// Bypasses the interface's queueing discipline: faster, but a busy interface drops packets instead of
    /// queueing.
    pub is_qdisc_bypassed: bool,
}

impl AfPacketOptions {
    /// Jumbo packets, 8 MiB of queue, with the queueing discipline.
    pub const JUMBO: AfPacketOptions =
        AfPacketOptions { packet_bytes_max: JUMBO_BYTES_MAX, queue_bytes: 8 << 20, is_qdisc_bypassed: false };
}

/// Bytes of packets in the kernel with back pressure: some tens of long packets, as in the reference switch.
const BACK_PRESSURE_BYTES: usize = 100 << 10;

/// A port that is an interface of the system, which receives all packets that arrive there.
///
/// When the interface vanishes, the port waits for another of the same name.
#[derive(Debug)]
pub struct AfPacketPort {
    id: PortId,
    control: InterfaceControl,
    options: AfPacketOptions,
    /// The socket and the number of the interface that it is bound to.
    socket: Option<(Arc<PacketSocket>, i32)>,
    /// The ring in which the socket's packets arrive; without one they are received by system calls.
    ring: Option<RxRing>,
    /// With several queues: this one, and what it shares with the others.
    queue: Option<Queue>,
    state: LinkState,
    has_back_pressure: bool,
    /// The last packet found no room.
    is_congested: bool,
    merging: Merging,
    stats: PortStats,
    /// Segments that did not fit into the burst.
    pending: VecDeque<PacketBuf>,
    /// Somebody has asked for the descriptor and may have waited for it: what ended that may be an error of the socket.
    is_awaited: Cell<bool>,
    /// The ring says that the message in the socket was sent by this machine.
    is_outgoing: bool,
    /// Buffers to receive into, and received packets. Empty between calls.
    armed: Vec<PacketBuf>,
    received: Vec<Received>,
    /// Number of buffers to arm: about the number of recently received packets.
    n_expected: usize,
    /// Overflow areas. The kernel assigns memory to them only when a merged packet arrives.
    overflows: Vec<u8>,
    /// A merged packet, contiguous.
    merged: Vec<u8>,
    fallback: Option<String>,
}

/// One of the queues of a port.
#[derive(Debug)]
struct Queue {
    number: usize,
    group: Arc<FanoutGroup>,
    /// While there is a socket.
    membership: Option<Membership>,
}

impl AfPacketPort {
    /// Opens an interface of the calling thread's network namespace with several queues, for a worker each. The kernel
    /// chooses the queue of a packet by a hash of its flow. Queues beyond the number of flows stay empty, and packets
    /// without an IP header are told apart by their Ethernet addresses at most.
    pub fn open_queues(
        id: PortId,
        interface: &str,
        options: AfPacketOptions,
        n_queues: usize,
    ) -> Result<Vec<AfPacketPort>, PortError> {
        if n_queues == 1 {
            return Ok(vec![AfPacketPort::open(id, interface, options)?]);
        }
        let group = Arc::new(FanoutGroup::new(n_queues));
        let queue = |number| Some(Queue { number, group: Arc::clone(&group), membership: None });
        (0..n_queues).map(|number| AfPacketPort::open_queue(id, interface, options, queue(number))).collect()
    }

    /// Opens an interface of the calling thread's network namespace. It may be switched off.
    pub fn open(id: PortId, interface: &str, options: AfPacketOptions) -> Result<AfPacketPort, PortError> {
        AfPacketPort::open_queue(id, interface, options, None)
    }

    fn open_queue(
        id: PortId,
        interface: &str,
        options: AfPacketOptions,
        queue: Option<Queue>,
    ) -> Result<AfPacketPort, PortError> {
        let control = InterfaceControl::new(interface)?;
        control.check_packet_bytes_max(options.packet_bytes_max)?;
        let mut port = AfPacketPort {
            id,
            control,
            options,
            socket: None,
            ring: None,
            queue,
            state: LinkState::Gone,
            has_back_pressure: false,
            is_congested: false,
            merging: Merging::default(),
            stats: PortStats::default(),
            pending: VecDeque::new(),
            is_awaited: Cell::new(false),
            is_outgoing: false,
            armed: Vec::with_capacity(BURST_MAX),
            received: Vec::with_capacity(BURST_MAX),
            n_expected: N_EXPECTED_MIN,
            overflows: vec![0; BURST_MAX * OVERFLOW_BYTES],
            merged: Vec::new(),
            fallback: None,
        };
        port.look()?;
        if port.state == LinkState::Gone {
            return Err(port.control.not_found().into());
        }
        Ok(port)
    }

    /// Notes why the port was opened in the place of another kind.
    pub fn set_fallback(&mut self, reason: String) {
        self.fallback = Some(reason);
    }

    /// The interface's name.
    pub fn interface(&self) -> &str {
        self.control.name()
    }

    /// Updates the state of the interface, and opens the socket again if there is a new interface of that
    /// name.
    fn look(&mut self) -> Result<(), InterfaceError> {
        match self.control.index()? {
            Some(index) if self.socket.as_ref().is_some_and(|(_, bound)| *bound == index) => {
                // Otherwise the next packet would not be sent for what was wrong before.
                let _ = self.socket.as_ref().map(|(socket, _)| socket.take_error());
                self.state = self.control.link_state();
            }
            Some(index) => {
                self.close();
                self.control.check_ethernet()?;
                match self.open_socket(index) {
                    Ok(()) => {}
                    // The interface vanished again; the next call reports it.
                    Err(failed) if is_gone(&failed.error) => {}
                    Err(failed) => return Err(self.control.failed(failed.step, CAPABILITIES, failed.error)),
                }
            }
            None => self.close(),
        }
        Ok(())
    }

    /// Opens a socket for the interface with that index. With several queues there is none until the interface is switched
    /// on, if the kernel wants that.
    fn open_socket(&mut self, index: i32) -> Result<(), FailedStep> {
        let AfPacketOptions { packet_bytes_max: _, queue_bytes, is_qdisc_bypassed } = self.options;
        let socket = Arc::new(PacketSocket::open(queue_bytes, is_qdisc_bypassed, self.queue.is_none())?);
        // Without memory for a ring it is slower, but correct.
        let ring = RxRing::map(&socket, queue_bytes / 2).ok();
        socket.bind(index)?;
        self.state = self.control.link_state();
        if let Some(queue) = &mut self.queue {
            match queue.group.join(&socket, index) {
                Ok(membership) => queue.membership = Some(membership),
                Err(_) if self.state != LinkState::Up => return Ok(()),
                Err(error) => {
                    let step = "share its packets between queues (PACKET_FANOUT, Linux 4.12)";
                    return Err(FailedStep { step, error });
                }
            }
        }
        if self.has_merging() {
            self.merging = self.control.stop_merging();
        }
        socket.set_send_bytes(self.send_bytes());
        (self.socket, self.ring) = (Some((socket, index)), ring);
        Ok(())
    }

    /// Returns whether this queue changes the merging of the interface for all queues.
    fn has_merging(&self) -> bool {
        self.queue.as_ref().is_none_or(|queue| queue.number == 0)
    }

    fn close(&mut self) {
        self.take_kernel_drops();
        (self.socket, self.ring) = (None, None);
        self.queue.iter_mut().for_each(|queue| queue.membership = None);
        self.state = LinkState::Gone;
        self.merging = Merging::default();
    }

    fn take_kernel_drops(&mut self) {
        if let Some((socket, _)) = &self.socket {
            self.stats.rx_dropped_kernel += socket.take_n_dropped();
        }
    }

    /// Receives up to `n_wanted` messages in one call and appends them to the burst until it has `n_all`
    /// packets. Returns the number of messages, 0 when none is waiting.
    fn receive(
        &mut self,
        pool: &mut BufPool,
        burst: &mut Vec<PacketBuf>,
        n_wanted: usize,
        n_all: usize,
    ) -> Result<usize, PortError> {
        while self.armed.len() < n_wanted {
            let Some(mut buf) = pool.take() else { break };
            let room_bytes = buf.tailroom().min(self.options.packet_bytes_max);
            if buf.append(room_bytes).is_none() {
                break;
            }
            self.armed.push(buf);
        }
        let Some((socket, _)) = &self.socket else { return Ok(0) };
        if self.armed.is_empty() {
            return Ok(0);
        }
        let mut received = std::mem::take(&mut self.received);
        let result =
            socket.receive(self.queue.is_some(), &mut self.armed, &mut self.overflows, &mut received);
        let n_received = received.len().min(self.armed.len());
        if n_received > 0 {
            let timestamp_ns = crate::time::now_ns();
            let mut armed = std::mem::take(&mut self.armed);
            for (i, mut buf) in armed.drain(..n_received).enumerate() {
                (buf.port, buf.timestamp_ns) = (self.id, timestamp_ns);
                self.accept(pool, burst, n_all, buf, i, &received[i]);
            }
            self.armed = armed;
        }
        received.clear();
        self.received = received;
        match result {
            Ok(()) => Ok(n_received),
            Err(error) => {
                match error.raw_os_error() {
                    Some(libc::EAGAIN | libc::EINTR) => {}
                    // The kernel dropped a packet with an offload that the socket cannot express.
                    Some(libc::EINVAL) => self.stats.rx_errors += 1,
                    _ if is_gone(&error) => self.look()?,
                    _ => return Err(self.control.failed("receive", CAPABILITIES, error).into()),
                }
                Ok(0)
            }
        }
    }

    /// Takes up to `n_wanted` packets from the ring and appends them to the burst until it has `n_all` packets. Returns the number
    /// of packets taken.
    fn receive_from_ring(
        &mut self,
        ring: &mut RxRing,
        pool: &mut BufPool,
        burst: &mut Vec<PacketBuf>,
        n_wanted: usize,
        n_all: usize,
    ) -> Result<usize, PortError> {
        let mut n_taken = 0;
        while n_taken < n_wanted && burst.len() < n_all {
            let Some(frame) = ring.peek() else { break };
            let Some(mut buf) = pool.take() else { break };
            let room_bytes = buf.tailroom().min(self.options.packet_bytes_max);
            let Some(place) = buf.append(room_bytes) else {
                pool.give_back(buf);
                break;
            };
            match frame.rest {
                Rest::Here(bytes) => {
                    let n_here = bytes.len().min(room_bytes);
                    place[..n_here].copy_from_slice(&bytes[..n_here]);
                    self.overflows[..bytes.len() - n_here].copy_from_slice(&bytes[n_here..]);
                    (buf.port, buf.timestamp_ns) = (self.id, frame.timestamp_ns);
                    self.accept(pool, burst, n_all, buf, 0, &frame.received);
                }
                Rest::InSocket => {
                    self.armed.push(buf);
                    self.is_outgoing = frame.received.is_outgoing;
                    let received = self.receive(pool, burst, 1, n_all);
                    self.is_outgoing = false;
                    ring.release();
                    received?;
                    n_taken += 1;
                    continue;
                }
                Rest::Lost => {
                    self.stats.rx_dropped_kernel += 1;
                    pool.give_back(buf);
                }
            }
            ring.release();
            n_taken += 1;
        }
        Ok(n_taken)
    }

    /// Looks after the interface if the socket has an error. System calls that receive would tell it; without them nobody does.
    fn look_at_error(&mut self) -> Result<(), PortError> {
        let error = self.socket.as_ref().and_then(|(socket, _)| socket.take_error().err());
        match error {
            None => Ok(()),
            Some(error) if is_gone(&error) => Ok(self.look()?),
            Some(error) => Err(self.control.failed("receive", CAPABILITIES, error).into()),
        }
    }

    /// Makes a packet from message `i`.
    fn accept(
        &mut self,
        pool: &mut BufPool,
        burst: &mut Vec<PacketBuf>,
        n_all: usize,
        mut buf: PacketBuf,
        i: usize,
        received: &Received,
    ) {
        if received.is_outgoing || self.is_outgoing {
            pool.give_back(buf);
            return;
        }
        if received.vnet.gso_type & !GSO_ECN != GSO_NONE {
            self.cut(pool, burst, n_all, buf, i, received);
            return;
        }
        let n_bytes_max = buf.len();
        let n_tag_bytes = if received.vlan.is_some() { 4 } else { 0 };
        let is_too_long = received.is_cut || received.n_bytes + n_tag_bytes > n_bytes_max;
        buf.truncate(received.n_bytes);
        if is_too_long {
            self.stats.rx_too_long += 1;
            pool.give_back(buf);
        } else if !complete(&mut buf, received) {
            self.stats.rx_errors += 1;
            pool.give_back(buf);
        } else {
            self.deliver(burst, n_all, buf);
        }
    }

    fn deliver(&mut self, burst: &mut Vec<PacketBuf>, n_all: usize, buf: PacketBuf) {
        self.stats.received(buf.len());
        if burst.len() < n_all && self.pending.is_empty() {
            burst.push(buf);
        } else {
            self.pending.push_back(buf);
        }
    }

    /// Cuts a merged packet into the segments of the wire.
    fn cut(
        &mut self,
        pool: &mut BufPool,
        burst: &mut Vec<PacketBuf>,
        n_all: usize,
        buf: PacketBuf,
        i: usize,
        received: &Received,
    ) {
        let mut merged = std::mem::take(&mut self.merged);
        merged.clear();
        let (n_bytes_max, timestamp_ns) = (buf.len(), buf.timestamp_ns);
        let n_overflow = received.n_bytes.saturating_sub(n_bytes_max).min(OVERFLOW_BYTES);
        merged.extend(&buf.data()[..received.n_bytes.min(n_bytes_max)]);
        merged.extend(&self.overflows[i * OVERFLOW_BYTES..][..n_overflow]);
        pool.give_back(buf);
        if received.is_cut {
            self.stats.rx_too_long += 1;
        } else if let Some(mut segments) = Segments::new(&merged, &received.vnet) {
            self.stats.rx_segmented += 1;
            while let Some(len) = segments.next_len() {
                let n_tag_bytes = if received.vlan.is_some() { 4 } else { 0 };
                let Some(mut buf) = pool.take() else {
                    self.stats.rx_dropped_no_buffer += 1;
                    break;
                };
                (buf.port, buf.timestamp_ns) = (self.id, timestamp_ns);
                let Some(place) = buf.append(len).filter(|_| len + n_tag_bytes <= n_bytes_max) else {
                    self.stats.rx_too_long += 1;
                    pool.give_back(buf);
                    break;
                };
                segments.write(place);
                if received.vlan.is_none_or(|tag| offload::insert_vlan(&mut buf, tag)) {
                    self.deliver(burst, n_all, buf);
                } else {
                    self.stats.rx_errors += 1;
                    pool.give_back(buf);
                }
            }
        } else {
            self.stats.rx_dropped_gso += 1;
        }
        self.merged = merged;
    }

    /// Bytes of packets that the kernel holds for the link.
    fn send_bytes(&self) -> usize {
        if self.has_back_pressure { BACK_PRESSURE_BYTES } else { self.options.queue_bytes }
    }

    /// Sends the first packets. Returns the number of finished packets, sent or counted as dropped, and the
    /// number of sent packets. Changes the state from `Up` if the interface was found to be down or gone.
    fn send(&mut self, packets: &[PacketBuf]) -> (usize, usize) {
        let error = match &self.socket {
            Some((socket, _)) => match socket.send(packets) {
                Ok(n) => {
                    packets[..n].iter().for_each(|p| self.stats.sent(p.len()));
                    return (n, n);
                }
                Err(error) => error,
            },
            None => io::Error::from_raw_os_error(libc::ENODEV),
        };
        let (count, n_done) = match error.raw_os_error() {
            Some(libc::EINTR) => return (0, 0),
            Some(libc::EAGAIN | libc::ENOBUFS) if self.has_back_pressure => {
                self.is_congested = true;
                return (0, 0);
            }
            Some(libc::EAGAIN) => (&mut self.stats.tx_dropped_full, packets.len()),
            Some(libc::ENOBUFS | libc::ENOMEM) => (&mut self.stats.tx_dropped_full, 1),
            Some(libc::EMSGSIZE) => (&mut self.stats.tx_too_long, 1),
            _ if is_gone(&error) => {
                self.state = LinkState::Down;
                (&mut self.stats.tx_dropped_down, packets.len())
            }
            _ => (&mut self.stats.tx_errors, 1),
        };
        *count += n_done as u64;
        (n_done, 0)
    }
}

/// Completes the work that the sender left to the hardware. Returns false if that is impossible.
#[must_use]
fn complete(buf: &mut PacketBuf, received: &Received) -> bool {
    let has_checksum =
        received.vnet.flags & NEEDS_CSUM == 0 || offload::complete_checksum(buf.data_mut(), &received.vnet);
    has_checksum && received.vlan.is_none_or(|tag| offload::insert_vlan(buf, tag))
}

/// Returns whether the error means that the interface is down or has vanished.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV))
}

impl Port for AfPacketPort {
    fn id(&self) -> PortId {
        self.id
    }

    fn rx_burst(
        &mut self,
        pool: &mut BufPool,
        burst: &mut Vec<PacketBuf>,
        n_max: usize,
    ) -> Result<usize, PortError> {
        let n_before = burst.len();
        let n_all = n_before.saturating_add(n_max);
        while burst.len() < n_all
            && let Some(buf) = self.pending.pop_front()
        {
            burst.push(buf);
        }
        // A flood of packets that are all dropped must not keep the worker here.
        let (mut n_seen, mut result) = (0, Ok(()));
        let ring = self.ring.take();
        let has_ring = ring.is_some();
        if let Some(mut ring) = ring {
            result = self.receive_from_ring(&mut ring, pool, burst, n_max, n_all).map(|_| ());
            // Unless the interface has vanished or changed meanwhile.
            if self.socket.as_ref().is_some_and(|(socket, _)| ring.is_of(socket)) {
                self.ring = Some(ring);
            }
            if burst.len() == n_before && self.is_awaited.take() {
                result = result.and_then(|()| self.look_at_error());
            }
        }
        while !has_ring && burst.len() < n_all && n_seen < n_max && self.socket.is_some() {
            let n_wanted = (n_all - burst.len()).min(self.n_expected);
            match self.receive(pool, burst, n_wanted, n_all) {
                Ok(n) if n == n_wanted => {
                    n_seen += n;
                    self.n_expected = (self.n_expected * 4).min(BURST_MAX);
                }
                Ok(n) => {
                    self.n_expected = (n * 2).clamp(N_EXPECTED_MIN, BURST_MAX);
                    break;
                }
                Err(e) => {
                    result = Err(e);
                    break;
                }
            }
        }
        self.armed.drain(..).for_each(|buf| pool.give_back(buf));
        let n = burst.len() - n_before;
        if n > 0 && self.state != LinkState::Up {
            self.look()?;
        }
        result.map(|()| n)
    }

    fn tx_burst(&mut self, pool: &mut BufPool, burst: &mut Vec<PacketBuf>) -> Result<usize, PortError> {
        let (mut n_done, mut n_sent, mut result) = (0, 0, Ok(()));
        if self.state != LinkState::Up && self.control.is_time_to_look() {
            result = self.look().map_err(PortError::from);
        }
        if self.state != LinkState::Up {
            // The kernel accepts packets for an interface without a link and then discards them.
            self.stats.tx_dropped_down += burst.len() as u64;
            n_done = burst.len();
        }
        self.is_congested = false;
        while n_done < burst.len() && !self.is_congested {
            let (n_more_done, n_more_sent) = self.send(&burst[n_done..]);
            n_done += n_more_done;
            n_sent += n_more_sent;
            if self.state != LinkState::Up {
                result = self.look().map_err(PortError::from);
            }
        }
        burst.drain(..n_done).for_each(|buf| pool.give_back(buf));
        result.map(|()| n_sent)
    }

    fn set_back_pressure(&mut self, is_wanted: bool) {
        if is_wanted != self.has_back_pressure {
            self.has_back_pressure = is_wanted;
            let n_bytes = self.send_bytes();
            self.socket.iter().for_each(|(socket, _)| socket.set_send_bytes(n_bytes));
        }
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

    fn fallback(&self) -> Option<&str> {
        self.fallback.as_deref()
    }

    fn frame_bytes_max(&self) -> Option<usize> {
        self.control.frame_bytes_max()
    }

    fn fd(&self) -> Option<RawFd> {
        self.is_awaited.set(true);
        self.socket.as_ref().map(|(socket, _)| socket.raw_fd())
    }

    fn stats(&mut self) -> PortStats {
        self.take_kernel_drops();
        self.stats
    }
}

impl Drop for AfPacketPort {
    fn drop(&mut self) {
        if let Some((_, index)) = &self.socket
            && self.control.index().is_ok_and(|now| now == Some(*index))
        {
            self.control.resume_merging(self.merging);
        }
    }
}
