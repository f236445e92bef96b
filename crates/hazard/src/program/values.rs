//! The last values of variables, part by part.
//!
//! Every branch needs a copy of the map, and few branches change much of it, so copies share equal parts.

use super::operations::OperationId;
use ir::lookup::get;
use ir::{Place, Program, Step, VarId};
use std::collections::BTreeMap;
use std::rc::Rc;

/// The position of a part in a variable: fields and elements, as far as they are known.
pub(super) type Path = Rc<[u32]>;

/// A part of a variable, as far as its path is known.
pub(super) type Part = (VarId, Path);

/// The operations that a value depends on; several for a composed value.
pub(super) type MadeOf = Rc<[OperationId]>;

pub(super) type Parts = BTreeMap<Path, MadeOf>;

#[derive(Clone, Debug, Default)]
pub(super) struct Values(BTreeMap<VarId, Rc<Parts>>);

impl Values {
    pub(super) fn variables(&self) -> impl Iterator<Item = (VarId, &Rc<Parts>)> {
        self.0.iter().map(|(var, parts)| (*var, parts))
    }

    pub(super) fn variable(&self, var: VarId) -> Option<&Rc<Parts>> {
        self.0.get(&var)
    }

    /// All parts of a variable that are known, in order.
    pub(super) fn parts(&self, var: VarId) -> impl Iterator<Item = (&Path, &MadeOf)> {
        self.0.get(&var).into_iter().flat_map(|parts| parts.iter())
    }

    pub(super) fn insert(&mut self, (var, path): Part, made_of: MadeOf) {
        Rc::make_mut(self.0.entry(var).or_default()).insert(path, made_of);
    }

    pub(super) fn insert_variable(&mut self, var: VarId, parts: Rc<Parts>) {
        self.0.insert(var, parts);
    }

    /// Forgets a part and what is in it.
    pub(super) fn remove(&mut self, (var, path): &Part) {
        if let Some(parts) = self.0.get_mut(var)
            && parts.keys().any(|other| other.starts_with(path))
        {
            Rc::make_mut(parts).retain(|other, _| !other.starts_with(path));
        }
    }

    pub(super) fn retain(&mut self, is_kept: impl Fn(VarId) -> bool) {
        self.0.retain(|var, _| is_kept(*var));
    }
}

const VALID: u32 = u32::MAX;
const NEXT_INDEX: u32 = u32::MAX - 1;

pub(super) fn part_of(place: &Place) -> Part {
    let number = |step: &Step| match step {
        Step::Field(i) | Step::Element(i) => Some(*i),
        Step::Valid => Some(VALID),
        Step::NextIndex => Some(NEXT_INDEX),
        Step::Index(_) | Step::Slice { .. } | Step::SliceAt { .. } => None,
    };
    (place.var, place.path.iter().map_while(number).collect())
}

/// The place of a part; `None` when the program has no such place.
pub(super) fn place_of(program: &Program, (var, path): &Part) -> Option<Place> {
    let mut place = Place::var(*var);
    let mut ty = get(&program.variables, *var)?.ty.clone();
    for number in path.iter() {
        let step = match (*number, &ty) {
            (VALID, _) => Step::Valid,
            (NEXT_INDEX, _) => Step::NextIndex,
            (i, ir::Type::Stack { .. } | ir::Type::Array { .. }) => Step::Element(i),
            (i, _) => Step::Field(i),
        };
        ty = program.step_type(&ty, &step)?;
        place = place.then(step);
    }
    Some(place)
}
