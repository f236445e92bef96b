//! `siding model cpu` and `siding model formula` from outside, with a profile of round figures.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const ROUTER: &str = "examples/01-router/router.p4";
const SCRIPT: &str = "examples/01-router/router.stf";

fn siding(args: &[&str]) -> Output {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Command::new(env!("CARGO_BIN_EXE_siding")).args(args).current_dir(repository).output().unwrap()
}

/// A packet costs 20 cycles, a header 5 and a lookup of prefixes 10; decisions are not told apart.
fn profile() -> Value {
    let cost = |component: &str, cycles: f64, is_told_apart: bool| {
        json!({ "component": component, "cycles": cycles, "ci95": [cycles, cycles], "n_points": 9,
                "is_told_apart": is_told_apart })
    };
    json!({
        "version": 3, "siding": "0.1.0", "made_at": 0, "n_points": 9, "rmse_relative": 0.1, "held_out_relative": 0.1,
        "drift": 0.0, "points": [],
        "machine": { "model": "A processor", "cores": 2, "siblings": 1, "tsc_ghz": 2.0, "cache_bytes": [32768],
            "latencies": { "points": [[16384.0, 4.0], [1048576.0, 104.0]] }, "is_virtual": false, "load_average": 0.0,
            "compiler": "" },
        "components": [cost("packet", 20.0, true), cost("header", 5.0, true), cost("lookup_lpm", 10.0, true),
            cost("decision", 1.0, false)],
        "curve": { "key_bytes": 16, "data_bytes": 64,
            "points": (6..16).map(|i| [f64::from(1 << i), 50.0 + f64::from(i)]).collect::<Vec<_>>() },
    })
}

fn written(name: &str, profile: &Value) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, profile.to_string()).unwrap();
    path
}

fn cpu(profile: &Path, args: &[&str]) -> Output {
    siding(&[&["model", "cpu", ROUTER, SCRIPT, "--profile", profile.to_str().unwrap()], args].concat())
}

fn found(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn refused(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout.is_empty());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn cycles_are_the_sum_of_counts() {
    let path = written("cycles.json", &profile());
    let report = found(&cpu(&path, &["--json"]));
    let per_packet = |name: &str| {
        let rows = report["components"].as_array().unwrap();
        rows.iter().find(|row| row["component"] == name).unwrap_or_else(|| panic!("{name}"))["per_packet"]
            .as_f64()
            .unwrap()
    };
    let routes =
        report["tables"].as_array().unwrap().iter().find(|row| row["table"] == "Router.routes").unwrap();
    assert_eq!(per_packet("packet"), 1.0);
    assert!((1.0..=3.0).contains(&per_packet("header")), "{report}");
    let sum = 20.0 + 5.0 * per_packet("header") + per_packet("decision") + routes["cycles"].as_f64().unwrap();
    assert!((report["cycles"]["value"].as_f64().unwrap() - sum).abs() < 0.1, "{report}");
    // Ten variables live across the lookup of a route, for which packets are put aside.
    let saved = 10.0 * routes["lookups"].as_f64().unwrap();
    assert!((per_packet("saved") - saved).abs() < 0.1, "{report}");
    // Not told apart: no figure of its own.
    let rows = report["components"].as_array().unwrap();
    assert!(rows.iter().any(|row| row["component"] == "decision" && row["cycles"].is_null()), "{report}");
    let warnings = report["warnings"].to_string();
    assert!(warnings.contains("not tell apart") && warnings.contains("has no cycles for"), "{warnings}");
}

#[test]
fn larger_tables_are_never_faster() {
    let mut slow = profile();
    slow["components"].as_array_mut().unwrap().push(
        json!({ "component": "batch_wait", "cycles": 0.5, "ci95": [0.5, 0.5], "n_points": 9, "is_told_apart": true }),
    );
    let path = written("larger.json", &slow);
    let report =
        found(&cpu(&path, &["--json", "--what-if", "routes=10:1000:100000", "--cores", "1,2", "--ghz", "4"]));
    let cycles: Vec<f64> =
        report["what_if"].as_array().unwrap().iter().map(|row| row["cycles"].as_f64().unwrap()).collect();
    assert!(cycles.len() == 3 && cycles.is_sorted() && cycles[2] > cycles[0], "{cycles:?}");
    let rates: Vec<f64> =
        report["cores"].as_array().unwrap().iter().map(|row| row["mpps"].as_f64().unwrap()).collect();
    assert!(
        (rates[1] / rates[0] - 2.0).abs() < 0.01
            && (rates[0] - 4000.0 / report["cycles"]["value"].as_f64().unwrap()).abs() < 0.5
    );
}

#[test]
fn a_program_alone_has_equal_shares() {
    let path = written("alone.json", &profile());
    let output = siding(&["model", "cpu", ROUTER, "--profile", path.to_str().unwrap()]);
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("all ways have equal shares"));
}

/// Packets with an IPv4 header, those to port 53 apart, and others.
const WAYS: &str = "
#include <core.p4>
#include <v1model.p4>
header eth_t { bit<48> dst; bit<48> src; bit<16> type; }
header ip_t { bit<152> before; bit<8> last; }
struct headers_t { eth_t eth; ip_t ip; }
struct meta_t { }
parser Read(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    state start { p.extract(h.eth); transition select(h.eth.type) { 0x800: ip; default: accept; } }
    state ip { p.extract(h.ip); transition accept; }
}
control Verify(inout headers_t h, inout meta_t m) { apply { } }
control In(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    action forward() { s.egress_spec = 1; }
    action drop() { mark_to_drop(s); }
    table stations { key = { h.eth.dst: lpm; } actions = { forward; drop; } default_action = drop; }
    apply { if (h.ip.isValid()) { stations.apply(); } else { s.egress_spec = 2; } }
}
control Out(inout headers_t h, inout meta_t m, inout standard_metadata_t s) { apply { } }
control Sum(inout headers_t h, inout meta_t m) { apply { } }
control Write(packet_out p, in headers_t h) { apply { p.emit(h.eth); p.emit(h.ip); } }
V1Switch(Read(), Verify(), In(), Out(), Sum(), Write()) main;
";

/// The program, and a capture of three packets with IPv4 and one without.
fn ways(dir: &Path) -> (String, String) {
    let (program, capture) = (dir.join("ways.p4"), dir.join("ways.pcap"));
    std::fs::write(&program, WAYS).unwrap();
    let file = std::fs::File::create(&capture).unwrap();
    let mut writer = packet_io::PcapWriter::new("capture", file, packet_io::LINK_TYPE_ETHERNET).unwrap();
    for kind in [0x08, 0x08, 0x86, 0x08] {
        let mut bytes = vec![0; 60];
        bytes[12] = kind;
        writer.write(&packet_io::Packet::new(bytes)).unwrap();
    }
    writer.finish().unwrap();
    (program.display().to_string(), capture.display().to_string())
}

#[test]
fn captures_say_how_packets_go() {
    let dir = tempfile::tempdir().unwrap();
    let (program, capture) = ways(dir.path());
    let path = written("captures.json", &profile());
    let profile = path.to_str().unwrap();
    let pcap = format!("7={capture}");
    let report = found(&siding(&["model", "cpu", &program, "--profile", profile, "--pcap", &pcap, "--json"]));
    let classes = report["classes"].as_array().unwrap();
    let of = |i: usize| (classes[i]["share"].as_f64().unwrap(), classes[i]["cycles"].as_f64().unwrap());
    assert_eq!((classes.len(), of(0).0, of(1).0), (2, 0.25, 0.75));
    // A header of five cycles and a lookup of ten, beside what each packet pays.
    assert!(of(1).1 >= of(0).1 + 15.0, "{classes:?}");
    let mean = 0.25 * of(0).1 + 0.75 * of(1).1;
    assert!((report["cycles"]["value"].as_f64().unwrap() - mean).abs() < 0.1, "{report}");
    // Delays are of both kinds.
    let output = siding(&["model", "latency", &program, "--profile", profile, "--pcap", &capture, "--json"]);
    let delays = found(&output);
    assert_eq!((&delays["classes"], &delays["ghz"]), (&report["classes"], &2.0.into()));
    let costs = format!("{}:0.25,{}:0.75", of(0).1, of(1).1);
    assert_eq!(delays, found(&siding(&["model", "latency", "--cycles", &costs, "--ghz", "2", "--json"])));
}

#[test]
fn shares_of_ways_can_be_named() {
    let dir = tempfile::tempdir().unwrap();
    let (program, capture) = ways(dir.path());
    let path = written("shares.json", &profile());
    let profile = path.to_str().unwrap();
    let ask = |shares: &[&str]| {
        let given = shares.iter().flat_map(|share| ["--path-share", share]);
        let args: Vec<&str> = ["model", "cpu", &program, "--profile", profile, "--pcap", &capture, "--json"]
            .into_iter()
            .chain(given)
            .collect();
        siding(&args)
    };
    let line = |text: &str| 1 + WAYS.lines().position(|line| line.contains(text)).unwrap();
    let (select, condition) = (line("transition select"), line("isValid"));
    let headers = |output: &Output| {
        let report = found(output);
        let mut rows = report["components"].as_array().unwrap().iter();
        let header = rows.find(|row| row["component"] == "header").unwrap();
        (header["per_packet"].as_f64().unwrap(), report["tables"][0]["lookups"].as_f64().unwrap())
    };
    assert_eq!(headers(&ask(&[])), (1.75, 0.75));
    let one = format!("{select}/0=0.2");
    assert_eq!(headers(&ask(&[&one])), (1.2, 0.75));
    let other = format!("!{condition}=0.5");
    assert_eq!(headers(&ask(&[&one, &other])), (1.2, 0.5));
    // Commands for BMv2's command line are entries, too.
    let entries = dir.path().join("commands.txt");
    std::fs::write(&entries, "table_add stations forward 00:00:00:00:00:01/48 =>\n").unwrap();
    let entries = entries.to_str().unwrap();
    let report = found(&siding(&["model", "cpu", &program, entries, "--profile", profile, "--json"]));
    assert_eq!(report["tables"][0]["entries"], 1);
    let output = siding(&["model", "cpu", &program, &capture, "--profile", profile]);
    assert!(refused(&output).contains("is a capture: give it as --pcap"));
    assert!(refused(&ask(&["99=0.5"])).contains("no such way; the program has"));
    assert!(refused(&ask(&["stations.drop=0.7", "stations.forward=0.7"])).contains("make 1.4"));
    assert!(
        refused(&ask(&["stations.drop=0.1", "In.stations.drop=0.2"])).contains("this way has two shares")
    );
    let (both, not) = (format!("{condition}=0.1"), format!("!{condition}=0.2"));
    assert!(refused(&ask(&[&both, &not])).contains("make 0.3"));
    assert!(refused(&siding(&["model", "latency"])).contains("give a program"));
    let no_program = siding(&["model", "latency", "--cycles", "9", "--pcap", &capture]);
    assert!(refused(&no_program).contains("--pcap is for the packets of a program"));
    assert!(refused(&ask(&["99"])).contains("expected a way and a share from 0 to 1"));
}

#[test]
fn a_switch_follows_the_shares_of_actions() {
    let path = written("switch.json", &profile());
    let lookups = |share: &str| {
        let report = found(&cpu(&path, &["--json", "--path-share", share]));
        let mut tables = report["tables"].as_array().unwrap().iter();
        tables.find(|table| table["table"] == "Router.routes").unwrap()["lookups"].as_f64().unwrap()
    };
    // A share of the case itself counts, if there is one.
    assert_eq!(lookups("access_list.drop=0,164/0=0"), 0.0);
    // Packets that the access list drops are not routed.
    assert_eq!(lookups("access_list.drop=1"), 0.0);
    assert!(lookups("access_list.drop=0") > lookups("access_list.drop=0.5"));
}

#[test]
fn delays_of_a_mean_have_no_bound() {
    let path = written("mean.json", &profile());
    let profile = path.to_str().unwrap();
    let delays = found(&siding(&["model", "latency", ROUTER, "--profile", profile, "--json"]));
    assert!(delays["program_bound"].is_null() && delays["simulated"]["mean_ns"].as_f64().unwrap() > 0.0);
    let output = siding(&["model", "latency", ROUTER, "--profile", profile]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("there is no bound: give a script"));
    let output = siding(&["model", "latency", ROUTER, SCRIPT, "--profile", profile, "--load", "99"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.code() == Some(1) && text.contains("One exists below a load of "), "{text}");
}

#[test]
fn bad_profiles_and_tables_are_refused() {
    let mut other = profile();
    other["version"] = json!(1);
    assert!(refused(&cpu(&written("version.json", &other), &[])).contains("version 1, and 3 is expected"));
    let mut none = profile();
    none["components"] = json!([]);
    assert!(refused(&cpu(&written("none.json", &none), &[])).contains("has no components"));
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("garbage.json");
    std::fs::write(&path, "{ \"version\": 1, ").unwrap();
    let remedy = "; `siding model calibrate` makes a new profile, in about three minutes\n";
    let damaged = refused(&cpu(&path, &[]));
    assert!(damaged.contains("this is no profile") && damaged.ends_with(remedy), "{damaged}");
    let mut text = profile();
    text["version"] = json!("3");
    let damaged = refused(&cpu(&written("text.json", &text), &[]));
    assert!(damaged.contains("its `version` is not the number 3") && damaged.ends_with(remedy), "{damaged}");
    let mut lacking = profile();
    lacking.as_object_mut().unwrap().remove("siding");
    let damaged = refused(&cpu(&written("lacking.json", &lacking), &[]));
    assert!(damaged.contains("missing field `siding`") && damaged.ends_with(remedy), "{damaged}");
    let good = written("good.json", &profile());
    assert!(refused(&cpu(&good, &["--entries", "roads=5"])).contains("no such table; the program has"));
    assert!(
        refused(&cpu(&good, &["--pcap", "512=none.pcap"]))
            .contains("the largest port of this architecture is 511")
    );
    for (path, expected) in
        [(env!("CARGO_TARGET_TMPDIR"), "has written"), (env!("CARGO_BIN_EXE_siding"), "this is no profile")]
    {
        let output = cpu(Path::new(path), &[]);
        assert_eq!(output.status.code(), Some(4));
        assert!(String::from_utf8_lossy(&output.stderr).contains(expected));
    }
    assert!(refused(&cpu(&good, &["--entries", "routes=0"])).contains("at least 1"));
    let absent = cpu(Path::new("/no/profile.json"), &[]);
    assert!(
        absent.status.code() == Some(4)
            && String::from_utf8_lossy(&absent.stderr).contains("siding model calibrate")
    );
    // A mistake in the program's name comes before a profile that is not there.
    let neither = siding(&["model", "cpu", "nosuch.p4", "--profile", "/no/profile.json"]);
    let said = String::from_utf8_lossy(&neither.stderr).into_owned();
    assert!(!neither.status.success() && said.contains("nosuch.p4") && !said.contains("profile"), "{said}");
}

#[test]
fn the_formula_is_printed_in_its_own_form() {
    let path = written("formula.json", &profile());
    let svg = Path::new(env!("CARGO_TARGET_TMPDIR")).join("formula.svg");
    let output =
        siding(&["model", "formula", "--profile", path.to_str().unwrap(), "--svg", svg.to_str().unwrap()]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("R(n) = 128 + 88 n bytes"), "{text}");
    // A cycle for each doubling.
    assert!(text.contains("C(n) = 1.443 ln(n) + 50.00"), "{text}");
    assert!(std::fs::read_to_string(svg).unwrap().starts_with("<svg"));
    let mut short = profile();
    short["curve"]["points"] = json!([[1.0, 2.0]]);
    let path = written("short.json", &short);
    assert!(
        refused(&siding(&["model", "formula", "--profile", path.to_str().unwrap()]))
            .contains("it needs 6 sizes")
    );
}
