//! The repository keeps the house rules, and the rules see what they should.

use std::path::Path;
use xtask::{File, Tree, tidy};

#[test]
fn the_repository_is_tidy() {
    let tree = Tree::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap();
    assert!(tree.files.len() > 50);
    // Lists that could be shorter are for `cargo xtask tidy --exact`.
    let problems = tidy(&tree).into_iter().filter(|p| !p.is_shrunk);
    let problems: Vec<String> = problems.map(|p| p.to_string()).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// A table of rooms as in ARCHITECTURE.md.
const ROOMS: &str = "\
| crate | owns | never | must not use |
|---|---|---|---|
| `syntax` | trees | files | `outside` |
| `check` | types | files | `outside` |
| `ir` | graphs | the front end | `syntax`, `std::net` |
| `driver` | files | printing | `println!` |
| `dataplane` | workers | | |
| `rt/` | C | | |

`outside`: `std::fs`, `std::env`, `std::thread`,
`println!`.
";

/// Problems of a tree that has just this file and the table of rooms.
fn problems(path: &str, text: &str) -> Vec<String> {
    problems_of(&[("ARCHITECTURE.md", ROOMS), (path, text)])
}

fn problems_of(files: &[(&str, &str)]) -> Vec<String> {
    let files = files.iter().map(|(path, text)| File { path: path.to_string(), text: text.to_string() });
    let tree = Tree { files: files.collect() };
    tidy(&tree).into_iter().map(|p| format!("{}: {}", p.line, p.message)).collect()
}

#[test]
fn each_rule_finds_its_problem() {
    let home = format!("/{}/someone/p4c", "home");
    let long = "//! Long.\n".repeat(1001);
    let cases: &[(&str, &str, usize, &str)] = &[
        ("crates/check/src/a.rs", "fn f() { unsafe { g() } }\n", 1, "`unsafe` in a crate"),
        ("crates/dataplane/src/a.rs", "fn f() { unsafe { g() } }\n", 1, "without a SAFETY comment"),
        ("crates/check/src/a.rs", &long, 0, "1001 lines"),
        ("crates/check/src/a.rs", "#[allow(dead_code)]\nfn f() {}\n", 1, "#[expect("),
        ("crates/check/src/util.rs", "", 0, "the name of this file"),
        ("crates/check/src/lib.rs", "pub fn f() {}\n", 0, "its purpose"),
        ("crates/news/Cargo.toml", "license.workspace = true\n", 0, "has no row in the table"),
        ("crates/ir/Cargo.toml", "[package]\n", 0, "license.workspace"),
        (
            "crates/syntax/Cargo.toml",
            "license.workspace = true\n[dependencies]\nserde.workspace = true\ncheck.workspace = true\n",
            4,
            "depends on `check`",
        ),
        ("crates/arch/p4include/a.p4", "const bit<8> x = 1;\n", 0, "SPDX"),
        ("docs/a.md", &home, 1, "names a place on one machine"),
    ];
    for (path, text, line, message) in cases {
        let found = problems(path, text);
        assert_eq!(found.len(), 1, "{path}: {found:?}");
        assert!(
            found[0].starts_with(&format!("{line}: ")) && found[0].contains(message),
            "{path}: {found:?}"
        );
    }
}

#[test]
fn tests_that_nobody_runs_are_found() {
    let file = |path: &str, text: &str| File { path: path.to_string(), text: text.to_string() };
    let manifest = "license.workspace = true\n[lib]\ntest = false\ndoctest = false\n";
    let with = |source: &str| {
        let files = vec![file("crates/ir/Cargo.toml", manifest), file("crates/ir/src/a.rs", source)];
        tidy(&Tree { files }).into_iter().map(|p| (p.line, p.message)).collect::<Vec<_>>()
    };
    assert_eq!(with("fn f() {}\n"), []);
    let unit = with("#[cfg(test)]\nmod tests {}\n");
    assert_eq!(unit, [(3, "leaves out tests that are there: crates/ir/src/a.rs".to_string())]);
    let doc = with("/// ```\n/// f();\n/// ```\nfn f() {}\n");
    assert_eq!(doc, [(4, "leaves out tests that are there: crates/ir/src/a.rs".to_string())]);
}

#[test]
fn what_is_fine_is_not_reported() {
    let cases: &[(&str, &str)] = &[
        ("crates/check/src/a.rs", "// unsafe and println! in a comment\nfn f() {}\n"),
        ("crates/dataplane/src/a.rs", "// SAFETY: the pointer is ours.\nfn f() { let x = unsafe { *p }; }\n"),
        ("crates/p4info/src/generated/a.rs", &"\n".repeat(2000)),
        ("crates/check/src/a.rs", "#[allow(dead_code, reason = \"read by the compiler\")]\nfn f() {}\n"),
        ("docs/a.md", "https://host.org/home/page\n"),
        (
            "crates/syntax/Cargo.toml",
            "license.workspace = true\n[dev-dependencies]\nsiding.workspace = true\n",
        ),
    ];
    for (path, text) in cases {
        assert_eq!(problems(path, text), [""; 0], "{path}");
    }
}

#[test]
fn lines_of_p4runtime_without_a_test_are_found() {
    let page =
        ("docs/reference/p4runtime.md", "| line | what |\n|---|---|\n| A1 | x |\n| A2 | y |\n| B1 | z |\n");
    let with = |source: &str| problems_of(&[page, ("crates/grpc/tests/p4runtime/a.rs", source)]);
    let all = "#[test]\nfn a01_x() {}\n#[test]\nfn a02_b1_y() {}\n#[test]\nfn other() {}\n";
    assert_eq!(with(all), [""; 0]);
    let missing = "no test that runs in crates/grpc/tests/p4runtime/ begins with `a02_`";
    assert_eq!(with("#[test]\nfn a01_b01_x() {}\nfn a02_helper() {}\n"), [format!("4: {missing}")]);
    let ignored = all.replace("fn a02", "#[ignore = \"waits\"]\nfn a02").replace("_b1", "");
    let no_b = missing.replace("a02_", "b01_");
    assert_eq!(with(&ignored), [format!("4: {missing}"), format!("5: {no_b}")]);
    let unknown = format!("{all}#[test]\nfn a03_z() {{}}\n");
    assert_eq!(with(&unknown), ["8: `a03_z` is about A3, which docs/reference/p4runtime.md does not have"]);
    let without_page = problems_of(&[("crates/grpc/tests/p4runtime/a.rs", all)]);
    assert_eq!(
        without_page,
        ["0: there is no list of the lines that are tested: docs/reference/p4runtime.md"]
    );
}

#[test]
fn lock_files_outside_the_workspace_follow_manifests() {
    let manifest = "license.workspace = true\n[dependencies]\nserde.workspace = true\n[target.'cfg(unix)'.dependencies]\n\
                    libc = \"0.2\"\n[dev-dependencies]\ntempfile = \"3\"\n";
    let found = |dependencies: &str| {
        let lock = format!(
            "[[package]]\nname = \"ir\"\ndependencies = [{dependencies}]\n[[package]]\nname = \"serde\"\nsource = \"x\"\n"
        );
        let files = [
            ("ARCHITECTURE.md", ROOMS),
            ("crates/ir/Cargo.toml", manifest),
            ("crates/fuzz/far/Cargo.lock", &lock),
        ];
        problems_of(&files).into_iter().filter(|problem| problem.contains("other dependencies")).count()
    };
    assert_eq!(found("\"libc 0.2.1\", \"serde\""), 0);
    assert_eq!(found("\"serde\""), 1);
    assert_eq!(found("\"libc\", \"serde\", \"tempfile\""), 1);
}
