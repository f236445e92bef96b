//! Values of fields.

use crate::{Fault, Field, Form};
use core::net::{Ipv4Addr, Ipv6Addr};
use diagnostics::suggest;
use std::ops::Range;

/// A number in decimal, or in hexadecimal or binary with its prefix; `_` between digits does not count.
pub(crate) fn number(text: &str) -> Option<u128> {
    let (digits, radix) = match text.get(..2) {
        Some("0x" | "0X") => (&text[2..], 16),
        Some("0b" | "0B") => (&text[2..], 2),
        Some(_) | None => (text, 10),
    };
    let digits = digits.replace('_', "");
    // `from_str_radix` would take a sign.
    let all_digits = digits.chars().all(|c| c.is_digit(radix));
    if all_digits { u128::from_str_radix(&digits, radix).ok() } else { None }
}

/// The kinds of value that a field takes, for messages.
pub(crate) fn expected(field: &Field) -> String {
    let what = match field.form {
        Form::Number => "a number",
        Form::Flags => "flags joined by `+`, or a number",
        Form::Mac => "an address as 02:00:00:00:00:01",
        Form::Ipv4 => "an address as 10.0.0.1",
        Form::Ipv6 => "an address as 2001:db8::1",
    };
    let names: Vec<&str> = field.names.iter().map(|(name, _)| *name).collect();
    match names.is_empty() {
        true => format!("{what} for `{}`", field.name),
        false => format!("{what} for `{}` ({})", field.name, names.join(", ")),
    }
}

/// The value of a field that is written as `word`, which is not empty.
pub(crate) fn of_field(field: &Field, word: &str, at: Range<usize>) -> Result<u128, Fault> {
    let value = number(word).or_else(|| match field.form {
        Form::Number => named(field, word),
        Form::Flags => word.split('+').try_fold(0, |bits, name| Some(bits | named(field, name)?)),
        Form::Mac => mac(word),
        Form::Ipv4 => word.parse::<Ipv4Addr>().ok().map(|address| u128::from(address.to_bits())),
        Form::Ipv6 => word.parse::<Ipv6Addr>().ok().map(Ipv6Addr::to_bits),
    });
    let Some(value) = value else {
        let fault = Fault::new(at, format!("expected {}, found `{word}`", expected(field)));
        return Err(match suggest::nearest_word(word, field.names.iter().map(|(name, _)| *name)) {
            Some(meant) => fault.help(format!("did you mean `{meant}`?")),
            None => fault,
        });
    };
    let max = u128::MAX >> (128 - field.n_bits);
    if value > max {
        let bits = if field.n_bits == 1 { "1 bit".to_string() } else { format!("{} bits", field.n_bits) };
        let message = format!("`{word}` is too large for `{}`, which has {bits}", field.name);
        return Err(Fault::new(at, message).help(format!("it is at most {max}")));
    }
    Ok(value)
}

fn named(field: &Field, word: &str) -> Option<u128> {
    field.names.iter().find(|(name, _)| *name == word).map(|(_, value)| *value)
}

fn mac(word: &str) -> Option<u128> {
    let mut value = 0;
    let mut n_bytes = 0;
    for byte in word.split(':') {
        if byte.is_empty() || byte.len() > 2 || !byte.chars().all(|c| c.is_ascii_hexdigit()) {
            return None;
        }
        value = value << 8 | u128::from_str_radix(byte, 16).ok()?;
        n_bytes += 1;
        if n_bytes > 6 {
            return None;
        }
    }
    (n_bytes == 6).then_some(value)
}
