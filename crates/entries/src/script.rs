//! Entries as commands: of test scripts, and of BMv2's command line.

use crate::file::Written;
use crate::words;
use control::data::Data;
use control::schema::{MeterType, Table};
use control::{
    Action, ActionProfileGroup, ActionProfileMember, CloneSession, Entity, FieldMatch, GroupId, Match,
    MatchKind, MemberId, MeterConfig, MulticastGroup, OneShot, Port, ProfileId, Replica, Schema, TableAction,
    TableEntry, TableId, Update, UpdateKind,
};
use ir::Bits;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Script,
    Bmv2,
}

pub(crate) fn write(language: Language, updates: &[Update], schema: &Schema) -> Written {
    let mut writer = Writer {
        language,
        schema,
        text: String::new(),
        left_out: Vec::new(),
        n_nodes: 0,
        groups: BTreeMap::new(),
        entries: HashMap::new(),
        profiles: HashMap::new(),
    };
    for update in updates {
        writer.update(update);
    }
    Written { bytes: writer.text.into_bytes(), left_out: writer.left_out }
}

/// The numbers that BMv2 gives to what earlier lines have created.
#[derive(Default)]
struct Profile {
    members: HashMap<MemberId, usize>,
    n_members: usize,
    groups: HashMap<GroupId, (usize, Vec<MemberId>)>,
    n_groups: usize,
}

/// The entries of a table, as BMv2 numbers them.
#[derive(Default)]
struct Numbered {
    numbers: HashMap<Place, usize>,
    n: usize,
}

/// Matches, in the order of their fields, and priority.
#[derive(PartialEq, Eq, Hash)]
struct Place(Vec<FieldMatch>, i32);

impl Place {
    fn of(entry: &TableEntry) -> Place {
        let mut matches = entry.matches.clone();
        matches.sort_by_key(|found| found.field);
        Place(matches, entry.priority)
    }
}

struct Writer<'s> {
    language: Language,
    schema: &'s Schema,
    text: String,
    left_out: Vec<String>,
    n_nodes: usize,
    /// The nodes of each multicast group, with their replicas.
    groups: BTreeMap<u32, (Vec<usize>, Vec<Replica>)>,
    /// The entries that BMv2 numbers, in their order.
    entries: HashMap<TableId, Numbered>,
    profiles: HashMap<ProfileId, Profile>,
}

impl Writer<'_> {
    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn lacks(&mut self, update: &Update, what: &str) {
        self.left_out.push(format!(
            "{} {}: {what}",
            update.kind.name(),
            self.schema.describe(&update.entity)
        ));
    }

    fn update(&mut self, update: &Update) {
        let written = match &update.entity {
            Entity::TableEntry(of) => self.entry(update, of),
            Entity::ActionProfileMember(of) => self.member(update.kind, of),
            Entity::ActionProfileGroup(of) => self.group(update, of),
            Entity::MulticastGroup(of) => self.multicast_group(update.kind, of),
            Entity::CloneSession(of) => self.session(update, of),
            Entity::Counter(of) => match (of.index, of.data) {
                (Some(index), Some(data)) => {
                    let name = self.name(of.counter.0);
                    self.line(&format!("counter_write {name} {index} {} {}", data.n_packets, data.n_bytes));
                    Ok(())
                }
                _ => Err("a counter is written one cell at a time"),
            },
            Entity::Register(of) => match (of.index, &of.data) {
                (Some(index), Some(Data::Bits(value) | Data::EnumValue(value))) => {
                    let name = self.name(of.register.0);
                    self.line(&format!("register_write {name} {index} {value:#x}"));
                    Ok(())
                }
                (Some(index), Some(Data::Bool(truth))) => {
                    let name = self.name(of.register.0);
                    self.line(&format!("register_write {name} {index} {}", u8::from(*truth)));
                    Ok(())
                }
                _ => Err("a register is written one number at a time"),
            },
            Entity::Meter(of) => match (of.config, self.schema.meters.get(of.meter)) {
                (Some(config), Some(meter)) if meter.meter_type == MeterType::TwoRateThreeColor => {
                    let name = self.name(of.meter.0);
                    let rates = rates(&config);
                    let line = match of.index {
                        Some(index) => format!("meter_set_rates {name} {index} {rates}"),
                        None => format!("meter_array_set_rates {name} {rates}"),
                    };
                    self.line(&line);
                    Ok(())
                }
                _ => Err("the format has no words for this meter"),
            },
            Entity::ValueSet(of) if self.language == Language::Script => {
                let name = self.name(of.value_set.0);
                self.line(&format!("value_set_clear {name}"));
                let fields = self.schema.value_sets.get(of.value_set).map_or(&[][..], |set| &set.fields);
                for member in &of.members {
                    let matches = member.matches.iter().filter_map(|found| {
                        let field = fields.iter().find(|field| field.id == found.field)?;
                        let pattern = words::pattern(Some(&found.value), &field.name);
                        Some(format!("{}:{pattern}", quoted(&field.name)))
                    });
                    let matches: Vec<String> = matches.collect();
                    self.line(&format!("value_set_add {name} {}", matches.join(" ")));
                }
                Ok(())
            }
            Entity::DirectMeter(_)
            | Entity::DirectCounter(_)
            | Entity::ValueSet(_)
            | Entity::Digest(_)
            | Entity::Extern(_) => Err("the format has no words for it"),
        };
        if let Err(what) = written {
            self.lacks(update, what);
        }
    }

    /// The name of an object, as the language writes it.
    fn name(&self, id: u32) -> String {
        let name = self.schema.name_of(id);
        match self.language {
            Language::Script => quoted(&name),
            Language::Bmv2 => name.to_string(),
        }
    }

    /// An action with its arguments; in BMv2's language `None` where arguments are left out.
    fn action(&self, called: &Action) -> String {
        let name = self.name(called.id.0);
        let params = self.schema.actions.get(called.id).map_or(&[][..], |action| &action.params);
        let given = params.iter().filter_map(|param| {
            let given = called.params.iter().find(|given| given.id == param.id)?;
            let value = words::value(&given.value, &param.name);
            Some(match self.language {
                Language::Script => format!("{}:{value}", quoted(&param.name)),
                Language::Bmv2 => value,
            })
        });
        let given: Vec<String> = given.collect();
        match self.language {
            Language::Script => format!("{name}({})", given.join(", ")),
            Language::Bmv2 => given.join(" "),
        }
    }

    fn entry(&mut self, update: &Update, of: &TableEntry) -> Result<(), &'static str> {
        let Some(table) = self.schema.tables.get(of.table) else { return Err("its table is unknown") };
        let has_more = of.idle_timeout_ns != 0
            || of.meter_config.is_some()
            || of.counter_data.is_some()
            || !of.metadata.is_empty();
        if has_more {
            self.lacks(update, "the format has no timeouts, meters, counters and metadata of entries");
        }
        if let Some(TableAction::OneShot(one_shot)) = &of.action {
            let modes = (one_shot.selection_mode, one_shot.size_semantics);
            if modes != Default::default() || one_shot.group_action.is_some() {
                self.lacks(update, "the format has no modes and no group actions of one-shots");
            }
            if one_shot.actions.iter().any(|weighted| weighted.watch_port.is_some()) {
                self.lacks(update, "the format has no watch ports");
            }
        }
        match self.language {
            Language::Script => self.script_entry(table, update.kind, of),
            Language::Bmv2 => self.bmv2_entry(table, update.kind, of),
        }
    }

    fn script_entry(&mut self, table: &Table, kind: UpdateKind, of: &TableEntry) -> Result<(), &'static str> {
        let name = self.name(of.table.0);
        let target = match &of.action {
            None => String::new(),
            Some(TableAction::Action(called)) => self.action(called),
            Some(TableAction::Member(member)) => format!("member {member}"),
            Some(TableAction::Group(group)) => format!("group {group}"),
            Some(TableAction::OneShot(one_shot)) => self.one_shot(one_shot),
        };
        if of.is_default_action {
            match of.action {
                Some(_) => self.line(&format!("setdefault {name} {target}")),
                None => self.line(&format!("resetdefault {name}")),
            }
            return Ok(());
        }
        let mut key = String::new();
        if table.needs_priority() {
            let _ = write!(key, " {}", of.priority);
        }
        for element in &table.keys {
            if let Some(found) = of.matches.iter().find(|found| found.field == element.id) {
                let pattern = words::pattern(Some(&found.value), &element.name);
                let _ = write!(key, " {}:{pattern}", quoted(&element.name));
            }
        }
        match kind {
            UpdateKind::Insert => self.line(&format!("add {name}{key} {target}")),
            UpdateKind::Modify => self.line(&format!("modify {name}{key} {target}")),
            UpdateKind::Delete => self.line(&format!("remove {name}{key}")),
        }
        Ok(())
    }

    fn one_shot(&self, one_shot: &OneShot) -> String {
        let actions = one_shot.actions.iter();
        let actions =
            actions.map(|weighted| format!("{}:{}", self.action(&weighted.action), weighted.weight));
        format!("oneshot {}", actions.collect::<Vec<_>>().join(" "))
    }

    fn bmv2_entry(&mut self, table: &Table, kind: UpdateKind, of: &TableEntry) -> Result<(), &'static str> {
        let name = self.name(of.table.0);
        if of.is_default_action {
            match &of.action {
                Some(TableAction::Action(called)) => {
                    let action = self.name(called.id.0);
                    let values = self.action(called);
                    self.line(&format!("table_set_default {name} {action} {values}"));
                }
                None => self.line(&format!("table_reset_default {name}")),
                Some(_) => return Err("BMv2 has no words for such a default entry"),
            }
            return Ok(());
        }
        let place = Place::of(of);
        let handle = self.entries.get(&of.table).and_then(|entries| entries.numbers.get(&place)).copied();
        let key = table.keys.iter().map(|element| {
            let found = of.matches.iter().find(|found| found.field == element.id);
            bmv2_pattern(found.map(|found| &found.value), element)
        });
        let key = key.collect::<Vec<_>>().join(" ");
        let priority = if table.needs_priority() {
            format!(" {}", i32::MAX.abs_diff(of.priority))
        } else {
            String::new()
        };
        match (kind, &of.action) {
            (UpdateKind::Insert, Some(action)) => {
                let line = match action {
                    TableAction::Action(called) => {
                        let (action, values) = (self.name(called.id.0), self.action(called));
                        format!("table_add {name} {action} {key} => {values}{priority}")
                    }
                    TableAction::Member(member) => {
                        let number = self.member_number(table.implementation, *member).ok_or(NO_MEMBER)?;
                        format!("table_indirect_add {name} {key} => {number}{priority}")
                    }
                    TableAction::Group(group) => {
                        let number = self.group_number(table.implementation, *group).ok_or(NO_GROUP)?;
                        format!("table_indirect_add_with_group {name} {key} => {number}{priority}")
                    }
                    TableAction::OneShot(_) => return Err("BMv2 has no one-shots; make members and a group"),
                };
                let entries = self.entries.entry(of.table).or_default();
                entries.numbers.insert(place, entries.n);
                entries.n += 1;
                self.line(&line);
                Ok(())
            }
            (UpdateKind::Modify, Some(TableAction::Action(called))) => {
                let handle =
                    handle.ok_or("BMv2 modifies entries by a number, which this file does not give it")?;
                let (action, values) = (self.name(called.id.0), self.action(called));
                self.line(&format!("table_modify {name} {action} {handle} => {values}"));
                Ok(())
            }
            (UpdateKind::Delete, _) => {
                let handle =
                    handle.ok_or("BMv2 deletes entries by a number, which this file does not give it")?;
                // The number stays taken.
                if let Some(entries) = self.entries.get_mut(&of.table) {
                    entries.numbers.remove(&place);
                }
                self.line(&format!("table_delete {name} {handle}"));
                Ok(())
            }
            (UpdateKind::Insert | UpdateKind::Modify, _) => Err("BMv2 has no words for it"),
        }
    }

    fn member_number(&self, profile: Option<ProfileId>, member: MemberId) -> Option<usize> {
        self.profiles.get(&profile?)?.members.get(&member).copied()
    }

    fn group_number(&self, profile: Option<ProfileId>, group: GroupId) -> Option<usize> {
        self.profiles.get(&profile?)?.groups.get(&group).map(|(number, _)| *number)
    }

    fn member(&mut self, kind: UpdateKind, of: &ActionProfileMember) -> Result<(), &'static str> {
        let profile = self.name(of.profile.0);
        let member = of.member;
        match (self.language, kind, &of.action) {
            (Language::Script, UpdateKind::Insert, Some(called)) => {
                self.line(&format!("member_add {profile} {member} {}", self.action(called)));
            }
            (Language::Script, UpdateKind::Modify, Some(called)) => {
                self.line(&format!("member_modify {profile} {member} {}", self.action(called)));
            }
            (Language::Script, UpdateKind::Delete, _) => {
                self.line(&format!("member_remove {profile} {member}"))
            }
            (Language::Bmv2, UpdateKind::Insert, Some(called)) => {
                let (action, values) = (self.name(called.id.0), self.action(called));
                let numbers = self.profiles.entry(of.profile).or_default();
                numbers.members.insert(member, numbers.n_members);
                numbers.n_members += 1;
                self.line(&format!("act_prof_create_member {profile} {action} {values}"));
            }
            (Language::Bmv2, UpdateKind::Modify, Some(called)) => {
                let (action, values) = (self.name(called.id.0), self.action(called));
                let number = self.member_number(Some(of.profile), member).ok_or(NO_MEMBER)?;
                self.line(&format!("act_prof_modify_member {profile} {action} {number} {values}"));
            }
            (Language::Bmv2, UpdateKind::Delete, _) => {
                let number = self.member_number(Some(of.profile), member).ok_or(NO_MEMBER)?;
                self.line(&format!("act_prof_delete_member {profile} {number}"));
            }
            (_, UpdateKind::Insert | UpdateKind::Modify, None) => return Err("it has no action"),
        }
        Ok(())
    }

    fn group(&mut self, update: &Update, of: &ActionProfileGroup) -> Result<(), &'static str> {
        if of.members.iter().any(|member| member.watch_port.is_some()) {
            self.lacks(update, "the format has no watch ports");
        }
        // Scripts give groups the size of their selector.
        let profile = self.schema.profiles.get(of.profile);
        let usual =
            profile.and_then(|profile| profile.selector).map_or(0, |selector| selector.max_group_size);
        if of.max_size != 0 && u32::try_from(of.max_size) != Ok(usual) {
            self.lacks(update, "the format has no sizes of groups");
        }
        match self.language {
            Language::Script => {
                let (profile, group) = (self.name(of.profile.0), of.group);
                let members = of.members.iter().map(|member| match member.weight {
                    0 | 1 => member.member.to_string(),
                    weight => format!("{}:{weight}", member.member),
                });
                let members = members.collect::<Vec<_>>().join(" ");
                match update.kind {
                    UpdateKind::Insert => self.line(&format!("group_add {profile} {group} {members}")),
                    UpdateKind::Modify => self.line(&format!("group_modify {profile} {group} {members}")),
                    UpdateKind::Delete => self.line(&format!("group_remove {profile} {group}")),
                }
                Ok(())
            }
            Language::Bmv2 => {
                if of.members.iter().any(|member| member.weight > 1) {
                    self.lacks(update, "BMv2 has no weights");
                }
                self.bmv2_group(update.kind, of)
            }
        }
    }

    fn bmv2_group(&mut self, kind: UpdateKind, of: &ActionProfileGroup) -> Result<(), &'static str> {
        let profile = self.name(of.profile.0);
        let numbers = self.profiles.entry(of.profile).or_default();
        let mut lines = Vec::new();
        if kind == UpdateKind::Insert {
            lines.push(format!("act_prof_create_group {profile}"));
            numbers.groups.insert(of.group, (numbers.n_groups, Vec::new()));
            numbers.n_groups += 1;
        }
        let (number, before) = numbers.groups.get(&of.group).cloned().ok_or(NO_GROUP)?;
        if kind == UpdateKind::Delete {
            lines.push(format!("act_prof_delete_group {profile} {number}"));
        } else {
            let after: Vec<MemberId> = of.members.iter().map(|member| member.member).collect();
            let gone = before
                .iter()
                .filter(|member| !after.contains(member))
                .map(|member| (*member, "remove_member_from"));
            let new = after
                .iter()
                .filter(|member| !before.contains(member))
                .map(|member| (*member, "add_member_to"));
            for (member, what) in gone.chain(new) {
                let member = numbers.members.get(&member).ok_or(NO_MEMBER)?;
                lines.push(format!("act_prof_{what}_group {profile} {member} {number}"));
            }
            numbers.groups.insert(of.group, (number, after));
        }
        lines.iter().for_each(|line| self.line(line));
        Ok(())
    }

    fn multicast_group(&mut self, kind: UpdateKind, of: &MulticastGroup) -> Result<(), &'static str> {
        let group = of.group.0;
        if of
            .replicas
            .iter()
            .any(|replica| !replica.backups.is_empty() || !has_script_number(&replica.egress_port))
        {
            return Err("the format has no backup ports, and numbers of 32 bits for ports only");
        }
        if kind != UpdateKind::Insert {
            let (nodes, _) =
                self.groups.remove(&group).ok_or("the format changes groups that this file makes")?;
            for node in nodes {
                self.line(&format!("mc_node_dissociate {group} {node}"));
            }
        }
        match kind {
            UpdateKind::Delete => {
                self.line(&format!("mc_mgrp_destroy {group}"));
                return Ok(());
            }
            UpdateKind::Insert => self.line(&format!("mc_mgrp_create {group}")),
            UpdateKind::Modify => {}
        }
        // A node has one instance and its ports.
        let mut instances: BTreeMap<u32, Vec<String>> = BTreeMap::new();
        for replica in &of.replicas {
            instances.entry(replica.instance).or_default().push(replica.egress_port.to_string());
        }
        let mut nodes = Vec::new();
        for (instance, ports) in instances {
            let node = self.n_nodes;
            self.n_nodes += 1;
            self.line(&format!("mc_node_create {instance} {}", ports.join(" ")));
            self.line(&format!("mc_node_associate {group} {node}"));
            nodes.push(node);
        }
        self.groups.insert(group, (nodes, of.replicas.clone()));
        Ok(())
    }

    fn session(&mut self, update: &Update, of: &CloneSession) -> Result<(), &'static str> {
        let session = of.session.0;
        if update.kind == UpdateKind::Delete {
            self.line(&format!("mirroring_delete {session}"));
            return Ok(());
        }
        if of.class_of_service != 0 || of.packet_length_bytes != 0 {
            self.lacks(update, "the format has no class of service and no length of clone sessions");
        }
        match of.replicas.as_slice() {
            [Replica { egress_port, instance: 0, backups }]
                if backups.is_empty() && has_script_number(egress_port) =>
            {
                self.line(&format!("mirroring_add {session} {egress_port}"));
                Ok(())
            }
            replicas => {
                let same = self.groups.iter().find(|(_, (_, group))| group == replicas);
                let group = same.map(|(group, _)| *group);
                let group =
                    group.ok_or("the format has sessions with one port, or with a multicast group")?;
                self.line(&format!("mirroring_add_mc {session} {group}"));
                Ok(())
            }
        }
    }
}

/// Scripts write ports as numbers of 32 bits.
fn has_script_number(port: &Port) -> bool {
    port.to_number().is_some_and(|number| u32::try_from(number).is_ok())
}

const NO_MEMBER: &str = "BMv2 numbers members itself, and this file does not create this one";
const NO_GROUP: &str = "BMv2 numbers groups itself, and this file does not create this one";

/// A name as test scripts take it: in quotes unless its parts are words.
fn quoted(name: &str) -> String {
    let is_word = |part: &str| {
        let (word, index) = match part.split_once('[') {
            Some((word, rest)) => (word, rest.strip_suffix(']')),
            None => (part, Some("0")),
        };
        let word = word.strip_suffix("()").unwrap_or(word);
        let is_index =
            index.is_some_and(|index| !index.is_empty() && index.bytes().all(|b| b.is_ascii_digit()));
        let starts = word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '$');
        is_index && starts && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$')
    };
    let has_call = name.strip_suffix("()").unwrap_or(name).contains('(');
    if !has_call && name.split('.').all(is_word) { name.to_owned() } else { format!("\"{name}\"") }
}

/// `rate:burst` for both rates, per microsecond as BMv2 has them.
fn rates(config: &MeterConfig) -> String {
    let rate = |per_second: i64, burst: i64| {
        let (whole, fraction) = (per_second / 1_000_000, per_second % 1_000_000);
        match fraction {
            0 => format!("{whole}:{burst}"),
            _ => format!("{}:{burst}", format!("{whole}.{fraction:06}").trim_end_matches('0')),
        }
    };
    format!("{} {}", rate(config.cir, config.cburst), rate(config.pir, config.pburst))
}

/// A key of BMv2's command line, which has no word for anything.
fn bmv2_pattern(wanted: Option<&Match>, element: &control::schema::KeyElement) -> String {
    let width_bits = element.value.width_bits();
    match (wanted, &element.match_kind) {
        (Some(Match::Range { low, high }), _) => {
            let show = |end: &Bits| trace::format::bits(end, &element.name);
            format!("{}->{}", show(low), show(high))
        }
        (Some(Match::Ternary { value, mask }), _) => {
            format!("{}&&&{mask:#x}", trace::format::bits(value, &element.name))
        }
        (Some(found), _) => words::pattern(Some(found), &element.name),
        (None, MatchKind::Lpm) => "0/0".to_owned(),
        (None, MatchKind::Range) => format!("0->{:#x}", Bits::ones(width_bits)),
        (None, MatchKind::Ternary | MatchKind::Optional | MatchKind::Exact | MatchKind::Other(_)) => {
            "0&&&0".to_owned()
        }
    }
}
