//! Random operations of controllers on compiled programs behind `siding switch`, against small models.

#[path = "../../grpc/tests/p4runtime/bench.rs"]
#[expect(dead_code, unused_imports, reason = "a device in this process is for tests of crate `grpc`")]
mod bench;
#[path = "../../grpc/tests/p4runtime/desk.rs"]
#[expect(dead_code, reason = "refusals are for tests of crate `grpc`")]
mod desk;
#[path = "../../grpc/tests/p4runtime/history.rs"]
mod history;
#[path = "../../grpc/tests/p4runtime/models.rs"]
mod models;

use bench::{Bench, DEVICE};
use desk::{Desk, LINES};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

/// A switch that runs the program of the lines.
struct Running {
    child: Child,
    /// Kept open: the switch writes its log there.
    _out: BufReader<ChildStdout>,
    _dir: tempfile::TempDir,
    address: String,
}

impl Running {
    fn start(args: &[&str]) -> Running {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("lines.p4");
        std::fs::write(&program, LINES).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_siding"))
            .env("NO_COLOR", "1")
            .args(["switch", "--json", "--metrics-addr", "off", "-O", "0", "--cpu-port", "510"])
            .args(["--device-id", &DEVICE.to_string(), "--grpc-server-addr", "127.0.0.1:0", "--ctl-socket"])
            .arg(dir.path().join("ctl"))
            .args(args)
            .arg(&program)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        // It is ready when compiled code serves.
        let address = loop {
            let mut line = String::new();
            assert!(out.read_line(&mut line).unwrap() > 0, "the switch has ended");
            let event: Value = serde_json::from_str(&line).unwrap();
            if event["event"] == "ready" {
                break format!("http://{}", event["p4runtime"].as_str().unwrap());
            }
        };
        Running { child, _out: out, _dir: dir, address }
    }

    fn bench(&self) -> Bench {
        Bench::connected(self.address.clone())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn entities_of_compiled_programs_come_back_and_histories_are_serialisable() {
    let switch = Running::start(&["--no-arbitration"]);
    let desk = Desk::on(switch.bench());
    models::histories_are_serialisable(&desk);
    for key in 0..4 {
        desk.codes(&[&format!(
            "delete table_entry {{ table_id: $pairs exact(1,\\x07) exact(2,\\x0{key}) }}"
        )]);
    }
    models::what_is_written_comes_back(&desk);
}

#[test]
fn controllers_of_compiled_programs_behave_like_their_model() {
    let switch = Running::start(&[]);
    models::controllers_behave_like_their_model(switch.bench(), None, 9);
}
