//! Values as people read them.

use control::schema::DataType;
use control::{Match, Value};
use ir::Bits;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Names of numbers that are addresses.
const ADDRESS_WORDS: [&str; 7] = ["addr", "ip", "dst", "src", "source", "destination", "hop"];
/// Names whose numbers mean nothing as numbers.
const HEXADECIMAL_WORDS: [&str; 7] = ["type", "checksum", "csum", "flag", "hash", "mask", "reserved"];

/// By its width, and by the last part of the name of what has it.
pub(super) fn bits(value: &Bits, name: &str) -> String {
    let last = name.rsplit('.').next().unwrap_or(name).to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| last.contains(word));
    match (value.width(), value.to_u128()) {
        (48, _) => {
            let bytes = value.to_bytes_be();
            bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")
        }
        (32, Some(number)) if has(&ADDRESS_WORDS) && !has(&HEXADECIMAL_WORDS) => {
            // 32 bits.
            Ipv4Addr::from_bits(number as u32).to_string()
        }
        (128, Some(number)) => Ipv6Addr::from_bits(number).to_string(),
        (width, _) if width > 32 || (width > 1 && has(&HEXADECIMAL_WORDS)) => {
            let digits = format!("{value:x}");
            format!("0x{digits:0>n$}", n = width.div_ceil(4) as usize)
        }
        _ => value.to_string(),
    }
}

pub(super) fn value(value: &Value, name: &str) -> String {
    match value {
        Value::Bits(number) => bits(number, name),
        Value::Text(text) => format!("\"{text}\""),
    }
}

pub(super) fn pattern(pattern: Option<&Match>, name: &str) -> String {
    match pattern {
        None => "_".to_owned(),
        Some(Match::Exact(v) | Match::Optional(v)) => value(v, name),
        Some(Match::Lpm { value, prefix_len }) => format!("{}/{prefix_len}", bits(value, name)),
        Some(Match::Ternary { value, mask }) if *mask == Bits::ones(mask.width()) => bits(value, name),
        Some(Match::Ternary { value, mask }) => format!("{}&&&{mask:#x}", bits(value, name)),
        Some(Match::Range { low, high }) => format!("{}..{}", bits(low, name), bits(high, name)),
    }
}

pub(super) fn data(data: &control::Data, ty: &DataType) -> serde_json::Value {
    use control::Data;
    match data {
        Data::Bits(number) if matches!(ty, DataType::Int { .. }) => number.to_signed().to_string().into(),
        Data::Bits(number) | Data::Varbit(number) | Data::EnumValue(number) => number.to_string().into(),
        Data::Bool(truth) => (*truth).into(),
        Data::Text(text) | Data::Enum(text) | Data::Error(text) => text.as_str().into(),
        Data::Tuple(parts) | Data::Struct(parts) => {
            parts.iter().map(|part| self::data(part, ty)).collect::<Vec<_>>().into()
        }
        other => format!("{other:?}").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_as_what_they_are() {
        let show = |width, number, name| bits(&Bits::new(width, number), name);
        assert_eq!(show(48, 0x0200_0000_00aa, "x"), "02:00:00:00:00:aa");
        assert_eq!(show(32, 0x0a00_0001, "headers.ipv4.destination"), "10.0.0.1");
        assert_eq!(show(32, 7, "sequence"), "7");
        assert_eq!(show(16, 0x800, "ether_type"), "0x0800");
        assert_eq!(show(9, 3, "port"), "3");
        assert_eq!(show(128, 1, "source"), "::1");
        assert_eq!(show(64, 255, "x"), "0x00000000000000ff");
        let lpm = Match::Lpm { value: Bits::new(32, 0x0a00_0000), prefix_len: 8 };
        assert_eq!(pattern(Some(&lpm), "dst"), "10.0.0.0/8");
        assert_eq!(pattern(None, "dst"), "_");
    }
}
