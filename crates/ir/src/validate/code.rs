//! Statements and terminators.

use super::exprs::{is_number, is_single};
use super::{Code, Validator};
use crate::layout;
use crate::lookup::get;
use crate::{
    Arg, BlockId, DataUpdate, Expr, Graph, Keyset, Pattern, Place, ProcedureKind, Stmt, StmtKind, StructKind,
    Table, Terminator, TerminatorKind, Type, ValueSetId,
};
use arch::{BlockRole, ExternOp};
use rustc_hash::FxHashSet;

impl<'p> Validator<'p> {
    fn role(&self, code: Code<'p>) -> Option<BlockRole> {
        get(&self.program.blocks, code.block()).map(|block| block.role)
    }

    /// True when a block deparses the packet before the pipeline's deparser does.
    fn rebuilds(&self, block: BlockId) -> bool {
        let of_block = get(&self.program.blocks, block).map(|b| &b.graph);
        let procedures =
            self.program.procedures.iter().filter(|(_, p)| p.block == block).map(|(_, p)| &p.graph);
        of_block.into_iter().chain(procedures).flat_map(|graph| graph.nodes.iter()).any(|(_, node)| {
            let is_rebuild =
                |stmt: &Stmt| matches!(stmt.kind, StmtKind::Extern { op: ExternOp::Rebuild, .. });
            node.stmts.iter().any(is_rebuild)
        })
    }

    fn struct_kind(&self, ty: &Type) -> Option<StructKind> {
        match ty {
            Type::Struct(id) => get(&self.program.structs, *id).map(|s| s.kind),
            _ => None,
        }
    }

    pub(super) fn stmt(&mut self, stmt: &Stmt, code: Code<'p>) {
        match &stmt.kind {
            StmtKind::Assign { place, value } => {
                if let Some(ty) = self.place(place, code) {
                    self.expr_of(value, &ty, "the value", code);
                }
            }
            StmtKind::Emit(place) => {
                let may = self.role(code) == Some(BlockRole::Deparser) || self.rebuilds(code.block());
                self.require(may, "only deparsers emit");
                if let Some(ty) = self.place(place, code) {
                    let is_header = self.struct_kind(&ty) == Some(StructKind::Header);
                    self.require(is_header, "only headers are emitted");
                }
            }
            StmtKind::ZeroIfInvalid(place) => {
                if let Some(ty) = self.place(place, code) {
                    let is_header = self.struct_kind(&ty) == Some(StructKind::Header);
                    self.require(is_header, "only headers can be invalid");
                }
            }
            StmtKind::Extern { op, name: _, object, args, result } => {
                self.table_operation(*op, args, result.as_ref(), code);
                if let Some(id) = object {
                    self.require(get(&self.program.objects, *id).is_some(), "the object does not exist");
                }
                for arg in args {
                    self.arg(arg, code);
                }
                if let Some(place) = result {
                    self.place(place, code);
                }
            }
        }
    }

    fn arg(&mut self, arg: &Arg, code: Code<'p>) {
        let values = match arg {
            Arg::In(e) => std::slice::from_ref(e),
            Arg::Fields(fields) => fields,
            Arg::Ref(place) => {
                self.place(place, code);
                return;
            }
            Arg::Str(_) | Arg::Table { .. } | Arg::Absent => return,
        };
        for e in values {
            self.expr(e, code);
            self.require(is_single(&e.ty), "an argument is no single value");
        }
    }

    /// The types of the data that an action of a table takes.
    fn data_leaves(&self, table: &Table, action: Option<u32>) -> Option<Vec<Type>> {
        let listed = table.actions.get(action? as usize)?;
        let procedure = get(&self.program.procedures, listed.procedure)?;
        let types = procedure.params.iter().filter_map(|id| get(&self.program.variables, *id)).map(|v| &v.ty);
        Some(types.flat_map(|ty| layout::leaves(self.program, ty)).map(|leaf| leaf.ty).collect())
    }

    /// The type of one of them, by its number.
    fn data_leaf(&self, table: &Table, action: Option<u32>, leaf: &Expr) -> Option<Type> {
        let leaf = usize::try_from(leaf.as_const()?.to_u64()?).ok()?;
        self.data_leaves(table, action)?.into_iter().nth(leaf)
    }

    /// Operations of tables with state name a table of their block, and what they need of it.
    fn table_operation(&mut self, op: ExternOp, args: &[Arg], result: Option<&Place>, code: Code<'p>) {
        let is_known = matches!(
            op,
            ExternOp::AddEntry | ExternOp::SetTimer | ExternOp::StoreData | ExternOp::UpdateData
        );
        let named = args.iter().any(|arg| matches!(arg, Arg::Table { .. }));
        if !is_known {
            self.require(!named, "only operations of tables with state name a table");
            return;
        }
        let Some((&Arg::Table { table: id, action }, rest)) = args.split_first() else {
            self.report("its first argument is no table");
            return;
        };
        let Some(table) = get(&self.program.tables, id) else {
            self.report("the table does not exist");
            return;
        };
        self.require(table.block == code.block(), "the table belongs to another block");
        let profile = |arg: &Arg| matches!(arg, Arg::In(e) if e.ty == Type::Bit(8));
        let condition = |arg: &Arg| matches!(arg, Arg::In(e) if e.ty == Type::Bool);
        let fits = match (op, rest) {
            (ExternOp::AddEntry, [Arg::Fields(data), number, adds]) => {
                let leaves = self.data_leaves(table, action);
                self.require(table.add_on_miss.is_some(), "packets add no entries to the table");
                self.require(
                    leaves.is_some_and(|leaves| data.iter().map(|e| &e.ty).eq(&leaves)),
                    "the data are not what the action takes",
                );
                let ty = result.and_then(|place| self.program.place_type(place));
                profile(number) && condition(adds) && ty == Some(Type::Bool)
            }
            (ExternOp::StoreData, [Arg::In(leaf), Arg::In(value)]) => {
                self.require(table.updates_data, "its actions do not change their entries");
                result.is_none() && self.data_leaf(table, action, leaf).as_ref() == Some(&value.ty)
            }
            (ExternOp::UpdateData, [Arg::In(leaf), Arg::Str(update), Arg::In(operand)]) => {
                let ty = self.data_leaf(table, action, leaf);
                self.require(table.updates_data, "its actions do not change their entries");
                self.require(
                    ty.as_ref().and_then(Type::width_bits).is_some_and(DataUpdate::fits),
                    "no operation of a machine changes the value",
                );
                let result = result.and_then(|place| self.program.place_type(place));
                DataUpdate::from_word(update).is_some() && ty.as_ref() == Some(&operand.ty) && result == ty
            }
            (ExternOp::SetTimer, [restarts, sets, number]) => {
                let are_conditions = condition(restarts) && condition(sets);
                action.is_none() && result.is_none() && are_conditions && profile(number)
            }
            _ => false,
        };
        self.require(fits, "its arguments or its result are of other kinds");
    }

    pub(super) fn terminator(&mut self, terminator: &Terminator, graph: &Graph, code: Code<'p>) {
        let exist = terminator.kind.successors().iter().all(|id| get(&graph.nodes, *id).is_some());
        self.require(exist, "a successor does not exist");
        let in_parser = self.role(code) == Some(BlockRole::Parser);
        // Other blocks may call sub-parsers: then they have an error, too.
        let has_error = get(&self.program.blocks, code.block()).is_some_and(|b| b.error.is_some());
        let of_parser = "only parsers do that";
        match &terminator.kind {
            TerminatorKind::Goto(_) => {}
            TerminatorKind::Branch { condition, then: _, otherwise: _ } => {
                self.expr_of(condition, &Type::Bool, "the condition", code);
            }
            TerminatorKind::Switch { subject, cases, otherwise: _ } => {
                self.expr(subject, code);
                let width = subject.ty.width_bits();
                self.require(width.is_some(), "the subject is no single value");
                let mut seen = FxHashSet::default();
                for case in cases {
                    self.require(
                        Some(case.value.width()) == width,
                        "a case has another width than the subject",
                    );
                    self.require(seen.insert(&case.value), "two cases have one value");
                }
            }
            TerminatorKind::Select { keys, cases, otherwise: _ } => {
                self.require(in_parser || has_error, of_parser);
                for key in keys {
                    self.expr(key, code);
                    self.require(key.ty.width_bits().is_some(), "a key is no single value");
                }
                for case in cases {
                    match &case.pattern {
                        Pattern::ValueSet(id) => {
                            let types: Vec<&Type> = keys.iter().map(|key| &key.ty).collect();
                            self.value_set_ref(*id, &types, code);
                        }
                        Pattern::Keys(sets) => {
                            self.require(
                                sets.len() == keys.len(),
                                "a case does not have one set for each key",
                            );
                            sets.iter().zip(keys).for_each(|(set, key)| self.keyset(set, &key.ty, code));
                        }
                    }
                }
            }
            TerminatorKind::Extract { place, to_next, size_bits, then: _, fail: _ } => {
                self.require(in_parser || has_error, of_parser);
                self.extract(place, *to_next, size_bits.as_ref(), code);
            }
            TerminatorKind::Advance { bits, then: _, fail: _ } => {
                self.require(in_parser || has_error, of_parser);
                self.expr_of(bits, &Type::Bit(32), "the distance", code);
            }
            TerminatorKind::Lookahead { place, then: _, fail: _ } => {
                self.require(in_parser || has_error, of_parser);
                if let Some(ty) = self.place(place, code) {
                    let leaves = layout::leaves(self.program, &ty);
                    let is_fixed = leaves.iter().all(|leaf| leaf.ty.width_bits().is_some());
                    self.require(is_fixed, "the value has no fixed size");
                }
            }
            TerminatorKind::Apply { .. } => self.apply(terminator, code),
            TerminatorKind::Call { procedure, then: _, exit: _ } => {
                match get(&self.program.procedures, *procedure) {
                    Some(p) => {
                        self.require(p.block == code.block(), "the procedure belongs to another block");
                    }
                    None => self.report("the procedure does not exist"),
                }
            }
            TerminatorKind::Return => {
                let may = matches!(code, Code::Procedure(_)) || !in_parser;
                self.require(may, "parsers end in `accept` or `reject`");
            }
            TerminatorKind::Exit => {
                self.require(matches!(code, Code::Procedure(_)), "only procedures exit");
            }
            TerminatorKind::Accept | TerminatorKind::Reject => {
                self.require(matches!(code, Code::Block(_)) && in_parser, of_parser);
            }
        }
    }

    fn extract(&mut self, place: &Place, to_next: bool, size_bits: Option<&Expr>, code: Code<'p>) {
        if let Some(size) = size_bits {
            self.expr_of(size, &Type::Bit(32), "the size", code);
        }
        let Some(ty) = self.place(place, code) else { return };
        let header = match (&ty, to_next) {
            (Type::Stack { element, .. }, true) => Type::Struct(*element),
            (_, true) => {
                self.report("`next` is of stacks");
                return;
            }
            (_, false) => ty,
        };
        if self.struct_kind(&header) != Some(StructKind::Header) {
            self.report("only headers are extracted");
            return;
        }
        let leaves = layout::leaves(self.program, &header);
        let n_varbits = leaves.iter().filter(|leaf| matches!(leaf.ty, Type::Varbit(_))).count();
        self.require(n_varbits <= 1, "the header has more than one `varbit`");
        self.require(
            (n_varbits == 1) == size_bits.is_some(),
            "a size is given if and only if there is a `varbit`",
        );
    }

    fn apply(&mut self, terminator: &Terminator, code: Code<'p>) {
        let TerminatorKind::Apply { table, keys, hit, action, then: _, exit: _ } = &terminator.kind else {
            return;
        };
        let may = match code {
            Code::Block(_) => self.role(code) != Some(BlockRole::Parser),
            Code::Procedure(procedure) => procedure.kind == ProcedureKind::Control,
        };
        self.require(may, "only controls apply tables");
        for (place, ty) in [(hit, Type::Bool), (action, Type::Bit(32))] {
            let Some(place) = place else { continue };
            let found = self.place(place, code);
            self.require(found.is_none_or(|found| found == ty), "the result has another type");
        }
        let Some(table) = get(&self.program.tables, *table) else {
            keys.iter().for_each(|key| self.expr(key, code));
            self.report("the table does not exist");
            return;
        };
        self.require(table.block == code.block(), "the table belongs to another block");
        self.require(keys.len() == table.keys.len(), "it does not have one value for each key");
        for (value, key) in keys.iter().zip(&table.keys) {
            self.expr_of(value, &key.ty, &format!("the key `{}`", key.name), code);
        }
    }

    fn keyset(&mut self, set: &Keyset, ty: &Type, code: Code<'p>) {
        let values = match set {
            Keyset::Any => return,
            Keyset::ValueSet(id) => {
                self.value_set_ref(*id, &[ty], code);
                return;
            }
            Keyset::Value(e) => [Some(e), None],
            Keyset::Mask { value, mask } => [Some(value), Some(mask)],
            Keyset::Range { lo, hi } => {
                self.require(is_number(ty), "only numbers have ranges");
                [Some(lo), Some(hi)]
            }
        };
        for e in values.into_iter().flatten() {
            self.expr_of(e, ty, "a set of values", code);
        }
    }

    fn value_set_ref(&mut self, id: ValueSetId, keys: &[&Type], code: Code<'p>) {
        let Some(set) = get(&self.program.value_sets, id) else {
            self.report("the value set does not exist");
            return;
        };
        self.require(set.block == code.block(), "the value set belongs to another block");
        let fits = set.fields.len() == keys.len() && set.fields.iter().zip(keys).all(|(f, ty)| f.ty == **ty);
        self.require(fits, "the fields of the value set are not of the types of the keys");
    }
}
