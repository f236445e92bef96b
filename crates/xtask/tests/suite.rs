//! The run of all tests: messages of cargo, the order, outcomes and their summary.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;
use xtask::suite::executables::{self, Executable};
use xtask::suite::order::{self, ALONE, LONG};
use xtask::suite::outcome::{Outcome, Summary};
use xtask::suite::run_all;

fn executable(package: &str, kind: &str, target: &str, path: &str) -> Executable {
    Executable {
        path: path.into(),
        package: package.into(),
        version: "1.2.3".into(),
        folder: "/".into(),
        kind: kind.into(),
        target: target.into(),
    }
}

fn metadata() -> Value {
    json!({ "packages": [{ "id": "here#a", "name": "a", "version": "1.2.3", "manifest_path": "/crates/a/Cargo.toml" }] })
}

fn artifact(kind: &str, target: &str, is_test: bool, path: Option<&str>) -> String {
    let target = json!({ "kind": [kind], "name": target });
    json!({
        "reason": "compiler-artifact", "package_id": "here#a", "target": target, "profile": { "test": is_test },
        "executable": path,
    })
    .to_string()
}

#[test]
fn test_executables_are_found_among_the_messages_of_cargo() {
    let messages = [
        artifact("lib", "a", false, None),
        "a build script prints this".into(),
        artifact("bin", "tool", false, Some("/deps/tool")),
        artifact("test", "live", true, Some("/deps/live-1")),
        artifact("lib", "a", true, Some("/deps/a-1")),
        json!({ "reason": "build-finished", "success": true }).to_string(),
    ];
    let found = executables::parse(&messages.join("\n"), &metadata()).unwrap();
    let names: Vec<String> = found.iter().map(Executable::name).collect();
    assert_eq!(names, ["-p a --lib", "-p a --test live"]);
    let live = Executable { folder: "/crates/a".into(), ..executable("a", "test", "live", "/deps/live-1") };
    assert_eq!(found[1], live);
}

#[test]
fn messages_that_say_too_little_are_errors() {
    let live = artifact("test", "live", true, Some("/deps/live-1"));
    let fails = |messages: &str, metadata: &Value| executables::parse(messages, metadata).unwrap_err();
    assert_eq!(fails("", &metadata()), "cargo has built no tests");
    assert_eq!(fails(&live, &json!({})), "/deps/live-1: unknown package here#a");
    let nameless = live.replace("\"live\"", "null");
    assert_eq!(fails(&nameless, &metadata()), "/deps/live-1: cargo does not say its target");
    assert!(fails("{", &metadata()).starts_with("a message of cargo: "));
}

#[test]
fn long_ones_come_first_and_those_that_run_alone_are_separate() {
    let of = |(package, target): (&str, &str)| executable(package, "test", target, "");
    let mut tests = vec![of(("a", "live")), of((ALONE[0].package, ALONE[0].target)), of(("b", "c"))];
    tests.extend(LONG.iter().rev().map(|long| of(*long)));
    let (alone, others) = order::split(tests);
    assert_eq!(alone, [of((ALONE[0].package, ALONE[0].target))]);
    let names: Vec<String> = others.iter().map(Executable::name).collect();
    let expected = LONG.iter().chain(&[("a", "live"), ("b", "c")]).map(|name| of(*name).name());
    assert_eq!(names, expected.collect::<Vec<_>>());
}

/// An entry with a wrong name has no effect, and nothing else would show it.
#[test]
fn the_lists_name_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let names = ALONE.iter().map(|a| (a.package, a.target)).chain(LONG.iter().copied());
    for (package, target) in names {
        let of_unit = package == target && root.join("crates").join(package).join("src").is_dir();
        assert!(
            of_unit || xtask::check::tests_of(&root, package).contains(&target.into()),
            "{package} {target}"
        );
    }
    assert!(ALONE.iter().all(|a| !LONG.contains(&(a.package, a.target)) && !a.reason.is_empty()));
}

fn logs(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn each_executable_runs_once_and_fails_by_itself() {
    let tests = (0..7).map(|n| {
        let path = if n % 3 == 0 { "/bin/false" } else { "/bin/true" };
        executable("a", "test", &format!("t{n}"), path)
    });
    let mut outcomes = run_all(tests.collect(), 3, &logs("suite-each")).unwrap();
    outcomes.sort_by(|a, b| a.name.cmp(&b.name));
    let results: Vec<bool> = outcomes.iter().map(|o| o.is_success).collect();
    assert_eq!(results, [false, true, true, false, true, true, false]);
    assert_eq!(outcomes[3].name, "-p a --test t3");
    assert_eq!(run_all(Vec::new(), 3, &logs("suite-none")).unwrap().len(), 0);
    let missing = executable("a", "test", "t", "/deps/missing");
    assert!(
        run_all(vec![missing], 3, &logs("suite-none")).unwrap_err().to_string().contains("/deps/missing")
    );
}

#[test]
fn an_executable_gets_what_cargo_gives() {
    let tests =
        vec![executable("a", "test", "env", "/usr/bin/env"), executable("a", "test", "pwd", "/bin/pwd")];
    let outcomes = run_all(tests, 1, &logs("suite-env")).unwrap();
    for line in ["CARGO_MANIFEST_DIR=/", "CARGO_PKG_NAME=a", "CARGO_PKG_VERSION=1.2.3"] {
        assert!(outcomes[0].output.lines().any(|l| l == line), "{line}: {}", outcomes[0].output);
    }
    assert_eq!(outcomes[1].output, "/\n");
}

fn outcome(name: &str, seconds: u64, is_success: bool, output: &str) -> Outcome {
    let (time, status) = (Duration::from_secs(seconds), "exit status: 101".into());
    Outcome { name: name.into(), is_success, status, time, output: output.into() }
}

#[test]
fn the_summary_counts_tests_and_names_the_slowest() {
    let fine =
        "running 9 tests\ntest result: ok. 7 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out\n";
    let bad = "thread panicked\ntest result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured\n";
    let outcomes = [
        outcome("-p a --lib", 1, true, fine),
        outcome("-p a --test b", 9, false, bad),
        outcome("-p a --test crash", 2, false, "running 3 tests\n"),
    ];
    assert_eq!(outcomes[0].counts(), Some([7, 0, 2]));
    assert_eq!(outcomes[1].counts(), Some([1, 2, 0]));
    assert_eq!(outcomes[2].counts(), None);
    assert_eq!(outcomes[0].report(), None);
    let report = outcomes[1].report().unwrap();
    assert!(
        report.starts_with("== cargo test -p a --test b: exit status: 101\nthread panicked\n"),
        "{report}"
    );
    let expected = "failed: cargo test -p a --test b
failed: cargo test -p a --test crash
3 test executables, 2 failed; 10 tests, 2 ignored; slowest: -p a --test b 9.0 s, -p a --test crash 2.0 s, -p a --lib 1.0 s";
    assert_eq!(Summary::of(&outcomes).to_string(), expected);
    let many: Vec<Outcome> = (0..9).map(|n| outcome("-p a --lib", n, true, fine)).collect();
    assert_eq!(Summary::of(&many).slowest.len(), 5);
}
