//! Generated C at run time: compiled by the system's C compiler, cached, loaded, checked and run.
//!
//! - [`abi`]: what a shared object exports and is given, as `rt/sd_abi.h` says it;
//! - [`build()`]: from a program to a [`Pipeline`]: C text, [`compile()`]d or found as it was compiled before, loaded;
//! - [`Instance`]: its tables and objects; [`Control`] writes and reads them, a [`PipelineWorker`] runs packets;
//! - [`executable`]: C programs that run on their own, for benchmarks;
//! - [`load_extern_library`]: users' externs;
//! - `trace`: code that tells every step, heard as the interpreter's [`Event`](interp::Event)s;
//! - [`Native`]: the executor of a [`target::Device`], see [`native_device`]; [`Bursts`]: its straight path.
//!
//! Invariants: a shared object is only used when its ABI version and size are ours, and stays loaded as long as
//! something made from it lives. A faulty cache entry is never used. Whatever the compiler does, the caller gets a
//! typed error.
//!
//! Non-goals: making C text (crate `codegen`); starting threads; ports.
//!
//! Start reading at [`build()`], then [`Native`]; `rt/README.md` says what the C side is.

pub mod abi;
mod asynchronous;
mod build;
mod burst;
mod cache;
pub mod compile;
mod compiler;
mod inline_offload;

mod control;
mod entries;
pub mod executable;
mod extern_library;
mod host;
mod instance;
pub mod layout;
mod load;
mod native;
mod native_store;
mod ops;
mod packet;
mod quiesce;
mod state;
mod trace;
mod watchdog;
mod worker;

pub(crate) use externs::values;

pub use asynchronous::{
    AsyncCounts, AsyncError, AsyncMode, BATCH_MAX, CAPACITY_DEFAULT, Choice, HANG_TIMEOUT_DEFAULT,
    OffloadWorker, Times, Way, WhenFull,
};
pub use build::{BuildError, BuildOptions, build, build_text, build_text_with};
pub use burst::{BurstPacket, Bursts, Fate, Path, Resumed};
pub use cache::{CacheOptions, Cached};
pub use compile::{CompileError, CompileOptions, Machine, Optimise, P4Line, Refused, Trace, compile};
pub use compiler::CompilerError;
pub use control::{Control, TableUse};
pub use extern_library::{ExternLibraryError, load_extern_library};
pub use externs::OpenError;
pub use inline_offload::InlineOffload;
pub use instance::{BurstPath, Instance, InstanceError, InstanceOptions};
pub use layout::Layout;
pub use load::{LoadError, Pipeline};
pub use native::{Listener, Native, NativeError, Observing, native_device, native_device_on};
pub use packet::Packet;
pub use watchdog::OffloadWatchdog;
pub use worker::PipelineWorker;
