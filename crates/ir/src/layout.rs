//! Leaves: the single values that variables consist of, numbered.
//!
//! A header's leaves are its validity bit and then those of its fields; a stack's are the index of its next
//! element and then those of its elements; a `varbit` is one leaf.

use crate::lookup::{get, index};
use crate::{Place, Program, Step, StructKind, Type, VarId};
use std::ops::Range;

/// A single value within a larger one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// From the value that it is part of; [`Step::Valid`] and [`Step::NextIndex`] are last steps.
    pub path: Vec<Step>,
    /// A type with a width, or a `varbit`.
    pub ty: Type,
}

impl Leaf {
    /// A validity bit or an index of a stack: nothing that the program declared as a field.
    pub fn is_implicit(&self) -> bool {
        matches!(self.path.last(), Some(Step::Valid | Step::NextIndex))
    }
}

/// Number of leaves of a value at most; validation enforces it.
pub const N_LEAVES_MAX: u64 = 1 << 22;

/// Structs within structs deeper than this are taken for a cycle.
const DEPTH_MAX: u32 = 1000;

/// The leaves of a value in order. Of types with more than [`N_LEAVES_MAX`] none.
pub fn leaves(program: &Program, ty: &Type) -> Vec<Leaf> {
    let mut out = Vec::new();
    if n_leaves(program, ty) <= N_LEAVES_MAX {
        collect(program, ty, &mut Vec::new(), &mut out);
    }
    out
}

/// The leaves that an argument of fields consists of: without validity bits and indices.
pub fn field_leaves(program: &Program, ty: &Type) -> Vec<Leaf> {
    leaves(program, ty).into_iter().filter(|leaf| !leaf.is_implicit()).collect()
}

fn collect(program: &Program, ty: &Type, path: &mut Vec<Step>, out: &mut Vec<Leaf>) {
    let mut leaf = |path: &[Step], ty: Type| out.push(Leaf { path: path.to_vec(), ty });
    let mut inner: Vec<(Step, Type)> = Vec::new();
    match ty {
        Type::Bool | Type::Bit(_) | Type::Int(_) | Type::Varbit(_) | Type::Error | Type::Enum(_) => {
            leaf(path, ty.clone());
        }
        Type::Struct(id) => {
            let Some(s) = get(&program.structs, *id) else { return };
            if s.kind == StructKind::Header {
                path.push(Step::Valid);
                leaf(path, Type::Bool);
                path.pop();
            }
            inner.extend(s.fields.iter().enumerate().map(|(i, f)| (Step::Field(i as u32), f.ty.clone())));
        }
        Type::Stack { element, size } => {
            path.push(Step::NextIndex);
            leaf(path, Type::Bit(32));
            path.pop();
            let n = if n_leaves(program, &Type::Struct(*element)) == 0 { 0 } else { *size };
            inner.extend((0..n).map(|i| (Step::Element(i), Type::Struct(*element))));
        }
        Type::Array { element, size } => {
            let size = if n_leaves(program, element) == 0 { &0 } else { size };
            inner.extend((0..*size).map(|i| (Step::Element(i), (**element).clone())));
        }
    }
    for (step, ty) in inner {
        path.push(step);
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || collect(program, &ty, path, out));
        path.pop();
    }
}

/// The number of leaves of a value; `u64::MAX` when the type contains itself.
pub fn n_leaves(program: &Program, ty: &Type) -> u64 {
    count(program, ty, &mut vec![None; program.structs.len()], 0)
}

/// `known` holds the counts of structs once they have been found.
fn count(program: &Program, ty: &Type, known: &mut Vec<Option<u64>>, depth: u32) -> u64 {
    if depth > DEPTH_MAX {
        return u64::MAX;
    }
    let count = |ty: &Type, known: &mut _| {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || count(program, ty, known, depth + 1))
    };
    match ty {
        Type::Bool | Type::Bit(_) | Type::Int(_) | Type::Varbit(_) | Type::Error | Type::Enum(_) => 1,
        Type::Struct(id) => {
            let Some(s) = get(&program.structs, *id) else { return 0 };
            if let Some(Some(n)) = known.get(index(*id)) {
                return *n;
            }
            let mut n = u64::from(s.kind == StructKind::Header);
            for field in &s.fields {
                n = n.saturating_add(count(&field.ty, known));
                if n == u64::MAX {
                    break;
                }
            }
            if let Some(slot) = known.get_mut(index(*id)) {
                *slot = Some(n);
            }
            n
        }
        Type::Stack { element, size } => {
            count(&Type::Struct(*element), known).saturating_mul(u64::from(*size)).saturating_add(1)
        }
        Type::Array { element, size } => count(element, known).saturating_mul(u64::from(*size)),
    }
}

/// Numbers all leaves of all variables of a valid program.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The number of leaves of each struct.
    n_leaves: Vec<u64>,
    /// The first leaf of each variable, and the number of all leaves.
    first: Vec<usize>,
}

/// The leaves that a place touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    pub leaves: Range<usize>,
    pub exactness: Exactness,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exactness {
    /// Exactly these leaves, each as a whole.
    Exact,
    /// Some of them or parts of them: a computed index, a slice.
    Within,
}

impl Layout {
    pub fn new(program: &Program) -> Layout {
        let mut known = vec![None; program.structs.len()];
        let mut first = vec![0];
        let mut next = 0usize;
        for (_, variable) in program.variables.iter() {
            let n = count(program, &variable.ty, &mut known, 0);
            next += if n <= N_LEAVES_MAX { n as usize } else { 0 };
            first.push(next);
        }
        let of_struct = |(id, _)| count(program, &Type::Struct(id), &mut known, 0);
        Layout { n_leaves: program.structs.iter().map(of_struct).collect(), first }
    }

    /// Number of leaves of all variables.
    pub fn n_leaves(&self) -> usize {
        self.first.last().copied().unwrap_or(0)
    }

    pub fn variable(&self, id: VarId) -> Range<usize> {
        let first = self.first.get(index(id)).copied().unwrap_or(0);
        first..self.first.get(index(id) + 1).copied().unwrap_or(first)
    }

    /// The variable that a leaf belongs to, by its position.
    pub fn variable_of(&self, leaf: usize) -> usize {
        self.first.partition_point(|first| *first <= leaf).saturating_sub(1)
    }

    fn of_type(&self, ty: &Type) -> usize {
        let of_struct = |id| self.n_leaves.get(index(id)).copied().unwrap_or(0);
        let n = match ty {
            Type::Bool | Type::Bit(_) | Type::Int(_) | Type::Varbit(_) | Type::Error | Type::Enum(_) => 1,
            Type::Struct(id) => of_struct(*id),
            Type::Stack { element, size } => {
                of_struct(*element).saturating_mul(u64::from(*size)).saturating_add(1)
            }
            Type::Array { element, size } => (self.of_type(element) as u64).saturating_mul(u64::from(*size)),
        };
        usize::try_from(n).unwrap_or(usize::MAX)
    }

    /// The leaves of a place; the whole variable when the path does not exist.
    pub fn place(&self, program: &Program, place: &Place) -> Extent {
        let whole = self.variable(place.var);
        let unknown = || Extent { leaves: whole.clone(), exactness: Exactness::Within };
        let Some(variable) = get(&program.variables, place.var) else { return unknown() };
        let mut ty = variable.ty.clone();
        let mut first = whole.start;
        for step in &place.path {
            let Some(inner) = program.step_type(&ty, step) else { return unknown() };
            let implicit = match &ty {
                Type::Struct(id) => {
                    usize::from(get(&program.structs, *id).is_some_and(|s| s.kind == StructKind::Header))
                }
                Type::Stack { .. } => 1,
                _ => 0,
            };
            match (step, &ty) {
                (Step::Field(i), Type::Struct(id)) => {
                    let before =
                        get(&program.structs, *id).map(|s| &s.fields[..*i as usize]).unwrap_or_default();
                    first += implicit + before.iter().map(|f| self.of_type(&f.ty)).sum::<usize>();
                }
                (Step::Element(i), _) => first += implicit + *i as usize * self.of_type(&inner),
                // The leaf before the fields or the elements.
                (Step::Valid | Step::NextIndex, _) => {}
                (Step::Index(_), _) => {
                    let elements = first + implicit..first + self.of_type(&ty);
                    return Extent { leaves: elements, exactness: Exactness::Within };
                }
                (Step::Slice { .. } | Step::SliceAt { .. }, _) => {
                    return Extent { leaves: first..first + 1, exactness: Exactness::Within };
                }
                (Step::Field(_), _) => return unknown(),
            }
            let last = matches!(step, Step::Valid | Step::NextIndex);
            if last {
                return Extent { leaves: first..first + 1, exactness: Exactness::Exact };
            }
            ty = inner;
        }
        Extent { leaves: first..first + self.of_type(&ty), exactness: Exactness::Exact }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lookup::id_at;
    use crate::{Expr, text};

    fn program() -> Program {
        text::parse(
            "architecture v1model
             header h_t { a: bit<8> v: varbit<64> }
             struct p_t { x: bit<4> y: bool }
             struct s_t { h: h_t n: stack<h_t, 2> m: array<p_t, 2> }
             var before: bool in pipeline Metadata
             var s: s_t in pipeline Headers",
        )
        .unwrap()
    }

    #[test]
    fn leaves_are_numbered_as_they_are_listed() {
        let program = program();
        let layout = Layout::new(&program);
        let s = id_at(1);
        let listed = leaves(&program, &program.variables[s].ty);
        assert_eq!(listed.len(), 3 + 1 + 6 + 4);
        assert_eq!(layout.n_leaves(), 1 + listed.len());
        for (i, leaf) in listed.iter().enumerate() {
            let place = Place { var: s, path: leaf.path.clone() };
            let extent = layout.place(&program, &place);
            assert_eq!(extent, Extent { leaves: 1 + i..2 + i, exactness: Exactness::Exact }, "{leaf:?}");
            assert_eq!(program.place_type(&place).as_ref(), Some(&leaf.ty));
            assert_eq!(layout.variable_of(1 + i), 1);
        }
        assert_eq!(layout.variable_of(0), 0);
        assert_eq!(field_leaves(&program, &program.variables[s].ty).len(), 2 + 4 + 4);
    }

    #[test]
    fn computed_indices_touch_all_elements() {
        let program = program();
        let layout = Layout::new(&program);
        let n = Place::var(id_at(1)).field(1);
        let element = n.then(Step::Index(Box::new(Expr::bit(8, 1)))).field(0);
        assert_eq!(layout.place(&program, &element), Extent { leaves: 5..11, exactness: Exactness::Within });
        let slice = n.element(1).field(0).then(Step::Slice { lo: 0, width: 4 });
        assert_eq!(layout.place(&program, &slice), Extent { leaves: 9..10, exactness: Exactness::Within });
        assert_eq!(
            layout.place(&program, &n.element(1)),
            Extent { leaves: 8..11, exactness: Exactness::Exact }
        );
    }

    #[test]
    fn endless_types_have_no_leaves() {
        let program = text::parse(
            "architecture v1model
             struct a_t { b: b_t }
             struct b_t { a: a_t x: bit<8> }
             struct big_t { x: array<array<array<bit<8>, 4294967295>, 4294967295>, 4294967295> }
             var a: a_t in pipeline Headers
             var b: big_t in pipeline Metadata",
        )
        .unwrap();
        for (_, variable) in program.variables.iter() {
            assert_eq!(n_leaves(&program, &variable.ty), u64::MAX);
            assert!(leaves(&program, &variable.ty).is_empty());
        }
        assert_eq!(Layout::new(&program).n_leaves(), 0);
    }
}
