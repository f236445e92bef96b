//! Expressions.
//!
//! A value of up to 128 bits becomes a C expression; a wider one is computed into a variable of limbs before the
//! statement that needs it. That is always allowed: expressions have no side effects and cannot fail.

use crate::function::access::{Access, Part};
use crate::function::func::Func;
use crate::function::scalar::{
    Class, Scalar, bits64, comparison, constant, cut, limbs_text, low_limbs, shift_by, slice_of,
};
use crate::text::types::{Repr, n_limbs, repr, width_of};
use ir::{BinaryOp, Bits, Expr, ExprKind, Type, UnaryOp};

impl Func<'_, '_> {
    /// A value of up to 128 bits.
    pub(crate) fn scalar(&mut self, e: &Expr) -> Scalar {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.scalar_of(e))
    }

    fn scalar_of(&mut self, e: &Expr) -> Scalar {
        let width = width_of(&e.ty);
        if width == 0 {
            return constant(0);
        }
        match &e.kind {
            ExprKind::Const(bits) => {
                let mut value = constant(bits.to_u128().unwrap_or(0));
                let errors = self.cx.names.errors();
                if let (Type::Error, Some(name)) = (&e.ty, errors.get(bits.low_u64() as usize)) {
                    value.text.clone_from(name);
                }
                value
            }
            ExprKind::Read(place) => {
                let access = self.place(place);
                self.load(&access)
            }
            ExprKind::Unary(op, a) => {
                let a = self.scalar(a);
                self.unary(*op, &a, width)
            }
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b, width),
            ExprKind::Mux(c, a, b) => {
                let (c, a, b) = (self.scalar(c), self.scalar(a), self.scalar(b));
                let class = a.class.max(b.class);
                let text = format!("{} ? {} : {}", c.operand(), a.at_least(class), b.at_least(class));
                Scalar::compound(text, class)
            }
            ExprKind::Cast(a) => self.cast(a, width),
            ExprKind::Slice { value, lo } => self.slice(value, *lo, width),
            ExprKind::SliceAt { value, lo } => {
                let amount = self.index_amount(lo);
                let of_bits = width_of(&value.ty);
                if of_bits > 128 {
                    let from = self.limbs(value);
                    return self.slice_of_limbs(&from, of_bits, &amount, width);
                }
                let value = self.scalar(value);
                let bits = bits64(of_bits);
                Scalar::atom(
                    format!("sd_slice{bits}({}, {amount}, {width})", value.text),
                    if of_bits <= 64 { Class::U64 } else { Class::U128 },
                )
            }
            ExprKind::PacketLength => Scalar::atom("p->length_bytes", Class::U32),
        }
    }

    fn slice_of_limbs(&mut self, from: &str, of_bits: u32, lo: &str, width: u32) -> Scalar {
        let n = n_limbs(width);
        let c = self.cx.types.limbs(n);
        let t = self.temp();
        self.code.line(format!("{c} {t};"));
        self.code.line(format!("sd_wide_slice({t}.limb, {width}, {from}.limb, {of_bits}, {lo});"));
        low_limbs(&t, width)
    }

    fn slice(&mut self, value: &Expr, lo: u32, width: u32) -> Scalar {
        let of_bits = width_of(&value.ty);
        if of_bits > 128 {
            let from = self.limbs(value);
            return self.slice_of_limbs(&from, of_bits, &lo.to_string(), width);
        }
        let value = self.scalar(value);
        slice_of(&value, of_bits, lo, width)
    }

    /// A shift amount of any width, saturated to 64 bits.
    fn amount(&mut self, e: &Expr) -> String {
        let width = width_of(&e.ty);
        match width {
            0..=64 => self.scalar(e).text,
            65..=128 => format!("sd_amount128({})", self.scalar(e).text),
            _ => {
                let limbs = self.limbs(e);
                format!("sd_wide_amount({limbs}.limb, {width})")
            }
        }
    }

    /// An index; a negative one becomes larger than any size.
    pub(crate) fn index_amount(&mut self, e: &Expr) -> String {
        let width = width_of(&e.ty);
        if e.ty.is_signed() && width <= 64 && width > 0 && e.as_const().is_none_or(Bits::is_negative) {
            let value = self.scalar(e);
            return format!("sd_signed_amount({}, {width})", value.text);
        }
        self.amount(e)
    }

    fn unary(&mut self, op: UnaryOp, a: &Scalar, width: u32) -> Scalar {
        let class = Class::of_width(width);
        match op {
            UnaryOp::Not => Scalar::compound(format!("!{}", a.operand()), Class::Int),
            UnaryOp::Complement => cut(format!("~{}", a.at_least(class)), width),
            UnaryOp::Negate => cut(format!("-{}", a.at_least(class)), width),
        }
    }

    fn binary(&mut self, op: BinaryOp, a: &Expr, b: &Expr, width: u32) -> Scalar {
        let operand_width = width_of(&a.ty).max(match op {
            BinaryOp::Shl | BinaryOp::Shr => 0,
            _ => width_of(&b.ty),
        });
        if operand_width > 128 || matches!(a.ty, Type::Varbit(_)) {
            return self.compare_wide(op, a, b);
        }
        let is_signed = a.ty.is_signed();
        let a_width = width_of(&a.ty);
        let class = Class::of_width(width);
        match op {
            BinaryOp::Shl | BinaryOp::Shr => {
                let x = self.scalar(a);
                if let Some(n) = b.as_const().map(|n| n.shift_amount()) {
                    return shift_by(op, &x, n, width, is_signed);
                }
                let n = self.amount(b);
                let bits = bits64(width);
                let text = match (op, is_signed) {
                    (BinaryOp::Shl, _) => format!("sd_shl{bits}({}, {n}, {width})", x.text),
                    (_, true) => format!("sd_sar{bits}({}, {n}, {width})", x.text),
                    (_, false) => format!("sd_shr{bits}({}, {n})", x.text),
                };
                return Scalar::atom(text, if width <= 64 { Class::U64 } else { Class::U128 });
            }
            _ => {}
        }
        let (x, y) = (self.scalar(a), self.scalar(b));
        match op {
            BinaryOp::Add => cut(format!("{} + {}", x.at_least(class), y.at_least(class)), width),
            BinaryOp::Sub => {
                // Cut to the width, what is below zero wraps.
                cut(format!("{} - {}", x.at_least(class), y.at_least(class)), width)
            }
            BinaryOp::Mul => {
                // The product of two numbers of 16 bits does not fit an `int`.
                let class = if width > 15 { class.max(Class::U32) } else { class };
                cut(format!("{} * {}", x.at_least(class), y.at_least(class)), width)
            }
            BinaryOp::Div | BinaryOp::Mod => {
                let (sign, name) = if op == BinaryOp::Div { ("/", "div") } else { ("%", "mod") };
                if y.constant.is_some_and(|c| c != 0) {
                    return Scalar::compound(
                        format!("{} {sign} {}", x.at_least(class), y.at_least(class)),
                        class,
                    );
                }
                let bits = bits64(width);
                let class = if width <= 64 { Class::U64 } else { Class::U128 };
                Scalar::atom(format!("sd_{name}{bits}({}, {})", x.text, y.text), class)
            }
            BinaryOp::SatAdd | BinaryOp::SatSub => {
                let name = if op == BinaryOp::SatAdd { "add" } else { "sub" };
                let bits = bits64(width);
                let class = if width <= 64 { Class::U64 } else { Class::U128 };
                let text = match (is_signed, op) {
                    (true, _) => format!("sd_sat_{name}_signed{bits}({}, {}, {width})", x.text, y.text),
                    (false, BinaryOp::SatSub) => format!("sd_sat_sub{bits}({}, {})", x.text, y.text),
                    (false, _) => format!("sd_sat_add{bits}({}, {}, {width})", x.text, y.text),
                };
                Scalar::atom(text, class)
            }
            BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => {
                let sign = match op {
                    BinaryOp::BitAnd => "&",
                    BinaryOp::BitOr => "|",
                    _ => "^",
                };
                let class = x.class.max(y.class);
                Scalar::compound(format!("{} {sign} {}", x.at_least(class), y.at_least(class)), class)
            }
            BinaryOp::And => Scalar::compound(format!("{} && {}", x.operand(), y.operand()), Class::Int),
            BinaryOp::Or => Scalar::compound(format!("{} || {}", x.operand(), y.operand()), Class::Int),
            BinaryOp::Concat => {
                let low = width_of(&b.ty);
                if low == 0 {
                    return x;
                }
                if a_width == 0 {
                    return y;
                }
                let class = class.max(Class::U32);
                Scalar::compound(format!("{} << {low} | {}", x.at_least(class), y.at_least(class)), class)
            }
            BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
                let sign = comparison(op);
                let is_order = !matches!(op, BinaryOp::Eq | BinaryOp::Ne);
                if is_signed && is_order && a_width > 0 {
                    let bits = bits64(a_width);
                    let of = |v: &Scalar| format!("sd_signed{bits}({}, {a_width})", v.text);
                    return Scalar::compound(format!("{} {sign} {}", of(&x), of(&y)), Class::Int);
                }
                let class = x.class.max(y.class);
                Scalar::compound(format!("{} {sign} {}", x.at_least(class), y.at_least(class)), Class::Int)
            }
            BinaryOp::Shl | BinaryOp::Shr => constant(0),
        }
    }

    fn compare_wide(&mut self, op: BinaryOp, a: &Expr, b: &Expr) -> Scalar {
        if matches!(a.ty, Type::Varbit(_)) {
            let (x, y) = (self.aggregate(a), self.aggregate(b));
            let equal = format!("memcmp(&{x}, &{y}, sizeof {x}) == 0");
            let text = if op == BinaryOp::Ne { format!("!({equal})") } else { equal };
            return Scalar::compound(text, Class::Int);
        }
        let width = width_of(&a.ty);
        let (x, y) = (self.limbs(a), self.limbs(b));
        match op {
            BinaryOp::Eq => Scalar::atom(format!("sd_wide_eq({x}.limb, {y}.limb, {width})"), Class::Int),
            BinaryOp::Ne => Scalar::compound(format!("!sd_wide_eq({x}.limb, {y}.limb, {width})"), Class::Int),
            _ => {
                let (sign, signed) = (comparison(op), a.ty.is_signed());
                let text = format!("sd_wide_cmp({x}.limb, {y}.limb, {width}, {signed}) {sign} 0");
                Scalar::compound(text, Class::Int)
            }
        }
    }

    fn cast(&mut self, a: &Expr, width: u32) -> Scalar {
        let from = width_of(&a.ty);
        if from > 128 {
            let limbs = self.limbs(a);
            return self.slice_of_limbs(&limbs, from, "0", width);
        }
        let x = self.scalar(a);
        if from == width || from == 0 {
            return x;
        }
        if width < from {
            return slice_of(&x, from, 0, width);
        }
        if !a.ty.is_signed() {
            return x;
        }
        let bits = bits64(width);
        let class = if width <= 64 { Class::U64 } else { Class::U128 };
        Scalar::atom(format!("sd_extend{bits}({}, {from}, {width})", x.text), class)
    }

    /// A value of any width as limbs: gives something with a member `limb`.
    pub(crate) fn limbs(&mut self, e: &Expr) -> String {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.limbs_of(e))
    }

    fn new_limbs(&mut self, width: u32) -> String {
        let c = self.cx.types.limbs(n_limbs(width));
        let t = self.temp();
        self.code.line(format!("{c} {t};"));
        t
    }

    fn limbs_of(&mut self, e: &Expr) -> String {
        let width = width_of(&e.ty);
        if width <= 128 {
            let value = self.scalar(e);
            let c = self.cx.types.limbs(n_limbs(width));
            let t = self.temp();
            if width <= 64 {
                self.code.line(format!("const {c} {t} = {{{{{}}}}};", value.text));
            } else {
                let x = self.bind("sd_u128", &value.text);
                self.code.line(format!("const {c} {t} = {{{{(uint64_t){x}, (uint64_t)({x} >> 64)}}}};"));
            }
            return t;
        }
        match &e.kind {
            ExprKind::Const(bits) => {
                let c = self.cx.types.limbs(n_limbs(width));
                let t = self.temp();
                self.code.line(format!("static const {c} {t} = {{{{{}}}}};", limbs_text(bits, width)));
                t
            }
            ExprKind::Read(place) => {
                let access = self.place(place);
                self.load_limbs(&access, width)
            }
            ExprKind::Unary(op, a) => {
                let a = self.limbs(a);
                let t = self.new_limbs(width);
                let name = if *op == UnaryOp::Negate { "neg" } else { "not" };
                self.code.line(format!("sd_wide_{name}({t}.limb, {a}.limb, {width});"));
                t
            }
            ExprKind::Binary(op, a, b) => self.binary_limbs(*op, a, b, width),
            ExprKind::Mux(c, a, b) => {
                let (c, a, b) = (self.scalar(c), self.limbs(a), self.limbs(b));
                let t = self.new_limbs(width);
                self.code.line(format!("{t} = {} ? {a} : {b};", c.operand()));
                t
            }
            ExprKind::Cast(a) => {
                let (from, signed) = (width_of(&a.ty), a.ty.is_signed());
                let a = self.limbs(a);
                if from == width {
                    return a;
                }
                let t = self.new_limbs(width);
                self.code.line(format!("sd_wide_resize({t}.limb, {width}, {a}.limb, {from}, {signed});"));
                t
            }
            ExprKind::Slice { value, lo } => {
                let from = width_of(&value.ty);
                let value = self.limbs(value);
                let t = self.new_limbs(width);
                self.code.line(format!("sd_wide_slice({t}.limb, {width}, {value}.limb, {from}, {lo});"));
                t
            }
            ExprKind::SliceAt { value, lo } => {
                let lo = self.index_amount(lo);
                let from = width_of(&value.ty);
                let value = self.limbs(value);
                let t = self.new_limbs(width);
                self.code.line(format!("sd_wide_slice({t}.limb, {width}, {value}.limb, {from}, {lo});"));
                t
            }
            ExprKind::PacketLength => self.new_limbs(width),
        }
    }

    fn binary_limbs(&mut self, op: BinaryOp, a: &Expr, b: &Expr, width: u32) -> String {
        let signed = a.ty.is_signed();
        let (a_width, b_width) = (width_of(&a.ty), width_of(&b.ty));
        let x = self.limbs(a);
        if matches!(op, BinaryOp::Shl | BinaryOp::Shr) {
            let n = self.amount(b);
            let t = self.new_limbs(width);
            let name = match (op, signed) {
                (BinaryOp::Shl, _) => "shl",
                (_, true) => "sar",
                (_, false) => "shr",
            };
            self.code.line(format!("sd_wide_{name}({t}.limb, {x}.limb, {n}, {width});"));
            return t;
        }
        let y = self.limbs(b);
        let t = self.new_limbs(width);
        let line = match op {
            BinaryOp::Concat => {
                format!("sd_wide_concat({t}.limb, {x}.limb, {a_width}, {y}.limb, {b_width});")
            }
            BinaryOp::SatAdd => format!("sd_wide_sat_add({t}.limb, {x}.limb, {y}.limb, {width}, {signed});"),
            BinaryOp::SatSub => format!("sd_wide_sat_sub({t}.limb, {x}.limb, {y}.limb, {width}, {signed});"),
            _ => {
                let name = match op {
                    BinaryOp::Add => "add",
                    BinaryOp::Sub => "sub",
                    BinaryOp::Mul => "mul",
                    BinaryOp::Div => "div",
                    BinaryOp::Mod => "mod",
                    BinaryOp::BitAnd => "and",
                    BinaryOp::BitOr => "or",
                    _ => "xor",
                };
                format!("sd_wide_{name}({t}.limb, {x}.limb, {y}.limb, {width});")
            }
        };
        self.code.line(line);
        t
    }

    /// A `varbit`, struct, header, stack or array: an expression that has an address.
    pub(crate) fn aggregate(&mut self, e: &Expr) -> String {
        match &e.kind {
            ExprKind::Read(place) => {
                let access = self.place(place);
                self.readable(&access)
            }
            ExprKind::Mux(c, a, b) => {
                let (c, a, b) = (self.scalar(c), self.aggregate(a), self.aggregate(b));
                format!("(*({} ? &{a} : &{b}))", c.operand())
            }
            // Nothing else is of such a type.
            _ => self.cx.types.zero(&e.ty),
        }
    }

    /// The value of an access, as an expression with an address.
    pub(crate) fn readable(&mut self, access: &Access) -> String {
        match &access.guard {
            None => access.lvalue.clone(),
            Some(guard) => {
                let zero = self.cx.types.zero(&access.ty);
                format!("(*({guard} ? &{} : &{zero}))", access.lvalue)
            }
        }
    }

    /// A single value of up to 128 bits out of a place.
    pub(crate) fn load(&mut self, access: &Access) -> Scalar {
        let of_bits = width_of(&access.ty);
        if of_bits > 128 {
            let whole = self.readable(access);
            return match &access.part {
                Part::Whole => constant(0),
                Part::Slice { lo, width } => self.slice_of_limbs(&whole, of_bits, &lo.to_string(), *width),
                Part::SliceAt { lo, width } => self.slice_of_limbs(&whole, of_bits, lo, *width),
            };
        }
        let bits = match repr(&access.ty) {
            Some(Repr::Int(bits)) => bits,
            Some(Repr::Limbs(_) | Repr::Varbit(_)) | None => 8,
        };
        let class = match bits {
            8 | 16 => Class::Int,
            32 => Class::U32,
            64 => Class::U64,
            _ => Class::U128,
        };
        let whole = match &access.guard {
            None => Scalar::atom(access.lvalue.clone(), class),
            Some(guard) => Scalar {
                text: format!("({guard} ? {} : 0)", access.lvalue),
                class,
                is_atom: true,
                constant: None,
            },
        };
        match &access.part {
            Part::Whole => whole,
            Part::Slice { lo, width } => slice_of(&whole, of_bits, *lo, *width),
            Part::SliceAt { lo, width } => Scalar::atom(
                format!("sd_slice{}({}, {lo}, {width})", bits64(of_bits), whole.text),
                if of_bits <= 64 { Class::U64 } else { Class::U128 },
            ),
        }
    }

    fn load_limbs(&mut self, access: &Access, width: u32) -> String {
        let of_bits = width_of(&access.ty);
        let whole = self.readable(access);
        let lo = match &access.part {
            Part::Whole => return whole,
            Part::Slice { lo, .. } => lo.to_string(),
            Part::SliceAt { lo, .. } => lo.clone(),
        };
        let t = self.new_limbs(width);
        if of_bits > 128 {
            self.code.line(format!("sd_wide_slice({t}.limb, {width}, {whole}.limb, {of_bits}, {lo});"));
        } else {
            // A slice that is wider than what it is of.
            let value = format!("sd_slice128({whole}, {lo}, {of_bits})");
            let x = self.bind("sd_u128", &value);
            self.code.line(format!("memset(&{t}, 0, sizeof {t});"));
            self.code.line(format!("{t}.limb[0] = (uint64_t){x};"));
            self.code.line(format!("{t}.limb[1] = (uint64_t)({x} >> 64);"));
        }
        t
    }
}
