//! BMv2's `simple_switch_grpc` as a peer, where it is installed.

use super::failed;
use super::switch::Switch;
use console::output::Exit;
use console::tools;
use grpc::{Client, ServerAddress};
use p4info::proto::p4::config::v1::P4Info;
use p4info::proto::p4::v1::ForwardingPipelineConfig;
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The program of the benchmark in BMv2's form.
const JSON: &str = include_str!("../../programs/control.bmv2.json");
const START_TIME: Duration = Duration::from_secs(20);

/// A switch and a connection to it.
pub(super) struct Bmv2 {
    pub(super) client: Client,
    pub(super) address: ServerAddress,
    _switch: Switch,
}

/// Starts a switch without a program; `None` if it is not installed.
pub(super) fn start() -> Result<Option<Bmv2>, Exit> {
    let Some(tool) = tools::find("simple_switch_grpc".as_ref()) else { return Ok(None) };
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).map_err(failed)?;
    let child = Command::new(tool)
        .args(["--no-p4", "--device-id", "0", "--log-level", "off", "--", "--grpc-server-addr"])
        .arg(free.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed)?;
    let switch = Switch::of(child);
    let address: ServerAddress = free.to_string().parse().map_err(failed)?;
    let begin = Instant::now();
    loop {
        match Client::connect(&address, None) {
            Ok(client) => return Ok(Some(Bmv2 { client, address, _switch: switch })),
            Err(error) if begin.elapsed() > START_TIME => return Err(failed(error)),
            Err(_) => thread::sleep(Duration::from_millis(50)),
        }
    }
}

/// The configuration that brings the benchmark's program to it.
pub(super) fn config(p4info: P4Info) -> ForwardingPipelineConfig {
    ForwardingPipelineConfig {
        p4info: Some(p4info),
        p4_device_config: JSON.as_bytes().to_vec(),
        ..ForwardingPipelineConfig::default()
    }
}
