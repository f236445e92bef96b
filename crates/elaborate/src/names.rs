//! The meaning of names while a body is elaborated.

use check::program::{NodeId, TypeVarId, VarId};
use check::types::Ty;
use check::value::Value;
use ir::Place;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// The IR counterpart of a parameter or variable of the checked program.
#[derive(Clone, Debug)]
pub enum Binding {
    Place(Place),
    /// A parameter that is known at compile time (`int`, `string`, objects).
    Value(Value),
    /// `packet_in` or `packet_out`.
    Packet,
}

/// The scope of one body: that of an object, or of an action or function inside it.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// The object whose constructor parameters, children and tables are in sight.
    pub object: Option<NodeId>,
    /// Type arguments in force.
    pub types: Rc<FxHashMap<TypeVarId, Ty>>,
    /// Own bindings; a body inside another sees the outer ones through `outer`.
    pub vars: FxHashMap<VarId, Binding>,
    pub outer: Option<Rc<Names>>,
}

impl Names {
    /// A scope inside this one.
    pub fn inside(self: &Rc<Names>) -> Names {
        Names {
            object: self.object,
            types: Rc::clone(&self.types),
            vars: FxHashMap::default(),
            outer: Some(Rc::clone(self)),
        }
    }

    pub fn lookup(&self, var: VarId) -> Option<&Binding> {
        self.vars.get(&var).or_else(|| self.outer.as_ref()?.lookup(var))
    }

    pub fn bind(&mut self, var: VarId, binding: Binding) {
        self.vars.insert(var, binding);
    }
}
