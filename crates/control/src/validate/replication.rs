//! Multicast groups and clone sessions (P4Runtime, "PacketReplicationEngineEntry").

use rustc_hash::FxHashSet;

use super::profiles::not_zero;
use super::values::not_negative;
use crate::entity::{CloneSession, MulticastGroup, Port, Replica};
use crate::fault::{Fault, Inside, Problem};
use crate::schema::{PLATFORM, ReplicationWidths, Schema};
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
    let widths = &schema.replication;
    fits("multicast_group_id", group.group.0, widths.multicast_group)?;
    enough_room(&group.replicas)?;
    let mut seen = FxHashSet::default();
    for (i, replica) in group.replicas.iter().enumerate() {
        let at = |fault: Fault| fault.inside(format_args!("replicas[{i}]"));
        copies(widths, replica).map_err(at)?;
        once(&mut seen, &replica.egress_port, replica.instance).map_err(at)?;
        for (j, backup) in replica.backups.iter().enumerate() {
            once(&mut seen, &backup.egress_port, backup.instance)
                .inside(format_args!("backup_replicas[{j}]"))
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

pub(super) fn clone_session(schema: &Schema, kind: UpdateKind, session: &CloneSession) -> Result<(), Fault> {
    not_zero("clone session", session.session.0).inside("session_id")?;
    if kind == UpdateKind::Delete {
        return Ok(());
    }
    let widths = &schema.replication;
    enough_room(&session.replicas)?;
    for (i, replica) in session.replicas.iter().enumerate() {
        copies(widths, replica).map_err(|fault| fault.inside(format_args!("replicas[{i}]")))?;
    }
    fits("class_of_service", session.class_of_service, widths.class_of_service)?;
    not_negative("packet_length_bytes", session.packet_length_bytes.into())
}

fn enough_room(replicas: &[Replica]) -> Result<(), Fault> {
    let (n_replicas, limit) = (replicas.len(), PLATFORM.n_replicas_per_group);
    if n_replicas > limit as usize {
        return Err(Fault::from(Problem::TooManyReplicas { n_replicas, limit }).inside("replicas"));
    }
    Ok(())
}

/// Checks that a number has a place in the program's field.
fn fits(field: &'static str, value: u32, width_bits: u32) -> Result<(), Fault> {
    match value.checked_shr(width_bits) {
        None | Some(0) => Ok(()),
        Some(_) => Err(Fault::from(Problem::FieldTooNarrow { field, value, width_bits }).inside(field)),
    }
}

/// Checks that every copy has a port and an instance, and that no backup is the port that it replaces.
fn copies(widths: &ReplicationWidths, replica: &Replica) -> Result<(), Fault> {
    present(&replica.egress_port)?;
    fits("instance", replica.instance, widths.instance)?;
    for (j, backup) in replica.backups.iter().enumerate() {
        let at = |fault: Fault| fault.inside(format_args!("backup_replicas[{j}]"));
        present(&backup.egress_port).map_err(at)?;
        fits("instance", backup.instance, widths.instance).map_err(at)?;
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
