//! Mbufs as packet buffers.

use crate::host;
use packet_io::FrameSource;
use std::ptr::NonNull;

/// The storage of mbufs of one segment: private bytes, headroom, data.
#[derive(Debug)]
pub(crate) struct Mbufs;

pub(crate) static MBUFS: Mbufs = Mbufs;

// SAFETY: a storage is part of an mbuf, and an mbuf that is free is used by the pool that it came from and by nobody else. Pools
// live as long as the process.
unsafe impl FrameSource for Mbufs {
    fn release(&self, frames: &[NonNull<u8>]) {
        // Without a host nobody has got a frame.
        let Some(shim) = host::shim() else { return };
        // SAFETY: frames of this source are storages of mbufs; `NonNull` is a pointer, and C only reads the array.
        unsafe { (shim.free_storages)(frames.as_ptr().cast(), frames.len() as u32) }
    }
}
