//! Decisions about a program before C is written, as data: tables, suspension points, offload blocks, the fast
//! path.
//!
//! [`crate::plan`] makes a [`Plan`]; its `Display` is the text of `siding build --emit plan`, which
//! `docs/internals/plan.md` explains.

mod text;

use crate::facts::control_flow::has_loop;
use crate::facts::deparser::plain_emits;
use crate::facts::keys::matched;
use crate::facts::storage::{Owner, StorageClass, graphs};
use crate::facts::table_kind::LookupStructure;
use crate::facts::weight::graph_weight;
use crate::facts::{Facts, FastPath};
use crate::suspend::Suspension;
use crate::suspend::plan::{BurstPlan, SMALL_POINTS_MAX};
use crate::suspend::saved_state::SavedState;
use crate::text::types::size_bytes;
use arch::flow::SectionId;
use arch::{BlockRole, ExternOp, FieldRole};
use ir::lookup::index;
use ir::{Program, Step, StmtKind, Sync, Table, TableAction, TableId, Type, VarId};

/// Everything that was decided about one program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Nodes and statements of the program, after cuts for suspension.
    pub weight: usize,
    /// All functions are inlined into the fast path.
    pub is_small: bool,
    pub blocks: Vec<BlockPlan>,
    /// Names of blocks and procedures with loops or with very many calls: their packets use up steps.
    pub loops: Vec<String>,
    /// `None`: the host runs block by block.
    pub fast_path: Option<FastPathPlan>,
    /// In the order of their numbers.
    pub tables: Vec<TablePlan>,
    pub suspension: SuspensionPlan,
}

/// One programmable block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockPlan {
    pub name: String,
    pub role: BlockRole,
    /// Nodes and statements of the block, without those of its procedures.
    pub weight: usize,
}

/// The assumptions of the fast path, and the packets that leave it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FastPathPlan {
    /// The sections of the architecture's description that packets reach; empty for the steps of the reference switch.
    pub sections: Vec<String>,
    /// Packets that the parser rejects take the exception path.
    pub has_exception_path: bool,
    /// Headers that must leave where they arrived; `None`: the deparser may move them.
    pub headers_in_place: Option<Vec<String>>,
    /// Extern calls up to the end of ingress may punt the packet.
    pub ingress_makes_requests: bool,
    /// Extern calls of any block may.
    pub makes_requests: bool,
    /// Metadata that punts the packet after ingress when it is not zero.
    pub request_fields: Vec<FieldRole>,
}

/// How a table is implemented.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TablePlan {
    pub name: String,
    /// `exact`, `direct`, `lpm`, `ternary`, `none`, ...
    pub structure: String,
    /// Bits of all elements that are matched on; `None`: one is a `varbit`.
    pub key_bits: Option<u32>,
    pub n_actions: usize,
    /// Key, action and data lie in the lookup structure.
    pub entries_are_inline: bool,
    /// Actions that change the data of their entries, each with the way in which workers keep the changes apart.
    pub updates: Vec<(String, &'static str)>,
    pub staging: Staging,
}

/// How packets of a burst wait for the memory of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Staging {
    /// At the suspension point of this number.
    Suspends(usize),
    /// Its memory is prefetched at the suspension point of this number.
    Prefetched(usize),
    /// The lookup completes at once.
    AtOnce(AtOnce),
}

/// Why lookups of a table are not staged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtOnce {
    /// Lookups of this structure have no prefetch steps.
    Structure,
    /// The program gives all entries.
    ConstEntries,
    /// So few entries stay in the cache.
    Small(u64),
    /// Packets may come back to the table, or the order of packets would matter to what they share.
    Order,
    /// Packets of this program do not suspend at tables.
    Program,
}

/// The places where packets suspend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SuspensionPlan {
    /// Nowhere; why.
    None(&'static str),
    /// At tables of a burst.
    Tables(TablesPlan),
    /// At asynchronous blocks.
    Offload(Vec<OffloadBlockPlan>),
}

/// Suspension at tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TablesPlan {
    /// State stays in registers between points; otherwise in memory, and only variables of functions are saved.
    pub state_in_registers: bool,
    /// Points that a packet may come to first.
    pub first: Vec<usize>,
    /// In the order in which packets come to them.
    pub points: Vec<PointPlan>,
    /// State saved between ingress and egress, if packets suspend there; its number is the number of points.
    pub queue: Option<SavedPlan>,
    pub prefetch_groups: Vec<PrefetchGroup>,
}

/// A suspension point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointPlan {
    pub table: String,
    pub block: String,
    pub saved: SavedPlan,
    /// Points that a packet may come to next.
    pub next: Vec<usize>,
}

/// Tables whose memory is prefetched where packets suspend for another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrefetchGroup {
    pub leader: String,
    /// Each with whether every packet that suspends at the leader comes to it.
    pub members: Vec<(String, bool)>,
}

/// Live variables at a suspension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedPlan {
    /// Each in P4 with its bytes.
    pub values: Vec<(String, u32)>,
    /// Headers whose position in the packet is saved (4 bytes each), with the fields that are read from it again.
    pub positions: Vec<(String, Vec<String>)>,
}

/// An asynchronous block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffloadBlockPlan {
    pub name: String,
    pub block: String,
    /// Arguments of `@async` (policy, capacity, ...), as `name=value`.
    pub settings: String,
    pub request: SavedPlan,
    pub completion: SavedPlan,
    /// `Err`: why its extern calls are made one by one.
    pub batched: Result<(), &'static str>,
}

impl SavedPlan {
    /// Bytes in the context of the packet.
    pub fn size_bytes(&self) -> u32 {
        self.values.iter().map(|(_, bytes)| bytes).sum::<u32>() + 4 * self.positions.len() as u32
    }
}

impl OffloadBlockPlan {
    /// Bytes of the context: request and completion share their memory.
    pub fn context_bytes(&self) -> u32 {
        self.request.size_bytes().max(self.completion.size_bytes())
    }
}

impl Plan {
    pub(crate) fn new(program: &Program, facts: &Facts, suspension: &Suspension) -> Plan {
        let maker = Maker { program, facts, suspension };
        let blocks = program.blocks.iter().map(|(_, block)| BlockPlan {
            name: block.name.to_string(),
            role: block.role,
            weight: graph_weight(&block.graph),
        });
        let looping = graphs(program).filter(|(owner, graph)| {
            let takes_steps = match owner {
                Owner::Procedure(id) => facts.steps_of_call[index(*id)] > 0,
                Owner::Block(_) => false,
            };
            takes_steps || has_loop(graph)
        });
        Plan {
            weight: facts.weight,
            is_small: facts.is_small,
            blocks: blocks.collect(),
            loops: looping.map(|(owner, _)| maker.owner_name(owner)).collect(),
            fast_path: match &facts.fast_path {
                FastPath::None => None,
                FastPath::Reference => Some(maker.fast_path()),
                FastPath::Sections(sections) => Some(FastPathPlan {
                    sections: maker.section_names(&sections.reached),
                    makes_requests: facts.makes_requests,
                    ..FastPathPlan::default()
                }),
            },
            tables: program.tables.iter().map(|(id, table)| maker.table(id, table)).collect(),
            suspension: maker.suspension(),
        }
    }
}

struct Maker<'p> {
    program: &'p Program,
    facts: &'p Facts,
    suspension: &'p Suspension,
}

impl Maker<'_> {
    fn owner_name(&self, owner: Owner) -> String {
        match owner {
            Owner::Block(id) => self.program.blocks[id].name.to_string(),
            Owner::Procedure(id) => self.program.procedures[id].name.to_string(),
        }
    }

    fn section_names(&self, sections: &[SectionId]) -> Vec<String> {
        let model = self.program.architecture.pipeline();
        let section = |id: &SectionId| model.and_then(|model| model.sections.get(*id));
        sections.iter().filter_map(section).map(|section| section.name.clone()).collect()
    }

    fn table_name(&self, id: TableId) -> String {
        self.program.tables[id].name.to_string()
    }

    fn fast_path(&self) -> FastPathPlan {
        let facts = self.facts;
        let deparser = self.program.block(BlockRole::Deparser);
        let emitted = deparser.and_then(|id| plain_emits(&self.program.blocks[id].graph)).unwrap_or_default();
        let names = || emitted.iter().map(|place| self.value_name(place.var, &place.path)).collect();
        FastPathPlan {
            sections: Vec::new(),
            has_exception_path: facts.common_case.has_exceptions,
            headers_in_place: facts.common_case.headers_stay.then(names),
            ingress_makes_requests: facts.ingress_makes_requests,
            makes_requests: facts.makes_requests,
            request_fields: facts.request_fields.clone(),
        }
    }

    fn table(&self, id: TableId, table: &Table) -> TablePlan {
        let kind = &self.facts.tables[index(id)];
        let keys = matched(&table.keys);
        let add = |bits: u32, key: &&ir::Key| key.ty.width_bits().and_then(|width| bits.checked_add(width));
        let key_bits = keys.iter().map(|(_, key)| key).try_fold(0, add);
        TablePlan {
            name: table.name.to_string(),
            structure: kind.structure.c_name().trim_start_matches("SD_STRUCTURE_").to_lowercase(),
            key_bits,
            n_actions: table.actions.len(),
            entries_are_inline: kind.entries_are_inline,
            updates: self.updates(table),
            staging: self.staging(id, table),
        }
    }

    fn updates(&self, table: &Table) -> Vec<(String, &'static str)> {
        let updates = |action: &&TableAction| {
            let graph = &self.program.procedures[action.procedure].graph;
            let stmts = graph.nodes.iter().flat_map(|(_, node)| &node.stmts);
            let ops = stmts.filter_map(|stmt| match &stmt.kind {
                StmtKind::Extern { op, .. } => Some(*op),
                _ => None,
            });
            action.sync != Sync::None || ops.into_iter().any(|op| op == ExternOp::StoreData)
        };
        let name = |action: &TableAction| (action.name.to_string(), action.sync.word());
        table.actions.iter().filter(updates).map(name).collect()
    }

    fn staging(&self, id: TableId, table: &Table) -> Staging {
        let kind = &self.facts.tables[index(id)];
        if !kind.is_staged {
            let has_stages = matches!(
                kind.structure,
                LookupStructure::Exact | LookupStructure::Lpm | LookupStructure::Flow
            );
            return Staging::AtOnce(match table.size {
                _ if !has_stages => AtOnce::Structure,
                _ if table.has_const_entries => AtOnce::ConstEntries,
                size => AtOnce::Small(size.unwrap_or_default()),
            });
        }
        let Suspension::Tables(plan) = self.suspension else { return Staging::AtOnce(AtOnce::Program) };
        let point = |table: TableId| plan.points.iter().position(|point| point.table == table);
        if let Some(number) = point(id) {
            return Staging::Suspends(number);
        }
        let member = plan.prefetched.iter().find(|member| member.table == id);
        match member.and_then(|member| point(member.leader)) {
            Some(number) => Staging::Prefetched(number),
            None => Staging::AtOnce(AtOnce::Order),
        }
    }

    fn suspension(&self) -> SuspensionPlan {
        match self.suspension {
            Suspension::None(why) => SuspensionPlan::None(why.text()),
            Suspension::Tables(plan) => SuspensionPlan::Tables(self.tables_plan(plan)),
            Suspension::Offload(plan) => {
                let blocks = plan.blocks.iter().map(|block| OffloadBlockPlan {
                    name: block.name.to_string(),
                    block: self.program.blocks[block.block].name.to_string(),
                    settings: block.settings.to_string(),
                    request: self.saved(&block.request, true),
                    completion: self.saved(&block.completion, true),
                    batched: block.batched.as_ref().map(|_| ()).map_err(|why| why.text()),
                });
                SuspensionPlan::Offload(blocks.collect())
            }
        }
    }

    fn tables_plan(&self, plan: &BurstPlan) -> TablesPlan {
        let state_in_registers = self.facts.is_small && plan.points.len() <= SMALL_POINTS_MAX;
        let next = |from: usize| plan.next_points.get(from).cloned().unwrap_or_default();
        let points = plan.points.iter().enumerate().map(|(i, point)| PointPlan {
            table: self.table_name(point.table),
            block: self.program.blocks[point.block].name.to_string(),
            saved: self.saved(&point.saved, state_in_registers),
            next: next(i + 1),
        });
        let groups = plan.points.iter().map(|point| {
            let members = plan.prefetched.iter().filter(|member| member.leader == point.table);
            PrefetchGroup {
                leader: self.table_name(point.table),
                members: members.map(|member| (self.table_name(member.table), member.is_certain)).collect(),
            }
        });
        TablesPlan {
            state_in_registers,
            first: next(0),
            points: points.collect(),
            queue: plan.queue.as_ref().map(|saved| self.saved(saved, state_in_registers)),
            prefetch_groups: groups.filter(|group| !group.members.is_empty()).collect(),
        }
    }

    /// With `all` also what is in the state of the packet.
    fn saved(&self, saved: &SavedState, all: bool) -> SavedPlan {
        let is_saved = |var: VarId| all || *self.facts.storage.class(var) != StorageClass::State;
        let values = saved.values.iter().filter(|(var, _)| is_saved(*var));
        let positions = saved.origins.iter().filter(|origin| is_saved(origin.var));
        SavedPlan {
            values: values
                .map(|(var, leaf)| (self.value_name(*var, &leaf.path), size_bytes(&leaf.ty).max(1)))
                .collect(),
            positions: positions
                .map(|origin| {
                    let fields = &self.program.structs[origin.header].fields;
                    let names = origin.fields.iter().filter_map(|i| fields.get(*i as usize));
                    let names = names.map(|field| field.name.to_string()).collect();
                    (self.value_name(origin.var, &origin.path), names)
                })
                .collect(),
        }
    }

    /// A value as it is written in P4.
    fn value_name(&self, var: VarId, path: &[Step]) -> String {
        let variable = &self.program.variables[var];
        let (mut name, mut ty) = (variable.name.to_string(), variable.ty.clone());
        for step in path {
            match (step, &ty) {
                (Step::Field(i), Type::Struct(id)) => {
                    let field = self.program.structs[*id].fields.get(*i as usize);
                    name = format!("{name}.{}", field.map_or("?", |field| field.name.as_str()));
                }
                (Step::Element(i), _) => name = format!("{name}[{i}]"),
                (Step::Valid, _) => name.push_str(".isValid()"),
                (Step::NextIndex, _) => name.push_str(".nextIndex"),
                (Step::Field(_) | Step::Index(_) | Step::Slice { .. } | Step::SliceAt { .. }, _) => {
                    name.push_str("[..]");
                }
            }
            match self.program.step_type(&ty, step) {
                Some(inner) => ty = inner,
                None => break,
            }
        }
        name
    }
}
