//! Messages about the program of a switch.

use control::{ConfigParts, Fault, PipelineAction, PipelineChange, PipelineConfig, Problem};
use p4info::proto::p4::v1 as pb;

/// Decodes the program of a request.
pub fn decode_config(config: pb::ForwardingPipelineConfig) -> PipelineConfig {
    PipelineConfig {
        p4info: config.p4info,
        device_config: config.p4_device_config,
        cookie: config.cookie.map(|cookie| cookie.cookie),
    }
}

/// Encodes a program, or those of its parts that are there.
pub fn encode_config(config: PipelineConfig) -> pb::ForwardingPipelineConfig {
    pb::ForwardingPipelineConfig {
        p4info: config.p4info,
        p4_device_config: config.device_config,
        cookie: config.cookie.map(|cookie| pb::forwarding_pipeline_config::Cookie { cookie }),
    }
}

/// Decodes the action and the config of a `SetForwardingPipelineConfigRequest`. Device, role and election are not looked at.
pub fn decode_pipeline_change(
    request: pb::SetForwardingPipelineConfigRequest,
) -> Result<PipelineChange, Fault> {
    use pb::set_forwarding_pipeline_config_request::Action;
    let action = match Action::try_from(request.action) {
        Ok(Action::Verify) => PipelineAction::Verify,
        Ok(Action::VerifyAndSave) => PipelineAction::VerifyAndSave,
        Ok(Action::VerifyAndCommit) => PipelineAction::VerifyAndCommit,
        Ok(Action::Commit) => PipelineAction::Commit,
        Ok(Action::ReconcileAndCommit) => PipelineAction::ReconcileAndCommit,
        Ok(Action::Unspecified) => return Err(Problem::FieldNotSet { field: "action" }.into()),
        Err(_) => {
            return Err(Problem::UnknownEnumValue { field: "action", value: request.action }.into());
        }
    };
    PipelineChange::new(action, request.config.map(decode_config))
}

/// Decodes the `response_type` of a `GetForwardingPipelineConfigRequest`.
pub fn decode_config_parts(response_type: i32) -> Result<ConfigParts, Fault> {
    use pb::get_forwarding_pipeline_config_request::ResponseType;
    match ResponseType::try_from(response_type) {
        Ok(ResponseType::All) => Ok(ConfigParts::All),
        Ok(ResponseType::CookieOnly) => Ok(ConfigParts::Cookie),
        Ok(ResponseType::P4infoAndCookie) => Ok(ConfigParts::P4InfoAndCookie),
        Ok(ResponseType::DeviceConfigAndCookie) => Ok(ConfigParts::DeviceConfigAndCookie),
        Err(_) => Err(Problem::UnknownEnumValue { field: "response_type", value: response_type }.into()),
    }
}

/// Answers a `GetForwardingPipelineConfigRequest`. A switch without a program answers without a config.
pub fn config_response(
    config: Option<&PipelineConfig>,
    parts: ConfigParts,
) -> pb::GetForwardingPipelineConfigResponse {
    let config = config.map(|config| encode_config(config.parts(parts)));
    pb::GetForwardingPipelineConfigResponse { config }
}
