//! Analyses of a program, computed once before any C is written.
//!
//! Each module answers one question about an [`ir::Program`]; [`Facts`] holds the answers for the program that is
//! written.

pub(crate) mod calls;
pub(crate) mod common_case;
pub(crate) mod control_flow;
pub(crate) mod deparser;
pub(crate) mod effects;
pub(crate) mod ends;
pub(crate) mod headers;
pub(crate) mod in_packet_fields;
pub(crate) mod keys;
pub(crate) mod requests;
pub(crate) mod sections;
pub(crate) mod steps;
pub(crate) mod storage;
pub(crate) mod table_kind;
pub(crate) mod trace_points;
pub(crate) mod updates;
pub(crate) mod weight;

use arch::{BlockRole, FieldRole};
use calls::Calls;
use common_case::CommonCase;
use ends::Ends;
use in_packet_fields::InPacketFields;
use ir::Program;
use sections::FastSections;
use steps::Steps;
use storage::Storage;
use table_kind::TableKind;
use trace_points::TracePoints;
use updates::Update;

/// Which code is written: it decides which packets have a path of their own and which fields stay in the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The fast path, where packets suspend at tables only.
    Fast,
    /// The fast path with asynchronous blocks.
    Offload,
    /// Code that reports every step: all variables and fields are in memory.
    Traced,
}

/// The way of packets from arrival to verdict in C.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FastPath {
    /// There is none: the host runs block by block.
    None,
    /// The steps of the reference switch.
    Reference,
    /// The steps of the architecture's description.
    Sections(FastSections),
}

impl FastPath {
    fn new(program: &Program) -> FastPath {
        if is_reference(program) {
            return FastPath::Reference;
        }
        FastSections::new(program).map_or(FastPath::None, FastPath::Sections)
    }
}

/// Facts about one program.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) storage: Storage,
    pub(crate) in_packet_fields: InPacketFields,
    pub(crate) common_case: CommonCase,
    pub(crate) calls: Calls,
    pub(crate) trace_points: TracePoints,
    /// By the number of the table.
    pub(crate) tables: Vec<TableKind>,
    /// By the number of the table, then by that of the action.
    pub(crate) updates: Vec<Vec<Update>>,
    /// By the number of the procedure.
    pub(crate) ends: Vec<Ends>,
    /// By the number of the block: the packet may end in it, other than by a parser's reject.
    pub(crate) block_stops: Vec<bool>,
    /// Statements and nodes of the program.
    pub(crate) weight: usize,
    /// All functions of the program are inlined into the fast path.
    pub(crate) is_small: bool,
    pub(crate) fast_path: FastPath,
    /// Packets use up steps.
    pub(crate) uses_steps: bool,
    /// By the number of the procedure: steps that a call takes, if it takes any.
    pub(crate) steps_of_call: Vec<u32>,
    /// Packets that began on the fast path may continue at the host.
    pub(crate) may_punt: bool,
    /// Something is packed or sent as a digest, which may find no room in a buffer of the worker.
    pub(crate) uses_buffers: bool,
    pub(crate) has_direct_meters: bool,
    /// A block up to the end of ingress may request something from the architecture.
    pub(crate) ingress_makes_requests: bool,
    /// Any block may.
    pub(crate) makes_requests: bool,
    /// Fields whose values punt a packet after ingress, where the program writes them.
    pub(crate) request_fields: Vec<FieldRole>,
    /// Fields of the architecture's metadata that the program reads.
    read_fields: Vec<FieldRole>,
}

impl Facts {
    pub(crate) fn new(program: &Program, mode: Mode) -> Facts {
        let is_traced = mode == Mode::Traced;
        let in_packet_fields = InPacketFields::new(program, is_traced);
        let fast_path = if is_traced { FastPath::None } else { FastPath::new(program) };
        let common_case = match mode {
            Mode::Fast if fast_path == FastPath::Reference => CommonCase::new(program, &in_packet_fields),
            Mode::Fast | Mode::Offload | Mode::Traced => CommonCase::default(),
        };
        let calls = Calls::new(program);
        let steps = Steps::new(program);
        let ends = ends::ends(program, &steps);
        let weight = weight::weight(program);
        let roles = program.fields.iter().map(|(role, _)| *role);
        Facts {
            storage: Storage::new(program, &calls, is_traced),
            in_packet_fields,
            common_case,
            calls,
            trace_points: if is_traced { TracePoints::new(program) } else { TracePoints::default() },
            tables: program.tables.iter().map(|(_, table)| TableKind::of(table)).collect(),
            updates: updates::updates(program, is_traced),
            block_stops: ends::block_stops(program, &ends),
            ends,
            weight,
            is_small: !is_traced
                && weight <= weight::SMALL_WEIGHT_MAX
                && steps.expanded_weight <= weight::SMALL_EXPANDED_WEIGHT_MAX,
            uses_steps: steps.any() || program.graphs().any(control_flow::has_loop),
            steps_of_call: steps.of_call,
            may_punt: match &fast_path {
                FastPath::Sections(sections) => sections.may_punt,
                FastPath::None | FastPath::Reference => requests::may_punt(program),
            },
            fast_path,
            uses_buffers: requests::uses_buffers(program),
            has_direct_meters: program.tables.iter().any(|(_, table)| table.direct_meter.is_some()),
            ingress_makes_requests: requests::makes_requests_in(program, BlockRole::Ingress),
            makes_requests: requests::makes_requests_in(program, BlockRole::Egress),
            request_fields: requests::request_fields(program).collect(),
            read_fields: roles.filter(|role| requests::is_read(program, *role)).collect(),
        }
    }

    /// The program reads the field, or a struct that holds it.
    pub(crate) fn is_read(&self, role: FieldRole) -> bool {
        self.read_fields.contains(&role)
    }

    /// Worker state (requests, buffers) may matter after a suspension.
    pub(crate) fn saves_worker_state(&self) -> bool {
        self.may_punt || self.uses_buffers
    }
}

/// Packets go the way that they go through the reference switch.
fn is_reference(program: &Program) -> bool {
    let has_drop_port = program.architecture.pipeline().is_some_and(|model| model.drop_port.is_some());
    let has_steps = program.architecture.has_steps_of_reference();
    has_steps && has_drop_port && program.field(FieldRole::EgressSpec).is_some()
}
