//! What all parts of the generator know of a program.

use crate::Options;
use crate::facts::common_case::CommonCase;
use crate::facts::in_packet_fields::InPacketFields;
use crate::facts::storage::{Owner, Storage};
use crate::file::offload::OffloadPlan;
use crate::suspend::plan::BurstPlan;
use crate::text::names::{Unique, path};
use crate::text::types::Types;
use arch::ExternOp;
use ir::lookup::{get, index};
use ir::{BlockId, Graph, ProcedureId, Program, StmtKind, TableId, TerminatorKind};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// How the code of a procedure may end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) exits: bool,
    /// The packet goes no further.
    pub(crate) stops: bool,
}

impl Ends {
    pub(crate) fn is_plain(self) -> bool {
        !self.exits && !self.stops
    }
}

/// Statements and nodes of programs whose functions are all inlined, and whose usual packets have a way of their own.
pub(crate) const SMALL_WEIGHT_MAX: usize = 250;
/// Where packets may wait more often, each table says for itself how far it is.
const SMALL_POINTS_MAX: usize = 4;

pub(crate) struct Cx<'p> {
    pub(crate) program: &'p Program,
    pub(crate) options: &'p Options,
    /// Where packets of a burst wait.
    pub(crate) plan: Option<&'p BurstPlan>,
    /// Where they wait for other cores.
    pub(crate) offload: Option<&'p OffloadPlan>,
    pub(crate) types: Types,
    pub(crate) storage: Storage,
    pub(crate) in_packet_fields: InPacketFields,
    pub(crate) is_small: bool,
    /// States of packets stay in registers from one wait to the next; otherwise they stay in memory, and each table says
    /// how far it is.
    pub(crate) has_small_stages: bool,
    pub(crate) common_case: CommonCase,
    ends: Vec<Ends>,
    blocks: Vec<String>,
    procedures: Vec<String>,
    tables: Vec<String>,
    /// Calls whose values the host sees, in the order in which they were found.
    pub(crate) calls: RefCell<Vec<crate::function::externs::HostCall>>,
    /// Of asynchronous blocks that are cut at their calls: the call, by the number of the block.
    pub(crate) batched: RefCell<BTreeMap<usize, usize>>,
}

impl<'p> Cx<'p> {
    pub(crate) fn new(
        program: &'p Program,
        options: &'p Options,
        plan: Option<&'p BurstPlan>,
        offload: Option<&'p OffloadPlan>,
    ) -> Cx<'p> {
        let mut unique = Unique::default();
        for taken in [
            "p4_state",
            "p4_process",
            "p4_run_block",
            "p4_create",
            "p4_arrive",
            "p4_packet",
            "p4_fill",
            "p4_drop",
            "p4_stopped",
            "p4_deparse_in_place",
            "p4_headers_stay",
            "p4_store_headers",
            "p4_enter",
            "p4_enter_exception",
            "p4_exception",
            "p4_after_egress_exception",
            "p4_after_ingress",
            "p4_before_egress",
            "p4_after_egress",
            "p4_context",
            "p4_burst",
            "p4_process_bursts",
            "p4_resume",
            "p4_serve",
            "p4_wait",
            "p4_together",
            "p4_rests",
            "p4_bodies",
            "p4_asyncs",
            "p4_tables",
            "p4_objects",
            "p4_value_sets",
            "p4_fields",
            "p4_field_lists",
            "p4_calls",
            "p4_metadata",
        ] {
            unique.take(taken.to_string());
        }
        let mut name = |given: &str| unique.take(format!("p4_{}", path(given)));
        let blocks: Vec<String> = program.blocks.iter().map(|(_, b)| name(&b.name)).collect();
        let procedures = program.procedures.iter().map(|(_, p)| name(&p.name)).collect();
        let tables = program.tables.iter().map(|(_, t)| name(&t.name)).collect();
        let in_packet_fields = InPacketFields::new(program, options.trace);
        let has_few_points = plan.is_none_or(|plan| plan.points.len() <= SMALL_POINTS_MAX);
        let is_small = !options.trace && crate::suspend::plan::weight(program) <= SMALL_WEIGHT_MAX;
        let is_straight = !options.trace && offload.is_none();
        let common_case =
            if is_straight { CommonCase::new(program, &in_packet_fields) } else { CommonCase::default() };
        Cx {
            types: Types::new(program),
            storage: Storage::new(program, options.trace),
            in_packet_fields,
            common_case,
            is_small,
            has_small_stages: is_small && has_few_points,
            ends: ends(program),
            blocks,
            procedures,
            tables,
            calls: RefCell::new(Vec::new()),
            batched: RefCell::new(BTreeMap::new()),
            program,
            options,
            plan,
            offload,
        }
    }

    /// Of functions of blocks: where there is little code, all of a packet's way is one function, so that its state
    /// is in registers.
    pub(crate) fn linkage(&self) -> &'static str {
        if self.is_small { "SD_ALWAYS_INLINE" } else { "static" }
    }

    pub(crate) fn block_name(&self, id: BlockId) -> &str {
        &self.blocks[index(id)]
    }

    pub(crate) fn procedure_name(&self, id: ProcedureId) -> &str {
        &self.procedures[index(id)]
    }

    pub(crate) fn table_name(&self, id: TableId) -> &str {
        &self.tables[index(id)]
    }

    pub(crate) fn ends(&self, id: ProcedureId) -> Ends {
        self.ends[index(id)]
    }

    /// Of the actions of a table.
    pub(crate) fn table_ends(&self, id: TableId) -> Ends {
        table_ends(self.program, &self.ends, id)
    }

    pub(crate) fn block_of(&self, owner: Owner) -> BlockId {
        match owner {
            Owner::Block(block) => block,
            Owner::Procedure(p) => self.program.procedures[p].block,
        }
    }

    /// What every function of a block takes, as arguments.
    pub(crate) fn arguments(&self, block: BlockId) -> &'static str {
        if self.storage.has_locals(block) { "w, p, s, l" } else { "w, p, s" }
    }

    /// The same as parameters.
    pub(crate) fn parameters(&self, block: BlockId) -> String {
        let all = "struct sd_worker *w, struct sd_packet *p, struct p4_state *s";
        if self.storage.has_locals(block) {
            format!("{all}, struct {}__locals *l", self.block_name(block))
        } else {
            all.to_string()
        }
    }

    /// What a trace point tells of the variables of a block.
    pub(crate) fn locals(&self, block: BlockId) -> &'static str {
        if self.storage.has_locals(block) { "l" } else { "NULL" }
    }
}

fn table_ends(program: &Program, ends: &[Ends], id: TableId) -> Ends {
    let actions = get(&program.tables, id).map(|t| t.actions.as_slice()).unwrap_or_default();
    actions.iter().fold(Ends::default(), |all, action| {
        let one = ends[index(action.procedure)];
        Ends { exits: all.exits || one.exits, stops: all.stops || one.stops }
    })
}

fn ends(program: &Program) -> Vec<Ends> {
    let mut ends = vec![Ends::default(); program.procedures.len()];
    loop {
        let mut changed = false;
        for (id, procedure) in program.procedures.iter() {
            let found = of_graph(program, &procedure.graph, &ends);
            if ends[index(id)] != found {
                ends[index(id)] = found;
                changed = true;
            }
        }
        if !changed {
            return ends;
        }
    }
}

fn of_graph(program: &Program, graph: &Graph, ends: &[Ends]) -> Ends {
    let mut found = Ends { exits: false, stops: crate::function::graph::has_loop(graph) };
    for (_, node) in graph.nodes.iter() {
        for stmt in &node.stmts {
            if let StmtKind::Extern { op, .. } = &stmt.kind {
                found.stops |= can_stop(*op);
            }
        }
        match &node.terminator.kind {
            TerminatorKind::Exit => found.exits = true,
            // Where it exits is a successor of its own.
            TerminatorKind::Call { procedure, .. } => found.stops |= ends[index(*procedure)].stops,
            TerminatorKind::Apply { table, .. } => found.stops |= table_ends(program, ends, *table).stops,
            _ => {}
        }
    }
    found
}

/// Whether a packet may end at such a call.
pub(crate) fn can_stop(op: ExternOp) -> bool {
    matches!(
        op,
        ExternOp::Assert | ExternOp::Assume | ExternOp::User | ExternOp::Rebuild | ExternOp::AsyncBegin
    )
}
