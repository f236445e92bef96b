//! A queue of a device as a port.

use crate::device::Device;
use crate::error::DpdkError;
use crate::host;
use crate::mbufs::MBUFS;
use crate::shim::{BURST_MAX, MBUF_BYTES, RawQueue, RawStats, RxPacket, Shim, TxPacket};
use packet_io::{BufPool, LinkState, PacketBuf, Port, PortError, PortId, PortStats};
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

/// Room before the data that programs may use, as in the buffers of pools.
const HEADROOM_BYTES_MIN: u32 = 256;

/// The shortest packet that drivers get: an Ethernet header.
const TX_BYTES_MIN: usize = 14;

const VLAN_TAG_BYTES: usize = 4;

/// Polls without a packet before a worker may sleep: a millisecond or less, since a ring fills up meanwhile.
const N_EAGER_POLLS: u32 = 1024;

/// How long a link state is taken for true.
const LINK_AGE_MAX: Duration = Duration::from_millis(10);

/// How long a peer may take for the last packets before their ring is taken away.
const PEER_TIME: Duration = Duration::from_millis(200);

/// A queue of a DPDK device.
///
/// Descriptors for interrupts exist with few drivers, so [`Port::fd`] gives one that is always ready for some time after each
/// packet, and none otherwise: an idle worker looks once a millisecond.
#[derive(Debug)]
pub struct DpdkPort {
    id: PortId,
    shim: &'static Shim,
    queue: NonNull<RawQueue>,
    /// Counts of the whole device belong to its first queue.
    is_first: bool,
    tx_bytes_max: usize,
    has_back_pressure: bool,
    stats: PortStats,
    n_empty_polls: u32,
    link: Cell<Option<(Instant, LinkState)>>,
    /// The time of the last packets, if a peer would lose them with the device.
    sent_at: Option<Instant>,
    device: Arc<Device>,
}

// SAFETY: a queue may be used by any thread, by one at a time.
unsafe impl Send for DpdkPort {}

/// Opens a device with one queue in each direction. `device` is in DPDK's syntax, such as `net_memif0,role=server` or
/// `0000:00:04.0`. The first call starts EAL, which takes up to a second.
pub fn open(id: PortId, device: &str) -> Result<DpdkPort, DpdkError> {
    let mut ports = open_queues(id, device, 1)?;
    Ok(ports.pop().expect("as many ports as queues"))
}

/// Opens a device with `n_queues` queues in each direction, one port per queue, which is at least one. Received packets are spread by
/// the device's hash, or as the peer of a virtual device likes.
pub fn open_queues(id: PortId, device: &str, n_queues: u32) -> Result<Vec<DpdkPort>, DpdkError> {
    let device = Arc::new(Device::open(device, n_queues.max(1))?);
    let port = |queue| DpdkPort {
        id,
        shim: device.host().shim,
        queue: NonNull::new(device.queue(queue)).expect("a queue of the device"),
        is_first: queue == 0,
        tx_bytes_max: device.tx_bytes_max(),
        has_back_pressure: false,
        stats: PortStats::default(),
        n_empty_polls: 0,
        link: Cell::new(None),
        sent_at: None,
        device: Arc::clone(&device),
    };
    Ok((0..n_queues.max(1)).map(port).collect())
}

impl Port for DpdkPort {
    fn id(&self) -> PortId {
        self.id
    }

    fn rx_burst(
        &mut self,
        pool: &mut BufPool,
        burst: &mut Vec<PacketBuf>,
        n_max: usize,
    ) -> Result<usize, PortError> {
        host::enter_thread();
        let mut packets = [const { MaybeUninit::<RxPacket>::uninit() }; BURST_MAX];
        let n_max = n_max.min(BURST_MAX) as u32;
        // SAFETY: the queue is this port's, and the array has room for as many packets.
        let n = unsafe { (self.shim.rx)(self.queue.as_ptr(), packets.as_mut_ptr().cast(), n_max) };
        if n == 0 {
            self.n_empty_polls = self.n_empty_polls.saturating_add(1);
            return Ok(0);
        }
        self.n_empty_polls = 0;
        let now_ns = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |age| age.as_nanos() as u64);
        let n_before = burst.len();
        // SAFETY: the first `n` packets were received, so that they are initialised.
        let packets = packets[..n as usize].iter().map(|packet| unsafe { packet.assume_init_ref() });
        if packets.clone().all(is_frame) {
            // Not one by one, so that each is made where it stays: moving what has just been written in parts is slow.
            burst.extend(packets.map(Self::frame));
        } else {
            for packet in packets {
                match is_frame(packet) {
                    true => burst.push(Self::frame(packet)),
                    false => burst.extend(self.copy(pool, packet)),
                }
            }
        }
        let received = &mut burst[n_before..];
        for buf in received.iter_mut() {
            (buf.port, buf.timestamp_ns) = (self.id, now_ns);
            self.stats.rx_bytes += buf.len() as u64;
        }
        self.stats.rx_packets += received.len() as u64;
        Ok(received.len())
    }

    fn tx_burst(&mut self, pool: &mut BufPool, burst: &mut Vec<PacketBuf>) -> Result<usize, PortError> {
        host::enter_thread();
        if burst.iter().any(|buf| buf.len() > self.tx_bytes_max || buf.len() < TX_BYTES_MIN) {
            self.drop_unfit(pool, burst);
        }
        // Nobody receives packets that the driver takes without a link.
        let is_taken = !self.device.is_blind() || self.link_state() == LinkState::Up;
        let mut n_sent = 0;
        while is_taken && n_sent < burst.len() {
            let n = BURST_MAX.min(burst.len() - n_sent);
            let n_now = self.send(&mut burst[n_sent..][..n]);
            n_sent += n_now;
            if n_now < n {
                break;
            }
        }
        if n_sent > 0 && self.device.takes_rings_away() {
            self.sent_at = Some(Instant::now());
        }
        for buf in burst.drain(..n_sent) {
            self.stats.tx_packets += 1;
            self.stats.tx_bytes += buf.len() as u64;
            // The driver has the mbuf of a frame.
            if let Err(copied) = buf.into_frame(&MBUFS) {
                pool.give_back(copied);
            }
        }
        if burst.is_empty() {
            return Ok(n_sent);
        }
        self.link.set(None);
        let n_left = burst.len() as u64;
        match self.link_state() {
            LinkState::Up if self.has_back_pressure => return Ok(n_sent),
            LinkState::Up => self.stats.tx_dropped_full += n_left,
            LinkState::Down | LinkState::Gone => self.stats.tx_dropped_down += n_left,
        }
        burst.drain(..).for_each(|buf| pool.give_back(buf));
        Ok(n_sent)
    }

    fn set_back_pressure(&mut self, is_wanted: bool) {
        self.has_back_pressure = is_wanted;
    }

    fn link_state(&self) -> LinkState {
        if let Some((at, state)) = self.link.get()
            && at.elapsed() < LINK_AGE_MAX
        {
            return state;
        }
        let state = if self.device.is_link_up() { LinkState::Up } else { LinkState::Down };
        self.link.set(Some((Instant::now(), state)));
        state
    }

    fn frame_bytes_max(&self) -> Option<usize> {
        Some(self.tx_bytes_max - VLAN_TAG_BYTES)
    }

    fn fd(&self) -> Option<RawFd> {
        if self.n_empty_polls < N_EAGER_POLLS { always_ready() } else { None }
    }

    fn stats(&mut self) -> PortStats {
        let mut stats = self.stats;
        if self.is_first {
            let RawStats { missed, no_mbuf, rx_errors, tx_errors } = self.device.stats();
            stats.rx_dropped_kernel += missed + no_mbuf;
            stats.rx_errors += rx_errors;
            // The driver took them before it dropped them.
            let tx_errors = tx_errors.min(stats.tx_packets);
            stats.tx_packets -= tx_errors;
            stats.tx_errors += tx_errors;
        }
        stats
    }
}

impl DpdkPort {
    /// A packet in its mbuf, for which it [`is_frame`].
    #[inline]
    fn frame(packet: &RxPacket) -> PacketBuf {
        let RxPacket { mbuf, start, len, capacity, .. } = *packet;
        // SAFETY: the storage lies behind the mbuf, and is not null.
        let storage = unsafe { NonNull::new_unchecked(mbuf.cast::<u8>().add(MBUF_BYTES)) };
        // SAFETY: an mbuf of one segment that nobody else has; its `capacity` bytes are memory of a mapping that began with
        // zeros. It is aligned, as `c/shim.c` asserts. `MBUFS` frees it.
        let mut buf = unsafe { PacketBuf::from_frame(&MBUFS, storage, capacity, 0) };
        let is_inside = buf.set_bounds(start, len);
        debug_assert!(is_inside);
        buf
    }

    /// Copies a packet of several segments into a buffer of the pool, and frees it; `None` if it is dropped.
    #[cold]
    fn copy(&mut self, pool: &mut BufPool, packet: &RxPacket) -> Option<PacketBuf> {
        let copied = self.copied(pool, packet);
        // SAFETY: the packet is nobody else's, and not used any more.
        unsafe { (self.shim.free_packet)(packet.mbuf) };
        copied
    }

    fn copied(&mut self, pool: &mut BufPool, packet: &RxPacket) -> Option<PacketBuf> {
        let len = packet.len as usize;
        if len > pool.options().packet_bytes_max {
            self.stats.rx_too_long += 1;
            return None;
        }
        let Some(mut buf) = pool.take() else {
            self.stats.rx_dropped_no_buffer += 1;
            return None;
        };
        let Some(data) = buf.append(len) else {
            pool.give_back(buf);
            self.stats.rx_too_long += 1;
            return None;
        };
        // SAFETY: the segments have `len` bytes in all, for which there is room.
        unsafe { (self.shim.read_packet)(packet.mbuf, data.as_mut_ptr()) };
        Some(buf)
    }

    /// Gives at most 64 packets to the device, and returns how many it has taken. Of these the frames belong to the driver.
    fn send(&mut self, bufs: &mut [PacketBuf]) -> usize {
        let mut packets = [const { MaybeUninit::<TxPacket>::uninit() }; BURST_MAX];
        let n = bufs.len().min(BURST_MAX);
        for (packet, buf) in packets.iter_mut().zip(&mut bufs[..n]) {
            let is_mbuf = u32::from(buf.is_frame_of(&MBUFS));
            let raw = buf.raw();
            packet.write(TxPacket {
                storage: raw.storage,
                start: raw.start,
                len: raw.len,
                is_mbuf,
                reserved: 0,
            });
        }
        // SAFETY: the queue is this port's; `n` packets are initialised, and their storages are valid and exclusive.
        let n_sent =
            unsafe { (self.shim.tx)(self.queue.as_ptr(), packets.as_mut_ptr().cast(), n as u32) as usize };
        for (packet, buf) in packets[n_sent..n].iter().zip(&mut bufs[n_sent..n]) {
            // SAFETY: initialised above.
            let packet = unsafe { packet.assume_init_ref() };
            // The data may have been moved out of the private bytes.
            let is_inside = buf.set_bounds(packet.start, packet.len);
            debug_assert!(is_inside);
        }
        n_sent
    }

    #[cold]
    fn drop_unfit(&mut self, pool: &mut BufPool, burst: &mut Vec<PacketBuf>) {
        let is_unfit = |buf: &mut PacketBuf| buf.len() > self.tx_bytes_max || buf.len() < TX_BYTES_MIN;
        for buf in burst.extract_if(.., is_unfit) {
            match buf.len() > self.tx_bytes_max {
                true => self.stats.tx_too_long += 1,
                false => self.stats.tx_errors += 1,
            }
            pool.give_back(buf);
        }
    }
}

impl Drop for DpdkPort {
    /// Packets that were sent last are for the peer to take.
    fn drop(&mut self) {
        let Some(sent_at) = self.sent_at else { return };
        let left = PEER_TIME.saturating_sub(sent_at.elapsed());
        if !left.is_zero() && self.link_state() == LinkState::Up {
            std::thread::sleep(left);
        }
    }
}

/// Returns whether a packet may stay in its mbuf: others are copied.
#[inline]
fn is_frame(packet: &RxPacket) -> bool {
    packet.capacity > 0 && packet.start >= HEADROOM_BYTES_MIN
}

/// A descriptor with input at all times, one for all ports.
fn always_ready() -> Option<RawFd> {
    static READY: OnceLock<Option<OwnedFd>> = OnceLock::new();
    let make = || {
        // SAFETY: takes two numbers; the result is checked before it is used.
        let fd = unsafe { libc::eventfd(1, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
        // SAFETY: the descriptor is new, so nobody else has it.
        (fd >= 0).then(|| unsafe { std::os::fd::FromRawFd::from_raw_fd(fd) })
    };
    READY.get_or_init(make).as_ref().map(AsRawFd::as_raw_fd)
}
