//! Nodes of multicast groups. BMv2 has them as objects with handles; here a group has its ports itself, so that the nodes of a
//! session are remembered, and a group is written anew when one joins or leaves it.

use ctl::Request;
use std::collections::BTreeMap;

/// Requests, and the text that a command prints.
pub type Done = (Vec<Request>, String);

/// The nodes that a session has made.
#[derive(Debug, Default)]
pub struct Nodes {
    /// Instance and ports, by handle.
    nodes: BTreeMap<u32, Node>,
    /// Handles by group.
    groups: BTreeMap<u32, Vec<u32>>,
    next: u32,
}

#[derive(Debug)]
struct Node {
    instance: String,
    ports: Vec<String>,
}

impl Nodes {
    /// Does a command about nodes; `None` for another one.
    pub fn command(&mut self, command: &str, words: &[&str]) -> Result<Option<Done>, String> {
        let done = match (command, words) {
            ("mc_node_create", [instance, ports @ ..]) => self.create(instance, ports)?,
            ("mc_node_update", [handle, ports @ ..]) => {
                let handle = self.known(handle)?;
                if let Some(node) = self.nodes.get_mut(&handle) {
                    node.ports = ports.iter().map(|port| (*port).to_owned()).collect();
                }
                let groups = self.groups.iter().filter(|(_, nodes)| nodes.contains(&handle));
                (groups.flat_map(|(group, _)| self.written(*group)).collect(), String::new())
            }
            ("mc_node_associate", [group, handle]) => {
                let (group, handle) = (number(group)?, self.known(handle)?);
                let nodes = self.groups.entry(group).or_default();
                if nodes.contains(&handle) {
                    return Err(format!("node {handle} is in group {group} already"));
                }
                nodes.push(handle);
                (self.written(group), format!("Associating node {handle} to multicast group {group}\n"))
            }
            ("mc_node_dissociate", [group, handle]) => {
                let (group, handle) = (number(group)?, self.known(handle)?);
                self.groups.entry(group).or_default().retain(|node| *node != handle);
                (self.written(group), format!("Dissociating node {handle} from multicast group {group}\n"))
            }
            ("mc_node_destroy", [handle]) => {
                let handle = self.known(handle)?;
                self.nodes.remove(&handle);
                let of_node = |(_, nodes): &(&u32, &mut Vec<u32>)| nodes.contains(&handle);
                let groups: Vec<u32> =
                    self.groups.iter_mut().filter(of_node).map(|(group, _)| *group).collect();
                self.groups.values_mut().for_each(|nodes| nodes.retain(|node| *node != handle));
                (groups.into_iter().flat_map(|group| self.written(group)).collect(), String::new())
            }
            ("mc_mgrp_destroy", [group]) => {
                let group = number(group)?;
                self.groups.remove(&group);
                (vec![Request::RemoveGroup { group }], String::new())
            }
            _ => return Ok(None),
        };
        Ok(Some(done))
    }

    fn create(&mut self, instance: &str, ports: &[&str]) -> Result<Done, String> {
        number(instance)?;
        for port in ports.iter().filter(|word| **word != "|") {
            number(port)?;
        }
        let handle = self.next;
        self.next += 1;
        let ports = ports.iter().map(|port| (*port).to_owned()).collect();
        self.nodes.insert(handle, Node { instance: instance.to_owned(), ports });
        Ok((Vec::new(), format!("node was created with handle {handle}\n")))
    }

    fn known(&self, handle: &str) -> Result<u32, String> {
        let handle = number(handle)?;
        match self.nodes.contains_key(&handle) {
            true => Ok(handle),
            false => Err(format!("this session has made no node with the handle {handle}")),
        }
    }

    /// A group as it is now, in the place of what it was.
    fn written(&self, group: u32) -> Vec<Request> {
        let mut text = format!("mc_mgrp_create {group}\n");
        let nodes = self.groups.get(&group).into_iter().flatten().filter_map(|node| self.nodes.get(node));
        for (i, node) in nodes.enumerate() {
            text.push_str(&format!("mc_node_create {} {}\n", node.instance, node.ports.join(" ")));
            text.push_str(&format!("mc_node_associate {group} {i}\n"));
        }
        vec![Request::RemoveGroup { group }, Request::Write { text, name: Some("command".to_owned()) }]
    }
}

fn number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("`{text}` is no number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(done: Option<Done>) -> Vec<String> {
        let (requests, _) = done.unwrap();
        requests
            .into_iter()
            .map(|request| match request {
                Request::Write { text, .. } => text,
                Request::RemoveGroup { group } => format!("remove {group}"),
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn groups_are_written_with_their_nodes() {
        let mut nodes = Nodes::default();
        assert!(nodes.command("mc_node_create", &["7", "1", "2"]).unwrap().unwrap().1.contains("handle 0"));
        assert!(nodes.command("mc_node_create", &["8", "3"]).unwrap().unwrap().1.contains("handle 1"));
        nodes.command("mc_node_associate", &["5", "0"]).unwrap();
        let written = texts(nodes.command("mc_node_associate", &["5", "1"]).unwrap());
        let expected = "mc_mgrp_create 5\nmc_node_create 7 1 2\nmc_node_associate 5 0\n\
                        mc_node_create 8 3\nmc_node_associate 5 1\n";
        assert_eq!(written, ["remove 5".to_owned(), expected.to_owned()]);
        let written = texts(nodes.command("mc_node_dissociate", &["5", "0"]).unwrap());
        assert_eq!(written[1], "mc_mgrp_create 5\nmc_node_create 8 3\nmc_node_associate 5 0\n");
        assert!(nodes.command("mc_node_associate", &["5", "9"]).unwrap_err().contains("handle 9"));
        assert!(nodes.command("table_dump", &["t"]).unwrap().is_none());
    }
}
