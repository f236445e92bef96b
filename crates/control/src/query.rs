//! What a control plane can ask for. `None` means all of them (P4Runtime, "Wildcard Reads").

use crate::entity::{EntryRef, FieldMatch};
use crate::ids::*;

/// One question; the answer is a list of entities of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Query {
    TableEntries(EntryQuery),
    Members {
        profile: Option<ProfileId>,
        member: Option<MemberId>,
    },
    Groups {
        profile: Option<ProfileId>,
        group: Option<GroupId>,
    },
    Meters {
        meter: Option<MeterId>,
        index: Option<i64>,
        /// The answer has the counters of the colours as well.
        with_counter_data: bool,
    },
    /// Of one table entry, of all entries of a table (`matches` empty), or of all tables.
    DirectMeters {
        entry: Option<EntryRef>,
        with_counter_data: bool,
    },
    Counters {
        counter: Option<CounterId>,
        index: Option<i64>,
    },
    /// As `DirectMeters`.
    DirectCounters {
        entry: Option<EntryRef>,
    },
    Registers {
        register: Option<RegisterId>,
        index: Option<i64>,
    },
    MulticastGroups(Option<MulticastGroupId>),
    CloneSessions(Option<CloneSessionId>),
    ValueSets(Option<ValueSetId>),
    Digests(Option<DigestId>),
    Externs {
        extern_type: Option<ExternTypeId>,
        instance: Option<ExternId>,
    },
}

/// Which table entries. All conditions must hold.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct EntryQuery {
    /// `None`: of all tables, and no other condition counts.
    pub table: Option<TableId>,
    /// The key of one entry; empty means any.
    pub matches: Vec<FieldMatch>,
    /// 0 means any.
    pub priority: i32,
    /// Entries with this action, whatever its parameters; for tables without an action profile.
    pub action: Option<ActionId>,
    /// Empty means any.
    pub metadata: Vec<u8>,
    /// 0 means any.
    pub controller_metadata: u64,
    /// The default entry instead of the others.
    pub is_default_action: bool,
    pub extras: Extras,
}

/// What an answer has beside the entry itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Extras {
    pub meter_config: bool,
    pub counter_data: bool,
    pub meter_counter_data: bool,
    pub time_since_last_hit: bool,
}
