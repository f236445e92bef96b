//! `siding sim` from outside: figures, traces, programs, errors. Points files are in `sweeps.rs`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn sim_in(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_siding")).arg("sim").args(args).current_dir(dir).output().unwrap()
}

fn sim(args: &[&str]) -> Output {
    sim_in(&repository(), args)
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn json(output: &Output) -> serde_json::Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The figure of a series at a number of cycles.
fn at(figure: &serde_json::Value, series: &str, x: f64) -> f64 {
    let series = figure["series"].as_array().unwrap().iter().find(|s| s["name"] == series).unwrap();
    let points = series["points"].as_array().unwrap();
    points.iter().find(|point| point[0] == x).unwrap()[1].as_f64().unwrap()
}

#[test]
fn figures_have_the_published_shape() {
    let dir = tempfile::tempdir().unwrap();
    let svg = dir.path().join("figure.svg");
    let sizes = json(&sim(&["--figure", "1a", "--json"]));
    let last = sizes["series"][5]["points"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((last[0].as_f64(), last[1].as_f64()), (Some(1500.0), Some(1.0)));

    let hazards = json(&sim(&["--figure", "1b", "--json", "-n", "50000", "--svg", svg.to_str().unwrap()]));
    assert!(at(&hazards, "alpha = 1", 19.0) <= 5.1, "{hazards}");
    assert!(at(&hazards, "alpha = 0", 2.0) > 99.9 && at(&hazards, "alpha = 0", 30.0) > 99.9);
    assert!(std::fs::read_to_string(svg).unwrap().starts_with("<svg "));

    let args = ["--figure", "1b", "--json", "-n", "50000", "--key", "5-tuple", "--cycles", "20"];
    let same = at(&json(&sim(&args)), "alpha = 1", 20.0);
    assert!(same > 0.4 && same < 1.0, "{same}");

    let lock = json(&sim(&["--figure", "1c", "--json", "-n", "50000"]));
    assert!(at(&lock, "alpha = 1", 10.0) > 0.998 && at(&lock, "alpha = 1", 12.0) < 0.9);
    assert!(at(&lock, "alpha = 0.2", 3.0) > 0.998 && at(&lock, "alpha = 0.2", 4.0) < 0.88);

    let flow = json(&sim(&["--figure", "flow", "--json", "-n", "50000", "--cycles", "10,11,16"]));
    assert!(at(&flow, "global lock", 10.0) >= 0.998);
    assert!((at(&flow, "global lock", 11.0) - 0.93).abs() < 0.01, "{flow}");
    assert!((at(&flow, "global lock", 16.0) - 0.64).abs() < 0.01);
    assert!(at(&flow, "5-tuple, Q = 16, W = 16", 16.0) > 0.999);
}

/// A capture of TCP packets: lengths on the wire, times in ns.
fn capture(packets: &[(u32, u64)]) -> Vec<u8> {
    let mut file = Vec::new();
    file.extend(0xa1b2_3c4du32.to_le_bytes());
    file.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0]);
    for (len_bytes, time_ns) in packets {
        let mut frame =
            vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0];
        frame.extend([10, 0, 0, 1, 10, 0, 0, 2, 0x12, 0x34, 0, 80]);
        frame.resize(54, 0);
        let numbers = [(time_ns / 1_000_000_000) as u32, (time_ns % 1_000_000_000) as u32, 54, *len_bytes];
        numbers.iter().for_each(|number| file.extend(number.to_le_bytes()));
        file.extend(frame);
    }
    file
}

#[test]
fn traces_are_simulated_by_their_lengths_and_times() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("t.pcap"), capture(&[(1500, 1000), (64, 1005), (64, 1021)])).unwrap();
    let args = ["--trace", "t.pcap", "--cycles", "5", "--policy", "none", "--json"];
    let result = |more: &[&str]| {
        let all: Vec<&str> = args.iter().chain(more).copied().collect();
        json(&sim_in(dir.path(), &all))["points"][0]["result"].clone()
    };
    // 19, 1 and 1 cycles on the line: arrived in cycles 19, 20, 21, of one flow.
    let back_to_back = result(&[]);
    assert_eq!(
        (back_to_back["input_cycles"].as_u64(), back_to_back["hazards"].as_u64()),
        (Some(21), Some(2))
    );
    assert_eq!(back_to_back["same_key_hazards"], 2);
    // In their own times, of 21 ns for 21 cycles: in 19, 20 and 22.
    let own_times = result(&["--trace-times"]);
    assert_eq!((own_times["input_cycles"].as_u64(), own_times["hazards"].as_u64()), (Some(22), Some(2)));
    // Half as busy, they are twice as far apart: in 19, 20 and 43.
    let half = result(&["--trace-times", "--utilisation", "0.5"]);
    assert_eq!((half["input_cycles"].as_u64(), half["hazards"].as_u64()), (Some(43), Some(1)));
}

#[test]
fn damaged_traces_and_senseless_switches_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let whole = capture(&[(100, 5000), (100, 6000)]);
    std::fs::write(dir.path().join("cut.pcap"), &whole[..whole.len() - 1]).unwrap();
    std::fs::write(dir.path().join("back.pcap"), capture(&[(100, 6000), (100, 5000)])).unwrap();
    std::fs::write(dir.path().join("empty.pcap"), capture(&[])).unwrap();
    // A packet of which nothing was captured, and which had no length either.
    let mut zero = whole[..94].to_vec();
    zero.extend([0, 0, 0, 0, 0x70, 0x17, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    std::fs::write(dir.path().join("zero.pcap"), zero).unwrap();
    let mut wlan = whole.clone();
    wlan[20] = 105;
    std::fs::write(dir.path().join("wlan.pcap"), wlan).unwrap();
    std::fs::write(dir.path().join("zero-sizes"), "0 0.5\n1500 1\n").unwrap();
    let mut huge = whole.clone();
    huge[94 - 62..94 - 58].copy_from_slice(&u32::MAX.to_le_bytes());
    std::fs::write(dir.path().join("huge.pcap"), huge).unwrap();
    // A section header of pcapng, and the beginning of a block.
    let mut block = 28u32.to_le_bytes().to_vec();
    block.extend(0x1a2b_3c4du32.to_le_bytes());
    block.extend([1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 28, 0, 0, 0, 6, 0, 0, 0]);
    let pcapng = [[0x0a, 0x0d, 0x0d, 0x0a].as_slice(), &block].concat();
    std::fs::write(dir.path().join("cut.pcapng"), pcapng).unwrap();
    std::fs::write(dir.path().join("noise.pcap"), [0x17; 100]).unwrap();
    std::fs::write(dir.path().join("sizes"), "64 0.5\n1500 0.9\n").unwrap();
    std::fs::write(dir.path().join("costs"), "multply = 3\n").unwrap();
    std::fs::write(dir.path().join("state"), "something else\n").unwrap();
    let cases: &[(&[&str], i32, &str)] = &[
        (
            &["--trace", "cut.pcap"],
            4,
            "error: cut.pcap: byte 94: the file ends inside a packet: expected 70 bytes, found 69\n",
        ),
        (
            &["--trace", "back.pcap"],
            4,
            "error: back.pcap: packet 2 is 1000 ns earlier than the one before it; a trace has to be in the order of \
             time (`reordercap` of Wireshark sorts one)\n",
        ),
        (
            &["--trace", "huge.pcap"],
            4,
            "error: huge.pcap: byte 24: a packet claims 4294967295 bytes; expected at most 1048576\n",
        ),
        (
            &["--trace", "cut.pcapng"],
            4,
            "error: cut.pcapng: byte 28: the file ends inside the header of a block: expected 12 bytes, found 4\n",
        ),
        (&["--trace", "empty.pcap"], 4, "error: empty.pcap: there is no packet in it\n"),
        (
            &["--trace", "noise.pcap"],
            4,
            "error: noise.pcap: byte 0: not a capture: found 17 17 17 17, expected the magic number of pcap (a1 b2 c3 \
             d4, a1 b2 3c 4d or either reversed) or pcapng (0a 0d 0d 0a)\n",
        ),
        (&["--trace", "none.pcap"], 4, "error: none.pcap: No such file or directory\n"),
        (&["--cycles", "0"], 2, "error: cycles = 0: expected a number from 1 to 65536\n"),
        (&["--cycles", "5", "--queues", "0"], 2, "error: queues = 0: expected a number from 1 to 65536\n"),
        (&["--cycles", "5", "--locks", "0"], 2, "error: locks = 0: expected a number from 1 to 1048576\n"),
        (
            &["--cycles", "5", "--queue-capacity", "0"],
            2,
            "error: queue capacity = 0: expected a number from 1 to 1048576\n",
        ),
        (&["--chunk-bytes", "0"], 2, "error: chunk = 0: expected a number from 1 to 65536\n"),
        (
            &["--alpha", "1.5"],
            2,
            "error: alpha = 1.5: expected a number from 0 (all packets minimal) to 1 (as they are)\n",
        ),
        (&["--utilisation", "0"], 2, "error: a utilisation of 0: expected more than 0 and at most 1\n"),
        (&["--sizes", "sizes"], 2, "error: sizes: the last share is 0.9; expected 1 (or 100, in percent)\n"),
        (&["--trace", "zero.pcap"], 4, "error: zero.pcap: packet 2 has a length of 0 bytes\n"),
        (
            &["--trace", "wlan.pcap"],
            4,
            "error: wlan.pcap: packet 1 is of link type 105; expected Ethernet (1) or raw IP (101, 228, 229)\n",
        ),
        (
            &["--sizes", "zero-sizes"],
            2,
            "error: zero-sizes: line 1: a packet of 0 bytes; expected from 1 to 65535\n",
        ),
        (
            &["--profile", "fixed:0"],
            2,
            "error: invalid value 'fixed:0' for '--profile <NAME>': `fixed:0` is no profile; expected backbone, facebook, \
             sj12, mawi, uni1, uni2, imix, or a length as fixed:64 (1 to 65535 bytes)\n\nFor more information, try \
             '--help'.\n",
        ),
        (&["--trains", "1.5"], 2, "error: --trains 1.5: expected a chance from 0 to below 1\n"),
        (&["--size-runs", "1"], 2, "error: --size-runs 1: expected a chance from 0 to below 1\n"),
        (&["--size-runs", "-0.1"], 2, "error: --size-runs -0.1: expected a chance from 0 to below 1\n"),
        (&["--zipf", "11"], 2, "error: --zipf 11: expected a number from 0 to 10\n"),
        (&["--flows", "0"], 2, "error: --flows 0: expected a number from 1 to 4194304\n"),
        (&["--read-only", "1.5"], 2, "error: --read-only 1.5: expected a share from 0 to 1\n"),
        (&["--window", "0"], 2, "error: --window 0: expected 1000 packets or more\n"),
        (
            &["--window", "3000", "-n", "2000"],
            2,
            "error: --window 3000: there are only 2000 packets, fewer than a window has\n",
        ),
        (
            &["--budget", "2"],
            2,
            "error: invalid value '2' for '--budget <LOSS,...>': expected a share of the packets from 0 to below 1, or in \
             percent, as 0.1%\n\nFor more information, try '--help'.\n",
        ),
        (
            &["--budget", "1%", "--policy", "none"],
            2,
            "error: --budget: without a lock no packet is lost; expected --policy global-lock or per-flow-lock\n",
        ),
        (&["--mix", "3"], 2, "error: --mix 3: expected cycles and a weight, as 3:0.7\n"),
        (&["--points", "state", "--cycles", "2"], 2, "error: state: this is not a points file\n"),
    ];
    for (args, code, message) in cases {
        let output = sim_in(dir.path(), args);
        assert_eq!(output.status.code(), Some(*code), "{args:?}: {}", stderr(&output));
        assert_eq!(stderr(&output), *message, "{args:?}");
        assert!(output.stdout.is_empty(), "{args:?}");
    }
    let costs = sim_in(dir.path(), &["--costs", "costs"]);
    assert_eq!(costs.status.code(), Some(2));
    assert!(stderr(&costs).starts_with("error: costs: line 1: `multply` is no operation; expected one of "));
}

#[test]
fn readers_need_no_lock() {
    let throughput = |read_only: &str| {
        let args =
            ["--cycles", "20", "--policy", "global-lock", "-n", "20000", "--json", "--read-only", read_only];
        json(&sim(&args))["points"][0]["result"]["throughput"].as_f64().unwrap()
    };
    assert!(throughput("0") < 0.6 && throughput("0.9") > 0.99);
}

/// Every program of the examples, with what its slowest action is.
#[test]
fn examples_are_explained_and_simulated() {
    let of = |name: &str| {
        let path = format!("examples/07-stateful-actions/{name}.p4");
        let value = json(&sim(&[&path, "-n", "20000", "--json"]));
        let actions = value["program"]["actions"].as_array().unwrap().clone();
        let text = sim(&[&path, "--explain"]);
        assert!(text.status.success() && !text.stdout.is_empty());
        let n_runs = value["runs"].as_array().unwrap().len();
        let mut found: Vec<(String, u64, Option<String>, String)> = actions
            .iter()
            .map(|action| {
                let names: Vec<&str> =
                    action["state"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
                let atom = action["atom"].as_str().map(str::to_string);
                let key = action["key"].as_str().unwrap().to_string();
                (names.join(" "), action["cycles"].as_u64().unwrap(), atom, key)
            })
            .collect();
        found.sort();
        (found, n_runs)
    };
    let action = |names: &str, cycles, atom: Option<&str>, key: &str| {
        (names.to_string(), cycles, atom.map(str::to_string), key.to_string())
    };
    assert_eq!(of("packet_counter"), (vec![action("Count.counts", 1, Some("read-add-write"), "5-tuple")], 0));
    assert_eq!(
        of("flowlet"),
        (
            vec![
                action("Balance.last_seen", 1, Some("read/write"), "5-tuple"),
                action("Balance.ways", 1, Some("predicated read-add-write"), "5-tuple"),
            ],
            0
        )
    );
    assert_eq!(
        of("token_bucket"),
        (
            vec![
                action("Limit.bytes_left", 5, None, "5-tuple"),
                action("Limit.last_refill", 1, Some("read/write"), "5-tuple"),
            ],
            1
        )
    );
    assert_eq!(of("red"), (vec![action("DropEarly.averages", 4, None, "global")], 1));
    let (codel, n_runs) = of("codel");
    assert_eq!(codel.len(), 1);
    assert!(codel[0].1 > 10 && codel[0].2.is_none() && n_runs == 1, "{codel:?}");
    // What is 1 cycle of the flow and 1 of all is 2 of all.
    assert_eq!(
        of("largest_flow"),
        (
            vec![action("Count.bytes_of_flow Count.largest", 2, Some("predicated read-add-write"), "global")],
            1
        )
    );
    // Nothing else lies there.
    let n_programs = std::fs::read_dir(repository().join("examples/07-stateful-actions"))
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|suffix| suffix == "p4"))
        .count();
    assert_eq!(n_programs, 6);
}

/// What only one of several ways does is not counted twice; what one way does twice is.
#[test]
fn ways_that_exclude_each_other_do_not_add_up() {
    let dir = tempfile::tempdir().unwrap();
    let program = |code: &str| {
        format!(
            "#include <core.p4>\n#include <v1model.p4>\nheader H {{ bit<32> a; bit<32> b; }}\nstruct Hs {{ H h; }}\nstruct M {{}}\n\
             parser P(packet_in p, out Hs hs, inout M m, inout standard_metadata_t s) {{\n\
             state start {{ p.extract(hs.h); transition accept; }} }}\n\
             control V(inout Hs hs, inout M m) {{ apply {{}} }}\n\
             control I(inout Hs hs, inout M m, inout standard_metadata_t s) {{\n\
             register<bit<32>>(1) r; counter(1, CounterType.packets) c; bit<32> x;\n\
             action add(bit<32> n) {{ r.read(x, 0); r.write(0, x + n); c.count(0); }}\n\
             apply {{ {code} }} }}\n\
             control E(inout Hs hs, inout M m, inout standard_metadata_t s) {{ apply {{}} }}\n\
             control D(packet_out p, in Hs hs) {{ apply {{ p.emit(hs.h); }} }}\n\
             V1Switch(P(), V(), I(), E(), V(), D()) main;\n"
        )
    };
    let cycles = |code: &str| {
        std::fs::write(dir.path().join("p.p4"), program(code)).unwrap();
        let value = json(&sim_in(dir.path(), &["p.p4", "--explain", "--json"]));
        let actions = value["actions"].as_array().unwrap().clone();
        let mut all: Vec<u64> = actions.iter().map(|action| action["cycles"].as_u64().unwrap()).collect();
        all.sort_unstable();
        all
    };
    assert_eq!(cycles("add(hs.h.a);"), [1, 1]);
    assert_eq!(cycles("if (hs.h.b == 1) { add(hs.h.a); } else { add(hs.h.b); }"), [1, 1]);
    assert_eq!(cycles("add(hs.h.a); add(hs.h.b);"), [2, 2]);
    // A condition on what was read is part of the circle, one on the packet is not.
    assert_eq!(cycles("r.read(x, 0); if (x < hs.h.a) { r.write(0, hs.h.a); }"), [1]);
    assert_eq!(cycles("r.read(x, 0); if (hs.h.b < hs.h.a) { x = x + 1; } r.write(0, x);"), [2]);
    assert_eq!(cycles("r.read(x, 0); r.write(0, x * hs.h.a);"), [3]);
    assert_eq!(cycles("r.read(x, 0); r.write(0, x * 8);"), [1]);
    assert_eq!(cycles("hs.h.a = hs.h.b;"), [0; 0]);
}

/// A lookup that adds what it does not find is stateful, and its key is the table's.
#[test]
fn tables_that_packets_add_to_are_state() {
    let of = |more: &[&str]| {
        let args: Vec<&str> = ["examples/09-pna-connections/connections_pna.p4", "--json"]
            .iter()
            .chain(more)
            .copied()
            .collect();
        json(&sim(&args))
    };
    let explained = of(&["--explain"]);
    let actions = explained["actions"].as_array().unwrap();
    assert_eq!(actions.len(), 1, "{explained}");
    let action = &actions[0];
    assert_eq!(action["state"], serde_json::json!(["Connections.connections"]));
    assert_eq!((&action["kind"], &action["key"]), (&"add-on-miss".into(), &"5-tuple".into()));
    assert_eq!((action["cycles"].as_u64(), action["needs_lock"].as_bool()), (Some(4), Some(true)));
    assert_eq!(explained["notes"], serde_json::json!([]));
    // Those that find their entry hold it for the lookup only.
    let simulated = of(&["-n", "20000", "--policy", "global-lock", "--path-share", "miss=0.1,90=1"]);
    let actions = simulated["runs"][0]["points"][0]["point"]["actions"].clone();
    let expected = serde_json::json!([
        { "cycles": 4, "lock_cycles": 4, "weight": 0.1 },
        { "cycles": 2, "lock_cycles": 2, "weight": 0.9 },
    ]);
    assert_eq!(actions, expected);
}

/// Which way packets go decides for how long they need the state.
#[test]
fn mixes_come_from_the_paths_of_a_program() {
    let dir = tempfile::tempdir().unwrap();
    let program = "#include <core.p4>\n#include <v1model.p4>\nheader H { bit<32> a; bit<32> b; }\nstruct Hs { H h; }\n\
         struct M {}\nparser P(packet_in p, out Hs hs, inout M m, inout standard_metadata_t s) {\n\
         state start { p.extract(hs.h); transition accept; } }\n\
         control V(inout Hs hs, inout M m) { apply {} }\n\
         control I(inout Hs hs, inout M m, inout standard_metadata_t s) {\n\
         register<bit<32>>(1) r; bit<32> x; apply {\n\
         if (hs.h.b == 1) {\n\
         r.read(x, 0); r.write(0, x * hs.h.a);\n\
         } else if (hs.h.b == 2) {\n\
         r.read(x, 0); hs.h.a = x;\n\
         } } }\n\
         control E(inout Hs hs, inout M m, inout standard_metadata_t s) { apply {} }\n\
         control D(packet_out p, in Hs hs) { apply { p.emit(hs.h); } }\n\
         V1Switch(P(), V(), I(), E(), V(), D()) main;\n";
    std::fs::write(dir.path().join("p.p4"), program).unwrap();
    let explained = json(&sim_in(dir.path(), &["p.p4", "--explain", "--json"]));
    let paths = serde_json::json!([
        { "ways": "11", "cycles": 3, "lock_cycles": 3 },
        { "ways": "!11, 13", "cycles": 1, "lock_cycles": 0 },
        { "ways": "!11, !13", "cycles": 0, "lock_cycles": 0 },
    ]);
    assert_eq!(explained["actions"][0]["paths"], paths);
    let actions = |more: &[&str]| {
        let args = ["p.p4", "--json", "-n", "1000", "--policy", "global-lock"];
        let all: Vec<&str> = args.iter().chain(more).copied().collect();
        let value = json(&sim_in(dir.path(), &all));
        let actions = value["runs"][0]["points"][0]["point"]["actions"].as_array().unwrap().clone();
        let of = |a: &serde_json::Value| (a["lock_cycles"].as_u64().unwrap(), a["weight"].as_f64().unwrap());
        actions.iter().map(of).collect::<Vec<_>>()
    };
    // All are as slow as the slowest unless somebody says how many are not.
    assert_eq!(actions(&[]), [(3, 1.0)]);
    assert_eq!(actions(&["--mix", "program"]), [(3, 0.5), (0, 0.5)]);
    assert_eq!(actions(&["--path-share", "11=0.125"]), [(3, 0.125), (0, 0.875)]);
    let refused = |args: &[&str], message: &str| {
        let output = sim_in(dir.path(), args);
        assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(2), message), "{args:?}");
    };
    let expected = "error: --path-share 99: no such way; expected one of !11, !13, 11, 13\n";
    refused(&["p.p4", "--path-share", "99=0.5"], expected);
    refused(
        &["p.p4", "--path-share", "11=2"],
        "error: --path-share 11=2: expected a way and a share from 0 to 1, as 25=0.3\n",
    );
    refused(
        &["p.p4", "--path-share", "11=0.5,!11=0.6"],
        "error: --path-share: the shares of 11, !11 make 1.1\n",
    );
    refused(&["--mix", "program"], "error: --mix program: there is no program\n");
}

/// Of what traffic says about ways, it is asked: one packet of four is not IP, and leaves the bucket alone.
#[test]
fn traffic_says_which_headers_are_there() {
    let dir = tempfile::tempdir().unwrap();
    let mut file = capture(&[(64, 0), (64, 1000), (64, 2000), (64, 3000)]);
    // The type of the last packet: after the file's header, three packets, and this one's header.
    let at = 24 + 3 * 70 + 16 + 12;
    assert_eq!(file[at..at + 2], [8, 0]);
    file[at] = 0x86;
    let trace = dir.path().join("t.pcap");
    std::fs::write(&trace, file).unwrap();
    let args = [
        "examples/07-stateful-actions/token_bucket.p4",
        "--mix",
        "program",
        "--policy",
        "none",
        "--json",
        "--trace",
    ];
    let value = json(&sim(&[args.as_slice(), &[trace.to_str().unwrap()]].concat()));
    let expected = serde_json::json!([
        { "cycles": 5, "lock_cycles": 5, "weight": 0.75 },
        { "cycles": 1, "lock_cycles": 0, "weight": 0.25 },
    ]);
    assert_eq!(value["runs"][0]["points"][0]["point"]["actions"], expected);
}

/// A decision about the state is part of the action, whichever way it goes; what only one way does is not.
#[test]
fn a_packet_that_codel_keeps_is_quicker_than_one_that_it_drops() {
    let value = json(&sim(&["examples/07-stateful-actions/codel.p4", "--explain", "--json"]));
    let paths = value["actions"][0]["paths"].as_array().unwrap();
    let number = |path: &serde_json::Value, name: &str| path[name].as_u64().unwrap();
    let cycles: Vec<(u64, u64)> =
        paths.iter().map(|path| (number(path, "cycles"), number(path, "lock_cycles"))).collect();
    assert_eq!(cycles, [(16, 16), (3, 3), (1, 1)]);
}

#[test]
fn costs_can_be_edited() {
    let dir = tempfile::tempdir().unwrap();
    let printed = sim(&["--print-costs"]);
    let table = String::from_utf8(printed.stdout).unwrap();
    assert!(table.contains("multiply = 3"), "{table}");
    let path = dir.path().join("costs");
    std::fs::write(&path, table.replace("multiply = 3", "multiply = 9")).unwrap();
    let program = "examples/07-stateful-actions/red.p4";
    let value = json(&sim(&[program, "--explain", "--json", "--costs", path.to_str().unwrap()]));
    assert_eq!(value["actions"][0]["cycles"], 10);
}

#[test]
fn the_models_are_timed() {
    let output = Command::new(env!("CARGO_BIN_EXE_siding"))
        .args(["bench", "sim", "-n", "10000", "--runs", "1", "--json"])
        .output()
        .unwrap();
    let value = json(&output);
    let rows = value["rows"].as_array().unwrap();
    // Two of a capture; six models at three alphas.
    assert_eq!(rows.len(), 20);
    assert!(rows.iter().all(|row| row["packets_per_second"].as_f64().unwrap() > 10_000.0), "{value}");
    assert_eq!((&rows[0]["packets"], &rows[2]["packets"]), (&"capture".into(), &"made".into()));
}

/// By `scale` a packet of 1500 bytes has 351 at alpha = 0.2; by `mix` it has all or becomes short.
#[test]
fn alpha_mixes_or_scales() {
    let cycles = |more: &[&str]| {
        let args = ["--profile", "fixed:1500", "-n", "10000", "--cycles", "2", "--policy", "none", "--json"];
        let all: Vec<&str> = args.iter().chain(more).copied().collect();
        let value = json(&sim(&all));
        let model = value["alpha_model"].as_str().unwrap().to_string();
        (model, value["points"][0]["result"]["input_cycles"].as_u64().unwrap())
    };
    assert_eq!(cycles(&["--alpha", "0.2", "--alpha-model", "scale"]), ("scale".into(), 50_000));
    let (model, mixed) = cycles(&["--alpha", "0.2"]);
    assert!(model == "mix" && (54_000..58_000).contains(&mixed), "{model} {mixed}");
    assert_ne!(cycles(&["--alpha", "0.2", "--seed", "2"]).1, mixed);
    assert_eq!(cycles(&["--alpha", "0"]).1, 10_000);
    assert_eq!(cycles(&["--alpha", "1"]).1, 190_000);
}

#[test]
fn waits_are_apart_from_latencies() {
    let args = ["--cycles", "11", "-n", "20000", "--policy", "per-flow-lock", "--json"];
    let result = json(&sim(&args))["points"][0]["result"].clone();
    let number = |name: &str| result[name].as_u64().unwrap();
    assert_eq!(number("latency_cycles_p99"), number("wait_cycles_p99") + 11);
    assert_eq!(number("latency_cycles_max"), number("wait_cycles_max") + 11);
    assert!(number("queue_packets_p99") <= number("queue_packets_max"));
}

/// Windows are simulated by themselves: the first is a run of its own.
#[test]
fn windows_are_runs_of_their_own() {
    let run = |n: &str, more: &[&str]| {
        let args = ["--cycles", "11", "-n", n, "--policy", "global-lock", "--json"];
        let all: Vec<&str> = args.iter().chain(more).copied().collect();
        json(&sim(&all))["points"][0]["result"].clone()
    };
    let whole = run("5000", &[]);
    let windows = run("9999", &["--window", "5000"])["windows"].clone();
    assert_eq!((windows["packets"].as_u64(), windows["windows"].as_u64()), (Some(5000), Some(1)));
    for name in ["throughput", "wait_cycles_p99", "latency_cycles_mean"] {
        assert_eq!(windows[name]["min"].as_f64(), whole[name].as_f64(), "{name}");
        assert_eq!(windows[name]["min"], windows[name]["max"], "{name}");
    }
    let many = run("50000", &["--window", "5000"])["windows"].clone();
    let of = |which: &str| many["throughput"][which].as_f64().unwrap();
    assert!(of("min") < of("max") && of("p99") == of("max") && many["windows"] == 10, "{many}");
    // A figure shows the worst of them.
    let args =
        ["--figure", "1c", "--alpha", "1", "--cycles", "11", "-n", "50000", "--json", "--window", "5000"];
    let figure = json(&sim(&args));
    assert_eq!(at(&figure, "alpha = 1", 11.0), of("min"));
    assert!(figure["title"].as_str().unwrap().ends_with("worst window of 5000 packets"), "{figure}");
    let text = String::from_utf8(sim(&["--cycles", "11", "-n", "5000", "--window", "1000"]).stdout).unwrap();
    assert!(text.contains("in 5 windows of 1000 packets"), "{text}");
}

/// Published: 9 for the backbone, 2 for the cluster of Facebook's.
#[test]
fn a_budget_says_how_long_actions_may_be() {
    let longest = |args: &[&str]| {
        let common = ["--budget", "0.1%,0.01", "--policy", "global-lock", "-n", "200000", "--json"];
        let all: Vec<&str> = args.iter().chain(&common).copied().collect();
        let longest = json(&sim(&all))["budgets"][0]["longest"].clone();
        [0, 1].map(|i| longest[i]["cycles"].as_u64().unwrap())
    };
    assert_eq!(longest(&["--size-runs", "0.985"]), [9, 9]);
    assert_eq!(longest(&["--profile", "facebook"]), [2, 2]);
    // Half of the packets only read, so that actions may be twice as long.
    assert_eq!(longest(&["--profile", "facebook", "--read-only", "0.5", "--cycles", "4,5,6"]), [5, 5]);
    // Nothing is lost where nothing is tried that loses.
    assert_eq!(longest(&["--cycles", "3,5"]), [5, 5]);
    assert_eq!(longest(&["--profile", "fixed:64", "--cycles", "3,5"]), [0, 0]);
}

/// A frame of 60 bytes with an IP packet of 40.
#[test]
fn lengths_are_of_frames_or_ip_packets() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("t.pcap"), capture(&[(60, 0), (60, 10)])).unwrap();
    let mean = |more: &[&str]| {
        let args = ["--trace", "t.pcap", "--cycles", "2", "--policy", "none", "--json"];
        let all: Vec<&str> = args.iter().chain(more).copied().collect();
        json(&sim_in(dir.path(), &all))["traffic"]["mean_bytes"].as_f64()
    };
    assert_eq!((mean(&[]), mean(&["--length", "ip"])), (Some(60.0), Some(40.0)));
    // The link type of raw IP: what is captured is an IP packet, and has an Ethernet header in a frame.
    let mut raw = capture(&[(54, 0)]);
    raw[20] = 101;
    std::fs::write(dir.path().join("t.pcap"), raw).unwrap();
    assert_eq!(mean(&[]), Some(68.0));
}
