//! Random programs that are free of errors.
//!
//! [`Gen`] keeps what is in scope; each file adds one kind of construct. Programs are text, so that the
//! generator shares nothing with the tree that it tests. Whatever the checker refuses is a finding: either
//! the checker is wrong or the rule is missing here.

mod control;
mod expr;
mod parser;
mod stmt;
mod types;

use crate::Choices;
use types::{Ty, TypeDef};

/// A name that stands for a value.
#[derive(Clone, Debug)]
pub(crate) struct Var {
    name: String,
    ty: Ty,
    is_const: bool,
    is_writable: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    None,
    In,
    Out,
    InOut,
}

impl Direction {
    fn prefix(self) -> &'static str {
        match self {
            Direction::None => "",
            Direction::In => "in ",
            Direction::Out => "out ",
            Direction::InOut => "inout ",
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Param {
    name: String,
    ty: Ty,
    direction: Direction,
}

/// A function or method that can be called by name.
#[derive(Clone, Debug)]
pub(crate) struct Callable {
    name: String,
    params: Vec<Param>,
    /// `None`: `void`.
    result: Option<Ty>,
}

/// The statements allowed in the body being written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    in_loop: bool,
    may_exit: bool,
    may_return: bool,
    may_call_externs: bool,
}

/// The state of a program being written.
pub(crate) struct Gen<'a, 'b> {
    choices: &'a mut Choices<'b>,
    out: String,
    indent: usize,
    n_names: usize,
    types: Vec<TypeDef>,
    aliases: Vec<(String, Ty)>,
    vars: Vec<Var>,
    functions: Vec<Callable>,
    externs: Vec<Callable>,
    place: Place,
    /// The body's return type; `None` for `void`.
    result: Option<Ty>,
}

/// Programs longer than this are not made longer.
const BYTES_MAX: usize = 32 << 10;

/// Writes one program.
pub(crate) fn program(choices: &mut Choices) -> String {
    let mut g = Gen {
        choices,
        out: String::new(),
        indent: 0,
        n_names: 0,
        types: Vec::new(),
        aliases: Vec::new(),
        vars: Vec::new(),
        functions: Vec::new(),
        externs: Vec::new(),
        place: Place::default(),
        result: None,
    };
    g.program();
    g.out
}

impl Gen<'_, '_> {
    fn program(&mut self) {
        let has_v1model = self.choices.one_in(3);
        self.line(if has_v1model { "#include <v1model.p4>" } else { "#include <core.p4>" });
        for _ in 0..self.choices.below(16) {
            self.declaration();
        }
        if !self.choices.is_empty() {
            self.pipeline(has_v1model);
        }
    }

    fn declaration(&mut self) {
        match self.choices.below(12) {
            0 | 1 => self.constant(),
            2..=5 => self.type_declaration(),
            6..=8 => self.function(),
            9 => self.generic_function(),
            10 => self.extern_function(),
            _ => {
                self.action();
            }
        }
    }

    fn constant(&mut self) {
        let ty = self.value_type();
        let name = self.fresh("C");
        let value = self.initialiser(&ty, true);
        let ty_text = self.type_text(&ty);
        self.line(&format!("const {ty_text} {name} = {value};"));
        self.vars.push(Var { name, ty, is_const: true, is_writable: false });
    }

    fn params(&mut self, n_max: usize, directions: &[Direction]) -> Vec<Param> {
        (0..self.choices.below(n_max + 1))
            .map(|_| {
                let direction = *self.choices.pick(directions).unwrap_or(&Direction::In);
                Param { name: self.fresh("p"), ty: self.value_type(), direction }
            })
            .collect()
    }

    fn params_text(&mut self, params: &[Param]) -> String {
        let texts: Vec<String> = params
            .iter()
            .map(|p| format!("{}{} {}", p.direction.prefix(), self.type_text(&p.ty), p.name))
            .collect();
        texts.join(", ")
    }

    fn declare_params(&mut self, params: &[Param]) {
        for p in params {
            let is_writable = matches!(p.direction, Direction::Out | Direction::InOut);
            self.vars.push(Var { name: p.name.clone(), ty: p.ty.clone(), is_const: false, is_writable });
        }
    }

    fn function(&mut self) {
        let params = self.params(4, &[Direction::In, Direction::InOut, Direction::Out]);
        let result = if self.choices.one_in(4) { None } else { Some(self.value_type()) };
        let name = self.fresh("f");
        let (head, params_text) = (self.result_text(&result), self.params_text(&params));
        self.line(&format!("{head} {name}({params_text})"));
        let n_vars = self.vars.len();
        self.declare_params(&params);
        let place = Place { in_loop: false, may_exit: false, may_return: true, may_call_externs: true };
        self.body(place, result.clone(), 5);
        self.vars.truncate(n_vars);
        self.functions.push(Callable { name, params, result });
    }

    fn generic_function(&mut self) {
        let name = self.fresh("g");
        let (a, b) = (self.fresh("p"), self.fresh("p"));
        let text = match self.choices.below(3) {
            0 => format!("T {name}<T>(in T {a}) {{ return {a}; }}"),
            1 => format!("T {name}<T, U>(in T {a}, in U {b}) {{ return {a}; }}"),
            _ => format!("void {name}<T>(inout T {a}, in T {b}) {{ {a} = {b}; }}"),
        };
        self.line(&text);
        // Known under concrete types from now on.
        for _ in 0..2 {
            let (t, u) = (self.value_type(), self.value_type());
            let is_explicit = self.choices.one_in(2);
            let mut arguments = vec![self.type_text(&t)];
            let param =
                |name: &str, ty: &Ty, direction| Param { name: name.to_string(), ty: ty.clone(), direction };
            let (params, result) = match text.split(' ').next() {
                Some("void") => (vec![param(&a, &t, Direction::InOut), param(&b, &t, Direction::In)], None),
                _ if text.contains('U') => {
                    arguments.push(self.type_text(&u));
                    (vec![param(&a, &t, Direction::In), param(&b, &u, Direction::In)], Some(t.clone()))
                }
                _ => (vec![param(&a, &t, Direction::In)], Some(t.clone())),
            };
            let name = if is_explicit { format!("{name}<{}>", arguments.join(", ")) } else { name.clone() };
            self.functions.push(Callable { name, params, result });
        }
    }

    fn extern_function(&mut self) {
        let params = self.params(3, &[Direction::In, Direction::InOut, Direction::Out]);
        let result = if self.choices.one_in(2) { None } else { Some(self.value_type()) };
        let name = self.fresh("e");
        let (head, params_text) = (self.result_text(&result), self.params_text(&params));
        self.line(&format!("extern {head} {name}({params_text});"));
        self.externs.push(Callable { name, params, result });
    }

    fn result_text(&mut self, result: &Option<Ty>) -> String {
        match result {
            Some(ty) => self.type_text(ty),
            None => "void".to_string(),
        }
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.n_names += 1;
        format!("{prefix}{}", self.n_names)
    }

    fn line(&mut self, text: &str) {
        for _ in 0..self.indent {
            self.out.push_str("    ");
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn open(&mut self, text: &str) {
        self.line(text);
        self.indent += 1;
    }

    fn close(&mut self, text: &str) {
        self.indent -= 1;
        self.line(text);
    }

    fn is_long(&self) -> bool {
        self.out.len() > BYTES_MAX
    }
}
