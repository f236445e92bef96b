//! Entities that a control plane writes and reads (P4Runtime, "P4 Entity Messages").
//!
//! An entity holds the request unchecked: an index may be negative, a match may have the wrong kind.
//! [`validate()`](crate::validate()) rejects the wrong ones.

use ir::Bits;
use smol_str::SmolStr;

use crate::data::Data;
use crate::ids::*;

/// One entity that can be written or read.
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

/// A value as the controller writes it, for a key element or an action parameter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    Bits(Bits),
    /// String value of a `type` with `@p4runtime_translation` to `string`; allowed in exact and optional
    /// matches and in parameters.
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

/// Condition on one element of the key. An element without a `Match` matches any value.
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
    /// Both ends are included.
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
    /// Matches in any order; elements that match any value are left out.
    pub matches: Vec<FieldMatch>,
    /// The larger priority wins. 0 exactly when the table has no ternary, range or optional key.
    pub priority: i32,
    /// `None` in a `Modify` leaves the action as it is, or resets the default action to that of the program.
    pub action: Option<TableAction>,
    /// True in a `Modify` whose updatable parameters ([`ActionParam::is_updatable`](crate::schema::ActionParam)) are not used:
    /// the entry keeps its current values of them, for which it must run the action of the update already, and its registers.
    pub keeps_data: bool,
    /// True for the default entry, which has no matches.
    pub is_default_action: bool,
    /// True if the entry cannot be changed; set in answers only.
    pub is_const: bool,
    /// True if a packet has added the entry; set in answers only.
    pub is_of_packet: bool,
    /// The profile of its timeout, in tables that packets write; set in answers only.
    pub profile: Option<u8>,
    /// The values of the registers of the entry. In an update they are the first values, for copies of an entry; registers that it
    /// leaves out begin anew.
    pub registers: Vec<RegisterValue>,
    /// Opaque bytes, returned unchanged to the controller.
    pub metadata: Vec<u8>,
    /// Older, narrower form of `metadata`.
    pub controller_metadata: u64,
    /// 0 means that the entry does not expire.
    pub idle_timeout_ns: i64,
    /// Set in answers only.
    pub time_since_last_hit_ns: Option<i64>,
    /// Configuration of the direct meter. `None` in `Insert` and `Modify` means the default: every packet is
    /// green.
    pub meter_config: Option<MeterConfig>,
    /// Values of the direct counter. `None` in `Modify` keeps them.
    pub counter_data: Option<CounterData>,
    /// Counters per colour of the direct meter. A write can only reset them.
    pub meter_counter_data: Option<MeterCounterData>,
}

/// A value of a register that belongs to entries of a table (`DirectRegister`). P4Info does not have it, so it goes by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterValue {
    pub name: SmolStr,
    pub value: Value,
}

impl TableEntry {
    /// Creates an entry with nothing but its key; [`TableEntry`] has public fields for the rest.
    pub fn new(table: TableId, matches: Vec<FieldMatch>, priority: i32) -> TableEntry {
        TableEntry {
            table,
            matches,
            priority,
            action: None,
            keeps_data: false,
            is_default_action: false,
            is_const: false,
            is_of_packet: false,
            profile: None,
            registers: Vec::new(),
            metadata: Vec::new(),
            controller_metadata: 0,
            idle_timeout_ns: 0,
            time_since_last_hit_ns: None,
            meter_config: None,
            counter_data: None,
            meter_counter_data: None,
        }
    }

    /// Creates the default entry; without an action, a `Modify` resets it to the default action of the
    /// program.
    pub fn default_entry(table: TableId, action: Option<Action>) -> TableEntry {
        TableEntry {
            action: action.map(TableAction::Action),
            is_default_action: true,
            ..TableEntry::new(table, Vec::new(), 0)
        }
    }
}

/// Result of a hit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TableAction {
    Action(Action),
    /// Member of the table's action profile or selector.
    Member(MemberId),
    /// Group of the table's action selector.
    Group(GroupId),
    OneShot(OneShot),
}

/// An action with action data.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Action {
    pub id: ActionId,
    /// All parameters of the action, in any order.
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
    /// Equal actions are not merged, because an answer must return them as they were written.
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
    /// The action is skipped while this port is down.
    pub watch_port: Option<Port>,
}

/// Selection mode of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum SelectionMode {
    /// The mode that the program declares.
    #[default]
    OfSelector,
    Hash,
    Random,
}

/// Unit of the size of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum SizeSemantics {
    /// The unit that the program declares.
    #[default]
    OfSelector,
    SumOfWeights,
    SumOfMembers,
}

/// A port in the controller's representation: a number of any width, big endian without leading zeros, or a
/// string, depending on how the port type is translated.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(Box<[u8]>);

impl Port {
    /// Creates a port; leading zeros are removed.
    pub fn from_bytes(bytes: &[u8]) -> Port {
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        let start = zeros.min(bytes.len().saturating_sub(1));
        Port(bytes[start..].into())
    }

    pub fn number(port: u64) -> Port {
        Port::from_bytes(&port.to_be_bytes())
    }

    /// Bytes of the port in a P4Runtime message.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the number if it fits into 64 bits. The result has no meaning for a port whose type is a
    /// string.
    pub fn to_number(&self) -> Option<u64> {
        (self.0.len() <= 8).then(|| self.0.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }
}

/// Prints the number, or the bytes if it has more than 64 bits.
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
    /// 0 means no limit but that of the target; constant while the group exists.
    pub max_size: i32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GroupMember {
    pub member: MemberId,
    pub weight: i32,
    /// The member is skipped while this port is down.
    pub watch_port: Option<Port>,
}

/// A cell of an array of meters; without an index, all cells.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MeterEntry {
    pub meter: MeterId,
    pub index: Option<i64>,
    /// `None` means the default: every packet is green.
    pub config: Option<MeterConfig>,
    /// A write can only reset them.
    pub counter_data: Option<MeterCounterData>,
}

/// Reference to the table entry that a direct resource belongs to.
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

/// A cell of an array of counters; without an index, all cells.
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

/// A cell of a register; without an index, all cells.
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

/// Configuration of a digest; the device sends no digests before an `Insert`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DigestEntry {
    pub digest: DigestId,
    pub config: Option<DigestConfig>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct DigestConfig {
    /// Longest time that a digest is held back to fill a list.
    pub max_timeout_ns: i64,
    /// Number of digests that a list has at most; 0 means no limit.
    pub max_list_size: i32,
    /// Time during which equal data is not sent again without an acknowledgement.
    pub ack_timeout_ns: i64,
}

/// One copy of a replicated packet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Replica {
    pub egress_port: Port,
    pub instance: u32,
    /// Ports used while `egress_port` is down, in order of preference.
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
    /// Opaque bytes, returned unchanged to the controller.
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

/// Entry of an extern that the specification does not define.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ExternEntry {
    pub extern_type: ExternTypeId,
    pub instance: ExternId,
    /// Name of the message in `entry`, as in `google.protobuf.Any`.
    pub type_url: String,
    pub entry: Vec<u8>,
}
