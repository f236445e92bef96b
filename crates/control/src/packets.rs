//! Packets from and to controllers, with the fields of controller headers as metadata (P4Runtime, "Packet I/O").
//!
//! A packet for the controller begins with the header that the program annotates with `@controller_header("packet_in")`. The
//! header is cut off, and its fields are the metadata. A packet from the controller gets the header `packet_out`, made of
//! its metadata.
//!
//! - [`PacketIo`]: both headers of a program, of which each may be absent;
//! - [`PacketHeader`]: one header: where its fields lie in the bytes of a packet.

use ir::Bits;
use rustc_hash::FxHashMap;
use smol_str::{SmolStr, format_smolstr};

use crate::fault::{Fault, Problem};
use crate::ids::FieldId;
use crate::schema::{ControllerField, ControllerHeader, Part, Schema, ValueForm};
use crate::validate::{bits_from_bytes, shown};

/// Length in bytes of a controller header at most.
pub const N_HEADER_BYTES_MAX: usize = 1 << 14;

/// A field of a controller header.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PacketMetadata {
    pub id: FieldId,
    /// Big endian. From the switch in canonical form: the shortest, one zero byte for 0.
    pub value: Vec<u8>,
}

/// A packet from or to a controller.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ControllerPacket {
    /// The packet without the controller header.
    pub payload: Vec<u8>,
    pub metadata: Vec<PacketMetadata>,
}

/// Headers of a program for packets from and to controllers.
#[derive(Clone, Debug, Default)]
pub struct PacketIo {
    packet_in: Option<PacketHeader>,
    packet_out: Option<PacketHeader>,
}

impl PacketIo {
    /// Finds the headers `packet_in` and `packet_out`. Their fields are those of the program if the schema has them, or else
    /// as wide in packets as the controller sees them. Fails if a header has a field that is not a number, or is too long.
    pub fn new(schema: &Schema) -> Result<PacketIo, Fault> {
        let of_program = |name: &str| schema.header_fields.iter().find(|header| header.header == name);
        PacketIo::with_widths(schema, |name| of_program(name).map(|header| header.fields.as_slice()))
    }

    /// Like [`new`](Self::new), for headers whose fields in the program `fields` tells, by the name of the header: names
    /// and widths in bits, in order. Fields that P4Info does not have are zero in packets out.
    pub fn with_widths<'p>(
        schema: &Schema,
        fields: impl Fn(&str) -> Option<&'p [(String, u32)]>,
    ) -> Result<PacketIo, Fault> {
        let header = |name: &str| {
            let found = schema.controller_headers.iter().find(|header| header.names.name == name);
            let header = found.map(|header| match fields(name) {
                Some(fields) => PacketHeader::with_widths(header, fields),
                None => PacketHeader::new(header),
            });
            header.transpose()
        };
        Ok(PacketIo { packet_in: header("packet_in")?, packet_out: header("packet_out")? })
    }

    /// Makes the message for a packet to the controller: all fields of the header in canonical form, and the rest of the
    /// packet. `None` if the packet is shorter than the header.
    pub fn packet_in(&self, packet: &[u8]) -> Option<ControllerPacket> {
        let Some(header) = &self.packet_in else {
            return Some(ControllerPacket { payload: packet.to_vec(), metadata: Vec::new() });
        };
        let payload = packet.get(header.n_bytes()..)?.to_vec();
        Some(ControllerPacket { payload, metadata: header.read(packet)? })
    }

    /// Makes the bytes of a packet from the controller. Fails if its metadata is not that of the header.
    pub fn packet_out(&self, packet: &ControllerPacket) -> Result<Vec<u8>, Fault> {
        let mut bytes = match (&self.packet_out, packet.metadata.first()) {
            (Some(header), _) => header.write(&packet.metadata)?,
            (None, None) => Vec::new(),
            (None, Some(field)) => {
                let owner = SmolStr::new("a program without the controller header `packet_out`");
                let (part, id) = (Part::Field, field.id.0);
                let problem = Problem::UnknownPart { part, id, owner, known: Vec::new() };
                return Err(Fault::from(problem).inside("metadata_id").inside("metadata[0]"));
            }
        };
        bytes.extend_from_slice(&packet.payload);
        Ok(bytes)
    }
}

/// The layout of one controller header in packets.
#[derive(Clone, Debug)]
pub struct PacketHeader {
    name: SmolStr,
    parts: Vec<HeaderPart>,
    /// Position in `parts` of a field of P4Info.
    by_id: FxHashMap<FieldId, usize>,
    n_bits: usize,
}

/// A field of the program's header.
#[derive(Clone, Debug)]
struct HeaderPart {
    /// From the first bit of the packet.
    offset_bits: usize,
    width_bits: u32,
    /// `None` for a field that the program hides from controllers.
    field: Option<ControllerField>,
}

impl PacketHeader {
    /// Creates the layout of a header whose fields are as wide in packets as the controller sees them.
    pub fn new(header: &ControllerHeader) -> Result<PacketHeader, Fault> {
        let mut layout = PacketHeader::empty(header);
        for field in &header.fields {
            let width_bits = number_width(header, field)?;
            layout.push(width_bits, Some(field.clone()))?;
        }
        Ok(layout)
    }

    /// Creates the layout of a header whose fields in the program are `fields`: names and widths in bits, in order. Fails if
    /// P4Info has a field that the program lacks.
    pub fn with_widths(header: &ControllerHeader, fields: &[(String, u32)]) -> Result<PacketHeader, Fault> {
        let mut layout = PacketHeader::empty(header);
        for (name, width_bits) in fields {
            let field = header.fields.iter().find(|field| field.name == *name);
            // A string of the controller is a number of the program, once it is translated.
            if let Some(field) = field.filter(|field| field.value.translation.is_none()) {
                number_width(header, field)?;
            }
            layout.push(*width_bits, field.cloned())?;
        }
        match header.fields.iter().find(|field| !layout.by_id.contains_key(&field.id)) {
            Some(missing) => {
                let owner = format_smolstr!("the program's header `{}`", header.names.name);
                Err(Problem::Missing { part: Part::Field, name: missing.name.clone(), owner }.into())
            }
            None => Ok(layout),
        }
    }

    fn empty(header: &ControllerHeader) -> PacketHeader {
        let name = header.names.name.clone();
        PacketHeader { name, parts: Vec::new(), by_id: FxHashMap::default(), n_bits: 0 }
    }

    fn push(&mut self, width_bits: u32, field: Option<ControllerField>) -> Result<(), Fault> {
        let offset_bits = self.n_bits;
        let end = offset_bits.saturating_add(width_bits as usize);
        if end > N_HEADER_BYTES_MAX * 8 {
            let what = format!(
                "a controller header of more than {N_HEADER_BYTES_MAX} bytes, which `{}` is",
                self.name
            );
            return Err(Problem::Unsupported { what }.into());
        }
        if let Some(field) = &field {
            self.by_id.insert(field.id, self.parts.len());
        }
        self.parts.push(HeaderPart { offset_bits, width_bits, field });
        self.n_bits = end;
        Ok(())
    }

    /// Returns the length of the header in bytes. The last byte is filled up with zero bits.
    pub fn n_bytes(&self) -> usize {
        self.n_bits.div_ceil(8)
    }

    /// Reads the fields at the front of a packet, in the order of the header and in canonical form. `None` if the packet is
    /// shorter than the header.
    pub fn read(&self, packet: &[u8]) -> Option<Vec<PacketMetadata>> {
        let bytes = packet.get(..self.n_bytes())?;
        let fields = self.parts.iter().filter_map(|part| {
            let field = part.field.as_ref()?;
            Some(PacketMetadata { id: field.id, value: canonical(&part.value(bytes)) })
        });
        Some(fields.collect())
    }

    /// Makes the bytes of the header. Each field must be there once and fit; fields for padding may be missing and are then
    /// zero.
    pub fn write(&self, metadata: &[PacketMetadata]) -> Result<Vec<u8>, Fault> {
        let mut bytes = vec![0; self.n_bytes()];
        let mut seen = vec![false; self.parts.len()];
        for (i, given) in metadata.iter().enumerate() {
            self.write_field(&mut bytes, &mut seen, given)
                .map_err(|fault| fault.inside(format_args!("metadata[{i}]")))?;
        }
        let missing = self
            .parts
            .iter()
            .zip(&seen)
            .find_map(|(part, seen)| part.field.as_ref().filter(|field| !seen && !field.is_padding));
        match missing {
            Some(field) => {
                let problem =
                    Problem::Missing { part: Part::Field, name: field.name.clone(), owner: self.owner() };
                Err(Fault::from(problem).inside("metadata"))
            }
            None => Ok(bytes),
        }
    }

    fn write_field(&self, bytes: &mut [u8], seen: &mut [bool], given: &PacketMetadata) -> Result<(), Fault> {
        let position = self.by_id.get(&given.id).copied();
        let Some((position, part, field)) = position.and_then(|position| {
            let part = &self.parts[position];
            Some((position, part, part.field.as_ref()?))
        }) else {
            let fields = self.parts.iter().filter_map(|part| part.field.as_ref());
            let known = fields.map(|field| format_smolstr!("{} ({})", field.name, field.id)).collect();
            let (part, id, owner) = (Part::Field, given.id.0, self.owner());
            let problem = Problem::UnknownPart { part, id, owner, known };
            return Err(Fault::from(problem).inside("metadata_id"));
        };
        let name = field.name.clone();
        if std::mem::replace(&mut seen[position], true) {
            return Err(Problem::Duplicate { part: Part::Field, name, owner: self.owner() }.into());
        }
        // The value must fit for the controller and for the program. One with a translation is the program's.
        let width_bits = match &field.value.translation {
            Some(_) => part.width_bits,
            None => part.width_bits.min(field.value.width_bits()),
        };
        let value = bits_from_bytes(&given.value, width_bits);
        if value.width() == 0 {
            return Err(Fault::from(Problem::EmptyValue { name }).inside("value"));
        }
        if value.width() > width_bits {
            let problem = Problem::TooWide { name, value: shown(&value), width_bits };
            return Err(Fault::from(problem).inside("value"));
        }
        part.set(bytes, &value);
        Ok(())
    }

    fn owner(&self) -> SmolStr {
        format_smolstr!("controller header `{}`", self.name)
    }
}

impl HeaderPart {
    /// Returns the bytes that have bits of the field, and the number of bits in them behind it.
    fn place(&self) -> (std::ops::Range<usize>, u32) {
        let end_bits = self.offset_bits + self.width_bits as usize;
        let bytes = self.offset_bits / 8..end_bits.div_ceil(8);
        let n_behind = (bytes.end * 8 - end_bits) as u32;
        (bytes, n_behind)
    }

    fn value(&self, header: &[u8]) -> Bits {
        let (bytes, n_behind) = self.place();
        let covering = Bits::from_bytes_be(bytes.len() as u32 * 8, &header[bytes]);
        covering.slice(n_behind, self.width_bits)
    }

    /// Sets the field, whose bits are zero.
    fn set(&self, header: &mut [u8], value: &Bits) {
        let (bytes, n_behind) = self.place();
        let shifted = value.resize(bytes.len() as u32 * 8).shl(n_behind).to_bytes_be();
        header[bytes].iter_mut().zip(shifted).for_each(|(byte, bits)| *byte |= bits);
    }
}

/// Returns the width of a field that is a number for the controller.
fn number_width(header: &ControllerHeader, field: &ControllerField) -> Result<u32, Fault> {
    match field.value.form {
        ValueForm::Bits { width_bits } => Ok(width_bits),
        ValueForm::Text => {
            let what = format!(
                "field `{}` of controller header `{}`, a string of the controller",
                field.name, header.names.name
            );
            Err(Problem::Unsupported { what }.into())
        }
        ValueForm::None => Err(Problem::NoForm { name: field.name.clone() }.into()),
    }
}

/// Returns the shortest bytes of a number; zero is one byte.
pub(crate) fn canonical(value: &Bits) -> Vec<u8> {
    let mut bytes = value.to_bytes_be();
    let n_zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    bytes.drain(..n_zeros.min(bytes.len().saturating_sub(1)));
    bytes
}
