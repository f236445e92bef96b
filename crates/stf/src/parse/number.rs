//! Numbers as they are written.

use super::line::{Line, Result, Token, shorten};
use crate::codes;
use crate::limits::DIGITS_MAX;
use crate::script::{Number, Port, Radix, Rate};
use diagnostics::{Diagnostic, Span};
use num_bigint::BigUint;
use num_traits::{ToPrimitive, Zero};

impl Line<'_> {
    /// A number, with `*` in binary and hexadecimal ones, or an address.
    pub(super) fn number(&mut self, what: &str) -> Result<Number> {
        if let Some(address) = self.address() {
            return Ok(address);
        }
        if let Some(diagnostic) = self.mistyped_address() {
            return Err(diagnostic);
        }
        match self.peek()? {
            Token::Number(text) => {
                let (_, span) = self.next()?;
                number(text, span)
            }
            _ => self.unexpected(what),
        }
    }

    /// A number without `*`.
    pub(super) fn exact_number(&mut self, what: &str) -> Result<Number> {
        let number = self.number(what)?;
        if number.has_wildcards() {
            let message = format!("{what} cannot have wildcards");
            let diagnostic = Diagnostic::new(&codes::WILDCARD, number.span, message)
                .label("has a `*`")
                .note("a `*` stands for digits that may be anything; only keys of tables and expected packets are compared like that");
            return Err(Box::new(diagnostic));
        }
        Ok(number)
    }

    /// A number that fits into 32 bits: a port, a group, a handle.
    pub(super) fn small_number(&mut self, what: &str) -> Result<Number> {
        let number = self.exact_number(what)?;
        too_large(&number, what, u64::from(u32::MAX))?;
        Ok(number)
    }

    /// Ports are decimal: `packet 10 ...` must not be port 16.
    pub(super) fn port(&mut self) -> Result<Port> {
        if let Token::Number(text) = self.peek()?
            && !text.bytes().all(|b| b.is_ascii_digit())
        {
            let (_, span) = self.next()?;
            let diagnostic = Diagnostic::new(&codes::MALFORMED_NUMBER, span, "a port is a decimal number")
                .label("expected decimal digits only");
            return Err(Box::new(diagnostic));
        }
        let number = self.small_number("a port number")?;
        // Checked above.
        Ok(Port { number: number.value.to_u32().unwrap_or(u32::MAX), span: number.span })
    }

    /// `rate:burst`; the rate may have a fraction.
    pub(super) fn rate(&mut self) -> Result<Rate> {
        let lo = self.start();
        let whole = self.exact_number("a rate per microsecond")?;
        let mut fraction = String::new();
        if self.eat(".")? {
            match self.next()? {
                (Token::Number(digits), _) if digits.bytes().all(|b| b.is_ascii_digit()) => {
                    fraction = digits.to_string();
                }
                (_, span) => {
                    let diagnostic =
                        Diagnostic::new(&codes::MALFORMED_NUMBER, span, "expected decimal digits after `.`")
                            .label("expected decimal digits");
                    return Err(Box::new(diagnostic));
                }
            }
        }
        // Per second is a million times per microsecond: the first six digits of the fraction.
        let micros = format!("{:0<6.6}", fraction).parse::<u64>().unwrap_or(0);
        let per_second = whole.value.to_u64().and_then(|w| w.checked_mul(1_000_000)?.checked_add(micros));
        let rate_span = self.span_from(lo);
        self.expect_sign(":")?;
        let burst = self.exact_number("a burst size")?;
        match (per_second, burst.to_u64()) {
            (Some(per_second), Some(burst)) if i64::try_from(per_second.max(burst)).is_ok() => {
                Ok(Rate { per_second, burst, span: self.span_from(lo) })
            }
            _ => {
                let diagnostic = Diagnostic::new(
                    &codes::NUMBER_TOO_LARGE,
                    rate_span.to(burst.span),
                    "a rate is too large",
                )
                .label("rates per second and bursts have 63 bits");
                Err(Box::new(diagnostic))
            }
        }
    }

    /// A time with unit, in nanoseconds.
    pub(super) fn duration_ns(&mut self) -> Result<u64> {
        let Token::Number(text) = self.peek()? else {
            return self.unexpected("a time such as `5ms`");
        };
        let (_, span) = self.next()?;
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (digits, unit) = text.split_at(digits);
        let scale: Option<u64> = match unit {
            "" | "ns" => Some(1),
            "us" => Some(1_000),
            "ms" => Some(1_000_000),
            "s" => Some(1_000_000_000),
            _ => None,
        };
        let Some(scale) = scale else {
            let message = format!("`{}` is no time", shorten(text));
            let diagnostic = Diagnostic::new(&codes::MALFORMED_NUMBER, span, message)
                .label("expected decimal digits and `ns`, `us`, `ms` or `s`");
            return Err(Box::new(diagnostic));
        };
        match digits.parse::<u64>().ok().and_then(|n| n.checked_mul(scale)) {
            Some(ns) => Ok(ns),
            None => {
                let diagnostic = Diagnostic::new(&codes::NUMBER_TOO_LARGE, span, "a time is too large")
                    .label("more than 584 years");
                Err(Box::new(diagnostic))
            }
        }
    }
}

/// Refuses numbers above `max`.
fn too_large(number: &Number, what: &str, max: u64) -> Result<()> {
    if number.value.to_u64().is_some_and(|v| v <= max) {
        return Ok(());
    }
    let message = format!("{what} is too large");
    let diagnostic = Diagnostic::new(&codes::NUMBER_TOO_LARGE, number.span, message)
        .label(format!("expected at most {max}"));
    Err(Box::new(diagnostic))
}

/// Understands `12`, `0x1f`, `0b01`, `0x0a**`, `0b1*0*`.
fn number(text: &str, span: Span) -> Result<Number> {
    let (radix, digits) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (Radix::Hexadecimal, &text[2..]),
        [b'0', b'b' | b'B', ..] => (Radix::Binary, &text[2..]),
        _ => (Radix::Decimal, text),
    };
    if digits.len() > DIGITS_MAX {
        let diagnostic = Diagnostic::new(&codes::NUMBER_TOO_LARGE, span, "a number is too long")
            .label(format!("has {} digits; expected at most {DIGITS_MAX}", digits.len()));
        return Err(Box::new(diagnostic));
    }
    let (base, name) = match radix {
        Radix::Binary => (2, "binary"),
        Radix::Decimal => (10, "decimal"),
        Radix::Hexadecimal => (16, "hexadecimal"),
    };
    let is_digit = |c: char| c.is_digit(base) || (c == '*' && radix != Radix::Decimal);
    if let Some((at, wrong)) = digits.char_indices().find(|(_, c)| !is_digit(*c)) {
        return Err(Box::new(malformed(text, digits, (at, wrong), (radix, name), span)));
    }
    if digits.is_empty() {
        let message = format!("`{text}` has no digits");
        let diagnostic =
            Diagnostic::new(&codes::MALFORMED_NUMBER, span, message).label(format!("expected {name} digits"));
        return Err(Box::new(diagnostic));
    }
    let n_stars = digits.bytes().filter(|b| *b == b'*').count() as u32;
    let parse = |text: &str| BigUint::parse_bytes(text.as_bytes(), base).unwrap_or_else(BigUint::zero);
    let value = parse(&digits.replace('*', "0"));
    let mask = match radix {
        Radix::Binary => parse(&digits.chars().map(|c| if c == '*' { '0' } else { '1' }).collect::<String>()),
        Radix::Hexadecimal => {
            parse(&digits.chars().map(|c| if c == '*' { '0' } else { 'f' }).collect::<String>())
        }
        // How wide it is is not known.
        Radix::Decimal => BigUint::zero(),
    };
    Ok(Number {
        span,
        radix,
        value,
        mask,
        n_digits: digits.len() as u32,
        n_stars,
        stars_trail: !digits.trim_end_matches('*').contains('*'),
    })
}

fn malformed(
    text: &str,
    digits: &str,
    (at, wrong): (usize, char),
    (radix, name): (Radix, &str),
    span: Span,
) -> Diagnostic {
    let lo = span.lo + (text.len() - digits.len() + at) as u32;
    let place = Span::new(lo, lo + wrong.len_utf8() as u32);
    let message = format!("`{wrong}` is no {name} digit");
    let diagnostic = Diagnostic::new(&codes::MALFORMED_NUMBER, place, message)
        .label(format!("expected {name} digits"))
        .also(span, "in this number");
    let is_hexadecimal = digits.bytes().all(|b| b.is_ascii_hexdigit() || b == b'*');
    let plain = text.replace('_', "");
    if wrong == '_' && !plain.is_empty() {
        diagnostic.fix("leave out the `_`", span, plain)
    } else if radix == Radix::Decimal && is_hexadecimal {
        diagnostic.fix("hexadecimal numbers begin with `0x`", span, format!("0x{text}"))
    } else {
        diagnostic
    }
}

/// The value of a number or an address: `12`, `0x1f`, `0b01`, `10.0.0.1`, `2001:db8::1`, `02:00:00:00:00:01`; `None` for
/// anything else.
pub fn parse_value(text: &str) -> Option<BigUint> {
    let mut line = Line::new(text, 0, crate::Form::Short);
    let number = line.exact_number("a value").ok()?;
    line.expect_end().ok()?;
    Some(number.value)
}
