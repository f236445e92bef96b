//! P4Info and P4Runtime: what a control plane can know of a P4 program, and
//! the messages with which it speaks to the device.
//!
//! [`build()`] makes [`P4Info`] and the initial entries of a checked program; `build/` has a file for each
//! kind of object. Below it is the protobuf layer:
//!
//! - [`proto`]: Rust types of every P4Runtime v1 message, generated from our
//!   own definitions in `proto/` and committed (`tests/generated.rs` checks
//!   that they have not drifted);
//! - [`encoding`]: text, JSON and binary forms of [`P4Info`] and
//!   [`WriteRequest`];
//! - [`mod@compare`]: the places where two messages differ in meaning;
//! - [`ids`] and [`alias`]: how objects get their numbers and short names;
//! - [`bytes`]: numbers as byte strings;
//! - [`goldens`]: all of the above against p4c's expected outputs.
//!
//! `RULES.md`, reproduced in [`rules`], says how P4Info and the entries follow
//! from a program.
//!
//! Invariants: an encoding depends on the message alone (map entries are
//! sorted), so equal messages have equal encodings; ids and aliases depend on
//! the *set* of names, not on the order in which they were added, as p4c's do.
//!
//! Not here: a P4Runtime server. It can be generated from
//! [`proto::FILE_DESCRIPTOR_SET`] with these types as its messages.
//!
//! Start reading at [`build()`], or at [`encoding`] for the messages.

pub mod alias;
mod build;
pub mod bytes;
pub mod codes;
pub mod compare;
pub mod encoding;
pub mod goldens;

pub mod ids;
pub mod proto;
mod text;

#[doc = include_str!("../RULES.md")]
pub mod rules {}

pub use build::{Built, ControllerHeaderFields, build};
pub use compare::{ABSENT, Difference, compare, compare_write_requests};
pub use encoding::{
    DecodeError, Format, Position, UnknownSuffix, decode_p4info, decode_write_request, encode_p4info,
    encode_write_request,
};
pub use ids::{IdError, ObjectKind, SymbolTable, Symbols, assign_member_ids};
pub use proto::p4::config::v1::P4Info;
pub use proto::p4::v1::WriteRequest;
