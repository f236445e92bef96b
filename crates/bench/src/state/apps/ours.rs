//! `siding switch` with the program of the application, in the middle of the network.

use super::lab::{self, INSIDE, Lab, OUTSIDE};
use super::traffic::{BALANCED, BALANCED_TCP, FIREWALL_SERVICE, INSIDE_SERVICE, UDP_SERVICE};
use super::verdicts::Balanced;
use super::{AppArg, failed};
use crate::args::MeasureArgs;
use console::output::Exit;
use serde_json::Value;
use std::fmt::Write;
use std::io::{BufRead, BufReader, Read};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// Files that the programs include.
const INCLUDED: [(&str, &str); 3] = [
    ("include/headers.p4", include_str!("../../../../../examples/include/headers.p4")),
    ("state/include/segments.p4", include_str!("../../../../../examples/state/include/segments.p4")),
    ("state/firewall/windows.p4", include_str!("../../../../../examples/state/firewall/windows.p4")),
];

/// A switch in a process of its own, which ends with this.
pub struct Ours {
    process: Child,
    dir: TempDir,
    app: AppArg,
}

impl Drop for Ours {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn program(app: AppArg) -> (&'static str, &'static str) {
    match app {
        AppArg::Nat => ("nat44", include_str!("../../../../../examples/state/nat44/nat44.p4")),
        AppArg::Firewall => ("firewall", include_str!("../../../../../examples/state/firewall/firewall.p4")),
        AppArg::Lb => ("balancer", include_str!("../../../../../examples/state/balancer/balancer.p4")),
    }
}

/// Entries of the application's tables, as a script.
fn entries(app: AppArg) -> String {
    let address = Ipv4Addr::from_bits;
    let mut text = String::new();
    let written = match app {
        AppArg::Nat => Ok(()),
        AppArg::Firewall => {
            let inside = address(INSIDE_SERVICE);
            writeln!(text, "add services protocol:6 address:{inside} port:{FIREWALL_SERVICE} allow()")
                .and_then(|()| {
                    writeln!(text, "add services protocol:17 address:{inside} port:{UDP_SERVICE} allow()")
                })
        }
        AppArg::Lb => (1..=3_u8)
            .try_for_each(|n| {
                let mut mac = lab::SERVER;
                mac[5] = n;
                let station = lab::station(mac);
                writeln!(text, "add servers number:{n} forward(station:{station}, port:2)")?;
                writeln!(text, "member_add members {n} choose(number:{n})")
            })
            .and_then(|()| writeln!(text, "group_add members 1 1 2 3"))
            .and_then(|()| {
                [(6, BALANCED_TCP), (17, UDP_SERVICE)].iter().try_for_each(|(protocol, port)| {
                    let service = address(BALANCED);
                    writeln!(
                        text,
                        "add services protocol:{protocol} service:{service} service_port:{port} group 1"
                    )
                })
            }),
    };
    debug_assert!(written.is_ok());
    text
}

impl Ours {
    /// Starts a switch whose tables have room for so many flows, with its worker on the given core.
    pub fn start(
        lab: &Lab,
        app: AppArg,
        n_flows: u64,
        core: Option<usize>,
        args: &MeasureArgs,
    ) -> Result<Ours, Exit> {
        let io = |error: std::io::Error| failed(&format!("cannot start a switch: {error}"));
        let dir = tempfile::tempdir().map_err(io)?;
        let (name, text) = program(app);
        let path = dir.path().join(format!("state/{name}/{name}.p4"));
        let files = INCLUDED.map(|(path, text)| (dir.path().join(path), text));
        for (path, text) in files.iter().chain([&(path.clone(), text)]) {
            path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(io)?;
            std::fs::write(path, text).map_err(io)?;
        }
        let script = dir.path().join("entries.stf");
        std::fs::write(&script, entries(app)).map_err(io)?;
        let mut command = lab.switch(&args.cc, &dir.path().join("ctl")).map_err(io)?;
        command
            .args(["-i", &format!("1@{INSIDE}"), "-i", &format!("2@{OUTSIDE}")])
            .args(["-D", &format!("N_FLOWS={n_flows}"), "-D", &format!("N_CONNECTIONS={n_flows}")])
            // Numbers of connections follow each other, and each has a cell while it is there.
            .args(["-D", &format!("N_CELLS=32w{}", n_flows.next_power_of_two())]);
        if let Some(core) = core {
            command.args(["--cores", &core.to_string()]);
        }
        command.arg("--entries").arg(script).arg(path);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let process = command.spawn().map_err(io)?;
        let mut ours = Ours { process, dir, app };
        let out = ours.process.stdout.take().map(BufReader::new);
        let mut lines = out.into_iter().flat_map(BufRead::lines).map_while(Result::ok);
        let is_ready =
            |line: String| serde_json::from_str::<Value>(&line).is_ok_and(|event| event["event"] == "ready");
        if !lines.any(is_ready) {
            let mut said = String::new();
            if let Some(mut stderr) = ours.process.stderr.take() {
                let _ = stderr.read_to_string(&mut said);
            }
            return Err(failed(&format!("the switch has ended before it was ready: {}", said.trim())));
        }
        // A profile without time is how the programs end an entry.
        let tables: &[&str] = match app {
            AppArg::Nat => &["outbound", "inbound"],
            AppArg::Firewall => &["connections"],
            AppArg::Lb => &[],
        };
        tables.iter().try_for_each(|table| ours.ctl(&["expire", table, "255", "0"]))?;
        Ok(ours)
    }

    fn socket(&self) -> PathBuf {
        self.dir.path().join("ctl")
    }

    /// `siding ctl`
    fn ctl(&self, words: &[&str]) -> Result<(), Exit> {
        let fail = |why: String| failed(&format!("`siding ctl {}`: {}", words.join(" "), why.trim()));
        let own = std::env::current_exe().map_err(|error| fail(error.to_string()))?;
        let output = Command::new(own)
            .args(["ctl", "--ctl-socket"])
            .arg(self.socket())
            .args(words)
            .output()
            .map_err(|error| fail(error.to_string()))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(fail(String::from_utf8_lossy(&output.stderr).into_owned())),
        }
    }

    /// Memory of the process in bytes.
    pub fn resident_bytes(&self) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
        kib.unwrap_or_default() << 10
    }
}

impl Balanced for Ours {
    fn set_servers(&mut self, servers: &[u32]) -> Result<(), Exit> {
        let members: Vec<String> = servers.iter().map(u32::to_string).collect();
        let words: Vec<&str> = ["do", "group_modify", "members", "1"]
            .into_iter()
            .chain(members.iter().map(String::as_str))
            .collect();
        self.ctl(&words)
    }

    fn sees_answers(&self) -> bool {
        self.app != AppArg::Lb
    }
}
