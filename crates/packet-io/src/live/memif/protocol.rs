//! Messages of the control channel (memif version 2.0). Each is 128 bytes in a packet of its own, in the byte order of the machine;
//! a descriptor travels beside it.

use std::fmt;

pub(super) const MESSAGE_BYTES: usize = 128;
/// Version 2.0.
pub(super) const VERSION: u16 = 2 << 8;
/// The largest logarithm of the number of slots of a ring.
pub(super) const LOG2_RING_SIZE_MAX: u8 = 14;
/// Regions of memory that a client may have.
pub(super) const N_REGIONS_MAX: usize = 256;
/// Rings in each direction.
pub(super) const N_RINGS_MAX: u16 = 256;
const SECRET_BYTES: usize = 24;
const NAME_BYTES: usize = 32;
const REASON_BYTES: usize = 96;
/// The ring leads from the client to the server.
const TO_SERVER: u16 = 1;
const ETHERNET: u8 = 0;

/// A ring in shared memory, as the client describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RingMessage {
    pub to_server: bool,
    pub index: u16,
    pub region: u16,
    /// The ring's place in its region, in bytes.
    pub offset: u32,
    pub log2_size: u8,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Message {
    Ack,
    /// The server's limits.
    Hello {
        min_version: u16,
        max_version: u16,
        /// The largest index of a ring in each direction.
        max_to_client: u16,
        max_to_server: u16,
        max_log2_ring_size: u8,
    },
    /// Asks for an interface of the server.
    Init {
        version: u16,
        id: u32,
        is_ethernet: bool,
        secret: String,
    },
    /// Memory, whose descriptor comes with the message.
    AddRegion {
        index: u16,
        n_bytes: u64,
    },
    /// A ring, whose event descriptor comes with the message.
    AddRing(RingMessage),
    Connect,
    Connected,
    Disconnect {
        reason: String,
    },
}

/// A message that breaks the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Malformed {
    Length(usize),
    Type(u16),
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Malformed::Length(n) => write!(f, "a message of {n} bytes"),
            Malformed::Type(n) => write!(f, "a message of type {n}"),
        }
    }
}

/// Writes values one after the other.
struct Writer {
    bytes: [u8; MESSAGE_BYTES],
    at: usize,
}

impl Writer {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.at..][..bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }

    /// Cut so that a zero follows.
    fn text(&mut self, text: &str, n_bytes: usize) {
        let n = text.len().min(n_bytes - 1);
        self.bytes[self.at..][..n].copy_from_slice(&text.as_bytes()[..n]);
        self.at += n_bytes;
    }
}

/// Reads values one after the other.
struct Reader<'m> {
    bytes: &'m [u8; MESSAGE_BYTES],
    at: usize,
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let taken = std::array::from_fn(|i| self.bytes[self.at + i]);
        self.at += N;
        taken
    }

    fn u8(&mut self) -> u8 {
        let [value] = self.take();
        value
    }

    fn u16(&mut self) -> u16 {
        u16::from_ne_bytes(self.take())
    }

    fn u32(&mut self) -> u32 {
        u32::from_ne_bytes(self.take())
    }

    /// Up to the first zero, without what terminals would obey.
    fn text(&mut self, n_bytes: usize) -> String {
        let field = &self.bytes[self.at..][..n_bytes];
        self.at += n_bytes;
        let end = field.iter().position(|byte| *byte == 0).unwrap_or(n_bytes);
        String::from_utf8_lossy(&field[..end]).replace(char::is_control, "?")
    }
}

impl Message {
    /// For people, without its content.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Message::Ack => "Ack",
            Message::Hello { .. } => "Hello",
            Message::Init { .. } => "Init",
            Message::AddRegion { .. } => "AddRegion",
            Message::AddRing(_) => "AddRing",
            Message::Connect => "Connect",
            Message::Connected => "Connected",
            Message::Disconnect { .. } => "Disconnect",
        }
    }

    fn number(&self) -> u16 {
        match self {
            Message::Ack => 1,
            Message::Hello { .. } => 2,
            Message::Init { .. } => 3,
            Message::AddRegion { .. } => 4,
            Message::AddRing(_) => 5,
            Message::Connect => 6,
            Message::Connected => 7,
            Message::Disconnect { .. } => 8,
        }
    }

    /// `name` is this end's, for the peer to show.
    pub(super) fn encode(&self, name: &str) -> [u8; MESSAGE_BYTES] {
        let mut to = Writer { bytes: [0; MESSAGE_BYTES], at: 0 };
        to.put(&self.number().to_ne_bytes());
        match self {
            Message::Ack => {}
            Message::Hello { min_version, max_version, max_to_client, max_to_server, max_log2_ring_size } => {
                to.text("siding", NAME_BYTES);
                to.put(&min_version.to_ne_bytes());
                to.put(&max_version.to_ne_bytes());
                to.put(&(N_REGIONS_MAX as u16 - 1).to_ne_bytes());
                to.put(&max_to_client.to_ne_bytes());
                to.put(&max_to_server.to_ne_bytes());
                to.put(&[*max_log2_ring_size]);
            }
            Message::Init { version, id, is_ethernet, secret } => {
                to.put(&version.to_ne_bytes());
                to.put(&id.to_ne_bytes());
                to.put(&[if *is_ethernet { ETHERNET } else { ETHERNET + 1 }]);
                to.text(secret, SECRET_BYTES);
                to.text("siding", NAME_BYTES);
            }
            Message::AddRegion { index, n_bytes } => {
                to.put(&index.to_ne_bytes());
                to.put(&n_bytes.to_ne_bytes());
            }
            Message::AddRing(ring) => {
                to.put(&if ring.to_server { TO_SERVER } else { 0 }.to_ne_bytes());
                to.put(&ring.index.to_ne_bytes());
                to.put(&ring.region.to_ne_bytes());
                to.put(&ring.offset.to_ne_bytes());
                to.put(&[ring.log2_size]);
                // No private header.
                to.put(&0u16.to_ne_bytes());
            }
            Message::Connect | Message::Connected => to.text(name, NAME_BYTES),
            Message::Disconnect { reason } => {
                to.put(&0u32.to_ne_bytes());
                to.text(reason, REASON_BYTES);
            }
        }
        to.bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Message, Malformed> {
        let bytes: &[u8; MESSAGE_BYTES] = bytes.try_into().map_err(|_| Malformed::Length(bytes.len()))?;
        let mut from = Reader { bytes, at: 0 };
        Ok(match from.u16() {
            1 => Message::Ack,
            2 => {
                let _name = from.text(NAME_BYTES);
                let (min_version, max_version, _max_region) = (from.u16(), from.u16(), from.u16());
                let (max_to_client, max_to_server) = (from.u16(), from.u16());
                let max_log2_ring_size = from.u8();
                Message::Hello { min_version, max_version, max_to_client, max_to_server, max_log2_ring_size }
            }
            3 => Message::Init {
                version: from.u16(),
                id: from.u32(),
                is_ethernet: from.u8() == ETHERNET,
                secret: from.text(SECRET_BYTES),
            },
            4 => Message::AddRegion { index: from.u16(), n_bytes: u64::from_ne_bytes(from.take()) },
            5 => Message::AddRing(RingMessage {
                to_server: from.u16() & TO_SERVER != 0,
                index: from.u16(),
                region: from.u16(),
                offset: from.u32(),
                log2_size: from.u8(),
            }),
            6 => Message::Connect,
            7 => Message::Connected,
            8 => {
                let _code = from.u32();
                Message::Disconnect { reason: from.text(REASON_BYTES) }
            }
            other => return Err(Malformed::Type(other)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn messages_are_read_as_they_are_written() {
        let ring = RingMessage { to_server: true, index: 3, region: 1, offset: 0x1234_5678, log2_size: 10 };
        for message in [
            Message::Ack,
            Message::Hello {
                min_version: VERSION,
                max_version: VERSION,
                max_to_client: 7,
                max_to_server: 8,
                max_log2_ring_size: 14,
            },
            Message::Init { version: VERSION, id: 70_000, is_ethernet: false, secret: "abc".to_owned() },
            Message::AddRegion { index: 2, n_bytes: 1 << 40 },
            Message::AddRing(ring),
            Message::AddRing(RingMessage { to_server: false, ..ring }),
            Message::Connect,
            Message::Connected,
            Message::Disconnect { reason: "because".to_owned() },
        ] {
            assert_eq!(Message::decode(&message.encode("name")), Ok(message));
        }
    }

    #[test]
    fn places_of_values_are_those_of_version_2() {
        let ring =
            RingMessage { to_server: true, index: 0x0203, region: 4, offset: 0x0506_0708, log2_size: 9 };
        let bytes = Message::AddRing(ring).encode("");
        let le = |n: usize| u16::from_ne_bytes([bytes[n], bytes[n + 1]]);
        assert_eq!((le(0), le(2), le(4), le(6), bytes[12]), (5, 1, 0x0203, 4, 9));
        let long = "x".repeat(200);
        let bytes = Message::Disconnect { reason: long }.encode("");
        assert_eq!((bytes[6 + 94], bytes[6 + 95], bytes[6 + 96]), (b'x', 0, 0));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_message_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200), number in 0u16..12) {
            let mut bytes = bytes;
            if let Some(first) = bytes.get_mut(..2) {
                first.copy_from_slice(&number.to_ne_bytes());
            }
            match Message::decode(&bytes) {
                Ok(message) => prop_assert_eq!(Message::decode(&message.encode("")).unwrap().number(), number),
                Err(Malformed::Length(n)) => prop_assert!(n == bytes.len() && n != MESSAGE_BYTES),
                Err(Malformed::Type(n)) => prop_assert!(n == number && !(1..9).contains(&n)),
            }
        }
    }
}
