//! Memory for packets that a kernel or a driver can reach too.

use std::fmt;
use std::ptr::NonNull;

/// Frames: memory for one packet each, of a size that all frames of the source have. Ports that share a source pass packets on
/// without a copy: the receiving port makes a [`PacketBuf`](crate::PacketBuf) from a frame, and the sending port takes the frame
/// out of it.
///
/// # Safety
///
/// [`release`](Self::release) makes frames that it got free for other uses, and touches no other memory. Values live as long as the
/// process.
pub unsafe trait FrameSource: fmt::Debug + Sync {
    /// Takes frames back, by the addresses of their first bytes. Callers own them and use them no more.
    fn release(&self, frames: &[NonNull<u8>]);

    /// Returns whether [pools](crate::BufPool) keep free frames, so that the ports of their worker get them without asking the source.
    /// At most one source of a process is pooled.
    fn is_pooled(&self) -> bool {
        false
    }
}
