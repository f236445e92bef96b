//! Switches under test: every backend behind one interface, for scripts, captures and random packets.
//!
//! - [`Dut`]: a switch under test, the trait that crate `stf` runs scripts on;
//! - [`BlockByBlock`]: the interpreter, or compiled code whose blocks are run one at a time;
//! - [`FastPath`]: compiled code that takes bursts, as live ports do;
//! - [`Offload`]: compiled code whose asynchronous blocks run at an offload worker, in one thread;
//! - [`Lockstep`]: several of them that get equal packets, compared packet by packet;
//! - [`Trial`]: a script and its transcripts; [`sweep`] runs it in bursts of every size;
//! - [`Stories`]: one story for each packet of a script.
//!
//! Invariants: two switches of one program that get equal packets, writes and times must send equal packets at equal
//! times. Nothing here reads files or clocks, or prints.
//!
//! Non-goals: the language of scripts (crate `stf`); compiling programs (crate `native`).
//!
//! Start reading at [`Dut`], then [`Trial`].

mod block_by_block;
mod fast_path;
mod lockstep;
mod offload;
mod stories;
mod sweep;
mod transcript;
mod trial;

pub use block_by_block::{BlockByBlock, Observed};
pub use fast_path::{Buffers, FastPath};
pub use lockstep::{Differs, Lockstep};
pub use offload::Offload;
pub use stf::{Arriving, ControlOnly, Dut};
pub use stories::Stories;
pub use sweep::{BURST_MAX, Failure, sweep};
pub use transcript::{Step, first_difference};
pub use trial::{Run, Trial};

/// How a program is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    Interpreter,
    /// Compiled code that takes bursts, see [`FastPath`].
    FastPath,
    /// Compiled code whose blocks are run one at a time, see [`BlockByBlock`].
    BlockByBlock,
    /// Compiled code, block by block, with events of every step.
    Traced,
}

impl Backend {
    /// The name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Interpreter => "the interpreter",
            Backend::FastPath => "the straight path of compiled code",
            Backend::BlockByBlock => "compiled code, block by block",
            Backend::Traced => "compiled code that tells every step",
        }
    }

    /// True if it runs compiled code.
    pub fn is_native(self) -> bool {
        match self {
            Backend::Interpreter => false,
            Backend::FastPath | Backend::BlockByBlock | Backend::Traced => true,
        }
    }

    /// True if it makes events of its steps, so that [`Stories`] can be told.
    pub fn makes_events(self) -> bool {
        match self {
            Backend::Interpreter | Backend::Traced => true,
            Backend::FastPath | Backend::BlockByBlock => false,
        }
    }
}
