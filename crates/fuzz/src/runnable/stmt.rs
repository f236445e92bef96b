//! Statements.

use super::types::{Shape, Ty};
use super::{Callable, Gen, Place};

impl Gen<'_, '_> {
    /// The statements of a body whose braces are written.
    pub(super) fn statements(&mut self, n_max: usize, depth: usize) {
        for _ in 0..self.choices.below(n_max + 1) {
            self.statement(depth);
        }
    }

    pub(super) fn block(&mut self, n_max: usize, depth: usize) {
        let mark = self.scope.len();
        self.indent += 1;
        self.statements(n_max, depth);
        self.indent -= 1;
        self.scope.truncate(mark);
    }

    pub(super) fn statement(&mut self, depth: usize) {
        if self.fuel == 0 {
            return;
        }
        self.fuel -= 1;
        let is_control = matches!(self.place, Place::SubControl | Place::Ingress | Place::Egress);
        let may_call_externs = is_control || matches!(self.place, Place::Action | Place::Deparser);
        match self.choices.below(24) {
            0..=6 => self.assignment(),
            7 | 8 => self.variable(),
            9 => self.header_method(),
            10 => self.union_or_stack(),
            11 | 12 if depth > 0 => self.conditional(depth - 1),
            13 if depth > 0 && self.place != Place::ParserState => self.switch(depth - 1),
            14 if depth > 0 && self.place != Place::ParserState => self.for_loop(depth - 1),
            15 | 20 if depth > 0 && self.may_wait() => self.asynchronous(depth - 1),
            15 if depth > 0 => {
                self.line("{");
                self.block(3, depth - 1);
                self.line("}");
            }
            16 => self.jump(),
            17 => self.call(),
            18 | 19 if is_control => self.apply(depth),
            20..=22 if may_call_externs => self.extern_call(),
            23 if self.place == Place::ParserState => self.extern_call(),
            _ => self.assignment(),
        }
    }

    pub(super) fn variable(&mut self) {
        let ty = self.value();
        let text = self.text(&ty);
        // The value cannot mention the variable.
        if self.choices.one_in(5) {
            let name = self.fresh("v");
            self.line(&format!("{text} {name};"));
            self.declare(&name, &ty, true);
        } else {
            let value = self.expr(&ty);
            let name = self.fresh("v");
            self.line(&format!("{text} {name} = {value};"));
            self.declare(&name, &ty, true);
        }
    }

    pub(super) fn assignment(&mut self) {
        let places = self.places(|e| e.is_writable && !self.is_special(&e.ty));
        let Some(entry) = self.choices.pick(&places).cloned() else { return };
        let path = entry.path;
        match &entry.ty {
            Ty::Bit(w) if *w > 1 && self.choices.one_in(4) => {
                let high = self.choices.below(*w as usize) as u32;
                let low = self.choices.below(high as usize + 1) as u32;
                let value = self.expr(&Ty::Bit(high - low + 1));
                self.line(&format!("{path}[{high}:{low}] = {value};"));
            }
            Ty::Bit(_) if self.choices.one_in(5) => {
                let op = self.one_of(&["+=", "-=", "*=", "|=", "&=", "^=", "|+|=", "|-|="]);
                let value = self.expr(&entry.ty);
                self.line(&format!("{path} {op} {value};"));
            }
            Ty::Bit(_) if self.choices.one_in(6) => self.element_assignment(),
            ty => {
                let value = self.expr(ty);
                self.line(&format!("{path} = {value};"));
            }
        }
    }

    /// To a field of a stack's element, or the whole element, by an index that is computed.
    fn element_assignment(&mut self) {
        let stacks = self.places(|e| e.is_writable && matches!(e.ty, Ty::Stack(..)));
        let Some(stack) = self.choices.pick(&stacks).cloned() else { return };
        let Some((element, n)) = self.element_of(&stack.ty) else { return };
        let index = self.index(n);
        let fields = self.fields_of(&element);
        let Some((field, ty)) = self.choices.pick(&fields).cloned() else { return };
        if self.is_header(&ty) {
            let method = self.one_of(&["setValid", "setInvalid"]);
            self.line(&format!("{}[{index}].{field}.{method}();", stack.path));
        } else if self.choices.one_in(4) {
            let method = self.one_of(&["setValid", "setInvalid"]);
            self.line(&format!("{}[{index}].{method}();", stack.path));
        } else {
            let value = self.expr(&ty);
            self.line(&format!("{}[{index}].{field} = {value};", stack.path));
        }
    }

    fn header_method(&mut self) {
        let headers = self.places(|e| e.is_writable && self.is_header(&e.ty));
        if let Some(entry) = self.choices.pick(&headers).cloned() {
            let method = self.one_of(&["setValid", "setInvalid", "setValid"]);
            self.line(&format!("{}.{method}();", entry.path));
        }
    }

    fn union_or_stack(&mut self) {
        let found = self.places(|e| e.is_writable && (matches!(e.ty, Ty::Stack(..)) || self.is_union(&e.ty)));
        let Some(entry) = self.choices.pick(&found).cloned() else { return self.header_method() };
        if let Ty::Stack(_, n) = entry.ty {
            match self.choices.below(3) {
                0 => self.element_assignment(),
                // Parsers cannot.
                _ if self.place == Place::ParserState => self.element_assignment(),
                _ => {
                    let method = self.one_of(&["push_front", "pop_front"]);
                    let by = 1 + self.choices.below(n as usize);
                    self.line(&format!("{}.{method}({by});", entry.path));
                }
            }
        } else if self.choices.one_in(2) {
            let members = self.fields_of(&entry.ty);
            let Some((member, ty)) = self.choices.pick(&members).cloned() else { return };
            if self.is_special(&ty) {
                return;
            }
            let value = self.expr(&ty);
            self.line(&format!("{}.{member} = {value};", entry.path));
        } else if let Some(other) = self.place_of(&entry.ty, false) {
            self.line(&format!("{} = {other};", entry.path));
        }
    }

    fn conditional(&mut self, depth: usize) {
        let condition = match self.table_result() {
            Some(result) => result,
            None => self.expr(&Ty::Bool),
        };
        self.line(&format!("if ({condition}) {{"));
        self.block(3, depth);
        if self.choices.one_in(2) {
            self.line("} else {");
            self.block(3, depth);
        }
        self.line("}");
    }

    /// Writes a test for a table's hit or miss, sometimes as an operand of `!`, `&&` or `||`.
    fn table_result(&mut self) -> Option<String> {
        if !matches!(self.place, Place::SubControl | Place::Ingress | Place::Egress)
            || !self.choices.one_in(3)
        {
            return None;
        }
        let (tables, _) = self.what_can_be_applied();
        let (table, _) = self.choices.pick(&tables)?.clone();
        let result = self.one_of(&["hit", "miss"]);
        let applied = format!("{table}.apply().{result}");
        Some(match self.choices.below(5) {
            0 => format!("!{applied}"),
            1 => format!("({} && {applied})", self.expr(&Ty::Bool)),
            2 => format!("({applied} || {})", self.expr(&Ty::Bool)),
            _ => applied,
        })
    }

    fn switch(&mut self, depth: usize) {
        let enums = self.types_with(|shape| matches!(shape, Shape::SerEnum(..) | Shape::Enum(_)));
        let ty = match self.choices.pick(&enums) {
            Some(i) if self.choices.one_in(3) => Ty::Named(*i),
            _ => {
                let found = self.places(|e| matches!(e.ty, Ty::Bit(2..)));
                match self.choices.pick(&found) {
                    Some(e) => e.ty.clone(),
                    None => Ty::Bit(8),
                }
            }
        };
        let labels: Vec<String> = match &ty {
            Ty::Named(i) => match &self.types[*i].shape {
                Shape::Enum(members) | Shape::SerEnum(_, members) => {
                    members.iter().map(|m| format!("{}.{m}", self.types[*i].name)).collect()
                }
                _ => return,
            },
            Ty::Bit(w) => (0..1 + self.choices.below(3)).map(|i| format!("{w}w{i}")).collect(),
            _ => return,
        };
        let value = self.expr(&ty);
        self.line(&format!("switch ({value}) {{"));
        let n_labels = labels.len();
        for (i, label) in labels.iter().enumerate() {
            // A label without a block falls through to the next; the last one has a block.
            if i + 1 < n_labels && self.choices.one_in(4) {
                self.line(&format!("    {label}:"));
                continue;
            }
            self.line(&format!("    {label}: {{"));
            self.indent += 1;
            self.block(2, depth);
            self.indent -= 1;
            self.line("    }");
        }
        if self.choices.one_in(2) {
            self.line("    default: {");
            self.indent += 1;
            self.block(2, depth);
            self.indent -= 1;
            self.line("    }");
        }
        self.line("}");
    }

    fn for_loop(&mut self, depth: usize) {
        let mark = self.scope.len();
        let name = self.fresh("i");
        let (lo, hi) = (self.choices.below(3), 1 + self.choices.below(4));
        let stacks = self.places(|e| matches!(e.ty, Ty::Stack(..)) && !e.path.contains("eithers"));
        let stack = self.choices.pick(&stacks).cloned();
        match (self.choices.below(4), stack) {
            (0 | 1, _) => {
                self.line(&format!("for (bit<8> {name} in 8w{lo} .. 8w{hi}) {{"));
                self.declare(&name, &Ty::Bit(8), false);
            }
            (2, Some(stack)) => {
                let Some((element, _)) = self.element_of(&stack.ty) else { return };
                let text = self.text(&element);
                self.line(&format!("for ({text} {name} in {}) {{", stack.path));
                self.declare(&name, &element, false);
            }
            _ => {
                self.line(&format!("for (bit<8> {name} = {lo}; {name} < {hi}; {name} = {name} + 1) {{"));
                self.declare(&name, &Ty::Bit(8), false);
            }
        }
        let outer = std::mem::replace(&mut self.in_loop, true);
        self.block(3, depth);
        self.in_loop = outer;
        self.line("}");
        self.scope.truncate(mark);
    }

    /// True if an asynchronous block may stand here.
    fn may_wait(&self) -> bool {
        self.has_asynchronous && matches!(self.place, Place::Ingress | Place::Egress) && !self.is_asynchronous
    }

    fn asynchronous(&mut self, depth: usize) {
        let in_loop = std::mem::replace(&mut self.in_loop, false);
        self.is_asynchronous = true;
        self.line("@async {");
        self.indent += 1;
        self.assignment();
        self.indent -= 1;
        self.block(4, depth);
        self.line("}");
        self.is_asynchronous = false;
        self.in_loop = in_loop;
    }

    /// Behind a condition, so that what follows is reached.
    fn jump(&mut self) {
        let mut jumps = Vec::new();
        if self.in_loop {
            jumps.extend(["break;".to_string(), "continue;".to_string()]);
        }
        if self.place.may_exit() && !self.is_asynchronous {
            jumps.extend(["exit;".to_string(), "return;".to_string()]);
        }
        if self.place == Place::Function {
            jumps.push(match self.result.clone() {
                Some(ty) => format!("return {};", self.expr(&ty)),
                None => "return;".to_string(),
            });
        }
        if let Some(jump) = self.choices.pick(&jumps).cloned() {
            let condition = self.expr(&Ty::Bool);
            self.line(&format!("if ({condition}) {{ {jump} }}"));
        }
    }

    /// A function, or an action, for what it does.
    fn call(&mut self) {
        let mut all = self.functions.clone();
        if self.place != Place::Function && self.place != Place::ParserState {
            all.extend(self.actions.iter().cloned());
        }
        all.retain(|callable| self.may_call(&callable.name));
        let Some(callable) = self.choices.pick(&all).cloned() else { return };
        if let Some(arguments) = self.arguments(&callable, 2) {
            self.line(&format!("{}({arguments});", callable.name));
        }
    }

    /// Tables with their actions, and sub-controls.
    fn what_can_be_applied(&self) -> (Vec<(String, Vec<String>)>, Vec<Callable>) {
        let tables = self.objects.tables.iter().filter(|(name, _)| self.may_call(name));
        let subs = self.objects.subs.iter().filter(|sub| self.may_call(&sub.name));
        (tables.cloned().collect(), subs.cloned().collect())
    }

    /// A table or a sub-control.
    pub(super) fn apply(&mut self, depth: usize) {
        let (tables, subs) = self.what_can_be_applied();
        let n = tables.len() + subs.len();
        if n == 0 {
            return self.assignment();
        }
        let at = self.choices.below(n);
        if let Some(sub) = at.checked_sub(tables.len()).and_then(|i| subs.get(i)) {
            if let Some(arguments) = self.arguments(sub, 1) {
                self.line(&format!("{}.apply({arguments});", sub.name));
            }
            return;
        }
        let Some((table, actions)) = tables.get(at).cloned() else { return };
        match self.choices.below(3) {
            0 if depth > 0 => {
                self.line(&format!("switch ({table}.apply().action_run) {{"));
                for action in &actions {
                    if self.choices.one_in(3) {
                        continue;
                    }
                    self.line(&format!("    {action}: {{"));
                    self.indent += 1;
                    self.block(2, depth - 1);
                    self.indent -= 1;
                    self.line("    }");
                }
                if self.choices.one_in(2) {
                    self.line("    default: {");
                    self.indent += 1;
                    self.block(2, depth - 1);
                    self.indent -= 1;
                    self.line("    }");
                }
                self.line("}");
            }
            1 => {
                let result = self.one_of(&["hit", "miss"]);
                self.line(&format!("if ({table}.apply().{result}) {{"));
                self.block(2, depth.saturating_sub(1));
                self.line("}");
            }
            _ => self.line(&format!("{table}.apply();")),
        }
    }
}
