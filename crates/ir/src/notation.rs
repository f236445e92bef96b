//! Values as people read them: addresses, numbers, hexadecimal digits.

use crate::{Bits, Type};

/// Words in the last part of a name whose number means nothing as a number.
const HEXADECIMAL_WORDS: &[&str] = &["type", "checksum", "csum", "flag", "hash", "mask", "magic", "reserved"];
/// Words in the last part of a name whose 32 bits are an IPv4 address.
const ADDRESS_WORDS: &[&str] = &["addr", "ip", "hop", "dst", "src", "source", "destination"];

/// How a value reads best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Decimal,
    Hexadecimal,
    Mac,
    Ipv4,
    Ipv6,
}

impl Style {
    /// By the width in bits, and by the last part of a name: 48 bits are a MAC address, 128 an IPv6 address.
    pub fn of_bits(width: u32, name: &str) -> Style {
        let last = name.rsplit('.').next().unwrap_or(name).to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|w| last.contains(w));
        match width {
            48 => Style::Mac,
            128 => Style::Ipv6,
            32 if has(ADDRESS_WORDS) && !has(HEXADECIMAL_WORDS) => Style::Ipv4,
            w if w > 32 || (w > 1 && has(HEXADECIMAL_WORDS)) => Style::Hexadecimal,
            _ => Style::Decimal,
        }
    }

    /// By the type, and by the last part of a name.
    pub fn of_type(ty: &Type, name: &str) -> Style {
        match ty {
            Type::Bit(width) => Style::of_bits(*width, name),
            Type::Varbit(_) => Style::Hexadecimal,
            Type::Bool
            | Type::Int(_)
            | Type::Error
            | Type::Enum(_)
            | Type::Struct(_)
            | Type::Stack { .. }
            | Type::Array { .. } => Style::Decimal,
        }
    }

    pub fn show(self, value: &Bits) -> String {
        let bytes = value.to_bytes_be();
        match (self, value.width()) {
            (Style::Mac, 48) => {
                let parts: Vec<String> = bytes.iter().map(|b| format!("{b:02x}")).collect();
                parts.join(":")
            }
            (Style::Ipv4, 32) => {
                let parts: Vec<String> = bytes.iter().map(u8::to_string).collect();
                parts.join(".")
            }
            (Style::Ipv6, 128) => {
                core::net::Ipv6Addr::from_bits(value.to_u128().unwrap_or_default()).to_string()
            }
            (Style::Hexadecimal, width) => {
                let digits = format!("{value:x}");
                format!("0x{digits:0>n$}", n = width.div_ceil(4) as usize)
            }
            (Style::Decimal, width) if width > 64 => format!("{value:#x}"),
            (Style::Decimal | Style::Mac | Style::Ipv4 | Style::Ipv6, _) => value.to_string(),
        }
    }
}

/// A value of which only the width and a name are known: `10.0.0.1` for 32 bits called `ipv4.dst`.
pub fn bits(value: &Bits, name: &str) -> String {
    Style::of_bits(value.width(), name).show(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_a_width_say_how_bits_read() {
        let show = |width: u32, number: u128, name: &str| bits(&Bits::new(width, number), name);
        assert_eq!(show(48, 0x0200_0000_00aa, "x"), "02:00:00:00:00:aa");
        assert_eq!(show(128, 1, "x"), "::1");
        for word in ADDRESS_WORDS {
            assert_eq!(show(32, 0x0a00_0001, &format!("headers.ipv4.{word}")), "10.0.0.1", "{word}");
            assert_eq!(show(16, 7, word), "7", "{word}");
        }
        for word in HEXADECIMAL_WORDS {
            assert_eq!(show(16, 0x800, &format!("ether_{word}")), "0x0800", "{word}");
            assert_eq!(show(32, 1, &format!("dst_{word}")), "0x00000001", "{word}");
            assert_eq!(show(1, 1, word), "1", "{word}");
        }
        // Only the last part of a name counts.
        assert_eq!(show(32, 7, "ipv4.sequence"), "7");
        assert_eq!(show(9, 3, "port"), "3");
        assert_eq!(show(64, 255, "x"), "0x00000000000000ff");
    }
}
