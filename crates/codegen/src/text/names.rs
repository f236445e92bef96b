//! Names in C: those of P4 wherever C allows.

use ir::lookup::index;
use ir::{BlockId, ObjectId, ProcedureId, Program, TableId};
use std::collections::{HashMap, HashSet};

/// Words of C, of its headers, and macros that compilers define.
const WORDS: &[&str] = &[
    "alignas",
    "alignof",
    "asm",
    "auto",
    "bool",
    "break",
    "case",
    "char",
    "const",
    "constexpr",
    "continue",
    "default",
    "do",
    "double",
    "else",
    "enum",
    "extern",
    "false",
    "float",
    "for",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "nullptr",
    "register",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "struct",
    "switch",
    "thread_local",
    "true",
    "typedef",
    "typeof",
    "typeof_unqual",
    "union",
    "unsigned",
    "void",
    "volatile",
    "while",
    "errno",
    "i386",
    "linux",
    "offsetof",
    "stderr",
    "stdin",
    "stdout",
    "unix",
];

/// Names inside functions of the generated code, and functions of C that it calls: a variable of the same name would
/// hide them.
const IN_FUNCTIONS: &[&str] = &[
    "abort",
    "at",
    "b",
    "c",
    "call",
    "context",
    "copy",
    "d",
    "data",
    "end",
    "exit",
    "found",
    "free",
    "h",
    "here",
    "i",
    "key",
    "l",
    "locals",
    "main",
    "malloc",
    "memcmp",
    "memcpy",
    "memmove",
    "memset",
    "next",
    "p",
    "s",
    "state",
    "suspended",
    "w",
];

/// The name of a member of a struct. Names without lower-case letters may be macros.
pub(crate) fn member(name: &str) -> String {
    let mut out: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if out.is_empty() || out.starts_with(|c: char| c.is_ascii_digit()) {
        out.insert(0, '_');
    }
    let is_macro = out.len() > 1
        && !out.contains(|c: char| c.is_ascii_lowercase())
        && out.contains(|c: char| c.is_ascii_uppercase());
    let is_ours = ["sd_", "SD_", "p4_", "P4_", "p4x_", "P4X_"].iter().any(|prefix| out.starts_with(prefix));
    let is_c = out
        .strip_prefix('_')
        .is_some_and(|rest| rest.starts_with(|c: char| c == '_' || c.is_ascii_uppercase()))
        || is_type_of_c(&out)
        || WORDS.contains(&out.as_str());
    if is_macro || is_ours || is_c {
        out.push('_');
    }
    out
}

/// The name of a variable or a parameter of a function.
pub(crate) fn variable(name: &str) -> String {
    let mut out = member(name);
    let is_temporary =
        out.strip_prefix('t').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    if is_temporary || IN_FUNCTIONS.contains(&out.as_str()) {
        out.push('_');
    }
    out
}

/// `uint8_t`, `size_t` and the like.
fn is_type_of_c(name: &str) -> bool {
    let Some(stem) = name.strip_suffix("_t") else { return false };
    let number = stem.trim_start_matches('u').strip_prefix("int").unwrap_or("none");
    matches!(stem, "size" | "ssize" | "ptrdiff" | "wchar" | "intptr" | "uintptr" | "intmax" | "uintmax")
        || (!number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// `MyIngress.ipv4_lpm` as part of a longer name: `MyIngress__ipv4_lpm`.
pub(crate) fn path(name: &str) -> String {
    let parts: Vec<String> = name
        .split('.')
        .filter(|part| !part.is_empty())
        .map(|part| {
            part.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect()
        })
        .collect();
    parts.join("__")
}

/// Gives each name once.
#[derive(Debug, Default)]
pub(crate) struct Unique(HashSet<String>);

impl Unique {
    pub(crate) fn take(&mut self, name: String) -> String {
        if self.0.insert(name.clone()) {
            return name;
        }
        let mut n = 2u32;
        loop {
            let numbered = format!("{name}_{n}");
            if self.0.insert(numbered.clone()) {
                return numbered;
            }
            n += 1;
        }
    }
}

/// The kind of a declaration that has a name at file scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Block,
    Procedure,
    Table,
    Struct,
}

impl Kind {
    /// The names that the generator forms from one of this kind: `p4_Router__routes__key`. Those that end in `_` have
    /// a number behind them.
    fn derived(self) -> &'static [&'static str] {
        match self {
            Kind::Block => &["start", "stage", "after_", "locals"],
            Kind::Procedure => &["data"],
            Kind::Table => &["key", "apply", "run", "keys", "actions", "data_"],
            Kind::Struct => &["check", "load", "store", "emit", "stack_", "array_"],
        }
    }

    /// Whether `tail`, behind a name of this kind and `__`, makes a name that the generator may form.
    fn derives(self, tail: &str) -> bool {
        self.derived().iter().any(|word| {
            let Some(rest) = tail.strip_prefix(word) else { return false };
            let rest = match word.ends_with('_') {
                true => rest.trim_start_matches(|c: char| c.is_ascii_digit()),
                false => rest,
            };
            rest.is_empty() || rest.starts_with("__")
        })
    }
}

/// The names at file scope that come from the P4 program. They begin with `p4_`; what belongs to the generator begins
/// with `p4x_`, so that no P4 program can name it.
#[derive(Default)]
struct FileScope(HashMap<String, Kind>);

impl FileScope {
    /// Gives `name`, with a number where the name, or one derived from it, could be another's.
    fn take(&mut self, name: String, kind: Kind) -> String {
        let mut candidate = name.clone();
        let mut n = 2u32;
        while !self.is_free(&candidate) {
            candidate = format!("{name}_{n}");
            n += 1;
        }
        self.0.insert(candidate.clone(), kind);
        candidate
    }

    fn is_free(&self, name: &str) -> bool {
        let is_derived = |(at, _): (usize, char)| {
            name[at..]
                .strip_prefix("__")
                .is_some_and(|tail| self.0.get(&name[..at]).is_some_and(|kind| kind.derives(tail)))
        };
        !self.0.contains_key(name) && !name.char_indices().any(is_derived)
    }
}

/// C names of what a program declares at file scope.
#[derive(Debug)]
pub(crate) struct Names {
    blocks: Vec<String>,
    procedures: Vec<String>,
    tables: Vec<String>,
    structs: Vec<String>,
    objects: Vec<String>,
    /// Enumerators of the actions of each table.
    actions: Vec<Vec<String>>,
    /// Enumerators of the program's errors.
    errors: Vec<String>,
}

impl Names {
    pub(crate) fn new(program: &Program) -> Names {
        let mut wanted: Vec<(Kind, String)> = Vec::new();
        let full = |name: &str| format!("p4_{}", path(name));
        wanted.extend(program.blocks.iter().map(|(_, b)| (Kind::Block, full(&b.name))));
        wanted.extend(program.procedures.iter().map(|(_, p)| (Kind::Procedure, full(&p.name))));
        wanted.extend(program.tables.iter().map(|(_, t)| (Kind::Table, full(&t.name))));
        // Tuples and instances of generic types have long names that C does not know.
        let short = |name: &str| format!("p4_{}", path(name).chars().take(60).collect::<String>());
        wanted.extend(program.structs.iter().map(|(_, s)| (Kind::Struct, short(&s.name))));
        // Short names first: what is derived from a name is longer than the name.
        let mut order: Vec<usize> = (0..wanted.len()).collect();
        order.sort_by_key(|i| wanted[*i].1.len());
        let mut scope = FileScope::default();
        let mut names = vec![String::new(); wanted.len()];
        for i in order {
            names[i] = scope.take(wanted[i].1.clone(), wanted[i].0);
        }
        let of = |kind: Kind| {
            let all = wanted.iter().zip(&names).filter(move |((k, _), _)| *k == kind);
            all.map(|(_, name)| name.clone()).collect()
        };
        let tables: Vec<String> = of(Kind::Table);
        // Enumerators, which have a prefix for each kind: only those of one kind could be the same.
        let mut unique = Unique::default();
        let objects = program.objects.iter().map(|(_, o)| format!("P4_OBJECT_{}", path(&o.name)));
        let objects = objects.map(|name| unique.take(name)).collect();
        let actions = program.tables.iter().zip(&tables).map(|((_, table), name)| {
            let own = table.actions.iter().map(|action| {
                let last = action.name.rsplit('.').next().unwrap_or_default();
                format!("P4_ACTION_{}__{}", bare(name), path(last))
            });
            own.map(|name| unique.take(name)).collect()
        });
        let actions = actions.collect();
        let errors =
            program.errors.iter().map(|error| unique.take(format!("P4_ERROR_{}", path(error)))).collect();
        Names {
            objects,
            actions,
            errors,
            blocks: of(Kind::Block),
            procedures: of(Kind::Procedure),
            tables,
            structs: of(Kind::Struct),
        }
    }

    pub(crate) fn block(&self, id: BlockId) -> &str {
        &self.blocks[index(id)]
    }

    pub(crate) fn procedure(&self, id: ProcedureId) -> &str {
        &self.procedures[index(id)]
    }

    pub(crate) fn table(&self, id: TableId) -> &str {
        &self.tables[index(id)]
    }

    /// The enumerator that is the number of a table.
    pub(crate) fn table_number(&self, id: TableId) -> String {
        format!("P4_TABLE_{}", bare(self.table(id)))
    }

    /// The enumerator that is the number of an object.
    pub(crate) fn object_number(&self, id: ObjectId) -> &str {
        &self.objects[index(id)]
    }

    /// The enumerators that are the numbers of a table's actions.
    pub(crate) fn actions(&self, id: TableId) -> &[String] {
        &self.actions[index(id)]
    }

    pub(crate) fn errors(&self) -> &[String] {
        &self.errors
    }

    /// Names of all structs, in the order of the program.
    pub(crate) fn structs(&self) -> &[String] {
        &self.structs
    }
}

/// Without `p4_`.
fn bare(name: &str) -> &str {
    name.strip_prefix("p4_").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_the_generator_derives_are_not_given_away() {
        let mut scope = FileScope::default();
        assert_eq!(scope.take("p4_c__t".into(), Kind::Table), "p4_c__t");
        assert_eq!(scope.take("p4_c__t__run".into(), Kind::Procedure), "p4_c__t__run_2");
        assert_eq!(scope.take("p4_c__t__data_0".into(), Kind::Procedure), "p4_c__t__data_0_2");
        assert_eq!(scope.take("p4_c__t__runs".into(), Kind::Procedure), "p4_c__t__runs");
        assert_eq!(scope.take("p4_c__t".into(), Kind::Struct), "p4_c__t_2");
        assert_eq!(scope.take("p4_c___t".into(), Kind::Struct), "p4_c___t");
    }

    #[test]
    fn words_of_c_get_an_underscore() {
        for (name, expected) in [
            ("int", "int_"),
            ("errno", "errno_"),
            ("uint8_t", "uint8_t_"),
            ("_Bool", "_Bool_"),
            ("NULL", "NULL_"),
            ("p4x_process", "p4x_process_"),
            ("P4_TABLE_a", "P4_TABLE_a_"),
            ("t1", "t1"),
            ("w", "w"),
        ] {
            assert_eq!(member(name), expected);
        }
        for name in ["t1", "w", "c", "memcpy", "int"] {
            assert_eq!(variable(name), format!("{name}_"));
        }
        assert_eq!(variable("ttl"), "ttl");
    }
}
