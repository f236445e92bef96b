//! Text of a program's declarations.

use super::names::{Dots, Labeller, spelled, spelled_field, string};
use super::print_code::{Printer, joined, node, nth_name};
use super::words::Spelled;
use crate::{
    Action, AddOnMiss, Block, Constant, Entry, EntryRegister, Enum, Graph, Match, Object, Procedure, Program,
    Scope, Struct, Sync, Table, Timeout, ValueSet, WhenFull,
};

pub(super) fn program(program: &Program) -> String {
    let printer = Printer::new(program);
    let mut w = Writer { printer: &printer, out: String::new() };
    w.program();
    w.out
}

struct Writer<'a, 'p> {
    printer: &'a Printer<'p>,
    out: String,
}

impl Writer<'_, '_> {
    fn line(&mut self, depth: usize, text: &str) {
        for _ in 0..depth {
            self.out.push_str("    ");
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn program(&mut self) {
        let program = self.printer.program;
        let labels = &self.printer.labels;
        self.line(0, &format!("architecture {}", program.architecture.name));
        if !program.errors.is_empty() {
            let position = |i| nth_name(program.errors.iter(), i, spelled_field);
            let names: Vec<String> = (0..program.errors.len()).map(position).collect();
            self.line(0, &format!("errors {}", names.join(", ")));
        }
        for ((_, e), label) in program.enums.iter().zip(&labels.enums) {
            self.enumeration(label, e);
        }
        for ((_, s), label) in program.structs.iter().zip(&labels.structs) {
            self.structure(label, s);
        }
        for ((_, variable), label) in program.variables.iter().zip(&labels.variables) {
            let scope = match variable.scope {
                Scope::Pipeline(role) => format!("pipeline {}", role.word()),
                Scope::Block(id) => format!("block {}", self.printer.block(id)),
                Scope::Procedure(id) => format!("procedure {}", self.printer.procedure(id)),
            };
            self.line(0, &format!("var {label}: {} in {scope}", self.printer.ty(&variable.ty)));
        }
        for ((_, object), label) in program.objects.iter().zip(&labels.objects) {
            self.object(label, object);
        }
        for ((_, set), label) in program.value_sets.iter().zip(&labels.value_sets) {
            self.value_set(label, set);
        }
        for ((_, procedure), label) in program.procedures.iter().zip(&labels.procedures) {
            self.procedure(label, procedure);
        }
        for ((_, table), label) in program.tables.iter().zip(&labels.tables) {
            self.table(label, table);
        }
        for ((_, block), label) in program.blocks.iter().zip(&labels.blocks) {
            self.block(label, block);
        }
        for (role, id) in &program.pipeline {
            self.line(0, &format!("pipeline {} = {}", role.word(), self.printer.block(*id)));
        }
        for (role, id) in &program.shared {
            self.line(0, &format!("shared {} = {}", role.word(), self.printer.variable(*id)));
        }
        for (role, place) in &program.fields {
            self.line(0, &format!("field {} = {}", role.word(), self.printer.place(place)));
        }
        for list in &program.field_lists {
            let places = joined(&list.places, |place| self.printer.place(place));
            self.line(0, &format!("field_list {} ({places})", list.index));
        }
    }

    fn enumeration(&mut self, label: &str, e: &Enum) {
        self.line(0, &format!("enum {label} {{"));
        for (i, (_, value)) in e.members.iter().enumerate() {
            let name = nth_name(e.members.iter().map(|(name, _)| name), i, spelled_field);
            let value = value.as_ref().map(|v| format!(" = {v:?}")).unwrap_or_default();
            self.line(1, &format!("{name}{value}"));
        }
        self.line(0, "}");
    }

    fn structure(&mut self, label: &str, s: &Struct) {
        self.line(0, &format!("{} {label} {{", s.kind.word()));
        for (i, field) in s.fields.iter().enumerate() {
            let name = nth_name(s.fields.iter().map(|f| &f.name), i, spelled_field);
            let members =
                field.members.map(|id| format!(" @ {}", self.printer.enumeration(id))).unwrap_or_default();
            self.line(1, &format!("{name}: {}{members}", self.printer.ty(&field.ty)));
        }
        self.line(0, "}");
    }

    fn constant(&self, constant: &Constant) -> String {
        match constant {
            Constant::Bits(bits) => format!("{bits:?}"),
            Constant::Bool(value) => value.to_string(),
            Constant::Str(text) => string(text),
            Constant::Member(name) => format!("member {}", spelled(name, Dots::Yes)),
            Constant::Object(id) => format!("object {}", self.printer.object(*id)),
            Constant::Fields(fields) => format!("{{{}}}", joined(fields, |c| self.constant(c))),
        }
    }

    fn object(&mut self, label: &str, object: &Object) {
        let mut line = format!("object {label}: {}", spelled(&object.type_name, Dots::Yes));
        if !object.type_args.is_empty() {
            line += &format!("<{}>", joined(&object.type_args, |ty| self.printer.ty(ty)));
        }
        let arg = |(name, value): &(smol_str::SmolStr, Constant)| {
            format!("{} = {}", spelled(name, Dots::Yes), self.constant(value))
        };
        line += &format!("({})", joined(&object.args, arg));
        self.line(0, &line);
    }

    fn value_set(&mut self, label: &str, set: &ValueSet) {
        self.line(0, &format!("value_set {label} in {} size {} {{", self.printer.block(set.block), set.size));
        for field in &set.fields {
            let (name, ty) = (spelled(&field.name, Dots::Yes), self.printer.ty(&field.ty));
            self.line(1, &format!("{name}: {ty} {}", field.match_kind.word()));
        }
        self.line(0, "}");
    }

    fn procedure(&mut self, label: &str, procedure: &Procedure) {
        let params = joined(&procedure.params, |id| self.printer.variable(*id));
        let block = self.printer.block(procedure.block);
        self.line(0, &format!("procedure {label}: {}({params}) in {block} {{", procedure.kind.word()));
        self.graph(&procedure.graph);
        self.line(0, "}");
    }

    fn block(&mut self, label: &str, block: &Block) {
        let params = joined(&block.params, |param| {
            let name = spelled(&param.name, Dots::Yes);
            param.var.map(|id| format!("{name} = {}", self.printer.variable(id))).unwrap_or(name)
        });
        let error = block.error.map(|id| format!(" error {}", self.printer.variable(id))).unwrap_or_default();
        self.line(0, &format!("block {label}: {}({params}){error} {{", block.role.word()));
        self.graph(&block.graph);
        self.line(0, "}");
    }

    fn graph(&mut self, graph: &Graph) {
        self.line(1, &format!("entry {}", node(graph.entry)));
        for (id, n) in graph.nodes.iter() {
            let state = n.state.as_ref().map(|name| format!(" state {}", spelled(name, Dots::Yes)));
            self.line(1, &format!("{}:{}", node(id), state.unwrap_or_default()));
            for stmt in &n.stmts {
                self.line(2, &self.printer.stmt(stmt));
            }
            for line in self.printer.terminator(&n.terminator) {
                self.line(2, &line);
            }
        }
    }

    fn table(&mut self, label: &str, table: &Table) {
        self.line(0, &format!("table {label} in {} {{", self.printer.block(table.block)));
        for key in &table.keys {
            let (name, ty) = (spelled(&key.name, Dots::Yes), self.printer.ty(&key.ty));
            self.line(1, &format!("key {name}: {ty} {}", key.match_kind.word()));
        }
        let mut labeller = Labeller::default();
        let actions: Vec<String> = table.actions.iter().map(|a| labeller.label(&a.name, Dots::Yes)).collect();
        for (action, label) in table.actions.iter().zip(&actions) {
            let mut line = format!("action {label} = {}", self.printer.procedure(action.procedure));
            if action.is_table_only {
                line += " table_only";
            }
            if action.is_default_only {
                line += " default_only";
            }
            if action.is_group_action {
                line += " group_action";
            }
            if action.sync != Sync::None {
                line += " sync ";
                line += action.sync.word();
            }
            self.line(1, &line);
        }
        let is_const = if table.has_const_default_action { "const " } else { "" };
        self.line(1, &format!("{is_const}default {}", action_text(&actions, &table.default_action)));
        if table.has_const_entries {
            self.line(1, "const entries");
        }
        for entry in &table.entries {
            self.entry(&actions, entry);
        }
        if let Some(size) = table.size {
            self.line(1, &format!("size {size}"));
        }
        let objects = [
            ("implementation", table.implementation),
            ("direct_counter", table.direct_counter),
            ("direct_meter", table.direct_meter),
        ];
        for (word, id) in objects {
            if let Some(id) = id {
                self.line(1, &format!("{word} {}", self.printer.object(id)));
            }
        }
        match table.timeout {
            Timeout::Never => {}
            Timeout::Notify => self.line(1, "timeout notify"),
            Timeout::Delete => self.line(1, "timeout delete"),
        }
        if !table.restarts_on_hit {
            self.line(1, "timer by actions");
        }
        if table.updates_data {
            self.line(1, "updates_data");
        }
        for EntryRegister { name, initial } in &table.registers {
            self.line(1, &format!("register {} = {initial:?}", spelled(name, Dots::Yes)));
        }
        if let Some(AddOnMiss { profile, when_full }) = table.add_on_miss {
            let evicts = if when_full == WhenFull::Oldest { " evicts" } else { "" };
            self.line(1, &format!("add_on_miss profile {profile}{evicts}"));
        }
        self.line(0, "}");
    }

    fn entry(&mut self, actions: &[String], entry: &Entry) {
        let matches = joined(&entry.matches, |m| match m {
            None => "_".to_string(),
            Some(Match::Exact(value)) => format!("{value:?}"),
            Some(Match::Lpm { value, prefix_len }) => format!("{value:?} / {prefix_len}"),
            Some(Match::Ternary { value, mask }) => format!("{value:?} &&& {mask:?}"),
            Some(Match::Range { low, high }) => format!("{low:?} .. {high:?}"),
            Some(Match::Optional(value)) => format!("optional {value:?}"),
        });
        let is_const = if entry.is_const { "const " } else { "" };
        let priority =
            if entry.priority == 0 { String::new() } else { format!(" priority {}", entry.priority) };
        let action = action_text(actions, &entry.action);
        self.line(1, &format!("{is_const}entry ({matches}){priority} -> {action}"));
    }
}

fn action_text(actions: &[String], action: &Action) -> String {
    let label = actions.get(action.index as usize).cloned().unwrap_or_else(|| format!("@{}", action.index));
    format!("{label}({})", joined(&action.data, |value| format!("{value:?}")))
}
