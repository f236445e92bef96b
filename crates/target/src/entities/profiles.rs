//! Members and groups of action profiles.

use super::tables::watch_port;
use super::{Entities, State, View, select};
use crate::store::{Group, Weighted};
use control::*;

impl Entities {
    /// A table that uses the profile: the actions of members are among its own.
    fn table_of(&self, profile: ProfileId) -> Option<(TableId, ir::TableId)> {
        let tables = &self.schema.profiles.get(profile)?.tables;
        tables.iter().find_map(|table| Some((*table, *self.names.tables.get(table)?)))
    }

    pub(super) fn write_member(
        &mut self,
        state: State<'_>,
        update: &Update,
        entity: &ActionProfileMember,
    ) -> Result<(), Fault> {
        let object = self.names.profiles.get(&entity.profile).copied();
        let (Some(object), Some((table, id))) = (object, self.table_of(entity.profile)) else {
            return Err(self.not_in_program(&update.entity));
        };
        let member = entity.member.0;
        let done = if update.kind == UpdateKind::Delete {
            state.store.delete_member(object, member)
        } else {
            let Some(action) = &entity.action else { return Err(self.not_in_program(&update.entity)) };
            let action = self.action(table, id, action, &[])?;
            match update.kind {
                UpdateKind::Insert => state.store.insert_member(object, member, action),
                UpdateKind::Modify | UpdateKind::Delete => state.store.modify_member(object, member, action),
            }
        };
        done.map_err(|e| self.fault(&e, &update.entity))?;
        self.count_programming(update);
        Ok(())
    }

    /// Counts an entity that a selector has or had.
    fn count_programming(&mut self, update: &Update) {
        match update.kind {
            UpdateKind::Insert => self.programming.add(&self.schema, &update.entity),
            UpdateKind::Modify => {}
            UpdateKind::Delete => self.programming.remove(&self.schema, &update.entity),
        }
    }

    pub(super) fn write_group(
        &mut self,
        state: State<'_>,
        update: &Update,
        entity: &ActionProfileGroup,
    ) -> Result<(), Fault> {
        let Some(object) = self.names.profiles.get(&entity.profile).copied() else {
            return Err(self.not_in_program(&update.entity));
        };
        let id = entity.group.0;
        let is_deletion = update.kind == UpdateKind::Delete;
        let members = entity.members.iter().filter(|_| !is_deletion).map(|m| {
            let watch_port = watch_port(m.watch_port.as_ref())?;
            Ok(Weighted { what: m.member.0, weight: u32::try_from(m.weight).unwrap_or(0), watch_port })
        });
        let group = Group { members: members.collect::<Result<_, Fault>>()? };
        let max_size = u32::try_from(entity.max_size).unwrap_or(0);
        let done = match update.kind {
            UpdateKind::Delete => state.store.delete_group(object, id),
            UpdateKind::Insert => state.store.insert_group(object, id, group),
            UpdateKind::Modify => {
                let old = self.max_sizes.get(&(object, id)).copied();
                if let Some(old) = old.filter(|old| *old != max_size) {
                    let profile = self.schema.profiles.get(entity.profile);
                    return Err(Problem::MaxSizeChanged {
                        profile: profile.map(|p| p.names.name.clone()).unwrap_or_default(),
                        group: id,
                        old: i32::try_from(old).unwrap_or(i32::MAX),
                        new: entity.max_size,
                    }
                    .into());
                }
                state.store.modify_group(object, id, group)
            }
        };
        done.map_err(|e| self.fault(&e, &update.entity))?;
        match update.kind {
            UpdateKind::Insert | UpdateKind::Modify => self.max_sizes.insert((object, id), max_size),
            UpdateKind::Delete => self.max_sizes.remove(&(object, id)),
        };
        self.count_programming(update);
        Ok(())
    }

    pub(super) fn read_members(
        &self,
        view: View<'_>,
        profile: Option<ProfileId>,
        member: Option<MemberId>,
    ) -> Vec<Entity> {
        let mut out = Vec::new();
        for (profile, object) in select(&self.names.profiles, profile) {
            let Some((table, _)) = self.table_of(*profile) else { continue };
            view.store.visit_members(*object, &mut |id, action| {
                if member.is_none_or(|m| m.0 == id) {
                    out.push(Entity::ActionProfileMember(ActionProfileMember {
                        profile: *profile,
                        member: MemberId(id),
                        action: self.control_action(table, &action),
                    }));
                }
            });
        }
        out
    }

    pub(super) fn read_groups(
        &self,
        view: View<'_>,
        profile: Option<ProfileId>,
        group: Option<GroupId>,
    ) -> Vec<Entity> {
        let mut out = Vec::new();
        for (profile, object) in select(&self.names.profiles, profile) {
            view.store.visit_groups(*object, &mut |id, stored| {
                if group.is_some_and(|g| g.0 != id) {
                    return;
                }
                let members = stored.members.iter().map(|m| GroupMember {
                    member: MemberId(m.what),
                    weight: i32::try_from(m.weight).unwrap_or(i32::MAX),
                    watch_port: m.watch_port.map(|port| Port::number(port.into())),
                });
                let max_size = self.max_sizes.get(&(*object, id)).copied().unwrap_or(0);
                out.push(Entity::ActionProfileGroup(ActionProfileGroup {
                    profile: *profile,
                    group: GroupId(id),
                    members: members.collect(),
                    max_size: i32::try_from(max_size).unwrap_or(i32::MAX),
                }));
            });
        }
        out
    }
}
