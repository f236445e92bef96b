//! The socket: what people ask, and what vandals send.

mod common;

use common::{Wire, compile, until};
use dataplane::ctl::{self, LINE_BYTES_MAX, Language, Limits, Refusal, RefusalKind, Server, ServerError};
use dataplane::{Compiled, Filter, MetricsServer, Options, Switch, TraceLimits};
use serde_json::{Value as Json, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Requests of [`Tests`] that are held, and whether they may end.
static N_HELD: AtomicUsize = AtomicUsize::new(0);
static IS_RELEASED: AtomicBool = AtomicBool::new(false);

/// Knows the programs of the repository, test scripts that write, and `hold`.
struct Tests;

impl Language for Tests {
    fn compile(&self, program: &Path) -> Result<Compiled, Refusal> {
        match program.to_str() {
            Some(path) if path.starts_with("examples/") => Ok(compile(path)),
            _ => Err(Refusal::new(RefusalKind::Program, "no such program")),
        }
    }

    fn commands(&self, switch: &Switch, text: &str) -> Result<Json, Refusal> {
        if text == "hold" {
            N_HELD.fetch_add(1, Ordering::SeqCst);
            until("a release", || IS_RELEASED.load(Ordering::SeqCst));
            return Ok(json!("released"));
        }
        common::configure(switch, text);
        Ok(json!({}))
    }

    fn write(&self, _switch: &Switch, _text: &str) -> Result<u64, Refusal> {
        Err(Refusal::usage("not here"))
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

fn start() -> (Arc<Switch>, [Wire; 2], Server, tempfile::TempDir) {
    start_with(Limits::default())
}

fn start_with(limits: Limits) -> (Arc<Switch>, [Wire; 2], Server, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let switch = Switch::start(Options { cpu_port: Some(9), ..Options::default() }).unwrap();
    let wires = [Wire::default(), Wire::default()];
    for (number, wire) in (0..).zip(&wires) {
        switch.add_open_port(number, format!("wire{number}"), wire.port(number)).unwrap();
    }
    let path = dir.path().join("deep/0.ctl");
    let server = Server::start_with(&path, &switch, Arc::new(Tests), limits).unwrap();
    (switch, wires, server, dir)
}

#[test]
fn what_people_ask() {
    let (switch, wires, server, _dir) = start();
    assert_eq!(std::fs::metadata(server.path()).unwrap().permissions().mode() & 0o777, 0o600);
    let mut client = Client::new(&server);
    let early = client.ask(json!({ "request": "wait_ready", "timeout_ms": 10 }));
    assert_eq!(early["error"]["kind"], "timeout");
    assert_eq!(client.ask(json!({ "request": "show", "what": "tables" }))["error"]["kind"], "refused");
    client.get(json!({ "request": "replace", "program": "examples/01-router/router.p4" }));
    client.get(json!({ "request": "wait_ready", "timeout_ms": 10 }));
    client.get(json!({ "request": "commands", "text":
        "add next_hops meta.next_hop:1 forward(port:1, source:0x020000000001, destination:0x0200000000aa)
         add routes headers.ipv4.destination:0x0a000000/8 set_next_hop(next_hop:1)" }));
    let entries = client.get(json!({ "request": "show", "what": "entries", "name": "Router.routes" }));
    assert_eq!(entries[0]["keys"][0]["value"], "10.0.0.0/8");
    assert_eq!(entries[0]["action"]["params"][0], json!({ "name": "next_hop", "value": "1" }));
    let tables = client.get(json!({ "request": "show", "what": "tables" }));
    let routes = tables.as_array().unwrap().iter().find(|table| table["table"] == "Router.routes").unwrap();
    assert_eq!((&routes["entries"], &routes["size"]), (&json!(1), &json!(65536)));

    // The story of a packet that comes while somebody waits for it.
    let packet = "020000000000 020000000099 0800 4500001c000000004011ae24c0a800010a010203 1388003500080000";
    let other = "020000000000 020000000099 0800 4500001c0000000040110e17c0a80001ac100001 1388003500080000";
    let mut tracing = Client::new(&server);
    tracing.send(
        b"{\"version\":1,\"request\":\"trace\",\"n_packets\":1,\"filter\":\"port==0 && ipv4.destination==10.1.2.3\",\
          \"timeout_ms\":20000}\n",
    );
    // The trace has begun when its first copy was taken; until then packets pass untold.
    let mut stories = Json::Null;
    std::thread::scope(|scope| {
        let story = scope.spawn(|| tracing.answer());
        while !story.is_finished() {
            client.get(json!({ "request": "packet_out", "hex": other, "port": 0 }));
            client.get(json!({ "request": "packet_out", "hex": packet, "port": 0 }));
            std::thread::sleep(Duration::from_millis(20));
        }
        stories = story.join().unwrap();
    });
    let story = &stories["result"]["stories"][0];
    assert_eq!(story["verdicts"][0]["verdict"], "sent", "{stories}");
    assert_eq!(story["verdicts"][0]["port"], 1);
    until("the packets themselves", || wires[1].n_received() > 0);

    // One story is more than the bytes that are allowed, and the last.
    let limits = TraceLimits { n_stories_max: 1000, n_bytes_max: 1, timeout: Duration::from_secs(20) };
    std::thread::scope(|scope| {
        let tracing = scope.spawn(|| switch.trace(limits, &Filter::default(), &|| false).unwrap());
        while !tracing.is_finished() {
            client.get(json!({ "request": "packet_out", "hex": packet, "port": 0 }));
        }
        let traced = tracing.join().unwrap();
        assert_eq!((traced.stories.len(), traced.is_cut), (1, true));
    });

    let ports = client.get(json!({ "request": "show", "what": "ports" }));
    assert_eq!((&ports[1]["name"], &ports[1]["link"]), (&json!("wire1"), &json!("up")));
    client.get(json!({ "request": "set_port", "port": 1, "is_enabled": false }));
    let ports = client.get(json!({ "request": "show", "what": "ports" }));
    assert_eq!(ports[1]["enabled"], false);
    client.get(json!({ "request": "remove_port", "port": 1 }));
    assert_eq!(
        client.ask(json!({ "request": "remove_port", "port": 1 }))["error"]["message"],
        "there is no port 1"
    );
    let bad = client.ask(json!({ "request": "add_port", "port": "1@nosuchinterface" }));
    assert!(bad["error"]["message"].as_str().unwrap().contains("nosuchinterface"), "{bad}");

    let counters = client.get(json!({ "request": "show", "what": "counters", "name": "Router.received" }));
    assert_eq!(counters[0]["index"], 0);
    client.get(
        json!({ "request": "replace", "program": "examples/01-router/router.p4", "keep_entries": true }),
    );
    let entries = client.get(json!({ "request": "show", "what": "entries" }));
    assert_eq!(entries.as_array().unwrap().len(), 2);
    for what in ["drops", "workers", "pre", "registers", "program"] {
        client.get(json!({ "request": "show", "what": what }));
    }
    let totals = client.get(json!({ "request": "show", "what": "totals" }));
    assert_eq!(totals["balanced"], true, "{totals}");
    assert!(!server.is_shutdown_wanted());
    client.get(json!({ "request": "shutdown" }));
    until("the wish to end", || server.is_shutdown_wanted());
    drop(server);
    assert!(switch.shut_down().unwrap().is_balanced());
}

#[test]
fn nonsense_is_answered() {
    let (switch, _wires, server, _dir) = start();
    let mut client = Client::new(&server);
    for nonsense in [
        &b"\n"[..],
        b"hello\n",
        b"{}\n",
        b"[1,2,3]\n",
        b"\xff\xfe\x00\n",
        b"{\"version\":1}\n",
        b"{\"version\":1,\"request\":\"dance\"}\n",
        b"{\"version\":77,\"request\":\"shutdown\"}\n",
        b"{\"version\":1,\"request\":\"show\",\"what\":\"everything\"}\n",
        b"{\"version\":1,\"request\":\"set_port\",\"port\":-1,\"is_enabled\":true}\n",
        b"{\"version\":1,\"request\":\"packet_out\",\"hex\":\"xyz\"}\n",
        b"{\"version\":1,\"request\":\"trace\",\"n_packets\":1,\"filter\":\"==\",\"timeout_ms\":1}\n",
        b"{\"version\":1,\"request\":\"add_port\",\"port\":\"@@@\"}\n",
    ] {
        client.send(nonsense);
        let answer = client.answer();
        assert_eq!(answer["error"]["kind"], "usage", "{}: {answer}", nonsense.escape_ascii());
    }
    // Deep nesting, and pieces of lines.
    let deep = [vec![b'['; 100_000], b"\n".to_vec()].concat();
    client.send(&deep);
    assert_eq!(client.answer()["error"]["kind"], "usage");
    client.send(b"{\"version\":1,\"req");
    std::thread::sleep(Duration::from_millis(250));
    client.send(b"uest\":\"show\",\"what\":\"totals\"}\n");
    assert_eq!(client.answer()["result"]["received"], 0);
    // Clients that vanish in the middle, or say nothing.
    let silent: Vec<Client> = (0..20).map(|_| Client::new(&server)).collect();
    for _ in 0..20 {
        let mut gone = Client::new(&server);
        gone.send(b"{\"version\":1,\"request\":\"show\",\"what\":\"ports\"}\n{\"ver");
    }
    assert_eq!(client.ask(json!({ "request": "show", "what": "totals" }))["result"]["received"], 0);
    drop(silent);
    // A line without an end.
    let mut endless = Client::new(&server);
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..=LINE_BYTES_MAX / piece.len() {
        if endless.0.get_mut().write_all(&piece).is_err() {
            break;
        }
    }
    assert_eq!(endless.answer()["error"]["kind"], "usage");
    // Another switch does not take the socket away, unless nobody listens there any more.
    let path = server.path().to_owned();
    let again = Server::start(&path, &switch, Arc::new(Tests));
    assert!(matches!(again, Err(ServerError::InUse(_))), "{again:?}");
    drop(server);
    assert!(!path.exists());
    drop(UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    // A compiler that another test starts right now holds this process's descriptors until it is loaded.
    until("the socket is taken over", || {
        let again = Server::start(&path, &switch, Arc::new(Tests));
        assert!(matches!(again, Ok(_) | Err(ServerError::InUse(_))), "{again:?}");
        again.is_ok()
    });
    std::fs::write(&path, "a file").unwrap();
    let file = Server::start(&path, &switch, Arc::new(Tests));
    assert!(matches!(file, Err(ServerError::NoSocket(_))), "{file:?}");
}

#[test]
fn metrics_are_served() {
    let (switch, wires, server, _dir) = start();
    let metrics = MetricsServer::start("127.0.0.1:0".parse().unwrap(), &switch).unwrap();
    let get = |request: &str| {
        let mut stream = TcpStream::connect(metrics.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    wires[0].send(&[0; 60]);
    until("a packet", || switch.report().unwrap().n_received == 1);
    let mut client = Client::new(&server);
    client.get(json!({ "request": "replace", "program": "examples/01-router/router.p4" }));
    client.get(json!({ "request": "commands",
        "text": "add routes headers.ipv4.destination:0x0a000000/8 set_next_hop(next_hop:1)" }));
    let answer = get("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    for line in [
        "siding_received_packets_total 1",
        "siding_drop_packets_total{reason=\"no_pipeline\"} 1",
        "siding_port_rx_packets_total{port=\"0\"} 1",
        "siding_port_up{port=\"1\",name=\"wire1\"} 1",
        "siding_table_entries{table=\"Router.routes\"} 1",
        "siding_table_lookup_total{table=\"Router.routes\",result=\"hit\"} 0",
        "siding_worker_packets_total{worker=\"0\"} 1",
    ] {
        assert!(answer.contains(&format!("\n{line}\n")), "{line}\n{answer}");
    }
    assert!(answer.ends_with("# EOF\n"));
    assert!(get("GET /metrics?x=1 HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200"));
    // Many more silent clients than there are connections, all of them older.
    let silent: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(metrics.address()).unwrap()).collect();
    assert!(get("GET /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200"));
    // The oldest were closed for it, not waited for.
    let mut oldest = &silent[0];
    oldest.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    assert_eq!(oldest.read(&mut [0; 8]).unwrap(), 0);
    drop(silent);
    assert!(get("GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
    assert!(get("POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
    assert!(get("GET /metrics").starts_with("HTTP/1.1 400"));
}

/// Becomes another user on a thread of its own; `None` if this process may not.
fn as_nobody<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let run = || {
        rustix::thread::set_thread_uid(rustix::fs::Uid::from_raw(65534)).ok()?;
        Some(f())
    };
    let result = std::thread::spawn(run).join().unwrap();
    if result.is_none() {
        println!("skipped: only root can become another user");
    }
    result
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn only_the_user_of_the_switch_is_served() {
    let (_switch, _wires, server, dir) = start();
    let path = server.path().to_owned();
    let attempt = path.clone();
    let Some(kind) = as_nobody(move || UnixStream::connect(attempt).unwrap_err().kind()) else { return };
    assert_eq!(kind, std::io::ErrorKind::PermissionDenied);
    // Even where the modes let everybody in, the kernel tells who is there.
    for open in [dir.path(), path.parent().unwrap()] {
        set_mode(open, 0o755);
    }
    set_mode(&path, 0o666);
    let said = as_nobody(move || {
        let mut stream = UnixStream::connect(path).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        // The server may have closed the connection already.
        let _ = stream.write_all(b"{\"version\":1,\"request\":\"shutdown\"}\n");
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        said
    });
    let said = said.unwrap();
    assert!(said.contains("belongs to user 65534, not to you"), "{said}");
    assert!(!server.is_shutdown_wanted());
    Client::new(&server).get(json!({ "request": "show", "what": "totals" }));
}

#[test]
fn a_switch_of_somebody_else_is_not_talked_to() {
    let dir = tempfile::tempdir().unwrap();
    set_mode(dir.path(), 0o777);
    let path = dir.path().join("0.ctl");
    let bound = path.clone();
    let Some(_listener) = as_nobody(move || UnixListener::bind(bound).unwrap()) else { return };
    set_mode(&path, 0o666);
    let error = ctl::connect(&path).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied, "{error}");
}

#[test]
fn a_socket_in_a_shared_directory_appears_with_its_mode() {
    let dir = tempfile::tempdir().unwrap();
    set_mode(dir.path(), 0o1777);
    let path = dir.path().join("x.ctl");
    let switch = Switch::start(Options::default()).unwrap();
    let server = Server::start(&path, &switch, Arc::new(Tests)).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let names = || std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names().collect::<Vec<_>>(), ["x.ctl"]);
    // Another socket at the path belongs to somebody else by the time that this server ends.
    std::fs::remove_file(&path).unwrap();
    let _other = UnixListener::bind(&path).unwrap();
    drop(server);
    assert_eq!(names().count(), 1);
    // A link is not followed to what it leads to.
    let (target, link) = (dir.path().join("victim"), dir.path().join("link.ctl"));
    std::fs::write(&target, "").unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    let refused = Server::start(&link, &switch, Arc::new(Tests));
    assert!(matches!(refused, Err(ServerError::NoSocket(_))), "{refused:?}");
    let too_long = dir.path().join("x".repeat(200));
    let refused = Server::start(&too_long, &switch, Arc::new(Tests));
    assert!(matches!(refused, Err(ServerError::System { .. })), "{refused:?}");
}

#[test]
fn idle_clients_lock_nobody_out() {
    let limits = Limits { n_clients_max: 3, ..Limits::default() };
    let (_switch, _wires, server, _dir) = start_with(limits);
    let totals = json!({ "request": "show", "what": "totals" });
    let mut idle: Vec<Client> = (0..3).map(|_| Client::new(&server)).collect();
    // Each has been served, so it is known which of them has been idle for longest.
    for client in &mut idle {
        client.get(totals.clone());
    }
    // A line that was begun is no request yet.
    idle[0].send(b"{\"ver");
    let mut next = Client::new(&server);
    next.get(totals.clone());
    let mut rest = String::new();
    assert_eq!(idle[0].0.read_to_string(&mut rest).unwrap(), 0, "{rest}");
    idle[2].get(totals);
}

#[test]
fn busy_clients_keep_nobody_from_ending_the_switch() {
    let limits = Limits { n_clients_max: 2, ..Limits::default() };
    let (_switch, _wires, server, _dir) = start_with(limits);
    let mut busy: Vec<Client> = (0..2).map(|_| Client::new(&server)).collect();
    for client in &mut busy {
        client.send(b"{\"version\":1,\"request\":\"commands\",\"text\":\"hold\"}\n");
    }
    until("both requests", || N_HELD.load(Ordering::SeqCst) == 2);
    let refused = Client::new(&server).ask(json!({ "request": "show", "what": "totals" }));
    assert!(refused["error"]["message"].as_str().unwrap().contains("there are 2 clients"), "{refused}");
    Client::new(&server).get(json!({ "request": "shutdown" }));
    until("the wish to end", || server.is_shutdown_wanted());
    // Requests under way are answered though the server ends.
    let ending = std::thread::spawn(move || drop(server));
    IS_RELEASED.store(true, Ordering::SeqCst);
    for client in &mut busy {
        assert_eq!(client.answer()["result"], "released");
    }
    ending.join().unwrap();
}

#[test]
fn silence_is_not_waited_for() {
    let limits = Limits {
        idle_timeout: Duration::from_millis(20),
        line_timeout: Duration::from_millis(20),
        ..Limits::default()
    };
    let (_switch, _wires, server, _dir) = start_with(limits);
    let mut rest = String::new();
    assert_eq!(Client::new(&server).0.read_to_string(&mut rest).unwrap(), 0, "{rest}");
    let mut slow = Client::new(&server);
    slow.send(b"{\"ver");
    assert_eq!(slow.answer()["error"]["message"], "the line does not end");
}
