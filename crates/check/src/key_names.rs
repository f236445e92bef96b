//! Names of key fields, made from their expressions (P4-16, "Control-plane names of keys").

use crate::evaluate::local_name;
use crate::program::*;
use crate::types::TyKind;
use crate::value::Value;
use diagnostics::SourceMap;
use smol_str::SmolStr;

/// Returns the name in `@name`, or the text of the expression; `None` if the expression has no name.
pub(crate) fn key_name(
    p: &Program,
    sources: &SourceMap,
    expr: &Expr,
    annotations: &Annotations,
) -> Option<SmolStr> {
    if let Some(name) = annotation(annotations, "name").and_then(Annotation::string) {
        return Some(name.into());
    }
    KeyNames { p, sources }.expression(expr).map(SmolStr::from)
}

struct KeyNames<'a> {
    p: &'a Program,
    sources: &'a SourceMap,
}

impl KeyNames<'_> {
    fn expression(&self, e: &Expr) -> Option<String> {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.expression_inner(e))
    }

    fn expression_inner(&self, e: &Expr) -> Option<String> {
        if let Some(value) = &e.value {
            return self.literal(e, value);
        }
        match &e.kind {
            ExprKind::Var(id) => Some(self.p.vars[*id].name.to_string()),
            ExprKind::Field { base, field } => {
                let (name, is_absolute) = self.field_name(base, *field)?;
                match is_absolute {
                    true => Some(name),
                    false => Some(format!("{}.{name}", self.expression(base)?)),
                }
            }
            ExprKind::Stack { base, member } => {
                let member = match member {
                    StackMember::Next => "next",
                    StackMember::Last => "last",
                    StackMember::LastIndex => "lastIndex",
                    StackMember::Size => "size",
                };
                Some(format!("{}.{member}", self.expression(base)?))
            }
            ExprKind::Index { base, index } => {
                Some(format!("{}[{}]", self.expression(base)?, self.expression(index)?))
            }
            ExprKind::Slice { base, hi, lo } => Some(format!("{}[{hi}:{lo}]", self.expression(base)?)),
            ExprKind::Binary { op: BinaryOp::BitAnd, lhs, rhs } => {
                Some(format!("{} & {}", self.expression(lhs)?, self.expression(rhs)?))
            }
            ExprKind::Call(call) => match &call.callee {
                Callee::Builtin { object, method: Builtin::IsValid } => {
                    Some(format!("{}.$valid$", self.expression(object)?))
                }
                _ => None,
            },
            ExprKind::Cast { operand, is_implicit: true } => self.expression(operand),
            _ => None,
        }
    }

    fn field_name(&self, base: &Expr, field: u32) -> Option<(String, bool)> {
        let TyKind::Struct(id, _) = self.p.types.kind(base.ty) else { return None };
        let f = self.p.structs[*id].fields.get(field as usize)?;
        let (name, is_absolute) = local_name(&f.name, &f.annotations);
        Some((name.to_string(), is_absolute))
    }

    /// A literal keeps its base and loses its width.
    fn literal(&self, e: &Expr, value: &Value) -> Option<String> {
        let e = match &e.kind {
            ExprKind::Cast { operand, .. } => operand,
            _ => e,
        };
        match value {
            Value::Int(i) => {
                let text = self.sources.text(e.span).to_ascii_lowercase();
                let digits = text.rsplit_once(['w', 's']).map_or(text.as_str(), |(_, digits)| digits);
                Some(match digits.get(..2) {
                    Some("0x") => format!("0x{i:x}"),
                    Some("0b") => format!("0b{i:b}"),
                    Some("0o") => format!("0o{i:o}"),
                    _ => i.to_string(),
                })
            }
            Value::Bool(b) => Some(b.to_string()),
            _ => None,
        }
    }
}
