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
    /// Headers of a control in front of the parser (PNA's pre-control).
    PreHeaders,
    PreMetadata,
    PreInput,
    PreOutput,
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
}
