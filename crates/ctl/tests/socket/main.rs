//! The socket of a switch: requests, nonsense, foreign users and stalled clients.

mod clients;
mod requests;
mod state;
mod users;

use ctl::{Compiler, Limits, Refusal, RefusalKind, Server};
use dataplane::{Compiled, Options, Switch};
use externs::ExternSet;
use native::{BuildOptions, CompileOptions, Machine, Optimise, build};
use packet_io::{MemoryPort, PortId};
use serde_json::Value as Json;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Requests that [`Tests`] holds, and whether they may end.
static N_HELD: AtomicUsize = AtomicUsize::new(0);
static IS_RELEASED: AtomicBool = AtomicBool::new(false);

/// Compiles programs of the repository; holds requests for the program `hold`.
struct Tests;

impl Compiler for Tests {
    fn compile(&self, program: &Path) -> Result<Compiled, Refusal> {
        match program.to_str() {
            Some(path) if path.starts_with("examples/") || path.starts_with("tests/") => Ok(compile(path)),
            Some("hold") => {
                N_HELD.fetch_add(1, Ordering::SeqCst);
                until("a release", || IS_RELEASED.load(Ordering::SeqCst));
                Err(Refusal::new(RefusalKind::Program, "released"))
            }
            _ => Err(Refusal::new(RefusalKind::Program, "no such program")),
        }
    }
}

/// Compiles a program of the repository without optimisation, into the cache that all tests share.
fn compile(path: &str) -> Compiled {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let source = driver::read_source(&root.join(path)).unwrap();
    let mut checked = driver::check(&source, &driver::FileLoader::default(), &driver::Options::default());
    let runnable =
        driver::runnable(&mut checked, None).unwrap_or_else(|| panic!("{:?}", checked.diagnostics));
    let compile =
        CompileOptions { optimise: Optimise::Nothing, machine: Machine::Any, ..CompileOptions::default() };
    let options = BuildOptions { compile, externs: ExternSet::new(), ..BuildOptions::default() };
    let pipeline = build(&runnable.program, &checked.sources, &options).unwrap();
    let schema = control::Schema::new(&runnable.control_plane.p4info).unwrap();
    Compiled {
        name: path.to_owned(),
        pipeline,
        program: Arc::new(runnable.program),
        schema: Arc::new(schema),
        sources: Some(Arc::new(checked.sources)),
    }
}

/// Waits for something to become true.
fn until(what: &str, mut is_true: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_true() {
        assert!(begin.elapsed() < Duration::from_secs(20), "{what} does not happen");
        std::thread::sleep(Duration::from_millis(2));
    }
}

struct Client(BufReader<UnixStream>);

impl Client {
    fn new(server: &Server) -> Client {
        let stream = UnixStream::connect(server.path()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Client(BufReader::new(stream))
    }

    fn send(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).unwrap();
    }

    fn answer(&mut self) -> Json {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{line:?}: {e}"))
    }

    fn ask(&mut self, mut request: Json) -> Json {
        request["version"] = 1.into();
        self.send(format!("{request}\n").as_bytes());
        self.answer()
    }

    /// The result, when all is well.
    fn get(&mut self, request: Json) -> Json {
        let answer = self.ask(request.clone());
        assert!(answer["error"].is_null(), "{request}: {answer}");
        answer["result"].clone()
    }
}

/// A switch with two ports and a CPU port, without a program, and its socket.
fn start() -> (Arc<Switch>, Server, tempfile::TempDir) {
    start_with(Limits::default())
}

fn start_with(limits: Limits) -> (Arc<Switch>, Server, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let switch = Switch::start(Options { cpu_port: Some(9), ..Options::default() }).unwrap();
    for number in 0..2 {
        let port = MemoryPort::new(PortId(number), []);
        switch.add_open_port(number, format!("memory{number}"), Box::new(port)).unwrap();
    }
    let path = dir.path().join("deep/0.ctl");
    let server = Server::start_with(&path, &switch, Arc::new(Tests), limits).unwrap();
    (switch, server, dir)
}
