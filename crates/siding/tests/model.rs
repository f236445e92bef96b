//! `siding model asic` from outside: reports, JSON, pictures, errors.

#[path = "model/latency.rs"]
mod latency;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const ROUTER: &str = "examples/01-router/router.p4";
const PSA: &str = "examples/08-psa-bridge/bridge_psa.p4";
const PNA: &str = "examples/09-pna-connections/connections_pna.p4";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn asic(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_siding"));
    command.args(["model", "asic"]).args(args).current_dir(repository()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The output of a program that fits, or with code 1 of one that does not.
fn json(args: &[&str], code: i32) -> Value {
    let output = asic(&[args, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The message of a command line that makes no sense.
fn refused(args: &[&str]) -> String {
    let output = asic(args);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(output.stdout.is_empty());
    stderr
}

fn node<'v>(report: &'v Value, name: &str) -> &'v Value {
    let nodes = report["nodes"].as_array().unwrap();
    nodes.iter().find(|node| node["name"] == name).unwrap_or_else(|| panic!("{name}"))
}

/// Compares with the expected file; `SIDING_BLESS=1` writes it.
fn expect(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/model").join(name);
    if std::env::var_os("SIDING_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, expected, "{} differs; SIDING_BLESS=1 rewrites it", path.display());
}

#[test]
fn reports_of_examples() {
    let runs: [(&str, i32, &[&str]); 4] = [
        ("router.txt", 0, &[ROUTER]),
        ("bridge_psa.txt", 0, &[PSA]),
        ("connections_pna.txt", 1, &[PNA]),
        ("connections_pna_smaller.txt", 0, &[PNA, "--entries", "connections=5e5", "--chip", "generic-20"]),
    ];
    for (name, code, args) in runs {
        let output = asic(args);
        assert_eq!(output.status.code(), Some(code), "{name}: {}", text(&output.stderr));
        expect(name, &text(&output.stdout));
    }
}

#[test]
fn json_says_the_same() {
    let report = json(&[ROUTER], 0);
    assert_eq!(report["version"], 1);
    assert_eq!(
        (&report["fits"], &report["stages"], &report["stages_min"]),
        (&true.into(), &8.into(), &8.into())
    );
    let routes = node(&report, "Router.routes");
    assert_eq!(
        (&routes["lookup"], &routes["tcam"], &routes["size_from"]),
        (&"ternary".into(), &128.into(), &"program".into())
    );
    // The parts are the table, and the stages have what the parts take.
    let units = routes["parts"].as_array().unwrap().iter().map(|part| part["units"].as_u64().unwrap());
    assert_eq!(units.sum::<u64>(), routes["units"]);
    let stages = report["stages_used"].as_array().unwrap();
    assert_eq!(stages.len(), 12);
    for resource in ["sram", "tcam", "map_ram"] {
        let used: u64 = stages.iter().map(|stage| stage[resource].as_u64().unwrap()).sum();
        let by_node = report["nodes"].as_array().unwrap().iter().map(|node| node[resource].as_u64().unwrap());
        assert_eq!(used, by_node.sum::<u64>(), "{resource}");
    }
    for stage in stages {
        let amounts = stage.as_object().unwrap();
        assert!(amounts.iter().all(|(name, n)| n.as_u64() <= report["capacity"][name].as_u64()), "{stage}");
    }
}

#[test]
fn sizes_decide() {
    let smaller = json(&[ROUTER, "--entries", "routes=1e3,next_hops=256"], 0);
    assert_eq!(node(&smaller, "Router.routes")["tcam"], 2);
    assert!(smaller["stages"].as_u64() < Some(8));
    let larger = json(&[ROUTER, "--entries", "routes=1_000_000"], 1);
    let verdict = larger["verdict"].as_str().unwrap();
    assert!(verdict.starts_with("does not fit: `Router.routes`, 1"), "{verdict}");
    let end = " of 1,000,000 entries, TCAM; also not placed: `Router.next_hops`";
    assert!(verdict.ends_with(end), "{verdict}");
    assert!(larger["stages_min"].as_u64() > Some(80));
    // Numbers that no machine could count are sizes, too.
    let largest = json(&[ROUTER, "--entries", "routes=18446744073709551615"], 1);
    assert_eq!(largest["fits"], false);
}

#[test]
fn the_largest_size_fits_and_one_more_does_not() {
    let report = json(&[ROUTER, "--max", "routes"], 0);
    let max = &report["max"];
    assert_eq!((&max["table"], &max["fits"]), (&"Router.routes".into(), &max["at_most"]));
    let n = max["fits"].as_u64().unwrap();
    assert_eq!(json(&[ROUTER, "--entries", &format!("routes={n}")], 0)["fits"], true);
    assert_eq!(json(&[ROUTER, "--entries", &format!("routes={}", n + 1)], 1)["fits"], false);
    let hops = json(&[ROUTER, "--max", "next_hops"], 0);
    assert_eq!((&hops["max"]["fits"], &hops["max"]["all_keys"]), (&65_536.into(), &true.into()));
}

#[test]
fn a_larger_layout_is_taken_where_the_densest_does_not_fit() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("six.toml");
    let description = text(&asic(&["--print-chip"]).stdout).replacen("stages = 12", "stages = 6", 1);
    std::fs::write(&file, description).unwrap();
    let chip = ["--chip", file.to_str().unwrap()];
    let with = |n: u64, code: i32| {
        json(&[&[PNA, "--entries", &format!("connections={n}")][..], &chip].concat(), code)
    };
    let max = json(&[&[PNA, "--entries", "connections=1", "--max", "connections"][..], &chip].concat(), 0);
    let most = max["max"]["fits"].as_u64().unwrap();
    assert_eq!(most, 307_200);
    // All sizes below fit, too, though the densest layout of some needs another stage.
    for n in [296_960, 296_961, 300_000, 303_104, 305_000, most] {
        let report = with(n, 0);
        let table = node(&report, "Connections.connections");
        assert_eq!((&table["entries"], &table["entries_side_by_side"]), (&n.into(), &5.into()), "{n}");
        let roomier = report["roomier"].as_array().unwrap();
        assert_eq!(roomier.is_empty(), n == 296_960 || n >= 305_000, "{n}: {roomier:?}");
    }
    with(most + 1, 1);
    let args = [&[PNA, "--entries", "connections=300000"][..], &chip].concat();
    let said = text(&asic(&args).stdout);
    assert!(said.contains("note: `Connections.connections` has the layout of 30"), "{said}");
}

#[test]
fn pictures_show_every_block() {
    let dir = tempfile::tempdir().unwrap();
    let svg = dir.path().join("stages.svg");
    let output = asic(&[ROUTER, "--svg", svg.to_str().unwrap()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let picture = std::fs::read_to_string(&svg).unwrap();
    assert_eq!(picture.matches("width=\"8\" height=\"8\"").count(), 12 * (80 + 24));
    assert_eq!(picture.matches("<title>Router.routes</title>").count(), 128 + 55);
    assert!(picture.contains("fits in 8 of 12 stages"));
}

#[test]
fn chips_of_ones_own() {
    let printed = asic(&["--print-chip", "--chip", "generic-20"]);
    let description = text(&printed.stdout);
    assert!(printed.status.success() && description.contains("stages = 20"));
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("mine.toml");
    let file_name = file.to_str().unwrap();
    let short = description.replacen("generic-20", "mine", 1).replacen("stages = 20", "stages = 3", 1);
    std::fs::write(&file, &short).unwrap();
    let report = json(&[ROUTER, "--chip", file_name], 1);
    assert_eq!((&report["chip"], &report["chip_stages"]), (&"mine".into(), &3.into()));
    let faults = [
        ("stages = 3", "stages = 0", "`stages`: a chip has at least one stage"),
        ("blocks = 80", "blocs = 80", "unknown field `blocs`"),
        ("blocks = 80", "blocks = -1", "-1"),
        ("[tcam]", "[tcam", "unclosed table"),
    ];
    for (from, to, expected) in faults {
        std::fs::write(&file, short.replacen(from, to, 1)).unwrap();
        let message = refused(&[ROUTER, "--chip", file_name]);
        assert!(message.contains("mine.toml: ") && message.contains(expected), "{message}");
    }
    let nothing = short.replacen("blocks = 80", "blocks = 0", 1).replacen("blocks = 24", "blocks = 0", 1);
    std::fs::write(&file, nothing).unwrap();
    assert!(
        refused(&[ROUTER, "--chip", file_name])
            .contains("a chip without SRAM and without TCAM has no tables")
    );
    // Without SRAM, no table has a place, because those in TCAM keep results there.
    std::fs::write(&file, short.replacen("blocks = 80", "blocks = 0", 1)).unwrap();
    let report = json(&[ROUTER, "--chip", file_name], 1);
    let verdict = report["verdict"].as_str().unwrap();
    assert!(verdict.contains("`Router.next_hops`, 0 of 4,096 entries: the chip has no SRAM"), "{verdict}");
    assert!(verdict.ends_with("; also not placed: `Router.access_list`, `Router.routes`"), "{verdict}");
    let one = short.replacen("stages = 3", "stages = 1", 1);
    std::fs::write(&file, one).unwrap();
    let said = text(&asic(&[ROUTER, "--chip", file_name]).stdout);
    assert!(said.contains(": 1 stage of 80 SRAM"), "{said}");
    let (from, to) = (short.find("[sram]").unwrap(), short.find("[tcam]").unwrap());
    std::fs::write(&file, [&short[..from], &short[to..]].concat()).unwrap();
    assert!(refused(&[ROUTER, "--chip", file_name]).contains("the section `[sram]` is missing: add it"));
    // Without TCAM, tables with prefixes have no place.
    std::fs::write(&file, short.replacen("blocks = 24", "blocks = 0", 1)).unwrap();
    let report = json(&[ROUTER, "--chip", file_name], 1);
    assert!(report["verdict"].as_str().unwrap().ends_with("; also not placed: `Router.routes`"), "{report}");
    assert!(node(&report, "Router.routes")["parts"].as_array().unwrap().is_empty());
    let said = text(&asic(&[ROUTER, "--chip", file_name]).stdout);
    let row = said.lines().find(|line| line.starts_with("Router.access_list")).unwrap();
    let columns: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(columns[columns.len() - 3..], ["-", "-", "-"], "{row}");
    let reasons = report["reasons"].to_string();
    assert!(reasons.contains("`Router.routes`, 0 of 65,536 entries: the chip has no TCAM"), "{reasons}");
}

#[test]
fn mistakes_are_named() {
    let said = |args: &[&str], expected: &str| {
        let message = refused(args);
        assert!(message.contains(expected), "{message}");
    };
    said(
        &[ROUTER, "--chip", "tofino"],
        "there is no chip `tofino`; Siding comes with generic-12 and generic-20",
    );
    said(
        &[ROUTER, "--entries", "rotes=5"],
        "no table `rotes` in its ingress and egress; did you mean `routes`?",
    );
    said(&[ROUTER, "--entries", "routes=0"], "`routes` has 0 entries; a table has at least 1");
    said(&[ROUTER, "--entries", "routes"], "expected TABLE=N");
    said(&[ROUTER, "--entries", "=5"], "expected TABLE=N");
    for n in ["-1", "1.5", "1e30", "nan", "", "99999999999999999999"] {
        let expected =
            format!("`{n}` entries for `routes`: N is a whole number from 1 to 18446744073709551615");
        said(&[ROUTER, "--entries", &format!("routes={n}")], &expected);
    }
    said(&[ROUTER, "--entries", "routes=5,routes=6"], "two sizes");
    said(&[ROUTER, "--max", "rotes"], "no table `rotes`");
    said(&[], "PROGRAM");
    let missing = asic(&[ROUTER, "--chip", "no/such.toml"]);
    assert_eq!(missing.status.code(), Some(4));
    assert!(text(&missing.stderr).contains("cannot read no/such.toml"), "{}", text(&missing.stderr));
}

#[test]
fn programs_that_no_chip_runs() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("program.p4");
    let with = |declarations: &str, apply: &str| {
        let program = format!(
            "#include <core.p4>\n#include <v1model.p4>\nheader h_t {{ bit<16> a; bit<16> b; }}\n\
             struct headers_t {{ h_t h; }}\nstruct meta_t {{ bit<16> x; bit<256> wide; }}\n\
             parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {{\n\
             state start {{ p.extract(h.h); transition accept; }} }}\n\
             control V(inout headers_t h, inout meta_t m) {{ apply {{ }} }}\n\
             control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {{\n{declarations}\n\
             apply {{ {apply} }} }}\n\
             control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {{ apply {{ }} }}\n\
             control C(inout headers_t h, inout meta_t m) {{ apply {{ }} }}\n\
             control D(packet_out p, in headers_t h) {{ apply {{ p.emit(h.h); }} }}\n\
             V1Switch(P(), V(), I(), E(), C(), D()) main;\n"
        );
        std::fs::write(&file, program).unwrap();
        let report = json(&[file.to_str().unwrap(), "--Wdisable"], 1);
        report["verdict"].as_str().unwrap().to_string()
    };
    let table = |key: &str| {
        format!(
            "action set(bit<16> x) {{ m.x = x; }}\n\
             table t {{ key = {{ {key} }} actions = {{ set; }} size = 16; }}"
        )
    };
    let wide = with(
        &table(
            "m.wide: ternary; h.h.a: range; m.wide + 1: ternary @name(\"w1\"); m.wide + 2: ternary @name(\"w2\");",
        ),
        "t.apply();",
    );
    assert!(
        wide.contains("`I.t`, 0 of 16 entries: its key takes 100 bytes of the crossbar, which has 66"),
        "{wide}"
    );
    let twice = with(&table("m.x: exact;"), "t.apply(); if (m.x == 3) { t.apply(); }");
    assert!(twice.contains("`I.t` is applied more than once on a path"), "{twice}");
    let cells = with("register<bit<256>>(16) r;", "r.read(m.wide, 1);  s.egress_spec = (bit<9>)m.wide[8:0];");
    assert!(cells.contains("`I.r`: cells of 256 bits, and those of the chip have 64 at most"), "{cells}");
    let huge = with("register<bit<32>>(1000000) r;", "bit<32> x; r.read(x, 1); s.egress_spec = (bit<9>)x;");
    assert!(huge.contains("`I.r`, SRAM: more than a whole stage has"), "{huge}");
    let circle = with(
        &format!("register<bit<16>>(16) r;\n{}", table("h.h.a: exact;")),
        "bit<16> y; r.read(y, 1); h.h.a = y; t.apply(); r.write(1, m.x);",
    );
    assert!(circle.contains("depend on each other: each would need a stage behind the others"), "{circle}");
}
