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
