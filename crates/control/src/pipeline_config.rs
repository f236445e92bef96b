//! Programs of a switch as controllers set and read them (P4Runtime, "SetForwardingPipelineConfig RPC").

use p4info::P4Info;

use crate::fault::{Fault, Problem};

/// A program as a controller has given it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PipelineConfig {
    pub p4info: Option<P4Info>,
    /// The compiled program, in a form that only the switch knows.
    pub device_config: Vec<u8>,
    /// Chosen by the controller, to recognise a program. 0 is a cookie.
    pub cookie: Option<u64>,
}

/// The parts of a [`PipelineConfig`] that a controller asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConfigParts {
    All,
    Cookie,
    P4InfoAndCookie,
    DeviceConfigAndCookie,
}

impl PipelineConfig {
    /// Returns these parts, as they were given.
    pub fn parts(&self, parts: ConfigParts) -> PipelineConfig {
        let has_p4info = matches!(parts, ConfigParts::All | ConfigParts::P4InfoAndCookie);
        let has_device_config = matches!(parts, ConfigParts::All | ConfigParts::DeviceConfigAndCookie);
        PipelineConfig {
            p4info: self.p4info.clone().filter(|_| has_p4info),
            device_config: if has_device_config { self.device_config.clone() } else { Vec::new() },
            cookie: self.cookie,
        }
    }
}

/// A request to change the program of a switch.
#[derive(Clone, Debug, PartialEq)]
pub enum PipelineChange {
    /// Says whether the program could run. Changes nothing.
    Verify(PipelineConfig),
    /// Accepts writes for the program, while packets go through the old one.
    VerifyAndSave(PipelineConfig),
    /// Runs the program with its initial entries.
    VerifyAndCommit(PipelineConfig),
    /// Runs the program that was saved.
    Commit,
    /// Runs the program with the entities that were written for the old one.
    ReconcileAndCommit(PipelineConfig),
}

/// Kinds of [`PipelineChange`], before the config is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PipelineAction {
    Verify,
    VerifyAndSave,
    VerifyAndCommit,
    Commit,
    ReconcileAndCommit,
}

impl PipelineChange {
    /// Puts an action and the config that came with it together. Fails if a config is missing, or has no P4Info, or if there
    /// must be none.
    pub fn new(action: PipelineAction, config: Option<PipelineConfig>) -> Result<PipelineChange, Fault> {
        let change = match action {
            PipelineAction::Verify => PipelineChange::Verify,
            PipelineAction::VerifyAndSave => PipelineChange::VerifyAndSave,
            PipelineAction::VerifyAndCommit => PipelineChange::VerifyAndCommit,
            PipelineAction::ReconcileAndCommit => PipelineChange::ReconcileAndCommit,
            PipelineAction::Commit => {
                return match config {
                    None => Ok(PipelineChange::Commit),
                    Some(_) => Err(Problem::ConfigWithCommit.into()),
                };
            }
        };
        let config = config.ok_or(Problem::FieldNotSet { field: "config" })?;
        if config.p4info.is_none() {
            return Err(Fault::from(Problem::FieldNotSet { field: "p4info" }).inside("config"));
        }
        Ok(change(config))
    }
}
