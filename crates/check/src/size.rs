//! Sizes of types: in leaves, which keeps hostile programs from exhausting memory, and in bits.

use crate::checker::Checker;
use crate::codes;
use crate::types::{Ty, TyKind};
use diagnostics::{Diagnostic, Span};

/// Most leaves (fields of base type) that a type may have, with an array counted as one element. Types that
/// hold two of their predecessors each would double with every declaration.
pub const LEAVES_MAX: u64 = 1 << 16;

impl Checker<'_> {
    /// Leaves of a type; arrays count once, or all their elements when `all` is set.
    pub fn leaves(&mut self, ty: Ty, all: bool) -> u64 {
        if let (false, Some(n)) = (all, self.leaves.get(&ty)) {
            return *n;
        }
        let n = match self.kind(ty).clone() {
            TyKind::Struct(..) => {
                let fields = self.fields(ty).unwrap_or_default();
                fields.into_iter().fold(1u64, |n, (_, t)| n.saturating_add(self.leaves(t, all)))
            }
            TyKind::Tuple(items) | TyKind::ListLiteral(items) => {
                items.into_iter().fold(1u64, |n, t| n.saturating_add(self.leaves(t, all)))
            }
            TyKind::Array(element, n) => {
                let one = self.leaves(element, all);
                if all { one.saturating_mul(u64::from(n)) } else { one }
            }
            TyKind::List(element) | TyKind::Set(element) => self.leaves(element, all),
            _ => 1,
        };
        if !all {
            self.leaves.insert(ty, n);
        }
        n
    }

    /// False (reported) when a type is larger than supported.
    pub fn check_type_size(&mut self, ty: Ty, span: Span) -> bool {
        let n = self.leaves(ty, false);
        if n <= LEAVES_MAX {
            return true;
        }
        self.report(
            Diagnostic::new(&codes::TOO_WIDE, span, "this type is larger than Siding supports")
                .label("too many fields in all")
                .note(format!("a type can have {LEAVES_MAX} fields, those of its fields included")),
        );
        false
    }
}
