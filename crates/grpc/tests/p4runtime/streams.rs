//! Streams that are slow, stuck or wrong, and headers that P4Info shows in part.

use crate::bench::{Bench, Controller, DEVICE, PROGRAM, action_id, code, station, uint128, update};
use control::Code;
use grpc::{Limits, ServerOptions};
use p4info::P4Info;
use p4info::proto::p4::v1 as pb;
use pb::entity::Entity;
use pb::set_forwarding_pipeline_config_request::Action;
use pb::stream_message_request::Update as Request;
use pb::stream_message_response::Update;
use pb::update::Type;
use std::time::{Duration, Instant};

const NOT_FOUND: i32 = 5;
const ALREADY_EXISTS: i32 = 6;
/// More than a client takes without being asked, as hyper sets it.
const N_PACKETS: u32 = 400;

/// Packets to station 1 go to the controller.
fn listen(bench: &Bench, p4info: &P4Info) {
    let mut to_controller = station(p4info, Type::Insert, 1, 9);
    if let Some(Entity::TableEntry(entry)) = to_controller.entity.as_mut().and_then(|e| e.entity.as_mut()) {
        let action = pb::Action {
            action_id: action_id(p4info, "to_controller"),
            params: vec![pb::action::Param { param_id: 1, value: vec![5] }],
        };
        entry.action = Some(pb::TableAction { r#type: Some(pb::table_action::Type::Action(action)) });
    }
    bench.write(vec![to_controller]).unwrap();
}

fn running(limits: Limits) -> Bench {
    let bench = Bench::with(|options| ServerOptions { limits, ..options });
    let mut primary = bench.controller();
    primary.elect("", 1);
    bench.set(Action::VerifyAndCommit, PROGRAM, 1).unwrap();
    listen(&bench, &bench.get(0).unwrap().unwrap().p4info.unwrap());
    primary.finish();
    bench
}

/// Sends numbered packets to the controller, which are long, as long as the server takes them.
fn flood(bench: &Bench) {
    for i in 0..N_PACKETS {
        let mut frame = vec![0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 9, 8, 0];
        frame.extend(i.to_be_bytes());
        frame.resize(60_000, 0);
        bench.device.receive(1, &frame);
        let begin = Instant::now();
        while bench.device.n_packets() > 0 {
            // Nobody listens any more.
            if begin.elapsed() > Duration::from_secs(1) {
                return;
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn l02_a_slow_controller_loses_packets_and_no_notices() {
    let bench = running(Limits { waiting_bytes_max: 200_000, ..Limits::default() });
    let mut slow = bench.controller();
    slow.elect("", 1);
    flood(&bench);
    wait_until("nothing is lost", || bench.n_lost() > 0);
    slow.arbitrate("", Some(7));
    let (mut numbers, mut is_told) = (Vec::new(), false);
    // Lost messages are counted.
    while !is_told || numbers.len() as u64 + bench.n_lost() < u64::from(N_PACKETS) {
        match slow.next().unwrap() {
            Some(Update::Packet(packet)) => {
                numbers.push(u32::from_be_bytes(packet.payload[14..18].try_into().unwrap()));
            }
            Some(Update::Arbitration(notice)) => {
                assert_eq!(notice.election_id, Some(uint128(7)));
                is_told = true;
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(numbers.is_sorted(), "packets keep their order");
}

#[test]
fn l02_a_stuck_controller_is_abandoned() {
    let stuck = Duration::from_millis(300);
    let bench = running(Limits { waiting_bytes_max: 200_000, stuck, ..Limits::default() });
    // Streams of one connection wait for each other.
    let (mut primary, mut backup) = (bench.controller(), bench.remote_controller());
    primary.elect("", 5);
    backup.arbitrate("", Some(4));
    assert_eq!(backup.notice(), (Some(5), ALREADY_EXISTS));
    flood(&bench);
    assert_eq!(backup.notice(), (Some(5), NOT_FOUND));
    assert_eq!(code(&bench.write(Vec::new()).unwrap_err()), Code::PermissionDenied);
    let status = loop {
        match primary.next() {
            Ok(Some(Update::Packet(_))) => {}
            Ok(other) => panic!("{other:?}"),
            Err(status) => break status,
        }
    };
    assert_eq!(code(&status), Code::ResourceExhausted);
    assert!(status.message().contains("has taken no message for 0.3 s"), "{status}");
}

/// A controller that is not primary gets no packets, and is never stuck.
#[test]
fn l02_a_quiet_controller_stays() {
    let bench = running(Limits { stuck: Duration::from_millis(1), ..Limits::default() });
    let mut primary = bench.controller();
    primary.elect("", 5);
    assert!(primary.hears_nothing());
    primary.elect("", 6);
}

fn arbitration(device_id: u64, role: pb::Role) -> Option<Request> {
    Some(Request::Arbitration(pb::MasterArbitrationUpdate {
        device_id,
        role: Some(role),
        election_id: Some(uint128(1)),
        ..pb::MasterArbitrationUpdate::default()
    }))
}

#[test]
fn a02_a04_the_device_comes_before_faults_of_roles() {
    let bench = Bench::new();
    let any = prost_types::Any { type_url: "type.googleapis.com/some.Role".to_owned(), value: vec![1] };
    let unknown = pb::Role { name: "r".to_owned(), config: Some(any), ..pb::Role::default() };
    #[expect(deprecated, reason = "the field is refused")]
    let by_number = pb::Role { id: 4, ..pb::Role::default() };
    for role in [&unknown, &by_number] {
        let ended = |device_id, is_elected: bool| {
            let mut controller: Controller = bench.controller();
            if is_elected {
                controller.elect("", 1);
            }
            controller.send(arbitration(device_id, role.clone()));
            let status = controller.next().unwrap_err();
            code(&status)
        };
        assert_eq!(ended(DEVICE + 1, false), Code::NotFound);
        assert_eq!(ended(DEVICE, false), Code::InvalidArgument);
        assert_eq!(ended(DEVICE + 1, true), Code::FailedPrecondition);
        assert_eq!(ended(DEVICE, true), Code::InvalidArgument);
    }
    #[expect(deprecated, reason = "the field is refused")]
    let write = pb::WriteRequest { device_id: DEVICE + 1, role_id: 4, ..pb::WriteRequest::default() };
    assert_eq!(code(&bench.write_request(write).unwrap_err()), Code::NotFound);
}

#[test]
fn c06_ids_have_the_prefix_of_their_kind() {
    let (bench, mut p4info) = Bench::running();
    let mut primary = bench.controller();
    primary.elect("", 1);
    let set = |p4info: &P4Info, action: Action| {
        bench.set_request(pb::SetForwardingPipelineConfigRequest {
            device_id: DEVICE,
            election_id: Some(uint128(1)),
            action: action.into(),
            config: Some(pb::ForwardingPipelineConfig {
                p4info: Some(p4info.clone()),
                p4_device_config: PROGRAM.as_bytes().to_vec(),
                ..pb::ForwardingPipelineConfig::default()
            }),
            ..pb::SetForwardingPipelineConfigRequest::default()
        })
    };
    set(&p4info, Action::VerifyAndCommit).unwrap();
    let sources = p4info.tables.iter_mut().find_map(|table| {
        let preamble = table.preamble.as_mut()?;
        (preamble.alias == "sources").then_some(preamble)
    });
    sources.unwrap().id = 0x0700_0001;
    for action in [Action::Verify, Action::VerifyAndSave, Action::VerifyAndCommit, Action::ReconcileAndCommit]
    {
        let status = set(&p4info, action).unwrap_err();
        assert_eq!(code(&status), Code::InvalidArgument);
        assert!(status.message().contains("ids of its kind begin with 0x02"), "{status}");
    }
}

#[test]
fn l01_fields_that_p4info_hides_are_in_packets() {
    let bench = Bench::new();
    let mut primary = bench.controller();
    primary.elect("", 1);
    let program = PROGRAM
        .replace("    bit<7> _pad;\n", "    @hidden bit<23> more;\n")
        .replace("    bit<7> reason;\n}", "    @hidden bit<16> secret;\n    bit<7> reason;\n}");
    bench.set(Action::VerifyAndCommit, &program, 1).unwrap();
    let p4info = bench.get(0).unwrap().unwrap().p4info.unwrap();
    let widths: Vec<usize> =
        p4info.controller_packet_metadata.iter().map(|header| header.metadata.len()).collect();
    assert_eq!(widths, [2, 1], "P4Info has neither of the hidden fields");
    listen(&bench, &p4info);
    let frame = [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 9, 8, 0, 42];
    bench.device.receive(300, &frame);
    let Some(Update::Packet(packet)) = primary.next().unwrap() else { panic!("a packet was expected") };
    assert_eq!(packet.payload, frame);
    let values: Vec<Vec<u8>> = packet.metadata.into_iter().map(|field| field.value).collect();
    assert_eq!(values, [vec![1, 44], vec![5]]);
    let metadata = vec![pb::PacketMetadata { metadata_id: 1, value: vec![7] }];
    primary.send(Some(Request::Packet(pb::PacketOut { payload: frame.to_vec(), metadata })));
    primary.arbitrate("", Some(1));
    assert_eq!(primary.notice(), (Some(1), 0));
    assert_eq!(bench.device.take_sent(), [(7, frame.to_vec())]);
}

/// While nothing happens, the server asks the switch for nothing.
#[test]
fn l02_k01_messages_wake_the_server_up() {
    let (bench, p4info) = Bench::running();
    let mut primary = bench.controller();
    primary.elect("", 1);
    listen(&bench, &p4info);
    let config =
        pb::digest_entry::Config { max_timeout_ns: 50_000_000, max_list_size: 100, ack_timeout_ns: 0 };
    let digest_id = p4info.digests[0].preamble.as_ref().unwrap().id;
    let wanted = Entity::DigestEntry(pb::DigestEntry { digest_id, config: Some(config) });
    bench.write(vec![update(Type::Insert, wanted)]).unwrap();
    assert!(primary.hears_nothing());
    let n_takes = bench.device.n_takes();
    assert!(primary.hears_nothing());
    assert_eq!(bench.device.n_takes(), n_takes);
    bench.device.receive(1, &[0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 9, 8, 0]);
    assert!(matches!(primary.next().unwrap(), Some(Update::Packet(_))));
    // The list is not full. It goes out by itself when its time has come.
    assert!(matches!(primary.next().unwrap(), Some(Update::Digest(_))));
    assert!(bench.device.n_takes() - n_takes < 8, "the switch is asked when something has happened");
    // Without a controller nobody asks, and messages wait.
    primary.finish();
    bench.device.receive(1, &[0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 9, 8, 0]);
    let mut next = bench.controller();
    next.elect("", 2);
    assert!(matches!(next.next().unwrap(), Some(Update::Packet(_))));
}
