//! Generated C at run time: compiled by the system's C compiler, cached, loaded, checked and run.
//!
//! - [`abi`]: what a shared object exports and is given, as `rt/sd_abi.h` says it;
//! - `toolchain`: from a program to a [`Pipeline`] ([`build()`]): C text, [`compile()`]d or found in the cache, loaded;
//!   [`executable`] makes C programs that run on their own, for benchmarks;
//! - `instance`: tables and objects of a pipeline ([`Instance`]); [`Control`] writes and reads them;
//!   [`load_extern_library`] adds users' externs;
//! - `exec`: a [`PipelineWorker`] runs packets, [`Bursts`] is its fast path, [`Native`] the block runner of a
//!   [`target::Device`] (see [`native_device`]); `exec::trace` makes [`Event`](::trace::Event)s of traced code;
//! - `offload`: asynchronous blocks on other threads.
//!
//! Invariants: a shared object is only used when its ABI version and size are ours, and stays loaded as long as
//! something made from it lives. A faulty cache entry is never used. Whatever the compiler does, the caller gets a
//! typed error.
//!
//! Non-goals: making C text (crate `codegen`); starting threads; ports.
//!
//! Start reading at [`build()`], then [`Native`]; `rt/README.md` says what the C side is.

pub mod abi;
mod exec;
mod instance;
mod offload;
mod toolchain;

pub(crate) use externs::values;

pub use abi::layout::{self, Layout};
pub use exec::burst::{BurstPacket, Bursts, Fate, Path, Processed, Resumed};
pub use exec::native::{Listener, Native, NativeError, Observing, native_device, native_device_on};
pub use exec::packet::Packet;
pub use exec::worker::PipelineWorker;
pub use externs::OpenError;
pub use instance::control::Control;
pub use instance::extern_library::{ExternLibraryError, load_extern_library};
pub use instance::{BurstPath, Instance, InstanceError, InstanceOptions};
pub use offload::channel::{
    AsyncCounts, AsyncError, AsyncMode, BATCH_MAX, CAPACITY_DEFAULT, Choice, HANG_TIMEOUT_DEFAULT,
    OffloadPolicy, OffloadWorker, Times, WhenFull,
};
pub use offload::inline_offload::InlineOffload;
pub use offload::watchdog::OffloadWatchdog;
pub use toolchain::build::{BuildError, BuildOptions, build, build_text, build_text_with};
pub use toolchain::cache::{CacheError, CacheOptions, Cached, cache_note};
pub use toolchain::compile::{
    self, CompileError, CompileOptions, Machine, Optimise, P4Line, Refused, Trace, compile,
};
pub use toolchain::compiler::CompilerError;
pub use toolchain::executable;
pub use toolchain::load::{LoadError, Pipeline};
pub use toolchain::private_dir::{Symlinks, open_private_dir};
