//! The control-flow graph of a control.

use super::{Picture, Shape, shortened};
use crate::lookup::{get, index};
use crate::passes::{inline_procedures, simplify_cfg};
use crate::text::Printer;
use crate::{BlockId, Graph, Node, NodeId, Place, ProcedureKind, Program, Stmt, StmtKind, TerminatorKind};

/// Tables, conditions and statements. Sub-controls are part of the control that calls them.
pub fn control_flow(program: &Program, control: BlockId) -> Picture {
    let mut program = program.clone();
    inline_procedures(&mut program, &|program, id| {
        get(&program.procedures, id).is_some_and(|p| p.block == control && p.kind == ProcedureKind::Control)
    });
    simplify_cfg(&mut program);
    let printer = Printer::new(&program);
    let mut picture = Picture { title: printer.block(control), ..Picture::default() };
    let Some(graph) = get(&program.blocks, control).map(|block| &block.graph) else { return picture };
    let mut flow = Flow { program: &program, graph, printer: &printer, first: vec![None; graph.nodes.len()] };
    let start = picture.add(Shape::Terminal, vec!["start".to_string()]);
    // Boxes of nodes first, in order; then arrows.
    let boxes: Vec<(usize, usize)> =
        graph.nodes.iter().map(|(_, node)| flow.boxes(&mut picture, node)).collect();
    flow.first = boxes.iter().map(|(first, _)| Some(*first)).collect();
    if let Some(to) = flow.first_box(graph.entry) {
        picture.connect(start, to, Vec::new());
    }
    for ((_, node), (_, last)) in graph.nodes.iter().zip(&boxes) {
        flow.arrows(&mut picture, node, *last);
    }
    picture
}

struct Flow<'a, 'p> {
    program: &'a Program,
    graph: &'a Graph,
    printer: &'a Printer<'p>,
    /// The first box of each node.
    first: Vec<Option<usize>>,
}

impl Flow<'_, '_> {
    fn first_box(&self, id: NodeId) -> Option<usize> {
        self.first.get(index(id)).copied().flatten()
    }

    /// A statement as the program writes it. The operation of an extern is not shown.
    fn stmt(&self, stmt: &Stmt) -> String {
        let text = self.printer.stmt(stmt);
        match &stmt.kind {
            StmtKind::Extern { op, .. } => text.replacen(&format!("extern {} ", op.name()), "", 1),
            StmtKind::Assign { .. } | StmtKind::Emit(_) | StmtKind::ZeroIfInvalid(_) => text,
        }
    }

    /// Adds the boxes of a node: its statements, and what its terminator does. The first and the last of them.
    fn boxes(&self, picture: &mut Picture, node: &Node) -> (usize, usize) {
        let (shape, line) = match &node.terminator.kind {
            TerminatorKind::Branch { condition, .. } => (Shape::Condition, self.printer.expr(condition)),
            TerminatorKind::Switch { subject, .. } => match self.table_of_action(&subject.kind) {
                Some(_) => (Shape::Condition, "action run".to_string()),
                None => (Shape::Condition, self.printer.expr(subject)),
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
        };
        let stmts: Vec<String> = node.stmts.iter().map(|stmt| self.stmt(stmt)).collect();
        let is_goto = matches!(node.terminator.kind, TerminatorKind::Goto(_));
        let first =
            (!stmts.is_empty() || is_goto).then(|| picture.add(Shape::Statements, shortened(stmts, 6)));
        if is_goto {
            // Present: a goto always gives a box.
            let only = first.unwrap_or(0);
            return (only, only);
        }
        let last = picture.add(shape, shortened(vec![line], 1));
        if let Some(first) = first {
            picture.connect(first, last, Vec::new());
        }
        (first.unwrap_or(last), last)
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
