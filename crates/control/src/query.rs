//! Queries of a control plane. `None` in a field means all (P4Runtime, "Wildcard Reads").

use crate::entity::{EntryRef, FieldMatch};
use crate::ids::*;

/// One query; the answer is a list of entities of one kind.
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
        /// The answer includes the counters per colour.
        with_counter_data: bool,
    },
    /// Direct meters of one table entry, of all entries of a table (`matches` empty), or of all tables.
    DirectMeters {
        entry: Option<EntryRef>,
        with_counter_data: bool,
    },
    Counters {
        counter: Option<CounterId>,
        index: Option<i64>,
    },
    /// Direct counters, with the conditions of `DirectMeters`.
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

/// Conditions on table entries. All of them must hold.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct EntryQuery {
    /// `None` selects all tables; of the other conditions only `is_default_action` counts then.
    pub table: Option<TableId>,
    /// The key of one entry; empty means any.
    pub matches: Vec<FieldMatch>,
    /// 0 means any.
    pub priority: i32,
    /// Selects entries with this action, with any parameters; only for tables without an action profile.
    pub action: Option<ActionId>,
    /// Empty means any.
    pub metadata: Vec<u8>,
    /// 0 means any.
    pub controller_metadata: u64,
    /// Selects the default entry instead of the other entries.
    pub is_default_action: bool,
    pub extras: Extras,
}

/// Optional fields that an answer includes with each entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Extras {
    pub meter_config: bool,
    pub counter_data: bool,
    pub meter_counter_data: bool,
    pub time_since_last_hit: bool,
}
