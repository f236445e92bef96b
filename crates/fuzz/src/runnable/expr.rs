//! Expressions of a wanted type, in parentheses wherever they might be needed.

use super::types::{Shape, Ty};
use super::{Callable, Direction, Gen};

const DEPTH_MAX: usize = 3;

impl Gen<'_, '_> {
    pub(super) fn expr(&mut self, ty: &Ty) -> String {
        self.expr_at(ty, DEPTH_MAX)
    }

    /// Without calls: where the language wants no side effects.
    pub(super) fn pure_expr(&mut self, ty: &Ty) -> String {
        let functions = std::mem::take(&mut self.functions);
        let text = self.expr_at(ty, 2);
        self.functions = functions;
        text
    }

    fn expr_at(&mut self, ty: &Ty, depth: usize) -> String {
        if depth == 0 || self.choices.is_empty() {
            return self.leaf(ty);
        }
        let depth = depth - 1;
        match self.choices.below(12) {
            0..=3 => self.leaf(ty),
            4 => {
                let condition = self.expr_at(&Ty::Bool, depth);
                let (a, b) = (self.expr_at(ty, depth), self.expr_at(ty, depth));
                format!("({condition} ? {a} : {b})")
            }
            5 => self.call_of(ty, depth).unwrap_or_else(|| self.leaf(ty)),
            _ => match ty {
                Ty::Bool => self.condition(depth),
                Ty::Bit(w) => self.bits(*w, depth),
                Ty::Int(w) => self.signed(*w, depth),
                Ty::Named(i) => self.made(*i, depth),
                Ty::Tuple(items) => {
                    let items = items.clone();
                    let items: Vec<String> = items.iter().map(|t| self.expr_at(t, depth)).collect();
                    format!("{{ {} }}", items.join(", "))
                }
                Ty::Error | Ty::Stack(..) | Ty::Varbit(_) => self.leaf(ty),
            },
        }
    }

    fn condition(&mut self, depth: usize) -> String {
        match self.choices.below(9) {
            0 => format!("!{}", self.expr_at(&Ty::Bool, depth)),
            1 => format!("({} && {})", self.expr_at(&Ty::Bool, depth), self.expr_at(&Ty::Bool, depth)),
            2 => format!("({} || {})", self.expr_at(&Ty::Bool, depth), self.expr_at(&Ty::Bool, depth)),
            3 | 4 => {
                let signed = self.choices.one_in(3);
                let ty = self.number_type(signed);
                let op = self.one_of(&["<", ">", "<=", ">=", "==", "!="]);
                format!("({} {op} {})", self.expr_at(&ty, depth), self.expr_at(&ty, depth))
            }
            5 | 6 => self.validity().unwrap_or_else(|| self.leaf(&Ty::Bool)),
            7 => self.equality().unwrap_or_else(|| self.leaf(&Ty::Bool)),
            _ => format!("((bool){})", self.expr_at(&Ty::Bit(1), depth)),
        }
    }

    /// A type that something in scope has.
    fn number_type(&mut self, signed: bool) -> Ty {
        let found = self.places(|e| match e.ty {
            Ty::Bit(_) => !signed,
            Ty::Int(_) => signed,
            _ => false,
        });
        match self.choices.pick(&found) {
            Some(e) => e.ty.clone(),
            None if signed => Ty::Int(self.width().max(2)),
            None => self.bit(),
        }
    }

    fn validity(&mut self) -> Option<String> {
        let found: Vec<String> = self
            .places(|e| self.is_header(&e.ty) || self.is_union(&e.ty))
            .into_iter()
            .map(|e| e.path)
            .collect();
        self.choices.pick(&found).map(|path| format!("{path}.isValid()"))
    }

    /// Compares two headers, structs, enums or errors.
    fn equality(&mut self) -> Option<String> {
        let found = self.places(|e| match &e.ty {
            Ty::Error => true,
            Ty::Named(_) => !self.is_special(&e.ty),
            _ => false,
        });
        let first = self.choices.pick(&found)?.clone();
        let second = match self.choices.below(2) {
            0 => self.place_of(&first.ty, false)?,
            _ if self.fields_of(&first.ty).is_empty() => self.leaf(&first.ty),
            _ => self.place_of(&first.ty, false)?,
        };
        let op = self.one_of(&["==", "!="]);
        Some(format!("({} {op} {second})", first.path))
    }

    fn bits(&mut self, w: u32, depth: usize) -> String {
        let ty = Ty::Bit(w);
        match self.choices.below(16) {
            0 => format!("({}{})", self.one_of(&["- ", "~ "]), self.expr_at(&ty, depth)),
            1..=3 => {
                let op = self.one_of(&["+", "-", "|+|", "|-|", "*", "&", "|", "^"]);
                format!("({} {op} {})", self.expr_at(&ty, depth), self.expr_at(&ty, depth))
            }
            4 => {
                let op = self.one_of(&["/", "%"]);
                let value = 1 + self.choices.below(if w >= 4 { 15 } else { 1 });
                format!("({} {op} {w}w{value})", self.expr_at(&ty, depth))
            }
            5 | 6 => {
                let op = self.one_of(&["<<", ">>"]);
                if self.choices.one_in(3) {
                    format!("({} {op} {})", self.expr_at(&ty, depth), self.choices.below(w as usize + 2))
                } else {
                    let by = self.number_type(false);
                    format!("({} {op} {})", self.expr_at(&ty, depth), self.expr_at(&by, depth))
                }
            }
            7 | 8 if w > 1 => {
                let high = 1 + self.choices.below(w as usize - 1) as u32;
                let a = self.expr_at(&Ty::Bit(high), depth);
                format!("({a} ++ {})", self.expr_at(&Ty::Bit(w - high), depth))
            }
            9 | 10 => self.slice(w, depth),
            11 | 12 => {
                let from = self.number_type(false);
                format!("((bit<{w}>){})", self.expr_at(&from, depth))
            }
            13 if w >= 2 => format!("((bit<{w}>){})", self.expr_at(&Ty::Int(w), depth)),
            14 if w == 1 => format!("((bit<1>){})", self.expr_at(&Ty::Bool, depth)),
            14 | 15 => {
                let named = self.types_with(|shape| match shape {
                    Shape::SerEnum(width, _) | Shape::New(Ty::Bit(width)) => *width == w,
                    _ => false,
                });
                match self.choices.pick(&named).copied() {
                    Some(i) => format!("((bit<{w}>){})", self.expr_at(&Ty::Named(i), depth)),
                    None => self.stack_element(&ty).unwrap_or_else(|| self.leaf(&ty)),
                }
            }
            _ => self.leaf(&ty),
        }
    }

    fn slice(&mut self, w: u32, depth: usize) -> String {
        let wide = self.places(|e| matches!(e.ty, Ty::Bit(of) if of >= w));
        let found = self.choices.pick(&wide).cloned();
        let (whole, of) = match found {
            Some(entry) => {
                let of = if let Ty::Bit(of) = entry.ty { of } else { w };
                (entry.path, of)
            }
            None => {
                let of = w + self.choices.below(20) as u32;
                (self.expr_at(&Ty::Bit(of), depth), of)
            }
        };
        let low = self.choices.below((of - w) as usize + 1) as u32;
        format!("{whole}[{}:{low}]", low + w - 1)
    }

    /// A field of a stack's element whose index is computed.
    fn stack_element(&mut self, ty: &Ty) -> Option<String> {
        let stacks = self.places(|e| matches!(e.ty, Ty::Stack(..)));
        let stack = self.choices.pick(&stacks)?.clone();
        let (element, n) = self.element_of(&stack.ty)?;
        let fields: Vec<String> =
            self.fields_of(&element).into_iter().filter(|(_, t)| t == ty).map(|(name, _)| name).collect();
        let field = self.choices.pick(&fields)?.clone();
        let index = self.index(n);
        Some(format!("{}[{index}].{field}", stack.path))
    }

    /// An index into something of `n` elements: mostly in range, computed or not.
    pub(super) fn index(&mut self, n: u32) -> String {
        if self.choices.one_in(3) {
            return self.choices.below(n as usize).to_string();
        }
        // A constant would have to be in range.
        let places = self.places(|e| matches!(e.ty, Ty::Bit(1..=32)) && !e.path.starts_with('C'));
        match self.choices.pick(&places).cloned() {
            Some(entry) if self.choices.one_in(2) => {
                format!("({} & {})", entry.path, self.literal_below(&entry.ty))
            }
            Some(entry) => entry.path,
            None => "0".to_string(),
        }
    }

    fn literal_below(&mut self, ty: &Ty) -> String {
        let Ty::Bit(w) = ty else { return "0".to_string() };
        let max = if *w >= 2 { 3 } else { 1 };
        format!("{w}w{}", 1 + self.choices.below(max))
    }

    fn signed(&mut self, w: u32, depth: usize) -> String {
        let ty = Ty::Int(w);
        match self.choices.below(10) {
            0 => format!("({}{})", self.one_of(&["- ", "~ "]), self.expr_at(&ty, depth)),
            1..=3 => {
                let op = self.one_of(&["+", "-", "|+|", "|-|", "*", "&", "|", "^"]);
                format!("({} {op} {})", self.expr_at(&ty, depth), self.expr_at(&ty, depth))
            }
            4 | 5 => {
                let op = self.one_of(&["<<", ">>"]);
                let by = self.number_type(false);
                format!("({} {op} {})", self.expr_at(&ty, depth), self.expr_at(&by, depth))
            }
            6 | 7 => {
                let from = self.number_type(true);
                format!("((int<{w}>){})", self.expr_at(&from, depth))
            }
            8 => format!("((int<{w}>){})", self.expr_at(&Ty::Bit(w), depth)),
            _ => self.leaf(&ty),
        }
    }

    /// Structs, headers, enums and new types from their parts.
    fn made(&mut self, i: usize, depth: usize) -> String {
        let (name, shape) = (self.types[i].name.clone(), self.types[i].shape.clone());
        match shape {
            Shape::SerEnum(w, _) => format!("(({name}){})", self.expr_at(&Ty::Bit(w), depth)),
            Shape::New(ty) => format!("(({name}){})", self.expr_at(&ty, depth)),
            Shape::Header(_) if self.choices.one_in(4) => format!("({name}){{#}}"),
            Shape::Struct(fields) | Shape::Header(fields) if !self.is_special(&Ty::Named(i)) => {
                let values: Vec<String> = fields
                    .iter()
                    .map(|(field, t)| format!("{field} = {}", self.expr_at(t, depth / 2)))
                    .collect();
                format!("({name}){{ {} }}", values.join(", "))
            }
            Shape::Struct(_) | Shape::Header(_) | Shape::Union(_) | Shape::Enum(_) => {
                self.leaf(&Ty::Named(i))
            }
        }
    }

    /// Something in scope, or a literal.
    pub(super) fn leaf(&mut self, ty: &Ty) -> String {
        if !self.choices.one_in(4)
            && let Some(path) = self.place_of(ty, false)
        {
            return path;
        }
        self.literal(ty)
    }

    pub(super) fn literal(&mut self, ty: &Ty) -> String {
        match ty {
            Ty::Bool => self.one_of(&["false", "true"]).to_string(),
            Ty::Bit(w) => self.number(*w, *w, 'w'),
            Ty::Int(w) => {
                let text = self.number(*w, w - 1, 's');
                if self.choices.one_in(3) { format!("(-{text})") } else { text }
            }
            Ty::Error => {
                let name = self.one_of(&["NoError", "Odd", "Even", "NoMatch", "PacketTooShort"]);
                format!("error.{name}")
            }
            Ty::Tuple(items) => {
                let items = items.clone();
                let items: Vec<String> = items.iter().map(|t| self.literal(t)).collect();
                format!("{{ {} }}", items.join(", "))
            }
            // There is no literal, and no caller wants one.
            Ty::Stack(..) | Ty::Varbit(_) => "{#}".to_string(),
            Ty::Named(i) => {
                let name = self.types[*i].name.clone();
                match self.types[*i].shape.clone() {
                    Shape::Enum(members) | Shape::SerEnum(_, members) => {
                        let member = self.choices.pick(&members).cloned().unwrap_or_default();
                        format!("{name}.{member}")
                    }
                    Shape::New(ty) => format!("(({name}){})", self.literal(&ty)),
                    Shape::Struct(fields) | Shape::Header(fields) | Shape::Union(fields) => {
                        let values: Vec<String> = fields
                            .iter()
                            .map(|(field, t)| format!("{field} = {}", self.literal(t)))
                            .collect();
                        format!("({name}){{ {} }}", values.join(", "))
                    }
                }
            }
        }
    }

    /// `8w17` with at most this many bits: mostly one of few values, so that they meet again.
    fn number(&mut self, w: u32, bits: u32, sign: char) -> String {
        let value = self.natural(bits);
        if self.choices.one_in(3) { format!("{w}{sign}0x{value:x}") } else { format!("{w}{sign}{value}") }
    }

    /// A number of at most `bits` bits: small ones, the largest and any.
    pub(super) fn natural(&mut self, bits: u32) -> u128 {
        let max: u128 = if bits >= 128 { u128::MAX } else { (1 << bits) - 1 };
        let value: u128 = match self.choices.below(8) {
            0..=3 => self.choices.below(4) as u128,
            4 => max,
            5 => max >> 1,
            6 => self.choices.below(256) as u128,
            _ => (0..16).fold(0, |v, _| v << 8 | u128::from(self.choices.byte())),
        };
        value & max
    }

    fn call_of(&mut self, ty: &Ty, depth: usize) -> Option<String> {
        let found: Vec<Callable> =
            self.functions.iter().filter(|f| f.result.as_ref() == Some(ty)).cloned().collect();
        let callable = self.choices.pick(&found)?.clone();
        let arguments = self.arguments(&callable, depth)?;
        Some(format!("{}({arguments})", callable.name))
    }

    /// By position or by name; `None` when there is nothing to write to.
    pub(super) fn arguments(&mut self, callable: &Callable, depth: usize) -> Option<String> {
        let by_name = self.choices.one_in(6);
        let mut texts = Vec::new();
        let mut written: Vec<String> = Vec::new();
        for p in &callable.params {
            let text = match p.direction {
                Direction::In | Direction::Data | Direction::Updatable => self.expr_at(&p.ty, depth.min(2)),
                Direction::Out | Direction::InOut => {
                    let path = match self.choices.below(6) {
                        0 => self.stack_element_to_write(&p.ty).or_else(|| self.place_of(&p.ty, true))?,
                        _ => self.place_of(&p.ty, true)?,
                    };
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

    fn stack_element_to_write(&mut self, ty: &Ty) -> Option<String> {
        let stacks = self.places(|e| e.is_writable && matches!(e.ty, Ty::Stack(..)));
        if stacks.is_empty() {
            return None;
        }
        let hidden = self.scope.len();
        let text = self.stack_element(ty);
        self.scope.truncate(hidden);
        // The stack that was chosen may be one that is only read.
        text.filter(|t| stacks.iter().any(|s| t.starts_with(&format!("{}[", s.path))))
    }
}
