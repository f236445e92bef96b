//! Copies of what passes a port.

use crate::file_port::in_and_out;
use crate::{
    BufPool, CaptureWriter, LINK_TYPE_ETHERNET, LinkState, PacketBuf, Port, PortError, PortId, PortStats,
    WriteError,
};
use std::os::fd::RawFd;
use std::path::Path;

/// Copies each packet of a port into a file: what is received into `NAME_in.pcap`, what is handed over for
/// sending into `NAME_out.pcap`. These are the names that BMv2's `--pcap` uses.
///
/// A file that can no longer be written ends the copying, not the traffic; [`Port::flush`] gives the error.
#[derive(Debug)]
pub struct PcapMirror<P: Port + ?Sized> {
    input: Option<CaptureWriter>,
    output: Option<CaptureWriter>,
    error: Option<WriteError>,
    is_dirty: bool,
    inner: Box<P>,
}

impl<P: Port + ?Sized> PcapMirror<P> {
    /// Creates the files in `dir`, or empties them.
    pub fn create(inner: Box<P>, dir: &Path, name: &str) -> Result<PcapMirror<P>, WriteError> {
        let [input, output] = in_and_out(&dir.join(name));
        Ok(PcapMirror {
            input: Some(CaptureWriter::create(input, name, LINK_TYPE_ETHERNET)?),
            output: Some(CaptureWriter::create(output, name, LINK_TYPE_ETHERNET)?),
            error: None,
            is_dirty: false,
            inner,
        })
    }

    /// The port of which packets are copied.
    pub fn inner(&mut self) -> &mut P {
        &mut self.inner
    }

    fn flush_files(&mut self) {
        if std::mem::take(&mut self.is_dirty) {
            for file in [&mut self.input, &mut self.output] {
                if let Some(Err(e)) = file.as_mut().map(CaptureWriter::flush) {
                    *file = None;
                    self.error = self.error.take().or(Some(e));
                }
            }
        }
    }
}

/// Writes packets at a time until the file fails.
fn copy(file: &mut Option<CaptureWriter>, error: &mut Option<WriteError>, packets: &[PacketBuf], at: At) {
    let now_ns = crate::time::now_ns();
    for packet in packets {
        let Some(writer) = file else { return };
        let timestamp_ns = match at {
            At::Arrival => packet.timestamp_ns,
            At::Now => now_ns,
        };
        if let Err(e) = writer.write_data(packet.data(), timestamp_ns) {
            *file = None;
            *error = error.take().or(Some(e));
        }
    }
}

/// Which time a copy has.
#[derive(Clone, Copy)]
enum At {
    Arrival,
    Now,
}

impl<P: Port + ?Sized> Port for PcapMirror<P> {
    fn id(&self) -> PortId {
        self.inner.id()
    }

    fn rx_burst(
        &mut self,
        pool: &mut BufPool,
        burst: &mut Vec<PacketBuf>,
        n_max: usize,
    ) -> Result<usize, PortError> {
        let n_before = burst.len();
        let n = self.inner.rx_burst(pool, burst, n_max)?;
        if n > 0 {
            copy(&mut self.input, &mut self.error, &burst[n_before..], At::Arrival);
            self.is_dirty = true;
        }
        Ok(n)
    }

    fn tx_burst(&mut self, pool: &mut BufPool, burst: &mut Vec<PacketBuf>) -> Result<usize, PortError> {
        if !burst.is_empty() {
            copy(&mut self.output, &mut self.error, burst, At::Now);
            self.is_dirty = true;
        }
        self.inner.tx_burst(pool, burst)
    }

    /// Also brings the files up to date, so that they can be followed while nothing happens.
    fn idle(&mut self) -> Result<(), PortError> {
        self.flush_files();
        self.inner.idle()
    }

    fn link_state(&self) -> LinkState {
        self.inner.link_state()
    }

    fn fd(&self) -> Option<RawFd> {
        self.inner.fd()
    }

    fn stats(&mut self) -> PortStats {
        self.inner.stats()
    }

    fn is_exhausted(&self) -> bool {
        self.inner.is_exhausted()
    }

    /// The first error of the files is given once.
    fn flush(&mut self) -> Result<(), PortError> {
        self.flush_files();
        self.inner.flush()?;
        self.error.take().map_or(Ok(()), |e| Err(e.into()))
    }
}
