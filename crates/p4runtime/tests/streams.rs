//! Messages of streams and about programs.

use control::data::{HeaderData, HeaderUnionData};
use control::*;
use ir::Bits;
use p4info::proto::p4::v1 as pb;
use p4info::{Format, decode_p4info};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use prost::Message;
use std::sync::LazyLock;

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    let info = decode_p4info(include_bytes!("cases/schema.txtpb"), Format::Text).unwrap();
    Schema::new(&info).unwrap()
});

const LEARN: DigestId = DigestId(0x1700_0001);

fn request(update: pb::stream_message_request::Update) -> pb::StreamMessageRequest {
    pb::StreamMessageRequest { update: Some(update) }
}

fn update(message: pb::StreamMessageResponse) -> pb::stream_message_response::Update {
    // As the other side gets it.
    let message = pb::StreamMessageResponse::decode(&*message.encode_to_vec()).unwrap();
    message.update.expect("a message with contents")
}

fn packet() -> ControllerPacket {
    let metadata = vec![
        PacketMetadata { id: FieldId(1), value: b"\x01\xff".to_vec() },
        PacketMetadata { id: FieldId(9), value: vec![] },
    ];
    ControllerPacket { payload: b"payload".to_vec(), metadata }
}

#[test]
fn l1_packets_keep_their_metadata() {
    let pb::stream_message_response::Update::Packet(message) = update(p4runtime::encode_packet_in(packet()))
    else {
        panic!("not a packet")
    };
    assert_eq!(message.metadata[0], pb::PacketMetadata { metadata_id: 1, value: b"\x01\xff".to_vec() });
    assert_eq!(p4runtime::decode_packet_in(message), packet());
    let message = request(pb::stream_message_request::Update::Packet(p4runtime::encode_packet_out(packet())));
    let message = pb::StreamMessageRequest::decode(&*message.encode_to_vec()).unwrap();
    let decoded = p4runtime::decode_stream_request(message);
    assert_eq!(decoded, Ok(p4runtime::StreamRequest::PacketOut(packet())));
}

/// A packet out that has other metadata than its header comes back with the reason.
#[test]
fn l1_a_bad_packet_comes_back() {
    let info = r#"controller_packet_metadata {
        preamble { id: 1 name: "packet_out" } metadata { id: 1 name: "port" bitwidth: 9 } }"#;
    let schema = Schema::new(&decode_p4info(info.as_bytes(), Format::Text).unwrap()).unwrap();
    let fault = PacketIo::new(&schema).unwrap().packet_out(&packet()).unwrap_err();
    let error = StreamError::bad_packet(&fault, packet());
    let pb::stream_message_response::Update::Error(message) =
        update(p4runtime::encode_stream_error(error.clone()))
    else {
        panic!("not an error")
    };
    assert_eq!((message.canonical_code, message.space.as_str()), (3, "siding"));
    assert_eq!(
        message.message,
        "the packet was dropped: controller header `packet_out` has no field with id 9; it has `port (1)` \
         (in metadata[1].metadata_id)"
    );
    let Some(pb::stream_error::Details::PacketOut(details)) = &message.details else { panic!("no packet") };
    assert_eq!(details.packet_out, Some(p4runtime::encode_packet_out(packet())));
    assert_eq!(p4runtime::decode_stream_error(message), error);

    // Faults of values have a code of their own in updates, but not here.
    let wide = PacketMetadata { id: FieldId(1), value: b"\x02\x00".to_vec() };
    let wide = ControllerPacket { payload: vec![], metadata: vec![wide] };
    let fault = PacketIo::new(&schema).unwrap().packet_out(&wide).unwrap_err();
    assert_eq!(fault.code(), Code::OutOfRange);
    assert_eq!(StreamError::bad_packet(&fault, wide).code, Code::InvalidArgument);
}

#[test]
fn l3_errors_of_streams() {
    let ack = DigestAck { digest: DigestId(0x1700_0009), list: 4 };
    let other = OtherMessage { type_url: "a/b".to_owned(), value: b"x".to_vec() };
    let any = prost_types::Any { type_url: "a/b".to_owned(), value: b"x".to_vec() };
    let unknown = p4runtime::decode_stream_request(request(pb::stream_message_request::Update::Other(any)));
    assert_eq!(unknown, Err(StreamError::unknown_type(other.clone())));
    let empty = p4runtime::decode_stream_request(pb::StreamMessageRequest::default());
    assert_eq!(empty, Err(StreamError::nothing_set()));
    for (error, code) in [
        (unknown.unwrap_err(), Code::Unimplemented),
        (empty.unwrap_err(), Code::InvalidArgument),
        (StreamError::no_cpu_port(packet()), Code::FailedPrecondition),
        (StreamError::not_allowed(packet()), Code::PermissionDenied),
        (StreamError::before_arbitration(StreamErrorCause::PacketOut(packet())), Code::FailedPrecondition),
        (StreamError::before_arbitration(StreamErrorCause::DigestAck(ack)), Code::FailedPrecondition),
        (StreamError::unknown_digest(ack), Code::InvalidArgument),
    ] {
        assert_eq!(error.code, code, "{}", error.message);
        let pb::stream_message_response::Update::Error(message) =
            update(p4runtime::encode_stream_error(error.clone()))
        else {
            panic!("not an error")
        };
        assert_eq!(p4runtime::decode_stream_error(message), error);
    }
    let text = StreamError::unknown_digest(ack).message;
    assert_eq!(text, "the program has no digest with id 0x17000009");
}

#[test]
fn k1_lists_of_digests_keep_their_messages() {
    let header = |n: u128| HeaderData(Some(vec![Bits::new(12, n)]));
    let message = |delta: u128| {
        Data::Struct(vec![
            Data::Bits(Bits::new(12, delta)),
            Data::Bool(true),
            Data::Enum("OPEN".into()),
            Data::EnumValue(Bits::new(8, 17)),
            Data::Header(HeaderData(None)),
            Data::HeaderUnion(HeaderUnionData(Some(("tag".into(), header(1))))),
            Data::HeaderStack(vec![HeaderData(None), header(4095)]),
            Data::Text("Ethernet1".into()),
            Data::Error("NoError".into()),
            Data::Tuple(vec![Data::Bool(false), Data::Bits(Bits::new(32, 7))]),
            Data::Varbit(Bits::new(8, 0)),
        ])
    };
    let list =
        DigestList { digest: LEARN, list: 7, messages: vec![message(1), message(0xfff)], timestamp_ns: 99 };
    let pb::stream_message_response::Update::Digest(encoded) =
        update(p4runtime::encode_digest_list(&SCHEMA, &list))
    else {
        panic!("not digests")
    };
    assert_eq!((encoded.digest_id, encoded.list_id, encoded.timestamp), (LEARN.0, 7, 99));
    assert_eq!(p4runtime::decode_digest_list(&SCHEMA, &encoded), Ok(list));
    let bad = pb::DigestList { data: vec![pb::P4Data::default()], ..encoded };
    let fault = p4runtime::decode_digest_list(&SCHEMA, &bad).unwrap_err();
    assert_eq!(fault.to_string(), "`data` is not set (in data[0])");

    let ack = DigestAck { digest: LEARN, list: 7 };
    let message = request(pb::stream_message_request::Update::DigestAck(p4runtime::encode_digest_ack(ack)));
    assert_eq!(p4runtime::decode_stream_request(message), Ok(p4runtime::StreamRequest::DigestAck(ack)));
}

#[test]
fn k2_idle_notices_have_key_metadata_and_timeout() {
    let value = Match::Exact(Bits::new(16, 0x800).into());
    let matches = vec![FieldMatch { field: FieldId(1), value }];
    let key = TableEntry {
        metadata: b"mine".to_vec(),
        controller_metadata: 5,
        idle_timeout_ns: 1_000,
        ..TableEntry::new(TableId(0x0200_0001), matches, 3)
    };
    let whole = TableEntry {
        action: Some(TableAction::Member(MemberId(1))),
        time_since_last_hit_ns: Some(9),
        counter_data: Some(CounterData::default()),
        ..key.clone()
    };
    let notice = IdleNotice::new([whole], 99).unwrap();
    assert_eq!(notice.entries(), [key]);
    let pb::stream_message_response::Update::IdleTimeoutNotification(encoded) =
        update(p4runtime::encode_idle_notice(&notice))
    else {
        panic!("not a notice")
    };
    assert_eq!((encoded.timestamp, encoded.table_entry.len()), (99, 1));
    let entry = &encoded.table_entry[0];
    assert_eq!((entry.metadata.as_slice(), entry.idle_timeout_ns), (&b"mine"[..], 1_000));
    assert_eq!((&entry.action, &entry.time_since_last_hit, &entry.counter_data), (&None, &None, &None));
    assert_eq!(p4runtime::decode_idle_notice(&SCHEMA, &encoded), Ok(notice));

    assert_eq!(IdleNotice::new([], 99), None);
    let fault = p4runtime::decode_idle_notice(&SCHEMA, &pb::IdleTimeoutNotification::default()).unwrap_err();
    assert_eq!(fault.to_string(), "`table_entry` is not set");
}

#[test]
fn l4_capabilities_name_our_own_services() {
    let plain = p4runtime::capabilities(&[]);
    assert_eq!((plain.p4runtime_api_version.as_str(), plain.experimental), ("1.5.0", None));
    let any = p4runtime::capabilities(&["siding.bulk.v1.Bulk"]).experimental.unwrap();
    assert_eq!(any.type_url, "type.googleapis.com/google.protobuf.ListValue");
    let list = prost_types::ListValue::decode(&*any.value).unwrap();
    let kind = Some(prost_types::value::Kind::StringValue("siding.bulk.v1.Bulk".to_owned()));
    assert_eq!(list.values, [prost_types::Value { kind }]);
}

fn config() -> PipelineConfig {
    let p4info = decode_p4info(include_bytes!("cases/schema.txtpb"), Format::Text).unwrap();
    PipelineConfig { p4info: Some(p4info), device_config: b"\0\xffprogram".to_vec(), cookie: Some(0) }
}

#[test]
fn c2_changes_of_the_program_and_their_configs() {
    use pb::set_forwarding_pipeline_config_request::Action;
    let change = |action: i32, config: Option<PipelineConfig>| {
        let config = config.map(p4runtime::encode_config);
        let request = pb::SetForwardingPipelineConfigRequest { action, config, ..Default::default() };
        p4runtime::decode_pipeline_change(request).map_err(|fault| (fault.code(), fault.to_string()))
    };
    for (action, expected) in [
        (Action::Verify, PipelineChange::Verify(config())),
        (Action::VerifyAndSave, PipelineChange::VerifyAndSave(config())),
        (Action::VerifyAndCommit, PipelineChange::VerifyAndCommit(config())),
        (Action::ReconcileAndCommit, PipelineChange::ReconcileAndCommit(config())),
    ] {
        assert_eq!(change(action.into(), Some(config())), Ok(expected));
        let missing = |text: &str| Err((Code::InvalidArgument, text.to_owned()));
        assert_eq!(change(action.into(), None), missing("`config` is not set"));
        let without_p4info = PipelineConfig { p4info: None, ..config() };
        assert_eq!(change(action.into(), Some(without_p4info)), missing("`p4info` is not set (in config)"));
    }
    assert_eq!(change(Action::Commit.into(), None), Ok(PipelineChange::Commit));
    let given = change(Action::Commit.into(), Some(config())).unwrap_err();
    assert_eq!(given.0, Code::InvalidArgument);
    let (code, text) = change(0, Some(config())).unwrap_err();
    assert_eq!((code, text.as_str()), (Code::InvalidArgument, "`action` is not set"));
    let (code, text) = change(9, Some(config())).unwrap_err();
    assert_eq!((code, text.as_str()), (Code::InvalidArgument, "`action` has the unknown value 9"));
}

/// Each response type has its parts and no others, as they were set; a cookie of 0 is one.
#[test]
fn c7_parts_of_a_config() {
    let whole = p4runtime::encode_config(config());
    assert_eq!(p4runtime::decode_config(whole.clone()), config());
    let cookie = Some(pb::forwarding_pipeline_config::Cookie { cookie: 0 });
    for (response_type, has_p4info, has_device_config) in
        [(0, true, true), (1, false, false), (2, true, false), (3, false, true)]
    {
        let parts = p4runtime::decode_config_parts(response_type).unwrap();
        let found = p4runtime::config_response(Some(&config()), parts).config.unwrap();
        assert_eq!(found.cookie, cookie);
        assert_eq!(found.p4info, whole.p4info.clone().filter(|_| has_p4info));
        let device_config = if has_device_config { whole.p4_device_config.clone() } else { vec![] };
        assert_eq!(found.p4_device_config, device_config);
        assert_eq!(p4runtime::config_response(None, parts).config, None);
        let without_cookie = PipelineConfig { cookie: None, ..config() };
        let found = p4runtime::config_response(Some(&without_cookie), parts).config.unwrap();
        assert_eq!(found.cookie, None);
    }
    assert_eq!(p4runtime::decode_config_parts(4).unwrap_err().code(), Code::InvalidArgument);
}

proptest! {
    /// What is not a message makes no panic, and what is one is the same after another way.
    #[test]
    fn streams_survive_the_wire(bytes in vec(any::<u8>(), 0..64), ids in vec((any::<u32>(), of(vec(any::<u8>(), 0..20))), 0..4)) {
        if let Ok(message) = pb::StreamMessageRequest::decode(&*bytes) {
            let _ = p4runtime::decode_stream_request(message);
        }
        if let Ok(list) = pb::DigestList::decode(&*bytes)
            && let Ok(list) = p4runtime::decode_digest_list(&SCHEMA, &list)
        {
            prop_assert!(p4runtime::encode_digest_list(&SCHEMA, &list).update.is_some());
        }
        if let Ok(notice) = pb::IdleTimeoutNotification::decode(&*bytes) {
            let _ = p4runtime::decode_idle_notice(&SCHEMA, &notice);
        }
        let metadata = ids.into_iter().map(|(id, value)| PacketMetadata { id: FieldId(id), value: value.unwrap_or_default() });
        let packet = ControllerPacket { payload: bytes, metadata: metadata.collect() };
        let message = request(pb::stream_message_request::Update::Packet(p4runtime::encode_packet_out(packet.clone())));
        prop_assert_eq!(p4runtime::decode_stream_request(message), Ok(p4runtime::StreamRequest::PacketOut(packet)));
    }
}
