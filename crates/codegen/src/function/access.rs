//! Where a place is, in C.

use ir::Type;

/// Where a place is.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    /// Of C, without what `part` says.
    pub(crate) lvalue: String,
    /// When given: the place exists only if this holds.
    pub(crate) guard: Option<String>,
    /// Of the lvalue.
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
