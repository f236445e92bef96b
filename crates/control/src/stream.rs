//! Messages on the stream between a switch and a controller, besides arbitration (P4Runtime, "StreamChannel").

use crate::data::Data;
use crate::entity::TableEntry;
use crate::fault::{Code, Fault};
use crate::ids::DigestId;
use crate::packets::ControllerPacket;

/// Messages of a digest, in one list. The controller acknowledges it by its ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestList {
    pub digest: DigestId,
    /// Larger than that of any list before.
    pub list: u64,
    pub messages: Vec<Data>,
    /// Nanoseconds since 1970.
    pub timestamp_ns: i64,
}

/// Acknowledgement of a [`DigestList`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DigestAck {
    pub digest: DigestId,
    pub list: u64,
}

/// Entries without a hit for the time that the controller has set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleNotice {
    /// Never empty.
    entries: Vec<TableEntry>,
    /// Nanoseconds since 1970.
    timestamp_ns: i64,
}

impl IdleNotice {
    /// Makes a notice of key, metadata and timeout of each entry. `None` without entries.
    pub fn new(entries: impl IntoIterator<Item = TableEntry>, timestamp_ns: i64) -> Option<IdleNotice> {
        let entry = |of: TableEntry| TableEntry {
            metadata: of.metadata,
            controller_metadata: of.controller_metadata,
            idle_timeout_ns: of.idle_timeout_ns,
            ..TableEntry::new(of.table, of.matches, of.priority)
        };
        let entries: Vec<TableEntry> = entries.into_iter().map(entry).collect();
        (!entries.is_empty()).then_some(IdleNotice { entries, timestamp_ns })
    }

    pub fn entries(&self) -> &[TableEntry] {
        &self.entries
    }

    /// Nanoseconds since 1970.
    pub fn timestamp_ns(&self) -> i64 {
        self.timestamp_ns
    }
}

/// A message of a type that P4Runtime does not define, as in `google.protobuf.Any`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OtherMessage {
    pub type_url: String,
    pub value: Vec<u8>,
}

/// A message of a controller that the switch has not carried out. The stream stays open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamError {
    pub code: Code,
    pub message: String,
    pub cause: StreamErrorCause,
}

/// The message that a [`StreamError`] is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamErrorCause {
    PacketOut(ControllerPacket),
    DigestAck(DigestAck),
    Other(OtherMessage),
    /// The message had no contents.
    Nothing,
}

impl StreamError {
    /// The metadata of a packet is not that of the header `packet_out`.
    pub fn bad_packet(fault: &Fault, packet: ControllerPacket) -> StreamError {
        StreamError {
            // The code is the same for all faults of a packet, unlike those of updates.
            code: Code::InvalidArgument,
            message: format!("the packet was dropped: {fault}"),
            cause: StreamErrorCause::PacketOut(packet),
        }
    }

    /// The switch has no port for packets of controllers.
    pub fn no_cpu_port(packet: ControllerPacket) -> StreamError {
        let message = "the packet was dropped: the switch has no CPU port; start it with --cpu-port";
        StreamError {
            code: Code::FailedPrecondition,
            message: message.to_owned(),
            cause: StreamErrorCause::PacketOut(packet),
        }
    }

    /// Only the primary of a role that may send packets sends them.
    pub fn not_allowed(packet: ControllerPacket) -> StreamError {
        let message = "the packet was dropped: only the primary of a role that may send packets sends them";
        StreamError {
            code: Code::PermissionDenied,
            message: message.to_owned(),
            cause: StreamErrorCause::PacketOut(packet),
        }
    }

    /// The controller has not arbitrated on this stream.
    pub fn before_arbitration(cause: StreamErrorCause) -> StreamError {
        let message = "the message was dropped: send a MasterArbitrationUpdate on this stream first";
        StreamError { code: Code::FailedPrecondition, message: message.to_owned(), cause }
    }

    /// The program has no such digest.
    pub fn unknown_digest(ack: DigestAck) -> StreamError {
        StreamError {
            code: Code::InvalidArgument,
            message: format!("the program has no digest with id {}", ack.digest),
            cause: StreamErrorCause::DigestAck(ack),
        }
    }

    /// No message of this type is known.
    pub fn unknown_type(message: OtherMessage) -> StreamError {
        StreamError {
            code: Code::Unimplemented,
            message: format!("messages of the type `{}` are not supported", message.type_url),
            cause: StreamErrorCause::Other(message),
        }
    }

    /// The message had no contents.
    pub fn nothing_set() -> StreamError {
        StreamError {
            code: Code::InvalidArgument,
            message: "`update` is not set".to_owned(),
            cause: StreamErrorCause::Nothing,
        }
    }
}
