//! Initial entries as P4Runtime writes.

use super::Builder;
use super::types::to_bytes;
use crate::codes;
use crate::ids::ObjectKind;
use crate::proto::p4::v1::{
    Action, Entity, FieldMatch, TableAction, TableEntry, Update, action::Param, entity, field_match,
    table_action, update,
};
use check::evaluate::Scope;
use check::fold;
use check::program::*;
use check::value::Value;
use diagnostics::Diagnostic;
use field_match::FieldMatchType;
use num_bigint::BigInt;
use num_traits::{One, Signed, Zero};

impl Builder<'_> {
    pub fn table_entries(&mut self, scope: NodeId, id: TableId, table_id: u32, key_ids: &[u32]) {
        let p = self.p;
        let def = &p.tables[id];
        let Some(list) = &def.entries else { return };
        let keys = def.key.as_deref().unwrap_or_default();
        let has_priorities =
            keys.iter().any(|k| matches!(k.match_kind.as_str(), "ternary" | "range" | "optional"));
        for (entry, priority) in self.priorities(scope, id, list) {
            if let Some(a) = annotation(&entry.annotations, "priority") {
                self.report(
                    Diagnostic::new(
                        &codes::IGNORED_ANNOTATION,
                        a.span,
                        "`@priority` has no effect on entries",
                    )
                    .label("ignored")
                    .help("write `priority = n:` before the entry"),
                );
            }
            let mut matches = Vec::new();
            for ((key, keyset), field_id) in keys.iter().zip(&entry.keyset).zip(key_ids) {
                let found = self.key_match(scope, key, keyset);
                matches.extend(found.map(|m| FieldMatch { field_id: *field_id, field_match_type: Some(m) }));
            }
            let action = def.actions[entry.element as usize].action;
            let action_id = self.id(ObjectKind::Action, &p.control_plane_name_of_action(scope, action));
            let arguments = self.action_arguments(action, &entry.args, Some(scope));
            let params =
                arguments.into_iter().map(|a| Param { param_id: a.param_id, value: a.value }).collect();
            let entry = TableEntry {
                table_id,
                r#match: matches,
                action: Some(TableAction {
                    r#type: Some(table_action::Type::Action(Action { action_id, params })),
                }),
                priority: if has_priorities { priority } else { 0 },
                is_const: entry.is_const || list.is_const,
                ..Default::default()
            };
            self.entries.updates.push(Update {
                r#type: update::Type::Insert as i32,
                entity: Some(Entity { entity: Some(entity::Entity::TableEntry(entry)) }),
            });
        }
    }

    // -- priorities -------------------------------------------------------------------------------

    /// Returns the entries with their priorities, highest precedence first.
    fn priorities<'e>(&mut self, scope: NodeId, id: TableId, list: &'e EntryList) -> Vec<(&'e Entry, i32)> {
        let wide = self.p.entry_priorities(scope, id);
        let mut out = Vec::with_capacity(wide.len());
        for (entry, priority) in list.entries.iter().zip(wide) {
            let priority = i32::try_from(priority).unwrap_or_else(|_| {
                self.report(
                    Diagnostic::new(
                        &codes::PRIORITY_RANGE,
                        entry.span,
                        format!("the priority of this entry would be {priority}"),
                    )
                    .label("out of range")
                    .note("priorities are numbers of 31 bits"),
                );
                i32::MAX
            });
            out.push((entry, priority));
        }
        // The checker has warned about entries that are not in order of priority.
        let largest_wins = self.p.largest_priority_wins(scope, id);
        out.sort_by_key(|(_, p)| if largest_wins { -i64::from(*p) } else { i64::from(*p) });
        out
    }

    // -- keys -------------------------------------------------------------------------------------

    /// Returns the match for one key; `None` for a key that matches everything, or after an error.
    fn key_match(&mut self, scope: NodeId, key: &KeyElement, keyset: &Expr) -> Option<FieldMatchType> {
        let ty = self.ty_in(key.expr.ty, Some(scope));
        let mut keyset = keyset;
        while let ExprKind::Cast { operand, .. } = &keyset.kind
            && matches!(operand.kind, ExprKind::Mask { .. } | ExprKind::Range { .. } | ExprKind::Cast { .. })
        {
            keyset = operand;
        }
        let is_any = matches!(keyset.kind, ExprKind::DontCare | ExprKind::Default);
        let bits = self.bits(ty);
        let scope = Some(scope);
        let kind = key.match_kind.as_str();
        if is_any && kind != "exact" {
            return None;
        }
        let Some(bits) = bits else {
            self.bad_key(keyset, kind);
            return None;
        };
        match kind {
            "exact" => {
                let value = self.key_value(keyset, bits, scope, kind)?;
                Some(FieldMatchType::Exact(field_match::Exact { value: bytes(&value, bits) }))
            }
            "optional" => {
                let value = self.key_value(keyset, bits, scope, kind)?;
                Some(FieldMatchType::Optional(field_match::Optional { value: bytes(&value, bits) }))
            }
            "lpm" => self.lpm(keyset, bits, scope),
            "ternary" => {
                let (value, mask) = self.value_and_mask(keyset, bits, scope, kind)?;
                if mask.is_zero() {
                    return None;
                }
                let (value, mask) = (bytes(&value, bits), bytes(&mask, bits));
                Some(FieldMatchType::Ternary(field_match::Ternary { value, mask }))
            }
            "range" => self.range(keyset, bits, scope),
            super::tables::SELECTOR => None,
            _ => {
                self.bad_key(keyset, kind);
                None
            }
        }
    }

    fn lpm(&mut self, keyset: &Expr, bits: u32, scope: Scope) -> Option<FieldMatchType> {
        let (value, mask) = self.value_and_mask(keyset, bits, scope, "lpm")?;
        if mask.is_zero() {
            return None;
        }
        let n_zeros = u32::try_from(mask.trailing_zeros().unwrap_or(0)).unwrap_or(bits);
        let is_prefix = mask == (all_ones(bits) >> n_zeros) << n_zeros;
        if !is_prefix {
            self.report(
                Diagnostic::new(
                    &codes::ENTRY_KEY,
                    keyset.span,
                    format!("the mask {mask:#x} is no prefix of {bits} bits"),
                )
                .label("not a longest-prefix match")
                .note("the mask of an lpm key has ones, then zeros"),
            );
            return None;
        }
        let prefix_len = i32::try_from(bits - n_zeros).unwrap_or(i32::MAX);
        Some(FieldMatchType::Lpm(field_match::Lpm { value: bytes(&value, bits), prefix_len }))
    }

    fn range(&mut self, keyset: &Expr, bits: u32, scope: Scope) -> Option<FieldMatchType> {
        let (lo, hi) = match &keyset.kind {
            ExprKind::Range { lo, hi } => {
                (self.key_value(lo, bits, scope, "range")?, self.key_value(hi, bits, scope, "range")?)
            }
            _ => {
                let value = self.key_value(keyset, bits, scope, "range")?;
                (value.clone(), value)
            }
        };
        if lo > hi {
            self.report(
                Diagnostic::new(
                    &codes::ENTRY_KEY,
                    keyset.span,
                    format!("the range from {lo} to {hi} is empty"),
                )
                .label("the first number is larger")
                .help("swap the numbers"),
            );
            return None;
        }
        if lo.is_zero() && hi == all_ones(bits) {
            return None;
        }
        let (low, high) = (bytes(&lo, bits), bytes(&hi, bits));
        Some(FieldMatchType::Range(field_match::Range { low, high }))
    }

    /// Returns value and mask; masked-out bits of the value are zero, as P4Runtime demands.
    fn value_and_mask(
        &mut self,
        keyset: &Expr,
        bits: u32,
        scope: Scope,
        kind: &str,
    ) -> Option<(BigInt, BigInt)> {
        let ExprKind::Mask { value: value_expr, mask } = &keyset.kind else {
            return Some((self.key_value(keyset, bits, scope, kind)?, all_ones(bits)));
        };
        let value = self.key_value(value_expr, bits, scope, kind)?;
        let mask = self.key_value(mask, bits, scope, kind)?;
        let seen = &value & &mask;
        if seen != value {
            self.report(
                Diagnostic::new(
                    &codes::IGNORED_BITS,
                    value_expr.span,
                    format!("the mask hides bits of {value:#x}"),
                )
                .label(format!("taken as {seen:#x}"))
                .note("P4Runtime demands that hidden bits are 0"),
            );
        }
        Some((seen, mask))
    }

    /// Returns a key as an unsigned number.
    fn key_value(&mut self, e: &Expr, bits: u32, scope: Scope, kind: &str) -> Option<BigInt> {
        let found = match self.p.eval(e, scope) {
            Some(Value::Int(i)) => Some(fold::to_bits(&i, bits)),
            Some(Value::Bool(b)) => Some(BigInt::from(u8::from(b))),
            _ => None,
        };
        if found.is_none() {
            self.bad_key(e, kind);
        }
        found
    }

    fn bad_key(&mut self, e: &Expr, kind: &str) {
        let allowed = match kind {
            "exact" | "optional" => "a value",
            "lpm" | "ternary" => "a value, perhaps with a mask: `value &&& mask`",
            "range" => "a value or a range: `lo .. hi`",
            _ => "only `_` and `default`",
        };
        self.report(
            Diagnostic::new(
                &codes::ENTRY_KEY,
                e.span,
                format!("P4Runtime cannot express this for a key of match kind `{kind}`"),
            )
            .label("not possible here")
            .note(format!("possible is {allowed}"))
            .note("values are integers, bools and members of enums over `bit`"),
        );
    }
}

fn all_ones(bits: u32) -> BigInt {
    (BigInt::one() << bits) - 1
}

fn bytes(value: &BigInt, bits: u32) -> Vec<u8> {
    debug_assert!(!value.is_negative());
    to_bytes(&Value::Int(value.clone()), bits).unwrap_or_default()
}
