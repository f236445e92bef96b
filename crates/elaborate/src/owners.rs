//! Direct counters and meters belong to one table, whose actions call them.

use crate::codes;
use crate::elaborator::Elaborator;
use arch::{DirectObjects, ExternOp};
use diagnostics::{Diagnostic, Span};
use ir::{Graph, ObjectId, ProcedureId, StmtKind, TableId, TerminatorKind};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

impl Elaborator<'_> {
    /// Reports direct objects of several tables, and calls outside of the actions of the table that has the object. Architectures
    /// whose direct objects act with every hit have no such calls.
    pub(crate) fn check_owners(&mut self) {
        if self.out.architecture.table_properties.direct_objects != DirectObjects::OnCall {
            return;
        }
        let mut owners: FxHashMap<ObjectId, TableId> = FxHashMap::default();
        let mut faults = Vec::new();
        for (id, table) in self.out.tables.iter() {
            for object in [table.direct_counter, table.direct_meter].into_iter().flatten() {
                if let Some(first) = owners.get(&object) {
                    faults.push(self.shared_object(object, *first, id));
                } else {
                    owners.insert(object, id);
                }
            }
        }
        // By place: an action of several tables is reported once.
        let mut calls: BTreeMap<Span, (ObjectId, Option<TableId>)> = BTreeMap::new();
        for (id, table) in self.out.tables.iter() {
            for call in self.calls(table.actions.iter().map(|action| action.procedure), None) {
                if owners.get(&call.0) != Some(&id) {
                    calls.entry(call.1).or_insert((call.0, Some(id)));
                }
            }
        }
        for (_, block) in self.out.blocks.iter() {
            for (object, span) in self.calls([], Some(&block.graph)) {
                calls.entry(span).or_insert((object, None));
            }
        }
        for (span, (object, table)) in calls {
            faults.push(self.foreign_call(span, object, table, owners.get(&object).copied()));
        }
        self.faults.extend(faults);
    }

    /// Calls of direct objects in procedures, in a graph, and in what they call; tables that they apply not included.
    fn calls(
        &self,
        procedures: impl IntoIterator<Item = ProcedureId>,
        graph: Option<&Graph>,
    ) -> Vec<(ObjectId, Span)> {
        let mut left: Vec<ProcedureId> = procedures.into_iter().collect();
        let mut seen: FxHashSet<ProcedureId> = left.iter().copied().collect();
        let (mut next, mut found) = (graph, Vec::new());
        while let Some(graph) = next.take().or_else(|| Some(&self.out.procedures[left.pop()?].graph)) {
            for (_, node) in graph.nodes.iter() {
                for stmt in &node.stmts {
                    if let StmtKind::Extern {
                        op: ExternOp::DirectCounterCount | ExternOp::DirectMeterExecute,
                        object: Some(object),
                        ..
                    } = &stmt.kind
                    {
                        found.push((*object, stmt.span));
                    }
                }
                // The action for an empty group is one of the table's.
                if let TerminatorKind::Call { procedure, .. } = &node.terminator.kind
                    && !self.empty_group_calls.contains(&node.terminator.span)
                    && seen.insert(*procedure)
                {
                    left.push(*procedure);
                }
            }
        }
        found
    }

    fn shared_object(&self, object: ObjectId, first: TableId, second: TableId) -> Diagnostic {
        let (object, first, second) =
            (&self.out.objects[object], &self.out.tables[first], &self.out.tables[second]);
        let message =
            format!("`{}` belongs to the tables `{}` and `{}`", object.name, first.name, second.name);
        Diagnostic::new(&codes::EXTERN_PLACE, second.span, message)
            .label("the second table")
            .also(first.span, "the first table")
            .note("a direct counter or meter has a cell for each entry of one table")
            .help("give each table an object of its own")
    }

    fn foreign_call(
        &self,
        span: Span,
        object: ObjectId,
        table: Option<TableId>,
        owner: Option<TableId>,
    ) -> Diagnostic {
        let name = &self.out.objects[object].name;
        let message = match table {
            Some(table) => {
                format!(
                    "`{name}` is called by an action of table `{}`, which does not have it",
                    self.out.tables[table].name
                )
            }
            None => format!("`{name}` is called outside of an action"),
        };
        let fault = Diagnostic::new(&codes::EXTERN_PLACE, span, message)
            .label("there is no entry whose cell is meant")
            .note("direct counters and meters act on the entry whose action calls them");
        match owner {
            Some(owner) => {
                fault.help(format!("call it in actions of table `{}` alone", self.out.tables[owner].name))
            }
            None => fault.help(
                "make it the direct counter or direct meter of a table, and call it in the table's actions",
            ),
        }
    }
}
