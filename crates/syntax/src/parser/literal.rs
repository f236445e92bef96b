//! Integer literals: `10`, `0xFF`, `8w255`, `4s0b1010`, with `_` between digits.

use super::*;
use crate::ast::{IntLiteral, Signedness};
use crate::limits::INT_DIGITS_MAX;
use num_bigint::BigInt;

impl Parser<'_> {
    /// Consumes the integer at the cursor.
    pub(super) fn int_literal(&mut self) -> IntLiteral {
        let literal = match read_int(&self.tok().text) {
            Some(literal) => literal,
            None if self.tok().text.len() > INT_DIGITS_MAX => {
                let d = self
                    .here(&codes::MALFORMED_INTEGER, "this number has too many digits")
                    .note(format!("Numbers of more than {INT_DIGITS_MAX} digits are not read."));
                self.report(d);
                IntLiteral { value: BigInt::ZERO, width: None, base: 10 }
            }
            None => {
                let d = self
                    .here(&codes::BAD_WIDTH, format!("the width of `{}` cannot be used", self.tok().text))
                    .label("not a usable literal")
                    .help("write the width in front of `w` or `s` as a small decimal number, as in `32w7`");
                self.report(d);
                IntLiteral { value: BigInt::ZERO, width: None, base: 10 }
            }
        };
        self.bump();
        literal
    }
}

/// Returns `None` if the width does not fit, or if the text is too long or not a literal.
fn read_int(text: &str) -> Option<IntLiteral> {
    let (width, digits) = match text.find(['w', 's']) {
        Some(at) => {
            let sign = if text[at..].starts_with('w') { Signedness::Unsigned } else { Signedness::Signed };
            let width: u32 = text[..at].parse().ok()?;
            (Some((width, sign)), &text[at + 1..])
        }
        None => (None, text),
    };
    let prefixed = |p: char| {
        let rest = digits.strip_prefix('0')?;
        rest.strip_prefix(p).or_else(|| rest.strip_prefix(p.to_ascii_uppercase()))
    };
    let (base, digits) = [('x', 16), ('d', 10), ('o', 8), ('b', 2)]
        .into_iter()
        .find_map(|(p, base)| Some((base, prefixed(p)?)))
        .unwrap_or((10, digits));
    if digits.len() > INT_DIGITS_MAX {
        return None;
    }
    // Most literals are small, so a fast path avoids big numbers.
    let small = digits.len() <= 15;
    let value = if small {
        let mut value = 0u64;
        for c in digits.chars().filter(|c| *c != '_') {
            value = value * u64::from(base) + u64::from(c.to_digit(base)?);
        }
        BigInt::from(value)
    } else {
        BigInt::parse_bytes(digits.replace('_', "").as_bytes(), base)?
    };
    Some(IntLiteral { value, width, base: base as u8 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_of_every_shape() {
        let read = |text| read_int(text).map(|l| (l.value, l.width, l.base));
        let unsigned = |w| Some((w, Signedness::Unsigned));
        assert_eq!(read("10"), Some((10.into(), None, 10)));
        assert_eq!(read("0x_f_F"), Some((255.into(), None, 16)));
        assert_eq!(read("0D12"), Some((12.into(), None, 10)));
        assert_eq!(read("8w0o17"), Some((15.into(), unsigned(8), 8)));
        assert_eq!(read("4s0b1010"), Some((10.into(), Some((4, Signedness::Signed)), 2)));
        assert_eq!(read("0w0"), Some((0.into(), unsigned(0), 10)));
        assert_eq!(
            read("128w0xFFFF_FFFF_FFFF_FFFF_FFFF"),
            Some(((BigInt::from(1) << 80u32) - 1, unsigned(128), 16))
        );
        assert_eq!(read("99999999999w1"), None);
        assert_eq!(read(&"9".repeat(INT_DIGITS_MAX + 1)), None);
    }
}
