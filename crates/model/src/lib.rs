//! Cost models: predicted cycles per packet, and the memory and stages that a program takes on a switch chip.
//!
//! [`asynchronous`] predicts the throughput of a core, a share of whose packets reaches an asynchronous block: the core
//! runs the block itself, waits for another core, or goes on with other packets. It also simulates more workers and
//! offload workers than the machine has.
//!
//! [`asic`] packs the tables of a program into the memory blocks of a chip and places them in its stages.
//!
//! [`latency`] bounds the time that a packet takes through a worker that polls, and simulates its percentiles.
//!
//! Key types: [`asic::Chip`], [`asic::Problem`], [`asic::Placement`]; [`asynchronous::Scene`],
//! [`asynchronous::Prediction`], [`asynchronous::Outcome`].
//!
//! Invariants: nothing here reads a clock; the same scene and seed give the same outcome. Times are cycles, of whatever
//! counter the scene's are. Only the integer program of [`asic::exact`] has a time limit, and what it does not find in time is open.
//!
//! Non-goals: measuring (`siding bench`), and pipelines of hardware (`hazard`).
//!
//! Start reading in `asynchronous.rs` or `asic/mod.rs`.

pub mod asic;
pub mod asynchronous;
pub mod cpu;
pub mod latency;
mod random;
mod simulation;
