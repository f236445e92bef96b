//! The things that a control plane writes and reads (P4Runtime, "P4 Entity Messages").
//!
//! An entity says what was asked for, right or wrong: an index may be negative, a match may have the wrong
//! kind. [`validate()`](crate::validate()) separates them.

use ir::Bits;
use smol_str::SmolStr;

use crate::data::Data;
use crate::ids::*;

/// One thing that can be written or read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entity {
    TableEntry(TableEntry),
    ActionProfileMember(ActionProfileMember),
    ActionProfileGroup(ActionProfileGroup),
    Meter(MeterEntry),
    DirectMeter(DirectMeterEntry),
    Counter(CounterEntry),
    DirectCounter(DirectCounterEntry),
    Register(RegisterEntry),
    MulticastGroup(MulticastGroup),
    CloneSession(CloneSession),
    ValueSet(ValueSetEntry),
    Digest(DigestEntry),
    Extern(ExternEntry),
}

/// A value that the controller knows: of a key element or of an action parameter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    Bits(Bits),
    /// Of a `type` with `@p4runtime_translation` to `string`; exact and optional matches and parameters only.
    Text(SmolStr),
}

impl Value {
    pub fn bits(&self) -> Option<&Bits> {
        match self {
            Value::Bits(bits) => Some(bits),
            Value::Text(_) => None,
        }
    }
}

impl From<Bits> for Value {
    fn from(bits: Bits) -> Value {
        Value::Bits(bits)
    }
}

/// What one element of the key must be. An element without a `Match` may be anything.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Match {
    Exact(Value),
    Lpm {
        value: Bits,
        prefix_len: u32,
    },
    /// Bits outside the mask are zero in the value.
    Ternary {
        value: Bits,
        mask: Bits,
    },
    /// Both ends belong to it.
    Range {
        low: Bits,
        high: Bits,
    },
    Optional(Value),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldMatch {
    pub field: FieldId,
    pub value: Match,
}

/// A table entry, or the default entry of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableEntry {
    pub table: TableId,
    /// In any order; elements that may be anything are left out.
    pub matches: Vec<FieldMatch>,
    /// The larger wins. 0 exactly when the table has no ternary, range or optional key.
    pub priority: i32,
    /// `None` in a `Modify` leaves the action as it is, or resets the default action to that of the program.
    pub action: Option<TableAction>,
    /// This is the default entry, which has no matches.
    pub is_default_action: bool,
    /// Cannot be changed; set in answers only.
    pub is_const: bool,
    /// Any bytes; the controller gets them back.
    pub metadata: Vec<u8>,
    /// The older, narrower `metadata`.
    pub controller_metadata: u64,
    /// 0 means that the entry does not expire.
    pub idle_timeout_ns: i64,
    /// Set in answers only.
    pub time_since_last_hit_ns: Option<i64>,
    /// Of the direct meter. `None` in `Insert` and `Modify` means the default: everything is green.
    pub meter_config: Option<MeterConfig>,
    /// Of the direct counter. `None` in `Modify` leaves it as it is.
    pub counter_data: Option<CounterData>,
    /// Of the direct meter. A write can only reset them.
    pub meter_counter_data: Option<MeterCounterData>,
}

impl TableEntry {
    /// An entry with nothing but its key; [`TableEntry`] has public fields for the rest.
    pub fn new(table: TableId, matches: Vec<FieldMatch>, priority: i32) -> TableEntry {
        TableEntry {
            table,
            matches,
            priority,
            action: None,
            is_default_action: false,
            is_const: false,
            metadata: Vec::new(),
            controller_metadata: 0,
            idle_timeout_ns: 0,
            time_since_last_hit_ns: None,
            meter_config: None,
            counter_data: None,
            meter_counter_data: None,
        }
    }

    /// The default entry; without an action, a `Modify` resets it to what the program says.
    pub fn default_entry(table: TableId, action: Option<Action>) -> TableEntry {
        TableEntry {
            action: action.map(TableAction::Action),
            is_default_action: true,
            ..TableEntry::new(table, Vec::new(), 0)
        }
    }
}

/// What a hit does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TableAction {
    Action(Action),
    /// Of the table's action profile or selector.
    Member(MemberId),
    /// Of the table's action selector.
    Group(GroupId),
    OneShot(OneShot),
}

/// An action with action data.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Action {
    pub id: ActionId,
    /// In any order; all of them.
    pub params: Vec<Param>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Param {
    pub id: ParamId,
    pub value: Value,
}

/// A group and its members, written where it is used (P4Runtime, "One Shot Action Selector Programming").
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OneShot {
    /// Equal ones are not merged: an answer must have them as they were written.
    pub actions: Vec<WeightedAction>,
    pub selection_mode: SelectionMode,
    pub size_semantics: SizeSemantics,
    /// Runs before the selected action.
    pub group_action: Option<Action>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WeightedAction {
    pub action: Action,
    pub weight: i32,
    /// The action is left out while this port is down.
    pub watch_port: Option<Port>,
}

/// How a group selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum SelectionMode {
    /// As the program says.
    #[default]
    OfSelector,
    Hash,
    Random,
}

/// What the size of a group is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum SizeSemantics {
    /// As the program says.
    #[default]
    OfSelector,
    SumOfWeights,
    SumOfMembers,
}

/// A port as the controller names it: a number of any width, big endian without leading zeros, or a string,
/// depending on how the port type is translated.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(Box<[u8]>);

impl Port {
    /// Leading zeros do not count.
    pub fn from_bytes(bytes: &[u8]) -> Port {
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        let start = zeros.min(bytes.len().saturating_sub(1));
        Port(bytes[start..].into())
    }

    pub fn number(port: u64) -> Port {
        Port::from_bytes(&port.to_be_bytes())
    }

    /// What goes onto the wire.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// When it fits; a port whose type is a string has none, whatever comes out here.
    pub fn to_number(&self) -> Option<u64> {
        (self.0.len() <= 8).then(|| self.0.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }
}

/// The number, or the bytes where there are too many.
impl std::fmt::Display for Port {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.to_number() {
            Some(number) => write!(f, "{number}"),
            None => write!(f, "\"{}\"", self.0.escape_ascii()),
        }
    }
}

impl std::fmt::Debug for Port {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Port({self})")
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ActionProfileMember {
    pub profile: ProfileId,
    pub member: MemberId,
    pub action: Option<Action>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ActionProfileGroup {
    pub profile: ProfileId,
    pub group: GroupId,
    pub members: Vec<GroupMember>,
    /// 0 means as large as the target can; never changes while the group exists.
    pub max_size: i32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GroupMember {
    pub member: MemberId,
    pub weight: i32,
    /// The member is left out while this port is down.
    pub watch_port: Option<Port>,
}

/// A cell of an array of meters; all cells without an index.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MeterEntry {
    pub meter: MeterId,
    pub index: Option<i64>,
    /// `None` means the default: everything is green.
    pub config: Option<MeterConfig>,
    /// A write can only reset them.
    pub counter_data: Option<MeterCounterData>,
}

/// Which table entry a direct resource belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EntryRef {
    pub table: TableId,
    pub matches: Vec<FieldMatch>,
    pub priority: i32,
    pub is_default_action: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DirectMeterEntry {
    pub entry: EntryRef,
    pub config: Option<MeterConfig>,
    pub counter_data: Option<MeterCounterData>,
}

/// Rates are per second, in the unit of the meter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct MeterConfig {
    /// Committed rate.
    pub cir: i64,
    /// Committed burst.
    pub cburst: i64,
    /// Peak rate.
    pub pir: i64,
    /// Peak burst.
    pub pburst: i64,
    /// Excess burst of a single-rate three-colour meter.
    pub eburst: i64,
}

/// A cell of an array of counters; all cells without an index.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CounterEntry {
    pub counter: CounterId,
    pub index: Option<i64>,
    /// `None` changes nothing.
    pub data: Option<CounterData>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DirectCounterEntry {
    pub entry: EntryRef,
    /// `None` changes nothing.
    pub data: Option<CounterData>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct CounterData {
    pub n_bytes: i64,
    pub n_packets: i64,
}

/// One counter per colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct MeterCounterData {
    pub green: CounterData,
    pub yellow: CounterData,
    pub red: CounterData,
}

/// A cell of a register; all cells without an index.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RegisterEntry {
    pub register: RegisterId,
    pub index: Option<i64>,
    pub data: Option<Data>,
}

/// The whole contents of a value set.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ValueSetEntry {
    pub value_set: ValueSetId,
    pub members: Vec<ValueSetMember>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ValueSetMember {
    pub matches: Vec<FieldMatch>,
}

/// How the device sends digests; it sends none before an `Insert`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DigestEntry {
    pub digest: DigestId,
    pub config: Option<DigestConfig>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct DigestConfig {
    /// How long a digest may be held back to fill a list.
    pub max_timeout_ns: i64,
    /// How many digests a list may have; 0 means any number.
    pub max_list_size: i32,
    /// How long the same data is not sent again while it is not acknowledged.
    pub ack_timeout_ns: i64,
}

/// One copy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Replica {
    pub egress_port: Port,
    pub instance: u32,
    /// Where the copy goes while `egress_port` is down, in order of preference.
    pub backups: Vec<BackupReplica>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BackupReplica {
    pub egress_port: Port,
    pub instance: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MulticastGroup {
    pub group: MulticastGroupId,
    pub replicas: Vec<Replica>,
    /// Any bytes; the controller gets them back.
    pub metadata: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CloneSession {
    pub session: CloneSessionId,
    pub replicas: Vec<Replica>,
    pub class_of_service: u32,
    /// 0 means the whole packet.
    pub packet_length_bytes: i32,
}

/// Of an extern that the specification does not know.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ExternEntry {
    pub extern_type: ExternTypeId,
    pub instance: ExternId,
    /// Name of the message in `entry`, as in `google.protobuf.Any`.
    pub type_url: String,
    pub entry: Vec<u8>,
}
