//! Packages that cannot run can be shown and analysed.

use std::io::Write;
use std::process::{Command, Stdio};

/// Two pipes, each a package of its own, as switch chips have them.
const TWO_PIPES: &str = "
#include <core.p4>
header eth_t { bit<48> dst; bit<48> src; bit<16> type; }
struct headers_t { eth_t eth; }
struct arrival_t { bit<9> port; }
struct decision_t { bit<9> port; bit<1> drop; }
extern Register<T> { Register(bit<32> size); T read(in bit<32> at); void write(in bit<32> at, in T value); }

parser Reader<H>(packet_in packet, out H headers, in arrival_t arrival);
control Decider<H>(inout H headers, in arrival_t arrival, inout decision_t decision);
control Writer<H>(packet_out packet, in H headers);
package Pipe<H>(Reader<H> reader, Decider<H> decider, Writer<H> writer);
package Chip<A, B>(Pipe<A> first, @optional Pipe<B> second);

parser Read(packet_in packet, out headers_t headers, in arrival_t arrival) {
    state start { packet.extract(headers.eth); transition accept; }
}
control First(inout headers_t headers, in arrival_t arrival, inout decision_t decision) {
    Register<bit<32>>(512) seen;
    action send(bit<9> port) { decision.port = port; }
    action discard() { decision.drop = 1; }
    table stations { key = { headers.eth.dst: exact; } actions = { send; discard; } default_action = discard; }
    apply { stations.apply(); seen.write((bit<32>) arrival.port, seen.read((bit<32>) arrival.port) + 1); }
}
control Second(inout headers_t headers, in arrival_t arrival, inout decision_t decision) {
    apply { headers.eth.src = 0; decision.drop = 0; }
}
control Write(packet_out packet, in headers_t headers) { apply { packet.emit(headers.eth); } }
Pipe(Read(), First(), Write()) one;
Pipe(Read(), Second(), Write()) two;
Chip(one, two) main;
";

/// Exit code, standard output and standard error of a command on a program.
fn siding(args: &[&str], program: &str) -> (Option<i32>, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_siding"))
        .args(args)
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(program.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn nested_packages_are_shown() {
    for (args, expected) in [
        (&["ir"][..], &["architecture unknown", "First.stations", "pipeline Own"][..]),
        (&["graph"], &["First.stations", "discard"]),
        (&["graph", "--block", "Second"], &["headers.eth.src = 0", "decision.drop = 0"]),
        (&["graph", "--parser"], &["extract headers.eth"]),
        (&["graph", "--tables"], &["First.stations"]),
        (&["p4info"], &["First.stations"]),
    ] {
        let (code, out, err) = siding(args, TWO_PIPES);
        assert_eq!(code, Some(0), "{args:?}: {err}");
        for text in expected {
            assert!(out.contains(text), "{args:?}: {text} is not in\n{out}");
        }
    }
    // The text of the IR can be read again.
    let (_, text, _) = siding(&["ir"], TWO_PIPES);
    let program = ir::text::parse(&text).unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(ir::validate(&program), Ok(()));
    assert_eq!(program.blocks.len(), 6);
}

/// Registers whose cells are changed by code of the program, as switch chips have them.
const REGISTER_ACTIONS: &str = "
#include <core.p4>
header eth_t { bit<48> dst; bit<48> src; bit<16> type; }
struct headers_t { eth_t eth; }
struct decision_t { bit<9> port; bit<1> drop; }
extern Register<T> { Register(bit<32> size); }
extern RegisterAction<T, U> {
    RegisterAction(Register<T> cells);
    U execute(in bit<32> at);
    abstract void apply(inout T cell, out U result);
}
parser Reader<H>(packet_in packet, out H headers);
control Decider<H>(inout H headers, inout decision_t decision);
control Writer<H>(packet_out packet, in H headers);
package Chip<H>(Reader<H> reader, Decider<H> decider, Writer<H> writer);

parser Read(packet_in packet, out headers_t headers) {
    state start { packet.extract(headers.eth); transition accept; }
}
control Decide(inout headers_t headers, inout decision_t decision) {
    bit<32> floor;
    bit<32> sum;
    Register<bit<32>>(64) totals;
    RegisterAction<bit<32>, bit<32>>(totals) raise = {
        void apply(inout bit<32> cell, out bit<32> result) {
            if (cell < floor) { cell = floor; }
            result = cell;
        }
    };
    RegisterAction<bit<32>, bit<32>>(totals) clear = {
        void apply(inout bit<32> cell, out bit<32> result) { cell = 0; result = 0; }
    };
    action set_floor(bit<32> least) { floor = least; }
    table floors { key = { headers.eth.dst: exact; } actions = { set_floor; } }
    action forget() { clear.execute(0); }
    table special {
        key = { headers.eth.type: exact; }
        actions = { forget; }
        const entries = { 0x1234: forget(); }
    }
    action count() { sum = raise.execute((bit<32>) headers.eth.type); }
    action send(bit<9> port) { decision.port = port; }
    table ports { key = { sum: exact; } actions = { send; } }
    apply { special.apply(); floors.apply(); count(); ports.apply(); }
}
control Write(packet_out packet, in headers_t headers) { apply { packet.emit(headers.eth); } }
Chip(Read(), Decide(), Write()) main;
";

#[test]
fn code_of_registers_counts_for_the_stages_of_a_chip() {
    let (code, out, err) = siding(&["model", "asic", "--json"], REGISTER_ACTIONS);
    assert_eq!(code, Some(0), "{err}");
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    let node = |name: &str| {
        let mut nodes = report["nodes"].as_array().unwrap().iter();
        nodes.find(|node| node["name"] == name).unwrap_or_else(|| panic!("{name} is not in {out}"))
    };
    // The floor comes from a table, the cell is raised to it, and the sum is the key of the last table.
    assert_eq!(report["stages"], 3, "{out}");
    assert_eq!(node("Decide.floors")["parts"][0]["stage"], 0);
    assert_eq!(node("Decide.totals")["parts"][0]["stage"], 1);
    assert_eq!(node("Decide.ports")["parts"][0]["stage"], 2);
    // One constant entry needs no memory.
    assert_eq!(
        (&node("Decide.special")["lookup"], &node("Decide.special")["sram"]),
        (&"gateway".into(), &0.into())
    );
    let used = |resource: &str| -> u64 {
        report["stages_used"].as_array().unwrap().iter().map(|stage| stage[resource].as_u64().unwrap()).sum()
    };
    // That table, and the index that a hash unit carries.
    assert_eq!((used("gateways"), used("hash_distribution")), (2, 1));
    // Two tables of four ways with ten bits each, and the 16 bits of the index.
    assert_eq!(used("hash_bits"), 96);
    // `forget` writes no field.
    assert_eq!((used("instructions"), used("egress_instructions")), (3, 0));
}

#[test]
fn what_cannot_be_shown_says_why() {
    let (code, _, err) = siding(&["run", "--pcap", "x.pcap"], TWO_PIPES);
    assert!(code == Some(3) && err.contains("programs for the package `Chip` cannot be run"), "{err}");
    let unknown = TWO_PIPES.replace("headers.eth.dst: exact", "headers.eth.dst: fuzzy");
    let unknown = unknown.replace("struct headers_t", "match_kind { fuzzy } struct headers_t");
    let (code, _, err) = siding(&["graph"], &unknown);
    assert!(code == Some(3) && err.contains("match kind `fuzzy` cannot be executed"), "{err}");
    let (code, _, err) = siding(&["graph"], "control C(inout bit<8> x) { apply {} }");
    assert!(code == Some(3) && err.contains("has no `main`"), "{err}");
}
