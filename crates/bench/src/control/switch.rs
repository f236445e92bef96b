//! A switch in a process of its own.

use super::failed;
use crate::args::BenchControlArgs;
use console::output::{self, Exit};
use grpc::ServerAddress;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const NAME: &str = "control.p4";
/// Entries that the table of the program takes.
const N_ENTRIES_MAX: usize = 1 << 20;
const P4: &str = include_str!("../../programs/control.p4");

/// The process of a switch, which ends with this.
pub(super) struct Switch(Child);

impl Drop for Switch {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Switch {
    pub(super) fn of(process: Child) -> Switch {
        Switch(process)
    }

    /// Memory of the process in bytes.
    pub(super) fn resident_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
        kib.unwrap_or_default() << 10
    }
}

/// Starts this program as a switch that listens at a TCP port (`tcp`) or at a Unix socket in the directory (`unix`).
pub(super) fn start_by(
    transport: &str,
    dir: &Path,
    args: &BenchControlArgs,
) -> Result<(Switch, ServerAddress), Exit> {
    let address = match transport {
        "tcp" => "127.0.0.1:0".to_owned(),
        _ => format!("unix:{}", dir.join("p4runtime").display()),
    };
    start(dir, &address, None, args)
}

/// Starts this program as a switch, with a socket and bytes of shared memory, and waits for its address.
pub(super) fn start(
    dir: &Path,
    address: &str,
    shm: Option<(&Path, usize)>,
    args: &BenchControlArgs,
) -> Result<(Switch, ServerAddress), Exit> {
    let environment = |error: String| {
        output::error_line(&error);
        Exit::Environment
    };
    let program = dir.join(NAME);
    // Larger tables are asked for.
    let text = match args.entries.unwrap_or_default() {
        n if n > N_ENTRIES_MAX => P4.replace(&format!("size = {N_ENTRIES_MAX};"), &format!("size = {n};")),
        _ => P4.to_owned(),
    };
    std::fs::write(&program, text)
        .map_err(|error| environment(format!("cannot write a program: {error}")))?;
    let own = std::env::current_exe().map_err(|error| environment(format!("cannot find siding: {error}")))?;
    let mut command = Command::new(own);
    command
        .args(["switch", "--json", "--metrics-addr", "off", "--backend", "native", "--log-level", "error"])
        .args(["-O", &args.measure.cc.optimise.to_string(), "--grpc-server-addr", address, "--ctl-socket"])
        .arg(dir.join("ctl"))
        .arg(&program)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    if let Some((path, n_bytes)) = shm {
        command.arg("--shm-socket").arg(path).args(["--shm-size", &n_bytes.to_string()]);
    }
    let child = command.spawn().map_err(|error| environment(format!("cannot start a switch: {error}")))?;
    let mut switch = Switch::of(child);
    let out = switch.0.stdout.take().map(BufReader::new);
    for line in out.into_iter().flat_map(BufRead::lines).map_while(Result::ok) {
        let event: Value = serde_json::from_str(&line).unwrap_or_default();
        if let (Some("ready"), Some(address)) = (event["event"].as_str(), event["p4runtime"].as_str()) {
            return Ok((switch, address.parse().map_err(failed)?));
        }
    }
    Err(environment("the switch has ended before it was ready".to_owned()))
}
