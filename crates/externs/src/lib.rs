//! Extern functions and methods behind one interface, that of `rt/siding_extern.h`: built-in ones in Rust, and those of
//! users' libraries, which look the same.
//!
//! - [`abi`]: mirrors of the C structs;
//! - [`Library`]: a table of externs; [`Library::built_in`] has the built-in ones, `native` loads those of users;
//! - [`Declaration`]: the P4 declaration of an extern, compared with the calls of a program;
//! - [`ExternSet`]: libraries with their options; [`ExternSet::bind`] finds the functions for a program's calls;
//! - [`Session`]: one thread's states of bound externs; [`Session::call`] calls;
//! - [`supply`]: an adapter for backends that call by value;
//! - `dummy`, `aes`, `lz4`, `tree`: one module for each kind of built-in extern; [`values`]: values in memory, and those of the IR.
//!
//! Invariants: a call allocates nothing. The bounds that a function leaves are checked before any use. Headers
//! that the program has parsed keep their contents, whatever a function writes.
//!
//! Non-goals: loading shared objects (crate `native`); where and when calls run.
//!
//! Start reading at [`ExternSet`], then [`Session::call`].

pub mod abi;
mod adapter;
mod aes;
mod call;
mod calls;
mod declaration;
mod dummy;
mod esp;
mod library;
mod lz4;
mod packet;
mod session;
mod set;
mod signature;
mod tree;
pub mod values;

pub use adapter::{SupplyError, supply};
pub use calls::calls_of;
pub use declaration::Declaration;
pub use library::{Extern, Library, LibraryError};
pub use packet::{PACKET_BYTES_MAX, PacketFault, PacketPlace, PacketView};
pub use session::{Batch, BatchCall, BatchParts, Ended, OpenError, Session};
pub use set::{BindError, Bound, ExternSet};
pub use signature::{Arg, Signature, Value};
