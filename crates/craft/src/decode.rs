//! From bytes to text: the layers that a packet has.

use crate::encode::encode;
use crate::parse::{Header, Part};
use crate::{BYTES_MAX, Field, Fill, Form, LAYERS, LAYERS_MAX, Layer};
use core::net::{Ipv4Addr, Ipv6Addr};

/// Payload of so many zero bytes is written as their number.
const N_ZEROS_MIN: usize = 8;

/// Writes the bytes of an Ethernet frame as layers with fields. Fields that [`packet`](crate::packet) fills in with the same
/// values are left out, except for addresses and ports. [`packet`](crate::packet) makes the same bytes of the text, unless there
/// are more than [`BYTES_MAX`] of them, or none.
pub fn layers(bytes: &[u8]) -> String {
    let mut parts = parts(bytes);
    if bytes.len() <= BYTES_MAX {
        leave_out(&mut parts, bytes);
    }
    let words: Vec<String> = parts.iter().map(written).collect();
    words.join("/")
}

/// The layers with all their values, and what follows as payload.
fn parts(bytes: &[u8]) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = bytes;
    let mut layer = Layer::named("eth");
    while let Some(known) = layer
        && parts.len() < LAYERS_MAX - 1
        && let Some(given) = values(known, rest)
    {
        rest = &rest[known.n_bytes()..];
        layer = next(known, &given, rest);
        parts.push(Part::Layer(Header { layer: known, given, at: 0..0 }));
    }
    if !rest.is_empty() {
        parts.push(Part::Payload { bytes: rest.to_vec(), at: 0..0 });
    }
    parts
}

/// The values of all fields; `None` if the bytes are too few, or are not those of such a header.
fn values(layer: &Layer, bytes: &[u8]) -> Option<Vec<Option<u128>>> {
    let bytes = bytes.get(..layer.n_bytes())?;
    let mut at = 0;
    let value = |field: &Field| {
        let bits = at..at + field.n_bits as usize;
        at = bits.end;
        let value = bits.fold(0, |value, bit| value << 1 | u128::from(bytes[bit / 8] >> (7 - bit % 8) & 1));
        match field.fill {
            Fill::Value(fixed) if field.name.is_empty() => (fixed == value).then_some(None),
            _ => Some(Some(value)),
        }
    };
    layer.fields.iter().map(value).collect()
}

/// The layer that the fields of another one announce.
fn next(layer: &Layer, given: &[Option<u128>], rest: &[u8]) -> Option<&'static Layer> {
    let find = |number: &dyn Fn(&Layer) -> Option<u128>, value: u128| {
        LAYERS.iter().find(|layer| number(layer) == Some(value))
    };
    layer.fields.iter().zip(given).find_map(|(field, given)| {
        let value = (*given)?;
        match field.fill {
            Fill::EtherType => find(&|layer| layer.ether_type.map(u128::from), value),
            Fill::IpProtocol => find(&|layer| layer.ip_protocol.map(u128::from), value),
            Fill::UdpPort => find(&|layer| layer.udp_port.map(u128::from), value),
            Fill::BottomOfStack if value == 0 => Layer::named(layer.name),
            // Nothing says what a stack of labels carries; the version of IP is a good guess.
            Fill::BottomOfStack => match rest.first()? >> 4 {
                4 => Layer::named("ipv4"),
                6 => Layer::named("ipv6"),
                _ => None,
            },
            Fill::Value(_) if layer.udp_port.is_some() && field.name == "vni" => Layer::named("eth"),
            Fill::Value(_)
            | Fill::LengthOfAll
            | Fill::LengthOfRest
            | Fill::ChecksumOfHeader
            | Fill::ChecksumOfAll
            | Fill::ChecksumWithPseudoHeader { .. } => None,
        }
    })
}

/// Leaves out the values that would be filled in.
fn leave_out(parts: &mut [Part], bytes: &[u8]) {
    for i in 0..parts.len() {
        let Part::Layer(header) = &parts[i] else { continue };
        for k in 0..header.layer.fields.len() {
            let Part::Layer(header) = &mut parts[i] else { continue };
            let field = &header.layer.fields[k];
            if is_always_shown(field) {
                continue;
            }
            let value = header.given[k].take();
            if value.is_some()
                && encode(parts).ok().as_deref() != Some(bytes)
                && let Part::Layer(header) = &mut parts[i]
            {
                header.given[k] = value;
            }
        }
    }
}

fn is_always_shown(field: &Field) -> bool {
    match field.form {
        Form::Mac | Form::Ipv4 | Form::Ipv6 => true,
        Form::Number | Form::Flags => field.name.ends_with("port"),
    }
}

fn written(part: &Part) -> String {
    match part {
        Part::Payload { bytes, .. } => payload(bytes),
        Part::Layer(header) => {
            let fields = header.layer.fields.iter().zip(&header.given);
            let fields = fields.filter_map(|(field, given)| Some((field, (*given)?)));
            let fields: Vec<String> =
                fields.map(|(field, value)| format!("{}={}", field.name, shown(field, value))).collect();
            match fields.is_empty() {
                true => header.layer.name.to_owned(),
                false => format!("{}({})", header.layer.name, fields.join(", ")),
            }
        }
    }
}

fn shown(field: &Field, value: u128) -> String {
    if let Some((name, _)) = field.names.iter().find(|(_, known)| *known == value) {
        return (*name).to_owned();
    }
    match field.form {
        Form::Mac => {
            let octets = value.to_be_bytes();
            let octets: Vec<String> = octets[10..].iter().map(|octet| format!("{octet:02x}")).collect();
            octets.join(":")
        }
        Form::Ipv4 => Ipv4Addr::from(value as u32).to_string(),
        Form::Ipv6 => Ipv6Addr::from(value).to_string(),
        Form::Flags => {
            let set: Vec<(&str, u128)> =
                field.names.iter().copied().filter(|(_, bit)| value & bit == *bit).collect();
            let is_all = set.iter().fold(0, |bits, (_, bit)| bits | bit) == value;
            match is_all && !set.is_empty() {
                true => set.iter().map(|(name, _)| *name).collect::<Vec<_>>().join("+"),
                false => value.to_string(),
            }
        }
        Form::Number if field.fill == Fill::EtherType => format!("{value:#06x}"),
        Form::Number => value.to_string(),
    }
}

fn payload(bytes: &[u8]) -> String {
    if bytes.len() >= N_ZEROS_MIN && bytes.iter().all(|byte| *byte == 0) {
        return format!("zeros({})", bytes.len());
    }
    if bytes.iter().all(|byte| matches!(byte, b' '..=b'~')) {
        let text = String::from_utf8_lossy(bytes);
        return format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    }
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("0x{digits}")
}
