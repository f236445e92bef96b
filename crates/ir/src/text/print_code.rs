//! Text of types, places, expressions, statements and terminators.

use super::names::{Dots, Labels, spelled, spelled_field, string};
use super::words::Spelled;
use crate::lookup::{get, index};
use crate::{
    Arg, Bits, EnumId, Expr, ExprKind, Keyset, NodeId, ObjectId, Pattern, Place, ProcedureId, Program, Step,
    Stmt, StmtKind, TableId, Terminator, TerminatorKind, Type, UnaryOp, ValueSetId, VarId,
};
use la_arena::Idx;
use smol_str::SmolStr;

/// Gives the text of parts of a program.
pub struct Printer<'p> {
    pub(super) program: &'p Program,
    pub(super) labels: Labels,
}

/// The label, or `@N` for what does not exist.
fn label<T>(labels: &[String], id: Idx<T>) -> String {
    labels.get(index(id)).cloned().unwrap_or_else(|| format!("@{}", index(id)))
}

/// The name at `position` in a list of names that need not be distinct.
pub(super) fn nth_name<'a>(
    names: impl Iterator<Item = &'a SmolStr> + Clone,
    position: usize,
    spell: fn(&str) -> String,
) -> String {
    let Some(name) = names.clone().nth(position) else {
        return format!("@{position}");
    };
    match names.take(position).filter(|n| *n == name).count() {
        0 => spell(name),
        n => format!("{}#{n}", spell(name)),
    }
}

pub(super) fn node(id: NodeId) -> String {
    format!("n{}", index(id))
}

/// A list with commas.
pub(super) fn joined<T>(items: &[T], text: impl FnMut(&T) -> String) -> String {
    items.iter().map(text).collect::<Vec<_>>().join(", ")
}

fn deep<R>(f: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, f)
}

impl<'p> Printer<'p> {
    pub fn new(program: &'p Program) -> Printer<'p> {
        Printer { program, labels: Labels::new(program) }
    }

    pub fn variable(&self, id: VarId) -> String {
        label(&self.labels.variables, id)
    }

    pub fn procedure(&self, id: ProcedureId) -> String {
        label(&self.labels.procedures, id)
    }

    pub fn table(&self, id: TableId) -> String {
        label(&self.labels.tables, id)
    }

    pub fn block(&self, id: crate::BlockId) -> String {
        label(&self.labels.blocks, id)
    }

    pub(crate) fn value_set(&self, id: ValueSetId) -> String {
        label(&self.labels.value_sets, id)
    }

    pub(crate) fn object(&self, id: ObjectId) -> String {
        label(&self.labels.objects, id)
    }

    pub(crate) fn enumeration(&self, id: EnumId) -> String {
        label(&self.labels.enums, id)
    }

    pub fn ty(&self, ty: &Type) -> String {
        deep(|| match ty {
            Type::Bool => "bool".to_string(),
            Type::Bit(w) => format!("bit<{w}>"),
            Type::Int(w) => format!("int<{w}>"),
            Type::Varbit(w) => format!("varbit<{w}>"),
            Type::Error => "error".to_string(),
            Type::Enum(id) if get(&self.program.enums, *id).is_none() => {
                format!("enum {}", self.enumeration(*id))
            }
            Type::Enum(id) => self.enumeration(*id),
            Type::Struct(id) if get(&self.program.structs, *id).is_none() => {
                format!("struct {}", label(&self.labels.structs, *id))
            }
            Type::Struct(id) => label(&self.labels.structs, *id),
            Type::Stack { element, size } => {
                format!("stack<{}, {size}>", self.ty(&Type::Struct(*element)))
            }
            Type::Array { element, size } => format!("array<{}, {size}>", self.ty(element)),
        })
    }

    pub fn place(&self, place: &Place) -> String {
        let mut out = self.variable(place.var);
        let mut ty = get(&self.program.variables, place.var).map(|v| v.ty.clone());
        for step in &place.path {
            out.push_str(&self.step(ty.as_ref(), step));
            ty = ty.and_then(|ty| self.program.step_type(&ty, step));
        }
        out
    }

    /// A step from a value of the type.
    pub(crate) fn step(&self, ty: Option<&Type>, step: &Step) -> String {
        match step {
            Step::Field(i) => match ty {
                Some(Type::Struct(id)) if get(&self.program.structs, *id).is_some() => {
                    let names = self.program.structs[*id].fields.iter().map(|f| &f.name);
                    format!(".{}", nth_name(names, *i as usize, spelled_field))
                }
                _ => format!(".@{i}"),
            },
            Step::Element(i) => format!("[{i}]"),
            Step::Index(e) => format!("[{}]", self.expr(e)),
            Step::Valid => ".$valid".to_string(),
            Step::NextIndex => ".$next".to_string(),
            Step::Slice { lo, width } => match lo.checked_add(*width) {
                Some(end) if *width > 0 => format!("[{}:{lo}]", end - 1),
                Some(_) | None => format!("[{lo} +: {width}]"),
            },
            Step::SliceAt { lo, width } => format!("[{} +: {width}]", self.expr(lo)),
        }
    }

    /// A constant of a type: with its width, or by name.
    pub fn constant(&self, value: &Bits, ty: &Type) -> String {
        let fits = ty.width_bits() == Some(value.width());
        let position = value.to_u64().and_then(|n| usize::try_from(n).ok());
        match (ty, position) {
            (Type::Bool, _) if fits => if value.is_true() { "true" } else { "false" }.to_string(),
            (Type::Bit(_), _) if fits => format!("{value:?}"),
            (Type::Int(_), _) if fits => format!("{}s{value:#x}", value.width()),
            (Type::Error, Some(i)) if fits && i < self.program.errors.len() => {
                format!("error.{}", nth_name(self.program.errors.iter(), i, spelled_field))
            }
            (Type::Enum(id), Some(i)) if fits => match get(&self.program.enums, *id) {
                Some(e) if i < e.members.len() => {
                    let names = e.members.iter().map(|(name, _)| name);
                    format!("{}.{}", self.enumeration(*id), nth_name(names, i, spelled_field))
                }
                Some(_) | None => self.with_type(&format!("{value:?}"), ty),
            },
            _ => self.with_type(&format!("{value:?}"), ty),
        }
    }

    /// Adds the type to a text that would otherwise be read with another type.
    fn with_type(&self, text: &str, ty: &Type) -> String {
        format!("({text} : {})", self.ty(ty))
    }

    pub fn expr(&self, expr: &Expr) -> String {
        deep(|| {
            if !self.has_natural_type(expr) {
                return self.with_type(&self.untyped(expr), &expr.ty);
            }
            self.untyped(expr)
        })
    }

    /// True when the expression's type follows from its text.
    fn has_natural_type(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Slice { .. } | ExprKind::SliceAt { .. } => matches!(expr.ty, Type::Bit(_)),
            ExprKind::Const(_)
            | ExprKind::Cast(_)
            | ExprKind::Read(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Mux(..)
            | ExprKind::PacketLength => self.program.natural_type(expr).as_ref() == Some(&expr.ty),
        }
    }

    fn untyped(&self, expr: &Expr) -> String {
        let width = expr.ty.width_bits().unwrap_or(0);
        match &expr.kind {
            ExprKind::Const(value) => self.constant(value, &expr.ty),
            ExprKind::Read(place) => self.place(place),
            ExprKind::Unary(op, operand) => {
                let op = match op {
                    UnaryOp::Not => "!",
                    UnaryOp::Complement => "~",
                    UnaryOp::Negate => "-",
                };
                format!("{op}{}", self.operand(operand))
            }
            ExprKind::Binary(op, lhs, rhs) => {
                format!("{} {} {}", self.operand(lhs), op.word(), self.operand(rhs))
            }
            ExprKind::Mux(condition, then, otherwise) => {
                let [c, t, o] = [condition, then, otherwise].map(|e| self.operand(e));
                format!("{c} ? {t} : {o}")
            }
            ExprKind::Cast(operand) => match &expr.ty {
                Type::Bool | Type::Bit(_) | Type::Int(_) => {
                    format!("{}({})", self.ty(&expr.ty), self.expr(operand))
                }
                ty => format!("cast<{}>({})", self.ty(ty), self.expr(operand)),
            },
            ExprKind::Slice { value, lo } => match lo.checked_add(width) {
                Some(end) if width > 0 => format!("({})[{}:{lo}]", self.expr(value), end - 1),
                Some(_) | None => format!("({})[{lo} +: {width}]", self.expr(value)),
            },
            ExprKind::SliceAt { value, lo } => {
                format!("({})[{} +: {width}]", self.expr(value), self.expr(lo))
            }
            ExprKind::PacketLength => "$packet_length".to_string(),
        }
    }

    /// Prints an operand. It stands in parentheses when it has an operator.
    fn operand(&self, expr: &Expr) -> String {
        let text = self.expr(expr);
        let has_operator = match &expr.kind {
            ExprKind::Unary(..) | ExprKind::Binary(..) | ExprKind::Mux(..) => true,
            ExprKind::Const(_)
            | ExprKind::Read(_)
            | ExprKind::Cast(_)
            | ExprKind::Slice { .. }
            | ExprKind::SliceAt { .. }
            | ExprKind::PacketLength => false,
        };
        if has_operator && self.has_natural_type(expr) { format!("({text})") } else { text }
    }

    fn arg(&self, arg: &Arg) -> String {
        match arg {
            Arg::In(e) => self.expr(e),
            Arg::Fields(fields) => format!("{{{}}}", joined(fields, |e| self.expr(e))),
            Arg::Ref(place) => format!("ref {}", self.place(place)),
            Arg::Str(text) => string(text),
            Arg::Table { table, action } => {
                let action = action.map(|action| format!(" action {action}")).unwrap_or_default();
                format!("table {}{action}", self.table(*table))
            }
            Arg::Absent => "_".to_string(),
        }
    }

    pub fn stmt(&self, stmt: &Stmt) -> String {
        match &stmt.kind {
            StmtKind::Assign { place, value } => format!("{} = {}", self.place(place), self.expr(value)),
            StmtKind::Emit(place) => format!("emit {}", self.place(place)),
            StmtKind::ZeroIfInvalid(place) => format!("zero_if_invalid {}", self.place(place)),
            StmtKind::Extern { op, name, object, args, result } => {
                let result = result.as_ref().map(|place| format!("{} = ", self.place(place)));
                let object = object.map(|id| format!(" on {}", self.object(id)));
                format!(
                    "{}extern {} {}{}({})",
                    result.unwrap_or_default(),
                    op.name(),
                    spelled(name, Dots::Yes),
                    object.unwrap_or_default(),
                    joined(args, |arg| self.arg(arg)),
                )
            }
        }
    }

    fn keyset(&self, keyset: &Keyset) -> String {
        match keyset {
            Keyset::Any => "_".to_string(),
            Keyset::Value(e) => self.expr(e),
            Keyset::Mask { value, mask } => format!("{} &&& {}", self.operand(value), self.operand(mask)),
            Keyset::Range { lo, hi } => format!("{} .. {}", self.operand(lo), self.operand(hi)),
            Keyset::ValueSet(id) => format!("value_set {}", self.value_set(*id)),
        }
    }

    /// On one line, or for `switch` and `select` on one for each case.
    pub fn terminator(&self, terminator: &Terminator) -> Vec<String> {
        let line = match &terminator.kind {
            TerminatorKind::Goto(target) => format!("goto {}", node(*target)),
            TerminatorKind::Branch { condition, then, otherwise } => {
                format!("if {} then {} else {}", self.expr(condition), node(*then), node(*otherwise))
            }
            TerminatorKind::Switch { subject, cases, otherwise } => {
                let case = |c: &crate::SwitchCase| {
                    format!("    {}: {}", self.constant(&c.value, &subject.ty), node(c.target))
                };
                let mut lines = vec![format!("switch {} {{", self.expr(subject))];
                lines.extend(cases.iter().map(case));
                lines.extend([format!("    else: {}", node(*otherwise)), "}".to_string()]);
                return lines;
            }
            TerminatorKind::Select { keys, cases, otherwise } => {
                let mut lines = vec![format!("select ({}) {{", joined(keys, |e| self.expr(e)))];
                for case in cases {
                    let pattern = match &case.pattern {
                        Pattern::Keys(keysets) => format!("({})", joined(keysets, |k| self.keyset(k))),
                        Pattern::ValueSet(id) => format!("value_set {}", self.value_set(*id)),
                    };
                    lines.push(format!("    {pattern}: {}", node(case.target)));
                }
                lines.extend([format!("    else: {}", node(*otherwise)), "}".to_string()]);
                return lines;
            }
            TerminatorKind::Extract { place, to_next, size_bits, then, fail } => {
                let next = if *to_next { "next " } else { "" };
                let size = size_bits.as_ref().map(|e| format!(" size {}", self.expr(e))).unwrap_or_default();
                format!("extract {next}{}{size} then {} fail {}", self.place(place), node(*then), node(*fail))
            }
            TerminatorKind::Advance { bits, then, fail } => {
                format!("advance {} then {} fail {}", self.expr(bits), node(*then), node(*fail))
            }
            TerminatorKind::Lookahead { place, then, fail } => {
                format!("lookahead {} then {} fail {}", self.place(place), node(*then), node(*fail))
            }
            TerminatorKind::Apply { table, keys, hit, action, then, exit } => {
                let stored = |word: &str, place: &Option<Place>| {
                    place.as_ref().map(|p| format!(" {word} {}", self.place(p))).unwrap_or_default()
                };
                format!(
                    "apply {}({}){}{} then {} exit {}",
                    self.table(*table),
                    joined(keys, |e| self.expr(e)),
                    stored("hit", hit),
                    stored("action", action),
                    node(*then),
                    node(*exit),
                )
            }
            TerminatorKind::Call { procedure, then, exit } => {
                format!("call {} then {} exit {}", self.procedure(*procedure), node(*then), node(*exit))
            }
            TerminatorKind::Return => "return".to_string(),
            TerminatorKind::Exit => "exit".to_string(),
            TerminatorKind::Accept => "accept".to_string(),
            TerminatorKind::Reject => "reject".to_string(),
        };
        vec![line]
    }
}
