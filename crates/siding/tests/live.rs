//! `siding switch` and `siding ctl` as processes.

use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn siding() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_siding"));
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).env("NO_COLOR", "1");
    command
}

/// A switch with a socket of its own, which ends with the test.
struct Running {
    child: Child,
    out: BufReader<ChildStdout>,
    socket: PathBuf,
}

impl Running {
    /// Waits until the switch is ready.
    fn start(dir: &Path, args: &[&str]) -> (Running, Value) {
        let socket = dir.join("ctl");
        let mut child = siding()
            .args(["switch", "--json", "--metrics-addr", "127.0.0.1:0", "-O", "0", "--ctl-socket"])
            .arg(&socket)
            .args(args)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let mut running = Running { child, out, socket };
        loop {
            let event = running.event();
            if event["event"] == "ready" {
                return (running, event);
            }
        }
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

    fn ctl(&self, args: &[&str]) -> Output {
        siding().arg("ctl").arg("--ctl-socket").arg(&self.socket).args(args).output().unwrap()
    }

    fn text(&self, args: &[&str]) -> String {
        let output = self.ctl(args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn json(&self, args: &[&str]) -> Value {
        let text = self.text(&[&["--json"], args].concat());
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{text}: {e}"))
    }

    fn fails(&self, args: &[&str], code: i32, why: &str) {
        let output = self.ctl(args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        assert!(said.contains(why), "{args:?}: {said}");
    }

    /// The last counts, and the exit code.
    fn end(mut self) -> (Value, Option<i32>) {
        let event = self.event();
        (event, self.child.wait().unwrap().code())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A capture with these packets.
fn capture(path: &Path, packets: &[&str]) {
    let mut bytes = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 0x0001_0000, 1] {
        bytes.extend(word.to_le_bytes());
    }
    for packet in packets {
        let digits: String = packet.split_whitespace().collect();
        let packet: Vec<u8> = (0..digits.len())
            .step_by(2)
            .map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap())
            .collect();
        let len = packet.len() as u32;
        for word in [1, 0, len, len] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(packet);
    }
    fs::write(path, bytes).unwrap();
}

const ROUTED: &str =
    "020000000000 020000000099 0800 4500001c000000004011ae24c0a800010a010203 1388003500080000";
const LOST: &str = "020000000000 020000000099 0800 4500001c0000000040110e17c0a80001ac100001 1388003500080000";

#[test]
fn a_switch_between_captures() {
    let dir = tempfile::tempdir().unwrap();
    let name = |name: &str| dir.path().join(name).display().to_string();
    capture(&dir.path().join("a_in.pcap"), &[ROUTED, LOST, ROUTED]);
    capture(&dir.path().join("b_in.pcap"), &[]);
    let [a, b] = [format!("0@{}", name("a")), format!("1@file:{}", name("b"))];
    let entries = "examples/01-router/entries.txtpb";
    let args =
        ["--use-files", "0", "-i", &a, "--entries", entries, "--", "-i", &b, "examples/01-router/router.p4"];
    let (running, ready) = Running::start(dir.path(), &args);
    assert_eq!((&ready["ports"], &ready["program"]), (&json!(2), &json!("examples/01-router/router.p4")));
    running.text(&["wait-ready"]);
    let begin = Instant::now();
    while running.json(&["show", "totals"])["received"] != 3 {
        assert!(begin.elapsed() < Duration::from_secs(20), "packets do not arrive");
    }
    assert_eq!(
        running.text(&["show", "totals"]),
        "           3  received\n           0  copied\n           2  sent\n           0  to_controller\n           0  \
         queued\n           1  dropped: ingress_drop\n"
    );
    let ports = running.text(&["show", "ports"]);
    assert!(ports.starts_with("port  name"), "{ports}");
    running.text(&["add", "routes", "172.16.0.0/12", "set_next_hop(1)"]);
    let routes = running.text(&["show", "entries", "Router.routes"]);
    assert!(routes.contains("headers.ipv4.destination:172.16.0.0/12"), "{routes}");
    assert!(routes.contains("set_next_hop(next_hop:1)"), "{routes}");
    running.text(&["packet-out", LOST, "--port", "0"]);
    running.text(&["packet-out", "eth/ipv4(src=192.168.0.1, dst=172.16.0.1)/udp/zeros(10)", "--port", "0"]);
    running.fails(&["packet-out", "eth/ip"], 2, "the layers are eth");
    assert_eq!(running.json(&["show", "totals"])["sent"], 4);
    running.text(&["delete", "routes", "172.16.0.0/12"]);
    running.fails(&["delete", "routes", "172.16.0.0/12"], 1, "Router.routes");
    running.text(&["table_add", "routes", "set_next_hop", "172.16.0.0/12", "=>", "1"]);
    let routes = running.text(&["table_dump", "Router.routes"]);
    assert!(routes.contains("headers.ipv4.destination:172.16.0.0/12"), "{routes}");
    running.fails(&["table_add", "routes", "set_next_hop", "172.16.0.0/12"], 2, "write it in quotes");
    running.fails(&["table_add", "route", "drop", "1.2.3.4/32", "=>"], 2, "routes");
    running.fails(&["table_dmp", "routes"], 2, "did you mean `table_dump`?");
    running.text(&["mc_mgrp_create", "7"]);
    running.text(&["delete", "routes", "172.16.0.0/12"]);
    let warned = running.ctl(&["add", "routes", "172.16.0.1/12", "set_next_hop(1)"]);
    let warning = String::from_utf8_lossy(&warned.stderr).into_owned();
    assert!(warned.status.success() && warning.contains("bits behind the prefix of 12 bits"), "{warning}");
    running.text(&["delete", "routes", "172.16.0.0/12"]);
    running.fails(&["show", "meters", "nope"], 1, "nope");
    assert_eq!(running.json(&["show", "value-sets"]), json!([]));
    running.fails(&["add", "route", "1", "drop()"], 2, "did you mean `routes`");
    running.fails(&["replace", "tests/none.p4"], 4, "none.p4");
    running.fails(&["trace", "--match", "ip"], 2, "==");
    running.fails(&["trace", "--match", "nonsense.x==3"], 2, "no header has a field `nonsense.x`");
    running.fails(&["trace", "--match", "dropped==aborted", "--timeout", "0"], 1, "");
    running.text(&["replace", "examples/01-router/router.p4", "--keep-entries"]);
    assert_eq!(running.json(&["show", "entries"]).as_array().unwrap().len(), 3);
    running.text(&["mc-group", "1", "0", "1"]);
    assert_eq!(running.json(&["show", "pre"])[0]["replicas"][1]["port"], "1");
    running.text(&["shutdown"]);
    let (end, code) = running.end();
    assert_eq!(code, Some(0));
    assert_eq!(end["totals"]["balanced"], true, "{end}");
    assert_eq!((&end["totals"]["received"], &end["totals"]["sent"]), (&json!(5), &json!(4)));
    let sent = fs::metadata(dir.path().join("b_out.pcap")).unwrap().len();
    assert_eq!(sent, 24 + 3 * (16 + 42) + (16 + 52), "three packets of files and of digits, one of layers");
}

#[test]
fn a_switch_ends_when_it_is_told_to() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["--no-p4", "--nanolog", "ipc:///tmp/log.ipc", "--device-id", "3"];
    let (running, ready) = Running::start(dir.path(), &args);
    assert_eq!((&ready["program"], &ready["device_id"]), (&Value::Null, &json!(3)));
    running.fails(&["show", "tables"], 1, "no program");
    let killed = Command::new("kill").arg(running.child.id().to_string()).status().unwrap();
    assert!(killed.success());
    let (end, code) = running.end();
    assert_eq!((code, &end["event"]), (Some(0), &json!("end")));
    assert!(!dir.path().join("ctl").exists(), "the socket is gone");
}

#[test]
fn workers_wait_as_they_are_told_to() {
    let dir = tempfile::tempdir().unwrap();
    capture(&dir.path().join("a_in.pcap"), &[]);
    let port = format!("0@file:{}", dir.path().join("a").display());
    for wait in ["busy", "adaptive", "interrupt"] {
        let args = ["--no-p4", "--workers", "2", "--queues", "auto", "--wait", wait, "-i", port.as_str()];
        let (running, _) = Running::start(dir.path(), &args);
        let all_sleep = |workers: &Value| {
            workers.as_array().unwrap().iter().all(|worker| worker["sleeps"].as_u64() > Some(0))
        };
        let begin = Instant::now();
        let mut workers = running.json(&["show", "workers"]);
        while wait != "busy" && !all_sleep(&workers) {
            assert!(begin.elapsed() < Duration::from_secs(20), "{workers}");
            workers = running.json(&["show", "workers"]);
        }
        for worker in workers.as_array().unwrap() {
            assert_eq!((&worker["wait"], worker["sleeps"] == 0), (&json!(wait), wait == "busy"));
        }
        let queues = running.json(&["show", "queues"]);
        let rows: Vec<_> =
            queues.as_array().unwrap().iter().map(|of| (&of["queue"], &of["worker"])).collect();
        assert_eq!(rows, [(&json!(0), &json!(0))], "a capture has one queue");
        assert!(running.text(&["show", "workers"]).contains(wait));
        running.text(&["shutdown"]);
        assert_eq!(running.end().1, Some(0));
    }
}

#[test]
fn what_is_wrong_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("ctl").display().to_string();
    let broken = dir.path().join("broken.p4");
    fs::write(&broken, "control c(").unwrap();
    let broken = broken.display().to_string();
    let common = ["switch", "--metrics-addr", "off", "--ctl-socket", socket.as_str()];
    for (args, code, why) in [
        (&["-i", "veth0"][..], 2, "PORT@INTERFACE"),
        (&["--cpu-prot", "5"], 2, "--cpu-port"),
        (&["-i", "0@a", "-i", "0@b"], 2, "port 0 is there twice"),
        (&["-i", "0@a", "-i", "1@a"], 2, "a is there twice, as port 0 and 1"),
        (&["-i", "0@tap:a", "-i", "1@a"], 2, "twice"),
        (&["-i", "511@a"], 2, "port 511 cannot be used"),
        (
            &["-i", "512@lo", "examples/01-router/router.p4", "-O", "0"],
            2,
            "the largest port of this architecture is 511",
        ),
        (&["--cpu-port", "511"], 2, "--cpu-port and the drop port"),
        (&["-i", "0@nosuchinterface"], 4, "nosuchinterface"),
        (&["--cores", "100000"], 2, "core 100000"),
        (&["--queues", "many"], 2, "write a number of queues, 1 to 256, or auto"),
        (&["--queues", "2", "-i", "0@file:x"], 4, "port 0 (file:x) has one queue only, not 2"),
        (&["--wait", "never"], 2, "busy, adaptive, interrupt"),
        (&["--metrics-addr", "everywhere"], 2, "off"),
        (&["--no-p4", "examples/01-router/router.p4"], 2, "--no-p4"),
        (&[broken.as_str()], 3, "broken.p4"),
    ] {
        let output = siding().args(common).args(args).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        assert!(said.contains(why), "{args:?}: {said}");
    }
    let router = "examples/01-router/router.p4";
    for args in [
        &["run", router, "--pcap", "512=x.pcap"][..],
        &["run", router, "--pcap", "511=x.pcap"],
        &["trace", router, "--port", "511", "--packet", "00"],
        &["trace", router, "--port", "70000", "--packet", "00"],
    ] {
        let output = siding().args(args).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains("port"), "{args:?}: {said}");
    }
    let output = siding().args(["ctl", "--ctl-socket", &socket, "show", "ports"]).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&output.stderr).contains("siding switch"), "says how to start one");
}

#[test]
fn a_directory_of_somebody_else_gets_no_socket() {
    let dir = tempfile::tempdir().unwrap();
    let user = fs::metadata("/proc/self").map(|m| std::os::unix::fs::MetadataExt::uid(&m)).unwrap();
    let sockets = dir.path().join(format!("siding-{user}"));
    fs::create_dir(&sockets).unwrap();
    fs::set_permissions(&sockets, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let mut command = siding();
    command.env_remove("XDG_RUNTIME_DIR").env("TMPDIR", dir.path());
    let refused = command.args(["switch", "--no-p4", "--metrics-addr", "off"]).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(4), "{said}");
    assert!(said.contains("not a directory that only its owner, you, can write to"), "{said}");
    assert_eq!(fs::read_dir(&sockets).unwrap().count(), 0);
}

#[test]
fn a_switch_that_ends_in_a_request_is_told_apart_from_none() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("ctl");
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let ended = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        BufReader::new(&stream).read_line(&mut String::new()).unwrap();
    });
    let asked =
        siding().arg("ctl").arg("--ctl-socket").arg(&socket).args(["show", "ports"]).output().unwrap();
    let said = String::from_utf8_lossy(&asked.stderr);
    assert_eq!(asked.status.code(), Some(4), "{said}");
    assert!(said.contains("ended before it had answered"), "{said}");
    ended.join().unwrap();
}

fn terminate(child: &Child) {
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
}

/// A file with a script that can be run.
fn script(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
}

fn wait_for_file(path: &Path) {
    let begin = Instant::now();
    while !path.exists() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{} does not appear", path.display());
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_signal_ends_a_switch_that_compiles() {
    let dir = tempfile::tempdir().unwrap();
    let (compiler, begun) = (dir.path().join("slowcc"), dir.path().join("begun"));
    let text =
        format!("case \"$*\" in *--version*) echo slow 1;; *) : >{}; sleep 100;; esac", begun.display());
    script(&compiler, &text);
    let mut child = siding()
        .args(["switch", "--metrics-addr", "off", "--ctl-socket"])
        .arg(dir.path().join("ctl"))
        .arg("examples/01-router/router.p4")
        .env("CC", &compiler)
        .env("XDG_CACHE_HOME", dir.path().join("cache"))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_for_file(&begun);
    terminate(&child);
    assert_eq!(child.wait().unwrap().code(), Some(128 + 15));
}

/// A switch whose only worker hangs in an extern until `dir/go` is there.
fn hanging(dir: &Path, args: &[&str]) -> Running {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dataplane/tests/lost");
    let library = dir.join("hang.so");
    let made = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".into()))
        .args(["-shared", "-fPIC", "-I"])
        .args([&here.join("../../../../rt"), Path::new("-o"), &library, &here.join("hang.c")])
        .status()
        .unwrap();
    assert!(made.success());
    capture(&dir.join("a_in.pcap"), &["01070000"]);
    let [library, port, option, program] = [
        library.display().to_string(),
        format!("0@file:{}", dir.join("a").display()),
        format!("hang={}", dir.join("go").display()),
        here.join("hang.p4").display().to_string(),
    ];
    let common = ["--async", "inline", "--extern", &library, "--extern-option", &option, "-i", &port];
    let (running, _) = Running::start(dir, &[&common, args, &["--", &program]].concat());
    wait_for_file(&dir.join("go.awaited"));
    running
}

#[test]
fn a_switch_ends_though_a_worker_hangs() {
    for by_signal in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let running = hanging(dir.path(), &["--shutdown-timeout", "0.2"]);
        if by_signal {
            terminate(&running.child);
        } else {
            running.text(&["shutdown"]);
        }
        let (end, code) = running.end();
        assert_eq!((&end["event"], code), (&json!("end"), Some(1)), "{end}");
    }
}

#[test]
fn the_second_signal_ends_a_switch_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut running = hanging(dir.path(), &["--shutdown-timeout", "3600"]);
    // Signals that come at the same time count as one.
    while running.child.try_wait().unwrap().is_none() {
        terminate(&running.child);
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(running.child.wait().unwrap().code(), Some(128 + 15));
}

/// Packets are forwarded while the C compiler still runs; what they counted and what entries there were goes over.
#[test]
fn the_interpreter_serves_while_the_program_is_compiled() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let name = |name: &str| dir.path().join(name).display().to_string();
    capture(&path("a_in.pcap"), &[ROUTED, LOST, ROUTED]);
    capture(&path("b_in.pcap"), &[]);
    // A compiler that waits.
    script(
        &path("slow-cc"),
        &format!("#!/bin/sh\nwhile [ ! -e {} ]; do sleep 0.02; done\nexec cc \"$@\"\n", path("go").display()),
    );
    let (a, b) = (format!("0@file:{}", name("a")), format!("1@file:{}", name("b")));
    let mut child = siding()
        .args(["switch", "--json", "--metrics-addr", "off", "-O0", "--no-cache", "--ctl-socket"])
        .arg(path("ctl"))
        .args(["--cc", &name("slow-cc"), "-i", &a, "-i", &b])
        .args(["--entries", "examples/01-router/entries.txtpb", "examples/01-router/router.p4"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let mut running = Running { child, out, socket: path("ctl") };
    // A header of 24 bytes, and two packets of 42 with 16 more each.
    let is_written = || fs::metadata(path("b_out.pcap")).is_ok_and(|found| found.len() >= 24 + 2 * 58);
    while !is_written() {
        assert!(running.child.try_wait().unwrap().is_none(), "the switch has ended");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!path("go").exists() && !path("ctl").exists());
    fs::write(path("go"), "").unwrap();
    let mut events = Vec::new();
    while events.last().is_none_or(|event: &Value| event["event"] != "ready") {
        events.push(running.event());
    }
    let take_over = events.iter().find(|event| event["event"] == "take_over").unwrap();
    assert_eq!([&take_over["received"], &take_over["sent"], &take_over["dropped"]], [3, 2, 1]);
    assert_eq!(running.json(&["show", "entries"]).as_array().unwrap().len(), 3);
    let counts = running.json(&["show", "entries", "Router.routes"]);
    assert_eq!(counts[0]["packets"], 2, "{counts}");
    running.text(&["shutdown"]);
    let (end, code) = running.end();
    assert_eq!((end["event"].as_str(), code), (Some("end"), Some(0)));
}

/// A configuration file names the program, the ports and the entries; the command line wins.
#[test]
fn a_configuration_file_starts_a_switch() {
    let dir = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    capture(&dir.path().join("a_in.pcap"), &[]);
    let file = |text: &str| {
        let path = dir.path().join("switch.toml");
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let example = root.join("examples/01-router").display().to_string();
    let config = file(&format!(
        "program = \"{example}/router.p4\"\nentries = [\"{example}/entries.txtpb\"]\ndevice_id = 3\n\
         [ports]\n7 = \"file:{}/a\"\n",
        dir.path().display()
    ));
    let (running, ready) = Running::start(dir.path(), &["--config", &config, "--device-id", "4"]);
    assert_eq!([&ready["ports"], &ready["device_id"]], [1, 4]);
    assert_eq!(running.json(&["show", "entries"]).as_array().unwrap().len(), 3);
    assert_eq!(running.json(&["show", "ports"])[0]["port"], 7);
    running.text(&["shutdown"]);
    assert_eq!(running.end().1, Some(0));
    let wrong = siding().args(["switch", "--config", &file("\nworkres = 2\n")]).output().unwrap();
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert_eq!(wrong.status.code(), Some(2), "{said}");
    assert!(said.contains("switch.toml:2: `workres` is no option") && said.contains("`workers`?"), "{said}");
}

#[test]
fn nobody_waits_for_a_switch_that_has_ended() {
    let dir = tempfile::tempdir().unwrap();
    let mut ended = Command::new("true").spawn().unwrap();
    let pid = ended.id().to_string();
    ended.wait().unwrap();
    let socket = dir.path().join("ctl").display().to_string();
    let args = ["ctl", "--ctl-socket", &socket, "wait-ready", "--timeout", "3600", "--pid", &pid];
    let output = siding().args(args).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("the switch has ended"), "{said}");
}

#[test]
fn entries_are_kept_over_restarts() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("kept.txtpb");
    let shown = state.display().to_string();
    let program = "examples/01-router/router.p4";
    let args = ["--state", &shown, "--entries", "examples/01-router/entries.txtpb", program];
    let (running, _) = Running::start(dir.path(), &args);
    assert_eq!(std::fs::metadata(&state).unwrap().len(), 0);
    running.text(&["add", "routes", "172.16.0.0/12", "set_next_hop(1)"]);
    running.text(&["setdefault", "routes", "set_next_hop(1)"]);
    running.text(&["mc-group", "7", "1", "2"]);
    // The file is written while the switch runs, too.
    while std::fs::metadata(&state).unwrap().len() == 0 {
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut second = siding();
    second.args(["switch", "--metrics-addr", "off", "--ctl-socket"]).arg(dir.path().join("c2")).args(args);
    let second = second.output().unwrap();
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(second.status.code() == Some(4) && said.contains("another switch keeps its state"), "{said}");
    let before = (running.text(&["show", "entries"]), running.text(&["show", "pre"]));
    running.text(&["shutdown"]);
    assert_eq!(running.end().1, Some(0));
    let kept = std::fs::read_to_string(&state).unwrap();
    assert!(kept.contains("Router.routes") && kept.contains("172.16.0.0"), "{kept}");

    // The entries of --entries are in the file already.
    let (running, _) = Running::start(dir.path(), &args);
    assert_eq!((running.text(&["show", "entries"]), running.text(&["show", "pre"])), before);
    running.text(&["delete", "routes", "172.16.0.0/12"]);
    running.text(&["shutdown"]);
    assert_eq!(running.end().1, Some(0));
    let kept = std::fs::read_to_string(&state).unwrap();
    assert!(!kept.contains("172.16.0.0"), "{kept}");
    assert_eq!(std::fs::metadata(&state).unwrap().permissions().mode() & 0o777, 0o600);

    // The file does not take the entries of another program.
    let (running, _) = Running::start(dir.path(), &args);
    running.text(&["replace", "examples/02-l2-switch/l2_switch.p4"]);
    running.text(&["shutdown"]);
    assert_eq!(running.end().1, Some(0));
    assert_eq!(std::fs::read_to_string(&state).unwrap(), kept);
}

#[test]
fn packets_are_in_the_log_when_it_is_asked_for_them() {
    let dir = tempfile::tempdir().unwrap();
    capture(&dir.path().join("a_in.pcap"), &[]);
    let port = format!("0@file:{}", dir.path().join("a").display());
    let program = "examples/01-router/router.p4";
    let (mut running, _) = Running::start(dir.path(), &["-L", "debug", "-i", &port, program]);
    let (socket, is_over) = (running.socket.clone(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let mut ctl = siding();
                ctl.arg("ctl").arg("--ctl-socket").arg(&socket).args(["packet-out", "--port", "0", ROUTED]);
                let sent = ctl.output().unwrap();
                assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
            }
        });
        let event = running.event();
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(
            (&event["event"], &event["port"], &event["bytes"]),
            (&json!("packet"), &json!(0), &json!(42))
        );
        let summary = event["summary"].as_str().unwrap();
        assert!(summary.starts_with("dropped: Router.routes (router.p4:166) missed"), "{summary}");
    });
}

#[test]
fn a_damaged_state_stays_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("kept.txtpb");
    let start = |state: &Path| {
        let run = siding()
            .args(["switch", "--metrics-addr", "off", "-O", "0", "--ctl-socket"])
            .arg(dir.path().join("ctl"))
            .arg("--state")
            .arg(state)
            .arg("examples/01-router/router.p4")
            .output()
            .unwrap();
        (run.status.code(), String::from_utf8_lossy(&run.stderr).into_owned())
    };
    for (text, message) in [
        ("updates { entity { table_entry { table_id: \"Router.roads\" } } }", "Router.roads"),
        ("updates { entity {", "kept.txtpb"),
    ] {
        std::fs::write(&state, text).unwrap();
        let (code, errors) = start(&state);
        assert!(code != Some(0) && errors.contains(message), "{text}: {code:?} {errors}");
        assert_eq!(std::fs::read_to_string(&state).unwrap(), text);
    }
    let (code, errors) = start(&dir.path().join("kept.json"));
    assert!(code == Some(2) && errors.contains("must end with .txtpb"), "{errors}");
    let (code, errors) = start(&dir.path().join("none/kept.txtpb"));
    assert!(code == Some(2) && errors.contains("there is no directory"), "{errors}");
}
