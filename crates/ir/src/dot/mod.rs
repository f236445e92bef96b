//! Pictures of programs: the state graphs of parsers, the control flow of controls, what depends on what among
//! tables. As DOT text, or drawn as SVG.
//!
//! Invariants: the same program gives the same text; names and expressions are those of the program where
//! [`Source`] finds their text, otherwise those of the IR.
//!
//! Start reading at [`Picture`].

mod control_flow;
mod parser_states;
mod source;
mod svg;
mod tables;

pub use control_flow::control_flow;
pub use parser_states::parser_states;
pub use source::Source;
pub use tables::{Dependency, TableDependency, table_dependencies, table_graph};

use std::fmt::Write as _;

/// A directed graph to look at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picture {
    pub title: String,
    pub boxes: Vec<Box>,
    pub arrows: Vec<Arrow>,
    /// Explains the kinds of arrows and their words, a sentence for each line.
    pub legend: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Box {
    pub shape: Shape,
    pub lines: Vec<String>,
    /// Text that a viewer shows when the pointer rests on the box.
    pub tooltip: Vec<String>,
    /// The place in the program that the box stands for.
    pub link: Option<Link>,
}

/// A line of a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub file: String,
    /// From 1.
    pub line: u32,
}

impl Box {
    pub fn new(shape: Shape, lines: Vec<String>) -> Box {
        Box { shape, lines, tooltip: Vec::new(), link: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The beginning or the end of a graph.
    Terminal,
    State,
    Table,
    Condition,
    Statements,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrow {
    /// Positions of boxes.
    pub from: usize,
    pub to: usize,
    pub lines: Vec<String>,
    pub style: Style,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Solid,
    Dashed,
}

impl Picture {
    fn add(&mut self, shape: Shape, lines: Vec<String>) -> usize {
        self.boxes.push(Box::new(shape, lines));
        self.boxes.len() - 1
    }

    /// Adds what a viewer shows of a box, and where the box leads to.
    fn explain(&mut self, position: usize, tooltip: Vec<String>, link: Option<Link>) {
        if let Some(b) = self.boxes.get_mut(position) {
            b.tooltip.extend(tooltip);
            b.link = b.link.take().or(link);
        }
    }

    /// A second arrow between two boxes adds its text to the first.
    fn connect(&mut self, from: usize, to: usize, lines: Vec<String>) {
        match self.arrows.iter_mut().find(|arrow| arrow.from == from && arrow.to == to) {
            Some(arrow) => {
                arrow.lines.extend(lines);
            }
            None => self.arrows.push(Arrow { from, to, lines, style: Style::Solid }),
        }
    }

    /// The picture in the language of Graphviz.
    pub fn to_dot(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "digraph {} {{", quoted(std::slice::from_ref(&self.title), ""));
        out.push_str("    node [fontname=\"monospace\", fontsize=11];\n");
        out.push_str("    edge [fontname=\"monospace\", fontsize=10];\n");
        let caption: Vec<String> = std::iter::once(&self.title).chain(&self.legend).cloned().collect();
        let _ = writeln!(
            out,
            "    label={}; labelloc=t; fontname=\"monospace\"; fontsize=11;",
            quoted(&caption, "\\l")
        );
        for (i, b) in self.boxes.iter().enumerate() {
            let (shape, end) = match b.shape {
                Shape::Terminal => ("oval", ""),
                Shape::State => ("box, style=rounded", ""),
                Shape::Table => ("box, penwidth=2", ""),
                Shape::Condition => ("diamond", ""),
                Shape::Statements => ("box", "\\l"),
            };
            let _ = writeln!(out, "    b{i} [label={}, shape={shape}];", quoted(&b.lines, end));
        }
        for arrow in &self.arrows {
            let mut attributes = Vec::new();
            if !arrow.lines.is_empty() {
                attributes.push(format!("label={}", quoted(&arrow.lines, "")));
            }
            if arrow.style == Style::Dashed {
                attributes.push("style=dashed".to_string());
            }
            let attributes = match attributes.is_empty() {
                true => String::new(),
                false => format!(" [{}]", attributes.join(", ")),
            };
            let _ = writeln!(out, "    b{} -> b{}{attributes};", arrow.from, arrow.to);
        }
        out.push_str("}\n");
        out
    }

    /// Drawn; `None` when it is too large for that to be of use.
    pub fn to_svg(&self) -> Option<String> {
        svg::draw(self)
    }
}

/// Lines as a quoted string; each ends in `end`, or they are separated by line breaks when it is empty.
fn quoted(lines: &[String], end: &str) -> String {
    let escape = |line: &String| line.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " ");
    let lines: Vec<String> = lines.iter().map(escape).collect();
    match end {
        "" => format!("\"{}\"", lines.join("\\n")),
        end => format!("\"{}{end}\"", lines.join(end)),
    }
}

/// Longer lines are cut; tooltips show all of them.
const N_COLUMNS_MAX: usize = 90;

/// Cuts to `n` lines, and adds a line with the number of missing ones.
fn shortened(mut lines: Vec<String>, n: usize) -> Vec<String> {
    if lines.len() > n {
        let missing = lines.len() - n;
        lines.truncate(n);
        lines.push(format!("... {missing} more"));
    }
    lines.iter_mut().for_each(|line| {
        if let Some((end, _)) = line.char_indices().nth(N_COLUMNS_MAX) {
            line.truncate(end);
            line.push_str("...");
        }
    });
    lines
}
