//! A controller's end of the shared memory of `siding switch --shm-socket`, and the layout that both ends share.
//!
//! - [`Session`]: a connection, with batches of records ([`Batch`]), requests of P4Runtime as bytes, and messages;
//! - [`TableLayout`]: positions of keys and parameters in the records of a table;
//! - [`wire`]: positions in the two segments, requests and completions as words; [`Segment`]: mapped memory.
//!
//! There are two segments. The switch writes S and the client maps it read-only; the client writes C and the switch maps it
//! read-only. Both are sealed, so neither end can take memory away from the other.
//!
//! # Rings and sleep
//!
//! Each ring has one producer and one consumer. A cursor counts what was ever written or read, has one writer and a cache line of
//! its own. The producer writes an element and then stores its cursor with `Release`; the consumer loads the cursor with `Acquire`,
//! and reads the element.
//!
//! A consumer that finds nothing spins for [`wire::SPIN`]. Then it (1) sets its sleeping flag, (2) runs a sequentially consistent
//! fence, (3) looks at the cursors again, and (4) waits for a byte on the socket. A producer (a) stores its cursor, (b) runs a
//! sequentially consistent fence, (c) loads the other's sleeping flag, and (d) sends a byte if it is set. The two fences have an
//! order: if (2) comes first, (c) sees the flag and a byte is sent; otherwise (3) sees the cursor and nobody sleeps. A byte that
//! comes too late ends the next sleep early, which is harmless.
//!
//! The bytes travel over the socket and not through an eventfd: both ends would share its flags, so that a hostile client could
//! make the switch block on it.
//!
//! Start reading at [`Session`].

#![expect(unsafe_code, reason = "maps memory that two processes share")]

mod answers;
mod batch;
mod error;
mod hello;
mod options;
mod segment;
mod session;
mod table;
pub mod wire;

pub use batch::{Batch, Record};
pub use error::Error;
pub use options::Options;
pub use segment::{Access, Segment};
pub use session::{Outcome, Session};
pub use table::{ActionLayout, FieldLayout, KeyLayout, MatchKind, TableLayout, Tables};
