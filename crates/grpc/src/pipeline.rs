//! Forwarding pipeline configs: the one that runs, and one that is saved.

use crate::device::{ConfigFault, Device};
use control::Code;
use control::session::AnnotatedRoles;
use p4info::proto::p4::v1 as pb;
use pb::get_forwarding_pipeline_config_request::ResponseType;
use std::sync::Arc;

/// The programs of a switch. Locked while entities are written or read.
pub(crate) struct Pipelines<P> {
    running: Option<pb::ForwardingPipelineConfig>,
    saved: Option<(pb::ForwardingPipelineConfig, P)>,
    annotated: Arc<AnnotatedRoles>,
}

fn roles_of(config: Option<&pb::ForwardingPipelineConfig>) -> Arc<AnnotatedRoles> {
    let p4info = config.and_then(|config| config.p4info.as_ref());
    Arc::new(p4info.map(AnnotatedRoles::of).unwrap_or_default())
}

impl<P> Pipelines<P> {
    pub(crate) fn new(running: Option<pb::ForwardingPipelineConfig>) -> Pipelines<P> {
        let annotated = roles_of(running.as_ref());
        Pipelines { running, saved: None, annotated }
    }

    /// The config that reads and writes mean: the saved one, if there is one.
    pub(crate) fn addressed(&self) -> Option<&pb::ForwardingPipelineConfig> {
        self.saved.as_ref().map(|(config, _)| config).or(self.running.as_ref())
    }

    /// The program that takes entries instead of the running one.
    pub(crate) fn saved_program(&mut self) -> Option<&mut P> {
        self.saved.as_mut().map(|(_, program)| program)
    }

    /// The roles that the addressed program names.
    pub(crate) fn annotated_roles(&self) -> Arc<AnnotatedRoles> {
        Arc::clone(&self.annotated)
    }

    pub(crate) fn save(&mut self, config: pb::ForwardingPipelineConfig, program: P) {
        self.saved = Some((config, program));
        self.annotated = roles_of(self.addressed());
    }

    /// Runs a program, or the saved one.
    pub(crate) fn commit<D: Device<Program = P>>(
        &mut self,
        device: &D,
        new: Option<(pb::ForwardingPipelineConfig, P)>,
    ) -> Result<(), ConfigFault> {
        let Some((config, program)) = new.or_else(|| self.saved.take()) else {
            return Err(ConfigFault::new(Code::NotFound, "no forwarding pipeline config is saved"));
        };
        device.run(program)?;
        self.saved = None;
        self.annotated = roles_of(Some(&config));
        self.running = Some(config);
        Ok(())
    }

    /// The parts of the addressed config that are asked for.
    pub(crate) fn get(&self, response: ResponseType) -> Option<pb::ForwardingPipelineConfig> {
        let config = self.addressed()?;
        let (with_p4info, with_program) = match response {
            ResponseType::All => (true, true),
            ResponseType::CookieOnly => (false, false),
            ResponseType::P4infoAndCookie => (true, false),
            ResponseType::DeviceConfigAndCookie => (false, true),
        };
        Some(pb::ForwardingPipelineConfig {
            p4info: if with_p4info { config.p4info.clone() } else { None },
            p4_device_config: if with_program { config.p4_device_config.clone() } else { Vec::new() },
            cookie: config.cookie,
        })
    }
}
