//! Handles: numbers of entries, by which BMv2's command line names them.
//!
//! The switch itself knows entries by their keys. A handle is given to an entry when somebody asks for the handles of its table, in
//! the order of the entries, and is never given again.

use crate::refusal::{Refusal, RefusalKind};
use crate::show;
use control::{
    Batch, Entity, EntryQuery, Fault, FieldMatch, Query, Schema, TableAction, TableEntry, TableId, Target,
    Update, UpdateKind, apply,
};
use diagnostics::render::Style;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, HashMap};

/// The handles of all tables.
#[derive(Debug, Default)]
pub(crate) struct Handles {
    tables: BTreeMap<TableId, OfTable>,
}

#[derive(Debug, Default)]
struct OfTable {
    next: u64,
    by_key: HashMap<Key, u64>,
}

/// Matches in the order of the table's keys, and the priority.
type Key = (Vec<FieldMatch>, i32);

fn key(entry: &TableEntry) -> Key {
    let mut matches = entry.matches.clone();
    matches.sort_by_key(|of| of.field);
    (matches, entry.priority)
}

fn inserted(batch: &Batch) -> impl Iterator<Item = &TableEntry> {
    batch.updates.iter().filter_map(|update| match (&update.kind, &update.entity) {
        (UpdateKind::Insert, Entity::TableEntry(entry)) => Some(entry),
        _ => None,
    })
}

impl Handles {
    /// The entries of a table with their handles, in the order of handles.
    pub(crate) fn all(
        &mut self,
        schema: &Schema,
        target: &mut dyn Target,
        table: &str,
    ) -> Result<Json, Fault> {
        let numbered = self.numbered(target, schema.tables.find(table)?.id)?;
        let shown = numbered.into_iter().map(|(handle, entry)| {
            json!({ "handle": handle, "entry": show::entity(schema, &Entity::TableEntry(entry)) })
        });
        Ok(shown.collect())
    }

    /// Gives handles to the entries of tables to which a batch adds some, so that the new ones get the next.
    pub(crate) fn prepare(&mut self, target: &mut dyn Target, batch: &Batch) -> Result<(), Fault> {
        for entry in inserted(batch) {
            if !self.tables.contains_key(&entry.table) {
                self.numbered(target, entry.table)?;
            }
        }
        Ok(())
    }

    /// The handles of entries that a batch has added.
    pub(crate) fn added(&mut self, batch: &Batch) -> Vec<u64> {
        let give = |entry: &TableEntry| {
            let of_table = self.tables.entry(entry.table).or_default();
            let handle = of_table.next;
            of_table.next += 1;
            of_table.by_key.insert(key(entry), handle);
            handle
        };
        inserted(batch).map(give).collect()
    }

    pub(crate) fn remove(
        &mut self,
        schema: &Schema,
        target: &mut dyn Target,
        table: &str,
        handle: u64,
    ) -> Result<(), Refusal> {
        let entry = self.find(schema, target, table, handle)?;
        let entry = TableEntry::new(entry.table, entry.matches, entry.priority);
        Ok(write(schema, target, UpdateKind::Delete, entry)?)
    }

    pub(crate) fn modify(
        &mut self,
        schema: &Schema,
        target: &mut dyn Target,
        table: &str,
        handle: u64,
        action: Option<TableAction>,
    ) -> Result<(), Refusal> {
        let entry = self.find(schema, target, table, handle)?;
        // These parts are in answers only.
        let entry = TableEntry { action, time_since_last_hit_ns: None, counter_data: None, ..entry };
        Ok(write(schema, target, UpdateKind::Modify, entry)?)
    }

    fn find(
        &mut self,
        schema: &Schema,
        target: &mut dyn Target,
        table: &str,
        handle: u64,
    ) -> Result<TableEntry, Refusal> {
        let numbered = self.numbered(target, schema.tables.find(table)?.id)?;
        let found = numbered.into_iter().find(|(number, _)| *number == handle);
        found.map(|(_, entry)| entry).ok_or_else(|| {
            let message = format!("table {table} has no entry with the handle {handle}");
            Refusal::new(RefusalKind::Refused, message)
        })
    }

    /// Entries that are new get handles; handles of entries that are gone are forgotten.
    fn numbered(&mut self, target: &mut dyn Target, id: TableId) -> Result<Vec<(u64, TableEntry)>, Fault> {
        let query = EntryQuery { table: Some(id), ..EntryQuery::default() };
        let of_table = self.tables.entry(id).or_default();
        let (mut known, mut numbered) = (HashMap::new(), Vec::new());
        for entity in target.read(&Query::TableEntries(query))? {
            let Entity::TableEntry(entry) = entity else { continue };
            let key = key(&entry);
            let handle = of_table.by_key.get(&key).copied().unwrap_or_else(|| {
                of_table.next += 1;
                of_table.next - 1
            });
            known.insert(key, handle);
            numbered.push((handle, entry));
        }
        of_table.by_key = known;
        numbered.sort_by_key(|(handle, _)| *handle);
        Ok(numbered)
    }
}

/// Entries of commands of BMv2's command line.
pub(crate) fn of_bmv2(text: &str, schema: &Schema) -> Result<entries::Entries, Refusal> {
    entries::read(entries::Format::Bmv2, "command", text.as_bytes(), schema)
        .map_err(|messages| Refusal::new(RefusalKind::Usage, messages.render(Style::default())))
}

fn write(schema: &Schema, target: &mut dyn Target, kind: UpdateKind, entry: TableEntry) -> Result<(), Fault> {
    let update = Update { kind, entity: Entity::TableEntry(entry) };
    apply(schema, target, &Batch { updates: vec![update], ..Batch::default() })?.into_iter().collect()
}
