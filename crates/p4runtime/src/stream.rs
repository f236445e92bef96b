//! Messages of streams.

use control::session::{Arbitration, SessionFault};
use control::*;
use p4info::proto::p4::v1 as pb;
use prost::Message;

use crate::Inside;
use crate::data::{decode_data, encode_data};
use crate::decode::{Decoder, not_set};
use crate::encode::table_entry;
use crate::session::decode_arbitration;

/// Version of P4Runtime that the messages are of.
const API_VERSION: &str = "1.5.0";

/// Type of the list of our own services in a `CapabilitiesResponse`.
const LIST_TYPE_URL: &str = "type.googleapis.com/google.protobuf.ListValue";

/// A message of a controller on its stream.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamRequest {
    /// A fault ends the stream.
    Arbitration(Result<Arbitration, SessionFault>),
    PacketOut(ControllerPacket),
    DigestAck(DigestAck),
}

/// Decodes a message of a controller. One without contents, or of an unknown type, is answered with the error.
pub fn decode_stream_request(message: pb::StreamMessageRequest) -> Result<StreamRequest, StreamError> {
    use pb::stream_message_request::Update;
    match message.update {
        Some(Update::Arbitration(message)) => Ok(StreamRequest::Arbitration(decode_arbitration(message))),
        Some(Update::Packet(packet)) => Ok(StreamRequest::PacketOut(decode_packet_out(packet))),
        Some(Update::DigestAck(ack)) => Ok(StreamRequest::DigestAck(decode_digest_ack(ack))),
        Some(Update::Other(any)) => Err(StreamError::unknown_type(decode_other(any))),
        None => Err(StreamError::nothing_set()),
    }
}

fn response(update: pb::stream_message_response::Update) -> pb::StreamMessageResponse {
    pb::StreamMessageResponse { update: Some(update) }
}

fn decode_metadata(metadata: Vec<pb::PacketMetadata>) -> Vec<PacketMetadata> {
    let field = |of: pb::PacketMetadata| PacketMetadata { id: FieldId(of.metadata_id), value: of.value };
    metadata.into_iter().map(field).collect()
}

fn encode_metadata(metadata: Vec<PacketMetadata>) -> Vec<pb::PacketMetadata> {
    let field = |of: PacketMetadata| pb::PacketMetadata { metadata_id: of.id.0, value: of.value };
    metadata.into_iter().map(field).collect()
}

fn decode_packet_out(packet: pb::PacketOut) -> ControllerPacket {
    ControllerPacket { payload: packet.payload, metadata: decode_metadata(packet.metadata) }
}

/// Encodes a packet for a switch.
pub fn encode_packet_out(packet: ControllerPacket) -> pb::PacketOut {
    pb::PacketOut { payload: packet.payload, metadata: encode_metadata(packet.metadata) }
}

/// Decodes a packet for a controller.
pub fn decode_packet_in(packet: pb::PacketIn) -> ControllerPacket {
    ControllerPacket { payload: packet.payload, metadata: decode_metadata(packet.metadata) }
}

/// Encodes a packet for a controller.
pub fn encode_packet_in(packet: ControllerPacket) -> pb::StreamMessageResponse {
    let packet = pb::PacketIn { payload: packet.payload, metadata: encode_metadata(packet.metadata) };
    response(pb::stream_message_response::Update::Packet(packet))
}

fn decode_digest_ack(ack: pb::DigestListAck) -> DigestAck {
    DigestAck { digest: DigestId(ack.digest_id), list: ack.list_id }
}

/// Encodes the acknowledgement of a list of digests.
pub fn encode_digest_ack(ack: DigestAck) -> pb::DigestListAck {
    pb::DigestListAck { digest_id: ack.digest.0, list_id: ack.list }
}

/// Encodes a list of digests.
pub fn encode_digest_list(schema: &Schema, list: &DigestList) -> pb::StreamMessageResponse {
    let ty = schema.digests.get(list.digest).map(|digest| &digest.message);
    response(pb::stream_message_response::Update::Digest(pb::DigestList {
        digest_id: list.digest.0,
        list_id: list.list,
        data: list.messages.iter().map(|data| encode_data(ty, data)).collect(),
        timestamp: list.timestamp_ns,
    }))
}

/// Decodes a list of digests. Fails if a message has no value.
pub fn decode_digest_list(schema: &Schema, list: &pb::DigestList) -> Result<DigestList, Fault> {
    let digest = DigestId(list.digest_id);
    let ty = schema.digests.get(digest).map(|digest| &digest.message);
    let data = list.data.iter().enumerate();
    let messages = data.map(|(i, data)| decode_data(ty, data).inside(format_args!("data[{i}]")));
    Ok(DigestList {
        digest,
        list: list.list_id,
        messages: messages.collect::<Result<_, Fault>>()?,
        timestamp_ns: list.timestamp,
    })
}

/// Encodes a notice of entries that were idle.
pub fn encode_idle_notice(notice: &IdleNotice) -> pb::StreamMessageResponse {
    response(pb::stream_message_response::Update::IdleTimeoutNotification(pb::IdleTimeoutNotification {
        table_entry: notice.entries().iter().map(table_entry).collect(),
        timestamp: notice.timestamp_ns(),
    }))
}

/// Decodes a notice of entries that were idle. Fails if it has no entries, or one that is not an entry.
pub fn decode_idle_notice(
    schema: &Schema,
    notice: &pb::IdleTimeoutNotification,
) -> Result<IdleNotice, Fault> {
    let decoder = Decoder { schema, key_only: false };
    let entries = notice.table_entry.iter().enumerate();
    let entries =
        entries.map(|(i, entry)| decoder.table_entry(entry).inside(format_args!("table_entry[{i}]")));
    let entries: Vec<TableEntry> = entries.collect::<Result<_, Fault>>()?;
    IdleNotice::new(entries, notice.timestamp).ok_or_else(|| not_set("table_entry"))
}

fn decode_other(any: prost_types::Any) -> OtherMessage {
    OtherMessage { type_url: any.type_url, value: any.value }
}

/// Encodes the error about a message of a controller.
pub fn encode_stream_error(error: StreamError) -> pb::StreamMessageResponse {
    use pb::stream_error::Details;
    let details = match error.cause {
        StreamErrorCause::PacketOut(packet) => {
            let packet_out = Some(encode_packet_out(packet));
            Some(Details::PacketOut(pb::PacketOutError { packet_out }))
        }
        StreamErrorCause::DigestAck(ack) => {
            let digest_list_ack = Some(encode_digest_ack(ack));
            Some(Details::DigestListAck(pb::DigestListAckError { digest_list_ack }))
        }
        StreamErrorCause::Other(message) => {
            let other = prost_types::Any { type_url: message.type_url, value: message.value };
            Some(Details::Other(pb::StreamOtherError { other: Some(other) }))
        }
        StreamErrorCause::Nothing => None,
    };
    response(pb::stream_message_response::Update::Error(pb::StreamError {
        canonical_code: error.code.number(),
        message: error.message,
        space: crate::request::ERROR_SPACE.to_owned(),
        details,
        ..pb::StreamError::default()
    }))
}

/// Decodes the error about a message of a controller.
pub fn decode_stream_error(error: pb::StreamError) -> StreamError {
    use pb::stream_error::Details;
    let cause = match error.details {
        Some(Details::PacketOut(of)) => {
            StreamErrorCause::PacketOut(decode_packet_out(of.packet_out.unwrap_or_default()))
        }
        Some(Details::DigestListAck(of)) => {
            StreamErrorCause::DigestAck(decode_digest_ack(of.digest_list_ack.unwrap_or_default()))
        }
        Some(Details::Other(of)) => StreamErrorCause::Other(decode_other(of.other.unwrap_or_default())),
        None => StreamErrorCause::Nothing,
    };
    StreamError { code: Code::of_number(error.canonical_code), message: error.message, cause }
}

/// Answers a `CapabilitiesRequest`: the version of P4Runtime, and the names of our own services as a
/// `google.protobuf.ListValue` of strings, if there are any.
pub fn capabilities(services: &[&str]) -> pb::CapabilitiesResponse {
    let value = |name: &&str| prost_types::Value {
        kind: Some(prost_types::value::Kind::StringValue((*name).to_owned())),
    };
    let list = prost_types::ListValue { values: services.iter().map(value).collect() };
    let any = || prost_types::Any { type_url: LIST_TYPE_URL.to_owned(), value: list.encode_to_vec() };
    pb::CapabilitiesResponse {
        p4runtime_api_version: API_VERSION.to_owned(),
        experimental: (!services.is_empty()).then(any),
    }
}
