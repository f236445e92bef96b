//! Values as people read them.

use crate::load::{Leaf, LeafInfo};
use ir::{Bits, EnumId, Match, Program, Type};

/// How a value is best read, by its type, its width and its name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format<'p> {
    program: &'p Program,
    /// `None` of validity bits and indices, too.
    ty: Option<&'p Type>,
    members: Option<EnumId>,
    style: Style,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Decimal,
    Hexadecimal,
    Mac,
    Ipv4,
    Ipv6,
}

/// Names whose numbers mean nothing as numbers.
const HEXADECIMAL_NAMES: &[&str] = &["type", "checksum", "csum", "flag", "hash", "mask", "magic", "reserved"];
const ADDRESS_NAMES: &[&str] = &["addr", "ip", "hop", "dst", "src", "source", "destination"];

fn style(ty: &Type, name: &str) -> Style {
    let last = name.rsplit('.').next().unwrap_or(name).to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|w| last.contains(w));
    match ty {
        Type::Bit(48) => Style::Mac,
        Type::Bit(128) => Style::Ipv6,
        Type::Bit(32) if has(ADDRESS_NAMES) && !has(HEXADECIMAL_NAMES) => Style::Ipv4,
        Type::Bit(w) if *w > 32 || (*w > 1 && has(HEXADECIMAL_NAMES)) => Style::Hexadecimal,
        Type::Varbit(_) => Style::Hexadecimal,
        _ => Style::Decimal,
    }
}

impl<'p> Format<'p> {
    pub(super) fn of_leaf(program: &'p Program, info: &LeafInfo<'p>) -> Format<'p> {
        match info.leaf {
            Leaf::Value(ty) => Format {
                program,
                ty: Some(ty),
                members: info.field.and_then(|f| f.members),
                style: style(ty, &info.name),
            },
            Leaf::Valid => Format { program, ty: Some(&Type::Bool), members: None, style: Style::Decimal },
            Leaf::NextIndex => Format { program, ty: None, members: None, style: Style::Decimal },
        }
    }

    pub(super) fn of_type(program: &'p Program, ty: &'p Type, name: &str) -> Format<'p> {
        Format { program, ty: Some(ty), members: None, style: style(ty, name) }
    }

    /// Of a value about which nothing but its bits is known.
    pub(super) fn plain(program: &'p Program) -> Format<'p> {
        Format { program, ty: None, members: None, style: Style::Decimal }
    }

    pub(super) fn value(&self, value: &Bits) -> String {
        let index = || value.to_u64().and_then(|i| usize::try_from(i).ok());
        if let Some(id) = self.members {
            let name = self.program.enums[id].members.iter().find(|(_, v)| v.as_ref() == Some(value));
            if let Some((name, _)) = name {
                let digits = format!("{value:x}");
                return format!("{name} (0x{digits:0>n$})", n = value.width().div_ceil(4) as usize);
            }
        }
        match self.ty {
            Some(Type::Bool) => value.is_true().to_string(),
            Some(Type::Error) => match index().and_then(|i| self.program.errors.get(i)) {
                Some(name) => format!("error.{name}"),
                None => value.to_string(),
            },
            Some(Type::Enum(id)) => {
                let decl = &self.program.enums[*id];
                match index().and_then(|i| decl.members.get(i)) {
                    Some((name, _)) => format!("{}.{name}", decl.name),
                    None => value.to_string(),
                }
            }
            Some(Type::Int(_)) => value.to_signed().to_string(),
            Some(Type::Varbit(_)) => format!("{value:#x} ({} bits)", value.width()),
            Some(Type::Bit(_) | Type::Struct(_) | Type::Stack { .. } | Type::Array { .. }) | None => {
                self.bits(value)
            }
        }
    }

    fn bits(&self, value: &Bits) -> String {
        let bytes = value.to_bytes_be();
        match (self.style, value.width()) {
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

    pub(super) fn match_of(&self, wanted: Option<&Match>) -> String {
        match wanted {
            None => "anything".to_string(),
            Some(Match::Exact(v) | Match::Optional(v)) => self.value(v),
            Some(Match::Lpm { value, prefix_len }) => format!("{}/{prefix_len}", self.value(value)),
            Some(Match::Ternary { value, mask }) if *mask == Bits::ones(mask.width()) => self.value(value),
            Some(Match::Ternary { value, mask }) => format!("{} &&& {mask:#x}", self.value(value)),
            Some(Match::Range { low, high }) => format!("{}..{}", self.value(low), self.value(high)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arch::Architecture;

    #[test]
    fn values_read_as_what_they_are() {
        let program = ir::text::parse("architecture v1model\nerrors NoError, PacketTooShort\n");
        let program = program.unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(program.architecture, Architecture::V1Model);
        let show = |ty: Type, name: &str, value: u128| {
            let width = ty.width_bits().unwrap_or(16);
            Format::of_type(&program, &ty, name).value(&Bits::new(width, value))
        };
        assert_eq!(show(Type::Bit(48), "x", 0x0a_0b), "00:00:00:00:0a:0b");
        assert_eq!(show(Type::Bit(32), "hdr.ipv4.dstAddr", 0x0a00_0001), "10.0.0.1");
        assert_eq!(show(Type::Bit(32), "hdr.tcp.seqNo", 77), "77");
        assert_eq!(show(Type::Bit(128), "srcAddr", 1), "::1");
        assert_eq!(show(Type::Bit(16), "hdr.ethernet.etherType", 0x800), "0x0800");
        assert_eq!(show(Type::Bit(64), "x", 255), "0x00000000000000ff");
        assert_eq!(show(Type::Int(8), "x", 255), "-1");
        assert_eq!(show(Type::Bool, "x", 1), "true");
        assert_eq!(show(Type::Error, "x", 1), "error.PacketTooShort");
        assert_eq!(show(Type::Error, "x", 9), "9");
    }
}
