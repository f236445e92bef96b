//! Signatures of extern calls, in Rust and in C.

use crate::abi::{self, direction};
use smol_str::SmolStr;
use std::ffi::CString;
use std::fmt;

/// Position and width of a single value in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    pub offset: u32,
    pub size_bytes: u32,
    pub width_bits: u32,
    pub is_varbit: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arg {
    /// One value, or the fields of an aggregate.
    In(Vec<Value>),
    InOut(Vec<Value>),
    Text(String),
    Absent,
}

/// A call in a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// `function` or `type.method`.
    pub name: SmolStr,
    /// Number of the object of a method; `None` for a function.
    pub object: Option<u32>,
    pub args: Vec<Arg>,
    pub args_bytes: u32,
    pub result: Option<Value>,
}

impl Arg {
    pub fn values(&self) -> &[Value] {
        match self {
            Arg::In(values) | Arg::InOut(values) => values,
            Arg::Text(_) | Arg::Absent => &[],
        }
    }
}

impl Value {
    fn raw(&self) -> abi::Value {
        abi::Value {
            offset: self.offset,
            size_bytes: self.size_bytes,
            width_bits: self.width_bits,
            is_varbit: u32::from(self.is_varbit),
        }
    }
}

/// Prints a P4 type; `bit` stands for every type of that width.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}<{}>", if self.is_varbit { "varbit" } else { "bit" }, self.width_bits)
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.result {
            Some(result) => write!(f, "{result} {}(", self.name)?,
            None => write!(f, "void {}(", self.name)?,
        }
        for (i, arg) in self.args.iter().enumerate() {
            let (before, values) = (if i > 0 { ", " } else { "" }, arg.values());
            let how = match arg {
                Arg::In(_) => "in ",
                Arg::InOut(_) => "inout ",
                Arg::Text(_) => "string",
                Arg::Absent => "_",
            };
            write!(f, "{before}{how}")?;
            match (arg, values) {
                (Arg::Text(_) | Arg::Absent, _) => {}
                (Arg::In(_) | Arg::InOut(_), [value]) => write!(f, "{value}")?,
                (Arg::In(_) | Arg::InOut(_), values) => {
                    let list: Vec<String> = values.iter().map(Value::to_string).collect();
                    write!(f, "{{{}}}", list.join(", "))?;
                }
            }
        }
        f.write_str(")")
    }
}

/// C form of a signature, with all memory that it points to; its address is stable.
pub(crate) struct RawSignature {
    raw: Box<abi::Signature>,
    _args: Vec<abi::Arg>,
    _values: Vec<Vec<abi::Value>>,
    _texts: Vec<CString>,
}

impl RawSignature {
    pub(crate) fn new(signature: &Signature) -> RawSignature {
        let c_string = |text: &str| CString::new(text.replace('\0', "")).unwrap_or_default();
        let mut texts = vec![c_string(&signature.name)];
        let values: Vec<Vec<abi::Value>> =
            signature.args.iter().map(|arg| arg.values().iter().map(Value::raw).collect()).collect();
        let mut args = Vec::new();
        for (arg, values) in signature.args.iter().zip(&values) {
            let (direction, text) = match arg {
                Arg::In(_) => (direction::IN, std::ptr::null()),
                Arg::InOut(_) => (direction::INOUT, std::ptr::null()),
                Arg::Absent => (direction::ABSENT, std::ptr::null()),
                Arg::Text(text) => {
                    let text = c_string(text);
                    let first = text.as_ptr();
                    // Moving a string does not move its bytes.
                    texts.push(text);
                    (direction::TEXT, first)
                }
            };
            let n_values = values.len() as u32;
            args.push(abi::Arg { direction, n_values, values: values.as_ptr(), text });
        }
        let raw = Box::new(abi::Signature {
            name: texts[0].as_ptr(),
            object: signature.object.unwrap_or(abi::NO_OBJECT),
            n_args: args.len() as u32,
            args: args.as_ptr(),
            args_bytes: signature.args_bytes,
            result: signature.result.map_or(abi::Value::default(), |value| value.raw()),
        });
        RawSignature { raw, _args: args, _values: values, _texts: texts }
    }

    /// Returns a pointer that is valid as long as `self` lives.
    pub(crate) fn as_ptr(&self) -> *const abi::Signature {
        &*self.raw
    }
}
