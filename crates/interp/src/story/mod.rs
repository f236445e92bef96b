//! The story of a packet: events as they happen, and written down.
//!
//! An [`Observer`] hears [`Event`]s while the packet runs; [`StoryBuilder`] is one that makes a [`Story`] of them, which
//! is data for programs (JSON) and, [rendered](render), prose for people.

mod event;
mod format;
mod model;
mod story_builder;
mod text;

pub use event::{Event, HitEntry, LookupOutcome, Observer, ParserOp, Silent};
pub use model::{At, Change, Hit, Matched, Named, Step, Story, VERSION, Verdict, What};
pub use story_builder::StoryBuilder;
pub use target::{PassKind, StopReason, TrafficEvent};
pub use text::render;
