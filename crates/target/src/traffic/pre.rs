//! The packet replication engine: multicast groups and clone sessions (P4Runtime, "PacketReplicationEngineEntry"),
//! and the nodes from which test scripts build groups.

use std::collections::{BTreeMap, BTreeSet};

/// One copy.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Replica {
    pub port: u32,
    pub instance: u32,
    /// Where the copy goes while the port is down, in order of preference.
    pub backups: Vec<BackupReplica>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupReplica {
    pub port: u32,
    pub instance: u32,
}

impl Replica {
    pub fn new(port: u32, instance: u32) -> Replica {
        Replica { port, instance, backups: Vec::new() }
    }

    /// Port and instance; `None` when all ports are down.
    fn target(&self, ports_down: &BTreeSet<u32>) -> Option<(u32, u32)> {
        let all = std::iter::once((self.port, self.instance));
        let mut all = all.chain(self.backups.iter().map(|b| (b.port, b.instance)));
        all.find(|(port, _)| !ports_down.contains(port))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct MulticastGroup {
    pub replicas: Vec<Replica>,
    /// Returned to the controller as it is.
    pub metadata: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct CloneSession {
    pub replicas: Vec<Replica>,
    /// The queue that clones wait in.
    pub class_of_service: u32,
    /// Clones are cut to this when they leave; 0 is never.
    pub truncate_bytes: u32,
    /// A multicast group that gets a copy, too.
    pub group: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PreError {
    #[error("multicast group {0} exists")]
    GroupExists(u32),
    #[error("there is no multicast group {0}")]
    UnknownGroup(u32),
    #[error("clone session {0} exists")]
    SessionExists(u32),
    #[error("there is no clone session {0}")]
    UnknownSession(u32),
    #[error("there is no multicast node {0}")]
    UnknownNode(u32),
}

/// Ports with one instance number, to be part of groups.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Node {
    instance: u32,
    ports: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
pub struct Pre {
    groups: BTreeMap<u32, MulticastGroup>,
    sessions: BTreeMap<u32, CloneSession>,
    /// By handle.
    nodes: Vec<Node>,
    /// Handles by group, in the order of association.
    members: BTreeMap<u32, Vec<u32>>,
}

impl Pre {
    pub fn insert_group(&mut self, id: u32, group: MulticastGroup) -> Result<(), PreError> {
        if self.groups.contains_key(&id) {
            return Err(PreError::GroupExists(id));
        }
        self.groups.insert(id, group);
        Ok(())
    }

    pub fn modify_group(&mut self, id: u32, group: MulticastGroup) -> Result<(), PreError> {
        *self.groups.get_mut(&id).ok_or(PreError::UnknownGroup(id))? = group;
        Ok(())
    }

    pub fn delete_group(&mut self, id: u32) -> Result<(), PreError> {
        self.members.remove(&id);
        self.groups.remove(&id).map(|_| ()).ok_or(PreError::UnknownGroup(id))
    }

    pub fn groups(&self) -> impl Iterator<Item = (u32, &MulticastGroup)> {
        self.groups.iter().map(|(id, group)| (*id, group))
    }

    pub fn insert_session(&mut self, id: u32, session: CloneSession) -> Result<(), PreError> {
        if self.sessions.contains_key(&id) {
            return Err(PreError::SessionExists(id));
        }
        self.sessions.insert(id, session);
        Ok(())
    }

    pub fn modify_session(&mut self, id: u32, session: CloneSession) -> Result<(), PreError> {
        *self.sessions.get_mut(&id).ok_or(PreError::UnknownSession(id))? = session;
        Ok(())
    }

    pub fn delete_session(&mut self, id: u32) -> Result<(), PreError> {
        self.sessions.remove(&id).map(|_| ()).ok_or(PreError::UnknownSession(id))
    }

    pub fn session(&self, id: u32) -> Option<&CloneSession> {
        self.sessions.get(&id)
    }

    pub fn sessions(&self) -> impl Iterator<Item = (u32, &CloneSession)> {
        self.sessions.iter().map(|(id, session)| (*id, session))
    }

    /// `mirroring_add`: makes the session, or gives it another port.
    pub fn mirror_to_port(&mut self, session: u32, port: u32) {
        self.sessions.entry(session).or_default().replicas = vec![Replica::new(port, 0)];
    }

    /// `mirroring_add_mc`: the session copies to a multicast group, too.
    pub fn mirror_to_group(&mut self, session: u32, group: u32) {
        self.sessions.entry(session).or_default().group = Some(group);
    }

    /// `mc_node_create`: gives the handle, counted from 0.
    pub fn create_node(&mut self, instance: u32, ports: Vec<u32>) -> u32 {
        self.nodes.push(Node { instance, ports });
        (self.nodes.len() - 1) as u32
    }

    /// `mc_node_update`: other ports.
    pub fn update_node(&mut self, handle: u32, ports: Vec<u32>) -> Result<(), PreError> {
        self.nodes.get_mut(handle as usize).ok_or(PreError::UnknownNode(handle))?.ports = ports;
        Ok(())
    }

    /// `mc_node_associate`: the group gets the replicas of a node.
    pub fn associate_node(&mut self, group: u32, handle: u32) -> Result<(), PreError> {
        if !self.groups.contains_key(&group) {
            return Err(PreError::UnknownGroup(group));
        }
        if handle as usize >= self.nodes.len() {
            return Err(PreError::UnknownNode(handle));
        }
        self.members.entry(group).or_default().push(handle);
        Ok(())
    }

    /// Ports and instances of the copies of a group: nothing for a group that does not exist.
    pub fn replicate(&self, group: u32, ports_down: &BTreeSet<u32>) -> Vec<(u32, u32)> {
        let own = self.groups.get(&group).map(|g| g.replicas.as_slice()).unwrap_or_default();
        let mut targets: Vec<(u32, u32)> = own.iter().filter_map(|r| r.target(ports_down)).collect();
        for handle in self.members.get(&group).into_iter().flatten() {
            let Some(node) = self.nodes.get(*handle as usize) else { continue };
            let up = node.ports.iter().filter(|port| !ports_down.contains(port));
            targets.extend(up.map(|port| (*port, node.instance)));
        }
        targets
    }

    /// Ports and instances of the copies of a clone session; nothing for a session that does not exist.
    pub fn replicate_clone(&self, session: u32, ports_down: &BTreeSet<u32>) -> Vec<(u32, u32)> {
        let Some(session) = self.sessions.get(&session) else { return Vec::new() };
        let mut targets = session.group.map(|g| self.replicate(g, ports_down)).unwrap_or_default();
        targets.extend(session.replicas.iter().filter_map(|r| r.target(ports_down)));
        targets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_replicate_to_ports_that_are_up() {
        let mut pre = Pre::default();
        let with_backup =
            Replica { backups: vec![BackupReplica { port: 9, instance: 90 }], ..Replica::new(1, 10) };
        let group = MulticastGroup { replicas: vec![with_backup, Replica::new(2, 20)], ..Default::default() };
        pre.insert_group(5, group.clone()).unwrap();
        assert_eq!(pre.insert_group(5, group), Err(PreError::GroupExists(5)));
        assert_eq!(pre.replicate(5, &BTreeSet::new()), [(1, 10), (2, 20)]);
        assert_eq!(pre.replicate(5, &BTreeSet::from([1, 2])), [(9, 90)]);
        assert!(pre.replicate(6, &BTreeSet::new()).is_empty());
        pre.delete_group(5).unwrap();
        assert!(pre.replicate(5, &BTreeSet::new()).is_empty());
    }

    #[test]
    fn nodes_are_parts_of_groups_and_sessions() {
        let mut pre = Pre::default();
        assert_eq!(pre.create_node(7, vec![1, 2]), 0);
        assert_eq!(pre.create_node(8, vec![3]), 1);
        assert_eq!(pre.associate_node(1, 0), Err(PreError::UnknownGroup(1)));
        pre.insert_group(1, MulticastGroup::default()).unwrap();
        assert_eq!(pre.associate_node(1, 2), Err(PreError::UnknownNode(2)));
        pre.associate_node(1, 0).unwrap();
        pre.associate_node(1, 1).unwrap();
        pre.update_node(1, vec![4]).unwrap();
        assert_eq!(pre.replicate(1, &BTreeSet::new()), [(1, 7), (2, 7), (4, 8)]);
        pre.mirror_to_group(3, 1);
        pre.mirror_to_port(3, 6);
        pre.mirror_to_port(3, 5);
        assert_eq!(pre.replicate_clone(3, &BTreeSet::new()), [(1, 7), (2, 7), (4, 8), (5, 0)]);
        assert!(pre.replicate_clone(4, &BTreeSet::new()).is_empty());
    }
}
