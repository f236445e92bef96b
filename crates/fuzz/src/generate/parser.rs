//! Parsers: states, extraction, selection.

use super::types::Ty;
use super::{Gen, Place};

impl Gen<'_, '_> {
    /// The states of a parser with `packet` and, as `headers`, a struct with these fields.
    pub(super) fn states(&mut self, headers: &[(String, Ty)]) {
        let n = 1 + self.choices.below(4);
        let names: Vec<String> =
            (0..n).map(|i| if i == 0 { "start".to_string() } else { format!("state_{i}") }).collect();
        for name in &names {
            self.open(&format!("state {name} {{"));
            let n_vars = self.vars.len();
            self.place = Place { in_loop: false, may_exit: false, may_return: false, may_call_externs: true };
            for _ in 0..self.choices.below(3) {
                if self.choices.one_in(3) { self.simple_statement() } else { self.extraction(headers) }
            }
            self.transition(&names, name == "start");
            self.vars.truncate(n_vars);
            self.close("}");
        }
    }

    /// Writes a statement for a parser state. It has no conditions, which early versions of P4-16 do not allow there.
    fn simple_statement(&mut self) {
        match self.choices.below(3) {
            0 => self.variable(),
            _ => self.statement(0),
        }
    }

    fn extraction(&mut self, headers: &[(String, Ty)]) {
        let Some((name, ty)) = self.choices.pick(headers).cloned() else { return };
        let line = match ty {
            Ty::Stack(..) => format!("packet.extract(headers.{name}.next);"),
            _ if self.choices.one_in(8) => "packet.advance(32w8);".to_string(),
            // Only headers are extracted, not unions.
            _ => {
                let Some((field, _)) = self.fields_of(&ty).first().cloned() else { return };
                let is_union = self
                    .fields_of(&ty)
                    .iter()
                    .any(|(_, t)| matches!(t, Ty::Named(_)) && !self.fields_of(t).is_empty());
                let path =
                    if is_union { format!("headers.{name}.{field}") } else { format!("headers.{name}") };
                format!("packet.extract({path});")
            }
        };
        self.line(&line);
    }

    fn transition(&mut self, states: &[String], is_first: bool) {
        let mut targets: Vec<String> = vec!["accept".to_string(), "reject".to_string()];
        targets.extend(states.iter().cloned());
        if self.choices.one_in(3) {
            let n = if is_first { 1 } else { targets.len() };
            let target = targets[self.choices.below(n)].clone();
            return self.line(&format!("transition {target};"));
        }
        let ty = self.bit_type();
        let Ty::Bit(w) = ty else { return };
        let is_pair = self.choices.one_in(3);
        let value = self.expr(&ty, false);
        let second = self.expr(&Ty::Bool, false);
        let keys = if is_pair { format!("{value}, {second}") } else { value };
        self.open(&format!("transition select({keys}) {{"));
        for _ in 0..self.choices.below(4) {
            let target = targets[self.choices.below(targets.len())].clone();
            let key = match self.choices.below(4) {
                0 => format!("{w}w0"),
                1 => format!("{w}w0 &&& {w}w1"),
                2 => format!("{w}w0 .. {w}w1"),
                _ => self.literal(&ty).0,
            };
            let line = if is_pair { format!("({key}, _): {target};") } else { format!("{key}: {target};") };
            self.line(&line);
        }
        // A parser must be able to end.
        let n = if is_first { 1 } else { targets.len() };
        let target = targets[self.choices.below(n)].clone();
        let rest = ["default", "_"][self.choices.below(2)];
        self.line(&format!("{rest}: {target};"));
        self.close("}");
    }
}
