//! The programmable blocks of an architecture in their order, and the meaning of their parameters and of the fields
//! of its metadata.

use serde::Deserialize;

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
}

/// Writes to fields of metadata, in their order.
pub type IntrinsicWrites = Vec<(FieldRole, IntrinsicValue)>;

/// A constructor parameter of the package that takes a block.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockModel {
    pub role: BlockRole,
    /// In the order of the block's parameters.
    #[serde(rename = "parameters")]
    pub params: Vec<ParamRole>,
}

/// The pipeline of an architecture.
#[derive(Debug, PartialEq, Eq)]
pub struct PipelineModel {
    /// In the order of the package's constructor parameters.
    pub blocks: Vec<BlockModel>,
    /// Fields of shared variables with a meaning.
    pub fields: Vec<(ParamRole, String, FieldRole)>,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Architecture;

    #[test]
    fn ports_have_the_width_of_the_architecture() {
        let v1model = Architecture::v1model();
        let v1model = v1model.pipeline().unwrap();
        for (port, expected) in [
            (0, Ok(())),
            (510, Ok(())),
            (511, Err(PortFault::IsDropPort)),
            (512, Err(PortFault::TooLarge { max: 511 })),
        ] {
            assert_eq!(v1model.check_port(port), expected, "{port}");
        }
        let ubpf = Architecture::of_name("ubpf").unwrap();
        assert_eq!(ubpf.pipeline().unwrap().check_port(u32::MAX), Ok(()));
    }
}
