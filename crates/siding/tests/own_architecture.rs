//! Architectures that users describe.

use std::path::Path;
use std::process::Command;

/// Runs the example's test on both backends, with a changed description. Exit code and messages.
fn run_with(change: &[(&str, &str)]) -> (Option<i32>, String) {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/12-described-architecture");
    let mut text = std::fs::read_to_string(example.join("wire.toml")).unwrap();
    for (old, new) in change {
        assert!(text.contains(old), "{old}");
        text = text.replacen(old, new, 1);
    }
    let dir = tempfile::tempdir().unwrap();
    let description = dir.path().join("wire.toml");
    std::fs::write(&description, text).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_siding"))
        .args(["stf", "--backend", "both", "-O0", "--arch-description"])
        .arg(description)
        .args(["wire.p4", "wire.stf"])
        .current_dir(example)
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn described_architectures_run() {
    let (code, said) = run_with(&[]);
    assert_eq!(code, Some(0), "{said}");
    // The description decides: packets that are not accepted go back.
    let back = ("drop = \"not_accepted\"", "send = { port = \"arrival\", contents = \"as_received\" }");
    let (code, said) = run_with(&[back]);
    assert!(code == Some(1) && said.contains("1 packet"), "{said}");
    // The order of steps, too: a packet that is sent before ingress is counted nowhere.
    let early = (
        "{ run = \"ingress\" },",
        "{ when = \"packet_length\", drop = \"early\" },\n    { run = \"ingress\" },",
    );
    let (code, said) = run_with(&[early]);
    assert!(code == Some(1), "{said}");
}

#[test]
fn faults_point_into_the_description_or_the_program() {
    for (change, code, message) in [
        (("role = \"counter\"", "role = \"countr\""), 2, "wire.toml:50:18: unknown variant `countr`"),
        (("port = \"ingress_port\"", "prt = \"ingress_port\""), 3, "`prt` is no field of it"),
        (
            (", \"accept\"]", "]"),
            3,
            "block 2 of the package has 4 parameters, and the architecture's block 3",
        ),
        (
            ("name = \"wire\"", "name = \"v1model\""),
            2,
            "the name `v1model` is that of the architecture v1model",
        ),
        (("[\"packet\", \"headers\"]", "[\"headers\"]"), 2, "the parser needs the packet as a parameter"),
        (("{ run = \"deparser\" },", "{ run = \"egress\" },"), 2, "`blocks` has no block `egress`"),
        (("    { run = \"deparser\" },\n", ""), 2, "no step before it runs the deparser"),
        (("length = \"packet_length\"", "length = \"packet_lenth\""), 2, "unknown variant `packet_lenth`"),
        (
            ("name = \"wire\"", "name = \"wire\"\nonly_for_analysis = true"),
            3,
            "the description of wire is for analyses only",
        ),
        (
            ("\"counter_count\"", "\"register_write\""),
            2,
            "is register_write, an operation of a register, but Tally is a counter",
        ),
        (("role = \"counter\"", "role = \"register\""), 2, "`Tally`: a register needs `data_type`"),
        (
            ("[methods]", "[functions]\nbump = \"counter_count\"\n\n[methods]"),
            2,
            "which only methods of objects can be",
        ),
        (
            ("[\"headers\", \"standard_metadata\"", "[\"standard_metadata\", \"headers\""),
            3,
            "one variable, but their types differ",
        ),
        (
            (
                "[ports]",
                "meanings = [\"x\"]\ndecisions = { x = 8 }\n\
                 assignments = { verify = [{ to = \"x\", value = \"argument 9\" }] }\n[ports]",
            ),
            3,
            "the description of wire names argument 9 of `verify`, which has 2",
        ),
        (
            (
                "[ports]",
                "meanings = [\"x\"]\ndecisions = { x = 8 }\n\
                 assignments = { jump = [{ to = \"x\", value = 1 }] }\n[ports]",
            ),
            3,
            "the description of wire explains the function `jump` (`[assignments]`, line 9), which nothing declares",
        ),
        (
            ("[ports]", "[predicates]\n\"Tally.is_full\" = \"full\"\n[ports]"),
            3,
            "the description of wire explains the method `Tally.is_full` (`[predicates]`, line 8), which nothing",
        ),
        (("width_bits = 8", "width_bits = 0"), 2, "wire.toml:8:14: ports have 1 to 32 bits, not 0"),
        (
            ("role = \"ingress\"", "role = \"parser\""),
            2,
            "wire.toml:15:8: `blocks` has two of the name parser",
        ),
        (("contents = \"deparsed\"", "contents = \"parsd\""), 2, "unknown variant `parsd`"),
    ] {
        let (found, said) = run_with(&[change]);
        assert!(found == Some(code) && said.contains(message), "{change:?}: {found:?} {said}");
    }
}
