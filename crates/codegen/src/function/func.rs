//! One C function being written.

use crate::facts::storage::Owner;
use crate::function::cx::Cx;
use crate::text::code::Code;
use std::collections::HashSet;

pub(crate) struct Func<'c, 'p> {
    pub(crate) cx: &'c Cx<'p>,
    pub(crate) owner: Owner,
    pub(crate) code: Code,
    n_temps: u32,
    /// Labels that are jumped to.
    pub(crate) jumps: HashSet<String>,
    /// Of the statement that is written, where the host is told of it.
    pub(crate) stmt_point: Option<u32>,
    /// The asynchronous block that an executor runs with this function.
    pub(crate) body_of: Option<usize>,
    /// It runs the block up to the call that is made for several packets together.
    pub(crate) up_to_call: bool,
    /// That call's number, and what its result is in C.
    pub(crate) batched_call: Option<(usize, String)>,
}

impl<'c, 'p> Func<'c, 'p> {
    pub(crate) fn new(cx: &'c Cx<'p>, owner: Owner) -> Func<'c, 'p> {
        Func {
            cx,
            owner,
            code: Code::new(),
            n_temps: 0,
            jumps: HashSet::new(),
            stmt_point: None,
            body_of: None,
            up_to_call: false,
            batched_call: None,
        }
    }

    /// A name that nothing else in the function has.
    pub(crate) fn temp(&mut self) -> String {
        self.n_temps += 1;
        format!("t{}", self.n_temps)
    }

    /// Keeps a value for several uses.
    pub(crate) fn bind(&mut self, c_type: &str, value: &str) -> String {
        let name = self.temp();
        self.code.line(format!("const {c_type} {name} = {value};"));
        name
    }

    /// What `write` writes, one level deeper.
    pub(crate) fn nested(&mut self, write: impl FnOnce(&mut Self)) -> Code {
        let inner = self.code.nested();
        let outer = std::mem::replace(&mut self.code, inner);
        write(self);
        std::mem::replace(&mut self.code, outer)
    }
}
