//! Extern functions that descriptions explain: those that decide what happens to a packet, and those that tell it.
//!
//! Decisions are fields of one variable, which elaboration adds, so that passes, liveness and waiting packets treat them as any
//! other value.

use crate::body::Body;
use crate::elaborator::Elaborator;
use arch::{AssignedValue, ParamRole, PipelineModel, PredicateTerm};
use check::program::Call;
use diagnostics::Span;
use ir::{Expr, ExprKind, Field, Place, Struct, StructKind, Type};

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
