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
const P4: &str = include_str!("../../programs/control.p4");

/// A switch that ends with this.
pub(super) struct Switch(Child);

impl Drop for Switch {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts this program as a switch, and waits for its address.
pub(super) fn start(
    dir: &Path,
    address: &str,
    args: &BenchControlArgs,
) -> Result<(Switch, ServerAddress), Exit> {
    let environment = |error: String| {
        output::error_line(&error);
        Exit::Environment
    };
    let program = dir.join(NAME);
    std::fs::write(&program, P4).map_err(|error| environment(format!("cannot write a program: {error}")))?;
    let own = std::env::current_exe().map_err(|error| environment(format!("cannot find siding: {error}")))?;
    let mut command = Command::new(own);
    command
        .args(["switch", "--json", "--metrics-addr", "off", "--backend", "native", "--log-level", "error"])
        .args(["-O", &args.measure.cc.optimise.to_string(), "--grpc-server-addr", address, "--ctl-socket"])
        .arg(dir.join("ctl"))
        .arg(&program)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let child = command.spawn().map_err(|error| environment(format!("cannot start a switch: {error}")))?;
    let mut switch = Switch(child);
    let out = switch.0.stdout.take().map(BufReader::new);
    for line in out.into_iter().flat_map(BufRead::lines).map_while(Result::ok) {
        let event: Value = serde_json::from_str(&line).unwrap_or_default();
        if let (Some("ready"), Some(address)) = (event["event"].as_str(), event["p4runtime"].as_str()) {
            return Ok((switch, address.parse().map_err(failed)?));
        }
    }
    Err(environment("the switch has ended before it was ready".to_owned()))
}
