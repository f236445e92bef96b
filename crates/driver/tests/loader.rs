//! The order in which included files are looked for.

use driver::{FileLoader, read_source};
use std::fs;
use syntax::{IncludeKind, Loader};

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
