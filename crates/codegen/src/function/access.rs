//! Places in C.

use ir::Type;

/// A place in C.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    /// The lvalue in C that holds the place; `part` says which bits of it.
    pub(crate) lvalue: String,
    /// A condition in C for the place to exist.
    pub(crate) guard: Option<String>,
    /// The type of the lvalue.
    pub(crate) ty: Type,
    pub(crate) part: Part,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Whole,
    Slice {
        lo: u32,
        width: u32,
    },
    /// `lo` is an amount in C.
    SliceAt {
        lo: String,
        width: u32,
    },
}
