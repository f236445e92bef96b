//! `siding p4rt` against a running `siding switch`: what it prints, and what it says when something is wrong.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

const PROGRAM: &str = "tests/controllers/station.p4";

fn siding() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_siding"));
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).env("NO_COLOR", "1");
    command
}

/// A switch with a P4Runtime server, which ends with the test.
struct Switch {
    child: Child,
    dir: tempfile::TempDir,
    address: String,
    /// Host and port of the metrics.
    metrics: String,
}

impl Switch {
    fn start(args: &[&str]) -> Switch {
        let dir = tempfile::tempdir().unwrap();
        let child = siding()
            .args(["switch", "--json", "--metrics-addr", "127.0.0.1:0", "-O", "0", "--cpu-port", "510"])
            .args(["--grpc-server-addr", "127.0.0.1:0", "--ctl-socket"])
            .arg(dir.path().join("ctl"))
            .args(args)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut switch = Switch { child, dir, address: String::new(), metrics: String::new() };
        let mut out = BufReader::new(switch.child.stdout.take().unwrap());
        loop {
            let mut line = String::new();
            out.read_line(&mut line).unwrap();
            let event: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{line:?}: {e}"));
            if event["event"] == "ready" {
                switch.address = event["p4runtime"].as_str().unwrap().to_owned();
                let url = event["metrics"].as_str().unwrap();
                let host = url.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/metrics"));
                switch.metrics = host.unwrap().to_owned();
                return switch;
            }
        }
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path: PathBuf = self.dir.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = siding();
        command.args(["p4rt", "--server", &self.address]).args(args);
        command
    }

    fn output(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Standard output of a command that succeeds without a word on standard error.
    fn text(&self, args: &[&str]) -> String {
        let output = self.output(args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{args:?}: {said}");
        assert_eq!(said, "", "{args:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Standard error of a command that fails.
    fn fails(&self, args: &[&str], code: i32) -> String {
        let output = self.output(args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        said.replace(&self.dir.path().display().to_string(), "DIR")
    }

    fn ctl(&self, args: &[&str]) -> String {
        let mut ctl = siding();
        ctl.arg("ctl").arg("--ctl-socket").arg(self.dir.path().join("ctl")).args(args);
        let output = ctl.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Entries of each kind, as `read` prints them.
const ENTRIES: &str = "\
add Station.guards 10 source:02:00:00:00:00:00&&&0xff0000000000 type:0x0800..0x0806 port:1 Station.drop()
add Station.limited source:02:00:00:00:00:05 Station.limit()
add Station.stations station:02:00:00:00:00:01 Station.forward_and_count(port:1)
add Station.stations station:02:00:00:00:00:02 Station.to_controller(reason:3)
add Station.vendors prefix:02:00:00:00:00:00/24 Station.forward(port:2)
add Station.balanced type:0x0800 group 1
member_add Station.choices 1 Station.forward(port:1)
group_add Station.choices 1 1:3
";

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn programs_are_set_and_got() {
    let switch = Switch::start(&["--no-p4"]);
    assert_eq!(switch.text(&["capabilities"]), "P4Runtime 1.5.0\n");
    let no_program = "error: the switch has no program; `siding p4rt set PROGRAM` runs one\n";
    assert_eq!(switch.fails(&["get"], 1), no_program);
    assert_eq!(switch.fails(&["read"], 1), no_program);
    switch.text(&["set", PROGRAM, "--action", "verify"]);
    assert_eq!(switch.fails(&["get"], 1), no_program);
    assert_eq!(switch.text(&["set", PROGRAM, "--cookie", "7"]), "");
    assert_eq!(switch.text(&["get", "--cookie"]), "7\n");
    let own = siding().args(["p4info", PROGRAM]).output().unwrap();
    let own = String::from_utf8(own.stdout).unwrap();
    assert_eq!(switch.text(&["get"]), format!("# cookie: 7\n{own}"));
    // A program with files of its own, which are sent along.
    switch.text(&["set", "examples/01-router/router.p4", "--action", "verify-and-save"]);
    assert!(switch.text(&["get"]).contains("Router.routes"));
    switch.text(&["set", "--action", "commit"]);
    switch.text(&[
        "write",
        &switch.file("route.stf", "add routes headers.ipv4.destination:10.0.0.0/8 drop()\n"),
    ]);
    // A key without its name.
    let route = "add Router.routes headers.ipv4.destination:10.0.0.0/8 Router.drop()\n";
    assert_eq!(switch.text(&["read", "routes", "10.0.0.0/8"]), route);
    let config = switch.dir.path().join("config").display().to_string();
    assert!(!switch.text(&["get", "--device-config", &config]).starts_with("# cookie"));
    let sdp = fs::read(&config).unwrap();
    assert_eq!(&sdp[257..262], b"ustar");
    let p4info = switch.file("router.p4info.txtpb", &switch.text(&["get"]));
    switch.text(&["--p4info", &p4info, "set", &config, "--action", "reconcile-and-commit"]);
    assert_eq!(switch.text(&["read"]), route);

    assert!(switch.fails(&["get", "--cookie"], 1).contains("has no cookie"));
    assert!(switch.fails(&["set"], 2).contains("name the program"));
    assert!(switch.fails(&["set", PROGRAM, "--action", "commit"], 2).contains("leave the program out"));
    assert!(switch.fails(&["set", "README.md"], 2).contains("name its P4Info with --p4info"));
    let wrong = switch.fails(&["--p4info", &p4info, "set", PROGRAM], 1);
    assert!(wrong.starts_with("error: INVALID_ARGUMENT: the P4Info is not that of the program"), "{wrong}");
    let broken = switch.file("broken.p4", "control c(");
    assert!(switch.fails(&["set", &broken], 3).contains("broken.p4:1:"));
    let nothing = switch.fails(&["set", "--action", "commit"], 1);
    assert!(nothing.starts_with("error: NOT_FOUND"), "{nothing}");
}

#[test]
fn entries_are_written_and_read() {
    let switch = Switch::start(&[PROGRAM]);
    let file = switch.file("all.stf", &entries_in_order());
    assert_eq!(switch.text(&["write", &file]), "");
    let all = switch.text(&["read"]);
    assert_eq!(sorted(&all), sorted(ENTRIES));
    // In the order of the answer they make the same switch again.
    switch.text(&["delete-all"]);
    switch.text(&["write", &switch.file("again", &all)]);
    assert_eq!(switch.text(&["read"]), all);
    // Const entries are there, and are no commands.
    let reserved = switch.text(&["read", "reserved"]);
    assert!(
        reserved.starts_with("# const: add Station.reserved destination:01:80:c2:00:00:00 Station.drop()\n"),
        "{reserved}"
    );
    // All formats that have words for all of it.
    for format in ["p4runtime-text", "p4runtime-json", "p4runtime-binary"] {
        let output = switch.output(&["read", "stations", "vendors", "groups", "members", "--format", format]);
        let suffix = format.rsplit('-').next().unwrap().replace("text", "txtpb").replace("binary", "bin");
        let copy = switch.dir.path().join(format!("copy.{suffix}")).display().to_string();
        fs::write(&copy, &output.stdout).unwrap();
        assert_eq!(switch.text(&["write", &copy, "--as", "upsert"]), "", "{format}");
        assert!(switch.fails(&["write", &copy], 1).contains("ALREADY_EXISTS"), "{format}");
    }
    assert_eq!(sorted(&switch.text(&["read"])), sorted(ENTRIES));

    let one = |args: &[&str]| switch.text(&[&["read"], args].concat());
    let line = |n: usize| format!("{}\n", ENTRIES.lines().nth(n).unwrap());
    assert_eq!(one(&["stations", "station:02:00:00:00:00:02"]), line(3));
    assert_eq!(one(&["stations", "action=to_controller"]), line(3));
    assert_eq!(one(&["guards", "priority=10"]), line(0));
    assert_eq!(one(&["guards", "priority=11"]), "");
    let key = [
        "guards",
        "priority=10",
        "source:02:00:00:00:00:00&&&0xff0000000000",
        "type:0x0800..0x0806",
        "port:1",
    ];
    assert_eq!(one(&key), line(0));
    assert_eq!(one(&["stations", "default"]), "setdefault Station.stations Station.drop()\n");
    assert_eq!(one(&["defaults"]).lines().count(), 7);
    assert_eq!(one(&["choices", "group=1"]), line(7));
    assert_eq!(one(&["memory", "index=3"]), "register_write Station.memory 3 0x0\n");
    // One warning for all that the format has no words for.
    let output = switch.output(&["read", "direct-counters"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && output.stdout.is_empty(), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(
        said.contains(" are left out, the first is ") && said.contains("--format p4runtime-text"),
        "{said}"
    );
    assert_eq!(one(&["arrived", "index=2"]), "counter_write Station.arrived 2 0 0\n");

    assert_eq!(switch.text(&["write", &file, "--as", "delete"]), "");
    assert!(sorted(&one(&[])).is_empty());
    switch.text(&["write", &file, "--atomicity", "rollback"]);
    let extra = "mc_mgrp_create 1\nmc_node_create 0 1 2\nmc_node_associate 1 0\nmirroring_add 5 3\n\
                 value_set_add allowed_types \"\":2048\nsetdefault stations drop()\n";
    switch.text(&["write", &switch.file("extra.stf", extra)]);
    assert_eq!(
        one(&["value-sets"]),
        "value_set_clear ReadPacket.allowed_types\nvalue_set_add ReadPacket.allowed_types \"\":2048\n"
    );
    assert_eq!(switch.text(&["delete-all"]), "10 deleted\n");
    assert!(sorted(&one(&[])).is_empty());
}

/// Members before groups, and both before entries.
fn entries_in_order() -> String {
    let rank = |line: &&str| match line.split('_').next() {
        Some("member") => 0,
        Some("group") => 1,
        _ => 2,
    };
    let mut lines: Vec<&str> = ENTRIES.lines().collect();
    lines.sort_by_key(rank);
    lines.join("\n") + "\n"
}

#[test]
fn refused_updates_are_shown_in_their_files() {
    let switch = Switch::start(&[PROGRAM]);
    let script = "add stations station:1 drop()\nadd vendors prefix:02:00:00:00:00:00/24 forward(port:1)\n";
    let script = switch.file("twice.stf", &format!("{script}{script}"));
    assert_eq!(
        switch.fails(&["write", &script], 1),
        "error[P2529]: ALREADY_EXISTS: the entry of table `Station.stations` with `station` = 00:00:00:00:00:01 exists \
         already\n --> DIR/twice.stf:3:1\n  |\n3 | add stations station:1 drop()\n  | \
         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n\nerror[P2529]: ALREADY_EXISTS: the entry of table `Station.vendors` with `prefix` \
         = 02:00:00:00:00:00/24 exists already\n --> DIR/twice.stf:4:1\n  |\n4 | add vendors \
         prefix:02:00:00:00:00:00/24 forward(port:1)\n  | \
         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n\nerror: DIR/twice.stf: 2 of 4 updates were made\n"
    );
    let request = "updates {\n  type: DELETE\n  entity { table_entry { table_id: \"stations\" match { field_id: \
                   \"station\" exact { value: 2 } } } }\n}\n";
    let text = switch.file("missing.txtpb", &format!("# nothing\n{request}{request}"));
    assert_eq!(
        switch.fails(&["write", &text], 1),
        "error: DIR/missing.txtpb:2: updates[0].entity.table_entry: NOT_FOUND: the entry of table `Station.stations` with \
         `station` = 00:00:00:00:00:02 does not exist\nerror: DIR/missing.txtpb:6: updates[1].entity.table_entry: \
         NOT_FOUND: the entry of table `Station.stations` with `station` = 00:00:00:00:00:02 does not exist\nerror: \
         DIR/missing.txtpb: 0 of 2 updates were made\n"
    );
    // Answers may be long: one error for each update.
    let many: String = (100..1100).map(|i| format!("add stations station:{i} drop()\n")).collect();
    let many = switch.file("many.stf", &many);
    switch.text(&["write", &many]);
    let said = switch.fails(&["write", &many], 1);
    assert!(said.contains("many.stf: 0 of 1000 updates were made"), "{said}");
    switch.text(&["write", "--as", "delete", &many]);
    // All or nothing.
    let half = "add stations station:3 drop()\nadd stations station:3 drop()\n";
    let half = switch.file("half.stf", half);
    let said = switch.fails(&["write", "--atomicity", "rollback", &half], 1);
    assert!(said.contains("half.stf: 0 of 2 updates were made"), "{said}");
    assert!(said.contains("ABORTED"), "{said}");
    assert_eq!(sorted(&switch.text(&["read", "stations"])).len(), 1);
    // Names are checked before anything is sent.
    let unknown = switch.file("unknown.stf", "add station station:1 drop()\n");
    assert!(switch.fails(&["write", &unknown], 2).contains("did you mean `stations`?"));
}

#[test]
fn faults_say_what_to_type() {
    let switch = Switch::start(&[PROGRAM]);
    let text = switch.file("text", "hello world\n");
    for (args, code, message) in [
        (
            &["--device-id", "3", "read"][..],
            1,
            "NOT_FOUND: there is no device 3: this one is 0; --device-id names another",
        ),
        (&["read", "station"], 2, "the program has nothing named `station`; did you mean `stations`?"),
        (
            &["read", "xyz"],
            2,
            "the program has nothing named `xyz`; kinds are members, groups, tables, defaults",
        ),
        (
            &["read", "priority=1"],
            2,
            "`priority=1` is a condition: name a table, or another object, before it",
        ),
        (&["read", "guards", "source:1"], 2, "P4Runtime finds one by its key with priority=N"),
        (
            &["read", "stations", "action=forward"],
            2,
            "there is no action `forward` in table `Station.stations`",
        ),
        (&["read", "memory", "index=x"], 2, "`index=x`: write a number"),
        (&["read", "memory", "key:1"], 2, "`key:1` is no condition for `memory`; there is index=N"),
        (
            &["read", "memory", "index=99"],
            1,
            "OUT_OF_RANGE: index 99 is beyond the last cell of `Station.memory`, 7",
        ),
        (&["read", "digests", "id=1"], 2, "`digests` takes no conditions"),
        (&["write", "none.stf"], 4, "cannot read none.stf"),
        (&["write", &text], 2, "no line begins with a command"),
        (&["packet-out", "eth", "port=1"], 2, "there is no field `port` in controller header `packet_out`"),
        (&["packet-out", "eth", "egress_port"], 2, "write NAME=VALUE"),
        (&["packet-out", "eth", "egress_port=x"], 2, "`x` is no value for `egress_port`"),
        (&["packet-out", "eth", "egress_port=1000"], 1, "the packet was not sent: INVALID_ARGUMENT"),
        (&["packet-out", "ether"], 2, "there is no layer `ether`"),
        (&["watch", "--timeout", "0", "--count", "1"], 1, ""),
        (&["--election-id", "1,2,3", "read"], 2, "write a number, or two as HIGH,LOW"),
        (&["--tls-key", "x", "read"], 2, "--tls-cert"),
    ] {
        let said = switch.fails(args, code);
        assert!(said.contains(message), "{args:?}: {said}");
    }
    // Another controller is primary, and stays it unless somebody bids more.
    let mut first = switch.command(&["--election-id", "4", "watch"]);
    let mut first = first.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut told = BufReader::new(first.stdout.take().unwrap());
    told.read_line(&mut line).unwrap();
    assert_eq!(line, "primary with election id 4\n");
    let file = switch.file("one.stf", "add stations station:1 drop()\n");
    assert_eq!(
        switch.fails(&["write", &file], 1),
        "error: another controller is primary, with election id 4; --election-id 5 takes its place\n"
    );
    switch.text(&["--election-id", "5", "write", &file]);
    let mut rest = String::new();
    told.read_line(&mut rest).unwrap();
    assert_eq!(rest, "backup: the highest election id is 5\n");
    // The one with 5 has ended: nobody is primary, and less does not win.
    rest.clear();
    told.read_line(&mut rest).unwrap();
    assert_eq!(rest, "backup: nobody is primary, and the highest election id was 5\n");
    assert_eq!(
        switch.fails(&["--election-id", "3", "write", &file], 1),
        "error: nobody is primary, and election id 5 has won before: --election-id 5 or a higher one is needed\n"
    );
    first.kill().unwrap();
    first.wait().unwrap();

    let address = switch.address.clone();
    drop(switch);
    let output = siding().args(["p4rt", "--server", &address, "read"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(4));
    assert_eq!(
        said,
        format!(
            "error: nothing listens at {address}: start a switch there with `siding switch PROGRAM --grpc-server-addr \
             {address}`, or name another server with --server\n"
        )
    );
}

#[test]
fn packets_and_digests_are_watched() {
    let dir = tempfile::tempdir().unwrap();
    let ports: Vec<String> =
        (1..3).map(|n| format!("{n}@file:{}", dir.path().join(n.to_string()).display())).collect();
    let empty = [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0];
    for n in 1..3 {
        fs::write(dir.path().join(format!("{n}_in.pcap")), empty).unwrap();
    }
    let switch = Switch::start(&["-i", &ports[0], "-i", &ports[1], PROGRAM]);
    let entries = "add stations station:02:00:00:00:00:02 to_controller(reason:3)\n\
                   add stations station:02:00:00:00:00:01 forward_and_count(port:1)\n";
    switch.text(&["write", &switch.file("entries.stf", entries)]);
    let digests = "updates { type: INSERT entity { digest_entry { digest_id: \"digest_id_0\" config { max_list_size: 1 } } } }";
    let name = switch.text(&["get"]);
    let name =
        name.split("digests {").nth(1).unwrap().split("name: \"").nth(1).unwrap().split('"').next().unwrap();
    switch.text(&["write", &switch.file("digest.txtpb", &digests.replace("digest_id_0", name))]);
    let idle = "updates { type: INSERT entity { table_entry { table_id: \"stations\" match { field_id: \"station\" exact { \
                value: 02:00:00:00:00:09 } } action { action { action_id: \"Station.drop\" } } idle_timeout_ns: 1000000 } } }";
    switch.text(&["write", &switch.file("idle.txtpb", idle)]);
    let mut watch = switch.command(&["watch", "--ack", "--timeout", "60"]);
    let mut watch = watch.stdout(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(watch.stdout.take().unwrap()).lines().map(Result::unwrap);
    let role = told.next().unwrap();
    assert!(role.starts_with("primary with election id"), "{role}");
    let packet = "eth(src=02:00:00:00:00:07)/ipv4(dst=10.0.2.2)/udp(dport=53)/\"hello\"";
    switch.ctl(&["packet-out", packet, "--port", "2"]);
    // Notices of an idle entry may come again.
    let mut lines = BTreeSet::new();
    while lines.len() < 3 {
        lines.insert(told.next().expect("a packet, a digest and a notice come"));
    }
    watch.kill().unwrap();
    watch.wait().unwrap();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    assert_eq!(
        lines,
        [
            format!("digest {name}, list 1: source=02:00:00:00:00:07 port=2").as_str(),
            "idle: Station.stations station:02:00:00:00:00:09",
            "packet-in: ingress_port=2 reason=3 eth(dst=02:00:00:00:00:02, src=02:00:00:00:00:07)/ipv4(src=10.0.0.1, \
             dst=10.0.2.2)/udp(sport=49152, dport=53)/\"hello\"",
        ]
    );
    switch.text(&["packet-out", packet, "egress_port=1"]);
    assert!(switch.ctl(&["show", "totals"]).contains(" 1  sent\n"));
}

/// Makes an authority and a certificate that it has signed, for this machine. False where there is no openssl.
fn certificates(dir: &Path) -> bool {
    let make = |args: &str| {
        let args = format!("{args} -days 2");
        let made = Command::new("openssl").args(args.split_whitespace()).current_dir(dir).output();
        made.is_ok_and(|made| made.status.success())
    };
    let new = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    fs::write(dir.join("names"), "subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n").unwrap();
    make(&format!("req -x509 {new} -keyout ca.key -out ca.pem -subj /CN=authority"))
        && make(&format!("req -x509 {new} -keyout other.key -out other.pem -subj /CN=other"))
        && make(&format!("req {new} -keyout server.key -out server.csr -subj /CN=switch"))
        && make(
            "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out server.pem -extfile names",
        )
}

#[test]
fn metrics_count_what_controllers_write() {
    let switch = Switch::start(&["crates/bench/programs/control.p4"]);
    let keys =
        "hdr.ipv4.srcAddr:1 hdr.ipv4.dstAddr:2 hdr.ipv4.protocol:6 hdr.ports.srcPort:1 hdr.ports.dstPort:2";
    let file = switch.file("one.stf", &format!("add flows {keys} forward(port:1)\n"));
    switch.text(&["write", &file]);
    // It exists, so it is decoded in full for the message.
    switch.fails(&["write", &file], 1);
    let mut stream = TcpStream::connect(&switch.metrics).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    for line in [
        "siding_p4runtime_updates_total{way=\"short\"} 1",
        "siding_p4runtime_updates_total{way=\"full\"} 1",
        "siding_p4runtime_updates_total{way=\"columns\"} 0",
        "siding_p4runtime_updates_total{way=\"shared_memory\"} 0",
        "siding_p4runtime_lost_messages_total 0",
    ] {
        assert!(answer.contains(&format!("\n{line}\n")), "{line}\n{answer}");
    }
}

#[test]
fn plain_text_for_other_machines_is_warned_of() {
    let said_of = |args: &[&str]| {
        let dir = tempfile::tempdir().unwrap();
        let mut command = siding();
        command.args(["switch", "--no-p4", "--metrics-addr", "off", "--json", "--ctl-socket"]);
        command.arg(dir.path().join("ctl")).args(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    let said = said_of(&["--grpc-server-addr", "0.0.0.0:0"]);
    assert_eq!(said.matches("is in plain text, for everybody who reaches it").count(), 1, "{said}");
    assert!(!said_of(&["--grpc-server-addr", "127.0.0.1:0"]).contains("plain text"));
    assert!(!said_of(&["--grpc-server-addr", "[::1]:0"]).contains("plain text"));
}

#[test]
fn servers_with_tls_are_trusted_by_their_authority() {
    let dir = tempfile::tempdir().unwrap();
    if !certificates(dir.path()) {
        return;
    }
    let path = |name: &str| dir.path().join(name).display().to_string();
    let (ca, certificate, key) = (path("ca.pem"), path("server.pem"), path("server.key"));
    let switch = Switch::start(&[
        "--no-p4",
        "--grpc-server-ssl",
        "--grpc-server-cert",
        &certificate,
        "--grpc-server-key",
        &key,
        "--grpc-server-cacert",
        &ca,
        "--grpc-server-with-client-auth",
    ]);
    let identity = ["--tls-ca", &ca, "--tls-cert", &certificate, "--tls-key", &key];
    assert_eq!(switch.text(&[&identity[..], &["capabilities"]].concat()), "P4Runtime 1.5.0\n");
    let said = switch.fails(&["capabilities"], 4);
    assert!(said.contains("if the server wants TLS, name its authority with --tls-ca"), "{said}");
    let other = path("other.pem");
    let said =
        switch.fails(&["--tls-ca", &other, "--tls-cert", &certificate, "--tls-key", &key, "capabilities"], 4);
    assert!(said.contains("UnknownIssuer"), "{said}");
    switch.fails(&["--tls-ca", &ca, "capabilities"], 4);
    let said = switch.fails(&["--tls-ca", &key, "capabilities"], 4);
    assert!(said.starts_with("error: "), "{said}");
    switch.fails(&["--tls-ca", "none.pem", "capabilities"], 4);
}

#[test]
fn exact_keys_are_not_left_out() {
    let switch = Switch::start(&["crates/bench/programs/control.p4"]);
    let entry = |keys: &str, action: &str| format!("add flows {keys} {action}\n");
    let keys = "hdr.ipv4.srcAddr:10.0.0.1 hdr.ipv4.dstAddr:10.0.0.2 hdr.ipv4.protocol:6 \
                hdr.ports.srcPort:1 hdr.ports.dstPort:2";
    switch.text(&["write", &switch.file("whole.stf", &entry(keys, "forward(port:1)"))]);
    let part = keys.replace(" hdr.ipv4.protocol:6", "");
    let file = switch.file("part.stf", &entry(&part, "forward(port:1)"));
    for kind in ["insert", "modify", "delete"] {
        let said = switch.fails(&["write", "--as", kind, &file], 2);
        assert!(
            said.contains("key element `hdr.ipv4.protocol` of table `FlowIngress.flows` is missing"),
            "{said}"
        );
    }
    let words =
        |keys: &'static str| -> Vec<&str> { ["read", "flows"].into_iter().chain(keys.split(' ')).collect() };
    let said = switch.fails(&["read", "flows", "hdr.ipv4.srcAddr:10.0.0.1"], 2);
    assert_eq!(
        said,
        "error: the key `hdr.ipv4.dstAddr` of `FlowIngress.flows` is missing: P4Runtime finds an entry by all of its \
         exact keys; give all of them, or none to read the whole table\n"
    );
    assert_eq!(switch.text(&words(keys)).lines().count(), 1);
    assert_eq!(switch.text(&["read", "flows"]).lines().count(), 1);
}
