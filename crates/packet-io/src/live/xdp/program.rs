//! XDP programs, loaded with bpf(2): one hands packets of an interface to sockets, one sends them out of another interface.
//!
//! Numbers and layouts are those of linux/bpf.h.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

const BPF_MAP_CREATE: libc::c_int = 0;
const BPF_MAP_UPDATE_ELEM: libc::c_int = 2;
const BPF_PROG_LOAD: libc::c_int = 5;
const BPF_LINK_CREATE: libc::c_int = 28;
const BPF_LINK_DETACH: libc::c_int = 34;

const BPF_MAP_TYPE_XSKMAP: u32 = 17;
const BPF_PROG_TYPE_XDP: u32 = 6;
const BPF_XDP: u32 = 37;
const BPF_F_XDP_HAS_FRAGS: u32 = 1 << 5;
const XDP_FLAGS_SKB_MODE: u32 = 1 << 1;

const XDP_PASS: i32 = 2;
const BPF_FUNC_REDIRECT: i32 = 23;
const BPF_FUNC_REDIRECT_MAP: i32 = 51;
/// Offset of `rx_queue_index` in `struct xdp_md`.
const RX_QUEUE_INDEX: i16 = 16;
const BPF_PSEUDO_MAP_FD: u8 = 1;

/// `struct bpf_insn`: operation, registers (destination in the low half), offset, constant.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Instruction {
    code: u8,
    registers: u8,
    offset: i16,
    constant: i32,
}

const fn instruction(code: u8, to: u8, from: u8, offset: i16, constant: i32) -> Instruction {
    Instruction { code, registers: to | from << 4, offset, constant }
}

const LOAD_32: u8 = 0x61;
const LOAD_CONSTANT_64: u8 = 0x18;
const MOVE_CONSTANT: u8 = 0xb7;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;

/// `return bpf_redirect_map(&map, ctx->rx_queue_index, XDP_PASS)`: queues without a socket belong to the system.
fn to_sockets(map: RawFd) -> [Instruction; 6] {
    [
        instruction(LOAD_32, 2, 1, RX_QUEUE_INDEX, 0),
        instruction(LOAD_CONSTANT_64, 1, BPF_PSEUDO_MAP_FD, 0, map),
        instruction(0, 0, 0, 0, 0),
        instruction(MOVE_CONSTANT, 3, 0, 0, XDP_PASS),
        instruction(CALL, 0, 0, 0, BPF_FUNC_REDIRECT_MAP),
        instruction(EXIT, 0, 0, 0, 0),
    ]
}

/// `return bpf_redirect(interface, 0)`.
pub(super) fn to_interface(interface: i32) -> [Instruction; 4] {
    [
        instruction(MOVE_CONSTANT, 1, 0, 0, interface),
        instruction(MOVE_CONSTANT, 2, 0, 0, 0),
        instruction(CALL, 0, 0, 0, BPF_FUNC_REDIRECT),
        instruction(EXIT, 0, 0, 0, 0),
    ]
}

/// Calls bpf(2) with the members of `union bpf_attr` that the command reads.
fn bpf<T>(command: libc::c_int, attributes: &mut T) -> io::Result<libc::c_int> {
    // SAFETY: all attributes in this file are plain numbers in the layout of `union bpf_attr`, padded to 64 bits; the kernel
    // takes members beyond the given size as zero. Addresses in them are those of arrays that outlive the call.
    let result = unsafe {
        libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(attributes), size_of::<T>() as libc::c_uint)
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as libc::c_int) }
}

fn owned(fd: libc::c_int) -> OwnedFd {
    // SAFETY: the kernel has just opened it, and nobody else owns it.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

#[derive(Debug)]
#[repr(C)]
struct MapCreate {
    map_type: u32,
    key_bytes: u32,
    value_bytes: u32,
    n_entries_max: u32,
    flags: u32,
    inner_map: u32,
}

#[derive(Debug)]
#[repr(C)]
struct MapUpdate {
    map: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[derive(Debug)]
#[repr(C)]
struct ProgramLoad {
    program_type: u32,
    n_instructions: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
    interface: u32,
    attach_type: u32,
}

#[derive(Debug)]
#[repr(C)]
struct LinkCreate {
    program: u32,
    interface: u32,
    attach_type: u32,
    flags: u32,
}

#[derive(Debug)]
#[repr(C)]
struct LinkDetach {
    link: u32,
    padding: u32,
}

/// A program on an interface. It comes off with the value, and when the process ends in any way.
#[derive(Debug)]
pub(super) struct Link(OwnedFd);

impl Drop for Link {
    fn drop(&mut self) {
        // Closing alone is not enough: a child that was forked a moment ago has the descriptor too, until it runs its program.
        let mut attributes = LinkDetach { link: self.0.as_raw_fd() as u32, padding: 0 };
        // Kernels before 5.9 cannot; there the program stays until the child closes the descriptor.
        let _ = bpf(BPF_LINK_DETACH, &mut attributes);
    }
}

/// The program that hands packets of an interface to sockets.
#[derive(Debug)]
pub(super) struct Redirect {
    map: OwnedFd,
    _link: Link,
}

impl Redirect {
    /// Attaches the program to the interface. With `is_generic` the kernel runs it behind the driver, which works everywhere and
    /// is slower. Fails with `EBUSY` or `EEXIST` if the interface has another program.
    pub(super) fn attach(interface: i32, n_queues_max: u32, is_generic: bool) -> io::Result<Redirect> {
        let mut attributes = MapCreate {
            map_type: BPF_MAP_TYPE_XSKMAP,
            key_bytes: 4,
            value_bytes: 4,
            n_entries_max: n_queues_max,
            flags: 0,
            inner_map: 0,
        };
        let map = owned(bpf(BPF_MAP_CREATE, &mut attributes)?);
        let program = load(&to_sockets(map.as_raw_fd()))?;
        let link = link(&program, interface, is_generic)?;
        Ok(Redirect { map, _link: link })
    }

    /// From now on packets of the queue go to the socket.
    pub(super) fn set_socket(&self, queue: u32, socket: RawFd) -> io::Result<()> {
        let mut attributes = MapUpdate {
            map: self.map.as_raw_fd() as u32,
            padding: 0,
            key: std::ptr::from_ref(&queue).expose_provenance() as u64,
            value: std::ptr::from_ref(&socket).expose_provenance() as u64,
            flags: 0,
        };
        bpf(BPF_MAP_UPDATE_ELEM, &mut attributes).map(drop)
    }
}

/// Attaches a program to an interface.
pub(super) fn link(program: &OwnedFd, interface: i32, is_generic: bool) -> io::Result<Link> {
    let mut attributes = LinkCreate {
        program: program.as_raw_fd() as u32,
        interface: interface as u32,
        attach_type: BPF_XDP,
        flags: if is_generic { XDP_FLAGS_SKB_MODE } else { 0 },
    };
    bpf(BPF_LINK_CREATE, &mut attributes).map(|fd| Link(owned(fd)))
}

/// Loads a program, where the kernel can with leave to see packets in several pieces.
pub(super) fn load(instructions: &[Instruction]) -> io::Result<OwnedFd> {
    let mut name = [0; 16];
    name[..6].copy_from_slice(b"siding");
    // The program calls no function that the kernel keeps for programs under its own license.
    let license = c"Apache-2.0";
    let mut result = Err(io::Error::from_raw_os_error(libc::EINVAL));
    for flags in [BPF_F_XDP_HAS_FRAGS, 0] {
        let mut attributes = ProgramLoad {
            program_type: BPF_PROG_TYPE_XDP,
            n_instructions: instructions.len() as u32,
            instructions: instructions.as_ptr().expose_provenance() as u64,
            license: license.as_ptr().expose_provenance() as u64,
            log_level: 0,
            log_bytes: 0,
            log: 0,
            kernel_version: 0,
            flags,
            name,
            interface: 0,
            attach_type: BPF_XDP,
        };
        result = bpf(BPF_PROG_LOAD, &mut attributes).map(owned);
        if result.as_ref().err().and_then(io::Error::raw_os_error) != Some(libc::EINVAL) {
            break;
        }
    }
    result
}
