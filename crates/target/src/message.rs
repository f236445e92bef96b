//! Text of log messages.

use ir::Bits;

/// `text` with each `{}` replaced by the next value in decimal; those without a value stay.
pub fn format_message(text: &str, values: &[Bits]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut values = values.iter();
    let mut rest = text;
    while let Some(at) = rest.find("{}") {
        out += &rest[..at];
        match values.next() {
            Some(value) => out += &value.to_string(),
            None => out += "{}",
        }
        rest = &rest[at + 2..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_are_values() {
        let values = [Bits::new(8, 255), Bits::FALSE];
        assert_eq!(format_message("a {} b {} c {}", &values), "a 255 b 0 c {}");
        assert_eq!(format_message("", &values), "");
        assert_eq!(format_message("{{}} ü{}", &values[..1]), "{255} ü{}");
    }
}
