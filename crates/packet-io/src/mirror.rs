//! Capture of the traffic of a port.

use crate::file_port::in_and_out;
use crate::{
    BufPool, CaptureWriter, LINK_TYPE_ETHERNET, LinkState, PacketBuf, Port, PortError, PortId, PortStats,
    WriteError,
};
use std::os::fd::RawFd;
use std::path::Path;

/// Copies each packet of a port into a file: received packets into `NAME_in.pcap`, packets handed over for
/// sending into `NAME_out.pcap`. BMv2's `--pcap` uses the same names.
///
/// A write error ends the capture, not the traffic; [`Port::capture_error`] returns the error, and
/// [`PortStats::capture_missed`] counts the packets that may be missing in the file: those since the last flush, too.
#[derive(Debug)]
pub struct PcapMirror<P: Port + ?Sized> {
    input: Capture,
    output: Capture,
    /// First error of a file.
    error: Option<WriteError>,
    is_dirty: bool,
    /// Packets of the last burst that the port has left; they come again.
    n_left: usize,
    inner: Box<P>,
}

impl<P: Port + ?Sized> PcapMirror<P> {
    /// Creates or truncates the files in `dir`.
    pub fn create(inner: Box<P>, dir: &Path, name: &str) -> Result<PcapMirror<P>, WriteError> {
        let [input, output] = in_and_out(&dir.join(name));
        Ok(PcapMirror {
            input: Capture::create(&input, name)?,
            output: Capture::create(&output, name)?,
            error: None,
            is_dirty: false,
            n_left: 0,
            inner,
        })
    }

    /// The port whose packets are copied.
    pub fn inner(&mut self) -> &mut P {
        &mut self.inner
    }

    fn flush_files(&mut self) {
        if std::mem::take(&mut self.is_dirty) {
            for file in [&mut self.input, &mut self.output] {
                if let Err(error) = file.flush() {
                    self.error.get_or_insert(error);
                }
            }
        }
    }
}

/// A capture file, open until a write fails.
#[derive(Debug)]
struct Capture {
    writer: Option<CaptureWriter>,
    /// Packets since the last flush, which may still be in a buffer.
    n_unflushed: u64,
    n_missed: u64,
}

impl Capture {
    fn create(path: &Path, name: &str) -> Result<Capture, WriteError> {
        let writer = CaptureWriter::create(path, name, LINK_TYPE_ETHERNET)?;
        Ok(Capture { writer: Some(writer), n_unflushed: 0, n_missed: 0 })
    }

    /// Writes packets, or counts them as missed.
    fn write(&mut self, packets: &[PacketBuf], at: At) -> Result<(), WriteError> {
        let now_ns = crate::time::now_ns();
        let mut result = Ok(());
        for packet in packets {
            let Some(writer) = &mut self.writer else {
                self.n_missed += 1;
                continue;
            };
            let timestamp_ns = match at {
                At::Arrival => packet.timestamp_ns,
                At::Now => now_ns,
            };
            self.n_unflushed += 1;
            if let Err(error) = writer.write_data(packet.data(), timestamp_ns) {
                self.end();
                result = Err(error);
            }
        }
        result
    }

    fn flush(&mut self) -> Result<(), WriteError> {
        let flushed = self.writer.as_mut().map_or(Ok(()), CaptureWriter::flush);
        match flushed {
            Ok(()) => self.n_unflushed = 0,
            Err(_) => self.end(),
        }
        flushed
    }

    fn end(&mut self) {
        self.writer = None;
        self.n_missed += std::mem::take(&mut self.n_unflushed);
    }
}

/// Timestamp of a copy.
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
            if let Err(error) = self.input.write(&burst[n_before..], At::Arrival) {
                self.error.get_or_insert(error);
            }
            self.is_dirty = true;
        }
        Ok(n)
    }

    fn tx_burst(&mut self, pool: &mut BufPool, burst: &mut Vec<PacketBuf>) -> Result<usize, PortError> {
        // Packets that the port has left are in the file already.
        if burst.len() > self.n_left {
            if let Err(error) = self.output.write(&burst[self.n_left..], At::Now) {
                self.error.get_or_insert(error);
            }
            self.is_dirty = true;
        }
        let result = self.inner.tx_burst(pool, burst);
        self.n_left = burst.len();
        result
    }

    fn set_back_pressure(&mut self, is_wanted: bool) {
        self.inner.set_back_pressure(is_wanted);
    }

    /// Also flushes the files, so that other programs can follow them while no packet passes.
    fn idle(&mut self) -> Result<(), PortError> {
        self.flush_files();
        self.inner.idle()
    }

    fn link_state(&self) -> LinkState {
        self.inner.link_state()
    }

    fn fallback(&self) -> Option<&str> {
        self.inner.fallback()
    }

    fn down_reason(&self) -> Option<String> {
        self.inner.down_reason()
    }

    fn frame_bytes_max(&self) -> Option<usize> {
        self.inner.frame_bytes_max()
    }

    fn fd(&self) -> Option<RawFd> {
        self.inner.fd()
    }

    fn stats(&mut self) -> PortStats {
        PortStats { capture_missed: self.input.n_missed + self.output.n_missed, ..self.inner.stats() }
    }

    fn is_exhausted(&self) -> bool {
        self.inner.is_exhausted()
    }

    fn capture_error(&self) -> Option<String> {
        self.error.as_ref().map(ToString::to_string)
    }

    fn flush(&mut self) -> Result<(), PortError> {
        self.flush_files();
        self.inner.flush()
    }
}
