//! Extern functions from libraries and built in, from the command line.

mod crash;
mod own;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};
use tempfile::TempDir;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

struct Bench {
    dir: TempDir,
}

impl Bench {
    fn new() -> Bench {
        Bench { dir: TempDir::new().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// Compiles C to a library of this name; warnings are errors.
    fn shared_object(&self, name: &str, source: &Path) -> PathBuf {
        let library = self.path(name);
        let compiler = env::var("CC").unwrap_or_else(|_| "cc".into());
        let output = Command::new(compiler)
            .args(["-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", "-I"])
            .arg(Path::new(ROOT).join("rt"))
            .arg("-o")
            .args([&library, source])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        library
    }

    fn shared_object_of(&self, text: &str) -> PathBuf {
        let source = self.write("library.c", text);
        self.shared_object("library.so", &source)
    }

    /// Gives the exit status and both outputs; the directory is `DIR` in them.
    fn siding(&self, args: &[&str]) -> (Option<i32>, String, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_siding"))
            .args(args)
            .current_dir(self.dir.path())
            .env("XDG_CACHE_HOME", self.dir.path())
            .output()
            .unwrap();
        let dir = self.dir.path().display().to_string();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(&dir, "DIR");
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    }
}

fn example(name: &str) -> String {
    format!("{ROOT}/examples/04-own-extern/{name}")
}

#[test]
fn the_example_runs_on_both_engines() {
    let bench = Bench::new();
    let library = bench.shared_object("scramble.so", Path::new(&example("scramble.c")));
    let library = library.to_str().unwrap();
    let (program, packets) = (example("scramble.p4"), example("scramble.packets"));
    let args = ["stf", "--backend", "both", "-O", "0", "--extern", library, &program, &packets];
    let (code, out, err) = bench.siding(&args);
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    assert!(out.starts_with("1 of 1 tests passed"), "{out}");

    // Without the library nobody does what the program wants.
    let (code, out, _) = bench.siding(&["stf", &program, &packets]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("0 of 1 tests passed"), "{out}");

    // The extern says that a packet is to be dropped, and is named as the reason.
    let hex = "ff 00000000 00000000 00000000 0000 0000";
    let (code, out, _) = bench.siding(&["trace", &program, "--extern", library, "-p", hex]);
    assert_eq!(code, Some(0));
    assert!(out.contains("count_class"), "{out}");
}

/// A library with one extern, the declaration of which is `declaration`.
fn library_text(declaration: &str) -> String {
    format!(
        "#include \"siding_extern.h\"\n\
         uint32_t run(struct siding_call *call);\n\
         uint32_t run(struct siding_call *call) {{ (void)call; return SIDING_OK; }}\n\
         static const struct siding_extern externs[] = {{{{ .name = \"scramble\", {declaration} }}}};\n\
         const struct siding_extern_library siding_extern_library = {{ SIDING_EXTERN_ABI_VERSION, 1, externs }};\n"
    )
}

/// What `siding run` says of a program with this library.
fn refusal(bench: &Bench, backend: &str, library: &Path) -> (Option<i32>, String) {
    let (program, packets) = (example("scramble.p4"), example("scramble.packets"));
    let library = library.to_str().unwrap();
    let args = ["run", &program, &packets, "-q", "-O", "0", "--backend", backend, "--extern", library];
    let (code, _, err) = bench.siding(&args);
    (code, err)
}

#[test]
fn libraries_that_cannot_be_used_are_refused() {
    let cases = [
        (
            "int nothing;\n".to_owned(),
            "error: `DIR/library.so` is no library of externs: it does not export `siding_extern_library`; \
             see docs/how-to/externs.md\n",
        ),
        (
            "#include <stdint.h>\nconst struct { uint32_t version; } siding_extern_library = { 77 };\n"
                .to_owned(),
            "error: the extern library `DIR/library.so` cannot be used: it is built for version 77 of \
             `siding_extern.h`, and this is version 1\n",
        ),
        (
            library_text(".run = 0"),
            "error: the extern library `DIR/library.so` cannot be used: its extern `scramble` has no function: \
             `run` is NULL\n",
        ),
        (
            library_text(".run = run, .declaration = \"void scramble(in bit<32 key)\""),
            "error: the extern library `DIR/library.so` cannot be used: its extern `scramble` has a declaration \
             that cannot be read, `void scramble(in bit<32 key)`: expected `>` at `key)`\n",
        ),
        (
            library_text(".run = run, .packet = 9"),
            "error: the extern library `DIR/library.so` cannot be used: its extern `scramble` says 9 of `packet`, \
             which is none of `enum siding_packet_use`\n",
        ),
        (
            library_text(".run = run"),
            "error: no library has the extern `count_class`, which the program calls: \
             bit<32> count_class(in bit<8>, inout bit<32>)\n  DIR/library.so has `scramble`\n",
        ),
    ];
    for (text, message) in cases {
        let bench = Bench::new();
        let library = bench.shared_object_of(&text);
        let (code, err) = refusal(&bench, "interp", &library);
        assert_ne!(code, Some(0));
        assert_eq!(err, message);
    }
}

#[test]
fn both_engines_refuse_a_declaration_that_differs() {
    let bench = Bench::new();
    let text = fs::read_to_string(example("scramble.c")).unwrap();
    let text = text.replace("\"void scramble(in bit<32> key)\"", "\"void scramble(in bit<48> key)\"");
    let library = bench.shared_object_of(&text);
    for backend in ["interp", "native"] {
        let (code, err) = refusal(&bench, backend, &library);
        assert_eq!(code, Some(3), "{err}");
        // Both stand in one column, as wide as the real path is.
        let lines: Vec<String> =
            err.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(
            lines.join("\n"),
            "error: the program and `DIR/library.so` differ about the extern `scramble`\n\
             the program calls: void scramble(in bit<32>)\n\
             `DIR/library.so` has: void scramble(in bit<48> key)"
        );
    }
}

#[test]
fn files_that_are_no_libraries_are_refused() {
    let bench = Bench::new();
    let (code, err) = refusal(&bench, "interp", &bench.path("nothing.so"));
    assert_eq!(code, Some(4), "{err}");
    assert!(err.starts_with("error: cannot read the extern library DIR/nothing.so: "), "{err}");
    for garbage in [&b""[..], b"hello", &[0x7f; 4096]] {
        let (code, err) = refusal(&bench, "interp", &bench.write("garbage.so", garbage));
        assert_eq!(code, Some(4), "{err}");
        assert!(
            err.starts_with("error: `DIR/garbage.so` is no shared object that can be loaded here: "),
            "{err}"
        );
    }
    let library = bench.shared_object("scramble.so", Path::new(&example("scramble.c")));
    // The loader would die of a file whose end is missing, and wait for a pipe.
    let whole = std::fs::read(&library).unwrap();
    let (code, err) = refusal(&bench, "interp", &bench.write("cut.so", &whole[..whole.len() / 5]));
    assert_eq!(
        (code, err.trim_end()),
        (Some(4), "error: cannot read the extern library DIR/cut.so: its end is missing")
    );
    let pipe = bench.path("pipe.so");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (code, err) = refusal(&bench, "interp", &pipe);
    assert_eq!(
        (code, err.trim_end()),
        (Some(4), "error: cannot read the extern library DIR/pipe.so: it is no regular file")
    );
    let library = library.to_str().unwrap();
    let (program, packets) = (example("scramble.p4"), example("scramble.packets"));
    let (_, _, err) = bench.siding(&["run", &program, &packets, "--extern", library, "--extern", library]);
    assert_eq!(err, "error: `DIR/scramble.so` and `DIR/scramble.so` both have the extern `scramble`\n");
}

const TREE: &str = r#"{"nodes": [
    {"feature": 0, "threshold": 100, "below": 1, "above": 2},
    {"feature": 1, "threshold": 5000000000, "below": 3, "above": 4},
    {"class": 10}, {"class": 20}, {"class": 30}]}"#;

#[test]
fn a_tree_comes_from_a_file() {
    let bench = Bench::new();
    let program = format!("{ROOT}/crates/siding/tests/externs/tree.p4");
    let packets = format!("{ROOT}/crates/siding/tests/externs/tree.packets");
    let model = bench.write("tree.json", TREE);
    let option = format!("tree_classify={}", model.display());
    let (code, out, err) = bench.siding(&[
        "stf",
        "--backend",
        "both",
        "-O",
        "0",
        "--extern-option",
        &option,
        &program,
        &packets,
    ]);
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");

    let said = |option: &[&str]| {
        let args = [&["stf", &program, &packets][..], option].concat();
        let (code, _, err) = bench.siding(&args);
        assert_ne!(code, Some(0));
        err.lines().next().unwrap_or("").to_owned()
    };
    assert_eq!(
        said(&[]),
        "error: the extern `tree_classify` cannot be used: it needs the file of its model: \
         `--extern-option tree_classify=FILE`, see docs/how-to/externs.md"
    );
    let err = said(&["--extern-option", "tree_classify=nothing.json"]);
    assert!(err.contains("cannot read nothing.json: "), "{err}");
    assert_eq!(
        said(&["--extern-option", "nobody=1"]),
        "error: --extern-option nobody=1: there is no extern `nobody`"
    );
}
