//! Sweeps from outside: shards, interruptions, merging, files that do not fit.

use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

fn command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_siding"));
    command.args(args).current_dir(dir);
    command
}

fn siding(dir: &Path, line: &str) -> Output {
    command(dir, &line.split(' ').collect::<Vec<_>>()).output().unwrap()
}

fn ok(output: &Output) -> String {
    assert!(output.status.success(), "{}", stderr(output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const SIM: &str = "sim --cycles 1..4 -n 2000 --json";

/// Sweeps of every kind of report.
const SWEEPS: &[&str] = &[
    SIM,
    "sim --figure flow --cycles 3,9 -n 2000",
    "sim --budget 1% --cycles 5..9 -n 2000 --json",
    "model extern --cost 50,5000 --json",
];

#[test]
fn shards_give_the_bytes_and_the_report_of_one_run() {
    for sweep in SWEEPS {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let plain = ok(&siding(dir, sweep));
        assert_eq!(ok(&siding(dir, &format!("{sweep} --points whole"))), plain);
        // In other threads, in another order, with shards of different size.
        for shard in ["3/3", "1/3", "2/3"] {
            let name = &shard[..1];
            let told = ok(&siding(dir, &format!("{sweep} --points {name} --shard {shard} -j {name}")));
            assert!(told.contains(shard), "{told}");
        }
        ok(&siding(dir, "merge 2 3 1 -o merged"));
        let read = |name: &str| std::fs::read(dir.join(name)).unwrap();
        assert_eq!(read("merged"), read("whole"), "{sweep}");
        assert_eq!(ok(&siding(dir, &format!("{sweep} --points merged"))), plain);
        assert_eq!(read("merged"), read("whole"), "{sweep}");
    }
}

/// The actions of a program are one sweep.
#[test]
fn programs_can_be_divided() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let program =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/07-stateful-actions/token_bucket.p4");
    let sim = format!("sim {} -n 2000 --cycles 2,5 --json", program.display());
    let plain = ok(&siding(dir, &sim));
    ok(&siding(dir, &format!("{sim} --points 1 --shard 1/2")));
    ok(&siding(dir, &format!("{sim} --points 2 --shard 2/2")));
    let merged = ok(&siding(dir, "merge 1 2 -o merged"));
    // The command that is shown makes the report.
    let shown = merged.lines().nth(1).unwrap().strip_prefix("siding ").unwrap();
    assert_eq!(ok(&siding(dir, &format!("{shown} --json"))), plain);
}

#[test]
fn a_killed_run_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let sim = "sim --cycles 1..8 -n 60000 --json -j 1 --points";
    ok(&siding(dir, &format!("{sim} whole")));
    let whole = std::fs::read_to_string(dir.join("whole")).unwrap();
    let killed = dir.join("killed");
    let lines = || std::fs::read_to_string(&killed).unwrap_or_default();
    let line = format!("{sim} killed");
    let mut child = command(dir, &line.split(' ').collect::<Vec<_>>())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    // Points are made in groups of eight; this is before the third group.
    let start = Instant::now();
    while lines().lines().count() < 9 && start.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // A mark in one of the results shows that they are taken, and not made again.
    let marked = lines().replacen("\"hazards\":0,", "\"hazards\":77777,", 1);
    assert!(marked.contains("77777") && marked.lines().count() >= 9);
    std::fs::write(&killed, marked).unwrap();
    ok(&siding(dir, &line));
    assert_eq!(lines().replacen("\"hazards\":77777,", "\"hazards\":0,", 1), whole);
}

#[test]
fn missing_points_are_named_with_the_commands_that_make_them() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    ok(&siding(dir, &format!("{SIM} --points whole")));
    ok(&siding(dir, &format!("{SIM} --points 1 --shard 1/2")));
    let refused = siding(dir, "merge 1 -o out");
    assert_eq!(refused.status.code(), Some(1));
    assert!(!dir.join("out").exists());
    let message = stderr(&refused);
    assert!(
        message.starts_with("error: 6 of 12 points are missing:\n  none alpha=1 load=1 cycles=2 "),
        "{message}"
    );
    let commands: Vec<&str> = message.lines().filter_map(|line| line.strip_prefix("  siding ")).collect();
    assert_eq!(commands, ["merge --partial -o out 1", "sim --packets 2000 --cycles 1..4 --points out"]);
    let partial = siding(dir, &format!("{} --json", commands[0]));
    assert_eq!(partial.status.code(), Some(1));
    let value: serde_json::Value = serde_json::from_slice(&partial.stdout).unwrap();
    assert_eq!(value["missing"].as_array().unwrap().len(), 6);
    ok(&siding(dir, commands[1]));
    let read = |name: &str| std::fs::read(dir.join(name)).unwrap();
    assert_eq!(read("out"), read("whole"));
}

#[test]
fn files_that_do_not_fit_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    ok(&siding(dir, &format!("{SIM} --points good")));
    ok(&siding(dir, "sim --cycles 1..4 -n 3000 --points other"));
    ok(&siding(dir, "model extern --cost 10 --points extern"));
    let good = std::fs::read_to_string(dir.join("good")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(dir.join(name), text).unwrap();
    write("garbage", "garbage\n");
    write("damaged", &good.replacen("\"result\":{", "\"result\":", 1));
    write("lies", &good.replacen("\"hazards\":0,", "\"hazards\":1,", 1));
    write("old", &good.replacen("\"version\":3", "\"version\":2", 1));
    write("future", &good.replacen("\"siding_sweep\":1", "\"siding_sweep\":9", 1));
    let point = "none alpha=1 load=1 cycles=1 key=5-tuple";
    let lies = format!("the point `{point}` has one result in good and another in lies");
    for (line, message) in [
        ("merge good garbage -o out", "garbage: this is not a points file"),
        ("merge good damaged -o out", "damaged: line 2 is damaged"),
        ("merge good lies -o out", lies.as_str()),
        ("merge good old -o out", "the version of the sweep is 2, expected 3, as in good"),
        ("merge good other -o out", "`traffic.mean_bytes` is "),
        ("merge extern good -o out", "the sweep is sim, expected model extern, as in extern"),
        ("merge good future -o out", "the file has format 9, and this program reads format 1"),
        ("merge nothing -o out", "nothing: No such file or directory"),
        ("sim --cycles 1..4 -n 2000 --points old", "the version of the sweep is 2, expected 3"),
        ("sim --cycles 1..5 -n 2000 --points good", "a point is `global-lock "),
        ("sim --cycles 1..4 -n 2000 --clock-ghz 2 --points good", "`clock_ghz` is 1.0, expected 2.0"),
        ("sim --figure 1a --points x", "--points: figure 1a shows the sizes of the packets"),
        ("sim --points x --shard 0/4", "'--shard <I/N>': shards are numbered from 1"),
        ("sim --points x --shard 5/4", "'--shard <I/N>': there are only 4 shards"),
    ] {
        let output = siding(dir, line);
        let code = if line.contains("nothing") { 4 } else { 2 };
        assert_eq!(output.status.code(), Some(code), "{line}: {}", stderr(&output));
        assert!(stderr(&output).contains(message), "{line}: {}", stderr(&output));
        assert!(output.stdout.is_empty() && !dir.join("out").exists(), "{line}");
    }
}
