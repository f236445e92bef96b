//! Values as people read and write them: what this prints, every format by name reads.

use control::schema::DataType;
use control::{Match, Value};
use trace::format::{self, Notation};

pub fn value(value: &Value, name: &str) -> String {
    match value {
        Value::Bits(number) => format::bits(number, name),
        Value::Text(text) => format!("\"{text}\""),
    }
}

pub fn pattern(pattern: Option<&Match>, name: &str) -> String {
    let wanted = match pattern {
        None => None,
        Some(Match::Exact(v) | Match::Optional(v)) => return value(v, name),
        Some(Match::Lpm { value, prefix_len }) => {
            Some(ir::Match::Lpm { value: value.clone(), prefix_len: *prefix_len })
        }
        Some(Match::Ternary { value, mask }) => {
            Some(ir::Match::Ternary { value: value.clone(), mask: mask.clone() })
        }
        Some(Match::Range { low, high }) => Some(ir::Match::Range { low: low.clone(), high: high.clone() }),
    };
    format::pattern(wanted.as_ref(), Notation::Compact, &|value| format::bits(value, name))
}

pub fn data(data: &control::Data, ty: &DataType) -> serde_json::Value {
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
    use ir::Bits;

    #[test]
    fn texts_are_quoted_and_numbers_read_by_their_name() {
        let address = Value::Bits(Bits::new(32, 0x0a00_0001));
        assert_eq!(value(&address, "headers.ipv4.destination"), "10.0.0.1");
        assert_eq!(value(&address, "sequence"), "167772161");
        assert_eq!(pattern(Some(&Match::Exact(Value::Text("a".into()))), "dst"), "\"a\"");
        let lpm = Match::Lpm { value: Bits::new(32, 0x0a00_0000), prefix_len: 8 };
        assert_eq!(pattern(Some(&lpm), "dst"), "10.0.0.0/8");
        assert_eq!(pattern(None, "dst"), "_");
    }
}
