//! The programmable blocks of an architecture in their order, and the meaning of their parameters and of the fields
//! of its metadata.

use crate::flow::{Effect, Section, Step};
use crate::roles::{BlockRole, FieldRole, IntrinsicValue, ParamRole};
use serde::Deserialize;

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
    /// The way of packets, which begins with the first one. Empty if programs cannot run.
    pub sections: Vec<Section>,
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

    /// Returns the fields that the architecture reads behind a block, before another block runs.
    pub fn fields_read_behind(&self, role: BlockRole) -> Vec<FieldRole> {
        let is_run = |step: &Step| step.effect == Effect::Run(role);
        let behind = |section: &'_ Section| section.steps.iter().position(is_run).map(|i| i + 1);
        let steps = self
            .sections
            .iter()
            .filter_map(|s| s.steps.get(behind(s)?..))
            .flat_map(|steps| steps.iter().take_while(|step| !matches!(step.effect, Effect::Run(_))));
        let mut fields: Vec<FieldRole> = steps.flat_map(Step::fields_read).collect();
        fields.sort_unstable();
        fields.dedup();
        fields
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

    #[test]
    fn architectures_read_fields_behind_blocks() {
        let read = |architecture: &str, role| {
            Architecture::of_name(architecture).unwrap().pipeline().unwrap().fields_read_behind(role)
        };
        assert_eq!(read("v1model", BlockRole::Parser), []);
        assert_eq!(
            read("v1model", BlockRole::Ingress),
            [FieldRole::EgressSpec, FieldRole::MulticastGroup, FieldRole::Priority]
        );
        assert_eq!(read("v1model", BlockRole::Egress), [FieldRole::EgressSpec]);
        assert_eq!(read("ubpf", BlockRole::Deparser), [FieldRole::OutputAction, FieldRole::OutputPort]);
    }
}
