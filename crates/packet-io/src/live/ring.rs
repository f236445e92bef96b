//! Receive rings of AF_PACKET sockets, which the kernel fills without a system call for the receiver: TPACKET_V2 of
//! Documentation/networking/packet_mmap.rst.
//!
//! Not TPACKET_V3, whose packets wait until a block is full or a timer of at least a millisecond has run out.

use super::offload::{VNET_HDR_BYTES, VirtioNetHdr, VlanTag};
use super::socket::{PacketSocket, Received};
use libc::{sockaddr_ll, tpacket2_hdr};
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A frame holds a packet of 1514 bytes with its tags; longer ones come through the socket.
const FRAME_BYTES: usize = 2048;
const BLOCK_BYTES: usize = 1 << 16;
const FRAMES_PER_BLOCK: usize = BLOCK_BYTES / FRAME_BYTES;

/// A ring in memory that the kernel shares, from the time before the socket is bound until it is closed.
#[derive(Debug)]
pub(super) struct RxRing {
    socket: Arc<PacketSocket>,
    memory: NonNull<u8>,
    n_frames: usize,
    /// The frame of the next packet.
    next: usize,
}

// SAFETY: the memory belongs to the value, and the kernel does not care which thread reads it.
unsafe impl Send for RxRing {}

/// A received packet in the ring.
pub(super) struct Frame<'a> {
    pub(super) received: Received,
    pub(super) timestamp_ns: u64,
    pub(super) rest: Rest<'a>,
}

/// The bytes of a packet, or the place where they are.
pub(super) enum Rest<'a> {
    /// All of them.
    Here(&'a [u8]),
    /// The packet is longer than a frame: it is the next one of the socket's queue.
    InSocket,
    /// The packet is longer than a frame, and the socket's queue was full.
    Lost,
}

impl RxRing {
    /// Maps a ring of about that size for a socket that is not bound yet.
    pub(super) fn map(socket: &Arc<PacketSocket>, n_bytes: usize) -> io::Result<RxRing> {
        let n_blocks = (n_bytes / BLOCK_BYTES).max(1);
        socket.make_ring(&libc::tpacket_req {
            tp_block_size: BLOCK_BYTES as libc::c_uint,
            tp_block_nr: n_blocks as libc::c_uint,
            tp_frame_size: FRAME_BYTES as libc::c_uint,
            tp_frame_nr: (n_blocks * FRAMES_PER_BLOCK) as libc::c_uint,
        })?;
        let (n_bytes, access) = (n_blocks * BLOCK_BYTES, libc::PROT_READ | libc::PROT_WRITE);
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        // SAFETY: a new mapping at an address that the kernel chooses; the result is checked.
        let memory = unsafe { libc::mmap(std::ptr::null_mut(), n_bytes, access, flags, socket.raw_fd(), 0) };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory = NonNull::new(memory.cast()).ok_or_else(io::Error::last_os_error)?;
        Ok(RxRing { socket: Arc::clone(socket), memory, n_frames: n_blocks * FRAMES_PER_BLOCK, next: 0 })
    }

    pub(super) fn is_of(&self, socket: &Arc<PacketSocket>) -> bool {
        Arc::ptr_eq(&self.socket, socket)
    }

    fn header(&self) -> NonNull<tpacket2_hdr> {
        // SAFETY: `next` is less than the number of frames in the mapping, whose pages and frames are aligned for it.
        unsafe { self.memory.add(self.next * FRAME_BYTES) }.cast()
    }

    fn status(&self) -> &AtomicU32 {
        // SAFETY: `tp_status` is the first field of the header, and the kernel and this process access it atomically.
        unsafe { AtomicU32::from_ptr(self.header().as_ptr().cast()) }
    }

    /// The next packet, if one has come.
    pub(super) fn peek(&self) -> Option<Frame<'_>> {
        // Pairs with the kernel's barrier: with the bit, all of the frame is written.
        let status = self.status().load(Ordering::Acquire);
        if status & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: the frame is this process's until it is released. It begins with the header, behind which the address is at
        // its aligned place.
        let (header, address) = unsafe {
            let header = self.header();
            let address = header.byte_add(size_of::<tpacket2_hdr>()).cast::<sockaddr_ll>();
            (header.read(), address.read())
        };
        let (start, n_bytes) = (usize::from(header.tp_mac), header.tp_snaplen as usize);
        let is_whole = header.tp_len == header.tp_snaplen;
        let is_inside = start >= VNET_HDR_BYTES && start + n_bytes <= FRAME_BYTES;
        // SAFETY: the frame is this process's until it is released, which borrows the ring exclusively; the kernel has put the
        // packet, and the header of its offloads before it, inside of the frame (checked). That header may be unaligned.
        let (vnet, bytes) = unsafe {
            let at = self.header().cast::<u8>().add(if is_inside { start } else { VNET_HDR_BYTES });
            let n_bytes = if is_inside { n_bytes } else { 0 };
            let vnet = at.sub(VNET_HDR_BYTES).cast::<VirtioNetHdr>().read_unaligned();
            (vnet, std::slice::from_raw_parts(at.as_ptr(), n_bytes))
        };
        let has = |flag: u32| status & flag != 0;
        let tpid = if has(libc::TP_STATUS_VLAN_TPID_VALID) { header.tp_vlan_tpid } else { 0x8100 };
        let rest = match (is_whole && is_inside, has(libc::TP_STATUS_COPY)) {
            (true, _) => Rest::Here(bytes),
            (false, true) => Rest::InSocket,
            (false, false) => Rest::Lost,
        };
        Some(Frame {
            received: Received {
                n_bytes,
                is_cut: false,
                vnet,
                vlan: has(libc::TP_STATUS_VLAN_VALID).then_some(VlanTag { tpid, tci: header.tp_vlan_tci }),
                is_outgoing: address.sll_pkttype == libc::PACKET_OUTGOING,
            },
            timestamp_ns: u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec),
            rest,
        })
    }

    /// Gives the frame of the next packet back to the kernel.
    pub(super) fn release(&mut self) {
        // Pairs with the kernel's barrier: the frame is not read any more.
        self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = if self.next + 1 == self.n_frames { 0 } else { self.next + 1 };
    }
}

impl Drop for RxRing {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this length, and nothing refers to it any more.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.n_frames * FRAME_BYTES) };
    }
}
