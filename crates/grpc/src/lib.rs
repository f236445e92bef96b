//! P4Runtime over gRPC (P4Runtime 1.5): the server of a switch, and a client of any server.
//!
//! - [`Device`]: the switch, as the server needs it;
//! - [`Server`]: listens until it is dropped;
//! - [`Local`]: the same service for controllers without gRPC;
//! - [`Client`]: requests that block, and the stream of a controller.
//!
//! Messages are translated by `p4runtime`, rules are those of `control`: this crate has the order of checks, streams, pipeline
//! configs, and threads. Calls of the device may block, so they are made on threads for that.
//!
//! Start reading at [`Device`] and `service.rs`.

mod answers;
mod bounded;
mod bulk;
mod bulk_read;
mod client;
mod connections;
mod device;
mod encoded;
mod failure;
mod followers;
mod http2;
mod leaves;
mod lists;
mod local;
mod messages;
mod outbox;
mod own_p4info;
mod pipeline;
mod programs;
mod raw;
mod readers;
mod server;
mod service;
mod shared;
mod steps;
mod stream;
mod tls;
mod turn;
mod unary;
mod writer;

/// The service as tonic generates it, with its client.
#[allow(clippy::all, clippy::pedantic, reason = "written by tonic-prost-build")]
pub mod p4_v1 {
    include!("generated/p4.v1.rs");
}

/// The service for entries in columns, with its client.
#[allow(clippy::all, clippy::pedantic, reason = "written by tonic-prost-build")]
pub mod bulk_v1 {
    include!("generated/siding.bulk.v1.rs");
}

pub use client::{Client, ClientTls, ConnectError, Failure, Next, PORT, ServerAddress, Stream};
pub use device::{Before, ConfigFault, Copy, Device, Messages, Packet, Work};
pub use local::{Local, Program, RecordSet, UpdateCounts};
pub use outbox::Inbox;
pub use own_p4info::check_p4info;
pub use server::{Address, Limits, Listener, Server, ServerOptions, StartError};
pub use stream::Requests;
pub use tls::Tls;
pub use writer::Writer;
