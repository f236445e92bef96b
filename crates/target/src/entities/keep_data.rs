//! Modifications of entries that keep what actions have changed in them.

use super::{Entities, State};
use crate::store::{EntryAction, EntryHandle, NewEntry, StoredAction, TableError};
use control::{Fault, Problem, TableAction, TableEntry, Update};

impl Entities {
    /// Modifies an entry, and keeps its current values of the parameters that its action changes and of its registers. Workers wait meanwhile, so
    /// that no change of a packet is lost.
    pub(super) fn modify_keeping_data(
        &self,
        state: State<'_>,
        update: &Update,
        entry: &TableEntry,
        (id, new): (ir::TableId, NewEntry),
    ) -> Result<Result<EntryHandle, TableError>, Fault> {
        let (EntryAction::Action(action), Some(TableAction::Action(wanted))) = (&new.action, &entry.action)
        else {
            return Ok(state.store.modify(id, new, state.now_ns));
        };
        let Some(known) = self.schema.actions.get(wanted.id) else {
            return Err(self.not_in_program(&update.entity));
        };
        let does_not_exist = || Problem::DoesNotExist { what: self.schema.describe(&update.entity) };
        let n_registers = self.program.tables[id].registers.len();
        let keeps_values = known.params.iter().any(|param| param.is_updatable);
        if !keeps_values && n_registers == 0 {
            return Ok(state.store.modify(id, new, state.now_ns));
        }
        let mut done = Err(does_not_exist().into());
        state.store.change_at_once(&mut |store| {
            let stored = store.find(id, &new.matches, entry.priority);
            let Some(stored) = stored.and_then(|handle| store.entry(id, handle)) else { return };
            let StoredAction::Action(current) = stored.action else { return };
            if keeps_values && current.index != action.index {
                let kept = known.params.iter().filter(|param| param.is_updatable);
                let kept: Vec<String> = kept.map(|param| format!("`{}`", param.name)).collect();
                done = Err(Problem::OtherAction {
                    what: self.schema.describe(&update.entity),
                    action: known.names.name.clone(),
                    kept: kept.join(", "),
                }
                .into());
                return;
            }
            // Registers stand behind the values of parameters.
            let registers = current.data.len().saturating_sub(n_registers);
            let values = action.data.iter().take(action.data.len().saturating_sub(n_registers)).enumerate();
            let values = values.map(|(i, given)| {
                let is_kept = known.params.get(i).is_some_and(|param| param.is_updatable);
                current.data.get(i).filter(|_| is_kept).unwrap_or(given)
            });
            let data = values.chain(current.data.iter().skip(registers)).cloned().collect();
            let action = EntryAction::Action(ir::Action { index: action.index, data });
            done = Ok(store.modify(id, NewEntry { action, ..new.clone() }, state.now_ns));
        });
        done
    }
}
