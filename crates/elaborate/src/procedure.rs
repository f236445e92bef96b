//! Procedures: what controls, parsers, actions and functions become, made when first needed.

use crate::body::{Body, BodyKind};
use crate::elaborator::{Elaborator, ProcedureKey, Values};
use crate::names::{Binding, Names};
use check::program::{
    self as checked, ActionId, ControlId, Direction, FunctionId, Local, NodeKind, ParserId,
    VarId as CheckedVar,
};
use check::types::{Ty, TyKind};
use check::value::Value;
use diagnostics::Span;
use ir::{Graph, Place, Procedure, ProcedureId, ProcedureKind, Scope, TerminatorKind, VarId, Variable};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use std::rc::Rc;

/// The cost of a procedure with its types and variables, in statements. It counts towards the limit on the program.
const PROCEDURE_COST: u64 = 64;

/// The name, the kind and the origin of a procedure.
pub struct Head {
    pub name: SmolStr,
    pub kind: ProcedureKind,
    pub span: Span,
}

/// The way in which an action comes to run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ActionUse {
    /// A table runs it, with the data of an entry.
    Listed,
    /// Code calls it.
    Called,
}

impl<'p> Elaborator<'p> {
    /// The procedure for `key`, made by `build` when it is needed for the first time. `build` gets a body whose
    /// names are empty, and gives the parameters that callers assign.
    pub fn procedure(
        &mut self,
        key: ProcedureKey,
        head: Head,
        build: impl FnOnce(&mut Body<'_, 'p>, ProcedureId) -> Vec<VarId>,
    ) -> ProcedureId {
        if let Some(id) = self.procedures.get(&key) {
            return *id;
        }
        let empty = Graph { nodes: la_arena::Arena::new(), entry: la_arena::Idx::from_raw(0.into()) };
        let id = self.out.procedures.alloc(Procedure {
            name: head.name,
            kind: head.kind,
            block: self.block,
            params: Vec::new(),
            graph: empty,
            span: head.span,
        });
        self.procedures.insert(key, id);
        let (params, graph) = stacker::maybe_grow(128 * 1024, 1024 * 1024, || {
            let mut body = Body::new(self, Names::default(), BodyKind::Procedure, Scope::Procedure(id));
            let params =
                if body.e.is_full(PROCEDURE_COST, head.span) { Vec::new() } else { build(&mut body, id) };
            (params, body.finish(head.span))
        });
        if graph.nodes.iter().any(|(_, n)| n.terminator.kind == TerminatorKind::Exit) {
            self.exits.insert(id);
        }
        let procedure = &mut self.out.procedures[id];
        procedure.params = params;
        procedure.graph = graph;
        id
    }

    /// The procedure of an action that a table lists, as seen in the scope of `names`. Its parameters for the IR are the
    /// action data, with those of the table's registers; `self.params` has all that are declared.
    pub fn listed_action_procedure(&mut self, action: ActionId, names: &Names) -> ProcedureId {
        self.action_procedure(action, names, Values::new(), ActionUse::Listed)
    }

    /// The procedure of an action for a call with compile-time arguments: they stand for parameters without variables.
    pub fn called_action_procedure(
        &mut self,
        action: ActionId,
        names: &Names,
        values: Values,
    ) -> ProcedureId {
        self.action_procedure(action, names, values, ActionUse::Called)
    }

    fn action_procedure(
        &mut self,
        action: ActionId,
        names: &Names,
        values: Values,
        used: ActionUse,
    ) -> ProcedureId {
        let def = &self.p.actions[action];
        let object = if def.is_global { None } else { names.object };
        let path = object.map_or("", |id| self.p.nodes[id].control_plane_name.as_str());
        let name = check::evaluate::full_name(path, &def.name, &def.annotations).into();
        let outer = object.map_or_else(Rc::default, |id| self.names_of(id));
        let own_table = self.table_in_force.filter(|table| table.has_state).map(|table| {
            let is_element = used == ActionUse::Listed && self.table_registers.contains_key(&table.id);
            (table.id, is_element.then_some(table.element))
        });
        let key = ProcedureKey::Action(self.block, object, action, values.clone(), own_table);
        let is_new = !self.procedures.contains_key(&key);
        let id =
            self.procedure(key, Head { name, kind: ProcedureKind::Action, span: def.span }, |body, id| {
                body.names = outer.inside();
                let params = body.bind_params(&def.params, &values);
                let mut data: Vec<VarId> = (def.params.iter().zip(&params))
                    .filter(|(p, _)| body.e.p.direction(**p) == Direction::None)
                    .filter_map(|(_, var)| *var)
                    .collect();
                body.e.params.insert(id, params.into());
                if used == ActionUse::Listed {
                    data.extend(body.register_data());
                }
                body.statements(&def.body.stmts);
                data
            });
        if is_new {
            if used == ActionUse::Called {
                self.declare_used_registers(id);
            }
            self.store_data(action, id, used);
        }
        id
    }

    /// The procedure of a function with these type arguments and compile-time arguments.
    pub fn function_procedure(
        &mut self,
        function: FunctionId,
        type_args: Vec<Ty>,
        values: Values,
    ) -> ProcedureId {
        let def = &self.p.functions[function];
        let key = ProcedureKey::Function(self.block, function, type_args.clone(), values.clone());
        let types = def.signature.type_params.iter().copied().zip(type_args).collect();
        let names = Names { types: Rc::new(types), ..Names::default() };
        self.function_body(key, function, def.name.clone(), names, &values)
    }

    /// The procedure of the implementation of an abstract method.
    pub fn method_procedure(
        &mut self,
        object: checked::NodeId,
        function: FunctionId,
        values: Values,
    ) -> ProcedureId {
        let def = &self.p.functions[function];
        let name = format!("{}.{}", self.p.nodes[object].control_plane_name, def.name).into();
        let key = ProcedureKey::Method(self.block, object, function, values.clone());
        let types = self.type_arguments(object);
        let outer = self.p.nodes[object].parent.map(|parent| self.names_of(parent));
        let names = Names { object: Some(object), types, outer, ..Names::default() };
        self.function_body(key, function, name, names, &values)
    }

    fn function_body(
        &mut self,
        key: ProcedureKey,
        function: FunctionId,
        name: SmolStr,
        names: Names,
        values: &[Option<Value>],
    ) -> ProcedureId {
        let def = &self.p.functions[function];
        // Functions belong to no table: all that call them share one.
        let outer = self.table_in_force.take();
        let id =
            self.procedure(key, Head { name, kind: ProcedureKind::Function, span: def.span }, |body, id| {
                body.names = names;
                let params = body.bind_params(&def.signature.params, values);
                let given = (def.signature.params.iter().zip(&params))
                    .filter(|(p, _)| body.e.p.direction(**p) != Direction::Out)
                    .filter_map(|(_, var)| *var)
                    .collect();
                body.e.params.insert(id, params.into());
                if def.signature.return_type != check::types::Types::VOID {
                    let ty = body.ty(def.signature.return_type);
                    let result = body.variable("$result", ty, def.span);
                    body.e.results.insert(id, result);
                    body.result = Some(Place::var(result));
                }
                if let Some(block) = &def.body {
                    body.statements(&block.stmts);
                }
                given
            });
        self.table_in_force = outer;
        id
    }

    /// The procedure of a control or parser object.
    pub fn object_procedure(&mut self, object: checked::NodeId, values: Values) -> Option<ProcedureId> {
        let node = &self.p.nodes[object];
        let (kind, params) = match node.kind {
            NodeKind::Control(id) => (ProcedureKind::Control, &self.p.controls[id].params),
            NodeKind::Parser(id) => (ProcedureKind::Parser, &self.p.parsers[id].params),
            NodeKind::Package(_) | NodeKind::Extern(_) => return None,
        };
        let name = node.control_plane_name.as_str().into();
        let key = ProcedureKey::Object(self.block, object, values.clone());
        let types = self.type_arguments(object);
        Some(self.procedure(key, Head { name, kind, span: node.span }, |body, id| {
            body.names = Names { object: Some(object), types, ..Names::default() };
            let vars = body.bind_params(params, &values);
            let given = (params.iter().zip(&vars))
                .filter(|(p, _)| body.e.p.direction(**p) != Direction::Out)
                .filter_map(|(_, var)| *var)
                .collect();
            body.e.params.insert(id, vars.into());
            body.object(object);
            given
        }))
    }

    /// The type arguments of an object, by the type parameters of its declaration.
    pub fn type_arguments(&self, object: checked::NodeId) -> Rc<FxHashMap<checked::TypeVarId, Ty>> {
        let node = &self.p.nodes[object];
        let (params, args) = match (node.kind, self.p.types.kind(node.ty)) {
            (NodeKind::Parser(p), TyKind::Parser(_, args)) => (&self.p.parsers[p].type_params, args),
            (NodeKind::Control(c), TyKind::Control(_, args)) => (&self.p.controls[c].type_params, args),
            (NodeKind::Extern(e), TyKind::Extern(_, args)) => (&self.p.externs[e].type_params, args),
            (NodeKind::Package(b), TyKind::Block(_, args)) => (&self.p.block_types[b].type_params, args),
            _ => return Rc::default(),
        };
        Rc::new(params.iter().copied().zip(args.iter().copied()).collect())
    }

    /// True for `packet_in` and `packet_out`.
    pub fn is_packet(&self, ty: Ty) -> bool {
        matches!(self.types.kind(ty), TyKind::Extern(id, _)
            if matches!(self.p.externs[*id].name.as_str(), "packet_in" | "packet_out"))
    }

    /// Parameters of these types hold nothing that changes at run time.
    fn has_no_variable(&self, ty: Ty) -> bool {
        matches!(
            self.types.kind(ty),
            TyKind::Extern(..)
                | TyKind::Block(..)
                | TyKind::Parser(..)
                | TyKind::Control(..)
                | TyKind::Str
                | TyKind::Int
                | TyKind::List(_)
                | TyKind::MatchKind
        )
    }
}

impl<'p> Body<'_, 'p> {
    /// Makes variables for parameters and binds their names; `values` are those known while compiling. `out`
    /// parameters begin without valid headers.
    pub fn bind_params(&mut self, params: &[CheckedVar], values: &[Option<Value>]) -> Vec<Option<VarId>> {
        let mut vars = Vec::with_capacity(params.len());
        for (i, param) in params.iter().enumerate() {
            let def = &self.e.p.vars[*param];
            let ty = self.e.instantiate(def.ty, &self.names);
            if self.e.is_packet(ty) {
                self.names.bind(*param, Binding::Packet);
                vars.push(None);
                continue;
            }
            if let Some(Some(value)) = values.get(i) {
                self.names.bind(*param, Binding::Value(value.clone()));
                vars.push(None);
                continue;
            }
            if self.e.has_no_variable(ty) {
                vars.push(None);
                continue;
            }
            let ty = self.e.ty(ty);
            let var = self.variable(&def.name, ty.clone(), def.span);
            self.names.bind(*param, Binding::Place(Place::var(var)));
            if self.e.p.direction(*param) == Direction::Out {
                self.invalidate(&Place::var(var), &ty, def.span);
            }
            vars.push(Some(var));
        }
        vars
    }

    /// The inside of a control or parser; its parameters are bound.
    pub fn object(&mut self, object: checked::NodeId) {
        match self.e.p.nodes[object].kind {
            NodeKind::Control(id) => self.control(object, id),
            NodeKind::Parser(id) => self.parser(object, id),
            NodeKind::Package(_) | NodeKind::Extern(_) => {}
        }
    }

    fn control(&mut self, object: checked::NodeId, id: ControlId) {
        let def = &self.e.p.controls[id];
        self.declare_locals(object, &def.locals);
        self.initialize_locals(&def.locals);
        self.reset_checksums(object);
        self.atomic(&def.annotations, |body| {
            body.atomic(&def.apply.annotations, |body| body.statements(&def.apply.stmts));
        });
    }

    fn parser(&mut self, object: checked::NodeId, id: ParserId) {
        let def = &self.e.p.parsers[id];
        self.declare_locals(object, &def.locals);
        self.initialize_locals(&def.locals);
        self.reset_checksums(object);
        self.parser_states(def);
    }

    /// Binds the variables that an object declares, and publishes its names: actions and tables see them.
    fn declare_locals(&mut self, object: checked::NodeId, locals: &[Local]) {
        for local in locals {
            if let Local::Var { var, .. } = local {
                self.declare(*var);
            }
        }
        let names = Rc::new(std::mem::take(&mut self.names));
        self.names = names.inside();
        self.e.objects.insert(object, names);
    }

    /// Every run of an object begins with fresh variables.
    fn initialize_locals(&mut self, locals: &'p [Local]) {
        for local in locals {
            if let Local::Var { var, init } = local {
                self.initialize(*var, init.as_ref());
            }
        }
    }

    /// A variable of the IR for a declared one.
    pub fn declare(&mut self, var: CheckedVar) -> Place {
        let def = &self.e.p.vars[var];
        let ty = self.ty(def.ty);
        let id = self.e.out.variables.alloc(Variable {
            name: def.name.clone(),
            ty,
            scope: self.scope,
            span: def.span,
        });
        self.names.bind(var, Binding::Place(Place::var(id)));
        Place::var(id)
    }

    /// Gives a declared variable its first value, or makes its headers invalid.
    pub fn initialize(&mut self, var: CheckedVar, init: Option<&'p checked::Expr>) {
        let def = &self.e.p.vars[var];
        let Some(Binding::Place(place)) = self.names.lookup(var).cloned() else { return };
        let ty = self.ty(def.ty);
        match init {
            Some(init) => self.assign_expr(&place, &ty, init),
            None => self.invalidate(&place, &ty, def.span),
        }
    }
}
