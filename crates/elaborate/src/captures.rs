//! Variables of the surroundings that implementations of abstract methods use.
//!
//! A method of an extern may call the implementation that the program gives. Who analyses the program has to know what the call
//! reads and writes, so a call on such an object gets these variables as arguments behind its own. Programs for backends have none.

use crate::body::Body;
use check::program::{NodeId, Origin};
use ir::{Access, Arg, Expr, Place, ProcedureId, Scope, Step, TerminatorKind, Type};
use std::collections::BTreeSet;

impl Body<'_, '_> {
    /// The arguments for what the implementations in an object use: values for what they only read, references for the rest.
    pub(crate) fn captures(&mut self, object: NodeId) -> Vec<Arg> {
        let p = self.e.p;
        let Origin::Declared(instance) = p.nodes[object].origin else { return Vec::new() };
        let Some(initializer) = &p.instances[instance].initializer else { return Vec::new() };
        let methods: Vec<ProcedureId> = (initializer.functions.iter())
            .map(|function| self.e.method_procedure(object, *function, Vec::new()))
            .collect();
        let (mut inside, mut left) = (BTreeSet::new(), methods);
        let mut used: Vec<(Place, bool)> = Vec::new();
        while let Some(id) = left.pop() {
            if !inside.insert(id.into_raw()) {
                continue;
            }
            let mut note = |access: Access, place: &Place| {
                let place = without_computed_steps(place);
                let is_written = access != Access::Read;
                match used.iter_mut().find(|(known, _)| *known == place) {
                    Some((_, known)) => *known |= is_written,
                    None => used.push((place, is_written)),
                }
            };
            for (_, node) in self.e.out.procedures[id].graph.nodes.iter() {
                node.stmts.iter().for_each(|stmt| stmt.for_each_access(&mut note));
                node.terminator.kind.for_each_access(&mut note);
                if let TerminatorKind::Call { procedure, .. } = node.terminator.kind {
                    left.push(procedure);
                }
            }
        }
        let is_outside = |place: &Place| match self.e.out.variables[place.var].scope {
            Scope::Procedure(owner) => !inside.contains(&owner.into_raw()),
            Scope::Block(_) | Scope::Pipeline(_) => true,
        };
        let args = used.into_iter().filter(|(place, _)| is_outside(place)).map(|(place, is_written)| {
            match self.e.out.place_type(&place) {
                Some(ty @ (Type::Bool | Type::Bit(_) | Type::Int(_))) if !is_written => {
                    Arg::In(Expr::read(place, ty))
                }
                _ => Arg::Ref(place),
            }
        });
        args.collect()
    }
}

/// The part of a place before the first step that is computed: its operands may belong to the method.
fn without_computed_steps(place: &Place) -> Place {
    let is_computed = |step: &Step| matches!(step, Step::Index(_) | Step::SliceAt { .. });
    let n = place.path.iter().position(is_computed).unwrap_or(place.path.len());
    Place { var: place.var, path: place.path[..n].to_vec() }
}
