//! Validation of declarations: types, variables, tables and others.

use super::Validator;
use crate::layout::{self, N_LEAVES_MAX};
use crate::lookup::{get, index};
use crate::{
    Action, Block, BlockId, Constant, Entry, Match, MatchKind, Object, Procedure, ProcedureId, ProcedureKind,
    Scope, StructKind, Table, TerminatorKind, Type, ValueSet, VarId, Variable,
};
use arch::{BlockRole, ParamRole};
use rustc_hash::FxHashSet;

/// The members of `error` that core.p4 declares, which what fails in parsers stores.
pub const CORE_ERRORS: [&str; 7] = [
    "NoError",
    "PacketTooShort",
    "NoMatch",
    "StackOutOfBounds",
    "HeaderTooShort",
    "ParserTimeout",
    "ParserInvalidArgument",
];

impl<'p> Validator<'p> {
    /// Checks the errors, enums and structs. Gives true when nothing is wrong.
    pub(super) fn types(&mut self) -> bool {
        let program = self.program;
        let core = program.errors.iter().zip(CORE_ERRORS).filter(|(name, core)| *name == core).count();
        self.require(core == CORE_ERRORS.len(), "its errors do not begin with those of core.p4");
        for (id, e) in program.enums.iter() {
            self.owner = format!("enum {}", self.printer.enumeration(id));
            let widths: FxHashSet<Option<u32>> =
                e.members.iter().map(|(_, value)| value.as_ref().map(|v| v.width())).collect();
            self.require(widths.len() <= 1, "its members have values of different widths");
        }
        let before = self.violations.len();
        let mut names = FxHashSet::default();
        for (id, s) in program.structs.iter() {
            self.owner = self.printer.ty(&Type::Struct(id));
            self.require(names.insert(&s.name), "its name is not its own");
            for field in &s.fields {
                self.text = Some(field.name.to_string());
                self.ty(&field.ty);
                if let Some(id) = field.members {
                    self.require(get(&program.enums, id).is_some(), "its enum does not exist");
                }
                let kind = match &field.ty {
                    Type::Struct(id) => get(&program.structs, *id).map(|s| s.kind),
                    _ => None,
                };
                match s.kind {
                    StructKind::Struct => {}
                    StructKind::Header => {
                        let fits = match &field.ty {
                            Type::Struct(_) => kind == Some(StructKind::Struct),
                            Type::Stack { .. } => false,
                            Type::Bool
                            | Type::Bit(_)
                            | Type::Int(_)
                            | Type::Varbit(_)
                            | Type::Error
                            | Type::Enum(_)
                            | Type::Array { .. } => true,
                        };
                        self.require(fits, "headers contain no headers");
                    }
                    StructKind::Union => {
                        self.require(kind == Some(StructKind::Header), "unions contain headers only");
                    }
                }
            }
            self.text = None;
            if self.violations.len() == before {
                let n = layout::n_leaves(program, &Type::Struct(id));
                self.require(n <= N_LEAVES_MAX, "it contains itself, or more values than can be numbered");
            }
        }
        self.violations.len() == before
    }

    /// Requires that the parts of a type exist.
    pub(super) fn ty(&mut self, ty: &Type) {
        let program = self.program;
        match ty {
            Type::Bool | Type::Bit(_) | Type::Int(_) | Type::Varbit(_) | Type::Error => {}
            Type::Enum(id) => self.require(get(&program.enums, *id).is_some(), "its type does not exist"),
            Type::Struct(id) => self.require(get(&program.structs, *id).is_some(), "its type does not exist"),
            Type::Stack { element, .. } => match get(&program.structs, *element).map(|s| s.kind) {
                Some(StructKind::Header | StructKind::Union) => {}
                Some(StructKind::Struct) => self.report("stacks are of headers or unions"),
                None => self.report("its type does not exist"),
            },
            Type::Array { element, .. } => stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.ty(element)),
        }
    }

    /// Checks the blocks, variables and fields that the architecture finds by their role.
    pub(super) fn roles(&mut self) {
        let program = self.program;
        self.owner = "program".to_string();
        let mut seen = FxHashSet::default();
        for (role, id) in &program.pipeline {
            match get(&program.blocks, *id) {
                Some(block) => {
                    let fits = block.role == *role && seen.insert(*id);
                    self.require(
                        fits,
                        &format!("the pipeline's {role:?} is no block of that role, or is there twice"),
                    );
                }
                None => self.report(format!("the pipeline's {role:?} does not exist")),
            }
        }
        let all = program.blocks.iter().all(|(id, _)| seen.contains(&id));
        self.require(all, "there is a block that the pipeline lacks");
        let mut roles = FxHashSet::default();
        for (role, id) in &program.shared {
            let fits =
                get(&program.variables, *id).is_some_and(|variable| variable.scope == Scope::Pipeline(*role));
            let first = roles.insert(*role) || *role == ParamRole::Own;
            self.require(
                fits && first,
                &format!("the shared variable {role:?} is none of that role, or is there twice"),
            );
        }
        for (role, place) in &program.fields {
            let ty = program.place_type(place);
            let fits = ty.is_some_and(|ty| ty.width_bits().is_some());
            self.require(fits, &format!("the field {role:?} is no single value"));
        }
        let mut indices = FxHashSet::default();
        for list in &program.field_lists {
            let fits = list.places.iter().all(|place| program.place_type(place).is_some());
            let first = indices.insert(list.index);
            self.require(
                fits && first,
                &format!("the field list {} does not fit, or is there twice", list.index),
            );
        }
    }

    pub(super) fn variable(&mut self, id: VarId, variable: &Variable) {
        let before = self.violations.len();
        self.ty(&variable.ty);
        if self.violations.len() == before {
            let n = layout::n_leaves(self.program, &variable.ty);
            self.require(n <= N_LEAVES_MAX, "it consists of more values than can be numbered");
        }
        let exists = match variable.scope {
            Scope::Pipeline(ParamRole::Packet) => false,
            Scope::Pipeline(role) => self.program.shared.contains(&(role, id)),
            Scope::Block(id) => get(&self.program.blocks, id).is_some(),
            Scope::Procedure(id) => get(&self.program.procedures, id).is_some(),
        };
        self.require(exists, "what it belongs to does not exist");
    }

    fn constant(&mut self, constant: &Constant) {
        match constant {
            Constant::Bits(_) | Constant::Bool(_) | Constant::Str(_) | Constant::Member(_) => {}
            Constant::Object(id) => {
                self.require(get(&self.program.objects, *id).is_some(), "an argument does not exist");
            }
            Constant::Fields(fields) => fields.iter().for_each(|field| {
                stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.constant(field));
            }),
        }
    }

    pub(super) fn object(&mut self, object: &Object) {
        object.type_args.iter().for_each(|ty| self.ty(ty));
        object.args.iter().for_each(|(_, value)| self.constant(value));
    }

    pub(super) fn value_set(&mut self, set: &ValueSet) {
        let block = get(&self.program.blocks, set.block);
        self.require(block.is_some_and(|b| b.role == BlockRole::Parser), "it belongs to no parser");
        for field in &set.fields {
            self.ty(&field.ty);
            self.require(field.ty.width_bits().is_some(), "its fields are no single values");
        }
    }

    pub(super) fn procedure(&mut self, id: ProcedureId, procedure: &Procedure) {
        let block = get(&self.program.blocks, procedure.block);
        self.require(block.is_some(), "its block does not exist");
        let in_parser = block.is_some_and(|b| b.role == BlockRole::Parser);
        let fits = match procedure.kind {
            ProcedureKind::Parser => block.is_some_and(|b| b.error.is_some()),
            ProcedureKind::Action | ProcedureKind::Control => !in_parser,
            ProcedureKind::Function => true,
        };
        self.require(fits, "it is of a kind that its block cannot have");
        for param in &procedure.params {
            let variable = get(&self.program.variables, *param);
            let fits = variable.is_some_and(|v| v.scope == Scope::Procedure(id));
            self.require(fits, "a parameter is no variable of its own");
        }
    }

    pub(super) fn block(&mut self, id: BlockId, block: &Block) {
        for param in &block.params {
            let Some(var) = param.var else { continue };
            let variable = get(&self.program.variables, var);
            let fits = variable.is_some_and(|v| matches!(v.scope, Scope::Pipeline(_)));
            self.require(fits, "a parameter is not shared by the pipeline");
        }
        let error = block.error.and_then(|id| get(&self.program.variables, id));
        // Others have one where they call a sub-parser.
        if block.role == BlockRole::Parser || block.error.is_some() {
            let visible = error.is_some_and(|v| match v.scope {
                Scope::Pipeline(_) => true,
                Scope::Block(owner) => owner == id,
                Scope::Procedure(_) => false,
            });
            let fits = visible && error.is_some_and(|v| v.ty == Type::Error);
            self.require(fits, "it has no variable for its error");
        }
    }

    pub(super) fn table(&mut self, table: &Table) {
        let program = self.program;
        let block = get(&program.blocks, table.block);
        self.require(block.is_some_and(|b| b.role != BlockRole::Parser), "it belongs to no control");
        for key in &table.keys {
            self.text = Some(format!("key {}", key.name));
            self.ty(&key.ty);
            let fits = match key.match_kind {
                MatchKind::Selector => key.ty.width_bits().is_some() || matches!(key.ty, Type::Varbit(_)),
                MatchKind::Exact
                | MatchKind::Lpm
                | MatchKind::Ternary
                | MatchKind::Range
                | MatchKind::Optional => key.ty.width_bits().is_some(),
            };
            self.require(fits, "it is no single value");
        }
        for action in &table.actions {
            self.text = Some(format!("action {}", action.name));
            let fits = get(&program.procedures, action.procedure)
                .is_some_and(|p| p.block == table.block && p.kind == ProcedureKind::Action);
            self.require(fits, "it is no action of the table's block");
            self.registers(table, action.procedure);
        }
        self.text = Some("default".to_string());
        self.action(table, &table.default_action);
        let default = table.actions.get(table.default_action.index as usize);
        self.require(!default.is_some_and(|a| a.is_table_only), "the action is for entries only");
        self.require(!default.is_some_and(|a| a.is_group_action), "the action is for groups only");
        for (i, entry) in table.entries.iter().enumerate() {
            self.text = Some(format!("entry {i}"));
            self.entry(table, entry);
        }
        self.text = None;
        for id in [table.implementation, table.direct_counter, table.direct_meter].into_iter().flatten() {
            self.require(get(&program.objects, id).is_some(), "one of its objects does not exist");
        }
    }

    /// Every action of a table takes the values of its registers last.
    fn registers(&mut self, table: &Table, procedure: ProcedureId) {
        let wanted: Vec<Option<u32>> = table.registers.iter().map(|r| Some(r.initial.width())).collect();
        if !wanted.is_empty() {
            self.require(
                table.updates_data,
                "the table has registers, and its actions do not change entries",
            );
            let fits = self.data_widths(procedure).is_none_or(|widths| widths.ends_with(&wanted));
            self.require(fits, "it does not take the registers of its table");
        }
    }

    /// The widths of the data of an action.
    fn data_widths(&self, procedure: ProcedureId) -> Option<Vec<Option<u32>>> {
        let program = self.program;
        let params = &get(&program.procedures, procedure)?.params;
        let types = params.iter().filter_map(|id| get(&program.variables, *id)).map(|v| &v.ty);
        Some(types.flat_map(|ty| layout::leaves(program, ty)).map(|leaf| leaf.ty.width_bits()).collect())
    }

    fn action(&mut self, table: &Table, action: &Action) {
        let Some(listed) = table.actions.get(action.index as usize) else {
            self.report("the table lists no such action");
            return;
        };
        let Some(widths) = self.data_widths(listed.procedure) else { return };
        let found: Vec<Option<u32>> = action.data.iter().map(|value| Some(value.width())).collect();
        self.require(widths == found, "the data are not what the action takes");
    }

    fn entry(&mut self, table: &Table, entry: &Entry) {
        self.action(table, &entry.action);
        let listed = table.actions.get(entry.action.index as usize);
        self.require(!listed.is_some_and(|a| a.is_default_only), "the action is for the default only");
        self.require(!listed.is_some_and(|a| a.is_group_action), "the action is for groups only");
        let matched: Vec<_> = table.keys.iter().filter(|key| key.match_kind != MatchKind::Selector).collect();
        self.require(matched.len() == entry.matches.len(), "it does not have one match for each key");
        let mut needs_priority = false;
        for (key, m) in matched.iter().zip(&entry.matches) {
            needs_priority |=
                matches!(key.match_kind, MatchKind::Ternary | MatchKind::Range | MatchKind::Optional);
            let width = key.ty.width_bits();
            let fits = match (key.match_kind, m) {
                (_, None) => true,
                (MatchKind::Exact, Some(Match::Exact(value)))
                | (MatchKind::Optional, Some(Match::Optional(value))) => Some(value.width()) == width,
                (MatchKind::Lpm, Some(Match::Lpm { value, prefix_len })) => {
                    Some(value.width()) == width && *prefix_len <= value.width()
                }
                (MatchKind::Ternary, Some(Match::Ternary { value: a, mask: b }))
                | (MatchKind::Range, Some(Match::Range { low: a, high: b })) => {
                    Some(a.width()) == width && Some(b.width()) == width
                }
                (_, Some(_)) => false,
            };
            self.require(fits, &format!("its match of `{}` does not fit the key", key.name));
        }
        self.require(needs_priority || entry.priority == 0, "it has a priority where none is needed");
    }

    /// Procedures do not call themselves. Reports each cycle once.
    pub(super) fn recursion(&mut self) {
        let program = self.program;
        let callees = |id: ProcedureId| -> Vec<ProcedureId> {
            let mut out = Vec::new();
            for (_, node) in program.procedures[id].graph.nodes.iter() {
                match &node.terminator.kind {
                    TerminatorKind::Call { procedure, .. } => out.push(*procedure),
                    TerminatorKind::Apply { table, .. } => {
                        let actions = get(&program.tables, *table).map(|t| t.actions.as_slice());
                        out.extend(actions.unwrap_or_default().iter().map(|a| a.procedure));
                    }
                    _ => {}
                }
            }
            out.retain(|id| get(&program.procedures, *id).is_some());
            out
        };
        #[derive(Clone, Copy, PartialEq)]
        enum State {
            New,
            Open,
            Done,
        }
        let mut states = vec![State::New; program.procedures.len()];
        for (root, _) in program.procedures.iter() {
            if states[index(root)] != State::New {
                continue;
            }
            states[index(root)] = State::Open;
            let mut stack = vec![(root, callees(root))];
            while let Some((id, left)) = stack.last_mut() {
                let id = *id;
                let Some(callee) = left.pop() else {
                    states[index(id)] = State::Done;
                    stack.pop();
                    continue;
                };
                match states[index(callee)] {
                    State::New => {
                        states[index(callee)] = State::Open;
                        stack.push((callee, callees(callee)));
                    }
                    State::Open => {
                        self.owner = format!("procedure {}", self.printer.procedure(id));
                        self.report(format!(
                            "it calls `{}`, which is still running then",
                            self.printer.procedure(callee)
                        ));
                    }
                    State::Done => {}
                }
            }
        }
    }
}
