//! A switch in this process behind a server on a real socket, and a client.

pub use control::Code;
pub use grpc::ServerOptions;
pub use p4info::proto::p4::v1 as pb;
pub use pb::entity::Entity;
pub use pb::set_forwarding_pipeline_config_request::Action;
pub use pb::stream_message_request::Update as Request;
pub use pb::stream_message_response::Update;
pub use pb::update::Type;

use control::{EntryQuery, Query, Schema, Target};
use grpc::p4_v1::p4_runtime_client::P4RuntimeClient;
use grpc::{Address, Before, ConfigFault, Copy, Device, Limits, Messages, Packet, Server, Work};
use interp::InterpretedDevice;
use p4info::P4Info;
use p4info::proto::google::rpc;
use prost::Message;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;
use target::traffic::{Config, Destination};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;
use tonic::{Status, Streaming};
use trace::Silent;

pub const OK: i32 = 0;
pub const NOT_FOUND: i32 = 5;
pub const ALREADY_EXISTS: i32 = 6;

pub const PROGRAM: &str = include_str!("program.p4");
pub const DEVICE: u64 = 3;
pub const CPU_PORT: u32 = 510;

/// An interpreted program.
pub struct Program {
    switch: InterpretedDevice,
    schema: Arc<Schema>,
}

/// A switch whose packets tests send by hand.
#[derive(Clone, Default)]
pub struct TestDevice {
    state: Arc<Mutex<State>>,
    changed: Arc<Condvar>,
    /// Work on entities waits for it.
    gate: Arc<Mutex<()>>,
    n_works: Arc<AtomicU64>,
    has_no_cpu_port: Arc<AtomicBool>,
}

#[derive(Default)]
struct State {
    running: Option<Program>,
    packets: Vec<Packet>,
    idle: Vec<control::Entity>,
    is_called: bool,
    /// How often messages were taken.
    n_takes: u64,
    /// Packets that left, with their port.
    sent: Vec<(u32, Vec<u8>)>,
}

impl TestDevice {
    /// A packet arrives at a port.
    pub fn receive(&self, port: u32, bytes: &[u8]) {
        let mut state = self.state.lock().unwrap();
        let State { running, packets, sent, .. } = &mut *state;
        let Some(program) = running else { return };
        for output in program.switch.switch.inject(port, bytes, &mut Silent) {
            match output.destination {
                Destination::Port(port) => sent.push((port, output.bytes)),
                Destination::Controller => packets.push(Packet { bytes: output.bytes }),
            }
        }
        self.changed.notify_all();
    }

    /// Work on entities waits until the guard is dropped.
    pub fn hold(&self) -> MutexGuard<'_, ()> {
        self.n_works.store(0, Ordering::Release);
        self.gate.lock().unwrap()
    }

    /// Waits until a request works on entities.
    pub fn wait_for_work(&self) {
        while self.n_works.load(Ordering::Acquire) == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// A port of the program that runs goes down or comes up.
    pub fn set_port(&self, port: u32, state: target::PortState) {
        let mut state_of = self.state.lock().unwrap();
        state_of.running.as_mut().unwrap().switch.switch.set_port(port, state);
    }

    pub fn remove_cpu_port(&self) {
        self.has_no_cpu_port.store(true, Ordering::Release);
    }

    /// All entries of tables are told to have had no packet for too long.
    pub fn expire_all(&self) {
        let mut state = self.state.lock().unwrap();
        let query = Query::TableEntries(EntryQuery::default());
        let found = state.running.as_ref().map(|program| program.switch.read(&query).unwrap());
        state.idle.extend(found.unwrap_or_default());
        self.changed.notify_all();
    }

    /// How often the server has asked for messages.
    pub fn n_takes(&self) -> u64 {
        self.state.lock().unwrap().n_takes
    }

    /// The entries of one table are told to have had no packet for too long.
    pub fn expire_table(&self, id: u32) {
        let mut state = self.state.lock().unwrap();
        let query =
            Query::TableEntries(EntryQuery { table: Some(control::TableId(id)), ..EntryQuery::default() });
        let found = state.running.as_ref().map(|program| program.switch.read(&query).unwrap());
        state.idle.extend(found.unwrap_or_default());
        self.changed.notify_all();
    }

    /// Packets that the server has not taken.
    pub fn n_packets(&self) -> usize {
        self.state.lock().unwrap().packets.len()
    }

    pub fn take_sent(&self) -> Vec<(u32, Vec<u8>)> {
        std::mem::take(&mut self.state.lock().unwrap().sent)
    }
}

impl Device for TestDevice {
    type Program = Program;

    fn prepare(&self, config: &pb::ForwardingPipelineConfig) -> Result<Program, ConfigFault> {
        let text = std::str::from_utf8(&config.p4_device_config)
            .map_err(|_| ConfigFault::invalid("`p4_device_config` is no P4 program"))?;
        let source = driver::Source { name: "config.p4".to_owned(), text: text.into() };
        let mut checked = driver::check(&source, &driver::BuiltInLoader, &driver::Options::default());
        let runnable = driver::runnable(&mut checked, None)
            .ok_or_else(|| ConfigFault::invalid(format!("errors: {:?}", checked.diagnostics)))?;
        let own = &runnable.control_plane.p4info;
        let p4info = config.p4info.as_ref().unwrap_or(own);
        grpc::check_p4info(own, p4info)?;
        let schema = Schema::new(p4info).map_err(|error| ConfigFault::invalid(error.to_string()))?;
        let schema = schema.with_program(&runnable.program);
        let schema = Arc::new(schema.with_headers(&runnable.control_plane.controller_headers));
        let config = Config { cpu_port: Some(CPU_PORT), ..Config::default() };
        let switch = interp::interpreter(runnable.program, Arc::clone(&schema), config)
            .map_err(|error| ConfigFault::invalid(error.to_string()))?;
        Ok(Program { switch, schema })
    }

    fn with_prepared(&self, program: &mut Program, work: Work<'_>) {
        let schema = Arc::clone(&program.schema);
        work(&schema, &mut program.switch);
    }

    fn copy_entities(&self, program: &mut Program, copy: Copy<'_>) -> bool {
        let mut state = self.state.lock().unwrap();
        let Some(before) = &mut state.running else { return false };
        let (from, schema) = (Arc::clone(&before.schema), Arc::clone(&program.schema));
        let from = Before { schema: &from, target: &mut before.switch };
        copy(from, &schema, &mut program.switch);
        true
    }

    fn run(&self, program: Program) -> Result<(), ConfigFault> {
        self.state.lock().unwrap().running = Some(program);
        Ok(())
    }

    fn with_running(&self, work: Work<'_>) -> bool {
        self.n_works.fetch_add(1, Ordering::AcqRel);
        let _gate = self.gate.lock().unwrap();
        let mut state = self.state.lock().unwrap();
        let Some(program) = &mut state.running else { return false };
        let schema = Arc::clone(&program.schema);
        work(&schema, &mut program.switch);
        true
    }

    fn is_busy(&self) -> bool {
        self.gate.try_lock().is_err() || self.state.try_lock().is_err()
    }

    fn packet_out(&self, packet: Vec<u8>) -> Result<(), ConfigFault> {
        self.receive(CPU_PORT, &packet);
        Ok(())
    }

    fn wait_for_messages(&self, timeout: Option<Duration>) {
        let has_nothing = |state: &mut State| {
            let digests = state.running.as_ref().is_some_and(|running| running.switch.switch.has_digests());
            !digests
                && state.packets.is_empty()
                && state.idle.is_empty()
                && !std::mem::take(&mut state.is_called)
        };
        let timeout = timeout.unwrap_or(Duration::from_secs(3600));
        drop(self.changed.wait_timeout_while(self.state.lock().unwrap(), timeout, has_nothing).unwrap());
    }

    fn wake(&self) {
        self.state.lock().unwrap().is_called = true;
        self.changed.notify_all();
    }

    fn take_messages(&self) -> Messages {
        let mut state = self.state.lock().unwrap();
        state.n_takes += 1;
        let packets = std::mem::take(&mut state.packets);
        let digests = state.running.as_mut().map(|program| program.switch.switch.take_digests());
        let digests = digests.into_iter().flatten().map(|digest| (digest.name, digest.values));
        let digests = digests.collect();
        Messages { packets, digests, idle: std::mem::take(&mut state.idle) }
    }

    fn has_cpu_port(&self) -> bool {
        !self.has_no_cpu_port.load(Ordering::Acquire)
    }
}

/// A server with its device, and a client of it.
pub struct Bench {
    pub runtime: Arc<Runtime>,
    pub device: TestDevice,
    /// The server of the device; another process has its own.
    server: Option<Server>,
    address: String,
    channel: Channel,
    pub client: P4RuntimeClient<Channel>,
}

/// The stream of a controller.
pub struct Controller {
    runtime: Arc<Runtime>,
    requests: Option<mpsc::Sender<pb::StreamMessageRequest>>,
    responses: Streaming<pb::StreamMessageResponse>,
}

pub fn uint128(id: u64) -> pb::Uint128 {
    pb::Uint128 { high: 0, low: id }
}

impl Bench {
    /// Without a program.
    pub fn new() -> Bench {
        Bench::with(|options| options)
    }

    pub fn with(change: impl FnOnce(ServerOptions) -> ServerOptions) -> Bench {
        let device = TestDevice::default();
        let options = ServerOptions {
            address: Address::Tcp("127.0.0.1:0".parse().unwrap()),
            device_id: DEVICE,
            tls: None,
            limits: Limits::default(),
            translation: control::translate::Options::default(),
            without_arbitration: false,
            decodes_in_full: false,
        };
        let server = Server::start(device.clone(), change(options)).unwrap();
        let address = format!("http://{}", server.address());
        Bench { device, server: Some(server), ..Bench::connected(address) }
    }

    /// A client of a server in another process.
    pub fn connected(address: String) -> Bench {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let endpoint = Channel::from_shared(address.clone()).unwrap();
        let channel = runtime.block_on(endpoint.connect()).unwrap();
        let client = P4RuntimeClient::new(channel.clone()).max_decoding_message_size(usize::MAX);
        let device = TestDevice::default();
        Bench { runtime: Arc::new(runtime), device, server: None, address, channel, client }
    }

    /// With the program of the tests, and its primary.
    pub fn running() -> (Bench, P4Info) {
        let bench = Bench::new();
        let mut primary = bench.controller();
        primary.elect("", 1);
        bench.set(pb::set_forwarding_pipeline_config_request::Action::VerifyAndCommit, PROGRAM, 1).unwrap();
        drop(primary);
        let p4info = bench.get(0).unwrap().unwrap().p4info.unwrap();
        (bench, p4info)
    }

    pub fn server(&self) -> &Server {
        self.server.as_ref().unwrap()
    }

    pub fn n_lost(&self) -> u64 {
        self.server().n_lost()
    }

    pub fn write_request(&self, request: pb::WriteRequest) -> Result<(), Status> {
        let mut client = self.client.clone();
        self.runtime.block_on(client.write(request)).map(|_| ())
    }

    /// Writes as the primary with election id 1.
    pub fn write(&self, updates: Vec<pb::Update>) -> Result<(), Status> {
        self.write_request(pb::WriteRequest {
            device_id: DEVICE,
            election_id: Some(uint128(1)),
            updates,
            ..pb::WriteRequest::default()
        })
    }

    pub fn read_request(
        &self,
        request: pb::ReadRequest,
    ) -> Result<Vec<pb::Entity>, (Vec<pb::Entity>, Status)> {
        let mut client = self.client.clone();
        self.runtime.block_on(async {
            let mut all = Vec::new();
            let mut answers = match client.read(request).await {
                Ok(answers) => answers.into_inner(),
                Err(status) => return Err((all, status)),
            };
            loop {
                match answers.message().await {
                    Ok(Some(answer)) => {
                        // Clients refuse longer ones than 4 MiB.
                        assert!(answer.encoded_len() <= 1 << 20, "{} bytes", answer.encoded_len());
                        all.extend(answer.entities);
                    }
                    Ok(None) => return Ok(all),
                    Err(status) => return Err((all, status)),
                }
            }
        })
    }

    pub fn read(
        &self,
        entities: Vec<pb::entity::Entity>,
    ) -> Result<Vec<pb::Entity>, (Vec<pb::Entity>, Status)> {
        let entities = entities.into_iter().map(|entity| pb::Entity { entity: Some(entity) }).collect();
        self.read_request(pb::ReadRequest { device_id: DEVICE, entities, ..pb::ReadRequest::default() })
    }

    pub fn set_request(&self, request: pb::SetForwardingPipelineConfigRequest) -> Result<(), Status> {
        let mut client = self.client.clone();
        self.runtime.block_on(client.set_forwarding_pipeline_config(request)).map(|_| ())
    }

    /// Sets a program, without a P4Info, with the cookie 7. An empty text is no config.
    pub fn set(
        &self,
        action: pb::set_forwarding_pipeline_config_request::Action,
        program: &str,
        election_id: u64,
    ) -> Result<(), Status> {
        let config = pb::ForwardingPipelineConfig {
            p4_device_config: program.as_bytes().to_vec(),
            cookie: Some(pb::forwarding_pipeline_config::Cookie { cookie: 7 }),
            ..pb::ForwardingPipelineConfig::default()
        };
        self.set_request(pb::SetForwardingPipelineConfigRequest {
            device_id: DEVICE,
            election_id: Some(uint128(election_id)),
            action: action.into(),
            config: (!program.is_empty()).then_some(config),
            ..pb::SetForwardingPipelineConfigRequest::default()
        })
    }

    pub fn get(&self, response_type: i32) -> Result<Option<pb::ForwardingPipelineConfig>, Status> {
        let request = pb::GetForwardingPipelineConfigRequest { device_id: DEVICE, response_type };
        let mut client = self.client.clone();
        self.runtime
            .block_on(client.get_forwarding_pipeline_config(request))
            .map(|answer| answer.into_inner().config)
    }

    pub fn get_of(&self, device_id: u64) -> Result<(), Status> {
        let request = pb::GetForwardingPipelineConfigRequest { device_id, response_type: 0 };
        let mut client = self.client.clone();
        self.runtime.block_on(client.get_forwarding_pipeline_config(request)).map(|_| ())
    }

    pub fn capabilities(&self, device_id: u64) -> Result<pb::CapabilitiesResponse, Status> {
        let mut client = self.client.clone();
        let answer = self.runtime.block_on(client.capabilities(pb::CapabilitiesRequest { device_id }));
        answer.map(|answer| answer.into_inner())
    }

    /// Calls a method that the server may not have.
    pub fn call_unknown(&self, path: &'static str) -> Result<(), Status> {
        let mut channel = tonic::client::Grpc::new(self.channel.clone());
        self.runtime.block_on(async {
            channel.ready().await.unwrap();
            let codec =
                tonic_prost::ProstCodec::<pb::CapabilitiesRequest, pb::CapabilitiesResponse>::default();
            let request = tonic::Request::new(pb::CapabilitiesRequest::default());
            channel.unary(request, path.parse().unwrap(), codec).await.map(|_| ())
        })
    }

    pub fn controller(&self) -> Controller {
        self.controller_of(self.client.clone())
    }

    /// A controller with a connection of its own.
    pub fn remote_controller(&self) -> Controller {
        self.controller_at(&self.address)
    }

    /// A controller that connects to this address.
    pub fn controller_at(&self, address: &str) -> Controller {
        self.controller_of(P4RuntimeClient::new(self.connect(address)))
    }

    pub fn connect(&self, address: &str) -> Channel {
        self.runtime.block_on(Channel::from_shared(address.to_owned()).unwrap().connect()).unwrap()
    }

    fn controller_of(&self, mut client: P4RuntimeClient<Channel>) -> Controller {
        let (requests, receiver) = mpsc::channel(64);
        let responses = self.runtime.block_on(client.stream_channel(ReceiverStream::new(receiver)));
        Controller {
            runtime: Arc::clone(&self.runtime),
            requests: Some(requests),
            responses: responses.unwrap().into_inner(),
        }
    }
}

impl Controller {
    pub fn send(&self, update: Option<pb::stream_message_request::Update>) {
        let requests = self.requests.as_ref().unwrap();
        // The server may have ended the stream.
        let _ = self.runtime.block_on(requests.send(pb::StreamMessageRequest { update }));
    }

    /// The next message, or the end of the stream.
    pub fn next(&mut self) -> Result<Option<Update>, Status> {
        self.runtime.block_on(async {
            let message = tokio::time::timeout(Duration::from_secs(20), self.responses.message()).await;
            Ok(message.expect("the server says nothing")?.and_then(|message| message.update))
        })
    }

    /// True if no message comes for a while.
    pub fn hears_nothing(&mut self) -> bool {
        self.runtime.block_on(async {
            tokio::time::timeout(Duration::from_millis(150), self.responses.message()).await.is_err()
        })
    }

    pub fn arbitrate(&self, role: &str, election_id: Option<u64>) {
        self.arbitrate_for(DEVICE, role, election_id);
    }

    pub fn arbitrate_for(&self, device_id: u64, role: &str, election_id: Option<u64>) {
        let role = (!role.is_empty()).then(|| pb::Role { name: role.to_owned(), ..pb::Role::default() });
        let update = pb::MasterArbitrationUpdate {
            device_id,
            role,
            election_id: election_id.map(uint128),
            ..pb::MasterArbitrationUpdate::default()
        };
        self.send(Some(pb::stream_message_request::Update::Arbitration(update)));
    }

    /// The next message, which is a notice: the highest election id, and the code.
    pub fn notice(&mut self) -> (Option<u64>, i32) {
        match self.next().unwrap() {
            Some(Update::Arbitration(notice)) => {
                (notice.election_id.map(|id| id.low), notice.status.unwrap().code)
            }
            other => panic!("a notice was expected: {other:?}"),
        }
    }

    /// Arbitrates and is told to be the primary.
    pub fn elect(&mut self, role: &str, election_id: u64) {
        self.arbitrate(role, Some(election_id));
        assert_eq!(self.notice(), (Some(election_id), 0));
    }

    /// The next message, which is an error about one of the controller.
    pub fn stream_error(&mut self) -> pb::StreamError {
        match self.next().unwrap() {
            Some(Update::Error(error)) => error,
            other => panic!("an error was expected: {other:?}"),
        }
    }

    /// Ends the controller's half of the stream; the server then ends its own.
    pub fn finish(mut self) {
        drop(self.requests.take());
        while let Ok(Some(_)) = self.next() {}
    }
}

/// The codes and messages in the details of a status, by update.
pub fn details(status: &Status) -> Vec<(i32, String)> {
    let details = rpc::Status::decode(status.details()).unwrap();
    assert_eq!((details.code, details.message.as_str()), (status.code() as i32, status.message()));
    let error = |any: &prost_types::Any| {
        assert_eq!(any.type_url, "type.googleapis.com/p4.v1.Error");
        let error = pb::Error::decode(any.value.as_slice()).unwrap();
        match error.canonical_code {
            0 => assert_eq!(error, pb::Error::default(), "a success has nothing else"),
            _ => assert!(error.space == "siding" && !error.message.is_empty(), "{error:?}"),
        }
        (error.canonical_code, error.message)
    };
    details.details.iter().map(error).collect()
}

pub fn code(status: &Status) -> Code {
    Code::of_number(status.code() as i32)
}

/// The id of a table, and its parts by name.
pub fn table<'p>(p4info: &'p P4Info, name: &str) -> &'p p4info::proto::p4::config::v1::Table {
    let is = |table: &&p4info::proto::p4::config::v1::Table| {
        table.preamble.as_ref().is_some_and(|preamble| preamble.alias == name)
    };
    p4info.tables.iter().find(is).unwrap()
}

pub fn action_id(p4info: &P4Info, name: &str) -> u32 {
    let preambles = p4info.actions.iter().filter_map(|action| action.preamble.as_ref());
    let found = preambles.into_iter().find(|preamble| preamble.alias == name || preamble.name == name);
    found.unwrap().id
}

/// A change of an entry of `stations`: `forward(port)`.
pub fn station(p4info: &P4Info, kind: pb::update::Type, station: u64, port: u8) -> pb::Update {
    let table_id = table(p4info, "stations").preamble.as_ref().unwrap().id;
    let exact = pb::field_match::Exact { value: station.to_be_bytes()[2..].to_vec() };
    let matches = vec![pb::FieldMatch {
        field_id: 1,
        field_match_type: Some(pb::field_match::FieldMatchType::Exact(exact)),
    }];
    let action = pb::Action {
        action_id: action_id(p4info, "forward"),
        params: vec![pb::action::Param { param_id: 1, value: vec![port] }],
    };
    let entry = pb::TableEntry {
        table_id,
        r#match: matches,
        action: Some(pb::TableAction { r#type: Some(pb::table_action::Type::Action(action)) }),
        ..pb::TableEntry::default()
    };
    update(kind, pb::entity::Entity::TableEntry(entry))
}

pub fn update(kind: pb::update::Type, entity: pb::entity::Entity) -> pb::Update {
    pb::Update { r#type: kind.into(), entity: Some(pb::Entity { entity: Some(entity) }) }
}

/// A question for all entries of all tables.
pub fn all_entries() -> Vec<pb::entity::Entity> {
    vec![pb::entity::Entity::TableEntry(pb::TableEntry::default())]
}
