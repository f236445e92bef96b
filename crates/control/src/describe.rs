//! Entities in words, for messages.

use ir::notation;
use std::fmt::Write as _;

use crate::entity::*;
use crate::schema::Schema;

/// Number of matches that a description shows at most.
const N_MATCHES_MAX: usize = 4;

impl Schema {
    /// Describes an entity by names: ``the entry of table `t` with `port` = 0x1``.
    pub fn describe(&self, entity: &Entity) -> String {
        match entity {
            Entity::TableEntry(of) => {
                self.describe_entry(of.table.0, &of.matches, of.priority, of.is_default_action)
            }
            Entity::ActionProfileMember(of) => {
                format!("member {} of `{}`", of.member, self.name_of(of.profile.0))
            }
            Entity::ActionProfileGroup(of) => {
                format!("group {} of `{}`", of.group, self.name_of(of.profile.0))
            }
            Entity::Meter(of) => self.describe_cell("meter", of.meter.0, of.index),
            Entity::DirectMeter(of) => format!("the meter of {}", self.describe_ref(&of.entry)),
            Entity::Counter(of) => self.describe_cell("counter", of.counter.0, of.index),
            Entity::DirectCounter(of) => format!("the counter of {}", self.describe_ref(&of.entry)),
            Entity::Register(of) => self.describe_cell("register", of.register.0, of.index),
            Entity::MulticastGroup(of) => format!("multicast group {}", of.group),
            Entity::CloneSession(of) => format!("clone session {}", of.session),
            Entity::ValueSet(of) => format!("value set `{}`", self.name_of(of.value_set.0)),
            Entity::Digest(of) => format!("digest `{}`", self.name_of(of.digest.0)),
            Entity::Extern(of) => format!("extern `{}`", self.name_of(of.instance.0)),
        }
    }

    fn describe_cell(&self, kind: &str, id: u32, index: Option<i64>) -> String {
        match index {
            Some(index) => format!("cell {index} of {kind} `{}`", self.name_of(id)),
            None => format!("all cells of {kind} `{}`", self.name_of(id)),
        }
    }

    fn describe_ref(&self, of: &EntryRef) -> String {
        self.describe_entry(of.table.0, &of.matches, of.priority, of.is_default_action)
    }

    fn describe_entry(&self, table: u32, matches: &[FieldMatch], priority: i32, is_default: bool) -> String {
        let name = self.name_of(table);
        if is_default {
            return format!("the default entry of table `{name}`");
        }
        let mut out = format!("the entry of table `{name}`");
        let table = self.tables.get(crate::ids::TableId(table));
        for (i, field) in matches.iter().take(N_MATCHES_MAX).enumerate() {
            let key = table.and_then(|table| table.key(field.field));
            let joint = if i == 0 { " with" } else { "," };
            // Writing to a string cannot fail.
            let _ = match key {
                Some(key) => write!(out, "{joint} `{}` = {}", key.name, pattern(&field.value, &key.name)),
                None => write!(out, "{joint} {} = {}", field.field, field.value),
            };
        }
        if matches.len() > N_MATCHES_MAX {
            let _ = write!(out, " and {} more", matches.len() - N_MATCHES_MAX);
        }
        if matches.is_empty() {
            out.push_str(" that matches anything");
        }
        if priority != 0 {
            let _ = write!(out, ", priority {priority}");
        }
        out
    }
}

/// A match with values as they read best by the name of the key: `10.0.0.0/8`.
fn pattern(found: &Match, name: &str) -> String {
    let show = |value: &ir::Bits| notation::bits(value, name);
    match found {
        Match::Exact(Value::Bits(value)) | Match::Optional(Value::Bits(value)) => show(value),
        Match::Lpm { value, prefix_len } => format!("{}/{prefix_len}", show(value)),
        Match::Ternary { value, mask } => format!("{} &&& {mask:#x}", show(value)),
        Match::Range { low, high } => format!("{}..{}", show(low), show(high)),
        Match::Exact(value @ Value::Text(_)) | Match::Optional(value @ Value::Text(_)) => value.to_string(),
    }
}

/// `0x1f`, or a string in quotes.
impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Bits(bits) => write!(f, "{bits:#x}"),
            Value::Text(text) => write!(f, "{text:?}"),
        }
    }
}

/// Prints a match in the syntax of P4 key sets: `0x0a000000/8`, `0x1 &&& 0xf`, `0x1..0x9`.
impl std::fmt::Display for Match {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Match::Exact(value) | Match::Optional(value) => value.fmt(f),
            Match::Lpm { value, prefix_len } => write!(f, "{value:#x}/{prefix_len}"),
            Match::Ternary { value, mask } => write!(f, "{value:#x} &&& {mask:#x}"),
            Match::Range { low, high } => write!(f, "{low:#x}..{high:#x}"),
        }
    }
}
