//! A case as a test script: entries, packets, and what the first backend sent.
//!
//! Events that the script language cannot express become comments; [`Written::is_complete`] is false if there are any.

use super::transcript::{Transcript, hex};
use super::{Compiled, Event};
use control::schema::MeterType;
use control::*;
use ir::Bits;
use std::collections::BTreeSet;
use std::fmt::Write;

/// A script.
#[derive(Clone, Debug)]
pub struct Written {
    pub text: String,
    pub is_complete: bool,
}

/// Writes down what happens, and what was observed of it.
pub fn script(compiled: &Compiled, events: &[Event], observed: &Transcript) -> Written {
    let mut writer = Writer {
        schema: &compiled.schema,
        text: String::new(),
        is_complete: true,
        n_nodes: 0,
        existing: BTreeSet::new(),
    };
    for (i, event) in events.iter().enumerate() {
        let seen = observed.observed.get(i);
        match event {
            // A write that is refused changes nothing.
            Event::Write(_) if seen.is_some_and(|o| o.fault.is_some()) => {}
            Event::Write(update) => {
                if writer.update(update).is_none() {
                    writer.is_complete = false;
                    let _ = writeln!(writer.text, "# Not in words: {:?}", update);
                }
            }
            Event::Packet { port, bytes } if bytes.is_empty() => {
                writer.is_complete = false;
                let _ = writeln!(writer.text, "# An empty packet at port {port}.");
            }
            Event::Packet { port, bytes } => {
                let _ = writeln!(writer.text, "packet {port} {}", hex(bytes));
            }
            Event::EndOfBurst => writer.text.push_str("wait\n"),
            Event::Clock { ns } => {
                let _ = writeln!(writer.text, "clock {ns}ns");
            }
            Event::PortSide { port, is_host } => {
                let side = if *is_host { "host" } else { "network" };
                let _ = writeln!(writer.text, "port {port} {side}");
            }
        }
        for sent in seen.iter().flat_map(|o| &o.sent) {
            match sent.port {
                Some(port) if sent.bytes.is_empty() => {
                    let _ = writeln!(writer.text, "expect {port} $");
                }
                Some(port) => {
                    let _ = writeln!(writer.text, "expect {port} {} $", hex(&sent.bytes));
                }
                None => writer.is_complete = false,
            }
        }
    }
    writer.text.push_str("no_packet\n");
    Written { text: writer.text, is_complete: writer.is_complete }
}

struct Writer<'s> {
    schema: &'s Schema,
    text: String,
    is_complete: bool,
    /// Multicast nodes made so far.
    n_nodes: u32,
    /// Multicast groups that were made.
    existing: BTreeSet<u32>,
}

fn number(bits: &Bits) -> String {
    format!("{bits:#x}")
}

fn value(value: &Value) -> String {
    match value {
        Value::Bits(bits) => number(bits),
        Value::Text(text) => format!("\"{text}\""),
    }
}

/// Quoted where it has to be.
fn name(text: &str) -> String {
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '[' | ']' | '$'));
    let is_word = text.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if plain && is_word { text.to_string() } else { format!("\"{text}\"") }
}

impl Writer<'_> {
    /// One line, or more; `None` when there are no words.
    fn update(&mut self, update: &Update) -> Option<()> {
        let kind = update.kind;
        let line = match &update.entity {
            Entity::TableEntry(entry) => self.entry(kind, entry)?,
            Entity::ActionProfileMember(of) => {
                let profile = name(&self.schema.profiles.get(of.profile)?.names.name);
                let verb = verb("member", kind);
                match kind {
                    UpdateKind::Delete => format!("{verb} {profile} {}", of.member),
                    UpdateKind::Insert | UpdateKind::Modify => {
                        let action = self.action(of.action.as_ref()?)?;
                        format!("{verb} {profile} {} {action}", of.member)
                    }
                }
            }
            Entity::ActionProfileGroup(of) => {
                let profile = name(&self.schema.profiles.get(of.profile)?.names.name);
                let mut line = format!("{} {profile} {}", verb("group", kind), of.group);
                if kind != UpdateKind::Delete {
                    for member in &of.members {
                        let _ = write!(line, " {}:{}", member.member, member.weight);
                    }
                }
                line
            }
            Entity::Meter(of) => {
                let meter = self.schema.meters.get(of.meter)?;
                let config = of.config?;
                let name = name(&meter.names.name);
                let head = match of.index {
                    Some(index) => format!("meter_set_rates {name} {index}"),
                    None => format!("meter_array_set_rates {name}"),
                };
                let rate = |per_second: i64, burst: i64| {
                    format!("{}.{:06}:{burst}", per_second / 1_000_000, per_second % 1_000_000)
                };
                let committed = rate(config.cir, config.cburst);
                match meter.meter_type {
                    MeterType::TwoRateThreeColor => {
                        format!("{head} {committed} {}", rate(config.pir, config.pburst))
                    }
                    MeterType::SingleRateThreeColor => format!("{head} {committed} 0:{}", config.eburst),
                    MeterType::SingleRateTwoColor => format!("{head} {committed}"),
                }
            }
            Entity::Counter(of) => {
                let counter = name(&self.schema.counters.get(of.counter)?.names.name);
                let data = of.data?;
                format!("counter_write {counter} {} {} {}", of.index?, data.n_packets, data.n_bytes)
            }
            Entity::Register(of) => {
                let register = name(&self.schema.registers.get(of.register)?.names.name);
                let bits = match of.data.as_ref()? {
                    Data::Bits(bits) | Data::EnumValue(bits) => bits.clone(),
                    Data::Bool(b) => Bits::bool(*b),
                    _ => return None,
                };
                format!("register_write {register} {} {}", of.index?, number(&bits))
            }
            Entity::ValueSet(of) => {
                let set = self.schema.value_sets.get(of.value_set)?;
                let called = name(&set.names.name);
                let mut lines = format!("value_set_clear {called}");
                for member in &of.members {
                    let fields: Option<Vec<String>> = member
                        .matches
                        .iter()
                        .map(|m| Some(field(&set.field(m.field)?.name, &m.value)))
                        .collect();
                    let _ = write!(lines, "\nvalue_set_add {called} {}", fields?.join(" "));
                }
                lines
            }
            Entity::MulticastGroup(of) => self.group(kind, of)?,
            Entity::CloneSession(of) => {
                if of.packet_length_bytes != 0 || of.class_of_service != 0 {
                    return None;
                }
                match (kind, of.replicas.as_slice()) {
                    (UpdateKind::Delete, _) => format!("mirroring_delete {}", of.session),
                    (_, [one]) if one.instance == 0 => {
                        format!("mirroring_add {} {}", of.session, one.egress_port)
                    }
                    _ => return None,
                }
            }
            Entity::DirectMeter(_) | Entity::DirectCounter(_) | Entity::Digest(_) | Entity::Extern(_) => {
                return None;
            }
        };
        self.text.push_str(&line);
        self.text.push('\n');
        Some(())
    }

    fn entry(&self, kind: UpdateKind, entry: &TableEntry) -> Option<String> {
        let table = self.schema.tables.get(entry.table)?;
        let called = name(&table.names.name);
        if kind != UpdateKind::Delete && (entry.meter_config.is_some() || entry.counter_data.is_some()) {
            return None;
        }
        if entry.is_default_action {
            return Some(match &entry.action {
                Some(action) => format!("setdefault {called} {}", self.target(action)?),
                None => format!("resetdefault {called}"),
            });
        }
        let mut line = match kind {
            UpdateKind::Insert => format!("add {called}"),
            UpdateKind::Modify => format!("modify {called}"),
            UpdateKind::Delete => format!("remove {called}"),
        };
        if entry.priority != 0 {
            let _ = write!(line, " {}", entry.priority);
        }
        for found in &entry.matches {
            let _ = write!(line, " {}", field(&table.key(found.field)?.name, &found.value));
        }
        if kind != UpdateKind::Delete {
            let _ = write!(line, " {}", self.target(entry.action.as_ref()?)?);
        }
        Some(line)
    }

    fn target(&self, action: &TableAction) -> Option<String> {
        Some(match action {
            TableAction::Action(action) => self.action(action)?,
            TableAction::Member(member) => format!("member {member}"),
            TableAction::Group(group) => format!("group {group}"),
            TableAction::OneShot(one_shot) => {
                let one = |w: &WeightedAction| Some(format!("{}:{}", self.action(&w.action)?, w.weight));
                let all: Option<Vec<String>> = one_shot.actions.iter().map(one).collect();
                format!("oneshot {}", all?.join(" "))
            }
        })
    }

    fn action(&self, action: &Action) -> Option<String> {
        let schema = self.schema.actions.get(action.id)?;
        let param = |p: &Param| Some(format!("{}:{}", name(&schema.param(p.id)?.name), value(&p.value)));
        let params: Option<Vec<String>> = action.params.iter().map(param).collect();
        Some(format!("{}({})", name(&schema.names.name), params?.join(", ")))
    }

    /// A group is made of one node for each instance; groups cannot be changed otherwise, or removed.
    fn group(&mut self, kind: UpdateKind, group: &MulticastGroup) -> Option<String> {
        let id = group.group.0;
        if kind != UpdateKind::Insert || !self.existing.insert(id) {
            return None;
        }
        let mut lines = format!("mc_mgrp_create {id}");
        for replica in &group.replicas {
            let _ = write!(lines, "\nmc_node_create {} {}", replica.instance, replica.egress_port);
            let _ = write!(lines, "\nmc_node_associate {id} {}", self.n_nodes);
            self.n_nodes += 1;
        }
        Some(lines)
    }
}

fn verb(of: &str, kind: UpdateKind) -> String {
    let what = match kind {
        UpdateKind::Insert => "add",
        UpdateKind::Modify => "modify",
        UpdateKind::Delete => "remove",
    };
    format!("{of}_{what}")
}

fn field(key: &str, found: &Match) -> String {
    let what = match found {
        Match::Exact(v) | Match::Optional(v) => value(v),
        Match::Lpm { value, prefix_len } => format!("{}/{prefix_len}", number(value)),
        Match::Ternary { value, mask } => format!("{}&&&{}", number(value), number(mask)),
        Match::Range { low, high } => format!("{}..{}", number(low), number(high)),
    };
    format!("{}:{what}", name(key))
}
