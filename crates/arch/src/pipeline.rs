//! The programmable blocks of an architecture in their order, and the meaning of their parameters and of the fields
//! of its metadata.

use crate::flow::{Effect, Section, SectionId, Step};
use crate::roles::{BlockIndex, BlockRole, FieldRole, IntrinsicWrites, ParamRole};

/// A constructor parameter of the package, or of a package that it takes, which is a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockModel {
    /// The name by which steps run the block. Without one of its own it is that of the role.
    pub name: String,
    pub role: BlockRole,
    /// In the order of the block's parameters.
    pub params: Vec<ParamRole>,
    /// Packages without this block are taken, too.
    pub is_optional: bool,
    /// The work of a block that is no parameter of the package.
    pub call: Option<ExternCall>,
}

/// A call of an extern function on the packet's bytes. Programs that write none of the fields of its arguments have no such
/// block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternCall {
    pub function: String,
    pub arguments: Vec<CallArgument>,
    /// Set when the function says that it has failed.
    pub failed: FieldRole,
    /// Set by the call.
    pub done: FieldRole,
}

/// The bits of several fields together, all but one of which are zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallArgument {
    pub width_bits: u32,
    pub fields: Vec<FieldRole>,
}

/// A method that tells the program what fields hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The result is whether this field is not zero.
    pub result: FieldRole,
    /// Fields that `out` arguments receive, in order. The number of a member stands for a member of an enum.
    pub arguments: Vec<FieldRole>,
}

/// A port with a meaning of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecialPort {
    pub name: String,
    pub number: u32,
    /// The constant of the program that has the same number.
    pub constant: Option<String>,
}

/// A decision of the program that its architecture keeps: a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// [`ParamRole::Decisions`], or a variable of the description, which steps can carry.
    pub variable: ParamRole,
    pub field: FieldRole,
    pub width_bits: u32,
}

/// An assignment of an extern function to a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    pub field: FieldRole,
    pub value: AssignedValue,
    /// The assignment is done where this argument has this value.
    pub when: Option<(usize, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssignedValue {
    Number(u64),
    /// By its position.
    Argument(usize),
}

/// A function or method that the description explains, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainedFunction {
    /// `type.method` for methods.
    pub name: String,
    /// The table of the description: `assignments`, `reserved`, `only_in`, `predicates`, `answers`.
    pub list: String,
    /// The line of the description, from 1.
    pub line: usize,
}

/// A term of a predicate: a field of one of the arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PredicateTerm {
    pub is_negated: bool,
    pub field: String,
    /// The field has this number; otherwise it is not zero.
    pub number: Option<u32>,
}

/// Rules for queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct QueueRules {
    /// Packets for ports that do not exist are dropped before they wait.
    pub checks_port: bool,
    /// A priority that queues do not have is 0; otherwise the packet is dropped.
    pub unknown_priority_is_zero: bool,
}

/// A clone session that is there from the start, with one copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitialSession {
    pub id: u32,
    pub port: u32,
}

/// The pipeline of an architecture.
#[derive(Debug, PartialEq, Eq)]
pub struct PipelineModel {
    /// In the order of the package's constructor parameters.
    pub blocks: Vec<BlockModel>,
    /// The way of packets, which begins with the first one. Empty if programs cannot run.
    pub sections: Vec<Section>,
    /// A variable is the other one where their types are equal.
    pub aliases: Vec<(ParamRole, ParamRole)>,
    /// Members of the enum of directions: from the network, from the host.
    pub directions: Option<[String; 2]>,
    /// The names of variables beyond those that every description knows.
    pub variables: Vec<String>,
    /// The names of meanings beyond those that every description knows.
    pub meanings: Vec<String>,
    /// Fields of shared variables with a meaning. Those with one meaning are written together, and the first is read.
    pub fields: Vec<(ParamRole, String, FieldRole)>,
    /// Those of one variable are members of one struct.
    pub decisions: Vec<Decision>,
    /// Extern functions and methods (`type.method`) that decide, by name.
    pub assignments: Vec<(String, Vec<Assignment>)>,
    /// Numbers that arguments of functions and methods cannot be, by name: the position of the argument and the number.
    pub reserved: Vec<(String, Vec<(usize, u64)>)>,
    /// The blocks in which functions and methods may be called, by name. Others may be called everywhere.
    pub only_in: Vec<(String, Vec<String>)>,
    /// The functions and methods that the description explains, each once for each of its tables.
    pub explained: Vec<ExplainedFunction>,
    /// Extern functions whose result is a condition on fields of their arguments, by name.
    pub predicates: Vec<(String, Vec<PredicateTerm>)>,
    /// Methods that answer with fields, by name: `type.method`.
    pub answers: Vec<(String, Answer)>,
    /// Written before the parser, also for copies that are parsed again.
    pub at_arrival: IntrinsicWrites,
    /// Written when a packet goes from ingress to its queue. Empty without queues.
    pub at_enqueue: IntrinsicWrites,
    /// Written when a packet leaves its queue for egress. Empty without queues.
    pub at_dequeue: IntrinsicWrites,
    /// The port that means "drop", when there is one.
    pub drop_port: Option<u32>,
    pub special_ports: Vec<SpecialPort>,
    pub queue: QueueRules,
    pub session: Option<InitialSession>,
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

    /// Returns the number of the port that a description calls `name`.
    pub fn special_port(&self, name: &str) -> Option<u32> {
        self.special_ports.iter().find(|port| port.name == name).map(|port| port.number)
    }

    /// Returns the first block of a role.
    pub fn block(&self, role: BlockRole) -> Option<BlockIndex> {
        self.blocks.iter().position(|block| block.role == role)
    }

    /// Returns the name of a variable in the description.
    pub fn variable_name(&self, role: ParamRole) -> String {
        match role {
            ParamRole::Named(index) => self.variables.get(usize::from(index)).cloned().unwrap_or_default(),
            known => crate::description::flow::snake_case(&known),
        }
    }

    /// Returns the name of a meaning in the description.
    pub fn meaning_name(&self, role: FieldRole) -> String {
        match role {
            FieldRole::Named(index) => self.meanings.get(usize::from(index)).cloned().unwrap_or_default(),
            known => crate::description::flow::snake_case(&known),
        }
    }

    /// The variables that packets carry from one section to another.
    pub fn carried(&self) -> Vec<ParamRole> {
        let mut carried: Vec<ParamRole> =
            self.sections.iter().flat_map(|s| &s.steps).filter_map(|step| step.effect.carried()).collect();
        carried.sort_unstable();
        carried.dedup();
        carried
    }

    /// Packets may come to a block from any other: sections begin anew with what another one has made.
    pub fn begins_anew(&self) -> bool {
        self.sections.iter().any(|section| section.writes.is_some())
    }

    /// Returns the fields that the architecture reads behind a block, before another block runs.
    pub fn fields_read_behind(&self, role: BlockRole) -> Vec<FieldRole> {
        let Some(block) = self.block(role) else { return Vec::new() };
        let is_run = |step: &Step| step.effect == Effect::Run(block);
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

    /// Returns all fields that the steps of the architecture read.
    pub fn fields_read(&self) -> Vec<FieldRole> {
        let mut fields: Vec<FieldRole> =
            self.sections.iter().flat_map(|s| &s.steps).flat_map(Step::fields_read).collect();
        fields.sort_unstable();
        fields.dedup();
        fields
    }

    /// The sections that packets reach from their arrival by steps whose effects are among `by`.
    fn reached(
        &self,
        from: impl IntoIterator<Item = SectionId>,
        by: impl Fn(&Effect) -> Option<SectionId>,
    ) -> Vec<SectionId> {
        let mut reached: Vec<SectionId> = from.into_iter().collect();
        let mut n_seen = 0;
        while let Some(id) = reached.get(n_seen).copied() {
            n_seen += 1;
            let steps = self.sections.get(id).map_or(&[][..], |section| &section.steps);
            for to in steps.iter().filter_map(|step| by(&step.effect)) {
                if !reached.contains(&to) {
                    reached.push(to);
                }
            }
        }
        reached.sort_unstable();
        reached
    }

    /// The sections to which packets come from their port without a queue.
    pub fn sections_without_queue(&self) -> Vec<SectionId> {
        self.reached([0], next)
    }

    /// The sections to which packets come through a queue.
    pub fn sections_behind_queue(&self) -> Vec<SectionId> {
        let steps = self.sections.iter().flat_map(|section| &section.steps);
        let queued = steps.filter_map(|step| match &step.effect {
            Effect::Queue { onward, .. } | Effect::Multicast { onward, .. } => Some(onward.to),
            Effect::Copy { to, .. } => Some(*to),
            _ => None,
        });
        let queued: Vec<SectionId> = queued.collect();
        self.reached(queued, next)
    }

    /// Returns the number that stands for no port, neither a destination nor a drop.
    pub fn no_port(&self) -> u64 {
        self.drop_port.map_or(0, |drop| u64::from(drop) + 1)
    }
}

/// The section in which a packet goes on at once.
fn next(effect: &Effect) -> Option<SectionId> {
    match effect {
        Effect::Next(onward) => Some(onward.to),
        _ => None,
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
