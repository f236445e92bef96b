//! Types: what a variable can hold.

use la_arena::Idx;
use smol_str::SmolStr;

pub type StructId = Idx<Struct>;
pub type EnumId = Idx<Enum>;

/// A type. Typedefs, newtypes and serializable enums are what they stand for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    Bool,
    /// `bit<W>`, width in bits.
    Bit(u32),
    /// `int<W>`, width in bits.
    Int(u32),
    /// `varbit<W>`, largest width in bits.
    Varbit(u32),
    /// An error code: an index into [`Program::errors`](crate::Program::errors).
    Error,
    /// An enum without underlying type.
    Enum(EnumId),
    /// A struct, tuple, header or header union.
    Struct(StructId),
    /// A stack of headers or header unions.
    Stack {
        element: StructId,
        size: u32,
    },
    /// An array of anything else.
    Array {
        element: Box<Type>,
        size: u32,
    },
}

/// Width in bits of enums and error codes as values.
pub const INDEX_BITS: u32 = 32;

impl Type {
    /// The width of a value in bits when it is a single bit string; `None` for `varbit` and aggregates.
    pub fn width_bits(&self) -> Option<u32> {
        match self {
            Type::Bool => Some(1),
            Type::Bit(w) | Type::Int(w) => Some(*w),
            Type::Error | Type::Enum(_) => Some(INDEX_BITS),
            Type::Varbit(_) | Type::Struct(_) | Type::Stack { .. } | Type::Array { .. } => None,
        }
    }

    pub fn is_signed(&self) -> bool {
        matches!(self, Type::Int(_))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StructKind {
    /// Also tuples, whose fields are named `0`, `1`, ...
    Struct,
    Header,
    Union,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Struct {
    pub kind: StructKind,
    /// The declared name with its type arguments; unique in the program.
    pub name: SmolStr,
    pub fields: Vec<Field>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: SmolStr,
    pub ty: Type,
    /// Names for its values when it was declared with a serializable enum.
    pub members: Option<EnumId>,
}

/// An enum, or names for the values of a serializable one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enum {
    pub name: SmolStr,
    /// The members. Members of a serializable enum have a value; others are known by their index.
    pub members: Vec<(SmolStr, Option<crate::Bits>)>,
}
