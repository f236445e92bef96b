//! Types of the programs, and their declarations.

use super::Gen;

/// A type; declared ones by index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ty {
    Bool,
    Bit(u32),
    Int(u32),
    Error,
    /// Struct, header, union, enum or new type.
    Named(usize),
    /// A stack of headers or unions: the element type by index, and the size.
    Stack(usize, u32),
    Tuple(Vec<Ty>),
    Varbit(u32),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Struct(Vec<(String, Ty)>),
    Header(Vec<(String, Ty)>),
    Union(Vec<(String, Ty)>),
    Enum(Vec<String>),
    /// Width of the underlying type, and the members.
    SerEnum(u32, Vec<String>),
    New(Ty),
}

#[derive(Clone, Debug)]
pub(super) struct TypeDef {
    pub name: String,
    pub shape: Shape,
}

/// Ordinary ones are likelier.
const WIDTHS: &[u32] = &[
    8, 8, 16, 32, 1, 4, 8, 16, 2, 3, 5, 6, 7, 9, 12, 13, 20, 24, 31, 33, 40, 48, 48, 63, 64, 64, 65, 100,
    128, 128, 129, 255, 256, 300,
];

impl Gen<'_, '_> {
    pub(super) fn width(&mut self) -> u32 {
        *self.choices.pick(WIDTHS).unwrap_or(&8)
    }

    pub(super) fn bit(&mut self) -> Ty {
        Ty::Bit(self.width())
    }

    /// A type with a width, whose values can be written down.
    pub(super) fn scalar(&mut self) -> Ty {
        match self.choices.below(16) {
            0..=8 => self.bit(),
            9..=11 => Ty::Int(self.width().max(2)),
            12 => Ty::Bool,
            13 => Ty::Error,
            _ => {
                let named = self
                    .types_with(|shape| matches!(shape, Shape::Enum(_) | Shape::SerEnum(..) | Shape::New(_)));
                self.choices.pick(&named).map_or(Ty::Bit(8), |i| Ty::Named(*i))
            }
        }
    }

    /// A type for variables and parameters.
    pub(super) fn value(&mut self) -> Ty {
        // Prefer the type of an existing place, so that there are values to read and to write.
        if self.choices.one_in(3) {
            let found = self.places(|e| !matches!(e.ty, Ty::Stack(..) | Ty::Varbit(_)));
            let found: Vec<Ty> = found.into_iter().map(|e| e.ty).filter(|t| !self.is_union(t)).collect();
            if let Some(ty) = self.choices.pick(&found)
                && !self.is_special(ty)
            {
                return ty.clone();
            }
        }
        match self.choices.below(12) {
            0 => {
                let named = self.types_with(|shape| matches!(shape, Shape::Struct(_) | Shape::Header(_)));
                let named: Vec<usize> =
                    named.into_iter().filter(|i| !self.is_special(&Ty::Named(*i))).collect();
                self.choices.pick(&named).map_or(Ty::Bit(8), |i| Ty::Named(*i))
            }
            1 if !self.choices.is_empty() => Ty::Tuple(vec![self.bit(), self.scalar()]),
            _ => self.scalar(),
        }
    }

    pub(super) fn types_with(&self, fits: impl Fn(&Shape) -> bool) -> Vec<usize> {
        (0..self.types.len()).filter(|i| fits(&self.types[*i].shape)).collect()
    }

    pub(super) fn is_union(&self, ty: &Ty) -> bool {
        matches!(ty, Ty::Named(i) if matches!(self.types[*i].shape, Shape::Union(_)))
    }

    pub(super) fn is_header(&self, ty: &Ty) -> bool {
        matches!(ty, Ty::Named(i) if matches!(self.types[*i].shape, Shape::Header(_)))
    }

    /// True if values of the type have no literal: it contains stacks, unions, or parts of variable length.
    pub(super) fn is_special(&self, ty: &Ty) -> bool {
        match ty {
            Ty::Stack(..) | Ty::Varbit(_) => true,
            Ty::Named(_) if self.is_union(ty) => true,
            Ty::Named(_) => self.fields_of(ty).iter().any(|(_, t)| self.is_special(t)),
            Ty::Tuple(items) => items.iter().any(|t| self.is_special(t)),
            Ty::Bool | Ty::Bit(_) | Ty::Int(_) | Ty::Error => false,
        }
    }

    /// Fields of structs, headers and unions.
    pub(super) fn fields_of(&self, ty: &Ty) -> Vec<(String, Ty)> {
        match ty {
            Ty::Named(i) => match &self.types[*i].shape {
                Shape::Struct(fields) | Shape::Header(fields) | Shape::Union(fields) => fields.clone(),
                Shape::Enum(_) | Shape::SerEnum(..) | Shape::New(_) => Vec::new(),
            },
            Ty::Bool | Ty::Bit(_) | Ty::Int(_) | Ty::Error | Ty::Stack(..) | Ty::Tuple(_) | Ty::Varbit(_) => {
                Vec::new()
            }
        }
    }

    pub(super) fn element_of(&self, ty: &Ty) -> Option<(Ty, u32)> {
        match ty {
            Ty::Stack(i, n) => Some((Ty::Named(*i), *n)),
            _ => None,
        }
    }

    pub(super) fn text(&self, ty: &Ty) -> String {
        match ty {
            Ty::Bool => "bool".to_string(),
            Ty::Bit(w) => format!("bit<{w}>"),
            Ty::Int(w) => format!("int<{w}>"),
            Ty::Error => "error".to_string(),
            Ty::Named(i) => self.types[*i].name.clone(),
            Ty::Stack(i, n) => format!("{}[{n}]", self.types[*i].name),
            Ty::Tuple(items) => {
                let items: Vec<String> = items.iter().map(|t| self.text(t)).collect();
                format!("tuple<{}>", items.join(", "))
            }
            Ty::Varbit(w) => format!("varbit<{w}>"),
        }
    }

    /// The width of what has one as a bit string.
    pub(super) fn width_of(&self, ty: &Ty) -> Option<u32> {
        match ty {
            Ty::Bool => Some(1),
            Ty::Bit(w) | Ty::Int(w) => Some(*w),
            Ty::Named(i) => match &self.types[*i].shape {
                Shape::SerEnum(w, _) => Some(*w),
                Shape::New(ty) => self.width_of(ty),
                Shape::Struct(_) | Shape::Header(_) | Shape::Union(_) | Shape::Enum(_) => None,
            },
            Ty::Error | Ty::Stack(..) | Ty::Tuple(_) | Ty::Varbit(_) => None,
        }
    }

    /// True if the value has a fixed number of bits, as what is hashed must have.
    pub(super) fn has_bits(&self, ty: &Ty) -> bool {
        self.bits_of(ty).is_some()
    }

    /// The fixed number of bits of a value and its parts.
    pub(super) fn bits_of(&self, ty: &Ty) -> Option<u32> {
        match ty {
            Ty::Named(i) => match &self.types[*i].shape {
                Shape::Struct(fields) | Shape::Header(fields) => {
                    fields.iter().try_fold(0, |sum, (_, t)| Some(sum + self.bits_of(t)?))
                }
                Shape::SerEnum(..) | Shape::New(_) => self.width_of(ty),
                Shape::Enum(_) | Shape::Union(_) => None,
            },
            Ty::Bool | Ty::Bit(_) | Ty::Int(_) => self.width_of(ty),
            Ty::Error | Ty::Stack(..) | Ty::Tuple(_) | Ty::Varbit(_) => None,
        }
    }

    /// Adds a type that an include file declares.
    pub(super) fn known_type(&mut self, name: &str, shape: Shape) {
        self.types.push(TypeDef { name: name.to_string(), shape });
    }

    /// A type by its name in the language.
    pub(super) fn named(&self, name: &str) -> Ty {
        match name {
            "bool" => Ty::Bool,
            "error" => Ty::Error,
            _ => self.types.iter().position(|t| t.name == name).map_or(Ty::Bit(16), Ty::Named),
        }
    }

    fn fields(&mut self, head: &str, fields: &[(String, Ty)]) {
        self.open(&format!("{head} {{"));
        for (name, ty) in fields {
            let text = self.text(ty);
            self.line(&format!("{text} {name};"));
        }
        self.close("}");
    }

    pub(super) fn define(&mut self, name: &str, shape: Shape) -> usize {
        let head = match &shape {
            Shape::Struct(_) => "struct",
            Shape::Header(_) => "header",
            Shape::Union(_) => "header_union",
            Shape::Enum(_) | Shape::SerEnum(..) | Shape::New(_) => "",
        };
        match &shape {
            Shape::Struct(fields) | Shape::Header(fields) | Shape::Union(fields) => {
                self.fields(&format!("{head} {name}"), fields);
            }
            Shape::Enum(members) => self.line(&format!("enum {name} {{ {} }}", members.join(", "))),
            Shape::SerEnum(w, members) => {
                let valued: Vec<String> =
                    members.iter().enumerate().map(|(i, m)| format!("{m} = {}", i + i / 2)).collect();
                self.line(&format!("enum bit<{w}> {name} {{ {} }}", valued.join(", ")));
            }
            Shape::New(ty) => {
                let text = self.text(ty);
                self.line(&format!("type {text} {name};"));
            }
        }
        self.types.push(TypeDef { name: name.to_string(), shape });
        self.types.len() - 1
    }

    /// Enums, new types, headers, unions and structs; then `Headers` and `Metadata`, whose indices it gives.
    pub(super) fn type_declarations(&mut self) -> (usize, usize) {
        self.line("error { Odd, Even }");
        if self.choices.one_in(2) {
            self.define("Colour", Shape::Enum(["Red", "Green", "Blue"].map(String::from).to_vec()));
        }
        if self.choices.one_in(2) {
            let w = [8, 4, 16][self.choices.below(3)];
            self.define("Kind", Shape::SerEnum(w, ["None", "Some", "Many"].map(String::from).to_vec()));
        }
        if self.choices.one_in(3) {
            let ty = self.bit();
            self.define("Fresh", Shape::New(ty));
        }
        if self.choices.one_in(3) {
            self.line("typedef bit<16> Word;");
            self.line("const Word TWO = 2;");
        }
        let n_headers = 2 + self.choices.below(4);
        let headers: Vec<usize> = (0..n_headers).map(|i| self.header(i)).collect();
        let with_varbit = self.choices.one_in(4).then(|| {
            let max = [320, 64, 33][self.choices.below(3)];
            let fields = vec![("length".to_string(), Ty::Bit(8)), ("data".to_string(), Ty::Varbit(max))];
            self.define("Options", Shape::Header(fields))
        });
        let union = (n_headers > 1 && self.choices.one_in(3)).then(|| {
            let members = headers.iter().take(3).enumerate();
            let members = members.map(|(i, h)| (format!("u{i}"), Ty::Named(*h))).collect();
            self.define("Either", Shape::Union(members))
        });
        if self.choices.one_in(2) {
            let fields = (0..2 + self.choices.below(2)).map(|i| (format!("s{i}"), self.scalar())).collect();
            self.define("Inner", Shape::Struct(fields));
        }
        let mut of_headers: Vec<(String, Ty)> = Vec::new();
        for (i, header) in headers.iter().enumerate() {
            of_headers.push((format!("h{i}"), Ty::Named(*header)));
        }
        if self.choices.one_in(2) {
            let header = headers[self.choices.below(headers.len())];
            of_headers.push(("stack".to_string(), Ty::Stack(header, 1 + self.choices.below(4) as u32)));
        }
        if let Some(options) = with_varbit {
            of_headers.push(("options".to_string(), Ty::Named(options)));
        }
        if let Some(union) = union {
            of_headers.push(("either".to_string(), Ty::Named(union)));
            if self.choices.one_in(2) {
                of_headers.push(("eithers".to_string(), Ty::Stack(union, 2 + self.choices.below(2) as u32)));
            }
        }
        if self.choices.one_in(4) {
            let pair = vec![
                ("left".to_string(), Ty::Named(headers[0])),
                ("right".to_string(), Ty::Named(headers[headers.len() - 1])),
            ];
            let pair = self.define("Pair", Shape::Struct(pair));
            of_headers.push(("pair".to_string(), Ty::Named(pair)));
        }
        let of_headers = self.define("Headers", Shape::Struct(of_headers));
        let metadata = self.metadata("Metadata");
        (of_headers, metadata)
    }

    fn header(&mut self, index: usize) -> usize {
        let mut fields = vec![("kind".to_string(), Ty::Bit([8, 8, 16, 4][self.choices.below(4)]))];
        for i in 0..1 + self.choices.below(5) {
            let ty = match self.choices.below(12) {
                0..=7 => self.bit(),
                8 | 9 => Ty::Int(self.width().max(2)),
                10 => Ty::Bool,
                _ => {
                    let enums = self.types_with(|shape| matches!(shape, Shape::SerEnum(..)));
                    self.choices.pick(&enums).map_or(Ty::Bit(16), |i| Ty::Named(*i))
                }
            };
            fields.push((format!("f{i}"), ty));
        }
        let n_bits: u32 = fields.iter().filter_map(|(_, ty)| self.width_of(ty)).sum();
        if !n_bits.is_multiple_of(8) && !self.choices.one_in(8) {
            fields.push(("pad".to_string(), Ty::Bit(8 - n_bits % 8)));
        }
        let name = format!("Header{index}");
        self.define(&name, Shape::Header(fields))
    }

    /// User metadata, parts of it in field lists.
    pub(super) fn metadata(&mut self, name: &str) -> usize {
        let mut fields: Vec<(String, Ty)> =
            (0..2 + self.choices.below(5)).map(|i| (format!("m{i}"), self.scalar())).collect();
        let inner = self.types_with(|shape| matches!(shape, Shape::Struct(_)));
        if let Some(i) = inner.iter().find(|i| self.types[**i].name == "Inner")
            && self.choices.one_in(2)
        {
            fields.push(("inner".to_string(), Ty::Named(*i)));
        }
        if self.choices.one_in(4) {
            let headers = self.types_with(|shape| matches!(shape, Shape::Header(_)));
            let header = headers[self.choices.below(headers.len())];
            fields.push(("spare".to_string(), Ty::Named(header)));
        }
        self.open(&format!("struct {name} {{"));
        self.line("@field_list(1, 2) bit<8> rounds;");
        for (i, (name, ty)) in fields.iter().enumerate() {
            let list = match i % 4 {
                1 => "@field_list(1) ",
                3 => "@field_list(1, 2) ",
                _ => "",
            };
            let text = self.text(ty);
            self.line(&format!("{list}{text} {name};"));
        }
        self.close("}");
        fields.insert(0, ("rounds".to_string(), Ty::Bit(8)));
        self.types.push(TypeDef { name: name.to_string(), shape: Shape::Struct(fields) });
        self.types.len() - 1
    }
}
