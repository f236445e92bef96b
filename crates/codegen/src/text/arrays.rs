//! Constant arrays and initialisers in C.

use crate::text::code::{Code, escape};
use crate::text::types::size_bytes;
use ir::Type;

/// `{offset, size, width, is_varbit}`
pub(crate) fn value_type(offset: &str, ty: &Type) -> String {
    let is_varbit = u32::from(matches!(ty, Type::Varbit(_)));
    format!("{{{offset}, {}, {}, {is_varbit}}}", size_bytes(ty).max(1), ty.width_bits().unwrap_or(0))
}

pub(crate) fn string(text: &str) -> String {
    format!("\"{}\"", escape(text))
}

/// An initialiser with a line for each member; those that are zero are left out, as in C.
pub(crate) fn designated(of: &str, members: &[(&str, String)]) -> String {
    let is_zero = |value: &str| matches!(value, "0" | "NULL");
    let members = members.iter().filter(|(_, value)| !is_zero(value));
    let lines = members.map(|(name, value)| format!("    .{name} = {value},\n"));
    format!("{of}{{\n{}}}", lines.collect::<String>())
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
