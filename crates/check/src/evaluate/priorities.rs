//! Priorities of entries (P4-16, "Entries").

use crate::program::*;
use crate::value::Value;
use num_traits::ToPrimitive;

impl Program {
    fn table_property(&self, scope: NodeId, id: TableId, name: &str) -> Option<Value> {
        let found = self.tables[id].properties.iter().find(|q| q.name == name)?;
        self.eval(&found.value, Some(scope))
    }

    /// True if larger numbers win among the priorities of the entries in the program (`largest_priority_wins`).
    pub fn largest_priority_wins(&self, scope: NodeId, id: TableId) -> bool {
        let is_const = self.tables[id].entries.as_ref().is_some_and(|list| list.is_const);
        let asked = self.table_property(scope, id, "largest_priority_wins").and_then(|v| v.as_bool());
        is_const || asked.unwrap_or(true)
    }

    /// The priorities of a table's entries in source order, given or by position; earlier constant entries win.
    pub fn entry_priorities(&self, scope: NodeId, id: TableId) -> Vec<i64> {
        let Some(list) = &self.tables[id].entries else { return Vec::new() };
        let n = i64::try_from(list.entries.len()).unwrap_or(i64::MAX);
        if list.is_const {
            return (1..=n).rev().collect();
        }
        let largest_wins = self.largest_priority_wins(scope, id);
        let delta = (self.table_property(scope, id, "priority_delta"))
            .and_then(|v| v.as_int()?.to_i64())
            .unwrap_or(1);
        let given: Vec<Option<i64>> = (list.entries.iter())
            .map(|e| self.eval(e.priority.as_ref()?, Some(scope))?.as_int()?.to_i64())
            .collect();
        if given.iter().all(Option::is_none) {
            let ascending = (0..n).map(|i| i.saturating_mul(delta).saturating_add(1));
            return if largest_wins { ascending.rev().collect() } else { ascending.collect() };
        }
        let step = if largest_wins { delta.saturating_neg() } else { delta };
        let mut last = 0i64;
        (given.iter())
            .map(|g| {
                last = g.unwrap_or_else(|| last.saturating_add(step));
                last
            })
            .collect()
    }
}
