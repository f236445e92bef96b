//! Executes the IR: the meaning of a program, step by step.
//!
//! - [`Executable`]: a program made ready to run: every part of every variable has a slot in one flat frame,
//!   graphs are code over slots;
//! - [`Machine`]: runs one block for one packet, whose state is a [`PacketState`];
//! - [`Tables`]: entries, action profiles and value sets;
//! - [`ExternHost`]: what extern functions and objects do; `externs` implements it for all architectures;
//! - [`Interpreter`]: all of that for one program, the [`BlockRunner`](target::BlockRunner) of a [`Switch`]; what is not
//!   execution (traffic, the control plane's view) is in crate `target`;
//! - [`InterpretedDevice`]: such a switch with its control plane;
//! - [`Follower`]: makes the same events of what traced native code does;
//! - [`Observer`]: hears of every step (crate `trace`).
//!
//! Invariants: the same packets, times and writes give the same results, always. Nothing here panics or
//! recurses per packet, for any program, packets and entries; a step budget ends programs that do not
//! terminate.
//!
//! Non-goals: speed beyond what tests need (the compiler to C is for that); files, clocks, threads.
//!
//! Start reading at [`Executable`], then [`Machine`].

pub mod exec;
pub mod externs;
mod interpreter;
pub mod load;
pub mod meter;
pub mod table;

pub use exec::{
    Access, BlockEnd, ExternEnd, ExternHost, Follower, Frame, Machine, NoExterns, PacketState, StopReason,
};
pub use interpreter::{InterpretedDevice, Interpreter, Switch, interpreter, switch};
pub use load::{Executable, ExternArg, ExternCall, LoadError, Slot, SlotRange};
pub use table::{EntryHandle, EntryRef, Tables};
pub use target::traffic;
pub use trace::{Event, Observer, Silent};
