//! The state graph of a parser.

use super::{Picture, Shape, shortened};
use crate::lookup::{get, index};
use crate::passes::inline_procedures;
use crate::text::Printer;
use crate::{BlockId, Expr, ExprKind, Graph, Keyset, Node, NodeId, Pattern, Program, TerminatorKind};
use rustc_hash::FxHashMap;

/// States with what they extract, and transitions with the values that they select. Sub-parsers are part of the
/// parser that calls them. That a packet may be too short anywhere is not shown.
pub fn parser_states(program: &Program, parser: BlockId) -> Picture {
    let mut program = program.clone();
    inline_procedures(&mut program, &|program, id| {
        get(&program.procedures, id).is_some_and(|procedure| procedure.block == parser)
    });
    let printer = Printer::new(&program);
    let mut picture = Picture { title: printer.block(parser), ..Picture::default() };
    let Some(graph) = get(&program.blocks, parser).map(|block| &block.graph) else { return picture };
    let mut states = States { graph, printer: &printer, of: FxHashMap::default(), ends: [None, None] };
    // States in the order of the program; the entry is one even without a name.
    let mut order: Vec<NodeId> = Vec::new();
    for (id, node) in graph.nodes.iter() {
        if node.state.is_some() || id == graph.entry {
            order.push(id);
        }
    }
    for id in &order {
        let name = graph.nodes[*id].state.as_ref().map_or("start".to_string(), |name| name.to_string());
        let position = picture.add(Shape::State, vec![name]);
        states.of.insert(*id, position);
    }
    for id in order {
        states.state(&mut picture, id);
    }
    picture
}

struct States<'a, 'p> {
    graph: &'a Graph,
    printer: &'a Printer<'p>,
    /// Boxes of states by their first nodes.
    of: FxHashMap<NodeId, usize>,
    /// Boxes of accept and reject.
    ends: [Option<usize>; 2],
}

impl States<'_, '_> {
    fn state(&mut self, picture: &mut Picture, first: NodeId) {
        let from = self.of[&first];
        let mut seen = vec![false; self.graph.nodes.len()];
        let mut lines = Vec::new();
        // The nodes of the state, with the text of the way to them.
        let mut stack: Vec<(NodeId, Vec<String>)> = vec![(first, Vec::new())];
        while let Some((id, way)) = stack.pop() {
            let Some(node) = get(&self.graph.nodes, id) else { continue };
            if std::mem::replace(&mut seen[index(id)], true) {
                continue;
            }
            lines.extend(self.reads(node));
            if let TerminatorKind::Accept | TerminatorKind::Reject = node.terminator.kind {
                let to = self.end(picture, node.terminator.kind == TerminatorKind::Reject);
                picture.connect(from, to, way);
                continue;
            }
            // The order is kept: the stack reverses it twice.
            let mut next = Vec::new();
            for (target, label) in self.transitions(node) {
                let mut way = way.clone();
                way.extend(label);
                match self.of.get(&target) {
                    Some(to) => picture.connect(from, *to, way),
                    None => next.push((target, way)),
                }
            }
            stack.extend(next.into_iter().rev());
        }
        picture.boxes[from].lines.extend(shortened(lines, 8));
    }

    fn end(&mut self, picture: &mut Picture, is_reject: bool) -> usize {
        let name = if is_reject { "reject" } else { "accept" };
        *self.ends[usize::from(is_reject)]
            .get_or_insert_with(|| picture.add(Shape::Terminal, vec![name.to_string()]))
    }

    /// The text for the headers and bits that a node takes from the packet.
    fn reads(&self, node: &Node) -> Option<String> {
        match &node.terminator.kind {
            TerminatorKind::Extract { place, to_next, .. } => {
                let next = if *to_next { "next of " } else { "" };
                Some(format!("extract {next}{}", self.printer.place(place)))
            }
            TerminatorKind::Advance { bits, .. } => Some(format!("advance {}", self.value(bits))),
            TerminatorKind::Lookahead { place, .. } => {
                Some(format!("lookahead {}", self.printer.place(place)))
            }
            _ => None,
        }
    }

    fn transitions(&self, node: &Node) -> Vec<(NodeId, Option<String>)> {
        match &node.terminator.kind {
            TerminatorKind::Goto(next) => vec![(*next, None)],
            TerminatorKind::Branch { condition, then, otherwise } => {
                let text = self.printer.expr(condition);
                vec![(*then, Some(text.clone())), (*otherwise, Some(format!("not ({text})")))]
            }
            TerminatorKind::Switch { subject, cases, otherwise } => {
                let case = |case: &crate::SwitchCase| {
                    (case.target, Some(self.printer.constant(&case.value, &subject.ty)))
                };
                let cases = cases.iter().map(case);
                cases.chain([(*otherwise, Some("default".to_string()))]).collect()
            }
            TerminatorKind::Select { keys: _, cases, otherwise } => {
                let case = |case: &crate::SelectCase| (case.target, Some(self.pattern(&case.pattern)));
                let cases = cases.iter().map(case);
                cases.chain([(*otherwise, Some("default".to_string()))]).collect()
            }
            TerminatorKind::Extract { then, .. }
            | TerminatorKind::Advance { then, .. }
            | TerminatorKind::Lookahead { then, .. }
            | TerminatorKind::Apply { then, .. }
            | TerminatorKind::Call { then, .. } => vec![(*then, None)],
            TerminatorKind::Return
            | TerminatorKind::Exit
            | TerminatorKind::Accept
            | TerminatorKind::Reject => Vec::new(),
        }
    }

    fn pattern(&self, pattern: &Pattern) -> String {
        match pattern {
            Pattern::ValueSet(id) => self.printer.value_set(*id),
            Pattern::Keys(sets) => {
                let texts: Vec<String> = sets.iter().map(|set| self.keyset(set)).collect();
                if texts.len() == 1 { texts.concat() } else { format!("({})", texts.join(", ")) }
            }
        }
    }

    fn keyset(&self, set: &Keyset) -> String {
        match set {
            Keyset::Any => "_".to_string(),
            Keyset::Value(e) => self.value(e),
            Keyset::Mask { value, mask } => format!("{} &&& {}", self.value(value), self.value(mask)),
            Keyset::Range { lo, hi } => format!("{} .. {}", self.value(lo), self.value(hi)),
            Keyset::ValueSet(id) => self.printer.value_set(*id),
        }
    }

    /// A value without its width, which does not matter here.
    fn value(&self, e: &Expr) -> String {
        match &e.kind {
            ExprKind::Const(value) if matches!(e.ty, crate::Type::Bit(_)) => format!("{value:#x}"),
            _ => self.printer.expr(e),
        }
    }
}
