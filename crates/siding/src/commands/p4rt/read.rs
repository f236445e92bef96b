//! `siding p4rt read`: entities by name.

use super::{Connected, usage};
use crate::cli::ReadArgs;
use crate::output::{self, Exit};
use control::schema::{KeyElement, Object, Objects, Table};
use control::{Entity, MatchKind, Problem, Schema, TableEntry, TableId, Update, UpdateKind};
use diagnostics::suggest;
use entries::{ExactKeys, Format};
use p4info::proto::p4::v1 as pb;
use pb::entity::Entity as Asked;
use pb::packet_replication_engine_entry::Type as Replication;

/// The word for a kind of entities, and the question for all of them.
type Kind = (&'static str, fn() -> Asked);

/// Kinds of entities that can be asked for by a word, in an order in which they can be written.
const KINDS: [Kind; 13] = [
    ("members", || Asked::ActionProfileMember(pb::ActionProfileMember::default())),
    ("groups", || Asked::ActionProfileGroup(pb::ActionProfileGroup::default())),
    ("tables", || table(0)),
    ("defaults", || default_entry(0)),
    ("counters", || Asked::CounterEntry(pb::CounterEntry::default())),
    ("meters", || Asked::MeterEntry(pb::MeterEntry::default())),
    ("registers", || Asked::RegisterEntry(pb::RegisterEntry::default())),
    ("direct-counters", || direct_counter(0)),
    ("direct-meters", || direct_meter(0)),
    ("multicast-groups", || {
        replication(Replication::MulticastGroupEntry(pb::MulticastGroupEntry::default()))
    }),
    ("clone-sessions", || replication(Replication::CloneSessionEntry(pb::CloneSessionEntry::default()))),
    ("value-sets", || Asked::ValueSetEntry(pb::ValueSetEntry::default())),
    ("digests", || Asked::DigestEntry(pb::DigestEntry::default())),
];

/// The word for all kinds.
const ALL: &str = "all";

fn table(table_id: u32) -> Asked {
    Asked::TableEntry(pb::TableEntry { table_id, ..pb::TableEntry::default() })
}

fn default_entry(table_id: u32) -> Asked {
    Asked::TableEntry(pb::TableEntry { table_id, is_default_action: true, ..pb::TableEntry::default() })
}

fn direct_counter(table_id: u32) -> Asked {
    let table_entry = Some(pb::TableEntry { table_id, ..pb::TableEntry::default() });
    Asked::DirectCounterEntry(pb::DirectCounterEntry { table_entry, ..pb::DirectCounterEntry::default() })
}

fn direct_meter(table_id: u32) -> Asked {
    let table_entry = Some(pb::TableEntry { table_id, ..pb::TableEntry::default() });
    Asked::DirectMeterEntry(pb::DirectMeterEntry { table_entry, ..pb::DirectMeterEntry::default() })
}

fn replication(of: Replication) -> Asked {
    Asked::PacketReplicationEngineEntry(pb::PacketReplicationEngineEntry { r#type: Some(of) })
}

/// The entities of a program that are written, rather than counted or measured.
pub fn written(schema: &Schema) -> Vec<Asked> {
    let wanted = KINDS.iter().filter(|(kind, _)| match *kind {
        "tables" => !schema.tables.is_empty(),
        "members" | "groups" => !schema.profiles.is_empty(),
        "value-sets" => !schema.value_sets.is_empty(),
        "digests" => !schema.digests.is_empty(),
        "multicast-groups" | "clone-sessions" => true,
        _ => false,
    });
    wanted.map(|(_, asked)| asked()).collect()
}

/// The entities that the words of the command line ask for.
fn asked(words: &[String], schema: &Schema) -> Result<Vec<Asked>, String> {
    let mut all: Vec<Asked> = Vec::new();
    let mut words = words.iter().map(String::as_str).peekable();
    while let Some(word) = words.next() {
        if is_condition(word) {
            return Err(format!("`{word}` is a condition: name a table, or another object, before it"));
        }
        let mut conditions = Vec::new();
        while let Some(condition) = words.next_if(|word| is_condition(word)) {
            conditions.push(condition);
        }
        let found = match KINDS.iter().find(|(kind, _)| *kind == word) {
            Some((_, asked)) => vec![asked()],
            None if word == ALL => KINDS.iter().map(|(_, asked)| asked()).collect(),
            None => named(word, schema)?,
        };
        // Servers differ in their answers to a question for the default entries of all tables.
        let all_defaults = default_entry(0);
        let found = found.into_iter().flat_map(|asked| match asked == all_defaults {
            true => schema.tables.iter().map(|table| default_entry(table.id.0)).collect(),
            false => vec![asked],
        });
        for asked in found {
            all.extend(restricted(asked, word, &conditions, schema)?);
        }
    }
    Ok(all)
}

fn is_condition(word: &str) -> bool {
    word.contains([':', '=']) || word == "default" || word.starts_with(|c: char| c.is_ascii_digit())
}

/// The objects with a name, of any kind.
fn named(name: &str, schema: &Schema) -> Result<Vec<Asked>, String> {
    let mut found = Vec::new();
    let mut ambiguous = None;
    fn look<'s, T: Object>(
        objects: &'s Objects<T>,
        name: &str,
        ambiguous: &mut Option<String>,
    ) -> Option<&'s T> {
        match objects.find(name) {
            Ok(object) => Some(object),
            Err(fault) => {
                if let Problem::AmbiguousName { .. } = fault.problem() {
                    *ambiguous = Some(fault.to_string());
                }
                None
            }
        }
    }
    let refused = &mut ambiguous;
    found.extend(look(&schema.tables, name, refused).map(|of| table(of.id.0)));
    if let Some(of) = look(&schema.profiles, name, refused) {
        let action_profile_id = of.id.0;
        found.push(Asked::ActionProfileMember(pb::ActionProfileMember {
            action_profile_id,
            ..pb::ActionProfileMember::default()
        }));
        if of.selector.is_some() {
            let group = pb::ActionProfileGroup { action_profile_id, ..pb::ActionProfileGroup::default() };
            found.push(Asked::ActionProfileGroup(group));
        }
    }
    found.extend(look(&schema.counters, name, refused).map(|of| {
        Asked::CounterEntry(pb::CounterEntry { counter_id: of.id.0, ..pb::CounterEntry::default() })
    }));
    found.extend(
        look(&schema.meters, name, refused)
            .map(|of| Asked::MeterEntry(pb::MeterEntry { meter_id: of.id.0, ..pb::MeterEntry::default() })),
    );
    found.extend(look(&schema.registers, name, refused).map(|of| {
        Asked::RegisterEntry(pb::RegisterEntry { register_id: of.id.0, ..pb::RegisterEntry::default() })
    }));
    found.extend(look(&schema.direct_counters, name, refused).map(|of| direct_counter(of.table.0)));
    found.extend(look(&schema.direct_meters, name, refused).map(|of| direct_meter(of.table.0)));
    found.extend(look(&schema.value_sets, name, refused).map(|of| {
        Asked::ValueSetEntry(pb::ValueSetEntry { value_set_id: of.id.0, ..pb::ValueSetEntry::default() })
    }));
    found.extend(
        look(&schema.digests, name, refused).map(|of| {
            Asked::DigestEntry(pb::DigestEntry { digest_id: of.id.0, ..pb::DigestEntry::default() })
        }),
    );
    match (found.is_empty(), ambiguous) {
        (false, _) => Ok(found),
        (true, Some(ambiguous)) => Err(ambiguous),
        (true, None) => Err(unknown(name, schema)),
    }
}

fn unknown(name: &str, schema: &Schema) -> String {
    fn names<T: Object>(objects: &Objects<T>) -> impl Iterator<Item = &str> {
        objects.iter().map(|object| object.names().name.as_str())
    }
    let full: Vec<&str> = names(&schema.tables)
        .chain(names(&schema.profiles))
        .chain(names(&schema.counters))
        .chain(names(&schema.meters))
        .chain(names(&schema.registers))
        .chain(names(&schema.direct_counters))
        .chain(names(&schema.direct_meters))
        .chain(names(&schema.value_sets))
        .chain(names(&schema.digests))
        .collect();
    let ends = full.iter().map(|name| name.rsplit('.').next().unwrap_or(name));
    let known = full.iter().copied().chain(ends).chain(KINDS.iter().map(|(kind, _)| *kind)).chain([ALL]);
    match suggest::closest(name, known) {
        Some(meant) => format!("the program has nothing named `{name}`; did you mean `{meant}`?"),
        None => {
            let kinds: Vec<&str> = KINDS.iter().map(|(kind, _)| *kind).chain([ALL]).collect();
            format!("the program has nothing named `{name}`; kinds are {}", kinds.join(", "))
        }
    }
}

/// Adds conditions. `None` if the conditions are not for such entities, but for others of the same name.
fn restricted(
    asked: Asked,
    name: &str,
    conditions: &[&str],
    schema: &Schema,
) -> Result<Option<Asked>, String> {
    if conditions.is_empty() {
        return Ok(Some(asked));
    }
    let value =
        |wanted: &str| conditions.iter().find_map(|word| word.strip_prefix(wanted)?.strip_prefix('='));
    fn number<T: std::str::FromStr>(word: &str, text: &str) -> Result<T, String> {
        text.parse().map_err(|_| format!("`{word}={text}`: write a number"))
    }
    let only = |known: &[&str]| {
        let other = conditions.iter().find(|word| !known.iter().any(|known| word.starts_with(known)));
        match other {
            Some(other) => {
                Err(format!("`{other}` is no condition for `{name}`; there is {}N", known.join("N, ")))
            }
            None => Ok(()),
        }
    };
    Ok(match asked {
        Asked::TableEntry(entry) => {
            let (is_default, rest): (Vec<&str>, Vec<&str>) =
                conditions.iter().partition(|word| **word == "default");
            let (fields, keys): (Vec<&str>, Vec<&str>) = rest
                .into_iter()
                .partition(|word| word.starts_with("priority=") || word.starts_with("action="));
            let mut entry = pb::TableEntry { is_default_action: !is_default.is_empty(), ..entry };
            let priority = value("priority").map(|text| number::<i32>("priority", text)).transpose()?;
            entry.priority = priority.unwrap_or(0);
            if !keys.is_empty() {
                entry.r#match = matches(&entry, priority, &keys, schema)?;
            }
            for field in fields {
                if let Some(action) = field.strip_prefix("action=") {
                    let table = schema.tables.get(TableId(entry.table_id));
                    let found = match table {
                        Some(table) => table.find_action(schema, action),
                        None => return Err(format!("`{field}`: name the table before it")),
                    };
                    let action_id = found.map_err(|fault| fault.to_string())?.id.0;
                    let action = pb::Action { action_id, ..pb::Action::default() };
                    entry.action =
                        Some(pb::TableAction { r#type: Some(pb::table_action::Type::Action(action)) });
                }
            }
            Some(Asked::TableEntry(entry))
        }
        Asked::CounterEntry(entry) => {
            only(&["index="])?;
            let index = value("index").map(|text| number("index", text)).transpose()?;
            let index = index.map(|index| pb::Index { index });
            Some(Asked::CounterEntry(pb::CounterEntry { index, ..entry }))
        }
        Asked::MeterEntry(entry) => {
            only(&["index="])?;
            let index = value("index").map(|text| number("index", text)).transpose()?;
            let index = index.map(|index| pb::Index { index });
            Some(Asked::MeterEntry(pb::MeterEntry { index, ..entry }))
        }
        Asked::RegisterEntry(entry) => {
            only(&["index="])?;
            let index = value("index").map(|text| number("index", text)).transpose()?;
            let index = index.map(|index| pb::Index { index });
            Some(Asked::RegisterEntry(pb::RegisterEntry { index, ..entry }))
        }
        Asked::ActionProfileMember(entry) => {
            only(&["member=", "group="])?;
            let member_id = value("member").map(|text| number("member", text)).transpose()?;
            member_id
                .map(|member_id| Asked::ActionProfileMember(pb::ActionProfileMember { member_id, ..entry }))
        }
        Asked::ActionProfileGroup(entry) => {
            only(&["member=", "group="])?;
            let group_id = value("group").map(|text| number("group", text)).transpose()?;
            group_id.map(|group_id| Asked::ActionProfileGroup(pb::ActionProfileGroup { group_id, ..entry }))
        }
        Asked::PacketReplicationEngineEntry(entry) => {
            only(&["id="])?;
            let id = value("id").map(|text| number("id", text)).transpose()?.unwrap_or(0);
            Some(match entry.r#type {
                Some(Replication::MulticastGroupEntry(group)) => {
                    replication(Replication::MulticastGroupEntry(pb::MulticastGroupEntry {
                        multicast_group_id: id,
                        ..group
                    }))
                }
                Some(Replication::CloneSessionEntry(session)) => {
                    replication(Replication::CloneSessionEntry(pb::CloneSessionEntry {
                        session_id: id,
                        ..session
                    }))
                }
                None => Asked::PacketReplicationEngineEntry(entry),
            })
        }
        Asked::DirectCounterEntry(_)
        | Asked::DirectMeterEntry(_)
        | Asked::ValueSetEntry(_)
        | Asked::DigestEntry(_)
        | Asked::ExternEntry(_) => return Err(format!("`{name}` takes no conditions")),
    })
}

/// The key of an entry, as a command of a script would name it.
fn matches(
    entry: &pb::TableEntry,
    priority: Option<i32>,
    keys: &[&str],
    schema: &Schema,
) -> Result<Vec<pb::FieldMatch>, String> {
    let id = TableId(entry.table_id);
    let Some(table) = schema.tables.get(id) else {
        return Err(format!("`{}`: name the table before it", keys.join(" ")));
    };
    let priority = match (table.needs_priority(), priority) {
        (false, _) => String::new(),
        (true, Some(priority)) => format!(" {priority}"),
        (true, None) => {
            return Err(format!(
                "entries of `{}` have priorities: P4Runtime finds one by its key with priority=N",
                table.names.name
            ));
        }
    };
    // A value without a name is that of the key element in its place.
    let named = keys.iter().enumerate().map(|(i, word)| match table.keys.get(i) {
        Some(key) if !word.contains(':') => format!("{}:{word}", key.name),
        Some(_) | None => (*word).to_owned(),
    });
    let keys: Vec<String> = named.collect();
    check_whole(table, &keys)?;
    let line = format!("remove {}{priority} {}\n", table.names.name, keys.join(" "));
    let read =
        entries::read_with(Format::Script, "the condition", line.as_bytes(), schema, ExactKeys::Required);
    let read = read.map_err(|messages| {
        let said = messages.diagnostics.iter().map(|said| said.message.clone());
        said.chain(messages.errors).collect::<Vec<_>>().join("; ")
    })?;
    let Some(Entity::TableEntry(key)) = read.batch.updates.into_iter().next().map(|update| update.entity)
    else {
        return Ok(Vec::new());
    };
    let key = TableEntry::new(id, key.matches, key.priority);
    match p4runtime::encode_entity(schema, &Entity::TableEntry(key)).entity {
        Some(Asked::TableEntry(entry)) => Ok(entry.r#match),
        _ => Ok(Vec::new()),
    }
}

/// Fails if an exact key is missing. Keys whose names are unknown are left to the parser of the condition.
fn check_whole(table: &Table, keys: &[String]) -> Result<(), String> {
    let name = |word: &String| word.split(':').next().unwrap_or_default().trim_matches('"').to_owned();
    let given = keys.iter().map(|word| table.find_key(&name(word)).map(|key| key.id));
    let Ok(given) = given.collect::<Result<Vec<_>, _>>() else { return Ok(()) };
    let missing = |key: &&KeyElement| key.match_kind == MatchKind::Exact && !given.contains(&key.id);
    match table.keys.iter().find(missing) {
        Some(key) => Err(format!(
            "the key `{}` of `{}` is missing: P4Runtime finds an entry by all of its exact keys; give all of them, or none to \
             read the whole table",
            key.name, table.names.name
        )),
        None => Ok(()),
    }
}

/// Asks for what entries have besides their actions.
fn with_extras(asked: &mut Asked, schema: &Schema) {
    let Asked::TableEntry(entry) = asked else { return };
    let table = schema.tables.get(TableId(entry.table_id));
    let is_any = entry.table_id == 0;
    if is_any || table.is_some_and(|table| table.direct_counter.is_some()) {
        entry.counter_data = Some(pb::CounterData::default());
    }
    if is_any || table.is_some_and(|table| table.direct_meter.is_some()) {
        entry.meter_config = Some(pb::MeterConfig::default());
    }
    if !entry.is_default_action && (is_any || table.is_some_and(|table| table.has_idle_timeout)) {
        entry.time_since_last_hit = Some(pb::table_entry::IdleTimeout::default());
    }
}

/// An entity that was read as an update that makes it.
pub fn update_of(schema: &Schema, entity: pb::Entity) -> Result<Update, String> {
    let update = pb::Update { r#type: pb::update::Type::Insert.into(), entity: Some(entity) };
    let mut update = p4runtime::decode_update(schema, &update)
        .map_err(|fault| format!("the server has sent an entity that makes no sense: {fault}"))?;
    update.kind = match &update.entity {
        Entity::TableEntry(entry) if entry.is_default_action => UpdateKind::Modify,
        Entity::Meter(_)
        | Entity::DirectMeter(_)
        | Entity::Counter(_)
        | Entity::DirectCounter(_)
        | Entity::Register(_)
        | Entity::ValueSet(_) => UpdateKind::Modify,
        Entity::TableEntry(_)
        | Entity::ActionProfileMember(_)
        | Entity::ActionProfileGroup(_)
        | Entity::MulticastGroup(_)
        | Entity::CloneSession(_)
        | Entity::Digest(_)
        | Entity::Extern(_) => UpdateKind::Insert,
    };
    Ok(update)
}

pub fn is_const(update: &Update) -> bool {
    matches!(&update.entity, Entity::TableEntry(entry) if entry.is_const)
}

impl Connected<'_> {
    pub fn read(&self, args: &ReadArgs) -> Result<Exit, Exit> {
        let schema = self.schema()?;
        let mut wanted = match args.what.is_empty() {
            true => written(&schema),
            false => asked(&args.what, &schema).map_err(usage)?,
        };
        if args.extras {
            wanted.iter_mut().for_each(|asked| with_extras(asked, &schema));
        }
        let format = args.format.format();
        let mut updates = Vec::new();
        let mut left_out = Vec::new();
        let mut n_const = 0;
        let is_told = |update: &Update| match &update.entity {
            Entity::ValueSet(set) => !args.what.is_empty() || !set.members.is_empty(),
            _ => true,
        };
        let read = self.entities(&schema, wanted, |mut found| {
            found.retain(is_told);
            n_const += found.iter().filter(|update| is_const(update)).count();
            match format {
                // The other formats have a beginning and an end, or number their lines.
                Format::Script => left_out.extend(print_script(&found, &schema)),
                _ => updates.extend(found),
            }
        });
        if format != Format::Script {
            let written = entries::write(format, &updates, &schema, args.names);
            output::out_bytes(&written.bytes);
            left_out = written.left_out;
            if n_const > 0 {
                let what = if n_const == 1 { "entry is" } else { "entries are" };
                output::warning_line(&format!(
                    "{n_const} {what} const: a switch refuses to write what its program has"
                ));
            }
        }
        match left_out.as_slice() {
            [] => {}
            [what] => output::warning_line(&format!("left out: {what}; --format p4runtime-text has it")),
            [first, ..] => output::warning_line(&format!(
                "{} entities are left out, the first is {first}; --format p4runtime-text has them",
                left_out.len()
            )),
        }
        read.map(|()| Exit::Ok)
    }

    /// Reads entities, and hands them over as they arrive.
    pub fn entities(
        &self,
        schema: &Schema,
        wanted: Vec<Asked>,
        mut take: impl FnMut(Vec<Update>),
    ) -> Result<(), Exit> {
        let request = pb::ReadRequest {
            device_id: self.args.device_id,
            entities: wanted.into_iter().map(|entity| pb::Entity { entity: Some(entity) }).collect(),
            role: self.args.role.clone(),
        };
        let mut wrong = None;
        let read = self.client.read(request, |entities| {
            let updates = entities.into_iter().map(|entity| update_of(schema, entity));
            match updates.collect::<Result<Vec<Update>, String>>() {
                Ok(updates) => take(updates),
                Err(message) => wrong = Some(message),
            }
        });
        read.map_err(|failure| self.failed(&failure))?;
        match wrong {
            Some(message) => {
                output::error_line(&message);
                Err(Exit::Failed)
            }
            None => Ok(()),
        }
    }
}

/// Prints commands; those of const entries, which cannot be written, as comments. Returns what the format has no words for.
fn print_script(updates: &[Update], schema: &Schema) -> Vec<String> {
    let mut left_out = Vec::new();
    for of_kind in updates.chunk_by(|one, next| is_const(one) == is_const(next)) {
        let written = entries::write(Format::Script, of_kind, schema, true);
        left_out.extend(written.left_out);
        match of_kind.first().is_some_and(is_const) {
            false => output::out_bytes(&written.bytes),
            true => {
                let text = String::from_utf8_lossy(&written.bytes).into_owned();
                let lines: String = text.lines().map(|line| format!("# const: {line}\n")).collect();
                output::out(&lines);
            }
        }
    }
    left_out
}
