//! How an architecture strings programmable blocks together, and what their parameters and the fields of its
//! metadata mean to it.

use crate::Architecture;

/// What a programmable block is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BlockRole {
    Parser,
    VerifyChecksum,
    Ingress,
    Egress,
    ComputeChecksum,
    Deparser,
}

/// What a parameter of a programmable block is bound to. Blocks of one pipeline share one variable per role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ParamRole {
    /// `packet_in`, `packet_out`: the packet itself, no variable.
    Packet,
    Headers,
    /// The user's metadata.
    Metadata,
    /// The architecture's metadata, in or inout.
    StandardMetadata,
    /// What the program tells the architecture when that is a struct of its own.
    OutputMetadata,
    /// The filter's verdict.
    Accept,
    /// Length of the packet with the headers that have become valid or invalid, in bytes: a variable of the compiler's own.
    RunningLength,
    /// What the architecture tells a parser, when that is a struct of its own.
    ParserInput,
    /// Of a control in front of the parser.
    PreHeaders,
    PreMetadata,
    PreInput,
    PreOutput,
}

/// What a field of the architecture's metadata means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FieldRole {
    IngressPort,
    EgressSpec,
    EgressPort,
    InstanceType,
    PacketLength,
    EnqueueTimestamp,
    EnqueueDepth,
    DequeueTimeDelta,
    DequeueDepth,
    IngressTimestamp,
    EgressTimestamp,
    MulticastGroup,
    EgressInstance,
    ChecksumError,
    ParserError,
    Priority,
    /// What becomes of the packet: a member of an enum of actions.
    OutputAction,
    OutputPort,
}

/// A constructor parameter of the package that takes a block.
#[derive(Debug, PartialEq, Eq)]
pub struct BlockModel {
    pub role: BlockRole,
    /// In the order of the block's parameters.
    pub params: &'static [ParamRole],
}

/// The pipeline of an architecture.
#[derive(Debug, PartialEq, Eq)]
pub struct PipelineModel {
    /// In the order of the package's constructor parameters.
    pub blocks: &'static [BlockModel],
    /// Fields of shared variables with a meaning.
    pub fields: &'static [(ParamRole, &'static str, FieldRole)],
    /// The port that means "drop", when there is one.
    pub drop_port: Option<u32>,
}

const fn block(role: BlockRole, params: &'static [ParamRole]) -> BlockModel {
    BlockModel { role, params }
}

use BlockRole::{ComputeChecksum, Deparser, Egress, Ingress, Parser, VerifyChecksum};
use ParamRole::{
    Accept, Headers, Metadata, OutputMetadata, Packet, ParserInput, PreHeaders, PreInput, PreMetadata,
    PreOutput, StandardMetadata,
};

const V1MODEL: PipelineModel = PipelineModel {
    blocks: &[
        block(Parser, &[Packet, Headers, Metadata, StandardMetadata]),
        block(VerifyChecksum, &[Headers, Metadata]),
        block(Ingress, &[Headers, Metadata, StandardMetadata]),
        block(Egress, &[Headers, Metadata, StandardMetadata]),
        block(ComputeChecksum, &[Headers, Metadata]),
        block(Deparser, &[Packet, Headers]),
    ],
    fields: &[
        (StandardMetadata, "ingress_port", FieldRole::IngressPort),
        (StandardMetadata, "egress_spec", FieldRole::EgressSpec),
        (StandardMetadata, "egress_port", FieldRole::EgressPort),
        (StandardMetadata, "instance_type", FieldRole::InstanceType),
        (StandardMetadata, "packet_length", FieldRole::PacketLength),
        (StandardMetadata, "enq_timestamp", FieldRole::EnqueueTimestamp),
        (StandardMetadata, "enq_qdepth", FieldRole::EnqueueDepth),
        (StandardMetadata, "deq_timedelta", FieldRole::DequeueTimeDelta),
        (StandardMetadata, "deq_qdepth", FieldRole::DequeueDepth),
        (StandardMetadata, "ingress_global_timestamp", FieldRole::IngressTimestamp),
        (StandardMetadata, "egress_global_timestamp", FieldRole::EgressTimestamp),
        (StandardMetadata, "mcast_grp", FieldRole::MulticastGroup),
        (StandardMetadata, "egress_rid", FieldRole::EgressInstance),
        (StandardMetadata, "checksum_error", FieldRole::ChecksumError),
        (StandardMetadata, "parser_error", FieldRole::ParserError),
        (StandardMetadata, "priority", FieldRole::Priority),
    ],
    drop_port: Some(511),
};

const EBPF: PipelineModel = PipelineModel {
    blocks: &[block(Parser, &[Packet, Headers]), block(Ingress, &[Headers, Accept])],
    fields: &[],
    drop_port: None,
};

const UBPF: PipelineModel = PipelineModel {
    blocks: &[
        block(Parser, &[Packet, Headers, Metadata, StandardMetadata]),
        block(Ingress, &[Headers, Metadata, StandardMetadata]),
        block(Deparser, &[Packet, Headers]),
    ],
    fields: &[
        (StandardMetadata, "input_port", FieldRole::IngressPort),
        (StandardMetadata, "packet_length", FieldRole::PacketLength),
        (StandardMetadata, "output_action", FieldRole::OutputAction),
        (StandardMetadata, "output_port", FieldRole::OutputPort),
    ],
    drop_port: None,
};

const XDP: PipelineModel = PipelineModel {
    blocks: &[
        block(Parser, &[Packet, Headers]),
        block(Ingress, &[Headers, StandardMetadata, OutputMetadata]),
        block(Deparser, &[Headers, Packet]),
    ],
    fields: &[
        (StandardMetadata, "input_port", FieldRole::IngressPort),
        (OutputMetadata, "output_action", FieldRole::OutputAction),
        (OutputMetadata, "output_port", FieldRole::OutputPort),
    ],
    drop_port: None,
};

/// As far as it matters to those who look at what a program leaves behind: the control in front of the parser comes
/// behind it here, on headers of its own.
const PNA: PipelineModel = PipelineModel {
    blocks: &[
        block(Parser, &[Packet, Headers, Metadata, ParserInput]),
        block(Ingress, &[PreHeaders, PreMetadata, PreInput, PreOutput]),
        block(Ingress, &[Headers, Metadata, StandardMetadata, OutputMetadata]),
        block(Deparser, &[Packet, Headers, Metadata, OutputMetadata]),
    ],
    fields: &[],
    drop_port: None,
};

impl Architecture {
    /// How its blocks hang together for who looks at a program and does not run it.
    pub fn pipeline_to_look_at(self) -> Option<&'static PipelineModel> {
        match self {
            Architecture::Pna => Some(&PNA),
            Architecture::V1Model
            | Architecture::Ebpf
            | Architecture::Ubpf
            | Architecture::Xdp
            | Architecture::Psa => self.pipeline(),
        }
    }

    /// How its blocks hang together; `None` where programs cannot be run yet.
    pub fn pipeline(self) -> Option<&'static PipelineModel> {
        match self {
            Architecture::V1Model => Some(&V1MODEL),
            Architecture::Ebpf => Some(&EBPF),
            Architecture::Ubpf => Some(&UBPF),
            Architecture::Xdp => Some(&XDP),
            Architecture::Psa | Architecture::Pna => None,
        }
    }
}
