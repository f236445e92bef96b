//! The integer expressions of `#if` and `#elif`, with the arithmetic of C: 64 bits, signed unless an operand
//! is not.

use super::{Preprocessor, Tok};
use crate::codes;
use crate::lexer::RawKind;
use crate::token::TokenKind;
use diagnostics::{Diagnostic, Span};

#[derive(Clone, Copy)]
struct Value {
    bits: u64,
    unsigned: bool,
}

impl Value {
    fn signed(v: i64) -> Value {
        Value { bits: v as u64, unsigned: false }
    }

    fn truth(v: bool) -> Value {
        Value::signed(i64::from(v))
    }

    fn is_true(self) -> bool {
        self.bits != 0
    }
}

/// Place and message of an error.
type Failure = (Span, String);

struct Evaluator<'t> {
    toks: &'t [Tok],
    at: usize,
    end: Span,
    /// Above 0 in an operand that `&&`, `||` or `?:` does not evaluate; its value causes no errors.
    dead: u32,
    is_defined: &'t dyn Fn(&str) -> bool,
}

impl Preprocessor<'_> {
    /// Evaluates the condition in `toks`. A malformed condition is false.
    pub(super) fn condition(&mut self, directive: Span, toks: Vec<Tok>) -> bool {
        let written = toks.first().map(|t| t.spelling().to_string());
        let toks = self.expand_list(toks, true);
        if self.stopped {
            return false;
        }
        let end = toks.last().map_or(directive, |t| t.span).shrink_to_hi();
        if toks.is_empty() {
            let d = Diagnostic::new(&codes::CONDITION_SYNTAX, directive, "condition without an expression");
            self.report(match written {
                Some(name) => d.note(format!("`{name}` is a macro that expands to nothing.")),
                None => d,
            });
            return false;
        }
        let macros = &self.macros;
        let is_defined = |name: &str| macros.get(name).is_some();
        let mut e = Evaluator { toks: &toks, at: 0, end, dead: 0, is_defined: &is_defined };
        let result = e.comma().and_then(|v| match e.toks.get(e.at) {
            None => Ok(v),
            Some(t) => Err((t.span, format!("unexpected `{}` in a condition", t.spelling()))),
        });
        match result {
            Ok(v) => v.is_true(),
            Err((span, message)) => {
                self.report(
                    Diagnostic::new(&codes::CONDITION_SYNTAX, span, message)
                        .also(directive, "in this condition"),
                );
                false
            }
        }
    }
}

/// Returns a binary operator, its precedence and its number of tokens; `>>` has two.
fn operator(toks: &[Tok]) -> Option<(TokenKind, u8, usize)> {
    use TokenKind::*;
    let RawKind::Token(kind) = toks.first()?.kind else { return None };
    if kind == Gt && toks.get(1).is_some_and(|t| t.is(Gt) && !t.space) {
        return Some((Shl, 8, 2));
    }
    let level = match kind {
        OrOr => 1,
        AndAnd => 2,
        Pipe => 3,
        Caret => 4,
        Amp => 5,
        EqEq | Ne => 6,
        Lt | Gt | Le | Ge => 7,
        Shl => 8,
        Plus | Minus => 9,
        Star | Slash | Percent => 10,
        _ => return None,
    };
    Some((kind, level, 1))
}

impl Evaluator<'_> {
    fn next_is(&mut self, kind: TokenKind) -> bool {
        let yes = self.toks.get(self.at).is_some_and(|t| t.is(kind));
        self.at += usize::from(yes);
        yes
    }

    fn expect(&mut self, kind: TokenKind) -> Result<(), Failure> {
        if self.next_is(kind) {
            return Ok(());
        }
        let span = self.toks.get(self.at).map_or(self.end, |t| t.span);
        Err((span, format!("`{}` expected in a condition", kind.as_str())))
    }

    fn comma(&mut self) -> Result<Value, Failure> {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let mut v = self.conditional()?;
            while self.next_is(TokenKind::Comma) {
                v = self.conditional()?;
            }
            Ok(v)
        })
    }

    fn in_dead(
        &mut self,
        dead: bool,
        f: impl Fn(&mut Self) -> Result<Value, Failure>,
    ) -> Result<Value, Failure> {
        self.dead += u32::from(dead);
        let v = f(self);
        self.dead -= u32::from(dead);
        v
    }

    fn conditional(&mut self) -> Result<Value, Failure> {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let c = self.binary(1)?;
            if !self.next_is(TokenKind::Question) {
                return Ok(c);
            }
            let a = self.in_dead(!c.is_true(), |e| e.comma())?;
            self.expect(TokenKind::Colon)?;
            let b = self.in_dead(c.is_true(), |e| e.conditional())?;
            let chosen = if c.is_true() { a } else { b };
            Ok(Value { unsigned: a.unsigned || b.unsigned, ..chosen })
        })
    }

    fn binary(&mut self, min: u8) -> Result<Value, Failure> {
        let mut left = self.unary()?;
        while let Some((op, level, n)) = operator(&self.toks[self.at..]) {
            if level < min {
                break;
            }
            let first = &self.toks[self.at];
            let (span, right_shift) = (first.span, first.is(TokenKind::Gt) && n == 2);
            self.at += n;
            let dead = match op {
                TokenKind::AndAnd => !left.is_true(),
                TokenKind::OrOr => left.is_true(),
                _ => false,
            };
            let right = self.in_dead(dead, |e| e.binary(level + 1))?;
            left = if right_shift { shift(left, right, true) } else { self.apply(op, left, right, span)? };
        }
        Ok(left)
    }

    fn apply(&self, op: TokenKind, a: Value, b: Value, span: Span) -> Result<Value, Failure> {
        use TokenKind::*;
        let unsigned = a.unsigned || b.unsigned;
        let (x, y) = (a.bits as i64, b.bits as i64);
        let less = |strict: bool, p: Value, q: Value| {
            let order = if unsigned { p.bits.cmp(&q.bits) } else { (p.bits as i64).cmp(&(q.bits as i64)) };
            Value::truth(order.is_lt() || (!strict && order.is_eq()))
        };
        let number = |bits: u64| Value { bits, unsigned };
        Ok(match op {
            OrOr => Value::truth(a.is_true() || b.is_true()),
            AndAnd => Value::truth(a.is_true() && b.is_true()),
            Pipe => number(a.bits | b.bits),
            Caret => number(a.bits ^ b.bits),
            Amp => number(a.bits & b.bits),
            EqEq => Value::truth(a.bits == b.bits),
            Ne => Value::truth(a.bits != b.bits),
            Lt => less(true, a, b),
            Gt => less(true, b, a),
            Le => less(false, a, b),
            Ge => less(false, b, a),
            Shl => shift(a, b, false),
            Plus => number(a.bits.wrapping_add(b.bits)),
            Minus => number(a.bits.wrapping_sub(b.bits)),
            Star => number(a.bits.wrapping_mul(b.bits)),
            Slash | Percent if b.bits == 0 => {
                if self.dead == 0 {
                    return Err((span, "division by zero in a condition".to_string()));
                }
                number(0)
            }
            Slash if unsigned => number(a.bits / b.bits),
            Slash => number(x.wrapping_div(y) as u64),
            Percent if unsigned => number(a.bits % b.bits),
            Percent => number(x.wrapping_rem(y) as u64),
            _ => return Err((span, "unexpected operator in a condition".to_string())),
        })
    }

    fn unary(&mut self) -> Result<Value, Failure> {
        let mut prefix = Vec::new();
        while let Some(t) = self.toks.get(self.at)
            && let RawKind::Token(
                op @ (TokenKind::Not | TokenKind::Tilde | TokenKind::Minus | TokenKind::Plus),
            ) = t.kind
        {
            prefix.push(op);
            self.at += 1;
        }
        let mut v = self.primary()?;
        for op in prefix.into_iter().rev() {
            v = match op {
                TokenKind::Not => Value::truth(!v.is_true()),
                TokenKind::Tilde => Value { bits: !v.bits, ..v },
                TokenKind::Minus => Value { bits: v.bits.wrapping_neg(), ..v },
                _ => v,
            };
        }
        Ok(v)
    }

    fn primary(&mut self) -> Result<Value, Failure> {
        let Some(t) = self.toks.get(self.at) else {
            return Err((self.end, "operand expected in a condition".to_string()));
        };
        self.at += 1;
        match t.kind {
            RawKind::Token(TokenKind::LParen) => {
                let v = self.comma()?;
                self.expect(TokenKind::RParen)?;
                Ok(v)
            }
            RawKind::Token(TokenKind::Int) | RawKind::Number => integer(t.spelling())
                .ok_or_else(|| (t.span, format!("`{}` is not an integer of 64 bits", t.spelling()))),
            _ => match t.word() {
                Some("defined") => self.defined(t.span),
                // Names other than macros have the value 0.
                Some(_) => Ok(Value::signed(0)),
                None => Err((t.span, format!("unexpected `{}` in a condition", t.spelling()))),
            },
        }
    }

    fn defined(&mut self, span: Span) -> Result<Value, Failure> {
        let paren = self.next_is(TokenKind::LParen);
        let Some(name) = self.toks.get(self.at).and_then(Tok::word) else {
            return Err((span, "`defined` without a macro name".to_string()));
        };
        self.at += 1;
        if paren {
            self.expect(TokenKind::RParen)?;
        }
        Ok(Value::truth((self.is_defined)(name)))
    }
}

fn shift(a: Value, by: Value, right: bool) -> Value {
    // A negative amount shifts the other way, as in cpp.
    let negative = !by.unsigned && (by.bits as i64) < 0;
    let n = if negative { (by.bits as i64).unsigned_abs() } else { by.bits };
    let n = u32::try_from(n).unwrap_or(u32::MAX);
    let bits = match (right != negative, a.unsigned) {
        (false, _) => a.bits.checked_shl(n).unwrap_or(0),
        (true, true) => a.bits.checked_shr(n).unwrap_or(0),
        (true, false) => ((a.bits as i64) >> n.min(63)) as u64,
    };
    Value { bits, ..a }
}

/// Integers of C (`010` is octal, suffixes `u` and `l`) and of P4 (`8w1`, `0b10`, `1_000`).
fn integer(text: &str) -> Option<Value> {
    let t = text.replace('_', "").to_ascii_lowercase();
    let suffix =
        t.trim_start_matches(|c: char| c.is_ascii_hexdigit() || c == 'x' || c == 'o' || c == 'w' || c == 's');
    let t = &t[..t.len() - suffix.len()];
    if !matches!(suffix, "" | "u" | "l" | "ul" | "lu" | "ll" | "ull" | "llu") {
        return None;
    }
    let mut unsigned = suffix.contains('u');
    let t = match t.find(['w', 's']) {
        Some(i) => {
            unsigned |= t.as_bytes()[i] == b'w';
            &t[i + 1..]
        }
        None => t,
    };
    let bits = match t.as_bytes() {
        [b'0', b'x', ..] => u64::from_str_radix(&t[2..], 16),
        [b'0', b'o', ..] => u64::from_str_radix(&t[2..], 8),
        [b'0', b'b', ..] => u64::from_str_radix(&t[2..], 2),
        [b'0', b'd', ..] => t[2..].parse(),
        [b'0', _, ..] => u64::from_str_radix(&t[1..], 8),
        _ => t.parse(),
    };
    let bits = bits.ok()?;
    Some(Value { bits, unsigned: unsigned || bits > i64::MAX as u64 })
}

#[cfg(test)]
mod tests {
    use super::integer;

    #[test]
    fn integers_of_c_and_p4() {
        let v = |t: &str| integer(t).map(|v| (v.bits, v.unsigned));
        assert_eq!(v("010"), Some((8, false)));
        assert_eq!(v("0x1FUL"), Some((31, true)));
        assert_eq!(v("8w0b11"), Some((3, true)));
        assert_eq!(v("0b11"), Some((3, false)));
        assert_eq!(v("1_000"), Some((1000, false)));
        assert_eq!(v("18446744073709551615"), Some((u64::MAX, true)));
        assert_eq!(v("18446744073709551616"), None);
        assert_eq!(v("09"), None);
    }
}
