//! `fuzz differential` as a sweep: shards and interruptions change nothing.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fuzz"));
    command
        .args(["differential", "--programs", "10", "--packets", "5", "--seed", "3"])
        .args(args)
        .current_dir(dir);
    command
}

fn fuzz(dir: &Path, args: &[&str]) -> Output {
    command(dir, args).output().unwrap()
}

fn read(dir: &Path, name: &str) -> (String, sweep::Points) {
    (name.to_string(), sweep::read(&dir.join(name)).unwrap())
}

#[test]
fn shards_and_kills_give_the_bytes_of_one_run() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let whole = fuzz(dir, &["--points", "whole", "--jobs", "2"]);
    assert_eq!(whole.status.code(), Some(0), "{}", String::from_utf8_lossy(&whole.stdout));
    let bytes = std::fs::read(dir.join("whole")).unwrap();
    let counted = String::from_utf8_lossy(&whole.stdout).into_owned();
    assert!(counted.contains("       10 programs: run\n"), "{counted}");

    // Killed when some programs are done, and taken up again.
    let first = dir.join("first");
    let n_lines = || std::fs::read_to_string(&first).unwrap_or_default().lines().count();
    let mut child =
        command(dir, &["--points", "first", "--shard", "1/2"]).stdout(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    while n_lines() < 3 && start.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let before = n_lines();
    assert!((3..=6).contains(&before), "{before} lines");
    assert!(fuzz(dir, &["--points", "first", "--shard", "1/2"]).status.success());
    assert!(fuzz(dir, &["--points", "second", "--shard", "2/2"]).status.success());
    let merged = sweep::merge(vec![read(dir, "second"), read(dir, "first")]).unwrap();
    assert_eq!(merged.text().as_bytes(), bytes);

    // Everything is there: the report is made of it.
    std::fs::write(dir.join("merged"), merged.text()).unwrap();
    let again = fuzz(dir, &["--points", "merged"]);
    assert_eq!(again.stdout, whole.stdout);
}

#[test]
fn wrong_shards_and_files_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("text"), "text\n").unwrap();
    for (args, message) in [
        (&["--shard", "5/4", "--points", "p"][..], "--shard 5/4: there are only 4 shards\n"),
        (&["--shard", "1/4"], "--shard needs --points\n"),
        (&["--points", "text"], "error: text: this is not a points file\n"),
    ] {
        let output = fuzz(dir.path(), args);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && stderr.starts_with(message), "{stderr}");
    }
}
