//! What a compiled program exports and is given, as `rt/sd_abi.h` says it.
//!
//! `structs` mirrors the C side value by value; [`layout`] reads the descriptors of one program; `ops` calls the
//! functions by which the control plane changes tables and objects.

pub mod layout;
pub(crate) mod ops;
mod structs;

pub use structs::*;
