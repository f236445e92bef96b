//! `siding switch --shm-socket` as controllers in C, C++, Python and Rust meet it, and what becomes of it when one end is killed.

use grpc::Client;
use p4info::proto::p4::v1 as pb;
use prost::Message;
use serde_json::Value;
use shm_client::wire::Op;
use shm_client::{Error, Options, Session};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

const STATION: &str = "tests/controllers/station.p4";
const PAGE: &str = "docs/how-to/shared-memory.md";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A switch, which ends with the test.
struct Switch {
    child: Child,
    dir: tempfile::TempDir,
    address: String,
    _out: BufReader<std::process::ChildStdout>,
}

impl Switch {
    fn start(program: &str) -> Switch {
        let dir = tempfile::tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_siding"))
            .current_dir(root())
            .args(["switch", "--json", "--metrics-addr", "off", "-O", "0", "--cpu-port", "510"])
            .args(["--grpc-server-addr", "127.0.0.1:0", "--ctl-socket"])
            .arg(dir.path().join("ctl"))
            .arg("--shm-socket")
            .arg(dir.path().join("shm"))
            .arg(program)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let address = loop {
            let mut line = String::new();
            assert!(out.read_line(&mut line).unwrap() > 0, "the switch has ended");
            let event: Value = serde_json::from_str(&line).unwrap();
            if event["event"] == "ready" {
                assert_eq!(event["shm_socket"].as_str(), dir.path().join("shm").to_str());
                break event["p4runtime"].as_str().unwrap().to_owned();
            }
        };
        Switch { child, dir, address, _out: out }
    }

    fn socket(&self) -> PathBuf {
        self.dir.path().join("shm")
    }

    /// Entries of all tables, by gRPC.
    fn n_entries(&self) -> usize {
        let client = Client::connect(&self.address.parse().unwrap(), None).unwrap();
        let mut n = 0;
        client
            .read(all_entries(), |entities| n += entities.iter().filter(|entity| !is_const(entity)).count())
            .unwrap();
        n
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Entries of the program itself do not count.
fn is_const(entity: &pb::Entity) -> bool {
    matches!(&entity.entity, Some(pb::entity::Entity::TableEntry(entry)) if entry.is_const)
}

fn all_entries() -> pb::ReadRequest {
    let entity = pb::entity::Entity::TableEntry(pb::TableEntry::default());
    pb::ReadRequest { entities: vec![pb::Entity { entity: Some(entity) }], ..pb::ReadRequest::default() }
}

fn good(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn exists(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Compiles a client in C with sanitizers.
fn compile(compiler: &str, source: &Path, to: &Path) {
    let mut command = Command::new(compiler);
    command.current_dir(root()).args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-g"]);
    command.args(["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-Iclients/c", "-o"]);
    good(&command.arg(to).arg("clients/c/siding_shm.c").arg(source).output().unwrap());
}

/// Fenced blocks of the page in a language.
fn blocks(language: &str) -> Vec<String> {
    let page = fs::read_to_string(root().join(PAGE)).unwrap();
    let mut found = Vec::new();
    for part in page.split(&format!("\n```{language}\n")).skip(1) {
        found.push(part.split("\n```").next().unwrap().to_owned() + "\n");
    }
    found
}

/// Python with NumPy, in an environment of its own if it must be; `None` where neither is to be had.
fn python(dir: &Path) -> Option<PathBuf> {
    let has_numpy = |python: &Path| {
        let output = Command::new(python).args(["-c", "import numpy, socket; socket.recv_fds"]).output();
        output.is_ok_and(|output| output.status.success())
    };
    let own = PathBuf::from("python3");
    if has_numpy(&own) {
        return Some(own);
    }
    let venv = dir.join("venv");
    let made = Command::new(&own).args(["-m", "venv"]).arg(&venv).output().ok()?;
    let python = venv.join("bin/python");
    let pip = ["-m", "pip", "install", "-q", "numpy"];
    let installed = made.status.success().then(|| Command::new(&python).args(pip).output().ok()).flatten();
    installed.is_some_and(|output| output.status.success()).then_some(python)
}

#[test]
fn the_client_in_c_gets_a_code_for_each_entry() {
    let codes = root().join("crates/siding/tests/shm/codes.c");
    for compiler in ["gcc", "clang"].into_iter().filter(|compiler| exists(compiler)) {
        let switch = Switch::start(STATION);
        let program = switch.dir.path().join(compiler);
        compile(compiler, &codes, &program);
        let output = Command::new(&program).arg(switch.socket()).arg("check").output().unwrap();
        assert_eq!(good(&output), "good\n");
        // 50 of 100 entries are deleted, and one was new.
        assert_eq!(switch.n_entries(), 51);
    }
}

/// ThreadSanitizer watches the client in C and a model of the switch, which share one mapping.
#[test]
fn rings_have_no_races() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("rings");
    let mut command = Command::new("clang");
    command.current_dir(root()).args([
        "-std=c11",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-O1",
        "-g",
        "-fsanitize=thread",
    ]);
    command.args(["-Iclients/c", "crates/siding/tests/shm/rings.c", "-lpthread", "-o"]);
    if !exists("clang") {
        eprintln!("note: without clang the rings are not tested");
        return;
    }
    good(&command.arg(&program).output().unwrap());
    let output = Command::new(&program).arg(dir.path().join("socket")).output().unwrap();
    assert_eq!(good(&output), "good\n");
}

#[test]
fn the_examples_of_the_page_run() {
    let switch = Switch::start("examples/01-router/router.p4");
    let dir = switch.dir.path();
    let n_before = switch.n_entries();
    let c = blocks("c");
    assert_eq!(c.len(), 1);
    let source = dir.join("routes.c");
    fs::write(&source, &c[0]).unwrap();
    compile("cc", &source, &dir.join("routes"));
    let output = Command::new(dir.join("routes")).arg(switch.socket()).output().unwrap();
    assert_eq!(good(&output), "256 written, 0 failed\n");
    assert_eq!(switch.n_entries(), n_before + 256);
    let Some(python) = python(dir) else {
        eprintln!("note: NumPy is not to be had, so the example in Python is left out");
        return;
    };
    let script = blocks("python");
    assert_eq!(script.len(), 1);
    fs::write(dir.join("routes.py"), &script[0]).unwrap();
    let mut command = Command::new(&python);
    command.current_dir(root()).env("PYTHONDONTWRITEBYTECODE", "1");
    let output = command.arg(dir.join("routes.py")).arg(switch.socket()).output().unwrap();
    assert_eq!(good(&output), "Outcome(OK, n=100, n_failed=0, '')\n");
    assert_eq!(switch.n_entries(), n_before + 356);
    let mut command = Command::new(&python);
    command.env("PYTHONPATH", root().join("clients/python")).env("PYTHONDONTWRITEBYTECODE", "1");
    let output = command.arg("-c").arg(OTHER_RECORDS).arg(switch.socket()).output().unwrap();
    assert_eq!(
        good(&output),
        "INVALID_ARGUMENT: these are records of `Router.next_hops`, not of `Router.routes`\n\
         INVALID_ARGUMENT: these are no records of `Router.routes`: `headers.ipv4.destination` differs\n\
         INVALID_ARGUMENT: these are no records of `Router.routes`: `headers.ipv4.destination` differs\n\
         Outcome(OK, n=2, n_failed=0, '')\n"
    );
}

/// Writes records of another table, without and with the name of their table, and then records that lost it.
const OTHER_RECORDS: &str = "\
import sys, numpy, siding_shm as s
with s.Session(sys.argv[1], election_id=3) as shm:
    routes, hops = shm.table('routes'), shm.table('next_hops')
    of_hops = hops.records(2, hops.actions[0])
    plain = numpy.dtype({key: [of[i] for of in of_hops.dtype.fields.values()] for i, key in enumerate(['formats', 'offsets'])}
        | {'names': list(of_hops.dtype.names), 'itemsize': of_hops.dtype.itemsize})
    for records in (of_hops, of_hops.view(plain), numpy.zeros(2, [('a', '<u4'), ('b', '<u4')])):
        try:
            shm.write_records(routes, s.INSERT, records)
        except s.Error as error:
            print(error)
    good = routes.records(4, routes.action('set_next_hop'))
    good['headers.ipv4.destination'] = 0x0D000000 + 256 * numpy.arange(4)
    good['headers.ipv4.destination/mask'] = 0xFFFFFF00
    print(shm.write_records(routes, s.INSERT, good[1:3]))
";

/// Writes routes as structs of a header that was made before.
const STRUCTS: &str = r#"
#include "router.shm.h"
#include "siding_shm.h"
#include <stdio.h>

int main(int argc, char **argv)
{
    struct siding_shm *shm;
    const struct siding_shm_table *routes;
    struct siding_shm_batch batch;
    struct siding_shm_outcome outcome;
    uint64_t number;
    if (argc != 2 || siding_shm_open(&shm, argv[1], NULL) || siding_shm_table(shm, "routes", 0, &routes) ||
        routes->hash != SIDING_ROUTER__ROUTES_HASH || siding_shm_begin(shm, routes, SIDING_SHM_INSERT, 2, &batch))
        return 1;
    struct siding_Router__routes *records = (void *)batch.records;
    for (uint32_t i = 0; i < 2; i++) {
        records[i].headers__ipv4__destination = 0x0c000000 + (i << 8);
        records[i].headers__ipv4__destination_mask = 0xffffff00;
        records[i].action = SIDING_ROUTER__ROUTES_ACTION_ROUTER__SET_NEXT_HOP;
        records[i].data.set_next_hop.next_hop = 1;
    }
    siding_shm_submit(shm, &batch, &number);
    printf("%d\n", siding_shm_wait(shm, number, &outcome));
    siding_shm_close(shm);
    return 0;
}
"#;

#[test]
fn structs_of_a_header_are_records() {
    let switch = Switch::start("examples/01-router/router.p4");
    let dir = switch.dir.path();
    for program in ["crates/native/tests/records/tables.p4", STATION, "examples/01-router/router.p4"] {
        let header = dir.join(Path::new(program).with_extension("shm.h").file_name().unwrap());
        let mut build = Command::new(env!("CARGO_BIN_EXE_siding"));
        build.current_dir(root()).args(["build", "-O", "0", "--emit", "shm-header", "-o"]);
        good(&build.arg(&header).arg(program).output().unwrap());
        // In C and in C++.
        for (compiler, suffix) in [("cc", "c"), ("c++", "cpp")] {
            let source = dir.join(format!("alone.{suffix}"));
            fs::write(&source, format!("#include {header:?}\nint main(void) {{ return 0; }}\n")).unwrap();
            let mut command = Command::new(compiler);
            command.args(["-Wall", "-Wextra", "-Werror", "-o"]).arg(dir.join("alone"));
            good(&command.arg(source).output().unwrap());
        }
    }
    let n_before = switch.n_entries();
    let source = dir.join("structs.c");
    fs::write(&source, STRUCTS).unwrap();
    compile("cc", &source, &dir.join("structs"));
    let output = Command::new(dir.join("structs")).arg(switch.socket()).output().unwrap();
    assert_eq!(good(&output), "0\n");
    assert_eq!(switch.n_entries(), n_before + 2);
}

/// A request that inserts an entry of `stations`.
fn insert(client: &Client, election_id: u64) -> pb::WriteRequest {
    let parts = pb::get_forwarding_pipeline_config_request::ResponseType::P4infoAndCookie;
    let p4info = client.pipeline_config(0, parts).unwrap().unwrap().p4info.unwrap();
    let schema = control::Schema::new(&p4info).unwrap();
    let table_id = schema.tables.find("stations").unwrap().id.0;
    let action_id = schema.actions.find("Station.drop").unwrap().id.0;
    let value = vec![1, 0, 2, 0, 3, 0];
    let exact = pb::field_match::FieldMatchType::Exact(pb::field_match::Exact { value });
    let action = pb::table_action::Type::Action(pb::Action { action_id, params: Vec::new() });
    let entry = pb::TableEntry {
        table_id,
        r#match: vec![pb::FieldMatch { field_id: 1, field_match_type: Some(exact) }],
        action: Some(pb::TableAction { r#type: Some(action) }),
        ..pb::TableEntry::default()
    };
    let update = pb::Update {
        r#type: pb::update::Type::Insert.into(),
        entity: Some(pb::Entity { entity: Some(pb::entity::Entity::TableEntry(entry)) }),
    };
    pb::WriteRequest {
        election_id: Some(pb::Uint128 { high: 0, low: election_id }),
        updates: vec![update],
        ..pb::WriteRequest::default()
    }
}

#[test]
fn the_class_in_cpp_writes_as_a_grpc_client_does() {
    let switch = Switch::start(STATION);
    let dir = switch.dir.path();
    let client = Client::connect(&switch.address.parse().unwrap(), None).unwrap();
    let (write, read) = (dir.join("write"), dir.join("read"));
    fs::write(&write, insert(&client, 2000).encode_to_vec()).unwrap();
    fs::write(&read, all_entries().encode_to_vec()).unwrap();
    for compiler in ["g++", "clang++"].into_iter().filter(|compiler| exists(compiler)) {
        let object = dir.join("siding_shm.o");
        let mut c = Command::new("cc");
        c.current_dir(root()).args(["-std=c11", "-c", "clients/c/siding_shm.c", "-o"]);
        good(&c.arg(&object).output().unwrap());
        let mut command = Command::new(compiler);
        command.current_dir(root()).args([
            "-std=c++17",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-Iclients/cpp",
            "-o",
        ]);
        command.arg(dir.join(compiler)).arg("crates/siding/tests/shm/write.cpp").arg(&object);
        good(&command.output().unwrap());
        let output =
            Command::new(dir.join(compiler)).arg(switch.socket()).args([&write, &read]).output().unwrap();
        let text = good(&output);
        let lines: Vec<&str> = text.lines().collect();
        // Written by the first compiler's program, the entry exists for the second one's.
        assert!(lines[0] == "0" || lines[0] == "2", "{text}");
        assert!(lines[1].starts_with("2 ") && !lines[1].ends_with(" 0"), "{text}");
        assert_eq!(&lines[2..], ["0 1", "1", "14"], "{text}");
    }
    assert_eq!(switch.n_entries(), 1);
}

#[test]
fn a_client_in_python_writes_requests_without_numpy() {
    let switch = Switch::start(STATION);
    let dir = switch.dir.path();
    let client = Client::connect(&switch.address.parse().unwrap(), None).unwrap();
    fs::write(dir.join("request"), insert(&client, 1).encode_to_vec()).unwrap();
    fs::write(dir.join("read"), all_entries().encode_to_vec()).unwrap();
    let script = "\
import sys, struct, siding_shm as s
with s.Session(sys.argv[1]) as shm:
    request = open(sys.argv[2], 'rb').read()
    shm.write(request)
    try:
        shm.write(request)
    except s.Error as error:
        print(error.code, len(error.details) > 0)
    table = shm.table('stations', s.COUNT | s.IDLE_TIMEOUT)
    print(table.record_bytes > 24, [key.name for key, _, _ in table.keys])
    table = shm.table('stations')
    record = bytearray(table.record_bytes)
    record[0:6] = bytes([9, 0, 8, 0, 7, 0])
    record[table.action_at] = table.action('drop').index
    print(shm.write_records(table, s.INSERT, record * 2).codes)
    print(sum(len(answer) > 0 for answer in shm.read(open(sys.argv[3], 'rb').read())))
    print(shm.receive(1.0) is not None, shm.receive(0.01))
    shm.reserve(table, 10)
";
    let mut command = Command::new("python3");
    command.env("PYTHONPATH", root().join("clients/python")).env("PYTHONDONTWRITEBYTECODE", "1");
    let files = [switch.socket(), dir.join("request"), dir.join("read")];
    let output = command.arg("-c").arg(script).args(files).output().unwrap();
    assert_eq!(good(&output), "2 True\nTrue ['station']\nb'\\x00\\x06'\n1\nTrue None\n");
    assert_eq!(switch.n_entries(), 2);
}

/// SplitMix64.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let v = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let v = (v ^ v >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    v ^ v >> 31
}

fn loop_client(switch: &Switch, program: &Path) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut child =
        Command::new(program).arg(switch.socket()).arg("loop").stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert_eq!(line, "begun\n");
    (child, out)
}

#[test]
fn killed_clients_leave_whole_requests_and_no_session() {
    let switch = Switch::start(STATION);
    let program = switch.dir.path().join("loop");
    compile("cc", &root().join("crates/siding/tests/shm/codes.c"), &program);
    let mut state = 1;
    let mut bystander =
        Session::open(switch.socket(), &Options { election_id: None, ..Options::new(0) }).unwrap();
    for _ in 0..12 {
        let (mut child, _out) = loop_client(&switch, &program);
        std::thread::sleep(Duration::from_micros(random(&mut state) % 30_000));
        child.kill().unwrap();
        child.wait().unwrap();
        // The id of the killed one is free again once its session has ended, and all or none of a batch is there.
        let options = Options::new(1000);
        let mut session = loop {
            match Session::open(switch.socket(), &options) {
                Ok(session) => break session,
                Err(Error::Refused { code: 3, .. }) => std::thread::sleep(Duration::from_millis(1)),
                Err(error) => panic!("{error}"),
            }
        };
        assert!(session.is_primary());
        let n = switch.n_entries();
        assert!(n == 0 || n == 512, "{n}");
        let tables = session.tables(0).unwrap();
        let table = tables.table("stations").unwrap();
        let mut batch = session.begin(tables.program, table, Op::Delete, 512).unwrap();
        for i in 0..512u16 {
            let key = table.key("station").unwrap();
            batch.record(i.into()).set_exact(key, &(i + 1).to_be_bytes()).unwrap();
        }
        let number = batch.submit().unwrap();
        let outcome = session.wait(number).unwrap();
        assert_eq!(outcome.n_failed, 512 - n as u64, "{outcome:?}");
        assert!(bystander.tables(0).is_ok());
    }
}

#[test]
fn clients_of_a_killed_switch_are_told() {
    let mut switch = Switch::start(STATION);
    let program = switch.dir.path().join("loop");
    compile("cc", &root().join("crates/siding/tests/shm/codes.c"), &program);
    let (mut child, mut out) = loop_client(&switch, &program);
    let mut session =
        Session::open(switch.socket(), &Options { election_id: None, ..Options::new(0) }).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    switch.child.kill().unwrap();
    switch.child.wait().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3));
    let mut said = String::new();
    out.read_to_string(&mut said).unwrap();
    assert!(said.contains("read it back"), "{said}");
    let error = session.tables(0).unwrap_err();
    assert!(matches!(error, Error::Ended(_)), "{error}");
    assert_eq!(error.code(), 14);
    // Another switch may take its place.
    let error = Session::open(switch.socket(), &Options::new(1)).unwrap_err();
    assert!(matches!(error, Error::Connect { .. }), "{error}");
}
