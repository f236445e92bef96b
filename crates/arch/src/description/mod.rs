//! Descriptions of architectures: everything that the compiler and the switch know of one.
//!
//! The built-in ones are the files in `descriptions/`; [`read`] reads any.

mod fault;
pub mod flow;
mod names;
mod read;
mod read_decisions;
mod read_flow;
mod read_writes;
mod show;

pub use fault::Fault;
pub use read::read;

use crate::{BlockRole, ControlPlaneExtern, ExternOp, ExternRole, ParamRole, PipelineModel, table_state};
use std::collections::HashMap;

/// An architecture as its description says.
#[derive(Debug)]
pub struct Description {
    /// The name in P4Info.
    pub name: String,
    /// The type of `main`.
    pub package: String,
    /// The include file that declares the package.
    pub include: String,
    pub version: Option<Version>,
    /// Packets can wait in the controls with the roles ingress and egress.
    pub has_asynchronous_blocks: bool,
    /// Packets are cut to no less than this.
    pub truncate_min_bytes: u32,
    /// The extern function whose calls send digests.
    pub digest_function: Option<DigestFunction>,
    pub table_properties: TableProperties,
    pub(crate) pipeline: Option<PipelineModel>,
    /// True when programs can be analysed, but not run.
    pub(crate) only_for_analysis: bool,
    /// By the name in the include file.
    pub(crate) functions: HashMap<String, ExternOp>,
    /// By the names of extern type and method.
    pub(crate) methods: HashMap<String, HashMap<String, ExternOp>>,
    pub(crate) externs: Vec<ControlPlaneExtern>,
}

/// The constant that holds the version of the include file.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Version {
    pub constant: String,
    pub first: u32,
    pub last: u32,
}

/// The extern function whose calls send digests.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DigestFunction {
    pub name: String,
    /// The position of the argument that is sent.
    pub argument: usize,
}

/// The value that makes a table notify the control plane of idle entries.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(untagged)]
pub enum IdleTimeout {
    /// `true`
    Flag(bool),
    /// This member of an enum.
    Member(String),
}

/// A table property that asks for notices of idle entries.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdleTimeoutProperty {
    pub name: String,
    pub value: IdleTimeout,
}

/// When the direct counters and meters of tables act.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DirectObjects {
    /// With every hit.
    #[default]
    OnHit,
    /// Only if an action of the table calls them.
    OnCall,
}

/// Names of table properties. Properties that an architecture does not have are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableProperties {
    pub implementation: Option<String>,
    /// The implementation is the kind of map behind a table, and no action profile.
    pub implementation_is_map: bool,
    pub direct_counter: Option<String>,
    pub direct_meter: Option<String>,
    pub direct_objects: DirectObjects,
    /// The action of hits whose group has no member.
    pub empty_group_action: Option<String>,
    pub idle_timeout: Option<IdleTimeoutProperty>,
    /// All properties that the architecture adds to those of the language; `None` if it may have others.
    pub known: Option<Vec<String>>,
}

impl Description {
    /// Fails if programs could not be run by the description, though each part of it is right. The built-in ones are known to.
    pub(crate) fn check_runs(&self) -> Result<(), Fault> {
        let fault = |message: String| Err(Fault { message, place: None });
        let Some(model) = self.pipeline.as_ref().filter(|_| !self.only_for_analysis) else { return Ok(()) };
        for block in &model.blocks {
            let name = &block.name;
            let is_with_packet = block.params.contains(&ParamRole::Packet);
            if matches!(block.role, BlockRole::Parser | BlockRole::Deparser) != is_with_packet {
                return fault(format!(
                    "the {name} {} the packet as a parameter",
                    if is_with_packet { "cannot have" } else { "needs" }
                ));
            }
        }
        for role in model.carried() {
            let is_of_decisions = model.decisions.iter().any(|decision| decision.variable == role);
            if !is_of_decisions && !model.blocks.iter().any(|block| block.params.contains(&role)) {
                return fault(format!("`carry` names {}, which no block takes", model.variable_name(role)));
            }
        }
        self.check_externs()?;
        let steps = |section: &'_ flow::Section| section.steps.len();
        let places = model.sections.iter().flat_map(|section| (0..steps(section)).map(move |i| (section, i)));
        for (section, i) in places {
            let step = &section.steps[i];
            let is_run = |role| {
                section.steps[..i].iter().any(|step| match step.effect {
                    flow::Effect::Run(block) => {
                        model.blocks.get(block).is_some_and(|block| block.role == role)
                    }
                    _ => false,
                })
            };
            let contents = match &step.effect {
                flow::Effect::Copy { contents, .. }
                | flow::Effect::Again { contents, .. }
                | flow::Effect::Send { contents, .. } => *contents,
                flow::Effect::Multicast { onward, .. }
                | flow::Effect::Queue { onward, .. }
                | flow::Effect::Next(onward) => onward.contents,
                _ => continue,
            };
            let missing = match contents {
                // The payload behind what is parsed, which is nothing, is what an accelerator has made.
                flow::Contents::Deparsed
                    if !is_run(BlockRole::Deparser) && !is_run(BlockRole::Accelerator) =>
                {
                    "deparser"
                }
                flow::Contents::ParsedAgain if !is_run(BlockRole::Parser) => "parser",
                _ => continue,
            };
            let (contents, name) = (flow::snake_case(&contents), &section.name);
            return fault(format!(
                "section `{name}`: a step has the contents `{contents}`, but no step before it runs the {missing}"
            ));
        }
        Ok(())
    }

    /// Fails if a method is an operation of objects of another kind than its type.
    fn check_externs(&self) -> Result<(), Fault> {
        const KINDS: [&str; 5] = ["direct_counter", "direct_meter", "counter", "meter", "register"];
        let fault = |message: String| Err(Fault { message, place: None });
        for of in &self.externs {
            if of.role == ExternRole::Register && of.data_type.is_none() {
                let what = "a register needs `data_type`, the position of the type parameter with its data";
                return fault(format!("`{}`: {what}", of.name));
            }
        }
        let is_of_objects =
            |op: &ExternOp| KINDS.iter().any(|kind| op.name().starts_with(&format!("{kind}_")));
        if let Some((function, op)) = self.functions.iter().find(|(_, op)| is_of_objects(op)) {
            return fault(format!(
                "the function `{function}` is {}, which only methods of objects can be",
                op.name()
            ));
        }
        for (object, methods) in &self.methods {
            let role = self.externs.iter().find(|of| of.name == *object).map(|of| flow::snake_case(&of.role));
            for (method, op) in methods {
                let name = op.name();
                let kind = KINDS
                    .into_iter()
                    .find(|kind| name.strip_prefix(kind).is_some_and(|r| r.starts_with('_')));
                let Some(kind) = kind.filter(|kind| role.as_deref() != Some(*kind)) else { continue };
                return fault(match &role {
                    Some(role) => {
                        format!(
                            "`{object}.{method}` is {name}, an operation of a {kind}, but {object} is a {role}"
                        )
                    }
                    None => format!("`{object}.{method}` is {name}, but `externs` has no {kind} `{object}`"),
                });
            }
        }
        Ok(())
    }

    /// True if a method of the extern type is the operation.
    pub fn has_operation(&self, object: &str, op: ExternOp) -> bool {
        self.methods.get(object).is_some_and(|methods| methods.values().any(|known| *known == op))
    }

    /// The operation of the extern function of that name, in the architecture or of tables with state;
    /// [`ExternOp::User`] if there is none.
    pub fn function(&self, name: &str) -> ExternOp {
        let own = self.functions.get(name).copied();
        own.or_else(|| table_state::function(name)).unwrap_or(ExternOp::User)
    }

    /// The operation of a method of an extern type, of the architecture or of tables with state; [`ExternOp::User`] if
    /// there is none.
    pub fn method(&self, object: &str, method: &str) -> ExternOp {
        let own = self.methods.get(object).and_then(|m| m.get(method)).copied();
        own.or_else(|| table_state::method(object, method)).unwrap_or(ExternOp::User)
    }
}
