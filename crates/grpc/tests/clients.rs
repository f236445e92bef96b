//! Clients that connect by thousands, die at any moment, send too much, or have the wrong certificates. Nothing of them stays.

#[path = "p4runtime/bench.rs"]
#[expect(dead_code, unused_imports, reason = "other tests use more of it")]
mod bench;
#[path = "p4runtime/wire.rs"]
mod wire;

use bench::{Action, NOT_FOUND, Type};
use bench::{Bench, Code, DEVICE, PROGRAM, Request, TestDevice, all_entries, code, pb, station, uint128};
use grpc::p4_v1::p4_runtime_client::P4RuntimeClient;
use grpc::{Address, Limits, Server, ServerOptions, StartError, Tls};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::ops::Range;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio_stream::wrappers::ReceiverStream;
use tonic::codegen::http;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Request as Call, Status};
use wire::Wire;

/// Threads, files and memory are those of the process, so tests run one after the other.
static ALONE: Mutex<()> = Mutex::new(());

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The number of threads, of open files, and of bytes of its own that this process has.
fn held() -> (usize, usize, u64) {
    let n_in = |dir: &str| fs::read_dir(dir).unwrap().count();
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let own = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    let kib: u64 = own.trim().trim_end_matches(" kB").parse().unwrap();
    (n_in("/proc/self/task"), n_in("/proc/self/fd"), kib << 10)
}

/// A client that dies: after nothing, in the middle of a preface, after garbage, and after a preface.
fn die(address: SocketAddr, i: usize) {
    let Ok(mut stream) = TcpStream::connect(address) else { return };
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    let _ = match i % 4 {
        0 => Ok(()),
        1 => stream.write_all(&preface[..10]),
        2 => stream.write_all(&[i as u8; 64]),
        _ => stream.write_all(preface),
    };
    if i.is_multiple_of(8) {
        let _ = stream.shutdown(Shutdown::Write);
    }
}

#[test]
fn a07_ten_thousand_clients_leave_nothing_behind() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let bench = Bench::new();
    let Address::Tcp(address) = bench.server().address().clone() else { panic!() };
    let storm = |clients: Range<usize>| {
        for i in clients {
            die(address, i);
            if i.is_multiple_of(100) {
                let mut controller = bench.remote_controller();
                controller.elect("", i as u64);
                drop(controller);
                // The next one has a higher id, and must not meet this one.
                wait_until("a session stays", || bench.server().n_streams() == 0);
            }
        }
    };
    // Threads and buffers that are kept for the next ones are there now.
    storm(0..1000);
    let (n_threads, n_files, n_bytes) = held();
    storm(1000..11_000);
    wait_until("files stay open", || held().1 <= n_files);
    let after = held();
    // Threads of connections and of their requests come one by one, up to a number, and stay for the next ones.
    assert!(after.0 <= n_threads + 32, "{} threads after {n_threads}", after.0);
    assert!(after.2 < n_bytes + (16 << 20), "{} bytes after {n_bytes}", after.2);
    assert_eq!(bench.server().n_streams(), 0);
    bench.controller().elect("", 1 << 40);
}

#[test]
fn each_connection_has_a_thread_and_many_share_sixteen() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let bench = Bench::new();
    let n_threads = || {
        let threads = fs::read_dir("/proc/self/task").unwrap().filter_map(|thread| {
            let name = fs::read_to_string(thread.ok()?.path().join("comm")).ok()?;
            (name.trim_end() == "p4runtime").then_some(())
        });
        threads.count()
    };
    let controllers: Vec<_> = (1..=40)
        .map(|id| {
            let mut controller = bench.remote_controller();
            controller.elect(&format!("role {id}"), id);
            // The bench has a connection, too. A thread has its name a little after it has begun.
            wait_until("threads", || n_threads() == (1 + id as usize).min(16));
            controller
        })
        .collect();
    assert_eq!(bench.server().n_streams(), 40);
    // The threads of connections that have ended serve others.
    drop(controllers);
    wait_until("a session stays", || bench.server().n_streams() == 0);
    bench.remote_controller().elect("", 1);
    wait_until("threads", || n_threads() == 16);
    drop(bench);
    wait_until("threads stay", || n_threads() == 0);
}

#[test]
fn a07_a_client_behind_a_broken_wire_is_gone() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let keepalive = (Duration::from_millis(200), Duration::from_millis(200));
    let limits = Limits { keepalive, ..Limits::default() };
    let bench = Bench::with(|options| ServerOptions { limits, ..options });
    let Address::Tcp(address) = bench.server().address().clone() else { panic!() };
    let wire = Wire::to(address);
    let mut primary = bench.controller_at(&format!("http://{}", wire.address));
    let mut backup = bench.controller();
    primary.elect("", 2);
    backup.arbitrate("", Some(1));
    backup.notice();
    wire.cut();
    assert_eq!(backup.notice(), (Some(2), NOT_FOUND));
    assert_eq!(bench.server().n_streams(), 1);
}

#[test]
fn a07_long_requests_are_refused_and_the_connection_stays() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let limits = Limits { message_bytes_max: 20_000, ..Limits::default() };
    let bench = Bench::with(|options| ServerOptions { limits, ..options });
    let mut primary = bench.controller();
    primary.elect("", 1);
    bench.set(Action::VerifyAndCommit, PROGRAM, 1).unwrap();
    let p4info = bench.get(0).unwrap().unwrap().p4info.unwrap();
    let many = (0..1000).map(|i| station(&p4info, Type::Insert, i, 2)).collect();
    let status = bench.write(many).unwrap_err();
    assert!(matches!(code(&status), Code::OutOfRange | Code::ResourceExhausted), "{status}");
    assert!(status.message().contains("20000"), "{status}");
    assert_eq!(bench.read(all_entries()).unwrap(), []);
    bench.write(vec![station(&p4info, Type::Insert, 1, 2)]).unwrap();
    // A stream ends with the reason.
    primary
        .send(Some(Request::Packet(pb::PacketOut { payload: vec![0; 30_000], ..pb::PacketOut::default() })));
    let status = primary.next().unwrap_err();
    assert!(status.message().contains("20000"), "{status}");
    bench.controller().elect("", 2);
}

#[test]
fn l04_unknown_services_are_unimplemented() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let bench = Bench::new();
    let mut controller = bench.controller();
    controller.elect("", 1);
    let channel = bench.connect(&format!("http://{}", bench.server().address()));
    let subscribe = |path: &'static str| -> Result<(), Status> {
        let mut client = tonic::client::Grpc::new(channel.clone());
        bench.runtime.block_on(async {
            client.ready().await.unwrap();
            let (_open, requests) = tokio::sync::mpsc::channel::<()>(1);
            let path = tonic::codegen::http::uri::PathAndQuery::from_static(path);
            let codec = tonic_prost::ProstCodec::<(), ()>::default();
            let answers = client.streaming(Call::new(ReceiverStream::new(requests)), path, codec).await?;
            answers.into_inner().message().await.map(|_| ())
        })
    };
    // finsy asks for the states of ports in this way, while its stream is open.
    for path in ["/gnmi.gNMI/Subscribe", "/gnmi.gNMI/Get", "/p4.v1.P4Runtime/Other"] {
        assert_eq!(code(&subscribe(path).unwrap_err()), Code::Unimplemented, "{path}");
    }
    controller.elect("", 2);
}

/// Keys and certificates, made once. `None` where there is no openssl.
fn certificates() -> Option<&'static Path> {
    static MADE: OnceLock<Option<TempDir>> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let mut shell = Command::new("sh");
        let output =
            shell.args(["-c", include_str!("certificates.sh")]).current_dir(dir.path()).output().unwrap();
        output.status.success().then_some(dir)
    });
    made.as_ref().map(TempDir::path)
}

fn pem(name: &str) -> Vec<u8> {
    fs::read(certificates().unwrap().join(name)).unwrap()
}

fn tls_server(asks_clients: bool) -> Result<Server, StartError> {
    let tls = Tls {
        certificate: pem("server.pem"),
        key: pem("server.key"),
        client_authority: asks_clients.then(|| pem("authority.pem")),
    };
    start(tls)
}

fn start(tls: Tls) -> Result<Server, StartError> {
    let options = ServerOptions {
        address: Address::Tcp("127.0.0.1:0".parse().unwrap()),
        device_id: DEVICE,
        tls: Some(tls),
        limits: Limits::default(),
        translation: control::translate::Options::default(),
        without_arbitration: false,
        decodes_in_full: false,
    };
    Server::start(TestDevice::default(), options)
}

/// Asks the server for its version. The client trusts the authority, and shows a certificate.
fn ask(server: &Server, identity: Option<&str>, authority: &str) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut config =
        ClientTlsConfig::new().domain_name("localhost").ca_certificate(Certificate::from_pem(pem(authority)));
    if let Some(name) = identity {
        let identity = Identity::from_pem(pem(&format!("{name}.pem")), pem(&format!("{name}.key")));
        config = config.identity(identity);
    }
    let endpoint = Endpoint::from_shared(format!("https://{}", server.address())).unwrap();
    let endpoint = endpoint.tls_config(config).map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let channel: Channel = endpoint.connect().await.map_err(|error| error.to_string())?;
        let request = pb::CapabilitiesRequest { device_id: DEVICE };
        let answer = P4RuntimeClient::new(channel).capabilities(request).await;
        answer.map(|_| ()).map_err(|status| status.to_string())
    })
}

#[test]
fn a01_wrong_certificates_are_refused() {
    if certificates().is_none() {
        return;
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let open = tls_server(false).unwrap();
    ask(&open, None, "authority.pem").unwrap();
    ask(&open, None, "stranger.pem").unwrap_err();
    // Without TLS, and with bytes that are nothing, to a server that wants TLS.
    let Address::Tcp(address) = open.address().clone() else { panic!() };
    (0..40).for_each(|i| die(address, i));
    ask(&open, None, "authority.pem").unwrap();
    let closed = tls_server(true).unwrap();
    ask(&closed, Some("client"), "authority.pem").unwrap();
    for identity in [None, Some("expired"), Some("foreign")] {
        ask(&closed, identity, "authority.pem").unwrap_err();
    }
    ask(&closed, Some("client"), "authority.pem").unwrap();
}

#[test]
fn a01_keys_that_cannot_be_used_are_told_at_the_start() {
    if certificates().is_none() {
        return;
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let good = || Tls { certificate: pem("server.pem"), key: pem("server.key"), client_authority: None };
    for tls in [
        Tls { certificate: b"nothing".to_vec(), ..good() },
        Tls { key: b"nothing".to_vec(), ..good() },
        // The key of another certificate.
        Tls { key: pem("client.key"), ..good() },
    ] {
        assert!(matches!(start(tls), Err(StartError::Tls(_))));
    }
}

/// A controller that dies while its write is under way has no part in what comes next.
#[test]
fn a08_a_client_that_dies_in_a_write_is_gone() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (bench, p4info) = Bench::running();
    for i in 2..40 {
        let mut controller = bench.remote_controller();
        controller.elect("", i);
        let request = pb::WriteRequest {
            device_id: DEVICE,
            election_id: Some(uint128(i)),
            updates: vec![station(&p4info, Type::Insert, i, 2)],
            ..pb::WriteRequest::default()
        };
        let mut client = bench.client.clone();
        let write = bench.runtime.spawn(async move { client.write(request).await.map(|_| ()) });
        std::thread::yield_now();
        write.abort();
        drop(controller);
        wait_until("a session stays", || bench.server().n_streams() == 0);
    }
    let mut last = bench.controller();
    last.elect("", 100);
}

/// A server whose clients have 0.1 s to begin, and as much to answer.
fn impatient() -> Bench {
    let keepalive = (Duration::from_millis(50), Duration::from_millis(50));
    let limits = Limits { keepalive, ..Limits::default() };
    Bench::with(|options| ServerOptions { limits, ..options })
}

#[test]
fn a07_clients_that_do_not_begin_are_cut_off() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let bench = impatient();
    let Address::Tcp(address) = bench.server().address().clone() else { panic!() };
    for beginning in [&b""[..], b"PRI * HTTP/2.0\r\n", b"GET / HTTP/1.1\r\nhost: a\r\n\r\n"] {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(beginning).unwrap();
        let mut answer = Vec::new();
        // Closed, or reset because there are bytes that nobody has read.
        let end = stream.read_to_end(&mut answer).map_err(|error| error.kind());
        assert!(matches!(end, Ok(_) | Err(ErrorKind::ConnectionReset)), "{beginning:?}: {end:?}");
    }
    bench.controller().elect("", 1);
}

#[test]
fn a07_a_request_has_the_time_that_its_client_sets() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let bench = Bench::new();
    let Address::Tcp(address) = bench.server().address().clone() else { panic!() };
    bench.runtime.block_on(async {
        let stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let (sender, connection) = h2::client::handshake(stream).await.unwrap();
        tokio::spawn(connection);
        let open = async |time: &'static str, method: &str| {
            let request = http::Request::post(format!("http://a/p4.v1.P4Runtime/{method}"))
                .header("content-type", "application/grpc")
                .header("grpc-timeout", time);
            let mut sender = sender.clone().ready().await.unwrap();
            // The message does not come.
            sender.send_request(request.body(()).unwrap(), false).unwrap()
        };
        for method in ["Write", "Read", "Capabilities"] {
            let (answer, _body) = open("20m", method).await;
            let head = answer.await.unwrap();
            assert_eq!(head.headers()["grpc-status"], "4", "{method}");
        }
        // Cancelled before the time is over; the connection goes on.
        let (answer, mut body) = open("1H", "Write").await;
        body.send_reset(h2::Reason::CANCEL);
        answer.await.unwrap_err();
        let (answer, _body) = open("1m", "Write").await;
        assert_eq!(answer.await.unwrap().headers()["grpc-status"], "4");
    });
}
