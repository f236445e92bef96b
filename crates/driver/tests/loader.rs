//! The order in which included files are looked for.

use driver::{FileLoader, read_source};
use std::fs;
use syntax::{Advice, IncludeKind, Loader};

#[test]
fn include_order() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    for (path, text) in [("src/a.p4", "beside"), ("inc/a.p4", "include"), ("inc/b.p4", "include")] {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let loader = FileLoader { include_dirs: vec![root.join("inc")] };
    let main = root.join("src/main.p4").to_string_lossy().into_owned();
    let load = |name: &str, kind| loader.load(name, kind, &main).map(|f| (f.text.to_string(), f.is_system));
    let found = |text: &str, is_system| Some((text.to_string(), is_system));
    assert_eq!(load("a.p4", IncludeKind::Local), found("beside", false));
    assert_eq!(load("a.p4", IncludeKind::System), found("include", true));
    assert_eq!(load("b.p4", IncludeKind::Local), found("include", false));
    assert_eq!(load("../inc/b.p4", IncludeKind::Local), found("include", false));
    assert_eq!(load("missing.p4", IncludeKind::System), None);
    assert_eq!(load("../inc", IncludeKind::Local), None, "directories are no files");
    let absolute = root.join("inc/b.p4").to_string_lossy().into_owned();
    assert_eq!(load(&absolute, IncludeKind::Local), found("include", false));
}

#[test]
fn unreadable_files_say_why() {
    let dir = tempfile::tempdir().unwrap();
    let error = read_source(dir.path()).unwrap_err();
    assert!(error.to_string().ends_with("it is a directory"), "{error}");
    let error = read_source(&dir.path().join("none.p4")).unwrap_err();
    assert!(error.to_string().starts_with("cannot read "), "{error}");
    let latin = dir.path().join("latin.p4");
    fs::write(&latin, b"// caf\xe9\n").unwrap();
    assert_eq!(&*read_source(&latin).unwrap().text, "// caf\u{fffd}\n");
}

/// Reading a named pipe would wait for a writer, reading a device might not end.
#[cfg(unix)]
#[test]
fn only_regular_files_are_included() {
    let dir = tempfile::tempdir().unwrap();
    let made = std::process::Command::new("mkfifo").arg(dir.path().join("pipe.p4")).status().unwrap();
    assert!(made.success());
    let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("socket.p4")).unwrap();
    fs::write(dir.path().join("file.p4"), "").unwrap();
    let loader = FileLoader::default();
    let main = dir.path().join("main.p4").to_string_lossy().into_owned();
    let ask = |name: &str| {
        let kind = IncludeKind::Local;
        (loader.load(name, kind, &main).is_some(), loader.refusal(name, kind, &main))
    };
    let refused = |what: &str| (false, Some(format!("it is a {what}, not a regular file")));
    assert_eq!(ask("pipe.p4"), refused("named pipe"));
    assert_eq!(ask("socket.p4"), refused("socket"));
    assert_eq!(ask("/dev/null"), refused("device"));
    assert_eq!(ask("file.p4"), (true, None));
    assert_eq!(ask("none.p4"), (false, None));
    assert_eq!(ask("file.p4/none.p4"), (false, None));
}

/// The advice about a missing file as text.
fn advice(loader: &FileLoader, name: &str, kind: IncludeKind, from: &str) -> String {
    match loader.advice(name, kind, from) {
        Advice::None => String::new(),
        Advice::Nearest(name) => format!("nearest {name}"),
        Advice::Origin(origin) => origin,
    }
}

#[test]
fn mistyped_includes_are_recognised() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    for path in ["src/headers.p4", "inc/common/tables.p4", "inc/common/tables.txt"] {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    let loader = FileLoader { include_dirs: vec![root.join("inc")] };
    let main = root.join("src/main.p4").to_string_lossy().into_owned();
    let advice = |name, kind| advice(&loader, name, kind, &main);
    assert_eq!(advice("v1modle.p4", IncludeKind::System), "nearest v1model.p4");
    assert_eq!(advice("heders.p4", IncludeKind::Local), "nearest headers.p4");
    assert_eq!(advice("heders.p4", IncludeKind::System), "", "`<>` does not look beside the file");
    assert_eq!(advice("common/table.p4", IncludeKind::Local), "nearest common/tables.p4");
    assert_eq!(advice("none.p4", IncludeKind::System), "");
    assert!(advice("tna.p4", IncludeKind::System).contains("Tofino"));
}
