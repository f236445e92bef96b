//! Calls whose values the host sees.

use arch::ExternOp;
use ir::Type;

/// A call whose values the host sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostCall {
    pub(crate) op: ExternOp,
    pub(crate) name: String,
    pub(crate) object: Option<usize>,
    pub(crate) args: Vec<HostArg>,
    pub(crate) result: Option<Type>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HostArg {
    In(Type),
    Fields(Vec<Type>),
    Ref(Vec<Type>),
    Str(String),
    Absent,
}

impl HostArg {
    pub(crate) fn leaves(&self) -> &[Type] {
        match self {
            HostArg::In(ty) => std::slice::from_ref(ty),
            HostArg::Fields(types) | HostArg::Ref(types) => types,
            HostArg::Str(_) | HostArg::Absent => &[],
        }
    }
}
