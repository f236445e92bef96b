//! Roles: rights of controllers to write and read.

use super::fault::SessionFault;
use super::name::RoleName;
use crate::entity::{Entity, TableEntry};
use crate::fault::{Fault, Problem};
use crate::schema::Schema;
use p4info::proto::p4::config::v1 as pb;
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Packets that a role receives: those whose metadata field has one of these values, with any leading zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetadataFilter {
    pub metadata_id: u32,
    pub values: BTreeSet<Vec<u8>>,
}

/// Rights of a role other than the default one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleConfig {
    /// Objects of P4Info that this role writes and reads, and other roles may too.
    pub ids: BTreeSet<u32>,
    /// Objects that it writes and reads, and of other roles only the default one does. No other config may name them.
    pub exclusive_ids: BTreeSet<u32>,
    /// Objects that it reads only.
    pub read_only_ids: BTreeSet<u32>,
    /// Multicast groups and clone sessions, which have no ids in P4Info.
    pub may_replicate: bool,
    pub receives_packets: bool,
    /// All packets without one.
    pub packet_filter: Option<MetadataFilter>,
    pub may_send_packets: bool,
    pub may_set_pipeline: bool,
    /// The message that says all this, as the controller has sent it. Notices give it back.
    pub message: Option<ConfigMessage>,
}

/// A `google.protobuf.Any`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigMessage {
    pub type_url: SmolStr,
    pub value: Vec<u8>,
}

impl RoleConfig {
    /// Returns whether the role writes the object.
    fn writes(&self, id: u32) -> bool {
        self.ids.contains(&id) || self.exclusive_ids.contains(&id)
    }

    /// Returns whether the role writes or reads the object.
    pub(super) fn names(&self, id: u32) -> bool {
        self.writes(id) || self.read_only_ids.contains(&id)
    }

    /// Fails if the config contradicts itself, or is for the default role, which may do everything.
    pub(super) fn check(&self, role: &RoleName) -> Result<(), SessionFault> {
        let filter = self.packet_filter.as_ref();
        let why = if role.is_default() {
            "the default role may do everything; give the role a name or leave the config out"
        } else if filter.is_some() && !self.receives_packets {
            "there is a filter for packets, but the role receives none"
        } else if filter.is_some_and(|filter| filter.values.iter().any(Vec::is_empty)) {
            "a value of the filter for packets is empty; zero is one byte, \\x00"
        } else {
            return Ok(());
        };
        Err(SessionFault::BadRoleConfig { why: why.into() })
    }
}

/// The annotation, without `@`.
const ANNOTATION: &str = "p4runtime_role";

/// The roles that annotations name: `@p4runtime_role("x")` on a table, a profile, a counter and so on. Objects without one
/// belong to every role, and objects with one that names no role to the default role alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnnotatedRoles(FxHashMap<u32, SmolStr>);

impl AnnotatedRoles {
    pub fn of(p4info: &pb::P4Info) -> AnnotatedRoles {
        let instances = p4info.externs.iter().flat_map(|of| &of.instances).map(|of| of.preamble.as_ref());
        let all = (p4info.tables.iter().map(|of| of.preamble.as_ref()))
            .chain(p4info.action_profiles.iter().map(|of| of.preamble.as_ref()))
            .chain(p4info.counters.iter().map(|of| of.preamble.as_ref()))
            .chain(p4info.direct_counters.iter().map(|of| of.preamble.as_ref()))
            .chain(p4info.meters.iter().map(|of| of.preamble.as_ref()))
            .chain(p4info.direct_meters.iter().map(|of| of.preamble.as_ref()))
            .chain(p4info.registers.iter().map(|of| of.preamble.as_ref()))
            .chain(p4info.digests.iter().map(|of| of.preamble.as_ref()))
            .chain(p4info.value_sets.iter().map(|of| of.preamble.as_ref()))
            .chain(instances);
        let annotated = all.flatten().filter_map(|of| {
            let structured = of.structured_annotations.iter().find_map(role_of_structured);
            let role = of.annotations.iter().find_map(|text| role_of(text)).or(structured)?;
            Some((of.id, role))
        });
        AnnotatedRoles(annotated.collect())
    }
}

/// The role in an annotation as P4Info has it: `@p4runtime_role("x")`; empty if it names none.
fn role_of(annotation: &str) -> Option<SmolStr> {
    let body = annotation.trim().strip_prefix('@')?.strip_prefix(ANNOTATION)?.trim_start();
    if !body.is_empty() && !body.starts_with('(') {
        return None;
    }
    let inside = body.strip_prefix('(').and_then(|body| body.trim_end().strip_suffix(')'));
    let name = inside.and_then(|inside| inside.trim().strip_prefix('"')?.strip_suffix('"'));
    Some(name.unwrap_or_default().into())
}

/// The role in a structured annotation, `@p4runtime_role["x"]`; empty if it names none.
fn role_of_structured(annotation: &pb::StructuredAnnotation) -> Option<SmolStr> {
    use pb::{expression::Value, structured_annotation::Body};
    if annotation.name != ANNOTATION {
        return None;
    }
    let values = match &annotation.body {
        Some(Body::ExpressionList(list)) => list.expressions.as_slice(),
        Some(Body::KvPairList(_)) | None => &[],
    };
    match values {
        [pb::Expression { value: Some(Value::StringValue(name)) }] => Some(name.into()),
        _ => Some(SmolStr::default()),
    }
}

/// A role as it stands, for the checks of one request.
#[derive(Clone, Debug, Default)]
pub struct Role {
    pub name: RoleName,
    pub config: Option<Arc<RoleConfig>>,
    pub annotated: Arc<AnnotatedRoles>,
    /// Objects that configs reserve for one role.
    pub exclusive: Arc<BTreeMap<u32, RoleName>>,
}

/// The object to which an entity belongs.
enum Owner {
    Object(u32),
    Replication,
}

fn owner(entity: &Entity) -> Owner {
    Owner::Object(match entity {
        Entity::TableEntry(TableEntry { table, .. }) => table.0,
        Entity::ActionProfileMember(of) => of.profile.0,
        Entity::ActionProfileGroup(of) => of.profile.0,
        Entity::Meter(of) => of.meter.0,
        Entity::DirectMeter(of) => of.entry.table.0,
        Entity::Counter(of) => of.counter.0,
        Entity::DirectCounter(of) => of.entry.table.0,
        Entity::Register(of) => of.register.0,
        Entity::ValueSet(of) => of.value_set.0,
        Entity::Digest(of) => of.digest.0,
        Entity::Extern(of) => of.instance.0,
        Entity::MulticastGroup(_) | Entity::CloneSession(_) => return Owner::Replication,
    })
}

impl Role {
    /// Fails if the role may not write the entity.
    pub fn check_write(&self, schema: &Schema, entity: &Entity) -> Result<(), Fault> {
        let may = match owner(entity) {
            // Validation says better what is wrong with an id that nothing has.
            Owner::Object(id) if schema.object(id).is_none() => true,
            Owner::Object(id) => self.may(id, RoleConfig::writes),
            Owner::Replication => self.may_replicate(),
        };
        if may {
            return Ok(());
        }
        Err(Problem::NotOfRole { role: self.name.to_string(), what: schema.describe(entity) }.into())
    }

    /// Returns whether the role is told of the entity.
    pub fn sees(&self, entity: &Entity) -> bool {
        match owner(entity) {
            Owner::Object(id) => self.sees_object(id),
            Owner::Replication => self.may_replicate(),
        }
    }

    /// Returns whether the role is told of an object of P4Info: its entities, its digests, its idle entries.
    pub fn sees_object(&self, id: u32) -> bool {
        self.may(id, RoleConfig::names)
    }

    /// Returns whether the role receives a packet with this metadata, by field id and value in canonical form.
    pub fn receives<'m>(&self, mut metadata: impl Iterator<Item = (u32, &'m [u8])>) -> bool {
        let Some(config) = self.config.as_ref().filter(|_| !self.name.is_default()) else { return true };
        config.receives_packets
            && config.packet_filter.as_ref().is_none_or(|filter| {
                metadata.any(|(id, value)| {
                    id == filter.metadata_id
                        && filter.values.iter().any(|of| significant(of) == significant(value))
                })
            })
    }

    /// Fails if the role may not send packets.
    pub fn check_packet_out(&self) -> Result<(), SessionFault> {
        let config = self.config.as_ref().filter(|_| !self.name.is_default());
        self.allow(config.is_none_or(|config| config.may_send_packets), || "send packets".into())
    }

    /// Fails if the role may not set the forwarding pipeline.
    pub fn check_pipeline(&self) -> Result<(), SessionFault> {
        let config = self.config.as_ref().filter(|_| !self.name.is_default());
        self.allow(config.is_none_or(|config| config.may_set_pipeline), || {
            "set the forwarding pipeline".into()
        })
    }

    /// The program and the configs of all roles must agree that the object is this role's.
    fn may(&self, id: u32, lists: fn(&RoleConfig, u32) -> bool) -> bool {
        self.name.is_default()
            || self.annotated.0.get(&id).is_none_or(|role| *role == self.name.0)
                && self.exclusive.get(&id).is_none_or(|role| *role == self.name)
                && self.config.as_ref().is_none_or(|config| lists(config, id))
    }

    fn may_replicate(&self) -> bool {
        self.name.is_default() || self.config.as_ref().is_none_or(|config| config.may_replicate)
    }

    fn allow(&self, may: bool, what: impl FnOnce() -> SmolStr) -> Result<(), SessionFault> {
        if may { Ok(()) } else { Err(SessionFault::NotAllowed { role: self.name.clone(), what: what() }) }
    }
}

/// The value without leading zeros.
fn significant(value: &[u8]) -> &[u8] {
    let n_zeros = value.iter().take_while(|byte| **byte == 0).count();
    &value[n_zeros..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_read_from_annotations() {
        for (annotation, role) in [
            ("@p4runtime_role(\"a\")", Some("a")),
            (" @p4runtime_role( \"a b\" ) ", Some("a b")),
            // One that cannot be read keeps everybody out.
            ("@p4runtime_role", Some("")),
            ("@p4runtime_role()", Some("")),
            ("@p4runtime_role(a)", Some("")),
            ("@p4runtime_roles(\"a\")", None),
            ("@name(\"a\")", None),
        ] {
            assert_eq!(role_of(annotation).as_deref(), role, "{annotation}");
        }
    }
}
