//! Access that cannot fail, for ids and paths of a program that has not been validated.

use crate::{BinaryOp, Expr, ExprKind, Place, Program, Scope, Step, StructKind, Type};
use la_arena::{Arena, Idx};

/// The item, if the id is in range.
pub fn get<T>(arena: &Arena<T>, id: Idx<T>) -> Option<&T> {
    (index(id) < arena.len()).then(|| &arena[id])
}

/// The position of an item in its arena.
pub fn index<T>(id: Idx<T>) -> usize {
    u32::from(id.into_raw()) as usize
}

/// The id of the item at a position.
pub fn id_at<T>(position: usize) -> Idx<T> {
    Idx::from_raw(la_arena::RawIdx::from(u32::try_from(position).unwrap_or(u32::MAX)))
}

impl Program {
    /// True when elaboration made the variable, and not the program.
    pub fn is_temporary(&self, id: crate::VarId) -> bool {
        get(&self.variables, id).is_some_and(|variable| variable.name.starts_with('$'))
    }

    /// True when the code of a block, or of its procedures, may use the variable.
    pub fn is_visible(&self, id: crate::VarId, block: crate::BlockId) -> bool {
        get(&self.variables, id).is_some_and(|variable| match variable.scope {
            Scope::Pipeline(_) => true,
            Scope::Block(owner) => owner == block,
            Scope::Procedure(owner) => get(&self.procedures, owner).is_some_and(|p| p.block == block),
        })
    }

    /// The type of a part of a variable; `None` when the variable or the path does not exist.
    pub fn place_type(&self, place: &Place) -> Option<Type> {
        let mut ty = get(&self.variables, place.var)?.ty.clone();
        for step in &place.path {
            ty = self.step_type(&ty, step)?;
        }
        Some(ty)
    }

    /// The type of a part of a value of type `ty`; `None` when there is no such part.
    pub fn step_type(&self, ty: &Type, step: &Step) -> Option<Type> {
        match (step, ty) {
            (Step::Field(i), Type::Struct(id)) => {
                Some(get(&self.structs, *id)?.fields.get(*i as usize)?.ty.clone())
            }
            (Step::Element(i), Type::Stack { element, size }) if i < size => Some(Type::Struct(*element)),
            (Step::Element(i), Type::Array { element, size }) if i < size => Some((**element).clone()),
            (Step::Index(_), Type::Stack { element, .. }) => Some(Type::Struct(*element)),
            (Step::Index(_), Type::Array { element, .. }) => Some((**element).clone()),
            (Step::Valid, Type::Struct(id)) if get(&self.structs, *id)?.kind == StructKind::Header => {
                Some(Type::Bool)
            }
            (Step::NextIndex, Type::Stack { .. }) => Some(Type::Bit(32)),
            (Step::Slice { lo, width }, Type::Bit(w) | Type::Int(w)) => {
                (lo.checked_add(*width)? <= *w).then_some(Type::Bit(*width))
            }
            (Step::SliceAt { width, .. }, Type::Bit(_) | Type::Int(_)) => Some(Type::Bit(*width)),
            _ => None,
        }
    }

    /// The type that an expression has because of its operands. Constants, casts and slices say it themselves:
    /// for them it is the one they have. `None` for places that do not exist.
    pub fn natural_type(&self, expr: &Expr) -> Option<Type> {
        match &expr.kind {
            ExprKind::Const(_) | ExprKind::Cast(_) | ExprKind::Slice { .. } | ExprKind::SliceAt { .. } => {
                Some(expr.ty.clone())
            }
            ExprKind::Read(place) => self.place_type(place),
            ExprKind::Unary(_, operand) => Some(operand.ty.clone()),
            ExprKind::Binary(op, lhs, rhs) => Some(match op {
                BinaryOp::Add
                | BinaryOp::Sub
                | BinaryOp::Mul
                | BinaryOp::Div
                | BinaryOp::Mod
                | BinaryOp::SatAdd
                | BinaryOp::SatSub
                | BinaryOp::BitAnd
                | BinaryOp::BitOr
                | BinaryOp::BitXor
                | BinaryOp::Shl
                | BinaryOp::Shr => lhs.ty.clone(),
                BinaryOp::Eq
                | BinaryOp::Ne
                | BinaryOp::Lt
                | BinaryOp::Le
                | BinaryOp::Gt
                | BinaryOp::Ge
                | BinaryOp::And
                | BinaryOp::Or => Type::Bool,
                BinaryOp::Concat => {
                    let width = lhs.ty.width_bits()?.checked_add(rhs.ty.width_bits()?)?;
                    if lhs.ty.is_signed() { Type::Int(width) } else { Type::Bit(width) }
                }
            }),
            ExprKind::Mux(_, then, _) => Some(then.ty.clone()),
            ExprKind::PacketLength => Some(Type::Bit(32)),
        }
    }
}

impl crate::MatchKind {
    /// The operator as P4 writes it.
    pub fn name(self) -> &'static str {
        match self {
            crate::MatchKind::Exact => "exact",
            crate::MatchKind::Lpm => "lpm",
            crate::MatchKind::Ternary => "ternary",
            crate::MatchKind::Range => "range",
            crate::MatchKind::Optional => "optional",
            crate::MatchKind::Selector => "selector",
        }
    }
}
