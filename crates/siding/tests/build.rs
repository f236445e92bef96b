//! `siding build`, and what it is for, from outside: products, exit codes, backends that do the same.
//!
//! `SIDING_BLESS=1` writes `tests/golden`, for review.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compiles fast, into a cache of its own.
struct Workshop(tempfile::TempDir);

impl Workshop {
    fn new() -> Workshop {
        Workshop(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn siding(&self, args: &[&str]) -> Output {
        self.siding_with(args, &[])
    }

    fn siding_with(&self, args: &[&str], env: &[(&str, &str)]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_siding"))
            .args(args)
            .current_dir(self.0.path())
            .env("XDG_CACHE_HOME", self.path("cache"))
            .env_remove("CC")
            .envs(env.iter().copied())
            .output()
            .unwrap()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn example(name: &str) -> String {
    root().join("examples").join(name).to_string_lossy().into_owned()
}

fn emit_c(workshop: &Workshop, program: &str) -> Vec<u8> {
    let output = workshop.siding(&["build", "--Wdisable", "--emit", "c", "-o", "-", program]);
    assert!(output.status.success(), "{program}: {}", text(&output.stderr));
    output.stdout
}

/// Decisions about a router, a switch with a prefetch group, an asynchronous program, and tables with profiles, with ternary
/// keys, with both kinds of suspension, and with actions that change their entries in each way.
#[test]
fn plans_are_as_reviewed() {
    let programs = [
        ("router", "examples/01-router/router.p4"),
        ("l2_switch", "examples/02-l2-switch/l2_switch.p4"),
        ("slow_work", "examples/03-slow-work/slow_work.p4"),
        ("profiles", "tests/programs/profiles/program.p4"),
        ("ternary", "tests/programs/ternary/program.p4"),
        ("bursts", "tests/programs/bursts/program.p4"),
        ("sharded", "tests/programs/state/u05_sharded.p4"),
        ("sync", "tests/programs/state/sync.p4"),
    ];
    let workshop = Workshop::new();
    for (name, program) in programs {
        let program = root().join(program);
        let program = program.to_string_lossy();
        let output = workshop.siding(&["build", "--Wdisable", "--emit", "plan", "-o", "-", &program]);
        assert!(output.status.success(), "{name}: {}", text(&output.stderr));
        let golden = root().join(format!("tests/golden/plan/{name}.txt"));
        if std::env::var_os("SIDING_BLESS").is_some() {
            std::fs::create_dir_all(golden.parent().unwrap()).unwrap();
            std::fs::write(&golden, &output.stdout).unwrap();
        }
        let expected = text(&std::fs::read(&golden).unwrap_or_default());
        assert_eq!(expected, text(&output.stdout), "{name}: SIDING_BLESS=1 takes it over");
    }
}

#[test]
fn the_same_program_gives_the_same_c() {
    let workshop = Workshop::new();
    let mut programs = vec![example("01-router/router.p4"), example("02-l2-switch/l2_switch.p4")];
    let mut dirs: Vec<PathBuf> = std::fs::read_dir(root().join("tests/programs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    dirs.retain(|dir| dir.join("program.p4").is_file());
    dirs.sort();
    programs.extend(dirs.iter().map(|dir| dir.join("program.p4").to_string_lossy().into_owned()));
    assert!(programs.len() > 30, "the programs are there");
    for program in programs {
        let first = emit_c(&workshop, &program);
        assert!(first == emit_c(&workshop, &program), "{program}");
        assert!(text(&first).contains("sd_pipeline"), "{program}");
    }
}

#[test]
fn archives_have_everything_in_them() {
    let workshop = Workshop::new();
    let router = example("01-router/router.p4");
    let args = ["build", "-O0", "--json", "--p4runtime-files", "info.json", &router];
    let output = workshop.siding(&args);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(summary["output"], "router.sdp");
    assert!(workshop.path("info.json").is_file());

    let bytes = std::fs::read(workshop.path("router.sdp")).unwrap();
    assert_eq!(summary["bytes"], bytes.len());
    let mut archive = tar::Archive::new(bytes.as_slice());
    let mut files = std::collections::BTreeMap::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().to_string_lossy().into_owned();
        let mut content = Vec::new();
        std::io::Read::read_to_end(&mut entry, &mut content).unwrap();
        assert!(!content.is_empty() || name == "entries.bin", "{name}");
        files.insert(name, content);
    }
    for name in ["p4info.txtpb", "p4info.bin", "layout.json", "manifest.json", "src/0.p4", "rt/sd_abi.h"] {
        assert!(files.contains_key(name), "{name} is in {:?}", files.keys());
    }
    assert!(files["pipeline.so"].starts_with(b"\x7fELF"));
    assert_eq!(files["src/0.p4"], std::fs::read(&router).unwrap());
    let manifest: serde_json::Value = serde_json::from_slice(&files["manifest.json"]).unwrap();
    assert_eq!(manifest["architecture"], "v1model");
    let layout: serde_json::Value = serde_json::from_slice(&files["layout.json"]).unwrap();
    let tables: Vec<&str> =
        layout["tables"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert!(tables.contains(&"Router.access_list"), "{tables:?}");
    assert!(layout["state_bytes"].as_u64().unwrap() > 0);

    let again = workshop.siding(&["build", "-O0", "-o", "again.sdp", &router]);
    assert!(again.status.success());
    assert!(bytes == std::fs::read(workshop.path("again.sdp")).unwrap(), "the same content, the same bytes");
}

#[test]
fn failures_have_their_exit_codes() {
    let workshop = Workshop::new();
    std::fs::write(workshop.path("bad.p4"), "const bit<8> x = ;\n").unwrap();
    std::fs::write(workshop.path("not_a_compiler"), "").unwrap();
    let router = example("01-router/router.p4");
    let cases: &[(&[&str], i32, &str)] = &[
        (&["build", "bad.p4"], 3, "error[P0"),
        (&["build", "none.p4"], 4, "cannot read none.p4"),
        (&["build", "--cc", "no-such-compiler", &router], 4, "apt-get install gcc"),
        (
            &["build", "--cflags=-Dsd_never=", "--emit", "so", "-o", "/no/such/dir/x.so", "-O0", &router],
            4,
            "cannot write",
        ),
        (&["build", "-O4", &router], 2, "expected a whole number from 0 to 3"),
        (&["build", "--p4runtime-files", "x.yaml", &router], 2, "unknown suffix"),
        (&["build", "-O0", "--cflags", "-Dp4_Ethernet=7", &router], 4, "The C text is kept in"),
        (
            &["build", "-O0", "--no-cache", "--cflags", "-Dp4_Ethernet=7", &router],
            4,
            "not Siding's: -Dp4_Ethernet=7",
        ),
    ];
    for (args, code, message) in cases {
        let output = workshop.siding(args);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(*code), "{args:?}: {stderr}");
        assert!(stderr.contains(message), "{args:?}: {stderr}");
    }
    // What was refused can be looked at.
    let output = workshop.siding(&["build", "-O0", "--no-cache", "--cflags=-Dp4_Ethernet=7", &router]);
    let stderr = text(&output.stderr);
    let kept = stderr.lines().find_map(|line| line.strip_prefix("The C text is kept in ")).unwrap();
    assert!(std::fs::read_to_string(kept).unwrap().contains("sd_runtime.h"));
    std::fs::remove_file(kept).unwrap();
}

#[test]
fn compilers_are_chosen_by_option_before_variable() {
    let workshop = Workshop::new();
    let l2_switch = example("02-l2-switch/l2_switch.p4");
    let args = ["build", "-O0", "--emit", "so", &l2_switch];
    let output = workshop.siding_with(&args, &[("CC", "no-such-compiler")]);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    let args = ["build", "-O0", "--emit", "so", "--cc", "cc", &l2_switch];
    let output = workshop.siding_with(&args, &[("CC", "no-such-compiler")]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(workshop.path("l2_switch.so").is_file());
}

#[test]
fn compiled_code_tells_the_same_story() {
    let workshop = Workshop::new();
    let (program, script) = (example("01-router/router.p4"), example("01-router/router.stf"));
    let told = |backend: &[&str]| {
        let args = [&["run", "--Wdisable"], backend, &[program.as_str(), script.as_str()]].concat();
        let output = workshop.siding(&args);
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    let expected = told(&[]);
    assert!(expected.contains("Table `"), "{expected}");
    assert_eq!(told(&["--backend", "native", "--trace", "-O0"]), expected);
    let refused = workshop.siding(&["run", "--trace", &program, &script]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
}

#[test]
fn engines_do_the_same() {
    let workshop = Workshop::new();
    let (router, script) = (example("01-router/router.p4"), example("01-router/router.stf"));
    for backend in ["native", "both"] {
        let output = workshop.siding(&["run", "--quiet", "-O0", "--backend", backend, &router, &script]);
        assert!(output.status.success(), "{backend}: {}{}", text(&output.stdout), text(&output.stderr));
    }
    let wrong = std::fs::read_to_string(&script).unwrap() + "\nexpect 1 ffffffffffff $\n";
    std::fs::write(workshop.path("wrong.stf"), wrong).unwrap();
    let output = workshop.siding(&["run", "--quiet", "-O0", "--backend", "native", &router, "wrong.stf"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
}

/// Entries and counters come along, whenever it is that compiled code is there.
#[test]
fn captures_give_the_same_totals_on_all_engines() {
    let workshop = Workshop::new();
    let mut capture: Vec<u8> = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65535, 1] {
        capture.extend(word.to_le_bytes());
    }
    for i in 0..2000_u32 {
        let mut packet = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
        packet.extend([0; 46]);
        let length = packet.len() as u32;
        for word in [1, i, length, length] {
            capture.extend(word.to_le_bytes());
        }
        capture.extend(packet);
    }
    std::fs::write(workshop.path("in.pcap"), capture).unwrap();
    let router = example("01-router/router.p4");
    let entries = example("01-router/entries.txtpb");
    let mut totals = Vec::new();
    for backend in ["interp", "native", "both", "auto"] {
        let args = [
            "run",
            "--json",
            "--quiet",
            "-O0",
            "--backend",
            backend,
            "--entries",
            &entries,
            "--pcap",
            "1=in.pcap",
            &router,
        ];
        let output = workshop.siding(&args);
        assert!(output.status.success(), "{backend}: {}", text(&output.stderr));
        let line: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(line["packets_per_second"].as_f64().unwrap() > 0.0);
        assert_eq!(line["totals"]["received"], 2000);
        totals.push(line["totals"].clone());
    }
    assert!(totals.iter().all(|t| *t == totals[0]), "{totals:#?}");
}

#[test]
fn the_doctor_says_what_is_missing() {
    let workshop = Workshop::new();
    let output = workshop.siding(&["doctor", "--json"]);
    assert!(output.status.success(), "{}", text(&output.stdout));
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["usable"], true);
    let checks = value["checks"].as_array().unwrap();
    let compiler = checks.iter().find(|check| check["check"] == "C compiler").unwrap();
    assert_eq!(compiler["state"], "ok");
    let output = workshop.siding(&["doctor", "--cc", "no-such-compiler"]);
    assert_eq!(output.status.code(), Some(4));
    assert!(text(&output.stdout).contains("apt-get install gcc"), "{}", text(&output.stdout));
}

/// A C compiler that notes what it is called with, and waits for a file before it compiles.
fn noting_compiler(workshop: &Workshop) -> (String, PathBuf, PathBuf) {
    use std::os::unix::fs::PermissionsExt;
    let (script, calls, go) = (workshop.path("noting-cc"), workshop.path("calls"), workshop.path("go"));
    let text = format!(
        "#!/bin/sh\ncase \"$*\" in *' -o '*) echo \"$*\" >> '{}'; while ! test -e '{}'; do sleep 0.05; done;; esac\n\
         exec cc \"$@\"\n",
        calls.display(),
        go.display()
    );
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    (script.display().to_string(), calls, go)
}

#[test]
fn the_doctor_compiles_once_and_prints_as_it_goes() {
    use std::io::{BufRead, BufReader};
    let workshop = Workshop::new();
    let (compiler, calls, go) = noting_compiler(&workshop);
    let mut child = Command::new(env!("CARGO_BIN_EXE_siding"))
        .args(["doctor", "--cc", &compiler])
        .env("XDG_CACHE_HOME", workshop.path("cache"))
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    // The compiler still waits.
    lines.find(|line| line.contains("free space for temporary files")).unwrap();
    std::fs::write(&go, "").unwrap();
    let last = lines.last().unwrap();
    assert!(child.wait().unwrap().success());
    assert!(last.starts_with("ok    C compiler: "), "{last}");
    let n_calls = || std::fs::read_to_string(&calls).unwrap().lines().count();
    let n_first = n_calls();
    assert!(n_first > 0);
    assert!(workshop.siding(&["doctor", "--cc", &compiler]).status.success());
    assert_eq!(n_calls(), n_first, "the second run compiles nothing");
}
