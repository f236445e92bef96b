//! The command line from outside: exit codes, streams, formats.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

struct Run {
    code: i32,
    stdout: String,
    stderr: String,
}

fn siding_with(dir: &Path, args: &[&str], stdin: &str, env: &[(&str, &str)]) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_siding"))
        .args(args)
        .current_dir(dir)
        .env_remove("P4C")
        .envs(env.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn siding(dir: &Path, args: &[&str]) -> Run {
    siding_with(dir, args, "", &[])
}

fn dir(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    dir
}

const GOOD: &str = "const bit<8> x = 1;\n";
const BAD: &str = "const bit<8> x = ;\n";
const RUNNABLE: &str = "\
#include <core.p4>
#include <v1model.p4>
struct H {}
struct M {}
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) { state start { transition accept; } }
control V(inout H h, inout M m) { apply {} }
control I(inout H h, inout M m, inout standard_metadata_t s) { apply { s.egress_spec = 1; } }
control E(inout H h, inout M m, inout standard_metadata_t s) { apply {} }
control D(packet_out p, in H h) { apply {} }
V1Switch(P(), V(), I(), E(), V(), D()) main;
";

#[test]
fn exit_codes() {
    let d = dir(&[("good.p4", GOOD), ("bad.p4", BAD)]);
    let cases: &[(&[&str], i32)] = &[
        (&["check", "good.p4"], 0),
        (&["check", "bad.p4"], 3),
        (&["check", "good.p4", "bad.p4"], 3),
        (&["check", "none.p4"], 4),
        (&["check"], 2),
        (&["check", "--no-such-flag", "good.p4"], 2),
        (&["no-such-command"], 2),
        (&["--version"], 0),
        (&["--help"], 0),
        (&["check", "--std", "p4-14", "good.p4"], 2),
        (&["conformance", "accept"], 2),
        (&["conformance", "--p4c", ".", "accept"], 4),
        (&["explain", "P9999"], 2),
        (&["explain"], 0),
    ];
    for (args, code) in cases {
        let run = siding(d.path(), args);
        assert_eq!(run.code, *code, "{args:?}: {}{}", run.stdout, run.stderr);
    }
}

#[test]
fn habits_of_p4c_users_are_honoured() {
    let d = dir(&[
        (
            "main.p4",
            "#include <w.p4>\n#include \"local.p4\"\n#if N == 3 && !defined(GONE)\nconst bit<W> x = L;\n#endif\n",
        ),
        ("local.p4", "#define L 1\n"),
        ("inc/w.p4", "#define W 8\n"),
    ]);
    let args = [
        "check",
        "--p4v",
        "16",
        "--std",
        "p4-16",
        "-std=p4-16",
        "--arch",
        "v1model",
        "-b",
        "bmv2",
        "-Iinc",
        "-I",
        "inc",
        "-DN=3",
        "-D",
        "GONE",
        "-UGONE",
        "--Wdisable",
        "--Werror=deprecated",
        "--Wwarn=shadow",
        "--Winfo",
        "--maxErrorCount",
        "100",
        "--ndebug",
        "main.p4",
    ];
    let run = siding(d.path(), &args);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let run = siding(d.path(), &["check", "-E", "-Iinc", "-DN=3", "main.p4"]);
    assert_eq!(run.code, 0);
    assert!(run.stdout.contains("const bit<8> x = 1;"), "{}", run.stdout);
}

#[test]
fn spellings_of_other_tools_are_understood() {
    let d = dir(&[("good.p4", GOOD)]);
    let run = siding(d.path(), &["check", "-Wall", "-Wdisable=missing", "-Wdisable=unused", "good.p4"]);
    assert!(run.code == 0 && run.stderr.is_empty(), "{}", run.stderr);
    let run = siding(d.path(), &["check", "-Werror", "good.p4"]);
    assert!(run.code == 3 && run.stderr.contains("error[P1911]"), "{}", run.stderr);
    let run = siding(d.path(), &["check", "-o", "x.json", "good.p4"]);
    assert!(run.code == 2 && run.stderr.contains("siding build -o"), "{}", run.stderr);
    let run = siding(d.path(), &["switch", "-i", "0@nosuchinterface", "--pcap", "out", "--workers", "-1"]);
    assert!(run.code == 2 && run.stderr.contains("expected a whole number from 1 to 256"), "{}", run.stderr);
    let args = ["switch", "--ctl-socket", "ctl", "-i", "0@nosuchinterface", "--pcap", "out"];
    let run = siding(d.path(), &args);
    assert!(run.stderr.contains("nosuchinterface") && d.path().join("out").is_dir(), "{}", run.stderr);
}

#[test]
fn typing_errors_get_the_nearest_word() {
    let d = dir(&[("good.p4", GOOD)]);
    let run = siding(d.path(), &["check", "--eror-format=short", "good.p4"]);
    assert!(run.stderr.contains("'--error-format'"), "{}", run.stderr);
    let run = siding(d.path(), &["chek", "good.p4"]);
    assert!(run.stderr.contains("'check'"), "{}", run.stderr);
    let run = siding(d.path(), &["good.p4"]);
    assert!(run.code == 2 && run.stderr.contains("siding check good.p4"), "{}", run.stderr);
    let run = siding(d.path(), &["check", "--Werror=include-not-fond", "good.p4"]);
    assert!(run.stderr.contains("did you mean `include-not-found`?"), "{}", run.stderr);
    assert_eq!(run.code, 0, "names that only p4c knows are no error");
}

#[test]
fn formats() {
    let d = dir(&[("bad.p4", BAD)]);
    let human = siding(d.path(), &["check", "bad.p4"]);
    assert!(human.stdout.is_empty() && !human.stderr.contains('\x1b'), "{}", human.stderr);
    assert!(human.stderr.contains(" --> bad.p4:1:"), "{}", human.stderr);
    assert!(human.stderr.ends_with("\n1 error\n"), "{}", human.stderr);
    let colored = siding(d.path(), &["check", "--color=always", "bad.p4"]);
    assert!(colored.stderr.contains('\x1b'));

    let short = siding(d.path(), &["check", "--error-format=short", "bad.p4"]);
    let first = short.stderr.lines().next().unwrap();
    assert!(first.starts_with("bad.p4:1:18: error[P0"), "{first}");

    let json = siding(d.path(), &["check", "--error-format=json", "bad.p4"]);
    assert!(json.stderr.is_empty());
    for line in json.stdout.lines() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(value["version"], 1);
        assert_eq!(value["primary"]["place"]["file"], "bad.p4");
    }
    let sarif = siding(d.path(), &["check", "--error-format=sarif", "bad.p4"]);
    let log: serde_json::Value = serde_json::from_str(&sarif.stdout).unwrap();
    assert_eq!(log["version"], "2.1.0");
    assert_eq!(log["runs"][0]["results"][0]["level"], "error");
}

#[test]
fn standard_input_and_error_limit() {
    let d = dir(&[]);
    let run = siding_with(d.path(), &["check", "-"], BAD, &[]);
    assert_eq!(run.code, 3);
    assert!(run.stderr.contains("<stdin>:1:18"), "{}", run.stderr);
    let many = BAD.repeat(5);
    let run = siding_with(d.path(), &["check", "--error-format=short", "--maxErrorCount=2", "-"], &many, &[]);
    assert_eq!(run.stderr.matches("error[").count(), 2, "{}", run.stderr);
    assert!(run.stderr.ends_with(" errors\n"), "{}", run.stderr);
    assert!(run.stderr.contains("more errors are not shown"), "{}", run.stderr);
}

#[test]
fn conformance_says_how_to_get_the_programs() {
    let d = dir(&[]);
    let run = siding(d.path(), &["conformance"]);
    assert!(run.stderr.contains("git clone --depth 1 https://github.com/p4lang/p4c"), "{}", run.stderr);
}

#[test]
fn completions_and_manual() {
    let d = dir(&[]);
    assert!(siding(d.path(), &["completions", "bash"]).stdout.contains("complete "));
    assert!(siding(d.path(), &["man"]).stdout.starts_with(".ie"));
}

#[test]
fn formatting() {
    let ugly = "const   bit<8> x=1;\n";
    let d = dir(&[("ugly.p4", ugly), ("bad.p4", "const bit<8> x = \"open;\n")]);
    let path = d.path().join("ugly.p4");
    let shown = siding(d.path(), &["fmt", "ugly.p4"]);
    assert_eq!((shown.code, shown.stdout.as_str()), (0, GOOD), "{}", shown.stderr);
    let checked = siding(d.path(), &["fmt", "--check", "ugly.p4"]);
    assert_eq!((checked.code, checked.stdout.as_str()), (1, "ugly.p4 is not formatted\n"));
    let diff = siding(d.path(), &["fmt", "--diff", "ugly.p4"]);
    assert!(diff.stdout.contains(&format!("-{ugly}+{GOOD}")), "{}", diff.stdout);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), ugly, "only -w writes");
    assert_eq!(siding(d.path(), &["fmt", "-w", "ugly.p4"]).code, 0);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), GOOD);
    assert_eq!(siding(d.path(), &["fmt", "--check", "ugly.p4"]).code, 0);
    assert_eq!(siding_with(d.path(), &["fmt", "-"], ugly, &[]).stdout, GOOD);
    let bad = siding(d.path(), &["fmt", "-w", "bad.p4"]);
    assert_eq!(bad.code, 3);
    assert!(bad.stderr.contains("error[P0003]"), "{}", bad.stderr);
}

#[test]
fn p4info_in_all_forms() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let router = examples.join("01-router/router.p4").to_string_lossy().into_owned();
    let d = dir(&[("bad.p4", BAD)]);
    let run = siding(d.path(), &["p4info", &router]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("name: \"Router.routes\""), "{}", run.stdout);
    let files = "--p4runtime-files=a.p4info.txtpb,b.json,c.bin";
    let run = siding(d.path(), &["check", files, "--p4runtime-entries-files", "e.txtpb", &router]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let decode = |name: &str, format| {
        let bytes = std::fs::read(d.path().join(name)).unwrap();
        p4info::decode_p4info(&bytes, format).unwrap()
    };
    let text = decode("a.p4info.txtpb", p4info::Format::Text);
    assert_eq!(text, decode("b.json", p4info::Format::Json));
    assert_eq!(text, decode("c.bin", p4info::Format::Binary));
    assert!(d.path().join("e.txtpb").exists());

    let run = siding(d.path(), &["p4info", "--format", "json", "-o", "x.any", "--entries", "-", &router]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(text, decode("x.any", p4info::Format::Json));
    assert_eq!(siding(d.path(), &["p4info", "bad.p4"]).code, 3);
    assert_eq!(siding(d.path(), &["check", "--p4runtime-files=a.xyz", &router]).code, 2);
}

#[test]
fn p4info_names_the_architecture_that_was_asked_for() {
    let program = "#include <core.p4>\n#include <v1model.p4>\ncontrol C();\npackage Own(C c);\n\
        control MyC() {\n    counter(32w8, CounterType.bytes) bytes;\n    apply { bytes.count(32w0); }\n}\nOwn(MyC()) main;\n";
    let d = dir(&[("own.p4", program)]);
    let run = siding(d.path(), &["p4info", "own.p4"]);
    assert!(run.stdout.contains("arch: \"Own\"") && !run.stdout.contains("counters"), "{}", run.stdout);
    assert_eq!(run.stderr, "1 warning; siding p4info own.p4 --warnings=show shows it\n");
    let run = siding(d.path(), &["p4info", "own.p4", "--warnings=show"]);
    assert!(run.stderr.contains("P2157"), "{}", run.stderr);
    for args in [&["p4info", "--arch", "v1model", "own.p4"][..], &["p4info", "-a=v1model", "own.p4"]] {
        let run = siding(d.path(), args);
        assert!(run.stdout.contains("arch: \"v1model\""), "{}", run.stdout);
        assert!(run.stdout.contains("counters {") && run.stderr.is_empty(), "{}{}", run.stdout, run.stderr);
    }
    let files = ["check", "--arch", "psa", "--p4runtime-files", "own.txtpb", "own.p4"];
    assert_eq!(siding(d.path(), &files).code, 0);
    assert!(std::fs::read_to_string(d.path().join("own.txtpb")).unwrap().contains("arch: \"psa\""));
    let run = siding(d.path(), &["p4info", "--arch", "v1modl", "own.p4"]);
    assert!(run.code == 2 && run.stderr.contains("'v1model'"), "{}", run.stderr);
}

/// Runs a shell command in `dir`, where `siding` is the program under test.
fn shell(dir: &Path, command: &str) -> std::process::Output {
    Command::new("sh")
        .args(["-c", &format!("siding() {{ '{}' \"$@\"; }}; {command}", env!("CARGO_BIN_EXE_siding"))])
        .current_dir(dir)
        .output()
        .unwrap()
}

/// Names of the files in a directory.
fn names(dir: &Path) -> Vec<std::ffi::OsString> {
    let mut names: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    names
}

#[test]
fn files_that_do_not_fit_stay_as_they_are() {
    let text = "const   bit<8> x = 1;\n".repeat(100);
    let d = dir(&[("a.p4", &text), ("b.p4", GOOD), ("out.c", &text)]);
    // A limit on the size of files does what a full disk does. Without the signal, writing fails.
    let limited = |command: &str| shell(d.path(), &format!("trap '' XFSZ; ulimit -f 1; {command}"));
    let cases =
        ["siding fmt -w a.p4", "siding build --emit c -o out.c main.p4", "siding check --pp out.c a.p4"];
    std::fs::write(d.path().join("main.p4"), RUNNABLE).unwrap();
    let before = names(d.path());
    for case in cases {
        let run = limited(case);
        let stderr = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!(run.status.code(), Some(4), "{case}: {stderr}");
        assert!(stderr.contains("cannot write"), "{case}: {stderr}");
        for file in ["a.p4", "out.c"] {
            let left = std::fs::read_to_string(d.path().join(file)).unwrap();
            assert!(left == text, "{case}: {file} has {} bytes", left.len());
        }
        assert_eq!(names(d.path()), before, "{case}");
    }
}

#[test]
fn replaced_files_keep_permissions_and_links() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let d = dir(&[("a.p4", "const   bit<8> x=1;\n"), ("b.p4", "const   bit<8> x=1;\n")]);
    let path = |name: &str| d.path().join(name);
    std::fs::set_permissions(path("a.p4"), std::fs::Permissions::from_mode(0o640)).unwrap();
    symlink("a.p4", path("link.p4")).unwrap();
    std::fs::hard_link(path("b.p4"), path("same.p4")).unwrap();
    assert_eq!(siding(d.path(), &["fmt", "-w", "link.p4", "b.p4"]).code, 0);
    assert!(path("link.p4").is_symlink());
    assert_eq!(std::fs::metadata(path("a.p4")).unwrap().permissions().mode() & 0o777, 0o640);
    for name in ["a.p4", "same.p4"] {
        assert_eq!(std::fs::read_to_string(path(name)).unwrap(), GOOD, "{name}");
    }
}

#[test]
fn lost_output_is_no_success() {
    let test = "packet 0 00\nexpect 1 00\n";
    let d = dir(&[("main.p4", RUNNABLE), ("ugly.p4", "const   bit<8> x=1;\n"), ("t.stf", test)]);
    let commands = [
        "--help",
        "--version",
        "check --help",
        "run main.p4 t.stf",
        "trace main.p4 -p 00",
        "stf main.p4 t.stf",
        "p4info main.p4",
        "ir main.p4",
        "fmt ugly.p4",
        "fmt --diff ugly.p4",
        "graph main.p4",
        "check -E main.p4",
        "check --error-format=sarif main.p4",
        "build --emit c -o - main.p4",
        "explain P0001",
    ];
    for command in commands {
        let run = shell(d.path(), &format!("siding {command} >/dev/full"));
        let stderr = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!(run.status.code(), Some(4), "{command}: {stderr}");
        assert_eq!(stderr.matches("cannot write to standard output").count(), 1, "{command}: {stderr}");
        // A reader that has gone away is no error.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let run = Command::new(env!("CARGO_BIN_EXE_siding"))
            .args(command.split(' '))
            .current_dir(d.path())
            .stdout(writer)
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!(run.status.code(), Some(0), "{command}: {stderr}");
    }
}

#[test]
fn product_of_a_file_whose_name_is_not_utf8() {
    use std::os::unix::ffi::OsStrExt;
    let d = tempfile::tempdir().unwrap();
    let name = |bytes: &[u8]| std::ffi::OsStr::from_bytes(bytes).to_os_string();
    std::fs::write(d.path().join(name(b"a\xff.p4")), RUNNABLE).unwrap();
    let status = Command::new(env!("CARGO_BIN_EXE_siding"))
        .args([name(b"build"), name(b"--emit"), name(b"p4info"), name(b"a\xff.p4")])
        .current_dir(d.path())
        .status()
        .unwrap();
    assert!(status.success());
    assert_eq!(names(d.path()), [name(b"a\xff.p4"), name(b"a\xff.p4info.txtpb")]);
}

/// A named pipe that nobody writes to, where a file is expected.
#[test]
fn a_pipe_is_not_included() {
    let d = dir(&[("main.p4", "#include \"pipe.p4\"\n")]);
    assert!(shell(d.path(), "mkfifo pipe.p4").status.success());
    let r = siding(d.path(), &["check", "main.p4"]);
    assert_eq!(r.code, 3);
    assert!(r.stderr.contains("error[P0014]: cannot read `pipe.p4`: it is a named pipe"), "{}", r.stderr);
}

/// A capture in little-endian pcap with one packet of one byte.
fn capture(link_type: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65535, link_type, 0, 0, 1, 1] {
        bytes.extend(u32::to_le_bytes(word));
    }
    bytes.push(0x45);
    bytes
}

#[test]
fn captures_of_other_link_types_are_refused() {
    let d = dir(&[("main.p4", RUNNABLE)]);
    std::fs::write(d.path().join("ip.pcap"), capture(101)).unwrap();
    std::fs::write(d.path().join("ethernet.pcap"), capture(1)).unwrap();
    let r = siding(d.path(), &["run", "main.p4", "--pcap", "ip.pcap", "-q"]);
    assert_eq!(r.code, 4, "{}{}", r.stdout, r.stderr);
    let expected = "the packets are of link type 101 (raw IP); expected 1 (Ethernet); --any-link-type takes";
    assert!(r.stderr.contains(expected), "{}", r.stderr);
    let any = ["run", "main.p4", "--pcap", "ip.pcap", "-q", "--any-link-type", "-o", "out"];
    let r = siding(d.path(), &any);
    assert_eq!(r.code, 0, "{}{}", r.stdout, r.stderr);
    // The packets that leave are what those that came were.
    let written = std::fs::read(d.path().join("out/1.pcap")).unwrap();
    assert_eq!(written[20..24], u32::to_le_bytes(101));
    assert_eq!(siding(d.path(), &["run", "main.p4", "--pcap", "ethernet.pcap", "-q"]).code, 0);
}

#[test]
fn packets_of_scripts_arrive_at_ports_that_there_are() {
    for (port, told) in
        [("512", "the largest port of this architecture is 511"), ("511", "it is the drop port")]
    {
        let d = dir(&[("main.p4", RUNNABLE), ("t.stf", &format!("packet {port} 00\n"))]);
        for command in ["stf", "run"] {
            let run = siding(d.path(), &[command, "main.p4", "t.stf"]);
            assert_ne!(run.code, 0, "{command}: {}", run.stdout);
            assert!(run.stderr.contains("P2531") && run.stderr.contains(told), "{command}: {}", run.stderr);
        }
    }
    let d = dir(&[("main.p4", RUNNABLE), ("t.stf", "mirroring_add 1 999\npacket 0 00\n")]);
    let run = siding(d.path(), &["run", "main.p4", "t.stf"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("the largest port of this architecture is 511"), "{}", run.stderr);
}

/// Where the cache cannot be, another directory serves, and that is said.
#[test]
fn a_cache_that_cannot_be_made_is_replaced() {
    let d = dir(&[("main.p4", RUNNABLE), ("t.stf", "packet 0 00\nexpect 1 00\n"), ("file", "")]);
    let home = d.path().join("file").display().to_string();
    let env = [("XDG_CACHE_HOME", home.as_str()), ("HOME", home.as_str())];
    let run = siding_with(d.path(), &["run", "--backend", "native", "-O0", "main.p4", "t.stf"], "", &env);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("warning: "), "{}", run.stderr);
}

/// Programs of one's own, with p4c's output beside them.
#[test]
fn programs_of_a_directory_are_judged() {
    let d = dir(&[
        ("good.p4", RUNNABLE),
        ("good.stf", "packet 0 00\nexpect 1 00\n"),
        ("part.p4", "const bit<8> x = 1;\n"),
    ]);
    let p4info = siding(d.path(), &["p4info", "good.p4"]).stdout;
    std::fs::write(d.path().join("good.p4info.txtpb"), &p4info).unwrap();
    let run = siding(d.path(), &["conformance", "--programs", "."]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    for suite in [
        "accept: 1 of 1",
        "p4info: 1 of 1",
        "ir: 1 of 1",
        "stf: 1 of 1",
        "stf-native: 1 of 1",
        "load-native: 1 of 1",
    ] {
        assert!(run.stdout.contains(suite), "{suite}: {}", run.stdout);
    }
    // Other output than ours, and a program that is refused.
    std::fs::write(d.path().join("good.p4info.txtpb"), "tables { preamble { id: 1 name: \"t\" } }\n")
        .unwrap();
    std::fs::write(d.path().join("bad.p4"), RUNNABLE.replace("egress_spec = 1", "egress_spec = nothing"))
        .unwrap();
    let run = siding(d.path(), &["conformance", "--programs", ".", "accept", "p4info"]);
    assert_eq!(run.code, 1);
    assert!(run.stdout.contains("FAIL bad.p4: ") && run.stdout.contains("accept: 1 of 2"), "{}", run.stdout);
    assert!(run.stdout.contains("p4info: 0 of 1"), "{}", run.stdout);
    let run = siding(d.path(), &["conformance", "--programs", ".", "reject"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("--programs goes with the suites"), "{}", run.stderr);
}
