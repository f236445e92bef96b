//! Calls: copy-in, call, copy-out; externs; what core.p4 declares.

use crate::body::Body;
use crate::elaborator::{Purpose, Values};
use crate::names::Binding;
use crate::place::{Indices, LValue};
use arch::ExternOp;
use check::program::{
    self as checked, Builtin, Call, Callee, Direction, Expr as Checked, ExprKind, ExternId, FunctionId,
    NodeKind, Origin, StackMember, VarId as CheckedVar,
};
use check::types::{Ty, TyKind, Types};
use check::value::Value;
use diagnostics::Span;
use ir::types::INDEX_BITS;
use ir::{Arg, BinaryOp, Expr, Place, ProcedureId, Step, StmtKind, StructKind, TerminatorKind, Type};
use num_bigint::BigInt;
use smol_str::{SmolStr, format_smolstr};

/// Most leaves that an argument of an extern may have.
pub const ARGUMENT_LEAVES_MAX: u64 = 1 << 12;

struct CalledExtern {
    op: ExternOp,
    name: SmolStr,
    object: Option<ir::ObjectId>,
    /// Arguments behind those of the call.
    captures: Vec<Arg>,
}

/// An argument that has been evaluated.
pub enum Passed {
    /// For a parameter that is no variable.
    Nothing,
    In(Expr),
    Out(LValue),
    InOut(LValue, Expr),
}

impl<'p> Body<'_, 'p> {
    /// A call, with its result if it has one.
    pub fn call(&mut self, e: &Checked, call: &Call) -> Option<Expr> {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.call_inner(e, call))
    }

    fn call_inner(&mut self, e: &Checked, call: &Call) -> Option<Expr> {
        match &call.callee {
            Callee::Function(id) if self.e.p.functions[*id].body.is_some() => {
                self.call_function(*id, call, e.span)
            }
            Callee::Function(id) => self.call_extern_function(*id, e, call),
            Callee::Action(id) => {
                self.e.check_direct_call(*id, e.span);
                let params = &self.e.p.actions[*id].params;
                let values = self.values(params, call, false);
                let procedure = self.e.called_action_procedure(*id, &self.names, values);
                let mut passed = self.pass(params, call);
                passed.extend(self.pass_registers(procedure));
                self.invoke(procedure, passed, e.span);
                None
            }
            Callee::Method { object, extern_, method } => {
                self.call_method(object, *extern_, *method, e, call)
            }
            Callee::TableApply(table) => {
                self.apply_table(*table, None, None, e.span);
                None
            }
            Callee::BlockApply { object } => {
                self.apply_block(object, call, e.span);
                None
            }
            Callee::Builtin { object, method } => self.call_builtin(object, *method, call, e.span),
            Callee::Constructor { .. } => None,
        }
    }

    /// One argument, for a parameter of this direction; `changes_later` when what is evaluated before the call
    /// may change it.
    pub fn pass_one(&mut self, direction: Direction, arg: &Checked, ty: Ty, changes_later: bool) -> Passed {
        match direction {
            Direction::Out | Direction::InOut => {
                if matches!(arg.kind, ExprKind::DontCare) {
                    let ty = self.ty(ty);
                    let dropped = self.temporary(ty.clone(), arg.span);
                    return Passed::Out(LValue::whole(dropped, ty));
                }
                let target = self.lvalue(arg, Indices::Fixed);
                if direction == Direction::Out {
                    return Passed::Out(target);
                }
                let mut value = self.read(&target);
                if changes_later {
                    value = self.save(value, arg.span);
                }
                Passed::InOut(target, value)
            }
            Direction::In | Direction::None => {
                let mut value = self.expr(arg);
                if changes_later && value.as_const().is_none() {
                    value = self.save(value, arg.span);
                }
                Passed::In(value)
            }
        }
    }

    /// Evaluates arguments in the order in which they were written; default values of parameters come last.
    fn pass(&mut self, params: &[CheckedVar], call: &Call) -> Vec<Passed> {
        let mut passed: Vec<Passed> = params.iter().map(|_| Passed::Nothing).collect();
        let order = evaluation_order(call);
        for (n, &slot) in order.iter().enumerate() {
            let (Some(Some(arg)), Some(param)) = (call.args.get(slot), params.get(slot)) else { continue };
            if self.is_compile_time_only(arg) {
                continue;
            }
            let changes_later = self.any_changes(call, &order[n + 1..]);
            let direction = self.e.p.direction(*param);
            passed[slot] = self.pass_one(direction, arg, arg.ty, changes_later);
        }
        passed
    }

    fn any_changes(&self, call: &Call, slots: &[usize]) -> bool {
        slots.iter().any(|i| matches!(call.args.get(*i), Some(Some(arg)) if self.changes(arg)))
    }

    /// Objects, strings, numbers without width: nothing that a variable could hold.
    fn is_compile_time_only(&mut self, arg: &Checked) -> bool {
        let ty = self.e.instantiate(arg.ty, &self.names);
        matches!(
            self.e.types.kind(ty),
            TyKind::Extern(..)
                | TyKind::Block(..)
                | TyKind::Parser(..)
                | TyKind::Control(..)
                | TyKind::Str
                | TyKind::Int
                | TyKind::List(_)
        )
    }

    /// Copy-in, call, copy-out from left to right, also on the way of an exit (P4-16, "Calling convention").
    fn invoke(&mut self, procedure: ProcedureId, passed: Vec<Passed>, span: Span) {
        let vars = self.e.params.get(&procedure).cloned().unwrap_or_default();
        let mut copy_out: Vec<(LValue, Place)> = Vec::new();
        for (passed, var) in passed.into_iter().zip(vars.iter()) {
            let Some(var) = *var else { continue };
            let (place, ty) = (Place::var(var), self.e.out.variables[var].ty.clone());
            let (target, value) = match passed {
                Passed::Nothing => (None, None),
                Passed::In(value) => (None, Some(value)),
                Passed::Out(target) => (Some(target), None),
                Passed::InOut(target, value) => (Some(target), Some(value)),
            };
            if let Some(value) = value {
                let value = self.fit(value, &ty, span);
                self.assign(place.clone(), value, span);
            }
            copy_out.extend(target.map(|t| (t, place)));
        }
        let then = self.new_node();
        if self.e.exits.contains(&procedure) {
            let name = self.e.out.procedures[procedure].name.clone();
            self.refuse_to_leave(&name, span);
        }
        let exit = if !self.e.exits.contains(&procedure) {
            // Never taken.
            then
        } else if copy_out.is_empty() {
            self.exit_node(span)
        } else {
            let node = self.new_node();
            let at = self.at;
            self.continue_at(node);
            self.copy_out(&copy_out, span);
            self.exit(span);
            self.continue_at(at);
            node
        };
        self.terminate(TerminatorKind::Call { procedure, then, exit }, span);
        self.continue_at(then);
        self.copy_out(&copy_out, span);
    }

    fn copy_out(&mut self, copies: &[(LValue, Place)], span: Span) {
        for (target, from) in copies {
            let ty = self.e.out.place_type(from).unwrap_or(Type::Bool);
            self.store(target, Expr::read(from.clone(), ty), span);
        }
    }

    fn call_function(&mut self, id: FunctionId, call: &Call, span: Span) -> Option<Expr> {
        let p = self.e.p;
        let params = &p.functions[id].signature.params;
        let type_args = call.type_args.iter().map(|t| self.e.instantiate(*t, &self.names)).collect();
        let values = self.values(params, call, true);
        let procedure = self.e.function_procedure(id, type_args, values);
        let passed = self.pass(params, call);
        self.invoke(procedure, passed, span);
        self.result_of(procedure)
    }

    /// Arguments for which a procedure of its own is made: those that no variable can hold, and with `all` every
    /// one without direction, as the body may use it where a constant is wanted. Empty when there are none.
    fn values(&mut self, params: &[CheckedVar], call: &Call, all: bool) -> Values {
        let mut values = Values::new();
        for (i, (param, arg)) in params.iter().zip(&call.args).enumerate() {
            let Some(arg) = arg else { continue };
            let is_fixed =
                self.is_compile_time_only(arg) || (all && self.e.p.direction(*param) == Direction::None);
            if is_fixed && let Some(value) = self.argument_value(arg) {
                values.resize(i, None);
                values.push(Some(value));
            }
        }
        values
    }

    fn argument_value(&self, arg: &Checked) -> Option<Value> {
        self.constant(arg).or_else(|| self.object_of(arg).map(Value::Object))
    }

    fn result_of(&self, procedure: ProcedureId) -> Option<Expr> {
        let var = *self.e.results.get(&procedure)?;
        Some(Expr::read(Place::var(var), self.e.out.variables[var].ty.clone()))
    }

    /// The object that an expression names.
    pub fn object_of(&self, e: &Checked) -> Option<checked::NodeId> {
        if let ExprKind::Var(var) = &e.kind
            && let Some(Binding::Value(Value::Object(node))) = self.names.lookup(*var)
        {
            return Some(*node);
        }
        self.e.p.object(e, self.names.object)
    }

    fn apply_block(&mut self, object: &Checked, call: &Call, span: Span) {
        let p = self.e.p;
        let Some(node) = self.object_of(object) else { return };
        let params = match p.nodes[node].kind {
            NodeKind::Control(id) => &p.controls[id].params,
            NodeKind::Parser(id) => &p.parsers[id].params,
            NodeKind::Package(_) | NodeKind::Extern(_) => return,
        };
        let values = self.values(params, call, false);
        let Some(procedure) = self.e.object_procedure(node, values) else { return };
        let passed = self.pass(params, call);
        self.invoke(procedure, passed, span);
    }

    // -- built-in methods -----------------------------------------------------------------------

    fn call_builtin(&mut self, object: &Checked, method: Builtin, call: &Call, span: Span) -> Option<Expr> {
        match method {
            Builtin::IsValid => {
                let place = self.place(object, Indices::AsTheyAre);
                Some(self.is_valid(&place))
            }
            Builtin::SetValid | Builtin::SetInvalid => {
                let place = self.place(object, Indices::AsTheyAre);
                if method == Builtin::SetValid {
                    self.stmt(StmtKind::ZeroIfInvalid(place.clone()), span);
                }
                self.set_validity(&place, method == Builtin::SetValid, span);
                self.clear_siblings(&place, span);
                None
            }
            Builtin::PushFront | Builtin::PopFront => {
                let place = self.place(object, Indices::Fixed);
                let count = call.args.first().and_then(|a| a.as_ref()).map_or(0, |a| self.known_count(a));
                if let Some(Type::Stack { element, size }) = self.e.out.place_type(&place) {
                    let element = Type::Struct(element);
                    self.shift_stack(&place, &element, size, count.min(size), method, span);
                }
                None
            }
            Builtin::MinSizeInBits
            | Builtin::MinSizeInBytes
            | Builtin::MaxSizeInBits
            | Builtin::MaxSizeInBytes => {
                let ty = match self.e.types.kind(object.ty) {
                    TyKind::TypeName(inner) => *inner,
                    _ => object.ty,
                };
                let ty = self.ty(ty);
                let bits =
                    self.e.size_bits(&ty, matches!(method, Builtin::MaxSizeInBits | Builtin::MaxSizeInBytes));
                let size = match method {
                    Builtin::MinSizeInBytes | Builtin::MaxSizeInBytes => bits.div_ceil(8),
                    _ => bits,
                };
                Some(crate::values::int_const(&BigInt::from(size)))
            }
        }
    }

    /// The validity of a header or union. A union is valid when one of its members is.
    fn is_valid(&self, place: &Place) -> Expr {
        match self.e.out.place_type(place) {
            Some(Type::Struct(id)) if self.e.out.structs[id].kind == StructKind::Union => {
                let n = self.e.out.structs[id].fields.len() as u32;
                let valid = (0..n).map(|i| Expr::read(place.field(i).valid(), Type::Bool));
                valid.reduce(Expr::or).unwrap_or_else(|| Expr::bool(false))
            }
            _ => Expr::read(place.valid(), Type::Bool),
        }
    }

    /// `push_front` and `pop_front` (P4-16, "Operations on header stacks").
    fn shift_stack(
        &mut self,
        stack: &Place,
        element: &Type,
        size: u32,
        count: u32,
        method: Builtin,
        span: Span,
    ) {
        let bits = |v: u32| Expr::bit(INDEX_BITS, u128::from(v));
        let up = method == Builtin::PushFront;
        // The order is such that every element is read before it is overwritten.
        let n_moved = size - count;
        let moved = |step: &Step, offset: u32| match step {
            Step::Element(i) if up => Step::Element(size - 1 - i - offset),
            Step::Element(i) => Step::Element(i + offset),
            Step::Index(i) if up => {
                let last = bits(size - 1 - offset);
                Step::Index(Box::new(Expr::binary(BinaryOp::Sub, last, (**i).clone(), Type::Bit(INDEX_BITS))))
            }
            Step::Index(i) => {
                let sum = Expr::binary(BinaryOp::Add, (**i).clone(), bits(offset), Type::Bit(INDEX_BITS));
                Step::Index(Box::new(sum))
            }
            other => other.clone(),
        };
        self.for_each_element(n_moved, span, &mut |body, step| {
            let (to, from) =
                if up { (moved(&step, 0), moved(&step, count)) } else { (step.clone(), moved(&step, count)) };
            let value = Expr::read(stack.then(from), element.clone());
            body.assign(stack.then(to), value, span);
        });
        let first_emptied = if up { 0 } else { n_moved };
        self.for_each_element(count, span, &mut |body, step| {
            let step = match step {
                Step::Element(i) => Step::Element(i + first_emptied),
                Step::Index(i) => Step::Index(Box::new(Expr::binary(
                    BinaryOp::Add,
                    *i,
                    bits(first_emptied),
                    Type::Bit(INDEX_BITS),
                ))),
                other => other,
            };
            body.invalidate(&stack.then(step), element, span);
        });
        let next = Expr::read(stack.next_index(), Type::Bit(INDEX_BITS));
        // Sizes are below 2^24: neither sum nor difference leaves 32 bits.
        let (inside, shifted, edge) = if up {
            let inside = Expr::binary(BinaryOp::Le, next.clone(), bits(size - count), Type::Bool);
            (inside, Expr::binary(BinaryOp::Add, next, bits(count), Type::Bit(INDEX_BITS)), size)
        } else {
            let inside = Expr::binary(BinaryOp::Ge, next.clone(), bits(count), Type::Bool);
            (inside, Expr::binary(BinaryOp::Sub, next, bits(count), Type::Bit(INDEX_BITS)), 0)
        };
        let clamped = ir::ExprKind::Mux(Box::new(inside), Box::new(shifted), Box::new(bits(edge)));
        self.assign(stack.next_index(), Expr::new(clamped, Type::Bit(INDEX_BITS)), span);
    }

    // -- methods --------------------------------------------------------------------------------

    fn call_method(
        &mut self,
        object: &Checked,
        extern_: ExternId,
        method: u32,
        e: &Checked,
        call: &Call,
    ) -> Option<Expr> {
        let p = self.e.p;
        let def = &p.externs[extern_];
        let declared = &def.methods[method as usize];
        match def.name.as_str() {
            "packet_in" => return self.packet_in(&declared.name, e, call),
            "packet_out" => {
                if let Some(Some(arg)) = call.args.first() {
                    let place = self.place(arg, Indices::AsTheyAre);
                    if let Some(ty) = self.e.out.place_type(&place) {
                        self.emit(&place, &ty, e.span);
                    }
                }
                return None;
            }
            _ => {}
        }
        let node = self.object_of(object);
        if let Some(node) = node
            && declared.is_abstract
            && let Some(function) = self.implementation(node, &declared.name, call.args.len())
        {
            let params = &p.functions[function].signature.params;
            let values = self.values(params, call, false);
            let procedure = self.e.method_procedure(node, function, values);
            let passed = self.pass(params, call);
            self.invoke(procedure, passed, e.span);
            return self.result_of(procedure);
        }
        let op = self.e.out.architecture.method(&def.name, &declared.name);
        if let Some(result) = self.register_call(op, node, e, call) {
            return result;
        }
        if let Some(node) = node
            && let Some(result) = self.object_call(op, node, e, call)
        {
            return result;
        }
        let name = format_smolstr!("{}.{}", def.name, declared.name);
        if let Some(result) = self.described_method(&name, call, e.span) {
            return result;
        }
        let id = node.map(|node| self.e.extern_object(node));
        // The implementations of an unknown object run during the call.
        let captures = match (node, op, self.e.purpose) {
            (Some(node), ExternOp::User, Purpose::Analysis) => self.captures(node),
            _ => Vec::new(),
        };
        let called = CalledExtern { op, name, object: id, captures };
        self.call_extern(called, &declared.signature.params, e, call)
    }

    /// The function that implements an abstract method of an object.
    fn implementation(&self, object: checked::NodeId, name: &str, n_params: usize) -> Option<FunctionId> {
        let p = self.e.p;
        let Origin::Declared(instance) = p.nodes[object].origin else { return None };
        let functions = &p.instances[instance].initializer.as_ref()?.functions;
        functions.iter().copied().find(|f| {
            let def = &p.functions[*f];
            def.name == name && def.signature.params.len() == n_params
        })
    }

    fn packet_in(&mut self, method: &str, e: &Checked, call: &Call) -> Option<Expr> {
        let span = e.span;
        match method {
            "extract" => {
                self.extract(call, span);
                None
            }
            "lookahead" => {
                let ty = self.ty(e.ty);
                let place = self.temporary(ty.clone(), span);
                let (then, fail) = (self.new_node(), self.exit_node(span));
                self.terminate(TerminatorKind::Lookahead { place: place.clone(), then, fail }, span);
                self.continue_at(then);
                Some(Expr::read(place, ty))
            }
            "advance" => {
                let bits = match call.args.first() {
                    Some(Some(bits)) => self.expr(bits),
                    _ => return None,
                };
                let bits = self.fit(bits, &Type::Bit(INDEX_BITS), span);
                self.advance(bits, span);
                None
            }
            "length" => Some(Expr::new(ir::ExprKind::PacketLength, Type::Bit(INDEX_BITS))),
            _ => None,
        }
    }

    fn advance(&mut self, bits: Expr, span: Span) {
        let (then, fail) = (self.new_node(), self.exit_node(span));
        self.terminate(TerminatorKind::Advance { bits, then, fail }, span);
        self.continue_at(then);
    }

    fn extract(&mut self, call: &Call, span: Span) {
        let Some(Some(arg)) = call.args.first() else { return };
        let size = call.args.get(1).and_then(|a| a.as_ref());
        if matches!(arg.kind, ExprKind::DontCare) {
            let ty = self.ty(arg.ty);
            let fixed = u128::from(self.e.size_bits(&ty, false));
            let fixed = Expr::bit(INDEX_BITS, fixed);
            let bits = match size {
                None => fixed,
                Some(size) => {
                    let size = self.expr(size);
                    let size = self.fit(size, &Type::Bit(INDEX_BITS), span);
                    Expr::binary(BinaryOp::Add, fixed, size, Type::Bit(INDEX_BITS))
                }
            };
            return self.advance(bits, span);
        }
        let indices = match size {
            Some(size) if self.changes(size) => Indices::Fixed,
            _ => Indices::AsTheyAre,
        };
        // `extract(stack.next)` leaves the bounds to the extraction: the packet may be too short first.
        let (place, to_next) = match &arg.kind {
            ExprKind::Stack { base, member: StackMember::Next } => (self.place(base, indices), true),
            _ => (self.place(arg, indices), false),
        };
        let size_bits = size.map(|size| {
            let size = self.expr(size);
            self.fit(size, &Type::Bit(INDEX_BITS), span)
        });
        let (then, fail) = (self.new_node(), self.exit_node(span));
        self.terminate(
            TerminatorKind::Extract { place: place.clone(), to_next, size_bits, then, fail },
            span,
        );
        self.continue_at(then);
        if !to_next {
            self.clear_siblings(&place, span);
        }
        // A member of the next union of a stack was extracted: that union is taken.
        if let ExprKind::Field { base, .. } = &arg.kind
            && let ExprKind::Stack { base: stack, member: StackMember::Next } = &base.kind
        {
            let next = self.place(stack, Indices::AsTheyAre).next_index();
            let read = Expr::read(next.clone(), Type::Bit(INDEX_BITS));
            let one = Expr::bit(INDEX_BITS, 1);
            self.assign(next, Expr::binary(BinaryOp::Add, read, one, Type::Bit(INDEX_BITS)), span);
        }
    }

    // -- externs --------------------------------------------------------------------------------

    fn call_extern_function(&mut self, id: FunctionId, e: &Checked, call: &Call) -> Option<Expr> {
        let p = self.e.p;
        let def = &p.functions[id];
        match def.name.as_str() {
            "verify" if self.error_place().is_some() => {
                self.verify(call, e.span);
                None
            }
            "static_assert" => Some(Expr::bool(true)),
            name => {
                if let Some(result) = self.described_call(name, call, e.span) {
                    return result;
                }
                let op = self.e.out.architecture.function(name);
                if op == ExternOp::SelectByDirection
                    && let Some(result) = self.select_by_direction(call, e.span)
                {
                    return Some(result);
                }
                if let Some(result) = self.table_state_call(op, e, call) {
                    return result;
                }
                let called = CalledExtern { op, name: def.name.clone(), object: None, captures: Vec::new() };
                self.call_extern(called, &def.signature.params, e, call)
            }
        }
    }

    /// `verify(condition, error)`: rejects with the error unless the condition holds.
    fn verify(&mut self, call: &Call, span: Span) {
        let mut values: [Option<Expr>; 2] = [None, None];
        let order = evaluation_order(call);
        for (n, &slot) in order.iter().enumerate() {
            if let (Some(Some(arg)), Some(value)) = (call.args.get(slot), values.get_mut(slot)) {
                *value = Some(self.expr(arg));
                if self.any_changes(call, &order[n + 1..]) {
                    *value = value.take().map(|v| self.save(v, span));
                }
            }
        }
        let [Some(condition), Some(error)] = values else { return };
        let (holds, fails) = self.branch(condition, span);
        self.continue_at(fails);
        self.fail(error, span);
        self.continue_at(holds);
    }

    fn call_extern(
        &mut self,
        called: CalledExtern,
        params: &[CheckedVar],
        e: &Checked,
        call: &Call,
    ) -> Option<Expr> {
        let CalledExtern { op, name, object, captures } = called;
        let span = e.span;
        let mut args: Vec<Arg> = params.iter().map(|_| Arg::Absent).collect();
        let (mut copy_out, mut loaded) = (Vec::new(), Vec::new());
        let order = evaluation_order(call);
        for (n, &slot) in order.iter().enumerate() {
            let (Some(Some(arg)), Some(param)) = (call.args.get(slot), params.get(slot)) else { continue };
            let changes_later = self.any_changes(call, &order[n + 1..]);
            let direction = self.e.p.direction(*param);
            if let Some(cell) = self.cell_of(op, arg) {
                args[slot] = match direction {
                    Direction::In | Direction::None => self.stored_cell(arg, cell),
                    Direction::Out | Direction::InOut => match self.pass_one(direction, arg, arg.ty, false) {
                        Passed::Out(target) | Passed::InOut(target, _) => {
                            self.loaded_cell(target, cell, &mut copy_out, &mut loaded, arg.span)
                        }
                        Passed::Nothing | Passed::In(_) => Arg::Absent,
                    },
                };
                continue;
            }
            args[slot] = match direction {
                Direction::In | Direction::None => self.extern_value(arg, changes_later),
                Direction::Out => self.extern_reference(Direction::Out, arg, &mut copy_out),
                Direction::InOut => self.extern_reference(Direction::InOut, arg, &mut copy_out),
            };
        }
        args.extend(captures);
        if self.asynchronous.is_some() {
            self.refuse_aliases(&name, &args, &copy_out, span);
        }
        let result = match e.ty {
            Types::VOID => None,
            ty => {
                let ty = self.ty(ty);
                Some((self.temporary(ty.clone(), span), ty))
            }
        };
        let place = result.as_ref().map(|(place, _)| place.clone());
        let name = if op == ExternOp::Digest { self.digest_name(call).unwrap_or(name) } else { name };
        self.stmt(StmtKind::Extern { op, name, object, args, result: place }, span);
        self.load_cells(&loaded, span);
        self.copy_out(&copy_out, span);
        result.map(|(place, ty)| Expr::read(place, ty))
    }

    /// Digests go by the type of what they send, in P4Info too.
    fn digest_name(&mut self, call: &Call) -> Option<SmolStr> {
        let data = call.args.last()?.as_ref()?;
        match self.ty(data.ty) {
            Type::Struct(id) => Some(self.e.out.structs[id].name.clone()),
            _ => None,
        }
    }

    /// A place for an extern to write to. Where more than an assignment is needed it gets a temporary.
    fn extern_reference(
        &mut self,
        direction: Direction,
        arg: &Checked,
        copy_out: &mut Vec<(LValue, Place)>,
    ) -> Arg {
        let (target, value) = match self.pass_one(direction, arg, arg.ty, false) {
            Passed::Out(target) => (target, None),
            Passed::InOut(target, value) => (target, Some(value)),
            Passed::Nothing | Passed::In(_) => return Arg::Absent,
        };
        if target.within.is_none() && self.siblings(&target.place).is_empty() {
            return Arg::Ref(target.place);
        }
        let place = self.temporary(target.ty.clone(), arg.span);
        match value {
            Some(value) => self.assign(place.clone(), value, arg.span),
            None => self.invalidate(&place, &target.ty, arg.span),
        }
        copy_out.push((target, place.clone()));
        Arg::Ref(place)
    }

    pub fn extern_value(&mut self, arg: &Checked, changes_later: bool) -> Arg {
        if matches!(arg.kind, ExprKind::DontCare) {
            return Arg::Absent;
        }
        let ty = self.e.instantiate(arg.ty, &self.names);
        if ty == Types::STR {
            return match self.constant(arg) {
                Some(Value::Str(text)) => Arg::Str(text),
                _ => Arg::Absent,
            };
        }
        // Externs that take objects are the user's own; objects are known by name alone.
        if let Some(node) = self.object_of(arg) {
            return Arg::Str(self.e.p.nodes[node].control_plane_name.as_str().into());
        }
        let ty = self.e.ty(ty);
        let is_single = ty.width_bits().is_some() || matches!(ty, Type::Varbit(_));
        if is_single {
            let mut value = self.expr(arg);
            if changes_later && value.as_const().is_none() {
                value = self.save(value, arg.span);
            }
            return Arg::In(value);
        }
        if !self.fits_argument(&ty, arg.span) {
            return Arg::Absent;
        }
        let mut leaves = Vec::new();
        self.push_leaves(arg, changes_later, &mut leaves);
        self.e.is_full(leaves.len() as u64, arg.span);
        Arg::Fields(leaves)
    }

    /// Refuses a value with more fields than an extern can take.
    pub fn fits_argument(&mut self, ty: &Type, span: Span) -> bool {
        if self.e.size(ty).n_leaves <= ARGUMENT_LEAVES_MAX {
            return true;
        }
        self.e.faults.push(
            diagnostics::Diagnostic::new(
                &crate::codes::VALUE_TOO_LARGE,
                span,
                "this argument has more fields than an extern can take",
            )
            .label("of an extern")
            .note(format!("at most {ARGUMENT_LEAVES_MAX} fields can be handed to an extern at once")),
        );
        false
    }

    /// The leaves of a literal, or of a value, in order.
    fn push_leaves(&mut self, e: &Checked, changes_later: bool, leaves: &mut Vec<Expr>) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.push_leaves_inner(e, changes_later, leaves));
    }

    fn push_leaves_inner(&mut self, e: &Checked, changes_later: bool, leaves: &mut Vec<Expr>) {
        let items: Vec<&Checked> = match &e.kind {
            ExprKind::List(items) | ExprKind::Struct(items) => items.iter().collect(),
            ExprKind::StructLiteral { fields, .. } => fields.iter().map(|(_, e)| e).collect(),
            _ => {
                let mut value = self.expr(e);
                if changes_later && value.as_const().is_none() {
                    value = self.save(value, e.span);
                }
                self.expand(value, leaves);
                return;
            }
        };
        let mut changes = vec![false; items.len()];
        for i in (1..items.len()).rev() {
            changes[i - 1] = changes[i] || self.changes(items[i]);
        }
        for (i, item) in items.iter().enumerate() {
            let later = changes_later || changes[i];
            self.push_leaves(item, later, leaves);
        }
    }

    /// The leaves of a value.
    pub fn expand(&self, value: Expr, leaves: &mut Vec<Expr>) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || match (&value.kind, &value.ty) {
            (ir::ExprKind::Read(place), Type::Struct(id)) => {
                for (i, field) in self.e.out.structs[*id].fields.iter().enumerate() {
                    self.expand(Expr::read(place.field(i as u32), field.ty.clone()), leaves);
                }
            }
            (ir::ExprKind::Read(place), Type::Stack { element, size }) => {
                for i in 0..*size {
                    self.expand(Expr::read(place.element(i), Type::Struct(*element)), leaves);
                }
            }
            (ir::ExprKind::Read(place), Type::Array { element, size }) => {
                for i in 0..*size {
                    self.expand(Expr::read(place.element(i), (**element).clone()), leaves);
                }
            }
            _ => leaves.push(value),
        });
    }
}

/// Slots of a call's arguments in the order of their evaluation: as written, then those that have a default value.
fn evaluation_order(call: &Call) -> Vec<usize> {
    let mut order: Vec<usize> = call.order.iter().map(|i| *i as usize).collect();
    let written: rustc_hash::FxHashSet<usize> = order.iter().copied().collect();
    order.extend((0..call.args.len()).filter(|i| call.args[*i].is_some() && !written.contains(i)));
    order
}
