//! Controllers of the same machine through shared memory: the switch's end.
//!
//! - [`Server`]: listens at a Unix socket until it is dropped; each connection is a session with a thread of its own;
//! - [`describe`]: the layout of a table's records, as clients learn it; [`c_header`]: the same as structs of C.
//!
//! Formats and the argument about sleep are those of crate `shm-client`. A session is a controller under the rules of
//! [`grpc::Local`]: it arbitrates when it connects, and its end is the end of the connection.
//!
//! Invariants: memory of a client is copied once, and what is checked is the copy. The client can write to nothing that the
//! switch reads twice or trusts: cursors that make no sense end its session. A session never blocks another one, except that
//! writes take turns.
//!
//! Start reading at [`Server`], then `session.rs`.

mod counts;
mod describe;
mod header;
mod link;
mod request;
mod rings;
mod server;
mod session;
mod stream;

pub use counts::Counts;
pub use describe::describe;
pub use header::c_header;
pub use server::{Server, ServerOptions, StartError};
