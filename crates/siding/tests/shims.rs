//! Commands with the names of p4c and BMv2.

use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

const ROUTER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/01-router/router.p4");

struct Shims(tempfile::TempDir);

impl Shims {
    fn new() -> Shims {
        let dir = tempfile::tempdir().unwrap();
        let made = Command::new(env!("CARGO_BIN_EXE_siding")).arg("shims").arg(dir.path()).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        assert!(String::from_utf8_lossy(&made.stdout).contains("export PATH="));
        Shims(dir)
    }

    fn dir(&self) -> &Path {
        self.0.path()
    }

    /// Runs a shim in the directory of the shims, with sockets and a cache of its own.
    fn run(&self, name: &str, line: &str) -> Output {
        let mut command = Command::new(self.dir().join(name));
        command.args(line.split(' ')).current_dir(self.dir()).env("XDG_RUNTIME_DIR", self.dir());
        command.env("TMPDIR", self.dir()).output().unwrap()
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn p4c_makes_p4info_and_a_program_that_runs() {
    let shims = Shims::new();
    let line = format!("--p4v 16 --p4runtime-files r.p4info.txtpb,r.p4info.json -o r.json {ROUTER}");
    let made = shims.run("p4c-bm2-ss", &line);
    assert!(made.status.success(), "{made:?}");
    assert!(fs::read_to_string(shims.dir().join("r.p4info.txtpb")).unwrap().contains("Router.routes"));
    let p4info = fs::read_to_string(shims.dir().join("r.p4info.json")).unwrap();
    assert!(serde_json::from_str::<Value>(&p4info).unwrap()["tables"].is_array());
    let program: Value = serde_json::from_slice(&fs::read(shims.dir().join("r.json")).unwrap()).unwrap();
    assert_eq!((&program["siding"], &program["architecture"]), (&1.into(), &"v1model".into()));

    let line = format!("--target bmv2 --arch v1model --std p4-16 --p4runtime-files f.txtpb -o out {ROUTER}");
    let made = shims.run("p4c", &line);
    assert!(made.status.success(), "{made:?}");
    let other = fs::read(shims.dir().join("out/router.json")).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&other).unwrap(), program);

    let packet = "020000000000020000000099080045000000";
    let story = Command::new(env!("CARGO_BIN_EXE_siding"))
        .args(["trace", "-p", packet])
        .arg(shims.dir().join("out/router.json"))
        .output()
        .unwrap();
    assert!(story.status.success(), "{story:?}");
}

#[test]
fn p4c_says_where_errors_are() {
    let shims = Shims::new();
    fs::write(shims.dir().join("broken.p4"), "#include <v1model.p4>\nconst bit<8> x = y;\n").unwrap();
    let failed = shims.run("p4c-bm2-ss", "--p4v 16 --p4runtime-files b.txtpb -o b.json broken.p4");
    assert_eq!(failed.status.code(), Some(1), "{failed:?}");
    assert!(stderr(&failed).contains("broken.p4:2:18"), "{}", stderr(&failed));
    assert!(!shims.dir().join("b.json").exists() && !shims.dir().join("b.txtpb").exists());
    for line in
        ["--target dpdk x.p4", "--p4v 14 x.p4", "--p4runtime-files x.yaml x.p4", "missing.p4", "--wrong"]
    {
        let failed = shims.run("p4c", line);
        assert_eq!(failed.status.code(), Some(1), "{line}: {failed:?}");
        assert!(stderr(&failed).starts_with("error"), "{line}: {}", stderr(&failed));
    }
}

#[test]
fn switches_say_what_they_do_not_take() {
    let shims = Shims::new();
    let refused = shims.run("simple_switch_grpc", "--no-p4 --dp-grpc-server-addr 127.0.0.1:1");
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("packets do not come over gRPC"), "{refused:?}");
    fs::write(shims.dir().join("bmv2.json"), "{\"header_types\": [], \"pipelines\": []}").unwrap();
    let refused = shims.run("simple_switch", "bmv2.json --thrift-port 19099");
    assert!(!refused.status.success());
    assert!(stderr(&refused).contains("it is the BMv2 JSON that p4c writes"), "{refused:?}");
    let lost = shims.run("simple_switch_CLI", "--thrift-port 19098");
    assert_eq!(lost.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&lost.stdout).contains("Could not connect"), "{lost:?}");
}

const CHOOSER: &str = r#"
#include <core.p4>
#include <v1model.p4>

header Probe { bit<8> kind; bit<16> value; }
struct Headers { Probe probe; }
struct Metadata {}

parser Read(packet_in packet, out Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    state start { packet.extract(headers.probe); transition accept; }
}
control Nothing(inout Headers headers, inout Metadata meta) { apply {} }
control Choose(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    action_selector(HashAlgorithm.crc16, 16, 8) hops;
    action_profile(2) few;
    action forward(bit<9> port, bit<48> station) { standard.egress_spec = port; headers.probe.value = station[15:0]; }
    action drop() { mark_to_drop(standard); }
    table routes {
        key = { headers.probe.kind: exact; headers.probe.value: selector; }
        actions = { forward; drop; }
        implementation = hops;
    }
    table others {
        key = { headers.probe.kind: exact; }
        actions = { forward; drop; }
        implementation = few;
    }
    apply { routes.apply(); others.apply(); }
}
control Leave(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) { apply {} }
control Write(packet_out packet, in Headers headers) { apply { packet.emit(headers.probe); } }
V1Switch(Read(), Nothing(), Choose(), Leave(), Nothing(), Write()) main;
"#;

/// The output of `simple_switch_CLI` for each command.
fn commands(shims: &Shims, thrift_port: u16, lines: &[&str]) -> Vec<String> {
    let mut cli = Command::new(shims.dir().join("simple_switch_CLI"))
        .args(["--thrift-port", &thrift_port.to_string()])
        .env("XDG_RUNTIME_DIR", shims.dir())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    cli.stdin.take().unwrap().write_all((lines.join("\n") + "\n").as_bytes()).unwrap();
    let output = cli.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let answers = text.split("RuntimeCmd: ").skip(1).map(str::to_owned);
    let answers: Vec<String> = answers.take(lines.len()).collect();
    assert_eq!(answers.len(), lines.len(), "{text}");
    answers
}

/// A switch that ends with the test.
struct Switch(Child);

impl Drop for Switch {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn members_and_groups_have_handles() {
    let shims = Shims::new();
    fs::write(shims.dir().join("chooser.p4"), CHOOSER).unwrap();
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let thrift_port = free.local_addr().unwrap().port();
    drop(free);
    let switch = Command::new(env!("CARGO_BIN_EXE_siding"))
        .args(["switch", "--json", "--metrics-addr", "off", "-O", "0", "--thrift-port"])
        .args([&thrift_port.to_string(), "chooser.p4"])
        .current_dir(shims.dir())
        .env("XDG_RUNTIME_DIR", shims.dir())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut switch = Switch(switch);
    let mut out = BufReader::new(switch.0.stdout.take().unwrap());
    loop {
        let mut line = String::new();
        assert!(out.read_line(&mut line).unwrap() > 0, "the switch has ended");
        if serde_json::from_str::<Value>(&line).unwrap()["event"] == "ready" {
            break;
        }
    }
    // Each command, and what it prints; `...` stands for an error with these words.
    let expect = |cases: &[(&str, &str)]| {
        let lines: Vec<&str> = cases.iter().map(|(line, _)| *line).collect();
        for ((line, expected), found) in cases.iter().zip(commands(&shims, thrift_port, &lines)) {
            match expected.strip_prefix("...") {
                Some(words) => {
                    assert!(found.starts_with("Error: ") && found.contains(words), "{line}: {found}")
                }
                None => assert_eq!(found, *expected, "{line}"),
            }
        }
    };
    let member = "**********\nDumping member ";
    let one = "Action entry: Choose.forward - 0001, 000000000a0b\n";
    expect(&[
        (
            "act_prof_create_member hops forward 1 00:00:00:00:0a:0b",
            "Member has been created with handle 0\n",
        ),
        ("act_prof_create_member hops drop", "Member has been created with handle 1\n"),
        ("act_prof_create_member few forward 2 7", "Member has been created with handle 0\n"),
        ("act_prof_create_group hops", "Group has been created with handle 0\n"),
        ("act_prof_create_group hops", "Group has been created with handle 1\n"),
        ("act_prof_add_member_to_group hops 0 0", ""),
        ("act_prof_add_member_to_group hops 1 0", ""),
        ("act_prof_add_member_to_group hops 1 0", "...already"),
        ("act_prof_add_member_to_group hops 7 0", "...member 8"),
        ("act_prof_add_member_to_group hops 0 9", "...handle 9"),
        ("act_prof_create_group few", "...no groups"),
        ("act_prof_create_member hops fly", "...fly"),
        ("act_prof_create_member nothing drop", "...nothing"),
        ("act_prof_dump_member hops 0", &format!("Dumping member 0\n{one}")),
        ("act_prof_dump_group hops 0", "Dumping group 0\nMembers: [0, 1]\n"),
        ("act_prof_dump_group hops 1", "Dumping group 1\nMembers: []\n"),
        ("act_prof_dump_member hops 2", "...no member with the handle 2"),
        (
            "act_prof_dump hops",
            &format!(
                "==========\nMEMBERS\n{member}0\n{one}{member}1\nAction entry: Choose.drop - \n==========\nGROUPS\n\
                 **********\nDumping group 0\nMembers: [0, 1]\n**********\nDumping group 1\nMembers: []\n"
            ),
        ),
        (
            "act_prof_dump few",
            &format!("==========\nMEMBERS\n{member}0\nAction entry: Choose.forward - 0002, 000000000007\n"),
        ),
        // Entries lead to them.
        ("table_indirect_add_with_group routes 5 => 0", "Entry has been added with handle 0\n"),
        ("table_indirect_add routes 6 => 1", "Entry has been added with handle 1\n"),
        ("table_indirect_add others 7 => 0", "Entry has been added with handle 0\n"),
        ("table_indirect_add others 8 => 5", "...member 6"),
        ("table_indirect_set_default others 0", "...default action"),
        (
            "table_dump routes",
            "**********\nDumping entry 0\nMatch key:\n* headers.probe.kind: 5\nIndex: group(0)\n\
             **********\nDumping entry 1\nMatch key:\n* headers.probe.kind: 6\nIndex: member(1)\n",
        ),
        // Members and groups in use cannot be deleted.
        ("act_prof_delete_member hops 1", "...is used"),
        ("act_prof_delete_group hops 0", "...is used"),
    ]);
    // Another session finds them, and free handles are given again.
    expect(&[
        ("act_prof_modify_member hops forward 0 3 1", ""),
        (
            "act_prof_dump_member hops 0",
            "Dumping member 0\nAction entry: Choose.forward - 0003, 000000000001\n",
        ),
        ("act_prof_remove_member_from_group hops 0 0", ""),
        ("act_prof_remove_member_from_group hops 0 0", "...not in group"),
        ("act_prof_dump_group hops 0", "Dumping group 0\nMembers: [1]\n"),
        ("act_prof_delete_member hops 0", ""),
        ("act_prof_delete_member hops 0", "..."),
        ("act_prof_create_member hops drop", "Member has been created with handle 0\n"),
        ("table_indirect_delete routes 0", ""),
        ("act_prof_delete_group hops 0", ""),
        ("act_prof_create_group hops", "Group has been created with handle 0\n"),
        ("act_prof_create_member few drop", "Member has been created with handle 1\n"),
        ("act_prof_create_member few drop", "...room for 2"),
        ("act_prof_delete_group hops", "..."),
    ]);
}
