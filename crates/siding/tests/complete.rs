//! Completion: names of a running switch and of a program, and the script for bash.

use std::path::Path;
use std::process::{Child, Command, Stdio};

fn siding() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_siding"));
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).env("NO_COLOR", "1");
    command
}

/// The words that are found at the end of a command line.
fn found(words: &[&str]) -> Vec<String> {
    let output = siding().args(["complete-words", "--"]).args(words).output().unwrap();
    assert!(output.status.success(), "{words:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}

/// What bash offers when the cursor is behind the last word.
fn offered(words: &[&str]) -> Vec<String> {
    let script = siding().args(["completions", "bash"]).output().unwrap();
    let script = String::from_utf8(script.stdout).unwrap();
    let array: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let last = words.len() - 1;
    // `compopt` works only while bash itself completes.
    let text = format!(
        "compopt() {{ :; }}\n{script}\nCOMP_WORDS=({})\nCOMP_CWORD={last}\n\
         _siding '{}' '{}' '{}'\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
        array.join(" "),
        env!("CARGO_BIN_EXE_siding"),
        words[last],
        words[last - 1],
    );
    let output = Command::new("bash").args(["-c", &text]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// A switch that ends with the test.
struct Running(Child);

impl Running {
    fn start(socket: &str, name: &str) -> Running {
        let child = siding()
            .args(["switch", "--metrics-addr", "off", "-O", "0", "--ctl-socket", socket, "--use-files", "0"])
            .args(["-i", &format!("3@{name}"), "examples/01-router/router.p4"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let running = Running(child);
        let pid = running.0.id().to_string();
        let ready =
            siding().args(["ctl", "--ctl-socket", socket, "wait-ready", "--pid", &pid]).output().unwrap();
        assert!(ready.status.success());
        running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn names_of_a_running_switch_are_offered() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let socket = path("ctl");
    let mut empty = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    empty.extend([0, 0, 1, 0, 1, 0, 0, 0]);
    std::fs::write(path("p_in.pcap"), empty).unwrap();
    let ctl = |words: &[&str]| found(&[&["ctl", "--ctl-socket", &socket], words].concat());
    assert_eq!(ctl(&["add", ""]), Vec::<String>::new(), "there is no switch");
    let _running = Running::start(&socket, &path("p"));
    assert!(ctl(&["add", ""]).contains(&"routes".to_owned()), "{:?}", ctl(&["add", ""]));
    assert_eq!(ctl(&["delete", "rou"]), ["routes"]);
    assert_eq!(ctl(&["add", "routes", "10.0.0.0/8", "set"]), ["set_next_hop("]);
    assert_eq!(ctl(&["setdefault", "Router.routes", "set"]), ["set_next_hop("]);
    assert_eq!(ctl(&["show", "entries", "rou"]), ["routes"]);
    assert_eq!(ctl(&["show", "counters", "r"]), ["received"]);
    assert_eq!(ctl(&["port", "down", ""]), ["3"]);
    assert_eq!(ctl(&["set-rate", ""]), ["3"]);
    let offered = offered(&["siding", "ctl", "--ctl-socket", &socket, "add", "routes", "10.0.0.0/8", "set"]);
    assert_eq!(offered, [r"set_next_hop\("], "bash quotes the parenthesis");
}

#[test]
fn names_of_a_program_and_of_siding_are_offered() {
    let blocks = found(&["graph", "examples/01-router/router.p4", "--block", ""]);
    assert!(blocks.contains(&"Router".to_owned()), "{blocks:?}");
    assert_eq!(found(&["explain", "P1901"]), ["P1901"]);
    assert_eq!(found(&["check", "--Wdisable=unus"]), ["--Wdisable=unused"]);
    assert_eq!(found(&["man", "ctl", "port", "do"]), ["down"]);
    assert_eq!(found(&["check", "exam"]), Vec::<String>::new(), "files are the shell's");
}

#[test]
fn bash_offers_commands_and_options() {
    assert_eq!(offered(&["siding", "ctl", "sh"]), ["show", "shutdown"]);
    assert_eq!(offered(&["siding", "check", "--error-format", "=", "s"]), ["short", "sarif"]);
    assert_eq!(offered(&["siding", "check", "router"]), [""], "files are left to bash");
}

#[test]
fn other_shells_have_scripts() {
    for (shell, part) in [
        ("zsh", "siding complete-words --"),
        ("fish", "siding complete-words --"),
        ("elvish", "edit:completion"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let script = siding().args(["completions", shell]).output().unwrap();
        assert!(String::from_utf8(script.stdout).unwrap().contains(part), "{shell}");
    }
}
