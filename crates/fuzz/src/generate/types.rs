//! Types, and declarations that make new ones.

use super::{Gen, Var};

/// A type, by structure; declared types by index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ty {
    Bool,
    Bit(u32),
    Int(u32),
    Error,
    Tuple(Vec<Ty>),
    /// Index into `Gen::types`.
    Named(usize),
    /// A specialised generic struct: index and argument.
    Generic(usize, Box<Ty>),
    /// A stack of headers: index and size.
    Stack(usize, u32),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Struct(Vec<(String, Ty)>),
    /// Fields may be of type `T`, written as `None`.
    GenericStruct(Vec<(String, Option<Ty>)>),
    Header(Vec<(String, Ty)>),
    Union(Vec<(String, Ty)>),
    Enum(Vec<String>),
    SerEnum(Ty, Vec<String>),
    /// `type` declarations.
    New(Ty),
}

#[derive(Clone, Debug)]
pub(crate) struct TypeDef {
    pub name: String,
    pub shape: Shape,
}

const WIDTHS: &[u32] = &[8, 1, 2, 3, 7, 9, 16, 31, 32, 33, 48, 64, 65, 128, 300];

impl Gen<'_, '_> {
    pub(super) fn width(&mut self) -> u32 {
        *self.choices.pick(WIDTHS).unwrap_or(&8)
    }

    /// True for the type that only parsers and controls use; it has no literals.
    fn is_pipeline_type(&self, ty: &Ty) -> bool {
        matches!(ty, Ty::Named(i) if self.types[*i].name == "Headers")
    }

    /// Types of plain numbers.
    pub(super) fn bit_type(&mut self) -> Ty {
        Ty::Bit(self.width())
    }

    /// A type that constants, variables and parameters may have.
    pub(super) fn value_type(&mut self) -> Ty {
        match self.choices.below(16) {
            0..=3 => self.bit_type(),
            // So that there is something to read and to write of the type.
            12..=15 => match self.choices.pick(&self.vars) {
                Some(Var { ty: Ty::Stack(..), .. }) | None => self.bit_type(),
                Some(var) if self.is_pipeline_type(&var.ty) => self.bit_type(),
                Some(var) => var.ty.clone(),
            },
            4 => Ty::Int(self.width().max(2)),
            5 => Ty::Bool,
            6 => Ty::Error,
            7 if !self.choices.is_empty() => {
                Ty::Tuple((0..1 + self.choices.below(3)).map(|_| self.value_type()).collect())
            }
            _ => {
                let named: Vec<usize> = (0..self.types.len())
                    .filter(|i| {
                        !matches!(self.types[*i].shape, Shape::Union(_)) && self.types[*i].name != "Headers"
                    })
                    .collect();
                match self.choices.pick(&named) {
                    Some(&i) => match &self.types[i].shape {
                        Shape::GenericStruct(_) => Ty::Generic(i, Box::new(self.bit_type())),
                        Shape::Struct(_) | Shape::Header(_) | Shape::Union(_) | Shape::Enum(_) => {
                            Ty::Named(i)
                        }
                        Shape::SerEnum(..) | Shape::New(_) => Ty::Named(i),
                    },
                    None => self.bit_type(),
                }
            }
        }
    }

    /// Draws the type of a header field.
    fn header_field_type(&mut self) -> Ty {
        match self.choices.below(6) {
            0..=3 => self.bit_type(),
            4 => Ty::Int(self.width().max(2)),
            _ => {
                let serialisable: Vec<usize> = (0..self.types.len())
                    .filter(|i| matches!(self.types[*i].shape, Shape::SerEnum(Ty::Bit(_), _)))
                    .collect();
                self.choices.pick(&serialisable).map_or(Ty::Bit(8), |i| Ty::Named(*i))
            }
        }
    }

    pub(super) fn type_declaration(&mut self) {
        match self.choices.below(9) {
            0 | 1 => {
                self.header();
            }
            2 | 3 => {
                let n = 1 + self.choices.below(4);
                let fields: Vec<(String, Ty)> =
                    (0..n).map(|_| (self.fresh("m"), self.field_type())).collect();
                let name = self.fresh("S");
                self.fields(&format!("struct {name}"), &fields);
                self.types.push(TypeDef { name, shape: Shape::Struct(fields) });
            }
            4 => {
                let name = self.fresh("E");
                let members: Vec<String> = (0..1 + self.choices.below(4)).map(|_| self.fresh("x")).collect();
                self.line(&format!("enum {name} {{ {} }}", members.join(", ")));
                self.types.push(TypeDef { name, shape: Shape::Enum(members) });
            }
            5 => {
                let name = self.fresh("E");
                // Wide enough for all members.
                let width = self.width().max(8);
                let members: Vec<String> = (0..1 + self.choices.below(4)).map(|_| self.fresh("x")).collect();
                let with_values: Vec<String> =
                    members.iter().enumerate().map(|(i, m)| format!("{m} = {}", i * 3)).collect();
                self.line(&format!("enum bit<{width}> {name} {{ {} }}", with_values.join(", ")));
                self.types.push(TypeDef { name, shape: Shape::SerEnum(Ty::Bit(width), members) });
            }
            6 => {
                let ty = self.value_type();
                let name = self.fresh("A");
                let text = self.type_text(&ty);
                self.line(&format!("typedef {text} {name};"));
                self.aliases.push((name, ty));
            }
            7 => {
                let base = if self.choices.one_in(3) { Ty::Bool } else { self.bit_type() };
                let name = self.fresh("N");
                let text = self.type_text(&base);
                self.line(&format!("type {text} {name};"));
                self.types.push(TypeDef { name, shape: Shape::New(base) });
            }
            _ if self.choices.one_in(2) => self.generic_struct(),
            _ => self.union(),
        }
    }

    pub(super) fn header(&mut self) -> usize {
        let n = 1 + self.choices.below(5);
        let fields: Vec<(String, Ty)> = (0..n).map(|_| (self.fresh("m"), self.header_field_type())).collect();
        let name = self.fresh("H");
        self.fields(&format!("header {name}"), &fields);
        self.types.push(TypeDef { name, shape: Shape::Header(fields) });
        self.types.len() - 1
    }

    fn generic_struct(&mut self) {
        let n = 1 + self.choices.below(3);
        let fields: Vec<(String, Option<Ty>)> = (0..n)
            .map(|i| {
                let ty = if i == 0 || self.choices.one_in(3) { None } else { Some(self.value_type()) };
                (self.fresh("m"), ty)
            })
            .collect();
        let name = self.fresh("G");
        self.open(&format!("struct {name}<T> {{"));
        for (field, ty) in &fields {
            let text = ty.as_ref().map_or("T".to_string(), |ty| self.type_text(ty));
            self.line(&format!("{text} {field};"));
        }
        self.close("}");
        self.types.push(TypeDef { name, shape: Shape::GenericStruct(fields) });
    }

    fn union(&mut self) {
        let headers = self.headers();
        if headers.is_empty() {
            return;
        }
        let n = 1 + self.choices.below(3);
        let fields: Vec<(String, Ty)> = (0..n)
            .map(|_| (self.fresh("m"), Ty::Named(headers[self.choices.below(headers.len())])))
            .collect();
        let name = self.fresh("U");
        self.fields(&format!("header_union {name}"), &fields);
        self.types.push(TypeDef { name, shape: Shape::Union(fields) });
    }

    pub(super) fn headers(&self) -> Vec<usize> {
        (0..self.types.len()).filter(|i| matches!(self.types[*i].shape, Shape::Header(_))).collect()
    }

    /// Draws the type of a struct field. Unions and stacks occur only in the headers of a pipeline.
    fn field_type(&mut self) -> Ty {
        self.value_type()
    }

    pub(super) fn fields(&mut self, head: &str, fields: &[(String, Ty)]) {
        self.open(&format!("{head} {{"));
        for (name, ty) in fields {
            let text = self.type_text(ty);
            self.line(&format!("{text} {name};"));
        }
        self.close("}");
    }

    /// The type as text, now and then by an alias.
    pub(super) fn type_text(&mut self, ty: &Ty) -> String {
        let aliases: Vec<String> =
            self.aliases.iter().filter(|(_, t)| t == ty).map(|(name, _)| name.clone()).collect();
        if !aliases.is_empty() && self.choices.one_in(2) {
            return aliases[self.choices.below(aliases.len())].clone();
        }
        match ty {
            Ty::Bool => "bool".to_string(),
            Ty::Bit(1) if self.choices.one_in(2) => "bit".to_string(),
            Ty::Bit(w) if self.choices.one_in(10) => format!("bit<({w} + 1 - 1)>"),
            Ty::Bit(w) => format!("bit<{w}>"),
            Ty::Int(w) => format!("int<{w}>"),
            Ty::Error => "error".to_string(),
            Ty::Tuple(items) => {
                let items: Vec<String> = items.iter().map(|t| self.type_text(t)).collect();
                format!("tuple<{}>", items.join(", "))
            }
            Ty::Named(i) => self.types[*i].name.clone(),
            Ty::Generic(i, argument) => {
                let argument = self.type_text(argument);
                format!("{}<{argument}>", self.types[*i].name)
            }
            Ty::Stack(i, n) => format!("{}[{n}]", self.types[*i].name),
        }
    }

    /// Fields of structs, headers and unions.
    pub(super) fn fields_of(&self, ty: &Ty) -> Vec<(String, Ty)> {
        match ty {
            Ty::Named(i) => match &self.types[*i].shape {
                Shape::Struct(fields) | Shape::Header(fields) | Shape::Union(fields) => fields.clone(),
                Shape::GenericStruct(_) | Shape::Enum(_) | Shape::SerEnum(..) | Shape::New(_) => Vec::new(),
            },
            Ty::Generic(i, argument) => match &self.types[*i].shape {
                Shape::GenericStruct(fields) => fields
                    .iter()
                    .map(|(name, ty)| (name.clone(), ty.clone().unwrap_or_else(|| (**argument).clone())))
                    .collect(),
                _ => Vec::new(),
            },
            Ty::Bool | Ty::Bit(_) | Ty::Int(_) | Ty::Error | Ty::Tuple(_) | Ty::Stack(..) => Vec::new(),
        }
    }
}
