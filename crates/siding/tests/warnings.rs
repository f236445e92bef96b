//! Warnings are shown in full by `siding check` alone; other commands say how many there are and what to type.

use std::path::Path;
use std::process::Command;

const PROGRAM: &str = "\
#include <core.p4>
#include <v1model.p4>
#include \"common.p4\"
const bit<8> LEFT_OVER = W;
struct M {}
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) { state start { transition accept; } }
control V(inout H h, inout M m) { apply {} }
control I(inout H h, inout M m, inout standard_metadata_t s) { apply { s.egress_spec = 1; } }
control E(inout H h, inout M m, inout standard_metadata_t s) { apply {} }
control D(packet_out p, in H h) { apply {} }
V1Switch(P(), V(), I(), E(), V(), D()) main;
";

fn dir() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    std::fs::create_dir(dir.path().join("my inc")).unwrap();
    write("my inc/common.p4", "struct H {}\nconst bit<8> OTHER = 1;\n");
    write("main.p4", PROGRAM);
    write("main.stf", "packet 0 00\nexpect 1 00\n");
    write("other.p4", PROGRAM);
    write("other.stf", "packet 0 00\nexpect 1 00\n");
    write("bad.p4", "#warning unfinished\nconst bit<8> x = y;\n");
    dir
}

/// Runs a command line of a shell; returns the exit code and standard error.
fn shell(dir: &Path, command: &str) -> (i32, String) {
    let siding = env!("CARGO_BIN_EXE_siding");
    let output = Command::new("sh")
        .args(["-c", &format!("siding() {{ '{siding}' \"$@\"; }}; {command}")])
        .current_dir(dir)
        .env("XDG_CACHE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/warnings"))
        .output()
        .unwrap();
    (output.status.code().unwrap_or(-1), String::from_utf8(output.stderr).unwrap())
}

const OPTIONS: &str = "-I 'my inc' -D W=1";

#[test]
fn other_commands_count_warnings_and_name_the_command_that_shows_them() {
    let dir = dir();
    let wanted = "1 warning; siding check -I 'my inc' -D W=1 main.p4 shows it\n";
    for command in [
        "p4info main.p4",
        "ir main.p4",
        "graph main.p4",
        "build --emit c -o - main.p4",
        "run main.p4 main.stf",
        "trace main.p4 -p 00",
        "stf main.p4 main.stf",
    ] {
        let (code, errors) = shell(dir.path(), &format!("siding {command} {OPTIONS}"));
        assert_eq!((code, errors.as_str()), (0, wanted), "{command}");
    }
    let (code, errors) =
        shell(dir.path(), wanted.trim_start_matches("1 warning; ").trim_end_matches(" shows it\n"));
    assert!(code == 0 && errors.contains("warning[P1901]") && errors.contains("LEFT_OVER"), "{errors}");
    let (_, errors) = shell(dir.path(), &format!("siding ir {OPTIONS} --warnings show main.p4"));
    assert!(errors.contains("LEFT_OVER"), "{errors}");
    let (_, errors) = shell(dir.path(), &format!("siding check {OPTIONS} --warnings count main.p4"));
    assert_eq!(errors, wanted);
}

#[test]
fn several_programs_are_counted_in_one_line() {
    let dir = dir();
    let (code, errors) = shell(dir.path(), &format!("siding stf . {OPTIONS}"));
    let wanted = "2 warnings; siding check -I 'my inc' -D W=1 ./main.p4 ./other.p4 shows them\n";
    assert_eq!((code, errors.as_str()), (0, wanted));
}

#[test]
fn errors_are_shown_in_full_with_every_command() {
    let dir = dir();
    for command in ["ir", "p4info", "graph", "switch"] {
        let (code, errors) = shell(dir.path(), &format!("siding {command} bad.p4"));
        assert!(code == 3 && errors.contains(" --> bad.p4:2:"), "{command}: {errors}");
        assert!(
            errors.ends_with("\n1 error\n1 warning; siding check bad.p4 shows it\n"),
            "{command}: {errors}"
        );
        assert!(!errors.contains("warning["), "{command}: {errors}");
    }
    let (code, errors) = shell(dir.path(), &format!("siding ir {OPTIONS} --Werror=unused main.p4"));
    assert!(code == 3 && errors.contains("error[P1901]"), "{errors}");
}

#[test]
fn programs_read_all_messages() {
    let dir = dir();
    let (_, errors) =
        shell(dir.path(), &format!("siding ir {OPTIONS} --error-format json main.p4 | grep -q P1901"));
    assert_eq!(errors, "");
}

#[test]
fn unused_declarations_of_included_files_are_shown_on_demand() {
    let dir = dir();
    let (_, errors) = shell(dir.path(), &format!("siding check {OPTIONS} main.p4"));
    assert!(errors.contains("LEFT_OVER") && !errors.contains("OTHER"), "{errors}");
    let (_, errors) = shell(dir.path(), &format!("siding check {OPTIONS} --warnings all main.p4"));
    assert!(errors.contains("LEFT_OVER") && errors.contains("OTHER"), "{errors}");
    assert!(errors.ends_with("2 warnings\n"), "{errors}");
}
