//! The interface between a compiled program and its host, defined by `rt/sd_abi.h`.
//!
//! `structs` mirrors the C side value by value; [`layout`] reads the descriptors of one program; `ops` calls the
//! functions by which the control plane changes tables and objects.

pub mod layout;
pub(crate) mod ops;
mod structs;

pub use structs::*;
