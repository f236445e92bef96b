//! Messages of arbitration, and the role configs in them.

#![expect(deprecated, reason = "a numeric role id must be refused")]

use control::Code;
use control::session::{
    Arbitration, ConfigMessage, MetadataFilter, Notice, RoleConfig, RoleName, SessionFault, WriterClaim,
};
use p4info::proto::google::rpc::Status;
use p4info::proto::p4::v1 as pb;
use p4info::proto::{siding, stratum};
use prost::{Message, Name};
use smol_str::format_smolstr;
use std::sync::Arc;

/// Decodes the request of a controller to take part in an election. Fails if the role is named by a number, or if its config
/// is of an unknown type or damaged; the stream then ends.
pub fn decode_arbitration(message: pb::MasterArbitrationUpdate) -> Result<Arbitration, SessionFault> {
    let role = message.role.unwrap_or_default();
    if role.id != 0 {
        return Err(SessionFault::RoleById);
    }
    let config = role.config.map(decode_role_config).transpose()?;
    Ok(Arbitration {
        device_id: message.device_id,
        role: RoleName(role.name.into()),
        election_id: message.election_id.map(number),
        config: config.map(Arc::new),
    })
}

/// Encodes the state of a role for one of its controllers.
pub fn encode_notice(notice: &Notice) -> pb::StreamMessageResponse {
    let message = notice.config.as_ref().and_then(|config| config.message.as_ref());
    let config =
        message.map(|of| prost_types::Any { type_url: of.type_url.to_string(), value: of.value.clone() });
    let role = pb::Role { name: notice.role.0.to_string(), config, ..pb::Role::default() };
    let code = notice.status.unwrap_or(Code::Ok);
    let text = match code {
        Code::Ok => "this controller is the primary",
        Code::AlreadyExists => "another controller is the primary",
        Code::NotFound => "there is no primary",
        _ => code.name(),
    };
    let update = pb::MasterArbitrationUpdate {
        device_id: notice.device_id,
        role: (role != pb::Role::default()).then_some(role),
        election_id: notice.election_id.map(halves),
        status: Some(Status { code: code.number(), message: text.to_owned(), details: Vec::new() }),
    };
    let update = pb::stream_message_response::Update::Arbitration(update);
    pb::StreamMessageResponse { update: Some(update) }
}

/// Decodes the identity of the controller that sends a `WriteRequest`. Fails if the role is named by a number.
pub fn write_claim(request: &pb::WriteRequest) -> Result<WriterClaim, SessionFault> {
    claim(request.device_id, request.role_id, &request.role, request.election_id)
}

/// Decodes the identity of the controller that sends a `SetForwardingPipelineConfigRequest`. Fails if the role is named by a
/// number.
pub fn pipeline_claim(request: &pb::SetForwardingPipelineConfigRequest) -> Result<WriterClaim, SessionFault> {
    claim(request.device_id, request.role_id, &request.role, request.election_id)
}

fn claim(
    device_id: u64,
    role_id: u64,
    role: &str,
    election_id: Option<pb::Uint128>,
) -> Result<WriterClaim, SessionFault> {
    if role_id != 0 {
        return Err(SessionFault::RoleById);
    }
    Ok(WriterClaim { device_id, role: RoleName(role.into()), election_id: election_id.map(number) })
}

fn number(of: pb::Uint128) -> u128 {
    u128::from(of.high) << 64 | u128::from(of.low)
}

fn halves(number: u128) -> pb::Uint128 {
    pb::Uint128 { high: (number >> 64) as u64, low: number as u64 }
}

/// Decodes the config of a role: a `siding.v1.RoleConfig`, or Stratum's.
pub fn decode_role_config(any: prost_types::Any) -> Result<RoleConfig, SessionFault> {
    let name = any.type_url.rsplit('/').next().unwrap_or_default();
    let config = if name == siding::v1::RoleConfig::full_name() {
        own_config(siding::v1::RoleConfig::decode(&*any.value).map_err(damaged)?)
    } else if name == stratum::P4RoleConfig::full_name() {
        stratum_config(stratum::P4RoleConfig::decode(&*any.value).map_err(damaged)?)
    } else {
        let known = siding::v1::RoleConfig::full_name().into();
        return Err(SessionFault::UnknownRoleConfig { type_url: any.type_url.into(), known });
    };
    let message = ConfigMessage { type_url: any.type_url.into(), value: any.value };
    Ok(RoleConfig { message: Some(message), ..config })
}

fn damaged(error: prost::DecodeError) -> SessionFault {
    SessionFault::BadRoleConfig { why: format_smolstr!("{error}") }
}

fn own_config(config: siding::v1::RoleConfig) -> RoleConfig {
    let filter = |of: siding::v1::role_config::PacketFilter| MetadataFilter {
        metadata_id: of.metadata_id,
        values: of.values.into_iter().collect(),
    };
    RoleConfig {
        ids: config.shared_ids.into_iter().collect(),
        exclusive_ids: config.exclusive_ids.into_iter().collect(),
        read_only_ids: config.read_only_ids.into_iter().collect(),
        may_replicate: config.may_replicate,
        receives_packets: config.receives_packets,
        packet_filter: config.packet_filter.map(filter),
        may_send_packets: config.may_send_packets,
        may_set_pipeline: config.may_set_pipeline,
        message: None,
    }
}

/// Stratum's roles always send packets and replicate them.
fn stratum_config(config: stratum::P4RoleConfig) -> RoleConfig {
    let filter = |of: stratum::p4_role_config::PacketFilter| MetadataFilter {
        metadata_id: of.metadata_id,
        values: [of.value].into(),
    };
    RoleConfig {
        ids: config.shared_p4_ids.into_iter().collect(),
        exclusive_ids: config.exclusive_p4_ids.into_iter().collect(),
        may_replicate: true,
        receives_packets: config.receives_packet_ins,
        packet_filter: config
            .packet_in_filter
            .filter(|of| config.receives_packet_ins && !of.value.is_empty())
            .map(filter),
        may_send_packets: true,
        may_set_pipeline: config.can_push_pipeline,
        ..RoleConfig::default()
    }
}
