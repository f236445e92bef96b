//! Forwarding pipeline configs: the one that runs, and one that is saved.

use crate::device::{ConfigFault, Device};
use control::session::AnnotatedRoles;
use control::translate::{Options, TranslationError, Translator};
use control::{Code, Fault, PacketIo, Schema};
use p4info::proto::p4::config::v1::P4Info;
use p4info::proto::p4::v1 as pb;
use pb::get_forwarding_pipeline_config_request::ResponseType;
use std::sync::Arc;

/// A program as controllers see it.
pub(crate) struct View {
    config: pb::ForwardingPipelineConfig,
    /// That of the program, by which it is recognised.
    p4info: Arc<P4Info>,
    packets: Result<PacketIo, Fault>,
}

impl View {
    /// A config without a P4Info gets that of its program.
    fn new(mut config: pb::ForwardingPipelineConfig, schema: &Schema) -> View {
        config.p4info.get_or_insert_with(|| (*schema.p4info).clone());
        View { config, p4info: Arc::clone(&schema.p4info), packets: PacketIo::new(schema) }
    }

    fn annotated_roles(&self) -> Arc<AnnotatedRoles> {
        Arc::new(self.config.p4info.as_ref().map(AnnotatedRoles::of).unwrap_or_default())
    }
}

/// Fails if ids of a controller's P4Info are not those of their kinds, or if values cannot be translated.
fn checked(
    translator: &mut Translator,
    config: &pb::ForwardingPipelineConfig,
    schema: &Schema,
) -> Result<(), ConfigFault> {
    if config.p4info.is_some() {
        schema.check_ids().map_err(|error| ConfigFault::invalid(format!("`p4info`: {error}")))?;
    }
    let adopted = translator.adopt(schema, |by| schema.widths.get(by));
    adopted.map_err(|error| ConfigFault::invalid(error.to_string()))
}

/// A program that does not run yet.
pub(crate) struct New<P> {
    view: View,
    pub(crate) program: P,
    /// Knows the values of the running program and of this one.
    pub(crate) translator: Translator,
}

/// The programs of a switch. Locked for each step of what writes or reads entities.
pub(crate) struct Pipelines<P> {
    running: Option<View>,
    /// That of the running program.
    translator: Translator,
    saved: Option<New<P>>,
    annotated: Arc<AnnotatedRoles>,
}

impl<P> Pipelines<P> {
    pub(crate) fn new(translation: Options) -> Pipelines<P> {
        let translator = Translator::new(translation);
        Pipelines { running: None, translator, saved: None, annotated: Arc::default() }
    }

    /// Adopts the program that runs, if somebody else than a controller has brought it.
    pub(crate) fn notice(&mut self, schema: &Schema) -> Result<(), TranslationError> {
        if self.running.as_ref().is_some_and(|view| Arc::ptr_eq(&view.p4info, &schema.p4info)) {
            return Ok(());
        }
        self.translator.adopt(schema, |by| schema.widths.get(by))?;
        self.running = Some(View::new(pb::ForwardingPipelineConfig::default(), schema));
        self.find_roles();
        Ok(())
    }

    /// Translates values of the running program.
    pub(crate) fn translator(&mut self) -> &mut Translator {
        &mut self.translator
    }

    /// The headers of the running program for packets from and to controllers.
    pub(crate) fn packets(&self) -> Result<PacketIo, Fault> {
        self.running.as_ref().map_or_else(|| Ok(PacketIo::default()), |view| view.packets.clone())
    }

    /// The program that takes entries instead of the running one.
    pub(crate) fn saved(&mut self) -> Option<&mut New<P>> {
        self.saved.as_mut()
    }

    /// The roles that the addressed program names.
    pub(crate) fn annotated_roles(&self) -> Arc<AnnotatedRoles> {
        Arc::clone(&self.annotated)
    }

    fn find_roles(&mut self) {
        self.annotated = self.addressed().map(View::annotated_roles).unwrap_or_default();
    }

    /// The program that reads and writes mean: the saved one, if there is one.
    fn addressed(&self) -> Option<&View> {
        self.saved.as_ref().map(|saved| &saved.view).or(self.running.as_ref())
    }

    /// Completes a program with its config. Fails if its values cannot be translated.
    pub(crate) fn adopt<D: Device<Program = P>>(
        &self,
        device: &D,
        config: pb::ForwardingPipelineConfig,
        mut program: P,
    ) -> Result<New<P>, ConfigFault> {
        let mut translator = self.translator.clone();
        let (mut config, mut view) = (Some(config), None);
        device.with_prepared(&mut program, &mut |schema, _| {
            let Some(config) = config.take() else { return };
            view = Some(checked(&mut translator, &config, schema).map(|()| View::new(config, schema)));
        });
        let view = view.unwrap_or_else(|| Err(ConfigFault::new(Code::Internal, "there is no program")))?;
        Ok(New { view, program, translator })
    }

    pub(crate) fn save(&mut self, new: New<P>) {
        self.saved = Some(new);
        self.find_roles();
    }

    /// Runs a program, or the saved one.
    pub(crate) fn commit<D: Device<Program = P>>(
        &mut self,
        device: &D,
        new: Option<New<P>>,
    ) -> Result<(), ConfigFault> {
        let Some(New { view, program, translator }) = new.or_else(|| self.saved.take()) else {
            return Err(ConfigFault::new(Code::NotFound, "no forwarding pipeline config is saved"));
        };
        device.run(program)?;
        self.saved = None;
        self.running = Some(view);
        self.translator = translator;
        self.find_roles();
        Ok(())
    }

    /// The parts of the addressed config that are asked for.
    pub(crate) fn get(&self, response: ResponseType) -> Option<pb::ForwardingPipelineConfig> {
        let config = &self.addressed()?.config;
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
