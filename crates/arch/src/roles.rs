//! The parts that blocks, parameters, fields and values have in an architecture.

use serde::{Deserialize, Serialize};

/// The role of a programmable block in its architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockRole {
    Parser,
    VerifyChecksum,
    Ingress,
    Egress,
    ComputeChecksum,
    Deparser,
    /// A call of an extern function on the packet's bytes, which no package has as a parameter.
    Accelerator,
}

/// The variable to which a parameter of a programmable block is bound. Blocks of one pipeline share one variable per
/// role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
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
    /// Decisions of the program that its architecture keeps: a struct of the compiler's own.
    Decisions,
    /// A variable of the description, by its index in [`PipelineModel::variables`](crate::PipelineModel::variables).
    #[serde(skip)]
    Named(u8),
    /// A parameter to which no description gives a meaning. Each is a variable of its own.
    #[serde(skip)]
    Own,
}

/// The meaning of a field of the architecture's metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
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
    /// A meaning of the description, by its index in [`PipelineModel::meanings`](crate::PipelineModel::meanings).
    #[serde(skip)]
    Named(u8),
}

impl FieldRole {
    /// Number of meanings that every description knows.
    const N_KNOWN: usize = FieldRole::OutputPort.known_number() + 1;

    /// A number for each meaning: those that every description knows come first, as in `enum sd_field_role`.
    pub const fn number(self) -> usize {
        match self {
            FieldRole::Named(index) => FieldRole::N_KNOWN + index as usize,
            known => known.known_number(),
        }
    }

    const fn known_number(self) -> usize {
        match self {
            FieldRole::IngressPort => 0,
            FieldRole::EgressSpec => 1,
            FieldRole::EgressPort => 2,
            FieldRole::InstanceType => 3,
            FieldRole::PacketLength => 4,
            FieldRole::EnqueueTimestamp => 5,
            FieldRole::EnqueueDepth => 6,
            FieldRole::DequeueTimeDelta => 7,
            FieldRole::DequeueDepth => 8,
            FieldRole::IngressTimestamp => 9,
            FieldRole::EgressTimestamp => 10,
            FieldRole::MulticastGroup => 11,
            FieldRole::EgressInstance => 12,
            FieldRole::ChecksumError => 13,
            FieldRole::ParserError => 14,
            FieldRole::Priority => 15,
            FieldRole::OutputAction => 16,
            FieldRole::OutputPort => 17,
            FieldRole::Named(_) => 18,
        }
    }
}

/// Why a packet goes through (a part of) the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PassKind {
    Normal,
    Resubmitted,
    Recirculated,
    ClonedFromIngress,
    ClonedFromEgress,
    Multicast,
    FromController,
    /// A copy that leaves without another pass.
    Mirrored,
}

/// A value that the architecture itself writes to a field of its metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntrinsicValue {
    /// The port of arrival.
    IngressPort,
    /// Length of the packet's bytes.
    PacketBytes,
    /// Time of arrival in microseconds.
    ArrivalTime,
    /// The present time in microseconds.
    Now,
    /// The present time in nanoseconds.
    NowNs,
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
    /// The member of the enum of actions that lets the packet pass.
    PassVerdict,
    /// The member of the field's enum that the section has for the kind of the pass.
    Path,
    /// The priority of the packet's queue, which PSA calls class of service.
    Priority,
    /// How often the packet has begun again.
    Round,
    /// 1 if the packet has begun again.
    IsFurtherRound,
    /// The member of the field's enum for the direction: from the network for ports of the network, else from the host.
    Direction,
    #[serde(skip)]
    Number(u64),
}

/// Index into [`PipelineModel::blocks`](crate::PipelineModel::blocks).
pub type BlockIndex = usize;

/// Writes to fields of metadata, in their order.
pub type IntrinsicWrites = Vec<(FieldRole, IntrinsicValue)>;
