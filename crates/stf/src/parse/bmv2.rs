//! Commands of BMv2's command line (`simple_switch_CLI`) as commands of a script.
//!
//! Words are separated by blanks; keys and parameters stand in the order of the program. BMv2 numbers entries, members and
//! groups itself, from 0 in the order of their creation, and later commands name them by these numbers. Members and
//! groups have the number plus one here, because P4Runtime reserves 0.
//!
//! BMv2 takes the matching entry with the smallest priority. P4Runtime takes the largest, so `p` is
//! 2^31 - 1 - `p` here, as in BMv2's own P4Runtime server.

use super::line::{Line, Result, shorten};
use super::{Parsed, parse_lines};
use crate::codes;
use crate::script::*;
use control::Schema;
use control::schema::{ActionProfile, Object, Objects, Table};
use diagnostics::{Diagnostic, Span, suggest};
use num_traits::ToPrimitive;
use rustc_hash::FxHashMap;

/// How each command is written.
const COMMANDS: &[(&str, &str)] = &[
    ("act_prof_add_member_to_group", "PROFILE MEMBER GROUP"),
    ("act_prof_create_group", "PROFILE"),
    ("act_prof_create_member", "PROFILE ACTION [PARAMETER...]"),
    ("act_prof_delete_group", "PROFILE GROUP"),
    ("act_prof_delete_member", "PROFILE MEMBER"),
    ("act_prof_modify_member", "PROFILE ACTION MEMBER [PARAMETER...]"),
    ("act_prof_remove_member_from_group", "PROFILE MEMBER GROUP"),
    ("counter_write", "COUNTER INDEX PACKETS BYTES"),
    ("mc_mgrp_create", "GROUP"),
    ("mc_mgrp_destroy", "GROUP"),
    ("mc_node_associate", "GROUP NODE"),
    ("mc_node_create", "INSTANCE PORT..."),
    ("mc_node_destroy", "NODE"),
    ("mc_node_dissociate", "GROUP NODE"),
    ("mc_node_update", "NODE PORT..."),
    ("meter_array_set_rates", "METER RATE:BURST..."),
    ("meter_set_rates", "METER INDEX RATE:BURST..."),
    ("mirroring_add", "SESSION PORT"),
    ("mirroring_add_mc", "SESSION GROUP"),
    ("mirroring_delete", "SESSION"),
    ("register_reset", "REGISTER"),
    ("register_write", "REGISTER INDEX VALUE"),
    ("table_add", "TABLE ACTION KEY... => [PARAMETER...] [PRIORITY]"),
    ("table_clear", "TABLE"),
    ("table_delete", "TABLE ENTRY"),
    ("table_indirect_add", "TABLE KEY... => MEMBER [PRIORITY]"),
    ("table_indirect_add_with_group", "TABLE KEY... => GROUP [PRIORITY]"),
    ("table_indirect_delete", "TABLE ENTRY"),
    ("table_modify", "TABLE ACTION ENTRY [=>] [PARAMETER...]"),
    ("table_reset_default", "TABLE"),
    ("table_set_default", "TABLE ACTION [PARAMETER...]"),
];

/// Commands that change nothing that an entry is: they read, or concern the process.
const READS: &[&str] = &[
    "act_prof_dump",
    "act_prof_dump_group",
    "act_prof_dump_member",
    "counter_read",
    "get_time_elapsed",
    "get_time_since_epoch",
    "help",
    "mc_dump",
    "meter_get_rates",
    "mirroring_get",
    "port_add",
    "port_remove",
    "register_read",
    "set_queue_depth",
    "set_queue_rate",
    "show_actions",
    "show_ports",
    "show_pvs",
    "show_tables",
    "switch_info",
    "table_dump",
    "table_dump_entry",
    "table_dump_entry_from_key",
    "table_info",
    "table_num_entries",
    "table_show_actions",
];

/// True for a word that begins commands of BMv2's command line and none of test scripts.
pub fn is_bmv2_command(word: &str) -> bool {
    let is_known = COMMANDS.iter().any(|(name, _)| *name == word) || READS.contains(&word);
    is_known && crate::keywords::Keyword::find(word).is_none()
}

/// Understands commands of BMv2's command line. Lines that cannot be understood are left out and reported.
pub fn parse_bmv2(file_name: &str, text: &str, schema: &Schema) -> Parsed {
    let mut state = State { schema, entries: FxHashMap::default(), profiles: FxHashMap::default() };
    parse_lines(file_name, text, &mut |line, base| {
        let mut words = Words::new(line, base);
        let Some((word, span)) = words.take() else { return Ok(Vec::new()) };
        let kinds = state.command(word, span, &mut words)?;
        words.expect_end()?;
        let span = span.to(words.last);
        Ok(kinds.into_iter().map(|kind| Command { span, kind }).collect())
    })
}

/// The words of a line, in order.
struct Words<'t> {
    words: std::vec::IntoIter<(&'t str, Span)>,
    /// The last word that was taken.
    last: Span,
}

impl<'t> Words<'t> {
    fn new(line: &'t str, base: u32) -> Words<'t> {
        let mut words = Vec::new();
        if !line.trim_start().starts_with('#') {
            for word in line.split_ascii_whitespace() {
                // A part of `line`.
                let lo = base + (word.as_ptr() as usize - line.as_ptr() as usize) as u32;
                words.push((word, Span::new(lo, lo + word.len() as u32)));
            }
        }
        Words { words: words.into_iter(), last: Span::new(base, base) }
    }

    fn take(&mut self) -> Option<(&'t str, Span)> {
        let next = self.words.next();
        if let Some((_, span)) = next {
            self.last = span;
        }
        next
    }

    fn peek(&self) -> Option<&'t str> {
        self.words.as_slice().first().map(|(word, _)| *word)
    }

    fn need(&mut self, what: &str) -> Result<(&'t str, Span)> {
        let end = self.last.shrink_to_hi();
        self.take().ok_or_else(|| {
            let message = format!("expected {what}, found the end of the line");
            Box::new(Diagnostic::new(&codes::UNEXPECTED, end, message).label(format!("expected {what}")))
        })
    }

    fn name(&mut self, what: &str) -> Result<Name> {
        let (word, span) = self.need(what)?;
        Ok(Name { text: word.to_owned(), span })
    }

    fn number(&mut self, what: &str) -> Result<Number> {
        let (word, span) = self.need(what)?;
        let mut line = Line::new(word, span.lo, Form::Short);
        let number = line.exact_number(what)?;
        line.expect_end()?;
        Ok(number)
    }

    /// A number of 32 bits.
    fn small(&mut self, what: &str) -> Result<Number> {
        let (word, span) = self.need(what)?;
        let mut line = Line::new(word, span.lo, Form::Short);
        let number = line.small_number(what)?;
        line.expect_end()?;
        Ok(number)
    }

    fn rates(&mut self) -> Result<Vec<Rate>> {
        let mut rates = Vec::new();
        while rates.is_empty() || self.peek().is_some() {
            let (word, span) = self.need("`rate:burst`")?;
            let mut line = Line::new(word, span.lo, Form::Short);
            rates.push(line.rate()?);
            line.expect_end()?;
        }
        Ok(rates)
    }

    fn ports(&mut self) -> Result<Vec<Number>> {
        let mut ports = Vec::new();
        while ports.is_empty() || self.peek().is_some() {
            ports.push(self.small("a port")?);
        }
        Ok(ports)
    }

    /// Words up to `=>`, which must be there.
    fn keys(&mut self) -> Result<Key> {
        let mut in_order = Vec::new();
        loop {
            match self.need("a key or `=>`")? {
                ("=>", _) => return Ok(Key { priority: None, matches: Vec::new(), in_order }),
                (word, span) => in_order.push(match_value(word, span)?),
            }
        }
    }

    fn expect_end(&mut self) -> Result<()> {
        match self.take() {
            None => Ok(()),
            Some((word, span)) => {
                let message = format!("expected the end of the line, found `{}`", shorten(word));
                Err(Box::new(Diagnostic::new(&codes::UNEXPECTED, span, message).label("one word too many")))
            }
        }
    }
}

/// The value of a key: `1`, `10.0.0.0/8`, `0x0800&&&0xff00`, `1->9`, `true`.
fn match_value(word: &str, span: Span) -> Result<MatchValue> {
    if let Some((low, high)) = word.split_once("->") {
        let split = span.lo + low.len() as u32;
        let low = exact(low, Span::new(span.lo, split), "the start of a range")?;
        let high = exact(high, Span::new(split + 2, span.hi), "the end of a range")?;
        return Ok(MatchValue::Range { low, high });
    }
    if word == "true" || word == "false" {
        return Ok(MatchValue::Number(truth(word == "true", span)));
    }
    let mut line = Line::new(word, span.lo, Form::Short);
    let value = line.match_value()?;
    line.expect_end()?;
    Ok(value)
}

fn exact(word: &str, span: Span, what: &str) -> Result<Number> {
    let mut line = Line::new(word, span.lo, Form::Short);
    let number = line.exact_number(what)?;
    line.expect_end()?;
    Ok(number)
}

fn truth(value: bool, span: Span) -> Number {
    decimal(u64::from(value), span)
}

fn decimal(value: u64, span: Span) -> Number {
    Number::plain(value.into(), span)
}

/// Objects of earlier lines, by the numbers that BMv2 gives.
struct State<'s> {
    schema: &'s Schema,
    /// Entries of each table; `None` when they have been deleted.
    entries: FxHashMap<String, Vec<Option<Key>>>,
    profiles: FxHashMap<String, Profile>,
}

#[derive(Default)]
struct Profile {
    n_members: u64,
    n_groups: u64,
    groups: FxHashMap<u32, Vec<Weighted<Number>>>,
}

/// The full name of an object, or the name that was written: all names of an object are one key.
fn full_name<T: Object>(objects: &Objects<T>, name: &Name) -> String {
    match objects.find(&name.text) {
        Ok(object) => object.names().name.to_string(),
        Err(_) => name.text.clone(),
    }
}

impl State<'_> {
    /// A line may stand for several commands, or for none.
    fn command(&mut self, word: &str, span: Span, words: &mut Words<'_>) -> Result<Vec<CommandKind>> {
        if READS.contains(&word) {
            while words.take().is_some() {}
            let message = format!("`{word}` makes no entry; the line is left out");
            return Err(Box::new(Diagnostic::new(&codes::NOT_AN_ENTRY, span, message)));
        }
        let Some((_, usage)) = COMMANDS.iter().find(|(name, _)| *name == word) else {
            let message = format!("unknown command `{}`", shorten(word));
            let diagnostic = Diagnostic::new(&codes::UNKNOWN_COMMAND, span, message)
                .label("no command of BMv2's command line that makes entries");
            return Err(Box::new(
                match suggest::nearest_word(word, COMMANDS.iter().map(|(name, _)| *name)) {
                    Some(meant) => diagnostic.fix(format!("did you mean `{meant}`?"), span, meant),
                    None => diagnostic,
                },
            ));
        };
        self.arguments(word, words)
            .map_err(|diagnostic| Box::new((*diagnostic).help(format!("write: {word} {usage}"))))
    }

    fn arguments(&mut self, word: &str, words: &mut Words<'_>) -> Result<Vec<CommandKind>> {
        let kind = match word {
            "table_add" => {
                let table = words.name("a table")?;
                let action = words.name("an action")?;
                let mut key = words.keys()?;
                let mut values = self.values(words)?;
                self.take_priority(&table, &mut key, &mut values)?;
                self.remember(&table, &key);
                let target = Target::Action(call(action, values));
                CommandKind::Add { table, key, target, handle: None }
            }
            "table_indirect_add" | "table_indirect_add_with_group" => {
                let table = words.name("a table")?;
                let mut key = words.keys()?;
                let what = if word == "table_indirect_add" { "a member" } else { "a group" };
                let number = one_more(words.small(what)?);
                let mut values = self.values(words)?;
                self.take_priority(&table, &mut key, &mut values)?;
                self.remember(&table, &key);
                let target = match word {
                    "table_indirect_add" => Target::Member(number),
                    _ => Target::Group(number),
                };
                CommandKind::Add { table, key, target, handle: None }
            }
            "table_set_default" => {
                let table = words.name("a table")?;
                let action = words.name("an action")?;
                let values = self.values(words)?;
                CommandKind::SetDefault { table, target: Target::Action(call(action, values)) }
            }
            "table_reset_default" => CommandKind::ResetDefault { table: words.name("a table")? },
            "table_modify" => {
                let table = words.name("a table")?;
                let action = words.name("an action")?;
                let key = self.entry(&table, words)?.clone();
                if words.peek() == Some("=>") {
                    words.take();
                }
                let target = Target::Action(call(action, self.values(words)?));
                CommandKind::Modify { table, entry: EntryRef::Key(key), target, keeps_state: false }
            }
            "table_delete" | "table_indirect_delete" => {
                let table = words.name("a table")?;
                let slot = self.entry_slot(&table, words)?;
                let Some(key) = slot.take() else { return Ok(Vec::new()) };
                CommandKind::Remove { table, entry: EntryRef::Key(key) }
            }
            "table_clear" => {
                let table = words.name("a table")?;
                let entries = self.entries.entry(full_name(&self.schema.tables, &table)).or_default();
                let keys = entries.iter_mut().filter_map(Option::take);
                let remove = |key| CommandKind::Remove { table: table.clone(), entry: EntryRef::Key(key) };
                return Ok(keys.map(remove).collect());
            }
            "act_prof_create_member" => {
                let profile = words.name("an action profile")?;
                let action = words.name("an action")?;
                let values = self.values(words)?;
                let of = self.profile(&profile);
                of.n_members += 1;
                let member = decimal(of.n_members, profile.span);
                CommandKind::MemberAdd { profile, member, action: call(action, values) }
            }
            "act_prof_modify_member" => {
                let profile = words.name("an action profile")?;
                let action = words.name("an action")?;
                let member = one_more(words.small("a member")?);
                let action = call(action, self.values(words)?);
                CommandKind::MemberModify { profile, member, action }
            }
            "act_prof_delete_member" => {
                let profile = words.name("an action profile")?;
                CommandKind::MemberRemove { profile, member: one_more(words.small("a member")?) }
            }
            "act_prof_create_group" => {
                let profile = words.name("an action selector")?;
                let of = self.profile(&profile);
                of.n_groups += 1;
                let group = decimal(of.n_groups, profile.span);
                of.groups.insert(of.n_groups as u32, Vec::new());
                CommandKind::GroupAdd { profile, group, members: Vec::new() }
            }
            "act_prof_delete_group" => {
                let profile = words.name("an action selector")?;
                let group = one_more(words.small("a group")?);
                self.profile(&profile).groups.remove(&number_of(&group));
                CommandKind::GroupRemove { profile, group }
            }
            "act_prof_add_member_to_group" | "act_prof_remove_member_from_group" => {
                let profile = words.name("an action selector")?;
                let member = one_more(words.small("a member")?);
                let group = one_more(words.small("a group")?);
                let Some(members) = self.profile(&profile).groups.get_mut(&number_of(&group)) else {
                    let message = "no group has this number".to_owned();
                    let diagnostic = Diagnostic::new(&codes::UNKNOWN_HANDLE, group.span, message)
                        .label("not created before")
                        .note("groups are numbered from 0, in the order of `act_prof_create_group`");
                    return Err(Box::new(diagnostic));
                };
                members.retain(|found| found.item.value != member.value);
                if word == "act_prof_add_member_to_group" {
                    members.push(Weighted { item: member, weight: None });
                }
                CommandKind::GroupModify { profile, group, members: members.clone() }
            }
            "counter_write" => CommandKind::CounterWrite {
                counter: words.name("a counter")?,
                index: words.number("an index")?,
                n_packets: words.number("a number of packets")?,
                n_bytes: words.number("a number of bytes")?,
            },
            "register_write" => CommandKind::RegisterWrite {
                register: words.name("a register")?,
                index: words.number("an index")?,
                value: words.number("a value")?,
            },
            "register_reset" => CommandKind::RegisterReset { register: words.name("a register")? },
            "meter_set_rates" => CommandKind::MeterSetRates {
                meter: words.name("a meter")?,
                index: words.number("an index")?,
                rates: words.rates()?,
            },
            "meter_array_set_rates" => {
                CommandKind::MeterArraySetRates { meter: words.name("a meter")?, rates: words.rates()? }
            }
            "mirroring_add" => {
                CommandKind::MirroringAdd { session: words.small("a session")?, port: words.small("a port")? }
            }
            "mirroring_add_mc" => CommandKind::MirroringAddMc {
                session: words.small("a session")?,
                group: words.small("a multicast group")?,
            },
            "mirroring_delete" => CommandKind::MirroringDelete { session: words.small("a session")? },
            "mc_mgrp_create" => CommandKind::McMgrpCreate { group: words.small("a multicast group")? },
            "mc_mgrp_destroy" => CommandKind::McMgrpDestroy { group: words.small("a multicast group")? },
            "mc_node_create" => CommandKind::McNodeCreate {
                instance: words.small("an instance (the `egress_rid` of the copies)")?,
                ports: words.ports()?,
            },
            "mc_node_update" => {
                CommandKind::McNodeUpdate { node: words.small("a node")?, ports: words.ports()? }
            }
            "mc_node_associate" => CommandKind::McNodeAssociate {
                group: words.small("a multicast group")?,
                node: words.small("a node")?,
            },
            "mc_node_dissociate" => CommandKind::McNodeDissociate {
                group: words.small("a multicast group")?,
                node: words.small("a node")?,
            },
            "mc_node_destroy" => CommandKind::McNodeDestroy { node: words.small("a node")? },
            // Every command of the table above is here.
            _ => return Ok(Vec::new()),
        };
        Ok(vec![kind])
    }

    /// The values to the end of the line.
    fn values(&self, words: &mut Words<'_>) -> Result<Vec<ArgumentValue>> {
        let mut values = Vec::new();
        while let Some((word, span)) = words.take() {
            values.push(match word {
                "true" | "false" => ArgumentValue::Number(truth(word == "true", span)),
                _ => match match_value(word, span)? {
                    MatchValue::Constant(name) => ArgumentValue::Constant(name),
                    _ => ArgumentValue::Number(exact(word, span, "a value")?),
                },
            });
        }
        Ok(values)
    }

    fn table(&self, name: &Name) -> Option<&Table> {
        self.schema.tables.find(&name.text).ok()
    }

    /// Makes the last value the priority, if the table needs one.
    fn take_priority(&self, table: &Name, key: &mut Key, values: &mut Vec<ArgumentValue>) -> Result<()> {
        if !self.table(table).is_some_and(Table::needs_priority) {
            return Ok(());
        }
        let Some(ArgumentValue::Number(written)) = values.pop() else {
            let message = format!("an entry of table `{}` needs a priority", table.text);
            let diagnostic = Diagnostic::new(&codes::PRIORITY, table.span, message)
                .label("its last value is the priority")
                .note("several entries may match the same packet: the smaller priority wins");
            return Err(Box::new(diagnostic));
        };
        let Some(priority) = written.value.to_i32().filter(|_| !written.has_wildcards()) else {
            let diagnostic = Diagnostic::new(&codes::PRIORITY, written.span, "a priority is too large")
                .label("has more than 31 bits");
            return Err(Box::new(diagnostic));
        };
        key.priority = Some(decimal(u64::from(i32::MAX.abs_diff(priority)), written.span));
        Ok(())
    }

    fn remember(&mut self, table: &Name, key: &Key) {
        let name = full_name(&self.schema.tables, table);
        self.entries.entry(name).or_default().push(Some(key.clone()));
    }

    /// The place of the entry whose number is next.
    fn entry_slot(&mut self, table: &Name, words: &mut Words<'_>) -> Result<&mut Option<Key>> {
        let handle = words.small("the number of an entry")?;
        let name = full_name(&self.schema.tables, table);
        let i = number_of(&handle) as usize;
        match self.entries.get_mut(&name).and_then(|entries| entries.get_mut(i)) {
            Some(slot @ Some(_)) => Ok(slot),
            Some(None) | None => {
                let message = format!("table `{}` has no entry {i}", table.text);
                let diagnostic = Diagnostic::new(&codes::UNKNOWN_HANDLE, handle.span, message)
                    .label("not added before, or deleted")
                    .note("entries of a table are numbered from 0, in the order of `table_add`");
                Err(Box::new(diagnostic))
            }
        }
    }

    fn entry(&mut self, table: &Name, words: &mut Words<'_>) -> Result<&Key> {
        let place = table.span;
        match self.entry_slot(table, words)? {
            Some(key) => Ok(key),
            None => Err(Box::new(Diagnostic::new(&codes::UNKNOWN_HANDLE, place, "the entry is deleted"))),
        }
    }

    fn profile(&mut self, name: &Name) -> &mut Profile {
        let full = full_name::<ActionProfile>(&self.schema.profiles, name);
        self.profiles.entry(full).or_default()
    }
}

fn call(name: Name, in_order: Vec<ArgumentValue>) -> ActionCall {
    let last = in_order.last().map_or(name.span, ArgumentValue::span);
    let span = if in_order.is_empty() { name.span } else { name.span.to(last) };
    ActionCall { name, arguments: Vec::new(), in_order, span }
}

/// The number of a member or group here for its number in BMv2.
fn one_more(mut number: Number) -> Number {
    number.value += 1u32;
    number
}

/// 32 bits, which the language has checked.
fn number_of(number: &Number) -> u32 {
    number.value.to_u32().unwrap_or(u32::MAX)
}
