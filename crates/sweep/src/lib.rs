//! Sweeps: many independent points whose results are lines of JSON in a file, so that a run can be interrupted, divided
//! among machines, and put together again.
//!
//! - [`Header`]: a sweep as plain data: its name and version, its arguments, its seed, and the keys of its points in order;
//! - [`Points`]: the results that are there, read from text and written as text;
//! - [`Results`]: the results of one run, in memory or in a file that grows by a line with each point;
//! - [`Shard`]: the share of the points that one of several runs makes;
//! - [`merge()`]: the points files of several runs as one;
//! - [`run()`]: points in threads.
//!
//! A points file has a first line for the header, then a line for each result. A line is written in one write, and a last
//! line without an end is dropped, because an interruption has cut it. A file with all points of its run is sorted: it is
//! written under another name and renamed.
//!
//! Invariants: a file with all points of a sweep has the same bytes however the points were divided and in whatever order
//! they were made. The seed of a point follows from the seed of the sweep and the key of the point alone. Results of
//! another header are never taken, and two results of one point that differ are an error.
//!
//! Non-goals: what a point computes; printing; starting other processes.
//!
//! Start reading at [`Results`].

mod error;
mod file;
mod header;
mod merge;
mod points;
mod run;
mod shard;

pub use error::Error;
pub use file::{Results, read};
pub use header::Header;
pub use merge::merge;
pub use points::Points;
pub use run::{Sink, run};
pub use shard::Shard;
