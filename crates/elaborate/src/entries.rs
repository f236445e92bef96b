//! Entries and default actions that a program declares.

use crate::codes;
use crate::elaborator::Elaborator;
use check::program::{
    ActionId, Annotation, AnnotationBody, Direction, Expr, ExprKind, KeyElement, NodeId, TableId, annotation,
};
use check::value::Value;
use diagnostics::{Diagnostic, Span};
use ir::{Bits, Match, MatchKind};
use num_traits::ToPrimitive;
use syntax::ast::AnnotationTokenKind;

impl Elaborator<'_> {
    /// The action of a default action or entry with the leaves of its action data.
    pub(crate) fn action_with_data(
        &mut self,
        scope: NodeId,
        element: u32,
        action: ActionId,
        args: &[Option<Expr>],
    ) -> ir::Action {
        let p = self.p;
        let names = self.names_of(scope);
        let mut data = Vec::new();
        for (var, arg) in p.actions[action].params.iter().zip(args) {
            let (Direction::None, Some(arg)) = (p.direction(*var), arg) else { continue };
            let ty = self.ty_in(p.vars[*var].ty, &names);
            let known = p.eval(arg, Some(scope)).and_then(|v| self.leaves(&v, &ty));
            match known {
                Some(leaves) => data.extend(leaves),
                None => self.not_constant(arg.span, "the action data of a default action or entry"),
            }
        }
        ir::Action { index: element, data }
    }

    fn not_constant(&mut self, span: Span, what: &str) {
        self.faults.push(
            Diagnostic::new(&codes::NOT_CONSTANT, span, format!("{what} must be known at compile time"))
                .label("its value is not known"),
        );
    }

    /// The entries of a table, strongest first.
    pub(crate) fn entries(&mut self, scope: NodeId, id: TableId) -> Vec<ir::Entry> {
        let p = self.p;
        let def = &p.tables[id];
        let Some(list) = &def.entries else { return Vec::new() };
        let keys = def.key.as_deref().unwrap_or_default();
        let priorities = match has_priorities(keys) {
            true => self.entry_priorities(scope, id),
            false => vec![0; list.entries.len()],
        };
        let mut entries = Vec::new();
        for (entry, priority) in list.entries.iter().zip(priorities) {
            let mut matches = Vec::new();
            for (key, keyset) in keys.iter().zip(&entry.keyset) {
                match crate::table::match_kind(&key.match_kind) {
                    Some(MatchKind::Selector) | None => {}
                    Some(kind) => matches.push(self.key_match(scope, key, kind, keyset)),
                }
            }
            let Some(element) = def.actions.get(entry.element as usize) else { continue };
            let action = self.action_with_data(scope, entry.element, element.action, &entry.args);
            entries.push(ir::Entry { matches, action, priority, is_const: entry.is_const || list.is_const });
        }
        entries.sort_by_key(|e| std::cmp::Reverse(e.priority));
        entries
    }

    /// The priorities of the entries; larger ones win, as in P4Info. They are mirrored where the program counts the other
    /// way. BMv2's `@priority(n)` on constant entries is honoured: there the smallest number wins, and
    /// entries without it have their position, from 1 on.
    fn entry_priorities(&self, scope: NodeId, id: TableId) -> Vec<i32> {
        let p = self.p;
        let mut priorities = p.entry_priorities(scope, id);
        let mut largest_wins = p.largest_priority_wins(scope, id);
        if let Some(list) = &p.tables[id].entries
            && list.is_const
            && list.entries.iter().any(|e| priority_annotation(&e.annotations).is_some())
        {
            largest_wins = false;
            priorities = (list.entries.iter().zip(1..))
                .map(|(e, position)| priority_annotation(&e.annotations).unwrap_or(position))
                .collect();
        }
        if !largest_wins {
            let low = priorities.iter().copied().min().unwrap_or(0);
            let high = priorities.iter().copied().max().unwrap_or(0);
            for priority in &mut priorities {
                *priority = low.saturating_add(high).saturating_sub(*priority);
            }
        }
        let narrow = |p: i64| i32::try_from(p).unwrap_or(if p < 0 { i32::MIN } else { i32::MAX });
        priorities.into_iter().map(narrow).collect()
    }

    // -- keys -------------------------------------------------------------------------------------

    /// The match of an entry for one key; `None` when everything matches.
    fn key_match(
        &mut self,
        scope: NodeId,
        key: &KeyElement,
        kind: MatchKind,
        keyset: &Expr,
    ) -> Option<Match> {
        let names = self.names_of(scope);
        let ty = self.ty_in(key.expr.ty, &names);
        let width = ty.width_bits().unwrap_or(0);
        let keyset = without_casts(keyset);
        let values = match &keyset.kind {
            ExprKind::DontCare | ExprKind::Default => return None,
            ExprKind::Mask { value, mask } => (Some(value), Some(mask), None),
            ExprKind::Range { lo, hi } => (Some(lo), None, Some(hi)),
            _ => (None, None, None),
        };
        let mut eval = |e: &Expr| {
            let known = self.p.eval(e, Some(scope)).and_then(|v| self.scalar(&v, &ty));
            if known.is_none() {
                self.not_constant(e.span, "a key of an entry");
            }
            known
        };
        let (value, mask, high) = match values {
            (None, ..) => (eval(keyset)?, None, None),
            (Some(value), mask, high) => {
                let value = eval(value)?;
                let mask = match mask {
                    Some(mask) => Some(eval(mask)?),
                    None => None,
                };
                let high = match high {
                    Some(high) => Some(eval(high)?),
                    None => None,
                };
                (value, mask, high)
            }
        };
        let is_whole = mask.as_ref().is_none_or(|m| *m == Bits::ones(width))
            && high.as_ref().is_none_or(|h| *h == value);
        match (kind, mask, high) {
            (MatchKind::Exact, ..) if is_whole => Some(Match::Exact(value)),
            (MatchKind::Optional, ..) if is_whole => Some(Match::Optional(value)),
            (MatchKind::Ternary, None, _) if is_whole => {
                Some(Match::Ternary { value, mask: Bits::ones(width) })
            }
            (MatchKind::Ternary, Some(mask), None) => Some(Match::Ternary { value: value.and(&mask), mask }),
            (MatchKind::Lpm, None, _) if is_whole => Some(Match::Lpm { value, prefix_len: width }),
            (MatchKind::Lpm, Some(mask), None) if mask == Bits::prefix_mask(width, mask.leading_ones()) => {
                Some(Match::Lpm { value: value.and(&mask), prefix_len: mask.leading_ones() })
            }
            (MatchKind::Range, None, high) => {
                Some(Match::Range { low: value.clone(), high: high.unwrap_or(value) })
            }
            (MatchKind::Range, Some(_), _) if is_whole => {
                Some(Match::Range { low: value.clone(), high: value })
            }
            (
                MatchKind::Exact
                | MatchKind::Optional
                | MatchKind::Ternary
                | MatchKind::Lpm
                | MatchKind::Range
                | MatchKind::Selector,
                ..,
            ) => {
                self.faults.push(
                    Diagnostic::new(
                        &codes::ENTRY_KEY,
                        keyset.span,
                        format!("a key of match kind `{}` cannot match this", key.match_kind),
                    )
                    .label("not possible here")
                    .also(key.span, "for this key")
                    .note("`lpm` takes a mask of ones, then zeros; `ternary` any mask; `range` a range"),
                );
                None
            }
        }
    }
}

fn has_priorities(keys: &[KeyElement]) -> bool {
    keys.iter().any(|k| matches!(k.match_kind.as_str(), "ternary" | "range" | "optional"))
}

/// The number of BMv2's `@priority(n)`.
fn priority_annotation(annotations: &check::program::Annotations) -> Option<i64> {
    let a = annotation(annotations, "priority")?;
    match &a.body {
        AnnotationBody::List(values) => match values.as_slice() {
            [Value::Int(i)] => i.to_i64(),
            _ => None,
        },
        AnnotationBody::Free(_) => match Annotation::tokens(a) {
            [token] => match &token.kind {
                AnnotationTokenKind::Int(literal) => literal.value.to_i64(),
                _ => None,
            },
            _ => None,
        },
        AnnotationBody::Empty | AnnotationBody::KeyValue(_) => None,
    }
}

/// The keyset without casts to the type of the key.
pub(crate) fn without_casts(mut keyset: &Expr) -> &Expr {
    while let ExprKind::Cast { operand, .. } = &keyset.kind
        && matches!(operand.kind, ExprKind::Mask { .. } | ExprKind::Range { .. } | ExprKind::Cast { .. })
    {
        keyset = operand;
    }
    keyset
}
