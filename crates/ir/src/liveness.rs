//! Liveness: the leaves that are read again before they are written. The analysis runs backwards over graphs, through calls
//! and from block to block.
//!
//! Procedures are summarised: the leaves that are live before a call are those that the procedure reads itself, and those
//! that pass through it from either of its ends. The summary is exact for every caller, because the analysis adds and
//! removes leaves one by one.

use crate::layout::{Exactness, Layout};
use crate::leaf_set::LeafSet;
use crate::lookup::{get, index};
use crate::visit::Access;
use crate::{
    BlockId, Graph, NodeId, Place, ProcedureId, Program, Scope, Stmt, StmtKind, TableId, TerminatorKind,
    VarId,
};
use arch::{BlockRole, ExternOp, FieldRole, ParamRole, PipelineModel};

/// Memory for sets that an analysis may take, in bits.
const N_BITS_MAX: u64 = 1 << 32;

/// The program has too many values for its size of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

impl std::fmt::Display for TooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the program is too large to find out which values are needed where")
    }
}

impl std::error::Error for TooLarge {}

/// The live leaves at each point of a valid program.
pub struct Liveness<'p> {
    program: &'p Program,
    pub layout: Layout,
    summaries: Vec<Summary>,
    /// The variables of blocks and procedures: dead when a block has ended, zeros when it begins.
    locals: Vec<VarId>,
    /// Live leaves before each node of each block.
    before: Vec<Vec<LeafSet>>,
    /// Live leaves after each block, including those that the architecture reads then.
    after: Vec<LeafSet>,
    /// The leaves that a backend takes from the packet's bytes when it emits their header.
    in_packet: LeafSet,
}

/// The live leaves before a procedure: those in `reads`, and those that are live after it and pass through.
#[derive(Clone, Default)]
struct Summary {
    reads: LeafSet,
    /// From where it returns.
    through_return: LeafSet,
    /// From where it exits.
    through_exit: LeafSet,
}

impl Summary {
    fn before(&self, at_return: &LeafSet, at_exit: &LeafSet) -> LeafSet {
        let mut out = self.through_return.clone();
        out.intersect(at_return);
        let mut exit = self.through_exit.clone();
        exit.intersect(at_exit);
        out.union(&exit);
        out.union(&self.reads);
        out
    }
}

/// The live leaves where code ends.
pub(crate) struct Ends<'s> {
    pub(crate) at_return: &'s LeafSet,
    pub(crate) at_exit: &'s LeafSet,
    /// The variable that parser operations set where they fail.
    pub(crate) error: Option<VarId>,
}

/// Fields that the architecture sets before a packet is queued: they survive the queue if egress reads them.
const SET_BEFORE_QUEUE: &[FieldRole] = &[
    FieldRole::EnqueueTimestamp,
    FieldRole::EnqueueDepth,
    FieldRole::EgressInstance,
    FieldRole::InstanceType,
];

/// Fields that the architecture sets when a packet leaves the queue.
const SET_AFTER_QUEUE: &[FieldRole] = &[
    FieldRole::EgressTimestamp,
    FieldRole::DequeueTimeDelta,
    FieldRole::DequeueDepth,
    FieldRole::EgressPort,
    FieldRole::EgressSpec,
];

impl<'p> Liveness<'p> {
    pub fn new(program: &'p Program) -> Result<Liveness<'p>, TooLarge> {
        let layout = Layout::new(program);
        let in_packet = LeafSet::none(layout.n_leaves());
        Liveness::of_backend(program, layout, in_packet)
    }

    /// Liveness for a backend that emits the leaves of `in_packet` from the packet's bytes, where they were parsed.
    pub fn of_backend(
        program: &'p Program,
        layout: Layout,
        in_packet: LeafSet,
    ) -> Result<Liveness<'p>, TooLarge> {
        let n = layout.n_leaves();
        let n_nodes: usize = program.graphs().map(|graph| graph.nodes.len() + 3).sum();
        if (n_nodes as u64).saturating_mul(n as u64) > N_BITS_MAX {
            return Err(TooLarge);
        }
        let locals = program.variables.iter().filter(|(_, v)| !matches!(v.scope, Scope::Pipeline(_)));
        let locals = locals.map(|(id, _)| id);
        let mut this = Liveness {
            program,
            layout,
            locals: locals.collect(),
            summaries: vec![Summary::default(); program.procedures.len()],
            before: vec![Vec::new(); program.blocks.len()],
            after: vec![LeafSet::none(n); program.blocks.len()],
            in_packet,
        };
        this.summarise();
        // The fields that copies of the packet preserve depend on the leaves that are live where the copies come back.
        if program.architecture.pipeline().is_some_and(PipelineModel::begins_anew) {
            this.solve_any_order();
            return Ok(this);
        }
        let mut preserved = LeafSet::none(n);
        let mut in_field_lists = this.in_field_lists(BlockRole::Ingress);
        in_field_lists.union(&this.in_field_lists(BlockRole::Egress));
        let mut cloned = LeafSet::none(n);
        loop {
            this.solve_blocks(&preserved, &cloned);
            let mut more = this.live_on_return();
            more.intersect(&in_field_lists);
            let changed = preserved.union(&more);
            if !cloned.union(&this.live_in_clones()) && !changed {
                return Ok(this);
            }
        }
    }

    fn none(&self) -> LeafSet {
        LeafSet::none(self.layout.n_leaves())
    }

    /// Before a node of a block.
    pub fn before_node(&self, block: BlockId, node: NodeId) -> LeafSet {
        let before = self.before.get(index(block)).and_then(|nodes| nodes.get(index(node)));
        before.cloned().unwrap_or_else(|| self.none())
    }

    /// Before a block begins: of what blocks share.
    pub fn before_block(&self, block: BlockId) -> LeafSet {
        let Some(decl) = get(&self.program.blocks, block) else { return self.none() };
        self.shared(self.before_node(block, decl.graph.entry))
    }

    /// The live leaves without those of variables of blocks and procedures.
    fn shared(&self, mut live: LeafSet) -> LeafSet {
        for var in &self.locals {
            live.remove(self.layout.variable(*var));
        }
        live
    }

    /// Returns the live leaves after a block, including those that the architecture reads.
    pub fn after_block(&self, block: BlockId) -> LeafSet {
        self.after.get(index(block)).cloned().unwrap_or_else(|| self.none())
    }

    /// The leaves that must survive the queue before egress.
    pub fn in_queue(&self) -> Option<LeafSet> {
        let mut live = self.before_block(self.program.block(BlockRole::Egress)?);
        self.kill_fields(&mut live, SET_AFTER_QUEUE);
        Some(live)
    }

    /// The leaves that may be read where a resubmitted, recirculated or cloned packet begins again.
    pub fn live_on_return(&self) -> LeafSet {
        let mut live = self.none();
        for role in [BlockRole::Parser, BlockRole::Egress] {
            if let Some(block) = self.program.block(role) {
                live.union(&self.before_block(block));
            }
        }
        live
    }

    /// The leaves of a clone that egress reads. A clone keeps its headers, and its metadata is reset.
    fn live_in_clones(&self) -> LeafSet {
        let Some(block) = self.program.block(BlockRole::Egress) else { return self.none() };
        let mut live = self.before_block(block);
        for role in [ParamRole::Metadata, ParamRole::StandardMetadata, ParamRole::OutputMetadata] {
            if let Some(var) = self.program.shared_variable(role) {
                live.remove(self.layout.variable(var));
            }
        }
        live
    }

    /// True when one of these blocks, or a procedure of one, may clone the packet.
    fn clones(&self, roles: &[BlockRole]) -> bool {
        let is_one = |block: BlockId| {
            get(&self.program.blocks, block).is_some_and(|block| roles.contains(&block.role))
        };
        let blocks = self.program.blocks.iter().filter(|(id, _)| is_one(*id)).map(|(_, b)| &b.graph);
        let procedures =
            self.program.procedures.iter().filter(|(_, p)| is_one(p.block)).map(|(_, p)| &p.graph);
        blocks.chain(procedures).flat_map(|graph| graph.nodes.iter()).flat_map(|(_, node)| &node.stmts).any(
            |stmt| match &stmt.kind {
                StmtKind::Extern { op, .. } => matches!(
                    op,
                    ExternOp::Clone | ExternOp::ClonePreservingFieldList | ExternOp::CloneWithData
                ),
                StmtKind::Assign { .. } | StmtKind::Emit(_) | StmtKind::ZeroIfInvalid(_) => false,
            },
        )
    }

    /// The leaves of the field list with an index, or of all of them.
    pub fn field_list(&self, list: Option<u32>) -> LeafSet {
        let mut out = self.none();
        let lists = self.program.field_lists.iter().filter(|l| list.is_none_or(|index| l.index == index));
        for place in lists.flat_map(|l| &l.places) {
            out.insert(self.layout.place(self.program, place).leaves);
        }
        out
    }

    /// The leaves of all field lists that calls in a block may name.
    fn in_field_lists(&self, role: BlockRole) -> LeafSet {
        let mut out = self.none();
        let Some(id) = self.program.block(role) else { return out };
        let of_block = get(&self.program.blocks, id).map(|block| &block.graph);
        let procedures = self.program.procedures.iter().filter(|(_, p)| p.block == id).map(|(_, p)| &p.graph);
        for (_, node) in of_block.into_iter().chain(procedures).flat_map(|graph| graph.nodes.iter()) {
            for list in node.stmts.iter().filter_map(preserved_list) {
                out.union(&self.field_list(list));
            }
        }
        out
    }

    fn kill_fields(&self, live: &mut LeafSet, roles: &[FieldRole]) {
        for place in roles.iter().filter_map(|role| self.program.field(*role)) {
            let extent = self.layout.place(self.program, place);
            if extent.exactness == Exactness::Exact {
                live.remove(extent.leaves);
            }
        }
    }

    fn read_fields(&self, live: &mut LeafSet, roles: &[FieldRole]) {
        let places = self.program.fields.iter().filter(|(role, _)| roles.contains(role));
        for (_, place) in places {
            live.insert(self.layout.place(self.program, place).leaves);
        }
    }

    /// Solves all blocks. `preserved` are the leaves that copies of the packet preserve, `cloned` those that egress reads of
    /// clones.
    fn solve_blocks(&mut self, preserved: &LeafSet, cloned: &LeafSet) {
        // The last block first; after it only the architecture reads.
        let mut live = self.none();
        let mut next: Option<BlockRole> = None;
        let model = self.program.architecture.pipeline();
        let preserved_by = |role| {
            let mut out = self.in_field_lists(role);
            out.intersect(preserved);
            out
        };
        let by_ingress = preserved_by(BlockRole::Ingress);
        let by_egress = preserved_by(BlockRole::Egress);
        // A clone of the packet as it came in goes from the parser to egress, one of the packet as it leaves from the
        // end of egress.
        let clones_from_ingress =
            self.clones(&[BlockRole::Parser, BlockRole::VerifyChecksum, BlockRole::Ingress]);
        let clones_from_egress = self.clones(&[BlockRole::Egress]);
        // Packets recirculate when they have been deparsed.
        live.union(&by_egress);
        for (role, id) in self.program.pipeline.iter().rev() {
            let Some(block) = get(&self.program.blocks, *id) else { continue };
            if next == Some(BlockRole::Egress) {
                self.kill_fields(&mut live, SET_AFTER_QUEUE);
                self.kill_fields(&mut live, SET_BEFORE_QUEUE);
            }
            let fields_read = model.map(|model| model.fields_read_behind(*role)).unwrap_or_default();
            self.read_fields(&mut live, &fields_read);
            // Nobody knows what the architecture does with them.
            for (_, own) in self.program.shared.iter().filter(|(role, _)| *role == ParamRole::Own) {
                live.insert(self.layout.variable(*own));
            }
            match role {
                BlockRole::Parser => {
                    if clones_from_ingress {
                        live.union(cloned);
                    }
                    if let Some(error) = block.error
                        && self.program.field(FieldRole::ParserError).is_some()
                    {
                        self.kill_fields(&mut live, &[FieldRole::ParserError]);
                        live.insert(self.layout.variable(error));
                    }
                }
                BlockRole::Ingress => {
                    if let Some(accept) = self.program.shared_variable(ParamRole::Accept) {
                        live.insert(self.layout.variable(accept));
                    }
                    live.union(&by_ingress);
                }
                BlockRole::Egress => {
                    live.union(&by_egress);
                    if clones_from_egress {
                        live.union(cloned);
                    }
                }
                BlockRole::VerifyChecksum
                | BlockRole::ComputeChecksum
                | BlockRole::Deparser
                | BlockRole::Accelerator => {}
            }
            let ends = Ends { at_return: &live, at_exit: &live, error: block.error };
            let before = self.solve(&block.graph, &ends);
            self.before[index(*id)] = before;
            let before = self.before_block(*id);
            self.after[index(*id)] = std::mem::replace(&mut live, before);
            next = Some(*role);
        }
    }

    /// Solves the blocks of an architecture whose packets may come to any block from any other: what one of them reads, or the
    /// architecture, is live behind all.
    fn solve_any_order(&mut self) {
        let program = self.program;
        let mut live = self.none();
        let fields_read = program.architecture.pipeline().map(PipelineModel::fields_read).unwrap_or_default();
        self.read_fields(&mut live, &fields_read);
        for role in [ParamRole::Accept, ParamRole::Own] {
            for (_, var) in program.shared.iter().filter(|(known, _)| *known == role) {
                live.insert(self.layout.variable(*var));
            }
        }
        for list in &program.field_lists {
            let list = self.field_list(Some(list.index));
            live.union(&list);
        }
        for (_, block) in program.blocks.iter() {
            if let Some(error) = block.error {
                live.insert(self.layout.variable(error));
            }
        }
        loop {
            let mut changed = false;
            for (_, id) in &program.pipeline {
                let Some(block) = get(&program.blocks, *id) else { continue };
                let ends = Ends { at_return: &live, at_exit: &live, error: block.error };
                let before = self.solve(&block.graph, &ends);
                self.before[index(*id)] = before;
                let before = self.before_block(*id);
                self.after[index(*id)] = live.clone();
                changed |= live.union(&before);
            }
            if !changed {
                return;
            }
        }
    }

    /// Callees first, as the program has no recursion.
    fn summarise(&mut self) {
        let program = self.program;
        let callees = |id: ProcedureId| {
            let nodes = program.procedures[id].graph.nodes.iter();
            nodes.flat_map(|(_, node)| match &node.terminator.kind {
                TerminatorKind::Call { procedure, .. } => vec![*procedure],
                TerminatorKind::Apply { table, .. } => get(&program.tables, *table)
                    .map(|table| table.actions.iter().map(|action| action.procedure).collect())
                    .unwrap_or_default(),
                _ => Vec::new(),
            })
        };
        let mut seen = vec![false; program.procedures.len()];
        for (root, _) in program.procedures.iter() {
            let mut stack = vec![(root, false)];
            while let Some((id, callees_done)) = stack.pop() {
                if get(&program.procedures, id).is_none() {
                    continue;
                }
                if callees_done {
                    self.summaries[index(id)] = self.summary(id);
                } else if !std::mem::replace(&mut seen[index(id)], true) {
                    stack.push((id, true));
                    stack.extend(callees(id).map(|callee| (callee, false)));
                }
            }
        }
    }

    fn summary(&self, id: ProcedureId) -> Summary {
        let procedure = &self.program.procedures[id];
        let error = get(&self.program.blocks, procedure.block).and_then(|block| block.error);
        let (none, all) = (self.none(), LeafSet::all(self.layout.n_leaves()));
        let before = |at_return: &LeafSet, at_exit: &LeafSet| {
            let nodes = self.solve(&procedure.graph, &Ends { at_return, at_exit, error });
            nodes.get(index(procedure.graph.entry)).cloned().unwrap_or_else(|| none.clone())
        };
        Summary {
            reads: before(&none, &none),
            through_return: before(&all, &none),
            through_exit: before(&none, &all),
        }
    }

    /// Finds the live leaves before each node.
    pub(crate) fn solve(&self, graph: &Graph, ends: &Ends) -> Vec<LeafSet> {
        let mut before = vec![self.none(); graph.nodes.len()];
        let order = postorder(graph);
        loop {
            let mut changed = false;
            for id in &order {
                let node = &graph.nodes[*id];
                let mut live = self.before_terminator(&node.terminator.kind, &before, ends);
                for stmt in node.stmts.iter().rev() {
                    self.before_stmt(stmt, &mut live);
                }
                changed |= before[index(*id)].union(&live);
            }
            if !changed {
                return before;
            }
        }
    }

    /// Turns what is live after a statement into what is live before it.
    pub(crate) fn before_stmt(&self, stmt: &Stmt, live: &mut LeafSet) {
        if let StmtKind::Emit(place) = &stmt.kind {
            let mut emitted = self.none();
            self.read(Access::Read, place, &mut emitted);
            emitted.subtract(&self.in_packet);
            live.union(&emitted);
            place.for_each_read_in_path(&mut |place| self.read(Access::Read, place, live));
            return;
        }
        if let StmtKind::ZeroIfInvalid(header) = &stmt.kind {
            self.read(Access::Read, &header.valid(), live);
            header.for_each_read_in_path(&mut |place| self.read(Access::Read, place, live));
            return;
        }
        if let StmtKind::Extern { op: ExternOp::MarkToDrop, .. } = &stmt.kind {
            // It takes all the metadata and writes two fields of it.
            self.kill_fields(live, &[FieldRole::EgressSpec, FieldRole::MulticastGroup]);
            return;
        }
        stmt.for_each_access(&mut |access, place| self.kill(access, place, live));
        stmt.for_each_access(&mut |access, place| self.read(access, place, live));
    }

    /// Turns the leaves that are live after an extern call into those that are live while it runs. The arguments that the
    /// call reads are not among them: they are part of the request.
    pub fn while_extern_runs(&self, stmt: &Stmt, live: &mut LeafSet) {
        stmt.for_each_access(&mut |access, place| {
            self.kill(access, place, live);
        });
        stmt.for_each_access(&mut |access, place| {
            if access != Access::Read {
                place.for_each_read_in_path(&mut |place| self.read(Access::Read, place, live));
            }
        });
    }

    fn kill(&self, access: Access, place: &Place, live: &mut LeafSet) {
        if access == Access::Write && !self.stays_in_packet(place) {
            let extent = self.layout.place(self.program, place);
            if extent.exactness == Exactness::Exact {
                live.remove(extent.leaves);
            }
        }
    }

    /// True when a place is the validity of a header whose fields stay in the packet's bytes. Assigning the validity does not
    /// end its liveness then: the backend still needs the header's position when the header becomes valid again.
    fn stays_in_packet(&self, place: &Place) -> bool {
        let Some((crate::Step::Valid, path)) = place.path.split_last() else { return false };
        if self.in_packet.is_empty() {
            return false;
        }
        let header = Place { var: place.var, path: path.to_vec() };
        self.layout.place(self.program, &header).leaves.into_iter().any(|leaf| self.in_packet.contains(leaf))
    }

    fn read(&self, access: Access, place: &Place, live: &mut LeafSet) {
        if access == Access::Read {
            live.insert(self.layout.place(self.program, place).leaves);
        }
    }

    /// Live while a table is looked up, given what is live after: what the actions read, not the key.
    pub(crate) fn while_looked_up(
        &self,
        kind: &TerminatorKind,
        before: impl Fn(NodeId) -> LeafSet,
    ) -> LeafSet {
        let TerminatorKind::Apply { table, keys: _, hit, action, then, exit } = kind else {
            return self.none();
        };
        let mut live = self.before_actions(*table, &before(*then), &before(*exit));
        for place in [hit, action].into_iter().flatten() {
            self.kill(Access::Write, place, &mut live);
        }
        for place in [hit, action].into_iter().flatten() {
            place.for_each_read_in_path(&mut |place| self.read(Access::Read, place, &mut live));
        }
        live
    }

    fn before_actions(&self, table: TableId, then: &LeafSet, exit: &LeafSet) -> LeafSet {
        let mut live = self.none();
        let Some(table) = get(&self.program.tables, table) else { return then.clone() };
        // A selector's empty group runs nothing.
        if table.actions.is_empty() || table.implementation.is_some() {
            live.union(then);
        }
        for action in &table.actions {
            let Some(procedure) = get(&self.program.procedures, action.procedure) else { continue };
            let mut before = self.summaries[index(action.procedure)].before(then, exit);
            for param in &procedure.params {
                before.remove(self.layout.variable(*param));
            }
            live.union(&before);
        }
        // The code of an empty action with data stands after the table (see `segments`), where it runs only if the
        // action did: the data are written whenever they are read.
        for action in &table.actions {
            let Some(procedure) = get(&self.program.procedures, action.procedure) else { continue };
            let is_empty = procedure
                .graph
                .nodes
                .iter()
                .all(|(_, node)| node.stmts.is_empty() && node.terminator.kind == TerminatorKind::Return);
            for param in procedure.params.iter().filter(|_| is_empty) {
                live.remove(self.layout.variable(*param));
            }
        }
        live
    }

    pub(crate) fn before_terminator(
        &self,
        kind: &TerminatorKind,
        before: &[LeafSet],
        ends: &Ends,
    ) -> LeafSet {
        let none = LeafSet::default();
        let of = |id: NodeId| before.get(index(id)).unwrap_or(&none);
        let mut live = self.none();
        match kind {
            TerminatorKind::Return | TerminatorKind::Accept | TerminatorKind::Reject => {
                live.union(ends.at_return);
            }
            TerminatorKind::Exit => {
                live.union(ends.at_exit);
            }
            TerminatorKind::Goto(_)
            | TerminatorKind::Branch { .. }
            | TerminatorKind::Switch { .. }
            | TerminatorKind::Select { .. } => {
                for successor in kind.successors() {
                    live.union(of(successor));
                }
            }
            TerminatorKind::Extract { then, fail, .. }
            | TerminatorKind::Advance { then, fail, .. }
            | TerminatorKind::Lookahead { then, fail, .. } => {
                live.union(of(*then));
                let written = match kind {
                    TerminatorKind::Extract { place, to_next: false, .. } => Some(place),
                    TerminatorKind::Lookahead { place, .. } => Some(place),
                    _ => None,
                };
                if let Some(place) = written {
                    self.kill(Access::Write, place, &mut live);
                }
                let mut failed = self.none();
                failed.union(of(*fail));
                if let Some(error) = ends.error {
                    failed.remove(self.layout.variable(error));
                }
                live.union(&failed);
            }
            TerminatorKind::Apply { .. } => {
                let or_none = |id| before.get(index(id)).cloned().unwrap_or_else(|| self.none());
                live = self.while_looked_up(kind, or_none);
            }
            TerminatorKind::Call { procedure, then, exit } => {
                if let Some(summary) = self.summaries.get(index(*procedure)) {
                    live.union(&summary.before(of(*then), of(*exit)));
                }
            }
        }
        kind.for_each_access(&mut |access, place| self.read(access, place, &mut live));
        live
    }
}

/// The index of the field list that a call makes a copy of the packet preserve: `None` when it does no such
/// thing, `Some(None)` when the index is computed.
pub(crate) fn preserved_list(stmt: &Stmt) -> Option<Option<u32>> {
    let StmtKind::Extern { op, args, .. } = &stmt.kind else { return None };
    let position = match op {
        ExternOp::ClonePreservingFieldList => 2,
        ExternOp::ResubmitPreservingFieldList | ExternOp::RecirculatePreservingFieldList => 0,
        _ => return None,
    };
    let index = match args.get(position) {
        Some(crate::Arg::In(e)) => e.as_const().and_then(|value| value.to_u64()),
        _ => None,
    };
    Some(index.and_then(|index| u32::try_from(index).ok()))
}

/// Nodes that can be reached, successors before predecessors where there are no loops.
pub(crate) fn postorder(graph: &Graph) -> Vec<NodeId> {
    let mut seen = vec![false; graph.nodes.len()];
    let mut out = Vec::new();
    let mut stack = vec![(graph.entry, false)];
    while let Some((id, done)) = stack.pop() {
        let Some(node) = get(&graph.nodes, id) else { continue };
        if done {
            out.push(id);
        } else if !std::mem::replace(&mut seen[index(id)], true) {
            stack.push((id, true));
            stack.extend(node.terminator.kind.successors().into_iter().map(|s| (s, false)));
        }
    }
    out
}
