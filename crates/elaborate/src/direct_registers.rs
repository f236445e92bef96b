//! Registers of entries (`DirectRegister`): each entry of a table has a cell of every register that the table names in its property
//! `registers`.
//!
//! The cells stand behind the data of the entry's action: as parameters of every action of the table, which the program does not
//! see and no controller gives. An action that others call gets the values of the registers that it uses with the call, and gives
//! them back.

use crate::body::Body;
use crate::call::Passed;
use crate::codes;
use crate::elaborator::{Elaborator, TableInForce, TableRegister};
use crate::place::LValue;
use crate::updates::{UPDATABLE_BITS_MAX, is_written};
use arch::{ExternOp, table_state};
use check::program::{Call, Expr as Checked, ExprKind, ExternId, NodeId, NodeKind, TableId as CheckedId};
use check::types::TyKind;
use diagnostics::{Diagnostic, Span};
use ir::{Bits, EntryRegister, Expr, Place, ProcedureId, Scope, Step, TableId, Type, VarId};
use smol_str::{SmolStr, format_smolstr};

impl Elaborator<'_> {
    /// Reads the property of a table that names its registers.
    pub(crate) fn registers_of_table(&mut self, scope: NodeId, table: CheckedId, id: TableId) {
        let p = self.p;
        let def = &p.tables[table];
        let Some(property) = def.properties.iter().find(|q| q.name == table_state::REGISTERS) else { return };
        let items = match &property.value.kind {
            ExprKind::List(items) | ExprKind::Struct(items) => items.as_slice(),
            _ => std::slice::from_ref(&property.value),
        };
        let (mut registers, mut values): (Vec<TableRegister>, Vec<EntryRegister>) = Default::default();
        for item in items {
            let Some((node, argument)) = self.register_of(scope, item) else { continue };
            let name = &p.nodes[node].name;
            let owner = self.table_registers.iter().find(|(_, of)| of.iter().any(|of| of.node == node));
            if registers.iter().any(|register| register.node == node) {
                self.register_fault(
                    item.span,
                    format!("register `{name}` is named twice"),
                    "named again",
                    "remove one of the two",
                );
                continue;
            }
            if let Some((owner, _)) = owner {
                let owner = self.out.tables[*owner].name.clone();
                self.register_fault(
                    item.span,
                    format!("register `{name}` belongs to two tables"),
                    &format!("also in the property `registers` of table `{owner}`"),
                    "give each table a register of its own",
                );
                continue;
            }
            let ty = self.ty(argument);
            let leaves = ir::layout::leaves(&self.out, &ty);
            let widths: Option<Vec<u32>> = (leaves.iter())
                .map(|leaf| if leaf.is_implicit() { None } else { leaf.ty.width_bits() })
                .collect();
            let Some(widths) = widths.filter(|widths| !widths.is_empty()) else {
                self.register_fault(
                    item.span,
                    format!("the values of register `{name}` have no fixed width"),
                    "has a header, a `varbit` or nothing in it",
                    "use `bit`, `int`, `bool`, an enum, or a struct of these",
                );
                continue;
            };
            let given = p.nodes[node].args.first().and_then(Option::as_ref);
            let initial = given.and_then(|value| self.leaves(value, &ty));
            let initial = initial.filter(|initial| initial.len() == widths.len());
            let initial = initial.unwrap_or_else(|| widths.iter().map(|width| Bits::zero(*width)).collect());
            for (leaf, initial) in leaves.iter().zip(initial) {
                values.push(EntryRegister { name: self.name_of_part(name, &ty, &leaf.path), initial });
            }
            registers.push(TableRegister { node, ty });
        }
        let n_bits: u64 = values.iter().map(|value| u64::from(value.initial.width())).sum();
        if n_bits > UPDATABLE_BITS_MAX {
            self.register_fault(
                property.value.span,
                format!("the registers of table `{}` are too large", def.name),
                &format!("{n_bits} bits in each entry"),
                "they have 64 bytes together at most",
            );
        }
        if !registers.is_empty() {
            self.table_registers.insert(id, registers);
            self.out.tables[id].registers = values;
        }
    }

    /// The register that an item of the property names, with the type of its values.
    fn register_of(&mut self, scope: NodeId, item: &Checked) -> Option<(NodeId, check::types::Ty)> {
        let p = self.p;
        let found = p.object(item, Some(scope)).and_then(|node| {
            let NodeKind::Extern(id) = p.nodes[node].kind else { return None };
            let TyKind::Extern(_, args) = self.types.kind(p.nodes[node].ty) else { return None };
            let def = &p.externs[id];
            let reads = |method: &str| {
                self.out.architecture.method(&def.name, method) == ExternOp::DirectRegisterRead
            };
            let is_register = def.methods.iter().any(|method| reads(&method.name));
            Some((node, args.first().copied().filter(|_| is_register)?))
        });
        // An architecture that is not known may mean something else by this property.
        if found.is_none() && self.out.architecture.known_table_properties().is_some() {
            self.register_fault(
                item.span,
                "this is no register of entries".to_string(),
                "no `DirectRegister` with a name",
                "declare `DirectRegister<T>() r;` in the control, and write `registers = r;`",
            );
        }
        found
    }

    /// Returns whether a method reads a register of entries, which is no more than reading a variable.
    pub(crate) fn reads_register(&self, extern_: ExternId, method: u32) -> bool {
        let def = &self.p.externs[extern_];
        let method = &def.methods[method as usize].name;
        self.out.architecture.method(&def.name, method) == ExternOp::DirectRegisterRead
    }

    fn register_fault(&mut self, span: Span, message: String, label: &str, help: &str) {
        let diagnostic = Diagnostic::new(&codes::TABLE_STATE, span, message).label(label).help(help);
        self.faults.push(diagnostic);
    }

    /// The name of a value within a register.
    fn name_of_part(&self, register: &SmolStr, ty: &Type, path: &[Step]) -> SmolStr {
        let (mut name, mut ty) = (register.clone(), ty.clone());
        for step in path {
            (name, ty) = match (step, &ty) {
                (Step::Field(i), Type::Struct(id)) => match self.out.structs[*id].fields.get(*i as usize) {
                    Some(field) => (format_smolstr!("{name}.{}", field.name), field.ty.clone()),
                    None => return name,
                },
                (Step::Element(i), Type::Array { element, .. }) => {
                    (format_smolstr!("{name}[{i}]"), (**element).clone())
                }
                _ => return name,
            };
        }
        name
    }

    /// The values of the registers in an entry that a packet adds to a table.
    pub(crate) fn first_register_values(&self, table: TableId) -> Vec<Expr> {
        let registers = self.table_registers.get(&table).into_iter().flatten();
        let leaves = registers.flat_map(|register| ir::layout::leaves(&self.out, &register.ty));
        let values = leaves.zip(&self.out.tables[table].registers);
        values.map(|(leaf, of)| Expr::new(ir::ExprKind::Const(of.initial.clone()), leaf.ty)).collect()
    }

    /// Adds the variables of the registers that a called action uses to its parameters.
    pub(crate) fn declare_used_registers(&mut self, procedure: ProcedureId) {
        let used = self.used_registers(procedure);
        if let (false, Some(params)) = (used.is_empty(), self.params.get(&procedure)) {
            let params = params.iter().copied().chain(used.into_iter().map(|(_, var)| Some(var))).collect();
            self.params.insert(procedure, params);
        }
    }

    /// The registers of the table that a procedure uses, in the order of the table.
    fn used_registers(&self, procedure: ProcedureId) -> Vec<(TableRegister, VarId)> {
        let registers = self.table_in_force.and_then(|table| self.table_registers.get(&table.id));
        let used = registers.into_iter().flatten().filter_map(|register| {
            let var = self.register_vars.get(&(procedure, register.node))?;
            Some((register.clone(), *var))
        });
        used.collect()
    }
}

impl Body<'_, '_> {
    /// The variables for the registers of the table whose action this is: the last of its data.
    pub(crate) fn register_data(&mut self) -> Vec<VarId> {
        let registers = self.e.table_in_force.and_then(|table| self.e.table_registers.get(&table.id));
        let registers = registers.cloned().unwrap_or_default();
        registers.iter().filter_map(|register| self.register_variable(register)).collect()
    }

    /// The variable for a register in the procedure that is being written, made when it is first used.
    fn register_variable(&mut self, register: &TableRegister) -> Option<VarId> {
        let Scope::Procedure(procedure) = self.scope else { return None };
        let key = (procedure, register.node);
        if let Some(var) = self.e.register_vars.get(&key) {
            return Some(*var);
        }
        let node = &self.e.p.nodes[register.node];
        let var = self.variable(&node.name, register.ty.clone(), node.span);
        self.e.register_vars.insert(key, var);
        Some(var)
    }

    /// The registers that a called action uses, as arguments behind those that it declares.
    pub(crate) fn pass_registers(&mut self, procedure: ProcedureId) -> Vec<Passed> {
        let mut passed = Vec::new();
        for (register, theirs) in self.e.used_registers(procedure) {
            let Some(ours) = self.register_variable(&register) else { continue };
            let (place, ty) = (Place::var(ours), register.ty);
            let value = Expr::read(place.clone(), ty.clone());
            passed.push(match is_written(&self.e.out.procedures[procedure].graph, theirs) {
                true => Passed::InOut(LValue::whole(place, ty), value),
                false => Passed::In(value),
            });
        }
        passed
    }

    /// A call of a method of a register of entries, with its result if it has one; `None` if it is another method.
    pub(crate) fn register_call(
        &mut self,
        op: ExternOp,
        node: Option<NodeId>,
        e: &Checked,
        call: &Call,
    ) -> Option<Option<Expr>> {
        let reads = match op {
            ExternOp::DirectRegisterRead => true,
            ExternOp::DirectRegisterWrite => false,
            _ => return None,
        };
        let found = self.register_in_force(node, e.span).and_then(|register| {
            let var = self.register_variable(&register)?;
            Some((Place::var(var), register.ty))
        });
        match (reads, found) {
            (true, Some((place, ty))) => Some(Some(Expr::read(place, ty))),
            (true, None) => {
                let ty = self.ty(e.ty);
                Some(Some(self.zero(&ty, e.span)))
            }
            (false, Some((place, ty))) => {
                let value = call.args.first().and_then(Option::as_ref)?;
                self.assign_expr(&place, &ty, value);
                Some(None)
            }
            (false, None) => Some(None),
        }
    }

    /// The register of the table whose action this is; reports a call elsewhere.
    fn register_in_force(&mut self, node: Option<NodeId>, span: Span) -> Option<TableRegister> {
        let name = node.map_or("?", |node| self.e.p.nodes[node].name.as_str());
        let Some(TableInForce { id, checked, .. }) = self.e.table_in_force else {
            self.e.faults.push(
                Diagnostic::new(
                    &codes::TABLE_STATE,
                    span,
                    format!("register `{name}` is used outside of the actions of a table"),
                )
                .label("no entry belongs to this call")
                .note("only actions that a table runs, and actions that these call, may use it"),
            );
            return None;
        };
        let registers = self.e.table_registers.get(&id);
        let found = registers.into_iter().flatten().find(|register| Some(register.node) == node).cloned();
        if found.is_none() {
            let table = &self.e.p.tables[checked].name;
            self.e.register_fault(
                span,
                format!("register `{name}` does not belong to table `{table}`"),
                "the entries of the table have no cell of it",
                &format!("write `registers = {name};` in the table"),
            );
        }
        found
    }
}
