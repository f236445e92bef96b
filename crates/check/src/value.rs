//! Compile-time values.

use crate::program::{EnumId, NodeId};
use num_bigint::BigInt;
use smol_str::SmolStr;

/// Most bytes of a string that `++` makes. A constant that joins its predecessor with itself doubles it.
pub const STRING_BYTES_MAX: usize = 1 << 16;

/// Most bytes of all strings together that `++` makes in a program.
pub const STRINGS_BYTES_MAX: usize = 1 << 24;

/// A value known while compiling. Its type stands beside it (in the expression, say).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Value {
    /// `int`, `bit<W>`, `int<W>` (already wrapped to the width), newtypes over them, serializable enums.
    Int(BigInt),
    Bool(bool),
    Str(SmolStr),
    /// Index into `Program::errors`.
    Error(u32),
    /// Index into `Program::match_kinds`.
    MatchKind(u32),
    /// Member of an enum without underlying type.
    EnumMember(EnumId, u32),
    /// Struct, tuple, list and array values in field order.
    Aggregate(Vec<Value>),
    Header {
        valid: bool,
        fields: Vec<Value>,
    },
    /// An evaluated object: see `Program::nodes`.
    Object(NodeId),
}

impl Value {
    pub fn as_int(&self) -> Option<&BigInt> {
        match self {
            Value::Int(v) => Some(v),
            _ => None,
        }
    }

    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(b) => Some(*b),
            _ => None,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Str(s) => Some(s),
            _ => None,
        }
    }
}
