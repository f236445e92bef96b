//! Messages of arbitration.

#![expect(deprecated, reason = "a numeric role id must be refused")]

use control::Code;
use control::session::{MetadataFilter, Notice, RoleConfig, RoleName, SessionFault, Sessions, StreamId};
use p4info::proto::p4::v1 as pb;
use p4info::proto::{siding, stratum};
use prost::{Message, Name};
use std::sync::Arc;

fn any<M: Message + Name>(message: &M) -> prost_types::Any {
    prost_types::Any { type_url: M::type_url(), value: message.encode_to_vec() }
}

fn arbitration(name: &str, config: Option<prost_types::Any>) -> pb::MasterArbitrationUpdate {
    let election_id = Some(pb::Uint128 { high: 1, low: 2 });
    let role = Some(pb::Role { name: name.to_owned(), config, ..pb::Role::default() });
    pb::MasterArbitrationUpdate { device_id: 3, role, election_id, status: None }
}

fn own() -> siding::v1::RoleConfig {
    siding::v1::RoleConfig {
        shared_ids: vec![5, 4, 5],
        exclusive_ids: vec![6],
        read_only_ids: vec![7],
        may_replicate: true,
        receives_packets: true,
        packet_filter: Some(siding::v1::role_config::PacketFilter {
            metadata_id: 8,
            values: vec![b"\x01".to_vec(), b"\0\x02".to_vec()],
        }),
        may_send_packets: true,
        may_set_pipeline: true,
    }
}

fn notice(notice: &Notice) -> pb::MasterArbitrationUpdate {
    match p4runtime::encode_notice(notice).update {
        Some(pb::stream_message_response::Update::Arbitration(update)) => update,
        other => panic!("{other:?}"),
    }
}

#[test]
fn b1_no_role_an_empty_one_and_one_without_a_name_are_the_same() {
    let named = arbitration("", None);
    let without = pb::MasterArbitrationUpdate { role: None, ..named.clone() };
    let request = p4runtime::decode_arbitration(named).unwrap();
    assert_eq!((request.device_id, request.election_id), (3, Some(1 << 64 | 2)));
    assert!(request.role.is_default() && request.config.is_none());
    assert_eq!(p4runtime::decode_arbitration(without), Ok(request));

    let by_id = pb::Role { id: 1, ..pb::Role::default() };
    let by_id = pb::MasterArbitrationUpdate { role: Some(by_id), ..arbitration("", None) };
    assert_eq!(p4runtime::decode_arbitration(by_id), Err(SessionFault::RoleById));
    let write = pb::WriteRequest { role_id: 1, ..pb::WriteRequest::default() };
    assert_eq!(p4runtime::write_claim(&write), Err(SessionFault::RoleById));
    let set = pb::SetForwardingPipelineConfigRequest { role_id: 1, ..Default::default() };
    assert_eq!(p4runtime::pipeline_claim(&set).map_err(|fault| fault.code()), Err(Code::InvalidArgument));
}

/// An election id of zero is one; none is not.
#[test]
fn a6_zero_is_an_election_id() {
    let election_id = Some(pb::Uint128 { high: 0, low: 0 });
    let zero = pb::MasterArbitrationUpdate { election_id, ..arbitration("x", None) };
    assert_eq!(p4runtime::decode_arbitration(zero).unwrap().election_id, Some(0));
    let none = pb::MasterArbitrationUpdate { election_id: None, ..arbitration("x", None) };
    assert_eq!(p4runtime::decode_arbitration(none).unwrap().election_id, None);
    let election_id = Some(pb::Uint128 { high: u64::MAX, low: 7 });
    let write = pb::WriteRequest { device_id: 3, role: "x".into(), election_id, ..Default::default() };
    let claim = p4runtime::write_claim(&write).unwrap();
    assert_eq!((claim.device_id, claim.election_id), (3, Some(u128::from(u64::MAX) << 64 | 7)));
    assert_eq!(claim.role, RoleName("x".into()));
    let set = pb::SetForwardingPipelineConfigRequest {
        device_id: 3,
        role: "x".into(),
        election_id,
        ..Default::default()
    };
    assert_eq!(p4runtime::pipeline_claim(&set), Ok(claim));
}

#[test]
fn b4_role_configs_of_two_kinds() {
    let sent = any(&own());
    let config = p4runtime::decode_role_config(sent.clone()).unwrap();
    let message = config.message.clone().unwrap();
    assert_eq!((message.type_url.as_str(), &message.value), (sent.type_url.as_str(), &sent.value));
    let filter = MetadataFilter { metadata_id: 8, values: [b"\x01".to_vec(), b"\0\x02".to_vec()].into() };
    let expected = RoleConfig {
        ids: [4, 5].into(),
        exclusive_ids: [6].into(),
        read_only_ids: [7].into(),
        may_replicate: true,
        receives_packets: true,
        packet_filter: Some(filter),
        may_send_packets: true,
        may_set_pipeline: true,
        message: config.message.clone(),
    };
    assert_eq!(config, expected);

    let of_stratum = stratum::P4RoleConfig {
        exclusive_p4_ids: vec![6],
        shared_p4_ids: vec![5],
        packet_in_filter: Some(stratum::p4_role_config::PacketFilter {
            metadata_id: 8,
            value: b"\x01".to_vec(),
        }),
        receives_packet_ins: true,
        can_push_pipeline: false,
    };
    assert_eq!(any(&of_stratum).type_url, "type.googleapis.com/stratum.P4RoleConfig");
    let config = p4runtime::decode_role_config(any(&of_stratum)).unwrap();
    assert_eq!((config.ids, config.exclusive_ids), ([5].into(), [6].into()));
    assert!(config.may_send_packets && config.may_replicate && !config.may_set_pipeline);
    assert_eq!(config.packet_filter.unwrap().values, [b"\x01".to_vec()].into());
    // An empty filter is none, and without packets there is nothing to filter.
    let empty = Some(stratum::p4_role_config::PacketFilter::default());
    let unfiltered = stratum::P4RoleConfig { packet_in_filter: empty, ..of_stratum.clone() };
    assert_eq!(p4runtime::decode_role_config(any(&unfiltered)).unwrap().packet_filter, None);
    let silent = stratum::P4RoleConfig { receives_packet_ins: false, ..of_stratum };
    assert_eq!(p4runtime::decode_role_config(any(&silent)).unwrap().packet_filter, None);
}

#[test]
fn a4_unknown_and_damaged_role_configs() {
    let unknown = prost_types::Any { type_url: "example.org/a.Config".into(), value: vec![] };
    let fault = p4runtime::decode_arbitration(arbitration("x", Some(unknown))).unwrap_err();
    assert_eq!(fault.code(), Code::InvalidArgument);
    assert_eq!(
        fault.to_string(),
        "the role config has the type `example.org/a.Config`, which is not known; known is `siding.v1.RoleConfig`"
    );
    let damaged = prost_types::Any { value: vec![0xff], ..any(&own()) };
    let fault = p4runtime::decode_role_config(damaged).unwrap_err();
    assert_eq!(fault.code(), Code::InvalidArgument);
    assert!(matches!(fault, SessionFault::BadRoleConfig { .. }));
    // It ends the stream, unlike errors about other messages.
    let update = Some(pb::stream_message_request::Update::Arbitration(arbitration(
        "x",
        Some(prost_types::Any::default()),
    )));
    let message = p4runtime::decode_stream_request(pb::StreamMessageRequest { update }).unwrap();
    assert!(matches!(message, p4runtime::StreamRequest::Arbitration(Err(_))));
}

#[test]
fn a9_notices_say_role_election_id_and_status() {
    let of = |status, election_id| Notice {
        device_id: 3,
        role: RoleName::default(),
        config: None,
        election_id,
        status,
    };
    for (status, code) in [(None, 0), (Some(Code::AlreadyExists), 6), (Some(Code::NotFound), 5)] {
        let update = notice(&of(status, Some(9)));
        assert_eq!(update.status.unwrap().code, code);
        assert_eq!((update.device_id, update.role), (3, None));
        assert_eq!(update.election_id, Some(pb::Uint128 { high: 0, low: 9 }));
    }
    assert_eq!(notice(&of(Some(Code::NotFound), None)).election_id, None);

    // A config comes back as it was sent.
    let config = p4runtime::decode_role_config(any(&own())).unwrap();
    let named =
        Notice { role: RoleName("x".into()), config: Some(Arc::new(config)), ..of(None, Some(1 << 64)) };
    let update = notice(&named);
    assert_eq!(
        update.role,
        Some(pb::Role { name: "x".into(), config: Some(any(&own())), ..Default::default() })
    );
    assert_eq!(update.election_id, Some(pb::Uint128 { high: 1, low: 0 }));
}

/// What a controller sends makes it the primary of its role, with the config that it has sent.
#[test]
fn a9_from_request_to_notice() {
    let mut sessions = Sessions::new(3);
    let request = p4runtime::decode_arbitration(arbitration("x", Some(any(&own())))).unwrap();
    let effects = sessions.arbitrate(StreamId(1), request).unwrap();
    let update = effects.iter().find_map(|effect| match effect {
        control::session::Effect::Notify { stream: StreamId(1), notice: told } => Some(notice(told)),
        _ => None,
    });
    let update = update.expect("the controller is told");
    assert_eq!(update.status.unwrap().code, 0);
    assert_eq!(update.role.unwrap().config, Some(any(&own())));
}
