//! Visits the places that statements and terminators read and write, and their expressions.

use crate::lookup::{get, index};
use crate::{
    Arg, Expr, ExprKind, Graph, Keyset, Node, Pattern, Place, Program, Step, Stmt, StmtKind, TerminatorKind,
};
use arch::ExternOp;

/// The way in which a place is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    /// The whole place is written, always.
    Write,
    /// The place may be written, or only parts of it are.
    MayWrite,
}

type OnPlace<'f, 'a> = &'f mut dyn FnMut(Access, &'a Place);

fn read<'a>(e: &'a Expr, f: OnPlace<'_, 'a>) {
    e.for_each_read(&mut |place| f(Access::Read, place));
}

fn written<'a>(place: &'a Place, access: Access, f: OnPlace<'_, 'a>) {
    place.for_each_read_in_path(&mut |place| f(Access::Read, place));
    f(access, place);
}

/// True when an extern always writes its `out` arguments. Others may leave them unchanged: a register does when the index
/// is out of range.
fn always_writes(op: ExternOp) -> bool {
    matches!(op, ExternOp::Random | ExternOp::Hash | ExternOp::HashRaw)
}

impl Stmt {
    /// Visits reads first, then writes.
    pub fn for_each_access<'a>(&'a self, f: OnPlace<'_, 'a>) {
        match &self.kind {
            StmtKind::Assign { place, value } => {
                read(value, f);
                written(place, Access::Write, f);
            }
            StmtKind::Emit(place) => {
                place.for_each_read_in_path(&mut |place| f(Access::Read, place));
                f(Access::Read, place);
            }
            StmtKind::ZeroIfInvalid(place) => written(place, Access::MayWrite, f),
            StmtKind::Extern { op, name: _, object: _, args, result } => {
                for arg in args {
                    match arg {
                        Arg::In(e) => read(e, f),
                        Arg::Fields(fields) => fields.iter().for_each(|e| read(e, f)),
                        Arg::Ref(place) if always_writes(*op) => {
                            place.for_each_read_in_path(&mut |place| f(Access::Read, place));
                        }
                        Arg::Ref(place) => {
                            place.for_each_read_in_path(&mut |place| f(Access::Read, place));
                            f(Access::Read, place);
                        }
                        Arg::Str(_) | Arg::Table { .. } | Arg::Absent => {}
                    }
                }
                for arg in args {
                    if let Arg::Ref(place) = arg {
                        f(if always_writes(*op) { Access::Write } else { Access::MayWrite }, place);
                    }
                }
                if let Some(place) = result {
                    written(place, Access::Write, f);
                }
            }
        }
    }

    /// Visits the expressions that are no part of another one; those in the paths of places, too.
    pub fn for_each_expr_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        match &mut self.kind {
            StmtKind::Assign { place, value } => {
                f(value);
                place.for_each_expr_mut(f);
            }
            StmtKind::Emit(place) | StmtKind::ZeroIfInvalid(place) => place.for_each_expr_mut(f),
            StmtKind::Extern { op: _, name: _, object: _, args, result } => {
                for arg in args {
                    match arg {
                        Arg::In(e) => f(e),
                        Arg::Fields(fields) => fields.iter_mut().for_each(&mut *f),
                        Arg::Ref(place) => place.for_each_expr_mut(f),
                        Arg::Str(_) | Arg::Table { .. } | Arg::Absent => {}
                    }
                }
                if let Some(place) = result {
                    place.for_each_expr_mut(f);
                }
            }
        }
    }
}

impl Place {
    pub fn for_each_expr_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        for step in &mut self.path {
            match step {
                Step::Index(e) | Step::SliceAt { lo: e, .. } => f(e),
                Step::Field(_) | Step::Element(_) | Step::Valid | Step::NextIndex | Step::Slice { .. } => {}
            }
        }
    }

    /// True when the path has no computed steps.
    pub fn is_static(&self) -> bool {
        self.path.iter().all(|step| match step {
            Step::Index(_) | Step::SliceAt { .. } => false,
            Step::Field(_) | Step::Element(_) | Step::Valid | Step::NextIndex | Step::Slice { .. } => true,
        })
    }
}

impl Expr {
    /// Visits the operands, those in the paths of places included.
    pub fn for_each_operand_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        match &mut self.kind {
            ExprKind::Const(_) | ExprKind::PacketLength => {}
            ExprKind::Read(place) => place.for_each_expr_mut(f),
            ExprKind::Unary(_, e) | ExprKind::Cast(e) | ExprKind::Slice { value: e, .. } => f(e),
            ExprKind::Binary(_, a, b) | ExprKind::SliceAt { value: a, lo: b } => {
                f(a);
                f(b);
            }
            ExprKind::Mux(c, a, b) => {
                f(c);
                f(a);
                f(b);
            }
        }
    }
}

impl Expr {
    fn for_each_place_mut(&mut self, f: &mut dyn FnMut(&mut Place)) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            self.for_each_operand_mut(&mut |operand| operand.for_each_place_mut(f));
            if let ExprKind::Read(place) = &mut self.kind {
                f(place);
            }
        });
    }
}

impl TerminatorKind {
    /// Visits what the terminator itself reads and writes; what a called procedure does is not its own. An
    /// [`Extract`](TerminatorKind::Extract) reads and writes a stack's index; it writes the header only when it
    /// succeeds.
    pub fn for_each_access<'a>(&'a self, f: OnPlace<'_, 'a>) {
        match self {
            TerminatorKind::Goto(_)
            | TerminatorKind::Call { .. }
            | TerminatorKind::Return
            | TerminatorKind::Exit
            | TerminatorKind::Accept
            | TerminatorKind::Reject => {}
            TerminatorKind::Branch { condition: e, .. }
            | TerminatorKind::Switch { subject: e, .. }
            | TerminatorKind::Advance { bits: e, .. } => read(e, f),
            TerminatorKind::Select { keys, cases, .. } => {
                keys.iter().for_each(|e| read(e, f));
                for case in cases {
                    let Pattern::Keys(sets) = &case.pattern else { continue };
                    for set in sets {
                        match set {
                            Keyset::Any | Keyset::ValueSet(_) => {}
                            Keyset::Value(e) => read(e, f),
                            Keyset::Mask { value: a, mask: b } | Keyset::Range { lo: a, hi: b } => {
                                read(a, f);
                                read(b, f);
                            }
                        }
                    }
                }
            }
            TerminatorKind::Extract { place, to_next, size_bits, .. } => {
                if let Some(e) = size_bits {
                    read(e, f);
                }
                // The index decides which element is written.
                if *to_next {
                    f(Access::Read, place);
                }
                written(place, Access::MayWrite, f);
            }
            TerminatorKind::Lookahead { place, .. } => written(place, Access::MayWrite, f),
            TerminatorKind::Apply { keys, hit, action, .. } => {
                keys.iter().for_each(|e| read(e, f));
                for place in [hit, action].into_iter().flatten() {
                    written(place, Access::Write, f);
                }
            }
        }
    }

    pub fn for_each_expr_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        match self {
            TerminatorKind::Goto(_)
            | TerminatorKind::Call { .. }
            | TerminatorKind::Return
            | TerminatorKind::Exit
            | TerminatorKind::Accept
            | TerminatorKind::Reject => {}
            TerminatorKind::Branch { condition: e, .. }
            | TerminatorKind::Switch { subject: e, .. }
            | TerminatorKind::Advance { bits: e, .. } => f(e),
            TerminatorKind::Select { keys, cases, .. } => {
                keys.iter_mut().for_each(&mut *f);
                for case in cases {
                    let Pattern::Keys(sets) = &mut case.pattern else { continue };
                    for set in sets {
                        match set {
                            Keyset::Any | Keyset::ValueSet(_) => {}
                            Keyset::Value(e) => f(e),
                            Keyset::Mask { value: a, mask: b } | Keyset::Range { lo: a, hi: b } => {
                                f(a);
                                f(b);
                            }
                        }
                    }
                }
            }
            TerminatorKind::Extract { place, size_bits, .. } => {
                place.for_each_expr_mut(f);
                if let Some(e) = size_bits {
                    f(e);
                }
            }
            TerminatorKind::Lookahead { place, .. } => place.for_each_expr_mut(f),
            TerminatorKind::Apply { keys, hit, action, .. } => {
                keys.iter_mut().for_each(&mut *f);
                for place in [hit, action].into_iter().flatten() {
                    place.for_each_expr_mut(f);
                }
            }
        }
    }
}

impl Node {
    pub fn for_each_expr_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        self.stmts.iter_mut().for_each(|stmt| stmt.for_each_expr_mut(f));
        self.terminator.kind.for_each_expr_mut(f);
    }

    /// Visits every place, those in expressions and in the paths of places before the places themselves.
    pub fn for_each_place_mut(&mut self, f: &mut dyn FnMut(&mut Place)) {
        self.for_each_expr_mut(&mut |e| e.for_each_place_mut(f));
        for stmt in &mut self.stmts {
            match &mut stmt.kind {
                StmtKind::Assign { place, .. } | StmtKind::Emit(place) | StmtKind::ZeroIfInvalid(place) => {
                    f(place)
                }
                StmtKind::Extern { args, result, .. } => {
                    for arg in args {
                        if let Arg::Ref(place) = arg {
                            f(place);
                        }
                    }
                    result.iter_mut().for_each(&mut *f);
                }
            }
        }
        match &mut self.terminator.kind {
            TerminatorKind::Extract { place, .. } | TerminatorKind::Lookahead { place, .. } => f(place),
            TerminatorKind::Apply { hit, action, .. } => {
                hit.iter_mut().chain(action).for_each(&mut *f);
            }
            _ => {}
        }
    }
}

impl Program {
    /// Returns a flag per procedure: a block may run it.
    pub fn reachable_procedures(&self) -> Vec<bool> {
        let mut seen = vec![false; self.procedures.len()];
        let mut graphs: Vec<&Graph> = self.blocks.iter().map(|(_, block)| &block.graph).collect();
        while let Some(graph) = graphs.pop() {
            for (_, node) in graph.nodes.iter() {
                let called = match &node.terminator.kind {
                    TerminatorKind::Call { procedure, .. } => vec![*procedure],
                    TerminatorKind::Apply { table, .. } => get(&self.tables, *table)
                        .map(|table| table.actions.iter().map(|action| action.procedure).collect())
                        .unwrap_or_default(),
                    _ => Vec::new(),
                };
                for id in called {
                    if let (Some(procedure), Some(seen @ false)) =
                        (get(&self.procedures, id), seen.get_mut(index(id)))
                    {
                        *seen = true;
                        graphs.push(&procedure.graph);
                    }
                }
            }
        }
        seen
    }

    /// The graphs of procedures, then those of blocks.
    pub fn graphs(&self) -> impl Iterator<Item = &Graph> {
        let procedures = self.procedures.iter().map(|(_, p)| &p.graph);
        procedures.chain(self.blocks.iter().map(|(_, b)| &b.graph))
    }

    pub fn graphs_mut(&mut self) -> impl Iterator<Item = &mut Graph> {
        let procedures = self.procedures.iter_mut().map(|(_, p)| &mut p.graph);
        procedures.chain(self.blocks.iter_mut().map(|(_, b)| &mut b.graph))
    }
}
