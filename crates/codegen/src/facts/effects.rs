//! State that packets share and change, other than by counting: the order of packets matters to it.

use arch::{BlockRole, ExternOp};
use ir::lookup::index;
use ir::{Arg, Graph, NodeId, ProcedureId, Program, Stmt, StmtKind, TableId, TerminatorKind, Type};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Numbers of the objects that packets share and change, other than by counting.
pub(crate) type Effects = BTreeSet<u32>;

pub(crate) const RANDOM: u32 = u32::MAX;

/// Messages have the order of the packets.
pub(crate) const LOG: u32 = u32::MAX - 1;

/// Numbers of flows have the order of the packets.
const FLOW_IDS: u32 = u32::MAX - 2;

/// With the number of a table: entries that packets add, and timers that they restart.
const TABLES: u32 = 1 << 30;

pub(crate) struct EffectFinder<'p> {
    pub(crate) program: &'p Program,
    pub(crate) procedures: FxHashMap<ProcedureId, Effects>,
}

impl<'p> EffectFinder<'p> {
    pub(crate) fn stmt(&self, stmt: &Stmt, out: &mut Effects) {
        let StmtKind::Extern { op, object, args, .. } = &stmt.kind else { return };
        match op {
            ExternOp::RegisterRead
            | ExternOp::RegisterGet
            | ExternOp::RegisterWrite
            | ExternOp::MeterExecute => {
                out.extend(object.map(|id| index(id) as u32));
            }
            ExternOp::Random => {
                out.insert(RANDOM);
            }
            ExternOp::LogMessage => {
                out.insert(LOG);
            }
            ExternOp::AllocateFlowId => {
                out.insert(FLOW_IDS);
            }
            _ => out.extend(is_random_hash(self.program, args).then_some(RANDOM)),
        }
    }

    pub(crate) fn procedure(&mut self, id: ProcedureId) -> Effects {
        if let Some(known) = self.procedures.get(&id) {
            return known.clone();
        }
        let program = self.program;
        let nodes: Vec<NodeId> = program.procedures[id].graph.nodes.iter().map(|(id, _)| id).collect();
        let found = self.nodes(&program.procedures[id].graph, &nodes, &|_| false);
        self.procedures.insert(id, found.clone());
        found
    }

    pub(crate) fn table(&mut self, id: TableId, out: &mut Effects) {
        // Packets see the entries of those before them.
        if self.program.tables[id].has_state() {
            out.insert(TABLES + index(id) as u32);
        }
        for action in &self.program.tables[id].actions {
            out.extend(self.procedure(action.procedure));
        }
    }

    /// Effects of nodes; the tables of nodes that are points are left out.
    pub(crate) fn nodes(
        &mut self,
        graph: &Graph,
        nodes: &[NodeId],
        is_point: &dyn Fn(NodeId) -> bool,
    ) -> Effects {
        let mut out = Effects::new();
        for id in nodes {
            let node = graph.node(*id);
            node.stmts.iter().for_each(|stmt| self.stmt(stmt, &mut out));
            match &node.terminator.kind {
                TerminatorKind::Call { procedure, .. } => out.extend(self.procedure(*procedure)),
                TerminatorKind::Apply { table, .. } if !is_point(*id) => self.table(*table, &mut out),
                _ => {}
            }
        }
        out
    }

    pub(crate) fn block(&mut self, role: BlockRole) -> Effects {
        let Some(id) = self.program.block(role) else { return Effects::new() };
        let graph = &self.program.blocks[id].graph;
        let nodes: Vec<NodeId> = graph.nodes.iter().map(|(id, _)| id).collect();
        self.nodes(graph, &nodes, &|_| false)
    }
}

/// The order of packets matters to something that they share.
pub(crate) fn has_effects(program: &Program) -> bool {
    let mut effects_of = EffectFinder { program, procedures: FxHashMap::default() };
    !can_be_reordered(program) || program.blocks.iter().any(|(_, b)| !effects_of.block(b.role).is_empty())
}

/// Two parts of a graph touch the same shared state, so it matters when another packet comes in between.
pub(crate) fn share_effects(program: &Program, graph: &Graph, parts: [&[NodeId]; 2]) -> bool {
    let mut effects_of = EffectFinder { program, procedures: FxHashMap::default() };
    let [a, b] = parts.map(|nodes| effects_of.nodes(graph, nodes, &|_| false));
    !a.is_disjoint(&b)
}

/// Packets may run in another order: nothing reports to the host, and no meter marks those that come first.
pub(crate) fn can_be_reordered(program: &Program) -> bool {
    let has_meters = program.tables.iter().any(|(_, t)| t.direct_meter.is_some());
    let is_heard = |stmt: &Stmt| match &stmt.kind {
        StmtKind::Extern { op, .. } => matches!(
            op,
            ExternOp::LogMessage | ExternOp::User | ExternOp::PerfEventOutput | ExternOp::DirectMeterRead
        ),
        StmtKind::Assign { .. } | StmtKind::Emit(_) | StmtKind::ZeroIfInvalid(_) => false,
    };
    let stmts = program.graphs().flat_map(|g| g.nodes.iter()).flat_map(|(_, node)| &node.stmts);
    !has_meters && !stmts.into_iter().any(is_heard)
}

/// Whether an algorithm among the arguments is, or may be, that of random numbers.
pub(crate) fn is_random_hash(program: &Program, args: &[Arg]) -> bool {
    args.iter().any(|arg| match arg {
        Arg::In(e) => match e.ty {
            Type::Enum(id) if program.enums[id].name == "HashAlgorithm" => {
                let members = &program.enums[id].members;
                let index = e.as_const().and_then(|value| usize::try_from(value.to_u64()?).ok());
                index.and_then(|i| members.get(i)).is_none_or(|(name, _)| name == "random")
            }
            _ => false,
        },
        _ => false,
    })
}
