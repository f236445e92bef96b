//! Where packets enter and leave.

use crate::{CaptureWriter, LINK_TYPE_ETHERNET, Packet, PacketReader, ReadError, WriteError};
use std::collections::VecDeque;
use std::fmt;
use std::fs::File;
use std::path::Path;

/// A port as the program and the control plane number it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PortId(pub u32);

impl fmt::Display for PortId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A place from which bursts of packets are received and to which they are sent.
#[derive(Debug)]
pub enum Port {
    Memory(MemoryPort),
    File(Box<FilePort>),
}

/// What a port can fail with. The port is of no more use then.
#[derive(Debug)]
pub enum PortError {
    Read(ReadError),
    Write(WriteError),
}

impl fmt::Display for PortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PortError::Read(e) => e.fmt(f),
            PortError::Write(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for PortError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            PortError::Read(e) => Some(e),
            PortError::Write(e) => Some(e),
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

impl Port {
    /// Appends up to `n_max` waiting packets to `burst` and gives their number; 0 when none is waiting.
    /// Packets that came before an error are delivered first, the error by the next call.
    pub fn rx_burst(&mut self, burst: &mut Vec<Packet>, n_max: usize) -> Result<usize, PortError> {
        match self {
            Port::Memory(port) => Ok(port.rx_burst(burst, n_max)),
            Port::File(port) => port.rx_burst(burst, n_max),
        }
    }

    /// Sends all packets of `burst` and empties it.
    pub fn tx_burst(&mut self, burst: &mut Vec<Packet>) -> Result<usize, PortError> {
        match self {
            Port::Memory(port) => Ok(port.tx_burst(burst)),
            Port::File(port) => port.tx_burst(burst),
        }
    }

    /// True when nothing more will ever be received, as with a file that was read to its end.
    pub fn is_exhausted(&self) -> bool {
        match self {
            Port::Memory(port) => port.rx.is_empty(),
            Port::File(port) => port.input.is_none() && port.pending.is_none(),
        }
    }

    /// Makes sure that what was sent is where others can see it.
    pub fn flush(&mut self) -> Result<(), PortError> {
        match self {
            Port::Memory(_) => Ok(()),
            Port::File(port) => port.flush(),
        }
    }
}

/// A port for tests: what is to be received is put in, what was sent is looked at.
#[derive(Clone, Debug, Default)]
pub struct MemoryPort {
    /// Waiting to be received, oldest first.
    pub rx: VecDeque<Packet>,
    /// Sent, oldest first.
    pub tx: Vec<Packet>,
}

impl MemoryPort {
    pub fn new(rx: impl IntoIterator<Item = Packet>) -> MemoryPort {
        MemoryPort { rx: rx.into_iter().collect(), tx: Vec::new() }
    }

    pub fn rx_burst(&mut self, burst: &mut Vec<Packet>, n_max: usize) -> usize {
        let n = n_max.min(self.rx.len());
        burst.extend(self.rx.drain(..n));
        n
    }

    pub fn tx_burst(&mut self, burst: &mut Vec<Packet>) -> usize {
        let n = burst.len();
        self.tx.append(burst);
        n
    }
}

/// A port that receives from one capture file and sends into another; either may be missing.
#[derive(Debug, Default)]
pub struct FilePort {
    input: Option<PacketReader<File>>,
    output: Option<CaptureWriter>,
    /// An error to be delivered after the packets before it.
    pending: Option<ReadError>,
}

impl FilePort {
    /// Opens the input and creates the output, as pcap or pcapng by its extension.
    pub fn open(port: PortId, input: Option<&Path>, output: Option<&Path>) -> Result<FilePort, PortError> {
        let input = input.map(PacketReader::open).transpose()?;
        let link_type = input
            .as_ref()
            .and_then(|i| i.interfaces().first())
            .map_or(LINK_TYPE_ETHERNET, |interface| interface.link_type);
        let output =
            output.map(|path| CaptureWriter::create(path, &format!("port {port}"), link_type)).transpose()?;
        Ok(FilePort { input, output, pending: None })
    }

    pub fn rx_burst(&mut self, burst: &mut Vec<Packet>, n_max: usize) -> Result<usize, PortError> {
        if let Some(e) = self.pending.take() {
            return Err(e.into());
        }
        let mut n = 0;
        while n < n_max
            && let Some(input) = &mut self.input
        {
            match input.next() {
                Some(Ok(packet)) => {
                    burst.push(packet);
                    n += 1;
                }
                Some(Err(e)) => {
                    self.input = None;
                    if n == 0 {
                        return Err(e.into());
                    }
                    self.pending = Some(e);
                }
                None => self.input = None,
            }
        }
        Ok(n)
    }

    /// What is sent to a port without output is gone.
    pub fn tx_burst(&mut self, burst: &mut Vec<Packet>) -> Result<usize, PortError> {
        let n = burst.len();
        if let Some(output) = &mut self.output {
            for packet in burst.iter() {
                output.write(packet, None)?;
            }
        }
        burst.clear();
        Ok(n)
    }

    pub fn flush(&mut self) -> Result<(), PortError> {
        match &mut self.output {
            Some(output) => Ok(output.flush()?),
            None => Ok(()),
        }
    }
}
