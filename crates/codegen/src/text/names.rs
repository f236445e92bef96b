//! Names in C: those of P4 wherever C allows.

use ir::lookup::index;
use ir::{BlockId, ProcedureId, Program, TableId};
use std::collections::HashSet;

/// Words that mean something in C, and what the including code uses as names.
const RESERVED: &[&str] = &[
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum",
    "extern", "float", "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return",
    "short", "signed", "sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "void",
    "volatile", "while", "asm", "typeof", "bool", "true", "false", "linux", "unix", "i386", "memcpy",
    "memset", "memcmp", "memmove", "main", "w", "p", "s", "l", "d", "h", "at", "key", "found", "end", "data",
    "abort", "free", "malloc", "exit",
];

/// An identifier of C made of any name. Names without lower-case letters may be macros.
pub(crate) fn identifier(name: &str) -> String {
    let mut out: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if out.is_empty() || out.starts_with(|c: char| c.is_ascii_digit()) {
        out.insert(0, '_');
    }
    let is_macro = out.len() > 1
        && !out.contains(|c: char| c.is_ascii_lowercase())
        && out.contains(|c: char| c.is_ascii_uppercase());
    let is_ours = out.starts_with("sd_") || out.starts_with("p4_") || out.starts_with("__");
    let is_temporary =
        out.strip_prefix('t').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    if RESERVED.contains(&out.as_str()) || is_macro || is_ours || is_temporary {
        out.push('_');
    }
    out
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

/// C names of blocks, procedures and tables.
#[derive(Debug)]
pub(crate) struct Names {
    blocks: Vec<String>,
    procedures: Vec<String>,
    tables: Vec<String>,
}

impl Names {
    pub(crate) fn new(program: &Program) -> Names {
        let mut unique = Unique::default();
        for taken in [
            "p4_state",
            "p4_process",
            "p4_run_block",
            "p4_create",
            "p4_arrive",
            "p4_packet",
            "p4_fill",
            "p4_drop",
            "p4_stopped",
            "p4_deparse_in_place",
            "p4_headers_stay",
            "p4_store_headers",
            "p4_enter",
            "p4_enter_exception",
            "p4_exception",
            "p4_after_egress_exception",
            "p4_after_ingress",
            "p4_before_egress",
            "p4_after_egress",
            "p4_context",
            "p4_burst",
            "p4_process_bursts",
            "p4_resume",
            "p4_serve",
            "p4_wait",
            "p4_together",
            "p4_rests",
            "p4_bodies",
            "p4_asyncs",
            "p4_tables",
            "p4_objects",
            "p4_value_sets",
            "p4_fields",
            "p4_field_lists",
            "p4_calls",
            "p4_metadata",
        ] {
            unique.take(taken.to_string());
        }
        let mut name = |given: &str| unique.take(format!("p4_{}", path(given)));
        let blocks: Vec<String> = program.blocks.iter().map(|(_, b)| name(&b.name)).collect();
        let procedures = program.procedures.iter().map(|(_, p)| name(&p.name)).collect();
        let tables = program.tables.iter().map(|(_, t)| name(&t.name)).collect();
        Names { blocks, procedures, tables }
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
}
