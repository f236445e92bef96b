//! Costs of operations, in cycles.

use std::fmt::{self, Write};

macro_rules! costs {
    ($($(#[$doc:meta])* $name:ident = $default:literal, $max:expr, $why:literal;)*) => {
        /// Cycles of operations between a read and a write of state. See [`Costs::text`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Costs {
            $($(#[$doc])* pub $name: u32,)*
        }

        impl Default for Costs {
            fn default() -> Costs {
                Costs { $($name: $default,)* }
            }
        }

        const ROWS: &[(&str, &str)] = &[$((stringify!($name), $why),)*];

        impl Costs {
            fn set(&mut self, name: &str, value: u32) -> Result<(), Option<u32>> {
                match name {
                    $(stringify!($name) if value <= $max => self.$name = value,
                    stringify!($name) => return Err(Some($max)),)*
                    _ => return Err(None),
                }
                Ok(())
            }

            fn get(&self, name: &str) -> u32 {
                match name {
                    $(stringify!($name) => self.$name,)*
                    _ => 0,
                }
            }
        }
    };
}

/// The most that an operation can cost.
const CYCLES_MAX: u32 = 1000;

costs! {
    memory_read = 0, CYCLES_MAX, "reading state; 0: within the cycle of the first operation";
    memory_write = 0, CYCLES_MAX, "writing state; 0: within the cycle of the last operation";
    add = 1, CYCLES_MAX, "addition, subtraction, negation, saturating or not";
    compare = 1, CYCLES_MAX, "==, <, and the others";
    logic = 1, CYCLES_MAX, "&, |, ^, && and || of values; complements and constants are wires";
    select = 1, CYCLES_MAX, "choosing between two values: ?: and what branches leave behind";
    shift = 1, CYCLES_MAX, "shifts by a value; those by a constant are wires";
    multiply = 3, CYCLES_MAX, "products; those with a power of two are wires";
    divide = 20, CYCLES_MAX, "quotients and remainders; those by a power of two are wires";
    hash = 2, CYCLES_MAX, "hashes and checksums";
    random = 1, CYCLES_MAX, "random numbers";
    table = 2, CYCLES_MAX, "looking a table up";
    insert = 2, CYCLES_MAX, "adding the entry that was not found: a hash and a write";
    call = 10, CYCLES_MAX, "externs that Siding does not know";
    counter = 1, CYCLES_MAX, "counting: a read, an addition, a write";
    meter = 1, CYCLES_MAX, "a meter of the architecture: a block of its own in hardware";
    alu_bits = 64, 4096, "width of an operation; wider ones take as many cycles as they have such parts";
}

/// A table of costs that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CostError {
    Line { line: usize, text: String },
    Name { line: usize, name: String },
    TooMuch { line: usize, name: String, max: u32 },
    NoWidth { line: usize },
}

impl fmt::Display for CostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CostError::Line { line, text } => {
                write!(f, "line {line}: expected a name and a number, as `multiply = 3`, found `{text}`")
            }
            CostError::Name { line, name } => {
                let names: Vec<&str> = ROWS.iter().map(|(name, _)| *name).collect();
                write!(f, "line {line}: `{name}` is no operation; expected one of {}", names.join(", "))
            }
            CostError::TooMuch { line, name, max } => {
                write!(f, "line {line}: {name}: expected at most {max}")
            }
            CostError::NoWidth { line } => write!(f, "line {line}: alu_bits: expected at least 1"),
        }
    }
}

impl std::error::Error for CostError {}

impl Costs {
    /// Reads lines as `multiply = 3`; `#` begins a comment. What is not mentioned keeps its default.
    pub fn parse(text: &str) -> Result<Costs, CostError> {
        let mut costs = Costs::default();
        for (i, line) in text.lines().enumerate() {
            let content = line.split('#').next().unwrap_or("").trim();
            if content.is_empty() {
                continue;
            }
            let line = i + 1;
            let wrong = || CostError::Line { line, text: content.chars().take(60).collect() };
            let (name, value) = content.split_once('=').ok_or_else(wrong)?;
            let (name, value) = (name.trim(), value.trim().parse().map_err(|_| wrong())?);
            if name == "alu_bits" && value == 0 {
                return Err(CostError::NoWidth { line });
            }
            costs.set(name, value).map_err(|max| match max {
                Some(max) => CostError::TooMuch { line, name: name.to_string(), max },
                None => CostError::Name { line, name: name.chars().take(60).collect() },
            })?;
        }
        Ok(costs)
    }

    /// The table as [`Costs::parse`] reads it, with what each row means.
    pub fn text(&self) -> String {
        let mut text = String::from("# Cycles of operations between a read and a write of state.\n");
        for (name, why) in ROWS {
            let _ = writeln!(text, "{:22} # {why}", format!("{name} = {}", self.get(name)));
        }
        text
    }

    /// Returns the cycles of an operation on values of this width.
    pub(crate) fn of_width(&self, cycles: u32, width_bits: u32) -> u32 {
        cycles.saturating_mul(width_bits.div_ceil(self.alu_bits.max(1)).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_as_it_is_shown() {
        let costs = Costs { multiply: 7, alu_bits: 32, ..Costs::default() };
        assert_eq!(Costs::parse(&costs.text()), Ok(costs));
        assert_eq!(Costs::parse("# nothing\n\n multiply=7 # slow\nalu_bits = 32"), Ok(costs));
    }

    #[test]
    fn wrong_tables_are_refused() {
        let message = |text| Costs::parse(text).unwrap_err().to_string();
        assert!(
            message("add = 1\nmultply = 3").starts_with("line 2: `multply` is no operation; expected one of")
        );
        assert!(message("add 1").starts_with("line 1: expected a name and a number"));
        assert!(message("add = -1").starts_with("line 1: expected a name and a number"));
        assert_eq!(message("add = 1001"), "line 1: add: expected at most 1000");
        assert_eq!(message("alu_bits = 0"), "line 1: alu_bits: expected at least 1");
    }

    #[test]
    fn wide_operations_take_longer() {
        let costs = Costs { alu_bits: 32, ..Costs::default() };
        assert_eq!([8, 32, 33, 128].map(|width| costs.of_width(1, width)), [1, 1, 2, 4]);
    }
}
