//! Rules with lists: rooms, circles, words; and subjects of commits.

use xtask::{File, Tree, commits, tidy};

const ROOMS: &str = "\
| crate | owns | never | must not use |
|---|---|---|---|
| `syntax` | trees | files | `outside` |
| `check` | types | files | `outside`, `tokio` |
| `driver` | files | printing | `println!` |

`outside`: `std::fs`, `std::env`, `std::thread`,
`println!`.
";
const MANIFEST: &str = "license.workspace = true\n";

/// Messages about the files, beside a table of rooms and manifests; notes about lists begin with `note`.
fn messages(files: &[(&str, &str)]) -> Vec<String> {
    let given = [
        ("ARCHITECTURE.md", ROOMS),
        ("crates/check/Cargo.toml", MANIFEST),
        ("crates/driver/Cargo.toml", MANIFEST),
    ];
    let given = given.iter().filter(|(path, _)| files.iter().all(|(p, _)| p != path));
    let files =
        given.chain(files).map(|(path, text)| File { path: path.to_string(), text: text.to_string() });
    let problems = tidy(&Tree { files: files.collect() });
    let message = |p: &xtask::Problem| format!("{}{p}", if p.is_shrunk { "note: " } else { "" });
    problems.iter().map(message).collect()
}

#[track_caller]
fn assert_one(files: &[(&str, &str)], begin: &str, part: &str) {
    let found = messages(files);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with(begin) && found[0].contains(part), "{found:?}");
}

#[test]
fn sources_use_nothing_that_the_table_forbids() {
    let cases: &[(&str, usize, &str)] = &[
        ("fn f() {}\nuse std::fs;\n", 2, "`std::fs`"),
        ("use std::{env, rc::Rc};\n", 1, "`std::env`"),
        ("use std::{rc::Rc, thread};\n", 1, "`std::thread`"),
        ("fn f() {\n    println!(\"x\");\n}\n", 2, "`println!`"),
        ("fn f() {\n    let _ = std::env::var(\"x\");\n}\n", 2, "`std::env`"),
        ("fn f() {\n    assert!(std::fs::read(\"x\").is_ok());\n}\n", 2, "`std::fs`"),
    ];
    for (text, line, part) in cases {
        assert_one(&[("crates/check/src/a.rs", text)], &format!("crates/check/src/a.rs:{line}: "), part);
    }
    let fine: &[(&str, &str)] = &[
        ("crates/check/src/a.rs", "#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n"),
        ("crates/check/src/a.rs", "// println!\nfn f() -> &'static str { \"std::fs\" }\n"),
        ("crates/check/src/a.rs", "use std::fmt::Write;\nfn f() { writeln!(f, \"x\"); }\n"),
        ("crates/check/tests/a.rs", "use std::fs;\n"),
        ("crates/driver/src/a.rs", "use std::fs;\n"),
    ];
    for file in fine {
        assert_eq!(messages(&[*file]), [""; 0], "{file:?}");
    }
    let tests =
        [("crates/check/src/a.rs", "#[cfg(test)]\nmod b;\n"), ("crates/check/src/a/b.rs", "use std::fs;\n")];
    assert_eq!(messages(&tests), [""; 0], "a file for tests");
}

#[test]
fn manifests_depend_on_nothing_that_the_table_forbids() {
    let manifest = "license.workspace = true\n[dependencies]\ntokio = \"1\"\n[dev-dependencies]\ndriver.workspace = true\n";
    assert_one(&[("crates/check/Cargo.toml", manifest)], "crates/check/Cargo.toml:3: ", "`tokio`");
    let renamed = "license.workspace = true\n[dependencies]\nio = { package = \"tokio\", version = \"1\" }\n";
    assert_one(&[("crates/check/Cargo.toml", renamed)], "crates/check/Cargo.toml:3: ", "`tokio`");
    let below = "license.workspace = true\n[dependencies]\ndriver.workspace = true\n";
    assert_one(&[("crates/check/Cargo.toml", below)], "crates/check/Cargo.toml:3: ", "stands below it");
}

#[test]
fn exceptions_are_listed_as_long_as_they_are_needed() {
    let list = "[[exception]]\ncrate = \"check\"\nuses = \"outside\"\nfile = \"crates/check/src/a.rs\"\nreason = \"r\"\n";
    let rooms = ("crates/xtask/rules/rooms.toml", list);
    assert_eq!(messages(&[rooms, ("crates/check/src/a.rs", "use std::fs;\n")]), [""; 0]);
    let elsewhere =
        [rooms, ("crates/check/src/a.rs", "use std::fs;\n"), ("crates/check/src/b.rs", "use std::fs;\n")];
    assert_one(&elsewhere, "crates/check/src/b.rs:1: ", "`std::fs`");
    assert_one(&[rooms], "note: crates/xtask/rules/rooms.toml: ", "uses `outside` no more");
    let unknown = ("crates/xtask/rules/rooms.toml", "[[exeption]]\ncrate = \"check\"\n");
    assert_one(&[unknown], "crates/xtask/rules/rooms.toml: ", "unknown field");
}

#[test]
fn circles_of_modules_are_found() {
    let a = ("crates/check/src/a.rs", "use crate::b::B;\npub struct A(B);\n");
    let b = ("crates/check/src/b.rs", "pub struct B(Option<Box<super::a::A>>);\n");
    assert_one(&[a, b], "crates/check: ", "use each other: a, b (a -> b: crate::b::B; b -> a: super::a::A)");
    let inside_macro = ("crates/check/src/b.rs", "pub struct B;\nfn f() { assert!(crate::a::A::new()); }\n");
    assert_one(&[a, inside_macro], "crates/check: ", "use each other: a, b");
    let for_tests =
        ("crates/check/src/b.rs", "pub struct B;\n#[cfg(test)]\nmod tests { use crate::a::A; }\n");
    assert_eq!(messages(&[a, for_tests]), [""; 0]);
}

#[test]
fn reexports_are_followed_to_the_definition() {
    let root = (
        "crates/check/src/lib.rs",
        "//! Check.\n//!\n//! Start reading at `a`.\nmod a;\nmod b;\npub use a::A;\npub use b::*;\n",
    );
    let a = ("crates/check/src/a.rs", "pub struct A;\n");
    let b = ("crates/check/src/b.rs", "pub struct B(crate::A);\n");
    assert_eq!(messages(&[root, a, b]), [""; 0], "b uses a, and not the root");
    let back = ("crates/check/src/a.rs", "pub struct A(Option<crate::B>);\n");
    assert_one(
        &[root, back, b],
        "crates/check: ",
        "use each other: a, b (a -> b: crate::B; b -> a: crate::A)",
    );
}

#[test]
fn parents_may_use_their_children() {
    let parent = ("crates/check/src/a/mod.rs", "mod b;\npub struct A;\npub fn f() { b::g() }\n");
    let child = ("crates/check/src/a/b.rs", "use super::A;\npub fn g() { let _ = A; }\n");
    assert_eq!(messages(&[parent, child]), [""; 0]);
}

#[test]
fn listed_circles_only_shrink() {
    let a = ("crates/check/src/a.rs", "pub struct A(crate::b::B);\n");
    let b = ("crates/check/src/b.rs", "pub struct B(crate::a::A);\n");
    let list =
        |modules: &str| format!("[[circle]]\ncrate = \"check\"\nmodules = [{modules}]\nreason = \"r\"\n");
    let path = "crates/xtask/rules/circles.toml";
    assert_eq!(messages(&[a, b, (path, &list("\"a\", \"b\""))]), [""; 0]);
    assert_one(&[a, b, (path, &list("\"a\", \"b\", \"c\""))], "note: ", "smaller than listed");
    assert_one(&[a, (path, &list("\"a\", \"b\""))], "note: ", "no circle of a, b any more");
    let found = messages(&[a, b, (path, &list("\"a\", \"c\""))]);
    assert_eq!(found.len(), 2, "another circle than the one that is listed: {found:?}");
}

const WORDS: &str = "\
beginnings = [\"Of \", \"What \"]
fragments = [\"Where \"]

[[word]]
old = [\"odd\"]
parts = true
new = \"exception\"

[[word]]
old = [\"Presence\"]
new = \"watchdog\"
";

#[test]
fn comments_and_words_are_found() {
    let cases: &[(&str, &str, usize, &str)] = &[
        (
            "crates/check/src/a.rs",
            "/// A width.\n///\n/// Of the header.\nstruct A;\n",
            3,
            "begins with \"Of\"",
        ),
        ("crates/check/src/a.rs", "struct A; // What is it.\n", 1, "begins with \"What\""),
        (
            "crates/check/src/a.rs",
            "// Where it came from. Then, more.\nstruct A;\n",
            1,
            "begins with \"Where\"",
        ),
        ("rt/a.h", "int x;\n/* Of each entry\n * the slot. */\n", 2, "begins with \"Of\""),
        ("crates/check/src/a.rs", "fn is_odd() {}\n", 1, "the word is exception"),
        ("crates/check/src/a.rs", "struct OddPacket;\n", 1, "the word is exception"),
        ("rt/a.h", "#define SD_ODD 1\n", 1, "the word is exception"),
        (
            "crates/check/src/a.rs",
            "// A thread with a Presence of its own.\nstruct A;\n",
            1,
            "the word is watchdog",
        ),
    ];
    for (path, text, line, part) in cases {
        let room = if path.starts_with("rt") { "rt: " } else { "crates/check: " };
        let list = ("crates/xtask/rules/words.toml", WORDS);
        assert_one(&[list, (path, text)], room, &format!("{path}:{line}: "));
        assert_one(&[list, (path, text)], room, part);
    }
    let fine = [
        "// An odd number. Of course.\nstruct A;\n",
        "// Where the key is absent, nothing is found.\nstruct A;\n",
        "/// The width\n/// Of many lines.\nstruct A;\n",
        "const A: &str = \"// Of odd things\";\nconst B: char = '\"';\n",
        "fn f<'a>(x: &'a str) -> &'a str { x }\nfn clean_oddly() {}\n",
        "const A: &str = r#\"// What \"odd\" \"#;\n",
    ];
    for text in fine {
        let files = [("crates/xtask/rules/words.toml", WORDS), ("crates/check/src/a.rs", text)];
        assert_eq!(messages(&files), [""; 0], "{text}");
    }
}

#[test]
fn counts_shrink_and_never_grow() {
    let source = "// Of a.\nstruct A;\n// Of b.\nstruct B;\n";
    let list = |n: usize| format!("{WORDS}\n[count.comments]\ncheck = {n}\n");
    let tree = |n: usize| {
        [("crates/xtask/rules/words.toml", list(n)), ("crates/check/src/a.rs", source.to_string())]
    };
    let of = |n: usize| messages(&tree(n).each_ref().map(|(path, text)| (*path, text.as_str())));
    assert_eq!(of(2), [""; 0]);
    let (more, less) = (of(1), of(3));
    assert!(more.len() == 1 && more[0].contains("at most 1 are allowed"), "{more:?}");
    assert!(less.len() == 1 && less[0].starts_with("note: "), "{less:?}");

    let blessed = |n: usize| {
        let files = tree(n).map(|(path, text)| File { path: path.to_string(), text });
        xtask::bless(&Tree { files: files.into() }).unwrap()
    };
    assert_eq!(blessed(5), list(2));
    assert_eq!(blessed(1), list(1));
}

#[test]
fn subjects_of_commits() {
    let fine = ["rt/exact: split full segments in place", "codegen, rt: one namespace"];
    for subject in fine {
        assert_eq!(commits::judge(subject), None, "{subject}");
    }
    let long = format!("rt: {}", "x".repeat(69));
    let cases = [
        (long.as_str(), "73 characters"),
        ("Tables are faster", "does not begin with"),
        ("Standard terms in names: backend", "is no component"),
        ("rt: a table; docs: a page", "more than one subject"),
        ("rt: a table.", "full stop"),
        ("rt:  ", "does not say"),
    ];
    for (subject, part) in cases {
        let reason = commits::judge(subject).unwrap_or_default();
        assert!(reason.contains(part), "{subject}: {reason}");
    }
}

#[test]
fn fast_tests_are_those_of_crates_that_are_there() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for name in xtask::check::FAST {
        assert!(root.join("crates").join(name).join("Cargo.toml").is_file(), "{name}");
    }
    for (name, test) in xtask::check::SLOW {
        assert!(xtask::check::FAST.contains(name), "{name}");
        assert!(xtask::check::tests_of(&root, name).contains(&test.to_string()), "{name}: {test}");
    }
    let steps = xtask::check::steps(|name| xtask::check::tests_of(&root, name));
    let all = steps.concat();
    assert!(all.contains(&"cases".to_string()) && !all.contains(&"speed".to_string()), "{all:?}");
}
