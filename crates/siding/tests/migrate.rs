//! `siding migrate`: a million entries move between two switches while they change, and to a file and back.

use grpc::{Client, Next, ServerAddress, Stream, Writer};
use p4info::proto::p4::v1 as pb;
use p4info::proto::siding::bulk::v1 as bulk;
use pb::stream_message_request::Update as ToServer;
use pb::update::Type;
use prost::Message;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SIDING: &str = env!("CARGO_BIN_EXE_siding");
const PROGRAM: &str = include_str!("../../bench/programs/control.p4");
const N_ENTRIES: u32 = 1_000_000;
const BATCH: u32 = 10_000;

fn bid(low: u64) -> ToServer {
    let election_id = Some(pb::Uint128 { high: 0, low });
    ToServer::Arbitration(pb::MasterArbitrationUpdate {
        election_id,
        ..pb::MasterArbitrationUpdate::default()
    })
}

/// A switch in a process of its own.
struct Switch {
    child: Child,
    address: ServerAddress,
    client: Client,
    writer: Writer,
    table_id: u32,
    action_id: u32,
}

impl Drop for Switch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Switch {
    fn start(dir: &Path, name: &str, program: &str) -> Switch {
        let path = dir.join(format!("{name}.p4"));
        std::fs::write(&path, program).unwrap();
        let mut child = Command::new(SIDING)
            .args(["switch", "--json", "--metrics-addr", "off", "--backend", "native", "-O", "1"])
            .args(["--grpc-server-addr", "127.0.0.1:0", "--ctl-socket"])
            .arg(dir.join(format!("{name}.ctl")))
            .arg(&path)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let address = lines.find_map(|line| {
            let event: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
            event["p4runtime"].as_str().filter(|_| event["event"] == "ready").map(str::to_owned)
        });
        let address: ServerAddress = address.unwrap().parse().unwrap();
        std::thread::spawn(move || lines.for_each(drop));
        let client = Client::connect(&address, None).unwrap();
        let parts = pb::get_forwarding_pipeline_config_request::ResponseType::All;
        let p4info = client.pipeline_config(0, parts).unwrap().unwrap().p4info.unwrap();
        let schema = control::Schema::new(&p4info).unwrap();
        let table_id = schema.tables.find("FlowIngress.flows").unwrap().id.0;
        let action_id = schema.actions.find("FlowIngress.forward").unwrap().id.0;
        let writer = Writer::connect(&address).unwrap();
        Switch { child, address, client, writer, table_id, action_id }
    }

    fn elect(&self) -> Stream<'_> {
        let mut stream = self.client.stream(bid(1)).unwrap();
        assert!(matches!(stream.next(Duration::from_secs(30)).unwrap(), Next::Message(_)));
        stream
    }

    fn request(&self, kind: Type, numbers: impl Iterator<Item = u32>, port: u8) -> prost::bytes::Bytes {
        let exact = |field_id, value: Vec<u8>| pb::FieldMatch {
            field_id,
            field_match_type: Some(pb::field_match::FieldMatchType::Exact(pb::field_match::Exact { value })),
        };
        let update = |i: u32| {
            let action = pb::Action {
                action_id: self.action_id,
                params: vec![pb::action::Param { param_id: 1, value: vec![port] }],
            };
            let entry = pb::TableEntry {
                table_id: self.table_id,
                r#match: vec![
                    exact(1, (0x0a00_0000 | i >> 8).to_be_bytes().to_vec()),
                    exact(2, (0x8000_0000 | i.wrapping_mul(0x9e37_79b1)).to_be_bytes().to_vec()),
                    exact(3, vec![6]),
                    exact(4, (0x8000 | i as u16 & 0x7fff).to_be_bytes().to_vec()),
                    exact(5, vec![0x01, 0xbb]),
                ],
                action: Some(pb::TableAction { r#type: Some(pb::table_action::Type::Action(action)) }),
                ..pb::TableEntry::default()
            };
            let entity = pb::Entity { entity: Some(pb::entity::Entity::TableEntry(entry)) };
            pb::Update { r#type: kind.into(), entity: Some(entity) }
        };
        let election_id = Some(pb::Uint128 { high: 0, low: 1 });
        let updates = numbers.map(update).collect();
        pb::WriteRequest { election_id, updates, ..pb::WriteRequest::default() }.encode_to_vec().into()
    }

    fn insert_all(&self) {
        let batches = (0..N_ENTRIES).step_by(BATCH as usize);
        let requests = batches.map(|first| self.request(Type::Insert, first..first + BATCH, 1));
        self.writer.write(requests.collect(), 2).unwrap();
    }

    /// Keys and parameters of all entries, in a fixed order.
    fn dump(&self) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        self.client
            .bulk_read(bulk::ReadRequest::default(), |chunk| {
                for set in chunk.sets {
                    all.extend(rows(&set));
                }
                true
            })
            .unwrap();
        all.sort_unstable();
        all
    }
}

/// The values of each entry of a set, whose entries have one action.
fn rows(set: &bulk::TableSet) -> Vec<Vec<u8>> {
    let columns =
        set.keys.iter().map(|key| &key.value).chain(set.actions[0].params.iter().map(|of| &of.value));
    let mut rows = vec![Vec::new(); set.n as usize];
    for column in columns {
        let Some(bulk::column::Values::Fixed(all)) = &column.as_ref().unwrap().values else {
            panic!("{column:?}")
        };
        let n_bytes = all.len() / rows.len();
        rows.iter_mut().zip(all.chunks(n_bytes)).for_each(|(row, value)| row.extend_from_slice(value));
    }
    rows
}

fn migrate(args: &[&str]) -> (bool, String, String) {
    let output = Command::new(SIDING).arg("migrate").args(args).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.success(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_million_entries_move_while_they_change() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (Switch::start(dir.path(), "from", PROGRAM), Switch::start(dir.path(), "to", PROGRAM));
    let _primary = from.elect();
    from.insert_all();
    let (first, second) = (from.address.to_string(), to.address.to_string());
    let mut running = Command::new(SIDING)
        .args(["migrate", &first, &second, "--keep-up", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Entries are changed, deleted, and inserted again, those that are being copied among them.
    for round in 0..40u32 {
        let numbers = move |of: u32| (0..2_000u32).map(move |i| (i * 499 + round * 7 + of) % N_ENTRIES);
        let requests = vec![
            from.request(Type::Modify, numbers(0), 2 + (round % 50) as u8),
            from.request(Type::Delete, numbers(1), 1),
        ];
        // Some of them are gone already.
        for request in requests {
            let _ = from.writer.write(vec![request], 1);
        }
        if round % 2 == 0 {
            let _ = from.writer.write(vec![from.request(Type::Insert, numbers(1), 60)], 1);
        }
    }
    let expected = from.dump();
    assert!(expected.len() > 900_000 && expected.len() < N_ENTRIES as usize, "{}", expected.len());
    let end = Instant::now() + Duration::from_secs(300);
    while to.dump() != expected {
        assert!(Instant::now() < end, "the second switch does not catch up");
        assert!(running.try_wait().unwrap().is_none(), "it ended");
        std::thread::sleep(Duration::from_millis(200));
    }
    let pid = running.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = running.wait_with_output().unwrap();
    let outcome: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(output.status.success() && outcome["failed"] == 0, "{outcome}");
    assert!(outcome["entries"].as_u64().unwrap() > 900_000, "{outcome}");
}

#[test]
fn entries_go_to_a_file_and_back() {
    let dir = tempfile::tempdir().unwrap();
    let from = Switch::start(dir.path(), "from", PROGRAM);
    let _primary = from.elect();
    let requests = vec![from.request(Type::Insert, 0..20_000, 1)];
    from.writer.write(requests, 1).unwrap();
    let file = dir.path().join("entries.bulk");
    let (address, path) = (from.address.to_string(), file.to_str().unwrap());
    let (is_ok, out, error) = migrate(&[&address, path, "--table", "flows"]);
    assert!(is_ok && out.starts_with("20000 entries and 0 changes in"), "{out}{error}");
    let to = Switch::start(dir.path(), "to", PROGRAM);
    let second = to.address.to_string();
    // A file without its last bytes is refused before anything of it is written.
    let (whole, cut) = (std::fs::read(&file).unwrap(), dir.path().join("cut.bulk"));
    std::fs::write(&cut, &whole[..whole.len() - 4]).unwrap();
    let (is_ok, out, error) = migrate(&[cut.to_str().unwrap(), &second]);
    assert!(!is_ok && error.contains("the file ends here"), "{out}{error}");
    assert!(to.dump().is_empty());
    let (is_ok, out, error) = migrate(&[path, &second]);
    assert!(is_ok && out.starts_with("20000 entries"), "{out}{error}");
    assert_eq!(to.dump(), from.dump());
    // Again: entries take the place of those that are there.
    assert!(migrate(&[path, &second]).0);

    let refuses = |args: &[&str], words: &str| {
        let (is_ok, out, error) = migrate(args);
        assert!(!is_ok && error.contains(words), "{args:?}: {out}{error}");
    };
    std::fs::write(&cut, &whole[..whole.len() / 2]).unwrap();
    refuses(&[cut.to_str().unwrap(), &second], "the file ends in a frame");
    let mut damaged = whole.clone();
    damaged[5000] ^= 1;
    std::fs::write(&cut, damaged).unwrap();
    refuses(&[cut.to_str().unwrap(), &second], "a checksum is wrong");
    std::fs::write(&cut, PROGRAM).unwrap();
    refuses(&[cut.to_str().unwrap(), &second], "it is no file of entries");
    refuses(&[path, &second, "--keep-up"], "--keep-up needs two switches");
    refuses(&[path, &second, "--table", "flows"], "--table needs a switch to read from");
    refuses(&["/no/such/file", &second], "cannot read /no/such/file");
    refuses(&[&address, "/no/such/dir/x.bulk"], "cannot write /no/such/dir/x.bulk");
    refuses(&[&address, "/dev/null"], "cannot write /dev/null: it is no regular file");
    refuses(&[&address, path, "--table", "flow"], "flow");
    let key = &PROGRAM.replace("hdr.ports.dstPort: exact", "hdr.ports.dstPort: ternary");
    let other = Switch::start(dir.path(), "other", key);
    refuses(&[path, &other.address.to_string()], "the two programs differ in table `FlowIngress.flows`");
    drop(other);
    // A table may have another size, if the entries fit.
    let small = Switch::start(dir.path(), "small", &PROGRAM.replace("size = 1048576", "size = 1000"));
    let third = small.address.to_string();
    for first in [path, &address] {
        refuses(
            &[first, &third],
            "table `FlowIngress.flows` has 20000 entries, and that of the second switch has room for 1000: nothing was copied",
        );
    }
    assert!(small.dump().is_empty());
    drop(small);
    for size in ["20000", "2000000"] {
        let switch =
            Switch::start(dir.path(), size, &PROGRAM.replace("size = 1048576", &format!("size = {size}")));
        let (is_ok, out, error) = migrate(&[&address, &switch.address.to_string()]);
        assert!(is_ok && out.starts_with("20000 entries"), "{out}{error}");
    }
    // A switch is not copied to itself, whatever its address is called.
    let port = address.rsplit(':').next().unwrap();
    for same in [&address, &format!("localhost:{port}")] {
        refuses(&[&address, same], "the two addresses are those of one switch");
    }
    refuses(&["entries", &second], "there is no file `entries`, and it is no address HOST:PORT");
    // Another controller is there first.
    let other = to.elect();
    refuses(&[path, &second], "--election-id names another id");
    let mut later = to.client.stream(bid(9)).unwrap();
    assert!(matches!(later.next(Duration::from_secs(30)).unwrap(), Next::Message(_)));
    refuses(&[path, &second, "--election-id", "2"], "--election-id 10 takes its place");
    assert!(migrate(&[path, &second, "--election-id", "10"]).0);
    drop((other, later));
    refuses(
        &[path, &second, "--election-id", "2"],
        "nobody is primary of the second switch, and election id 10 has won before",
    );
}

#[test]
fn keeping_up_says_when_it_is_in_step_and_ends_with_its_election() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (Switch::start(dir.path(), "from", PROGRAM), Switch::start(dir.path(), "to", PROGRAM));
    let _primary = from.elect();
    from.writer.write(vec![from.request(Type::Insert, 0..5_000, 1)], 1).unwrap();
    let mut running = Command::new(SIDING)
        .args(["migrate", &from.address.to_string(), &to.address.to_string(), "--keep-up"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(running.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(
        said.next().unwrap(),
        "in step: 5000 entries and 0 changes copied; all further changes follow until an interrupt"
    );
    assert_eq!(to.dump(), from.dump());
    from.writer.write(vec![from.request(Type::Delete, 0..1_000, 1)], 1).unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    while to.dump() != from.dump() {
        assert!(Instant::now() < end, "the second switch does not follow");
        std::thread::sleep(Duration::from_millis(50));
    }
    // Nothing changes, and another controller takes the place.
    let _other = to.client.stream(bid(7)).unwrap();
    assert_eq!(
        said.next().unwrap(),
        "error: another controller has become primary of the second switch, with election id 7: entries that it has not got \
         yet are missing there"
    );
    assert!(!running.wait().unwrap().success());
}
