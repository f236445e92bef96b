//! The state graph of a parser.

use super::source::{Cases, in_p4};
use super::{Picture, Shape, Source, shortened};
use crate::lookup::{get, index};
use crate::passes::inline_procedures;
use crate::text::Printer;
use crate::{BlockId, Expr, ExprKind, Graph, Keyset, Node, NodeId, Pattern, Program, TerminatorKind};
use rustc_hash::FxHashMap;

/// States with what they extract, and transitions with the values that they select. Sub-parsers are part of the
/// parser that calls them. That a packet may be too short anywhere is not shown.
pub fn parser_states(program: &Program, parser: BlockId, source: Source<'_>) -> Picture {
    let mut program = program.clone();
    inline_procedures(&mut program, &|program, id| {
        get(&program.procedures, id).is_some_and(|procedure| procedure.block == parser)
    });
    let printer = Printer::new(&program);
    let mut picture = Picture { title: format!("Parser {}", printer.block(parser)), ..Picture::default() };
    let Some(graph) = get(&program.blocks, parser).map(|block| &block.graph) else { return picture };
    let mut states =
        States { graph, printer: &printer, source, of: FxHashMap::default(), ends: [None, None] };
    // States in the order of the program. The entry is one even without a name, unless it only leads to one.
    let entry_leads_to_state = match get(&graph.nodes, graph.entry).map(|node| &node.terminator.kind) {
        Some(TerminatorKind::Goto(next)) => get(&graph.nodes, *next).is_some_and(|next| next.state.is_some()),
        _ => false,
    };
    let mut order: Vec<NodeId> = Vec::new();
    for (id, node) in graph.nodes.iter() {
        if node.state.is_some() || (id == graph.entry && !entry_leads_to_state) {
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
    source: Source<'a>,
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
            let link = self.source.link(node.terminator.span);
            picture.explain(from, Vec::new(), link);
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
        picture.explain(from, lines.clone(), None);
        picture.boxes[from].lines.extend(shortened(lines, 8));
    }

    fn end(&mut self, picture: &mut Picture, is_reject: bool) -> usize {
        let name = if is_reject { "reject" } else { "accept" };
        *self.ends[usize::from(is_reject)]
            .get_or_insert_with(|| picture.add(Shape::Terminal, vec![name.to_string()]))
    }

    /// The text for what a node takes from the packet, and for what it selects on.
    fn reads(&self, node: &Node) -> Option<String> {
        let own = || self.source.statement(node.terminator.span);
        match &node.terminator.kind {
            TerminatorKind::Extract { place, to_next, .. } => {
                let next = if *to_next { "next of " } else { "" };
                let own = own()
                    .and_then(|text| Some(text.split_once(".extract(")?.1.strip_suffix(')')?.to_string()));
                let text = own.unwrap_or_else(|| format!("{next}{}", self.printer.place(place)));
                Some(format!("extract {text}"))
            }
            TerminatorKind::Advance { bits, .. } => Some(match &bits.kind {
                ExprKind::Const(value) => format!("skip {}", length(value.to_u64().unwrap_or(u64::MAX))),
                _ => {
                    let own = own().and_then(|text| {
                        Some(text.split_once(".advance(")?.1.strip_suffix(')')?.to_string())
                    });
                    format!("skip {} bits", own.unwrap_or_else(|| self.value(bits)))
                }
            }),
            TerminatorKind::Lookahead { place, .. } => {
                Some(own().unwrap_or_else(|| format!("lookahead {}", self.printer.place(place))))
            }
            TerminatorKind::Select { keys, .. } => {
                let own = self.source.cases(node.terminator.span).map(|cases| cases.subject);
                let keys = || keys.iter().map(|key| self.value(key)).collect::<Vec<_>>().join(", ");
                Some(format!("select ({})", own.unwrap_or_else(keys)))
            }
            TerminatorKind::Switch { subject, .. } => {
                let own = self.source.cases(node.terminator.span).map(|cases| cases.subject);
                Some(format!("select ({})", own.unwrap_or_else(|| self.value(subject))))
            }
            // `verify` is a line of its own: only its failure leads elsewhere.
            TerminatorKind::Branch { .. } => self.verify(node),
            TerminatorKind::Goto(_)
            | TerminatorKind::Apply { .. }
            | TerminatorKind::Call { .. }
            | TerminatorKind::Return
            | TerminatorKind::Exit
            | TerminatorKind::Accept
            | TerminatorKind::Reject => None,
        }
    }

    /// The call of `verify` that a branch stands for.
    fn verify(&self, node: &Node) -> Option<String> {
        self.source.statement(node.terminator.span).filter(|text| text.starts_with("verify("))
    }

    /// The labels of a node's cases, then that of its other successor.
    fn labels(&self, node: &Node, in_ir: Vec<String>) -> (Vec<String>, String) {
        let n = in_ir.len();
        let is_default = |label: &String| label == "default" || label == "_";
        match self.source.cases(node.terminator.span) {
            // The last case may be the other successor, and so may a missing one.
            Some(Cases { mut labels, .. })
                if labels.len() == n + 1 && labels.last().is_some_and(is_default) =>
            {
                labels.truncate(n);
                (labels, "default".to_string())
            }
            Some(Cases { labels, .. }) if labels.len() == n => (labels, "no case matches".to_string()),
            _ => (in_ir, "default".to_string()),
        }
    }

    fn transitions(&self, node: &Node) -> Vec<(NodeId, Option<String>)> {
        let labelled = |in_ir: Vec<String>, targets: Vec<NodeId>, otherwise: NodeId| {
            let (labels, last) = self.labels(node, in_ir);
            let cases = targets.into_iter().zip(labels.into_iter().map(Some));
            cases.chain([(otherwise, Some(last))]).collect()
        };
        match &node.terminator.kind {
            TerminatorKind::Goto(next) => vec![(*next, None)],
            TerminatorKind::Branch { then, otherwise, .. } if self.verify(node).is_some() => {
                vec![(*then, None), (*otherwise, Some("verify fails".to_string()))]
            }
            TerminatorKind::Branch { condition, then, otherwise } => {
                // A `select` of two cases may have become a branch: then the source has no condition.
                let own = self.source.condition(node.terminator.span).filter(|text| !text.contains("select"));
                let text = own.unwrap_or_else(|| in_p4(&self.printer.expr(condition)));
                vec![(*then, Some(text.clone())), (*otherwise, Some(format!("not ({text})")))]
            }
            TerminatorKind::Switch { subject, cases, otherwise } => {
                let in_ir = cases.iter().map(|case| self.printer.constant(&case.value, &subject.ty));
                labelled(in_ir.collect(), cases.iter().map(|case| case.target).collect(), *otherwise)
            }
            TerminatorKind::Select { keys: _, cases, otherwise } => {
                let in_ir = cases.iter().map(|case| self.pattern(&case.pattern));
                labelled(in_ir.collect(), cases.iter().map(|case| case.target).collect(), *otherwise)
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
            _ => in_p4(&self.printer.expr(e)),
        }
    }
}

/// A number of bits, in bytes where that is a whole number.
fn length(n_bits: u64) -> String {
    if n_bits.is_multiple_of(8) { format!("{} bytes", n_bits / 8) } else { format!("{n_bits} bits") }
}
