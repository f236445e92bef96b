//! L. Packets, stream errors, capabilities.

use crate::bench::*;
use crate::desk::{Desk, LINES};

#[test]
fn l01_packets_go_in_and_out_with_their_metadata() {
    let (bench, p4info) = Bench::running();
    let mut primary = bench.controller();
    primary.elect("", 1);
    let mut to_controller = station(&p4info, Type::Insert, 1, 9);
    if let Some(Entity::TableEntry(entry)) = to_controller.entity.as_mut().and_then(|e| e.entity.as_mut()) {
        let action = pb::Action {
            action_id: action_id(&p4info, "to_controller"),
            params: vec![pb::action::Param { param_id: 1, value: vec![5] }],
        };
        entry.action = Some(pb::TableAction { r#type: Some(pb::table_action::Type::Action(action)) });
    }
    bench.write(vec![to_controller]).unwrap();
    let frame = [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 9, 8, 0, 42];
    bench.device.receive(300, &frame);
    let Some(Update::Packet(packet)) = primary.next().unwrap() else { panic!("a packet was expected") };
    let metadata: Vec<(u32, Vec<u8>)> =
        packet.metadata.iter().map(|of| (of.metadata_id, of.value.clone())).collect();
    assert_eq!(
        (packet.payload.as_slice(), metadata),
        (frame.as_slice(), vec![(1, vec![1, 44]), (2, vec![5])])
    );
    let out = |metadata: Vec<(u32, Vec<u8>)>| {
        let metadata =
            metadata.into_iter().map(|(metadata_id, value)| pb::PacketMetadata { metadata_id, value });
        Some(Request::Packet(pb::PacketOut { payload: frame.to_vec(), metadata: metadata.collect() }))
    };
    // The padding may be missing; everything else is wrong.
    primary.send(out(vec![(1, vec![0, 7])]));
    for wrong in [vec![], vec![(1, vec![7]), (9, vec![0])], vec![(1, vec![2, 0, 0])]] {
        primary.send(out(wrong));
        let error = primary.stream_error();
        assert!(matches!(error.details, Some(pb::stream_error::Details::PacketOut(_))), "{error:?}");
        assert!([3, 11].contains(&error.canonical_code), "{error:?}");
    }
    assert_eq!(bench.device.take_sent(), [(7, frame.to_vec())]);
    assert_eq!(CPU_PORT, 510, "the program's port of the controller");
}

#[test]
fn l02_packets_keep_their_order() {
    let (bench, _) = Bench::running();
    let mut primary = bench.controller();
    primary.elect("", 1);
    for i in 0..200_u8 {
        let payload = vec![0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 9, 8, 0, i];
        let metadata = vec![pb::PacketMetadata { metadata_id: 1, value: vec![3] }];
        primary.send(Some(Request::Packet(pb::PacketOut { payload, metadata })));
    }
    // Answered behind all packets.
    primary.arbitrate("", Some(1));
    assert_eq!(primary.notice(), (Some(1), OK));
    let last: Vec<u8> =
        bench.device.take_sent().iter().filter_map(|(_, bytes)| bytes.last().copied()).collect();
    assert_eq!(last, (0..200).collect::<Vec<u8>>());
}

#[test]
fn l03_messages_that_cannot_be_are_errors() {
    let (bench, _) = Bench::running();
    let mut controller = bench.controller();
    let packet = || Some(Request::Packet(pb::PacketOut::default()));
    controller.send(packet());
    assert_eq!(controller.stream_error().canonical_code, Code::FailedPrecondition.number());
    controller.send(None);
    assert_eq!(controller.stream_error().canonical_code, Code::InvalidArgument.number());
    controller.send(Some(Request::Other(prost_types::Any::default())));
    assert_eq!(controller.stream_error().canonical_code, Code::Unimplemented.number());
    let mut primary = bench.controller();
    primary.elect("", 5);
    controller.arbitrate("", Some(4));
    controller.notice();
    // B5: packets of a backup are dropped.
    controller.send(packet());
    assert_eq!(controller.stream_error().canonical_code, Code::PermissionDenied.number());
    assert_eq!(bench.device.take_sent(), []);
    assert_eq!(bench.n_lost(), 0);
}

#[test]
fn l04_capabilities_have_the_version() {
    let bench = Bench::new();
    assert_eq!(code(&bench.capabilities(99).unwrap_err()), Code::NotFound);
    assert_eq!(bench.capabilities(0).unwrap().p4runtime_api_version, "1.5.0");
}

#[test]
fn l01_without_headers_packets_are_as_they_are() {
    let program = LINES
        .replace("@controller_header(\"packet_in\")\n", "")
        .replace("@controller_header(\"packet_out\")\n", "");
    let desk = Desk::with(&program, |_| {});
    let mut primary = desk.controller();
    primary.elect("", 1);
    // Two bytes that are a header for the program alone: port 3.
    let out = |payload: &[u8]| {
        Some(Request::Packet(pb::PacketOut { payload: payload.to_vec(), metadata: Vec::new() }))
    };
    primary.send(out(&[1, 128, 9, 9, 9, 9, 9, 9, 9, 9]));
    primary.arbitrate("", Some(1));
    assert_eq!(primary.notice(), (Some(1), OK));
    assert_eq!(desk.device.take_sent(), [(3, vec![9; 8])]);
    let metadata = vec![pb::PacketMetadata { metadata_id: 1, value: vec![1] }];
    primary.send(Some(Request::Packet(pb::PacketOut { payload: vec![9; 10], metadata })));
    assert_eq!(primary.stream_error().canonical_code, Code::InvalidArgument.number());
}

#[test]
fn l01_without_a_cpu_port_no_packet_goes_out() {
    let (bench, _) = Bench::running();
    let mut primary = bench.controller();
    primary.elect("", 1);
    bench.device.remove_cpu_port();
    let metadata = vec![pb::PacketMetadata { metadata_id: 1, value: vec![3] }];
    let packet = pb::PacketOut { payload: vec![0; 14], metadata };
    primary.send(Some(Request::Packet(packet.clone())));
    let error = primary.stream_error();
    assert_eq!(error.canonical_code, Code::FailedPrecondition.number());
    // The packet comes back with the error.
    let Some(pb::stream_error::Details::PacketOut(found)) = error.details else {
        panic!("{:?}", error.details)
    };
    assert_eq!(found.packet_out, Some(packet));
}

#[test]
fn l03_faults_of_arbitration_end_the_stream() {
    let bench = Bench::new();
    let mut controller = bench.controller();
    controller.send(Some(Request::DigestAck(pb::DigestListAck::default())));
    let error = controller.stream_error();
    assert_eq!(error.canonical_code, Code::FailedPrecondition.number());
    assert!(matches!(error.details, Some(pb::stream_error::Details::DigestListAck(_))), "{error:?}");
    controller.send(Some(Request::Other(prost_types::Any { type_url: "a/b".to_owned(), value: vec![1] })));
    let error = controller.stream_error();
    assert_eq!(error.canonical_code, Code::Unimplemented.number());
    assert!(matches!(error.details, Some(pb::stream_error::Details::Other(_))), "{error:?}");
    controller.arbitrate_for(DEVICE + 1, "", Some(1));
    assert!(controller.next().is_err());
}

#[test]
fn l04_unknown_services_are_unimplemented() {
    let bench = Bench::new();
    for path in ["/gnmi.gNMI/Subscribe", "/p4.v1.P4Runtime/Forget"] {
        assert_eq!(code(&bench.call_unknown(path).unwrap_err()), Code::Unimplemented, "{path}");
    }
}
