//! Entries of files, in every format, from outside.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const ROUTER: &str = "examples/01-router/router.p4";
const ENTRIES: &str = "examples/01-router/entries.txtpb";
const PACKET: &str =
    "020000000000 020000000099 0800 4500001c000000004011ae24c0a800010a010203 1388003500080000";
const FORMATS: [(&str, &str); 6] = [
    ("script", "e.stf"),
    ("bmv2", "commands.txt"),
    ("runtime-json", "s1-runtime.json"),
    ("p4runtime-text", "e.txtpb"),
    ("p4runtime-json", "e.json"),
    ("p4runtime-binary", "e.bin"),
];

struct Run {
    code: i32,
    stdout: String,
    stderr: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn siding(args: &[&str]) -> Run {
    let output = Command::new(env!("CARGO_BIN_EXE_siding"))
        .args(args)
        .current_dir(root())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn ok(args: &[&str]) -> String {
    let run = siding(args);
    assert_eq!(run.code, 0, "{args:?}: {}", run.stderr);
    run.stdout
}

/// A file in a directory of its own, written by `siding entries convert`.
fn converted(dir: &Path, name: &str, to: &str, names: &[&str]) -> String {
    let path = dir.join(name).display().to_string();
    let args = ["entries", "convert", ROUTER, ENTRIES, &path, "--to", to];
    ok(&args.iter().chain(names).copied().collect::<Vec<_>>());
    path
}

#[test]
fn every_format_makes_the_same_switch() {
    let dir = tempfile::tempdir().unwrap();
    let trace = |entries: &str| ok(&["trace", ROUTER, "--entries", entries, "-p", PACKET]);
    let wanted = trace(ENTRIES);
    assert!(wanted.contains("10.0.0.0/8"), "{wanted}");
    for (format, name) in FORMATS {
        for names in [&[][..], &["--names"]] {
            let path = converted(dir.path(), name, format, names);
            assert_eq!(trace(&path), wanted, "{format} {names:?}");
            let checked = ok(&["entries", "check", ROUTER, &path]);
            assert!(checked.ends_with("3 updates\n"), "{checked}");
        }
    }
}

#[test]
fn the_name_of_the_output_says_the_format() {
    let dir = tempfile::tempdir().unwrap();
    for (format, name) in FORMATS {
        let by_name = dir.path().join(name).display().to_string();
        ok(&["entries", "convert", ROUTER, ENTRIES, &by_name]);
        let written = std::fs::read(&by_name).unwrap();
        let by_option = ok(&["entries", "convert", ROUTER, &by_name, "--to", format]);
        assert_eq!(String::from_utf8_lossy(&written), by_option, "{format}");
    }
    let run = siding(&["entries", "convert", ROUTER, ENTRIES, "e.xyz"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("choose one with --to: script, bmv2, runtime-json"), "{}", run.stderr);
}

#[test]
fn p4info_alone_is_enough_to_convert() {
    let dir = tempfile::tempdir().unwrap();
    let p4info = dir.path().join("router.p4info.txtpb").display().to_string();
    ok(&["p4info", "-o", &p4info, ROUTER]);
    let text = ok(&["entries", "convert", &p4info, ENTRIES, "--to", "bmv2"]);
    assert!(text.contains("table_add Router.routes Router.set_next_hop 10.0.0.0/8 => 1\n"), "{text}");
}

#[test]
fn wrong_entries_are_refused_with_their_place() {
    let dir = tempfile::tempdir().unwrap();
    let case = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        let run = siding(&["trace", ROUTER, "--entries", &path.display().to_string(), "-p", PACKET]);
        assert_eq!(run.code, 2, "{text}: {}", run.stderr);
        run.stderr
    };
    let said = case(
        "a.stf",
        "add routes headers.ipv4.destination:10.0.0.0/8 set_next_hop(next_hop:1)\nadd routse x:1 drop()\n",
    );
    assert!(said.contains("a.stf:2:5") && said.contains("did you mean `routes`?"), "{said}");
    let said = case("b.txt", "table_add routes set_next_hop 10.0.0.0/8 =>\n");
    assert!(said.contains("lacks the argument `next_hop`") && said.contains("b.txt:1:18"), "{said}");
    let said = case("c.json", r#"{"table_entries": [{"table": "routse"}]}"#);
    assert!(said.contains("c.json: table_entries[0].table: "), "{said}");
    let said = case("d.txtpb", "updates { type: INSERT entity { table_entry { table_id: \"routse\" } } }");
    assert!(said.contains("d.txtpb:1:57: "), "{said}");
    let said = case("e.txt", "hello\n");
    assert!(said.contains("no line begins with a command; known are test scripts"), "{said}");
    // The same entry twice: the second is refused, with its place.
    let twice = "add routes headers.ipv4.destination:10.0.0.0/8 set_next_hop(next_hop:1)\n".repeat(2);
    let said = case("f.stf", &twice);
    assert!(said.contains("f.stf:2:1") && said.contains("f.stf: 1 of 2 updates were made"), "{said}");
}

/// Packets of a capture: `siding run -o` writes them, `--expect` compares with them.
#[test]
fn captures_run_with_the_entries_of_a_script_and_are_compared() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let bytes: Vec<u8> = {
        let digits: Vec<u8> = PACKET.bytes().filter(|b| *b != b' ').collect();
        let digit = |b: u8| char::from(b).to_digit(16).unwrap() as u8;
        digits.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
    };
    let mut writer = packet_io::CaptureWriter::create(
        Path::new(&path("in.pcap")),
        "port 0",
        packet_io::LINK_TYPE_ETHERNET,
    )
    .unwrap();
    for _ in 0..3 {
        writer.write(&packet_io::Packet::new(bytes.clone()), None).unwrap();
    }
    writer.flush().unwrap();
    drop(writer);
    ok(&["entries", "convert", ROUTER, ENTRIES, &path("e.stf")]);
    let (input, script, out) = (path("in.pcap"), path("e.stf"), path("out"));
    let with_script = ok(&["run", ROUTER, &script, "--pcap", &input, "-q", "-o", &out]);
    let with_entries = ok(&["run", ROUTER, "--entries", ENTRIES, "--pcap", &input, "-q"]);
    assert!(with_script.contains("3  sent to port 1"), "{with_script}");
    assert_eq!(with_script, with_entries);
    let expect = format!("1={}/1.pcap", out);
    let run = siding(&["run", ROUTER, &script, "--pcap", &input, "-q", "--expect", &expect]);
    assert_eq!((run.code, run.stderr.as_str()), (0, "all 3 expected packets left as they should\n"));
    // What came in is not what has to leave.
    let run = siding(&["run", ROUTER, &script, "--pcap", &input, "-q", "--expect", &format!("1={input}")]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.contains("port 1, ") && run.stderr.contains("packet 1 differs at byte 5"),
        "{}",
        run.stderr
    );
    let run =
        siding(&["run", ROUTER, &script, "--pcap", &input, "-q", "--expect", &format!("2={out}/1.pcap")]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("3 expected packets did not leave this port"), "{}", run.stderr);
    let run = siding(&["run", ROUTER]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("name a test script, or a capture with --pcap"), "{}", run.stderr);
}
