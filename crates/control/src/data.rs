//! Values of any P4 type, for registers and digests (P4Runtime, "Representation of Arbitrary P4 Types").

use ir::Bits;
use smol_str::SmolStr;

/// A value. Its shape follows [`DataType`](crate::schema::DataType).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Data {
    /// Value of type `bit<W>` or `int<W>`, in two's complement.
    Bits(Bits),
    /// Value of type `varbit<W>`; its width is the present width, at most W.
    Varbit(Bits),
    Bool(bool),
    /// Value of a `type` that the controller sees as a string.
    Text(SmolStr),
    Tuple(Vec<Data>),
    /// Members in order of declaration.
    Struct(Vec<Data>),
    Header(HeaderData),
    HeaderUnion(HeaderUnionData),
    HeaderStack(Vec<HeaderData>),
    HeaderUnionStack(Vec<HeaderUnionData>),
    /// Member of an `enum` without an underlying type, by name.
    Enum(SmolStr),
    /// Member of `error`, by name.
    Error(SmolStr),
    /// Value of an `enum bit<W>`; it may be a value without a name.
    EnumValue(Bits),
}

/// `None` when the header is invalid, else its fields in order of declaration.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HeaderData(pub Option<Vec<Bits>>);

/// The valid member, by name, if there is one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HeaderUnionData(pub Option<(SmolStr, HeaderData)>);
