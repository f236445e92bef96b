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
        for (id, session) in &self.sessions {
            if matches!(session, Session::Group(g) if *g == group) {
                updates.push(Update { kind: UpdateKind::Modify, entity: self.session(*id, *session) });
            }
        }
        updates
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
        let groups = self.replication.groups.iter().filter(|(_, nodes)| nodes.contains(&i));
        let groups: Vec<u32> = groups.map(|(group, _)| *group).collect();
        let updates = groups.into_iter().flat_map(|g| self.replication.changed(g, UpdateKind::Modify));
        let updates: Vec<Update> = updates.collect();
        if updates.is_empty() { Ok(()) } else { self.write(span, updates) }
    }

    pub(super) fn node_associate(&mut self, span: Span, group: &Number, node: &Number) -> Result<()> {
        let (id, i) = (small(group), self.node(node)?);
        let Some(nodes) = self.replication.groups.get_mut(&id) else {
            let message = format!("there is no multicast group {id}");
            return error(
                &codes::UNKNOWN_HANDLE,
                group.span,
                message,
                "make it with `mc_mgrp_create` before",
            );
        };
        if nodes.contains(&i) {
            let message = format!("node {i} is in group {id} already");
            return error(&codes::REPEATED, node.span, message, "associated again");
        }
        nodes.push(i);
        let updates = self.replication.changed(id, UpdateKind::Modify);
        self.write(span, updates)
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
