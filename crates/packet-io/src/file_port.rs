//! A port between two capture files.

use crate::memory_port::fill;
use crate::{
    BufPool, CaptureWriter, LINK_TYPE_ETHERNET, Packet, PacketBuf, PacketReader, Port, PortError, PortId,
    PortStats, ReadError,
};
use std::fs::File;
use std::path::{Path, PathBuf};

/// A port that receives from one capture file and sends into another; either may be missing.
#[derive(Debug, Default)]
pub struct FilePort {
    id: PortId,
    input: Option<PacketReader<File>>,
    output: Option<CaptureWriter>,
    /// Packet that was read, but not yet delivered.
    next: Option<Packet>,
    /// Error to deliver after the packets before it.
    pending: Option<ReadError>,
    stats: PortStats,
}

impl FilePort {
    /// Opens the input, whose packets must be of Ethernet, and creates the output, as pcap or pcapng by its extension.
    pub fn open(id: PortId, input: Option<&Path>, output: Option<&Path>) -> Result<FilePort, PortError> {
        let input =
            input.map(|path| PacketReader::open(path).map(PacketReader::ethernet_only)).transpose()?;
        let output = output
            .map(|path| CaptureWriter::create(path, &format!("port {id}"), LINK_TYPE_ETHERNET))
            .transpose()?;
        Ok(FilePort { id, input, output, ..FilePort::default() })
    }

    /// Receives from `NAME_in.pcap` and sends to `NAME_out.pcap`: the files that BMv2's `--use-files` takes.
    pub fn open_named(id: PortId, name: &Path) -> Result<FilePort, PortError> {
        let [input, output] = in_and_out(name);
        FilePort::open(id, Some(&input), Some(&output))
    }
}

/// `NAME_in.pcap` and `NAME_out.pcap`.
pub(crate) fn in_and_out(name: &Path) -> [PathBuf; 2] {
    ["_in.pcap", "_out.pcap"].map(|end| {
        let mut path = name.as_os_str().to_owned();
        path.push(end);
        path.into()
    })
}

impl Port for FilePort {
    fn id(&self) -> PortId {
        self.id
    }

    fn rx_burst(
        &mut self,
        pool: &mut BufPool,
        burst: &mut Vec<PacketBuf>,
        n_max: usize,
    ) -> Result<usize, PortError> {
        let mut n = 0;
        while n < n_max {
            if self.next.is_none()
                && let Some(input) = &mut self.input
            {
                match input.next() {
                    Some(Ok(packet)) => self.next = Some(packet),
                    Some(Err(e)) => {
                        self.input = None;
                        self.pending = Some(e);
                    }
                    None => self.input = None,
                }
            }
            if self.next.is_none() {
                break;
            }
            let Some(mut buf) = pool.take() else { break };
            let Some(packet) = self.next.take() else { break };
            if !fill(&mut buf, &packet, self.id) {
                self.stats.rx_too_long += 1;
                pool.give_back(buf);
                continue;
            }
            self.stats.received(buf.len());
            burst.push(buf);
            n += 1;
        }
        match self.pending.take_if(|_| n == 0) {
            Some(e) => Err(e.into()),
            None => Ok(n),
        }
    }

    /// Packets sent to a port without output are discarded.
    fn tx_burst(&mut self, pool: &mut BufPool, burst: &mut Vec<PacketBuf>) -> Result<usize, PortError> {
        let (mut n, mut result) = (0, Ok(()));
        for buf in burst.drain(..) {
            let written = match &mut self.output {
                Some(output) if result.is_ok() => output.write_data(buf.data(), buf.timestamp_ns),
                Some(_) | None => Ok(()),
            };
            match written {
                Ok(()) if result.is_ok() => {
                    self.stats.sent(buf.len());
                    n += 1;
                }
                Ok(()) => self.stats.tx_errors += 1,
                Err(e) => {
                    self.stats.tx_errors += 1;
                    result = Err(e);
                }
            }
            pool.give_back(buf);
        }
        result?;
        Ok(n)
    }

    fn stats(&mut self) -> PortStats {
        self.stats
    }

    fn is_exhausted(&self) -> bool {
        self.input.is_none() && self.next.is_none() && self.pending.is_none()
    }

    fn flush(&mut self) -> Result<(), PortError> {
        match &mut self.output {
            Some(output) => Ok(output.flush()?),
            None => Ok(()),
        }
    }
}
