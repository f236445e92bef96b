//! Where packets enter and leave.

use crate::{BufPool, InterfaceError, PacketBuf, PortStats, ReadError, WriteError};
use std::fmt;
use std::os::fd::RawFd;

/// A port as the program and the control plane number it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PortId(pub u32);

impl fmt::Display for PortId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Whether packets can pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    Up,
    /// The interface is there, but switched off or without a link.
    Down,
    /// There is no interface of that name (any more).
    Gone,
}

/// A place from which bursts of packets are received and to which they are sent.
///
/// A worker's loop calls [`Port::rx_burst`] of each of its ports, [`Port::tx_burst`] with what is to be sent,
/// and [`Port::idle`] of ports that gave nothing. Nothing here waits: with nothing to do anywhere, the worker
/// polls [`Port::fd`] of its ports.
pub trait Port: fmt::Debug + Send {
    fn id(&self) -> PortId;

    /// Appends up to `n_max` waiting packets to `burst` and gives their number; 0 when none is waiting.
    /// Packets that came before an error are delivered first, the error by the next call.
    fn rx_burst(
        &mut self,
        pool: &mut BufPool,
        burst: &mut Vec<PacketBuf>,
        n_max: usize,
    ) -> Result<usize, PortError>;

    /// Sends the packets of `burst`, empties it and gives back the buffers; the result is how many were sent.
    /// Each of the others is in one of the counts of [`PortStats::tx_dropped`].
    fn tx_burst(&mut self, pool: &mut BufPool, burst: &mut Vec<PacketBuf>) -> Result<usize, PortError>;

    /// What there is to do now and then: looking whether a lost interface is back, flushing. Costs little when
    /// called often.
    fn idle(&mut self) -> Result<(), PortError> {
        Ok(())
    }

    fn link_state(&self) -> LinkState {
        LinkState::Up
    }

    /// What to poll for input, where there is such a thing. Changes when a lost interface comes back, so ask
    /// again after [`Port::idle`].
    fn fd(&self) -> Option<RawFd> {
        None
    }

    /// All counts since the port was opened.
    fn stats(&mut self) -> PortStats;

    /// True when nothing more will ever be received, as with a file that was read to its end.
    fn is_exhausted(&self) -> bool {
        false
    }

    /// Why packets are no longer copied into capture files, from the moment on when that is so.
    fn capture_error(&self) -> Option<String> {
        None
    }

    /// Makes sure that what was sent is where others can see it.
    fn flush(&mut self) -> Result<(), PortError> {
        Ok(())
    }
}

/// What a port can fail with. The port is of no more use then.
#[derive(Debug)]
pub enum PortError {
    Read(ReadError),
    Write(WriteError),
    Interface(InterfaceError),
}

impl fmt::Display for PortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PortError::Read(e) => e.fmt(f),
            PortError::Write(e) => e.fmt(f),
            PortError::Interface(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for PortError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            PortError::Read(e) => Some(e),
            PortError::Write(e) => Some(e),
            PortError::Interface(e) => Some(e),
        }
    }
}

impl From<ReadError> for PortError {
    fn from(e: ReadError) -> PortError {
        PortError::Read(e)
    }
}

impl From<WriteError> for PortError {
    fn from(e: WriteError) -> PortError {
        PortError::Write(e)
    }
}

impl From<InterfaceError> for PortError {
    fn from(e: InterfaceError) -> PortError {
        PortError::Interface(e)
    }
}
