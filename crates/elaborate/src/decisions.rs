//! Extern functions that descriptions explain: those that decide what happens to a packet, and those that tell it.
//!
//! Decisions are fields of one variable, which elaboration adds, so that passes, liveness and waiting packets treat them as any
//! other value.

use crate::body::Body;
use crate::elaborator::{Elaborator, Purpose};
use arch::{AssignedValue, ParamRole, PipelineModel, PredicateTerm};
use check::program::Call;
use diagnostics::Span;
use ir::types::INDEX_BITS;
use ir::{Bits, Expr, ExprKind, Field, Place, Struct, StructKind, Type};

impl Elaborator<'_> {
    /// Adds the variable with the decisions of programs, and what its fields mean.
    pub(crate) fn decisions(&mut self, model: &PipelineModel) {
        if model.decisions.is_empty() {
            return;
        }
        let fields = model.decisions.iter().map(|decision| Field {
            name: model.meaning_name(decision.field).into(),
            ty: Type::Bit(decision.width_bits),
            members: None,
        });
        let name = "$decisions";
        let id = self.out.structs.alloc(Struct {
            name: name.into(),
            kind: StructKind::Struct,
            fields: fields.collect(),
        });
        let var = self.shared_variable(ParamRole::Decisions, name, &Type::Struct(id), Span::NONE);
        for (i, decision) in (0u32..).zip(&model.decisions) {
            self.out.fields.push((decision.field, Place::var(var).field(i)));
        }
    }
}

impl Body<'_, '_> {
    /// A call of an extern function that the description of the architecture explains; `None` for others. The inner option
    /// holds the result, if the function has one.
    pub(crate) fn described_call(&mut self, name: &str, call: &Call, span: Span) -> Option<Option<Expr>> {
        let model = self.e.out.architecture.pipeline()?;
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
                        Some(value) => value.cast(ty.clone()),
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
