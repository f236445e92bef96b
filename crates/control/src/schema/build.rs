//! Builds a [`Schema`] from P4Info.
//!
//! A P4Info may come from an untrusted source. Contents that make validation impossible are errors here: ids
//! that are used twice or refer to nothing, negative sizes, types that contain themselves.

use p4info::proto::p4::config::v1 as pb;
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use std::sync::Arc;

use super::types::{DEPTH_MAX, TypeBuilder};
use super::*;

/// Widest value in bits. Wider values are refused: no data plane computes with them.
pub const WIDTH_BITS_MAX: u32 = 1 << 16;
/// The annotation of a parameter that its action changes in the entry; programs may write `rmw` instead.
const UPDATABLE: &str = "@__ref";

/// The P4Info contradicts itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    #[error("a {kind} has no name and id")]
    NoPreamble { kind: ObjectKind },
    #[error("{kind} `{name}` has the id 0, which means none")]
    ZeroId { kind: ObjectKind, name: SmolStr },
    #[error("`{first}` and `{second}` have the same id {id:#010x}")]
    SameId { id: u32, first: SmolStr, second: SmolStr },
    #[error("two objects of the kind {kind} are named `{name}`")]
    SameName { kind: ObjectKind, name: SmolStr },
    #[error("`{owner}`: two parts have the id {id}")]
    SamePartId { owner: SmolStr, id: u32 },
    #[error("`{owner}`: there is no {kind} with id {id:#010x}")]
    Dangling { owner: SmolStr, kind: ObjectKind, id: u32 },
    #[error("`{owner}`: {id:#010x} is neither a direct counter nor a direct meter")]
    NotDirect { owner: SmolStr, id: u32 },
    #[error("`{owner}`: two direct {kind}s; a table may have one")]
    TwoDirect { owner: SmolStr, kind: &'static str },
    #[error("`{owner}`: {what} is {value}; it must be from 0 to {max}")]
    Number { owner: SmolStr, what: &'static str, value: i64, max: u64 },
    #[error("`{owner}`: {what} is not set, or to a value that we do not know")]
    NotSet { owner: SmolStr, what: &'static str },
    #[error("`{owner}`: type `{name}` is not in type_info")]
    UnknownType { owner: SmolStr, name: SmolStr },
    #[error("the program demands a {what} of {value}; this switch has {limit}")]
    Platform { what: &'static str, value: u64, limit: u32 },
    #[error("{kind} `{name}` has the id {id:#010x}; ids of its kind begin with {prefix:#04x}")]
    Prefix { kind: ObjectKind, name: SmolStr, id: u32, prefix: u8 },
    #[error("`{name}` has the extern type {id:#04x}; extern types are from 0x81 to 0xfe")]
    ExternType { name: SmolStr, id: u32 },
    #[error("type `{name}` contains itself, or nests deeper than {DEPTH_MAX}")]
    DeepType { name: SmolStr },
}

type Result<T> = std::result::Result<T, SchemaError>;

impl Schema {
    pub fn new(p4info: &pb::P4Info) -> Result<Schema> {
        let mut builder = Builder {
            new_types: p4info.type_info.as_ref().map(|info| &info.new_types),
            types: TypeBuilder::new(p4info.type_info.as_ref()),
            ids: FxHashMap::default(),
        };
        let schema = builder.schema(p4info)?;
        schema.check_references()?;
        Ok(schema)
    }
}

fn number(owner: &SmolStr, what: &'static str, value: i64, max: u64) -> Result<u64> {
    let wrong = || SchemaError::Number { owner: owner.clone(), what, value, max };
    u64::try_from(value).ok().filter(|value| *value <= max).ok_or_else(wrong)
}

/// Converts a non-negative number that P4Info stores in an `int32`.
pub(super) fn small(owner: &SmolStr, what: &'static str, value: i32) -> Result<u32> {
    Ok(number(owner, what, value.into(), i32::MAX as u64)? as u32)
}

pub(super) fn width(owner: &SmolStr, value: i32) -> Result<u32> {
    Ok(number(owner, "the width in bits", value.into(), WIDTH_BITS_MAX.into())? as u32)
}

/// Reads what the program demands, and checks that our switch has as much.
fn platform(properties: Option<pb::PlatformProperties>) -> Result<PlatformProperties> {
    let owner = SmolStr::new("platform_properties");
    let properties = properties.unwrap_or_default();
    let demand = |what, value: i32, limit: u32| {
        let value = number(&owner, what, value.into(), i32::MAX as u64)?;
        match u32::try_from(value) {
            Ok(value) if value <= limit => Ok(value),
            Ok(_) | Err(_) => Err(SchemaError::Platform { what, value, limit }),
        }
    };
    Ok(PlatformProperties {
        n_multicast_groups: demand(
            "multicast_group_table_size",
            properties.multicast_group_table_size,
            PLATFORM.n_multicast_groups,
        )?,
        n_replicas: demand(
            "multicast_group_table_total_replicas",
            properties.multicast_group_table_total_replicas,
            PLATFORM.n_replicas,
        )?,
        n_replicas_per_group: demand(
            "multicast_group_table_max_replicas_per_entry",
            properties.multicast_group_table_max_replicas_per_entry,
            PLATFORM.n_replicas_per_group,
        )?,
    })
}

struct Builder<'p> {
    new_types: Option<&'p std::collections::BTreeMap<String, pb::P4NewTypeSpec>>,
    types: TypeBuilder<'p>,
    ids: FxHashMap<u32, SmolStr>,
}

impl<'p> Builder<'p> {
    fn schema(&mut self, info: &'p pb::P4Info) -> Result<Schema> {
        let platform_properties = info.pkg_info.as_ref().and_then(|info| info.platform_properties);
        // Direct resources come first: tables refer to them by ids that do not tell the kind.
        let direct_counters = self.objects(&info.direct_counters, Self::direct_counter)?;
        let direct_meters = self.objects(&info.direct_meters, Self::direct_meter)?;
        let tables = self.objects(&info.tables, |b, t| b.table(t, &direct_counters, &direct_meters))?;
        Ok(Schema {
            tables,
            actions: self.objects(&info.actions, Self::action)?,
            profiles: self.objects(&info.action_profiles, Self::profile)?,
            counters: self.objects(&info.counters, Self::counter)?,
            direct_counters,
            meters: self.objects(&info.meters, Self::meter)?,
            direct_meters,
            registers: self.objects(&info.registers, Self::register)?,
            digests: self.objects(&info.digests, Self::digest)?,
            value_sets: self.objects(&info.value_sets, Self::value_set)?,
            controller_headers: self.objects(&info.controller_packet_metadata, Self::controller_header)?,
            externs: self.externs(&info.externs)?,
            p4info: Arc::new(info.clone()),
            values: Vec::new(),
            platform: platform(platform_properties)?,
            replication: ReplicationWidths::default(),
            direct_uses: DirectUses::default(),
            widths: Default::default(),
            header_fields: Vec::new(),
        })
    }

    fn objects<M, T: Object>(
        &mut self,
        messages: &'p [M],
        mut build: impl FnMut(&mut Self, &'p M) -> Result<T>,
    ) -> Result<Objects<T>> {
        let items = messages.iter().map(|message| build(self, message)).collect::<Result<Vec<T>>>()?;
        let mut names = FxHashSet::default();
        for item in &items {
            if !names.insert(&item.names().name) {
                return Err(SchemaError::SameName { kind: T::KIND, name: item.names().name.clone() });
            }
        }
        Ok(Objects::new(items))
    }

    fn preamble(&mut self, kind: ObjectKind, preamble: Option<&pb::Preamble>) -> Result<(u32, Names)> {
        let preamble = preamble.ok_or(SchemaError::NoPreamble { kind })?;
        let names = Names { name: preamble.name.as_str().into(), alias: preamble.alias.as_str().into() };
        if preamble.id == 0 {
            return Err(SchemaError::ZeroId { kind, name: names.name });
        }
        if let Some(first) = self.ids.insert(preamble.id, names.name.clone()) {
            return Err(SchemaError::SameId { id: preamble.id, first, second: names.name });
        }
        Ok((preamble.id, names))
    }

    fn table(
        &mut self,
        table: &pb::Table,
        counters: &Objects<DirectCounter>,
        meters: &Objects<DirectMeter>,
    ) -> Result<Table> {
        let (id, names) = self.preamble(ObjectKind::Table, table.preamble.as_ref())?;
        let name = &names.name;
        let mut direct_counter = None;
        let mut direct_meter = None;
        for &id in &table.direct_resource_ids {
            let (kind, twice) = if counters.get(DirectCounterId(id)).is_some() {
                ("counter", direct_counter.replace(DirectCounterId(id)).is_some())
            } else if meters.get(DirectMeterId(id)).is_some() {
                ("meter", direct_meter.replace(DirectMeterId(id)).is_some())
            } else {
                return Err(SchemaError::NotDirect { owner: name.clone(), id });
            };
            if twice {
                return Err(SchemaError::TwoDirect { owner: name.clone(), kind });
            }
        }
        let actions = table.action_refs.iter().map(|action| self.action_ref(name, action));
        let nonzero = |id: u32| (id != 0).then_some(id);
        Ok(Table {
            id: TableId(id),
            keys: self.key(name, &table.match_fields)?,
            actions: actions.collect::<Result<_>>()?,
            const_default_action: nonzero(table.const_default_action_id).map(ActionId),
            is_const: table.is_const_table,
            has_initial_entries: table.has_initial_entries,
            size: number(name, "size", table.size, i64::MAX as u64)?,
            implementation: nonzero(table.implementation_id).map(ProfileId),
            direct_counter,
            direct_meter,
            has_idle_timeout: table.idle_timeout_behavior() == pb::table::IdleTimeoutBehavior::NotifyControl,
            names,
        })
    }

    fn action_ref(&self, owner: &SmolStr, action: &pb::ActionRef) -> Result<ActionRef> {
        use pb::action_ref::Scope;
        let scope = match Scope::try_from(action.scope) {
            Ok(Scope::TableAndDefault) => ActionScope::TableAndDefault,
            Ok(Scope::TableOnly) => ActionScope::TableOnly,
            Ok(Scope::DefaultOnly) => ActionScope::DefaultOnly,
            Ok(Scope::GroupAction) => ActionScope::GroupAction,
            Err(_) => {
                return Err(SchemaError::NotSet { owner: owner.clone(), what: "the scope of an action" });
            }
        };
        Ok(ActionRef { id: ActionId(action.id), scope })
    }

    fn key(&self, owner: &SmolStr, fields: &[pb::MatchField]) -> Result<Vec<KeyElement>> {
        use pb::match_field::{Match, MatchType};
        distinct(owner, fields.iter().map(|field| field.id))?;
        let element = |field: &pb::MatchField| {
            let match_kind = match &field.r#match {
                Some(Match::OtherMatchType(name)) => Some(MatchKind::Other(name.as_str().into())),
                Some(Match::MatchType(number)) => match MatchType::try_from(*number) {
                    Ok(MatchType::Exact) => Some(MatchKind::Exact),
                    Ok(MatchType::Lpm) => Some(MatchKind::Lpm),
                    Ok(MatchType::Ternary) => Some(MatchKind::Ternary),
                    Ok(MatchType::Range) => Some(MatchKind::Range),
                    Ok(MatchType::Optional) => Some(MatchKind::Optional),
                    Ok(MatchType::Unspecified) | Err(_) => None,
                },
                None => None,
            };
            Ok(KeyElement {
                id: FieldId(field.id),
                name: field.name.as_str().into(),
                match_kind: match_kind
                    .ok_or(SchemaError::NotSet { owner: owner.clone(), what: "a match kind" })?,
                value: self.value(owner, field.bitwidth, field.type_name.as_ref())?,
            })
        };
        fields.iter().map(element).collect()
    }

    fn value(&self, owner: &SmolStr, bitwidth: i32, named: Option<&pb::P4NamedType>) -> Result<ValueType> {
        use pb::p4_new_type_translation::SdnType;
        let translation = self.translation(named);
        let width_bits = width(owner, bitwidth)?;
        let is_text = translation.is_some_and(|t| matches!(t.sdn_type, Some(SdnType::SdnString(_))));
        let form = match width_bits {
            _ if is_text => ValueForm::Text,
            0 => ValueForm::None,
            _ => ValueForm::Bits { width_bits },
        };
        let name =
            |of: &pb::P4NewTypeTranslation| translation_name(of, named.map_or("", |named| &named.name));
        Ok(ValueType { form, translation: translation.map(name) })
    }

    fn translation(&self, named: Option<&pb::P4NamedType>) -> Option<&'p pb::P4NewTypeTranslation> {
        use pb::p4_new_type_spec::Representation;
        match self.new_types?.get(&named?.name)?.representation.as_ref()? {
            Representation::TranslatedType(translation) => Some(translation),
            Representation::OriginalType(_) => None,
        }
    }

    fn index(&self, owner: &SmolStr, size: i64, named: Option<&pb::P4NamedType>) -> Result<IndexSpace> {
        Ok(IndexSpace {
            size: number(owner, "size", size, i64::MAX as u64)?,
            translation: self.translation(named).map(|t| index_translation(owner, t, named)).transpose()?,
        })
    }

    fn action(&mut self, action: &pb::Action) -> Result<Action> {
        let (id, names) = self.preamble(ObjectKind::Action, action.preamble.as_ref())?;
        distinct(&names.name, action.params.iter().map(|param| param.id))?;
        let param = |param: &pb::action::Param| {
            Ok(ActionParam {
                id: ParamId(param.id),
                name: param.name.as_str().into(),
                value: self.value(&names.name, param.bitwidth, param.type_name.as_ref())?,
                is_updatable: param.annotations.iter().any(|annotation| annotation == UPDATABLE),
            })
        };
        let params = action.params.iter().map(param).collect::<Result<_>>()?;
        Ok(Action { id: ActionId(id), params, names })
    }

    fn profile(&mut self, profile: &pb::ActionProfile) -> Result<ActionProfile> {
        use pb::action_profile::SelectorSizeSemantics::{SumOfMembers, SumOfWeights};
        let (id, names) = self.preamble(ObjectKind::ActionProfile, profile.preamble.as_ref())?;
        let group_size = match &profile.selector_size_semantics {
            None | Some(SumOfWeights(_)) => GroupSize::SumOfWeights,
            Some(SumOfMembers(of)) => GroupSize::SumOfMembers {
                max_member_weight: small(&names.name, "max_member_weight", of.max_member_weight)?,
            },
        };
        let selector = Selector {
            max_group_size: small(&names.name, "max_group_size", profile.max_group_size)?,
            group_size,
            weights_disallowed: profile.weights_disallowed,
        };
        Ok(ActionProfile {
            id: ProfileId(id),
            tables: profile.table_ids.iter().copied().map(TableId).collect(),
            selector: profile.with_selector.then_some(selector),
            size: number(&names.name, "size", profile.size, i64::MAX as u64)?,
            names,
        })
    }

    fn counter_unit(owner: &SmolStr, spec: Option<pb::CounterSpec>) -> Result<CounterUnit> {
        use pb::counter_spec::Unit;
        match spec.map(|spec| spec.unit()) {
            Some(Unit::Bytes) => Ok(CounterUnit::Bytes),
            Some(Unit::Packets) => Ok(CounterUnit::Packets),
            Some(Unit::Both) => Ok(CounterUnit::Both),
            Some(Unit::Unspecified) | None => {
                Err(SchemaError::NotSet { owner: owner.clone(), what: "the unit" })
            }
        }
    }

    fn meter_spec(owner: &SmolStr, spec: Option<pb::MeterSpec>) -> Result<(MeterUnit, MeterType)> {
        use pb::meter_spec::{Type, Unit};
        let not_set = |what| SchemaError::NotSet { owner: owner.clone(), what };
        let spec = spec.ok_or(not_set("the unit"))?;
        let unit = match spec.unit() {
            Unit::Bytes => MeterUnit::Bytes,
            Unit::Packets => MeterUnit::Packets,
            Unit::Unspecified => return Err(not_set("the unit")),
        };
        let meter_type = match Type::try_from(spec.r#type) {
            Ok(Type::TwoRateThreeColor) => MeterType::TwoRateThreeColor,
            Ok(Type::SingleRateThreeColor) => MeterType::SingleRateThreeColor,
            Ok(Type::SingleRateTwoColor) => MeterType::SingleRateTwoColor,
            Err(_) => return Err(not_set("the type")),
        };
        Ok((unit, meter_type))
    }

    fn counter(&mut self, counter: &pb::Counter) -> Result<Counter> {
        let (id, names) = self.preamble(ObjectKind::Counter, counter.preamble.as_ref())?;
        Ok(Counter {
            id: CounterId(id),
            unit: Self::counter_unit(&names.name, counter.spec)?,
            index: self.index(&names.name, counter.size, counter.index_type_name.as_ref())?,
            names,
        })
    }

    fn direct_counter(&mut self, counter: &pb::DirectCounter) -> Result<DirectCounter> {
        let (id, names) = self.preamble(ObjectKind::DirectCounter, counter.preamble.as_ref())?;
        Ok(DirectCounter {
            id: DirectCounterId(id),
            unit: Self::counter_unit(&names.name, counter.spec)?,
            table: TableId(counter.direct_table_id),
            names,
        })
    }

    fn meter(&mut self, meter: &pb::Meter) -> Result<Meter> {
        let (id, names) = self.preamble(ObjectKind::Meter, meter.preamble.as_ref())?;
        let (unit, meter_type) = Self::meter_spec(&names.name, meter.spec)?;
        let index = self.index(&names.name, meter.size, meter.index_type_name.as_ref())?;
        Ok(Meter { id: MeterId(id), unit, meter_type, index, names })
    }

    fn direct_meter(&mut self, meter: &pb::DirectMeter) -> Result<DirectMeter> {
        let (id, names) = self.preamble(ObjectKind::DirectMeter, meter.preamble.as_ref())?;
        let (unit, meter_type) = Self::meter_spec(&names.name, meter.spec)?;
        Ok(DirectMeter {
            id: DirectMeterId(id),
            unit,
            meter_type,
            table: TableId(meter.direct_table_id),
            names,
        })
    }

    fn register(&mut self, register: &'p pb::Register) -> Result<Register> {
        let (id, names) = self.preamble(ObjectKind::Register, register.preamble.as_ref())?;
        Ok(Register {
            id: RegisterId(id),
            cell: self.types.build(&names.name, register.type_spec.as_ref())?,
            index: self.index(&names.name, register.size.into(), register.index_type_name.as_ref())?,
            names,
        })
    }

    fn digest(&mut self, digest: &'p pb::Digest) -> Result<Digest> {
        let (id, names) = self.preamble(ObjectKind::Digest, digest.preamble.as_ref())?;
        let message = self.types.build(&names.name, digest.type_spec.as_ref())?;
        Ok(Digest { id: DigestId(id), message, names })
    }

    fn value_set(&mut self, value_set: &pb::ValueSet) -> Result<ValueSet> {
        let (id, names) = self.preamble(ObjectKind::ValueSet, value_set.preamble.as_ref())?;
        Ok(ValueSet {
            id: ValueSetId(id),
            fields: self.key(&names.name, &value_set.r#match)?,
            size: small(&names.name, "size", value_set.size)?.into(),
            names,
        })
    }

    fn controller_header(&mut self, header: &pb::ControllerPacketMetadata) -> Result<ControllerHeader> {
        let (id, names) = self.preamble(ObjectKind::ControllerHeader, header.preamble.as_ref())?;
        distinct(&names.name, header.metadata.iter().map(|field| field.id))?;
        let field = |field: &pb::controller_packet_metadata::Metadata| {
            Ok(ControllerField {
                id: FieldId(field.id),
                name: field.name.as_str().into(),
                value: self.value(&names.name, field.bitwidth, field.type_name.as_ref())?,
                is_padding: is_padding(field),
            })
        };
        let fields = header.metadata.iter().map(field).collect::<Result<_>>()?;
        Ok(ControllerHeader { id: ControllerHeaderId(id), fields, names })
    }

    fn externs(&mut self, externs: &[pb::Extern]) -> Result<Objects<Extern>> {
        let mut items = Vec::new();
        for group in externs {
            for instance in &group.instances {
                let (id, names) = self.preamble(ObjectKind::Extern, instance.preamble.as_ref())?;
                items.push(Extern {
                    id: ExternId(id),
                    names,
                    extern_type: ExternTypeId(group.extern_type_id),
                    type_name: group.extern_type_name.as_str().into(),
                });
            }
        }
        // Instances of different types may share a name.
        Ok(Objects::new(items))
    }
}

/// Returns the URI of a translation. Many programs leave it empty for all of their types: then it is the type's name.
pub(super) fn translation_name(of: &pb::P4NewTypeTranslation, type_name: &str) -> SmolStr {
    if of.uri.is_empty() { type_name.into() } else { of.uri.as_str().into() }
}

fn index_translation(
    owner: &SmolStr,
    of: &pb::P4NewTypeTranslation,
    named: Option<&pb::P4NamedType>,
) -> Result<IndexTranslation> {
    use pb::p4_new_type_translation::SdnType;
    let form = match of.sdn_type {
        Some(SdnType::SdnBitwidth(bits)) => ValueForm::Bits { width_bits: width(owner, bits)? },
        Some(SdnType::SdnString(_)) => ValueForm::Text,
        None => ValueForm::None,
    };
    Ok(IndexTranslation { uri: translation_name(of, named.map_or("", |named| &named.name)), form })
}

/// Returns whether a field of a controller header carries nothing. Programs say so by an annotation or by its name.
fn is_padding(field: &pb::controller_packet_metadata::Metadata) -> bool {
    let last = field.name.rsplit('.').next().unwrap_or_default();
    last.starts_with('_')
        || field.annotations.iter().any(|annotation| annotation_name(annotation) == "padding")
}

/// Returns `padding` for `@padding` and for `@padding(...)`.
fn annotation_name(annotation: &str) -> &str {
    let name = annotation.strip_prefix('@').unwrap_or(annotation);
    name.split('(').next().unwrap_or_default().trim()
}

fn distinct(owner: &SmolStr, ids: impl Iterator<Item = u32>) -> Result<()> {
    let mut seen = FxHashSet::default();
    for id in ids {
        if !seen.insert(id) {
            return Err(SchemaError::SamePartId { owner: owner.clone(), id });
        }
    }
    Ok(())
}
