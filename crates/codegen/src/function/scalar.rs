//! C expressions with the value of a P4 one of up to 128 bits.

use crate::text::types::{int_bits, int_type, n_limbs};
use ir::{BinaryOp, Bits};

/// The C type of an expression, after integer promotion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// `int`, not negative.
    Int,
    U32,
    U64,
    U128,
}

impl Class {
    pub(crate) fn of_width(width: u32) -> Class {
        match width {
            0..=16 => Class::Int,
            17..=32 => Class::U32,
            33..=64 => Class::U64,
            _ => Class::U128,
        }
    }

    pub(crate) fn n_bits(self) -> u32 {
        match self {
            Class::Int | Class::U32 => 32,
            Class::U64 => 64,
            Class::U128 => 128,
        }
    }

    pub(crate) fn c_type(self) -> &'static str {
        match self {
            Class::Int | Class::U32 => "uint32_t",
            Class::U64 => "uint64_t",
            Class::U128 => "sd_u128",
        }
    }
}

/// A C expression with the value of a P4 one: never negative, zeros above the width.
#[derive(Clone, Debug)]
pub(crate) struct Scalar {
    pub(crate) text: String,
    pub(crate) class: Class,
    /// Needs no parentheses wherever it stands.
    pub(crate) is_atom: bool,
    pub(crate) constant: Option<u128>,
}

impl Scalar {
    pub(crate) fn atom(text: impl Into<String>, class: Class) -> Scalar {
        Scalar { text: text.into(), class, is_atom: true, constant: None }
    }

    pub(crate) fn compound(text: String, class: Class) -> Scalar {
        Scalar { text, class, is_atom: false, constant: None }
    }

    /// The expression as an operand.
    pub(crate) fn operand(&self) -> String {
        if self.is_atom { self.text.clone() } else { format!("({})", self.text) }
    }

    /// The expression as an operand of at least this type.
    pub(crate) fn at_least(&self, class: Class) -> String {
        if self.class >= class {
            return self.operand();
        }
        match self.constant {
            Some(value) if class < Class::U128 => constant_as(value, class),
            _ => format!("({}){}", class.c_type(), self.operand()),
        }
    }

    /// Without side effects and short: can be written twice.
    pub(crate) fn is_simple(&self) -> bool {
        self.is_atom && !self.text.contains('(')
    }
}

pub(crate) fn constant_as(value: u128, class: Class) -> String {
    let digits = number(value);
    match class {
        Class::Int => digits,
        Class::U32 => format!("{digits}u"),
        Class::U64 => format!("UINT64_C({digits})"),
        Class::U128 => format!("SD_U128({:#x}, {:#x})", (value >> 64) as u64, value as u64),
    }
}

pub(crate) fn number(value: u128) -> String {
    if value < 10 { value.to_string() } else { format!("{value:#x}") }
}

/// A constant of up to 128 bits.
pub(crate) fn constant(value: u128) -> Scalar {
    let class = match value {
        0..=0x7fff_ffff => Class::Int,
        0x8000_0000..=0xffff_ffff => Class::U32,
        0x1_0000_0000..=0xffff_ffff_ffff_ffff => Class::U64,
        _ => Class::U128,
    };
    Scalar { text: constant_as(value, class), class, is_atom: true, constant: Some(value) }
}

pub(crate) fn mask_of(width: u32) -> u128 {
    if width == 0 { 0 } else { u128::MAX >> (128 - width.min(128)) }
}

pub(crate) fn mask_text(width: u32) -> String {
    match width {
        0..=31 => format!("{:#x}", mask_of(width)),
        32 => "0xffffffffu".to_string(),
        33..=64 => format!("UINT64_C({:#x})", mask_of(width)),
        _ => format!("SD_MASK128({width})"),
    }
}

/// Cuts what was computed to the width.
pub(crate) fn cut(text: String, width: u32) -> Scalar {
    let class = Class::of_width(width);
    match width {
        8 | 16 | 32 | 64 => {
            Scalar { text: format!("({})({text})", int_type(width)), class, is_atom: true, constant: None }
        }
        128 => Scalar::compound(text, class),
        _ => Scalar::compound(format!("({text}) & {}", mask_text(width)), class),
    }
}

pub(crate) fn bits64(width: u32) -> &'static str {
    if width <= 64 { "64" } else { "128" }
}

pub(crate) fn comparison(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Eq => "==",
        BinaryOp::Ne => "!=",
        BinaryOp::Lt => "<",
        BinaryOp::Le => "<=",
        BinaryOp::Gt => ">",
        _ => ">=",
    }
}

/// The low limbs of a variable as an integer of up to 128 bits.
pub(crate) fn low_limbs(name: &str, width: u32) -> Scalar {
    if width <= 64 {
        Scalar::atom(format!("{name}.limb[0]"), Class::U64)
    } else {
        Scalar::atom(format!("SD_U128({name}.limb[1], {name}.limb[0])"), Class::U128)
    }
}

/// Limbs of a constant.
pub(crate) fn limbs_text(bits: &Bits, width: u32) -> String {
    let limbs = (0..n_limbs(width)).map(|i| {
        let n = (width.saturating_sub(i * 64)).min(64);
        format!("UINT64_C({:#x})", bits.slice(i * 64, n).low_u64())
    });
    limbs.collect::<Vec<_>>().join(", ")
}

pub(crate) fn slice_of(value: &Scalar, of_bits: u32, lo: u32, width: u32) -> Scalar {
    if width == 0 || lo >= of_bits {
        return constant(0);
    }
    let shifted = if lo == 0 { value.clone() } else { shifted_right(value, lo) };
    if lo + width >= of_bits {
        return shifted;
    }
    match width {
        8 | 16 | 32 | 64 => {
            Scalar::atom(format!("({}){}", int_type(width), shifted.operand()), Class::of_width(width))
        }
        _ => {
            let narrow = value.class > Class::U64 && width <= 64;
            let operand = if narrow { format!("(uint64_t){}", shifted.operand()) } else { shifted.operand() };
            let class = if narrow { Class::U64 } else { value.class };
            Scalar::compound(
                format!("{operand} & {}", mask_text(width)),
                class.max(Class::of_width(width).min(class)),
            )
        }
    }
}

pub(crate) fn shift_by(op: BinaryOp, x: &Scalar, n: u32, width: u32, signed: bool) -> Scalar {
    if n == 0 {
        return x.clone();
    }
    let class = Class::of_width(width);
    match op {
        BinaryOp::Shl if n >= width => constant(0),
        BinaryOp::Shl => cut(format!("{} << {n}", x.at_least(class)), width),
        _ if signed => {
            let bits = bits64(width);
            Scalar::atom(
                format!("sd_sar{bits}({}, {n}, {width})", x.text),
                if width <= 64 { Class::U64 } else { Class::U128 },
            )
        }
        _ if n >= width => constant(0),
        _ => shifted_right(x, n),
    }
}

/// C does not define shifts by all bits of the type or more. What was widened has still its own type.
pub(crate) fn shifted_right(x: &Scalar, n: u32) -> Scalar {
    if n >= x.class.n_bits() {
        return constant(0);
    }
    Scalar::compound(format!("{} >> {n}", x.operand()), x.class)
}

/// The expression can be written several times.
pub(crate) fn is_simple(value: &Scalar) -> bool {
    value.is_simple()
}

pub(crate) fn container(width: u32) -> &'static str {
    int_type(int_bits(width))
}
