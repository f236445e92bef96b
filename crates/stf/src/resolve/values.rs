//! Keys and arguments.

use super::{EntryKey, Resolver, Result, error};
use crate::codes;
use crate::script::*;
use control::schema::{self, KeyElement, ValueForm};
use control::{Action, FieldMatch, GroupId, MatchKind, MemberId, OneShot, Param, TableAction, Value};
use control::{SelectionMode, SizeSemantics, WeightedAction};
use diagnostics::{Diagnostic, Span};
use ir::Bits;
use num_bigint::BigUint;
use num_traits::ToPrimitive;

/// A value of a width; an error when it has more bits.
pub(super) fn bits(value: &BigUint, width_bits: u32, name: &str, span: Span) -> Result<Bits> {
    if value.bits() <= u64::from(width_bits) {
        return Ok(Bits::from_biguint(width_bits, value.clone()));
    }
    let plural = if width_bits == 1 { "bit" } else { "bits" };
    let message = format!("{value:#x} does not fit into the {width_bits} {plural} of `{name}`");
    error(&codes::TOO_WIDE, span, message, format!("needs {} bits", value.bits()))
}

/// 32 bits, which the language has checked.
pub(super) fn small(number: &Number) -> u32 {
    number.value.to_u32().unwrap_or(u32::MAX)
}

/// A number of the control plane, which has 63 bits.
pub(super) fn large(number: &Number, what: &str) -> Result<i64> {
    match number.value.to_i64() {
        Some(n) => Ok(n),
        None => error(&codes::TOO_WIDE, number.span, format!("{what} is too large"), "has more than 63 bits"),
    }
}

/// For which back end a script was written, as far as its commands look alike and differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    Bmv2,
    /// Writes `_` for the dots of a table's name. Arguments that are left out are 0, and `lpm` values have their
    /// bytes in reverse order: `0x010a/16` is 10.1.0.0/16.
    Ebpf,
}

impl Dialect {
    pub(super) fn of(table: &schema::Table, name: &Name) -> Dialect {
        let full = &table.names.name;
        let joined = full.replace('.', "_");
        // At least one dot is written as `_`.
        let is_end = joined == name.text || joined.ends_with(&format!("_{}", name.text));
        let is_ebpf = full.contains('.') && is_end && !full.ends_with(&name.text);
        if is_ebpf { Dialect::Ebpf } else { Dialect::Bmv2 }
    }
}

/// The priority that a key has. In the short form it is the first value without a name, if the table needs one.
pub(super) fn priority_of<'k>(table: &schema::Table, key: &'k Key) -> Option<&'k Number> {
    let first = match key.in_order.first() {
        Some(MatchValue::Number(number)) if number.radix == Radix::Decimal && table.needs_priority() => {
            Some(number)
        }
        _ => None,
    };
    key.priority.as_ref().or(first)
}

/// Values without names, with the names of the table's keys in their order.
fn named(table: &schema::Table, key: &Key) -> Result<Vec<Match>> {
    let is_priority = key.priority.is_none() && priority_of(table, key).is_some();
    let mut keys = table.keys.iter();
    let name = |value: &MatchValue| {
        let span = value.span();
        match keys.next() {
            Some(element) => {
                let name = Name { text: element.name.to_string(), span };
                Ok(Match { name, value: value.clone(), span })
            }
            None => surplus(&format!("table `{}`", table.names.name), table.keys.len(), "key", span),
        }
    };
    key.in_order.iter().skip(usize::from(is_priority)).map(name).collect()
}

/// The error for more values without names than there are names.
fn surplus<T>(owner: &str, n: usize, what: &str, span: Span) -> Result<T> {
    let plural = if n == 1 { "" } else { "s" };
    error(&codes::ARGUMENTS, span, format!("one value too many: {owner} has {n} {what}{plural}"), "too many")
}

/// A value to match with, and the mask for it.
struct Masked {
    value: Bits,
    mask: Bits,
}

impl<'s> Resolver<'s> {
    /// All of an entry's key, and the places of the matches that the script writes, which come first.
    pub(super) fn entry_key(&mut self, table: &Name, key: &Key) -> Result<(EntryKey, Vec<Span>)> {
        let schema = self.table(table)?;
        let dialect = Dialect::of(schema, table);
        let mut matches = Vec::new();
        let mut places = Vec::new();
        let mut given: Vec<(&KeyElement, Span)> = Vec::new();
        for found in key.matches.iter().chain(&named(schema, key)?) {
            let element = self.key(schema, &found.name)?;
            if let Some((_, first)) = given.iter().find(|(e, _)| e.id == element.id) {
                let message = format!("the key `{}` is given twice", element.name);
                let diagnostic = Diagnostic::new(&codes::REPEATED, found.name.span, message)
                    .label("given again")
                    .also(*first, "given first");
                let is_like_priority = |value: &MatchValue| matches!(value, MatchValue::Number(number) if number.radix == Radix::Decimal);
                let may_be_priority = key.in_order.first().is_some_and(is_like_priority);
                return Err(Box::new(match may_be_priority && !schema.needs_priority() {
                    false => diagnostic,
                    true => diagnostic.note(format!(
                        "a value without a name is for the next key: table `{}` takes no priority",
                        schema.names.name
                    )),
                }));
            }
            given.push((element, found.name.span));
            let value = self.match_value(element, found, dialect)?;
            if let Some(value) = value {
                matches.push(FieldMatch { field: element.id, value });
                places.push(found.span);
            }
        }
        for element in &schema.keys {
            // A key that is not given is anything, or 0 where it has to be exact and scripts may leave it out.
            let is_given = given.iter().any(|(e, _)| e.id == element.id);
            if !is_given
                && self.exact_keys == super::ExactKeys::ZeroIfMissing
                && element.match_kind == MatchKind::Exact
                && let ValueForm::Bits { width_bits } = element.value.form
            {
                let value = control::Match::Exact(Bits::zero(width_bits).into());
                matches.push(FieldMatch { field: element.id, value });
            }
        }
        let priority = self.priority(schema, table, key)?;
        Ok((EntryKey { table: schema.id, matches, priority }, places))
    }

    fn priority(&self, table: &schema::Table, name: &Name, key: &Key) -> Result<i32> {
        if !table.needs_priority() {
            // Scripts give them nevertheless; they have no meaning.
            return Ok(0);
        }
        let Some(number) = priority_of(table, key) else {
            let message = format!("an entry of table `{}` needs a priority", table.names.name);
            let diagnostic = Diagnostic::new(&codes::PRIORITY, name.span, message)
                .label("no priority follows")
                .note("several entries may match the same packet: the larger priority wins")
                .fix("for example", name.span.shrink_to_hi(), " 10");
            return Err(Box::new(diagnostic));
        };
        let is_zero_alone = number.is_zero() && !self.raised_priorities.contains(&table.id);
        let raised = i32::from(is_zero_alone || self.raised_priorities.contains(&table.id));
        match number.value.to_i32().and_then(|priority| priority.checked_add(raised)) {
            Some(priority) => Ok(priority),
            None => error(&codes::PRIORITY, number.span, "a priority is too large", "has more than 31 bits"),
        }
    }

    /// The match of one key; `None` for anything.
    pub(super) fn match_value(
        &mut self,
        element: &KeyElement,
        found: &Match,
        dialect: Dialect,
    ) -> Result<Option<control::Match>> {
        if let MatchValue::Constant(name) = &found.value {
            let number = self.constant(name)?;
            let found = Match { value: MatchValue::Number(number), ..found.clone() };
            return self.match_value(element, &found, dialect);
        }
        let width_bits = match (&element.value.form, &found.value) {
            (ValueForm::Bits { width_bits }, MatchValue::Text(_)) => {
                let message = format!("`{}` is a number of {width_bits} bits, not a string", element.name);
                return error(&codes::MATCH_KIND, found.span, message, "expected a number");
            }
            (ValueForm::Bits { width_bits }, _) => *width_bits,
            (ValueForm::Text, MatchValue::Text(text)) => {
                let value = Value::Text(text.text.as_str().into());
                return match element.match_kind {
                    MatchKind::Optional => Ok(Some(control::Match::Optional(value))),
                    // The control plane refuses the others.
                    _ => Ok(Some(control::Match::Exact(value))),
                };
            }
            (_, MatchValue::Any(_)) => 0,
            (ValueForm::Text, _) => {
                let message = format!("`{}` is a string", element.name);
                return error(&codes::MATCH_KIND, found.span, message, "expected a string in quotes");
            }
            (ValueForm::None, _) => {
                let message = format!("`{}` has a type that no control plane can write", element.name);
                return error(&codes::UNSUPPORTED, found.span, message, "cannot be given");
            }
        };
        match &element.match_kind {
            MatchKind::Exact => self.exact(element, width_bits, found).map(Some),
            MatchKind::Lpm => self.lpm(element, width_bits, found, dialect),
            MatchKind::Ternary => self.ternary(element, width_bits, found),
            MatchKind::Range => self.range(element, width_bits, found),
            MatchKind::Optional => match &found.value {
                MatchValue::Any(_) => Ok(None),
                MatchValue::Number(number) if !number.has_wildcards() => {
                    let value = bits(&number.value, width_bits, &element.name, number.span)?;
                    Ok(Some(control::Match::Optional(value.into())))
                }
                // BMv2 has no word for anything but an empty mask.
                MatchValue::Mask { value, mask } if mask.is_zero() && value.is_zero() => Ok(None),
                _ => mismatch(element, found, "a number, or `_` for any"),
            },
            MatchKind::Other(kind) => {
                let message = format!("the match kind {kind} of `{}` is not supported", element.name);
                error(&codes::UNSUPPORTED, found.span, message, "cannot be given")
            }
        }
    }

    fn exact(&self, element: &KeyElement, width_bits: u32, found: &Match) -> Result<control::Match> {
        match &found.value {
            MatchValue::Number(number) if !number.has_wildcards() => {
                let value = bits(&number.value, width_bits, &element.name, number.span)?;
                Ok(control::Match::Exact(value.into()))
            }
            _ => mismatch(element, found, "a number without wildcards"),
        }
    }

    fn lpm(
        &mut self,
        element: &KeyElement,
        width_bits: u32,
        found: &Match,
        dialect: Dialect,
    ) -> Result<Option<control::Match>> {
        let name = &element.name;
        let (number, prefix_len) = match &found.value {
            MatchValue::Any(_) => return Ok(None),
            MatchValue::Number(number) => {
                if !number.stars_trail {
                    return mismatch(element, found, "digits, then `*`");
                }
                let digit_bits = if number.radix == Radix::Binary { 1 } else { 4 };
                // Leading digits beyond the width are zeros, or the value does not fit.
                let written_bits = number.written_bits().unwrap_or(width_bits).min(width_bits);
                if written_bits < width_bits {
                    self.short(element, width_bits, written_bits, number);
                }
                (number, written_bits.saturating_sub(number.n_stars * digit_bits))
            }
            MatchValue::Prefix { value, prefix_len } => {
                if value.has_wildcards() {
                    return mismatch(element, found, "a number without wildcards before `/`");
                }
                (value, small(prefix_len))
            }
            MatchValue::Mask { .. }
            | MatchValue::Range { .. }
            | MatchValue::Text(_)
            | MatchValue::Constant(_) => {
                return mismatch(element, found, "a number with `/` and the length of the prefix");
            }
        };
        let mut value = bits(&number.value, width_bits, name, number.span)?;
        if dialect == Dialect::Ebpf && width_bits.is_multiple_of(8) {
            // The kernel compares bytes as they lie in memory, and scripts are written for that.
            let mut bytes = value.to_bytes_be();
            bytes.reverse();
            value = Bits::from_bytes_be(width_bits, &bytes);
        }
        if prefix_len > width_bits {
            let message = format!("a prefix of {prefix_len} bits, but `{name}` has {width_bits}");
            return error(&codes::MATCH_KIND, found.span, message, format!("expected at most {width_bits}"));
        }
        let masked = value.and(&Bits::prefix_mask(width_bits, prefix_len));
        if masked != value {
            let message = format!("{value:#x} has bits behind the prefix of {prefix_len} bits");
            let diagnostic = Diagnostic::new(&codes::SHORT_LITERAL, found.span, message)
                .label(format!("`{name}` is compared with {masked:#x}/{prefix_len}"));
            self.diagnostics.push(diagnostic);
        }
        // A prefix of no bits is anything.
        Ok((prefix_len > 0).then_some(control::Match::Lpm { value: masked, prefix_len }))
    }

    fn ternary(
        &mut self,
        element: &KeyElement,
        width_bits: u32,
        found: &Match,
    ) -> Result<Option<control::Match>> {
        let name = &element.name;
        let masked = match &found.value {
            MatchValue::Any(_) => return Ok(None),
            MatchValue::Number(number) => {
                let value = bits(&number.value, width_bits, name, number.span)?;
                let mask = match number.written_bits() {
                    None => Bits::ones(width_bits),
                    Some(written_bits) => {
                        if written_bits < width_bits {
                            self.short(element, width_bits, written_bits, number);
                        }
                        Bits::from_biguint(width_bits, number.mask.clone())
                    }
                };
                Masked { value, mask }
            }
            MatchValue::Mask { value, mask } => Masked {
                value: bits(&value.value, width_bits, name, value.span)?,
                mask: bits(&mask.value, width_bits, name, mask.span)?,
            },
            MatchValue::Prefix { value, prefix_len } if !value.has_wildcards() => {
                let n = small(prefix_len);
                if n > width_bits {
                    let message = format!("a prefix of {n} bits, but `{name}` has {width_bits}");
                    let label = format!("expected at most {width_bits}");
                    return error(&codes::MATCH_KIND, found.span, message, label);
                }
                let value = bits(&value.value, width_bits, name, value.span)?;
                Masked { value, mask: Bits::prefix_mask(width_bits, n) }
            }
            MatchValue::Prefix { .. }
            | MatchValue::Range { .. }
            | MatchValue::Text(_)
            | MatchValue::Constant(_) => {
                return mismatch(element, found, "a number with `*` for any digit, or `value&&&mask`");
            }
        };
        let value = masked.value.and(&masked.mask);
        if value != masked.value {
            let message = format!("{:#x} has bits outside the mask {:#x}", masked.value, masked.mask);
            let diagnostic = Diagnostic::new(&codes::SHORT_LITERAL, found.span, message)
                .label(format!("`{name}` is compared with {value:#x}"));
            self.diagnostics.push(diagnostic);
        }
        Ok((!masked.mask.is_zero()).then_some(control::Match::Ternary { value, mask: masked.mask }))
    }

    fn range(
        &mut self,
        element: &KeyElement,
        width_bits: u32,
        found: &Match,
    ) -> Result<Option<control::Match>> {
        let name = &element.name;
        let (low, high) = match &found.value {
            MatchValue::Any(_) => return Ok(None),
            MatchValue::Number(number) if !number.has_wildcards() => {
                let value = bits(&number.value, width_bits, name, number.span)?;
                (value.clone(), value)
            }
            MatchValue::Range { low, high } => (
                bits(&low.value, width_bits, name, low.span)?,
                bits(&high.value, width_bits, name, high.span)?,
            ),
            _ => return mismatch(element, found, "`low..high`"),
        };
        if low.cmp_unsigned(&high).is_gt() {
            let message = format!("the range of `{name}` is empty: {low:#x} is above {high:#x}");
            return error(&codes::MATCH_KIND, found.span, message, "the smaller end comes first");
        }
        let is_all = low.is_zero() && high == Bits::ones(width_bits);
        Ok((!is_all).then_some(control::Match::Range { low, high }))
    }

    /// Digits that do not cover the key leave its upper bits open, which is seldom meant.
    fn short(&mut self, element: &KeyElement, width_bits: u32, written_bits: u32, number: &Number) {
        // With stars in front, somebody has thought about it.
        let (what, name) = (&element.match_kind, &element.name);
        let message = format!("the digits of `{name}` are {written_bits} bits, but the key has {width_bits}");
        let mut diagnostic = Diagnostic::new(&codes::SHORT_LITERAL, number.span, message).label(match what {
            MatchKind::Lpm => format!("makes a prefix of {written_bits} bits of the {width_bits}"),
            _ => format!("the upper {} bits may be anything", width_bits - written_bits),
        });
        if number.radix != Radix::Decimal && !number.has_wildcards() {
            let digit_bits = if number.radix == Radix::Binary { 1 } else { 4 };
            let n_digits = width_bits.div_ceil(digit_bits) as usize;
            let full = match number.radix {
                Radix::Binary => format!("0b{:0>n_digits$b}", number.value),
                Radix::Decimal | Radix::Hexadecimal => format!("0x{:0>n_digits$x}", number.value),
            };
            diagnostic = diagnostic.fix("to compare all bits, write all digits", number.span, full);
        }
        self.diagnostics.push(diagnostic);
    }

    /// The number that a name of the program stands for.
    fn constant(&self, name: &Name) -> Result<Number> {
        let value = self.schema.find_value(&name.text).map_err(|f| super::fault(&f, name.span))?;
        Ok(Number::plain(value.clone(), name.span))
    }

    /// The action of an entry, or the member or group that it refers to.
    pub(super) fn target(&mut self, name: &Name, target: &Target) -> Result<TableAction> {
        let table = self.table(name)?;
        let dialect = Dialect::of(table, name);
        Ok(match target {
            Target::Action(call) => {
                TableAction::Action(self.action_call(table, call, dialect, Vec::new())?)
            }
            Target::Member(member) => TableAction::Member(MemberId(small(member))),
            Target::Group(group) => TableAction::Group(GroupId(small(group))),
            Target::Missing(place) => {
                let message = format!("an action of table `{}` is missing", table.names.name);
                let diagnostic =
                    Diagnostic::new(&codes::UNEXPECTED, *place, message).label("expected an action");
                return Err(self.with_actions(table, Box::new(diagnostic)));
            }
            Target::OneShot(calls) => {
                let mut actions = Vec::new();
                for call in calls {
                    let action = self.action_call(table, &call.item, dialect, Vec::new())?;
                    actions.push(WeightedAction {
                        action,
                        weight: weight(call.weight.as_ref())?,
                        watch_port: None,
                    });
                }
                TableAction::OneShot(OneShot {
                    actions,
                    selection_mode: SelectionMode::default(),
                    size_semantics: SizeSemantics::default(),
                    group_action: None,
                })
            }
        })
    }

    /// An action that a table has, with all of its arguments. `params` are those that are known already.
    pub(super) fn action_call(
        &self,
        table: &'s schema::Table,
        call: &ActionCall,
        dialect: Dialect,
        mut params: Vec<Param>,
    ) -> Result<Action> {
        let action = self.action(table, &call.name)?;
        let mut in_order = Vec::new();
        for (i, value) in call.in_order.iter().enumerate() {
            let Some(param) = action.params.get(i) else {
                let owner = format!("action `{}`", action.names.name);
                return surplus(&owner, action.params.len(), "parameter", value.span());
            };
            let name = Name { text: param.name.to_string(), span: value.span() };
            in_order.push(Argument { name, value: value.clone() });
        }
        for argument in call.arguments.iter().chain(&in_order) {
            let param =
                action.find_param(&argument.name.text).map_err(|f| super::fault(&f, argument.name.span))?;
            let value = match (&argument.value, param.value.form) {
                (ArgumentValue::Constant(name), ValueForm::Bits { width_bits }) => {
                    Value::Bits(bits(&self.constant(name)?.value, width_bits, &param.name, name.span)?)
                }
                (ArgumentValue::Number(number), ValueForm::Bits { width_bits }) => {
                    Value::Bits(bits(&number.value, width_bits, &param.name, number.span)?)
                }
                (ArgumentValue::Text(text), ValueForm::Text) => Value::Text(text.text.as_str().into()),
                (ArgumentValue::Text(text), ValueForm::Bits { width_bits }) => {
                    let message = format!("`{}` is a number of {width_bits} bits, not a string", param.name);
                    return error(&codes::MATCH_KIND, text.span, message, "expected a number");
                }
                (ArgumentValue::Number(_) | ArgumentValue::Constant(_), ValueForm::Text) => {
                    let message = format!("`{}` is a string", param.name);
                    let span = argument.value.span();
                    return error(&codes::MATCH_KIND, span, message, "expected a string in quotes");
                }
                (_, ValueForm::None) => {
                    let message = format!("`{}` has a type that no control plane can write", param.name);
                    return error(&codes::UNSUPPORTED, argument.name.span, message, "cannot be given");
                }
            };
            if params.iter().any(|p| p.id == param.id) {
                let message = format!("the argument `{}` is given twice", param.name);
                return error(&codes::REPEATED, argument.name.span, message, "given again");
            }
            params.push(Param { id: param.id, value });
        }
        let mut missing = Vec::new();
        for param in &action.params {
            let is_given = params.iter().any(|p| p.id == param.id);
            match (is_given, dialect, param.value.form) {
                (true, ..) => {}
                (false, Dialect::Ebpf, ValueForm::Bits { width_bits }) => {
                    params.push(Param { id: param.id, value: Bits::zero(width_bits).into() });
                }
                (false, ..) => missing.push(format!("`{}`", param.name)),
            }
        }
        if !missing.is_empty() {
            let plural = if missing.len() == 1 { "argument" } else { "arguments" };
            let message =
                format!("the action `{}` lacks the {plural} {}", action.names.name, missing.join(", "));
            return error(&codes::ARGUMENTS, call.span, message, "arguments are missing");
        }
        Ok(Action { id: action.id, params })
    }
}

/// 1 unless given.
pub(super) fn weight(number: Option<&Number>) -> Result<i32> {
    match number {
        None => Ok(1),
        Some(number) => match number.value.to_i32() {
            Some(weight) => Ok(weight),
            None => error(&codes::TOO_WIDE, number.span, "a weight is too large", "has more than 31 bits"),
        },
    }
}

fn mismatch<T>(element: &KeyElement, found: &Match, expected: &str) -> Result<T> {
    let message =
        format!("`{}` is matched by {}: expected {expected}", element.name, element.match_kind.name());
    error(&codes::MATCH_KIND, found.span, message, format!("expected {expected}"))
}
