//! Generated C at run time: compiled by the system's C compiler, cached, loaded, checked and run.
//!
//! - [`abi`]: what a shared object exports and is given, as `rt/sd_abi.h` says it;
//! - [`compile()`]: from C text to a shared object, or to one that was compiled before;
//!
//! Invariants: a shared object is only used when its ABI version and size are ours, and stays loaded as long as
//! something made from it lives. A faulty cache entry is never used. Whatever the compiler does, the caller gets a
//! typed error.
//!
//! Non-goals: making C text; threads.
//!
//! Start reading at [`abi`].

pub mod abi;
mod build;
mod burst;
mod cache;
pub mod compile;
mod compiler;

mod control;
mod entries;
mod host;
mod instance;
pub mod layout;
mod load;
mod native;
mod native_store;
mod ops;
mod packet;
mod state;
mod values;
mod worker;

pub use build::{BuildError, BuildOptions, build, build_text};
pub use burst::{BurstPacket, Bursts, Fate, Path};
pub use cache::{CacheOptions, Cached};
pub use compile::{CompileError, CompileOptions, Machine, Optimise, P4Line, Refused, Trace, compile};
pub use compiler::CompilerError;
pub use control::Control;
pub use instance::{Instance, InstanceError, InstanceOptions};
pub use layout::Layout;
pub use load::{LoadError, Pipeline};
pub use native::{Listener, Native, NativeError, native_device};
pub use packet::Packet;
pub use worker::Worker;
