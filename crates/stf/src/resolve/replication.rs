//! Multicast and mirroring, in the words of BMv2's command line.
//!
//! There, nodes (an instance and ports) are made first, numbered from 0, and then put into groups; a mirroring
//! session has a port or a group. In P4Runtime groups and clone sessions have replicas, so this remembers what
//! was made and writes the whole group or session whenever it changes.

use super::values::small;
use super::{Resolver, Result, StepKind, error};
use crate::codes;
use crate::script::Number;
use control::{
    CloneSession, CloneSessionId, Entity, MulticastGroup, MulticastGroupId, Port, Query, Replica, Update,
    UpdateKind,
};
use diagnostics::Span;
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(super) struct Replication {
    nodes: Vec<Node>,
    /// Nodes of each group.
    groups: BTreeMap<u32, Vec<usize>>,
    sessions: BTreeMap<u32, Session>,
}

#[derive(Clone, Debug)]
struct Node {
    instance: u32,
    ports: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
enum Session {
    Port(u32),
    Group(u32),
}

impl Replication {
    fn replicas(&self, group: u32) -> Vec<Replica> {
        let nodes = self.groups.get(&group).map_or(&[][..], Vec::as_slice);
        let nodes = nodes.iter().filter_map(|node| self.nodes.get(*node));
        nodes
            .flat_map(|node| {
                node.ports.iter().map(|port| Replica {
                    egress_port: Port::number(u64::from(*port)),
                    instance: node.instance,
                    backups: Vec::new(),
                })
            })
            .collect()
    }

    fn group(&self, group: u32) -> Entity {
        Entity::MulticastGroup(MulticastGroup {
            group: MulticastGroupId(group),
            replicas: self.replicas(group),
            metadata: Vec::new(),
        })
    }

    fn session(&self, id: u32, session: Session) -> Entity {
        let replicas = match session {
            Session::Group(group) => self.replicas(group),
            Session::Port(port) => {
                let egress_port = Port::number(u64::from(port));
                vec![Replica { egress_port, instance: 0, backups: Vec::new() }]
            }
        };
        Entity::CloneSession(CloneSession {
            session: CloneSessionId(id),
            replicas,
            class_of_service: 0,
            packet_length_bytes: 0,
        })
    }

    /// A group after a change, and the sessions that send to it.
    fn changed(&self, group: u32, kind: UpdateKind) -> Vec<Update> {
        let mut updates = vec![Update { kind, entity: self.group(group) }];
        updates.extend(self.sessions_to(group));
        updates
    }

    /// The sessions that send to a group, with its ports of now.
    fn sessions_to(&self, group: u32) -> impl Iterator<Item = Update> {
        let sessions = self.sessions.iter();
        let sessions =
            sessions.filter(move |(_, session)| matches!(session, Session::Group(g) if *g == group));
        sessions.map(|(id, session)| Update { kind: UpdateKind::Modify, entity: self.session(*id, *session) })
    }

    fn groups_with(&self, node: usize) -> Vec<u32> {
        let groups = self.groups.iter().filter(|(_, nodes)| nodes.contains(&node));
        groups.map(|(group, _)| *group).collect()
    }
}

impl Resolver<'_> {
    pub(super) fn group_create(&mut self, span: Span, group: &Number) -> Result<()> {
        let id = small(group);
        if self.replication.groups.contains_key(&id) {
            return error(&codes::REPEATED, group.span, format!("group {id} is created twice"), "exists");
        }
        self.replication.groups.insert(id, Vec::new());
        let updates = self.replication.changed(id, UpdateKind::Insert);
        self.write(span, updates)
    }

    pub(super) fn node_create(&mut self, instance: &Number, ports: &[Number]) {
        let node = Node { instance: small(instance), ports: ports.iter().map(small).collect() };
        self.replication.nodes.push(node);
    }

    pub(super) fn group_destroy(&mut self, span: Span, group: &Number) -> Result<()> {
        let id = small(group);
        self.nodes_of(group)?;
        let mut updates = vec![Update { kind: UpdateKind::Delete, entity: self.replication.group(id) }];
        self.replication.groups.remove(&id);
        updates.extend(self.replication.sessions_to(id));
        self.write(span, updates)
    }

    /// A node that is destroyed leaves all groups; the numbers of the others stay.
    pub(super) fn node_destroy(&mut self, span: Span, node: &Number) -> Result<()> {
        let i = self.node(node)?;
        let groups = self.replication.groups_with(i);
        self.replication.nodes[i].ports.clear();
        for nodes in self.replication.groups.values_mut() {
            nodes.retain(|found| *found != i);
        }
        self.groups_changed(span, &groups)
    }

    pub(super) fn node_dissociate(&mut self, span: Span, group: &Number, node: &Number) -> Result<()> {
        let (id, i) = (small(group), self.node(node)?);
        let nodes = self.nodes_of(group)?;
        let Some(at) = nodes.iter().position(|found| *found == i) else {
            let message = format!("node {i} is not in group {id}");
            return error(&codes::UNKNOWN_HANDLE, node.span, message, "not associated before");
        };
        nodes.remove(at);
        self.groups_changed(span, &[id])
    }

    /// The nodes of a group that exists.
    fn nodes_of(&mut self, group: &Number) -> Result<&mut Vec<usize>> {
        let id = small(group);
        match self.replication.groups.get_mut(&id) {
            Some(nodes) => Ok(nodes),
            None => {
                let message = format!("there is no multicast group {id}");
                let label = "make it with `mc_mgrp_create` before";
                error(&codes::UNKNOWN_HANDLE, group.span, message, label)
            }
        }
    }

    /// Writes groups again whose nodes have changed.
    fn groups_changed(&mut self, span: Span, groups: &[u32]) -> Result<()> {
        let updates = groups.iter().flat_map(|g| self.replication.changed(*g, UpdateKind::Modify));
        let updates: Vec<Update> = updates.collect();
        if updates.is_empty() { Ok(()) } else { self.write(span, updates) }
    }

    fn node(&self, node: &Number) -> Result<usize> {
        let i = small(node) as usize;
        match self.replication.nodes.len() {
            n if i < n => Ok(i),
            0 => {
                error(&codes::UNKNOWN_HANDLE, node.span, format!("there is no node {i}"), "none was created")
            }
            n => {
                let label = format!("expected 0 to {}, in the order of `mc_node_create`", n - 1);
                error(&codes::UNKNOWN_HANDLE, node.span, format!("there is no node {i}"), label)
            }
        }
    }

    pub(super) fn node_update(&mut self, span: Span, node: &Number, ports: &[Number]) -> Result<()> {
        let i = self.node(node)?;
        self.replication.nodes[i].ports = ports.iter().map(small).collect();
        let groups = self.replication.groups_with(i);
        self.groups_changed(span, &groups)
    }

    pub(super) fn node_associate(&mut self, span: Span, group: &Number, node: &Number) -> Result<()> {
        let (id, i) = (small(group), self.node(node)?);
        let nodes = self.nodes_of(group)?;
        if nodes.contains(&i) {
            let message = format!("node {i} is in group {id} already");
            return error(&codes::REPEATED, node.span, message, "associated again");
        }
        nodes.push(i);
        self.groups_changed(span, &[id])
    }

    fn set_session(&mut self, span: Span, session: &Number, what: Session) -> Result<()> {
        let id = small(session);
        let kind = match self.replication.sessions.insert(id, what) {
            Some(_) => UpdateKind::Modify,
            None => UpdateKind::Insert,
        };
        self.write(span, vec![Update { kind, entity: self.replication.session(id, what) }])
    }

    pub(super) fn mirroring_add(&mut self, span: Span, session: &Number, port: &Number) -> Result<()> {
        self.set_session(span, session, Session::Port(small(port)))
    }

    pub(super) fn mirroring_add_mc(&mut self, span: Span, session: &Number, group: &Number) -> Result<()> {
        self.set_session(span, session, Session::Group(small(group)))
    }

    pub(super) fn mirroring_delete(&mut self, span: Span, session: &Number) -> Result<()> {
        let id = small(session);
        let Some(what) = self.replication.sessions.remove(&id) else {
            let message = format!("there is no mirroring session {id}");
            return error(&codes::UNKNOWN_HANDLE, session.span, message, "not added before");
        };
        let entity = self.replication.session(id, what);
        self.write(span, vec![Update { kind: UpdateKind::Delete, entity }])
    }

    pub(super) fn mirroring_get(&mut self, span: Span, session: &Number) {
        let query = Query::CloneSessions(Some(CloneSessionId(small(session))));
        self.step(span, StepKind::Show(query));
    }
}
