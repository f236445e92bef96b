//! An AF_XDP socket: its rings, and the frames that the kernel has.

use super::super::socket::FailedStep;
use super::pieces::Pieces;
use super::region::{FRAME_BYTES, N_FRAMES, REGION_BYTES, Region};
use super::ring::{FromKernel, ToKernel};
use crate::BufPool;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

/// Entries of each ring.
pub(super) const N_ENTRIES: u32 = 2048;
/// Frames that a socket takes from the region at once.
const N_TAKEN: usize = 64;
/// Packets that one call sends; older kernels send 32.
const N_SENT_PER_CALL: u32 = 256;
/// linux/if_xdp.h, since Linux 6.17.
const XDP_MAX_TX_SKB_BUDGET: libc::c_int = 9;

const SO_PREFER_BUSY_POLL: libc::c_int = 69;
const SO_BUSY_POLL_BUDGET: libc::c_int = 70;
/// Microseconds that a system call polls the interface at most, and packets at a time.
const BUSY_POLL: (libc::c_int, libc::c_int) = (20, 64);
/// A queue may be in use for so long after its socket was closed: a child that was forked before has the socket, too, until it runs its
/// program.
const BIND_PATIENCE: Duration = Duration::from_millis(50);
const BIND_PAUSE: Duration = Duration::from_millis(1);

/// How packets come from the driver into frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum XdpCopy {
    /// Without a copy where the driver can, otherwise with one.
    #[default]
    Auto,
    /// With a copy, also where the driver could do without.
    Copy,
    /// Without a copy, or not at all.
    ZeroCopy,
}

/// Steps whose failures have remedies of their own.
pub(super) const STEP_MEMORY: &str = "register memory for packets";
pub(super) const STEP_BIND: &str = "bind an AF_XDP socket to a queue";

fn failed(step: &'static str) -> impl FnOnce(io::Error) -> FailedStep {
    move |error| FailedStep { step, error }
}

/// Frames that the kernel has, one bit for each frame of the region.
#[derive(Debug)]
struct Lent {
    region: &'static Region,
    words: Vec<u64>,
    is_zero_copy: bool,
}

impl Lent {
    fn new(region: &'static Region, is_zero_copy: bool) -> Lent {
        region.socket_opened();
        Lent { region, words: vec![0; N_FRAMES / 64], is_zero_copy }
    }

    fn insert(&mut self, frame: u32) {
        debug_assert!(self.words[frame as usize / 64] & 1 << (frame % 64) == 0);
        self.words[frame as usize / 64] |= 1 << (frame % 64);
    }

    fn remove(&mut self, frame: u32) -> bool {
        let Some(word) = self.words.get_mut(frame as usize / 64) else { return false };
        let is_lent = *word & 1 << (frame % 64) != 0;
        *word &= !(1 << (frame % 64));
        is_lent
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let frames = self.words.iter().enumerate().flat_map(|(i, word)| {
            (0..64).filter(move |bit| word & 1 << bit != 0).map(move |bit| i as u32 * 64 + bit)
        });
        // A socket that copies is gone when it is closed; what drivers do, nobody knows.
        if self.is_zero_copy {
            self.region.retire(frames);
        } else {
            self.region.give_back(frames);
        }
        self.region.socket_closed();
    }
}

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Amount {
    pub(super) n_packets: u64,
    pub(super) n_bytes: u64,
}

#[derive(Debug)]
pub(super) struct XdpSocket {
    region: &'static Region,
    fd: OwnedFd,
    // The kernel closes the socket when the descriptor and all rings are gone; only then `lent` may go.
    fill: ToKernel<u64>,
    completion: FromKernel<u64>,
    pub(super) rx: FromKernel<libc::xdp_desc>,
    pub(super) pieces: Pieces,
    tx: ToKernel<libc::xdp_desc>,
    lent: Lent,
    /// Frames in the fill ring and at the driver.
    n_filled: u32,
    /// Frames in the rings for sending.
    n_sending: u32,
    is_busy_polling: bool,
    /// The kernel says when it has to be woken; otherwise it has to be woken always.
    tells_wakeup: bool,
    /// Counts of the kernel when they were last read.
    n_dropped: u64,
}

impl XdpSocket {
    /// Opens a socket for one queue of an interface. No packet arrives before an XDP program hands packets to it.
    pub(super) fn open(
        region: &'static Region,
        interface: i32,
        queue: u32,
        copy: XdpCopy,
        is_busy_polling: bool,
    ) -> Result<XdpSocket, FailedStep> {
        // SAFETY: without pointers.
        let fd = unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            return Err(failed("open an AF_XDP socket")(io::Error::last_os_error()));
        }
        // SAFETY: `fd` was just opened and has no other owner.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let raw = fd.as_raw_fd();
        // SAFETY: numbers only, for which zero is valid.
        let mut memory: libc::xdp_umem_reg = unsafe { mem::zeroed() };
        (memory.addr, memory.len) = (region.address(), REGION_BYTES as u64);
        memory.chunk_size = FRAME_BYTES as u32;
        set_option(raw, libc::XDP_UMEM_REG, &memory).map_err(failed(STEP_MEMORY))?;
        for ring in
            [libc::XDP_UMEM_FILL_RING, libc::XDP_UMEM_COMPLETION_RING, libc::XDP_RX_RING, libc::XDP_TX_RING]
        {
            set_option(raw, ring, &N_ENTRIES).map_err(failed("make a ring"))?;
        }
        let offsets = ring_offsets(raw).map_err(failed("find its rings"))?;
        let map = failed("map a ring");
        let rings = (|| {
            let fill = libc::XDP_UMEM_PGOFF_FILL_RING as libc::off_t;
            let completion = libc::XDP_UMEM_PGOFF_COMPLETION_RING as libc::off_t;
            Ok((
                ToKernel::map(raw, fill, &offsets.fr, N_ENTRIES)?,
                FromKernel::map(raw, completion, &offsets.cr, N_ENTRIES)?,
                FromKernel::map(raw, libc::XDP_PGOFF_RX_RING, &offsets.rx, N_ENTRIES)?,
                ToKernel::map(raw, libc::XDP_PGOFF_TX_RING, &offsets.tx, N_ENTRIES)?,
            ))
        })();
        let (fill, completion, rx, tx) = rings.map_err(map)?;
        let tells_wakeup = bind_patiently(raw, interface, queue, copy).map_err(failed(STEP_BIND))?;
        // Calls that fail cost speed only: kernels before 6.17, and before 5.11.
        let _ = set_option(raw, XDP_MAX_TX_SKB_BUDGET, &N_SENT_PER_CALL);
        let is_busy_polling = is_busy_polling && prefer_busy_polling(raw).is_ok();
        let mut options = libc::xdp_options { flags: 0 };
        let is_zero_copy = get_option(raw, libc::XDP_OPTIONS, &mut options).is_ok()
            && options.flags & libc::XDP_OPTIONS_ZEROCOPY != 0;
        let mut socket = XdpSocket {
            region,
            fd,
            fill,
            completion,
            rx,
            pieces: Pieces::default(),
            tx,
            lent: Lent::new(region, is_zero_copy),
            n_filled: 0,
            n_sending: 0,
            is_busy_polling,
            tells_wakeup,
            n_dropped: 0,
        };
        let n_missing = socket.n_missing();
        socket.fill_from_region(n_missing);
        Ok(socket)
    }

    pub(super) fn raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    pub(super) fn is_zero_copy(&self) -> bool {
        self.lent.is_zero_copy
    }

    /// Takes a frame back from the kernel, by an address in it. Returns the frame and the offset in it; `None` if the kernel did not
    /// have it.
    pub(super) fn returned(&mut self, address: u64) -> Option<(u32, usize)> {
        let frame = u32::try_from(address / FRAME_BYTES as u64).ok()?;
        self.lent.remove(frame).then_some((frame, address as usize % FRAME_BYTES))
    }

    /// Gives the kernel frames to receive into, as many as are its share: those of the pool first.
    pub(super) fn refill(&mut self, pool: &mut BufPool) {
        let n_missing = self.n_missing();
        // One at a time would move the lines of the ring to and fro.
        if n_missing < N_TAKEN as u32 && self.n_filled > N_TAKEN as u32 {
            return;
        }
        let mut n_given = 0;
        while n_given < n_missing {
            match pool.take_frame().map(|buf| buf.into_frame(self.region)) {
                Some(Ok(first)) => self.give(self.region.number_of(first)),
                Some(Err(_)) => continue,
                None => break,
            }
            n_given += 1;
        }
        self.fill_from_region(n_missing - n_given);
    }

    /// Frames that the kernel may have in addition.
    fn n_missing(&mut self) -> u32 {
        let n_missing = self.region.n_filled_max().min(N_ENTRIES).saturating_sub(self.n_filled);
        n_missing.min(self.fill.n_free(n_missing))
    }

    /// Gives the kernel `n` frames of the region, for which there is room, and shows all new ones to it.
    fn fill_from_region(&mut self, n: u32) {
        let mut n_left = n as usize;
        while n_left > 0 {
            let mut frames = [0; N_TAKEN];
            let mut n_found = 0;
            self.region.take(N_TAKEN.min(n_left), |frame| {
                frames[n_found] = frame;
                n_found += 1;
            });
            if n_found == 0 {
                break;
            }
            frames[..n_found].iter().for_each(|frame| self.give(*frame));
            n_left -= n_found;
        }
        self.fill.publish();
    }

    fn give(&mut self, frame: u32) {
        self.lent.insert(frame);
        self.n_filled += 1;
        self.fill.push(u64::from(frame) * FRAME_BYTES as u64);
    }

    /// Counts frames that came out of the receive ring.
    pub(super) fn received(&mut self, n_frames: u32) {
        self.n_filled = self.n_filled.saturating_sub(n_frames);
        self.rx.release();
    }

    /// Wakes the driver if it waits for that, or polls the interface in this thread.
    pub(super) fn poll_driver(&mut self) {
        if self.is_busy_polling || self.fill.needs_wakeup() {
            // SAFETY: without a buffer; the result says nothing that the rings do not.
            unsafe {
                libc::recvfrom(
                    self.fd.as_raw_fd(),
                    std::ptr::null_mut(),
                    0,
                    libc::MSG_DONTWAIT,
                    std::ptr::null_mut(),
                    std::ptr::null_mut(),
                )
            };
        }
    }

    /// Room for `n_wanted` descriptors to send, if there is.
    pub(super) fn has_room(&mut self, n_wanted: u32) -> bool {
        // Completions need room in a ring of the same size.
        self.n_sending + n_wanted <= N_ENTRIES && self.tx.n_free(n_wanted) >= n_wanted
    }

    /// Writes a descriptor, for which there is room. The kernel has the frame from now on.
    pub(super) fn send(&mut self, frame: u32, start: usize, len: u32, is_continued: bool) {
        self.lent.insert(frame);
        let addr = u64::from(frame) * FRAME_BYTES as u64 + start as u64;
        let options = if is_continued { libc::XDP_PKT_CONTD } else { 0 };
        self.tx.push(libc::xdp_desc { addr, len, options });
        self.n_sending += 1;
    }

    /// Shows what was written to the kernel and lets it send. Returns the packets that the interface did not take, which are lost.
    pub(super) fn kick(&mut self) -> io::Result<Amount> {
        self.tx.publish();
        let mut lost = Amount::default();
        // A call ends after some packets, and at each packet that is lost.
        while !self.tells_wakeup || self.tx.needs_wakeup() {
            let n_before = self.tx.n_pending();
            if n_before == 0 {
                break;
            }
            // SAFETY: without a buffer.
            let result = unsafe {
                libc::sendto(self.raw_fd(), std::ptr::null(), 0, libc::MSG_DONTWAIT, std::ptr::null(), 0)
            };
            let n_after = self.tx.n_pending();
            if result < 0 {
                let error = io::Error::last_os_error();
                match error.raw_os_error() {
                    Some(libc::EBUSY) if n_after < n_before => {
                        lost.n_packets += 1;
                        lost.n_bytes += self.last_consumed_bytes();
                    }
                    Some(libc::EBUSY | libc::EAGAIN | libc::ENOBUFS | libc::EINTR) => {}
                    _ => return Err(error),
                }
            }
            if n_after == n_before {
                break;
            }
        }
        Ok(lost)
    }

    /// Length of the packet that the kernel consumed last.
    fn last_consumed_bytes(&self) -> u64 {
        let mut pieces = (1..N_ENTRIES).map(|back| self.tx.consumed(back));
        let last = pieces.next().map_or(0, |piece| u64::from(piece.len));
        last + pieces
            .take_while(|piece| piece.options & libc::XDP_PKT_CONTD != 0)
            .map(|piece| u64::from(piece.len))
            .sum::<u64>()
    }

    /// Returns whether the kernel has not consumed all that was written.
    pub(super) fn is_sending(&self) -> bool {
        self.n_sending > 0
    }

    /// Packets that the kernel has not consumed: lost, if the socket closes.
    pub(super) fn unsent(&mut self) -> Amount {
        let mut unsent = Amount::default();
        self.tx.for_each_pending(|piece| {
            unsent.n_bytes += u64::from(piece.len);
            unsent.n_packets += u64::from(piece.options & libc::XDP_PKT_CONTD == 0);
        });
        unsent
    }

    /// Takes frames back that were sent.
    pub(super) fn complete(&mut self, pool: &mut BufPool) {
        let mut n = 0;
        while let Some(address) = self.completion.pop() {
            n += 1;
            if let Some((frame, _)) = self.returned(address) {
                // SAFETY: the kernel has given the frame back, and `returned` has found that it was the kernel's.
                pool.give_back(unsafe { self.region.packet(frame, 0) });
            }
        }
        if n > 0 {
            self.n_sending = self.n_sending.saturating_sub(n);
            self.completion.release();
        }
    }

    /// Packets that the kernel dropped since the last call, because no frame or no entry was free.
    pub(super) fn take_n_dropped(&mut self) -> u64 {
        // SAFETY: numbers only, for which zero is valid.
        let mut counts: libc::xdp_statistics = unsafe { mem::zeroed() };
        if get_option(self.raw_fd(), libc::XDP_STATISTICS, &mut counts).is_err() {
            return 0;
        }
        let n_now = counts.rx_dropped + counts.rx_ring_full;
        n_now.saturating_sub(mem::replace(&mut self.n_dropped, n_now))
    }
}

/// [`bind`], again while the queue is in use for a moment only.
fn bind_patiently(fd: RawFd, interface: i32, queue: u32, copy: XdpCopy) -> io::Result<bool> {
    let begin = Instant::now();
    loop {
        match bind(fd, interface, queue, copy) {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) && begin.elapsed() < BIND_PATIENCE => {
                std::thread::sleep(BIND_PAUSE);
            }
            result => return result,
        }
    }
}

/// Returns whether the kernel tells when it has to be woken.
fn bind(fd: RawFd, interface: i32, queue: u32, copy: XdpCopy) -> io::Result<bool> {
    let copy_flags = match copy {
        XdpCopy::Auto => 0,
        XdpCopy::Copy => libc::XDP_COPY,
        XdpCopy::ZeroCopy => libc::XDP_ZEROCOPY,
    };
    let mut result = Err(io::Error::from_raw_os_error(libc::EINVAL));
    // Packets in several frames need Linux 6.6, calls for wake-ups 5.4.
    for more in [libc::XDP_USE_NEED_WAKEUP | libc::XDP_USE_SG, libc::XDP_USE_NEED_WAKEUP, 0] {
        let address = libc::sockaddr_xdp {
            sxdp_family: libc::AF_XDP as u16,
            sxdp_flags: copy_flags | more,
            sxdp_ifindex: interface as u32,
            sxdp_queue_id: queue,
            sxdp_shared_umem_fd: 0,
        };
        // SAFETY: an address of the family's layout, with its length, which outlives the call.
        let code = unsafe {
            libc::bind(
                fd,
                std::ptr::from_ref(&address).cast(),
                size_of::<libc::sockaddr_xdp>() as libc::socklen_t,
            )
        };
        if code == 0 {
            return Ok(more != 0);
        }
        let error = io::Error::last_os_error();
        let is_refused = matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EOPNOTSUPP));
        result = Err(error);
        if !is_refused {
            break;
        }
    }
    result
}

fn prefer_busy_polling(fd: RawFd) -> io::Result<()> {
    let (us, n_packets) = BUSY_POLL;
    for (option, value) in
        [(SO_PREFER_BUSY_POLL, 1), (libc::SO_BUSY_POLL, us), (SO_BUSY_POLL_BUDGET, n_packets)]
    {
        set_option_of(fd, libc::SOL_SOCKET, option, &value)?;
    }
    Ok(())
}

fn set_option<T: Copy>(fd: RawFd, option: libc::c_int, value: &T) -> io::Result<()> {
    set_option_of(fd, libc::SOL_XDP, option, value)
}

fn set_option_of<T: Copy>(fd: RawFd, level: libc::c_int, option: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: a value without pointers of its own, with its length, which outlives the call.
    let result = unsafe {
        libc::setsockopt(
            fd,
            level,
            option,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn get_option<T: Copy>(fd: RawFd, option: libc::c_int, value: &mut T) -> io::Result<()> {
    let mut n_bytes = size_of::<T>() as libc::socklen_t;
    // SAFETY: room for a value without pointers, with its length.
    let result = unsafe {
        libc::getsockopt(fd, libc::SOL_XDP, option, std::ptr::from_mut(value).cast(), &raw mut n_bytes)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn ring_offsets(fd: RawFd) -> io::Result<libc::xdp_mmap_offsets> {
    // SAFETY: numbers only, for which zero is valid.
    let mut offsets: libc::xdp_mmap_offsets = unsafe { mem::zeroed() };
    get_option(fd, libc::XDP_MMAP_OFFSETS, &mut offsets)?;
    Ok(offsets)
}
