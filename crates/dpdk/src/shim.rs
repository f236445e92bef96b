//! The C shim: its types, and how it is compiled and loaded.

use crate::error::DpdkError;
use crate::installation::Installation;
use native::CompileOptions;
use std::ffi::{c_char, c_int};

const TEXT: &str = include_str!("../c/shim.c");
const ABI: u32 = 1;
const SYMBOL: &[u8] = b"sd_dpdk_shim\0";

/// Packets of one call, at most.
pub(crate) const BURST_MAX: usize = 64;

/// A packet of any number of segments.
#[repr(C)]
pub(crate) struct Mbuf {
    _opaque: [u8; 0],
}

#[repr(C)]
pub(crate) struct RawDevice {
    _opaque: [u8; 0],
}

#[repr(C)]
pub(crate) struct RawQueue {
    _opaque: [u8; 0],
}

/// `struct sd_dpdk_rx`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct RxPacket {
    pub(crate) mbuf: *mut Mbuf,
    pub(crate) start: u32,
    pub(crate) len: u32,
    /// 0 if the packet has to be copied.
    pub(crate) capacity: u32,
    pub(crate) reserved: u32,
}

/// `struct sd_dpdk_tx`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct TxPacket {
    pub(crate) storage: *mut u8,
    pub(crate) start: u32,
    pub(crate) len: u32,
    pub(crate) is_mbuf: u32,
    pub(crate) reserved: u32,
}

/// `struct sd_dpdk_stats`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RawStats {
    pub(crate) missed: u64,
    pub(crate) no_mbuf: u64,
    pub(crate) rx_errors: u64,
    pub(crate) tx_errors: u64,
}

/// `struct sd_dpdk_failure`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct RawFailure {
    pub(crate) step: *const c_char,
    pub(crate) n_queues_max: u32,
    pub(crate) reserved: u32,
}

/// `struct sd_dpdk_shim`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shim {
    abi: u32,
    n_bytes: u32,
    pub(crate) version: unsafe extern "C" fn() -> *const c_char,
    pub(crate) start: unsafe extern "C" fn(c_int, *mut *mut c_char) -> c_int,
    pub(crate) take_log: unsafe extern "C" fn(*mut u8, u32) -> u32,
    pub(crate) enter_thread: unsafe extern "C" fn() -> c_int,
    pub(crate) leave_thread: unsafe extern "C" fn(),
    pub(crate) find_driver: unsafe extern "C" fn(*const c_char) -> c_int,
    pub(crate) open_device: unsafe extern "C" fn(
        *const c_char,
        *const c_char,
        u32,
        *mut *mut RawDevice,
        *mut RawFailure,
    ) -> c_int,
    pub(crate) close_device: unsafe extern "C" fn(*mut RawDevice),
    pub(crate) queue_of: unsafe extern "C" fn(*mut RawDevice, u32) -> *mut RawQueue,
    pub(crate) tx_limit: unsafe extern "C" fn(*const RawDevice) -> u32,
    pub(crate) is_link_up: unsafe extern "C" fn(*const RawDevice) -> c_int,
    pub(crate) get_stats: unsafe extern "C" fn(*const RawDevice, *mut RawStats) -> c_int,
    pub(crate) rx: unsafe extern "C" fn(*mut RawQueue, *mut RxPacket, u32) -> u32,
    pub(crate) tx: unsafe extern "C" fn(*mut RawQueue, *mut TxPacket, u32) -> u32,
    pub(crate) read_packet: unsafe extern "C" fn(*const Mbuf, *mut u8),
    pub(crate) free_packet: unsafe extern "C" fn(*mut Mbuf),
    pub(crate) free_storages: unsafe extern "C" fn(*const *mut u8, u32),
    pub(crate) n_free_mbufs: unsafe extern "C" fn() -> u32,
    pub(crate) run_events: unsafe extern "C" fn(),
    pub(crate) reconnect: unsafe extern "C" fn(),
}

/// Bytes between the beginning of an mbuf and its storage: the size of `struct rte_mbuf`, which is part of DPDK's ABI.
pub(crate) const MBUF_BYTES: usize = 128;

/// Compiles and loads the shim. It stays loaded: threads of EAL run in its libraries.
pub(crate) fn load(installation: &Installation) -> Result<&'static Shim, DpdkError> {
    let options = CompileOptions::default();
    let cached = native::executable::library(TEXT, &installation.flags, &options)
        .map_err(|error| DpdkError::CannotBuild { reason: error.to_string() })?;
    let cannot_load = |reason: String| DpdkError::CannotLoad { object: cached.object.clone(), reason };
    // SAFETY: the object was compiled from the text above and lies in a directory that only its user can write to. The
    // initialisers of DPDK's libraries register drivers and nothing else.
    let library = unsafe { libloading::Library::new(&cached.object) };
    let library = library.map_err(|error| cannot_load(error.to_string()))?;
    // SAFETY: the symbol is a `const struct sd_dpdk_shim`, whose first two numbers tell whether it is ours.
    let shim = unsafe { library.get::<*const Shim>(SYMBOL) }.map(|symbol| *symbol);
    let shim = shim.map_err(|error| cannot_load(error.to_string()))?;
    // SAFETY: see above; all pointers of the table are functions, and it is never unloaded, as `forget` says.
    let shim: &'static Shim = unsafe { &*shim };
    std::mem::forget(library);
    if (shim.abi, shim.n_bytes as usize) != (ABI, size_of::<Shim>()) {
        return Err(cannot_load("it is of another version".to_owned()));
    }
    Ok(shim)
}
