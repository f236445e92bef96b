//! Checks every invariant of the IR; the documentation of the crate lists them.
//!
//! Invariants: never panics, for any program; a program without violations can be executed, laid out and
//! compiled without asking again whether an id exists or a type fits.

mod code;
mod declarations;
mod exprs;

pub use declarations::CORE_ERRORS;

use crate::text::Printer;
use crate::{BlockId, Graph, Procedure, Program};

/// A violation of the rules of the IR, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// `block MyIngress`, `procedure MyIngress.forward`, `table t`, ...
    pub owner: String,
    /// Number of the node in the owner's graph.
    pub node: Option<u32>,
    /// The statement, terminator or declaration.
    pub text: Option<String>,
    pub message: String,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.owner)?;
        if let Some(node) = self.node {
            write!(f, ", n{node}")?;
        }
        if let Some(text) = &self.text {
            write!(f, ", `{text}`")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// Number of violations that are collected at most.
const N_VIOLATIONS_MAX: usize = 1000;

/// Finds the violations, in the order of the text form. Their number is limited to some hundreds.
pub fn validate(program: &Program) -> Result<(), Vec<Violation>> {
    let mut validator = Validator {
        program,
        printer: Printer::new(program),
        violations: Vec::new(),
        owner: "program".to_string(),
        node: None,
        text: None,
    };
    validator.program();
    if validator.violations.is_empty() { Ok(()) } else { Err(validator.violations) }
}

struct Validator<'p> {
    program: &'p Program,
    printer: Printer<'p>,
    violations: Vec<Violation>,
    owner: String,
    node: Option<u32>,
    text: Option<String>,
}

/// The graph that is being checked.
#[derive(Clone, Copy)]
enum Code<'p> {
    Block(BlockId),
    Procedure(&'p Procedure),
}

impl Code<'_> {
    /// The block whose variables and tables it may use.
    fn block(self) -> BlockId {
        match self {
            Code::Block(id) => id,
            Code::Procedure(procedure) => procedure.block,
        }
    }
}

impl<'p> Validator<'p> {
    fn report(&mut self, message: impl Into<String>) {
        if self.violations.len() < N_VIOLATIONS_MAX {
            self.violations.push(Violation {
                owner: self.owner.clone(),
                node: self.node,
                text: self.text.clone(),
                message: message.into(),
            });
        }
    }

    fn require(&mut self, holds: bool, message: &str) {
        if !holds {
            self.report(message);
        }
    }

    fn program(&mut self) {
        let program = self.program;
        if !self.types() {
            // Everything else looks into types.
            return;
        }
        self.roles();
        for (id, variable) in program.variables.iter() {
            self.owner = format!("variable {}", self.printer.variable(id));
            self.variable(id, variable);
        }
        for (id, object) in program.objects.iter() {
            self.owner = format!("object {}", self.printer.object(id));
            self.object(object);
        }
        for (id, set) in program.value_sets.iter() {
            self.owner = format!("value set {}", self.printer.value_set(id));
            self.value_set(set);
        }
        for (id, procedure) in program.procedures.iter() {
            self.owner = format!("procedure {}", self.printer.procedure(id));
            self.procedure(id, procedure);
            self.graph(&procedure.graph, Code::Procedure(procedure));
        }
        for (id, table) in program.tables.iter() {
            self.owner = format!("table {}", self.printer.table(id));
            self.table(table);
        }
        for (id, block) in program.blocks.iter() {
            self.owner = format!("block {}", self.printer.block(id));
            self.block(id, block);
            self.graph(&block.graph, Code::Block(id));
        }
        self.recursion();
    }

    fn graph(&mut self, graph: &'p Graph, code: Code<'p>) {
        let exists = crate::lookup::get(&graph.nodes, graph.entry).is_some();
        self.require(exists, "its entry does not exist");
        for (id, node) in graph.nodes.iter() {
            self.node = Some(u32::from(id.into_raw()));
            for stmt in &node.stmts {
                let n = self.violations.len();
                self.stmt(stmt, code);
                self.name_text(n, |printer| vec![printer.stmt(stmt)]);
            }
            let n = self.violations.len();
            self.terminator(&node.terminator, graph, code);
            self.name_text(n, |printer| printer.terminator(&node.terminator));
        }
        self.node = None;
    }

    /// Adds the text to the violations since `first`: printing it for all code would take long.
    fn name_text(&mut self, first: usize, text: impl Fn(&Printer<'p>) -> Vec<String>) {
        if self.violations.len() > first {
            let lines = text(&self.printer);
            let text: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
            let text = text.join(" ");
            for violation in &mut self.violations[first..] {
                violation.text = Some(text.clone());
            }
        }
    }
}
