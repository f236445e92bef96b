//! `siding switch` with DPDK ports, against itself and against testpmd.

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Swaps addresses and sends what arrives at one of ports 1 and 2 to the other one.
const WIRE: &str = "crates/siding/tests/dpdk/wire.p4";
const PACKET: &str = "020000000001 020000000002 1234 0102030405060708";

/// Whether the tools are there. Prints what is missing; with SIDING_REQUIRE_NET=1 that is a failure.
fn has(tools: &[(&str, &[&str], &str)]) -> bool {
    let is_missing = |(tool, args, _): &&(&str, &[&str], &str)| {
        let status = Command::new(tool).args(*args).stdout(Stdio::null()).stderr(Stdio::null()).status();
        !status.is_ok_and(|status| status.success())
    };
    let Some((tool, _, package)) = tools.iter().find(is_missing) else { return true };
    let message = format!("{tool} does not find what the test needs: apt install {package}");
    assert!(std::env::var_os("SIDING_REQUIRE_NET").is_none_or(|v| v != "1"), "{message}");
    eprintln!("skipped: {message}");
    false
}

const DPDK: (&str, &[&str], &str) = ("pkg-config", &["--exists", "libdpdk"], "pkg-config libdpdk-dev");
const TESTPMD: (&str, &[&str], &str) = ("dpdk-testpmd", &["-v", "--help"], "dpdk-dev");

fn until(what: &str, mut is_done: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_done() {
        assert!(Instant::now() < deadline, "still no {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

struct Switch {
    child: Child,
    out: BufReader<ChildStdout>,
    socket: PathBuf,
}

impl Switch {
    fn start(dir: &Path, name: &str, ports: [&str; 2]) -> Switch {
        let socket = dir.join(format!("{name}.ctl"));
        let mut command = siding();
        command
            .args(["switch", "--json", "--metrics-addr", "127.0.0.1:0", "-O", "0", "--ctl-socket"])
            .arg(&socket);
        for (number, port) in (1..).zip(ports) {
            command.args(["-i", &format!("{number}@dpdk:{port}")]);
        }
        let mut child = command.arg(WIRE).stdout(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let mut switch = Switch { child, out, socket };
        while switch.event()["event"] != "ready" {}
        switch
    }

    /// The next event, but for links that change.
    fn event(&mut self) -> Value {
        loop {
            let mut line = String::new();
            self.out.read_line(&mut line).unwrap();
            let event: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{line:?}: {e}"));
            if event["event"] != "link" {
                return event;
            }
        }
    }

    fn ctl(&self, args: &[&str]) -> Value {
        let output =
            siding().args(["ctl", "--json", "--ctl-socket"]).arg(&self.socket).args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap_or_default()
    }

    fn port(&self, number: u64) -> Value {
        let ports = self.ctl(&["show", "ports"]);
        ports.as_array().unwrap().iter().find(|port| port["port"] == number).unwrap().clone()
    }

    fn is_up(&self, number: u64) -> bool {
        self.port(number)["link"] == "up"
    }

    fn n_received(&self) -> u64 {
        self.ctl(&["show", "totals"])["received"].as_u64().unwrap()
    }

    /// Waits until many more packets have come.
    fn until_busy(&self) {
        let before = self.n_received();
        until("traffic", || self.n_received() > before + 1000);
    }

    fn inject(&self) {
        let digits: String = PACKET.split_whitespace().collect();
        self.ctl(&["packet-out", "--port", "2", &digits]);
    }

    /// Ends it, and checks that each packet that it has received was sent or dropped for a reason.
    fn end(mut self) {
        self.ctl(&["shutdown"]);
        let totals = self.event()["totals"].clone();
        assert_eq!(totals["balanced"], true, "{totals}");
        let n = |value: &Value| value.as_u64().unwrap();
        let n_dropped: u64 = totals["dropped"].as_object().unwrap().values().map(n).sum();
        assert_eq!(n(&totals["received"]), n(&totals["sent"]) + n_dropped, "{totals}");
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn siding() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_siding"));
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).env("NO_COLOR", "1");
    command
}

/// A peer that sends back what it gets, and some packets first.
struct Testpmd(Child);

impl Testpmd {
    fn start(devices: [&str; 2]) -> Testpmd {
        let mut command = Command::new("dpdk-testpmd");
        command
            .args("--no-huge -m 128 --no-shconf --no-telemetry --no-pci --lcores 0@(0-1),1@(0-1)".split(' '));
        let prefix = format!("siding-test-{}", std::process::id());
        command.args(["--file-prefix", &prefix, "--vdev", devices[0], "--vdev", devices[1], "--"]);
        command.args(
            "--total-num-mbufs=4096 --no-mlockall --forward-mode=io --tx-first --auto-start".split(' '),
        );
        // It runs until its input ends.
        Testpmd(command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Testpmd {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Packets go round through two switches, whose second ports are rings.
#[test]
fn two_switches_survive_each_other() {
    if !has(&[DPDK]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let memif = |role: &str| format!("net_memif0,role={role},socket={}", dir.path().join("memif").display());
    let server = Switch::start(dir.path(), "server", [&memif("server"), "net_ring0"]);
    assert!(!server.is_up(1) && server.is_up(2));
    for _ in 0..2 {
        // The second client takes the place of the one that was killed.
        let client = Switch::start(dir.path(), "client", [&memif("client"), "net_ring0"]);
        until("link", || server.is_up(1) && client.is_up(1));
        server.inject();
        server.until_busy();
        client.until_busy();
        drop(client);
        until("end of the link", || !server.is_up(1));
        assert!(server.is_up(2));
    }
    // Its client waits for a server that comes later.
    let client = Switch::start(dir.path(), "client", [&memif("client"), "net_ring0"]);
    until("link", || client.is_up(1));
    server.inject();
    server.until_busy();
    server.ctl(&["port", "remove", "1"]);
    until("end of the link", || !client.is_up(1));
    server.ctl(&["port", "add", &format!("1@dpdk:{}", memif("server"))]);
    until("link", || server.is_up(1) && client.is_up(1));
    server.inject();
    server.until_busy();
    server.ctl(&["port", "remove", "2"]);
    server.ctl(&["port", "add", "2@dpdk:net_ring0"]);
    server.inject();
    server.until_busy();
    server.end();
    client.end();
}

#[test]
fn testpmd_is_a_peer_on_memif_and_on_vhost_user() {
    if !has(&[DPDK, TESTPMD]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let memif = |role: &str| format!("net_memif0,role={role},socket={}", path("memif"));
    let vhost = format!("net_vhost0,iface={}", path("vhost"));
    let switch = Switch::start(dir.path(), "switch", [&memif("server"), &vhost]);
    let virtio = format!("net_virtio_user0,path={}", path("vhost"));
    for _ in 0..2 {
        let peer = Testpmd::start([&memif("client"), &virtio]);
        until("links", || switch.is_up(1) && switch.is_up(2));
        switch.until_busy();
        // It is killed while packets are under way.
        drop(peer);
        until("end of the links", || !switch.is_up(1) && !switch.is_up(2));
    }
    switch.end();
}

#[test]
fn testpmd_is_the_back_end_of_a_virtio_user_port() {
    if !has(&[DPDK, TESTPMD]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let paths = [0, 1].map(|i| dir.path().join(format!("vhost{i}")));
    let [first, second] = [0, 1].map(|i| format!("net_vhost{i},iface={}", paths[i].display()));
    let _peer = Testpmd::start([&first, &second]);
    until("sockets", || paths.iter().all(|path| path.exists()));
    let [first, second] = [0, 1].map(|i| format!("net_virtio_user{i},path={}", paths[i].display()));
    let switch = Switch::start(dir.path(), "switch", [&first, &second]);
    until("links", || switch.is_up(1) && switch.is_up(2));
    switch.inject();
    switch.until_busy();
    switch.end();
}

#[test]
fn devices_that_do_not_exist_are_refused() {
    if !has(&[DPDK]) {
        return;
    }
    let output = siding().args(["switch", "-i", "1@dpdk:net_mmif0", WIRE]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        text.contains("DPDK device `net_mmif0`: no driver has such a name; there are ")
            && text.contains("net_memif"),
        "{text}"
    );
    assert!(!text.contains("EAL"), "{text}");
    assert_ne!(output.status.code(), Some(0));
}
