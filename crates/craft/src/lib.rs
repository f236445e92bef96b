//! Packets from text: `eth(dst=02:00:00:00:00:01)/ipv4(dst=10.0.2.2)/udp(dport=53)/"payload"`.
//!
//! [`packet`] turns text into the bytes of a packet. [`LAYERS`] is the list of layers with their fields, in the order in
//! which they lie in the packet; parsing, encoding and the table of `docs/reference/packets.md` all follow it.
//! [`hex`] reads plain hexadecimal digits. [`layers()`] is the way back, for Ethernet frames.
//!
//! Invariants: a field that the text does not give has its default, and lengths, checksums and the number of the next
//! protocol follow from the rest of the packet. A packet has at most [`BYTES_MAX`] bytes and [`LAYERS_MAX`] layers. No
//! text makes anything here panic; a [`Fault`] says where the text is wrong and what to write instead.
//!
//! Non-goals: protocols that are not in [`LAYERS`]; files.
//!
//! Start reading at [`packet`], then [`LAYERS`].

mod decode;
mod encode;
mod fault;
mod hex;
mod layers;
mod parse;
mod value;

pub use decode::layers;
pub use fault::Fault;
pub use hex::{hex, is_hex};
pub use layers::{Field, Fill, Form, LAYERS, Layer};

/// Bytes of a packet at most: what the length field of IPv4 can say.
pub const BYTES_MAX: usize = 65_535;

/// Layers and pieces of payload of a packet at most.
pub const LAYERS_MAX: usize = 64;

/// The bytes of a packet written as layers with fields, separated by `/`.
///
/// # Errors
///
/// The first thing that is wrong with the text.
pub fn packet(text: &str) -> Result<Vec<u8>, Fault> {
    encode::encode(&parse::parse(text)?)
}

/// The bytes of a packet written in either way: hexadecimal digits, see [`hex()`], or layers, see [`packet`].
///
/// # Errors
///
/// The first thing that is wrong with the text.
pub fn bytes(text: &str) -> Result<Vec<u8>, Fault> {
    if is_hex(text) { hex(text) } else { packet(text) }
}
