//! Lines of P4Runtime that a switch in a process of its own decides.

use super::live_switch::LiveSwitch;
use super::{port, siding};
use crate::bench::{Action, Bench, Code, DEVICE, NOT_FOUND, OK, PROGRAM, code};
use crate::desk::{Desk, LINES, lines_with_registers};
use crate::wire::Wire;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

#[test]
fn a07_a_silent_controller_of_a_live_switch_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let switch = LiveSwitch::start(dir.path(), DEVICE, &["--no-p4", "--grpc-keepalive", "0.2"]);
    let wire = Wire::to(switch.address.strip_prefix("http://").unwrap().parse().unwrap());
    let bench = Bench::connected(switch.address.clone());
    let mut primary = bench.controller_at(&format!("http://{}", wire.address));
    let (mut backup, mut other) = (bench.controller(), bench.controller());
    primary.elect("", 2);
    backup.arbitrate("", Some(1));
    backup.notice();
    other.elect("other", 5);
    wire.cut();
    // Nobody takes its place, and its id is worth nothing.
    assert_eq!(backup.notice(), (Some(2), NOT_FOUND));
    assert!(backup.hears_nothing());
    assert_eq!(code(&bench.set(Action::Verify, PROGRAM, 2).unwrap_err()), Code::PermissionDenied);
    // Controllers that answer stay, however long they say nothing.
    assert!(other.hears_nothing());
    other.elect("other", 5);
    backup.arbitrate("", Some(2));
    assert_eq!(backup.notice(), (Some(2), OK));
}

#[test]
fn a10_election_ids_outlive_programs_and_not_the_switch() {
    let dir = tempfile::tempdir().unwrap();
    let start = || LiveSwitch::start(dir.path(), DEVICE, &["--no-p4"]);
    let switch = start();
    let bench = Bench::connected(switch.address.clone());
    let mut controller = bench.controller();
    controller.elect("", 7);
    for _ in 0..2 {
        bench.set(Action::VerifyAndCommit, PROGRAM, 7).unwrap();
    }
    controller.finish();
    let mut late = bench.controller();
    late.arbitrate("", Some(6));
    assert_eq!(late.notice(), (Some(7), NOT_FOUND));
    drop((late, bench, switch));
    let switch = start();
    let bench = Bench::connected(switch.address.clone());
    bench.controller().elect("", 1);
}

/// A switch with five ports, and what leaves by them.
struct Ports<'a> {
    switch: &'a LiveSwitch,
    sent: BTreeMap<u64, u64>,
}

impl Ports<'_> {
    fn ctl(&self, args: &[&str]) -> Vec<u8> {
        let output = siding().arg("ctl").arg("--ctl-socket").arg(&self.switch.ctl_socket).args(args).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    fn all_sent(&self) -> BTreeMap<u64, u64> {
        let ports: Value = serde_json::from_slice(&self.ctl(&["--json", "show", "ports"])).unwrap();
        let sent = |port: &Value| Some((port["port"].as_u64()?, port["stats"]["tx_packets"].as_u64()?));
        ports.as_array().unwrap().iter().filter_map(sent).collect()
    }

    /// The ports by which eight packets leave that differ in what the selector hashes.
    fn used(&mut self) -> Vec<u64> {
        for b in 0..8 {
            self.ctl(&["packet-out", &format!("000100{b:02}00000000"), "--port", "0"]);
        }
        let n = |sent: &BTreeMap<u64, u64>| sent.values().sum::<u64>();
        let begin = Instant::now();
        loop {
            let now = self.all_sent();
            if n(&now) == n(&self.sent) + 8 {
                let before = std::mem::replace(&mut self.sent, now);
                let ports = self.sent.iter().filter(|(port, sent)| before.get(port) != Some(sent));
                return ports.map(|(port, _)| *port).collect();
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "packets are lost: {now:?}");
        }
    }

    /// The switch looks at its ports now and then.
    fn wait_until_used(&mut self, expected: &[u64]) {
        let begin = Instant::now();
        while self.used() != expected {
            assert!(begin.elapsed() < Duration::from_secs(60), "{expected:?}");
        }
    }
}

fn program(dir: &Path, text: &str) -> String {
    let path = dir.join("lines.p4");
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn f01_compiled_programs_keep_signed_numbers_and_varbits() {
    let dir = tempfile::tempdir().unwrap();
    let program = program(dir.path(), &lines_with_registers(&["int<12>", "Long", "Signed"]));
    let switch = LiveSwitch::start(dir.path(), DEVICE, &["--no-arbitration", &program]);
    let desk = Desk::on(Bench::connected(switch.address.clone()));
    for (register, written, read) in [
        (0, r"bitstring: '\xff\xff\x80'", r"bitstring: '\x80'"),
        (0, r"bitstring: '\x07\xff'", r"bitstring: '\x07\xff'"),
        (
            1,
            r"header { is_valid: true bitstrings: '\x00\x07' bitstrings: '\x00\x01' }",
            r"header { is_valid: true bitstrings: '\x07' bitstrings: '\x00\x01' }",
        ),
        (
            1,
            r"header { is_valid: true bitstrings: '\x07' bitstrings: '' }",
            r"header { is_valid: true bitstrings: '\x07' bitstrings: '' }",
        ),
        (
            2,
            r"header { is_valid: true bitstrings: '\xf8\x00' }",
            r"header { is_valid: true bitstrings: '\xf8\x00' }",
        ),
    ] {
        let cell = |data: &str| {
            format!(
                "register_entry {{ register_id: $memory{register} index {{ index: 1 }} data {{ {data} }} }}"
            )
        };
        desk.write(&[&format!("modify {}", cell(written))]);
        let question = format!("register_entry {{ register_id: $memory{register} index {{ index: 1 }} }}");
        desk.reads(&question, &[&cell(read)]);
    }
}

#[test]
fn h03_ports_that_go_down_take_their_members_with_them() {
    let dir = tempfile::tempdir().unwrap();
    let ports = [0, 1, 2, 3, 4].map(|number| port(dir.path(), number));
    let mut args = vec!["--no-arbitration"];
    ports.iter().for_each(|port| args.extend(["-i", port]));
    let program = program(dir.path(), LINES);
    args.push(&program);
    let switch = LiveSwitch::start(dir.path(), DEVICE, &args);
    let desk = Desk::on(Bench::connected(switch.address.clone()));
    let member = |id: u32| {
        format!(
            "insert action_profile_member {{ action_profile_id: $choices member_id: {id} action {{ call(forward,\\x0{id}) }} }}"
        )
    };
    let watching = r"action_profile_group { action_profile_id: $choices group_id: 1 max_size: 4 members { member_id: 1 weight: 1 watch_port: '\x03' } members { member_id: 2 weight: 1 watch_port: '\x04' } }";
    desk.write(&[
        &member(1),
        &member(2),
        &format!("insert {watching}"),
        r"insert table_entry { table_id: $balanced exact(1,\x01) action { action_profile_group_id: 1 } }",
    ]);
    let as_written = || desk.reads("action_profile_group { action_profile_id: $choices }", &[watching]);
    let mut ports = Ports { switch: &switch, sent: BTreeMap::new() };
    ports.sent = ports.all_sent();
    assert_eq!(ports.used(), [1, 2]);
    ports.ctl(&["port", "down", "3"]);
    ports.wait_until_used(&[2]);
    as_written();
    // All down is an empty group: nothing runs, and the packets go to port 0.
    ports.ctl(&["port", "down", "4"]);
    ports.wait_until_used(&[0]);
    as_written();
    ports.ctl(&["port", "up", "3"]);
    ports.wait_until_used(&[1]);
    ports.ctl(&["port", "up", "4"]);
    ports.wait_until_used(&[1, 2]);
}
