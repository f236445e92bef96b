//! Multicast groups and clone sessions (P4Runtime, "PacketReplicationEngineEntry").

use rustc_hash::FxHashSet;

use super::profiles::not_zero;
use super::values::not_negative;
use crate::entity::{CloneSession, MulticastGroup, Port, Replica};
use crate::fault::{Fault, Inside, Problem};
use crate::schema::Schema;
use crate::update::UpdateKind;

pub(super) fn multicast_group(
    schema: &Schema,
    kind: UpdateKind,
    group: &MulticastGroup,
) -> Result<(), Fault> {
    not_zero("multicast group", group.group.0).inside("multicast_group_id")?;
    if kind == UpdateKind::Delete {
        return Ok(());
    }
    let limit = schema.limits.n_replicas_per_group;
    let n_replicas = group.replicas.len();
    if limit != 0 && n_replicas > limit as usize {
        return Err(Fault::from(Problem::TooManyReplicas { n_replicas, limit }).inside("replicas"));
    }
    let mut seen = FxHashSet::default();
    for (i, replica) in group.replicas.iter().enumerate() {
        let at = |fault: Fault| fault.inside(format!("replicas[{i}]"));
        ports(replica).map_err(at)?;
        once(&mut seen, &replica.egress_port, replica.instance).map_err(at)?;
        for (j, backup) in replica.backups.iter().enumerate() {
            once(&mut seen, &backup.egress_port, backup.instance)
                .inside(format!("backup_replicas[{j}]"))
                .map_err(at)?;
        }
    }
    Ok(())
}

fn once<'e>(seen: &mut FxHashSet<(&'e Port, u32)>, port: &'e Port, instance: u32) -> Result<(), Fault> {
    if seen.insert((port, instance)) {
        return Ok(());
    }
    Err(Problem::ReplicaTwice { port: port.to_string(), instance }.into())
}

pub(super) fn clone_session(kind: UpdateKind, session: &CloneSession) -> Result<(), Fault> {
    not_zero("clone session", session.session.0).inside("session_id")?;
    if kind == UpdateKind::Delete {
        return Ok(());
    }
    for (i, replica) in session.replicas.iter().enumerate() {
        ports(replica).inside(format!("replicas[{i}]"))?;
    }
    not_negative("packet_length_bytes", session.packet_length_bytes.into())
}

/// Checks that every copy has a port, and that no backup is the port that it replaces.
fn ports(replica: &Replica) -> Result<(), Fault> {
    present(&replica.egress_port)?;
    for (j, backup) in replica.backups.iter().enumerate() {
        let at = |fault: Fault| fault.inside(format!("backup_replicas[{j}]"));
        present(&backup.egress_port).map_err(at)?;
        if backup.egress_port == replica.egress_port {
            return Err(at(Problem::BackupOfItself { port: backup.egress_port.to_string() }.into()));
        }
    }
    Ok(())
}

fn present(port: &Port) -> Result<(), Fault> {
    if port.as_bytes().is_empty() {
        return Err(Fault::from(Problem::PortMissing).inside("port"));
    }
    Ok(())
}
