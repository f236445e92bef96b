//! One C function being written.

use crate::facts::storage::Owner;
use crate::function::cx::Cx;
use crate::text::code::Code;
use std::collections::HashSet;

/// The part of a program that a function runs; it matters where there are asynchronous blocks.
pub(crate) enum FunctionKind {
    /// Code of the worker: asynchronous blocks that it contains run in place, or suspend the packet.
    Inline,
    /// The body of an asynchronous block, which an offload worker runs.
    OffloadBody { block: usize },
    /// The body up to the call that is made for several packets at once.
    UpToBatchedCall {
        block: usize,
        /// The call's number and the C type of its result, once the call was written.
        call: Option<(usize, String)>,
    },
    /// The body from behind that call to its end.
    AfterBatchedCall { block: usize },
}

impl FunctionKind {
    /// The asynchronous block whose body the function runs.
    pub(crate) fn offload_block(&self) -> Option<usize> {
        match self {
            FunctionKind::Inline => None,
            FunctionKind::OffloadBody { block }
            | FunctionKind::UpToBatchedCall { block, .. }
            | FunctionKind::AfterBatchedCall { block } => Some(*block),
        }
    }
}

pub(crate) struct Func<'c, 'p> {
    pub(crate) cx: &'c Cx<'p>,
    pub(crate) owner: Owner,
    pub(crate) code: Code,
    n_temps: u32,
    /// Labels that are jumped to.
    pub(crate) jumps: HashSet<String>,
    /// The trace point of the statement that is being written.
    pub(crate) stmt_point: Option<u32>,
    pub(crate) kind: FunctionKind,
}

impl<'c, 'p> Func<'c, 'p> {
    /// A function of the worker.
    pub(crate) fn new(cx: &'c Cx<'p>, owner: Owner) -> Func<'c, 'p> {
        Func::of_kind(cx, owner, FunctionKind::Inline)
    }

    pub(crate) fn of_kind(cx: &'c Cx<'p>, owner: Owner, kind: FunctionKind) -> Func<'c, 'p> {
        Func { cx, owner, code: Code::new(), n_temps: 0, jumps: HashSet::new(), stmt_point: None, kind }
    }

    /// A name that nothing else in the function has.
    pub(crate) fn temp(&mut self) -> String {
        self.n_temps += 1;
        format!("t{}", self.n_temps)
    }

    /// Declares a constant for a value that is used several times.
    pub(crate) fn bind(&mut self, c_type: &str, value: &str) -> String {
        let name = self.temp();
        self.code.line(format!("const {c_type} {name} = {value};"));
        name
    }

    /// The code that `write` writes, one level deeper.
    pub(crate) fn nested(&mut self, write: impl FnOnce(&mut Self)) -> Code {
        let inner = self.code.nested();
        let outer = std::mem::replace(&mut self.code, inner);
        write(self);
        std::mem::replace(&mut self.code, outer)
    }
}
