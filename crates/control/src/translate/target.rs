//! A target as controllers see it.

use crate::apply::Target;
use crate::entity::Entity;
use crate::fault::{Fault, Problem};
use crate::ids::TableId;
use crate::query::Query;
use crate::schema::Schema;
use crate::update::{Update, UpdateKind};

use super::translator::Translator;

/// Takes and gives the values of controllers, and keeps those of the program in another target.
pub struct Translated<'t> {
    pub schema: &'t Schema,
    pub translator: &'t mut Translator,
    pub target: &'t mut dyn Target,
}

impl Target for Translated<'_> {
    fn write(&mut self, update: &Update) -> Result<(), Fault> {
        if self.translator.is_empty() {
            return self.target.write(update);
        }
        let inner = self.translator.update(self.schema, update)?;
        self.target.write(&inner)
    }

    fn write_many(&mut self, updates: &[&Update]) -> Vec<Result<(), Fault>> {
        if self.translator.is_empty() {
            return self.target.write_many(updates);
        }
        let inner: Vec<Result<Update, Fault>> =
            updates.iter().map(|update| self.translator.update(self.schema, update)).collect();
        let good: Vec<&Update> = inner.iter().flatten().collect();
        let mut written = self.target.write_many(&good).into_iter();
        let missing = || Err(Problem::RollbackFailed { why: "a result is missing".into() }.into());
        inner.into_iter().map(|inner| inner.and_then(|_| written.next().unwrap_or_else(missing))).collect()
    }

    fn read(&self, query: &Query) -> Result<Vec<Entity>, Fault> {
        let Some(inner) = self.translator.query(self.schema, query)? else {
            let needs_entry = matches!(query, Query::DirectMeters { .. } | Query::DirectCounters { .. });
            return if needs_entry {
                Err(Problem::DoesNotExist { what: "the table entry".into() }.into())
            } else {
                Ok(Vec::new())
            };
        };
        let found = self.target.read(&inner)?;
        let translated = found.into_iter().filter_map(|mut entity| {
            match self.translator.answer(self.schema, &mut entity) {
                Ok(()) => Some(Ok(entity)),
                // Controllers have no name for this cell, so they cannot ask for it either.
                Err(fault) if is_of_index(&fault) => None,
                Err(fault) => Some(Err(fault)),
            }
        });
        translated.collect()
    }

    fn is_batch_atomic(&self) -> bool {
        self.target.is_batch_atomic()
    }

    fn restore(&mut self, kind: UpdateKind, mut entity: Entity) -> Result<(), Fault> {
        self.translator.entity(self.schema, &mut entity)?;
        self.target.restore(kind, entity)
    }

    fn has_default_of_program(&self, table: TableId) -> bool {
        self.target.has_default_of_program(table)
    }
}

/// Returns whether the index of a cell has no translation.
fn is_of_index(fault: &Fault) -> bool {
    fault.path() == "index" && matches!(fault.problem(), Problem::NoName { .. })
}
