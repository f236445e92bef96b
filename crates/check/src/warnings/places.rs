//! Reading and writing: expressions, assignments, arguments.

use super::flow::Flow;
use super::layout::{Layout, Shape};
use super::state::{Fact, State, join};
use crate::program::*;
use std::rc::Rc;

/// Most elements of an array that are candidates of an unknown index.
const CANDIDATES_MAX: usize = 256;

/// The cells that a name, field or element denotes.
pub(super) struct Place {
    /// The first cell of each candidate; empty if the place is not tracked.
    pub starts: Vec<u32>,
    pub layout: Rc<Layout>,
    /// The header union that it is a member of.
    union: Option<(Vec<u32>, Rc<Layout>)>,
    pub root: Option<VarId>,
    /// A header on the path may be invalid; that has been reported.
    pub is_doubtful: bool,
    /// A field of a header.
    pub is_field: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

impl Place {
    /// The one start of a place that is known exactly.
    pub fn exact(&self) -> Option<u32> {
        match self.starts.as_slice() {
            [start] => Some(*start),
            _ => None,
        }
    }
}

impl Flow<'_> {
    // -- places -----------------------------------------------------------------------------------

    fn unknown_place(&self) -> Place {
        Place {
            starts: Vec::new(),
            layout: self.layouts.opaque(),
            union: None,
            root: None,
            is_doubtful: false,
            is_field: false,
        }
    }

    /// Finds the place that an expression denotes, and checks the headers on the path to it.
    pub fn place(&mut self, e: &Expr, access: Access) -> Place {
        match &e.kind {
            ExprKind::Var(v) => {
                let (start, layout) = self.var(*v);
                let starts = if layout.n_cells == 0 { Vec::new() } else { vec![start] };
                Place { starts, layout, union: None, root: Some(*v), is_doubtful: false, is_field: false }
            }
            ExprKind::Field { base, field: index } | ExprKind::TupleElement { base, index } => {
                let place = self.sub_place(base, access);
                let is_field = matches!(place.layout.shape, Shape::Header(_));
                let is_doubtful = is_field && !self.check_validity(&place, base, access) || place.is_doubtful;
                let Some(part) = place.layout.part(*index) else { return self.unknown_place() };
                let (offset, layout) = (part.offset, Rc::clone(&part.layout));
                let starts = place.starts.iter().map(|s| s + offset).collect();
                let is_union = matches!(place.layout.shape, Shape::Union(_));
                let union = is_union.then_some((place.starts, place.layout));
                Place { starts, layout, union, root: place.root, is_doubtful, is_field }
            }
            ExprKind::Index { base, index } => {
                let place = self.sub_place(base, access);
                let known = index.value.as_ref().and_then(|v| v.as_int()).cloned();
                if known.is_none() {
                    self.read(index);
                }
                let known = known.and_then(|v| u32::try_from(v).ok());
                self.element(place, known)
            }
            ExprKind::Stack { base, member } => {
                let place = self.sub_place(base, access);
                match member {
                    StackMember::Next | StackMember::Last => {
                        if *member == StackMember::Next && access == Access::Read {
                            self.report_next(e, base);
                        }
                        self.element(place, None)
                    }
                    StackMember::LastIndex | StackMember::Size => self.unknown_place(),
                }
            }
            _ => {
                self.read(e);
                self.unknown_place()
            }
        }
    }

    fn sub_place(&mut self, base: &Expr, access: Access) -> Place {
        if !self.step(1) {
            return self.unknown_place();
        }
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.place(base, access))
    }

    /// An element of an array; any of them when the index is not known.
    fn element(&mut self, place: Place, index: Option<u32>) -> Place {
        let Shape::Array { element, count } = &place.layout.shape else { return self.unknown_place() };
        let starts: Vec<u32> = match index {
            Some(i) if i < *count => place.starts.iter().map(|s| s + i * element.n_cells).collect(),
            Some(_) => Vec::new(),
            None if place.starts.len() * *count as usize <= CANDIDATES_MAX => {
                let of = |s: u32| (0..*count).map(move |i| s + i * element.n_cells);
                place.starts.iter().flat_map(|s| of(*s)).collect()
            }
            None => Vec::new(),
        };
        let cost = starts.len();
        let found = Place {
            starts,
            layout: Rc::clone(element),
            union: None,
            root: place.root,
            is_doubtful: place.is_doubtful,
            is_field: place.is_field,
        };
        self.step(cost);
        found
    }

    /// Validity facts of a value that lies at `start`, in the order of `layout.headers`.
    pub fn facts_at(&self, start: u32, layout: &Layout) -> Vec<Fact> {
        let get = |h: &u32| self.at.as_ref().map_or(Fact::UNKNOWN, |s| s.get(start + h));
        layout.headers.iter().map(get).collect()
    }

    /// Which headers of a value are valid, in the order of `layout.headers`.
    pub fn validity(&mut self, e: &Expr, layout: &Layout) -> Vec<Fact> {
        if layout.headers.is_empty() || !self.step(layout.headers.len()) {
            return Vec::new();
        }
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.validity_of(e, layout))
    }

    fn validity_of(&mut self, e: &Expr, layout: &Layout) -> Vec<Fact> {
        let all = |fact: Fact| vec![fact; layout.headers.len()];
        match &e.kind {
            ExprKind::Var(_)
            | ExprKind::Field { .. }
            | ExprKind::TupleElement { .. }
            | ExprKind::Index { .. }
            | ExprKind::Stack { .. } => {
                self.n_quiet += 1;
                let place = self.place(e, Access::Read);
                self.n_quiet -= 1;
                let mut found: Option<Vec<Fact>> = None;
                for &start in &place.starts {
                    let facts = self.facts_at(start, layout);
                    found = Some(match found {
                        None => facts,
                        Some(known) => known.into_iter().zip(facts).map(|(a, b)| a.or(b)).collect(),
                    });
                }
                // With an unknown index, a header counts as invalid only if every candidate is: the program may know
                // the index.
                match found {
                    Some(facts) if place.starts.len() == 1 => facts,
                    Some(facts) => facts
                        .into_iter()
                        .map(|f| if f.is_certainly_bad() { Fact::BAD } else { Fact::GOOD })
                        .collect(),
                    None => all(Fact::UNKNOWN),
                }
            }
            ExprKind::Struct(values) | ExprKind::List(values) => {
                let mut facts = Vec::with_capacity(layout.headers.len());
                match &layout.shape {
                    Shape::Header(_) => facts.push(Fact::GOOD),
                    Shape::Struct(parts) | Shape::Union(parts) => {
                        for (part, value) in parts.iter().zip(values) {
                            facts.extend(self.validity(value, &part.layout));
                        }
                    }
                    Shape::Array { element, .. } => {
                        for value in values {
                            facts.extend(self.validity(value, element));
                        }
                    }
                    Shape::Opaque | Shape::Scalar => {}
                }
                facts.resize(layout.headers.len(), Fact::BAD);
                facts
            }
            ExprKind::InvalidHeader | ExprKind::DefaultValue => all(Fact::BAD),
            ExprKind::Conditional { then, otherwise, .. } => {
                let (a, b) = (self.validity(then, layout), self.validity(otherwise, layout));
                a.into_iter().zip(b).map(|(a, b)| a.or(b)).collect()
            }
            ExprKind::Cast { operand, .. } => self.validity(operand, layout),
            _ => all(Fact::GOOD),
        }
    }

    // -- reading ----------------------------------------------------------------------------------

    /// Evaluates an expression for its whole value.
    pub fn read(&mut self, e: &Expr) {
        if self.at.is_none() || e.value.is_some() || !self.step(1) {
            return;
        }
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.read_kind(e));
    }

    fn read_kind(&mut self, e: &Expr) {
        match &e.kind {
            ExprKind::Const
            | ExprKind::ConstRef(_)
            | ExprKind::Instance(_)
            | ExprKind::ValueSet(_)
            | ExprKind::Table(_)
            | ExprKind::Action(_)
            | ExprKind::This
            | ExprKind::TypeName
            | ExprKind::DefaultValue
            | ExprKind::InvalidHeader
            | ExprKind::Dots
            | ExprKind::Default
            | ExprKind::DontCare
            | ExprKind::Error => {}
            ExprKind::Var(_)
            | ExprKind::Field { .. }
            | ExprKind::TupleElement { .. }
            | ExprKind::Index { .. }
            | ExprKind::Stack { .. } => {
                let place = self.place(e, Access::Read);
                if self.step(place.starts.len() * (place.layout.n_cells as usize / 64 + 1)) {
                    self.check_written(&place, e);
                }
            }
            ExprKind::Slice { base, .. } => self.read(base),
            ExprKind::PlusSlice { base, lo, .. } => {
                self.read(base);
                self.read(lo);
            }
            ExprKind::Unary { op: UnaryOp::Not, .. }
            | ExprKind::Binary { op: BinaryOp::And | BinaryOp::Or, .. } => {
                let Some(before) = self.snapshot() else { return };
                let n_asked = self.asked.len();
                let (yes, no) = self.condition(e);
                let asked = self.asked.split_off(n_asked);
                self.at = join(yes, no);
                self.forget_answers(&before, &asked);
            }
            ExprKind::Unary { operand, .. } | ExprKind::Cast { operand, .. } => self.read(operand),
            ExprKind::Binary { lhs, rhs, .. } => {
                self.read(lhs);
                self.read(rhs);
            }
            ExprKind::Conditional { condition, then, otherwise } => {
                let Some(before) = self.snapshot() else { return };
                let n_asked = self.asked.len();
                let (yes, no) = self.condition(condition);
                let asked = self.asked.split_off(n_asked);
                self.at = yes;
                self.read(then);
                let then_end = self.at.take();
                self.at = no;
                self.read(otherwise);
                self.at = join(self.at.take(), then_end);
                self.forget_answers(&before, &asked);
            }
            ExprKind::List(values) | ExprKind::Struct(values) => values.iter().for_each(|v| self.read(v)),
            ExprKind::StructLiteral { fields, .. } => fields.iter().for_each(|(_, v)| self.read(v)),
            ExprKind::Mask { value, mask } => {
                self.read(value);
                self.read(mask);
            }
            ExprKind::Range { lo, hi } => {
                self.read(lo);
                self.read(hi);
            }
            ExprKind::Call(call) => self.call(call),
            ExprKind::ApplyResult { apply, .. } => self.read(apply),
        }
    }

    /// Resets the validity cells that an expression tested to their facts in `before`, but keeps that they were tested.
    fn forget_answers(&mut self, before: &State, asked: &[u32]) {
        if let Some(state) = &mut self.at {
            for &cell in asked {
                let was_asked = state.was_asked(cell);
                state.set(cell, before.get(cell));
                if was_asked {
                    state.ask(cell);
                }
            }
        }
    }

    /// `object.isValid()` as a condition.
    pub fn is_valid(&mut self, object: &Expr) -> (Option<State>, Option<State>) {
        let place = self.place(object, Access::Read);
        let Some(mut no) = self.snapshot() else { return (None, None) };
        let Some(mut yes) = self.at.take() else { return (None, None) };
        let exact = place.exact();
        let is_union = matches!(place.layout.shape, Shape::Union(_));
        for start in &place.starts {
            for h in &place.layout.headers {
                let cell = start + h;
                self.asked.push(cell);
                if exact.is_some() {
                    no.set(cell, Fact::BAD);
                    if !is_union {
                        yes.set(cell, Fact::GOOD);
                    }
                }
                yes.ask(cell);
                no.ask(cell);
            }
        }
        (Some(yes), Some(no))
    }

    // -- writing ----------------------------------------------------------------------------------

    pub fn assign(&mut self, lhs: &Expr, rhs: &Expr) {
        self.read(rhs);
        let layout = {
            self.n_quiet += 1;
            let place = self.place(lhs, Access::Write);
            self.n_quiet -= 1;
            place.layout
        };
        let facts = self.validity(rhs, &layout);
        self.write(lhs, Some(facts));
    }

    /// Gives the place a value. `facts`: which headers of the value are valid; all of them when `None`.
    pub fn write(&mut self, lhs: &Expr, facts: Option<Vec<Fact>>) {
        if self.at.is_none() {
            return;
        }
        match &lhs.kind {
            // Writing some bits counts as writing all: a warning about a variable filled bit by bit would be wrong.
            ExprKind::Slice { base, .. } => return self.write(base, None),
            ExprKind::PlusSlice { base, lo, .. } => {
                self.read(lo);
                return self.write(base, None);
            }
            ExprKind::DontCare => return,
            _ => {}
        }
        let place = self.place(lhs, Access::Write);
        let layout = Rc::clone(&place.layout);
        if !self.step(place.starts.len() * layout.n_cells as usize / 8) {
            return;
        }
        let Some(state) = &mut self.at else { return };
        // An element that is not known exactly: all are taken for written.
        for &start in &place.starts {
            for offset in 0..layout.n_cells {
                if !layout.is_validity(offset) {
                    state.set(start + offset, Fact::GOOD);
                }
            }
        }
        let facts = facts.unwrap_or_default();
        for (i, &h) in layout.headers.iter().enumerate() {
            let fact = facts.get(i).copied().unwrap_or(Fact::GOOD);
            self.set_validity(&place, h, fact);
        }
    }

    /// A field is undefined that "has not been initialized since the header was last made valid" (P4-16, "Reading
    /// uninitialized values and writing fields of invalid headers").
    fn forget_fields(&mut self, place: &Place) {
        let (Some(start), Some(state)) = (place.exact(), &mut self.at) else { return };
        let was = state.get(start);
        if !was.may_be_bad {
            return;
        }
        for cell in start + 1..start + place.layout.n_cells {
            let field = if was.may_be_good { state.get(cell).or(Fact::BAD) } else { Fact::BAD };
            state.set(cell, field);
        }
    }

    /// Sets the validity of the header at `offset` in a place.
    fn set_validity(&mut self, place: &Place, offset: u32, fact: Fact) {
        let Some(state) = &mut self.at else { return };
        if place.exact().is_none() && fact.may_be_bad {
            // One of the elements is invalid now; which one is not known.
            return;
        }
        if let Some((starts, union)) = &place.union
            && starts.len() == 1
        {
            // At most one header of a union is valid (P4-16, "Operations on header unions").
            for start in starts {
                union.headers.iter().for_each(|h| state.set(start + h, Fact::BAD));
            }
        }
        place.starts.iter().for_each(|s| state.set(s + offset, fact));
    }

    // -- calls ------------------------------------------------------------------------------------

    /// One argument of a closed callee.
    pub fn argument(&mut self, direction: Direction, arg: Option<&Expr>) {
        let Some(arg) = arg else { return };
        match direction {
            Direction::None | Direction::In | Direction::InOut => self.read(arg),
            Direction::Out => {}
        }
    }

    /// Passes arguments to a callee that reads what goes in and writes what goes out.
    fn closed_call(&mut self, params: &[VarId], call: &Call) {
        let in_order = || call.order.iter().map(|i| *i as usize);
        let direction = |flow: &Self, i: usize| params.get(i).map_or(Direction::In, |v| flow.p.direction(*v));
        for i in in_order() {
            self.argument(direction(self, i), call.args.get(i).and_then(|a| a.as_ref()));
        }
        for i in in_order() {
            if let Some(arg) = call.args.get(i).and_then(|a| a.as_ref())
                && matches!(direction(self, i), Direction::Out | Direction::InOut)
            {
                self.write(arg, None);
            }
        }
    }

    fn call(&mut self, call: &Call) {
        let p = self.p;
        match &call.callee {
            Callee::Function(id) => self.closed_call(&p.functions[*id].signature.params, call),
            Callee::Method { object, extern_, method } => {
                self.read(object);
                if let Some(method) = p.externs[*extern_].methods.get(*method as usize) {
                    if method.name == "extract" && p.externs[*extern_].name == "packet_in" {
                        self.check_extract(call);
                    }
                    self.closed_call(&method.signature.params, call);
                }
            }
            Callee::BlockApply { object } => {
                self.read(object);
                let params = match p.types.kind(object.ty) {
                    crate::types::TyKind::Parser(id, _) => p.parsers[*id].params.as_slice(),
                    crate::types::TyKind::Control(id, _) => p.controls[*id].params.as_slice(),
                    crate::types::TyKind::Block(id, _) => p.block_types[*id].params.as_slice(),
                    _ => &[],
                };
                self.closed_call(params, call);
            }
            Callee::Action(id) => self.call_action(*id, &call.args),
            Callee::TableApply(id) => drop(self.apply_table(*id)),
            Callee::Builtin { object, method } => self.builtin(object, *method, call),
            Callee::Constructor { .. } => call.args.iter().flatten().for_each(|a| self.read(a)),
        }
    }

    /// Warns of `packet.extract(h)` into a header that was extracted on this path before.
    fn check_extract(&mut self, call: &Call) {
        let Some(Some(arg)) = call.args.first() else { return };
        self.n_quiet += 1;
        let place = self.place(arg, Access::Write);
        self.n_quiet -= 1;
        let (Some(start), Some(state)) = (place.exact(), &self.at) else { return };
        // Only where validity is known: what comes in through a parameter is merely taken for valid.
        let starts_invalid = place
            .root
            .is_some_and(|v| matches!(self.p.vars[v].kind, VarKind::Local | VarKind::Param(Direction::Out)));
        let fact = state.get(start);
        if starts_invalid && matches!(place.layout.shape, Shape::Header(_)) && fact.may_be_good {
            self.report_extract(arg, !fact.may_be_bad);
        }
    }

    fn builtin(&mut self, object: &Expr, method: Builtin, call: &Call) {
        call.args.iter().flatten().for_each(|a| self.read(a));
        match method {
            Builtin::IsValid => {
                let place = self.place(object, Access::Read);
                let Some(state) = &mut self.at else { return };
                for start in &place.starts {
                    place.layout.headers.iter().for_each(|h| state.ask(start + h));
                }
            }
            Builtin::SetValid | Builtin::SetInvalid => {
                let place = self.place(object, Access::Write);
                let fact = if method == Builtin::SetValid { Fact::GOOD } else { Fact::BAD };
                if matches!(place.layout.shape, Shape::Header(_)) {
                    if method == Builtin::SetValid {
                        self.forget_fields(&place);
                    }
                    self.set_validity(&place, 0, fact);
                    for &start in &place.starts {
                        if method == Builtin::SetInvalid {
                            self.made_invalid.insert(start, object.span);
                        } else {
                            self.made_invalid.remove(&start);
                        }
                    }
                }
            }
            Builtin::PushFront | Builtin::PopFront => {
                // Which elements are valid now is not followed.
                let place = self.place(object, Access::Write);
                let Some(state) = &mut self.at else { return };
                for start in &place.starts {
                    (0..place.layout.n_cells).for_each(|o| state.set(start + o, Fact::UNKNOWN));
                }
            }
            Builtin::MinSizeInBits
            | Builtin::MinSizeInBytes
            | Builtin::MaxSizeInBits
            | Builtin::MaxSizeInBytes => {}
        }
    }
}

/// Text of a place in P4 syntax.
pub(super) fn text(p: &Program, e: &Expr) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut at = e;
    loop {
        match &at.kind {
            ExprKind::Var(v) => {
                parts.push(p.vars[*v].name.to_string());
                break;
            }
            ExprKind::Field { base, field } => {
                let name = match p.types.kind(base.ty) {
                    crate::types::TyKind::Struct(id, _) => {
                        p.structs[*id].fields.get(*field as usize).map_or("?", |f| f.name.as_str())
                    }
                    _ => "?",
                };
                parts.push(format!(".{name}"));
                at = base;
            }
            ExprKind::TupleElement { base, index } => {
                parts.push(format!("[{index}]"));
                at = base;
            }
            ExprKind::Index { base, index } => {
                match index.value.as_ref().and_then(|v| v.as_int()) {
                    Some(i) => parts.push(format!("[{i}]")),
                    None => parts.push("[...]".to_string()),
                }
                at = base;
            }
            ExprKind::Stack { base, member } => {
                parts.push(
                    match member {
                        StackMember::Next => ".next",
                        StackMember::Last => ".last",
                        StackMember::LastIndex => ".lastIndex",
                        StackMember::Size => ".size",
                    }
                    .to_string(),
                );
                at = base;
            }
            _ => {
                parts.push("(...)".to_string());
                break;
            }
        }
    }
    parts.into_iter().rev().collect()
}
