//! Extern functions that descriptions explain: those that decide what happens to a packet, and those that tell it.
//!
//! Decisions are fields of one variable, which elaboration adds, so that passes, liveness and waiting packets treat them as any
//! other value.

use crate::body::Body;
use crate::elaborator::{Elaborator, Purpose};
use crate::place::Indices;
use arch::{AssignedValue, ParamRole, PipelineModel, PredicateTerm};
use check::program::Call;
use diagnostics::Span;
use ir::types::INDEX_BITS;
use ir::{Bits, Expr, ExprKind, Field, Place, Struct, StructKind, Type};

impl Elaborator<'_> {
    /// Adds the variables with the decisions of programs, and what their fields mean.
    pub(crate) fn decisions(&mut self, model: &PipelineModel) {
        let mut variables: Vec<ParamRole> = model.decisions.iter().map(|d| d.variable).collect();
        variables.dedup();
        for variable in variables {
            self.decisions_of(model, variable);
        }
    }

    fn decisions_of(&mut self, model: &PipelineModel, variable: ParamRole) {
        let decisions: Vec<_> = model.decisions.iter().filter(|d| d.variable == variable).collect();
        let fields = decisions.iter().map(|decision| Field {
            name: model.meaning_name(decision.field).into(),
            ty: Type::Bit(decision.width_bits),
            members: None,
        });
        let name = format!("${}", model.variable_name(variable));
        let id = self.out.structs.alloc(Struct {
            name: name.as_str().into(),
            kind: StructKind::Struct,
            fields: fields.collect(),
        });
        let var = self.shared_variable(variable, &name, &Type::Struct(id), Span::NONE);
        for (i, decision) in (0u32..).zip(decisions) {
            self.out.fields.push((decision.field, Place::var(var).field(i)));
        }
    }
}

impl Body<'_, '_> {
    /// A call of an extern function that the description of the architecture explains; `None` for others. The inner option
    /// holds the result, if the function has one.
    pub(crate) fn described_call(&mut self, name: &str, call: &Call, span: Span) -> Option<Option<Expr>> {
        let model = self.e.out.architecture.pipeline()?;
        self.check_described_call(name, call, span);
        if let Some((_, assignments)) = model.assignments.iter().find(|(function, _)| function == name) {
            let values: Vec<Option<Expr>> = (call.args.iter())
                .map(|arg| {
                    let value = self.expr(arg.as_ref()?);
                    Some(self.save(value, span))
                })
                .collect();
            let argument = |position: usize| values.get(position).cloned().flatten();
            for assignment in assignments {
                let Some(place) = self.e.out.field(assignment.field).cloned() else { continue };
                let Some(ty) = self.e.out.place_type(&place) else { continue };
                let width = ty.width_bits().unwrap_or(0);
                let mut value = match assignment.value {
                    AssignedValue::Number(number) => Expr::bit(width, u128::from(number)),
                    AssignedValue::Argument(position) => match argument(position) {
                        Some(value) if value.ty.width_bits().is_some() => value.cast(ty.clone()),
                        Some(_) => {
                            self.report_no_number(name, position, call, span);
                            continue;
                        }
                        None => continue,
                    },
                };
                if let Some((position, number)) = assignment.when {
                    let Some(subject) = argument(position) else { continue };
                    let wanted = Expr::bit(subject.ty.width_bits().unwrap_or(0), u128::from(number));
                    let before = Expr::read(place.clone(), ty.clone());
                    let kind =
                        ExprKind::Mux(Box::new(subject.equals(wanted)), Box::new(value), Box::new(before));
                    value = Expr::new(kind, ty.clone());
                }
                self.assign(place, value, span);
            }
            return Some(None);
        }
        let (_, terms) = model.predicates.iter().find(|(function, _)| function == name)?;
        let mut structs = Vec::new();
        for arg in call.args.iter().flatten() {
            let value = self.expr(arg);
            let ty = value.ty.clone();
            let place = self.temporary(ty.clone(), span);
            self.assign(place.clone(), value, span);
            structs.push((place, ty));
        }
        let all = terms.iter().map(|term| self.predicate(term, &structs)).reduce(Expr::and);
        Some(Some(all.unwrap_or_else(|| Expr::bool(true))))
    }

    /// A call of a method that the description of the architecture explains; `None` for others. The inner option holds the
    /// result, if the method has one.
    pub(crate) fn described_method(&mut self, name: &str, call: &Call, span: Span) -> Option<Option<Expr>> {
        let model = self.e.out.architecture.pipeline()?;
        let Some((_, answer)) = model.answers.iter().find(|(method, _)| method == name) else {
            return self.described_call(name, call, span);
        };
        let read = |this: &Body<'_, '_>, field| {
            let place = this.e.out.field(field)?.clone();
            let width = this.e.out.place_type(&place)?.width_bits()?;
            Some((Expr::read(place, Type::Bit(width)), width))
        };
        let (result, width) = read(self, answer.result)?;
        for (arg, field) in call.args.iter().flatten().zip(&answer.arguments) {
            let (value, width) = read(self, *field)?;
            let target = self.lvalue(arg, Indices::Fixed);
            let value = match target.ty.clone() {
                Type::Enum(id) => {
                    let member = |i: usize| Expr::new(ExprKind::Const(index_bits(i)), Type::Enum(id));
                    (1..self.e.out.enums[id].members.len()).fold(member(0), |otherwise, i| {
                        let is = value.clone().equals(Expr::bit(width, i as u128));
                        let kind = ExprKind::Mux(Box::new(is), Box::new(member(i)), Box::new(otherwise));
                        Expr::new(kind, Type::Enum(id))
                    })
                }
                ty => value.cast(ty),
            };
            self.store(&target, value, span);
        }
        Some(Some(result.equals(Expr::bit(width, 0)).negated()))
    }

    /// `SelectByDirection` as a choice between two values; `None` in programs that are analysed, which keep the call.
    pub(crate) fn select_by_direction(&mut self, call: &Call, span: Span) -> Option<Expr> {
        let model = self.e.out.architecture.pipeline().filter(|_| self.e.purpose == Purpose::Execution)?;
        let [Some(direction), Some(from_network), Some(from_host)] = call.args.as_slice() else {
            return None;
        };
        let mut values = [direction, from_network, from_host].map(|arg| {
            let value = self.expr(arg);
            self.save(value, span)
        });
        let is_from_network = match &values[0].ty {
            Type::Enum(id) => {
                let [network, _] = model.directions.as_ref()?;
                let members = &self.e.out.enums[*id].members;
                let i = members.iter().position(|(name, _)| name == network)?;
                values[0].clone().equals(Expr::new(ExprKind::Const(index_bits(i)), values[0].ty.clone()))
            }
            _ => values[0].clone(),
        };
        let [_, from_network, from_host] = &mut values;
        let ty = from_network.ty.clone();
        let (yes, no) = (Box::new(from_network.clone()), Box::new(from_host.clone()));
        Some(Expr::new(ExprKind::Mux(Box::new(is_from_network), yes, no), ty))
    }

    /// One term, on a field of one of the arguments; false where none has the field.
    fn predicate(&self, term: &PredicateTerm, structs: &[(Place, Type)]) -> Expr {
        let found = structs.iter().find_map(|(place, ty)| {
            let Type::Struct(id) = ty else { return None };
            let fields = &self.e.out.structs[*id].fields;
            let i = fields.iter().position(|field| field.name == *term.field)?;
            Some(Expr::read(place.field(i as u32), fields[i].ty.clone()))
        });
        let Some(value) = found else { return Expr::bool(false) };
        let width = value.ty.width_bits().unwrap_or(0);
        let holds = match term.number {
            Some(number) => value.equals(Expr::bit(width, u128::from(number))),
            None if value.ty == Type::Bool => value,
            None => value.equals(Expr::bit(width, 0)).negated(),
        };
        if term.is_negated { holds.negated() } else { holds }
    }
}

/// A member of an enum as a value.
fn index_bits(member: usize) -> Bits {
    Bits::new(INDEX_BITS, member as u128)
}
