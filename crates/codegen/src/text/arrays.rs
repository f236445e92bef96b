//! Constant arrays and initialisers in C.

use crate::text::code::{Code, escape};
use crate::text::types::size_bytes;
use ir::Type;

/// A `struct sd_value_type`.
pub(crate) fn value_type(offset: &str, ty: &Type) -> String {
    row(&[
        ("offset", offset.to_string()),
        ("size_bytes", size_bytes(ty).max(1).to_string()),
        ("width_bits", ty.width_bits().unwrap_or(0).to_string()),
        ("is_varbit", u32::from(matches!(ty, Type::Varbit(_))).to_string()),
    ])
}

pub(crate) fn string(text: &str) -> String {
    format!("\"{}\"", escape(text))
}

/// The value of members that an initialiser leaves out.
pub(crate) fn is_zero(value: &str) -> bool {
    matches!(value, "0" | "NULL" | "UINT64_C(0)")
}

/// An initialiser with the members that are not zero, some in each line.
pub(crate) fn designated(of: &str, lines: &[Vec<(&str, String)>]) -> String {
    let mut text = format!("{of}{{\n");
    for line in lines {
        let members = line.iter().filter(|(_, value)| !is_zero(value));
        let members: Vec<String> = members.map(|(name, value)| format!(".{name} = {value},")).collect();
        if !members.is_empty() {
            text.push_str(&format!("    {}\n", members.join(" ")));
        }
    }
    text + "}"
}

/// An initialiser in one line, of the members that are not zero; the first one stands in any case.
pub(crate) fn row(members: &[(&str, String)]) -> String {
    let members = members.iter().enumerate().filter(|(i, (_, value))| *i == 0 || !is_zero(value));
    let members: Vec<String> = members.map(|(_, (name, value))| format!(".{name} = {value}")).collect();
    format!("{{{}}}", members.join(", "))
}

/// An array in C, which may be empty.
pub(crate) struct Array {
    name: String,
    pub(crate) n: usize,
}

impl std::fmt::Display for Array {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.n == 0 { "NULL" } else { &self.name })
    }
}

pub(crate) fn array(c_type: &str, name: &str, items: &[String], out: &mut Code) -> Array {
    let array = Array { name: name.to_string(), n: items.len() };
    if items.is_empty() {
        return array;
    }
    out.line(format!("static const {c_type} {name}[] = {{"));
    for line in items.iter().flat_map(|item| item.lines().map(String::from).chain([",".to_string()])) {
        match line.as_str() {
            "," => out.extend_last(","),
            line => out.line(format!("    {line}")),
        }
    }
    out.line("};");
    array
}
