//! A traffic generator and sink over any kind of port.
//!
//! Key types: a [`Generator`] sends frames at a [`Rate`], each with a [`Signature`]; a [`Sink`] tells from the signatures what
//! was lost, duplicated, reordered or damaged, and how long it took. A [`Trial`] runs both on ports, each port on a thread of
//! its own. [`search()`] looks for the highest rate without loss (RFC 2544); a [`Replay`] sends a capture.
//!
//! Invariants: sizes are those of Ethernet frames with their check sequence of 4 bytes, while ports carry frames without it.
//! Times are nanoseconds of CLOCK_MONOTONIC. Sequence numbers begin with 0 in each trial, in each stream and flow. A packet that
//! a port refuses is counted as refused, never as lost.
//!
//! Non-goals: P4; opening ports; printing.
//!
//! Start reading at [`Trial`], then [`Generator`] and [`Sink`].

mod capture;
mod checksum;
mod clock;
mod error;
mod fill;
mod frames;
mod generator;
mod latency;
mod layers;
mod link;
mod pick;
mod range;
mod rate;
mod replay;
mod search;
mod sequence;
mod signature;
mod sink;
mod sizes;
mod stalls;
mod station;
mod trial;

pub use capture::CapturedFrames;
pub use clock::now_ns;
pub use error::{OptionsError, TrafficError};
pub use frames::{FlowOptions, Protocol, Vlan};
pub use generator::{Content, Generator, GeneratorOptions, GeneratorResult};
pub use latency::Latency;
pub use link::{LinkPort, NullPort, link};
pub use pick::FlowOrder;
pub use range::{Mac, Ordinal, Range};
pub use rate::{FCS_BYTES, LINE_OVERHEAD_BYTES, Pacer, Rate, Scaled};
pub use replay::{Pace, Recording, RecordingResult, Replay, ReplayOptions};
pub use search::{RunTrial, SearchOptions, SearchPoint, SearchTrial, search};
pub use sequence::{Arrival, SequenceTracker};
pub use signature::{Found, N_FLOWS_MAX, N_STREAMS_MAX, Payload, SIGNATURE_BYTES, Signature};
pub use sink::{ChecksumCheck, FlowCounts, Sink, SinkResult, StreamCounts, StreamResult};
pub use sizes::{FRAME_BYTES_MAX, Sizes};
pub use stalls::{STALL_NS, Stalls};
pub use station::{Control, IdleMode, PortProgress, Receiver, Sender, Station, StationResult};
pub use trial::{DRAIN_DEFAULT, Totals, Trial, TrialResult};
