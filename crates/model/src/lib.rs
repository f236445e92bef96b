//! Cost models: predicted cycles per packet.
//!
//! [`asynchronous`] predicts what becomes of packets some of which come to an asynchronous block: how many a core can take
//! when it runs the block itself, waits for another core, or goes on with other packets; and simulates workers and
//! offload workers that the machine at hand does not have.
//!
//! Key types: [`asynchronous::Scene`], [`asynchronous::Prediction`], [`asynchronous::Outcome`].
//!
//! Invariants: nothing here reads a clock; the same scene and seed give the same outcome. Times are cycles, of whatever
//! counter the scene's are.
//!
//! Non-goals: measuring (`siding bench`), and pipelines of hardware (`hazard`).
//!
//! Start reading in `asynchronous.rs`.

pub mod asynchronous;
mod simulation;
