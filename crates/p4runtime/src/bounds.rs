//! Bounds of messages that anybody may send: the elements of lists are counted before a message is decoded. An empty element has
//! two bytes, and takes some hundred when it is decoded.

use p4info::proto::p4::v1 as p4;
use p4info::proto::siding::bulk::v1 as bulk;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

/// A field that is a message or a list of messages.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its number; `None`: any field with a length.
    number: Option<u32>,
    is_counted: bool,
    inside: &'static [Field],
}

impl Field {
    const fn list(number: u32, inside: &'static [Field]) -> Field {
        Field { number: Some(number), is_counted: true, inside }
    }

    const fn message(number: u32, inside: &'static [Field]) -> Field {
        Field { number: Some(number), is_counted: false, inside }
    }

    const fn any(is_counted: bool, inside: &'static [Field]) -> Field {
        Field { number: None, is_counted, inside }
    }
}

/// Elements at most.
#[derive(Clone, Copy, Debug)]
pub enum Max {
    Fixed(usize),
    /// Some, and one for each 8 bytes of the message: elements that mean something are longer.
    ByBytes,
}

impl Max {
    /// Elements of a short message.
    const N: usize = 1 << 16;
    /// Elements of a long message. Decoded, they have some 100 MB.
    const LONG: Max = Max::Fixed(1 << 18);

    fn of(self, n_bytes: usize) -> usize {
        match self {
            Max::Fixed(n) => n,
            Max::ByBytes => Max::N + n_bytes / 8,
        }
    }
}

/// A message with bounds for its lists.
pub trait Bounded {
    /// Lists whose elements are counted together, and how many they may be.
    const LISTS: &'static [(&'static [Field], Max)] = &[];
}

/// Elements of the messages and lists in an entity, such as matches and replicas.
const OF_ENTITY: &[Field] = &[Field::any(false, &[Field::any(true, &[])])];

impl Bounded for p4::WriteRequest {
    const LISTS: &'static [(&'static [Field], Max)] = &[(&[Field::list(4, &[])], Max::ByBytes)];
}

impl Bounded for p4::ReadRequest {
    const LISTS: &'static [(&'static [Field], Max)] =
        &[(&[Field::list(2, &[])], Max::LONG), (&[Field::message(2, OF_ENTITY)], Max::ByBytes)];
}

impl Bounded for p4::SetForwardingPipelineConfigRequest {
    /// Objects of P4Info, and what they have.
    const LISTS: &'static [(&'static [Field], Max)] = &[(
        &[Field::message(5, &[Field::message(1, &[Field::any(true, &[Field::any(true, &[])])])])],
        Max::LONG,
    )];
}

impl Bounded for p4::StreamMessageRequest {
    /// Metadata of packets.
    const LISTS: &'static [(&'static [Field], Max)] =
        &[(&[Field::message(2, &[Field::list(2, &[])])], Max::Fixed(Max::N))];
}

impl Bounded for bulk::Chunk {
    /// Sets with their columns and actions, and entities.
    const LISTS: &'static [(&'static [Field], Max)] = &[
        (&[Field::list(6, &[Field::list(4, &[]), Field::list(7, &[Field::list(4, &[])])])], Max::LONG),
        (&[Field::list(7, &[])], Max::LONG),
        (&[Field::message(7, OF_ENTITY)], Max::ByBytes),
    ];
}

/// A message has too many elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the lists of the message have more than {n_max} elements, which are too many for its {n_bytes} bytes"
)]
pub struct TooMany {
    pub n_max: usize,
    pub n_bytes: usize,
}

/// Fails if a message has too many elements. What is damaged is left to the decoder.
pub fn check<M: Bounded>(bytes: &[u8]) -> Result<(), TooMany> {
    for (fields, max) in M::LISTS {
        let n_max = max.of(bytes.len());
        let mut n_left = n_max;
        // An element has two bytes or more.
        if bytes.len() / 2 > n_max && count(bytes, fields, &mut n_left).is_none() {
            return Err(TooMany { n_max, n_bytes: bytes.len() });
        }
    }
    Ok(())
}

/// Counts elements as long as some are left.
fn count(mut bytes: &[u8], fields: &[Field], n_left: &mut usize) -> Option<()> {
    while let Some((number, contents)) = next(&mut bytes) {
        let Some(contents) = contents else { continue };
        for field in fields.iter().filter(|field| field.number.is_none_or(|of| of == number)) {
            if field.is_counted {
                *n_left = n_left.checked_sub(1)?;
            }
            if !field.inside.is_empty() {
                count(contents, field.inside, n_left)?;
            }
        }
    }
    Some(())
}

/// The next field, with its contents if it has a length. `None` at the end, and where the decoder fails.
fn next<'b>(bytes: &mut &'b [u8]) -> Option<(u32, Option<&'b [u8]>)> {
    let (number, wire_type) = decode_key(bytes).ok()?;
    if wire_type != WireType::LengthDelimited {
        skip_field(wire_type, number, bytes, DecodeContext::default()).ok()?;
        return Some((number, None));
    }
    let n = usize::try_from(decode_varint(bytes).ok()?).ok()?;
    let (contents, rest) = bytes.split_at_checked(n)?;
    *bytes = rest;
    Some((number, Some(contents)))
}

/// The bytes of a message without one of its fields.
pub(crate) fn without(mut bytes: &[u8], number: u32) -> Vec<u8> {
    let mut kept = Vec::new();
    while !bytes.is_empty() {
        let before = bytes;
        match next(&mut bytes) {
            Some((found, _)) if found == number => {}
            Some(_) => kept.extend_from_slice(&before[..before.len() - bytes.len()]),
            // The decoder fails at this place, too.
            None => {
                kept.extend_from_slice(before);
                break;
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message;

    fn refused<M: Bounded + Message>(message: &M) -> bool {
        check::<M>(&message.encode_to_vec()).is_err()
    }

    #[test]
    fn empty_elements_are_counted() {
        let write = |n| p4::WriteRequest { updates: vec![p4::Update::default(); n], ..Default::default() };
        assert!(!refused(&write(Max::N)));
        assert!(refused(&write(2 * Max::N)));
        let read = |n| p4::ReadRequest { entities: vec![p4::Entity::default(); n], ..Default::default() };
        assert!(!refused(&read(1 << 18)) && refused(&read((1 << 18) + 1)));
        let entity = p4::Entity {
            entity: Some(p4::entity::Entity::TableEntry(p4::TableEntry {
                r#match: vec![p4::FieldMatch::default(); 1 << 18],
                ..Default::default()
            })),
        };
        assert!(refused(&p4::ReadRequest { entities: vec![entity.clone()], ..Default::default() }));
        assert!(refused(&bulk::Chunk { entities: vec![entity], ..Default::default() }));
        let packet =
            |n| p4::PacketOut { metadata: vec![p4::PacketMetadata::default(); n], ..Default::default() };
        let stream = |n| p4::StreamMessageRequest {
            update: Some(p4::stream_message_request::Update::Packet(packet(n))),
        };
        assert!(!refused(&stream(Max::N)) && refused(&stream(Max::N + 1)));
        let config = |n| p4::SetForwardingPipelineConfigRequest {
            config: Some(p4::ForwardingPipelineConfig {
                p4info: Some(p4info::P4Info { tables: vec![Default::default(); n], ..Default::default() }),
                p4_device_config: vec![0x12; 4 << 20],
                ..Default::default()
            }),
            ..Default::default()
        };
        assert!(!refused(&config(1000)) && refused(&config((1 << 18) + 1)));
    }

    #[test]
    fn columns_of_sets_are_counted() {
        let set = bulk::TableSet { keys: vec![bulk::KeyColumn::default(); 8], ..Default::default() };
        let chunk = |n| bulk::Chunk { sets: vec![set.clone(); n], ..Default::default() };
        assert!(!refused(&chunk(4096)) && refused(&chunk(1 << 15)));
        let params = vec![bulk::ParamColumn::default(); 1 << 19];
        let actions = vec![bulk::ActionSet { params, ..Default::default() }];
        let sets = vec![bulk::TableSet { actions, ..Default::default() }];
        assert!(refused(&bulk::Chunk { sets, ..Default::default() }));
    }

    #[test]
    fn updates_that_mean_something_are_never_too_many() {
        let group = p4::MulticastGroupEntry { multicast_group_id: 1, ..Default::default() };
        let group = p4::packet_replication_engine_entry::Type::MulticastGroupEntry(group);
        let entry = p4::PacketReplicationEngineEntry { r#type: Some(group) };
        let entity = Some(p4::entity::Entity::PacketReplicationEngineEntry(entry));
        let update = p4::Update { r#type: 3, entity: Some(p4::Entity { entity }) };
        assert!(!refused(&p4::WriteRequest { updates: vec![update; 500_000], ..Default::default() }));
    }

    #[test]
    fn the_rest_of_a_message() {
        let request = p4::WriteRequest {
            device_id: 7,
            updates: vec![p4::Update::default(); 3],
            role: "r".to_owned(),
            ..Default::default()
        };
        let rest = without(&request.encode_to_vec(), 4);
        assert_eq!(p4::WriteRequest::decode(&*rest), Ok(p4::WriteRequest { updates: Vec::new(), ..request }));
        assert_eq!(without(&[0x22, 9, 1], 4), [0x22, 9, 1]);
    }
}
