//! The story of a packet: events as they happen, and written down.

mod event;

pub use event::{Event, LookupOutcome, Observer, ParserOp, PassKind, Silent, TrafficEvent};

pub use crate::exec::StopReason;
