//! The control-flow graph of a control.

use super::source::{in_p4, statement_in_p4};
use super::{Picture, Shape, Source, shortened};
use crate::lookup::{get, index};
use crate::passes::{inline_procedures, simplify_cfg};
use crate::text::Printer;
use crate::{
    BlockId, Expr, ExprKind, Graph, Node, NodeId, Place, ProcedureId, ProcedureKind, Program, Stmt, StmtKind,
    TableId, TerminatorKind, UnaryOp,
};

/// Tables, conditions and statements. Sub-controls are part of the control that calls them.
pub fn control_flow(program: &Program, control: BlockId, source: Source<'_>) -> Picture {
    let mut program = program.clone();
    inline_procedures(&mut program, &|program, id| {
        get(&program.procedures, id).is_some_and(|p| p.block == control && p.kind == ProcedureKind::Control)
    });
    simplify_cfg(&mut program);
    let printer = Printer::new(&program);
    let mut picture = Picture { title: format!("Control {}", printer.block(control)), ..Picture::default() };
    let Some(graph) = get(&program.blocks, control).map(|block| &block.graph) else { return picture };
    let results = results_of_tables(graph);
    let first = vec![None; graph.nodes.len()];
    let mut flow = Flow { program: &program, graph, printer: &printer, source, results, first };
    let start = picture.add(Shape::Terminal, vec!["start".to_string()]);
    // Boxes of nodes first, in order; then arrows.
    let boxes: Vec<Option<(usize, usize)>> =
        graph.nodes.iter().map(|(id, node)| flow.boxes(&mut picture, id, node)).collect();
    flow.first = boxes.iter().map(|ends| ends.map(|(first, _)| first)).collect();
    if let Some(to) = flow.first_box(graph.entry) {
        picture.connect(start, to, Vec::new());
    }
    for ((_, node), ends) in graph.nodes.iter().zip(&boxes) {
        if let Some((_, last)) = ends {
            flow.arrows(&mut picture, node, *last);
        }
    }
    picture
}

/// The nodes that do nothing but branch on the result of the table before them, by node: its arrows are those of the
/// table.
fn results_of_tables(graph: &Graph) -> Vec<bool> {
    let mut n_before = vec![0usize; graph.nodes.len()];
    for (_, node) in graph.nodes.iter() {
        let mut successors = node.terminator.kind.successors();
        successors.dedup();
        for id in successors {
            if let Some(n) = n_before.get_mut(index(id)) {
                *n += 1;
            }
        }
    }
    let mut found = vec![false; graph.nodes.len()];
    for (_, node) in graph.nodes.iter() {
        let TerminatorKind::Apply { hit, action, then, .. } = &node.terminator.kind else { continue };
        let Some(next) = get(&graph.nodes, *then) else { continue };
        let is_result = match &next.terminator.kind {
            TerminatorKind::Branch { condition, .. } => {
                hit.as_ref().is_some_and(|hit| result_read(condition, hit).is_some())
            }
            TerminatorKind::Switch { subject, .. } => match &subject.kind {
                ExprKind::Read(place) => action.as_ref() == Some(place),
                _ => false,
            },
            _ => false,
        };
        if is_result && next.stmts.is_empty() && n_before.get(index(*then)) == Some(&1) {
            found[index(*then)] = true;
        }
    }
    found
}

/// True for the text of a call of a function or method.
fn is_call(text: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '<' | '>');
    let is_closed =
        |rest: &str| rest.find(')').is_some_and(|end| end + 1 == rest.len()) || !rest.contains(['&', '|']);
    text.split_once('(').is_some_and(|(name, rest)| {
        !name.is_empty() && name.chars().all(is_name) && rest.ends_with(')') && is_closed(rest)
    })
}

/// True for a condition that reads a place, false for one that negates it; otherwise `None`.
fn result_read(condition: &Expr, place: &Place) -> Option<bool> {
    match &condition.kind {
        ExprKind::Read(read) => (read == place).then_some(true),
        ExprKind::Unary(UnaryOp::Not, operand) => result_read(operand, place).map(|is_true| !is_true),
        _ => None,
    }
}

struct Flow<'a, 'p> {
    program: &'a Program,
    graph: &'a Graph,
    printer: &'a Printer<'p>,
    source: Source<'a>,
    /// The nodes that are drawn as part of the table before them.
    results: Vec<bool>,
    /// The first box of each node.
    first: Vec<Option<usize>>,
}

impl Flow<'_, '_> {
    fn first_box(&self, id: NodeId) -> Option<usize> {
        self.first.get(index(id)).copied().flatten()
    }

    /// A statement as the program writes it. The operation of an extern is not shown.
    fn stmt(&self, stmt: &Stmt) -> String {
        match (self.source.statement(stmt.span), &stmt.kind) {
            (Some(text), _) if text.contains(" = ") || is_call(&text) => return text,
            // The value alone, as of an action's argument.
            (Some(text), StmtKind::Assign { place, .. }) if !text.contains('=') => {
                return format!("{} = {text}", in_p4(&self.printer.place(place)));
            }
            _ => {}
        }
        let text = statement_in_p4(&self.printer.stmt(stmt));
        match &stmt.kind {
            StmtKind::Extern { op, .. } => text.replacen(&format!("extern {} ", op.name()), "", 1),
            StmtKind::Assign { .. } | StmtKind::Emit(_) | StmtKind::ZeroIfInvalid(_) => text,
        }
    }

    /// True for an assignment to a variable that the program does not have.
    fn is_temporary(&self, stmt: &Stmt) -> bool {
        match &stmt.kind {
            StmtKind::Assign { place, .. } => {
                get(&self.program.variables, place.var).is_some_and(|variable| variable.name.starts_with('$'))
            }
            StmtKind::Emit(_) | StmtKind::ZeroIfInvalid(_) | StmtKind::Extern { .. } => false,
        }
    }

    /// A table with its keys and actions.
    fn table(&self, id: TableId) -> Vec<String> {
        let mut lines = vec![self.printer.table(id)];
        if let Some(table) = get(&self.program.tables, id) {
            lines.extend(super::tables::keys(table));
            let default = table.actions.get(table.default_action.index as usize).map(|action| &action.name);
            for action in &table.actions {
                let is_default = if default == Some(&action.name) { " (default)" } else { "" };
                lines.push(format!("action {}{is_default}", action.name));
            }
        }
        lines
    }

    /// The bodies of procedures as the program has them.
    fn bodies(&self, procedures: impl Iterator<Item = ProcedureId>) -> Vec<String> {
        let found = procedures.filter_map(|id| get(&self.program.procedures, id));
        found.flat_map(|procedure| self.source.body(procedure.span)).collect()
    }

    /// Adds the boxes of a node: its statements, and what its terminator does. The first and the last of them.
    fn boxes(&self, picture: &mut Picture, id: NodeId, node: &Node) -> Option<(usize, usize)> {
        if self.results.get(index(id)) == Some(&true) {
            return None;
        }
        let span = node.terminator.span;
        let mut tooltip = Vec::new();
        let (shape, lines) = match &node.terminator.kind {
            TerminatorKind::Apply { table, .. } => {
                let actions = get(&self.program.tables, *table).into_iter().flat_map(|table| &table.actions);
                tooltip = self.bodies(actions.map(|action| action.procedure));
                (Shape::Table, self.table(*table))
            }
            TerminatorKind::Call { procedure, .. } => {
                tooltip = self.bodies([*procedure].into_iter());
                let own = self.source.statement(span);
                (Shape::Statements, vec![own.unwrap_or_else(|| self.printer.procedure(*procedure) + "()")])
            }
            _ => {
                let (shape, line) = self.line(node);
                (shape, vec![line])
            }
        };
        // A statement of the program may be several of the IR.
        let is_shown = |stmt: &&Stmt| !self.is_temporary(stmt);
        let mut stmts: Vec<String> = node.stmts.iter().filter(is_shown).map(|stmt| self.stmt(stmt)).collect();
        if stmts.is_empty() {
            stmts = node.stmts.iter().map(|stmt| self.stmt(stmt)).collect();
        }
        stmts.dedup();
        // The assignments of arguments are part of the call.
        if matches!(node.terminator.kind, TerminatorKind::Call { .. }) {
            stmts.retain(|stmt| lines.first() != Some(stmt));
        }
        let is_goto = matches!(node.terminator.kind, TerminatorKind::Goto(_));
        let first = (!stmts.is_empty() || is_goto).then(|| {
            let first = picture.add(Shape::Statements, shortened(stmts.clone(), 6));
            let link = node.stmts.iter().find_map(|stmt| self.source.link(stmt.span));
            picture.explain(first, stmts, link);
            first
        });
        if is_goto {
            // Present: a goto always gives a box.
            return first.map(|only| (only, only));
        }
        let last = picture.add(shape, shortened(lines.clone(), 16));
        let link = match &node.terminator.kind {
            TerminatorKind::Apply { table, .. } => {
                get(&self.program.tables, *table).and_then(|table| self.source.link(table.span))
            }
            _ => self.source.link(span),
        };
        picture.explain(last, if tooltip.is_empty() { lines } else { tooltip }, link);
        if let Some(first) = first {
            picture.connect(first, last, Vec::new());
        }
        Some((first.unwrap_or(last), last))
    }

    /// The shape and the text of a terminator without a table or a call.
    fn line(&self, node: &Node) -> (Shape, String) {
        let span = node.terminator.span;
        match &node.terminator.kind {
            TerminatorKind::Branch { condition, .. } => {
                let own = self.source.condition(span);
                (Shape::Condition, own.unwrap_or_else(|| in_p4(&self.printer.expr(condition))))
            }
            TerminatorKind::Switch { subject, .. } => match self.table_of_action(&subject.kind) {
                Some(_) => (Shape::Condition, "action run".to_string()),
                None => {
                    let own = self.source.cases(span).map(|cases| cases.subject);
                    (Shape::Condition, own.unwrap_or_else(|| in_p4(&self.printer.expr(subject))))
                }
            },
            TerminatorKind::Apply { table, .. } => (Shape::Table, self.printer.table(*table)),
            TerminatorKind::Call { procedure, .. } => {
                (Shape::Statements, self.printer.procedure(*procedure) + "()")
            }
            TerminatorKind::Return => (Shape::Terminal, "end".to_string()),
            TerminatorKind::Exit => (Shape::Terminal, "exit".to_string()),
            TerminatorKind::Accept => (Shape::Terminal, "accept".to_string()),
            TerminatorKind::Reject => (Shape::Terminal, "reject".to_string()),
            TerminatorKind::Select { .. } => (Shape::Condition, "select".to_string()),
            TerminatorKind::Extract { place, .. } => {
                (Shape::Statements, format!("extract {}", self.printer.place(place)))
            }
            TerminatorKind::Advance { .. } => (Shape::Statements, "advance".to_string()),
            TerminatorKind::Lookahead { .. } => (Shape::Statements, "lookahead".to_string()),
            TerminatorKind::Goto(_) => (Shape::Statements, String::new()),
        }
    }

    fn arrows(&self, picture: &mut Picture, node: &Node, last: usize) {
        let mut connect = |to: NodeId, text: Option<String>| {
            if let Some(to) = self.first_box(to) {
                picture.connect(last, to, text.into_iter().collect());
            }
        };
        match &node.terminator.kind {
            TerminatorKind::Branch { then, otherwise, .. } => {
                connect(*then, Some("true".to_string()));
                connect(*otherwise, Some("false".to_string()));
            }
            TerminatorKind::Switch { subject, cases, otherwise } => {
                let table = self.table_of_action(&subject.kind);
                for case in cases {
                    let position = case.value.to_u64().and_then(|i| usize::try_from(i).ok());
                    let action = table.and_then(|table| table.actions.get(position?));
                    let text = action.map(|action| action.name.to_string());
                    connect(
                        case.target,
                        Some(text.unwrap_or_else(|| self.printer.constant(&case.value, &subject.ty))),
                    );
                }
                connect(*otherwise, Some("default".to_string()));
            }
            TerminatorKind::Apply { hit, then, exit, .. }
                if self.results.get(index(*then)) == Some(&true) =>
            {
                if self.may_exit(&node.terminator.kind) && exit != then {
                    connect(*exit, Some("exit".to_string()));
                }
                let Some(next) = get(&self.graph.nodes, *then) else { return };
                match (&next.terminator.kind, hit) {
                    (TerminatorKind::Branch { condition, then, otherwise }, Some(hit)) => {
                        let is_hit = result_read(condition, hit) == Some(true);
                        let (yes, no) = if is_hit { (then, otherwise) } else { (otherwise, then) };
                        connect(*yes, Some("hit".to_string()));
                        connect(*no, Some("miss".to_string()));
                    }
                    _ => self.arrows(picture, next, last),
                }
            }
            TerminatorKind::Apply { then, exit, .. } | TerminatorKind::Call { then, exit, .. } => {
                connect(*then, None);
                if self.may_exit(&node.terminator.kind) && exit != then {
                    connect(*exit, Some("exit".to_string()));
                }
            }
            kind => kind.successors().into_iter().for_each(|to| connect(to, None)),
        }
    }

    /// The table whose action is stored where an expression reads.
    fn table_of_action(&self, kind: &crate::ExprKind) -> Option<&crate::Table> {
        let crate::ExprKind::Read(read) = kind else { return None };
        let stores = |place: &Option<Place>| place.as_ref() == Some(read);
        self.graph.nodes.iter().find_map(|(_, node)| match &node.terminator.kind {
            TerminatorKind::Apply { table, action, .. } if stores(action) => {
                get(&self.program.tables, *table)
            }
            _ => None,
        })
    }

    /// True when a procedure that runs here may exit.
    fn may_exit(&self, kind: &TerminatorKind) -> bool {
        let mut stack = match kind {
            TerminatorKind::Call { procedure, .. } => vec![*procedure],
            TerminatorKind::Apply { table, .. } => get(&self.program.tables, *table)
                .map(|table| table.actions.iter().map(|action| action.procedure).collect())
                .unwrap_or_default(),
            _ => Vec::new(),
        };
        let mut seen = vec![false; self.program.procedures.len()];
        while let Some(id) = stack.pop() {
            let Some(procedure) = get(&self.program.procedures, id) else { continue };
            if std::mem::replace(&mut seen[index(id)], true) {
                continue;
            }
            for (_, node) in procedure.graph.nodes.iter() {
                match &node.terminator.kind {
                    TerminatorKind::Exit => return true,
                    TerminatorKind::Call { procedure, .. } => stack.push(*procedure),
                    _ => {}
                }
            }
        }
        false
    }
}
