//! `siding switch` as controllers meet it: compiled programs behind P4Runtime.

#[path = "../../../grpc/tests/p4runtime/bench.rs"]
#[expect(dead_code, unused_imports, reason = "a device in this process is for tests of crate `grpc`")]
mod bench;
#[path = "../../../grpc/tests/p4runtime/desk.rs"]
#[expect(dead_code, reason = "refusals are for tests of crate `grpc`")]
mod desk;
mod lines;
mod live_switch;
mod million;
#[path = "../../../dataplane/tests/common/net.rs"]
mod net;
#[path = "../../../grpc/tests/p4runtime/wire.rs"]
mod wire;

use bench::DEVICE;
use grpc::p4_v1::p4_runtime_client::P4RuntimeClient;
use live_switch::LiveSwitch;
use p4info::proto::p4::v1 as pb;
use pb::set_forwarding_pipeline_config_request::Action;
use pb::stream_message_request::Update as Request;
use pb::stream_message_response::Update;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use tonic::transport::Channel;

/// A switch without a program, and a controller that is its primary.
struct Running {
    switch: LiveSwitch,
    runtime: Runtime,
    client: P4RuntimeClient<Channel>,
    requests: mpsc::Sender<pb::StreamMessageRequest>,
    responses: Streaming<pb::StreamMessageResponse>,
}

fn siding() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_siding"));
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).env("NO_COLOR", "1");
    command
}

impl Running {
    fn start(dir: &Path, args: &[&str]) -> Running {
        let switch = LiveSwitch::start(dir, DEVICE, &[&["--no-p4"], args].concat());
        let address = switch.address.clone();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (requests, receiver) = mpsc::channel(64);
        let (client, responses) = runtime.block_on(async {
            let channel = Channel::from_shared(address).unwrap().connect().await.unwrap();
            let mut client = P4RuntimeClient::new(channel);
            let responses = client.stream_channel(ReceiverStream::new(receiver)).await.unwrap();
            (client, responses.into_inner())
        });
        let mut running = Running { switch, runtime, client, requests, responses };
        running.send(Request::Arbitration(pb::MasterArbitrationUpdate {
            device_id: DEVICE,
            election_id: Some(pb::Uint128 { high: 0, low: 1 }),
            ..pb::MasterArbitrationUpdate::default()
        }));
        assert!(matches!(running.next(), Update::Arbitration(_)));
        running
    }

    fn send(&self, update: Request) {
        let message = pb::StreamMessageRequest { update: Some(update) };
        self.runtime.block_on(self.requests.send(message)).unwrap();
    }

    fn next(&mut self) -> Update {
        let message = async { tokio::time::timeout(Duration::from_secs(60), self.responses.message()).await };
        let message = self.runtime.block_on(message).expect("the switch says nothing").unwrap();
        message.expect("the stream has ended").update.unwrap()
    }

    fn set(&self, action: Action, program: &str) {
        let p4_device_config = program.as_bytes().to_vec();
        let config =
            pb::ForwardingPipelineConfig { p4_device_config, ..pb::ForwardingPipelineConfig::default() };
        self.set_config(action, Some(config));
    }

    /// Lets the program that was saved run.
    fn commit(&self) {
        self.set_config(Action::Commit, None);
    }

    fn set_config(&self, action: Action, config: Option<pb::ForwardingPipelineConfig>) {
        let mut client = self.client.clone();
        let request = pb::SetForwardingPipelineConfigRequest {
            device_id: DEVICE,
            election_id: Some(pb::Uint128 { high: 0, low: 1 }),
            action: action.into(),
            config,
            ..pb::SetForwardingPipelineConfigRequest::default()
        };
        self.runtime.block_on(client.set_forwarding_pipeline_config(request)).unwrap();
    }

    fn p4info(&self) -> p4info::P4Info {
        let mut client = self.client.clone();
        let request = pb::GetForwardingPipelineConfigRequest { device_id: DEVICE, response_type: 0 };
        let answer = self.runtime.block_on(client.get_forwarding_pipeline_config(request)).unwrap();
        answer.into_inner().config.unwrap().p4info.unwrap()
    }

    fn write(&self, entities: Vec<pb::entity::Entity>) {
        self.write_as(pb::update::Type::Insert, entities);
    }

    fn write_as(&self, kind: pb::update::Type, entities: Vec<pb::entity::Entity>) {
        let mut client = self.client.clone();
        let update =
            |entity| pb::Update { r#type: kind.into(), entity: Some(pb::Entity { entity: Some(entity) }) };
        let request = pb::WriteRequest {
            device_id: DEVICE,
            election_id: Some(pb::Uint128 { high: 0, low: 1 }),
            updates: entities.into_iter().map(update).collect(),
            ..pb::WriteRequest::default()
        };
        self.runtime.block_on(client.write(request)).unwrap();
    }

    fn read(&self, entity: pb::entity::Entity) -> Vec<pb::Entity> {
        let mut all = Vec::new();
        self.read_each(entity, |entity| all.push(entity));
        all
    }

    fn read_each(&self, entity: pb::entity::Entity, mut found: impl FnMut(pb::Entity)) {
        let mut client = self.client.clone();
        let entities = vec![pb::Entity { entity: Some(entity) }];
        let request = pb::ReadRequest { device_id: DEVICE, entities, ..pb::ReadRequest::default() };
        self.runtime.block_on(async {
            let mut answers = client.read(request).await.unwrap().into_inner();
            while let Some(answer) = answers.message().await.unwrap() {
                answer.entities.into_iter().for_each(&mut found);
            }
        });
    }

    /// A packet arrives at a port.
    fn receive(&self, port: u32, bytes: &str) {
        let mut command = siding();
        command.arg("ctl").arg("--ctl-socket").arg(&self.switch.ctl_socket);
        let output = command.args(["packet-out", bytes, "--port", &port.to_string()]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// A capture without packets, as a port.
fn port(dir: &Path, number: u32) -> String {
    let header: [u32; 6] = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 0x0001_0000, 1];
    let bytes: Vec<u8> = header.iter().flat_map(|word| word.to_le_bytes()).collect();
    fs::write(dir.join(format!("p{number}_in.pcap")), bytes).unwrap();
    format!("{number}@file:{}", dir.join(format!("p{number}")).display())
}

fn entry(p4info: &p4info::P4Info, table: &str, key: &[u8], action: &str, params: &[&[u8]]) -> pb::TableEntry {
    let named = |preamble: &Option<p4info::proto::p4::config::v1::Preamble>, name: &str| {
        preamble.as_ref().is_some_and(|preamble| preamble.alias == name)
    };
    let table = p4info.tables.iter().find(|of| named(&of.preamble, table)).unwrap();
    let action = p4info.actions.iter().find(|of| named(&of.preamble, action)).unwrap();
    let params = params.iter().zip(1..);
    let action = pb::Action {
        action_id: action.preamble.as_ref().unwrap().id,
        params: params
            .map(|(value, param_id)| pb::action::Param { param_id, value: value.to_vec() })
            .collect(),
    };
    let exact = pb::field_match::Exact { value: key.to_vec() };
    pb::TableEntry {
        table_id: table.preamble.as_ref().unwrap().id,
        r#match: vec![pb::FieldMatch {
            field_id: 1,
            field_match_type: Some(pb::field_match::FieldMatchType::Exact(exact)),
        }],
        action: Some(pb::TableAction { r#type: Some(pb::table_action::Type::Action(action)) }),
        ..pb::TableEntry::default()
    }
}

#[test]
fn f03_compiled_programs_have_the_values_of_a_translation_file() {
    use pb::entity::Entity;
    let dir = tempfile::tempdir().unwrap();
    let rules = dir.path().join("rules.toml");
    fs::write(
        &rules,
        "[\"port_id_t\"]\nvalues = { \"Ethernet4\" = 4, \"Ethernet9\" = 9 }\n\n[\"test/flow\"]\nvalues = { \
         \"0x10000\" = 5, \"0x20000\" = 6 }\n",
    )
    .unwrap();
    let (four, nine) = (port(dir.path(), 4), port(dir.path(), 9));
    let rules = rules.display().to_string();
    let mut switch = Running::start(dir.path(), &["--translation", &rules, "-i", &four, "-i", &nine]);
    let program = fs::read_to_string("../grpc/tests/p4runtime/translated.p4").unwrap();
    switch.set(Action::VerifyAndCommit, &program);
    let p4info = switch.p4info();
    let idle = pb::TableEntry {
        idle_timeout_ns: 1_000_000,
        ..entry(&p4info, "networks", b"red", "enter", &[b"blue"])
    };
    switch.write(vec![
        Entity::TableEntry(idle.clone()),
        Entity::TableEntry(entry(&p4info, "routes", &[1, 0, 0], "to_controller", &[])),
        Entity::TableEntry(entry(&p4info, "routes", &[2, 0, 0], "send", &[b"Ethernet9"])),
    ]);
    let Update::IdleTimeoutNotification(notice) = switch.next() else { panic!("a notice was expected") };
    assert_eq!(notice.table_entry, [pb::TableEntry { action: None, ..idle }]);
    switch.receive(4, "00000006");
    switch.receive(4, "00000005");
    let packet = loop {
        match switch.next() {
            Update::Packet(packet) => break packet,
            // The entry is still idle.
            Update::IdleTimeoutNotification(_) => {}
            other => panic!("a packet was expected: {other:?}"),
        }
    };
    assert_eq!((packet.payload, packet.metadata[0].value.clone()), (vec![0, 0, 0, 5], b"Ethernet4".to_vec()));
    // Names and numbers are the same for the next program.
    let all = Entity::TableEntry(pb::TableEntry::default());
    let before = switch.read(all.clone());
    assert_eq!(before.len(), 3);
    switch.set(Action::ReconcileAndCommit, &program.replace("bit<10>", "bit<12>"));
    assert_eq!(switch.read(all), before);
    switch.receive(4, "00000006");
    let metadata = vec![pb::PacketMetadata { metadata_id: 1, value: b"Ethernet9".to_vec() }];
    switch.send(Request::Packet(pb::PacketOut { payload: vec![0, 0, 0, 8], metadata }));
    // The switch answers behind the packet.
    switch.send(Request::Arbitration(pb::MasterArbitrationUpdate {
        device_id: DEVICE,
        election_id: Some(pb::Uint128 { high: 0, low: 1 }),
        ..pb::MasterArbitrationUpdate::default()
    }));
    while !matches!(switch.next(), Update::Arbitration(_)) {}
    let mut command = siding();
    command.arg("ctl").arg("--ctl-socket").arg(&switch.switch.ctl_socket).args(["--json", "show", "ports"]);
    let ports: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    let nine = ports.as_array().unwrap().iter().find(|port| port["port"] == 9).unwrap();
    assert_eq!(nine["stats"]["tx_packets"], 3, "{nine}");
}

/// How often the threads of a process have gone to sleep, by their names.
fn sleeps(process: u32) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for task in fs::read_dir(format!("/proc/{process}/task")).unwrap() {
        let task = task.unwrap().path();
        // A thread may end meanwhile.
        let (Ok(name), Ok(status)) =
            (fs::read_to_string(task.join("comm")), fs::read_to_string(task.join("status")))
        else {
            continue;
        };
        let n = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).unwrap();
        *all.entry(name.trim().to_owned()).or_default() += n.trim().parse::<u64>().unwrap();
    }
    all
}

/// A switch with a controller that does nothing costs nothing: its server sleeps, and the threads of its ports look now and then.
#[test]
fn l02_an_idle_switch_sleeps() {
    let dir = tempfile::tempdir().unwrap();
    let mut switch = Running::start(dir.path(), &["-i", &port(dir.path(), 4)]);
    switch
        .set(Action::VerifyAndCommit, &fs::read_to_string("../grpc/tests/p4runtime/translated.p4").unwrap());
    let before = sleeps(switch.switch.child.id());
    std::thread::sleep(Duration::from_secs(2));
    let after = sleeps(switch.switch.child.id());
    for (name, n) in after {
        let n = n.saturating_sub(before.get(&name).copied().unwrap_or(0));
        let most = if name.starts_with("p4runtime") { 20 } else { 200 };
        assert!(n < most, "{name} has slept {n} times");
    }
    // It is awake as soon as a packet comes.
    let p4info = switch.p4info();
    switch.write(vec![pb::entity::Entity::TableEntry(entry(&p4info, "routes", &[5], "to_controller", &[]))]);
    switch.receive(4, "00000005");
    assert!(matches!(switch.next(), Update::Packet(_)));
}
