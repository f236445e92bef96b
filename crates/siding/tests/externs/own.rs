//! `siding extern`: the folder that it makes builds and passes its test.

use crate::Bench;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// `make` in a folder, with this build of Siding in front of others.
fn make(dir: &Path, goal: &str) -> (bool, String) {
    let bin = Path::new(env!("CARGO_BIN_EXE_siding")).parent().unwrap();
    let mut path = OsString::from(bin);
    path.push(":");
    path.push(env::var_os("PATH").unwrap());
    let output = Command::new("make")
        .arg(goal)
        .current_dir(dir)
        .env("PATH", path)
        .env("XDG_CACHE_HOME", dir)
        .env("CFLAGS", "-O1 -Wall -Wextra -Werror")
        .output()
        .unwrap();
    (output.status.success(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

#[test]
fn a_new_extern_builds_and_passes_its_test() {
    for kind in ["function", "object"] {
        let bench = Bench::new();
        let (code, out, err) = bench.siding(&["extern", "new", "mix", "--kind", kind]);
        assert_eq!((code, err.as_str()), (Some(0), ""));
        assert!(out.contains("mix/mix.c\n") && out.ends_with("make -C mix test\n"), "{out}");
        let dir = bench.path("mix");
        let (is_ok, said) = make(&dir, "test");
        assert!(is_ok && said.contains("1 of 1 tests passed"), "{said}");
        // The test fails if the extern does something else.
        let source = fs::read_to_string(dir.join("mix.c")).unwrap();
        let wrong = source.replace("return SIDING_OK", "return SIDING_DROP");
        assert_ne!(source, wrong);
        fs::write(dir.join("mix.c"), wrong).unwrap();
        let (is_ok, said) = make(&dir, "test");
        assert!(!is_ok && said.contains("0 of 1 tests passed"), "{said}");
    }
}

#[test]
fn what_exists_is_kept_and_names_are_checked() {
    let bench = Bench::new();
    bench.write("mix", "mine");
    let (code, out, err) = bench.siding(&["extern", "new", "mix"]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert_eq!(err, "error: mix exists already; --dir DIR makes another folder\n");
    assert_eq!(fs::read_to_string(bench.path("mix")).unwrap(), "mine");

    for name in ["9lives", "a-b", "../x", "", "münze"] {
        let (code, out, err) = bench.siding(&["extern", "new", name]);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{name}");
        assert!(
            err.starts_with(&format!("error: an extern cannot be called `{name}`: a name in P4 and C")),
            "{err}"
        );
    }
    for name in ["table", "register", "MyIngress"] {
        let (code, out, err) = bench.siding(&["extern", "new", name]);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{name}");
        let begin = format!("error: an extern cannot be called `{name}` in a program for v1model: ");
        assert!(err.starts_with(&begin) && err.ends_with("; choose another name\n"), "{err}");
    }
    // A folder is made as a whole or not at all.
    let (code, _, err) = bench.siding(&["extern", "new", "mix", "--dir", "nowhere/mix"]);
    assert_eq!(code, Some(4), "{err}");
    assert!(err.starts_with("error: cannot make nowhere/mix: "), "{err}");
    let left: Vec<_> = fs::read_dir(bench.dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["mix"]);
}

#[test]
fn the_header_compiles_alone() {
    let bench = Bench::new();
    let (code, text, err) = bench.siding(&["extern", "header"]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let (code, out, _) = bench.siding(&["extern", "header", "-o", "include"]);
    assert_eq!((code, out.as_str()), (Some(0), "include/siding_extern.h\n"));
    assert_eq!(fs::read_to_string(bench.path("include/siding_extern.h")).unwrap(), text);

    bench.write("alone.c", "#include \"include/siding_extern.h\"\n");
    let output = Command::new(env::var("CC").unwrap_or_else(|_| "cc".into()))
        .args(["-Wall", "-Wextra", "-Werror", "-c", "alone.c"])
        .current_dir(bench.dir.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
