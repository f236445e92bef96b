//! Many changes. Insertions into one table that follow each other are handed over together, and cells that follow each other
//! are written in steps for which workers wait once.

use super::{Entities, State};
use crate::store::N_CELLS_AT_ONCE;
use control::{Entity, Fault, TableEntry, TableId, Update, UpdateKind};

/// So many at once: what entities become on the way takes room.
const N_AT_ONCE: usize = 1 << 14;

impl Entities {
    /// Makes changes, which are valid, one after the other: what became of each.
    pub fn write_many(&mut self, state: State<'_>, updates: &[&Update]) -> Vec<Result<(), Fault>> {
        let State { store, pre, now_ns } = state;
        let mut results = Vec::with_capacity(updates.len());
        let mut left = updates;
        while let Some(first) = left.first() {
            let table = insertion(first).map(|entry| entry.table);
            let n_cells = left.iter().take(N_CELLS_AT_ONCE).take_while(|update| is_of_cells(update)).count();
            if n_cells > 1 {
                let (these, rest) = left.split_at(n_cells);
                left = rest;
                store.change_at_once(&mut |store| {
                    let written = these.iter().map(|update| self.write(State { store, pre, now_ns }, update));
                    results.extend(written);
                });
                continue;
            }
            let n = left.iter().take_while(|update| is_insertion_into(update, table)).count().max(1);
            let (these, rest) = left.split_at(n);
            left = rest;
            if n == 1 {
                results.push(self.write(State { store, pre, now_ns }, first));
                continue;
            }
            if let Some(id) = table.and_then(|table| self.names.tables.get(&table)) {
                store.reserve(*id, n as u64);
            }
            for these in these.chunks(N_AT_ONCE) {
                self.insert_many(State { store, pre, now_ns }, these, &mut results);
            }
        }
        results
    }

    /// Inserts entries of one table.
    fn insert_many(&mut self, state: State<'_>, updates: &[&Update], results: &mut Vec<Result<(), Fault>>) {
        let State { store, pre: _, now_ns } = state;
        let (mut table, mut new) = (None, Vec::with_capacity(updates.len()));
        let prepared = updates.iter().map(|update| {
            self.programming.check(&self.schema, update)?;
            let entry = insertion(update).ok_or_else(|| self.not_in_program(&update.entity))?;
            let found = self.insertion(entry)?;
            let (id, entry_of_table) = found.ok_or_else(|| self.not_in_program(&update.entity))?;
            table = Some(id);
            new.push(entry_of_table);
            Ok(entry)
        });
        let prepared: Vec<Result<&TableEntry, Fault>> = prepared.collect();
        let inserted = table.map(|id| (id, store.insert_many(id, new, now_ns)));
        let mut handles =
            inserted.into_iter().flat_map(|(id, handles)| handles.into_iter().map(move |h| (id, h)));
        for (update, prepared) in updates.iter().zip(prepared) {
            let result = prepared.and_then(|entry| {
                let answer = handles.next().ok_or_else(|| self.not_in_program(&update.entity))?;
                self.written(update, entry, answer)
            });
            results.push(result);
        }
    }
}

/// The entry, if it is one that is inserted and says what it does.
fn insertion(update: &Update) -> Option<&TableEntry> {
    match &update.entity {
        Entity::TableEntry(entry)
            if update.kind == UpdateKind::Insert && !entry.is_default_action && entry.action.is_some() =>
        {
            Some(entry)
        }
        _ => None,
    }
}

fn is_of_cells(update: &Update) -> bool {
    matches!(
        update.entity,
        Entity::Counter(_)
            | Entity::DirectCounter(_)
            | Entity::Meter(_)
            | Entity::DirectMeter(_)
            | Entity::Register(_)
    )
}

fn is_insertion_into(update: &Update, table: Option<TableId>) -> bool {
    insertion(update).is_some_and(|entry| Some(entry.table) == table)
}
