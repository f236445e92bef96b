//! memif ports: packets through shared memory to another process, such as VPP, a program of DPDK, or another switch
//! (memif version 2.0, as libmemif and DPDK's driver speak it), without DPDK.
//!
//! `protocol` is the messages, `channel` the socket over which they go, `link` how both ends agree, `ring` the memory. Here
//! packets are copied from and to rings: the peer could change a packet while the program looks at it, so none stays in
//! shared memory.

mod channel;
mod link;
mod protocol;
mod ring;

use crate::buf::copy_packet;
use crate::limits::JUMBO_BYTES_MAX;
use crate::{BufPool, LinkState, PacketBuf, Port, PortError, PortId, PortStats};
use link::{Link, LinkRing, OpenFailure, Shared};
use ring::{NEXT, Ring, Slot};
use rustix::io::{Errno, ReadWriteFlags};
use std::cell::Cell;
use std::fmt;
use std::io::IoSliceMut;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::time::{Duration, Instant};

/// Room before received packets.
const HEADROOM_BYTES: usize = 256;
/// The shortest packet: an Ethernet header.
const TX_BYTES_MIN: usize = 14;
/// Slots between the one at hand and the one that is fetched into the cache.
const N_AHEAD: u16 = 8;
/// Polls between two looks at the other end, while the worker is busy.
const N_POLLS_TEND: u32 = 1024;
/// Time between two looks at the other end, while it is idle.
const TEND_TIME: Duration = Duration::from_millis(10);

/// Place and properties of a memif port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemifOptions {
    /// Path of the Unix socket at which both ends meet; `@name` is an abstract one.
    pub socket: String,
    /// Listens, and uses the memory of its client; otherwise it connects, and makes the memory.
    pub is_server: bool,
    /// Number of the interface at the socket: both ends have the same.
    pub id: u32,
    /// A client must know it: up to 23 bytes; empty: nothing.
    pub secret: String,
    /// Logarithm of the number of slots of each ring, 1 to 14; of the client.
    pub log2_ring_size: u8,
    /// Bytes of each slot's buffer, 64 to 65,536; of the client. Longer packets have several.
    pub buffer_bytes: u32,
}

impl MemifOptions {
    /// A client with rings of 1024 slots of 2048 bytes, as with DPDK.
    pub fn client(socket: impl Into<String>) -> MemifOptions {
        MemifOptions {
            socket: socket.into(),
            is_server: false,
            id: 0,
            secret: String::new(),
            log2_ring_size: 10,
            buffer_bytes: 2048,
        }
    }

    /// A server at that socket.
    pub fn server(socket: impl Into<String>) -> MemifOptions {
        MemifOptions { is_server: true, ..MemifOptions::client(socket) }
    }

    /// `SOCKET[,role=server][,id=N][,secret=TEXT][,rsize=LOG2][,bsize=BYTES]`, with the names of DPDK's driver.
    pub fn parse(text: &str) -> Result<MemifOptions, String> {
        let mut words = text.split(',');
        let socket = words.next().unwrap_or_default();
        if socket.is_empty() || socket == "@" {
            return Err("memif ports need the path of a socket: memif:/run/m.sock,role=server".to_owned());
        }
        let mut options = MemifOptions::client(socket);
        let mut names = Vec::new();
        for word in words {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            if names.contains(&name) {
                return Err(format!("memif: {name} is there twice"));
            }
            names.push(name);
            let number = |min: u32, max: u32| match value.parse::<u32>() {
                Ok(n) if (min..=max).contains(&n) => Ok(n),
                _ => Err(format!("memif: {name} is `{value}`; it can be {min} to {max}")),
            };
            match (name, value) {
                ("role", "server") => options.is_server = true,
                ("role", "client") => options.is_server = false,
                ("role", _) => return Err(format!("memif: role is `{value}`; it can be server or client")),
                ("id", _) => options.id = number(0, u32::MAX)?,
                ("rsize", _) => {
                    options.log2_ring_size = number(1, u32::from(protocol::LOG2_RING_SIZE_MAX))? as u8;
                }
                ("bsize", _) => options.buffer_bytes = number(64, 65_536)?,
                ("secret", _) if value.is_empty() || value.len() > 23 => {
                    return Err("memif: secret has 1 to 23 bytes".to_owned());
                }
                ("secret", _) => options.secret = value.to_owned(),
                _ => {
                    return Err(format!(
                        "memif ports have no option `{word}`; there are role=, id=, secret=, rsize= and bsize="
                    ));
                }
            }
        }
        Ok(options)
    }
}

impl fmt::Display for MemifOptions {
    /// In the form that [`parse`](MemifOptions::parse) reads, without the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = MemifOptions::client("");
        let MemifOptions { socket, is_server, id, secret, log2_ring_size, buffer_bytes } = self;
        write!(f, "{socket}")?;
        if *is_server {
            write!(f, ",role=server")?;
        }
        if *id != usual.id {
            write!(f, ",id={id}")?;
        }
        if !secret.is_empty() {
            write!(f, ",secret=***")?;
        }
        if *log2_ring_size != usual.log2_ring_size {
            write!(f, ",rsize={log2_ring_size}")?;
        }
        if *buffer_bytes != usual.buffer_bytes {
            write!(f, ",bsize={buffer_bytes}")?;
        }
        Ok(())
    }
}

/// A memif port that cannot be opened.
#[derive(Debug)]
pub struct MemifError {
    socket: String,
    id: u32,
    failure: OpenFailure,
}

impl fmt::Display for MemifError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MemifError { socket, id, failure } = self;
        write!(f, "memif socket {socket}: ")?;
        match failure {
            OpenFailure::SameId => {
                write!(f, "another port has interface {id} already; give this one another id=")
            }
            OpenFailure::System(Errno::ADDRINUSE) => {
                write!(
                    f,
                    "something is there already: another server, or a file. End it, or take another path"
                )
            }
            OpenFailure::System(Errno::NOENT) => {
                write!(f, "its directory is not there: make it, or take another path")
            }
            OpenFailure::System(Errno::ACCESS | Errno::PERM) => {
                write!(f, "not permitted; take a path in a directory that you may write to")
            }
            OpenFailure::System(Errno::NAMETOOLONG) => write!(f, "the path is longer than 107 bytes"),
            OpenFailure::System(error) => write!(f, "cannot listen: {error}"),
        }
    }
}

impl std::error::Error for MemifError {}

/// A memif port, or one queue of it.
#[derive(Debug)]
pub struct MemifPort {
    id: PortId,
    queue: u16,
    shared: Arc<Shared>,
    /// The generation of `rings`.
    seen: u64,
    rings: Option<Rings>,
    stats: PortStats,
    has_back_pressure: bool,
    n_polls: u32,
    looked_at: Instant,
    /// The receiving ring gives events.
    is_listening: Cell<bool>,
}

/// The rings of a queue. `next` are the places at which this end goes on; the peer cannot change them.
#[derive(Debug)]
struct Rings {
    link: Arc<Link>,
    rx: Option<(Ring, u16)>,
    tx: Option<(Ring, u16)>,
    /// Slots that may still be read of a link that is gone.
    n_last: u16,
}

impl Rings {
    fn new(link: Arc<Link>, queue: u16) -> Rings {
        let ring = |rings: &[LinkRing]| rings.get(usize::from(queue)).map(|found| (found.ring, 0));
        let (rx, tx) = (ring(&link.rx), ring(&link.tx));
        for (ring, _) in rx.iter() {
            ring.set_events(false);
            if ring.is_own() {
                // All buffers are for the peer.
                ring.head().store(ring.size(), Ordering::Release);
            }
        }
        let n_last = rx.map_or(0, |(ring, _)| ring.size());
        Rings { link, rx, tx, n_last }
    }

    /// The slot that is read next.
    fn next_received(&self) -> u16 {
        self.rx.map_or(0, |(_, next)| next)
    }

    /// Slots that the peer has filled and this end has not read; `None` if its index is not possible.
    fn n_received(&self) -> Option<u16> {
        let Some((ring, next)) = &self.rx else { return Some(0) };
        let index = if ring.is_own() { ring.tail() } else { ring.head() };
        let n = index.load(Ordering::Acquire).wrapping_sub(*next);
        (n <= ring.size()).then_some(n)
    }

    /// Free slots for packets to the peer; `None` if its index is not possible.
    fn n_free(&self) -> Option<u16> {
        let Some((ring, next)) = &self.tx else { return Some(0) };
        match ring.is_own() {
            true => ring.size().checked_sub(next.wrapping_sub(ring.tail().load(Ordering::Acquire))),
            false => {
                let n = ring.head().load(Ordering::Acquire).wrapping_sub(*next);
                (n <= ring.size()).then_some(n)
            }
        }
    }

    fn event(rings: &[LinkRing], queue: u16) -> Option<&OwnedFd> {
        rings.get(usize::from(queue)).map(|ring| &ring.event)
    }
}

/// The peer has written something into shared memory that cannot be.
struct Garbage;

impl MemifPort {
    /// Queues that a port can have.
    pub const N_QUEUES_MAX: usize = protocol::N_RINGS_MAX as usize;

    pub fn open(id: PortId, options: MemifOptions) -> Result<MemifPort, PortError> {
        let mut queues = MemifPort::open_queues(id, options, 1)?;
        Ok(queues.pop().expect("as many ports as queues"))
    }

    /// Opens a port with `n_queues` queues (1 to 256) in each direction, each for a worker. The peer spreads flows over them, and
    /// must have as many.
    pub fn open_queues(
        id: PortId,
        options: MemifOptions,
        n_queues: usize,
    ) -> Result<Vec<MemifPort>, PortError> {
        let n_queues = n_queues.clamp(1, MemifPort::N_QUEUES_MAX) as u16;
        let (socket, number) = (options.socket.clone(), options.id);
        let shared = Shared::open(options, n_queues)
            .map_err(|failure| PortError::Device(Box::new(MemifError { socket, id: number, failure })))?;
        let port = |queue| MemifPort {
            id,
            queue,
            shared: Arc::clone(&shared),
            seen: 0,
            rings: None,
            stats: PortStats::default(),
            has_back_pressure: false,
            n_polls: 0,
            looked_at: Instant::now(),
            is_listening: Cell::new(false),
        };
        let mut ports: Vec<MemifPort> = (0..n_queues).map(port).collect();
        ports.iter_mut().for_each(MemifPort::look);
        Ok(ports)
    }

    #[cold]
    fn look(&mut self) {
        (self.n_polls, self.looked_at) = (0, Instant::now());
        self.shared.tend();
        self.refresh();
    }

    /// Takes over a new link. What is left in the ring of the last one comes first.
    fn refresh(&mut self) {
        if self.shared.generation() == self.seen {
            return;
        }
        if self
            .rings
            .as_ref()
            .is_some_and(|rings| rings.n_last > 0 && rings.n_received().is_some_and(|n| n > 0))
        {
            return;
        }
        self.is_listening.set(false);
        let (generation, link) = self.shared.link();
        self.seen = generation;
        self.rings = link.map(|link| Rings::new(link, self.queue));
    }

    #[cold]
    fn abandon(&mut self) {
        if let Some(rings) = self.rings.take() {
            self.shared.abandon(&rings.link, "garbage in shared memory");
        }
    }

    /// Takes back the wish to be woken.
    #[cold]
    fn stop_listening(&mut self) {
        self.is_listening.set(false);
        let Some(rings) = &self.rings else { return };
        for (ring, _) in rings.rx.iter() {
            ring.set_events(false);
        }
        if let Some(event) = Rings::event(&rings.link.rx, self.queue) {
            let mut count = [0; 8];
            // The peer could have made reading wait.
            let parts = &mut [IoSliceMut::new(&mut count)];
            if rustix::io::preadv2(event, parts, u64::MAX, ReadWriteFlags::NOWAIT) == Err(Errno::OPNOTSUPP) {
                let _ = rustix::io::read(event, &mut count);
            }
        }
    }

    /// Reads up to `n_max` packets into `burst`.
    fn receive(
        rings: &mut Rings,
        stats: &mut PortStats,
        pool: &mut BufPool,
        burst: &mut Vec<PacketBuf>,
        n_max: usize,
    ) -> Result<(), Garbage> {
        let n_slots = rings.n_received().ok_or(Garbage)?;
        let Some((ring, next)) = &mut rings.rx else { return Ok(()) };
        if n_slots == 0 {
            return Ok(());
        }
        let n_before = burst.len();
        let n_wanted = n_max.min(usize::from(n_slots));
        let n_bufs = pool.take_many(n_wanted, burst);
        let end = next.wrapping_add(n_slots);
        let (mut n_done, mut slot_n) = (0, *next);
        let mut result = Ok(());
        while n_done < n_bufs && slot_n != end {
            let buf = &mut burst[n_before + n_done];
            let regions = &rings.link.regions;
            ring.prefetch(regions, slot_n.wrapping_add(N_AHEAD));
            let slot = ring.read(slot_n);
            let Some((from, length)) = ring.buffer(regions, slot_n, &slot) else {
                result = Err(Garbage);
                break;
            };
            if slot.flags & NEXT != 0 {
                match chained(ring, regions, slot_n, end, buf) {
                    Ok((n_used, is_kept)) => {
                        slot_n = slot_n.wrapping_add(n_used);
                        match is_kept {
                            true => n_done += 1,
                            false => stats.rx_too_long += 1,
                        }
                    }
                    Err(Garbage) => {
                        result = Err(Garbage);
                        break;
                    }
                }
                continue;
            }
            slot_n = slot_n.wrapping_add(1);
            // A peer that takes buffers for longer than they are has written over the next one.
            let is_whole = length == slot.length;
            // SAFETY: `length` bytes of the region are there.
            let is_copied = is_whole && unsafe { buf.copy_in(HEADROOM_BYTES, from, length as usize) };
            if is_copied && buf.set_bounds(HEADROOM_BYTES as u32, length) {
                n_done += 1;
            } else {
                stats.rx_too_long += 1;
            }
        }
        // Buffers that are left over.
        for buf in burst.drain(n_before + n_done..) {
            pool.give_back(buf);
        }
        if ring.is_own() {
            let mut n = *next;
            while n != slot_n {
                ring.whole(n).into_iter().for_each(|slot| ring.write(n, slot));
                n = n.wrapping_add(1);
            }
            ring.head().store(slot_n.wrapping_add(ring.size()), Ordering::Release);
        } else {
            ring.tail().store(slot_n, Ordering::Release);
        }
        *next = slot_n;
        result
    }

    /// Writes packets of `burst` into free slots; returns how many, and whether the next one does not fit into an empty ring.
    fn send(rings: &mut Rings, burst: &[PacketBuf]) -> Result<(usize, bool), Garbage> {
        let mut n_free = rings.n_free().ok_or(Garbage)?;
        let Some((ring, next)) = &mut rings.tx else { return Ok((0, false)) };
        let mut is_too_long = false;
        let mut n_sent = 0;
        for buf in burst {
            ring.prefetch(&rings.link.regions, next.wrapping_add(N_AHEAD));
            let n_used = put(ring, &rings.link.regions, *next, n_free, buf.data())?;
            if n_used == 0 {
                is_too_long = n_free == ring.size();
                break;
            }
            *next = next.wrapping_add(n_used);
            n_free -= n_used;
            n_sent += 1;
        }
        let own = if ring.is_own() { ring.head() } else { ring.tail() };
        own.store(*next, Ordering::Release);
        Ok((n_sent, is_too_long))
    }

    /// Wakes a receiver that sleeps.
    fn notify(&self) {
        let Some(rings) = &self.rings else { return };
        let Some((ring, _)) = &rings.tx else { return };
        // Either this end sees the wish to be woken, or the receiver sees the packets.
        fence(Ordering::SeqCst);
        if ring.wants_events()
            && let Some(event) = Rings::event(&rings.link.tx, self.queue)
        {
            let _ = rustix::io::write(event, &1u64.to_ne_bytes());
        }
    }

    /// Returns whether the peer has taken all packets.
    fn is_drained(&self) -> bool {
        let Some(rings) = &self.rings else { return true };
        let Some((ring, next)) = &rings.tx else { return true };
        match ring.is_own() {
            true => ring.tail().load(Ordering::Acquire) == *next,
            // The client hands its buffers out again when it has read them.
            false => ring.head().load(Ordering::Acquire).wrapping_sub(*next) == ring.size(),
        }
    }
}

/// A packet in several slots. Returns how many it has, and whether it fits into the buffer.
#[cold]
fn chained(
    ring: &Ring,
    regions: &[ring::Region],
    first: u16,
    end: u16,
    buf: &mut PacketBuf,
) -> Result<(u16, bool), Garbage> {
    let (mut n, mut len, mut fits) = (first, 0, true);
    loop {
        // Peers publish packets as a whole.
        if n == end {
            return Err(Garbage);
        }
        let slot = ring.read(n);
        let (from, length) = ring.buffer(regions, n, &slot).ok_or(Garbage)?;
        // SAFETY: `length` bytes of the region are there.
        fits = fits
            && length == slot.length
            && unsafe { buf.copy_in(HEADROOM_BYTES + len, from, length as usize) };
        if fits {
            len += length as usize;
        }
        n = n.wrapping_add(1);
        if slot.flags & NEXT == 0 {
            let is_kept = fits && buf.set_bounds(HEADROOM_BYTES as u32, len as u32);
            return Ok((n.wrapping_sub(first), is_kept));
        }
    }
}

/// Writes a packet into up to `n_free` slots from `first` on; returns how many, none if they are too few.
#[inline]
fn put(ring: &Ring, regions: &[ring::Region], first: u16, n_free: u16, data: &[u8]) -> Result<u16, Garbage> {
    let (mut n_used, mut at) = (0, 0);
    loop {
        if n_used == n_free {
            return Ok(0);
        }
        let n = first.wrapping_add(n_used);
        let slot: Slot = ring.whole(n).unwrap_or_else(|| ring.read(n));
        let (to, room): (NonNull<u8>, u32) = ring.buffer(regions, n, &slot).ok_or(Garbage)?;
        let n_now = (data.len() - at).min(room as usize);
        if n_now == 0 {
            return Err(Garbage);
        }
        // SAFETY: the slot's buffer has room for so many bytes, and is this end's until the index moves.
        unsafe { copy_packet(data.as_ptr().add(at), to.as_ptr(), n_now) };
        at += n_now;
        n_used += 1;
        let flags = if at < data.len() { NEXT } else { 0 };
        ring.write(n, Slot { flags, length: n_now as u32, ..slot });
        if at == data.len() {
            return Ok(n_used);
        }
    }
}

impl Port for MemifPort {
    fn id(&self) -> PortId {
        self.id
    }

    fn rx_burst(
        &mut self,
        pool: &mut BufPool,
        burst: &mut Vec<PacketBuf>,
        n_max: usize,
    ) -> Result<usize, PortError> {
        self.n_polls += 1;
        if self.n_polls >= N_POLLS_TEND {
            self.look();
        }
        if self.is_listening.get() {
            self.stop_listening();
        }
        let Some(rings) = &mut self.rings else { return Ok(0) };
        let (n_before, first) = (burst.len(), rings.next_received());
        let result = MemifPort::receive(rings, &mut self.stats, pool, burst, n_max);
        let n_slots = rings.next_received().wrapping_sub(first);
        if n_slots > 0 && self.shared.generation() != self.seen {
            rings.n_last = rings.n_last.saturating_sub(n_slots);
        }
        let received = &mut burst[n_before..];
        if !received.is_empty() {
            let now_ns = crate::time::now_ns();
            for buf in received.iter_mut() {
                (buf.port, buf.timestamp_ns) = (self.id, now_ns);
                self.stats.rx_bytes += buf.len() as u64;
            }
            self.stats.rx_packets += received.len() as u64;
        }
        let n = received.len();
        if result.is_err() {
            self.stats.rx_errors += 1;
            self.abandon();
        }
        Ok(n)
    }

    fn tx_burst(&mut self, pool: &mut BufPool, burst: &mut Vec<PacketBuf>) -> Result<usize, PortError> {
        if burst.iter().any(|buf| !(TX_BYTES_MIN..=JUMBO_BYTES_MAX).contains(&buf.len())) {
            self.drop_unfit(pool, burst);
        }
        if self.shared.generation() != self.seen {
            self.refresh();
        }
        let mut n_sent = 0;
        loop {
            // A link that is gone has nobody to take packets.
            let is_up = self.shared.generation() == self.seen;
            let sent = match &mut self.rings {
                Some(rings) if is_up => MemifPort::send(rings, burst),
                Some(_) | None => Ok((0, false)),
            };
            let (n_now, is_too_long) = sent.unwrap_or_else(|Garbage| {
                self.stats.tx_errors += 1;
                self.abandon();
                (0, false)
            });
            self.stats.tx_packets += n_now as u64;
            self.stats.tx_bytes += burst[..n_now].iter().map(|buf| buf.len() as u64).sum::<u64>();
            pool.give_back_many(burst, n_now);
            n_sent += n_now;
            if !is_too_long {
                break;
            }
            self.stats.tx_too_long += 1;
            pool.give_back_many(burst, 1);
        }
        if n_sent > 0 {
            self.notify();
        }
        if burst.is_empty() {
            return Ok(n_sent);
        }
        match self.link_state() {
            LinkState::Up if self.has_back_pressure => return Ok(n_sent),
            LinkState::Up => self.stats.tx_dropped_full += burst.len() as u64,
            LinkState::Down | LinkState::Gone => self.stats.tx_dropped_down += burst.len() as u64,
        }
        let n_left = burst.len();
        pool.give_back_many(burst, n_left);
        Ok(n_sent)
    }

    fn set_back_pressure(&mut self, is_wanted: bool) {
        self.has_back_pressure = is_wanted;
    }

    fn idle(&mut self) -> Result<(), PortError> {
        if self.rings.is_none() || self.looked_at.elapsed() >= TEND_TIME {
            self.look();
        }
        Ok(())
    }

    fn link_state(&self) -> LinkState {
        let is_up = self.rings.is_some() && self.shared.generation() == self.seen;
        if is_up { LinkState::Up } else { LinkState::Down }
    }

    fn down_reason(&self) -> Option<String> {
        self.shared.problem()
    }

    fn frame_bytes_max(&self) -> Option<usize> {
        Some(JUMBO_BYTES_MAX)
    }

    fn fd(&self) -> Option<RawFd> {
        let Some(rings) = &self.rings else { return Some(self.shared.waiting_fd()) };
        let Some((ring, _)) = &rings.rx else { return Some(self.shared.waiting_fd()) };
        let event = Rings::event(&rings.link.rx, self.queue)?;
        self.is_listening.set(true);
        ring.set_events(true);
        // Either the sender sees the wish to be woken, or this end sees the packets.
        fence(Ordering::SeqCst);
        if rings.n_received() != Some(0) {
            let _ = rustix::io::write(event, &1u64.to_ne_bytes());
        }
        Some(event.as_raw_fd())
    }

    fn stats(&mut self) -> PortStats {
        self.stats
    }
}

impl MemifPort {
    #[cold]
    fn drop_unfit(&mut self, pool: &mut BufPool, burst: &mut Vec<PacketBuf>) {
        let is_unfit = |buf: &mut PacketBuf| !(TX_BYTES_MIN..=JUMBO_BYTES_MAX).contains(&buf.len());
        for buf in burst.extract_if(.., is_unfit) {
            match buf.len() > JUMBO_BYTES_MAX {
                true => self.stats.tx_too_long += 1,
                false => self.stats.tx_errors += 1,
            }
            pool.give_back(buf);
        }
    }
}

impl Drop for MemifPort {
    /// Packets that were sent last are for the peer to take.
    fn drop(&mut self) {
        let end = self.shared.closing_until();
        while self.link_state() == LinkState::Up && !self.is_drained() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
            self.shared.tend();
        }
    }
}
