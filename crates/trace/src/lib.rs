//! Events that backends report about a packet, and the stories made of them.
//!
//! - [`Variables`]: every part of every variable of a program has a number, its [`Slot`]; events name values by it;
//! - [`Event`]: one typed step of a packet; an [`Observer`] gets them while the packet runs;
//! - [`StoryBuilder`]: an observer that collects a [`Story`], which is data (versioned JSON, by `serde`) and, by
//!   [`render`], prose, whose first line is the summary;
//! - [`Follow`]: makes events of the places that traced native code passes; the interpreter implements it, and crate
//!   `native` uses it without knowing the interpreter;
//! - [`format`](mod@format): values as people read them: addresses, members of enums, hexadecimal digits.
//!
//! Invariants: both backends give the same events for the same packet. A story's JSON keeps the meaning of what it has;
//! parts are only added, and [`VERSION`] rises otherwise.
//!
//! Non-goals: running programs; files and output.
//!
//! Start reading at [`Event`], then [`StoryBuilder`].

mod calls;
mod causes;
mod drop_places;
mod event;
mod filter;
mod follow;
pub mod format;
mod layout;
mod places;
mod prose;
mod story;
mod story_builder;
mod summary;
mod variables;

pub use calls::{ExternArg, ExternCall};
pub use drop_places::{Both, DropPlaces};
pub use event::{Event, HitEntry, LookupOutcome, Observer, ParserOp, Silent};
pub use filter::Filter;
pub use follow::{Did, Follow, LookedUp, Seen, StatementEnd, Values};
pub use layout::{Layout, Leaf, LeafInfo, SLOTS_MAX, Slot, SlotRange};
pub use prose::{render, render_full};
pub use story::{At, Change, Hit, Matched, Named, Step, Story, VERSION, Verdict, What};
pub use story_builder::StoryBuilder;
pub use target::{PassKind, StopReason, TrafficEvent};
pub use variables::{LayoutError, Variables};
