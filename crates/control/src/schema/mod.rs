//! Control-plane view of a program: P4Info, checked once, with ids resolved and names indexed.
//!
//! Start at [`Schema`]. Each kind of object has an [`Objects`] list, which finds by id and by name.

mod build;
mod checks;
mod direct_uses;
mod objects;
mod program;
mod types;
mod widths;

use arch::FieldRole;
use num_bigint::BigUint;
use p4info::ControllerHeaderFields;
use p4info::proto::p4::config::v1::P4Info;
use smol_str::SmolStr;
use std::sync::Arc;

use crate::ids::*;

pub use build::{SchemaError, WIDTH_BITS_MAX};
pub use direct_uses::DirectUses;
pub use objects::{Object, ObjectKind, Objects, Part};
pub use types::{DataType, EnumType, HeaderType, HeaderUnionType, StructType};
pub use widths::Widths;

/// Everything that a control plane can address in one program.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    pub tables: Objects<Table>,
    pub actions: Objects<Action>,
    /// Action profiles and action selectors.
    pub profiles: Objects<ActionProfile>,
    pub counters: Objects<Counter>,
    pub direct_counters: Objects<DirectCounter>,
    pub meters: Objects<Meter>,
    pub direct_meters: Objects<DirectMeter>,
    pub registers: Objects<Register>,
    pub digests: Objects<Digest>,
    pub value_sets: Objects<ValueSet>,
    /// The headers of packets to and from the controller: `packet_in`, `packet_out`.
    pub controller_headers: Objects<ControllerHeader>,
    pub externs: Objects<Extern>,
    /// Sizes that the program demands of a platform at least.
    pub platform: PlatformProperties,
    pub replication: ReplicationWidths,
    pub direct_uses: DirectUses,
    /// Widths of translated values in the program.
    pub widths: Widths,
    /// Controller headers as packets have them; empty if only P4Info is known.
    pub header_fields: Vec<ControllerHeaderFields>,
    /// The message that all of it is from.
    pub p4info: Arc<P4Info>,
    /// Numbers with names, which people may write in entries; no part of P4Info.
    pub values: Vec<(SmolStr, BigUint)>,
}

/// Sizes of the packet replication engine. In P4Info they are minimums, which a program demands; 0 means none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PlatformProperties {
    pub n_multicast_groups: u32,
    /// Number of replicas of all groups together.
    pub n_replicas: u32,
    pub n_replicas_per_group: u32,
}

/// Sizes of our packet replication engine. A P4Info that demands more is refused.
pub const PLATFORM: PlatformProperties =
    PlatformProperties { n_multicast_groups: 1 << 16, n_replicas: 1 << 22, n_replicas_per_group: 1 << 16 };

/// Widths in bits of the program's fields for replication. Wider numbers of a controller would reach no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplicationWidths {
    pub multicast_group: u32,
    pub instance: u32,
    pub class_of_service: u32,
}

impl Default for ReplicationWidths {
    /// The widths of P4Runtime's own fields.
    fn default() -> ReplicationWidths {
        ReplicationWidths { multicast_group: 32, instance: 32, class_of_service: 32 }
    }
}

impl ReplicationWidths {
    /// Returns the widths of the fields that the program's architecture uses.
    pub fn of_program(program: &ir::Program) -> ReplicationWidths {
        let width = |role| {
            let place = program.field(role)?;
            program.place_type(place)?.width_bits().filter(|width| (1..32).contains(width))
        };
        let default = ReplicationWidths::default();
        ReplicationWidths {
            multicast_group: width(FieldRole::MulticastGroup).unwrap_or(default.multicast_group),
            instance: width(FieldRole::EgressInstance).unwrap_or(default.instance),
            class_of_service: width(FieldRole::Priority).unwrap_or(default.class_of_service),
        }
    }
}

/// Fields that all objects share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// Fully qualified name, unique among objects of one kind.
    pub name: SmolStr,
    /// Short name, unique among all objects; empty if there is none.
    pub alias: SmolStr,
}

#[derive(Clone, Debug)]
pub struct Table {
    pub id: TableId,
    pub names: Names,
    /// Key elements in the order of the program.
    pub keys: Vec<KeyElement>,
    pub actions: Vec<ActionRef>,
    /// Action of a default entry that cannot be changed.
    pub const_default_action: Option<ActionId>,
    /// True if the entries come from the program and cannot be changed.
    pub is_const: bool,
    pub has_initial_entries: bool,
    /// Number of entries that the table must be able to hold; 0 means that the program does not say.
    pub size: u64,
    /// Action profile or selector; entries name a member or a group of it instead of an action.
    pub implementation: Option<ProfileId>,
    pub direct_counter: Option<DirectCounterId>,
    pub direct_meter: Option<DirectMeterId>,
    /// True if entries may have an idle timeout, of whose end the controller is notified.
    pub has_idle_timeout: bool,
}

impl Table {
    /// Returns whether entries are ordered by priority (P4Runtime, "TableEntry").
    pub fn needs_priority(&self) -> bool {
        self.keys.iter().any(|key| match key.match_kind {
            MatchKind::Ternary | MatchKind::Range | MatchKind::Optional => true,
            MatchKind::Exact | MatchKind::Lpm | MatchKind::Other(_) => false,
        })
    }

    pub fn action(&self, id: ActionId) -> Option<&ActionRef> {
        self.actions.iter().find(|action| action.id == id)
    }
}

/// An element of a table's key, or a part of a value set.
#[derive(Clone, Debug)]
pub struct KeyElement {
    pub id: FieldId,
    pub name: SmolStr,
    pub match_kind: MatchKind,
    pub value: ValueType,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MatchKind {
    Exact,
    Lpm,
    Ternary,
    Range,
    Optional,
    /// Match kind of an architecture that this crate does not know.
    Other(SmolStr),
}

impl MatchKind {
    /// Returns the name in P4's spelling.
    pub fn name(&self) -> &str {
        match self {
            MatchKind::Exact => "exact",
            MatchKind::Lpm => "lpm",
            MatchKind::Ternary => "ternary",
            MatchKind::Range => "range",
            MatchKind::Optional => "optional",
            MatchKind::Other(name) => name,
        }
    }
}

/// Controller-side type of a key element or an action parameter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ValueType {
    pub form: ValueForm,
    /// URI of the `@p4runtime_translation`, or the name of the type if the URI is empty: the data plane sees a different
    /// value.
    pub translation: Option<SmolStr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueForm {
    Bits {
        width_bits: u32,
    },
    Text,
    /// P4Runtime has no representation for the type: an `error` or an `enum` without an underlying type.
    None,
}

impl ValueType {
    /// Returns the width in bits; 0 for a type that is not a number.
    pub fn width_bits(&self) -> u32 {
        match self.form {
            ValueForm::Bits { width_bits } => width_bits,
            ValueForm::Text | ValueForm::None => 0,
        }
    }
}

/// An action in the list of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActionRef {
    pub id: ActionId,
    pub scope: ActionScope,
}

/// Entries of a table in which an action may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ActionScope {
    TableAndDefault,
    /// `@tableonly`
    TableOnly,
    /// `@defaultonly`
    DefaultOnly,
    /// Only as the group action of a one-shot.
    GroupAction,
}

#[derive(Clone, Debug)]
pub struct Action {
    pub id: ActionId,
    pub names: Names,
    pub params: Vec<ActionParam>,
}

#[derive(Clone, Debug)]
pub struct ActionParam {
    pub id: ParamId,
    pub name: SmolStr,
    pub value: ValueType,
    /// The action changes the value in its entry (`@__ref` in P4Info).
    pub is_updatable: bool,
}

#[derive(Clone, Debug)]
pub struct ActionProfile {
    pub id: ProfileId,
    pub names: Names,
    pub tables: Vec<TableId>,
    /// `None` for an action profile, which has no groups.
    pub selector: Option<Selector>,
    /// Number of members at most; for a selector, see [`GroupSize`]. 0 means that the program does not say.
    pub size: u64,
}

/// Properties that only an action selector has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selector {
    /// 0 means that only the size of the profile limits a group.
    pub max_group_size: u32,
    pub group_size: GroupSize,
    /// True if members must not have weights.
    pub weights_disallowed: bool,
}

/// Unit in which the size of a group is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupSize {
    SumOfWeights,
    SumOfMembers {
        /// 0 means no limit.
        max_member_weight: u32,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CounterUnit {
    Bytes,
    Packets,
    Both,
}

/// An array of counters.
#[derive(Clone, Debug)]
pub struct Counter {
    pub id: CounterId,
    pub names: Names,
    pub unit: CounterUnit,
    pub index: IndexSpace,
}

/// Index space of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSpace {
    /// Number of cells.
    pub size: u64,
    /// Translation of the index. The controller's numbers are then bounded by their width, not by `size`.
    pub translation: Option<IndexTranslation>,
}

impl IndexSpace {
    /// Returns the number of indices that a controller may use.
    pub fn n_indices(&self) -> u64 {
        match self.translation.as_ref().map(|translation| translation.form) {
            None => self.size,
            Some(ValueForm::Bits { width_bits }) => 1u64.checked_shl(width_bits).unwrap_or(u64::MAX),
            Some(ValueForm::Text | ValueForm::None) => u64::MAX,
        }
    }
}

/// Translation of the index of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexTranslation {
    /// The name of the type if the URI is empty.
    pub uri: SmolStr,
    pub form: ValueForm,
}

/// A counter in each entry of a table.
#[derive(Clone, Debug)]
pub struct DirectCounter {
    pub id: DirectCounterId,
    pub names: Names,
    pub unit: CounterUnit,
    pub table: TableId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MeterUnit {
    Bytes,
    Packets,
}

/// Marking algorithm of a meter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum MeterType {
    /// RFC 2698.
    #[default]
    TwoRateThreeColor,
    /// RFC 2697.
    SingleRateThreeColor,
    /// A token bucket: RFC 2697 with an excess burst of 0, and never yellow.
    SingleRateTwoColor,
}

/// An array of meters.
#[derive(Clone, Debug)]
pub struct Meter {
    pub id: MeterId,
    pub names: Names,
    pub unit: MeterUnit,
    pub meter_type: MeterType,
    pub index: IndexSpace,
}

/// A meter in each entry of a table.
#[derive(Clone, Debug)]
pub struct DirectMeter {
    pub id: DirectMeterId,
    pub names: Names,
    pub unit: MeterUnit,
    pub meter_type: MeterType,
    pub table: TableId,
}

/// An array of cells of one type.
#[derive(Clone, Debug)]
pub struct Register {
    pub id: RegisterId,
    pub names: Names,
    pub cell: DataType,
    pub index: IndexSpace,
}

/// A message from the data plane to the controller.
#[derive(Clone, Debug)]
pub struct Digest {
    pub id: DigestId,
    pub names: Names,
    pub message: DataType,
}

/// A set of values that a parser selects on.
#[derive(Clone, Debug)]
pub struct ValueSet {
    pub id: ValueSetId,
    pub names: Names,
    pub fields: Vec<KeyElement>,
    pub size: u64,
}

/// The header before packets to or from the controller.
#[derive(Clone, Debug)]
pub struct ControllerHeader {
    pub id: ControllerHeaderId,
    pub names: Names,
    /// Fields in the order of the header.
    pub fields: Vec<ControllerField>,
}

#[derive(Clone, Debug)]
pub struct ControllerField {
    pub id: FieldId,
    pub name: SmolStr,
    pub value: ValueType,
    /// True for a field that only fills up a byte: annotated with `@padding`, or with a name that begins with `_`.
    pub is_padding: bool,
}

/// An instance of an extern that the specification does not define.
#[derive(Clone, Debug)]
pub struct Extern {
    pub id: ExternId,
    pub names: Names,
    pub extern_type: ExternTypeId,
    pub type_name: SmolStr,
}
