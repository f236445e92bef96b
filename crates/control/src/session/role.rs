//! Roles: rights of controllers to write and read.

use super::fault::SessionFault;
use super::name::RoleName;
use crate::entity::{Entity, TableEntry};
use crate::schema::Schema;
use p4info::proto::p4::config::v1 as pb;
use rustc_hash::FxHashMap;
use smol_str::{SmolStr, format_smolstr};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Packets that a role receives: those whose metadata field has one of these values, in canonical form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetadataFilter {
    pub metadata_id: u32,
    pub values: BTreeSet<Vec<u8>>,
}

/// Rights of a role other than the default one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleConfig {
    /// Objects of P4Info that this role writes and reads.
    pub ids: BTreeSet<u32>,
    /// Objects that it reads only.
    pub read_only_ids: BTreeSet<u32>,
    /// Multicast groups and clone sessions, which have no ids in P4Info.
    pub may_replicate: bool,
    pub receives_packets: bool,
    /// All packets without one.
    pub packet_filter: Option<MetadataFilter>,
    pub may_send_packets: bool,
    pub may_set_pipeline: bool,
}

/// The roles that annotations name: `@p4runtime_role("x")` on a table, a profile, a counter and so on. Objects without one
/// belong to every role.
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
            let role = of.annotations.iter().find_map(|text| role_of(text))?;
            Some((of.id, role))
        });
        AnnotatedRoles(annotated.collect())
    }
}

/// The role in an annotation as P4Info has it: `@p4runtime_role("x")`.
fn role_of(annotation: &str) -> Option<SmolStr> {
    let inside = annotation.trim().strip_prefix("@p4runtime_role")?.trim_start();
    let inside = inside.strip_prefix('(')?.trim_end().strip_suffix(')')?.trim();
    Some(inside.strip_prefix('"')?.strip_suffix('"')?.into())
}

/// A role as it stands, for the checks of one request.
#[derive(Clone, Debug, Default)]
pub struct Role {
    pub name: RoleName,
    pub config: Option<Arc<RoleConfig>>,
    pub annotated: Arc<AnnotatedRoles>,
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
    pub fn check_write(&self, schema: &Schema, entity: &Entity) -> Result<(), SessionFault> {
        let may = match (&self.config, owner(entity)) {
            _ if self.name.is_default() => true,
            (Some(config), Owner::Object(id)) => config.ids.contains(&id),
            (Some(config), Owner::Replication) => config.may_replicate,
            (None, Owner::Object(id)) => self.is_annotated_for(id),
            (None, Owner::Replication) => true,
        };
        self.allow(may, || format_smolstr!("write {}", schema.describe(entity)))
    }

    /// Returns whether the role is told of the entity.
    pub fn sees(&self, entity: &Entity) -> bool {
        match (&self.config, owner(entity)) {
            _ if self.name.is_default() => true,
            (Some(config), Owner::Object(id)) => {
                config.ids.contains(&id) || config.read_only_ids.contains(&id)
            }
            (Some(config), Owner::Replication) => config.may_replicate,
            (None, Owner::Object(id)) => self.is_annotated_for(id),
            (None, Owner::Replication) => true,
        }
    }

    /// Returns whether the role receives a packet with this metadata, by field id and value in canonical form.
    pub fn receives<'m>(&self, mut metadata: impl Iterator<Item = (u32, &'m [u8])>) -> bool {
        let Some(config) = self.config.as_ref().filter(|_| !self.name.is_default()) else { return true };
        config.receives_packets
            && config.packet_filter.as_ref().is_none_or(|filter| {
                metadata.any(|(id, value)| id == filter.metadata_id && filter.values.contains(value))
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

    fn is_annotated_for(&self, id: u32) -> bool {
        self.annotated.0.get(&id).is_none_or(|role| *role == self.name.0)
    }

    fn allow(&self, may: bool, what: impl FnOnce() -> SmolStr) -> Result<(), SessionFault> {
        if may { Ok(()) } else { Err(SessionFault::NotAllowed { role: self.name.clone(), what: what() }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_read_from_annotations() {
        for (annotation, role) in [
            ("@p4runtime_role(\"a\")", Some("a")),
            (" @p4runtime_role( \"a b\" ) ", Some("a b")),
            ("@p4runtime_role", None),
            ("@p4runtime_role(a)", None),
            ("@name(\"a\")", None),
        ] {
            assert_eq!(role_of(annotation).as_deref(), role, "{annotation}");
        }
    }
}
