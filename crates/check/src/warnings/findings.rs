//! Messages of the flow analysis.

use super::flow::Flow;
use super::layout::{Layout, Shape};
use super::places::{Access, Place, text};
use super::state::{Fact, State};
use crate::codes;
use crate::program::*;
use diagnostics::{Code, Diagnostic, Span};

/// Fields named in one message.
const NAMED_MAX: usize = 4;
/// Fields counted for one message.
const LISTED_MAX: usize = 256;

impl Flow<'_> {
    /// True if this message has not been reported at this span yet, and messages are on.
    fn may_say(&mut self, code: Code, span: Span) -> bool {
        self.n_quiet == 0 && !self.is_abandoned() && self.said.insert((code.id, span))
    }

    /// A field of a header is accessed: the header should be valid. False when it may not be.
    pub fn check_validity(&mut self, place: &Place, header: &Expr, access: Access) -> bool {
        let Some(state) = &self.at else { return true };
        if place.starts.is_empty() {
            return true;
        }
        let mut is_certain = true;
        for &start in &place.starts {
            let fact = state.get(start);
            if !fact.may_be_bad || !fact.is_certainly_bad() && state.was_asked(start) {
                return true;
            }
            is_certain &= fact.is_certainly_bad();
        }
        // An action is interpreted in the states of all its callers.
        is_certain &= self.n_calls == 0;
        if !self.may_say(&codes::INVALID_HEADER, header.span) {
            return false;
        }
        let name = text(self.p, header);
        let verb = if is_certain { "is" } else { "may be" };
        let message = match access {
            Access::Read => format!("a field of `{name}` is read, but the header {verb} invalid here"),
            Access::Write => format!("a field of `{name}` is written, but the header {verb} invalid here"),
        };
        let label = if is_certain { "not valid" } else { "perhaps not valid" };
        let mut d = Diagnostic::new(&codes::INVALID_HEADER, header.span, message).label(label);
        let made_invalid = place.starts.iter().find_map(|s| self.made_invalid.get(s));
        match (made_invalid, place.root) {
            (Some(span), _) => d = d.also(*span, "made invalid here"),
            (None, Some(root)) => d = self.point_at(d, root),
            (None, None) => {}
        }
        d = match access {
            Access::Read => d
                .note("reading a field of an invalid header yields an undefined value")
                .help(format!("test it first: `if ({name}.isValid()) {{ ... }}`")),
            Access::Write => d
                .note("writing a field of an invalid header has no effect")
                .help(format!("make it valid first: `{name}.setValid();`")),
        };
        self.out.push(d);
        false
    }

    /// Adds where a variable comes from.
    fn point_at(&self, d: Diagnostic, v: VarId) -> Diagnostic {
        let var = &self.p.vars[v];
        let what = match var.kind {
            VarKind::Local | VarKind::ForIn => "declared here",
            VarKind::Param(Direction::Out) => "an `out` parameter starts without a value",
            VarKind::Param(_) | VarKind::CtorParam => "declared here",
        };
        d.also(var.span, what)
    }

    /// The value of a place is read: all of it should have been written.
    pub fn check_written(&mut self, place: &Place, e: &Expr) {
        let Some(state) = &self.at else { return };
        if place.starts.is_empty() || place.is_doubtful {
            return;
        }
        let n_cells = place.layout.n_cells;
        if place.starts.iter().any(|s| !state.any_bad(*s, n_cells)) {
            return;
        }
        let mut missing: Vec<String> = Vec::new();
        let mut is_certain = true;
        // With several candidates, each must lack a value: the program may know which one it accesses.
        for &start in &place.starts {
            let mut here = Vec::new();
            is_certain &= walk(state, start, &place.layout, false, String::new(), &mut here);
            if here.is_empty() {
                return;
            }
            if missing.is_empty() {
                missing = here;
            }
        }
        is_certain &= self.n_calls == 0;
        if !self.may_say(&codes::UNINITIALIZED_USE, e.span) {
            return;
        }
        let name = text(self.p, e);
        let is_whole = missing.iter().any(String::is_empty);
        let shown = if is_whole {
            format!("`{name}`")
        } else {
            let n = missing.len();
            let mut shown: Vec<String> =
                missing.iter().take(NAMED_MAX).map(|m| format!("`{name}{m}`")).collect();
            if n > NAMED_MAX {
                shown.push(format!("{} more", n - NAMED_MAX));
            }
            let last = shown.pop().unwrap_or_default();
            if shown.is_empty() { last } else { format!("{} and {last}", shown.join(", ")) }
        };
        let is_many = !is_whole && missing.len() > 1;
        let verb = match (is_certain, is_many) {
            (true, false) => "is read before it is",
            (true, true) => "are read before they are",
            (false, false) => "may be read before it is",
            (false, true) => "may be read before they are",
        };
        let label = if is_certain { "has no value here" } else { "may have no value here" };
        let mut d = Diagnostic::new(&codes::UNINITIALIZED_USE, e.span, format!("{shown} {verb} written"))
            .label(label);
        if place.is_field {
            d = d.note("the fields of a header have no value when `setValid()` has made it valid");
        }
        if let Some(root) = place.root {
            d = self.point_at(d, root);
            let var = &self.p.vars[root];
            d = match var.kind {
                _ if place.is_field => d.help(format!("assign to `{name}` after `setValid()`")),
                VarKind::Param(Direction::Out) => d.help(format!(
                    "assign to it first, or make the parameter `inout` if `{}` has a value before the call",
                    var.name
                )),
                _ if is_certain => {
                    d.help(format!("give `{}` a value before this, or where it is declared", var.name))
                }
                _ => d
                    .note("there is a way to this place on which it is not written")
                    .help(format!("give `{}` a value on all ways, or where it is declared", var.name)),
            };
        }
        self.out.push(d);
    }

    /// `stack.next` is read: it is the element that comes after the ones that exist.
    pub fn report_next(&mut self, e: &Expr, base: &Expr) {
        if !self.may_say(&codes::UNINITIALIZED, e.span) {
            return;
        }
        let stack = text(self.p, base);
        self.out.push(
            Diagnostic::new(
                &codes::UNINITIALIZED,
                e.span,
                format!("`{stack}.next` is read before it is written"),
            )
            .label("the element that is extracted next")
            .note("`next` is the first element of a stack that has not been extracted yet")
            .help(format!("use `{stack}.last` for the element extracted last")),
        );
    }

    pub fn report_extract(&mut self, header: &Expr, is_certain: bool) {
        if !self.may_say(&codes::MULTI_EXTRACT, header.span) {
            return;
        }
        let verb = if is_certain { "is" } else { "may be" };
        let name = text(self.p, header);
        self.out.push(
            Diagnostic::new(&codes::MULTI_EXTRACT, header.span, format!("`{name}` {verb} valid already when it is extracted"))
                .label("overwritten")
                .note("the header that was there before is lost from the packet")
                .help("extract into another header or a header stack, or look ahead with `lookahead` the first time"),
        );
    }

    /// A body ends: its `out` parameters should have been written. Headers in them may stay invalid.
    pub fn check_out_params(&mut self, params: &[VarId], body: &str, end: Option<&State>) {
        let Some(state) = end else { return };
        for &v in params {
            let var = &self.p.vars[v];
            if var.kind != VarKind::Param(Direction::Out) {
                continue;
            }
            let (start, layout) = self.var(v);
            if !state.any_bad(start, layout.n_cells) || !self.step(layout.n_cells as usize) {
                continue;
            }
            let mut missing = Vec::new();
            let is_certain = walk(state, start, &layout, true, String::new(), &mut missing);
            let Some(first) = missing.first() else { continue };
            let is_certain = is_certain && self.n_calls == 0;
            if !self.may_say(&codes::UNINITIALIZED_OUT, var.span) {
                continue;
            }
            let verb = if is_certain { "has no" } else { "may have no" };
            let part = format!("{}{first}", var.name);
            let what = if first.is_empty() {
                format!("`out` parameter `{part}`")
            } else {
                format!("`{part}` of an `out` parameter")
            };
            let mut d = Diagnostic::new(
                &codes::UNINITIALIZED_OUT,
                var.span,
                format!("{what} {verb} value when `{body}` ends"),
            )
            .label("not written");
            d = if is_certain {
                d.note("the caller gets an undefined value")
            } else {
                d.note("there is a way through the body on which it is not written; the caller gets an undefined value then")
            };
            self.out.push(d.help(format!("assign to `{part}` on all ways")));
        }
    }
}

/// Collects the paths of scalars that may not be written. True when none of them can have been.
fn walk(
    state: &State,
    start: u32,
    layout: &Layout,
    skip_headers: bool,
    path: String,
    out: &mut Vec<String>,
) -> bool {
    if layout.n_cells == 0 || out.len() >= LISTED_MAX {
        return true;
    }
    match &layout.shape {
        Shape::Opaque => true,
        Shape::Scalar => {
            let fact = state.get(start);
            if fact.may_be_bad {
                out.push(path);
            }
            fact == Fact::BAD || !fact.may_be_bad
        }
        Shape::Header(_) if skip_headers => true,
        // A header that is not valid has no fields to be read.
        Shape::Header(_) if state.get(start).is_certainly_bad() => true,
        Shape::Header(parts) | Shape::Struct(parts) | Shape::Union(parts) => {
            let mut all = true;
            for (i, part) in parts.iter().enumerate() {
                let path = if part.name.is_empty() {
                    format!("{path}[{i}]")
                } else {
                    format!("{path}.{}", part.name)
                };
                all &= walk(state, start + part.offset, &part.layout, skip_headers, path, out);
            }
            all
        }
        Shape::Array { element, count } => {
            let mut all = true;
            for i in 0..*count {
                let path = format!("{path}[{i}]");
                all &= walk(state, start + i * element.n_cells, element, skip_headers, path, out);
            }
            all
        }
    }
}
