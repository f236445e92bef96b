//! From a program to the nodes and edges that are placed.
//!
//! Ingress and egress blocks share the stages and have no edges between them. Each becomes tables, conditions, statements outside
//! of tables, and the memories that these use; parsers and deparsers have hardware of their own. An edge follows from what two nodes
//! read and write on one path, or from a result that decides whether a node runs.

mod effects;
mod flow;
mod graph;
mod inputs;
mod memory;
mod tables;

use super::chip::Chip;
use super::packing::{NoLayout, PackOptions};
use super::placement::Problem;
use arch::BlockRole;
use diagnostics::Span;
use ir::{BlockId, ObjectId, Program, TableId};
use std::collections::BTreeMap;
use std::fmt;

/// Choices that the program does not make.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Entries by name of the table, in place of the program's sizes. A name may lack its first parts.
    pub entries: BTreeMap<String, u64>,
    pub pack: PackOptions,
}

/// A program as nodes.
#[derive(Clone, Debug)]
pub struct Design {
    pub problem: Problem,
    /// A description of each node, in the order of `problem.nodes`.
    pub nodes: Vec<Described>,
    /// The blocks that are placed, by name.
    pub blocks: Vec<String>,
    /// Tables that no memory of the chip can hold, with the reason.
    pub impossible: Vec<(String, u64, NoLayout)>,
    /// Memories that the chip cannot have, as sentences.
    pub refused: Vec<String>,
    /// Nodes each of which would have to come after the others.
    pub circles: Vec<Circle>,
    /// Simplifications that concern this program.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circle {
    pub names: Vec<String>,
    pub kind: CircleKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CircleKind {
    /// The program's code has a loop.
    Loop,
    /// A table is applied, and then applied again.
    Twice,
    /// A memory is used, and used again after results that depend on it.
    Memory,
}

impl Circle {
    /// The fault as a sentence.
    pub fn text(&self) -> String {
        let mut names: Vec<String> = self.names.iter().map(|name| format!("`{name}`")).collect();
        names.dedup();
        let names = names.join(", ");
        match self.kind {
            CircleKind::Loop => format!("{names}: a loop, and a packet passes each stage once"),
            CircleKind::Twice => {
                format!("{names} is applied more than once on a path, and a packet passes each stage once")
            }
            CircleKind::Memory => {
                format!("{names} depend on each other: each would need a stage behind the others")
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    pub kind: NodeKind,
    /// Position in [`Design::blocks`].
    pub block: usize,
    /// The table, if it is one.
    pub table: Option<TableFacts>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    Table,
    Condition,
    Statements,
    /// A counter, meter or register that is indexed, or an action profile.
    Memory,
}

impl NodeKind {
    pub fn name(self) -> &'static str {
        match self {
            NodeKind::Table => "table",
            NodeKind::Condition => "condition",
            NodeKind::Statements => "statements",
            NodeKind::Memory => "memory",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableFacts {
    pub n_entries: u64,
    pub source: SizeSource,
    pub key_bits: u64,
    pub data_bits: u64,
    pub n_actions: u64,
}

/// The origin of a table's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeSource {
    Option,
    Program,
    /// The program's entries; it names no size.
    Entries,
    Assumed,
}

impl SizeSource {
    pub fn name(self) -> &'static str {
        match self {
            SizeSource::Option => "option",
            SizeSource::Program => "program",
            SizeSource::Entries => "entries",
            SizeSource::Assumed => "assumed",
        }
    }
}

/// Entries of tables that name no size.
pub const N_ENTRIES_ASSUMED: u64 = 1_024;

/// A program or options that make no problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DesignError {
    NoTable {
        name: String,
        closest: Option<String>,
        /// Those that it has.
        tables: Vec<String>,
    },
    /// A name that several tables end with.
    Ambiguous {
        name: String,
        tables: Vec<String>,
    },
    ZeroEntries {
        table: String,
    },
    ZeroSize {
        object: String,
    },
    TooLarge,
    NoBlocks,
}

impl fmt::Display for DesignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DesignError::NoTable { name, closest, tables } => {
                write!(f, "the program has no table `{name}` in its ingress and egress")?;
                match (closest, tables.as_slice()) {
                    (Some(closest), _) => write!(f, "; did you mean `{closest}`?"),
                    (None, []) => write!(f, ", which have none"),
                    (None, some) => write!(f, "; they have {}", some.join(", ")),
                }
            }
            DesignError::Ambiguous { name, tables } => {
                write!(f, "`{name}` could be any of {}; give the whole name", tables.join(", "))
            }
            DesignError::ZeroEntries { table } => {
                write!(f, "table `{table}` has room for 0 entries; a table with a key has at least 1")
            }
            DesignError::ZeroSize { object } => write!(f, "`{object}` has size 0"),
            DesignError::TooLarge => f.write_str("the program is too large to be analysed"),
            DesignError::NoBlocks => f.write_str("the program has no ingress and no egress"),
        }
    }
}

impl std::error::Error for DesignError {}

/// Everything that is known while the design is made.
struct Making<'a> {
    program: &'a Program,
    chip: &'a Chip,
    options: &'a Options,
    entries: BTreeMap<usize, u64>,
    line: &'a dyn Fn(Span) -> Option<u32>,
    design: Design,
    /// Nodes of memories that several nodes may use.
    memories: BTreeMap<usize, usize>,
}

/// Makes the design of a program whose passes have been run. `line` gives the source line of a span, for names.
pub fn design(
    program: &Program,
    chip: &Chip,
    options: &Options,
    line: &dyn Fn(Span) -> Option<u32>,
) -> Result<Design, DesignError> {
    let is_placed = |role: BlockRole| matches!(role, BlockRole::Ingress | BlockRole::Egress);
    let mut blocks: Vec<BlockId> = Vec::new();
    for (role, block) in &program.pipeline {
        if is_placed(*role) && !blocks.contains(block) {
            blocks.push(*block);
        }
    }
    if blocks.is_empty() {
        return Err(DesignError::NoBlocks);
    }
    let entries = tables::named(program, &blocks, &options.entries)?;
    let problem = Problem { capacity: chip.capacity(), n_stages: chip.stages, ..Problem::default() };
    let design = Design {
        problem,
        nodes: Vec::new(),
        blocks: blocks.iter().map(|block| program.blocks[*block].name.to_string()).collect(),
        impossible: Vec::new(),
        refused: Vec::new(),
        circles: Vec::new(),
        notes: Vec::new(),
    };
    let memories = BTreeMap::new();
    let mut making = Making { program, chip, options, entries, line, design, memories };
    for (i, block) in blocks.iter().enumerate() {
        flow::add(&mut making, i, *block)?;
    }
    let mut design = making.design;
    graph::merge_circles(&mut design);
    design.notes.sort();
    design.notes.dedup();
    Ok(design)
}

impl Making<'_> {
    fn note(&mut self, text: String) {
        self.design.notes.push(text);
    }

    fn table_name(&self, table: TableId) -> String {
        self.program.tables[table].name.to_string()
    }

    fn object_name(&self, object: ObjectId) -> String {
        self.program.objects[object].name.to_string()
    }
}
