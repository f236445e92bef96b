//! From text to types, places, expressions, statements and terminators.

use super::cursor::{Cursor, Error, Label, Result};
use super::words::Word;
use crate::lookup::{get, id_at};
use crate::types::INDEX_BITS;
use crate::{
    Arg, BinaryOp, Bits, Expr, ExprKind, Keyset, Node, NodeId, ObjectId, Pattern, Place, ProcedureId,
    Program, SelectCase, Step, Stmt, StmtKind, SwitchCase, Terminator, TerminatorKind, Type, UnaryOp,
    ValueSetId, VarId,
};
use arch::ExternOp;
use diagnostics::Span;
use la_arena::Idx;
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

type Map = FxHashMap<Label, usize>;

/// Positions of declarations by their labels.
#[derive(Default)]
pub(super) struct Names {
    pub(super) structs: Map,
    pub(super) enums: Map,
    pub(super) variables: Map,
    pub(super) blocks: Map,
    pub(super) procedures: Map,
    pub(super) tables: Map,
    pub(super) value_sets: Map,
    pub(super) objects: Map,
}

pub(super) struct CodeParser<'t> {
    pub(super) cursor: Cursor<'t>,
    pub(super) program: Program,
    names: Names,
}

/// An expression of which the text need not say the type.
struct Bare {
    kind: ExprKind,
    ty: Option<Type>,
    at: usize,
}

impl Bare {
    fn new(kind: ExprKind, ty: Type, at: usize) -> Bare {
        Bare { kind, ty: Some(ty), at }
    }

    fn typed(self) -> Result<Expr> {
        match self.ty {
            Some(ty) => Ok(Expr { kind: self.kind, ty }),
            None => Err(Error { at: self.at, message: "this has no type; write `(... : type)`".to_string() }),
        }
    }
}

/// The position of the `n`th bearer of a name.
fn nth_bearer<'a>(mut names: impl Iterator<Item = &'a SmolStr>, label: &Label) -> Option<usize> {
    let mut left = label.occurrence;
    names.position(|name| {
        let is_it = *name == label.name && left == 0;
        if *name == label.name {
            left = left.saturating_sub(1);
        }
        is_it
    })
}

impl<'t> CodeParser<'t> {
    pub(super) fn new(cursor: Cursor<'t>, program: Program, names: Names) -> CodeParser<'t> {
        CodeParser { cursor, program, names }
    }

    fn fail<T>(&self, at: usize, message: String) -> Result<T> {
        Err(Error { at, message })
    }

    /// A label that is declared, or `@N`.
    pub(super) fn reference<T>(
        &mut self,
        dots: bool,
        what: &str,
        map: impl Fn(&Names) -> &Map,
    ) -> Result<Idx<T>> {
        self.cursor.skip_space();
        let at = self.cursor.at;
        if self.cursor.eat("@") {
            return Ok(id_at(self.cursor.number("a number")?));
        }
        let label = self.cursor.label(dots, what)?;
        match map(&self.names).get(&label) {
            Some(position) => Ok(id_at(*position)),
            None => self.fail(at, format!("`{label}` is not declared as {what}")),
        }
    }

    pub(super) fn variable_ref(&mut self) -> Result<VarId> {
        self.reference(false, "a variable", |names| &names.variables)
    }

    pub(super) fn procedure_ref(&mut self) -> Result<ProcedureId> {
        self.reference(true, "a procedure", |names| &names.procedures)
    }

    pub(super) fn object_ref(&mut self) -> Result<ObjectId> {
        self.reference(true, "an object", |names| &names.objects)
    }

    fn value_set_ref(&mut self) -> Result<ValueSetId> {
        self.reference(true, "a value set", |names| &names.value_sets)
    }

    pub(super) fn node_ref(&mut self) -> Result<NodeId> {
        let word = self.cursor.peek_word();
        match word.strip_prefix('n').and_then(|digits| digits.parse().ok()) {
            Some(position) => {
                self.cursor.at += word.len();
                Ok(id_at(position))
            }
            None => self.cursor.error(format!("expected a node such as `n1`, found {}", self.cursor.found())),
        }
    }

    fn angle_number(&mut self) -> Result<u32> {
        self.cursor.expect("<")?;
        let n = self.cursor.number("a width")?;
        self.cursor.expect(">")?;
        Ok(n)
    }

    pub(super) fn ty(&mut self) -> Result<Type> {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let at = {
                self.cursor.skip_space();
                self.cursor.at
            };
            let word = self.cursor.peek_word();
            let builtin = ["bool", "bit", "int", "varbit", "error", "enum", "struct", "stack", "array"];
            if let Some(word) = builtin.into_iter().find(|w| *w == word) {
                self.cursor.at += word.len();
                return Ok(match word {
                    "bool" => Type::Bool,
                    "bit" => Type::Bit(self.angle_number()?),
                    "int" => Type::Int(self.angle_number()?),
                    "varbit" => Type::Varbit(self.angle_number()?),
                    "error" => Type::Error,
                    "enum" => Type::Enum(self.reference(false, "an enum", |names| &names.enums)?),
                    "struct" => Type::Struct(self.reference(false, "a struct", |names| &names.structs)?),
                    _ => {
                        self.cursor.expect("<")?;
                        let element = self.ty()?;
                        self.cursor.expect(",")?;
                        let size = self.cursor.number("a size")?;
                        self.cursor.expect(">")?;
                        match (word, element) {
                            ("stack", Type::Struct(element)) => Type::Stack { element, size },
                            ("stack", _) => {
                                return self.fail(at, "stacks are of headers or unions".to_string());
                            }
                            (_, element) => Type::Array { element: Box::new(element), size },
                        }
                    }
                });
            }
            let label = self.cursor.label(false, "a type")?;
            if let Some(position) = self.names.enums.get(&label) {
                return Ok(Type::Enum(id_at(*position)));
            }
            match self.names.structs.get(&label) {
                Some(position) => Ok(Type::Struct(id_at(*position))),
                None => self.fail(at, format!("`{label}` is not declared as a type")),
            }
        })
    }

    pub(super) fn place(&mut self) -> Result<Place> {
        let mut place = Place::var(self.variable_ref()?);
        let mut ty = get(&self.program.variables, place.var).map(|v| v.ty.clone());
        // No space within a place: `a .. b` is a range.
        loop {
            let rest = self.cursor.rest();
            let step = if rest.starts_with('.') && !rest.starts_with("..") {
                self.cursor.at += 1;
                self.field_step(ty.as_ref())?
            } else if rest.starts_with('[') {
                self.cursor.at += 1;
                self.index_step()?
            } else {
                return Ok(place);
            };
            ty = ty.and_then(|ty| self.program.step_type(&ty, &step));
            place.path.push(step);
        }
    }

    fn field_step(&mut self, ty: Option<&Type>) -> Result<Step> {
        let at = self.cursor.at;
        if self.cursor.rest().starts_with('@') {
            self.cursor.at += 1;
            return Ok(Step::Field(self.cursor.number("a number")?));
        }
        for (word, step) in [("$valid", Step::Valid), ("$next", Step::NextIndex)] {
            if self.cursor.eat_word(word) {
                return Ok(step);
            }
        }
        let label = self.cursor.label(false, "a field")?;
        let fields = match ty {
            Some(Type::Struct(id)) => get(&self.program.structs, *id).map(|s| s.fields.as_slice()),
            _ => None,
        };
        match nth_bearer(fields.unwrap_or_default().iter().map(|f| &f.name), &label) {
            Some(i) => Ok(Step::Field(i as u32)),
            None => self.fail(at, format!("there is no field `{label}`")),
        }
    }

    /// After `[`.
    fn index_step(&mut self) -> Result<Step> {
        let slice = self.brackets()?;
        Ok(match slice {
            Brackets::Number(i) => Step::Element(i),
            Brackets::Expr(e) => Step::Index(Box::new(e)),
            Brackets::Slice { lo, width } => Step::Slice { lo, width },
            Brackets::SliceAt { lo, width } => Step::SliceAt { lo: Box::new(lo), width },
        })
    }

    /// After `[`.
    fn brackets(&mut self) -> Result<Brackets> {
        self.cursor.skip_space();
        let at = self.cursor.at;
        let word = self.cursor.peek_word();
        let out = if !word.is_empty() && word.chars().all(|c| c.is_ascii_digit()) {
            let first: u32 = self.cursor.number("a number")?;
            if self.cursor.eat("+:") {
                Brackets::Slice { lo: first, width: self.cursor.number("a width")? }
            } else if self.cursor.eat(":") {
                let lo: u32 = self.cursor.number("a number")?;
                match first.checked_sub(lo).and_then(|n| n.checked_add(1)) {
                    Some(width) => Brackets::Slice { lo, width },
                    None => return self.fail(at, "the first bit of a slice is the highest".to_string()),
                }
            } else {
                Brackets::Number(first)
            }
        } else {
            let e = self.expr()?;
            match self.cursor.eat("+:") {
                true => Brackets::SliceAt { lo: e, width: self.cursor.number("a width")? },
                false => Brackets::Expr(e),
            }
        };
        self.cursor.expect("]")?;
        Ok(out)
    }

    pub(super) fn expr(&mut self) -> Result<Expr> {
        self.bare()?.typed()
    }

    /// Gives an expression the type that follows from its operands.
    fn natural(&self, kind: ExprKind, at: usize) -> Bare {
        let expr = Expr { kind, ty: Type::Bool };
        let ty = self.program.natural_type(&expr);
        Bare { kind: expr.kind, ty, at }
    }

    fn bare(&mut self) -> Result<Bare> {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let first = self.operand()?;
            let at = first.at;
            if self.cursor.eat("?") {
                let then = self.operand()?.typed()?;
                self.cursor.expect(":")?;
                let otherwise = self.operand()?.typed()?;
                let kind = ExprKind::Mux(Box::new(first.typed()?), Box::new(then), Box::new(otherwise));
                return Ok(self.natural(kind, at));
            }
            let Some(op) = self.binary_op() else { return Ok(first) };
            let second = self.operand()?.typed()?;
            Ok(self.natural(ExprKind::Binary(op, Box::new(first.typed()?), Box::new(second)), at))
        })
    }

    fn binary_op(&mut self) -> Option<BinaryOp> {
        self.cursor.skip_space();
        let rest = self.cursor.rest();
        // These are no operators: `&&&` is a mask, and `+:` a slice with a computed start.
        if rest.starts_with("&&&") || rest.starts_with("+:") {
            return None;
        }
        let (op, word) = BinaryOp::ALL.iter().find(|(_, word)| rest.starts_with(word))?;
        self.cursor.at += word.len();
        Some(*op)
    }

    fn operand(&mut self) -> Result<Bare> {
        self.cursor.skip_space();
        let at = self.cursor.at;
        let unary = [("!", UnaryOp::Not), ("~", UnaryOp::Complement), ("-", UnaryOp::Negate)];
        for (sign, op) in unary {
            if self.cursor.eat(sign) {
                let operand = stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.operand())?.typed()?;
                return Ok(self.natural(ExprKind::Unary(op, Box::new(operand)), at));
            }
        }
        if self.cursor.eat("(") {
            return self.parenthesised(at);
        }
        let word = self.cursor.peek_word();
        match word {
            "true" | "false" => {
                self.cursor.at += word.len();
                return Ok(Bare::new(ExprKind::Const(Bits::bool(word == "true")), Type::Bool, at));
            }
            "bool" | "bit" | "int" => {
                let ty = self.ty()?;
                return self.cast(ty, at);
            }
            "cast" => {
                self.cursor.at += word.len();
                self.cursor.expect("<")?;
                let ty = self.ty()?;
                self.cursor.expect(">")?;
                return self.cast(ty, at);
            }
            "$packet_length" => {
                self.cursor.at += word.len();
                return Ok(Bare::new(ExprKind::PacketLength, Type::Bit(32), at));
            }
            "error" => {
                self.cursor.at += word.len();
                self.cursor.expect(".")?;
                let label = self.cursor.label(false, "an error")?;
                let position = nth_bearer(self.program.errors.iter(), &label);
                return self.index_constant(position, Type::Error, &label, at);
            }
            _ if word.starts_with(|c: char| c.is_ascii_digit()) => {
                let (bits, signed) = self.cursor.bits()?;
                let ty = if signed { Type::Int(bits.width()) } else { Type::Bit(bits.width()) };
                return Ok(Bare::new(ExprKind::Const(bits), ty, at));
            }
            _ => {}
        }
        if let Some(constant) = self.enum_member(at)? {
            return Ok(constant);
        }
        let place = self.place()?;
        Ok(self.natural(ExprKind::Read(place), at))
    }

    fn cast(&mut self, ty: Type, at: usize) -> Result<Bare> {
        self.cursor.expect("(")?;
        let operand = self.expr()?;
        self.cursor.expect(")")?;
        Ok(Bare::new(ExprKind::Cast(Box::new(operand)), ty, at))
    }

    fn index_constant(&self, position: Option<usize>, ty: Type, label: &Label, at: usize) -> Result<Bare> {
        match position {
            Some(i) => Ok(Bare::new(ExprKind::Const(Bits::new(INDEX_BITS, i as u128)), ty, at)),
            None => self.fail(at, format!("there is no member `{label}`")),
        }
    }

    fn enum_member(&mut self, at: usize) -> Result<Option<Bare>> {
        let mut ahead = self.cursor.clone();
        let Ok(label) = ahead.label(false, "a value") else { return Ok(None) };
        let Some(position) = self.names.enums.get(&label) else { return Ok(None) };
        let id = id_at(*position);
        self.cursor = ahead;
        self.cursor.expect(".")?;
        let member = self.cursor.label(false, "a member")?;
        let names = get(&self.program.enums, id).map(|e| e.members.as_slice()).unwrap_or_default();
        let position = nth_bearer(names.iter().map(|(name, _)| name), &member);
        self.index_constant(position, Type::Enum(id), &member, at).map(Some)
    }

    /// After `(`: an expression, perhaps with a type, perhaps sliced.
    fn parenthesised(&mut self, at: usize) -> Result<Bare> {
        let mut bare = self.bare()?;
        if self.cursor.eat(":") {
            bare.ty = Some(self.ty()?);
        }
        self.cursor.expect(")")?;
        while self.cursor.rest().starts_with('[') {
            self.cursor.at += 1;
            let value = Box::new(bare.typed()?);
            bare = match self.brackets()? {
                Brackets::Slice { lo, width } => {
                    Bare::new(ExprKind::Slice { value, lo }, Type::Bit(width), at)
                }
                Brackets::SliceAt { lo, width } => {
                    Bare::new(ExprKind::SliceAt { value, lo: Box::new(lo) }, Type::Bit(width), at)
                }
                Brackets::Number(_) | Brackets::Expr(_) => {
                    return self.fail(at, "expressions have slices, not elements".to_string());
                }
            };
        }
        bare.at = at;
        Ok(bare)
    }

    /// After the opening punctuation.
    fn list<T>(&mut self, close: &str, item: fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = Vec::new();
        if self.cursor.eat(close) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if !self.cursor.eat(",") {
                self.cursor.expect(close)?;
                return Ok(items);
            }
        }
    }

    fn arg(&mut self) -> Result<Arg> {
        self.cursor.skip_space();
        if self.cursor.peek_char() == Some('"') {
            return Ok(Arg::Str(self.cursor.quoted('"')?.into()));
        }
        if self.cursor.eat("{") {
            return Ok(Arg::Fields(self.list("}", Self::expr)?));
        }
        if self.cursor.eat_word("_") {
            return Ok(Arg::Absent);
        }
        if self.cursor.eat_word("ref") {
            return Ok(Arg::Ref(self.place()?));
        }
        if self.cursor.eat_word("table") {
            let table = self.reference(true, "a table", |names| &names.tables)?;
            let action = match self.cursor.eat_word("action") {
                true => Some(self.cursor.number("the number of an action")?),
                false => None,
            };
            return Ok(Arg::Table { table, action });
        }
        Ok(Arg::In(self.expr()?))
    }

    fn extern_call(&mut self, result: Option<Place>) -> Result<StmtKind> {
        self.cursor.skip_space();
        let at = self.cursor.at;
        let word = self.cursor.peek_word();
        let Some(op) = ExternOp::from_name(word) else {
            return self.fail(at, format!("expected what the extern does, found {}", self.cursor.found()));
        };
        self.cursor.at += word.len();
        let name = self.cursor.name(true, "the name of an extern")?.into();
        let object = if self.cursor.eat_word("on") { Some(self.object_ref()?) } else { None };
        self.cursor.expect("(")?;
        let args = self.list(")", Self::arg)?;
        Ok(StmtKind::Extern { op, name, object, args, result })
    }

    pub(super) fn node(&mut self) -> Result<Node> {
        let state = match self.cursor.eat_word("state") {
            true => Some(self.cursor.name(true, "the name of a state")?.into()),
            false => None,
        };
        let mut stmts = Vec::new();
        loop {
            if let Some(kind) = self.terminator()? {
                return Ok(Node { state, stmts, terminator: Terminator { kind, span: Span::NONE } });
            }
            let kind = if self.cursor.eat_word("emit") {
                StmtKind::Emit(self.place()?)
            } else if self.cursor.eat_word("zero_if_invalid") {
                StmtKind::ZeroIfInvalid(self.place()?)
            } else if self.cursor.eat_word("extern") {
                self.extern_call(None)?
            } else {
                let place = self.place()?;
                self.cursor.expect("=")?;
                if self.cursor.eat_word("extern") {
                    self.extern_call(Some(place))?
                } else {
                    StmtKind::Assign { place, value: self.expr()? }
                }
            };
            stmts.push(Stmt { kind, span: Span::NONE });
        }
    }

    /// Two successors after their words.
    fn successors(&mut self, other: &str) -> Result<(NodeId, NodeId)> {
        self.cursor.expect_word("then")?;
        let then = self.node_ref()?;
        self.cursor.expect_word(other)?;
        Ok((then, self.node_ref()?))
    }

    fn terminator(&mut self) -> Result<Option<TerminatorKind>> {
        let words = [
            "goto",
            "if",
            "switch",
            "select",
            "extract",
            "advance",
            "lookahead",
            "apply",
            "call",
            "return",
            "exit",
            "accept",
            "reject",
        ];
        let next = self.cursor.peek_word();
        let Some(word) = words.into_iter().find(|w| *w == next) else { return Ok(None) };
        self.cursor.at += word.len();
        Ok(Some(match word {
            "goto" => TerminatorKind::Goto(self.node_ref()?),
            "if" => {
                let condition = self.expr()?;
                let (then, otherwise) = self.successors("else")?;
                TerminatorKind::Branch { condition, then, otherwise }
            }
            "switch" => self.switch()?,
            "select" => self.select()?,
            "extract" => {
                let to_next = self.cursor.eat_word("next");
                let place = self.place()?;
                let size_bits = if self.cursor.eat_word("size") { Some(self.expr()?) } else { None };
                let (then, fail) = self.successors("fail")?;
                TerminatorKind::Extract { place, to_next, size_bits, then, fail }
            }
            "advance" => {
                let bits = self.expr()?;
                let (then, fail) = self.successors("fail")?;
                TerminatorKind::Advance { bits, then, fail }
            }
            "lookahead" => {
                let place = self.place()?;
                let (then, fail) = self.successors("fail")?;
                TerminatorKind::Lookahead { place, then, fail }
            }
            "apply" => {
                let table = self.reference(true, "a table", |names| &names.tables)?;
                self.cursor.expect("(")?;
                let keys = self.list(")", Self::expr)?;
                let hit = if self.cursor.eat_word("hit") { Some(self.place()?) } else { None };
                let action = if self.cursor.eat_word("action") { Some(self.place()?) } else { None };
                let (then, exit) = self.successors("exit")?;
                TerminatorKind::Apply { table, keys, hit, action, then, exit }
            }
            "call" => {
                let procedure = self.procedure_ref()?;
                let (then, exit) = self.successors("exit")?;
                TerminatorKind::Call { procedure, then, exit }
            }
            "return" => TerminatorKind::Return,
            "exit" => TerminatorKind::Exit,
            "accept" => TerminatorKind::Accept,
            _ => TerminatorKind::Reject,
        }))
    }

    /// `: n1` after a case; whether it was the last, `else`, is for the caller to know.
    fn target(&mut self) -> Result<NodeId> {
        self.cursor.expect(":")?;
        self.node_ref()
    }

    fn switch(&mut self) -> Result<TerminatorKind> {
        let subject = self.expr()?;
        self.cursor.expect("{")?;
        let mut cases = Vec::new();
        while !self.cursor.eat_word("else") {
            let value = self.operand()?;
            let ExprKind::Const(bits) = value.kind else {
                return self.fail(value.at, "cases of `switch` are constants".to_string());
            };
            cases.push(SwitchCase { value: bits, target: self.target()? });
        }
        let otherwise = self.target()?;
        self.cursor.expect("}")?;
        Ok(TerminatorKind::Switch { subject, cases, otherwise })
    }

    fn keyset(&mut self) -> Result<Keyset> {
        if self.cursor.eat_word("_") {
            return Ok(Keyset::Any);
        }
        if self.cursor.eat_word("value_set") {
            return Ok(Keyset::ValueSet(self.value_set_ref()?));
        }
        let value = self.expr()?;
        if self.cursor.eat("&&&") {
            return Ok(Keyset::Mask { value, mask: self.operand()?.typed()? });
        }
        if self.cursor.eat("..") {
            return Ok(Keyset::Range { lo: value, hi: self.operand()?.typed()? });
        }
        Ok(Keyset::Value(value))
    }

    fn select(&mut self) -> Result<TerminatorKind> {
        self.cursor.expect("(")?;
        let keys = self.list(")", Self::expr)?;
        self.cursor.expect("{")?;
        let mut cases = Vec::new();
        while !self.cursor.eat_word("else") {
            let pattern = if self.cursor.eat("(") {
                Pattern::Keys(self.list(")", Self::keyset)?)
            } else {
                self.cursor.expect_word("value_set")?;
                Pattern::ValueSet(self.value_set_ref()?)
            };
            cases.push(SelectCase { pattern, target: self.target()? });
        }
        let otherwise = self.target()?;
        self.cursor.expect("}")?;
        Ok(TerminatorKind::Select { keys, cases, otherwise })
    }
}

/// The content of a pair of brackets.
enum Brackets {
    Number(u32),
    Expr(Expr),
    Slice { lo: u32, width: u32 },
    SliceAt { lo: Expr, width: u32 },
}
