//! The programmable blocks of an architecture in their order, and the meaning of their parameters and of the fields
//! of its metadata.

use crate::Architecture;

/// The role of a programmable block in its architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BlockRole {
    Parser,
    VerifyChecksum,
    Ingress,
    Egress,
    ComputeChecksum,
    Deparser,
}

/// The variable to which a parameter of a programmable block is bound. Blocks of one pipeline share one variable per
/// role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ParamRole {
    /// `packet_in`, `packet_out`: the packet itself, no variable.
    Packet,
    Headers,
    /// The user's metadata.
    Metadata,
    /// The architecture's metadata, in or inout.
    StandardMetadata,
    /// The program's output to the architecture, if that is a separate struct.
    OutputMetadata,
    /// The filter's verdict.
    Accept,
    /// Length of the packet with the headers that have become valid or invalid, in bytes: a variable of the compiler's own.
    RunningLength,
    /// The architecture's input to a parser, if that is a separate struct.
    ParserInput,
    /// Headers of a control in front of the parser (PNA's pre-control).
    PreHeaders,
    PreMetadata,
    PreInput,
    PreOutput,
}

/// The meaning of a field of the architecture's metadata.
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
    /// The packet's verdict: a member of an enum of actions.
    OutputAction,
    OutputPort,
}

/// A value that the architecture itself writes to a field of its metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntrinsicValue {
    /// The port of arrival.
    IngressPort,
    /// Length of the packet's bytes.
    PacketBytes,
    /// Time of arrival in microseconds.
    ArrivalTime,
    /// The present time in microseconds.
    Now,
    /// Number that says how the packet came here: from a port, cloned, recirculated.
    PassKind,
    /// The port of the packet's queue.
    EgressPort,
    /// Number of the packet's replica, 0 outside of multicast.
    ReplicaInstance,
    /// Number of packets in the queue.
    QueueDepth,
    /// Time in the queue in microseconds.
    QueueingTime,
    /// A number that is no port and does not drop: what ingress chose does not reach egress.
    NoPort,
}

/// Writes to fields of metadata, in their order.
pub type IntrinsicWrites = &'static [(FieldRole, IntrinsicValue)];

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
    /// Written before the parser, also for copies that are parsed again.
    pub at_arrival: IntrinsicWrites,
    /// Written when a packet goes from ingress to its queue. Empty without queues.
    pub at_enqueue: IntrinsicWrites,
    /// Written when a packet leaves its queue for egress. Empty without queues.
    pub at_dequeue: IntrinsicWrites,
    /// The port that means "drop", when there is one.
    pub drop_port: Option<u32>,
    /// Width of port numbers in bits, at most 32.
    pub port_width_bits: u32,
}

/// The error for a port number at which no packet can arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortFault {
    /// The largest port number of the architecture.
    TooLarge {
        max: u32,
    },
    IsDropPort,
}

impl std::fmt::Display for PortFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PortFault::TooLarge { max } => {
                write!(f, "the largest port of this architecture is {max}")
            }
            PortFault::IsDropPort => write!(f, "packets to this port are dropped: it is the drop port"),
        }
    }
}

impl PipelineModel {
    /// Fails if `port` cannot be a port of a switch.
    pub fn check_port(&self, port: u32) -> Result<(), PortFault> {
        let max = u32::MAX >> (u32::BITS - self.port_width_bits.clamp(1, u32::BITS));
        if port > max {
            return Err(PortFault::TooLarge { max });
        }
        if self.drop_port == Some(port) {
            return Err(PortFault::IsDropPort);
        }
        Ok(())
    }

    /// Returns the number that stands for no port, neither a destination nor a drop.
    pub fn no_port(&self) -> u64 {
        self.drop_port.map_or(0, |drop| u64::from(drop) + 1)
    }
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
    at_arrival: &[
        (FieldRole::IngressPort, IntrinsicValue::IngressPort),
        (FieldRole::PacketLength, IntrinsicValue::PacketBytes),
        (FieldRole::IngressTimestamp, IntrinsicValue::ArrivalTime),
        (FieldRole::InstanceType, IntrinsicValue::PassKind),
    ],
    at_enqueue: &[
        (FieldRole::InstanceType, IntrinsicValue::PassKind),
        (FieldRole::EgressInstance, IntrinsicValue::ReplicaInstance),
        (FieldRole::EnqueueTimestamp, IntrinsicValue::Now),
        (FieldRole::EnqueueDepth, IntrinsicValue::QueueDepth),
    ],
    at_dequeue: &[
        (FieldRole::EgressTimestamp, IntrinsicValue::Now),
        (FieldRole::DequeueTimeDelta, IntrinsicValue::QueueingTime),
        (FieldRole::DequeueDepth, IntrinsicValue::QueueDepth),
        (FieldRole::EgressPort, IntrinsicValue::EgressPort),
        (FieldRole::EgressSpec, IntrinsicValue::NoPort),
    ],
    drop_port: Some(511),
    port_width_bits: 9,
};

const EBPF: PipelineModel = PipelineModel {
    blocks: &[block(Parser, &[Packet, Headers]), block(Ingress, &[Headers, Accept])],
    fields: &[],
    at_arrival: &[],
    at_enqueue: &[],
    at_dequeue: &[],
    drop_port: None,
    port_width_bits: 32,
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
    at_arrival: &[
        (FieldRole::IngressPort, IntrinsicValue::IngressPort),
        (FieldRole::PacketLength, IntrinsicValue::PacketBytes),
    ],
    at_enqueue: &[],
    at_dequeue: &[],
    drop_port: None,
    port_width_bits: 32,
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
    at_arrival: &[(FieldRole::IngressPort, IntrinsicValue::IngressPort)],
    at_enqueue: &[],
    at_dequeue: &[],
    drop_port: None,
    port_width_bits: 32,
};

/// An order of the blocks for analyses of a program's state: the control in front of the parser runs behind it here,
/// on headers of its own.
const PNA: PipelineModel = PipelineModel {
    blocks: &[
        block(Parser, &[Packet, Headers, Metadata, ParserInput]),
        block(Ingress, &[PreHeaders, PreMetadata, PreInput, PreOutput]),
        block(Ingress, &[Headers, Metadata, StandardMetadata, OutputMetadata]),
        block(Deparser, &[Packet, Headers, Metadata, OutputMetadata]),
    ],
    fields: &[],
    at_arrival: &[],
    at_enqueue: &[],
    at_dequeue: &[],
    drop_port: None,
    port_width_bits: 32,
};

impl Architecture {
    /// Returns the block structure for analyses (`siding sim`, `graph`), also for architectures that cannot run yet.
    pub fn analysis_pipeline(self) -> Option<&'static PipelineModel> {
        match self {
            Architecture::Pna => Some(&PNA),
            Architecture::V1Model
            | Architecture::Ebpf
            | Architecture::Ubpf
            | Architecture::Xdp
            | Architecture::Psa => self.pipeline(),
        }
    }

    /// Returns the block structure; `None` if programs of this architecture cannot run yet.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_have_the_width_of_the_architecture() {
        for (port, expected) in [
            (0, Ok(())),
            (510, Ok(())),
            (511, Err(PortFault::IsDropPort)),
            (512, Err(PortFault::TooLarge { max: 511 })),
        ] {
            assert_eq!(V1MODEL.check_port(port), expected, "{port}");
        }
        assert_eq!(UBPF.check_port(u32::MAX), Ok(()));
    }
}
