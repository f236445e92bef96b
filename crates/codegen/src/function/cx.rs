//! The context that all writers of C share: the program, what is known of it, and the names that C uses.

use crate::facts::Facts;
use crate::facts::ends::{Ends, table_ends};
use crate::facts::storage::Owner;
use crate::function::host_call::HostCall;
use crate::suspend::Suspension;
use crate::suspend::offload::OffloadPlan;
use crate::suspend::plan::{BurstPlan, SMALL_POINTS_MAX};
use crate::text::names::Names;
use crate::text::options::Options;
use crate::text::types::Types;
use arch::BlockRole;
use ir::layout::Leaf;
use ir::lookup::index;
use ir::{BlockId, NodeId, ProcedureId, Program, Step, TableId, Type};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::BTreeMap;

pub(crate) struct Cx<'p> {
    pub(crate) program: &'p Program,
    pub(crate) options: &'p Options,
    /// Suspension at tables.
    pub(crate) plan: Option<&'p BurstPlan>,
    /// Suspension at asynchronous blocks.
    pub(crate) offload: Option<&'p OffloadPlan>,
    pub(crate) facts: &'p Facts,
    pub(crate) types: Types,
    pub(crate) names: Names,
    /// States of packets stay in registers from one suspension to the next; otherwise they stay in memory, and each table
    /// says whether it exceeds the cache.
    pub(crate) has_small_stages: bool,
    /// Calls whose values the host sees, in the order in which they were found.
    pub(crate) calls: RefCell<Vec<HostCall>>,
    /// The number of the batched call, by the number of the asynchronous block.
    pub(crate) batched: RefCell<BTreeMap<usize, usize>>,
}

impl<'p> Cx<'p> {
    pub(crate) fn new(
        program: &'p Program,
        options: &'p Options,
        facts: &'p Facts,
        suspension: &'p Suspension,
    ) -> Cx<'p> {
        let (plan, offload) = match suspension {
            Suspension::None(_) => (None, None),
            Suspension::Tables(plan) => (Some(plan), None),
            Suspension::Offload(plan) => (None, Some(plan)),
        };
        let names = Names::new(program);
        let has_few_points = plan.is_none_or(|plan| plan.points.len() <= SMALL_POINTS_MAX);
        Cx {
            types: Types::new(program, &names),
            names,
            calls: RefCell::new(Vec::new()),
            batched: RefCell::new(BTreeMap::new()),
            has_small_stages: facts.is_small && has_few_points,
            program,
            options,
            facts,
            plan,
            offload,
        }
    }

    /// Linkage of the functions of blocks. In small programs everything is inlined into one function, so that the state
    /// of a packet is in registers.
    pub(crate) fn linkage(&self) -> &'static str {
        if self.facts.is_small { "SD_ALWAYS_INLINE" } else { "static" }
    }

    pub(crate) fn block_name(&self, id: BlockId) -> &str {
        self.names.block(id)
    }

    pub(crate) fn procedure_name(&self, id: ProcedureId) -> &str {
        self.names.procedure(id)
    }

    pub(crate) fn table_name(&self, id: TableId) -> &str {
        self.names.table(id)
    }

    /// The descriptor of a table: its number, and where it is.
    pub(crate) fn table_arguments(&self, id: TableId) -> String {
        let number = self.names.table_number(id);
        format!("{number}, &p4x_tables[{number}]")
    }

    pub(crate) fn ends(&self, id: ProcedureId) -> Ends {
        self.facts.ends[index(id)]
    }

    /// How the actions of a table may end.
    pub(crate) fn table_ends(&self, id: TableId) -> Ends {
        table_ends(self.program, &self.facts.ends, id)
    }

    pub(crate) fn block_of(&self, owner: Owner) -> BlockId {
        match owner {
            Owner::Block(block) => block,
            Owner::Procedure(p) => self.program.procedures[p].block,
        }
    }

    /// The arguments that every function of a block takes.
    pub(crate) fn arguments(&self, block: BlockId) -> &'static str {
        if self.facts.storage.has_locals(block) { "w, p, s, l" } else { "w, p, s" }
    }

    /// The parameters that every function of a block takes.
    pub(crate) fn parameters(&self, block: BlockId) -> String {
        let all = "struct sd_worker *w, struct sd_packet *p, struct p4x_state *s";
        if self.facts.storage.has_locals(block) {
            format!("{all}, struct {}__locals *l", self.block_name(block))
        } else {
            all.to_string()
        }
    }

    /// The variables of a block, as an argument of trace points.
    pub(crate) fn locals(&self, block: BlockId) -> &'static str {
        if self.facts.storage.has_locals(block) { "l" } else { "NULL" }
    }

    /// The suspension points of a block, by node.
    pub(crate) fn points_of(&self, block: BlockId) -> FxHashMap<NodeId, usize> {
        let points = self.plan.map(|plan| plan.points.as_slice()).unwrap_or_default();
        let of_block = points.iter().enumerate().filter(|(_, point)| point.block == block);
        of_block.map(|(i, point)| (point.node, i)).collect()
    }

    /// The first point in egress, if packets suspend there.
    pub(crate) fn first_egress_point(&self) -> Option<usize> {
        let is_egress = |block: BlockId| self.program.blocks[block].role == BlockRole::Egress;
        self.plan?.points.iter().position(|point| is_egress(point.block))
    }

    /// The function of a block's segment: from its beginning, or from a point on.
    pub(crate) fn segment_name(&self, block: BlockId, from: Option<usize>) -> String {
        match from {
            None => format!("{}__start", self.block_name(block)),
            Some(i) => format!("{}__after_{i}", self.block_name(block)),
        }
    }

    /// From a value to one of its leaves: `.ipv4.ttl`.
    pub(crate) fn leaf_path(&self, ty: &Type, leaf: &Leaf) -> String {
        let mut ty = ty.clone();
        let mut text = String::new();
        for step in &leaf.path {
            match (step, &ty) {
                (Step::Field(i), Type::Struct(id)) => {
                    text.push('.');
                    text.push_str(self.types.field_name(*id, *i));
                }
                (Step::Element(i), _) => text.push_str(&format!(".sd_e[{i}]")),
                (Step::Valid, _) => text.push_str(".sd_valid"),
                (Step::NextIndex, _) => text.push_str(".sd_next"),
                _ => {}
            }
            match self.program.step_type(&ty, step) {
                Some(inner) => ty = inner,
                None => break,
            }
        }
        text
    }
}
