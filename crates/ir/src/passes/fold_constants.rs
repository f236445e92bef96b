//! Computes what is known at compile time: operators on constants, branches on constants, indices.

use crate::eval;
use crate::lookup::get;
use crate::{
    BinaryOp, Bits, Expr, ExprKind, Keyset, Node, Pattern, Place, Program, Step, StmtKind, TerminatorKind,
    Type, UnaryOp,
};

pub fn fold_constants(program: &mut Program) {
    // The graphs are taken out so that types can be looked up while they change.
    let mut graphs: Vec<_> = program.graphs_mut().map(|graph| std::mem::take(&mut graph.nodes)).collect();
    for nodes in &mut graphs {
        nodes.iter_mut().for_each(|(_, node)| fold_node(program, node));
    }
    program.graphs_mut().zip(graphs).for_each(|(graph, nodes)| graph.nodes = nodes);
}

fn fold_node(program: &Program, node: &mut Node) {
    node.for_each_expr_mut(&mut |e| fold(program, e));
    // Writing to what does not exist has no effect; externs are called all the same.
    node.stmts.retain_mut(|stmt| match &mut stmt.kind {
        StmtKind::Assign { place, value: _ } | StmtKind::Emit(place) | StmtKind::ZeroIfInvalid(place) => {
            fold_place(program, place) == Existence::Exists
        }
        StmtKind::Extern { .. } => true,
    });
    if let Some(kind) = fold_terminator(&mut node.terminator.kind) {
        node.terminator.kind = kind;
    }
}

#[derive(PartialEq)]
enum Existence {
    /// The place exists, as far as is known.
    Exists,
    /// An index is beyond the size: it reads as zeros, and writing has no effect.
    Beyond,
}

/// Makes constant indices out of computed ones where they turn out to be constant.
fn fold_place(program: &Program, place: &mut Place) -> Existence {
    let Some(variable) = get(&program.variables, place.var) else { return Existence::Exists };
    let mut ty = variable.ty.clone();
    for step in &mut place.path {
        if let Step::Index(e) = step
            && let Some(value) = e.as_const()
        {
            let size = match &ty {
                Type::Stack { size, .. } | Type::Array { size, .. } => *size,
                _ => return Existence::Exists,
            };
            match eval::element(value, e.ty.is_signed(), size) {
                Some(i) => *step = Step::Element(i),
                None => return Existence::Beyond,
            }
        }
        if let Step::SliceAt { lo: e, width } = step
            && let (Some(value), Some(w)) = (e.as_const(), ty.width_bits())
        {
            let lo = eval::element(value, e.ty.is_signed(), u32::MAX);
            if let Some(lo) = lo.filter(|lo| lo.checked_add(*width).is_some_and(|end| end <= w)) {
                *step = Step::Slice { lo, width: *width };
            }
        }
        match program.step_type(&ty, step) {
            Some(inner) => ty = inner,
            None => return Existence::Exists,
        }
    }
    Existence::Exists
}

/// Makes an expression as simple as is known at compile time.
pub(crate) fn fold(program: &Program, e: &mut Expr) {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        e.for_each_operand_mut(&mut |operand| fold(program, operand));
        if let ExprKind::Read(place) = &mut e.kind
            && fold_place(program, place) == Existence::Beyond
            && let Some(width) = e.ty.width_bits()
        {
            e.kind = ExprKind::Const(Bits::zero(width));
            return;
        }
        if let Some(kind) = folded(e) {
            e.kind = kind;
        }
    });
}

/// The replacement for an expression with folded operands. The type stays the same.
fn folded(e: &mut Expr) -> Option<ExprKind> {
    let width = e.ty.width_bits();
    let take = |e: &mut Expr| std::mem::replace(&mut e.kind, ExprKind::PacketLength);
    match &mut e.kind {
        ExprKind::Const(_) | ExprKind::Read(_) | ExprKind::PacketLength => None,
        ExprKind::Unary(op, operand) => {
            if let Some(value) = operand.as_const() {
                return Some(ExprKind::Const(eval::unary(*op, value)));
            }
            match &mut operand.kind {
                // Each is its own inverse.
                ExprKind::Unary(inner, e) if inner == op => Some(take(e)),
                ExprKind::Binary(BinaryOp::Eq, a, b) if *op == UnaryOp::Not => {
                    let [a, b] = [a, b].map(|e| Box::new(Expr { kind: take(e), ty: e.ty.clone() }));
                    Some(ExprKind::Binary(BinaryOp::Ne, a, b))
                }
                _ => None,
            }
        }
        ExprKind::Binary(op, lhs, rhs) => {
            if let (Some(a), Some(b)) = (lhs.as_const(), rhs.as_const()) {
                return Some(ExprKind::Const(eval::binary(*op, a, b, lhs.ty.is_signed())));
            }
            // Operands have no side effects, so either may be left out.
            let neutral = match op {
                BinaryOp::And => true,
                BinaryOp::Or => false,
                _ => return None,
            };
            match (lhs.as_const().map(Bits::is_true), rhs.as_const().map(Bits::is_true)) {
                (Some(a), _) if a == neutral => Some(take(rhs)),
                (_, Some(b)) if b == neutral => Some(take(lhs)),
                (Some(_), _) | (_, Some(_)) => Some(ExprKind::Const(Bits::bool(!neutral))),
                (None, None) => None,
            }
        }
        ExprKind::Mux(condition, then, otherwise) => match condition.as_const() {
            Some(value) if value.is_true() => Some(take(then)),
            Some(_) => Some(take(otherwise)),
            None if then == otherwise => Some(take(then)),
            None => None,
        },
        ExprKind::Cast(operand) => match (operand.as_const(), width) {
            (Some(value), Some(width)) => Some(ExprKind::Const(eval::cast(value, &operand.ty, width))),
            _ if operand.ty == e.ty => Some(take(operand)),
            _ => None,
        },
        ExprKind::Slice { value, lo } => match (value.as_const(), width) {
            (Some(value), Some(width)) => Some(ExprKind::Const(value.slice(*lo, width))),
            _ if *lo == 0 && value.ty == e.ty => Some(take(value)),
            _ => None,
        },
        ExprKind::SliceAt { value, lo } => {
            let (lo_value, width) = (lo.as_const()?, width?);
            if let Some(value) = value.as_const() {
                return Some(ExprKind::Const(eval::slice_at(value, lo_value, lo.ty.is_signed(), width)));
            }
            let lo = eval::element(lo_value, lo.ty.is_signed(), u32::MAX)?;
            let end = lo.checked_add(width)?;
            let of = value.ty.width_bits()?;
            let value = Box::new(Expr { kind: take(value), ty: value.ty.clone() });
            match end <= of {
                true => Some(ExprKind::Slice { value, lo }),
                false => Some(ExprKind::SliceAt { value, lo: Box::new(Expr::bit(32, u128::from(lo))) }),
            }
        }
    }
}

/// True when a key is in a set; `None` when that is not known.
fn contains(set: &Keyset, key: &Expr) -> Option<bool> {
    let value = || key.as_const();
    match set {
        Keyset::Any => Some(true),
        Keyset::ValueSet(_) => None,
        Keyset::Value(e) => Some(value()? == e.as_const()?),
        Keyset::Mask { value: v, mask } => {
            let mask = mask.as_const()?;
            if mask.is_zero() {
                return Some(true);
            }
            Some(value()?.and(mask) == v.as_const()?.and(mask))
        }
        Keyset::Range { lo, hi } => {
            let within = |op, a: &Bits, b: &Bits| eval::binary(op, a, b, key.ty.is_signed()).is_true();
            let (value, lo, hi) = (value()?, lo.as_const()?, hi.as_const()?);
            Some(within(BinaryOp::Le, lo, value) && within(BinaryOp::Le, value, hi))
        }
    }
}

fn fold_terminator(kind: &mut TerminatorKind) -> Option<TerminatorKind> {
    match kind {
        TerminatorKind::Branch { condition, then, otherwise } => {
            let value = condition.as_const()?;
            Some(TerminatorKind::Goto(if value.is_true() { *then } else { *otherwise }))
        }
        TerminatorKind::Switch { subject, cases, otherwise } => {
            let value = subject.as_const()?;
            let case = cases.iter().find(|case| case.value == *value);
            Some(TerminatorKind::Goto(case.map_or(*otherwise, |case| case.target)))
        }
        TerminatorKind::Select { keys, cases, otherwise } => {
            // Cases that never match go; the first that always does is the last.
            let mut end = None;
            cases.retain(|case| {
                if end.is_some() {
                    return false;
                }
                let Pattern::Keys(sets) = &case.pattern else { return true };
                let known: Vec<Option<bool>> =
                    sets.iter().zip(&*keys).map(|(set, key)| contains(set, key)).collect();
                if known.iter().all(|k| *k == Some(true)) {
                    end = Some(case.target);
                    return false;
                }
                !known.contains(&Some(false))
            });
            *otherwise = end.unwrap_or(*otherwise);
            cases.is_empty().then_some(TerminatorKind::Goto(*otherwise))
        }
        TerminatorKind::Goto(_)
        | TerminatorKind::Extract { .. }
        | TerminatorKind::Advance { .. }
        | TerminatorKind::Lookahead { .. }
        | TerminatorKind::Apply { .. }
        | TerminatorKind::Call { .. }
        | TerminatorKind::Return
        | TerminatorKind::Exit
        | TerminatorKind::Accept
        | TerminatorKind::Reject => None,
    }
}
