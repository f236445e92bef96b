//! P4 declarations of externs, compared with the calls of a program.

use crate::signature::{Arg, Signature, Value};

/// A declaration of a function or method, reduced to directions and widths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    result: Option<Shape>,
    params: Vec<Param>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Param {
    is_in: bool,
    shape: Shape,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Shape {
    /// `bit<W>`, `int<W>`, `bool`
    Bits(u32),
    /// `bit<*>`
    AnyBits,
    /// `bit<A|B|...>`
    OneOf(Vec<u32>),
    Varbit(u32),
    Text,
    /// `_`
    Any,
    /// `{ ... }`, the fields of an aggregate.
    Fields(Vec<Shape>),
}

impl Declaration {
    /// Reads `[extern] type [name](direction type [name], ...)[;]`; `Err` says what is wrong.
    pub fn parse(text: &str) -> Result<Declaration, String> {
        let mut reader = Reader { rest: text };
        reader.take("extern");
        let result = if reader.take("void") { None } else { Some(reader.shape()?) };
        reader.word();
        reader.want("(")?;
        let mut params = Vec::new();
        while !reader.take(")") {
            if !params.is_empty() {
                reader.want(",")?;
            }
            let direction = ["inout", "out", "in"].into_iter().find(|word| reader.take(word));
            let shape = reader.shape()?;
            reader.word();
            params.push(Param { is_in: matches!(direction, None | Some("in")), shape });
        }
        reader.take(";");
        match reader.rest.trim() {
            "" => Ok(Declaration { result, params }),
            rest => Err(format!("there is more than a declaration: `{rest}`")),
        }
    }

    /// Returns whether the call matches the declaration.
    pub fn accepts(&self, call: &Signature) -> bool {
        let result = match (&self.result, &call.result) {
            (None, None) => true,
            // A result that the program does not use has no storage.
            (Some(_), None) => true,
            (Some(shape), Some(value)) => shape.accepts(std::slice::from_ref(value)),
            (None, Some(_)) => false,
        };
        result
            && self.params.len() == call.args.len()
            && self.params.iter().zip(&call.args).all(|(param, arg)| match arg {
                Arg::In(values) => param.is_in && param.shape.accepts(values),
                Arg::InOut(values) => !param.is_in && param.shape.accepts(values),
                Arg::Text(_) => matches!(param.shape, Shape::Text | Shape::Any),
                Arg::Absent => param.shape == Shape::Any,
            })
    }
}

impl Shape {
    fn accepts(&self, values: &[Value]) -> bool {
        match (self, values) {
            (Shape::Any, _) => true,
            (Shape::Bits(width), [value]) => !value.is_varbit && value.width_bits == *width,
            (Shape::AnyBits, [value]) => !value.is_varbit,
            (Shape::OneOf(widths), [value]) => !value.is_varbit && widths.contains(&value.width_bits),
            // The storage is rounded up to whole words.
            (Shape::Varbit(width), [value]) => {
                value.is_varbit && value.width_bits == width.div_ceil(8).next_multiple_of(4).max(4) * 8
            }
            (Shape::Fields(shapes), values) => {
                shapes.len() == values.len()
                    && shapes
                        .iter()
                        .zip(values)
                        .all(|(shape, value)| shape.accepts(std::slice::from_ref(value)))
            }
            (Shape::Bits(_) | Shape::AnyBits | Shape::OneOf(_) | Shape::Varbit(_) | Shape::Text, _) => false,
        }
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    /// Consumes a word or a sign if it is next.
    fn take(&mut self, wanted: &str) -> bool {
        let trimmed = self.rest.trim_start();
        let Some(rest) = trimmed.strip_prefix(wanted) else { return false };
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if wanted.ends_with(is_word) && rest.starts_with(is_word) {
            return false;
        }
        self.rest = rest;
        true
    }

    fn want(&mut self, sign: &str) -> Result<(), String> {
        match self.take(sign) {
            true => Ok(()),
            false => Err(format!("expected `{sign}` at `{}`", self.rest.trim())),
        }
    }

    /// Consumes a name, or `type.method`, if it is next.
    fn word(&mut self) -> Option<&'a str> {
        let trimmed = self.rest.trim_start();
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let n = trimmed.find(|c| !is_part(c)).unwrap_or(trimmed.len());
        let (word, rest) = trimmed.split_at(n);
        if word.is_empty() {
            return None;
        }
        self.rest = rest;
        Some(word)
    }

    fn width(&mut self, at: &str) -> Result<u32, String> {
        let width = self.word().and_then(|word| word.parse().ok());
        width.ok_or_else(|| format!("expected a width at `{at}`"))
    }

    fn shape(&mut self) -> Result<Shape, String> {
        if self.take("{") {
            let mut fields = Vec::new();
            while !self.take("}") {
                if !fields.is_empty() {
                    self.want(",")?;
                }
                fields.push(match self.shape()? {
                    Shape::Fields(_) => return Err("fields of fields are written one after the other".into()),
                    field => field,
                });
            }
            return Ok(Shape::Fields(fields));
        }
        let at = self.rest.trim().to_owned();
        match self.word() {
            Some("bool") => Ok(Shape::Bits(1)),
            Some("error") => Ok(Shape::Bits(32)),
            Some("string") => Ok(Shape::Text),
            Some("_") => Ok(Shape::Any),
            Some(kind @ ("bit" | "int" | "varbit")) => {
                if !self.take("<") {
                    return if kind == "bit" {
                        Ok(Shape::Bits(1))
                    } else {
                        Err(format!("expected a width at `{at}`"))
                    };
                }
                let shape = if kind != "varbit" && self.take("*") {
                    Shape::AnyBits
                } else {
                    let width = self.width(&at)?;
                    let mut widths = vec![width];
                    while kind != "varbit" && self.take("|") {
                        widths.push(self.width(&at)?);
                    }
                    match (kind, widths.len()) {
                        ("varbit", _) => Shape::Varbit(width),
                        (_, 1) => Shape::Bits(width),
                        _ => Shape::OneOf(widths),
                    }
                };
                self.want(">")?;
                Ok(shape)
            }
            _ => Err(format!("expected a type at `{at}`")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(width_bits: u32) -> Value {
        Value { offset: 0, size_bytes: 8, width_bits, is_varbit: false }
    }

    fn call(args: Vec<Arg>, result: Option<u32>) -> Signature {
        Signature { name: "f".into(), object: None, args, args_bytes: 0, result: result.map(value) }
    }

    #[test]
    fn calls_are_compared_by_direction_and_width() {
        let one = |width| vec![Arg::In(vec![value(width)])];
        let out = |width| vec![Arg::InOut(vec![value(width)])];
        let cases = [
            ("void f(in bit<32> key)", call(one(32), None), true),
            ("extern void f(in bit<32> key);", call(one(32), None), true),
            ("void(bit<32>)", call(one(32), None), true),
            ("void f(in bit<32> key)", call(one(31), None), false),
            ("void f(in bit<32> key)", call(out(32), None), false),
            ("void f(in bit<32> key)", call(one(32), Some(1)), false),
            ("bool f(out bit<8> a)", call(out(8), Some(1)), true),
            ("bool f(inout int<8> a)", call(out(8), None), true),
            ("bit<2> f(inout int<8> a)", call(out(8), Some(1)), false),
            ("void f(in bit<*> a)", call(one(77), None), true),
            ("void f(in bit<8|16> a)", call(one(16), None), true),
            ("void f(in bit<8|16> a)", call(one(9), None), false),
            ("void f(in _ a)", call(vec![Arg::In(vec![value(7), value(9)])], None), true),
            ("void f(in {bit<7>, bit<9>} a)", call(vec![Arg::In(vec![value(7), value(9)])], None), true),
            ("void f(in {bit<7>, bit<8>} a)", call(vec![Arg::In(vec![value(7), value(9)])], None), false),
            ("void f(in bit<7> a, in bit<9> b)", call(vec![Arg::In(vec![value(7), value(9)])], None), false),
            ("void T.m(string s, _ x)", call(vec![Arg::Text("a".into()), Arg::Absent], None), true),
            ("void f()", call(vec![], None), true),
            ("void f()", call(one(1), None), false),
        ];
        for (text, call, is_accepted) in cases {
            let declaration = Declaration::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(declaration.accepts(&call), is_accepted, "{text} for {call}");
        }
    }

    #[test]
    fn faults_are_told() {
        for (text, message) in [
            ("", "expected a type at ``"),
            ("void f", "expected `(` at ``"),
            ("void f(in bit<x> a)", "expected a width at `bit<x> a)`"),
            ("void f(in bit<8 a)", "expected `>` at `a)`"),
            ("void f(in a)", "expected a type at `a)`"),
            ("void f() more", "there is more than a declaration: `more`"),
            ("void f(bit<1> a bit<2> b)", "expected `,` at `bit<2> b)`"),
        ] {
            assert_eq!(Declaration::parse(text), Err(message.to_owned()), "{text}");
        }
    }

    #[test]
    fn signatures_read_like_declarations() {
        let args = vec![Arg::In(vec![value(3)]), Arg::InOut(vec![value(7), value(9)]), Arg::Text("x".into())];
        let text = call(args, Some(1)).to_string();
        assert_eq!(text, "bit<1> f(in bit<3>, inout {bit<7>, bit<9>}, string)");
    }
}
