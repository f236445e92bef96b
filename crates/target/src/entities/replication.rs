//! Multicast groups and clone sessions: the switch keeps them.

use super::{Entities, State, View};
use crate::traffic::{BackupReplica as Backup, CloneSession as Session, MulticastGroup as Group};
use crate::traffic::{PreError, Replica as Copy};
use arch::{PipelineModel, PortFault};
use control::*;

fn refused(port: &Port, why: impl Into<String>) -> Fault {
    Problem::Refused { what: format!("port {port}"), why: why.into() }.into()
}

/// The number of a port.
pub(super) fn number(port: &Port) -> Result<u32, Fault> {
    let number = port.to_number().and_then(|n| u32::try_from(n).ok());
    number.ok_or_else(|| refused(port, "ports are numbers of at most 32 bits"))
}

/// The number of a port of this switch.
fn port(model: Option<&PipelineModel>, port: &Port) -> Result<u32, Fault> {
    let number = number(port)?;
    match model.map(|model| model.check_port(number)) {
        // Copies to the drop port are dropped.
        Some(Err(fault @ PortFault::TooLarge { .. })) => Err(refused(port, fault.to_string())),
        Some(Ok(()) | Err(PortFault::IsDropPort)) | None => Ok(number),
    }
}

fn copies(model: Option<&PipelineModel>, replicas: &[Replica]) -> Result<Vec<Copy>, Fault> {
    let one = |replica: &Replica| {
        let backup =
            |b: &BackupReplica| Ok(Backup { port: port(model, &b.egress_port)?, instance: b.instance });
        Ok(Copy {
            port: port(model, &replica.egress_port)?,
            instance: replica.instance,
            backups: replica.backups.iter().map(backup).collect::<Result<_, Fault>>()?,
        })
    };
    replicas.iter().map(one).collect()
}

fn replicas(copies: &[Copy]) -> Vec<Replica> {
    let number = |n: u32| Port::number(n.into());
    let one = |copy: &Copy| Replica {
        egress_port: number(copy.port),
        instance: copy.instance,
        backups: (copy.backups.iter())
            .map(|b| BackupReplica { egress_port: number(b.port), instance: b.instance })
            .collect(),
    };
    copies.iter().map(one).collect()
}

impl Entities {
    fn pre_fault(&self, error: &PreError, entity: &Entity) -> Fault {
        let what = self.schema.describe(entity);
        let problem = match error {
            PreError::GroupExists(_) | PreError::SessionExists(_) => Problem::AlreadyExists { what },
            PreError::UnknownGroup(_) | PreError::UnknownSession(_) | PreError::UnknownNode(_) => {
                Problem::DoesNotExist { what }
            }
        };
        problem.into()
    }

    pub(super) fn write_multicast_group(
        &mut self,
        state: State<'_>,
        update: &Update,
        entity: &MulticastGroup,
    ) -> Result<(), Fault> {
        let id = entity.group.0;
        let group = || {
            Ok::<_, Fault>(Group {
                replicas: copies(self.program.architecture.pipeline(), &entity.replicas)?,
                metadata: entity.metadata.clone(),
            })
        };
        let done = match update.kind {
            UpdateKind::Insert => {
                let group = group()?;
                state.pre.update(|pre| pre.insert_group(id, group))
            }
            UpdateKind::Modify => {
                let group = group()?;
                state.pre.update(|pre| pre.modify_group(id, group))
            }
            UpdateKind::Delete => state.pre.update(|pre| pre.delete_group(id)),
        };
        done.map_err(|e| self.pre_fault(&e, &update.entity))
    }

    pub(super) fn write_clone_session(
        &mut self,
        state: State<'_>,
        update: &Update,
        entity: &CloneSession,
    ) -> Result<(), Fault> {
        let id = entity.session.0;
        let session = || {
            Ok::<_, Fault>(Session {
                replicas: copies(self.program.architecture.pipeline(), &entity.replicas)?,
                class_of_service: entity.class_of_service,
                truncate_bytes: u32::try_from(entity.packet_length_bytes).unwrap_or(0),
                group: None,
            })
        };
        let done = match update.kind {
            UpdateKind::Insert => {
                let session = session()?;
                state.pre.update(|pre| pre.insert_session(id, session))
            }
            UpdateKind::Modify => {
                let session = session()?;
                state.pre.update(|pre| pre.modify_session(id, session))
            }
            UpdateKind::Delete => state.pre.update(|pre| pre.delete_session(id)),
        };
        done.map_err(|e| self.pre_fault(&e, &update.entity))
    }

    pub(super) fn read_multicast_groups(
        &self,
        view: View<'_>,
        wanted: Option<MulticastGroupId>,
    ) -> Vec<Entity> {
        let pre = view.pre.snapshot();
        let groups = pre.groups().filter(|(id, _)| wanted.is_none_or(|w| w.0 == *id));
        let entity = |(id, group): (u32, &Group)| {
            Entity::MulticastGroup(MulticastGroup {
                group: MulticastGroupId(id),
                replicas: replicas(&group.replicas),
                metadata: group.metadata.clone(),
            })
        };
        groups.map(entity).collect()
    }

    pub(super) fn read_clone_sessions(&self, view: View<'_>, wanted: Option<CloneSessionId>) -> Vec<Entity> {
        let pre = view.pre.snapshot();
        let sessions = pre.sessions().filter(|(id, _)| wanted.is_none_or(|w| w.0 == *id));
        let entity = |(id, session): (u32, &Session)| {
            Entity::CloneSession(CloneSession {
                session: CloneSessionId(id),
                replicas: replicas(&session.replicas),
                class_of_service: session.class_of_service,
                packet_length_bytes: i32::try_from(session.truncate_bytes).unwrap_or(i32::MAX),
            })
        };
        sessions.map(entity).collect()
    }
}
