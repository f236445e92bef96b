//! Iteration over the packets of a capture file.

use crate::pcap::{self, PacketSpan, PcapFormat};
use crate::pcapng::{self, Content, Sections};
use crate::window::Window;
use crate::{Damage, LINK_TYPE_ETHERNET, Packet, PacketRef, ReadError};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// An interface from which packets were captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Name of the interface in the capture; pcap files have none.
    pub name: Option<String>,
    /// Link type; 1 is Ethernet.
    pub link_type: u16,
}

/// Reads pcap (micro- and nanoseconds) and pcapng (any number of sections and interfaces), in both byte orders.
///
/// Iterating gives the packets in file order. The iteration ends after an error.
#[derive(Debug)]
pub struct PacketReader<R> {
    file: String,
    window: Window<R>,
    format: Format,
    interfaces: Vec<Interface>,
    ethernet_only: bool,
    is_done: bool,
}

#[derive(Debug)]
enum Format {
    Pcap(PcapFormat),
    Pcapng(Sections),
}

impl PacketReader<File> {
    /// Opens a capture file. Fails if the file does not begin with a capture header.
    pub fn open(path: impl AsRef<Path>) -> Result<PacketReader<File>, ReadError> {
        let path = path.as_ref();
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => PacketReader::new(name, file),
            Err(e) => Err(ReadError { file: name, offset_bytes: 0, damage: Damage::Io(e) }),
        }
    }

    /// Lends packets to `visit` until it returns false or there are no more. Not generic, so that the loop is compiled for
    /// speed whatever crate calls it.
    pub fn visit(&mut self, visit: &mut dyn FnMut(PacketRef<'_>) -> bool) -> Result<(), ReadError> {
        loop {
            if !self.visit_buffered(visit) {
                return Ok(());
            }
            // The next one is not whole in the buffer, or is damaged, or there is none.
            let Some(packet) = self.lend() else { return Ok(()) };
            if !visit(packet?) {
                return Ok(());
            }
        }
    }

    /// Lends the packets of a pcap file that are whole in the buffer. Returns false if `visit` did.
    fn visit_buffered(&mut self, visit: &mut dyn FnMut(PacketRef<'_>) -> bool) -> bool {
        let (Format::Pcap(format), false) = (&self.format, self.is_done) else { return true };
        let link_type = format.link_type;
        if self.ethernet_only && link_type != LINK_TYPE_ETHERNET {
            return true;
        }
        let (mut rest, mut n_bytes, mut has_more) = (self.window.buffered(), 0, true);
        while has_more
            && let Some(header) = rest.get(..pcap::RECORD_HEADER_BYTES)
            && let Ok(span) = format.record(header)
            && let Some(data) = rest.get(span.data.0..span.data.1)
        {
            has_more = visit(PacketRef {
                data,
                timestamp_ns: span.timestamp_ns,
                original_len_bytes: span.original_len_bytes,
                interface: span.interface,
                link_type,
            });
            rest = &rest[span.record_bytes..];
            n_bytes += span.record_bytes;
        }
        self.window.consume(n_bytes);
        has_more
    }
}

impl<R: Read> PacketReader<R> {
    /// Reads a capture from any reader. `name` appears in messages.
    pub fn new(name: impl Into<String>, inner: R) -> Result<PacketReader<R>, ReadError> {
        let mut reader = PacketReader {
            file: name.into(),
            window: Window::new(inner),
            format: Format::Pcapng(Sections::default()),
            interfaces: Vec::new(),
            ethernet_only: false,
            is_done: false,
        };
        match reader.begin() {
            Ok(()) => Ok(reader),
            Err(damage) => Err(reader.error(0, damage)),
        }
    }

    /// Turns a packet of another link type than Ethernet into an error.
    pub fn ethernet_only(mut self) -> PacketReader<R> {
        self.ethernet_only = true;
        self
    }

    /// The interfaces known so far. pcap has one; pcapng may describe further ones between packets.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    fn error(&self, offset_bytes: u64, damage: Damage) -> ReadError {
        ReadError { file: self.file.clone(), offset_bytes, damage }
    }

    fn begin(&mut self) -> Result<(), Damage> {
        let magic = self.window.peek(4).map_err(Damage::Io)?.to_vec();
        if pcap::is_magic(&magic) {
            let header = self.window.peek(pcap::HEADER_BYTES).map_err(Damage::Io)?;
            if header.len() < pcap::HEADER_BYTES {
                return Err(truncated("the header of the file", pcap::HEADER_BYTES, header.len()));
            }
            let format = pcap::header(header)?;
            self.window.consume(pcap::HEADER_BYTES);
            self.interfaces.push(Interface { name: None, link_type: format.link_type });
            self.format = Format::Pcap(format);
            Ok(())
        } else if magic == pcapng::SECTION_HEADER.to_be_bytes() {
            Ok(())
        } else {
            Err(Damage::NotACapture { found: magic })
        }
    }

    /// Returns the next packet without copying it. `None` at the end and after an error.
    pub fn lend(&mut self) -> Option<Result<PacketRef<'_>, ReadError>> {
        if self.is_done {
            return None;
        }
        match self.next_span() {
            Ok(Some((span, link_type))) => {
                let (start, end) = span.data;
                Some(Ok(PacketRef {
                    data: &self.window.take(span.record_bytes)[start..end],
                    timestamp_ns: span.timestamp_ns,
                    original_len_bytes: span.original_len_bytes,
                    interface: span.interface,
                    link_type,
                }))
            }
            Ok(None) => {
                self.is_done = true;
                None
            }
            Err(error) => {
                self.is_done = true;
                Some(Err(error))
            }
        }
    }

    /// Peeks the record of the next packet, and says where in it the packet is and of which link type.
    fn next_span(&mut self) -> Result<Option<(PacketSpan, u16)>, ReadError> {
        loop {
            let offset_bytes = self.window.offset();
            let step = match &mut self.format {
                Format::Pcap(format) => pcap_record(format, &mut self.window),
                Format::Pcapng(sections) => pcapng_block(sections, &mut self.window),
            };
            match step {
                Ok(Some(Content::Packet(span))) => {
                    let link_type = self.interfaces.get(span.interface as usize).map_or(0, |i| i.link_type);
                    if self.ethernet_only && link_type != LINK_TYPE_ETHERNET {
                        return Err(self.error(offset_bytes, Damage::NotEthernet { link_type }));
                    }
                    return Ok(Some((span, link_type)));
                }
                Ok(Some(Content::Interface(interface))) => self.interfaces.push(interface),
                Ok(Some(Content::Nothing)) => {}
                Ok(None) => return Ok(None),
                Err(damage) => return Err(self.error(offset_bytes, damage)),
            }
        }
    }
}

impl<R: Read> Iterator for PacketReader<R> {
    type Item = Result<Packet, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.lend().map(|packet| packet.map(PacketRef::to_packet))
    }
}

fn truncated(part: &'static str, expected: usize, found: usize) -> Damage {
    Damage::Truncated { part, expected_bytes: expected as u64, found_bytes: found as u64 }
}

fn io_error(error: io::Error) -> Damage {
    Damage::Io(error)
}

/// Does not consume the record of a packet.
#[inline]
fn pcap_record<R: Read>(format: &PcapFormat, window: &mut Window<R>) -> Result<Option<Content>, Damage> {
    let header = window.peek(pcap::RECORD_HEADER_BYTES).map_err(io_error)?;
    match header.len() {
        0 => return Ok(None),
        pcap::RECORD_HEADER_BYTES => {}
        found => return Err(truncated("the header of a packet", pcap::RECORD_HEADER_BYTES, found)),
    }
    let span = format.record(header)?;
    let record = window.peek(span.record_bytes).map_err(io_error)?;
    if record.len() < span.record_bytes {
        return Err(truncated("a packet", span.record_bytes, record.len()));
    }
    Ok(Some(Content::Packet(span)))
}

/// Does not consume the block of a packet.
fn pcapng_block<R: Read>(sections: &mut Sections, window: &mut Window<R>) -> Result<Option<Content>, Damage> {
    let bytes = window.peek(pcapng::BLOCK_BYTES_MIN).map_err(io_error)?;
    match bytes.len() {
        0 => return Ok(None),
        pcapng::BLOCK_BYTES_MIN => {}
        found => return Err(truncated("the header of a block", pcapng::BLOCK_BYTES_MIN, found)),
    }
    let header = sections.block_header(bytes)?;
    let len_bytes = u64::from(header.len_bytes);
    let too_short =
        |found_bytes| Damage::Truncated { part: "a block", expected_bytes: len_bytes, found_bytes };
    let content = if header.is_skipped {
        let skipped = window.skip(len_bytes - 4).map_err(io_error)?;
        if skipped < len_bytes - 4 {
            return Err(too_short(skipped));
        }
        let trailer = window.peek(4).map_err(io_error)?;
        if trailer.len() < 4 {
            return Err(too_short(skipped + trailer.len() as u64));
        }
        sections.check_trailer(&header, trailer)?;
        window.consume(4);
        Content::Nothing
    } else {
        let block = window.peek(header.len_bytes as usize).map_err(io_error)?;
        if (block.len() as u64) < len_bytes {
            return Err(too_short(block.len() as u64));
        }
        sections.check_trailer(&header, &block[block.len() - 4..])?;
        let content = sections.block(&header, block)?;
        if !matches!(content, Content::Packet(_)) {
            window.consume(header.len_bytes as usize);
        }
        content
    };
    Ok(Some(content))
}
