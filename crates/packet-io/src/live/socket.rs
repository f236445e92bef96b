//! AF_PACKET sockets: packet(7), Documentation/networking/packet_mmap.rst and net/packet/af_packet.c.

use super::offload::{VNET_HDR_BYTES, VirtioNetHdr, VlanTag};
use crate::PacketBuf;
use crate::limits::BURST_MAX;
use std::io;
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Room behind the buffer for longer packets: the maximum of a merged packet.
pub(super) const OVERFLOW_BYTES: usize = 1 << 16;

/// Kind of fan-out groups: a hash of the flow chooses the socket.
///
/// Without PACKET_FANOUT_FLAG_ROLLOVER, which would let packets of a flow overtake each other in another socket when one
/// is full, and without PACKET_FANOUT_FLAG_DEFRAG: programs see fragments as they arrive.
const FANOUT: u32 = libc::PACKET_FANOUT_HASH | libc::PACKET_FANOUT_FLAG_IGNORE_OUTGOING;

/// Metadata of a received packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Received {
    /// Number of bytes in the buffer and, beyond its length, in the overflow.
    pub(super) n_bytes: usize,
    /// True if the packet exceeded the overflow too.
    pub(super) is_cut: bool,
    pub(super) vnet: VirtioNetHdr,
    pub(super) vlan: Option<VlanTag>,
    /// Sent by this machine. Kernels without PACKET_FANOUT_FLAG_IGNORE_OUTGOING deliver such packets to fan-out groups.
    pub(super) is_outgoing: bool,
}

/// Room for one `tpacket_auxdata` with its header.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; 64]);

// SAFETY: arithmetic only.
const _: () = assert!(
    unsafe { libc::CMSG_SPACE(size_of::<libc::tpacket_auxdata>() as u32) } as usize <= size_of::<Control>()
);

/// A socket that receives exactly the packets that arrive at one interface.
#[derive(Debug)]
pub(super) struct PacketSocket {
    fd: OwnedFd,
}

/// The step of opening a socket that failed.
pub(super) struct FailedStep {
    pub(super) step: &'static str,
    pub(super) error: io::Error,
}

impl PacketSocket {
    /// Opens a socket, which receives nothing until it is [bound](Self::bind), and unless `is_open` not before
    /// [`open_to_packets`](Self::open_to_packets) either.
    pub(super) fn open(
        buffer_bytes: usize,
        is_qdisc_bypassed: bool,
        is_open: bool,
    ) -> Result<PacketSocket, FailedStep> {
        const KIND: libc::c_int = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        let failed = |step| FailedStep { step, error: io::Error::last_os_error() };
        // Protocol 0: the socket receives nothing until it is bound to its interface.
        // SAFETY: without pointers.
        let fd = unsafe { libc::socket(libc::AF_PACKET, KIND, 0) };
        if fd < 0 {
            return Err(failed("open a packet socket"));
        }
        // SAFETY: `fd` was just opened and has no other owner.
        let socket = PacketSocket { fd: unsafe { OwnedFd::from_raw_fd(fd) } };

        let options = [
            (libc::PACKET_VNET_HDR, "see offloads (PACKET_VNET_HDR)"),
            (libc::PACKET_AUXDATA, "see VLAN tags (PACKET_AUXDATA)"),
            (libc::PACKET_IGNORE_OUTGOING, "ignore what is sent (PACKET_IGNORE_OUTGOING, Linux 4.20)"),
        ];
        for (option, step) in options {
            socket.set(libc::SOL_PACKET, option, &1i32).map_err(|error| FailedStep { step, error })?;
        }
        if is_qdisc_bypassed {
            socket
                .set(libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1i32)
                .map_err(|error| FailedStep { step: "bypass its queue (PACKET_QDISC_BYPASS)", error })?;
        }
        socket.set_buffer((libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), buffer_bytes);
        socket.set_send_bytes(buffer_bytes);
        if !is_open {
            socket.close_to_packets().map_err(|error| FailedStep { step: "filter its packets", error })?;
        }
        Ok(socket)
    }

    /// Receives from the interface from now on, packets for all addresses.
    pub(super) fn bind(&self, ifindex: i32) -> Result<(), FailedStep> {
        let promiscuous = libc::packet_mreq {
            mr_ifindex: ifindex,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        self.set(libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &promiscuous)
            .map_err(|error| FailedStep { step: "receive packets for all addresses", error })?;

        let mut address = no_address();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = ifindex;
        // SAFETY: the address is of the kind and length that are named, and outlives the call.
        let result = unsafe {
            let len_bytes = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
            libc::bind(self.raw_fd(), (&raw const address).cast(), len_bytes)
        };
        if result < 0 {
            return Err(FailedStep { step: "bind a packet socket to it", error: io::Error::last_os_error() });
        }
        Ok(())
    }

    pub(super) fn raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// Makes a ring of TPACKET_V2 for received packets, to be mapped, before the socket is bound. Packets that are longer than a
    /// frame come through [`receive`](Self::receive).
    pub(super) fn make_ring(&self, request: &libc::tpacket_req) -> io::Result<()> {
        self.set(libc::SOL_PACKET, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V2 as i32))?;
        self.set(libc::SOL_PACKET, libc::PACKET_COPY_THRESH, &1i32)?;
        self.set(libc::SOL_PACKET, libc::PACKET_RX_RING, request)
    }

    /// Takes the error for which the socket would be ready for reading again and again.
    pub(super) fn take_error(&self) -> io::Result<()> {
        let (mut error, mut len_bytes) = (0i32, size_of::<i32>() as libc::socklen_t);
        // SAFETY: `error` is writable for the length that is named, and the kernel writes no more.
        let result = unsafe {
            libc::getsockopt(
                self.raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_ERROR,
                (&raw mut error).cast(),
                &raw mut len_bytes,
            )
        };
        match (result, error) {
            (0, 0) => Ok(()),
            (0, error) => Err(io::Error::from_raw_os_error(error)),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Drops all packets that come.
    fn close_to_packets(&self) -> io::Result<()> {
        // The program of one instruction that takes no byte of a packet: BPF_RET | BPF_K of linux/bpf_common.h.
        let mut drop_all = libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: 0 };
        let filter = libc::sock_fprog { len: 1, filter: &raw mut drop_all };
        self.set(libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &filter)
    }

    /// Lets packets in again.
    pub(super) fn open_to_packets(&self) -> io::Result<()> {
        self.set(libc::SOL_SOCKET, libc::SO_DETACH_FILTER, &0i32)
    }

    /// Makes a fan-out group with this socket in it. Returns the group's number, which nobody else has.
    pub(super) fn make_fanout(&self) -> io::Result<u16> {
        let kind = FANOUT | libc::PACKET_FANOUT_FLAG_UNIQUEID;
        self.set(libc::SOL_PACKET, libc::PACKET_FANOUT, &(kind << 16))?;
        let (mut joined, mut len_bytes) = (0u32, size_of::<u32>() as libc::socklen_t);
        // SAFETY: `joined` is writable for the length that is named, and the kernel writes no more.
        let result = unsafe {
            libc::getsockopt(
                self.raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_FANOUT,
                (&raw mut joined).cast(),
                &raw mut len_bytes,
            )
        };
        // The number is in the lower half.
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(joined as u16) }
    }

    /// Joins the fan-out group of that number, which is of the same interface.
    pub(super) fn join_fanout(&self, group: u16) -> io::Result<()> {
        self.set(libc::SOL_PACKET, libc::PACKET_FANOUT, &(FANOUT << 16 | u32::from(group)))
    }

    fn set<T: Copy>(&self, level: i32, option: i32, value: &T) -> io::Result<()> {
        let len_bytes = size_of::<T>() as libc::socklen_t;
        // SAFETY: `value` is readable for its size, which is named, during the call.
        let result = unsafe {
            libc::setsockopt(self.raw_fd(), level, option, std::ptr::from_ref(value).cast(), len_bytes)
        };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Returns the number of packets that the kernel dropped since the last call because the socket's queue
    /// was full.
    pub(super) fn take_n_dropped(&self) -> u64 {
        let mut stats = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut len_bytes = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        // SAFETY: `stats` is writable for the length that is named, and the kernel writes no more.
        let result = unsafe {
            libc::getsockopt(
                self.raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut stats).cast(),
                &raw mut len_bytes,
            )
        };
        if result < 0 { 0 } else { u64::from(stats.tp_drops) }
    }

    /// Receives at most one packet per buffer, and at most [`BURST_MAX`]. Each buffer must have its full
    /// length; `overflows` has [`OVERFLOW_BYTES`] for each. Appends the metadata to `received`, with
    /// [`Received::is_outgoing`] if `wants_origin`. Returns the error `WouldBlock` if no packet is waiting.
    pub(super) fn receive(
        &self,
        wants_origin: bool,
        bufs: &mut [PacketBuf],
        overflows: &mut [u8],
        received: &mut Vec<Received>,
    ) -> io::Result<()> {
        // Only the entries for the given buffers are initialised, because most calls find few packets or
        // none.
        let mut messages = [const { MaybeUninit::<libc::mmsghdr>::uninit() }; BURST_MAX];
        let mut parts = [const { MaybeUninit::<[libc::iovec; 3]>::uninit() }; BURST_MAX];
        let mut headers = [VirtioNetHdr::default(); BURST_MAX];
        let mut controls = [const { MaybeUninit::<Control>::uninit() }; BURST_MAX];
        let mut addresses = [const { MaybeUninit::<libc::sockaddr_ll>::uninit() }; BURST_MAX];

        let mut n = 0;
        for (buf, overflow) in bufs.iter_mut().zip(overflows.chunks_exact_mut(OVERFLOW_BYTES)).take(BURST_MAX)
        {
            let header = part((&raw mut headers[n]).cast(), VNET_HDR_BYTES);
            let parts = parts[n].write([header, bytes(buf.data_mut()), bytes(overflow)]);
            let message = &mut messages[n].write(no_message()).msg_hdr;
            message.msg_iov = parts.as_mut_ptr();
            message.msg_iovlen = parts.len() as _;
            message.msg_control = controls[n].as_mut_ptr().cast();
            message.msg_controllen = size_of::<Control>() as _;
            if wants_origin {
                message.msg_name = std::ptr::from_mut(addresses[n].write(no_address())).cast();
                message.msg_namelen = size_of::<libc::sockaddr_ll>() as _;
            }
            n += 1;
        }
        // SAFETY: the first `n` messages were filled above with pointers to places that are distinct, writable
        // for the lengths given, and alive until the end of this function; nothing else uses them meanwhile.
        let result = unsafe {
            libc::recvmmsg(
                self.raw_fd(),
                messages.as_mut_ptr().cast(),
                n as libc::c_uint,
                libc::MSG_DONTWAIT as _,
                std::ptr::null_mut(),
            )
        };
        let n_received = usize::try_from(result).map_err(|_| io::Error::last_os_error())?;
        for (i, (message, vnet)) in messages[..n].iter().zip(headers).take(n_received).enumerate() {
            // SAFETY: the first `n` were filled above.
            let message = unsafe { message.assume_init_ref() };
            // SAFETY: the first `n` were filled above if they are wanted.
            let is_outgoing = wants_origin
                && unsafe { addresses[i].assume_init_ref() }.sll_pkttype == libc::PACKET_OUTGOING;
            received.push(Received {
                n_bytes: (message.msg_len as usize).saturating_sub(VNET_HDR_BYTES),
                is_cut: message.msg_hdr.msg_flags & libc::MSG_TRUNC != 0,
                vnet,
                vlan: vlan_tag(&message.msg_hdr),
                is_outgoing,
            });
        }
        Ok(())
    }

    /// Bytes of packets that were sent and that the link has not taken yet.
    pub(super) fn set_send_bytes(&self, n_bytes: usize) {
        self.set_buffer((libc::SO_SNDBUFFORCE, libc::SO_SNDBUF), n_bytes);
    }

    fn set_buffer(&self, (force, limited): (i32, i32), n_bytes: usize) {
        let n_bytes = i32::try_from(n_bytes).unwrap_or(i32::MAX);
        if self.set(libc::SOL_SOCKET, force, &n_bytes).is_err() {
            // Without the privilege, the system limit applies: slower, but correct.
            let _ = self.set(libc::SOL_SOCKET, limited, &n_bytes);
        }
    }

    /// Sends packets in order, at most [`BURST_MAX`]. Returns the number of packets accepted; an error
    /// concerns the first packet.
    pub(super) fn send(&self, packets: &[PacketBuf]) -> io::Result<usize> {
        // All zero: no offload is requested.
        static HEADER: [u8; VNET_HDR_BYTES] = [0; VNET_HDR_BYTES];
        let mut messages = [const { MaybeUninit::<libc::mmsghdr>::uninit() }; BURST_MAX];
        let mut parts = [const { MaybeUninit::<[libc::iovec; 2]>::uninit() }; BURST_MAX];
        let n = packets.len().min(BURST_MAX);
        for (i, packet) in packets[..n].iter().enumerate() {
            let data = packet.data();
            let header = part(HEADER.as_ptr().cast_mut(), HEADER.len());
            let parts = parts[i].write([header, part(data.as_ptr().cast_mut(), data.len())]);
            let message = &mut messages[i].write(no_message()).msg_hdr;
            message.msg_iov = parts.as_mut_ptr();
            message.msg_iovlen = parts.len() as _;
        }
        // SAFETY: the first `n` messages were filled above with pointers to places that are readable for the
        // lengths given and alive until the end of this function; sending only reads them.
        let result = unsafe {
            libc::sendmmsg(
                self.raw_fd(),
                messages.as_mut_ptr().cast(),
                n as libc::c_uint,
                libc::MSG_DONTWAIT as _,
            )
        };
        usize::try_from(result).map_err(|_| io::Error::last_os_error())
    }
}

fn no_message() -> libc::mmsghdr {
    // SAFETY: numbers and pointers that may be null.
    unsafe { mem::zeroed() }
}

fn no_address() -> libc::sockaddr_ll {
    // SAFETY: numbers and arrays of them.
    unsafe { mem::zeroed() }
}

fn part(base: *mut u8, len: usize) -> libc::iovec {
    libc::iovec { iov_base: base.cast(), iov_len: len }
}

fn bytes(bytes: &mut [u8]) -> libc::iovec {
    part(bytes.as_mut_ptr(), bytes.len())
}

/// Returns the tag that the kernel removed from a packet, from the packet's control message.
fn vlan_tag(message: &libc::msghdr) -> Option<VlanTag> {
    // SAFETY: the kernel has filled the control buffer that `message` points to, up to the length that it has
    // put there; the macros stay within that. The data of this kind of header is a `tpacket_auxdata`, checked
    // for its length, and need not be aligned.
    let auxdata = unsafe {
        let mut at = libc::CMSG_FIRSTHDR(message);
        loop {
            let header = at.as_ref()?;
            let is_auxdata = header.cmsg_level == libc::SOL_PACKET
                && header.cmsg_type == libc::PACKET_AUXDATA
                && header.cmsg_len as usize
                    >= libc::CMSG_LEN(size_of::<libc::tpacket_auxdata>() as u32) as usize;
            if is_auxdata {
                break libc::CMSG_DATA(at).cast::<libc::tpacket_auxdata>().read_unaligned();
            }
            at = libc::CMSG_NXTHDR(message, at);
        }
    };
    let has = |flag: u32| auxdata.tp_status & flag != 0;
    let tpid = if has(libc::TP_STATUS_VLAN_TPID_VALID) { auxdata.tp_vlan_tpid } else { 0x8100 };
    has(libc::TP_STATUS_VLAN_VALID).then_some(VlanTag { tpid, tci: auxdata.tp_vlan_tci })
}
