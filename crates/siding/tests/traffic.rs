//! `siding traffic` as a process.

use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn siding() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_siding"));
    command.arg("traffic").env("NO_COLOR", "1");
    command
}

fn run(args: &[&str]) -> Output {
    siding().args(args).output().unwrap()
}

fn lines(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"))).collect()
}

/// The summary of a run with `--json` that succeeds.
fn summary(args: &[&str]) -> Value {
    let output = run(&[args, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    lines(&output).pop().filter(|line| line["event"] == "summary").unwrap()
}

#[track_caller]
fn fails(args: &[&str], code: i32, why: &str) {
    let output = run(args);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
    assert!(said.contains(why), "{args:?}: {said}");
}

const HEADER: [u32; 6] = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 0x0001_0000, 1];

/// A capture of packets at these times in microseconds, of which the original had `more` bytes more.
fn write_capture(path: &Path, packets: &[(u32, &[u8], u32)]) {
    let mut bytes: Vec<u8> = HEADER.iter().flat_map(|word| word.to_le_bytes()).collect();
    for (at_us, packet, more) in packets {
        let len = packet.len() as u32;
        for word in [1, *at_us, len, len + more] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(*packet);
    }
    fs::write(path, bytes).unwrap();
}

/// The records of a capture, each with its header.
fn records(path: &Path) -> Vec<Vec<u8>> {
    let bytes = fs::read(path).unwrap();
    let (mut at, mut records) = (24, Vec::new());
    while at < bytes.len() {
        let len = u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap()) as usize;
        records.push(bytes[at..at + 16 + len].to_vec());
        at += 16 + len;
    }
    records
}

/// The name of a port of captures in the directory, with nothing to receive.
fn file_port(dir: &Path, name: &str) -> String {
    write_capture(&dir.join(format!("{name}_in.pcap")), &[]);
    format!("file:{}", dir.join(name).display())
}

#[test]
fn a_generator_alone() {
    let result = summary(&["--tx", "3@null:", "--count", "1000", "--size", "imix", "--flows", "7"]);
    assert_eq!(result["totals"]["n_sent"], 1000);
    assert_eq!(
        (&result["ports"][0]["port"], &result["ports"][0]["sent"]["n_refused"]),
        (&3.into(), &0.into())
    );
    assert_eq!(result["ports"][0]["received"], Value::Null);
    let output = run(&["--tx", "null:", "--count", "12345"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("12,345 at null:") && text.contains("stalls"), "{text}");
}

#[test]
fn a_sink_counts_what_a_generator_wrote() {
    let dir = tempfile::tempdir().unwrap();
    let port = file_port(dir.path(), "a");
    let sent =
        summary(&["--tx", &port, "--count", "100", "--flows", "10", "--size", "64,200", "--stream", "5"]);
    assert_eq!(sent["totals"]["n_sent"], 100);
    let written = records(&dir.path().join("a_out.pcap"));
    assert_eq!(written.len(), 100);
    // Frames without their check sequence.
    assert_eq!((written[0].len(), written[1].len()), (16 + 60, 16 + 196));

    let received = |name: &str, records: &[Vec<u8>], more: &[&str]| {
        let port = file_port(dir.path(), name);
        let input = dir.path().join(format!("{name}_in.pcap"));
        let header = fs::read(dir.path().join("a_out.pcap")).unwrap()[..24].to_vec();
        fs::write(&input, [header, records.concat()].concat()).unwrap();
        run(&[&["--rx", &port, "--json"], more].concat())
    };
    let all = lines(&received("b", &written, &["--fail-on-loss", "--check-checksums"])).pop().unwrap();
    assert_eq!((&all["totals"]["n_received"], &all["totals"]["n_lost"]), (&100.into(), &0.into()));
    assert_eq!((&all["totals"]["n_corrupted"], &all["totals"]["n_wrong_checksums"]), (&0.into(), &0.into()));
    let stream = &all["ports"][0]["received"]["streams"][0];
    assert_eq!((&stream["stream"], &stream["flows"]["n_flows"]), (&5.into(), &10.into()));
    assert_eq!(stream["latency"]["n"], 100);

    let mut others = written.clone();
    others.swap(10, 11);
    others.remove(50);
    others.push(written[20].clone());
    let output = received("c", &others, &["--fail-on-loss"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("error: 1 packet was lost"));
    let totals = &lines(&output).pop().unwrap()["totals"];
    assert_eq!(
        (&totals["n_lost"], &totals["n_duplicates"], &totals["n_reordered"]),
        (&1.into(), &1.into(), &1.into())
    );

    let nothing = received("d", &[], &[]);
    assert_eq!(nothing.status.code(), Some(0));
    let said = String::from_utf8_lossy(&nothing.stderr);
    assert!(said.contains("nothing arrived") && said.contains("--dst-mac"), "{said}");
}

#[test]
fn a_signal_ends_it_with_the_summary() {
    let mut child =
        siding().args(["--tx", "null:", "--rate", "1000", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    let progress: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&progress["event"], &progress["ports"][0]["name"]), (&"progress".into(), &"null:".into()));
    let kill = format!("kill -INT {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    let last = out.lines().last().unwrap().unwrap();
    let summary: Value = serde_json::from_str(&last).unwrap();
    assert_eq!(summary["event"], "summary");
    assert!(summary["totals"]["n_sent"].as_u64().unwrap() > 0);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_capture_is_sent_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("x.pcap");
    let packets: Vec<Vec<u8>> = (0..5u8).map(|n| vec![n; 60 + usize::from(n)]).collect();
    let timed: Vec<(u32, &[u8], u32)> =
        (0u32..).zip(&packets).map(|(n, p)| (1000 * n, p.as_slice(), 0)).collect();
    write_capture(&input, &timed);
    let port = file_port(dir.path(), "a");
    let file = input.display().to_string();
    for more in [&["--speed", "3"][..], &["--rate", "100k"], &["--rate", "max"], &["--rate", "10Mbps"]] {
        let result = summary(&[&["replay", &file, "--tx", &port, "--loop", "2"], more].concat());
        assert_eq!(result["totals"]["n_sent"], 10);
        let sent: Vec<Vec<u8>> =
            records(&dir.path().join("a_out.pcap")).into_iter().map(|record| record[16..].to_vec()).collect();
        assert_eq!(sent, [packets.clone(), packets.clone()].concat(), "{more:?}");
    }
}

#[test]
fn what_cannot_be_done_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let packet = [7u8; 60];
    write_capture(&dir.path().join("cut.pcap"), &[(0, &packet, 0), (1, &packet, 40)]);
    let mut damaged = fs::read(path("cut.pcap")).unwrap();
    damaged.truncate(damaged.len() - 10);
    fs::write(path("damaged.pcap"), damaged).unwrap();
    write_capture(&dir.path().join("empty.pcap"), &[]);
    let null = ["--tx", "null:", "--count", "1"];
    let with = |more: &[&'static str]| [&null[..], more].concat();

    fails(&[], 2, "name a port: --tx INTERFACE sends");
    fails(&["--tx", "nosuch0", "--count", "1"], 4, "there is no interface `nosuch0`");
    fails(&["--tx", "x@veth0"], 2, "`x` is no port number");
    fails(&with(&["--rate", "0"]), 2, "a rate of zero sends nothing");
    fails(&with(&["--rate", "10Gb"]), 2, "is no unit of a rate");
    fails(
        &with(&["--size", "60"]),
        2,
        "frames of 60 bytes are too short: UDP over IPv4 with sequence number and time needs 64",
    );
    fails(
        &with(&["--size", "64", "--ipv6", "--tcp"]),
        2,
        "TCP over IPv6 with sequence number and time needs 96 bytes",
    );
    fails(&with(&["--size", "64", "--vlan", "9"]), 2, "needs 68 bytes");
    fails(&with(&["--size", "9300"]), 2, "the limit is 9220");
    fails(&with(&["--flows", "9", "--src-port", "1-2", "--src-ip", "10.0.0.1"]), 2, "there can be 1 to 2");
    fails(&with(&["--dst-ip", "10.0.0.9-10.0.0.1"]), 2, "above its end");
    fails(&with(&["--dst-ip", "10.0.0.9", "--src-ip", "2001:2::9"]), 2, "different IP versions");
    fails(&with(&["--order", "random"]), 2, "in-turn, uniform, zipf");
    fails(&with(&["--duration", "10days"]), 2, "`days` is no unit of time");
    fails(&with(&["--cores", "4096"]), 4, "core 4096 is not for this process");
    // Before it is known that there is no such interface.
    fails(&["--tx", "nosuch0", "--cores", "4096"], 4, "core 4096 is not for this process");
    fails(&["--tx", "null:", "--bidirectional"], 2, "--rx");
    fails(&["--tx", "null:", "--from", &path("none.pcap")], 4, "none.pcap: No such file");
    fails(
        &["--tx", "null:", "--from", &path("cut.pcap")],
        2,
        "none of its 2 packets is a whole UDP or TCP packet",
    );
    fails(&["replay", &path("cut.pcap")], 2, "name the port to send from");
    fails(
        &["replay", &path("cut.pcap"), "--tx", "null:"],
        2,
        "packet 2 was cut: the capture has 60 of its 100 bytes; --skip-cut",
    );
    let damaged = ["replay", &path("damaged.pcap"), "--tx", "null:"];
    fails(&damaged, 4, "the file ends inside a packet");
    fails(&damaged, 4, "--skip-cut sends the packets before it");
    fails(&["replay", &path("empty.pcap"), "--tx", "null:"], 2, "it has no packets");
    fails(&["replay", &path("cut.pcap"), "--tx", "null:", "--speed", "0"], 2, "expected a number");
    fails(&["replay", &path("cut.pcap"), "--tx", "null:", "--write", "x.pcap"], 2, "--rx");
    fails(&["search", "--tx", "null:"], 2, "name both ports");
    fails(&["search", "--tx", "null:", "--rx", "null:", "--sizes", "63"], 2, "too short");
    let skipped = summary(&["replay", &path("cut.pcap"), "--tx", "null:", "--skip-cut"]);
    assert_eq!(skipped["totals"]["n_sent"], 1);
    // The second packet is cut by the end of the file.
    let skipped = summary(&["replay", &path("damaged.pcap"), "--tx", "null:", "--skip-cut"]);
    assert_eq!(skipped["totals"]["n_sent"], 1);
    fails(&["replay", &path("empty.pcap"), "--tx", "null:", "--skip-cut"], 2, "it has no packets");
    fails(
        &["replay", &path("cut.pcap"), "--tx", "null:", "--rate", "0"],
        2,
        "a rate of zero sends nothing; write",
    );
}

#[test]
fn a_search_without_a_way_back_finds_no_rate() {
    let dir = tempfile::tempdir().unwrap();
    let report = dir.path().join("report.md");
    let output = run(&[
        "search",
        "--tx",
        "null:",
        "--rx",
        &file_port(dir.path(), "b"),
        "--sizes",
        "64,imix",
        "--trial",
        "10ms",
        "--drain",
        "10ms",
        "--resolution",
        "50%",
        "--max-rate",
        "10k",
        "--json",
        "--markdown",
        &report.display().to_string(),
    ]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let points: Vec<Value> = lines(&output).into_iter().filter(|line| line["event"] == "point").collect();
    assert_eq!(points.len(), 2);
    assert_eq!(
        (&points[1]["point"]["sizes"], &points[1]["point"]["packets_per_s"]),
        (&"IMIX".into(), &Value::Null)
    );
    let trials = points[0]["point"]["trials"].as_array().unwrap();
    assert!(
        trials
            .iter()
            .all(|trial| trial["has_passed"] == false && trial["totals"]["stalls"]["n_stalls"].is_u64())
    );
    let text = fs::read_to_string(report).unwrap();
    assert!(text.starts_with("# Throughput") && text.contains("nothing arrived"), "{text}");
    assert!(text.contains("| processor |") && lines(&output).iter().any(|line| line["event"] == "machine"));
}
