//! `siding bench` of the fast path, as programs see it.

use std::process::Command;

#[test]
fn forwarding_is_measured_beside_hand_written_code() {
    let dir = tempfile::tempdir().unwrap();
    let svg = dir.path().join("forward.svg");
    let output = Command::new(env!("CARGO_BIN_EXE_siding"))
        .args(["bench", "forward", "--quick", "--json", "--runs", "3", "-O1", "--svg"])
        .arg(&svg)
        .env("SIDING_PEERS", dir.path())
        .output()
        .unwrap();
    let messages = String::from_utf8_lossy(&output.stderr);
    if messages.contains("no C compiler was found") {
        return;
    }
    assert!(output.status.success(), "{messages}");
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let peers = ["ceiling", "siding"]
        .map(|peer| value["lines"].as_array().unwrap().iter().filter(|line| line["peer"] == peer).count());
    // Two ways of the ceiling and one of the program, over few packets and over many.
    assert_eq!(peers, [4, 2], "{value}");
    let ratio = value["ratio_to_ceiling"][0].as_f64().unwrap();
    assert!(ratio > 0.0, "{value}");
    assert_eq!(value["goals"].as_array().unwrap().len(), 2);
    // The peer is not there, and that is said.
    assert!(value["absent"][0].as_str().unwrap().starts_with("dpdk_swx is not measured"), "{value}");
    assert!(std::fs::read_to_string(svg).unwrap().starts_with("<svg "));
}

#[test]
fn waits_for_another_core_are_measured_beside_contexts_of_the_c_library() {
    let output = Command::new(env!("CARGO_BIN_EXE_siding"))
        .args(["bench", "async", "--breakdown", "--quick", "--json", "--runs", "1"])
        .output()
        .unwrap();
    let messages = String::from_utf8_lossy(&output.stderr);
    if messages.contains("no C compiler was found") {
        return;
    }
    assert!(output.status.success(), "{messages}");
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    // All works for each number under way; what cannot be told apart on a busy machine is said.
    let mut works: Vec<&str> =
        value["lines"].as_array().unwrap().iter().map(|line| line["work"].as_str().unwrap()).collect();
    works.sort_unstable();
    works.dedup();
    let all = ["inline", "resume", "ring", "send", "serve", "suspend", "suspend, deparse, parse"];
    assert_eq!((works, value["lines"].as_array().unwrap().len()), (all.to_vec(), 16), "{value}");
    let n_compared = value["ucontext_over_siding"].as_array().map_or(0, Vec::len);
    assert_eq!(n_compared + value["absent"].as_array().unwrap().len(), 2, "{value}");
    assert_eq!(value["cycles_suspend_resume"].as_array().map_or(0, Vec::len), n_compared, "{value}");
    let context = value["lines"][0]["context_bytes"].as_u64().unwrap();
    assert!(context <= 64, "{context}");
}

#[test]
fn workers_lose_updates_unless_something_keeps_them_apart() {
    let output = Command::new(env!("CARGO_BIN_EXE_siding"))
        .args(["bench", "registers", "--quick", "--json", "--runs", "1", "--steps", "100"])
        .output()
        .unwrap();
    let messages = String::from_utf8_lossy(&output.stderr);
    if messages.contains("no C compiler was found") || messages.contains("two workers need a core each") {
        return;
    }
    assert!(output.status.success(), "{messages}");
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    // Two numbers of workers, four kinds of cells, five ways.
    let lines = value["lines"].as_array().unwrap();
    assert_eq!(lines.len(), 40, "{value}");
    let goals = value["goals"].as_array().unwrap();
    assert!(goals.len() == 4 && goals.iter().all(|goal| goal["met"] == true), "{value}");
    let simulated = |work: &str| {
        let is_it = |line: &&serde_json::Value| {
            line["work"] == work && line["workers"] == 2 && line["path"] == "plain"
        };
        lines.iter().find(is_it).unwrap()["simulated_lost"].as_f64().unwrap()
    };
    assert!(simulated("one cell") > simulated("16 cells") && simulated("16 cells") > 0.0, "{value}");
    assert_eq!(simulated("65536 cells, sharded"), 0.0);
}

/// The JSON of a figure of `bench control`; `None` without a C compiler.
fn control_figure(figure: &str, entries: &str) -> Option<serde_json::Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_siding"))
        .args(["bench", "control", "--figure", figure, "--quick", "--json", "--runs", "1"])
        .args(["--entries", entries, "-O1"])
        .output()
        .unwrap();
    let messages = String::from_utf8_lossy(&output.stderr);
    if messages.contains("no C compiler was found") {
        return None;
    }
    assert!(output.status.success(), "{messages}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn controllers_write_and_read_over_sockets() {
    let Some(value) = control_figure("plain", "300") else { return };
    let lines = value["lines"].as_array().unwrap();
    let of = |peer: &str| lines.iter().filter(|line| line["peer"] == peer).count();
    // Two transports, four batches, two numbers of requests at a time, four works.
    assert_eq!(of("siding"), 64, "{value}");
    // One transport and two batches, where it is installed.
    let has_bmv2 = of("bmv2") > 0;
    assert_eq!(of("bmv2"), if has_bmv2 { 16 } else { 0 }, "{value}");
    let is_counted = |line: &serde_json::Value| line["entries_per_second"].as_f64().is_some_and(|n| n > 0.0);
    assert!(lines.iter().all(is_counted), "{value}");
    assert_eq!(value["goals"].as_array().unwrap().len(), if has_bmv2 { 12 } else { 8 }, "{value}");
}

#[test]
fn controllers_write_columns() {
    for (figure, n_works, n_goals) in [("bulk", 4, 2), ("read", 6, 4)] {
        let Some(value) = control_figure(figure, "20000") else { return };
        let lines = value["lines"].as_array().unwrap();
        assert_eq!(lines.len(), 2 * n_works, "{value}");
        let is_counted =
            |line: &serde_json::Value| line["entries_per_second"].as_f64().is_some_and(|n| n > 0.0);
        assert!(lines.iter().all(is_counted), "{value}");
        assert_eq!(value["goals"].as_array().unwrap().len(), n_goals, "{value}");
    }
}

#[test]
fn options_are_for_their_figures() {
    for (options, why) in [
        (["--batch", "10"], "--batch is for --figure plain"),
        (["--svg", "chart.svg"], "--svg is for --figure plain and shm"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_siding"))
            .args(["bench", "control", "--figure", "bulk"])
            .args(options)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn updates_are_timed_with_and_without_load() {
    let Some(value) = control_figure("latency", "1") else { return };
    let lines = value["lines"].as_array().unwrap();
    assert_eq!(lines.len(), 4, "{value}");
    let times =
        |line: &serde_json::Value| ["p50_us", "p99_us", "p999_us"].map(|time| line[time].as_f64().unwrap());
    assert!(
        lines.iter().map(times).all(|[p50, p99, p999]| 0.0 < p50 && p50 <= p99 && p99 <= p999),
        "{value}"
    );
    let Some(value) = control_figure("interference", "20000") else { return };
    let lines = value["lines"].as_array().unwrap();
    // Four tables, three works.
    assert_eq!(lines.len(), 12, "{value}");
    let has_rates = |line: &serde_json::Value| {
        ["packets_per_second", "updates_per_second"]
            .iter()
            .all(|rate| line[rate].as_f64().is_some_and(|n| n > 0.0))
    };
    assert!(lines.iter().all(has_rates), "{value}");
}

#[test]
fn latency_is_that_of_all_packets_and_classes() {
    let dir = tempfile::tempdir().unwrap();
    let svg = dir.path().join("latency.svg");
    let output = Command::new(env!("CARGO_BIN_EXE_siding"))
        .args(["bench", "state", "--figure", "latency", "--quick", "--json", "-O1", "--svg"])
        .arg(&svg)
        .env("SIDING_PEERS", dir.path())
        .output()
        .unwrap();
    let messages = String::from_utf8_lossy(&output.stderr);
    if messages.contains("no C compiler was found") || messages.contains("need a core each") {
        return;
    }
    assert!(output.status.success(), "{messages}");
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let lines = value["lines"].as_array().unwrap();
    let of = |series: &str| lines.iter().filter(|line| line["series"] == series).collect::<Vec<_>>();
    let n_runs = |series: &str| of(series).iter().filter(|line| line["work"] == "run").count();
    // Two programs and two bursts: two lengths with two phases each; two rates; two loads.
    assert_eq!(["packets", "rates", "loads"].map(n_runs), [16, 8, 8], "{value}");
    for run in lines.iter().filter(|line| line["work"] == "run") {
        assert!(run["sent"].as_u64() >= run["received"].as_u64() && run["wrong"] == 0, "{run}");
        if run["series"] == "veth" {
            // Interfaces may lose frames.
            continue;
        }
        assert_eq!(run["sent"], run["received"], "{run}");
        assert!(run["learned"] == run["learned_expected"] && run["learned"].as_u64().unwrap() > 0, "{run}");
        let is_of_run = |line: &&serde_json::Value| {
            ["program", "series", "phase", "burst", "bytes", "one_in", "load"]
                .iter()
                .all(|key| line[*key] == run[*key])
        };
        let n = |class: &str| {
            let line = lines.iter().filter(is_of_run).find(|line| line["work"] == class);
            line.map_or(0, |line| line["size"].as_u64().unwrap())
        };
        // Each packet is of one class, and inserts are the entries.
        assert_eq!(n("insert") + n("hit") + n("plain"), run["sent"].as_u64().unwrap(), "{run}");
        assert_eq!(
            (n("insert"), n("mix")),
            (run["learned"].as_u64().unwrap(), n("insert") + n("hit")),
            "{run}"
        );
    }
    for line in lines.iter().filter(|line| line["ns"].is_array() && line["work"] != "run") {
        assert!(line["unmarked"].as_u64() <= line["size"].as_u64(), "{line}");
        let quantiles = line["ns_with_marked"].as_array().unwrap();
        assert!(quantiles.windows(2).all(|two| two[0].as_f64() <= two[1].as_f64()), "{line}");
    }
    let goals: Vec<(&str, u64)> = (value["goals"].as_array().unwrap().iter())
        .map(|goal| (goal["name"].as_str().unwrap(), goal["size"].as_u64().unwrap()))
        .collect();
    let names = [
        "insert_to_hit_address",
        "slowest_unmarked_us_address",
        "insert_to_hit_udp",
        "slowest_unmarked_us_udp",
    ];
    let expected: Vec<(&str, u64)> = names.iter().flat_map(|name| [(*name, 1), (*name, 32)]).collect();
    assert_eq!(goals, expected, "{value}");
    let absent = value["absent"].as_array().unwrap();
    assert!(absent[0].as_str().unwrap().starts_with("learn_latency is not measured"), "{value}");
    // Two phases, or a sentence where there are no namespaces.
    assert!(
        n_runs("veth") == 2 || absent[1].as_str().unwrap().starts_with("veth is not measured"),
        "{value}"
    );
    // Packets that add the entry miss once; a controller comes later, and hears of each station at least once.
    let learning = of("learning");
    assert_eq!(learning.len(), 4, "{value}");
    assert!(learning[0]["missed_max"] == 1.0 && learning[0]["digests_sent"] == 0, "{value}");
    for line in &learning[1..] {
        assert!(line["digests_sent"].as_u64() >= line["size"].as_u64(), "{line}");
        assert!(
            line["first_hit_us_p50"].as_f64().unwrap() >= line["delay_ms"].as_f64().unwrap() * 1e3,
            "{line}"
        );
    }
    let svg = std::fs::read_to_string(svg).unwrap();
    assert!(svg.starts_with("<svg ") && svg.matches("<g transform").count() == 12, "{svg}");
}

/// The verdicts of the applications of `examples/state` are those of the kernel, but for differences that are documented.
#[test]
fn applications_judge_packets_as_the_kernel_does() {
    for (app, n_reasons) in [("nat", 4), ("firewall", 3), ("lb", 3)] {
        let output = Command::new(env!("CARGO_BIN_EXE_siding"))
            .args(["bench", "state", "--app", app, "--peer", "kernel", "--flows", "1000"])
            .args(["--quick", "--json", "--runs", "1", "-O1"])
            .output()
            .unwrap();
        let messages = String::from_utf8_lossy(&output.stderr);
        if messages.contains("no C compiler was found") {
            return;
        }
        if output.status.code() == Some(4) {
            // Only the kernel may lack something if namespaces can be made.
            let may_skip =
                std::env::var_os("SIDING_REQUIRE_NET").is_none() || messages.contains("this kernel lacks");
            assert!(may_skip, "{messages}");
            println!("skipped: {messages}");
            return;
        }
        assert!(output.status.success(), "{app}: {messages}");
        let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let verdicts = &value["verdicts"];
        assert_eq!(verdicts["different"], serde_json::json!([]), "{app}");
        let count = |key: &str| verdicts[key].as_u64().unwrap();
        // Packets that pass, and others.
        assert!(
            count("packets") > 1000 && count("passed") > 0 && count("passed") < count("packets"),
            "{verdicts}"
        );
        // A reason without a difference is out of date.
        let meant = verdicts["meant"].as_array().unwrap();
        assert_eq!(meant.len(), n_reasons, "{app}: {meant:?}");
        let n_meant: usize = meant.iter().map(|reason| reason["packets"].as_array().unwrap().len()).sum();
        assert_eq!(count("equal") + n_meant as u64, count("packets"));
        let goals = value["goals"].as_array().unwrap();
        assert_eq!((goals[0]["name"].as_str(), &goals[0]["met"]), (Some("verdicts_equal"), &true.into()));
        let figures = value["figures"].as_array().unwrap();
        assert_eq!(figures.len(), 2, "{app}");
        for figure in figures {
            let lines = figure["lines"].as_array().unwrap();
            let is_counted =
                |line: &serde_json::Value| line["packets_per_second"].as_f64().is_some_and(|n| n > 0.0);
            assert!(lines.len() == 2 && lines.iter().all(is_counted), "{app}: {figure}");
        }
    }
}
