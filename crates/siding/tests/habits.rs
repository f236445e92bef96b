//! Users of other tools type commands and files of theirs: one message says what it is and what to type.

use std::path::Path;
use std::process::Command;

/// The exit code and standard error.
fn siding(dir: &Path, args: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_siding")).args(args).current_dir(dir).output().unwrap();
    (output.status.code().unwrap_or(-1), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn programs_of_other_worlds_get_one_message() {
    let dir = tempfile::tempdir().unwrap();
    let p4info = "it is P4Info, which describes a program for controllers; give the P4 program itself";
    let cases: [(&str, &[u8], &str); 6] = [
        (
            "old.p4",
            b"/* old */ header_type h_t { fields { a : 8; } }\n",
            "it is a P4-14 program, and Siding reads P4-16; p4c translates it: \
             p4test --std p4-14 --pp out.p4 old.p4",
        ),
        (
            "table.p4",
            b"table t {\n  reads {\n    h.a : exact;\n  }\n}\n",
            "it is a P4-14 program, and Siding reads P4-16; p4c translates it: \
             p4test --std p4-14 --pp out.p4 table.p4",
        ),
        (
            "x.json",
            b"{\"header_types\": [], \"pipelines\": []}",
            "it is the BMv2 JSON that p4c writes; give the P4 program from which it was made",
        ),
        ("x.txtpb", b"pkg_info {\n  arch: \"v1model\"\n}\n", p4info),
        ("info.json", b"{\"pkgInfo\": {}}", p4info),
        ("binary", b"\x7fELF\x02\x01\x01\0\0\0", "it is not text; give the source of a P4-16 program"),
    ];
    for (name, bytes, what) in cases {
        std::fs::write(dir.path().join(name), bytes).unwrap();
        let wanted = format!("error: cannot compile {name}: {what}\n");
        assert_eq!(siding(dir.path(), &["check", name]), (3, wanted.clone()));
        assert_eq!(siding(dir.path(), &["trace", name, "-p", "00"]), (3, wanted.clone()));
        assert_eq!(siding(dir.path(), &["p4info", name]), (3, wanted));
    }
}

#[test]
fn signs_of_p4_14_in_comments_are_no_signs() {
    let dir = tempfile::tempdir().unwrap();
    let text = "// header_type h_t {\n/* reads { */ const bit<8> x = 1;\n";
    std::fs::write(dir.path().join("new.p4"), text).unwrap();
    assert_eq!(siding(dir.path(), &["check", "new.p4"]).0, 0);
}

#[test]
fn standards_other_than_p4_16_are_explained() {
    let dir = tempfile::tempdir().unwrap();
    for args in [["check", "--std=p4-14", "x.p4"], ["check", "--p4v=14", "x.p4"]] {
        let (code, stderr) = siding(dir.path(), &args);
        assert_eq!(code, 2);
        assert!(stderr.contains("p4test --std p4-14 --pp out.p4 in.p4"), "{stderr}");
    }
}

#[test]
fn u01_actions_assign_their_data_if_an_option_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let text = r"
#include <core.p4>
#include <v1model.p4>
header Request { bit<8> key; bit<8> n; }
struct Headers { Request request; }
struct Metadata { }
parser P(packet_in packet, out Headers h, inout Metadata m, inout standard_metadata_t s) {
    state start { packet.extract(h.request); transition accept; }
}
control V(inout Headers h, inout Metadata m) { apply { } }
control I(inout Headers h, inout Metadata m, inout standard_metadata_t s) {
    action count(bit<8> n, bit<9> port) {
        n = n + 1;
        h.request.n = n;
        s.egress_spec = port;
    }
    table flows {
        key = { h.request.key: exact; }
        actions = { count; NoAction; }
        default_action = NoAction();
        entries = { 1: count(5, 2); }
    }
    apply { flows.apply(); }
}
control E(inout Headers h, inout Metadata m, inout standard_metadata_t s) { apply { } }
control C(inout Headers h, inout Metadata m) { apply { } }
control D(packet_out packet, in Headers h) { apply { packet.emit(h.request); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
";
    std::fs::write(dir.path().join("count.p4"), text).unwrap();
    let script = "packet 0 0100\nexpect 2 0106 $\npacket 0 0100\nexpect 2 0107 $\n";
    std::fs::write(dir.path().join("count.stf"), script).unwrap();
    let (code, stderr) = siding(dir.path(), &["check", "count.p4"]);
    assert_eq!(code, 3, "{stderr}");
    for remedy in ["`rmw`", "`@__ref`", "`--assignable-action-data`"] {
        assert!(stderr.contains(remedy), "{stderr}");
    }
    let option = "--assignable-action-data";
    let (code, stderr) = siding(dir.path(), &["check", option, "count.p4"]);
    assert_eq!(code, 0, "{stderr}");
    let (code, stderr) = siding(dir.path(), &["stf", option, "--backend", "both", "count.p4", "count.stf"]);
    assert_eq!(code, 0, "{stderr}");
}

#[test]
fn commands_of_other_tools_are_answered() {
    let dir = tempfile::tempdir().unwrap();
    for (word, wanted) in [
        ("compile", "siding build PROGRAM"),
        ("p4c", "siding build PROGRAM"),
        ("test", "siding stf PROGRAM TEST.stf"),
        ("simulate", "siding run PROGRAM --pcap FILE"),
        ("table_add", "siding ctl table_add TABLE ACTION KEY... '=>' PARAMETER..."),
    ] {
        let (code, stderr) = siding(dir.path(), &[word, "x.p4"]);
        assert_eq!(code, 2);
        assert!(stderr.starts_with(&format!("error: Siding has no command `{word}`; ")), "{stderr}");
        assert!(stderr.contains(wanted), "{stderr}");
    }
}

#[test]
fn mistyped_includes_get_the_name_that_was_meant() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.p4"), "#include <v1modle.p4>\n").unwrap();
    let (code, stderr) = siding(dir.path(), &["check", "a.p4"]);
    assert_eq!(code, 3);
    assert!(stderr.contains("a similar name exists: `v1model.p4`"), "{stderr}");
    assert!(stderr.contains("#include <v1model.p4>"), "{stderr}");
}

#[test]
fn externs_that_nobody_supplies_are_told_when_the_program_is_loaded() {
    let dir = tempfile::tempdir().unwrap();
    let program = "#include <v1model.p4>
extern bit<8> mystery(in bit<8> x);
header h_t { bit<8> f; }
struct headers_t { h_t h; }
struct meta_t {}
parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    state start { p.extract(h.h); transition accept; }
}
control V(inout headers_t h, inout meta_t m) { apply {} }
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply { h.h.f = mystery(h.h.f); }
}
control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) { apply {} }
control C(inout headers_t h, inout meta_t m) { apply {} }
control D(packet_out p, in headers_t h) { apply { p.emit(h.h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
";
    std::fs::write(dir.path().join("a.p4"), program).unwrap();
    std::fs::write(dir.path().join("a.stf"), "packet 0 00\n").unwrap();
    for args in [&["trace", "a.p4", "-p", "00"][..], &["run", "a.p4", "a.stf"]] {
        let (code, stderr) = siding(dir.path(), args);
        assert_eq!(code, 0, "{stderr}");
        assert!(stderr.contains("nobody supplies the extern `mystery`"), "{stderr}");
    }
}
