//! Metadata of packets from and to controllers.

use ir::Bits;

use super::translator::Translator;
use crate::entity::Value;
use crate::fault::{Fault, Inside, Problem};
use crate::packets::{ControllerPacket, PacketMetadata, canonical};
use crate::schema::{ControllerField, Schema, ValueForm};
use crate::validate::{bits_from_bytes, shown};

impl Translator {
    /// Translates the metadata of a packet to a controller, as [`PacketIo`](crate::packets::PacketIo) has read it.
    pub fn packet_in(&self, schema: &Schema, packet: &mut ControllerPacket) -> Result<(), Fault> {
        each(schema, "packet_in", packet, |field, metadata| {
            let width_bits = u32::try_from(metadata.value.len() * 8).unwrap_or(u32::MAX);
            let mut value = Value::Bits(Bits::from_bytes_be(width_bits, &metadata.value));
            self.to_controller(&field.name, &field.value, &mut value)?;
            metadata.value = bytes(&value);
            Ok(())
        })
    }

    /// Translates the metadata of a packet from a controller, before [`PacketIo`](crate::packets::PacketIo) writes it.
    /// Nothing is allocated: a name that no update has used means nothing to the program.
    pub fn packet_out(&self, schema: &Schema, packet: &mut ControllerPacket) -> Result<(), Fault> {
        each(schema, "packet_out", packet, |field, metadata| {
            let mut value = match field.value.form {
                ValueForm::Text => match std::str::from_utf8(&metadata.value) {
                    Ok(text) => Value::Text(text.into()),
                    Err(_) => return Err(Problem::NotUtf8 { name: field.name.clone() }.into()),
                },
                ValueForm::Bits { width_bits } => {
                    let bits = bits_from_bytes(&metadata.value, width_bits);
                    if bits.width() > width_bits {
                        let (name, value) = (field.name.clone(), shown(&bits));
                        return Err(Problem::TooWide { name, value, width_bits }.into());
                    }
                    // An empty value is left to the one who writes it.
                    if bits.width() == 0 {
                        return Ok(());
                    }
                    Value::Bits(bits)
                }
                ValueForm::None => return Ok(()),
            };
            self.look_up(&field.name, &field.value, &mut value)?;
            metadata.value = bytes(&value);
            Ok(())
        })
    }
}

/// Changes the metadata that has a translation.
fn each(
    schema: &Schema,
    header: &str,
    packet: &mut ControllerPacket,
    mut translate: impl FnMut(&ControllerField, &mut PacketMetadata) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let header = schema.controller_headers.iter().find(|known| known.names.name == header);
    packet.metadata.iter_mut().enumerate().try_for_each(|(i, metadata)| {
        let field = header.and_then(|header| header.field(metadata.id));
        let Some(field) = field.filter(|field| field.value.translation.is_some()) else { return Ok(()) };
        translate(field, metadata)
            .inside("value")
            .map_err(|fault| fault.inside(format_args!("metadata[{i}]")))
    })
}

/// Canonical bytes of a value in a message.
fn bytes(value: &Value) -> Vec<u8> {
    match value {
        Value::Bits(bits) => canonical(bits),
        Value::Text(text) => text.as_bytes().to_vec(),
    }
}
