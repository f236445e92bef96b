//! `siding model latency` from outside: figures, JSON, pictures, errors.

use super::{repository, text};
use packet_io::{LINK_TYPE_ETHERNET, Packet, PcapWriter};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn latency(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_siding"));
    command.args(["model", "latency"]).args(args).current_dir(repository()).output().unwrap()
}

fn json(args: &[&str], code: i32) -> Value {
    let output = latency(&[args, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn refused(args: &[&str], code: i32) -> String {
    let output = latency(args);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {stderr}");
    assert!(output.stdout.is_empty());
    stderr
}

/// A capture of packets of these lengths at these times.
fn capture(path: &Path, packets: &[(u64, u32)]) {
    let file = std::fs::File::create(path).unwrap();
    let mut writer = PcapWriter::new("capture", file, LINK_TYPE_ETHERNET).unwrap();
    for (at, bytes) in packets {
        let packet = Packet { original_len_bytes: *bytes, ..Packet::new(vec![0; 60]).at(1_000_000_000 + at) };
        writer.write(&packet).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn equal_gaps_have_the_bound_worked_out_by_hand() {
    let found = json(&["--cycles", "300", "--ghz", "3", "--poll-cycles", "30"], 0);
    // 10 ns of polling and 100 ns of work.
    assert_eq!(found["program_bound"]["delay_ns"], 110.0);
    assert_eq!(
        (found["mpps"].as_f64(), found["load"].as_f64(), found["sigma"].as_f64()),
        (Some(8.0), Some(80.0), Some(1.0))
    );
    assert!(found["machine_bound"].is_null());
    assert!(found["simulated"]["max_ns"].as_f64().unwrap() <= 110.0);
    // A stall of a microsecond: eight packets come meanwhile, and more while they are worked on.
    let found =
        json(&["--cycles", "300", "--ghz", "3", "--poll-cycles", "30", "--stall", "1", "--ring", "8"], 0);
    assert_eq!(found["machine_bound"]["ring_overflows"], true);
    assert_eq!(found["program_bound"]["ring_overflows"], false);
}

#[test]
fn overload_has_no_bound_and_loses_packets() {
    let output = latency(&["--cycles", "300", "--load", "125"]);
    let stdout = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stdout.contains("no bound exists") && stdout.contains("mean load of the core is 125 %"),
        "{stdout}"
    );
    assert!(stdout.contains("lost 2"), "{stdout}");
    assert!(stdout.contains("delays grow without end") && !stdout.contains("p50"), "{stdout}");
    let found = json(&["--cycles", "300", "--port", "1", "--packet", "1500"], 1);
    assert_eq!(
        (found["program_bound"]["limit"].as_str(), &found["program_bound"]["delay_ns"]),
        (Some("port"), &Value::Null)
    );
    assert_eq!((&found["overload"]["limit"], &found["overload"]["load"]), (&"port".into(), &8000.0.into()));
    let simulated = &found["simulated"];
    assert!(simulated["mean_ns"].is_null() && simulated["max_ns"].is_null(), "{found}");
    assert!(simulated["percentiles"][2]["ns"].is_null(), "{found}");
    // A queue with random arrivals is unstable at exactly 100 %, and a worker of blocks is overloaded before the core.
    let full = json(&["--cycles", "300", "--load", "100", "--arrivals", "poisson"], 1);
    assert_eq!(full["overload"]["limit"], "core");
    let blocks = json(&["--cycles", "300", "--extern-share", "50", "--extern-cycles", "5000"], 1);
    assert_eq!(blocks["overload"]["limit"], "offload workers");
    assert!(json(&["--cycles", "300", "--load", "99"], 0)["overload"].is_null());
}

#[test]
fn mixes_are_printed() {
    let said = |args: &[&str]| text(&latency(args).stdout);
    let two = said(&["--cycles", "200:0.9,1500:0.1", "--load", "20"]);
    assert!(two.starts_with("90 % of packets take 200 cycles, 10 % 1500.\n"), "{two}");
    assert!(!said(&["--cycles", "200", "--load", "20"]).contains(" % of packets"));
    let lengths = ["--cycles", "200", "--load", "20", "--packet", "64:0.75,1518:0.25"];
    let with_port = said(&[&lengths[..], &["--port", "100"]].concat());
    assert!(with_port.contains("75 % of packets have 64 bytes, 25 % 1518.\n"), "{with_port}");
    let without = said(&lengths);
    assert!(without.contains("note: --packet has no effect without --port"), "{without}");
    assert!(!without.contains("bytes, 25 %"), "{without}");
}

#[test]
fn poisson_traffic_has_a_mean_and_no_bound() {
    let found = json(
        &["--cycles", "300", "--ghz", "3", "--arrivals", "poisson", "--load", "50", "--poll-cycles", "30"],
        0,
    );
    assert!(found["program_bound"].is_null() && found["sigma"].is_null());
    // M/D/1 at half of the load waits half a service, and half a poll.
    assert_eq!(found["mean_wait_ns"], 55.0);
}

#[test]
fn captures_give_times_and_lengths() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("in.pcap");
    let packets: Vec<(u64, u32)> =
        (0..40).map(|i| (i / 4 * 1000, if i % 4 == 0 { 1500 } else { 64 })).collect();
    capture(&path, &packets);
    let name = path.to_str().unwrap();
    let found = json(&["--cycles", "300", "--ghz", "3", "--trace", name], 0);
    // 39 gaps in 9 microseconds, and four packets at a time.
    assert_eq!(found["mpps"], 4.33);
    assert!(found["sigma"].as_f64().unwrap() >= 4.0, "{found}");
    let slower = json(&["--cycles", "300", "--ghz", "3", "--trace", name, "--rate", "1"], 0);
    assert_eq!(slower["mpps"], 1.0);
    // The capture is cut, empty, or has one packet.
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 10]).unwrap();
    assert!(refused(&["--cycles", "300", "--trace", name], 4).contains("in.pcap"));
    capture(&path, &[]);
    assert!(refused(&["--cycles", "300", "--trace", name], 2).contains("at least two packets"));
    capture(&path, &[(5, 64), (5, 64)]);
    assert!(refused(&["--cycles", "300", "--trace", name], 2).contains("the same time"));
    capture(&path, &[(5, 64), (3, 64)]);
    assert!(refused(&["--cycles", "300", "--trace", name], 2).contains("order"));
    assert!(refused(&["--cycles", "300", "--trace", "no such file"], 4).contains("no such file"));
}

#[test]
fn numbers_that_make_no_sense_are_refused() {
    for (args, words) in [
        (&["--rate", "0"][..], "expected a number"),
        (&["--load", "0"], "expected a number"),
        (&["--packet", "0"], "expected a number"),
        (&["--packet", "64:0"], "`0` is no share"),
        (&["--packet", "64:7,1518:1"], "the shares add up to 8, and must add up to 1"),
        (&["--packet", "64:0.5,1518"], "`1518` has no share"),
        (&["--ring", "0"], "from 1 to 16777216"),
        (&["--burst", "0"], "from 1 to 4096"),
        (&["--port", "0"], "expected a number"),
        (&["--arrivals", "on-off:0"], "a burst has"),
        (&["--arrivals", "sometimes"], "expected cbr"),
        (&["--arrivals", "on-off:4:0.5", "--rate", "1"], "more slowly"),
        (&["--load", "50", "--rate", "1"], "cannot be used"),
        (&["--quick"], "--check"),
    ] {
        let said = refused(&[&["--cycles", "300"], args].concat(), 2);
        assert!(said.contains(words), "{args:?}: {said}");
    }
    assert!(refused(&["--cycles", "0"], 2).contains("expected a number"));
    assert!(refused(&["--cycles", "200:0.9,1500"], 2).contains("`1500` has no share"));
    assert!(refused(&["--cycles", "200:0.9,1500:0.2"], 2).contains("200:0.8182,1500:0.1818"));
    assert!(refused(&["--cycles", "nan"], 2).contains("expected a number"));
    assert!(refused(&[], 2).contains("--cycles"));
}

#[test]
fn delays_over_the_load_are_drawn() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("delays.svg");
    json(&["--cycles", "300", "--stall", "10", "--svg", path.to_str().unwrap()], 0);
    let svg = std::fs::read_to_string(&path).unwrap();
    assert!(svg.contains(">bound of the machine<") && svg.contains(">p99.99<"), "{svg}");
}

#[test]
fn blocks_of_offload_workers_are_in_the_delay() {
    let plain = json(&["--cycles", "300", "--load", "20"], 0);
    let with =
        json(&["--cycles", "300", "--load", "20", "--extern-share", "50", "--extern-cycles", "2000"], 0);
    let delay = |value: &Value| value["program_bound"]["delay_ns"].as_f64().unwrap();
    // The block and the round trip at 2.5 GHz.
    assert!(delay(&with) >= delay(&plain) + 920.0, "{with}");
    assert!(with["simulated"]["max_ns"].as_f64().unwrap() <= delay(&with), "{with}");
}
