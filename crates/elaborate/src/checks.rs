//! Checks of what a description and a program say together, and of what the constructors of extern objects get.

use crate::body::Body;
use crate::codes;
use crate::elaborator::Elaborator;
use arch::{AssignedValue, ExternOp, ExternRole, PipelineModel};
use check::program::{Call, DeclRef, Node, NodeKind};
use check::value::Value;
use diagnostics::{Diagnostic, Span};
use num_bigint::BigInt;
use num_traits::{ToPrimitive, Zero};

impl Elaborator<'_> {
    /// The constants of the program must have the numbers of the special ports.
    pub(crate) fn check_ports(&mut self, model: &PipelineModel, main: Span) {
        let p = self.p;
        for port in &model.special_ports {
            let Some(name) = &port.constant else { continue };
            let named = |d: &DeclRef| match d {
                DeclRef::Const(id) if p.constants[*id].name == *name => Some(*id),
                _ => None,
            };
            let Some(id) = p.decls.iter().find_map(named) else { continue };
            let value = p.eval(&p.constants[id].init, None);
            if let Some(Value::Int(number)) = value
                && number.to_u32() != Some(port.number)
            {
                let architecture = self.out.architecture.name.as_str();
                let message = format!(
                    "`{name}` is {number}, and the port {} of {architecture} is {}",
                    port.name, port.number
                );
                let fault = Diagnostic::new(&codes::NO_PIPELINE, p.constants[id].span, message)
                    .label("another number than the architecture's")
                    .also(main, "the package that the architecture describes");
                self.faults.push(fault);
            }
        }
    }

    /// The functions that descriptions name must be there, and their arguments.
    pub(crate) fn check_functions(&mut self, model: &PipelineModel, main: Span) {
        self.check_declared(model, main);
        for (name, assignments) in &model.assignments {
            let argument = |value: &AssignedValue| match value {
                AssignedValue::Argument(position) => Some(*position),
                AssignedValue::Number(_) => None,
            };
            let named =
                assignments.iter().flat_map(|a| [argument(&a.value), a.when.map(|(position, _)| position)]);
            let Some(last) = named.flatten().max() else { continue };
            for (_, function) in self.p.functions.iter().filter(|(_, f)| f.name == *name && f.body.is_none())
            {
                let n = function.signature.params.len();
                if last >= n {
                    let architecture = self.out.architecture.name.as_str();
                    let message = format!(
                        "the description of {architecture} names argument {last} of `{name}`, which has {n}"
                    );
                    let fault = Diagnostic::new(&codes::NO_PIPELINE, function.span, message)
                        .label("arguments count from 0")
                        .help("mend `[assignments]` in the description of the architecture");
                    self.faults.push(fault);
                }
            }
        }
    }

    /// The functions and methods that a user's description explains are declared. The built-in descriptions explain those of
    /// several editions of their include files.
    fn check_declared(&mut self, model: &PipelineModel, main: Span) {
        let architecture = self.out.architecture;
        if architecture.added_text().is_none() {
            return;
        }
        for explained in &model.explained {
            let name = explained.name.as_str();
            let (kind, is_declared) = match name.split_once('.') {
                Some((object, method)) => {
                    let of_type = self.p.externs.iter().filter(|(_, e)| e.name == object);
                    let is_method = of_type.flat_map(|(_, e)| &e.methods).any(|m| m.name == method);
                    ("method", is_method)
                }
                None => {
                    let mut functions = self.p.functions.iter();
                    ("function", functions.any(|(_, f)| f.name == name && f.body.is_none()))
                }
            };
            if is_declared {
                continue;
            }
            let (list, line) = (&explained.list, explained.line);
            let of = &architecture.name;
            let message = format!(
                "the description of {of} explains the {kind} `{name}` (`[{list}]`, line {line}), which nothing declares"
            );
            let include = &architecture.description().include;
            let fault = Diagnostic::new(&codes::NO_PIPELINE, main, message)
                .label("neither the program nor its include files declare it as an extern")
                .help(format!("declare it in {include}, or mend line {line} of the description"));
            self.faults.push(fault);
        }
    }

    /// Extern objects are constructed with arguments that mean something.
    pub(crate) fn check_objects(&mut self) {
        for (_, node) in self.p.nodes.iter() {
            self.check_size(node);
            self.check_bounds(node);
        }
    }

    /// Arrays of counters, meters and registers have a cell.
    fn check_size(&mut self, node: &Node) {
        let NodeKind::Extern(id) = node.kind else { return };
        let extern_ = &self.p.externs[id];
        let architecture = self.out.architecture;
        let described = architecture.control_plane_extern(&extern_.name);
        let Some(size) = described.and_then(|e| e.size.as_ref().filter(|_| has_cells(e.role))) else {
            return;
        };
        let constructor = node.constructor.and_then(|c| extern_.methods.get(c as usize));
        let params = constructor.map_or(&[][..], |c| &c.signature.params);
        let mut args = params.iter().zip(&node.args);
        let given = args.find(|(param, _)| self.p.vars[**param].name == *size);
        if matches!(given, Some((_, Some(Value::Int(n)))) if n.is_zero()) {
            let (of, name) = (&extern_.name, &node.name);
            let message = format!("`{name}`, of the type {of}, has no cell: its size is 0");
            self.faults.push(
                Diagnostic::new(&codes::EXTERN_ARGUMENT, node.span, message)
                    .label("every index is out of range")
                    .help("give it a size of at least 1, or remove it"),
            );
        }
    }

    /// Random numbers lie between a least and a largest one.
    fn check_bounds(&mut self, node: &Node) {
        let NodeKind::Extern(id) = node.kind else { return };
        let name = &self.p.externs[id].name;
        if !self.out.architecture.has_operation(name, ExternOp::RandomOfObject) {
            return;
        }
        if let [Some(Value::Int(min)), Some(Value::Int(max)), ..] = node.args.as_slice()
            && min > max
        {
            let message = format!("`{}` gives no number: {min} is above {max}", node.name);
            self.faults.push(
                Diagnostic::new(&codes::EXTERN_ARGUMENT, node.span, message)
                    .label("the first argument is the least number, the second the largest one")
                    .help(format!("exchange them: `({max}, {min})`")),
            );
        }
    }
}

/// True if objects of the role are arrays of cells that packets index.
fn has_cells(role: ExternRole) -> bool {
    matches!(role, ExternRole::Counter | ExternRole::Meter | ExternRole::Register)
}

impl Body<'_, '_> {
    /// Reports an argument of a described function that is no number.
    pub(crate) fn report_no_number(&mut self, name: &str, position: usize, call: &Call, span: Span) {
        let place = call.args.get(position).and_then(Option::as_ref).map_or(span, |arg| arg.span);
        let message = format!("argument {position} of `{name}` is no number");
        self.e.faults.push(
            Diagnostic::new(&codes::EXTERN_ARGUMENT, place, message)
                .label("has several values; arguments count from 0")
                .help("give it a value of a `bit` type, such as one field of it"),
        );
    }

    /// Refuses calls in blocks that a description does not name, and arguments, known at compile time, of which it says that the
    /// function does not take them.
    pub(crate) fn check_described_call(&mut self, name: &str, call: &Call, span: Span) {
        let Some(model) = self.e.out.architecture.pipeline() else { return };
        let blocks = model.only_in.iter().find(|(function, _)| function == name);
        if let (Some((_, blocks)), Some(block)) = (blocks, &self.e.block_name)
            && !blocks.contains(block)
        {
            let message =
                format!("`{name}` is called in the block `{block}` of {}", self.e.out.architecture.name);
            self.e.faults.push(
                Diagnostic::new(&codes::EXTERN_PLACE, span, message)
                    .label("has no meaning here")
                    .help(format!("call it in the block `{}`", blocks.join("` or `"))),
            );
        }
        let known = |position: usize| {
            let arg = call.args.get(position)?.as_ref()?;
            match self.e.p.eval(arg, self.names.object)? {
                Value::Int(number) => Some((number, arg.span)),
                _ => None,
            }
        };
        let mut faults = Vec::new();
        let reserved = model.reserved.iter().filter(|(function, _)| function == name);
        for (position, number) in reserved.flat_map(|(_, all)| all) {
            if let Some((found, span)) = known(*position).filter(|(found, _)| *found == BigInt::from(*number))
            {
                let message = format!("argument {position} of `{name}` cannot be {found}");
                faults.push(
                    Diagnostic::new(&codes::EXTERN_ARGUMENT, span, message)
                        .label("reserved by the architecture; arguments count from 0")
                        .help("use another number"),
                );
            }
        }
        let assignments = model.assignments.iter().find(|(function, _)| function == name);
        let when: Option<Vec<(usize, u64)>> =
            assignments.and_then(|(_, all)| all.iter().map(|assignment| assignment.when).collect());
        if let Some([(position, first), rest @ ..]) = when.as_deref()
            && rest.iter().all(|(other, _)| other == position)
            && let Some((found, span)) = known(*position)
        {
            let numbers = || std::iter::once(first).chain(rest.iter().map(|(_, number)| number));
            if !numbers().any(|number| found == BigInt::from(*number)) {
                let list: Vec<String> = numbers().map(u64::to_string).collect();
                let message = format!("argument {position} of `{name}` cannot be {found}");
                faults.push(
                    Diagnostic::new(&codes::EXTERN_ARGUMENT, span, message)
                        .label("the call has no effect; arguments count from 0")
                        .help(format!("use one of {}", list.join(", "))),
                );
            }
        }
        self.e.faults.extend(faults);
    }
}
