//! Values as people read them, in stories and in answers of the control socket.

use crate::{Leaf, LeafInfo};
use ir::notation::Style;
pub use ir::notation::bits;
use ir::{Bits, EnumId, Match, Program, Type};

/// How a pattern is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// In a sentence: `anything`, `7 &&& 0xff`.
    Prose,
    /// The notation of `siding ctl` commands, without blanks: `_`, `7&&&0xff`.
    Compact,
}

/// Formats the pattern of one key element of an entry; `None` matches everything. `show` formats values.
pub fn pattern(wanted: Option<&Match>, notation: Notation, show: &dyn Fn(&Bits) -> String) -> String {
    match wanted {
        None => match notation {
            Notation::Prose => "anything".to_string(),
            Notation::Compact => "_".to_string(),
        },
        Some(Match::Exact(v) | Match::Optional(v)) => show(v),
        Some(Match::Lpm { value, prefix_len }) => format!("{}/{prefix_len}", show(value)),
        Some(Match::Ternary { value, mask }) if *mask == Bits::ones(mask.width()) => show(value),
        Some(Match::Ternary { value, mask }) => match notation {
            Notation::Prose => format!("{} &&& {mask:#x}", show(value)),
            Notation::Compact => format!("{}&&&{mask:#x}", show(value)),
        },
        Some(Match::Range { low, high }) => format!("{}..{}", show(low), show(high)),
    }
}

/// How a value of the program is best read, by its type and its name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Format<'p> {
    program: &'p Program,
    /// `None` for validity bits and indices, too.
    ty: Option<&'p Type>,
    members: Option<EnumId>,
    style: Style,
}

impl<'p> Format<'p> {
    pub(crate) fn of_leaf(program: &'p Program, info: &LeafInfo<'p>) -> Format<'p> {
        match info.leaf {
            Leaf::Value(ty) => Format {
                program,
                ty: Some(ty),
                members: info.field.and_then(|f| f.members),
                style: Style::of_type(ty, &info.name),
            },
            Leaf::Valid => Format { program, ty: Some(&Type::Bool), members: None, style: Style::Decimal },
            Leaf::NextIndex => Format { program, ty: None, members: None, style: Style::Decimal },
        }
    }

    pub(crate) fn of_type(program: &'p Program, ty: &'p Type, name: &str) -> Format<'p> {
        Format { program, ty: Some(ty), members: None, style: Style::of_type(ty, name) }
    }

    /// For a value without a name.
    pub(crate) fn plain(program: &'p Program) -> Format<'p> {
        Format { program, ty: None, members: None, style: Style::Decimal }
    }

    pub(crate) fn value(&self, value: &Bits) -> String {
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
                self.style.show(value)
            }
        }
    }

    pub(crate) fn pattern(&self, wanted: Option<&Match>) -> String {
        pattern(wanted, Notation::Prose, &|value| self.value(value))
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
        assert_eq!(program.architecture, Architecture::v1model());
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

    #[test]
    fn patterns_read_in_sentences_and_as_commands_take_them() {
        let show = |value: &Bits| bits(value, "dst");
        let both = |wanted: Option<&Match>| {
            [Notation::Prose, Notation::Compact].map(|notation| pattern(wanted, notation, &show))
        };
        assert_eq!(both(None), ["anything", "_"]);
        let lpm = Match::Lpm { value: Bits::new(32, 0x0a00_0000), prefix_len: 8 };
        assert_eq!(both(Some(&lpm)), ["10.0.0.0/8"; 2]);
        let ternary = |mask| Match::Ternary { value: Bits::new(8, 7), mask: Bits::new(8, mask) };
        assert_eq!(both(Some(&ternary(0x0f))), ["7 &&& 0xf", "7&&&0xf"]);
        assert_eq!(both(Some(&ternary(0xff))), ["7"; 2]);
        let range = Match::Range { low: Bits::new(16, 1), high: Bits::new(16, 9) };
        assert_eq!(both(Some(&range)), ["1..9"; 2]);
    }
}
