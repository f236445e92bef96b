//! Benchmarks through real ports, as programs see them. They say little about speed here: everything happens once.

use serde_json::Value;
use std::process::{Command, Output};

fn bench(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_siding")).arg("bench").args(args).output().unwrap()
}

/// The report, or `None` where no networks can be made or no C compiler is there; with SIDING_REQUIRE_NET=1 that is a failure.
fn report(args: &[&str]) -> Option<Value> {
    let output = bench(&[args, &["--quick", "--runs", "1", "-O1", "--json"]].concat());
    let messages = String::from_utf8_lossy(&output.stderr);
    let lacks = ["cannot make a network namespace", "no C compiler was found", "ip link", "a core each"];
    if lacks.iter().any(|what| messages.contains(what)) && std::env::var_os("SIDING_REQUIRE_NET").is_none() {
        eprintln!("left out: {messages}");
        return None;
    }
    assert!(output.status.success(), "{args:?}: {messages}");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn programs_of_bench_live_do_what_they_say() {
    for program in ["l2", "router", "acl", "nat"] {
        // An odd number of rules: one more permits than denies.
        let args =
            ["live", "--program", program, "--entries", "25", "--trial", "0.05", "--only", "siding afxdp"];
        let Some(value) = report(&args) else { return };
        // A switch that forwards packets with wrong headers is not measured.
        assert_eq!(value["absent"], serde_json::json!([]), "{program}: {value}");
        assert_eq!((&value["program"], &value["figures"][0]["program"]), (&program.into(), &program.into()));
        assert_eq!(value["figures"].as_array().unwrap().len(), 1, "{value}");
        assert!(value["figures"][0]["packets_per_s"].as_f64().unwrap() > 0.0, "{value}");
    }
}

#[test]
fn the_kernel_forwards_beside_the_switch() {
    let Some(value) = report(&["live", "--trial", "0.05", "--only", "xdp forwarder", "--zero-loss"]) else {
        return;
    };
    assert_eq!(value["absent"], serde_json::json!([]), "{value}");
    assert!(value["figures"][0].as_object().unwrap().contains_key("zero_loss_packets_per_s"), "{value}");
}

#[test]
fn packets_circulate_without_a_generator() {
    let args = ["live", "--over", "memif", "--circulate", "--trial", "0.2", "--only", "siding memif"];
    let Some(value) = report(&[&args[..], &["--entries", "3,1000"]].concat()) else { return };
    assert_eq!(value["absent"], serde_json::json!([]), "{value}");
    assert_eq!(value["circulate"], true);
    let figures = value["figures"].as_array().unwrap();
    let entries: Vec<_> = figures.iter().filter_map(|figure| figure["entries"].as_u64()).collect();
    assert_eq!(entries, [3, 1000], "{value}");
    assert!(figures.iter().all(|figure| figure["packets_per_s"].as_f64().unwrap() > 0.0), "{value}");
}

#[test]
fn asynchronous_blocks_are_measured_over_ports_beside_memory() {
    let Some(value) = report(&["async", "--figure", "5", "--over", "veth", "--trial", "0.02"]) else {
        return;
    };
    let lines = value["lines"].as_array().unwrap();
    let works = |peer: &str| {
        let mut works: Vec<&str> = lines
            .iter()
            .filter(|line| line["peer"] == peer && line["size"] == 1)
            .map(|line| line["work"].as_str().unwrap())
            .collect();
        works.sort_unstable();
        works
    };
    let all = ["10000 cycles", "3000 cycles", "50 cycles", "no extern"];
    // On a busy machine a search may find no rate at which nothing is lost, and says so.
    let n_lost = value["absent"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|a| a.to_string().contains("at every rate"))
        .count();
    assert_eq!(works("siding over veth").len() + n_lost, all.len(), "{value}");
    assert!(n_lost > 0 || works("siding over memory") == all, "{value}");
    let notes = value["notes"].to_string();
    assert!(notes.contains("generator and sink on core") && notes.contains("RFC 2544"), "{notes}");
}

#[test]
fn options_that_do_not_fit_are_refused() {
    let refused: [(&[&str], &str); 8] = [
        (&["async", "--figure", "3", "--over", "veth"], "--over is for --figure 5 and --figure 6"),
        (&["async", "--figure", "5", "--trial", "1"], "--trial is for --over"),
        (&["async", "--figure", "5", "--over", "veth", "--trial", "0.001"], "it can be 0.02 to 600"),
        (&["async", "--over", "veth"], "--figure"),
        (&["live", "--program", "nat", "--only", "bmv2"], "siding afxdp, siding afpacket, ovs userspace"),
        (&["live", "--circulate"], "add --over memif"),
        (&["live", "--circulate", "--over", "memif", "--size", "imix"], "leave --size out"),
        (&["live", "--circulate", "--over", "memif", "--zero-loss"], "cannot be used with"),
    ];
    let has_two_cores = std::thread::available_parallelism().is_ok_and(|n| n.get() > 1);
    for (args, why) in refused.into_iter().filter(|(args, _)| has_two_cores || args[0] != "async") {
        let output = bench(args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(why), "{args:?}: {said}");
    }
    for args in [&["live", "--core", "1000000"], &["live", "--generator-core", "1000000"]] {
        let output = bench(args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("core 1000000: this process may use the cores 0"), "{said}");
        assert_eq!(output.status.code(), Some(2), "{said}");
    }
    // There are no cores behind the last one.
    let last = std::thread::available_parallelism().map_or(0, |n| n.get() - 1).to_string();
    let output = bench(&["live", "--workers", "16", "--core", &last, "--generator-core", "0"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains(&format!("--workers 16 needs 16 cores from core {last} on")), "{said}");
    assert_eq!(output.status.code(), Some(4), "{said}");
}
