//! Addresses as numbers.

use super::line::Line;
use crate::codes;
use crate::script::{Number, Radix};
use core::net::{Ipv4Addr, Ipv6Addr};
use diagnostics::Diagnostic;
use num_bigint::BigUint;
use num_traits::One;

/// A value and its width.
struct Address {
    value: u128,
    width_bits: u32,
}

impl Address {
    fn parse(text: &str) -> Option<Address> {
        if let Ok(address) = text.parse::<Ipv4Addr>() {
            return Some(Address { value: address.to_bits().into(), width_bits: 32 });
        }
        let bytes: Vec<&str> = text.split(':').collect();
        let is_mac = bytes.len() == 6 && bytes.iter().all(|b| b.len() == 2);
        if is_mac && let Ok(value) = u128::from_str_radix(&bytes.concat(), 16) {
            return Some(Address { value, width_bits: 48 });
        }
        text.parse::<Ipv6Addr>().ok().map(|address| Address { value: address.to_bits(), width_bits: 128 })
    }
}

impl Line<'_> {
    /// The address that is next and the length of its text. No name and no number looks like one: it has dots between
    /// four numbers, five colons, or two colons in a row.
    fn peek_address(&mut self) -> Option<(Address, usize)> {
        let (rest, _) = self.rest();
        let len = rest.find(|c: char| !c.is_ascii_hexdigit() && c != ':' && c != '.').unwrap_or(rest.len());
        // A range of addresses has dots between them, too.
        let text = rest[..len].split("..").next().unwrap_or_default();
        Address::parse(text).map(|address| (address, text.len()))
    }

    /// The error for something that looks like an address and is none.
    pub(super) fn mistyped_address(&mut self) -> Option<Box<Diagnostic>> {
        let lo = self.start();
        let (rest, _) = self.rest();
        let len =
            rest.find(|c: char| !c.is_ascii_alphanumeric() && c != ':' && c != '.').unwrap_or(rest.len());
        let text = rest[..len].split("..").next().unwrap_or_default();
        let parts = |separator: char| text.split(separator).collect::<Vec<_>>();
        let expected = match (parts('.').len(), parts(':').len()) {
            (3.., 1) if parts('.').iter().all(|part| part.bytes().all(|b| b.is_ascii_digit())) => {
                match parts('.').iter().find(|part| part.parse::<u8>().is_err()) {
                    Some(part) if parts('.').len() == 4 => format!("`{part}` is not a number up to 255"),
                    _ => "an IPv4 address has four numbers, as in `10.0.0.1`".to_owned(),
                }
            }
            (1, 3..) => {
                let is_byte = |part: &&str| part.len() == 2 && part.bytes().all(|b| b.is_ascii_hexdigit());
                match (parts(':').len(), parts(':').iter().find(|part| !is_byte(part))) {
                    (6, Some(part)) => format!("`{part}` is not two hexadecimal digits"),
                    (n, None) => format!("an Ethernet address has 6 bytes, this has {n}"),
                    (_, Some(_)) => {
                        "expected an Ethernet address as `02:00:00:00:00:01`, or an IPv6 address".to_owned()
                    }
                }
            }
            _ => return None,
        };
        let span = self.span(lo, lo + text.len());
        let message = format!("`{text}` is no address");
        Some(Box::new(Diagnostic::new(&codes::MALFORMED_NUMBER, span, message).label(expected)))
    }

    pub(super) fn is_address(&mut self) -> bool {
        self.peek_address().is_some()
    }

    /// Takes an address, as a hexadecimal number with all digits.
    pub(super) fn address(&mut self) -> Option<Number> {
        let (Address { value, width_bits }, len) = self.peek_address()?;
        Some(Number {
            span: self.take(len),
            radix: Radix::Hexadecimal,
            value: value.into(),
            mask: (BigUint::one() << width_bits) - BigUint::one(),
            n_digits: width_bits / 4,
            n_stars: 0,
            stars_trail: true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Form;

    #[test]
    fn addresses_end_where_the_next_token_begins() {
        let address = |text: &str, form| {
            let mut line = Line::new(text, 0, form);
            let number = line.address()?;
            Some((number.value, number.n_digits, number.span.hi as usize))
        };
        for (text, value, n_digits, len) in [
            ("10.0.0.1..10.0.0.9", 0x0a00_0001_u128, 8, 8),
            ("10.0.0.0/8", 0x0a00_0000, 8, 8),
            ("255.0.0.0&&&1", 0xff00_0000, 8, 9),
            ("02:00:00:00:00:0a)", 0x0200_0000_000a, 12, 17),
            ("2001:db8::1/64", 0x2001_0db8 << 96 | 1, 32, 11),
            ("::", 0, 32, 2),
        ] {
            for form in [Form::Script, Form::Short] {
                assert_eq!(address(text, form), Some((value.into(), n_digits, len)), "{text}");
            }
        }
        for text in ["10", "0x0a", "10.0.0", "80..443", "dst:10.0.0.1", "a.b", "1:2", "_", ""] {
            assert_eq!(address(text, Form::Script), None, "{text}");
        }
    }

    #[test]
    fn mistyped_addresses_are_told() {
        for (text, told) in [
            ("10.0.3.256/24", "`256` is not a number up to 255"),
            ("10.0.3", "four numbers"),
            ("02:00:00:00:00", "6 bytes, this has 5"),
            ("02:00:00:00:00:0g)", "`0g` is not two hexadecimal digits"),
            ("2001:db8:1", "IPv6 address"),
        ] {
            let fault =
                Line::new(text, 0, Form::Short).mistyped_address().unwrap_or_else(|| panic!("{text}"));
            let label = format!("{fault:?}");
            assert!(label.contains(told), "{text}: {label}");
        }
        for text in ["1", "1.5", "0x1f", "80..443", "1:2", "a.b.c", ""] {
            assert!(Line::new(text, 0, Form::Short).mistyped_address().is_none(), "{text}");
        }
    }
}
