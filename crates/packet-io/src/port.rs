//! The trait of all ports, through which a switch receives and sends packets.

use crate::{BufPool, InterfaceError, PacketBuf, PortStats, ReadError, WriteError};
use std::fmt;
use std::os::fd::RawFd;

/// Number of a port in the program and the control plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PortId(pub u32);

impl fmt::Display for PortId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Link state of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    Up,
    /// The interface exists, but is switched off or has no link.
    Down,
    /// No interface has that name, or no longer.
    Gone,
}

/// A port that receives and sends bursts of packets.
///
/// A worker's loop calls [`Port::rx_burst`] of each of its ports, [`Port::tx_burst`] with the packets to
/// send, and [`Port::idle`] of ports that received nothing. No call blocks: an idle worker polls [`Port::fd`]
/// of its ports.
pub trait Port: fmt::Debug + Send {
    fn id(&self) -> PortId;

    /// Appends up to `n_max` waiting packets to `burst` and returns their number, 0 if none is waiting.
    /// Packets before an error are delivered first; the next call returns the error.
    fn rx_burst(
        &mut self,
        pool: &mut BufPool,
        burst: &mut Vec<PacketBuf>,
        n_max: usize,
    ) -> Result<usize, PortError>;

    /// Sends the packets of `burst`, empties it and returns the buffers to the pool. Returns the number of
    /// packets sent; each other packet is in one of the counts of [`PortStats::tx_dropped`]. With [back
    /// pressure](Self::set_back_pressure) packets that the link does not take yet stay in `burst`.
    fn tx_burst(&mut self, pool: &mut BufPool, burst: &mut Vec<PacketBuf>) -> Result<usize, PortError>;

    /// With back pressure the port keeps little itself, and leaves to its caller what the link does not take yet. Ports that
    /// cannot tell drop it in either case.
    fn set_back_pressure(&mut self, is_wanted: bool) {
        let _ = is_wanted;
    }

    /// Does periodic work, such as flushing files and checking if a lost interface is back. Frequent calls
    /// are cheap.
    fn idle(&mut self) -> Result<(), PortError> {
        Ok(())
    }

    fn link_state(&self) -> LinkState {
        LinkState::Up
    }

    /// The longest frame that the link takes, in bytes without VLAN tag and check sequence, if the port knows it.
    fn frame_bytes_max(&self) -> Option<usize> {
        None
    }

    /// File descriptor to poll for input, if the port has one. It changes when a lost interface returns, so
    /// ask again after [`Port::idle`].
    fn fd(&self) -> Option<RawFd> {
        None
    }

    /// All counts since the port was opened.
    fn stats(&mut self) -> PortStats;

    /// Returns true when no more packets will be received, for example at the end of a file.
    fn is_exhausted(&self) -> bool {
        false
    }

    /// Why this kind of port was opened and not the one that was wanted first, if so.
    fn fallback(&self) -> Option<&str> {
        None
    }

    /// Why there is no link, if the port knows more than that.
    fn down_reason(&self) -> Option<String> {
        None
    }

    /// Error that ended the capture of packets into files, if any.
    fn capture_error(&self) -> Option<String> {
        None
    }

    /// Flushes sent packets, so that others can see them.
    fn flush(&mut self) -> Result<(), PortError> {
        Ok(())
    }
}

/// Error of a port. The port cannot be used after it.
#[derive(Debug)]
pub enum PortError {
    Read(ReadError),
    Write(WriteError),
    Interface(InterfaceError),
    /// A device of a kind that this crate does not know.
    Device(Box<dyn std::error::Error + Send + Sync>),
}

impl fmt::Display for PortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PortError::Read(e) => e.fmt(f),
            PortError::Write(e) => e.fmt(f),
            PortError::Interface(e) => e.fmt(f),
            PortError::Device(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for PortError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            PortError::Read(e) => Some(e),
            PortError::Write(e) => Some(e),
            PortError::Interface(e) => Some(e),
            PortError::Device(e) => Some(&**e),
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
