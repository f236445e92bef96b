//! `siding switch` as a process with a P4Runtime server.

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// A switch, which ends with the test.
pub struct LiveSwitch {
    pub child: Child,
    /// Kept open: the switch writes its log there.
    _out: BufReader<ChildStdout>,
    pub ctl_socket: PathBuf,
    /// URL of the P4Runtime server.
    pub address: String,
}

impl LiveSwitch {
    /// Waits until the switch is ready: compiled code serves, if there is a program.
    pub fn start(dir: &Path, device_id: u64, args: &[&str]) -> LiveSwitch {
        let ctl_socket = dir.join("ctl");
        let mut child = Command::new(env!("CARGO_BIN_EXE_siding"))
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
            .env("NO_COLOR", "1")
            .args(["switch", "--json", "--metrics-addr", "off", "-O", "0", "--cpu-port", "510"])
            .args(["--device-id", &device_id.to_string(), "--grpc-server-addr", "127.0.0.1:0"])
            .arg("--ctl-socket")
            .arg(&ctl_socket)
            .args(args)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let address = loop {
            let mut line = String::new();
            assert!(out.read_line(&mut line).unwrap() > 0, "the switch has ended");
            let event: Value = serde_json::from_str(&line).unwrap();
            if event["event"] == "ready" {
                break format!("http://{}", event["p4runtime"].as_str().unwrap());
            }
        };
        LiveSwitch { child, _out: out, ctl_socket, address }
    }
}

impl Drop for LiveSwitch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
