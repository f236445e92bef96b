//! Expressions of a wanted type.

use super::types::{Shape, Ty};
use super::{Callable, Direction, Gen};

/// How tightly an expression binds: what stands in a looser one needs parentheses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tight {
    Conditional,
    Or,
    And,
    Equality,
    Relation,
    BitOr,
    BitXor,
    BitAnd,
    Shift,
    Sum,
    Product,
    Prefix,
    Postfix,
}

use Tight::*;

type Text = (String, Tight);

const DEPTH_MAX: usize = 5;

impl Gen<'_, '_> {
    /// An expression that may stand by itself.
    pub(super) fn expr(&mut self, ty: &Ty, is_const: bool) -> String {
        self.expr_at(ty, is_const, DEPTH_MAX).0
    }

    /// A value for a variable or constant: also lists without a type of their own.
    pub(super) fn initialiser(&mut self, ty: &Ty, is_const: bool) -> String {
        let fields = self.fields_of(ty);
        match ty {
            Ty::Tuple(items) if self.choices.one_in(2) => {
                let items: Vec<String> = items.iter().map(|t| self.initialiser(t, is_const)).collect();
                format!("{{ {} }}", items.join(", "))
            }
            _ if !fields.is_empty() && self.choices.one_in(2) => {
                let is_named = self.choices.one_in(2);
                let values: Vec<String> = fields
                    .iter()
                    .map(|(name, t)| {
                        let value = self.initialiser(t, is_const);
                        if is_named { format!("{name} = {value}") } else { value }
                    })
                    .collect();
                format!("{{ {} }}", values.join(", "))
            }
            _ => self.expr(ty, is_const),
        }
    }

    /// An operand of an operator that binds this tightly.
    fn operand(&mut self, ty: &Ty, is_const: bool, depth: usize, at_least: Tight) -> String {
        let (text, tight) = self.expr_at(ty, is_const, depth);
        if tight < at_least || self.choices.one_in(8) { format!("({text})") } else { text }
    }

    fn expr_at(&mut self, ty: &Ty, is_const: bool, depth: usize) -> Text {
        if depth == 0 || self.is_long() || self.choices.is_empty() {
            return self.leaf(ty, is_const);
        }
        let depth = depth - 1;
        match self.choices.below(10) {
            0..=2 => self.leaf(ty, is_const),
            3 => {
                let condition = self.operand(&Ty::Bool, is_const, depth, Or);
                let yes = self.operand(ty, is_const, depth, Conditional);
                let no = self.operand(ty, is_const, depth, Conditional);
                (format!("{condition} ? {yes} : {no}"), Conditional)
            }
            4 if !is_const => self.call_of(ty, depth).unwrap_or_else(|| self.leaf(ty, is_const)),
            _ => match ty {
                Ty::Bool => self.condition(is_const, depth),
                Ty::Bit(w) => self.bits(*w, is_const, depth),
                Ty::Int(w) => self.signed(*w, is_const, depth),
                Ty::Error | Ty::Tuple(_) | Ty::Stack(..) => self.leaf(ty, is_const),
                Ty::Named(_) | Ty::Generic(..) => self.made(ty, is_const, depth),
            },
        }
    }

    fn condition(&mut self, is_const: bool, depth: usize) -> Text {
        match self.choices.below(6) {
            0 => (format!("!{}", self.operand(&Ty::Bool, is_const, depth, Prefix)), Prefix),
            1 => self.binary(&Ty::Bool, &Ty::Bool, "&&", And, is_const, depth),
            2 => self.binary(&Ty::Bool, &Ty::Bool, "||", Or, is_const, depth),
            3 => {
                let ty = match self.value_type() {
                    // A list has no type of its own to be compared as.
                    Ty::Tuple(_) => Ty::Bool,
                    ty => ty,
                };
                let op = ["==", "!="][self.choices.below(2)];
                self.binary(&ty, &ty, op, Equality, is_const, depth)
            }
            4 => {
                let ty = if self.choices.one_in(3) { Ty::Int(self.width().max(2)) } else { self.bit_type() };
                let op = ["<", ">", "<=", ">="][self.choices.below(4)];
                // `<` could begin type arguments, which is another test's matter.
                let left = self.operand(&ty, is_const, depth, Prefix);
                let right = self.operand(&ty, is_const, depth, Prefix);
                (format!("({left}) {op} {right}"), Relation)
            }
            _ => match self.validity(is_const) {
                Some(text) => (text, Postfix),
                None => (format!("(bool){}", self.operand(&Ty::Bit(1), is_const, depth, Prefix)), Prefix),
            },
        }
    }

    /// `h.isValid()`
    fn validity(&mut self, is_const: bool) -> Option<String> {
        if is_const {
            return None;
        }
        let headers = self.headers();
        let header = Ty::Named(*self.choices.pick(&headers)?);
        let paths = self.paths(&header, false, false);
        let path = self.choices.pick(&paths)?;
        Some(format!("{path}.isValid()"))
    }

    fn binary(
        &mut self,
        left: &Ty,
        right: &Ty,
        op: &str,
        tight: Tight,
        is_const: bool,
        depth: usize,
    ) -> Text {
        // All operators associate to the left, so the right side must bind tighter.
        let next = match tight {
            Or => And,
            And => Equality,
            Equality => Relation,
            Relation => BitOr,
            BitOr => BitXor,
            BitXor => BitAnd,
            BitAnd => Shift,
            Shift => Sum,
            Sum => Product,
            Conditional | Product | Prefix | Postfix => Prefix,
        };
        let left = self.operand(left, is_const, depth, tight);
        let right = self.operand(right, is_const, depth, next);
        (format!("{left} {op} {right}"), tight)
    }

    fn bits(&mut self, w: u32, is_const: bool, depth: usize) -> Text {
        let ty = Ty::Bit(w);
        match self.choices.below(12) {
            0 => {
                let op = ["-", "~", "+"][self.choices.below(3)];
                // A space: `--` and `++` would be other tokens.
                (format!("{op} {}", self.operand(&ty, is_const, depth, Prefix)), Prefix)
            }
            1 => {
                let op = ["+", "-", "|+|", "|-|"][self.choices.below(4)];
                self.binary(&ty, &ty, op, Sum, is_const, depth)
            }
            2 => self.binary(&ty, &ty, "*", Product, is_const, depth),
            3 => {
                // The divisor is a literal other than zero.
                let op = ["/", "%"][self.choices.below(2)];
                let left = self.operand(&ty, is_const, depth, Product);
                (format!("{left} {op} {w}w1"), Product)
            }
            4 => match self.choices.below(3) {
                0 => self.binary(&ty, &ty, "&", BitAnd, is_const, depth),
                1 => self.binary(&ty, &ty, "|", BitOr, is_const, depth),
                _ => self.binary(&ty, &ty, "^", BitXor, is_const, depth),
            },
            5 => {
                let op = ["<<", ">>"][self.choices.below(2)];
                if self.choices.one_in(2) {
                    let left = self.operand(&ty, is_const, depth, Shift);
                    (format!("{left} {op} {}", self.choices.below(w as usize + 1)), Shift)
                } else {
                    self.binary(&ty, &Ty::Bit(4), op, Shift, is_const, depth)
                }
            }
            6 if w > 1 => {
                let high = 1 + self.choices.below(w as usize - 1) as u32;
                self.binary(&Ty::Bit(high), &Ty::Bit(w - high), "++", Sum, is_const, depth)
            }
            7 | 8 => {
                let extra = self.choices.below(20) as u32;
                let low = self.choices.below(extra as usize + 1) as u32;
                let whole = self.operand(&Ty::Bit(w + extra), is_const, depth, Postfix);
                (format!("{whole}[{}:{low}]", low + w - 1), Postfix)
            }
            9 => {
                let other = self.bit_type();
                (format!("(bit<{w}>){}", self.operand(&other, is_const, depth, Prefix)), Prefix)
            }
            10 if w >= 2 => {
                (format!("(bit<{w}>){}", self.operand(&Ty::Int(w), is_const, depth, Prefix)), Prefix)
            }
            _ => match self.serialised(w) {
                Some(named) => {
                    (format!("(bit<{w}>){}", self.operand(&named, is_const, depth, Prefix)), Prefix)
                }
                None if w == 1 => {
                    (format!("(bit<1>){}", self.operand(&Ty::Bool, is_const, depth, Prefix)), Prefix)
                }
                None => self.leaf(&ty, is_const),
            },
        }
    }

    /// A type that a cast makes `bit<w>`.
    fn serialised(&mut self, w: u32) -> Option<Ty> {
        let found: Vec<usize> = (0..self.types.len())
            .filter(|i| match &self.types[*i].shape {
                Shape::SerEnum(Ty::Bit(width), _) | Shape::New(Ty::Bit(width)) => *width == w,
                _ => false,
            })
            .collect();
        self.choices.pick(&found).map(|i| Ty::Named(*i))
    }

    fn signed(&mut self, w: u32, is_const: bool, depth: usize) -> Text {
        let ty = Ty::Int(w);
        match self.choices.below(6) {
            0 => {
                let op = ["-", "~", "+"][self.choices.below(3)];
                (format!("{op} {}", self.operand(&ty, is_const, depth, Prefix)), Prefix)
            }
            1 => {
                let op = ["+", "-", "|+|", "|-|"][self.choices.below(4)];
                self.binary(&ty, &ty, op, Sum, is_const, depth)
            }
            2 => self.binary(&ty, &ty, "*", Product, is_const, depth),
            3 => match self.choices.below(3) {
                0 => self.binary(&ty, &ty, "&", BitAnd, is_const, depth),
                1 => self.binary(&ty, &ty, "|", BitOr, is_const, depth),
                _ => self.binary(&ty, &ty, "^", BitXor, is_const, depth),
            },
            4 => {
                let op = ["<<", ">>"][self.choices.below(2)];
                let left = self.operand(&ty, is_const, depth, Shift);
                (format!("{left} {op} {}", self.choices.below(w as usize)), Shift)
            }
            _ => (format!("(int<{w}>){}", self.operand(&Ty::Bit(w), is_const, depth, Prefix)), Prefix),
        }
    }

    /// Structs, headers, enumerations and new types from their parts.
    fn made(&mut self, ty: &Ty, is_const: bool, depth: usize) -> Text {
        let fields = self.fields_of(ty);
        if !fields.is_empty() {
            let values: Vec<String> = fields
                .iter()
                .map(|(name, t)| format!("{name} = {}", self.expr_at(t, is_const, depth / 2).0))
                .collect();
            let name = self.type_text(ty);
            return (format!("({name}){{ {} }}", values.join(", ")), Prefix);
        }
        let Ty::Named(i) = ty else { return self.leaf(ty, is_const) };
        let name = self.types[*i].name.clone();
        match self.types[*i].shape.clone() {
            Shape::New(base) => (format!("({name}){}", self.operand(&base, is_const, depth, Prefix)), Prefix),
            Shape::SerEnum(base, _) => {
                (format!("({name}){}", self.operand(&base, is_const, depth, Prefix)), Prefix)
            }
            Shape::Enum(_)
            | Shape::Struct(_)
            | Shape::GenericStruct(_)
            | Shape::Header(_)
            | Shape::Union(_) => self.leaf(ty, is_const),
        }
    }

    /// A variable, or a literal.
    fn leaf(&mut self, ty: &Ty, is_const: bool) -> Text {
        if self.choices.one_in(2) {
            let paths = self.paths(ty, is_const, false);
            if let Some(path) = self.choices.pick(&paths) {
                return (path.clone(), Postfix);
            }
        }
        self.literal(ty)
    }

    pub(super) fn literal(&mut self, ty: &Ty) -> Text {
        match ty {
            Ty::Bool => (["false", "true"][self.choices.below(2)].to_string(), Postfix),
            Ty::Bit(w) => (self.number(*w, 'w', *w), Postfix),
            Ty::Int(w) => (self.number(*w, 's', w - 1), Postfix),
            Ty::Error => {
                let names = ["NoError", "PacketTooShort", "NoMatch"];
                (format!("error.{}", names[self.choices.below(3)]), Postfix)
            }
            Ty::Tuple(items) => {
                let values: Vec<String> = items.iter().map(|t| self.literal(t).0).collect();
                (format!("{{ {} }}", values.join(", ")), Postfix)
            }
            // There is no literal; callers ask for stacks only where one is in scope.
            Ty::Stack(..) => ("{#}".to_string(), Postfix),
            Ty::Generic(..) => self.literal_of_fields(ty),
            Ty::Named(i) => {
                let name = self.types[*i].name.clone();
                match self.types[*i].shape.clone() {
                    Shape::Enum(members) | Shape::SerEnum(_, members) => {
                        (format!("{name}.{}", members[self.choices.below(members.len())]), Postfix)
                    }
                    Shape::New(base) => (format!("({name}){}", self.literal(&base).0), Prefix),
                    Shape::Header(_) if self.choices.one_in(6) => (format!("({name}){{#}}"), Prefix),
                    Shape::Struct(_) | Shape::Header(_) | Shape::Union(_) | Shape::GenericStruct(_) => {
                        self.literal_of_fields(ty)
                    }
                }
            }
        }
    }

    fn literal_of_fields(&mut self, ty: &Ty) -> Text {
        let values: Vec<String> =
            self.fields_of(ty).iter().map(|(field, t)| format!("{field} = {}", self.literal(t).0)).collect();
        let name = self.type_text(ty);
        (format!("({name}){{ {} }}", values.join(", ")), Prefix)
    }

    /// `8w17`, `8w0x11` and so on with at most this many bits set.
    fn number(&mut self, w: u32, sign: char, bits: u32) -> String {
        let max = if bits >= 63 { u64::MAX >> 1 } else { (1u64 << bits) - 1 };
        let value = match self.choices.below(4) {
            0 => self.choices.below(2) as u64 % (max + 1),
            1 => max,
            _ => self.choices.below(1 << 16) as u64 % (max + 1),
        };
        match self.choices.below(5) {
            0 => format!("{w}{sign}0x{value:X}"),
            1 => format!("{w}{sign}0b{value:b}"),
            _ => format!("{w}{sign}{value}"),
        }
    }

    /// A call whose result has the type.
    fn call_of(&mut self, ty: &Ty, depth: usize) -> Option<Text> {
        let found: Vec<Callable> =
            self.callables().into_iter().filter(|f| f.result.as_ref() == Some(ty)).collect();
        let callable = self.choices.pick(&found)?.clone();
        let arguments = self.arguments(&callable, depth)?;
        Some((format!("{}({arguments})", callable.name), Postfix))
    }

    pub(super) fn callables(&self) -> Vec<Callable> {
        let externs = if self.place.may_call_externs { &self.externs[..] } else { &[] };
        self.functions.iter().chain(externs).cloned().collect()
    }

    /// Arguments by position or by name; `None` when nothing can be written to.
    pub(super) fn arguments(&mut self, callable: &Callable, depth: usize) -> Option<String> {
        let by_name = self.choices.one_in(5);
        let mut texts = Vec::new();
        let mut written: Vec<String> = Vec::new();
        for p in &callable.params {
            let text = match p.direction {
                Direction::None | Direction::In => self.expr_at(&p.ty, false, depth / 2).0,
                Direction::Out | Direction::InOut => {
                    let paths = self.paths(&p.ty, false, true);
                    let path = self.choices.pick(&paths)?.clone();
                    if written.contains(&path) {
                        return None;
                    }
                    written.push(path.clone());
                    path
                }
            };
            texts.push(if by_name { format!("{} = {text}", p.name) } else { text });
        }
        Some(texts.join(", "))
    }

    /// All names, with their fields, that have exactly this type.
    pub(super) fn paths(&self, ty: &Ty, is_const: bool, is_writable: bool) -> Vec<String> {
        let mut found = Vec::new();
        for var in self.vars.iter().rev().take(30) {
            if (!is_const || var.is_const) && (!is_writable || var.is_writable) {
                self.paths_below(&var.name, &var.ty, ty, 4, &mut found);
            }
        }
        found
    }

    /// All places that can be written to and have a value that can be written down, with their types.
    pub(super) fn writable(&self) -> Vec<(String, Ty)> {
        let mut found = Vec::new();
        for var in self.vars.iter().rev().take(12).filter(|v| v.is_writable) {
            self.writable_below(&var.name, &var.ty, 4, &mut found);
        }
        found
    }

    fn writable_below(&self, path: &str, ty: &Ty, depth: usize, found: &mut Vec<(String, Ty)>) {
        let fields = self.fields_of(ty);
        let is_union = matches!(ty, Ty::Named(i) if matches!(self.types[*i].shape, Shape::Union(_)));
        let is_headers = matches!(ty, Ty::Named(i) if self.types[*i].name == "Headers");
        if !is_union && !is_headers && !matches!(ty, Ty::Stack(..)) {
            found.push((path.to_string(), ty.clone()));
        }
        if depth == 0 || found.len() > 40 {
            return;
        }
        for (name, ty) in fields {
            self.writable_below(&format!("{path}.{name}"), &ty, depth - 1, found);
        }
        if let Ty::Stack(header, _) = ty {
            self.writable_below(&format!("{path}[0]"), &Ty::Named(*header), depth - 1, found);
        }
    }

    fn paths_below(&self, path: &str, from: &Ty, to: &Ty, depth: usize, found: &mut Vec<String>) {
        if from == to {
            found.push(path.to_string());
        }
        if depth == 0 || found.len() > 40 {
            return;
        }
        for (name, ty) in self.fields_of(from) {
            self.paths_below(&format!("{path}.{name}"), &ty, to, depth - 1, found);
        }
        if let Ty::Stack(header, n) = from {
            for i in [0, n - 1] {
                self.paths_below(&format!("{path}[{i}]"), &Ty::Named(*header), to, depth - 1, found);
            }
        }
    }
}
