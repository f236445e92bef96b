//! The text of a plan.

use super::{
    AtOnce, FastPathPlan, OffloadBlockPlan, Plan, SavedPlan, Staging, SuspensionPlan, TablePlan, TablesPlan,
};
use crate::facts::weight::SMALL_WEIGHT_MAX;
use std::fmt::{Display, Formatter, Result};

impl Display for Plan {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let size = if self.is_small { "small, all functions inlined" } else { "large, functions called" };
        writeln!(f, "program: weight {} ({size}; small is at most {SMALL_WEIGHT_MAX})", self.weight)?;
        for block in &self.blocks {
            writeln!(f, "  {:?} {}: weight {}", block.role, block.name, block.weight)?;
        }
        writeln!(f, "  loops: {}", list(&self.loops))?;
        writeln!(f)?;
        match &self.fast_path {
            Some(path) => write!(f, "{path}")?,
            None => writeln!(f, "fast path: none, the host runs each block")?,
        }
        writeln!(f)?;
        writeln!(f, "tables:{}", if self.tables.is_empty() { " none" } else { "" })?;
        for (i, table) in self.tables.iter().enumerate() {
            writeln!(f, "  {i} {table}")?;
        }
        writeln!(f)?;
        write!(f, "{}", self.suspension)
    }
}

impl Display for FastPathPlan {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        writeln!(f, "fast path: from arrival to verdict in C")?;
        if !self.sections.is_empty() {
            writeln!(f, "  sections: {}", list(&self.sections))?;
            let requests =
                if self.makes_requests { ", and packets whose blocks request something" } else { "" };
            return writeln!(
                f,
                "  punted to the slow path: copies, further rounds, groups, priorities{requests}"
            );
        }
        match &self.headers_in_place {
            Some(headers) => {
                writeln!(
                    f,
                    "  common case: accepted, and leaves with the headers in place: {}",
                    list(headers)
                )?;
            }
            None if self.has_exception_path => writeln!(f, "  common case: accepted by the parser")?,
            None => writeln!(f, "  common case: none, all packets run the same code")?,
        }
        let mut exceptions = Vec::new();
        if self.has_exception_path {
            exceptions.push("parser error");
        }
        if self.headers_in_place.is_some() {
            exceptions.push("headers that are not where the deparser puts them");
        }
        writeln!(f, "  exception path: {}", list(&exceptions))?;
        let mut punts: Vec<String> = Vec::new();
        if self.ingress_makes_requests {
            punts.push("a request up to the end of ingress".to_string());
        } else if self.makes_requests {
            punts.push("a request of egress".to_string());
        }
        punts.extend(self.request_fields.iter().map(|role| format!("{role:?} is set")));
        writeln!(f, "  punted to the slow path: {}", list(&punts))
    }
}

impl Display for TablePlan {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let bits = self.key_bits.map_or("variable".to_string(), |bits| bits.to_string());
        let entries = if self.entries_are_inline { "inline" } else { "separate" };
        writeln!(
            f,
            "{}: {}, key bits {bits}, actions {}, entries {entries}",
            self.name, self.structure, self.n_actions
        )?;
        for (action, sync) in &self.updates {
            writeln!(f, "    action {action} changes its entry: {sync}")?;
        }
        match &self.staging {
            Staging::Suspends(point) => write!(f, "    staged: suspends at point {point}"),
            Staging::Prefetched(point) => write!(f, "    staged: prefetched at point {point}"),
            Staging::AtOnce(why) => write!(f, "    not staged: {why}"),
        }
    }
}

impl Display for AtOnce {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            AtOnce::Structure => write!(f, "lookups of this structure have no prefetch steps"),
            AtOnce::ConstEntries => write!(f, "the program gives all entries"),
            AtOnce::Small(size) => write!(f, "{size} entries stay in the cache"),
            AtOnce::Order => write!(f, "a packet may come back to it, or the order of packets would matter"),
            AtOnce::Program => write!(f, "packets of this program do not suspend at tables"),
        }
    }
}

impl Display for SuspensionPlan {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            SuspensionPlan::None(why) => writeln!(f, "suspension points: none, {why}"),
            SuspensionPlan::Tables(plan) => write!(f, "{plan}"),
            SuspensionPlan::Offload(blocks) => {
                writeln!(f, "offload blocks:")?;
                blocks.iter().enumerate().try_for_each(|(i, block)| write!(f, "  {i} {block}"))
            }
        }
    }
}

impl Display for TablesPlan {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let place = if self.state_in_registers { "in registers" } else { "in memory, not saved" };
        writeln!(f, "suspension points: state of packets {place}; first {}", numbers(&self.first))?;
        for (i, point) in self.points.iter().enumerate() {
            writeln!(f, "  {i} {} in {}: next {}", point.table, point.block, numbers(&point.next))?;
            write_saved(f, "saved", &point.saved)?;
        }
        if let Some(saved) = &self.queue {
            writeln!(f, "  {} between ingress and egress", self.points.len())?;
            write_saved(f, "saved", saved)?;
        }
        writeln!(f)?;
        writeln!(f, "prefetch groups:{}", if self.prefetch_groups.is_empty() { " none" } else { "" })?;
        for group in &self.prefetch_groups {
            writeln!(f, "  led by {}", group.leader)?;
            for (member, is_certain) in &group.members {
                let who = if *is_certain { "every packet" } else { "some packets" };
                writeln!(f, "    {member}: {who}")?;
            }
        }
        Ok(())
    }
}

impl Display for OffloadBlockPlan {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let settings = if self.settings.is_empty() { "defaults" } else { &self.settings };
        writeln!(f, "{} in {}: {settings}; context {} bytes", self.name, self.block, self.context_bytes())?;
        match self.batched {
            Ok(()) => writeln!(f, "    extern calls: batched")?,
            Err(why) => writeln!(f, "    extern calls: one by one, {why}")?,
        }
        write_saved(f, "request", &self.request)?;
        write_saved(f, "completion", &self.completion)
    }
}

fn write_saved(f: &mut Formatter<'_>, what: &str, saved: &SavedPlan) -> Result {
    writeln!(f, "    {what}: {} bytes", saved.size_bytes())?;
    for (name, bytes) in &saved.values {
        writeln!(f, "      {name}: {bytes}")?;
    }
    for (header, fields) in &saved.positions {
        let again = if fields.is_empty() { String::new() } else { format!(", reads again {}", list(fields)) };
        writeln!(f, "      position of {header}: 4{again}")?;
    }
    Ok(())
}

fn list(items: &[impl AsRef<str>]) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    if items.is_empty() { "none".to_string() } else { items.join(", ") }
}

fn numbers(points: &[usize]) -> String {
    list(&points.iter().map(usize::to_string).collect::<Vec<_>>())
}
