//! Names of types: the feedback that P4's grammar needs to distinguish `(T)(x)` from `(f)(x)`.

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

/// Kind of a declared name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NameKind {
    Type,
    /// Variable, constant, parameter, instance, function, action or table.
    Object,
}

/// A stack of scopes over one table of names.
#[derive(Default)]
pub(super) struct Names {
    bindings: FxHashMap<SmolStr, Vec<(u32, NameKind)>>,
    /// Names bound, in order, so that leaving a scope can unbind them.
    log: Vec<SmolStr>,
    /// Length of `log` at the opening of each scope.
    marks: Vec<usize>,
}

impl Names {
    pub fn push(&mut self) {
        self.marks.push(self.log.len());
    }

    pub fn pop(&mut self) {
        let Some(mark) = self.marks.pop() else { return };
        for name in self.log.drain(mark..) {
            if let Some(stack) = self.bindings.get_mut(&name) {
                stack.pop();
            }
        }
    }

    pub fn declare(&mut self, name: &SmolStr, kind: NameKind) {
        let depth = self.marks.len() as u32;
        self.bindings.entry(name.clone()).or_default().push((depth, kind));
        self.log.push(name.clone());
    }

    /// Returns the innermost declaration of `name`; `None` if it was never declared.
    pub fn lookup(&self, name: &str) -> Option<NameKind> {
        self.bindings.get(name)?.last().map(|b| b.1)
    }

    /// Returns the top-level declaration of `name`.
    pub fn lookup_root(&self, name: &str) -> Option<NameKind> {
        self.bindings.get(name)?.iter().rev().find(|b| b.0 == 0).map(|b| b.1)
    }
}
