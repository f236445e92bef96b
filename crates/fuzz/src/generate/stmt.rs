//! Statements and bodies.

use super::types::{Shape, Ty};
use super::{Gen, Place, Var};

impl Gen<'_, '_> {
    /// `{ ... }`, with a final `return` where a value is due.
    pub(super) fn body(&mut self, place: Place, result: Option<Ty>, n_max: usize) {
        let outer = (self.place, self.result.clone());
        (self.place, self.result) = (place, result);
        let n_vars = self.vars.len();
        self.open("{");
        for _ in 0..self.choices.below(n_max + 1) {
            self.statement(3);
        }
        if let Some(ty) = self.result.clone() {
            let value = self.initialiser(&ty, false);
            self.line(&format!("return {value};"));
        }
        self.close("}");
        self.vars.truncate(n_vars);
        (self.place, self.result) = outer;
    }

    fn block(&mut self, depth: usize) {
        let n_vars = self.vars.len();
        self.open("{");
        for _ in 0..self.choices.below(4) {
            self.statement(depth);
        }
        self.close("}");
        self.vars.truncate(n_vars);
    }

    pub(super) fn scoped_statement(&mut self) {
        let n_vars = self.vars.len();
        self.statement(1);
        self.vars.truncate(n_vars);
    }

    pub(super) fn statement(&mut self, depth: usize) {
        if self.is_long() {
            return;
        }
        match self.choices.below(14) {
            0 => self.line(";"),
            1 | 2 => self.variable(),
            3..=5 => self.assignment(),
            6 => self.call(),
            7 => self.header_method(),
            8 | 9 if depth > 0 => {
                let condition = self.expr(&Ty::Bool, false);
                self.line(&format!("if ({condition})"));
                self.block(depth - 1);
                if self.choices.one_in(2) {
                    self.line("else");
                    self.block(depth - 1);
                }
            }
            10 if depth > 0 => self.switch(depth - 1),
            11 if depth > 0 => self.for_loop(depth - 1),
            12 if depth > 0 => self.block(depth - 1),
            13 => self.jump(),
            _ => self.assignment(),
        }
    }

    pub(super) fn variable(&mut self) {
        let ty = self.value_type();
        let name = self.fresh("v");
        let value = self.initialiser(&ty, false);
        let text = self.type_text(&ty);
        self.line(&format!("{text} {name} = {value};"));
        self.vars.push(Var { name, ty, is_const: false, is_writable: true });
    }

    fn assignment(&mut self) {
        let places = self.writable();
        let Some((path, ty)) = self.choices.pick(&places).cloned() else { return };
        let line = match &ty {
            Ty::Bit(w) if *w > 1 && self.choices.one_in(4) => {
                let high = self.choices.below(*w as usize) as u32;
                let low = self.choices.below(high as usize + 1) as u32;
                let value = self.expr(&Ty::Bit(high - low + 1), false);
                format!("{path}[{high}:{low}] = {value};")
            }
            Ty::Bit(_) if self.choices.one_in(4) => {
                let ops = ["+=", "-=", "*=", "|=", "&=", "^=", "|+|=", "|-|="];
                let op = ops[self.choices.below(ops.len())];
                format!("{path} {op} {};", self.expr(&ty, false))
            }
            _ => format!("{path} = {};", self.initialiser(&ty, false)),
        };
        self.line(&line);
    }

    fn call(&mut self) {
        let callables = self.callables();
        let Some(callable) = self.choices.pick(&callables).cloned() else { return };
        if let Some(arguments) = self.arguments(&callable, 3) {
            self.line(&format!("{}({arguments});", callable.name));
        }
    }

    fn header_method(&mut self) {
        let headers = self.headers();
        let Some(&header) = self.choices.pick(&headers) else { return };
        let paths = self.paths(&Ty::Named(header), false, true);
        if let Some(path) = self.choices.pick(&paths).cloned() {
            let method = ["setValid", "setInvalid"][self.choices.below(2)];
            self.line(&format!("{path}.{method}();"));
        }
    }

    fn switch(&mut self, depth: usize) {
        let ty = if self.choices.one_in(3) { self.value_type() } else { self.bit_type() };
        let labels: Vec<String> = match &ty {
            Ty::Bit(w) => (0..4u64).filter(|i| *w > 2 || *i < 2).map(|i| format!("{w}w{i}")).collect(),
            Ty::Named(i) => match &self.types[*i].shape {
                Shape::Enum(members) | Shape::SerEnum(_, members) => {
                    let name = &self.types[*i].name;
                    members.iter().map(|m| format!("{name}.{m}")).collect()
                }
                Shape::Struct(_) | Shape::GenericStruct(_) | Shape::Header(_) | Shape::Union(_) => return,
                Shape::New(_) => return,
            },
            Ty::Bool | Ty::Int(_) | Ty::Error | Ty::Tuple(_) | Ty::Generic(..) | Ty::Stack(..) => return,
        };
        let value = self.expr(&ty, false);
        self.open(&format!("switch ({value}) {{"));
        // A label without a block falls through to the next, so the last one has a block.
        for label in &labels {
            if self.choices.one_in(4) {
                self.line(&format!("{label}:"));
                self.line("default: {}");
                self.close("}");
                return;
            }
            self.line(&format!("{label}:"));
            self.block(depth);
        }
        if self.choices.one_in(2) {
            self.line("default:");
            self.block(depth);
        }
        self.close("}");
    }

    fn for_loop(&mut self, depth: usize) {
        let name = self.fresh("i");
        let ty = self.bit_type();
        let Ty::Bit(w) = ty else { return };
        let text = self.type_text(&ty);
        let range = self.choices.one_in(2);
        if range {
            self.line(&format!("for ({text} {name} in {w}w0 .. {w}w1)"));
        } else {
            self.line(&format!("for ({text} {name} = 0; {name} < 1; {name} = {name} + 1)"));
        }
        self.vars.push(Var { name, ty, is_const: false, is_writable: false });
        let outer = std::mem::replace(&mut self.place.in_loop, true);
        self.block(depth);
        self.place.in_loop = outer;
        self.vars.pop();
    }

    /// `return`, `exit`, `break` and `continue`, each behind a condition so that what follows is reached.
    fn jump(&mut self) {
        let mut jumps = Vec::new();
        if self.place.in_loop {
            jumps.extend(["break;".to_string(), "continue;".to_string()]);
        }
        if self.place.may_exit {
            jumps.push("exit;".to_string());
        }
        if self.place.may_return {
            jumps.push(match self.result.clone() {
                Some(ty) => format!("return {};", self.initialiser(&ty, false)),
                None => "return;".to_string(),
            });
        }
        if jumps.is_empty() {
            return;
        }
        let condition = self.expr(&Ty::Bool, false);
        let jump = jumps[self.choices.below(jumps.len())].clone();
        self.line(&format!("if ({condition}) {jump}"));
    }
}
