//! Labels: names made unique, and names as text.

use crate::Program;
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

/// Words that begin something where a variable could stand, too.
const RESERVED: &[&str] = &[
    "accept",
    "advance",
    "apply",
    "array",
    "bit",
    "bool",
    "call",
    "cast",
    "emit",
    "enum",
    "error",
    "exit",
    "extern",
    "extract",
    "false",
    "goto",
    "if",
    "int",
    "lookahead",
    "next",
    "ref",
    "reject",
    "return",
    "select",
    "stack",
    "struct",
    "switch",
    "true",
    "value_set",
    "varbit",
    "zero_if_invalid",
    "_",
];

/// A name as text: as it is when it is a plain word (or, with `dots`, words joined by dots), between backticks
/// otherwise.
pub(super) fn spelled(name: &str, dots: Dots) -> String {
    let plain = |word: &str| !word.is_empty() && word.chars().all(is_word_char);
    let is_plain = match dots {
        Dots::No => plain(name) && !RESERVED.contains(&name),
        Dots::Yes => name.split('.').all(plain),
    };
    let starts_like_a_constant = name.starts_with(|c: char| c.is_ascii_digit());
    if is_plain && !(starts_like_a_constant && dots == Dots::No) && name != "$packet_length" {
        return name.to_string();
    }
    let mut out = String::from("`");
    escape(name, '`', &mut out);
    out.push('`');
    out
}

/// The name of a field, which stands after a dot.
pub(super) fn spelled_field(name: &str) -> String {
    let plain = !name.is_empty() && !name.starts_with('$') && name.chars().all(is_word_char);
    if plain {
        return name.to_string();
    }
    let mut out = String::from("`");
    escape(name, '`', &mut out);
    out.push('`');
    out
}

pub(super) fn string(text: &str) -> String {
    let mut out = String::from("\"");
    escape(text, '"', &mut out);
    out.push('"');
    out
}

fn escape(text: &str, quote: char, out: &mut String) {
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => out.push(c),
        }
    }
}

pub(super) fn is_word_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$'
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Dots {
    Yes,
    No,
}

/// Makes labels from names: the second of one name gets `#1`.
#[derive(Default)]
pub(super) struct Labeller {
    seen: FxHashMap<SmolStr, u32>,
}

impl Labeller {
    /// The suffix that distinguishes this occurrence of the name: empty or `#N`.
    pub(super) fn suffix(&mut self, name: &str) -> String {
        let n = self.seen.entry(SmolStr::new(name)).or_insert(0);
        let suffix = if *n == 0 { String::new() } else { format!("#{n}") };
        *n += 1;
        suffix
    }

    pub(super) fn label(&mut self, name: &str, dots: Dots) -> String {
        let suffix = self.suffix(name);
        spelled(name, dots) + &suffix
    }
}

/// Labels of everything in a program, by position in the arenas.
#[derive(Default)]
pub(super) struct Labels {
    pub(super) structs: Vec<String>,
    pub(super) enums: Vec<String>,
    pub(super) variables: Vec<String>,
    pub(super) blocks: Vec<String>,
    pub(super) procedures: Vec<String>,
    pub(super) tables: Vec<String>,
    pub(super) value_sets: Vec<String>,
    pub(super) objects: Vec<String>,
}

impl Labels {
    pub(super) fn new(program: &Program) -> Labels {
        fn labels<'a>(names: impl Iterator<Item = &'a SmolStr>, from: Labeller, dots: Dots) -> Vec<String> {
            let mut labeller = from;
            names.map(|name| labeller.label(name, dots)).collect()
        }
        // Members of enums look like fields of variables, and enums like structs among types.
        let with_enums = || {
            let mut labeller = Labeller::default();
            program.enums.iter().for_each(|(_, e)| drop(labeller.suffix(&e.name)));
            labeller
        };
        let new = Labeller::default;
        Labels {
            enums: labels(program.enums.iter().map(|(_, x)| &x.name), new(), Dots::No),
            structs: labels(program.structs.iter().map(|(_, x)| &x.name), with_enums(), Dots::No),
            variables: labels(program.variables.iter().map(|(_, x)| &x.name), with_enums(), Dots::No),
            blocks: labels(program.blocks.iter().map(|(_, x)| &x.name), new(), Dots::Yes),
            procedures: labels(program.procedures.iter().map(|(_, x)| &x.name), new(), Dots::Yes),
            tables: labels(program.tables.iter().map(|(_, x)| &x.name), new(), Dots::Yes),
            value_sets: labels(program.value_sets.iter().map(|(_, x)| &x.name), new(), Dots::Yes),
            objects: labels(program.objects.iter().map(|(_, x)| &x.name), new(), Dots::Yes),
        }
    }
}
