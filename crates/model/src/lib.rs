//! Cost models: predicted cycles per packet.
//!
//! [`asynchronous`] predicts the throughput of a core, a share of whose packets reaches an asynchronous block: the core
//! runs the block itself, waits for another core, or goes on with other packets. It also simulates more workers and
//! offload workers than the machine has.
//!
//! Key types: [`asynchronous::Scene`], [`asynchronous::Prediction`], [`asynchronous::Outcome`].
//!
//! Invariants: nothing here reads a clock; the same scene and seed give the same outcome. Times are cycles, of whatever
//! counter the scene's are.
//!
//! Non-goals: measuring (`siding bench`), and pipelines of hardware (`hazard`).
//!
//! Start reading in `asynchronous.rs`.

pub mod asic;
pub mod asynchronous;
mod simulation;
