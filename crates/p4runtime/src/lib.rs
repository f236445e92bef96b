//! P4Runtime's messages as entities of [`control`], and back. Translation only: what is allowed is decided by
//! [`control::validate()`], what is stored by the [`control::Target`].
//!
//! - [`write()`]: a `WriteRequest`, applied; one result for each update;
//! - [`wire`]: the same from the bytes of a request, fast for many entries;
//! - [`bulk`]: entries in columns;
//! - [`read()`]: a `ReadRequest`, answered; one result for each entity asked for;
//! - [`decode_update`], [`decode_query`], [`encode_entity`]: the parts of these;
//! - [`Responses`], [`shortened`]: answers that clients accept;
//! - [`check_bounds`]: whether a message takes too much memory when it is decoded;
//! - [`decode_arbitration`], [`encode_notice`]: elections between controllers;
//! - [`decode_stream_request`], [`encode_packet_in`] and others: messages of streams;
//! - [`decode_pipeline_change`], [`config_response`]: programs;
//! - [`status`], [`request_status`]: results as the `google.rpc.Status` that gRPC carries.
//!
//! Invariants: faults have paths inside the request: `updates[3].entity.table_entry.match[0].exact.value`.
//! Decoding a number never fails: one that does not fit keeps its value, and validation says so. Encoding
//! writes the canonical form, so that what was written is what is read (P4Runtime, "Read-Write Symmetry"); only
//! the deprecated fields for ports come back as their successors. No message makes anything here panic.
//!
//! Not here: gRPC, the state of sessions (see [`control::session`]).
//!
//! Start reading at [`write()`].

mod answers;
mod bounds;
pub mod bulk;
mod data;
mod decode;
mod encode;
mod pipeline;
mod query;
mod reading;
mod request;
mod session;
mod stream;
pub mod wire;

pub use answers::{RESPONSE_BYTES_MAX, Responses, STATUS_BYTES_MAX, shortened};
pub use bounds::{Bounded, TooMany, check as check_bounds};
pub use data::{decode_data, encode_data};
pub use decode::decode_update;
pub use encode::encode_entity;
pub use pipeline::{
    config_response, decode_config, decode_config_parts, decode_pipeline_change, encode_config,
};
pub use query::decode_query;
pub use reading::{Answer, Found, read};
pub use request::{encode_answer, request_status, status, write, write_if};
pub use session::{decode_arbitration, decode_role_config, encode_notice, pipeline_claim, write_claim};
pub use stream::{
    StreamRequest, capabilities, decode_digest_list, decode_idle_notice, decode_packet_in,
    decode_stream_error, decode_stream_request, encode_digest_ack, encode_digest_list, encode_idle_notice,
    encode_packet_in, encode_packet_out, encode_stream_error,
};

use control::Fault;
use std::fmt::Display;

/// Adds a step to the path of a fault that is returned to the caller. Steps are printed for faults only: write those with
/// an index as `format_args!`.
trait Inside {
    fn inside(self, step: impl Display) -> Self;
}

impl<T> Inside for Result<T, Fault> {
    fn inside(self, step: impl Display) -> Self {
        self.map_err(|fault| fault.inside(step))
    }
}
