//! Entries of tables and action profiles.

use super::{ColourCounts, Count, DirectCells, MeterRates};
use ir::{Action, Match};

/// Names one entry as long as it lives; never used again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryHandle {
    /// Grows with every insertion.
    pub serial: u64,
    /// Position of the entry; only the store interprets it.
    pub slot: u32,
}

impl EntryHandle {
    /// The place behind the entry with this serial number, to continue a visit.
    pub fn behind(serial: u64) -> EntryHandle {
        EntryHandle { serial, slot: u32::MAX }
    }
}

/// The owner of direct counter and meter cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntryRef {
    Entry(EntryHandle),
    /// Nothing matched.
    Default,
}

/// One match for each key that is matched on; `None` matches everything.
pub type Matches = Vec<Option<Match>>;

/// An entry as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEntry {
    pub matches: Matches,
    /// Larger wins. 0 in tables without ternary, range or optional keys.
    pub priority: i32,
    pub action: EntryAction,
    /// 0: never.
    pub idle_timeout_ns: u64,
    /// In tables with a direct counter; `None`: 0 in a new entry, and unchanged in one that is modified.
    pub count: Option<Count>,
    /// In tables with a direct meter, whose buckets begin full; `None`: all packets are green.
    pub rates: Option<MeterRates>,
    /// In tables with a direct meter; `None`: 0 in a new entry, and unchanged in one that is modified.
    pub colours: Option<ColourCounts>,
    /// In tables that packets write; `None`: an entry that the control plane makes.
    pub carried: Option<Carried>,
}

/// Facts of an entry that only packets write, for one that is carried over from another program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    pub origin: Origin,
    /// The profile of its timeout; `None`: it has a timeout of its own, or none.
    pub profile: Option<u8>,
}

impl NewEntry {
    pub fn new(matches: Matches, priority: i32, action: Action) -> NewEntry {
        let action = EntryAction::Action(action);
        NewEntry {
            matches,
            priority,
            action,
            idle_timeout_ns: 0,
            count: None,
            rates: None,
            colours: None,
            carried: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryAction {
    Action(Action),
    /// A member of the table's action profile or selector.
    Member(u32),
    /// A group of the table's action selector.
    Group(u32),
    OneShot(OneShot),
}

/// A group that belongs to one entry.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct OneShot {
    pub actions: Vec<Weighted<Action>>,
    pub selection: Selection,
    /// Runs before the selected action, for every packet that hits the entry.
    pub group_action: Option<Action>,
}

/// How a one-shot selects an action for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Selection {
    /// By a hash of the selector keys: equal packets get the same action.
    #[default]
    Hash,
    /// At random, in proportion to the weights.
    Random,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weighted<T> {
    pub what: T,
    /// At least 1.
    pub weight: u32,
    /// Left out while this port is down.
    pub watch_port: Option<u32>,
}

/// Members of an action selector by their ids.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Group {
    pub members: Vec<Weighted<u32>>,
}

/// An entry as it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEntry {
    pub handle: EntryHandle,
    /// Bits that do not count are zero, what matches everything is `None`.
    pub matches: Matches,
    pub priority: i32,
    pub action: StoredAction,
    /// The entry's own timeout, 0 for none. An entry with a profile has that of the profile.
    pub idle_timeout_ns: u64,
    /// The profile of its timeout, in tables with state.
    pub profile: Option<u8>,
    /// Its author.
    pub origin: Origin,
    /// Neither modified nor deleted.
    pub is_const: bool,
    /// When it was inserted or modified, before the first hit.
    pub last_hit_ns: u64,
    pub direct: DirectCells,
}

/// The author of an entry. One that the control plane modifies keeps its origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// The control plane or the program.
    #[default]
    Control,
    /// A packet that missed.
    Packet,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredAction {
    Action(Action),
    Member(u32),
    Group(u32),
    /// A one-shot action set; the writer keeps its contents.
    OneShot,
}
