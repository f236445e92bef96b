//! Expressions and places.

use crate::{Bits, Type, VarId};

/// An expression without side effects that cannot fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expr {
    pub kind: ExprKind,
    pub ty: Type,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExprKind {
    /// A constant of a type with a width; it is exactly that wide.
    Const(Bits),
    /// The value that a place holds. It may be of any type, aggregates included.
    Read(Place),
    Unary(UnaryOp, Box<Expr>),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `condition ? then : otherwise`
    Mux(Box<Expr>, Box<Expr>, Box<Expr>),
    /// To the expression's type: `bool` and `bit<1>`, `bit<W>` and `int<W>`, a wider type (by zeros or by the
    /// sign, as the operand's type says) or a narrower one (the low bits).
    Cast(Box<Expr>),
    /// Bits from `lo` upwards, as many as the type is wide; in the operand's range.
    Slice {
        value: Box<Expr>,
        lo: u32,
    },
    /// Bits from a computed `lo` upwards; zeros beyond the operand's width.
    SliceAt {
        value: Box<Expr>,
        lo: Box<Expr>,
    },
    /// Length of the packet in bytes as it entered the parser: `bit<32>`.
    PacketLength,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `!`, for a `bool`.
    Not,
    /// `~`
    Complement,
    /// Two's complement.
    Negate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    // Two operands of the result's type; `Div` and `Mod` unsigned.
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    SatAdd,
    SatSub,
    BitAnd,
    BitOr,
    BitXor,
    // The right operand is a `bit<S>` of any width.
    Shl,
    /// Arithmetic when the left operand is signed.
    Shr,
    // Two operands of one type, giving `bool`. `varbit` values are equal when lengths and bits are; other
    // aggregates are not compared whole.
    Eq,
    Ne,
    // Two operands of one type `bit<W>` or `int<W>`, giving `bool`.
    Lt,
    Le,
    Gt,
    Ge,
    // Two operands of type `bool`.
    And,
    Or,
    /// Bit strings of any widths; has the sign of the left operand.
    Concat,
}

/// A place that holds a value: a variable or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub var: VarId,
    pub path: Vec<Step>,
}

/// One step from a place to a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A field of a struct, header or union, by its index.
    Field(u32),
    /// An element of a stack or array. The index is within the size.
    Element(u32),
    /// An element with a computed index, a `bit<W>` or `int<W>` (a negative one is out of range). Beyond the size the place
    /// does not exist: it reads as zeros, and writing has no effect.
    Index(Box<Expr>),
    /// The validity bit of a header: `bool`. Last step.
    Valid,
    /// The index of a stack's next element: `bit<32>`, from 0 to the size. Last step.
    NextIndex,
    /// Bits `lo` and upwards of a bit string: `bit<width>`. Last step.
    Slice { lo: u32, width: u32 },
    /// Bits from a computed `lo` upwards: bits beyond the value read as zeros and are not written. Last step.
    SliceAt { lo: Box<Expr>, width: u32 },
}

impl Place {
    pub fn var(var: VarId) -> Place {
        Place { var, path: Vec::new() }
    }

    /// One of the places is the other one or a part of it. Computed indices are compared as they are written.
    pub fn overlaps(&self, other: &Place) -> bool {
        self.var == other.var && self.path.iter().zip(&other.path).all(|(one, other)| one == other)
    }

    /// A part of this place.
    pub fn then(&self, step: Step) -> Place {
        let mut place = self.clone();
        place.path.push(step);
        place
    }

    pub fn field(&self, index: u32) -> Place {
        self.then(Step::Field(index))
    }

    pub fn element(&self, index: u32) -> Place {
        self.then(Step::Element(index))
    }

    pub fn valid(&self) -> Place {
        self.then(Step::Valid)
    }

    pub fn next_index(&self) -> Place {
        self.then(Step::NextIndex)
    }
}

impl Expr {
    pub fn new(kind: ExprKind, ty: Type) -> Expr {
        Expr { kind, ty }
    }

    /// `value` as a constant `bit<width>`.
    pub fn bit(width: u32, value: u128) -> Expr {
        Expr { kind: ExprKind::Const(Bits::new(width, value)), ty: Type::Bit(width) }
    }

    pub fn bool(value: bool) -> Expr {
        Expr { kind: ExprKind::Const(Bits::bool(value)), ty: Type::Bool }
    }

    pub fn read(place: Place, ty: Type) -> Expr {
        Expr { kind: ExprKind::Read(place), ty }
    }

    pub fn unary(op: UnaryOp, operand: Expr) -> Expr {
        let ty = operand.ty.clone();
        Expr { kind: ExprKind::Unary(op, Box::new(operand)), ty }
    }

    /// The type is that of the result.
    pub fn binary(op: BinaryOp, lhs: Expr, rhs: Expr, ty: Type) -> Expr {
        Expr { kind: ExprKind::Binary(op, Box::new(lhs), Box::new(rhs)), ty }
    }

    pub fn and(self, rhs: Expr) -> Expr {
        Expr::binary(BinaryOp::And, self, rhs, Type::Bool)
    }

    pub fn or(self, rhs: Expr) -> Expr {
        Expr::binary(BinaryOp::Or, self, rhs, Type::Bool)
    }

    pub fn negated(self) -> Expr {
        Expr::unary(UnaryOp::Not, self)
    }

    pub fn equals(self, rhs: Expr) -> Expr {
        Expr::binary(BinaryOp::Eq, self, rhs, Type::Bool)
    }

    pub fn cast(self, ty: Type) -> Expr {
        Expr { kind: ExprKind::Cast(Box::new(self)), ty }
    }

    /// The constant, if it is one.
    pub fn as_const(&self) -> Option<&Bits> {
        match &self.kind {
            ExprKind::Const(bits) => Some(bits),
            ExprKind::Read(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Mux(..)
            | ExprKind::Cast(_)
            | ExprKind::Slice { .. }
            | ExprKind::SliceAt { .. }
            | ExprKind::PacketLength => None,
        }
    }

    /// Visits every place that is read, those inside index expressions included (inner ones first).
    pub fn for_each_read<'a>(&'a self, f: &mut dyn FnMut(&'a Place)) {
        match &self.kind {
            ExprKind::Const(_) | ExprKind::PacketLength => {}
            ExprKind::Read(place) => {
                place.for_each_read_in_path(f);
                f(place);
            }
            ExprKind::Unary(_, e) | ExprKind::Cast(e) | ExprKind::Slice { value: e, .. } => {
                e.for_each_read(f)
            }
            ExprKind::Binary(_, a, b) | ExprKind::SliceAt { value: a, lo: b } => {
                a.for_each_read(f);
                b.for_each_read(f);
            }
            ExprKind::Mux(c, a, b) => {
                c.for_each_read(f);
                a.for_each_read(f);
                b.for_each_read(f);
            }
        }
    }
}

impl Place {
    /// Visits what is read to find this place: the places in its computed indices.
    pub fn for_each_read_in_path<'a>(&'a self, f: &mut dyn FnMut(&'a Place)) {
        for step in &self.path {
            match step {
                Step::Index(e) | Step::SliceAt { lo: e, .. } => e.for_each_read(f),
                Step::Field(_) | Step::Element(_) | Step::Valid | Step::NextIndex | Step::Slice { .. } => {}
            }
        }
    }
}
