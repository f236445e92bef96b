//! A switch in this process, with either backend, that serves P4Runtime and shared memory.

use control::{Schema, Target};
use driver::Runnable;
use grpc::{Address, Client, ConfigFault, Copy, Device, Limits, Messages, Packet, ServerOptions, Work};
use native::{BuildOptions, CacheOptions, CompileOptions, Machine, Optimise};
use p4info::proto::p4::v1 as pb;
use shm_client::wire::Sizes;
use shm_client::{Options, Session, Tables};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use target::Config;

pub const DEVICE: u64 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    Interpreter,
    Native,
}

struct Running {
    schema: Arc<Schema>,
    target: Box<dyn Target + Send>,
}

/// The program of the tests, without packets.
#[derive(Clone)]
struct TestDevice {
    running: Arc<Mutex<Running>>,
    is_called: Arc<(Mutex<bool>, Condvar)>,
}

impl Device for TestDevice {
    type Program = ();

    fn prepare(&self, _: &pb::ForwardingPipelineConfig) -> Result<(), ConfigFault> {
        Err(ConfigFault::invalid("the program stays"))
    }

    fn with_prepared(&self, (): &mut (), _: Work<'_>) {}

    fn copy_entities(&self, (): &mut (), _: Copy<'_>) -> bool {
        false
    }

    fn run(&self, (): ()) -> Result<(), ConfigFault> {
        Ok(())
    }

    fn with_running(&self, work: Work<'_>) -> bool {
        let mut running = self.running.lock().unwrap();
        let schema = Arc::clone(&running.schema);
        work(&schema, &mut *running.target);
        true
    }

    fn is_busy(&self) -> bool {
        self.running.try_lock().is_err()
    }

    fn packet_out(&self, _: Vec<u8>) -> Result<(), ConfigFault> {
        Ok(())
    }

    fn wait_for_messages(&self, timeout: Option<Duration>) {
        let (is_called, changed) = &*self.is_called;
        let timeout = timeout.unwrap_or(Duration::from_secs(3600));
        let guard = is_called.lock().unwrap();
        let (mut guard, _) = changed.wait_timeout_while(guard, timeout, |called| !*called).unwrap();
        *guard = false;
    }

    fn wake(&self) {
        *self.is_called.0.lock().unwrap() = true;
        self.is_called.1.notify_all();
    }

    fn take_messages(&self) -> Messages {
        Messages { packets: Vec::<Packet>::new(), digests: Vec::new(), idle: Vec::new() }
    }

    fn has_cpu_port(&self) -> bool {
        false
    }
}

/// A server of shared memory, with its switch.
pub struct Bench {
    pub shm: Option<shm::Server>,
    pub grpc: grpc::Server,
    pub schema: Arc<Schema>,
    _dir: tempfile::TempDir,
}

fn runnable() -> (Runnable, driver::Checked) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../native/tests/records/tables.p4");
    let source = driver::read_source(&path).unwrap();
    let mut checked = driver::check(&source, &driver::FileLoader::default(), &driver::Options::default());
    let runnable = driver::runnable(&mut checked, None).unwrap();
    (runnable, checked)
}

impl Bench {
    pub fn new(backend: Backend) -> Bench {
        let dir = tempfile::tempdir().unwrap();
        let (runnable, checked) = runnable();
        let schema = Schema::new(&runnable.control_plane.p4info).unwrap().with_program(&runnable.program);
        let schema = Arc::new(schema);
        let target: Box<dyn Target + Send> = match backend {
            Backend::Interpreter => {
                let program = runnable.program.clone();
                Box::new(interp::interpreter(program, Arc::clone(&schema), Config::default()).unwrap())
            }
            Backend::Native => {
                let compile = CompileOptions {
                    optimise: Optimise::Nothing,
                    machine: Machine::Any,
                    cache: CacheOptions { dir: Some(dir.path().join("cache")), ..Default::default() },
                    ..Default::default()
                };
                let options = BuildOptions { compile, ..Default::default() };
                let pipeline = native::build(&runnable.program, &checked.sources, &options).unwrap();
                let program = Arc::new(runnable.program.clone());
                let device = native::native_device(pipeline, program, Arc::clone(&schema), Config::default());
                Box::new(device.unwrap())
            }
        };
        let running = Running { schema: Arc::clone(&schema), target };
        let device = TestDevice { running: Arc::new(Mutex::new(running)), is_called: Arc::default() };
        let options = ServerOptions {
            address: Address::Tcp("127.0.0.1:0".parse().unwrap()),
            device_id: DEVICE,
            tls: None,
            limits: Limits::default(),
            translation: control::translate::Options::default(),
            without_arbitration: false,
            decodes_in_full: false,
        };
        let grpc = grpc::Server::start(device, options).unwrap();
        let path = dir.path().join("shm/socket");
        let options = shm::ServerOptions {
            path,
            group: None,
            sizes: Sizes { n_slots: 4, slot_bytes: 16 << 10 },
            slots_bytes_max: 16 << 20,
        };
        let shm = shm::Server::start(grpc.local(), options).unwrap();
        Bench { shm: Some(shm), grpc, schema, _dir: dir }
    }

    pub fn server(&self) -> &shm::Server {
        self.shm.as_ref().unwrap()
    }

    pub fn path(&self) -> PathBuf {
        self.server().path().to_owned()
    }

    pub fn open(&self, election_id: u128) -> Session {
        Session::open(self.path(), &options(election_id)).unwrap()
    }

    /// The number of all entries, by gRPC.
    pub fn n_entries(&self) -> usize {
        self.entities().len()
    }

    pub fn entities(&self) -> Vec<pb::Entity> {
        let client = Client::connect(&self.grpc.address().to_string().parse().unwrap(), None).unwrap();
        let mut all = Vec::new();
        client.read(all_entries(), |entities| all.extend(entities)).unwrap();
        all
    }
}

pub fn options(election_id: u128) -> Options {
    Options { device_id: DEVICE, timeout: Duration::from_secs(20), ..Options::new(election_id) }
}

pub fn all_entries() -> pb::ReadRequest {
    let entity = pb::entity::Entity::TableEntry(pb::TableEntry::default());
    let entities = vec![pb::Entity { entity: Some(entity) }];
    pb::ReadRequest { device_id: DEVICE, entities, ..pb::ReadRequest::default() }
}

pub fn tables(session: &mut Session, parts: u32) -> Tables {
    session.tables(parts).unwrap()
}
