//! Writers for captures, always with nanoseconds and in little-endian order.

use crate::limits::PACKET_BYTES_MAX;
use crate::{Packet, WriteError};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

const NS_PER_S: u64 = 1_000_000_000;

/// The length field of a comment has 16 bits.
const COMMENT_BYTES_MAX: usize = u16::MAX as usize;

/// Writes pcap with nanoseconds, which every tool reads.
#[derive(Debug)]
pub struct PcapWriter<W: Write> {
    file: String,
    inner: W,
}

impl<W: Write> PcapWriter<W> {
    /// Begins a file. `name` appears in messages.
    pub fn new(name: impl Into<String>, inner: W, link_type: u16) -> Result<PcapWriter<W>, WriteError> {
        let mut writer = PcapWriter { file: name.into(), inner };
        let mut header = Vec::with_capacity(24);
        header.extend(0xa1b2_3c4du32.to_le_bytes());
        header.extend(2u16.to_le_bytes());
        header.extend(4u16.to_le_bytes());
        header.extend([0; 8]);
        header.extend(PACKET_BYTES_MAX.to_le_bytes());
        header.extend(u32::from(link_type).to_le_bytes());
        writer.put(&header)?;
        Ok(writer)
    }

    pub fn write(&mut self, packet: &Packet) -> Result<(), WriteError> {
        self.write_cut(&packet.data, packet.original_len_bytes, packet.timestamp_ns)
    }

    /// Writes a complete packet.
    pub fn write_data(&mut self, data: &[u8], timestamp_ns: u64) -> Result<(), WriteError> {
        self.write_cut(data, 0, timestamp_ns)
    }

    fn write_cut(
        &mut self,
        data: &[u8],
        original_len_bytes: u32,
        timestamp_ns: u64,
    ) -> Result<(), WriteError> {
        let (captured, original) = lengths(&self.file, data, original_len_bytes)?;
        let Ok(seconds) = u32::try_from(timestamp_ns / NS_PER_S) else {
            return Err(WriteError::TimeTooLate { file: self.file.clone(), timestamp_ns });
        };
        let mut header = [0; 16];
        let fields = [seconds, (timestamp_ns % NS_PER_S) as u32, captured, original];
        for (place, field) in header.chunks_exact_mut(4).zip(fields) {
            place.copy_from_slice(&field.to_le_bytes());
        }
        self.put(&header)?;
        self.put(data)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        self.inner.write_all(bytes).map_err(|e| io_error(&self.file, e))
    }

    pub fn flush(&mut self) -> Result<(), WriteError> {
        self.inner.flush().map_err(|e| io_error(&self.file, e))
    }

    /// Flushes and returns the inner writer.
    pub fn finish(mut self) -> Result<W, WriteError> {
        self.flush()?;
        Ok(self.inner)
    }
}

/// Writes pcapng: several interfaces, and an optional comment per packet.
#[derive(Debug)]
pub struct PcapngWriter<W: Write> {
    file: String,
    inner: W,
    n_interfaces: u32,
}

impl<W: Write> PcapngWriter<W> {
    /// Begins a section. `name` appears in messages.
    pub fn new(name: impl Into<String>, inner: W) -> Result<PcapngWriter<W>, WriteError> {
        let mut writer = PcapngWriter { file: name.into(), inner, n_interfaces: 0 };
        let mut body = Vec::new();
        body.extend(0x1a2b_3c4du32.to_le_bytes());
        body.extend(1u16.to_le_bytes());
        body.extend(0u16.to_le_bytes());
        // -1: the length of the section is unknown.
        body.extend((-1i64).to_le_bytes());
        option(&mut body, 4, b"siding");
        end_of_options(&mut body);
        writer.block(0x0a0d_0d0a, &body)?;
        Ok(writer)
    }

    /// Describes an interface and returns its index for [`Packet::interface`].
    pub fn add_interface(&mut self, name: &str, link_type: u16) -> Result<u32, WriteError> {
        let mut body = Vec::new();
        body.extend(link_type.to_le_bytes());
        body.extend([0; 2]);
        body.extend(PACKET_BYTES_MAX.to_le_bytes());
        option(&mut body, 2, cut(name).as_bytes());
        option(&mut body, 9, &[9]);
        end_of_options(&mut body);
        self.block(1, &body)?;
        self.n_interfaces += 1;
        Ok(self.n_interfaces - 1)
    }

    /// Writes a packet of an interface that was added before.
    pub fn write(&mut self, packet: &Packet, comment: Option<&str>) -> Result<(), WriteError> {
        let (captured, original) = lengths(&self.file, &packet.data, packet.original_len_bytes)?;
        if packet.interface >= self.n_interfaces {
            let (file, interface) = (self.file.clone(), packet.interface);
            return Err(WriteError::UnknownInterface { file, interface });
        }
        let mut body = Vec::with_capacity(packet.data.len() + 32);
        body.extend(packet.interface.to_le_bytes());
        body.extend(((packet.timestamp_ns >> 32) as u32).to_le_bytes());
        body.extend((packet.timestamp_ns as u32).to_le_bytes());
        body.extend(captured.to_le_bytes());
        body.extend(original.to_le_bytes());
        body.extend(&packet.data);
        pad(&mut body);
        if let Some(comment) = comment {
            option(&mut body, 1, cut(comment).as_bytes());
            end_of_options(&mut body);
        }
        self.block(6, &body)
    }

    fn block(&mut self, kind: u32, body: &[u8]) -> Result<(), WriteError> {
        // Bodies are bounded: a packet, and options of at most 64 KiB.
        let len_bytes = (body.len() as u32 + 12).to_le_bytes();
        for part in [&kind.to_le_bytes()[..], &len_bytes, body, &len_bytes] {
            self.inner.write_all(part).map_err(|e| io_error(&self.file, e))?;
        }
        Ok(())
    }

    pub fn flush(&mut self) -> Result<(), WriteError> {
        self.inner.flush().map_err(|e| io_error(&self.file, e))
    }

    /// Flushes and returns the inner writer.
    pub fn finish(mut self) -> Result<W, WriteError> {
        self.flush()?;
        Ok(self.inner)
    }
}

/// Writes a capture file in the format of its extension: pcapng for `.pcapng` and `.ntar`, otherwise pcap.
#[derive(Debug)]
pub enum CaptureWriter {
    Pcap(PcapWriter<BufWriter<File>>),
    Pcapng(PcapngWriter<BufWriter<File>>),
}

impl CaptureWriter {
    /// Creates or truncates the file, for packets of one interface.
    pub fn create(
        path: impl AsRef<Path>,
        interface: &str,
        link_type: u16,
    ) -> Result<CaptureWriter, WriteError> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let file = File::create(path).map_err(|e| io_error(&name, e))?;
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
        if extension.eq_ignore_ascii_case("pcapng") || extension.eq_ignore_ascii_case("ntar") {
            let mut writer = PcapngWriter::new(name, BufWriter::new(file))?;
            writer.add_interface(interface, link_type)?;
            Ok(CaptureWriter::Pcapng(writer))
        } else {
            Ok(CaptureWriter::Pcap(PcapWriter::new(name, BufWriter::new(file), link_type)?))
        }
    }

    /// Writes a packet; its interface is ignored. pcap has no comments, so `comment` is dropped there.
    pub fn write(&mut self, packet: &Packet, comment: Option<&str>) -> Result<(), WriteError> {
        match self {
            CaptureWriter::Pcap(writer) => writer.write(packet),
            CaptureWriter::Pcapng(writer) if packet.interface == 0 => writer.write(packet, comment),
            CaptureWriter::Pcapng(writer) => {
                writer.write(&Packet { interface: 0, ..packet.clone() }, comment)
            }
        }
    }

    /// Writes a complete packet; pcap needs no allocation for it.
    pub fn write_data(&mut self, data: &[u8], timestamp_ns: u64) -> Result<(), WriteError> {
        match self {
            CaptureWriter::Pcap(writer) => writer.write_data(data, timestamp_ns),
            CaptureWriter::Pcapng(writer) => writer.write(&Packet::new(data).at(timestamp_ns), None),
        }
    }

    pub fn flush(&mut self) -> Result<(), WriteError> {
        match self {
            CaptureWriter::Pcap(writer) => writer.flush(),
            CaptureWriter::Pcapng(writer) => writer.flush(),
        }
    }
}

fn io_error(file: &str, error: io::Error) -> WriteError {
    WriteError::Io { file: file.to_string(), error }
}

/// Returns captured and original length. The original length is never less than the captured one.
fn lengths(file: &str, data: &[u8], original_len_bytes: u32) -> Result<(u32, u32), WriteError> {
    match u32::try_from(data.len()) {
        Ok(captured) if captured <= PACKET_BYTES_MAX => Ok((captured, original_len_bytes.max(captured))),
        _ => Err(WriteError::PacketTooLong { file: file.to_string(), n_bytes: data.len() }),
    }
}

fn pad(body: &mut Vec<u8>) {
    body.resize(body.len().next_multiple_of(4), 0);
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend(code.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    body.extend(value);
    pad(body);
}

fn end_of_options(body: &mut Vec<u8>) {
    body.extend([0; 4]);
}

/// Cuts a text to the length of an option.
fn cut(text: &str) -> &str {
    let mut end = text.len().min(COMMENT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
